/* SPDX-License-Identifier: MIT */
/*
 * Writes a folding as a script for gnuplot 5 that contains its data; see folding.h.
 *
 *   gnuplot -p FILE.gp                                             shows it
 *   gnuplot -e "set terminal svg size 1200,900; set output 'FILE.svg'" FILE.gp
 *
 * The script sets neither terminal nor output, so that both can be chosen as above, and can be read
 * by a script around it. One panel for each counter has the rate with its band (left axis) and the
 * share reached with its band (right axis), dashed lines between phases, and the function that
 * names each phase. The last panel has the routines' shares of the samples, stacked.
 *
 * Names come from programs that we do not control. So they are written only in single quotes, where
 * gnuplot interprets nothing but the quote itself, and without markup ("noenhanced"); never in
 * comments, which a backslash would continue.
 */
#include <inttypes.h>
#include <math.h>

#include "base/text.h"
#include "folding/folding.h"
#include "folding/folding_put.h"
#include "report/svg.h"

/* Appends a name in quotes. */
static void put_name(struct buf *b, const char *name)
{
	struct buf text = {0};

	text_put(&text, name, NULL);
	text_put_raw(b, "'");
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] == '\'')
			buf_put_u8(b, '\'');
		buf_put_u8(b, text.data[i]);
	}
	text_put_raw(b, "'");
	b->failed |= text.failed;
	buf_free(&text);
}

/* Appends a blank and a number. gnuplot leaves out points whose value is NaN. */
static void put_number(struct buf *b, double value)
{
	if (isnan(value))
		text_put_raw(b, " NaN");
	else
		text_printf(b, " %.9g", value);
}

/* --- data ------------------------------------------------------------------------------------- */

/* Writes the rows of a curve: x at the cell's end in percent, share and its band, x in the cell's
 * middle, rate per second and its band. */
static int write_curve(struct buf *b, const struct folding_counter *c, unsigned number, FILE *out)
{
	const struct fold_curve *curve = c->curve;

	text_printf(b, "\n$counter%u << END\n0 0 0 0 0", number);
	put_number(b, curve->rate[0] * c->per_second);
	put_number(b, curve->rate_low[0] * c->per_second);
	put_number(b, curve->rate_high[0] * c->per_second);
	text_put_raw(b, "\n");
	for (uint32_t i = 0; i < curve->cells; i++) {
		text_printf(b, "%.9g", 100.0 * (i + 1) / curve->cells);
		put_number(b, curve->y[i + 1] * 100);
		put_number(b, curve->y_low[i + 1] * 100);
		put_number(b, curve->y_high[i + 1] * 100);
		put_number(b, 100 * (i + 0.5) / curve->cells);
		put_number(b, curve->rate[i] * c->per_second);
		put_number(b, curve->rate_low[i] * c->per_second);
		put_number(b, curve->rate_high[i] * c->per_second);
		text_put_raw(b, "\n");
	}
	text_put_raw(b, "END\n");
	return text_flush(b, out);
}

/* Writes the rows of the routines: x in percent, then 0 and the cumulative shares of the samples:
 * of the first routine, of the first two, and so on. Each column has a row at both of its ends, so
 * that the shares are drawn as steps. */
static void put_shares(struct buf *b, const struct folding *f)
{
	text_put_raw(b, "\n$routines << END\n");
	for (unsigned i = 0; i < 2 * FOLDING_COLUMNS; i++) {
		const unsigned bound = (i + 1) / 2;
		uint64_t all = 0, sum = 0;

		for (unsigned k = 0; k < f->n_routines; k++)
			all += f->routines[k].columns[i / 2];
		text_printf(b, "%.9g 0", 100.0 * bound / FOLDING_COLUMNS);
		for (unsigned k = 0; k < f->n_routines; k++) {
			sum += f->routines[k].columns[i / 2];
			put_number(b, all ? 100.0 * (double)sum / (double)all : 0);
		}
		text_put_raw(b, "\n");
	}
	text_put_raw(b, "END\n");
}

/* --- drawing ---------------------------------------------------------------------------------- */

static void put_head(struct buf *b, const struct folding *f)
{
	struct buf title = {0};

	text_put_raw(
		b,
		"# What happens within one pass through a region, by stackctl fold.\n"
		"# To see it: gnuplot -p FILE.gp; for a picture:\n"
		"# gnuplot -e \"set terminal svg size 1200,900; set output 'FILE.svg'\" FILE.gp\n"
		"set encoding utf8\nset datafile missing 'NaN'\nset key outside right top "
		"noenhanced\nset xrange [0:100]\nset lmargin 14\nset rmargin 32\n"
		"set style fill solid noborder\n");
	text_put_raw(&title, f->passes.name);
	text_printf(&title, ": %zu %s of ", f->passes.all.count, folding_unit(f));
	folding_put_time(&title, f->mean_ns);
	text_printf(&title, " %s time on average, %" PRIu64 " sample%s folded",
		    f->is_cpu_time ? "CPU" : "wall", f->samples, text_plural(f->samples, "", "s"));
	if (f->uniform.verdict == FOLD_LOCKED)
		text_put_raw(&title, "; WARNING: the samples' period is locked to the region's");
	buf_put(&title, "", 1);
	text_printf(b, "set multiplot layout %u,1 title ", f->n_counters + (f->n_routines > 0));
	put_name(b, title.failed ? "" : (const char *)title.data);
	text_put_raw(b, " noenhanced\n");
	b->failed |= title.failed;
	buf_free(&title);
}

/* Draws lines between phases, and the function that names each phase. */
static void put_phases(struct buf *b, const struct folding *f, const struct fold_curve *curve,
		       bool is_named)
{
	for (uint32_t i = 1; i < curve->n_phases; i++)
		text_printf(b,
			    "set arrow from first %.9g, graph 0 to first %.9g, graph 1 nohead dt 2 "
			    "lc rgb '#555555' front\n",
			    curve->phases[i].from.value * 100, curve->phases[i].from.value * 100);
	for (uint32_t i = 0; i < f->n_phases && is_named; i++) {
		const struct folding_phase *phase = &f->phases[i];

		if (!phase->depth)
			continue;
		text_put_raw(b, "set label ");
		put_name(b, phase->path[phase->depth - 1].symbol->name);
		text_printf(b, " at first %.9g, graph 0.94 center noenhanced front\n",
			    (phase->phase.from.value + phase->phase.to.value) * 50);
	}
}

/* Writes a panel for a counter without a curve, which says why there is none. */
static void put_missing(struct buf *b, const struct folding_counter *c)
{
	text_put_raw(b, "set label ");
	put_name(b, folding_why_no_curve(c));
	text_put_raw(b, " at graph 0.5, graph 0.5 center noenhanced\nset yrange [0:1]\n"
			"plot -1 notitle\nset yrange [*:*]\nunset label\n");
}

static void put_counter(struct buf *b, const struct folding *f, unsigned number)
{
	const struct folding_counter *c = &f->counters[number];

	text_put_raw(b, "\nset title ");
	put_name(b, c->name);
	text_put_raw(b, " noenhanced\nset ylabel 'a second'\n");
	if (!c->curve) {
		put_missing(b, c);
		return;
	}
	put_phases(b, f, c->curve, number == 0);
	text_put_raw(b, "set yrange [0:*]\nset y2range [0:100]\nset ytics nomirror\n"
			"set y2tics\nset format y '%.1s%c'\nset y2label '% of the total'\nplot");
	if (c->curve->has_bands)
		text_printf(b,
			    " $counter%u using 5:7:8 with filledcurves fc rgb '#9ec3e6' title "
			    "'95 %% band', '' using 1:3:4 axes x1y2 with filledcurves fc rgb "
			    "'#efb79a' notitle,",
			    number);
	text_printf(b,
		    " $counter%u using 5:6 with lines lc rgb '#1f5c99' lw 1.5 title 'rate', '' "
		    "using 1:2 axes x1y2 with lines lc rgb '#bb4a1b' lw 1.5 title 'share "
		    "reached'\n",
		    number);
	text_put_raw(b, "unset arrow\nunset label\nunset y2tics\nunset y2label\nset yrange [*:*]\n"
			"set format y\n");
}

/* Returns a light colour as 0xRRGGBB; a name always has the same one. */
static unsigned color_of(const char *name)
{
	const double hue = svg_hue(name);
	unsigned color = 0;

	for (unsigned i = 0; i < 3; i++) {
		const double turn = fmod(hue / 60 + 6 - 2 * i, 6);
		/* distance from the pure colour of this channel */
		const double distance = turn > 3 ? 6 - turn : turn;

		color |= (unsigned)(150 + 85 * fmin(fmax(2 - distance, 0), 1)) << (16 - 8 * i);
	}
	return color;
}

static void put_routines(struct buf *b, const struct folding *f)
{
	text_put_raw(b, "\nset title 'routines'\nset ylabel '% of the samples'\nset yrange "
			"[0:100]\nset xlabel ");
	text_printf(b, "'%% of a pass, which takes ");
	folding_put_time(b, f->mean_ns);
	text_put_raw(b, "'\nplot");
	for (unsigned i = 0; i < f->n_routines; i++) {
		const struct profile_symbol *symbol = f->routines[i].symbol;

		text_printf(b, "%s $routines using 1:%u:%u with filledcurves fc rgb '#%06x' title ",
			    i ? "," : "", i + 2, i + 3,
			    symbol ? color_of(symbol->name) : 0xccccccu);
		put_name(b, symbol ? symbol->name : "(others)");
	}
	text_put_raw(b, "\n");
}

int folding_write_gnuplot(const struct folding *f, FILE *out)
{
	struct buf b = {0};
	int err = 0;

	put_head(&b, f);
	for (unsigned i = 0; i < f->n_counters && !err; i++) {
		if (f->counters[i].curve)
			err = write_curve(&b, &f->counters[i], i, out);
		put_counter(&b, f, i);
	}
	if (f->n_routines) {
		put_shares(&b, f);
		put_routines(&b, f);
	}
	text_put_raw(&b, "unset multiplot\n");
	return text_end(&b, out, err);
}
