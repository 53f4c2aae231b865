/* SPDX-License-Identifier: MIT */
/* Alignment; see align.h, and parts.h for where what is. */
#include "align/align.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "align/parts.h"

int align_new(uint32_t threshold, struct align **ret_align)
{
	struct align *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->threshold = threshold;
	*ret_align = a;
	return 0;
}

void align_free(struct align *a)
{
	if (!a)
		return;
	free(a->samples.items);
	free(a->frames.items);
	free(a->order);
	free(a->key.items);
	free(a->links.items);
	free(a->pending.items);
	int_map_fini(&a->told);
	free(a->told_links.items);
	free(a->gaps.items);
	history_fini(&a->history);
	calls_fini(&a->calls);
	census_fini(&a->census);
	offsets_fini(&a->levels);
	free(a);
}

int align_add(struct align *a, uint32_t stack, uint32_t program, uint64_t time,
	      const struct align_frame *frames, uint32_t n_frames, bool is_whole)
{
	if (!n_frames)
		return -EINVAL;
	if (a->samples.count >= ALIGN_MOST || n_frames >= ALIGN_MOST - a->frames.count)
		return -EOVERFLOW;
	if (VEC_RESERVE(&a->samples, 1) < 0 || VEC_RESERVE(&a->frames, n_frames) < 0)
		return -ENOMEM;
	a->samples.items[a->samples.count++] = (struct align_entry){
		.s = {.first = (uint32_t)a->frames.count,
		      .n_frames = n_frames,
		      .below = ALIGN_NONE,
		      .confidence = ALIGN_CERTAIN,
		      .is_whole = is_whole},
		.time = time,
		.stack = stack,
		.program = program,
		.has_entry = is_whole,
	};
	memcpy(a->frames.items + a->frames.count, frames, n_frames * sizeof(*frames));
	a->frames.count += n_frames;
	return 0;
}

int align_run(struct align *a)
{
	struct align_slice slice = {0};
	int r = order_run(a);

	while (r == 0 && slice.end < a->samples.count) {
		slice = order_slice(a, &slice);
		r = learn_slice(a, &slice);
		if (r == 0)
			r = complete_slice(a, &slice);
	}
	return r;
}

uint32_t align_count(const struct align *a)
{
	return (uint32_t)a->samples.count;
}

uint32_t align_ordered(const struct align *a, uint32_t n)
{
	return a->order[n];
}

uint32_t align_stack(const struct align *a, uint32_t sample)
{
	return a->samples.items[sample].stack;
}

const struct align_sample *align_sample(const struct align *a, uint32_t sample)
{
	return &a->samples.items[sample].s;
}

const struct align_frame *align_frame(const struct align *a, uint32_t frame)
{
	return &a->frames.items[frame];
}

const struct align_link *align_link(const struct align *a, uint32_t link)
{
	return &a->links.items[link];
}
