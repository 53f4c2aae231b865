/* SPDX-License-Identifier: MIT */
/* Chooses lanes; see lane_list.h. Threads are sorted by process, then pool, so that the members of
 * a pool are neighbours. */
#include "web/lane_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "web/opened.h"
#include "web/selection.h"

#define LANE_LIST_LANES 100
#define LANE_LIST_MOST	1000
#define LANE_LIST_POOL	3 /* threads that make a pool */

struct lane_maker {
	struct ask *ask;
	const struct store_tables *tables;
	const struct thread_totals *totals;
	struct lane_list *list;
	const char *unfold[ASK_MANY], *only[ASK_MANY];
	int n_unfold, n_only;
	unsigned by_name;
	uint64_t most;
	uint32_t *threads; /* those that are shown, by process, then pool */
	uint32_t n_threads;
	uint64_t *process_ns; /* by process: time of its threads */
};

void lane_list_free(struct lane_list *list)
{
	free(list->lanes.items);
	free(list->process_lane);
	free(list->own_lane);
	*list = (struct lane_list){0};
}

const char *lane_kind_name(enum lane_kind kind)
{
	return kind == LANE_PROCESS ? "process" : kind == LANE_POOL ? "pool" : "thread";
}

const char *lane_name(const struct store_tables *t, const struct lane *lane)
{
	const char *name = lane->kind == LANE_POOL     ? lane->pool
			   : lane->kind == LANE_THREAD ? t->threads[lane->thread].comm
						       : t->processes[lane->process].comm;

	return name ? name : "";
}

static uint64_t time_of(const struct thread_totals *totals)
{
	return totals->cpu_ns + totals->off_ns;
}

/* Orders threads by their CPU time, since a thread that only waits is of less interest. */
static int compare_times(const struct thread_totals *x, const struct thread_totals *y)
{
	if (x->cpu_ns != y->cpu_ns)
		return x->cpu_ns < y->cpu_ns ? 1 : -1;
	return time_of(x) == time_of(y) ? 0 : time_of(x) < time_of(y) ? 1 : -1;
}

static int compare_names(const char *x, const char *y)
{
	return strcmp(x ? x : "", y ? y : "");
}

static int compare_pools(const char *x, const char *y)
{
	char a[POOL_NAME], b[POOL_NAME];

	pool_name(x ? x : "", a);
	pool_name(y ? y : "", b);
	return strcmp(a, b);
}

/* Sorts processes by time or name; within a process the threads of a pool are together. */
static int compare_threads(const void *a, const void *b, void *arg)
{
	const struct lane_maker *m = arg;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct store_thread *s = &m->tables->threads[x], *t = &m->tables->threads[y];
	int order = 0;

	if (s->process != t->process) {
		const uint64_t p = m->process_ns[s->process], q = m->process_ns[t->process];

		if (m->by_name)
			order = compare_names(m->tables->processes[s->process].comm,
					      m->tables->processes[t->process].comm);
		else if (p != q)
			return p < q ? 1 : -1;
		return order ? order : s->process < t->process ? -1 : 1;
	}
	order = compare_pools(s->comm, t->comm);
	if (!order)
		order = m->by_name ? compare_names(s->comm, t->comm)
				   : compare_times(&m->totals[x], &m->totals[y]);
	return order ? order : (x > y) - (x < y);
}

static void add_totals(struct thread_totals *to, const struct thread_totals *more)
{
	to->cpu_ns += more->cpu_ns;
	to->off_ns += more->off_ns;
	to->samples += more->samples;
}

/* Appends a lane, or counts it as left out. Returns 0 or -ENOMEM; *ret_lane may be LANE_NONE. */
static int append(struct lane_maker *m, const struct lane *lane, uint32_t *ret_lane)
{
	struct lane_list *list = m->list;

	*ret_lane = LANE_NONE;
	if (list->lanes.count >= m->most) {
		list->left_out++;
		if (lane->kind == LANE_PROCESS) /* It has the time of its threads. */
			list->left_cpu_ns += lane->totals.cpu_ns;
		return 0;
	}
	if (VEC_RESERVE(&list->lanes, 1) < 0)
		return -ENOMEM;
	*ret_lane = (uint32_t)list->lanes.count;
	list->lanes.items[list->lanes.count++] = *lane;
	return 0;
}

static bool is_unfolded(const struct lane_maker *m, const char *id)
{
	for (int i = 0; i < m->n_unfold; i++)
		if (strcmp(m->unfold[i], id) == 0)
			return true;
	return false;
}

/* Appends the lane of one thread. */
static int add_thread(struct lane_maker *m, uint32_t thread, uint32_t parent)
{
	struct lane lane = {.kind = LANE_THREAD,
			    .parent = parent,
			    .process = m->tables->threads[thread].process,
			    .thread = thread,
			    .n_threads = 1,
			    .totals = m->totals[thread]};

	snprintf(lane.id, sizeof(lane.id), "t%u", thread);
	return append(m, &lane, &m->list->own_lane[thread]);
}

/* Appends the lane of a pool, and those of its threads if it is unfolded. */
static int add_pool(struct lane_maker *m, const uint32_t *threads, uint32_t n, uint32_t parent)
{
	struct lane lane = {.kind = LANE_POOL,
			    .parent = parent,
			    .process = m->tables->threads[threads[0]].process,
			    .thread = threads[0],
			    .n_threads = n};
	uint32_t at;
	bool unfold;
	int err = 0;

	pool_name(m->tables->threads[threads[0]].comm, lane.pool);
	snprintf(lane.id, sizeof(lane.id), "g%u:%s", lane.process, lane.pool);
	unfold = n < LANE_LIST_POOL || is_unfolded(m, lane.id);
	for (uint32_t i = 0; i < n; i++)
		add_totals(&lane.totals, &m->totals[threads[i]]);
	if (n >= LANE_LIST_POOL) {
		err = append(m, &lane, &at);
		for (uint32_t i = 0; !unfold && i < n; i++)
			m->list->own_lane[threads[i]] = at;
	}
	for (uint32_t i = 0; err == 0 && unfold && i < n; i++)
		err = add_thread(m, threads[i], parent);
	return err;
}

/* Threads of one process whose names are of one pool. */
struct lane_group {
	uint32_t from, to; /* their places among the threads of the process */
	struct thread_totals totals;
};

static int compare_groups(const void *a, const void *b)
{
	const struct lane_group *x = a, *y = b;
	const int order = compare_times(&x->totals, &y->totals);

	return order ? order : (x->from > y->from) - (x->from < y->from);
}

/* Appends the lanes of a process's threads: pool by pool, the largest first if sorted by time. */
static int add_groups(struct lane_maker *m, const uint32_t *threads, uint32_t n, uint32_t parent)
{
	struct lane_group *groups = calloc(n, sizeof(*groups));
	uint32_t n_groups = 0;
	int err = groups ? 0 : -ENOMEM;

	for (uint32_t i = 0; err == 0 && i < n; i++) {
		const char *comm = m->tables->threads[threads[i]].comm;

		if (!i || compare_pools(m->tables->threads[threads[i - 1]].comm, comm) != 0)
			groups[n_groups++].from = i;
		groups[n_groups - 1].to = i + 1;
		add_totals(&groups[n_groups - 1].totals, &m->totals[threads[i]]);
	}
	if (err == 0 && !m->by_name)
		qsort(groups, n_groups, sizeof(*groups), compare_groups);
	for (uint32_t i = 0; err == 0 && i < n_groups; i++)
		err = add_pool(m, threads + groups[i].from, groups[i].to - groups[i].from, parent);
	free(groups);
	return err;
}

/* Appends the lane of a process, and those of its threads if it has several. */
static int add_process(struct lane_maker *m, const uint32_t *threads, uint32_t n)
{
	struct lane lane = {.kind = LANE_PROCESS,
			    .parent = LANE_NONE,
			    .process = m->tables->threads[threads[0]].process,
			    .thread = threads[0],
			    .n_threads = n};
	uint32_t at;
	int err;

	snprintf(lane.id, sizeof(lane.id), "p%u", lane.process);
	for (uint32_t i = 0; i < n; i++)
		add_totals(&lane.totals, &m->totals[threads[i]]);
	err = append(m, &lane, &at);
	for (uint32_t i = 0; i < n; i++)
		m->list->process_lane[threads[i]] = at;
	return err || n == 1 ? err : add_groups(m, threads, n, at);
}

/* Returns whether a thread is shown: it did something, and the question does not ask for others. */
static bool is_shown(const struct lane_maker *m, uint32_t thread)
{
	const struct web_given *given = m->ask->store->source->given;
	bool is_chosen = !m->n_only;

	if (given && given->threads && !given->threads[thread])
		return false;
	for (int i = 0; !is_chosen && i < m->n_only; i++)
		is_chosen = selection_is_thread(m->tables, thread, m->only[i]);
	return is_chosen && (time_of(&m->totals[thread]) || m->totals[thread].samples);
}

static int choose(struct lane_maker *m)
{
	const struct store_tables *t = m->tables;

	m->threads = calloc((size_t)t->n_threads + 1, sizeof(*m->threads));
	m->process_ns = calloc((size_t)t->n_processes + 1, sizeof(*m->process_ns));
	m->list->process_lane = calloc((size_t)t->n_threads + 1, sizeof(uint32_t));
	m->list->own_lane = calloc((size_t)t->n_threads + 1, sizeof(uint32_t));
	if (!m->threads || !m->process_ns || !m->list->process_lane || !m->list->own_lane)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n_threads; i++) {
		m->list->process_lane[i] = m->list->own_lane[i] = LANE_NONE;
		if (!is_shown(m, i))
			continue;
		m->threads[m->n_threads++] = i;
		m->process_ns[t->threads[i].process] += m->totals[i].cpu_ns;
	}
	qsort_r(m->threads, m->n_threads, sizeof(*m->threads), compare_threads, m);
	return 0;
}

static int read_parameters(struct lane_maker *m)
{
	static const char *const sorts[] = {"time", "name", NULL};
	int err = ask_word(m->ask, "sort", sorts, &m->by_name);

	m->most = LANE_LIST_LANES;
	if (err == 0)
		err = ask_number(m->ask, "lanes", 1, LANE_LIST_MOST, &m->most);
	if (err)
		return err;
	m->n_unfold = ask_many(m->ask, "unfold", m->unfold);
	m->n_only = ask_many(m->ask, "threads", m->only);
	for (int i = 0; i < m->n_only; i++)
		if (!selection_is_item(m->only[i]))
			return ask_fail(m->ask, 400, "give the id of a lane: t12, p3, g3:worker-*",
					"threads: '%.60s' is not the id of a lane", m->only[i]);
	return m->n_unfold < 0 || m->n_only < 0 ? -EINVAL : 0;
}

int lane_list_make(struct ask *ask, const struct store_tables *tables,
		   const struct thread_totals *totals, struct lane_list *ret_list)
{
	struct lane_maker m = {.ask = ask, .tables = tables, .totals = totals, .list = ret_list};
	uint32_t from = 0, to;
	int err;

	*ret_list = (struct lane_list){0};
	err = read_parameters(&m);
	if (err == 0)
		err = choose(&m);
	for (; err == 0 && from < m.n_threads; from = to) {
		const uint32_t process = tables->threads[m.threads[from]].process;

		for (to = from + 1; to < m.n_threads; to++)
			if (tables->threads[m.threads[to]].process != process)
				break;
		err = add_process(&m, m.threads + from, to - from);
	}
	free(m.threads);
	free(m.process_ns);
	return err;
}
