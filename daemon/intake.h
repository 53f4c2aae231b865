/* SPDX-License-Identifier: MIT */
/*
 * Takes events and records out of the kernel's rings before the loop has time to handle them.
 *
 *   rings ──► intake ──► recorder (prefetch) ──► reorder queue
 *
 * To handle an event or a record, the loop may have to wait for a worker, which identifies a file
 * for example. The rings would fill meanwhile. Taking a record out of a ring needs no worker, so
 * the loop does that while it waits (fork_server_use_meanwhile()). It handles records later, in the
 * order in which it has taken them.
 */
#ifndef DAEMON_INTAKE_H
#define DAEMON_INTAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/capture/sideband.h"
#include "stackd_abi.h"

/* The rings: `events` does what sideband_drain() does, and `records` what sampler_drain() does, but
 * both get `arg` first, and pass `intake` to `each`. */
struct intake_source {
	int (*events)(void *arg, int (*each)(void *intake, struct sideband_event *event),
		      void *intake);
	int (*records)(void *arg, int (*each)(void *intake, struct stackd_header *record),
		       void *intake);
	void *arg;
};

struct intake;

/* `source` is copied. 0 or -ENOMEM. */
int intake_new(const struct intake_source *source, struct intake **ret_intake);
void intake_free(struct intake *intake); /* also frees the events and records in it; NULL is fine */

/* Takes all events that have arrived out of their ring. 0; the error of source.events();
 * -ENOMEM. */
int intake_take_events(struct intake *intake);

/* Takes all events that have arrived out of their ring, and hands those that the intake has then to
 * `each`, the oldest one first, which owns them. Events that are taken while it runs are left for
 * the next call: else it would not end while they come faster than they are handled. 0; the first
 * result of `each` that is not 0, which ends it; or an error of intake_take_events(). `is_over`
 * ends it early, too; NULL: nothing does. */
int intake_handle_events(struct intake *intake,
			 int (*each)(void *arg, struct sideband_event *event),
			 bool (*is_over)(void *arg), void *arg);

/* Takes records out of their ring until the intake holds `most_bytes` of them, or the ring is
 * empty. 1: the intake holds records; 0: it holds none; the error of source.records(); -ENOMEM. */
int intake_take_records(struct intake *intake, uint64_t most_bytes);

/* Returns the oldest event, which the caller owns from now on; NULL: there is none. */
struct sideband_event *intake_event(struct intake *intake);

/* Gives the oldest record, which the caller owns from now on; *ret_record is NULL for a record that
 * could not be read (sampler_drain()). false: the intake has no record. */
bool intake_record(struct intake *intake, struct stackd_header **ret_record);

/* Returns whether it holds events. */
bool intake_has_events(const struct intake *intake);

/* Returns whether it holds records. */
bool intake_has_records(const struct intake *intake);

#endif
