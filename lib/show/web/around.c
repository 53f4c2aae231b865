/* SPDX-License-Identifier: MIT */
/*
 * One function: its callers and callees, its lines, by which rules its callers were found, and why
 * paths through it are incomplete.
 *
 * One pass over the nodes of the trie finds the innermost call of the function in each path. A
 * node's number is larger than its parent's, so the pass knows the parent's innermost call already.
 * The amount of a path counts for the line of that call, and for the rule by which the caller of
 * that call was found.
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
#define AROUND_NONE    UINT32_MAX

struct around {
	struct selection *selection;
	const struct flat_row *row;
	const struct profile_symbol *symbol;
	double minimum;
	struct calltree *callers, *callees;
	struct words words, files; /* files: of lines, to tell them apart */
	struct nodes up, down;
	/* by location: its line + 1 of `lines`, if it has a frame of the function; else 0 */
	uint32_t *line_of;
	/* by node of the trie: the location of the path's innermost call of the function;
	 * AROUND_NONE */
	uint32_t *calls;
	VEC(struct annotate_line) lines; /* their files are borrowed from the profile */
	struct int_map by_line;		 /* string of the file, line -> index in `lines` */
	uint64_t by_rule[PROVENANCE_COUNT], by_reason[STACKD_END_COUNT + 1];
	double self_variance, total_variance; /* negative: not known */
};

/* --- sums by path ---------------------------------------------------------------------------- */

/* Finds or adds a line. */
static int enter_line(struct around *a, const struct profile_frame *frame, uint32_t *ret_line)
{
	const uint32_t next = (uint32_t)a->lines.count;
	uint32_t file;
	int err = words_string(&a->files, frame->file, &file);

	if (err == 0)
		err = int_map_enter(&a->by_line, (uint64_t)file << 32 | frame->line, next,
				    ret_line);
	if (err || *ret_line != next)
		return err;
	err = VEC_RESERVE(&a->lines, 1);
	if (err == 0)
		a->lines.items[a->lines.count++] =
			(struct annotate_line){.file = frame->file, .line = frame->line};
	return err;
}

/* Finds the line of a location in the function, of its innermost frame there. */
static int find_line(struct around *a, uint32_t location)
{
	size_t n;
	const uint32_t *keys = profile_location_keys(a->selection->profile, location, &n);
	const struct profile_frame *frames;
	uint32_t line;
	int err;

	if (!keys)
		return -ENOMEM;
	while (n && keys[n - 1] >> 1 != a->symbol->number)
		n--;
	if (!n)
		return 0;
	frames = profile_location_frames(a->selection->profile, location, &(size_t){0});
	err = frames ? enter_line(a, &frames[n - 1], &line) : -ENOMEM;
	if (err == 0)
		a->line_of[location] = line + 1;
	return err;
}

/* Fills in `line_of` and `calls`. Returns 0 or an error. */
static int find_calls(const struct ask *ask, struct around *a)
{
	const struct store_tables *t = profile_tables(a->selection->profile);
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < t->n_locations; i++)
		err = ask_is_stopped(ask) ? -ECANCELED : find_line(a, i);
	if (err)
		return err;
	a->calls[0] = AROUND_NONE;
	for (uint32_t i = 1; i < t->n_nodes; i++)
		a->calls[i] = a->line_of[t->nodes[i].location] ? t->nodes[i].location
							       : a->calls[t->nodes[i].parent];
	return 0;
}

/* Counts an amount for the line of a call; as its own, if it is the leaf's innermost frame. */
static void count_line(struct around *a, const struct profile_entry *entry, uint32_t call,
		       uint64_t amount)
{
	struct profile *profile = a->selection->profile;
	struct annotate_line *line = &a->lines.items[a->line_of[call] - 1];
	const uint32_t leaf = profile_tables(profile)->nodes[entry->node].location;
	size_t n;
	const uint32_t *keys = leaf == call ? profile_location_keys(profile, leaf, &n) : NULL;

	line->total += amount;
	if (keys && keys[profile_filter(profile)->no_inlined ? 0 : n - 1] >> 1 == a->symbol->number)
		line->self += amount;
}

static void count_entry(struct around *a, const struct profile_entry *entry, double variance)
{
	const struct store_tables *t = profile_tables(a->selection->profile);
	const uint64_t amount = profile_entry_amount(entry);
	const uint32_t call = a->calls[entry->node];

	if (call == AROUND_NONE && profile_entry_mark(a->selection->profile, entry) != a->symbol)
		return;
	if (call != AROUND_NONE) {
		const uint8_t rule = t->locations[call].provenance;

		a->by_rule[rule < PROVENANCE_COUNT ? rule : PROVENANCE_NONE] += amount;
		count_line(a, entry, call, amount);
	}
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
	int err = find_calls(ask, a);

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
	const struct calltree_limits limits = {a->minimum * 100, AROUND_LEVELS, AROUND_NODES};
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

/* Returns the number of lines that are shown. */
static uint32_t shown_lines(const struct around *a)
{
	return a->lines.count < AROUND_LINES ? (uint32_t)a->lines.count : AROUND_LINES;
}

#define AROUND_COLUMN(j, name, value)                                                              \
	do {                                                                                       \
		json_put_array(j, name);                                                           \
		for (uint32_t i = 0; i < n; i++)                                                   \
			json_put_uint(j, NULL, value);                                             \
		json_put_end(j);                                                                   \
	} while (0)

static void put_lines(struct json *j, const struct around *a, const uint32_t *files)
{
	const struct annotate_line *lines = a->lines.items;
	const uint32_t n = shown_lines(a);

	json_put_object(j, "lines");
	AROUND_COLUMN(j, "file", files[i]);
	AROUND_COLUMN(j, "line", lines[i].line);
	AROUND_COLUMN(j, "self", lines[i].self);
	AROUND_COLUMN(j, "total", lines[i].total);
	json_put_end(j);
}

static int compare_lines(const void *a, const void *b)
{
	const struct annotate_line *x = a, *y = b;

	return x->total == y->total ? 0 : x->total < y->total ? 1 : -1;
}

/* Drops lines without an amount, sorts the others, and enters the files of those that are shown. */
static int enter_files(struct around *a, uint32_t ret_files[static AROUND_LINES])
{
	size_t kept = 0;
	int err = 0;

	for (size_t i = 0; i < a->lines.count; i++)
		if (a->lines.items[i].total)
			a->lines.items[kept++] = a->lines.items[i];
	a->lines.count = kept;
	if (kept)
		qsort(a->lines.items, kept, sizeof(*a->lines.items), compare_lines);
	for (uint32_t i = 0; err == 0 && i < shown_lines(a); i++)
		err = words_string(&a->words, a->lines.items[i].file, &ret_files[i]);
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

static void around_put(struct ask *ask, const struct around *a, const uint32_t *files)
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
	put_lines(j, a, files);
	put_counts(j, a);
}

static int around_write(struct ask *ask, struct around *a)
{
	uint32_t files[AROUND_LINES];
	int err = enter_files(a, files);

	if (err == 0)
		around_put(ask, a, files);
	return err;
}

static int around_make(struct ask *ask, struct around *a)
{
	const struct store_tables *t = profile_tables(a->selection->profile);
	int err = asked_find(ask, a->selection, &a->row);

	if (err)
		return err;
	a->symbol = profile_symbol_at(a->selection->profile, a->row->symbol);
	a->line_of = calloc((size_t)t->n_locations + 1, sizeof(*a->line_of));
	a->calls = calloc((size_t)t->n_nodes + 1, sizeof(*a->calls));
	err = a->line_of && a->calls ? words_begin(&a->files) : -ENOMEM;
	if (err == 0)
		err = count_entries(ask, a);
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
		err = selection_get(ask, &a.selection);
	if (err == 0)
		err = around_make(ask, &a);
	if (err == 0)
		err = around_write(ask, &a);
	calltree_free(a.callers);
	calltree_free(a.callees);
	words_end(&a.words);
	free(a.up.nodes.items);
	free(a.down.nodes.items);
	words_end(&a.files);
	int_map_fini(&a.by_line);
	free(a.lines.items);
	free(a.line_of);
	free(a.calls);
	return err;
}
