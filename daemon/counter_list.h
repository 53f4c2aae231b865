/* SPDX-License-Identifier: MIT */
/*
 * The list of the counters that the daemon keeps beside those of the kernel half
 * (stackd_counters.h) and of the workers (worker_counts.h): X(member of struct run_counters, name,
 * unit, meaning). The names are kept in stores and printed by `stackctl stats`, so they never
 * change. Names, units and meanings are in docs/COUNTERS.md, too, which a unit test compares with
 * this list. A unit is COUNT, NS, BYTES or HZ.
 */
#ifndef COUNTER_LIST_H
#define COUNTER_LIST_H

#define DAEMON_COUNTERS(X)                                                                              \
	X(sampled.ring_bytes, "ring_bytes", BYTES, "records that were taken from the ring buffer")      \
	X(sampled.stacks_evicted, "stacks_evicted", COUNT,                                              \
	  "stacks that were dropped to make room before the records that need them came")               \
	X(regions_taken_off, "regions_taken_off", COUNT,                                                \
	  "regions and marks that were passed through too often (--region-limit)")                      \
	X(recorded.instances, "regions_received", COUNT, "records of instances that were read")         \
	X(recorded.partial_instances, "regions_partial", COUNT,                                         \
	  "of these, those whose path is not complete")                                                 \
	X(recorded.summed_calls, "calls_summed", COUNT,                                                 \
	  "calls of MPI, and passes (--annotated), that libstackmpi has added up")                      \
	X(recorded.calls_open, "calls_open", COUNT,                                                     \
	  "calls, or passes, in which their thread, or the recording, has ended")                       \
	X(recorded.calls_unplaced, "calls_unplaced", COUNT,                                             \
	  "calls, or passes, that were counted or open, but whose call path was never sent")            \
	X(recorded.calls_cut, "calls_cut", COUNT,                                                       \
	  "sums in tables that were cut: they were more than a thread can have done")                   \
	X(recorded.named_too_deep, "regions_named_too_deep", COUNT,                                     \
	  "passes through regions that a program names, not counted: 64 were open")                     \
	X(recorded.tables.refused, "calls_threads_refused", COUNT,                                      \
	  "threads whose calls are not counted: all tables were taken")                                 \
	X(recorded.tables.unanswered, "calls_threads_unanswered", COUNT,                                \
	  "threads whose calls are not counted: they ended, or waited no more")                         \
	X(recorded.tables.foreign, "calls_threads_foreign", COUNT,                                      \
	  "threads whose calls are not counted: they are of another user")                              \
	X(recorded.blocks.unknown, "frees_unknown", COUNT,                                              \
	  "ends of blocks whose allocation is not known")                                               \
	X(recorded.blocks.missed, "frees_missed", COUNT,                                                \
	  "ends without a record, found when the address was allocated again")                          \
	X(recorded.blocks.untracked, "allocations_untracked", COUNT,                                    \
	  "sampled allocations that the daemon had no room for: their ends are not known")              \
	X(recorded.uncovered, "programs_unheard", COUNT,                                                \
	  "programs whose allocations are not recorded")                                                \
	X(recorded.waits, "waits_received", COUNT, "records of waits that were read")                   \
	X(recorded.partial_waits, "waits_partial", COUNT,                                               \
	  "of these, those whose path is not complete")                                                 \
	X(recorded.unnamed_waits, "waits_unnamed", COUNT,                                               \
	  "of these, waits for a file whose path is not known")                                         \
	X(recorded.wakers, "wakers_received", COUNT, "records of wakers that were read")                \
	X(recorded.received, "received", COUNT, "records of samples that were read")                    \
	X(recorded.sideband_lost, "sideband_lost", COUNT,                                               \
	  "events of processes and mappings that the kernel had no room for")                           \
	X(recorded.forgotten.cgroups, "forgotten.cgroups", COUNT,                                       \
	  "cgroups that were forgotten to keep memory within bounds")                                   \
	X(recorded.forgotten.processes, "forgotten.processes", COUNT,                                   \
	  "processes that were forgotten to keep memory within bounds")                                 \
	X(recorded.forgotten.threads, "forgotten.threads", COUNT,                                       \
	  "threads that were forgotten to keep memory within bounds")                                   \
	X(recorded.forgotten.files, "forgotten.files", COUNT,                                           \
	  "files that were forgotten to keep memory within bounds")                                     \
	X(recorded.forgotten.objects, "forgotten.objects", COUNT,                                       \
	  "objects whose files were closed: no process maps them")                                      \
	X(recorded.forgotten.paths, "forgotten.paths", COUNT,                                           \
	  "call paths at the ends of windows that were full")                                           \
	X(recorded.forgotten.locations, "forgotten.locations", COUNT,                                   \
	  "locations at the ends of windows that were full")                                            \
	X(recorded.tags.forgotten, "forgotten.tags", COUNT,                                             \
	  "tags that were learned and forgotten, to make room")                                         \
	X(recorded.collisions, "tag_collisions", COUNT, "tags that two call paths have")                \
	X(recorded.walked_frames, "walked_frames", COUNT, "frames that the daemon walked")              \
	X(recorded.cache_hits, "rule_cache_hits", COUNT, "rules that the daemon's cache had")           \
	X(recorded.cache_misses, "rule_cache_misses", COUNT, "rules that it did not have")              \
	X(recorded.out_of_sequence, "out_of_sequence", COUNT,                                           \
	  "walks that build on one whose record did not arrive")                                        \
	X(recorded.judged_right, "judged_right", COUNT,                                                 \
	  "walks that the second walk confirmed (--judge)")                                             \
	X(recorded.judged_wrong, "judged_wrong", COUNT, "walks that differ from the second walk")       \
	X(recorded.judged_cut, "judged_cut", COUNT,                                                     \
	  "walks that agree with the second walk as far as that one went")                              \
	X(recorded.judged_less, "judged_less", COUNT,                                                   \
	  "walks that are right, and marked as incomplete where the second walk went on")               \
	X(recorded.judged_managed_right, "judged_managed_right", COUNT,                                 \
	  "walks whose managed frames are those that were read anew")                                   \
	X(recorded.judged_managed_wrong, "judged_managed_wrong", COUNT,                                 \
	  "walks whose managed frames differ from those that were read anew")                           \
	X(recorded.judged_made_right, "judged_made_right", COUNT,                                       \
	  "steps out of JIT code that evidence proves")                                                 \
	X(recorded.judged_made_wrong, "judged_made_wrong", COUNT,                                       \
	  "such steps that evidence contradicts")                                                       \
	X(recorded.judged_made_nearest, "judged_made_nearest", COUNT,                                   \
	  "such steps that leave no caller out, without a proof")                                       \
	X(recorded.judged_made_unproven, "judged_made_unproven", COUNT,                                 \
	  "such steps that nothing proves or contradicts")                                              \
	X(recorded.tag_processes, "tag_processes", COUNT, "processes that kept tags")                   \
	X(recorded.tags.learned, "tags_learned", COUNT, "tags whose call path was learned")             \
	X(recorded.tags.unknown, "tags_unknown", COUNT, "samples whose tag was not known")              \
	X(recorded.tags.right, "tags_right", COUNT,                                                     \
	  "walks with all functions of the program's tag, and no others")                               \
	X(recorded.tags.window, "tags_window", COUNT,                                                   \
	  "the same but for a function that was just being entered or left")                            \
	X(recorded.tags.between, "tags_between", COUNT,                                                 \
	  "walks at a location where a callee had just returned")                                       \
	X(recorded.tags.wrong, "tags_wrong", COUNT, "walks that differ from the program's tag")         \
	X(recorded.tags.unchecked, "tags_unchecked", COUNT,                                             \
	  "walks that were not complete, so they were not compared with the tag")                       \
	X(recorded.frame_pointer_steps, "frame_pointer_steps", COUNT, "steps by frame pointers")        \
	X(recorded.steps.confirmed, "steps_confirmed", COUNT,                                           \
	  "pairs of locations, of steps by other rules than unwind information, that the "              \
	  "caller's code confirms")                                                                     \
	X(recorded.steps.probable, "steps_probable", COUNT, "such pairs that nothing contradicts")      \
	X(recorded.steps.wrong, "steps_wrong", COUNT,                                                   \
	  "such pairs that the caller's code contradicts: paths end before them")                       \
	X(recorded.steps.unchecked, "steps_unchecked", COUNT,                                           \
	  "such pairs whose code could not be read, or is not known yet")                               \
	X(recorded.steps.postponed, "steps_postponed", COUNT,                                           \
	  "steps that were taken without a check, which had no CPU time left")                          \
	X(recorded.unchecked_returns, "returns_unchecked", COUNT,                                       \
	  "return addresses whose code could not be read")                                              \
	X(recorded.unproven, "frames_unproven", COUNT,                                                  \
	  "frames whose code is not known: their file was being written to")                            \
	X(recorded.unwatched, "files_unwatched", COUNT,                                                 \
	  "files whose overwriting would not be noticed")                                               \
	X(objects, "objects", COUNT, "objects that have numbers, at the moment")                        \
	X(waiting, "waiting", COUNT,                                                                    \
	  "records in the queue that restores the order of time, at the moment")                        \
	X(queue_full, "queue_full", COUNT,                                                              \
	  "times that the ring was left unread, since that queue was full")                             \
	X(late, "late_events", COUNT, "events that came too late for that queue")                       \
	X(idle.idle_ns, "idle_ns", NS, "idle time of all CPUs; 0: it was not measured")                 \
	X(idle.cpus_ns, "cpus_ns", NS, "time of all CPUs, idle or not; 0: it was not measured")         \
	X(stolen_ns, "stolen_ns", NS, "time that a virtual machine's host took from all CPUs")          \
	X(own_cpu_ns, "own_cpu_ns", NS, "CPU time of stackd, its workers, fetcher and copier")          \
	X(workers.role_cpu_ns[WORKER_LOOP], "worker_loop_ns", NS,                                       \
	  "of it, of the workers that identify files and check steps for the loop")                     \
	X(workers.role_cpu_ns[WORKER_WALKS], "worker_walks_ns", NS,                                     \
	  "the same of those that walk copied stacks")                                                  \
	X(workers.role_cpu_ns[WORKER_TABLES], "worker_tables_ns", NS,                                   \
	  "the same of those that make tables")                                                         \
	X(workers.role_cpu_ns[WORKER_NAMES], "worker_names_ns", NS,                                     \
	  "the same of those that find names")                                                          \
	X(own_resident_bytes, "own_resident_bytes", BYTES,                                              \
	  "resident memory of stackd, its workers and its fetcher, at the moment")                      \
	X(rate_hz, "rate_hz", HZ,                                                                       \
	  "samples a second and CPU, at the moment; 0: the period is fixed")                            \
	X(rate_changes, "rate_changes", COUNT, "changes of the rate to keep within --max-cpu")          \
	X(full_windows, "full_windows", COUNT, "windows that ended early, for the sake of memory")      \
	X(alloc_until_ns, "allocations_until_ns", NS,                                                   \
	  "when the probes of allocations were taken off, by CLOCK_MONOTONIC; 0: they "                 \
	  "were not")                                                                                   \
	X(tables.loaded, "tables_loaded", COUNT,                                                        \
	  "tables of unwind rules that were loaded, one a file")                                        \
	X(tables.evicted, "forgotten.tables", COUNT, "tables that were evicted to make room")           \
	X(tables.remade, "tables_remade", COUNT,                                                        \
	  "of `tables_loaded`, those that were not loaded for the first time")                          \
	X(tables.put_off, "tables_put_off", COUNT,                                                      \
	  "requests of evicted tables that were turned down")                                           \
	X(tables.refused, "tables_refused", COUNT,                                                      \
	  "files whose table was refused: there was no room")                                           \
	X(tables.files, "file_numbers", COUNT,                                                          \
	  "numbers of files that the kernel half has in use, at the moment")                            \
	X(tables.ended, "file_numbers_taken_back", COUNT,                                               \
	  "numbers of files that were taken back, to be given to others")                               \
	X(tables.unnumbered, "files_unnumbered", COUNT,                                                 \
	  "requests of tables of files for which no number was left")                                   \
	X(tables.rows, "table_rows", COUNT, "rows of all loaded tables, at the moment")                 \
	X(tables.rules, "table_rules", COUNT,                                                           \
	  "different rules of all loaded tables, at the moment")                                        \
	X(tables.runtime_rows, "table_go_rows", COUNT,                                                  \
	  "rows made from Go's tables of functions, before they were merged")                           \
	X(tables.compile_ns, "table_compile_ns", NS, "time that making tables took")                    \
	X(recorded.managed_unread, "managed_unread_stacks", COUNT,                                      \
	  "stacks with activations of an interpreter that have native frames alone, since "             \
	  "stackd has walked them")                                                                     \
	X(tables.unread, "interpreters_unread", COUNT,                                                  \
	  "files with an interpreter whose functions are not read (Python, Ruby, PHP, Perl): its "      \
	  "version, or its build, is none of those in docs/PYTHON.md, RUBY.md, PHP.md and PERL.md")     \
	X(recorded.machines.found, "jit_runtimes", COUNT,                                               \
	  "processes with a runtime (HotSpot) that names the functions of the code it has made")        \
	X(recorded.machines.unread, "jit_runtimes_unread", COUNT,                                       \
	  "processes with such a runtime that is not read, because of its version or build")            \
	X(recorded.machines.full, "jit_runtimes_full", COUNT,                                           \
	  "times that the functions of a process were forgotten and read anew: "                        \
	  "they had become too many")                                                                   \
	X(recorded.machines.frames, "jit_functions", COUNT,                                             \
	  "frames of such functions in paths, also of those that were inlined or interpreted")          \
	X(recorded.machines.unproven, "jit_unproven", COUNT,                                            \
	  "frames in that code whose function is not proven")                                           \
	X(recorded.machines.corrected, "jit_walks_corrected", COUNT,                                    \
	  "times that a walk had missed frames of such code, by the sizes that the runtime knows")      \
	X(recorded.slow.copied, "slow_files_copied", COUNT,                                             \
	  "files on FUSE and network mounts, and in containers' overlays, that were copied")            \
	X(recorded.slow.failed, "slow_files_failed", COUNT,                                             \
	  "of such files, those that could not be read")                                                \
	X(recorded.files_over_share, "files_over_share", COUNT,                                         \
	  "times that a file was not read, since its user's processes had brought too many")            \
	X(recorded.mappings_over_share, "mappings_over_share", COUNT,                                   \
	  "events of mappings that were left out, since a user's processes make too many")              \
	X(recorded.names_over_share, "names_over_share", COUNT,                                         \
	  "new names of threads that were left out, since a user's processes make too many")            \
	X(short_lived, "short_lived", COUNT,                                                            \
	  "processes and threads that were not followed: they ended at once, and no record is of them") \
	X(recorded.slow.hung, "slow_files_hung", COUNT,                                                 \
	  "of such files, those whose file system did not answer")                                      \
	X(workers.calls, "worker_calls", COUNT, "requests to workers")

/* Counters that exist only if the samples' periods add up to CPU time. */
#define PERIOD_COUNTERS(X)                                                                         \
	X(recorded.periods, "periods_ns", NS,                                                      \
	  "the sum of the periods of all samples that were kept")

#endif
