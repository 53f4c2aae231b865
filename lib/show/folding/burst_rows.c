/* SPDX-License-Identifier: MIT */
/*
 * Sums bursts and their samples up by kind; see burst_rows.h.
 *
 * thread_spans.h finds the burst of a sample. Samples of a row are counted by path first, and each
 * path's functions are looked up once, since many samples share a path.
 */
#include "folding/burst_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/int_map.h"
#include "model/counter_names.h"
#include "model/thread_spans.h"

/* A path that samples of a row have. Its functions are burst_rows.symbols[first .. first + depth).
 */
struct path {
	uint32_t row, depth;
	size_t first;
	uint64_t samples; /* samples with this path; 0: find_path() has left it out */
};

struct maker {
	struct profile *profile;
	struct burst_rows *rows;
	/* The features of kinds, by burst: */
	uint32_t *calls; /* by burst: a number for the pair of calls around it */
	double *features[METRIC_COUNTERS + 1];
	uint32_t n_features;
	double *wall; /* ns, by burst */
	struct int_map by_calls;
	/* Rows: */
	struct int_map by_row; /* (kind, part) -> index of the row */
	uint32_t *row;	       /* by burst: index of its row */
	/* Samples: */
	struct thread_spans spans; /* the bursts */
	struct int_map by_path, by_stack;
	VEC(struct path) paths;	 /* paths of rows; sorted by row in find_paths() */
	VEC(struct path) stacks; /* the functions of each (node, origin and end reason) */
	uint64_t *by_symbol;
};

/* --- kinds ------------------------------------------------------------------------------------ */

static double wall_ns(const struct burst *burst)
{
	return (double)(burst->end_ns - burst->start_ns);
}

static int number_calls(struct maker *m)
{
	const struct bursts *b = &m->rows->bursts;

	m->calls = calloc(b->all.count + 1, sizeof(*m->calls));
	if (!m->calls)
		return -ENOMEM;
	for (size_t i = 0; i < b->all.count; i++) {
		const struct burst *burst = &b->all.items[i];

		if (int_map_enter_wide(&m->by_calls, burst->before, burst->after,
				       (uint32_t)m->by_calls.used, &m->calls[i]))
			return -ENOMEM;
	}
	return 0;
}

/* Returns whether bursts can be compared by a counter: at least nine in ten have a known total of
 * it. */
static bool is_compared(const struct bursts *b, unsigned counter)
{
	size_t known = 0;

	for (size_t i = 0; i < b->all.count && b->total[counter]; i++)
		known += b->all.items[i].known >> counter & 1;
	return b->total[counter] && known >= b->all.count - b->all.count / 10;
}

static double *add_feature(struct maker *m)
{
	double *values = calloc(m->rows->bursts.all.count + 1, sizeof(*values));

	if (values)
		m->features[m->n_features++] = values;
	return values;
}

/* Adds a counter as a feature. A burst without a known total gets the amount that it would have at
 * the mean rate of the other bursts between the same two calls. Returns 0 or -ENOMEM. */
static int add_counter(struct maker *m, unsigned counter)
{
	const struct bursts *b = &m->rows->bursts;
	double *values = add_feature(m);
	double *sum = calloc(m->by_calls.used + 1, sizeof(*sum));
	double *ns = calloc(m->by_calls.used + 1, sizeof(*ns));
	int err = values && sum && ns ? 0 : -ENOMEM;

	for (size_t i = 0; i < b->all.count && !err; i++) {
		const struct burst *burst = &b->all.items[i];

		if (!(burst->known >> counter & 1))
			continue;
		values[i] = burst->falls >> counter & 1 ? 0 : (double)b->total[counter][i];
		sum[m->calls[i]] += values[i];
		ns[m->calls[i]] += wall_ns(burst);
	}
	for (size_t i = 0; i < b->all.count && !err; i++) {
		const struct burst *burst = &b->all.items[i];
		const uint32_t calls = m->calls[i];

		if (!(burst->known >> counter & 1))
			values[i] = ns[calls] > 0 ? sum[calls] / ns[calls] * wall_ns(burst)
						  : wall_ns(burst);
	}
	free(sum);
	free(ns);
	return err;
}

static int add_features(struct maker *m)
{
	const struct bursts *b = &m->rows->bursts;
	const unsigned cpu = counter_names_cpu(b->counters);
	double *values;
	int err = 0;

	m->wall = calloc(b->all.count + 1, sizeof(*m->wall));
	if (!m->wall)
		return -ENOMEM;
	for (size_t i = 0; i < b->all.count; i++)
		m->wall[i] = wall_ns(&b->all.items[i]);
	m->rows->is_cpu_time = cpu < METRIC_COUNTERS && is_compared(b, cpu);
	if (m->rows->is_cpu_time) {
		err = add_counter(m, cpu);
	} else {
		values = add_feature(m);
		err = values ? 0 : -ENOMEM;
		for (size_t i = 0; i < b->all.count && !err; i++)
			values[i] = m->wall[i];
	}
	for (unsigned i = 0; i < METRIC_COUNTERS && !err; i++) {
		if (i != cpu && is_compared(b, i))
			err = add_counter(m, i);
	}
	return err;
}

static int find_kinds(struct maker *m)
{
	struct burst_rows *rows = m->rows;
	int err = number_calls(m);

	if (!err)
		err = add_features(m);
	if (!err)
		err = fold_kinds_find(m->calls, (const double *const *)m->features, m->n_features,
				      m->wall, (uint32_t)rows->bursts.all.count, &rows->kinds);
	return err;
}

/* --- rows ------------------------------------------------------------------------------------- */

static void add_amounts(const struct bursts *b, size_t index, struct burst_figures *f)
{
	const struct burst *burst = &b->all.items[index];

	for (unsigned i = 0; i < METRIC_COUNTERS; i++) {
		if (!(burst->known >> i & 1))
			continue;
		f->amounts[i].known++;
		f->amounts[i].sum += (double)(int64_t)b->total[i][index];
		f->amounts[i].ns += wall_ns(burst);
	}
}

/* Adds a burst's time to the mean of its row. If the burst's CPU time was not read, its feature is
 * a guess, which is good enough to find its kind, but is left out of the mean. */
static void add_time(const struct maker *m, size_t index, struct burst_figures *f)
{
	const struct bursts *b = &m->rows->bursts;
	const double ns = m->features[0][index];
	double off;

	if (m->rows->is_cpu_time &&
	    !(b->all.items[index].known >> counter_names_cpu(b->counters) & 1))
		return;
	f->timed++;
	off = ns - f->mean_ns;
	f->mean_ns += off / (double)f->timed;
	f->squares += off * (ns - f->mean_ns);
	f->deviation = f->timed > 1 ? sqrt(f->squares / (double)(f->timed - 1)) : 0;
}

static void add_burst(struct maker *m, size_t index, struct burst_figures *f)
{
	const struct burst *burst = &m->rows->bursts.all.items[index];
	const uint64_t ns = burst->end_ns - burst->start_ns;

	f->part_ns += burst->part_ns;
	if (!burst->is_ended)
		return;
	f->bursts++;
	add_time(m, index, f);
	f->least_ns = f->bursts == 1 || ns < f->least_ns ? ns : f->least_ns;
	f->most_ns = ns > f->most_ns ? ns : f->most_ns;
	add_amounts(&m->rows->bursts, index, f);
}

static int add_rows(struct maker *m)
{
	struct burst_rows *rows = m->rows;
	const struct bursts *b = &rows->bursts;

	m->row = calloc(b->all.count + 1, sizeof(*m->row));
	if (!m->row)
		return -ENOMEM;
	for (size_t i = 0; i < b->all.count; i++) {
		const struct burst *burst = &b->all.items[i];
		const uint32_t kind = rows->kinds->kind_of[i];
		const uint32_t part = partition_of(&rows->partition, burst->thread, burst->cpu);

		m->row[i] = UINT32_MAX;
		if (!burst->is_ended && !burst->part_ns)
			continue;
		if (int_map_enter_wide(&m->by_row, kind, part, (uint32_t)rows->rows.count,
				       &m->row[i]) ||
		    VEC_RESERVE(&rows->rows, 1))
			return -ENOMEM;
		if (m->row[i] == rows->rows.count)
			rows->rows.items[rows->rows.count++] =
				(struct burst_row){.kind = kind,
						   .part = part,
						   .before = burst->before,
						   .after = burst->after};
		add_burst(m, i, &rows->rows.items[m->row[i]].figures);
	}
	return rows->rows.count ? 0 : -ENODATA;
}

/* --- samples ---------------------------------------------------------------------------------- */

/* Looks up the functions of a path, from the root to the leaf. */
static int add_stack(struct maker *m, const struct store_sample *shown)
{
	struct burst_rows *rows = m->rows;
	size_t n;
	const struct profile_frame *frames =
		profile_frames(m->profile, shown->node, shown->end_reason, shown->origin, &n);

	if (!frames || VEC_RESERVE(&rows->symbols, n + 1) || VEC_RESERVE(&m->stacks, 1))
		return -ENOMEM;
	m->stacks.items[m->stacks.count++] =
		(struct path){.first = rows->symbols.count, .depth = n ? (uint32_t)n : 1};
	for (size_t i = 0; i < n; i++)
		rows->symbols.items[rows->symbols.count++] = frames[i].symbol;
	if (!n)
		rows->symbols.items[rows->symbols.count++] = profile_no_frames(m->profile);
	return 0;
}

static int add_path(struct maker *m, uint32_t row, const struct store_sample *shown)
{
	uint32_t stack, path;

	if (int_map_enter_wide(&m->by_stack, shown->node, shown->origin << 8 | shown->end_reason,
			       (uint32_t)m->stacks.count, &stack) ||
	    (stack == m->stacks.count && add_stack(m, shown)) ||
	    int_map_enter_wide(&m->by_path, stack, row, (uint32_t)m->paths.count, &path) ||
	    VEC_RESERVE(&m->paths, 1))
		return -ENOMEM;
	if (path == m->paths.count) {
		m->paths.items[m->paths.count++] = m->stacks.items[stack];
		m->paths.items[path].row = row;
	}
	m->paths.items[path].samples++;
	return 0;
}

static int add_sample(void *arg, const struct store_sample *record)
{
	struct maker *m = arg;
	const uint32_t burst = thread_spans_at(&m->spans, record);
	struct store_sample shown;
	struct burst_figures *f;

	if (burst == THREAD_SPANS_NONE || m->row[burst] == UINT32_MAX ||
	    record->time_ns < m->rows->bursts.all.items[burst].start_ns ||
	    !profile_sample(m->profile, record, &shown))
		return 0;
	f = &m->rows->rows.items[m->row[burst]].figures;
	f->samples++;
	f->sampled_ns += (double)record->period;
	f->sampled_squares += (double)record->period * (double)record->period;
	return add_path(m, m->row[burst], &shown);
}

static int add_samples(struct maker *m)
{
	const struct bursts *b = &m->rows->bursts;
	int err = thread_spans_make(m->profile, b->all.count, &m->spans);

	for (size_t i = 0; i < b->all.count && !err; i++)
		thread_spans_add(&m->spans, b->all.items[i].thread, b->all.items[i].end_ns);
	if (err)
		return err;
	thread_spans_rewind(&m->spans);
	return profile_records(m->profile, add_sample, m);
}

/* --- the path of a row ------------------------------------------------------------------------ */

static int by_row(const void *a, const void *b)
{
	const struct path *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* Adds up the samples of the paths by their function at `depth`. Returns a path with the function
 * that has most samples, and their number in *ret_most; NULL: no path is so deep. */
static const struct path *most_at(struct maker *m, const struct path *paths, size_t n,
				  uint32_t depth, uint64_t *ret_most)
{
	const struct profile_symbol *const *symbols = m->rows->symbols.items;
	const struct path *best = NULL;

	*ret_most = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t *samples;

		if (paths[i].depth <= depth)
			continue;
		samples = &m->by_symbol[symbols[paths[i].first + depth]->number];
		*samples += paths[i].samples;
		if (*samples > *ret_most) {
			*ret_most = *samples;
			best = &paths[i];
		}
	}
	for (size_t i = 0; i < n; i++) {
		if (paths[i].depth > depth)
			m->by_symbol[symbols[paths[i].first + depth]->number] = 0;
	}
	return best;
}

/* Sets a row's path: goes on from the root as long as one function, not of the kernel, has at least
 * half of the row's samples. */
static void find_path(struct maker *m, struct burst_row *row, struct path *paths, size_t n)
{
	const struct profile_symbol *const *symbols = m->rows->symbols.items;
	uint64_t most;

	for (;; row->depth++) {
		const struct path *best = most_at(m, paths, n, row->depth, &most);

		if (!best || most * 2 < row->figures.samples ||
		    symbols[best->first + row->depth]->is_kernel)
			return;
		row->first = best->first;
		row->of_path = most;
		for (size_t i = 0; i < n; i++) {
			if (paths[i].depth <= row->depth ||
			    symbols[paths[i].first + row->depth] !=
				    symbols[best->first + row->depth])
				paths[i].samples = 0;
		}
	}
}

/* Returns how many functions, from the root on, are the same in a row's path and in the path of MPI
 * call `index`. */
static uint32_t shared_with(struct maker *m, const struct burst_row *row, uint32_t index)
{
	const struct burst_call *call = &m->rows->bursts.calls.items[index];
	uint32_t shared = 0;
	size_t n;
	const struct profile_frame *frames =
		profile_frames(m->profile, call->node, call->end_reason, call->origin, &n);

	while (frames && shared < n && shared < row->depth &&
	       frames[shared].symbol == m->rows->symbols.items[row->first + shared])
		shared++;
	return shared;
}

static void find_shared(struct maker *m, struct burst_row *row)
{
	const uint32_t before = shared_with(m, row, row->before);
	const uint32_t after = shared_with(m, row, row->after);

	row->shared = before < after ? before : after;
	if (row->shared == row->depth && row->depth)
		row->shared--;
}

static int find_paths(struct maker *m)
{
	size_t end;

	m->by_symbol = calloc(profile_symbol_count(m->profile) + 1, sizeof(*m->by_symbol));
	if (!m->by_symbol)
		return -ENOMEM;
	if (m->paths.count)
		qsort(m->paths.items, m->paths.count, sizeof(*m->paths.items), by_row);
	for (size_t i = 0; i < m->paths.count; i = end) {
		const uint32_t row = m->paths.items[i].row;

		for (end = i + 1; end < m->paths.count && m->paths.items[end].row == row;)
			end++;
		find_path(m, &m->rows->rows.items[row], m->paths.items + i, end - i);
		find_shared(m, &m->rows->rows.items[row]);
	}
	return 0;
}

/* --- entry points ----------------------------------------------------------------------------- */

static int by_part(const void *a, const void *b)
{
	const struct burst_row *x = a, *y = b;

	if (x->part != y->part)
		return x->part < y->part ? -1 : 1;
	if ((x->kind == FOLD_NOISE) != (y->kind == FOLD_NOISE))
		return x->kind == FOLD_NOISE ? 1 : -1;
	if (x->figures.part_ns != y->figures.part_ns)
		return x->figures.part_ns > y->figures.part_ns ? -1 : 1;
	return x->kind < y->kind ? -1 : x->kind > y->kind;
}

static int sum_parts(struct burst_rows *rows)
{
	uint32_t n = 0;

	for (size_t i = 0; i < rows->rows.count; i++)
		n = rows->rows.items[i].part >= n ? rows->rows.items[i].part + 1 : n;
	rows->part_ns = calloc((size_t)n + 1, sizeof(*rows->part_ns));
	if (!rows->part_ns)
		return -ENOMEM;
	for (size_t i = 0; i < rows->rows.count; i++)
		rows->part_ns[rows->rows.items[i].part] += rows->rows.items[i].figures.part_ns;
	qsort(rows->rows.items, rows->rows.count, sizeof(*rows->rows.items), by_part);
	return 0;
}

static void release(struct maker *m)
{
	free(m->calls);
	free(m->wall);
	for (uint32_t i = 0; i < m->n_features; i++)
		free(m->features[i]);
	int_map_fini(&m->by_calls);
	int_map_fini(&m->by_row);
	int_map_fini(&m->by_path);
	int_map_fini(&m->by_stack);
	free(m->row);
	thread_spans_free(&m->spans);
	free(m->paths.items);
	free(m->stacks.items);
	free(m->by_symbol);
}

int burst_rows_make(struct profile *profile, enum partition_by by, struct burst_rows *ret_rows)
{
	struct maker m = {.profile = profile, .rows = ret_rows};
	int err;

	*ret_rows = (struct burst_rows){0};
	err = bursts_make(profile, &ret_rows->bursts);
	if (!err && !ret_rows->bursts.all.count)
		err = -ENODATA;
	if (!err)
		err = partition_make(profile, by, &ret_rows->partition);
	if (!err)
		err = find_kinds(&m);
	if (!err)
		err = add_rows(&m);
	if (!err)
		err = add_samples(&m);
	if (!err)
		err = find_paths(&m);
	if (!err)
		err = sum_parts(ret_rows);
	release(&m);
	return err;
}

void burst_rows_free(struct burst_rows *rows)
{
	bursts_free(&rows->bursts);
	fold_kinds_free(rows->kinds);
	partition_free(&rows->partition);
	free(rows->rows.items);
	free(rows->symbols.items);
	free(rows->part_ns);
	*rows = (struct burst_rows){0};
}

/* Returns the name of a call's function. */
static const char *function_of(struct profile *profile, const struct burst_call *call)
{
	size_t n;
	const struct profile_frame *frames =
		profile_frames(profile, call->node, call->end_reason, call->origin, &n);

	return frames && n ? frames[n - 1].symbol->name : "?";
}

char *burst_rows_name(struct profile *profile, const struct burst_rows *rows, uint32_t kind)
{
	const struct burst_row *row = rows->rows.items;
	const struct burst_row *end = row + rows->rows.count;
	const struct burst_call *calls = rows->bursts.calls.items;
	char *name;
	int length;

	while (row < end && row->kind != kind)
		row++;
	if (row < end)
		length = asprintf(&name, "bursts of kind %" PRIu32 " of %" PRIu32 ", %s > %s",
				  kind + 1, rows->kinds->n,
				  function_of(profile, &calls[row->before]),
				  function_of(profile, &calls[row->after]));
	else
		length = asprintf(&name, "bursts of kind %" PRIu32 " of %" PRIu32, kind + 1,
				  rows->kinds->n);
	return length < 0 ? NULL : name;
}

double burst_rows_on_cpu(const struct profile *profile, const struct burst_rows *rows,
			 const struct burst_row *row, double *ret_error)
{
	const struct burst_figures *f = &row->figures;
	const unsigned cpu = counter_names_cpu(rows->bursts.counters);

	*ret_error = 0;
	if (cpu < METRIC_COUNTERS && f->amounts[cpu].ns > 0)
		return f->amounts[cpu].sum / f->amounts[cpu].ns;
	if (!store_is_timed(&profile_tables(profile)->recording) || !f->part_ns || !f->samples)
		return -1;
	*ret_error = sqrt(f->sampled_squares) / (double)f->part_ns;
	return f->sampled_ns / (double)f->part_ns;
}
