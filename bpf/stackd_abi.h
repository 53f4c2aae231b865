/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The data that the kernel half (bpf/) and the user half (daemon/) share. Code that both have is in
 * walk.h alone.
 *
 * It defines the end reasons of walks, the records of the ring buffer, the tables that walks use,
 * and the counters by which the two halves check that no sample was dropped silently.
 *
 *   WALKED := struct stackd_walked           the kernel half has walked the stack
 *             u32 pid, period; u64 cgroup,
 *             union stackd_measurement       each only if a bit of `form` says so
 *             u8  frames[]                   new user frames, leaf first, in 3, 4 or 12 bytes
 *                                            each
 *             u64 kernel[n_kernel]           leaf first, as bpf_get_stack gives them
 *             struct stackd_part             of a deep stack: see there; it ends the record,
 *                                            wherever the frames end
 *   STACK  := struct stackd_stack_record     the daemon has to walk it
 *             u64 kernel[n_kernel]
 *             u8  stack[stack_bytes]         from the stack pointer in `regs` upwards; its last
 *                                            `shared` bytes are left out
 *   MORE_STACK := struct stackd_more_stack   no sample: what lies above the copy in the thread's
 *             u8  stack[sent]                  next record, a STACK, of the same time
 *   TAG    := struct stackd_tag_record       an instrumented program keeps this tag of its path
 *             u64 kernel[n_kernel]
 *   BRANCHES := struct stackd_branch_record  no sample: the processor's branch records for the
 *             struct stackd_branch [n]         thread's next record, of the same time; newest
 *                                              first
 *   READING := struct stackd_reading         no sample: counters' values, for the thread's next
 *                                              record
 *   CODE   := struct stackd_code_record      no sample: bytes of code, for the thread's next record
 *             struct stackd_code_mark [n]      (stackd_code.h)
 *   CODE_BYTES := struct stackd_code_bytes   no sample: these bytes, before a CODE record
 *   LAUNCHED := struct stackd_launched       no sample: what a program is started with
 *   COMPLETED := struct stackd_completed     no sample: what a receive of MPI has brought
 *
 * The bookkeeping identity, checked by the daemon at its end:
 *   started == sent + lost_ring + idle
 *   sent    == received == sum of the reasons that the daemon counts
 * WALKED and STACK records of other events than samples (stackd_events.h) are counted apart; of
 * those of passes and allocations,
 *   ended   == sent + lost_ring
 * of those of waits,
 *   kept    == sent + lost_ring
 * of those of wake-ups,
 *   wakers  == sent + lost_ring
 * and of those of a thread's life, the lost ones are counted.
 *
 * Only fixed-width types, explicit padding, and asserts on every size and offset.
 */
#ifndef STACKD_ABI_H
#define STACKD_ABI_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#include "../arch/arch.h"    /* the processor's registers; */
#include "stackd_cookies.h"  /* parts of it: the cookies of probes; */
#include "stackd_counters.h" /* the counters of losses and cost; */
#include "stackd_events.h"   /* the kinds of event that records tell of; */
#include "stackd_mpi.h"	     /* what functions of MPI do; */
#include "stackd_runtimes.h" /* the runtimes of languages */

#define STACKD_ABI_VERSION 23

/*
 * End reasons: why a walk stopped. X(enumerator, name, quality, meaning).
 * Names appear in `stackctl stats --json` and in stores, so they never change. New reasons are
 * added at the end, since stores hold the numbers, too.
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
	X(LOST_RECORD, "lost_record", LOST, "a record that the daemon could not read or keep")     \
	X(AS_RECORDED, "as_recorded", PARTIAL, "an imported call chain: it ends before the entry") \
	X(SEGMENT, "segment", PARTIAL, "only the top frames were asked for")                       \
	X(TAG_UNKNOWN, "tag_unknown", PARTIAL,                                                     \
	  "the program's tag alone was taken: its path is not known")                              \
	X(NO_TAG, "no_tag", PARTIAL, "tags alone were to be taken, and the program keeps none")    \
	X(WRONG_CALLER, "wrong_caller", PARTIAL, "the caller that was found calls something else") \
	X(STACK_SWITCH, "stack_switch", PARTIAL,                                                   \
	  "the caller is on another stack: the program has switched stacks")                       \
	X(RUNTIME_CODE, "runtime_code", PARTIAL,                                                   \
	  "code made at run time, of which its instructions do not tell the frame")                \
	X(LEFT, "left", PARTIAL,                                                                   \
	  "a region was left without a return: its function and that one's caller are known")

enum stackd_end_reason {
#define STACKD_X(e, name, quality, meaning) STACKD_END_##e,
	STACKD_END_REASONS(STACKD_X)
#undef STACKD_X
		STACKD_END_COUNT
};

enum stackd_record_flags {
	STACKD_HAS_REGS = 1 << 0,	/* there is a user stack, and regs are its registers */
	STACKD_IN_KERNEL = 1 << 1,	/* the sample hit in kernel mode */
	STACKD_STACK_CUT = 1 << 2,	/* the stack is larger than what was copied */
	STACKD_STACK_FAULT = 1 << 3,	/* the copy met an unreadable page and stops before it */
	STACKD_COMPAT = 1 << 4,		/* a 32-bit task */
	STACKD_NOT_REMEMBERED = 1 << 5, /* WALKED: the thread's next walk does not build on it */
	STACKD_JUDGE = 1 << 6,		/* STACK: no sample, but the stack of the WALKED record
					 * before it, which the daemon checks */
	STACKD_IN_EXEC = 1 << 7,	/* within execve: the registers can be of a program that
					 * is gone */
};

/* User registers, in DWARF's numbering (arch/arch.h). */
struct stackd_regs {
	__u64 r[STACKD_REG_COUNT];
};

/* The part of a function's prologue or epilogue that has run at an interrupted leaf. */
enum stackd_leaf {
	STACKD_LEAF_MADE, /* the frame pointer is its own, if it has one: a few bytes never tell */
	STACKD_LEAF_NONE, /* nothing pushed yet, or everything popped: at its first instruction or
			     its return */
	STACKD_LEAF_PUSHED, /* the frame pointer is saved, and still the caller's */
	STACKD_LEAF_UNTOLD, /* any of these: there is something else */
};

enum stackd_record_kind {
	STACKD_RECORD_WALKED = 1,
	STACKD_RECORD_STACK = 2,
	STACKD_RECORD_TAG = 3,
	STACKD_RECORD_BRANCHES = 4,
	STACKD_RECORD_READING = 5,
	STACKD_RECORD_LAUNCHED = 6,
	STACKD_RECORD_CODE = 7,
	STACKD_RECORD_MORE_STACK = 0x80, /* bits 3 to 6 are taken: */
	STACKD_RECORD_CODE_BYTES = 0x81,
	STACKD_RECORD_COMPLETED = 0x82,
};

/* Bits of header.kind, and of stackd_walked.form: fields in front of a WALKED record's frames. */
#define STACKD_KIND_MASK  0x87
#define STACKD_HAS_EVENT  0x08 /* it is no sample, but of this event */
#define STACKD_HAS_PID	  0x10 /* else the thread is its process's first: pid == tid */
#define STACKD_HAS_PERIOD 0x20 /* else it is the event's usual one */
#define STACKD_HAS_CGROUP 0x40 /* else it is that of the thread's record before */

/* The other bits of stackd_walked.form. */
#define STACKD_FORM_WALKED	   0x80 /* always: where other records have their version */
#define STACKD_FORM_IN_KERNEL	   0x01 /* STACKD_IN_KERNEL */
#define STACKD_FORM_NOT_REMEMBERED 0x02 /* STACKD_NOT_REMEMBERED */
#define STACKD_FORM_PART	   0x04 /* it ends with a struct stackd_part */

/*
 * The header of a WALKED record in the ring. It is packed, since nearly all records are WALKED and
 * most have few frames. The daemon expands it to a stackd_header when it reads the record; the
 * record's size gives that of the frames.
 */
struct stackd_walked {
	__u64 form : 8;
	__u64 end_reason : 8;
	__u64 sequence : 8; /* as in stackd_header; so are the others */
	__u64 n_kernel : 7;
	__u64 kept : 11;
	__u64 tid : 22;	    /* the kernel has no larger ones */
	__u64 time_ns : 48; /* the lowest bits of it: 78 hours */
	__u64 cpu : 16;
};

/*
 * The end of a WALKED record of a deep stack (bpf/deep.bpf.h). A walk of many new frames takes
 * several records, its parts, in order and of one thread, CPU and time; the last one has the kernel
 * frames and what is said of the whole walk. The fields before the frames are the first one's.
 *
 * A walk that came to its limit before the thread's entry is remembered, too, if it is OPEN: the
 * thread's later walks go on from its rootward end. One that JOINS it consists of its own frames,
 * of those of the open walk but for the first `skipped` ones, and of what was found beyond: that
 * begins with the part whose number is `joined_at`. What is beyond is added to the open walk, which
 * is kept, with its end, in place of the path that was walked now.
 */
struct stackd_part {
	__u32 number; /* from 0 */
	__u32 kept;   /* as in stackd_header, of the last part */
	__u32 skipped;
	__u16 joined_at;
	__u8 flags; /* enum stackd_part_flags */
	__u8 pad;
	__u64 left_bytes; /* of stack beyond the last frame of a walk that is not complete; 0: not
			   * known */
};

enum stackd_part_flags {
	STACKD_PART_LAST = 1 << 0,
	STACKD_PART_OPEN = 1 << 1,
	STACKD_PART_JOINS = 1 << 2,
	STACKD_PART_WANTS_ROOM = 1 << 3, /* there was none to remember it in */
};

struct stackd_header {
	__u8 version;	 /* STACKD_ABI_VERSION */
	__u8 kind;	 /* enum stackd_record_kind, and the bits above */
	__u8 flags;	 /* enum stackd_record_flags */
	__u8 end_reason; /* WALKED: why the walk stopped; STACK: why the kernel half gave up */
	__u32 tid;	 /* thread id, initial pid namespace */
	__u64 time_ns;	 /* CLOCK_MONOTONIC */
	__u16 cpu;	 /* where the sample was taken */
	__u8 n_kernel;	 /* kernel frames */
	__u8 sequence;	 /* WALKED: one more than in the thread's walk before, modulo 256 */
	__u32 kept;	 /* WALKED: root frames that are those of the thread's walk before */
	__u32 bytes;	 /* WALKED: what follows, kernel frames excepted; with padding to 8 after */
	__u8 part;	 /* WALKED: bit i: enum stackd_part_flags; 0: no struct stackd_part follows
			  * the kernel frames */
	__u8 event;	 /* enum stackd_event, once the record is read; 0 in the ring */
	__u16 pad;
};

/*
 * A user frame of a WALKED record: a location, not an address. It has three forms, low byte first:
 *
 *   near   3 bytes: offset, in the slice of the file that the frame before is in
 *   short  4 bytes: STACKD_FRAME_SHORT | offset, slice << 24
 *   long   4 bytes STACKD_FRAME_LONG, then 8 of the location
 *
 * If heights are recorded (segment.bpf.h), 4 bytes with its height precede each frame, and one more
 * height follows the last frame.
 *
 * A file is cut into slices of 8 MiB, numbered from its stackd_file.first_slice on. A location
 * is file << 48 | exact << 47 | offset: the file's number and the offset of the byte to look up
 * (the program counter if `exact`, else the return address - 1). Code without a file, and the
 * leaf of a walk that knows no mapping, have the number STACKD_FILE_NONE and an address. The first
 * frame is always exact; of the others, in near and short form, none is.
 */
#define STACKD_SLICE_SHIFT    23
#define STACKD_SLICE_COUNT    255
#define STACKD_SLICE_MASK     ((1u << STACKD_SLICE_SHIFT) - 1)
#define STACKD_FRAME_SHORT    (1u << 23)
#define STACKD_FRAME_LONG     0xff800000u /* there is no slice 255 */
#define STACKD_LOCATION_EXACT ((__u64)1 << 47)
#define STACKD_LOCATION_MASK  (STACKD_LOCATION_EXACT - 1)
#define STACKD_FILE_NONE      0

/* A mapping of a file that the kernel half does not know yet; all 0: none. `key` is the identity
 * by which the daemon makes the file known, in the map `inodes`. */
struct stackd_inode {
	__u64 inode;
	__u64 changed_ns; /* inode change time */
	__u32 dev;
	__u32 generation;
};

struct stackd_mapping {
	__u64 start, end; /* addresses */
	__u64 offset;	  /* in the file */
	struct stackd_inode key;
};

/* Successive stacks share their root part, so a STACK record leaves out the bytes at the end of the
 * copy that equal those of the CPU's previous STACK record: `shared` of them, at most
 * STACKD_SHARED_BYTES. It builds on the record whose number is one less. */
#define STACKD_SHARED_BYTES (64 * 1024)

/*
 * Behind the stack of one that has been read, from a multiple of 8 on:
 *   u64 more_holes[more_holes]             go on where `holes` ends (record_more_holes())
 *   struct stackd_code_mark [code_count]   record_code()
 * The reader puts them there, from MORE_STACK and CODE records (daemon/capture/record.h).
 */
struct stackd_stack_record {
	struct stackd_header header;
	__u32 pid;	   /* thread group id, initial pid namespace */
	__u32 period;	   /* events that this sample stands for; UINT32_MAX: at least so many */
	__u32 stack_bytes; /* of the whole copy */
	__u32 shared;	   /* of which left out */
	__u32 number;	   /* counts the CPU's STACK records that can be built upon; 0: none may */
	__u16 wanted;	   /* number of a file whose table is not loaded; 0: none */
	__u8 leaf;	   /* enum stackd_leaf, determined from the instructions alone */
	__u8 code_count;   /* 0 in the ring */
	__u64 holes;	   /* bit i: page i of the stack, the stack pointer's being 0, was not in
			    * memory: never written, or on its way; its bytes are 0 here */
	__u64 cgroup;	   /* id in the hierarchy of version 2 */
	__u64 stack_end;   /* address; 0: not known */
	__u32 more_holes;  /* 0 in the ring */
	__u32 pad;
	__u64 below; /* the word below the stack pointer, which few functions use; 0: not known */
	struct stackd_mapping unknown;
	union stackd_measurement event;
	struct stackd_regs regs; /* of user mode, at the sample or at the entry into the kernel */
};

/*
 * A part of a stack that is larger than a STACK record's copy: while a table is being loaded, such
 * stacks are sent whole. The parts come before their record, in order, and of the same thread, CPU
 * and time; the first begins where the copy ends.
 */
struct stackd_more_stack {
	struct stackd_header header;
	__u64 start;   /* address of the first byte */
	__u64 holes;   /* bit i: page i of the part, that of `start` being 0, was not in memory */
	__u32 bytes;   /* of stack */
	__u32 sent;    /* of which follow: all, or none if none was in memory */
	__u32 is_last; /* the stack ends here */
	__u32 pad;
};

/*
 * The tag that an instrumented program keeps of its call path (docs/TAGS.md). If `is_followed`, it
 * is no sample: the thread's next record, of the same time, is a walk of the same stack, from which
 * the daemon learns the tag's path.
 */
struct stackd_tag_record {
	struct stackd_header header;
	__u32 pid;    /* thread group id, initial pid namespace */
	__u32 period; /* events that this sample stands for; UINT32_MAX: at least so many */
	__u64 tag;
	__u64 pc;      /* of user mode */
	__u64 cgroup;  /* id in the hierarchy of version 2 */
	__u32 program; /* stackd_tagged.program; 0: no tag could be read */
	__u32 is_followed;
};

#define STACKD_MAX_BRANCHES 64

/* As the kernel's struct perf_branch_entry. */
struct stackd_branch {
	__u64 from, to;
	__u64 flags;
};

struct stackd_branch_record {
	struct stackd_header header;
	__u32 n;
	__u32 pid; /* thread group id, initial pid namespace */
};

#define STACKD_LAUNCHED_STRINGS 24
#define STACKD_LAUNCHED_BYTES	40

/* A program has been executed: the variables of its environment that may tell its rank. */
struct stackd_launched {
	struct stackd_header header;
	__u32 pid; /* thread group id, initial pid namespace */
	__u32 n;   /* strings */
	char strings[STACKD_LAUNCHED_STRINGS][STACKD_LAUNCHED_BYTES];
};

/* A request of MPI is complete, for which a call has posted a buffer. */
struct stackd_completed {
	struct stackd_header header;
	__u32 pid;	/* thread group id, initial pid namespace */
	__u32 poster;	/* the thread that has posted it, */
	__u64 enter_ns; /* in the instance that began then */
	__u64 posted;	/* size of the buffer */
	__u64 arrived;	/* bytes, with marks */
};

#include "stackd_code.h"

#define STACKD_MOST_COUNTERS 8

/* What a counter counts (bpf/reading.bpf.h). */
enum stackd_counter_kind {
	STACKD_COUNTER_NONE,
	STACKD_COUNTER_CPU,	     /* ns of the thread */
	STACKD_COUNTER_FAULTS,	     /* page faults */
	STACKD_COUNTER_MAJOR_FAULTS, /* of these, those that read from a disk */
	STACKD_COUNTER_SWITCHES,     /* context switches */
	STACKD_COUNTER_READ,	     /* bytes that system calls have read */
	STACKD_COUNTER_WRITTEN,
	STACKD_COUNTER_VARIABLE,  /* of the program */
	STACKD_COUNTER_RESIDENT,  /* bytes of the process that are in memory */
	STACKD_COUNTER_EVENT,	  /* what a perf event counts (bpf/event_sum.bpf.h) */
	STACKD_COUNTER_ALLOCATED, /* bytes that sampled allocations stand for */
	STACKD_COUNTER_HITS,	  /* of a probe */
};

/* The counters' values at a sample within an instance, or at the end of one. The sample's or the
 * instance's own record comes next, of the same thread and time. Without is_end, the record ends
 * with the last of its `n` values. */
struct stackd_reading {
	struct stackd_header header;
	__u32 pid; /* thread group id, initial pid namespace */
	__u8 n;	   /* counters */
	__u8 is_end;
	__u8 known;	   /* bits: values that could be read */
	__u8 passed_known; /* the same; only with is_end */
	__u64 values[STACKD_MOST_COUNTERS];
	__u64 passed[STACKD_MOST_COUNTERS]; /* with is_end: by how much more than at its start */
};

/* An entry of a region, or a hit of a mark: where the variables of its file are, as distances from
 * the probe's instruction, and their sizes; 0: the variable is not in this file. */
struct stackd_place {
	__s64 distance[STACKD_MOST_COUNTERS];
	__u8 bytes[STACKD_MOST_COUNTERS];
};

#define STACKD_MOST_PLACES 16384

/* A process that keeps tags. */
struct stackd_tagged {
	__s64 offset;  /* of its tag from the thread pointer */
	__u64 space;   /* 0; the kernel half's own: which exec of the process this is about */
	__u32 program; /* number, from 1: within one, a tag has one meaning */
	__u32 pad;
};

/* A tag that the daemon knows the path of. */
struct stackd_known_tag {
	__u64 tag;
	__u32 program;
	__u32 pad;
};

/* How the tags of instrumented programs are used. */
enum stackd_tags {
	STACKD_TAGS_AUTO, /* a stack is walked when its tag is not known yet */
	STACKD_TAGS_ONLY, /* no stack is walked */
	STACKD_TAGS_OFF,  /* tags are ignored */
};

/* Walks of regions that can be under way on a CPU, all but one of them preempted. */
#define STACKD_REGION_SCRATCHES 4

#define STACKD_MOST_REGIONS 10000
#define STACKD_MOST_MARKS   64 /* their numbers follow those of regions */

/*
 * States of a region or mark, in the map `regions_off`: it is measured, and has not been entered
 * yet; it is entered too often, and its probes are to be removed; it is measured, and has been
 * entered; or any other number: it is on trial. Its entries are only counted then, and once a
 * thread has made more than that number within STACKD_REGION_TRIAL_NS it is off.
 */
#define STACKD_REGION_IS_MEASURED 0
#define STACKD_REGION_IS_OFF	  1
#define STACKD_REGION_IS_ENTERED  2
#define STACKD_REGION_TRIAL_NS	  250000000ull

#define STACKD_MOST_LIVE 262144u /* sampled blocks that are live at a time */

/* Whose regions and waits are measured. */
enum stackd_scope {
	STACKD_SCOPE_ALL,
	STACKD_SCOPE_CGROUP,
	STACKD_SCOPE_PROCESSES, /* and their later children */
};

#define STACKD_MAX_KERNEL_FRAMES 127
#define STACKD_ANCHOR_EVERY	 128 /* samples of a thread: see segment.bpf.h */
#define STACKD_ANCHOR_PRICE	 8   /* segments with known ends that earn an anchor */
#define STACKD_ANCHOR_CREDIT	 64  /* most that are put by */
#define STACKD_ANCHOR_ENDS	 256 /* that a thread has */
#define STACKD_STACK_BOTTOM	 256 /* bytes in which a leaf's return address of 0 ends a stack */
#define STACKD_MAX_STACK_BYTES	 (256 * 1024)
#define STACKD_MORE_BYTES	 (8 * 1024 * 1024) /* of a stack beyond its record's copy, at most */
#define STACKD_MORE_PART	 (128 * 1024)	   /* of these in a record */
#define STACKD_MAX_MORE_HOLES	 ((STACKD_MAX_STACK_BYTES + STACKD_MORE_BYTES) / (64 * 4096) + 1)

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
	STACKD_CFA_NONE,   /* no recipe: no unwind information covers this location */
	STACKD_CFA_END,	   /* the outermost frame: its return address is undefined */
	STACKD_CFA_DAEMON, /* a rule that this struct cannot express: left to the daemon */
	STACKD_CFA_REG,	   /* CFA = reg + cfa_offset */
	STACKD_CFA_DEREF,  /* CFA = *(reg + cfa_offset) + cfa_add (realigned stacks) */
	STACKD_CFA_PLT,	   /* CFA = sp + cfa_offset + ((pc & 15) >= cfa_add ? 8 : 0) */
	STACKD_CFA_SIGNAL, /* the kernel's signal frame: every register is in the sigcontext that
			    * begins at sp + cfa_offset (ARCH_SIGCONTEXT_REG) */
	STACKD_CFA_SWITCH, /* the caller is on another stack: the walk ends */
	STACKD_CFA_OTHER,  /* as REG, but the CFA may be on another stack, anywhere */
	/* Go's runtime (bpf/runtime_go.bpf.h): */
	STACKD_CFA_SCHEDULER, /* as REG; the goroutine that the thread ran is given up */
	STACKD_CFA_INJECTED,  /* as REG; the caller was interrupted, and did not call */
	STACKD_CFA_GOROUTINE, /* CFA = where the thread's goroutine left its stack + cfa_add; its
			       * pc stands there, too, if ra_offset is 0. cfa_offset: of g from the
			       * thread pointer; saved: of g.m, m.curg and g.sched. With another
			       * reg than sp: CFA = sp, pc = *(reg + cfa_offset), or reg if
			       * cfa_add; a return address if that is 2 */
	STACKD_CFA_DEPTH,     /* CFA = hi - depth + cfa_add: g = *(sp + cfa_offset),
			       * hi = *(g + saved[0]), depth = *(sp + saved[1]) */
	STACKD_CFA_CALLBACK,  /* CFA = where the thread left its system stack + cfa_add: cfa_offset
			       * is of g from the thread pointer, saved of g.m, m.g0, g.sched, and
			       * from that stack's pointer, of where it left it before */
};

/* STACKD_SAVED_REGS are in the order of `saved`. */
struct stackd_rule {
	__u8 cfa;	  /* enum stackd_cfa */
	__u8 reg;	  /* DWARF number of the CFA's register */
	__s16 cfa_add;	  /* see enum stackd_cfa */
	__s32 cfa_offset; /* bytes */
	__s16 ra_offset;  /* the return address stands at CFA + ra_offset; -8 in nearly all code */
	__s16 saved[STACKD_SAVED_COUNT]; /* CFA-relative slot of the caller's register; 0: it is
					  * unchanged */
	__u8 saved_reg;	    /* bits 0 to 3: DWARF number of the register that the bits below refer
			     * to; 4 to 7: see STACKD_KEPT */
	__u8 saved_via_reg; /* bit i: saved[i] is relative to saved_reg as it is in this frame, not
			     * to the CFA; 0 then is a slot like any other. Realigned frames save
			     * the frame pointer where it points to then, which has no fixed
			     * distance from their CFA */
};

/* The DWARF number, plus 1, of a caller-saved register that the rule's function preserves;
 * STACKD_KEPT_TWO: ARCH_KEPT_TWO_REGS; 0: none is known. A caller may have its CFA in it. For the
 * daemon's walk; the kernel half ends there. */
#define STACKD_KEPT(rule)      ((rule)->saved_reg >> 4)
#define STACKD_KEPT_TWO	       15
#define STACKD_SAVED_REG(rule) ((rule)->saved_reg & 15)

/* A file's table, by file number: chunks[chunk_base + i] is the first row of the chunk
 * first_chunk + i, in the map `rows`; there are n_chunks of them and one end entry. */
struct stackd_file {
	__u32 chunk_base;
	__u32 first_chunk;
	__u32 n_chunks;	   /* 0: no table (yet, any more, or at all) */
	__u16 first_slice; /* of its short frames; STACKD_SLICE_COUNT: it has none */
	__u16 n_slices;
	__u16 is_loaded;  /* it has no recipes, and will have none; never where n_chunks is not 0 */
	__u16 is_partial; /* its table lacks rules: where it has none, one is yet to come */
	__u32 uses;	  /* counted up by the kernel half; eviction goes by it */
};

/* The way in which walks use the thread's walk before (Perks et al., section 3: first and second
 * match). */
enum stackd_prefix {
	STACKD_PREFIX_VERIFIED, /* every remembered return address below is compared */
	STACKD_PREFIX_SECOND,	/* two matches in a row are believed */
	STACKD_PREFIX_FIRST,	/* the first match is believed */
	STACKD_PREFIX_NONE,	/* every stack is walked whole */
};

/* Stacks of so many frames are walked to the end and remembered (bpf/deep.bpf.h), in parts of so
 * many new frames each. A deep stack is remembered in blocks of marks, by place. */
#ifndef STACKD_DEEP_MOST
#define STACKD_DEEP_MOST   100000u
#define STACKD_DEEP_NEW	   24576u
#define STACKD_DEEP_PLACES 131072u /* a power of two, as the next */
#define STACKD_DEEP_BLOCK  256u
#endif
#define STACKD_DEEP_STACKS 8

#define STACKD_RULE_SETS 16384 /* of the kernel half's cache of rules, a CPU */

/* Rule numbers that every table knows; compiled rules follow. */
#define STACKD_RULE_NONE   0
#define STACKD_RULE_END	   1
#define STACKD_RULE_DAEMON 2

_Static_assert(sizeof(struct stackd_regs) == 8 * STACKD_REG_COUNT,
	       "stackd_regs is shared with the kernel half");
_Static_assert(sizeof(struct stackd_walked) == 16, "stackd_walked is shared");
_Static_assert(sizeof(struct stackd_header) == 32, "stackd_header is shared");
_Static_assert(__builtin_offsetof(struct stackd_header, time_ns) == 8, "stackd_header layout");
_Static_assert(__builtin_offsetof(struct stackd_header, sequence) == 19, "stackd_header layout");
_Static_assert(sizeof(struct stackd_part) == 24, "stackd_part is shared");
_Static_assert(sizeof(struct stackd_inode) == 24, "stackd_inode is shared");
_Static_assert(sizeof(struct stackd_mapping) == 48, "stackd_mapping is shared");
_Static_assert(sizeof(struct stackd_stack_record) == 200 + sizeof(struct stackd_regs),
	       "stackd_stack_record is shared");
_Static_assert(sizeof(struct stackd_more_stack) == 64, "stackd_more_stack is shared");
_Static_assert(!(STACKD_KIND_MASK &
		 (STACKD_HAS_EVENT | STACKD_HAS_PID | STACKD_HAS_PERIOD | STACKD_HAS_CGROUP)),
	       "header.kind has both");
_Static_assert((STACKD_RECORD_CODE & STACKD_KIND_MASK) == STACKD_RECORD_CODE &&
		       (STACKD_RECORD_MORE_STACK & STACKD_KIND_MASK) == STACKD_RECORD_MORE_STACK,
	       "the mask has all kinds");
_Static_assert(STACKD_MORE_PART / 4096 < 64, "a part's holes have a bit for each page");
_Static_assert(STACKD_MAX_CODE <= 255, "code_count holds it");
_Static_assert(sizeof(struct stackd_tag_record) == 72, "stackd_tag_record is shared");
_Static_assert(sizeof(struct stackd_branch) == 24, "stackd_branch is the kernel's");
_Static_assert(sizeof(struct stackd_branch_record) == 40, "stackd_branch_record is shared");
_Static_assert(sizeof(struct stackd_launched) == 1000, "stackd_launched is shared");
_Static_assert(sizeof(struct stackd_completed) == sizeof(struct stackd_header) + 32,
	       "stackd_completed is shared");
_Static_assert(sizeof(struct stackd_reading) == 168, "stackd_reading is shared");
_Static_assert(sizeof(struct stackd_code_mark) == 72, "stackd_code_mark is shared");
_Static_assert(sizeof(struct stackd_code_record) == 56, "stackd_code_record is shared");
_Static_assert(sizeof(struct stackd_code_bytes) == 1136, "stackd_code_bytes is shared");
_Static_assert(sizeof(struct stackd_jit_ranges) == 64, "stackd_jit_ranges is shared");
_Static_assert(sizeof(struct stackd_place) == 72, "stackd_place is shared");
_Static_assert(sizeof(struct stackd_tagged) == 24, "stackd_tagged is shared");
_Static_assert(sizeof(struct stackd_known_tag) == 16, "stackd_known_tag is shared");
_Static_assert(sizeof(struct stackd_file) == 24, "stackd_file is shared");
_Static_assert(sizeof(struct stackd_row) == 4, "rows are 4 bytes");
_Static_assert(sizeof(struct stackd_rule) == ((12 + 2 * STACKD_SAVED_COUNT + 3) & ~3),
	       "rules are shared with the kernel half");

#endif
