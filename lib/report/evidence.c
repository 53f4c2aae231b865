/* SPDX-License-Identifier: MIT */
/* Paths for alignment; see evidence.h. */
#include "report/evidence.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "proc/object.h"

struct evidence {
	const struct store_tables *tables;
	struct names *names;
	uint32_t *programs; /* by process */
	uint32_t *bases;    /* by thread: the lowest root of a whole path; 0: not known */
	VEC(uint32_t) nodes;
	VEC(struct align_frame) frames;
};

/* Processes of one executable share the number of the first. */
static void evidence_number_programs(struct evidence *e)
{
	const struct store_process *p = e->tables->processes;

	for (uint32_t i = 0; i < e->tables->n_processes; i++) {
		uint32_t same = i;

		/* A recording of everything has thousands: the last few are enough to find it. */
		for (uint32_t k = i; p[i].exe && same == i && k-- > 0 && i - k <= 64;)
			if (p[k].exe && strcmp(p[k].exe, p[i].exe) == 0)
				same = e->programs[k];
		e->programs[i] = same;
	}
}

int evidence_new(const struct store_tables *tables, struct names *names,
		 struct evidence **ret_evidence)
{
	struct evidence *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	*e = (struct evidence){.tables = tables, .names = names};
	e->programs = calloc((size_t)tables->n_processes + 1, sizeof(*e->programs));
	e->bases = calloc((size_t)tables->n_threads + 1, sizeof(*e->bases));
	if (!e->programs || !e->bases) {
		evidence_free(e);
		return -ENOMEM;
	}
	evidence_number_programs(e);
	*ret_evidence = e;
	return 0;
}

void evidence_free(struct evidence *e)
{
	if (!e)
		return;
	free(e->programs);
	free(e->bases);
	free(e->nodes.items);
	free(e->frames.items);
	free(e);
}

bool evidence_is_whole(const struct store_sample *sample)
{
	return profile_quality_of(sample->end_reason) == PROFILE_COMPLETE;
}

static uint32_t evidence_height(const struct evidence *e, const struct store_sample *sample)
{
	return sample->origin < e->tables->n_origins ? e->tables->origins[sample->origin].height
						     : 0;
}

void evidence_note(struct evidence *e, const struct store_sample *sample)
{
	uint32_t height = evidence_height(e, sample), *base;

	if (!evidence_is_whole(sample) || sample->thread >= e->tables->n_threads || !height)
		return;
	base = &e->bases[sample->thread];
	if (!*base || height < *base)
		*base = height;
}

/* The height of a path's first frame above its thread's base, which is 1; 0: not known. */
static uint32_t evidence_first(const struct evidence *e, const struct store_sample *sample)
{
	uint32_t base = e->bases[sample->thread], height = evidence_height(e, sample);

	if (!base)
		return evidence_is_whole(sample) ? 1 : 0;
	return height >= base ? height - base + 1 : 0;
}

/* Whether a path that begins with a location can have callers below it. */
static bool evidence_is_code(const struct evidence *e, uint32_t location)
{
	uint32_t kind = e->tables->objects[e->tables->locations[location].object].kind;

	return kind != OBJECT_KERNEL && kind != OBJECT_MODULE && kind != OBJECT_TAG;
}

static int evidence_climb(struct evidence *e, uint32_t node)
{
	e->nodes.count = 0;
	for (; node; node = e->tables->nodes[node].parent) {
		if (VEC_RESERVE(&e->nodes, 1) < 0)
			return -ENOMEM;
		e->nodes.items[e->nodes.count++] = node;
	}
	return VEC_RESERVE(&e->frames, e->nodes.count + 1 - e->frames.count);
}

/* Appends the frame of a node; `height`: its own, 0 if that is not known. */
static int evidence_append(struct evidence *e, uint32_t node, uint32_t height)
{
	uint32_t location = e->tables->nodes[node].location, count;
	const struct profile_frame *named;
	int r = names_location(e->names, location, &named, &count);

	if (r == 0)
		e->frames.items[e->frames.count++] =
			(struct align_frame){location, named[0].symbol->number, height};
	return r;
}

int evidence_path(struct evidence *e, const struct store_sample *sample,
		  const struct align_frame **ret_frames, uint32_t *ret_count)
{
	const struct store_tables *t = e->tables;
	uint32_t height = 0;
	int r;

	e->frames.count = 0;
	r = evidence_climb(e, sample->node);
	for (size_t i = e->nodes.count; r == 0 && i-- > 0;) {
		uint32_t node = e->nodes.items[i], location = t->nodes[node].location;
		bool is_first = i + 1 == e->nodes.count;
		uint64_t above = t->sizes ? t->sizes[node] : 0;

		if (is_first && !evidence_is_code(e, location))
			break;
		if (is_first)
			height = t->sizes ? evidence_first(e, sample) : 0;
		else
			height = height && above && height + above <= UINT32_MAX
					 ? (uint32_t)(height + above)
					 : 0;
		if (!t->locations[location].is_return)
			height = 0;
		/* That the entry's height is 1 says nothing about who called it. */
		r = evidence_append(e, node, is_first && evidence_is_whole(sample) ? 0 : height);
	}
	if (r == 0) {
		*ret_frames = e->frames.items;
		*ret_count = (uint32_t)e->frames.count;
	}
	return r;
}

uint32_t evidence_program(const struct evidence *e, uint32_t thread)
{
	return e->programs[e->tables->threads[thread].process];
}
