/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* The kernel half's counters: a part of stackd_abi.h, which includes it. */
#ifndef STACKD_COUNTERS_H
#define STACKD_COUNTERS_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

/* Per-CPU counters: those of the map `counters`, which has one entry. */
enum stackd_counter {
	STACKD_COUNT_STARTED,	/* the program was entered for a sample in scope */
	STACKD_COUNT_SENT,	/* a record was put into the ring buffer */
	STACKD_COUNT_LOST_RING, /* it was full */
	STACKD_COUNT_WALKS,	/* walks in the kernel, with any result */
	STACKD_COUNT_FALLBACKS, /* walks that were left to the daemon */
	STACKD_COUNT_FRAMES,	/* frames walked */
	STACKD_COUNT_KEPT,	/* frames that the verified prefix saved */
	STACKD_COUNT_RULE_HITS, /* rule cache */
	STACKD_COUNT_RULE_MISSES,
	STACKD_COUNT_MAPPING_LOOKUPS, /* in the kernel's tree of mappings */
	STACKD_COUNT_PREFIX_BROKEN,   /* a frame matched and the frames below it did not */
	STACKD_COUNT_TAGS,	      /* samples of which the tag was taken, and no walk */
	STACKD_COUNT_TAGS_NEW,	      /* walks along with a tag that was not known */
	STACKD_COUNT_BRANCHES,	      /* samples with branch records */
	STACKD_COUNT_NO_BRANCHES,     /* that were asked for and not to be had */
	STACKD_COUNT_IDLE,	      /* the CPU was idle: no record was made */
	STACKD_COUNT_NOT_FOLLOWED,    /* processes in scope that there was no room for */
	STACKD_COUNT_CPU_NS,  /* CPU time of the tasks in scope, as the scheduler counts it */
	STACKD_COUNT_UNTIMED, /* tasks in scope whose time is not in there: no room */
	STACKD_COUNT_LATE,    /* samples that stand for several periods: their clock was late */
	STACKD_COUNT_LATE_PERIODS, /* those that they stand for beyond one each */
	STACKD_COUNT_LATE_CUT_NS,  /* time that none stands for: a sample was late by too much */
	STACKD_COUNT_COUNT,
};

struct stackd_counters {
	__u64 n[STACKD_COUNT_COUNT]; /* by enum stackd_counter */
};

/* Per-CPU counters of regions: those of the map `region_counters`, which has one entry. */
enum stackd_region_counter {
	STACKD_REGION_ENDED, /* instances that ended */
	STACKD_REGION_SENT,
	STACKD_REGION_LOST_RING,
	STACKD_REGION_LEFT,	   /* of these: by an exception, longjmp() or their thread's end */
	STACKD_REGION_UNENDED,	   /* of a mark: it was not hit again */
	STACKD_REGION_UNMATCHED,   /* returns of instances that were not seen to begin */
	STACKD_REGION_TOO_DEEP,	   /* not measured: too many were open in the thread */
	STACKD_REGION_NO_SCRATCH,  /* passes whose record has the function, and no path */
	STACKD_REGION_NO_STACK,	   /* looks at a thread's stack that did not find its mapping */
	STACKD_REGION_OFF,	   /* passes not measured: their region is off, or on trial */
	STACKD_REGION_NO_MEMORY,   /* threads that could not be taken in */
	STACKD_REGION_ALLOCS,	   /* sampled allocations */
	STACKD_REGION_ALLOCS_LOST, /* of these, for which there was no scratch area */
	STACKD_REGION_LOST_BYTES,  /* what samples stood for that the ring had no room for, */
	STACKD_REGION_MADE_UP_BYTES, /* and what of that a later sample of the thread includes */
	STACKD_REGION_FREES,	     /* ends of sampled allocations */
	STACKD_REGION_ALLOC_CALLS, /* of an allocator's functions that are probed, frees included */
	STACKD_REGION_UNTRACKED,   /* sampled allocations that the kernel half had no room for */
	STACKD_REGION_READINGS,	   /* of counters, at samples and at ends of instances */
	STACKD_REGION_READINGS_LOST, /* others: the ring was full, or there was no scratch area */
	STACKD_REGION_EVENTS,	  /* passes with counters that are events and counted throughout, */
	STACKD_REGION_EVENTS_CUT, /* and passes whose events did not */
	STACKD_REGION_LAUNCHES_LOST, /* what programs of MPI were launched with: the ring was full
				      */
	STACKD_REGION_COUNT,
};

struct stackd_region_counters {
	__u64 n[STACKD_REGION_COUNT]; /* by enum stackd_region_counter */
};

/* Per-CPU counters of waits: an array of u64, the only entry of the map `wait_counters`. */
enum stackd_wait_counter {
	STACKD_WAIT_ENDED,	/* waits of threads in scope that ended */
	STACKD_WAIT_BLOCKED_NS, /* their times: exact, of all */
	STACKD_WAIT_RUNNABLE_NS,
	STACKD_WAIT_RUNNING_NS, /* their threads' times on the CPU in between */
	STACKD_WAIT_STOLEN_NS,	/* what interrupts and a virtual machine's host took of that, by
				 * the scheduler's sum */
	STACKD_WAIT_SHORT,	/* parts of waits below the least time, of those missed, too */
	STACKD_WAIT_SHORT_NS,
	STACKD_WAIT_KEPT, /* waits that were sampled */
	STACKD_WAIT_SENT,
	STACKD_WAIT_LOST_RING,
	STACKD_WAIT_NO_PATH,	/* sent without the user's path: the interrupt came too late, */
	STACKD_WAIT_NO_SCRATCH, /* or there was no scratch area */
	STACKD_WAIT_OPEN,	/* that had not ended when the recording did; kept, too */
	STACKD_WAIT_MISSED,	/* waits of which the kernel did not trace one of the switches, */
	STACKD_WAIT_MISSED_NS,	/* and their times, which no counter above has but that of short
				 * parts; those that are sampled have records without a path */
	STACKD_WAIT_NO_MEMORY,	/* threads that could not be taken in */
	STACKD_WAIT_WAKERS,	/* threads that ended a sampled wait, of which a record is made */
	STACKD_WAIT_WAKERS_SENT,
	STACKD_WAIT_WAKERS_LOST,
	STACKD_WAIT_WAKERS_NO_PATH, /* sent without the user's path: as above, or one interrupt
				     * woke several */
	STACKD_WAIT_LIVES_LOST,	    /* beginnings and ends of threads: the ring was full */
	STACKD_WAIT_COUNT,
};

#endif
