/* SPDX-License-Identifier: MIT */
/*
 * From samples to entries; see profile.h.
 *
 * One pass over the samples sums them up by (thread, node, end reason, origin), and notes which
 * samples are partial. These are rare. If there are any, the ones that can be completed
 * (model/reconstruct.h) then move to the entries of their complete paths.
 *
 * If the caller has a log of the samples (model/sample_log.h), the pass only counts by the numbers
 * of their kinds. The tables that find entries are made afterwards, if paths are completed.
 */
#include "model/profile_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/big.h"
#include "base/vec.h"
#include "model/cgroup_name.h"
#include "model/labels.h"
#include "model/pattern.h"
#include "model/sample_log.h"

#define PROFILE_EXPECTED (2u << 20) /* entries for which memory is reserved at most */

static bool lists(const int32_t *list, size_t n, int32_t value)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == value)
			return true;
	return n == 0;
}

static bool lists_comm(const struct profile_filter *filter, const char *comm)
{
	for (size_t i = 0; i < filter->n_comms; i++)
		if (pattern_matches(filter->comms[i], comm, strlen(comm)))
			return true;
	return filter->n_comms == 0;
}

static bool lists_unit(const struct profile_patterns *units, const char *cgroup)
{
	for (size_t i = 0; i < units->n; i++)
		if (cgroup_name_is_in(cgroup, units->items[i]))
			return true;
	return units->n == 0;
}

static bool has_labels(const struct store_tables *t, const struct store_thread *thread,
		       const struct profile_patterns *labels)
{
	for (size_t i = 0; i < labels->n; i++)
		if (!labels_match(t, thread, labels->items[i]))
			return false;
	return true;
}

/* Returns whether a thread meets the filter's names. Of sums that a server chose by these, the
 * thread's own are not all known. */
static bool meets_names(const struct store_tables *t, const struct store_thread *thread,
			const struct profile_filter *filter)
{
	return (thread->labels && thread->labels->is_chosen) ||
	       (lists_comm(filter, thread->comm) && lists_unit(&filter->units, thread->cgroup) &&
		has_labels(t, thread, &filter->labels));
}

/* Converts a time since the recording's start to CLOCK_MONOTONIC; UINT64_MAX if it overflows. */
static uint64_t profile_time(const struct profile *p, uint64_t since_ns)
{
	uint64_t start = p->tables->recording.start_ns;

	return since_ns > UINT64_MAX - start ? UINT64_MAX : start + since_ns;
}

/* Limits the profile's times to the reader's range. */
static void limit(struct profile *p)
{
	const struct store_tables *t = p->tables;
	uint64_t from, to;

	if (!t->n_selected)
		return;
	from = t->selected[0].from_ns;
	to = t->selected[t->n_selected - 1].to_ns;
	if (p->metric->less == SERIES_CPU && p->from_ns < from)
		p->from_ns = from;
	if (to != UINT64_MAX && p->to_ns > to - 1)
		p->to_ns = to - 1;
}

static int choose(struct profile *p)
{
	const struct store_tables *t = p->tables;
	const struct profile_filter *filter = p->filter;

	/* A block that is live after --from can have been allocated at any time before, so its
	 * record must not be left out. */
	p->from_ns = filter->from_ns && p->metric->less == SERIES_CPU
			     ? profile_time(p, filter->from_ns)
			     : 0;
	p->to_ns = filter->to_ns ? profile_time(p, filter->to_ns - 1) : UINT64_MAX;
	limit(p);
	p->wanted = calloc((size_t)t->n_threads + 1, sizeof(*p->wanted));
	if (!p->wanted)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n_threads; i++) {
		const struct store_thread *thread = &t->threads[i];
		int32_t pid = t->processes[thread->process].pid;

		p->wanted[i] = lists(filter->pids, filter->n_pids, pid) &&
			       lists(filter->tids, filter->n_tids, thread->tid) &&
			       meets_names(t, thread, filter) &&
			       (!filter->threads || filter->threads[i]);
	}
	return path_filter_new(filter, t, p->names, &p->path_filter);
}

static void profile_count(struct profile *p, const struct profile_entry *entry)
{
	p->totals.samples += entry->samples;
	p->totals.periods += entry->periods;
	p->totals.weight += entry->weight;
	switch ((enum profile_quality)entry->quality) {
	case PROFILE_COMPLETE:
		p->totals.complete += entry->samples;
		break;
	case PROFILE_RECONSTRUCTED:
		p->totals.reconstructed += entry->samples;
		break;
	case PROFILE_PARTIAL:
	/* Lost samples are counted, not stored, so a stored sample is never one. */
	case PROFILE_LOST:
		p->totals.partial += entry->samples;
		break;
	}
}

/* Returns the number of entries to reserve: the recording's number of samples, within limits.
 * Reserved memory that stays unused is never touched, so it costs nothing. */
static uint32_t expect(const struct profile *p)
{
	uint64_t samples = p->tables->recording.samples;

	return samples < 256		    ? 256
	       : samples > PROFILE_EXPECTED ? PROFILE_EXPECTED
					    : (uint32_t)samples;
}

static int reserve_entry(struct profile *p)
{
	size_t need = p->n_entries ? (size_t)p->n_entries + 1 : expect(p);

	if (p->n_entries >= UINT32_MAX / 4)
		return -ENOMEM;
	return BIG_GROW(p->entries, p->cap_entries, need);
}

/* Finds the number of a sample's group: its thread (and CPU, with by_cpu), origin and end reason.
 */
static int profile_group(struct profile *p, const struct store_sample *s, uint32_t *ret_group)
{
	struct profile_last_group *last;
	uint32_t lane = s->thread;
	uint64_t key;
	int err = 0;

	if (p->filter->by_cpu)
		err = int_map_enter(&p->lanes, (uint64_t)s->thread << 16 | s->cpu,
				    (uint32_t)p->lanes.used, &lane);
	if (err < 0)
		return err;
	/* On several CPUs the samples of threads alternate, so each thread has its own last
	 * group. */
	last = &p->last_groups[s->thread];
	key = (uint64_t)lane << 32 | s->origin * PROFILE_REASONS | s->end_reason;
	if (!last->is_known || key != last->key)
		err = int_map_enter(&p->groups, key, (uint32_t)p->groups.used, &last->group);
	if (err < 0)
		return err;
	last->is_known = true;
	last->key = key;
	*ret_group = last->group;
	return 0;
}

bool profile_is_known(const struct profile *p, const struct store_sample *s)
{
	const struct store_tables *t = store_reader_tables(p->reader);

	return s->thread < t->n_threads && s->node < t->n_nodes &&
	       (!s->origin || s->origin < t->n_origins);
}

/* Finds the entry of a group and a node. If there is none, gives the next entry's number to them.
 * Returns 0 or -ENOMEM. */
static int profile_find(struct profile *p, uint32_t group, uint32_t node, uint32_t *ret_entry)
{
	struct profile_first *first = &p->first[node];

	if (!first->entry)
		*first = (struct profile_first){p->n_entries + 1, group};
	if (first->group == group) {
		*ret_entry = first->entry - 1;
		return 0;
	}
	return int_map_enter(&p->by_key, (uint64_t)group << 32 | node, p->n_entries, ret_entry);
}

/* Returns an end reason as entries have it: all unknown ones have the same number. */
static uint8_t reason(uint8_t end_reason)
{
	return end_reason < STACKD_END_COUNT ? end_reason : PROFILE_REASONS - 1;
}

/* Returns whether another thread wants the sums no more. */
static bool is_stopped(const struct profile *p)
{
	return p->filter->stop && atomic_load_explicit(p->filter->stop, memory_order_relaxed);
}

/* Appends an entry for a record, whose end reason is reason()'s. There must be room. */
static void append_entry(struct profile *p, const struct store_sample *s)
{
	p->entries[p->n_entries++] = (struct profile_entry){
		.thread = s->thread,
		.node = s->node,
		.origin = s->origin,
		.end_reason = s->end_reason,
		.cpu = p->filter->by_cpu ? s->cpu : 0,
		.quality = (uint8_t)profile_quality(p, s->end_reason, s->origin),
		.is_valued = p->metric->series != SERIES_CPU};
}

/* Finds or makes the entry of a record that the filter selects. Returns 0 or an error. */
static int enter_as(struct profile *p, struct store_sample s, struct store_sample *ret_sample,
		    uint32_t *ret_entry)
{
	uint32_t group, at;
	int err;

	s.end_reason = reason(s.end_reason);
	err = is_stopped(p) ? -ECANCELED : reserve_entry(p);
	if (err == 0)
		err = profile_group(p, &s, &group);
	if (err == 0)
		err = profile_find(p, group, s.node, &at);
	if (err < 0)
		return err;
	if (at == p->n_entries)
		append_entry(p, &s);
	*ret_sample = s;
	*ret_entry = at;
	return 0;
}

/* Finds or makes the entry of a record of the store. Returns 0; 1: the filter does not select the
 * record; or an error. */
static int enter(struct profile *p, const struct store_sample *sample,
		 struct store_sample *ret_sample, uint32_t *ret_entry)
{
	struct store_sample s;

	if (sample->origin > UINT32_MAX / PROFILE_REASONS)
		return -EBADMSG;
	if (!profile_sample(p, sample, &s))
		return profile_is_known(p, sample) ? 1 : -EBADMSG;
	return enter_as(p, s, ret_sample, ret_entry);
}

/* Returns whether a record is of sums whose calls count_calls() counts. */
static bool is_of_calls(const struct profile *p, const struct store_sample *record)
{
	return record->cpu == STORE_CPU_OF_SUM && p->metric->sums != SERIES_CPU;
}

/* Adds a record to its entry. */
static int profile_add(void *arg, const struct store_sample *sample)
{
	struct profile *p = arg;
	struct store_sample s;
	uint32_t at;
	int err = enter(p, sample, &s, &at);

	if (err)
		return err < 0 ? err : 0;
	p->entries[at].samples += !is_of_calls(p, sample);
	p->entries[at].periods += profile_periods(p, s.period);
	p->entries[at].weight += s.period;
	return 0;
}

/* Adds the part of a record that lies in the selected time. */
static int add_part(void *arg, const struct store_sample *record, const struct lasting *lasting)
{
	struct profile *p = arg;
	struct store_sample s;
	uint32_t at;
	int err;

	p->recorded += lasting->is_stored && !is_of_calls(p, record);
	if (record->origin > UINT32_MAX / PROFILE_REASONS || !profile_is_known(p, record))
		return -EBADMSG;
	if (!profile_part(p, record, lasting, &s))
		return 0;
	err = enter_as(p, s, &s, &at);
	if (err < 0)
		return err;
	p->entries[at].samples += !lasting->is_estimate && !is_of_calls(p, record);
	p->entries[at].weight += s.period;
	if (lasting->is_estimate && record->period) {
		const double part = (double)s.period / (double)record->period;

		p->totals.estimated += s.period;
		p->totals.estimated_variance += part * part * lasting->variance;
	}
	return 0;
}

/* Subtracts an allocation from its entry, given the record of its free. */
static int profile_take_off(void *arg, const struct store_sample *record)
{
	struct profile *p = arg;
	struct store_sample s;
	uint32_t at;
	int err = enter(p, record, &s, &at);

	if (err)
		return err < 0 ? err : 0;
	p->entries[at].samples -= p->entries[at].samples > 0;
	p->entries[at].weight -=
		s.period < p->entries[at].weight ? s.period : p->entries[at].weight;
	return 0;
}

/* Finds the entry of an allocation of which `part` was live at its process's peak. Returns 0; 1:
 * the filter does not select it, or no part of it was live; or an error. */
static int enter_part(struct profile *p, const struct store_sample *record, struct heap_part part,
		      uint32_t *ret_entry)
{
	struct store_sample s;

	if (record->origin > UINT32_MAX / PROFILE_REASONS || !profile_is_known(p, record))
		return -EBADMSG;
	if (!part.bytes || !profile_sample_at_any_time(p, record, &s))
		return 1;
	return enter_as(p, s, &s, ret_entry);
}

/* Adds the part of an allocation that was live at the peak of its process. */
static int add_peak(void *arg, const struct store_sample *record)
{
	struct profile *p = arg;
	const struct heap_part part = heap_part_at(&p->heap.made, p->peak_at++);
	uint32_t at;
	int err = enter_part(p, record, part, &at);

	p->recorded++;
	if (err)
		return err < 0 ? err : 0;
	p->entries[at].samples++;
	p->entries[at].weight += part.bytes;
	return 0;
}

/* Subtracts a freed block from a peak. */
static int take_off_peak(void *arg, const struct store_sample *record)
{
	struct profile *p = arg;
	const struct heap_part part = heap_part_at(&p->heap.ended, p->peak_at++);
	uint32_t at;
	int err = enter_part(p, record, part, &at);

	if (err)
		return err < 0 ? err : 0;
	p->entries[at].samples -= part.share >= 1 && p->entries[at].samples > 0;
	p->entries[at].weight -=
		part.bytes < p->entries[at].weight ? part.bytes : p->entries[at].weight;
	return 0;
}

/* Adds a sample, and notes it for reconstruction. */
static int first_pass(void *arg, const struct store_sample *sample)
{
	struct profile *p = arg;
	int err = reconstruct_note(p->reconstruct, sample);

	return err == 0 ? profile_add(p, sample) : err;
}

/* Notes a sample for reconstruction alone. */
static int note_sample(void *arg, const struct store_sample *sample)
{
	struct profile *p = arg;

	return reconstruct_note(p->reconstruct, sample);
}

/* Adds a record of a metric other than samples of the event. */
static int metric_pass(void *arg, const struct store_sample *record)
{
	struct profile *p = arg;

	p->recorded += !is_of_calls(p, record);
	return profile_add(p, record);
}

/* Makes the node for a sample's path without its inferred frames. Returns 0 or an error. */
static int profile_trim(void *arg, const struct store_sample *s)
{
	struct profile *p = arg;
	uint32_t inferred = origin_inferred(profile_origin(p, s->origin)), node;

	if (!profile_is_known(p, s))
		return -EBADMSG;
	return inferred ? path_suffix_enter(p->suffix, s->node, inferred, &node) : 0;
}

static int trim_all(struct profile *p)
{
	int err = path_suffix_new(p->tables, &p->suffix);

	if (err == 0)
		err = profile_records(p, profile_trim, p);
	if (err == 0)
		p->tables = path_suffix_tables(p->suffix);
	return err;
}

/* Makes the marks that the entries need. */
static int make_marks(struct profile *p)
{
	p->no_frames = names_mark(p->names, "[no frames]");
	if (!p->no_frames)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n_entries; i++) {
		const struct profile_entry *e = &p->entries[i];

		if (e->quality >= PROFILE_PARTIAL && !profile_mark(p, e->end_reason, e->origin))
			return -ENOMEM;
	}
	return 0;
}

void profile_free_sums(struct profile *p)
{
	int_map_fini(&p->lanes);
	int_map_fini(&p->groups);
	int_map_fini(&p->by_key);
	free(p->first);
	p->first = NULL;
	free(p->last_groups);
	p->last_groups = NULL;
}

static int begin_sums(struct profile *p)
{
	p->first = big_calloc((size_t)p->tables->n_nodes + 1, sizeof(*p->first));
	p->last_groups = calloc((size_t)p->tables->n_threads + 1, sizeof(*p->last_groups));
	return p->first && p->last_groups ? 0 : -ENOMEM;
}

static int begin_pass(struct profile *p)
{
	int err = choose(p);

	return err < 0 ? err : begin_sums(p);
}

/* Sums up samples and other records in one pass. */
static int pass(struct profile *p, profile_each sample, profile_each record)
{
	int err = begin_pass(p);

	return err == 0 ? profile_records_apart(p, sample, record, p) : err;
}

/* Sums up the records of a metric whose records cover a time (lasting.h). */
static int lasting_pass(struct profile *p)
{
	int err = begin_pass(p);

	p->recorded = 0;
	return err ? err : profile_lasting(p, p->filter->metric, add_part, p);
}

/* Subtracts a sample from the entry that it is in, if any. */
static int take_out(struct profile *p, const struct store_sample *s)
{
	struct store_sample known = *s;
	uint32_t group, at;
	int err;

	if (!p->wanted[s->thread] || s->time_ns < p->from_ns || s->time_ns > p->to_ns)
		return 0;
	known.end_reason = reason(s->end_reason);
	err = profile_group(p, &known, &group);
	if (err == 0)
		err = profile_find(p, group, s->node, &at);
	if (err < 0)
		return err;
	p->entries[at].samples--;
	p->entries[at].periods -= profile_periods(p, s->period);
	p->entries[at].weight -= s->period;
	return 0;
}

/* Drops the entries that have no samples left. */
static void drop_empty(struct profile *p)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < p->n_entries; i++)
		if (p->entries[i].samples)
			p->entries[kept++] = p->entries[i];
	p->n_entries = kept;
}

/* Moves the samples whose paths were completed to the entries of their new paths. */
static int move(struct profile *p, uint32_t n_nodes)
{
	size_t n;
	const struct reconstruct_done *done = reconstruct_done(p->reconstruct, &n);
	struct profile_first *first =
		vec_resize(p->first, (size_t)p->tables->n_nodes + 1, sizeof(*first));
	int err = first ? 0 : -ENOMEM;

	if (first) {
		memset(first + n_nodes, 0,
		       ((size_t)p->tables->n_nodes + 1 - n_nodes) * sizeof(*first));
		p->first = first;
	}
	for (size_t i = 0; err == 0 && i < n; i++) {
		err = take_out(p, &done[i].sample);
		if (err == 0)
			err = profile_add(p, &done[i].sample);
	}
	drop_empty(p);
	return err;
}

/* Frees what a pass made, so that another can begin. */
static void forget(struct profile *p)
{
	profile_free_sums(p);
	free(p->wanted);
	p->wanted = NULL;
	path_filter_free(p->path_filter);
	p->path_filter = NULL;
	p->n_entries = 0;
}

/* Returns whether the path of any entry could be completed. */
static bool has_partial(const struct profile *p)
{
	for (uint32_t i = 0; i < p->n_entries; i++) {
		const struct profile_entry *e = &p->entries[i];
		const struct store_sample s = {
			.node = e->node, .origin = e->origin, .end_reason = e->end_reason};

		if (reconstruct_is_candidate(p->tables, &s))
			return true;
	}
	return false;
}

/* --- of a log ------------------------------------------------------------------------------ */

#define LOGGED_LEFT_OUT UINT32_MAX /* The filter does not select samples of this kind. */

/* Returns whether the samples that the filter selects can be counted by their kinds. */
static bool can_use_log(const struct profile *p)
{
	return p->filter->log && p->metric->series == SERIES_CPU && p->metric->also == SERIES_CPU &&
	       !p->filter->by_cpu && !p->filter->no_reconstructed;
}

/* Makes the entry of the first sample of a kind in the selected time. *ret_entry is the index + 1,
 * or LOGGED_LEFT_OUT. */
static int enter_kind(struct profile *p, const struct store_sample *sample, uint32_t *ret_entry)
{
	struct store_sample s;
	int err = is_stopped(p) ? -ECANCELED : reserve_entry(p);

	if (err)
		return err;
	if (sample->origin > UINT32_MAX / PROFILE_REASONS)
		return -EBADMSG;
	*ret_entry = LOGGED_LEFT_OUT;
	if (!profile_sample_at_any_time(p, sample, &s))
		return 0;
	s.end_reason = reason(s.end_reason);
	append_entry(p, &s);
	*ret_entry = p->n_entries;
	return 0;
}

static int count_logged(struct profile *p, const struct sample_log_view *view, uint32_t *entry_of)
{
	const bool has_gaps = p->tables->n_selected >= 2;
	const size_t first = sample_log_find(p->filter->log, p->from_ns);

	for (size_t i = first; i < view->count && view->times[i] <= p->to_ns; i++) {
		uint32_t *const at = &entry_of[view->kind_of[i]];
		const uint64_t period = view->periods ? view->periods[i] : view->period;
		const uint64_t weight = p->metric->is_count ? 1 : period;
		struct profile_entry *entry;

		if (*at == LOGGED_LEFT_OUT ||
		    (has_gaps && !store_reader_selects(p->tables, view->times[i])))
			continue;
		if (!*at) {
			const struct store_sample s = sample_log_at(view, i);
			int err = enter_kind(p, &s, at);

			if (err)
				return err;
			if (*at == LOGGED_LEFT_OUT)
				continue;
		}
		entry = &p->entries[*at - 1];
		entry->samples++;
		entry->periods += profile_periods(p, weight);
		entry->weight += weight;
	}
	return 0;
}

/* Sums up the samples of the filter's log, as pass() does those of the store. */
static int sum_log(struct profile *p)
{
	const struct sample_log_view view = sample_log_view(p->filter->log);
	uint32_t *entry_of = big_calloc((size_t)view.n_kinds + 1, sizeof(*entry_of));
	int err = entry_of ? choose(p) : -ENOMEM;

	if (!err)
		err = count_logged(p, &view, entry_of);
	free(entry_of);
	return err;
}

/* Makes what profile_find() looks entries up in, which sum_log() did not need. */
static int index_entries(struct profile *p)
{
	const uint32_t n = p->n_entries;
	int err = begin_sums(p);

	for (uint32_t i = 0; !err && i < n; i++) {
		const struct profile_entry *e = &p->entries[i];
		const struct store_sample s = {
			.thread = e->thread, .origin = e->origin, .end_reason = e->end_reason};
		uint32_t group, at;

		p->n_entries = i; /* the number that profile_find() gives */
		err = profile_group(p, &s, &group);
		if (!err)
			err = profile_find(p, group, e->node, &at);
	}
	p->n_entries = n;
	return err;
}

/* --- completed paths ------------------------------------------------------------------------ */

/* Makes the completed paths, or takes those of the log, which are the same for all its profiles. */
static int complete(struct profile *p)
{
	int err;

	if (!can_use_log(p))
		return reconstruct_run(p->reconstruct);
	err = sample_log_reconstruct(p->filter->log, &p->reconstruct);
	p->is_borrowed = !err;
	return err ? err : index_entries(p);
}

/* Completes partial paths. If the filter selects by paths, or records cover a time, sums up again
 * from the begin, with the completed paths; otherwise only moves the completed samples. Returns 0
 * or an error. */
static int profile_reconstruct(struct profile *p)
{
	uint32_t n_nodes = p->tables->n_nodes;
	int err = complete(p);

	if (err < 0)
		return err;
	p->tables = reconstruct_tables(p->reconstruct);
	if (!p->path_filter && !lasting_is(p->filter->metric))
		return move(p, n_nodes);
	forget(p);
	return lasting_is(p->filter->metric) ? lasting_pass(p) : pass(p, profile_add, profile_add);
}

/* Prepares for samples of the event: partial paths will be completed, or if the filter demands it,
 * inferred frames are left out. Returns 0 or an error. */
static int expect_samples(struct profile *p)
{
	return p->filter->no_reconstructed ? trim_all(p)
					   : reconstruct_new(p->reader, p->names, &p->reconstruct);
}

static int sum_samples(struct profile *p)
{
	int err;

	p->recorded = p->tables->recording.samples;
	if (can_use_log(p))
		return sum_log(p);
	err = expect_samples(p);
	return err ? err : pass(p, p->reconstruct ? first_pass : profile_add, profile_add);
}

/* Sums up the heaps of processes at their peaks. */
static int sum_peaks(struct profile *p)
{
	const uint64_t to_ns =
		p->filter->to_ns ? profile_time(p, p->filter->to_ns - 1) : UINT64_MAX;
	int err = heap_sum_up(p->reader, to_ns, 0, &p->heap);

	p->peak_at = 0;
	if (err == 0)
		err = pass(p, add_peak, add_peak);
	p->peak_at = 0;
	if (err == 0)
		err = store_reader_records(p->reader, p->metric->less, take_off_peak, p);
	drop_empty(p);
	return err;
}

/* Counts the calls of sums (SERIES_CALL_TIME and the like), whose records are not calls. */
static int count_calls(void *arg, const struct store_sample *record)
{
	struct profile *p = arg;
	struct store_sample s;
	uint32_t at;
	int err;

	p->recorded += record->period;
	err = enter(p, record, &s, &at);
	if (err)
		return err < 0 ? err : 0;
	p->entries[at].samples += record->period;
	return 0;
}

/* Sums up the records of a metric other than METRIC_CPU, and subtracts the records of its series
 * `less` if it has one. */
static int sum_records(struct profile *p)
{
	int err = 0;

	if (p->metric->is_peak)
		return sum_peaks(p);
	if (p->metric->has_samples)
		err = expect_samples(p);
	if (err == 0 && p->reconstruct)
		err = store_reader_samples(p->reader, note_sample, p);
	if (err == 0)
		err = lasting_is(p->filter->metric) ? lasting_pass(p)
						    : pass(p, metric_pass, metric_pass);
	if (err == 0 && p->metric->less != SERIES_CPU) {
		err = store_reader_records(p->reader, p->metric->less, profile_take_off, p);
		drop_empty(p);
	}
	if (err == 0 && p->metric->sums != SERIES_CPU)
		err = store_reader_records(p->reader, SERIES_CALL_VISITS, count_calls, p);
	return err;
}

/* Returns the periods for which a sum of samples stands, of which only the sum of events is
 * known. */
static uint64_t periods_of(const struct profile *p, const struct store_sum *sum)
{
	const uint64_t periods = profile_periods(p, sum->weight);

	return periods > sum->count ? periods : sum->count;
}

/* Adds samples that were summed up elsewhere. Their paths are not completed or changed any more. */
static int add_sum(struct profile *p, const struct store_sum *sum)
{
	const struct store_sample sample = {.time_ns = p->tables->recording.start_ns,
					    .period = sum->weight,
					    .thread = sum->thread,
					    .node = sum->node,
					    .origin = sum->origin,
					    .end_reason = sum->end_reason};
	struct store_sample s;
	uint32_t at;
	int err = enter(p, &sample, &s, &at);

	p->recorded += sum->count;
	if (err)
		return err < 0 ? err : 0;
	p->entries[at].samples += sum->count;
	p->entries[at].periods += periods_of(p, sum);
	p->entries[at].weight += p->metric->is_count ? sum->count : sum->weight;
	return 0;
}

static int add_sums(struct profile *p, const struct store_sum *sums, size_t n)
{
	int err = begin_pass(p);

	p->recorded += p->tables->recording.unchosen;
	for (size_t i = 0; err == 0 && i < n; i++)
		err = add_sum(p, &sums[i]);
	return err;
}

int profile_sum_up(struct profile *p)
{
	size_t n;
	const struct store_sum *sums = store_reader_sums(p->reader, &n);
	int err = names_new(p->tables, &p->names);

	if (err == 0 && sums)
		err = add_sums(p, sums, n);
	else if (err == 0)
		err = p->metric->series == SERIES_CPU ? sum_samples(p) : sum_records(p);
	if (err == 0 && (p->reconstruct || (!sums && can_use_log(p))) && has_partial(p)) {
		err = profile_reconstruct(p);
	} else {
		reconstruct_free(p->reconstruct);
		p->reconstruct = NULL;
	}
	profile_free_sums(p);
	if (err < 0)
		return err;
	for (uint32_t i = 0; i < p->n_entries; i++)
		profile_count(p, &p->entries[i]);
	return make_marks(p);
}
