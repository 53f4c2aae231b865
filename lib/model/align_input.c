/* SPDX-License-Identifier: MIT */
/* Paths for alignment; see evidence.h. */
#include "model/align_input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "proc/object.h"

#define ALIGN_INPUT_RARELY 20 /* one in so many paths */

/* A routine, in paths without heights. */
struct align_input_symbol {
	uint32_t path;	  /* the last one that has it */
	uint32_t counted; /* the last one that has it twice */
	uint32_t n_paths, n_twice;
};

struct align_input {
	const struct store_tables *tables;
	struct names *names;
	uint32_t *programs; /* by process */
	uint32_t *bases;    /* by thread: the lowest root of a whole path; 0: not known */
	VEC(uint32_t) nodes;
	VEC(struct align_frame) frames;

	/* By symbol: the last path without heights that it was met in, and whether one had it
	 * twice. */
	VEC(struct align_input_symbol) symbols;
	uint32_t n_paths, n_alone;
	bool is_cut; /* the last path that was asked for */
};

/* Processes of one executable share the number of the first. */
static void number_programs(struct align_input *e)
{
	const struct store_process *p = e->tables->processes;

	for (uint32_t i = 0; i < e->tables->n_processes; i++) {
		uint32_t same = i;

		/* A recording of everything has thousands: the last few are enough to find it. */
		for (uint32_t k = i; p[i].exe && same == i && k-- > 0 && i - k <= 64;)
			if (p[k].exe && strcmp(p[k].exe, p[i].exe) == 0)
				same = e->programs[k];
		e->programs[i] = same;
	}
}

int align_input_new(const struct store_tables *tables, struct names *names,
		    struct align_input **ret_evidence)
{
	struct align_input *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	*e = (struct align_input){.tables = tables, .names = names};
	e->programs = calloc((size_t)tables->n_processes + 1, sizeof(*e->programs));
	e->bases = calloc((size_t)tables->n_threads + 1, sizeof(*e->bases));
	if (!e->programs || !e->bases) {
		align_input_free(e);
		return -ENOMEM;
	}
	number_programs(e);
	*ret_evidence = e;
	return 0;
}

void align_input_free(struct align_input *e)
{
	if (!e)
		return;
	free(e->programs);
	free(e->bases);
	free(e->nodes.items);
	free(e->frames.items);
	free(e->symbols.items);
	free(e);
}

static int symbol_of(struct align_input *e, uint32_t symbol, struct align_input_symbol **ret)
{
	if (symbol >= e->symbols.count) {
		size_t more = symbol + 1 - e->symbols.count;

		if (VEC_RESERVE(&e->symbols, more) < 0)
			return -ENOMEM;
		memset(e->symbols.items + e->symbols.count, 0, more * sizeof(*e->symbols.items));
		e->symbols.count += more;
	}
	*ret = &e->symbols.items[symbol];
	return 0;
}

bool align_input_is_complete(const struct store_sample *sample)
{
	return profile_quality_of(sample->end_reason) == PROFILE_COMPLETE;
}

static uint32_t align_input_height(const struct align_input *e, const struct store_sample *sample)
{
	return sample->origin < e->tables->n_origins ? e->tables->origins[sample->origin].height
						     : 0;
}

/* Does a sample's path come without heights: imported, or of branch records alone? */
static bool align_input_is_flat(const struct align_input *e, const struct store_sample *sample)
{
	return !e->tables->sizes ||
	       (!align_input_is_complete(sample) && !align_input_height(e, sample));
}

void align_input_count(struct align_input *e, const struct store_sample *sample)
{
	uint32_t path = ++e->n_paths;

	if (!align_input_is_flat(e, sample))
		return;
	for (uint32_t n = sample->node; n; n = e->tables->nodes[n].parent) {
		const uint32_t *keys;
		struct align_input_symbol *seen;
		uint32_t count;

		if (names_keys(e->names, e->tables->nodes[n].location, &keys, &count) < 0 ||
		    symbol_of(e, keys[0] >> 1, &seen) < 0)
			return;
		seen->n_paths += seen->path != path;
		seen->n_twice += seen->path == path && seen->counted != path;
		if (seen->path == path)
			seen->counted = path;
		seen->path = path;
	}
}

void align_input_note(struct align_input *e, const struct store_sample *sample)
{
	uint32_t height = align_input_height(e, sample), *base;

	if (!align_input_is_complete(sample) || sample->thread >= e->tables->n_threads || !height)
		return;
	base = &e->bases[sample->thread];
	if (!*base || height < *base)
		*base = height;
}

/* The height of a path's first frame above its thread's base, which is 1; 0: not known. */
static uint32_t first(const struct align_input *e, const struct store_sample *sample)
{
	uint32_t base = e->bases[sample->thread], height = align_input_height(e, sample);

	if (!base)
		return align_input_is_complete(sample) ? 1 : 0;
	return height >= base ? height - base + 1 : 0;
}

/* Whether a path that begins with a location can have callers below it. */
static bool align_input_is_code(const struct align_input *e, uint32_t location)
{
	uint32_t kind = e->tables->objects[e->tables->locations[location].object].kind;

	return kind != OBJECT_KERNEL && kind != OBJECT_MODULE && kind != OBJECT_TAG;
}

static int climb(struct align_input *e, uint32_t node)
{
	e->nodes.count = 0;
	for (; node; node = e->tables->nodes[node].parent) {
		if (VEC_RESERVE(&e->nodes, 1) < 0)
			return -ENOMEM;
		e->nodes.items[e->nodes.count++] = node;
	}
	return VEC_RESERVE(&e->frames, e->nodes.count + 1 - e->frames.count);
}

/* Does a routine call itself, by way of others perhaps? Now and then one looks as if it did: names
 * are of the symbol below, and a path can be wrong. */
static bool is_recursive(const struct align_input *e, uint32_t symbol)
{
	const struct align_input_symbol *s;

	if (symbol >= e->symbols.count)
		return false;
	s = &e->symbols.items[symbol];
	return s->n_twice && s->n_twice >= s->n_paths / ALIGN_INPUT_RARELY;
}

/* Appends the frame of a node; `height`: its own, 0 if that is not known.
 * Without heights a routine that calls itself could be any of several in a stack. So such a frame
 * is like no other, and the path begins with it: nothing is said of its callers. */
static int append(struct align_input *e, uint32_t node, uint32_t height, bool is_flat)
{
	uint32_t location = e->tables->nodes[node].location, count, symbol;
	const uint32_t *keys;
	int r = names_keys(e->names, location, &keys, &count);

	if (r < 0)
		return r;
	symbol = keys[0] >> 1;
	if (is_flat && is_recursive(e, symbol)) {
		e->is_cut |= e->frames.count > 0;
		e->frames.count = 0;
		symbol = UINT32_MAX - 1 - e->n_alone++ % (UINT32_MAX / 2);
	}
	e->frames.items[e->frames.count++] = (struct align_frame){location, symbol, height};
	return 0;
}

int align_input_path(struct align_input *e, const struct store_sample *sample,
		     const struct align_frame **ret_frames, uint32_t *ret_count)
{
	const struct store_tables *t = e->tables;
	uint32_t inferred =
		sample->origin < t->n_origins ? origin_inferred(&t->origins[sample->origin]) : 0;
	bool is_flat = align_input_is_flat(e, sample);
	uint32_t height = 0;
	int r;

	e->frames.count = 0;
	e->is_cut = false;
	r = climb(e, sample->node);
	for (size_t i = e->nodes.count; r == 0 && i-- > 0;) {
		uint32_t node = e->nodes.items[i], location = t->nodes[node].location;
		bool is_first = i + 1 == e->nodes.count;
		uint64_t above = t->sizes ? t->sizes[node] : 0;

		if (is_first && !align_input_is_code(e, location))
			break;
		if (is_first)
			height = t->sizes ? first(e, sample) : 0;
		else
			height = height && above && height + above <= UINT32_MAX
					 ? (uint32_t)(height + above)
					 : 0;
		if (!t->locations[location].is_return)
			height = 0;
		if (e->nodes.count - 1 - i < inferred) {
			e->is_cut = true;
			continue;
		}
		/* That the entry's height is 1 says nothing about who called it. */
		r = append(e, node, is_first && align_input_is_complete(sample) ? 0 : height,
			   is_flat);
	}
	if (r == 0) {
		*ret_frames = e->frames.items;
		*ret_count = (uint32_t)e->frames.count;
	}
	return r;
}

bool align_input_reaches_entry(const struct align_input *e, const struct store_sample *sample)
{
	return align_input_is_complete(sample) && !e->is_cut;
}

uint32_t align_input_program(const struct align_input *e, uint32_t thread)
{
	return e->programs[e->tables->threads[thread].process];
}
