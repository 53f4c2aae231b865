/* SPDX-License-Identifier: MIT */
/*
 * The memory that a walk in user space can read: a copy of the thread's stack. It begins at the
 * leaf's stack pointer, can lack pages, and can end below the end of the stack.
 */
#ifndef STACK_WALK_MEMORY_H
#define STACK_WALK_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct walk_memory {
	const uint8_t *bytes; /* borrowed */
	uint64_t start;	      /* address of the first byte */
	size_t len;
	bool is_cut;		    /* the stack continues above the copy */
	uint64_t holes;		    /* see stack_holes of struct walk_input */
	uint64_t end;		    /* address where the stack ends; 0: not known */
	const uint64_t *more_holes; /* n_more_holes of them, as stack_more_holes; borrowed */
	size_t n_more_holes;
	uint64_t below; /* the word just below `start`, if `start` is the leaf's stack pointer; 0:
			 * not known */
};

/* Returns whether an address is in a page that the copy lacks. */
static inline bool walk_memory_is_hole(const struct walk_memory *m, uint64_t address)
{
	uint64_t page = (address >> 12) - (m->start >> 12);

	if (page < 64)
		return m->holes >> page & 1;
	return page / 64 - 1 < m->n_more_holes && m->more_holes[page / 64 - 1] >> page % 64 & 1;
}

/* Reads the 8 bytes at an address. Returns false if the copy lacks some of them. */
static inline bool walk_memory_read8(const struct walk_memory *m, uint64_t address,
				     uint64_t *ret_value)
{
	uint64_t at = address - m->start;

	if (m->len < 8 || at > m->len - 8 || walk_memory_is_hole(m, address) ||
	    walk_memory_is_hole(m, address + 7))
		return false;
	memcpy(ret_value, m->bytes + at, 8);
	return true;
}

/* Reads the 8 bytes at an address as walk_memory_read8() does, but also the word just below the
 * copy, where functions keep their CFA or return address (OpenSSL's SHA-512, OCaml's caml_c_call),
 * or a register. Returns false if the bytes are not known. */
static inline bool walk_memory_read_below(const struct walk_memory *m, uint64_t address,
					  uint64_t *ret_value)
{
	if (!m->below || address != m->start - 8)
		return walk_memory_read8(m, address, ret_value);
	*ret_value = m->below;
	return true;
}

#endif
