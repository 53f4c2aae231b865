/* SPDX-License-Identifier: MIT */
/*
 * Turns the paths of a profile into a table of stacks, for formats that have such a table. A stack
 * is a frame on top of another stack, so the frames that several paths share are written once.
 * Inlined functions and root marks are frames of their own, as everywhere in the model.
 */
#ifndef EXPORT_STACK_TABLE_H
#define EXPORT_STACK_TABLE_H

#include "model/profile.h"

#define STACK_TABLE_NONE UINT32_MAX

struct stack_table_stack {
	/* number of the stack below it, which is smaller; STACK_TABLE_NONE: it is at the bottom */
	uint32_t parent;
	uint32_t frame; /* number of the frame on top */
};

/* A frame as shown, and its index among the frames of its location. */
struct stack_table_frame {
	struct profile_frame frame;
	uint32_t inline_depth; /* 0: not inlined */
};

struct stack_table;

/* Makes the table of all entries of a profile. Returns 0 or -ENOMEM. */
int stack_table_new(struct profile *profile, struct stack_table **ret_table);

/* Does the same for other entries than the profile's, whose paths must be among the profile's
 * paths. Returns 0 or -ENOMEM. */
int stack_table_new_of(struct profile *profile, const struct profile_entry *entries, size_t n,
		       struct stack_table **ret_table);
void stack_table_free(struct stack_table *table);

/* Return the stacks and the frames, which live as long as the table. Frames are numbered in the
 * order of their first use. */
const struct stack_table_stack *stack_table_stacks(const struct stack_table *table,
						   uint32_t *ret_count);
const struct stack_table_frame *stack_table_frames(const struct stack_table *table,
						   uint32_t *ret_count);

/* Returns the stack of an entry's path; STACK_TABLE_NONE for a path that no entry has. */
uint32_t stack_table_find(const struct stack_table *table, uint32_t node, uint8_t end_reason,
			  uint32_t origin);

/* Returns whether the profile's filter changes the shape of paths (max_depth, fold_recursion,
 * no_inlined), so that they differ from the paths of the trie. */
bool stack_table_is_shaped(const struct profile *profile);

#endif
