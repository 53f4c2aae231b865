/* SPDX-License-Identifier: MIT */
/* Fills batches with new rows; see outbox.h. */
#include "daemon/recorder/outbox.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/vec.h"

struct outbox {
	struct outbox_tables from;
	struct batch *batch; /* being filled */
	size_t samples_room, cgroups_room, labels_room, records_room;
	struct {
		uint32_t objects, locations, processes, threads, nodes, origins;
	} sent;
	VEC(uint32_t)
	rows; /* index: number of the object; value: number of the object's row, + 1;
	       * 0: it has none */
	uint32_t n_rows;
};

int outbox_new(const struct outbox_tables *tables, struct outbox **ret_outbox)
{
	struct outbox *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->from = *tables;
	o->sent.nodes = 1;   /* the empty path is known */
	o->sent.origins = 1; /* so is ORIGIN_WALKED */
	o->batch = batch_new();
	if (!o->batch) {
		free(o);
		return -ENOMEM;
	}
	*ret_outbox = o;
	return 0;
}

void outbox_free(struct outbox *o)
{
	if (!o)
		return;
	batch_free(o->batch);
	free(o->rows.items);
	free(o);
}

void outbox_begin_anew(struct outbox *o)
{
	o->sent.objects = object_table_count(o->from.objects);
	o->sent.locations = o->sent.processes = o->sent.threads = 0;
	o->sent.nodes = o->sent.origins = 1;
	o->rows.count = 0;
	o->n_rows = 0;
}

int outbox_keep(struct outbox *o, const struct store_sample *sample)
{
	struct batch *b = o->batch;

	if (VEC_GROW(b->samples, o->samples_room, b->n_samples + 1))
		return -ENOMEM;
	b->samples[b->n_samples++] = *sample;
	return 0;
}

/* Names a cgroup by its path, or by its id if the cgroup was removed before its path could be
 * read. */
static char *name_of_cgroup(const struct outbox *o, uint64_t id)
{
	const char *path = cgroup_table_path(o->from.cgroups, id);
	char *name = NULL;

	if (path)
		return strdup(path);
	return asprintf(&name, "[cgroup %" PRIu64 "]", id) < 0 ? NULL : name;
}

static int add_cgroup(struct outbox *o, struct batch *b, const struct thread *thread)
{
	struct batch_cgroup row = {.thread = thread->row};

	if (!thread->cgroup)
		return 0;
	if (VEC_GROW(b->cgroups, o->cgroups_room, b->n_cgroups + 1))
		return -ENOMEM;
	row.path = name_of_cgroup(o, thread->cgroup);
	if (!row.path)
		return -ENOMEM;
	b->cgroups[b->n_cgroups++] = row;
	return 0;
}

int outbox_keep_cgroup(struct outbox *o, const struct thread *thread)
{
	/* If the thread's own row has not been sent yet, it will be sent with the cgroup. */
	return thread->row < o->sent.threads ? add_cgroup(o, o->batch, thread) : 0;
}

int outbox_keep_labels(struct outbox *o, uint32_t thread, char *text)
{
	struct batch *b = o->batch;

	if (VEC_GROW(b->labels, o->labels_room, b->n_labels + 1)) {
		free(text);
		return -ENOMEM;
	}
	b->labels[b->n_labels++] = (struct batch_labels){thread, text};
	return 0;
}

int outbox_keep_record(struct outbox *o, enum metric_series series, const struct store_sample *row)
{
	struct batch *b = o->batch;

	if (VEC_GROW(b->records, o->records_room, b->n_records + 1))
		return -ENOMEM;
	b->records[b->n_records++] = (struct batch_record){.series = series, .row = *row};
	return 0;
}

/* --- new rows of the tables ------------------------------------------------------------------ */

/* Adds a row for an object to the batch, which has room for it, unless the object has a row. */
static void add_row(struct outbox *o, struct batch *b, uint32_t object)
{
	uint32_t *row = &o->rows.items[object];

	if (*row)
		return;
	*row = ++o->n_rows;
	b->objects[b->n_objects++] = object_table_at(o->from.objects, object);
}

/* Adds rows for the new objects, and for older objects that new locations lie in. */
static int take_objects(struct outbox *o, struct batch *b)
{
	uint32_t count = object_table_count(o->from.objects);
	uint32_t n_locations = location_count(o->from.locations);
	size_t most = (size_t)count - o->sent.objects + n_locations - o->sent.locations;

	b->objects = calloc(most + 1, sizeof(const struct object *));
	if (!b->objects || VEC_RESERVE(&o->rows, count - o->rows.count) < 0)
		return -ENOMEM;
	while (o->rows.count < count)
		o->rows.items[o->rows.count++] = 0;
	for (; o->sent.objects < count; o->sent.objects++)
		add_row(o, b, o->sent.objects);
	for (uint32_t i = o->sent.locations; i < n_locations; i++)
		add_row(o, b, location_at(o->from.locations, i)->object);
	return 0;
}

/* Takes the name of a location of managed code, which no one can look up later. */
static int take_name(const struct outbox *o, struct batch *b, const struct location *l)
{
	struct store_line line = {.location = o->sent.locations};
	struct managed_name name;

	if (object_table_at(o->from.objects, l->object)->kind != OBJECT_MANAGED ||
	    !o->from.managed || !managed_name_of(o->from.managed, l, &name))
		return 0;
	line.function = strdup(name.function);
	line.file = name.file ? strdup(name.file) : NULL;
	line.line = name.line;
	line.function_start = name.first_line;
	b->lines[b->n_lines++] = line;
	return line.function && (line.file || !name.file) ? 0 : -ENOMEM;
}

static int take_locations(struct outbox *o, struct batch *b)
{
	uint32_t count = location_count(o->from.locations);

	b->locations = calloc(count - o->sent.locations + 1, sizeof(*b->locations));
	b->located = calloc(count - o->sent.locations + 1, sizeof(const struct object *));
	b->lines = calloc(count - o->sent.locations + 1, sizeof(*b->lines));
	if (!b->locations || !b->located || !b->lines)
		return -ENOMEM;
	for (; o->sent.locations < count; o->sent.locations++) {
		const struct location *l = location_at(o->from.locations, o->sent.locations);

		b->located[b->n_locations] = object_table_at(o->from.objects, l->object);
		object_await_names(b->located[b->n_locations], 1);
		b->locations[b->n_locations++] = (struct store_location){
			.number = o->sent.locations,
			.object = o->rows.items[l->object] - 1,
			.offset = l->offset,
			.is_return = l->is_return,
			.provenance = l->provenance,
		};
		if (take_name(o, b, l))
			return -ENOMEM;
	}
	return 0;
}

static int take_nodes(struct outbox *o, struct batch *b)
{
	uint32_t count = tag_trie_count(o->from.trie);

	b->nodes = calloc(count - o->sent.nodes + 1, sizeof(*b->nodes));
	if (o->from.has_sizes)
		b->sizes = calloc(count - o->sent.nodes + 1, sizeof(*b->sizes));
	if (!b->nodes || (o->from.has_sizes && !b->sizes))
		return -ENOMEM;
	for (; o->sent.nodes < count; o->sent.nodes++) {
		const struct tag_trie_node *node = tag_trie_at(o->from.trie, o->sent.nodes);

		if (b->sizes)
			b->sizes[b->n_nodes] = thread_paths_size(o->from.paths, o->sent.nodes);
		b->nodes[b->n_nodes++] = (struct store_node){
			.parent = node->parent,
			.location = node->location,
		};
	}
	return 0;
}

static int take_origins(struct outbox *o, struct batch *b)
{
	uint32_t count = origin_count(o->from.origins);

	b->origins = calloc(count - o->sent.origins + 1, sizeof(*b->origins));
	if (!b->origins)
		return -ENOMEM;
	for (; o->sent.origins < count; o->sent.origins++) {
		struct origin *origin = &b->origins[b->n_origins];
		struct origin_run *runs;

		*origin = origin_at(o->from.origins, o->sent.origins);
		runs = calloc((size_t)origin->n_runs + 1, sizeof(*runs));
		if (!runs)
			return -ENOMEM;
		if (origin->n_runs)
			memcpy(runs, origin->runs, origin->n_runs * sizeof(*runs));
		origin->runs = runs;
		b->n_origins++;
	}
	return 0;
}

static int take_processes(struct outbox *o, struct batch *b)
{
	uint32_t count = process_table_process_rows(o->from.processes);

	b->processes = calloc(count - o->sent.processes + 1, sizeof(*b->processes));
	if (!b->processes)
		return -ENOMEM;
	for (; o->sent.processes < count; o->sent.processes++) {
		const struct process *p =
			process_table_process_of_row(o->from.processes, o->sent.processes);
		struct store_process *row = &b->processes[b->n_processes++];

		*row = (struct store_process){
			.number = p->row,
			.pid = p->pid,
			.parent = p->parent,
			.comm = strdup(p->comm),
			.exe = p->exe ? strdup(p->exe) : NULL,
		};
		if (!row->comm || (p->exe && !row->exe))
			return -ENOMEM;
	}
	return 0;
}

static int take_threads(struct outbox *o, struct batch *b)
{
	uint32_t count = process_table_thread_rows(o->from.processes);

	b->threads = calloc(count - o->sent.threads + 1, sizeof(*b->threads));
	if (!b->threads)
		return -ENOMEM;
	for (; o->sent.threads < count; o->sent.threads++) {
		const struct thread *t =
			process_table_thread_of_row(o->from.processes, o->sent.threads);
		struct store_thread *row = &b->threads[b->n_threads++];

		*row = (struct store_thread){
			.number = t->row,
			.process = process_table_process_at(o->from.processes, t->process)->row,
			.tid = t->tid,
			.comm = strdup(t->comm),
		};
		if (!row->comm || add_cgroup(o, b, t))
			return -ENOMEM;
	}
	return 0;
}

struct batch *outbox_take(struct outbox *o)
{
	struct batch *b = o->batch, *fresh = batch_new();

	if (!fresh)
		return NULL;
	if (take_objects(o, b) || take_locations(o, b) || take_nodes(o, b) || take_origins(o, b) ||
	    take_processes(o, b) || take_threads(o, b)) {
		batch_free(fresh);
		return NULL;
	}
	o->batch = fresh;
	o->samples_room = o->cgroups_room = o->labels_room = o->records_room = 0;
	return b;
}
