/* SPDX-License-Identifier: MIT */
/*
 * Rules of this program's own code where many jumps lead to unknown targets: those of an
 * interpreter, or of many functions. They have the same frame as `shared`, into whose middle a
 * pointer in the data leads. Only `points`, whose jump comes behind all of them, has another frame,
 * and could bring it there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those above. */
#include <cmocka.h>

#include "analysed_code.h"

extern const char __executable_start[];

#define FUNCTION(name) ".type " name ", @function\n.p2align 4\n" name ":\n"
#define SHARED(name)                                                                               \
	FUNCTION(name)                                                                             \
	"sub $40, %rsp\nxor %edx, %edx\nmov $400, %ecx\n" name "_in: dec %ecx\njnz " name          \
	"_in\ntest %rdx, %rdx\njnz 1f\nadd $40, %rsp\nret\n1: jmp *%rdx\n"
#define POINTS(name, address)                                                                      \
	FUNCTION(name)                                                                             \
	"push %rbx\nsub $64, %rsp\nlea 1f(%rip), %rdx\nmov " address "(%rip), %rax\njmp *%rax\n"   \
	"1: add $64, %rsp\npop %rbx\nret\n"
#define ADDRESS(address, of)                                                                       \
	".pushsection .data.rel\n.balign 8\n" address ": .quad " of "\n.popsection\n"

#define BEGIN(label) ".text\n.p2align 4\n" label ":\n.fill 4096, 1, 0xcc\n"
#define JUMPS	     "dec %edi\njnz 1f\njmp *%rax\n1:\n"
#define TIMES(n)     ".rept " #n "\n"

/* One function with many jumps. */
__asm__(BEGIN("interpreter_start"));
__asm__(POINTS("points", "address") ADDRESS("address", "shared_in"));
__asm__(FUNCTION("interprets") "sub $40, %rsp\n" TIMES(300) JUMPS ".endr\nadd $40, %rsp\nret\n");
__asm__(SHARED("shared") "interpreter_end:\n");

/* Many functions with one each. */
__asm__(BEGIN("many_start"));
__asm__(POINTS("points_among", "among_address") ADDRESS("among_address", "among_in"));
__asm__(".altmacro\n.macro jumping n\n" FUNCTION("jumps_\\n"));
__asm__("sub $40, %rsp\n" JUMPS "add $40, %rsp\nret\n.endm\n");
__asm__(".set n, 0\n" TIMES(300) "jumping %n\n.set n, n + 1\n.endr\n.noaltmacro\n");
__asm__(SHARED("among") "many_end:\n");

#define LABEL(name) extern const char name[]
LABEL(interpreter_start);
LABEL(interpreter_end);
LABEL(many_start);
LABEL(many_end);
LABEL(shared_in);
LABEL(among_in);

static uint64_t vaddr_of(const char *label)
{
	return (uint64_t)(label - __executable_start);
}

static uint8_t rule_in(const char *start, const char *end, const char *label)
{
	const struct analysis_range range = {vaddr_of(start), vaddr_of(end), true};
	struct analysis_stats stats;
	struct rules *r = rules_of("/proc/self/exe", range, &stats);
	const uint8_t cfa = rule_at(r, vaddr_of(label))->cfa;

	/* Before the pointer, nothing is in doubt. */
	assert_int_equal(rule_at(r, vaddr_of(label) - 1)->cfa, STACKD_CFA_REG);
	rules_free(r);
	return cfa;
}

static void test_interpreter(void **state)
{
	(void)state;
	assert_int_equal(rule_in(interpreter_start, interpreter_end, shared_in), STACKD_CFA_NONE);
}

static void test_many(void **state)
{
	(void)state;
	assert_int_equal(rule_in(many_start, many_end, among_in), STACKD_CFA_NONE);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interpreter),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
