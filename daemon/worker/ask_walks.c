/* SPDX-License-Identifier: MIT */
/*
 * Asks the worker, answers its questions, and checks its replies; see ask_walks.h.
 *
 * A walk is repeated when a worker has failed in it, since the next worker walks without the
 * refused file; at most ASK_WALKS_TRIES times, so that a stack with many files at which workers
 * fail does not hold up the loop.
 */
#include "daemon/worker/ask_walks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "daemon/worker/walk_wire.h"
#include "daemon/worker/wire.h"

#define MAX_CODE_BYTES RUNTIME_CODE_BYTES

struct ask_walks {
	struct ask_walks_options with;
	uint32_t ticks;
	struct dwarf_walk_stats stats;
	struct buf request, reply;
	uint8_t code[MAX_CODE_BYTES];
};

struct call {
	struct ask_walks *walks;
	struct walk_wire_head head;
};

int ask_walks_new(const struct ask_walks_options *options, struct ask_walks **ret_walks)
{
	struct ask_walks *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->with = *options;
	*ret_walks = w;
	return 0;
}

void ask_walks_free(struct ask_walks *w)
{
	if (!w)
		return;
	buf_free(&w->request);
	buf_free(&w->reply);
	free(w);
}

void ask_walks_tick(struct ask_walks *w)
{
	w->ticks++;
}

void ask_walks_get_stats(const struct ask_walks *w, struct dwarf_walk_stats *ret_stats)
{
	*ret_stats = w->stats;
}

const struct object_table *ask_walks_objects(const struct ask_walks *w)
{
	return w->with.objects;
}

uint64_t ask_walks_cpu_ns(const struct ask_walks *w)
{
	return worker_cpu_ns(w->with.worker);
}

/* --- what the worker asks -------------------------------------------------------------------- */

static const struct object *object_of(const struct ask_walks *w, uint32_t number)
{
	return number < object_table_count(w->with.objects)
		       ? object_table_at(w->with.objects, number)
		       : NULL;
}

static int answer_object(struct ask_walks *w, struct buf_reader *question, struct buf *answer,
			 int *ret_fd)
{
	const struct object *object;
	uint32_t number;

	if (!BUF_GET(question, number) || !(object = object_of(w, number)))
		return -ENOENT;
	return worker_answer_object(w->with.worker, object, answer, ret_fd);
}

static int answer_rule(struct ask_walks *w, struct buf_reader *question, struct buf *answer)
{
	struct walk_wire_location at;
	const struct object *object;
	struct stackd_rule rule;
	int err;

	if (!BUF_GET(question, at) || !(object = object_of(w, at.object)) || !w->with.find_rule)
		return -ENOENT;
	err = w->with.find_rule(w->with.rules, object, at.offset, &rule);
	if (!err)
		BUF_PUT(answer, rule);
	return err == -ENOMEM ? -EAGAIN : err;
}

/* Sends the mappings of a process to the worker, which keeps them under their version. If they have
 * changed since the request, as those of a prefetched walk may have, the worker gets none, and the
 * result of the walk will not be used. */
static int answer_mappings(const struct ask_walks *w, pid_t pid, uint64_t version,
			   struct buf *answer)
{
	const struct mapping_set *set = w->with.mappings_of(w->with.processes, pid);

	if (!set || set->version != version)
		return -ENOENT;
	for (uint32_t i = 0; i < set->count; i++) {
		const struct mapping *map = &set->maps[i];
		const struct walk_wire_mapping m = {.start = map->start,
						    .end = map->end,
						    .offset = map->offset,
						    .object = map->object->number};

		BUF_PUT(answer, m);
	}
	return 0;
}

static int answer_code(struct ask_walks *w, const struct walk_wire_address *at, struct buf *answer)
{
	uint64_t start = 0;
	size_t len;

	if (at->before > MAX_CODE_BYTES || at->after > MAX_CODE_BYTES - at->before)
		return -EINVAL;
	len = w->with.read_code(w->with.code, at->pid, at->address, at->before, at->after, w->code,
				&start);
	BUF_PUT(answer, start);
	buf_put(answer, w->code, len);
	return len ? 0 : -ENOENT;
}

static int answer_window(const struct ask_walks *w, const struct walk_wire_window *at,
			 struct buf *answer)
{
	uint8_t bytes[STACKD_CODE_BYTES];

	if (!w->with.window || !w->with.window(w->with.code, at->pid, &at->mark, bytes))
		return -ENOENT;
	buf_put(answer, bytes, sizeof(bytes));
	return 0;
}

/* Returns whether the request is about a process. A worker may ask about no other process. */
static bool is_asked_about(const struct walk_wire_head *head, pid_t pid)
{
	return pid > 0 && (pid == head->pids[0] || pid == head->pids[1]);
}

static int answer_of_process(struct ask_walks *w, const struct walk_wire_head *head, uint32_t kind,
			     struct buf_reader *question, struct buf *answer)
{
	struct walk_wire_window window;
	struct walk_wire_address at;
	int32_t pid;

	if (kind == WIRE_ASK_WINDOW)
		return BUF_GET(question, window) && is_asked_about(head, window.pid)
			       ? answer_window(w, &window, answer)
			       : -EPERM;
	if (kind == WIRE_ASK_MAPPINGS)
		return BUF_GET(question, pid) && is_asked_about(head, pid)
			       ? answer_mappings(w, pid, head->mappings[pid != head->pids[0]],
						 answer)
			       : -EPERM;
	return BUF_GET(question, at) && is_asked_about(head, at.pid) ? answer_code(w, &at, answer)
								     : -EPERM;
}

int ask_walks_answer(struct ask_walks *w, const struct walk_wire_head *head, uint32_t kind,
		     struct buf_reader *question, struct buf *answer, int *ret_fd)
{
	switch (kind) {
	case WIRE_ASK_OBJECT:
		return answer_object(w, question, answer, ret_fd);
	case WIRE_ASK_RULE:
		return answer_rule(w, question, answer);
	case WIRE_ASK_MAPPINGS:
	case WIRE_ASK_CODE:
	case WIRE_ASK_WINDOW:
		return answer_of_process(w, head, kind, question, answer);
	default:
		return -EPERM;
	}
}

static int answer(void *arg, uint32_t kind, struct buf_reader *question, struct buf *ret_answer,
		  int *ret_fd, bool *ret_is_owned)
{
	const struct call *call = arg;

	*ret_is_owned = true;
	return ask_walks_answer(call->walks, &call->head, kind, question, ret_answer, ret_fd);
}

uint64_t ask_walks_version(const struct ask_walks *w, pid_t pid)
{
	const struct mapping_set *set =
		pid > 0 ? w->with.mappings_of(w->with.processes, pid) : NULL;

	return set ? set->version : 0;
}

static struct walk_wire_head head_of(const struct ask_walks *w, pid_t pid, pid_t other)
{
	struct walk_wire_head head = {.pids = {pid, other},
				      .ticks = w->ticks,
				      .late_files = object_table_late_files(w->with.objects),
				      .has_rules = w->with.find_rule != NULL};

	for (int i = 0; i < 2; i++)
		head.mappings[i] = ask_walks_version(w, head.pids[i]);
	return head;
}

static struct worker_call call_of(struct call *call, uint32_t kind)
{
	return (struct worker_call){.kind = kind,
				    .fd = -1,
				    .objects = call->walks->with.objects,
				    .answer = answer,
				    .arg = call};
}

/* --- walks ----------------------------------------------------------------------------------- */

static bool take_frame(const struct ask_walks *w, const struct walk_wire_frame *wire,
		       struct walk_frame *ret_frame)
{
	const struct object *object = NULL;

	if (wire->object != WALK_WIRE_NO_OBJECT && !(object = object_of(w, wire->object)))
		return false;
	if (wire->is_return > 1 || wire->is_guess > 1 || wire->provenance >= PROVENANCE_COUNT ||
	    wire->root > STACKD_ROOT_CROSSED)
		return false;
	*ret_frame = (struct walk_frame){
		.address = wire->address,
		.object = object,
		.offset = wire->offset,
		.slot = wire->slot,
		.is_return = wire->is_return,
		.is_guess = wire->is_guess,
		.provenance = wire->provenance,
		.root = wire->root,
	};
	return true;
}

int ask_walks_get(struct ask_walks *w, struct buf_reader *reply, struct walk_frame *frames,
		  size_t max_frames, size_t *ret_count, enum stackd_end_reason *ret_reason)
{
	struct walk_wire_result result;

	if (!BUF_GET(reply, result) || !result.count || result.count > max_frames ||
	    result.reason >= STACKD_END_COUNT)
		return -EBADMSG;
	for (uint32_t i = 0; i < result.count; i++) {
		struct walk_wire_frame wire;

		if (!BUF_GET(reply, wire) || !take_frame(w, &wire, &frames[i]))
			return -EBADMSG;
	}
	w->stats.frames += result.frames;
	w->stats.cache_hits += result.cache_hits;
	w->stats.cache_misses += result.cache_misses;
	w->stats.frame_pointer_steps += result.frame_pointer_steps;
	*ret_count = result.count;
	*ret_reason = (enum stackd_end_reason)result.reason;
	return 0;
}

enum stackd_end_reason ask_walks_leaf(const struct ask_walks *w, const struct walk_input *in,
				      struct walk_frame *frames, size_t *ret_count)
{
	const uint64_t pc = in->regs.r[STACKD_REG_PC], at = pc - in->is_return;
	const struct mapping *map;
	uint32_t hint = 0;

	*ret_count = 1;
	frames[0] = (struct walk_frame){.address = pc, .offset = pc, .is_return = in->is_return};
	map = mapping_set_find(w->with.mappings_of(w->with.processes, in->pid), at, &hint);
	if (!map)
		return STACKD_END_NO_MAPPING;
	frames[0].object = map->object;
	frames[0].offset = at - map->start + map->offset;
	return STACKD_END_NO_OBJECT;
}

void ask_walks_put(struct ask_walks *w, const struct walk_input *in, size_t max_frames,
		   struct buf *request, struct walk_wire_head *ret_head)
{
	const struct walk_wire_input wire = {.regs = in->regs,
					     .stack_start = in->stack_start,
					     .stack_end = in->stack_end,
					     .stack_holes = in->stack_holes,
					     .below = in->below,
					     .known = in->known,
					     .leaf = in->leaf,
					     .max_frames = (uint32_t)max_frames,
					     .stack_cut = in->stack_cut,
					     .is_return = in->is_return,
					     .code_count = (uint32_t)in->code_count,
					     .more_holes = (uint32_t)in->n_stack_more_holes,
					     .has_code = in->has_code,
					     .is_uncalled = in->is_uncalled,
					     .has_words = in->has_words};

	*ret_head = head_of(w, in->pid, 0);
	BUF_PUT(request, *ret_head);
	BUF_PUT(request, wire);
	if (in->n_stack_more_holes)
		buf_put(request, in->stack_more_holes, in->n_stack_more_holes * sizeof(uint64_t));
	if (in->code_count)
		buf_put(request, in->code, in->code_count * sizeof(*in->code));
	buf_put(request, in->stack, in->stack_bytes);
}

enum stackd_end_reason ask_walks_stack(struct ask_walks *w, const struct walk_input *in,
				       struct walk_frame *frames, size_t max_frames,
				       size_t *ret_count)
{
	struct call call = {.walks = w};
	const struct worker_call request = call_of(&call, WIRE_WALK);
	enum stackd_end_reason reason = STACKD_END_NO_OBJECT;
	int err = -EOWNERDEAD;

	buf_clear(&w->request);
	ask_walks_put(w, in, max_frames, &w->request, &call.head);
	for (int i = 0; i < ASK_WALKS_TRIES && err == -EOWNERDEAD; i++) {
		err = worker_call(w->with.worker, &request, &w->request, &w->reply);
		if (!err) {
			struct buf_reader reply = buf_reader(w->reply.data, w->reply.len);

			err = ask_walks_get(w, &reply, frames, max_frames, ret_count, &reason);
		}
		if (err == -EBADMSG)
			err = worker_refuse_reply(w->with.worker, &request);
	}
	if (!err)
		return reason;
	reason = ask_walks_leaf(w, in, frames, ret_count);
	return err == -EDQUOT && reason == STACKD_END_NO_OBJECT ? STACKD_END_NO_TIME : reason;
}

/* --- steps ----------------------------------------------------------------------------------- */

static void put_step(const struct walks_step *step, struct buf *request)
{
	const struct walk_wire_step wire = {.caller_offset = step->caller_offset,
					    .callee_offset = step->callee_offset,
					    .caller = step->caller->number,
					    .callee = step->callee->number,
					    .is_entry = step->is_entry,
					    .may_be_bare = step->may_be_bare,
					    .is_doubted = step->is_doubted,
					    .is_return = step->callee_is_return,
					    .question = (uint8_t)step->question};

	BUF_PUT(request, wire);
}

static bool get_verdict(struct buf_reader *reply, struct walks_verdict *ret_verdict)
{
	struct walk_wire_verdict wire;

	if (!BUF_GET(reply, wire) || wire.step >= CALLFLOW_STEP_COUNT ||
	    wire.frame > RUNTIME_CODE_BARE || wire.root >= CALLFLOW_ROOT_COUNT ||
	    wire.switches > 1 || wire.is_noreturn > 1)
		return false;
	*ret_verdict = (struct walks_verdict){
		.step = (enum callflow_step)wire.step,
		.frame = (enum runtime_code_frame)wire.frame,
		.root = (enum callflow_root)wire.root,
		.switches = wire.switches,
		.is_noreturn = wire.is_noreturn,
	};
	return true;
}

/* Returns the process whose JIT code a step involves; 0: none. */
static pid_t owner_of(const struct walks_step *step)
{
	return step->callee->owner.pid ? step->callee->owner.pid : step->caller->owner.pid;
}

/* Returns how many steps have a verdict; 0: the worker has failed. */
static size_t check_all(struct ask_walks *w, const struct walks_step *steps, size_t count,
			uint64_t budget_ns, struct walks_verdict *ret_verdicts)
{
	struct call call = {.walks = w};
	const struct worker_call request = call_of(&call, WIRE_STEP);
	struct buf_reader reply;
	size_t n = 0;
	pid_t pid = 0;

	for (size_t i = 0; i < count && !pid; i++)
		pid = owner_of(&steps[i]);
	call.head = head_of(w, pid, 0);
	buf_clear(&w->request);
	BUF_PUT(&w->request, call.head);
	BUF_PUT(&w->request, budget_ns);
	for (size_t i = 0; i < count; i++)
		put_step(&steps[i], &w->request);
	if (worker_call(w->with.worker, &request, &w->request, &w->reply))
		return 0;
	reply = buf_reader(w->reply.data, w->reply.len);
	while (n < count && get_verdict(&reply, &ret_verdicts[n]))
		n++;
	if (!n || buf_left(&reply))
		worker_refuse_reply(w->with.worker, &request);
	return n;
}

/* If the worker fails at one of several steps, this asks again about the first step alone, so that
 * in the end only the step at which the worker fails stays without a verdict. */
size_t ask_walks_check(struct ask_walks *w, const struct walks_step *steps, size_t count,
		       uint64_t budget_ns, struct walks_verdict *ret_verdicts)
{
	size_t n = check_all(w, steps, count, budget_ns, ret_verdicts);

	if (!n && count > 1)
		n = check_all(w, steps, 1, budget_ns, ret_verdicts);
	if (n)
		return n;
	ret_verdicts[0] = (struct walks_verdict){.step = CALLFLOW_STEP_UNCHECKED,
						 .frame = RUNTIME_CODE_UNREAD,
						 .is_unanswered = true};
	return 1;
}
