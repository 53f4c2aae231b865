/* SPDX-License-Identifier: MIT */
/*
 * The verified prefix never gives a wrong stack.
 *
 * The unmodified kernel half samples generated threads whose true call path is known
 * (fake_thread.h), and a daemon of a few lines puts the records together: kept part of the path
 * before, then the new frames. Meanwhile records are lost, threads take each other's state, die and
 * reuse thread ids, mappings change, and other files are mapped at the same addresses.
 *
 * With --prefix verified and with none every path must be the true one, frame by frame. First and
 * second match guess; that they are found wrong shows that this test finds wrong paths.
 *
 * PREFIX_PROGRAMS=N runs N programs instead of a few, PREFIX_FIRST=N begins with that one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf_shim.h"

#include "../../bpf/stackd.bpf.c"

#include "daemon/capture/record.h"
#include "daemon/capture/record_pool.h"

#include "fake_process.h"
#include "length.h"

#define PROGRAMS     by_build(25, by_length(100, 300))
#define SAMPLES_EACH 300

/* --- the daemon ----------------------------------------------------------------------------- */

struct outcome {
	uint64_t samples, kept, frames, lost, fallbacks, copied, sent, wrong, out_of_sequence;
};

static struct known_path known[FAKE_THREADS];
static struct outcome outcome;
static uint64_t most_programs;
static bool is_full;		     /* the ring */
static bool has_copies;		     /* every other sample is left to the daemon */
static struct stackd_header *record; /* the last one that arrived; owned */

static struct record_reader *reader;

static long receive(const void *data, size_t size)
{
	if (is_full)
		return -1;
	record_pool_give_back(record);
	record = NULL;
	assert_int_equal(record_read(reader, data, size, shim_time_ns, &record), 0);
	if (record->kind == STACKD_RECORD_STACK)
		outcome.sent += size - sizeof(struct stackd_stack_record);
	return 0;
}

/* false: the kept part differs from the one that the record refers to */
static bool put_together(const struct known_path *before, struct known_path *ret_path)
{
	static uint64_t frames[MAX_FRAMES];
	struct record_frames in;
	struct record_frame frame;
	int n = 0, more;

	*ret_path = *before;
	if (record->kept > (uint32_t)before->count ||
	    (record->kept && record->sequence != (uint8_t)(before->sequence + 1)))
		return false;
	record_frames(record, false, &in);
	while ((more = record_frames_next(&in, &frame)) > 0) {
		assert_true(n < MAX_FRAMES);
		frames[n++] = location_in(&frame);
	}
	assert_int_equal(more, 0);
	ret_path->count = record->kept;
	while (n)
		ret_path->locations[ret_path->count++] = frames[--n];
	ret_path->sequence = record->sequence;
	return true;
}

/* --- a sample ------------------------------------------------------------------------------- */

static void print_wrong(const struct known_path *path, const struct fake_frame *frames, int n)
{
	fprintf(stderr, "end %u kept %u; root first: is, should be\n", record->end_reason,
		record->kept);
	for (int i = 0; i < n || i < path->count; i++)
		fprintf(stderr, "%3d %16llx %16llx\n", i,
			(unsigned long long)(i < path->count ? path->locations[i] : 0),
			(unsigned long long)(i < n ? location_of(&frames[i]) : 0));
}

/* Asserts that the reassembled stack of a record is that of the thread. */
static void check_copy(const struct stackd_stack_record *stack)
{
	const uint8_t *bytes = (const uint8_t *)(record_kernel(record) + record->n_kernel);
	uint64_t sp = stack->regs.r[STACKD_REG_SP];
	struct shim_region *r = shim_region_of(sp);

	assert_non_null(r);
	assert_true(stack->stack_bytes <= r->size - (sp - r->start));
	for (uint32_t i = 0; i < stack->stack_bytes; i++) {
		uint32_t page = (uint32_t)(((sp & 4095) + i) >> 12);

		if (page > 63 || !(stack->holes >> page & 1))
			assert_int_equal(bytes[i], r->bytes[sp - r->start + i]);
	}
	outcome.copied += stack->stack_bytes;
}

/* Whether there is code on a path that no file has. */
static bool has_jit(const struct fake_frame *frames, int n)
{
	for (int i = 0; i < n; i++) {
		if (location_of(&frames[i]) >> 48 == STACKD_FILE_NONE)
			return true;
	}
	return false;
}

/* Takes a sample and compares what the daemon makes of it. */
static void sample_and_compare(int thread)
{
	static struct fake_frame frames[FAKE_DEPTH];
	static struct known_path path;
	int n = fake_path(&machine.threads[thread], frames);

	record_pool_give_back(record);
	record = NULL;
	take_sample(thread);
	outcome.samples++;
	if (!record) {
		outcome.lost++;
		return;
	}
	assert_int_equal(record_pid(record), 1000);
	assert_int_equal(record_period(record, usual_period), 1);
	if (record->kind == STACKD_RECORD_STACK) {
		check_copy((const struct stackd_stack_record *)record);
		assert_true(has_copies || has_jit(frames, n));
		outcome.fallbacks++;
		return;
	}
	if (!put_together(&known[thread], &path)) {
		outcome.out_of_sequence++;
		return;
	}
	outcome.kept += record->kept;
	outcome.frames += (uint64_t)path.count;
	if (record->end_reason != STACKD_END_ENTRY || !is_true(&path, frames, n)) {
		if (!outcome.wrong++ && prefix_mode != STACKD_PREFIX_FIRST &&
		    prefix_mode != STACKD_PREFIX_SECOND)
			print_wrong(&path, frames, n);
	}
	if (!(record->flags & STACKD_NOT_REMEMBERED))
		known[thread] = path;
}

/* Now and then replaces the plugin, changes mappings, reuses a thread id, or calls exec. */
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
	case 3: /* another thread under the same number, on the same stack */
		t->start_time++;
		fake_thread_start(&machine, t);
		known[thread].count = 0;
		break;
	case 4: /* the same after an exec: another address space */
		for (int i = 0; i < FAKE_THREADS; i++) {
			tasks[i].self_exec_id++;
			known[i].count = 0;
		}
		fake_thread_start(&machine, t);
		break;
	}
}

static void run_program(uint64_t number)
{
	machine.has_jit = number % 4 == 0;
	make_program(number);
	memset(known, 0, sizeof(known));
	assert_int_equal(record_reader_new(&reader), 0);
	shim_ring = receive;
	usual_period = number & 1;
	for (int i = 0; i < SAMPLES_EACH; i++) {
		int thread = (int)(fake_random(&machine, 8) % FAKE_THREADS);

		for (uint64_t k = fake_random(&machine, 8); k; k--)
			fake_run(&machine, &machine.threads[thread]);
		disturb(thread);
		is_full = fake_chance(&machine, 10);
		walk_here = !has_copies || fake_chance(&machine, 50);
		sample_and_compare(thread);
		if (outcome.wrong == 1 &&
		    (prefix_mode == STACKD_PREFIX_VERIFIED || prefix_mode == STACKD_PREFIX_NONE)) {
			fprintf(stderr, "program %llu, sample %d\n", (unsigned long long)number, i);
			outcome.wrong++;
		}
	}
	walk_here = 1;
	record_reader_free(reader);
	shim_free_regions();
	shim_free_maps();
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

static void run_mode(enum stackd_prefix mode, bool counts_changes)
{
	uint64_t first = setting("PREFIX_FIRST", 1);
	uint64_t count = setting("PREFIX_PROGRAMS", most_programs);

	prefix_mode = mode;
	shim_counts_changes = counts_changes;
	outcome = (struct outcome){0};
	roots = aligned_alloc(256, (size_t)256 * ROOTS);
	assert_non_null(roots);
	for (uint64_t i = 0; i < count; i++)
		run_program(first + i);
	record_pool_give_back(record);
	record = NULL;
	free(roots);
	print_message("%llu samples: %llu wrong, %llu lost, %llu left to the daemon, %llu out of "
		      "sequence; %llu frames, %.1f %% kept\n",
		      (unsigned long long)outcome.samples, (unsigned long long)outcome.wrong,
		      (unsigned long long)outcome.lost, (unsigned long long)outcome.fallbacks,
		      (unsigned long long)outcome.out_of_sequence,
		      (unsigned long long)outcome.frames,
		      100.0 * (double)outcome.kept / (double)outcome.frames);
	assert_true(outcome.fallbacks > 0);
	assert_true(outcome.lost > 0);
	assert_int_equal(outcome.out_of_sequence, 0);
}

static void test_complete_walks_are_right(void **state)
{
	(void)state;
	run_mode(STACKD_PREFIX_NONE, true);
	assert_int_equal(outcome.wrong, 0);
	assert_int_equal(outcome.kept, 0);
}

static void test_the_verified_prefix_is_right(void **state)
{
	(void)state;
	run_mode(STACKD_PREFIX_VERIFIED, true);
	assert_int_equal(outcome.wrong, 0);
	assert_true(outcome.kept > outcome.frames / 10);
}

/* Before Linux 6.4, the kernel does not count changes of mappings. */
static void test_the_verified_prefix_is_right_on_older_kernels(void **state)
{
	(void)state;
	run_mode(STACKD_PREFIX_VERIFIED, false);
	assert_int_equal(outcome.wrong, 0);
	assert_true(outcome.kept > outcome.frames / 10);
}

/* Stacks that are left to the daemon arrive complete, though only in part through the ring, and do
 * not disturb the walks between them. */
static void test_copies_are_complete(void **state)
{
	(void)state;
	has_copies = true;
	run_mode(STACKD_PREFIX_VERIFIED, true);
	has_copies = false;
	assert_int_equal(outcome.wrong, 0);
	print_message("of %llu bytes of stack, %llu were sent\n",
		      (unsigned long long)outcome.copied, (unsigned long long)outcome.sent);
	assert_true(outcome.sent < outcome.copied / 20 * 19);
}

/* Where a partial table has no rule, the table is missed, and nothing is cached: the whole one has
 * the rule. */
static void test_partial_table_is_missed(void **state)
{
	static struct scratch s;
	const uint64_t none = (uint64_t)1 << 48 | 8, some = (uint64_t)1 << 48 | 0x1020;
	struct stackd_file *file;
	struct rule_set set = {0};
	uint32_t number = 1;

	(void)state;
	roots = aligned_alloc(256, (size_t)256 * ROOTS);
	assert_non_null(roots);
	make_program(1);
	file = bpf_map_lookup_elem(&files, &number);
	file->is_loaded = 0;
	file->is_partial = 1;
	s.location = none;
	assert_null(find_and_cache(&s, &set, block_hash(none)));
	assert_int_equal(s.wanted_file, 1);
	assert_true(!set.ways[0] && !set.ways[1]);
	s.location = some;
	assert_non_null(find_and_cache(&s, &set, block_hash(some)));
	assert_non_null(cached_rule(&set, block_hash(some), some));
	file->is_partial = 0;
	s.location = none;
	assert_int_equal(find_and_cache(&s, &set, block_hash(none))->cfa, STACKD_CFA_NONE);
	shim_free_regions();
	shim_free_maps();
	free(roots);
}

static void test_guesses_are_found_wrong(void **state)
{
	(void)state;
	most_programs = 30;
	run_mode(STACKD_PREFIX_FIRST, true);
	assert_true(outcome.wrong > 0);
	run_mode(STACKD_PREFIX_SECOND, true);
	assert_true(outcome.wrong > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_complete_walks_are_right),
		cmocka_unit_test(test_the_verified_prefix_is_right),
		cmocka_unit_test(test_the_verified_prefix_is_right_on_older_kernels),
		cmocka_unit_test(test_copies_are_complete),
		cmocka_unit_test(test_partial_table_is_missed),
		cmocka_unit_test(test_guesses_are_found_wrong),
	};

	most_programs = PROGRAMS;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
