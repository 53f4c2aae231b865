/* SPDX-License-Identifier: MIT */
/*
 * A generated thread: every word of its memory is an address in that memory, and all registers
 * differ. Whatever a rule reads or adds up can thus be dereferenced again, two different ways to
 * compute an address give different words, and a CFA read from memory lies above rsp. One page may
 * be missing.
 *
 *   start      rsp             words and other registers point here            end
 *   |--- 1/8 ---|------ 1/8 ------|---------------- 1/2 ----------------|-- 1/4 --|
 */
#ifndef AGREE_MEMORY_H
#define AGREE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "stackd_abi.h"

#define AGREE_MEMORY_BYTES  (UINT64_C(32) << 20)
#define AGREE_MEMORY_START  UINT64_C(0x7ff000000000)
#define AGREE_PAGE	    UINT64_C(4096)
#define AGREE_STACK_POINTER (AGREE_MEMORY_START + AGREE_MEMORY_BYTES / 8)

static uint8_t *agree_memory;

/* The page that cannot be read, by its number (UINT64_MAX: none), and the same as a bit for each
 * page, the form in which user space's walk knows the holes of a copied stack. */
static uint64_t agree_hole = UINT64_MAX;
static uint64_t agree_holes[AGREE_MEMORY_BYTES / AGREE_PAGE / 64];

/* Makes the page of an address one that cannot be read, and no other; UINT64_MAX: none. */
static inline void agree_drop_page(uint64_t address)
{
	uint64_t page = (address - AGREE_MEMORY_START) / AGREE_PAGE;

	if (agree_hole != UINT64_MAX)
		agree_holes[agree_hole / 64] = 0;
	agree_hole = UINT64_MAX;
	if (page >= AGREE_MEMORY_BYTES / AGREE_PAGE)
		return;
	agree_hole = page;
	agree_holes[page / 64] = UINT64_C(1) << page % 64;
}

/* An address in the middle half, 8-byte aligned. */
static inline uint64_t agree_place(uint64_t seed)
{
	return AGREE_MEMORY_START + AGREE_MEMORY_BYTES / 4 +
	       (hash_mix64(seed) % (AGREE_MEMORY_BYTES / 2) & ~UINT64_C(7));
}

/* false: no memory. */
static inline bool agree_memory_new(void)
{
	agree_memory = malloc(AGREE_MEMORY_BYTES);
	for (uint64_t i = 0; agree_memory && i < AGREE_MEMORY_BYTES; i += 8) {
		uint64_t word = agree_place(i + 1);

		memcpy(agree_memory + i, &word, 8);
	}
	return agree_memory;
}

static inline bool agree_memory_read(uint64_t address, size_t bytes, uint64_t *ret_value)
{
	uint64_t at = address - AGREE_MEMORY_START, value = 0;

	if (at > AGREE_MEMORY_BYTES - bytes || at / AGREE_PAGE == agree_hole ||
	    (at + bytes - 1) / AGREE_PAGE == agree_hole)
		return false;
	memcpy(&value, agree_memory + at, bytes);
	*ret_value = value;
	return true;
}

static inline void agree_registers(uint64_t pc, uint64_t *r)
{
	for (uint64_t i = 0; i < STACKD_REG_COUNT; i++)
		r[i] = agree_place(~i);
	r[STACKD_REG_SP] = AGREE_STACK_POINTER;
	r[STACKD_REG_PC] = pc;
}

#endif
