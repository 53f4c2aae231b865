/* SPDX-License-Identifier: MIT */
/* The tables of an import as rows of the store; see import_rows.h. */
#include "perf/import_rows.h"

#include <string.h>

#include "sym/naming.h"

struct import_rows import_rows_of(struct store_writer *writer,
				  const struct import_processes *processes,
				  const struct tag_trie *trie, const struct origin_table *origins)
{
	return (struct import_rows){
		.writer = writer,
		.processes = processes,
		.trie = trie,
		.origins = origins,
		.written = {.nodes = TAG_TRIE_ROOT + 1, .origins = ORIGIN_WALKED + 1},
	};
}

/* --- new rows --- */

static int write_objects(struct import_rows *rows)
{
	int err = 0;

	for (; !err && rows->written.objects < object_table_count(rows->processes->objects);) {
		const struct object *o =
			object_table_at(rows->processes->objects, rows->written.objects++);
		const struct store_object row = {
			.number = o->number,
			.kind = o->kind,
			.file_id = o->file_id,
			.path = o->path,
			.build_id = o->build_id,
			.build_id_len = o->build_id_len,
			.layout = o->kind == OBJECT_ELF ? o->layout : 0,
			.problem = o->error ? strerror(-o->error) : NULL,
		};

		err = store_writer_object(rows->writer, &row);
	}
	return err;
}

static int write_locations(struct import_rows *rows)
{
	int err = 0;

	for (; !err && rows->written.locations < location_count(rows->processes->locations);) {
		const struct location *l =
			location_at(rows->processes->locations, rows->written.locations);
		const struct store_location row = {
			.number = rows->written.locations++,
			.object = l->object,
			.offset = l->offset,
			.is_return = l->is_return,
			.provenance = l->provenance,
		};

		err = store_writer_location(rows->writer, &row);
	}
	return err;
}

static int write_processes(struct import_rows *rows)
{
	int err = 0;

	for (; !err &&
	       rows->written.processes < process_table_process_count(rows->processes->table);) {
		const struct process *p =
			process_table_process_at(rows->processes->table, rows->written.processes++);
		const struct store_process row = {
			.number = p->number,
			.pid = p->pid,
			.parent = p->parent,
			.comm = p->comm,
			.exe = p->exe,
		};

		err = store_writer_process(rows->writer, &row);
	}
	return err;
}

static int write_threads(struct import_rows *rows)
{
	int err = 0;

	for (;
	     !err && rows->written.threads < process_table_thread_count(rows->processes->table);) {
		const struct thread *t =
			process_table_thread_at(rows->processes->table, rows->written.threads++);
		const struct store_thread row = {
			.number = t->number, .process = t->process, .tid = t->tid, .comm = t->comm};

		err = store_writer_thread(rows->writer, &row);
	}
	return err;
}

static int write_paths(struct import_rows *rows)
{
	int err = 0;

	for (; !err && rows->written.nodes < tag_trie_count(rows->trie); rows->written.nodes++) {
		const struct tag_trie_node *node = tag_trie_at(rows->trie, rows->written.nodes);
		const struct store_node row = {.parent = node->parent, .location = node->location};

		err = store_writer_node(rows->writer, &row);
	}
	for (; !err && rows->written.origins < origin_count(rows->origins);
	     rows->written.origins++) {
		const struct origin origin = origin_at(rows->origins, rows->written.origins);

		err = store_writer_origin(rows->writer, rows->written.origins, &origin);
	}
	return err;
}

int import_rows_write_new(struct import_rows *rows)
{
	int err = write_objects(rows);

	if (!err)
		err = write_locations(rows);
	if (!err)
		err = write_processes(rows);
	if (!err)
		err = write_threads(rows);
	return err ? err : write_paths(rows);
}

/* --- names --- */

static int write_line(void *arg, const struct store_line *line)
{
	struct import_rows *rows = arg;

	return store_writer_line(rows->writer, line);
}

static int write_name(struct import_rows *rows, struct naming *naming, uint32_t number)
{
	const struct location *l = location_at(rows->processes->locations, number);
	const struct object *object = object_table_at(rows->processes->objects, l->object);
	const struct store_location location = {.number = number,
						.object = l->object,
						.offset = l->offset,
						.is_return = l->is_return};
	struct store_line line = {.location = number};

	line.function = import_kernel_name(rows->processes->kernel, object, l->offset,
					   &line.function_start);
	if (line.function)
		return write_line(rows, &line);
	return naming_resolve(naming, object, &location, write_line, rows);
}

int import_rows_write_names(struct import_rows *rows)
{
	struct naming *naming;
	int err = naming_new("/nonexistent", &naming);

	if (err)
		return err;
	naming_set_kallsyms(naming, import_kernel_kallsyms(rows->processes->kernel));
	for (uint32_t i = 0; !err && i < location_count(rows->processes->locations); i++)
		err = write_name(rows, naming, i);
	naming_free(naming);
	return err;
}
