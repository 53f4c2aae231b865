/* SPDX-License-Identifier: MIT */
/*
 * The table of stacks; see stack_table.h.
 *
 * Nearly all paths are plain: complete, without a root mark, and shown whole. For a plain path, a
 * trie node becomes as many stacks as its location has frames, and an array by node finds them
 * again. All other paths are added frame by frame, and found by node and variant. Each pair of end
 * reason and origin has a number, its variant; 0 stands for plain paths.
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
	/* by location: number of its first frame in `frames`; STACK_TABLE_NONE: not added yet */
	uint32_t *first_frame;
	uint32_t *plain;	 /* by trie node: its stack, if the path is plain */
	struct int_map variants; /* (origin, end reason) -> number of the variant, from 1 */
	struct int_map varied;	 /* (variant, trie node) -> stack */
	/* (parent stack + 1, frame) -> stack; only for paths that are not plain */
	struct int_map children;
	/* (location, symbol, is_inferred) -> frame; only for paths that are not plain */
	struct int_map shown;
	uint32_t *climb; /* trie nodes that have no stack yet, leaf first */
	uint32_t n_climb;
	size_t cap_climb;
	bool is_shaped;
};

bool stack_table_is_shaped(const struct profile *profile)
{
	const struct profile_filter *filter = profile_filter(profile);

	return filter->max_depth || filter->fold_recursion || filter->no_inlined;
}

static bool stack_table_is_plain(const struct stack_table *table, uint32_t node, uint8_t end_reason,
				 uint32_t origin)
{
	return !table->is_shaped && node && origin == ORIGIN_WALKED &&
	       !profile_has_mark(table->profile, end_reason, origin);
}

/* Makes room for one more element in an array that has `n`. -ENOMEM also if its number would not be
 * below STACK_TABLE_NONE. */
#define GROW(array, n, cap)                                                                        \
	((n) >= STACK_TABLE_NONE / 2 ? -ENOMEM : VEC_GROW(array, cap, (size_t)(n) + 1))

static int add_stack(struct stack_table *table, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	int err = GROW(table->stacks, table->n_stacks, table->cap_stacks);

	if (err < 0)
		return err;
	table->stacks[table->n_stacks] = (struct stack_table_stack){parent, frame};
	*ret = table->n_stacks++;
	return 0;
}

static int add_frame(struct stack_table *table, const struct profile_frame *frame,
		     uint32_t inline_depth, uint32_t *ret)
{
	int err = GROW(table->frames, table->n_frames, table->cap_frames);

	if (err < 0)
		return err;
	table->frames[table->n_frames] = (struct stack_table_frame){*frame, inline_depth};
	*ret = table->n_frames++;
	return 0;
}

/* Puts the frames of a trie node on top of the stack *at, and sets *at to the new top. */
static int put_node(struct stack_table *table, uint32_t node, uint32_t *at)
{
	uint32_t location = table->t->nodes[node].location, frame;
	bool is_new = table->first_frame[location] == STACK_TABLE_NONE;
	const struct profile_frame *frames;
	size_t count;
	int err = 0;

	frames = profile_location_frames(table->profile, location, &count);
	if (!frames)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && is_new && i < count; i++) {
		err = add_frame(table, &frames[i], (uint32_t)i, &frame);
		if (err == 0 && i == 0)
			table->first_frame[location] = frame;
	}
	for (uint32_t i = 0; err == 0 && i < count; i++)
		err = add_stack(table, *at, table->first_frame[location] + i, at);
	return err;
}

static int enter_plain(struct stack_table *table, uint32_t node)
{
	uint32_t at = STACK_TABLE_NONE;
	int err = 0;

	table->n_climb = 0;
	for (; node && table->plain[node] == STACK_TABLE_NONE;
	     node = table->t->nodes[node].parent) {
		err = GROW(table->climb, table->n_climb, table->cap_climb);
		if (err < 0)
			return err;
		table->climb[table->n_climb++] = node;
	}
	if (node)
		at = table->plain[node];
	while (err == 0 && table->n_climb) {
		node = table->climb[--table->n_climb];
		err = put_node(table, node, &at);
		table->plain[node] = at;
	}
	return err;
}

/* Finds or adds a frame of a path that is not plain. *ret_number is the frame's number. Returns 0
 * or -ENOMEM. */
static int stack_table_shown(struct stack_table *table, const struct profile_frame *frame,
			     uint32_t depth, uint32_t *ret_number)
{
	uint64_t key =
		(uint64_t)frame->location << 32 | frame->symbol->number << 1 | frame->is_inferred;
	uint32_t number = int_map_find(&table->shown, key);
	int err = 0;

	if (number == INT_MAP_NONE) {
		err = add_frame(table, frame, depth, &number);
		if (err == 0)
			err = int_map_enter(&table->shown, key, number, &number);
	}
	*ret_number = number;
	return err;
}

/* Puts a frame on top of the stack *at, and sets *at to the new top. */
static int stack_table_push(struct stack_table *table, uint32_t frame, uint32_t *at)
{
	uint64_t key = (uint64_t)(*at + 1) << 32 | frame; /* STACK_TABLE_NONE + 1 is 0 */
	uint32_t stack = int_map_find(&table->children, key);
	int err = 0;

	if (stack == INT_MAP_NONE) {
		err = add_stack(table, *at, frame, &stack);
		if (err == 0)
			err = int_map_enter(&table->children, key, stack, &stack);
	}
	*at = stack;
	return err;
}

static int enter_varied(struct stack_table *table, const struct profile_entry *entry)
{
	uint32_t variant, at = STACK_TABLE_NONE, depth = 0;
	const struct profile_frame *frames;
	size_t n;
	int err = int_map_enter(&table->variants, (uint64_t)entry->origin << 8 | entry->end_reason,
				(uint32_t)table->variants.used + 1, &variant);

	if (err < 0 ||
	    int_map_find(&table->varied, (uint64_t)variant << 32 | entry->node) != INT_MAP_NONE)
		return err;
	frames = profile_frames(table->profile, entry->node, entry->end_reason, entry->origin, &n);
	if (!frames)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < n; i++) {
		uint32_t frame;

		depth = frames[i].is_inlined ? depth + 1 : 0;
		err = stack_table_shown(table, &frames[i], depth, &frame);
		if (err == 0)
			err = stack_table_push(table, frame, &at);
	}
	return err < 0 ? err
		       : int_map_enter(&table->varied, (uint64_t)variant << 32 | entry->node, at,
				       &at);
}

static int fill(struct stack_table *table, const struct profile_entry *entries, size_t n)
{
	int err = 0;

	table->first_frame = malloc(((size_t)table->t->n_locations + 1) * sizeof(uint32_t));
	table->plain = malloc(((size_t)table->t->n_nodes + 1) * sizeof(uint32_t));
	if (!table->first_frame || !table->plain)
		return -ENOMEM;
	for (uint32_t i = 0; i <= table->t->n_locations; i++)
		table->first_frame[i] = STACK_TABLE_NONE;
	for (uint32_t i = 0; i <= table->t->n_nodes; i++)
		table->plain[i] = STACK_TABLE_NONE;
	for (size_t i = 0; err == 0 && i < n; i++) {
		const struct profile_entry *e = &entries[i];

		if (stack_table_is_plain(table, e->node, e->end_reason, e->origin))
			err = enter_plain(table, e->node);
		else
			err = enter_varied(table, e);
	}
	return err;
}

int stack_table_new(struct profile *profile, struct stack_table **ret_table)
{
	size_t n;
	const struct profile_entry *entries = profile_entries(profile, &n);

	return stack_table_new_of(profile, entries, n, ret_table);
}

int stack_table_new_of(struct profile *profile, const struct profile_entry *entries, size_t n,
		       struct stack_table **ret_table)
{
	struct stack_table *table = calloc(1, sizeof(*table));
	int err;

	if (!table)
		return -ENOMEM;
	table->profile = profile;
	table->t = profile_tables(profile);
	table->is_shaped = stack_table_is_shaped(profile);
	err = fill(table, entries, n);
	if (err < 0) {
		stack_table_free(table);
		return err;
	}
	*ret_table = table;
	return 0;
}

void stack_table_free(struct stack_table *table)
{
	if (!table)
		return;
	free(table->stacks);
	free(table->frames);
	free(table->first_frame);
	free(table->plain);
	free(table->climb);
	int_map_fini(&table->variants);
	int_map_fini(&table->varied);
	int_map_fini(&table->children);
	int_map_fini(&table->shown);
	free(table);
}

const struct stack_table_stack *stack_table_stacks(const struct stack_table *table,
						   uint32_t *ret_count)
{
	*ret_count = table->n_stacks;
	return table->stacks;
}

const struct stack_table_frame *stack_table_frames(const struct stack_table *table,
						   uint32_t *ret_count)
{
	*ret_count = table->n_frames;
	return table->frames;
}

uint32_t stack_table_find(const struct stack_table *table, uint32_t node, uint8_t end_reason,
			  uint32_t origin)
{
	uint32_t variant;

	if (stack_table_is_plain(table, node, end_reason, origin))
		return table->plain[node];
	variant = int_map_find(&table->variants, (uint64_t)origin << 8 | end_reason);
	if (variant == INT_MAP_NONE)
		return STACK_TABLE_NONE;
	return int_map_find(&table->varied, (uint64_t)variant << 32 | node);
}
