/* SPDX-License-Identifier: MIT */
/*
 * Sizes of frames of functions with a frame pointer: assembly of this program. Each function begins
 * as compilers do, has a body, and a landing pad, to which no jump leads.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cmocka.h>

#include "unwind/frame_depth.h"

#define CASE(name, body)                                                                           \
	extern char name[];                                                                        \
	__asm__(".pushsection .text\n" #name ": .cfi_startproc\npush %rbp\n"                       \
		".cfi_def_cfa_offset 16\n.cfi_offset 6,-16\nmov %rsp,%rbp\n"                       \
		".cfi_def_cfa_register 6\n" body "\n.cfi_endproc\n.popsection")

#define LEAVE "leave\n.cfi_remember_state\n.cfi_def_cfa 7,8\nret\n.cfi_restore_state\n"
#define PAD   "mov %rax,%rdi\ncall other\nmov %rbx,%rdi\ncall other\nud2"

__asm__(".pushsection .text\nother: ret\n.popsection");

CASE(fixed, "push %rbx\nsub $0x28,%rsp\ncall other\ntest %eax,%eax\nje 1f\ncall other\n"
	    "1: mov -8(%rbp),%rbx\n" LEAVE PAD);
CASE(left_by_pops, "push %rbx\nsub $8,%rsp\ncall other\nadd $8,%rsp\npop %rbx\npop %rbp\n"
		   ".cfi_remember_state\n.cfi_def_cfa 7,8\nret\n.cfi_restore_state\n" PAD);
CASE(left_by_address,
     "push %rbx\npush %r12\ncall other\nlea -16(%rbp),%rsp\npop %r12\npop %rbx\n"
     "pop %rbp\n.cfi_remember_state\n.cfi_def_cfa 7,8\nret\n.cfi_restore_state\n" PAD);
CASE(thrower, "push %rbx\nsub $0x18,%rsp\ncall other\nlea 8(%rbp,%rax,1),%rcx\nmov (%rbp),%rbp\n"
	      ".cfi_def_cfa 2,8\nmov %rcx,%rsp\n.cfi_def_cfa_register 7\npop %rcx\njmp *%rcx\n"
	      ".cfi_def_cfa 6,16\n" PAD);

CASE(grows, "push %rbx\nsub $8,%rsp\ncall other\nsub %rax,%rsp\ncall other\n" LEAVE PAD);
CASE(array, "push %rbx\nsub $8,%rsp\ncall other\nmov %rax,%rsp\ncall other\n" LEAVE PAD);
CASE(aligned, "push %rbx\nand $-32,%rsp\nsub $32,%rsp\ncall other\n" LEAVE PAD);
CASE(arguments,
     "push %rbx\nsub $8,%rsp\ncall other\npush $1\npush $2\ncall other\nadd $16,%rsp\n" LEAVE PAD);
CASE(pad_with_arguments, "push %rbx\nsub $8,%rsp\ncall other\n" LEAVE "push $1\npush $2\n" PAD);
CASE(two_ways, "push %rbx\ntest %eax,%eax\nje 1f\nsub $16,%rsp\n1: call other\n" LEAVE PAD);
CASE(no_call, "push %rbx\nsub $8,%rsp\n" LEAVE PAD);
CASE(no_code, "push %rbx\nsub $8,%rsp\ncall other\n.byte 6\n" LEAVE PAD);

/* The cold part of a function: nothing says how it is entered. */
extern char cold[];
__asm__(".pushsection .text\ncold: .cfi_startproc\n.cfi_def_cfa 6,16\n.cfi_offset 6,-16\n"
	"call other\n" PAD "\n.cfi_endproc\n.popsection");

static struct elf_file *file;
static struct cfi_index *cfi;
static uint64_t base;

static int32_t depth(const char *function)
{
	return frame_depth_of(file, cfi, (uint64_t)function + 5 - base);
}

static void test_known(void **state)
{
	(void)state;
	assert_int_equal(depth(fixed), 16 + 8 + 0x28);
	assert_int_equal(depth(left_by_pops), 16 + 8 + 8);
	assert_int_equal(depth(left_by_address), 16 + 16);
	assert_int_equal(depth(thrower), 16 + 8 + 0x18);
}

static void test_unknown(void **state)
{
	const char *const functions[] = {grows,	   array,   aligned, arguments, pad_with_arguments,
					 two_ways, no_call, no_code, cold};

	(void)state;
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		assert_int_equal(depth(functions[i]), 0);
}

static int set_up(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	Dl_info info;

	(void)state;
	assert_int_equal(elf_file_open(fd, &file), 0);
	close(fd);
	assert_int_equal(cfi_index_new(file, &cfi), 0);
	assert_true(dladdr(fixed, &info));
	base = (uint64_t)info.dli_fbase;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	cfi_index_free(cfi);
	elf_file_free(file);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
