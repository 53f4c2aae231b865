/* SPDX-License-Identifier: MIT */
/*
 * Strings, functions, locations and lines as columns; nodes have node_coder.c.
 *
 *   strings     lengths | bytes
 *   functions   name: 0 for the next new string, else 1 + its number | file: zigzag difference
 *               to the previous function's | start: zigzag difference
 *   locations   object: zigzag difference, and the return mark | offset: zigzag difference to the
 *               previous offset in the same object, in bytes: LOW, MIDDLE, HIGH, the others
 *   lines       location: zigzag difference to the previous + 1 | depth and inline mark |
 *               function: 0 for the next new one, else 1 + its number, in bytes: LOW, the others |
 *               line: zigzag difference
 *   sizes       zigzag difference to the last size at the same pair of locations (by a hash)
 *   origins     number of runs, marks of complete paths and heights, height | source and confidence
 *               | frames
 *   provenances of locations, in their order: a byte each
 *   cgroups     thread: zigzag difference to the previous + 1 | path: zigzag difference
 *   labels      the same, with the set of labels as one string
 */
#include "store/table_codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "stack/provenance.h"

size_t table_columns(enum table_kind kind)
{
	static const uint8_t columns[TABLE_KINDS] = {
		[TABLE_STRINGS] = STRING_COLUMNS,     [TABLE_FUNCTIONS] = FUNCTION_COLUMNS,
		[TABLE_LOCATIONS] = LOCATION_COLUMNS, [TABLE_LINES] = LINE_COLUMNS,
		[TABLE_NODES] = NODE_COLUMNS,	      [TABLE_ORIGINS] = ORIGIN_COLUMNS,
		[TABLE_SIZES] = SIZE_COLUMNS,	      [TABLE_PROVENANCES] = PROVENANCE_COLUMNS,
		[TABLE_CGROUPS] = CGROUP_COLUMNS,     [TABLE_LABELS] = CGROUP_COLUMNS,
	};

	return columns[kind];
}

/* Reads a 32-bit number that is coded as a difference to `to`. If it is out of range, marks the
 * column as failed. */
static uint32_t get_delta(struct buf_reader *column, uint32_t to)
{
	int64_t v = (int64_t)(to + (uint64_t)buf_get_svarint(column));

	if (v < 0 || v > UINT32_MAX)
		column->failed = true;
	return column->failed ? 0 : (uint32_t)v;
}

static uint32_t get_u32(struct buf_reader *column)
{
	uint64_t v = buf_get_varint(column);

	if (v > UINT32_MAX)
		column->failed = true;
	return column->failed ? 0 : (uint32_t)v;
}

/* --- strings -------------------------------------------------------------------------------- */

void string_put(struct buf *columns, const char *s, size_t len)
{
	buf_put_varint(&columns[0], len);
	buf_put(&columns[1], s, len);
}

const char *string_get(struct buf_reader *columns, size_t *ret_len)
{
	uint64_t len = buf_get_varint(&columns[0]);
	const char *s = (const char *)columns[1].at;

	if (len > (size_t)(columns[1].end - columns[1].at)) {
		columns[1].failed = true;
		len = 0;
	}
	columns[1].at += len;
	*ret_len = len;
	return s;
}

/* --- functions ------------------------------------------------------------------------------ */

void function_put(struct function_coder *c, struct buf *columns, const struct table_function *f)
{
	if (f->name == c->last_name + 1)
		buf_put_varint(&columns[0], 0);
	else
		buf_put_varint(&columns[0], (uint64_t)f->name + 1);
	buf_put_svarint(&columns[1], (int64_t)f->file - c->last_file);
	buf_put_svarint(&columns[2], (int64_t)(f->start - c->last_start));
	if (f->name > c->last_name)
		c->last_name = f->name;
	c->last_file = f->file;
	c->last_start = f->start;
}

struct table_function function_get(struct function_coder *c, struct buf_reader *columns)
{
	struct table_function f;
	uint64_t name = buf_get_varint(&columns[0]);

	if (name > (uint64_t)UINT32_MAX + 1)
		columns[0].failed = true;
	f.name = name ? (uint32_t)(name - 1) : c->last_name + 1;
	f.file = get_delta(&columns[1], c->last_file);
	f.start = c->last_start + (uint64_t)buf_get_svarint(&columns[2]);
	if (f.name > c->last_name)
		c->last_name = f.name;
	c->last_file = f.file;
	c->last_start = f.start;
	return f;
}

/* --- locations ------------------------------------------------------------------------------ */

void location_coder_fini(struct location_coder *c)
{
	free(c->last_offset.items);
	*c = (struct location_coder){0};
}

static int location_coder_reserve(struct location_coder *c, uint32_t object)
{
	size_t need = (size_t)object + 1, have = c->last_offset.count;

	if (need <= have)
		return 0;
	if (VEC_RESERVE(&c->last_offset, need - have) < 0)
		return -ENOMEM;
	memset(c->last_offset.items + have, 0, (need - have) * sizeof(*c->last_offset.items));
	c->last_offset.count = need;
	return 0;
}

int location_put(struct location_coder *c, struct buf *columns, const struct store_location *l)
{
	int64_t delta;
	uint64_t zigzag;

	if (location_coder_reserve(c, l->object) < 0)
		return -ENOMEM;
	delta = (int64_t)l->object - c->last_object;
	buf_put_svarint(&columns[0], delta * 2 + l->is_return);
	delta = (int64_t)(l->offset - c->last_offset.items[l->object]);
	zigzag = ((uint64_t)delta << 1) ^ (delta < 0 ? UINT64_MAX : 0);
	buf_put_u8(&columns[1], (uint8_t)zigzag);
	buf_put_u8(&columns[2], (uint8_t)(zigzag >> 8));
	buf_put_u8(&columns[3], (uint8_t)(zigzag >> 16));
	buf_put_varint(&columns[4], zigzag >> 24);
	c->last_object = l->object;
	c->last_offset.items[l->object] = l->offset;
	return 0;
}

int location_get(struct location_coder *c, struct buf_reader *columns, uint32_t objects,
		 struct store_location *ret_location)
{
	int64_t coded = buf_get_svarint(&columns[0]);
	int64_t object = c->last_object + (coded >> 1);
	uint64_t zigzag;

	if (object < 0 || object >= objects)
		return -EBADMSG;
	if (location_coder_reserve(c, (uint32_t)object) < 0)
		return -ENOMEM;
	zigzag = buf_get_u8(&columns[1]);
	zigzag |= (uint64_t)buf_get_u8(&columns[2]) << 8;
	zigzag |= (uint64_t)buf_get_u8(&columns[3]) << 16;
	zigzag |= buf_get_varint(&columns[4]) << 24;
	c->last_object = (uint32_t)object;
	c->last_offset.items[object] += (zigzag >> 1) ^ (zigzag & 1 ? UINT64_MAX : 0);
	ret_location->object = (uint32_t)object;
	ret_location->offset = c->last_offset.items[object];
	ret_location->is_return = coded & 1;
	return 0;
}

void provenance_put(struct buf *columns, uint8_t provenance)
{
	buf_put_u8(&columns[0], provenance);
}

int provenance_get(struct buf_reader *columns, uint8_t *ret_provenance)
{
	*ret_provenance = buf_get_u8(&columns[0]);
	return *ret_provenance < PROVENANCE_COUNT ? 0 : -EBADMSG;
}

/* --- cgroups -------------------------------------------------------------------------------- */

void cgroup_put(struct cgroup_coder *c, struct buf *columns, const struct table_cgroup *cgroup)
{
	buf_put_svarint(&columns[0], (int64_t)cgroup->thread - c->last_thread - 1);
	buf_put_svarint(&columns[1], (int64_t)cgroup->path - c->last_path);
	c->last_thread = cgroup->thread;
	c->last_path = cgroup->path;
}

struct table_cgroup cgroup_get(struct cgroup_coder *c, struct buf_reader *columns)
{
	struct table_cgroup cgroup;

	cgroup.thread = get_delta(&columns[0], c->last_thread + 1);
	cgroup.path = get_delta(&columns[1], c->last_path);
	c->last_thread = cgroup.thread;
	c->last_path = cgroup.path;
	return cgroup;
}

/* --- lines ---------------------------------------------------------------------------------- */

void line_put(struct line_coder *c, struct buf *columns, const struct table_line *l)
{
	uint32_t symbol = l->function == c->last_function ? 0 : l->function + 1;

	buf_put_svarint(&columns[0], (int64_t)l->location - c->last_location - 1);
	buf_put_varint(&columns[1], (uint64_t)l->depth * 2 + l->is_inlined);
	buf_put_u8(&columns[2], (uint8_t)symbol);
	buf_put_varint(&columns[3], symbol >> 8);
	buf_put_svarint(&columns[4], (int64_t)l->line - c->last_line);
	if (l->function >= c->last_function)
		c->last_function = l->function + 1;
	c->last_location = l->location;
	c->last_line = l->line;
}

struct table_line line_get(struct line_coder *c, struct buf_reader *columns)
{
	struct table_line l;
	uint64_t symbol, depth;

	l.location = get_delta(&columns[0], c->last_location + 1);
	depth = buf_get_varint(&columns[1]);
	l.depth = (uint32_t)(depth >> 1);
	l.is_inlined = depth & 1;
	if (depth >> 33)
		columns[1].failed = true;
	symbol = buf_get_u8(&columns[2]) | (uint64_t)get_u32(&columns[3]) << 8;
	if (symbol > UINT32_MAX)
		columns[3].failed = true;
	l.function = symbol ? (uint32_t)(symbol - 1) : c->last_function;
	l.line = get_delta(&columns[4], c->last_line);
	if (l.function >= c->last_function)
		c->last_function = l.function + 1;
	c->last_location = l.location;
	c->last_line = l.line;
	return l;
}

/* --- origins -------------------------------------------------------------------------------- */

/* bit in the coded number of runs, above all values up to ORIGIN_MAX_RUNS * 2 + 1: the height
 * follows */
#define ORIGIN_HAS_HEIGHT (1u << 16)
_Static_assert(ORIGIN_HAS_HEIGHT > ORIGIN_MAX_RUNS * 2 + 1, "a bit of its own");

void origin_put(struct buf *columns, const struct origin *origin)
{
	uint64_t coded = (uint64_t)origin->n_runs * 2 + origin->is_complete;

	buf_put_varint(&columns[0], origin->height ? coded | ORIGIN_HAS_HEIGHT : coded);
	if (origin->height)
		buf_put_varint(&columns[0], origin->height);
	for (uint32_t i = 0; i < origin->n_runs; i++) {
		buf_put_u8(&columns[1], origin->runs[i].source);
		buf_put_u8(&columns[1], origin->runs[i].confidence);
		buf_put_varint(&columns[2], origin->runs[i].frames);
	}
}

int origin_get(struct buf_reader *columns, struct origin_run *ret_runs, struct origin *ret_origin)
{
	uint64_t coded = buf_get_varint(&columns[0]);
	uint64_t n_runs = (coded & ~(uint64_t)ORIGIN_HAS_HEIGHT) >> 1;
	uint32_t height = coded & ORIGIN_HAS_HEIGHT ? get_u32(&columns[0]) : 0;

	if ((n_runs == 0 && !height) || n_runs > ORIGIN_MAX_RUNS)
		return -EBADMSG;
	for (uint64_t i = 0; i < n_runs; i++) {
		struct origin_run *run = &ret_runs[i];

		run->source = buf_get_u8(&columns[1]);
		run->confidence = buf_get_u8(&columns[1]);
		run->frames = get_u32(&columns[2]);
		if (!run->frames || run->source >= FRAME_SOURCE_COUNT || run->confidence > 100)
			return -EBADMSG;
	}
	*ret_origin = (struct origin){.is_complete = coded & 1,
				      .height = height,
				      .n_runs = (uint32_t)n_runs,
				      .runs = ret_runs};
	return 0;
}

/* --- sizes ---------------------------------------------------------------------------------- */

static uint32_t *size_last(struct size_coder *c, const struct store_node *parent,
			   const struct store_node *node)
{
	uint64_t site = (uint64_t)parent->location << 32 | node->location;

	return &c->last[hash_mix64(site) % SIZE_SITES];
}

void size_put(struct size_coder *c, struct buf *columns, const struct store_node *parent,
	      const struct store_node *node, uint32_t size)
{
	uint32_t *last = size_last(c, parent, node);

	buf_put_svarint(&columns[0], (int64_t)size - *last);
	*last = size;
}

uint32_t size_get(struct size_coder *c, struct buf_reader *columns, const struct store_node *parent,
		  const struct store_node *node)
{
	uint32_t *last = size_last(c, parent, node);

	*last = get_delta(&columns[0], *last);
	return *last;
}
