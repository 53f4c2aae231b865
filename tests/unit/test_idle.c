/* SPDX-License-Identifier: MIT */
/*
 * Samples of idle CPUs: the unmodified kernel half counts them and sends nothing, and counts the
 * time that the scheduler gives to a task that the CPU was woken for; interrupts in the idle task
 * are sampled, and with --idle everything is (bpf/idle.bpf.h). Which task that is
 * (bpf/next_task.bpf.h), and the time that the scheduler takes from tasks (bpf/preempted.bpf.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf_shim.h"

#include "../../bpf/stackd.bpf.c"

#define STACK	 0xffffc90000100000ull
#define PERIOD	 20000
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
	struct bpf_perf_event_data context = {.sample_period = PERIOD};

	(void)state;
	woken.group_leader = &woken;
	woken.sched_info.last_queued = 1;
	woken.se.group_node.next = &rq.cfs_tasks;
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
	assert_int_equal(counted(STACKD_COUNT_WAKING_NS), PERIOD);
	is_everyone = 0;
	stackd_sample(&context); /* another's */
	assert_int_equal(counted(STACKD_COUNT_WAKING_NS), PERIOD);
	rq.nr_running = 0;
	rq.cfs_tasks.next = &rq.cfs_tasks;
	is_everyone = 1;
	stackd_sample(&context); /* a task of another class */
	assert_int_equal(counted(STACKD_COUNT_WAKING_NS), PERIOD);
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
	assert_int_equal(counted(STACKD_COUNT_WAKING_NS), PERIOD);
	is_clock = 1;
	stackd_sample(&context);
	assert_int_equal(counted(STACKD_COUNT_WAKING_NS), 2 * PERIOD);
	is_clock = 0;
	is_everyone = 0;
}

/* --- the task that runs next ----------------------------------------------------------------- */

#define IN_SCOPE 7 /* a process */

static struct queues {
	struct cfs_rq of_current;
	struct rq rq;
	struct task_struct current, tasks[12]; /* those of odd numbers are in scope */
	struct css_set sets[2];
	struct cgroup groups[2];
	struct kernfs_node nodes[2];
} q;

/* Makes a CPU that runs a task outside of the scope, and is to switch to one that was woken. */
static void begin_queues(void)
{
	const uint32_t pid = IN_SCOPE;
	const uint64_t any = 0;

	memset(&q, 0, sizeof(q));
	bpf_map_update_elem(&members, &pid, &any, BPF_ANY);
	is_clock = 1;
	by_members = 1;
	q.current.stack = (void *)(uintptr_t)STACK;
	q.current.flags = PF_KTHREAD;
	q.current.group_leader = &q.current;
	q.current.se.cfs_rq = &q.of_current;
	q.of_current.rq = &q.rq;
	q.rq.nr_running = 2;
	q.rq.clock_update_flags = 1;
	q.rq.cfs_tasks.next = &q.rq.cfs_tasks;
	q.rq.rt.highest_prio.curr = 100;
	for (int i = 0; i < 2; i++) {
		q.nodes[i].id = (uint64_t)i + 1;
		q.groups[i].kn = &q.nodes[i];
		q.sets[i].dfl_cgrp = &q.groups[i];
	}
	for (size_t i = 0; i < sizeof(q.tasks) / sizeof(*q.tasks); i++) {
		q.tasks[i].tgid = i % 2 ? IN_SCOPE : 1;
		q.tasks[i].group_leader = &q.tasks[i];
		q.tasks[i].cgroups = &q.sets[i % 2];
	}
	shim_task = &q.current;
}

static void end_queues(void)
{
	by_members = 0;
	is_clock = 0;
}

/* Adds a task to the end of the queue of usual ones. */
static void queue_task(struct task_struct *task, uint64_t queued)
{
	struct list_head *last = &q.rq.cfs_tasks;

	while (last->next != &q.rq.cfs_tasks)
		last = last->next;
	last->next = &task->se.group_node;
	task->se.group_node.next = &q.rq.cfs_tasks;
	task->sched_info.last_queued = queued;
}

/* Samples the current task, which is of process 1. Does the CPU make way for a task in scope? */
static bool is_waking(void)
{
	struct bpf_perf_event_data context = {.sample_period = PERIOD};
	const uint64_t before = counted(STACKD_COUNT_WAKING_NS);
	uint64_t passed;

	shim_pid_tgid = UINT64_C(1) << 32 | 1;
	stackd_sample(&context);
	passed = counted(STACKD_COUNT_WAKING_NS) - before;
	assert_true(!passed || passed == PERIOD);
	return passed;
}

/* A task that is woken while it stays in the queue keeps its place there. */
static void test_last_queued_is_next(void **state)
{
	(void)state;
	begin_queues();
	queue_task(&q.current, 0);
	assert_false(is_waking());
	queue_task(&q.tasks[0], 5);
	queue_task(&q.tasks[1], 4);
	assert_false(is_waking());
	q.tasks[1].sched_info.last_queued = 0; /* it sleeps */
	queue_task(&q.tasks[3], 6);
	queue_task(&q.tasks[2], 3);
	assert_true(is_waking());
	q.tasks[2].sched_info.last_queued = 7;
	assert_false(is_waking());
	queue_task(&q.tasks[4], 1);
	queue_task(&q.tasks[6], 1);
	queue_task(&q.tasks[5], 8);
	assert_true(is_waking());
	queue_task(&q.tasks[8], 1);
	queue_task(&q.tasks[10], 9); /* too far behind */
	assert_true(is_waking());
	end_queues();
}

/* Without times, the first one of the queue counts. */
static void test_first_is_next(void **state)
{
	(void)state;
	begin_queues();
	shim_has_queued = false;
	queue_task(&q.current, 0);
	queue_task(&q.tasks[1], 0);
	assert_false(is_waking());
	q.rq.cfs_tasks.next = &q.rq.cfs_tasks;
	queue_task(&q.tasks[3], 0);
	queue_task(&q.current, 0);
	assert_true(is_waking());
	shim_has_queued = true;
	end_queues();
}

/* Real-time tasks come before others, the first priority first, and those with a deadline before
 * both, unless the entity stands for the others. */
static void test_classes(void **state)
{
	struct rt_rq group;

	(void)state;
	begin_queues();
	queue_task(&q.tasks[1], 9);
	assert_true(is_waking());
	q.rq.rt.rt_queued = 1;
	q.rq.rt.highest_prio.curr = 42;
	q.rq.rt.active.queue[42].next = &q.tasks[2].rt.run_list;
	assert_false(is_waking());
	q.rq.rt.active.queue[42].next = &q.tasks[3].rt.run_list;
	assert_true(is_waking());
	q.rq.rt.active.queue[42].next = &q.current.rt.run_list; /* it goes on */
	assert_false(is_waking());
	q.rq.rt.active.queue[42].next = &q.tasks[2].rt.run_list;
	q.tasks[2].rt.my_q = &group; /* not known: others are looked at */
	assert_true(is_waking());
	q.tasks[2].rt.my_q = NULL;
	q.rq.dl.root.rb_leftmost = &q.tasks[5].dl.rb_node;
	assert_true(is_waking());
	q.rq.dl.root.rb_leftmost = &q.tasks[4].dl.rb_node;
	assert_false(is_waking());
	q.tasks[4].dl.dl_server = 1; /* the others come first, whatever real-time tasks there are */
	assert_true(is_waking());
	q.rq.dl.root.rb_leftmost = NULL;
	assert_false(is_waking());
	q.rq.rt.rt_queued = 0; /* throttled: they are passed over */
	assert_true(is_waking());
	end_queues();
}

/* Samples the current task, which is in scope, beside one that was woken. Does its time count for
 * another one? */
static bool is_preempted(struct task_struct *woken)
{
	struct bpf_perf_event_data context = {.sample_period = PERIOD};
	const uint64_t before = counted(STACKD_COUNT_PREEMPTED_NS);
	const unsigned records = n_records;

	q.rq.cfs_tasks.next = &q.rq.cfs_tasks;
	queue_task(woken, 1);
	shim_pid_tgid = (uint64_t)IN_SCOPE << 32 | IN_SCOPE;
	context.regs = (struct pt_regs){.rsp = STACK, .cs = 0x10, .rip = 0xffffffff81000000};
	stackd_sample(&context);
	assert_int_equal(n_records, records + 1);
	return counted(STACKD_COUNT_PREEMPTED_NS) - before >= PERIOD;
}

/* The time of one task in scope that counts for another one in scope is not missing: in processes,
 * and in a cgroup and those below it. */
static void test_preempted(void **state)
{
	(void)state;
	begin_queues();
	q.current.tgid = IN_SCOPE;
	q.current.thread_info.flags = ARCH_MAY_RESCHEDULE;
	assert_true(is_preempted(&q.tasks[0]));
	assert_false(is_preempted(&q.tasks[1]));
	q.rq.clock_update_flags = 0;
	assert_false(is_preempted(&q.tasks[0]));
	q.rq.clock_update_flags = 1;

	by_members = 0;
	cgroup_id = 2;
	assert_true(is_preempted(&q.tasks[0]));
	assert_false(is_preempted(&q.tasks[1]));
	cgroup_id = 3;
	assert_true(is_preempted(&q.tasks[1]));
	cgroup_id = 2;
	q.groups[0].self.parent = &q.groups[1].self;
	assert_false(is_preempted(&q.tasks[0]));
	cgroup_id = 0;
	end_queues();
}

/* --- what was due since a wake-up --------------------------------------------------------------
 */

#define NOW 5000000

/* Of a clock that was due `late` ns ago, and whose CPU's clock was set `since` ns ago. */
static uint64_t due(uint64_t late, uint64_t since)
{
	struct perf_event event = {
		.hw = {.sample_period = PERIOD, .hrtimer._softexpires = NOW - late}};
	struct rq rq = {.clock = NOW - since};
	uint64_t ns;

	shim_time_ns = NOW;
	clock_ties = 1;
	ns = due_since_set(&rq, &event);
	clock_ties = 0;
	return ns;
}

static void test_due_since_wake_up(void **state)
{
	(void)state;
	assert_int_equal(due(300, 1000), PERIOD);
	assert_int_equal(due(1000, 1000), PERIOD);
	assert_int_equal(due(1001, 1000), 0);
	assert_int_equal(due(PERIOD - 1, 0), 0);
	/* late by two periods and 300 ns: the last one, the last two, all */
	assert_int_equal(due(2 * PERIOD + 300, 299), 0);
	assert_int_equal(due(2 * PERIOD + 300, 300), PERIOD);
	assert_int_equal(due(2 * PERIOD + 300, PERIOD + 299), PERIOD);
	assert_int_equal(due(2 * PERIOD + 300, PERIOD + 300), 2 * PERIOD);
	assert_int_equal(due(2 * PERIOD + 300, 3 * PERIOD), 3 * PERIOD);
}

/* Without the clock, or the timer: a whole period. */
static void test_due_unknown(void **state)
{
	struct perf_event event = {.hw.sample_period = PERIOD};
	struct rq rq = {.clock = NOW};

	(void)state;
	shim_time_ns = NOW;
	assert_int_equal(due_since_set(&rq, &event), PERIOD);
	clock_ties = 1;
	assert_int_equal(due_since_set(&rq, &event), PERIOD);
	clock_ties = 0;
}

static int set_up(void **state)
{
	static struct perf_event event = {.hw.sample_period = PERIOD}; /* no timer was due */

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
		cmocka_unit_test_setup_teardown(test_last_queued_is_next, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_first_is_next, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_classes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_preempted, set_up, tear_down),
		cmocka_unit_test(test_due_since_wake_up),
		cmocka_unit_test(test_due_unknown),
		cmocka_unit_test_setup_teardown(test_work_is_sampled, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_idle_is_sampled_if_asked_for, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
