/* SPDX-License-Identifier: MIT */
/*
 * Finds the names of a recording's locations in a thread of its own (sym/naming_schedule.h), so
 * that commits wait neither for a worker that reads debug information nor for a server or a disk.
 *
 *   the archive's thread ── objects, locations ──► namer ──► workers
 *                        ◄── lines ───────────────
 *
 * One thread, the archive's, calls these functions.
 */
#ifndef ARCHIVE_NAMER_H
#define ARCHIVE_NAMER_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/archive/batch.h"
#include "daemon/worker/names.h"
#include "sym/kallsyms.h"

struct namer;

/* `names` is borrowed, as long as names_is_lost() says no. 0 or -errno. */
int namer_new(struct names *names, struct namer **ret_namer);

/* Ends the thread; what has no name yet gets none. A thread that does not end within some seconds,
 * since a file system does not answer, is left behind, with all that it uses. NULL is fine. */
void namer_free(struct namer *namer);

/* Sets the share of a core that finding names may take in the long run, also at the end of a
 * recording; 0: no limit, as at first. Unless `keeps_saved`, what was saved is given up. Names of
 * the kernel and of JIT code are found whatever was spent. Any thread. */
void namer_set_share(struct namer *namer, double cpu_share, bool keeps_saved);

/* Hands over the objects and locations of a batch. `ksyms`: the kernel's symbols; NULL: not loaded.
 * If some of the locations are of the kernel or of JIT code, waits for their names, at most a fifth
 * of a second. 0 or -ENOMEM, which the thread may have met before. */
int namer_add(struct namer *namer, const struct batch *batch, const struct kallsyms *ksyms);

/* What becomes of names. Results other than 0 end the call. */
struct namer_taker {
	int (*line)(void *arg, const struct store_line *line);
	/* the name of a debug file that an object lacks */
	int (*missing)(void *arg, const struct object *object, const char *name);
	void *arg;
};

/* Hands out the names that were found since the last call. 0, -ENOMEM, or the taker's result. */
int namer_take(struct namer *namer, const struct namer_taker *taker);

/* Returns when the last name was found, or looked for in vain (CLOCK_MONOTONIC). Any thread. */
uint64_t namer_heard_ns(const struct namer *namer);

/* Waits until all locations have been looked up, their share of CPU time is used up, or `is_late`
 * says that there is no more time; then
 * hands out the names, and forgets all objects and locations: the next batch is of another
 * recording. *ret_left: the number of locations that were not looked up, at least 1 if time was
 * short. Result as of namer_take().
 */
int namer_finish(struct namer *namer, bool (*is_late)(void *arg), void *arg,
		 const struct namer_taker *taker, uint64_t *ret_left);

#endif
