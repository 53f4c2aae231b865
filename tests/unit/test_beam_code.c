/* SPDX-License-Identifier: MIT */
/* process_main of Erlang's virtual machine, as OTP 25 and 27 make it, found among other code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "arch/beam_code.h"

#define ADDRESS UINT64_C(0x7f0000000000)
#define BYTES	4096
#define AT	0x500

/* sub $0x4110,%rsp; and $-64,%rsp; mov %rsp,(%rdi); lea 0x80(%rsp),%rbx */
static const uint8_t otp_25[] = {0x48, 0x81, 0xec, 0x10, 0x41, 0,    0,	   0x48, 0x83, 0xe4, 0xc0,
				 0x48, 0x89, 0x27, 0x48, 0x8d, 0x9c, 0x24, 0x80, 0,    0,    0};
/* sub $0x40d0,%rsp; and $-64,%rsp; mov %rsp,(%rdi); lea 0x40(%rsp),%rbx */
static const uint8_t otp_27[] = {0x48, 0x81, 0xec, 0xd0, 0x40, 0,    0,	   0x48, 0x83, 0xe4,
				 0xc0, 0x48, 0x89, 0x27, 0x48, 0x8d, 0x5c, 0x24, 0x40};
/* mov 0x58(%r13),%rsp; mov 0x158(%r13),%rsp */
static const uint8_t take_near[] = {0x49, 0x8b, 0x65, 0x58};
static const uint8_t take_far[] = {0x49, 0x8b, 0xa5, 0x58, 1, 0, 0};

static uint8_t code[BYTES];
static struct stackd_beam beam;

static bool find(size_t len)
{
	return beam_code_find(code, len, ADDRESS, &beam);
}

static void make(const uint8_t *start, size_t len, const uint8_t *take, size_t take_len,
		 size_t distance)
{
	memset(code, 0x90, sizeof(code));
	memcpy(code + AT, start, len);
	memcpy(code + AT + distance, take, take_len);
}

static void check(uint32_t frame, uint32_t registers, uint32_t size, uint32_t stop)
{
	assert_true(find(BYTES));
	assert_int_equal(beam.main, ADDRESS + AT);
	assert_int_equal(beam.frame, frame);
	assert_int_equal(beam.registers, registers);
	assert_int_equal(beam.main_size, size);
	assert_int_equal(beam.stop, stop);
}

static void test_versions(void **state)
{
	(void)state;
	make(otp_25, sizeof(otp_25), take_near, sizeof(take_near), 0x174);
	check(0x4110, 0x80, 0x174, 0x58);
	make(otp_27, sizeof(otp_27), take_near, sizeof(take_near), 0x16b);
	check(0x40d0, 0x40, 0x16b, 0x58);
	make(otp_27, sizeof(otp_27), take_far, sizeof(take_far), 0x16b);
	check(0x40d0, 0x40, 0x16b, 0x158);
}

/* With frame pointers, which are taken next, from behind the stack pointer. */
static void test_pointers(void **state)
{
	const uint8_t pointer[] = {0x49, 0x8b, 0x6d, 0x60}, other[] = {0x49, 0x8b, 0x6d, 0x68};

	(void)state;
	make(otp_27, sizeof(otp_27), take_near, sizeof(take_near), 0x16b);
	check(0x40d0, 0x40, 0x16b, 0x58);
	assert_false(beam.has_pointers);
	memcpy(code + AT + 0x16b + sizeof(take_near), other, sizeof(other));
	assert_true(find(BYTES));
	assert_false(beam.has_pointers);
	memcpy(code + AT + 0x16b + sizeof(take_near), pointer, sizeof(pointer));
	assert_true(find(BYTES));
	assert_true(beam.has_pointers);
}

/* Each byte of the instructions but those of numbers counts. */
static void test_other_code(void **state)
{
	const size_t numbers[] = {3, 4, 5, 6, 18, 19, 20, 21};

	(void)state;
	for (size_t i = 0; i < sizeof(otp_25); i++) {
		bool is_number = false;

		for (size_t k = 0; k < sizeof(numbers) / sizeof(*numbers); k++)
			is_number |= numbers[k] == i;
		make(otp_25, sizeof(otp_25), take_near, sizeof(take_near), 0x174);
		code[AT + i] ^= 0x80;
		if (!is_number)
			assert_false(find(BYTES));
	}
	make(otp_25, sizeof(otp_25), take_near, 0, 0);
	assert_false(find(BYTES));
	make(otp_25, sizeof(otp_25), take_near, sizeof(take_near), 0xa00);
	assert_false(find(BYTES));
}

/* Frames and offsets that none of them has. */
static void test_numbers(void **state)
{
	(void)state;
	make(otp_25, sizeof(otp_25), take_near, sizeof(take_near), 0x174);
	code[AT + 6] = 1; /* a frame of 16 MiB */
	assert_false(find(BYTES));
	make(otp_25, sizeof(otp_25), take_near, sizeof(take_near), 0x174);
	code[AT + 19] = 0x10; /* registers behind a page */
	assert_false(find(BYTES));
	make(otp_25, sizeof(otp_25), take_far, sizeof(take_far), 0x174);
	code[AT + 0x174 + 4] = 0x10;
	assert_false(find(BYTES));
}

/* Code that is cut anywhere. */
static void test_cut(void **state)
{
	const size_t whole = AT + 0x174 + 7;

	(void)state;
	make(otp_25, sizeof(otp_25), take_near, sizeof(take_near), 0x174);
	for (size_t len = 0; len < whole; len++)
		assert_false(find(len));
	assert_true(find(whole));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),   cmocka_unit_test(test_pointers),
		cmocka_unit_test(test_other_code), cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
