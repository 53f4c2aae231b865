/* SPDX-License-Identifier: MIT */
/*
 * Counts the programs that the target executes and whose allocations are not recorded
 * (docs/ALLOC.md): the environment that it was given did not name libstackalloc, or it is a static
 * or a setuid program, and no probe is in its files.
 *
 * Allocations of a program are recorded once it maps a file that has probes. A program that has
 * mapped none is counted when its process ends, or executes another program.
 */
#ifndef CAPTURE_ALLOC_COVERAGE_H
#define CAPTURE_ALLOC_COVERAGE_H

#include <stdint.h>
#include <sys/types.h>

struct alloc_coverage;

int alloc_coverage_new(struct alloc_coverage **ret_coverage); /* 0 or -ENOMEM */
void alloc_coverage_free(struct alloc_coverage *coverage);    /* NULL is fine, as it is below */

/* Allocations are recorded in processes that map this file; in process `pid` alone, unless that is
 * 0. `path` is as mappings have it, and copied. 0 or -ENOMEM. */
int alloc_coverage_add(struct alloc_coverage *coverage, const char *path, pid_t pid);

/* From now on, allocations are recorded in every process: nothing is counted any more. */
void alloc_coverage_add_all(struct alloc_coverage *coverage);

/* Events of processes of the target, in the order of time. `name`: of the thread from now on, which
 * is copied. 0 or -ENOMEM. */
int alloc_coverage_on_exec(struct alloc_coverage *coverage, pid_t pid, const char *name);
void alloc_coverage_on_mmap(struct alloc_coverage *coverage, pid_t pid, const char *path);
void alloc_coverage_on_exit(struct alloc_coverage *coverage, pid_t pid);

/* Events were lost: what processes execute just now is not known. */
void alloc_coverage_forget(struct alloc_coverage *coverage);

/* Recording ends: counts the programs that still run. */
void alloc_coverage_finish(struct alloc_coverage *coverage);

/* Returns how many there were. */
uint64_t alloc_coverage_count(const struct alloc_coverage *coverage);

/* Warns, if there were any. */
void alloc_coverage_warn(const struct alloc_coverage *coverage);

#endif
