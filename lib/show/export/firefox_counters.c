/* SPDX-License-Identifier: MIT */
/*
 * Writes the live heap as counters; see firefox_counters.h. A sample of a counter is a change, and
 * the profiler adds changes up. The recording is divided into as many steps as a screen has
 * columns; a step has the most bytes that were live in it, and steps without a change have no
 * sample.
 */
#include "export/firefox_counters.h"

#include <errno.h>
#include <stdlib.h>

#include "base/text.h"
#include "model/heap.h"

#define STEPS 2000

/* Returns by process which thread's track the counter is below, as its place + 1: the main
 * thread's, or else the first one's. NULL: memory is short. */
static uint32_t *choose_threads(const struct store_tables *t, const uint32_t *place)
{
	uint32_t *chosen = calloc((size_t)t->n_processes + 1, sizeof(*chosen));

	for (uint32_t i = 0; chosen && i < t->n_threads; i++) {
		const uint32_t process = t->threads[i].process;

		if (place[i] &&
		    (!chosen[process] || t->threads[i].tid == t->processes[process].pid))
			chosen[process] = place[i];
	}
	return chosen;
}

void firefox_pid(const struct store_process *process, uint32_t reuse, struct buf *b)
{
	text_printf(b, "%d", process->pid);
	if (reuse)
		text_printf(b, ".%u", reuse);
}

/* Returns what is live in a step; in the last one, which is the end of the recording, what is live
 * then. */
static uint64_t live_in(const struct heap_process *heap, size_t step)
{
	return step < STEPS ? heap->bins[step] : heap_process_live(heap);
}

/* Returns whether a step has a sample. */
static bool is_change(const struct heap_process *heap, size_t step)
{
	return !step || live_in(heap, step) != live_in(heap, step - 1);
}

static void put_samples(const struct heap_process *heap, uint64_t all_ns, struct json *j)
{
	size_t n = 0;

	json_put_object(j, "samples");
	json_put_array(j, "time");
	for (size_t i = 0; i <= STEPS; i++) {
		if (!is_change(heap, i))
			continue;
		json_put_fixed(j, NULL, (double)all_ns / 1e6 * (double)i / STEPS, 6);
		n++;
	}
	json_put_end(j);
	json_put_array(j, "count");
	for (size_t i = 0; i <= STEPS; i++)
		if (is_change(heap, i))
			json_put_int(j, NULL,
				     (int64_t)(live_in(heap, i) - (i ? live_in(heap, i - 1) : 0)));
	json_put_end(j);
	json_put_uint(j, "length", n);
	json_put_end(j);
}

int firefox_counters_put(struct profile *profile, const uint32_t *place, const uint32_t *reuse,
			 struct json *j)
{
	const struct store_tables *t = profile_tables(profile);
	const uint64_t end_ns = profile_end(profile), start_ns = t->recording.start_ns;
	const uint64_t last_ns = end_ns < t->recording.end_ns ? end_ns : t->recording.end_ns;
	const uint64_t all_ns = last_ns > start_ns ? last_ns - start_ns : 0;
	uint32_t *chosen = choose_threads(t, place);
	struct heap heap = {0};
	int err = chosen ? heap_sum_up(profile_reader(profile), end_ns, STEPS, &heap) : -ENOMEM;

	json_put_line(j);
	json_put_array(j, "counters");
	for (uint32_t i = 0; !err && i < heap.n_processes; i++) {
		struct buf pid = {0};

		if (!chosen[i] || !heap.processes[i].samples)
			continue;
		json_put_line(j);
		json_put_object(j, NULL);
		json_put_string(j, "name", "malloc");
		json_put_string(j, "category", "Memory");
		json_put_string(j, "description", "Live heap, estimated from sampled allocations");
		firefox_pid(&t->processes[i], reuse[i], &pid);
		json_put_text(j, "pid", &pid);
		json_put_uint(j, "mainThreadIndex", chosen[i] - 1);
		put_samples(&heap.processes[i], all_ns, j);
		json_put_end(j);
	}
	json_put_end(j);
	heap_release(&heap);
	free(chosen);
	return err;
}
