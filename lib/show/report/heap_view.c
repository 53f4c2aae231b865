/* SPDX-License-Identifier: MIT */
/* Writes summaries of heaps; see heap_view.h. */
#include "report/heap_view.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "report/report_header.h"

struct heap_view {
	const struct heap *heap;
	const struct profile *profile;
	uint32_t *shown; /* processes to show, largest peak first */
	size_t n_shown;
	struct buf line;
};

static int by_peak(const void *x, const void *y, void *arg)
{
	const struct heap *heap = arg;
	const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

	if (heap->processes[a].peak != heap->processes[b].peak)
		return heap->processes[a].peak < heap->processes[b].peak ? 1 : -1;
	return a < b ? -1 : a > b;
}

/* Chooses the processes of the profile that had allocations. */
static int choose(struct heap_view *v)
{
	const struct store_tables *t = profile_tables(v->profile);
	bool *is = calloc(v->heap->n_processes + 1, sizeof(*is));
	size_t n;
	const struct profile_entry *entries = profile_entries(v->profile, &n);

	v->shown = calloc(v->heap->n_processes + 1, sizeof(*v->shown));
	if (!is || !v->shown) {
		free(is);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		is[t->threads[entries[i].thread].process] = true;
	for (uint32_t i = 0; i < v->heap->n_processes; i++) {
		if (is[i] && v->heap->processes[i].samples)
			v->shown[v->n_shown++] = i;
	}
	free(is);
	qsort_r(v->shown, v->n_shown, sizeof(*v->shown), by_peak, (void *)v->heap);
	return 0;
}

/* Returns the standard error of an estimate with this variance, which is not below 0 but for
 * rounding. */
static double error_of(double variance)
{
	return sqrt(fmax(variance, 0));
}

static double seconds(const struct heap_view *v, uint64_t time_ns)
{
	const uint64_t start = profile_tables(v->profile)->recording.start_ns;

	return time_ns > start ? (double)(time_ns - start) / 1e9 : 0;
}

/* --- text ---------------------------------------------------------------------------------- */

/* Appends a bar for each bin; its height is the bin's share of the peak, or of the largest bin if
 * that is more. Bars of bins that are not 0 are visible. */
static void put_bars(struct heap_view *v, const struct heap_process *p, bool utf8)
{
	static const char *const blocks[] = {"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const ascii[] = {".", "_", "_", "-", "-", "=", "=", "#", "#"};
	const double most = (double)heap_process_most(p, v->heap->n_bins);

	for (size_t i = 0; i < v->heap->n_bins; i++) {
		const double share = (double)p->bins[i] / most;
		size_t step = (size_t)(share * 8 + 0.5);

		if (!step && p->bins[i])
			step = 1;
		text_put_raw(&v->line, (utf8 ? blocks : ascii)[step < 8 ? step : 8]);
	}
}

static void put_estimate(struct heap_view *v, uint64_t bytes, double variance)
{
	char amount[METRIC_AMOUNT_MAX];

	text_put_raw(&v->line, metric_amount(METRIC_HEAP_LIVE, bytes, amount));
	if (error_of(variance) >= 0.5)
		text_printf(&v->line, " +- %s",
			    metric_amount(METRIC_HEAP_LIVE, (uint64_t)llround(error_of(variance)),
					  amount));
}

static void put_process(struct heap_view *v, uint32_t number, bool utf8, unsigned columns)
{
	const struct store_process *process = &profile_tables(v->profile)->processes[number];
	const struct heap_process *p = &v->heap->processes[number];
	char amount[METRIC_AMOUNT_MAX];

	text_printf(&v->line, "# heap of process %d ", process->pid);
	text_put_name(&v->line, process->comm ? process->comm : "?", utf8);
	text_put_raw(&v->line, ": peak ");
	put_estimate(v, p->peak, p->peak_variance);
	text_printf(&v->line, " at %.3f s, live at the end ", seconds(v, p->peak_ns));
	put_estimate(v, heap_process_live(p), p->live_variance);
	text_printf(&v->line, ", allocated %s (",
		    metric_amount(METRIC_ALLOC_BYTES, p->allocated, amount));
	metric_put_records(METRIC_ALLOC_BYTES, p->samples, &v->line);
	text_put_raw(&v->line, ")");
	text_wrap(&v->line, columns);
	text_put_raw(&v->line, "\n#   ");
	put_bars(v, p, utf8);
	text_put_raw(&v->line, "\n");
}

/* Returns the time of the recording, in seconds, at which stackd stopped counting allocations and
 * frees; negative: it never did. */
static double counted_until(const struct heap_view *v)
{
	uint64_t until_ns = 0;

	report_header_counter(profile_tables(v->profile), "allocations_until_ns", &until_ns);
	return until_ns ? seconds(v, until_ns) : -1;
}

int heap_view_text(const struct heap *heap, const struct profile *profile,
		   const struct report_options *options, FILE *out)
{
	struct heap_view v = {.heap = heap, .profile = profile};
	int err = choose(&v);

	if (counted_until(&v) >= 0)
		text_printf(
			&v.line,
			"# allocations were counted until %.3f s, when the probes were taken off "
			"(--alloc-limit): what is live is of then, and later peaks are not seen\n",
			counted_until(&v));
	text_wrap(&v.line, options->width);
	for (size_t i = 0; !err && i < v.n_shown && i < HEAP_VIEW_PROCESSES; i++) {
		put_process(&v, v.shown[i], options->utf8, options->width);
		err = text_flush(&v.line, out);
	}
	if (v.n_shown > HEAP_VIEW_PROCESSES)
		text_printf(&v.line, "# heap of %zu more processes: --json has them all\n",
			    v.n_shown - HEAP_VIEW_PROCESSES);
	free(v.shown);
	return text_end(&v.line, out, err);
}

/* --- JSON ---------------------------------------------------------------------------------- */

static void json_process(const struct heap_view *v, uint32_t number, struct json *j)
{
	const struct store_process *process = &profile_tables(v->profile)->processes[number];
	const struct heap_process *p = &v->heap->processes[number];

	json_put_line(j);
	json_put_object(j, NULL);
	json_put_int(j, "pid", process->pid);
	json_put_string(j, "comm", process->comm);
	json_put_uint(j, "samples", p->samples);
	json_put_uint(j, "allocated", p->allocated);
	json_put_uint(j, "live", heap_process_live(p));
	json_put_uint(j, "peak", p->peak);
	json_put_fixed(j, "live_error", error_of(p->live_variance), 0);
	json_put_fixed(j, "peak_error", error_of(p->peak_variance), 0);
	json_put_fixed(j, "peak_s", seconds(v, p->peak_ns), 9);
	json_put_array(j, "over_time");
	for (size_t i = 0; i < v->heap->n_bins; i++)
		json_put_uint(j, NULL, p->bins[i]);
	json_put_end(j);
	json_put_end(j);
}

int heap_view_json_processes(const struct heap *heap, const struct profile *profile,
			     const char *key, struct json *j)
{
	struct heap_view v = {.heap = heap, .profile = profile};
	int err = choose(&v);

	json_put_array(j, key);
	for (size_t i = 0; !err && i < v.n_shown; i++)
		json_process(&v, v.shown[i], j);
	json_put_line(j);
	json_put_end(j);
	free(v.shown);
	return err;
}

int heap_view_json(const struct heap *heap, const struct heap_paths *paths,
		   enum heap_paths_kind kind, struct profile *profile, FILE *out)
{
	const double until = counted_until(&(struct heap_view){.profile = profile});
	struct json j = {.out = out};
	int err;

	report_header_begin_json(profile, &j);
	if (until >= 0)
		json_put_fixed(&j, "counted_until_s", until, 9);
	err = heap_view_json_processes(heap, profile, "processes", &j);
	if (!err)
		err = heap_paths_view_json(paths, kind, profile, &j);
	return json_put_finish(&j, err);
}
