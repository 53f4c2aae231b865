/* SPDX-License-Identifier: MIT */
/* Counts calls; see call.h. */
#include "call.h"

#include <errno.h>

#include "bytes.h"
#include "clock.h"
#include "function.h"
#include "inside.h"
#include "path.h"
#include "region.h"

/* --- calls within a call ---------------------------------------------------------------------- */

/* If a call within another one tells that one's bytes, reads its arguments. */
static void enter_within(struct call *call)
{
	struct inside *inside = &table_of_thread.inside;
	const struct stackd_mpi_call *rule = &call->function->call;

	if (inside->function->call.kind != STACKD_MPI_WITHIN || inside->has_bytes ||
	    rule->kind == STACKD_MPI_WITHIN || rule->kind == STACKD_MPI_OTHER ||
	    rule->number != inside->function->call.number)
		return;
	call->tells_bytes = true;
	call->calls = table_of_thread.calls;
	call->path = inside->path;
	inside->has_bytes = true;
	bytes_enter(call);
}

/* Gives the bytes of a call to the call around it. */
static void leave_within(struct call *call, int result)
{
	const int err = errno;

	bytes_leave(call, result);
	bytes_await(call);
	table_of_thread.inside.sent = call->sent;
	table_of_thread.inside.received = call->received;
	errno = err;
}

/* --- paths that are not known ----------------------------------------------------------------- */

/* Sends these amounts with the call's path, which may be known from then on. */
static void send(struct call *call, uint32_t visits, uint64_t now, uint64_t cpu, uint64_t received)
{
	path_walk(call, (uintptr_t)call->function->next, 0,
		  (struct stackd_call_probe){
			  .visits = visits,
			  .wall_ns = visits ? now - call->begin_ns : 0,
			  .cpu_ns = visits ? cpu - call->begin_cpu : 0,
			  .ended_ns = now,
			  .sent = visits ? call->sent : 0,
			  .received = received,
		  });
}

/* Counts a call whose path is not known. Of a receive that is not complete, the bytes are counted
 * when it is, if the path is known by now; else, they are the size of the buffer. */
static __attribute__((noinline, cold)) void walk(struct call *call, uint64_t now, uint64_t cpu)
{
	bool is_later = bytes_are_later(call->function) && call->received != STACKD_MPI_NOT_KNOWN;

	send(call, 1, now, cpu, is_later ? 0 : call->received);
	if (!is_later || !call->received)
		return;
	if (!call->path)
		send(call, 0, now, cpu, call->received);
	call->sent = 0;
	bytes_await(call);
	if (call->path)
		bytes_add(call);
}

/* --- entry and return ------------------------------------------------------------------------- */

/* Begins to count a call. */
static void enter(struct call *call, struct stackd_calls *calls)
{
	call->calls = calls;
	call->path = path_find(call);
	call->sent = call->received = 0;
	/* The function within it has to know the path. */
	if (call->function->call.kind == STACKD_MPI_WITHIN && !call->path)
		send(call, 0, clock_of(CLOCK_MONOTONIC), 0, 0);
	table_of_thread.inside = (struct inside){
		.caller = *call->slot, .function = call->function, .path = call->path};
	calls->inside = (uintptr_t)call->slot;
	calls->inside_path = call->path ? (uint32_t)(call->path - calls->paths) + 1 : 0;
	if (call->function->call.kind != STACKD_MPI_OTHER)
		bytes_enter(call);
}

struct call_target call_enter(struct call *call)
{
	const int err = errno;
	const struct function *function = function_of(call->number);
	const struct call_target target = {function->next, function->n_stacked};
	struct stackd_calls *calls;

	call->calls = NULL;
	call->tells_bytes = false;
	call->function = function;
	if (__builtin_expect(!target.function, 0)) {
		errno = err;
		return function_missing(call);
	}
	calls = table_take();
	if (!calls)
		return target;
	if (function->frees_request)
		bytes_forget(call);
	if (inside_has(calls, call)) {
		enter_within(call);
		errno = err;
		return target;
	}
	enter(call, calls);
	errno = err;
	clock_take(calls, &call->begin_ns, &call->begin_cpu);
	region_suspend(calls, call->begin_ns, call->begin_cpu);
	calls->inside_ns = call->begin_ns;
	calls->inside_cpu = call->begin_cpu;
	return target;
}

/* Adds an ended call to the sums of its path. */
static void add(struct call *call, uint64_t now, uint64_t cpu)
{
	struct stackd_call_path *path = call->path;

	path->visits++;
	path->wall_ns += now - call->begin_ns;
	path->cpu_ns += cpu - call->begin_cpu;
	if (!(call->sent | call->received))
		return;
	bytes_await(call);
	bytes_add(call);
}

void call_leave(struct call *call, int result)
{
	struct stackd_calls *calls = call->calls;
	uint64_t now, cpu;
	int err;

	if (!calls)
		return;
	if (call->tells_bytes) {
		leave_within(call, result);
		return;
	}
	clock_take(calls, &now, &cpu);
	err = errno;
	if (cpu < call->begin_cpu)
		cpu = call->begin_cpu;
	calls->measured_cpu += cpu - call->begin_cpu;
	if (table_of_thread.inside.has_bytes) {
		call->sent = table_of_thread.inside.sent;
		call->received = table_of_thread.inside.received;
	} else if (call->function->call.kind != STACKD_MPI_OTHER) {
		bytes_leave(call, result);
	}
	/* A call that lasts over the end of a window has a path of the window before. */
	if (__builtin_expect(call->path && path_is_of(call->path, calls), 1))
		add(call, now, cpu);
	else
		walk(call, now, cpu);
	__atomic_signal_fence(__ATOMIC_RELEASE); /* for a sample of this thread */
	calls->inside = 0;
	region_resume(calls, now, cpu);
	errno = err;
}
