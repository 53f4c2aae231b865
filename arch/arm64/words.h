/* SPDX-License-Identifier: MIT */
/* The instructions of arm64 that arch/arm64/ recognises, as words: all have four bytes (Arm
 * Architecture Reference Manual, C4). */
#ifndef ARCH_ARM64_WORDS_H
#define ARCH_ARM64_WORDS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define WORD_BYTES 4

#define WORD_UDF       0x00000000u
#define WORD_SVC       0xd4000001u /* svc #0: a system call of Linux */
#define WORD_RET       0xd65f03c0u /* to x30; retaa and retab check its signature first */
#define WORD_RETAA     0xd65f0bffu
#define WORD_RETAB     0xd65f0fffu
#define WORD_BTI       0xd503241fu /* without the two bits that say which branches may come */
#define WORD_PACIASP   0xd503233fu /* also a mark of a target of calls, as is the next one */
#define WORD_PACIBSP   0xd503237fu
#define WORD_SIGRETURN 0xd2801168u /* mov x8, #139 */

/* Returns the instruction at `code`. */
static inline uint32_t word_at(const uint8_t *code)
{
	uint32_t word;

	memcpy(&word, code, sizeof(word));
	return word;
}

/* Returns whether it is ret, or one of its forms that check a signature. */
static inline bool word_is_return(uint32_t word)
{
	return (word & 0xfffffc1f) == 0xd65f0000 || word == WORD_RETAA || word == WORD_RETAB;
}

/* Returns whether it is bl. */
static inline bool word_is_direct_call(uint32_t word)
{
	return word >> 26 == 0x25; /* bl */
}

/* Returns whether it is blr, or one of its forms that check a signature (blraa, blraaz, ...). */
static inline bool word_is_indirect_call(uint32_t word)
{
	return (word & 0xfefff000) == 0xd63f0000;
}

/* Returns the target of bl or b at an address. */
static inline uint64_t word_target(uint32_t word, uint64_t address)
{
	return address + (uint64_t)((int64_t)(int32_t)(word << 6) >> 4);
}

/* Returns whether it marks a target of indirect calls or jumps. */
static inline bool word_is_mark(uint32_t word)
{
	return ((word & ~0xc0u) == WORD_BTI && word != WORD_BTI) || word == WORD_PACIASP ||
	       word == WORD_PACIBSP;
}

#endif
