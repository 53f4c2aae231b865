/* SPDX-License-Identifier: MIT */
/*
 * Shortens names by replacing the most deeply nested contents; see shorten.h.
 *
 *   ns::run<std::map<int, std::list<x>>, 7>(std::map<int, std::list<x>>&)
 *   ns::run<std::map<...>, 7>(std::map<...>&)
 *   ns::run<...>(...)         or (int), since short contents stay
 *
 * One pass adds up the bytes at each depth of brackets. This gives the length of the name for each
 * depth at which it can be cut. The deepest that fits is taken. '<' and '>' are operators as well:
 * those behind the word "operator" are no brackets, and a closing bracket also ends all brackets
 * that were opened within its pair.
 */
#include "sym/shorten.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define SMALL_BYTES 32	/* contents of a bracket up to this size stay */
#define MAX_DEPTH   512 /* deeper contents count as of this depth */

static const char dots[] = "...";

struct scan {
	const char *name;
	size_t len, at;
	char open[MAX_DEPTH]; /* the brackets that are open */
	size_t depth;
	size_t too_deep; /* open ones that are not in `open` */
};

/* Returns how many bytes of an operator's name start here: 3 for "<<=" in "operator<<=". */
static size_t operator_bytes(const struct scan *s)
{
	static const char word[] = "operator";
	const size_t n = sizeof(word) - 1;

	if (s->at < n || memcmp(s->name + s->at - n, word, n) != 0)
		return 0;
	if (s->at + 1 < s->len && s->name[s->at] == '(' && s->name[s->at + 1] == ')')
		return 2;
	return strspn(s->name + s->at, "<>=-");
}

static char closing(char c)
{
	return c == '<' ? '>' : c == '(' ? ')' : c == '[' ? ']' : c == '{' ? '}' : 0;
}

static void enter(struct scan *s, char c)
{
	if (s->depth < MAX_DEPTH)
		s->open[s->depth++] = closing(c);
	else
		s->too_deep++;
}

static void leave(struct scan *s, char c)
{
	size_t depth = s->depth;

	if (s->too_deep) {
		s->too_deep--;
		return;
	}
	if (c == '>' && depth && s->open[depth - 1] != '>')
		return;
	while (depth && s->open[depth - 1] != c)
		depth--;
	if (depth)
		s->depth = depth - 1;
}

/* Moves over the next bytes. Gives the depth of brackets around them, and whether they open a
 * bracket. */
static size_t step(struct scan *s, size_t *ret_depth, bool *ret_opens)
{
	size_t n = operator_bytes(s), before = s->depth;
	char c = s->name[s->at];

	*ret_opens = false;
	if (!n) {
		n = 1;
		if (closing(c))
			enter(s, c);
		else if (c == '>' || c == ')' || c == ']' || c == '}')
			leave(s, c);
		*ret_opens = s->depth > before;
	}
	*ret_depth = before < s->depth ? before : s->depth;
	s->at += n;
	return n;
}

/* Returns the greatest depth whose contents fit, 0 also if not even the outermost ones do, and
 * gives the bytes that are left then. */
static size_t depth_that_fits(const char *name, size_t len, size_t most, size_t *ret_left)
{
	size_t bytes[MAX_DEPTH + 1] = {0}, opened[MAX_DEPTH + 1] = {0}, sum, best = 0, depth;
	struct scan s = {.name = name, .len = len};
	bool opens;

	while (s.at < len) {
		size_t n = step(&s, &depth, &opens);

		bytes[depth] += n;
		opened[depth] += opens;
	}
	sum = 0;
	*ret_left = 0;
	for (depth = 0; depth <= MAX_DEPTH; depth++) {
		sum += bytes[depth];
		if (sum + strlen(dots) * opened[depth] > most)
			break;
		best = depth;
		*ret_left = most - sum - strlen(dots) * opened[depth];
	}
	return best;
}

/* Returns whether the contents of the bracket that was just opened are short enough to stay; if so,
 * subtracts them from the bytes that are left. */
static bool is_small(const struct scan *scan, size_t *left)
{
	struct scan s = *scan;
	bool opens;
	size_t depth, n;

	while (s.at < s.len && s.depth >= scan->depth && s.at - scan->at <= SMALL_BYTES)
		step(&s, &depth, &opens);
	n = s.at - scan->at;
	if (s.depth >= scan->depth || n > SMALL_BYTES || n > *left)
		return false;
	*left -= n;
	return true;
}

/* Returns a length of at most `most` that does not end within a character. */
static size_t whole_characters(const char *name, size_t most)
{
	while (most && ((uint8_t)name[most] & 0xc0) == 0x80)
		most--;
	return most;
}

void shorten_name(const char *name, size_t len, size_t most, struct buf *out)
{
	struct scan s = {.name = name, .len = len};
	size_t first = out->len, limit, depth, left;
	bool opens, kept = false;

	if (len <= most) {
		buf_put(out, name, len);
		return;
	}
	limit = depth_that_fits(name, len, most, &left);
	while (s.at < len && out->len - first < most) {
		const char *from = name + s.at;
		size_t n = step(&s, &depth, &opens);

		if (opens && depth == limit)
			kept = is_small(&s, &left);
		if (depth <= limit || kept)
			buf_put(out, from, n);
		if (opens && depth == limit && !kept)
			buf_put(out, dots, strlen(dots));
	}
	if (s.at >= len || out->failed)
		return;
	out->len = first + whole_characters((const char *)out->data + first, most - strlen(dots));
	buf_put(out, dots, strlen(dots));
}
