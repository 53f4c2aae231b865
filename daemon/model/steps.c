/* SPDX-License-Identifier: MIT */
/*
 * Keeps verdicts on pairs of caller and callee; see steps.h.
 *
 * In the environment, STACKD_DEBUG prints the wrong ones. STACKD_CHECK_STEPS has the steps of
 * unwind information checked as well, which are right: tests measure by it how often the check is
 * not.
 */
#include "daemon/model/steps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/int_map.h"
#include "lbr/lbr_step.h"

struct steps {
	const struct object_table *objects;
	const struct location_table *locations;
	struct ask_walks *worker;  /* NULL: code is read here */
	struct runtime_code *code; /* NULL: code without a file is not checked */
	steps_bare_fn *bare;
	void *bare_arg;
	struct lbr_reach *reach; /* NULL until a step is to be checked */
	struct int_map pairs;	 /* caller << 32 | callee, locations: enum lbr_step */
	struct int_map doubted; /* so, wrong ones of code made at run time: the tick of the check */
	uint32_t ticks;
	uint64_t counts[LBR_STEP_COUNT], postponed;
	uint64_t (*clock)(void);
	int64_t credit_ns;
	bool checks_all; /* also the steps of unwind information */
};

static uint64_t thread_clock(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

int steps_new(const struct object_table *objects, const struct location_table *locations,
	      uint64_t (*clock)(void), struct steps **ret_steps)
{
	struct steps *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->objects = objects;
	s->locations = locations;
	s->clock = clock ? clock : thread_clock;
	s->credit_ns = STEPS_SAVED_NS;
	s->checks_all = getenv("STACKD_CHECK_STEPS") != NULL;
	*ret_steps = s;
	return 0;
}

void steps_free(struct steps *s)
{
	if (!s)
		return;
	lbr_reach_free(s->reach);
	int_map_fini(&s->pairs);
	int_map_fini(&s->doubted);
	free(s);
}

void steps_use_code(struct steps *s, struct runtime_code *code, steps_bare_fn *bare, void *arg)
{
	s->code = code;
	s->bare = bare;
	s->bare_arg = arg;
}

void steps_use_worker(struct steps *s, struct ask_walks *walks)
{
	s->worker = walks;
}

void steps_begin_anew(struct steps *s)
{
	int_map_fini(&s->pairs);
	int_map_fini(&s->doubted);
}

void steps_tick(struct steps *s)
{
	s->ticks++;
}

/* --- pairs ----------------------------------------------------------------------------------- */

/* The code of a location. That which a process has made is in its memory. */
static struct lbr_location code_at(const struct steps *s, uint32_t number)
{
	const struct location *l = location_at(s->locations, number);
	const struct object *object = object_table_at(s->objects, l->object), *code = NULL;

	if (object->kind == OBJECT_JIT && s->code)
		code = runtime_code_at(s->code, object->owner.pid, l->offset);
	return (struct lbr_location){code ? code : object, l->offset};
}

static const struct object *object_of(const struct steps *s, const struct location *l)
{
	return object_table_at(s->objects, l->object);
}

static void show_wrong(const struct steps *s, uint32_t caller, uint32_t callee)
{
	const struct location *from = location_at(s->locations, caller);
	const struct location *to = location_at(s->locations, callee);

	if (getenv("STACKD_DEBUG"))
		fprintf(stderr, "wrong step: %s+0x%llx is no caller of %s+0x%llx\n",
			object_of(s, from)->path, (unsigned long long)from->offset + 1,
			object_of(s, to)->path, (unsigned long long)to->offset);
}

/* Whether a frame pointer was followed out of code of a process. */
static bool may_be_bare(const struct steps *s, const struct location *callee)
{
	return s->code && object_of(s, callee)->kind == OBJECT_JIT &&
	       callee->provenance == PROVENANCE_FRAME_POINTER;
}

static enum lbr_step check_here(const struct steps *s, uint32_t caller, uint32_t callee,
				bool is_entry, bool *ret_is_bare)
{
	const struct location *l = location_at(s->locations, callee);
	struct lbr_step_pair pair = {.is_entry = is_entry};

	*ret_is_bare =
		may_be_bare(s, l) &&
		runtime_code_is_bare(s->code, object_of(s, l)->owner.pid, l->offset, l->is_return);
	if (*ret_is_bare)
		return LBR_STEP_WRONG;
	pair.caller = code_at(s, caller);
	pair.callee = code_at(s, callee);
	return lbr_step_check(s->reach, &pair);
}

static enum lbr_step check_there(const struct steps *s, uint32_t caller, uint32_t callee,
				 bool is_entry, bool *ret_is_bare)
{
	const struct location *from = location_at(s->locations, caller);
	const struct location *to = location_at(s->locations, callee);
	const struct ask_walks_step step = {
		.caller = object_of(s, from),
		.callee = object_of(s, to),
		.caller_offset = from->offset,
		.callee_offset = to->offset,
		.is_entry = is_entry,
		.may_be_bare = may_be_bare(s, to),
		.callee_is_return = to->is_return,
	};

	return ask_walks_check(s->worker, &step, ret_is_bare);
}

/* A process that is known to keep no frame pointers is left to the daemon. */
static enum lbr_step check(const struct steps *s, uint32_t caller, uint32_t callee, bool is_entry)
{
	bool is_bare;
	enum lbr_step verdict = s->worker ? check_there(s, caller, callee, is_entry, &is_bare)
					  : check_here(s, caller, callee, is_entry, &is_bare);

	if (is_bare)
		s->bare(s->bare_arg, object_of(s, location_at(s->locations, callee))->owner.pid);
	if (verdict == LBR_STEP_WRONG)
		show_wrong(s, caller, callee);
	return verdict;
}

static uint64_t spent_ns(const struct steps *s)
{
	return s->clock() + (s->worker ? ask_walks_cpu_ns(s->worker) : 0);
}

static bool is_runtime_code(const struct steps *s, uint32_t number)
{
	const struct location *l = location_at(s->locations, number);

	return object_table_at(s->objects, l->object)->kind == OBJECT_JIT;
}

/* Keeps a verdict; one on code that may yet be written, until the next tick. 0 or -ENOMEM. */
static int keep(struct steps *s, uint32_t caller, uint32_t callee, uint32_t verdict)
{
	uint64_t pair = (uint64_t)caller << 32 | callee;

	if (verdict == LBR_STEP_WRONG && (is_runtime_code(s, caller) || is_runtime_code(s, callee)))
		return int_map_set(&s->doubted, pair, s->ticks);
	return int_map_set(&s->pairs, pair, verdict);
}

/* Checks a pair that has no verdict, or that was `was_wrong` in an earlier tick, if there is time
 * for it. 0 or -ENOMEM. */
static int judge(struct steps *s, uint32_t caller, uint32_t callee, bool is_entry, bool was_wrong,
		 uint32_t *ret_verdict)
{
	int err = s->reach ? 0 : lbr_reach_new(&s->reach);
	uint64_t start;

	*ret_verdict = was_wrong ? LBR_STEP_WRONG : LBR_STEP_UNCHECKED;
	if (!err && s->credit_ns <= 0)
		s->postponed++;
	if (err || s->credit_ns <= 0)
		return err;
	start = spent_ns(s);
	*ret_verdict = check(s, caller, callee, is_entry);
	s->credit_ns -= (int64_t)(spent_ns(s) - start);
	s->counts[LBR_STEP_WRONG] -= was_wrong;
	s->counts[*ret_verdict]++;
	return keep(s, caller, callee, *ret_verdict);
}

static int verdict_on(struct steps *s, uint32_t caller, uint32_t callee, bool is_entry,
		      uint32_t *ret_verdict)
{
	uint64_t pair = (uint64_t)caller << 32 | callee;
	uint32_t tick;

	*ret_verdict = int_map_find(&s->pairs, pair);
	if (*ret_verdict != INT_MAP_NONE)
		return 0;
	tick = int_map_find(&s->doubted, pair);
	if (tick != INT_MAP_NONE && tick == s->ticks) {
		*ret_verdict = LBR_STEP_WRONG;
		return 0;
	}
	return judge(s, caller, callee, is_entry, tick != INT_MAP_NONE, ret_verdict);
}

/* --- paths ----------------------------------------------------------------------------------- */

/* Whether the caller of a frame was found by a weak rule. A frame that was interrupted made no
 * call. */
static bool is_to_be_checked(const struct steps *s, uint32_t caller, uint32_t callee)
{
	uint8_t provenance = location_at(s->locations, callee)->provenance;

	return (provenance_is_weak(provenance) ||
		(s->checks_all && provenance == PROVENANCE_CFI)) &&
	       location_at(s->locations, caller)->is_return;
}

/* The frames that the thread's last path had were checked with it, but where the wrong step was is
 * not kept: paths with weak rules are looked through again. */
int steps_check(struct steps *s, struct path *path, bool is_complete)
{
	size_t first = path->is_weak || !path->kept ? 1 : path->kept;
	uint32_t verdict;
	int err;

	path->cut = 0;
	s->credit_ns += s->credit_ns < STEPS_SAVED_NS ? STEPS_EARNED_NS : 0;
	for (size_t i = first; i < path->count; i++) {
		uint32_t caller = path->locations[i - 1], callee = path->locations[i];

		if (!is_to_be_checked(s, caller, callee))
			continue;
		path->is_weak = true;
		err = verdict_on(s, caller, callee, is_complete && i == 1, &verdict);
		if (err)
			return err;
		if (verdict == LBR_STEP_WRONG)
			path->cut = i;
	}
	return 0;
}

struct steps_counts steps_counts(const struct steps *s)
{
	return (struct steps_counts){
		.unchecked = s->counts[LBR_STEP_UNCHECKED],
		.confirmed = s->counts[LBR_STEP_CONFIRMED],
		.probable = s->counts[LBR_STEP_PROBABLE],
		.wrong = s->counts[LBR_STEP_WRONG],
		.postponed = s->postponed,
	};
}
