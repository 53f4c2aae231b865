/* SPDX-License-Identifier: MIT */
/* Where the probes of regions move to (daemon/regions/probe_move.h), in functions of this file. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/regions/function_exits.h"
#include "daemon/regions/probe_move.h"

/* A function with labels `name`_entry, where its entry's probe is to be, and `name`_0 and on, where
 * its exits are to be. */
#define FUNCTION(name, code)                                                                       \
	extern const char name[], name##_entry[], name##_end[];                                    \
	__asm__(".text\n.globl " #name ", " #name "_entry, " #name "_end\n" #name ":\n" code #name \
		"_end:\n.skip 16, 0xcc\n")

#define EXIT(name) extern const char name[]

EXIT(wtime_0);
FUNCTION(wtime, "sub $0x28, %rsp\nmov $1, %edi\nmov %fs:0x28, %rax\nxor %eax, %eax\n"
		".globl wtime_entry\nwtime_entry: call other\n"
		"test %rcx, %rcx\nje 1f\n2: mov 0x18(%rsp), %rax\nsub %fs:0x28, %rax\n"
		".globl wtime_0\nwtime_0: jne 3f\nadd $0x28, %rsp\nret\n"
		"1: mov %rcx, (%rdx)\njmp 2b\n3: call other\n");

EXIT(arguments_0);
FUNCTION(arguments, "arguments_entry: mov $1, %edi\npush %rbx\n.globl arguments_0\n"
		    "call other\npop %rbx\narguments_0: ret\n");

EXIT(saves_0);
EXIT(saves_1);
FUNCTION(saves, "mov $1, %r11\nsaves_entry: push %r15\npush %rbp\npush %rbx\nsub $16, %rsp\n"
		"call other\ntest %eax, %eax\n.globl saves_0, saves_1\n"
		"saves_0: jne 1f\n2: add $16, %rsp\nmov %ebx, %eax\npop %rbx\npop %rbp\npop %r15\n"
		"ret\n1: call other\nsaves_1: jmp 2b\n");

EXIT(loop_0);
FUNCTION(loop, "loop_entry: push %rbx\n1: dec %ebx\njne 1b\npop %rbx\n"
	       ".globl loop_0\nloop_0: ret\n");

/* The way that the branch takes leads back to it. */
EXIT(around_0);
FUNCTION(around, "around_entry: push %rbx\n1: test %ebx, %ebx\njne 2f\npop %rbx\n"
		 ".globl around_0\naround_0: ret\n2: call other\njmp 1b\n");

/* One edge of two is behind a call. */
EXIT(behind_0);
FUNCTION(behind, "behind_entry: push %rbx\ntest %edi, %edi\nje 1f\ncall other\n1: pop %rbx\n"
		 ".globl behind_0\nbehind_0: ret\n");

/* Stores before the return are a part of what is measured. */
EXIT(stores_0);
FUNCTION(stores, "stores_entry: push %rbx\ntest %edi, %edi\njne 1f\nmov %rdi, (%rsi)\npop %rbx\n"
		 ".globl stores_0\nstores_0: ret\n1: ud2\n");

/* The registers are restored in another order. */
EXIT(order_0);
FUNCTION(order, "order_entry: push %rbx\npush %rbp\ntest %edi, %edi\njne 1f\npop %rbp\npop %rbx\n"
		".globl order_0\norder_0: ret\n1: ud2\n");

/* A register is restored by a load. */
EXIT(loads_0);
FUNCTION(loads, "loads_entry: push %rbx\ntest %edi, %edi\njne 1f\nmov (%rsp), %rbx\nadd $8, %rsp\n"
		".globl loads_0\nloads_0: ret\n1: ud2\n");

/* A jump leads between the entry and where it could move to. */
EXIT(between_0);
FUNCTION(between, "between_entry: xor %eax, %eax\n1: inc %eax\npush %rbx\ncall other\npop %rbx\n"
		  "cmp %edi, %eax\nje 1b\n2: call other\n.globl between_0\nbetween_0: ret\n");

/* What jumps by a register may lead anywhere. */
EXIT(anywhere_0);
EXIT(anywhere_1);
FUNCTION(anywhere, "anywhere_entry: xor %eax, %eax\npush %rbx\ntest %edi, %edi\njne 1f\npop %rbx\n"
		   ".globl anywhere_0, anywhere_1\nanywhere_0: ret\n1: anywhere_1: jmp *%rax\n");

/* Both ways of a branch lead to a return: one of them gets it. */
EXIT(both_0);
EXIT(both_1);
FUNCTION(both, "both_entry: push %rbx\ntest %edi, %edi\n.globl both_0, both_1\n"
	       "both_0: jne 1f\npop %rbx\nret\n1: pop %rbx\nboth_1: ret\n");

/* The whole function is one way from the entry to the return. */
EXIT(straight_0);
FUNCTION(straight, "straight_entry: xor %eax, %eax\n.globl straight_0\nstraight_0: ret\n");

/* The branch that the entry moves to is no exit. */
EXIT(shared_0);
FUNCTION(shared, "test %edi, %edi\nshared_entry: jne 1f\nxor %eax, %eax\n"
		 ".globl shared_0\nshared_0: ret\n1: ud2\n");

/* A nop of five bytes, where no probe can be. */
#define LONG_NOP ".byte 0x0f, 0x1f, 0x44, 0, 0\n"

EXIT(nop_0);
FUNCTION(nop, LONG_NOP LONG_NOP "nop_entry: xor %eax, %eax\n.globl nop_0\nnop_0: ret\n");

EXIT(nop_table_0);
EXIT(nop_table_1);
FUNCTION(nop_table, LONG_NOP "nop_table_entry: test %edi, %edi\njne 1f\n"
			     ".globl nop_table_0, nop_table_1\nnop_table_0: ret\n"
			     "1: nop_table_1: jmp *%rax\n");

EXIT(nop_push_0);
FUNCTION(nop_push, "xor %eax, %eax\n" LONG_NOP "nop_push_entry: push %rbx\npop %rbx\n"
		   ".globl nop_push_0\nnop_push_0: ret\n");

/* A jump leads behind it, so it cannot move: the probe is refused. */
EXIT(nop_loop_0);
FUNCTION(nop_loop, "nop_loop_entry: " LONG_NOP "1: dec %edi\njne 1b\n"
		   ".globl nop_loop_0\nnop_loop_0: ret\n");

extern const char other[], __ehdr_start[];
__asm__(".text\nother: ret\n.skip 16, 0xcc\n");

struct expected {
	const char *exit;
	unsigned kind, saved, frame;
};

static const struct elf_file *file;

static uint64_t vaddr_of(const char *symbol)
{
	return (uint64_t)(symbol - __ehdr_start);
}

static void judge(const char *start, const char *entry, const char *end, bool uses_arguments,
		  unsigned frame, const struct expected *expected, size_t count)
{
	const struct code_part part = {vaddr_of(start), (uint64_t)(end - start)};
	struct function_exits exits;

	assert_int_equal(function_exits_find(file, &part, 1, &exits), 0);
	assert_int_equal(probe_move(file, &part, 1, uses_arguments, &exits), 0);
	assert_int_equal(exits.after, entry - start);
	assert_int_equal(exits.frame, frame);
	assert_int_equal(exits.all.count, count);
	for (size_t i = 0; i < count; i++) {
		const struct function_exit *exit = &exits.all.items[i];
		uint64_t vaddr;

		assert_true(elf_file_offset_to_vaddr(file, exit->offset, &vaddr));
		assert_int_equal(vaddr, vaddr_of(expected[i].exit));
		assert_int_equal(exit->kind, expected[i].kind);
		assert_int_equal(exit->saved, expected[i].saved);
		assert_int_equal(exit->frame, expected[i].frame);
	}
	function_exits_free(&exits);
}

#define JUDGE(name, uses_arguments, frame, ...)                                                    \
	do {                                                                                       \
		const struct expected all[] = {__VA_ARGS__};                                       \
                                                                                                   \
		judge(name, name##_entry, name##_end, uses_arguments, frame, all,                  \
		      sizeof(all) / sizeof(*all));                                                 \
	} while (0)

enum { IF_EQUAL = 4, IF_NOT_EQUAL = 5, EPILOGUE = STACKD_EXIT_EPILOGUE };

static void test_moves(void **state)
{
	(void)state;
	JUDGE(wtime, false, 5, {wtime_0, STACKD_EXIT_BRANCH | EPILOGUE | IF_EQUAL, 0, 5});
	JUDGE(saves, false, 0, {saves_1, STACKD_EXIT_JUMP | EPILOGUE, 0x23, 5},
	      {saves_0, STACKD_EXIT_BRANCH | EPILOGUE | IF_EQUAL, 0x23, 5});
	JUDGE(both, false, 0, {both_0, STACKD_EXIT_BRANCH | EPILOGUE | IF_EQUAL, 1, 1},
	      {both_1, STACKD_EXIT_RETURN, 0, 0});
}

static void test_passes_nops(void **state)
{
	(void)state;
	JUDGE(nop, false, 0, {nop_0, STACKD_EXIT_RETURN, 0, 0});
	JUDGE(nop_table, false, 0, {nop_table_0, STACKD_EXIT_RETURN, 0, 0},
	      {nop_table_1, STACKD_EXIT_JUMP, 0, 0});
	JUDGE(nop_push, false, 0, {nop_push_0, STACKD_EXIT_RETURN, 0, 0});
	JUDGE(nop_loop, false, 0, {nop_loop_0, STACKD_EXIT_RETURN, 0, 0});
}

static void test_stays(void **state)
{
	(void)state;
	JUDGE(arguments, true, 0, {arguments_0, STACKD_EXIT_RETURN, 0, 0});
	JUDGE(loop, false, 0, {loop_0, STACKD_EXIT_RETURN, 0, 0});
	JUDGE(around, false, 0, {around_0, STACKD_EXIT_RETURN, 0, 0});
	JUDGE(behind, false, 0, {behind_0, STACKD_EXIT_RETURN, 0, 0});
	JUDGE(stores, false, 0, {stores_0, STACKD_EXIT_RETURN, 0, 0});
	JUDGE(order, false, 0, {order_0, STACKD_EXIT_RETURN, 0, 0});
	JUDGE(loads, false, 0, {loads_0, STACKD_EXIT_RETURN, 0, 0});
	JUDGE(between, false, 0, {between_0, STACKD_EXIT_RETURN, 0, 0});
	JUDGE(anywhere, false, 0, {anywhere_0, STACKD_EXIT_RETURN, 0, 0},
	      {anywhere_1, STACKD_EXIT_JUMP, 0, 0});
	JUDGE(straight, false, 0, {straight_0, STACKD_EXIT_RETURN, 0, 0});
	JUDGE(shared, false, 0, {shared_0, STACKD_EXIT_RETURN, 0, 0});
}

static int open_file(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), err;
	struct elf_file *opened = NULL;

	(void)state;
	err = fd < 0 ? -1 : elf_file_open(fd, &opened);
	if (fd >= 0)
		close(fd);
	file = opened;
	return err;
}

static int close_file(void **state)
{
	(void)state;
	elf_file_free((struct elf_file *)file);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_moves),
					   cmocka_unit_test(test_passes_nops),
					   cmocka_unit_test(test_stays)};

	return cmocka_run_group_tests(tests, open_file, close_file);
}
