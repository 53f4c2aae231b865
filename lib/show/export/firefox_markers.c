/* SPDX-License-Identifier: MIT */
/*
 * Collects and writes markers; see firefox_markers.h. A marker is an interval with a name and a
 * text:
 *
 *   a pass through a region   its function
 *   a wait                    "blocked" or "runnable"; the text is what the thread waited for
 *
 * Markers are sorted by thread and begin.
 */
#include "export/firefox_markers.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "export/paraver_events.h"
#include "model/waits.h"

struct marker {
	uint64_t begin_ns, end_ns;
	const char *name, *text; /* of the profile; `text` NULL: a region */
	uint32_t thread;
	uint32_t string; /* the number of the name */
};

struct firefox_markers {
	struct profile *profile;
	VEC(struct marker) all;
};

static int add(struct firefox_markers *m, const struct marker *marker)
{
	if (VEC_RESERVE(&m->all, 1))
		return -ENOMEM;
	m->all.items[m->all.count++] = *marker;
	return 0;
}

static int add_regions(struct firefox_markers *m)
{
	const struct store_tables *t = profile_tables(m->profile);
	struct paraver_events events = {0};
	int err = paraver_events_make(m->profile, &events);

	for (size_t i = 0; i < events.instances.count && !err; i++) {
		const struct paraver_instance *pass = &events.instances.items[i];
		const struct profile_frame *frames;
		size_t n;

		if (!pass->is_shown || !pass->node)
			continue;
		frames = profile_location_frames(m->profile, t->nodes[pass->node].location, &n);
		err = frames && n ? add(m, &(struct marker){.begin_ns = pass->start_ns,
							    .end_ns = pass->end_ns,
							    .thread = pass->thread,
							    .name = frames[0].symbol->name})
				  : -ENOMEM;
	}
	paraver_events_free(&events);
	return err;
}

static int add_wait(struct firefox_markers *m, uint32_t thread, const struct wait *wait,
		    const char *name)
{
	const struct profile_frame *frames;
	size_t n;

	if (!wait->is_chosen)
		return 0;
	frames = profile_frames(m->profile, wait->record.node, wait->record.end_reason,
				wait->record.origin, &n);
	if (!frames)
		return -ENOMEM;
	n = profile_wait_depth(frames, n);
	return add(m, &(struct marker){.begin_ns = wait->begin_ns,
				       .end_ns = wait->end_ns,
				       .thread = thread,
				       .name = name,
				       .text = n ? frames[n - 1].symbol->name : ""});
}

static int add_waits(struct firefox_markers *m)
{
	struct waits waits = {0};
	int err = waits_make(m->profile, true, &waits);

	for (uint32_t i = 0; i < waits.n_threads && !err; i++) {
		const struct wait_lane *lane = &waits.lanes[i];

		for (size_t at = 0; at < lane->blocked.count && !err; at++)
			err = add_wait(m, i, &lane->blocked.items[at], "blocked");
		for (size_t at = 0; at < lane->runnable.count && !err; at++)
			err = add_wait(m, i, &lane->runnable.items[at], "runnable");
	}
	waits_free(&waits);
	return err;
}

static int by_thread(const void *a, const void *b)
{
	const struct marker *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

int firefox_markers_new(struct profile *profile, struct firefox_markers **ret_markers)
{
	struct firefox_markers *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->profile = profile;
	err = add_regions(m);
	if (!err)
		err = add_waits(m);
	if (m->all.count)
		qsort(m->all.items, m->all.count, sizeof(*m->all.items), by_thread);
	*ret_markers = m;
	return err;
}

void firefox_markers_free(struct firefox_markers *m)
{
	if (m)
		free(m->all.items);
	free(m);
}

int firefox_markers_intern(struct firefox_markers *m, struct strings *strings)
{
	int err = 0;

	for (size_t i = 0; i < m->all.count && !err; i++)
		err = strings_intern(strings, m->all.items[i].name, &m->all.items[i].string);
	return err;
}

/* Returns the first marker of a thread, or of the threads behind it. */
static size_t first_of(const struct firefox_markers *m, uint32_t thread)
{
	size_t from = 0, to = m->all.count;

	while (from < to) {
		const size_t middle = from + (to - from) / 2;

		if (m->all.items[middle].thread < thread)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

bool firefox_markers_has(const struct firefox_markers *m, uint32_t thread)
{
	const size_t first = first_of(m, thread);

	return first < m->all.count && m->all.items[first].thread == thread;
}

/* Returns a time as the profiler has it: milliseconds since the recording's start. */
static double time_of(const struct firefox_markers *m, uint64_t time_ns)
{
	const uint64_t start = profile_tables(m->profile)->recording.start_ns;

	return time_ns > start ? (double)(time_ns - start) / 1e6 : 0;
}

static void put_data(const struct marker *marker, struct json *j)
{
	json_put_object(j, NULL);
	json_put_string(j, "type", marker->text ? "Wait" : "Region");
	if (marker->text)
		json_put_string(j, "what", marker->text);
	json_put_end(j);
}

void firefox_markers_put(const struct firefox_markers *m, uint32_t thread, struct json *j)
{
	static const char *const columns[] = {"category", "data",  "endTime",
					      "name",	  "phase", "startTime"};
	const size_t first = first_of(m, thread), end = first_of(m, thread + 1);

	json_put_line(j);
	json_put_object(j, "markers");
	json_put_uint(j, "length", end - first);
	for (size_t column = 0; column < sizeof(columns) / sizeof(*columns); column++) {
		json_put_array(j, columns[column]);
		for (size_t i = first; i < end && !j->err; i++) {
			const struct marker *marker = &m->all.items[i];

			if (column == 0)
				json_put_uint(j, NULL, 0);
			else if (column == 1)
				put_data(marker, j);
			else if (column == 3)
				json_put_uint(j, NULL, marker->string);
			else if (column == 4)
				json_put_uint(j, NULL, 1); /* an interval */
			else
				json_put_fixed(
					j, NULL,
					time_of(m, column == 2 ? marker->end_ns : marker->begin_ns),
					6);
		}
		json_put_end(j);
	}
	json_put_end(j);
}

static void put_schema(struct json *j, const char *name, const char *label, const char *field)
{
	json_put_object(j, NULL);
	json_put_string(j, "name", name);
	json_put_string(j, "chartLabel", label);
	json_put_string(j, "tableLabel", label);
	json_put_string(j, "tooltipLabel", label);
	json_put_array(j, "display");
	json_put_string(j, NULL, "marker-chart");
	json_put_string(j, NULL, "marker-table");
	json_put_end(j);
	json_put_array(j, "fields");
	if (field) {
		json_put_object(j, NULL);
		json_put_string(j, "key", field);
		json_put_string(j, "label", "Waited for");
		json_put_string(j, "format", "string");
		json_put_end(j);
	}
	json_put_end(j);
	json_put_end(j);
}

void firefox_markers_schema(struct json *j)
{
	json_put_array(j, "markerSchema");
	put_schema(j, "Wait", "{marker.name}: {marker.data.what}", "what");
	put_schema(j, "Region", "{marker.name}", NULL);
	json_put_end(j);
}
