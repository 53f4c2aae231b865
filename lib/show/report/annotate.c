/* SPDX-License-Identifier: MIT */
/*
 * Samples by location within functions; see annotate.h.
 *
 *   pass 1  self and total of all functions that match the pattern; the largest are chosen
 *   pass 2  for each location, its annotate_locations in the chosen functions: refs[]
 *   pass 3  each entry's path again: the entry counts once for each of these locations
 *
 * A location can belong to several chosen functions (one inlined into the other), and to one
 * function several times (inlined into itself); then the innermost frame of the function counts.
 */
#include "report/annotate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "base/int_map.h"

/* Samples of a function, a line or a location. `stamp` tells the last entry that was added to
 * `total`, so that each entry is added once. */
struct annotate_count {
	uint64_t self, total, hit;
	uint32_t stamp; /* number of the entry + 1 */
};

struct annotate_ref {
	uint32_t function, location, line; /* numbers over all functions */
	bool is_leaf; /* The function is the innermost frame at the location. */
};

struct annotate_work {
	struct profile *profile;
	const char *pattern;
	struct int_map chosen; /* symbol -> number of the function */
	VEC(const struct profile_symbol *) symbols;
	VEC(struct annotate_count) functions, locations, lines;
	VEC(struct annotate_location) location_info; /* `line` is a number over all functions */
	VEC(struct annotate_line) line_info;
	VEC(uint32_t) location_function, line_function;
	struct int_map line_by_key;
	VEC(struct annotate_ref) refs;
	uint32_t *first_ref; /* by location, n + 1 elements: index of its first ref */
};

static void work_free(struct annotate_work *w)
{
	int_map_fini(&w->chosen);
	int_map_fini(&w->line_by_key);
	free(w->symbols.items);
	free(w->functions.items);
	free(w->locations.items);
	free(w->lines.items);
	free(w->location_info.items);
	free(w->line_info.items);
	free(w->location_function.items);
	free(w->line_function.items);
	free(w->refs.items);
	free(w->first_ref);
}

static void count_total(struct annotate_count *count, uint32_t entry, uint64_t samples)
{
	if (count->stamp == entry + 1)
		return;
	count->stamp = entry + 1;
	count->total += samples;
}

/* Returns the frames of a location that are shown: without those of inlined functions if the filter
 * has no_inlined. NULL: memory is short. */
static const struct profile_frame *work_frames(const struct annotate_work *w, uint32_t location,
					       size_t *ret_n)
{
	const struct profile_frame *frames = profile_location_frames(w->profile, location, ret_n);

	if (frames && profile_filter(w->profile)->no_inlined)
		*ret_n = 1;
	return frames;
}

/* --- pass 1: which functions ---------------------------------------------------------------- */

static int work_enter_function(struct annotate_work *w, const struct profile_symbol *symbol)
{
	uint32_t at;
	int err = int_map_enter(&w->chosen, symbol->number, (uint32_t)w->symbols.count, &at);

	if (err < 0 || at < w->symbols.count)
		return err;
	if (VEC_RESERVE(&w->symbols, 1) < 0 || VEC_RESERVE(&w->functions, 1) < 0)
		return -ENOMEM;
	w->symbols.items[w->symbols.count++] = symbol;
	w->functions.items[w->functions.count++] = (struct annotate_count){0};
	return 0;
}

/* Adds the functions of a location that match the pattern. */
static int work_meet(struct annotate_work *w, uint32_t location)
{
	size_t n;
	const struct profile_frame *frames = work_frames(w, location, &n);
	int err = frames ? 0 : -ENOMEM;

	for (size_t i = 0; err == 0 && i < n; i++)
		if (!w->pattern || profile_symbol_matches(frames[i].symbol, w->pattern))
			err = work_enter_function(w, frames[i].symbol);
	return err;
}

static int work_count_functions(struct annotate_work *w)
{
	const struct store_tables *t = profile_tables(w->profile);
	size_t n_entries, n;
	const struct profile_entry *entries = profile_entries(w->profile, &n_entries);

	for (uint32_t i = 0; i < n_entries; i++) {
		for (uint32_t at = entries[i].node; at; at = t->nodes[at].parent) {
			const struct profile_frame *frames =
				work_frames(w, t->nodes[at].location, &n);

			if (!frames)
				return -ENOMEM;
			for (size_t k = 0; k < n; k++) {
				uint32_t f = int_map_find(&w->chosen, frames[k].symbol->number);

				if (f == INT_MAP_NONE)
					continue;
				count_total(&w->functions.items[f], i,
					    profile_entry_amount(&entries[i]));
				if (at == entries[i].node && k == n - 1)
					w->functions.items[f].self +=
						profile_entry_amount(&entries[i]);
			}
		}
	}
	return 0;
}

static int work_compare_functions(const void *a, const void *b, void *arg)
{
	const struct annotate_work *w = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct annotate_count *p = &w->functions.items[x], *q = &w->functions.items[y];

	if (p->self != q->self)
		return p->self < q->self ? 1 : -1;
	if (p->total != q->total)
		return p->total < q->total ? 1 : -1;
	return strcmp(w->symbols.items[x]->name, w->symbols.items[y]->name);
}

/* Keeps the `max` largest functions, largest first. */
static int work_keep_largest(struct annotate_work *w, uint32_t max, struct annotate *a)
{
	uint32_t n = (uint32_t)w->symbols.count, *order = calloc((size_t)n + 1, sizeof(*order));
	int err = 0;

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	if (n)
		qsort_r(order, n, sizeof(*order), work_compare_functions, w);
	while (a->n < n && a->n < max && w->functions.items[order[a->n]].total)
		a->n++;
	a->functions = calloc((size_t)a->n + 1, sizeof(*a->functions));
	int_map_clear(&w->chosen);
	for (uint32_t i = 0; a->functions && err == 0 && i < a->n; i++) {
		uint32_t at;

		a->functions[i] =
			(struct annotate_function){.symbol = w->symbols.items[order[i]],
						   .self = w->functions.items[order[i]].self,
						   .total = w->functions.items[order[i]].total};
		err = int_map_enter(&w->chosen, a->functions[i].symbol->number, i, &at);
	}
	for (uint32_t i = a->n; w->pattern && i < n; i++)
		a->n_more += w->functions.items[order[i]].total > 0;
	free(order);
	return a->functions ? err : -ENOMEM;
}

/* --- pass 2: locations and lines ---------------------------------------------------------------
 */

/* Gives the number of a line of a function, and adds the line if it is new. Files are compared by
 * address, because the store has each path once. Returns 0 or -ENOMEM. */
static int work_line(struct annotate_work *w, uint32_t function, const struct profile_frame *frame,
		     uint32_t *ret_line)
{
	uint32_t number = (uint32_t)w->lines.count;
	uint64_t key = ((uint64_t)(uintptr_t)frame->file * 31 + function) * 0x9e3779b97f4a7c15u ^
		       frame->line;
	int err;

	for (;; key++) { /* If another line has the key, try the next one. */
		err = int_map_enter(&w->line_by_key, key, number, ret_line);
		if (err < 0 || *ret_line == number)
			break;
		if (w->line_function.items[*ret_line] == function &&
		    w->line_info.items[*ret_line].file == frame->file &&
		    w->line_info.items[*ret_line].line == frame->line)
			return 0;
	}
	if (err < 0 || VEC_RESERVE(&w->lines, 1) < 0 || VEC_RESERVE(&w->line_info, 1) < 0 ||
	    VEC_RESERVE(&w->line_function, 1) < 0)
		return -ENOMEM;
	w->lines.items[w->lines.count++] = (struct annotate_count){0};
	w->line_info.items[w->line_info.count++] =
		(struct annotate_line){.file = frame->file, .line = frame->line};
	w->line_function.items[w->line_function.count++] = function;
	return 0;
}

static int work_ref(struct annotate_work *w, uint32_t location, const struct profile_frame *frame,
		    uint32_t function, bool is_leaf)
{
	struct annotate_ref ref = {
		.function = function, .location = (uint32_t)w->locations.count, .is_leaf = is_leaf};
	int err = work_line(w, function, frame, &ref.line);

	if (err < 0 || VEC_RESERVE(&w->locations, 1) < 0 || VEC_RESERVE(&w->location_info, 1) < 0 ||
	    VEC_RESERVE(&w->location_function, 1) < 0 || VEC_RESERVE(&w->refs, 1) < 0)
		return -ENOMEM;
	w->locations.items[w->locations.count++] = (struct annotate_count){0};
	w->location_info.items[w->location_info.count++] = (struct annotate_location){
		.location = location, .line = ref.line, .is_inlined = frame->is_inlined};
	w->location_function.items[w->location_function.count++] = function;
	w->refs.items[w->refs.count++] = ref;
	return 0;
}

/* Makes the refs of a location: one for each chosen function with a frame there, for its innermost
 * frame. Returns 0 or -ENOMEM. */
static int work_location(struct annotate_work *w, uint32_t location)
{
	size_t n, first = w->refs.count;
	const struct profile_frame *frames = work_frames(w, location, &n);
	int err = frames ? 0 : -ENOMEM;

	for (size_t i = n; err == 0 && i-- > 0;) {
		uint32_t f = int_map_find(&w->chosen, frames[i].symbol->number);
		bool is_known = f == INT_MAP_NONE;

		for (size_t k = first; k < w->refs.count; k++)
			is_known = is_known || w->refs.items[k].function == f;
		if (!is_known)
			err = work_ref(w, location, &frames[i], f, i == n - 1);
	}
	return err;
}

static int work_make_refs(struct annotate_work *w)
{
	uint32_t n = profile_tables(w->profile)->n_locations;
	int err = 0;

	w->first_ref = calloc((size_t)n + 2, sizeof(*w->first_ref));
	if (!w->first_ref)
		return -ENOMEM;
	for (uint32_t i = 0; err == 0 && i < n; i++) {
		err = work_location(w, i);
		w->first_ref[i + 1] = (uint32_t)w->refs.count;
	}
	return err;
}

/* --- pass 3: counting ----------------------------------------------------------------------- */

static void work_count(struct annotate_work *w)
{
	const struct store_tables *t = profile_tables(w->profile);
	size_t n_entries;
	const struct profile_entry *entries = profile_entries(w->profile, &n_entries);

	for (uint32_t i = 0; i < n_entries; i++) {
		uint64_t samples = profile_entry_amount(&entries[i]);

		for (uint32_t at = entries[i].node; at; at = t->nodes[at].parent) {
			uint32_t location = t->nodes[at].location;

			for (uint32_t k = w->first_ref[location]; k < w->first_ref[location + 1];
			     k++) {
				const struct annotate_ref *ref = &w->refs.items[k];

				count_total(&w->locations.items[ref->location], i, samples);
				count_total(&w->lines.items[ref->line], i, samples);
				if (at == entries[i].node)
					w->locations.items[ref->location].hit += samples;
				if (at == entries[i].node && ref->is_leaf) {
					w->locations.items[ref->location].self += samples;
					w->lines.items[ref->line].self += samples;
				}
			}
		}
	}
}

/* --- the result ----------------------------------------------------------------------------- */

struct annotate_order {
	const struct annotate_line *lines;
	const struct store_location *locations;
};

static int compare_lines(const void *a, const void *b, void *arg)
{
	const struct annotate_order *order = arg;
	const struct annotate_line *x = &order->lines[*(const uint32_t *)a];
	const struct annotate_line *y = &order->lines[*(const uint32_t *)b];
	int by_file = strcmp(x->file ? x->file : "", y->file ? y->file : "");

	return by_file ? by_file : (x->line > y->line) - (x->line < y->line);
}

static int compare_locations(const void *a, const void *b, void *arg)
{
	const struct annotate_order *order = arg;
	const struct store_location *x =
		&order->locations[((const struct annotate_location *)a)->location];
	const struct store_location *y =
		&order->locations[((const struct annotate_location *)b)->location];

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Copies the lines of one function, in order, to `f`; renumber[i] receives the new number of line
 * i. Returns 0 or -ENOMEM. */
static int work_take_lines(const struct annotate_work *w, uint32_t function,
			   struct annotate_function *f, uint32_t *renumber)
{
	struct annotate_order order = {.lines = w->line_info.items};
	uint32_t *numbers = calloc(w->lines.count + 1, sizeof(*numbers));

	f->lines = calloc(w->lines.count + 1, sizeof(*f->lines));
	if (!numbers || !f->lines) {
		free(numbers);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < w->lines.count; i++)
		if (w->line_function.items[i] == function && w->lines.items[i].total)
			numbers[f->n_lines++] = i;
	if (f->n_lines)
		qsort_r(numbers, f->n_lines, sizeof(*numbers), compare_lines, &order);
	for (uint32_t i = 0; i < f->n_lines; i++) {
		f->lines[i] = w->line_info.items[numbers[i]];
		f->lines[i].self = w->lines.items[numbers[i]].self;
		f->lines[i].total = w->lines.items[numbers[i]].total;
		renumber[numbers[i]] = i;
	}
	free(numbers);
	return 0;
}

static int work_take_locations(const struct annotate_work *w, uint32_t function,
			       struct annotate_function *f, const uint32_t *renumber)
{
	struct annotate_order order = {.locations = profile_tables(w->profile)->locations};

	f->locations = calloc(w->locations.count + 1, sizeof(*f->locations));
	if (!f->locations)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->locations.count; i++) {
		struct annotate_location here = w->location_info.items[i];

		if (w->location_function.items[i] != function || !w->locations.items[i].total)
			continue;
		here.self = w->locations.items[i].self;
		here.total = w->locations.items[i].total;
		here.hit = w->locations.items[i].hit;
		here.line = renumber[here.line];
		f->locations[f->n_locations++] = here;
	}
	if (f->n_locations)
		qsort_r(f->locations, f->n_locations, sizeof(*f->locations), compare_locations,
			&order);
	return 0;
}

static int work_take(const struct annotate_work *w, struct annotate *a)
{
	uint32_t *renumber = calloc(w->lines.count + 1, sizeof(*renumber));
	int err = renumber ? 0 : -ENOMEM;

	for (uint32_t i = 0; err == 0 && i < a->n; i++) {
		err = work_take_lines(w, i, &a->functions[i], renumber);
		if (err == 0)
			err = work_take_locations(w, i, &a->functions[i], renumber);
	}
	free(renumber);
	return err;
}

static int work_run(struct annotate_work *w, uint32_t max, struct annotate *a)
{
	uint32_t n = profile_tables(w->profile)->n_locations;
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < n; i++)
		err = work_meet(w, i);
	if (err == 0)
		err = work_count_functions(w);
	if (err == 0)
		err = work_keep_largest(w, max, a);
	if (err == 0 && !a->n)
		err = -ENOENT;
	if (err == 0)
		err = work_make_refs(w);
	if (err < 0)
		return err;
	work_count(w);
	return work_take(w, a);
}

int annotate_make(struct profile *profile, const char *pattern, uint32_t max,
		  struct annotate *ret_annotate)
{
	struct annotate_work w = {.profile = profile, .pattern = pattern};
	struct annotate a = {0};
	int err = work_run(&w, pattern ? max : 1, &a);

	work_free(&w);
	if (err < 0)
		annotate_free(&a);
	else
		*ret_annotate = a;
	return err;
}

void annotate_free(struct annotate *a)
{
	for (uint32_t i = 0; a->functions && i < a->n; i++) {
		free(a->functions[i].locations);
		free(a->functions[i].lines);
	}
	free(a->functions);
	*a = (struct annotate){0};
}
