/* SPDX-License-Identifier: MIT */
/* Takes records of waits; see recorder.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "arch/kernel_entry.h"
#include "base/hash.h"
#include "daemon/capture/event.h"
#include "daemon/capture/record.h"
#include "daemon/recorder/gil.h"
#include "daemon/recorder/recorder_internal.h"
#include "daemon/recorder/wait_reason.h"
#include "daemon/recorder/wakeup_frame.h"

int recorder_waits_init(struct recorder_waits *w, struct object_table *objects)
{
	int err = wait_objects_new("/proc", &w->objects);

	return err ? err : wait_frames_new(objects, &w->frames);
}

void recorder_waits_fini(struct recorder_waits *w)
{
	wait_objects_free(w->objects);
	wait_frames_free(w->frames);
}

/* Returns the waiting time that a sampled part of a wait represents. A part of length d is sampled
 * with probability p = 1 - exp(-d / mean), so it represents d / p. */
static uint64_t weight_of(uint64_t ns, uint64_t mean_ns)
{
	if (!mean_ns)
		return ns;
	return (uint64_t)((double)ns / -expm1(-(double)ns / (double)mean_ns) + 0.5);
}

/* Looks up the address range of the kernel's page fault entry, once the kernel's symbols are
 * loaded. */
static void find_page_fault(struct recorder *r)
{
	const struct kallsyms *ksyms = recorder_kallsyms(r);

	if (r->waits.page_fault.is_known || !ksyms)
		return;
	r->waits.page_fault.is_known = true;
	kallsyms_function(ksyms, kernel_entry_page_fault, &r->waits.page_fault.start,
			  &r->waits.page_fault.end);
}

/* Returns whether a thread waited in a page fault, by its kernel frames. The number of the system
 * call does not show it, because the fault may be the kernel's own, within that system call. */
static bool is_in_page_fault(struct recorder *r, const struct stackd_header *record)
{
	const uint64_t *kernel = record_kernel(record);

	find_page_fault(r);
	for (size_t i = 0; i < record->n_kernel; i++) {
		if (kernel[i] > r->waits.page_fault.start && kernel[i] <= r->waits.page_fault.end)
			return true;
	}
	return false;
}

/* Appends a frame at the leaf of *node's path. *node becomes the new path's node. 0 or -ENOMEM. */
static int add_frame(struct recorder *r, enum wait_frame kind, const char *name, uint32_t *node)
{
	const struct object *object;
	int err = wait_frames_find(r->waits.frames, kind, name, &object);

	return err ? err : recorder_add_frame(r, object, node);
}

/* Appends a frame for the thread `tid` that held a futex, if it is another thread of the process. 0
 * or -ENOMEM. */
static int add_holder(struct recorder *r, const struct event *event, uint64_t tid, uint32_t *node)
{
	const struct thread *holder =
		process_table_find_thread(r->tasks.processes, event->pid, (pid_t)tid);
	char name[64];

	if (!tid || (pid_t)tid == event->tid || !holder)
		return 0;
	snprintf(name, sizeof(name), "held by %s (%d)", holder->comm, (int)holder->tid);
	return add_frame(r, WAIT_FRAME_PASSING, name, node);
}

/* Appends a frame for the object that a thread waited for, if its name is known, and a frame for
 * the thread that held the object, if that is known. 0 or -ENOMEM. */
static int add_object(struct recorder *r, const struct event *event, const struct stackd_wait *wait,
		      uint32_t *node)
{
	char buffer[WAIT_OBJECT_MAX];
	bool is_passing;
	const char *name =
		wait_objects_name(r->waits.objects, event->pid, wait, buffer, &is_passing);
	int err = name ? add_frame(r, is_passing ? WAIT_FRAME_PASSING : WAIT_FRAME_LASTING, name,
				   node)
		       : 0;

	if (!err && wait->object == STACKD_OBJECT_FUTEX)
		err = add_holder(r, event, wait->number, node);
	return err;
}

/* Returns the wait, with the number of the system call that the thread has made itself. (After a
 * stop, the kernel makes the thread call restart_syscall(), which continues that call.) */
static struct stackd_wait as_before_restart(struct recorder *r, const struct stackd_header *record,
					    const struct stackd_wait *wait)
{
	const struct kallsyms *ksyms = recorder_kallsyms(r);
	const uint64_t *kernel = record_kernel(record);
	struct stackd_wait before = *wait;
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

/* Returns whether a thread waited for Python's global interpreter lock. */
static bool is_gil(struct recorder *r, pid_t pid, const struct stackd_wait *wait)
{
	return wait->object == STACKD_OBJECT_FUTEX && r->with.tables &&
	       gil_has(r->with.tables, locator_mappings(r->paths.locator, pid), wait->argument);
}

/* Stores the blocked part of a wait. Appends two frames to its path: why the thread waited and, at
 * the leaf, what it waited for. 0 or -ENOMEM. */
static int keep_blocked(struct recorder *r, const struct event *event, struct store_sample row)
{
	const struct stackd_wait wait = as_before_restart(r, event->record, &event->measured.wait);
	bool is_in_fault = is_in_page_fault(r, event->record);
	bool has_object = wait_reason_has_object(&wait, is_in_fault);
	char reason[WAIT_REASON_MAX];
	int err;

	if (has_object && is_gil(r, event->pid, &wait)) {
		err = add_frame(r, WAIT_FRAME_REASON, GIL_REASON, &row.node);
	} else {
		err = add_frame(r, WAIT_FRAME_REASON,
				wait_reason_blocked(&wait, is_in_fault, reason), &row.node);
		if (!err && has_object)
			err = add_object(r, event, &wait, &row.node);
	}
	return err ? err
		   : recorder_keep(r, SERIES_WAIT_BLOCKED, weight_of(wait.blocked_ns, wait.mean_ns),
				   row);
}

/* Stores the mean waiting time between two samples of waits (wait->mean_ns), if it has changed. 0
 * or -ENOMEM. */
static int keep_mean(struct recorder *r, uint64_t mean_ns, struct store_sample row)
{
	if (r->waits.mean.is_known && r->waits.mean.ns == mean_ns)
		return 0;
	r->waits.mean.is_known = true;
	r->waits.mean.ns = mean_ns;
	return recorder_keep(r, SERIES_WAIT_MEAN, mean_ns, row);
}

/* Stores the runnable part of a wait. `state`: of the thread, struct stackd_wait. */
static int keep_runnable(struct recorder *r, uint8_t state, uint64_t ns, uint64_t mean_ns,
			 struct store_sample row)
{
	int err = add_frame(r, WAIT_FRAME_REASON, wait_reason_runnable(state), &row.node);

	return err ? err : recorder_keep(r, SERIES_WAIT_RUNNABLE, weight_of(ns, mean_ns), row);
}

/* Returns what the function of a kernel frame is, for a wake-up: enum wakeup_frame. */
static unsigned wakeup_frame(struct recorder *r, uint64_t address)
{
	size_t at = hash_mix64(address) & (WAKEUP_FRAMES - 1);
	const struct kallsyms *ksyms = recorder_kallsyms(r);
	const char *name;
	uint64_t start;

	if (!ksyms || r->waits.wakeup_frames[at].address == address)
		return ksyms ? r->waits.wakeup_frames[at].is : WAKEUP_OTHER;
	name = kallsyms_find(ksyms, address - 1, &start);
	r->waits.wakeup_frames[at].address = address;
	r->waits.wakeup_frames[at].is = name ? wakeup_frame_of(name) : WAKEUP_OTHER;
	return r->waits.wakeup_frames[at].is;
}

/* Stores that an interrupt, not a thread, ended a wait. `row`: a row of the thread that waited. 0
 * or -ENOMEM. */
static int keep_interrupt(struct recorder *r, struct store_sample row)
{
	row.node = 0;
	row.origin = 0;
	row.end_reason = STACKD_END_NO_USER;
	return recorder_keep(r, SERIES_WAIT_WAKER, WAKER_OF_INTERRUPT, row);
}

int recorder_wake(struct recorder *r, const struct event *event, struct store_sample *row)
{
	const struct stackd_wake *wake = &event->measured.wake;
	const struct thread *woken =
		process_table_thread(r->tasks.processes, (pid_t)wake->pid, (pid_t)wake->tid);
	const uint64_t *kernel = record_kernel(event->record);
	struct store_sample waker = *row;
	unsigned frames = 0;
	uint32_t process;

	if (!woken || process_table_add_row(r->tasks.processes, woken, &process))
		return -ENOMEM;
	waker.thread = woken->row;
	waker.time_ns = wake->time_ns;
	for (size_t k = 0; k < event->record->n_kernel; k++)
		frames |= wakeup_frame(r, kernel[k]);
	if (wakeup_is_by_interrupt(frames))
		return keep_interrupt(r, waker);
	return recorder_keep(r, SERIES_WAIT_WAKER, WAKER_OF_THREAD(event->record->tid), waker);
}

/* Moves a row's time back by `ns`. */
static void go_back(struct store_sample *row, uint64_t ns)
{
	row->time_ns -= ns < row->time_ns ? ns : 0;
}

int recorder_prefetch_wait(struct recorder *r, const struct event *event)
{
	const struct stackd_wait *wait = &event->measured.wait;

	if (!wait_reason_has_object(wait, false))
		return 0;
	return wait_objects_prefetch(r->waits.objects, event->pid, event->time_ns, wait);
}

int recorder_wait(struct recorder *r, const struct event *event, struct store_sample *row)
{
	const struct stackd_wait *wait = &event->measured.wait;
	const uint64_t runnable_ns = wait->runnable_ns & ~STACKD_NOT_SAMPLED;
	const bool is_runnable = runnable_ns && !(wait->runnable_ns & STACKD_NOT_SAMPLED);
	struct store_sample runnable = *row, blocked; /* until the thread was woken */
	int err;

	go_back(&runnable, wait->late_ns);
	blocked = runnable;
	go_back(&blocked, runnable_ns);
	err = keep_mean(r, wait->mean_ns, blocked);
	if (!err && wait->blocked_ns)
		err = keep_blocked(r, event, blocked);
	if (!err && wait->blocked_ns && wait->waker == STACKD_WAKER_INTERRUPT)
		err = keep_interrupt(r, blocked);
	if (!err && is_runnable)
		err = keep_runnable(r, wait->state, runnable_ns, wait->mean_ns, runnable);
	return err;
}

int recorder_untraced(struct recorder *r, const struct event *event)
{
	const struct stackd_untraced *wait = &event->measured.untraced;
	const uint64_t runnable_ns = wait->runnable_ns & ~STACKD_NOT_SAMPLED;
	const struct thread *thread =
		process_table_thread(r->tasks.processes, event->pid, event->tid);
	struct store_sample row = {
		.time_ns = event->time_ns, .cpu = event->cpu, .end_reason = STACKD_END_LOST_RECORD};
	uint32_t process;
	int err;

	if (!thread || process_table_add_row(r->tasks.processes, thread, &process))
		return -ENOMEM;
	row.thread = thread->row;
	go_back(&row, wait->late_ns);
	err = keep_mean(r, wait->mean_ns, row);
	if (!err && !(wait->runnable_ns & STACKD_NOT_SAMPLED))
		err = keep_runnable(r, wait->was_blocked, runnable_ns, wait->mean_ns, row);
	go_back(&row, runnable_ns);
	if (!err && wait->blocked_ns)
		err = add_frame(r, WAIT_FRAME_REASON, "[not traced]", &row.node);
	return err || !wait->blocked_ns
		       ? err
		       : recorder_keep(r, SERIES_WAIT_BLOCKED,
				       weight_of(wait->blocked_ns, wait->mean_ns), row);
}

int recorder_life(struct recorder *r, const struct event *event)
{
	const bool is_begun = event->measured.life.is_begun;
	struct store_sample row = {.time_ns = event->time_ns};
	const struct thread *thread;
	uint32_t process;

	if (is_begun) {
		thread = recorder_thread_of(r, event, &process);
		if (!thread)
			return -ENOMEM;
	} else { /* a thread without a row has no waits in the store */
		thread = process_table_find_thread(r->tasks.processes, event->pid, event->tid);
		if (!thread || thread->row == PROCESS_NO_ROW)
			return 0;
	}
	row.thread = thread->row;
	return recorder_keep(r, is_begun ? SERIES_THREAD_BEGIN : SERIES_THREAD_END, 0, row);
}
