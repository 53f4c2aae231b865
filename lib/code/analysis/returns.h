/* SPDX-License-Identifier: MIT */
/*
 * Finds out which functions return: the code after a call is only reached if the callee returns.
 *
 * A function counts as returning when one of its paths is seen to return, or may return. Then the
 * calls that wait for it are released: their code after the call is followed. Calls that still wait
 * when all paths have been followed never return: in this way, functions that only call each other
 * are found, too. The work is linear in the number of links and items.
 */
#ifndef ANALYSIS_RETURNS_H
#define ANALYSIS_RETURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct returns_function {
	uint32_t first; /* number of its first link, plus 1; 0: none */
	bool does;
	uint8_t clobbers; /* registers of STACKD_SAVED_REGS that some path returns with another
			   * value */
	uint8_t pushes;	  /* registers that it pushes before it changes them, so that its caller
			   * gets them back */
};

/* An item (a waiting call) or a function, in the list of a function for whose return it waits. */
struct returns_link {
	uint32_t number; /* number of the item, or of the function that returns if the other does */
	uint32_t next;	 /* number of the next link plus 1; 0: none */
	bool is_item;
};

struct returns { /* zeroed is empty */
	VEC(struct returns_function) functions;
	VEC(struct returns_link) links;
	VEC(uint32_t) found;	/* functions whose links are to be followed */
	VEC(uint32_t) released; /* items */
};

/* Frees all, and leaves it empty. */
void returns_fini(struct returns *returns);

/* Adds a function, and gives its number. Returns 0 or -ENOMEM, as do all functions below that
 * return int. */
int returns_add(struct returns *returns, uint32_t *ret_function);

/* Returns whether a function was seen to return. */
static inline bool returns_does(const struct returns *returns, uint32_t function)
{
	return returns->functions.items[function].does;
}

/* Notes that a function returns, and releases what waits for it. */
int returns_set(struct returns *returns, uint32_t function);

/* Notes that a function returns without restoring a set of registers, a bit for each of
 * STACKD_SAVED_REGS. */
static inline void returns_clobber(struct returns *returns, uint32_t function, uint32_t registers)
{
	returns->functions.items[function].clobbers |= (uint8_t)registers;
}

/* Notes that a function pushes registers, a bit for each of STACKD_SAVED_REGS, before it has
 * changed them. */
static inline void returns_push(struct returns *returns, uint32_t function, uint32_t registers)
{
	returns->functions.items[function].pushes |= (uint8_t)registers;
}

/* Returns the callee-saved registers, a bit for each of STACKD_SAVED_REGS, that a function's caller
 * does not get back. */
static inline uint32_t returns_clobbered(const struct returns *returns, uint32_t function)
{
	const struct returns_function *f = &returns->functions.items[function];

	return f->clobbers & ~(uint32_t)f->pushes;
}

/* Makes `function` count as returning if `other` does, now or later. */
int returns_follow(struct returns *returns, uint32_t function, uint32_t other);

/* Makes an item wait until a function returns. The item is a number that the caller chooses. */
int returns_wait(struct returns *returns, uint32_t function, uint32_t item);

/* Takes an item that was released, in any order. Returns false if there is none. */
bool returns_take(struct returns *returns, uint32_t *ret_item);

#endif
