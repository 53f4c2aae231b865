/* SPDX-License-Identifier: MIT */
/* Makes increments from readings; see pass_increments.h. */
#include "folding/pass_increments.h"

#include <errno.h>
#include <stdlib.h>

#include "store/store_reader.h"

/* Where a reading of a thread lies: in a pass, or before one. */
struct place {
	uint64_t time_ns;
	/* the first pass of the thread that does not end before the reading (the counter's value at
	 * a sample); the thread's last pass + 1 if there is none */
	uint32_t pass;
	bool is_within;
	bool is_known; /* The thread has had a reading. */
};

struct reader {
	struct passes *passes;
	unsigned counter;
	uint32_t *first;    /* by thread: index of its first pass; one more than threads */
	struct place *last; /* by thread: the place of its last reading */
	/* values of SERIES_READING, in the order of their records */
	VEC(uint64_t) values;
	size_t at; /* index of the next value */
};

static int keep_value(void *arg, const struct store_sample *record)
{
	struct reader *r = arg;

	if (VEC_RESERVE(&r->values, 1))
		return -ENOMEM;
	r->values.items[r->values.count++] = record->period;
	return 0;
}

static struct place place_of(const struct reader *r, const struct store_sample *record,
			     const struct place *last)
{
	const uint32_t end = r->first[record->thread + 1];
	struct place p = {.time_ns = record->time_ns,
			  .pass = last->is_known ? last->pass : r->first[record->thread],
			  .is_known = true};

	while (p.pass < end && r->passes->all.items[p.pass].end_ns < p.time_ns)
		p.pass++;
	p.is_within = p.pass < end && r->passes->all.items[p.pass].start_ns <= p.time_ns;
	return p;
}

static double share_of(const struct pass *pass, uint64_t time_ns)
{
	uint64_t ns = pass->end_ns - pass->start_ns;

	return ns ? (double)(time_ns - pass->start_ns) / (double)ns : 0;
}

/* Sets the increment between two places. Returns false if no part of it is in a pass. */
static bool increment_between(const struct reader *r, const struct place *a, const struct place *b,
			      struct pass_increment *i)
{
	const struct pass *all = r->passes->all.items;

	if (!b->is_within && a->pass == b->pass)
		return false;
	*i = (struct pass_increment){.first = a->pass,
				     .last = b->is_within ? b->pass : b->pass - 1,
				     .from = a->is_within ? share_of(&all[a->pass], a->time_ns) : 0,
				     .to = b->is_within ? share_of(&all[b->pass], b->time_ns) : 1};
	if (!a->is_within)
		i->outside_ns += all[a->pass].start_ns - a->time_ns;
	if (!b->is_within)
		i->outside_ns += b->time_ns - all[b->pass - 1].end_ns;
	for (uint32_t k = i->first; k < i->last; k++)
		i->outside_ns += all[k + 1].start_ns - all[k].end_ns;
	return true;
}

static int add_increment(void *arg, const struct store_sample *record)
{
	struct reader *r = arg;
	struct place *last = &r->last[record->thread];
	const struct place now = place_of(r, record, last);
	struct pass_increments *to = &r->passes->increments[r->counter];
	const uint64_t value = r->at < r->values.count ? r->values.items[r->at++] : 0;
	struct pass_increment i;
	int err = 0;

	if (record->period && last->is_known && now.time_ns > last->time_ns &&
	    increment_between(r, last, &now, &i)) {
		i.value = value;
		i.counted = (uint32_t)record->period;
		i.since_ns = last->time_ns;
		i.until_ns = now.time_ns;
		err = VEC_RESERVE(to, 1);
		if (!err)
			to->items[to->count++] = i;
	}
	*last = now;
	return err;
}

/* Compares by thread, then time. */
static int by_place(const void *a, const void *b)
{
	const struct pass_increment *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->since_ns < y->since_ns ? -1 : x->since_ns > y->since_ns;
}

static int read_both(struct reader *r, struct profile *profile)
{
	struct store_reader *reader = profile_reader(profile);
	int err = store_reader_all_records(reader, SERIES_READING + r->counter, keep_value, r);

	return err ? err
		   : store_reader_all_records(reader, SERIES_COUNTED + r->counter, add_increment,
					      r);
}

static int begin(struct reader *r, const struct profile *profile)
{
	const uint32_t n = profile_tables(profile)->n_threads;
	size_t at = 0;

	r->first = calloc(n + 2, sizeof(*r->first));
	r->last = calloc(n + 1, sizeof(*r->last));
	if (!r->first || !r->last)
		return -ENOMEM;
	for (uint32_t thread = 0; thread <= n; thread++) {
		while (at < r->passes->all.count && r->passes->all.items[at].thread < thread)
			at++;
		r->first[thread] = (uint32_t)at;
	}
	return 0;
}

int pass_increments_read(struct profile *profile, struct passes *passes, unsigned counter)
{
	struct reader r = {.passes = passes, .counter = counter};
	struct pass_increments *made = &passes->increments[counter];
	int err = begin(&r, profile);

	if (!err)
		err = read_both(&r, profile);
	if (!err && made->count)
		qsort(made->items, made->count, sizeof(*made->items), by_place);
	free(r.first);
	free(r.last);
	free(r.values.items);
	return err;
}

int pass_increments_pick(const struct passes *passes, const uint32_t *numbers, struct passes *to)
{
	for (unsigned c = 0; c < METRIC_COUNTERS; c++) {
		const struct pass_increments *from = &passes->increments[c];

		for (size_t k = 0; k < from->count; k++) {
			struct pass_increment i = from->items[k];

			if (i.first != i.last || numbers[i.first] == UINT32_MAX)
				continue;
			i.first = i.last = numbers[i.first];
			if (VEC_RESERVE(&to->increments[c], 1))
				return -ENOMEM;
			to->increments[c].items[to->increments[c].count++] = i;
		}
	}
	return 0;
}
