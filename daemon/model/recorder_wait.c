/* SPDX-License-Identifier: MIT */
/* Takes records of waits; see recorder.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "daemon/capture/record.h"
#include "daemon/model/recorder_internal.h"
#include "daemon/model/wait_reason.h"

/* Returns the time that a part of a wait stands for: d / p, if a part of the length d is kept with
 * the probability p = 1 - exp(-d / mean). */
static uint64_t weight_of(uint64_t ns, uint64_t mean_ns)
{
	if (!mean_ns)
		return ns;
	return (uint64_t)((double)ns / -expm1(-(double)ns / (double)mean_ns) + 0.5);
}

/* Finds the object of a reason, or adds it. 0 or -ENOMEM. */
static int find_reason(struct recorder *r, const char *name, const struct object **ret_object)
{
	char *path;
	int err;

	for (size_t i = 0; i < r->reasons.count; i++) {
		if (!strcmp(r->reasons.items[i]->path, name)) {
			*ret_object = r->reasons.items[i];
			return 0;
		}
	}
	path = strdup(name);
	err = path && !VEC_RESERVE(&r->reasons, 1) ? 0 : -ENOMEM;
	if (!err)
		err = object_table_add(r->objects,
				       &(struct object){.kind = OBJECT_MARK, .path = path},
				       ret_object);
	if (!err)
		r->reasons.items[r->reasons.count++] = *ret_object;
	free(path);
	return err;
}

/* Keeps a part of a wait, with its reason as the leaf of the path. */
static int keep_part(struct recorder *r, enum metric_series series, uint64_t weight,
		     const char *reason, struct store_sample row)
{
	const struct object *object;
	int err = find_reason(r, reason, &object);

	if (!err)
		err = recorder_add_frame(r, object, &row.node);
	return err ? err : recorder_keep(r, series, weight, row);
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

/* Whether a kernel frame is one of interrupts, or of the work that they have put off. */
static bool is_interrupt(struct recorder *r, uint64_t address)
{
	size_t at = hash_mix64(address) & (WAKEUP_FRAMES - 1);
	const struct kallsyms *ksyms = recorder_kallsyms(r);
	const char *name;
	uint64_t start;

	if (!ksyms || r->wakeup_frames[at].address == address)
		return ksyms && r->wakeup_frames[at].is_interrupt;
	name = kallsyms_find(ksyms, address - 1, &start);
	r->wakeup_frames[at].address = address;
	r->wakeup_frames[at].is_interrupt =
		name &&
		(!strncmp(name, "asm_sysvec_", 11) || !strcmp(name, "asm_common_interrupt") ||
		 !strcmp(name, "__do_softirq") || !strcmp(name, "handle_softirqs"));
	return r->wakeup_frames[at].is_interrupt;
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

	if (!woken)
		return -ENOMEM;
	waker.thread = woken->number;
	waker.time_ns = i->woken_ns;
	for (size_t k = 0; k < record->n_kernel; k++) {
		if (is_interrupt(r, kernel[k]))
			return keep_interrupt(r, waker);
	}
	return recorder_keep(r, SERIES_WAIT_WAKER, WAKER_OF_THREAD(record->tid), waker);
}

int recorder_wait(struct recorder *r, const struct stackd_header *record,
		  const struct stackd_instance *i, const struct store_sample *row)
{
	bool is_in_fault = i->blocked_ns && is_in_page_fault(r, record);
	char reason[WAIT_REASON_MAX];
	int err = 0;

	if (i->blocked_ns)
		err = keep_part(r, SERIES_WAIT_BLOCKED, weight_of(i->blocked_ns, i->mean_ns),
				wait_reason_blocked(i, is_in_fault, reason), *row);
	if (!err && i->blocked_ns && i->waker == STACKD_WAKER_INTERRUPT)
		err = keep_interrupt(r, *row);
	if (!err && i->runnable_ns)
		err = keep_part(r, SERIES_WAIT_RUNNABLE, weight_of(i->runnable_ns, i->mean_ns),
				wait_reason_runnable(i), *row);
	return err;
}
