/* SPDX-License-Identifier: MIT */
/*
 * The pprof format (pprof.proto), for `go tool pprof` and everything that grew around it.
 *
 * Every entry of the model (thread, path, end reason) is a sample with two values, the number of
 * samples and the sum of their periods, and with labels: pid, tid, comm, tag, quality. Functions
 * are the model's symbols, so that pprof's flat and cum are the report's self and total; nothing
 * is left for pprof to look up in files. A path that is incomplete has its mark as root.
 *
 * A recording knows places in files, not addresses: object i is mapped, file offset 0 first, at
 * an address of its own.
 *
 * A million samples have some forty million frames, most of them shared with the sample before.
 * So the encoded list of locations (leaf first) grows backwards from the root in a buffer, and
 * only what differs from the path before is encoded anew:
 *
 *      |            free             | leaf | ... | main | _start |
 *                                    ^ start[2]   ^ start[1]      ^ end
 *
 * The list is then copied as a whole. Everything goes out in messages of bounded size.
 */
#include "export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/pprof_tables.h"
#include "report/text.h"

#define PPROF_CHUNK	 1024 /* samples in one message */
#define PPROF_VARINT_MAX 10
#define PPROF_LABELS	 (PPROF_THREAD_LABELS + 3)

/* The path of the sample before, encoded. */
struct pprof_path {
	uint8_t *bytes; /* the list stands at the end */
	size_t cap;
	uint32_t *nodes; /* by depth: trie nodes, ascending; 0 for the root mark */
	size_t *len;	 /* by depth: bytes of the list from the root to here */
	uint32_t depth, cap_depth;
	uint64_t mark; /* id of the mark's location; 0: none */
};

/* Samples that have not been written yet. What they point to is known by offset until then. */
struct pprof_pending {
	Pprof__Sample sample;
	ProtobufCBinaryData labels[PPROF_LABELS]; /* the last one is the tag */
	int64_t values[2];
	size_t list_at, tag_at; /* in pprof.bytes */
};

struct pprof {
	struct profile *profile;
	const struct store_tables *t;
	struct pprof_tables *tables;
	FILE *out;
	const struct paths_stack *stacks; /* NULL: paths are those of the trie */
	struct pprof_path path;
	uint32_t *climb; /* trie nodes that the path lacks, leaf first */
	uint32_t cap_climb;
	uint32_t *tag_string; /* by trie node: its tag in the string table; 0: not yet */
	uint32_t n_strings;
	struct pprof_pending *pending;
	uint32_t n_pending;
	char (*tags)[17]; /* strings of pending samples */
	uint32_t n_tags;
	struct buf bytes, scratch;
};

static unsigned pprof_varint(uint64_t value, uint8_t ret_bytes[PPROF_VARINT_MAX])
{
	unsigned n = 0;

	for (; value >= 0x80; value >>= 7)
		ret_bytes[n++] = (uint8_t)(value | 0x80);
	ret_bytes[n++] = (uint8_t)value;
	return n;
}

/* Makes room for one more frame in front of the list. */
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
	if (path->depth == path->cap_depth) {
		uint32_t cap = path->cap_depth ? path->cap_depth * 2 : 256;
		uint32_t *nodes = reallocarray(path->nodes, cap, sizeof(*nodes));
		size_t *len;

		if (!nodes)
			return -ENOMEM;
		path->nodes = nodes;
		len = reallocarray(path->len, cap, sizeof(*len));
		if (!len)
			return -ENOMEM;
		path->len = len;
		path->cap_depth = cap;
	}
	return 0;
}

static int pprof_path_push(struct pprof_path *path, uint32_t node, uint64_t location)
{
	uint8_t bytes[PPROF_VARINT_MAX];
	size_t used;
	unsigned n;
	int r = pprof_path_reserve(path);

	if (r < 0)
		return r;
	used = path->depth ? path->len[path->depth - 1] : 0;
	n = pprof_varint(location, bytes);
	memcpy(path->bytes + path->cap - used - n, bytes, n);
	path->nodes[path->depth] = node;
	path->len[path->depth++] = used + n;
	return 0;
}

/* Cuts the path down to `node`; false if the node is not in it. A node that is in it is at most
 * as deep as it has ancestors, and node numbers grow along a path: that finds it. */
static bool pprof_path_cut(struct pprof_path *path, uint32_t node)
{
	uint32_t low = 0, high = path->depth;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (path->nodes[middle] < node)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == path->depth || path->nodes[low] != node)
		return false;
	path->depth = low + 1;
	return true;
}

static bool pprof_climb_push(struct pprof *p, uint32_t n, uint32_t node)
{
	if (n == p->cap_climb) {
		uint32_t cap = p->cap_climb ? p->cap_climb * 2 : 256;
		uint32_t *climb = reallocarray(p->climb, cap, sizeof(*climb));

		if (!climb)
			return false;
		p->climb = climb;
		p->cap_climb = cap;
	}
	p->climb[n] = node;
	return true;
}

/* Nodes are the trie's or, where filters shape paths, the table of stacks', from 1. */
static uint32_t pprof_parent(const struct pprof *p, uint32_t node)
{
	return p->stacks ? p->stacks[node - 1].parent + 1 : p->t->nodes[node].parent;
}

static uint64_t pprof_location(const struct pprof *p, uint32_t node)
{
	return PPROF_LOCATION(p->stacks ? p->stacks[node - 1].frame : p->t->nodes[node].location);
}

/* Makes the path that of a node. */
static int pprof_path_go(struct pprof *p, uint32_t node, uint64_t mark)
{
	struct pprof_path *path = &p->path;
	uint32_t n = 0;
	int r = 0;

	if (mark != path->mark)
		path->depth = 0;
	path->mark = mark;
	for (; node && !pprof_path_cut(path, node); node = pprof_parent(p, node))
		if (!pprof_climb_push(p, n++, node))
			return -ENOMEM;
	if (!node) {
		path->depth = 0;
		if (mark)
			r = pprof_path_push(path, 0, mark);
	}
	while (r == 0 && n) {
		uint32_t at = p->climb[--n];

		r = pprof_path_push(path, at, pprof_location(p, at));
	}
	return r;
}

static int pprof_flush(struct pprof *p)
{
	Pprof__Profile message = PPROF__PROFILE__INIT;
	Pprof__Sample *samples[PPROF_CHUNK];
	char *tags[PPROF_CHUNK];

	if (p->bytes.failed)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n_pending; i++) {
		struct pprof_pending *pending = &p->pending[i];

		pending->sample.location_id.data = p->bytes.data + pending->list_at;
		pending->labels[PPROF_LABELS - 1].data = p->bytes.data + pending->tag_at;
		samples[i] = &pending->sample;
	}
	for (uint32_t i = 0; i < p->n_tags; i++)
		tags[i] = p->tags[i];
	message.n_sample = p->n_pending;
	message.sample = samples;
	message.n_string_table = p->n_tags;
	message.string_table = tags;
	p->n_pending = p->n_tags = 0;
	buf_clear(&p->bytes);
	return pprof_write(&message, &p->scratch, p->out);
}

/* The number of a path's tag in the string table, which it is entered in if it is new. */
static uint32_t pprof_tag(struct pprof *p, uint32_t node)
{
	if (!p->tag_string[node]) {
		char *text = p->tags[p->n_tags++];

		for (unsigned i = 0; i < 16; i++)
			text[i] = "0123456789abcdef"[p->t->tags[node] >> (60 - 4 * i) & 15];
		text[16] = '\0';
		p->tag_string[node] = p->n_strings++;
	}
	return p->tag_string[node];
}

static void pprof_labels(struct pprof *p, const struct profile_entry *entry,
			 struct pprof_pending *pending)
{
	ProtobufCBinaryData *labels = pending->labels;

	memcpy(labels, pprof_tables_thread(p->tables, entry->thread),
	       PPROF_THREAD_LABELS * sizeof(*labels));
	labels[PPROF_THREAD_LABELS] = pprof_tables_quality(p->tables, entry->quality);
	labels[PPROF_THREAD_LABELS + 1] = pprof_tables_end(p->tables, entry->end_reason);
	pending->tag_at = p->bytes.len;
	pprof_tables_put_tag(p->tables, pprof_tag(p, entry->node), &p->bytes);
	labels[PPROF_LABELS - 1].len = p->bytes.len - pending->tag_at;
	pending->sample.label = labels;
	pending->sample.n_label = PPROF_LABELS;
}

static int pprof_sample(struct pprof *p, const struct profile_entry *entry)
{
	struct pprof_pending *pending = &p->pending[p->n_pending];
	size_t len;
	int r;

	if (p->stacks)
		r = pprof_path_go(p,
				  1 + paths_find(pprof_tables_paths(p->tables), entry->node,
						 entry->end_reason, entry->origin),
				  0);
	else
		r = pprof_path_go(p, entry->node, pprof_tables_mark(p->tables, entry));

	if (r < 0)
		return r;
	len = p->path.depth ? p->path.len[p->path.depth - 1] : 0;
	pprof__sample__init(&pending->sample);
	pending->list_at = p->bytes.len;
	buf_put(&p->bytes, p->path.bytes + p->path.cap - len, len);
	pending->sample.location_id.len = len;
	pending->values[0] = (int64_t)entry->samples;
	pending->values[1] = (int64_t)entry->weight;
	pending->sample.value = pending->values;
	pending->sample.n_value = 2;
	pprof_labels(p, entry, pending);
	return ++p->n_pending == PPROF_CHUNK || p->bytes.len > 1u << 20 ? pprof_flush(p) : 0;
}

static int pprof_run(struct pprof *p)
{
	size_t n;
	const struct profile_entry *entries = profile_entries(p->profile, &n);
	uint32_t n_stacks;
	int r = pprof_tables_new(p->profile, &p->tables);

	p->tag_string = calloc((size_t)p->t->n_nodes + 1, sizeof(*p->tag_string));
	p->pending = calloc(PPROF_CHUNK, sizeof(*p->pending));
	p->tags = calloc(PPROF_CHUNK, sizeof(*p->tags));
	if (r == 0 && (!p->tag_string || !p->pending || !p->tags))
		r = -ENOMEM;
	if (r == 0)
		r = pprof_tables_write(p->tables, p->out);
	if (r < 0)
		return r;
	p->n_strings = pprof_tables_strings(p->tables);
	if (pprof_tables_paths(p->tables))
		p->stacks = paths_stacks(pprof_tables_paths(p->tables), &n_stacks);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = pprof_sample(p, &entries[i]);
	return r < 0 ? r : pprof_flush(p);
}

int export_pprof(struct profile *profile, FILE *out)
{
	struct pprof p = {.profile = profile, .t = profile_tables(profile), .out = out};
	int r = pprof_run(&p);

	if (r == 0 && fflush(out) != 0)
		r = -EIO;
	pprof_tables_free(p.tables);
	free(p.path.bytes);
	free(p.path.nodes);
	free(p.path.len);
	free(p.climb);
	free(p.tag_string);
	free(p.pending);
	free(p.tags);
	buf_free(&p.bytes);
	buf_free(&p.scratch);
	return r;
}
