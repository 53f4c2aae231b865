/* SPDX-License-Identifier: MIT */
/*
 * Draws the timeline: one SVG file without scripts or references to other files.
 *
 * Each thread is a band and each run a bar in it, with callers above callees; time runs to the
 * right. A bar's colour follows from the routine's name, so it is the same in all pictures. A bar
 * is hatched if its routine is inferred in most samples; waits have colours of their own. Pointing
 * at a bar shows its whole label. Bars narrower than a third of a pixel are left out, and their
 * number is printed.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "report/timeline.h"
#include "report/report_header.h"
#include "report/svg.h"

#define TIMELINE_SVG_WIDTH  1600.0
#define TIMELINE_SVG_MARGIN 16.0
#define TIMELINE_SVG_ROW    20.0
#define TIMELINE_SVG_HEAD   30.0 /* height above a band, for the thread's name */
#define TIMELINE_SVG_TOP    96.0 /* height above the first band, for title and scale */
#define TIMELINE_SVG_TICKS  10

struct timeline_svg {
	struct buf b;
	const struct timeline *timeline;
	FILE *out;
	uint64_t left_out;
};

static double x_of(const struct timeline_svg *s, uint64_t at_ns)
{
	const struct timeline *timeline = s->timeline;
	double whole = timeline->end_ns > timeline->start_ns
			       ? (double)(timeline->end_ns - timeline->start_ns)
			       : 1;

	return TIMELINE_SVG_MARGIN + (TIMELINE_SVG_WIDTH - 2 * TIMELINE_SVG_MARGIN) *
					     (double)(at_ns - timeline->start_ns) / whole;
}

static double height_of(const struct timeline *timeline)
{
	double height = TIMELINE_SVG_TOP + TIMELINE_SVG_MARGIN;

	for (size_t i = 0; i < timeline->n_threads; i++)
		if (timeline->threads[i].n_runs)
			height += TIMELINE_SVG_HEAD + TIMELINE_SVG_ROW * timeline->threads[i].rows;
	return height;
}

static void title_lines(struct timeline_svg *s, struct profile *profile)
{
	const struct store_recording *recording = &profile_tables(profile)->recording;
	double height = height_of(s->timeline);
	struct buf b = {0};

	svg_begin(&s->b, TIMELINE_SVG_WIDTH, height);
	text_printf(&s->b, "<text class=\"t\" x=\"%.0f\" y=\"26\">", TIMELINE_SVG_MARGIN);
	svg_put_name(&s->b, recording->target ? recording->target : "");
	text_printf(&s->b, "</text>\n<text class=\"g\" x=\"%.0f\" y=\"46\">", TIMELINE_SVG_MARGIN);
	timeline_threshold(&b, s->timeline);
	text_put_raw(&b, "; callers above what they call; hatched: mostly reconstructed; ");
	report_header_quality(profile, &b);
	if (metric_is_of_regions(s->timeline->metric))
		report_header_off(profile, "; ", &b);
	svg_put_buf(&s->b, &b);
	text_put_raw(&s->b, "</text>\n");
}

/* Draws the scale, of ten steps. */
static void scale(struct timeline_svg *s)
{
	const struct timeline *timeline = s->timeline;
	double height = height_of(timeline);

	for (unsigned i = 0; i <= TIMELINE_SVG_TICKS; i++) {
		uint64_t at = timeline->start_ns +
			      (timeline->end_ns - timeline->start_ns) * i / TIMELINE_SVG_TICKS;
		double x = x_of(s, at);

		text_printf(&s->b,
			    "<line class=\"l\" x1=\"%.1f\" x2=\"%.1f\" y1=\"72\" y2=\"%.0f\"/>", x,
			    x, height - TIMELINE_SVG_MARGIN);
		text_printf(&s->b,
			    "<text class=\"g\" x=\"%.1f\" y=\"68\" text-anchor=\"%s\">%.3f s"
			    "</text>\n",
			    x,
			    i == 0		      ? "start"
			    : i == TIMELINE_SVG_TICKS ? "end"
						      : "middle",
			    (double)at / 1e9);
	}
}

/* Writes the label if it fits into `width` pixels; otherwise as much of the routine's name as
 * fits. */
static void text(struct timeline_svg *s, double x, double y, double width,
		 const struct timeline_run *run)
{
	unsigned columns = width > 2 * SVG_CHARACTER ? (unsigned)((width - 4) / SVG_CHARACTER) : 0;
	struct buf b = {0};

	if (columns < 2)
		return;
	timeline_label(&b, run);
	if (b.len > columns) {
		b.len = 0;
		text_put(&b, run->symbol->name, NULL);
		text_cut(&b, columns);
	}
	text_printf(&s->b, "<text x=\"%.1f\" y=\"%.1f\" pointer-events=\"none\">", x + 3, y + 14);
	svg_put_buf(&s->b, &b);
	text_put_raw(&s->b, "</text>");
}

static void title(struct timeline_svg *s, const struct timeline_run *run)
{
	struct buf label = {0};

	timeline_label(&label, run);
	text_put_raw(&s->b, "<title>");
	svg_put_buf(&s->b, &label);
	text_printf(&s->b, "\n%.3f s to %.3f s, ", (double)run->start_ns / 1e9,
		    (double)run->end_ns / 1e9);
	timeline_amount(&s->b, s->timeline, run->samples, run->amount);
	if (run->inferred)
		text_printf(&s->b, ", reconstructed in %" PRIu64, run->inferred);
	text_put_raw(&s->b, "</title>");
}

static void put_fill(struct timeline_svg *s, const struct profile_symbol *symbol)
{
	switch (profile_symbol_wait(symbol)) {
	case PROFILE_BLOCKED:
		text_put_raw(&s->b, "fill=\"" SVG_BLOCKED "\"/>");
		break;
	case PROFILE_RUNNABLE:
		text_put_raw(&s->b, "fill=\"" SVG_RUNNABLE "\"/>");
		break;
	default:
		text_printf(&s->b, "fill=\"hsl(%u,55%%,76%%)\"/>", svg_hue(symbol->name));
	}
}

static void bar(struct timeline_svg *s, const struct timeline_run *run, double top)
{
	double x = x_of(s, run->start_ns), width = x_of(s, run->end_ns) - x;
	double y = top + TIMELINE_SVG_ROW * run->row;

	if (width < 0.33) {
		s->left_out++;
		return;
	}
	text_put_raw(&s->b, "<g>");
	title(s, run);
	text_printf(&s->b,
		    "<rect class=\"r\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" ", x, y,
		    width, TIMELINE_SVG_ROW - 1);
	put_fill(s, run->symbol);
	if (run->inferred * 2 > run->samples)
		text_printf(&s->b,
			    "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" "
			    "fill=\"url(#i)\" pointer-events=\"none\"/>",
			    x, y, width, TIMELINE_SVG_ROW - 1);
	text(s, x, y, width, run);
	text_put_raw(&s->b, "</g>\n");
}

static int thread(struct timeline_svg *s, const struct timeline_thread *thread,
		  const struct store_tables *t, double top)
{
	const struct store_thread *of = &t->threads[thread->thread];

	text_printf(&s->b, "<text class=\"h\" x=\"%.0f\" y=\"%.1f\">thread %d ",
		    TIMELINE_SVG_MARGIN, top + 20, of->tid);
	svg_put_name(&s->b, of->comm);
	text_put_raw(&s->b, ", ");
	timeline_amount(&s->b, s->timeline, thread->samples, thread->amount);
	text_put_raw(&s->b, "</text>\n");
	for (size_t i = 0; i < thread->n_runs; i++)
		bar(s, &thread->runs[i], top + TIMELINE_SVG_HEAD);
	return text_flush(&s->b, s->out);
}

int timeline_write_svg(const struct timeline *timeline, struct profile *profile, FILE *out)
{
	struct timeline_svg s = {.timeline = timeline, .out = out};
	double top = TIMELINE_SVG_TOP - TIMELINE_SVG_HEAD / 2;
	int err = 0;

	title_lines(&s, profile);
	scale(&s);
	for (size_t i = 0; err == 0 && i < timeline->n_threads; i++) {
		if (!timeline->threads[i].n_runs)
			continue;
		err = thread(&s, &timeline->threads[i], profile_tables(profile), top);
		top += TIMELINE_SVG_HEAD + TIMELINE_SVG_ROW * timeline->threads[i].rows;
	}
	if (s.left_out)
		text_printf(&s.b,
			    "<text class=\"g\" x=\"%.0f\" y=\"46\" text-anchor=\"end\">%" PRIu64
			    " too narrow to show</text>\n",
			    TIMELINE_SVG_WIDTH - TIMELINE_SVG_MARGIN, s.left_out);
	text_put_raw(&s.b, "</svg>\n");
	return text_end(&s.b, out, err);
}
