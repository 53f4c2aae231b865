/* SPDX-License-Identifier: MIT */
/* Writes --help; see argp_help.h. */
#include "base/argp_help.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/argp_table.h"

#define HELP_WIDTH  79
#define HELP_COLUMN 27 /* where descriptions begin */
#define HELP_NAME   512

/* Writes words from column `at` on, with line breaks; further lines begin at column `indent`. */
static void put_words(const char *text, size_t len, size_t at, size_t indent, FILE *out)
{
	const char *end = text + len;
	bool is_first = true;

	while (text < end) {
		const char *word = text;
		size_t n;

		while (word < end && *word == ' ')
			word++;
		for (n = 0; word + n < end && word[n] != ' ';)
			n++;
		if (!n)
			break;
		if (!is_first && at + 1 + n > HELP_WIDTH) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (!is_first) {
			fputc(' ', out);
			at++;
		}
		fwrite(word, 1, n, out);
		at += n;
		text = word + n;
		is_first = false;
	}
	fputc('\n', out);
}

/* Writes a text whose lines that begin with a blank are examples, which keep their form. */
static void put_text(const char *text, FILE *out)
{
	while (*text) {
		const size_t len = strcspn(text, "\n\v");

		if (text[0] == ' ' || !len)
			fprintf(out, "%.*s\n", (int)len, text);
		else
			put_words(text, len, 0, 0, out);
		text += len;
		if (*text == '\v')
			break;
		text += *text == '\n';
	}
}

static bool is_heading(const struct argp_option *o)
{
	return !o->name && !o->key;
}

static bool is_rare(const struct argp_option *o)
{
	return o->flags & ARGP_HELP_RARE;
}

struct help {
	FILE *out;
	int group;
	bool is_all;
	const char *heading; /* NULL: it has been written */
	unsigned n_rare;     /* that were left out */
};

/* Makes "  -i, --input=FILE", with each blank of the argument as a place to break the line. */
static void name_of(const struct argp_option *o, char ret_name[HELP_NAME])
{
	const bool is_optional = o->flags & OPTION_ARG_OPTIONAL;
	char letter[8] = "      ";

	if (o->key > 0 && o->key < 0x80 && isprint(o->key))
		snprintf(letter, sizeof(letter), "  -%c%s ", o->key, o->name ? "," : "");
	snprintf(ret_name, HELP_NAME, "%s%s%s%s%s%s", letter, o->name ? "--" : "",
		 o->name ? o->name : "",
		 !o->arg       ? ""
		 : is_optional ? "[="
			       : "=",
		 o->arg ? o->arg : "", o->arg && is_optional ? "]" : "");
}

static int put_option(void *arg, const struct argp_option *o)
{
	struct help *h = arg;
	char name[HELP_NAME];
	size_t len;

	if (o->group != h->group || is_heading(o))
		return 0;
	if (is_rare(o) && !h->is_all) {
		h->n_rare++;
		return 0;
	}
	if (h->heading)
		fprintf(h->out, "\n%s\n", h->heading);
	h->heading = NULL;
	name_of(o, name);
	len = strlen(name);
	if (len + 1 < HELP_COLUMN) {
		fprintf(h->out, "%-*s", HELP_COLUMN, name);
	} else {
		fwrite(name, 1, 6, h->out);
		put_words(name + 6, len - 6, 6, 8, h->out);
		fprintf(h->out, "%*s", HELP_COLUMN, "");
	}
	put_words(o->doc ? o->doc : "", o->doc ? strlen(o->doc) : 0, HELP_COLUMN, HELP_COLUMN,
		  h->out);
	return 0;
}

/* Finds the heading that a table has for a group. */
static int find_heading(void *arg, const struct argp_option *o)
{
	struct help *h = arg;

	if (is_heading(o) && o->group == h->group && o->doc)
		h->heading = o->doc;
	return 0;
}

static void put_usage(const char *name, const char *args, FILE *out)
{
	for (bool is_first = true; is_first || *args; is_first = false) {
		const size_t n = strcspn(args, "\n");

		fprintf(out, "%s %s [OPTION...]%s%.*s\n", is_first ? "Usage:" : "  or: ", name,
			n ? " " : "", (int)n, args);
		args += n + (args[n] == '\n');
	}
}

int argp_help_write(const struct argp *argp, const char *name, const struct argp_help_group *groups,
		    bool is_all, FILE *out)
{
	const char *more = argp->doc ? strchr(argp->doc, '\v') : NULL;
	struct help h = {.out = out, .is_all = is_all};

	put_usage(name, argp->args_doc ? argp->args_doc : "", out);
	put_text(argp->doc ? argp->doc : "", out);
	for (; groups->heading; groups++) {
		h.group = groups->group;
		h.heading = groups->heading;
		argp_table_each(argp, find_heading, &h);
		argp_table_each(argp, put_option, &h);
	}
	h.group = -1;
	h.heading = "Help:";
	for (const struct argp_option *o = argp_table_builtin; is_all && o->name; o++)
		put_option(&h, o);
	if (h.n_rare)
		fprintf(out, "\n'%s --help-all' lists %u more options.\n", name, h.n_rare);
	if (more) {
		fputc('\n', out);
		put_text(more + 1, out);
	}
	return ferror(out) ? -EIO : 0;
}

bool argp_help_is_asked(const char *word, bool *ret_all)
{
	*ret_all = !strcmp(word, "--help-all");
	return *ret_all || !strcmp(word, "-?") || !strcmp(word, "-h") ||
	       (strlen(word) > 3 && !strncmp(word, "--help", strlen(word)));
}

void argp_help_error(const struct argp_state *state, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", state->name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, " ('%s --help' lists the options)\n", state->name);
	exit(argp_err_exit_status);
}
