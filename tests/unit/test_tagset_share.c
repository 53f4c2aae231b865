/* SPDX-License-Identifier: MIT */
/*
 * Writes sets of many processes, which are threads here, as one export, and compares it with what
 * one set that holds all of it is written as; the totals are compared with sums made another way.
 * Some objects have one file id, so locations and tags collide, at several depths.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/text.h"
#include "stack/location.h"
#include "tagset/tagset_share.h"

#define MOST 64

/* For threads, which cannot leave a test as assert_true() does. */
static void must(bool is_so)
{
	if (!is_so)
		abort();
}

/* --- threads that are connected --------------------------------------------------------------- */

struct net {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint32_t size;
	struct buf box[MOST][MOST]; /* from, to */
	bool full[MOST][MOST];
	char *file;
	size_t file_size;
};

struct member {
	struct net *net;
	struct router_comm comm;
	const struct tagset *set;
	struct tagset_shared shared;
	int err;
	pthread_t thread;
};

static int net_exchange(void *arg, uint32_t other, const struct buf *out, struct buf *in)
{
	struct member *m = arg;
	struct net *net = m->net;
	uint32_t self = m->comm.rank;
	struct buf *box;

	pthread_mutex_lock(&net->lock);
	while (net->full[self][other]) /* it has not taken the last one yet */
		pthread_cond_wait(&net->changed, &net->lock);
	buf_put(&net->box[self][other], out->data, out->len);
	net->full[self][other] = true;
	pthread_cond_broadcast(&net->changed);
	while (!net->full[other][self])
		pthread_cond_wait(&net->changed, &net->lock);
	box = &net->box[other][self];
	buf_put(in, box->data, box->len);
	buf_clear(box);
	net->full[other][self] = false;
	pthread_cond_broadcast(&net->changed);
	pthread_mutex_unlock(&net->lock);
	return in->failed ? -ENOMEM : 0;
}

static int net_put(void *arg, const struct tagset_part *parts, size_t n, const struct buf *text)
{
	struct member *m = arg;
	const uint8_t *at = text->data;

	pthread_mutex_lock(&m->net->lock);
	for (size_t i = 0; i < n; i++) {
		must(parts[i].offset + parts[i].len <= m->net->file_size);
		for (size_t k = 0; k < parts[i].len; k++)
			must(m->net->file[parts[i].offset + k] == 0);
		if (parts[i].len)
			memcpy(m->net->file + parts[i].offset, at, parts[i].len);
		at += parts[i].len;
	}
	pthread_mutex_unlock(&m->net->lock);
	must(at == text->data + text->len);
	return 0;
}

static void *run(void *arg)
{
	struct member *m = arg;
	const struct tagset_sink sink = {net_put, m};

	m->err = tagset_share(m->set, &m->comm, &sink, &m->shared);
	return NULL;
}

/* --- sums of numbers ---------------------------------------------------------------------------
 */

static void *run_sums(void *arg)
{
	struct member *m = arg;
	uint64_t rank = m->comm.rank, size = m->comm.size, before[3];
	uint64_t sums[] = {1, rank + 5, rank << 40}, most[] = {rank, size - rank, 77};

	must(router_sum(&m->comm, sums, 3, before) == 0);
	must(sums[0] == size && sums[1] == 5 * size + size * (size - 1) / 2 &&
	     sums[2] == (size * (size - 1) / 2) << 40);
	must(before[0] == rank && before[1] == 5 * rank + rank * (rank ? rank - 1 : 0) / 2);
	must(router_largest(&m->comm, most, 3) == 0);
	must(most[0] == size - 1 && most[1] == size && most[2] == 77);
	return NULL;
}

/* --- random exports --------------------------------------------------------------------------- */

#define OBJECTS	  4
#define LOCATIONS 24
#define NODES	  120
#define METRICS	  2

/* Draws the same numbers for the same seed. */
static uint32_t draw(uint64_t *state, uint32_t below)
{
	return (uint32_t)(hash_mix64((*state)++) >> 33) % below;
}

struct world {
	uint64_t file_ids[OBJECTS], ids[LOCATIONS], tags[NODES];
	bool collides;
	uint32_t parents[NODES], locations[NODES], dups[NODES], location_dups[LOCATIONS];
};

/* Objects 1 and 2 have one file id and build-id, and two layouts, so that all ids of locations in
 * them collide. */
static void make_world(struct world *w, bool collides)
{
	uint64_t state = 1;

	memset(w, 0, sizeof(*w));
	w->collides = collides;
	for (uint32_t i = 0; i < OBJECTS; i++)
		w->file_ids[i] = collides && i == 2 ? w->file_ids[1] : hash_mix64(i + 7);
	for (uint32_t i = 0; i < LOCATIONS; i++) {
		w->ids[i] = location_id(w->file_ids[i % OBJECTS], 16 * (i / OBJECTS) + 16);
		for (uint32_t k = 0; k < i; k++)
			w->location_dups[i] += w->ids[k] == w->ids[i];
	}
	for (uint32_t i = 1; i < NODES; i++) {
		uint32_t k;

		do {
			w->parents[i] = draw(&state, i);
			w->locations[i] = draw(&state, LOCATIONS);
			for (k = 1; k < i && (w->parents[k] != w->parents[i] ||
					      w->locations[k] != w->locations[i]);
			     k++)
				;
		} while (k < i);
		w->tags[i] = hash_chain(w->tags[w->parents[i]], w->ids[w->locations[i]]);
		for (k = 1; k < i; k++)
			w->dups[i] += w->tags[k] == w->tags[i];
	}
}

static void put_id(struct buf *b, uint64_t id, uint32_t dup)
{
	text_printf(b, "\t%016llx", (unsigned long long)id);
	if (dup)
		text_printf(b, ".%u", dup);
}

static void put_names(struct buf *b, const struct world *w, uint64_t *state)
{
	for (uint32_t i = 0; i < OBJECTS; i++) {
		text_printf(b, "object\t%u\t%s\t%016llx\tb%u\t/lib/%c%u", i, i ? "elf" : "kernel",
			    (unsigned long long)w->file_ids[i], w->collides && i == 2 ? 1 : i,
			    'a' + draw(state, 3), i);
		if (w->collides && i)
			text_printf(b, "\t%016x", 7 * i);
		text_put_raw(b, "\n");
	}
	for (uint32_t i = 0; i < LOCATIONS; i++) {
		text_put_raw(b, "location");
		put_id(b, w->ids[i], w->location_dups[i]);
		text_printf(b, "\t%u\t%x\tcall\t%s\t\t0\n", i % OBJECTS, 16 * (i / OBJECTS) + 16,
			    draw(state, 2) ? "function" : "");
		for (uint32_t k = draw(state, 3); k--;) {
			text_put_raw(b, "inlined");
			put_id(b, w->ids[i], w->location_dups[i]);
			text_printf(b, "\tinlined%u\tfile.c\t%u\n", k, draw(state, 9));
		}
	}
	for (uint32_t i = 1; i < NODES; i++) {
		text_put_raw(b, "tag");
		put_id(b, w->tags[i], w->dups[i]);
		put_id(b, w->tags[w->parents[i]], w->dups[w->parents[i]]);
		put_id(b, w->ids[w->locations[i]], w->location_dups[w->locations[i]]);
		text_put_raw(b, "\n");
	}
}

/* What the totals must be: by rank, node and metric. */
struct expected {
	uint64_t amount[MOST][NODES][METRICS];
};

/* An export whose processes have ranks below `ranks` (0: none). Recordings of nearby numbers share
 * their start, some all their fields. */
static void put_export(struct buf *b, const struct world *w, uint32_t number, uint32_t ranks,
		       struct expected *expected)
{
	uint64_t state = 1000ull * number;

	text_printf(b, "stackd-tags 1\nrecording\t1\t%u\thost%u\t6.1\tcpu-clock\n",
		    5000 + number / 3 * 7, number / 2);
	put_names(b, w, &state);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t rank = (number / 2 + i) % (ranks ? ranks : 1);
		bool says_rank = ranks && (i == 0 || (i == 1 && number % 2 == 0));
		/* The export before is of the same recording, and says the rank. */
		bool has_rank = says_rank || (ranks && i == 1 && number % 6 != 3);

		text_printf(b, "process\t%u\t%u\t1\tprog\t/bin/prog\n", i, 100 + i);
		if (says_rank)
			text_printf(b, "rank\t%u\t%u\t%u\n", i, rank, ranks);
		for (uint32_t k = 0; k < 40; k++) {
			uint32_t node = draw(&state, NODES), metric = draw(&state, METRICS);
			uint32_t count = 1 + draw(&state, 9), weight = 1 + draw(&state, 1000);

			text_put_raw(b, metric ? "value" : "sample");
			put_id(b, w->tags[node], node ? w->dups[node] : 0);
			text_printf(b, "\t%u\tthread%u%s\t%u\t%u\t%u\tentry\tcomplete\t0\n", i,
				    draw(&state, 2), metric ? "\talloc.bytes" : "", count, weight,
				    100 + draw(&state, 2));
			if (has_rank)
				expected->amount[rank][node][metric] += metric ? weight : count;
		}
	}
	text_put_raw(b, "end\n");
}

static void read_into(struct tagset *set, const struct buf *b)
{
	FILE *in = fmemopen(b->data, b->len, "r");
	char *error = NULL;

	assert_int_equal(tagset_read(set, in, 0, &error), 0);
	fclose(in);
}

/* --- judging ---------------------------------------------------------------------------------- */

/* Of a node and metric, as the line says it; the number of lines in *lines. */
static void judge_total(const char *text, const struct world *w, uint32_t node, uint32_t metric,
			const struct expected *expected, uint32_t ranks, uint32_t *lines)
{
	uint64_t all = 0, least = UINT64_MAX, most = 0, rank = 0, present = 0, found[5];
	struct buf b = {0};
	const char *line;

	for (uint32_t r = 0; r < ranks; r++) {
		uint64_t amount = expected->amount[r][node][metric];

		present += amount > 0;
		all += amount;
		least = amount && amount < least ? amount : least;
		rank = amount > most ? r : rank;
		most = amount > most ? amount : most;
	}
	text_put_raw(&b, "\ntotal");
	put_id(&b, w->tags[node], w->dups[node]);
	text_printf(&b, "\t%s\t%c", metric ? "alloc.bytes" : "cpu", 0);
	line = strstr(text, (const char *)b.data);
	assert_int_equal(line != NULL, present > 0);
	*lines += line != NULL;
	if (line) {
		assert_int_equal(
			sscanf(line + b.len - 1,
			       metric ? "%*u %lu %lu %lu %lu %lu" : "%lu %*u %lu %lu %lu %lu",
			       &found[0], &found[1], &found[2], &found[3], &found[4]),
			5);
		assert_int_equal(found[0], all);
		assert_int_equal(found[1], present);
		assert_int_equal(found[2], least);
		assert_int_equal(found[3], most);
		assert_int_equal(found[4], rank);
	}
	buf_free(&b);
}

static void judge_totals(const char *text, const struct world *w, const struct expected *expected,
			 uint32_t ranks)
{
	uint32_t lines = 0;

	/* Where tags collide the numbers of the file are not those of the world. */
	for (uint32_t node = 0; node < NODES; node++)
		for (uint32_t metric = 0; metric < METRICS; metric++)
			judge_total(text, w, node, metric, expected, ranks, &lines);
	for (const char *at = text; (at = strstr(at, "\ntotal\t")); at++)
		lines--;
	assert_int_equal(lines, 0);
}

static void start(struct member *members, struct tagset **sets, struct net *net,
		  void *(*run_one)(void *arg))
{
	for (uint32_t i = 0; i < net->size; i++) {
		members[i] = (struct member){.net = net, .set = sets ? sets[i] : NULL};
		members[i].comm = (struct router_comm){i, net->size, &members[i], net_exchange};
		assert_int_equal(pthread_create(&members[i].thread, NULL, run_one, &members[i]), 0);
	}
	for (uint32_t i = 0; i < net->size; i++)
		pthread_join(members[i].thread, NULL);
}

/* Each of `size` processes has the exports whose number is its own modulo `size`, of `exports`. */
static void check(uint32_t size, uint32_t exports, uint32_t ranks, bool collides)
{
	static struct member members[MOST];
	struct net *net = calloc(1, sizeof(*net));
	struct expected *expected = calloc(1, sizeof(*expected));
	struct tagset *sets[MOST], *all;
	struct world w;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	make_world(&w, collides);
	assert_int_equal(tagset_new(&all), 0);
	for (uint32_t i = 0; i < size; i++)
		assert_int_equal(tagset_new(&sets[i]), 0);
	for (uint32_t i = 0; i < exports; i++) {
		struct buf b = {0};

		put_export(&b, &w, i, ranks, expected);
		read_into(all, &b);
		read_into(sets[i % size], &b);
		buf_free(&b);
	}
	assert_int_equal(tagset_write(all, out), 0);
	fclose(out);
	*net = (struct net){.lock = PTHREAD_MUTEX_INITIALIZER,
			    .changed = PTHREAD_COND_INITIALIZER,
			    .size = size,
			    .file = calloc(1, len + 1),
			    .file_size = len};
	start(members, sets, net, run);
	for (uint32_t i = 0; i < size; i++) {
		assert_int_equal(members[i].err, 0);
		assert_int_equal(members[i].shared.bytes, len);
		assert_int_equal(members[i].shared.recordings, tagset_recordings(all));
		assert_int_equal(members[i].shared.repeated, tagset_repeated(all));
		tagset_free(sets[i]);
	}
	assert_string_equal(net->file, text);
	if (!collides)
		judge_totals(text, &w, expected, ranks);
	for (uint32_t i = 0; i < size * size; i++)
		buf_free(&net->box[i / size][i % size]);
	tagset_free(all);
	free(net->file);
	free(net);
	free(expected);
	free(text);
}

static void test_sums(void **state)
{
	static struct member members[MOST];

	(void)state;
	for (uint32_t size = 1; size <= 33; size++) {
		struct net *net = calloc(1, sizeof(*net));

		*net = (struct net){.lock = PTHREAD_MUTEX_INITIALIZER,
				    .changed = PTHREAD_COND_INITIALIZER,
				    .size = size};
		start(members, NULL, net, run_sums);
		for (uint32_t i = 0; i < size * size; i++)
			buf_free(&net->box[i / size][i % size]);
		free(net);
	}
}

static void test_one(void **state)
{
	(void)state;
	check(1, 1, 0, false);
	check(1, 5, 3, true);
}

static void test_many(void **state)
{
	static const uint32_t sizes[] = {2, 3, 4, 5, 7, 8, 13, 16, 33, 64};

	(void)state;
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		check(sizes[i], sizes[i] + 3, sizes[i], false);
		check(sizes[i], sizes[i], 0, true);
	}
}

/* Most processes have nothing. */
static void test_few(void **state)
{
	(void)state;
	check(12, 1, 2, false);
	check(12, 5, 8, true);
}

/* Ranks that are in several recordings and processes, and a set of nothing at all. */
static void test_ranks(void **state)
{
	struct tagset *sets[3];
	struct net net = {
		.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .size = 3};
	struct member members[3];

	(void)state;
	check(8, 20, 2, false);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(tagset_new(&sets[i]), 0);
	start(members, sets, &net, run);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(members[i].err, -ENODATA);
		tagset_free(sets[i]);
	}
	for (unsigned i = 0; i < 9; i++)
		buf_free(&net.box[i / 3][i % 3]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),  cmocka_unit_test(test_one),
		cmocka_unit_test(test_many),  cmocka_unit_test(test_few),
		cmocka_unit_test(test_ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
