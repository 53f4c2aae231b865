/* SPDX-License-Identifier: MIT */
/*
 * Writes the whole profile as JSON, for users' own programs (docs/JSON.md has the members):
 *
 *   "schema": 1, the header's members,
 *   "threads": [...], "objects": [...], "symbols": [...], "frames": [...],
 *   "stacks": [[parent, frame], ...], "entries": [...]
 *
 * References are indices, and follow the element that they refer to, except from frames to symbols.
 * Each element is on a line of its own.
 */
#include "export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "export/stack_table.h"
#include "report/report_header.h"
#include "base/text.h"
#include "stack/end_reason.h"
#include "stack/provenance.h"

struct export_json {
	struct profile *profile;
	const struct store_tables *t;
	struct stack_table *table;
	const uint64_t *tags; /* by node */
	struct json json;
};

/* Begins an element of a list, on its own line. */
static void element(struct json *j)
{
	json_put_line(j);
	json_put_object(j, NULL);
}

static void list(struct json *j, const char *key)
{
	json_put_line(j);
	json_put_array(j, key);
}

static void write_threads(struct export_json *x)
{
	struct json *j = &x->json;

	list(j, "threads");
	for (uint32_t i = 0; !j->err && i < x->t->n_threads; i++) {
		const struct store_thread *thread = &x->t->threads[i];
		const struct store_process *process = &x->t->processes[thread->process];

		element(j);
		json_put_int(j, "pid", process->pid);
		json_put_int(j, "tid", thread->tid);
		json_put_int(j, "parent", process->parent);
		json_put_string(j, "comm", thread->comm);
		json_put_string(j, "process", process->comm);
		json_put_string(j, "exe", process->exe);
		json_put_string(j, "cgroup", thread->cgroup);
		json_put_end(j);
	}
	json_put_end(j);
}

static void write_objects(struct export_json *x)
{
	struct json *j = &x->json;

	list(j, "objects");
	for (uint32_t i = 0; !j->err && i < x->t->n_objects; i++) {
		const struct store_object *object = &x->t->objects[i];
		struct buf build_id = {0};

		for (size_t k = 0; k < object->build_id_len; k++)
			text_printf(&build_id, "%02x", object->build_id[k]);
		element(j);
		json_put_string(j, "path", object->path);
		json_put_hex(j, "file_id", object->file_id);
		json_put_text(j, "build_id", &build_id);
		json_put_string(j, "problem", object->problem);
		json_put_end(j);
	}
	json_put_end(j);
}

static void write_symbols(struct export_json *x)
{
	size_t n = profile_symbol_count(x->profile);

	list(&x->json, "symbols");
	for (uint32_t i = 0; !x->json.err && i < n; i++)
		report_json_symbol(profile_symbol_at(x->profile, i), &x->json);
	json_put_end(&x->json);
}

static void write_location(struct export_json *x, const struct profile_frame *frame)
{
	const struct store_location *location = &x->t->locations[frame->location];
	struct json *j = &x->json;

	json_put_uint(j, "object", location->object);
	json_put_uint(j, "offset", location->offset);
	json_put_bool(j, "return", location->is_return);
	if (location->provenance != PROVENANCE_NONE)
		json_put_string(j, "provenance", provenance_name(location->provenance));
	if (frame->file)
		json_put_string(j, "file", frame->file);
	if (frame->line)
		json_put_uint(j, "line", frame->line);
}

static void write_frames(struct export_json *x)
{
	struct json *j = &x->json;
	uint32_t n;
	const struct stack_table_frame *frames = stack_table_frames(x->table, &n);

	list(j, "frames");
	for (uint32_t i = 0; !j->err && i < n; i++) {
		const struct profile_frame *frame = &frames[i].frame;

		element(j);
		json_put_uint(j, "symbol", frame->symbol->number);
		json_put_bool(j, "inlined", frame->is_inlined);
		if (frame->is_inferred)
			json_put_bool(j, "inferred", true);
		if (frame->location != UINT32_MAX)
			write_location(x, frame);
		json_put_end(j);
	}
	json_put_end(j);
}

static void write_stacks(struct export_json *x)
{
	struct json *j = &x->json;
	uint32_t n;
	const struct stack_table_stack *stacks = stack_table_stacks(x->table, &n);

	list(j, "stacks");
	for (uint32_t i = 0; !j->err && i < n; i++) {
		bool is_root = stacks[i].parent == STACK_TABLE_NONE;

		json_put_line(j);
		json_put_array(j, NULL);
		json_put_int(j, NULL, is_root ? -1 : (int64_t)stacks[i].parent);
		json_put_uint(j, NULL, stacks[i].frame);
		json_put_end(j);
	}
	json_put_end(j);
}

static void write_entries(struct export_json *x)
{
	static const char *const qualities[] = {[PROFILE_COMPLETE] = "complete",
						[PROFILE_RECONSTRUCTED] = "reconstructed",
						[PROFILE_PARTIAL] = "partial",
						[PROFILE_LOST] = "partial"};
	struct json *j = &x->json;
	size_t n;
	const struct profile_entry *entries = profile_entries(x->profile, &n);

	list(j, "entries");
	for (size_t i = 0; !j->err && i < n; i++) {
		const struct profile_entry *e = &entries[i];

		element(j);
		json_put_uint(j, "thread", e->thread);
		json_put_uint(j, "stack",
			      stack_table_find(x->table, e->node, e->end_reason, e->origin));
		json_put_hex(j, "tag", x->tags[e->node]);
		json_put_string(j, "quality", qualities[e->quality]);
		json_put_string(j, "end", end_reason_name(e->end_reason));
		json_put_uint(j, "samples", e->samples);
		json_put_uint(j, "weight", e->weight);
		json_put_end(j);
	}
	json_put_end(j);
}

int export_json(struct profile *profile, FILE *out)
{
	static void (*const parts[])(struct export_json *) = {write_threads, write_objects,
							      write_frames,  write_symbols,
							      write_stacks,  write_entries};
	struct export_json x = {
		.profile = profile, .t = profile_tables(profile), .json = {.out = out}};
	int err = stack_table_new(profile, &x.table);

	if (err == 0)
		err = profile_tags(profile, &x.tags);
	report_header_begin_json(profile, &x.json);
	for (size_t i = 0; err == 0 && i < sizeof(parts) / sizeof(*parts); i++)
		parts[i](&x);
	stack_table_free(x.table);
	return json_put_finish(&x.json, err);
}
