/* SPDX-License-Identifier: MIT */
/* Writes a folding as text; see folding.h. Each counter's rate and each routine's share over the
 * pass is a line of blocks:
 *
 *     var:cells   200.0 k/s  ▁▁▁▁▁▁▁▆▆▆▆▆▆▆▆▆▆▆▆▆▆▂▂▂▂▂▂▂▂▂ */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "folding/folding.h"
#include "folding/folding_put.h"

#define BLOCKS	     60u
#define LEVELS	     8
#define NAME_COLUMNS 28u

/* Appends a line of blocks whose heights are values from 0 to `most`. */
static void put_blocks(struct buf *b, const double *values, double most, bool utf8)
{
	static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char ascii[] = " .:-=+*%#";

	for (unsigned i = 0; i < BLOCKS; i++) {
		double level = most > 0 ? ceil(values[i] / most * LEVELS - 1e-9) : 0;
		unsigned at = level > LEVELS ? LEVELS : level > 0 ? (unsigned)level : 0;

		if (utf8)
			text_put_raw(b, blocks[at]);
		else
			text_printf(b, "%c", ascii[at]);
	}
}

/* Appends a name in a column of its own. */
static void put_column(struct buf *b, const char *name, bool utf8)
{
	struct buf column = {0};
	unsigned width = 0;

	text_put_name(&column, name, utf8);
	text_cut(&column, NAME_COLUMNS);
	for (size_t i = 0; i < column.len; i++)
		width += ((unsigned char)column.data[i] & 0xc0) != 0x80;
	buf_put(b, column.data, column.len);
	for (; width < NAME_COLUMNS; width++)
		text_put_raw(b, " ");
	buf_free(&column);
}

/* --- parts ------------------------------------------------------------------------------------ */

static void put_head(struct buf *b, const struct folding *f, bool utf8)
{
	const struct passes *p = &f->passes;
	char share[TEXT_SHARE_MAX];

	text_put_raw(b, f->passes.region ? "\n# region " : "\n# ");
	text_put_name(b, p->name, utf8);
	text_printf(b, ": %zu %s, ", p->all.count, folding_unit(f));
	folding_put_time(b, f->mean_ns);
	text_printf(b, " of %s time each on average", f->is_cpu_time ? "CPU" : "wall");
	if (f->is_cpu_time) {
		text_put_raw(b, " (");
		folding_put_time(b, f->mean_wall_ns);
		text_put_raw(b, " of wall time)");
	}
	text_printf(b, "; %" PRIu64 " sample%s folded", f->samples,
		    text_plural(f->samples, "", "s"));
	if (f->samples < p->samples.count)
		text_printf(b, ", %zu left out, whose place is not known",
			    p->samples.count - (size_t)f->samples);
	text_put_raw(b, "\n");
	if (p->impossible)
		text_printf(
			b, "# %" PRIu64 " reading%s left out: not between those before and after\n",
			p->impossible, text_plural(p->impossible, "", "s"));
	if (p->shorter) {
		text_put_raw(b, "# ");
		folding_put_time(b, (double)p->probes_ns);
		text_printf(b,
			    ", which the probes at the ends of a %s cost, are taken off %" PRIu64
			    " of %zu %s, with %" PRIu64 " sample%s in it\n",
			    p->are_bursts ? "burst" : "pass", p->shorter, p->all.count,
			    folding_unit(f), p->in_probes, text_plural(p->in_probes, "", "s"));
	}
	if (p->are_bursts)
		folding_put_kept(b);
	if (p->within)
		text_printf(b, "# %" PRIu64 " %s within others of this region: parts of these\n",
			    p->within, text_plural(p->within, "pass", "passes"));
	if (p->left)
		text_printf(b,
			    "# %" PRIu64 " %s that ended by an exception, longjmp() or the "
			    "like, not among them\n",
			    p->left, text_plural(p->left, "pass", "passes"));
	if (f->uniform.verdict == FOLD_LOCKED)
		text_printf(b,
			    "# WARNING: samples hit only %s%% of the pass: their period is locked "
			    "to the region's. Record with another frequency (stackd -F)\n",
			    text_share((uint64_t)(f->uniform.hit * 1000), 1000, share));
}

/* Says how many passes a curve is made of, if not of all. */
static void put_passes(struct buf *b, const struct folding *f, const struct folding_counter *c)
{
	if (c->curve && c->passes < f->passes.all.count)
		text_printf(b, "#   of %" PRIu64 " %s, in which it counted all the time\n",
			    (uint64_t)c->passes, folding_unit(f));
}

static void put_counter(struct buf *b, const struct folding_counter *c, bool utf8)
{
	double rates[BLOCKS] = {0}, most = 0;
	struct buf number = {0};

	put_column(b, c->name, utf8);
	if (!c->curve) {
		text_printf(b, " %s\n", folding_why_no_curve(c));
		return;
	}
	for (unsigned i = 0; i < BLOCKS; i++) {
		double from = (double)i / BLOCKS, to = (double)(i + 1) / BLOCKS;

		rates[i] = (fold_curve_at(c->curve, to) - fold_curve_at(c->curve, from)) * BLOCKS;
		most = rates[i] > most ? rates[i] : most;
	}
	folding_put_number(&number, c->per_second * most);
	text_put_raw(&number, "/s");
	buf_put(&number, "", 1);
	text_printf(b, " %11s  ", number.data ? (const char *)number.data : "");
	buf_free(&number);
	put_blocks(b, rates, most, utf8);
	text_put_raw(b, "\n");
	if (c->increments && !c->whole)
		text_printf(
			b,
			"#   scaled: in %zu difference%s between readings it counted for a part of "
			"the time only\n",
			c->increments, text_plural(c->increments, "", "s"));
	else if (c->increments > c->whole)
		text_printf(
			b,
			"#   of %zu difference%s between readings; in %zu others it did not count "
			"all the time\n",
			c->whole, text_plural(c->whole, "", "s"), c->increments - c->whole);
}

static void put_routine(struct buf *b, const struct folding *f, const struct folding_routine *r,
			bool utf8)
{
	double shares[BLOCKS] = {0};
	char share[TEXT_SHARE_MAX];
	double sums[BLOCKS] = {0};

	for (unsigned i = 0; i < FOLDING_COLUMNS; i++) {
		unsigned at = i * BLOCKS / FOLDING_COLUMNS;

		shares[at] += (double)r->columns[i];
		for (unsigned k = 0; k < f->n_routines; k++)
			sums[at] += (double)f->routines[k].columns[i];
	}
	for (unsigned i = 0; i < BLOCKS; i++)
		shares[i] = sums[i] > 0 ? shares[i] / sums[i] : 0;
	put_column(b, r->symbol ? r->symbol->name : "(others)", utf8);
	text_printf(b, " %10s%%  ", text_share(r->samples, f->samples, share));
	put_blocks(b, shares, 1, utf8);
	text_put_raw(b, "\n");
}

/* Appends the band of a phase's end, unless the phase ends with the pass. */
static void put_end_band(struct buf *b, const struct fold_estimate *end)
{
	char text[32] = "";

	if (end->high > end->low && end->value < 1)
		snprintf(text, sizeof(text), "+-%.2f",
			 100 * fmax(end->high - end->value, end->value - end->low));
	text_printf(b, "%-7s", text);
}

static void put_phase(struct buf *b, const struct folding *f, const struct folding_phase *phase,
		      bool utf8)
{
	const struct folding_counter *c = &f->counters[0];
	const struct fold_phase *p = &phase->phase;
	char share[TEXT_SHARE_MAX];
	struct buf rate = {0};

	text_printf(b, "  %6.2f %6.2f", p->from.value * 100, p->to.value * 100);
	put_end_band(b, &p->to);
	text_printf(b, " %9.3f %6.1f  ", (p->to.value - p->from.value) * f->mean_ns / 1e6,
		    p->share.value * 100);
	folding_put_rate(&rate, c, p);
	buf_put(&rate, "", 1);
	text_printf(b, "%-28s ", rate.data ? (const char *)rate.data : "");
	buf_free(&rate);
	if (phase->samples) {
		text_printf(b, "%5s  ", text_share(phase->of_path, phase->samples, share));
		folding_put_path(b, phase, utf8);
	} else {
		text_put_raw(b, "    -  no sample");
	}
	text_put_raw(b, "\n");
}

static void put_phases(struct buf *b, const struct folding *f, bool utf8)
{
	text_put_raw(b, "\n# phases of ");
	text_put_name(b, f->counters[0].name, utf8);
	text_put_raw(
		b, ", with 95 % bands, and the path that most of their samples have\n"
		   "#  from %   to %+-            ms share %  rate                         path %  "
		   "path [line]\n");
	for (uint32_t i = 0; i < f->n_phases; i++)
		put_phase(b, f, &f->phases[i], utf8);
}

int folding_write_text(const struct folding *f, const struct report_options *options, FILE *out)
{
	struct buf b = {0};

	put_head(&b, f, options->utf8);
	if (f->n_counters)
		text_put_raw(&b, "\n# counters: the highest rate, and the course over a pass\n");
	for (unsigned i = 0; i < f->n_counters; i++) {
		put_counter(&b, &f->counters[i], options->utf8);
		put_passes(&b, f, &f->counters[i]);
	}
	if (f->n_phases)
		put_phases(&b, f, options->utf8);
	text_put_raw(&b, "\n# routines: samples, and their share at each moment\n");
	for (unsigned i = 0; i < f->n_routines; i++)
		put_routine(&b, f, &f->routines[i], options->utf8);
	return text_end(&b, out, 0);
}
