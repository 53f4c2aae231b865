/* SPDX-License-Identifier: MIT */
/*
 * Readings of counters (bpf/reading.bpf.h): keeps each until the record that it belongs to comes,
 * and turns it into rows. A row's value is the difference from the thread's previous reading:
 * stored in one or two bytes, where the reading itself would take eight. A thread's first row has
 * 0. Its first row in a later window has the difference from the last reading in the window before,
 * so a reader of both windows knows the total of a burst that crosses from one into the other.
 */
#ifndef RECORDER_READINGS_H
#define RECORDER_READINGS_H

#include "daemon/recorder/outbox.h"
#include "stackd_abi.h"

struct readings;

struct readings *readings_new(void);	       /* NULL without memory */
void readings_free(struct readings *readings); /* NULL is fine */

/* Takes a reading. */
void readings_take(struct readings *readings, const struct stackd_reading *reading);

/* Adds the rows of the reading that belongs to a record, if there is one: it has the same thread
 * and time. `row` is the record's. 0 or -ENOMEM. */
int readings_keep(struct readings *readings, struct outbox *outbox,
		  const struct stackd_header *record, const struct store_sample *row);

/* Begins a window, in which threads have other numbers. Forgets the threads that had no reading in
 * the window before. */
void readings_begin_anew(struct readings *readings);

#endif
