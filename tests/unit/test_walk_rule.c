/* SPDX-License-Identifier: MIT */
/* The rules of the daemon's walk: those of CFI made by hand, and of code without any CFI. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "cfi_file.h"
#include "unwind/fixed_rule.h"
#include "unwind/walk_rule.h"
#include "unwind/walk_step.h"
#include "walk_self.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* A file's only rule, and what it refers to. */
struct one_rule {
	struct elf_file *file;
	struct cfi_index *index;
	struct walk_rule rule;
	uint64_t start, end;
};

static void make_rule(struct one_rule *r, const uint8_t *cie, size_t cie_len,
		      const uint8_t *program, size_t len)
{
	struct bytes b = {.len = 0};

	put_fde(&b, put_entry(&b, 0, cie, cie_len), program, len);
	r->file = make_file(".eh_frame", 0, b.data, b.len);
	assert_int_equal(cfi_index_new(r->file, &r->index), 0);
	assert_int_equal(cfi_index_count(r->index), 1);
	cfi_index_range(r->index, 0, &r->start, &r->end);
	assert_int_equal(walk_rule_compile(r->index, r->start, &r->rule), 0);
}

static void free_rule(struct one_rule *r)
{
	walk_rule_free(&r->rule);
	cfi_index_free(r->index);
	elf_file_free(r->file);
}

/* A leaf whose stack pointer is that of a stack. */
static struct stack_walk leaf(const uint64_t *stack, size_t bytes)
{
	struct stack_walk s = {
		.walk = {.valid = WALK_KNOWN_ALL, .is_exact = 1},
		.memory = {(const uint8_t *)stack, 0x7000, bytes, false, 0, 0, NULL, 0, 0}};

	s.walk.r[STACKD_REG_SP] = 0x7000;
	return s;
}

/* A row that the fixed form cannot say keeps its rules and expressions, and a step applies them. */
static void test_slow_rule(void **state)
{
	/* CFA = rsp + 32; rbx at *(rsp + 8), rbp = CFA - 3, r12 in rax, ra in memory at rsp */
	static const uint8_t program[] = {0x0c, 7,    32,   0x10, 3,  3, 0x77, 8,  0x06, 0x16, 6,
					  2,	0x33, 0x1c, 0x09, 12, 0, 0x10, 16, 2,	 0x77, 0};
	uint64_t stack[8] = {0x1234, 0, 2, 3, 4, 5, 6, 7};
	struct stack_walk s;
	struct one_rule r;

	(void)state;
	make_rule(&r, good_cie, sizeof(good_cie), program, sizeof(program));
	assert_int_equal(r.end - r.start, 16);
	assert_int_equal(r.rule.fast.cfa, STACKD_CFA_DAEMON);
	assert_non_null(r.rule.slow);
	stack[1] = 0x7018;
	s = leaf(stack, sizeof(stack));
	s.walk.r[0] = 0x55;
	s.walk.r[15] = 0xf;
	assert_int_equal(walk_step_by_rule(&s, &r.rule), WALK_GO_ON);
	assert_int_equal(s.walk.pc, 0x1234);
	assert_int_equal(s.walk.slot, 0x7000);
	assert_int_equal(s.walk.r[STACKD_REG_SP], 0x7020);
	assert_int_equal(s.walk.r[3], 3);
	assert_int_equal(s.walk.r[STACKD_REG_FP], 0x701d);
	assert_int_equal(s.walk.r[12], 0x55);
	assert_int_equal(s.walk.r[15], 0xf);
	assert_false(s.walk.valid & 1);
	free_rule(&r);
}

/* Some functions keep their CFA, or their return address, in the word below the stack pointer. A
 * caller's frame has none there that the copy knows. */
static void test_word_below(void **state)
{
	static const uint8_t popped[] = {0x0e, 0}; /* ra = *(rsp - 8) */
	static const uint8_t kept[] = {0x0f, 5,	   0x77, 0x78,
				       0x06, 0x23, 8}; /* CFA = *(rsp - 8) + 8 */
	uint64_t stack[4] = {0, 0, 0x5678, 0};
	struct stack_walk s;
	struct one_rule r;

	(void)state;
	for (int has_word = 0; has_word < 2; has_word++) {
		s = leaf(stack, sizeof(stack));
		s.memory.below = has_word ? 0x1234 : 0;
		make_rule(&r, good_cie, sizeof(good_cie), popped, sizeof(popped));
		assert_int_equal(walk_step_by_rule(&s, &r.rule),
				 has_word ? WALK_GO_ON : STACKD_END_UNREADABLE);
		if (has_word)
			assert_int_equal(s.walk.pc, 0x1234);
		free_rule(&r);
		s = leaf(stack, sizeof(stack));
		s.memory.below = has_word ? 0x7010 : 0;
		make_rule(&r, good_cie, sizeof(good_cie), kept, sizeof(kept));
		assert_int_equal(walk_step_by_rule(&s, &r.rule),
				 has_word ? WALK_GO_ON : STACKD_END_UNREADABLE);
		if (has_word)
			assert_int_equal(s.walk.pc, 0x5678);
		s.walk.r[STACKD_REG_SP] = 0x7008; /* not the leaf's */
		s.walk.valid = WALK_KNOWN_ALL;
		stack[0] = 0;
		assert_int_not_equal(walk_step_by_rule(&s, &r.rule), WALK_GO_ON);
		free_rule(&r);
	}
}

/* A leaf can save registers in the red zone, and change them: the word counts, where it is known.
 * One that is not known was popped. */
static void test_saved_below(void **state)
{
	static const uint8_t rbx[] = {0x83, 2}; /* CFA - 16 = rsp - 8 */
	uint64_t stack[4] = {0x1234};
	struct one_rule r;

	(void)state;
	make_rule(&r, good_cie, sizeof(good_cie), rbx, sizeof(rbx));
	assert_null(r.rule.slow);
	for (int has_word = 0; has_word < 2; has_word++) {
		struct stack_walk s = leaf(stack, sizeof(stack));

		s.walk.r[3] = 0x55;
		s.memory.below = has_word ? 0x77 : 0;
		assert_int_equal(walk_step_by_rule(&s, &r.rule), WALK_GO_ON);
		assert_int_equal(s.walk.pc, 0x1234);
		assert_int_equal(s.walk.r[3], has_word ? 0x77 : 0x55);
		assert_true(s.walk.valid >> 3 & 1);
	}
	free_rule(&r);
}

/* Why a word cannot be read: what is above the copy was cut off, or is another stack's; a page in
 * the copy is not in memory. */
static void test_reasons(void **state)
{
	const struct walk_rule rule = {.fast = {.cfa = STACKD_CFA_REG,
						.reg = STACKD_REG_FP,
						.cfa_offset = 16,
						.ra_offset = -8}};
	uint64_t stack[1024] = {0};
	struct walk_rule other = rule;
	struct stack_walk s = leaf(stack, sizeof(stack)), before;

	(void)state;
	other.fast.cfa = STACKD_CFA_OTHER;
	s.walk.r[STACKD_REG_FP] = 0x7000 + sizeof(stack);
	before = s;
	assert_int_equal(walk_step_by_rule(&s, &rule), STACKD_END_UNREADABLE);
	assert_int_equal(walk_step_by_rule(&s, &other), STACKD_END_STACK_SWITCH);
	s.memory.is_cut = true;
	assert_int_equal(walk_step_by_rule(&s, &rule), STACKD_END_STACK_CUT);
	s.memory.end = 0x7000 + sizeof(stack);
	assert_int_equal(walk_step_by_rule(&s, &rule), STACKD_END_STACK_SWITCH);
	s.walk.r[STACKD_REG_FP] = 0x8000;
	assert_int_equal(walk_step_by_rule(&s, &rule), WALK_GO_ON);
	s = before;
	s.walk.r[STACKD_REG_FP] = 0x8000;
	s.memory.holes = 2;
	assert_int_equal(walk_step_by_rule(&s, &rule), STACKD_END_UNREADABLE);
	assert_int_equal(s.walk.pc, before.walk.pc);
	assert_int_equal(s.walk.valid, before.walk.valid);
}

/* A row whose CFA makes no sense has no rule; a register's expression that makes none loses that
 * register only. */
static void test_senseless_expressions(void **state)
{
	static const uint8_t cfa[][8] = {
		{0x0f, 1, 0x03},       /* an operation that is cut short */
		{0x0f, 1, 0x77},       /* the same */
		{0x0f, 3, 0x9e, 1, 0}, /* one that does not belong into CFI */
		{0x0f, 0},
	};
	static const uint8_t rbp[] = {0x10, 6, 2, 0xf0, 0};
	uint64_t stack[2] = {0x1234};
	struct stack_walk s;
	struct one_rule r;

	(void)state;
	for (size_t i = 0; i < COUNT(cfa); i++) {
		make_rule(&r, good_cie, sizeof(good_cie), cfa[i], sizeof(cfa[i]));
		assert_int_equal(r.rule.fast.cfa, STACKD_CFA_DAEMON);
		assert_null(r.rule.slow);
		free_rule(&r);
	}
	make_rule(&r, good_cie, sizeof(good_cie), rbp, sizeof(rbp));
	assert_non_null(r.rule.slow);
	s = leaf(stack, sizeof(stack));
	assert_int_equal(walk_step_by_rule(&s, &r.rule), WALK_GO_ON);
	assert_int_equal(s.walk.pc, 0x1234);
	assert_false(s.walk.valid >> STACKD_REG_FP & 1);
	assert_true(s.walk.valid >> 3 & 1);
	free_rule(&r);
}

/* A register saved relative to another one, as functions that realign the stack save rbp; it is
 * lost where that one is. */
static void test_saved_via_register(void **state)
{
	static const uint8_t program[] = {0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0};
	uint64_t stack[8] = {[2] = 0x7030, [3] = 0xbb, [5] = 0x1234};
	struct one_rule r;

	(void)state;
	make_rule(&r, good_cie, sizeof(good_cie), program, sizeof(program));
	assert_int_equal(r.rule.fast.cfa, STACKD_CFA_DEREF);
	assert_null(r.rule.slow);
	for (int has_rbp = 0; has_rbp < 2; has_rbp++) {
		struct stack_walk s = leaf(stack, sizeof(stack));

		s.walk.r[STACKD_REG_FP] = 0x7018;
		if (!has_rbp)
			s.walk.valid &= ~(1u << STACKD_REG_FP);
		assert_int_equal(walk_step_by_rule(&s, &r.rule),
				 has_rbp ? WALK_GO_ON : STACKD_END_BAD_RECIPE);
		assert_int_equal(s.walk.r[STACKD_REG_FP], has_rbp ? 0xbb : 0x7018);
		assert_int_equal(s.walk.pc, has_rbp ? 0x1234 : 0);
	}
	free_rule(&r);
}

/* A signal frame as low as the fixed form can say: the registers would stand lower than that. */
static void test_lowest_signal_frame(void **state)
{
	static const uint8_t cie[] = {1, 'z',  'R',  'S', 0, 1,	   0x78, 16,
				      1, 0x1b, 0x0c, 7,	  8, 0x90, 1};
	/* CFA = *(rsp - 2^31); rax at rsp */
	static const uint8_t program[] = {0x0f, 7, 0x77, 0x80, 0x80, 0x80, 0x80,
					  0x78, 6, 0x10, 0,    2,    0x77, 0};
	struct one_rule r;

	(void)state;
	make_rule(&r, cie, sizeof(cie), program, sizeof(program));
	assert_true(r.rule.is_signal);
	assert_int_equal(r.rule.fast.cfa, STACKD_CFA_DAEMON);
	assert_non_null(r.rule.slow);
	free_rule(&r);
}

/* --- files without CFI --------------------------------------------------------------------- */

static bool find_in_file(void *arg, uint64_t address, const struct object **ret_object,
			 uint64_t *ret_offset)
{
	if (address - 0x400000 >= 0x1000)
		return false;
	*ret_object = arg;
	*ret_offset = address - 0x400000;
	return true;
}

#define CODE_AT (0x400000 + FILE_DATA_OFFSET)

/* Walks from `pc` in a file whose only section is `code`, with rsp at the start of `stack`. */
static enum stackd_end_reason walk_file(const void *code, size_t len, uint64_t pc, uint64_t rbp,
					const uint64_t *stack, size_t words,
					struct walk_frame *frames, size_t *ret_count)
{
	struct object object = {.elf = make_file(".text", 0, code, len)};
	struct walk_input in = {.stack = (const uint8_t *)stack,
				.stack_bytes = words * 8,
				.find = find_in_file,
				.arg = &object};
	enum stackd_end_reason reason;
	struct dwarf_walk *walk;

	in.regs.r[STACKD_REG_PC] = pc;
	in.regs.r[STACKD_REG_SP] = 0x7000;
	in.regs.r[STACKD_REG_FP] = rbp;
	assert_int_equal(dwarf_walk_new(&(struct dwarf_walk_options){0}, &walk), 0);
	reason = dwarf_walk_stack(walk, &in, frames, 8, ret_count);
	dwarf_walk_free(walk);
	elf_file_free(object.elf);
	return reason;
}

/* nops; ret; nops; mov $15, %rax; syscall; call .+5; nops. The file's entry is its first byte of
 * data, and no call is in its start code. */
static const uint8_t bare_code[200] = {
	[90] = 0xc3, [100] = 0x90, 0x48, 0xc7,	       0xc0, 0x0f, 0, 0,
	0,	     0x0f,	   0x05, [120] = 0xe8, 0,    0,	   0, 0};

static void test_signal_return_without_cfi(void **state)
{
	uint64_t stack[64] = {0};
	struct walk_frame frames[8];
	uint64_t *context = stack + 5;
	size_t n;

	(void)state;
	context[fixed_rule_sigcontext(STACKD_REG_PC) / 8] =
		CODE_AT + 10; /* in the entry function */
	context[fixed_rule_sigcontext(STACKD_REG_SP) / 8] = 0x7180;
	for (unsigned at = 0; at <= 7; at += 7) {
		assert_int_equal(walk_file(bare_code, sizeof(bare_code), CODE_AT + 101 + at, 0,
					   stack, COUNT(stack), frames, &n),
				 STACKD_END_ENTRY);
		assert_int_equal(n, 2);
		assert_int_equal(frames[1].address, CODE_AT + 10);
		assert_int_equal(frames[1].slot, 0x7000 + 168);
		assert_false(frames[1].is_return);
	}
	assert_int_equal(walk_file(bare_code, sizeof(bare_code), CODE_AT + 112, 0, stack,
				   COUNT(stack), frames, &n),
			 STACKD_END_NO_RECIPE);
}

static void test_entry_without_cfi(void **state)
{
	/* rbp frames: 0x7010 -> 0x7020 -> 0 */
	uint64_t stack[16] = {0};
	struct walk_frame frames[8];
	size_t n;

	(void)state;
	for (unsigned at = 0; at < 80; at++) {
		assert_int_equal(walk_file(bare_code, sizeof(bare_code), CODE_AT + at, 0x1, stack,
					   COUNT(stack), frames, &n),
				 at < 64 ? STACKD_END_ENTRY : STACKD_END_NO_RECIPE);
		assert_int_equal(n, 1);
	}
	stack[2] = 0x7020;
	stack[3] = CODE_AT + 125; /* after the call */
	assert_int_equal(walk_file(bare_code, sizeof(bare_code), CODE_AT + 150, 0x7010, stack,
				   COUNT(stack), frames, &n),
			 STACKD_END_ENTRY); /* a frame pointer and a return address of 0 */
	assert_int_equal(n, 2);
	assert_true(frames[1].is_guess && frames[1].is_return);
	assert_int_equal(frames[1].offset, FILE_DATA_OFFSET + 124);
	stack[3]++;
	assert_int_equal(walk_file(bare_code, sizeof(bare_code), CODE_AT + 150, 0x7010, stack,
				   COUNT(stack), frames, &n),
			 STACKD_END_NO_RECIPE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slow_rule),
		cmocka_unit_test(test_word_below),
		cmocka_unit_test(test_saved_below),
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_senseless_expressions),
		cmocka_unit_test(test_saved_via_register),
		cmocka_unit_test(test_lowest_signal_frame),
		cmocka_unit_test(test_signal_return_without_cfi),
		cmocka_unit_test(test_entry_without_cfi),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
