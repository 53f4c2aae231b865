/* SPDX-License-Identifier: MIT */
/*
 * The processed profile of Firefox's profiler, version 60: all tables are shared by all threads.
 * https://github.com/firefox-devtools/profiler/blob/main/docs-developer/CHANGELOG-formats.md
 *
 *   stackTable: (prefix, frame) ─► frameTable: (func, category, line, inline depth, address)
 *      ▲                             ─► funcTable: a symbol of the model ─► resourceTable: its
 * object threads[].samples: one each, in time order, by time since the one before
 *
 * Categories distinguish user code, the kernel, root marks of incomplete paths and frames that were
 * not observed apart. Strings: name of symbol i is string i, then come the objects' paths and the
 * files of the sources.
 */
#include "export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/stack_table.h"
#include "export/thread_samples.h"
#include "report/report_header.h"
#include "base/strings.h"
#include "base/text.h"

#define FIREFOX_VERSION 60
#define FIREFOX_DRAIN	65536 /* bytes after which the buffer is written out */

enum firefox_category {
	FIREFOX_OTHER,
	FIREFOX_USER,
	FIREFOX_KERNEL,
	FIREFOX_INCOMPLETE,
	FIREFOX_INFERRED
};

struct firefox {
	struct profile *profile;
	const struct store_tables *t;
	FILE *out;
	struct stack_table *table;
	struct thread_samples by_thread;
	struct strings *strings, *resources; /* resources are known by their paths */
	uint32_t *resource_lib;		     /* its library + 1; 0: none */
	uint32_t *resource_name;	     /* string */
	uint32_t *func_name, *func_file;     /* by symbol: strings; file + 1 */
	uint32_t *func_resource;	     /* its resource + 1; 0: none */
	uint32_t n_symbols;
	struct buf b;
};

static void firefox_drain(struct firefox *f, size_t least, int *err)
{
	if (*err == 0 && (f->b.len >= least || f->b.failed))
		*err = text_flush(&f->b, f->out);
}

static uint32_t firefox_string(struct firefox *f, const char *s, int *err)
{
	uint32_t number = 0;
	int result = strings_intern(f->strings, s ? s : "", &number);

	if (*err == 0)
		*err = result;
	return number;
}

/* A column of a table: what `value` writes for each row. */
static void firefox_column(struct firefox *f, const char *name, uint32_t n,
			   void (*value)(struct firefox *f, uint32_t i), int *err)
{
	text_printf(&f->b, ",\n\"%s\":[", name);
	for (uint32_t i = 0; *err == 0 && i < n; i++) {
		text_put_raw(&f->b, i ? "," : "");
		value(f, i);
		firefox_drain(f, FIREFOX_DRAIN, err);
	}
	text_put_raw(&f->b, "]");
}

/* The columns of a table: a value for each row. */
struct firefox_column {
	const char *name;
	void (*value)(struct firefox *f, uint32_t i);
};

/* A table of them; its name is preceded by `before`. */
static void firefox_table(struct firefox *f, const char *before, const char *name, uint32_t n,
			  const struct firefox_column *columns, int *err)
{
	text_printf(&f->b, "%s\"%s\":{\"length\":%u", before, name, n);
	for (; columns->name; columns++)
		firefox_column(f, columns->name, n, columns->value, err);
	text_put_raw(&f->b, "}");
}

/* --- columns --------------------------------------------------------------------------------- */

static void firefox_null(struct firefox *f, uint32_t i)
{
	(void)i;
	text_put_raw(&f->b, "null");
}

static void firefox_zero(struct firefox *f, uint32_t i)
{
	(void)i;
	text_put_raw(&f->b, "0");
}

static void firefox_false(struct firefox *f, uint32_t i)
{
	(void)i;
	text_put_raw(&f->b, "false");
}

static const struct stack_table_frame *firefox_frame(struct firefox *f, uint32_t i)
{
	uint32_t n;

	return &stack_table_frames(f->table, &n)[i];
}

static void firefox_prefix(struct firefox *f, uint32_t i)
{
	uint32_t n, parent = stack_table_stacks(f->table, &n)[i].parent;

	if (parent == STACK_TABLE_NONE)
		text_put_raw(&f->b, "null");
	else
		text_printf(&f->b, "%u", parent);
}

static void firefox_stack_frame(struct firefox *f, uint32_t i)
{
	uint32_t n;

	text_printf(&f->b, "%u", stack_table_stacks(f->table, &n)[i].frame);
}

static void firefox_address(struct firefox *f, uint32_t i)
{
	uint32_t location = firefox_frame(f, i)->frame.location;

	if (location == UINT32_MAX)
		text_put_raw(&f->b, "-1");
	else
		text_printf(&f->b, "%" PRIu64, f->t->locations[location].offset);
}

static void firefox_inline_depth(struct firefox *f, uint32_t i)
{
	text_printf(&f->b, "%u", firefox_frame(f, i)->inline_depth);
}

static void firefox_category(struct firefox *f, uint32_t i)
{
	const struct profile_frame *frame = &firefox_frame(f, i)->frame;
	const struct profile_symbol *symbol = frame->symbol;

	text_printf(&f->b, "%d",
		    symbol->is_mark	 ? FIREFOX_INCOMPLETE
		    : frame->is_inferred ? FIREFOX_INFERRED
		    : symbol->is_kernel	 ? FIREFOX_KERNEL
					 : FIREFOX_USER);
}

static void firefox_func(struct firefox *f, uint32_t i)
{
	text_printf(&f->b, "%u", firefox_frame(f, i)->frame.symbol->number);
}

static void firefox_line(struct firefox *f, uint32_t i)
{
	uint32_t line = firefox_frame(f, i)->frame.line;

	if (line)
		text_printf(&f->b, "%u", line);
	else
		text_put_raw(&f->b, "null");
}

static void firefox_func_name(struct firefox *f, uint32_t i)
{
	text_printf(&f->b, "%u", f->func_name[i]);
}

static void firefox_func_resource(struct firefox *f, uint32_t i)
{
	text_printf(&f->b, "%" PRId64, (int64_t)f->func_resource[i] - 1);
}

static void firefox_func_source(struct firefox *f, uint32_t i)
{
	if (f->func_file[i])
		text_printf(&f->b, "%u", f->func_file[i] - 1);
	else
		text_put_raw(&f->b, "null");
}

static void firefox_resource_lib(struct firefox *f, uint32_t i)
{
	if (f->resource_lib[i])
		text_printf(&f->b, "%u", f->resource_lib[i] - 1);
	else
		text_put_raw(&f->b, "null");
}

static void firefox_resource_name(struct firefox *f, uint32_t i)
{
	text_printf(&f->b, "%u", f->resource_name[i]);
}

/* 1 is "library". */
static void firefox_resource_type(struct firefox *f, uint32_t i)
{
	(void)i;
	text_put_raw(&f->b, "1");
}

static void firefox_string_itself(struct firefox *f, uint32_t i)
{
	text_put_raw(&f->b, "\n");
	text_put_json(&f->b, strings_at(f->strings, i));
}

/* Sources are simply all strings: a file is the source of its string's number. */
static void firefox_source_file(struct firefox *f, uint32_t i)
{
	text_printf(&f->b, "%u", i);
}

/* --- tables ---------------------------------------------------------------------------------- */

static void firefox_stack_table(struct firefox *f, int *err)
{
	static const struct firefox_column columns[] = {
		{"prefix", firefox_prefix}, {"frame", firefox_stack_frame}, {0}};
	uint32_t n;

	stack_table_stacks(f->table, &n);
	firefox_table(f, "", "stackTable", n, columns, err);
}

static void firefox_frame_table(struct firefox *f, int *err)
{
	static const struct firefox_column columns[] = {
		{"address", firefox_address},	 {"inlineDepth", firefox_inline_depth},
		{"category", firefox_category},	 {"subcategory", firefox_zero},
		{"func", firefox_func},		 {"nativeSymbol", firefox_null},
		{"innerWindowID", firefox_null}, {"line", firefox_line},
		{"column", firefox_null},	 {0}};
	uint32_t n;

	stack_table_frames(f->table, &n);
	firefox_table(f, ",\n", "frameTable", n, columns, err);
}

static void firefox_func_table(struct firefox *f, int *err)
{
	static const struct firefox_column columns[] = {
		{"name", firefox_func_name},	  {"isJS", firefox_false},
		{"relevantForJS", firefox_false}, {"resource", firefox_func_resource},
		{"source", firefox_func_source},  {"lineNumber", firefox_null},
		{"columnNumber", firefox_null},	  {0}};
	uint32_t n = f->n_symbols;

	firefox_table(f, ",\n", "funcTable", n, columns, err);
}

/* The id that symbol servers know a file by: the build-id's first 16 bytes as a GUID, the first
 * three fields of which are little-endian. */
static void firefox_breakpad_id(struct firefox *f, const struct store_object *object)
{
	static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};

	for (size_t i = 0; object->build_id_len && i < 16; i++) {
		uint8_t at = order[i];

		text_printf(&f->b, "%02X", at < object->build_id_len ? object->build_id[at] : 0);
	}
	text_put_raw(&f->b, object->build_id_len ? "0" : "");
}

static void firefox_lib(struct firefox *f, const struct store_object *object)
{
	const char *path = object->path ? object->path : "[unknown]";
	const char *names[] = {"name", "path", "debugName", "debugPath"};

	for (size_t i = 0; i < 4; i++) {
		text_printf(&f->b, "%s\"%s\":", i ? "," : "{", names[i]);
		text_put_json(&f->b, i % 2 ? path : text_basename(path));
	}
	text_put_raw(&f->b, ",\"arch\":\"\",\"breakpadId\":\"");
	firefox_breakpad_id(f, object);
	text_put_raw(&f->b, "\",\"codeId\":\"");
	for (size_t i = 0; i < object->build_id_len; i++)
		text_printf(&f->b, "%02x", object->build_id[i]);
	text_put_raw(&f->b, "\"}");
}

static void firefox_libs(struct firefox *f, int *err)
{
	text_put_raw(&f->b, ",\n\"libs\":[");
	for (uint32_t i = 0; *err == 0 && i < f->t->n_objects; i++) {
		text_put_raw(&f->b, i ? ",\n" : "\n");
		firefox_lib(f, &f->t->objects[i]);
		firefox_drain(f, FIREFOX_DRAIN, err);
	}
	text_put_raw(&f->b, "]");
}

static void firefox_resource_table(struct firefox *f, int *err)
{
	static const struct firefox_column columns[] = {{"lib", firefox_resource_lib},
							{"name", firefox_resource_name},
							{"host", firefox_null},
							{"type", firefox_resource_type},
							{0}};
	uint32_t n = strings_count(f->resources);

	firefox_table(f, ",\n", "resourceTable", n, columns, err);
}

static void firefox_shared(struct firefox *f, int *err)
{
	uint32_t n = strings_count(f->strings);

	text_put_raw(&f->b, ",\n\"shared\":{");
	firefox_stack_table(f, err);
	firefox_frame_table(f, err);
	firefox_func_table(f, err);
	firefox_resource_table(f, err);
	text_put_raw(&f->b, ",\n\"nativeSymbols\":{\"length\":0,\"address\":[],\"functionSize\":[],"
			    "\"libIndex\":[],\"name\":[]}");
	text_printf(&f->b, ",\n\"sources\":{\"length\":%u", n);
	firefox_column(f, "uuid", n, firefox_null, err);
	firefox_column(f, "filename", n, firefox_source_file, err);
	text_put_raw(&f->b, "}");
	firefox_column(f, "stringArray", n, firefox_string_itself, err);
	text_put_raw(&f->b, "}");
}

/* --- threads --------------------------------------------------------------------------------- */

/* How many samples each counts as; null: each as one. */
static void firefox_weights(struct firefox *f, const struct thread_samples_sample *samples,
			    size_t n, int *err)
{
	bool is_any = false;

	for (size_t i = 0; i < n; i++)
		is_any |= samples[i].periods != 1;
	text_put_raw(&f->b, is_any ? "[" : "null");
	for (size_t i = 0; *err == 0 && is_any && i < n; i++) {
		text_printf(&f->b, "%s%" PRIu64, i ? "," : "", samples[i].periods);
		firefox_drain(f, FIREFOX_DRAIN, err);
	}
	if (is_any)
		text_put_raw(&f->b, "]");
}

static void firefox_samples(struct firefox *f, uint32_t thread, int *err)
{
	const struct thread_samples_sample *samples =
		f->by_thread.samples + f->by_thread.first[thread];
	size_t n = f->by_thread.first[thread + 1] - f->by_thread.first[thread];
	uint64_t before = f->t->recording.start_ns;

	text_printf(&f->b, "\"samples\":{\"length\":%zu,\"weight\":", n);
	firefox_weights(f, samples, n, err);
	text_put_raw(&f->b, ",\"weightType\":\"samples\",\n\"stack\":[");
	for (size_t i = 0; *err == 0 && i < n; i++) {
		text_printf(&f->b, i ? ",%u" : "%u",
			    stack_table_find(f->table, samples[i].node, samples[i].end_reason,
					     samples[i].origin));
		firefox_drain(f, FIREFOX_DRAIN, err);
	}
	text_put_raw(&f->b, "],\n\"timeDeltas\":[");
	for (size_t i = 0; *err == 0 && i < n; i++) {
		uint64_t now = samples[i].time_ns > before ? samples[i].time_ns : before;

		text_printf(&f->b, "%s%" PRIu64 ".%06" PRIu64, i ? "," : "",
			    (now - before) / 1000000, (now - before) % 1000000);
		before = now;
		firefox_drain(f, FIREFOX_DRAIN, err);
	}
	text_put_raw(&f->b, "]}");
}

/* Rounded up, and beyond it: a sample at the very end would be outside. */
static uint64_t firefox_end_us(const struct firefox *f)
{
	const struct store_recording *recording = &f->t->recording;

	return recording->end_ns > recording->start_ns
		       ? (recording->end_ns - recording->start_ns) / 1000 + 1
		       : 1;
}

static void firefox_thread(struct firefox *f, uint32_t number, int *err)
{
	const struct store_thread *thread = &f->t->threads[number];
	const struct store_process *process = &f->t->processes[thread->process];

	text_put_raw(&f->b, "\n{\"name\":");
	text_put_json(&f->b, thread->comm && *thread->comm ? thread->comm : "[unnamed]");
	text_put_raw(&f->b, ",\"processName\":");
	text_put_json(&f->b, process->comm ? process->comm : "");
	text_printf(&f->b, ",\"pid\":\"%d\",\"tid\":%d,\"isMainThread\":%s", process->pid,
		    thread->tid, process->pid == thread->tid ? "true" : "false");
	text_put_raw(&f->b, ",\"processType\":\"default\",\"processStartupTime\":0,"
			    "\"processShutdownTime\":null,\"registerTime\":0,"
			    "\"unregisterTime\":null,\"pausedRanges\":[],"
			    "\"markers\":{\"length\":0,\"category\":[],\"data\":[],\"endTime\":[],"
			    "\"name\":[],\"phase\":[],\"startTime\":[]},\n");
	firefox_samples(f, number, err);
	text_put_raw(&f->b, "}");
}

static void firefox_threads(struct firefox *f, int *err)
{
	const char *before = "";

	text_put_raw(&f->b, ",\n\"threads\":[");
	for (uint32_t i = 0; *err == 0 && i < f->t->n_threads; i++) {
		if (f->by_thread.first[i] == f->by_thread.first[i + 1])
			continue;
		text_put_raw(&f->b, before);
		before = ",";
		firefox_thread(f, i, err);
	}
	text_put_raw(&f->b, "]");
}

/* --- the whole ------------------------------------------------------------------------------- */

/* Writes the header of the reports to meta.extra, which the profiler shows as the profile's
 * information. */
static void firefox_extra(struct firefox *f)
{
	const struct store_recording *recording = &f->t->recording;
	struct buf quality = {0};

	report_header_quality(f->profile, &quality);
	buf_put_u8(&quality, '\0');
	text_put_raw(&f->b, ",\"extra\":[{\"label\":\"Recording\",\"entries\":["
			    "{\"label\":\"Host\",\"format\":\"string\",\"value\":");
	text_put_json(&f->b, recording->host);
	text_put_raw(&f->b, "},{\"label\":\"Kernel\",\"format\":\"string\",\"value\":");
	text_put_json(&f->b, recording->kernel);
	text_put_raw(&f->b, "},{\"label\":\"Event\",\"format\":\"string\",\"value\":");
	text_put_json(&f->b, recording->event);
	text_printf(&f->b,
		    "},{\"label\":\"Lost\",\"format\":\"integer\",\"value\":%" PRIu64
		    "},{\"label\":\"Quality\",\"format\":\"string\",\"value\":",
		    recording->lost);
	text_put_json(&f->b, quality.failed ? "" : (const char *)quality.data);
	text_put_raw(&f->b, "}]}]");
	buf_free(&quality);
}

static void firefox_meta(struct firefox *f)
{
	const struct store_recording *recording = &f->t->recording;
	uint64_t interval_us = recording->frequency_hz ? 1000000 / recording->frequency_hz : 1000;

	text_printf(&f->b,
		    "{\"meta\":{\"version\":24,\"preprocessedProfileVersion\":%d,"
		    "\"importedFrom\":\"stackd\",\"product\":",
		    FIREFOX_VERSION);
	text_put_json(&f->b, recording->target);
	text_printf(&f->b,
		    ",\"startTime\":%" PRIu64 ".%03" PRIu64 ",\"interval\":%" PRIu64 ".%03" PRIu64,
		    recording->start_unix_ns / 1000000, recording->start_unix_ns / 1000 % 1000,
		    interval_us / 1000, interval_us % 1000);
	text_printf(&f->b, ",\"profilingStartTime\":0,\"profilingEndTime\":%" PRIu64 ".%03" PRIu64,
		    firefox_end_us(f) / 1000, firefox_end_us(f) % 1000);
	text_printf(&f->b, ",\"logicalCPUs\":%u,\"processType\":0,\"stackwalk\":1,\"debug\":false",
		    recording->cpus);
	text_put_raw(&f->b, ",\"oscpu\":");
	text_put_json(&f->b, recording->kernel);
	firefox_extra(f);
	text_put_raw(
		&f->b,
		",\"symbolicated\":true,\"usesOnlyOneStackType\":true,"
		"\"sourceCodeIsNotOnSearchfox\":true,\"markerSchema\":[],"
		"\"extensions\":{\"length\":0,\"id\":[],\"name\":[],\"baseURL\":[]},"
		"\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\","
		"\"threadCPUDelta\":\"ns\"},"
		"\"categories\":["
		"{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
		"{\"name\":\"User\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},"
		"{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\"]},"
		"{\"name\":\"Incomplete\",\"color\":\"red\",\"subcategories\":[\"Other\"]},"
		"{\"name\":\"Reconstructed\",\"color\":\"purple\",\"subcategories\":[\"Other\"]}"
		"]}");
}

static int firefox_resources(struct firefox *f)
{
	size_t n = (size_t)f->t->n_objects + f->n_symbols + 1;
	int err = strings_new(&f->resources);

	f->resource_lib = calloc(n, sizeof(*f->resource_lib));
	f->resource_name = calloc(n, sizeof(*f->resource_name));
	if (!f->resource_lib || !f->resource_name)
		return -ENOMEM;
	for (uint32_t i = 0; err == 0 && i < f->t->n_objects; i++) {
		const char *path = f->t->objects[i].path;
		uint32_t number = 0;

		err = strings_intern(f->resources, path ? path : "[unknown]", &number);
		if (!f->resource_lib[number])
			f->resource_lib[number] = i + 1;
	}
	return err;
}

static void firefox_function(struct firefox *f, uint32_t i, int *err)
{
	const struct profile_symbol *symbol = profile_symbol_at(f->profile, i);
	uint32_t resource = 0;
	int result = 0;

	f->func_name[i] = firefox_string(f, symbol->name, err);
	if (!*symbol->object)
		return;
	result = strings_intern(f->resources, symbol->object, &resource);
	f->func_resource[i] = resource + 1;
	if (*err == 0)
		*err = result;
}

/* Numbers strings and resources. */
static int firefox_collect(struct firefox *f)
{
	uint32_t n_frames;
	const struct stack_table_frame *frames = stack_table_frames(f->table, &n_frames);
	int err;

	f->n_symbols = (uint32_t)profile_symbol_count(f->profile);
	f->func_name = calloc((size_t)f->n_symbols + 1, sizeof(*f->func_name));
	f->func_file = calloc((size_t)f->n_symbols + 1, sizeof(*f->func_file));
	f->func_resource = calloc((size_t)f->n_symbols + 1, sizeof(*f->func_resource));
	if (!f->func_name || !f->func_file || !f->func_resource)
		return -ENOMEM;
	err = strings_new(&f->strings);
	if (err == 0)
		err = firefox_resources(f);
	for (uint32_t i = 0; err == 0 && i < f->n_symbols; i++)
		firefox_function(f, i, &err);
	for (uint32_t i = 0; err == 0 && i < n_frames; i++) {
		const struct profile_frame *frame = &frames[i].frame;

		if (frame->file && !f->func_file[frame->symbol->number])
			f->func_file[frame->symbol->number] =
				firefox_string(f, frame->file, &err) + 1;
	}
	for (uint32_t i = 0; err == 0 && i < strings_count(f->resources); i++)
		f->resource_name[i] = firefox_string(f, strings_at(f->resources, i), &err);
	return err;
}

static int firefox_write(struct firefox *f)
{
	int err = stack_table_new(f->profile, &f->table);

	if (err == 0)
		err = thread_samples_make(f->profile, &f->by_thread);
	if (err == 0)
		err = firefox_collect(f);
	if (err < 0)
		return err;
	firefox_meta(f);
	firefox_libs(f, &err);
	firefox_shared(f, &err);
	firefox_threads(f, &err);
	text_put_raw(&f->b, "}\n");
	firefox_drain(f, 0, &err);
	return err;
}

int export_firefox(struct profile *profile, FILE *out)
{
	struct firefox f = {.profile = profile, .t = profile_tables(profile), .out = out};
	int err = firefox_write(&f);

	if (err == 0 && fflush(out) != 0)
		err = -EIO;
	thread_samples_free(&f.by_thread);
	stack_table_free(f.table);
	strings_free(f.strings);
	strings_free(f.resources);
	free(f.resource_lib);
	free(f.resource_name);
	free(f.func_name);
	free(f.func_file);
	free(f.func_resource);
	buf_free(&f.b);
	return err;
}
