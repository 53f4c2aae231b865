/* SPDX-License-Identifier: MIT */
/*
 * A set of frame states, each with a number. Code has far fewer different states than instructions,
 * and equal states have the same number.
 *
 * Numbers are never freed. Only hostile code has more than STATES_MAX states; further states become
 * STATES_UNKNOWN.
 */
#ifndef ANALYSIS_STATES_H
#define ANALYSIS_STATES_H

#include "analysis/frame_state.h"
#include "base/vec.h"

#define STATES_MAX (1u << 18) /* 50 MB */

/* Numbers that every set has: */
#define STATES_NONE    0 /* no state; also returned if memory is lacking */
#define STATES_UNKNOWN 1 /* the frame is not known */
#define STATES_ENTRY   2 /* the state at a function's first instruction */

struct states { /* zeroed can be freed */
	VEC(struct frame_state) items;
	VEC(uint32_t) slots; /* hash table of numbers; 0: free */
};

/* Makes a set of the two states above. Returns 0 or -ENOMEM; states_fini() frees it in either
 * case. */
int states_init(struct states *ret_states);
void states_fini(struct states *states);

/* Returns the number of a state, of which the set keeps a copy; STATES_NONE: no memory. */
uint32_t states_number(struct states *states, const struct frame_state *state);

/* Returns a state by its number. The pointer is valid until the next states_number(). */
static inline const struct frame_state *states_get(const struct states *states, uint32_t number)
{
	return &states->items.items[number];
}

#endif
