/* SPDX-License-Identifier: MIT */
/*
 * The verified prefix never gives a wrong stack.
 *
 * The kernel half, whole and as it is, samples made-up threads whose true call path is known
 * (fake_thread.h), and a daemon of a few lines puts the records together: kept part of the path
 * before, then the new frames. Meanwhile records are lost, threads take each other's state, die and
 * come back under their number, mappings change, and other files come to lie at the same addresses.
 *
 * With --prefix verified and with none every path must be the true one, frame by frame. First and
 * second match guess; that they are found wrong shows that this test can tell.
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

#include "../../daemon/record.c"

#include "fake_thread.h"

#define PROGRAMS	   300
#define SAMPLES_EACH	   300
#define STATES		   16
#define PLUGIN_FILES	   2
#define RULE_ENTRY	   3
#define RULE_RESTORE_RT	   4
#define RULE_BODIES	   5
#define ROOTS		   8192 /* nodes of trees: one for each change of the mappings */
#define MAPPINGS	   (FAKE_MODULES + FAKE_THREADS)
#define STACKS_AT	   UINT64_C(0x7ffc00000000)
#define THREAD_STACK_BYTES ((uint64_t)FAKE_STACK_BYTES + 2 * FAKE_AREA_BYTES)

/* --- the process ---------------------------------------------------------------------------- */

static struct fake_machine machine;
static struct mm_struct mm;
static struct task_struct tasks[FAKE_THREADS];
static struct super_block super_block;
static struct inode inodes_of_files[4];
static struct file files_of_inodes[4];
static struct vm_area_struct mappings[MAPPINGS];
static uint64_t *roots;
static uint32_t n_roots;
static int plugin_file;

/* A new tree of the mappings, as any change makes one. */
static void change_mappings(void)
{
	uint64_t *node = roots + 32 * (n_roots++ % ROOTS), at = 0;
	uint32_t n = 0;

	memset(node, 0, 256);
	for (int i = 0; i < MAPPINGS; i++) {
		if (mappings[i].vm_start > at) {
			node[1 + n] = mappings[i].vm_start - 1;
			n++;
		}
		node[1 + n] = mappings[i].vm_end - 1;
		node[RANGE_SLOTS + n] = (uint64_t)(uintptr_t)&mappings[i];
		n++;
		at = mappings[i].vm_end;
	}
	assert_true(n < RANGE_PIVOTS);
	node[RANGE_META] = n;
	mm.mm_mt.ma_root = (void *)((uintptr_t)node | MAPLE_LEAF << 3 | 2);
}

/* Which of the plugin's files is mapped: 2 or 3. They hold the same code. */
static void map_plugin(int file)
{
	plugin_file = file;
	mappings[FAKE_PLUGIN].vm_file = &files_of_inodes[file];
	change_mappings();
}

static void make_mappings(void)
{
	for (int i = 0; i < MAPPINGS; i++)
		mappings[i] = (struct vm_area_struct){.vm_mm = &mm};
	for (int i = 0; i < FAKE_MODULES; i++) {
		mappings[i].vm_start = fake_base[i];
		mappings[i].vm_end = fake_base[i] + 2 * PAGE_SIZE;
		mappings[i].vm_flags = VM_EXEC;
	}
	for (uint64_t i = 0; i < FAKE_THREADS; i++) {
		mappings[FAKE_MODULES + i].vm_start = STACKS_AT + (i << 24);
		mappings[FAKE_MODULES + i].vm_end = STACKS_AT + (i << 24) + THREAD_STACK_BYTES;
	}
	for (uint64_t i = 1; i < 4; i++) {
		inodes_of_files[i] = (struct inode){.i_ino = 100 + i, .i_sb = &super_block};
		files_of_inodes[i].f_inode = &inodes_of_files[i];
	}
	mappings[FAKE_PROGRAM].vm_file = &files_of_inodes[1];
	map_plugin(2);
}

/* Code that does nothing, with a call before each return address. */
static void write_code(void)
{
	static const uint8_t call[] = {0xe8, 0, 0, 0, 0};
	static uint8_t nops[2 * PAGE_SIZE];

	memset(nops, 0x90, sizeof(nops));
	for (int i = 0; i < FAKE_MODULES; i++) {
		shim_add_region(fake_base[i], sizeof(nops));
		shim_write(fake_base[i], nops, sizeof(nops));
	}
	for (int f = 0; f < FAKE_FUNCTIONS; f++) {
		for (uint64_t site = 0; site < FAKE_SITES; site++)
			shim_write(fake_address(&machine, f) + 0x20 + 0x10 * site - sizeof(call),
				   call, sizeof(call));
	}
}

static void make_threads(void)
{
	for (uint64_t i = 0; i < FAKE_THREADS; i++) {
		uint64_t low = STACKS_AT + (i << 24), high = low + THREAD_STACK_BYTES;
		struct fake_thread *t = &machine.threads[i];

		/* The main stack above the others, or below. */
		*t = (struct fake_thread){.tid = 1000 + (uint32_t)i, .start_time = 1};
		t->main_top = i & 1 ? low + FAKE_STACK_BYTES : high;
		t->coroutine_top = i & 1 ? high : low + FAKE_AREA_BYTES;
		t->signal_top = i & 1 ? high - FAKE_AREA_BYTES : low + 2 * FAKE_AREA_BYTES;
		shim_add_region(low, THREAD_STACK_BYTES);
		fake_thread_start(&machine, t);
		tasks[i] = (struct task_struct){.pid = (int)t->tid,
						.start_time = t->start_time,
						.group_leader = &tasks[0],
						.mm = &mm};
	}
}

/* --- the tables ----------------------------------------------------------------------------- */

static void make_recipes(void)
{
	struct stackd_rule *r = shim_make_array(&rules, RULE_BODIES + FAKE_FUNCTIONS);
	struct stackd_row *row = (struct stackd_row *)shim_make_array(&rows, 32)->rows;
	struct chunk_pair *pair = shim_make_array(&chunks, 1);

	r[STACKD_RULE_END].cfa = STACKD_CFA_END;
	r[STACKD_RULE_DAEMON].cfa = STACKD_CFA_DAEMON;
	r[RULE_ENTRY] = (struct stackd_rule){
		.cfa = STACKD_CFA_REG, .reg = STACKD_REG_RSP, .cfa_offset = 8, .ra_offset = -8};
	r[RULE_RESTORE_RT] = (struct stackd_rule){
		.cfa = STACKD_CFA_SIGNAL, .reg = STACKD_REG_RSP, .cfa_offset = 40};
	*row++ = (struct stackd_row){0, STACKD_RULE_NONE};
	*row++ = (struct stackd_row){FAKE_RESTORE_RT - 1, RULE_RESTORE_RT};
	*row++ = (struct stackd_row){FAKE_RESTORE_RT + 9, STACKD_RULE_NONE};
	for (int i = 0; i < FAKE_FUNCTIONS; i++) {
		uint16_t at = (uint16_t)(0x1000 + 0x100 * i);

		r[RULE_BODIES + i] = fake_rule(&machine.functions[i]);
		*row++ = (struct stackd_row){at, RULE_ENTRY};
		*row++ = (struct stackd_row){at + 0x10, (uint16_t)(RULE_BODIES + i)};
	}
	pair->first_rows[1] = 3 + 2 * FAKE_FUNCTIONS;
}

static void make_files(void)
{
	struct stackd_file *file = shim_make_array(&files, 4);

	shim_make_hash(&inodes, 4);
	for (uint32_t i = 1; i < 4; i++) {
		struct stackd_inode key = {.inode = inodes_of_files[i].i_ino};

		shim_put(&inodes, i, &key, &i);
		file[i] = (struct stackd_file){.n_chunks = 1, .is_loaded = 1};
		file[i].first_segment = (uint16_t)(i - 1);
		file[i].n_segments = i < 3; /* file 3's frames are long */
	}
}

static void make_program(uint64_t number)
{
	machine.random = number << 32;
	mm = (struct mm_struct){0};
	fake_make_functions(&machine);
	make_mappings();
	write_code();
	make_recipes();
	make_files();
	make_threads();
	rule_cache_slots = 64;
	state_slots = fake_chance(&machine, 30) ? 1 : STATES; /* 1: the threads take it in turns */
	shim_make_array(&rule_cache, rule_cache_slots);
	shim_make_array(&states, STATES);
	shim_make_array(&scratches, 1);
	shim_make_array(&counters, STACKD_COUNT_COUNT);
	shim_make_array(&bounds_cache, BOUNDS_SLOTS);
	shim_make_hash(&late_threads, 1);
	has_late_threads = 1;
}

/* --- the daemon ----------------------------------------------------------------------------- */

struct path {
	uint64_t locations[MAX_FRAMES + MAX_MARKS]; /* root first, with the exact bit */
	int count;
	uint8_t sequence;
};

struct outcome {
	uint64_t samples, kept, frames, lost, fallbacks, copied, sent, wrong, out_of_sequence;
};

static struct path known[FAKE_THREADS];
static struct outcome outcome;
static bool is_full;		     /* the ring */
static bool has_copies;		     /* every other sample is left to the daemon */
static struct stackd_header *record; /* the last one that arrived; owned */

static struct record_reader *reader;

static long receive(const void *data, size_t size)
{
	if (is_full)
		return -1;
	free(record);
	record = NULL;
	assert_int_equal(record_read(reader, data, size, shim_time_ns, &record), 0);
	if (record->kind == STACKD_RECORD_STACK)
		outcome.sent += size - sizeof(struct stackd_stack_record);
	return 0;
}

/* The location of a frame. */
static uint64_t location_in(const struct record_frame *frame)
{
	if (!frame->has_segment)
		return frame->place;
	return (uint64_t)(frame->segment + 1) << 48 | frame->place |
	       (frame->is_exact ? STACKD_LOCATION_EXACT : 0);
}

/* false: the kept part is not what the record means. */
static bool put_together(const struct path *before, struct path *ret_path)
{
	static uint64_t frames[MAX_FRAMES];
	struct record_frames in;
	struct record_frame frame;
	int n = 0, more;

	*ret_path = *before;
	if (record->kept > before->count ||
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

static uint64_t location_of(const struct fake_frame *frame)
{
	uint64_t address = frame->pc - !frame->is_exact, file, base = 0;
	uint64_t exact = frame->is_exact ? STACKD_LOCATION_EXACT : 0;

	if (address - fake_base[FAKE_JIT] < 2 * PAGE_SIZE)
		file = STACKD_FILE_NONE;
	else if (address - fake_base[FAKE_PLUGIN] < 2 * PAGE_SIZE)
		file = (uint64_t)plugin_file, base = fake_base[FAKE_PLUGIN];
	else
		file = 1, base = fake_base[FAKE_PROGRAM];
	return file << 48 | exact | (address - base);
}

/* --- a sample ------------------------------------------------------------------------------- */

static bool is_true(const struct path *path, const struct fake_frame *frames, int n)
{
	if (path->count != n)
		return false;
	for (int i = 0; i < n; i++) {
		if (path->locations[i] != location_of(&frames[i]))
			return false;
	}
	return true;
}

static void print_wrong(const struct path *path, const struct fake_frame *frames, int n)
{
	fprintf(stderr, "end %u kept %u; root first: is, should be\n", record->end_reason,
		record->kept);
	for (int i = 0; i < n || i < path->count; i++)
		fprintf(stderr, "%3d %16llx %16llx\n", i,
			(unsigned long long)(i < path->count ? path->locations[i] : 0),
			(unsigned long long)(i < n ? location_of(&frames[i]) : 0));
}

static void take_sample(int thread)
{
	struct fake_thread *t = &machine.threads[thread];
	struct bpf_perf_event_data context = {.sample_period = 1};
	const uint64_t *r = fake_chain(t)->r;

	context.regs = (struct pt_regs){.rax = r[0],
					.rdx = r[1],
					.rcx = r[2],
					.rbx = r[3],
					.rsi = r[4],
					.rdi = r[5],
					.rbp = r[6],
					.rsp = r[7],
					.r8 = r[8],
					.r9 = r[9],
					.r10 = r[10],
					.r11 = r[11],
					.r12 = r[12],
					.r13 = r[13],
					.r14 = r[14],
					.r15 = r[15],
					.cs = 0x33};
	context.regs.rip = fake_leaf(fake_chain(t))->pc;
	tasks[thread].start_time = t->start_time;
	shim_task = &tasks[thread];
	shim_pid_tgid = (uint64_t)1000 << 32 | t->tid;
	shim_time_ns += 1000;
	shim_ring = receive;
	stackd_sample(&context);
}

/* The stack of a record is that of the thread, put together again. */
static void check_copy(const struct stackd_stack_record *stack)
{
	const uint8_t *bytes = (const uint8_t *)(record_kernel(record) + record->n_kernel);
	uint64_t sp = stack->regs.r[STACKD_REG_RSP];
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

/* Takes a sample and compares what the daemon makes of it. */
static void sample_and_compare(int thread)
{
	static struct fake_frame frames[FAKE_DEPTH];
	static struct path path;
	int n = fake_path(&machine.threads[thread], frames);

	free(record);
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
		if (!outcome.fallbacks++ && !has_copies)
			fprintf(stderr, "left to the daemon: %u\n", record->end_reason);
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

/* What happens to a process besides its own doing. */
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
	make_program(number);
	memset(known, 0, sizeof(known));
	assert_int_equal(record_reader_new(&reader), 0);
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
	uint64_t first = setting("PREFIX_FIRST", 1), count = setting("PREFIX_PROGRAMS", PROGRAMS);

	prefix_mode = mode;
	shim_counts_changes = counts_changes;
	outcome = (struct outcome){0};
	roots = aligned_alloc(256, (size_t)256 * ROOTS);
	assert_non_null(roots);
	for (uint64_t i = 0; i < count; i++)
		run_program(first + i);
	free(record);
	record = NULL;
	free(roots);
	print_message("%llu samples: %llu wrong, %llu lost, %llu left to the daemon, %llu out of "
		      "sequence; %llu frames, %.1f %% kept\n",
		      (unsigned long long)outcome.samples, (unsigned long long)outcome.wrong,
		      (unsigned long long)outcome.lost, (unsigned long long)outcome.fallbacks,
		      (unsigned long long)outcome.out_of_sequence,
		      (unsigned long long)outcome.frames,
		      100.0 * (double)outcome.kept / (double)outcome.frames);
	assert_true(has_copies == (outcome.fallbacks > 0));
	assert_true(outcome.lost > 0);
	assert_int_equal(outcome.out_of_sequence, 0);
}

static void test_whole_walks_are_right(void **state)
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

/* Where the kernel does not count the changes of mappings: before 6.4. */
static void test_the_verified_prefix_is_right_on_older_kernels(void **state)
{
	(void)state;
	run_mode(STACKD_PREFIX_VERIFIED, false);
	assert_int_equal(outcome.wrong, 0);
	assert_true(outcome.kept > outcome.frames / 10);
}

/* Stacks that are left to the daemon come whole, though only in part through the ring, and do not
 * disturb the walks between them. */
static void test_copies_are_whole(void **state)
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

static void test_guesses_are_found_wrong(void **state)
{
	(void)state;
	run_mode(STACKD_PREFIX_FIRST, true);
	assert_true(outcome.wrong > 0);
	run_mode(STACKD_PREFIX_SECOND, true);
	assert_true(outcome.wrong > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_walks_are_right),
		cmocka_unit_test(test_the_verified_prefix_is_right),
		cmocka_unit_test(test_the_verified_prefix_is_right_on_older_kernels),
		cmocka_unit_test(test_copies_are_whole),
		cmocka_unit_test(test_guesses_are_found_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
