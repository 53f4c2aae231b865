/* SPDX-License-Identifier: MIT */
/*
 * Collects the tables of a pprof file, and writes them; see pprof_tables.h.
 *
 * The mappings, functions and locations that are needed are numbered from 1, without gaps, and
 * written in this order, since some readers rely on it. The most used locations get the smallest
 * numbers; root marks are locations, too, with numbers after the last of these.
 *
 * All functions of one managed language share one mapping, such as "[python]". Their objects are
 * source files, so a mapping for each object would only repeat the file of each function.
 *
 * Each element is written as a Profile message of its own: in protobuf, the concatenation of
 * messages is one message with the concatenated lists.
 */
#include "export/pprof_tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "base/text.h"
#include "base/vec.h"
#include "model/frame_kind.h"
#include "model/labels.h"
#include "report/report_header.h"
#include "stack/end_reason.h"
#include "stackd_abi.h"

/* bits of a file offset in an address; 2^19 objects fit in the bits above */
#define PPROF_OBJECT_SHIFT 44
#define PPROF_OBJECT_SIZE  (1ull << PPROF_OBJECT_SHIFT)
/* the last reason stands for all unknown ones */
#define PPROF_REASONS (STACKD_END_COUNT + 1)
/* ranks of locations by use; all locations with at least so many uses share one rank */
#define PPROF_RANKS 65536
#define PPROF_CHUNK 1024 /* strings in one message */

struct pprof_function {
	uint32_t name, system_name, file; /* indexes of strings */
	uint32_t id;			  /* 0: it is not needed */
	uint32_t start_line;		  /* 0: it is not known */
};

struct pprof_tables {
	struct profile *profile;
	const struct pprof_parts *parts;
	const struct store_tables *t;
	struct strings *strings;
	struct buf text, scratch;
	uint32_t *ids; /* by location: its id; 0: it is not needed */
	/* by id - 1: number of the recording's location; unused with a stack_table */
	uint32_t *locations, n_locations;
	/* by object: up to which file offset a mapping must reach; 0: no mapping is needed */
	uint64_t *limits;
	uint32_t *mappings;		  /* by object: its id; 0: it is not needed */
	uint32_t *by_mapping, n_mappings; /* by id - 1: the (first) object of a mapping */
	struct pprof_function *functions; /* by symbol */
	uint32_t n_functions;
	uint32_t last_id; /* the highest id that a function has */
	size_t cap_functions;
	/* by end reason: the root mark; the last element is the mark of paths without frames */
	const struct profile_symbol *marks[PPROF_REASONS + 1];
	uint32_t mark_ids[PPROF_REASONS + 1];
	/* encoded labels: by thread, by end reason, by quality */
	struct buf *threads, ends[PPROF_REASONS], qualities[PROFILE_LOST + 1];
	/* the changed paths (see pprof_tables_stacks()); NULL: paths are those of the store */
	struct stack_table *stack_table;
	uint32_t tag_key;
	int err; /* the first error of pprof_tables_string() */
};

/* Returns the index of a string, which is escaped for display. If memory is short, returns 0 and
 * sets p->err. */
static uint32_t pprof_tables_string(struct pprof_tables *p, const char *s)
{
	uint32_t number = 0;
	int err;

	buf_clear(&p->text);
	text_put(&p->text, s ? s : "", NULL);
	buf_put_u8(&p->text, '\0');
	err = p->text.failed ? -ENOMEM
			     : strings_intern(p->strings, (const char *)p->text.data, &number);
	if (err < 0 && p->err == 0)
		p->err = err;
	return number;
}

/* --- collecting ------------------------------------------------------------------------------ */

/* Returns, for each location, how often it is in the paths of entries; 0: it is not needed. NULL:
 * memory is short. */
static uint32_t *pprof_count(struct pprof_tables *p)
{
	const struct profile_entry *entries = p->parts->entries;
	const size_t n = p->parts->n_entries;
	uint32_t *nodes = calloc((size_t)p->t->n_nodes + 1, sizeof(*nodes));
	uint32_t *locations = calloc((size_t)p->t->n_locations + 1, sizeof(*locations));

	if (nodes && locations) {
		for (size_t i = 0; i < n; i++)
			nodes[entries[i].node]++;
		for (uint32_t i = p->t->n_nodes; i-- > 1;) {
			nodes[p->t->nodes[i].parent] += nodes[i];
			if (nodes[i])
				locations[p->t->nodes[i].location] += nodes[i];
		}
	} else {
		free(locations);
		locations = NULL;
	}
	free(nodes);
	return locations;
}

static uint32_t rank(uint32_t count)
{
	return count < PPROF_RANKS ? count : PPROF_RANKS - 1;
}

/* Numbers locations by how often they are used, with a counting sort: the most used ones get the
 * smallest numbers, which take fewer bytes. Returns 0 or -ENOMEM. */
static int pprof_number(struct pprof_tables *p)
{
	uint32_t *first = calloc(PPROF_RANKS + 1, sizeof(*first)), *counts = pprof_count(p);
	bool is_done = first && counts;

	for (uint32_t i = 0; is_done && i < p->t->n_locations; i++)
		first[PPROF_RANKS - 1 - rank(counts[i])]++;
	for (uint32_t i = 0, sum = 0; is_done && i < PPROF_RANKS; i++) {
		uint32_t here = first[i];

		first[i] = sum;
		sum += here;
	}
	for (uint32_t i = 0; is_done && i < p->t->n_locations; i++)
		if (counts[i]) {
			p->ids[i] = ++first[PPROF_RANKS - 1 - rank(counts[i])];
			p->locations[p->ids[i] - 1] = i;
			p->n_locations++;
		}
	free(first);
	free(counts);
	return is_done ? 0 : -ENOMEM;
}

static int function_reserve(struct pprof_tables *p, uint32_t number)
{
	int err = VEC_GROW_ZEROED(p->functions, p->cap_functions, (size_t)number + 1);

	if (err == 0 && p->n_functions <= number)
		p->n_functions = number + 1;
	return err;
}

/* Adds a function, unless it was added before. If its linkage name differs from its name, pprof
 * assumes that the name is demangled and leaves it unchanged. Returns 0 or -ENOMEM. */
static int pprof_function(struct pprof_tables *p, const struct profile_symbol *symbol,
			  const char *linkage_name, const char *file)
{
	struct pprof_function *function;
	int err = function_reserve(p, symbol->number);

	if (err < 0)
		return err;
	function = &p->functions[symbol->number];
	if (!function->id) {
		function->id = ++p->last_id;
		function->name = pprof_tables_string(p, symbol->name);
		function->system_name = pprof_tables_string(p, linkage_name);
		function->start_line = symbol->first_line;
		if (function->system_name == function->name)
			function->system_name = 0;
	}
	if (!function->file && file)
		function->file = pprof_tables_string(p, file);
	return p->err;
}

static bool is_managed(const struct pprof_tables *p, uint32_t object)
{
	return frame_kind_is_managed(frame_kind_of_object(&p->t->objects[object]));
}

static void limit(struct pprof_tables *p, const struct store_location *location)
{
	uint64_t end = location->offset + 2;

	if (is_managed(p, location->object))
		end = PPROF_OBJECT_SIZE; /* offsets are hashes */

	if (end > p->limits[location->object])
		p->limits[location->object] = end;
}

static int pprof_location(struct pprof_tables *p, uint32_t number)
{
	const struct store_location *location = &p->t->locations[number];
	uint32_t first = p->t->line_first[number], n = p->t->line_first[number + 1] - first;
	const struct profile_frame *frames;
	size_t count;
	int err = 0;

	frames = profile_location_frames(p->profile, number, &count);
	if (!frames)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < count; i++) {
		size_t at = count - 1 - i; /* the store has the innermost first */
		const char *name = at < n ? p->t->lines[first + at].function : NULL;

		err = pprof_function(p, frames[i].symbol, name, frames[i].file);
	}
	limit(p, location);
	return err;
}

static uint32_t pprof_reason(uint8_t end_reason)
{
	return end_reason < STACKD_END_COUNT ? end_reason : STACKD_END_COUNT;
}

static int collect_marks(struct pprof_tables *p)
{
	const struct profile_entry *entries = p->parts->entries;
	const size_t n = p->parts->n_entries;
	int err = 0;

	for (size_t i = 0; i < n; i++) {
		const struct profile_symbol *mark =
			profile_mark(p->profile, entries[i].end_reason, entries[i].origin);

		/* A mark names only the end reason, so it is the same for all origins. */
		if (mark)
			p->marks[pprof_reason(entries[i].end_reason)] = mark;
		else if (!entries[i].node)
			p->marks[PPROF_REASONS] = profile_no_frames(p->profile);
	}
	for (uint32_t i = 0, last = p->n_locations; err == 0 && i <= PPROF_REASONS; i++) {
		if (!p->marks[i])
			continue;
		p->mark_ids[i] = ++last;
		err = pprof_function(p, p->marks[i], NULL, NULL);
	}
	return err;
}

static int collect_locations(struct pprof_tables *p)
{
	int err = pprof_number(p);

	for (uint32_t i = 0; err == 0 && i < p->t->n_locations; i++)
		if (p->ids[i])
			err = pprof_location(p, i);
	return err < 0 ? err : collect_marks(p);
}

/* Adds a location for each frame; used if the filter changes the shape of paths. Returns 0 or an
 * error. */
static int collect_frames(struct pprof_tables *p)
{
	const struct stack_table_frame *frames;
	uint32_t n;
	int err = stack_table_new_of(p->profile, p->parts->entries, p->parts->n_entries,
				     &p->stack_table);

	if (err < 0)
		return err;
	frames = stack_table_frames(p->stack_table, &n);
	for (uint32_t i = 0; err == 0 && i < n; i++) {
		const struct profile_frame *frame = &frames[i].frame;

		err = pprof_function(p, frame->symbol, NULL, frame->file);
		if (frame->location != UINT32_MAX)
			limit(p, &p->t->locations[frame->location]);
	}
	return err;
}

/* --- labels ---------------------------------------------------------------------------------- */

/* Appends a label in the form of a Sample's field: field number, length, message. */
static void pprof_label(struct pprof_tables *p, const char *key, const char *text, int64_t number,
			struct buf *b)
{
	Pprof__Label label = PPROF__LABEL__INIT;
	uint8_t bytes[64];
	size_t len;

	label.key = pprof_tables_string(p, key);
	label.str = text ? pprof_tables_string(p, text) : 0;
	label.num = text ? 0 : number;
	len = pprof__label__pack(&label, bytes);
	buf_put_u8(b, PPROF_SAMPLE_LABEL);
	buf_put_varint(b, len);
	buf_put(b, bytes, len);
	if (b->failed)
		p->err = -ENOMEM;
}

/* Makes the labels of a thread that pprof_tables_thread() returns. */
static void label_thread(struct pprof_tables *p, uint32_t number)
{
	const struct store_thread *thread = &p->t->threads[number];
	static const char *const own[] = {"service", "namespace", "pod", "container"};
	struct buf *b = &p->threads[number];

	if (b->len) /* it has its labels already */
		return;
	if (!p->parts->is_bare) {
		pprof_label(p, "pid", NULL, p->t->processes[thread->process].pid, b);
		pprof_label(p, "tid", NULL, thread->tid, b);
	}
	pprof_label(p, "comm", thread->comm && *thread->comm ? thread->comm : "[unnamed]", 0, b);
	if (thread->cgroup)
		pprof_label(p, "cgroup", thread->cgroup, 0, b);
	for (size_t i = 0; p->parts->is_bare && i < sizeof(own) / sizeof(*own); i++) {
		struct buf value = {0};

		if (labels_put(p->t, thread, own[i], &value)) {
			buf_put_u8(&value, '\0');
			if (value.failed)
				p->err = -ENOMEM;
			else
				pprof_label(p, own[i], (const char *)value.data, 0, b);
		}
		buf_free(&value);
	}
}

static int make_labels(struct pprof_tables *p)
{
	for (size_t i = 0; i < p->parts->n_entries; i++)
		label_thread(p, p->parts->entries[i].thread);
	if (p->parts->is_bare)
		return p->err;
	for (uint32_t i = 0; i < PPROF_REASONS; i++) {
		uint8_t reason = i < STACKD_END_COUNT ? (uint8_t)i : UINT8_MAX;

		pprof_label(p, "end", end_reason_name(reason), 0, &p->ends[i]);
	}
	for (uint32_t i = 0; i <= PROFILE_LOST; i++)
		pprof_label(p, "quality", profile_quality_name(i), 0, &p->qualities[i]);
	p->tag_key = pprof_tables_string(p, "tag");
	return p->err;
}

/* Returns the program of the process with the most, as the number of an object that has a mapping;
 * UINT32_MAX: there is none. pprof takes the first mapping for the program. */
static uint32_t main_binary(const struct pprof_tables *p, uint64_t *by_process)
{
	uint32_t largest = 0;
	const char *exe;

	for (size_t i = 0; i < p->parts->n_entries; i++) {
		const struct profile_entry *entry = &p->parts->entries[i];

		by_process[p->t->threads[entry->thread].process] += entry->samples;
	}
	for (uint32_t i = 1; i < p->t->n_processes; i++)
		if (by_process[i] > by_process[largest])
			largest = i;
	exe = p->t->n_processes ? p->t->processes[largest].exe : NULL;
	for (uint32_t i = 0; exe && i < p->t->n_objects; i++)
		if (p->limits[i] && p->t->objects[i].path && !strcmp(p->t->objects[i].path, exe))
			return i;
	return UINT32_MAX;
}

static void number_mapping(struct pprof_tables *p, uint32_t object, uint32_t *shared)
{
	const enum frame_kind kind = frame_kind_of_object(&p->t->objects[object]);

	if (!p->limits[object] || p->mappings[object])
		return;
	if (shared[kind]) {
		p->mappings[object] = shared[kind];
		return;
	}
	p->by_mapping[p->n_mappings++] = object;
	p->mappings[object] = p->n_mappings;
	if (frame_kind_is_managed(kind))
		shared[kind] = p->n_mappings;
}

static int number_mappings(struct pprof_tables *p)
{
	uint64_t *by_process = calloc((size_t)p->t->n_processes + 1, sizeof(*by_process));
	uint32_t shared[FRAME_KINDS] = {0}, first;

	if (!by_process)
		return -ENOMEM;
	first = main_binary(p, by_process);
	free(by_process);
	if (first != UINT32_MAX)
		number_mapping(p, first, shared);
	for (uint32_t i = 0; i < p->t->n_objects; i++)
		number_mapping(p, i, shared);
	return 0;
}

static int fill(struct pprof_tables *p)
{
	const struct store_tables *t = p->t;
	int err = strings_new(&p->strings);

	p->ids = calloc((size_t)t->n_locations + 1, sizeof(*p->ids));
	p->locations = calloc((size_t)t->n_locations + 1, sizeof(*p->locations));
	p->limits = calloc((size_t)t->n_objects + 1, sizeof(*p->limits));
	p->mappings = calloc((size_t)t->n_objects + 1, sizeof(*p->mappings));
	p->by_mapping = calloc((size_t)t->n_objects + 1, sizeof(*p->by_mapping));
	p->threads = calloc((size_t)t->n_threads + 1, sizeof(*p->threads));
	if (err < 0 || !p->ids || !p->locations || !p->limits || !p->mappings || !p->by_mapping ||
	    !p->threads)
		return -ENOMEM;
	if (t->n_objects >= 1u << (63 - PPROF_OBJECT_SHIFT))
		return -EOVERFLOW;
	pprof_tables_string(p, ""); /* number 0 */
	err = stack_table_is_shaped(p->profile) ? collect_frames(p) : collect_locations(p);
	if (err == 0)
		err = number_mappings(p);
	return err < 0 ? err : make_labels(p);
}

int pprof_tables_new(const struct pprof_parts *parts, struct pprof_tables **ret_tables)
{
	struct pprof_tables *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->parts = parts;
	p->profile = parts->profile;
	p->t = profile_tables(parts->profile);
	err = fill(p);
	if (err < 0) {
		pprof_tables_free(p);
		return err;
	}
	*ret_tables = p;
	return 0;
}

void pprof_tables_free(struct pprof_tables *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; p->threads && i < p->t->n_threads; i++)
		buf_free(&p->threads[i]);
	for (uint32_t i = 0; i < PPROF_REASONS; i++)
		buf_free(&p->ends[i]);
	for (uint32_t i = 0; i <= PROFILE_LOST; i++)
		buf_free(&p->qualities[i]);
	stack_table_free(p->stack_table);
	free(p->threads);
	free(p->ids);
	free(p->locations);
	free(p->limits);
	free(p->mappings);
	free(p->by_mapping);
	free(p->functions);
	strings_free(p->strings);
	buf_free(&p->text);
	buf_free(&p->scratch);
	free(p);
}

/* --- asking ---------------------------------------------------------------------------------- */

uint32_t pprof_tables_strings(const struct pprof_tables *p)
{
	return strings_count(p->strings);
}

const struct stack_table *pprof_tables_stacks(const struct pprof_tables *p)
{
	return p->stack_table;
}

const uint32_t *pprof_tables_ids(const struct pprof_tables *p)
{
	return p->ids;
}

uint64_t pprof_tables_mark(const struct pprof_tables *p, const struct profile_entry *entry)
{
	if (profile_entry_mark(p->profile, entry))
		return p->mark_ids[pprof_reason(entry->end_reason)];
	return entry->node ? 0 : p->mark_ids[PPROF_REASONS];
}

const struct buf *pprof_tables_thread(const struct pprof_tables *p, uint32_t thread)
{
	return &p->threads[thread];
}

const struct buf *pprof_tables_quality(const struct pprof_tables *p, uint8_t quality)
{
	return &p->qualities[quality <= PROFILE_LOST ? quality : PROFILE_PARTIAL];
}

const struct buf *pprof_tables_end(const struct pprof_tables *p, uint8_t end_reason)
{
	return &p->ends[pprof_reason(end_reason)];
}

uint32_t pprof_tables_tag_key(const struct pprof_tables *p)
{
	return p->tag_key;
}

/* --- writing --------------------------------------------------------------------------------- */

/* Writes a message. `scratch` is a buffer that calls reuse, which saves allocations. Returns 0,
 * -ENOMEM or -EIO. */
static int write_message(const Pprof__Profile *message, struct buf *scratch, FILE *out)
{
	size_t size = pprof__profile__get_packed_size(message);

	if (scratch->cap < size) {
		buf_free(scratch);
		scratch->data = malloc(size);
		if (!scratch->data)
			return -ENOMEM;
		scratch->cap = size;
	}
	pprof__profile__pack(message, scratch->data);
	return fwrite(scratch->data, 1, size, out) == size ? 0 : -EIO;
}

/* Makes a comment with those parts of the reports' header for which pprof has no fields. Returns
 * the index of its string. */
static int64_t pprof_comment(struct pprof_tables *p)
{
	const struct store_recording *recording = &p->t->recording;
	struct buf b = {0};
	int64_t number;

	text_put_raw(&b, "host ");
	text_put_raw(&b, recording->host);
	text_put_raw(&b, ", kernel ");
	text_put_raw(&b, recording->kernel);
	text_put_raw(&b, ", event ");
	report_header_event(recording, &b);
	text_printf(&b, ", %" PRIu64 " sample%s, %" PRIu64 " lost, ",
		    profile_totals(p->profile)->samples,
		    text_plural(profile_totals(p->profile)->samples, "", "s"), recording->lost);
	report_header_quality(p->profile, &b);
	buf_put_u8(&b, '\0');
	if (b.failed)
		p->err = -ENOMEM;
	number = b.failed ? 0 : pprof_tables_string(p, (const char *)b.data);
	buf_free(&b);
	return number;
}

/* Makes the comment that names the regions whose probes were taken off (--region-limit). Returns
 * the index of its string; 0: there are none. */
static int64_t pprof_off(struct pprof_tables *p)
{
	char *text;
	int64_t number = 0;

	if (report_header_off_text(p->profile, &text))
		p->err = -ENOMEM;
	if (text)
		number = pprof_tables_string(p, text);
	free(text);
	return number;
}

static Pprof__ValueType value_type(struct pprof_tables *p, const struct pprof_value *value)
{
	Pprof__ValueType type = PPROF__VALUE_TYPE__INIT;

	type.type = pprof_tables_string(p, value->name);
	type.unit = pprof_tables_string(p, value->unit);
	return type;
}

static int head(struct pprof_tables *p, FILE *out)
{
	const struct store_recording *recording = &p->t->recording;
	const struct pprof_parts *parts = p->parts;
	Pprof__Profile message = PPROF__PROFILE__INIT;
	Pprof__ValueType types[PPROF_VALUES_MAX], *type_list[PPROF_VALUES_MAX], period_type;
	int64_t comments[2];

	for (size_t i = 0; i < parts->n_values; i++) {
		types[i] = value_type(p, &parts->values[i]);
		type_list[i] = &types[i];
	}
	period_type = value_type(p, &parts->period_type);
	message.sample_type = type_list;
	message.n_sample_type = parts->n_values;
	message.default_sample_type = types[parts->chosen].type;
	message.period_type = &period_type;
	message.period = parts->period;
	message.time_nanos = (int64_t)recording->start_unix_ns;
	message.duration_nanos = (int64_t)(recording->end_ns - recording->start_ns);
	comments[0] = pprof_comment(p);
	comments[1] = pprof_off(p);
	message.comment = comments;
	message.n_comment = comments[1] ? 2 : 1;
	return p->err < 0 ? p->err : write_message(&message, &p->scratch, out);
}

/* Returns the string of a build-id, in hexadecimal. */
static uint32_t pprof_build_id(struct pprof_tables *p, const struct store_object *object)
{
	char text[2 * 64 + 1] = "";

	for (size_t i = 0; i < object->build_id_len && i < 64; i++)
		snprintf(text + 2 * i, 3, "%02x", object->build_id[i]);
	return pprof_tables_string(p, text);
}

/* Returns the string of a mapping's name. */
static uint32_t mapping_name(struct pprof_tables *p, const struct store_object *object)
{
	enum frame_kind kind = frame_kind_of_object(object);
	char name[32];

	if (!frame_kind_is_managed(kind))
		return pprof_tables_string(p, object->path ? object->path : "[unknown]");
	snprintf(name, sizeof(name), "[%s]", frame_kind_name(kind));
	return pprof_tables_string(p, name);
}

static int pprof_write_mappings(struct pprof_tables *p, FILE *out)
{
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < p->n_mappings; i++) {
		const uint32_t number = p->by_mapping[i];
		const struct store_object *object = &p->t->objects[number];
		Pprof__Mapping mapping = PPROF__MAPPING__INIT, *list = &mapping;
		Pprof__Profile message = PPROF__PROFILE__INIT;

		mapping.id = i + 1;
		mapping.memory_start = mapping.id << PPROF_OBJECT_SHIFT;
		mapping.memory_limit =
			mapping.memory_start + ((p->limits[number] + 4095) & ~4095ull);
		mapping.filename = mapping_name(p, object);
		mapping.build_id = pprof_build_id(p, object);
		mapping.has_functions = mapping.has_filenames = true;
		mapping.has_line_numbers = mapping.has_inline_frames = true;
		message.mapping = &list;
		message.n_mapping = 1;
		err = p->err < 0 ? p->err : write_message(&message, &p->scratch, out);
	}
	return err;
}

static int pprof_write_one(struct pprof_tables *p, Pprof__Location *location, FILE *out)
{
	Pprof__Profile message = PPROF__PROFILE__INIT;

	message.location = &location;
	message.n_location = 1;
	return write_message(&message, &p->scratch, out);
}

/* Returns the address of a location, which is in its object's mapping. */
static uint64_t address_of(const struct pprof_tables *p, const struct store_location *location)
{
	uint64_t start = (uint64_t)p->mappings[location->object] << PPROF_OBJECT_SHIFT;

	if (is_managed(p, location->object))
		return start + location->offset % PPROF_OBJECT_SIZE;
	return start + location->offset + location->is_return;
}

static uint64_t function_id(const struct pprof_tables *p, const struct profile_symbol *symbol)
{
	return p->functions[symbol->number].id;
}

static int pprof_write_location(struct pprof_tables *p, uint32_t number, FILE *out)
{
	const struct store_location *location = &p->t->locations[number];
	Pprof__Location l = PPROF__LOCATION__INIT;
	Pprof__Line *lines, **list;
	const struct profile_frame *frames;
	size_t count;
	int err;

	frames = profile_location_frames(p->profile, number, &count);
	lines = frames ? calloc(count, sizeof(*lines)) : NULL;
	list = lines ? calloc(count, sizeof(*list)) : NULL;
	if (!list) {
		free(lines);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		pprof__line__init(&lines[i]);
		lines[i].function_id = function_id(p, frames[count - 1 - i].symbol);
		lines[i].line = frames[count - 1 - i].line;
		list[i] = &lines[i];
	}
	l.id = p->ids[number];
	l.mapping_id = p->mappings[location->object];
	l.address = address_of(p, location);
	l.line = list;
	l.n_line = count;
	err = pprof_write_one(p, &l, out);
	free(list);
	free(lines);
	return err;
}

static int pprof_write_frame(struct pprof_tables *p, uint32_t number, FILE *out)
{
	uint32_t n;
	const struct profile_frame *frame = &stack_table_frames(p->stack_table, &n)[number].frame;
	Pprof__Location l = PPROF__LOCATION__INIT;
	Pprof__Line line = PPROF__LINE__INIT, *list = &line;

	l.id = PPROF_LOCATION(number);
	line.function_id = function_id(p, frame->symbol);
	line.line = frame->line;
	l.line = &list;
	l.n_line = 1;
	if (frame->location != UINT32_MAX) {
		const struct store_location *location = &p->t->locations[frame->location];

		l.mapping_id = p->mappings[location->object];
		l.address = address_of(p, location);
	}
	return pprof_write_one(p, &l, out);
}

static int pprof_write_frames(struct pprof_tables *p, FILE *out)
{
	uint32_t n;
	int err = 0;

	stack_table_frames(p->stack_table, &n);
	for (uint32_t i = 0; err == 0 && i < n; i++)
		err = pprof_write_frame(p, i, out);
	return err;
}

static int pprof_write_locations(struct pprof_tables *p, FILE *out)
{
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < p->n_locations; i++)
		err = pprof_write_location(p, p->locations[i], out);
	return err;
}

static int pprof_write_marks(struct pprof_tables *p, FILE *out)
{
	int err = 0;

	for (uint32_t i = 0; err == 0 && i <= PPROF_REASONS; i++) {
		Pprof__Location location = PPROF__LOCATION__INIT;
		Pprof__Line line = PPROF__LINE__INIT, *list = &line;

		if (!p->marks[i])
			continue;
		location.id = p->mark_ids[i];
		line.function_id = function_id(p, p->marks[i]);
		location.line = &list;
		location.n_line = 1;
		err = pprof_write_one(p, &location, out);
	}
	return err;
}

static int pprof_write_functions(struct pprof_tables *p, FILE *out)
{
	uint32_t *order = calloc((size_t)p->last_id + 1, sizeof(*order)); /* by id */
	int err = order ? 0 : -ENOMEM;

	for (uint32_t i = 0; err == 0 && i < p->n_functions; i++)
		order[p->functions[i].id] = i; /* functions that are not needed have the id 0 */
	for (uint32_t id = 1; err == 0 && id <= p->last_id; id++) {
		const struct pprof_function *from = &p->functions[order[id]];
		Pprof__Function function = PPROF__FUNCTION__INIT, *list = &function;
		Pprof__Profile message = PPROF__PROFILE__INIT;

		function.id = id;
		function.name = from->name;
		function.system_name = from->system_name;
		function.filename = from->file;
		function.start_line = from->start_line;
		message.function = &list;
		message.n_function = 1;
		err = write_message(&message, &p->scratch, out);
	}
	free(order);
	return err;
}

static int pprof_write_strings(struct pprof_tables *p, FILE *out)
{
	uint32_t n = strings_count(p->strings);
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < n; i += PPROF_CHUNK) {
		Pprof__Profile message = PPROF__PROFILE__INIT;
		char *list[PPROF_CHUNK];

		message.n_string_table = n - i < PPROF_CHUNK ? n - i : PPROF_CHUNK;
		for (size_t j = 0; j < message.n_string_table; j++)
			list[j] = (char *)strings_at(p->strings, i + (uint32_t)j);
		message.string_table = list;
		err = write_message(&message, &p->scratch, out);
	}
	return err;
}

int pprof_tables_write(struct pprof_tables *p, FILE *out)
{
	int err = head(p, out);

	if (err == 0)
		err = pprof_write_mappings(p, out);
	if (err == 0)
		err = p->stack_table ? pprof_write_frames(p, out) : pprof_write_locations(p, out);
	if (err == 0)
		err = pprof_write_marks(p, out);
	if (err == 0)
		err = pprof_write_functions(p, out);
	return err < 0 ? err : pprof_write_strings(p, out);
}
