/* SPDX-License-Identifier: MIT */
/*
 * Checks whether the bytes before an address end in a call instruction: the test that a guessed
 * return address must pass.
 *
 * 64-bit code has two near calls: E8 rel32, and FF /2 with any operand (2 to 7 bytes; prefixes come
 * before these, and may be ignored). 9A, the far call, is invalid there.
 */
#ifndef ARCH_CALL_SITE_H
#define ARCH_CALL_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALL_SITE_BYTES 7

enum call_site_kind {
	CALL_SITE_DIRECT = 1, /* E8: call_site_target() returns its target */
	CALL_SITE_INDIRECT = 2,
};

/* Returns, as bits of enum call_site_kind, the kinds of call that can end right before a return
 * address; some bytes allow both. `len` bytes before the address are given, of which
 * CALL_SITE_BYTES suffice. */
unsigned call_site_kinds(const uint8_t *bytes, size_t len);

/* Returns the target of the direct call whose bytes end at `end`; `address` is the return address.
 */
uint64_t call_site_target(const uint8_t *end, uint64_t address);

/* Returns whether the bytes end in a call. */
static inline bool call_site_ends(const uint8_t *bytes, size_t len)
{
	return call_site_kinds(bytes, len) != 0;
}

#endif
