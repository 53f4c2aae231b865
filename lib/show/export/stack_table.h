/* SPDX-License-Identifier: MIT */
/*
 * The paths of a profile as a table of stacks, for formats that have such a table: a stack is a
 * frame on top of another stack, so what paths share is written once. Inlined functions and root
 * marks are frames of their own, as everywhere in the model.
 */
#ifndef EXPORT_STACK_TABLE_H
#define EXPORT_STACK_TABLE_H

#include "model/profile.h"

#define STACK_TABLE_NONE UINT32_MAX

struct stack_table_stack {
	uint32_t
		parent; /* its number, smaller than the stack's own; STACK_TABLE_NONE at the root */
	uint32_t frame; /* number */
};

/* A frame as shown, and which of its location's frames it is. */
struct stack_table_frame {
	struct profile_frame frame;
	uint32_t inline_depth; /* 0: not inlined */
};

struct stack_table;

/* Makes the table of all entries of a profile. 0 or -ENOMEM. */
int stack_table_new(struct profile *profile, struct stack_table **ret_table);

/* The same of other entries whose paths are among the profile's. */
int stack_table_new_of(struct profile *profile, const struct profile_entry *entries, size_t n,
		       struct stack_table **ret_table);
void stack_table_free(struct stack_table *table);

/* The tables; they live as long as `paths`. Frames are numbered as they are first needed. */
const struct stack_table_stack *stack_table_stacks(const struct stack_table *table,
						   uint32_t *ret_count);
const struct stack_table_frame *stack_table_frames(const struct stack_table *table,
						   uint32_t *ret_count);

/* The stack of a path that an entry of the profile has; STACK_TABLE_NONE for any other. */
uint32_t stack_table_find(const struct stack_table *table, uint32_t node, uint8_t end_reason,
			  uint32_t origin);

/* Whether a filter changes the shape of paths: they are then not simply those of the trie. */
bool stack_table_is_shaped(const struct profile *profile);

#endif
