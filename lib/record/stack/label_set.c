/* SPDX-License-Identifier: MIT */
/* Makes and reads sets of labels; see label_set.h. */
#include "stack/label_set.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void label_list_fini(struct label_list *list)
{
	free(list->items.items);
	*list = (struct label_list){0};
}

static bool is_key(const char *key, size_t len)
{
	if (!len || len >= LABEL_KEY_BYTES)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isascii((unsigned char)key[i]) ||
		    (!isalnum((unsigned char)key[i]) && !strchr("._-/", key[i])))
			return false;
	return true;
}

int label_list_add(struct label_list *list, const char *key, size_t key_len, const char *value,
		   size_t value_len)
{
	struct label *label;

	if (!is_key(key, key_len) || !value_len)
		return -EINVAL;
	for (size_t i = 0; i < list->items.count; i++)
		if (strlen(list->items.items[i].key) == key_len &&
		    memcmp(list->items.items[i].key, key, key_len) == 0)
			return 0;
	if (list->items.count == LABEL_COUNT)
		return 0;
	if (VEC_RESERVE(&list->items, 1) < 0)
		return -ENOMEM;
	label = &list->items.items[list->items.count++];
	*label = (struct label){0};
	memcpy(label->key, key, key_len);
	if (value_len >= LABEL_VALUE_BYTES)
		value_len = LABEL_VALUE_BYTES - 1;
	for (size_t i = 0; i < value_len; i++)
		label->value[i] = (char)(iscntrl((unsigned char)value[i]) ? '?' : value[i]);
	return 0;
}

int label_list_add_text(struct label_list *list, const char *text)
{
	const char *equals = strchr(text, '=');

	if (!equals)
		return -EINVAL;
	return label_list_add(list, text, (size_t)(equals - text), equals + 1, strlen(equals + 1));
}

/* --- a process's environment ------------------------------------------------------------------ */

static int digit_of(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* Decodes %XX, and leaves a '%' that begins no code as it is. Returns the length, at most that of
 * the buffer. */
static size_t decode(const char *from, size_t len, char ret_text[LABEL_VALUE_BYTES])
{
	size_t n = 0;

	for (size_t i = 0; i < len && n < LABEL_VALUE_BYTES; i++) {
		char c = from[i];

		if (c == '%' && i + 2 < len && isxdigit((unsigned char)from[i + 1]) &&
		    isxdigit((unsigned char)from[i + 2])) {
			c = (char)(digit_of(from[i + 1]) << 4 | digit_of(from[i + 2]));
			i += 2;
		}
		ret_text[n++] = c;
	}
	return n;
}

static void trim(const char **text, size_t *len)
{
	while (*len && strchr(" \t", **text)) {
		++*text;
		--*len;
	}
	while (*len && strchr(" \t", (*text)[*len - 1]))
		--*len;
}

/* Adds a list "KEY=VALUE,KEY=VALUE". */
static int add_attributes(struct label_list *list, const char *text)
{
	int err = 0;

	while (*text && err != -ENOMEM) {
		const size_t len = strcspn(text, ","), key_end = strcspn(text, "=,");

		if (key_end < len) {
			char value[LABEL_VALUE_BYTES];
			const char *key = text, *raw = text + key_end + 1;
			size_t key_len = key_end, raw_len = len - key_end - 1;

			trim(&key, &key_len);
			trim(&raw, &raw_len);
			err = label_list_add(list, key, key_len, value,
					     decode(raw, raw_len, value));
		}
		text += len + (text[len] == ',');
	}
	return err == -ENOMEM ? err : 0;
}

/* Returns the value of a variable; NULL: it is not set. */
static const char *variable(const char *environment, size_t size, const char *name)
{
	const size_t len = strlen(name);

	for (const char *at = environment; at < environment + size; at += strlen(at) + 1)
		if (strncmp(at, name, len) == 0 && at[len] == '=')
			return at + len + 1;
	return NULL;
}

int label_list_add_environment(struct label_list *list, const char *environment, size_t size)
{
	static const char key[] = "service.name";
	const char *name = variable(environment, size, "OTEL_SERVICE_NAME");
	const char *attributes = variable(environment, size, "OTEL_RESOURCE_ATTRIBUTES");
	int err = name ? label_list_add(list, key, strlen(key), name, strlen(name)) : 0;

	if (err != -ENOMEM && attributes)
		err = add_attributes(list, attributes);
	return err == -ENOMEM ? err : 0;
}

/* --- texts ------------------------------------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct label *)a)->key, ((const struct label *)b)->key);
}

char *label_list_text(struct label_list *list)
{
	size_t size = 1;
	char *text, *at;

	for (size_t i = 0; i < list->items.count; i++)
		size += strlen(list->items.items[i].key) + strlen(list->items.items[i].value) + 2;
	text = at = malloc(size);
	if (!text)
		return NULL;
	*text = '\0';
	if (list->items.count)
		qsort(list->items.items, list->items.count, sizeof(*list->items.items), compare);
	for (size_t i = 0; i < list->items.count; i++)
		at += snprintf(at, size - (size_t)(at - text), "%s%s=%s", i ? "\n" : "",
			       list->items.items[i].key, list->items.items[i].value);
	return text;
}

bool label_set_next(const char **at, const char **ret_key, size_t *ret_key_len,
		    const char **ret_value, size_t *ret_value_len)
{
	while (*at && **at) {
		const char *line = *at, *end = strchrnul(line, '\n');
		const char *equals = memchr(line, '=', (size_t)(end - line));

		*at = *end ? end + 1 : end;
		if (!equals) /* a damaged store */
			continue;
		*ret_key = line;
		*ret_key_len = (size_t)(equals - line);
		*ret_value = equals + 1;
		*ret_value_len = (size_t)(end - equals - 1);
		return true;
	}
	return false;
}

const char *label_set_value(const char *set, const char *key, size_t *ret_len)
{
	const char *name, *value;
	size_t name_len, len = strlen(key);

	while (label_set_next(&set, &name, &name_len, &value, ret_len))
		if (name_len == len && memcmp(name, key, len) == 0)
			return value;
	return NULL;
}
