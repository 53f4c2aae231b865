/* SPDX-License-Identifier: MIT */
/*
 * The kernel half's steps in code of Erlang's virtual machine (runtime_beam.bpf.h), in made memory:
 * where they arrive, where they end, and that nothing is believed that does not fit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf_shim.h"

#include "../../bpf/stackd.bpf.c"

#define CODE   UINT64_C(0x7f0000000000)
#define HEAP   UINT64_C(0x7f1000000000) /* a process's stack is in it */
#define THREAD UINT64_C(0x7f2000000000)
#define TEXT   UINT64_C(0x550000000000)
#define BYTES  UINT64_C(0x10000)

#define MAIN	  (CODE + 0x500)
#define MAIN_SIZE 0x174
#define SHARED	  0xc00
#define PIECE	  (CODE + 0x300) /* of the shared code */
#define EXIT	  (CODE + 0x800) /* follows no call */
#define CALLER	  (CODE + 0x1000)
#define CALLER_2  (CODE + 0x1040)
#define FRAGMENT  (CODE + 0x1082) /* a return address that is not aligned */
#define INSIDE	  (CODE + 0x1234)
#define BACK	  (CODE + 0x2000) /* a return address to which C returns */

#define SP	  (HEAP + 0x8010)
#define STOP	  0x58
#define PROCESS	  (HEAP + 0x100)
#define FRAME	  0x4000
#define REGISTERS 0x80
#define RSP	  (THREAD + 0x1000)

#define TERM	  0x7f1000000101
#define LIKE_CALL 0x7f10e8000101 /* a term, too */
#define SMALL	  0x2af
#define PID	  7

static const struct stackd_beam beam = {.start = CODE,
					.size = BYTES,
					.main = MAIN,
					.main_size = MAIN_SIZE,
					.frame = FRAME,
					.registers = REGISTERS,
					.stop = STOP,
					.shared = SHARED};
static struct stackd_beam with_pointers;
static struct task_struct task;
static struct scratch *s;

/* Puts a call in front of a return address. */
static void put_call(uint64_t ra)
{
	const uint8_t call[] = {0xe8, 0, 0, 0, 0};

	shim_write(ra - sizeof(call), call, sizeof(call));
}

/* Puts words on the process's stack. */
static void put_stack(const uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		shim_write_word(SP + 8 * i, words[i]);
}

#define STACK(...) put_stack((uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 8)

/* What user space tells about the process. */
static void tell(const struct stackd_beam *told)
{
	const struct stackd_runtime_key key = {PID, STACKD_RUNTIME_BEAM};
	const union stackd_runtime_facts facts = {.beam = *told};

	shim_put(&runtime_facts, 0, &key, &facts);
}

/* The walk begins in compiled code. */
static void begin(void)
{
	s->walk = (struct walk){.valid = 0xffff, .pc = INSIDE, .is_exact = 1};
	s->walk.r[STACKD_REG_SP] = SP;
}

static int set_up(void **state)
{
	const uint8_t sub[] = {0x48, 0x81, 0xec, 0, 0x40, 0, 0};
	(void)state;
	shim_add_region(CODE, BYTES);
	shim_add_region(HEAP, BYTES);
	shim_add_region(THREAD, BYTES);
	shim_add_region(TEXT, BYTES);
	for (uint64_t page = 0; page < BYTES; page += 4096) {
		shim_write_word(CODE + page, 0);
		shim_write_word(TEXT + page, 0);
	}
	shim_write(MAIN, sub, sizeof(sub));
	put_call(CALLER);
	put_call(CALLER_2);
	put_call(FRAGMENT);
	shim_make_hash(&runtime_facts, 1);
	tell(&beam);
	with_pointers = beam;
	with_pointers.has_pointers = 1;
	shim_task = &task;
	s = calloc(1, sizeof(*s));
	assert_non_null(s);
	s->record.pid = PID;
	s->seen[0] = (struct seen_mapping){.start = CODE, .size = BYTES};
	begin();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	shim_free_regions();
	shim_free_maps();
	free(s);
	return 0;
}

static void check_arrived_with(uint64_t rsp, uint64_t pc, uint32_t valid)
{
	assert_int_equal(step_in_beam(s), WALK_GO_ON);
	assert_int_equal(s->walk.r[STACKD_REG_SP], rsp);
	assert_int_equal(s->walk.pc, pc);
	assert_int_equal(s->walk.slot, rsp - 8);
	assert_int_equal(s->walk.valid, valid);
	assert_int_equal(s->walk.is_exact, 0);
	assert_int_equal(s->walk.is_once, 1);
}

static void check_arrived(uint64_t rsp, uint64_t pc)
{
	check_arrived_with(rsp, pc, 1 << STACKD_REG_SP);
}

/* With the caller's frame pointer. */
static void check_pointer(uint64_t rsp, uint64_t pc, uint64_t fp)
{
	check_arrived_with(rsp, pc, 1 << STACKD_REG_SP | 1 << STACKD_REG_FP);
	assert_int_equal(s->walk.r[STACKD_REG_FP], fp);
}

/* From compiled code to the process's first function. */
static void test_functions(void **state)
{
	(void)state;
	STACK(TERM, SMALL, CALLER, CALLER_2, TERM, EXIT);
	check_arrived(SP + 24, CALLER);
	check_arrived(SP + 32, CALLER_2);
	assert_int_equal(step_in_beam(s), STACKD_END_ENTRY);
}

/* A frame of more slots than one block has, and one that ends nowhere. */
static void test_large_frame(void **state)
{
	(void)state;
	for (int i = 0; i < 1024; i++)
		shim_write_word(SP + 8 * i, SMALL);
	shim_write_word(SP + 8192, CALLER);
	check_arrived(SP + 8200, CALLER);
	s->walk.r[STACKD_REG_SP] = HEAP + BYTES - 8;
	assert_int_equal(step_in_beam(s), STACKD_END_STACK_SWITCH);
}

/* Nobody makes a walk take long. */
static void test_bound(void **state)
{
	uint64_t rsp = SP;
	int frames = 0;

	(void)state;
	for (int i = 0; i < 1023; i++)
		shim_write_word(SP + 8 * i, SMALL);
	shim_write_word(SP + 8 * 1023, CALLER);
	for (; step_in_beam(s) == WALK_GO_ON && frames < 1000; frames++)
		s->walk.r[STACKD_REG_SP] = rsp;
	assert_in_range(frames, 60, 70);
}

/* In a shared piece, whose return address is not aligned; a caller's slot is no such one. */
static void test_shared_piece(void **state)
{
	(void)state;
	STACK(FRAGMENT, TERM, CALLER);
	s->walk.pc = PIECE;
	check_arrived(SP + 8, FRAGMENT);
	s->walk.r[STACKD_REG_SP] = SP;
	check_arrived(SP + 24, CALLER);
}

/* A slot that is not set yet has an old return address: the code tells how large the frame is. */
static void test_old_address(void **state)
{
	const uint8_t ends[][11] = {
		{0x90, 0x48, 0x83, 0xc4, 16, 0x49, 0xff, 0xce},		      /* add; dec */
		{0x90, 0x48, 0x81, 0xc4, 16, 0, 0, 0, 0xe9},		      /* add; jmp */
		{0x48, 0x83, 0xc4, 8, 0x48, 0x83, 0xc4, 8, 0x41, 0xff, 0xce}, /* two of them */
	};
	const uint8_t other[] = {0x48, 0x83, 0xec, 8, 0x48, 0x83, 0xc4, 16, 0xe9};

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		begin();
		shim_write(INSIDE, ends[i], sizeof(ends[i]));
		STACK(CALLER, TERM, CALLER_2); /* two slots */
		assert_int_equal(step_in_beam(s), STACKD_END_STACK_SWITCH);
		STACK(SMALL, TERM, CALLER_2);
		begin();
		check_arrived(SP + 24, CALLER_2);
	}
	begin();
	STACK(CALLER, TERM, CALLER_2);
	shim_write(INSIDE, other, sizeof(other)); /* another function's */
	check_arrived(SP + 8, CALLER);
}

/* The same by the code in front, which has made the frame, where its end is far. */
static void test_new_frame(void **state)
{
	const uint8_t sub[] = {0x48, 0x83, 0xec, 16}, sub_far[] = {0x48, 0x81, 0xec, 16, 0, 0, 0};
	const uint8_t add[] = {0x48, 0x83, 0xc4, 16}, begins[] = {0xeb, 6, 0, 0xe8};

	(void)state;
	STACK(CALLER, TERM, CALLER_2);
	for (uint64_t distance = 4; distance <= 400; distance++) {
		const uint8_t *code = distance < 7 || distance % 2 ? sub : sub_far;

		begin();
		shim_write(INSIDE - distance, code, code == sub ? sizeof(sub) : sizeof(sub_far));
		assert_int_equal(step_in_beam(s), STACKD_END_STACK_SWITCH);
		shim_write(INSIDE - distance, (const uint8_t[7]){0}, 7);
	}
	begin();
	shim_write(INSIDE - 50, sub, sizeof(sub));
	shim_write(INSIDE - 40, add, sizeof(add)); /* given up again */
	check_arrived(SP + 8, CALLER);
	begin();
	shim_write(INSIDE - 40, begins, sizeof(begins)); /* another function's */
	check_arrived(SP + 8, CALLER);
}

/* rbp is a frame pointer: old addresses do no harm. */
static void begin_with_pointer(uint64_t fp)
{
	begin();
	s->walk.r[STACKD_REG_FP] = fp;
}

/* With frame pointers, which lead from one to the next; that of the first function is 0. */
static void test_frame_pointers(void **state)
{
	(void)state;
	tell(&with_pointers);
	STACK(TERM, SP + 48, CALLER, CALLER_2, SP + 24, CALLER_2, 0, EXIT);
	begin_with_pointer(SP + 8);
	check_pointer(SP + 24, CALLER, SP + 48);
	assert_int_equal(step_in_beam(s), STACKD_END_ENTRY);
	begin_with_pointer(SP + 12);
	assert_int_equal(step_in_beam(s), STACKD_END_STACK_SWITCH);
	begin_with_pointer(SP - 8);
	assert_int_equal(step_in_beam(s), STACKD_END_STACK_SWITCH);
	begin_with_pointer(SP + 16); /* no call is there */
	shim_write_word(SP + 24, TEXT + 0x500);
	assert_int_equal(step_in_beam(s), STACKD_END_STACK_SWITCH);
}

/* What is on top of the stack may be an old address, or the function's own: the code tells, as far
 * from the pc as it may be, or the path ends. */
static void test_known_pointers(void **state)
{
	const uint8_t sub[] = {0x48, 0x83, 0xec, 16}, push[] = {0x55, 0x48, 0x89, 0xe5};
	const uint8_t leave[] = {0xc9, 0xc3};
	(void)state;
	tell(&with_pointers);
	STACK(CALLER_2, TERM, SP + 40, CALLER, SMALL, 0, EXIT);
	begin_with_pointer(SP + 16);
	assert_int_equal(step_in_beam(s), STACKD_END_STACK_SWITCH);
	for (uint64_t distance = 4; distance <= 400; distance++) {
		begin_with_pointer(SP + 16);
		shim_write(INSIDE - distance, distance % 2 ? sub : push, 4);
		check_pointer(SP + 32, CALLER, SP + 40);
		assert_int_equal(step_in_beam(s), STACKD_END_ENTRY);
		shim_write(INSIDE - distance, (const uint8_t[4]){0}, 4);
	}
	for (uint64_t distance = 0; distance <= 50; distance++) {
		begin_with_pointer(SP + 16);
		shim_write(INSIDE + distance, leave, sizeof(leave));
		check_pointer(SP + 32, CALLER, SP + 40);
		shim_write(INSIDE + distance, (const uint8_t[2]){0}, 2);
	}
}

/* Where a function has no frame yet, or none any more, rbp is its caller's: at each instruction
 * from leave to ret, though another leave is near, and at the first jump and push. */
static void test_without_frame(void **state)
{
	const uint8_t ends[] = {0xc9, 0x49, 0xff, 0xce, 0x0f, 0x8c, 0,	  0,	0,
				0,    0xc3, 0x90, 0x90, 0xc9, 0x49, 0xff, 0xce, 0xc3};
	const uint8_t jumps[] = {0xc9, 0xe9, 0, 0, 0, 0, 0xc9, 0xc3};
	const uint8_t begins[] = {0xeb, 6, 0, 0xe8, 0, 0, 0, 0, 0x55, 0x48, 0x89, 0xe5};
	const uint8_t places[] = {1, 4, 10};
	(void)state;
	tell(&with_pointers);
	STACK(CALLER_2, TERM, SP + 40, CALLER, SMALL, 0, EXIT);
	shim_write(INSIDE, ends, sizeof(ends));
	for (size_t i = 0; i < sizeof(places); i++) {
		begin_with_pointer(SP + 16);
		s->walk.pc = INSIDE + places[i];
		check_pointer(SP + 8, CALLER_2, SP + 16);
		check_pointer(SP + 32, CALLER, SP + 40);
	}
	begin_with_pointer(SP + 16);
	check_pointer(SP + 32, CALLER, SP + 40); /* at leave */
	shim_write(INSIDE, jumps, sizeof(jumps));
	begin_with_pointer(SP + 16);
	s->walk.pc = INSIDE + 1;
	check_pointer(SP + 8, CALLER_2, SP + 16);
	shim_write(INSIDE, begins, sizeof(begins));
	for (uint64_t at = 0; at <= 8; at += 8) {
		begin_with_pointer(SP + 16);
		s->walk.pc = INSIDE + at;
		check_pointer(SP + 8, CALLER_2, SP + 16);
	}
	STACK(SP + 16, CALLER_2, TERM); /* behind the push */
	begin_with_pointer(SP + 16);
	s->walk.pc = INSIDE + 9;
	check_pointer(SP + 16, CALLER_2, SP + 16);
}

/* Shared code has no slots: its return address is on top, or its frame pointer. */
static void test_shared_with_pointers(void **state)
{
	(void)state;
	tell(&with_pointers);
	STACK(FRAGMENT, CALLER, SP + 40, CALLER, SMALL, 0, EXIT);
	begin_with_pointer(SP + 16);
	s->walk.pc = PIECE;
	check_pointer(SP + 8, FRAGMENT, SP + 16);
	check_pointer(SP + 32, CALLER, SP + 40); /* an old address in the caller's frame */
	STACK(SP + 24, FRAGMENT, CALLER, SP + 40, CALLER, 0, EXIT);
	begin_with_pointer(SP);
	s->walk.pc = PIECE;
	check_pointer(SP + 16, FRAGMENT, SP + 24);
	/* The frame pointer leads behind a term, whose bytes look like a call. */
	STACK(SP + 24, FRAGMENT, LIKE_CALL, SP + 40, CALLER, 0, EXIT);
	begin_with_pointer(SP);
	s->walk.pc = PIECE;
	check_pointer(SP + 16, FRAGMENT, SP + 24);
	s->walk.pc = INSIDE; /* in a function's own code, too */
	begin_with_pointer(SP);
	check_pointer(SP + 16, FRAGMENT, SP + 24);
	STACK(TERM, FRAGMENT, SP + 40, CALLER, SMALL, 0, EXIT); /* something else is pushed */
	begin_with_pointer(SP + 16);
	s->walk.pc = PIECE;
	assert_int_equal(step_in_beam(s), STACKD_END_STACK_SWITCH);
}

/* On the thread's stack, in C that code has called. */
static void set_up_call(const uint8_t *back, size_t len)
{
	shim_write(BACK, back, len);
	s->walk.pc = BACK;
	s->walk.is_exact = 0;
	s->walk.r[STACKD_REG_SP] = RSP;
	s->walk.r[3] = RSP + REGISTERS;
	s->walk.r[STACKD_REG_FP] = SP + 16;
	s->walk.r[13] = PROCESS;
	s->walk.valid = 0xffff;
	s->walk.has_left = 0;
	shim_write_word(PROCESS + STOP, SP);
}

static void test_calls(void **state)
{
	const uint8_t by_process[] = {0x90, 0x49, 0x8b, 0x65, STOP}, by_rbp[] = {0x48, 0x89, 0xec};

	(void)state;
	STACK(TERM, CALLER, TERM, CALLER_2);
	set_up_call(by_process, sizeof(by_process));
	check_arrived(SP + 16, CALLER);
	set_up_call(by_rbp, sizeof(by_rbp));
	check_arrived(SP + 32, CALLER_2);
}

/* Which way is taken is the first one, however far behind. */
static void test_ways_back(void **state)
{
	const uint8_t nop = 0x90,
		      by_process[] = {0x49, 0x8b, 0xa5, STOP, 0, 0, 0, 0x48, 0x89, 0xec};

	(void)state;
	STACK(TERM, CALLER, TERM, CALLER_2);
	for (uint64_t distance = 0; distance < 316; distance++) {
		set_up_call(by_process, 0);
		shim_write(BACK + distance, by_process, sizeof(by_process));
		check_arrived(SP + 16, CALLER);
		shim_write(BACK + distance, &nop, 1);
		set_up_call(by_process, 0);
		check_arrived(SP + 32, CALLER_2);
		for (size_t i = 0; i < sizeof(by_process); i++)
			shim_write(BACK + distance + i, &nop, 1);
	}
}

/* The registers are needed, which a lean walk does not have. */
static void test_lean(void **state)
{
	const uint8_t by_process[] = {0x49, 0x8b, 0x65, STOP};

	(void)state;
	STACK(CALLER);
	set_up_call(by_process, sizeof(by_process));
	s->walk.is_lean = 1;
	assert_int_equal(step_in_beam(s), WALK_AGAIN);
	s->walk.is_lean = 0;
	check_arrived(SP + 8, CALLER);
	s->walk.is_lean = 1;
	STACK(CALLER, CALLER_2);
	check_arrived(SP + 16, CALLER_2);
}

/* In the scheduler's loop: its caller is the thread's, at one of four places. */
static void test_scheduler(void **state)
{
	const uint8_t new_process[] = {0x49, 0x89, 0xc5, 0x49, 0x8b, 0x65, STOP};

	(void)state;
	put_call(TEXT + 0x100);
	put_call(TEXT + 0x200);
	for (uint64_t place = 8; place <= 56; place += 16) {
		set_up_call(new_process, 0);
		shim_write(MAIN + 0x40, new_process, sizeof(new_process));
		s->walk.pc = MAIN + 0x40;
		shim_write_word(RSP + FRAME + place, TEXT + 0x100);
		shim_write_word(RSP + FRAME + place - 8, TEXT + 0x200);
		check_arrived(RSP + FRAME + place + 8, TEXT + 0x100);
	}
	set_up_call(new_process, sizeof(new_process)); /* not there */
	assert_int_equal(step_in_beam(s), STACKD_END_STACK_SWITCH);
}

static void test_what_does_not_fit(void **state)
{
	const uint8_t by_process[] = {0x49, 0x8b, 0x65, STOP};

	(void)state;
	STACK(TERM, TEXT + 0x500, CALLER); /* neither code with a call, nor a frame pointer */
	assert_int_equal(step_in_beam(s), STACKD_END_STACK_SWITCH);
	set_up_call(by_process, sizeof(by_process));
	shim_write_word(PROCESS + STOP, SP + 1);
	assert_int_equal(step_in_beam(s), STACKD_END_STACK_SWITCH);
	set_up_call(by_process, sizeof(by_process));
	s->walk.r[3]++; /* on neither stack */
	assert_int_equal(step_in_beam(s), STACKD_END_STACK_SWITCH);
	set_up_call(by_process, sizeof(by_process));
	s->walk.r[13] = 0;
	assert_int_equal(step_in_beam(s), STACKD_END_STACK_SWITCH);
}

/* Of another process, and of another program of a process with the same number. */
static void test_other_program(void **state)
{
	(void)state;
	STACK(CALLER);
	s->record.pid = PID + 1;
	assert_int_equal(step_in_beam(s), RUNTIME_NOT);
	s->record.pid = PID;
	shim_write_word(MAIN, 0);
	assert_int_equal(step_in_beam(s), RUNTIME_NOT);
	assert_int_equal(s->walk.is_once, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_functions, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_large_frame, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bound, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_shared_piece, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_old_address, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_new_frame, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_frame_pointers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_known_pointers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_without_frame, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_shared_with_pointers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_calls, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_ways_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lean, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_scheduler, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_does_not_fit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_program, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
