/* SPDX-License-Identifier: MIT */
/*
 * The model; see profile.h.
 *
 * One pass over the samples sums them up into entries (profile_sum.c). All later steps work on
 * entries and on trie nodes, which are fewer than samples, and make only the names that are needed.
 * Entries are then ordered by process and end reason, so that a view can go through them group by
 * group.
 */
#include "model/profile_state.h"
#include "stack/end_reason.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "model/frame_kind.h"
#include "model/pattern.h"
#include "model/region_rest.h"
#include "stack/location.h"
#include "stack/wait_name.h"

#define PROFILE_MARK_NAME 80 /* size of a root mark's name, with its NUL */

enum profile_quality profile_quality_of(uint8_t end_reason)
{
	switch (end_reason_quality(end_reason)) {
	case END_COMPLETE:
		return PROFILE_COMPLETE;
	case END_LOST:
		return PROFILE_LOST;
	default:
		return PROFILE_PARTIAL;
	}
}

const char *profile_quality_name(enum profile_quality quality)
{
	switch (quality) {
	case PROFILE_COMPLETE:
		return "complete";
	case PROFILE_RECONSTRUCTED:
		return "reconstructed";
	default:
		return "partial";
	}
}

int profile_new(struct store_reader *reader, const struct profile_filter *filter,
		struct profile **ret_profile)
{
	static const struct profile_filter everything;
	struct profile *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->reader = reader;
	p->tables = store_reader_tables(reader);
	p->filter = filter ? filter : &everything;
	p->metric = metric_info(p->filter->metric);
	if (store_is_timed(&p->tables->recording))
		p->period_ns = store_period_ns(&p->tables->recording);
	err = profile_sum_up(p);
	if (err < 0) {
		profile_free(p);
		return err;
	}
	*ret_profile = p;
	return p->n_entries ? 0 : -ENODATA;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	names_free(p->names);
	path_suffix_free(p->suffix);
	if (!p->is_borrowed)
		reconstruct_free(p->reconstruct);
	profile_free_sums(p);
	region_rest_free(p->rest);
	path_filter_free(p->path_filter);
	free(p->wanted);
	heap_release(&p->heap);
	free(p->entries);
	free(p->path);
	free(p->tags);
	free(p);
}

struct store_reader *profile_reader(const struct profile *p)
{
	return p->reader;
}

const struct store_tables *profile_tables(const struct profile *p)
{
	return p->tables;
}

/* Nodes of shortened and completed paths come after those of the reader, so their tags follow here.
 */
int profile_tags(struct profile *p, const uint64_t **ret_tags)
{
	const struct store_tables *t = p->tables;
	uint32_t n = store_reader_tables(p->reader)->n_nodes;
	const uint64_t *known = p->tags;
	int err = known ? 0 : store_reader_tags(p->reader, &known);

	if (err == 0 && !p->tags && n < t->n_nodes) {
		p->tags = vec_alloc(t->n_nodes, sizeof(*p->tags));
		if (!p->tags)
			return -ENOMEM;
		memcpy(p->tags, known, n * sizeof(*p->tags));
		for (uint32_t i = n; i < t->n_nodes; i++) {
			const struct store_location *l = &t->locations[t->nodes[i].location];

			p->tags[i] =
				hash_chain(p->tags[t->nodes[i].parent],
					   location_id(t->objects[l->object].file_id, l->offset));
		}
		known = p->tags;
	}
	if (err == 0)
		*ret_tags = known;
	return err;
}

const struct profile_totals *profile_totals(const struct profile *p)
{
	return &p->totals;
}

const struct profile_entry *profile_entries(const struct profile *p, size_t *ret_count)
{
	*ret_count = p->n_entries;
	return p->entries;
}

const struct profile_filter *profile_filter(const struct profile *p)
{
	return p->filter;
}

uint64_t profile_begin(const struct profile *p)
{
	return p->from_ns;
}

uint64_t profile_end(const struct profile *p)
{
	return p->to_ns;
}

/* Replaces a sample's path by its completed path, or by its path without inferred frames if the
 * filter leaves these out. */
static void profile_map(const struct profile *p, struct store_sample *s)
{
	uint32_t inferred;

	if (p->reconstruct)
		reconstruct_map(p->reconstruct, s);
	inferred = p->suffix ? origin_inferred(profile_origin(p, s->origin)) : 0;

	if (!inferred)
		return;
	s->node = path_suffix_find(p->suffix, s->node, inferred);
	s->origin = ORIGIN_WALKED;
	if (profile_quality_of(s->end_reason) < PROFILE_PARTIAL)
		s->end_reason = PROFILE_REASONS - 1;
}

/* Writes the name of the root mark of paths with an end reason. */
static void name_mark(uint8_t end_reason, char ret_name[PROFILE_MARK_NAME])
{
	snprintf(ret_name, PROFILE_MARK_NAME, "[incomplete: %s]", end_reason_name(end_reason));
}

/* Returns whether the path filter accepts a sample's path. Formats the root mark's name instead of
 * looking up its symbol, so that samples that are left out make no symbol. */
static bool accepts_path(const struct profile *p, const struct store_sample *s)
{
	bool has_mark = profile_has_mark(p, s->end_reason, s->origin);
	char mark[PROFILE_MARK_NAME];

	if (has_mark)
		name_mark(s->end_reason, mark);
	return path_filter_accepts(p->path_filter, s->node, has_mark ? mark : NULL);
}

bool profile_sample_at_any_time(const struct profile *p, const struct store_sample *sample,
				struct store_sample *ret_sample)
{
	struct store_sample s = *sample;

	if (!profile_is_known(p, &s) || !p->wanted[s.thread])
		return false;
	profile_map(p, &s);
	if (s.node >= p->tables->n_nodes)
		return false;
	if (p->metric->is_count && sample->cpu != STORE_CPU_OF_SUM)
		s.period = 1;
	*ret_sample = s;
	return !p->path_filter || accepts_path(p, &s);
}

/* Returns the first moment that the filter selects, for records that cover a time; not before the
 * recording's start. */
static uint64_t first_moment(const struct profile *p)
{
	const uint64_t start = p->tables->recording.start_ns;

	return p->from_ns > start ? p->from_ns : start;
}

bool profile_part(const struct profile *p, const struct store_sample *record,
		  const struct lasting *lasting, struct store_sample *ret_sample)
{
	const uint64_t to = p->to_ns == UINT64_MAX ? UINT64_MAX : p->to_ns + 1;
	struct store_sample s;
	uint64_t part = 0;

	if (!profile_is_known(p, record) ||
	    !lasting_within(lasting, record->period, lasting->ns ? first_moment(p) : p->from_ns, to,
			    &part) ||
	    !profile_sample_at_any_time(p, record, &s))
		return false;
	if (!p->metric->is_count || record->cpu == STORE_CPU_OF_SUM)
		s.period = part;
	*ret_sample = s;
	return true;
}

bool profile_sample(const struct profile *p, const struct store_sample *sample,
		    struct store_sample *ret_sample)
{
	return sample->time_ns >= p->from_ns && sample->time_ns <= p->to_ns &&
	       (p->tables->n_selected < 2 || store_reader_selects(p->tables, sample->time_ns)) &&
	       profile_sample_at_any_time(p, sample, ret_sample);
}

bool profile_sample_numbered(const struct profile *p, const struct store_sample *sample,
			     bool is_end, size_t number, struct store_sample *ret_sample,
			     double *ret_share)
{
	double share = 1;

	if (!p->metric->is_peak) {
		*ret_share = share;
		return profile_sample(p, sample, ret_sample);
	}
	share = heap_part_at(is_end ? &p->heap.ended : &p->heap.made, number).share;
	if (!(share > 0) || !profile_sample_at_any_time(p, sample, ret_sample))
		return false;
	*ret_share = share;
	return true;
}

bool profile_is_filtered(const struct profile *p)
{
	return p->totals.samples < p->recorded;
}

uint64_t profile_periods(const struct profile *p, uint64_t events)
{
	if (!p->period_ns || events <= p->period_ns)
		return 1;
	return events / p->period_ns + (events % p->period_ns >= (p->period_ns + 1) / 2);
}

uint64_t profile_amount(const struct profile *p, const struct store_sample *record)
{
	return p->metric->series == SERIES_CPU ? profile_periods(p, record->period)
					       : record->period;
}

uint64_t profile_total(const struct profile *p)
{
	return p->metric->series == SERIES_CPU ? p->totals.periods : p->totals.weight;
}

uint64_t profile_recorded(const struct profile *p)
{
	return p->recorded;
}

int profile_records_apart(const struct profile *p, profile_each sample, profile_each record,
			  void *arg)
{
	const struct metric_info *metric = p->metric;
	int err = 0;

	if (metric->series != SERIES_CPU)
		err = store_reader_records(p->reader, metric->series, record, arg);
	if (!err && metric->also != SERIES_CPU)
		err = store_reader_records(p->reader, metric->also, record, arg);
	if (!err && metric->sums != SERIES_CPU)
		err = store_reader_records(p->reader, metric->sums, record, arg);
	if (!err && (metric->series == SERIES_CPU || metric->has_samples))
		err = store_reader_samples(p->reader, sample, arg);
	return err;
}

int profile_region_rest(struct profile *p, struct region_rest **ret_rest)
{
	int err = p->has_rest ? 0 : region_rest_new(p->reader, p->tables, p->names, &p->rest);

	p->has_rest |= !err;
	*ret_rest = p->rest;
	return err;
}

struct own_rest {
	lasting_each each;
	void *arg;
};

static int take_rest(void *arg, const struct store_sample *record, const struct lasting *lasting,
		     bool is_own)
{
	const struct own_rest *own = arg;

	return is_own ? own->each(own->arg, record, lasting) : 0;
}

int profile_lasting(struct profile *p, enum metric metric, lasting_each each, void *arg)
{
	struct own_rest own = {.each = each, .arg = arg};
	struct region_rest *rest = NULL;
	int err = lasting_records(p->reader, metric, each, arg);

	if (!err && (metric == METRIC_REGION_TIME || metric == METRIC_REGION_CPU))
		err = profile_region_rest(p, &rest);
	return err || !rest ? err : region_rest_records(rest, take_rest, &own);
}

int profile_records(const struct profile *p,
		    int (*each)(void *arg, const struct store_sample *record), void *arg)
{
	return profile_records_apart(p, each, each, arg);
}

bool profile_includes(const struct profile *p, const struct store_sample *sample)
{
	struct store_sample s;

	return profile_sample(p, sample, &s);
}

const struct origin *profile_origin(const struct profile *p, uint32_t origin)
{
	static const struct origin walked = {0};

	return origin && origin < p->tables->n_origins ? &p->tables->origins[origin] : &walked;
}

enum profile_quality profile_quality(const struct profile *p, uint8_t end_reason, uint32_t origin)
{
	const struct origin *o = profile_origin(p, origin);

	if (!origin_inferred(o))
		return profile_quality_of(end_reason);
	return o->is_complete ? PROFILE_RECONSTRUCTED : PROFILE_PARTIAL;
}

bool profile_has_mark(const struct profile *p, uint8_t end_reason, uint32_t origin)
{
	return profile_quality(p, end_reason, origin) >= PROFILE_PARTIAL;
}

/* Returns the index of the root mark for an end reason. */
static uint32_t mark_index(uint8_t end_reason)
{
	return end_reason < STACKD_END_COUNT ? end_reason : PROFILE_REASONS - 1;
}

const struct profile_symbol *profile_mark(struct profile *p, uint8_t end_reason, uint32_t origin)
{
	const struct profile_symbol **mark = &p->marks[mark_index(end_reason)];
	char name[PROFILE_MARK_NAME];

	if (!profile_has_mark(p, end_reason, origin))
		return NULL;
	if (!*mark) {
		name_mark(end_reason, name);
		*mark = names_mark(p->names, name);
	}
	return *mark;
}

const struct profile_symbol *profile_entry_mark(const struct profile *p,
						const struct profile_entry *entry)
{
	return entry->quality >= PROFILE_PARTIAL ? p->marks[mark_index(entry->end_reason)] : NULL;
}

const struct profile_symbol *profile_no_frames(const struct profile *p)
{
	return p->no_frames;
}

bool profile_symbol_matches(const struct profile_symbol *symbol, const char *pattern)
{
	bool (*matches)(const char *, const char *) =
		frame_kind_is_managed(symbol->kind) ? pattern_is_managed : pattern_is_function;

	return matches(pattern, symbol->name) || (symbol->plain && matches(pattern, symbol->plain));
}

bool profile_symbol_is_awaited(const struct profile_symbol *symbol)
{
	return strcmp(symbol->object, AWAITED_OBJECT) == 0;
}

size_t profile_wait_depth(const struct profile_frame *frames, size_t n)
{
	while (n && profile_symbol_is_awaited(frames[n - 1].symbol))
		n--;
	return n && profile_symbol_wait(frames[n - 1].symbol) ? n : 0;
}

enum profile_wait profile_symbol_wait(const struct profile_symbol *symbol)
{
	if (profile_symbol_is_awaited(symbol))
		return PROFILE_BLOCKED;
	if (strcmp(symbol->object, WAIT_OBJECT) != 0)
		return PROFILE_NO_WAIT;
	return strcmp(symbol->name, WAIT_WOKEN) == 0 || strcmp(symbol->name, WAIT_PREEMPTED) == 0 ||
			       strcmp(symbol->name, WAIT_THROTTLED) == 0
		       ? PROFILE_RUNNABLE
		       : PROFILE_BLOCKED;
}

const struct profile_frame *profile_location_frames(struct profile *p, uint32_t location,
						    size_t *ret_count)
{
	const struct profile_frame *frames;
	uint32_t count;

	if (names_location(p->names, location, &frames, &count) < 0)
		return NULL;
	*ret_count = count;
	return frames;
}

const uint32_t *profile_location_keys(struct profile *p, uint32_t location, size_t *ret_count)
{
	const uint32_t *keys;
	uint32_t count;

	if (names_keys(p->names, location, &keys, &count) < 0)
		return NULL;
	*ret_count = count;
	return keys;
}

static bool reserve_path(struct profile *p, size_t need)
{
	return VEC_GROW(p->path, p->cap_path, need) == 0;
}

/* Changes the first `n` frames of p->path, in place, as the filter demands (fold_recursion,
 * no_inlined, max_depth). Returns how many are left. */
static size_t shape(const struct profile *p, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (p->filter->no_inlined && p->path[i].is_inlined)
			continue;
		if (p->filter->max_depth && kept == p->filter->max_depth)
			break;
		if (p->filter->fold_recursion && kept &&
		    p->path[kept - 1].symbol == p->path[i].symbol)
			continue;
		p->path[kept++] = p->path[i];
	}
	return kept;
}

static uint32_t profile_depth(const struct profile *p, uint32_t node)
{
	uint32_t depth = 0;

	for (; node; node = p->tables->nodes[node].parent)
		depth++;
	return depth;
}

/* Appends the frames of a trie node to p->path, innermost first. `depth` is the node's distance
 * from the root. Returns false if memory is short. */
static bool append(struct profile *p, uint32_t node, uint32_t depth, const struct origin *origin,
		   size_t *n)
{
	struct origin_run run = origin_run_of(origin, depth);
	bool is_inferred = depth < origin_inferred(origin);
	const struct profile_frame *frames;
	uint32_t count;

	if (names_location(p->names, p->tables->nodes[node].location, &frames, &count) < 0 ||
	    !reserve_path(p, *n + count + 1))
		return false;
	while (count) {
		struct profile_frame *frame = &p->path[(*n)++];

		*frame = frames[--count];
		frame->source = run.source;
		frame->confidence = run.confidence;
		frame->is_inferred = is_inferred;
	}
	return true;
}

/* Climbs from the leaf to the root, appending each location's frames innermost first, and reverses
 * the path at the end. */
const struct profile_frame *profile_frames(struct profile *p, uint32_t node, uint8_t end_reason,
					   uint32_t origin, size_t *ret_count)
{
	const struct profile_symbol *mark = profile_mark(p, end_reason, origin);
	uint32_t depth = profile_depth(p, node);
	size_t n = 0;

	for (uint32_t at = node; at; at = p->tables->nodes[at].parent) {
		if (!append(p, at, --depth, profile_origin(p, origin), &n))
			return NULL;
	}
	if (!reserve_path(p, n + 1))
		return NULL;
	if (mark || !n)
		p->path[n++] = (struct profile_frame){.symbol = mark ? mark : p->no_frames,
						      .location = UINT32_MAX};
	for (size_t i = 0; i < n / 2; i++) {
		struct profile_frame swap = p->path[i];

		p->path[i] = p->path[n - 1 - i];
		p->path[n - 1 - i] = swap;
	}
	*ret_count = shape(p, n);
	return p->path;
}

size_t profile_symbol_count(const struct profile *p)
{
	return names_symbol_count(p->names);
}

const struct profile_symbol *profile_symbol_at(const struct profile *p, uint32_t number)
{
	return names_symbol_at(p->names, number);
}
