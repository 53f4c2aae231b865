/* SPDX-License-Identifier: MIT */
/* Makes selections from the parameters of questions, and keeps them; see selection.h. */
#include "web/selection.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "model/profile_variance.h"
#include "report/report_header.h"
#include "tree/partition.h"
#include "web/pool.h"

void selection_free(struct selection *s)
{
	if (!s)
		return;
	calltree_free(s->tree);
	flat_free(&s->flat);
	profile_free(s->profile);
	free(s->variances);
	free(s->self_variances);
	free(s->threads);
	for (size_t i = 0; i < s->n_names; i++)
		free((char *)s->names[i]);
	free(s->names);
	free(s->key);
	free(s);
}

/* --- parameters ------------------------------------------------------------------------------ */

/* What the parameters describe: the selection; a base of the same recording; or a base of another
 * recording. */
enum selection_side { SIDE_SELECTION, SIDE_SAME, SIDE_OTHER };

/* Returns the name of the parameter to read. `base_name` is the parameter's name for a base. */
static const char *named(const struct ask *ask, enum selection_side side, const char *base_name)
{
	const bool is_own =
		side == SIDE_SELECTION || (side == SIDE_SAME && !ask_text(ask, base_name));

	return is_own ? base_name + strlen("base_") : base_name;
}

/* Appends what distinguishes selections of one recording: all parameters that select. */
static void put_key(struct ask *ask, enum selection_side side, enum metric metric, struct buf *b)
{
	static const char *const names[] = {"base_from", "base_to", "base_threads"};
	static const char *const others[] = {"focus", "ignore", "inlined", "recursion", "inferred"};
	const struct web_question *q = ask->question;

	buf_put_u8(b, (uint8_t)(metric + 1));
	for (size_t n = 0; n < sizeof(names) / sizeof(*names) + sizeof(others) / sizeof(*others);
	     n++) {
		const char *name = n < 3 ? named(ask, side, names[n]) : others[n - 3];

		for (size_t i = 0; i < q->n_parameters; i++) {
			if (strcmp(q->parameters[i].name, name) != 0)
				continue;
			buf_put_u8(b, (uint8_t)('A' + n));
			buf_put(b, q->parameters[i].value, strlen(q->parameters[i].value));
			buf_put_u8(b, 1);
		}
	}
	buf_put_u8(b, 0);
}

bool selection_is_thread(const struct store_tables *t, uint32_t thread, const char *item)
{
	char *end, name[POOL_NAME];
	const unsigned long number = *item ? strtoul(item + 1, &end, 10) : 0;

	switch (*item) {
	case 't':
		return !*end && number == thread;
	case 'p':
		return !*end && number == t->threads[thread].process;
	case 'g':
		if (*end != ':' || number != t->threads[thread].process)
			return false;
		pool_name(t->threads[thread].comm, name);
		return strcmp(name, end + 1) == 0;
	default:
		return false;
	}
}

bool selection_is_item(const char *item)
{
	const size_t digits = *item ? strspn(item + 1, "0123456789") : 0;

	return digits && digits < 10 &&
	       (*item == 'g' ? item[1 + digits] == ':'
			     : (*item == 't' || *item == 'p') && !item[1 + digits]);
}

static int read_threads(struct ask *ask, const char *name, struct selection *s)
{
	const struct store_tables *t = store_reader_tables(s->opened->reader);
	const char *items[ASK_MANY];
	const int n = ask_many(ask, name, items);

	if (n <= 0)
		return n;
	s->threads = calloc((size_t)t->n_threads + 1, sizeof(*s->threads));
	if (!s->threads)
		return -ENOMEM;
	for (int i = 0; i < n; i++) {
		if (!selection_is_item(items[i]))
			return ask_fail(ask, 400, "give the id of a lane: t12, p3, g3:worker-*",
					"%s: '%.60s' is not the id of a lane", name, items[i]);
		for (uint32_t at = 0; at < t->n_threads; at++)
			s->threads[at] |= selection_is_thread(t, at, items[i]);
	}
	s->filter.threads = s->threads;
	return 0;
}

static int read_patterns(struct ask *ask, struct selection *s, const char *name,
			 struct profile_patterns *ret_patterns)
{
	const struct profile_patterns given = *ret_patterns; /* what is chosen already */
	const char *values[ASK_MANY];
	const int n = ask_many(ask, name, values);
	const size_t first = s->n_names;

	if (n <= 0)
		return n;
	if ((size_t)n + given.n > PROFILE_MAX_FOCUS)
		return ask_fail(ask, 400, "choose fewer", "'%s' is given more than %d times", name,
				PROFILE_MAX_FOCUS);
	for (size_t i = 0; i < (size_t)n + given.n; i++) {
		s->names[s->n_names] = strdup(i < given.n ? given.items[i] : values[i - given.n]);
		if (!s->names[s->n_names])
			return -ENOMEM;
		s->n_names++;
	}
	*ret_patterns = (struct profile_patterns){s->names + first, (size_t)n + given.n};
	return 0;
}

/* Reads the time. It is cut at the recording's end as far as the store has it, so that an answer
 * says what it is about. */
static int read_times(struct ask *ask, enum selection_side side, struct selection *s)
{
	const struct store_recording *r = &store_reader_tables(s->opened->reader)->recording;
	const uint64_t end = r->end_ns > r->start_ns ? r->end_ns - r->start_ns : 0;
	int err;

	s->from_ns = 0;
	s->to_ns = 0;
	err = ask_number(ask, named(ask, side, "base_from"), 0, INT64_MAX, &s->from_ns);
	if (err == 0)
		err = ask_number(ask, named(ask, side, "base_to"), 1, INT64_MAX, &s->to_ns);
	if (err == 0 && s->to_ns && s->to_ns <= s->from_ns)
		return ask_fail(ask, 400, "choose a longer time", "'to' is not behind 'from'");
	s->filter.from_ns = s->from_ns;
	s->filter.to_ns = s->to_ns;
	if (!s->to_ns || s->to_ns > end)
		s->to_ns = end > s->from_ns ? end : s->from_ns;
	return err;
}

static int read_flags(struct ask *ask, struct profile_filter *filter)
{
	static const char *const numbers[] = {"0", "1", NULL}, *const show[] = {"show", "fold",
										NULL};
	unsigned inlined = 1, inferred = 1, recursion = 0;
	int err = ask_word(ask, "inlined", numbers, &inlined);

	if (err == 0)
		err = ask_word(ask, "inferred", numbers, &inferred);
	if (err == 0)
		err = ask_word(ask, "recursion", show, &recursion);
	filter->no_inlined |= !inlined;
	filter->no_reconstructed |= !inferred;
	filter->fold_recursion |= recursion;
	return err;
}

static int read_metric(struct ask *ask, enum metric *ret_metric)
{
	const struct web_source *source = ask->store->source;
	const bool is_sums = opened_is_sums(ask);
	const char *name = ask_text(ask, "metric");

	*ret_metric = is_sums ? source->metric : METRIC_CPU;
	if (name && (!metric_find(name, ret_metric) || (is_sums && *ret_metric != source->metric)))
		return ask_fail(ask, 404, "/recordings lists the metrics of a recording",
				"there is no metric '%.60s' here", name);
	return 0;
}

static int read_filter(struct ask *ask, enum selection_side side, struct selection *s)
{
	int err;

	s->names = calloc(2 * ASK_MANY, sizeof(*s->names));
	if (!s->names)
		return -ENOMEM;
	err = read_times(ask, side, s);
	if (err == 0)
		err = read_threads(ask, named(ask, side, "base_threads"), s);
	if (err == 0)
		err = read_patterns(ask, s, "focus", &s->filter.focus);
	if (err == 0)
		err = read_patterns(ask, s, "ignore", &s->filter.ignore);
	return err ? err : read_flags(ask, &s->filter);
}

/* --- making and keeping ------------------------------------------------------------------------
 */

/* Returns whether the recording has what the metric adds up; METRIC_WALL needs a clock. Sums of a
 * metric without records are 0. */
static bool can_sum(const struct selection *s)
{
	const struct metric_info *metric = metric_info(s->filter.metric);

	return !metric->has_samples ||
	       store_is_timed(&store_reader_tables(s->opened->reader)->recording);
}

static int sum_up(struct ask *ask, struct selection *s)
{
	int err;

	if (!can_sum(s))
		return ask_fail(ask, 404, "record with a clock: stackd -e cpu-clock",
				"%s adds up times, and the samples of this recording are none",
				metric_info(s->filter.metric)->name);
	/* The log has no CPUs. */
	if (metric_info(s->filter.metric)->series == SERIES_CPU && !s->filter.by_cpu) {
		err = opened_log(ask, s->opened, &s->filter.log);
		if (err)
			return err;
	}
	s->filter.stop = ask->question->stop;
	err = profile_new(s->opened->reader, &s->filter, &s->profile);
	s->filter.stop = NULL;
	return err == -ENODATA ? 0 : err;
}

/* Returns the entry of the selection with a key; if there is none, the entry to replace, whose last
 * use is the oldest. */
static struct selection **selection_place(struct opened *o, const char *key, size_t len)
{
	struct selection **oldest = &o->selections[0];

	for (size_t i = 0; i < OPENED_SELECTED; i++) {
		struct selection **at = &o->selections[i];

		if (*at && strlen((*at)->key) == len && memcmp((*at)->key, key, len) == 0)
			return at;
		if (*oldest && (!*at || (*at)->used_ns < (*oldest)->used_ns))
			oldest = at;
	}
	return oldest;
}

static int selection_make(struct ask *ask, enum selection_side side, enum metric metric,
			  struct opened *opened, struct selection **ret_selection)
{
	struct selection *s = calloc(1, sizeof(*s));
	int err = s ? 0 : -ENOMEM;

	if (err == 0) {
		const struct web_given *given = ask->store->source->given;

		s->opened = opened;
		if (given)
			s->filter = *given->filter;
		s->filter.metric = metric;
		err = read_filter(ask, side, s);
	}
	if (err == 0)
		err = sum_up(ask, s);
	if (err) {
		selection_free(s);
		return ask->status == 200 ? opened_fail(ask, err, NULL) : err;
	}
	*ret_selection = s;
	return 0;
}

static int selection_find(struct ask *ask, enum selection_side side, enum metric metric,
			  struct opened *opened, struct selection **ret_selection)
{
	struct selection **at;
	struct buf key = {0};
	int err = 0;

	put_key(ask, side, metric, &key);
	if (key.failed) {
		buf_free(&key);
		return opened_fail(ask, -ENOMEM, NULL);
	}
	at = selection_place(opened, (const char *)key.data, strlen((const char *)key.data));
	if (!*at || strcmp((*at)->key, (const char *)key.data) != 0) {
		selection_free(*at);
		*at = NULL;
		err = selection_make(ask, side, metric, opened, at);
		if (err == 0) {
			(*at)->key = (char *)key.data;
			key = (struct buf){0};
		}
	}
	buf_free(&key);
	if (err)
		return err;
	(*at)->used_ns = clock_ns(CLOCK_MONOTONIC);
	*ret_selection = *at;
	return 0;
}

/* Opens the recording, and finds the selection of it. */
static int selection_open(struct ask *ask, enum metric metric, struct selection **ret_selection)
{
	struct opened *opened;
	int64_t first, last;
	int err = opened_numbers(ask, "recording", &first, &last);

	if (err == 0)
		err = opened_get(ask, first, last, &opened);
	return err ? err : selection_find(ask, SIDE_SELECTION, metric, opened, ret_selection);
}

int selection_get(struct ask *ask, struct selection **ret_selection)
{
	enum metric metric;
	int err = read_metric(ask, &metric);

	return err ? err : selection_open(ask, metric, ret_selection);
}

/* Finds or makes the selection of the source's base. */
static int selection_of_base(struct ask *ask, enum metric metric, struct selection **ret_selection)
{
	struct web_store *own = ask->store;
	struct opened *opened;
	int err;

	ask->store = own->base;
	err = opened_get(ask, 0, 0, &opened);
	if (err == 0)
		err = selection_find(ask, SIDE_OTHER, metric, opened, ret_selection);
	ask->store = own;
	return err;
}

int selection_base(struct ask *ask, const struct selection *selection,
		   struct selection **ret_selection)
{
	const enum metric metric = selection->filter.metric;
	struct opened *opened = selection->opened;
	int64_t first, last;
	int err = 0;

	if (ask->store->base)
		return selection_of_base(ask, metric, ret_selection);
	if (ask_text(ask, "base_recording")) {
		err = opened_numbers(ask, "base_recording", &first, &last);
		if (err == 0)
			err = opened_get(ask, first, last, &opened);
	}
	if (err)
		return err;
	if (opened == selection->opened)
		return selection_find(ask, SIDE_SAME, metric, opened, ret_selection);
	if (ask_text(ask, "threads") && !ask_text(ask, "base_threads"))
		return ask_fail(ask, 400, "compare all threads, or give base_threads",
				"the numbers of threads are those of one recording: the other one "
				"has other threads");
	return selection_find(ask, SIDE_OTHER, metric, opened, ret_selection);
}

int selection_of_metric(struct ask *ask, enum metric metric, struct selection **ret_selection)
{
	if (opened_is_sums(ask))
		return ask_fail(ask, 404, "look at the store of one of the hosts",
				"sums of samples have no single records of %s",
				metric_info(metric)->name);
	return selection_open(ask, metric, ret_selection);
}

/* --- trees and lists ---------------------------------------------------------------------------
 */

/* Adds all entries to a tree, in the order in which that is fastest. */
static int add_all(const struct ask *ask, struct profile *profile, struct calltree *tree)
{
	struct partition partition;
	size_t n;
	const struct profile_entry *entries = profile_entries(profile, &n);
	int err = partition_make(profile, PARTITION_BY_ALL, &partition);

	if (err)
		return err;
	for (size_t i = 0; err == 0 && i < n; i++)
		err = ask_is_stopped(ask) ? -ECANCELED
					  : calltree_add(tree, &entries[partition.groups.order[i]]);
	calltree_sum(tree);
	partition_free(&partition);
	return err;
}

int selection_tree(const struct ask *ask, struct selection *s, const struct calltree **ret_tree)
{
	struct calltree *tree = NULL;
	int err = 0;

	if (!s->tree) {
		err = calltree_new(s->profile, CALLTREE_BY_SYMBOL, &tree);
		if (err == 0)
			err = add_all(ask, s->profile, tree);
		if (err) {
			calltree_free(tree);
			return err;
		}
		s->tree = tree;
	}
	*ret_tree = s->tree;
	return 0;
}

int selection_flat(const struct ask *ask, struct selection *s, const struct flat **ret_flat)
{
	const struct calltree *tree;
	int err = s->has_flat ? 0 : selection_tree(ask, s, &tree);

	if (err == 0 && !s->has_flat) {
		err = flat_make(s->profile, tree, &s->flat);
		s->has_flat = err == 0;
	}
	*ret_flat = &s->flat;
	return err;
}

/* Converts the variances of weights to those of the amounts that views add up: samples of a clock
 * count periods. */
static void scale(const struct profile *profile, double *variances)
{
	size_t n;
	const struct profile_entry *entries = profile_entries(profile, &n);

	for (size_t i = 0; i < n; i++) {
		const double share =
			entries[i].weight && !entries[i].is_valued
				? (double)entries[i].periods / (double)entries[i].weight
				: 1;

		variances[i] *= share * share;
	}
}

int selection_variances(struct selection *s, const double **ret_variances)
{
	size_t n;
	int err = 0;

	*ret_variances = s->variances;
	if (s->variances || s->filter.by_cpu || !profile_has_variances(s->profile))
		return 0;
	profile_entries(s->profile, &n);
	s->variances = calloc(n + 1, sizeof(*s->variances));
	if (!s->variances)
		return -ENOMEM;
	err = profile_variances(s->profile, s->variances);
	if (err) {
		free(s->variances);
		s->variances = NULL;
		return err;
	}
	scale(s->profile, s->variances);
	*ret_variances = s->variances;
	return 0;
}

bool selection_is_plain(const struct selection *s)
{
	const struct profile_totals *totals = profile_totals(s->profile);

	return s->filter.metric == METRIC_CPU && totals->periods == totals->samples;
}

/* Finds the number of the symbol in which an entry's samples hit. Where inlined functions are part
 * of their callers, that is the enclosing function. Returns 0 or -ENOMEM. */
static int find_leaf(struct profile *profile, const struct profile_entry *entry,
		     uint32_t *ret_symbol)
{
	const struct profile_symbol *mark = profile_entry_mark(profile, entry);
	const uint32_t location = profile_tables(profile)->nodes[entry->node].location;
	const uint32_t *keys;
	size_t n;

	if (!entry->node) {
		*ret_symbol = (mark ? mark : profile_no_frames(profile))->number;
		return 0;
	}
	keys = profile_location_keys(profile, location, &n);
	if (!keys)
		return -ENOMEM;
	*ret_symbol = keys[profile_filter(profile)->no_inlined ? 0 : n - 1] >> 1;
	return 0;
}

int selection_self_variances(const struct ask *ask, struct selection *s,
			     const double **ret_variances)
{
	const double *variances = NULL;
	size_t n;
	const struct profile_entry *entries = profile_entries(s->profile, &n);
	int err = 0;

	*ret_variances = s->self_variances;
	if (s->self_variances || selection_is_plain(s))
		return 0;
	err = selection_variances(s, &variances);
	if (err || !variances)
		return err;
	/* The list of functions is there, so all names are. */
	s->self_variances = calloc(profile_symbol_count(s->profile) + 1, sizeof(double));
	err = s->self_variances ? 0 : -ENOMEM;
	for (size_t i = 0; err == 0 && i < n; i++) {
		uint32_t leaf;

		err = ask_is_stopped(ask) ? -ECANCELED : find_leaf(s->profile, &entries[i], &leaf);
		if (err == 0)
			s->self_variances[leaf] += variances[i];
	}
	if (err) {
		free(s->self_variances);
		s->self_variances = NULL;
	}
	*ret_variances = s->self_variances;
	return err;
}

int selection_self_variance(const struct ask *ask, struct selection *s, const struct flat_row *row,
			    double *ret_variance)
{
	const double *variances;
	int err = selection_self_variances(ask, s, &variances);

	if (err == 0)
		*ret_variance = variances		? variances[row->symbol]
				: selection_is_plain(s) ? (double)row->self
							: -1;
	return err;
}

/* --- what answers begin with -------------------------------------------------------------------
 */

/* Returns the standard error of the total; negative: there is none. That of samples which stand for
 * one period each follows from their number. */
static double total_error(struct selection *s)
{
	const struct profile_totals *totals = profile_totals(s->profile);
	const double *variances;
	double sum = 0;
	size_t n;

	if (s->filter.metric != METRIC_CPU)
		return profile_error(s->profile);
	if (totals->periods == totals->samples)
		return sqrt((double)totals->samples);
	if (selection_variances(s, &variances) < 0 || !variances)
		return -1;
	profile_entries(s->profile, &n);
	for (size_t i = 0; i < n; i++)
		sum += variances[i];
	return sqrt(sum);
}

static void put_error(struct json *j, struct selection *s)
{
	const double error = total_error(s);

	if (error < 0)
		json_put_null(j, "total_error");
	else
		json_put_double(j, "total_error", error, 6);
}

static const char *unit(enum metric metric)
{
	switch (metric_info(metric)->unit) {
	case METRIC_NS:
		return "ns";
	case METRIC_BYTES:
		return "bytes";
	case METRIC_TIMES:
		return "times";
	default:
		return "samples";
	}
}

static void put_quality(struct json *j, const struct selection *s)
{
	const struct profile_totals *totals = profile_totals(s->profile);

	json_put_object(j, "quality");
	json_put_uint(j, "complete", totals->complete);
	json_put_uint(j, "reconstructed", totals->reconstructed);
	json_put_uint(j, "partial", totals->partial);
	json_put_uint(j, "lost", profile_tables(s->profile)->recording.lost);
	json_put_end(j);
}

void selection_put_short(struct json *j, const struct selection *s)
{
	const struct store_recording *r = &store_reader_tables(s->opened->reader)->recording;

	json_put_int(j, "recording", r->id);
	json_put_uint(j, "begin_ns", 0);
	json_put_uint(j, "end_ns", r->end_ns > r->start_ns ? r->end_ns - r->start_ns : 0);
	json_put_uint(j, "from", s->from_ns);
	json_put_uint(j, "to", s->to_ns);
	json_put_uint(j, "samples", profile_totals(s->profile)->samples);
	json_put_uint(j, "total", profile_total(s->profile));
	put_quality(j, s);
}

/* Writes which regions' probes were taken off, if any were. */
static void put_note(struct json *j, const struct profile *profile)
{
	struct buf b = {0};

	report_header_off(profile, "", &b);
	if (b.len)
		json_put_text(j, "note", &b);
	buf_free(&b);
}

void selection_put(struct ask *ask, struct selection *s)
{
	const struct store_tables *t = store_reader_tables(s->opened->reader);
	struct json *j = &ask->json;

	selection_put_short(j, s);
	put_error(j, s);
	json_put_string(j, "metric", metric_info(s->filter.metric)->name);
	json_put_string(j, "unit", unit(s->filter.metric));
	if (store_is_timed(&t->recording) && store_period_ns(&t->recording))
		json_put_uint(j, "period_ns", store_period_ns(&t->recording));
	else
		json_put_null(j, "period_ns");
	json_put_bool(j, "live", s->opened->is_live);
	if (metric_is_of_regions(s->filter.metric))
		put_note(j, s->profile);
}
