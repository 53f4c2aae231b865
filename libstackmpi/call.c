/* SPDX-License-Identifier: MIT */
/* Counts calls; see call.h. */
#include "call.h"

#include <errno.h>
#include <string.h>

#include "bytes.h"
#include "clock.h"
#include "function.h"
#include "path.h"
#include "table.h"

/* --- a call that was left --------------------------------------------------------------------- */

/* Counts a call that an exception or longjmp() has left: until now, since nothing else says when.
 */
static void count_left(struct stackd_calls *calls)
{
	struct stackd_call_path *path;
	uint64_t now, cpu;

	if (!calls->inside_path || calls->inside_path > STACKD_CALL_PATHS)
		return;
	clock_take(calls, &now, &cpu);
	path = &calls->paths[calls->inside_path - 1];
	path->visits++;
	path->wall_ns += now - calls->inside_ns;
	path->cpu_ns += cpu > calls->inside_cpu ? cpu - calls->inside_cpu : 0;
	calls->measured_cpu += cpu > calls->inside_cpu ? cpu - calls->inside_cpu : 0;
}

#define SAME_STACK (256u << 10) /* bytes within which two addresses are on one stack */

/* Returns whether the call in which the thread is was left: another call is at its place on the
 * stack, or has written over its return address. */
static bool is_left(const struct stackd_calls *calls, const struct call *call)
{
	uint64_t inside = calls->inside, slot = (uintptr_t)call->slot;

	return slot >= inside ||
	       (inside - slot < SAME_STACK &&
		*(const volatile uint64_t *)(uintptr_t)inside != table_of_thread.inside.caller);
}

/* Returns whether a call is a part of another one, which the thread is in. */
static bool is_within(struct stackd_calls *calls, const struct call *call)
{
	if (__builtin_expect(!calls->inside, 1))
		return false;
	if (!is_left(calls, call))
		return true;
	count_left(calls);
	calls->inside = 0;
	return false;
}

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

/* Lets the kernel half walk the stack: it sends these amounts with the call's path and, if the path
 * can be known again, gives that to this library. */
static void send(struct call *call, uint32_t visits, uint64_t now, uint64_t cpu, uint64_t received)
{
	struct stackd_call_probe probe = {.kind = STACKD_CALL_ENDED,
					  .table = table_of_thread.number,
					  .path = path_index(call),
					  .visits = visits,
					  .function = (uintptr_t)call->function->next,
					  .slot = (uintptr_t)call->slot,
					  .wall_ns = visits ? now - call->begin_ns : 0,
					  .cpu_ns = visits ? cpu - call->begin_cpu : 0,
					  .ended_ns = now,
					  .sent = visits ? call->sent : 0,
					  .received = received};

	memcpy(probe.kept, call->kept, sizeof(probe.kept));
	call_probe(&probe);
	call->path = path_take(call, probe.path);
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
	if (is_within(calls, call)) {
		enter_within(call);
		errno = err;
		return target;
	}
	enter(call, calls);
	errno = err;
	clock_take(calls, &call->begin_ns, &call->begin_cpu);
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
	errno = err;
}
