/* SPDX-License-Identifier: MIT */
/* Keeps a struct dwarf_walk, the JIT code of processes, and what checks of steps need; see
 * walks_in_process.h. */
#include "daemon/worker/walks_in_process.h"

#include <errno.h>
#include <stdlib.h>

#include "callflow/callflow_noreturn.h"

struct here {
	struct walks walks;
	struct dwarf_walk *walk;
	struct runtime_code *code;
	struct callflow_reach *reach;
};

static struct here *here_of(const struct walks *walks)
{
	return (struct here *)(uintptr_t)walks;
}

static void free_here(struct walks *walks)
{
	struct here *h = here_of(walks);

	dwarf_walk_free(h->walk);
	runtime_code_free(h->code);
	callflow_reach_free(h->reach);
	free(h);
}

static void tick(struct walks *walks)
{
	dwarf_walk_trim(here_of(walks)->walk);
	runtime_code_tick(here_of(walks)->code);
}

static void get_stats(const struct walks *walks, struct dwarf_walk_stats *ret_stats)
{
	dwarf_walk_get_stats(here_of(walks)->walk, ret_stats);
}

static uint64_t no_cpu_ns(const struct walks *walks)
{
	(void)walks;
	return 0;
}

static enum stackd_end_reason stack(struct walks *walks, const void *key,
				    const struct walk_input *in, struct walk_frame *frames,
				    size_t max_frames, size_t *ret_count)
{
	(void)key;
	return dwarf_walk_stack(here_of(walks)->walk, in, frames, max_frames, ret_count);
}

/* --- steps ----------------------------------------------------------------------------------- */

/* If the location is in JIT code, reads the code again, so that rules from old bytes are not used
 * if the process has changed it. */
static void catch_up(const struct here *h, const struct object *object, uint64_t offset)
{
	if (object->kind == OBJECT_JIT)
		runtime_code_has_changed(h->code, object->owner.pid, offset);
}

/* Returns a location as lib/code/callflow needs it: in the object's file or, for JIT code, in a
 * copy of the process's memory. */
static struct callflow_location code_at(const struct here *h, const struct object *object,
					uint64_t offset)
{
	const struct object *code = NULL;

	if (object->kind == OBJECT_JIT)
		code = runtime_code_at(h->code, object->owner.pid, offset);
	return (struct callflow_location){code ? code : object, offset};
}

/* Answers the questions about a caller alone. */
static void ask_caller(const struct here *h, const struct walks_step *step,
		       struct walks_verdict *ret_verdict)
{
	const struct object *caller = step->caller;
	uint64_t start, end;

	if (caller->kind != OBJECT_ELF || !caller->elf)
		return;
	if (step->question == WALKS_NORETURN) {
		ret_verdict->is_noreturn = callflow_noreturn_is(caller->elf, step->caller_offset);
		return;
	}
	if (!dwarf_walk_function(h->walk, caller, step->caller_offset, &start, &end))
		start = end = 0;
	if (step->question == WALKS_SWITCHES)
		ret_verdict->switches = callflow_root_switches(
			caller->elf, start, step->caller_offset + step->callee_is_return);
	else
		ret_verdict->root = callflow_root_of(caller->elf, start, end);
}

/* Returns whether call frame information says that a return address is in the function of the call,
 * so that no other one begins there. */
static bool is_inside(const struct here *h, const struct object *object, uint64_t offset)
{
	uint64_t start, end;

	return object->kind == OBJECT_ELF && object->elf &&
	       dwarf_walk_function(h->walk, object, offset + 1, &start, &end) && start <= offset;
}

/* Checks the first step only, because the caller measures the CPU time of each. */
static size_t check(struct walks *walks, const struct walks_step *step, size_t count,
		    uint64_t budget_ns, struct walks_verdict *ret_verdict)
{
	const struct here *h = here_of(walks);
	struct callflow_step_pair pair = {.is_entry = step->is_entry};

	(void)count;
	(void)budget_ns;
	*ret_verdict = (struct walks_verdict){.frame = RUNTIME_CODE_UNREAD};
	if (step->question != WALKS_CALLS) {
		ask_caller(h, step, ret_verdict);
		return 1;
	}
	if (step->may_be_bare)
		ret_verdict->frame =
			runtime_code_frame(h->code, step->callee->owner.pid, step->callee_offset,
					   step->callee_is_return);
	catch_up(h, step->callee, step->callee_offset);
	catch_up(h, step->caller, step->caller_offset);
	pair.callee = code_at(h, step->callee, step->callee_offset);
	pair.caller = code_at(h, step->caller, step->caller_offset);
	pair.is_doubted = step->is_doubted && !is_inside(h, step->caller, step->caller_offset);
	ret_verdict->step = callflow_step_check(h->reach, &pair);
	return 1;
}

/* --- prefetching, which does nothing
 * ------------------------------------------------------------ */

static bool prefetch(struct walks *walks, const void *key, const struct walk_input *in,
		     bool is_next)
{
	(void)walks;
	(void)key;
	(void)in;
	(void)is_next;
	return true;
}

static bool is_ready(struct walks *walks, const void *key)
{
	(void)walks;
	(void)key;
	return true;
}

static void drop(struct walks *walks, const void *key)
{
	(void)walks;
	(void)key;
}

static void go_on(struct walks *walks)
{
	(void)walks;
}

static int no_fd(const struct walks *walks)
{
	(void)walks;
	return -1;
}

static bool is_busy(const struct walks *walks)
{
	(void)walks;
	return false;
}

static size_t none_pending(const struct walks *walks)
{
	(void)walks;
	return 0;
}

/* --- all of them ------------------------------------------------------------------------------ */

static const struct walks_ops ops = {
	.free = free_here,
	.stack = stack,
	.check = check,
	.tick = tick,
	.get_stats = get_stats,
	.cpu_ns = no_cpu_ns,
	.can_prefetch = false,
	.prefetch = prefetch,
	.is_prefetched = is_ready,
	.is_made = is_ready,
	.drop = drop,
	.go_on = go_on,
	.poll_fd = no_fd,
	.is_busy = is_busy,
	.pending = none_pending,
};

int walks_in_process_new(const struct walks_in_process_options *options, struct walks **ret_walks)
{
	struct here *h = calloc(1, sizeof(*h));
	struct dwarf_walk_options walk = {.find_rule = options->find_rule, .rules = options->rules};
	int err;

	if (!h)
		return -ENOMEM;
	h->walks.ops = &ops;
	err = runtime_code_new(&options->code, &h->code);
	walk.code = h->code;
	if (!err)
		err = dwarf_walk_new(&walk, &h->walk);
	if (!err)
		err = callflow_reach_new(&h->reach);
	if (err) {
		free_here(&h->walks);
		return err;
	}
	*ret_walks = &h->walks;
	return 0;
}

struct dwarf_walk *walks_in_process_walk(const struct walks *walks)
{
	return here_of(walks)->walk;
}
