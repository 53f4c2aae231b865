/* SPDX-License-Identifier: MIT */
/* Makes rows of readings; see readings.h. */
#include "daemon/recorder/readings.h"

#define HASH_NONFATAL_OOM 1
#include <errno.h>
#include <stdlib.h>
#include <uthash.h>

#include "daemon/capture/record.h"

_Static_assert(METRIC_COUNTERS == STACKD_MOST_COUNTERS, "each counter has its series");

/* The last reading of a thread that was turned into rows. The key is the thread's id, because in
 * the next window of the recording the thread has another number, while its counters go on. */
struct last {
	uint32_t tid;
	uint32_t thread;   /* number, in the window of the last reading */
	uint8_t known;	   /* bits: counters whose value is known */
	bool is_of_window; /* the reading is of this window */
	uint64_t values[STACKD_MOST_COUNTERS];
	UT_hash_handle hh;
};

struct readings {
	struct stackd_reading waiting; /* the reading whose record comes next */
	bool is_waiting;
	struct last *threads;
};

struct readings *readings_new(void)
{
	return calloc(1, sizeof(struct readings));
}

void readings_begin_anew(struct readings *r)
{
	struct last *last, *next;

	HASH_ITER (hh, r->threads, last, next) {
		if (last->is_of_window) {
			last->is_of_window = false;
			continue;
		}
		HASH_DEL(r->threads, last);
		free(last);
	}
}

void readings_free(struct readings *r)
{
	struct last *last, *next;

	if (!r)
		return;
	HASH_ITER (hh, r->threads, last, next) {
		HASH_DEL(r->threads, last);
		free(last);
	}
	free(r);
}

void readings_take(struct readings *r, const struct stackd_reading *reading)
{
	memcpy(&r->waiting, reading, record_size(&reading->header));
	r->is_waiting = true;
}

/* Returns whether the last reading under this thread id was another thread's. If it is of the same
 * window, that thread has another number; if of an earlier window, that thread had used more CPU
 * time (the first counter) than this reading has. */
static bool is_another(const struct last *last, const struct stackd_reading *reading,
		       uint32_t thread)
{
	if (last->is_of_window)
		return last->thread != thread;
	return reading->known & last->known & 1 && reading->values[0] < last->values[0];
}

/* Returns the entry for the last reading of a thread, and makes it if there is none; NULL without
 * memory. */
static struct last *last_of(struct readings *r, const struct stackd_reading *reading,
			    uint32_t thread)
{
	uint32_t tid = reading->header.tid;
	struct last *last;

	HASH_FIND_INT(r->threads, &tid, last);
	if (!last) {
		last = calloc(1, sizeof(*last));
		if (!last)
			return NULL;
		last->tid = tid;
		HASH_ADD_INT(r->threads, tid, last);
	} else if (is_another(last, reading, thread)) {
		last->known = 0;
	}
	last->thread = thread;
	last->is_of_window = true;
	return last;
}

static int add(struct outbox *outbox, unsigned series, uint64_t value, struct store_sample row)
{
	row.period = value;
	return outbox_keep_record(outbox, (enum metric_series)series, &row);
}

int readings_keep(struct readings *r, struct outbox *outbox, const struct stackd_header *record,
		  const struct store_sample *row)
{
	const struct stackd_reading *reading = &r->waiting;
	struct last *last;
	int err = 0;

	if (!r->is_waiting || reading->header.tid != record->tid ||
	    reading->header.time_ns != record->time_ns)
		return 0;
	r->is_waiting = false;
	last = last_of(r, reading, row->thread);
	if (!last)
		return -ENOMEM;
	for (unsigned i = 0; i < reading->n && i < STACKD_MOST_COUNTERS && !err; i++) {
		const bool is_first = !(last->known >> i & 1);

		if (!(reading->known >> i & 1))
			continue;
		err = add(outbox, SERIES_READING + i,
			  is_first ? 0 : reading->values[i] - last->values[i], *row);
		last->values[i] = reading->values[i];
		last->known |= (uint8_t)(1u << i);
		if (!err && reading->is_end && reading->passed_known >> i & 1)
			err = add(outbox, SERIES_PASSED + i, reading->passed[i], *row);
	}
	return err;
}
