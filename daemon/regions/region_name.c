/* SPDX-License-Identifier: MIT */
/* Decodes linkage names of C++ and Fortran, and names of clones; see region_name.h. */
#include "daemon/regions/region_name.h"

#include <ctype.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "model/pattern.h"
#include "sym/clone_name.h"
#include "sym/demangle.h"

#define MOST_LENGTH 4096 /* longest name of Fortran, and longest pattern for one */

/* --- clones ---------------------------------------------------------------------------------- */

size_t region_name_base(const char *linked)
{
	size_t base = clone_name_base(linked);
	const char *number = strrchr(linked, '.');

	/* A nested function has its number behind a dot. */
	if (!linked[base] && number && number > linked && number[1] &&
	    !number[1 + strspn(number + 1, "0123456789")])
		return (size_t)(number - linked);
	return base;
}

bool region_name_is_part(const char *linked)
{
	const char *at = strstr(linked + region_name_base(linked), ".part");

	return at && (!at[5] || at[5] == '.');
}

char *region_name_source(const char *linked)
{
	char *base = strndup(linked, region_name_base(linked));
	char *readable = base ? demangle(base) : NULL;

	if (!readable)
		return base;
	free(base);
	return readable;
}

/* --- C++ ------------------------------------------------------------------------------------- */

/* Returns whether the keyword "operator" is at `at` in a name. Then spaces and brackets behind it
 * are part of the function's name. */
static bool is_operator(const char *name, const char *at)
{
	return !strncmp(at, "operator", 8) && !isalnum((unsigned char)at[8]) && at[8] != '_' &&
	       (at == name || (!isalnum((unsigned char)at[-1]) && at[-1] != '_'));
}

/* The parts of a readable name: "int ns::solve<int>(int)". */
struct parts {
	const char *start;     /* the name, behind the return type */
	const char *templated; /* where the arguments of its template begin; NULL: it has none */
	const char *arguments; /* where the list of arguments begins */
};

static void open_bracket(struct parts *p, int *depth, const char *at)
{
	if (!*depth && *at == '<')
		p->templated = at;
	if (!*depth && *at == '(')
		p->arguments = at;
	++*depth;
}

/* Finds the parts of a readable name. The list of arguments is the last pair of parentheses that is
 * not within other brackets. false: the name has no list of arguments. */
static bool find_parts(const char *name, struct parts *ret_parts)
{
	struct parts p = {.start = name};
	int depth = 0;

	for (const char *at = name; *at; at++) {
		if (!depth && is_operator(name, at)) {
			/* Brackets of operator() and operator< are part of the name. */
			at += 8;
			at += strspn(at, " ");
			at += !strncmp(at, "()", 2) ? 2 : strcspn(at, "(");
			at -= *at == '\0';
			p.templated = NULL;
		}
		if (*at == '<' || *at == '(' || *at == '[' || *at == '{')
			open_bracket(&p, &depth, at);
		else if (strchr(">)]}", *at) && !(*at == '>' && at > name && at[-1] == '-'))
			depth--;
		else if (!depth && *at == ' ' && !p.arguments)
			p.start = at + 1;
		else if (!depth && *at == ':')
			p.templated = p.arguments = NULL; /* the ones found before "::" belong to
							   * the class or namespace */
	}
	*ret_parts = p;
	return p.arguments != NULL;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Returns a copy of a name without the spaces that do not separate two words: "box<int, 3>" becomes
 * "box<int,3>". NULL without memory. */
static char *squeeze(const char *start, size_t len)
{
	char *copy = malloc(len + 1);
	size_t n = 0;

	for (size_t i = 0; copy && i < len; i++) {
		if (start[i] != ' ' ||
		    (n && is_word(copy[n - 1]) && i + 1 < len && is_word(start[i + 1])))
			copy[n++] = start[i];
	}
	if (copy)
		copy[n] = '\0';
	return copy;
}

/* Returns whether pattern and name match without spaces that separate no words, since users put
 * spaces elsewhere than the demangler does. */
static bool matches_squeezed(const char *pattern, const char *start, size_t len)
{
	char *wanted = squeeze(pattern, strlen(pattern)), *name = squeeze(start, len);
	bool does = wanted && name && pattern_matches(wanted, name, strlen(name));

	free(wanted);
	free(name);
	return does;
}

static bool matches(const char *pattern, const char *start, const char *end)
{
	const size_t len = (size_t)(end - start);

	if (pattern_matches(pattern, start, len))
		return true;
	return (strchr(pattern, ' ') || memchr(start, ' ', len)) &&
	       matches_squeezed(pattern, start, len);
}

bool region_name_is_literal(const char *pattern, const char *name)
{
	char *wanted = squeeze(pattern, strlen(pattern));
	bool is = false;

	for (const char *at = name; at && wanted && !is; at = strchr(at, ' ')) {
		char *rest;

		at += *at == ' ';
		rest = squeeze(at, strlen(at));
		is = rest && !strcmp(rest, wanted);
		free(rest);
	}
	free(wanted);
	return is;
}

/* Not pattern_is_function(), which takes all instances of a template for the same function. */
static enum region_match match_readable(const char *pattern, const char *name)
{
	struct parts p;

	if (pattern_matches(pattern, name, strlen(name)))
		return REGION_SAME;
	if (!find_parts(name, &p))
		return REGION_OTHER;
	if (pattern_matches(pattern, name, (size_t)(p.arguments - name)) ||
	    matches(pattern, p.start, name + strlen(name)) ||
	    matches(pattern, p.start, p.arguments))
		return REGION_SAME;
	return p.templated && matches(pattern, p.start, p.templated) ? REGION_LIKE : REGION_OTHER;
}

/* Returns whether the linkage name must be demangled for the comparison. A pattern that is a plain
 * name occurs literally in the linkage name of what it matches. */
static bool may_match(const char *pattern, const char *name)
{
	return strpbrk(pattern, "*?<( :~") || strstr(name, pattern);
}

/* --- Fortran --------------------------------------------------------------------------------- */

/* Compares a pattern with a Fortran procedure in a module, or outside of modules (`len` is 0).
 * Fortran does not tell lower case from upper case, and its compilers link names in lower case. */
static enum region_match match_procedure(const char *pattern, const char *module, size_t len,
					 const char *procedure)
{
	char wanted[MOST_LENGTH], name[MOST_LENGTH];
	size_t n = strlen(procedure);

	if (strlen(pattern) >= sizeof(wanted) || len + n + 3 > sizeof(name))
		return REGION_OTHER;
	for (size_t i = 0; i <= strlen(pattern); i++)
		wanted[i] = (char)tolower((unsigned char)pattern[i]);
	snprintf(name, sizeof(name), "%.*s::%s", (int)len, module, procedure);
	return pattern_matches(wanted, procedure, n) ||
			       (len && pattern_matches(wanted, name, strlen(name)))
		       ? REGION_SAME
		       : REGION_OTHER;
}

static enum region_match match_fortran(const char *pattern, const char *name)
{
	const char *at = strncmp(name, "__", 2) != 0 ? NULL : strstr(name + 2, "_MOD_");
	size_t len = strlen(name);

	if (at)
		return match_procedure(pattern, name + 2, (size_t)(at - name - 2), at + 5);
	if (!strncmp(name, "_QP", 3))
		return match_procedure(pattern, "", 0, name + 3);
	at = strncmp(name, "_QM", 3) != 0 ? NULL : strchr(name + 3, 'P');
	if (at)
		return match_procedure(pattern, name + 3, (size_t)(at - name - 3), at + 1);
	/* A C function can have such a name, too, so this is only REGION_LIKE. */
	return len > 1 && name[len - 1] == '_' && strlen(pattern) == len - 1 &&
			       !strncasecmp(name, pattern, len - 1)
		       ? REGION_LIKE
		       : REGION_OTHER;
}

/* --- all ------------------------------------------------------------------------------------- */

/* Compares a pattern with a linkage name that has no suffix of a clone. */
static enum region_match match_base(const char *pattern, const char *name)
{
	enum region_match match = REGION_OTHER;
	char *readable;

	if (pattern_is_function(pattern, name))
		return REGION_SAME;
	if (strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0)
		return match_fortran(pattern, name);
	if (!may_match(pattern, name))
		return REGION_OTHER;
	readable = demangle(name);
	if (readable)
		match = match_readable(pattern, readable);
	free(readable);
	return match;
}

enum region_match region_name_match(const char *pattern, const char *linked)
{
	size_t base = region_name_base(linked);
	enum region_match match;
	char *name;

	if (pattern_is_function(pattern, linked))
		return REGION_SAME;
	if (!linked[base])
		return match_base(pattern, linked);
	name = strndup(linked, base);
	match = name ? match_base(pattern, name) : REGION_OTHER;
	free(name);
	return match;
}
