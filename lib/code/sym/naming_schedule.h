/* SPDX-License-Identifier: MIT */
/*
 * Decides when the locations of a recording that is still being made get their names.
 *
 * Reading the symbols of a large file takes longer than all other work for a batch of locations,
 * and symbols are too large to stay in memory (naming_limit()). So locations wait, and are named
 * together, object by object:
 *
 *   - locations of the kernel and of JIT code are named as they come: their names are in memory,
 *     or may be gone with their process;
 *   - others are named in rounds. A round that took t of CPU time is followed by a pause of 200 t,
 *     a minute at most: symbolization costs 0.5% of a CPU at most;
 *   - locations of expensive objects, whose symbols would displace others, wait for a whole minute,
 *     so a recording that is shorter reads those symbols once, at its end.
 *
 * Locations of files that are about to be closed are named first, without a pause before
 * (object_want_names()); the next pause is longer for it.
 *
 * Naming stops where other work waits for it (naming_schedule_options.is_late): what is left is
 * named in the next round; what is left at the end has no name.
 *
 * JIT code that had no name when it came is queried again in each round, and once at the end; so is
 * code of a file that had other code when it was queried.
 *
 * The schedule has no thread and reads no clock: the caller decides when a round may run, and
 * passes the clocks, so tests pass theirs.
 */
#ifndef SYM_NAMING_SCHEDULE_H
#define SYM_NAMING_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "proc/object.h"
#include "store/store.h"
#include "sym/naming.h"

struct naming_schedule;

struct naming_schedule_options {
	struct naming *naming; /* borrowed */

	/* Return nanoseconds of a monotonic clock, and of the calling thread's CPU time. */
	uint64_t (*now_ns)(void *arg);
	uint64_t (*cpu_ns)(void *arg);

	/* Receives each line of a location, as in naming_resolve(). A nonzero result stops the
	 * current call, which returns it. */
	int (*each)(void *arg, const struct store_line *line);

	/* Receives, once for each object, the name of a debug file that was missing for its names
	 * (see naming_missing()). Nonzero results as with each(). NULL: not wanted. */
	int (*missing)(void *arg, const struct object *object, const char *name);
	/* Returns whether other work waits until this call returns. If so, the call ends after the
	 * locations that it has begun with, at least NAMING_PREFETCH. NULL: no work waits. */
	bool (*is_late)(void *arg);
	void *arg; /* passed to the functions above */
};

/* Makes a schedule; the options are copied. Returns 0 or -ENOMEM. */
int naming_schedule_new(const struct naming_schedule_options *options,
			struct naming_schedule **ret_schedule);
void naming_schedule_free(struct naming_schedule *schedule); /* NULL is fine */

/* Adds the next object: the first has number 0, and so on. It is borrowed until the schedule is
 * freed. Returns 0 or -ENOMEM. */
int naming_schedule_add_object(struct naming_schedule *schedule, const struct object *object);

/* Adds a location of an object that was added: names it, or queues it for a round. Returns 0,
 * -ENOMEM, or what `each` returned. */
int naming_schedule_add_location(struct naming_schedule *schedule,
				 const struct store_location *location);

/* Runs a round if one is due, or goes on with a round that stopped early. Returns 0, -ENOMEM, or
 * what `each` returned. */
int naming_schedule_run(struct naming_schedule *schedule);

/* Names all locations that are queued, at the end of a recording, as far as is_late() lets it; of
 * files none, if it says so at once.
 * Returns 0, -ENOMEM, or what `each` returned. */
int naming_schedule_finish(struct naming_schedule *schedule);

/* Returns, after naming_schedule_finish(), the number of locations that it had no time for, and of
 * those without a name whose file was closed before they were asked for, or of which
 * naming_is_unfetched(). */
size_t naming_schedule_left(const struct naming_schedule *schedule);

#endif
