/* SPDX-License-Identifier: MIT */
/* The public functions of alignment; see align.h, and align_state.h for the parts. */
#include "align/align.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "align/align_state.h"

int align_new(struct align **ret_align)
{
	struct align *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
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
	free(a->frame_keys.items);
	free(a->links.items);
	free(a->pending.items);
	free(a->intervals.items);
	int_map_fini(&a->donor_links);
	history_fini(&a->history);
	call_edges_fini(&a->call_edges);
	majority_fini(&a->majority);
	union_find_fini(&a->chains);
	free(a);
}

int align_add(struct align *a, uint32_t stack, uint32_t program, uint64_t time,
	      const struct align_frame *frames, uint32_t n_frames, bool is_complete)
{
	if (!n_frames)
		return -EINVAL;
	if (a->samples.count >= ALIGN_MAX || n_frames >= ALIGN_MAX - a->frames.count)
		return -EOVERFLOW;
	if (VEC_RESERVE(&a->samples, 1) < 0 || VEC_RESERVE(&a->frames, n_frames) < 0)
		return -ENOMEM;
	a->samples.items[a->samples.count++] = (struct align_entry){
		.s = {.first = (uint32_t)a->frames.count,
		      .n_frames = n_frames,
		      .caller = ALIGN_NONE,
		      .is_complete = is_complete},
		.time = time,
		.stack = stack,
		.program = program,
		.has_entry = is_complete,
	};
	memcpy(a->frames.items + a->frames.count, frames, n_frames * sizeof(*frames));
	a->frames.count += n_frames;
	return 0;
}

int align_run(struct align *a)
{
	struct align_slice slice = {0};
	int err = order_run(a);

	while (err == 0 && slice.end < a->samples.count) {
		slice = order_slice(a, &slice);
		err = collect_slice(a, &slice);
		if (err == 0)
			err = complete_slice(a, &slice);
	}
	return err;
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
