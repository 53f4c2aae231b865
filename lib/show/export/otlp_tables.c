/* SPDX-License-Identifier: MIT */
/*
 * Makes the dictionary of profiles of OpenTelemetry; see otlp_tables.h.
 *
 * Messages are allocated one by one, as protobuf-c does, so that its function frees them with the
 * request. A recording has offsets in files, not addresses: each object is mapped at 0, so an
 * address equals the offset. A caller's address is the last byte of its call, which the protocol
 * permits.
 */
#include "export/otlp_tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/int_map.h"
#include "base/strings.h"
#include "base/text.h"
#include "base/vec.h"
#include "model/frame_kind.h"

/* Allocates an initialised message of a type; NULL for lack of memory. */
#define NEW(type, init) ((type *)new_message(&(const type)init, sizeof(type)))

struct otlp_tables {
	struct profile *profile;
	const struct store_tables *t;
	Otlp__Dictionary *dictionary;
	/* attributes as texts: the number of a text in `keys`, plus 1, is the attribute's index */
	struct strings *strings, *keys;
	struct buf text;
	/* by number in the recording: index in the dictionary's table; 0: not added yet */
	int32_t *mappings, *locations;
	struct int_map functions; /* symbol -> index in the table of functions */
	/* (name and linkage name, file) -> index in the table of functions */
	struct int_map same_functions;
	struct int_map marks; /* symbol of a root mark -> index of its location */
	/* (trie node, symbol of the root mark + 1) -> index in the table of stacks */
	struct int_map stacks;
	bool failed;
};

static void *new_message(const void *init, size_t size)
{
	void *message = malloc(size);

	if (message)
		memcpy(message, init, size);
	return message;
}

int otlp_append(void ***list, size_t *n, void *message)
{
	/* The room is the next power of two: 1, 2, 4, ... */
	if ((*n & (*n - 1)) == 0 || !*n) {
		void **grown = vec_resize(*list, *n ? *n * 2 : 1, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		*list = grown;
	}
	(*list)[(*n)++] = message;
	return 0;
}

/* Appends a row to a table, and returns its index. */
#define ADD(p, table, row)                                                                         \
	add_row((p), (void ***)&(p)->dictionary->table, &(p)->dictionary->n_##table, (row))

/* Appends a row to a table, and returns its index. If that fails, frees the row, sets p->failed and
 * returns 0. */
static int32_t add_row(struct otlp_tables *p, void ***table, size_t *n, void *row)
{
	if (!row || otlp_append(table, n, row) < 0) {
		if (row)
			protobuf_c_message_free_unpacked(row, NULL);
		p->failed = true;
		return 0;
	}
	return (int32_t)(*n - 1);
}

int32_t otlp_tables_string(struct otlp_tables *p, const char *s)
{
	uint32_t number = 0;

	buf_clear(&p->text);
	text_put(&p->text, s ? s : "", NULL);
	buf_put_u8(&p->text, '\0');
	if (p->text.failed || strings_intern(p->strings, (const char *)p->text.data, &number) < 0)
		p->failed = true;
	return (int32_t)number;
}

/* --- attributes ------------------------------------------------------------------------------- */

Otlp__AnyValue *otlp_value(const char *text, int64_t number)
{
	Otlp__AnyValue *value = NEW(Otlp__AnyValue, OTLP__ANY_VALUE__INIT);
	struct buf b = {0};

	if (!value || !text) {
		if (value) {
			value->value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
			value->int_value = number;
		}
		return value;
	}
	text_put(&b, text, NULL);
	buf_put_u8(&b, '\0');
	if (b.failed) {
		buf_free(&b);
		free(value);
		return NULL;
	}
	value->value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	value->string_value = (char *)b.data;
	return value;
}

int32_t otlp_tables_attribute(struct otlp_tables *p, const char *key, const char *text,
			      int64_t number)
{
	const uint32_t before = strings_count(p->keys);
	Otlp__Attribute *row;
	uint32_t place = 0;
	char *name;
	int err;

	if (text ? asprintf(&name, "%s=s%s", key, text) < 0
		 : asprintf(&name, "%s=i%" PRId64, key, number) < 0) {
		p->failed = true;
		return 0;
	}
	err = strings_intern(p->keys, name, &place);
	free(name);
	if (err < 0) {
		p->failed = true;
		return 0;
	}
	if (place < before)
		return (int32_t)place + 1;
	row = NEW(Otlp__Attribute, OTLP__ATTRIBUTE__INIT);
	if (row) {
		row->key_strindex = otlp_tables_string(p, key);
		row->value = otlp_value(text, number);
		p->failed |= !row->value;
	}
	return ADD(p, attribute_table, row);
}

/* Allocates a list of one number. */
static int32_t *one_number(int32_t number)
{
	int32_t *list = malloc(sizeof(*list));

	if (list)
		*list = number;
	return list;
}

/* --- locations -------------------------------------------------------------------------------- */

static void name_build(struct otlp_tables *p, const struct store_object *object, Otlp__Mapping *row)
{
	char text[2 * 64 + 1] = "";

	for (size_t i = 0; i < object->build_id_len && i < 64; i++)
		snprintf(text + 2 * i, 3, "%02x", object->build_id[i]);
	if (!*text)
		return;
	row->attribute_indices =
		one_number(otlp_tables_attribute(p, "process.executable.build_id.gnu", text, 0));
	row->n_attribute_indices = row->attribute_indices ? 1 : 0;
	p->failed |= !row->attribute_indices;
}

static int32_t mapping_of(struct otlp_tables *p, uint32_t number)
{
	const struct store_object *object = &p->t->objects[number];
	Otlp__Mapping *row;

	if (p->mappings[number])
		return p->mappings[number];
	row = NEW(Otlp__Mapping, OTLP__MAPPING__INIT);
	if (row) {
		row->filename_strindex =
			otlp_tables_string(p, object->path ? object->path : "[unknown]");
		name_build(p, object, row);
	}
	p->mappings[number] = ADD(p, mapping_table, row);
	return p->mappings[number];
}

/* Returns the index of a function, and adds it if it is new. Functions that differ only in their
 * object are one function here. */
static int32_t add_function(struct otlp_tables *p, int32_t name, int32_t linkage_name, int32_t file,
			    uint32_t first_line)
{
	const uint32_t next = (uint32_t)p->dictionary->n_function_table;
	uint32_t place = 0;
	Otlp__Function *row;

	if (int_map_enter_wide(&p->same_functions, (uint64_t)name << 32 | (uint32_t)linkage_name,
			       (uint32_t)file, next, &place) < 0) {
		p->failed = true;
		return 0;
	}
	if (place != next)
		return (int32_t)place;
	row = NEW(Otlp__Function, OTLP__FUNCTION__INIT);
	if (row) {
		row->name_strindex = name;
		row->system_name_strindex = linkage_name;
		row->filename_strindex = file;
		row->start_line = first_line;
	}
	return ADD(p, function_table, row);
}

static int32_t function_of(struct otlp_tables *p, const struct profile_symbol *symbol,
			   const char *linkage_name, const char *file)
{
	uint32_t place = int_map_find(&p->functions, symbol->number);

	if (place != INT_MAP_NONE)
		return (int32_t)place;
	place = (uint32_t)add_function(p, otlp_tables_string(p, symbol->name),
				       otlp_tables_string(p, linkage_name),
				       otlp_tables_string(p, file), symbol->first_line);
	if (int_map_set(&p->functions, symbol->number, place) < 0)
		p->failed = true;
	return (int32_t)place;
}

static void add_line(struct otlp_tables *p, Otlp__Location *location, int32_t function,
		     uint32_t number)
{
	Otlp__Line *line = NEW(Otlp__Line, OTLP__LINE__INIT);

	if (!line || otlp_append((void ***)&location->lines, &location->n_lines, line) < 0) {
		free(line);
		p->failed = true;
		return;
	}
	line->function_index = function;
	line->line = number;
}

/* Adds the lines of a location, from the innermost inlined function to the enclosing function. */
static void add_lines(struct otlp_tables *p, uint32_t number, Otlp__Location *row)
{
	const uint32_t first = p->t->line_first[number], n = p->t->line_first[number + 1] - first;
	const struct profile_frame *frames;
	size_t count = 0;

	frames = profile_location_frames(p->profile, number, &count);
	p->failed |= !frames;
	for (size_t i = 0; frames && i < count; i++) {
		const struct profile_frame *frame = &frames[count - 1 - i];
		const char *name = i < n ? p->t->lines[first + i].function : NULL;

		add_line(p, row, function_of(p, frame->symbol, name, frame->file), frame->line);
	}
}

/* Extends a mapping so that it contains `address`. */
static void widen(struct otlp_tables *p, int32_t mapping, uint64_t address)
{
	Otlp__Mapping *row = p->dictionary->mapping_table[mapping];

	if (mapping && row->memory_limit <= address)
		row->memory_limit = address + 1;
}

/* Says what executes a location's code, by the words of the protocol's conventions, which have none
 * for all code that is made at run time. */
static void name_type(struct otlp_tables *p, const struct store_object *object, Otlp__Location *row)
{
	static const char *const types[FRAME_KINDS] = {
		[FRAME_NATIVE] = "native", [FRAME_KERNEL] = "kernel",	[FRAME_PYTHON] = "cpython",
		[FRAME_RUBY] = "ruby",	   [FRAME_PHP] = "php",		[FRAME_PERL] = "perl",
		[FRAME_JAVA] = "jvm",	   [FRAME_JAVASCRIPT] = "v8js", [FRAME_ERLANG] = "beam",
	};
	const char *type = types[frame_kind_of_object(object)];

	if (!type)
		return;
	row->attribute_indices =
		one_number(otlp_tables_attribute(p, "profile.frame.type", type, 0));
	row->n_attribute_indices = row->attribute_indices ? 1 : 0;
	p->failed |= !row->attribute_indices;
}

/* Gives a location its object and address. A managed function has neither: its source file is the
 * file of the function. */
static void place(struct otlp_tables *p, const struct store_location *location, Otlp__Location *row)
{
	const struct store_object *object = &p->t->objects[location->object];

	name_type(p, object, row);
	if (frame_kind_is_managed(frame_kind_of_object(object)))
		return;
	row->mapping_index = mapping_of(p, location->object);
	row->address = location->offset;
	widen(p, row->mapping_index, row->address);
}

static int32_t location_of(struct otlp_tables *p, uint32_t number)
{
	const struct store_location *location = &p->t->locations[number];
	Otlp__Location *row;

	if (p->locations[number])
		return p->locations[number];
	row = NEW(Otlp__Location, OTLP__LOCATION__INIT);
	if (row) {
		place(p, location, row);
		add_lines(p, number, row);
	}
	p->locations[number] = ADD(p, location_table, row);
	return p->locations[number];
}

/* Returns the location of a root mark, which has only a name. */
static int32_t mark_of(struct otlp_tables *p, const struct profile_symbol *symbol)
{
	uint32_t place = int_map_find(&p->marks, symbol->number);
	Otlp__Location *row;

	if (place != INT_MAP_NONE)
		return (int32_t)place;
	row = NEW(Otlp__Location, OTLP__LOCATION__INIT);
	if (row)
		add_line(p, row, function_of(p, symbol, NULL, NULL), 0);
	place = (uint32_t)ADD(p, location_table, row);
	if (int_map_set(&p->marks, symbol->number, place) < 0)
		p->failed = true;
	return (int32_t)place;
}

/* --- stacks ----------------------------------------------------------------------------------- */

static Otlp__Stack *make_stack(struct otlp_tables *p, uint32_t node,
			       const struct profile_symbol *mark)
{
	Otlp__Stack *row = NEW(Otlp__Stack, OTLP__STACK__INIT);
	size_t n = mark ? 1 : 0, at = 0;

	for (uint32_t i = node; i; i = p->t->nodes[i].parent)
		n++;
	if (row)
		row->location_indices = vec_alloc(n, sizeof(*row->location_indices));
	if (!row || !row->location_indices) {
		free(row);
		return NULL;
	}
	row->n_location_indices = n;
	for (uint32_t i = node; i; i = p->t->nodes[i].parent)
		row->location_indices[at++] = location_of(p, p->t->nodes[i].location);
	if (mark)
		row->location_indices[at] = mark_of(p, mark);
	return row;
}

int32_t otlp_tables_stack(struct otlp_tables *p, const struct profile_entry *entry)
{
	const struct profile_symbol *mark = profile_entry_mark(p->profile, entry);
	const uint32_t next = (uint32_t)p->dictionary->n_stack_table;
	uint32_t place = 0;

	if (!mark && !entry->node)
		mark = profile_no_frames(p->profile);
	if (int_map_enter_wide(&p->stacks, entry->node, mark ? mark->number + 1 : 0, next, &place) <
	    0) {
		p->failed = true;
		return 0;
	}
	if (place == next)
		return ADD(p, stack_table, make_stack(p, entry->node, mark));
	return (int32_t)place;
}

/* ---------------------------------------------------------------------------------------------- */

/* Makes the row that means "no link". Its ids are zeros, which are invalid, but they have the
 * length that some readers expect. NULL: memory is short. */
static Otlp__Link *no_link(void)
{
	Otlp__Link *row = NEW(Otlp__Link, OTLP__LINK__INIT);

	if (!row)
		return NULL;
	row->trace_id.data = calloc(1, 16);
	row->span_id.data = calloc(1, 8);
	row->trace_id.len = row->trace_id.data ? 16 : 0;
	row->span_id.len = row->span_id.data ? 8 : 0;
	return row;
}

static void add_first_rows(struct otlp_tables *p)
{
	ADD(p, mapping_table, NEW(Otlp__Mapping, OTLP__MAPPING__INIT));
	ADD(p, location_table, NEW(Otlp__Location, OTLP__LOCATION__INIT));
	ADD(p, function_table, NEW(Otlp__Function, OTLP__FUNCTION__INIT));
	ADD(p, link_table, no_link());
	ADD(p, attribute_table, NEW(Otlp__Attribute, OTLP__ATTRIBUTE__INIT));
	ADD(p, stack_table, NEW(Otlp__Stack, OTLP__STACK__INIT));
	otlp_tables_string(p, "");
}

int otlp_tables_new(struct profile *profile, struct otlp_tables **ret_tables)
{
	struct otlp_tables *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->profile = profile;
	p->t = profile_tables(profile);
	p->dictionary = NEW(Otlp__Dictionary, OTLP__DICTIONARY__INIT);
	p->mappings = calloc((size_t)p->t->n_objects + 1, sizeof(*p->mappings));
	p->locations = calloc((size_t)p->t->n_locations + 1, sizeof(*p->locations));
	if (!p->dictionary || !p->mappings || !p->locations || strings_new(&p->strings) < 0 ||
	    strings_new(&p->keys) < 0) {
		otlp_tables_free(p);
		return -ENOMEM;
	}
	add_first_rows(p);
	*ret_tables = p;
	return 0;
}

void otlp_tables_free(struct otlp_tables *p)
{
	if (!p)
		return;
	if (p->dictionary)
		otlp__dictionary__free_unpacked(p->dictionary, NULL);
	strings_free(p->strings);
	strings_free(p->keys);
	buf_free(&p->text);
	free(p->mappings);
	free(p->locations);
	int_map_fini(&p->functions);
	int_map_fini(&p->same_functions);
	int_map_fini(&p->marks);
	int_map_fini(&p->stacks);
	free(p);
}

int otlp_tables_finish(struct otlp_tables *p, Otlp__Dictionary **ret_dictionary)
{
	Otlp__Dictionary *d = p->dictionary;

	for (uint32_t i = 0; !p->failed && i < strings_count(p->strings); i++) {
		char *copy = strdup(strings_at(p->strings, i));

		if (!copy ||
		    otlp_append((void ***)&d->string_table, &d->n_string_table, copy) < 0) {
			free(copy);
			p->failed = true;
		}
	}
	if (p->failed)
		return -ENOMEM;
	*ret_dictionary = d;
	p->dictionary = NULL;
	return 0;
}
