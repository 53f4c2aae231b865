/* SPDX-License-Identifier: MIT */
/*
 * Patterns; see pattern.h. Not fnmatch(): its brackets would read "operator[]" as a class of
 * characters, and its worst case is exponential. Here a mismatch goes back to the last '*' only, so
 * a match costs at most the product of both lengths.
 */
#include "model/pattern.h"

#include <string.h>

#include "base/argp_table.h"
#include "base/function_name.h"
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

/* Returns whether a pattern matches a name whose template arguments are left out. */
static bool matches_bare(const char *pattern, const char *name, size_t len)
{
	struct buf bare = {0};
	bool matches;

	if (!memchr(name, '<', len))
		return false;
	function_name_put_short(name, len, FUNCTION_NAME_NO_ARGUMENTS, &bare);
	matches = !bare.failed && pattern_matches(pattern, (const char *)bare.data, bare.len);
	buf_free(&bare);
	return matches;
}

bool pattern_is_function(const char *pattern, const char *name)
{
	const size_t len = strlen(name);
	struct function_name parts;

	if (pattern_matches(pattern, name, len))
		return true;
	function_name_parse(name, len, &parts);
	return pattern_matches(pattern, name, parts.end) ||
	       pattern_matches(pattern, name + parts.begin, parts.end - parts.begin) ||
	       pattern_matches(pattern, name + parts.begin, len - parts.begin) ||
	       matches_bare(pattern, name, len);
}

bool pattern_is_managed(const char *pattern, const char *name)
{
	const size_t len = strlen(name);
	struct function_name parts;

	function_name_parse(name, len, &parts);
	return pattern_matches(pattern, name, len) || pattern_matches(pattern, name, parts.end);
}

bool pattern_is_object(const char *pattern, const char *path)
{
	const char *base = text_basename(path);

	return pattern_matches(pattern, path, strlen(path)) ||
	       pattern_matches(pattern, base, strlen(base));
}

/* Copies the last component of a name: without its parameters, and without everything up to the
 * last "::". */
static void last_part(const char *name, char ret_part[ARGP_TABLE_FAR])
{
	struct function_name parts;
	const char *suffix;
	size_t len, from;

	function_name_parse(name, strlen(name), &parts);
	from = parts.begin;
	for (size_t i = from; i + 1 < parts.end; i++)
		if (name[i] == ':' && name[i + 1] == ':')
			from = i + 2;
	len = parts.end - from;
	suffix = memmem(name + from, len, " (", 2); /* of a namesake: "parse (lexer.c)" */
	if (suffix)
		len = (size_t)(suffix - name) - from;
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
