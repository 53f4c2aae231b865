/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Wakers (--wakers): which thread ends a wait, and by which call path.
 *
 *   sched_waking   a thread is woken: if its wait is sampled, takes the kernel frames of
 *                  the running thread, and asks for an interrupt
 *   irq_work       the interrupt: walks that thread's user stack, and sends a record
 *                  (wait.bpf.h)
 *
 * The waker's path can only be taken here, so it is decided here whether the blocked part of the
 * wait is sampled (wait_thread.bpf.h), by its length so far. When the woken thread gets its CPU, it
 * is decided for the rest of the blocked part, until the thread was queued.
 *
 * The tracepoint holds the lock of the woken thread, with interrupts off, so the interrupt comes as
 * soon as the wake-up is done, still in the waker's system call. If the waker wakes a second thread
 * before that, the second record has no user path.
 */
#ifndef WAKER_BPF_H
#define WAKER_BPF_H

#include "wait.bpf.h"

/* Makes a record of the running thread as the waker of `woken`, and raises the interrupt that walks
 * its user path. Only the first waker while interrupts are off gets that path. */
static __always_inline void keep_waker(struct task_struct *current, const struct task_struct *woken,
				       __u64 now)
{
	const struct pt_regs *saved = (const struct pt_regs *)bpf_task_pt_regs(current);
	struct ended_wait *waker = ended_here(RECORD_OF_WAKER);
	bool is_alone = waker && waker->tid;
	const struct wait_thread *own;
	long got;

	if (is_alone)
		waker = ended_here(RECORD_WITHOUT_PATH);
	if (!waker)
		return;
	count_wait(STACKD_WAIT_WAKERS, 1);
	own = thread_of(current);
	waker->is_outside = !own || own->state == WAIT_NONE;
	waker->pid = current->tgid;
	waker->tid = current->pid;
	__builtin_memset(&waker->event, 0, sizeof(waker->event));
	waker->event.kind = STACKD_EVENT_WAKE;
	waker->event.wake.time_ns = now;
	waker->event.wake.pid = woken->tgid;
	waker->event.wake.tid = woken->pid;
	waker->pc = 0;
	if (!waker->is_outside)
		bpf_probe_read_kernel(&waker->pc, sizeof(waker->pc), &PT_REGS_IP(saved));
	got = bpf_get_task_stack(current, waker->kernel, STACKD_MAX_KERNEL_FRAMES * 8, 0);
	waker->n_kernel = got > 0 ? (__u64)got / 8 : 0;
	if (is_alone)
		give_up_path(waker, RECORD_WITHOUT_PATH, STACKD_WAIT_NO_PATH);
	else
		ask_for_interrupt();
}

/* Returns whether a thread that is not known to have left its CPU is woken from a wait that has
 * begun: the scheduler has removed it from the queue, and chooses another thread, before the switch
 * is traced. A thread that is woken before it is removed continues, and does not wait. */
static __always_inline bool is_switching(const struct wait_thread *thread, struct task_struct *task)
{
	if (thread->state != WAIT_RUNNING)
		return false;
	if (bpf_core_field_exists(task->se.sched_delayed) && task->se.sched_delayed)
		return true;
	return !task->on_rq;
}

/* Runs when the current thread or interrupt wakes a thread. If the wait of that thread is sampled
 * so far, its waker is recorded. */
SEC("tp_btf/sched_waking")
int stackd_wait_waking(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0], *current;
	struct wait_thread *thread;
	bool is_ahead, is_drawn = false;
	__u64 now, since, blocked;
	__u32 waker;

	if (!task->bpf_storage)
		return 0;
	thread = thread_of(task);
	if (!thread || (thread->state != WAIT_BLOCKED && !is_switching(thread, task)))
		return 0;
	is_ahead = thread->state == WAIT_RUNNING;
	current = bpf_get_current_task_btf();
	now = bpf_ktime_get_ns();
	since = thread->since_ns;
	FORGET(since); /* else clang chooses between the addresses of two values and reads once,
			* which the BPF verifier refuses */
	if (is_ahead)
		since = queue_clock(task);
	blocked = time_between(since, wait_clock_of(now));
	blocked += !blocked; /* at least 1, since a wait can be shorter than the clock's
			      * resolution */
	/* What the idle task does is the work of an interrupt. Other interrupts are among the
	 * kernel frames of the thread that they interrupt, where the daemon finds them. */
	waker = current->pid ? STACKD_WAKER_THREAD : STACKD_WAKER_INTERRUPT;
	if (blocked >= wait_least_ns) {
		is_drawn = has_point(thread, blocked, wait_mean_ns);
		thread->is_drawn = is_drawn;
	}
	thread->drawn_ns = blocked >= wait_least_ns ? blocked : 0;
	thread->waker = waker | (is_ahead ? WAKER_AHEAD : 0);
	if (is_drawn && waker == STACKD_WAKER_THREAD)
		keep_waker(current, task, now);
	return 0;
}

#endif
