/* SPDX-License-Identifier: MIT */
/*
 * Completing partial paths; see reconstruct.h.
 *
 *   samples ─► slice ─► align ─► lent frames ─► nodes and origins ─► (time, thread, node) → path
 *                └── the next one begins before this one's end
 *
 * A sample near the end of a slice has its evidence from after it in the next one, so it is
 * completed there. A sample has no number of its own: it is known by time, thread and node.
 */
#include "report/reconstruct.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "proc/object.h"
#include "report/evidence.h"
#include "report/index.h"
#include "stack/location.h"

#define SLICE_FRAMES  (8u << 20) /* aligned at once: some 50 bytes each */
#define SLICE_OVERLAP 8u	 /* one in so many samples of a slice are the next one's, too */

struct reconstruct_done {
	uint64_t time_ns;
	uint32_t thread, node; /* as the store has them */
	uint32_t to_node, to_origin;
};

struct reconstruct {
	struct store_reader *reader;
	struct store_tables tables;
	struct evidence *evidence;
	VEC(struct store_node) nodes;
	VEC(uint64_t) tags;
	VEC(struct origin) origins;
	struct origin_table *interned;	   /* of what is inferred */
	uint32_t n_stored;		   /* origins of the store */
	struct index children;		   /* (parent, location) -> node */
	VEC(struct store_sample) samples;  /* only while it is made */
	VEC(struct reconstruct_done) done; /* by time */
	VEC(struct origin_run) runs;
	VEC(uint32_t) path;
};

void reconstruct_free(struct reconstruct *r)
{
	if (!r)
		return;
	evidence_free(r->evidence);
	free(r->nodes.items);
	free(r->tags.items);
	free(r->origins.items);
	origin_table_free(r->interned);
	index_free(&r->children);
	free(r->samples.items);
	free(r->done.items);
	free(r->runs.items);
	free(r->path.items);
	free(r);
}

bool reconstruct_wants(const struct store_tables *t, const struct store_sample *s)
{
	return s->node && !evidence_is_whole(s) && s->origin < t->n_origins &&
	       !origin_inferred(&t->origins[s->origin]);
}

/* --- paths ---------------------------------------------------------------------------------- */

/* Copies the tables' nodes and origins, which then can grow. */
static int reconstruct_copy(struct reconstruct *r, const struct store_tables *t)
{
	if (VEC_RESERVE(&r->nodes, t->n_nodes) < 0 || VEC_RESERVE(&r->tags, t->n_nodes) < 0 ||
	    VEC_RESERVE(&r->origins, t->n_origins) < 0 || origin_table_new(&r->interned) < 0)
		return -ENOMEM;
	memcpy(r->nodes.items, t->nodes, t->n_nodes * sizeof(*t->nodes));
	memcpy(r->tags.items, t->tags, t->n_nodes * sizeof(*t->tags));
	memcpy(r->origins.items, t->origins, t->n_origins * sizeof(*t->origins));
	r->nodes.count = r->tags.count = t->n_nodes;
	r->origins.count = r->n_stored = t->n_origins;
	for (uint32_t i = 1; i < t->n_nodes; i++) {
		uint64_t key = (uint64_t)t->nodes[i].parent << 32 | t->nodes[i].location;
		uint32_t node;

		if (index_enter(&r->children, key, i, &node) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int reconstruct_child(struct reconstruct *r, uint32_t location, uint32_t *node)
{
	const struct store_location *l = &r->tables.locations[location];
	uint64_t id = location_id(r->tables.objects[l->object].file_id, l->offset);
	uint32_t parent = *node, next = (uint32_t)r->nodes.count;

	if (next == UINT32_MAX || VEC_RESERVE(&r->nodes, 1) < 0 || VEC_RESERVE(&r->tags, 1) < 0 ||
	    index_enter(&r->children, (uint64_t)parent << 32 | location, next, node) < 0)
		return -ENOMEM;
	if (*node == next) {
		r->nodes.items[r->nodes.count++] = (struct store_node){parent, location};
		r->tags.items[r->tags.count++] = hash_chain(r->tags.items[parent], id);
	}
	return 0;
}

/* The lent frames and then the sample's own, as a node. */
static int reconstruct_node(struct reconstruct *r, const struct align *align,
			    const struct align_sample *s, uint32_t own, uint32_t *ret_node)
{
	uint32_t node = 0, link = s->below;
	int e = 0;

	r->path.count = 0;
	for (uint32_t at = own; e == 0 && at; at = r->nodes.items[at].parent) {
		e = VEC_RESERVE(&r->path, 1);
		if (e == 0)
			r->path.items[r->path.count++] = r->nodes.items[at].location;
	}
	for (uint32_t i = 0; e == 0 && i < s->n_lent; i++) {
		const struct align_link *l = align_link(align, link);

		e = VEC_RESERVE(&r->path, 1);
		if (e == 0)
			r->path.items[r->path.count++] = l->frame.id;
		link = l->below;
	}
	for (size_t i = r->path.count; e == 0 && i-- > 0;)
		e = reconstruct_child(r, r->path.items[i], &node);
	*ret_node = node;
	return e;
}

/* The lent frames with how sure they are: as the least sure one between them and the sample. */
static int reconstruct_runs(struct reconstruct *r, const struct align *align,
			    const struct align_sample *s)
{
	uint32_t link = s->below, sure = ALIGN_CERTAIN;

	if (VEC_RESERVE(&r->runs, s->n_lent + 1 - r->runs.count) < 0)
		return -ENOMEM;
	r->runs.count = s->n_lent;
	for (uint32_t i = s->n_lent; i-- > 0;) {
		const struct align_link *l = align_link(align, link);

		if (l->confidence < sure)
			sure = l->confidence;
		r->runs.items[i] = (struct origin_run){.frames = 1,
						       .source = FRAME_SOURCE_ALIGNED,
						       .confidence = (uint8_t)(sure / 100)};
		link = l->below;
	}
	return 0;
}

static int reconstruct_origin(struct reconstruct *r, const struct align *align,
			      const struct align_sample *s, uint32_t *ret_origin)
{
	struct origin origin = {.is_whole = s->is_whole, .n_runs = s->n_lent};
	uint32_t count = origin_count(r->interned), number;
	int e = reconstruct_runs(r, align, s);

	origin.runs = r->runs.items;
	if (e == 0)
		e = origin_intern(r->interned, &origin, &number);
	if (e == 0)
		e = VEC_RESERVE(&r->origins, 1);
	if (e < 0)
		return e;
	/* Its runs may still move: they are looked up when all are there. */
	if (number == count)
		r->origins.items[r->origins.count++] = (struct origin){0};
	*ret_origin = r->n_stored + number - 1;
	return 0;
}

static int reconstruct_take(struct reconstruct *r, const struct align *align, uint32_t number,
			    const struct store_sample *sample)
{
	const struct align_sample *s = align_sample(align, number);
	struct reconstruct_done done = {
		.time_ns = sample->time_ns, .thread = sample->thread, .node = sample->node};
	int e;

	if (!s->n_lent || s->n_lent + s->n_frames > ORIGIN_MAX_RUNS)
		return 0;
	e = reconstruct_node(r, align, s, sample->node, &done.to_node);
	if (e == 0)
		e = reconstruct_origin(r, align, s, &done.to_origin);
	if (e == 0)
		e = VEC_RESERVE(&r->done, 1);
	if (e == 0)
		r->done.items[r->done.count++] = done;
	return e;
}

/* --- slices --------------------------------------------------------------------------------- */

/* Adds samples from `from` on until the slice is full. `ret_to`: the first one left out.
 * `numbers`: those that they have in the alignment, ALIGN_NONE: none. */
static int reconstruct_fill(struct reconstruct *r, struct align *align, size_t from,
			    uint32_t *numbers, size_t *ret_to)
{
	uint64_t frames = 0;
	size_t i = from;
	int e = 0;

	for (; e == 0 && i < r->samples.count && frames < SLICE_FRAMES; i++) {
		const struct store_sample *s = &r->samples.items[i];
		const struct align_frame *path;
		uint32_t count;

		numbers[i - from] = ALIGN_NONE;
		e = evidence_path(r->evidence, s, &path, &count);
		if (e < 0 || !count)
			continue;
		frames += count;
		numbers[i - from] = align_count(align);
		e = align_add(align, s->thread, evidence_program(r->evidence, s->thread),
			      s->time_ns, path, count, evidence_is_whole(s));
	}
	*ret_to = i;
	return e == -EOVERFLOW ? -ENOMEM : e;
}

/* Completes the samples of one slice. `from`, `done`: where it begins, and up to which samples are
 * complete already; both are moved on. */
static int reconstruct_slice(struct reconstruct *r, uint32_t *numbers, size_t *from, size_t *done)
{
	struct align *align = NULL;
	size_t to = *from, end;
	int e = align_new(EVIDENCE_THRESHOLD, &align);

	if (e == 0)
		e = reconstruct_fill(r, align, *from, numbers, &to);
	if (e == 0)
		e = align_run(align);
	end = to < r->samples.count ? to - (to - *from) / SLICE_OVERLAP : to;
	for (size_t i = *done; e == 0 && i < end; i++) {
		const struct store_sample *s = &r->samples.items[i];

		if (numbers[i - *from] != ALIGN_NONE && reconstruct_wants(&r->tables, s))
			e = reconstruct_take(r, align, numbers[i - *from], s);
	}
	*from = to < r->samples.count ? end - (to - end) : to;
	*done = end;
	align_free(align);
	return e;
}

static int reconstruct_keep(void *arg, const struct store_sample *sample)
{
	struct reconstruct *r = arg;

	if (sample->thread >= r->tables.n_threads || sample->node >= r->tables.n_nodes)
		return -EBADMSG;
	evidence_note(r->evidence, sample);
	if (VEC_RESERVE(&r->samples, 1) < 0)
		return -ENOMEM;
	r->samples.items[r->samples.count++] = *sample;
	return 0;
}

/* Leaves out the samples of threads that have no partial path. */
static int reconstruct_choose(struct reconstruct *r)
{
	bool *wanted = calloc((size_t)r->tables.n_threads + 1, sizeof(*wanted));
	size_t kept = 0;

	if (!wanted)
		return -ENOMEM;
	/* Threads of one program tell of each other: it is all of them or none. */
	for (size_t i = 0; i < r->samples.count; i++)
		if (reconstruct_wants(&r->tables, &r->samples.items[i]))
			wanted[evidence_program(r->evidence, r->samples.items[i].thread)] = true;
	for (size_t i = 0; i < r->samples.count; i++)
		if (wanted[evidence_program(r->evidence, r->samples.items[i].thread)])
			r->samples.items[kept++] = r->samples.items[i];
	r->samples.count = kept;
	free(wanted);
	return 0;
}

static int reconstruct_compare(const void *a, const void *b)
{
	const struct reconstruct_done *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Makes the tables show what was made. */
static void reconstruct_show(struct reconstruct *r)
{
	for (uint32_t i = r->n_stored; i < r->origins.count; i++)
		r->origins.items[i] = origin_at(r->interned, i - r->n_stored + 1);
	if (r->done.count)
		qsort(r->done.items, r->done.count, sizeof(*r->done.items), reconstruct_compare);
	r->tables.nodes = r->nodes.items;
	r->tables.tags = r->tags.items;
	r->tables.n_nodes = (uint32_t)r->nodes.count;
	r->tables.origins = r->origins.items;
	r->tables.n_origins = (uint32_t)r->origins.count;
	r->tables.sizes = NULL; /* the new nodes have none */
}

static int reconstruct_all(struct reconstruct *r)
{
	uint32_t *numbers = NULL;
	size_t from = 0, done = 0;
	int e = reconstruct_choose(r);

	if (e == 0) {
		numbers = reallocarray(NULL, r->samples.count + 1, sizeof(*numbers));
		e = numbers ? 0 : -ENOMEM;
	}
	while (e == 0 && done < r->samples.count)
		e = reconstruct_slice(r, numbers, &from, &done);
	free(numbers);
	return e;
}

int reconstruct_new(struct store_reader *reader, struct names *names,
		    struct reconstruct **ret_reconstruct)
{
	const struct store_tables *t = store_reader_tables(reader);
	struct reconstruct *r = calloc(1, sizeof(*r));
	int e;

	if (!r)
		return -ENOMEM;
	r->reader = reader;
	r->tables = *t;
	e = evidence_new(t, names, &r->evidence);
	if (e == 0)
		e = reconstruct_copy(r, t);
	if (e == 0)
		e = store_reader_samples(reader, reconstruct_keep, r);
	if (e == 0)
		e = reconstruct_all(r);
	if (e < 0) {
		reconstruct_free(r);
		return e;
	}
	free(r->samples.items);
	r->samples.items = NULL;
	r->samples.count = r->samples.cap = 0;
	reconstruct_show(r);
	*ret_reconstruct = r;
	return 0;
}

const struct store_tables *reconstruct_tables(const struct reconstruct *r)
{
	return &r->tables;
}

void reconstruct_map(const struct reconstruct *r, struct store_sample *sample)
{
	const struct reconstruct_done key = {
		.time_ns = sample->time_ns, .thread = sample->thread, .node = sample->node};
	const struct reconstruct_done *found;

	if (evidence_is_whole(sample) || !r->done.count)
		return;
	found = bsearch(&key, r->done.items, r->done.count, sizeof(key), reconstruct_compare);
	if (!found)
		return;
	sample->node = found->to_node;
	sample->origin = found->to_origin;
}
