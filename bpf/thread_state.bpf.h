/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The remembered last walk of each thread: its frames' marks and guards (prefix.bpf.h), and the
 * mappings that contain the frames. prefix.bpf.h locks, updates and unlocks the state of a thread.
 */
#ifndef THREAD_STATE_BPF_H
#define THREAD_STATE_BPF_H

#include "scratch.bpf.h"

SETTING __u32 prefix_mode = STACKD_PREFIX_VERIFIED;
SETTING __u32 with_managed = 1;	 /* managed frames are added, and remembered */
SETTING __u32 state_slots = 256; /* a power of two */

/* The counter of code objects, as a walk has read it (managed_code.bpf.h). */
struct managed_epoch {
	__u64 at;	/* its address; 0: not known */
	__u32 value;	/* 0: not known */
	__u32 sequence; /* of the remembered walk */
};

/* A code object that was met. */
struct managed_known {
	__u64 key; /* its address ^ the process's key */
	__u32 number;
	__u32 version;
	__u32 epoch; /* the counter, when this was compared with memory */
	__u32 pad;
};

/* When the interpreter's state of a thread is searched: the search is expensive, so after each one
 * in a row that has found nothing, it is left out for twice as many samples as before. */
struct managed_pause {
	__u32 wait;  /* samples until it is searched again */
	__u32 tries; /* searches in a row that have not found it */
};

#define MANAGED_KNOWN 128 /* a power of two */

/* Each walk reads the members before `touched`, so they fill one cache line. No mark is in two
 * cache lines. */
struct thread_state {
	__u32 busy;
	__u32 tid;
	__u64 start_time;
	__u64 space;
	__u64 stamp; /* the stamp of the mappings (mapping.bpf.h) when they were last compared */
	/* the kernel's css_set that the thread had when its cgroup was last sent to the daemon */
	__u64 css_set;
	__u64 zero; /* slot of the return address of 0 that ended the stack; 0: none did */
	__u32 sequence;
	__u16 walks;	/* number of the thread's walks that have begun, modulo 65536 */
	__u16 end;	/* scratch.end of the remembered walk, if it was on one stack */
	__u16 credit;	/* credit for anchors (segment.bpf.h) */
	__u16 deep;	/* index of the thread's deep stack, +1; 0: none (deep.bpf.h) */
	__u16 count;	/* number of marks */
	__u8 n_touched; /* TOUCHED_MAPPINGS + 1: too many to compare */
	__u8 is_lean;	/* its walks need no callee-saved register other than the frame pointer */
	struct touched_mapping touched[TOUCHED_MAPPINGS];
	/* Of managed frames; not believed, but tried first. */
	__u64 managed_thread; /* the address of the interpreter's state of the thread */
	__u64 managed_low;    /* the address of the memory that has its last frames */
	__u64 managed_of;     /* the start time of the thread that these members are of */
	/* by walks that are at an activation, and for stacks that the daemon will walk, which may
	 * have none */
	struct managed_pause managed_pauses[2];
	struct managed_epoch managed_held, managed_next; /* of the remembered walk, and of the
							  * walk that was done last */
	__u32 managed_mixed;  /* it has run in other interpreters than the first */
	__u32 managed_rest;   /* walks until long chains of frames are read again, */
	__u32 managed_broken; /* since so many in a row were not proven */
	__u32 unused;
	__u64 unused2[5];
	/* Root first. */
	struct mark marks[MAX_MARKS];
	struct guard guards[MAX_MARKS];
	struct managed_known managed_known[MANAGED_KNOWN];
};

_Static_assert(__builtin_offsetof(struct thread_state, touched) == CACHE_LINE &&
		       __builtin_offsetof(struct thread_state, marks) % CACHE_LINE == 0 &&
		       sizeof(struct thread_state) % CACHE_LINE == 0,
	       "states are read by cache lines");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);		   /* state_slots of them: set by the daemon */
	__uint(map_flags, BPF_F_MMAPABLE); /* for this flag the kernel aligns it to a cache line */
	__type(key, __u32);
	__type(value, struct thread_state);
} states SEC(".maps");

static __always_inline struct thread_state *state_at(struct scratch *s)
{
	__u32 index = s->state;

	return index < state_slots ? CHECKED(bpf_map_lookup_elem(&states, &index)) : NULL;
}

#endif
