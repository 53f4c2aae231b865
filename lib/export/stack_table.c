/* SPDX-License-Identifier: MIT */
/*
 * The table of stacks; see paths.h.
 *
 * Nearly all paths are plain: as the walk found them, without a root mark, shown whole. For those a
 * trie node becomes as many stacks as its location has frames, found again in an array by node.
 * All others are entered frame by frame as the model shows them, and found by node and variant: a
 * number for each pair of end reason and origin; 0 is plain.
 */
#include "export/stack_table.h"

#include <errno.h>
#include <stdlib.h>

#include "base/int_map.h"
#include "base/vec.h"

struct stack_table {
	struct profile *profile;
	const struct store_tables *t;
	struct stack_table_stack *stacks;
	uint32_t n_stacks;
	size_t cap_stacks;
	struct stack_table_frame *frames;
	uint32_t n_frames;
	size_t cap_frames;
	uint32_t *first_frame;	 /* by location; STACK_TABLE_NONE: not there yet */
	uint32_t *plain;	 /* by trie node: its stack as a plain path */
	struct int_map variants; /* (origin, end reason) -> number, from 1 */
	struct int_map varied;	 /* (variant, trie node) -> stack */
	struct int_map children; /* (stack + 1, frame) -> stack, of paths that are not plain */
	struct int_map shown;	 /* (location, symbol, is inferred) -> frame, of those paths */
	uint32_t *climb;	 /* trie nodes that have no stack yet, leaf first */
	uint32_t n_climb;
	size_t cap_climb;
	bool is_shaped;
};

bool stack_table_is_shaped(const struct profile *profile)
{
	const struct profile_filter *filter = profile_filter(profile);

	return filter->max_depth || filter->fold_recursion || filter->no_inlined;
}

static bool stack_table_is_plain(const struct stack_table *paths, uint32_t node, uint8_t end_reason,
				 uint32_t origin)
{
	return !paths->is_shaped && node && origin == ORIGIN_WALKED &&
	       !profile_mark(paths->profile, end_reason, origin);
}

/* Makes room for one more element in an array of `n`, whose numbers must stay below
 * STACK_TABLE_NONE. */
#define GROW(array, n, cap)                                                                        \
	((n) >= STACK_TABLE_NONE / 2 ? -ENOMEM : VEC_GROW(array, cap, (size_t)(n) + 1))

static int add_stack(struct stack_table *paths, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	int r = GROW(paths->stacks, paths->n_stacks, paths->cap_stacks);

	if (r < 0)
		return r;
	paths->stacks[paths->n_stacks] = (struct stack_table_stack){parent, frame};
	*ret = paths->n_stacks++;
	return 0;
}

static int add_frame(struct stack_table *paths, const struct profile_frame *frame,
		     uint32_t inline_depth, uint32_t *ret)
{
	int r = GROW(paths->frames, paths->n_frames, paths->cap_frames);

	if (r < 0)
		return r;
	paths->frames[paths->n_frames] = (struct stack_table_frame){*frame, inline_depth};
	*ret = paths->n_frames++;
	return 0;
}

/* Puts the frames of a trie node on the stack *at. */
static int put_node(struct stack_table *paths, uint32_t node, uint32_t *at)
{
	uint32_t location = paths->t->nodes[node].location, frame;
	bool is_new = paths->first_frame[location] == STACK_TABLE_NONE;
	const struct profile_frame *frames;
	size_t count;
	int r = 0;

	frames = profile_location_frames(paths->profile, location, &count);
	if (!frames)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && is_new && i < count; i++) {
		r = add_frame(paths, &frames[i], (uint32_t)i, &frame);
		if (r == 0 && i == 0)
			paths->first_frame[location] = frame;
	}
	for (uint32_t i = 0; r == 0 && i < count; i++)
		r = add_stack(paths, *at, paths->first_frame[location] + i, at);
	return r;
}

static int enter_plain(struct stack_table *paths, uint32_t node)
{
	uint32_t at = STACK_TABLE_NONE;
	int r = 0;

	paths->n_climb = 0;
	for (; node && paths->plain[node] == STACK_TABLE_NONE;
	     node = paths->t->nodes[node].parent) {
		r = GROW(paths->climb, paths->n_climb, paths->cap_climb);
		if (r < 0)
			return r;
		paths->climb[paths->n_climb++] = node;
	}
	if (node)
		at = paths->plain[node];
	while (r == 0 && paths->n_climb) {
		node = paths->climb[--paths->n_climb];
		r = put_node(paths, node, &at);
		paths->plain[node] = at;
	}
	return r;
}

/* The number of a frame as shown, entered if it is new. */
static int stack_table_shown(struct stack_table *paths, const struct profile_frame *frame,
			     uint32_t depth, uint32_t *ret_number)
{
	uint64_t key =
		(uint64_t)frame->location << 32 | frame->symbol->number << 1 | frame->is_inferred;
	uint32_t number = int_map_find(&paths->shown, key);
	int r = 0;

	if (number == INT_MAP_NONE) {
		r = add_frame(paths, frame, depth, &number);
		if (r == 0)
			r = int_map_enter(&paths->shown, key, number, &number);
	}
	*ret_number = number;
	return r;
}

/* Puts a frame on the stack *at. */
static int stack_table_push(struct stack_table *paths, uint32_t frame, uint32_t *at)
{
	uint64_t key = (uint64_t)(*at + 1) << 32 | frame; /* STACK_TABLE_NONE + 1 is 0 */
	uint32_t stack = int_map_find(&paths->children, key);
	int r = 0;

	if (stack == INT_MAP_NONE) {
		r = add_stack(paths, *at, frame, &stack);
		if (r == 0)
			r = int_map_enter(&paths->children, key, stack, &stack);
	}
	*at = stack;
	return r;
}

static int enter_varied(struct stack_table *paths, const struct profile_entry *entry)
{
	uint32_t variant, at = STACK_TABLE_NONE, depth = 0;
	const struct profile_frame *frames;
	size_t n;
	int r = int_map_enter(&paths->variants, (uint64_t)entry->origin << 8 | entry->end_reason,
			      (uint32_t)paths->variants.used + 1, &variant);

	if (r < 0 ||
	    int_map_find(&paths->varied, (uint64_t)variant << 32 | entry->node) != INT_MAP_NONE)
		return r;
	frames = profile_frames(paths->profile, entry->node, entry->end_reason, entry->origin, &n);
	if (!frames)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++) {
		uint32_t frame;

		depth = frames[i].is_inlined ? depth + 1 : 0;
		r = stack_table_shown(paths, &frames[i], depth, &frame);
		if (r == 0)
			r = stack_table_push(paths, frame, &at);
	}
	return r < 0 ? r
		     : int_map_enter(&paths->varied, (uint64_t)variant << 32 | entry->node, at,
				     &at);
}

static int fill(struct stack_table *paths)
{
	size_t n;
	const struct profile_entry *entries = profile_entries(paths->profile, &n);
	int r = 0;

	paths->first_frame = malloc(((size_t)paths->t->n_locations + 1) * sizeof(uint32_t));
	paths->plain = malloc(((size_t)paths->t->n_nodes + 1) * sizeof(uint32_t));
	if (!paths->first_frame || !paths->plain)
		return -ENOMEM;
	for (uint32_t i = 0; i <= paths->t->n_locations; i++)
		paths->first_frame[i] = STACK_TABLE_NONE;
	for (uint32_t i = 0; i <= paths->t->n_nodes; i++)
		paths->plain[i] = STACK_TABLE_NONE;
	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct profile_entry *e = &entries[i];

		if (stack_table_is_plain(paths, e->node, e->end_reason, e->origin))
			r = enter_plain(paths, e->node);
		else
			r = enter_varied(paths, e);
	}
	return r;
}

int stack_table_new(struct profile *profile, struct stack_table **ret_paths)
{
	struct stack_table *paths = calloc(1, sizeof(*paths));
	int r;

	if (!paths)
		return -ENOMEM;
	paths->profile = profile;
	paths->t = profile_tables(profile);
	paths->is_shaped = stack_table_is_shaped(profile);
	r = fill(paths);
	if (r < 0) {
		stack_table_free(paths);
		return r;
	}
	*ret_paths = paths;
	return 0;
}

void stack_table_free(struct stack_table *paths)
{
	if (!paths)
		return;
	free(paths->stacks);
	free(paths->frames);
	free(paths->first_frame);
	free(paths->plain);
	free(paths->climb);
	int_map_fini(&paths->variants);
	int_map_fini(&paths->varied);
	int_map_fini(&paths->children);
	int_map_fini(&paths->shown);
	free(paths);
}

const struct stack_table_stack *stack_table_stacks(const struct stack_table *paths,
						   uint32_t *ret_count)
{
	*ret_count = paths->n_stacks;
	return paths->stacks;
}

const struct stack_table_frame *stack_table_frames(const struct stack_table *paths,
						   uint32_t *ret_count)
{
	*ret_count = paths->n_frames;
	return paths->frames;
}

uint32_t stack_table_find(const struct stack_table *paths, uint32_t node, uint8_t end_reason,
			  uint32_t origin)
{
	uint32_t variant;

	if (stack_table_is_plain(paths, node, end_reason, origin))
		return paths->plain[node];
	variant = int_map_find(&paths->variants, (uint64_t)origin << 8 | end_reason);
	if (variant == INT_MAP_NONE)
		return STACK_TABLE_NONE;
	return int_map_find(&paths->varied, (uint64_t)variant << 32 | node);
}
