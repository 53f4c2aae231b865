/* SPDX-License-Identifier: MIT */
/*
 * Adds up recordings, mostly the windows of one run; see store_reader.h. The tables of one
 * recording are in memory at a time, besides those of the whole.
 *
 *   objects              by kind, code and path; code is known by build-id and layout, and by its
 *                        file id where one of them is not known
 *   locations            by file id and offset, as everywhere
 *   nodes                by tag; the trie keeps paths that share a tag apart (stack/tag_trie.h)
 *   processes, threads   by number and names, threads also by cgroup and labels
 *   lines                of the first recording that has some for a location
 *   samples              one recording after the other, with the whole's numbers
 *
 * The windows of a run have one clock, and keep their distances on the clock of the whole. The
 * record of a wait or a pass is stored at its end, which may be in a window after the range. So
 * such windows are added for these records alone (store_reader_all_records()), without their
 * figures.
 *
 * Of two layouts of a build-id, the one that a host meets first has the file id of the build-id
 * (proc/object.c). So two hosts can give the same file id to different layouts, and different file
 * ids to the same layout. Therefore the whole numbers file ids anew, by the same rule.
 */
#include "store/store_join.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/hash_index.h"
#include "base/vec.h"
#include "stack/location.h"
#include "stack/tag_trie.h"

/* Finds entries of an array by a hash of their identity. */
struct join_index {
	struct hash_index index;
	VEC(uint64_t) hashes; /* by number */
};

struct store_join {
	struct store_reader *r;
	struct location_table *locations;
	struct tag_trie *trie;
	struct origin_table *origins;
	struct join_index objects, processes, threads;
	struct join_index builds;     /* the objects by the hash of their build-id */
	VEC(struct store_line) lines; /* lines of all locations that have some, in any order */
	VEC(bool) has_lines;	      /* by location: `lines` has its lines */
	uint64_t end_ns;	      /* end of the last recording, by the whole's clock */
	const struct store_recording *last; /* the last recording, owned by its reader */
};

/* Two clocks differ by less than this, unless one was set. */
#define JOIN_SAME_CLOCK_NS 1000000000

/* For one recording: the numbers that its objects, processes and locations have in the whole. Its
 * other entries refer to them. */
struct join_numbers {
	uint32_t *objects, *processes, *locations;
};

int store_join_new(struct store_reader *r, struct store_join **ret_join)
{
	struct store_join *j = calloc(1, sizeof(*j));
	int err = j ? location_table_new(&j->locations) : -ENOMEM;

	if (err == 0)
		err = tag_trie_new(&j->trie);
	if (err == 0)
		err = origin_table_new(&j->origins);
	if (err < 0) {
		store_join_free(j);
		return err;
	}
	j->r = r;
	*ret_join = j;
	return 0;
}

static void join_index_fini(struct join_index *index)
{
	free(index->index.slot);
	free(index->hashes.items);
}

void store_join_free(struct store_join *j)
{
	if (!j)
		return;
	location_table_free(j->locations);
	tag_trie_free(j->trie);
	origin_table_free(j->origins);
	join_index_fini(&j->objects);
	join_index_fini(&j->builds);
	join_index_fini(&j->processes);
	join_index_fini(&j->threads);
	free(j->lines.items);
	free(j->has_lines.items);
	free(j);
}

/* --- entries by hash ------------------------------------------------------------------------ */

static uint64_t join_hash(uint64_t hash, const char *s)
{
	for (; s && *s; s++)
		hash = hash_mix64(hash + (uint8_t)*s);
	return hash_mix64(hash + 1);
}

static bool join_equal_texts(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Returns the number of the next entry with this hash, from slot *at on, and sets *at to the slot
 * behind it; UINT32_MAX: there is no further one. */
static uint32_t join_probe(const struct join_index *x, uint64_t hash, size_t *at)
{
	uint32_t number;

	for (; x->index.slot && x->index.slot[*at]; *at = (*at + 1) & x->index.mask) {
		number = x->index.slot[*at] - 1;
		if (x->hashes.items[number] == hash) {
			*at = (*at + 1) & x->index.mask;
			return number;
		}
	}
	return UINT32_MAX;
}

/* Adds the next number under a hash. Returns 0 or -ENOMEM. */
static int join_index_add(struct join_index *x, uint64_t hash)
{
	struct hash_index grown;

	if (VEC_RESERVE(&x->hashes, 1) < 0)
		return -ENOMEM;
	if (hash_index_full(&x->index)) {
		if (hash_index_grow(&x->index, &grown) < 0)
			return -ENOMEM;
		for (uint32_t i = 0; i < x->hashes.count; i++)
			hash_index_put(&grown, x->hashes.items[i], i);
		free(x->index.slot);
		x->index = grown;
	}
	hash_index_put(&x->index, hash, (uint32_t)x->hashes.count);
	x->hashes.items[x->hashes.count++] = hash;
	return 0;
}

/* --- rows ----------------------------------------------------------------------------------- */

static uint64_t build_hash(const struct store_object *o)
{
	uint64_t hash = hash_mix64(o->kind);

	for (size_t i = 0; i < o->build_id_len; i++)
		hash = hash_mix64(hash + o->build_id[i]);
	return hash;
}

static bool is_same_build(const struct store_object *a, const struct store_object *b)
{
	return a->kind == b->kind && a->build_id_len == b->build_id_len &&
	       memcmp(a->build_id, b->build_id, a->build_id_len) == 0;
}

/* Returns the file id that an object has in the whole. */
static uint64_t whole_file_id(const struct store_join *j, const struct store_object *o)
{
	uint64_t hash = build_hash(o);
	size_t at = hash & j->builds.index.mask;
	bool is_taken = false;
	uint32_t i;

	if (!o->layout || !o->build_id_len)
		return o->file_id;
	while ((i = join_probe(&j->builds, hash, &at)) != UINT32_MAX) {
		const struct store_object *known = &j->r->objects.items[i];

		if (!is_same_build(known, o))
			continue;
		if (known->layout == o->layout)
			return known->file_id;
		is_taken |= known->layout && known->file_id == o->file_id;
	}
	return is_taken ? hash_layout_id(o->file_id, o->layout) : o->file_id;
}

static int join_new_object(struct store_join *j, const struct store_object *o, uint64_t hash,
			   uint32_t *ret_number)
{
	if (VEC_RESERVE(&j->r->objects, 1) < 0 || join_index_add(&j->objects, hash) < 0 ||
	    join_index_add(&j->builds, build_hash(o)) < 0)
		return -ENOMEM;
	*ret_number = (uint32_t)j->r->objects.count;
	j->r->objects.items[j->r->objects.count] = *o;
	j->r->objects.items[j->r->objects.count++].number = *ret_number;
	return 0;
}

static int join_object(struct store_join *j, const struct store_object *from, uint32_t *ret_number)
{
	struct store_object o = *from;
	uint64_t hash;
	uint32_t i;
	size_t at;

	o.file_id = whole_file_id(j, from);
	hash = join_hash(hash_mix64(o.file_id + o.kind), o.path);
	at = hash & j->objects.index.mask;
	while ((i = join_probe(&j->objects, hash, &at)) != UINT32_MAX) {
		struct store_object *known = &j->r->objects.items[i];

		if (known->kind != o.kind || known->file_id != o.file_id ||
		    !join_equal_texts(known->path, o.path))
			continue;
		known->problem = o.problem ? known->problem : NULL;
		known->layout = known->layout ? known->layout : o.layout;
		*ret_number = i;
		return 0;
	}
	return join_new_object(j, &o, hash, ret_number);
}

static int join_process(struct store_join *j, const struct store_process *p, uint32_t *ret_number)
{
	uint64_t hash = join_hash(join_hash(hash_mix64((uint64_t)p->pid), p->comm), p->exe);
	size_t at = hash & j->processes.index.mask;
	uint32_t i;

	while ((i = join_probe(&j->processes, hash, &at)) != UINT32_MAX) {
		const struct store_process *known = &j->r->processes.items[i];

		if (known->pid == p->pid && join_equal_texts(known->comm, p->comm) &&
		    join_equal_texts(known->exe, p->exe)) {
			*ret_number = i;
			return 0;
		}
	}
	if (VEC_RESERVE(&j->r->processes, 1) < 0 || join_index_add(&j->processes, hash) < 0)
		return -ENOMEM;
	*ret_number = (uint32_t)j->r->processes.count;
	j->r->processes.items[j->r->processes.count] = *p;
	j->r->processes.items[j->r->processes.count++].number = *ret_number;
	return 0;
}

/* `process`: number of the thread's process in the whole. */
static int join_thread(struct store_join *j, const struct store_thread *t, uint32_t process,
		       uint32_t *ret_number)
{
	uint64_t key = hash_mix64((uint64_t)process << 32 | (uint32_t)t->tid);
	uint64_t hash = join_hash(join_hash(join_hash(key, t->comm), t->cgroup), t->label_set);
	size_t at = hash & j->threads.index.mask;
	uint32_t i;

	while ((i = join_probe(&j->threads, hash, &at)) != UINT32_MAX) {
		const struct store_thread *known = &j->r->threads.items[i];

		if (known->process == process && known->tid == t->tid &&
		    join_equal_texts(known->comm, t->comm) &&
		    join_equal_texts(known->cgroup, t->cgroup) &&
		    join_equal_texts(known->label_set, t->label_set)) {
			*ret_number = i;
			return 0;
		}
	}
	if (VEC_RESERVE(&j->r->threads, 1) < 0 || join_index_add(&j->threads, hash) < 0)
		return -ENOMEM;
	*ret_number = (uint32_t)j->r->threads.count;
	j->r->threads.items[j->r->threads.count] = *t;
	j->r->threads.items[j->r->threads.count].process = process;
	j->r->threads.items[j->r->threads.count++].number = *ret_number;
	return 0;
}

static int join_counters(struct store_join *j, const struct store_tables *t)
{
	for (uint32_t i = 0; i < t->n_counters; i++) {
		const struct store_counter *c = &t->counters[i];
		size_t at = 0;

		while (at < j->r->counters.count &&
		       strcmp(j->r->counters.items[at].name, c->name) != 0)
			at++;
		if (at == j->r->counters.count) {
			if (VEC_RESERVE(&j->r->counters, 1) < 0)
				return -ENOMEM;
			j->r->counters.items[j->r->counters.count++] = *c;
		} else {
			j->r->counters.items[at].value += c->value;
		}
	}
	return 0;
}

static int join_rows(struct store_join *j, const struct store_tables *t, struct join_numbers *n,
		     struct reader_part *part)
{
	int err = part->is_later ? 0 : join_counters(j, t);

	for (uint32_t i = 0; err == 0 && i < t->n_objects; i++)
		err = join_object(j, &t->objects[i], &n->objects[i]);
	for (uint32_t i = 0; err == 0 && i < t->n_processes; i++)
		err = join_process(j, &t->processes[i], &n->processes[i]);
	for (uint32_t i = 0; err == 0 && i < t->n_threads; i++)
		err = join_thread(j, &t->threads[i], n->processes[t->threads[i].process],
				  &part->threads[i]);
	return err;
}

/* --- locations and their names -------------------------------------------------------------- */

static int join_location(struct store_join *j, const struct store_location *l, uint32_t object,
			 uint32_t *ret_number)
{
	const struct location key = {.file_id = j->r->objects.items[object].file_id,
				     .offset = l->offset,
				     .object = object,
				     .is_return = l->is_return};
	int err = location_intern(j->locations, &key, ret_number);
	struct store_location *copy;

	if (err < 0)
		return err;
	if (*ret_number < j->r->locations.count) {
		copy = &j->r->locations.items[*ret_number];
		copy->provenance = copy->provenance ? copy->provenance : l->provenance;
		return 0;
	}
	if (VEC_RESERVE(&j->r->locations, 1) < 0 || VEC_RESERVE(&j->has_lines, 1) < 0)
		return -ENOMEM;
	copy = &j->r->locations.items[j->r->locations.count++];
	*copy = *l;
	copy->number = *ret_number;
	copy->object = object;
	j->has_lines.items[j->has_lines.count++] = false;
	return 0;
}

/* Copies a location's lines from a recording to the whole, unless the whole has lines for this
 * location already. */
static int join_lines(struct store_join *j, const struct store_tables *t, uint32_t from,
		      uint32_t location)
{
	uint32_t at = t->line_first[from], end = t->line_first[from + 1];

	if (at == end || j->has_lines.items[location])
		return 0;
	if (VEC_RESERVE(&j->lines, end - at) < 0)
		return -ENOMEM;
	for (; at < end; at++) {
		j->lines.items[j->lines.count] = t->lines[at];
		j->lines.items[j->lines.count++].location = location;
	}
	j->has_lines.items[location] = true;
	return 0;
}

static int join_locations(struct store_join *j, const struct store_tables *t,
			  struct join_numbers *n)
{
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < t->n_locations; i++) {
		err = join_location(j, &t->locations[i], n->objects[t->locations[i].object],
				    &n->locations[i]);
		if (err == 0)
			err = join_lines(j, t, i, n->locations[i]);
	}
	return err;
}

/* --- paths ---------------------------------------------------------------------------------- */

static int join_node(struct store_join *j, const struct store_node *node,
		     const struct join_numbers *n, const uint32_t *nodes, uint32_t *ret_number)
{
	uint32_t location = n->locations[node->location];
	const struct location *l = location_at(j->locations, location);

	return tag_trie_child(j->trie, nodes[node->parent], location,
			      location_id(l->file_id, l->offset), ret_number);
}

/* Copies the sizes of nodes for which the whole has none yet. */
static int join_sizes(struct store_join *j, const struct store_tables *t, const uint32_t *nodes)
{
	uint32_t count = tag_trie_count(j->trie);

	if (!t->sizes)
		return 0;
	if (VEC_RESERVE(&j->r->sizes, count - j->r->sizes.count) < 0)
		return -ENOMEM;
	while (j->r->sizes.count < count)
		j->r->sizes.items[j->r->sizes.count++] = 0;
	for (uint32_t i = 1; i < t->n_nodes; i++) {
		uint32_t *size = &j->r->sizes.items[nodes[i]];

		*size = *size ? *size : t->sizes[i];
	}
	return 0;
}

static int join_paths(struct store_join *j, const struct store_tables *t,
		      const struct join_numbers *n, struct reader_part *part)
{
	int err = 0;

	part->nodes[0] = TAG_TRIE_ROOT;
	for (uint32_t i = 1; err == 0 && i < t->n_nodes; i++)
		err = join_node(j, &t->nodes[i], n, part->nodes, &part->nodes[i]);
	if (err == 0)
		err = join_sizes(j, t, part->nodes);
	for (uint32_t i = 0; err == 0 && i < t->n_origins; i++)
		err = origin_intern(j->origins, &t->origins[i], &part->origins[i]);
	return err == -EINVAL ? -EBADMSG : err;
}

/* --- recordings ----------------------------------------------------------------------------- */

/* Returns the time, on the whole's clock, at which a recording begins. It follows from the wall
 * clock: the recording is as far from the begin of the first recording as it really was, but never
 * before the end of the last one. If the recording is a window of the same run as the last one,
 * their common monotonic clock decides, unless the wall clock was set in between. */
static uint64_t join_base(const struct store_join *j, const struct store_recording *recording)
{
	const struct store_recording *whole = &j->r->tables.recording;
	const struct reader_part *last = &j->r->parts.items[j->r->parts.count - 2];
	const int64_t after = (int64_t)(recording->start_unix_ns - whole->start_unix_ns);
	uint64_t base = after > 0 ? whole->start_ns + (uint64_t)after : 0, own;

	base = base < j->end_ns ? j->end_ns : base;
	if (!recording->run || recording->run != j->last->run ||
	    recording->start_ns < j->last->start_ns)
		return base;
	own = last->base_ns + (recording->start_ns - j->last->start_ns);
	if (own < base ? base - own > JOIN_SAME_CLOCK_NS : own - base > JOIN_SAME_CLOCK_NS)
		return base;
	return own;
}

/* Adds the recording's figures to those of the whole. */
static void join_figures(struct store_join *j, const struct store_recording *recording)
{
	struct store_tables *t = &j->r->tables;
	struct store_recording *whole = &t->recording;

	whole->end_ns = j->end_ns;
	t->whole_to_unix_ns = store_range_end(recording);
	if (t->last_recording < recording->id)
		t->last_recording = recording->id;
	if (t->n_recordings++ == 0)
		return;
	whole->id = recording->id < whole->id ? recording->id : whole->id;
	whole->samples += recording->samples;
	whole->lost += recording->lost;
	whole->kernel_ns += recording->kernel_ns;
	whole->kernel_runs += recording->kernel_runs;
	whole->finished &= recording->finished;
	if (whole->frequency_hz != recording->frequency_hz || whole->period != recording->period)
		whole->frequency_hz = whole->period = 0;
	whole->note = *whole->note ? whole->note : recording->note;
}

/* Sets where the recording lies on the whole's clock. */
static void join_recording(struct store_join *j, const struct store_recording *recording,
			   struct reader_part *part)
{
	struct store_tables *t = &j->r->tables;

	part->start_ns = recording->start_ns;
	if (!t->n_recordings) {
		t->recording = *recording;
		t->whole_from_unix_ns = recording->start_unix_ns;
		part->base_ns = recording->start_ns;
	} else {
		part->base_ns = join_base(j, recording);
	}
	j->end_ns = part->base_ns + (store_range_end(recording) - recording->start_unix_ns);
	j->last = recording;
	if (!part->is_later)
		join_figures(j, recording);
}

static int join_allocate(const struct store_tables *t, struct join_numbers *n,
			 struct reader_part *part)
{
	n->objects = vec_alloc((size_t)t->n_objects + 1, sizeof(*n->objects));
	n->processes = vec_alloc((size_t)t->n_processes + 1, sizeof(*n->processes));
	n->locations = vec_alloc((size_t)t->n_locations + 1, sizeof(*n->locations));
	part->threads = vec_alloc((size_t)t->n_threads + 1, sizeof(*part->threads));
	part->nodes = vec_alloc(t->n_nodes, sizeof(*part->nodes));
	part->origins = vec_alloc(t->n_origins, sizeof(*part->origins));
	if (!n->objects || !n->processes || !n->locations)
		return -ENOMEM;
	return part->threads && part->nodes && part->origins ? 0 : -ENOMEM;
}

int store_join_add(struct store_join *j, struct store_reader *window, bool is_later)
{
	const struct store_tables *t = &window->tables;
	struct join_numbers n = {0};
	struct reader_part *part;
	int err;

	if (VEC_RESERVE(&j->r->parts, 1) < 0) {
		store_load_free(window);
		free(window);
		return -ENOMEM;
	}
	part = &j->r->parts.items[j->r->parts.count++];
	*part = (struct reader_part){.window = window, .is_later = is_later};
	err = join_allocate(t, &n, part);
	if (err == 0)
		err = join_rows(j, t, &n, part);
	if (err == 0)
		err = join_locations(j, t, &n);
	if (err == 0)
		err = join_paths(j, t, &n, part);
	if (err == 0)
		join_recording(j, &t->recording, part);
	store_load_free_arrays(window);
	free(n.objects);
	free(n.processes);
	free(n.locations);
	return err;
}

/* --- the whole ------------------------------------------------------------------------------ */

/* Sorts the lines by location. Lines of one location are in order already. */
static int join_move_lines(struct store_join *j)
{
	size_t n = j->r->locations.count;
	uint32_t *first = calloc(n + 2, sizeof(*first));
	struct store_line *lines = vec_alloc(j->lines.count + 1, sizeof(*lines));

	j->r->line_first = first;
	j->r->lines = lines;
	if (!first || !lines)
		return -ENOMEM;
	for (size_t i = 0; i < j->lines.count; i++)
		first[j->lines.items[i].location + 2]++;
	for (size_t i = 2; i <= n; i++)
		first[i] += first[i - 1];
	for (size_t i = 0; i < j->lines.count; i++)
		lines[first[j->lines.items[i].location + 1]++] = j->lines.items[i];
	return 0;
}

/* Copies the nodes and their tags from the trie to the reader. */
static int join_move_nodes(struct store_join *j)
{
	uint32_t count = tag_trie_count(j->trie);
	struct store_reader *r = j->r;

	r->tags = vec_alloc(count, sizeof(*r->tags));
	if (!r->tags || VEC_RESERVE(&r->nodes.nodes, count) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct tag_trie_node *node = tag_trie_at(j->trie, i);

		r->tags[i] = node->tag;
		r->nodes.nodes.items[r->nodes.nodes.count++] =
			(struct store_node){.parent = node->parent, .location = node->location};
	}
	while (r->sizes.items && r->sizes.count < count) {
		if (VEC_RESERVE(&r->sizes, 1) < 0)
			return -ENOMEM;
		r->sizes.items[r->sizes.count++] = 0;
	}
	return 0;
}

static int join_move_origins(struct store_join *j)
{
	uint32_t count = origin_count(j->origins);
	struct store_reader *r = j->r;
	size_t runs = 0;

	for (uint32_t i = 0; i < count; i++)
		runs += origin_at(j->origins, i).n_runs;
	if (VEC_RESERVE(&r->origins, count) < 0 || VEC_RESERVE(&r->runs, runs + 1) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		struct origin origin = origin_at(j->origins, i);
		struct origin_run *to = r->runs.items + r->runs.count;

		if (origin.n_runs)
			memcpy(to, origin.runs, origin.n_runs * sizeof(*to));
		r->runs.count += origin.n_runs;
		origin.runs = to;
		r->origins.items[r->origins.count++] = origin;
	}
	return 0;
}

static int join_compare_counters(const void *a, const void *b)
{
	return strcmp(((const struct store_counter *)a)->name,
		      ((const struct store_counter *)b)->name);
}

/* Converts a time of the wall clock to the recording's clock. */
static uint64_t join_own_time(const struct store_recording *recording, uint64_t unix_ns)
{
	uint64_t start = recording->start_unix_ns;

	if (unix_ns >= start)
		return recording->start_ns + (unix_ns - start);
	return start - unix_ns < recording->start_ns ? recording->start_ns - (start - unix_ns) : 0;
}

/* Adds the part of a recording that the range selects to the whole's list of times. `next`: the
 * recording that follows, or NULL. */
static int join_select(struct store_reader *r, const struct reader_part *part,
		       const struct reader_part *next)
{
	const struct store_recording *own = &part->window->tables.recording;
	/* A recording's last record may be at its very end, so the end is included; but if the next
	 * recording of the range follows, that moment belongs to it. */
	const uint64_t end_ns = part->start_ns + (store_range_end(own) - own->start_unix_ns) +
				(next && !next->is_later);
	const uint64_t from = part->from_ns > part->start_ns ? part->from_ns : part->start_ns;
	const uint64_t to = next && part->to_ns > end_ns ? end_ns : part->to_ns;
	struct store_span span = {part->base_ns + (from - part->start_ns), UINT64_MAX};
	struct store_span *last = NULL;

	if (r->selected.count)
		last = &r->selected.items[r->selected.count - 1];
	if (to != UINT64_MAX)
		span.to_ns = part->base_ns + (to > part->start_ns ? to - part->start_ns : 0);
	if (span.to_ns <= span.from_ns)
		return 0;
	if (last && last->to_ns >= span.from_ns) {
		last->to_ns = span.to_ns > last->to_ns ? span.to_ns : last->to_ns;
		return 0;
	}
	if (VEC_RESERVE(&r->selected, 1) < 0)
		return -ENOMEM;
	r->selected.items[r->selected.count++] = span;
	return 0;
}

/* Limits each recording's times to the range. */
static int join_limit_parts(struct store_reader *r, const struct store_range *range)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < r->parts.count; i++) {
		struct reader_part *part = &r->parts.items[i];
		const struct store_recording *own = &part->window->tables.recording;

		if (part->is_later) /* from_ns and to_ns stay 0: none of its samples are read */
			break;
		part->from_ns = range->from_unix_ns ? join_own_time(own, range->from_unix_ns) : 0;
		part->to_ns =
			range->to_unix_ns ? join_own_time(own, range->to_unix_ns) : UINT64_MAX;
		err = join_select(r, part, i + 1 < r->parts.count ? part + 1 : NULL);
	}
	r->tables.selected = r->selected.items;
	r->tables.n_selected = (uint32_t)r->selected.count;
	return err;
}

/* Limits the whole's begin and end to the range. */
static void join_limit_whole(struct store_reader *r, const struct store_range *range)
{
	struct store_tables *t = &r->tables;
	struct store_recording *whole = &t->recording;
	const struct reader_part *last = &r->parts.items[t->n_recordings - 1];
	uint64_t late;

	t->is_cut = range->from_unix_ns > t->whole_from_unix_ns ||
		    (range->to_unix_ns && range->to_unix_ns < t->whole_to_unix_ns);
	if (range->to_unix_ns && last->to_ns > last->start_ns &&
	    last->base_ns + (last->to_ns - last->start_ns) < whole->end_ns)
		whole->end_ns = last->base_ns + (last->to_ns - last->start_ns);
	if (range->from_unix_ns > whole->start_unix_ns) {
		late = range->from_unix_ns - whole->start_unix_ns;
		whole->start_unix_ns += late;
		whole->start_ns += late;
	}
}

int store_join_finish(struct store_join *j, const struct store_range *range)
{
	struct store_reader *r = j->r;
	int err = join_move_lines(j);

	if (err == 0)
		err = join_move_nodes(j);
	if (err == 0)
		err = join_move_origins(j);
	if (err < 0)
		return err;
	if (r->counters.count)
		qsort(r->counters.items, r->counters.count, sizeof(*r->counters.items),
		      join_compare_counters);
	err = join_limit_parts(r, range);
	if (err < 0)
		return err;
	join_limit_whole(r, range);
	store_load_publish(r);
	return 0;
}

/* --- samples -------------------------------------------------------------------------------- */

struct join_samples {
	const struct reader_part *part;
	bool all;	  /* records outside of the range, too */
	uint64_t last_ns; /* time of the previous sample */
	int (*each)(void *arg, const struct store_sample *sample);
	void *arg;
};

/* Calls the caller's function for a sample, with the whole's numbers and time. A sample that
 * arrived after its window was closed is stored in the next window; if its time is then before that
 * of the previous sample, it gets the previous sample's time. */
static int join_sample(void *arg, const struct store_sample *sample)
{
	struct join_samples *s = arg;
	const struct reader_part *part = s->part;
	struct store_sample whole = *sample;

	if (!s->all && (sample->time_ns < part->from_ns || sample->time_ns >= part->to_ns))
		return 0;
	whole.thread = part->threads[sample->thread];
	whole.node = part->nodes[sample->node];
	whole.origin = part->origins[sample->origin];
	whole.time_ns = sample->time_ns - part->start_ns + part->base_ns;
	if (whole.time_ns < s->last_ns)
		whole.time_ns = s->last_ns;
	s->last_ns = whole.time_ns;
	return s->each(s->arg, &whole);
}

int store_join_records(struct store_reader *r, enum metric_series series, bool all,
		       int (*each)(void *arg, const struct store_sample *sample), void *arg)
{
	struct join_samples s = {.all = all, .each = each, .arg = arg};
	int err = 0;

	s.part = r->parts.items;
	for (size_t i = 0; err == 0 && i < r->parts.count; i++, s.part++)
		err = store_reader_records(s.part->window, series, join_sample, &s);
	return err;
}
