/* SPDX-License-Identifier: MIT */
/*
 * Rules of this program's own code: functions in assembly, without call frame information, in every
 * shape that compilers and people give them. A label in each is where a test asks for the rule.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those above. */
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "analysed_code.h"
#include "analysis/function_starts.h"
#include "unwind/recipe.h"

#define RCX	       2 /* DWARF's number */
#define FUNCTION(name) ".type " name ", @function\n.p2align 4\n" name ":\n"

extern const char __executable_start[];

/* A label of the assembly. */
#define LABEL(name) extern const char name[]

__asm__(".text\n.p2align 4\n"
	/* So much code that more than itself is searched for what refers to it. */
	".fill 4096, 1, 0xcc\n"
	"code_start:\n"

	/* Functions without symbols, with their cold parts, one behind the other. The first
	   one's default and its case 2 are unreachable, and lead to the end of its cold part,
	   where the second one's begins. */
	"cold_first: call *%rdi\njmp first_back\n"
	"cold_second: nop\njmp second_back\n"
	".p2align 4\ncold_third: mov $40, %edi\ncall *%rsi\nud2\n"
	".p2align 4\npush %rbx\nsub $32, %rsp\ntest %esi, %esi\njs cold_first\n"
	"first_back: cmp $2, %edi\nja cold_second\n"
	"lea first_table(%rip), %rdx\nmov %edi, %edi\nmovslq (%rdx,%rdi,4), %rax\n"
	"add %rdx, %rax\nnotrack jmp *%rax\n"
	"first_0: nop\nfirst_1: add $32, %rsp\npop %rbx\nret\n"
	".p2align 4\npush %rbx\ntest %edi, %edi\njs cold_second\n"
	"second_back: call *%rsi\npop %rbx\nret\n"
	".p2align 4\npush %rbx\nsub $16, %rsp\ncmp $1, %edi\nja cold_third\n"
	"lea third_table(%rip), %rdx\nmov %edi, %edi\nmovslq (%rdx,%rdi,4), %rax\n"
	"add %rdx, %rax\nnotrack jmp *%rax\n"
	"third_0: nop\nadd $16, %rsp\npop %rbx\nret\n"
	".section .data.rel.ro, \"aw\"\n.p2align 2\nfirst_table: .long first_0 - first_table\n"
	".long first_1 - first_table\n.long cold_second - first_table\n"
	"third_table: .long third_0 - third_table\n.long cold_third - third_table\n"
	".text\n"

	/* A routine that others jump to, to release their frames. */
	FUNCTION("releases") "test %ecx, %ecx\nreleases_first: mov %rbp, %rsp\npop %rbp\n"
			     "releases_last: pop %r8\nlea (%rsp,%rbx,8), %rsp\npush %r8\nret\n"

	/* Several epilogues, and a cold part that is entered in the middle of the frame. */
	FUNCTION("epilogues") "push %rbx\nsub $16, %rsp\n"
			      "test %edi, %edi\nje epilogues_second\njs epilogues_cold\n"
			      "epilogues_body: call *%rsi\n"
			      "add $16, %rsp\nepilogues_popped: pop %rbx\nret\n"
			      "epilogues_second: xor %eax, %eax\nadd $16, %rsp\npop %rbx\nret\n"
			      "epilogues_cold: call *%rdx\njmp epilogues_body\n"

	/* gcc's thunks: for returns, in a function and beside it, and for indirect calls. */
	FUNCTION(
		"returns_inline") "push %rbx\nsub $16, %rsp\ncall *%rsi\nreturns_body: nop\n"
				  "add $16, %rsp\npop %rbx\ncall 2f\n"
				  "1: pause\nlfence\njmp 1b\n"
				  "2: returns_inside: lea 8(%rsp), %rsp\nreturns_last: ret\n" FUNCTION(
					  "calls_by_thunk") "sub $24, %rsp\ncall returns_by_thunk\n"
							    "behind_return_thunk: nop\ncall jump_thunk\n"
							    "behind_jump_thunk: nop\nadd $24, %rsp\njmp return_thunk\n" FUNCTION("returns_by_thunk") "push %rbx\nnop\npop %rbx\njmp return_thunk\n" FUNCTION(
								    "return_thunk") "call 2f\n1: pause\nlfence\njmp 1b\n"
										    "2: thunk_inside: lea 8(%rsp), %rsp\nthunk_last: ret\n" FUNCTION(
											    "jump_thunk") "call 2f\n1: pause\nlfence\njmp 1b\n"
													  "2: jump_inside: mov %rax, (%rsp)\njump_last: ret\n"

	/* Shrink-wrapping: the frame is made on one of the ways only. */
	FUNCTION("wrapped") "test %rdi, %rdi\nje 1f\n"
			    "push %rbp\npush %r12\nwrapped_made: call *%rsi\npop %r12\npop %rbp\n"
			    "wrapped_plain: nop\n1: xor %eax, %eax\nret\n"

	/* A frame pointer, and alloca. */
	FUNCTION(
		"variable") "push %rbp\nmov %rsp, %rbp\npush %r15\nsub %rdi, %rsp\n"
			    "variable_body: call *%rsi\nmov -8(%rbp), %r15\nleave\nvariable_left: ret\n"

	/* A stack that is realigned: the old one is in a register, */
	FUNCTION(
		"aligned_register") "push %r13\nmov %rsp, %r13\nand $-64, %rsp\nsub $128, %rsp\n"
				    "aligned_register_body: call *%rdi\nmov %r13, %rsp\npop %r13\nret\n"
	/* or in a slot of the new one. */
	FUNCTION(
		"aligned_slot") "mov %rsp, %rax\nand $-32, %rsp\nsub $64, %rsp\nmov %rax, 40(%rsp)\n"
				"aligned_slot_body: call *%rdi\nmov 40(%rsp), %rsp\naligned_slot_end: ret\n"

	/* or in a register that only a part of the same file is known to keep: */
	FUNCTION(
		"counts_on") "mov %rsp, %rcx\nand $-32, %rsp\nsub $96, %rsp\ncall keeping\n"
			     "counts_on_body: call losing\nmov %rcx, %rsp\nret\n" FUNCTION(
				     "keeping") "test %edi, %edi\nje 1f\nlea (%rcx,%rdi), %rax\n1: keeping_end: ret\n" FUNCTION("losing") "xor %eax, %eax\nlosing_on: xor %ecx, %ecx\nret\n"

	/* A tail call: nothing falls into what follows. */
	FUNCTION("tail") "push %rbx\ncall *%rdi\npop %rbx\njmp epilogues\n"
			 "tail_behind: pop %rax\nret\n"

	/* A call that does not return, with another function right behind it, which has no symbol.
	 */
	FUNCTION(
		"caller_of_never") "sub $40, %rsp\ntest %edi, %edi\njne 1f\nadd $40, %rsp\nret\n"
				   "1: call never\n"
				   "behind_never: push %rbx\nbehind_never_made: call *%rsi\npop %rbx\nret\n" FUNCTION(
					   "never") "push %rbp\nnever_body: call never_either\nnever_behind: pop %rbp\npop %rbx\npop %rbx\nret\n"
						    ".p2align 4\n"
						    "never_either: sub $8, %rsp\ntest %edi, %edi\njne 1f\ncall never\n1: ud2\n" FUNCTION(
							    "refers") "lea behind_never(%rip), %rax\nret\n"

	/* A switch: entries are distances from the table, up to a bound. */
	FUNCTION(
		"switched") "push %rbx\ncmp $2, %edi\nja 9f\n"
			    "lea switch_table(%rip), %rdx\nmov %edi, %edi\nmovslq (%rdx,%rdi,4), %rax\n"
			    "add %rdx, %rax\nnotrack jmp *%rax\n"
			    "switch_0: mov $1, %eax\nswitch_0_in: jmp 9f\nswitch_1: mov $2, %eax\njmp 9f\n"
			    "switch_2: call *%rsi\n9: pop %rbx\nret\n"
			    ".section .rodata\n.p2align 2\nswitch_table: .long switch_0 - switch_table\n"
			    ".long switch_1 - switch_table\n.long switch_2 - switch_table\n"
			    ".long switch_not - switch_table\n.text\n"

	/* Entries of two bytes from a place in code, and no bound: dav1d's. */
	FUNCTION(
		"dispatched") "sub $24, %rsp\nlea dispatched(%rip), %r10\nlea word_table(%rip), %r11\ntzcnt %edi, %edi\n"
			      "movzwl (%r11,%rdi,2), %eax\nadd %r10, %rax\njmp *%rax\n"
			      "dispatched_0: add $24, %rsp\nret\n"
			      "dispatched_1: nop\ndispatched_1_in: add $24, %rsp\nret\n"
			      ".section .rodata\nword_table: .word 0, dispatched_0 - dispatched\n"
			      ".word dispatched_1 - dispatched\n.word 0\n.text\n"

	/* Ways of different depths meet: nothing is known there. */
	FUNCTION("contradicts") "test %edi, %edi\nje 1f\npush %rax\n1: contradicts_met: nop\nret\n"

	/* A thread's first function says that it has no caller. */
	FUNCTION(
		"bottom") "xor %ebp, %ebp\npop %rdi\nbottom_call: call *%r9\nhlt\n"

			  /* The C library's return from a signal's handler, which nobody calls. */
			  ".p2align 4\nret\nsignal_before: nop\nsignal_return: mov $15, %rax\nsignal_syscall: syscall\n"
			  "signal_behind: ret\n"

	/* rbp is gone. */
	FUNCTION("clobbers") "mov %rbp, %r8\nxor %ebp, %ebp\nclobbers_in: nop\nret\n"

	/* Padding of zeroes, as of Free Pascal; the function behind it is known by nothing else. */
	FUNCTION(
		"padded") "ret\n.balign 16, 0\n.fill 16, 1, 0\n"
			  "zeroes_end: sub $56, %rsp\nzeroes_made: call *%rdi\nadd $56, %rsp\nret\n"

			  /* Two functions of different frames that share a part, which jumps
			      where they say: only this program's code says that they begin there.
			    */
			  ".p2align 4\nown_a: sub $24, %rsp\ntest %edi, %edi\nown_a_in: je own_shared\n"
			  "add $24, %rsp\nret\n"
			  ".p2align 4\nown_b: sub $40, %rsp\ntest %edi, %edi\nown_b_in: je own_shared\n"
			  "add $40, %rsp\nret\n"
			  "own_shared: call *%rsi\njmp *%r8\n"

			  /* A system call that ends the unwind information, as in the C library's
						       clone(). */
			  ".p2align 4\n.cfi_startproc\nthread_made: .fill 14, 1, 0x90\nsyscall\n.cfi_endproc\n"
			  "thread_behind: test %rax, %rax\nje 1f\nret\n1: xor %ebp, %ebp\ncall *%r8\nret\n"

	/* A part of a function that a pointer leads to, and no flow: what is guessed fails at ret.
	 */
	FUNCTION("parted") "push %rbx\nsub $32, %rsp\nlea part(%rip), %rax\nxchg %rax, %rdx\n"
			   "jmp *%rdx\n.p2align 4\n"
			   "part: call *%rsi\nadd $32, %rsp\npop %rbx\nret\n"
	/* A part that a register leads to, which has its address. */
	FUNCTION("led") "push %rbx\nlea led_part(%rip), %r8\ntest %edi, %edi\njmp *%r8\n"
			"led_part: call *%rsi\npop %rbx\nret\n"

	/* dav1d's tables have no bound, and are used from an entry on: what stands
	   before it is of the table before. */
	FUNCTION("shifted") "sub $8, %rsp\nlea late_table - 8(%rip), %rax\ntzcnt %edi, %edi\n"
			    "movslq (%rax,%rdi,4), %rdi\nadd %rax, %rdi\njmp *%rdi\n"
			    "shifted_2: nop\nadd $8, %rsp\nret\nshifted_3: nop\nadd $8, %rsp\nret\n"
			    ".section .rodata\n.p2align 2\n.long parted - late_table + 8, -1\n"
			    "late_table: .long shifted_2 - late_table + 8\n"
			    "later_base: .long shifted_3 - late_table + 8, 0, 0\n.text\n" FUNCTION(
				    "refers_later") "lea later_base(%rip), %rax\nret\n"

	/* A distance that is added with a displacement. */
	FUNCTION("displaced") "lea displaced(%rip), %r11\npush %rbx\n"
			      "movslq displaced_table - displaced(%r11,%rdi,4), %rdi\n"
			      "lea displaced_table - displaced(%r11,%rdi), %rdi\njmp *%rdi\n"
			      "displaced_0: nop\npop %rbx\nret\n"
			      "displaced_table: .long displaced_0 - displaced_table\n"

	/* One of several addresses, as in libgmp. */
	FUNCTION(
		"several") "push %rbx\ntest %edi, %edi\njs 1f\nlea several_one(%rip), %r14\njmp 2f\n"
			   "1: lea several_two(%rip), %r14\n2: nop\njmp *%r14\n"
			   "several_one: nop\npop %rbx\nret\nseveral_two: nop\npop %rbx\nret\n"

			   /* Functions with a name of their own in nobody's symbols: one ends in
				the other. */
			   ".p2align 4\nends_in: cmpl $2, 8(%rsp)\njne ends_other\njmp ends_other\n"
			   ".p2align 4\nends_other: mov %rdi, %rax\nret\n"
			   ".p2align 4\nswitch_not: ret\n"
			   "nops: .nops 40\nnops_end: ret\n"
			   "code_end:\n");

LABEL(code_start);
LABEL(code_end);

static uint64_t vaddr_of(const char *label)
{
	return (uint64_t)(label - __executable_start);
}

static int setup(void **state)
{
	struct analysis_range range = {vaddr_of(code_start), vaddr_of(code_end), true};
	struct analysis_stats stats;

	*state = rules_of("/proc/self/exe", range, &stats);
	assert_true(stats.functions >= 15);
	assert_int_equal(stats.left_out, 0);
	return 0;
}

static int teardown(void **state)
{
	rules_free(*state);
	return 0;
}

/* The rule at a label. */
static const struct stackd_rule *at(const struct rules *r, const char *label)
{
	return rule_at(r, vaddr_of(label));
}

static void check(const struct rules *r, const char *label, unsigned reg, int cfa_offset)
{
	const struct stackd_rule *rule = at(r, label);

	assert_int_equal(rule->cfa, STACKD_CFA_REG);
	assert_int_equal(rule->reg, reg);
	assert_int_equal(rule->cfa_offset, cfa_offset);
	assert_int_equal(rule->ra_offset, -8);
}

/* CHECK(label, STACKD_REG_SP, 8): CFA = rsp + 8 */
#define CHECK(label, reg, cfa_offset)                                                              \
	do {                                                                                       \
		LABEL(label);                                                                      \
		check(*state, label, reg, cfa_offset);                                             \
	} while (0)
#define CHECK_KIND(label, kind)                                                                    \
	do {                                                                                       \
		LABEL(label);                                                                      \
		assert_int_equal(at(*state, label)->cfa, kind);                                    \
	} while (0)
#define SAVED(label, i)                                                                            \
	({                                                                                         \
		LABEL(label);                                                                      \
		at(*state, label)->saved[i];                                                       \
	})

static void test_epilogues(void **state)
{
	CHECK(epilogues, STACKD_REG_SP, 8);
	CHECK(epilogues_body, STACKD_REG_SP, 32);
	CHECK(epilogues_popped, STACKD_REG_SP, 16);
	CHECK(epilogues_second, STACKD_REG_SP, 32);
	CHECK(epilogues_cold, STACKD_REG_SP, 32);
	assert_int_equal(SAVED(epilogues_body, 1), -16);
	assert_int_equal(SAVED(epilogues, 1), 0);
}

static void test_shrink_wrapping(void **state)
{
	CHECK(wrapped_made, STACKD_REG_SP, 24);
	CHECK(wrapped_plain, STACKD_REG_SP, 8);
	assert_int_equal(SAVED(wrapped_made, 0), -16);
	assert_int_equal(SAVED(wrapped_made, 2), -24);
	assert_int_equal(SAVED(wrapped_plain, 2), 0);
}

static void test_frame_pointer(void **state)
{
	CHECK(variable_body, STACKD_REG_FP, 16);
	CHECK(variable_left, STACKD_REG_SP, 8);
	assert_int_equal(SAVED(variable_body, 0), -16);
	assert_int_equal(SAVED(variable_body, 5), -24);
}

static void test_thunks(void **state)
{
	CHECK(returns_body, STACKD_REG_SP, 32);
	CHECK(returns_inside, STACKD_REG_SP, 16);
	CHECK(returns_last, STACKD_REG_SP, 8);
	CHECK(behind_return_thunk, STACKD_REG_SP, 32);
	CHECK(behind_jump_thunk, STACKD_REG_SP, 32);
	CHECK(thunk_inside, STACKD_REG_SP, 16);
	CHECK(thunk_last, STACKD_REG_SP, 8);
	CHECK(jump_inside, STACKD_REG_SP, 16);
	CHECK(jump_last, STACKD_REG_SP, 16);
}

static void test_realigned(void **state)
{
	LABEL(aligned_slot_body);

	CHECK(aligned_register_body, 13, 16);
	assert_int_equal(SAVED(aligned_register_body, 3), -16);
	CHECK_KIND(aligned_slot_body, STACKD_CFA_DEREF);
	assert_int_equal(at(*state, aligned_slot_body)->reg, STACKD_REG_SP);
	assert_int_equal(at(*state, aligned_slot_body)->cfa_offset, 40);
	assert_int_equal(at(*state, aligned_slot_body)->cfa_add, 8);
	CHECK(aligned_slot_end, STACKD_REG_SP, 8);
}

static void test_kept_register(void **state)
{
	LABEL(keeping);
	LABEL(keeping_end);
	LABEL(losing_on);

	CHECK(counts_on_body, X86_64_REG_RCX, 8);
	assert_int_equal(STACKD_KEPT(at(*state, keeping)), X86_64_REG_RCX + 1);
	assert_int_equal(STACKD_KEPT(at(*state, keeping_end)), X86_64_REG_RCX + 1);
	assert_int_equal(STACKD_KEPT(at(*state, losing_on)), 0);
}

static void test_tail_call(void **state)
{
	CHECK(tail, STACKD_REG_SP, 8);
	CHECK_KIND(tail_behind, STACKD_CFA_NONE);
}

/* Functions that call each other and never return, */
static void test_noreturn(void **state)
{
	CHECK(never_body, STACKD_REG_SP, 16);
	CHECK_KIND(never_behind, STACKD_CFA_NONE);
	/* so that what follows such a call is a function of its own. */
	CHECK(behind_never, STACKD_REG_SP, 8);
	CHECK(behind_never_made, STACKD_REG_SP, 16);
}

static void test_switch(void **state)
{
	CHECK(switch_0, STACKD_REG_SP, 16);
	CHECK(switch_0_in, STACKD_REG_SP, 16);
	CHECK(switch_1, STACKD_REG_SP, 16);
	CHECK(switch_2, STACKD_REG_SP, 16);
	CHECK(switch_not, STACKD_REG_SP, 8);
}

/* Cold parts, to which unreachable cases of another function's switch lead, too. */
static void test_cold_parts(void **state)
{
	CHECK(cold_first, STACKD_REG_SP, 48);
	CHECK(first_back, STACKD_REG_SP, 48);
	CHECK(first_0, STACKD_REG_SP, 48);
	CHECK(cold_second, STACKD_REG_SP, 16);
	CHECK(second_back, STACKD_REG_SP, 16);
	CHECK(third_0, STACKD_REG_SP, 32);
	CHECK(cold_third, STACKD_REG_SP, 32);
}

static void test_dispatch(void **state)
{
	CHECK(dispatched, STACKD_REG_SP, 8);
	CHECK(dispatched_0, STACKD_REG_SP, 32);
	CHECK(dispatched_1, STACKD_REG_SP, 32);
	CHECK(dispatched_1_in, STACKD_REG_SP, 32);
}

/* Ways that jumps lead to. */
static void test_jumps(void **state)
{
	CHECK(led_part, STACKD_REG_SP, 16);
	CHECK(shifted_2, STACKD_REG_SP, 16);
	CHECK(shifted_3, STACKD_REG_SP, 16);
	CHECK(displaced_0, STACKD_REG_SP, 16);
	CHECK(several_one, STACKD_REG_SP, 16);
	CHECK(several_two, STACKD_REG_SP, 16);
	CHECK(ends_in, STACKD_REG_SP, 8);
	CHECK(ends_other, STACKD_REG_SP, 8);
}

static void test_abstains(void **state)
{
	CHECK_KIND(contradicts_met, STACKD_CFA_NONE);
	CHECK(clobbers, STACKD_REG_SP, 8);
	CHECK_KIND(clobbers_in, STACKD_CFA_NONE);
	CHECK_KIND(part, STACKD_CFA_NONE);
	CHECK_KIND(releases, STACKD_CFA_NONE);
	CHECK_KIND(releases_first, STACKD_CFA_NONE);
	CHECK_KIND(releases_last, STACKD_CFA_NONE);
}

static void test_bottom(void **state)
{
	CHECK(bottom, STACKD_REG_SP, 8);
	CHECK_KIND(bottom_call, STACKD_CFA_END);
}

static void test_signal_return(void **state)
{
	LABEL(signal_return);

	CHECK_KIND(signal_before, STACKD_CFA_SIGNAL);
	CHECK_KIND(signal_return, STACKD_CFA_SIGNAL);
	CHECK_KIND(signal_syscall, STACKD_CFA_SIGNAL);
	CHECK_KIND(signal_behind, STACKD_CFA_NONE);
	assert_int_equal(at(*state, signal_return)->cfa_offset, 40);
}

static void test_zeroes(void **state)
{
	CHECK(zeroes_end, STACKD_REG_SP, 8);
	CHECK(zeroes_made, STACKD_REG_SP, 64);
}

/* --- starts -------------------------------------------------------------------------------- */

static void (*const volatile pointer)(void **) = test_zeroes;

static bool has(const uint64_t *items, size_t count, uint64_t vaddr)
{
	for (size_t i = 0; i < count; i++) {
		if (items[i] == vaddr)
			return true;
	}
	return false;
}

static void test_function_starts(void **state)
{
	struct rules *r = *state;
	struct function_starts starts = {0};
	LABEL(epilogues);
	LABEL(epilogues_body);

	assert_int_equal(function_starts_read(r->elf, &starts), 0);
	assert_true(has(starts.certain.items, starts.certain.count, vaddr_of(epilogues)));
	assert_false(has(starts.certain.items, starts.certain.count, vaddr_of(epilogues_body)));
	assert_true(has(starts.pointers.items, starts.pointers.count,
			vaddr_of((const char *)(uintptr_t)pointer)));
	assert_true(starts.noreturn.slots.count > 0); /* of abort() and its like */
	function_starts_free(&starts);
}

static void test_noreturn_names(void **state)
{
	(void)state;
	assert_true(noreturn_is_name("abort"));
	assert_true(noreturn_is_name("_ZSt20__throw_length_errorPKc"));
	assert_true(noreturn_is_name("_ZN4core9panicking5panic17h0123456789abcdefE"));
	assert_true(noreturn_is_name("__gnat_rcheck_CE_Range_Check"));
	assert_true(noreturn_is_name("system__assertions__raise_assert_failure"));
	assert_true(noreturn_is_name("errx"));
	assert_false(noreturn_is_name("error"));
	assert_false(noreturn_is_name("__gnat_reraise_library_exception_if_any"));
	assert_false(noreturn_is_name("abort_later"));
	assert_false(noreturn_is_name("my__throw_away"));
	assert_false(noreturn_is_name(""));
	assert_false(noreturn_is_name(NULL));
}

/* --- in a file's recipes ------------------------------------------------------------------- */

static void test_recipes(void **state)
{
	struct rules *r = *state;
	struct recipe_table *table;
	struct stackd_rule expected;
	uint64_t offset;
	LABEL(epilogues_body);
	LABEL(thread_behind);

	assert_int_equal(recipe_compile(r->elf, &table), 0);
	expected = *at(r, epilogues_body);
	expected.cfa_add = STACKD_OF_CODE; /* the file's table tells where its rules come from */
	assert_true(elf_file_vaddr_to_offset(r->elf, vaddr_of(epilogues_body), &offset));
	assert_memory_equal(recipe_lookup(table, offset), &expected, sizeof(expected));
	assert_true(recipe_table_stats(table)->analysed_bytes >= (uint64_t)(code_end - code_start));
	assert_true(recipe_table_stats(table)->analysed_rows > 20);
	assert_true(elf_file_vaddr_to_offset(r->elf, vaddr_of(thread_behind), &offset));
	assert_int_equal(recipe_lookup(table, offset - 1)->cfa, STACKD_CFA_REG);
	assert_int_equal(recipe_lookup(table, offset)->cfa, STACKD_CFA_NONE);
	recipe_table_free(table);
}

static void check_recipe(const struct rules *r, const struct recipe_table *table, const char *label,
			 int kind, int cfa_offset)
{
	uint64_t offset;

	assert_true(elf_file_vaddr_to_offset(r->elf, vaddr_of(label), &offset));
	assert_int_equal(recipe_lookup(table, offset)->cfa, kind);
	assert_int_equal(recipe_lookup(table, offset)->cfa_offset, cfa_offset);
}

/* What code with call frame information takes the address of begins a function. */
static void test_pointed(void **state)
{
	struct recipe_table *table;
	LABEL(own_a);
	LABEL(own_b);
	LABEL(own_a_in);
	LABEL(own_b_in);
	LABEL(own_shared);

	__asm__ volatile("" : : "r"(own_a), "r"(own_b));
	assert_int_equal(recipe_compile(((struct rules *)*state)->elf, &table), 0);
	check_recipe(*state, table, own_a_in, STACKD_CFA_REG, 32);
	check_recipe(*state, table, own_b_in, STACKD_CFA_REG, 48);
	check_recipe(*state, table, own_shared, STACKD_CFA_NONE, 0);
	recipe_table_free(table);
}

/* --- lies ---------------------------------------------------------------------------------- */

static int count_row(void *arg, uint64_t offset, const struct stackd_rule *rule)
{
	(void)offset;
	(void)rule;
	++*(size_t *)arg;
	return 0;
}

/* What a function falls through into the next one. */
static void test_nops(void **state)
{
	LABEL(nops);
	LABEL(nops_end);
	struct analysis_range range = {vaddr_of(nops), vaddr_of(nops_end), false};
	struct analysis_stats stats;
	struct rules *r = rules_of("/proc/self/exe", range, &stats);

	(void)state;
	assert_int_equal(at(r, nops)->cfa_offset, 8);
	assert_int_equal(at(r, nops + 39)->cfa_offset, 8);
	assert_int_equal(at(r, nops_end)->cfa, STACKD_CFA_NONE);
	rules_free(r);
	range.end++;
	r = rules_of("/proc/self/exe", range, &stats);
	assert_int_equal(at(r, nops)->cfa, STACKD_CFA_NONE);
	rules_free(r);
}

static void test_ranges_beyond_the_file(void **state)
{
	struct rules *r = *state;
	struct analysis_range ranges[] = {{vaddr_of(code_start), vaddr_of(code_end), true},
					  {UINT64_MAX - 8192, UINT64_MAX - 4096, true}};
	struct analysis_input in = {.elf = r->elf, .ranges = ranges, .range_count = 2};
	struct analysis_stats stats;
	size_t count = 0;

	assert_int_equal(analysis_run(&in, count_row, &count, &stats), 0);
	assert_int_equal(stats.left_out, 4096);
	assert_true(count > 10);
}

static int fail_row(void *arg, uint64_t offset, const struct stackd_rule *rule)
{
	(void)arg;
	(void)offset;
	(void)rule;
	return -ENOSPC;
}

static void test_emit_fails(void **state)
{
	struct rules *r = *state;
	struct analysis_range range = {vaddr_of(code_start), vaddr_of(code_end), true};
	struct analysis_input in = {.elf = r->elf, .ranges = &range, .range_count = 1};
	struct analysis_stats stats;

	assert_int_equal(analysis_run(&in, fail_row, NULL, &stats), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_epilogues),
		cmocka_unit_test(test_shrink_wrapping),
		cmocka_unit_test(test_frame_pointer),
		cmocka_unit_test(test_thunks),
		cmocka_unit_test(test_realigned),
		cmocka_unit_test(test_kept_register),
		cmocka_unit_test(test_tail_call),
		cmocka_unit_test(test_noreturn),
		cmocka_unit_test(test_switch),
		cmocka_unit_test(test_cold_parts),
		cmocka_unit_test(test_dispatch),
		cmocka_unit_test(test_jumps),
		cmocka_unit_test(test_abstains),
		cmocka_unit_test(test_bottom),
		cmocka_unit_test(test_signal_return),
		cmocka_unit_test(test_zeroes),
		cmocka_unit_test(test_function_starts),
		cmocka_unit_test(test_noreturn_names),
		cmocka_unit_test(test_recipes),
		cmocka_unit_test(test_pointed),
		cmocka_unit_test(test_nops),
		cmocka_unit_test(test_ranges_beyond_the_file),
		cmocka_unit_test(test_emit_fails),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
