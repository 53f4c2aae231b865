/* SPDX-License-Identifier: MIT */
/*
 * Call paths as one tree: from the root down, or the callers of what was hit; all of it, or what is
 * below one path. If the answer is too large, it is made anew with a larger minimum.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "stack/label_set.h"
#include "tree/partition.h"
#include "tree/subtree.h"
#include "web/answers.h"
#include "web/nodes.h"
#include "web/selection.h"

#define TREE_MINIMUM 0.0005
#define TREE_RAISE   1.5
#define TREE_LEVELS  512
#define TREE_NODES   (2u << 20)
#define LABELS_MAX   64 /* by which the page offers to divide */

struct tree {
	struct selection *selection;
	bool is_callers;
	enum partition_by by;
	const char *label; /* for PARTITION_BY_LABEL */
	double minimum;
	struct calltree *own;	     /* the tree of callers, or of the current part; or NULL */
	struct subtree_maker *maker; /* of parts; NULL: not needed yet */
	struct profile_entry *ends;  /* the selection's entries, with paths as far as they matter */
	struct subtree subtree;
	struct words words;
	struct nodes nodes;
};

/* Returns whether a selection can be divided so: by CPU only if that was given. */
static bool is_possible(const struct ask *ask, enum partition_by by)
{
	const struct web_given *given = ask->store->source->given;

	return by != PARTITION_BY_CPU || (given && given->filter->by_cpu);
}

static int read_by(struct ask *ask, struct tree *tree)
{
	const char *by = ask_text(ask, "by");

	tree->by = PARTITION_BY_ALL;
	if (by && (partition_by_word(by, &tree->by) < 0 || !is_possible(ask, tree->by)))
		return ask_fail(ask, 400, "choose one of the parts of /recordings",
				"by: '%.60s' is unknown", by);
	tree->label = by ? partition_label(by) : NULL;
	return 0;
}

/* Returns the child of a node by its name, the largest of several; CALLTREE_NONE: it has none. */
static uint32_t named_child(const struct calltree *tree, uint32_t node, const char *name)
{
	uint32_t n, found = CALLTREE_NONE;
	const struct calltree_node *nodes = calltree_nodes(tree, &n);

	for (uint32_t at = nodes[node].first_child; at != CALLTREE_NONE;
	     at = nodes[at].next_sibling)
		if (words_is(calltree_symbol(tree, at)->name, name) &&
		    (found == CALLTREE_NONE || nodes[at].samples > nodes[found].samples))
			found = at;
	return found;
}

/* Goes down a path of names. Returns 0, or -EINVAL after ask_fail(). */
static int find_under(struct ask *ask, const struct calltree *tree, uint32_t *ret_node)
{
	const char *names[ASK_MANY];
	const int n = ask_many(ask, "under", names);

	*ret_node = 0;
	for (int i = 0; i < n; i++) {
		*ret_node = named_child(tree, *ret_node, names[i]);
		if (*ret_node == CALLTREE_NONE)
			return ask_fail(ask, 404, "show the whole tree",
					"the selection has no path through '%.200s' there",
					names[i]);
	}
	return n < 0 ? n : 0;
}

/* Adds the tree of one part, or of all. */
static int add_tree(struct ask *ask, struct tree *tree, const struct calltree *of, int32_t parent)
{
	const struct calltree_node *nodes;
	uint32_t n, root, frame;
	int err = find_under(ask, of, &root);

	if (err)
		return err;
	nodes = calltree_nodes(of, &n);
	if (root)
		err = words_symbol(&tree->words, calltree_symbol(of, root), nodes[root].is_inlined,
				   &frame);
	else
		err = words_named(&tree->words, "all", WORDS_ALL, &frame);
	return err ? err
		   : nodes_add(ask, of, root, frame, parent,
			       tree->minimum * (double)nodes[root].samples, &tree->words,
			       &tree->nodes);
}

/* --- parts ------------------------------------------------------------------------------------ */

/* Makes tree->own the tree of a part's entries, without what is below nodes of fewer than `least`
 * samples, which is not shown. */
static int part_tree(const struct ask *ask, struct tree *tree, const struct partition *partition,
		     uint32_t part, double least)
{
	const struct groups *groups = &partition->groups;
	const struct subtree_entries of = {.entries = tree->ends,
					   .order = &groups->order[groups->first[part]],
					   .n = groups->first[part + 1] - groups->first[part]};
	int err = ask_is_stopped(ask) ? -ECANCELED : 0;

	calltree_clear(tree->own);
	if (err == 0 && calltree_can_add_large(tree->selection->profile)) {
		err = subtree_make(tree->maker, &of, &tree->subtree);
		if (err == 0)
			err = calltree_add_large(tree->own, &of, &tree->subtree, least);
	} else {
		for (size_t i = 0; err == 0 && i < of.n; i++)
			err = calltree_add(tree->own, &of.entries[of.order[i]]);
	}
	calltree_sum(tree->own);
	return err;
}

/* Adds a part below the top, as a node with the part's name. */
static int add_part(const struct ask *ask, struct tree *tree, const struct partition *partition,
		    uint32_t part, double least)
{
	struct buf name = {0};
	uint32_t frame;
	int err = part_tree(ask, tree, partition, part, least);

	partition_put_name(partition, part, true, &name);
	buf_put_u8(&name, '\0');
	if (err == 0)
		err = name.failed ? -ENOMEM
				  : words_named(&tree->words, (const char *)name.data, WORDS_PART,
						&frame);
	buf_free(&name);
	return err ? err
		   : nodes_add(ask, tree->own, 0, frame, 0, least, &tree->words, &tree->nodes);
}

/* Appends a node without children. */
static int add_node(struct tree *tree, const char *name, enum words_kind kind,
		    struct nodes_node node)
{
	int err = words_named(&tree->words, name, kind, &node.frame);

	if (err == 0)
		err = VEC_RESERVE(&tree->nodes.nodes, 1);
	if (err == 0)
		tree->nodes.nodes.items[tree->nodes.nodes.count++] = node;
	return err;
}

static int add_parts(const struct ask *ask, struct tree *tree, const struct partition *partition)
{
	const struct groups *groups = &partition->groups;
	const uint64_t whole = profile_total(tree->selection->profile);
	const double least = tree->minimum * (double)whole;
	struct nodes_node other = {.parent = 0};
	int err =
		add_node(tree, "all", WORDS_ALL, (struct nodes_node){.parent = -1, .total = whole});

	for (uint32_t i = 0; err == 0 && i < groups->n_ranking; i++) {
		const uint32_t part = groups->ranking[i];

		if ((double)groups->samples[part] >= least) {
			err = add_part(ask, tree, partition, part, least);
		} else {
			other.self += groups->samples[part];
			tree->nodes.left_out++;
		}
	}
	other.total = other.self;
	return err || !other.total ? err : add_node(tree, "other", WORDS_OTHER, other);
}

/* Makes tree->ends: a part has no large node where all of the selection has none, and the sums of
 * a hundred parts are made of a few nodes each, instead of all. */
static int find_ends(const struct ask *ask, struct tree *tree)
{
	struct profile *profile = tree->selection->profile;
	const double least = tree->minimum * (double)profile_total(profile);
	const struct calltree *all;
	uint32_t *ends = NULL;
	size_t n;
	const struct profile_entry *entries = profile_entries(profile, &n);
	int err = 0;

	free(tree->ends);
	tree->ends = malloc((n + 1) * sizeof(*tree->ends));
	if (!tree->ends)
		return -ENOMEM;
	memcpy(tree->ends, entries, n * sizeof(*entries));
	if (!calltree_can_add_large(profile) || profile_filter(profile)->max_depth)
		return 0;
	err = selection_tree(ask, tree->selection, &all);
	if (err == 0)
		err = calltree_ends(all, least, &ends);
	for (size_t i = 0; err == 0 && i < n; i++)
		if (!profile_entry_mark(profile, &entries[i]))
			tree->ends[i].node = ends[entries[i].node];
	free(ends);
	return err;
}

static int add_by(const struct ask *ask, struct tree *tree)
{
	struct partition partition;
	struct profile *profile = tree->selection->profile;
	int err = tree->label ? partition_make_label(profile, tree->label, &partition)
			      : partition_make(profile, tree->by, &partition);

	if (err)
		return err;
	err = find_ends(ask, tree);
	if (err == 0 && !tree->maker)
		err = subtree_maker_new(profile, &tree->maker);
	if (err == 0)
		err = add_parts(ask, tree, &partition);
	partition_free(&partition);
	return err;
}

/* --- the answer ------------------------------------------------------------------------------- */

/* Makes the tree of callers, with what can be seen of it. */
static int invert(struct tree *tree, const struct calltree *of)
{
	const struct calltree_limits limits = {tree->minimum * 100, TREE_LEVELS, TREE_NODES};
	bool is_cut;

	calltree_clear(tree->own);
	return calltree_invert(of, &limits, tree->own, &is_cut);
}

/* Makes the answer's nodes with the current minimum. Returns as nodes_add(). */
static int tree_try(struct ask *ask, struct tree *tree)
{
	const struct calltree *of;
	int err;

	words_end(&tree->words);
	nodes_clear(&tree->nodes);
	err = words_begin(&tree->words);
	if (err)
		return err;
	if (tree->by != PARTITION_BY_ALL)
		return add_by(ask, tree);
	err = selection_tree(ask, tree->selection, &of);
	if (err == 0 && tree->is_callers) {
		err = invert(tree, of);
		of = tree->own;
	}
	return err ? err : add_tree(ask, tree, of, -1);
}

/* Puts the labels that threads of the recording have, by which a page that is not a saved one can
 * divide. Returns 0 or -ENOMEM. */
static int put_labels(const struct ask *ask, const struct store_tables *t, struct json *j)
{
	struct strings *known = NULL;
	const bool is_saved = ask->store->source->given;
	int err = is_saved ? 0 : strings_new(&known);

	json_put_array(j, "labels");
	for (uint32_t i = 0; err == 0 && !is_saved && i < t->n_threads; i++) {
		const char *at = t->threads[i].label_set, *key, *value;
		size_t key_len, value_len;

		while (err == 0 && label_set_next(&at, &key, &key_len, &value, &value_len)) {
			const uint32_t before = strings_count(known);
			char name[LABEL_KEY_BYTES];
			uint32_t number;

			if (key_len >= sizeof(name) || before == LABELS_MAX)
				continue;
			memcpy(name, key, key_len);
			name[key_len] = '\0';
			err = strings_intern(known, name, &number);
			if (err == 0 && number == before)
				json_put_string(j, NULL, name);
		}
	}
	json_put_end(j);
	strings_free(known);
	return err;
}

static int tree_put(struct ask *ask, const struct tree *tree)
{
	struct json *j = &ask->json;

	selection_put(ask, tree->selection);
	json_put_string(j, "direction", tree->is_callers ? "callers" : "down");
	json_put_string(j, "by", partition_word(tree->by));
	json_put_double(j, "minimum", tree->minimum, 6);
	json_put_uint(j, "left_out", tree->nodes.left_out);
	words_put(&tree->words, true, j);
	nodes_put(&tree->nodes, "nodes", j);
	return put_labels(ask, profile_tables(tree->selection->profile), j);
}

static int tree_read(struct ask *ask, struct tree *tree)
{
	static const char *const directions[] = {"down", "callers", NULL};
	unsigned direction = 0;
	int err = ask_word(ask, "direction", directions, &direction);

	tree->is_callers = direction;
	if (err == 0)
		err = read_by(ask, tree);
	if (err == 0)
		err = ask_share(ask, "minimum", &tree->minimum);
	if (err == 0 && tree->by != PARTITION_BY_ALL &&
	    (tree->is_callers || ask_text(ask, "under")))
		return ask_fail(ask, 400, "leave 'by' out", "'by' goes with the whole tree alone");
	return err;
}

int answer_tree(struct ask *ask)
{
	struct tree tree = {.minimum = TREE_MINIMUM};
	int err = tree_read(ask, &tree);

	if (err == 0)
		err = selection_get(ask, &tree.selection);
	if (err)
		return err;
	err = calltree_new(tree.selection->profile, CALLTREE_BY_SYMBOL, &tree.own);
	if (err == 0)
		err = tree_try(ask, &tree);
	while (err == 1 && tree.minimum < 1) {
		tree.minimum = tree.minimum > 1e-7 ? tree.minimum * TREE_RAISE : 1e-6;
		err = tree_try(ask, &tree);
	}
	if (err == 0)
		err = tree_put(ask, &tree);
	calltree_free(tree.own);
	subtree_maker_free(tree.maker);
	free(tree.ends);
	subtree_free(&tree.subtree);
	words_end(&tree.words);
	free(tree.nodes.nodes.items);
	return err == 1 ? -E2BIG : err;
}
