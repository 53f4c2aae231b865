/* SPDX-License-Identifier: MIT */
/* Where an interpreter puts a frame into the chain before the frame's own link, found in functions
 * of this program that are as compilers write them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "runtime/python/python_pushes.h"

#define PREVIOUS 48 /* in a frame */
#define LAST	 72 /* in the thread's state */

/* As 3.11.7 has it; stores in the order of the source; a register that gets another value, and a
 * call, in between; and the last frame in the thread's state. Windows are from a label _a to _b. */
__asm__(".text\n"
	"exchanged: nop\n mov %rdx,0xa8(%rsp)\n exchanged_a: movq $0,0x18(%rsp)\n test %eax,%eax\n"
	" je 1f\n mov %rax,0x38(%rbp)\n mov %rbp,0x30(%rdx)\n exchanged_b: mov %rdx,%rbp\n"
	"1: mov %rcx,0x10(%rsp)\n mov %rax,0x38(%rcx)\n ret\n exchanged_end:\n"
	"ordered: mov %rbp,0x30(%rdx)\n mov %rdx,0xa8(%rsp)\n mov %rdx,%rbp\n ret\n"
	" mov %rdx,0xa8(%rsp)\n mov %rax,%rdx\n mov %rbp,0x30(%rdx)\n"
	" mov %rbx,0xa8(%rsp)\n call exchanged\n mov %rbp,0x30(%rbx)\n ret\n ordered_end:\n"
	"many:"
	" .rept 9\n mov %rdx,0xa8(%rsp)\n mov %rbp,0x30(%rdx)\n .endr\n ret\n many_end:\n"
	"garbled: nop\n .byte 6\n mov %rdx,0xa8(%rsp)\n mov %rbp,0x30(%rdx)\n ret\n garbled_end:\n"
	"in_state: mov %rdx,0x48(%r12)\n in_state_a: nop\n mov %rbp,0x30(%rdx)\n in_state_b: ret\n"
	" mov %rdx,0x48(%rsp)\n mov %rbp,0x30(%rdx)\n ret\n in_state_end:\n");

extern char exchanged[], exchanged_a[], exchanged_b[], exchanged_end[], ordered[], ordered_end[];
extern char many[], many_end[], garbled[], garbled_end[];
extern char in_state[], in_state_a[], in_state_b[], in_state_end[];

static int take_base(struct dl_phdr_info *info, size_t size, void *ret_base)
{
	(void)size;
	*(uint64_t *)ret_base = info->dlpi_addr;
	return 1; /* the program itself is the first */
}

static bool are_all; /* what python_pushes_find() has returned last */

/* Looks at a function, as the second part of an interpreter that begins 16 bytes before it. */
static struct stackd_interpreter find(uint16_t form, const char *from, const char *to)
{
	struct runtime_interpreter is = {
		.facts = {.form = form, .frame_previous = PREVIOUS, .thread_frame = LAST}};
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t base, start;
	struct elf_file *file;

	dl_iterate_phdr(take_base, &base);
	assert_int_equal(elf_file_open(fd, &file), 0);
	assert_true(elf_file_vaddr_to_offset(file, (uint64_t)from - base, &start));
	is.facts.eval = start - 16;
	is.evals[0].start = is.evals[0].end = start;
	is.evals[1].start = start;
	is.evals[1].end = start + (uint64_t)(to - from);
	is.n_evals = 2;
	are_all = python_pushes_find(file, &is);
	elf_file_free(file);
	close(fd);
	return is.facts;
}

static void exchanged_stores_are_found(void **state)
{
	struct stackd_interpreter is =
		find(STACKD_INTERPRETER_CFRAME_ENTRY, exchanged, exchanged_end);

	(void)state;
	assert_true(are_all);
	assert_int_equal(is.n_pushes, 1);
	assert_int_equal(is.pushed_from[0], 16 + exchanged_a - exchanged);
	assert_int_equal(is.pushed_to[0], 16 + exchanged_b - exchanged);
	is = find(STACKD_INTERPRETER_OWNER, in_state, in_state_end);
	assert_int_equal(is.n_pushes, 1);
	assert_int_equal(is.pushed_from[0], 16 + in_state_a - in_state);
	assert_int_equal(is.pushed_to[0], 16 + in_state_b - in_state);
}

static void others_are_not(void **state)
{
	(void)state;
	assert_int_equal(find(STACKD_INTERPRETER_CFRAME_OWNER, ordered, ordered_end).n_pushes, 0);
	assert_int_equal(find(STACKD_INTERPRETER_OWNER, exchanged, exchanged_end).n_pushes, 0);
	assert_true(are_all);
}

/* With one place more than have room, with bytes that are no instruction, and with code that is too
 * long, some places are not known. */
static void some_are_not_known(void **state)
{
	const uint16_t form = STACKD_INTERPRETER_CFRAME_ENTRY;

	(void)state;
	assert_int_equal(find(form, many, many_end).n_pushes, STACKD_INTERPRETER_PUSHES);
	assert_false(are_all);
	find(form, many + (many_end - 1 - many) / 9, many_end);
	assert_true(are_all);
	find(form, garbled, garbled_end);
	assert_false(are_all);
	find(form, ordered, ordered + (1u << 20) + 1);
	assert_false(are_all);
	find(form, ordered, ordered - 1);
	assert_false(are_all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exchanged_stores_are_found),
		cmocka_unit_test(others_are_not),
		cmocka_unit_test(some_are_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
