/* SPDX-License-Identifier: MIT */
/*
 * See heap.h. Allocations and their ends are two series, each in the order of time. The ends are
 * read first and kept, then taken in between the allocations.
 */
#include "model/heap.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

struct heap_end {
	uint64_t time_ns, bytes;
	uint32_t process;
};

struct heap_sum {
	struct heap *heap;
	const struct store_tables *tables;
	uint64_t from_ns, to_ns;
	VEC(struct heap_end) ends;
	size_t at; /* the next of these */
};

static uint64_t live_of(const struct heap_process *process)
{
	return process->allocated > process->freed ? process->allocated - process->freed : 0;
}

static int take_end(void *arg, const struct store_sample *record)
{
	struct heap_sum *sum = arg;

	if (record->time_ns > sum->to_ns)
		return 0;
	if (VEC_RESERVE(&sum->ends, 1))
		return -ENOMEM;
	sum->ends.items[sum->ends.count++] = (struct heap_end){
		record->time_ns, record->period, sum->tables->threads[record->thread].process};
	return 0;
}

/* The part of the time that a moment is in. */
static size_t bin_of(const struct heap_sum *sum, uint64_t time_ns)
{
	const uint64_t all = sum->to_ns - sum->from_ns, since = time_ns - sum->from_ns;
	size_t bin;

	if (time_ns < sum->from_ns || !all)
		return 0;
	bin = (size_t)((double)since / (double)all * (double)sum->heap->n_bins);
	return bin < sum->heap->n_bins ? bin : sum->heap->n_bins - 1;
}

/* Goes on to a part of the time: those in between, and that one at first, have what is live. */
static void go_on(struct heap_process *process, size_t bin)
{
	while (process->bin < bin)
		process->bins[++process->bin] = live_of(process);
}

/* Takes a change at a moment. */
static void change(struct heap_sum *sum, uint32_t number, uint64_t time_ns, uint64_t allocated,
		   uint64_t freed)
{
	struct heap_process *process = &sum->heap->processes[number];
	uint64_t live;

	if (sum->heap->n_bins)
		go_on(process, bin_of(sum, time_ns));
	process->allocated += allocated;
	process->freed += freed;
	live = live_of(process);
	if (live > process->peak) {
		process->peak = live;
		process->peak_ns = time_ns;
	}
	if (sum->heap->n_bins && live > process->bins[process->bin])
		process->bins[process->bin] = live;
}

static void take_ends_until(struct heap_sum *sum, uint64_t time_ns)
{
	for (; sum->at < sum->ends.count && sum->ends.items[sum->at].time_ns <= time_ns;
	     sum->at++) {
		const struct heap_end *end = &sum->ends.items[sum->at];

		change(sum, end->process, end->time_ns, 0, end->bytes);
	}
}

static int take_allocation(void *arg, const struct store_sample *record)
{
	struct heap_sum *sum = arg;
	const uint32_t process = sum->tables->threads[record->thread].process;

	if (record->time_ns > sum->to_ns)
		return 0;
	take_ends_until(sum, record->time_ns);
	change(sum, process, record->time_ns, record->period, 0);
	sum->heap->processes[process].samples++;
	return 0;
}

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

int heap_sum_up(struct store_reader *reader, uint64_t to_ns, size_t n_bins, struct heap *ret_heap)
{
	const struct store_tables *tables = store_reader_tables(reader);
	const struct store_recording *recording = &tables->recording;
	struct heap_sum sum = {.heap = ret_heap,
			       .tables = tables,
			       .from_ns = recording->start_ns,
			       .to_ns = to_ns < recording->end_ns ? to_ns : recording->end_ns};
	int err = make(tables, n_bins, ret_heap);

	if (!err)
		err = store_reader_records(reader, SERIES_FREED_BYTES, take_end, &sum);
	if (!err)
		err = store_reader_records(reader, SERIES_ALLOC_BYTES, take_allocation, &sum);
	if (!err)
		take_ends_until(&sum, UINT64_MAX);
	for (size_t i = 0; !err && i < ret_heap->n_processes && n_bins; i++)
		go_on(&ret_heap->processes[i], n_bins - 1);
	free(sum.ends.items);
	if (err)
		heap_release(ret_heap);
	return err;
}

void heap_release(struct heap *heap)
{
	for (size_t i = 0; heap->processes && i < heap->n_processes; i++)
		free(heap->processes[i].bins);
	free(heap->processes);
	*heap = (struct heap){0};
}
