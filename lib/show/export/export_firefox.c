/* SPDX-License-Identifier: MIT */
/*
 * The processed profile of Firefox's profiler, version 60: all tables are shared by all threads.
 * https://github.com/firefox-devtools/profiler/blob/main/docs-developer/CHANGELOG-formats.md
 *
 *   threads[].samples: one each, in time order, by time since the one before
 *      ─► stackTable: (prefix, frame)
 *            ─► frameTable: (func, category, line, inline depth, address)
 *                  ─► funcTable: a symbol of the model ─► resourceTable: its object
 *
 * Categories distinguish user code, JIT code, Python's functions, the kernel, root marks of
 * incomplete paths, and inferred frames. String i is the name of symbol i; then come the objects'
 * paths and the source files.
 */
#include "export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/firefox_counters.h"
#include "export/firefox_markers.h"
#include "export/stack_table.h"
#include "model/frame_kind.h"
#include "export/thread_samples.h"
#include "report/report_header.h"
#include "base/int_map.h"
#include "base/strings.h"
#include "base/text.h"

#define FIREFOX_VERSION 60

enum firefox_category {
	FIREFOX_OTHER,
	FIREFOX_USER,
	FIREFOX_KERNEL,
	FIREFOX_INCOMPLETE,
	FIREFOX_INFERRED,
	FIREFOX_JIT,
	FIREFOX_PYTHON,
	FIREFOX_RUBY,
	FIREFOX_PHP,
	FIREFOX_PERL,
	FIREFOX_MANAGED
};

struct firefox {
	struct profile *profile;
	const struct store_tables *t;
	struct stack_table *table;
	struct thread_samples by_thread;
	struct firefox_markers *markers;
	/* a resource is an object; `resources` has their paths */
	struct strings *strings, *resources;
	uint32_t *resource_lib; /* by resource: the number of its library + 1; 0: it has none */
	bool *resource_is_source;
	uint32_t *resource_name; /* by resource: the number of its name in `strings` */
	/* by symbol: number of its name in `strings`; number of its file + 1 */
	uint32_t *func_name, *func_file;
	uint32_t *func_resource; /* by symbol: the number of its resource + 1; 0: it has none */
	uint32_t n_symbols;
	uint32_t *reuse; /* by process: how many earlier ones had its pid */
	uint32_t *place; /* by thread: 1 + its place among the threads that are written; 0: it is
			    not */
	struct json json;
};

static uint32_t firefox_string(struct firefox *f, const char *s, int *err)
{
	uint32_t number = 0;
	int result = strings_intern(f->strings, s ? s : "", &number);

	if (*err == 0)
		*err = result;
	return number;
}

/* Writes a column of a table; `value` writes the element of row i. */
static void firefox_column(struct firefox *f, const char *name, uint32_t n,
			   void (*value)(struct firefox *f, uint32_t i))
{
	json_put_line(&f->json);
	json_put_array(&f->json, name);
	for (uint32_t i = 0; !f->json.err && i < n; i++)
		value(f, i);
	json_put_end(&f->json);
}

/* A column of a table: its name, and the function that writes a row's element. */
struct firefox_column {
	const char *name;
	void (*value)(struct firefox *f, uint32_t i);
};

static void firefox_table(struct firefox *f, const char *name, uint32_t n,
			  const struct firefox_column *columns)
{
	json_put_line(&f->json);
	json_put_object(&f->json, name);
	json_put_uint(&f->json, "length", n);
	for (; columns->name; columns++)
		firefox_column(f, columns->name, n, columns->value);
	json_put_end(&f->json);
}

/* Writes an empty list. */
static void firefox_empty(struct firefox *f, const char *name)
{
	json_put_array(&f->json, name);
	json_put_end(&f->json);
}

/* Writes a table without rows; `columns` has the names of its columns, and ends with NULL. */
static void firefox_empty_table(struct firefox *f, const char *name, const char *const *columns)
{
	json_put_object(&f->json, name);
	json_put_uint(&f->json, "length", 0);
	for (; *columns; columns++)
		firefox_empty(f, *columns);
	json_put_end(&f->json);
}

/* --- columns --------------------------------------------------------------------------------- */

static void firefox_null(struct firefox *f, uint32_t i)
{
	(void)i;
	json_put_null(&f->json, NULL);
}

static void firefox_zero(struct firefox *f, uint32_t i)
{
	(void)i;
	json_put_uint(&f->json, NULL, 0);
}

static void firefox_false(struct firefox *f, uint32_t i)
{
	(void)i;
	json_put_bool(&f->json, NULL, false);
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
		json_put_null(&f->json, NULL);
	else
		json_put_uint(&f->json, NULL, parent);
}

static void firefox_stack_frame(struct firefox *f, uint32_t i)
{
	uint32_t n;

	json_put_uint(&f->json, NULL, stack_table_stacks(f->table, &n)[i].frame);
}

static void firefox_address(struct firefox *f, uint32_t i)
{
	const struct profile_frame *frame = &firefox_frame(f, i)->frame;
	uint32_t location = frame->location;

	if (location == UINT32_MAX || frame_kind_is_managed(frame->symbol->kind))
		json_put_int(&f->json, NULL, -1);
	else
		json_put_uint(&f->json, NULL, f->t->locations[location].offset);
}

static void firefox_inline_depth(struct firefox *f, uint32_t i)
{
	json_put_uint(&f->json, NULL, firefox_frame(f, i)->inline_depth);
}

static void firefox_category(struct firefox *f, uint32_t i)
{
	const struct profile_frame *frame = &firefox_frame(f, i)->frame;
	static const uint8_t categories[FRAME_KINDS] = {
		[FRAME_NATIVE] = FIREFOX_USER,	  [FRAME_INLINED] = FIREFOX_USER,
		[FRAME_KERNEL] = FIREFOX_KERNEL,  [FRAME_JIT] = FIREFOX_JIT,
		[FRAME_PYTHON] = FIREFOX_PYTHON,  [FRAME_JAVA] = FIREFOX_MANAGED,
		[FRAME_PHP] = FIREFOX_PHP,	  [FRAME_PERL] = FIREFOX_PERL,
		[FRAME_RUBY] = FIREFOX_RUBY,	  [FRAME_JAVASCRIPT] = FIREFOX_MANAGED,
		[FRAME_ERLANG] = FIREFOX_MANAGED, [FRAME_MANAGED] = FIREFOX_MANAGED,
		[FRAME_NOTE] = FIREFOX_OTHER,
	};

	json_put_uint(&f->json, NULL,
		      frame->symbol->is_mark ? FIREFOX_INCOMPLETE
		      : frame->is_inferred   ? FIREFOX_INFERRED
					     : categories[frame->symbol->kind]);
}

static void firefox_func(struct firefox *f, uint32_t i)
{
	json_put_uint(&f->json, NULL, firefox_frame(f, i)->frame.symbol->number);
}

static void firefox_line(struct firefox *f, uint32_t i)
{
	uint32_t line = firefox_frame(f, i)->frame.line;

	if (line)
		json_put_uint(&f->json, NULL, line);
	else
		json_put_null(&f->json, NULL);
}

static void firefox_func_line(struct firefox *f, uint32_t i)
{
	uint32_t line = profile_symbol_at(f->profile, i)->first_line;

	if (line)
		json_put_uint(&f->json, NULL, line);
	else
		json_put_null(&f->json, NULL);
}

static void firefox_func_name(struct firefox *f, uint32_t i)
{
	json_put_uint(&f->json, NULL, f->func_name[i]);
}

static void firefox_func_resource(struct firefox *f, uint32_t i)
{
	json_put_int(&f->json, NULL, (int64_t)f->func_resource[i] - 1);
}

static void firefox_func_source(struct firefox *f, uint32_t i)
{
	if (f->func_file[i])
		json_put_uint(&f->json, NULL, f->func_file[i] - 1);
	else
		json_put_null(&f->json, NULL);
}

static void firefox_resource_lib(struct firefox *f, uint32_t i)
{
	if (f->resource_lib[i])
		json_put_uint(&f->json, NULL, f->resource_lib[i] - 1);
	else
		json_put_null(&f->json, NULL);
}

static void firefox_resource_name(struct firefox *f, uint32_t i)
{
	json_put_uint(&f->json, NULL, f->resource_name[i]);
}

/* Writes the type of a resource: 1, "library", or 5, "url", for a source file. */
static void firefox_resource_type(struct firefox *f, uint32_t i)
{
	json_put_uint(&f->json, NULL, f->resource_is_source[i] ? 5 : 1);
}

static void firefox_string_itself(struct firefox *f, uint32_t i)
{
	json_put_line(&f->json);
	json_put_string(&f->json, NULL, strings_at(f->strings, i));
}

/* Writes the file of row i of the table of sources, which has a row for each string, so that a
 * file's source has the number of the file's name. */
static void firefox_source_file(struct firefox *f, uint32_t i)
{
	json_put_uint(&f->json, NULL, i);
}

/* --- tables ---------------------------------------------------------------------------------- */

static void firefox_stack_table(struct firefox *f)
{
	static const struct firefox_column columns[] = {
		{"prefix", firefox_prefix}, {"frame", firefox_stack_frame}, {0}};
	uint32_t n;

	stack_table_stacks(f->table, &n);
	firefox_table(f, "stackTable", n, columns);
}

static void firefox_frame_table(struct firefox *f)
{
	static const struct firefox_column columns[] = {
		{"address", firefox_address},	 {"inlineDepth", firefox_inline_depth},
		{"category", firefox_category},	 {"subcategory", firefox_zero},
		{"func", firefox_func},		 {"nativeSymbol", firefox_null},
		{"innerWindowID", firefox_null}, {"line", firefox_line},
		{"column", firefox_null},	 {0}};
	uint32_t n;

	stack_table_frames(f->table, &n);
	firefox_table(f, "frameTable", n, columns);
}

static void firefox_func_table(struct firefox *f)
{
	static const struct firefox_column columns[] = {
		{"name", firefox_func_name},	  {"isJS", firefox_false},
		{"relevantForJS", firefox_false}, {"resource", firefox_func_resource},
		{"source", firefox_func_source},  {"lineNumber", firefox_func_line},
		{"columnNumber", firefox_null},	  {0}};
	uint32_t n = f->n_symbols;

	firefox_table(f, "funcTable", n, columns);
}

/* Appends the id under which symbol servers have a file: the first 16 bytes of the build-id as a
 * GUID, whose first three fields are little-endian. */
static void firefox_breakpad_id(const struct store_object *object, struct buf *b)
{
	static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};

	for (size_t i = 0; object->build_id_len && i < 16; i++) {
		uint8_t at = order[i];

		text_printf(b, "%02X", at < object->build_id_len ? object->build_id[at] : 0);
	}
	text_put_raw(b, object->build_id_len ? "0" : "");
}

static void firefox_lib(struct firefox *f, const struct store_object *object)
{
	const char *path = object->path ? object->path : "[unknown]";
	const char *names[] = {"name", "path", "debugName", "debugPath"};
	struct buf breakpad_id = {0}, code_id = {0};

	json_put_line(&f->json);
	json_put_object(&f->json, NULL);
	for (size_t i = 0; i < 4; i++)
		json_put_string(&f->json, names[i], i % 2 ? path : text_basename(path));
	json_put_string(&f->json, "arch", "");
	firefox_breakpad_id(object, &breakpad_id);
	json_put_text(&f->json, "breakpadId", &breakpad_id);
	for (size_t i = 0; i < object->build_id_len; i++)
		text_printf(&code_id, "%02x", object->build_id[i]);
	json_put_text(&f->json, "codeId", &code_id);
	json_put_end(&f->json);
}

static void firefox_libs(struct firefox *f)
{
	json_put_line(&f->json);
	json_put_array(&f->json, "libs");
	for (uint32_t i = 0; !f->json.err && i < f->t->n_objects; i++)
		firefox_lib(f, &f->t->objects[i]);
	json_put_end(&f->json);
}

static void firefox_resource_table(struct firefox *f)
{
	static const struct firefox_column columns[] = {{"lib", firefox_resource_lib},
							{"name", firefox_resource_name},
							{"host", firefox_null},
							{"type", firefox_resource_type},
							{0}};
	uint32_t n = strings_count(f->resources);

	firefox_table(f, "resourceTable", n, columns);
}

static void firefox_shared(struct firefox *f)
{
	static const char *const native_symbols[] = {"address", "functionSize", "libIndex", "name",
						     NULL};
	static const struct firefox_column sources[] = {
		{"uuid", firefox_null}, {"filename", firefox_source_file}, {0}};
	uint32_t n = strings_count(f->strings);

	json_put_line(&f->json);
	json_put_object(&f->json, "shared");
	firefox_stack_table(f);
	firefox_frame_table(f);
	firefox_func_table(f);
	firefox_resource_table(f);
	json_put_line(&f->json);
	firefox_empty_table(f, "nativeSymbols", native_symbols);
	firefox_table(f, "sources", n, sources);
	firefox_column(f, "stringArray", n, firefox_string_itself);
	json_put_end(&f->json);
}

/* --- threads --------------------------------------------------------------------------------- */

/* Writes the weights of samples: the number of periods of each sample; null if that is 1 for
 * all. */
static void firefox_weights(struct json *j, const struct thread_samples_sample *samples, size_t n)
{
	bool is_any = false;

	for (size_t i = 0; i < n; i++)
		is_any |= samples[i].periods != 1;
	if (!is_any) {
		json_put_null(j, "weight");
		return;
	}
	json_put_array(j, "weight");
	for (size_t i = 0; !j->err && i < n; i++)
		json_put_uint(j, NULL, samples[i].periods);
	json_put_end(j);
}

/* Writes the CPU time before each sample, if the event is a clock. */
static void firefox_cpu(struct firefox *f, const struct thread_samples_sample *samples, size_t n)
{
	struct json *j = &f->json;

	if (!store_is_timed(&f->t->recording))
		return;
	json_put_line(j);
	json_put_array(j, "threadCPUDelta");
	for (size_t i = 0; !j->err && i < n; i++)
		json_put_uint(j, NULL, samples[i].amount);
	json_put_end(j);
}

static void firefox_samples(struct firefox *f, uint32_t thread)
{
	const struct thread_samples_sample *samples =
		f->by_thread.samples + f->by_thread.first[thread];
	size_t n = f->by_thread.first[thread + 1] - f->by_thread.first[thread];
	uint64_t before = f->t->recording.start_ns;
	struct json *j = &f->json;

	json_put_line(j);
	json_put_object(j, "samples");
	json_put_uint(j, "length", n);
	firefox_weights(j, samples, n);
	json_put_string(j, "weightType", "samples");
	json_put_line(j);
	json_put_array(j, "stack");
	for (size_t i = 0; !j->err && i < n; i++)
		json_put_uint(j, NULL,
			      stack_table_find(f->table, samples[i].node, samples[i].end_reason,
					       samples[i].origin));
	json_put_end(j);
	json_put_line(j);
	json_put_array(j, "timeDeltas");
	for (size_t i = 0; !j->err && i < n; i++) {
		uint64_t now = samples[i].time_ns > before ? samples[i].time_ns : before;

		json_put_fixed(j, NULL, (double)(now - before) / 1e6, 6);
		before = now;
	}
	json_put_end(j);
	firefox_cpu(f, samples, n);
	json_put_end(j);
}

/* Returns the end of the recording in microseconds, plus 1, because otherwise a sample at the very
 * end would be outside. */
static uint64_t firefox_end_us(const struct firefox *f)
{
	const struct store_recording *recording = &f->t->recording;

	return recording->end_ns > recording->start_ns
		       ? (recording->end_ns - recording->start_ns) / 1000 + 1
		       : 1;
}

/* Makes room for what is known by thread. Counts how many earlier processes had the pid of each:
 * the profiler takes threads with equal pids for those of one process. Returns 0 or -ENOMEM. */
static int firefox_count_reuse(struct firefox *f)
{
	struct int_map seen = {0}; /* by pid: processes that had it */
	int err = 0;

	f->reuse = calloc((size_t)f->t->n_processes + 1, sizeof(*f->reuse));
	f->place = calloc((size_t)f->t->n_threads + 1, sizeof(*f->place));
	if (!f->reuse || !f->place)
		return -ENOMEM;
	for (uint32_t i = 0; err == 0 && i < f->t->n_processes; i++) {
		const uint32_t pid = (uint32_t)f->t->processes[i].pid;
		const uint32_t n = int_map_find(&seen, pid);

		f->reuse[i] = n == INT_MAP_NONE ? 0 : n;
		err = int_map_set(&seen, pid, f->reuse[i] + 1);
	}
	int_map_fini(&seen);
	return err;
}

static void firefox_thread(struct firefox *f, uint32_t number)
{
	const struct store_thread *thread = &f->t->threads[number];
	const struct store_process *process = &f->t->processes[thread->process];
	struct json *j = &f->json;
	struct buf pid = {0};

	json_put_line(j);
	json_put_object(j, NULL);
	json_put_string(j, "name", thread->comm && *thread->comm ? thread->comm : "[unnamed]");
	json_put_line(j);
	json_put_string(j, "processName", process->comm);
	firefox_pid(process, f->reuse[thread->process], &pid);
	json_put_text(j, "pid", &pid);
	json_put_int(j, "tid", thread->tid);
	json_put_bool(j, "isMainThread", process->pid == thread->tid);
	json_put_string(j, "processType", "default");
	json_put_uint(j, "processStartupTime", 0);
	json_put_null(j, "processShutdownTime");
	json_put_uint(j, "registerTime", 0);
	json_put_null(j, "unregisterTime");
	firefox_empty(f, "pausedRanges");
	firefox_markers_put(f->markers, number, j);
	firefox_samples(f, number);
	json_put_end(j);
}

static void firefox_threads(struct firefox *f)
{
	uint32_t n = 0;

	json_put_line(&f->json);
	json_put_array(&f->json, "threads");
	for (uint32_t i = 0; !f->json.err && i < f->t->n_threads; i++) {
		if (f->by_thread.first[i] == f->by_thread.first[i + 1] &&
		    !firefox_markers_has(f->markers, i))
			continue;
		firefox_thread(f, i);
		f->place[i] = ++n;
	}
	json_put_end(&f->json);
}

/* --- the whole ------------------------------------------------------------------------------- */

/* Begins an entry of meta.extra; its value follows. */
static void firefox_entry(struct json *j, const char *label, const char *format)
{
	json_put_object(j, NULL);
	json_put_string(j, "label", label);
	json_put_string(j, "format", format);
}

static void firefox_string_entry(struct json *j, const char *label, const char *value)
{
	firefox_entry(j, label, "string");
	json_put_string(j, "value", value);
	json_put_end(j);
}

/* Writes the header of the reports to meta.extra, which the profiler shows as the profile's
 * information. */
static void firefox_extra(struct firefox *f)
{
	const struct store_recording *recording = &f->t->recording;
	struct json *j = &f->json;
	struct buf quality = {0};

	json_put_array(j, "extra");
	json_put_object(j, NULL);
	json_put_string(j, "label", "Recording");
	json_put_array(j, "entries");
	firefox_string_entry(j, "Host", recording->host);
	firefox_string_entry(j, "Kernel", recording->kernel);
	firefox_string_entry(j, "Event", recording->event);
	firefox_entry(j, "Lost", "integer");
	json_put_uint(j, "value", recording->lost);
	json_put_end(j);
	firefox_entry(j, "Quality", "string");
	report_header_quality(f->profile, &quality);
	json_put_text(j, "value", &quality);
	json_put_end(j);
	json_put_end(j);
	json_put_end(j);
	json_put_end(j);
}

static void firefox_categories(struct json *j)
{
	static const struct {
		const char *name, *color;
	} categories[] = {[FIREFOX_OTHER] = {"Other", "grey"},
			  [FIREFOX_USER] = {"User", "yellow"},
			  [FIREFOX_KERNEL] = {"Kernel", "orange"},
			  [FIREFOX_INCOMPLETE] = {"Incomplete", "red"},
			  [FIREFOX_INFERRED] = {"Reconstructed", "purple"},
			  [FIREFOX_JIT] = {"JIT", "magenta"},
			  [FIREFOX_PYTHON] = {"Python", "green"},
			  [FIREFOX_RUBY] = {"Ruby", "lightred"},
			  [FIREFOX_PHP] = {"PHP", "blue"},
			  [FIREFOX_PERL] = {"Perl", "brown"},
			  [FIREFOX_MANAGED] = {"Interpreted", "lightblue"}};

	json_put_array(j, "categories");
	for (size_t i = 0; i < sizeof(categories) / sizeof(*categories); i++) {
		json_put_object(j, NULL);
		json_put_string(j, "name", categories[i].name);
		json_put_string(j, "color", categories[i].color);
		json_put_array(j, "subcategories");
		json_put_string(j, NULL, "Other");
		json_put_end(j);
		json_put_end(j);
	}
	json_put_end(j);
}

/* Writes the members about the browser that the profiler requires. */
static void firefox_fixed(struct firefox *f)
{
	static const char *const extensions[] = {"id", "name", "baseURL", NULL};
	struct json *j = &f->json;

	json_put_bool(j, "symbolicated", true);
	json_put_bool(j, "usesOnlyOneStackType", true);
	json_put_bool(j, "sourceCodeIsNotOnSearchfox", true);
	firefox_markers_schema(j);
	firefox_empty_table(f, "extensions", extensions);
	json_put_object(j, "sampleUnits");
	json_put_string(j, "time", "ms");
	json_put_string(j, "eventDelay", "ms");
	json_put_string(j, "threadCPUDelta", "ns");
	json_put_end(j);
	firefox_categories(j);
}

static void firefox_meta(struct firefox *f)
{
	const struct store_recording *recording = &f->t->recording;
	uint64_t interval_us = recording->frequency_hz ? 1000000 / recording->frequency_hz : 1000;
	const uint64_t start_us = recording->start_unix_ns / 1000;
	struct json *j = &f->json;

	json_put_object(j, "meta");
	json_put_uint(j, "version", 24);
	json_put_uint(j, "preprocessedProfileVersion", FIREFOX_VERSION);
	json_put_string(j, "importedFrom", "stackd");
	json_put_string(j, "product", recording->target);
	json_put_fixed(j, "startTime", (double)start_us / 1e3, 3);
	json_put_fixed(j, "interval", (double)interval_us / 1e3, 3);
	json_put_uint(j, "profilingStartTime", 0);
	json_put_fixed(j, "profilingEndTime", (double)firefox_end_us(f) / 1e3, 3);
	json_put_uint(j, "logicalCPUs", recording->cpus);
	json_put_uint(j, "processType", 0);
	json_put_uint(j, "stackwalk", 1);
	json_put_bool(j, "debug", false);
	json_put_string(j, "oscpu", recording->kernel);
	firefox_extra(f);
	firefox_fixed(f);
	json_put_end(j);
}

static int firefox_resources(struct firefox *f)
{
	size_t n = (size_t)f->t->n_objects + f->n_symbols + 1;
	int err = strings_new(&f->resources);

	f->resource_lib = calloc(n, sizeof(*f->resource_lib));
	f->resource_name = calloc(n, sizeof(*f->resource_name));
	f->resource_is_source = calloc(n, sizeof(*f->resource_is_source));
	if (!f->resource_lib || !f->resource_name || !f->resource_is_source)
		return -ENOMEM;
	for (uint32_t i = 0; err == 0 && i < f->t->n_objects; i++) {
		const char *path = f->t->objects[i].path;
		uint32_t number = 0;

		err = strings_intern(f->resources, path ? path : "[unknown]", &number);
		if (frame_kind_is_managed(frame_kind_of_object(&f->t->objects[i])))
			f->resource_is_source[number] = true;
		else if (!f->resource_lib[number])
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
		err = firefox_markers_new(f->profile, &f->markers);
	if (err == 0)
		err = firefox_collect(f);
	if (err == 0)
		err = firefox_markers_intern(f->markers, f->strings);
	if (err == 0)
		err = firefox_count_reuse(f);
	if (err < 0)
		return err;
	json_put_object(&f->json, NULL);
	firefox_meta(f);
	firefox_libs(f);
	firefox_shared(f);
	firefox_threads(f);
	return firefox_counters_put(f->profile, f->place, f->reuse, &f->json);
}

int export_firefox(struct profile *profile, FILE *out)
{
	struct firefox f = {.profile = profile, .t = profile_tables(profile), .json = {.out = out}};
	int err = firefox_write(&f);

	thread_samples_free(&f.by_thread);
	firefox_markers_free(f.markers);
	stack_table_free(f.table);
	strings_free(f.strings);
	strings_free(f.resources);
	free(f.resource_lib);
	free(f.resource_is_source);
	free(f.resource_name);
	free(f.func_name);
	free(f.func_file);
	free(f.func_resource);
	free(f.reuse);
	free(f.place);
	return json_put_finish(&f.json, err);
}
