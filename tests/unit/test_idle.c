/* SPDX-License-Identifier: MIT */
/*
 * Samples of idle CPUs: the unmodified kernel half counts them and sends nothing, and counts the
 * time that the scheduler gives to a task that the CPU was woken for; interrupts in the idle task
 * are sampled, and with --idle everything is (bpf/idle.bpf.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf_shim.h"

#include "../../bpf/stackd.bpf.c"

#define STACK	 0xffffc90000100000ull
#define SOFT_IRQ 0xffffc90000007f00ull /* on the CPU's own stack */

static unsigned n_records;

static long receive(const void *record, size_t size)
{
	(void)record;
	(void)size;
	n_records++;
	return 0;
}

static uint64_t counted(enum stackd_counter which)
{
	uint32_t only = 0;

	return ((struct stackd_counters *)shim_lookup(&counters, &only))->n[which];
}

/* Samples the kernel at work for a task without memory. Was a record made, or was the sample
 * counted as idle? It must be one of the two. */
static bool is_sampled(uint32_t tid, uint64_t rsp)
{
	static struct task_struct task = {.flags = PF_KTHREAD};
	struct bpf_perf_event_data context = {.sample_period = 1};
	uint64_t idle = counted(STACKD_COUNT_IDLE);
	unsigned before = n_records;

	task.stack = (void *)(uintptr_t)STACK;
	shim_task = &task;
	shim_pid_tgid = (uint64_t)tid << 32 | tid;
	shim_time_ns += 1000;
	context.regs = (struct pt_regs){.rsp = rsp, .cs = 0x10, .rip = 0xffffffff81000000};
	stackd_sample(&context);
	assert_int_equal(n_records - before + (counted(STACKD_COUNT_IDLE) - idle), 1);
	assert_int_equal(counted(STACKD_COUNT_STARTED), counted(STACKD_COUNT_SENT) +
								counted(STACKD_COUNT_LOST_RING) +
								counted(STACKD_COUNT_IDLE));
	return n_records > before;
}

static void test_idle_is_counted(void **state)
{
	(void)state;
	assert_false(is_sampled(0, STACK + 0x3e80));
	assert_false(is_sampled(0, STACK + 16384)); /* nothing is pushed yet */
	assert_int_equal(counted(STACKD_COUNT_IDLE), 2);
	assert_int_equal(n_records, 0);
}

static void test_work_is_sampled(void **state)
{
	(void)state;
	assert_true(is_sampled(0, SOFT_IRQ));
	assert_true(is_sampled(0, STACK + 16384 + 8));
	assert_true(is_sampled(15, STACK + 0x3e80)); /* a kernel thread */
}

static void test_idle_is_sampled_if_asked_for(void **state)
{
	(void)state;
	with_idle = 1;
	assert_true(is_sampled(0, STACK + 0x3e80));
	with_idle = 0;
}

/* A CPU on its way out of the idle loop to a task that was woken there, or that is not in scope. */
static void test_waking_is_counted(void **state)
{
	static struct cfs_rq queue;
	static struct rq rq;
	static struct task_struct idle, woken = {.tgid = 7};
	struct bpf_perf_event_data context = {.sample_period = 1000};

	(void)state;
	woken.group_leader = &woken;
	idle.stack = (void *)(uintptr_t)STACK;
	idle.se.cfs_rq = &queue;
	queue.rq = &rq;
	rq.cfs_tasks.next = &rq.cfs_tasks;
	shim_task = &idle;
	shim_pid_tgid = 0;
	context.regs = (struct pt_regs){.rsp = STACK + 0x3e80, .cs = 0x10};
	is_clock = 1;
	is_everyone = 1;
	stackd_sample(&context); /* nobody is there */
	rq.nr_running = 1;
	rq.cfs_tasks.next = &woken.se.group_node;
	stackd_sample(&context); /* the clock will be set at the switch */
	assert_int_equal(counted(STACKD_COUNT_WAKING_NS), 0);
	rq.clock_update_flags = 1;
	stackd_sample(&context);
	assert_int_equal(counted(STACKD_COUNT_WAKING_NS), 1000);
	is_everyone = 0;
	stackd_sample(&context); /* another's */
	assert_int_equal(counted(STACKD_COUNT_WAKING_NS), 1000);
	rq.nr_running = 0;
	rq.cfs_tasks.next = &rq.cfs_tasks;
	is_everyone = 1;
	stackd_sample(&context); /* a task of another class */
	assert_int_equal(counted(STACKD_COUNT_WAKING_NS), 1000);
	assert_int_equal(counted(STACKD_COUNT_IDLE), 5);
	assert_int_equal(n_records, 0);

	/* What has a sample counts by that; and only a clock's samples are of time. */
	rq.nr_running = 1;
	rq.cfs_tasks.next = &woken.se.group_node;
	with_idle = 1;
	stackd_sample(&context);
	with_idle = 0;
	context.regs.rsp = SOFT_IRQ;
	stackd_sample(&context);
	assert_int_equal(n_records, 2);
	context.regs.rsp = STACK + 0x3e80;
	is_clock = 0;
	stackd_sample(&context);
	assert_int_equal(counted(STACKD_COUNT_WAKING_NS), 1000);
	is_clock = 1;
	stackd_sample(&context);
	assert_int_equal(counted(STACKD_COUNT_WAKING_NS), 2000);
	is_clock = 0;
	is_everyone = 0;
}

static int set_up(void **state)
{
	static struct perf_event event; /* of which nothing is known: no timer was due */

	(void)state;
	shim_ring = receive;
	shim_event = &event;
	(void)shim_make_array(&counters, 1);
	(void)shim_make_array(&scratches, 1);
	shim_make_hash(&late_threads, 1);
	shim_make_hash(&members, 1);
	n_records = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	shim_free_maps();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_idle_is_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_waking_is_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_work_is_sampled, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_idle_is_sampled_if_asked_for, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
