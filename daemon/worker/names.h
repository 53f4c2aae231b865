/* SPDX-License-Identifier: MIT */
/*
 * Finds the names of locations for the archive: in a worker (names_there_new()) or, where there are
 * no workers (bench/forget.c), in the calling thread (names_here_new()).
 */
#ifndef WORKER_NAMES_H
#define WORKER_NAMES_H

#include "daemon/worker/fetcher.h"
#include "daemon/worker/worker.h"
#include "sym/naming.h"

struct names {
	int (*open)(struct names *names, struct naming **ret_naming);
	uint64_t (*cpu_ns)(struct names *names);
	void (*counts)(struct names *names, struct workers_counts *ret_counts);
	void (*hurry)(struct names *names);
	void (*stop)(struct names *names, bool stops);
	void (*free)(struct names *names);
	bool is_lost;
};

/* The workers are borrowed, and so is the fetcher of debug files; NULL: none. 0 or -ENOMEM. */
int names_there_new(struct workers *workers, struct fetcher *fetcher, struct names **ret_names);
int names_here_new(struct names **ret_names); /* 0 or -ENOMEM */

/* Returns whether names_lose() was called. NULL: it was not. */
static inline bool names_is_lost(const struct names *names)
{
	return names && names->is_lost;
}

static inline void names_free(struct names *names) /* NULL is fine */
{
	if (names && !names_is_lost(names))
		names->free(names);
}

/* Makes a naming (sym/naming.h: it finds names of locations). The caller owns it, and frees it
 * before it frees `names`. 0 or -ENOMEM. */
static inline int names_open(struct names *names, struct naming **ret_naming)
{
	return names->open(names, ret_naming);
}

/* Returns the CPU time so far of finding names in other processes. Any thread. */
static inline uint64_t names_cpu_ns(struct names *names)
{
	return names->cpu_ns(names);
}

/* Gives the counts of the workers so far; all 0 if there are none. Any thread. */
static inline void names_counts(struct names *names, struct workers_counts *ret_counts)
{
	names->counts(names, ret_counts);
}

/* From now on, fetches nothing from debuginfod servers, and ends a fetch that is under way. Any
 * thread. */
static inline void names_hurry(struct names *names)
{
	names->hurry(names);
}

/* `stops`: ends the call of a worker that is under way, whose locations get no names then, and each
 * further one; false: calls go on from now on. Any thread. */
static inline void names_stop(struct names *names, bool stops)
{
	names->stop(names, stops);
}

/* Notes that a thread which uses `names` does not end, so that neither they, nor the workers,
 * objects and kernel symbols that it uses, are ever freed. */
static inline void names_lose(struct names *names)
{
	names->is_lost = true;
}

#endif
