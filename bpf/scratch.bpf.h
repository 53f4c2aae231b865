/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The work area of a sample, one for each CPU, and the counters.
 *
 * The sampler runs only once at a time on a CPU (the kernel guards perf_event programs with
 * bpf_prog_active), so the area needs no lock. Regions have separate areas, which are taken and
 * given back (region.bpf.h). The map is an array indexed by CPU because a value of a per-CPU map
 * has at most 32 KiB. Variables that loops change are here rather than on the stack, since the BPF
 * verifier follows the values of stack variables through every iteration, but not those in maps.
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

/* stack_window.bpf.h; the struct scratch is that of which the walk is the first member */
struct scratch;
int restore_others(struct scratch *given, const struct stackd_rule *given_rule, __u64 cfa,
		   __u64 reg, __u64 has_reg);
#define WALK_SAVED_OTHERS(w, rule, base)                                                           \
	restore_others((struct scratch *)(w), rule, (base).cfa, (base).reg, (base).has_reg)

#include "walk.h"

#ifndef MAX_FRAMES
/* new frames in a record; deeper stacks take several records (deep.bpf.h) */
#define MAX_FRAMES 2048
#endif
#define MAX_BYTES (MAX_FRAMES * 12)
#ifndef MAX_MARKS
/* limit of the frames of a thread that are remembered, from the root on */
#define MAX_MARKS 1024
#endif
#define WINDOW_BYTES 65536
#define RUN_BYTES    2048
#define MAX_FIXES    8
#define CODE_MARKS   128 /* STACKD_MAX_CODE, rounded up to a power of two */
#define CODE_NOTED   256
#define CACHE_LINE   64
#define ALIGNED	     __attribute__((aligned(CACHE_LINE)))

#define MANAGED_WORDS 64 /* a power of two, for a code object, or a thread's state */
/* Room for managed frames next to each other, and behind it for one that is elsewhere; a power of
 * two. */
#define MANAGED_RUN 4096

/*
 * A mark, which is a remembered frame: the conditions under which the frame, and all frames
 * rootwards of it, are the same in the next sample (prefix.bpf.h). For most frames the return
 * address is the only condition, so marks are small, and a cache line has many. Further conditions
 * are in the frame's guard.
 */
struct mark {
	__u64 slot; /* address of the return address, and flags */
	__u64 ra;   /* the return address */
};

struct guard {
	__u64 reg_slot, reg_word; /* slot in which the register was saved from which the CFA
				   * comes, and its value; used if `slot` does not give the CFA */
	__u64 word_slot, word;	  /* slot from which the CFA was read, and its value; 0: none */
	__u32 origin;		  /* number of the frame that saved the register, counted from
				   * the root; MARK_LIVE: none */
	__u32 reg;		  /* number of the register; 0: none */
};

#define MARK_GUARDED (1ull << 63) /* the frame's guard must hold, too */
/* a signal has interrupted the frame at `ra`, which is no return address */
#define MARK_EXACT (1ull << 62)
/* the CFA comes from the frame pointer in the usual way, so no guard is needed */
#define MARK_PLAIN   (1ull << 61)
#define MARK_MANAGED (1ull << 60) /* a managed frame (managed_code.bpf.h) */
#define MARK_FLAGS   (MARK_GUARDED | MARK_EXACT | MARK_PLAIN | MARK_MANAGED)
#define MARK_LIVE    0xffffffffu

/* A mapping that was looked up for a sample. */
struct seen_mapping {
	__u64 start;
	__u64 size;	/* 0: the entry is empty */
	__u64 location; /* of `start` */
	__u32 name;	/* hash of the mapping and its file, never 0 */
	__u16 first_slice,
		n_slices; /* of its file, as in struct stackd_file; 0: not looked up yet */
};

/* The owner of cached mappings: a process between two changes to its mappings. */
struct seen_space {
	__u64 space, stamp;
	__u32 next;
	__u32 pad;
};

#define SEEN_SPACES   8
#define SEEN_MAPPINGS 8 /* for each space */
#define SEEN_ALL      (SEEN_SPACES * SEEN_MAPPINGS)

/* A mapping that contains frames of a walk: an address in it, and the name that it had when it was
 * looked up. */
struct touched_mapping {
	__u64 address;
	__u32 name;
	__u32 pad;
};

/* limit of the mappings of a remembered stack; a stack with frames in more is not remembered */
#define TOUCHED_MAPPINGS 16

/* A copy in progress; see copy_stack(). */
struct page_copy {
	__u64 from;
	__u32 at;	  /* offset of the copy in the payload */
	__u32 want;	  /* bytes */
	__u32 got;	  /* bytes */
	__u32 is_bounded; /* the stack's end is known, so pages that cannot be read are holes */
};

/* The stack of this CPU's last STACK record, whose bytes the next record can leave out. */
struct previous_stack {
	__u64 end; /* address of the byte behind its last */
	__u32 tid;
	__u32 number; /* of the record */
	__u32 bytes;
	__u32 pad;
	__u8 data[STACKD_SHARED_BYTES]; /* its last `bytes` bytes */
};

/* s->walk.managed */
enum managed_state {
	MANAGED_NOT_MET, /* the walk has met no activation yet */
	MANAGED_GOES_ON,
	MANAGED_UNLINKED,   /* the innermost activation does not yet lead to the one before */
	MANAGED_ENDED,	    /* no more managed frames are added */
	MANAGED_NOT_PROVEN, /* all managed frames of the walk are unproven */
	MANAGED_RUBY,	    /* as GOES_ON, with frames of Ruby's functions */
	MANAGED_PHP,	    /* or of PHP's */
	MANAGED_PERL,	    /* or of Perl's */
};

/* enum stackd_root in scratch.end */
#define ROOT_BITS(root) ((root) << STACKD_ROOT_SHIFT)

/* Returns whether a walk has ended at an entry. */
#define IS_WHOLE(end) (!((end) & ((1 << STACKD_ROOT_SHIFT) - 1)))

/* Where a managed frame has its code object, the frame before, and its instruction. */
enum managed_layout {
	MANAGED_ELSEWHERE,
	MANAGED_AS_3_11, /* at 32, 48 and 56 */
	MANAGED_AS_3_12, /* from 3.12 on: at 0, 8 and 56 */
};

struct scratch {
	struct walk walk; /* first, since walk_read() converts its address to that of the struct
			   * scratch */

	/* The window: a copy of the stack from window_base on, as large as the walk has needed. */
	__u64 window_base;
	__u64 window_end; /* address at which the stack ends; 0: not known */
	__u32 window_copied;
	__u32 window_plain; /* words at offsets below this can be read without a check */
	__u32 window_holes; /* a bit for each page of the window that could not be read */
	__u32 window_first; /* bytes of the first copy */
	__u32 cpu;
	__u32 due; /* lowest 32 bits of the time at which the CPU's clock fires next, by the
		    * samples in scope (late.bpf.h) */

	/* The run: a copy of the stack around remembered frames beyond the window
	 * (prefix_words.bpf.h). */
	__u64 run_base;
	__u32 run_plain; /* words at offsets below this can be read */

	/* The walk. */
	__u64 stack_end; /* end of the stack on which the leaf is, wherever the window moves; 0:
			  * not known */
	struct task_struct *task;
	__u64 css_set;	   /* of the thread */
	__u64 space;	   /* the process */
	__u64 stamp;	   /* of its mappings */
	__u64 zero;	   /* slot of the return address of 0 that ended the stack; 0: none did */
	__u64 location;	   /* of the present frame, without STACKD_LOCATION_EXACT */
	__u64 slice;	   /* the slice of the last frame in the record (stackd_abi.h); ~0: none */
	__u32 n_new;	   /* new frames */
	__u32 kept;	   /* frames taken from the remembered stack */
	__u32 bytes;	   /* bytes of the record's frames so far */
	__u32 walked_form; /* of the record */
	__u32 end;	   /* why the walk ended; and, if at an entry, ROOT_BITS */
	__u32 kept_end;	   /* the same of the remembered walk, for this leaf */
	__u32 most;	   /* number of frames for which this record and the parts before it have
			    * room */
	__u32 deep;	   /* index of the thread's deep stack, +1; 0: none (deep.bpf.h) */
	__u32 deep_left;   /* frames of the deep stack that may match, from the probe to its end */
	__u32 sent_frames; /* number of frames in the parts before */
	__u32 probe;	   /* number of the next mark to compare the walk's frame with, counted
			    * from the root; +1 */
	__u32 state;	   /* index of the thread's state; UINT32_MAX: none */
	__u32 check;	   /* number of the mark that is being compared with memory; +1 */
	__u32 check_from;
	__u32 broken_register; /* a mark does not hold because of a register whose slot depends
				* on check_from */
	__u32 matched_before;  /* the frame before has matched; for STACKD_PREFIX_SECOND */
	__u32 n_fixes;
	__u32 rule_hits, rule_misses;
	__u32 wanted_file;   /* number of a known file whose table is not loaded; 0: none */
	__u32 is_anchor;     /* this sample is walked to the entry although segments are captured
			      * (segment.bpf.h) */
	__u32 at_breakpoint; /* the thread is in the kernel, at a breakpoint that was not handled
			      * yet */
	__u32 call_bytes;    /* stand_at_call() has taken them off the program counter */
	__u32 busy;	     /* the area is in use, if it is for regions or waits */
	__u32 is_sent;	     /* the record is in the ring buffer */
	__u32 has_reading;   /* `reading` is to be sent before the record */
	__u32 is_at_entry;   /* the walk begins at a function's entry, with the registers from
			      * the entry */
	__u32 seen_first;    /* look-up of mappings: index of the first of the process's mappings
			      * in `seen`, */
	__u32 at;	     /* and of the mapping that was found last */
	struct {
		__u32 mark, reg;
	} fixes[MAX_FIXES];

	/* The end of the leaf's stack (stack_root.bpf.h): the slot of the first frame on another
	 * one; whether a signal has led there. */
	struct {
		__u64 slot;
		__u64 signal;
		__u32 n_words, is_copied; /* a search in a copy of the stack */
	} leaving;

	struct stackd_rule switching; /* the rule by which the walk steps to another stack */

	/* The look-up of mappings. */
	struct seen_space seen_spaces[SEEN_SPACES] ALIGNED;
	struct seen_mapping seen[SEEN_ALL] ALIGNED;
	__u32 n_touched; /* number of mappings with new frames; TOUCHED_MAPPINGS + 1: too many */
	__u32 touched_last;
	__u32 touched_hold; /* the mappings of the remembered frames were compared, and are
			     * unchanged */
	struct touched_mapping touched[TOUCHED_MAPPINGS]; /* the mappings that contain new frames */
	struct stackd_mapping vma;			  /* key 0: no file */
	__u64 vma_pointer;
	__u32 vma_is_exec;
	__u64 tree_entry, node[32];    /* used while the tree of mappings is searched */
	struct stackd_mapping unknown; /* a file that the daemon has to enter */
	struct page_copy copy;

	struct pt_regs saved; /* user registers at the entry into the kernel, here since they are
			       * too large for the stack */
	__u64 signal_frame[ARCH_SIGNAL_WORDS]; /* some words of a signal frame
						* (torn_registers.bpf.h) */

	/* A step out of an address that is no code (nowhere.bpf.h): the bytes before the return
	 * address, and the words below and at the stack pointer. */
	struct {
		__u8 code[CALL_SOURCE_ROOM];
		__u64 words[2];
		__u64 target;	  /* of a direct call */
		__u64 refused_ns; /* time of the record whose walk has no such step */
	} nowhere;

	/* Variables of a step in code of the BEAM (runtime_beam.bpf.h). */
	struct stackd_beam beam;
	__u64 beam_at, beam_word, beam_words[8];
	__u32 beam_blocks;  /* blocks of 64 bytes that this walk has read */
	__u8 beam_code[72]; /* 64 bytes of code, then zeros */
	__u64 beam_found;   /* the result of a search in beam_code */
	__u32 beam_is_left; /* the code shows that the function leaves its frame there */
	__u32 pad3;

	/* Variables of a search in the thread's list of probed returns (probed.bpf.h). */
	struct {
		__u64 entry, slot, ra, trampoline;
		__u64 start; /* address of the first byte of a copy of the stack, which is at
			      * payload[at] */
		__u32 at, bytes;
	} returns;

	/* Frames of managed functions (managed.bpf.h). They are before the window, since a member
	 * at an offset of less than 32 KiB is read by one instruction, and any other by three. */
	struct {
		struct stackd_interpreter is;
		__u32 file;		    /* number of the file that `is` is of; 0: none */
		enum managed_layout layout; /* of its frames */
		__u64 thread, interpreter;  /* addresses: in a search, the next ones */
		__u64 cframe, previous;	    /* addresses of the next activation, and of the one
					     * before it */
		__u64 own_cframe;	    /* of the activation whose frames are read */
		__u64 frame_before, cframe_before; /* what they were, in a search for another
						    * interpreter */
		__u64 frame, owned;	    /* the next frame, and the C stack's after the last */
		__u64 words[MANAGED_WORDS]; /* of what was read last */
		__u64 text[MANAGED_WORDS];
		__u32 count;			   /* frames of the walk */
		__u32 is_whole;			   /* the activation's first frame was met */
		__u32 may_match;		   /* a remembered frame was met */
		__u32 has_matched;		   /* everything from that frame on is unchanged */
		__u32 no_match;			   /* it is not unchanged, or is not looked for */
		__u32 why;			   /* the counter of an activation that is not
						    * exact; 0: it is */
		__u32 bytes_before, frames_before; /* the activation's managed frames */
		__u64 new_code, new_hash; /* a code object whose names are to be sent; 0: none */
		__u64 version;		  /* of the last code object << 32; 0: it has none */
		__u32 count_before;
		__u32 trusts_words;	   /* managed_code() need not compare contents, if there are
					    * versions */
		__u32 wants_all, n_states; /* a search is for all states of the thread, and has
					    * found so many */
		__u32 sent;		   /* code objects of the walk whose names had to be sent */
		__u32 is_restless;	   /* whether the process is restless, as it was found at
					    * the time `asked` */
		__u64 asked;
		__u64 file_of, file_text, file_hash; /* of the walk at that time, the last name of
						      * a source file: its address, and hash */
		__u64 last_of, last_code; /* of the walk at that time, the last code object */
		__u32 last_number, pad3;
		__u64 low, cfa, pc;	/* of the activation's native frame */
		__u64 base;		/* address of the interpreter's file: that of its
					 * offset 0, as its code is mapped */
		__u32 dropped, resumed; /* frames of the activation that were dropped; activations
					 * that are not proven, and have not ended the frames */
		__u64 distance, distance_of; /* from the last proven activation's cframe to its
					      * CFA, in the walk at that time */
		__u64 run_of, run_base;	     /* the sample to which the run belongs, and the run's
					      * address */
		__u64 run_plain;	     /* bytes at whose addresses a frame can begin */
		__u64 single_of, single;     /* the same for the frame that is elsewhere */
		__u64 run_at;		     /* where in managed_run the frame is that was read
					      * last */
		__u64 interpreter_of_thread; /* address of the interpreter of the thread's state
					      * that was read last */
		__u64 chunk;		     /* address of the memory of its last frames */
		__u64 epoch_of, epoch_at;    /* the sample of which `epoch` is, and the counter's
					      * address; 0: it was not read */
		__u32 epoch;		     /* 0: not known */
		__u32 is_calm;		     /* no code object was made since the last walk */
		__u64 chained;		     /* where the frame leads that was compared last;
					      * 0: none was */
		__u64 version_at;	     /* address of the next frame's version; 0: none */
		__u64 object_code;	     /* of the frame that was read last, if that is an
					      * object: the address of its code object */
		__u64 content;		     /* a hash of that one's content */
		__u32 expects;		     /* `frame` is the next activation's last one */
		__u32 may_part;		     /* frames may go into several parts of a record */
		__u32 steps;		     /* of the chain that is followed, */
		__u32 compared_until;	     /* and the one at which `compared_with` changes */
		__u64 compared_with; /* the frame with which it is compared, to find a circle */
		__u32 is_for_daemon; /* what is read is for a stack that the daemon will walk */
		__u32 by_content;    /* the mark that was compared last is of a frame without a
				      * version */
		struct {	     /* managed_regs.bpf.h: of the activation's native frame */
			__u64 sp;
			__u64 r[STACKD_SAVED_COUNT]; /* 0: not known */
			__u64 frame, instruction;    /* two of these (stackd_managed.h) */
		} regs;
		struct { /* of the function that was read last, by managed_ruby.bpf.h,
			  * managed_php.bpf.h and managed_perl.bpf.h */
			__u64 file, label; /* addresses of its names */
			__u32 first_line, line;
		} function;
		struct {		  /* managed_ruby.bpf.h */
			__u64 start, end; /* of the thread's, or fiber's, array */
			__u64 cfp;	  /* address of the next control frame */
			__u32 has_finished, pad;
		} ruby;
		struct {		   /* managed_php.bpf.h */
			__u64 globals;	   /* address of executor_globals */
			__u64 next;	   /* of the next frame of the thread's chain */
			__u64 left;	   /* of the caller of the activation's frame; 0: none */
			__u64 opline;	   /* of the frame that was read last: its instruction, */
			__u64 func;	   /* function, */
			__u64 before;	   /* and the frame before it */
			__u64 class_name;  /* of the function that was read last; 0: none */
			__u32 is_top;	   /* it is the first of its activation */
			__u32 state;	   /* enum php_state */
			__u32 has_unbegun; /* a function that has not begun was passed */
			__u32 pad;
		} php;
		struct {	      /* managed_perl.bpf.h */
			__u64 self;   /* address of the interpreter's state */
			__u64 op;     /* of the operation that its next activation runs */
			__u64 cop;    /* where the next function is: its last statement */
			__u64 saves;  /* the stack of saved values */
			__u64 stack;  /* the next stack of contexts: its array, */
			__u64 before; /* and the stack before it */
			__s32 next;   /* index of its next context */
			__u32 kind;   /* of values that it is for */
			__u64 cv, oldcop, retop; /* of the context that was read last */
			__u64 label;		 /* likewise: a name in place of a function's */
			__u64 package;		 /* of the function that was read last; 0: none */
			__u32 site;		 /* enum stackd_perl_site of the activation */
			__u32 owed_site;
			__u64 owed_of;	   /* in the walk at this time, the first context is of
					    * an activation that was left out */
			__u32 first;	   /* enum perl_first of that context */
			__u32 saved;	   /* how many values had been saved at it */
			__u32 is_hidden;   /* contexts are passed, and not shown */
			__u32 is_top;	   /* no function was read yet */
			__u32 found;	   /* functions that were read, or passed */
			__u32 is_over;	   /* what the activation ran has ended */
			__u32 type;	   /* of the function's value */
			__u32 is_op_known; /* `op` is known; then 0 says that none runs */
			__u32 peeked;	   /* enum perl_kind of what is next */
			__u32 n_read;	   /* contexts that were read, or read again */
		} perl;
	} managed;

	__u8 window[WINDOW_BYTES + 8] ALIGNED; /* aligned, since copies to the start of a cache
						* line are faster */

	/* The records of each kind. */
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

	/* The stack beyond the record's copy (more_stack.bpf.h). */
	__u64 more_from, more_end; /* range of addresses that is still to be sent */
	__u64 more_hash[4];	   /* of every fourth word of a part */
	__u32 copy_limit;	   /* most bytes of the record's copy */
	__u32 pad4;

	/* Deep stacks (deep.bpf.h); a place is the number of a mark in the ring. */
	struct stackd_part part;
	__u32 is_part_lost;
	__u32 deep_probe;		  /* place of the next mark to compare the walk's frame
					   * with */
	__u32 deep_check;		  /* place of the mark that is being compared with
					   * memory, */
	__u32 deep_to_do;		  /* and the number of marks from it on */
	__u32 deep_matched;		  /* place of the mark that the walk has met */
	__u32 deep_count;		  /* number of marks to compare with memory, from that
					   * mark on */
	__u32 deep_place;		  /* place of the walk's frame 0 */
	__u32 deep_joined;		  /* number of the first frame that was walked beyond the
					   * end of the open chain */
	__u32 deep_from, deep_to, deep_n; /* a copy in progress */
	__u32 deep_action;		  /* enum deep_action: how the walk is to be remembered */
	__u32 deep_run_plain;
	__u64 deep_plain; /* slot of the frame before, if its mark is plain; else 0 */
	__u64 deep_run_base;

	/* Code that the process has made at run time (jit_code.bpf.h). */
	struct {
		struct stackd_code_record record;
		struct stackd_code_mark marks[CODE_MARKS];
		struct stackd_jit_ranges made; /* the ranges of JIT code, */
		__u64 here, here_size;	       /* and the mapping with such code in which the walk
						* has ended */
		__u32 noted[CODE_NOTED];       /* numbers of the blocks that were noted, at a
						* hash of each */
		__u64 from;
		struct stackd_code_bytes bytes; /* around one address */
		__u32 at;			/* offset of the stack in the payload */
		__u32 holes;
		__u32 sent; /* number of CODE_BYTES records that were sent with this sample */
	} code;

	/* Copies of managed frames, and what is sent of a code object (managed.bpf.h). */
	__u8 managed_run[2 * MANAGED_RUN + 8];
	struct stackd_managed_record managed_record;

	__u8 run[RUN_BYTES + 8] ALIGNED; /* not the last member, since the verifier assumes that
					  * reads can go beyond its end */

	/* Marks and guards of new frames, leaf first. */
	struct mark marks[MAX_FRAMES] ALIGNED;
	struct guard guards[MAX_FRAMES];

	struct {
		struct stackd_chain_record record;
		__u64 words[STACKD_CHAIN_WORDS];
	} chain; /* managed_chain.bpf.h */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);		   /* one for each CPU, and those for regions: set by the
					    * daemon */
	__uint(map_flags, BPF_F_MMAPABLE); /* for this flag the kernel aligns it to a page */
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
 * headers for user space, define this macro and BOUNDED() in another way. */
#ifndef SETTING
#define SETTING const volatile
#endif

/* An index after its check, in a form that the BPF verifier can follow, since compilers may compute
 * the address first and check the index later. `limit` must be a power of two. */
#ifndef BOUNDED
#define BOUNDED(index, limit)                                                                      \
	({                                                                                         \
		__u64 bounded_ = (index);                                                          \
		asm volatile("%0 &= %1" : "+r"(bounded_) : "i"(-1 + (limit)));                     \
		bounded_;                                                                          \
	})
#endif

/* Reads a variable from memory, so that the BPF verifier knows nothing of its value. If the
 * verifier has learned different things about copies in registers, it takes the states as
 * different, and follows each of them through all later code. */
#define AS_STORED(variable) (*(volatile typeof(variable) *)&(variable))

/* Tells the compiler to move the code behind the condition off the common path. */
#define RARELY(condition) __builtin_expect(!!(condition), 0)

/* Returns the index of a new frame's mark. Only the last MAX_FRAMES marks are kept. */
#ifndef RECENT
#define RECENT(frame) BOUNDED(frame, MAX_FRAMES)
#endif

/*
 * Makes the compiler forget what it knows of a value. A compiler omits a comparison whose result it
 * can determine; if the BPF verifier cannot determine that result, it then lacks a bound. One case
 * is a loop's counter with two bounds, a constant and a variable: clang 23 counts from 0 down to
 * minus the lesser bound, and before 6.13 the verifier does not know the bound of the negated
 * value.
 */
#define FORGET(value) asm volatile("" : "+r"(value))

/*
 * A pointer that may be NULL (from a look-up, or passed to a global function), in a form that
 * exists only after the comparison with NULL. The verifier allows no addition to such a pointer
 * before that comparison. But a compiler may compute the address of a member first, once for a
 * whole loop, and compare later, since NULL + 320 does no harm if it is not used; clang 19 does so.
 * Here it cannot, since it does not know the result of the empty asm statement, and may not move
 * that statement above the comparison. The last line of the macro saves a second comparison.
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

/* Counts by one atomic instruction, since another thread can use the CPU in between. */
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

/* Stores four bytes at any address. BPF allows this, but the compiler assumes that it does not. */
#ifndef PUT_WORD
#define PUT_WORD(to, word)                                                                         \
	asm volatile("*(u32 *)(%0 + 0) = %1" : : "r"(to), "r"((__u64)(word)) : "memory")
#endif

/* Copies a measurement to any address. The compiler's own copy would load all bytes before it
 * stores them, and need more of the program's stack than the walk leaves. */
static __always_inline void put_event(__u8 *to, const union stackd_measurement *event)
{
	const __u32 *words = (const __u32 *)event;

	for (__u32 i = 0; i < sizeof(*event) / 4; i++)
		PUT_WORD(to + 4 * i, words[i]);
}

/* Stores the lowest `count` bytes of a number at any address. */
static __always_inline void put_bytes(__u8 *to, __u64 value, int count)
{
	for (int i = 0; i < count; i++)
		to[i] = value >> (8 * i);
}

#endif
