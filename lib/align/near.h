/* SPDX-License-Identifier: MIT */
/*
 * Which frames were seen shortly before or after: a counting filter over the samples around the
 * one at hand, small enough for the processor's first cache.
 *
 * It answers "no" for nearly all frames that are asked for, without a look at the history; its
 * "yes" means "perhaps".
 */
#ifndef ALIGN_NEAR_H
#define ALIGN_NEAR_H

#include <stdbool.h>
#include <stdint.h>

#define NEAR_SLOTS 4096u

struct near {
	uint32_t counts[NEAR_SLOTS];
};

static inline uint32_t near_slot(uint32_t symbol, uint32_t height)
{
	return (symbol * UINT32_C(0x9e3779b1) ^ height * UINT32_C(0x85ebca6b)) >> 20;
}

static inline void near_add(struct near *near, uint32_t symbol, uint32_t height)
{
	near->counts[near_slot(symbol, height)]++;
}

static inline void near_remove(struct near *near, uint32_t symbol, uint32_t height)
{
	near->counts[near_slot(symbol, height)]--;
}

static inline bool near_has(const struct near *near, uint32_t symbol, uint32_t height)
{
	return near->counts[near_slot(symbol, height)] > 0;
}

#endif
