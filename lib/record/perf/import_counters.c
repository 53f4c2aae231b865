/* SPDX-License-Identifier: MIT */
/* Differences between readings of perf's counters; see import_counters.h. */
#include "perf/import_counters.h"

#define HASH_NONFATAL_OOM 1
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/* The last reading of a counter in a thread. */
struct last {
	uint64_t key; /* thread << 32 | counter */
	uint64_t id, value, enabled_ns, running_ns;
	UT_hash_handle hh;
};

struct import_counters {
	struct last *last;
	uint32_t events[METRIC_COUNTERS]; /* by counter: index of its event */
	uint32_t n, left_out;
	uint32_t *others; /* indices of events that there is no room for */
};

struct import_counters *import_counters_new(void)
{
	return calloc(1, sizeof(struct import_counters));
}

void import_counters_free(struct import_counters *counters)
{
	struct last *last, *next;

	if (!counters)
		return;
	HASH_ITER (hh, counters->last, last, next) {
		HASH_DEL(counters->last, last);
		free(last);
	}
	free(counters->others);
	free(counters);
}

uint32_t import_counters_left_out(const struct import_counters *counters)
{
	return counters->left_out;
}

/* Adds an event to those that there is no room for. */
static int leave_out(struct import_counters *c, uint32_t event)
{
	uint32_t *others;

	for (uint32_t i = 0; i < c->left_out; i++) {
		if (c->others[i] == event)
			return 0;
	}
	others = realloc(c->others, (c->left_out + 1) * sizeof(*others));
	if (!others)
		return -ENOMEM;
	c->others = others;
	others[c->left_out++] = event;
	return 0;
}

/* Gives the number of an event's counter, which is made when it is first needed; METRIC_COUNTERS:
 * there are too many, so the event is left out. Two events of the same name in two groups are two
 * counters. Returns 0 or -ENOMEM. */
static int counter_of(struct import_counters *c, uint32_t event, uint32_t *ret_counter)
{
	uint32_t i = 0;

	while (i < c->n && c->events[i] != event)
		i++;
	*ret_counter = i;
	if (i == METRIC_COUNTERS)
		return leave_out(c, event);
	if (i == c->n)
		c->events[c->n++] = event;
	return 0;
}

static struct last *last_of(struct import_counters *c, uint32_t thread, uint32_t counter)
{
	uint64_t key = (uint64_t)thread << 32 | counter;
	struct last *last;

	HASH_FIND(hh, c->last, &key, sizeof(key), last);
	if (last)
		return last;
	last = calloc(1, sizeof(*last));
	if (!last)
		return NULL;
	last->key = key;
	HASH_ADD(hh, c->last, key, sizeof(key), last);
	if (!last->hh.tbl) {
		free(last);
		return NULL;
	}
	last->id = UINT64_MAX; /* no counter has this id */
	return last;
}

/* Returns in how much of the time since the thread's previous value a counter counted, in units of
 * 1 / METRIC_COUNTED; 0: the difference is not known. */
static uint64_t counted(const struct last *last, const struct perfdata_count *count,
			const struct perfdata_sample *s)
{
	uint64_t enabled = s->enabled_ns - last->enabled_ns;
	uint64_t running = s->running_ns - last->running_ns;

	if (count->id != last->id || count->value < last->value)
		return 0;
	if (!s->has_times)
		return METRIC_COUNTED;
	if (s->enabled_ns < last->enabled_ns || s->running_ns < last->running_ns || !running)
		return 0;
	if (running >= enabled)
		return METRIC_COUNTED;
	return (uint64_t)((double)running / (double)enabled * METRIC_COUNTED);
}

static int keep_one(struct last *last, uint32_t counter, const struct perfdata_count *count,
		    const struct perfdata_sample *s, struct store_sample row,
		    struct store_writer *writer)
{
	uint64_t part = counted(last, count, s);
	int err;

	row.period = part ? count->value - last->value : 0;
	err = store_writer_record(writer, SERIES_READING + counter, &row);
	row.period = part;
	if (!err)
		err = store_writer_record(writer, SERIES_COUNTED + counter, &row);
	last->id = count->id;
	last->value = count->value;
	last->enabled_ns = s->enabled_ns;
	last->running_ns = s->running_ns;
	return err;
}

int import_counters_keep(struct import_counters *c, struct perfdata *reader,
			 const struct perfdata_record *record, const struct store_sample *row,
			 struct store_writer *writer)
{
	const struct perfdata_sample *s = &record->sample;
	int err = 0;

	for (size_t i = 0; i < s->n_counts && !err; i++) {
		struct perfdata_count count = perfdata_count_at(reader, record->event, s, i);
		struct last *last;
		uint32_t counter;

		if (count.event == PERFDATA_NO_EVENT)
			continue;
		err = counter_of(c, count.event, &counter);
		if (err || counter == METRIC_COUNTERS)
			continue;
		last = last_of(c, row->thread, counter);
		err = last ? keep_one(last, counter, &count, s, *row, writer) : -ENOMEM;
	}
	return err;
}

int import_counters_names(const struct import_counters *c, struct perfdata *reader,
			  struct store_writer *writer)
{
	int err = 0;

	for (uint32_t i = 0; i < c->n && !err; i++) {
		const char *event = perfdata_event(reader, c->events[i])->name;
		char *name, group[24] = "";
		uint32_t of_name = 1;

		for (uint32_t k = 0; k < i; k++)
			of_name += !strcmp(event, perfdata_event(reader, c->events[k])->name);
		if (of_name > 1)
			snprintf(group, sizeof(group), " (%u)", of_name);
		if (asprintf(&name, "counter.%u.%s%s", i, *event ? event : "event", group) < 0)
			return -ENOMEM;
		err = store_writer_counter(writer, name, 1);
		free(name);
	}
	return err;
}
