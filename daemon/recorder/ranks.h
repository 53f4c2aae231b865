/* SPDX-License-Identifier: MIT */
/*
 * Finds what the environments of processes tell: their ranks in MPI jobs, and their labels
 * (OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES). With --mpi the kernel half sends the rank that
 * the environment has when a program is executed (bpf/rank.bpf.h). For a process that is older than
 * the recording, or whose record was lost, the rank is read from /proc; without --mpi, for every
 * process. /proc is read as soon as the event of an exec, or a record of the process, has been
 * read, because the process may have ended when the record is taken in the order of time. Processes
 * that have ended are forgotten.
 */
#ifndef RECORDER_RANKS_H
#define RECORDER_RANKS_H

#include <stdint.h>
#include <sys/types.h>

#include "proc/process.h"
#include "stackd_abi.h"

struct ranks;

/* `proc_root` is "/proc" but for tests, and borrowed. 0 or -ENOMEM. */
int ranks_new(const char *proc_root, struct ranks **ret_ranks);
void ranks_free(struct ranks *ranks); /* NULL is fine */

/* Reads a process's rank from /proc, unless it is known. If an exec of the process is awaited
 * (process_table_awaits_exec()), /proc may show the environment of the program after it, so the
 * rank is not taken. `processes` may be NULL. 0, -ENOMEM, or an error of reading events. */
int ranks_prefetch(struct ranks *ranks, pid_t pid, struct process_table *processes);

/* Gives a process that was forked what its parent has, for it has the same environment until it
 * executes a program; it may end before /proc can be read. What was read of it holds. To be called
 * in the order of time. 0 or -ENOMEM. */
int ranks_forked(struct ranks *ranks, pid_t pid, pid_t parent);

/* Reads a process's rank from /proc when the event of its exec is read, unless the process has
 * ended. The rank that it had before holds until ranks_executed(). If the kernel has not set the
 * environment of the new program yet, the process's next ranks_prefetch() reads it. 0 or
 * -ENOMEM. */
int ranks_prefetch_exec(struct ranks *ranks, pid_t pid, uint64_t time_ns);

/* Does the same without reading: the process's next record reads its environment. */
int ranks_postpone_exec(struct ranks *ranks, pid_t pid, uint64_t time_ns);

/* Applies the rank that ranks_prefetch_exec() has read at the exec with this time; if it has read
 * nothing, the process has the rank of before, but no labels. To be called in the order of time. 0
 * or -ENOMEM. */
int ranks_executed(struct ranks *ranks, pid_t pid, uint64_t time_ns);

/* Takes the record of an executed program. The rank in the program's environment replaces the
 * process's rank; the labels are those that ranks_executed() has set at the same exec. To be called
 * in the order of time. 0 or -ENOMEM. */
int ranks_launched(struct ranks *ranks, const struct stackd_launched *launched);

/* Gives the rank of a process, to be stored, once in a window. `process`: its number in the window.
 * 1: *ret_value is the value for SERIES_MPI_RANK; 0: the process has no rank, or it was given
 * before; -ENOMEM. */
int ranks_take(struct ranks *ranks, uint32_t process, pid_t pid, uint64_t *ret_value);

/* Returns the labels of a process, as a text of stack/label_set.h that lives until the next call;
 * NULL: it has none, or they were not read. */
const char *ranks_labels(const struct ranks *ranks, pid_t pid);

/* Forgets a process that has ended, since another process may get its id. */
void ranks_forget(struct ranks *ranks, pid_t pid);

/* Begins a window of the recording, in which processes have other numbers, so that ranks are given
 * again. */
void ranks_begin_anew(struct ranks *ranks);

#endif
