/* SPDX-License-Identifier: MIT */
/*
 * Writes Paraver traces. The file of records begins with a list of the CPUs, processes and threads,
 * and has a line for each moment of a thread, in order of time:
 *
 *   #Paraver (dd/mm/yyyy at hh:mm):LAST_ns:NODES(CPUS):APPLICATIONS:TASKS(THREADS:NODE,...),0
 *   2:CPU:APPLICATION:TASK:THREAD:NS:TYPE:VALUE:TYPE:VALUE...
 *
 * A process is a task; a task has only the threads that have events. Times are since the
 * recording's start. All events of a thread at one time are in one record, because only then do
 * readers connect a sample with its counters. See paraver_names.h for types and values.
 *
 * A counter's values are increments, as Extrae writes them. The first value of a thread is 0. If a
 * counter falls, no value is written, because values have no sign. The CPU at the begin of an
 * instance is unknown, so the CPU at its end is written.
 */
#include "export/export_paraver.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "export/paraver_events.h"
#include "export/paraver_names.h"
#include "model/counter_names.h"

#define DRAIN 65536 /* bytes after which a buffer is written out */

/* A thread of the trace. */
struct row {
	/* number of the task, and number of the thread in it, both from 1; 0: the thread has no
	 * events */
	uint32_t task, number;
	uint64_t last[METRIC_COUNTERS];
	uint8_t known; /* a bit for each counter: `last` has its last reading */
};

struct writer {
	struct profile *profile;
	const struct store_tables *tables;
	struct paraver_events events;
	struct paraver_names *names;
	char *counters[METRIC_COUNTERS];
	struct row *rows; /* by thread */
	uint32_t *order;  /* the threads that have events, ordered by task */
	uint32_t n_order, tasks;
	unsigned cpus;
	struct buf b;
};

static uint64_t time_of(const struct writer *w, uint64_t ns)
{
	const uint64_t start = w->tables->recording.start_ns;

	return ns > start ? ns - start : 0;
}

/* --- tasks and threads ------------------------------------------------------------------------ */

static int by_process(const void *a, const void *b, void *arg)
{
	const struct store_tables *tables = arg;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const uint32_t p = tables->threads[x].process, q = tables->threads[y].process;

	if (p != q)
		return p < q ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int number_threads(struct writer *w)
{
	uint32_t last = UINT32_MAX, number = 0;

	w->rows = calloc((size_t)w->tables->n_threads + 1, sizeof(*w->rows));
	w->order = calloc((size_t)w->tables->n_threads + 1, sizeof(*w->order));
	if (!w->rows || !w->order)
		return -ENOMEM;
	w->cpus = w->tables->recording.cpus ? w->tables->recording.cpus : 1;
	for (size_t i = 0; i < w->events.all.count; i++) {
		const struct paraver_event *event = &w->events.all.items[i];

		if (event->is_shown && !w->rows[event->thread].number) {
			w->rows[event->thread].number = 1;
			w->order[w->n_order++] = event->thread;
		}
		if (event->cpu >= w->cpus)
			w->cpus = event->cpu + 1u;
	}
	qsort_r(w->order, w->n_order, sizeof(*w->order), by_process, (void *)w->tables);
	for (uint32_t i = 0; i < w->n_order; i++) {
		const uint32_t process = w->tables->threads[w->order[i]].process;

		number = process == last ? number + 1 : 1;
		w->tasks += process != last;
		w->rows[w->order[i]].task = w->tasks;
		w->rows[w->order[i]].number = number;
		last = process;
	}
	return 0;
}

/* --- records ---------------------------------------------------------------------------------- */

static void put_header(struct writer *w)
{
	const size_t n = w->events.all.count;
	const uint64_t end = w->tables->recording.end_ns;
	const uint64_t last = n ? w->events.all.items[n - 1].time_ns : 0;
	const time_t start = (time_t)(w->tables->recording.start_unix_ns / 1000000000);
	struct tm tm = {.tm_mday = 1};
	char date[32];

	localtime_r(&start, &tm);
	strftime(date, sizeof(date), "%d/%m/%Y at %H:%M", &tm);
	text_printf(&w->b, "#Paraver (%s):%" PRIu64 "_ns:1(%u):1:%u(", date,
		    time_of(w, last > end ? last : end), w->cpus, w->tasks);
	for (uint32_t i = 0; i < w->n_order; i++) {
		const struct row *row = &w->rows[w->order[i]];

		if (i + 1 == w->n_order || w->rows[w->order[i + 1]].task != row->task)
			text_printf(&w->b, "%s%u:1", row->task > 1 ? "," : "", row->number);
	}
	text_put_raw(&w->b, "),0\n");
}

static void put_event(struct writer *w, unsigned type, uint64_t value)
{
	text_printf(&w->b, ":%u:%" PRIu64, type, value);
}

static void put_end(struct writer *w)
{
	put_event(w, PARAVER_REGION, PARAVER_ENDS);
	put_event(w, PARAVER_REGION_LINE, PARAVER_ENDS);
}

static int put_begin(struct writer *w, const struct paraver_event *event)
{
	const uint32_t node = w->events.instances.items[event->instance].node;
	uint32_t function = PARAVER_UNKNOWN, line = PARAVER_UNKNOWN;
	const struct profile_frame *frames;
	size_t n;
	int err = 0;

	if (node) {
		frames = profile_location_frames(w->profile, w->tables->nodes[node].location, &n);
		err = frames ? paraver_names_frame(w->names, frames, 0, &function, &line) : -ENOMEM;
	}
	put_event(w, PARAVER_REGION, function);
	put_event(w, PARAVER_REGION_LINE, line);
	return err;
}

/* Writes the innermost frames of a sample, one for each of the PARAVER_LEVELS types. Returns 0 or
 * -ENOMEM. */
static int put_sample(struct writer *w, const struct paraver_event *event)
{
	size_t n;
	const struct profile_frame *frames = profile_frames(
		w->profile, event->sample.node, event->detail, event->sample.origin, &n);

	if (!frames)
		return -ENOMEM;
	for (size_t i = 0; i < n && i < PARAVER_LEVELS; i++) {
		uint32_t function, line;

		if (paraver_names_frame(w->names, &frames[n - 1 - i], (unsigned)i, &function,
					&line))
			return -ENOMEM;
		put_event(w, PARAVER_CALLER + (unsigned)i, function);
		put_event(w, PARAVER_CALLER_LINE + (unsigned)i, line);
	}
	return 0;
}

/* By how much the counters of a thread grew at one time. */
struct advance {
	uint64_t more[METRIC_COUNTERS];
	uint8_t shown; /* a bit for each counter: the record has its increment */
};

static void take_reading(struct writer *w, const struct paraver_event *event, struct advance *a)
{
	struct row *row = &w->rows[event->thread];
	const uint8_t bit = (uint8_t)(1u << event->detail);
	const int64_t more =
		row->known & bit ? (int64_t)(event->reading - row->last[event->detail]) : 0;

	row->last[event->detail] = event->reading;
	row->known |= bit;
	if (!event->is_shown || more < 0)
		return;
	a->more[event->detail] += (uint64_t)more;
	a->shown |= bit;
}

static void put_advance(struct writer *w, struct advance *a)
{
	for (unsigned i = 0; i < METRIC_COUNTERS; i++)
		if (a->shown >> i & 1)
			put_event(w, PARAVER_COUNTER + i, a->more[i]);
	a->shown = 0;
}

static int put_one(struct writer *w, const struct paraver_event *event, struct advance *a)
{
	int err = 0;

	if (event->kind == PARAVER_READING)
		take_reading(w, event, a);
	if (!event->is_shown)
		return 0;
	if (event->kind == PARAVER_BEGIN || event->kind == PARAVER_BRIEF)
		err = put_begin(w, event);
	if (event->kind == PARAVER_END || event->kind == PARAVER_BRIEF)
		put_end(w);
	if (event->kind == PARAVER_SAMPLE) {
		put_advance(w, a);
		err = put_sample(w, event);
	}
	return err;
}

/* Appends one record of the events from `at` on that have the same time and thread, with at most
 * one sample among them; appends nothing if none of the events is shown. Returns the number of
 * these events, or -ENOMEM. */
static int64_t put_record(struct writer *w, size_t at)
{
	const struct paraver_event *first = &w->events.all.items[at], *event = first;
	const struct row *row = &w->rows[first->thread];
	const size_t start = w->b.len;
	struct advance advance = {0};
	size_t head, i = at;
	int err = 0;

	text_printf(&w->b, "2:%u:1:%u:%u:%" PRIu64, first->cpu + 1u, row->task, row->number,
		    time_of(w, first->time_ns));
	head = w->b.len;
	do {
		err = put_one(w, event, &advance);
		event = ++i < w->events.all.count ? &w->events.all.items[i] : NULL;
	} while (!err && event && event[-1].kind != PARAVER_SAMPLE &&
		 event->thread == first->thread && event->time_ns == first->time_ns);
	put_advance(w, &advance);
	if (w->b.len == head)
		w->b.len = start;
	else
		text_put_raw(&w->b, "\n");
	return err ? err : (int64_t)(i - at);
}

static int write_records(struct writer *w, FILE *out)
{
	int err = 0;

	put_header(w);
	for (size_t i = 0; i < w->events.all.count && !err;) {
		const int64_t n = put_record(w, i);

		if (n < 0)
			return (int)n;
		i += (size_t)n;
		if (w->b.len >= DRAIN)
			err = text_flush(&w->b, out);
	}
	return err ? err : text_flush(&w->b, out);
}

/* --- the other files -------------------------------------------------------------------------- */

/* Writes the .row file: the names of the CPUs, the host, the processes and the threads, one on a
 * line. */
static int write_rows(struct writer *w, FILE *out)
{
	const struct store_tables *t = w->tables;
	const char *host = t->recording.host && *t->recording.host ? t->recording.host : "host";

	text_printf(&w->b, "LEVEL CPU SIZE %u\n", w->cpus);
	for (unsigned i = 0; i < w->cpus; i++) {
		text_printf(&w->b, "%u.", i + 1);
		text_put_ascii(&w->b, host);
		text_put_raw(&w->b, "\n");
	}
	text_put_raw(&w->b, "\nLEVEL NODE SIZE 1\n");
	text_put_ascii(&w->b, host);
	text_printf(&w->b, "\n\nLEVEL TASK SIZE %u\n", w->tasks);
	for (uint32_t i = 0; i < w->n_order; i++) {
		const struct store_process *process =
			&t->processes[t->threads[w->order[i]].process];

		if (w->rows[w->order[i]].number > 1)
			continue;
		text_printf(&w->b, "1.%u ", w->rows[w->order[i]].task);
		text_put_ascii(&w->b, process->comm ? process->comm : "");
		text_printf(&w->b, " %d\n", process->pid);
	}
	text_printf(&w->b, "\nLEVEL THREAD SIZE %u\n", w->n_order);
	for (uint32_t i = 0; i < w->n_order; i++) {
		const struct store_thread *thread = &t->threads[w->order[i]];

		text_printf(&w->b, "1.%u.%u ", w->rows[w->order[i]].task,
			    w->rows[w->order[i]].number);
		text_put_ascii(&w->b, thread->comm ? thread->comm : "");
		text_printf(&w->b, " %d\n", thread->tid);
	}
	return text_flush(&w->b, out);
}

static int write_all(struct writer *w, FILE *const files[EXPORT_PARAVER_FILES])
{
	int err = paraver_events_make(w->profile, &w->events);

	if (!err)
		err = paraver_names_new(&w->names);
	if (!err)
		err = counter_names_find(w->tables, w->counters);
	if (!err)
		err = number_threads(w);
	if (!err && !w->n_order)
		err = -ENODATA;
	if (!err)
		err = write_records(w, files[EXPORT_PARAVER_PRV]);
	if (!err)
		err = write_rows(w, files[EXPORT_PARAVER_ROW]);
	if (err)
		return err;
	paraver_names_put(w->names, w->counters, &w->b);
	return text_flush(&w->b, files[EXPORT_PARAVER_PCF]);
}

int export_paraver(struct profile *profile, FILE *const files[EXPORT_PARAVER_FILES])
{
	struct writer w = {.profile = profile, .tables = profile_tables(profile)};
	int err = write_all(&w, files);

	for (unsigned i = 0; i < EXPORT_PARAVER_FILES && !err; i++)
		err = fflush(files[i]) != 0 ? -EIO : 0;
	paraver_events_free(&w.events);
	paraver_names_free(w.names);
	counter_names_free(w.counters);
	free(w.rows);
	free(w.order);
	buf_free(&w.b);
	return err;
}
