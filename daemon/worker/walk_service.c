/* SPDX-License-Identifier: MIT */
/*
 * Walks and checks of steps in a worker: lib/code/unwind's walk and lib/code/callflow's checks,
 * with mappings, rules and memory for which the worker asks stackd.
 *
 * The worker keeps the mappings of some processes under their version: it asks for them once until
 * they change, and not at all for a forked process, which has the same version.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/vec.h"
#include "daemon/worker/fault_injection.h"
#include "daemon/worker/service.h"
#include "daemon/worker/walk_wire.h"
#include "daemon/worker/walks_in_process.h"

#define MAX_SETS 32

/* A set of mappings, of one version. */
struct mappings {
	uint64_t version; /* 0: there are none */
	uint64_t used;	  /* number of the request that has used them last */
	struct buf bytes; /* struct walk_wire_mapping, by rising address */
};

struct walk_service {
	struct service *service;
	struct walks *walks;
	uint64_t n_requests;
	struct walk_wire_head head; /* head of the current request */
	struct mappings sets[MAX_SETS];
	struct walk_frame frames[DWARF_WALK_MAX_FRAMES];
};

/* --- what stackd is asked -------------------------------------------------------------------- */

/* Returns the set with a version, or else the least recently used set, which the caller
 * replaces. */
static struct mappings *set_of(struct walk_service *w, uint64_t version)
{
	struct mappings *oldest = w->sets;

	for (struct mappings *set = w->sets; set < w->sets + MAX_SETS; set++) {
		if (set->version == version)
			return set;
		if (set->used < oldest->used)
			oldest = set;
	}
	return oldest;
}

static int ask_mappings(struct walk_service *w, int32_t pid, struct mappings *set)
{
	struct buf_reader answer;
	int status;

	BUF_PUT(&w->service->question, pid);
	status = service_ask(w->service, WIRE_ASK_MAPPINGS, &answer, NULL);
	buf_clear(&set->bytes);
	if (!status)
		buf_put(&set->bytes, answer.at, buf_left(&answer));
	return set->bytes.failed ? -ENOMEM : status;
}

/* Returns the mappings of one of the request's processes; NULL: there are none. */
static const struct mappings *mappings_of(struct walk_service *w, int32_t pid)
{
	const uint64_t version = w->head.mappings[pid != w->head.pids[0]];
	struct mappings *set = version ? set_of(w, version) : NULL;

	if (!set)
		return NULL;
	if (set->version != version) {
		set->version = 0;
		if (ask_mappings(w, pid, set))
			return NULL;
		set->version = version;
	}
	set->used = w->n_requests;
	return set;
}

static const struct walk_wire_mapping *mapping_at(struct walk_service *w, int32_t pid,
						  uint64_t address)
{
	const struct mappings *set = mappings_of(w, pid);
	const struct walk_wire_mapping *maps = set ? (const void *)set->bytes.data : NULL;
	size_t low = 0, high = set ? set->bytes.len / sizeof(*maps) : 0;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (address >= maps[mid].end)
			low = mid + 1;
		else if (address < maps[mid].start)
			high = mid;
		else
			return &maps[mid];
	}
	return NULL;
}

static bool find(void *arg, uint64_t address, const struct object **ret_object,
		 uint64_t *ret_offset)
{
	struct walk_service *w = arg;
	const struct walk_wire_mapping *m = mapping_at(w, w->head.pids[0], address);

	if (!m)
		return false;
	*ret_object = service_object(w->service, m->object);
	*ret_offset = address - m->start + m->offset;
	if (*ret_object && (*ret_object)->elf)
		fault_at((*ret_object)->elf, FAULT_WALK);
	return *ret_object;
}

static int find_rule(void *arg, const struct object *object, uint64_t offset,
		     struct stackd_rule *ret_rule)
{
	struct walk_service *w = arg;
	const struct walk_wire_location question = {.offset = offset, .object = object->number};
	struct buf_reader answer;
	int status;

	BUF_PUT(&w->service->question, question);
	status = service_ask(w->service, WIRE_ASK_RULE, &answer, NULL);
	if (!status && !BUF_GET(&answer, *ret_rule))
		status = -EAGAIN;
	return status;
}

static size_t read_code(void *arg, pid_t pid, uint64_t address, uint64_t before, uint64_t after,
			uint8_t *bytes, uint64_t *ret_start)
{
	const struct walk_wire_address question = {
		.address = address, .before = before, .after = after, .pid = pid};
	struct walk_service *w = arg;
	struct buf_reader answer;
	size_t len;

	BUF_PUT(&w->service->question, question);
	if (service_ask(w->service, WIRE_ASK_CODE, &answer, NULL) || !BUF_GET(&answer, *ret_start))
		return 0;
	len = buf_left(&answer);
	if (len > before + after)
		return 0;
	buf_get(&answer, bytes, len);
	return len;
}

static bool code_window(void *arg, pid_t pid, const struct stackd_code_mark *mark,
			uint8_t *ret_bytes)
{
	const struct walk_wire_window question = {.mark = *mark, .pid = pid};
	struct walk_service *w = arg;
	struct buf_reader answer;

	BUF_PUT(&w->service->question, question);
	return !service_ask(w->service, WIRE_ASK_WINDOW, &answer, NULL) &&
	       buf_get(&answer, ret_bytes, STACKD_CODE_BYTES);
}

static uint64_t code_start(void *arg, pid_t pid, uint64_t address)
{
	struct walk_service *w = arg;
	const struct walk_wire_mapping *m = pid == w->head.pids[0] || pid == w->head.pids[1]
						    ? mapping_at(w, pid, address)
						    : NULL;

	return m ? m->start : 0;
}

/* --- state ----------------------------------------------------------------------------------- */

/* Makes `walks` at the first request, whose head says whether there are tables. */
static int make_walks(struct walk_service *w, const struct walk_wire_head *head)
{
	const struct walks_in_process_options options = {
		.code = {.read = read_code, .start = code_start, .window = code_window, .arg = w},
		.find_rule = head->has_rules ? find_rule : NULL,
		.rules = w,
	};

	return w->walks ? 0 : walks_in_process_new(&options, &w->walks);
}

/* Reads the head of a request, and drops what the worker keeps and is no longer valid by that head.
 * Returns the service; NULL: the head is invalid, or there is no memory, and stackd ends the
 * worker. */
static struct walk_service *begin(struct service *s, struct buf_reader *request)
{
	struct walk_service *w = s->walks ? s->walks : calloc(1, sizeof(*w));
	struct walk_wire_head head;

	s->walks = w;
	if (!w || !BUF_GET(request, head) || make_walks(w, &head))
		return NULL;
	w->service = s;
	w->n_requests++;
	if (head.ticks != w->head.ticks)
		walks_tick(w->walks);
	s->round += head.late_files != w->head.late_files;
	w->head = head;
	return w;
}

/* --- walks ----------------------------------------------------------------------------------- */

static void put_frames(const struct walk_frame *frames, size_t count, struct buf *reply)
{
	for (size_t i = 0; i < count; i++) {
		const struct walk_frame *f = &frames[i];
		const struct walk_wire_frame frame = {
			.address = f->address,
			.offset = f->offset,
			.slot = f->slot,
			.object = f->object ? f->object->number : WALK_WIRE_NO_OBJECT,
			.is_return = f->is_return,
			.is_guess = f->is_guess,
			.provenance = f->provenance,
			.root = f->root,
		};

		BUF_PUT(reply, frame);
	}
}

/* Aligned copies of the arrays that follow a walk's input in the request. */
struct walk_behind {
	uint64_t more_holes[STACKD_MAX_MORE_HOLES];
	struct stackd_code_mark code[STACKD_MAX_CODE];
};

/* Reads a walk's input, which refers to the request and to *behind. 0 or -EINVAL. */
static int read_input(struct buf_reader *request, struct walk_behind *behind, struct walk_input *in,
		      uint32_t *ret_max_frames)
{
	struct walk_wire_input wire;

	if (!BUF_GET(request, wire) || wire.more_holes > STACKD_MAX_MORE_HOLES ||
	    wire.code_count > STACKD_MAX_CODE ||
	    !buf_get(request, behind->more_holes, wire.more_holes * sizeof(*behind->more_holes)) ||
	    !buf_get(request, behind->code, wire.code_count * sizeof(*behind->code)))
		return -EINVAL;
	in->regs = wire.regs;
	in->stack_more_holes = behind->more_holes;
	in->n_stack_more_holes = wire.more_holes;
	in->has_code = wire.has_code;
	in->is_uncalled = wire.is_uncalled;
	in->has_words = wire.has_words;
	in->code = behind->code;
	in->code_count = wire.code_count;
	in->stack = request->at;
	in->stack_bytes = buf_left(request);
	in->stack_cut = wire.stack_cut;
	in->stack_end = wire.stack_end;
	in->stack_holes = wire.stack_holes;
	in->below = wire.below;
	in->leaf = (enum stackd_leaf)wire.leaf;
	in->known = wire.known;
	in->is_return = wire.is_return;
	in->stack_start = wire.stack_start;
	*ret_max_frames = wire.max_frames;
	return 0;
}

static int walk(struct walk_service *w, struct buf_reader *request, struct buf *reply)
{
	struct dwarf_walk_stats before, after;
	struct walk_wire_result result = {0};
	struct walk_input in = {.find = find, .arg = w, .pid = w->head.pids[0]};
	struct walk_behind behind;
	uint32_t max_frames;
	size_t count;

	if (read_input(request, &behind, &in, &max_frames))
		return -EINVAL;
	if (max_frames > DWARF_WALK_MAX_FRAMES)
		max_frames = DWARF_WALK_MAX_FRAMES;
	walks_get_stats(w->walks, &before);
	result.reason = walks_stack(w->walks, NULL, &in, w->frames, max_frames, &count);
	walks_get_stats(w->walks, &after);
	result.count = (uint32_t)count;
	result.frames = after.frames - before.frames;
	result.cache_hits = after.cache_hits - before.cache_hits;
	result.cache_misses = after.cache_misses - before.cache_misses;
	result.frame_pointer_steps = after.frame_pointer_steps - before.frame_pointer_steps;
	BUF_PUT(reply, result);
	put_frames(w->frames, count, reply);
	return 0;
}

/* --- steps ----------------------------------------------------------------------------------- */

static int check_step(struct walk_service *w, const struct walk_wire_step *wire,
		      struct walk_wire_verdict *ret_verdict)
{
	const struct walks_step step = {
		.caller = service_object(w->service, wire->caller),
		.callee = service_object(w->service, wire->callee),
		.caller_offset = wire->caller_offset,
		.callee_offset = wire->callee_offset,
		.is_entry = wire->is_entry,
		.may_be_bare = wire->may_be_bare,
		.is_doubted = wire->is_doubted,
		.callee_is_return = wire->is_return,
		.question = (enum walks_question)wire->question,
	};
	struct walks_verdict verdict;

	if (!step.caller || !step.callee)
		return -ENOMEM;
	walks_check(w->walks, &step, 1, 0, &verdict);
	*ret_verdict = (struct walk_wire_verdict){
		.step = (uint32_t)verdict.step,
		.frame = (uint32_t)verdict.frame,
		.root = (uint32_t)verdict.root,
		.switches = verdict.switches,
		.is_noreturn = verdict.is_noreturn,
	};
	return 0;
}

static int check_steps(struct walk_service *w, struct buf_reader *request, struct buf *reply)
{
	const uint64_t begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct walk_wire_verdict verdict;
	struct walk_wire_step step;
	uint64_t budget_ns;
	int err = 0;

	if (!BUF_GET(request, budget_ns))
		return -EINVAL;
	while (!err && BUF_GET(request, step)) {
		err = check_step(w, &step, &verdict);
		if (!err)
			BUF_PUT(reply, verdict);
		if (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns >= budget_ns)
			break;
	}
	return err;
}

int walk_service(struct service *s, enum wire_kind kind, struct buf_reader *request,
		 struct buf *reply)
{
	struct walk_service *w = begin(s, request);

	if (!w)
		return -ENOMEM;
	return kind == WIRE_WALK ? walk(w, request, reply) : check_steps(w, request, reply);
}

int walk_service_many(struct service *s, struct buf_reader *request, struct buf *reply)
{
	uint32_t len;

	while (BUF_GET(request, len) && len <= buf_left(request)) {
		struct buf_reader one = buf_reader(request->at, len);
		struct walk_service *w;
		int status;

		request->at += len;
		buf_clear(reply);
		service_begin_part(s);
		w = begin(s, &one);
		if (!w)
			return -ENOMEM;
		status = walk(w, &one, reply);
		service_part(s, status, reply);
	}
	buf_clear(reply);
	return 0;
}
