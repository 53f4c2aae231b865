/* SPDX-License-Identifier: MIT */
/*
 * Everything that the model knows, as JSON, for programs that are written for it (docs/JSON.md has
 * the members):
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

#define JSON_DRAIN 65536 /* bytes after which the buffer is written out */

struct export_json {
	struct profile *profile;
	const struct store_tables *t;
	struct stack_table *table;
	FILE *out;
	struct buf b;
};

/* Begins element `i` of a list. */
static int json_element(struct export_json *json, size_t i)
{
	int err = json->b.len >= JSON_DRAIN || json->b.failed ? text_flush(&json->b, json->out) : 0;

	text_put_raw(&json->b, i ? ",\n" : "\n");
	return err;
}

static void json_string(struct export_json *json, const char *name, const char *value)
{
	text_put_raw(&json->b, name);
	text_put_json(&json->b, value ? value : "");
}

static const char *json_bool(bool value)
{
	return value ? "true" : "false";
}

static int json_threads(struct export_json *json)
{
	int err = 0;

	text_put_raw(&json->b, ",\n\"threads\":[");
	for (uint32_t i = 0; err == 0 && i < json->t->n_threads; i++) {
		const struct store_thread *thread = &json->t->threads[i];
		const struct store_process *process = &json->t->processes[thread->process];

		err = json_element(json, i);
		text_printf(&json->b, "{\"pid\":%d,\"tid\":%d,\"parent\":%d", process->pid,
			    thread->tid, process->parent);
		json_string(json, ",\"comm\":", thread->comm);
		json_string(json, ",\"process\":", process->comm);
		json_string(json, ",\"exe\":", process->exe);
		json_string(json, ",\"cgroup\":", thread->cgroup);
		text_put_raw(&json->b, "}");
	}
	text_put_raw(&json->b, "]");
	return err;
}

static int json_objects(struct export_json *json)
{
	int err = 0;

	text_put_raw(&json->b, ",\n\"objects\":[");
	for (uint32_t i = 0; err == 0 && i < json->t->n_objects; i++) {
		const struct store_object *object = &json->t->objects[i];

		err = json_element(json, i);
		json_string(json, "{\"path\":", object->path);
		text_printf(&json->b, ",\"file_id\":\"%016" PRIx64 "\",\"build_id\":\"",
			    object->file_id);
		for (size_t j = 0; j < object->build_id_len; j++)
			text_printf(&json->b, "%02x", object->build_id[j]);
		json_string(json, "\",\"problem\":", object->problem);
		text_put_raw(&json->b, "}");
	}
	text_put_raw(&json->b, "]");
	return err;
}

static int json_symbols(struct export_json *json)
{
	size_t n = profile_symbol_count(json->profile);
	int err = 0;

	text_put_raw(&json->b, ",\n\"symbols\":[");
	for (uint32_t i = 0; err == 0 && i < n; i++) {
		const struct profile_symbol *symbol = profile_symbol_at(json->profile, i);

		err = json_element(json, i);
		json_string(json, "{\"name\":", symbol->name);
		json_string(json, ",\"object\":", symbol->object);
		text_printf(&json->b, ",\"kernel\":%s,\"mark\":%s,\"unnamed\":%s}",
			    json_bool(symbol->is_kernel), json_bool(symbol->is_mark),
			    json_bool(symbol->is_unnamed));
	}
	text_put_raw(&json->b, "]");
	return err;
}

static void json_location(struct export_json *json, const struct profile_frame *frame)
{
	const struct store_location *location = &json->t->locations[frame->location];

	text_printf(&json->b, ",\"object\":%u,\"offset\":%" PRIu64 ",\"return\":%s",
		    location->object, location->offset, json_bool(location->is_return));
	if (location->provenance != PROVENANCE_NONE)
		json_string(json, ",\"provenance\":", provenance_name(location->provenance));
	if (frame->file)
		json_string(json, ",\"file\":", frame->file);
	if (frame->line)
		text_printf(&json->b, ",\"line\":%u", frame->line);
}

static int json_frames(struct export_json *json)
{
	uint32_t n;
	const struct stack_table_frame *frames = stack_table_frames(json->table, &n);
	int err = 0;

	text_put_raw(&json->b, ",\n\"frames\":[");
	for (uint32_t i = 0; err == 0 && i < n; i++) {
		const struct profile_frame *frame = &frames[i].frame;

		err = json_element(json, i);
		text_printf(&json->b, "{\"symbol\":%u,\"inlined\":%s", frame->symbol->number,
			    json_bool(frame->is_inlined));
		if (frame->is_inferred)
			text_put_raw(&json->b, ",\"inferred\":true");
		if (frame->location != UINT32_MAX)
			json_location(json, frame);
		text_put_raw(&json->b, "}");
	}
	text_put_raw(&json->b, "]");
	return err;
}

static int json_stacks(struct export_json *json)
{
	uint32_t n;
	const struct stack_table_stack *stacks = stack_table_stacks(json->table, &n);
	int err = 0;

	text_put_raw(&json->b, ",\n\"stacks\":[");
	for (uint32_t i = 0; err == 0 && i < n; i++) {
		bool is_root = stacks[i].parent == STACK_TABLE_NONE;

		err = json_element(json, i);
		text_printf(&json->b, "[%" PRId64 ",%u]", is_root ? -1 : (int64_t)stacks[i].parent,
			    stacks[i].frame);
	}
	text_put_raw(&json->b, "]");
	return err;
}

static int json_entries(struct export_json *json)
{
	static const char *const qualities[] = {[PROFILE_COMPLETE] = "complete",
						[PROFILE_RECONSTRUCTED] = "reconstructed",
						[PROFILE_PARTIAL] = "partial",
						[PROFILE_LOST] = "partial"};
	size_t n;
	const struct profile_entry *entries = profile_entries(json->profile, &n);
	const uint64_t *tags;
	int err = profile_tags(json->profile, &tags);

	text_put_raw(&json->b, ",\n\"entries\":[");
	for (size_t i = 0; err == 0 && i < n; i++) {
		const struct profile_entry *e = &entries[i];

		err = json_element(json, i);
		text_printf(&json->b, "{\"thread\":%u,\"stack\":%u,\"tag\":\"%016" PRIx64 "\"",
			    e->thread,
			    stack_table_find(json->table, e->node, e->end_reason, e->origin),
			    tags[e->node]);
		text_printf(&json->b,
			    ",\"quality\":\"%s\",\"end\":\"%s\",\"samples\":%" PRIu64
			    ",\"weight\":%" PRIu64 "}",
			    qualities[e->quality], end_reason_name(e->end_reason), e->samples,
			    e->weight);
	}
	text_put_raw(&json->b, "]}\n");
	return err;
}

static int json_write(struct export_json *json)
{
	static int (*const parts[])(struct export_json *) = {
		json_threads, json_objects, json_frames, json_symbols, json_stacks, json_entries};
	int err = stack_table_new(json->profile, &json->table);

	text_put_raw(&json->b, "{\"schema\":1,");
	report_header_json(json->profile, &json->b);
	for (size_t i = 0; err == 0 && i < sizeof(parts) / sizeof(*parts); i++)
		err = parts[i](json);
	return err < 0 ? err : text_flush(&json->b, json->out);
}

int export_json(struct profile *profile, FILE *out)
{
	struct export_json json = {.profile = profile, .t = profile_tables(profile), .out = out};
	int err = json_write(&json);

	if (err == 0 && fflush(out) != 0)
		err = -EIO;
	stack_table_free(json.table);
	buf_free(&json.b);
	return err;
}
