/* SPDX-License-Identifier: MIT */
/*
 * The search through code from a call (lib/code/callflow) on a processor that does not exist: its
 * source depends on none that does. The instructions have four bytes: an operation, nothing, and
 * the distance to a target in instructions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define STACKD_ARCH_HEADER "../tests/unit/two_registers.h"

#include "lib/code/callflow/callflow_reach.c"
#include "lib/code/callflow/callflow_stub.c"

#define ADDRESS UINT64_C(0x40000)

enum { NOP, CALL, JUMP, BRANCH, RETURN, TRAP, JUMP_TO_REGISTER, OPERATIONS };

struct word {
	uint8_t operation, none;
	int16_t distance; /* from the next instruction */
};

/* --- the processor ------------------------------------------------------------------------- */

void insn_decoder_init(struct insn_decoder *ret_decoder)
{
	*ret_decoder = (struct insn_decoder){0};
}

bool flow_insn_decode(const struct insn_decoder *decoder, const uint8_t *code, size_t size,
		      struct flow_insn *ret_insn)
{
	static const uint8_t kinds[OPERATIONS] = {FLOW_NEXT,   FLOW_CALL, FLOW_JUMP, FLOW_BRANCH,
						  FLOW_RETURN, FLOW_STOP, FLOW_JUMP};
	struct word word;

	(void)decoder;
	if (size < sizeof(word))
		return false;
	memcpy(&word, code, sizeof(word));
	if (word.operation >= OPERATIONS)
		return false;
	*ret_insn = (struct flow_insn){
		.length = sizeof(word),
		.kind = kinds[word.operation],
		.to = INSN_NO_REG,
		.reg = word.operation == JUMP_TO_REGISTER ? STACKD_REG_FP : INSN_NO_REG,
		.sum = INSN_NO_REG,
		.is_direct = word.operation >= CALL && word.operation <= BRANCH,
		.distance = word.distance * (int64_t)sizeof(word)};
	return true;
}

/* --- its code ------------------------------------------------------------------------------ */

enum place {
	FIRST,
	FIRST_RETURN = 2,
	TO_SECOND,
	BEHIND_JUMP,
	SECOND,
	BEHIND_CALL = 6,
	SECOND_RETURN,
	THIRD,
	BEHIND_TRAP = 10,
	FOURTH,
	BEHIND_REGISTER,
	WORDS
};

static const struct word code[WORDS] = {
	[FIRST] = {BRANCH, 0, TO_SECOND - FIRST - 1},
	{NOP, 0, 0},
	[FIRST_RETURN] = {RETURN, 0, 0},
	[TO_SECOND] = {JUMP, 0, SECOND - TO_SECOND - 1},
	[BEHIND_JUMP] = {NOP, 0, 0},
	[SECOND] = {CALL, 0, FIRST - SECOND - 1},
	[BEHIND_CALL] = {BRANCH, 0, SECOND - BEHIND_CALL - 1},
	[SECOND_RETURN] = {RETURN, 0, 0},
	[THIRD] = {NOP, 0, 0},
	{TRAP, 0, 0},
	[BEHIND_TRAP] = {NOP, 0, 0},
	[FOURTH] = {JUMP_TO_REGISTER, 0, 0},
	[BEHIND_REGISTER] = {RETURN, 0, 0},
};

static struct callflow_reach *search;
static struct object object = {.number = 1, .kind = OBJECT_ELF};

static int set_up(void **state)
{
	(void)state;
	return elf_file_of_code(code, sizeof(code), ADDRESS, &object.elf) ||
	       callflow_reach_new(&search);
}

static int tear_down(void **state)
{
	(void)state;
	callflow_reach_free(search);
	elf_file_close(object.elf);
	return 0;
}

static enum callflow_fit leads(enum place from, enum place to)
{
	const struct callflow_location goal = {.object = &object,
					       .offset = ADDRESS + to * sizeof(struct word) + 1};

	return callflow_reach(search, &object, ADDRESS + from * sizeof(struct word), &goal);
}

static void test_flow(void **state)
{
	(void)state;
	/* A branch goes both ways, a jump one, and a call returns. */
	assert_int_equal(leads(FIRST, FIRST_RETURN), CALLFLOW_FIT_JUMP);
	assert_int_equal(leads(FIRST, SECOND_RETURN), CALLFLOW_FIT_JUMP);
	assert_int_equal(leads(FIRST, BEHIND_JUMP), CALLFLOW_FIT_NO);
	assert_int_equal(leads(SECOND, BEHIND_CALL), CALLFLOW_FIT_JUMP);
	assert_int_equal(leads(SECOND, FIRST_RETURN), CALLFLOW_FIT_NO);
	/* Nothing follows a trap. */
	assert_int_equal(leads(THIRD, BEHIND_TRAP), CALLFLOW_FIT_NO);
}

static void test_register(void **state)
{
	(void)state;
	assert_int_equal(leads(FOURTH, SECOND), CALLFLOW_FIT_MAYBE);
	assert_int_equal(leads(FOURTH, BEHIND_REGISTER), CALLFLOW_FIT_MAYBE);
	assert_int_equal(leads(WORDS, FIRST), CALLFLOW_FIT_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flow),
		cmocka_unit_test(test_register),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
