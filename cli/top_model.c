/* SPDX-License-Identifier: MIT */
/*
 * The model of stackctl top; see top_model.h.
 *
 * Each refresh opens the store anew, as a report would, so the rows always equal those of `report
 * --from ...`. Only two things are kept from one refresh to the next: which rows are open, and
 * names that stackd has not stored yet. The key of a row is a hash over the names on the path to
 * it.
 *
 * In a tree, a row that the user has neither opened nor closed is open if it has a tenth of all
 * samples, so that hot paths are visible at the first look.
 */
#include "top_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/vec.h"
#include "cmd.h"
#include "input_fleet.h"
#include "message.h"
#include "model/interpreter.h"
#include "tree/calltree.h"
#include "tree/flat.h"
#include "tree/groups.h"
#include "sym/reader_names.h"
#include "base/int_map.h"
#include "store/store_reader.h"

#define TOP_LEAST 0.002 /* rows of trees below this share of all samples are left out */
/* rows with at least this share of all samples are open unless the user closes them */
#define TOP_OPEN	 0.1
#define TOP_LEVELS	 256
#define TOP_NODES	 (1u << 19)
#define TOP_NAMES_NS	 150000000u /* limit of each look for looking up names */
#define TOP_OPENED	 1u
#define TOP_CLOSED	 2u
#define TOP_CALLERS_SALT UINT64_C(0x63616c6c65727321)

struct top_model {
	const struct input *input;
	struct profile_filter filter; /* the input's filter, narrowed to the time and the process
				       * that are shown */
	int32_t pid;
	const char *host; /* the only host of a server's database that is shown; NULL: all that the
			   * options choose */
	bool are_hosts_apart;
	double window;
	struct buf missing;	/* messages of the last refresh about missing data */
	struct int_map touched; /* rows that the user opened or closed: key -> TOP_OPENED or
				 * TOP_CLOSED */

	struct reader_names *late;
	struct store_reader *reader; /* made by the last refresh */
	struct profile *profile;
	struct calltree *tree, *callers; /* NULL until a view needs them */
	VEC(struct top_row) rows;
	VEC(uint32_t) children;
};

int top_model_new(const struct input *input, struct top_model **ret_model)
{
	struct top_model *m = calloc(1, sizeof(*m));

	if (!m || input_reader_names(&m->late) < 0) {
		free(m);
		return -ENOMEM;
	}
	m->input = input;
	*ret_model = m;
	return 0;
}

/* Frees what the last refresh made. */
static void model_drop(struct top_model *m)
{
	calltree_free(m->tree);
	calltree_free(m->callers);
	profile_free(m->profile);
	store_reader_close(m->reader);
	m->tree = m->callers = NULL;
	m->profile = NULL;
	m->reader = NULL;
	m->rows.count = 0;
}

void top_model_free(struct top_model *m)
{
	if (!m)
		return;
	model_drop(m);
	reader_names_free(m->late);
	buf_free(&m->missing);
	int_map_fini(&m->touched);
	free(m->rows.items);
	free(m->children.items);
	free(m);
}

void top_model_set_window(struct top_model *m, double seconds)
{
	m->window = seconds;
}

void top_model_set_pid(struct top_model *m, int32_t pid)
{
	m->pid = pid;
}

void top_model_set_host(struct top_model *m, const char *host, bool are_apart)
{
	m->host = host;
	m->are_hosts_apart = are_apart;
}

const char *top_model_missing(const struct top_model *m)
{
	return m->missing.len && !m->missing.failed ? (const char *)m->missing.data : "";
}

const struct profile *top_model_profile(const struct top_model *m)
{
	return m->profile;
}

/* Returns the input's filter, narrowed to the last seconds and the process that are shown. */
static struct profile_filter model_filter(const struct top_model *m,
					  const struct store_recording *rec)
{
	struct profile_filter filter = m->input->filter;
	uint64_t now = rec->end_ns > rec->start_ns ? rec->end_ns - rec->start_ns : 0;
	uint64_t window = (uint64_t)(m->window * 1e9);

	if (window && !input_is_fleet(m->input) && window < now && now - window > filter.from_ns)
		filter.from_ns = now - window;
	if (m->pid) {
		filter.pids = &m->pid;
		filter.n_pids = 1;
	}
	return filter;
}

/* Returns the negative errno for an exit status. */
static int error_of(int status)
{
	switch (status) {
	case CMD_DONE:
		return 0;
	case CMD_NO_SAMPLES:
		return -ENODATA;
	case CMD_NO_SUPPORT:
		return -EACCES;
	case CMD_USAGE:
		return -EINVAL;
	default:
		return -EIO;
	}
}

/* Reads the windows of the last seconds from a server's database. Messages are collected meanwhile,
 * because they tell why it failed, or what is missing. The copy of the input borrows its filter
 * from the original. Returns 0 or an error. */
static int open_fleet(struct top_model *m, struct store_reader **ret_reader, char **ret_error)
{
	struct input now = *m->input;
	const uint64_t window = (uint64_t)(m->window * 1e9);
	const uint64_t from = clock_ns(CLOCK_REALTIME) - window;
	struct buf said = {0};
	int err;

	if (window && from > now.range.from_unix_ns)
		now.range.from_unix_ns = from;
	if (m->host) {
		now.hosts[0] = m->host;
		now.n_hosts = 1;
	}
	input_fleet_by(&now, m->are_hosts_apart ? PARTITION_BY_HOST : PARTITION_BY_ALL);
	message_collect(&said);
	err = error_of(input_fleet_open(&now, ret_reader));
	message_collect(NULL);
	buf_put_u8(&said, '\0');
	buf_free(&m->missing);
	if (err == 0) {
		m->missing = said;
		return 0;
	}
	*ret_error = said.failed ? NULL : strdup((const char *)said.data);
	buf_free(&said);
	return err;
}

static int open_store(struct top_model *m, struct store_reader **ret_reader, char **ret_error)
{
	char *path = input_path(m->input);
	int err = path ? input_open_reader(m->input, path, ret_reader, ret_error) : -ENOMEM;

	free(path);
	return err == 0 ? reader_names_find(m->late, *ret_reader, TOP_NAMES_NS) : err;
}

static int sum_up(struct top_model *m)
{
	int err = m->input->shows_interpreter ? 0 : interpreter_hide(m->reader);

	return err < 0 ? err : profile_new(m->reader, &m->filter, &m->profile);
}

int top_model_refresh(struct top_model *m, char **ret_error)
{
	struct store_reader *reader = NULL;
	int err = input_is_fleet(m->input) ? open_fleet(m, &reader, ret_error)
					   : open_store(m, &reader, ret_error);

	if (err < 0) {
		store_reader_close(reader);
		return err;
	}
	model_drop(m);
	m->filter = model_filter(m, &store_reader_tables(reader)->recording);
	m->reader = reader;
	err = sum_up(m);
	if (err < 0 && err != -ENODATA)
		model_drop(m);
	return err == -ENODATA ? 0 : err;
}

/* --- rows ----------------------------------------------------------------------------------- */

static uint64_t model_key(uint64_t parent, const struct profile_symbol *symbol)
{
	uint64_t h = parent;

	for (const char *at = symbol->name; *at; at++)
		h = hash_mix64(h + (unsigned char)*at);
	for (const char *at = symbol->object; *at; at++)
		h = hash_mix64(h + (unsigned char)*at);
	return h;
}

uint64_t top_model_callers_key(uint64_t function_key)
{
	return hash_mix64(function_key ^ TOP_CALLERS_SALT);
}

static int model_add(struct top_model *m, const struct top_row *row)
{
	int err = VEC_RESERVE(&m->rows, 1);

	if (err == 0)
		m->rows.items[m->rows.count++] = *row;
	return err;
}

static int model_make_tree(struct top_model *m)
{
	size_t n;
	const struct profile_entry *entries = profile_entries(m->profile, &n);
	int err;

	if (m->tree)
		return 0;
	err = calltree_new(m->profile, CALLTREE_BY_SYMBOL, &m->tree);
	for (size_t i = 0; err == 0 && i < n; i++)
		err = calltree_add(m->tree, &entries[i]);
	if (err == 0)
		calltree_sum(m->tree);
	return err;
}

static int model_make_callers(struct top_model *m)
{
	struct calltree_limits limits = {TOP_LEAST * 100, TOP_LEVELS, TOP_NODES};
	bool is_cut;
	int err = 0;

	if (m->callers)
		return 0;
	err = calltree_new(m->profile, CALLTREE_BY_SYMBOL, &m->callers);
	return err == 0 ? calltree_invert(m->tree, &limits, m->callers, &is_cut) : err;
}

static int model_functions(struct top_model *m)
{
	struct flat flat;
	int err = flat_make(m->profile, m->tree, &flat);

	for (uint32_t i = 0; err == 0 && i < flat.n; i++) {
		const struct profile_symbol *s = profile_symbol_at(m->profile, flat.rows[i].symbol);

		err = model_add(m, &(struct top_row){.key = model_key(0, s),
						     .total = flat.rows[i].total,
						     .self = flat.rows[i].self,
						     .name = s->name,
						     .object = s->object});
	}
	if (err == 0)
		flat_free(&flat);
	return err;
}

static int model_processes(struct top_model *m)
{
	const struct store_tables *t = profile_tables(m->profile);
	struct groups groups;
	int err = groups_by_process(m->profile, &groups);

	if (err < 0)
		return err;
	for (uint32_t i = 0; err == 0 && i < groups.n_ranking; i++) {
		const struct store_process *p = &t->processes[groups.ranking[i]];
		uint64_t samples = groups.samples[groups.ranking[i]];
		const struct profile_symbol host = {.name = p->comm ? p->comm : "", .object = ""};
		const uint64_t key =
			input_is_fleet(m->input) ? model_key(0, &host) : (uint64_t)p->number + 1;

		err = model_add(m, &(struct top_row){.key = key,
						     .total = samples,
						     .self = samples,
						     .name = p->comm ? p->comm : "?",
						     .object = p->exe ? p->exe : "",
						     .pid = p->pid});
	}
	groups_free(&groups);
	return err;
}

static bool model_is_open(const struct top_model *m, uint64_t key, uint64_t samples, uint64_t all)
{
	uint32_t touched = int_map_find(&m->touched, key);

	if (touched != INT_MAP_NONE)
		return touched == TOP_OPENED;
	return (double)samples >= TOP_OPEN * (double)all;
}

int top_model_open(struct top_model *m, uint64_t key, bool is_open)
{
	uint32_t now = is_open ? TOP_OPENED : TOP_CLOSED;

	return int_map_set(&m->touched, key, now);
}

struct model_order {
	const struct calltree *tree;
	const struct calltree_node *nodes;
};

/* Compares nodes so that the largest comes last, because rows are taken from the end of the
 * stack. */
static int model_compare_nodes(const void *a, const void *b, void *arg)
{
	const struct model_order *order = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (order->nodes[x].samples != order->nodes[y].samples)
		return order->nodes[x].samples < order->nodes[y].samples ? -1 : 1;
	return strcmp(calltree_symbol(order->tree, y)->name, calltree_symbol(order->tree, x)->name);
}

/* Puts those children of a node on the stack that have at least the share TOP_LEAST of all samples.
 * Returns 0 or -ENOMEM. */
static int model_push(struct top_model *m, const struct model_order *order, uint32_t node)
{
	size_t from = m->children.count;
	uint64_t all = order->nodes[0].samples;
	int err = 0;

	for (uint32_t at = order->nodes[node].first_child; err == 0 && at != CALLTREE_NONE;
	     at = order->nodes[at].next_sibling) {
		if ((double)order->nodes[at].samples < TOP_LEAST * (double)all)
			continue;
		err = VEC_RESERVE(&m->children, 1);
		if (err == 0)
			m->children.items[m->children.count++] = at;
	}
	if (err == 0 && m->children.count - from > 1)
		qsort_r(m->children.items + from, m->children.count - from, sizeof(uint32_t),
			model_compare_nodes, (void *)order);
	return err;
}

/* Makes the rows of a tree, depth first. `keys` and `levels` must have room for an element for each
 * node. Returns 0 or -ENOMEM. */
static int model_tree_rows(struct top_model *m, const struct calltree *tree, bool is_callers,
			   uint64_t *keys, uint32_t *levels)
{
	struct model_order order = {.tree = tree};
	uint32_t n;
	int err;

	order.nodes = calltree_nodes(tree, &n);
	keys[0] = is_callers ? 0 : 1;
	m->children.count = 0;
	err = model_push(m, &order, 0);
	while (err == 0 && m->children.count) {
		uint32_t at = m->children.items[--m->children.count];
		const struct calltree_node *node = &order.nodes[at];
		const struct profile_symbol *s = calltree_symbol(tree, at);
		size_t pushed = m->children.count;
		struct top_row row = {.total = node->samples,
				      .self = node->self,
				      .name = s->name,
				      .object = s->object,
				      .is_inlined = node->is_inlined};

		keys[at] = model_key(keys[node->parent], s);
		if (is_callers && node->parent == 0)
			keys[at] = top_model_callers_key(keys[at]);
		row.key = keys[at];
		row.level = levels[at] = node->parent ? levels[node->parent] + 1 : 0;
		err = model_push(m, &order, at);
		row.has_more = m->children.count > pushed;
		row.is_open = row.has_more &&
			      model_is_open(m, row.key, node->samples, order.nodes[0].samples);
		if (!row.is_open)
			m->children.count = pushed;
		if (err == 0)
			err = model_add(m, &row);
	}
	return err;
}

static int model_tree(struct top_model *m, const struct calltree *tree, bool is_callers)
{
	uint32_t n, *levels;
	uint64_t *keys;
	int err = -ENOMEM;

	calltree_nodes(tree, &n);
	keys = calloc(n, sizeof(*keys));
	levels = calloc(n, sizeof(*levels));
	if (keys && levels)
		err = model_tree_rows(m, tree, is_callers, keys, levels);
	free(keys);
	free(levels);
	return err;
}

static int model_compare_rows(const void *a, const void *b, void *arg)
{
	const struct top_row *x = a, *y = b;
	enum top_sort sort = *(enum top_sort *)arg;
	uint64_t p = sort == TOP_BY_SELF ? x->self : x->total;
	uint64_t q = sort == TOP_BY_SELF ? y->self : y->total;

	if (sort != TOP_BY_NAME && p != q)
		return p < q ? 1 : -1;
	if (sort != TOP_BY_NAME && x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return strcmp(x->name, y->name);
}

int top_model_rows(struct top_model *m, enum top_view view, enum top_sort sort,
		   const struct top_row **ret_rows, uint32_t *ret_count)
{
	int err = 0;

	m->rows.count = 0;
	if (m->profile)
		err = model_make_tree(m);
	if (err == 0 && m->profile && view == TOP_CALLERS)
		err = model_make_callers(m);
	if (err == 0 && m->profile)
		err = view == TOP_FUNCTIONS   ? model_functions(m)
		      : view == TOP_PROCESSES ? model_processes(m)
		      : view == TOP_PATHS     ? model_tree(m, m->tree, false)
					      : model_tree(m, m->callers, true);
	if (err < 0)
		return err;
	if ((view == TOP_FUNCTIONS || view == TOP_PROCESSES) && m->rows.count)
		qsort_r(m->rows.items, m->rows.count, sizeof(*m->rows.items), model_compare_rows,
			&sort);
	*ret_rows = m->rows.items;
	*ret_count = (uint32_t)m->rows.count;
	return 0;
}
