/* SPDX-License-Identifier: MIT */
/* Frames of Java's interpreter: what tells them, each word changed alone, and the starts of
 * compiled methods. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "runtime/hotspot/java_frame.h"

#define START  UINT64_C(0x7f0000001000)
#define WORDS  256
#define STARTS 256

/* Two frames, the callee's below: words of the stack by index. */
#define CALLEE 20 /* its frame pointer's slot; the return address is above */
#define CALLER 50
#define LAST   24 /* the caller's stack pointer: two arguments are above the return address */

struct stack {
	uint64_t words[WORDS];
	struct walk_memory memory;
};

static uint64_t at(int word)
{
	return START + 8 * (uint64_t)word;
}

static void fill(struct stack *s)
{
	memset(s, 0, sizeof(*s));
	s->memory = (struct walk_memory){
		.bytes = (const uint8_t *)s->words, .start = START, .len = sizeof(s->words)};
	s->words[CALLEE] = at(CALLER);
	s->words[CALLEE - 1] = at(LAST);
	s->words[CALLEE - 7] = at(LAST - 1);
	s->words[CALLER] = at(100);
	s->words[CALLER - 1] = at(53);
	s->words[CALLER - 2] = at(LAST);
	s->words[CALLER - 7] = at(52);
}

static bool waits(const struct stack *s, int slot)
{
	uint64_t last_sp = 0;

	if (!java_frame_waits(&s->memory, at(CALLER), at(slot), &last_sp))
		return false;
	assert_int_equal(last_sp, s->words[CALLER - 2]);
	return true;
}

static void caller_waits(void **state)
{
	struct stack s;

	(void)state;
	fill(&s);
	assert_true(waits(&s, CALLEE + 1));
	assert_true(waits(&s, LAST - 1)); /* no arguments */
	assert_false(waits(&s, LAST));	  /* below the return address */
	s.words[CALLER - 2] = 0;	  /* it runs itself */
	assert_false(waits(&s, CALLEE + 1));
	s.words[CALLER - 2] = at(CALLER - 8); /* within what each frame has */
	assert_false(waits(&s, CALLEE + 1));
	fill(&s);
	s.words[CALLER - 1] = at(CALLER + 1); /* the caller's caller is above */
	assert_false(waits(&s, CALLEE + 1));
	s.words[CALLER - 1] = at(WORDS); /* outside of the stack */
	assert_false(waits(&s, CALLEE + 1));
}

/* From version 22 on, places in the stack are distances from the frame pointer. */
static void places_are_distances(void **state)
{
	struct stack s;
	uint64_t sp = 0, last = 0;

	(void)state;
	fill(&s);
	s.words[CALLEE - 7] = LAST - 1 - CALLEE;
	s.words[CALLER - 2] = (uint64_t)(LAST - CALLER);
	assert_true(java_frame_sender(&s.memory, at(CALLEE), &sp));
	assert_int_equal(sp, at(LAST));
	assert_true(java_frame_waits(&s.memory, at(CALLER), at(CALLEE + 1), &last));
	assert_int_equal(last, at(LAST));
	assert_true(java_frame_is(&s.memory, at(CALLEE)));
	s.words[CALLEE - 7] = (uint64_t)-1; /* below the frame pointer */
	assert_false(java_frame_sender(&s.memory, at(CALLEE), &sp));
	assert_false(java_frame_is(&s.memory, at(CALLEE)));
}

static void callee_is_called(void **state)
{
	struct stack s;

	(void)state;
	fill(&s);
	assert_true(java_frame_is_called(&s.memory, at(CALLEE), at(LAST), false));
	assert_false(java_frame_is_called(&s.memory, at(CALLEE), at(LAST), true));
	assert_false(java_frame_is_called(&s.memory, at(CALLEE), at(LAST + 1), false));
	s.words[CALLEE - 2] = at(10);
	assert_true(java_frame_is_called(&s.memory, at(CALLEE), at(LAST), true));
	assert_false(java_frame_is_called(&s.memory, at(CALLEE) + 1, at(LAST), true));
	assert_false(java_frame_is_called(&s.memory, START, at(LAST), true));
}

static void sender(void **state)
{
	static const struct {
		int word;
		uint64_t value;
	} wrong[] = {
		{CALLEE - 1, START + 8 * (CALLEE + 1)}, /* sender_sp is in the frame */
		{CALLEE - 1, START + 8 * LAST + 4},	{CALLEE - 1, START + 8 * WORDS},
		{CALLEE - 2, START + 8 * CALLEE}, /* last_sp is above the frame's own words */
		{CALLEE - 7, START + 8 * CALLEE}, /* variables are in the frame, */
		{CALLEE - 7, START + 8 * LAST},	  /* or the caller's */
	};
	struct stack s;
	uint64_t sp = 0;

	(void)state;
	fill(&s);
	assert_true(java_frame_sender(&s.memory, at(CALLEE), &sp));
	assert_int_equal(sp, at(LAST));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		fill(&s);
		s.words[wrong[i].word] = wrong[i].value;
		assert_false(java_frame_sender(&s.memory, at(CALLEE), &sp));
	}
}

static void starts_of_methods(void **state)
{
	static const uint8_t method[] = {0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe,
					 0xff, 0x55, 0x48, 0x83, 0xec};
	uint8_t code[64];
	uint64_t starts[STARTS];

	(void)state;
	memset(code, 0x90, sizeof(code));
	memcpy(code + 16, method, sizeof(method));
	memcpy(code + sizeof(code) - sizeof(method), method, sizeof(method));
	assert_int_equal(java_frame_starts(code, sizeof(code), 0x1000, starts, STARTS), 2);
	assert_int_equal(starts[0], 0x1010);
	assert_int_equal(starts[1], 0x1000 + sizeof(code) - sizeof(method));
	assert_int_equal(java_frame_starts(code, sizeof(code) - 1, 0x1000, starts, STARTS), 1);
	code[16 + 3] = 0x08; /* not whole pages */
	assert_int_equal(java_frame_starts(code, sizeof(code) - 1, 0x1000, starts, STARTS), 0);
	memcpy(code + 16, method, sizeof(method));
	code[16 + 6] = 0; /* above the stack pointer */
	assert_int_equal(java_frame_starts(code, sizeof(code) - 1, 0x1000, starts, STARTS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_are_distances), cmocka_unit_test(caller_waits),
		cmocka_unit_test(callee_is_called),	cmocka_unit_test(sender),
		cmocka_unit_test(starts_of_methods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
