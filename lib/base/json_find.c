/* SPDX-License-Identifier: MIT */
/* Finds members of JSON texts; see json_find.h. Functions return NULL where the text ends. */
#include "base/json_find.h"

#include <string.h>

static const char *skip_spaces(const char *at)
{
	return at + strspn(at, " \t\r\n");
}

/* Skips a string, `at` its first quote. */
static const char *skip_string(const char *at)
{
	for (at++; *at && *at != '"'; at++) {
		if (*at == '\\' && *++at == '\0')
			return NULL;
	}
	return *at ? at + 1 : NULL;
}

static const char *skip_value(const char *at)
{
	size_t depth = 0;

	at = skip_spaces(at);
	do {
		if (*at == '"') {
			at = skip_string(at);
		} else if (*at == '{' || *at == '[') {
			depth++;
			at++;
		} else if (*at == '}' || *at == ']') {
			if (!depth) /* there is no value */
				return NULL;
			depth--;
			at++;
		} else if (depth) {
			at += strcspn(at, "\"{}[]");
		} else {
			const size_t len = strcspn(at, ",\"{}[] \t\r\n");

			if (!len)
				return NULL;
			at += len;
		}
	} while (at && depth && *at);
	return at && !depth ? at : NULL;
}

/* Returns what follows the comma behind a value. NULL: nothing does. */
static const char *behind(const char *value)
{
	const char *at = skip_value(value);

	if (!at)
		return NULL;
	at = skip_spaces(at);
	return *at == ',' ? skip_spaces(at + 1) : NULL;
}

const char *json_find_member(const char *object, const char *name)
{
	const size_t len = strlen(name);
	const char *at = object ? skip_spaces(object) : NULL;

	if (!at || *at != '{')
		return NULL;
	for (at = skip_spaces(at + 1); at && *at == '"'; at = behind(at)) {
		const char *key = at + 1, *end = skip_string(at);

		if (!end)
			return NULL;
		at = skip_spaces(end);
		if (*at++ != ':')
			return NULL;
		if ((size_t)(end - 1 - key) == len && memcmp(key, name, len) == 0)
			return skip_spaces(at);
	}
	return NULL;
}

const char *json_find_first(const char *array)
{
	const char *at = array ? skip_spaces(array) : NULL;

	if (!at || *at != '[')
		return NULL;
	at = skip_spaces(at + 1);
	return *at && *at != ']' ? at : NULL;
}

const char *json_find_next(const char *item)
{
	const char *at = behind(item);

	return at && *at ? at : NULL;
}

const char *json_find_string(const char *value, size_t *ret_len)
{
	if (!value || *value != '"')
		return NULL;
	*ret_len = strcspn(value + 1, "\"\\");
	return value[1 + *ret_len] == '"' ? value + 1 : NULL;
}
