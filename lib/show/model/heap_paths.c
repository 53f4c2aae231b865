/* SPDX-License-Identifier: MIT */
/* Adds allocations and their ends up by path; see heap_paths.h. */
#include "model/heap_paths.h"

#include <errno.h>
#include <stdlib.h>

#include "base/int_map.h"
#include "base/vec.h"

/* A record: a sampled allocation, or the end of one. */
struct change {
	struct store_sample row; /* the period is the bytes that it stands for */
	uint64_t error, objects;
	uint64_t age_ns; /* of an end: ns since the allocation */
	size_t number;	 /* of the record in its series */
};

struct changes {
	const struct profile *profile;
	VEC(struct change) all;
	size_t seen; /* records of the series */
	/* index of the change (allocation or free) to which the next record of a further series
	 * belongs */
	size_t at;
	/* so far, each record of the further series had the time, thread and path of the change at
	 * its index */
	bool is_same;
};

struct sum {
	const struct heap *heap;
	const struct heap_paths_options *options;
	struct heap_paths *paths;
	struct int_map by_node; /* node -> index of the path in `paths` */
	size_t cap;
};

/* --- reading ---------------------------------------------------------------------------------- */

static bool is_selected(const struct changes *c, const struct store_sample *record)
{
	return profile_includes(c->profile, record);
}

static int take_bytes(void *arg, const struct store_sample *record)
{
	struct changes *c = arg;
	const size_t number = c->seen++;

	if (!is_selected(c, record))
		return 0;
	if (VEC_RESERVE(&c->all, 1))
		return -ENOMEM;
	c->all.items[c->all.count++] = (struct change){.row = *record, .number = number};
	return 0;
}

/* Returns the change to which a record of a further series belongs; NULL: none. */
static struct change *next_change(struct changes *c, const struct store_sample *record)
{
	struct change *change;

	if (!is_selected(c, record))
		return NULL;
	change = c->at < c->all.count ? &c->all.items[c->at++] : NULL;
	c->is_same &= change && change->row.time_ns == record->time_ns &&
		      change->row.thread == record->thread && change->row.node == record->node;
	return change;
}

static int take_error(void *arg, const struct store_sample *record)
{
	struct change *change = next_change(arg, record);

	if (change)
		change->error = record->period;
	return 0;
}

static int take_objects(void *arg, const struct store_sample *record)
{
	struct change *change = next_change(arg, record);

	if (change)
		change->objects = record->period;
	return 0;
}

static int take_age(void *arg, const struct store_sample *record)
{
	struct change *change = next_change(arg, record);

	if (change)
		change->age_ns = record->period;
	return 0;
}

/* Reads a further series. Clears *is_there unless it has exactly one record for each change. */
static int read_beside(struct changes *c, enum metric_series series,
		       int (*each)(void *arg, const struct store_sample *record), bool *is_there)
{
	int err;

	c->at = 0;
	c->is_same = true;
	err = store_reader_records(profile_reader(c->profile), series, each, c);
	*is_there &= c->is_same && c->at == c->all.count;
	return err;
}

static int read_changes(struct changes *c, const enum metric_series series[static 4],
			bool *has_errors)
{
	bool has_objects = true;
	int err = store_reader_records(profile_reader(c->profile), series[0], take_bytes, c);

	if (!err)
		err = read_beside(c, series[1], take_objects, &has_objects);
	if (!err)
		err = read_beside(c, series[2], take_error, has_errors);
	if (!err && series[3] != SERIES_CPU)
		err = read_beside(c, series[3], take_age, has_errors);
	return err;
}

/* --- adding up -------------------------------------------------------------------------------- */

static struct heap_path *path_of(struct sum *s, const struct store_sample *row)
{
	uint32_t found = int_map_find(&s->by_node, row->node);
	struct heap_paths *paths = s->paths;
	struct heap_path *items;

	if (found != INT_MAP_NONE)
		return &paths->items[found];
	if (VEC_GROW(paths->items, s->cap, paths->n + 1) ||
	    int_map_set(&s->by_node, row->node, (uint32_t)paths->n))
		return NULL;
	items = paths->items;
	items[paths->n] = (struct heap_path){
		.node = row->node, .origin = row->origin, .end_reason = row->end_reason};
	return &items[paths->n++];
}

static void add(struct heap_estimate *to, int sign, const struct change *c)
{
	to->value += sign * (double)c->row.period;
	to->variance += sign * (double)c->error * (double)c->error;
}

static size_t bin_of(const struct heap_paths *paths, uint64_t time_ns)
{
	const double all = (double)(paths->to_ns - paths->start_ns);
	size_t bin = time_ns > paths->start_ns && all > 0
			     ? (size_t)((double)(time_ns - paths->start_ns) / all * HEAP_PATHS_BINS)
			     : 0;

	return bin < HEAP_PATHS_BINS ? bin : HEAP_PATHS_BINS - 1;
}

/* Adds a block to the live ones (`sign` 1), or removes it (-1). `since_ns` is the time of its
 * allocation. */
static void change_live(struct sum *s, struct heap_path *path, int sign, const struct change *c,
			uint64_t since_ns)
{
	add(&path->live, sign, c);
	path->live_objects += sign * (double)c->objects;
	path->live_since[bin_of(s->paths, since_ns)] += sign * (double)c->row.period;
	if (since_ns + s->options->older_ns <= s->paths->to_ns)
		add(&path->old, sign, c);
}

static void add_peak(struct heap_estimate *to, int sign, const struct change *c,
		     const struct heap_parts *parts)
{
	const struct heap_part part = heap_part_at(parts, c->number);

	to->value += sign * (double)part.bytes;
	to->variance += sign * part.share * (double)c->error * (double)c->error;
}

static int take_allocation(struct sum *s, const struct change *c)
{
	struct heap_path *path = path_of(s, &c->row);
	const uint64_t at = c->row.time_ns;

	if (!path)
		return -ENOMEM;
	path->samples++;
	path->allocated += (double)c->row.period;
	path->objects += (double)c->objects;
	change_live(s, path, 1, c, at);
	add_peak(&path->peak, 1, c, &s->heap->made);
	if (at > s->paths->from_ns)
		add(&path->change, 1, c);
	else
		path->live_first += (double)c->row.period;
	return 0;
}

/* Handles a free. If the block was allocated before from_ns, its allocation is not part of
 * `change`, so the free is subtracted from `change` and its error counts. If the block was
 * allocated later, its allocation is taken out of `change` again, with its error. Returns 0 or
 * -ENOMEM. */
static int take_end(struct sum *s, const struct change *c)
{
	struct heap_path *path = path_of(s, &c->row);
	const uint64_t at = c->row.time_ns, since = at - (c->age_ns < at ? c->age_ns : at);
	const uint64_t from = s->paths->from_ns;

	if (!path)
		return -ENOMEM;
	path->ended += (double)c->row.period;
	path->ended_ns += (double)c->row.period * (double)c->age_ns;
	change_live(s, path, -1, c, since);
	add_peak(&path->peak, -1, c, &s->heap->ended);
	if (at <= from) {
		path->live_first -= (double)c->row.period;
	} else if (since > from) {
		add(&path->change, -1, c);
	} else {
		add(&path->change, 1, c);
		path->change.value -= 2 * (double)c->row.period;
	}
	return 0;
}

static int add_up(struct sum *s, const struct changes *c,
		  int (*take)(struct sum *s, const struct change *c))
{
	int err = 0;

	for (size_t i = 0; i < c->all.count && !err; i++)
		err = take(s, &c->all.items[i]);
	return err;
}

int heap_paths_sum_up(const struct profile *profile, const struct heap *heap,
		      const struct heap_paths_options *options, struct heap_paths *ret_paths)
{
	static const enum metric_series made[] = {SERIES_ALLOC_BYTES, SERIES_ALLOC_OBJECTS,
						  SERIES_ALLOC_ERROR, SERIES_CPU};
	static const enum metric_series ended[] = {SERIES_FREED_BYTES, SERIES_FREED_OBJECTS,
						   SERIES_FREED_ERROR, SERIES_FREED_AGE};
	const struct store_recording *recording = &profile_tables(profile)->recording;
	const uint64_t to_ns = profile_end(profile);
	struct heap_paths paths = {.has_errors = true,
				   .from_ns = options->from_ns,
				   .to_ns = to_ns < recording->end_ns ? to_ns : recording->end_ns,
				   .start_ns = recording->start_ns};
	struct sum s = {.heap = heap, .options = options, .paths = &paths};
	struct changes allocations = {.profile = profile};
	struct changes ends = {.profile = profile};
	int err;

	err = read_changes(&allocations, made, &paths.has_errors);
	if (!err)
		err = read_changes(&ends, ended, &paths.has_errors);
	if (!err)
		err = add_up(&s, &allocations, take_allocation);
	if (!err)
		err = add_up(&s, &ends, take_end);
	int_map_fini(&s.by_node);
	free(allocations.all.items);
	free(ends.all.items);
	if (err)
		heap_paths_release(&paths);
	else
		*ret_paths = paths;
	return err;
}

void heap_paths_release(struct heap_paths *paths)
{
	free(paths->items);
	*paths = (struct heap_paths){0};
}
