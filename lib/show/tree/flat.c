/* SPDX-License-Identifier: MIT */
/*
 * Functions with self and total; see flat.h.
 *
 * A recursive function occurs several times in one path. Its total is the sum over its nodes that
 * have no node of the same function above them. To find these, a depth-first pass counts for each
 * function how many of its nodes are on the current path. The pass follows the tree's links, so
 * depth costs no memory.
 */
#include "tree/flat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/int_map.h"

struct flat_pass {
	const struct calltree_node *nodes;
	struct flat *flat;
	uint32_t *open; /* by row: how many nodes of the function are on the current path */
	uint32_t *row;	/* by node: index of its function's row */
};

static void enter(struct flat_pass *pass, uint32_t node)
{
	struct flat_row *row = &pass->flat->rows[pass->row[node]];

	row->self += pass->nodes[node].self;
	if (pass->open[pass->row[node]]++ == 0) {
		row->total += pass->nodes[node].samples;
		row->inferred += pass->nodes[node].inferred;
	}
}

static void leave(struct flat_pass *pass, uint32_t node)
{
	pass->open[pass->row[node]]--;
}

static void flat_walk(struct flat_pass *pass)
{
	uint32_t at = pass->nodes[0].first_child;

	while (at != CALLTREE_NONE) {
		enter(pass, at);
		if (pass->nodes[at].first_child != CALLTREE_NONE) {
			at = pass->nodes[at].first_child;
			continue;
		}
		while (at && pass->nodes[at].next_sibling == CALLTREE_NONE) {
			leave(pass, at);
			at = pass->nodes[at].parent;
		}
		if (!at)
			return;
		leave(pass, at);
		at = pass->nodes[at].next_sibling;
	}
}

/* Gives each function a row, and each node its function's row. */
static int flat_number(struct flat_pass *pass, uint32_t n_nodes)
{
	struct int_map rows = {0};
	int err = 0;

	for (uint32_t i = 1; err == 0 && i < n_nodes; i++) {
		uint32_t symbol = pass->nodes[i].symbol;

		err = int_map_enter(&rows, symbol, pass->flat->n, &pass->row[i]);
		if (err == 0 && pass->row[i] == pass->flat->n)
			pass->flat->rows[pass->flat->n++].symbol = symbol;
	}
	int_map_fini(&rows);
	return err;
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct flat_row *x = a, *y = b;
	const struct profile *profile = arg;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return strcmp(profile_symbol_at(profile, x->symbol)->name,
		      profile_symbol_at(profile, y->symbol)->name);
}

int flat_make(const struct profile *profile, const struct calltree *tree, struct flat *ret_flat)
{
	struct flat flat = {0};
	struct flat_pass pass = {.flat = &flat};
	uint32_t n;
	int err = -ENOMEM;

	pass.nodes = calltree_nodes(tree, &n);
	pass.open = calloc(n, sizeof(*pass.open));
	pass.row = calloc(n, sizeof(*pass.row));
	flat.rows = calloc(n, sizeof(*flat.rows));
	if (pass.open && pass.row && flat.rows)
		err = flat_number(&pass, n);
	if (err == 0) {
		flat_walk(&pass);
		qsort_r(flat.rows, flat.n, sizeof(*flat.rows), compare, (void *)profile);
		*ret_flat = flat;
	} else {
		flat_free(&flat);
	}
	free(pass.open);
	free(pass.row);
	return err;
}

void flat_free(struct flat *flat)
{
	free(flat->rows);
	*flat = (struct flat){0};
}
