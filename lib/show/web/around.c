/* SPDX-License-Identifier: MIT */
/*
 * One function: its callers and callees, its lines, by which rules its callers were found, and why
 * paths through it are incomplete.
 *
 * What is counted by path goes through the nodes of the trie once: a node's number is larger than
 * its parent's, so whether a path has the function, and by which rule the innermost call was left,
 * is known of the parent before.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/annotate.h"
#include "stack/end_reason.h"
#include "stack/provenance.h"
#include "stackd_abi.h"
#include "web/answers.h"
#include "web/asked.h"
#include "web/nodes.h"

#define AROUND_MINIMUM 0.002
#define AROUND_RAISE   1.5
#define AROUND_LEVELS  512
#define AROUND_NODES   (1u << 20)
#define AROUND_LINES   500
#define AROUND_NONE    UINT8_MAX

struct around {
	struct selection *selection;
	const struct flat_row *row;
	const struct profile_symbol *symbol;
	double minimum;
	struct calltree *callers, *callees;
	struct words words;
	struct nodes up, down;
	/* by node of the trie: the provenance of the path's innermost frame of the function */
	uint8_t *rules;
	uint64_t by_rule[PROVENANCE_COUNT], by_reason[STACKD_END_COUNT + 1];
	double self_variance, total_variance; /* negative: not known */
};

/* --- sums by path ---------------------------------------------------------------------------- */

/* Returns whether a location has a frame of the function; -ENOMEM. */
static int location_has(struct profile *profile, uint32_t location, uint32_t symbol)
{
	size_t n;
	const uint32_t *keys = profile_location_keys(profile, location, &n);

	for (size_t i = 0; keys && i < n; i++)
		if (keys[i] >> 1 == symbol)
			return 1;
	return keys ? 0 : -ENOMEM;
}

/* Fills in `rules`. Returns 0 or an error. */
static int find_rules(const struct ask *ask, struct around *a)
{
	struct profile *profile = a->selection->profile;
	const struct store_tables *t = profile_tables(profile);
	int8_t *has = calloc((size_t)t->n_locations + 1, sizeof(*has));
	int err = has ? 0 : -ENOMEM;

	for (uint32_t i = 0; err == 0 && i < t->n_locations; i++) {
		const int found = location_has(profile, i, a->symbol->number);

		err = ask_is_stopped(ask) ? -ECANCELED : found < 0 ? found : 0;
		has[i] = (int8_t)found;
	}
	for (uint32_t i = 0; err == 0 && i < t->n_nodes; i++) {
		const uint32_t location = t->nodes[i].location;

		if (i && has[location])
			a->rules[i] = t->locations[location].provenance;
		else
			a->rules[i] = i ? a->rules[t->nodes[i].parent] : AROUND_NONE;
	}
	free(has);
	return err;
}

static void count_entry(struct around *a, const struct profile_entry *entry, double variance)
{
	struct profile *profile = a->selection->profile;
	const uint64_t amount = profile_entry_amount(entry);
	const uint8_t rule = a->rules[entry->node];
	const struct profile_symbol *mark = profile_entry_mark(profile, entry);

	if (rule == AROUND_NONE && mark != a->symbol)
		return;
	if (rule < PROVENANCE_COUNT)
		a->by_rule[rule] += amount;
	if (entry->quality >= PROFILE_PARTIAL)
		a->by_reason[entry->end_reason < STACKD_END_COUNT ? entry->end_reason
								  : STACKD_END_COUNT] += amount;
	a->total_variance += variance;
}

static int count_entries(const struct ask *ask, struct around *a)
{
	struct profile *profile = a->selection->profile;
	const bool is_plain = selection_is_plain(a->selection);
	const double *variances = NULL;
	size_t n;
	const struct profile_entry *entries = profile_entries(profile, &n);
	int err = find_rules(ask, a);

	if (err == 0 && !is_plain)
		err = selection_variances(a->selection, &variances);
	for (size_t i = 0; err == 0 && i < n; i++)
		count_entry(a, &entries[i], variances ? variances[i] : 0);
	if (is_plain)
		a->total_variance = (double)a->row->total;
	else if (!variances)
		a->total_variance = -1;
	return err;
}

/* --- trees ----------------------------------------------------------------------------------- */

static int make_trees(const struct ask *ask, struct around *a)
{
	const struct calltree_limits limits = {0, AROUND_LEVELS, AROUND_NODES};
	const size_t n = profile_symbol_count(a->selection->profile);
	bool *is_asked = calloc(n + 1, sizeof(*is_asked)), is_cut;
	const struct calltree *tree;
	int err = is_asked ? selection_tree(ask, a->selection, &tree) : -ENOMEM;

	if (err == 0)
		err = calltree_new(a->selection->profile, CALLTREE_BY_SYMBOL, &a->callers);
	if (err == 0)
		err = calltree_new(a->selection->profile, CALLTREE_BY_SYMBOL, &a->callees);
	if (err == 0) {
		is_asked[a->symbol->number] = true;
		err = calltree_around(tree, is_asked, &limits, a->callers, a->callees, &is_cut);
	}
	free(is_asked);
	return err;
}

/* Adds the tree below the function, which is the only node below the top. */
static int add_tree(const struct ask *ask, struct around *a, const struct calltree *tree,
		    struct nodes *nodes)
{
	uint32_t n, frame;
	const struct calltree_node *from = calltree_nodes(tree, &n);
	const uint32_t top = from[0].first_child;
	int err;

	if (top == CALLTREE_NONE)
		return 0;
	err = words_symbol(&a->words, a->symbol, from[top].is_inlined, &frame);
	return err ? err
		   : nodes_add(ask, tree, top, frame, -1, a->minimum * (double)from[top].samples,
			       &a->words, nodes);
}

static int around_try(const struct ask *ask, struct around *a)
{
	int err;

	words_end(&a->words);
	nodes_clear(&a->up);
	nodes_clear(&a->down);
	err = words_begin(&a->words);
	if (err == 0)
		err = add_tree(ask, a, a->callers, &a->up);
	/* The second tree has the room that the first one leaves. */
	a->down.bytes = a->up.bytes + WEB_ANSWER_MAX / 6;
	return err ? err : add_tree(ask, a, a->callees, &a->down);
}

/* --- lines ----------------------------------------------------------------------------------- */

#define AROUND_COLUMN(j, name, put, value)                                                         \
	do {                                                                                       \
		json_put_array(j, name);                                                           \
		for (uint32_t i = 0; i < n; i++)                                                   \
			put(j, NULL, value);                                                       \
		json_put_end(j);                                                                   \
	} while (0)

static void put_lines(struct json *j, const struct annotate_function *f, const uint32_t *files)
{
	const uint32_t n = f->n_lines < AROUND_LINES ? f->n_lines : AROUND_LINES;

	json_put_object(j, "lines");
	AROUND_COLUMN(j, "file", json_put_uint, files[i]);
	AROUND_COLUMN(j, "line", json_put_uint, f->lines[i].line);
	AROUND_COLUMN(j, "self", json_put_uint, f->lines[i].self);
	AROUND_COLUMN(j, "total", json_put_uint, f->lines[i].total);
	json_put_end(j);
}

/* Returns the function of an annotation that is the symbol; NULL: none. */
static const struct annotate_function *annotated(const struct annotate *annotate,
						 const struct profile_symbol *symbol)
{
	for (uint32_t i = 0; i < annotate->n; i++)
		if (annotate->functions[i].symbol == symbol)
			return &annotate->functions[i];
	return NULL;
}

/* Enters the files of lines, and keeps their numbers. */
static int enter_files(struct words *words, const struct annotate_function *f,
		       uint32_t ret_files[static AROUND_LINES])
{
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < f->n_lines && i < AROUND_LINES; i++)
		err = words_string(words, f->lines[i].file, &ret_files[i]);
	return err;
}

/* --- the answer ------------------------------------------------------------------------------ */

static void put_variance(struct json *j, const char *key, double variance)
{
	if (variance < 0)
		json_put_null(j, key);
	else
		json_put_double(j, key, sqrt(variance), 5);
}

static void put_counts(struct json *j, const struct around *a)
{
	json_put_array(j, "provenance");
	for (unsigned i = 0; i < PROVENANCE_COUNT; i++) {
		if (!a->by_rule[i])
			continue;
		json_put_object(j, NULL);
		json_put_string(j, "name", provenance_name((uint8_t)i));
		json_put_uint(j, "samples", a->by_rule[i]);
		json_put_end(j);
	}
	json_put_end(j);
	json_put_array(j, "incomplete");
	for (unsigned i = 0; i <= STACKD_END_COUNT; i++) {
		if (!a->by_reason[i])
			continue;
		json_put_object(j, NULL);
		json_put_string(j, "reason", end_reason_name((uint8_t)i));
		json_put_uint(j, "samples", a->by_reason[i]);
		json_put_end(j);
	}
	json_put_end(j);
}

static void around_put(struct ask *ask, const struct around *a, const struct annotate_function *f,
		       const uint32_t *files)
{
	struct json *j = &ask->json;

	selection_put(ask, a->selection);
	asked_put(j, a->symbol);
	json_put_uint(j, "self", a->row->self);
	put_variance(j, "self_error", a->self_variance);
	json_put_uint(j, "function_total", a->row->total);
	put_variance(j, "function_error", a->total_variance);
	json_put_uint(j, "inferred", a->row->inferred);
	json_put_double(j, "minimum", a->minimum, 6);
	json_put_uint(j, "left_out", a->up.left_out + a->down.left_out);
	words_put(&a->words, true, j);
	nodes_put(&a->up, "callers", j);
	nodes_put(&a->down, "callees", j);
	if (f)
		put_lines(j, f, files);
	put_counts(j, a);
}

static int around_write(struct ask *ask, struct around *a)
{
	struct annotate annotate = {0};
	const struct annotate_function *f = NULL;
	uint32_t files[AROUND_LINES];
	int err = annotate_make(a->selection->profile, a->symbol->name, ASK_MANY, &annotate);

	if (err == 0)
		f = annotated(&annotate, a->symbol);
	if (err == -ENOENT)
		err = 0;
	if (err == 0 && f)
		err = enter_files(&a->words, f, files);
	if (err == 0)
		around_put(ask, a, f, files);
	annotate_free(&annotate);
	return err;
}

static int around_make(struct ask *ask, struct around *a)
{
	const size_t n = profile_tables(a->selection->profile)->n_nodes;
	int err = asked_find(ask, a->selection, &a->row);

	if (err)
		return err;
	a->symbol = profile_symbol_at(a->selection->profile, a->row->symbol);
	a->rules = calloc(n + 1, sizeof(*a->rules));
	err = a->rules ? count_entries(ask, a) : -ENOMEM;
	if (err == 0)
		err = selection_self_variance(ask, a->selection, a->row, &a->self_variance);
	if (err == 0)
		err = make_trees(ask, a);
	if (err == 0)
		err = around_try(ask, a);
	while (err == 1 && a->minimum < 1) {
		a->minimum = a->minimum > 1e-7 ? a->minimum * AROUND_RAISE : 1e-6;
		err = around_try(ask, a);
	}
	return err == 1 ? -E2BIG : err;
}

int answer_around(struct ask *ask)
{
	struct around a = {.minimum = AROUND_MINIMUM};
	int err = ask_share(ask, "minimum", &a.minimum);

	if (err == 0)
		err = selection_get(ask, false, &a.selection);
	if (err == 0)
		err = around_make(ask, &a);
	if (err == 0)
		err = around_write(ask, &a);
	calltree_free(a.callers);
	calltree_free(a.callees);
	words_end(&a.words);
	free(a.up.nodes.items);
	free(a.down.nodes.items);
	free(a.rules);
	return err;
}
