/* SPDX-License-Identifier: MIT */
/*
 * The format of a chunk of samples.
 *
 * Samples of one thread look alike, and come at nearly equal distances; so they are regrouped by
 * thread, and one sort by time restores the order.
 *
 *   column   content
 *   GROUPS   first time, period P; then per thread: number, samples, its first time
 *   STEPS    whole periods since the thread's previous sample: (dt + P/2) / P
 *   LOW, HIGH, REST   what is left of dt, zigzag: bits 0-7, 8-15, the others
 *   NODE_LOW, NODE_HIGH   0: a node that this chunk has not had; else 1 + the number of the
 *            node's first appearance in the chunk
 *   NODES    those nodes: zigzag difference to the previous of them
 *   CPU, END, PERIOD   runs: zigzag difference to the previous value, length; END is the end
 *            reason and, from bit 8 on, the origin, since the two go together
 *
 * P is the median distance (of some). A timer's samples stand a whole number of periods apart, give
 * or take some microseconds of latency, so steps are nearly all 1 and what is left is small; its
 * low byte is noise, and stands alone so that it does not disturb the entropy coding of the others.
 * Programs of few paths repeat nodes: a repetition costs the entropy of its path. Programs of
 * many paths make new nodes, which the trie numbers in order: their differences are small.
 *
 * Rejected: times in units coarser than 1 ns (64 ns would save 0.75 bytes a sample, and the order
 * of samples on two CPUs); differences of node numbers without the dictionary (twice the size for
 * programs of few paths).
 */
#include "store/sample_codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "store/chunk.h"

enum sample_column {
	COLUMN_GROUPS,
	COLUMN_STEPS,
	COLUMN_LOW,
	COLUMN_HIGH,
	COLUMN_REST,
	COLUMN_NODE_LOW,
	COLUMN_NODE_HIGH,
	COLUMN_NODES,
	COLUMN_CPU,
	COLUMN_END,
	COLUMN_PERIOD,
	COLUMN_COUNT
};

_Static_assert(COLUMN_COUNT <= CHUNK_MAX_COLUMNS, "a chunk holds the columns of samples");
_Static_assert(SAMPLE_CODEC_MAX < 65536, "a node's first appearance fits two bytes");

/* --- order ---------------------------------------------------------------------------------- */

void sample_codec_merge(const struct store_sample *a, size_t n_a, const struct store_sample *b,
			size_t n_b, struct store_sample *ret_merged)
{
	while (n_a && n_b) {
		if (b->time_ns < a->time_ns) {
			*ret_merged++ = *b++;
			n_b--;
		} else {
			*ret_merged++ = *a++;
			n_a--;
		}
	}
	if (n_a)
		memcpy(ret_merged, a, n_a * sizeof(*a));
	if (n_b)
		memcpy(ret_merged + n_a, b, n_b * sizeof(*b));
}

/* Returns the end of the ascending run that starts at `from`. */
static size_t run_end(const struct store_sample *s, size_t from, size_t count)
{
	size_t to = from + 1;

	while (to < count && s[to - 1].time_ns <= s[to].time_ns)
		to++;
	return to;
}

/* Merges the sorted runs of `s` in pairs into `to`. Returns how many runs `s` had. */
static size_t merge_runs(const struct store_sample *s, size_t count, struct store_sample *to)
{
	size_t runs = 0;

	for (size_t from = 0; from < count;) {
		size_t middle = run_end(s, from, count);
		size_t end = middle < count ? run_end(s, middle, count) : count;

		sample_codec_merge(s + from, middle - from, s + middle, end - middle, to + from);
		runs += middle < count ? 2 : 1;
		from = end;
	}
	return runs;
}

int sample_codec_sort(struct store_sample *samples, size_t count)
{
	struct store_sample *other;

	if (count < 2 || run_end(samples, 0, count) == count)
		return 0;
	other = vec_alloc(count, sizeof(*other));
	if (!other)
		return -ENOMEM;
	while (merge_runs(samples, count, other) > 2) {
		if (merge_runs(other, count, samples) <= 2) {
			free(other);
			return 0;
		}
	}
	memcpy(samples, other, count * sizeof(*other));
	free(other);
	return 0;
}

/* --- runs ----------------------------------------------------------------------------------- */

/* State of run-length coding: a column is a list of (value, length). */
struct sample_runs {
	uint64_t value;	   /* value of the current run */
	uint64_t previous; /* value of the run before, which encoding subtracts */
	uint64_t length;
};

static void runs_flush(struct sample_runs *runs, struct buf *column)
{
	if (!runs->length)
		return;
	buf_put_svarint(column, (int64_t)(runs->value - runs->previous));
	buf_put_varint(column, runs->length);
	runs->previous = runs->value;
	runs->length = 0;
}

static void runs_put(struct sample_runs *runs, struct buf *column, uint64_t value)
{
	if (runs->length && value != runs->value)
		runs_flush(runs, column);
	runs->value = value;
	runs->length++;
}

static uint64_t runs_get(struct sample_runs *runs, struct buf_reader *column)
{
	if (!runs->length) {
		runs->value += (uint64_t)buf_get_svarint(column);
		runs->length = buf_get_varint(column);
		if (!runs->length) {
			column->failed = true;
			return 0;
		}
	}
	runs->length--;
	return runs->value;
}

/* --- nodes ---------------------------------------------------------------------------------- */

/* The nodes of a chunk in order of first appearance, and an open-addressing hash table to find
 * them. */
struct sample_nodes {
	uint32_t *slots; /* number of the node's first appearance + 1; 0: empty */
	uint32_t *nodes;
	size_t mask;
	uint32_t count;
};

static int nodes_init(struct sample_nodes *n, size_t samples)
{
	size_t slots = 16;

	while (slots < samples * 2)
		slots *= 2;
	n->slots = calloc(slots, sizeof(*n->slots));
	n->nodes = vec_alloc(samples, sizeof(*n->nodes));
	n->mask = slots - 1;
	return n->slots && n->nodes ? 0 : -ENOMEM;
}

static void nodes_fini(struct sample_nodes *n)
{
	free(n->slots);
	free(n->nodes);
}

static void nodes_put(struct sample_nodes *n, struct buf *columns, uint32_t node)
{
	size_t at = (node * 0x9e3779b1u) & n->mask;
	uint32_t previous = n->count ? n->nodes[n->count - 1] : 0, symbol;

	while (n->slots[at] && n->nodes[n->slots[at] - 1] != node)
		at = (at + 1) & n->mask;
	symbol = n->slots[at];
	if (!symbol) {
		n->nodes[n->count++] = node;
		n->slots[at] = n->count;
		buf_put_svarint(&columns[COLUMN_NODES], (int64_t)node - previous);
	}
	buf_put_u8(&columns[COLUMN_NODE_LOW], (uint8_t)symbol);
	buf_put_u8(&columns[COLUMN_NODE_HIGH], (uint8_t)(symbol >> 8));
}

static uint32_t nodes_get(struct sample_nodes *n, struct buf_reader *columns)
{
	uint32_t symbol = buf_get_u8(&columns[COLUMN_NODE_LOW]);
	int64_t node;

	symbol |= (uint32_t)buf_get_u8(&columns[COLUMN_NODE_HIGH]) << 8;
	if (symbol) {
		if (symbol <= n->count)
			return n->nodes[symbol - 1];
		columns[COLUMN_NODE_LOW].failed = true;
		return 0;
	}
	node = (int64_t)((n->count ? n->nodes[n->count - 1] : 0) +
			 (uint64_t)buf_get_svarint(&columns[COLUMN_NODES]));
	if (node < 0 || node > UINT32_MAX) {
		columns[COLUMN_NODES].failed = true;
		return 0;
	}
	n->nodes[n->count++] = (uint32_t)node;
	return (uint32_t)node;
}

/* --- encoding ------------------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Returns the samples' (thread, index) keys, sorted. NULL if memory is short. */
static uint64_t *group(const struct store_sample *samples, size_t count)
{
	uint64_t *keys = vec_alloc(count, sizeof(*keys));
	bool sorted = true;

	if (!keys)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		keys[i] = ((uint64_t)samples[i].thread << 32) | i;
		sorted = sorted && (!i || keys[i - 1] < keys[i]);
	}
	if (!sorted)
		qsort(keys, count, sizeof(*keys), compare_keys);
	return keys;
}

/* Returns the median of the distances in time between some consecutive samples of one thread; at
 * least 1. */
static uint64_t median_step(const struct store_sample *samples, const uint64_t *keys, size_t count)
{
	uint64_t steps[256] = {0};
	size_t n = 0, stride = 1 + count / 256;

	for (size_t i = 1; i < count; i += stride) {
		const struct store_sample *s = &samples[(uint32_t)keys[i]];
		const struct store_sample *previous = &samples[(uint32_t)keys[i - 1]];

		if (s->thread == previous->thread)
			steps[n++] = s->time_ns - previous->time_ns;
	}
	qsort(steps, n, sizeof(*steps), compare_keys);
	return n && steps[n / 2] ? steps[n / 2] : 1;
}

static void put_distance(struct buf *columns, uint64_t distance, uint64_t step)
{
	uint64_t steps = distance / step + (distance % step > step / 2);
	int64_t left = (int64_t)(distance - steps * step);
	uint64_t zigzag = ((uint64_t)left << 1) ^ (left < 0 ? UINT64_MAX : 0);

	buf_put_varint(&columns[COLUMN_STEPS], steps);
	buf_put_u8(&columns[COLUMN_LOW], (uint8_t)zigzag);
	buf_put_u8(&columns[COLUMN_HIGH], (uint8_t)(zigzag >> 8));
	buf_put_varint(&columns[COLUMN_REST], zigzag >> 16);
}

static uint64_t get_distance(struct buf_reader *columns, uint64_t step)
{
	uint64_t steps = buf_get_varint(&columns[COLUMN_STEPS]);
	uint64_t zigzag = buf_get_u8(&columns[COLUMN_LOW]);

	zigzag |= (uint64_t)buf_get_u8(&columns[COLUMN_HIGH]) << 8;
	zigzag |= buf_get_varint(&columns[COLUMN_REST]) << 16;
	return steps * step + ((zigzag >> 1) ^ (zigzag & 1 ? UINT64_MAX : 0));
}

static size_t group_end(const uint64_t *keys, size_t from, size_t count)
{
	size_t to = from + 1;

	while (to < count && keys[to] >> 32 == keys[from] >> 32)
		to++;
	return to;
}

static void put_groups(const struct store_sample *samples, const uint64_t *keys, size_t count,
		       uint64_t step, struct buf *columns)
{
	uint32_t thread = 0;

	buf_put_varint(&columns[COLUMN_GROUPS], samples[0].time_ns);
	buf_put_varint(&columns[COLUMN_GROUPS], step);
	for (size_t from = 0; from < count;) {
		size_t to = group_end(keys, from, count);
		const struct store_sample *first = &samples[(uint32_t)keys[from]];

		buf_put_varint(&columns[COLUMN_GROUPS], first->thread - thread);
		buf_put_varint(&columns[COLUMN_GROUPS], to - from);
		buf_put_varint(&columns[COLUMN_GROUPS], first->time_ns - samples[0].time_ns);
		for (size_t i = from + 1; i < to; i++)
			put_distance(columns,
				     samples[(uint32_t)keys[i]].time_ns -
					     samples[(uint32_t)keys[i - 1]].time_ns,
				     step);
		thread = first->thread;
		from = to;
	}
}

static int put_rest(const struct store_sample *samples, const uint64_t *keys, size_t count,
		    struct buf *columns)
{
	struct sample_runs cpu = {0}, end = {0}, period = {0};
	struct sample_nodes nodes = {0};
	int err = nodes_init(&nodes, count);

	for (size_t i = 0; err == 0 && i < count; i++) {
		const struct store_sample *s = &samples[(uint32_t)keys[i]];

		nodes_put(&nodes, columns, s->node);
		runs_put(&cpu, &columns[COLUMN_CPU], s->cpu);
		runs_put(&end, &columns[COLUMN_END], (uint64_t)s->origin << 8 | s->end_reason);
		runs_put(&period, &columns[COLUMN_PERIOD], s->period);
	}
	runs_flush(&cpu, &columns[COLUMN_CPU]);
	runs_flush(&end, &columns[COLUMN_END]);
	runs_flush(&period, &columns[COLUMN_PERIOD]);
	nodes_fini(&nodes);
	return err;
}

int sample_codec_encode(const struct store_sample *samples, size_t count, int level,
			struct buf *ret_blob)
{
	struct buf columns[COLUMN_COUNT] = {0};
	uint64_t *keys = group(samples, count);
	int err = keys ? 0 : -ENOMEM;

	if (err == 0) {
		uint64_t step = median_step(samples, keys, count);

		put_groups(samples, keys, count, step, columns);
		err = put_rest(samples, keys, count, columns);
	}
	if (err == 0)
		err = chunk_pack(columns, COLUMN_COUNT, level, ret_blob);
	for (size_t i = 0; i < COLUMN_COUNT; i++)
		buf_free(&columns[i]);
	free(keys);
	return err;
}

/* --- decoding ------------------------------------------------------------------------------- */

static int get_groups(struct buf_reader *columns, size_t count, struct store_sample *samples)
{
	struct buf_reader *groups = &columns[COLUMN_GROUPS];
	uint64_t base = buf_get_varint(groups), step = buf_get_varint(groups), thread = 0;

	for (size_t from = 0; from < count;) {
		uint64_t n, time;

		thread += buf_get_varint(groups);
		n = buf_get_varint(groups);
		time = base + buf_get_varint(groups);
		if (groups->failed || n == 0 || n > count - from || thread > UINT32_MAX)
			return -EBADMSG;
		for (size_t i = from; i < from + n; i++) {
			if (i > from)
				time += get_distance(columns, step);
			samples[i].time_ns = time;
			samples[i].thread = (uint32_t)thread;
		}
		from += n;
	}
	return 0;
}

static int get_rest(struct buf_reader *columns, size_t count, struct store_sample *samples)
{
	struct sample_runs cpu = {0}, end = {0}, period = {0};
	struct sample_nodes nodes = {0};
	uint64_t over = 0;

	nodes.nodes = vec_alloc(count, sizeof(*nodes.nodes));
	if (!nodes.nodes)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		uint64_t c = runs_get(&cpu, &columns[COLUMN_CPU]);
		uint64_t e = runs_get(&end, &columns[COLUMN_END]);

		samples[i].node = nodes_get(&nodes, columns);
		samples[i].cpu = (uint16_t)c;
		samples[i].end_reason = (uint8_t)e;
		samples[i].origin = (uint32_t)(e >> 8);
		samples[i].period = runs_get(&period, &columns[COLUMN_PERIOD]);
		over |= (c >> 16) | (e >> 40);
	}
	nodes_fini(&nodes);
	return over || cpu.length || end.length || period.length ? -EBADMSG : 0;
}

int sample_codec_decode(const void *blob, size_t len, size_t count,
			struct store_sample *ret_samples)
{
	struct chunk chunk;
	int err;

	if (count == 0 || count > SAMPLE_CODEC_MAX)
		return -EBADMSG;
	err = chunk_unpack(blob, len, COLUMN_COUNT, &chunk);
	if (err < 0)
		return err;
	err = get_groups(chunk.column, count, ret_samples);
	if (err == 0)
		err = get_rest(chunk.column, count, ret_samples);
	if (err == 0 && !chunk_done(&chunk))
		err = -EBADMSG;
	chunk_release(&chunk);
	return err == 0 ? sample_codec_sort(ret_samples, count) : err;
}
