/* SPDX-License-Identifier: MIT */
/* The codecs: round trips at the limits, and forged blobs. */
#include "store_fixture.h"

#include <errno.h>

#include "store/chunk.h"
#include "store/sample_codec.h"
#include "store/table_codec.h"

/* --- framing -------------------------------------------------------------------------------- */

static void chunk_round_trip(void **state)
{
	struct buf columns[3] = {0}, blob = {0};
	struct chunk chunk;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		buf_put_u8(&columns[0], 7);
		buf_put_varint(&columns[2], i);
	}
	assert_int_equal(chunk_pack(columns, 3, CHUNK_LEVEL_FULL, &blob), 0);
	assert_int_equal(chunk_unpack(blob.data, blob.len, 3, &chunk), 0);
	assert_false(chunk_done(&chunk));
	for (unsigned i = 0; i < 1000; i++) {
		assert_int_equal(buf_get_u8(&chunk.column[0]), 7);
		assert_int_equal(buf_get_varint(&chunk.column[2]), i);
	}
	assert_true(chunk_done(&chunk));
	buf_get_u8(&chunk.column[1]);
	assert_false(chunk_done(&chunk));
	chunk_release(&chunk);
	assert_int_equal(chunk_unpack(blob.data, blob.len, 2, &chunk), -EBADMSG);
	assert_int_equal(chunk_unpack(blob.data, blob.len, 4, &chunk), -EBADMSG);
	assert_int_equal(chunk_unpack(NULL, 0, 1, &chunk), -EBADMSG);
	for (unsigned i = 0; i < 3; i++)
		buf_free(&columns[i]);
	buf_free(&blob);
}

/* Any cut and any flipped byte: an error or columns, never a crash. */
static void chunk_damaged(void **state)
{
	struct buf columns[2] = {0}, blob = {0};
	struct chunk chunk;

	(void)state;
	fixture_seed = 99;
	for (unsigned i = 0; i < 300; i++) {
		buf_put_u8(&columns[0], (uint8_t)fixture_random(256));
		buf_put_u8(&columns[1], (uint8_t)fixture_random(4));
	}
	assert_int_equal(chunk_pack(columns, 2, CHUNK_LEVEL_TAIL, &blob), 0);
	for (size_t len = 0; len < blob.len; len++)
		assert_int_equal(chunk_unpack(blob.data, len, 2, &chunk), -EBADMSG);
	for (size_t at = 0; at < blob.len; at++) {
		blob.data[at] ^= (uint8_t)(1 + fixture_random(255));
		if (chunk_unpack(blob.data, blob.len, 2, &chunk) == 0)
			chunk_release(&chunk);
	}
	for (unsigned i = 0; i < 2; i++)
		buf_free(&columns[i]);
	buf_free(&blob);
}

/* A column that would unpack to more than the limit is refused by what it declares. */
static void chunk_bomb(void **state)
{
	struct buf column = {0}, blob = {0};
	struct chunk chunk;

	(void)state;
	column.data = calloc(1, CHUNK_COLUMN_MAX + 1);
	column.len = column.cap = CHUNK_COLUMN_MAX + 1;
	assert_non_null(column.data);
	assert_int_equal(chunk_pack(&column, 1, CHUNK_LEVEL_TAIL, &blob), 0);
	assert_true(blob.len < 10000);
	assert_int_equal(chunk_unpack(blob.data, blob.len, 1, &chunk), -EBADMSG);
	buf_free(&column);
	buf_free(&blob);
}

static void chunk_pack_of_failed_column(void **state)
{
	struct buf column = {.failed = true}, blob = {0};

	(void)state;
	assert_int_equal(chunk_pack(&column, 1, CHUNK_LEVEL_TAIL, &blob), -ENOMEM);
	buf_free(&blob);
}

/* --- samples -------------------------------------------------------------------------------- */

static int chunk_compare_samples(const void *a, const void *b)
{
	const struct store_sample *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

static bool chunk_same_sample(const struct store_sample *a, const struct store_sample *b)
{
	return a->time_ns == b->time_ns && a->period == b->period && a->thread == b->thread &&
	       a->node == b->node && a->cpu == b->cpu && a->end_reason == b->end_reason &&
	       a->origin == b->origin;
}

static void chunk_check_samples(struct store_sample *s, size_t count)
{
	struct store_sample *decoded = calloc(count + 1, sizeof(*decoded));
	struct buf blob = {0};

	assert_int_equal(sample_codec_encode(s, count, CHUNK_LEVEL_TAIL, &blob), 0);
	assert_int_equal(sample_codec_decode(blob.data, blob.len, count, decoded), 0);
	qsort(s, count, sizeof(*s), chunk_compare_samples);
	for (size_t i = 0; i < count; i++)
		assert_true(chunk_same_sample(&s[i], &decoded[i]));
	assert_int_equal(sample_codec_decode(blob.data, blob.len, count + 1, decoded), -EBADMSG);
	if (count > 1)
		assert_int_equal(sample_codec_decode(blob.data, blob.len, count - 1, decoded),
				 -EBADMSG);
	assert_int_equal(sample_codec_decode(blob.data, blob.len, 0, decoded), -EBADMSG);
	buf_free(&blob);
	free(decoded);
}

static void chunk_samples_of_many_kinds(void **state)
{
	static struct store_sample s[3000];

	(void)state;
	fixture_seed = 5;
	for (unsigned round = 0; round < 40; round++) {
		size_t count = 1 + fixture_random(round < 10 ? 3 : 3000);
		uint64_t time = round % 3 ? fixture_random(UINT64_MAX / 2) : 0;
		uint64_t threads = 1 + fixture_random(20);

		for (size_t i = 0; i < count; i++) {
			/* times: equal, jittering about a period, or far apart */
			time += round % 4 == 0 ? 0 : 1000000 + fixture_random(3000);
			if (fixture_random(500) == 0)
				time += fixture_random(UINT64_C(1) << 40);
			/* one thread: the order of equal samples is kept; distinct otherwise */
			s[i] = (struct store_sample){
				.time_ns = time,
				.period = round % 2 ? 1 : fixture_random(UINT64_MAX),
				.thread = round % 4 == 0 ? (uint32_t)i * 1000
							 : (uint32_t)fixture_random(threads),
				.node = (uint32_t)fixture_random(round % 5 ? 300 : UINT32_MAX),
				.cpu = (uint16_t)fixture_random(round % 3 ? 2 : 65536),
				.end_reason = (uint8_t)fixture_random(round % 2 ? 2 : 256),
				.origin = round % 3 ? 0 : (uint32_t)fixture_random(UINT32_MAX)};
		}
		chunk_check_samples(s, count);
	}
}

static void chunk_samples_at_the_edges(void **state)
{
	struct store_sample s[] = {
		{.time_ns = 0, .period = 0, .thread = 0, .node = 0},
		{.time_ns = 0, .period = UINT64_MAX, .thread = UINT32_MAX, .node = UINT32_MAX},
		{.time_ns = UINT64_MAX, .thread = 0, .cpu = 65535, .end_reason = 255},
		{.time_ns = UINT64_MAX, .thread = 3, .node = UINT32_MAX, .origin = UINT32_MAX},
	};

	(void)state;
	chunk_check_samples(s, 4);
	chunk_check_samples(s, 1);
}

static void chunk_sort_is_stable(void **state)
{
	static struct store_sample s[5000];

	(void)state;
	fixture_seed = 6;
	for (unsigned round = 0; round < 20; round++) {
		size_t count = fixture_random(5000);

		for (size_t i = 0; i < count; i++)
			s[i] = (struct store_sample){.time_ns = fixture_random(1 + round * 100),
						     .node = (uint32_t)i};
		assert_int_equal(sample_codec_sort(s, count), 0);
		for (size_t i = 1; i < count; i++)
			assert_true(
				s[i - 1].time_ns < s[i].time_ns ||
				(s[i - 1].time_ns == s[i].time_ns && s[i - 1].node < s[i].node));
	}
}

/* Valid zstd frames with random content. */
static void chunk_samples_hostile(void **state)
{
	static struct store_sample decoded[SAMPLE_CODEC_MAX];

	(void)state;
	fixture_seed = 7;
	for (unsigned round = 0; round < 3000; round++) {
		struct buf columns[11] = {0}, blob = {0};

		for (unsigned c = 0; c < 11; c++) {
			size_t len = fixture_random(round % 2 ? 40 : 4);

			while (len--)
				buf_put_u8(&columns[c],
					   (uint8_t)(fixture_random(3) ? fixture_random(3)
								       : fixture_random(256)));
		}
		assert_int_equal(chunk_pack(columns, 11, CHUNK_LEVEL_TAIL, &blob), 0);
		sample_codec_decode(blob.data, blob.len, 1 + fixture_random(5), decoded);
		sample_codec_decode(blob.data, blob.len, SAMPLE_CODEC_MAX, decoded);
		for (unsigned c = 0; c < 11; c++)
			buf_free(&columns[c]);
		buf_free(&blob);
	}
	assert_int_equal(sample_codec_decode("", 0, SAMPLE_CODEC_MAX + 1, decoded), -EBADMSG);
}

/* --- nodes ---------------------------------------------------------------------------------- */

static void chunk_check_nodes(const struct store_node *nodes, size_t count, uint32_t locations)
{
	struct buf columns[NODE_COLUMNS] = {0}, blob = {0};
	struct node_coder put, get;
	struct chunk chunk;

	assert_int_equal(node_coder_init(&put), 0);
	assert_int_equal(node_coder_init(&get), 0);
	for (size_t i = 1; i < count; i++)
		assert_int_equal(node_put(&put, columns, &nodes[i]), 0);
	assert_int_equal(chunk_pack(columns, NODE_COLUMNS, CHUNK_LEVEL_TAIL, &blob), 0);
	assert_int_equal(chunk_unpack(blob.data, blob.len, NODE_COLUMNS, &chunk), 0);
	for (size_t i = 1; i < count; i++)
		assert_int_equal(node_get(&get, chunk.column, locations), 0);
	assert_true(chunk_done(&chunk));
	assert_int_equal(get.nodes.count, count);
	for (size_t i = 1; i < count; i++) {
		assert_int_equal(get.nodes.items[i].parent, nodes[i].parent);
		assert_int_equal(get.nodes.items[i].location, nodes[i].location);
	}
	chunk_release(&chunk);
	for (unsigned c = 0; c < NODE_COLUMNS; c++)
		buf_free(&columns[c]);
	buf_free(&blob);
	node_coder_fini(&put);
	node_coder_fini(&get);
}

static void chunk_origins_hostile(void **state)
{
	static struct origin_run runs[ORIGIN_MAX_RUNS];
	uint8_t bytes[ORIGIN_COLUMNS][64];

	(void)state;
	fixture_seed = 10;
	for (unsigned round = 0; round < 5000; round++) {
		struct buf_reader columns[ORIGIN_COLUMNS];
		struct origin origin;

		for (unsigned c = 0; c < ORIGIN_COLUMNS; c++) {
			for (unsigned i = 0; i < 64; i++)
				bytes[c][i] = (uint8_t)(fixture_random(2) ? fixture_random(6)
									  : fixture_random(256));
			columns[c] = buf_reader(bytes[c], 64);
		}
		while (origin_get(columns, runs, &origin) == 0) {
			assert_true(origin.n_runs >= 1 && origin.n_runs <= ORIGIN_MAX_RUNS);
			for (uint32_t i = 0; i < origin.n_runs; i++)
				assert_true(runs[i].frames && runs[i].confidence <= 100 &&
					    runs[i].source < FRAME_SOURCE_COUNT);
		}
	}
}

/* A deep recursion, stars at its top and bottom, and parents at random. */
static void chunk_nodes_of_many_shapes(void **state)
{
	enum { COUNT = 4000 };
	static struct store_node nodes[COUNT];

	(void)state;
	fixture_seed = 8;
	for (uint32_t i = 1; i < COUNT; i++)
		nodes[i] = (struct store_node){.parent = i - 1, .location = i % 3};
	chunk_check_nodes(nodes, COUNT, 3);
	for (uint32_t i = 2000; i < COUNT; i++)
		nodes[i] = (struct store_node){.parent = i % 2 ? 1999 : 5, .location = i};
	chunk_check_nodes(nodes, COUNT, COUNT);
	for (uint32_t i = 1; i < COUNT; i++)
		nodes[i] = (struct store_node){.parent = (uint32_t)fixture_random(i),
					       .location = (uint32_t)fixture_random(300000)};
	chunk_check_nodes(nodes, COUNT, 300000);
	for (uint32_t i = 1; i < COUNT; i++) /* up 250 to 260 steps, about the limit of one byte */
		nodes[i] = (struct store_node){
			.parent = i < 300 || i % 2 ? i - 1 : i - 250 - i % 11, .location = i};
	chunk_check_nodes(nodes, COUNT, COUNT);
}

static void chunk_nodes_hostile(void **state)
{
	uint8_t bytes[NODE_COLUMNS][64];

	(void)state;
	fixture_seed = 9;
	for (unsigned round = 0; round < 5000; round++) {
		struct buf_reader columns[NODE_COLUMNS];
		struct node_coder get;

		assert_int_equal(node_coder_init(&get), 0);
		for (unsigned c = 0; c < NODE_COLUMNS; c++) {
			for (unsigned i = 0; i < 64; i++)
				bytes[c][i] = (uint8_t)(fixture_random(2) ? fixture_random(6)
									  : fixture_random(256));
			columns[c] = buf_reader(bytes[c], 64);
		}
		while (get.nodes.count < 200 && node_get(&get, columns, 50) == 0) {
			const struct store_node *n = &get.nodes.items[get.nodes.count - 1];

			assert_true(n->location < 50 && n->parent < get.nodes.count - 1);
		}
		node_coder_fini(&get);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunk_round_trip),
		cmocka_unit_test(chunk_damaged),
		cmocka_unit_test(chunk_bomb),
		cmocka_unit_test(chunk_pack_of_failed_column),
		cmocka_unit_test(chunk_samples_of_many_kinds),
		cmocka_unit_test(chunk_samples_at_the_edges),
		cmocka_unit_test(chunk_sort_is_stable),
		cmocka_unit_test(chunk_samples_hostile),
		cmocka_unit_test(chunk_origins_hostile),
		cmocka_unit_test(chunk_nodes_of_many_shapes),
		cmocka_unit_test(chunk_nodes_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
