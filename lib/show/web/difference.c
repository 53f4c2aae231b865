/* SPDX-License-Identifier: MIT */
/*
 * What changed from one selection to another: both call trees as one, and the functions, each with
 * the standard error of its change.
 *
 * The two selections can be of different recordings, in which a symbol has different numbers. So
 * nodes and functions are matched by the text of their names (difference_names.h). The variance of
 * a node's amount is the sum of the variances of the entries below it. These sums are in a second
 * tree for each selection, as its amounts. Both trees are made of the same entries in the same
 * order, so their nodes have the same numbers.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tree/partition.h"
#include "web/answers.h"
#include "web/difference_names.h"
#include "web/selection.h"
#include "web/words.h"

#define DIFFERENCE_MINIMUM 0.0005
#define DIFFERENCE_RAISE   1.5
#define NOISE_DIGITS	   4
#define DIFFERENCE_SIDES   2
#define DIFFERENCE_REST	   110000 /* bytes that are not for the tree and its names */
#define DIFFERENCE_ROW	   50	  /* bytes that a function takes, about */
#define DIFFERENCE_MOST	   1000	  /* functions */

enum difference_per { PER_AMOUNT, PER_SECOND, PER_SHARE };

struct difference_side {
	struct selection *selection;
	const struct calltree *tree;
	const struct calltree_node *nodes;
	struct calltree *variances; /* NULL: a variance is the amount itself, or there is none */
	const struct calltree_node *variance_nodes;
	double unit;	/* an amount of one of `variances` is so much */
	double scale;	/* shown amounts are amounts times this */
	bool has_noise; /* there are variances */
};

struct difference_node {
	int32_t parent;
	uint32_t frame;
	double self[DIFFERENCE_SIDES], total[DIFFERENCE_SIDES], noise;
};

/* A pair of nodes for which the answer has no node yet. CALLTREE_NONE: the side has none. */
struct difference_pending {
	uint32_t at[DIFFERENCE_SIDES];
	int32_t parent;
	uint32_t frame;
	double left_out[DIFFERENCE_SIDES]; /* of a node "other": what it sums up */
	bool is_other;
};

struct difference_row {
	const struct profile_symbol *symbol; /* of either side */
	uint32_t frame;			     /* of those that are shown */
	double total[DIFFERENCE_SIDES], variance;
};

struct difference {
	struct ask *ask;
	struct difference_side sides[DIFFERENCE_SIDES]; /* [0] is the base */
	unsigned per;
	double minimum, least; /* least: of a node's larger share */
	struct words words;
	struct difference_names *names;
	VEC(struct difference_node) nodes;
	VEC(struct difference_pending) pending;
	VEC(struct difference_row) rows;
	uint64_t left_out;
	size_t n_shown; /* functions */
};

/* --- sides ----------------------------------------------------------------------------------- */

/* Makes the tree of variances: of the same entries in the same order, so that its nodes have the
 * numbers of the tree of amounts. Variances become whole numbers of `unit`. */
static int make_variances(const struct ask *ask, struct difference_side *side,
			  const double *variances)
{
	struct profile *profile = side->selection->profile;
	struct partition partition;
	size_t n;
	const struct profile_entry *entries = profile_entries(profile, &n);
	double sum = 0;
	int err = partition_make(profile, PARTITION_BY_ALL, &partition);

	if (err)
		return err;
	for (size_t i = 0; i < n; i++)
		sum += variances[i];
	side->unit = sum > 0 ? sum / 1e15 : 1;
	err = calltree_new(profile, CALLTREE_BY_SYMBOL, &side->variances);
	for (size_t i = 0; err == 0 && i < n; i++) {
		const uint32_t at = partition.groups.order[i];
		struct profile_entry entry = entries[at];

		entry.is_valued = true;
		entry.weight = (uint64_t)(fmax(variances[at], 0) / side->unit + 0.5);
		err = ask_is_stopped(ask) ? -ECANCELED : calltree_add(side->variances, &entry);
	}
	if (err == 0)
		calltree_sum(side->variances);
	partition_free(&partition);
	return err;
}

static int make_side(const struct ask *ask, struct difference_side *side)
{
	const double *variances = NULL;
	uint32_t n;
	int err = selection_tree(ask, side->selection, &side->tree);

	if (err)
		return err;
	side->nodes = calltree_nodes(side->tree, &n);
	side->has_noise = selection_is_plain(side->selection);
	if (side->has_noise)
		return 0;
	err = selection_variances(side->selection, &variances);
	if (err || !variances)
		return err;
	side->has_noise = true;
	err = make_variances(ask, side, variances);
	if (err == 0)
		side->variance_nodes = calltree_nodes(side->variances, &n);
	return err;
}

/* Returns the variance of a node's shown amount. */
static double variance_of(const struct difference_side *side, uint32_t node)
{
	const double scale = side->scale * side->scale;

	if (side->variance_nodes)
		return (double)side->variance_nodes[node].samples * side->unit * scale;
	return side->has_noise ? (double)side->nodes[node].samples * scale : 0;
}

static double total_of(const struct difference_side *side, uint32_t node)
{
	return node == CALLTREE_NONE ? 0 : (double)side->nodes[node].samples;
}

/* Returns the larger share of a pair of nodes in its side's total. */
static double share_of(const struct difference *d, const uint32_t at[DIFFERENCE_SIDES])
{
	double most = 0;

	for (unsigned i = 0; i < DIFFERENCE_SIDES; i++) {
		const double whole = (double)d->sides[i].nodes[0].samples;

		if (whole > 0)
			most = fmax(most, total_of(&d->sides[i], at[i]) / whole);
	}
	return most;
}

/* --- the tree -------------------------------------------------------------------------------- */

static int append(struct difference *d, const struct difference_pending *p)
{
	struct difference_node node = {.parent = p->parent, .frame = p->frame};
	double variance = 0;

	for (unsigned i = 0; i < DIFFERENCE_SIDES; i++) {
		const struct difference_side *side = &d->sides[i];

		if (p->is_other) {
			node.total[i] = node.self[i] = p->left_out[i] * side->scale;
		} else if (p->at[i] != CALLTREE_NONE) {
			node.total[i] = (double)side->nodes[p->at[i]].samples * side->scale;
			node.self[i] = (double)side->nodes[p->at[i]].self * side->scale;
			variance += variance_of(side, p->at[i]);
		}
	}
	node.noise = p->is_other ? NAN : sqrt(variance);
	if (VEC_RESERVE(&d->nodes, 1) < 0)
		return -ENOMEM;
	d->nodes.items[d->nodes.count++] = node;
	return 0;
}

/* Enters the frame of a function. It is the same for functions of both sides that match. */
static int enter_symbol(struct difference *d, struct words *words,
			const struct profile_symbol *symbol, bool is_inlined, uint32_t *ret_frame)
{
	const char *object;
	int err = difference_names_object(d->names, symbol, &object);

	return err ? err : words_unified(words, symbol, object, is_inlined, ret_frame);
}

/* Enters the frame of a node of a side. */
static int enter_frame(struct difference *d, unsigned side, uint32_t node, uint32_t *ret_frame)
{
	return enter_symbol(d, &d->words, calltree_symbol(d->sides[side].tree, node),
			    d->sides[side].nodes[node].is_inlined, ret_frame);
}

/* Appends the children of a node of one side to the list of pairs [first, ...). */
static int add_children(struct difference *d, unsigned side, uint32_t node, size_t first,
			int32_t parent, struct int_map *by_frame)
{
	const struct calltree_node *nodes = d->sides[side].nodes;
	int err = 0;

	for (uint32_t at = node == CALLTREE_NONE ? CALLTREE_NONE : nodes[node].first_child;
	     err == 0 && at != CALLTREE_NONE; at = nodes[at].next_sibling) {
		struct difference_pending p = {.at = {CALLTREE_NONE, CALLTREE_NONE},
					       .parent = parent};
		const uint32_t next = (uint32_t)(d->pending.count - first);
		uint32_t place;

		p.at[side] = at;
		err = enter_frame(d, side, at, &p.frame);
		if (err == 0)
			err = int_map_enter(by_frame, p.frame, next, &place);
		if (err)
			break;
		if (place != next && d->pending.items[first + place].at[side] == CALLTREE_NONE) {
			d->pending.items[first + place].at[side] = at;
			continue;
		}
		/* Functions of one side that are shown alike stay apart. */
		err = VEC_RESERVE(&d->pending, 1);
		if (err == 0)
			d->pending.items[d->pending.count++] = p;
	}
	return err;
}

static int compare_pending(const void *a, const void *b, void *arg)
{
	const struct difference_pending *x = a, *y = b;
	const struct words *w = &((const struct difference *)arg)->words;
	int order;

	if (x->is_other != y->is_other)
		return x->is_other ? -1 : 1;
	/* The last is taken first. */
	order = strcmp(strings_at(w->strings, w->frames.items[y->frame].name),
		       strings_at(w->strings, w->frames.items[x->frame].name));
	return order ? order : (y->frame > x->frame) - (y->frame < x->frame);
}

/* Sums up those of the pairs [first, ...) that are too small as one, and sorts the others. */
static int sort_children(struct difference *d, size_t first, int32_t parent)
{
	struct difference_pending other = {.parent = parent, .is_other = true};
	size_t kept = first;
	bool has_other = false;
	int err = 0;

	for (size_t i = first; i < d->pending.count; i++) {
		const struct difference_pending p = d->pending.items[i];

		if (share_of(d, p.at) >= d->least) {
			d->pending.items[kept++] = p;
			continue;
		}
		has_other = true;
		d->left_out++;
		for (unsigned side = 0; side < DIFFERENCE_SIDES; side++)
			other.left_out[side] += total_of(&d->sides[side], p.at[side]);
	}
	d->pending.count = kept;
	if (has_other) {
		err = words_named(&d->words, "other", WORDS_OTHER, &other.frame);
		if (err == 0)
			err = VEC_RESERVE(&d->pending, 1);
		if (err == 0)
			d->pending.items[d->pending.count++] = other;
	}
	if (d->pending.count > first + 1)
		qsort_r(d->pending.items + first, d->pending.count - first,
			sizeof(*d->pending.items), compare_pending, d);
	return err;
}

static int push_children(struct difference *d, const struct difference_pending *p)
{
	const size_t first = d->pending.count;
	const int32_t parent = (int32_t)d->nodes.count - 1;
	struct int_map by_frame = {0};
	int err = 0;

	for (unsigned side = 0; err == 0 && side < DIFFERENCE_SIDES; side++)
		err = add_children(d, side, p->at[side], first, parent, &by_frame);
	int_map_fini(&by_frame);
	return err ? err : sort_children(d, first, parent);
}

/* Makes the tree. Returns 0; 1: it is too large; or an error. */
static int make_tree(struct difference *d)
{
	struct difference_pending top = {.at = {0, 0}, .parent = -1};
	int err;

	words_end(&d->words);
	d->nodes.count = d->pending.count = 0;
	d->left_out = 0;
	d->least = d->minimum;
	err = words_begin(&d->words);
	if (err == 0)
		err = words_named(&d->words, "all", WORDS_ALL, &top.frame);
	if (err == 0)
		err = VEC_RESERVE(&d->pending, 1);
	if (err == 0)
		d->pending.items[d->pending.count++] = top;
	while (err == 0 && d->pending.count) {
		const struct difference_pending p = d->pending.items[--d->pending.count];

		if (words_size(&d->words) + d->nodes.count * 40 + DIFFERENCE_REST >
		    opened_room(d->ask))
			return 1;
		err = ask_is_stopped(d->ask) ? -ECANCELED : append(d, &p);
		if (err == 0 && !p.is_other)
			err = push_children(d, &p);
	}
	return err;
}

/* --- functions ------------------------------------------------------------------------------- */

/* Adds the functions of a side: their totals and, of the tree of variances, the variances. */
static int add_functions(struct difference *d, unsigned side, struct words *names,
			 struct int_map *by_frame)
{
	struct difference_side *s = &d->sides[side];
	struct profile *profile = s->selection->profile;
	const struct flat *flat;
	struct flat variances = {0};
	double *of = calloc(profile_symbol_count(profile) + 1, sizeof(*of));
	int err = of ? selection_flat(d->ask, s->selection, &flat) : -ENOMEM;

	if (err == 0 && s->variances)
		err = flat_make(profile, s->variances, &variances);
	for (uint32_t i = 0; err == 0 && i < variances.n; i++)
		of[variances.rows[i].symbol] = (double)variances.rows[i].total * s->unit;
	for (uint32_t i = 0; err == 0 && i < flat->n; i++) {
		const struct flat_row *row = &flat->rows[i];
		const double variance = s->variances   ? of[row->symbol]
					: s->has_noise ? (double)row->total
						       : 0;
		const struct difference_row fresh = {
			.symbol = profile_symbol_at(profile, row->symbol)};
		const uint32_t next = (uint32_t)d->rows.count;
		uint32_t frame, place;

		err = enter_symbol(d, names, fresh.symbol, false, &frame);
		if (err == 0)
			err = int_map_enter(by_frame, frame, next, &place);
		if (err == 0 && place == next) {
			err = VEC_RESERVE(&d->rows, 1);
			if (err == 0)
				d->rows.items[d->rows.count++] = fresh;
		}
		if (err == 0) {
			d->rows.items[place].total[side] += (double)row->total * s->scale;
			d->rows.items[place].variance += variance * s->scale * s->scale;
		}
	}
	flat_free(&variances);
	free(of);
	return err;
}

static double change_of(const struct difference_row *row)
{
	return row->total[1] - row->total[0];
}

static int compare_rows(const void *a, const void *b)
{
	const double x = fabs(change_of(a)), y = fabs(change_of(b));

	return x == y ? 0 : x < y ? 1 : -1;
}

/* Matches the functions of both sides by their names, which are in a table of their own, since not
 * all of them are shown. */
static int make_functions(struct difference *d)
{
	struct int_map by_frame = {0};
	struct words names;
	int err = words_begin(&names);

	for (unsigned side = 0; err == 0 && side < DIFFERENCE_SIDES; side++)
		err = add_functions(d, side, &names, &by_frame);
	int_map_fini(&by_frame);
	words_end(&names);
	if (err == 0 && d->rows.count)
		qsort(d->rows.items, d->rows.count, sizeof(*d->rows.items), compare_rows);
	return err;
}

/* Enters the functions that are shown: those that changed most, as many as fit. */
static int enter_functions(struct difference *d)
{
	int err = 0;

	while (err == 0 && d->n_shown < d->rows.count && d->n_shown < DIFFERENCE_MOST &&
	       words_size(&d->words) + d->nodes.count * 40 + d->n_shown * DIFFERENCE_ROW <
		       opened_room(d->ask) - 20000) {
		struct difference_row *row = &d->rows.items[d->n_shown++];

		err = enter_symbol(d, &d->words, row->symbol, false, &row->frame);
	}
	return err;
}

/* Returns how many standard errors a change must have to be significant among `n` functions: with
 * so many comparisons the chance that any is found by mistake stays 1 in 100 (Bonferroni). The
 * quantile of the normal distribution is by its asymptotic expansion, which errs by below 0.05
 * there, to the safe side. */
static double limit_of(size_t n)
{
	const double tail = 0.005 / (double)(n ? n : 1), t = sqrt(-2 * log(tail));

	/* Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.23: off by below 4.5e-4
	 */
	return t - (2.515517 + 0.802853 * t + 0.010328 * t * t) /
			   (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t);
}

/* --- the answer ------------------------------------------------------------------------------ */

/* Returns the digits of amounts: fractions need no more, and would be most of the answer. */
static unsigned digits_of(const struct difference *d)
{
	return d->per == PER_AMOUNT ? 8 : 5;
}

#define DIFFERENCE_COLUMN(j, name, list, n, value, digits)                                         \
	do {                                                                                       \
		json_put_array(j, name);                                                           \
		for (size_t i = 0; i < (n); i++)                                                   \
			json_put_double(j, NULL, (list)[i].value, digits);                         \
		json_put_end(j);                                                                   \
	} while (0)

static void put_tree(struct json *j, const struct difference *d)
{
	const struct difference_node *nodes = d->nodes.items;
	const size_t n = d->nodes.count;

	json_put_object(j, "nodes");
	json_put_array(j, "parent");
	for (size_t i = 0; i < n; i++)
		json_put_int(j, NULL, nodes[i].parent);
	json_put_end(j);
	json_put_array(j, "frame");
	for (size_t i = 0; i < n; i++)
		json_put_uint(j, NULL, nodes[i].frame);
	json_put_end(j);
	DIFFERENCE_COLUMN(j, "before_self", nodes, n, self[0], digits_of(d));
	DIFFERENCE_COLUMN(j, "before", nodes, n, total[0], digits_of(d));
	DIFFERENCE_COLUMN(j, "self", nodes, n, self[1], digits_of(d));
	DIFFERENCE_COLUMN(j, "total", nodes, n, total[1], digits_of(d));
	if (d->sides[0].has_noise && d->sides[1].has_noise)
		DIFFERENCE_COLUMN(j, "noise", nodes, n, noise, NOISE_DIGITS);
	else
		json_put_null(j, "noise");
	json_put_end(j);
}

static void put_names(struct json *j, const struct difference *d, size_t n)
{
	const struct words_frame *frames = d->words.frames.items;

	json_put_array(j, "name");
	for (size_t i = 0; i < n; i++)
		json_put_uint(j, NULL, frames[d->rows.items[i].frame].name);
	json_put_end(j);
	json_put_array(j, "object");
	for (size_t i = 0; i < n; i++)
		json_put_uint(j, NULL, frames[d->rows.items[i].frame].object);
	json_put_end(j);
	json_put_array(j, "kind");
	for (size_t i = 0; i < n; i++)
		json_put_uint(j, NULL, frames[d->rows.items[i].frame].kind);
	json_put_end(j);
}

static void put_functions(struct json *j, const struct difference *d, size_t n)
{
	const bool has_noise = d->sides[0].has_noise && d->sides[1].has_noise;
	const struct difference_row *rows = d->rows.items;
	const double limit = limit_of(d->rows.count);

	json_put_object(j, "functions");
	put_names(j, d, n);
	DIFFERENCE_COLUMN(j, "before", rows, n, total[0], digits_of(d));
	DIFFERENCE_COLUMN(j, "after", rows, n, total[1], digits_of(d));
	json_put_array(j, "change");
	for (size_t i = 0; i < n; i++)
		json_put_double(j, NULL, change_of(&rows[i]), digits_of(d));
	json_put_end(j);
	json_put_array(j, "noise");
	for (size_t i = 0; i < n; i++)
		json_put_double(j, NULL, has_noise ? sqrt(rows[i].variance) : NAN, NOISE_DIGITS);
	json_put_end(j);
	json_put_array(j, "significant");
	for (size_t i = 0; i < n; i++)
		json_put_uint(j, NULL,
			      has_noise ? fabs(change_of(&rows[i])) > limit * sqrt(rows[i].variance)
					: change_of(&rows[i]) != 0);
	json_put_end(j);
	json_put_end(j);
}

static void difference_put(struct difference *d)
{
	static const char *const pers[] = {"amount", "second", "share"};
	struct json *j = &d->ask->json;

	selection_put(d->ask, d->sides[1].selection);
	json_put_object(j, "base");
	selection_put_short(j, d->sides[0].selection);
	json_put_end(j);
	json_put_string(j, "per", pers[d->per]);
	json_put_double(j, "minimum", d->minimum, 6);
	json_put_uint(j, "left_out", d->left_out);
	json_put_uint(j, "count", d->rows.count);
	words_put(&d->words, true, j);
	put_tree(j, d);
	put_functions(j, d, d->n_shown);
}

static double seconds_of(const struct selection *s)
{
	return s->to_ns > s->from_ns ? (double)(s->to_ns - s->from_ns) / 1e9 : 1;
}

static void set_scales(struct difference *d)
{
	for (unsigned i = 0; i < DIFFERENCE_SIDES; i++) {
		struct difference_side *side = &d->sides[i];
		const double whole = (double)side->nodes[0].samples;

		side->scale = d->per == PER_SECOND  ? 1 / seconds_of(side->selection)
			      : d->per == PER_SHARE ? (whole > 0 ? 1 / whole : 0)
						    : 1;
	}
}

/* Makes the two selections. The second leaves the first one's recording open: a question looks at
 * most once whether a recording has grown, and those that were used last stay open. */
static int select_sides(struct difference *d)
{
	int err = selection_get(d->ask, &d->sides[1].selection);

	if (err == 0)
		err = selection_base(d->ask, d->sides[1].selection, &d->sides[0].selection);
	return err;
}

/* Notes the functions of both sides. */
static int find_names(struct difference *d)
{
	int err = difference_names_new(&d->names);

	for (unsigned side = 0; err == 0 && side < DIFFERENCE_SIDES; side++) {
		const struct flat *flat;

		err = selection_flat(d->ask, d->sides[side].selection, &flat);
		if (err == 0)
			err = difference_names_add(d->names, side,
						   d->sides[side].selection->profile, flat);
	}
	return err;
}

static int difference_make(struct difference *d)
{
	int err = select_sides(d);

	for (unsigned i = 0; err == 0 && i < DIFFERENCE_SIDES; i++)
		err = make_side(d->ask, &d->sides[i]);
	if (err)
		return err;
	set_scales(d);
	err = find_names(d);
	if (err == 0)
		err = make_tree(d);
	while (err == 1 && d->minimum < 1) {
		d->minimum = d->minimum > 1e-7 ? d->minimum * DIFFERENCE_RAISE : 1e-6;
		err = make_tree(d);
	}
	if (err)
		return err == 1 ? -E2BIG : err;
	err = make_functions(d);
	return err ? err : enter_functions(d);
}

int answer_difference(struct ask *ask)
{
	static const char *const pers[] = {"amount", "second", "share", NULL};
	struct difference d = {.ask = ask, .minimum = DIFFERENCE_MINIMUM};
	int err = ask_word(ask, "per", pers, &d.per);

	if (err == 0)
		err = ask_share(ask, "minimum", &d.minimum);
	if (err == 0)
		err = difference_make(&d);
	if (err == 0)
		difference_put(&d);
	calltree_free(d.sides[0].variances);
	calltree_free(d.sides[1].variances);
	words_end(&d.words);
	difference_names_free(d.names);
	free(d.nodes.items);
	free(d.pending.items);
	free(d.rows.items);
	return err;
}
