/* SPDX-License-Identifier: MIT */
/*
 * Takes events and records out of the kernel's rings before there is time for them.
 *
 *   rings ──► intake ──► recorder (prefetch) ──► reorder queue
 *
 * What is done with a record as it is read can wait for a worker: its process is read, a file of it
 * is identified. The rings would fill meanwhile. To take a record needs no worker, so it is done
 * while one is waited for (fork_server_use_meanwhile()), and the record keeps its place.
 */
#ifndef DAEMON_INTAKE_H
#define DAEMON_INTAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/capture/sideband.h"
#include "stackd_abi.h"

/* Where they come from: as sideband_drain() and sampler_drain(), with `arg` for what is drained. */
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
void intake_free(struct intake *intake); /* with what it has; NULL is fine */

/* Takes all events that there are. 0, or an error of the source, or -ENOMEM. */
int intake_take_events(struct intake *intake);

/* Takes records until those that it has are of `most_bytes` or more, or there are no more. 1: it
 * has some; 0: none; or an error of the source, or -ENOMEM. */
int intake_take_records(struct intake *intake, uint64_t most_bytes);

/* Returns the oldest event, which is the caller's from now on; NULL: there is none. */
struct sideband_event *intake_event(struct intake *intake);

/* Gives the oldest record, which is the caller's from now on; NULL: it could not be read. false:
 * there is none. */
bool intake_record(struct intake *intake, struct stackd_header **ret_record);

/* Whether there are events that were taken. */
bool intake_has_events(const struct intake *intake);

/* Whether there are records that were taken. */
bool intake_has_records(const struct intake *intake);

#endif
