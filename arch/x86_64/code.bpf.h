/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads instructions of x86-64 in memory; see ../code.bpf.h. */
#ifndef ARCH_X86_64_CODE_BPF_H
#define ARCH_X86_64_CODE_BPF_H

#define SYSCALL	     0x050f	  /* the instruction */
#define SYSCALL_TEST 0xc08548050f /* followed by test %rax,%rax */
#define CLONE_BYTES  20		  /* bytes from the system call to the first call, at most */

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

#define ENDBR64 0xfa1e0ff3

/* Returns the length of the endbr64 at `pc`; 0: there is none. */
static __always_inline __u32 endbr64_at(__u64 pc)
{
	__u32 code = 0;

	return !bpf_probe_read_user(&code, 4, (const void *)pc) && code == ENDBR64 ? 4 : 0;
}

/* Returns the address to which the PLT stub at `pc` jumps; `pc` itself: there is no stub. */
static __always_inline __u64 behind_stub(__u64 pc)
{
	__u64 at = pc + endbr64_at(pc), target = 0;
	struct {
		__u16 opcode; /* jmp *distance(%rip) */
		__s32 distance;
	} __attribute__((packed)) jump = {0};
	__u8 prefix = 0;

	if (!bpf_probe_read_user(&prefix, 1, (const void *)at) && prefix == 0xf2)
		at++;
	if (bpf_probe_read_user(&jump, sizeof(jump), (const void *)at) || jump.opcode != 0x25ff ||
	    bpf_probe_read_user(&target, 8, (const void *)(at + 6 + jump.distance)))
		return pc;
	return target;
}

/* Returns whether the call before a return address is a direct call, perhaps through a PLT stub, of
 * the function that begins at `pc` or of an endbr64 right before `pc`. */
static __always_inline bool is_call_of(__u64 ra, __u64 pc)
{
	struct {
		__u8 opcode; /* call rel32 */
		__s32 distance;
	} __attribute__((packed)) call = {0};
	__u64 target;

	if (bpf_probe_read_user(&call, sizeof(call), (const void *)(ra - 5)) || call.opcode != 0xe8)
		return false;
	target = behind_stub(ra + call.distance);
	return target == pc || (target + 4 == pc && endbr64_at(target));
}

/* Returns whether the instruction at `pc` is ret, or lea -8(%r10),%rsp, with which a function that
 * realigns its stack ends. At the latter, gcc's unwind information is wrong: it still uses rbp,
 * which has already been restored. */
static __always_inline bool at_return(__u64 pc)
{
	__u32 code;

	if (bpf_probe_read_user(&code, sizeof(code), (const void *)pc))
		return false;
	return (code & 0xff) == 0xc3 || (code & 0xff) == 0xc2 || (code & 0xffff) == 0xc3f3 ||
	       code == 0xf8628d49;
}

/* Returns whether mov %rsp,%rbp is at these bytes, in either of its two forms. */
static __always_inline bool sets_frame(const __u8 *code)
{
	return code[0] == 0x48 &&
	       ((code[1] == 0x89 && code[2] == 0xe5) || (code[1] == 0x8b && code[2] == 0xec));
}

/* Determines from a few instructions at a leaf which part of its function's prologue or epilogue
 * has run: enum stackd_leaf. Other code can precede push %rbp: tests of a counter, a flag or the
 * stack's limit. A global function, so that the BPF verifier checks it once. */
__noinline int leaf_at(__u64 pc)
{
	__u8 code[9] = {0};

	/* The mapping may begin or end here, so the bytes before or behind may be unreadable. */
	if (bpf_probe_read_user(code + 1, 8, (const void *)pc) &&
	    bpf_probe_read_user(code + 1, 1, (const void *)pc))
		return STACKD_LEAF_UNTOLD;
	bpf_probe_read_user(code, 1, (const void *)(pc - 1));
	if (code[1] == 0xc3 || code[1] == 0xc2 || (code[1] == 0xf3 && code[2] == 0xc3) ||
	    (code[1] == 0x55 && sets_frame(code + 2)) ||
	    (code[1] == 0xf3 && code[2] == 0x0f && code[5] == 0x55 && sets_frame(code + 6)))
		return STACKD_LEAF_NONE;
	return code[0] == 0x55 && sets_frame(code + 1) ? STACKD_LEAF_PUSHED : STACKD_LEAF_UNTOLD;
}

/* Returns whether int $0x80 is before `pc`. (The one in the vdso is before the address to which
 * sysenter returns, too.) */
static __always_inline bool follows_32bit_call(__u64 pc)
{
	__u16 code;

	return !bpf_probe_read_user(&code, sizeof(code), (const void *)(pc - sizeof(code))) &&
	       code == 0x80cd;
}

/* Returns whether `pc` is right after a system call, or in the few instructions (from `test
 * %rax,%rax` to the first call) with which glibc's clone3() continues in the new thread. */
static __always_inline bool follows_clone(const __u64 *r, __u64 pc)
{
	__u64 code = 0;

	(void)r;
	if (bpf_probe_read_user(&code, 2, (const void *)(pc - 2)))
		return false;
	for (int behind = 3; code != SYSCALL && behind <= CLONE_BYTES; behind++) {
		if (bpf_probe_read_user(&code, 5, (const void *)(pc - 2 - behind)))
			return false;
		code = code == SYSCALL_TEST ? SYSCALL : 0;
	}
	return code == SYSCALL;
}

/* mov $15,%rax; the first byte of syscall: the code to which signal handlers return */
#define SIGRETURN_CODE 0x0f0000000fc0c748

static __always_inline bool is_handler_return(__u64 pc)
{
	__u64 code;

	return !bpf_probe_read_user(&code, sizeof(code), (const void *)pc) &&
	       code == SIGRETURN_CODE;
}

static __always_inline bool is_behind_sigreturn(__u64 rip)
{
	__u64 code;

	return !bpf_probe_read_user(&code, sizeof(code), (const void *)(rip - sizeof(code) - 1)) &&
	       code == SIGRETURN_CODE;
}

#endif
