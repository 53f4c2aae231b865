/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the program's instructions where there is no recipe, or where the recipe is wrong.
 */
#ifndef CODE_BPF_H
#define CODE_BPF_H

#include "scratch.bpf.h"

#define SYSCALL 0x050f /* the instruction */

/* Returns whether a return address follows a call: e8 rel32, or ff /2 in two to seven bytes. */
static __always_inline bool follows_call(__u64 ra)
{
	__u8 code[8] = {0};

	if (bpf_probe_read_user(code, 7, (const void *)(ra - 7)))
		return false;
	if (code[2] == 0xe8)
		return true;
	for (int i = 0; i <= 5; i++) {
		if (code[i] == 0xff && (code[i + 1] & 0x38) == 0x10)
			return true;
	}
	return false;
}

/* Returns whether an instruction is ret, or lea -8(%r10),%rsp. At the end of a function that
 * realigns its stack gcc's unwind information is wrong there: it still uses rbp, which has been
 * restored. */
static __always_inline bool at_return(__u64 pc)
{
	__u32 code;

	if (bpf_probe_read_user(&code, sizeof(code), (const void *)pc))
		return false;
	return (code & 0xff) == 0xc3 || (code & 0xff) == 0xc2 || (code & 0xffff) == 0xc3f3 ||
	       code == 0xf8628d49;
}

/* Determines from the instructions at a leaf how much of its function's prologue or epilogue has
 * run: enum stackd_leaf. Global, so that it is verified once. */
__noinline int leaf_at(__u64 pc)
{
	__u8 code[9] = {0};

	/* The code may begin here, or end. */
	if (bpf_probe_read_user(code + 1, 8, (const void *)pc) &&
	    bpf_probe_read_user(code + 1, 1, (const void *)pc))
		return STACKD_LEAF_MADE;
	bpf_probe_read_user(code, 1, (const void *)(pc - 1));
	if (code[1] == 0x55 || code[1] == 0xc3 || code[1] == 0xc2 ||
	    (code[1] == 0xf3 && (code[2] == 0xc3 || (code[2] == 0x0f && code[5] == 0x55))))
		return STACKD_LEAF_NONE;
	if (code[0] == 0x55 && code[1] == 0x48 && code[2] == 0x89 && code[3] == 0xe5)
		return STACKD_LEAF_PUSHED;
	return STACKD_LEAF_MADE;
}

#endif
