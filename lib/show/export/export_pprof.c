/* SPDX-License-Identifier: MIT */
/*
 * Writes the pprof format (pprof.proto), for `go tool pprof` and the many tools that read its
 * files.
 *
 * Every entry of the model (thread, path, end reason) is a sample with the number of samples and
 * the sum of their periods, or the value of another metric (pprof_parts.h), and with labels: pid,
 * tid, comm, cgroup, tag, quality. Functions are the model's symbols, so pprof's flat and cum are
 * the report's self and total, and pprof has nothing to look up in files. An incomplete path has
 * its root mark as root.
 *
 * A recording has file offsets, not addresses: object i is mapped, file offset 0 first, at
 * an address of its own.
 *
 * A million samples have some forty million frames, most of which the previous sample has, too. So
 * the encoded list of locations (leaf first) grows backwards from the root in a buffer, and only
 * the frames that differ from the previous path are encoded:
 *
 *      |            free             | leaf | ... | main | _start |
 *                                    ^ start[2]   ^ start[1]      ^ end
 *
 * The list is then copied as a whole. Blocks of entries do not depend on each other, so two threads
 * encode them (base/pipeline.h). protobuf-c encodes the tables (pprof_tables.c). Samples are
 * encoded here, from parts that are already encoded, which takes a quarter of the time. Every
 * sample and every string is a field of the Profile message, and fields can come in any order.
 */
#include "export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/big.h"
#include "base/pipeline.h"
#include "base/vec.h"
#include "export/export_pprof.h"
#include "export/pprof_parts.h"
#include "export/pprof_tables.h"
#include "base/text.h"

#define PPROF_BLOCK	 4096u /* entries, or tags, that are encoded as one job */
#define PPROF_VARINT_MAX 10
/* The most bytes that the values of a sample take: at most two of them are not 0, and each 0 takes
 * one byte. */
#define PPROF_VALUES_BYTES (PPROF_VALUES_MAX + 2 * PPROF_VARINT_MAX)

/* The encoded path of the previous sample. */
struct pprof_path {
	uint8_t *bytes; /* the encoded list stands at the end of this buffer */
	size_t cap;
	/* the path's trie nodes by depth, in ascending order; 0 stands for the root mark */
	uint32_t *nodes;
	size_t *len; /* by depth: bytes of the list from the root to this node */
	uint32_t depth;
	size_t cap_nodes, cap_len;
	uint64_t mark; /* id of the location of the path's root mark; 0: it has none */
};

/* The working state and the output of one block. */
struct pprof_block {
	struct pprof_path path;
	uint32_t *climb; /* trie nodes of the new path that `path` lacks, leaf first */
	size_t cap_climb;
	struct buf bytes;
};

struct pprof {
	struct profile *profile;
	const struct pprof_parts *parts;
	const struct store_tables *t;
	struct pprof_tables *tables;
	FILE *out;
	const struct profile_entry *entries;
	size_t n_entries;
	const uint32_t *ids;			/* by number of a location: its id in the file */
	const struct stack_table_stack *stacks; /* NULL: paths are those of the trie */
	const uint64_t *tags;			/* by trie node */
	/* trie nodes whose tags are in the string table, in the order of these strings */
	uint32_t *tagged;
	uint32_t n_tagged;
	/* by trie node: the index of its tag in the string table; 0: the table lacks it */
	uint32_t *tag_string;
	struct pprof_block blocks[PIPELINE_SLOTS];
};

static unsigned pprof_varint(uint64_t value, uint8_t ret_bytes[PPROF_VARINT_MAX])
{
	unsigned n = 0;

	for (; value >= 0x80; value >>= 7)
		ret_bytes[n++] = (uint8_t)(value | 0x80);
	ret_bytes[n++] = (uint8_t)value;
	return n;
}

/* Makes room for one more frame in front of the encoded list. */
static int pprof_path_reserve(struct pprof_path *path)
{
	size_t used = path->depth ? path->len[path->depth - 1] : 0;

	if (path->cap - used < PPROF_VARINT_MAX) {
		size_t cap = path->cap ? path->cap * 2 : 4096;
		uint8_t *bytes = malloc(cap);

		if (!bytes)
			return -ENOMEM;
		if (used)
			memcpy(bytes + cap - used, path->bytes + path->cap - used, used);
		free(path->bytes);
		path->bytes = bytes;
		path->cap = cap;
	}
	if (VEC_GROW(path->nodes, path->cap_nodes, (size_t)path->depth + 1) < 0)
		return -ENOMEM;
	return VEC_GROW(path->len, path->cap_len, (size_t)path->depth + 1);
}

static int pprof_path_push(struct pprof_path *path, uint32_t node, uint64_t location)
{
	uint8_t bytes[PPROF_VARINT_MAX];
	size_t used;
	unsigned n;
	int err = pprof_path_reserve(path);

	if (err < 0)
		return err;
	used = path->depth ? path->len[path->depth - 1] : 0;
	n = pprof_varint(location, bytes);
	memcpy(path->bytes + path->cap - used - n, bytes, n);
	path->nodes[path->depth] = node;
	path->len[path->depth++] = used + n;
	return 0;
}

/* Shortens the path until its last node is `node`, or can be an ancestor of it: numbers rise along
 * a path, so a node with a larger number is neither. Returns whether the last node is `node`. */
static bool pprof_path_cut(struct pprof_path *path, uint32_t node)
{
	while (path->depth && path->nodes[path->depth - 1] > node)
		path->depth--;
	return path->depth && path->nodes[path->depth - 1] == node;
}

static bool pprof_climb_push(struct pprof_block *b, uint32_t n, uint32_t node)
{
	if (VEC_GROW(b->climb, b->cap_climb, (size_t)n + 1) < 0)
		return false;
	b->climb[n] = node;
	return true;
}

/* Returns the parent of a node. Nodes are nodes of the trie; but if filters change the shape of
 * paths, they are stacks of the stack table, numbered from 1. */
static uint32_t pprof_parent(const struct pprof *p, uint32_t node)
{
	return p->stacks ? p->stacks[node - 1].parent + 1 : p->t->nodes[node].parent;
}

static uint64_t pprof_location(const struct pprof *p, uint32_t node)
{
	return p->stacks ? PPROF_LOCATION(p->stacks[node - 1].frame)
			 : p->ids[p->t->nodes[node].location];
}

/* Changes b->path into the path of `node`, whose root mark is `mark`. Returns 0 or -ENOMEM. */
static int pprof_path_go(const struct pprof *p, struct pprof_block *b, uint32_t node, uint64_t mark)
{
	struct pprof_path *path = &b->path;
	uint32_t n = 0;
	int err = 0;

	if (mark != path->mark)
		path->depth = 0;
	path->mark = mark;
	for (; node && !pprof_path_cut(path, node); node = pprof_parent(p, node))
		if (!pprof_climb_push(b, n++, node))
			return -ENOMEM;
	if (!node) {
		path->depth = 0;
		if (mark)
			err = pprof_path_push(path, 0, mark);
	}
	while (err == 0 && n) {
		uint32_t at = b->climb[--n];

		err = pprof_path_push(path, at, pprof_location(p, at));
	}
	return err;
}

/* Encodes the label with a path's tag. */
static size_t pprof_tag_label(const struct pprof *p, uint32_t node, uint8_t *ret_bytes)
{
	uint8_t *at = ret_bytes + 2;

	*at++ = PPROF_LABEL_KEY;
	at += pprof_varint(pprof_tables_tag_key(p->tables), at);
	*at++ = PPROF_LABEL_STRING;
	at += pprof_varint(p->tag_string[node], at);
	ret_bytes[0] = PPROF_SAMPLE_LABEL;
	ret_bytes[1] = (uint8_t)(at - ret_bytes - 2);
	return (size_t)(at - ret_bytes);
}

/* Encodes the fields of a sample other than its path; returns their size. */
static size_t pprof_values(const struct pprof *p, const struct profile_entry *entry,
			   uint8_t *ret_bytes)
{
	const struct pprof_part *part = pprof_parts_of(p->parts, (size_t)(entry - p->entries));
	uint8_t *at = ret_bytes + 2;

	for (uint32_t i = 0; i < p->parts->n_values; i++) {
		const bool is_records = part->has_records && i == part->first_value;
		const bool is_amount = i == part->first_value + part->has_records;

		at += pprof_varint(is_records ? entry->samples : is_amount ? entry->weight : 0, at);
	}
	ret_bytes[0] = PPROF_SAMPLE_VALUES;
	ret_bytes[1] = (uint8_t)(at - ret_bytes - 2);
	return (size_t)(at - ret_bytes);
}

/* Appends a sample whose path is b->path. */
static void pprof_put(const struct pprof *p, struct pprof_block *b,
		      const struct profile_entry *entry)
{
	const struct buf *shared[] = {pprof_tables_thread(p->tables, entry->thread),
				      pprof_tables_quality(p->tables, entry->quality),
				      pprof_tables_end(p->tables, entry->end_reason)};
	const size_t n_shared = p->parts->is_bare ? 1 : sizeof(shared) / sizeof(*shared);
	uint8_t own[2 + PPROF_VALUES_BYTES + 4 + 2 * PPROF_VARINT_MAX], head[1 + PPROF_VARINT_MAX];
	size_t list = b->path.depth ? b->path.len[b->path.depth - 1] : 0;
	size_t n_own = pprof_values(p, entry, own), n_head = 1, len;

	if (!p->parts->is_bare)
		n_own += pprof_tag_label(p, entry->node, own + n_own);
	head[0] = PPROF_SAMPLE_LOCATIONS;
	n_head += pprof_varint(list, head + 1);
	len = n_head + list + n_own;
	for (size_t i = 0; i < n_shared; i++)
		len += shared[i]->len;
	buf_put_u8(&b->bytes, PPROF_PROFILE_SAMPLE);
	buf_put_varint(&b->bytes, len);
	buf_put(&b->bytes, head, n_head);
	buf_put(&b->bytes, b->path.bytes + b->path.cap - list, list);
	buf_put(&b->bytes, own, n_own);
	for (size_t i = 0; i < n_shared; i++)
		buf_put(&b->bytes, shared[i]->data, shared[i]->len);
}

static int pprof_sample(const struct pprof *p, struct pprof_block *b,
			const struct profile_entry *entry)
{
	int err;

	if (p->stacks)
		err = pprof_path_go(p, b,
				    1 + stack_table_find(pprof_tables_stacks(p->tables),
							 entry->node, entry->end_reason,
							 entry->origin),
				    0);
	else
		err = pprof_path_go(p, b, entry->node, pprof_tables_mark(p->tables, entry));
	if (err == 0)
		pprof_put(p, b, entry);
	return err;
}

/* Appends a path's tag to the string table. */
static void pprof_put_tag(const struct pprof *p, struct pprof_block *b, uint32_t node)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t field[2 + 16] = {PPROF_PROFILE_STRING, 16};

	for (unsigned i = 0; i < 16; i++)
		field[2 + i] = (uint8_t)digits[p->tags[node] >> (60 - 4 * i) & 15];
	buf_put(&b->bytes, field, sizeof(field));
}

/* --- blocks: first those of tags, then those of samples -------------------------------------- */

static size_t pprof_blocks(size_t n)
{
	return n / PPROF_BLOCK + (n % PPROF_BLOCK > 0);
}

static int pprof_make(void *arg, size_t job, unsigned slot)
{
	struct pprof *p = arg;
	struct pprof_block *b = &p->blocks[slot];
	size_t tag_blocks = pprof_blocks(p->n_tagged), from = job * PPROF_BLOCK;
	int err = 0;

	b->path.depth = 0;
	if (job < tag_blocks) {
		for (size_t i = from; i < p->n_tagged && i < from + PPROF_BLOCK; i++)
			pprof_put_tag(p, b, p->tagged[i]);
	} else {
		from -= tag_blocks * PPROF_BLOCK;
		for (size_t i = from; err == 0 && i < p->n_entries && i < from + PPROF_BLOCK; i++)
			err = pprof_sample(p, b, &p->entries[i]);
	}
	return err;
}

static int pprof_take(void *arg, size_t job, unsigned slot)
{
	struct pprof *p = arg;

	(void)job;
	return text_flush(&p->blocks[slot].bytes, p->out);
}

/* Numbers the tags of the entries' paths as strings of the string table, after all other strings.
 * Returns 0 or -ENOMEM. */
static int pprof_number_tags(struct pprof *p)
{
	uint32_t first = pprof_tables_strings(p->tables);

	p->tag_string = big_calloc((size_t)p->t->n_nodes + 1, sizeof(*p->tag_string));
	p->tagged = big_alloc(p->n_entries + 1, sizeof(*p->tagged));
	if (!p->tag_string || !p->tagged)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_entries; i++) {
		uint32_t node = p->entries[i].node;

		if (p->tag_string[node])
			continue;
		p->tag_string[node] = first + p->n_tagged;
		p->tagged[p->n_tagged++] = node;
	}
	return profile_tags(p->profile, &p->tags);
}

static int pprof_run(struct pprof *p)
{
	struct pipeline_work work = {.make = pprof_make, .take = pprof_take, .arg = p};
	uint32_t n_stacks;
	int err = pprof_tables_new(p->parts, &p->tables);

	if (err == 0)
		err = pprof_tables_write(p->tables, p->out);
	if (err == 0 && !p->parts->is_bare)
		err = pprof_number_tags(p);
	if (err < 0)
		return err;
	p->ids = pprof_tables_ids(p->tables);
	if (pprof_tables_stacks(p->tables))
		p->stacks = stack_table_stacks(pprof_tables_stacks(p->tables), &n_stacks);
	work.n = pprof_blocks(p->n_tagged) + pprof_blocks(p->n_entries);
	return pipeline_run(&work);
}

static void pprof_release(struct pprof *p)
{
	pprof_tables_free(p->tables);
	for (unsigned i = 0; i < PIPELINE_SLOTS; i++) {
		free(p->blocks[i].path.bytes);
		free(p->blocks[i].path.nodes);
		free(p->blocks[i].path.len);
		free(p->blocks[i].climb);
		buf_free(&p->blocks[i].bytes);
	}
	free(p->tagged);
	free(p->tag_string);
}

static int pprof_export(struct pprof *p)
{
	int err = pprof_run(p);

	if (err == 0 && fflush(p->out) != 0)
		err = -EIO;
	pprof_release(p);
	return err;
}

static int export_parts(const struct pprof_parts *parts, FILE *out)
{
	struct pprof p = {.parts = parts,
			  .profile = parts->profile,
			  .t = profile_tables(parts->profile),
			  .entries = parts->entries,
			  .n_entries = parts->n_entries,
			  .out = out};

	return pprof_export(&p);
}

int export_pprof(struct profile *profile, FILE *out)
{
	struct pprof_parts parts;
	int err = pprof_parts_new(profile, &parts);

	if (err == 0)
		err = export_parts(&parts, out);
	pprof_parts_free(&parts);
	return err;
}

int export_pprof_slice(const struct pprof_parts *slice, FILE *out)
{
	return export_parts(slice, out);
}
