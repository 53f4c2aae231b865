/* SPDX-License-Identifier: MIT */
/*
 * Counts the programs that the target executes and whose allocations are not recorded
 * (docs/ALLOC.md): libstackalloc is not loaded in them, because LD_PRELOAD does not name it or
 * because they are static or setuid programs, and none of the files that they map has a probe.
 *
 * Allocations of a program are recorded once it maps a file with probes. A program that has mapped
 * none is counted when its process ends, or executes another program.
 */
#ifndef CAPTURE_ALLOC_COVERAGE_H
#define CAPTURE_ALLOC_COVERAGE_H

#include <stdint.h>
#include <sys/types.h>

struct alloc_coverage;

int alloc_coverage_new(struct alloc_coverage **ret_coverage); /* 0 or -ENOMEM */
void alloc_coverage_free(struct alloc_coverage *coverage);    /* NULL is fine, as it is below */

/* Notes that allocations are recorded in processes that map this file; if `pid` is not 0, in that
 * process alone. `path` is the real path, as side-band events have it, and is copied. 0 or
 * -ENOMEM. */
int alloc_coverage_add(struct alloc_coverage *coverage, const char *path, pid_t pid);

/* Notes that allocations are recorded in every process from now on, so that none is counted. */
void alloc_coverage_add_all(struct alloc_coverage *coverage);

/* Take the events of the target's processes, in the order of time: an exec, a mapping of the file
 * at `path`, and the end of a process. `name` (copied): the new name of the thread that has called
 * exec. 0 or -ENOMEM. */
int alloc_coverage_on_exec(struct alloc_coverage *coverage, pid_t pid, const char *name);
void alloc_coverage_on_mmap(struct alloc_coverage *coverage, pid_t pid, const char *path);
void alloc_coverage_on_exit(struct alloc_coverage *coverage, pid_t pid);

/* Forgets which programs the processes execute, without counting them. To be called after events
 * were lost. */
void alloc_coverage_forget(struct alloc_coverage *coverage);

/* Counts the programs that still run when the recording ends. */
void alloc_coverage_finish(struct alloc_coverage *coverage);

/* Returns how many programs were counted. */
uint64_t alloc_coverage_count(const struct alloc_coverage *coverage);

/* Logs a warning if any program was counted. */
void alloc_coverage_warn(const struct alloc_coverage *coverage);

#endif
