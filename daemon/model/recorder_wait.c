/* SPDX-License-Identifier: MIT */
/* Takes records of waits; see recorder.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/hash.h"
#include "daemon/capture/record.h"
#include "daemon/model/recorder_internal.h"
#include "daemon/model/wait_reason.h"
#include "daemon/model/wakeup_frame.h"

/* Returns the time that a part of a wait stands for: d / p, if a part of the length d is kept with
 * the probability p = 1 - exp(-d / mean). */
static uint64_t weight_of(uint64_t ns, uint64_t mean_ns)
{
	if (!mean_ns)
		return ns;
	return (uint64_t)((double)ns / -expm1(-(double)ns / (double)mean_ns) + 0.5);
}

/* Looks up where the kernel enters on a page fault, once its symbols are loaded. */
static void find_page_fault(struct recorder *r)
{
	const struct kallsyms *ksyms = recorder_kallsyms(r);

	if (r->page_fault.is_known || !ksyms)
		return;
	r->page_fault.is_known = true;
	kallsyms_function(ksyms, "asm_exc_page_fault", &r->page_fault.start, &r->page_fault.end);
}

/* Tells by the kernel frames whether a thread waited in a page fault. If the kernel itself touched
 * the page, its registers are those of the system call around it. */
static bool is_in_page_fault(struct recorder *r, const struct stackd_header *record)
{
	const uint64_t *kernel = record_kernel(record);

	find_page_fault(r);
	for (size_t i = 0; i < record->n_kernel; i++) {
		if (kernel[i] > r->page_fault.start && kernel[i] <= r->page_fault.end)
			return true;
	}
	return false;
}

/* Adds a frame below a path. 0 or -ENOMEM. */
static int add_frame(struct recorder *r, enum wait_frame kind, const char *name, uint32_t *node)
{
	const struct object *object;
	int err = wait_frames_find(r->wait_frames, kind, name, &object);

	return err ? err : recorder_add_frame(r, object, node);
}

/* Adds who held a futex, if that is another thread of the process. */
static int add_holder(struct recorder *r, const struct stackd_header *record, uint64_t tid,
		      uint32_t *node)
{
	const struct thread *holder =
		process_table_find_thread(r->processes, (pid_t)record_pid(record), (pid_t)tid);
	char name[64];

	if (!tid || tid == record->tid || !holder)
		return 0;
	snprintf(name, sizeof(name), "held by %s (%d)", holder->comm, (int)holder->tid);
	return add_frame(r, WAIT_FRAME_PASSING, name, node);
}

/* Adds what a thread waited for, if that is known, and who held it. 0 or -ENOMEM. */
static int add_object(struct recorder *r, const struct stackd_header *record,
		      const struct stackd_instance *i, uint32_t *node)
{
	char buffer[WAIT_OBJECT_MAX];
	bool is_passing;
	const char *name = wait_objects_name(r->wait_objects, (pid_t)record_pid(record), i, buffer,
					     &is_passing);
	int err = name ? add_frame(r, is_passing ? WAIT_FRAME_PASSING : WAIT_FRAME_LASTING, name,
				   node)
		       : 0;

	if (!err && i->object == STACKD_OBJECT_FUTEX)
		err = add_holder(r, record, i->number, node);
	return err;
}

/* Returns a wait with the system call that its thread had made: after a stop, the kernel has it
 * call restart_syscall(), which goes on with that. */
static struct stackd_instance as_before_restart(struct recorder *r,
						const struct stackd_header *record,
						const struct stackd_instance *wait)
{
	const struct kallsyms *ksyms = recorder_kallsyms(r);
	const uint64_t *kernel = record_kernel(record);
	struct stackd_instance before = *wait;
	uint64_t start;

	if (wait->call != SYS_restart_syscall || !ksyms)
		return before;
	for (size_t k = 0; k < record->n_kernel; k++) {
		const char *name = kallsyms_find(ksyms, kernel[k] - 1, &start);
		int call = name ? wait_reason_restarted(name) : -1;

		if (call >= 0) {
			before.call = (int16_t)call;
			break;
		}
	}
	return before;
}

/* Keeps the blocked part of a wait: why it was is the frame below the path, and what for is below
 * that. */
static int keep_blocked(struct recorder *r, const struct stackd_header *record,
			const struct stackd_instance *wait, struct store_sample row)
{
	const struct stackd_instance before = as_before_restart(r, record, wait), *i = &before;
	bool is_in_fault = is_in_page_fault(r, record);
	char reason[WAIT_REASON_MAX];
	int err = add_frame(r, WAIT_FRAME_REASON, wait_reason_blocked(i, is_in_fault, reason),
			    &row.node);

	if (!err && wait_reason_has_object(i, is_in_fault))
		err = add_object(r, record, i, &row.node);
	return err ? err
		   : recorder_keep(r, SERIES_WAIT_BLOCKED, weight_of(i->blocked_ns, i->mean_ns),
				   row);
}

/* Keeps the mean by which a wait was sampled, if it is another than that of the wait before. */
static int keep_mean(struct recorder *r, const struct stackd_instance *i, struct store_sample row)
{
	if (r->wait_mean.is_known && r->wait_mean.ns == i->mean_ns)
		return 0;
	r->wait_mean.is_known = true;
	r->wait_mean.ns = i->mean_ns;
	return recorder_keep(r, SERIES_WAIT_MEAN, i->mean_ns, row);
}

static int keep_runnable(struct recorder *r, const struct stackd_instance *i,
			 struct store_sample row)
{
	int err = add_frame(r, WAIT_FRAME_REASON, wait_reason_runnable(i), &row.node);

	return err ? err
		   : recorder_keep(r, SERIES_WAIT_RUNNABLE, weight_of(i->runnable_ns, i->mean_ns),
				   row);
}

/* What a kernel frame says of the wake-up that it is in: enum wakeup_frame. */
static unsigned wakeup_frame(struct recorder *r, uint64_t address)
{
	size_t at = hash_mix64(address) & (WAKEUP_FRAMES - 1);
	const struct kallsyms *ksyms = recorder_kallsyms(r);
	const char *name;
	uint64_t start;

	if (!ksyms || r->wakeup_frames[at].address == address)
		return ksyms ? r->wakeup_frames[at].is : WAKEUP_OTHER;
	name = kallsyms_find(ksyms, address - 1, &start);
	r->wakeup_frames[at].address = address;
	r->wakeup_frames[at].is = name ? wakeup_frame_of(name) : WAKEUP_OTHER;
	return r->wakeup_frames[at].is;
}

/* Keeps that a wait was ended by no thread. `row`: with the waiting thread. */
static int keep_interrupt(struct recorder *r, struct store_sample row)
{
	row.node = 0;
	row.origin = 0;
	row.end_reason = STACKD_END_NO_USER;
	return recorder_keep(r, SERIES_WAIT_WAKER, WAKER_OF_INTERRUPT, row);
}

int recorder_waker(struct recorder *r, const struct stackd_header *record,
		   const struct stackd_instance *i, const struct store_sample *row)
{
	const struct thread *woken =
		process_table_thread(r->processes, (pid_t)i->woken_pid, (pid_t)i->woken_tid);
	const uint64_t *kernel = record_kernel(record);
	struct store_sample waker = *row;
	unsigned frames = 0;
	uint32_t process;

	if (!woken || process_table_add_row(r->processes, woken, &process))
		return -ENOMEM;
	waker.thread = woken->row;
	waker.time_ns = i->woken_ns;
	for (size_t k = 0; k < record->n_kernel; k++)
		frames |= wakeup_frame(r, kernel[k]);
	if (wakeup_is_by_interrupt(frames))
		return keep_interrupt(r, waker);
	return recorder_keep(r, SERIES_WAIT_WAKER, WAKER_OF_THREAD(record->tid), waker);
}

/* Makes a row that of an earlier moment. */
static void go_back(struct store_sample *row, uint64_t ns)
{
	row->time_ns -= ns < row->time_ns ? ns : 0;
}

int recorder_wait(struct recorder *r, const struct stackd_header *record,
		  const struct stackd_instance *i, const struct store_sample *row)
{
	const uint64_t runnable_ns = i->runnable_ns & ~STACKD_NOT_SAMPLED;
	const bool is_runnable = runnable_ns && !(i->runnable_ns & STACKD_NOT_SAMPLED);
	struct store_sample runnable = *row, blocked; /* until the thread was woken */
	int err;

	go_back(&runnable, i->late_ns);
	blocked = runnable;
	go_back(&blocked, runnable_ns);
	err = keep_mean(r, i, blocked);
	if (!err && i->blocked_ns)
		err = keep_blocked(r, record, i, blocked);
	if (!err && i->blocked_ns && i->waker == STACKD_WAKER_INTERRUPT)
		err = keep_interrupt(r, blocked);
	if (!err && is_runnable)
		err = keep_runnable(r, i, runnable);
	return err;
}

int recorder_untraced(struct recorder *r, const struct stackd_header *record,
		      const struct stackd_instance *i)
{
	const struct thread *thread =
		process_table_thread(r->processes, (pid_t)record_pid(record), (pid_t)record->tid);
	struct store_sample row = {.time_ns = record->time_ns,
				   .cpu = record->cpu,
				   .end_reason = STACKD_END_LOST_RECORD};
	uint32_t process;
	int err;

	if (!thread || process_table_add_row(r->processes, thread, &process))
		return -ENOMEM;
	row.thread = thread->row;
	go_back(&row, i->argument);
	err = keep_mean(r, i, row);
	if (!err && !(i->runnable_ns & STACKD_NOT_SAMPLED))
		err = keep_runnable(r, i, row);
	go_back(&row, i->runnable_ns & ~STACKD_NOT_SAMPLED);
	if (!err && i->blocked_ns)
		err = add_frame(r, WAIT_FRAME_REASON, "[not traced]", &row.node);
	return err || !i->blocked_ns ? err
				     : recorder_keep(r, SERIES_WAIT_BLOCKED,
						     weight_of(i->blocked_ns, i->mean_ns), row);
}

int recorder_life(struct recorder *r, const struct stackd_header *record,
		  const struct stackd_instance *i)
{
	const pid_t pid = (pid_t)record_pid(record), tid = (pid_t)record->tid;
	struct store_sample row = {.time_ns = record->time_ns};
	const struct thread *thread;
	uint32_t process;

	if (i->is_begun) {
		thread = recorder_thread_of(r, record, &process);
		if (!thread)
			return -ENOMEM;
	} else { /* of one that has no row there is no wait */
		thread = process_table_find_thread(r->processes, pid, tid);
		if (!thread || thread->row == PROCESS_NO_ROW)
			return 0;
	}
	row.thread = thread->row;
	return recorder_keep(r, i->is_begun ? SERIES_THREAD_BEGIN : SERIES_THREAD_END, 0, row);
}
