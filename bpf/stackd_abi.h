/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The data that the kernel half (bpf/) and the user half (daemon/) exchange. The only code that
 * both halves have is walk.h.
 *
 * This header defines the end reasons of walks, the records of the ring buffer, the tables that
 * walks use, and the counters by which the two halves check that no sample was dropped silently.
 *
 *   WALKED := struct stackd_walked           the kernel half has walked the stack
 *             u32 pid, period; u64 cgroup,
 *             union stackd_measurement       each only if a bit of `form` says so
 *             u8  frames[]                   new user frames, leaf first, in 3, 4 or 12 bytes
 *                                            each
 *             u64 kernel[n_kernel]           leaf first, as bpf_get_stack gives them
 *             struct stackd_part             only of a deep stack: see there; it ends the
 *                                            record, wherever the frames end
 *   STACK  := struct stackd_stack_record     the daemon has to walk it
 *             u64 kernel[n_kernel]
 *             u8  stack[stack_bytes]         from the stack pointer in `regs` upwards; its last
 *                                            `shared` bytes are left out
 *   MORE_STACK := struct stackd_more_stack   no sample: the stack above the copy in the thread's
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
 *   CODE_BYTES := struct stackd_code_bytes   no sample: bytes of code, before a CODE record
 *   LAUNCHED := struct stackd_launched       no sample: environment variables of a new program
 *   COMPLETED := struct stackd_completed     no sample: bytes that a receive of MPI has got
 *   MANAGED := struct stackd_managed_record  no sample: the names of a code object
 *
 * The bookkeeping identity, checked by the daemon at its end:
 *   started == sent + lost_ring + idle
 *   sent    == received == sum of the reasons that the daemon counts
 * WALKED and STACK records of events that are no samples (stackd_events.h) are counted separately.
 * For passes through regions, and allocations,
 *   ended   == sent + lost_ring
 * for waits,
 *   kept    == sent + lost_ring
 * for wake-ups,
 *   wakers  == sent + lost_ring
 * For the beginnings and ends of threads, the lost records are counted.
 *
 * All types have fixed widths, padding is explicit, and asserts check every size and offset.
 */
#ifndef STACKD_ABI_H
#define STACKD_ABI_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#include "../arch/arch.h"    /* the registers of the processor; */
#include "stackd_calls.h"    /* parts of this header: the tables of libstackmpi; */
#include "stackd_cookies.h"  /* the cookies of probes; */
#include "stackd_counters.h" /* the counters of losses and cost; */
#include "stackd_events.h"   /* the kinds of event; */
#include "stackd_mpi.h"	     /* the calls of MPI; */
#include "stackd_runtimes.h" /* the runtimes of languages */

#define STACKD_ABI_VERSION 24

/*
 * End reasons: why a walk stopped. X(enumerator, name, quality, meaning). The names are in
 * `stackctl stats --json` and in stores, so they never change. New reasons are added at the end,
 * since stores have the numbers, too.
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
	  "a region was left without a return: its function and that one's caller are known")      \
	X(NO_TIME, "no_time", PARTIAL,                                                             \
	  "there was no time left for the walk, or to prove where it ended")                       \
	X(UNPROVEN_ROOT, "unproven_root", PARTIAL,                                                 \
	  "the walk ended where no stack is known to begin, and not all calls are proven")

enum stackd_end_reason {
#define STACKD_X(e, name, quality, meaning) STACKD_END_##e,
	STACKD_END_REASONS(STACKD_X)
#undef STACKD_X
		STACKD_END_COUNT
};

/* How a walk that has reached an entry knows that the stack begins there. All but the first need
 * further evidence (daemon/recorder/root_check.h), since a stack that a program has made may hold
 * words of earlier calls. */
enum stackd_root {
	STACKD_ROOT_PROVEN,  /* the frame is where its thread's stack begins */
	STACKD_ROOT_ZERO,    /* by a return address of 0 in the midst of memory */
	STACKD_ROOT_AWAY,    /* by a rule, at another place than that where the thread's stack
			      * begins */
	STACKD_ROOT_CROSSED, /* the frame is where its thread's stack begins, but the leaf is on
			      * another stack */
};

#define STACKD_ROOT_SHIFT 5

enum stackd_record_flags {
	STACKD_HAS_REGS = 1 << 0,	/* there is a user stack, and `regs` has its registers */
	STACKD_IN_KERNEL = 1 << 1,	/* the sample has hit kernel mode */
	STACKD_STACK_CUT = 1 << 2,	/* the stack is larger than what was copied */
	STACKD_STACK_FAULT = 1 << 3,	/* the copy met an unreadable page and stops before it */
	STACKD_COMPAT = 1 << 4,		/* a 32-bit task */
	STACKD_NOT_REMEMBERED = 1 << 5, /* WALKED: the walk is not remembered, so the thread's
					 * next walk does not refer to it */
	/* STACK: it is no sample, but has the stack of the WALKED record before it, so that the
	 * daemon compares its own walk with that one */
	STACKD_JUDGE = 1 << 6,
	STACKD_IN_EXEC = 1 << 7, /* within execve: the registers can be of a program that is
				  * already gone */
};

/* User registers, in DWARF's numbering (arch/arch.h). */
struct stackd_regs {
	__u64 r[STACKD_REG_COUNT];
};

/* Which part of a function's prologue or epilogue has run at an interrupted leaf. */
enum stackd_leaf {
	STACKD_LEAF_MADE,   /* the frame pointer is the function's, if it has one; leaf_at() never
			     * returns this */
	STACKD_LEAF_NONE,   /* at the first instruction or the return: nothing was pushed yet, or
			     * all was popped */
	STACKD_LEAF_PUSHED, /* the frame pointer is saved, but still has the caller's value */
	STACKD_LEAF_UNTOLD, /* not known: leaf_at() does not recognise the code */
};

enum stackd_record_kind {
	STACKD_RECORD_WALKED = 1,
	STACKD_RECORD_STACK = 2,
	STACKD_RECORD_TAG = 3,
	STACKD_RECORD_BRANCHES = 4,
	STACKD_RECORD_READING = 5,
	STACKD_RECORD_LAUNCHED = 6,
	STACKD_RECORD_CODE = 7,
	STACKD_RECORD_MORE_STACK = 0x80, /* bits 3 to 6 of the kind have other uses: */
	STACKD_RECORD_CODE_BYTES = 0x81,
	STACKD_RECORD_COMPLETED = 0x82,
	STACKD_RECORD_MANAGED = 0x83,
	STACKD_RECORD_CHAIN = 0x84,
};

/* Bits of header.kind and of stackd_walked.form: which optional fields precede a WALKED record's
 * frames. */
#define STACKD_KIND_MASK  0x87
#define STACKD_HAS_EVENT  0x08 /* it is an event, whose struct it has, and no sample */
#define STACKD_HAS_PID	  0x10 /* if 0: the thread is the first of its process, so pid == tid */
#define STACKD_HAS_PERIOD 0x20 /* if 0: the event's usual period */
#define STACKD_HAS_CGROUP 0x40 /* if 0: the cgroup of the thread's record before */

/* The other bits of stackd_walked.form. */
/* always set; other records have their version in this byte */
#define STACKD_FORM_WALKED	   0x80
#define STACKD_FORM_IN_KERNEL	   0x01 /* STACKD_IN_KERNEL */
#define STACKD_FORM_NOT_REMEMBERED 0x02 /* STACKD_NOT_REMEMBERED */
#define STACKD_FORM_PART	   0x04 /* it ends with a struct stackd_part */

/*
 * The header of a WALKED record in the ring. It is packed, since nearly all records are WALKED and
 * most have few frames. The daemon expands it to a stackd_header when it reads the record, and
 * computes the size of the frames from that of the record.
 */
struct stackd_walked {
	__u64 form : 8;
	__u64 end : 7; /* end reason, and enum stackd_root << STACKD_ROOT_SHIFT */
	__u64 is_unproven : 1;
	__u64 sequence : 8; /* like n_kernel and kept, as in stackd_header */
	__u64 n_kernel : 7;
	__u64 kept : 11;
	__u64 tid : 22;	    /* no thread of the kernel has a larger id */
	__u64 time_ns : 48; /* the lowest bits, which last 78 hours */
	__u64 cpu : 16;
};

/*
 * The end of a WALKED record of a deep stack (bpf/deep.bpf.h). A walk of many new frames takes
 * several records, its parts, in order and with the same thread, CPU and time. The last one has the
 * kernel frames and the values for the whole walk. The first one has the fields before the frames.
 *
 * A walk that has reached its limit before the thread's entry is remembered, too, if it has
 * STACKD_PART_OPEN. Later walks of the thread continue from its outer end: such a walk has
 * STACKD_PART_JOINS. Its path consists of its own frames, then those of the open walk without the
 * first `skipped` frames, then the frames that were found beyond these, which begin with the part
 * whose number is `joined_at`. Only the last are added to what is remembered, which stays the open
 * walk.
 */
struct stackd_part {
	__u32 number; /* from 0 */
	__u32 kept;   /* as in stackd_header; in the last part */
	__u32 skipped;
	__u16 joined_at;
	__u8 flags; /* enum stackd_part_flags */
	__u8 pad;
	__u64 left_bytes; /* bytes of stack beyond the last frame of an incomplete walk; 0: not
			   * known */
};

enum stackd_part_flags {
	STACKD_PART_LAST = 1 << 0,
	STACKD_PART_OPEN = 1 << 1,
	STACKD_PART_JOINS = 1 << 2,
	STACKD_PART_WANTS_ROOM = 1 << 3, /* no deep stack was free in which to remember it */
};

struct stackd_header {
	__u8 version; /* STACKD_ABI_VERSION */
	__u8 kind;    /* enum stackd_record_kind, and the bits above */
	__u8 flags;   /* enum stackd_record_flags */
	/* WALKED: why the walk stopped; STACK: why the kernel half could not walk */
	__u8 end_reason;
	__u32 tid;     /* thread id, initial pid namespace */
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u16 cpu;     /* on which the sample was taken */
	__u8 n_kernel; /* kernel frames */
	__u8 sequence; /* WALKED: one more than in the thread's previous walk, modulo 256 */
	__u32 kept;    /* WALKED: number of root frames that are the same as in the thread's
			* previous walk */
	/* WALKED: bytes of the optional fields and frames; padding to a multiple of 8 follows */
	__u32 bytes;
	__u8 part;	  /* WALKED: enum stackd_part_flags; 0: no struct stackd_part follows the
			   * kernel frames */
	__u8 event;	  /* enum stackd_event, filled in by the reader; 0 in the ring */
	__u8 is_unproven; /* WALKED: its managed frames are not proven */
	__u8 root;	  /* WALKED: enum stackd_root, if it ends at an entry */
};

/*
 * A user frame of a WALKED record: a location, not an address. It has one of three forms, low byte
 * first:
 *
 *   near   3 bytes: offset, in the same slice of a file as the frame before
 *   short  4 bytes: STACKD_FRAME_SHORT | offset, slice << 24
 *   long   4 bytes STACKD_FRAME_LONG, then the location in 8 bytes
 *
 * If heights are recorded (segment.bpf.h), each frame is preceded by its height in 4 bytes, and one
 * more height follows the last frame.
 *
 * A file is cut into slices of 8 MiB, numbered from its stackd_file.first_slice on. A location is
 * file << 48 | exact << 47 | offset: the file's number and the offset of the byte whose rule and
 * name are looked up (that of the program counter if `exact`, else that of the return address - 1).
 * Code without a file, and a leaf whose mapping is not known, have the number STACKD_FILE_NONE and
 * an address. The first frame is always exact; other frames in near or short form are not.
 */
#define STACKD_SLICE_SHIFT    23
#define STACKD_SLICE_COUNT    255
#define STACKD_SLICE_MASK     ((1u << STACKD_SLICE_SHIFT) - 1)
#define STACKD_FRAME_SHORT    (1u << 23)
#define STACKD_FRAME_LONG     0xff800000u /* no slice has the number 255 */
#define STACKD_LOCATION_EXACT ((__u64)1 << 47)
#define STACKD_LOCATION_MASK  (STACKD_LOCATION_EXACT - 1)
#define STACKD_FILE_NONE      0

/* A mapping of a file that the kernel half does not know yet; all 0: none. The daemon enters the
 * file into the map `inodes` by its `key`. */
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

/* Successive stacks have their root part in common. So a STACK record leaves out the last bytes of
 * its copy, as far as they are the same in the CPU's previous STACK record, whose number is one
 * less: `shared` bytes, at most STACKD_SHARED_BYTES. */
#define STACKD_SHARED_BYTES (64 * 1024)

/*
 * A record that the daemon's reader has read has more data behind the stack, from a multiple of 8
 * on:
 *   u64 more_holes[more_holes]             continues `holes` (record_more_holes())
 *   struct stackd_code_mark [code_count]   record_code()
 *   u64 chain[chain_words]                 record_chain()
 * The reader takes them from MORE_STACK, CODE and CHAIN records (daemon/capture/record.h).
 */
struct stackd_stack_record {
	struct stackd_header header;
	__u32 pid;	   /* process (thread group) id, in the initial pid namespace */
	__u32 period;	   /* number of events that this sample represents; UINT32_MAX: that or
			    * more */
	__u32 stack_bytes; /* size of the whole copy, with the bytes that are left out */
	__u32 shared;	   /* bytes of it that are left out */
	/* number among the CPU's STACK records whose bytes the next one can leave out; 0: it is
	 * none of these */
	__u32 number;
	__u16 wanted;	 /* number of a file whose table is not loaded; 0: none */
	__u8 leaf;	 /* enum stackd_leaf, determined from the instructions alone */
	__u8 code_count; /* 0 in the ring */
	/* bit i: page i of the stack (0 is that of the stack pointer) was not in memory, because it
	 * was never written or is being read; its bytes are 0 here */
	__u64 holes;
	__u64 cgroup;	  /* id of the cgroup in the hierarchy of version 2 */
	__u64 stack_end;  /* address; 0: not known */
	__u32 more_holes; /* 0 in the ring */
	/* the kernel half's walk has ended at a bad address, and the word on top of the stack is
	 * not the return address of a call that leads to that address */
	__u16 is_uncalled;
	__u16 chain_words; /* 0 in the ring */
	__u64 below;	   /* the word below the stack pointer; 0: not known */
	struct stackd_mapping unknown;
	union stackd_measurement event;
	struct stackd_regs regs; /* user registers, at the sample or at the entry into the kernel */
};

/*
 * A part of a stack that is larger than a STACK record's copy. While a table is being loaded, such
 * stacks are sent whole. The parts come before the STACK record, in order, and of the same thread,
 * CPU and time; the first part begins where the copy ends.
 *
 * Parts begin at multiples of their size, and most are the same in successive samples of a thread.
 * The daemon keeps those that have a hash for STACKD_MORE_KEPT_NS, by stackd_more_slot(), two for
 * each slot. A part with `is_same` is the one that it keeps with that thread, start and hash.
 */
struct stackd_more_stack {
	struct stackd_header header;
	__u64 start;   /* address of the first byte */
	__u64 holes;   /* bit i: page i of the part (0 is that of `start`) was not in memory */
	__u64 hash;    /* of its bytes; 0: none, and the part is not kept */
	__u32 bytes;   /* of the stack in this part */
	__u32 sent;    /* bytes that follow: all; or none if none was in memory, or if `is_same` */
	__u32 is_last; /* the stack ends here */
	__u32 is_same;
};

/*
 * The tag that an instrumented program keeps of its call path (docs/TAGS.md). If `is_followed`, it
 * is no sample: the thread's next record, of the same time, is a walk of the same stack, from which
 * the daemon learns the tag's path.
 */
struct stackd_tag_record {
	struct stackd_header header;
	__u32 pid;    /* process (thread group) id, in the initial pid namespace */
	__u32 period; /* number of events that this sample represents; UINT32_MAX: that or more */
	__u64 tag;
	__u64 pc;      /* of the user registers */
	__u64 cgroup;  /* id of the cgroup in the hierarchy of version 2 */
	__u32 program; /* stackd_tagged.program; 0: no tag could be read */
	__u32 is_followed;
};

#define STACKD_MAX_BRANCHES 64

/* The same as the kernel's struct perf_branch_entry. */
struct stackd_branch {
	__u64 from, to;
	__u64 flags;
};

struct stackd_branch_record {
	struct stackd_header header;
	__u32 n;
	__u32 pid; /* process (thread group) id, in the initial pid namespace */
};

#define STACKD_LAUNCHED_STRINGS 24
#define STACKD_LAUNCHED_BYTES	40

/* A program was executed: has the environment variables that may have its rank. */
struct stackd_launched {
	struct stackd_header header;
	__u32 pid; /* process (thread group) id, in the initial pid namespace */
	__u32 n;   /* strings */
	char strings[STACKD_LAUNCHED_STRINGS][STACKD_LAUNCHED_BYTES];
};

/* A request of MPI is complete, for which a non-blocking receive had posted a buffer. */
struct stackd_completed {
	struct stackd_header header;
	__u32 pid;	/* process (thread group) id, in the initial pid namespace */
	__u32 poster;	/* the thread that had posted the buffer, */
	__u64 enter_ns; /* in the instance that began at this time */
	__u64 posted;	/* size of the buffer */
	__u64 arrived;	/* number of bytes that have arrived, with flags */
};

#include "stackd_code.h"
#include "stackd_managed.h"

/* The managed frames of a thread, before the STACK record of the same thread and time; no sample.
 */
struct stackd_chain_record {
	struct stackd_header header;
	__u32 pid; /* thread group id, initial pid namespace */
	__u32 n;   /* words, which follow (stackd_managed.h) */
};

/* The names of a code object, before the first sample that has it; no sample. */
struct stackd_managed_record {
	struct stackd_header header;
	__u32 pid; /* thread group id, initial pid namespace */
	__u32 pad;
	struct stackd_managed_code code;
	__u8 lines[STACKD_MANAGED_LINES];
};

#define STACKD_MOST_COUNTERS 8

/* What a counter counts (bpf/reading.bpf.h). */
enum stackd_counter_kind {
	STACKD_COUNTER_NONE,
	STACKD_COUNTER_CPU,	     /* ns of the thread */
	STACKD_COUNTER_FAULTS,	     /* page faults */
	STACKD_COUNTER_MAJOR_FAULTS, /* page faults that read from a disk */
	STACKD_COUNTER_SWITCHES,     /* context switches */
	STACKD_COUNTER_READ,	     /* bytes that system calls have read */
	STACKD_COUNTER_WRITTEN,
	STACKD_COUNTER_VARIABLE,  /* a variable of the program */
	STACKD_COUNTER_RESIDENT,  /* bytes of the process that are in memory */
	STACKD_COUNTER_EVENT,	  /* what a perf event counts (bpf/event_sum.bpf.h) */
	STACKD_COUNTER_ALLOCATED, /* bytes that sampled allocations represent */
	STACKD_COUNTER_HITS,	  /* hits of a probe */
};

/* The counters' values at a sample within an instance, or at an instance's end (`is_end`). The
 * record of the sample or of the instance comes next, with the same thread and time. Without
 * is_end, the record ends with the last of its `n` values. */
struct stackd_reading {
	struct stackd_header header;
	__u32 pid; /* process (thread group) id, in the initial pid namespace */
	__u8 n;	   /* counters */
	__u8 is_end;
	__u8 known;	   /* a bit for each value that could be read */
	__u8 passed_known; /* likewise for `passed`; only with is_end */
	__u64 values[STACKD_MOST_COUNTERS];
	__u64 passed[STACKD_MOST_COUNTERS]; /* with is_end: the increase since the instance's
					     * start */
};

/* For a probe at the entry of a region, or at a mark: the distances of the file's variables from
 * the probe's instruction, and their sizes; 0: the variable is not in this file. */
struct stackd_place {
	__s64 distance[STACKD_MOST_COUNTERS];
	__u8 bytes[STACKD_MOST_COUNTERS];
};

#define STACKD_MOST_PLACES 16384

/* A process whose program keeps tags. */
struct stackd_tagged {
	__s64 offset;  /* distance of the tag from the thread pointer */
	__u64 space;   /* the exec of the process to which this applies: the kernel half replaces
			* a first value of 0 */
	__u32 program; /* number, from 1; within one program, a tag always means the same path */
	__u32 pad;
};

/* A tag whose path the daemon knows. */
struct stackd_known_tag {
	__u64 tag;
	__u32 program;
	__u32 pad;
};

/* How the tags of instrumented programs are used. */
enum stackd_tags {
	STACKD_TAGS_AUTO, /* a stack is walked if its tag is not known yet */
	STACKD_TAGS_ONLY, /* no stack is walked */
	STACKD_TAGS_OFF,  /* tags are ignored */
};

/* Limit of the walks of regions that a CPU does at the same time; all but one of them are
 * preempted. */
#define STACKD_REGION_SCRATCHES 4

#define STACKD_MOST_REGIONS 10000
#define STACKD_MOST_MARKS   64 /* their numbers follow those of regions */

/*
 * The states of a region or mark, in the map `regions_off`. IS_MEASURED: it is measured, and was
 * not entered yet. IS_OFF: it is entered too often, and its probes are to be removed. IS_ENTERED:
 * it is measured, and was entered. IS_GONE: its probes are being removed, or are removed. Any
 * larger number: it is on trial, and its entries are only counted. Once a thread has made more
 * entries than that number within STACKD_REGION_TRIAL_NS, the region is off.
 */
#define STACKD_REGION_IS_MEASURED 0
#define STACKD_REGION_IS_OFF	  1
#define STACKD_REGION_IS_ENTERED  2
#define STACKD_REGION_IS_GONE	  3
#define STACKD_REGION_TRIAL_NS	  250000000ull

#define STACKD_MOST_LIVE 262144u /* limit of the sampled blocks that are live at the same time */

/* Which threads' regions and waits are measured. */
enum stackd_scope {
	STACKD_SCOPE_ALL,
	STACKD_SCOPE_CGROUP,
	STACKD_SCOPE_PROCESSES, /* the recorded processes, and their later children */
};

#define STACKD_MAX_KERNEL_FRAMES 127
/* one sample of a thread in so many is an anchor: see segment.bpf.h */
#define STACKD_ANCHOR_EVERY 128
/* number of segments with known ends that pay for an anchor */
#define STACKD_ANCHOR_PRICE  8
#define STACKD_ANCHOR_CREDIT 64	 /* limit of such segments that are saved up */
#define STACKD_ANCHOR_ENDS   256 /* ends of segments that are remembered for each thread */
/* a return address of 0 ends the stack if it is at most so many bytes from the stack's end */
#define STACKD_STACK_BOTTOM    256
#define STACKD_MAX_STACK_BYTES (256 * 1024)
/* limit of the bytes that are sent of a stack beyond its record's copy */
#define STACKD_MORE_BYTES     (8 * 1024 * 1024)
#define STACKD_MORE_PART      (16 * 1024)   /* in one record */
#define STACKD_MORE_SLOTS     512u	    /* a power of two: slots for parts that are kept */
#define STACKD_MORE_KEPT_NS   3000000000ull /* since the last record with a part */
#define STACKD_MAX_MORE_HOLES ((STACKD_MAX_STACK_BYTES + STACKD_MORE_BYTES) / (64 * 4096) + 1)

/* Returns the slot in which a part of a thread's stack is kept. */
static __attribute__((always_inline)) inline __u32 stackd_more_slot(__u32 tid, __u64 start)
{
	__u64 key = (start / STACKD_MORE_PART ^ (__u64)tid << 32) * 0x9e3779b97f4a7c15ull;

	return (key >> 40) & (STACKD_MORE_SLOTS - 1);
}

/*
 * A file's table of rules (recipe): rows sorted by file offset, in chunks of 64 KiB of the file. A
 * chunk's first row always has low == 0, so a search never leaves its chunk. Rows refer to rules by
 * number; all files share the rules.
 */
struct stackd_row {
	__u16 low;  /* file offset & 0xffff from which the rule holds, up to the next row */
	__u16 rule; /* number */
};

#define STACKD_CHUNK_SHIFT 16

enum stackd_cfa {
	STACKD_CFA_NONE,   /* no unwind information covers this location */
	STACKD_CFA_END,	   /* the outermost frame: its return address is undefined */
	STACKD_CFA_DAEMON, /* this struct cannot express the rule, so the daemon walks */
	STACKD_CFA_REG,	   /* CFA = reg + cfa_offset */
	STACKD_CFA_DEREF,  /* CFA = *(reg + cfa_offset) + cfa_add (realigned stacks) */
	STACKD_CFA_PLT,	   /* CFA = sp + cfa_offset + ((pc & 15) >= cfa_add ? 8 : 0) */
	STACKD_CFA_SIGNAL, /* the kernel's signal frame: every register is in the sigcontext that
			    * begins at sp + cfa_offset (ARCH_SIGCONTEXT_REG) */
	STACKD_CFA_SWITCH, /* the caller is on another stack: the walk ends */
	STACKD_CFA_OTHER,  /* as REG, but the CFA may be on another stack, above or below */
	/* Go's runtime (bpf/runtime_go.bpf.h): */
	STACKD_CFA_SCHEDULER, /* as REG; the thread has given up its goroutine */
	STACKD_CFA_INJECTED,  /* as REG; the caller was interrupted, so it has not called */
	STACKD_CFA_GOROUTINE, /* CFA = where the thread's goroutine left its stack + cfa_add; if
			       * ra_offset is 0, its pc was saved there, too. cfa_offset: of g from
			       * the thread pointer; saved: of g.m, m.curg and g.sched. With another
			       * reg than sp: CFA = sp, pc = *(reg + cfa_offset), or reg if cfa_add;
			       * a return address if that is 2 */
	STACKD_CFA_DEPTH,     /* CFA = hi - depth + cfa_add: g = *(sp + cfa_offset),
			       * hi = *(g + saved[0]), depth = *(sp + saved[1]) */
	STACKD_CFA_CALLBACK,  /* CFA = where the thread left its system stack + cfa_add. cfa_offset:
			       * of g from the thread pointer; saved: of g.m, m.g0, g.sched, and,
			       * from the pointer of that stack, of where it left it before */
	STACKD_CFA_EVAL,      /* as REG; the function runs Python's bytecode (stackd_managed.h) */
	STACKD_CFA_EVAL_REGS, /* as REG; the function runs bytecode of Ruby, PHP or Perl, and its
			       * registers say where it is */
	STACKD_CFA_COPIED,    /* as REG, but the daemon walks: it reads which function of JavaScript
			       * this frame runs in the copy of the stack */
};

/* Members of `saved`, in the order of STACKD_SAVED_REGS; some kinds of rules have four numbers
 * there. */
#define STACKD_SAVED_ROOM 6

struct stackd_rule {
	__u8 cfa;	  /* enum stackd_cfa */
	__u8 reg;	  /* DWARF number of the CFA's register */
	__s16 cfa_add;	  /* see enum stackd_cfa, and STACKD_OF_CODE */
	__s32 cfa_offset; /* bytes */
	__s16 ra_offset;  /* the return address is at CFA + ra_offset; -8 in nearly all code. 0 on
			   * processors with ARCH_HAS_LINK: it is in that register */
	__s16 saved[STACKD_SAVED_ROOM]; /* slot of the caller's register, from the CFA; 0: it is
					 * unchanged */
	__u8 saved_reg; /* bits 0 to 3: DWARF number of the register that the bits below refer
			 * to; 4 to 7: see STACKD_KEPT */
	/* bit i: saved[i] is relative to saved_reg in this frame, not to the CFA; then 0 is a slot
	 * like any other. Realigned frames save the frame pointer where it points to, at no fixed
	 * distance from their CFA */
	__u8 saved_via_reg;
};

/* cfa_add of a rule of kind REG that was made from a file's instructions. */
#define STACKD_OF_CODE		1
#define STACKD_IS_OF_CODE(rule) ((rule)->cfa == STACKD_CFA_REG && (rule)->cfa_add)

/* The DWARF number, plus 1, of a caller-saved register that the rule's function preserves;
 * STACKD_KEPT_TWO: ARCH_KEPT_TWO_REGS; 0: none is known. A caller may have its CFA in that
 * register. Only the daemon's walk uses this; the kernel half ends at such a caller. */
#define STACKD_KEPT(rule)      ((rule)->saved_reg >> 4)
#define STACKD_KEPT_TWO	       15
#define STACKD_SAVED_REG(rule) ((rule)->saved_reg & 15)

/* A file's table, by file number. chunks[chunk_base + i] is the index, in the map `rows`, of the
 * first row of the chunk first_chunk + i. There are n_chunks of them, and one end entry. */
struct stackd_file {
	__u32 chunk_base;
	__u32 first_chunk;
	__u32 n_chunks;	   /* 0: it has no table (yet, any more, or at all) */
	__u16 first_slice; /* number of its first slice, for short frames; STACKD_SLICE_COUNT: it
			    * has none */
	__u16 n_slices;
	__u16 is_loaded;  /* it has no recipes (rules), and will have none; never set if n_chunks
			   * is not 0 */
	__u16 is_partial; /* its table lacks rules that will still come */
	__u32 uses;	  /* counted by the kernel half; the daemon evicts the tables that are
			   * used least */
};

/* How walks use the thread's previous walk (Perks et al., section 3: first and second match). */
enum stackd_prefix {
	STACKD_PREFIX_VERIFIED, /* every remembered return address rootwards of the match is
				 * compared */
	STACKD_PREFIX_SECOND,	/* two matches in a row are trusted, without a comparison */
	STACKD_PREFIX_FIRST,	/* the first match is trusted, without a comparison */
	STACKD_PREFIX_NONE,	/* nothing is remembered */
};

/* Stacks of up to STACKD_DEEP_MOST frames are walked to the end and remembered, STACKD_DEEP_NEW new
 * frames at a time (bpf/deep.bpf.h). The marks of a deep stack are in blocks, by place. */
#ifndef STACKD_DEEP_MOST
#define STACKD_DEEP_MOST   100000u
#define STACKD_DEEP_NEW	   24576u
#define STACKD_DEEP_PLACES 131072u /* a power of two, as is STACKD_DEEP_BLOCK */
#define STACKD_DEEP_BLOCK  256u
#endif
#define STACKD_DEEP_STACKS 8

#define STACKD_RULE_SETS 16384 /* sets of the cache of rules, for each CPU */

/* The numbers of rules that all tables have. Compiled rules follow. */
#define STACKD_RULE_NONE   0
#define STACKD_RULE_END	   1
#define STACKD_RULE_DAEMON 2

_Static_assert(sizeof(struct stackd_regs) == 8 * STACKD_REG_COUNT,
	       "stackd_regs is shared with the kernel half");
_Static_assert(sizeof(struct stackd_walked) == 16, "stackd_walked is shared");
_Static_assert(STACKD_END_COUNT <= 1 << STACKD_ROOT_SHIFT && !STACKD_END_ENTRY,
	       "stackd_walked.end holds both");
_Static_assert(sizeof(struct stackd_header) == 32, "stackd_header is shared");
_Static_assert(__builtin_offsetof(struct stackd_header, time_ns) == 8, "stackd_header layout");
_Static_assert(__builtin_offsetof(struct stackd_header, sequence) == 19, "stackd_header layout");
_Static_assert(sizeof(struct stackd_part) == 24, "stackd_part is shared");
_Static_assert(sizeof(struct stackd_inode) == 24, "stackd_inode is shared");
_Static_assert(sizeof(struct stackd_mapping) == 48, "stackd_mapping is shared");
_Static_assert(sizeof(struct stackd_stack_record) == 200 + sizeof(struct stackd_regs),
	       "stackd_stack_record is shared");
_Static_assert(sizeof(struct stackd_more_stack) == 72, "stackd_more_stack is shared");
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
_Static_assert(sizeof(struct stackd_rule) == 24 && STACKD_SAVED_COUNT <= STACKD_SAVED_ROOM,
	       "rules are shared with the kernel half, which has them at multiples of eight bytes");

#endif
