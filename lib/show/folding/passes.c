/* SPDX-License-Identifier: MIT */
/*
 * Joins instances, samples and readings; see passes.h.
 *
 * Records of a series come in the order of time, and records that belong together have the same
 * time and thread. So each series is read once, and its records are matched with the passes
 * (thread_spans.h).
 */
#include "folding/passes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/int_map.h"
#include "model/counter_names.h"
#include "model/instances.h"
#include "folding/pass_increments.h"
#include "model/thread_spans.h"
#include "stackd_abi.h"
#include "store/store_reader.h"

/* The probes' cost is subtracted from a pass that takes at least so many times the cost. */
#define LEAST_OVER_PROBES 8u

struct maker {
	struct profile *profile;
	struct passes *passes;
	struct thread_spans spans; /* the passes */
	/* The counter that is being read. The fields below are about this counter. */
	unsigned counter;
	/* by thread: sum of its readings so far, which is the counter's value apart from a
	 * constant */
	uint64_t *sum;
	uint64_t *value; /* by sample: value of the counter, as in `sum` */
	uint64_t *end;	 /* by pass: value of the counter at its end, as in `sum` */
	bool has_ends;	 /* `end` was given; no record has it */
	size_t at;	 /* index of the next sample that can match */
};

static const struct profile_symbol *symbol_at(struct profile *profile, uint32_t node)
{
	const struct store_tables *tables = profile_tables(profile);
	size_t n;
	const struct profile_frame *frames =
		node ? profile_location_frames(profile, tables->nodes[node].location, &n) : NULL;

	return frames ? frames[0].symbol : NULL;
}

/* --- regions ---------------------------------------------------------------------------------- */

struct listing {
	struct profile *profile;
	const char *pattern;
	struct int_map by_symbol;
	VEC(struct pass_region) regions;
};

static int list_instance(void *arg, const struct store_sample *record)
{
	struct listing *l = arg;
	const struct profile_symbol *symbol;
	uint32_t index;

	if (!profile_includes(l->profile, record))
		return 0;
	symbol = symbol_at(l->profile, record->node);
	if (!symbol)
		return record->node ? -ENOMEM : 0;
	if (l->pattern && !profile_symbol_matches(symbol, l->pattern))
		return 0;
	if (int_map_enter(&l->by_symbol, symbol->number, (uint32_t)l->regions.count, &index) ||
	    VEC_RESERVE(&l->regions, 1))
		return -ENOMEM;
	if (index == l->regions.count)
		l->regions.items[l->regions.count++] = (struct pass_region){.symbol = symbol};
	l->regions.items[index].visits++;
	return 0;
}

static int by_visits(const void *a, const void *b)
{
	const struct pass_region *x = a, *y = b;

	return x->visits < y->visits ? 1 : x->visits > y->visits ? -1 : 0;
}

int passes_regions(struct profile *profile, const char *pattern, struct pass_region **ret_regions,
		   size_t *ret_count)
{
	struct listing l = {.profile = profile, .pattern = pattern};
	int err = store_reader_all_records(profile_reader(profile), SERIES_REGION_TIME,
					   list_instance, &l);

	int_map_fini(&l.by_symbol);
	*ret_count = 0;
	if (err) {
		free(l.regions.items);
		return err;
	}
	if (l.regions.count)
		qsort(l.regions.items, l.regions.count, sizeof(*l.regions.items), by_visits);
	*ret_regions = l.regions.items;
	*ret_count = l.regions.count;
	return 0;
}

/* --- passes ----------------------------------------------------------------------------------- */

static bool is_region(void *arg, const struct profile_symbol *symbol)
{
	return symbol == arg;
}

/* Adds an instance as a pass. An instance that did not return is only counted, because it cannot be
 * compared with the others. Returns 0 or -ENOMEM. */
static int add_pass(struct passes *p, const struct instance *instance)
{
	const struct store_sample *record = &instance->record;

	if (record->end_reason == STACKD_END_LEFT) {
		p->left++;
		return 0;
	}
	if (VEC_RESERVE(&p->all, 1))
		return -ENOMEM;
	if (!p->all.count)
		p->node = record->node;
	p->all.items[p->all.count++] = (struct pass){.start_ns = instance->start_ns,
						     .end_ns = record->time_ns,
						     .thread = record->thread,
						     .node = record->node};
	return 0;
}

/* Returns the first pass of a record's thread that does not end before the record; NULL: there is
 * none. */
static struct pass *pass_at(struct maker *m, const struct store_sample *record)
{
	const uint32_t at = thread_spans_at(&m->spans, record);

	return at != THREAD_SPANS_NONE ? &m->passes->all.items[at] : NULL;
}

/* Returns the pass that ends with a record; NULL: the record belongs to another region. */
static struct pass *pass_of_end(struct maker *m, const struct store_sample *record)
{
	const uint32_t at = thread_spans_ending(&m->spans, record);

	return at != THREAD_SPANS_NONE ? &m->passes->all.items[at] : NULL;
}

static int add_cpu(void *arg, const struct store_sample *record)
{
	struct pass *pass = pass_of_end(arg, record);

	if (pass)
		pass->cpu_ns += record->period;
	return 0;
}

/* Reads a series in parallel with the passes. */
static int read_beside(struct maker *m, unsigned series,
		       int (*each)(void *arg, const struct store_sample *record))
{
	return thread_spans_read(&m->spans, m->profile, series, each, m);
}

/* Makes `m->spans` from the passes, for read_beside(). */
static int begin(struct maker *m, struct profile *profile, struct passes *passes)
{
	int err;

	*m = (struct maker){.profile = profile, .passes = passes};
	err = thread_spans_make(profile, passes->all.count, &m->spans);
	for (size_t i = 0; i < passes->all.count && !err; i++)
		thread_spans_add(&m->spans, passes->all.items[i].thread,
				 passes->all.items[i].end_ns);
	return err;
}

/* Makes passes of the instances of a region. */
static int find_passes(struct profile *profile, const struct profile_symbol *region,
		       struct passes *p)
{
	const struct instances_choice choice = {
		.chooses = is_region, .arg = (void *)region, .only_included = true};
	struct instances found;
	int err = instances_find(profile, &choice, &found);

	p->within = found.within;
	for (size_t i = 0; i < found.all.count && !err; i++)
		err = add_pass(p, &found.all.items[i]);
	instances_free(&found);
	return err;
}

/* Adds up the CPU time of passes, including the CPU time of instances nested in them. */
static int read_cpu(struct maker *m)
{
	int err = read_beside(m, SERIES_REGION_CPU, add_cpu);

	return err ? err : read_beside(m, SERIES_REGION_NESTED_CPU, add_cpu);
}

/* --- samples ---------------------------------------------------------------------------------- */

static int add_sample(void *arg, const struct store_sample *record)
{
	struct maker *m = arg;
	struct passes *p = m->passes;
	struct pass *pass = pass_at(m, record);
	struct store_sample shown;

	if (!pass || record->time_ns < pass->start_ns ||
	    !profile_sample(m->profile, record, &shown))
		return 0;
	if (VEC_RESERVE(&p->samples, 1))
		return -ENOMEM;
	pass->samples++;
	p->samples.items[p->samples.count++] =
		(struct pass_sample){.time_ns = record->time_ns,
				     .pass = (uint32_t)(pass - p->all.items),
				     .node = shown.node,
				     .origin = shown.origin,
				     .end_reason = shown.end_reason};
	return 0;
}

double passes_x(const struct passes *passes, const struct pass_sample *sample)
{
	const struct pass *pass = &passes->all.items[sample->pass];
	uint64_t ns = pass->end_ns - pass->start_ns;

	return ns ? (double)(sample->time_ns - pass->start_ns) / (double)ns : 0;
}

/* --- counters --------------------------------------------------------------------------------- */

static int take_total(void *arg, const struct store_sample *record)
{
	struct maker *m = arg;
	struct pass *pass = pass_of_end(m, record);

	if (!pass)
		return 0;
	if ((int64_t)record->period < 0)
		pass->falls |= (uint8_t)(1u << m->counter);
	pass->total[m->counter] = record->period;
	pass->known |= (uint8_t)(1u << m->counter);
	return 0;
}

/* Handles a reading, at the end of a pass or at a sample. */
static int take_reading(void *arg, const struct store_sample *record)
{
	struct maker *m = arg;
	struct passes *p = m->passes;
	struct pass *pass = pass_at(m, record);

	m->sum[record->thread] += record->period;
	if (!pass)
		return 0;
	if (pass->end_ns == record->time_ns && !m->has_ends)
		m->end[pass - p->all.items] = m->sum[record->thread];
	while (m->at < p->samples.count && p->samples.items[m->at].time_ns < record->time_ns)
		m->at++;
	for (size_t i = m->at;
	     i < p->samples.count && p->samples.items[i].time_ns == record->time_ns; i++) {
		if (p->all.items[p->samples.items[i].pass].thread != record->thread)
			continue;
		m->value[i] = m->sum[record->thread];
		p->samples.items[i].known |= (uint8_t)(1u << m->counter);
	}
	return 0;
}

/* Returns whether a counter never falls, so that the earlier of two readings must be the lower one.
 * That is so for all counters but variables and resident bytes. A reading can still violate it: if
 * a virtual machine had no CPU for a while, CPU time is read too large until the scheduler learns
 * of that. */
static bool never_falls(const struct maker *m)
{
	const char *name = m->passes->counters[m->counter];

	return strncmp(name, "var:", 4) != 0 && strcmp(name, "resident-bytes") != 0;
}

/* Turns the readings of a counter into shares of the passes' totals, from the last sample back to
 * the first. For a counter that never falls, most[pass] is the amount that was still to come at the
 * sample handled before, which is later in the pass: an earlier sample must have at least as
 * much. */
static void normalise(struct maker *m, uint64_t *most)
{
	struct passes *p = m->passes;
	const uint8_t bit = (uint8_t)(1u << m->counter);

	for (size_t i = p->samples.count; i-- > 0;) {
		struct pass_sample *sample = &p->samples.items[i];
		const struct pass *pass = &p->all.items[sample->pass];
		const uint64_t total = pass->total[m->counter];
		const uint64_t left = m->end[sample->pass] - m->value[i];
		const bool is_whole = pass->known & bit && !(pass->falls & bit);
		const bool is_possible = left <= total && left >= most[sample->pass];

		if (!(sample->known & bit))
			continue;
		if (!is_whole || !total || !is_possible) {
			p->impossible += is_whole && !is_possible;
			sample->known &= (uint8_t)~bit;
			continue;
		}
		if (never_falls(m))
			most[sample->pass] = left;
		sample->y[m->counter] = (float)((double)(total - left) / (double)total);
	}
}

/* Reads a counter at the samples. `ends` has its values at the passes' ends, if their totals are
 * known already; NULL: they are read as well. Returns 0 or an error. */
static int read_counter(struct maker *m, unsigned counter, const uint64_t *ends)
{
	struct passes *p = m->passes;
	uint64_t *most;
	int err;

	m->counter = counter;
	m->at = 0;
	m->has_ends = ends;
	m->sum = calloc((size_t)m->spans.n_threads + 1, sizeof(*m->sum));
	m->value = calloc(p->samples.count + 1, sizeof(*m->value));
	m->end = calloc(p->all.count + 1, sizeof(*m->end));
	most = calloc(p->all.count + 1, sizeof(*most));
	err = m->sum && m->value && m->end && most ? 0 : -ENOMEM;
	if (!err && ends)
		memcpy(m->end, ends, p->all.count * sizeof(*ends));
	else if (!err)
		err = read_beside(m, SERIES_PASSED + counter, take_total);
	if (!err)
		err = read_beside(m, SERIES_READING + counter, take_reading);
	if (!err)
		normalise(m, most);
	free(most);
	free(m->sum);
	free(m->value);
	free(m->end);
	return err;
}

static int read_counters(struct maker *m)
{
	int err = counter_names_find(profile_tables(m->profile), m->passes->counters);

	for (unsigned i = 0; i < METRIC_COUNTERS && !err; i++) {
		if (!m->passes->counters[i])
			continue;
		err = read_counter(m, i, NULL);
		if (!err)
			err = pass_increments_read(m->profile, m->passes, i);
	}
	return err;
}

/* --- probes ----------------------------------------------------------------------------------- */

/* Returns what a probe costs: the mean over the recordings, since their counters are added up. */
static uint64_t cost_of(const struct store_tables *tables, const char *name)
{
	for (uint32_t i = 0; i < tables->n_counters; i++) {
		if (!strcmp(tables->counters[i].name, name))
			return (uint64_t)tables->counters[i].value /
			       (tables->n_recordings ? tables->n_recordings : 1);
	}
	return 0;
}

void passes_probe_cost(const struct store_tables *tables, uint64_t *ret_before_ns,
		       uint64_t *ret_after_ns)
{
	*ret_before_ns = cost_of(tables, "probe_before_ns");
	*ret_after_ns = cost_of(tables, "probe_after_ns");
}

/* Subtracts the probes' cost from the CPU time of a sample, as it was subtracted from the sample's
 * pass. Returns false if the sample is within the probes, and so not in the pass. */
static bool shift_sample(const struct passes *p, struct pass_sample *sample, unsigned cpu,
			 double before, double after)
{
	const struct pass *pass = &p->all.items[sample->pass];
	double total = cpu < METRIC_COUNTERS ? (double)pass->total[cpu] : 0, at;

	if (sample->time_ns < pass->start_ns || sample->time_ns > pass->end_ns)
		return false;
	if (cpu == METRIC_COUNTERS || !(sample->known >> cpu & 1) || total <= 0)
		return true;
	at = sample->y[cpu] * (total + before + after) - after;
	sample->y[cpu] = (float)(at / total);
	return at >= 0 && at <= total;
}

bool passes_outlast_probes(uint64_t ns, bool has_cpu, uint64_t cpu_ns, uint64_t cost_ns)
{
	const uint64_t least = LEAST_OVER_PROBES * cost_ns;

	return ns >= least && (!has_cpu || cpu_ns >= least);
}

/* Subtracts the probes' cost from a pass, if the pass is long enough. Returns whether it did. */
static bool shorten(struct pass *pass, unsigned cpu, uint64_t before, uint64_t after)
{
	const bool has_cpu = cpu < METRIC_COUNTERS && pass->known >> cpu & 1;

	if (!passes_outlast_probes(pass->end_ns - pass->start_ns, has_cpu,
				   has_cpu ? pass->total[cpu] : 0, before + after))
		return false;
	pass->start_ns += after;
	pass->end_ns -= before;
	if (has_cpu)
		pass->total[cpu] -= before + after;
	pass->cpu_ns -= pass->cpu_ns > before + after ? before + after : 0;
	return true;
}

static void take_off_probes(struct maker *m)
{
	const struct store_tables *tables = profile_tables(m->profile);
	struct passes *p = m->passes;
	uint64_t before, after;
	const unsigned cpu = counter_names_cpu(p->counters);
	size_t kept = 0;

	passes_probe_cost(tables, &before, &after);
	p->probes_ns = before + after;
	for (size_t i = 0; i < p->all.count && p->probes_ns; i++) {
		struct pass *pass = &p->all.items[i];

		pass->is_shorter = shorten(pass, cpu, before, after);
		p->shorter += pass->is_shorter;
	}
	for (size_t i = 0; i < p->samples.count; i++) {
		struct pass_sample sample = p->samples.items[i];

		if (p->all.items[sample.pass].is_shorter &&
		    !shift_sample(p, &sample, cpu, (double)before, (double)after)) {
			p->all.items[sample.pass].samples--;
			p->in_probes++;
			continue;
		}
		p->samples.items[kept++] = sample;
	}
	p->samples.count = kept;
}

/* --- entry points ----------------------------------------------------------------------------- */

static int fill(struct maker *m)
{
	return m->passes->all.count ? read_beside(m, SERIES_CPU, add_sample) : 0;
}

int passes_make(struct profile *profile, const struct profile_symbol *region,
		struct passes *ret_passes)
{
	struct maker m = {0};
	int err;

	*ret_passes = (struct passes){.region = region, .name = strdup(region->name)};
	err = ret_passes->name ? find_passes(profile, region, ret_passes) : -ENOMEM;
	if (!err)
		err = begin(&m, profile, ret_passes);
	if (!err)
		err = read_cpu(&m);
	if (!err)
		err = fill(&m);
	if (!err)
		err = read_counters(&m);
	if (!err)
		take_off_probes(&m);
	thread_spans_free(&m.spans);
	return err;
}

int passes_fill(struct profile *profile, struct passes *passes)
{
	struct maker m;
	int err = begin(&m, profile, passes);

	if (!err)
		err = fill(&m);
	thread_spans_free(&m.spans);
	return err;
}

int passes_fill_counters(struct profile *profile, struct passes *passes,
			 uint64_t *const ends[METRIC_COUNTERS])
{
	struct maker m;
	int err = begin(&m, profile, passes);

	for (unsigned i = 0; i < METRIC_COUNTERS && !err; i++) {
		if (ends[i])
			err = read_counter(&m, i, ends[i]);
	}
	if (!err)
		take_off_probes(&m);
	thread_spans_free(&m.spans);
	return err;
}

static int pick_samples(const struct passes *passes, const uint32_t *numbers, struct passes *to)
{
	for (size_t i = 0; i < passes->samples.count; i++) {
		struct pass_sample sample = passes->samples.items[i];

		if (numbers[sample.pass] == UINT32_MAX)
			continue;
		if (VEC_RESERVE(&to->samples, 1))
			return -ENOMEM;
		sample.pass = numbers[sample.pass];
		to->samples.items[to->samples.count++] = sample;
	}
	return 0;
}

static int pick_passes(const struct passes *passes, const uint32_t *group_of, uint32_t group,
		       uint32_t *numbers, struct passes *to)
{
	for (size_t i = 0; i < passes->all.count; i++) {
		numbers[i] = UINT32_MAX;
		if (group_of[i] != group)
			continue;
		if (VEC_RESERVE(&to->all, 1))
			return -ENOMEM;
		numbers[i] = (uint32_t)to->all.count;
		to->all.items[to->all.count++] = passes->all.items[i];
		to->shorter += passes->all.items[i].is_shorter;
	}
	if (pass_increments_pick(passes, numbers, to))
		return -ENOMEM;
	return pick_samples(passes, numbers, to);
}

int passes_pick(const struct passes *passes, const uint32_t *group_of, uint32_t group,
		struct passes *ret_passes)
{
	uint32_t *numbers = calloc(passes->all.count + 1, sizeof(*numbers));
	int err = numbers ? 0 : -ENOMEM;

	*ret_passes = (struct passes){.region = passes->region,
				      .node = passes->node,
				      .are_bursts = passes->are_bursts,
				      .probes_ns = passes->probes_ns};
	ret_passes->name = strdup(passes->name);
	for (unsigned i = 0; i < METRIC_COUNTERS && !err; i++) {
		if (passes->counters[i] && !(ret_passes->counters[i] = strdup(passes->counters[i])))
			err = -ENOMEM;
	}
	if (!err)
		err = ret_passes->name ? pick_passes(passes, group_of, group, numbers, ret_passes)
				       : -ENOMEM;
	free(numbers);
	return err;
}

void passes_free(struct passes *passes)
{
	for (unsigned i = 0; i < METRIC_COUNTERS; i++)
		free(passes->increments[i].items);
	free(passes->all.items);
	free(passes->samples.items);
	free(passes->name);
	counter_names_free(passes->counters);
	*passes = (struct passes){0};
}
