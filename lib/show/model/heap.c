/* SPDX-License-Identifier: MIT */
/*
 * Sums up heaps; see heap.h. Allocations and frees are two series, each in the order of time.
 * Further series hold each record's error and, for a free, the block's age. By the age, the
 * allocation that belongs to a free is found. All series are read first; then allocations and frees
 * are merged in the order of time, and each record gets the part of it that was live at the peak.
 */
#include "model/heap.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/vec.h"
#include "model/heap_peak.h"

/* A record: an allocation, or the end of one. */
struct heap_change {
	uint64_t time_ns, bytes, error;
	uint64_t made_ns; /* when the block was allocated */
	uint64_t of;	  /* thread << 32 | node of the path */
	uint32_t process;
};

/* The records of SERIES_ALLOC_BYTES or SERIES_FREED_BYTES, with the values that further series have
 * for the same events. */
struct heap_series {
	VEC(struct heap_change) all;
	size_t at; /* index of the record to which the next record of a further series belongs */
	/* so far, each record of the further series had the time, thread and path of the record at
	 * its index */
	bool is_beside;
};

/* The state of a process while its heap is summed up. */
struct heap_state {
	struct heap_live live;
	struct heap_peak whole;
	struct heap_peak in_bin; /* the current bin */
	size_t bin;		 /* number of the current bin */
};

struct heap_sum {
	struct heap *heap;
	const struct store_tables *tables;
	uint64_t from_ns, to_ns;
	struct heap_series made, ended;
	struct heap_state **states; /* by process; NULL: it has no allocations */
};

/* --- reading ---------------------------------------------------------------------------------- */

struct heap_reading {
	const struct store_tables *tables;
	struct heap_series *series;
};

static int take_bytes(void *arg, const struct store_sample *record)
{
	const struct heap_reading *r = arg;

	if (VEC_RESERVE(&r->series->all, 1))
		return -ENOMEM;
	r->series->all.items[r->series->all.count++] =
		(struct heap_change){.time_ns = record->time_ns,
				     .bytes = record->period,
				     .made_ns = record->time_ns,
				     .of = (uint64_t)record->thread << 32 | record->node,
				     .process = r->tables->threads[record->thread].process};
	return 0;
}

/* Returns the allocation or free to which the next record of a further series belongs; NULL:
 * none. */
static struct heap_change *next_change(struct heap_series *s, const struct store_sample *record)
{
	struct heap_change *change = s->at < s->all.count ? &s->all.items[s->at++] : NULL;

	s->is_beside &= change && change->time_ns == record->time_ns &&
			change->of == ((uint64_t)record->thread << 32 | record->node);
	return change;
}

static int take_error(void *arg, const struct store_sample *record)
{
	struct heap_change *change =
		next_change(((const struct heap_reading *)arg)->series, record);

	if (change)
		change->error = record->period;
	return 0;
}

static int take_age(void *arg, const struct store_sample *record)
{
	struct heap_change *change =
		next_change(((const struct heap_reading *)arg)->series, record);

	if (change)
		change->made_ns -= record->period < change->made_ns ? record->period : 0;
	return 0;
}

static int read_beside(struct store_reader *reader, struct heap_reading *r,
		       enum metric_series series,
		       int (*each)(void *arg, const struct store_sample *record))
{
	struct heap_series *s = r->series;
	int err;

	s->at = 0;
	err = store_reader_records(reader, series, each, r);
	s->is_beside &= s->at == s->all.count;
	return err;
}

/* Reads all series. If a recording has no errors or ages, all its blocks count as sampled with
 * certainty. Returns 0 or an error. */
static int read_all(struct store_reader *reader, struct heap_sum *sum)
{
	struct heap_reading made = {sum->tables, &sum->made};
	struct heap_reading ended = {sum->tables, &sum->ended};
	int err = store_reader_records(reader, SERIES_ALLOC_BYTES, take_bytes, &made);

	sum->made.is_beside = sum->ended.is_beside = true;
	if (!err)
		err = read_beside(reader, &made, SERIES_ALLOC_ERROR, take_error);
	if (!err)
		err = store_reader_records(reader, SERIES_FREED_BYTES, take_bytes, &ended);
	if (!err)
		err = read_beside(reader, &ended, SERIES_FREED_ERROR, take_error);
	if (!err)
		err = read_beside(reader, &ended, SERIES_FREED_AGE, take_age);
	return err;
}

/* Returns the standard error of a record; 0 if the recording has no errors. */
static uint64_t error_of(const struct heap_sum *sum, const struct heap_change *c)
{
	return sum->made.is_beside && sum->ended.is_beside ? c->error : 0;
}

static struct heap_member member_of(const struct heap_sum *sum, const struct heap_change *c)
{
	return heap_member_of(c->bytes, error_of(sum, c), hash_mix64(c->of) + c->made_ns);
}

/* Returns the square of a record's standard error. */
static double variance_of(const struct heap_sum *sum, const struct heap_change *c)
{
	return (double)error_of(sum, c) * (double)error_of(sum, c);
}

/* --- adding up -------------------------------------------------------------------------------- */

static struct heap_state *state_of(struct heap_sum *sum, uint32_t process)
{
	struct heap_state **state = &sum->states[process];

	if (*state)
		return *state;
	*state = calloc(1, sizeof(**state));
	if (!*state)
		return NULL;
	heap_peak_begin(&(*state)->whole, &(*state)->live, 0);
	heap_peak_begin(&(*state)->in_bin, &(*state)->live, 0);
	return *state;
}

/* Returns the number of the bin that a time is in. */
static size_t bin_of(const struct heap_sum *sum, uint64_t time_ns)
{
	const uint64_t all = sum->to_ns - sum->from_ns, since = time_ns - sum->from_ns;
	size_t bin;

	if (time_ns < sum->from_ns || !all)
		return 0;
	bin = (size_t)((double)since / (double)all * (double)sum->heap->n_bins);
	return bin < sum->heap->n_bins ? bin : sum->heap->n_bins - 1;
}

static uint64_t bytes_of(double bytes)
{
	return bytes > 0 ? (uint64_t)llround(bytes) : 0;
}

/* Moves on to bin `bin`, and stores the bytes of the bins before it. What is live now is live at
 * the begin of each of these bins. */
static void go_on(struct heap_state *state, size_t bin, struct heap_process *process)
{
	while (state->bin < bin) {
		process->bins[state->bin++] = bytes_of(heap_peak_bytes(&state->in_bin));
		heap_peak_begin(&state->in_bin, &state->live, 0);
	}
}

static int change(struct heap_sum *sum, const struct heap_change *c, int sign)
{
	struct heap_process *process = &sum->heap->processes[c->process];
	struct heap_state *state = state_of(sum, c->process);
	const struct heap_member member = member_of(sum, c);

	if (!state)
		return -ENOMEM;
	if (sum->heap->n_bins)
		go_on(state, bin_of(sum, c->time_ns), process);
	*(sign > 0 ? &process->allocated : &process->freed) += c->bytes;
	process->samples += sign > 0;
	process->live_variance += sign * variance_of(sum, c);
	heap_live_change(&state->live, &member, sign);
	heap_peak_look(&state->whole, &state->live, c->time_ns);
	if (sum->heap->n_bins)
		heap_peak_look(&state->in_bin, &state->live, c->time_ns);
	return 0;
}

/* Applies all records to the heaps, in order of time; at equal times, frees come first. Returns 0
 * or an error. */
static int add_up(struct heap_sum *sum)
{
	const struct heap_change *made = sum->made.all.items, *ended = sum->ended.all.items;
	const struct heap_change *made_end = made + sum->made.all.count;
	const struct heap_change *ended_end = ended + sum->ended.all.count;
	int err = 0;

	while (!err && (made < made_end || ended < ended_end)) {
		bool is_end =
			made == made_end || (ended < ended_end && ended->time_ns <= made->time_ns);
		const struct heap_change *next = is_end ? ended++ : made++;

		if (next->time_ns <= sum->to_ns)
			err = change(sum, next, is_end ? -1 : 1);
	}
	return err;
}

/* --- results ------------------------------------------------------------------------ */

static void end_process(struct heap_sum *sum, uint32_t number)
{
	struct heap_process *process = &sum->heap->processes[number];
	struct heap_state *state = sum->states[number];

	process->peak_ns = heap_peak_time(&state->whole);
	if (sum->heap->n_bins)
		go_on(state, sum->heap->n_bins, process);
}

/* Sets, for each record of a series, the part of it that was in its process's peak. `sign`: 1 for
 * allocations, which add to the peak, -1 for frees. Returns 0 or -ENOMEM. */
static int make_parts(struct heap_sum *sum, const struct heap_series *series, int sign,
		      struct heap_parts *ret_parts)
{
	struct heap_part *parts = vec_alloc(series->all.count + 1, sizeof(*parts));

	if (!parts)
		return -ENOMEM;
	for (size_t i = 0; i < series->all.count; i++) {
		const struct heap_change *c = &series->all.items[i];
		const struct heap_state *state = sum->states[c->process];
		const struct heap_member member = member_of(sum, c);
		struct heap_process *process = &sum->heap->processes[c->process];

		parts[i] = (struct heap_part){0};
		if (!state || c->time_ns > sum->to_ns)
			continue;
		parts[i].share = heap_peak_share(&state->whole, &member, c->time_ns);
		parts[i].bytes = bytes_of(parts[i].share * member.bytes);
		process->peak += sign > 0			  ? parts[i].bytes
				 : parts[i].bytes < process->peak ? -parts[i].bytes
								  : -process->peak;
		process->peak_variance += sign * parts[i].share * variance_of(sum, c);
	}
	*ret_parts = (struct heap_parts){parts, series->all.count};
	return 0;
}

static int end_all(struct heap_sum *sum)
{
	int err;

	for (uint32_t i = 0; i < sum->heap->n_processes; i++)
		if (sum->states[i])
			end_process(sum, i);
	err = make_parts(sum, &sum->made, 1, &sum->heap->made);
	return err ? err : make_parts(sum, &sum->ended, -1, &sum->heap->ended);
}

/* --- entry points ----------------------------------------------------------------------------- */

static int make(const struct store_tables *tables, size_t n_bins, struct heap *ret_heap)
{
	struct heap heap = {.n_processes = tables->n_processes, .n_bins = n_bins};

	heap.processes = calloc(heap.n_processes + 1, sizeof(*heap.processes));
	for (size_t i = 0; heap.processes && n_bins && i < heap.n_processes; i++) {
		heap.processes[i].bins = calloc(n_bins, sizeof(uint64_t));
		if (!heap.processes[i].bins) {
			heap_release(&heap);
			return -ENOMEM;
		}
	}
	*ret_heap = heap;
	return heap.processes ? 0 : -ENOMEM;
}

static void free_states(struct heap_sum *sum)
{
	for (size_t i = 0; sum->states && i < sum->heap->n_processes; i++)
		free(sum->states[i]);
	free(sum->states);
}

int heap_sum_up(struct store_reader *reader, uint64_t to_ns, size_t n_bins, struct heap *ret_heap)
{
	const struct store_tables *tables = store_reader_tables(reader);
	const struct store_recording *recording = &tables->recording;
	struct heap_sum sum = {.heap = ret_heap,
			       .tables = tables,
			       .from_ns = recording->start_ns,
			       .to_ns = to_ns < recording->end_ns ? to_ns : recording->end_ns};
	int err = make(tables, n_bins, ret_heap);

	if (err)
		return err;
	sum.states = calloc(tables->n_processes + 1, sizeof(struct heap_state *));
	err = sum.states ? read_all(reader, &sum) : -ENOMEM;
	if (!err)
		err = add_up(&sum);
	if (!err)
		err = end_all(&sum);
	free_states(&sum);
	free(sum.made.all.items);
	free(sum.ended.all.items);
	if (err)
		heap_release(ret_heap);
	return err;
}

uint64_t heap_process_live(const struct heap_process *process)
{
	return process->allocated > process->freed ? process->allocated - process->freed : 0;
}

uint64_t heap_process_most(const struct heap_process *process, size_t n_bins)
{
	uint64_t most = process->peak ? process->peak : 1;

	for (size_t i = 0; i < n_bins; i++)
		most = process->bins[i] > most ? process->bins[i] : most;
	return most;
}

struct heap_part heap_part_at(const struct heap_parts *parts, size_t number)
{
	return number < parts->n ? parts->items[number] : (struct heap_part){0};
}

void heap_release(struct heap *heap)
{
	for (size_t i = 0; heap->processes && i < heap->n_processes; i++)
		free(heap->processes[i].bins);
	free(heap->processes);
	free(heap->made.items);
	free(heap->ended.items);
	*heap = (struct heap){0};
}
