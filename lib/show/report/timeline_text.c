/* SPDX-License-Identifier: MIT */
/* Writes the timeline as text; see timeline.h. Each run is a row, with a bar that shows when it
 * was:
 *
 *     from s     to s samples
 *      0.000    8.012    7898 ██████████████  main > adi > x_solve [bt.c:46] */
#include <errno.h>
#include <inttypes.h>

#include "report/timeline.h"
#include "report/report_header.h"

#define TIMELINE_BAR 32u

/* Returns the character of which a run's bar consists; waits have other characters than
 * routines. */
static const char *cell(const struct timeline_run *run, bool utf8)
{
	switch (profile_symbol_wait(run->symbol)) {
	case PROFILE_BLOCKED:
		return utf8 ? "▒" : "-";
	case PROFILE_RUNNABLE:
		return utf8 ? "░" : "~";
	default:
		return utf8 ? "█" : "#";
	}
}

static void timeline_bar(struct buf *b, const struct timeline *timeline,
			 const struct timeline_run *run, bool utf8)
{
	uint64_t whole =
		timeline->end_ns > timeline->start_ns ? timeline->end_ns - timeline->start_ns : 1;

	for (unsigned i = 0; i < TIMELINE_BAR; i++) {
		uint64_t from = timeline->start_ns + whole * i / TIMELINE_BAR;
		uint64_t to = timeline->start_ns + whole * (i + 1) / TIMELINE_BAR;
		bool is_in = run->start_ns < to && run->end_ns > from;

		text_put_raw(b, !is_in ? (utf8 ? "·" : ".") : cell(run, utf8));
	}
}

static void timeline_row(struct buf *b, const struct timeline *timeline,
			 const struct timeline_run *run, const struct report_options *options)
{
	char amount[METRIC_AMOUNT_MAX];
	struct buf row = {0};

	text_printf(&row, "%10.3f %10.3f %8" PRIu64 " ", (double)run->start_ns / 1e9,
		    (double)run->end_ns / 1e9, run->samples);
	if (timeline_has_amounts(timeline))
		text_printf(&row, "%12s ", metric_number(timeline->metric, run->amount, amount));
	timeline_bar(&row, timeline, run, options->utf8);
	text_put_raw(&row, "  ");
	for (uint32_t i = 0; i < run->row; i++)
		text_put_raw(&row, "  ");
	timeline_label(&row, run);
	if (run->inferred * 2 > run->samples)
		text_put_raw(&row, " (mostly reconstructed)");
	text_cut(&row, options->width);
	buf_put(b, row.data, row.len);
	text_put_raw(b, "\n");
	buf_free(&row);
}

static void head(struct buf *b, const struct timeline *timeline,
		 const struct timeline_thread *thread, const struct store_tables *t)
{
	const struct store_thread *of = &t->threads[thread->thread];

	text_printf(b, "\n# thread %d ", of->tid);
	text_put(b, of->comm, NULL);
	text_printf(b, " of process %d: ", t->processes[of->process].pid);
	timeline_amount(b, timeline, thread->samples, thread->amount);
	text_printf(b, ", %.3f s to %.3f s\n", (double)thread->start_ns / 1e9,
		    (double)thread->end_ns / 1e9);
	if (!thread->n_runs)
		text_put_raw(b, "(no routine for so long)\n");
	else
		text_printf(b,
			    "#   from s       to s  %s  when, and callers > routine [line]; inside "
			    "one another\n",
			    timeline_has_amounts(timeline)   ? "records      amount"
			    : timeline->metric == METRIC_CPU ? "samples"
							     : "records");
}

int timeline_write_text(const struct timeline *timeline, struct profile *profile,
			const struct report_options *options, FILE *out)
{
	int err = report_header_text(profile, options, out);
	struct buf b = {0};

	text_put_raw(&b, "# ");
	timeline_threshold(&b, timeline);
	text_put_raw(&b, "\n");
	for (size_t i = 0; err == 0 && i < timeline->n_threads; i++) {
		const struct timeline_thread *thread = &timeline->threads[i];

		head(&b, timeline, thread, profile_tables(profile));
		for (size_t k = 0; k < thread->n_runs; k++)
			timeline_row(&b, timeline, &thread->runs[k], options);
		err = text_flush(&b, out);
	}
	return text_end(&b, out, err);
}
