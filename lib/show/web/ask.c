/* SPDX-License-Identifier: MIT */
/* Reads the parameters of a question; see ask.h. Nothing in them is trusted. */
#include "web/ask.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASK_SHOWN 60 /* bytes of a value that an error repeats */

/* Parameters that can be given several times. */
#define ASK_LISTS "threads base_threads focus ignore unfold under"

int ask_fail(struct ask *ask, int status, const char *remedy, const char *format, ...)
{
	va_list args;

	ask->status = status;
	snprintf(ask->remedy, sizeof(ask->remedy), "%s", remedy);
	va_start(args, format);
	vsnprintf(ask->error, sizeof(ask->error), format, args);
	va_end(args);
	return -EINVAL;
}

const char *ask_text(const struct ask *ask, const char *name)
{
	const struct web_question *q = ask->question;

	for (size_t i = 0; i < q->n_parameters; i++)
		if (strcmp(q->parameters[i].name, name) == 0)
			return q->parameters[i].value;
	return NULL;
}

int ask_many(struct ask *ask, const char *name, const char *ret_values[static ASK_MANY])
{
	const struct web_question *q = ask->question;
	int n = 0;

	for (size_t i = 0; i < q->n_parameters; i++) {
		if (strcmp(q->parameters[i].name, name) != 0)
			continue;
		if (n == ASK_MANY)
			return ask_fail(ask, 400, "choose fewer",
					"'%s' is given more than %d times", name, ASK_MANY);
		ret_values[n++] = q->parameters[i].value;
	}
	return n;
}

int ask_number(struct ask *ask, const char *name, uint64_t least, uint64_t most,
	       uint64_t *ret_value)
{
	const char *text = ask_text(ask, name);
	unsigned long long value;
	char *end;

	if (!text)
		return 0;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value < least || value > most)
		return ask_fail(ask, 400, "docs/WEB.md lists the parameters",
				"%s: '%.*s' is not a whole number from %" PRIu64 " to %" PRIu64,
				name, ASK_SHOWN, text, least, most);
	*ret_value = value;
	return 0;
}

int ask_share(struct ask *ask, const char *name, double *ret_value)
{
	const char *text = ask_text(ask, name);
	double value;
	char *end;

	if (!text)
		return 0;
	value = strtod(text, &end);
	if (end == text || *end || !(value >= 0 && value <= 1))
		return ask_fail(ask, 400, "docs/WEB.md lists the parameters",
				"%s: '%.*s' is not a share from 0 to 1", name, ASK_SHOWN, text);
	*ret_value = value;
	return 0;
}

int ask_word(struct ask *ask, const char *name, const char *const *words, unsigned *ret_index)
{
	const char *text = ask_text(ask, name);
	char list[256] = "";
	size_t len = 0;

	for (unsigned i = 0; text && words[i]; i++) {
		if (strcmp(words[i], text) == 0) {
			*ret_index = i;
			return 0;
		}
		if (len < sizeof(list))
			len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
						i ? ", " : "choose one of ", words[i]);
	}
	return text ? ask_fail(ask, 400, list, "%s: '%.*s' is unknown", name, ASK_SHOWN, text) : 0;
}

/* Returns whether a name is in a list of names with blanks between them. */
static bool is_listed(const char *names, const char *name)
{
	const size_t len = strlen(name);

	for (const char *at = names; *at; at += strcspn(at, " ")) {
		at += strspn(at, " ");
		if (len && strcspn(at, " ") == len && strncmp(at, name, len) == 0)
			return true;
	}
	return false;
}

/* Returns whether an earlier parameter has the same name, which can be given only once. */
static bool is_repeated(const struct web_question *q, size_t number)
{
	const char *name = q->parameters[number].name;

	for (size_t i = 0; i < number; i++)
		if (strcmp(q->parameters[i].name, name) == 0)
			return !is_listed(ASK_LISTS, name);
	return false;
}

int ask_check(struct ask *ask, const char *names)
{
	const struct web_question *q = ask->question;

	for (size_t i = 0; i < q->n_parameters; i++) {
		if (is_repeated(q, i))
			return ask_fail(ask, 400, "give it once", "'%.*s' is given several times",
					ASK_SHOWN, q->parameters[i].name);
		if (!is_listed(names, q->parameters[i].name))
			return ask_fail(ask, 400, "docs/WEB.md lists the parameters",
					"'%s' has no parameter '%.*s'", q->name, ASK_SHOWN,
					q->parameters[i].name);
	}
	return 0;
}
