/* SPDX-License-Identifier: MIT */
/*
 * Tells whether the bytes before an address end in a call instruction: the test that a guessed
 * return address must pass.
 *
 * 64-bit code has two near calls: E8 rel32, and FF /2 with any operand (2 to 7 bytes, then any
 * prefixes, which may be ignored since they stand before). 9A, the far call, is invalid there.
 */
#ifndef UNWIND_CALL_SITE_H
#define UNWIND_CALL_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALL_SITE_BYTES 7

/* Whether the `len` bytes before a return address end in a call; CALL_SITE_BYTES of them are
 * enough. */
bool call_site_ends(const uint8_t *bytes, size_t len);

#endif
