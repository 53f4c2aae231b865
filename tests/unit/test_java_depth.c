/* SPDX-License-Identifier: MIT */
/* Where the return address is in methods, stubs and adapters of HotSpot 25, and in any bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "length.h"
#include "runtime/hotspot/java_depth.h"

/* A method that compares, and leaves for the interpreter where it was never before. */
static const uint8_t method[] = {
	0x44, 0x8b, 0x56, 0x08,					    /* 00 mov 8(%rsi),%r10d */
	0x44, 0x3b, 0x50, 0x08,					    /* 04 cmp 8(%rax),%r10d */
	0x0f, 0x85, 0x00, 0x10, 0x00, 0x00, 0x66, 0x90,		    /* 08 jne elsewhere; nop */
	0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff,		    /* 10 mov %eax,-0x14000(%rsp) */
	0x55,							    /* 17 push %rbp */
	0x48, 0x83, 0xec, 0x10,					    /* 18 sub $0x10,%rsp */
	0x41, 0x81, 0x7f, 0x20, 0x09, 0x00, 0x00, 0x00,		    /* 1c cmpl $9,0x20(%r15) */
	0x0f, 0x85, 0x54, 0x00, 0x00, 0x00,			    /* 24 jne 7e */
	0x44, 0x8b, 0x56, 0x24,					    /* 2a mov 0x24(%rsi),%r10d */
	0x41, 0x81, 0xfa, 0x38, 0x07, 0xf5, 0xff,		    /* 2e cmp $...,%r10d */
	0x74, 0x1c,						    /* 35 je 53 */
	0x33, 0xc0,						    /* 37 xor %eax,%eax */
	0x41, 0x81, 0xfa, 0x31, 0xd4, 0xf3, 0xff, 0x0f, 0x94, 0xc0, /* 39 cmp; sete %al */
	0x48, 0x83, 0xc4, 0x10,					    /* 43 add $0x10,%rsp */
	0x5d,							    /* 47 pop %rbp */
	0x49, 0x3b, 0x67, 0x28,					    /* 48 cmp 0x28(%r15),%rsp */
	0x0f, 0x87, 0x16, 0x00, 0x00, 0x00,			    /* 4c ja 68 */
	0xc3,							    /* 52 ret */
	0xbe, 0x45, 0xff, 0xff, 0xff,				    /* 53 mov $...,%esi */
	0x41, 0x8b, 0xea,					    /* 58 mov %r10d,%ebp */
	0xe8, 0x80, 0x7a, 0x9e, 0xff,				    /* 5b call elsewhere */
	0x0f, 0x1f, 0x84, 0x00, 0x58, 0x01, 0x00, 0x00,		    /* 60 nopl */
	0x49, 0xba, 0xc8, 0x95, 0xfe, 0x7f, 0xbe, 0x7f, 0x00, 0x00, /* 68 movabs $...,%r10 */
	0x4d, 0x89, 0x97, 0x38, 0x05, 0x00, 0x00,		    /* 72 mov %r10,0x538(%r15) */
	0xe9, 0x62, 0x05, 0x9a, 0xff,				    /* 79 jmp elsewhere */
	0xe8, 0xbd, 0x6f, 0x98, 0xff,				    /* 7e call elsewhere */
	0xe9, 0xa2, 0xff, 0xff, 0xff,				    /* 83 jmp 2a */
	0xe9, 0x53, 0x7d, 0x9e, 0xff,				    /* 88 a stub: jmp elsewhere */
	0xe8, 0x00, 0x00, 0x00, 0x00,				    /* 8d call 92 */
	0x48, 0x83, 0x2c, 0x24, 0x05, 0xe9, 0xc4, 0xec, 0x99, 0xff, /* 92 subq $5,(%rsp); jmp */
};
#define ENTRY 0x10
#define STUBS 0x88
#define FRAME 0x20

/* Moves arguments from the interpreter's stack to registers, and those of compiled code back. */
static const uint8_t adapter[] = {
	0x4c, 0x8b, 0xdc,	      /* 00 mov %rsp,%r11 */
	0x58,			      /* 03 pop %rax */
	0x48, 0x83, 0xe4, 0xf0,	      /* 04 and $-16,%rsp */
	0x50,			      /* 08 push %rax */
	0x49, 0x8b, 0xc3,	      /* 09 mov %r11,%rax */
	0x4c, 0x8b, 0x5b, 0x40,	      /* 0c mov 0x40(%rbx),%r11 */
	0x41, 0xff, 0xe3,	      /* 10 jmp *%r11 */
	0x48, 0x83, 0x7b, 0x48, 0x00, /* 13 cmpq $0,0x48(%rbx) */
	0x74, 0x0f,		      /* 18 je 29 */
	0x4c, 0x8b, 0xec,	      /* 1a mov %rsp,%r13 */
	0x48, 0x83, 0xe4, 0xf0,	      /* 1d and $-16,%rsp */
	0xe8, 0x00, 0x10, 0x00, 0x00, /* 21 call elsewhere */
	0x49, 0x8b, 0xe5,	      /* 26 mov %r13,%rsp */
	0x4c, 0x8d, 0x6c, 0x24, 0x08, /* 29 lea 8(%rsp),%r13 */
	0x58,			      /* 2e pop %rax */
	0x48, 0x83, 0xec, 0x10,	      /* 2f sub $0x10,%rsp */
	0x50,			      /* 33 push %rax */
	0x48, 0x89, 0x74, 0x24, 0x10, /* 34 mov %rsi,0x10(%rsp) */
	0xff, 0xe1,		      /* 39 jmp *%rcx */
};

struct expected {
	size_t at;
	uint32_t bytes;
	char fp; /* 'k': in its register; 's': saved; 0: not known */
};

static struct java_depths *depths_of(const struct java_code *code)
{
	struct java_depths *depths = NULL;

	assert_int_equal(java_depths_find(code, &depths), 0);
	assert_true(java_depths_bytes(depths) > 0);
	return depths;
}

static void check(const struct java_depths *depths, const struct expected *expected, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct runtime_depth is = java_depths_at(depths, expected[i].at);

		if (is.bytes != expected[i].bytes || is.keeps_fp != (expected[i].fp == 'k') ||
		    is.saves_fp != (expected[i].fp == 's'))
			fail_msg("at %zx: %u, keeps %d, saves %d", expected[i].at, is.bytes,
				 is.keeps_fp, is.saves_fp);
	}
}

#define CHECK(depths, expected) check(depths, expected, sizeof(expected) / sizeof(*(expected)))

static const struct java_code a_method = {.bytes = method,
					  .len = sizeof(method),
					  .entry = ENTRY,
					  .stubs = STUBS,
					  .frame_bytes = FRAME,
					  .kind = JAVA_CODE_METHOD};

static void of_a_method(void **state)
{
	static const struct expected expected[] = {
		{0x00, 8, 'k'},		{0x08, 8, 'k'},	 {0x10, 8, 'k'},  {0x17, 8, 'k'},
		{0x18, 16, 's'},	{0x1c, 32, 's'}, {0x24, 32, 's'}, {0x2a, 32, 's'},
		{0x43, 32, 's'},	{0x47, 16, 's'}, {0x48, 8, 'k'},  {0x52, 8, 'k'},
		{0x53, 32, 's'},	{0x5b, 32, 's'}, {0x68, 8, 'k'},  {0x79, 8, 'k'},
		{0x7e, 32, 's'},	{0x83, 32, 's'}, {0x60, 0, 0}, /* the call does not return:
									  other paths lead to what
									  follows */
		{0x11, 0, 0},		{0x25, 0, 0}, /* no instruction begins there */
		{0x92, 0, 0},			      /* where HotSpot leaves the frame */
		{sizeof(method), 0, 0},
	};
	struct java_depths *depths = depths_of(&a_method);

	(void)state;
	CHECK(depths, expected);
	java_depths_free(depths);
}

/* HotSpot writes a jump over the start of a method that is not to be entered any more. */
static void of_a_method_that_is_left(void **state)
{
	static const struct expected expected[] = {
		{0x10, 8, 'k'}, {0x17, 8, 'k'}, {0x1c, 32, 's'}, {0x43, 32, 's'}, {0x52, 8, 'k'}};
	static const uint8_t jump[] = {0xe9, 0x00, 0x10, 0x00, 0x00};
	uint8_t bytes[sizeof(method)];
	struct java_code code = a_method;
	struct java_depths *depths;

	(void)state;
	memcpy(bytes, method, sizeof(method));
	memcpy(bytes + ENTRY, jump, sizeof(jump));
	code.bytes = bytes;
	depths = depths_of(&code);
	CHECK(depths, expected);
	java_depths_free(depths);
}

/* No path leads to where an exception is caught. */
static void of_code_that_catches(void **state)
{
	static const struct expected expected[] = {
		{0x88, 32, 's'}, {0x8b, 32, 's'}, {0x90, 0, 0}, {0x91, 0, 0}};
	static const uint8_t catches[] = {
		0x48, 0x8b, 0xd8,	      /* 88 mov %rax,%rbx */
		0xe9, 0x9a, 0xff, 0xff, 0xff, /* 8b jmp 2a */
		0x50,			      /* 90 push %rax: not with such a frame */
		0xe9, 0x94, 0xff, 0xff, 0xff, /* 91 jmp 2a */
	};
	uint8_t bytes[STUBS + sizeof(catches)];
	struct java_code code = a_method;
	struct java_depths *depths;

	(void)state;
	memcpy(bytes, method, STUBS);
	memcpy(bytes + STUBS, catches, sizeof(catches));
	code.bytes = bytes;
	code.len = code.stubs = sizeof(bytes);
	depths = depths_of(&code);
	CHECK(depths, expected);
	java_depths_free(depths);
}

/* Paths that contradict each other, or HotSpot's size of the frame, leave nothing known. */
static void of_contradictions(void **state)
{
	static const struct {
		size_t at;
		uint8_t is;
	} wrong[] = {
		{0x46, 0x18}, /* more is taken off the stack than was put there */
		{0x36, 0x10}, /* a jump to where the frame is left */
		{0x36, 0x1a}, /* and to the middle of an instruction */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		uint8_t bytes[sizeof(method)];
		struct java_code code = a_method;
		struct java_depths *depths = NULL;

		memcpy(bytes, method, sizeof(method));
		bytes[wrong[i].at] = wrong[i].is;
		code.bytes = bytes;
		assert_int_equal(java_depths_find(&code, &depths), -ENOENT);
	}
}

static void of_a_stub(void **state)
{
	static const uint8_t bytes[] = {0x55,			      /* 00 push %rbp */
					0x48, 0x8b, 0xec,	      /* 01 mov %rsp,%rbp */
					0x50,			      /* 04 push %rax */
					0x48, 0x83, 0xe4, 0xf0,	      /* 05 and $-16,%rsp */
					0xe8, 0x00, 0x10, 0x00, 0x00, /* 09 call elsewhere */
					0xc9,			      /* 0e leave */
					0xc3};			      /* 0f ret */
	static const struct expected expected[] = {
		{0x00, 8, 'k'}, {0x01, 16, 's'}, {0x04, 16, 's'}, {0x05, 24, 's'},
		{0x09, 0, 's'}, {0x0e, 0, 's'},	 {0x0f, 8, 'k'}};
	struct java_code code = {.bytes = bytes,
				 .len = sizeof(bytes),
				 .stubs = sizeof(bytes),
				 .kind = JAVA_CODE_STUB};
	struct java_depths *depths = depths_of(&code);

	(void)state;
	CHECK(depths, expected);
	java_depths_free(depths);
	code.len = code.stubs = 0x0e; /* it does not return */
	assert_int_equal(java_depths_find(&code, &depths), -ENOENT);
}

static void of_an_adapter(void **state)
{
	static const struct expected expected[] = {
		{0x00, 8, 'k'}, {0x03, 8, 'k'}, {0x04, 0, 'k'}, {0x08, 0, 'k'}, {0x09, 8, 'k'},
		{0x10, 8, 'k'}, {0x13, 8, 'k'}, {0x1d, 8, 'k'}, {0x21, 0, 'k'}, {0x29, 8, 'k'},
		{0x2f, 0, 'k'}, {0x34, 8, 'k'}, {0x39, 8, 'k'}};
	const struct java_code code = {.bytes = adapter,
				       .len = sizeof(adapter),
				       .stubs = sizeof(adapter),
				       .kind = JAVA_CODE_ADAPTER};
	struct java_depths *depths = depths_of(&code);

	(void)state;
	CHECK(depths, expected);
	assert_int_equal(java_depths_at(depths, 0x00).sender, 0);
	assert_int_equal(java_depths_at(depths, 0x29).sender, 0);
	assert_int_equal(java_depths_at(depths, 0x10).sender, 13);
	assert_int_equal(java_depths_at(depths, 0x34).sender, 13);
	java_depths_free(depths);
}

/* Whatever the bytes are, it ends, and stays within them. */
static void of_anything(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (uint64_t i = 0; i < by_build(2000, 100000); i++) {
		uint8_t bytes[sizeof(method)], *copy;
		struct java_code code = a_method;
		struct java_depths *depths = NULL;

		memcpy(bytes, method, sizeof(method));
		for (int k = 0; k < 4; k++) {
			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
			bytes[(seed >> 33) % sizeof(bytes)] = (uint8_t)(seed >> 56);
		}
		code.len = 1 + (seed >> 20) % sizeof(bytes);
		code.entry = (seed >> 8) % sizeof(bytes);
		code.stubs = (seed >> 28) % (sizeof(bytes) + 1);
		code.kind = (enum java_code_kind)((seed >> 40) % 3);
		copy = malloc(code.len);
		assert_non_null(copy);
		code.bytes = memcpy(copy, bytes, code.len);
		if (java_depths_find(&code, &depths) == 0) {
			for (size_t at = 0; at <= code.len; at++)
				assert_true(java_depths_at(depths, at).bytes % 8 == 0);
		}
		java_depths_free(depths);
		free(copy);
	}
}

/* A method of calls alone, as long as any: time is linear. */
static void of_calls(void **state)
{
	uint8_t *bytes = malloc(JAVA_DEPTH_MOST_BYTES + 1);
	struct java_code code = {.bytes = bytes,
				 .len = JAVA_DEPTH_MOST_BYTES,
				 .stubs = JAVA_DEPTH_MOST_BYTES,
				 .frame_bytes = 8,
				 .kind = JAVA_CODE_METHOD};
	struct java_depths *depths = NULL;

	(void)state;
	assert_non_null(bytes);
	for (size_t at = 0; at < JAVA_DEPTH_MOST_BYTES; at++)
		bytes[at] = at % 5 ? 0x01 : 0xe8;
	if (java_depths_find(&code, &depths) == 0)
		java_depths_free(depths);
	code.len++;
	assert_int_equal(java_depths_find(&code, &depths), -ENOENT);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_a_method),
		cmocka_unit_test(of_a_method_that_is_left),
		cmocka_unit_test(of_code_that_catches),
		cmocka_unit_test(of_contradictions),
		cmocka_unit_test(of_a_stub),
		cmocka_unit_test(of_an_adapter),
		cmocka_unit_test(of_anything),
		cmocka_unit_test(of_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
