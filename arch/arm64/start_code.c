/* SPDX-License-Identifier: MIT */
/* Start code as gcc and glibc have it on arm64; see ../start_code.h. Only _init and _fini lack call
 * frame information in Debian's files. */
#include "arch/start_code.h"

#include "arch/arm64/words.h"

#define PUSH_FRAME 0xa9bf7bfdu /* stp x29, x30, [sp, #-16]! */
#define SET_FRAME  0x910003fdu /* mov x29, sp */
#define POP_FRAME  0xa8c17bfdu /* ldp x29, x30, [sp], #16 */

/* nop or a mark; stp; mov; bl ..., which _fini has not; ldp; ret. From the ldp on, leaf_frame.h
 * knows the frame of a leaf; the call's last byte stands for its return address. */
int start_code_in_init(const uint8_t *code, size_t len, size_t at)
{
	uint32_t fourth;

	if (len < 4 * WORD_BYTES || word_at(code + WORD_BYTES) != PUSH_FRAME ||
	    word_at(code + 2 * WORD_BYTES) != SET_FRAME || at >= 4 * WORD_BYTES)
		return -1;
	fourth = word_at(code + 3 * WORD_BYTES);
	if (!word_is_direct_call(fourth) && fourth != POP_FRAME)
		return -1;
	return at > WORD_BYTES ? 16 : 0;
}

int start_code_in_dtors(const uint8_t *code, size_t len, size_t at)
{
	(void)code, (void)len, (void)at;
	return -1;
}

int start_code_in_frame_dummy(const uint8_t *code, size_t len, size_t at)
{
	(void)code, (void)len, (void)at;
	return -1;
}

bool start_code_is_dtors(const uint8_t *code, size_t len, size_t at)
{
	(void)code, (void)len, (void)at;
	return false;
}

/* Returns whether call_weak_fn starts here, by which _init calls: adrp x0; ldr x0; cbz x0; b; ret
 */
static bool is_call_weak(const uint8_t *code)
{
	return (word_at(code) & 0x9f00001f) == 0x90000000 &&
	       (word_at(code + 4) & 0xffc003ff) == 0xf9400000 &&
	       (word_at(code + 8) & 0xff00001f) == 0xb4000000 && word_at(code + 12) >> 26 == 5 &&
	       word_at(code + 16) == WORD_RET;
}

/* The functions of that name have call frame information; call_weak_fn has none, and uses no stack
 * either. */
bool start_code_is_tm_clones(const uint8_t *code, size_t len, size_t at)
{
	for (size_t back = 0; back <= 4 * WORD_BYTES && back <= at; back += WORD_BYTES)
		if (at - back + 5 * WORD_BYTES <= len && is_call_weak(code + at - back))
			return true;
	return false;
}

bool start_code_jumps(const uint8_t *code, size_t len, int64_t *ret_distance)
{
	(void)code, (void)len, (void)ret_distance;
	return false;
}
