/* SPDX-License-Identifier: MIT */
/*
 * The paths of a profile as a table of stacks, for formats that have such a table: a stack is a
 * frame on top of another stack, so what paths share is written once. Inlined functions and root
 * marks are frames of their own, as everywhere in the model.
 */
#ifndef EXPORT_STACK_TABLE_H
#define EXPORT_STACK_TABLE_H

#include "model/profile.h"

#define PATHS_NONE UINT32_MAX

struct paths_stack {
	uint32_t parent; /* its number, smaller than the stack's own; PATHS_NONE at the root */
	uint32_t frame;	 /* number */
};

/* A frame as shown, and which of its location's frames it is. */
struct paths_frame {
	struct profile_frame frame;
	uint32_t inline_depth; /* 0: not inlined */
};

struct paths;

/* Makes the table of all entries of a profile. 0 or -ENOMEM. */
int paths_new(struct profile *profile, struct paths **ret_paths);
void paths_free(struct paths *paths);

/* The tables; they live as long as `paths`. Frames are numbered as they are first needed. */
const struct paths_stack *paths_stacks(const struct paths *paths, uint32_t *ret_count);
const struct paths_frame *paths_frames(const struct paths *paths, uint32_t *ret_count);

/* The stack of a path that an entry of the profile has; PATHS_NONE for any other. */
uint32_t paths_find(const struct paths *paths, uint32_t node, uint8_t end_reason, uint32_t origin);

/* Whether a filter changes the shape of paths: they are then not simply those of the trie. */
bool paths_is_shaped(const struct profile *profile);

#endif
