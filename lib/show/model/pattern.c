/* SPDX-License-Identifier: MIT */
/*
 * Patterns; see pattern.h. Not fnmatch(): its brackets would read "operator[]" as a class of
 * characters, and its worst case is exponential. Here a mismatch goes back to the last '*' only, so
 * a match costs at most the product of both lengths.
 */
#include "model/pattern.h"

#include <string.h>

#include "base/argp_table.h"
#include "base/text.h"

bool pattern_matches(const char *pattern, const char *name, size_t len)
{
	const char *end = name + len, *star = NULL, *resume = name;

	while (name < end) {
		if (*pattern == '*') {
			star = pattern++;
			resume = name;
		} else if (*pattern && (*pattern == '?' || *pattern == *name)) {
			pattern++;
			name++;
		} else if (star) {
			pattern = star + 1;
			name = ++resume;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

/* Returns where the list of arguments begins: the '(' that matches the last ')'. */
static const char *pattern_arguments(const char *name)
{
	const char *at = strrchr(name, ')');
	int depth = 0;

	for (; at && at > name; at--) {
		depth += (*at == ')') - (*at == '(');
		if (!depth)
			return at;
	}
	return NULL;
}

bool pattern_is_function(const char *pattern, const char *name)
{
	const char *arguments;

	if (pattern_matches(pattern, name, strlen(name)))
		return true;
	arguments = pattern_arguments(name);
	return arguments && pattern_matches(pattern, name, (size_t)(arguments - name));
}

bool pattern_is_object(const char *pattern, const char *path)
{
	const char *base = text_basename(path);

	return pattern_matches(pattern, path, strlen(path)) ||
	       pattern_matches(pattern, base, strlen(base));
}

/* Copies the last component of a name: without its arguments, and without everything up to the last
 * "::". */
static void last_part(const char *name, char ret_part[ARGP_TABLE_FAR])
{
	const char *arguments = pattern_arguments(name);
	size_t len = arguments ? (size_t)(arguments - name) : strlen(name), from = 0;

	for (size_t i = 0; i + 1 < len; i++)
		if (name[i] == ':' && name[i + 1] == ':')
			from = i + 2;
	len -= from;
	if (len >= ARGP_TABLE_FAR)
		len = ARGP_TABLE_FAR - 1;
	memcpy(ret_part, name + from, len);
	ret_part[len] = '\0';
}

unsigned pattern_distance(const char *asked, const char *name)
{
	char part[ARGP_TABLE_FAR], wanted[ARGP_TABLE_FAR];
	unsigned distance;

	if (strcasestr(name, asked))
		return 0;
	last_part(name, part);
	last_part(asked, wanted);
	distance = argp_table_distance(wanted, part);
	return distance <= 1 + strlen(wanted) / 4 ? distance : UINT_MAX;
}
