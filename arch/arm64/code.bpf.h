/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads instructions of arm64 in memory; see ../code.bpf.h. All have four bytes. */
#ifndef ARCH_ARM64_CODE_BPF_H
#define ARCH_ARM64_CODE_BPF_H

#define SVC	       0xd4000001u
#define SIGRETURN_CODE 0xd4000001d2801168ull /* mov x8, #139; svc #0 */
#define CLONE_WORDS    8		     /* from the system call to the first call, at most */

/* Returns the instruction at an address; 0, which is none, if it cannot be read. */
static __always_inline __u32 instruction_at(__u64 pc)
{
	__u32 word = 0;

	return bpf_probe_read_user(&word, sizeof(word), (const void *)pc) ? 0 : word;
}

/* Returns whether a return address follows bl, or blr in any of its forms. */
static __always_inline bool follows_call(__u64 ra)
{
	__u32 word = instruction_at(ra - 4);

	return word >> 26 == 0x25 || (word & 0xfefff000) == 0xd63f0000;
}

/* Returns the target of b or bl. */
static __always_inline __u64 branch_target(__u32 word, __u64 at)
{
	return at + (__u64)(((__s64)((__u64)word << 38)) >> 36);
}

/* Returns the address to which the linkage stub at `pc` jumps: adrp x16; ldr x17, [x16, ..]. */
static __always_inline __u64 behind_stub(__u64 pc)
{
	__u32 page = instruction_at(pc), load = instruction_at(pc + 4);
	__u64 distance, target = 0;

	if ((page & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211)
		return pc;
	distance = (__u64)((__s64)((__u64)((page >> 5 & 0x7ffff) << 2 | (page >> 29 & 3)) << 43) >>
			   31);
	if (bpf_probe_read_user(
		    &target, sizeof(target),
		    (const void *)((pc & ~0xfffull) + distance + (load >> 10 & 0xfff) * 8)))
		return pc;
	return target;
}

/* Returns whether an instruction marks a target of calls: bti c or jc, paciasp, pacibsp. */
static __always_inline bool is_call_mark(__u32 word)
{
	return (word & ~0x80u) == 0xd503245f || (word & ~0x40u) == 0xd503233f;
}

/* Returns whether the bl before a return address, perhaps through a linkage stub, calls the
 * function that begins at `pc`, or at a mark right before it. */
static __always_inline bool is_call_of(__u64 ra, __u64 pc)
{
	__u32 word = instruction_at(ra - 4);
	__u64 target;

	if (word >> 26 != 0x25)
		return false;
	target = behind_stub(branch_target(word, ra - 4));
	return target == pc || (target + 4 == pc && is_call_mark(instruction_at(target)));
}

/* Returns whether the instruction at `pc` is a return. */
static __always_inline bool at_return(__u64 pc)
{
	__u32 word = instruction_at(pc);

	return (word & 0xfffffc1f) == 0xd65f0000 || word == 0xd65f0bff || word == 0xd65f0fff;
}

/* Instructions are not decoded here yet, so they tell nothing of the frame. */
static __always_inline int leaf_at(__u64 pc)
{
	(void)pc;
	return STACKD_LEAF_UNTOLD;
}

/* 32-bit code is not walked. */
static __always_inline bool follows_32bit_call(__u64 pc)
{
	(void)pc;
	return false;
}

#define CALL_CLONE  220
#define CALL_CLONE3 435

/* Returns whether `pc` is right after a system call, or in the few instructions with which a C
 * library's clone() continues in the new thread. They have no call, and leave the number of the
 * system call in x8. */
static __always_inline bool follows_clone(const __u64 *r, __u64 pc)
{
	if (r[8] != CALL_CLONE && r[8] != CALL_CLONE3)
		return false;
	for (int behind = 1; behind <= CLONE_WORDS; behind++) {
		__u32 word = instruction_at(pc - 4 * behind);

		if (word == SVC)
			return true;
		if (!word || word >> 26 == 0x25 || (word & 0xfe000000) == 0xd6000000)
			return false;
	}
	return false;
}

static __always_inline bool is_handler_return(__u64 pc)
{
	__u64 code;

	return !bpf_probe_read_user(&code, sizeof(code), (const void *)pc) &&
	       code == SIGRETURN_CODE;
}

static __always_inline bool is_behind_sigreturn(__u64 pc)
{
	return is_handler_return(pc - 8);
}

#endif
