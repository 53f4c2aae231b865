/* SPDX-License-Identifier: MIT */
/* Where an indirect call took its target from, by the registers behind it: each form of operand,
 * with and without a prefix, and what only looks like a call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "arch/call_source.h"

#define RA 0x400000
#define BYTES(...)                                                                                 \
	sizeof((uint8_t[]){__VA_ARGS__}), (uint8_t[])                                              \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

/* In DWARF's numbers. */
enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8, R12 = 12, R13, R14 };

/* Register i has 0x1000 * (i + 1); the stack pointer 8 less, since the call has pushed. */
static __u64 of(int reg)
{
	return 0x1000 * ((__u64)reg + 1);
}

/* Whether some form gives this value. */
static bool gives(size_t len, const uint8_t *call, bool is_address, __u64 value)
{
	__u8 code[CALL_SOURCE_ROOM] = {0};
	__u64 r[16], got;
	bool is_found = false, got_address;

	for (int i = 0; i < 16; i++)
		r[i] = of(i) - (i == RSP ? 8 : 0);
	memcpy(code + CALL_SOURCE_BYTES - len, call, len);
	for (unsigned form = 0; form < CALL_SOURCE_FORMS; form++)
		is_found |= call_source(code, form, r, RA, &got, &got_address) &&
			    got_address == is_address && got == value;
	return is_found;
}

static bool gives_any(size_t len, const uint8_t *call)
{
	__u8 code[CALL_SOURCE_ROOM] = {0};
	__u64 r[16] = {0}, got;
	bool is_address;

	memcpy(code + CALL_SOURCE_BYTES - len, call, len);
	for (unsigned form = 0; form < CALL_SOURCE_FORMS; form++) {
		if (call_source(code, form, r, RA, &got, &is_address))
			return true;
	}
	return false;
}

static void test_registers(void **state)
{
	(void)state;
	assert_true(gives(BYTES(0xff, 0xd0), false, of(RAX)));
	assert_true(gives(BYTES(0xff, 0xd1), false, of(RCX)));
	assert_true(gives(BYTES(0xff, 0xd4), false, of(RSP)));
	assert_true(gives(BYTES(0xff, 0xd7), false, of(RDI)));
	assert_true(gives(BYTES(0x41, 0xff, 0xd0), false, of(R8)));
	assert_true(gives(BYTES(0x41, 0xff, 0xd6), false, of(R14)));
}

static void test_memory(void **state)
{
	(void)state;
	assert_true(gives(BYTES(0xff, 0x10), true, of(RAX)));
	assert_true(gives(BYTES(0xff, 0x55, 0xf0), true, of(RBP) - 16));
	assert_true(gives(BYTES(0xff, 0x93, 0x00, 0x01, 0x00, 0x00), true, of(RBX) + 0x100));
	assert_true(gives(BYTES(0xff, 0x15, 0xf0, 0xff, 0xff, 0xff), true, RA - 16));
	assert_true(gives(BYTES(0x41, 0xff, 0x55, 0x08), true, of(R13) + 8));
}

static void test_indexed(void **state)
{
	(void)state;
	assert_true(gives(BYTES(0xff, 0x14, 0x24), true, of(RSP)));
	assert_true(gives(BYTES(0xff, 0x54, 0x24, 0x08), true, of(RSP) + 8));
	assert_true(gives(BYTES(0x41, 0xff, 0x14, 0x24), true, of(R12)));
	assert_true(gives(BYTES(0xff, 0x14, 0xd6), true, of(RSI) + 8 * of(RDX)));
	assert_true(
		gives(BYTES(0xff, 0x14, 0xc5, 0x00, 0x20, 0x00, 0x00), true, 8 * of(RAX) + 0x2000));
	assert_true(gives(BYTES(0x42, 0xff, 0x94, 0xe3, 0x00, 0x00, 0x00, 0x80), true,
			  of(RBX) + 8 * of(R12) - 0x80000000));
}

static void test_others(void **state)
{
	(void)state;
	assert_false(gives_any(BYTES(0xe8, 0x00, 0x00, 0x00, 0x00)));
	assert_false(gives_any(BYTES(0xff, 0xe0)));		     /* a jump */
	assert_false(gives_any(BYTES(0xff, 0xd0, 0x90)));	     /* one byte too far */
	assert_false(gives_any(BYTES(0xff, 0x50)));		     /* its distance is cut off */
	assert_false(gives(BYTES(0x90, 0xff, 0xd0), false, of(R8))); /* no prefix */
}

/* The same operands of a jump; and a direct call, which is no indirect one. */
static void test_jumps_and_targets(void **state)
{
	__u8 code[CALL_SOURCE_ROOM] = {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe1};
	const __u8 direct[CALL_SOURCE_ROOM] = {0x90, 0x90, 0x90, 0xe8, 0xf0, 0xff, 0xff, 0xff};
	const __u8 stub[CALL_SOURCE_ROOM] = {0x90, 0x90, 0xff, 0x25, 0x10, 0x00, 0x00, 0x00};
	__u64 r[16] = {0}, got = 0;
	bool is_address = true;

	(void)state;
	r[RCX] = 0x1234;
	assert_true(jump_source(code, 0, r, RA, &got, &is_address));
	assert_true(got == 0x1234 && !is_address);
	assert_false(call_source(code, 0, r, RA, &got, &is_address));
	assert_true(jump_source(stub, 8, r, RA, &got, &is_address));
	assert_true(got == RA + 16 && is_address);
	assert_true(call_target(direct, RA, &got));
	assert_true(got == RA - 16);
	assert_false(call_target(code, RA, &got));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registers),	  cmocka_unit_test(test_memory),
		cmocka_unit_test(test_indexed),		  cmocka_unit_test(test_others),
		cmocka_unit_test(test_jumps_and_targets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
