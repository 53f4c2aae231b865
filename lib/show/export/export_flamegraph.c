/* SPDX-License-Identifier: MIT */
/*
 * A flame graph as one HTML file that needs nothing else: flamegraph.html, which is compiled in,
 * with the tree (flame.h) in it as JSON:
 *
 *   "sides": [{header's members, "name", "quality_text", "event_text"}...], before comes first
 *   "objects": [path...], "symbols": [[name, object, kind]...]
 *   by node, in depth-first order (root, its first child, that one's first child ...):
 *   "symbol": 2 * its index + 1 if inlined, "step": depth less the depth of the node before,
 *   "total": [[...] by side], "self": the same, "inferred": [node, samples, node, samples, ...]
 *
 * A million samples of compilers are a million nodes, most of which no screen could show. The nodes
 * with the fewest samples are left out until the file is small enough. A parent's number still
 * includes the samples of nodes that were left out, so every number that is shown is right, and
 * their room is drawn as left out.
 *
 * Nothing in the data can end the script element that it stands in: '<' is written as \u003c.
 */
#include "export/export_flamegraph.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/flame.h"
#include "export/page.h"
#include "report/heap_view.h"
#include "report/report_header.h"
#include "base/text.h"

#define FLAMEGRAPH_HEAD 8192 /* bytes of the data that are not nodes, symbols or objects */

static const uint8_t flamegraph_page[] = {
#include "flamegraph.html.inc"
	0};

#define FLAMEGRAPH_HEAP_BINS 300

struct flamegraph {
	struct profile *const *profiles;
	const struct flamegraph_options *options;
	struct flame *flame;
	const struct flame_node *nodes;
	const struct flame_symbol *symbols;
	uint32_t n_nodes, n_symbols;
	uint32_t *order; /* nodes that are written, in the order of writing */
	uint32_t n_order;
	/* numbers of symbols and objects in the file; FLAME_NONE: it is not in the file */
	uint32_t *symbol_number, *object_number;
	/* by number in the file: the symbol; and for an object, any symbol of it */
	uint32_t *used, *used_objects;
	uint32_t n_used, n_objects;
	uint32_t *cost;	  /* by symbol: bytes that its name takes in the file */
	size_t head_cost; /* bytes that the paths of all objects take in the file */
	struct json json;
};

/* --- how much fits --------------------------------------------------------------------------- */

static unsigned flamegraph_digits(uint64_t n)
{
	unsigned digits = 1;

	for (; n >= 10; n /= 10)
		digits++;
	return digits;
}

static size_t flamegraph_node_cost(const struct flamegraph *f, const struct flame_node *node)
{
	size_t cost = flamegraph_digits(2 * (uint64_t)f->n_symbols) + 1 + 3;

	for (unsigned i = 0; i < flame_sides(f->flame); i++)
		cost += flamegraph_digits(node->total[i]) + flamegraph_digits(node->self[i]) + 2;
	return node->inferred ? cost + flamegraph_digits(node->inferred) + 8 : cost;
}

/* Returns the bytes that a text takes in the file, with its quotes and comma. */
static size_t flamegraph_text_cost(struct buf *b, const char *text)
{
	size_t cost = 16;

	buf_clear(b);
	text_put_json(b, text);
	for (size_t i = 0; i < b->len; i++)
		cost += b->data[i] == '<' ? strlen(PAGE_LESS) : 1;
	return cost;
}

/* Computes the bytes that symbols and objects take in the file. Objects are few, so all of them are
 * counted, whether they are written or not. */
static int flamegraph_weigh_symbols(struct flamegraph *f)
{
	bool *is_weighed = calloc((size_t)flame_objects(f->flame) + 1, sizeof(*is_weighed));
	struct buf b = {0};

	f->cost = calloc((size_t)f->n_symbols + 1, sizeof(*f->cost));
	for (uint32_t i = 0; is_weighed && f->cost && i < f->n_symbols; i++) {
		f->cost[i] = (uint32_t)flamegraph_text_cost(&b, f->symbols[i].name);
		if (!is_weighed[f->symbols[i].object_number])
			f->head_cost += flamegraph_text_cost(&b, f->symbols[i].object);
		is_weighed[f->symbols[i].object_number] = true;
	}
	free(is_weighed);
	buf_free(&b);
	return is_weighed && f->cost ? 0 : -ENOMEM;
}

/* Returns the size of the data if nodes with a weight below `least` are left out. seen[symbol] is
 * the number of the last call (`try`) in which the symbol occurred. */
static size_t flamegraph_size(const struct flamegraph *f, double least, uint32_t try,
			      uint32_t *seen)
{
	size_t size = FLAMEGRAPH_HEAD + f->head_cost;

	for (uint32_t i = 1; i < f->n_nodes; i++) {
		const struct flame_node *node = &f->nodes[i];

		if (flame_weight(f->flame, node) < least)
			continue;
		size += flamegraph_node_cost(f, node);
		if (seen[node->symbol] != try)
			size += f->cost[node->symbol];
		seen[node->symbol] = try;
	}
	return size;
}

/* Finds, to within a sixteenth, the smallest `least` for which flamegraph_size() is at most `room`.
 * Returns 0 or -ENOMEM. */
static int flamegraph_least(struct flamegraph *f, size_t room, double *ret_least)
{
	uint32_t *seen = calloc((size_t)f->n_symbols + 1, sizeof(*seen)), try = 0;
	uint64_t low = 0, high = 1; /* the data does not fit with `low`, and fits with `high` */

	if (!seen)
		return -ENOMEM;
	while ((double)high < 2 * flame_weight(f->flame, f->nodes) &&
	       flamegraph_size(f, (double)high, ++try, seen) > room) {
		low = high;
		high *= 2;
	}
	while (high - low > 1 + low / 16) {
		uint64_t middle = low + (high - low) / 2;

		if (flamegraph_size(f, (double)middle, ++try, seen) > room)
			low = middle;
		else
			high = middle;
	}
	free(seen);
	*ret_least = (double)high;
	return 0;
}

/* --- numbering ------------------------------------------------------------------------------- */

static void flamegraph_use(struct flamegraph *f, uint32_t symbol)
{
	uint32_t object = f->symbols[symbol].object_number;

	if (f->symbol_number[symbol] != FLAME_NONE)
		return;
	f->symbol_number[symbol] = f->n_used;
	f->used[f->n_used++] = symbol;
	if (f->object_number[object] != FLAME_NONE)
		return;
	f->object_number[object] = f->n_objects;
	f->used_objects[f->n_objects++] = symbol;
}

static int flamegraph_alloc(struct flamegraph *f, uint32_t n_nodes)
{
	size_t n_objects = flame_objects(f->flame);

	f->order = calloc((size_t)n_nodes + 1, sizeof(*f->order));
	f->symbol_number = malloc(((size_t)f->n_symbols + 1) * sizeof(*f->symbol_number));
	f->object_number = malloc((n_objects + 1) * sizeof(*f->object_number));
	f->used = calloc((size_t)f->n_symbols + 1, sizeof(*f->used));
	f->used_objects = calloc(n_objects + 1, sizeof(*f->used_objects));
	if (!f->order || !f->symbol_number || !f->object_number || !f->used || !f->used_objects)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->n_symbols; i++)
		f->symbol_number[i] = FLAME_NONE;
	for (size_t i = 0; i < n_objects; i++)
		f->object_number[i] = FLAME_NONE;
	return 0;
}

/* Walks through the tree in the order in which it is written, and numbers its nodes, symbols and
 * objects. */
static void flamegraph_visit(struct flamegraph *f)
{
	uint32_t at = 0;

	while (at != FLAME_NONE) {
		f->order[f->n_order++] = at;
		if (at)
			flamegraph_use(f, f->nodes[at].symbol);
		if (f->nodes[at].first_child != FLAME_NONE) {
			at = f->nodes[at].first_child;
			continue;
		}
		while (at && f->nodes[at].next == FLAME_NONE)
			at = f->nodes[at].parent;
		at = at ? f->nodes[at].next : FLAME_NONE;
	}
}

/* --- writing --------------------------------------------------------------------------------- */

/* Writes each process's heap over time, for a profile of the heap at one moment. */
static void flamegraph_heap(struct flamegraph *f, const struct profile *profile)
{
	struct heap heap = {0};
	int err = heap_sum_up(profile_reader(profile), profile_end(profile), FLAMEGRAPH_HEAP_BINS,
			      &heap);

	if (!err)
		err = heap_view_json_processes(&heap, profile, "heap", &f->json);
	f->json.text.failed |= err < 0;
	heap_release(&heap);
}

static void flamegraph_side(struct flamegraph *f, unsigned side)
{
	struct profile *profile = f->profiles[side];
	const struct store_recording *recording = &profile_tables(profile)->recording;
	struct buf quality = {0}, event = {0}, name = {0};
	struct json *j = &f->json;

	json_put_line(j);
	json_put_object(j, NULL);
	report_header_json(profile, j);
	report_header_quality(profile, &quality);
	if (metric_is_of_regions(profile_filter(profile)->metric))
		report_header_off(profile, "; ", &quality);
	json_put_text(j, "quality_text", &quality);
	report_header_event(recording, &event);
	json_put_text(j, "event_text", &event);
	text_put(&name, f->options->names[side] ? f->options->names[side] : recording->target,
		 NULL);
	json_put_text(j, "name", &name);
	if (metric_info(profile_filter(profile)->metric)->less != SERIES_CPU)
		flamegraph_heap(f, profile);
	json_put_bool(j, "chosen", profile_is_filtered(profile));
	json_put_end(j);
}

/* Begins a list on a line of its own. */
static void flamegraph_list(struct flamegraph *f, const char *name)
{
	json_put_line(&f->json);
	json_put_array(&f->json, name);
}

static void flamegraph_symbols(struct flamegraph *f)
{
	struct json *j = &f->json;

	flamegraph_list(f, "objects");
	for (uint32_t i = 0; i < f->n_objects; i++) {
		json_put_line(j);
		json_put_string(j, NULL, f->symbols[f->used_objects[i]].object);
	}
	json_put_end(j);
	flamegraph_list(f, "symbols");
	for (uint32_t i = 0; i < f->n_used; i++) {
		const struct flame_symbol *symbol = &f->symbols[f->used[i]];

		flamegraph_list(f, NULL);
		json_put_string(j, NULL, symbol->name);
		json_put_uint(j, NULL, f->object_number[symbol->object_number]);
		json_put_uint(j, NULL, symbol->kind);
		json_put_end(j);
	}
	json_put_end(j);
}

/* Returns the depth of the i-th node that is written, minus the depth of the node before it. */
static int64_t flamegraph_step(const struct flamegraph *f, uint32_t i)
{
	int64_t step = 1;

	/* The node before is the parent, or a descendant of a sibling that comes first. */
	for (uint32_t at = f->order[i - 1]; at != f->nodes[f->order[i]].parent;
	     at = f->nodes[at].parent)
		step--;
	return step;
}

static void flamegraph_shape(struct flamegraph *f)
{
	struct json *j = &f->json;

	flamegraph_list(f, "symbol");
	json_put_uint(j, NULL, 0);
	for (uint32_t i = 1; i < f->n_order; i++) {
		const struct flame_node *node = &f->nodes[f->order[i]];

		json_put_uint(j, NULL,
			      2 * (uint64_t)f->symbol_number[node->symbol] + node->is_inlined);
	}
	json_put_end(j);
	flamegraph_list(f, "step");
	json_put_uint(j, NULL, 0);
	for (uint32_t i = 1; i < f->n_order; i++)
		json_put_int(j, NULL, flamegraph_step(f, i));
	json_put_end(j);
}

static void flamegraph_counts(struct flamegraph *f, const char *member, bool is_self)
{
	struct json *j = &f->json;

	flamegraph_list(f, member);
	for (unsigned side = 0; side < flame_sides(f->flame); side++) {
		if (side)
			json_put_line(j);
		json_put_array(j, NULL);
		for (uint32_t i = 0; i < f->n_order; i++) {
			const struct flame_node *node = &f->nodes[f->order[i]];

			json_put_uint(j, NULL, is_self ? node->self[side] : node->total[side]);
		}
		json_put_end(j);
	}
	json_put_end(j);
}

static void flamegraph_inferred(struct flamegraph *f)
{
	flamegraph_list(f, "inferred");
	for (uint32_t i = 0; i < f->n_order; i++) {
		uint64_t inferred = f->nodes[f->order[i]].inferred;

		if (!inferred)
			continue;
		json_put_uint(&f->json, NULL, i);
		json_put_uint(&f->json, NULL, inferred);
	}
	json_put_end(&f->json);
}

static void flamegraph_data(struct flamegraph *f, double least)
{
	struct json *j = &f->json;

	json_put_object(j, NULL);
	json_put_uint(j, "schema", 1);
	json_put_bool(j, "flame", f->options->is_flame);
	json_put_fixed(j, "least", least, 0);
	json_put_uint(j, "left_out", f->n_nodes - f->n_order);
	json_put_array(j, "sides");
	for (unsigned side = 0; side < flame_sides(f->flame); side++)
		flamegraph_side(f, side);
	json_put_end(j);
	flamegraph_symbols(f);
	flamegraph_shape(f);
	flamegraph_counts(f, "total", false);
	flamegraph_counts(f, "self", true);
	flamegraph_inferred(f);
	json_put_end(j);
}

static int flamegraph_add(struct flamegraph *f)
{
	unsigned n = f->profiles[1] ? 2 : 1;
	int err = flame_new(n, &f->flame);

	for (unsigned side = 0; err == 0 && side < n; side++)
		err = flame_add(f->flame, f->profiles[side], f->options->by, side);
	if (err < 0)
		return err;
	f->nodes = flame_nodes(f->flame, &f->n_nodes);
	f->symbols = flame_symbols(f->flame, &f->n_symbols);
	return flamegraph_weigh_symbols(f);
}

static int flamegraph_write(struct flamegraph *f, FILE *out)
{
	size_t room = sizeof(flamegraph_page);
	double least = 0;
	int64_t n;
	int err = flamegraph_add(f);

	room = f->options->max_bytes > room ? f->options->max_bytes - room : 0;
	if (err == 0 && f->options->max_bytes)
		err = flamegraph_least(f, room, &least);
	if (err < 0)
		return err;
	least = fmax(least,
		     ceil(f->options->percent_limit / 100 * flame_weight(f->flame, &f->nodes[0])));
	n = flame_cut(f->flame, least);
	if (n < 0)
		return (int)n;
	err = flamegraph_alloc(f, (uint32_t)n);
	if (err < 0)
		return err;
	flamegraph_visit(f);
	flamegraph_data(f, least);
	return page_write((const char *)flamegraph_page, &f->json.text, out);
}

int export_flamegraph(struct profile *const profiles[2], const struct flamegraph_options *options,
		      FILE *out)
{
	struct flamegraph f = {.profiles = profiles, .options = options};
	int err = flamegraph_write(&f, out);

	if (err == 0 && fflush(out) != 0)
		err = -EIO;
	flame_free(f.flame);
	free(f.order);
	free(f.symbol_number);
	free(f.object_number);
	free(f.used);
	free(f.used_objects);
	free(f.cost);
	buf_free(&f.json.text);
	return err;
}
