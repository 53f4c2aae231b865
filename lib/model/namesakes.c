/* SPDX-License-Identifier: MIT */
/*
 * Functions of one name; see namesakes.h.
 *
 *   pass 1  (object, name) ──► pair, (pair, start) ──► function. Most recordings end here: each
 * pair has one function pass 2  the functions of namesakes vote for their file: each line has one
 * vote pass 3  the suffix of each line
 *
 * The vote is needed because a line's file is that of its source text, which need not be that of
 * its function: compilers drop inlined calls and keep their lines, and parsers have lines of their
 * grammar. So a file alone tells no functions apart, only starts do. An inlined function has no
 * start: it is the namesake that has its file, or keeps the bare name.
 *
 * A name with namesakes in one version of a file has suffixes in all versions, whose objects have
 * one path: otherwise their common functions would have two names.
 */
#include "model/namesakes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/int_map.h"
#include "base/strings.h"
#include "base/text.h"
#include "base/vec.h"
#include "proc/object.h"

#define NAMESAKES_NONE UINT32_MAX

struct namesakes {
	uint32_t *suffixes; /* by line: its number + 1; 0: none */
	struct strings *texts;
};

struct namesakes_function {
	uint64_t start;
	uint32_t pair;
	uint32_t file; /* with the most votes so far, or NAMESAKES_NONE */
	uint32_t votes;
	uint32_t suffix; /* its number + 1; 0: none */
};

struct namesakes_pair {
	uint32_t object, path, name;
	uint32_t first; /* its function that was met first */
};

struct finder {
	const struct store_tables *t;
	struct strings *words, *files; /* names of functions and paths; names of files */
	struct int_map pair_of;	       /* (object, name) -> pair */
	struct int_map function_of;    /* (start, pair) -> function */
	struct int_map shared;	       /* (path, name): a pair has several functions */
	struct int_map votes;	       /* (function, file) -> lines */
	struct int_map holders;	       /* (pair, file) -> function; NAMESAKES_NONE - 1: several */
	VEC(struct namesakes_pair) pairs;
	VEC(struct namesakes_function) functions;
	uint32_t *by_line; /* function + 1; 0: none */
	struct namesakes *result;
};

static void finder_release(struct finder *f)
{
	strings_free(f->words);
	strings_free(f->files);
	int_map_fini(&f->pair_of);
	int_map_fini(&f->function_of);
	int_map_fini(&f->shared);
	int_map_fini(&f->votes);
	int_map_fini(&f->holders);
	free(f->pairs.items);
	free(f->functions.items);
	free(f->by_line);
}

void namesakes_free(struct namesakes *n)
{
	if (!n)
		return;
	strings_free(n->texts);
	free(n->suffixes);
	free(n);
}

static uint64_t pair_key(uint32_t a, uint32_t b)
{
	return (uint64_t)a << 32 | b;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

static bool is_kernel(uint32_t kind)
{
	return kind == OBJECT_KERNEL || kind == OBJECT_MODULE;
}

/* Whether a line's name is one that other functions of its object could have. */
static bool may_have_namesakes(const struct store_tables *t, const struct store_line *line)
{
	uint32_t kind = t->objects[t->locations[line->location].object].kind;
	const char *name = line->function;

	if (!name || !*name)
		return false;
	if (is_kernel(kind))
		return strncmp(name, "bpf_prog_", strlen("bpf_prog_")) != 0;
	return (kind == OBJECT_ELF || kind == OBJECT_VDSO) && !ends_with(name, "@plt");
}

static bool has_start(const struct store_line *line)
{
	return line->function_start && !line->is_inlined;
}

/* --- pass 1: functions ----------------------------------------------------------------------- */

static int enter_pair(struct finder *f, uint32_t object, const char *function, uint32_t *ret_pair)
{
	const char *path = f->t->objects[object].path;
	uint32_t number = (uint32_t)f->pairs.count;
	struct namesakes_pair pair = {.object = object, .first = NAMESAKES_NONE};
	int err = strings_intern(f->words, function, &pair.name);

	if (err == 0)
		err = strings_intern(f->words, path ? path : "", &pair.path);
	if (err == 0)
		err = int_map_enter(&f->pair_of, pair_key(object, pair.name), number, ret_pair);
	if (err < 0 || *ret_pair != number)
		return err;
	if (VEC_RESERVE(&f->pairs, 1) < 0)
		return -ENOMEM;
	f->pairs.items[f->pairs.count++] = pair;
	return 0;
}

static int enter_function(struct finder *f, uint32_t pair, uint64_t start, uint32_t *ret_function)
{
	uint32_t number = (uint32_t)f->functions.count, at;
	struct namesakes_pair *of = &f->pairs.items[pair];
	int err = int_map_enter_wide(&f->function_of, start, pair, number, ret_function);

	if (err < 0 || *ret_function != number)
		return err;
	if (VEC_RESERVE(&f->functions, 1) < 0)
		return -ENOMEM;
	f->functions.items[f->functions.count++] =
		(struct namesakes_function){.start = start, .pair = pair, .file = NAMESAKES_NONE};
	if (of->first != NAMESAKES_NONE)
		return int_map_enter(&f->shared, pair_key(of->path, of->name), 1, &at);
	of->first = number;
	return 0;
}

static int find_functions(struct finder *f)
{
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < f->t->n_lines; i++) {
		const struct store_line *line = &f->t->lines[i];
		uint32_t pair, function;

		if (!has_start(line) || !may_have_namesakes(f->t, line))
			continue;
		err = enter_pair(f, f->t->locations[line->location].object, line->function, &pair);
		if (err == 0)
			err = enter_function(f, pair, line->function_start, &function);
		if (err == 0)
			f->by_line[i] = function + 1;
	}
	return err;
}

static bool is_shared(const struct finder *f, uint32_t pair)
{
	const struct namesakes_pair *p = &f->pairs.items[pair];

	return int_map_find(&f->shared, pair_key(p->path, p->name)) != INT_MAP_NONE;
}

/* --- pass 2: files --------------------------------------------------------------------------- */

static int vote(struct finder *f, uint32_t function, const char *path)
{
	struct namesakes_function *of = &f->functions.items[function];
	uint32_t file, votes;
	int err = strings_intern(f->files, text_basename(path), &file);

	if (err < 0)
		return err;
	votes = int_map_find(&f->votes, pair_key(function, file));
	votes = votes == INT_MAP_NONE ? 1 : votes + 1;
	if (votes > of->votes ||
	    (votes == of->votes &&
	     strcmp(strings_at(f->files, file), strings_at(f->files, of->file)) < 0)) {
		of->file = file;
		of->votes = votes;
	}
	return int_map_set(&f->votes, pair_key(function, file), votes);
}

static int find_files(struct finder *f)
{
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < f->t->n_lines; i++) {
		const char *file = f->t->lines[i].file;
		uint32_t function = f->by_line[i];

		if (function && file && *file &&
		    is_shared(f, f->functions.items[function - 1].pair))
			err = vote(f, function - 1, file);
	}
	for (uint32_t i = 0; err == 0 && i < f->functions.count; i++) {
		const struct namesakes_function *of = &f->functions.items[i];
		uint64_t key = pair_key(of->pair, of->file);
		uint32_t holder;

		if (of->file == NAMESAKES_NONE)
			continue;
		err = int_map_enter(&f->holders, key, i, &holder);
		if (err == 0 && holder != i)
			err = int_map_set(&f->holders, key, NAMESAKES_NONE - 1);
	}
	return err;
}

/* --- pass 3: suffixes ------------------------------------------------------------------------ */

static int put_suffix(struct finder *f, uint32_t number)
{
	struct namesakes_function *of = &f->functions.items[number];
	const struct store_object *object = &f->t->objects[f->pairs.items[of->pair].object];
	const char *name = object->path ? text_basename(object->path) : "";
	int length = (int)strlen(name), r;
	char *text;

	if (of->file != NAMESAKES_NONE &&
	    int_map_find(&f->holders, pair_key(of->pair, of->file)) == number) {
		r = asprintf(&text, " (%s)", strings_at(f->files, of->file));
	} else {
		if (is_kernel(object->kind) && *name == '[') { /* "[kernel.kallsyms]" */
			name++;
			length -= length > 1 ? 2 : 1;
		}
		r = asprintf(&text, " [%.*s+0x%" PRIx64 "]", length, name, of->start);
	}
	if (r < 0)
		return -ENOMEM;
	r = strings_intern(f->result->texts, text, &of->suffix);
	of->suffix++;
	free(text);
	return r;
}

/* The suffix of a line without a start: that of the one namesake whose file it has. */
static uint32_t suffix_by_file(struct finder *f, const struct store_line *line, int *err)
{
	uint32_t name, file, pair, holder;

	if (!line->file || !*line->file || !may_have_namesakes(f->t, line))
		return 0;
	*err = strings_intern(f->words, line->function, &name);
	if (*err == 0)
		*err = strings_intern(f->files, text_basename(line->file), &file);
	if (*err < 0)
		return 0;
	pair = int_map_find(&f->pair_of, pair_key(f->t->locations[line->location].object, name));
	holder = pair == INT_MAP_NONE ? INT_MAP_NONE
				      : int_map_find(&f->holders, pair_key(pair, file));
	return holder < f->functions.count ? f->functions.items[holder].suffix : 0;
}

static int find_suffixes(struct finder *f)
{
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < f->functions.count; i++)
		if (is_shared(f, f->functions.items[i].pair))
			err = put_suffix(f, i);
	for (uint32_t i = 0; err == 0 && i < f->t->n_lines; i++) {
		uint32_t function = f->by_line[i];

		f->result->suffixes[i] = function ? f->functions.items[function - 1].suffix
						  : suffix_by_file(f, &f->t->lines[i], &err);
	}
	return err;
}

static int make_result(struct finder *f)
{
	int err;

	f->result = calloc(1, sizeof(*f->result));
	if (!f->result)
		return -ENOMEM;
	f->result->suffixes = calloc((size_t)f->t->n_lines + 1, sizeof(*f->result->suffixes));
	err = f->result->suffixes ? strings_new(&f->result->texts) : -ENOMEM;
	if (err == 0)
		err = find_files(f);
	return err < 0 ? err : find_suffixes(f);
}

int namesakes_find(const struct store_tables *tables, struct namesakes **ret_namesakes)
{
	struct finder f = {.t = tables};
	int err = -ENOMEM;

	*ret_namesakes = NULL;
	f.by_line = calloc((size_t)tables->n_lines + 1, sizeof(*f.by_line));
	if (f.by_line && strings_new(&f.words) == 0 && strings_new(&f.files) == 0)
		err = find_functions(&f);
	if (err == 0 && f.functions.count > f.pairs.count)
		err = make_result(&f);
	if (err == 0)
		*ret_namesakes = f.result;
	else
		namesakes_free(f.result);
	finder_release(&f);
	return err;
}

const char *namesakes_suffix(const struct namesakes *n, uint32_t line)
{
	return n && n->suffixes[line] ? strings_at(n->texts, n->suffixes[line] - 1) : NULL;
}
