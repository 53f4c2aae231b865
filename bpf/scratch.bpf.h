/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The work area of a sample, one for each CPU, and the counters.
 *
 * The sampler runs only once at a time on a CPU (the kernel guards perf_event programs with
 * bpf_prog_active), so the area needs no lock. Regions have separate areas, which are taken and
 * given back (region.bpf.h). The map is an array indexed by CPU because a value of a per-CPU map
 * has at most 32 KiB. Variables that loops change are here rather than on the stack: the verifier
 * follows the values of stack variables through every iteration, but not those in maps.
 */
#ifndef SCRATCH_BPF_H
#define SCRATCH_BPF_H

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "kernel_types.h"
#include "stackd_abi.h"

#include "../arch/call_source.h"
#include "walk.h"

#ifndef MAX_FRAMES
#define MAX_FRAMES 2048 /* new frames in a record; deeper stacks take more (deep.bpf.h) */
#endif
#define MAX_BYTES (MAX_FRAMES * 12)
#ifndef MAX_MARKS
#define MAX_MARKS 1024 /* frames of a thread that are remembered, from the root on */
#endif
#define WINDOW_BYTES 65536
#define RUN_BYTES    2048
#define MAX_FIXES    8
#define CODE_MARKS   128 /* STACKD_MAX_CODE, as a power of two */
#define CODE_NOTED   256
#define CACHE_LINE   64
#define ALIGNED	     __attribute__((aligned(CACHE_LINE)))

#define MANAGED_WORDS 32 /* a power of two, for a code object and the start of a string */

/*
 * A remembered frame: the conditions under which it, and all frames below it, are the same in the
 * next sample (see prefix.bpf.h). For most frames the return address is the only one, so marks are
 * small, many to a cache line. Further conditions are in the frame's guard.
 */
struct mark {
	__u64 slot; /* address of the return address, and flags */
	__u64 ra;   /* the return address */
};

struct guard {
	__u64 reg_slot, reg_word; /* the register from which the CFA comes, if `slot` does not give
				   * it */
	__u64 word_slot, word;	  /* the slot from which the CFA was read, if any */
	__u32 origin;		  /* the frame that saved the register, from the root; MARK_LIVE:
				   * none */
	__u32 reg;		  /* number of the register; 0: none */
};

#define MARK_GUARDED (1ull << 63) /* the frame's guard must hold, too */
#define MARK_EXACT   (1ull << 62) /* a signal has interrupted at `ra`: it is no return address */
#define MARK_PLAIN   (1ull << 61) /* the usual CFA from the frame pointer: no guard */
#define MARK_MANAGED (1ull << 60) /* a managed frame (managed_code.bpf.h) */
#define MARK_FLAGS   (MARK_GUARDED | MARK_EXACT | MARK_PLAIN | MARK_MANAGED)
#define MARK_LIVE    0xffffffffu

/* A mapping that samples have met. */
struct seen_mapping {
	__u64 start;
	__u64 size;	/* 0: the entry is empty */
	__u64 location; /* of `start` */
	__u32 name;	/* hash of the mapping and its file: never 0 */
	__u16 first_slice,
		n_slices; /* of its file, as in struct stackd_file; 0: not looked up yet */
};

/* To what mappings belong: a process between two changes to its mappings. */
struct seen_space {
	__u64 space, stamp;
	__u32 next;
	__u32 pad;
};

#define SEEN_SPACES   8
#define SEEN_MAPPINGS 8 /* for each space */
#define SEEN_ALL      (SEEN_SPACES * SEEN_MAPPINGS)

/* A mapping that a walk's frames lie in: an address in it, and its name when that was looked up. */
struct touched_mapping {
	__u64 address;
	__u32 name;
	__u32 pad;
};

#define TOUCHED_MAPPINGS 16 /* of a remembered stack; a stack with more is not remembered */

/* A copy in progress, see copy_stack(). */
struct page_copy {
	__u64 from;
	__u32 at;	  /* offset in the payload */
	__u32 want;	  /* bytes */
	__u32 got;	  /* bytes */
	__u32 is_bounded; /* the stack's end is known */
};

/* The stack of this CPU's last STACK record, whose bytes the next record can leave out. */
struct previous_stack {
	__u64 end; /* address behind its last byte */
	__u32 tid;
	__u32 number; /* of the record */
	__u32 bytes;
	__u32 pad;
	__u8 data[STACKD_SHARED_BYTES]; /* its last `bytes` bytes */
};

struct scratch {
	struct walk walk; /* first: walk_read() gets from it to the rest */

	/* The window: a copy of the stack from window_base on, as far as the walk has needed it. */
	__u64 window_base;
	__u64 window_end; /* address where the stack ends; 0: not known */
	__u32 window_copied;
	__u32 window_plain; /* words at offsets below this can be read without a check */
	__u32 window_holes; /* a bit for each page that could not be read */
	__u32 window_first; /* bytes of the first copy */
	__u32 cpu;
	__u32 due; /* when the CPU's clock fires next, as samples in scope have noted
		    * (late.bpf.h) */

	/* The run: a copy of the stack around remembered frames beyond the window. */
	__u64 run_base;
	__u32 run_plain; /* words at offsets below this can be read */

	/* The walk. */
	__u64 stack_end; /* end of the stack that the leaf is on, wherever the window moves; 0:
			  * unknown */
	struct task_struct *task;
	__u64 css_set;	   /* of the thread */
	__u64 space;	   /* the process */
	__u64 stamp;	   /* of its mappings */
	__u64 zero;	   /* slot of the return address of 0 that ended the stack; 0: none did */
	__u64 location;	   /* of the frame, without the exact bit */
	__u64 slice;	   /* location at which the last frame's slice begins; ~0: none */
	__u32 n_new;	   /* new frames */
	__u32 kept;	   /* frames taken from the prefix */
	__u32 bytes;	   /* of the record's frames */
	__u32 walked_form; /* of the record */
	__u32 end;	   /* why the walk ended */
	__u32 most;	   /* frames for which the record and the parts before it have room */
	__u32 deep;	   /* index of the thread's deep stack, +1; 0: none (deep.bpf.h) */
	__u32 deep_left;   /* frames of it that may match, from the probe to its end */
	__u32 sent_frames; /* frames in the parts before */
	__u32 probe;	   /* next mark to compare with, numbered from the root; +1 */
	__u32 state;	   /* index of the thread's state; UINT32_MAX: none */
	__u32 check;	   /* verification: the current mark; +1 */
	__u32 check_from;
	__u32 broken_register; /* a register did not hold, whose slot depends on check_from */
	__u32 matched_before;  /* the previous frame matched: for PREFIX_SECOND */
	__u32 n_fixes;
	__u32 rule_hits, rule_misses;
	__u32 wanted_file;   /* a known file whose table is not loaded; 0: none */
	__u32 is_anchor;     /* walked to the entry although segments are captured */
	__u32 at_breakpoint; /* the thread is in the kernel, at a breakpoint that is not handled
			      * yet */
	__u32 busy;	     /* the area is taken, if it is one for regions or waits */
	__u32 is_sent;	     /* the record is in the ring */
	__u32 has_reading;   /* `reading` is to be sent before the record */
	__u32 is_at_entry;   /* the walk begins at a function's entry, with the registers from
			      * there */
	__u32 seen_first;    /* mapping look-up: first of the process's mappings in `seen`, */
	__u32 at;	     /* and the mapping that was met last */
	struct {
		__u32 mark, reg;
	} fixes[MAX_FIXES];

	struct stackd_rule switching; /* the rule of a step to another stack */

	/* The mapping look-up. */
	struct seen_space seen_spaces[SEEN_SPACES] ALIGNED;
	struct seen_mapping seen[SEEN_ALL] ALIGNED;
	__u32 n_touched; /* new frames' mappings; TOUCHED_MAPPINGS + 1: too many */
	__u32 touched_last;
	__u32 touched_hold; /* the remembered mappings are the current ones */
	struct touched_mapping touched[TOUCHED_MAPPINGS]; /* the mappings of new frames */
	struct stackd_mapping vma;			  /* key 0: no file */
	__u64 vma_pointer;
	__u32 vma_is_exec;
	__u64 tree_entry, node[32];    /* while the tree of mappings is searched */
	struct stackd_mapping unknown; /* a file that the daemon has to enter */
	struct page_copy copy;

	struct pt_regs saved; /* registers at the entry into the kernel: too large for the stack */
	__u64 signal_frame[ARCH_SIGNAL_WORDS]; /* the end of a signal frame's registers, if there is
						* one */

	/* A step out of an address that is no code (nowhere.bpf.h): the bytes before the return
	 * address, and the words below and at the stack pointer. */
	struct {
		__u8 code[CALL_SOURCE_ROOM];
		__u64 words[2];
	} nowhere;

	/* A step in code of the BEAM. */
	struct stackd_beam beam;
	__u64 beam_at, beam_word, beam_words[8];
	__u32 beam_blocks;  /* blocks of 64 bytes that this walk has read */
	__u8 beam_code[72]; /* 64 bytes of code, then zeros */
	__u64 beam_found;   /* the result of a search in these */
	__u32 beam_is_left; /* the function leaves its frame there */
	__u32 pad3;

	/* A search in the thread's list of probed returns (probed.bpf.h). */
	struct {
		__u64 entry, slot, ra, trampoline;
		__u64 start; /* start of a copy of the stack, at payload[at] */
		__u32 at, bytes;
	} returns;

	__u8 window[WINDOW_BYTES + 8] ALIGNED; /* aligned: copies to the start of a cache line are
						* faster */

	/* The kinds of record. */
	struct {
		struct stackd_tag_record record;
		__u64 kernel[STACKD_MAX_KERNEL_FRAMES];
	} tagged;
	struct {
		struct stackd_walked header;
		__u8 bytes[MAX_BYTES + STACKD_MAX_KERNEL_FRAMES * 8 + sizeof(struct stackd_part) +
			   16];
	} walked;
	struct stackd_stack_record record;
	/* directly behind it: */
	__u8 payload[STACKD_MAX_KERNEL_FRAMES * 8 + STACKD_MAX_STACK_BYTES + PAGE_SIZE];
	struct previous_stack previous;

	struct {
		struct stackd_branch_record record;
		struct stackd_branch entries[STACKD_MAX_BRANCHES];
	} branches;

	struct stackd_reading reading;

	__u64 more_from, more_end; /* address range that is still to be sent: more_stack.bpf.h */

	/* Deep stacks: places of marks, see deep.bpf.h. */
	struct stackd_part part;
	__u32 is_part_lost;
	__u32 deep_probe;		  /* the next mark to compare with */
	__u32 deep_check;		  /* verification: the current mark, */
	__u32 deep_to_do;		  /* and the number of marks from it on */
	__u32 deep_matched;		  /* the mark that the walk has met */
	__u32 deep_count;		  /* marks to verify, from that one on */
	__u32 deep_place;		  /* place of the frame with number 0 */
	__u32 deep_joined;		  /* number of the first frame beyond the open end */
	__u32 deep_from, deep_to, deep_n; /* a copy in progress */
	__u32 deep_action;		  /* how the walk is remembered */
	__u32 deep_run_plain;
	__u64 deep_plain; /* slot of the previous frame, if that is plain */
	__u64 deep_run_base;

	/* Code that the process has made (jit_code.bpf.h). */
	struct {
		struct stackd_code_record record;
		struct stackd_code_mark marks[CODE_MARKS];
		struct stackd_jit_ranges made; /* the ranges of JIT code, */
		__u64 here, here_size;	       /* and the mapping with such code in which the walk
						* has ended */
		__u32 noted[CODE_NOTED];       /* blocks that were noted, by hash */
		__u64 from;
		struct stackd_code_bytes bytes; /* around one address */
		__u32 at;			/* offset of the stack in the payload */
		__u32 holes;
		__u32 sent; /* CODE_BYTES records with this sample */
	} code;

	/* Frames of managed functions (managed.bpf.h). */
	struct {
		struct stackd_interpreter is;
		__u32 file, pad;	    /* number of the file that `is` is of; 0: none */
		__u64 thread, interpreter;  /* addresses: in a search, the next ones */
		__u64 cframe, previous;	    /* of the next activation, and the one before it */
		__u64 frame, owned;	    /* the next one; and the C stack's, after the last */
		__u64 words[MANAGED_WORDS]; /* of what was read last */
		__u64 text[MANAGED_WORDS];
		__u32 count;			   /* frames of the walk */
		__u32 is_whole;			   /* the activation's first frame was met, */
		__u32 may_match;		   /* or a remembered one; */
		__u32 has_matched;		   /* all is as it was from that one on */
		__u32 no_match;			   /* it is not, or is not looked for */
		__u32 bytes_before, frames_before; /* the activation's managed frames */
		__u64 new_code, new_hash; /* a code object whose names are to be sent; 0: none */
		__u32 is_restless;	  /* the process is, as it was asked at this time: */
		__u64 asked;
		__u64 low, pc;		/* of the activation's native frame */
		__u64 run_of, run_base; /* the sample that the run is of; and its address */
		__u8 run[2048 + 8];
		struct stackd_managed_record record;
	} managed;

	__u8 run[RUN_BYTES + 8] ALIGNED; /* not last: the verifier assumes reads beyond its end */

	/* Marks and guards of new frames, leaf first. */
	struct mark marks[MAX_FRAMES] ALIGNED;
	struct guard guards[MAX_FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);		   /* one for each CPU, and more: set by the daemon */
	__uint(map_flags, BPF_F_MMAPABLE); /* so it starts with a page */
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stackd_counters);
} counters SEC(".maps");

/* A constant that the daemon sets before the program is loaded. The unit tests, which compile these
 * headers for user space, define this macro and the next in another way. */
#ifndef SETTING
#define SETTING const volatile
#endif

/* An index after its check, in a form that the verifier can follow: compilers may compute the
 * address first and check later. `limit` must be a power of two. */
#ifndef BOUNDED
#define BOUNDED(index, limit)                                                                      \
	({                                                                                         \
		__u64 bounded_ = (index);                                                          \
		asm volatile("%0 &= %1" : "+r"(bounded_) : "i"(-1 + (limit)));                     \
		bounded_;                                                                          \
	})
#endif

/* A variable as it is in memory, where the verifier knows nothing of its value. If copies in
 * registers differ in what the verifier has learned about them, it takes the states for different
 * ones, and follows each of them through all that comes. */
#define AS_STORED(variable) (*(volatile typeof(variable) *)&(variable))

/* Moves the code behind the condition off the common path. */
#define RARELY(condition) __builtin_expect(!!(condition), 0)

/* Returns the index of a new frame's mark; the last MAX_FRAMES marks are kept. */
#ifndef RECENT
#define RECENT(frame) BOUNDED(frame, MAX_FRAMES)
#endif

/*
 * Makes the compiler forget what it knows of a value. It omits a comparison whose result it can
 * determine; if the verifier cannot determine the result, it misses a bound then. One case is a
 * loop's counter with two bounds, a constant and a variable: clang 23 counts from 0 down to minus
 * the lesser bound, and before 6.13 the verifier does not know the bound of the negated value.
 */
#define FORGET(value) asm volatile("" : "+r"(value))

/*
 * A pointer that may be NULL (from a look-up, or passed to a global function), in a form that
 * exists only after the comparison with NULL. The verifier allows no addition to such a pointer
 * before that comparison. But to the compiler, NULL + 320 is as good as any other unused value, so
 * it may compute the address of a member first, once for a whole loop, and compare later: clang 19
 * does. Here it cannot, since it does not know the result of the empty asm, and may not move that
 * above the comparison. The last line of the macro saves a second comparison.
 */
#define CHECKED(pointer)                                                                           \
	({                                                                                         \
		__typeof__(pointer) checked_ = (pointer);                                          \
		if (checked_) {                                                                    \
			FORGET(checked_);                                                          \
			if (!checked_)                                                             \
				__builtin_unreachable();                                           \
		}                                                                                  \
		checked_;                                                                          \
	})

static __always_inline void count(__u32 counter)
{
	__u32 here = 0;
	struct stackd_counters *counted = CHECKED(bpf_map_lookup_elem(&counters, &here));

	if (counted)
		counted->n[counter]++;
}

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stackd_region_counters);
} region_counters SEC(".maps");

/* Counts by one instruction, since another thread can use the CPU in between. */
static __always_inline void count_region_by(__u32 counter, __u64 n)
{
	__u32 here = 0;
	struct stackd_region_counters *counted =
		CHECKED(bpf_map_lookup_elem(&region_counters, &here));

	if (counted)
		__sync_fetch_and_add(&counted->n[counter], n);
}

static __always_inline void count_region(__u32 counter)
{
	count_region_by(counter, 1);
}

/* Stores four bytes at any address: BPF allows this, but the compiler assumes that it does not. */
#ifndef PUT_WORD
#define PUT_WORD(to, word)                                                                         \
	asm volatile("*(u32 *)(%0 + 0) = %1" : : "r"(to), "r"((__u64)(word)) : "memory")
#endif

/* Copies a measurement to any address. The compiler's copy would load all bytes before it stores
 * them, and need more of the program's stack than the walk leaves. */
static __always_inline void put_event(__u8 *to, const union stackd_measurement *event)
{
	const __u32 *words = (const __u32 *)event;

	for (__u32 i = 0; i < sizeof(*event) / 4; i++)
		PUT_WORD(to + 4 * i, words[i]);
}

/* Stores the low `count` bytes of a number, without alignment. */
static __always_inline void put_bytes(__u8 *to, __u64 value, int count)
{
	for (int i = 0; i < count; i++)
		to[i] = value >> (8 * i);
}

#endif
