/* SPDX-License-Identifier: MIT */
/*
 * The tree of a flame graph; see flame.h.
 *
 * For each part, the report's tree (tree/calltree.h) is made and copied below the node of the part.
 * With one side no look-up is needed, because every node of the part's tree is new. A second side
 * finds the first side's nodes by (parent, symbol), and symbols by the text of name and object,
 * since each recording numbers its symbols itself.
 */
#include "export/flame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/int_map.h"
#include "base/vec.h"
#include "model/frame_kind.h"
#include "report/report_view.h"
#include "base/strings.h"
#include "base/text.h"

struct flame {
	unsigned n_sides;
	struct flame_node *nodes;
	uint32_t n_nodes;
	size_t cap_nodes;
	struct flame_symbol *symbols;
	uint32_t n_symbols;
	size_t cap_symbols;
	struct strings *names, *objects;
	struct int_map by_text; /* (object, name and kind) -> index in `symbols` */
	/* (parent, symbol and is_inlined) -> node; used only with two sides */
	struct int_map children;
	struct buf text;
};

/* A profile that is being added to the tree. */
struct flame_source {
	struct flame *flame;
	unsigned side;
	struct report_view_state view;
	/* by number of the profile's symbol: number of the flame's symbol; FLAME_NONE: not looked
	 * up yet */
	uint32_t *symbol_of;
	size_t n_symbols;
	uint32_t *node_of; /* by node of the part's tree: the flame's node */
	uint32_t cap_node_of;
};

static int flame_node(struct flame *flame, uint32_t parent, uint32_t symbol, bool is_inlined,
		      uint32_t *ret_node)
{
	struct flame_node *node;

	if (flame->n_nodes >= UINT32_MAX / 4 ||
	    VEC_GROW(flame->nodes, flame->cap_nodes, (size_t)flame->n_nodes + 1) < 0)
		return -ENOMEM;
	node = &flame->nodes[flame->n_nodes];
	*node = (struct flame_node){.symbol = symbol,
				    .parent = parent,
				    .first_child = FLAME_NONE,
				    .next = FLAME_NONE,
				    .is_inlined = is_inlined};
	*ret_node = flame->n_nodes++;
	return 0;
}

int flame_new(unsigned n_sides, struct flame **ret_flame)
{
	struct flame *flame = calloc(1, sizeof(*flame));
	uint32_t top;

	if (!flame)
		return -ENOMEM;
	flame->n_sides = n_sides;
	if (strings_new(&flame->names) < 0 || strings_new(&flame->objects) < 0 ||
	    flame_node(flame, FLAME_NONE, FLAME_NONE, false, &top) < 0) {
		flame_free(flame);
		return -ENOMEM;
	}
	*ret_flame = flame;
	return 0;
}

void flame_free(struct flame *flame)
{
	if (!flame)
		return;
	free(flame->nodes);
	free(flame->symbols);
	strings_free(flame->names);
	strings_free(flame->objects);
	int_map_fini(&flame->by_text);
	int_map_fini(&flame->children);
	buf_free(&flame->text);
	free(flame);
}

/* --- symbols --------------------------------------------------------------------------------- */

static int append_symbol(struct flame *flame, uint32_t name, uint32_t object, enum flame_kind kind)
{
	if (VEC_GROW(flame->symbols, flame->cap_symbols, (size_t)flame->n_symbols + 1) < 0)
		return -ENOMEM;
	flame->symbols[flame->n_symbols++] = (struct flame_symbol){
		.name = strings_at(flame->names, name),
		.object = strings_at(flame->objects, object),
		.object_number = object,
		.kind = kind,
	};
	return 0;
}

/* Finds or adds the symbol with a name and an object, both already escaped. Returns 0 or
 * -ENOMEM. */
static int flame_symbol(struct flame *flame, const char *name, const char *object,
			enum flame_kind kind, uint32_t *ret_symbol)
{
	uint32_t name_number = 0, object_number = 0, next = flame->n_symbols;
	int err = strings_intern(flame->names, name, &name_number);

	if (err == 0)
		err = strings_intern(flame->objects, object, &object_number);
	if (err == 0)
		err = int_map_enter(&flame->by_text,
				    (uint64_t)object_number << 35 | (uint64_t)name_number << 3 |
					    kind,
				    next, ret_symbol);
	if (err == 0 && *ret_symbol == next)
		err = append_symbol(flame, name_number, object_number, kind);
	return err;
}

static enum flame_kind kind_of(const struct profile_symbol *symbol)
{
	const enum profile_wait wait = profile_symbol_wait(symbol);

	if (wait)
		return wait == PROFILE_RUNNABLE ? FLAME_READY : FLAME_WAIT;
	if (frame_kind_is_managed(symbol->kind))
		return FLAME_MANAGED;
	return symbol->is_mark ? FLAME_MARK : symbol->is_kernel ? FLAME_KERNEL : FLAME_USER;
}

/* Finds or adds the flame's symbol for a function. flame->text has the escaped name, then the
 * escaped object. Returns 0 or -ENOMEM. */
static int flame_function(struct flame *flame, const struct profile_symbol *symbol,
			  uint32_t *ret_symbol)
{
	size_t object_at;

	buf_clear(&flame->text);
	text_put(&flame->text, symbol->name, NULL);
	buf_put_u8(&flame->text, '\0');
	object_at = flame->text.len;
	text_put(&flame->text, symbol->object, NULL);
	buf_put_u8(&flame->text, '\0');
	if (flame->text.failed)
		return -ENOMEM;
	return flame_symbol(flame, (const char *)flame->text.data,
			    (const char *)flame->text.data + object_at, kind_of(symbol),
			    ret_symbol);
}

/* Finds or adds the flame's symbol for symbol `number` of the profile. Each part can add symbols to
 * the profile, so the array grows. Returns 0 or -ENOMEM. */
static int flame_symbol_of(struct flame_source *source, uint32_t number, uint32_t *ret_symbol)
{
	size_t before = source->n_symbols;
	int err = VEC_GROW(source->symbol_of, source->n_symbols,
			   profile_symbol_count(source->view.profile));

	if (err < 0)
		return err;
	for (size_t i = before; i < source->n_symbols; i++)
		source->symbol_of[i] = FLAME_NONE;
	if (source->symbol_of[number] == FLAME_NONE)
		err = flame_function(source->flame, profile_symbol_at(source->view.profile, number),
				     &source->symbol_of[number]);
	*ret_symbol = source->symbol_of[number];
	return err;
}

/* --- nodes ----------------------------------------------------------------------------------- */

static int child(struct flame *flame, uint32_t parent, uint32_t symbol, bool is_inlined,
		 uint32_t *ret_child)
{
	uint64_t key = (uint64_t)parent << 32 | symbol << 1 | is_inlined;
	uint32_t next = flame->n_nodes;
	int err;

	if (flame->n_sides == 1)
		return flame_node(flame, parent, symbol, is_inlined, ret_child);
	err = int_map_enter(&flame->children, key, next, ret_child);
	if (err == 0 && *ret_child == next)
		err = flame_node(flame, parent, symbol, is_inlined, ret_child);
	return err;
}

static void flame_count(struct flame_source *source, uint32_t at, uint64_t total, uint64_t self,
			uint64_t inferred)
{
	struct flame_node *node = &source->flame->nodes[at];

	node->total[source->side] += total;
	node->self[source->side] += self;
	if (source->side == source->flame->n_sides - 1)
		node->inferred += inferred;
}

static int copy(struct flame_source *source, uint32_t below)
{
	uint32_t n, symbol;
	const struct calltree_node *nodes = calltree_nodes(source->view.tree, &n);
	int err = 0;

	if (n > source->cap_node_of) {
		free(source->node_of);
		source->node_of = calloc(n, sizeof(*source->node_of));
		source->cap_node_of = source->node_of ? n : 0;
		if (!source->node_of)
			return -ENOMEM;
	}
	source->node_of[0] = below;
	flame_count(source, below, nodes[0].samples, nodes[0].self, 0);
	for (uint32_t i = 1; err == 0 && i < n; i++) {
		err = flame_symbol_of(source, nodes[i].symbol, &symbol);
		if (err == 0)
			err = child(source->flame, source->node_of[nodes[i].parent], symbol,
				    nodes[i].is_inlined, &source->node_of[i]);
		if (err == 0)
			flame_count(source, source->node_of[i], nodes[i].samples, nodes[i].self,
				    nodes[i].inferred);
	}
	return err;
}

static int flame_part(struct flame_source *source, const struct report_options *options,
		      uint32_t part)
{
	struct flame *flame = source->flame;
	uint32_t symbol, below = 0;
	int err = report_view_begin(&source->view, part, true, NULL);

	if (err == 0 && options->by != PARTITION_BY_ALL) {
		buf_clear(&flame->text);
		partition_put_name(&source->view.partition, part, options->utf8, &flame->text);
		buf_put_u8(&flame->text, '\0');
		err = flame->text.failed ? -ENOMEM
					 : flame_symbol(flame, (const char *)flame->text.data, "",
							FLAME_PART, &symbol);
		if (err == 0)
			err = child(flame, 0, symbol, false, &below);
		if (err == 0)
			flame_count(source, 0, source->view.whole, 0, 0);
	}
	return err < 0 ? err : copy(source, below);
}

int flame_add(struct flame *flame, struct profile *profile, enum partition_by by, unsigned side)
{
	struct flame_source source = {.flame = flame, .side = side};
	const struct report_options options = {.by = by, .utf8 = true};
	const struct groups *groups = &source.view.partition.groups;
	int err = report_view_new(profile, &options, &source.view);

	for (uint32_t i = 0; err == 0 && i < groups->n_ranking; i++)
		err = flame_part(&source, &options, groups->ranking[i]);
	report_view_free(&source.view);
	free(source.symbol_of);
	free(source.node_of);
	return err;
}

unsigned flame_sides(const struct flame *flame)
{
	return flame->n_sides;
}

const struct flame_node *flame_nodes(const struct flame *flame, uint32_t *ret_count)
{
	*ret_count = flame->n_nodes;
	return flame->nodes;
}

const struct flame_symbol *flame_symbols(const struct flame *flame, uint32_t *ret_count)
{
	*ret_count = flame->n_symbols;
	return flame->symbols;
}

uint32_t flame_objects(const struct flame *flame)
{
	return strings_count(flame->objects);
}

/* --- what is shown --------------------------------------------------------------------------- */

double flame_weight(const struct flame *flame, const struct flame_node *node)
{
	const uint64_t *whole = flame->nodes[0].total;
	double a, b, most;

	if (flame->n_sides == 1)
		return (double)node->total[0];
	most = (double)(whole[0] > whole[1] ? whole[0] : whole[1]);
	a = whole[0] ? (double)node->total[0] / (double)whole[0] : 0;
	b = whole[1] ? (double)node->total[1] / (double)whole[1] : 0;
	return most * (a > b ? a : b);
}

struct flame_ranked {
	uint64_t samples;
	uint32_t node;
};

static int compare(const void *a, const void *b)
{
	const struct flame_ranked *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples < y->samples ? -1 : 1;
	return x->node > y->node ? -1 : x->node < y->node;
}

int64_t flame_cut(struct flame *flame, double least)
{
	unsigned last = flame->n_sides - 1;
	struct flame_ranked *ranked = calloc(flame->n_nodes, sizeof(*ranked));
	uint32_t n = 0;

	if (!ranked)
		return -ENOMEM;
	for (uint32_t i = 0; i < flame->n_nodes; i++) {
		flame->nodes[i].first_child = flame->nodes[i].next = FLAME_NONE;
		if (i && flame_weight(flame, &flame->nodes[i]) >= least)
			ranked[n++] = (struct flame_ranked){flame->nodes[i].total[last], i};
	}
	qsort(ranked, n, sizeof(*ranked), compare);
	/* from few samples to many, because each node is put in front of those with fewer */
	for (uint32_t i = 0; i < n; i++) {
		struct flame_node *node = &flame->nodes[ranked[i].node];

		node->next = flame->nodes[node->parent].first_child;
		flame->nodes[node->parent].first_child = ranked[i].node;
	}
	free(ranked);
	return (int64_t)n + 1;
}
