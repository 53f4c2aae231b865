/* SPDX-License-Identifier: MIT */
/*
 * Leaves out processes and threads that no record is of, and that have ended before anybody could
 * look at them.
 *
 * A build, or a user who means harm, starts thousands of processes a second. Each has some ten
 * side-band events, and to follow them takes stackd a tenth of a millisecond a process: files are
 * looked at, mappings copied, and all of it is thrown away at the exit. Few of these processes are
 * ever sampled. So the events of a process that has begun are kept apart, until one of these:
 *
 *   a record of it was read        its events are passed on, after those of its parent
 *   it runs when all events so     the same: its files are looked at while it runs
 *   far were taken
 *   it has ended, and all records  its events are freed; nothing is lost
 *   of its time were read
 *   it has ended, but its records  its events are passed on with those of its time
 *   are read later than these are
 *   needed
 *
 * The same holds for a thread that an older process has started: its records would name it, and it
 * has none.
 *
 * Only a process that has called exec before it mapped anything is left out: a child that shares
 * its parent's memory would else change the parent's mappings.
 */
#ifndef DAEMON_SHORT_LIVED_H
#define DAEMON_SHORT_LIVED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/capture/sideband.h"

struct short_lived;

/* `pass_on` is called with `arg` and each event that is not left out; it owns the event then.
 * 0 or -ENOMEM. */
int short_lived_new(int (*pass_on)(void *arg, struct sideband_event *event), void *arg,
		    struct short_lived **ret_short_lived);
void short_lived_free(struct short_lived *s); /* also frees the events; NULL is fine */

/* Takes an event. Events come in the order of time, as far as they were there in time. Returns 0 or
 * the error of `pass_on`, as the next two and
 * short_lived_pass_before() do. */
int short_lived_event(struct short_lived *s, struct sideband_event *event);

/* All events that have arrived so far were given: passes on those of processes that run. */
int short_lived_pass_living(struct short_lived *s);

/* Passes on the events of a process and of its thread, of which a record was read. */
int short_lived_pass(struct short_lived *s, pid_t pid, pid_t tid);

/* Frees the events of processes that have ended before `before_ns`: all older records were read. */
void short_lived_forget(struct short_lived *s, uint64_t before_ns);

/* Passes on the events of processes that have begun before `before_ns`. To be called behind
 * short_lived_forget(), if older events will be handed out now, but not all records were read: the
 * events of a process that a later record is of would come too late, after an exec of its parent,
 * say. */
int short_lived_pass_before(struct short_lived *s, uint64_t before_ns);

/* Returns whether there is no room for the events of further processes. */
bool short_lived_is_full(const struct short_lived *s);

/* Returns how many processes and threads were left out so far. */
uint64_t short_lived_count(const struct short_lived *s);

#endif
