/* SPDX-License-Identifier: MIT */
/*
 * What samples by a clock stand for: the arithmetic by itself (bpf/overdue.h), and the unmodified
 * kernel half beside a timer that does as the kernel's does: it fires once however late it is, and
 * is next due at the first of its times that has not passed. The periods that went by are known
 * here, so each sample is judged by itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf_shim.h"

#include "../../bpf/stackd.bpf.c"

#define PERIOD	 500250u /* of 1,999 Hz */
#define SECOND	 UINT64_C(1000000000)
#define SOFT_IRQ 0xffffc90000007f00ull

static struct perf_event event;
static struct task_struct task;
static struct {
	struct kvm_steal_time host;
	struct rq rq;
	struct cfs_rq queue;
} cpu;
static uint32_t period; /* of the last record */
static uint64_t random_state;

static long receive(const void *record, size_t size)
{
	assert_true(size >= sizeof(struct stackd_stack_record));
	period = ((const struct stackd_stack_record *)record)->period;
	return 0;
}

static uint64_t drawn(uint64_t below)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (random_state >> 33) % below;
}

static uint64_t counted(enum stackd_counter which)
{
	uint32_t only = 0;

	return ((struct stackd_counters *)shim_lookup(&counters, &only))->n[which];
}

/* The timer fires at a time; returns the period of the sample. The periods that have passed are in
 * *ret_passed. `is_seen`: else another task has the CPU, and no sample is in scope. */
static uint32_t fire(uint64_t at_ns, uint32_t reported, bool is_seen, uint64_t *ret_passed)
{
	struct bpf_perf_event_data context = {.sample_period = reported};
	const uint64_t due = (uint64_t)event.hw.hrtimer._softexpires;
	uint64_t every = event.hw.sample_period;

	every = every < 10000 ? 10000 : every;
	assert_true(at_ns >= due);
	period = 0;
	if (is_seen) {
		shim_time_ns = at_ns;
		context.regs =
			(struct pt_regs){.rsp = SOFT_IRQ, .cs = 0x10, .rip = 0xffffffff81000000};
		stackd_sample(&context);
	}
	*ret_passed = (at_ns - due) / every + 1;
	event.hw.hrtimer._softexpires += (int64_t)(*ret_passed * every);
	return period;
}

/* --- the arithmetic -------------------------------------------------------------------------- */

static void test_periods(void **state)
{
	(void)state;
	assert_int_equal(overdue_periods(0, 0, 100), 1);
	assert_int_equal(overdue_periods(99, 0, 100), 1);
	assert_int_equal(overdue_periods(100, 0, 100), 2);
	assert_int_equal(overdue_periods(599, 0, 100), 6);
	assert_int_equal(overdue_periods(599, 99, 100), 6);
	assert_int_equal(overdue_periods(599, 100, 100), 5);
	assert_int_equal(overdue_periods(599, 599, 100), 1);
	assert_int_equal(overdue_periods(599, UINT64_MAX, 100), 1);
}

static void test_next(void **state)
{
	(void)state;
	assert_int_equal(overdue_next(1000, 1000, 100), 1100);
	assert_int_equal(overdue_next(1000, 1099, 100), 1100);
	assert_int_equal(overdue_next(1000, 1100, 100), 1200);
}

/* --- the kernel half beside a timer ---------------------------------------------------------- */

/* A lateness: mostly some microseconds, at times a stall of up to `most` periods. */
static uint64_t lateness(uint64_t most)
{
	return drawn(20) ? drawn(8000) : drawn(most * PERIOD);
}

static void test_each_sample_stands_for_what_passed(void **state)
{
	uint64_t passed, sum = 0, known = 0, late = 0;

	(void)state;
	for (int i = 0; i < 20000; i++) { /* 10 s at least: more than 32 bits of nanoseconds */
		const uint64_t due = (uint64_t)event.hw.hrtimer._softexpires;

		sum += fire(due + lateness(20), PERIOD, true, &passed);
		assert_int_equal(period, PERIOD * passed);
		known += PERIOD * passed;
		late += passed > 1;
	}
	assert_true(late > 500);
	assert_int_equal(sum, known);
	assert_int_equal(counted(STACKD_COUNT_LATE), late);
	assert_int_equal(counted(STACKD_COUNT_LATE_PERIODS), known / PERIOD - 20000);
	assert_int_equal(counted(STACKD_COUNT_LATE_CUT_NS), 0);
}

/* Between the samples in scope are others, which the program leaves before it looks. */
static void test_others_have_the_cpu_in_between(void **state)
{
	uint64_t passed;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		const uint64_t due = (uint64_t)event.hw.hrtimer._softexpires;
		const bool is_seen = drawn(3) == 0;

		fire(due + lateness(5), PERIOD, is_seen, &passed);
		if (is_seen)
			assert_int_equal(period, PERIOD * passed);
	}
}

/* The clock is set anew (--jitter, --max-cpu, a cgroup's that comes back): what was noted of it is
 * of no use. No sample gets too much, and one that is clearly late gets all. */
static void test_the_clock_is_changed(void **state)
{
	uint64_t passed;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		const uint64_t due = (uint64_t)event.hw.hrtimer._softexpires;

		if (drawn(4) == 0) {
			event.hw.sample_period = PERIOD - PERIOD / 10 + drawn(PERIOD / 5);
			event.hw.hrtimer._softexpires =
				(int64_t)(due - drawn(PERIOD) + event.hw.sample_period);
		}
		fire((uint64_t)event.hw.hrtimer._softexpires + lateness(8), PERIOD, true, &passed);
		assert_true(period >= PERIOD && period <= PERIOD * passed);
		if (passed > 2)
			assert_int_equal(period, PERIOD * passed);
	}
}

/* The kernel has no clock faster than 100 kHz. */
static void test_the_shortest_period(void **state)
{
	uint64_t passed;

	(void)state;
	event.hw.sample_period = 1;
	for (int i = 0; i < 1000; i++) {
		fire((uint64_t)event.hw.hrtimer._softexpires + drawn(30000), 1, true, &passed);
		assert_int_equal(period, passed);
	}
}

static void test_no_sample_stands_for_hours(void **state)
{
	const uint64_t hours = 3 * 3600 * SECOND;
	uint64_t passed;

	(void)state;
	fire((uint64_t)event.hw.hrtimer._softexpires + hours, PERIOD, true, &passed);
	assert_true(period <= SECOND && period > SECOND - PERIOD);
	assert_int_equal(counted(STACKD_COUNT_LATE_CUT_NS), PERIOD * passed - period);
	fire((uint64_t)event.hw.hrtimer._softexpires, PERIOD, true, &passed);
	assert_int_equal(period, PERIOD);
	/* A long period is one. */
	event.hw.sample_period = 4 * SECOND;
	fire((uint64_t)event.hw.hrtimer._softexpires + hours, 4000000000, true, &passed);
	assert_int_equal(period, 4000000000);
}

/* The scheduler leaves out what the host has taken, and so do samples. */
static void test_stolen_time_is_nobodys(void **state)
{
	uint64_t passed;

	(void)state;
	steal_distance = (int64_t)offsetof(typeof(cpu), host) - (int64_t)offsetof(typeof(cpu), rq);
	cpu.queue.rq = &cpu.rq;
	task.se.cfs_rq = &cpu.queue;
	cpu.rq.prev_steal_time_rq = 5 * SECOND;
	cpu.host.steal = 5 * SECOND + 6 * PERIOD;
	fire((uint64_t)event.hw.hrtimer._softexpires + 10 * PERIOD + 10, PERIOD, true, &passed);
	assert_int_equal(passed, 11);
	assert_int_equal(period, 5 * PERIOD);
	fire((uint64_t)event.hw.hrtimer._softexpires + 3 * PERIOD, PERIOD, true, &passed);
	assert_int_equal(period, PERIOD);
	task.se.cfs_rq = NULL;
	steal_distance = 0;
}

/* The scheduler counts as another's what a task runs after that one was woken, until the switch. */
static void test_a_task_that_makes_way(void **state)
{
	static struct task_struct woken = {.tgid = 7};
	uint64_t passed;

	(void)state;
	cpu.queue.rq = &cpu.rq;
	task.se.cfs_rq = &cpu.queue;
	for (unsigned flags = 0; flags < 4; flags++) {
		const uint64_t before = counted(STACKD_COUNT_PREEMPTED_NS);
		const bool is_to_switch = flags & 1, is_clock_kept = flags & 2;

		task.thread_info.flags = is_to_switch ? ARCH_MAY_RESCHEDULE & 8 : 1;
		cpu.rq.clock_update_flags = is_clock_kept ? 1 | 4 : 4;
		fire((uint64_t)event.hw.hrtimer._softexpires + 2 * PERIOD, PERIOD, true, &passed);
		assert_int_equal(counted(STACKD_COUNT_PREEMPTED_NS) - before,
				 is_to_switch && is_clock_kept ? 3 * PERIOD : 0);
	}
	/* If the other task is in scope, the sum of both is right. */
	woken.group_leader = &woken;
	cpu.rq.nr_running = 2;
	cpu.rq.cfs_tasks.next = &woken.se.group_node;
	is_everyone = 1;
	fire((uint64_t)event.hw.hrtimer._softexpires, PERIOD, true, &passed);
	assert_int_equal(counted(STACKD_COUNT_PREEMPTED_NS), 3 * PERIOD);
	is_everyone = 0;
	fire((uint64_t)event.hw.hrtimer._softexpires, PERIOD, true, &passed);
	assert_int_equal(counted(STACKD_COUNT_PREEMPTED_NS), 4 * PERIOD);
	is_clock = 0;
	fire((uint64_t)event.hw.hrtimer._softexpires, 77, true, &passed);
	assert_int_equal(counted(STACKD_COUNT_PREEMPTED_NS), 4 * PERIOD);
	task.thread_info.flags = 0;
	task.se.cfs_rq = NULL;
}

/* Other events have no timer, and theirs is not asked. */
static void test_other_events(void **state)
{
	uint64_t passed;

	(void)state;
	is_clock = 0;
	fire((uint64_t)event.hw.hrtimer._softexpires + 9 * PERIOD, 77, true, &passed);
	assert_int_equal(period, 77);
}

static int set_up(void **state)
{
	(void)state;
	shim_ring = receive;
	(void)shim_make_array(&counters, 1);
	(void)shim_make_array(&scratches, 1);
	shim_make_hash(&late_threads, 1);
	is_clock = 1;
	random_state = 44;
	memset(&cpu, 0, sizeof(cpu));
	task = (struct task_struct){.flags = PF_KTHREAD};
	shim_task = &task;
	shim_pid_tgid = UINT64_C(15) << 32 | 15;
	event.hw.sample_period = PERIOD;
	event.hw.hrtimer._softexpires = (int64_t)(100 * SECOND);
	shim_event = &event;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	shim_free_maps();
	return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_periods),
		cmocka_unit_test(test_next),
		TEST(test_each_sample_stands_for_what_passed),
		TEST(test_others_have_the_cpu_in_between),
		TEST(test_the_clock_is_changed),
		TEST(test_the_shortest_period),
		TEST(test_no_sample_stands_for_hours),
		TEST(test_stolen_time_is_nobodys),
		TEST(test_a_task_that_makes_way),
		TEST(test_other_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
