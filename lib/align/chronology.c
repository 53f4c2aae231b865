/* SPDX-License-Identifier: MIT */
/* The chronology of a thread; see chronology.h. */
#include "align/chronology.h"

#include <stdlib.h>

#include "base/vec.h"

struct chronology_open {
	uint32_t symbol;
	uint64_t first, start;
};

struct chronology {
	struct chronology_options options;
	chronology_each each;
	void *arg;
	uint64_t count;			  /* samples so far */
	VEC(struct chronology_open) open; /* by height - 1 */
};

int chronology_new(const struct chronology_options *options, chronology_each each, void *arg,
		   struct chronology **ret_chronology)
{
	struct chronology *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->options = *options;
	c->each = each;
	c->arg = arg;
	*ret_chronology = c;
	return 0;
}

void chronology_free(struct chronology *c)
{
	if (!c)
		return;
	free(c->open.items);
	free(c);
}

/* Ends the runs above a height, at a time. */
static int chronology_close(struct chronology *c, size_t height, uint64_t time)
{
	int r = 0;

	while (r == 0 && c->open.count > height) {
		const struct chronology_open *open = &c->open.items[--c->open.count];
		size_t at = c->open.count;
		const struct chronology_run run = {
			.height = (uint32_t)at + 1,
			.symbol = open->symbol,
			.parent = at ? open[-1].symbol : UINT32_MAX,
			.grandparent = at > 1 ? open[-2].symbol : UINT32_MAX,
			.first = open->first,
			.last = c->count - 1,
			.start = open->start,
			.end = time,
		};

		if (c->count - open->first >= c->options.samples &&
		    time - open->start >= c->options.duration)
			r = c->each(c->arg, &run);
	}
	return r;
}

int chronology_add(struct chronology *c, uint64_t time, const uint32_t *symbols, size_t n_symbols)
{
	size_t same = 0;
	int r;

	if (c->options.heights && n_symbols > c->options.heights)
		n_symbols = c->options.heights;
	while (same < n_symbols && same < c->open.count &&
	       c->open.items[same].symbol == symbols[same])
		same++;
	r = chronology_close(c, same, time);
	if (r == 0)
		r = VEC_RESERVE(&c->open, n_symbols - same);
	if (r < 0)
		return r;
	for (; same < n_symbols; same++)
		c->open.items[c->open.count++] =
			(struct chronology_open){symbols[same], c->count, time};
	c->count++;
	return 0;
}

int chronology_end(struct chronology *c, uint64_t time)
{
	return chronology_close(c, 0, time);
}
