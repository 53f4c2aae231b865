/* SPDX-License-Identifier: MIT */
/* Runs of samples with the same function at the same depth; see frame_runs.h. */
#include "model/frame_runs.h"

#include <stdlib.h>

#include "base/vec.h"

struct frame_runs_open {
	uint32_t symbol;
	uint64_t first, start;
};

struct frame_runs {
	struct frame_runs_options options;
	frame_runs_each each;
	void *arg;
	uint64_t count;			  /* samples added so far */
	VEC(struct frame_runs_open) open; /* indexed by depth - 1 */
};

int frame_runs_new(const struct frame_runs_options *options, frame_runs_each each, void *arg,
		   struct frame_runs **ret_runs)
{
	struct frame_runs *runs = calloc(1, sizeof(*runs));

	if (!runs)
		return -ENOMEM;
	runs->options = *options;
	runs->each = each;
	runs->arg = arg;
	*ret_runs = runs;
	return 0;
}

void frame_runs_free(struct frame_runs *runs)
{
	if (!runs)
		return;
	free(runs->open.items);
	free(runs);
}

/* Ends the runs deeper than `depth` at `time`, the deepest first. Returns 0 or what `each`
 * returned. */
static int frame_runs_close(struct frame_runs *runs, size_t depth, uint64_t time)
{
	int err = 0;

	while (err == 0 && runs->open.count > depth) {
		const struct frame_runs_open *open = &runs->open.items[--runs->open.count];
		size_t index = runs->open.count;
		const struct frame_run run = {
			.depth = (uint32_t)index + 1,
			.symbol = open->symbol,
			.parent = index ? open[-1].symbol : UINT32_MAX,
			.grandparent = index > 1 ? open[-2].symbol : UINT32_MAX,
			.first = open->first,
			.last = runs->count - 1,
			.start = open->start,
			.end = time,
		};

		if (runs->count - open->first >= runs->options.samples &&
		    time - open->start >= runs->options.duration)
			err = runs->each(runs->arg, &run);
	}
	return err;
}

int frame_runs_add(struct frame_runs *runs, uint64_t time, const uint32_t *symbols,
		   size_t n_symbols)
{
	size_t common = 0;
	int err;

	if (runs->options.max_depth && n_symbols > runs->options.max_depth)
		n_symbols = runs->options.max_depth;
	while (common < n_symbols && common < runs->open.count &&
	       runs->open.items[common].symbol == symbols[common])
		common++;
	err = frame_runs_close(runs, common, time);
	if (err == 0)
		err = VEC_RESERVE(&runs->open, n_symbols - common);
	if (err < 0)
		return err;
	for (; common < n_symbols; common++)
		runs->open.items[runs->open.count++] =
			(struct frame_runs_open){symbols[common], runs->count, time};
	runs->count++;
	return 0;
}

int frame_runs_end(struct frame_runs *runs, uint64_t time)
{
	return frame_runs_close(runs, 0, time);
}
