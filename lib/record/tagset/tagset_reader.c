/* SPDX-License-Identifier: MIT */
/* Reads a set of tag exports as a recording; see tagset_reader.h. Objects, locations, processes and
 * nodes of the reader have the numbers of the set. */
#include "tagset/tagset_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/int_map.h"
#include "base/strings.h"
#include "base/text.h"
#include "proc/object_id.h"
#include "stack/end_reason.h"
#include "store/store_memory.h"
#include "tagset/tagset_state.h"

#define READER_KINDS 16 /* more than there are kinds of objects */

/* The state of making a reader. `texts` has the unescaped texts, each once. */
struct reading {
	const struct tagset *set;
	struct store_reader *reader;
	struct strings *texts, *events, *hosts;
	struct int_map thread_at; /* (process and comm, tid) -> number */
	struct int_map origin_at; /* (inferred, is_complete) -> number */
	VEC(struct store_line) lines;
	uint32_t event;	 /* the event whose recordings are read, as a number in `events` */
	uint32_t metric; /* name of the metric: text of the set */
	struct buf text;
};

/* Gives `len` bytes of escaped text, unescaped. The result lives as long as `texts`. Returns 0 or
 * -ENOMEM. */
static int keep(struct reading *rd, const char *escaped, size_t len, const char **ret_text)
{
	uint32_t number;
	int err;

	buf_clear(&rd->text);
	tagset_text(&rd->text, escaped, len);
	buf_put_u8(&rd->text, '\0');
	if (rd->text.failed)
		return -ENOMEM;
	err = strings_intern(rd->texts, (const char *)rd->text.data, &number);
	if (err == 0)
		*ret_text = strings_at(rd->texts, number);
	return err;
}

/* Gives the index-th field of a text, unescaped; "" if it has fewer. Tabs separate fields. */
static int field(struct reading *rd, uint32_t text, unsigned index, const char **ret_text)
{
	const char *at = tagset_escaped(rd->set, text);

	for (; index; index--) {
		at += strcspn(at, "\t");
		at += *at == '\t';
	}
	return keep(rd, at, strcspn(at, "\t"), ret_text);
}

/* --- recordings ------------------------------------------------------------------------------- */

enum { RECORDING_HOST = 2, RECORDING_EVENT = 4 }; /* indices of fields */

static int number_of(struct reading *rd, struct strings *in, uint32_t recording, unsigned index,
		     uint32_t *ret_number)
{
	const char *text;
	int err = field(rd, rd->set->recordings.items[recording].fields, index, &text);

	return err == 0 ? strings_intern(in, text, ret_number) : err;
}

/* Finds out whether a recording counts the event whose recordings are read. */
static int is_read(struct reading *rd, uint32_t recording, bool *ret_is)
{
	uint32_t event;
	int err = number_of(rd, rd->events, recording, RECORDING_EVENT, &event);

	*ret_is = err == 0 && event == rd->event;
	return err;
}

/* Sums up the recordings that are read in `rec`. */
static int sum_up(struct reading *rd, struct store_recording *rec, uint32_t *ret_count)
{
	const struct tagset *set = rd->set;
	bool is = true;
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < set->recordings.count; i++) {
		uint64_t start = set->recordings.items[i].start_unix_ns;
		uint32_t host;

		err = is_read(rd, i, &is);
		if (err < 0 || !is)
			continue;
		if (!*ret_count || start < rec->start_unix_ns)
			rec->start_unix_ns = start;
		++*ret_count;
		err = number_of(rd, rd->hosts, i, RECORDING_HOST, &host);
	}
	for (size_t i = 0; err == 0 && i < set->samples.count; i++) {
		const struct tagset_sample *s = &set->samples.items[i];

		err = is_read(rd, set->processes.items[s->process].recording, &is);
		if (is && strcmp(tagset_escaped(set, s->metric), TAGSET_CPU) == 0)
			rec->samples += s->count;
	}
	return err;
}

static int begin(struct reading *rd, enum metric metric, const char *name, uint32_t *ret_left_out)
{
	const struct tagset *set = rd->set;
	struct store_recording rec = {.id = 1,
				      .kernel = "",
				      .arch = "",
				      .command = "",
				      .target = name,
				      .note = "",
				      .finished = true};
	uint32_t latest = 0, count = 0;
	char hosts[32];
	int err;

	for (uint32_t i = 1; i < set->recordings.count; i++)
		if (set->recordings.items[i].start_unix_ns >
		    set->recordings.items[latest].start_unix_ns)
			latest = i;
	if (!set->recordings.count)
		return -ENODATA;
	err = number_of(rd, rd->events, latest, RECORDING_EVENT, &rd->event);
	if (err == 0)
		err = sum_up(rd, &rec, &count);
	if (err < 0)
		return err;
	rec.event = strings_at(rd->events, rd->event);
	rec.start_ns = rec.end_ns = rec.start_unix_ns;
	snprintf(hosts, sizeof(hosts), "%" PRIu32 " hosts", strings_count(rd->hosts));
	rec.host = strings_count(rd->hosts) == 1 ? strings_at(rd->hosts, 0) : hosts;
	*ret_left_out = (uint32_t)set->recordings.count - count;
	return store_memory_new(&rec, count, (uint64_t)1 << metric_info(metric)->series,
				&rd->reader);
}

/* --- names ------------------------------------------------------------------------------------ */

static uint32_t kind_number(const char *name)
{
	for (uint32_t i = 0; i < READER_KINDS; i++)
		if (strcmp(object_kind_name(i), name) == 0)
			return i;
	return UINT32_MAX;
}

static int add_object(struct reading *rd, const struct tagset_object *from)
{
	struct store_object object = {.file_id = from->file_id};
	const char *kind, *digits, *layout, *path = tagset_escaped(rd->set, from->path);
	uint8_t build_id[256];
	int err = field(rd, from->identity, 0, &kind);

	if (err == 0)
		err = field(rd, from->identity, 2, &digits);
	if (err == 0)
		err = field(rd, from->identity, 3, &layout);
	if (err == 0)
		err = keep(rd, path, strlen(path), &object.path);
	if (err < 0)
		return err;
	object.kind = kind_number(kind);
	object.layout = strtoull(layout, NULL, 16);
	for (; digits[0] && digits[1] && object.build_id_len < sizeof(build_id); digits += 2) {
		char byte[3] = {digits[0], digits[1], '\0'};

		build_id[object.build_id_len++] = (uint8_t)strtol(byte, NULL, 16);
	}
	object.build_id = build_id;
	return store_memory_object(rd->reader, &object);
}

/* Adds the lines of a location. Its names are FRAME, then FUNCTION, SOURCE and LINE of each
 * function there, outermost first; lines are innermost first. */
static int add_lines(struct reading *rd, uint32_t number)
{
	uint32_t names = rd->set->locations.items[number].names, n = 1;
	const char *text = tagset_escaped(rd->set, names);
	int err = 0;

	for (const char *at = text; *at; at++)
		n += *at == '\t';
	n /= 3;
	for (uint32_t depth = 0; err == 0 && depth < n; depth++) {
		/* START follows the enclosing function's fields. */
		unsigned outer = n - 1 - depth, first = outer ? 2 + 3 * outer : 1;
		struct store_line line = {
			.location = number, .depth = depth, .is_inlined = depth + 1 < n};
		const char *digits;

		err = field(rd, names, first, &line.function);
		if (err == 0)
			err = field(rd, names, first + 1, &line.file);
		if (err == 0)
			err = field(rd, names, first + 2, &digits);
		if (err < 0)
			break;
		line.line = (uint32_t)strtoul(digits, NULL, 10);
		if (!outer)
			err = field(rd, names, 4, &digits);
		if (err < 0)
			break;
		line.function_start = outer ? 0 : strtoull(digits, NULL, 16);
		if (n == 1 && !*line.function && !*line.file && !line.line)
			break; /* nothing is known of the location */
		line.function = *line.function ? line.function : NULL;
		line.file = *line.file ? line.file : NULL;
		err = VEC_RESERVE(&rd->lines, 1);
		if (err == 0)
			rd->lines.items[rd->lines.count++] = line;
	}
	return err;
}

static int add_location(struct reading *rd, uint32_t number)
{
	const struct tagset_location *from = &rd->set->locations.items[number];
	struct store_location location = {.object = from->object};
	const char *frame;
	int err = field(rd, from->names, 0, &frame);

	if (err < 0)
		return err;
	location.offset = strtoull(tagset_escaped(rd->set, from->offset), NULL, 16);
	location.is_return = strcmp(frame, "call") == 0;
	err = store_memory_location(rd->reader, &location);
	return err == 0 ? add_lines(rd, number) : err;
}

static int add_names(struct reading *rd)
{
	const struct tagset *set = rd->set;
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < set->objects.count; i++)
		err = add_object(rd, &set->objects.items[i]);
	for (uint32_t i = 0; err == 0 && i < set->locations.count; i++)
		err = add_location(rd, i);
	for (uint32_t i = 1; err == 0 && i < set->nodes.count; i++) {
		const struct store_node node = {set->nodes.items[i].parent,
						set->nodes.items[i].location};

		err = store_memory_node(rd->reader, &node);
	}
	return err;
}

/* --- threads and sums ------------------------------------------------------------------------- */

static int add_process(struct reading *rd, const struct tagset_process *from)
{
	struct store_process process = {0};
	const char *pid, *parent;
	int err = field(rd, from->fields, 0, &pid);

	if (err == 0)
		err = field(rd, from->fields, 1, &parent);
	if (err == 0)
		err = field(rd, from->fields, 2, &process.comm);
	if (err == 0)
		err = field(rd, from->fields, 3, &process.exe);
	if (err < 0)
		return err;
	process.pid = (int32_t)strtol(pid, NULL, 10);
	process.parent = (int32_t)strtol(parent, NULL, 10);
	return store_memory_process(rd->reader, &process);
}

/* Gives the thread of a sample, and adds it if it is new. */
static int thread_of(struct reading *rd, const struct tagset_sample *s, uint32_t tid,
		     uint32_t *ret_thread)
{
	const struct tagset_process *process = &rd->set->processes.items[s->process];
	uint32_t next = (uint32_t)rd->thread_at.used;
	struct store_labels labels = {.rank = process->rank};
	struct store_thread thread = {
		.process = s->process, .tid = (int32_t)tid, .labels = &labels};
	int err = int_map_enter_wide(&rd->thread_at, (uint64_t)s->process << 32 | s->comm, tid,
				     next, ret_thread);

	if (err < 0 || *ret_thread != next)
		return err;
	err = field(rd, s->comm, 0, &thread.comm);
	labels.command = thread.comm;
	if (err == 0)
		err = field(rd, rd->set->recordings.items[process->recording].fields,
			    RECORDING_HOST, &labels.host);
	return err == 0 ? store_memory_thread(rd->reader, &thread) : err;
}

static int origin_of(struct reading *rd, uint32_t inferred, bool is_complete, uint32_t *ret_origin)
{
	uint32_t next = (uint32_t)rd->origin_at.used + 1; /* number 0 is there already */
	int err;

	*ret_origin = 0;
	if (!inferred)
		return 0;
	err = int_map_enter_wide(&rd->origin_at, inferred, is_complete, next, ret_origin);
	return err == 0 && *ret_origin == next
		       ? store_memory_origin(rd->reader, inferred, is_complete)
		       : err;
}

static int reason_number(const char *name, uint8_t *ret_number)
{
	for (unsigned i = 0; i < STACKD_END_COUNT; i++) {
		if (strcmp(end_reason_name((uint8_t)i), name) != 0)
			continue;
		*ret_number = (uint8_t)i;
		return 0;
	}
	return -EBADMSG;
}

/* Adds a sample as a sum. The text after its amounts has the thread's id, the end reason, the
 * quality, and the number of inferred frames. */
static int add_sum(struct reading *rd, const struct tagset_sample *s)
{
	struct store_sum sum = {.node = s->node, .count = s->count, .weight = s->weight};
	const char *texts[4];
	uint32_t inferred;
	int err = 0;

	for (unsigned i = 0; err == 0 && i < 4; i++)
		err = field(rd, s->remainder, i, &texts[i]);
	if (err == 0)
		err = reason_number(texts[1], &sum.end_reason);
	if (err < 0)
		return err;
	inferred = (uint32_t)strtoul(texts[3], NULL, 10);
	if (inferred > rd->set->nodes.items[s->node].depth)
		return -EBADMSG;
	err = thread_of(rd, s, (uint32_t)strtol(texts[0], NULL, 10), &sum.thread);
	if (err == 0)
		err = origin_of(rd, inferred, strcmp(texts[2], "reconstructed") == 0, &sum.origin);
	return err == 0 ? store_memory_sum(rd->reader, &sum) : err;
}

static int add_sums(struct reading *rd)
{
	const struct tagset *set = rd->set;
	bool any = false, is;
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < set->processes.count; i++)
		err = add_process(rd, &set->processes.items[i]);
	for (size_t i = 0; err == 0 && i < set->samples.count; i++) {
		const struct tagset_sample *s = &set->samples.items[i];

		if (s->metric != rd->metric)
			continue;
		err = is_read(rd, set->processes.items[s->process].recording, &is);
		if (err == 0 && is)
			err = add_sum(rd, s);
		any |= is;
	}
	return err == 0 && !any ? -ENODATA : err;
}

static int reading_new(struct reading *rd)
{
	int err = strings_new(&rd->texts);

	if (err == 0)
		err = strings_new(&rd->events);
	return err == 0 ? strings_new(&rd->hosts) : err;
}

int tagset_reader_new(const struct tagset *set, enum metric metric, const char *name,
		      struct store_reader **ret_reader, uint32_t *ret_left_out)
{
	struct reading rd = {.set = set};
	int err = reading_new(&rd);

	if (err == 0)
		err = strings_intern(set->strings, metric_info(metric_summed(metric))->name,
				     &rd.metric);
	if (err == 0)
		err = begin(&rd, metric, name, ret_left_out);
	if (err == 0)
		err = add_names(&rd);
	if (err == 0)
		err = add_sums(&rd);
	if (err == 0)
		err = store_memory_finish(rd.reader, rd.lines.items, rd.lines.count);
	if (err == 0)
		*ret_reader = rd.reader;
	else
		store_reader_close(rd.reader);
	strings_free(rd.texts);
	strings_free(rd.events);
	strings_free(rd.hosts);
	int_map_fini(&rd.thread_at);
	int_map_fini(&rd.origin_at);
	free(rd.lines.items);
	buf_free(&rd.text);
	return err;
}

/* Returns whether a metric has the variances of another one. */
static bool is_variance(const char *metric)
{
	const size_t n = strlen(metric), behind = strlen(TAGSET_VARIANCE);

	return n > behind && strcmp(metric + n - behind, TAGSET_VARIANCE) == 0;
}

void tagset_reader_put_metrics(const struct tagset *set, struct buf *b)
{
	struct int_map seen = {0};
	uint32_t at;

	for (uint32_t i = 0; i < set->samples.count; i++) {
		uint32_t metric = set->samples.items[i].metric;

		if (int_map_enter(&seen, metric, i, &at) < 0 || at != i ||
		    is_variance(tagset_escaped(set, metric)))
			continue;
		text_put_raw(b, seen.used > 1 ? ", " : "");
		text_put_raw(b, tagset_escaped(set, metric));
	}
	int_map_fini(&seen);
}
