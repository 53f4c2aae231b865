/* SPDX-License-Identifier: MIT */
/*
 * Collects the tables of a pprof file; see pprof_tables.h. pprof_write.c writes them.
 *
 * Mappings, functions and locations that are needed are numbered from 1, without gaps, and stand in
 * this order, for there are readers that find them so. Locations are numbered by how often they are
 * used, and root marks are locations behind the last of these.
 */
#include "export/pprof_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"
#include "stack/end_reason.h"

#define PPROF_RANKS 65536 /* higher use counts share the last rank */

uint32_t pprof_tables_string(struct pprof_tables *p, const char *s)
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

/* Counts the paths of entries that have a location, by location; 0: it is not needed. */
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

/* The more often a location is used, the smaller its id, for small numbers take fewer bytes: sorted
 * by counting. */
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

/* pprof takes a name for demangled, and leaves it alone, if the linkage name is another. */
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
		if (function->system_name == function->name)
			function->system_name = 0;
	}
	if (!function->file && file)
		function->file = pprof_tables_string(p, file);
	return p->err;
}

static void limit(struct pprof_tables *p, const struct store_location *location)
{
	uint64_t end = location->offset + 2;

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

		/* A mark names the end reason, so it is the same for all origins that have one. */
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

/* The same where paths are shown otherwise than the trie has them: a location for each frame. */
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

/* Appends a label as Sample has it: its field, length and message. */
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

/* Labels of a thread: pprof_tables_thread(). */
static void label_thread(struct pprof_tables *p, uint32_t number)
{
	const struct store_thread *thread = &p->t->threads[number];
	struct buf *b = &p->threads[number];

	if (b->len) /* it has them */
		return;
	if (!p->parts->is_bare) {
		pprof_label(p, "pid", NULL, p->t->processes[thread->process].pid, b);
		pprof_label(p, "tid", NULL, thread->tid, b);
	}
	pprof_label(p, "comm", thread->comm && *thread->comm ? thread->comm : "[unnamed]", 0, b);
	if (thread->cgroup)
		pprof_label(p, "cgroup", thread->cgroup, 0, b);
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

static void number_mappings(struct pprof_tables *p)
{
	for (uint32_t i = 0, last = 0; i < p->t->n_objects; i++)
		if (p->limits[i])
			p->mappings[i] = ++last;
}

static int fill(struct pprof_tables *p)
{
	const struct store_tables *t = p->t;
	int err = strings_new(&p->strings);

	p->ids = calloc((size_t)t->n_locations + 1, sizeof(*p->ids));
	p->locations = calloc((size_t)t->n_locations + 1, sizeof(*p->locations));
	p->limits = calloc((size_t)t->n_objects + 1, sizeof(*p->limits));
	p->mappings = calloc((size_t)t->n_objects + 1, sizeof(*p->mappings));
	p->threads = calloc((size_t)t->n_threads + 1, sizeof(*p->threads));
	if (err < 0 || !p->ids || !p->locations || !p->limits || !p->mappings || !p->threads)
		return -ENOMEM;
	if (t->n_objects >= 1u << (63 - PPROF_OBJECT_SHIFT))
		return -EOVERFLOW;
	pprof_tables_string(p, ""); /* number 0 */
	err = stack_table_is_shaped(p->profile) ? collect_frames(p) : collect_locations(p);
	number_mappings(p);
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
