/* SPDX-License-Identifier: MIT */
/*
 * Counts the programs that the target executes and whose allocations are not recorded
 * (docs/ALLOC.md): the environment that it was given did not name libstackalloc, or it is a static
 * or a setuid program, and no probe is in its files.
 *
 * What a process has executed is heard of once it maps a file that has probes. That it never will
 * is known when it ends, or executes another program; then it is counted.
 */
#ifndef CAPTURE_UNHEARD_H
#define CAPTURE_UNHEARD_H

#include <stdint.h>
#include <sys/types.h>

struct unheard;

int unheard_new(struct unheard **ret_unheard); /* 0 or -ENOMEM */
void unheard_free(struct unheard *unheard);    /* NULL is fine, as it is below */

/* Allocations are recorded in processes that map this file; in process `pid` alone, unless that is
 * 0. `path` is as mappings have it, and copied. 0 or -ENOMEM. */
int unheard_hear(struct unheard *unheard, const char *path, pid_t pid);

/* From now on, allocations are recorded in every process: nothing is counted any more. */
void unheard_hear_all(struct unheard *unheard);

/* Events of processes of the target, in the order of time. `name`: of the thread from now on, which
 * is copied. 0 or -ENOMEM. */
int unheard_on_exec(struct unheard *unheard, pid_t pid, const char *name);
void unheard_on_mmap(struct unheard *unheard, pid_t pid, const char *path);
void unheard_on_exit(struct unheard *unheard, pid_t pid);

/* Events were lost: what processes execute just now is not known. */
void unheard_forget(struct unheard *unheard);

/* Recording ends: counts the programs that still run. */
void unheard_finish(struct unheard *unheard);

/* Returns how many there were. */
uint64_t unheard_count(const struct unheard *unheard);

/* Warns, if there were any. */
void unheard_warn(const struct unheard *unheard);

#endif
