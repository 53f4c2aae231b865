/* SPDX-License-Identifier: MIT */
/* What PHP's interpreter does with its two registers, found in functions of this program that are
 * as compilers write it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "runtime/php/php_code.h"

#define RBP 0 /* in STACKD_SAVED_REGS */
#define R14 4
#define R15 5

/* As 8.2 has it, by the stack pointer; as 8.4, by the frame pointer; without registers of its own;
 * without a way out; and with more code behind returns than there is room for. The frame before is
 * taken in three ways: from the frame, through another register, and with a branch on the way. */
#define ENDS(name) " ret\n " name "_end:\n"
#define LEAVES(name)                                                                               \
	" mov 0x30(%r14),%r14\n " name "_a: mov (%r14),%rax\n lea 0x20(%rax),%r15\n " name         \
	"_b: jmp *(%r15)\n"

__asm__(".text\n"
	"by_stack: push %rbp\n push %rbx\n sub $0x50,%rsp\n mov %r14,0x48(%rsp)\n by_stack_s:"
	" mov %rdi,%r14\n mov %r15,0x40(%rsp)\n by_stack_t: test %rdi,%rdi\n je 1f\n"
	" mov (%rdi),%r15\n by_stack_body: jmp *(%r15)\n" LEAVES(
		"by_stack") " mov 0x30(%r14),%rax\n mov %rbx,8(%rax)\n mov %rax,%r14\n by_stack_c: test %rbx,%rbx\n"
			    " jne 2f\n lea 0x20(%rbx),%r15\n by_stack_d: jmp *(%r15)\n"
			    " mov %rbx,%r14\n mov %rbx,%r15\n jmp *(%r15)\n"
			    "2: by_stack_e: mov (%r14),%rdi\n call by_pointer\n mov (%r14),%r15\n by_stack_f: jmp *(%r15)\n"
			    "1: mov 0x48(%rsp),%r14\n by_stack_out: mov 0x40(%rsp),%r15\n add $0x50,%rsp\n pop %rbx\n"
			    " pop %rbp\n" ENDS(
				    "by_stack") "by_pointer: push %rbp\n mov %rsp,%rbp\n push %rbx\n sub $0x58,%rsp\n mov %r15,-0x40(%rbp)\n"
						" mov %rdi,%r15\n mov %r14,-0x38(%rbp)\n mov (%r15),%r14\n jmp *(%r14)\n"
						" mov 0x30(%r15),%r15\n mov (%r15),%r14\n jmp *(%r14)\n"
						" mov -0x40(%rbp),%r15\n mov -0x38(%rbp),%r14\n add $0x58,%rsp\n pop %rbx\n pop %rbp\n" ENDS(
							"by_pointer") "plain: push %rbx\n mov %rdi,%rbx\n 1: mov (%rbx),%rax\n call *(%rax)\n test %eax,%eax\n"
								      " jg 1b\n pop %rbx\n" ENDS(
									      "plain") "no_way: sub $0x58,%rsp\n mov %r14,0x48(%rsp)\n mov %rdi,%r14\n mov %r15,0x40(%rsp)\n"
										       " mov (%rdi),%r15\n jmp *(%r15)\n" LEAVES(
											       "no_way")
											       ENDS("no_way") "many: sub $0x58,%rsp\n mov %r14,0x48(%rsp)\n mov %rdi,%r14\n mov %r15,0x40(%rsp)\n"
													      " mov (%rdi),%r15\n jmp *(%r15)\n"
													      " .rept 25\n mov 0x30(%r14),%r14\n mov (%r14),%r15\n jmp *(%r15)\n .endr\n"
													      " mov 0x48(%rsp),%r14\n mov 0x40(%rsp),%r15\n add $0x58,%rsp\n" ENDS(
														      "many"));

extern char by_stack[], by_stack_s[], by_stack_t[], by_stack_body[], by_stack_a[], by_stack_b[];
extern char by_stack_c[], by_stack_d[], by_stack_e[], by_stack_f[], by_stack_out[], by_stack_end[];
extern char by_pointer[], by_pointer_end[], plain[], plain_end[], no_way[], no_way_end[];
extern char many[], many_end[];

static int take_base(struct dl_phdr_info *info, size_t size, void *ret_base)
{
	(void)size;
	*(uint64_t *)ret_base = info->dlpi_addr;
	return 1; /* the program itself is the first */
}

/* Reads a function. Returns whether all of it is known. */
static bool read_function(const char *from, const char *to, struct runtime_interpreter *ret_is)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t base, start;
	struct elf_file *file;
	bool is_read;

	dl_iterate_phdr(take_base, &base);
	assert_int_equal(elf_file_open(fd, &file), 0);
	assert_true(elf_file_vaddr_to_offset(file, (uint64_t)from - base, &start));
	*ret_is = (struct runtime_interpreter){.n_evals = 1};
	ret_is->facts.eval = ret_is->evals[0].start = start;
	ret_is->evals[0].end = start + (uint64_t)(to - from);
	is_read = php_code_read(file, ret_is);
	elf_file_free(file);
	close(fd);
	return is_read;
}

static void assert_stale(const struct stackd_php *php, size_t i, const char *from, const char *to)
{
	assert_int_equal(php->stale_from[i], from - by_stack);
	assert_int_equal(php->stale_to[i], to - by_stack);
}

static void registers_are_found(void **state)
{
	struct runtime_interpreter is;
	uint64_t start;

	(void)state;
	assert_true(read_function(by_stack, by_stack_end, &is));
	start = is.facts.eval;
	assert_int_equal(is.facts.frame_register, 14);
	assert_int_equal(is.facts.instruction_register, 15);
	assert_int_equal(is.facts.php.body_from, by_stack_body - by_stack);
	assert_int_equal(is.facts.left_from[0], by_stack_out - by_stack);
	assert_int_equal(is.facts.left_to[0], by_stack_end - by_stack);
	assert_int_equal(is.facts.left_to[1], 0);
	assert_int_equal(is.facts.php.n_stale, 3);
	assert_stale(&is.facts.php, 0, by_stack_a, by_stack_b);
	assert_stale(&is.facts.php, 1, by_stack_c, by_stack_d);
	assert_stale(&is.facts.php, 2, by_stack_e, by_stack_f);
	/* 0x50 bytes, two registers and the return address from the stack pointer to the CFA */
	assert_int_equal(is.n_evals, 2);
	assert_int_equal(is.evals[1].start, start + (uint64_t)(by_stack_s - by_stack));
	assert_int_equal(is.evals[1].end, start + (uint64_t)(by_stack_t - by_stack));
	assert_int_equal(is.evals[1].saved[R14], 0x48 - 0x68);
	assert_int_equal(is.evals[1].saved[R15], 0);
	assert_int_equal(is.evals[0].start, is.evals[1].end);
	assert_int_equal(is.evals[0].saved[R14], 0x48 - 0x68);
	assert_int_equal(is.evals[0].saved[R15], 0x40 - 0x68);
	assert_int_equal(is.evals[0].saved[RBP], 0);
}

static void frame_pointers_are_known(void **state)
{
	struct runtime_interpreter is;

	(void)state;
	assert_true(read_function(by_pointer, by_pointer_end, &is));
	assert_int_equal(is.facts.frame_register, 15);
	assert_int_equal(is.facts.instruction_register, 14);
	assert_int_equal(is.evals[0].saved[R15], -0x50); /* the CFA is 16 above the frame pointer */
	assert_int_equal(is.evals[0].saved[R14], -0x48);
	assert_int_equal(is.facts.php.n_stale, 1);
}

static void others_are_refused(void **state)
{
	struct runtime_interpreter is;

	(void)state;
	assert_false(read_function(plain, plain_end, &is));
	assert_false(read_function(no_way, no_way_end, &is));
	assert_false(read_function(many, many_end, &is));
	assert_false(read_function(by_stack, by_stack_body, &is));
	assert_false(read_function(by_stack, by_stack, &is));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registers_are_found),
		cmocka_unit_test(frame_pointers_are_known),
		cmocka_unit_test(others_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
