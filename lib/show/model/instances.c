/* SPDX-License-Identifier: MIT */
/* Finds instances of regions; see instances.h. */
#include "model/instances.h"

#include <errno.h>
#include <stdlib.h>

#include "base/int_map.h"
#include "model/thread_spans.h"

struct finder {
	struct profile *profile;
	const struct instances_choice *choice;
	struct instances *found;
	struct int_map is_chosen; /* by location: whether the choice includes its region */
	struct thread_spans spans;
};

static int find_is_chosen(struct finder *f, uint32_t node, bool *ret_is)
{
	const struct store_tables *tables = profile_tables(f->profile);
	const uint32_t location = tables->nodes[node].location;
	uint32_t is = node ? int_map_find(&f->is_chosen, location) : 0;
	const struct profile_frame *frames;
	size_t n;

	if (is == INT_MAP_NONE) {
		frames = profile_location_frames(f->profile, location, &n);
		if (!frames)
			return -ENOMEM;
		is = f->choice->chooses(f->choice->arg, frames[0].symbol);
		if (int_map_set(&f->is_chosen, location, is))
			return -ENOMEM;
	}
	*ret_is = is;
	return 0;
}

/* Adds an instance with only its own time; add_nested() adds the time of the instances nested in
 * it. */
static int add_own(void *arg, const struct store_sample *record)
{
	struct finder *f = arg;
	bool is;
	int err = find_is_chosen(f, record->node, &is);

	if (err || !is || (f->choice->only_included && !profile_includes(f->profile, record)))
		return err;
	if (VEC_RESERVE(&f->found->all, 1))
		return -ENOMEM;
	f->found->all.items[f->found->all.count++] =
		(struct instance){.start_ns = record->time_ns - record->period, .record = *record};
	return 0;
}

static int add_nested(void *arg, const struct store_sample *record)
{
	struct finder *f = arg;
	const uint32_t at = thread_spans_ending(&f->spans, record);

	if (at != THREAD_SPANS_NONE)
		f->found->all.items[at].start_ns -= record->period;
	return 0;
}

static int by_end(const void *a, const void *b)
{
	const struct store_sample *x = &((const struct instance *)a)->record;
	const struct store_sample *y = &((const struct instance *)b)->record;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* Removes instances that are nested in others of the same thread. A nested one comes first in the
 * array because it ends first. */
static void remove_inner(struct instances *found)
{
	struct instance *all = found->all.items;
	size_t kept = 0;

	for (size_t i = 0; i < found->all.count; i++) {
		const struct instance one = all[i];

		while (kept && all[kept - 1].record.thread == one.record.thread &&
		       all[kept - 1].start_ns >= one.start_ns) {
			found->within++;
			kept--;
		}
		all[kept++] = one;
	}
	found->all.count = kept;
}

static int find(struct finder *f)
{
	struct instances *found = f->found;
	int err = store_reader_all_records(profile_reader(f->profile), SERIES_REGION_TIME, add_own,
					   f);

	if (err || !found->all.count)
		return err;
	qsort(found->all.items, found->all.count, sizeof(*found->all.items), by_end);
	err = thread_spans_make(f->profile, found->all.count, &f->spans);
	if (err)
		return err;
	for (size_t i = 0; i < found->all.count; i++)
		thread_spans_add(&f->spans, found->all.items[i].record.thread,
				 found->all.items[i].record.time_ns);
	err = thread_spans_read(&f->spans, f->profile, SERIES_REGION_NESTED_TIME, add_nested, f);
	if (!err)
		remove_inner(found);
	return err;
}

int instances_find(struct profile *profile, const struct instances_choice *choice,
		   struct instances *ret_instances)
{
	struct finder f = {.profile = profile, .choice = choice, .found = ret_instances};
	int err;

	*ret_instances = (struct instances){0};
	err = find(&f);
	thread_spans_free(&f.spans);
	int_map_fini(&f.is_chosen);
	return err;
}

void instances_free(struct instances *instances)
{
	free(instances->all.items);
	*instances = (struct instances){0};
}
