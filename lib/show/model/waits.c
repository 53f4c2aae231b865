/* SPDX-License-Identifier: MIT */
/* Collects waits and their wake-ups, and joins them; see waits.h. */
#include "model/waits.h"

#include <errno.h>
#include <stdlib.h>

/* most ns between a wait's end and its wake-up, whose times are from two clocks: on an emulated
 * machine 9 ms were measured */
#define CLOCKS_APART 20000000u

struct waits_maker {
	struct profile *profile;
	struct waits *waits;
	/* what waits_make() is reading now: runnable times if true, else blocked waits */
	bool is_runnable;
};

static int take_wait(void *arg, const struct store_sample *record, const struct lasting *lasting)
{
	struct waits_maker *m = arg;
	struct wait_lane *lane = &m->waits->lanes[record->thread];
	struct wait wait = {.begin_ns = lasting->spans->begin_ns,
			    .end_ns = record->time_ns,
			    .kept_of = 1,
			    .record = *record};
	struct store_sample part = {0};

	wait.is_chosen = profile_part(m->profile, record, lasting, &part);
	if (wait.is_chosen) {
		wait.ns = part.period;
		wait.record = part;
	}
	if (lasting->ns && record->period > lasting->ns)
		wait.kept_of = (double)record->period / (double)lasting->ns;
	if (VEC_RESERVE(&lane->blocked, 1) < 0 || VEC_RESERVE(&lane->runnable, 1) < 0)
		return -ENOMEM;
	if (m->is_runnable)
		lane->runnable.items[lane->runnable.count++] = wait;
	else
		lane->blocked.items[lane->blocked.count++] = wait;
	return 0;
}

static int take_waking(void *arg, const struct store_sample *record)
{
	struct waits_maker *m = arg;
	struct wait_lane *lane = &m->waits->lanes[record->thread];

	if (VEC_RESERVE(&lane->wakings, 1) < 0)
		return -ENOMEM;
	lane->wakings.items[lane->wakings.count++] = (struct waking){
		.time_ns = record->time_ns, .value = record->period, .node = record->node};
	return 0;
}

static int compare_waits(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

static int compare_wakings(const void *a, const void *b)
{
	const struct waking *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static uint64_t apart(uint64_t x, uint64_t y)
{
	return x < y ? y - x : x - y;
}

/* Returns whether wake-up i belongs to wait i for all of them. Their times must agree, because
 * equal numbers do not prove it: a wait may lack its wake-up, and another wake-up its wait. */
static bool is_paired(const struct wait_lane *lane)
{
	if (lane->wakings.count != lane->blocked.count)
		return false;
	for (size_t i = 0; i < lane->blocked.count; i++) {
		if (apart(lane->blocked.items[i].end_ns, lane->wakings.items[i].time_ns) >
		    CLOCKS_APART)
			return false;
	}
	return true;
}

static void sort_lane(struct wait_lane *lane)
{
	if (lane->blocked.count)
		qsort(lane->blocked.items, lane->blocked.count, sizeof(struct wait), compare_waits);
	if (lane->runnable.count)
		qsort(lane->runnable.items, lane->runnable.count, sizeof(struct wait),
		      compare_waits);
	if (lane->wakings.count)
		qsort(lane->wakings.items, lane->wakings.count, sizeof(struct waking),
		      compare_wakings);
	lane->is_paired = is_paired(lane);
}

int waits_make(struct profile *profile, bool runnable, struct waits *ret_waits)
{
	struct waits_maker m = {.profile = profile, .waits = ret_waits};
	const struct store_tables *tables = profile_tables(profile);
	struct store_reader *reader = profile_reader(profile);
	int err;

	*ret_waits = (struct waits){.n_threads = tables->n_threads};
	ret_waits->lanes = calloc((size_t)tables->n_threads + 1, sizeof(*ret_waits->lanes));
	if (!ret_waits->lanes)
		return -ENOMEM;
	err = lasting_records(reader, METRIC_WAIT_BLOCKED, take_wait, &m);
	m.is_runnable = true;
	if (!err && runnable)
		err = lasting_records(reader, METRIC_WAIT_RUNNABLE, take_wait, &m);
	if (!err)
		err = store_reader_all_records(reader, SERIES_WAIT_WAKER, take_waking, &m);
	for (uint32_t i = tables->n_threads; !err && i-- > 0;) {
		uint32_t known;

		sort_lane(&ret_waits->lanes[i]);
		err = int_map_enter(&ret_waits->thread_of, (uint32_t)tables->threads[i].tid, i,
				    &known);
	}
	return err;
}

void waits_free(struct waits *waits)
{
	for (uint32_t i = 0; waits->lanes && i < waits->n_threads; i++) {
		free(waits->lanes[i].blocked.items);
		free(waits->lanes[i].runnable.items);
		free(waits->lanes[i].wakings.items);
	}
	free(waits->lanes);
	int_map_fini(&waits->thread_of);
	*waits = (struct waits){0};
}

/* Returns whether neither the wait before `wait` nor the one after it ended nearer to the time of a
 * wake-up than `wait`. */
static bool ends_nearest(const struct wait_lane *lane, size_t wait, uint64_t time_ns)
{
	const struct wait *waits = lane->blocked.items;
	const uint64_t own = apart(waits[wait].end_ns, time_ns);

	return !(wait && apart(waits[wait - 1].end_ns, time_ns) < own) &&
	       !(wait + 1 < lane->blocked.count && apart(waits[wait + 1].end_ns, time_ns) < own);
}

/* Finds the wake-up that ended a thread's wait. The time of a wait's end comes from the scheduler's
 * clock of a CPU, that of a wake-up from another clock: on an emulated machine they can be some ms
 * apart, which is longer than many waits. So if each wait has its wake-up, they are paired in
 * order. Otherwise the wait's wake-up is the one nearest to its end, unless that wake-up is nearer
 * to the end of another wait. NULL: unknown. */
const struct waking *waits_waking(const struct wait_lane *lane, size_t wait)
{
	const uint64_t end = lane->blocked.items[wait].end_ns;
	const struct waking *wakings = lane->wakings.items, *nearest;
	size_t low = 0, high = lane->wakings.count;

	if (lane->is_paired)
		return &wakings[wait];
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (wakings[middle].time_ns <= end)
			low = middle + 1;
		else
			high = middle;
	}
	nearest = low ? &wakings[low - 1] : NULL;
	if (low < lane->wakings.count &&
	    (!nearest || wakings[low].time_ns - end < end - nearest->time_ns))
		nearest = &wakings[low];
	return nearest && ends_nearest(lane, wait, nearest->time_ns) ? nearest : NULL;
}

uint32_t waits_waker(const struct waits *waits, const struct waking *waking)
{
	return waking->value == WAKER_OF_INTERRUPT
		       ? WAITS_NONE
		       : int_map_find(&waits->thread_of, waking->value - 1);
}
