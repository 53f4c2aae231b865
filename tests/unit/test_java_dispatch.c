/* SPDX-License-Identifier: MIT */
/* Which instructions lead to HotSpot's jump to a method. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "arch/insn.h"
#include "arch/java_dispatch.h"

/* Of HotSpot 17: looks a method of an interface up. */
static const uint8_t interface_stub[] = {
	0x4c, 0x8b, 0x70, 0x08, 0x48, 0x8b, 0x00, 0x44, 0x8b, 0x56, 0x08, 0x49, 0xbb, 0x00, 0x00,
	0x00, 0xcb, 0x2c, 0x7f, 0x00, 0x00, 0x4d, 0x03, 0xd3, 0x45, 0x8b, 0x9a, 0xa0, 0x00, 0x00,
	0x00, 0x4b, 0x8b, 0x9c, 0xda, 0xd0, 0x01, 0x00, 0x00, 0x4f, 0x8d, 0x9c, 0xda, 0xe0, 0x01,
	0x00, 0x00, 0x4d, 0x33, 0xed, 0x49, 0x3b, 0xc6, 0x75, 0x24, 0x48, 0x85, 0xdb, 0x74, 0x45,
	0x48, 0x3b, 0xc3, 0x74, 0x35, 0x49, 0x8b, 0x1b, 0x49, 0x83, 0xc3, 0x10, 0x48, 0x3b, 0xc3,
	0x74, 0x29, 0x48, 0x85, 0xdb, 0x75, 0xef, 0xeb, 0x2d, 0x49, 0x8b, 0x1b, 0x49, 0x83, 0xc3,
	0x10, 0x48, 0x3b, 0xc3, 0x45, 0x0f, 0x44, 0x6b, 0xf8, 0x4c, 0x3b, 0xf3, 0x74, 0x07, 0x48,
	0x85, 0xdb, 0x75, 0xe7, 0xeb, 0x12, 0x4d, 0x85, 0xed, 0x74, 0xcd, 0xeb, 0x04, 0x45, 0x8b,
	0x6b, 0xf8, 0x4b, 0x8b, 0x1c, 0x2a, 0xff, 0x63, 0x40, 0xe9, 0xea, 0x1a, 0xf4, 0xff};
#define INTERFACE_JUMP 0x7e /* jmp *0x40(%rbx), and behind it the jump to a stub that throws */

/* Looks a method of a class up. */
static const uint8_t class_stub[] = {0x8b, 0x46, 0x08, 0x49, 0xba, 0x00, 0x00, 0x00, 0xcb,
				     0x2c, 0x7f, 0x00, 0x00, 0x49, 0x03, 0xc2, 0x48, 0x8b,
				     0x98, 0xe8, 0x01, 0x00, 0x00, 0xff, 0x63, 0x40};

/* MethodHandle.invokeBasic() */
static const uint8_t invoke_basic[] = {
	0x8b, 0x5e, 0x14, 0x48, 0xc1, 0xe3, 0x03, 0x8b, 0x5b, 0x28, 0x48, 0xc1, 0xe3, 0x03,
	0x8b, 0x5b, 0x24, 0x48, 0xc1, 0xe3, 0x03, 0x48, 0x8b, 0x5b, 0x10, 0x48, 0x85, 0xdb,
	0x0f, 0x84, 0x03, 0x00, 0x00, 0x00, 0xff, 0x63, 0x40, 0xe9, 0x56, 0x50, 0xaa, 0xff};
#define BASIC_JUMP 0x22

#define START 64

static uint8_t code[512];

static bool leads(size_t at)
{
	return java_dispatch_at(code, sizeof(code), START + at);
}

static void put(const uint8_t *bytes, size_t len)
{
	memset(code, 0xcc, sizeof(code));
	memcpy(code + START, bytes, len);
}

/* Checks each instruction up to the jump at `jump`: only jumps to behind it, where code gives up,
 * do not lead there. Behind it are `rest` bytes. */
static void all_lead(size_t jump, size_t rest)
{
	struct insn_decoder decoder;
	struct insn i;
	size_t at;

	insn_decoder_init(&decoder);
	for (at = 0; at <= jump; at += i.length) {
		assert_true(insn_decode(&decoder, code + START + at, 16, at, &i));
		assert_int_equal(leads(at), i.flow != INSN_JUMP || i.target <= jump);
	}
	assert_int_equal(at, jump + 3);
	if (rest)
		assert_false(leads(at));
}

static void each_instruction(void **state)
{
	(void)state;
	put(interface_stub, sizeof(interface_stub));
	all_lead(INTERFACE_JUMP, 5);
	put(class_stub, sizeof(class_stub));
	all_lead(sizeof(class_stub) - 3, 0);
	put(invoke_basic, sizeof(invoke_basic));
	all_lead(BASIC_JUMP, 5);
}

/* One byte of the class's stub is another. */
static bool leads_with(size_t place, uint8_t byte)
{
	put(class_stub, sizeof(class_stub));
	code[START + place] = byte;
	return leads(0);
}

static void other_code(void **state)
{
	const size_t load = 16, jump = 23;

	(void)state;
	assert_true(leads_with(load + 2, 0x99));  /* mov DISTANCE(%rcx),%rbx */
	assert_false(leads_with(load + 2, 0x90)); /* mov DISTANCE(%rax),%rdx */
	assert_false(leads_with(load + 1, 0x89)); /* it stores */
	assert_false(leads_with(load, 0x4c));	  /* another register */
	assert_false(leads_with(jump + 1, 0x60)); /* jmp *0x40(%rax) */
	assert_false(leads_with(jump + 1, 0x53)); /* call *0x40(%rbx) */
	assert_false(leads_with(jump + 2, 0x41)); /* not a word's place */
	assert_false(leads_with(jump + 2, 0xc0)); /* below the method */
	assert_true(leads_with(13, 0x4d));	  /* add %r10,%r8 */
	assert_false(leads_with(15, 0xe2));	  /* add %r10,%rsp */
}

/* The stack is changed on the way, or the end of the bytes comes first. */
static void changed_stack(void **state)
{
	static const uint8_t changes[][4] = {{0x50, 0x90, 0x90, 0x90}, {0x58, 0x90, 0x90, 0x90},
					     {0x48, 0x83, 0xec, 0x08}, {0x48, 0x89, 0xe5, 0x90},
					     {0x48, 0x89, 0x04, 0x24}, {0xc9, 0x90, 0x90, 0x90},
					     {0xc3, 0x90, 0x90, 0x90}};

	(void)state;
	put(class_stub, sizeof(class_stub));
	memset(code + START - 4, 0x90, 4);
	assert_true(java_dispatch_at(code, sizeof(code), START - 4));
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		memcpy(code + START - 4, changes[i], 4);
		assert_false(java_dispatch_at(code, sizeof(code), START - 4));
		assert_true(leads(0));
	}
	assert_false(java_dispatch_at(code, START + sizeof(class_stub) - 1, START));
	assert_true(java_dispatch_at(code, START + sizeof(class_stub), START));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_instruction),
		cmocka_unit_test(other_code),
		cmocka_unit_test(changed_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
