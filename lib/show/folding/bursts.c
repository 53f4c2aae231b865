/* SPDX-License-Identifier: MIT */
/*
 * Makes bursts from the calls of MPI; see bursts.h.
 *
 * Calls are instances of functions of MPI (instances.h). Each series of a counter is read once,
 * matching its records with the calls (thread_spans.h), as in passes.c.
 */
#include "folding/bursts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/int_map.h"
#include "model/counter_names.h"
#include "model/instances.h"
#include "model/thread_spans.h"
#include "stackd_abi.h"
#include "store/store_reader.h"
#include "sym/mpi_name.h"

/* A multiplexed counter counts for at least so long before the next group gets the processor's
 * counters (docs/FOLD.md, Events). */
#define TURN_NS 200000000u

#define NO_PATH UINT32_MAX /* path of a call that the filter does not select */

struct maker {
	struct profile *profile;
	struct bursts *bursts;
	struct instances calls;
	struct thread_spans spans; /* the calls */
	uint32_t *path;		   /* by call: index of bursts.calls, or NO_PATH */
	struct int_map by_path;	   /* (node, origin and end reason) -> index of bursts.calls */
	uint32_t *call;		   /* by burst: the index of the call after it */
	size_t cap_call;
	/* The counter that is being read. The fields below are about this counter. */
	unsigned counter;
	uint64_t *sum;	    /* by thread: sum of its readings so far */
	uint32_t *begun;    /* by thread: how often its readings have begun anew */
	uint32_t *begun_at; /* by call: value of `begun` at its end */
	/* by MPI call: value of the counter at its end, and by how much it grew in the call */
	uint64_t *at_end, *passed;
	uint8_t *has_end, *has_passed; /* by call */
};

/* --- calls ------------------------------------------------------------------------------------ */

static bool is_mpi(void *arg, const struct profile_symbol *region)
{
	(void)arg;
	return mpi_name_is_call(profile_symbol_plain(region), region->object);
}

static int path_of(struct maker *m, const struct store_sample *record, uint32_t *ret_path)
{
	struct bursts *b = m->bursts;
	struct store_sample shown;

	*ret_path = NO_PATH;
	if (!profile_sample_at_any_time(m->profile, record, &shown))
		return 0;
	if (int_map_enter_wide(&m->by_path, shown.node, shown.origin << 8 | shown.end_reason,
			       (uint32_t)b->calls.count, ret_path) ||
	    VEC_RESERVE(&b->calls, 1))
		return -ENOMEM;
	if (*ret_path == b->calls.count)
		b->calls.items[b->calls.count++] = (struct burst_call){
			.node = shown.node, .origin = shown.origin, .end_reason = shown.end_reason};
	return 0;
}

static int find_calls(struct maker *m)
{
	const struct instances_choice choice = {.chooses = is_mpi};
	int err = instances_find(m->profile, &choice, &m->calls);

	m->bursts->n_calls = m->calls.all.count;
	m->path = calloc(m->calls.all.count + 1, sizeof(*m->path));
	if (!err)
		err = m->path ? thread_spans_make(m->profile, m->calls.all.count, &m->spans)
			      : -ENOMEM;
	for (size_t i = 0; i < m->calls.all.count && !err; i++) {
		const struct store_sample *record = &m->calls.all.items[i].record;

		thread_spans_add(&m->spans, record->thread, record->time_ns);
		err = path_of(m, record, &m->path[i]);
	}
	return err;
}

/* --- bursts ----------------------------------------------------------------------------------- */

/* Returns how much of the time between two moments is in the filter's range and in the reader's. */
static uint64_t part_of(const struct maker *m, uint64_t start_ns, uint64_t end_ns)
{
	const uint64_t begin = profile_begin(m->profile), last = profile_end(m->profile);
	const uint64_t from = start_ns > begin ? start_ns : begin;
	const uint64_t to = end_ns <= last ? end_ns : last + 1;

	return store_reader_selected_ns(profile_tables(m->profile), from, to);
}

/* Returns whether the filter and the reader both select a moment. */
static bool is_selected(const struct maker *m, uint64_t ns)
{
	return ns >= profile_begin(m->profile) && ns <= profile_end(m->profile) &&
	       store_reader_selects(profile_tables(m->profile), ns);
}

/* Adds the burst that ends with call `index`. */
static int add_burst(struct maker *m, size_t index)
{
	struct bursts *b = m->bursts;
	const struct instance *after = &m->calls.all.items[index], *before = after - 1;
	const uint64_t start_ns = before->record.time_ns;

	if (VEC_RESERVE(&b->all, 1) || VEC_GROW(m->call, m->cap_call, b->all.count + 1))
		return -ENOMEM;
	m->call[b->all.count] = (uint32_t)index;
	b->all.items[b->all.count++] =
		(struct burst){.start_ns = start_ns,
			       .end_ns = after->start_ns,
			       .part_ns = part_of(m, start_ns, after->start_ns),
			       .thread = after->record.thread,
			       .before = m->path[index - 1],
			       .after = m->path[index],
			       .cpu = after->record.cpu,
			       .is_ended = is_selected(m, after->start_ns)};
	return 0;
}

static int find_bursts(struct maker *m)
{
	int err = 0;

	for (size_t i = 0; i < m->calls.all.count && !err; i++) {
		const struct instance *call = &m->calls.all.items[i], *before = call - 1;

		if (m->path[i] == NO_PATH)
			continue;
		m->bursts->calls_ns += part_of(m, call->start_ns, call->record.time_ns);
		if (!i || before->record.thread != call->record.thread ||
		    m->path[i - 1] == NO_PATH || before->record.time_ns > call->start_ns)
			continue;
		if (before->record.end_reason == STACKD_END_LEFT)
			m->bursts->after_left++;
		else
			err = add_burst(m, i);
	}
	return err;
}

/* --- counters --------------------------------------------------------------------------------- */

static int take_passed(void *arg, const struct store_sample *record)
{
	struct maker *m = arg;
	const uint32_t call = thread_spans_ending(&m->spans, record);

	if (call != THREAD_SPANS_NONE) {
		m->passed[call] = record->period;
		m->has_passed[call] = 1;
	}
	return 0;
}

/* Takes a record of CPU time. CPU time always grows between two records of a thread, so a record of
 * 0 is the first one of a window (recording) of the run. */
static int take_reading(void *arg, const struct store_sample *record)
{
	struct maker *m = arg;
	const uint32_t call = thread_spans_ending(&m->spans, record);

	m->sum[record->thread] += record->period;
	m->begun[record->thread] += !record->period;
	if (call != THREAD_SPANS_NONE) {
		m->begun_at[call] = m->begun[record->thread];
		m->at_end[call] = m->sum[record->thread];
		m->has_end[call] = 1;
	}
	return 0;
}

/* Returns whether a counter is multiplexed: for some calls it has no record. */
static bool takes_turns(const struct maker *m)
{
	for (size_t i = 0; i < m->calls.all.count; i++) {
		if (!m->has_passed[i])
			return true;
	}
	return false;
}

/* Returns whether a burst's total of a counter is known, because the counter was read at both
 * calls. A multiplexed counter must have counted in both calls and all the time between, without
 * another group in between. If a window (recording) of the run ends in the burst, all counters
 * begin anew; the records of CPU time show this. */
static bool is_known(const struct maker *m, const struct burst *burst, uint32_t after,
		     bool is_by_turns)
{
	const uint32_t before = after - 1;
	const unsigned cpu = counter_names_cpu(m->bursts->counters);

	if (!m->has_end[before] || !m->has_end[after] || !m->has_passed[after])
		return false;
	if (is_by_turns && (!m->has_passed[before] || burst->end_ns - burst->start_ns > TURN_NS))
		return false;
	if (cpu == m->counter)
		return m->begun_at[before] == m->begun_at[after] &&
		       (int64_t)(m->at_end[after] - m->passed[after] - m->at_end[before]) >= 0;
	return cpu > m->counter || burst->known >> cpu & 1;
}

/* Sets the bursts' totals of a counter: its value at the begin of the call after the burst, minus
 * its value at the end of the call before. */
static void set_totals(struct maker *m)
{
	struct bursts *b = m->bursts;
	const unsigned counter = m->counter;
	const bool is_by_turns = takes_turns(m);

	for (size_t i = 0; i < b->all.count; i++) {
		struct burst *burst = &b->all.items[i];
		const uint32_t after = m->call[i];
		const uint64_t end = m->at_end[after] - m->passed[after];

		if (!is_known(m, burst, after, is_by_turns))
			continue;
		b->end[counter][i] = end;
		b->total[counter][i] = end - m->at_end[after - 1];
		burst->known |= (uint8_t)(1u << counter);
		if ((int64_t)b->total[counter][i] < 0)
			burst->falls |= (uint8_t)(1u << counter);
	}
}

static int read_counter(struct maker *m, unsigned counter)
{
	struct bursts *b = m->bursts;
	int err;

	m->counter = counter;
	m->sum = calloc((size_t)m->spans.n_threads + 1, sizeof(*m->sum));
	m->begun = calloc((size_t)m->spans.n_threads + 1, sizeof(*m->begun));
	m->begun_at = calloc(m->calls.all.count + 1, sizeof(*m->begun_at));
	m->at_end = calloc(m->calls.all.count + 1, sizeof(*m->at_end));
	m->passed = calloc(m->calls.all.count + 1, sizeof(*m->passed));
	m->has_end = calloc(m->calls.all.count + 1, 1);
	m->has_passed = calloc(m->calls.all.count + 1, 1);
	b->total[counter] = calloc(b->all.count + 1, sizeof(**b->total));
	b->end[counter] = calloc(b->all.count + 1, sizeof(**b->end));
	err = m->sum && m->begun && m->begun_at && m->at_end && m->passed && m->has_end &&
			      m->has_passed && b->total[counter] && b->end[counter]
		      ? 0
		      : -ENOMEM;
	if (!err)
		err = thread_spans_read(&m->spans, m->profile, SERIES_PASSED + counter, take_passed,
					m);
	if (!err)
		err = thread_spans_read(&m->spans, m->profile, SERIES_READING + counter,
					take_reading, m);
	if (!err)
		set_totals(m);
	free(m->sum);
	free(m->begun);
	free(m->begun_at);
	free(m->at_end);
	free(m->passed);
	free(m->has_end);
	free(m->has_passed);
	return err;
}

static int read_counters(struct maker *m)
{
	struct bursts *b = m->bursts;
	int err = counter_names_find(profile_tables(m->profile), b->counters);

	for (unsigned i = 0; i < METRIC_COUNTERS && !err; i++) {
		if (b->counters[i] && b->all.count)
			err = read_counter(m, i);
	}
	return err;
}

/* --- probes ----------------------------------------------------------------------------------- */

/* Subtracts the probes' cost from a burst, as passes.c does from passes. bursts_passes() adds it
 * again, because folding subtracts it. */
static void shorten(struct maker *m, size_t index, unsigned cpu)
{
	struct bursts *b = m->bursts;
	struct burst *burst = &b->all.items[index];
	const uint64_t cost = b->before_ns + b->after_ns;
	const bool has_cpu = cpu < METRIC_COUNTERS && burst->known >> cpu & 1;

	if (!passes_outlast_probes(burst->end_ns - burst->start_ns, has_cpu,
				   has_cpu ? b->total[cpu][index] : 0, cost))
		return;
	burst->start_ns += b->after_ns;
	burst->end_ns -= b->before_ns;
	burst->part_ns = part_of(m, burst->start_ns, burst->end_ns);
	if (has_cpu)
		b->total[cpu][index] -= cost;
	burst->is_shorter = true;
}

static void take_off_probes(struct maker *m)
{
	struct bursts *b = m->bursts;
	const unsigned cpu = counter_names_cpu(b->counters);

	passes_probe_cost(profile_tables(m->profile), &b->before_ns, &b->after_ns);
	for (size_t i = 0; i < b->all.count && b->before_ns + b->after_ns; i++)
		shorten(m, i, cpu);
}

/* --- entry points ----------------------------------------------------------------------------- */

int bursts_make(struct profile *profile, struct bursts *ret_bursts)
{
	struct maker m = {.profile = profile, .bursts = ret_bursts};
	int err;

	*ret_bursts = (struct bursts){0};
	err = find_calls(&m);
	if (!err)
		err = find_bursts(&m);
	if (!err)
		err = read_counters(&m);
	if (!err)
		take_off_probes(&m);
	instances_free(&m.calls);
	thread_spans_free(&m.spans);
	free(m.path);
	free(m.call);
	int_map_fini(&m.by_path);
	return err;
}

void bursts_free(struct bursts *bursts)
{
	free(bursts->all.items);
	free(bursts->calls.items);
	counter_names_free(bursts->counters);
	for (unsigned i = 0; i < METRIC_COUNTERS; i++) {
		free(bursts->total[i]);
		free(bursts->end[i]);
	}
	*bursts = (struct bursts){0};
}

static int add_pass(const struct bursts *bursts, size_t index, struct passes *passes,
		    uint64_t *ends[METRIC_COUNTERS])
{
	const struct burst *burst = &bursts->all.items[index];
	const unsigned cpu = counter_names_cpu(bursts->counters);
	/* passes_fill_counters() subtracts the probes' cost, and leaves out samples in that time.
	 */
	const uint64_t before_ns = burst->is_shorter ? bursts->before_ns : 0;
	const uint64_t after_ns = burst->is_shorter ? bursts->after_ns : 0;
	struct pass *pass;

	if (VEC_RESERVE(&passes->all, 1))
		return -ENOMEM;
	/* Folding shows the functions below the function that calls MPI after the burst. */
	if (!passes->all.count)
		passes->node = bursts->calls.items[burst->after].node;
	pass = &passes->all.items[passes->all.count];
	*pass = (struct pass){.start_ns = burst->start_ns - after_ns,
			      .end_ns = burst->end_ns + before_ns,
			      .thread = burst->thread,
			      .node = bursts->calls.items[burst->after].node,
			      .known = burst->known,
			      .falls = burst->falls};
	for (unsigned i = 0; i < METRIC_COUNTERS; i++) {
		if (!ends[i])
			continue;
		pass->total[i] = bursts->total[i][index];
		ends[i][passes->all.count] = bursts->end[i][index];
	}
	if (cpu < METRIC_COUNTERS) {
		pass->total[cpu] += burst->known >> cpu & 1 ? before_ns + after_ns : 0;
		pass->cpu_ns = pass->total[cpu];
	}
	passes->all.count++;
	return 0;
}

static int name_passes(const struct bursts *bursts, const char *name, struct passes *passes)
{
	passes->name = strdup(name);
	for (unsigned i = 0; i < METRIC_COUNTERS; i++) {
		if (bursts->counters[i] && !(passes->counters[i] = strdup(bursts->counters[i])))
			return -ENOMEM;
	}
	return passes->name ? 0 : -ENOMEM;
}

int bursts_passes(struct profile *profile, const struct bursts *bursts, const uint32_t *kind_of,
		  uint32_t kind, const char *name, struct passes *ret_passes)
{
	uint64_t *ends[METRIC_COUNTERS] = {0};
	int err;

	*ret_passes = (struct passes){.are_bursts = true};
	err = name_passes(bursts, name, ret_passes);
	for (unsigned i = 0; i < METRIC_COUNTERS && !err; i++) {
		if (bursts->end[i] && !(ends[i] = calloc(bursts->all.count + 1, sizeof(**ends))))
			err = -ENOMEM;
	}
	for (size_t i = 0; i < bursts->all.count && !err; i++) {
		if (kind_of[i] == kind && bursts->all.items[i].is_ended)
			err = add_pass(bursts, i, ret_passes, ends);
	}
	if (!err)
		err = passes_fill(profile, ret_passes);
	if (!err)
		err = passes_fill_counters(profile, ret_passes, ends);
	for (unsigned i = 0; i < METRIC_COUNTERS; i++)
		free(ends[i]);
	return err;
}
