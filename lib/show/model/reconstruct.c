/* SPDX-License-Identifier: MIT */
/*
 * Completing partial paths; see reconstruct.h.
 *
 *   samples ─► slice ─► align ─► inferred frames ─► nodes, origins ─► (time, thread, node) → path
 *                └── the next one begins before this one's end
 *
 * A sample near the end of a slice is completed in the next slice, which also has the samples after
 * it. A sample has no number of its own: time, thread and node identify it.
 *
 * The completed paths make a small trie of their own. At the end, one pass over the recording's
 * trie finds the paths that it has already. An index of all its nodes, only for a few paths, would
 * cost more than the report.
 */
#include "model/reconstruct.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/big.h"
#include "base/vec.h"
#include "proc/object.h"
#include "model/align_input.h"
#include "base/int_map.h"

/* The confidence of inferred frames in percent: in bench/align.py at least so many of them are
 * right, in all programs but one. */
#define ALIGNED_CONFIDENCE 99

/* frames that are aligned at once; each needs some 50 bytes */
#define RECONSTRUCT_FRAMES (8u << 20)
/* One in so many of a slice's samples is in the next slice, too. */
#define RECONSTRUCT_OVERLAP 8u
/* samples of the thread, and of the program, after and before a partial sample that count as near
 * it */
#define RECONSTRUCT_NEAR 256u

struct reconstruct {
	struct store_reader *reader;
	struct store_tables tables;
	struct align_input *input;
	VEC(struct store_node) paths; /* trie of the completed paths; [0] is the empty path */
	struct int_map children;      /* children in `paths`: (parent, location) -> number */
	VEC(struct store_node) nodes; /* the tables' nodes and the new ones; empty if none is new */
	VEC(struct origin) origins;
	struct origin_table *interned; /* origins of completed paths */
	uint32_t n_stored;	       /* number of the store's origins */
	/* by sample: MARK_... bits and the thread's number; freed when `samples` has all samples */
	VEC(uint32_t) marks;
	size_t n_seen;			   /* samples of the second pass so far */
	VEC(struct store_sample) samples;  /* input of the alignment; freed after it */
	VEC(struct reconstruct_done) done; /* completed samples, by time */
	VEC(struct origin_run) runs;
	VEC(uint32_t) path;
};

void reconstruct_free(struct reconstruct *r)
{
	if (!r)
		return;
	align_input_free(r->input);
	free(r->paths.items);
	free(r->marks.items);
	free(r->nodes.items);
	free(r->origins.items);
	origin_table_free(r->interned);
	int_map_fini(&r->children);
	free(r->samples.items);
	free(r->done.items);
	free(r->runs.items);
	free(r->path.items);
	free(r);
}

bool reconstruct_is_candidate(const struct store_tables *t, const struct store_sample *s)
{
	return s->node && !align_input_is_complete(s) && s->origin < t->n_origins &&
	       !origin_inferred(&t->origins[s->origin]);
}

/* --- paths ---------------------------------------------------------------------------------- */

static int child(struct reconstruct *r, uint32_t location, uint32_t *path)
{
	uint32_t parent = *path, next = (uint32_t)r->paths.count;

	if (next == UINT32_MAX || VEC_RESERVE(&r->paths, 1) < 0 ||
	    int_map_enter(&r->children, (uint64_t)parent << 32 | location, next, path) < 0)
		return -ENOMEM;
	if (*path == next)
		r->paths.items[r->paths.count++] = (struct store_node){parent, location};
	return 0;
}

/* Makes the path of the inferred frames, followed by the sample's own. */
static int reconstruct_path(struct reconstruct *r, const struct align *align,
			    const struct align_sample *s, uint32_t own, uint32_t *ret_path)
{
	const struct store_node *nodes = r->tables.nodes;
	uint32_t path = 0, link = s->caller;
	int err = 0;

	r->path.count = 0;
	for (uint32_t at = own; err == 0 && at; at = nodes[at].parent) {
		err = VEC_RESERVE(&r->path, 1);
		if (err == 0)
			r->path.items[r->path.count++] = nodes[at].location;
	}
	for (uint32_t i = 0; err == 0 && i < s->n_inferred; i++) {
		const struct align_link *l = align_link(align, link);

		err = VEC_RESERVE(&r->path, 1);
		if (err == 0)
			r->path.items[r->path.count++] = l->frame.id;
		link = l->caller;
	}
	for (size_t i = r->path.count; err == 0 && i-- > 0;)
		err = child(r, r->path.items[i], &path);
	*ret_path = path;
	return err;
}

/* Makes the runs of an origin: one of the inferred frames, then the runs of the sample's own
 * frames. Returns 0 or -ENOMEM. */
static int reconstruct_runs(struct reconstruct *r, const struct align_sample *s,
			    const struct origin *own)
{
	r->runs.count = 0;
	if (VEC_RESERVE(&r->runs, (size_t)own->n_runs + 1) < 0)
		return -ENOMEM;
	if (s->n_inferred)
		r->runs.items[r->runs.count++] =
			(struct origin_run){.frames = s->n_inferred,
					    .source = FRAME_SOURCE_ALIGNED,
					    .confidence = ALIGNED_CONFIDENCE};
	for (uint32_t i = 0; i < own->n_runs; i++)
		r->runs.items[r->runs.count++] = own->runs[i];
	return 0;
}

static int reconstruct_origin(struct reconstruct *r, const struct align_sample *s, uint32_t own,
			      uint32_t *ret_origin)
{
	uint32_t count = origin_count(r->interned), number;
	int err = reconstruct_runs(r, s, &r->origins.items[own]);
	const struct origin origin = {.is_complete = s->is_complete,
				      .n_runs = (uint32_t)r->runs.count,
				      .runs = r->runs.items};

	if (err == 0)
		err = origin_intern(r->interned, &origin, &number);
	if (err == 0)
		err = VEC_RESERVE(&r->origins, 1);
	if (err < 0)
		return err;
	/* Only the number is valid yet. reconstruct_show() fills in the origin when all runs have
	 * been added, because adding runs moves them. */
	if (number == count)
		r->origins.items[r->origins.count++] = (struct origin){0};
	*ret_origin = r->n_stored + number - 1;
	return 0;
}

static int take(struct reconstruct *r, const struct align *align, uint32_t number,
		const struct store_sample *sample)
{
	const struct align_sample *s = align_sample(align, number);
	struct reconstruct_done done = {.sample = *sample};
	uint32_t own = r->origins.items[sample->origin].n_runs;
	int err;

	if (!s->n_inferred || (uint64_t)s->n_inferred + s->n_frames + own > ORIGIN_MAX_RUNS)
		return 0;
	err = reconstruct_path(r, align, s, sample->node, &done.to_node);
	if (err == 0)
		err = reconstruct_origin(r, s, sample->origin, &done.to_origin);
	if (err == 0)
		err = VEC_RESERVE(&r->done, 1);
	if (err == 0)
		r->done.items[r->done.count++] = done;
	return err;
}

/* --- slices --------------------------------------------------------------------------------- */

/* Adds samples from index `from` on until the slice is full. *ret_to is the index of the first
 * sample that did not fit. `numbers` receives the samples' numbers in the alignment; ALIGN_NONE:
 * the sample is not in it. Returns 0 or an error. */
static int fill(struct reconstruct *r, struct align *align, size_t from, uint32_t *numbers,
		size_t *ret_to)
{
	uint64_t frames = 0;
	size_t i = from;
	int err = 0;

	for (; err == 0 && i < r->samples.count && frames < RECONSTRUCT_FRAMES; i++) {
		const struct store_sample *s = &r->samples.items[i];
		const struct align_frame *path;
		uint32_t count;

		numbers[i - from] = ALIGN_NONE;
		err = align_input_path(r->input, s, &path, &count);
		if (err < 0 || !count)
			continue;
		frames += count;
		numbers[i - from] = align_count(align);
		err = align_add(align, s->thread, align_input_program(r->input, s->thread),
				s->time_ns, path, count, align_input_reaches_entry(r->input, s));
	}
	*ret_to = i;
	return err == -EOVERFLOW ? -ENOMEM : err;
}

/* Completes the samples of one slice, which begins at *from; the samples before *done are complete
 * already. Moves both on for the next slice. Returns 0 or an error. */
static int batch(struct reconstruct *r, uint32_t *numbers, size_t *from, size_t *done)
{
	struct align *align = NULL;
	size_t to = *from, end;
	int err = align_new(&align);

	if (err == 0)
		err = fill(r, align, *from, numbers, &to);
	if (err == 0)
		err = align_run(align);
	end = to < r->samples.count ? to - (to - *from) / RECONSTRUCT_OVERLAP : to;
	for (size_t i = *done; err == 0 && i < end; i++) {
		const struct store_sample *s = &r->samples.items[i];

		if (numbers[i - *from] != ALIGN_NONE && reconstruct_is_candidate(&r->tables, s))
			err = take(r, align, numbers[i - *from], s);
	}
	*from = to < r->samples.count ? end - (to - end) : to;
	*done = end;
	align_free(align);
	return err;
}

/* --- which samples are input ------------------------------------------------------------- */

#define MARK_CANDIDATE 1u /* The sample's path is partial. */
#define MARK_NEAR      2u /* The sample is near a partial one, so alignment can use it. */
#define MARK_THREAD    2  /* position of the thread's number */

/* First pass: marks the partial samples. */
int reconstruct_note(struct reconstruct *r, const struct store_sample *sample)
{
	if (sample->thread >= r->tables.n_threads || sample->node >= r->tables.n_nodes ||
	    sample->thread > UINT32_MAX >> MARK_THREAD)
		return -EBADMSG;
	align_input_note(r->input, sample);
	if (BIG_RESERVE(&r->marks, 1) < 0)
		return -ENOMEM;
	r->marks.items[r->marks.count++] =
		sample->thread << MARK_THREAD |
		(reconstruct_is_candidate(&r->tables, sample) ? MARK_CANDIDATE | MARK_NEAR : 0);
	return 0;
}

/* By thread and by program: how many of the following samples still count as near the last partial
 * sample. */
struct reconstruct_near {
	uint32_t *thread, *program;
};

static void reconstruct_step(struct reconstruct *r, struct reconstruct_near *near, uint32_t *mark)
{
	uint32_t thread = *mark >> MARK_THREAD;
	uint32_t *own = &near->thread[thread];
	uint32_t *program = &near->program[align_input_program(r->input, thread)];

	if (*mark & MARK_CANDIDATE)
		*own = *program = RECONSTRUCT_NEAR;
	if (*own || *program)
		*mark |= MARK_NEAR;
	*own -= *own > 0;
	*program -= *program > 0;
}

/* Marks the samples near a partial one, before and after it. */
static int mark_near(struct reconstruct *r)
{
	size_t n_threads = (size_t)r->tables.n_threads + 1;
	size_t n_programs = (size_t)r->tables.n_processes + 1;
	uint32_t *left = calloc(2 * (n_threads + n_programs), sizeof(*left));
	struct reconstruct_near after = {left, left + n_threads};
	struct reconstruct_near before = {after.program + n_programs,
					  after.program + n_programs + n_threads};

	if (!left)
		return -ENOMEM;
	for (size_t i = 0; i < r->marks.count; i++)
		reconstruct_step(r, &after, &r->marks.items[i]);
	for (size_t i = r->marks.count; i-- > 0;)
		reconstruct_step(r, &before, &r->marks.items[i]);
	free(left);
	return 0;
}

/* Second pass over the samples: keeps the marked ones. A recording that is still running can have
 * more samples than in the first pass. */
static int keep(void *arg, const struct store_sample *sample)
{
	struct reconstruct *r = arg;
	size_t i = r->n_seen++;

	if (i >= r->marks.count || !(r->marks.items[i] & MARK_NEAR) ||
	    r->marks.items[i] >> MARK_THREAD != sample->thread)
		return 0;
	if (VEC_RESERVE(&r->samples, 1) < 0)
		return -ENOMEM;
	r->samples.items[r->samples.count++] = *sample;
	align_input_count(r->input, sample);
	return 0;
}

static int choose(struct reconstruct *r)
{
	int err = mark_near(r);

	if (err == 0)
		err = store_reader_samples(r->reader, keep, r);
	free(r->marks.items);
	r->marks.items = NULL;
	r->marks.count = r->marks.cap = 0;
	return err;
}

/* --- nodes of the completed paths ----------------------------------------------------------- */

/* Finds the recording's node of each completed path, by the path's number; 0: it has no node.
 * Returns 0 or -ENOMEM. */
static int reconstruct_find(const struct reconstruct *r, uint32_t **ret_nodes)
{
	const struct store_tables *t = &r->tables;
	uint32_t *path_of = big_calloc((size_t)t->n_nodes + 1, sizeof(*path_of));
	uint32_t *nodes = calloc(r->paths.count, sizeof(*nodes));

	if (!path_of || !nodes) {
		free(path_of);
		free(nodes);
		return -ENOMEM;
	}
	for (uint32_t i = 1; i < t->n_nodes; i++) {
		uint32_t parent = t->nodes[i].parent, path;

		if (parent && !path_of[parent])
			continue;
		path = int_map_find(&r->children,
				    (uint64_t)path_of[parent] << 32 | t->nodes[i].location);
		if (path == INT_MAP_NONE)
			continue;
		path_of[i] = path;
		nodes[path] = i;
	}
	free(path_of);
	*ret_nodes = nodes;
	return 0;
}

/* Makes nodes for the paths that have none yet. */
static int reconstruct_add(struct reconstruct *r, uint32_t *nodes, size_t n_new)
{
	const struct store_tables *t = &r->tables;

	if (n_new > UINT32_MAX - t->n_nodes || BIG_RESERVE(&r->nodes, t->n_nodes + n_new) < 0)
		return -ENOMEM;
	memcpy(r->nodes.items, t->nodes, t->n_nodes * sizeof(*t->nodes));
	r->nodes.count = t->n_nodes;
	for (size_t i = 1; i < r->paths.count; i++) {
		const struct store_node *path = &r->paths.items[i];
		uint32_t parent = nodes[path->parent];

		if (nodes[i])
			continue;
		nodes[i] = (uint32_t)r->nodes.count;
		r->nodes.items[r->nodes.count++] = (struct store_node){parent, path->location};
	}
	r->tables.nodes = r->nodes.items;
	r->tables.n_nodes = (uint32_t)r->nodes.count;
	r->tables.sizes = NULL; /* The new nodes have no stack sizes. */
	return 0;
}

static int enter_nodes(struct reconstruct *r)
{
	uint32_t *nodes;
	size_t n_new = 0;
	int err = reconstruct_find(r, &nodes);

	if (err < 0)
		return err;
	for (size_t i = 1; i < r->paths.count; i++)
		n_new += !nodes[i];
	if (n_new)
		err = reconstruct_add(r, nodes, n_new);
	for (size_t i = 0; err == 0 && i < r->done.count; i++)
		r->done.items[i].to_node = nodes[r->done.items[i].to_node];
	free(nodes);
	return err;
}

static int compare_samples(const void *a, const void *b)
{
	const struct reconstruct_done *x = a, *y = b;

	if (x->sample.time_ns != y->sample.time_ns)
		return x->sample.time_ns < y->sample.time_ns ? -1 : 1;
	if (x->sample.thread != y->sample.thread)
		return x->sample.thread < y->sample.thread ? -1 : 1;
	return x->sample.node < y->sample.node ? -1 : x->sample.node > y->sample.node;
}

/* Puts the new origins and nodes into the tables. */
static void reconstruct_show(struct reconstruct *r)
{
	for (uint32_t i = r->n_stored; i < r->origins.count; i++)
		r->origins.items[i] = origin_at(r->interned, i - r->n_stored + 1);
	if (r->done.count)
		qsort(r->done.items, r->done.count, sizeof(*r->done.items), compare_samples);
	r->tables.origins = r->origins.items;
	r->tables.n_origins = (uint32_t)r->origins.count;
}

static int reconstruct_all(struct reconstruct *r)
{
	uint32_t *numbers = NULL;
	size_t from = 0, done = 0;
	int err = choose(r);

	if (err == 0) {
		numbers = vec_alloc(r->samples.count + 1, sizeof(*numbers));
		err = numbers ? 0 : -ENOMEM;
	}
	while (err == 0 && done < r->samples.count)
		err = batch(r, numbers, &from, &done);
	free(numbers);
	return err;
}

static int begin(struct reconstruct *r, const struct store_tables *t)
{
	if (VEC_RESERVE(&r->paths, 1) < 0 || VEC_RESERVE(&r->origins, t->n_origins) < 0 ||
	    origin_table_new(&r->interned) < 0)
		return -ENOMEM;
	r->paths.items[r->paths.count++] = (struct store_node){.location = UINT32_MAX};
	memcpy(r->origins.items, t->origins, t->n_origins * sizeof(*t->origins));
	r->origins.count = r->n_stored = t->n_origins;
	return 0;
}

int reconstruct_new(struct store_reader *reader, struct names *names,
		    struct reconstruct **ret_reconstruct)
{
	const struct store_tables *t = store_reader_tables(reader);
	struct reconstruct *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->reader = reader;
	r->tables = *t;
	err = align_input_new(t, names, &r->input);
	if (err == 0)
		err = begin(r, t);
	if (err < 0) {
		reconstruct_free(r);
		return err;
	}
	*ret_reconstruct = r;
	return 0;
}

int reconstruct_run(struct reconstruct *r)
{
	int err = reconstruct_all(r);

	if (err == 0 && r->done.count)
		err = enter_nodes(r);
	free(r->samples.items);
	r->samples.items = NULL;
	r->samples.count = r->samples.cap = 0;
	if (err == 0)
		reconstruct_show(r);
	return err;
}

const struct store_tables *reconstruct_tables(const struct reconstruct *r)
{
	return &r->tables;
}

const struct reconstruct_done *reconstruct_done(const struct reconstruct *r, size_t *ret_count)
{
	*ret_count = r->done.count;
	return r->done.items;
}

void reconstruct_map(const struct reconstruct *r, struct store_sample *sample)
{
	const struct reconstruct_done key = {.sample = *sample};
	const struct reconstruct_done *found;

	if (align_input_is_complete(sample) || !r->done.count)
		return;
	found = bsearch(&key, r->done.items, r->done.count, sizeof(key), compare_samples);
	if (!found)
		return;
	sample->node = found->to_node;
	sample->origin = found->to_origin;
}
