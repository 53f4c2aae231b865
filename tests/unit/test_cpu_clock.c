/* SPDX-License-Identifier: MIT */
/*
 * The CPU time of a thread, as the unmodified kernel half reads it (bpf/cpu_clock.bpf.h), of a
 * queue that is made here: it goes on with the clock, and neither time in interrupts nor what the
 * host has taken counts, whether the scheduler's clock knows of that or not yet.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf_shim.h"

#include "../../bpf/stackd.bpf.c"

static struct {
	struct kvm_steal_time host;
	struct rq rq;
} cpu;
static struct cfs_rq queue = {.rq = &cpu.rq};
static struct task_struct task = {.se = {.cfs_rq = &queue}};

static int set_up(void **state)
{
	(void)state;
	steal_distance = (int64_t)offsetof(typeof(cpu), host) - (int64_t)offsetof(typeof(cpu), rq);
	cpu.host.steal = 500;
	cpu.rq = (struct rq){.clock = 10000, .clock_task = 9000, .prev_steal_time_rq = 500};
	task.se.exec_start = 9000;
	task.se.sum_exec_runtime = 100;
	shim_time_ns = 10000;
	clock_ties = 1; /* the clocks are the same here */
	return 0;
}

/* The scheduler looks: its clock is set, and the time since its last look is summed up. */
static void look(void)
{
	const uint64_t stolen = cpu.host.steal - cpu.rq.prev_steal_time_rq;
	const uint64_t passed = shim_time_ns - cpu.rq.clock;

	cpu.rq.clock = shim_time_ns;
	cpu.rq.clock_task += passed > stolen ? passed - stolen : 0;
	cpu.rq.prev_steal_time_rq = cpu.host.steal;
	task.se.sum_exec_runtime += cpu.rq.clock_task - task.se.exec_start;
	task.se.exec_start = cpu.rq.clock_task;
}

static void test_goes_on(void **state)
{
	const uint64_t start = cpu_clock(&task);

	(void)state;
	shim_time_ns += 700;
	assert_int_equal(cpu_clock(&task) - start, 700);
	look();
	assert_int_equal(cpu_clock(&task) - start, 700);
	shim_time_ns += 5;
	assert_int_equal(cpu_clock(&task) - start, 705);
}

static void test_stolen(void **state)
{
	const uint64_t start = cpu_clock(&task);

	(void)state;
	shim_time_ns += 1000;
	cpu.host.steal += 400;
	assert_int_equal(cpu_clock(&task) - start, 600);
	look();
	assert_int_equal(cpu_clock(&task) - start, 600);
	/* Twice between two looks. */
	shim_time_ns += 1000;
	cpu.host.steal += 1;
	shim_time_ns += 1000;
	cpu.host.steal += 2;
	assert_int_equal(cpu_clock(&task) - start, 2597);
	look();
	assert_int_equal(cpu_clock(&task) - start, 2597);
}

/* Another CPU sets the clock while the host has this one, which the host says afterwards. */
static void test_set_meanwhile(void **state)
{
	const uint64_t start = cpu_clock(&task);

	(void)state;
	shim_time_ns += 300;
	look();
	shim_time_ns += 100;
	cpu.host.steal += 350;
	assert_int_equal(cpu_clock(&task) - start, 300);
	look();
	assert_int_equal(cpu_clock(&task) - start, 300);
	shim_time_ns += 10;
	assert_int_equal(cpu_clock(&task) - start, 310);
}

/* Another thread is to have the CPU: what this one runs until the switch is the other one's. */
static void test_makes_way(void **state)
{
	uint64_t start = cpu_clock(&task);

	(void)state;
	shim_time_ns += 300;
	look();
	cpu.rq.clock_update_flags = 1;
	shim_time_ns += 200;
	assert_int_equal(cpu_clock(&task) - start, 300);
	cpu.rq.clock_update_flags = 0; /* something else has the clock set before the switch */
	look();
	assert_int_equal(cpu_clock(&task) - start, 500);

	/* Without a comparison of the clocks it counts. */
	clock_ties = 0;
	cpu.rq.clock_update_flags = 1;
	start = cpu_clock(&task);
	shim_time_ns += 200;
	assert_int_equal(cpu_clock(&task) - start, 200);
}

/* The clocks drift apart: by 2^-10 here. */
static void test_drift(void **state)
{
	uint64_t start;

	(void)state;
	clock_tie_apart[1] = 5000;
	clock_tie_ns[1] = shim_time_ns + 5000;
	clock_tie_drift[1] = 1 << 22;
	shim_time_ns += 5000;
	start = cpu_clock(&task);
	shim_time_ns += 1024;
	cpu.rq.clock += 1023;
	cpu.rq.clock_task += 1023;
	cpu.rq.clock_update_flags = 1;
	shim_time_ns += 500;
	assert_in_range(cpu_clock(&task) - start, 1023, 1024);
	clock_tie_apart[1] = clock_tie_drift[1] = 0;
	clock_tie_ns[1] = 0;
}

/* Where the host says nothing, time counts as stolen once the scheduler's clock says so. */
static void test_other_hosts(void **state)
{
	uint64_t start;

	(void)state;
	steal_distance = 0;
	start = cpu_clock(&task);
	shim_time_ns += 1000;
	cpu.host.steal += 400;
	assert_int_equal(cpu_clock(&task) - start, 1000);
	look();
	assert_int_equal(cpu_clock(&task) - start, 600);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_goes_on, set_up),
		cmocka_unit_test_setup(test_stolen, set_up),
		cmocka_unit_test_setup(test_set_meanwhile, set_up),
		cmocka_unit_test_setup(test_makes_way, set_up),
		cmocka_unit_test_setup(test_drift, set_up),
		cmocka_unit_test_setup(test_other_hosts, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
