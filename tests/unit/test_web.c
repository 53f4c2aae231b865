/* SPDX-License-Identifier: MIT */
/*
 * The answers of the page (web/web.h), each about a recording whose content is known: sums of trees
 * and tables, parts of the time and threads, limits of size, names that try to break out, errors.
 */
#include "store_fixture.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <sqlite3.h>

#include "base/buf.h"
#include "length.h"
#include "same_profile.h"
#include "stackd_abi.h"
#include "store/store_writer.h"
#include "web/web.h"

struct page {
	char *folder, *path;
	struct web_source source;
	struct web *web;
};

/* Writes a recording to a store. */
static void store(const char *path, struct recording *r)
{
	struct store_writer *w;
	char *error = NULL;

	assert_int_equal(store_writer_new(path, &r->info, &w, &error), 0);
	assert_int_equal(write_recording(r, w), 0);
	assert_int_equal(store_writer_commit(w, &r->info), 0);
	store_writer_free(w);
}

/* Opens what answers about recordings, which it frees. */
static void page_open(struct page *p, struct recording *recordings, unsigned n)
{
	p->folder = fixture_folder();
	p->path = fixture_path(p->folder, "s.db");
	for (unsigned i = 0; i < n; i++) {
		store(p->path, &recordings[i]);
		free_recording(&recordings[i]);
	}
	p->source = (struct web_source){.path = p->path, .label = "the store"};
	assert_int_equal(web_new(&p->source, &p->web), 0);
}

static void page_close(struct page *p)
{
	web_free(p->web);
	free(p->path);
	fixture_remove(p->folder);
}

/* Asks a question, whose parameters are written as in an address, but not encoded. Returns the
 * answer. */
static json_t *ask_as(struct page *p, const char *text, const atomic_bool *stop, int status)
{
	struct web_parameter parameters[100];
	struct web_question question = {.parameters = parameters, .stop = stop};
	char *copy = strdup(text), *rest = copy, *item;
	struct buf b = {0};
	json_t *answer;

	question.name = strsep(&rest, "?");
	while ((item = strsep(&rest, "&"))) {
		const char *name = strsep(&item, "=");

		parameters[question.n_parameters++] =
			(struct web_parameter){name, item ? item : ""};
	}
	assert_int_equal(web_answer(p->web, &question, &b), status);
	assert_true(b.len <= WEB_ANSWER_MAX);
	assert_null(memchr(b.data, '<', b.len));
	answer = json_loadb((const char *)b.data, b.len, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(answer);
	buf_free(&b);
	free(copy);
	return answer;
}

static json_t *ask(struct page *p, const char *text)
{
	return ask_as(p, text, NULL, 200);
}

static uint64_t number(const json_t *answer, const char *name)
{
	const json_t *value = json_object_get(answer, name);

	assert_true(json_is_integer(value));
	return (uint64_t)json_integer_value(value);
}

static uint64_t column(const json_t *columns, const char *name, size_t at)
{
	const json_t *value = json_array_get(json_object_get(columns, name), at);

	assert_true(json_is_integer(value));
	return (uint64_t)json_integer_value(value);
}

static const char *string(const json_t *answer, uint64_t at)
{
	const char *s =
		json_string_value(json_array_get(json_object_get(answer, "strings"), (size_t)at));

	assert_non_null(s);
	return s;
}

/* Asserts an error: its text begins so, and there is a remedy. */
static void refused(struct page *p, const char *text, int status, const char *error)
{
	json_t *answer = ask_as(p, text, NULL, status);

	assert_non_null(strstr(json_string_value(json_object_get(answer, "error")), error));
	assert_true(strlen(json_string_value(json_object_get(answer, "remedy"))) > 0);
	json_decref(answer);
}

/* --- recordings ------------------------------------------------------------------------------- */

/* 10 samples of main > work, 20 of main > work > leaf, and 5 of another process in the kernel; the
 * thread of each: t0, t1, t2. */
static struct recording small(void)
{
	struct store_recording info = usual_recording();
	struct recording r = new_recording(&info);
	const uint32_t prog = add_object(&r, OBJECT_ELF, "/bin/prog");
	const uint32_t kernel = add_object(&r, OBJECT_KERNEL, "[kernel.kallsyms]");
	const uint32_t in_main = add_function(&r, prog, 0x1000, true, "main");
	const uint32_t work = add_function(&r, prog, 0x1100, true, "_ZN3app4workEv");
	const uint32_t leaf = add_function(&r, prog, 0x1200, false, "leaf");
	const uint32_t sys = add_function(&r, kernel, 0x7000, false, "do_sys");
	const uint32_t first = add_process(&r, 12, "prog"), second = add_process(&r, 99, "other");
	const uint32_t in_work = add_node(&r, add_node(&r, 0, in_main), work);

	add_thread(&r, first, 12, "prog");
	add_thread(&r, first, 13, "worker-1");
	add_thread(&r, second, 99, "other");
	add_samples(&r, 0, in_work, STACKD_END_ENTRY, 10);
	add_samples(&r, 1, add_node(&r, in_work, leaf), STACKD_END_ENTRY, 20);
	add_samples(&r, 2, add_node(&r, 0, sys), STACKD_END_ENTRY, 4);
	add_samples(&r, 2, add_node(&r, 0, work), STACKD_END_NO_RECIPE, 1);
	return r;
}

static void page_small(struct page *p)
{
	struct recording r = small();

	page_open(p, &r, 1);
}

/* --- trees ------------------------------------------------------------------------------------ */

/* Returns the number of the node with a path of names, which ends with NULL; -1: there is none. */
static int64_t find(const json_t *answer, const char *const *names)
{
	const json_t *nodes = json_object_get(answer, "nodes");
	const json_t *frames = json_object_get(answer, "frames");
	const size_t n = json_array_size(json_object_get(nodes, "parent"));
	int64_t at = 0;

	for (; *names; names++) {
		int64_t found = -1;

		for (size_t i = 1; i < n; i++)
			if ((int64_t)column(nodes, "parent", i) == at &&
			    !strcmp(string(answer,
					   column(frames, "name", column(nodes, "frame", i))),
				    *names))
				found = (int64_t)i;
		if (found < 0)
			return -1;
		at = found;
	}
	return at;
}

/* Asserts self and total of a path. */
static void has(const json_t *answer, uint64_t self, uint64_t total, const char *const *names)
{
	const int64_t at = find(answer, names);

	assert_true(at >= 0);
	assert_int_equal(column(json_object_get(answer, "nodes"), "self", (size_t)at), self);
	assert_int_equal(column(json_object_get(answer, "nodes"), "total", (size_t)at), total);
}

#define PATH(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Asserts what holds for every tree: a node comes after its parent, and has the sum of its self and
 * its children. */
static void is_whole(const json_t *answer, const char *key)
{
	const json_t *nodes = json_object_get(answer, key);
	const size_t n = json_array_size(json_object_get(nodes, "parent"));
	uint64_t *sums = calloc(n, sizeof(*sums));

	assert_non_null(sums);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(nodes, "parent"), 0)),
			 -1);
	for (size_t i = n; i-- > 1;) {
		const uint64_t parent = column(nodes, "parent", i);

		assert_true(parent < i);
		sums[i] += column(nodes, "self", i);
		assert_int_equal(sums[i], column(nodes, "total", i));
		sums[parent] += sums[i];
	}
	assert_int_equal(sums[0] + column(nodes, "self", 0), column(nodes, "total", 0));
	free(sums);
}

static void test_web_tree(void **state)
{
	struct page p;
	json_t *answer;

	(void)state;
	page_small(&p);
	answer = ask(&p, "tree?minimum=0");
	assert_int_equal(number(answer, "total"), 35);
	assert_int_equal(number(answer, "samples"), 35);
	assert_int_equal(number(json_object_get(answer, "quality"), "partial"), 1);
	is_whole(answer, "nodes");
	has(answer, 0, 30, PATH("main"));
	has(answer, 10, 30, PATH("main", "app::work()"));
	has(answer, 20, 20, PATH("main", "app::work()", "leaf"));
	has(answer, 4, 4, PATH("do_sys"));
	has(answer, 1, 1, PATH("[incomplete: no_recipe]", "app::work()"));
	json_decref(answer);

	/* What is small is in "other", and nothing is lost. */
	answer = ask(&p, "tree?minimum=0.2");
	is_whole(answer, "nodes");
	has(answer, 5, 5, PATH("other"));
	assert_int_equal(number(answer, "left_out"), 2);
	assert_true(find(answer, PATH("do_sys")) < 0);
	json_decref(answer);
	page_close(&p);
}

static void test_web_tree_of_callers(void **state)
{
	struct page p;
	json_t *answer;

	(void)state;
	page_small(&p);
	answer = ask(&p, "tree?direction=callers&minimum=0");
	is_whole(answer, "nodes");
	has(answer, 0, 20, PATH("leaf"));
	has(answer, 20, 20, PATH("leaf", "app::work()", "main"));
	has(answer, 10, 10, PATH("app::work()", "main"));
	json_decref(answer);
	page_close(&p);
}

static void test_web_parts_of_a_tree(void **state)
{
	struct page p;
	json_t *answer;

	(void)state;
	page_small(&p);
	answer = ask(&p, "tree?by=process&minimum=0");
	is_whole(answer, "nodes");
	assert_int_equal(number(answer, "total"), 35);
	has(answer, 0, 30, PATH("process 12 prog (/bin/prog)", "main"));
	has(answer, 4, 4, PATH("process 99 other (/bin/prog)", "do_sys"));
	json_decref(answer);

	answer = ask(&p, "tree?under=main&under=app::work()&minimum=0");
	is_whole(answer, "nodes");
	has(answer, 10, 30, (const char *const[]){NULL});
	has(answer, 20, 20, PATH("leaf"));
	json_decref(answer);
	refused(&p, "tree?under=main&under=nowhere", 404, "nowhere");
	refused(&p, "tree?by=process&under=main", 400, "whole tree");
	page_close(&p);
}

/* --- selections ------------------------------------------------------------------------------- */

/* Asserts the total of a selection. */
static void selects(struct page *p, const char *text, uint64_t total)
{
	json_t *answer = ask(p, text);

	assert_int_equal(number(answer, "total"), total);
	json_decref(answer);
}

static void test_web_selections(void **state)
{
	struct page p;

	(void)state;
	page_small(&p);
	selects(&p, "tree?threads=t0", 10);
	selects(&p, "tree?threads=t0&threads=t2", 15);
	selects(&p, "tree?threads=p0", 30);
	selects(&p, "functions?threads=g0:worker-*", 20);
	selects(&p, "functions?threads=g1:worker-*", 0);
	selects(&p, "functions?threads=t77", 0);
	selects(&p, "tree?focus=leaf", 20);
	selects(&p, "tree?ignore=leaf", 15);
	selects(&p, "tree?focus=main&focus=leaf", 20);
	/* Samples are at 0, 1 period, 2 periods, ... */
	selects(&p, "tree?to=10030090", 10);
	selects(&p, "tree?from=10030090", 25);
	selects(&p, "tree?from=1&to=1003010", 1);
	selects(&p, "tree?from=999000000000", 0);
	selects(&p, "tree?metric=wait", 0);
	selects(&p, "tree", 35);
	page_close(&p);
}

static void test_web_errors(void **state)
{
	struct page p;

	(void)state;
	page_small(&p);
	refused(&p, "nothing", 404, "nothing");
	refused(&p, "tree?nothing=1", 400, "nothing");
	refused(&p, "tree?recording=0", 400, "recording");
	refused(&p, "tree?recording=2", 404, "no such recording");
	refused(&p, "tree?recording=2..1", 400, "recording");
	refused(&p, "tree?recording=99999999999999999999", 400, "recording");
	refused(&p, "tree?metric=none", 404, "none");
	refused(&p, "tree?from=-1", 400, "from");
	refused(&p, "tree?from=5&to=5", 400, "behind");
	refused(&p, "tree?to=99999999999999999999999", 400, "to");
	refused(&p, "tree?minimum=nan", 400, "minimum");
	refused(&p, "tree?minimum=1.5", 400, "minimum");
	refused(&p, "tree?threads=x1", 400, "threads");
	refused(&p, "tree?threads=t", 400, "threads");
	refused(&p, "tree?threads=g1worker", 400, "threads");
	refused(&p, "tree?direction=up", 400, "direction");
	refused(&p, "tree?by=cpu", 400, "by");
	refused(&p, "functions?limit=0", 400, "limit");
	refused(&p, "functions?sort=colour", 400, "sort");
	refused(&p, "lanes?width=1", 400, "width");
	refused(&p, "lanes?threads=q", 400, "threads");
	refused(&p, "tree?metric=", 404, "metric");
	page_close(&p);
}

static void test_web_store_deleted(void **state)
{
	struct page p;

	(void)state;
	page_small(&p);
	selects(&p, "tree", 35);
	assert_int_equal(unlink(p.path), 0);
	refused(&p, "tree", 410, "the store");
	refused(&p, "recordings", 410, "the store");
	refused(&p, "live", 410, "the store");
	page_close(&p);
}

static void test_web_stopped(void **state)
{
	const atomic_bool stop = true;
	struct page p;
	json_t *answer;

	(void)state;
	page_small(&p);
	answer = ask_as(&p, "tree", &stop, 409);
	json_decref(answer);
	/* A question that was stopped leaves nothing half done. */
	selects(&p, "tree", 35);
	page_close(&p);
}

/* Opens of stores that are counted; before the second one the recording grows. */
static struct {
	struct recording *grown;
	struct store_writer *writer;
	unsigned n_opens;
	bool has_grown;
} growth;

static void grow(void)
{
	growth.has_grown = true;
	assert_int_equal(write_recording(growth.grown, growth.writer), 0);
	growth.grown->info.samples = 35;
	assert_int_equal(store_writer_commit(growth.writer, &growth.grown->info), 0);
}

/* SQLite calls this whenever a database is opened. */
static int count_open(sqlite3 *db, char **ret_error, const struct sqlite3_api_routines *api)
{
	(void)ret_error, (void)api;
	/* The schema is compared with that of a database in memory, which has no file. */
	if (growth.grown && *sqlite3_db_filename(db, "main") && ++growth.n_opens == 2)
		grow();
	return SQLITE_OK;
}

/* Both sides of a difference are of one recording as it was when the question looked for more of
 * it: what the first side has selected is not closed for the second. */
static void is_compared_with_itself(struct page *p, struct recording *grown, struct store_writer *w)
{
	json_t *answer, *nodes;

	assert_int_equal(sqlite3_auto_extension((void (*)(void))count_open), SQLITE_OK);
	growth.grown = grown;
	growth.writer = w;
	answer = ask(p, "difference?recording=2&base_recording=2&base_from=0&minimum=0");
	growth.grown = NULL;
	sqlite3_reset_auto_extension();
	assert_int_equal(growth.n_opens, 1);
	nodes = json_object_get(answer, "nodes");
	assert_int_equal(
		(int)json_number_value(json_array_get(json_object_get(nodes, "before"), 0)), 7);
	assert_int_equal((int)json_number_value(json_array_get(json_object_get(nodes, "total"), 0)),
			 7);
	json_decref(answer);
	growth.grown = grown;
	if (!growth.has_grown)
		grow();
}

/* Another recording in the same store, and one that grows. */
static void test_web_growing(void **state)
{
	struct recording r = small(), grown = small();
	struct store_writer *w;
	struct page p;
	json_t *answer;
	char *error = NULL;

	(void)state;
	page_open(&p, &r, 1);
	grown.info.finished = false;
	assert_int_equal(store_writer_new(p.path, &grown.info, &w, &error), 0);
	assert_int_equal(write_recording_share(&grown, w, 20), 0);
	grown.info.samples = 7;
	assert_int_equal(store_writer_commit(w, &grown.info), 0);
	selects(&p, "tree?recording=2", 7);
	selects(&p, "tree?recording=1", 35);
	answer = ask(&p, "live?recording=2");
	assert_true(json_is_true(json_object_get(answer, "live")));
	json_decref(answer);
	/* An answer may be as old as a second. */
	sleep(1);
	is_compared_with_itself(&p, &grown, w);
	store_writer_free(w);
	selects(&p, "tree?recording=2", 35);
	selects(&p, "tree?recording=1..2", 70);
	free_recording(&grown);
	page_close(&p);
}

/* --- tables and lanes ------------------------------------------------------------------------- */

static void test_web_functions(void **state)
{
	static const char *const names[] = {"leaf", "app::work()", "do_sys", "main"};
	static const uint64_t self[] = {20, 11, 4, 0}, total[] = {20, 31, 4, 30};
	struct page p;
	json_t *answer, *table;

	(void)state;
	page_small(&p);
	answer = ask(&p, "functions");
	table = json_object_get(answer, "functions");
	/* The fifth is the mark of the incomplete path. */
	assert_int_equal(number(answer, "count"), 5);
	for (size_t i = 0; i < 4; i++) {
		assert_string_equal(string(answer, column(table, "name", i)), names[i]);
		assert_int_equal(column(table, "self", i), self[i]);
		assert_int_equal(column(table, "total", i), total[i]);
		assert_true(fabs(json_number_value(
					 json_array_get(json_object_get(table, "self_error"), i)) -
				 sqrt((double)self[i])) < 0.001);
	}
	json_decref(answer);
	answer = ask(&p, "functions?filter=KALLSYMS&sort=name");
	assert_int_equal(number(answer, "count"), 1);
	json_decref(answer);
	answer = ask(&p, "functions?sort=total&limit=1&offset=1");
	assert_string_equal(string(answer, column(json_object_get(answer, "functions"), "name", 0)),
			    "main");
	json_decref(answer);
	page_close(&p);
}

/* Expands the runs of a lane's states, or regions: a letter for each column. */
static void states_of(const json_t *lane, const char *key, char *ret_states)
{
	const char *at = json_string_value(json_object_get(lane, key));
	unsigned state, n;
	int len;

	assert_non_null(at);
	while (sscanf(at, "%u*%u%n", &state, &n, &len) == 2) {
		memset(ret_states, (int)('0' + state), n);
		ret_states += n;
		at += len;
	}
	*ret_states = '\0';
}

static const json_t *lane_of(const json_t *answer, const char *id)
{
	const json_t *lanes = json_object_get(answer, "lanes");

	for (size_t i = 0; i < json_array_size(lanes); i++) {
		const json_t *lane = json_array_get(lanes, i);

		if (strcmp(json_string_value(json_object_get(lane, "id")), id) == 0)
			return lane;
	}
	return NULL;
}

/* A second: one thread is on the CPU in the first quarter, waits for a futex in the second, and is
 * runnable in the third. Four workers of another process are on the CPU in the last quarter. */
static struct recording quarters(void)
{
	struct store_recording info = usual_recording();
	struct recording r = new_recording(&info);
	const uint32_t prog = add_object(&r, OBJECT_ELF, "/bin/prog");
	const uint32_t reason = add_object(&r, OBJECT_MARK, "[futex]");
	const uint32_t woken = add_object(&r, OBJECT_MARK, "[runnable: woken]");
	const uint32_t work = add_node(&r, 0, add_function(&r, prog, 0x1000, true, "work"));
	const uint32_t futex = add_node(&r, work, add_function(&r, reason, 0, false, "[futex]"));
	const uint32_t runnable =
		add_node(&r, work, add_function(&r, woken, 0, false, "[runnable: woken]"));
	const uint32_t first = add_process(&r, 1, "one"), second = add_process(&r, 2, "pool");
	struct store_sample s = {.end_reason = STACKD_END_ENTRY};
	char name[32];

	add_thread(&r, first, 1, "one");
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "worker-%d", i);
		add_thread(&r, second, 10 + i, name);
	}
	for (unsigned i = 1; i <= 25; i++) {
		s = (struct store_sample){.time_ns = r.info.start_ns + i * 10000000,
					  .period = 10000000,
					  .node = work,
					  .end_reason = STACKD_END_ENTRY};
		put_sample(&r, &s);
		s.time_ns += 750000000;
		for (s.thread = 1; s.thread <= 4; s.thread++)
			put_sample(&r, &s);
	}
	s = (struct store_sample){.time_ns = r.info.start_ns, .end_reason = STACKD_END_ENTRY};
	put_record(&r, SERIES_WAIT_MEAN, &s);
	s.time_ns += 500000000;
	s.period = 250000000;
	s.node = futex;
	put_record(&r, SERIES_WAIT_BLOCKED, &s);
	s.time_ns += 250000000;
	s.node = runnable;
	put_record(&r, SERIES_WAIT_RUNNABLE, &s);
	r.info.samples = r.n_samples;
	r.info.end_ns = r.info.start_ns + 1000000000;
	return r;
}

static void test_web_lanes(void **state)
{
	struct recording r = quarters();
	struct page p;
	char states[64];
	json_t *answer, *names;
	const json_t *lane;

	(void)state;
	page_open(&p, &r, 1);
	answer = ask(&p, "lanes?width=16");
	names = json_object_get(answer, "states");
	assert_string_equal(json_string_value(json_array_get(names, 3)), "[futex]");
	lane = lane_of(answer, "p0");
	assert_non_null(lane);
	states_of(lane, "state", states);
	assert_string_equal(states, "1111333322220000");
	assert_string_equal(json_string_value(json_object_get(lane, "cpu")), "____000000000000");
	/* The other process has one lane for its four threads, which used four CPUs. */
	lane = lane_of(answer, "g1:worker-*");
	assert_non_null(lane);
	assert_true(json_is_true(json_object_get(lane, "folded")));
	assert_int_equal(number(lane, "cpus"), 4);
	assert_string_equal(json_string_value(json_object_get(lane, "cpu")), "000000000000____");
	assert_null(lane_of(answer, "t1"));
	/* The process with most CPU time comes first. */
	assert_ptr_equal(lane_of(answer, "p1"),
			 json_array_get(json_object_get(answer, "lanes"), 0));
	json_decref(answer);

	answer = ask(&p, "lanes?width=16&unfold=g1:worker-*&from=750000000");
	lane = lane_of(answer, "t4");
	assert_non_null(lane);
	assert_string_equal(json_string_value(json_object_get(lane, "cpu")), "________________");
	json_decref(answer);
	answer = ask(&p, "lanes?lanes=1");
	assert_int_equal(number(json_object_get(answer, "left_out"), "lanes"), 2);
	assert_int_equal(number(json_object_get(answer, "left_out"), "cpu_ns"), 250000000);
	json_decref(answer);
	/* What is left out is a process with a pool, whose time counts once. */
	answer = ask(&p, "lanes?lanes=1&sort=name");
	assert_int_equal(number(json_object_get(answer, "left_out"), "lanes"), 2);
	assert_int_equal(number(json_object_get(answer, "left_out"), "cpu_ns"), 1000000000);
	json_decref(answer);
	page_close(&p);
}

/* A second on the CPU, of which the second half is collecting garbage, and each quarter is the pass
 * of a mark. */
static void test_web_lanes_of_a_runtime(void **state)
{
	const struct store_recording info = usual_recording();
	struct recording r = new_recording(&info);
	const uint32_t prog = add_object(&r, OBJECT_ELF, "/bin/python3");
	const uint32_t place = add_object(&r, OBJECT_MARK, "main.c:7");
	const uint32_t work = add_node(&r, 0, add_function(&r, prog, 0x1000, true, "work"));
	const uint32_t collect =
		add_node(&r, work, add_function(&r, prog, 0x2000, true, "gc_collect_main"));
	const uint32_t visit =
		add_node(&r, collect, add_function(&r, prog, 0x3000, true, "visit_decref"));
	const uint32_t mark = add_node(&r, 0, add_location(&r, place, 0, false));
	char states[64];
	struct page p;
	json_t *answer;
	const json_t *lane;

	(void)state;
	add_thread(&r, add_process(&r, 1, "python3"), 1, "python3");
	for (unsigned i = 1; i <= 100; i++)
		put_sample(&r, &(struct store_sample){.time_ns = info.start_ns + i * 10000000,
						      .period = 10000000,
						      .node = i <= 50 ? work : visit,
						      .end_reason = STACKD_END_ENTRY});
	for (unsigned i = 1; i <= 4; i++)
		put_record(&r, SERIES_REGION_TIME,
			   &(struct store_sample){.time_ns = info.start_ns + i * 250000000,
						  .period = 250000000,
						  .node = mark,
						  .end_reason = STACKD_END_ENTRY});
	r.info.samples = r.n_samples;
	r.info.end_ns = info.start_ns + 1000000000;
	page_open(&p, &r, 1);
	answer = ask(&p, "lanes?width=16");
	lane = lane_of(answer, "p0");
	assert_non_null(lane);
	assert_string_equal(json_string_value(json_object_get(lane, "cpu")), "________________");
	assert_string_equal(json_string_value(json_object_get(lane, "gc")), "00000000________");
	states_of(lane, "region", states);
	assert_string_equal(states, "1111111111111111");
	states_of(lane, "marks", states);
	assert_string_equal(states, "1000100010001000");
	json_decref(answer);
	page_close(&p);
}

/* --- one function ----------------------------------------------------------------------------- */

static void test_web_around(void **state)
{
	struct page p;
	json_t *answer, *nodes;

	(void)state;
	page_small(&p);
	answer = ask(&p, "around?function=app::work()&minimum=0");
	assert_int_equal(number(answer, "self"), 11);
	assert_int_equal(number(answer, "function_total"), 31);
	is_whole(answer, "callers");
	is_whole(answer, "callees");
	/* 31 through it; its callee has 20 of them, and its callers are main and the mark. */
	nodes = json_object_get(answer, "callees");
	assert_int_equal(column(nodes, "total", 0), 31);
	assert_int_equal(column(nodes, "total", 1), 20);
	nodes = json_object_get(answer, "callers");
	assert_int_equal(json_array_size(json_object_get(nodes, "parent")), 3);
	nodes = json_array_get(json_object_get(answer, "incomplete"), 0);
	assert_string_equal(json_string_value(json_object_get(nodes, "reason")), "no_recipe");
	assert_int_equal(number(nodes, "samples"), 1);
	nodes = json_object_get(answer, "lines");
	assert_int_equal(column(nodes, "self", 0), 11);
	assert_int_equal(column(nodes, "total", 0), 31);
	json_decref(answer);
	refused(&p, "around", 400, "function");
	refused(&p, "around?function=nowhere", 404, "nowhere");
	refused(&p, "around?function=leaf&object=/bin/none", 404, "leaf");
	refused(&p, "around?function=leaf&threads=t0", 404, "leaf");
	answer = ask(&p, "annotate?function=leaf");
	assert_int_equal(number(answer, "self"), 20);
	assert_int_equal(column(json_object_get(answer, "lines"), "self", 0), 20);
	assert_true(strlen(json_string_value(json_object_get(answer, "problem"))) > 0);
	json_decref(answer);
	page_close(&p);
}

/* Lines with the largest numbers that there are, of a file that is not there. */
static void test_web_last_lines(void **state)
{
	static const uint32_t lines[] = {UINT32_MAX - 20, UINT32_MAX - 5, UINT32_MAX};
	struct store_recording info = usual_recording();
	struct recording r = new_recording(&info);
	const uint32_t prog = add_object(&r, OBJECT_ELF, "/bin/prog");
	struct page p;
	json_t *answer, *table;

	(void)state;
	add_process(&r, 1, "prog");
	add_thread(&r, 0, 1, "prog");
	for (uint32_t i = 0; i < 3; i++) {
		const uint32_t at = add_location(&r, prog, 0x1000 + i, true);

		add_line_of(&r, "/nowhere/prog.cc", lines[i], "work", 0x1000, false);
		add_samples(&r, 0, add_node(&r, 0, at), STACKD_END_ENTRY, i + 1);
	}
	page_open(&p, &r, 1);
	answer = ask(&p, "annotate?function=work");
	table = json_object_get(answer, "lines");
	assert_int_equal(json_array_size(json_object_get(table, "line")), 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(column(table, "line", i), lines[i]);
		assert_int_equal(column(table, "self", i), i + 1);
	}
	json_decref(answer);
	page_close(&p);
}

/* --- differences ------------------------------------------------------------------------------ */

static json_t *function_of(const json_t *answer, const char *name, const char *key)
{
	const json_t *table = json_object_get(answer, "functions");
	const json_t *names = json_object_get(table, "name");

	for (size_t i = 0; i < json_array_size(names); i++)
		if (strcmp(string(answer, column(table, "name", i)), name) == 0)
			return json_array_get(json_object_get(table, key), i);
	return NULL;
}

/* Times and threads are of one recording: in another one they select nothing. */
static void are_of_one_recording(struct page *p)
{
	json_t *answer, *base;
	uint64_t end;

	answer = ask(p, "difference?recording=2&base_recording=1&from=10030090&to=20060180");
	base = json_object_get(answer, "base");
	end = number(base, "end_ns");
	assert_int_equal(number(base, "from"), 0);
	assert_int_equal(number(base, "to"), end);
	assert_int_equal(number(base, "total"), 35);
	json_decref(answer);
	answer = ask(p, "difference?recording=2&base_recording=1&base_from=10030090");
	base = json_object_get(answer, "base");
	assert_int_equal(number(base, "to"), end);
	assert_int_equal(number(base, "total"), 25);
	json_decref(answer);
	refused(p, "difference?recording=2&base_recording=1&threads=t0", 400, "threads");
	answer = ask(p, "difference?recording=2&base_recording=1&threads=t1&base_threads=t0");
	assert_int_equal(number(json_object_get(answer, "base"), "total"), 10);
	json_decref(answer);
	/* The latest recording is recording 2. */
	answer = ask(p, "difference?base_recording=2&threads=t0");
	assert_int_equal(number(json_object_get(answer, "base"), "total"), 10);
	json_decref(answer);
	/* A time ends where the recording does. */
	answer = ask(p, "tree?recording=1&to=999000000000");
	assert_int_equal(number(answer, "to"), end);
	assert_int_equal(number(answer, "total"), 35);
	json_decref(answer);
}

/* Returns a recording of samples of work() in each of two objects, and of other() in the second;
 * NULL: that object is not there. */
static struct recording versions(const struct store_recording *info, const char *first,
				 const char *second, unsigned n)
{
	struct recording r = new_recording(info);
	const char *const paths[] = {first, second};

	add_process(&r, 1, "prog");
	add_thread(&r, 0, 1, "prog");
	for (unsigned i = 0; i < 2 && paths[i]; i++) {
		const uint32_t object = add_object(&r, OBJECT_ELF, paths[i]);
		const uint32_t at = add_location(&r, object, 0x1000, true);

		add_line_of(&r, "/src/prog.c", 7, "work", 0x1000, false);
		add_samples(&r, 0, add_node(&r, 0, at), STACKD_END_ENTRY, n);
	}
	return r;
}

/* A program of another version lies at another path, and has the same functions; of functions of
 * one recording that have one name, each is compared with that of its own object. */
static void test_web_difference_versions(void **state)
{
	struct store_recording info = usual_recording();
	struct recording r[] = {versions(&info, "/opt/1.0/prog", NULL, 10),
				versions(&info, "/opt/1.1/prog", NULL, 30),
				versions(&info, "/opt/1.1/prog", "/opt/tool", 30)};
	struct page p;
	json_t *answer, *table;

	(void)state;
	page_open(&p, r, 3);
	answer = ask(&p, "difference?recording=2&base_recording=1&minimum=0");
	table = json_object_get(answer, "functions");
	assert_int_equal(json_array_size(json_object_get(table, "name")), 1);
	assert_int_equal(json_number_value(function_of(answer, "work", "change")), 20);
	assert_string_equal(string(answer, column(table, "object", 0)), "/opt/1.1/prog");
	assert_int_equal(
		json_array_size(json_object_get(json_object_get(answer, "nodes"), "total")), 2);
	json_decref(answer);
	answer = ask(&p, "difference?recording=3&base_recording=2&minimum=0");
	table = json_object_get(answer, "functions");
	assert_int_equal(json_array_size(json_object_get(table, "name")), 2);
	assert_int_equal(column(table, "change", 0) + column(table, "change", 1), 30);
	json_decref(answer);
	page_close(&p);
}

static void test_web_difference(void **state)
{
	struct recording r[2] = {small(), small()};
	struct page p;
	json_t *answer, *nodes;

	(void)state;
	/* 400 more samples of leaf, and one more in the kernel */
	add_samples(&r[1], 1, 3, STACKD_END_ENTRY, 400);
	add_samples(&r[1], 2, 4, STACKD_END_ENTRY, 1);
	page_open(&p, r, 2);
	answer = ask(&p, "difference?recording=2&base_recording=1&minimum=0");
	nodes = json_object_get(answer, "nodes");
	assert_int_equal(
		(int)json_number_value(json_array_get(json_object_get(nodes, "before"), 0)), 35);
	assert_int_equal((int)json_number_value(json_array_get(json_object_get(nodes, "total"), 0)),
			 436);
	assert_int_equal((int)json_number_value(function_of(answer, "leaf", "change")), 400);
	assert_true(fabs(json_number_value(function_of(answer, "leaf", "noise")) - sqrt(440)) <
		    0.01);
	assert_int_equal(json_integer_value(function_of(answer, "leaf", "significant")), 1);
	assert_int_equal((int)json_number_value(function_of(answer, "do_sys", "change")), 1);
	assert_int_equal(json_integer_value(function_of(answer, "do_sys", "significant")), 0);
	json_decref(answer);
	/* A selection differs from itself in nothing. */
	answer = ask(&p, "difference?recording=2&per=share");
	assert_int_equal((int)json_number_value(function_of(answer, "leaf", "change")), 0);
	json_decref(answer);
	/* from one part of the time to another, per second: the first 10 samples are of thread 0 */
	answer = ask(&p, "difference?recording=1&from=10030090&to=30090270&base_from=0&"
			 "base_to=10030090&per=second");
	assert_int_equal((int)(json_number_value(function_of(answer, "leaf", "after")) + 0.5), 997);
	assert_int_equal((int)json_number_value(function_of(answer, "leaf", "before")), 0);
	json_decref(answer);
	are_of_one_recording(&p);
	refused(&p, "difference?base_recording=3", 404, "no such recording");
	refused(&p, "difference?base_from=x", 400, "base_from");
	page_close(&p);
}

/* --- waits, regions, heap, log ---------------------------------------------------------------- */

static void test_web_waits(void **state)
{
	struct recording r = quarters();
	struct page p;
	json_t *answer, *table;

	(void)state;
	page_open(&p, &r, 1);
	answer = ask(&p, "wakers");
	assert_int_equal(number(answer, "total"), 500000000);
	table = json_object_get(answer, "reasons");
	assert_string_equal(string(answer, column(table, "name", 0)), "[futex]");
	assert_int_equal(column(table, "ns", 0), 250000000);
	assert_int_equal(column(table, "waits", 0), 1);
	table = json_object_get(answer, "longest");
	assert_int_equal(json_array_size(json_object_get(table, "begin")), 2);
	assert_int_equal(column(table, "begin", 0), 250000000);
	assert_int_equal(column(table, "end", 0), 500000000);
	table = json_object_get(answer, "chains");
	assert_int_equal(column(table, "ns", 0), 250000000);
	json_decref(answer);
	/* What a recording lacks is empty. */
	answer = ask(&p, "heap");
	assert_int_equal(json_array_size(json_object_get(answer, "processes")), 0);
	json_decref(answer);
	answer = ask(&p, "regions");
	assert_int_equal(number(answer, "total"), 0);
	json_decref(answer);
	page_close(&p);
}

static void put_value(struct recording *r, enum metric_series series, uint64_t ms, uint64_t value)
{
	put_record(r, series,
		   &(struct store_sample){.time_ns = r->info.start_ns + ms * 1000000,
					  .period = value,
					  .node = 2,
					  .end_reason = STACKD_END_ENTRY});
}

/* Two passes through work(), 2 ms and 4 ms; 1,000 bytes that are freed, and 300 that are not. */
static void test_web_regions_and_heap(void **state)
{
	struct recording r = small();
	struct page p;
	char states[64];
	json_t *answer, *table;

	(void)state;
	put_value(&r, SERIES_REGION_TIME, 10, 2000000);
	put_value(&r, SERIES_REGION_TIME, 20, 4000000);
	put_value(&r, SERIES_ALLOC_BYTES, 1, 1000);
	put_value(&r, SERIES_ALLOC_BYTES, 4, 300);
	put_value(&r, SERIES_FREED_BYTES, 3, 1000);
	put_value(&r, SERIES_FREED_AGE, 3, 2000000);
	add_counter(&r, "lost_ring", 5);
	add_counter(&r, STORE_REGION_OFF "app::work()", r.info.start_ns + 7);
	page_open(&p, &r, 1);
	answer = ask(&p, "regions");
	table = json_object_get(answer, "regions");
	assert_string_equal(string(answer, column(table, "name", 0)), "app::work()");
	assert_int_equal(column(table, "visits", 0), 2);
	assert_int_equal(column(table, "most_ns", 0), 4000000);
	json_decref(answer);
	/* The passes ended at 10 and 20 ms, and were 2 and 4 ms long. */
	answer = ask(&p, "lanes?width=20&to=20000000");
	states_of(lane_of(answer, "t0"), "region", states);
	assert_string_equal(states, "00000000110000001111");
	json_decref(answer);
	answer = ask(&p, "heap?width=10");
	assert_int_equal(number(answer, "total"), 300);
	table = json_array_get(json_object_get(answer, "processes"), 0);
	assert_int_equal(number(table, "allocated"), 1300);
	assert_int_equal(number(table, "freed"), 1000);
	table = json_object_get(answer, "paths");
	assert_int_equal((int)json_number_value(json_array_get(json_object_get(table, "live"), 0)),
			 300);
	json_decref(answer);
	answer = ask(&p, "log");
	table = json_object_get(answer, "counters");
	assert_int_equal(json_array_size(table), 1);
	assert_string_equal(json_string_value(json_object_get(json_array_get(table, 0), "group")),
			    "loss");
	table = json_array_get(json_object_get(answer, "events"), 0);
	assert_int_equal(number(table, "ns"), 7);
	json_decref(answer);
	page_close(&p);
}

/* --- limits ----------------------------------------------------------------------------------- */

/* Functions with names of 4 MB, of markup, of bidirectional controls, and of bytes that are no
 * UTF-8. */
static void test_web_hostile_names(void **state)
{
	struct store_recording info = usual_recording();
	struct recording r = new_recording(&info);
	const uint32_t prog = add_object(&r, OBJECT_ELF, "/bin/<script>alert(1)</script>");
	const size_t len = 4 << 20;
	char *name = malloc(len + 1);
	struct page p;
	json_t *answer;

	(void)state;
	assert_non_null(name);
	memset(name, 'x', len);
	for (size_t i = 0; i + 2 < len; i += 3)
		memcpy(name + i, "\u00e4<", 3);
	name[len] = '\0';
	add_process(&r, 1, "</script>\xe2\x80\xae");
	add_thread(&r, 0, 1, "</script>\xe2\x80\xae");
	add_samples(&r, 0, add_node(&r, 0, add_function(&r, prog, 0x1000, true, name)),
		    STACKD_END_ENTRY, 3);
	add_samples(&r, 0,
		    add_node(&r, 0,
			     add_function(&r, prog, 0x2000, true, "\xe2\x80\xae\x1b[31m\xff<b>")),
		    STACKD_END_ENTRY, 2);
	free(name);
	page_open(&p, &r, 1);
	answer = ask(&p, "tree");
	has(answer, 2, 2, PATH("\\xe2\\x80\\xae\\x1b[31m\\xff<b>"));
	json_decref(answer);
	json_decref(ask(&p, "around?function=\\xe2\\x80\\xae\\x1b[31m\\xff<b>"));
	json_decref(ask(&p, "difference?to=1000000"));
	answer = ask(&p, "functions");
	assert_true(asprintf(&name, "around?function=%s", string(answer, 1)) > 0);
	json_decref(answer);
	answer = ask(&p, name);
	assert_int_equal(number(answer, "self"), 3);
	json_decref(answer);
	free(name);
	json_decref(ask(&p, "lanes"));
	json_decref(ask(&p, "recordings"));
	page_close(&p);
}

/* A tree that is far too large for an answer: its minimum is raised, and nothing is lost. */
static void test_web_large_tree(void **state)
{
	struct store_recording info = usual_recording();
	struct recording r = new_recording(&info);
	const uint32_t prog = add_object(&r, OBJECT_ELF, "/bin/prog");
	uint32_t functions[200];
	char name[200];
	struct page p;
	json_t *answer;

	(void)state;
	add_process(&r, 1, "wide");
	add_thread(&r, 0, 1, "wide");
	for (uint32_t i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "%0150u<<<<", i);
		functions[i] = add_function(&r, prog, 0x1000 + i * 0x100, true, name);
	}
	for (uint32_t i = 0; i < 200; i++) {
		const uint32_t caller = add_node(&r, 0, functions[i]);

		for (uint32_t j = 0; j < 200; j++)
			add_samples(&r, 0, add_node(&r, caller, functions[j]), STACKD_END_ENTRY,
				    1 + (i + j) % 2);
	}
	page_open(&p, &r, 1);
	answer = ask(&p, "tree?minimum=0");
	assert_int_equal(number(answer, "total"), 60000);
	assert_true(json_number_value(json_object_get(answer, "minimum")) > 0);
	is_whole(answer, "nodes");
	assert_int_equal(column(json_object_get(answer, "nodes"), "total", 0), 60000);
	json_decref(answer);
	json_decref(ask(&p, "functions?limit=2000"));
	page_close(&p);
}

/* --- any questions ---------------------------------------------------------------------------- */

/* A value of a parameter: one that exists, or something else. */
static void random_value(char *ret_value, size_t size)
{
	static const char *const values[] = {"",
					     "0",
					     "1",
					     "2",
					     "-1",
					     "t0",
					     "t1",
					     "p0",
					     "p1",
					     "g0:*",
					     "cpu",
					     "wait",
					     "wall",
					     "heap.live",
					     "region.time",
					     "main",
					     "work",
					     "leaf",
					     "*",
					     "?",
					     "down",
					     "callers",
					     "process",
					     "thread",
					     "name",
					     "10000000",
					     "1..2",
					     "2..2",
					     "0.1",
					     "1e-9",
					     "second",
					     "share",
					     "fold",
					     "%n%s%n",
					     "\\x1b",
					     "\xff\xfe",
					     "<b>",
					     "\xe2\x80\xae",
					     "99999999999",
					     "command"};
	size_t n = fixture_random(12);

	if (fixture_random(8)) {
		snprintf(ret_value, size, "%s",
			 values[fixture_random(sizeof(values) / sizeof(*values))]);
		return;
	}
	for (size_t i = 0; i < n; i++)
		ret_value[i] = (char)(1 + fixture_random(255));
	ret_value[n] = '\0';
}

/* Questions with any parameters get an answer or an error, which are JSON of at most the size, and
 * leave nothing behind that changes a later answer. */
static void test_web_any_questions(void **state)
{
	static const char *const names[] = {
		"recordings", "live", "lanes",	    "tree", "functions", "around", "wakers",
		"regions",    "heap", "difference", "log",  "annotate",	 "fold",   ""};
	static const char *const parameters[] = {
		"recording", "metric",	       "from",	    "to",
		"threads",   "focus",	       "ignore",    "inlined",
		"inferred",  "recursion",      "direction", "by",
		"minimum",   "under",	       "sort",	    "filter",
		"limit",     "offset",	       "function",  "object",
		"base_to",   "base_recording", "per",	    "older",
		"width",     "base_from",      "unfold",    "lanes",
		"time",	     "region"};
	const uint64_t n = by_length(300, 20000);
	struct recording r[2] = {quarters(), small()};
	struct page p;

	(void)state;
	page_open(&p, r, 2);
	fixture_seed = 1;
	for (uint64_t i = 0; i < n; i++) {
		char values[4][32];
		struct web_parameter list[4];
		struct web_question question = {
			.name = names[fixture_random(sizeof(names) / sizeof(*names))],
			.parameters = list,
			.n_parameters = fixture_random(5)};
		struct buf b = {0};
		json_t *answer;
		int status;

		for (size_t k = 0; k < question.n_parameters; k++) {
			random_value(values[k], sizeof(values[k]));
			list[k] = (struct web_parameter){
				parameters[fixture_random(sizeof(parameters) /
							  sizeof(*parameters))],
				values[k]};
		}
		status = web_answer(p.web, &question, &b);
		assert_true(status == 200 || status == 400 || status == 404);
		assert_true(b.len <= WEB_ANSWER_MAX);
		answer = json_loadb((const char *)b.data, b.len, 0, NULL);
		assert_non_null(answer);
		json_decref(answer);
		buf_free(&b);
	}
	selects(&p, "tree?recording=2", 35);
	selects(&p, "tree?recording=1", 1250); /* each stands for ten periods */
	page_close(&p);
}

/* Windows of an hour of random samples, some of whose paths may be completed. */
static void write_hours(const char *path, unsigned n)
{
	struct store_recording info = fixture_info();
	struct store_writer *w = NULL;

	info.run = 1;
	for (unsigned i = 0; i < n; i++) {
		struct recording r = fixture_make(1500, 400, i % 2 + 1);

		info.start_unix_ns = (UINT64_C(1700000000) + 3600 * i) * 1000000000;
		assert_int_equal(i ? store_writer_next_window(w, &info)
				   : store_writer_new(path, &info, &w, NULL),
				 0);
		fixture_put(&r, w, 100);
		info.end_ns = info.start_ns + UINT64_C(3600000000000);
		assert_int_equal(store_writer_commit(w, &info), 0);
		free_recording(&r);
	}
	store_writer_free(w);
}

/* The page counts the samples of a log, other views those of the store: for recordings on their
 * own, for several with gaps between them, and for part of these, both are the same. */
static void test_web_counts_as_views_do(void **state)
{
	static const struct store_range ranges[] = {
		{.first = 1, .last = 1},
		{.first = 1, .last = 4},
		{.from_unix_ns = UINT64_C(1700003600) * 1000000000,
		 .to_unix_ns = UINT64_C(1700007201) * 1000000000},
	};
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	uint64_t samples = 0, reconstructed = 0;

	(void)state;
	write_hours(path, 4);
	for (size_t k = 0; k < sizeof(ranges) / sizeof(*ranges); k++) {
		struct store_reader *r;
		struct sample_log *log;
		uint64_t length;

		assert_int_equal(store_reader_open_range(path, &ranges[k], &r, NULL), 0);
		assert_int_equal(sample_log_new(r, SIZE_MAX, NULL, &log), 0);
		length = sample_log_view(log).times[sample_log_view(log).count - 1] -
			 store_reader_tables(r)->recording.start_ns;
		for (unsigned i = 0; i < 12; i++) {
			const uint64_t from = fixture_random(length);
			bool *threads = calloc(store_reader_tables(r)->n_threads, 1);
			const struct profile_filter filter = {
				.from_ns = i % 3 ? from : 0,
				.to_ns = i % 4 ? from + 1 + fixture_random(length - from) : 0,
				.threads = i % 2 ? threads : NULL};

			for (uint32_t t = 0; t < store_reader_tables(r)->n_threads; t++)
				threads[t] = fixture_random(2);
			samples += same_profile(r, log, filter, &reconstructed);
			free(threads);
		}
		sample_log_free(log);
		store_reader_close(r);
	}
	assert_true(samples > 1500);
	free(path);
	fixture_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_web_tree),
		cmocka_unit_test(test_web_tree_of_callers),
		cmocka_unit_test(test_web_parts_of_a_tree),
		cmocka_unit_test(test_web_selections),
		cmocka_unit_test(test_web_errors),
		cmocka_unit_test(test_web_store_deleted),
		cmocka_unit_test(test_web_stopped),
		cmocka_unit_test(test_web_growing),
		cmocka_unit_test(test_web_functions),
		cmocka_unit_test(test_web_lanes),
		cmocka_unit_test(test_web_lanes_of_a_runtime),
		cmocka_unit_test(test_web_around),
		cmocka_unit_test(test_web_last_lines),
		cmocka_unit_test(test_web_difference),
		cmocka_unit_test(test_web_difference_versions),
		cmocka_unit_test(test_web_waits),
		cmocka_unit_test(test_web_regions_and_heap),
		cmocka_unit_test(test_web_hostile_names),
		cmocka_unit_test(test_web_large_tree),
		cmocka_unit_test(test_web_any_questions),
		cmocka_unit_test(test_web_counts_as_views_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
