/* SPDX-License-Identifier: MIT */
/* Where the stacks of coroutines begin (unwind/stack_start.h), and code that may have changed the
 * stack (unwind/stack_switch.h), in the code of this program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include "unwind/cfi_repair.h"
#include "unwind/recipe.h"
#include "unwind/stack_start.h"
#include "unwind/stack_switch.h"

/* Functions with call frame information. The first gives its stack up at once; the second does not;
 * the third follows another function at once, which may have called something. */
__asm__(".text\n"
	".balign 16\n.fill 16, 1, 0x90\n"
	"gives_up: .cfi_startproc\nmov %rbx, %rsp\nmov (%rsp), %rdi\nhlt\n.cfi_endproc\n"
	".balign 16, 0x90\n.fill 16, 1, 0x90\n"
	"does_not: .cfi_startproc\nmov %rbx, %rax\nmov (%rsp), %rdi\nhlt\n.cfi_endproc\n"
	".balign 16, 0x90\n.fill 16, 1, 0x90\n"
	"calls: .cfi_startproc\nsub $8, %rsp\n.cfi_adjust_cfa_offset 8\ncall does_not\n"
	".cfi_endproc\n"
	"behind_call: .cfi_startproc\nmov %rbx, %rsp\nmov (%rsp), %rdi\nhlt\n.cfi_endproc\n"
	".balign 16, 0x90\n.fill 16, 1, 0x90\n"
	"with_endbr64: .cfi_startproc\nendbr64\nmov %rbx, %rsp\nhlt\n.cfi_endproc\n"
	".balign 16, 0x90\n");

/* Code without call frame information whose address the code before takes: as Boost.Context's;
 * behind a call, where it may be returned to; with a way back; reached from before. */
__asm__(".text\n"
	".balign 16\nmake_stack: lea to_exit(%rip), %rcx\nmov %rcx, 0x30(%rax)\nret\n"
	"push %rbp\njmp *%rbx\n"
	"to_exit: xor %rdi, %rdi\ncall _exit@plt\nhlt\n"
	".balign 16\nlea behind_a_call(%rip), %rcx\npush %rcx\ncall does_not\n"
	"behind_a_call: xor %rdi, %rdi\ncall _exit@plt\nhlt\n"
	".balign 16\nlea with_return(%rip), %rcx\npush %rcx\njmp *%rbx\n"
	"with_return: xor %rdi, %rdi\ncall does_not\nret\n"
	".balign 16\nlea reached(%rip), %rcx\npush %rcx\nxor %eax, %eax\n"
	"reached: xor %rdi, %rdi\ncall _exit@plt\nhlt\n");

/* Behind instructions that may change the stack, and behind such as do not. */
__asm__(".text\n"
	".balign 16\n.fill 160, 1, 0xc3\n"
	"mov %rdi, %rsp\nbehind_copy: nop\nret\n"
	".fill 160, 1, 0xc3\nmov %rsp, %r8\nmov %rbp, %rsp\nbehind_own: nop\nret\n"
	".fill 160, 1, 0xc3\nxchg %r9, %rsp\nbehind_exchange: nop\nret\n"
	".fill 160, 1, 0xc3\nlea 0x40(%r8), %rsp\nbehind_sum: nop\nret\n"
	".fill 160, 1, 0xc3\nlea 0x38(%rsp), %rsp\nbehind_frame: nop\nret\n"
	".fill 160, 1, 0xc3\nmov 0xa0(%rsi), %rsp\nbehind_load: nop\nret\n"
	".fill 160, 1, 0xc3\nmov %rdi, %rsp\nret\nbehind_return: nop\nret\n"
	".fill 160, 1, 0xc3\n");

/* As setcontext(): behind the load and the return address there is a new entry. And without one. */
__asm__(".text\n.balign 16\n.fill 160, 1, 0xc3\n"
	".cfi_startproc\nmov 0xa0(%rdx), %rsp\nmov 0xa8(%rdx), %rcx\npush %rcx\n.cfi_endproc\n"
	".cfi_startproc\nin_new_entry: xor %eax, %eax\nret\n.cfi_endproc\n"
	".fill 160, 1, 0xc3\n"
	".cfi_startproc\nmov 0xa0(%rdx), %rsp\nmov 0xa8(%rdx), %rcx\npush %rcx\n"
	"in_same_entry: xor %eax, %eax\nret\n.cfi_endproc\n.fill 160, 1, 0xc3\n");

/* Behind a store to the top of the stack, and behind the start of a frame. */
__asm__(".text\n"
	".balign 16\n.fill 160, 1, 0xc3\n"
	"mov %rax, (%rsp)\n1: dec %ecx\njnz 1b\nbehind_target: push %rdx\nabove_target: pop %rdx\n"
	"add $8, %rsp\npast_target: ret\n"
	".fill 160, 1, 0xc3\nmov %rax, (%rsp)\ncall does_not\nbehind_call_of_target: ret\n"
	".fill 160, 1, 0xc3\nadd $8, %rsp\npush %rbp\nmov %rsp, %rbp\npush %rdi\ncall does_not\n"
	"in_frame: pop %rdi\npop %rbp\nbehind_frame_end: nop\njmp does_not\nafter_frame: nop\n"
	".fill 160, 1, 0xc3\n");

/* A function that throws exceptions, as libgcc's: it notes its frame in a context and finds a
 * landing pad, or returns; else it writes the slots of its caller's registers and the landing pad's
 * address, and loads them. Then one without a context, and one like it that only returns. */
/* clang-format off */
#define THROWER_FRAME                                                                              \
	".cfi_startproc\npush %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset 6,-16\nmov %rsp,%rbp\n"     \
	".cfi_def_cfa_register 6\npush %r15\npush %r14\npush %r13\npush %r12\npush %rbx\n"          \
	".cfi_offset 15,-24\n.cfi_offset 14,-32\n.cfi_offset 13,-40\n.cfi_offset 12,-48\n"          \
	".cfi_offset 3,-56\npush %rdx\npush %rax\n"
#define LANDING_REGS ".cfi_offset 1,-64\n.cfi_offset 0,-72\n"
#define RETURNS                                                                                    \
	"lea -8(%rbp),%rsp\npop %r15\npop %rbp\n.cfi_remember_state\n.cfi_def_cfa 7,8\nret\n"      \
	".cfi_restore_state\n"
#define CONTEXT "lea -0x3a0(%rbp),%r15\nlea 16(%rbp),%rsi\nmov %r15,%rdi\nmov 8(%rbp),%rdx\n"
#define LOADED ".cfi_remember_state\n.cfi_restore 6\n.cfi_def_cfa 2,8\n"
__asm__(".text\n.balign 16\n"
	"thrower: " THROWER_FRAME LANDING_REGS CONTEXT "call does_not\nin_thrower: jne 1f\n" RETURNS
	"1: call does_not\nin_phase_2: call does_not\nin_install: nop\ncall does_not\n"
	"in_hook: mov %rdx,%rcx\nmov %rsi,8(%rbp,%rdx,1)\nstored: mov -72(%rbp),%rax\n"
	"lea 8(%rbp,%rcx,1),%rcx\nleaving: mov -56(%rbp),%rbx\nmov (%rbp),%rbp\n" LOADED
	"thrown: mov %rcx,%rsp\n.cfi_def_cfa_register 7\npop %rcx\njmp *%rcx\n"
	".cfi_restore_state\ncall does_not\nbehind_throw: jmp 1b\n.cfi_endproc\n"
	"unknown_thrower: " THROWER_FRAME LANDING_REGS "call does_not\ncall does_not\n"
	"in_unknown: call does_not\nmov 8(%rbp),%rcx\nmov (%rbp),%rbp\n" LOADED "hlt\n.cfi_endproc\n"
	"no_thrower: " THROWER_FRAME "call does_not\nin_no_thrower: call does_not\n"
	"mov 8(%rbp),%rcx\nmov (%rbp),%rbp\n.cfi_restore 6\n.cfi_def_cfa 2,8\nhlt\n.cfi_endproc\n"
	".fill 160, 1, 0xc3\n");
/* clang-format on */

extern const char in_thrower[], in_phase_2[], in_install[], in_hook[], stored[], leaving[],
	thrown[], behind_throw[], in_unknown[], in_no_thrower[];
extern const char behind_target[], above_target[], past_target[], behind_call_of_target[],
	in_frame[], behind_frame_end[], after_frame[];
extern const char with_endbr64[], gives_up[], make_stack[], does_not[], behind_call[], to_exit[],
	behind_a_call[], with_return[], reached[], behind_copy[], behind_own[], behind_exchange[],
	behind_sum[], behind_frame[], behind_load[], behind_return[], in_new_entry[],
	in_same_entry[];

struct context {
	struct elf_file *file;
	struct recipe_table *table;
};

static int set_up(void **state)
{
	static struct context c;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_int_equal(elf_file_open(fd, &c.file), 0);
	close(fd);
	assert_int_equal(recipe_compile(c.file, &c.table), 0);
	*state = &c;
	return 0;
}

static int tear_down(void **state)
{
	struct context *c = *state;

	recipe_table_free(c->table);
	elf_file_free(c->file);
	return 0;
}

static uint64_t offset_of(const struct context *c, const char *address)
{
	uint64_t offset = 0;
	Dl_info info;

	assert_int_not_equal(dladdr(address, &info), 0);
	assert_true(elf_file_vaddr_to_offset(
		c->file, (uint64_t)(uintptr_t)address - (uint64_t)(uintptr_t)info.dli_fbase,
		&offset));
	return offset;
}

/* The kind of the rule of a return address. */
static int kind_behind(const struct context *c, const char *address)
{
	return recipe_lookup(c->table, offset_of(c, address) - 1)->cfa;
}

static void test_function(void **state)
{
	const struct context *c = *state;

	assert_int_equal(kind_behind(c, gives_up), STACKD_CFA_END);
	assert_int_equal(kind_behind(c, with_endbr64), STACKD_CFA_END);
	assert_int_not_equal(kind_behind(c, does_not), STACKD_CFA_END);
	assert_int_equal(kind_behind(c, behind_call), STACKD_CFA_REG);
}

static void test_address_that_is_put(void **state)
{
	const struct context *c = *state;

	assert_int_equal(kind_behind(c, to_exit), STACKD_CFA_END);
	assert_int_not_equal(kind_behind(c, behind_a_call), STACKD_CFA_END);
	assert_int_not_equal(kind_behind(c, with_return), STACKD_CFA_END);
	assert_int_not_equal(kind_behind(c, reached), STACKD_CFA_END);
}

/* The same without the table, which is not made yet when a program's first samples are walked. */
static void test_address_by_its_code(void **state)
{
	const struct context *c = *state;

	assert_true(stack_start_is_code(c->file, offset_of(c, to_exit)));
	assert_false(stack_start_is_code(c->file, offset_of(c, behind_a_call)));
	assert_false(stack_start_is_code(c->file, offset_of(c, with_return)));
	assert_false(stack_start_is_code(c->file, offset_of(c, behind_return)));
	assert_false(stack_start_is_code(c->file, 0));
}

/* Rules from instructions are marked as such. */
static void test_rules_of_code(void **state)
{
	const struct context *c = *state;
	const struct stackd_rule *bare = recipe_lookup(c->table, offset_of(c, make_stack));
	const struct stackd_rule *told = recipe_lookup(c->table, offset_of(c, does_not));

	assert_int_equal(bare->cfa, STACKD_CFA_REG);
	assert_true(STACKD_IS_OF_CODE(bare));
	assert_int_equal(told->cfa, STACKD_CFA_REG);
	assert_false(STACKD_IS_OF_CODE(told));
}

/* The instruction to which a table's row of one byte belongs keeps its own rule. */
static void test_the_jump_before(void **state)
{
	const struct context *c = *state;
	uint64_t jump = offset_of(c, to_exit) - 2;

	assert_int_not_equal(recipe_lookup(c->table, jump)->cfa, STACKD_CFA_END);
}

static void test_changes_of_the_stack(void **state)
{
	const struct context *c = *state;
	const char *const may[] = {behind_copy, behind_exchange, behind_sum, behind_load};
	const char *const not [] = {behind_own, behind_frame, behind_return};

	for (size_t i = 0; i < sizeof(may) / sizeof(*may); i++)
		assert_true(stack_switch_may_precede(c->file, 0, offset_of(c, may[i])));
	for (size_t i = 0; i < sizeof(not ) / sizeof(*not ); i++)
		assert_false(stack_switch_may_precede(c->file, 0, offset_of(c, not [i])));
	assert_true(stack_switch_precedes(c->file, 0, offset_of(c, behind_load)));
	assert_false(stack_switch_precedes(c->file, offset_of(c, behind_load) - 1,
					   offset_of(c, behind_load)));
	assert_false(stack_switch_precedes(c->file, 0, offset_of(c, behind_copy)));
}

static uint8_t kind_in_walks(const struct context *c, const char *code)
{
	struct walk_rule rule;
	struct cfi_index *index;
	uint64_t offset = offset_of(c, code), vaddr;

	assert_true(elf_file_offset_to_vaddr(c->file, offset, &vaddr));
	assert_int_equal(cfi_index_new(c->file, &index), 0);
	assert_int_equal(walk_rule_compile(index, vaddr, &rule), 0);
	assert_int_equal(cfi_repair_improve(c->file, index, vaddr, offset, &rule), 0);
	cfi_index_free(index);
	return rule.fast.cfa;
}

/* An entry that begins behind the load tells of the new stack. */
static void test_entries(void **state)
{
	const struct context *c = *state;

	assert_int_equal(kind_in_walks(c, in_new_entry), STACKD_CFA_REG);
	assert_int_equal(kind_in_walks(c, in_same_entry), STACKD_CFA_SWITCH);
	assert_int_equal(recipe_lookup(c->table, offset_of(c, in_same_entry))->cfa,
			 STACKD_CFA_SWITCH);
}

static void test_target(void **state)
{
	const struct context *c = *state;

	assert_true(stack_switch_target_precedes(c->file, offset_of(c, behind_target), 0));
	assert_false(stack_switch_target_precedes(c->file, offset_of(c, behind_target), 8));
	assert_true(stack_switch_target_precedes(c->file, offset_of(c, above_target), 8));
	assert_false(stack_switch_target_precedes(c->file, offset_of(c, past_target), 0));
	assert_false(stack_switch_target_precedes(c->file, offset_of(c, behind_call_of_target), 0));
}

/* A function that throws overwrites its own frame. From the call that does so on, the return
 * address is that in its context, and registers have a slot with 0; from where it has computed the
 * address of the landing pad's frame on, that is the caller, which was not called there. */
static void test_thrower(void **state)
{
	const struct context *c = *state;
	const struct stackd_rule
		usual = {.cfa = STACKD_CFA_REG, .reg = 6, .cfa_offset = 16, .ra_offset = -8},
		lost = {.cfa = STACKD_CFA_REG,
			.reg = 6,
			.cfa_offset = 16,
			.ra_offset = -0x3a0 + 152 - 16},
		none = {.cfa = STACKD_CFA_SWITCH},
		caught = {.cfa = STACKD_CFA_INJECTED, .reg = 2, .cfa_offset = 8, .ra_offset = -8};
	const struct {
		const char *name;
		int from; /* the name */
		const struct stackd_rule *rule;
		int16_t fp, rbx;
		uint8_t via;
	} at[] = {
		{in_thrower, -1, &usual, -16, -56, 0},
		{in_phase_2, -1, &usual, -16, -56, 0},
		{in_install, -1, &lost, -0x3a0 + 200, -0x3a0 + 200, 0x3f},
		{in_hook, -1, &lost, -0x3a0 + 200, -0x3a0 + 200, 0x3f},
		{in_hook, 0, &lost, -0x3a0 + 200, -0x3a0 + 200, 0x3f},
		{stored, 0, &none, 0, 0, 0},
		{leaving, 0, &caught, 0, -40, 0x3f},
		{thrown, 0, &caught, 0, 0, 0},
		{behind_throw, -1, &usual, -16, -56, 0},
		{in_unknown, -1, &none, 0, 0, 0},
		{in_no_thrower, -1, &usual, -16, -56, 0},
	};

	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		const struct stackd_rule *is =
			recipe_lookup(c->table, offset_of(c, at[i].name) + at[i].from);
		struct stackd_rule rule = *at[i].rule;

		assert_int_equal(is->cfa, rule.cfa);
		assert_int_equal(is->reg, rule.reg);
		assert_int_equal(is->cfa_offset, rule.cfa_offset);
		assert_int_equal(is->ra_offset, rule.ra_offset);
		assert_int_equal(is->saved[0], at[i].fp);
		assert_int_equal(is->saved[1], at[i].rbx);
		assert_int_equal(is->saved_via_reg, at[i].via);
		assert_true(!at[i].via || is->saved_reg == STACKD_REG_FP);
	}
}

static void test_frame(void **state)
{
	const struct context *c = *state;

	assert_true(stack_switch_frame_precedes(c->file, offset_of(c, in_frame)));
	assert_false(stack_switch_frame_precedes(c->file, offset_of(c, behind_frame_end)));
	assert_false(stack_switch_frame_precedes(c->file, offset_of(c, after_frame)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_function),
		cmocka_unit_test(test_address_that_is_put),
		cmocka_unit_test(test_address_by_its_code),
		cmocka_unit_test(test_rules_of_code),
		cmocka_unit_test(test_the_jump_before),
		cmocka_unit_test(test_changes_of_the_stack),
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_target),
		cmocka_unit_test(test_thrower),
		cmocka_unit_test(test_frame),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
