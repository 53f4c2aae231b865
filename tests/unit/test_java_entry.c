/* SPDX-License-Identifier: MIT */
/* Where the return address is at each instruction that makes a frame of HotSpot's interpreter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "arch/java_entry.h"

struct part {
	size_t bytes;
	enum java_entry entry;
	const char *code;
};

/* Of HotSpot 17, instruction by instruction, but for what comes behind the first pushes. */
static const struct part method[] = {
	{4, JAVA_ENTRY_ON_TOP, "\x48\x8b\x53\x08"},	    /* mov 8(%rbx),%rdx */
	{4, JAVA_ENTRY_ON_TOP, "\x0f\xb7\x4a\x2c"},	    /* movzwl 0x2c(%rdx),%ecx */
	{2, JAVA_ENTRY_ON_TOP, "\x2b\xd1"},		    /* sub %ecx,%edx */
	{6, JAVA_ENTRY_ON_TOP, "\x81\xfa\xf5\x01\x00\x00"}, /* cmp $0x1f5,%edx */
	{6, JAVA_ENTRY_ON_TOP, "\x0f\x86\x16\x00\x00\x00"}, /* jbe 1f */
	{3, JAVA_ENTRY_ON_TOP, "\x48\x8b\xc2"},		    /* mov %rdx,%rax */
	{3, JAVA_ENTRY_ON_TOP, "\x48\x3b\xe0"},		    /* cmp %rax,%rsp */
	{6, JAVA_ENTRY_ON_TOP, "\x0f\x87\x0a\x00\x00\x00"}, /* ja 1f */
	{1, JAVA_ENTRY_NONE, "\x58"},			    /* pop %rax */
	{3, JAVA_ENTRY_NONE, "\x49\x8b\xe5"},		    /* mov %r13,%rsp */
	{1, JAVA_ENTRY_NONE, "\x50"},			    /* push %rax */
	{5, JAVA_ENTRY_NONE, "\xe9\x41\xc4\xff\xff"},	    /* jmp */
};
static const struct part frame[] = {
	{1, JAVA_ENTRY_ON_TOP, "\x58"},				 /* 1: pop %rax */
	{5, JAVA_ENTRY_IN_REGISTER, "\x4c\x8d\x74\xcc\xf8"},	 /* lea -8(%rsp,%rcx,8),%r14 */
	{2, JAVA_ENTRY_IN_REGISTER, "\x85\xd2"},		 /* test %edx,%edx */
	{6, JAVA_ENTRY_IN_REGISTER, "\x0f\x8e\x09\x00\x00\x00"}, /* jle 3f */
	{5, JAVA_ENTRY_IN_REGISTER, "\x68\x00\x00\x00\x00"},	 /* 2: push $0 */
	{2, JAVA_ENTRY_IN_REGISTER, "\xff\xca"},		 /* dec %edx */
	{2, JAVA_ENTRY_IN_REGISTER, "\x7f\xf7"},		 /* jg 2b */
	{1, JAVA_ENTRY_IN_REGISTER, "\x50"},			 /* 3: push %rax */
	{1, JAVA_ENTRY_ON_TOP, "\x55"},				 /* push %rbp */
	{3, JAVA_ENTRY_PUSHED, "\x48\x8b\xec"},			 /* mov %rsp,%rbp */
	{2, JAVA_ENTRY_MADE, "\x41\x55"},			 /* push %r13 */
	{5, JAVA_ENTRY_HAS_SENDER, "\x68\x00\x00\x00\x00"},	 /* push $0 */
	{4, JAVA_ENTRY_HAS_SENDER, "\x4c\x8b\x6b\x08"},		 /* mov 8(%rbx),%r13 */
	{4, JAVA_ENTRY_HAS_SENDER, "\x4d\x8d\x6d\x30"},		 /* lea 0x30(%r13),%r13 */
	{1, JAVA_ENTRY_HAS_SENDER, "\x53"},			 /* push %rbx */
	{4, JAVA_ENTRY_HAS_SENDER, "\x48\x89\x24\x24"},		 /* mov %rsp,(%rsp) */
	{1, JAVA_ENTRY_HAS_SENDER, "\x5d"},			 /* pop %rbp, which is none of it */
	{2, JAVA_ENTRY_NONE, "\x41\x55"},			 /* push %r13 */
};

#define START 64	   /* of the method in the code, */
#define FRAME (START + 44) /* and where it begins to make its frame */

static uint8_t code[512];
static size_t len;

static void append(const struct part *parts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		memcpy(code + len, parts[i].code, parts[i].bytes);
		len += parts[i].bytes;
	}
}

static void check(size_t at, const struct part *parts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(java_entry_at(code, sizeof(code), at), parts[i].entry);
		at += parts[i].bytes;
	}
}

#define COUNT(parts) (sizeof(parts) / sizeof((parts)[0]))

static void each_instruction(void **state)
{
	(void)state;
	memset(code, 0x90, sizeof(code));
	len = START;
	append(method, COUNT(method));
	append(frame, COUNT(frame));
	check(START, method, COUNT(method));
	check(FRAME, frame, COUNT(frame));
}

/* Without its last instructions, or with others, it proves nothing. */
static void other_code(void **state)
{
	const size_t at = FRAME;

	each_instruction(state);
	for (size_t k = 0; k < 28; k++) {
		uint8_t before = code[at + k];

		if (k == 22) /* how far the loop jumps back */
			continue;
		code[at + k] ^= 0x40;
		assert_int_equal(java_entry_at(code, sizeof(code), at + 8), JAVA_ENTRY_NONE);
		code[at + k] = before;
	}
	assert_int_equal(java_entry_at(code, at + 20, at + 8), JAVA_ENTRY_NONE);
	assert_int_equal(java_entry_at(code, at, at - 20), JAVA_ENTRY_NONE);
}

static void where_methods_return_to(void **state)
{
	static const uint8_t entry[] = {0x48, 0x8b, 0x65, 0xf0, 0x48, 0xc7, 0x45, 0xf0, 0, 0, 0, 0};

	(void)state;
	memset(code, 0x90, sizeof(code));
	memcpy(code + 200, entry, sizeof(entry));
	assert_int_equal(java_entry_at(code, sizeof(code), 200), JAVA_ENTRY_HAS_SENDER);
	assert_int_equal(java_entry_at(code, sizeof(code), 204), JAVA_ENTRY_HAS_SENDER);
	assert_int_equal(java_entry_at(code, sizeof(code), 212), JAVA_ENTRY_NONE);
	assert_int_equal(java_entry_at(code, sizeof(code), 196), JAVA_ENTRY_NONE);
	assert_int_equal(java_entry_at(code, 204, 200), JAVA_ENTRY_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_instruction),
		cmocka_unit_test(other_code),
		cmocka_unit_test(where_methods_return_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
