/* SPDX-License-Identifier: MIT */
/*
 * Draws a folding: one SVG file without scripts or references to other files.
 *
 * All panels have the same axis, the time within a pass. A counter's panel shows its rate as a
 * filled curve with its band, and the share of its total that has been counted as a line, from the
 * lower left to the upper right corner; dashed lines separate its phases. Below, the routines'
 * shares of the samples are stacked on each other. Pointing at a routine shows its name.
 */
#include <inttypes.h>
#include <math.h>

#include "base/text.h"
#include "folding/folding.h"
#include "folding/folding_put.h"
#include "report/svg.h"

#define WIDTH  1200.0
#define MARGIN 16.0
#define LEFT   230.0 /* width left of the panels, for names */
#define TOP    84.0
#define PANEL  110.0
#define GAP    26.0
#define STACK  170.0
#define ROW    18.0 /* height of a row of text */

struct picture {
	struct buf b;
	const struct folding *folding;
};

static double x_of(double x)
{
	return LEFT + (WIDTH - MARGIN - LEFT) * x;
}

static double height_of(const struct folding *f)
{
	return TOP + (PANEL + GAP) * f->n_counters + STACK + GAP +
	       ROW * (f->n_phases ? f->n_phases + 2 : 0) + MARGIN;
}

static void put_title(struct picture *p)
{
	const struct folding *f = p->folding;

	svg_begin(&p->b, WIDTH, height_of(f));
	text_printf(&p->b, "<text class=\"t\" x=\"%.0f\" y=\"26\">", MARGIN);
	svg_put_name(&p->b, f->passes.name);
	text_printf(&p->b, "</text>\n<text class=\"g\" x=\"%.0f\" y=\"46\">", MARGIN);
	text_printf(&p->b, "%zu %s of ", f->passes.all.count, folding_unit(f));
	folding_put_time(&p->b, f->mean_ns);
	text_printf(&p->b, " %s time on average, %" PRIu64 " sample%s folded",
		    f->is_cpu_time ? "CPU" : "wall", f->samples, text_plural(f->samples, "", "s"));
	if (f->uniform.verdict == FOLD_LOCKED)
		text_put_raw(&p->b, "; WARNING: the samples' period is locked to the region's");
	text_put_raw(&p->b, "</text>\n");
}

/* Draws the axis: ten steps, in percent of the pass and in time. */
static void put_axis(struct picture *p)
{
	const double bottom = TOP + (PANEL + GAP) * p->folding->n_counters + STACK;

	for (unsigned i = 0; i <= 10; i++) {
		const double x = x_of(i / 10.0);

		text_printf(&p->b,
			    "<line class=\"l\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.0f\" y2=\"%.0f\"/>",
			    x, x, TOP - 8, bottom);
		text_printf(&p->b, "<text class=\"g\" x=\"%.1f\" y=\"%.0f\" text-anchor=\"%s\">", x,
			    TOP - 12, i == 10 ? "end" : "middle");
		folding_put_time(&p->b, p->folding->mean_ns * i / 10);
		text_put_raw(&p->b, "</text>\n");
	}
}

/* --- counters --------------------------------------------------------------------------------- */

static double highest(const struct fold_curve *c)
{
	double most = 0;

	for (uint32_t i = 0; i < c->cells; i++) {
		const double high = isnan(c->rate_high[i]) ? c->rate[i] : c->rate_high[i];

		most = high > most ? high : most;
	}
	return most > 0 ? most : 1;
}

/* Appends the points of a curve over the cells, from left to right, or with `back` from right to
 * left. */
static void put_points(struct picture *p, const double *values, uint32_t cells, double bottom,
		       double most, bool back)
{
	for (uint32_t k = 0; k < cells; k++) {
		const uint32_t i = back ? cells - 1 - k : k;

		text_printf(&p->b, "%.2f,%.2f ", x_of((i + 0.5) / cells),
			    bottom - PANEL * values[i] / most);
	}
}

static void put_curve(struct picture *p, const struct folding_counter *c, double top)
{
	const struct fold_curve *curve = c->curve;
	const double bottom = top + PANEL, most = highest(curve);

	text_printf(&p->b, "<polygon fill=\"hsl(210,60%%,80%%)\" points=\"%.2f,%.2f ", x_of(0),
		    bottom);
	put_points(p, curve->rate, curve->cells, bottom, most, false);
	text_printf(&p->b, "%.2f,%.2f\"/>\n", x_of(1), bottom);
	if (curve->has_bands) {
		text_put_raw(&p->b, "<polygon fill=\"hsl(210,60%,45%)\" fill-opacity=\"0.35\" "
				    "points=\"");
		put_points(p, curve->rate_low, curve->cells, bottom, most, false);
		put_points(p, curve->rate_high, curve->cells, bottom, most, true);
		text_put_raw(&p->b, "\"/>\n");
	}
	text_printf(&p->b,
		    "<polyline fill=\"none\" stroke=\"hsl(20,75%%,42%%)\" stroke-width=\"1.5\" "
		    "points=\"%.2f,%.2f ",
		    x_of(0), bottom);
	for (uint32_t i = 1; i <= curve->cells; i++)
		text_printf(&p->b, "%.2f,%.2f ", x_of((double)i / curve->cells),
			    bottom - PANEL * curve->y[i]);
	text_put_raw(&p->b, "\"/>\n");
	for (uint32_t i = 1; i < curve->n_phases; i++)
		text_printf(&p->b,
			    "<line stroke=\"#555\" stroke-dasharray=\"4 3\" x1=\"%.2f\" "
			    "x2=\"%.2f\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
			    x_of(curve->phases[i].from.value), x_of(curve->phases[i].from.value),
			    top, bottom);
}

static void put_counter(struct picture *p, const struct folding_counter *c, double top)
{
	text_printf(&p->b, "<text class=\"h\" x=\"%.0f\" y=\"%.1f\">", MARGIN, top + 16);
	svg_put_name(&p->b, c->name);
	text_printf(&p->b, "</text>\n<text class=\"g\" x=\"%.0f\" y=\"%.1f\">", MARGIN, top + 34);
	if (!c->curve) {
		text_printf(&p->b, "%s</text>\n", folding_why_no_curve(c));
		return;
	}
	text_put_raw(&p->b, "up to ");
	folding_put_number(&p->b, highest(c->curve) * c->per_second);
	text_printf(&p->b, "/s</text>\n<text class=\"g\" x=\"%.0f\" y=\"%.1f\">", MARGIN, top + 52);
	folding_put_number(&p->b, c->mean);
	text_put_raw(&p->b, " a pass</text>\n");
	put_curve(p, c, top);
}

/* --- routines --------------------------------------------------------------------------------- */

/* Sets, for each column, the share of its samples that are in the first `count` routines. */
static void add_up(const struct folding *f, unsigned count, double *ret_shares)
{
	for (unsigned i = 0; i < FOLDING_COLUMNS; i++) {
		double sum = 0, all = 0;

		for (unsigned k = 0; k < f->n_routines; k++) {
			all += (double)f->routines[k].columns[i];
			sum += k < count ? (double)f->routines[k].columns[i] : 0;
		}
		ret_shares[i] = all > 0 ? sum / all : 0;
	}
}

static void put_edge(struct picture *p, const double *shares, double bottom, bool back)
{
	for (unsigned k = 0; k < FOLDING_COLUMNS; k++) {
		const unsigned i = back ? FOLDING_COLUMNS - 1 - k : k;
		const double y = bottom - STACK * shares[i];

		text_printf(&p->b, "%.2f,%.2f %.2f,%.2f ",
			    x_of((double)(back ? i + 1 : i) / FOLDING_COLUMNS), y,
			    x_of((double)(back ? i : i + 1) / FOLDING_COLUMNS), y);
	}
}

static void put_routine(struct picture *p, unsigned index, double top)
{
	const struct folding *f = p->folding;
	const struct folding_routine *r = &f->routines[index];
	const char *name = r->symbol ? r->symbol->name : "(others)";
	double below[FOLDING_COLUMNS], above[FOLDING_COLUMNS];
	char share[TEXT_SHARE_MAX];
	char fill[32];

	if (r->symbol)
		snprintf(fill, sizeof(fill), "hsl(%u,55%%,72%%)", svg_hue(name));
	else
		snprintf(fill, sizeof(fill), "#ccc");
	add_up(f, index, below);
	add_up(f, index + 1, above);
	text_printf(&p->b, "<polygon class=\"r\" fill=\"%s\" points=\"", fill);
	put_edge(p, below, top + STACK, false);
	put_edge(p, above, top + STACK, true);
	text_put_raw(&p->b, "\"><title>");
	svg_put_name(&p->b, name);
	text_put_raw(&p->b, ", ");
	svg_put(&p->b, text_share(r->samples, f->samples, share));
	text_put_raw(&p->b, "% of the samples</title></polygon>\n");
	if (index * 13 + 13 > STACK)
		return;
	text_printf(&p->b, "<rect x=\"%.0f\" y=\"%.1f\" width=\"10\" height=\"10\" fill=\"%s\"/>",
		    MARGIN, top + 13 * index, fill);
	text_printf(&p->b, "<text class=\"g\" x=\"%.0f\" y=\"%.1f\">", MARGIN + 15,
		    top + 13 * index + 9);
	svg_put_name(&p->b, name);
	text_put_raw(&p->b, "</text>\n");
}

/* --- phases ----------------------------------------------------------------------------------- */

static void put_phases(struct picture *p, double top)
{
	const struct folding *f = p->folding;

	text_printf(&p->b, "<text class=\"h\" x=\"%.0f\" y=\"%.1f\">phases of ", MARGIN, top);
	svg_put_name(&p->b, f->counters[0].name);
	text_put_raw(&p->b, "</text>\n");
	for (uint32_t i = 0; i < f->n_phases; i++) {
		const struct folding_phase *phase = &f->phases[i];
		struct buf line = {0};

		text_printf(&line, "%.1f%% to %.1f%%, ", phase->phase.from.value * 100,
			    phase->phase.to.value * 100);
		folding_put_time(&line,
				 (phase->phase.to.value - phase->phase.from.value) * f->mean_ns);
		text_printf(&line, ": %.1f%% of it, ", phase->phase.share.value * 100);
		folding_put_rate(&line, &f->counters[0], &phase->phase);
		text_put_raw(&line, ", ");
		folding_put_path(&line, phase, true);
		text_printf(&p->b, "<text x=\"%.0f\" y=\"%.1f\">", MARGIN, top + ROW * (i + 1));
		svg_put_buf(&p->b, &line);
		text_put_raw(&p->b, "</text>\n");
	}
}

int folding_write_svg(const struct folding *f, FILE *out)
{
	struct picture p = {.folding = f};
	double top = TOP;
	int err = 0;

	put_title(&p);
	put_axis(&p);
	for (unsigned i = 0; i < f->n_counters && !err; i++) {
		put_counter(&p, &f->counters[i], top);
		top += PANEL + GAP;
		err = text_flush(&p.b, out);
	}
	for (unsigned i = 0; i < f->n_routines; i++)
		put_routine(&p, i, top);
	top += STACK + GAP;
	if (f->n_phases)
		put_phases(&p, top);
	text_put_raw(&p.b, "</svg>\n");
	return text_end(&p.b, out, err);
}
