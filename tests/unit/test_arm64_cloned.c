/* SPDX-License-Identifier: MIT */
/* Threads of arm64 that clone() has just made (bpf/cloned.bpf.h), and the code around them:
 * instruction words by hand, on any processor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define STACKD_ARCH_HEADER "../arch/arm64/registers.h"

#include "stackd_abi.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define START	 UINT64_C(0x10000)
#define WORDS	 16
#define NOP	 0xd503201fu
#define SYSCALL	 0xd4000001u /* svc #0 */
#define CBZ_X0	 0xb4000060u /* cbz x0, ... */
#define POP_TWO	 0xa8c107e0u /* ldp x0, x1, [sp], #16 */
#define BL	 0x9400002au
#define BLR_X1	 0xd63f0020u
#define RET	 0xd65f03c0u
#define CLONE	 220
#define CLONE3	 435
#define WORD(at) (START + 4 * (uint64_t)(at))

struct task_struct {
	int pid, tgid;
};

static struct task_struct task;
static uint32_t code[WORDS];
static __u64 r[STACKD_REG_COUNT];

static struct task_struct *bpf_get_current_task_btf(void)
{
	return &task;
}

/* Reads the code of the test; there is no other memory. */
static long bpf_probe_read_user(void *to, uint32_t size, const void *from)
{
	const uint64_t at = (uint64_t)from - START;

	if (at > sizeof(code) - size)
		return -14;
	memcpy(to, (const uint8_t *)code + at, size);
	return 0;
}

#include "../../arch/arm64/code.bpf.h"
#include "../../bpf/cloned.bpf.h"

/* clone() of glibc: the system call, and how the new thread calls its function. */
static int set_up(void **state)
{
	(void)state;
	task = (struct task_struct){.pid = 12, .tgid = 11};
	for (int i = 0; i < WORDS; i++)
		code[i] = NOP;
	code[2] = SYSCALL;
	code[3] = CBZ_X0;
	code[6] = POP_TWO;
	code[7] = BLR_X1;
	memset(r, 0, sizeof(r));
	r[8] = CLONE;
	r[STACKD_REG_SP] = 0x7000;
	r[STACKD_REG_PC] = WORD(3);
	return 0;
}

static void test_behind_the_call(void **state)
{
	(void)state;
	for (int at = 3; at <= 7; at++) {
		r[STACKD_REG_PC] = WORD(at);
		assert_true(is_just_cloned(r, 0));
	}
	r[8] = CLONE3;
	assert_true(is_just_cloned(r, 0));
	/* Within the system call, as the kernel shows it. */
	r[STACKD_REG_PC] = WORD(2);
	assert_false(is_just_cloned(r, 0));
	assert_true(is_just_cloned(r, 4));
}

static void test_others(void **state)
{
	(void)state;
	r[8] = CLONE + 1;
	assert_false(is_just_cloned(r, 0));
	r[8] = CLONE;
	r[0] = 12; /* the creator, for which the result is the new thread */
	assert_false(is_just_cloned(r, 0));
	r[0] = 0;
	r[STACKD_REG_SP] = 0;
	assert_false(is_just_cloned(r, 0));
	r[STACKD_REG_SP] = 0x7000;
	task.tgid = task.pid; /* a process, which has its creator's stack */
	assert_false(is_just_cloned(r, 0));
}

/* In the function that the thread calls, and in other code, its registers may still be the same. */
static void test_elsewhere(void **state)
{
	static const uint32_t ends[] = {BL, BLR_X1, RET};

	(void)state;
	r[STACKD_REG_PC] = WORD(8);
	assert_false(is_just_cloned(r, 0));
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		code[4] = ends[i];
		r[STACKD_REG_PC] = WORD(4);
		assert_true(is_just_cloned(r, 0));
		r[STACKD_REG_PC] = WORD(6);
		assert_false(is_just_cloned(r, 0));
	}
	code[4] = NOP;
	code[7] = NOP;
	r[STACKD_REG_PC] = WORD(2 + CLONE_WORDS);
	assert_true(is_just_cloned(r, 0));
	r[STACKD_REG_PC] = WORD(3 + CLONE_WORDS);
	assert_false(is_just_cloned(r, 0));
	r[STACKD_REG_PC] = START - 64; /* not readable */
	assert_false(is_just_cloned(r, 0));
}

#define TEST(test) cmocka_unit_test_setup(test, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_behind_the_call),
		TEST(test_others),
		TEST(test_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
