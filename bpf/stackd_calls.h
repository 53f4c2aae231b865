/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The table of a thread whose calls of MPI, and passes through regions that its program names,
 * libstackmpi counts (docs/REGIONS.md): a part of
 * stackd_abi.h, which includes it. It is a map of one element, which the library, the daemon and
 * the kernel half share:
 *
 *   library       finds the path of a call, and adds the call to that path's sums
 *   kernel half   walks the stack for a call whose path the library does not have, sends the path,
 *                 and writes the words by which the library will know it again
 *   daemon        makes the table, reads the sums, and keeps the table until the thread has ended,
 *                 however that ends
 *
 * The program can write to all of it. So the other two take it for numbers that may be wrong: an
 * index is bounded where it is used, and the daemon bounds what it adds up. From `tid` and `pid`
 * follows how long the table stays: a program that writes there can lose its table early, to
 * another thread of its user, or keep it until the end.
 */
#ifndef STACKD_CALLS_H
#define STACKD_CALLS_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define STACKD_CALLS_VERSION 3

#define STACKD_CALL_TABLES 512u	 /* threads whose calls are counted at the same time */
#define STACKD_CALL_PATHS  512u	 /* paths of a thread that are known again; a power of two */
#define STACKD_CALL_WORDS  8192u /* the words of all of them; a power of two */
#define STACKD_CALL_OPEN   64u	 /* named regions in which a thread is at the same time */
#define STACKD_CALL_WAITS  512u	 /* requests that one call completes */

/* A word of the stack, and its address. */
struct stackd_call_word {
	__u64 slot, word;
};

/* A path: the calls of one function, with the same words on the stack. */
struct stackd_call_path {
	/* Written by the kernel half: if all of its words hold, the stack has this path. They are
	 * in the order from the leaf to the root, so each is in the stack if those before it hold.
	 */
	__u32 first, count; /* in stackd_calls.words */
	__u32 generation;   /* the path is that of this stackd_calls.generation; 0: of none */
	__u32 has_fp;	    /* the frame pointer at the call must be: */
	__u64 fp;
	/* The time of the record from which the daemon has the path: the last one with this index
	 * before the library took it. Those before may have been of other paths; those after are
	 * of this one. */
	__u64 walked_ns;

	/* Written by the library: */
	__u64 caller, slot; /* the call's return address, and where it is */
	__u32 function;	    /* the library's number of the called function */
	__u32 epoch;	    /* the last unloading that it has seen */
	__u32 next;	    /* index + 1 of the next path with this hash; 0: none */
	__u32 pad;

	/* The sums over the calls; bytes as in struct stackd_pass. */
	__u64 visits, wall_ns, cpu_ns;
	__u64 sent, received, written, read;
	__u64 at_most; /* the part of `received` and `read` that is the size of buffers */
	__u64 unknown; /* calls with bytes that are not known */
	/* the size of the buffers of receives that are not complete yet */
	__u64 awaited;
};

/* A named region in which the thread is. */
struct stackd_call_region {
	__u32 path;   /* index + 1; 0: it cannot be known again, so the pass is sent at its end */
	__u32 number; /* of the pass, in its thread, from 1 */
	__u64 wall_ns, cpu_ns; /* its own time that is in no sum of a path */
};

struct stackd_calls {
	/* Written by the daemon: */
	__u32 version;	  /* STACKD_CALLS_VERSION */
	__u32 generation; /* from 1; paths of earlier ones have to be walked again */

	/* Written by the kernel half: */
	__u32 pid, tid; /* the thread; 0: it has not begun */
	__u32 switches; /* how often the thread has got a CPU */
	__u32 n_words;	/* used of `words` */
	__u64 base_ns;	/* CLOCK_MONOTONIC when it got its CPU last; 0: not known */
	__u64 base_cpu; /* its CPU time then, as the scheduler counts it */

	/* Written by the library: */
	__u64 inside;	    /* the slot of the call in which the thread is; 0: it is in none */
	__u64 measured_cpu; /* CPU time in all calls that have ended, and in regions */
	/* when the call began; or if the thread is in a region, but in no call: when the time began
	 * that is not yet in the region's sums */
	__u64 inside_ns, inside_cpu;
	__u32 inside_path; /* its path, index + 1; 0: not known */
	__u32 n_paths;	   /* used of `paths` */
	__u32 n_open;	   /* named regions in which the thread is, outermost first */
	__u32 n_too_deep;  /* passes through regions that are not counted: too many were open */
	struct stackd_call_region open[STACKD_CALL_OPEN];
	__u64 waits[STACKD_CALL_WAITS]; /* the handles that a call completes */
	__u16 heads[STACKD_CALL_PATHS]; /* index + 1 of the first path, by hash */
	struct stackd_call_path paths[STACKD_CALL_PATHS];

	struct stackd_call_word words[STACKD_CALL_WORDS]; /* written by the kernel half */
};

enum stackd_call_kind {
	STACKD_CALL_BEGIN, /* the thread has its table from now on */
	STACKD_CALL_ENDED, /* a call has ended whose path the library does not have */
};

/* What the library gives to the kernel half by its probe: in the program's memory, at the address
 * in the probe's first argument. */
struct stackd_call_probe {
	__u32 kind;	/* enum stackd_call_kind */
	__u32 table;	/* number of the table */
	__u32 path;	/* index in `paths` for the path, if it can be known again, or
			 * STACKD_CALL_PATHS: none is free; of a region STACKD_CALL_PATH() */
	__u32 visits;	/* 1; 0: more bytes of the call before */
	__u64 function; /* address of the function that was called */
	__u64 slot;	/* address of the call's return address */
	__u64 kept[6];	/* the registers STACKD_SAVED_REGS at the call */
	__u64 wall_ns, cpu_ns, ended_ns;
	__u64 sent,
		received; /* as in struct stackd_pass; of a region `sent` is the pass's number */
};

/* A named region is walked where it begins, with `visits` 0. If its path cannot be known again, the
 * pass is sent where it ends, and gets the path of its begin: that of the same pass at the same
 * depth. */
#define STACKD_CALL_PATH(index, depth) ((index) | (depth) << 16) /* depth: from 1 */
#define STACKD_CALL_INDEX_OF(path)     ((path)&0xffffu)
#define STACKD_CALL_DEPTH_OF(path)     ((path) >> 16) /* 0: a call of MPI */

/* What the daemon sends, with the table's descriptor, to a thread that has connected to its socket:
 * it need not hear anything of the program. */
struct stackd_call_answer {
	__u32 version; /* STACKD_CALLS_VERSION */
	__u32 table;   /* number of the table */
};

_Static_assert(sizeof(struct stackd_call_path) == 144, "stackd_call_path is shared");
_Static_assert(sizeof(struct stackd_call_probe) == 120, "stackd_call_probe is shared");
_Static_assert(sizeof(struct stackd_call_region) == 24, "stackd_call_region is shared");
_Static_assert(__builtin_offsetof(struct stackd_calls, waits) == 88 + 24 * STACKD_CALL_OPEN,
	       "stackd_calls is shared");

#endif
