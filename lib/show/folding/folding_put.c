/* SPDX-License-Identifier: MIT */
/* Formats the values of a folding; see folding_put.h. */
#include "folding/folding_put.h"

#include <errno.h>
#include <math.h>

void folding_put_time(struct buf *b, double ns)
{
	static const struct {
		double from, unit;
		const char *name;
	} units[] = {{1e9, 1e9, "s"}, {1e6, 1e6, "ms"}, {1e3, 1e3, "us"}, {0, 1, "ns"}};
	unsigned i = 0;

	while (ns < units[i].from)
		i++;
	text_printf(b, "%.3g %s", ns / units[i].unit, units[i].name);
}

/* Returns the unit (1, 1000, ...) in which to write a value, and its prefix. */
static double prefix_of(double value, const char **ret_prefix)
{
	static const char *const prefixes[] = {"", " k", " M", " G", " T"};
	double unit = 1;
	unsigned i = 0;

	while (fabs(value) >= unit * 1000 && i + 1 < sizeof(prefixes) / sizeof(prefixes[0])) {
		unit *= 1000;
		i++;
	}
	*ret_prefix = prefixes[i];
	return unit;
}

void folding_put_number(struct buf *b, double value)
{
	const char *prefix;
	double unit = prefix_of(value, &prefix);

	text_printf(b, "%.3g%s", value / unit, prefix);
}

void folding_put_rate(struct buf *b, const struct folding_counter *c, const struct fold_phase *p)
{
	const char *prefix;
	double unit = prefix_of(c->per_second * p->rate.value, &prefix);

	text_printf(b, "%.3g%s/s", c->per_second * p->rate.value / unit, prefix);
	if (!isnan(p->rate.low))
		text_printf(b, " (%.3g to %.3g)", c->per_second * p->rate.low / unit,
			    c->per_second * p->rate.high / unit);
}

void folding_put_path(struct buf *b, const struct folding_phase *phase, bool utf8)
{
	for (uint32_t i = 0; i < phase->depth; i++) {
		text_put_raw(b, i ? " > " : "");
		text_put_name(b, phase->path[i].symbol->name, utf8);
	}
	if (!phase->file)
		return;
	text_put_raw(b, " [");
	text_put_name(b, text_basename(phase->file), utf8);
	text_printf(b, ":%u]", phase->line);
}

const char *folding_why_no_curve(const struct folding_counter *counter)
{
	if (counter->increments && counter->error == -ENODATA)
		return "readings are too few, or further apart than a quarter of a pass while it did not count "
		       "all the time: record with a higher frequency";
	if (!counter->passes)
		return "it was never read, or falls";
	if (counter->mean == 0)
		return "it does not change within a pass";
	return counter->error == -ENODATA ? "too few samples" : "it cannot be fitted";
}

void folding_put_kept(struct buf *b)
{
	text_put_raw(b, "# bursts keep the time in which the probes' programs walk the stack and "
			"write the record: microseconds, more on a busy machine (docs/FOLD.md)\n");
}
