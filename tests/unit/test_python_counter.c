/* SPDX-License-Identifier: MIT */
/*
 * Where CPython counts the code objects that it makes, found in functions of this program that are
 * as compilers write them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "runtime/python/python_counter.h"

#define VERSION 92 /* offset in a code object */

/* As 3.12.1 and 3.13.0 do it, by a variable and by a member; then what only looks like it: a
 * version that comes from elsewhere, memory that is stored to without one, and another register's
 * value. */
__asm__(".text\n"
	".macro FUNCTION name\n"
	"\\name: .cfi_startproc\n"
	".endm\n"
	".macro END\n"
	"ret\n"
	".cfi_endproc\n"
	".endm\n"
	"FUNCTION make_plain\n mov made_codes(%rip),%eax\n mov %r10d,0x58(%rbx)\n"
	" mov %eax,0x5c(%rbx)\n test %eax,%eax\n je 1f\n add $1,%eax\n"
	" mov %eax,made_codes(%rip)\n1: xor %eax,%eax\n END\n"
	"FUNCTION make_by_address\n lea made_codes(%rip),%rdx\n mov (%rdx),%eax\n"
	" movups %xmm0,0x48(%rbx)\n mov %eax,0x5c(%rbx)\n test %eax,%eax\n je 1f\n"
	" add $1,%eax\n mov %eax,(%rdx)\n1: END\n"
	"FUNCTION make_inner\n mov 0x4268(%r14),%eax\n mov %eax,0x5c(%rbx)\n test %eax,%eax\n"
	" je 1f\n add $1,%eax\n mov %eax,0x4268(%r14)\n1: END\n"
	"FUNCTION make_middle\n call make_other\n call make_inner\n END\n"
	"FUNCTION make_outer\n call make_middle\n END\n"
	"FUNCTION make_other\n mov made_codes(%rip),%eax\n mov %eax,0x60(%rbx)\n"
	" mov %eax,made_codes(%rip)\n mov 0x10(%rdi),%eax\n mov %eax,0x5c(%rbx)\n"
	" mov %eax,0x14(%rdi)\n mov 0x18(%rdi),%eax\n xor %eax,%eax\n mov %eax,0x5c(%rbx)\n"
	" mov %eax,0x18(%rdi)\n END\n"
	".bss\n made_codes: .zero 4\n .text\n");

extern char make_plain[], make_by_address[], make_outer[], make_other[], made_codes[];

static int take_base(struct dl_phdr_info *info, size_t size, void *ret_base)
{
	(void)size;
	*(uint64_t *)ret_base = info->dlpi_addr;
	return 1; /* the program itself is the first */
}

static struct stackd_interpreter find(const char *function, uint64_t *ret_base)
{
	struct runtime_interpreter is = {.facts.code_version = VERSION};
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_file *file;

	dl_iterate_phdr(take_base, ret_base);
	assert_int_equal(elf_file_open(fd, &file), 0);
	python_counter_find(file, (uint64_t)function - *ret_base, 0x1000, &is);
	elf_file_free(file);
	close(fd);
	return is.facts;
}

static void a_variable_is_found(void **state)
{
	char *const functions[] = {make_plain, make_by_address};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		uint64_t base;
		struct stackd_interpreter is = find(functions[i], &base);

		assert_int_equal(is.counter_kind, STACKD_VERSIONS_OF_FILE);
		assert_int_equal(is.counter, (uint64_t)made_codes - base - 0x1000);
	}
}

static void a_member_is_found(void **state)
{
	uint64_t base;
	struct stackd_interpreter is = find(make_outer, &base);

	(void)state;
	assert_int_equal(is.counter_kind, STACKD_VERSIONS_OF_INTERPRETER);
	assert_int_equal(is.counter, 0x4268);
}

static void other_memory_is_not_taken(void **state)
{
	uint64_t base;

	(void)state;
	assert_int_equal(find(make_other, &base).counter_kind, STACKD_VERSIONS_NONE);
	assert_int_equal(find(make_other + 1, &base).counter_kind, STACKD_VERSIONS_NONE);
	assert_int_equal(find(made_codes, &base).counter_kind, STACKD_VERSIONS_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_variable_is_found),
		cmocka_unit_test(a_member_is_found),
		cmocka_unit_test(other_memory_is_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
