/* SPDX-License-Identifier: MIT */
/*
 * The list of metrics, in the order in which they are shown. docs/METRICS.md and --metric help are
 * generated from it. It is a macro, so it has no functions.
 *
 * X(enumerator METRIC_..., name, series SERIES_..., unit METRIC_..., SAMPLED or COUNTED, what a
 *   record of the series is, in the plural, the options of stackd that make it measured, what it
 *   is, other members of struct metric_info)
 */
#ifndef STACK_METRIC_LIST_H
#define STACK_METRIC_LIST_H

/* clang-format off */
#define METRICS(X)                                                                                 \
	X(CPU, "cpu", CPU, EVENTS, SAMPLED, "samples", "(none)",                                   \
	  "samples of the event, by their periods: CPU time, if it is a clock")                    \
	X(CPU_TIME, "cpu.time", CPU_OUTSIDE, NS, SAMPLED, "samples and instances",                 \
	  "--region, --mark, --mpi, --annotated",                                                  \
	  "CPU time of the threads: samples outside of regions, each with the time since the "     \
	  "one before, and passes through regions with their own",                                 \
	  .also = SERIES_REGION_CPU, .sums = SERIES_CALL_CPU)                                                               \
	X(REGION_VISITS, "region.visits", REGION_TIME, TIMES, COUNTED, "instances",                \
	  "--region, --mark, --mpi, --annotated", "passes through regions",                        \
	  .is_count = true, .sums = SERIES_CALL_VISITS)                                                                        \
	X(REGION_TIME, "region.time", REGION_TIME, NS, COUNTED, "instances",                       \
	  "--region, --mark, --mpi, --annotated",                                                  \
	  "time from the entry into a region to its end, without that of regions within it",       \
	  .sums = SERIES_CALL_TIME)                                                                \
	X(REGION_CPU, "region.cpu", REGION_CPU, NS, COUNTED, "instances",                          \
	  "--region, --mark, --mpi, --annotated", "CPU time in a region, likewise",                \
	  .sums = SERIES_CALL_CPU)                                                                 \
	X(MPI_SENT, "mpi.sent", MPI_SENT, BYTES, COUNTED, "calls", "--mpi",                        \
	  "bytes that calls of MPI sent")                                                          \
	X(MPI_RECEIVED, "mpi.received", MPI_RECEIVED, BYTES, COUNTED, "calls", "--mpi",            \
	  "bytes that they received")                                                              \
	X(MPI_UNKNOWN, "mpi.unknown", MPI_UNKNOWN, TIMES, COUNTED, "calls", "--mpi",               \
	  "calls whose bytes cannot be told")                                                      \
	X(MPI_READ, "mpi.read", MPI_READ, BYTES, COUNTED, "calls", "--mpi",                        \
	  "bytes that they read from files")                                                       \
	X(MPI_WRITTEN, "mpi.written", MPI_WRITTEN, BYTES, COUNTED, "calls", "--mpi",               \
	  "bytes that they wrote to files")                                                        \
	X(MPI_AT_MOST, "mpi.at_most", MPI_AT_MOST, BYTES, COUNTED, "calls", "--mpi",               \
	  "of mpi.received and mpi.read, bytes that are the size of the buffer: less may "     \
	  "have arrived")                                                                          \
	X(ALLOC_BYTES, "alloc.bytes", ALLOC_BYTES, BYTES, SAMPLED, "samples", "--alloc",           \
	  "bytes that were allocated",                                                             \
	  .error = SERIES_ALLOC_ERROR)                                                             \
	X(ALLOC_OBJECTS, "alloc.objects", ALLOC_OBJECTS, TIMES, SAMPLED, "blocks", "--alloc",      \
	  "blocks that were allocated")                                                            \
	X(HEAP_LIVE, "heap.live", ALLOC_BYTES, BYTES, SAMPLED, "samples", "--alloc",               \
	  "bytes of these that are not freed at the end of the recording, or at --to",           \
	  .less = SERIES_FREED_BYTES, .error = SERIES_ALLOC_ERROR,                                 \
	  .error_less = SERIES_FREED_ERROR)                                                        \
	X(HEAP_OBJECTS, "heap.objects", ALLOC_OBJECTS, TIMES, SAMPLED, "blocks", "--alloc",        \
	  "blocks that are not freed then",                                                        \
	  .less = SERIES_FREED_OBJECTS)                                                            \
	X(HEAP_PEAK, "heap.peak", ALLOC_BYTES, BYTES, SAMPLED, "samples", "--alloc",               \
	  "bytes that were not freed when the heap of their process was largest",                  \
	  .less = SERIES_FREED_BYTES, .is_peak = true, .error = SERIES_ALLOC_ERROR,                \
	  .error_less = SERIES_FREED_ERROR)                                                        \
	X(MEMORY_TOUCHED, "memory.touched", MEMORY_TOUCHED, BYTES, SAMPLED, "samples",             \
	  "--alloc, above --alloc-limit", "memory that was touched first, by page faults",         \
	  .error = SERIES_MEMORY_ERROR)                                                            \
	X(MEMORY_MAPPED, "memory.mapped", MEMORY_MAPPED, BYTES, COUNTED, "calls",                  \
	  "--alloc, above --alloc-limit", "memory that was asked for by mmap() and brk()")         \
	X(WAIT_BLOCKED, "wait.blocked", WAIT_BLOCKED, NS, SAMPLED, "waits", "--wait",              \
	  "time that threads were asleep")                                                         \
	X(WAIT_RUNNABLE, "wait.runnable", WAIT_RUNNABLE, NS, SAMPLED, "waits", "--wait",           \
	  "time that threads were woken, or preempted, and had no CPU")                            \
	X(WAIT, "wait", WAIT_BLOCKED, NS, SAMPLED, "waits", "--wait",                              \
	  "both: all the time off the CPU",                                                        \
	  .also = SERIES_WAIT_RUNNABLE, .is_union = true)                                          \
	X(WALL, "wall", WAIT_BLOCKED, NS, SAMPLED, "samples and waits", "--wait",                  \
	  "time that threads were there: on the CPU, by samples of a clock, and off it",           \
	  .also = SERIES_WAIT_RUNNABLE, .has_samples = true, .is_union = true)
/* clang-format on */

#endif
