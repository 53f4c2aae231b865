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
static struct java_entry_left left; /* of the last instruction that was checked */

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
		assert_int_equal(java_entry_at(code, sizeof(code), at, &left), parts[i].entry);
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
		assert_int_equal(java_entry_at(code, sizeof(code), at + 8, &left), JAVA_ENTRY_NONE);
		code[at + k] = before;
	}
	assert_int_equal(java_entry_at(code, at + 20, at + 8, &left), JAVA_ENTRY_NONE);
	assert_int_equal(java_entry_at(code, at, at - 20, &left), JAVA_ENTRY_NONE);
}

/* Of 25: a native method has no loop for local variables. */
static const struct part native[] = {
	{1, JAVA_ENTRY_ON_TOP, "\x58"},			     /* pop %rax */
	{5, JAVA_ENTRY_IN_REGISTER, "\x4c\x8d\x74\xcc\xf8"}, /* lea -8(%rsp,%rcx,8),%r14 */
	{5, JAVA_ENTRY_IN_REGISTER, "\x68\0\0\0\0"},	     /* push $0 */
	{5, JAVA_ENTRY_IN_REGISTER, "\x68\0\0\0\0"},	     /* push $0 */
	{1, JAVA_ENTRY_IN_REGISTER, "\x50"},		     /* push %rax */
	{1, JAVA_ENTRY_ON_TOP, "\x55"},			     /* push %rbp */
	{3, JAVA_ENTRY_PUSHED, "\x48\x8b\xec"},		     /* mov %rsp,%rbp */
	{2, JAVA_ENTRY_MADE, "\x41\x55"},		     /* push %r13 */
	{4, JAVA_ENTRY_HAS_SENDER, "\x48\x8b\x43\x08"},	     /* mov 8(%rbx),%rax */
};

static void native_methods(void **state)
{
	(void)state;
	memset(code, 0x90, sizeof(code));
	len = FRAME;
	append(native, COUNT(native));
	check(FRAME, native, COUNT(native));
}

/* The ends of methods: of 25, and of 17 with an exception. */
static const struct part leave_25[] = {
	{4, JAVA_ENTRY_NONE, "\x48\x8b\x5d\xf8"},		   /* mov -8(%rbp),%rbx */
	{1, JAVA_ENTRY_NONE, "\xc9"},				   /* leave */
	{8, JAVA_ENTRY_LEFT_ON_TOP, "\x41\xc6\x87\xbe\x03\0\0\0"}, /* movb $0,958(%r15) */
	{1, JAVA_ENTRY_LEFT_ON_TOP, "\x5e"},			   /* pop %rsi */
	{3, JAVA_ENTRY_LEFT, "\x48\x8b\xe3"},			   /* mov %rbx,%rsp */
	{7, JAVA_ENTRY_LEFT, "\x49\x3b\xa7\x20\x06\0\0"},	   /* cmp 1568(%r15),%rsp */
	{2, JAVA_ENTRY_LEFT, "\x72\x0b"},			   /* jb 1f */
	{11, JAVA_ENTRY_LEFT, "\x49\xc7\x87\x20\x06\0\0\0\0\0\0"}, /* movq */
	{2, JAVA_ENTRY_LEFT, "\xff\xe6"},			   /* 1: jmp *%rsi */
	{1, JAVA_ENTRY_NONE, "\x90"},
};
static const struct part leave_17[] = {
	{1, JAVA_ENTRY_NONE, "\xc9"},	      /* leave */
	{1, JAVA_ENTRY_LEFT_ON_TOP, "\x5a"},  /* pop %rdx */
	{3, JAVA_ENTRY_LEFT, "\x48\x8b\xe3"}, /* mov %rbx,%rsp */
	{3, JAVA_ENTRY_LEFT, "\x48\x8b\xd8"}, /* mov %rax,%rbx, which is not needed any more */
	{3, JAVA_ENTRY_LEFT, "\x48\x8b\xd0"}, /* mov %rax,%rdx, which is */
	{2, JAVA_ENTRY_NONE, "\xff\xe2"},
};

static void where_methods_leave(void **state)
{
	(void)state;
	memset(code, 0x90, sizeof(code));
	len = FRAME;
	append(leave_25, COUNT(leave_25));
	check(FRAME, leave_25, COUNT(leave_25));
	memset(code, 0x90, sizeof(code));
	len = FRAME;
	append(leave_17, COUNT(leave_17));
	check(FRAME, leave_17, COUNT(leave_17));
	code[FRAME + 2] ^= 1; /* no mov %rbx,%rsp */
	for (size_t at = FRAME; at < FRAME + 13; at++)
		assert_int_equal(java_entry_at(code, sizeof(code), at, &left), JAVA_ENTRY_NONE);
}

/* Of 25, by other registers; and a native method. */
static const struct part leave_by_r13[] = {
	{1, JAVA_ENTRY_NONE, "\xc9"},				   /* leave */
	{8, JAVA_ENTRY_LEFT_ON_TOP, "\x41\xc6\x87\xbe\x03\0\0\0"}, /* movb $0,958(%r15) */
	{2, JAVA_ENTRY_LEFT_ON_TOP, "\x41\x5d"},		   /* pop %r13 */
	{3, JAVA_ENTRY_LEFT, "\x48\x8b\xe3"},			   /* mov %rbx,%rsp */
	{7, JAVA_ENTRY_LEFT, "\x49\x3b\xa7\x20\x06\0\0"},	   /* cmp 1568(%r15),%rsp */
	{2, JAVA_ENTRY_LEFT, "\x72\x0b"},			   /* jb 1f */
	{11, JAVA_ENTRY_LEFT, "\x49\xc7\x87\x20\x06\0\0\0\0\0\0"}, /* movq $0,1568(%r15) */
	{3, JAVA_ENTRY_LEFT, "\x41\xff\xe5"},			   /* 1: jmp *%r13 */
	{1, JAVA_ENTRY_NONE, "\x90"},
};
static const struct part leave_native[] = {
	{1, JAVA_ENTRY_NONE, "\xc9"},	      /* leave */
	{1, JAVA_ENTRY_LEFT_ON_TOP, "\x5f"},  /* pop %rdi */
	{3, JAVA_ENTRY_LEFT, "\x49\x8b\xe3"}, /* mov %r11,%rsp */
	{2, JAVA_ENTRY_LEFT, "\xff\xe7"},     /* jmp *%rdi */
	{1, JAVA_ENTRY_NONE, "\x90"},
};

static void by_which_registers(void **state)
{
	(void)state;
	memset(code, 0x90, sizeof(code));
	len = FRAME;
	append(leave_by_r13, COUNT(leave_by_r13));
	check(FRAME, leave_by_r13, COUNT(leave_by_r13));
	java_entry_at(code, sizeof(code), FRAME + 1, &left);
	assert_int_equal(left.return_reg, 13);
	assert_int_equal(left.sender_reg, 3);
	code[FRAME + 36] ^= 1; /* the jump is to what another register has */
	for (size_t at = FRAME; at < FRAME + 38; at++)
		assert_int_equal(java_entry_at(code, sizeof(code), at, &left), JAVA_ENTRY_NONE);
	len = FRAME;
	append(leave_native, COUNT(leave_native));
	check(FRAME, leave_native, COUNT(leave_native));
	java_entry_at(code, sizeof(code), FRAME + 2, &left);
	assert_int_equal(left.return_reg, 5);
	assert_int_equal(left.sender_reg, 11);
}

/* Of 17 and of 25: a method calls another one by a jump. */
static const struct part call_17[] = {
	{1, JAVA_ENTRY_NONE, "\x52"},		       /* push %rdx */
	{5, JAVA_ENTRY_CALLS, "\x4c\x8d\x6c\x24\x08"}, /* lea 8(%rsp),%r13 */
	{4, JAVA_ENTRY_CALLS, "\x4c\x89\x6d\xf0"},     /* mov %r13,-16(%rbp) */
	{3, JAVA_ENTRY_CALLS, "\xff\x63\x50"},	       /* jmp *80(%rbx) */
	{1, JAVA_ENTRY_NONE, "\x90"},
};
static const struct part call_25[] = {
	{5, JAVA_ENTRY_CALLS, "\x4c\x8d\x6c\x24\x08"}, /* lea 8(%rsp),%r13 */
	{3, JAVA_ENTRY_CALLS, "\x49\x8b\xcd"},	       /* mov %r13,%rcx */
	{3, JAVA_ENTRY_CALLS, "\x48\x2b\xcd"},	       /* sub %rbp,%rcx */
	{4, JAVA_ENTRY_CALLS, "\x48\xc1\xf9\x03"},     /* sar $3,%rcx */
	{4, JAVA_ENTRY_CALLS, "\x48\x89\x4d\xf0"},     /* mov %rcx,-16(%rbp) */
	{3, JAVA_ENTRY_CALLS, "\xff\x63\x50"},	       /* jmp *80(%rbx) */
	{1, JAVA_ENTRY_NONE, "\x90"},
};

static void where_methods_call(void **state)
{
	(void)state;
	memset(code, 0x90, sizeof(code));
	len = FRAME;
	append(call_17, COUNT(call_17));
	append(call_25, COUNT(call_25));
	check(FRAME, call_17, COUNT(call_17));
	check(FRAME + 14, call_25, COUNT(call_25));
	assert_int_equal(java_entry_at(code, sizeof(code), FRAME + 2, &left), JAVA_ENTRY_NONE);
}

static void where_methods_return_to(void **state)
{
	static const uint8_t until_21[] = {0x48, 0x8b, 0x65, 0xf0, 0x48, 0xc7, 0x45, 0xf0,
					   0,	 0,    0,    0,	   0x4c, 0x8b, 0x6d, 0xc0};
	static const uint8_t from_22[] = {0x48, 0x8b, 0x4d, 0xf0, 0x48, 0x8d, 0x64,
					  0xcd, 0,    0x48, 0xc7, 0x45, 0xf0, 0,
					  0,	0,    0,    0x4c, 0x8b, 0x6d, 0xc0};

	(void)state;
	memset(code, 0x90, sizeof(code));
	memcpy(code + 200, until_21, sizeof(until_21));
	for (size_t at = 196; at <= 216; at++)
		assert_int_equal(java_entry_at(code, sizeof(code), at, &left),
				 at == 200 || at == 204 || at == 212 ? JAVA_ENTRY_RETURNED
								     : JAVA_ENTRY_NONE);
	assert_int_equal(java_entry_at(code, 215, 200, &left), JAVA_ENTRY_NONE);
	memset(code, 0x90, sizeof(code));
	memcpy(code + 200, from_22, sizeof(from_22));
	for (size_t at = 196; at <= 221; at++)
		assert_int_equal(java_entry_at(code, sizeof(code), at, &left),
				 at == 200 || at == 204 || at == 209 || at == 217
					 ? JAVA_ENTRY_RETURNED
					 : JAVA_ENTRY_NONE);
}

static void pushed_arguments(void **state)
{
	static const uint8_t two[JAVA_ENTRY_POP_BYTES] = {0x5e, 0x41, 0x58, 0x48, 0x85, 0xf6};
	static const uint8_t none[JAVA_ENTRY_POP_BYTES] = {0x48, 0x85, 0xf6, 0x5e};
	static const uint8_t end[JAVA_ENTRY_POP_BYTES] = {0x5d, 0xc3};

	(void)state;
	assert_int_equal(java_entry_popped(two), 16);
	assert_int_equal(java_entry_popped(none), 0);
	assert_int_equal(java_entry_popped(end), 0); /* pop %rbp: it leaves its frame */
}

static void stubs_of_calls(void **state)
{
	static const uint8_t stub[] = {0x48, 0xbb, 0x38, 0x76, 0x3e, 0xff, 0xaf, 0x7f,
				       0,    0,	   0xe9, 0x12, 0x34, 0x56, 0xff};

	(void)state;
	memset(code, 0x90, sizeof(code));
	memcpy(code + 200, stub, sizeof(stub));
	for (size_t at = 0; at < sizeof(code); at++)
		assert_int_equal(java_entry_is_call_stub(code, sizeof(code), at),
				 at == 200 || at == 210);
	assert_false(java_entry_is_call_stub(code, 200 + sizeof(stub) - 1, 200));
	assert_false(java_entry_is_call_stub(code, 200 + sizeof(stub) - 1, 210));
	code[210] = 0xe8; /* a call */
	assert_false(java_entry_is_call_stub(code, sizeof(code), 200));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stubs_of_calls),      cmocka_unit_test(each_instruction),
		cmocka_unit_test(other_code),	       cmocka_unit_test(where_methods_return_to),
		cmocka_unit_test(where_methods_leave), cmocka_unit_test(by_which_registers),
		cmocka_unit_test(where_methods_call),  cmocka_unit_test(native_methods),
		cmocka_unit_test(pushed_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
