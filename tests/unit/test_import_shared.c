/* SPDX-License-Identifier: MIT */
/*
 * Recordings of real PMUs, where a checkout has them beside it: each frame that the importer makes
 * of a sample stands in that sample, in its order, and lies in code that was mapped then.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "perf/import_stack.h"
#include "perf/import_processes.h"

#define FOLDER	 "../shared/lbr/"
#define MAX_CALL 8 /* bytes of a call instruction, at most */

/* Sums over all samples of a file. */
struct totals {
	size_t samples, frames, user_frames;
	size_t outside;	   /* user frames in no known code */
	size_t branches;   /* user frames that are calls of branch records */
	size_t from_chain; /* frames of recorded call chains, of both modes */
	bool is_call_stack;
	size_t leaves; /* leaves that are the sampled address */
};

struct file {
	struct perfdata *reader;
	struct import_processes *processes;
	struct origin_table *origins;
	struct import_stack *stack;
	struct totals t;
};

static bool is_user(const struct import_frame *frame)
{
	return !(frame->flags & (IMPORT_FRAME_KERNEL | IMPORT_FRAME_UNKNOWN));
}

/* The branch record, from the `at`th on, that a frame is the call of; n_branches: none. */
static size_t find_branch(const struct perfdata_sample *s, size_t at, uint64_t address)
{
	while (at < s->n_branches && address - s->branches[at].from > MAX_CALL)
		at++;
	return at;
}

/* The index of the word in the call chain, from `at` on; n_callchain: none. */
static size_t find_word(const struct perfdata_sample *s, size_t at, uint64_t address)
{
	while (at < s->n_callchain && s->callchain[at] != address)
		at++;
	return at;
}

/* The address where user mode continues: the sampled one or, below kernel frames, the registers'.
 */
static bool is_program_counter(const struct perfdata_sample *s, uint64_t address)
{
	struct stackd_regs regs;

	return address == s->ip ||
	       (perfdata_user_regs(s, &regs) && address == regs.r[STACKD_REG_PC]);
}

/* Each frame is a program counter, the next entry of the call chain, or a call among the branch
 * records that were not used yet. In the end the chain is used up, except for its user part if
 * branch records in call-stack mode replace that. */
static void check_order(struct file *f, const struct perfdata_record *r,
			const struct import_stack_frames *path)
{
	const struct perfdata_sample *s = &r->sample;
	size_t word = 0, branch = 0;

	for (size_t i = 0; i < path->count; i++) {
		const struct import_frame *frame = &path->frames[i];
		size_t in_chain = find_word(s, word, frame->address);
		size_t in_branches = find_branch(s, branch, frame->address);
		bool is_branch = is_user(frame) && in_branches < s->n_branches;

		assert_true(is_program_counter(s, frame->address) || in_chain < s->n_callchain ||
			    is_branch);
		if (in_chain < s->n_callchain && !(is_branch && f->t.is_call_stack)) {
			f->t.from_chain++;
			word = in_chain + 1;
		}
		if (is_branch) {
			f->t.branches++;
			branch = in_branches + 1;
		}
	}
	while (word < s->n_callchain && s->callchain[word] >= (uint64_t)PERF_CONTEXT_MAX)
		word++;
	assert_true(word == s->n_callchain || f->t.is_call_stack);
	for (; word < s->n_callchain; word++)
		assert_false(s->callchain[word] >> 63);
}

static void check_places(struct file *f, const struct perfdata_record *r,
			 const struct import_stack_frames *path)
{
	const struct object *object;
	uint64_t offset;

	for (size_t i = 0; i < path->count; i++) {
		const struct import_frame *frame = &path->frames[i];
		uint64_t address = frame->address - (frame->flags & IMPORT_FRAME_RETURN);

		f->t.frames++;
		if (!is_user(frame))
			continue;
		f->t.user_frames++;
		f->t.outside +=
			!import_processes_find(f->processes, r->pid, address, &object, &offset);
	}
}

static void check_sample(struct file *f, const struct perfdata_record *r)
{
	struct import_stack_frames path;
	struct import_thread *thread;

	assert_int_equal(import_processes_thread(f->processes, r->pid, r->tid, &thread), 0);
	assert_int_equal(import_stack_take(f->stack, r, &path), 0);
	assert_true(path.count > 0);
	f->t.samples++;
	f->t.is_call_stack = import_stack_branches(perfdata_event(f->reader, r->event)) ==
			     IMPORT_BRANCHES_CALL_STACK;
	f->t.leaves += path.frames[0].address == r->sample.ip;
	check_order(f, r, &path);
	check_places(f, r, &path);
}

static void open_world(struct file *f)
{
	static const struct utsname machine = {.nodename = "another", .release = "0"};

	assert_int_equal(import_processes_new(f->reader, &machine, &f->processes), 0);
	assert_int_equal(origin_table_new(&f->origins), 0);
	assert_int_equal(import_stack_new(f->reader, f->processes, f->origins, &f->stack), 0);
}

static struct totals check_file(const char *path)
{
	struct file f = {0};
	struct perfdata_record record;
	int fd = open(path, O_RDONLY | O_CLOEXEC), status;
	char *error;

	assert_true(fd >= 0);
	assert_int_equal(perfdata_open(fd, &f.reader, &error), 0);
	while ((status = perfdata_next(f.reader, &record)) == 1) {
		if (!f.processes)
			open_world(&f);
		if (record.kind == PERFDATA_SAMPLE) {
			check_sample(&f, &record);
			continue;
		}
		import_stack_event(f.stack, &record);
		assert_int_equal(import_processes_event(f.processes, &record), 0);
	}
	assert_int_equal(status, 0);
	import_stack_free(f.stack);
	origin_table_free(f.origins);
	import_processes_free(f.processes);
	perfdata_free(f.reader);
	close(fd);
	printf("%s: %zu samples, %zu leaves as sampled, %zu frames, %zu of the user's, %zu of branch "
	       "records, %zu of chains, %zu outside\n",
	       path, f.t.samples, f.t.leaves, f.t.frames, f.t.user_frames, f.t.branches,
	       f.t.from_chain, f.t.outside);
	return f.t;
}

static void test_call_stack_mode(void **state)
{
	struct totals t = check_file(FOLDER "kdab-call-stack.perf.data");
	(void)state;

	assert_int_equal(t.samples, 29);
	assert_int_equal(t.leaves, 17); /* in the kernel, the call chain is more precise */
	assert_true(t.branches >= 17 * 2);
	assert_int_equal(t.outside, 8); /* perf itself, before it became the program */
}

static void test_registers_and_stack(void **state)
{
	struct totals t = check_file(FOLDER "kdab-dwarf.perf.data");
	(void)state;

	assert_int_equal(t.samples, 45);
	assert_int_equal(t.leaves, 45);
	assert_int_equal(t.outside, 1); /* the same */
}

static void test_any_branch(void **state)
{
	struct totals t = check_file(FOLDER "quipper-callgraph-branch-3.4.perf.data");
	(void)state;

	assert_int_equal(t.samples, 923);
	assert_int_equal(t.leaves, 923);
	assert_int_equal(t.from_chain, t.frames);
	t = check_file(FOLDER "quipper-branch-4.14.perf.data");
	assert_true(t.samples == 13 && t.leaves == 13 && !t.outside);
	t = check_file(FOLDER "quipper-branch-hw-index.perf.data");
	assert_true(t.samples == 5 && t.leaves == 5 && !t.outside);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_call_stack_mode),
		cmocka_unit_test(test_registers_and_stack),
		cmocka_unit_test(test_any_branch),
	};

	if (access(FOLDER, R_OK)) {
		puts("no recorded files beside the checkout (docs/LBR.md)");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
