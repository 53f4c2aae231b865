/* SPDX-License-Identifier: MIT */
/* Takes demangled names apart; see function_name.h. */
#include "base/function_name.h"

#include <string.h>

static const char operator_word[] = "operator";
#define OPERATOR_LEN (sizeof(operator_word) - 1)

static bool is_word_letter(char c)
{
	return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9');
}

/* Returns the length of the operator's name at `at`: "operator<<", "operator()", "operator new[]",
 * "operator bool"; 0 if none is there. Brackets of it do not pair with others. */
static size_t operator_length(const char *name, size_t len, size_t at)
{
	static const char *const signs[] = {"()", "[]", "<=>", "<<=", ">>=", "->*", "<<",
					    ">>", "<=", ">=",  "->",  "<",   ">"};
	size_t i = at + OPERATOR_LEN;

	if (len - at < OPERATOR_LEN || strncmp(name + at, operator_word, OPERATOR_LEN) != 0 ||
	    (at && is_word_letter(name[at - 1])) || (i < len && is_word_letter(name[i])))
		return 0;
	for (size_t s = 0; s < sizeof(signs) / sizeof(*signs); s++) {
		const size_t n = strlen(signs[s]);

		if (len - i >= n && !strncmp(name + i, signs[s], n))
			return OPERATOR_LEN + n;
	}
	/* "operator new[]", "operator unsigned long": up to the parameters. */
	while (i < len && name[i] != '(' && name[i] != '<')
		i++;
	return i - at;
}

static bool is_opening(char c)
{
	return c == '(' || c == '<' || c == '[' || c == '{';
}

static bool is_closing(char c)
{
	return c == ')' || c == '>' || c == ']' || c == '}';
}

/* Returns the index behind the bracket that closes the one at `at`; `len` if none does. "->" closes
 * nothing. */
static size_t behind_bracket(const char *name, size_t len, size_t at)
{
	size_t depth = 0;

	for (size_t i = at; i < len; i++) {
		const size_t skip = operator_length(name, len, i);

		if (skip) {
			i += skip - 1;
		} else if (is_opening(name[i])) {
			depth++;
		} else if (is_closing(name[i]) && !(name[i] == '>' && name[i - 1] == '-')) {
			if (--depth == 0)
				return i + 1;
		}
	}
	return len;
}

/* Returns whether what is at `at` may stand behind parameters: nothing, a qualifier, a clone's
 * suffix, a place. */
static bool is_behind_parameters(const char *name, size_t len, size_t at)
{
	return at == len || name[at] == ' ' || name[at] == '[' || name[at] == '&' ||
	       name[at] == '.' || name[at] == '@' || name[at] == '+';
}

/* Returns whether a '(' at `at` begins parameters: it stands behind a name, and is closed at the
 * name's end. "(anonymous namespace)::f" and Go's "main.(*T).f" have others. */
static bool begins_parameters(const char *name, size_t len, size_t at, size_t begin)
{
	static const char decltype_word[] = "decltype";

	return at > begin && name[at - 1] != ':' && name[at - 1] != '.' && name[at - 1] != ' ' &&
	       strncmp(name + begin, decltype_word, sizeof(decltype_word) - 1) != 0 &&
	       is_behind_parameters(name, len, behind_bracket(name, len, at));
}

void function_name_parse(const char *name, size_t len, struct function_name *ret_parts)
{
	struct function_name parts = {.begin = 0, .end = len, .rest = len};

	for (size_t i = 0; i < len;) {
		const size_t skip = operator_length(name, len, i);

		if (skip) {
			i += skip;
		} else if (name[i] == '(' && begins_parameters(name, len, i, parts.begin)) {
			parts.end = i;
			parts.rest = behind_bracket(name, len, i);
			break;
		} else if (is_opening(name[i])) {
			i = behind_bracket(name, len, i);
		} else if (name[i] == ' ' && i + 1 < len && name[i + 1] == '[') {
			parts.end = parts.rest =
				i; /* " [clone .cold]" of a name without parameters */
			break;
		} else {
			/* "operator<< <char>(...)": the blank is in front of template arguments. */
			if (name[i] == ' ' && i + 1 < len && name[i + 1] != '<')
				parts.begin = i + 1;
			i++;
		}
	}
	/* Only a name with parameters says what it returns. Without them, blanks are the name's. */
	if (parts.end == parts.rest)
		parts.begin = 0;
	*ret_parts = parts;
}

void function_name_put_short(const char *name, size_t len, enum function_name_arguments arguments,
			     struct buf *b)
{
	static const char *const folds[] = {"", "\xe2\x80\xb9\xe2\x80\xa6\xe2\x80\xba", "<...>"};
	struct function_name parts;
	const char *suffix;

	function_name_parse(name, len, &parts);
	for (size_t i = parts.begin; i < parts.end;) {
		const size_t skip = operator_length(name, parts.end, i);
		const size_t next = skip ? i + skip : i + 1;

		/* "<T as Trait>::f" of Rust begins with its type, which is the name. */
		if (!skip && name[i] == '<' && i > parts.begin && name[i - 1] != ':' &&
		    name[i - 1] != '.') {
			buf_put(b, folds[arguments], strlen(folds[arguments]));
			i = behind_bracket(name, parts.end, i);
			continue;
		}
		buf_put(b, name + i, next - i);
		i = next;
	}
	suffix = memmem(name + parts.rest, len - parts.rest, " [", 2);
	if (!suffix && len - parts.rest > 1 && !strncmp(name + parts.rest, " (", 2))
		suffix = name + parts.rest;
	if (suffix)
		buf_put(b, suffix, len - (size_t)(suffix - name));
}
