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
#include "tree/partition.h"
#include "sym/reader_names.h"
#include "base/int_map.h"
#include "base/strings.h"
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
	struct profile_filter wait_filter; /* the same, for waits */
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
	struct profile *waits; /* of the same time and threads; NULL: none were recorded */
	struct calltree *tree, *callers; /* NULL until a view needs them */
	struct strings *names;		 /* of units and containers */
	VEC(struct top_row) rows;
	VEC(uint32_t) children;
};

int top_model_new(const struct input *input, struct top_model **ret_model)
{
	struct top_model *m = calloc(1, sizeof(*m));

	if (!m || strings_new(&m->names) < 0 || input_reader_names(&m->late) < 0) {
		if (m)
			strings_free(m->names);
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
	profile_free(m->waits);
	store_reader_close(m->reader);
	m->tree = m->callers = NULL;
	m->profile = m->waits = NULL;
	m->reader = NULL;
	m->rows.count = 0;
}

void top_model_free(struct top_model *m)
{
	if (!m)
		return;
	model_drop(m);
	reader_names_free(m->late);
	strings_free(m->names);
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

/* Sums up the waits of what is shown, if there are any. */
static int sum_up_waits(struct top_model *m)
{
	const uint64_t wanted = UINT64_C(1) << SERIES_WAIT_BLOCKED;
	uint64_t series;
	int err;

	if (input_is_fleet(m->input) || store_reader_series(m->reader, &series) < 0 ||
	    !(series & wanted))
		return 0;
	m->wait_filter = m->filter;
	m->wait_filter.metric = METRIC_WAIT;
	err = profile_new(m->reader, &m->wait_filter, &m->waits);
	return err == -ENODATA ? 0 : err;
}

static int sum_up(struct top_model *m)
{
	int err = m->input->shows_interpreter ? 0 : interpreter_hide(m->reader), waits;

	if (err < 0)
		return err;
	waits = sum_up_waits(m);
	err = profile_new(m->reader, &m->filter, &m->profile);
	return err < 0 && err != -ENODATA ? err : waits < 0 ? waits : err;
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

static int model_tree_of(struct profile *profile, struct calltree **ret_tree)
{
	size_t n;
	const struct profile_entry *entries = profile_entries(profile, &n);
	int err = calltree_new(profile, CALLTREE_BY_SYMBOL, ret_tree);

	for (size_t i = 0; err == 0 && i < n; i++)
		err = calltree_add(*ret_tree, &entries[i]);
	if (err == 0)
		calltree_sum(*ret_tree);
	return err;
}

static int model_make_tree(struct top_model *m)
{
	return m->tree ? 0 : model_tree_of(m->profile, &m->tree);
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

bool top_model_has_waits(const struct top_model *m)
{
	return m->waits != NULL;
}

/* --- functions ------------------------------------------------------------------------------ */

static const char *owner_join(const char *owner, const char *name)
{
	return !owner || !strcmp(owner, name) ? name : "*";
}

/* Gives the names of processes by symbol, which the caller frees: "*" where there are several, NULL
 * for what is in no path. NULL: memory is short. */
static const char **model_owners(struct top_model *m)
{
	const struct store_tables *t = profile_tables(m->profile);
	const char **owners = calloc(profile_symbol_count(m->profile) + 1, sizeof(*owners));
	size_t n, n_frames;
	const struct profile_entry *entries = profile_entries(m->profile, &n);

	for (size_t i = 0; owners && i < n; i++) {
		const struct profile_entry *e = &entries[i];
		const char *name = t->processes[t->threads[e->thread].process].comm;
		const struct profile_frame *frames =
			profile_frames(m->profile, e->node, e->end_reason, e->origin, &n_frames);

		for (size_t at = 0; frames && at < n_frames; at++) {
			const char **owner = &owners[frames[at].symbol->number];

			*owner = owner_join(*owner, name ? name : "?");
		}
	}
	return owners;
}

/* Adds the waits of functions to their rows, and rows for functions in which threads only waited.
 */
static int model_function_waits(struct top_model *m)
{
	struct int_map row_of = {0};
	struct calltree *tree = NULL;
	struct flat flat = {0};
	int err = model_tree_of(m->waits, &tree);

	for (uint32_t i = 0; err == 0 && i < m->rows.count; i++)
		err = int_map_set(&row_of, m->rows.items[i].key, i);
	if (err == 0)
		err = flat_make(m->waits, tree, &flat);
	for (uint32_t i = 0; err == 0 && i < flat.n; i++) {
		const struct profile_symbol *s = profile_symbol_at(m->waits, flat.rows[i].symbol);
		const uint64_t key = model_key(0, s);
		const uint32_t row = int_map_find(&row_of, key);

		if (row != INT_MAP_NONE)
			m->rows.items[row].wait = flat.rows[i].total;
		else
			err = model_add(m, &(struct top_row){.key = key,
							     .wait = flat.rows[i].total,
							     .name = s->name,
							     .object = s->object,
							     .process = ""});
	}
	flat_free(&flat);
	calltree_free(tree);
	int_map_fini(&row_of);
	return err;
}

static int model_functions(struct top_model *m)
{
	const char **owners = model_owners(m);
	struct flat flat = {0};
	int err = owners ? 0 : -ENOMEM;

	if (err == 0)
		err = flat_make(m->profile, m->tree, &flat);

	for (uint32_t i = 0; err == 0 && i < flat.n; i++) {
		const struct profile_symbol *s = profile_symbol_at(m->profile, flat.rows[i].symbol);

		err = model_add(m, &(struct top_row){
					   .key = model_key(0, s),
					   .total = flat.rows[i].total,
					   .self = flat.rows[i].self,
					   .name = s->name,
					   .object = s->object,
					   .process = owners[s->number] ? owners[s->number] : ""});
	}
	flat_free(&flat);
	free(owners);
	return err == 0 && m->waits ? model_function_waits(m) : err;
}

/* --- processes, units, containers ----------------------------------------------------------- */

static int model_processes(struct top_model *m)
{
	const struct store_tables *t = profile_tables(m->profile);
	struct groups groups = {0}, waits = {0};
	int err = groups_by_process(m->profile, &groups);

	if (err == 0 && m->waits)
		err = groups_by_process(m->waits, &waits);
	for (uint32_t i = 0; err == 0 && i < groups.n; i++) {
		const struct store_process *p = &t->processes[i];
		const uint64_t samples = groups.samples[i], wait = m->waits ? waits.samples[i] : 0;
		const struct profile_symbol host = {.name = p->comm ? p->comm : "", .object = ""};
		const uint64_t key =
			input_is_fleet(m->input) ? model_key(0, &host) : (uint64_t)p->number + 1;

		if (!samples && !wait)
			continue;
		err = model_add(m, &(struct top_row){.key = key,
						     .total = samples,
						     .self = samples,
						     .wait = wait,
						     .name = p->comm ? p->comm : "?",
						     .object = p->exe ? p->exe : "",
						     .pid = p->pid});
	}
	groups_free(&groups);
	groups_free(&waits);
	return err;
}

/* Returns the row of a part, which is added if there is none; NULL: memory is short. */
static struct top_row *model_part(struct top_model *m, const struct partition *p, uint32_t part)
{
	struct buf name = {0};
	uint32_t number;
	uint64_t key;
	int err;

	partition_put_name(p, part, true, &name);
	buf_put_u8(&name, '\0');
	err = name.failed ? -ENOMEM : strings_intern(m->names, (const char *)name.data, &number);
	buf_free(&name);
	if (err < 0)
		return NULL;
	key = (uint64_t)number + 1;
	for (size_t i = 0; i < m->rows.count; i++)
		if (m->rows.items[i].key == key)
			return &m->rows.items[i];
	if (model_add(m, &(struct top_row){.key = key,
					   .name = strings_at(m->names, number),
					   .object = ""}) < 0)
		return NULL;
	return &m->rows.items[m->rows.count - 1];
}

static int model_add_parts(struct top_model *m, struct profile *profile, enum partition_by by)
{
	struct partition p;
	int err = partition_make(profile, by, &p);

	if (err < 0)
		return err;
	for (uint32_t i = 0; err == 0 && i < p.groups.n_ranking; i++) {
		const uint32_t part = p.groups.ranking[i];
		struct top_row *row = model_part(m, &p, part);

		if (!row)
			err = -ENOMEM;
		else if (profile == m->waits)
			row->wait = p.groups.samples[part];
		else
			row->self = row->total = p.groups.samples[part];
	}
	partition_free(&p);
	return err;
}

static int model_parts(struct top_model *m, enum partition_by by)
{
	int err = model_add_parts(m, m->profile, by);

	return err == 0 && m->waits ? model_add_parts(m, m->waits, by) : err;
}

/* --- trees ---------------------------------------------------------------------------------- */

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

struct model_sort {
	enum top_sort sort;
	bool is_reversed, by_pid;
};

static int model_compare(const struct top_row *x, const struct top_row *y,
			 const struct model_sort *s)
{
	const bool by_self = s->sort == TOP_BY_SELF, by_wait = s->sort == TOP_BY_WAIT;
	const uint64_t p = by_wait ? x->wait : by_self ? x->self : x->total;
	const uint64_t q = by_wait ? y->wait : by_self ? y->self : y->total;

	if (s->sort != TOP_BY_NAME && p != q)
		return p < q ? 1 : -1;
	if (s->sort != TOP_BY_NAME && x->total != y->total)
		return x->total < y->total ? 1 : -1;
	if (s->sort == TOP_BY_NAME && s->by_pid && x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int model_compare_rows(const void *a, const void *b, void *arg)
{
	const struct model_sort *s = arg;
	const int order = model_compare(a, b, s);

	return s->is_reversed ? -order : order;
}

/* Makes the rows of a view, which are not sorted yet if they are a list. */
static int model_view(struct top_model *m, enum top_view view)
{
	switch (view) {
	case TOP_FUNCTIONS:
		return model_functions(m);
	case TOP_PROCESSES:
		return model_processes(m);
	case TOP_UNITS:
		return model_parts(m, PARTITION_BY_UNIT);
	case TOP_CONTAINERS:
		return model_parts(m, PARTITION_BY_CONTAINER);
	case TOP_CALLERS:
		return model_tree(m, m->callers, true);
	default:
		return model_tree(m, m->tree, false);
	}
}

int top_model_rows(struct top_model *m, enum top_view view, enum top_sort sort, bool is_reversed,
		   const struct top_row **ret_rows, uint32_t *ret_count)
{
	struct model_sort how = {.sort = sort,
				 .is_reversed = is_reversed,
				 .by_pid = view == TOP_PROCESSES && !input_is_fleet(m->input)};
	int err = 0;

	m->rows.count = 0;
	if (m->profile)
		err = model_make_tree(m);
	if (err == 0 && m->profile && view == TOP_CALLERS)
		err = model_make_callers(m);
	if (err == 0 && m->profile)
		err = model_view(m, view);
	if (err < 0)
		return err;
	if (view != TOP_PATHS && view != TOP_CALLERS && m->rows.count)
		qsort_r(m->rows.items, m->rows.count, sizeof(*m->rows.items), model_compare_rows,
			&how);
	*ret_rows = m->rows.items;
	*ret_count = (uint32_t)m->rows.count;
	return 0;
}
