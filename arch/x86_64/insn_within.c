/* SPDX-License-Identifier: MIT */
/* Decodes an instruction together with the instructions around it; see insn_decode_within() in
 * ../insn.h. */
#include <string.h>

#include "arch/insn.h"

#define PAGE_BYTES (1u << ARCH_PAGE_SHIFT)

/* Returns the size in bytes of a large frame that the instruction at byte `from` makes: sub
 * %rax,%rsp after the call of a function that touches the frame's pages. LLVM passes the size in
 * rax. 0: it is another instruction. */
static uint32_t probed_frame(const uint8_t *code, size_t size, size_t from)
{
	static const uint8_t sub_rax[] = {0x48, 0x29, 0xc4};
	const uint8_t *at = code + from;
	uint32_t bytes;

	if (from < 10 || size - from < sizeof(sub_rax) ||
	    memcmp(at, sub_rax, sizeof(sub_rax)) != 0 || at[-5] != 0xe8 || at[-10] != 0xb8)
		return 0;
	memcpy(&bytes, at - 9, sizeof(bytes));
	return bytes >= PAGE_BYTES && bytes <= INT32_MAX / 2 ? bytes : 0;
}

/* Returns whether the instruction at byte `from` is a call of a function that begins right after
 * it. (Code that finds its own address by such a call pops the address instead.) */
static bool calls_next(const uint8_t *code, size_t size, size_t from)
{
	static const uint8_t call[] = {0xe8, 0, 0, 0, 0};
	const uint8_t *at = code + from;

	if (size - from < sizeof(call) + 2 || memcmp(at, call, sizeof(call)) != 0)
		return false;
	at += sizeof(call);
	return *at == 0x53 || *at == 0x55 || (*at == 0x41 && at[1] >= 0x54 && at[1] <= 0x57);
}

/* Returns whether the code is mov of a register to (%rsp), and ret: a jump to the register's
 * value. */
static bool jumps_by_return(const uint8_t *at)
{
	return (at[0] == 0x48 || at[0] == 0x4c) && at[1] == 0x89 && (at[2] & 0xc7) == 0x04 &&
	       at[3] == 0x24 && at[4] == 0xc3;
}

/* pause; lfence; jmp: only speculative execution reaches these */
static const uint8_t thunk_trap[] = {0xf3, 0x90, 0x0f, 0xae, 0xe8, 0xeb};
static const uint8_t drop_and_return[] = {0x48, 0x8d, 0x64,
					  0x24, 0x08, 0xc3};		/* lea 8(%rsp), %rsp */
static const uint8_t add_and_return[] = {0x48, 0x83, 0xc4, 0x08, 0xc3}; /* add $8, %rsp */

/* limit of the distance from its call to the instruction that is called */
#define THUNK_BYTES 48u

/* Returns whether a call only serves to prevent the processor from predicting the target of a
 * return or an indirect jump (-mfunction-return=thunk, -mindirect-branch=thunk), so that nothing
 * returns to it. The code that it calls drops the return address and returns, or replaces it by the
 * jump's target. */
static bool is_in_thunk(const uint8_t *code, size_t size, size_t from, uint64_t vaddr,
			const struct insn *i)
{
	const uint8_t *at = code + from;
	uint64_t skip = i->target - vaddr, left = size - from;

	if (i->flow != INSN_CALL || skip < i->length + sizeof(thunk_trap) || skip > THUNK_BYTES ||
	    left < skip || left - skip < sizeof(add_and_return) ||
	    memcmp(at + i->length, thunk_trap, sizeof(thunk_trap)) != 0)
		return false;
	at += skip;
	return !memcmp(at, add_and_return, sizeof(add_and_return)) || jumps_by_return(at) ||
	       (left - skip >= sizeof(drop_and_return) &&
		!memcmp(at, drop_and_return, sizeof(drop_and_return)));
}

bool insn_decode_within(const struct insn_decoder *decoder, const uint8_t *code, size_t size,
			size_t at, uint64_t vaddr, struct insn *i)
{
	size_t left = size - at;
	uint32_t frame;

	if (!insn_decode(decoder, code + at, left < INSN_MAX_BYTES ? left : INSN_MAX_BYTES, vaddr,
			 i))
		return false;
	if (i->op == INSN_PUSH && calls_next(code, size, at)) {
		i->op = INSN_OTHER;
		i->flow = INSN_CALL;
		i->target = vaddr + i->length;
	}
	if (is_in_thunk(code, size, at, vaddr, i)) {
		i->flow = INSN_JUMP;
		i->op = INSN_PUSH;
		i->src = INSN_NO_REG;
	} else if (i->flow == INSN_RETURN && at >= 4 && i->length == 1 &&
		   jumps_by_return(code + at - 4)) {
		i->flow = INSN_JUMP_INDIRECT;
		i->op = INSN_POP;
		i->dst = i->src = INSN_NO_REG;
	}
	frame = probed_frame(code, size, at);
	if (frame) {
		i->op = INSN_COPY;
		i->dst = i->src = INSN_SP;
		i->disp = -(int32_t)frame;
	}
	return true;
}
