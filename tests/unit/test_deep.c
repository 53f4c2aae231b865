/* SPDX-License-Identifier: MIT */
/*
 * Deep stacks never come out wrong.
 *
 * As test_prefix.c, with limits so small that the generated threads reach all of them: walks of
 * many parts, marks beyond the leaf, open chains that later walks go on from, walks that exceed the
 * limit of new frames, stacks deeper than is remembered, and threads that take each other's room. A
 * daemon of a few lines puts the paths together as stackd_abi.h says. A complete path must be the
 * true one, and a partial one its leaf part, frame by frame.
 *
 * DEEP_PROGRAMS=N runs N programs instead of a few, DEEP_FIRST=N begins with that one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MAX_FRAMES	   32
#define MAX_MARKS	   32
#define STACKD_DEEP_MOST   300u
#define STACKD_DEEP_NEW	   64u
#define STACKD_DEEP_PLACES 512u
#define STACKD_DEEP_BLOCK  32u
#define DEEP_FEW	   8
#define DEEP_WORTH	   3
#define DEEP_MUCH	   40
#define DEEP_MISSES	   2
#define DEEP_IDLE_NS	   20000
#define DEEP_AT_ONCE	   500ll
#define DEEP_NS_A_FRAME	   10

#include "bpf_shim.h"

#include "../../bpf/stackd.bpf.c"

#include "daemon/capture/record.h"
#include "daemon/capture/record_pool.h"

#include "fake_process.h"
#include "length.h"

#define PROGRAMS     by_length(130, 400)
#define SAMPLES_EACH 300
#define STACKS	     2
#define BLOCKS	     (DEEP_PLACES / DEEP_BLOCK)

static struct outcome {
	uint64_t samples, lost, parts, kept, beyond_leaf, open, joined, closed, wrong, complete,
		out_of_sequence;
} outcome;

/* What is remembered of a thread: root first, or leaf first if it is open. */
struct known {
	uint64_t locations[2 * FAKE_DEPTH];
	uint32_t count;
	uint8_t sequence;
	bool is_open;
};

static struct known known[FAKE_THREADS];
static uint64_t leaf_first[2 * FAKE_DEPTH];
static uint32_t n_leaf_first;
static bool may_lose;
static struct stackd_header *record; /* the last one that is whole; owned */
static struct record_reader *reader;

static long receive(const void *data, size_t size)
{
	struct stackd_header *read = NULL;
	int err;

	if (may_lose && fake_chance(&machine, 20))
		return -1;
	err = record_read(reader, data, size, shim_time_ns, &read);
	outcome.parts += err == 1;
	assert_true(err == 0 || err == 1);
	assert_true(!err == !!read);
	if (read)
		record = read;
	return 0;
}

/* --- the daemon ----------------------------------------------------------------------------- */

static void add_frames(struct record_frames *in)
{
	struct record_frame frame;
	int more;

	while ((more = record_frames_next(in, &frame)) > 0) {
		assert_true(n_leaf_first < 2 * FAKE_DEPTH);
		leaf_first[n_leaf_first++] = location_in(&frame);
	}
	assert_int_equal(more, 0);
}

static void add_known(const struct known *k, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		assert_true(n_leaf_first < 2 * FAKE_DEPTH);
		leaf_first[n_leaf_first++] = k->locations[k->is_open ? i : to - 1 - i + from];
	}
}

/* Puts the path together in leaf_first. false: the record does not build on what is known. *ret_own
 * and *ret_beyond: frames before and behind those of an open walk. */
static bool put_together(const struct known *k, const struct stackd_part *part, uint32_t *ret_own,
			 uint32_t *ret_beyond)
{
	struct record_frames in;
	bool joins = part->flags & STACKD_PART_JOINS;

	n_leaf_first = 0;
	*ret_own = *ret_beyond = 0;
	if ((record->kept || joins) && (record->sequence != (uint8_t)(k->sequence + 1) ||
					k->is_open != joins || record->kept > k->count))
		return false;
	record_frames(record, false, &in);
	if (joins) {
		record_frames_until(record, part->number, &in);
		add_frames(&in);
		*ret_own = n_leaf_first;
		if (part->skipped > k->count)
			return false;
		add_known(k, part->skipped, k->count);
		record_frames_until(record, SIZE_MAX, &in);
		*ret_beyond = n_leaf_first;
		add_frames(&in);
		*ret_beyond = n_leaf_first - *ret_beyond;
	} else {
		add_frames(&in);
		add_known(k, 0, record->kept);
	}
	return true;
}

static void remember(struct known *k, const struct stackd_part *part, uint32_t beyond)
{
	bool is_open = part->flags & STACKD_PART_OPEN;
	const uint64_t *added = leaf_first;
	uint32_t count = n_leaf_first;

	if (part->flags & STACKD_PART_JOINS) {
		added += count - beyond;
		count = beyond;
	} else {
		k->count = 0;
	}
	assert_true(k->count + count <= 2 * FAKE_DEPTH);
	memcpy(k->locations + k->count, added, count * sizeof(*added));
	k->count += count;
	k->is_open = is_open;
	k->sequence = record->sequence;
	for (uint32_t i = 0; !is_open && i < k->count / 2; i++) {
		uint64_t location = k->locations[i];

		k->locations[i] = k->locations[k->count - 1 - i];
		k->locations[k->count - 1 - i] = location;
	}
}

/* --- a sample ------------------------------------------------------------------------------- */

/* Whether leaf_first is the true path, root first in `frames`; or, if it is not complete, its leaf
 * part. */
static bool is_right(const struct fake_frame *frames, uint32_t n)
{
	bool is_complete = record->end_reason == STACKD_END_ENTRY;

	if (is_complete ? n_leaf_first != n : n_leaf_first >= n)
		return false;
	if (!is_complete && record->end_reason != STACKD_END_TOO_DEEP)
		return false;
	for (uint32_t i = 0; i < n_leaf_first; i++) {
		if (leaf_first[i] != location_of(&frames[n - 1 - i]))
			return false;
	}
	return true;
}

static void print_wrong(const struct stackd_part *part, const struct fake_frame *frames, uint32_t n)
{
	fprintf(stderr, "end %u kept %u flags %x; leaf first: is, should be\n", record->end_reason,
		record->kept, part->flags);
	for (uint32_t i = 0; i < n || i < n_leaf_first; i++)
		fprintf(stderr, "%3u %16llx %16llx\n", i,
			(unsigned long long)(i < n_leaf_first ? leaf_first[i] : 0),
			(unsigned long long)(i < n ? location_of(&frames[n - 1 - i]) : 0));
}

static void note(const struct known *k, const struct stackd_part *part)
{
	outcome.kept += record->kept;
	outcome.complete += record->end_reason == STACKD_END_ENTRY;
	outcome.open += part->flags & STACKD_PART_OPEN;
	outcome.joined += !!(part->flags & STACKD_PART_JOINS);
	outcome.closed += part->flags & STACKD_PART_JOINS && record->end_reason == STACKD_END_ENTRY;
	outcome.beyond_leaf +=
		record->kept && record->flags & STACKD_NOT_REMEMBERED && record->kept < k->count;
}

static void sample_and_compare(int thread)
{
	static struct fake_frame frames[FAKE_DEPTH];
	uint32_t n = (uint32_t)fake_path(&machine.threads[thread], frames), own, beyond;
	struct known *k = &known[thread];
	struct stackd_part part = {0};

	record_pool_give_back(record);
	record = NULL;
	take_sample(thread);
	outcome.samples++;
	if (!record) {
		outcome.lost++;
		return;
	}
	assert_int_equal(record->kind & STACKD_KIND_MASK, STACKD_RECORD_WALKED);
	assert_int_equal(record_pid(record), 1000);
	record_part(record, &part);
	if (part.flags & STACKD_PART_WANTS_ROOM && deep_stacks < STACKS)
		deep_stacks++;
	if (!put_together(k, &part, &own, &beyond)) {
		outcome.out_of_sequence++;
		return;
	}
	note(k, &part);
	if (!is_right(frames, n) && !outcome.wrong++)
		print_wrong(&part, frames, n);
	if (!(record->flags & STACKD_NOT_REMEMBERED))
		remember(k, &part, beyond);
}

/* --- programs ------------------------------------------------------------------------------- */

/* Now and then replaces the plugin, changes mappings, or reuses a thread id. */
static void disturb(int thread)
{
	struct fake_thread *t = &machine.threads[thread];

	switch (fake_random(&machine, 200)) {
	case 0:
		map_plugin(5 - plugin_file);
		break;
	case 1:
	case 2:
		change_mappings();
		break;
	case 3:
		t->start_time++;
		fake_thread_start(&machine, t);
		break;
	}
}

static void make_deep_stacks(void)
{
	static struct deep_block empty;

	deep_stacks = 0;
	shim_make_array(&deeps, STACKD_DEEP_STACKS);
	shim_make_hash(&deep_blocks, STACKS * BLOCKS);
	for (uint32_t i = 0; i < STACKS * BLOCKS; i++) {
		uint32_t key = (i / BLOCKS + 1) << 16 | i % BLOCKS;

		shim_put(&deep_blocks, i, &key, &empty);
	}
}

static void run_program(uint64_t number)
{
	make_program(number);
	machine.most_calls = number % 2 ? FAKE_DEPTH : 200;
	deep_debt = number % 4 < 2 ? INT64_MAX / 2 : 0; /* whether walks may exceed the limit */
	make_deep_stacks();
	memset(known, 0, sizeof(known));
	assert_int_equal(record_reader_new(&reader), 0);
	shim_ring = receive;
	for (int i = 0; i < SAMPLES_EACH; i++) {
		int thread = (int)(fake_random(&machine, 8) % FAKE_THREADS);

		for (uint64_t k = fake_random(&machine, fake_chance(&machine, 5) ? 800 : 8); k; k--)
			fake_run(&machine, &machine.threads[thread]);
		disturb(thread);
		may_lose = fake_chance(&machine, 10);
		sample_and_compare(thread);
		if (outcome.wrong == 1) {
			fprintf(stderr, "program %llu, sample %d\n", (unsigned long long)number, i);
			outcome.wrong++;
		}
	}
	record_reader_free(reader);
	shim_free_regions();
	shim_free_maps();
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

static void test_deep_stacks_are_right(void **state)
{
	uint64_t first = setting("DEEP_FIRST", 1), count = setting("DEEP_PROGRAMS", PROGRAMS);

	(void)state;
	prefix_mode = STACKD_PREFIX_VERIFIED;
	shim_counts_changes = true;
	roots = aligned_alloc(256, (size_t)256 * ROOTS);
	assert_non_null(roots);
	for (uint64_t i = 0; i < count; i++)
		run_program(first + i);
	record_pool_give_back(record);
	record = NULL;
	free(roots);
	print_message("%llu samples: %llu wrong, %llu lost, %llu complete; %llu parts, %llu frames "
		      "kept, %llu below marks beyond the leaf; %llu open, %llu joined, %llu "
		      "closed\n",
		      (unsigned long long)outcome.samples, (unsigned long long)outcome.wrong,
		      (unsigned long long)outcome.lost, (unsigned long long)outcome.complete,
		      (unsigned long long)outcome.parts, (unsigned long long)outcome.kept,
		      (unsigned long long)outcome.beyond_leaf, (unsigned long long)outcome.open,
		      (unsigned long long)outcome.joined, (unsigned long long)outcome.closed);
	assert_int_equal(outcome.wrong, 0);
	assert_int_equal(outcome.out_of_sequence, 0);
	assert_true(outcome.lost && outcome.beyond_leaf && outcome.open);
	assert_true(outcome.joined > outcome.closed && outcome.closed);
}

/* --- walks beyond the limit ------------------------------------------------------------------- */

/* Returns whether a walk that has reached the limit of new frames may have another part. */
static bool may_exceed_at(uint64_t ns)
{
	static struct scratch scratch;

	scratch.n_new = STACKD_DEEP_NEW;
	shim_time_ns = ns;
	return deep_may_exceed(&scratch, NULL);
}

/* Each part that goes beyond the limit is a debt, for which time makes up; not if another CPU has
 * written a later time meanwhile, however much that would be. */
static void test_debt_of_deep_walks(void **state)
{
	const uint64_t at = 1000000;

	(void)state;
	deep_debt = DEEP_AT_ONCE - 1;
	deep_ns = at;
	assert_true(may_exceed_at(at));
	assert_int_equal(deep_debt, DEEP_AT_ONCE - 1 + MAX_FRAMES);
	assert_false(may_exceed_at(at));
	assert_false(may_exceed_at(at - 1));
	assert_int_equal(deep_debt, DEEP_AT_ONCE - 1 + MAX_FRAMES);
	assert_int_equal(deep_ns, at);
	assert_false(may_exceed_at(at + (MAX_FRAMES - 1) * DEEP_NS_A_FRAME));
	assert_int_equal(deep_debt, DEEP_AT_ONCE);
	assert_true(may_exceed_at(at + MAX_FRAMES * DEEP_NS_A_FRAME));
	assert_int_equal(deep_debt, DEEP_AT_ONCE - 1 + MAX_FRAMES);
	assert_true(may_exceed_at(10 * at));
	assert_int_equal(deep_debt, MAX_FRAMES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_debt_of_deep_walks),
		cmocka_unit_test(test_deep_stacks_are_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
