/* SPDX-License-Identifier: MIT */
/*
 * A counting filter of the frames that were observed in a window of samples around the current one.
 *
 * The window is the samples of the stack within ACCEPT_NEAR of the current one. The filter answers
 * "no" for nearly all frames that are looked up, without a look-up in the history; "yes" means
 * "perhaps". The counters fit into the first-level cache.
 */
#ifndef ALIGN_WINDOW_FILTER_H
#define ALIGN_WINDOW_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#define WINDOW_FILTER_SLOTS 4096u

/* A zeroed struct is an empty filter. */
struct window_filter {
	uint32_t counts[WINDOW_FILTER_SLOTS];
};

/* Returns the counter of a frame: the upper 12 bits of a hash. */
static inline uint32_t window_filter_slot(uint32_t symbol, uint32_t height)
{
	return (symbol * UINT32_C(0x9e3779b1) ^ height * UINT32_C(0x85ebca6b)) >> 20;
}

/* Adds a frame that enters the window. */
static inline void window_filter_add(struct window_filter *f, uint32_t symbol, uint32_t height)
{
	f->counts[window_filter_slot(symbol, height)]++;
}

/* Removes a frame that leaves the window, and that window_filter_add() has added before. */
static inline void window_filter_remove(struct window_filter *f, uint32_t symbol, uint32_t height)
{
	f->counts[window_filter_slot(symbol, height)]--;
}

/* Returns false if the frame is certainly not in the window; true means "perhaps". */
static inline bool window_filter_has(const struct window_filter *f, uint32_t symbol,
				     uint32_t height)
{
	return f->counts[window_filter_slot(symbol, height)] > 0;
}

#endif
