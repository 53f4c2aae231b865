/* SPDX-License-Identifier: MIT */
/* The heap: of each process over time, and by call path (model/heap_paths.h). */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/heap.h"
#include "model/heap_paths.h"
#include "web/answers.h"
#include "web/selection.h"
#include "web/words.h"

#define HEAP_LIMIT     200
#define HEAP_MOST      1000
#define HEAP_WIDTH     300
#define HEAP_FRAMES    200    /* of a path that are shown, from the leaf on */
#define HEAP_PROCESSES 50     /* whose lines are shown, those with the largest peaks */
#define HEAP_BYTES     220000 /* for names and paths */

struct heap_answer {
	struct selection *selection;
	struct profile *profile;
	const struct store_tables *tables;
	struct heap heap;
	struct heap_paths paths;
	uint64_t limit, width, older_ns;
	uint32_t n;	  /* paths that are shown */
	uint32_t **lists; /* by path: its frames, leaf first */
	uint32_t *lengths;
	struct words words;
};

/* --- processes -------------------------------------------------------------------------------- */

static void put_process(struct json *j, struct heap_answer *a, uint32_t number)
{
	const struct heap_process *p = &a->heap.processes[number];
	const uint64_t start = a->tables->recording.start_ns;
	char id[16];
	uint32_t name;

	snprintf(id, sizeof(id), "p%u", number);
	if (words_string(&a->words, a->tables->processes[number].comm, &name) < 0) {
		j->err = -ENOMEM;
		return;
	}
	json_put_object(j, NULL);
	json_put_string(j, "id", id);
	json_put_string(j, "name", strings_at(a->words.strings, name));
	json_put_int(j, "pid", a->tables->processes[number].pid);
	json_put_uint(j, "allocated", p->allocated);
	json_put_uint(j, "freed", p->freed);
	json_put_uint(j, "live", heap_process_live(p));
	json_put_double(j, "live_error", sqrt(fmax(p->live_variance, 0)), 9);
	json_put_uint(j, "peak", p->peak);
	json_put_double(j, "peak_error", sqrt(fmax(p->peak_variance, 0)), 9);
	json_put_uint(j, "peak_ns", p->peak_ns > start ? p->peak_ns - start : 0);
	json_put_array(j, "values");
	for (size_t i = 0; i < a->heap.n_bins; i++)
		json_put_uint(j, NULL, p->bins ? p->bins[i] : 0);
	json_put_end(j);
	json_put_end(j);
}

static int compare_peaks(const void *x, const void *y, void *arg)
{
	const struct heap *heap = arg;
	const uint64_t p = heap->processes[*(const uint32_t *)x].peak;
	const uint64_t q = heap->processes[*(const uint32_t *)y].peak;

	return p == q ? 0 : p < q ? 1 : -1;
}

static int put_processes(struct json *j, struct heap_answer *a)
{
	uint32_t *order = calloc(a->heap.n_processes + 1, sizeof(*order)), n = 0;

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->heap.n_processes; i++)
		if (a->heap.processes[i].samples)
			order[n++] = i;
	if (n)
		qsort_r(order, n, sizeof(*order), compare_peaks, &a->heap);
	json_put_uint(j, "columns", a->heap.n_bins);
	json_put_array(j, "processes");
	for (uint32_t i = 0; i < n && i < HEAP_PROCESSES && j->text.len < WEB_ANSWER_MAX / 4; i++)
		put_process(j, a, order[i]);
	json_put_end(j);
	free(order);
	return 0;
}

/* --- paths ------------------------------------------------------------------------------------ */

/* Sorts paths by what is live of them, then by their peaks. */
static int compare_paths(const void *x, const void *y)
{
	const struct heap_path *a = x, *b = y;

	if (a->live.value != b->live.value)
		return a->live.value < b->live.value ? 1 : -1;
	return a->peak.value == b->peak.value ? 0 : a->peak.value < b->peak.value ? 1 : -1;
}

/* Enters the frames of a path, leaf first. */
static int enter_path(struct heap_answer *a, uint32_t number)
{
	const struct heap_path *path = &a->paths.items[number];
	size_t n;
	const struct profile_frame *frames =
		profile_frames(a->profile, path->node, path->end_reason, path->origin, &n);
	uint32_t *list;
	int err = 0;

	if (!frames)
		return -ENOMEM;
	list = calloc(n + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	a->lists[number] = list;
	a->lengths[number] = n < HEAP_FRAMES ? (uint32_t)n : HEAP_FRAMES;
	for (uint32_t i = 0; err == 0 && i < a->lengths[number]; i++)
		err = words_symbol(&a->words, frames[n - 1 - i].symbol,
				   frames[n - 1 - i].is_inlined, &list[i]);
	return err;
}

static int enter_paths(const struct ask *ask, struct heap_answer *a)
{
	size_t bytes = ask->json.text.len;
	int err = 0;

	a->lists = calloc(a->paths.n + 1, sizeof(*a->lists));
	a->lengths = calloc(a->paths.n + 1, sizeof(*a->lengths));
	if (!a->lists || !a->lengths)
		return -ENOMEM;
	if (a->paths.n)
		qsort(a->paths.items, a->paths.n, sizeof(*a->paths.items), compare_paths);
	while (err == 0 && a->n < a->paths.n && a->n < a->limit &&
	       bytes + words_size(&a->words) < HEAP_BYTES) {
		err = ask_is_stopped(ask) ? -ECANCELED : enter_path(a, a->n);
		bytes += 6ul * a->lengths[a->n] + 300;
		a->n++;
	}
	return err;
}

static double error_of(const struct heap_answer *a, const struct heap_estimate *estimate)
{
	return a->paths.has_errors ? sqrt(fmax(estimate->variance, 0)) : NAN;
}

#define HEAP_COLUMN(j, name, value)                                                                \
	do {                                                                                       \
		json_put_array(j, name);                                                           \
		for (uint32_t i = 0; i < a->n; i++) {                                              \
			const struct heap_path *p = &a->paths.items[i];                            \
			json_put_double(j, NULL, value, 9);                                        \
		}                                                                                  \
		json_put_end(j);                                                                   \
	} while (0)

static void put_lists(struct json *j, const struct heap_answer *a)
{
	json_put_array(j, "frames");
	for (uint32_t i = 0; i < a->n; i++) {
		json_put_array(j, NULL);
		for (uint32_t k = 0; k < a->lengths[i]; k++)
			json_put_uint(j, NULL, a->lists[i][k]);
		json_put_end(j);
	}
	json_put_end(j);
	json_put_array(j, "since");
	for (uint32_t i = 0; i < a->n; i++) {
		json_put_array(j, NULL);
		for (uint32_t k = 0; k < HEAP_PATHS_BINS; k++)
			json_put_double(j, NULL, a->paths.items[i].live_since[k], 6);
		json_put_end(j);
	}
	json_put_end(j);
}

static void put_paths(struct json *j, const struct heap_answer *a)
{
	json_put_object(j, "paths");
	put_lists(j, a);
	HEAP_COLUMN(j, "live", p->live.value);
	HEAP_COLUMN(j, "live_error", error_of(a, &p->live));
	HEAP_COLUMN(j, "objects", p->live_objects);
	HEAP_COLUMN(j, "old", p->old.value);
	HEAP_COLUMN(j, "peak", p->peak.value);
	HEAP_COLUMN(j, "peak_error", error_of(a, &p->peak));
	HEAP_COLUMN(j, "change", p->change.value);
	HEAP_COLUMN(j, "change_error", error_of(a, &p->change));
	HEAP_COLUMN(j, "allocated", p->allocated);
	HEAP_COLUMN(j, "age_ns", p->ended > 0 ? p->ended_ns / p->ended : NAN);
	json_put_end(j);
}

/* --- the answer ------------------------------------------------------------------------------- */

static int heap_read(struct ask *ask, struct heap_answer *a)
{
	int err = ask_number(ask, "limit", 1, HEAP_MOST, &a->limit);

	if (err == 0)
		err = ask_number(ask, "width", 1, HEAP_MOST, &a->width);
	if (err == 0)
		err = ask_number(ask, "older", 0, INT64_MAX, &a->older_ns);
	return err;
}

static int heap_make(struct heap_answer *a)
{
	const struct heap_paths_options options = {.from_ns = a->tables->recording.start_ns +
							      a->selection->from_ns,
						   .older_ns = a->older_ns};
	int err = heap_sum_up(a->selection->opened->reader, profile_end(a->profile),
			      (size_t)a->width, &a->heap);

	if (err == 0)
		err = heap_paths_sum_up(a->profile, &a->heap, &options, &a->paths);
	return err ? err : words_begin(&a->words);
}

static void heap_free(struct heap_answer *a)
{
	for (uint32_t i = 0; a->lists && i < a->n; i++)
		free(a->lists[i]);
	free(a->lists);
	free(a->lengths);
	heap_paths_release(&a->paths);
	heap_release(&a->heap);
	words_end(&a->words);
}

int answer_heap(struct ask *ask)
{
	struct heap_answer a = {.limit = HEAP_LIMIT, .width = HEAP_WIDTH};
	int err = heap_read(ask, &a);

	if (err == 0)
		err = selection_of_metric(ask, METRIC_HEAP_LIVE, &a.selection);
	if (err)
		return err;
	a.profile = a.selection->profile;
	a.tables = profile_tables(a.profile);
	err = heap_make(&a);
	if (err == 0) {
		selection_put(ask, a.selection);
		err = put_processes(&ask->json, &a);
	}
	if (err == 0)
		err = enter_paths(ask, &a);
	if (err == 0) {
		json_put_uint(&ask->json, "left_out", a.paths.n - a.n);
		words_put(&a.words, true, &ask->json);
		put_paths(&ask->json, &a);
	}
	heap_free(&a);
	return err;
}
