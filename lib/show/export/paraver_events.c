/* SPDX-License-Identifier: MIT */
/* Events of a Paraver trace; see paraver_events.h. Each series is read once, and all are sorted. */
#include "export/paraver_events.h"

#include <errno.h>

struct collector {
	struct profile *profile;
	struct paraver_events *events;
	unsigned counter; /* the counter that is being read */
	/* by thread: the counter's last reading, as the sum of its increments so far */
	uint64_t *sum;
	uint64_t *end; /* by instance: the counter's reading at its end */
};

static int add(struct collector *c, const struct paraver_event *event)
{
	if (VEC_RESERVE(&c->events->all, 1))
		return -ENOMEM;
	c->events->all.items[c->events->all.count++] = *event;
	return 0;
}

/* --- instances -------------------------------------------------------------------------------- */

static int add_instance(void *arg, const struct store_sample *record)
{
	struct collector *c = arg;

	if (VEC_RESERVE(&c->events->instances, 1))
		return -ENOMEM;
	c->events->instances.items[c->events->instances.count++] = (struct paraver_instance){
		.start_ns = record->time_ns - record->period,
		.end_ns = record->time_ns,
		.thread = record->thread,
		.node = record->node,
		.cpu = record->cpu,
		.is_shown = profile_includes(c->profile, record),
	};
	return 0;
}

static int by_end(const void *a, const void *b)
{
	const struct paraver_instance *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Returns the instance that ended with this record; NULL: no instance did. */
static struct paraver_instance *instance_of(const struct collector *c,
					    const struct store_sample *record)
{
	const struct paraver_instance key = {
		.thread = record->thread, .end_ns = record->time_ns, .node = record->node};

	if (!c->events->instances.count)
		return NULL;
	return bsearch(&key, c->events->instances.items, c->events->instances.count, sizeof(key),
		       by_end);
}

static int add_nested(void *arg, const struct store_sample *record)
{
	struct paraver_instance *instance = instance_of(arg, record);

	if (instance)
		instance->start_ns -= record->period;
	return 0;
}

static int tell_instances(struct collector *c)
{
	int err = 0;

	for (size_t i = 0; i < c->events->instances.count && !err; i++) {
		const struct paraver_instance *instance = &c->events->instances.items[i];
		struct paraver_event event = {.instance = (uint32_t)i,
					      .thread = instance->thread,
					      .cpu = instance->cpu,
					      .is_shown = instance->is_shown};

		event.time_ns = instance->start_ns;
		event.kind = instance->start_ns == instance->end_ns ? PARAVER_BRIEF : PARAVER_BEGIN;
		err = add(c, &event);
		if (err || event.kind == PARAVER_BRIEF)
			continue;
		event.time_ns = instance->end_ns;
		event.kind = PARAVER_END;
		err = add(c, &event);
	}
	return err;
}

static int find_instances(struct collector *c)
{
	struct store_reader *reader = profile_reader(c->profile);
	int err = store_reader_all_records(reader, SERIES_REGION_TIME, add_instance, c);

	if (err || !c->events->instances.count)
		return err;
	qsort(c->events->instances.items, c->events->instances.count,
	      sizeof(*c->events->instances.items), by_end);
	err = store_reader_all_records(reader, SERIES_REGION_NESTED_TIME, add_nested, c);
	return err ? err : tell_instances(c);
}

/* --- readings --------------------------------------------------------------------------------- */

static int add_reading(void *arg, const struct store_sample *record)
{
	struct collector *c = arg;
	const struct paraver_instance *instance = instance_of(c, record);

	c->sum[record->thread] += record->period;
	if (instance)
		c->end[instance - c->events->instances.items] = c->sum[record->thread];
	return add(c, &(struct paraver_event){
			      .time_ns = record->time_ns,
			      .reading = c->sum[record->thread],
			      .thread = record->thread,
			      .cpu = record->cpu,
			      .kind = PARAVER_READING,
			      .is_shown = profile_includes(c->profile, record),
			      .detail = (uint8_t)c->counter,
		      });
}

/* Adds the reading at the begin of an instance; the recording has the reading at its end. */
static int add_first(void *arg, const struct store_sample *record)
{
	struct collector *c = arg;
	const struct paraver_instance *instance = instance_of(c, record);

	if (!instance)
		return 0;
	return add(c, &(struct paraver_event){
			      .time_ns = instance->start_ns,
			      .reading = c->end[instance - c->events->instances.items] -
					 record->period,
			      .thread = instance->thread,
			      .cpu = instance->cpu,
			      .kind = PARAVER_READING,
			      .is_shown = instance->is_shown,
			      .detail = (uint8_t)c->counter,
		      });
}

static int read_counter(struct collector *c, unsigned counter)
{
	struct store_reader *reader = profile_reader(c->profile);
	int err;

	c->counter = counter;
	c->sum = calloc((size_t)profile_tables(c->profile)->n_threads + 1, sizeof(*c->sum));
	c->end = calloc(c->events->instances.count + 1, sizeof(*c->end));
	err = c->sum && c->end ? 0 : -ENOMEM;
	if (!err)
		err = store_reader_all_records(reader, SERIES_READING + counter, add_reading, c);
	if (!err)
		err = store_reader_all_records(reader, SERIES_PASSED + counter, add_first, c);
	free(c->sum);
	free(c->end);
	return err;
}

/* --- samples, and all of them in order -------------------------------------------------------- */

static int add_sample(void *arg, const struct store_sample *record)
{
	struct collector *c = arg;
	struct store_sample shown;

	if (!profile_sample(c->profile, record, &shown))
		return 0;
	return add(c, &(struct paraver_event){
			      .time_ns = shown.time_ns,
			      .sample = {.node = shown.node, .origin = shown.origin},
			      .amount = shown.period,
			      .thread = shown.thread,
			      .cpu = shown.cpu,
			      .kind = PARAVER_SAMPLE,
			      .is_shown = true,
			      .detail = shown.end_reason,
		      });
}

static int by_time(const void *a, const void *b, void *arg)
{
	const struct paraver_event *x = a, *y = b;
	const struct paraver_instance *instances = arg;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->kind == PARAVER_BEGIN &&
	    instances[x->instance].end_ns != instances[y->instance].end_ns)
		return instances[x->instance].end_ns > instances[y->instance].end_ns ? -1 : 1;
	return x->detail < y->detail ? -1 : x->detail > y->detail;
}

int paraver_events_make(struct profile *profile, struct paraver_events *ret_events)
{
	struct collector c = {.profile = profile, .events = ret_events};
	int err;

	*ret_events = (struct paraver_events){0};
	err = find_instances(&c);
	for (unsigned i = 0; i < METRIC_COUNTERS && !err; i++)
		err = read_counter(&c, i);
	if (!err)
		err = store_reader_samples(profile_reader(profile), add_sample, &c);
	if (!err && ret_events->all.count)
		qsort_r(ret_events->all.items, ret_events->all.count,
			sizeof(*ret_events->all.items), by_time, ret_events->instances.items);
	return err;
}

void paraver_events_free(struct paraver_events *events)
{
	free(events->all.items);
	free(events->instances.items);
	*events = (struct paraver_events){0};
}
