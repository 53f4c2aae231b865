/* SPDX-License-Identifier: MIT */
/* The list of runtimes, and the questions that go to all of them: which code is Erlang's, out of
 * which entry Java's interpreter leads where, and that other files and code are of none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "arch/java_entry.h"
#include "runtime/runtime.h"

#define CODE  UINT64_C(0x7f0000000000)
#define STACK UINT64_C(0x7f1000000000)
#define WORDS 64

static void test_list(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < STACKD_RUNTIME_COUNT; i++) {
		assert_int_equal(runtimes[i]->number, i);
		assert_true(runtimes[i]->name[0]);
		assert_true(runtimes[i]->files || runtimes[i]->processes || runtimes[i]->frames ||
			    runtimes[i]->find_interpreter);
		assert_ptr_equal(runtime_of_number(i), runtimes[i]);
		assert_int_equal(runtime_number_of(runtimes[i]), i);
	}
	assert_null(runtime_of_number(runtime_number_of(NULL)));
	assert_null(runtime_of_number(STACKD_RUNTIME_COUNT + 1));
	assert_null(runtime_of_number(UINT32_MAX));
}

/* A program in C has no runtime's tables. */
static void test_other_file(void **state)
{
	struct runtime_tables tables = {0};
	struct elf_file *file;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(elf_file_open(fd, &file), 0);
	close(fd);
	assert_null(runtime_of_file(file));
	assert_int_equal(runtime_tables_read(file, &tables), -ENOENT);
	assert_null(tables.files);
	runtime_tables_free(&tables); /* of none */
	elf_file_free(file);
}

/* The beginning of process_main, and where it takes a process's stack, as OTP 27 has them. */
static void test_process(void **state)
{
	static const uint8_t main[] = {0x48, 0x81, 0xec, 0xd0, 0x40, 0,	   0,	 0x48, 0x83, 0xe4,
				       0xc0, 0x48, 0x89, 0x27, 0x48, 0x8d, 0x5c, 0x24, 0x40};
	static const uint8_t take[] = {0x49, 0x8b, 0x65, 0x58};
	static uint8_t code[RUNTIME_SEARCHED];
	const uint64_t end = CODE + 0x100000;
	const struct runtime *runtime;
	union stackd_runtime_facts facts;

	(void)state;
	memset(code, 0x90, sizeof(code));
	assert_null(runtime_find_process(code, sizeof(code), CODE, end, &facts));
	memcpy(code + 0x500, main, sizeof(main));
	memcpy(code + 0x600, take, sizeof(take));
	runtime = runtime_find_process(code, sizeof(code), CODE, end, &facts);
	assert_ptr_equal(runtime, runtimes[STACKD_RUNTIME_BEAM]);
	assert_int_equal(facts.beam.start, CODE);
	assert_int_equal(facts.beam.size, 0x100000);
	assert_int_equal(facts.beam.main, CODE + 0x500);
	assert_true(runtime->processes->is_shared(&facts, CODE));
	assert_true(runtime->processes->is_shared(&facts, CODE + 0x500));
	assert_false(runtime->processes->is_shared(&facts, CODE - 1));
	assert_false(runtime->processes->is_shared(&facts, CODE + 0x500 + 4096));
	assert_null(runtime_find_process(code, 0x500, CODE, end, &facts));
	assert_null(runtime_find_process(code, 0, CODE, end, &facts));
}

struct entry {
	size_t at;		     /* the instruction in `code` */
	uint64_t sp, fp, r0, sender; /* registers; words of the stack by index */
	struct runtime_caller caller;
};

/* A method's frame is made at FRAME: its return address is RETURN, its caller's frame pointer
 * CALLER and stack pointer SENDER. */
#define FRAME	RUNTIME_ENTRY_BEFORE
#define WORD(i) (STACK + 8 * (i))
#define RETURN	(CODE + 0x1234)
#define CALLER	WORD(50)
#define SENDER	WORD(42)

static bool enter(const struct walk_memory *memory, const struct entry *e,
		  struct runtime_caller *ret_caller)
{
	/* pop %rax; lea -8(%rsp,%rcx,8),%r14; test %edx,%edx; jle 3f; 2: push $0; dec %edx; jg 2b;
	 * 3: push %rax; push %rbp; mov %rsp,%rbp; push %r13; push $0 */
	static const char code[] = "\x58\x4c\x8d\x74\xcc\xf8\x85\xd2\x0f\x8e\x09\0\0\0\x68\0\0\0\0"
				   "\xff\xca\x7f\xf7\x50\x55\x48\x8b\xec\x41\x55\x68\0\0\0\0";
	uint8_t bytes[RUNTIME_ENTRY_BEFORE + RUNTIME_ENTRY_AFTER];
	uint64_t r[STACKD_REG_COUNT] = {0};

	memset(bytes, 0x90, sizeof(bytes));
	memcpy(bytes + FRAME - e->at, code, sizeof(code) - 1);
	r[STACKD_REG_SP] = e->sp;
	r[STACKD_REG_FP] = e->fp;
	r[JAVA_ENTRY_RETURN_REG] = e->r0;
	r[JAVA_ENTRY_SENDER_REG] = e->sender;
	return runtime_frame_enter(memory, bytes, sizeof(bytes), FRAME, r, ret_caller);
}

/* At each state in which the frame can be, the caller is the same. */
static void test_enter(void **state)
{
	const struct entry entries[] = {
		{0, WORD(40), CALLER, 1, SENDER, {RETURN, WORD(40), SENDER, CALLER}},
		{1, WORD(41), CALLER, RETURN, SENDER, {RETURN, WORD(40), SENDER, CALLER}},
		{23, WORD(39), CALLER, RETURN, SENDER, {RETURN, WORD(38), SENDER, CALLER}},
		{24, WORD(40), CALLER, RETURN, SENDER, {RETURN, WORD(40), SENDER, CALLER}},
		{25, WORD(39), CALLER, RETURN, SENDER, {RETURN, WORD(40), SENDER, CALLER}},
		{28, WORD(39), WORD(39), RETURN, SENDER, {RETURN, WORD(40), SENDER, CALLER}},
		{30, WORD(38), WORD(39), 1, 1, {RETURN, WORD(40), SENDER, CALLER}},
	};
	uint64_t words[WORDS] = {[40] = RETURN, [39] = CALLER, [38] = SENDER};
	struct walk_memory memory = {
		.bytes = (const uint8_t *)words, .start = STACK, .len = sizeof(words)};
	struct runtime_caller caller;

	(void)state;
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		const struct entry *e = &entries[i];
		struct entry odd = *e;

		assert_true(enter(&memory, e, &caller));
		assert_int_equal(caller.pc, e->caller.pc);
		assert_int_equal(caller.slot, e->caller.slot);
		assert_int_equal(caller.sp, e->caller.sp);
		assert_int_equal(caller.fp, e->caller.fp);
		odd.sp += 4;
		odd.fp += 4;
		assert_false(enter(&memory, &odd, &caller));
	}
	words[38] = WORD(40); /* the caller's stack pointer, below the return address */
	assert_false(enter(&memory, &entries[6], &caller));
	memory.len = 8 * 39; /* without the frame */
	assert_false(enter(&memory, &entries[6], &caller));
}

/* Code and frames of no runtime. */
static void test_none(void **state)
{
	const uint64_t words[WORDS] = {0};
	const struct walk_memory memory = {
		.bytes = (const uint8_t *)words, .start = STACK, .len = sizeof(words)};
	const uint64_t r[STACKD_REG_COUNT] = {0};
	uint8_t code[RUNTIME_ENTRY_BEFORE + RUNTIME_ENTRY_AFTER];
	struct runtime_caller caller;
	uint64_t found[4], link;

	(void)state;
	memset(code, 0x90, sizeof(code));
	assert_false(
		runtime_frame_enter(&memory, code, sizeof(code), RUNTIME_ENTRY_BEFORE, r, &caller));
	assert_null(runtime_frame_waits(&memory, WORD(20), WORD(10), &link));
	assert_false(runtime_frame_sender(&memory, WORD(20), &link));
	assert_false(runtime_frame_runs(&memory, WORD(20), WORD(10)));
	assert_int_equal(runtime_frame_starts(code, sizeof(code), CODE, found, 4), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),	cmocka_unit_test(test_other_file),
		cmocka_unit_test(test_process), cmocka_unit_test(test_enter),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
