/* SPDX-License-Identifier: MIT */
/*
 * Interning of origins; see origin.h. One array has the runs of all origins; an origin's entry has
 * the index of its first run. Equal origins are found by a hash of their content.
 */
#include "stack/origin.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/vec.h"
#include "base/hash_index.h"

struct origin_entry {
	uint64_t hash;
	size_t first; /* index of its first run in `runs` of the table */
	uint32_t n_runs;
	uint32_t height;
	bool is_complete;
};

struct origin_table {
	VEC(struct origin_entry) entries;
	VEC(struct origin_run) runs;
	struct hash_index index;
};

const char *frame_source_name(uint8_t source)
{
	switch (source) {
#define FRAME_SOURCE_X(e, name, is_observed, meaning)                                              \
	case FRAME_SOURCE_##e:                                                                     \
		return name;
		FRAME_SOURCES(FRAME_SOURCE_X)
#undef FRAME_SOURCE_X
	default:
		return "unknown";
	}
}

bool frame_source_is_observed(uint8_t source)
{
	switch (source) {
#define FRAME_SOURCE_X(e, name, is_observed, meaning)                                              \
	case FRAME_SOURCE_##e:                                                                     \
		return is_observed;
		FRAME_SOURCES(FRAME_SOURCE_X)
#undef FRAME_SOURCE_X
	default:
		return false;
	}
}

uint32_t origin_inferred(const struct origin *origin)
{
	uint32_t frames = 0, inferred = 0;

	for (uint32_t i = 0; i < origin->n_runs; i++) {
		frames += origin->runs[i].frames;
		if (!frame_source_is_observed(origin->runs[i].source))
			inferred = frames;
	}
	return inferred;
}

struct origin_run origin_run_of(const struct origin *origin, uint32_t index)
{
	for (uint32_t i = 0; i < origin->n_runs; i++) {
		if (index < origin->runs[i].frames)
			return origin->runs[i];
		index -= origin->runs[i].frames;
	}
	return (struct origin_run){.source = FRAME_SOURCE_WALKED, .confidence = 100};
}

int origin_table_new(struct origin_table **ret_table)
{
	struct origin_table *table = calloc(1, sizeof(*table));

	if (!table || VEC_RESERVE(&table->entries, 1) < 0) {
		free(table);
		return -ENOMEM;
	}
	table->entries.items[table->entries.count++] = (struct origin_entry){0};
	*ret_table = table;
	return 0;
}

void origin_table_clear(struct origin_table *table)
{
	struct origin_entry *first = realloc(table->entries.items, sizeof(*first));

	free(table->runs.items);
	free(table->index.slot);
	table->runs = (typeof(table->runs)){0};
	table->index = (struct hash_index){0};
	table->entries.count = 1;
	if (first) {
		table->entries.items = first;
		table->entries.cap = 1;
	}
}

void origin_table_free(struct origin_table *table)
{
	if (!table)
		return;
	free(table->entries.items);
	free(table->runs.items);
	free(table->index.slot);
	free(table);
}

static uint64_t hash_run(uint64_t hash, const struct origin_run *run)
{
	return hash_chain(hash, hash_mix64((uint64_t)run->frames << 16 |
					   (uint64_t)run->source << 8 | run->confidence));
}

static bool alike(const struct origin_run *a, const struct origin_run *b)
{
	return a->source == b->source && a->confidence == b->confidence;
}

/* Appends the runs to those of the table. Joins neighbours of the same source and confidence, and
 * drops walked ones at the end. */
static int append(struct origin_table *table, const struct origin *origin,
		  struct origin_entry *ret_entry)
{
	struct origin_entry e = {.first = table->runs.count,
				 .height = origin->height,
				 .is_complete = origin->is_complete};
	struct origin_run *runs;

	if (origin->n_runs > ORIGIN_MAX_RUNS)
		return -EINVAL;
	if (VEC_RESERVE(&table->runs, origin->n_runs) < 0)
		return -ENOMEM;
	runs = table->runs.items + e.first;
	for (uint32_t i = 0; i < origin->n_runs; i++) {
		const struct origin_run *run = &origin->runs[i];

		if (!run->frames || run->source >= FRAME_SOURCE_COUNT || run->confidence > 100)
			return -EINVAL;
		if (e.n_runs && alike(&runs[e.n_runs - 1], run) &&
		    run->frames <= UINT32_MAX - runs[e.n_runs - 1].frames)
			runs[e.n_runs - 1].frames += run->frames;
		else
			runs[e.n_runs++] = *run;
	}
	while (e.n_runs && runs[e.n_runs - 1].source == FRAME_SOURCE_WALKED)
		e.n_runs--;
	for (uint32_t i = 0; i < e.n_runs; i++)
		e.hash = hash_run(e.hash, &runs[i]);
	e.hash = hash_mix64(e.hash + e.is_complete + ((uint64_t)e.height << 1));
	*ret_entry = e;
	return 0;
}

static bool equal(const struct origin_table *table, const struct origin_entry *a,
		  const struct origin_entry *b)
{
	if (a->hash != b->hash || a->n_runs != b->n_runs || a->is_complete != b->is_complete ||
	    a->height != b->height)
		return false;
	for (uint32_t i = 0; i < a->n_runs; i++) {
		const struct origin_run *x = &table->runs.items[a->first + i];
		const struct origin_run *y = &table->runs.items[b->first + i];

		if (x->frames != y->frames || !alike(x, y))
			return false;
	}
	return true;
}

static int grow(struct origin_table *table)
{
	struct hash_index grown;

	if (!hash_index_full(&table->index))
		return 0;
	if (hash_index_grow(&table->index, &grown) < 0)
		return -ENOMEM;
	for (uint32_t i = 1; i < table->entries.count; i++)
		hash_index_put(&grown, table->entries.items[i].hash, i);
	free(table->index.slot);
	table->index = grown;
	return 0;
}

static uint32_t origin_find(const struct origin_table *table, const struct origin_entry *e)
{
	size_t at = e->hash & table->index.mask;

	for (; table->index.slot[at]; at = (at + 1) & table->index.mask) {
		uint32_t number = table->index.slot[at] - 1;

		if (equal(table, &table->entries.items[number], e))
			return number;
	}
	return ORIGIN_WALKED;
}

int origin_intern(struct origin_table *table, const struct origin *origin, uint32_t *ret_number)
{
	struct origin_entry e = {0};
	uint32_t number = ORIGIN_WALKED;
	int err = append(table, origin, &e);

	if (err < 0)
		return err;
	if (VEC_RESERVE(&table->entries, 1) < 0 || grow(table) < 0)
		return -ENOMEM;
	if (e.n_runs || e.height)
		number = origin_find(table, &e);
	if ((e.n_runs || e.height) && number == ORIGIN_WALKED) {
		number = (uint32_t)table->entries.count;
		table->entries.items[table->entries.count++] = e;
		table->runs.count += e.n_runs;
		hash_index_put(&table->index, e.hash, number);
	}
	*ret_number = number;
	return 0;
}

uint32_t origin_count(const struct origin_table *table)
{
	return (uint32_t)table->entries.count;
}

struct origin origin_at(const struct origin_table *table, uint32_t number)
{
	const struct origin_entry *e = &table->entries.items[number];

	return (struct origin){
		.is_complete = e->is_complete,
		.height = e->height,
		.n_runs = e->n_runs,
		.runs = e->n_runs ? table->runs.items + e->first : NULL,
	};
}
