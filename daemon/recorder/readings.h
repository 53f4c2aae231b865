/* SPDX-License-Identifier: MIT */
/*
 * A reading is the values that a thread's counters (--counter) have at the end of a pass through a
 * region (bpf/reading.bpf.h). This keeps a reading until the pass's record comes, and turns it into
 * rows. A row's value is the difference from the thread's previous reading, since a difference is
 * stored in one or two bytes, and the value itself would take eight. A thread's first row has 0.
 * Its first row in a later window has the difference from the last reading in the window before, so
 * a reader of both windows knows the total of the burst (the thread's time between two passes) that
 * begins in one window and ends in the next.
 */
#ifndef RECORDER_READINGS_H
#define RECORDER_READINGS_H

#include "daemon/recorder/outbox.h"
#include "stackd_abi.h"

struct readings;

struct readings *readings_new(void);	       /* NULL without memory */
void readings_free(struct readings *readings); /* NULL is fine */

/* Keeps a reading until readings_keep() is called for its record, in place of the one that was
 * kept. */
void readings_take(struct readings *readings, const struct stackd_reading *reading);

/* If the kept reading belongs to a record, because both have the same thread and time, adds the
 * reading's rows to the outbox. `row` is the record's. 0 or -ENOMEM. */
int readings_keep(struct readings *readings, struct outbox *outbox,
		  const struct stackd_header *record, const struct store_sample *row);

/* Begins a window of the recording, in which threads have other numbers. Forgets the threads that
 * had no reading in the previous window. */
void readings_begin_anew(struct readings *readings);

#endif
