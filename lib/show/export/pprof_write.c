/* SPDX-License-Identifier: MIT */
/*
 * The tables of a pprof file on their way out: a Profile message for each element, for messages
 * that follow one another are one message whose lists follow one another.
 */
#include "export/pprof_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/report_header.h"
#include "base/text.h"

#define PPROF_CHUNK 1024 /* strings in one message */

int pprof_write(const Pprof__Profile *message, struct buf *scratch, FILE *out)
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

/* The header of the reports, as far as pprof has no field for it. */
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
	text_printf(&b, ", %" PRIu64 " samples, %" PRIu64 " lost, ",
		    profile_totals(p->profile)->samples, recording->lost);
	report_header_quality(p->profile, &b);
	buf_put_u8(&b, '\0');
	if (b.failed)
		p->err = -ENOMEM;
	number = b.failed ? 0 : pprof_tables_string(p, (const char *)b.data);
	buf_free(&b);
	return number;
}

/* Enters the comment that says which regions are not counted to the end; 0: all are. */
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

static int head(struct pprof_tables *p, FILE *out)
{
	const struct store_recording *recording = &p->t->recording;
	const bool is_cpu = profile_filter(p->profile)->metric == METRIC_CPU;
	const struct pprof_parts *parts = p->parts;
	Pprof__Profile message = PPROF__PROFILE__INIT;
	Pprof__ValueType types[PPROF_VALUES_MAX], *type_list[PPROF_VALUES_MAX];
	int64_t comments[2];

	for (size_t i = 0; i < parts->n_values; i++) {
		pprof__value_type__init(&types[i]);
		types[i].type = pprof_tables_string(p, parts->values[i].name);
		types[i].unit = pprof_tables_string(p, parts->values[i].unit);
		type_list[i] = &types[i];
	}
	message.sample_type = type_list;
	message.n_sample_type = parts->n_values;
	message.default_sample_type = types[parts->chosen].type;
	message.period_type = &types[1];
	message.period = is_cpu ? (int64_t)recording->period : 0;
	if (is_cpu && !message.period && recording->frequency_hz)
		message.period = (int64_t)(1000000000 / recording->frequency_hz);
	message.time_nanos = (int64_t)recording->start_unix_ns;
	message.duration_nanos = (int64_t)(recording->end_ns - recording->start_ns);
	comments[0] = pprof_comment(p);
	comments[1] = pprof_off(p);
	message.comment = comments;
	message.n_comment = comments[1] ? 2 : 1;
	return p->err < 0 ? p->err : pprof_write(&message, &p->scratch, out);
}

/* A build-id is hexadecimal there. */
static uint32_t pprof_build_id(struct pprof_tables *p, const struct store_object *object)
{
	char text[2 * 64 + 1] = "";

	for (size_t i = 0; i < object->build_id_len && i < 64; i++)
		snprintf(text + 2 * i, 3, "%02x", object->build_id[i]);
	return pprof_tables_string(p, text);
}

static int pprof_write_mappings(struct pprof_tables *p, FILE *out)
{
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < p->t->n_objects; i++) {
		const struct store_object *object = &p->t->objects[i];
		Pprof__Mapping mapping = PPROF__MAPPING__INIT, *list = &mapping;
		Pprof__Profile message = PPROF__PROFILE__INIT;

		if (!p->mappings[i])
			continue;
		mapping.id = p->mappings[i];
		mapping.memory_start = mapping.id << PPROF_OBJECT_SHIFT;
		mapping.memory_limit = mapping.memory_start + ((p->limits[i] + 4095) & ~4095ull);
		mapping.filename =
			pprof_tables_string(p, object->path ? object->path : "[unknown]");
		mapping.build_id = pprof_build_id(p, object);
		mapping.has_functions = mapping.has_filenames = true;
		mapping.has_line_numbers = mapping.has_inline_frames = true;
		message.mapping = &list;
		message.n_mapping = 1;
		err = p->err < 0 ? p->err : pprof_write(&message, &p->scratch, out);
	}
	return err;
}

static int pprof_write_one(struct pprof_tables *p, Pprof__Location *location, FILE *out)
{
	Pprof__Profile message = PPROF__PROFILE__INIT;

	message.location = &location;
	message.n_location = 1;
	return pprof_write(&message, &p->scratch, out);
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
	l.address = (l.mapping_id << PPROF_OBJECT_SHIFT) + location->offset + location->is_return;
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
		l.address = (l.mapping_id << PPROF_OBJECT_SHIFT) + location->offset +
			    location->is_return;
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
		order[p->functions[i].id] = i; /* those that are not needed: at 0 */
	for (uint32_t id = 1; err == 0 && id <= p->last_id; id++) {
		const struct pprof_function *from = &p->functions[order[id]];
		Pprof__Function function = PPROF__FUNCTION__INIT, *list = &function;
		Pprof__Profile message = PPROF__PROFILE__INIT;

		function.id = id;
		function.name = from->name;
		function.system_name = from->system_name;
		function.filename = from->file;
		message.function = &list;
		message.n_function = 1;
		err = pprof_write(&message, &p->scratch, out);
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
		err = pprof_write(&message, &p->scratch, out);
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
