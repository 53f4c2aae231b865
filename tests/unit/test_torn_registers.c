/* SPDX-License-Identifier: MIT */
/*
 * Samples within the delivery of a signal and within the return from its handler: the unmodified
 * kernel half takes the stack pointer of the context that rip is of
 * (arch/x86_64/torn_registers.bpf.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf_shim.h"

#include "../../bpf/stackd.bpf.c"

#define STACK	0x7ffd00000000ull
#define CODE	0x555500000000ull
#define FRAME	(STACK + 0x800)	 /* the signal frame */
#define RSP	(STACK + 0x1008) /* of the function that was interrupted, */
#define RIP	(CODE + 0x123)	 /* and where */
#define HANDLER (CODE + 0x400)
#define RETURN	(CODE + 0x509) /* behind the return's system call */
#define SEGMENT (0x33ull | 0x2bull << 48)

static struct scratch s;

static int set_up(void **state)
{
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};

	(void)state;
	memset(&s, 0, sizeof(s));
	shim_add_region(STACK, 0x2000);
	shim_add_region(CODE, 0x1000);
	shim_write_word(STACK, 0);
	shim_write_word(RSP, 0);
	shim_write(RETURN - sizeof(code), code, sizeof(code));
	/* The sigcontext begins 48 bytes from the frame's start; rsp is its 16th register. */
	shim_write_word(FRAME + 48 + 15 * 8, RSP);
	shim_write_word(FRAME + 48 + 16 * 8, RIP);
	shim_write_word(FRAME + 48 + 18 * 8, SEGMENT);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	shim_free_regions();
	return 0;
}

/* rsp as it is taken for these registers, within a system call (or none: -1). */
static uint64_t taken(uint64_t rip, uint64_t rsp, uint64_t call)
{
	s.saved.orig_rax = call;
	s.record.regs.r[STACKD_REG_PC] = rip;
	s.record.regs.r[STACKD_REG_SP] = rsp;
	mend_torn_registers(s.record.regs.r, s.signal_frame, &s.saved);
	assert_int_equal(s.record.regs.r[STACKD_REG_PC], rip);
	return s.record.regs.r[STACKD_REG_SP];
}

static void delivery(void **state)
{
	(void)state;
	assert_int_equal(taken(RIP, RSP, (uint64_t)-1), RSP);
	assert_int_equal(taken(RIP, FRAME, (uint64_t)-1), RSP);
	assert_int_equal(taken(RIP, FRAME, 234), RSP); /* tgkill() to itself */
	assert_int_equal(taken(HANDLER, FRAME, (uint64_t)-1), FRAME);
}

/* What only looks like a frame has other segments. */
static void no_frame(void **state)
{
	(void)state;
	shim_write_word(FRAME + 48 + 18 * 8, SEGMENT + 1);
	assert_int_equal(taken(RIP, FRAME, (uint64_t)-1), FRAME);
	assert_int_equal(taken(RIP, 16, (uint64_t)-1), 16); /* unreadable */
}

/* The handler's ret has taken the frame's first word. */
static void return_from_handler(void **state)
{
	(void)state;
	assert_int_equal(taken(RETURN, FRAME + 8, 15), FRAME + 8);
	assert_int_equal(taken(RIP, FRAME + 8, 15), RSP);
	assert_int_equal(taken(RIP, RSP, 15), RSP);
	assert_int_equal(taken(RETURN, RSP, 15), 0); /* the frame cannot be found */
	assert_int_equal(taken(RETURN, RSP, 1), RSP);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(delivery),
		T(no_frame),
		T(return_from_handler),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
