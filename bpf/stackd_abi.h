/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The one header that the kernel half (bpf/) and the user half (daemon/) share.
 *
 * It fixes three things: the reasons for which a sample's walk can end, the record that the
 * kernel half puts into the ring buffer for each sample, and the counters with which the two
 * halves prove to each other that nothing was dropped silently.
 *
 *   record   := struct stackd_record
 *               u64 kernel[n_kernel]          leaf first, as bpf_get_stack gives them
 *               u8  stack[stack_bytes]        from regs' rsp upwards, padded to 8
 *
 * The bookkeeping identity, checked by the daemon at its end:
 *   started == sent + sum of the reasons that the kernel half counts (lost_*)
 *   sent    == received == sum of the reasons that the daemon counts
 *
 * Only fixed-width types, explicit padding, and asserts on every size and offset.
 */
#ifndef STACKD_ABI_H
#define STACKD_ABI_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define STACKD_ABI_VERSION 1

/*
 * End reasons: why a walk stopped. X(enumerator, name, quality, meaning).
 * Names appear in `stackctl stats --json` and in stores: a name is for ever. New reasons go to
 * the end: the numbers stand in stores.
 */
#define STACKD_END_REASONS(X)                                                                      \
	X(ENTRY, "entry", COMPLETE, "the walk reached the thread's entry")                         \
	X(NO_USER, "no_user", COMPLETE, "no user stack: a kernel thread, or a task that exits")    \
	X(NO_MAPPING, "no_mapping", PARTIAL, "an address lies in no known executable mapping")     \
	X(NO_OBJECT, "no_object", PARTIAL, "the mapped file could not be read")                    \
	X(NO_RECIPE, "no_recipe", PARTIAL, "no unwind information for an address")                 \
	X(BAD_RECIPE, "bad_recipe", PARTIAL, "unwind information that cannot be evaluated")        \
	X(STACK_CUT, "stack_cut", PARTIAL, "the stack goes on above the bytes that were copied")   \
	X(UNREADABLE, "unreadable", PARTIAL, "memory that the walk needs could not be read")       \
	X(NO_PROGRESS, "no_progress", PARTIAL, "the caller's frame is not above its callee's")     \
	X(BAD_RETURN, "bad_return", PARTIAL, "a return address that does not follow a call")       \
	X(TOO_DEEP, "too_deep", PARTIAL, "more frames than the limit")                             \
	X(FOREIGN_ABI, "foreign_abi", PARTIAL, "a 32-bit program: its stacks are not walked")      \
	X(LOST_RING, "lost_ring", LOST, "the ring buffer was full")                                \
	X(LOST_RECORD, "lost_record", LOST, "a record that the daemon could not read or keep")

enum stackd_end_reason {
#define STACKD_X(e, name, quality, meaning) STACKD_END_##e,
	STACKD_END_REASONS(STACKD_X)
#undef STACKD_X
		STACKD_END_COUNT
};

enum stackd_record_flags {
	STACKD_HAS_REGS = 1 << 0,    /* there is a user stack, and regs are its registers */
	STACKD_IN_KERNEL = 1 << 1,   /* the sample hit in kernel mode */
	STACKD_STACK_CUT = 1 << 2,   /* the stack is larger than what was copied */
	STACKD_STACK_FAULT = 1 << 3, /* the copy met an unreadable page and stops before it */
	STACKD_COMPAT = 1 << 4,	     /* a 32-bit task */
	STACKD_IN_EXEC = 1 << 5,     /* within execve: the registers can be of a program that is
				      * gone */
};

/* User registers, in DWARF's numbering for x86-64 (0 rax, 1 rdx, ..., 6 rbp, 7 rsp, 16 rip). */
#define STACKD_REG_COUNT 17
#define STACKD_REG_RBP	 6
#define STACKD_REG_RSP	 7
#define STACKD_REG_RIP	 16

struct stackd_regs {
	__u64 r[STACKD_REG_COUNT];
};

struct stackd_record {
	__u32 size;	   /* bytes of the whole record, a multiple of 8 */
	__u16 version;	   /* STACKD_ABI_VERSION */
	__u16 flags;	   /* enum stackd_record_flags */
	__u64 time_ns;	   /* CLOCK_MONOTONIC */
	__u32 pid;	   /* thread group id, initial pid namespace */
	__u32 tid;	   /* thread id, initial pid namespace */
	__u32 cpu;	   /* where the sample was taken */
	__u32 stack_bytes; /* bytes of user stack at the end, before padding */
	__u64 period;	   /* events that this sample stands for */
	__u32 n_kernel;	   /* kernel frames that follow */
	__u32 reserved;
	struct stackd_regs regs; /* of user mode, at the sample or at the entry into the kernel */
};

/* Per-CPU counters: index in the map `counters`. */
enum stackd_counter {
	STACKD_COUNT_STARTED,	/* the program was entered for a sample in scope */
	STACKD_COUNT_SENT,	/* a record was put into the ring buffer */
	STACKD_COUNT_LOST_RING, /* it was full */
	STACKD_COUNT_COUNT,
};

#define STACKD_MAX_KERNEL_FRAMES 127
#define STACKD_MAX_STACK_BYTES	 (256 * 1024)

/*
 * Recipes: how to find the caller from a code address. A file's table is rows sorted by file
 * offset, cut into chunks of 64 KiB of file; a chunk's first row always has low == 0, so a search
 * never leaves its chunk. Rows name rules by number; rules are shared by all files.
 */
struct stackd_row {
	__u16 low;  /* file offset & 0xffff from which the rule holds, up to the next row */
	__u16 rule; /* number */
};

#define STACKD_CHUNK_SHIFT 16

enum stackd_cfa {
	STACKD_CFA_NONE,   /* no recipe: no unwind information covers this place */
	STACKD_CFA_END,	   /* the outermost frame: its return address is undefined */
	STACKD_CFA_DAEMON, /* a rule that cannot be said here: the daemon finishes with libdw */
	STACKD_CFA_REG,	   /* CFA = reg + cfa_offset */
	STACKD_CFA_DEREF,  /* CFA = *(reg + cfa_offset) + cfa_add (realigned stacks) */
	STACKD_CFA_PLT,	   /* CFA = rsp + cfa_offset + ((rip & 15) >= cfa_add ? 8 : 0) */
	STACKD_CFA_SIGNAL, /* the kernel's signal frame: every register stands in the sigcontext at
			    * rsp + cfa_offset (offset of r8 in it is 0) */
};

/* Callee-saved registers that a rule can restore, in the order of stackd_rule.saved. */
#define STACKD_SAVED_REGS(X) X(RBP, 6) X(RBX, 3) X(R12, 12) X(R13, 13) X(R14, 14) X(R15, 15)
#define STACKD_SAVED_COUNT   6

struct stackd_rule {
	__u8 cfa;	  /* enum stackd_cfa */
	__u8 reg;	  /* DWARF number of the CFA's register */
	__s16 cfa_add;	  /* see enum stackd_cfa */
	__s32 cfa_offset; /* bytes */
	__s16 ra_offset;  /* the return address stands at CFA + ra_offset; -8 in nearly all code */
	__s16 saved[STACKD_SAVED_COUNT]; /* CFA-relative slot of the caller's register; 0: it is
					  * unchanged */
	__u8 saved_reg;	    /* DWARF number of the register that the bits below refer to */
	__u8 saved_via_reg; /* bit i: saved[i] is relative to saved_reg as it is in this frame, not
			     * to the CFA; 0 then is a slot like any other. Realigned frames save
			     * rbp at 0(rbp), which has no fixed distance from their CFA */
};

/* Rule numbers that every table knows; compiled rules follow. */
#define STACKD_RULE_NONE   0
#define STACKD_RULE_END	   1
#define STACKD_RULE_DAEMON 2

_Static_assert(sizeof(struct stackd_regs) == 136, "stackd_regs is shared with the kernel half");
_Static_assert(sizeof(struct stackd_record) == 184, "stackd_record is shared");
_Static_assert(__builtin_offsetof(struct stackd_record, time_ns) == 8, "stackd_record layout");
_Static_assert(__builtin_offsetof(struct stackd_record, period) == 32, "stackd_record layout");
_Static_assert(sizeof(struct stackd_row) == 4, "rows are 4 bytes");
_Static_assert(sizeof(struct stackd_rule) == 24, "rules are shared with the kernel half");

#endif
