/* SPDX-License-Identifier: MIT */
/* Paths for alignment; see align_input.h. */
#include "model/align_input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "proc/object.h"

/* A routine is recursive if it is twice in at least one in so many of the paths that have it. */
#define ALIGN_INPUT_RARELY 20

/* Counts of a routine in paths without heights. */
struct align_input_symbol {
	uint32_t path;	  /* number of the last path that has it */
	uint32_t counted; /* number of the last path that was counted in n_twice */
	uint32_t n_paths, n_twice;
};

struct align_input {
	const struct store_tables *tables;
	struct names *names;
	uint32_t *programs; /* by process: number of its program */
	uint32_t *bases;    /* by thread: the lowest root of a complete path; 0: not known */
	VEC(uint32_t) nodes;
	VEC(struct align_frame) frames;

	VEC(struct align_input_symbol) symbols; /* by symbol */
	uint32_t n_paths, n_alone;
	/* The frames that align_input_path() returned last begin above the path's root: they were
	 * cut. */
	bool is_cut;
};

/* Gives all processes of one executable the same program number: that of the first of these
 * processes. */
static void number_programs(struct align_input *input)
{
	const struct store_process *p = input->tables->processes;

	for (uint32_t i = 0; i < input->tables->n_processes; i++) {
		uint32_t same = i;

		/* A recording of the whole machine has thousands of processes, so each is compared
		 * only with the last few. */
		for (uint32_t k = i; p[i].exe && same == i && k-- > 0 && i - k <= 64;)
			if (p[k].exe && strcmp(p[k].exe, p[i].exe) == 0)
				same = input->programs[k];
		input->programs[i] = same;
	}
}

int align_input_new(const struct store_tables *tables, struct names *names,
		    struct align_input **ret_input)
{
	struct align_input *input = calloc(1, sizeof(*input));

	if (!input)
		return -ENOMEM;
	*input = (struct align_input){.tables = tables, .names = names};
	input->programs = calloc((size_t)tables->n_processes + 1, sizeof(*input->programs));
	input->bases = calloc((size_t)tables->n_threads + 1, sizeof(*input->bases));
	if (!input->programs || !input->bases) {
		align_input_free(input);
		return -ENOMEM;
	}
	number_programs(input);
	*ret_input = input;
	return 0;
}

void align_input_free(struct align_input *input)
{
	if (!input)
		return;
	free(input->programs);
	free(input->bases);
	free(input->nodes.items);
	free(input->frames.items);
	free(input->symbols.items);
	free(input);
}

static int symbol_of(struct align_input *input, uint32_t symbol, struct align_input_symbol **ret)
{
	if (symbol >= input->symbols.count) {
		size_t more = symbol + 1 - input->symbols.count;

		if (VEC_RESERVE(&input->symbols, more) < 0)
			return -ENOMEM;
		memset(input->symbols.items + input->symbols.count, 0,
		       more * sizeof(*input->symbols.items));
		input->symbols.count += more;
	}
	*ret = &input->symbols.items[symbol];
	return 0;
}

bool align_input_is_complete(const struct store_sample *sample)
{
	return profile_quality_of(sample->end_reason) == PROFILE_COMPLETE;
}

static uint32_t align_input_height(const struct align_input *input,
				   const struct store_sample *sample)
{
	return sample->origin < input->tables->n_origins
		       ? input->tables->origins[sample->origin].height
		       : 0;
}

/* Returns whether a sample's path has no heights: it was imported, or comes from branch records
 * alone. */
static bool align_input_is_flat(const struct align_input *input, const struct store_sample *sample)
{
	return !input->tables->sizes ||
	       (!align_input_is_complete(sample) && !align_input_height(input, sample));
}

void align_input_count(struct align_input *input, const struct store_sample *sample)
{
	uint32_t path = ++input->n_paths;

	if (!align_input_is_flat(input, sample))
		return;
	for (uint32_t n = sample->node; n; n = input->tables->nodes[n].parent) {
		const uint32_t *keys;
		struct align_input_symbol *seen;
		uint32_t count;

		if (names_keys(input->names, input->tables->nodes[n].location, &keys, &count) < 0 ||
		    symbol_of(input, keys[0] >> 1, &seen) < 0)
			return;
		seen->n_paths += seen->path != path;
		seen->n_twice += seen->path == path && seen->counted != path;
		if (seen->path == path)
			seen->counted = path;
		seen->path = path;
	}
}

void align_input_note(struct align_input *input, const struct store_sample *sample)
{
	uint32_t height = align_input_height(input, sample), *base;

	if (!align_input_is_complete(sample) || sample->thread >= input->tables->n_threads ||
	    !height)
		return;
	base = &input->bases[sample->thread];
	if (!*base || height < *base)
		*base = height;
}

/* Returns the height of a path's root frame above its thread's lowest root frame, whose own height
 * counts as 1; 0: unknown. */
static uint32_t first_height(const struct align_input *input, const struct store_sample *sample)
{
	uint32_t base = input->bases[sample->thread], height = align_input_height(input, sample);

	if (!base)
		return align_input_is_complete(sample) ? 1 : 0;
	return height >= base ? height - base + 1 : 0;
}

/* Returns whether a path that begins with a location can have callers below it. */
static bool align_input_is_code(const struct align_input *input, uint32_t location)
{
	uint32_t kind = input->tables->objects[input->tables->locations[location].object].kind;

	return kind != OBJECT_KERNEL && kind != OBJECT_MODULE && kind != OBJECT_TAG &&
	       kind != OBJECT_MARK && kind != OBJECT_AWAITED && kind != OBJECT_MANAGED;
}

static int climb(struct align_input *input, uint32_t node)
{
	input->nodes.count = 0;
	for (; node; node = input->tables->nodes[node].parent) {
		if (VEC_RESERVE(&input->nodes, 1) < 0)
			return -ENOMEM;
		input->nodes.items[input->nodes.count++] = node;
	}
	return VEC_RESERVE(&input->frames, input->nodes.count + 1 - input->frames.count);
}

/* Returns whether a routine calls itself, directly or through others. Rare repetitions do not
 * count, because a frame can have the name of an adjacent symbol, and a path can be wrong. */
static bool is_recursive(const struct align_input *input, uint32_t symbol)
{
	const struct align_input_symbol *s;

	if (symbol >= input->symbols.count)
		return false;
	s = &input->symbols.items[symbol];
	return s->n_twice && s->n_twice >= s->n_paths / ALIGN_INPUT_RARELY;
}

/* Appends the frame of a node, with its height (0: unknown). Without heights (`is_flat`), a frame
 * of a recursive routine could be any of several frames of the stack. So it gets a symbol of its
 * own, and becomes the path's first frame: the callers appended before are dropped. Returns 0 or an
 * error. */
static int append(struct align_input *input, uint32_t node, uint32_t height, bool is_flat)
{
	uint32_t location = input->tables->nodes[node].location, count, symbol;
	const uint32_t *keys;
	int err = names_keys(input->names, location, &keys, &count);

	if (err < 0)
		return err;
	symbol = keys[0] >> 1;
	if (is_flat && is_recursive(input, symbol)) {
		input->is_cut |= input->frames.count > 0;
		input->frames.count = 0;
		symbol = UINT32_MAX - 1 - input->n_alone++ % (UINT32_MAX / 2);
	}
	input->frames.items[input->frames.count++] = (struct align_frame){location, symbol, height};
	return 0;
}

int align_input_path(struct align_input *input, const struct store_sample *sample,
		     const struct align_frame **ret_frames, uint32_t *ret_count)
{
	const struct store_tables *t = input->tables;
	uint32_t inferred =
		sample->origin < t->n_origins ? origin_inferred(&t->origins[sample->origin]) : 0;
	bool is_flat = align_input_is_flat(input, sample);
	uint32_t height = 0;
	int err;

	input->frames.count = 0;
	input->is_cut = false;
	err = climb(input, sample->node);
	for (size_t i = input->nodes.count; err == 0 && i-- > 0;) {
		uint32_t node = input->nodes.items[i], location = t->nodes[node].location;
		bool is_first = i + 1 == input->nodes.count;
		uint64_t above = t->sizes ? t->sizes[node] : 0;

		if (is_first && !align_input_is_code(input, location))
			break;
		if (is_first)
			height = t->sizes ? first_height(input, sample) : 0;
		else
			height = height && above && height + above <= UINT32_MAX
					 ? (uint32_t)(height + above)
					 : 0;
		if (!t->locations[location].is_return)
			height = 0;
		if (input->nodes.count - 1 - i < inferred) {
			input->is_cut = true;
			continue;
		}
		/* The entry's height is always 1, so it does not identify a caller, and is passed
		 * as unknown. */
		err = append(input, node, is_first && align_input_is_complete(sample) ? 0 : height,
			     is_flat);
	}
	if (err == 0) {
		*ret_frames = input->frames.items;
		*ret_count = (uint32_t)input->frames.count;
	}
	return err;
}

bool align_input_reaches_entry(const struct align_input *input, const struct store_sample *sample)
{
	return align_input_is_complete(sample) && !input->is_cut;
}

uint32_t align_input_program(const struct align_input *input, uint32_t thread)
{
	return input->programs[input->tables->threads[thread].process];
}
