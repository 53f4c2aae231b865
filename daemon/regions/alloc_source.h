/* SPDX-License-Identifier: MIT */
/*
 * Decides by what allocations are recorded (docs/ALLOC.md): by libstackalloc, if the target has
 * loaded it; else by probes on the functions of its allocator; and if these are called too often
 * for probes, by page faults, mmap() and brk().
 *
 * Probes on a library that all processes share are attached for each process of the target alone,
 * because otherwise every other process would be slowed by them. Probes on a program's own
 * functions are set for all processes that run the program, so its children are recorded, too.
 */
#ifndef REGIONS_ALLOC_SOURCE_H
#define REGIONS_ALLOC_SOURCE_H

#include <stdbool.h>

#include "daemon/base/exit_status.h"
#include "daemon/regions/command_files.h"
#include "daemon/regions/regions.h"

struct alloc_source;

/* The ways by which records may come: libstackalloc, or probes on an allocator. Each way needs BPF
 * programs of its own. */
struct alloc_ways {
	bool library, probes;
};

/* Returns the ways that alloc_source_start() may choose for a target, before the BPF programs are
 * loaded: for a command only one way, chosen by its files; for running processes both, since they
 * may load libstackalloc meanwhile. */
struct alloc_ways alloc_source_ways(const struct options *options, const struct target *target);

/* Attaches to libstackalloc or to allocators, so that allocations are recorded. *ret_source is NULL
 * if the options ask for no allocations. `with` and `kernel` are borrowed. `command`: the files of
 * a command, used during the call; NULL: the target is none. Logs what fails; returns the status to
 * exit with. */
enum exit_status alloc_source_start(const struct regions_options *with,
				    const struct sampler_regions *kernel,
				    const struct command_files *command,
				    struct alloc_source **ret_source);

/* Checks whether the allocator is called too often; if so, records page faults, mmap() and brk()
 * instead. To be called in each round (session_round.c); NULL is fine. */
void alloc_source_look(struct alloc_source *source);

/* Returns when stackd stopped recording allocations (CLOCK_MONOTONIC) because there were too many;
 * 0: it still records them, or `source` is NULL. */
uint64_t alloc_source_until(const struct alloc_source *source);

/* Returns false, and logs it with the names of the files, if allocators are probed and none of
 * their functions was called, so that nothing is recorded. NULL is fine. */
bool alloc_source_was_called(const struct alloc_source *source);

/* Detaches and frees. NULL is fine. */
void alloc_source_free(struct alloc_source *source);

#endif
