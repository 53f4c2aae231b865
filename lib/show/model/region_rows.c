/* SPDX-License-Identifier: MIT */
/* Sums up instances by region and call path; see region_rows.h. */
#include "model/region_rows.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/int_map.h"
#include "model/region_rest.h"
#include "stackd_abi.h"
#include "store/store_reader.h"
#include "sym/clone_name.h"

/* The instances nested in one instance: their time together. */
struct nested {
	uint64_t time_ns, value;
	uint64_t part; /* the part of `value` that lies in the range */
	uint32_t thread;
};

struct maker {
	struct profile *profile;
	const struct region_parts *parts; /* NULL: all threads are of one part */
	struct region_rows *rows;
	VEC(struct nested) nested; /* nested times of all instances, in order of time */
	/* index of the first element of `nested` to which a later record can belong */
	size_t at;
	struct int_map by_node;	  /* (node, part) -> index of the path */
	struct int_map by_symbol; /* (symbol, part) -> index of the region */
	struct int_map threads;	  /* the (thread, path) pairs that have been counted */
	/* owned by the profile; NULL: no region's probes were taken off */
	struct region_rest *rest;
	bool has_clones;
};

/* Finds or makes the path of a record that profile_sample() returned. NULL: memory is short. */
static struct region_path *path_of(struct maker *m, const struct store_sample *shown)
{
	struct region_rows *rows = m->rows;
	uint32_t part = m->parts ? m->parts->part_of(m->parts->arg, shown->thread, shown->cpu) : 0;
	uint64_t reason = profile_has_mark(m->profile, shown->end_reason, shown->origin)
				  ? (uint64_t)shown->end_reason + 1
				  : 0;
	uint32_t index;

	if (int_map_enter_wide(&m->by_node, shown->node | reason << 32, part,
			       (uint32_t)rows->paths.count, &index))
		return NULL;
	if (index == rows->paths.count) {
		if (VEC_RESERVE(&rows->paths, 1))
			return NULL;
		rows->paths.items[rows->paths.count++] =
			(struct region_path){.node = shown->node,
					     .part = part,
					     .end_reason = shown->end_reason,
					     .origin = shown->origin,
					     .figures.least_ns = UINT64_MAX};
	}
	return &rows->paths.items[index];
}

/* Finds the time of the instances nested in the instance of a record. Both series have their
 * records in the same order. NULL: no instance is nested in it. */
static struct nested *find_nested(struct maker *m, const struct store_sample *record)
{
	while (m->at < m->nested.count && m->nested.items[m->at].time_ns < record->time_ns)
		m->at++;
	for (size_t i = m->at; i < m->nested.count && m->nested.items[i].time_ns == record->time_ns;
	     i++) {
		if (m->nested.items[i].thread == record->thread)
			return &m->nested.items[i];
	}
	return NULL;
}

static int add_nested(void *arg, const struct store_sample *record)
{
	struct maker *m = arg;

	if (VEC_RESERVE(&m->nested, 1))
		return -ENOMEM;
	m->nested.items[m->nested.count++] = (struct nested){
		.time_ns = record->time_ns, .value = record->period, .thread = record->thread};
	return 0;
}

/* Counts an instance that ended in the range. */
static void add_visit(struct region_figures *f, uint64_t whole_ns, bool is_left)
{
	f->visits++;
	f->left += is_left;
	f->ended_ns += whole_ns;
	if (whole_ns < f->least_ns)
		f->least_ns = whole_ns;
	if (whole_ns > f->most_ns)
		f->most_ns = whole_ns;
}

/* Adds an instance. `own` has the spans that it spent itself; with the nested instances it covers
 * all the time from the begin of its first span to its end. */
static int add_time(void *arg, const struct store_sample *record, const struct lasting *own)
{
	struct maker *m = arg;
	struct nested *nested = record->cpu == STORE_CPU_OF_SUM ? NULL : find_nested(m, record);
	struct store_sample whole = *record, shown;
	struct span span = {.end_ns = record->time_ns};
	struct region_path *path;
	uint64_t own_ns = 0;
	uint32_t thread;

	whole.period += nested ? nested->value : 0;
	span.begin_ns = span.end_ns - (whole.period < span.end_ns ? whole.period : span.end_ns);
	if (profile_part(m->profile, record, own, &shown))
		own_ns = shown.period;
	if (!profile_part(m->profile, &whole,
			  &(struct lasting){.spans = &span,
					    .n = 1,
					    .ns = span.end_ns - span.begin_ns,
					    .is_stored = true,
					    .tables = own->tables},
			  &shown))
		return 0;
	path = path_of(m, &shown);
	if (!path || int_map_enter_wide(&m->threads, (uint64_t)(path - m->rows->paths.items),
					record->thread, 0, &thread))
		return -ENOMEM;
	path->figures.own_ns += own_ns;
	path->figures.total_ns += shown.period;
	if (record->cpu == STORE_CPU_OF_SUM)
		return 0; /* add_amount() adds its visits */
	if (nested)
		nested->part = shown.period > own_ns ? shown.period - own_ns : 0;
	if (profile_sample(m->profile, record, &shown))
		add_visit(&path->figures, whole.period, record->end_reason == STACKD_END_LEFT);
	return 0;
}

static int add_own_cpu(void *arg, const struct store_sample *record, const struct lasting *own)
{
	struct maker *m = arg;
	struct store_sample shown;
	struct region_path *path;

	if (!profile_part(m->profile, record, own, &shown))
		return 0;
	path = path_of(m, &shown);
	if (!path)
		return -ENOMEM;
	path->figures.cpu_ns += shown.period;
	return 0;
}

/* Adds the CPU time of the instances nested in an instance. If only a part of their wall time is in
 * the range, the same share of their CPU time counts. */
static int add_nested_cpu(void *arg, const struct store_sample *record)
{
	struct maker *m = arg;
	const struct nested *nested = find_nested(m, record);
	struct store_sample shown;
	struct region_path *path;

	if (!nested || !nested->part || !profile_sample_at_any_time(m->profile, record, &shown))
		return 0;
	path = path_of(m, &shown);
	if (!path)
		return -ENOMEM;
	path->figures.cpu_ns += nested->part == nested->value
					? record->period
					: (uint64_t)((double)record->period * (double)nested->part /
							     (double)nested->value +
						     0.5);
	return 0;
}

/* Finds the path of a record of bytes. Returns 0 or -ENOMEM; 0 with NULL: the filter does not
 * select the record. */
static int find_path(struct maker *m, const struct store_sample *record,
		     struct region_path **ret_path)
{
	struct store_sample shown;

	*ret_path = NULL;
	if (!profile_sample(m->profile, record, &shown))
		return 0;
	*ret_path = path_of(m, &shown);
	return *ret_path ? 0 : -ENOMEM;
}

/* A series of bytes of MPI calls, and the offset in struct region_figures at which its sum is. */
struct amount {
	struct maker *maker;
	enum metric_series series;
	size_t offset;
};

static int add_amount(void *arg, const struct store_sample *record)
{
	const struct amount *amount = arg;
	struct region_path *path;
	int err = find_path(amount->maker, record, &path);

	if (path)
		*(uint64_t *)((char *)&path->figures + amount->offset) += record->period;
	return err;
}

static int read_amounts(struct maker *m)
{
	const struct amount amounts[] = {
		{m, SERIES_MPI_SENT, offsetof(struct region_figures, sent)},
		{m, SERIES_MPI_RECEIVED, offsetof(struct region_figures, received)},
		{m, SERIES_CALL_VISITS, offsetof(struct region_figures, visits)},
		{m, SERIES_CALL_TIME, offsetof(struct region_figures, ended_ns)},
		{m, SERIES_MPI_READ, offsetof(struct region_figures, read)},
		{m, SERIES_MPI_WRITTEN, offsetof(struct region_figures, written)},
		{m, SERIES_MPI_AT_MOST, offsetof(struct region_figures, at_most)},
		{m, SERIES_MPI_UNKNOWN, offsetof(struct region_figures, unknown)},
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(amounts) / sizeof(*amounts) && !err; i++) {
		struct amount amount = amounts[i];

		err = store_reader_records(profile_reader(m->profile), amount.series, add_amount,
					   &amount);
	}
	return err;
}

static int read_series(struct maker *m)
{
	struct store_reader *reader = profile_reader(m->profile);
	int err = store_reader_all_records(reader, SERIES_REGION_NESTED_TIME, add_nested, m);

	if (!err)
		err = lasting_records(reader, METRIC_REGION_TIME, add_time, m);
	if (!err)
		err = lasting_records(reader, METRIC_REGION_CPU, add_own_cpu, m);
	m->at = 0;
	if (!err)
		err = store_reader_all_records(reader, SERIES_REGION_NESTED_CPU, add_nested_cpu, m);
	return err ? err : read_amounts(m);
}

/* --- by region ------------------------------------------------------------------------------- */

/* Returns the function that a node's code is in, not those inlined there. */
static const struct profile_symbol *symbol_of(struct maker *m, uint32_t node)
{
	const struct store_tables *tables = profile_tables(m->profile);
	size_t n;
	const struct profile_frame *frames =
		profile_location_frames(m->profile, tables->nodes[node].location, &n);

	return frames ? frames[0].symbol : NULL;
}

/* Returns the index of the row that another clone of the function has; the number of rows: there is
 * none. `base` is the length of the name in the source. */
static uint32_t find_clone(const struct maker *m, const struct profile_symbol *symbol, size_t base,
			   uint32_t part)
{
	const struct region_rows *rows = m->rows;

	for (size_t i = 0; i < rows->regions.count && m->has_clones; i++) {
		const struct region_row *row = &rows->regions.items[i];

		if (row->part == part && strlen(row->name) == base &&
		    !strncmp(row->name, symbol->name, base) &&
		    !strcmp(row->symbol->object, symbol->object))
			return (uint32_t)i;
	}
	return (uint32_t)rows->regions.count;
}

static struct region_row *region_of(struct maker *m, const struct profile_symbol *symbol,
				    uint32_t part, uint32_t *ret_index)
{
	struct region_rows *rows = m->rows;
	size_t base = clone_name_base(symbol->name);
	uint32_t index = int_map_find_wide(&m->by_symbol, symbol->number, part);
	char *name;

	m->has_clones |= symbol->name[base] != '\0';
	if (index == INT_MAP_NONE) {
		index = find_clone(m, symbol, base, part);
		if (int_map_enter_wide(&m->by_symbol, symbol->number, part, index, &index))
			return NULL;
	}
	*ret_index = index;
	if (index < rows->regions.count)
		return &rows->regions.items[index];
	name = strndup(symbol->name, region_rest_source_name(symbol->name));
	if (!name || VEC_RESERVE(&rows->regions, 1)) {
		free(name);
		return NULL;
	}
	rows->regions.items[rows->regions.count++] = (struct region_row){
		.symbol = symbol, .name = name, .part = part, .figures.least_ns = UINT64_MAX};
	return &rows->regions.items[index];
}

/* Returns whether instances with this path are nested in another instance of their region, because
 * the region's function is among the callers. */
static bool is_within(struct maker *m, const struct region_path *path)
{
	const struct store_tables *tables = profile_tables(m->profile);

	for (uint32_t node = tables->nodes[path->node].parent; node;
	     node = tables->nodes[node].parent) {
		const struct profile_symbol *symbol = symbol_of(m, node);

		if (symbol &&
		    int_map_find_wide(&m->by_symbol, symbol->number, path->part) == path->region)
			return true;
	}
	return false;
}

static void add_figures(struct region_row *row, const struct region_path *path)
{
	struct region_figures *sum = &row->figures;
	const struct region_figures *f = &path->figures;

	sum->visits += f->visits;
	sum->left += f->left;
	sum->own_ns += f->own_ns;
	sum->sent += f->sent;
	sum->received += f->received;
	sum->read += f->read;
	sum->written += f->written;
	sum->at_most += f->at_most;
	sum->unknown += f->unknown;
	sum->total_ns += path->is_within ? 0 : f->total_ns;
	sum->cpu_ns += path->is_within ? 0 : f->cpu_ns;
	sum->estimated_ns += path->is_within ? 0 : f->estimated_ns;
	sum->estimated_variance += path->is_within ? 0 : f->estimated_variance;
	sum->ended_ns += f->ended_ns;
	if (f->least_ns < sum->least_ns)
		sum->least_ns = f->least_ns;
	if (f->most_ns > sum->most_ns)
		sum->most_ns = f->most_ns;
	if (path->n_threads > row->n_threads)
		row->n_threads = path->n_threads;
	row->count++;
}

static void count_threads(struct maker *m)
{
	for (size_t i = 0; i < m->threads.slots; i++) {
		const struct int_map_slot *slot = &m->threads.table[i];

		if (slot->value != INT_MAP_NONE)
			m->rows->paths.items[slot->key].n_threads++;
	}
}

/* --- estimates after probes were taken off --------------------------------------------------- */

struct estimates {
	struct maker *maker;
	/* (caller, function) -> node of the region's first path with this caller */
	struct int_map nodes;
};

/* Replaces a sample's node by the node of the region's path with the same caller: the path of a
 * pass ends at the region's entry, that of a sample at the location that it hit. Returns 0 or
 * -ENOMEM. */
static int unite(struct estimates *e, uint32_t *node)
{
	const struct profile_symbol *symbol = symbol_of(e->maker, *node);
	uint32_t caller = profile_tables(e->maker->profile)->nodes[*node].parent;

	return symbol ? int_map_enter_wide(&e->nodes, symbol->number, caller, *node, node)
		      : -ENOMEM;
}

/* Adds a sample in a region that is no longer counted. */
static int add_estimate(void *arg, const struct store_sample *record, const struct lasting *lasting,
			bool is_own)
{
	struct estimates *e = arg;
	struct maker *m = e->maker;
	struct region_path *path = NULL;
	struct region_figures *f;
	struct store_sample shown;
	uint32_t thread;
	double part;

	if (!profile_part(m->profile, record, lasting, &shown))
		return 0;
	if (!unite(e, &shown.node))
		path = path_of(m, &shown);
	if (!path || int_map_enter_wide(&m->threads, (uint64_t)(path - m->rows->paths.items),
					record->thread, 0, &thread))
		return -ENOMEM;
	f = &path->figures;
	part = record->period ? (double)shown.period / (double)record->period : 1;
	f->total_ns += shown.period;
	f->cpu_ns += shown.period;
	f->own_ns += is_own ? shown.period : 0;
	f->estimated_ns += shown.period;
	f->estimated_variance += part * part * lasting->variance;
	return 0;
}

/* Estimates, from samples of a clock, the times of regions after their probes were taken off. */
static int estimate(struct maker *m)
{
	struct estimates e = {.maker = m};
	int err = profile_region_rest(m->profile, &m->rest);

	for (size_t i = 0; i < m->rows->paths.count && m->rest && !err; i++) {
		uint32_t node = m->rows->paths.items[i].node;

		err = unite(&e, &node);
	}
	m->rows->is_estimated = region_rest_is_estimated(m->rest);
	if (m->rest && !err)
		err = region_rest_records(m->rest, add_estimate, &e);
	int_map_fini(&e.nodes);
	return err;
}

/* Marks the row of a region whose probes were taken off, unless the region was recorded in all of
 * the range. The kernel half stops recording a moment before stackd notices, and only the time of
 * noticing is known. So the row is also marked if samples of that moment are in the range. */
static void mark_off(const struct maker *m, struct region_row *row,
		     const struct profile_symbol *symbol)
{
	const uint64_t off_ns = region_rest_off_ns(m->rest, symbol);

	if (off_ns == UINT64_MAX ||
	    (off_ns > profile_end(m->profile) && !row->figures.estimated_ns))
		return;
	row->is_off = true;
	if (off_ns > row->off_ns)
		row->off_ns = off_ns;
}

static int make_regions(struct maker *m)
{
	struct region_rows *rows = m->rows;

	for (size_t i = 0; i < rows->paths.count; i++) {
		struct region_path *path = &rows->paths.items[i];
		const struct profile_symbol *symbol = symbol_of(m, path->node);

		if (!symbol || !region_of(m, symbol, path->part, &path->region))
			return -ENOMEM;
	}
	count_threads(m);
	for (size_t i = 0; i < rows->paths.count; i++) {
		struct region_path *path = &rows->paths.items[i];
		struct region_row *row = &rows->regions.items[path->region];

		path->is_within = is_within(m, path);
		add_figures(row, path);
		mark_off(m, row, symbol_of(m, path->node));
	}
	return 0;
}

/* --- order ----------------------------------------------------------------------------------- */

static int compare_totals(uint64_t a, uint64_t b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

static int compare_paths(const void *a, const void *b, void *arg)
{
	const struct region_path *x = a, *y = b;
	const struct region_rows *rows = arg;
	int order = (x->part > y->part) - (x->part < y->part);

	if (!order)
		order = compare_totals(rows->regions.items[x->region].figures.total_ns,
				       rows->regions.items[y->region].figures.total_ns);
	if (!order)
		order = (x->region > y->region) - (x->region < y->region);
	if (!order)
		order = compare_totals(x->figures.total_ns, y->figures.total_ns);
	return order ? order : (x->node > y->node) - (x->node < y->node);
}

static int compare_regions(const void *a, const void *b)
{
	const struct region_row *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

/* Sorts the paths by region, and the regions in the order of their paths. */
static void sort(struct region_rows *rows)
{
	if (!rows->paths.count)
		return;
	qsort_r(rows->paths.items, rows->paths.count, sizeof(*rows->paths.items), compare_paths,
		rows);
	for (size_t i = rows->paths.count; i-- > 0;)
		rows->regions.items[rows->paths.items[i].region].first = (uint32_t)i;
	qsort(rows->regions.items, rows->regions.count, sizeof(*rows->regions.items),
	      compare_regions);
}

int region_rows_make(struct profile *profile, const struct region_parts *parts,
		     struct region_rows *ret_rows)
{
	struct maker m = {.profile = profile, .parts = parts, .rows = ret_rows};
	int err;

	*ret_rows = (struct region_rows){0};
	err = read_series(&m);
	if (!err)
		err = estimate(&m);
	if (!err)
		err = make_regions(&m);
	if (!err)
		sort(ret_rows);
	free(m.nested.items);
	int_map_fini(&m.by_node);
	int_map_fini(&m.by_symbol);
	int_map_fini(&m.threads);
	return err;
}

void region_rows_free(struct region_rows *rows)
{
	for (size_t i = 0; i < rows->regions.count; i++)
		free(rows->regions.items[i].name);
	free(rows->regions.items);
	free(rows->paths.items);
	*rows = (struct region_rows){0};
}
