/* SPDX-License-Identifier: MIT */
/*
 * Registers that a callee keeps, or does not: assembly of this program, looked at as a walk does.
 * Each caller_X calls X; label at_X is an instruction of X, and the return address in caller_X is
 * behind_X.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "unwind/kept_register.h"

#define RAX 0
#define RDX 1
#define RCX 2
#define RSI 4
#define R8  8
#define R11 11

#define CASE(name, body)                                                                           \
	extern char at_##name[], behind_##name[];                                                  \
	__asm__(".pushsection .text\n" #name ":\n" body "\n"                                       \
		"caller_" #name ": call " #name "\nbehind_" #name ": ret\n.popsection")

CASE(keeps, "mov $1, %ecx\nat_keeps: add %rcx, %rsi\nmov %rsi, -8(%rsp)\nret");
CASE(writes_half, "test %edi, %edi\njz 1f\nat_writes_half: ret\n1: mov $1, %eax\nret");
CASE(exchanges, "at_exchanges: xchg %rdx, %r8\nret");
CASE(pops, "push %rax\npop %r11\nat_pops: ret");
CASE(multiplies, "mul %rsi\nat_multiplies: ret");
CASE(enters_kernel, "at_enters_kernel: syscall\nret");
CASE(loops, "at_loops: loop at_loops\nret");
CASE(calls_unknown, "call *%rdi\nat_calls_unknown: ret");
CASE(leaves_by_unknown, "at_leaves_by_unknown: jmp *%rdi");
CASE(calls_other, "call keeps\nat_calls_other: ret");
CASE(calls_writer, "call 1f\nat_calls_writer: ret\n1: xor %eax, %eax\nret");
CASE(jumps, "jmp 1f\nnop\n1: nop\nat_jumps: ret");
CASE(recurs, "dec %edi\njz 1f\ncall recurs\nat_recurs: nop\n1: ret");
CASE(beside, "ret\nat_beside: nop\nret");
CASE(copies, "cld\nrep movsb\nat_copies: ret");

extern char behind_pointer[];
__asm__(".pushsection .text\ncaller_pointer: call *%rdi\nbehind_pointer: ret\n.popsection");

static struct object object;
static struct kept_register kept;
static uint64_t base;

static uint64_t offset_of(const char *code)
{
	uint64_t offset;

	assert_true(elf_file_vaddr_to_offset(object.elf, (uint64_t)code - base, &offset));
	return offset;
}

/* Whether the register is kept, from the call before `behind` to `at`, which waits for a call to
 * return or not. */
static bool ask(const char *at, bool is_return, const char *behind, unsigned reg)
{
	const struct walk_frame callee = {
		.object = &object, .offset = offset_of(at) - is_return, .is_return = is_return};
	const struct walk_frame caller = {
		.object = &object, .offset = offset_of(behind) - 1, .is_return = true};

	return kept_register_is_kept(&kept, &callee, &caller, reg);
}

#define KEEPS(name, reg) ask(at_##name, false, behind_##name, reg)

static void test_keeps(void **state)
{
	(void)state;
	assert_true(KEEPS(keeps, RAX));
	assert_true(KEEPS(keeps, R11));
	assert_false(KEEPS(keeps, RCX));
	assert_false(KEEPS(keeps, RSI));
	assert_true(KEEPS(jumps, RAX));
	assert_true(KEEPS(leaves_by_unknown, RAX) == false);
}

/* On any way, not only on the one that leads to the callee's instruction, in a part of the
 * register, and by instructions that do not name it. */
static void test_writes(void **state)
{
	(void)state;
	assert_false(KEEPS(writes_half, RAX));
	assert_true(KEEPS(writes_half, RDX));
	assert_false(KEEPS(exchanges, RDX));
	assert_false(KEEPS(exchanges, R8));
	assert_false(KEEPS(pops, R11));
	assert_true(KEEPS(pops, RAX));
	assert_false(KEEPS(multiplies, RAX));
	assert_false(KEEPS(multiplies, RDX));
	assert_false(KEEPS(enters_kernel, R11));
	assert_false(KEEPS(enters_kernel, RAX));
	assert_false(KEEPS(loops, RCX));
	assert_false(KEEPS(copies, RCX));
	assert_false(KEEPS(copies, RSI));
	assert_true(KEEPS(copies, RAX));
}

static void test_calls(void **state)
{
	(void)state;
	assert_false(KEEPS(calls_unknown, RAX));
	assert_true(ask(at_calls_other, true, behind_calls_other, RAX));
	assert_true(ask(at_keeps, false, at_calls_other, RAX));
	assert_false(ask(at_calls_other, true, behind_calls_other, RCX));
	assert_false(ask(at_calls_writer, true, behind_calls_writer, RAX));
	assert_true(ask(at_recurs, true, behind_recurs, RAX));
	assert_true(ask(at_recurs, true, at_recurs, RAX));
}

/* The callee is not what the call leads to. */
static void test_other_callee(void **state)
{
	(void)state;
	assert_false(KEEPS(beside, RAX));
	assert_false(ask(at_keeps, false, behind_writes_half, RDX));
	assert_false(ask(at_keeps, false, behind_pointer, RAX));
}

static int set_up(void **state)
{
	Dl_info info;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(dladdr(at_keeps, &info));
	base = (uint64_t)info.dli_fbase;
	assert_int_equal(elf_file_open(fd, &object.elf), 0);
	close(fd);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	kept_register_fini(&kept);
	elf_file_free(object.elf);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keeps),
		cmocka_unit_test(test_writes),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_other_callee),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
