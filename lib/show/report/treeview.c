/* SPDX-License-Identifier: MIT */
/*
 * A call tree as rows of text; see treeview.h.
 *
 * A recording can hold paths of ten thousand frames, so nothing here recurses: rows to be written
 * wait on an explicit stack. `open[level]` tells whether a branch line on the left continues below.
 * Rows come in depth-first order, so `open` is always about the current row's ancestors.
 */
#include "report/treeview.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/function_name.h"
#include "base/vec.h"

/* columns of branches; a deeper row has its depth as a number */
#define TREEVIEW_LEVELS_SHOWN 40
/* so many direct calls of itself make a function one row */
#define TREEVIEW_FOLD 3

struct treeview_item {
	uint32_t node;	 /* CALLTREE_NONE: the row that sums up `hidden` nodes */
	uint32_t level;	 /* number of branches to the left */
	uint32_t hidden; /* number of nodes that the row sums up */
	bool is_top;	 /* a child of node 0 */
	/* It begins a branch at that level; false: it continues the branch above. */
	bool is_branch;
	bool is_last;	  /* It is the last child of its branch. */
	uint64_t samples; /* samples of the hidden nodes */
};

struct treeview {
	const struct calltree *tree;
	const struct calltree_node *nodes;
	const struct treeview_options *options;
	FILE *out;
	struct buf row;
	struct treeview_item *stack;
	size_t n_stack, cap_stack;
	bool *open; /* by level, from 1: whether its branch line continues below */
	size_t cap_open;
	/* the children that are shown of the node with which treeview_children() was last called,
	 * largest first */
	uint32_t *children;
	uint32_t n_children;
	size_t cap_children;
	uint32_t n_hidden;
	uint64_t hidden_samples;
};

bool treeview_is_small(uint64_t samples, uint64_t whole, const struct report_options *options)
{
	return (double)samples * 100.0 < options->percent_limit * (double)whole;
}

void treeview_function(struct buf *row, const char *name, enum frame_kind kind,
		       const struct report_options *options)
{
	struct buf b = {0};

	if (options->full_names || frame_kind_is_managed(kind)) {
		text_put_name(row, name, options->utf8);
		return;
	}
	function_name_put_short(name, strlen(name),
				options->utf8 ? FUNCTION_NAME_FOLDED : FUNCTION_NAME_FOLDED_ASCII,
				&b);
	buf_put_u8(&b, '\0');
	text_put_name(row, b.failed ? name : (const char *)b.data, options->utf8);
	buf_free(&b);
}

void treeview_object(struct buf *row, const char *object, const struct report_options *options)
{
	bool has_brackets = *object == '[';

	text_put_raw(row, has_brackets ? "  " : "  [");
	text_put_name(row, object, options->utf8);
	text_put_raw(row, has_brackets ? "" : "]");
}

int treeview_row(struct buf *row, const struct report_options *options, bool strong, FILE *out)
{
	int err;

	text_cut(row, options->width);
	while (row->len && row->data[row->len - 1] == ' ')
		row->len--;
	if (!options->color || !strong) {
		text_put_raw(row, "\n");
		return text_flush(row, out);
	}
	if (fputs("\033[1m", out) < 0)
		return -EIO;
	err = text_flush(row, out);
	if (err == 0 && fputs("\033[0m\n", out) < 0)
		err = -EIO;
	return err;
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct calltree *tree = arg;
	uint32_t n, x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct calltree_node *nodes = calltree_nodes(tree, &n);

	if (nodes[x].samples != nodes[y].samples)
		return nodes[x].samples < nodes[y].samples ? 1 : -1;
	return strcmp(calltree_symbol(tree, x)->name, calltree_symbol(tree, y)->name);
}

static int add_child(struct treeview *v, uint32_t node)
{
	if (VEC_GROW(v->children, v->cap_children, (size_t)v->n_children + 1) < 0)
		return -ENOMEM;
	v->children[v->n_children++] = node;
	return 0;
}

/* Finds the children of a node, shown and hidden. */
static int treeview_children(struct treeview *v, uint32_t node)
{
	int err = 0;

	v->n_children = v->n_hidden = 0;
	v->hidden_samples = 0;
	for (uint32_t at = v->nodes[node].first_child; err == 0 && at != CALLTREE_NONE;
	     at = v->nodes[at].next_sibling) {
		uint64_t samples = v->nodes[at].samples;

		if (treeview_is_small(samples, v->options->whole, v->options->report)) {
			v->n_hidden++;
			v->hidden_samples += samples;
		} else {
			err = add_child(v, at);
		}
	}
	if (v->n_children > 1)
		qsort_r(v->children, v->n_children, sizeof(*v->children), compare, (void *)v->tree);
	return err;
}

static int treeview_push(struct treeview *v, const struct treeview_item *item)
{
	if (VEC_GROW(v->stack, v->cap_stack, v->n_stack + 1) < 0)
		return -ENOMEM;
	v->stack[v->n_stack++] = *item;
	return 0;
}

/* Puts the children that treeview_children() found on the stack, in the order that the largest is
 * written first. Returns 0 or -ENOMEM. */
static int push_children(struct treeview *v, uint32_t level, bool is_top)
{
	uint32_t n = v->n_children + (v->n_hidden > 0);
	bool branches = !is_top && n > 1;
	struct treeview_item item = {
		.level = level + branches, .is_branch = branches, .is_top = is_top};
	int err = 0;

	if (v->n_hidden) {
		item.node = CALLTREE_NONE;
		item.hidden = v->n_hidden;
		item.samples = v->hidden_samples;
		item.is_last = true;
		err = treeview_push(v, &item);
	}
	for (uint32_t i = v->n_children; err == 0 && i-- > 0;) {
		item.node = v->children[i];
		item.is_last = !v->n_hidden && i == v->n_children - 1;
		err = treeview_push(v, &item);
	}
	return err;
}

static int reserve_level(struct treeview *v, uint32_t level)
{
	return VEC_GROW(v->open, v->cap_open, (size_t)level + 1);
}

static void treeview_branches(struct treeview *v, const struct treeview_item *item)
{
	bool utf8 = v->options->report->utf8;
	uint32_t from = 1;

	if (item->is_branch)
		v->open[item->level] = !item->is_last;
	if (item->level > TREEVIEW_LEVELS_SHOWN) {
		from = item->level - TREEVIEW_LEVELS_SHOWN + 1;
		text_printf(&v->row, "[%u] ", item->level);
	}
	for (uint32_t level = from; level <= item->level; level++) {
		bool head = level == item->level && item->is_branch;

		if (head && item->is_last)
			text_put_raw(&v->row, utf8 ? "└─ " : "`- ");
		else if (head)
			text_put_raw(&v->row, utf8 ? "├─ " : "|- ");
		else
			text_put_raw(&v->row, !v->open[level] ? "   " : utf8 ? "│  " : "|  ");
	}
}

void treeview_share(struct buf *row, uint64_t samples, uint64_t whole)
{
	char share[TEXT_SHARE_MAX];

	text_printf(row, "  %5s%%", text_share(samples, whole, share));
}

static void treeview_columns(struct treeview *v, uint32_t node, uint64_t samples, uint64_t self)
{
	treeview_share(&v->row, samples, v->options->whole);
	if (!v->options->is_callers)
		treeview_share(&v->row, self, v->options->whole);
	if (v->options->imbalance)
		imbalance_put(v->options->imbalance, node, &v->row);
	text_put_raw(&v->row, "  ");
	if (v->options->sources)
		frame_sources_put(&v->options->sources->nodes[node], &v->row);
}

/* Appends the share of a row's samples whose frame was inferred, not observed. */
static void treeview_inferred(struct treeview *v, const struct calltree_node *node)
{
	char share[TEXT_SHARE_MAX];

	if (node->inferred && node->inferred == node->samples)
		text_put_raw(&v->row, " (reconstructed)");
	else if (node->inferred)
		text_printf(&v->row, " (%s%% reconstructed)",
			    text_share(node->inferred, node->samples, share));
}

static void label(struct treeview *v, uint32_t node, uint32_t calls)
{
	const struct profile_symbol *symbol = calltree_symbol(v->tree, node);
	uint32_t parent = v->nodes[node].parent;
	const struct profile_symbol *above = parent ? calltree_symbol(v->tree, parent) : NULL;

	treeview_function(&v->row, symbol->name, symbol->kind, v->options->report);
	if (calls > 1)
		text_printf(&v->row, " (x%u)", calls);
	if (v->nodes[node].is_inlined)
		text_put_raw(&v->row, " (inlined)");
	treeview_inferred(v, &v->nodes[node]);
	if (symbol->is_mark || symbol->is_unnamed || (above && above->object == symbol->object))
		return;
	treeview_object(&v->row, text_basename(symbol->object), v->options->report);
}

static int write_hidden(struct treeview *v, const struct treeview_item *item)
{
	char share[TEXT_SHARE_MAX];

	text_put_raw(&v->row, v->options->is_callers ? "          " : "                   ");
	if (v->options->imbalance)
		text_printf(&v->row, "%*s", IMBALANCE_COLUMN, "");
	if (v->options->sources)
		text_printf(&v->row, "%*s", FRAME_SOURCES_COLUMN + 2, "");
	treeview_branches(v, item);
	text_printf(&v->row, "(%u more, %s%%)", item->hidden,
		    text_share(item->samples, v->options->whole, share));
	return treeview_row(&v->row, v->options->report, false, v->out);
}

/* Returns whether the only child of `node` is the same function again. v->children has the children
 * of `node` afterwards. *ret_r is 0 or an error. */
static bool calls_itself(struct treeview *v, uint32_t node, int *ret_r)
{
	*ret_r = treeview_children(v, node);
	return *ret_r == 0 && v->n_children == 1 && !v->n_hidden &&
	       v->nodes[v->children[0]].symbol == v->nodes[node].symbol &&
	       v->nodes[v->children[0]].is_inlined == v->nodes[node].is_inlined;
}

/* Finds the last of the nodes that share a row with `node`, and the number of calls and the self
 * samples of all of them. Returns 0 or an error. */
static int fold(struct treeview *v, uint32_t node, uint32_t *ret_last, uint32_t *ret_calls,
		uint64_t *ret_self)
{
	uint32_t last = node, calls = 1;
	uint64_t self = v->nodes[node].self;
	int err;

	while (calls_itself(v, last, &err)) {
		last = v->children[0];
		self += v->nodes[last].self;
		calls++;
	}
	if (calls < TREEVIEW_FOLD || v->options->report->calls_apart) {
		last = node;
		calls = 1;
		self = v->nodes[node].self;
	}
	*ret_last = last;
	*ret_calls = calls;
	*ret_self = self;
	return err;
}

/* Appends the sum of the hidden rows to their parent's row, unless the paths divide there, so that
 * the sum gets a row of its own. */
static void hide(struct treeview *v)
{
	char share[TEXT_SHARE_MAX];

	if (!v->n_hidden || v->n_children > 1)
		return;
	text_printf(&v->row, "  (+%u more, %s%%)", v->n_hidden,
		    text_share(v->hidden_samples, v->options->whole, share));
	v->n_hidden = 0;
}

static int write_node(struct treeview *v, const struct treeview_item *item)
{
	uint64_t self, samples = v->nodes[item->node].samples;
	uint32_t last, calls;
	int err = fold(v, item->node, &last, &calls, &self);

	if (err == 0)
		err = treeview_children(v, last);
	if (err < 0)
		return err;
	treeview_columns(v, item->node, samples, self);
	treeview_branches(v, item);
	if (v->options->is_callers && !item->is_top)
		text_put_raw(&v->row, v->options->report->utf8 ? "← " : "<- ");
	label(v, item->node, calls);
	hide(v);
	err = treeview_row(&v->row, v->options->report, self * 20 >= v->options->whole, v->out);
	return err < 0 ? err : push_children(v, item->level, false);
}

int treeview_write(const struct calltree *tree, const struct treeview_options *options, FILE *out)
{
	struct treeview v = {.tree = tree, .options = options, .out = out};
	bool is_below_other = false;
	uint32_t n;
	int err;

	v.nodes = calltree_nodes(tree, &n);
	err = treeview_children(&v, 0);
	if (err == 0)
		err = push_children(&v, 0, true);
	while (err == 0 && v.n_stack) {
		struct treeview_item item = v.stack[--v.n_stack];

		err = reserve_level(&v, item.level);
		if (err == 0 && item.is_top && is_below_other && fputc('\n', out) == EOF)
			err = -EIO;
		is_below_other = true;
		if (err == 0)
			err = item.node == CALLTREE_NONE ? write_hidden(&v, &item)
							 : write_node(&v, &item);
	}
	buf_free(&v.row);
	free(v.stack);
	free(v.open);
	free(v.children);
	return err;
}
