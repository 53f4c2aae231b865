/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The kernel half's counters: a part of stackd_abi.h, which includes it.
 *
 * Each list defines its counters, and nothing else does: X(enumerator, name, unit, meaning). The
 * names are in stores, and in `stackctl stats`, so they never change. Names, units and meanings are
 * in docs/COUNTERS.md, too, which a unit test compares with these lists. A unit is COUNT, NS or
 * BYTES.
 */
#ifndef STACKD_COUNTERS_H
#define STACKD_COUNTERS_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

/* Counters of samples: the map `counters`, which has one entry for each CPU. */
#define STACKD_COUNTERS(X)                                                                         \
	X(STARTED, "started", COUNT, "samples in scope for which the program was entered")         \
	X(SENT, "sent", COUNT, "of these, records that were put into the ring buffer")             \
	X(LOST_RING, "lost_ring", COUNT, "of these, records that the ring buffer had no room for") \
	X(WALKS, "kernel_walks", COUNT, "walks in the kernel, with any result")                    \
	X(FALLBACKS, "kernel_fallbacks", COUNT, "walks that were left to the daemon")              \
	X(FRAMES, "kernel_frames", COUNT, "frames that were walked")                               \
	X(KEPT, "kernel_kept_frames", COUNT, "frames that the verified prefix saved")              \
	X(RULE_HITS, "kernel_rule_hits", COUNT, "rules that the rule cache had")                   \
	X(RULE_MISSES, "kernel_rule_misses", COUNT, "rules that it did not have")                  \
	X(MAPPING_LOOKUPS, "kernel_mapping_lookups", COUNT,                                        \
	  "look-ups in the kernel's tree of mappings")                                             \
	X(PREFIX_BROKEN, "kernel_prefix_broken", COUNT,                                            \
	  "walks that met a frame of the remembered stack, below which the stack had changed")     \
	X(TAGS, "kernel_tags", COUNT, "samples with the program's tag in place of a walk")         \
	X(TAGS_NEW, "kernel_tags_new", COUNT, "walks beside a tag that was not known")             \
	X(BRANCHES, "branch_records", COUNT, "samples with branch records")                        \
	X(NO_BRANCHES, "branch_records_missing", COUNT,                                            \
	  "samples without the branch records that were asked for")                                \
	X(IDLE, "idle", COUNT, "samples of an idle CPU: no record was made")                       \
	X(NOT_FOLLOWED, "processes_not_followed", COUNT,                                           \
	  "processes in scope that there was no room for")                                         \
	X(CPU_NS, "cpu_ns", NS, "CPU time of the tasks in scope, as the scheduler counts it")      \
	X(UNTIMED, "tasks_untimed", COUNT,                                                         \
	  "tasks in scope whose time is not in `cpu_ns`: there was no room")                       \
	X(LATE, "late_samples", COUNT,                                                             \
	  "samples that stand for several periods: their clock was late")                          \
	X(LATE_PERIODS, "late_periods", COUNT, "the periods that these stand for beyond one each") \
	X(LATE_CUT_NS, "late_cut_ns", NS,                                                          \
	  "time that no sample stands for: one was late by too much")                              \
	X(WAKING_NS, "waking_ns", NS,                                                              \
	  "the part of `cpu_ns`, by samples or perf, before CPUs switched to a woken task")        \
	X(PREEMPTED_NS, "preempted_ns", NS,                                                        \
	  "time of samples, and of taking them, that is not in `cpu_ns`: another task was to run") \
	X(MANAGED_FRAMES, "managed_frames", COUNT,                                                 \
	  "managed frames that were read and are proven; kept ones are not among them")            \
	X(MANAGED_CODES, "managed_codes", COUNT,                                                   \
	  "code objects of managed frames that were met for the first time")                       \
	X(MANAGED_ENTERING, "managed_in_transition", COUNT,                                        \
	  "innermost activations of an interpreter that were just being entered or left: they "    \
	  "have no managed frames")                                                                \
	X(MANAGED_NO_THREAD, "managed_unproven.thread", COUNT,                                     \
	  "walks without managed frames: the interpreter has no state of the thread")              \
	X(MANAGED_ELSEWHERE, "managed_unproven.elsewhere", COUNT,                                  \
	  "activations whose managed frames are not proven: what the thread's state leads to "     \
	  "is not in the activation's native frame")                                               \
	X(MANAGED_BROKEN, "managed_unproven.chain", COUNT,                                         \
	  "the same: their chain does not end where the activation before begins, or cannot be "   \
	  "read")                                                                                  \
	X(MANAGED_NAMELESS, "managed_unproven.names", COUNT,                                       \
	  "the same: a code object cannot be read, or the ring buffer had no room for its names")  \
	X(MANAGED_TOO_MANY, "managed_unproven.most", COUNT,                                        \
	  "the same: the walk has no room for more frames")

enum stackd_counter {
#define STACKD_X(e, name, unit, meaning) STACKD_COUNT_##e,
	STACKD_COUNTERS(STACKD_X)
#undef STACKD_X
		STACKD_COUNT_COUNT,
};

struct stackd_counters {
	__u64 n[STACKD_COUNT_COUNT]; /* by enum stackd_counter */
};

/* Counters of regions and allocations: the map `region_counters`, which has one entry for each
 * CPU. */
#define STACKD_REGION_COUNTERS(X)                                                                  \
	X(ENDED, "regions_ended", COUNT, "instances of regions that ended")                        \
	X(SENT, "regions_sent", COUNT, "of these, records that were put into the ring buffer")     \
	X(LOST_RING, "regions_lost_ring", COUNT,                                                   \
	  "of these, records that the ring buffer had no room for")                                \
	X(LEFT, "regions_left", COUNT,                                                             \
	  "instances that were left by an exception, longjmp() or the end of their thread")        \
	X(UNENDED, "regions_unended", COUNT, "passes of a mark that was not hit again")            \
	X(UNMATCHED, "regions_unmatched", COUNT,                                                   \
	  "returns of instances that were not seen to begin")                                      \
	X(TOO_DEEP, "regions_too_deep", COUNT,                                                     \
	  "instances that were not measured: too many were open in their thread")                  \
	X(NO_SCRATCH, "regions_without_path", COUNT,                                               \
	  "instances whose record has the function, and no path")                                  \
	X(NO_STACK, "regions_without_stack", COUNT,                                                \
	  "looks at a thread's stack that did not find its mapping")                               \
	X(OFF, "regions_off", COUNT,                                                               \
	  "instances that were not measured: their region is taken off, or on trial")              \
	X(NO_MEMORY, "regions_no_memory", COUNT,                                                   \
	  "threads for whose instances there was no memory")                                       \
	X(ALLOCS, "allocations", COUNT, "sampled allocations")                                     \
	X(ALLOCS_LOST, "allocations_lost", COUNT,                                                  \
	  "of these, those for which there was no scratch area")                                   \
	X(LOST_BYTES, "allocations_lost_bytes", BYTES,                                             \
	  "bytes that lost samples stood for: the ring buffer had no room for them")               \
	X(MADE_UP_BYTES, "allocations_made_up_bytes", BYTES,                                       \
	  "the part of `allocations_lost_bytes` that a later sample of the thread "                \
	  "includes")                                                                              \
	X(FREES, "frees", COUNT, "ends of sampled allocations")                                    \
	X(ALLOC_CALLS, "allocator_calls", COUNT,                                                   \
	  "calls of an allocator's functions that are probed, those that free included")           \
	X(UNTRACKED, "allocations_no_room", COUNT,                                                 \
	  "sampled allocations that the kernel half had no room for")                              \
	X(READINGS, "readings", COUNT,                                                             \
	  "readings of counters, at samples and at ends of instances")                             \
	X(READINGS_LOST, "readings_lost", COUNT,                                                   \
	  "readings that were lost: the ring buffer was full, or there was no scratch area")       \
	X(EVENTS, "event_passes", COUNT,                                                           \
	  "instances whose counters are events that counted throughout")                           \
	X(EVENTS_CUT, "event_passes_cut", COUNT,                                                   \
	  "instances whose events did not count throughout")                                       \
	X(LAUNCHES_LOST, "launches_lost", COUNT,                                                   \
	  "starts of programs of MPI whose rank is not known: the ring buffer was full")           \
	X(CALLS_UNHEARD, "calls_unheard", COUNT,                                                   \
	  "calls of MPI that libstackmpi could not count: it is not in their process")

enum stackd_region_counter {
#define STACKD_X(e, name, unit, meaning) STACKD_REGION_##e,
	STACKD_REGION_COUNTERS(STACKD_X)
#undef STACKD_X
		STACKD_REGION_COUNT,
};

struct stackd_region_counters {
	__u64 n[STACKD_REGION_COUNT]; /* by enum stackd_region_counter */
};

/* Counters of waits: the map `wait_counters`, whose only entry is an array of u64 for each CPU. */
#define STACKD_WAIT_COUNTERS(X)                                                                    \
	X(ENDED, "waits_ended", COUNT, "waits of threads in scope that ended")                     \
	X(BLOCKED_NS, "waits_blocked_ns", NS, "the time that these were blocked: exact, of all")   \
	X(RUNNABLE_NS, "waits_runnable_ns", NS,                                                    \
	  "the time that these were runnable after that, without a CPU: exact, of all")            \
	X(RUNNING_NS, "waits_running_ns", NS, "the time of their threads on the CPU in between")   \
	X(STOLEN_NS, "waits_stolen_ns", NS,                                                        \
	  "the part of `waits_running_ns` that interrupts and a virtual machine's host "           \
	  "took, by the scheduler's sum")                                                          \
	X(SHORT, "waits_short", COUNT,                                                             \
	  "parts of waits below the least time, of missed waits, too")                             \
	X(SHORT_NS, "waits_short_ns", NS, "their time")                                            \
	X(KEPT, "waits_kept", COUNT, "waits that were sampled")                                    \
	X(SENT, "waits_sent", COUNT, "of these, records that were put into the ring buffer")       \
	X(LOST_RING, "waits_lost_ring", COUNT,                                                     \
	  "of these, records that the ring buffer had no room for")                                \
	X(NO_PATH, "waits_without_path", COUNT,                                                    \
	  "of those that were sent, waits without the user's path: the interrupt came too "        \
	  "late")                                                                                  \
	X(NO_SCRATCH, "waits_without_scratch", COUNT,                                              \
	  "of those that were sent, waits without the user's path: there was no scratch "          \
	  "area")                                                                                  \
	X(OPEN, "waits_open", COUNT,                                                               \
	  "waits that had not ended when the recording did; they are sampled, too")                \
	X(MISSED, "waits_missed", COUNT,                                                           \
	  "waits with a switch that the kernel did not trace; those that are sampled have "        \
	  "records without a path")                                                                \
	X(MISSED_NS, "waits_missed_ns", NS,                                                        \
	  "their time, which is in no other sum but `waits_short_ns`")                             \
	X(NO_MEMORY, "waits_no_memory", COUNT, "threads for whose waits there was no memory")      \
	X(WAKERS, "wakers", COUNT, "threads that ended a sampled wait: each has a record")         \
	X(WAKERS_SENT, "wakers_sent", COUNT,                                                       \
	  "of these, records that were put into the ring buffer")                                  \
	X(WAKERS_LOST, "wakers_lost_ring", COUNT,                                                  \
	  "of these, records that the ring buffer had no room for")                                \
	X(WAKERS_NO_PATH, "wakers_without_path", COUNT,                                            \
	  "of those that were sent, wakers without the user's path: the interrupt came "           \
	  "too late, or woke several")                                                             \
	X(LIVES_LOST, "waits_lives_lost", COUNT,                                                   \
	  "beginnings and ends of threads that the ring buffer had no room for")

enum stackd_wait_counter {
#define STACKD_X(e, name, unit, meaning) STACKD_WAIT_##e,
	STACKD_WAIT_COUNTERS(STACKD_X)
#undef STACKD_X
		STACKD_WAIT_COUNT,
};

#endif
