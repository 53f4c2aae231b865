/* SPDX-License-Identifier: MIT */
/*
 * Keeps verdicts on pairs of caller and callee; see caller_check.h.
 *
 * If STACKD_DEBUG is in the environment, wrong steps are printed. If STACKD_CHECK_STEPS is, steps
 * by unwind information are checked, too. These are right, so tests measure by them how often the
 * check errs.
 */
#include "daemon/recorder/caller_check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/int_map.h"
#include "callflow/callflow_step.h"
#include "daemon/recorder/noreturn_check.h"

#define MOST_ASKED 32 /* steps that are checked at a time, if a worker does it */

struct asked {
	struct step {
		size_t at;		 /* the callee's place in the path */
		uint32_t caller, callee; /* locations */
		bool is_entry;		 /* the caller begins the thread's stack */
		bool may_be_bare; /* the step followed a frame pointer out of JIT code, which may
				   * maintain none */
		bool is_doubted;  /* another function begins at the caller's return address, and
				   * nothing shows that the caller was called (is_called()) */
		bool is_kernels;  /* the kernel half made the step */
	} step;
	uint32_t before; /* the verdict on the same step before the last tick; INT_MAP_NONE: there
			  * was none */
};

struct caller_check {
	struct caller_check_options with;
	struct int_map pairs;	/* key: key_of(); value: enum callflow_step */
	struct int_map doubted; /* steps whose verdict may change; key: key_of(); value: the tick of
				 * the check << 2 | enum doubt */
	struct noreturn_check noreturn;
	struct int_map bare_objects; /* keys: numbers of the OBJECT_JIT objects whose code was seen
				      * to keep no frame pointers */
	uint32_t ticks;
	uint64_t counts[CALLFLOW_STEP_COUNT], postponed;
	int64_t credit_ns;
	bool checks_all;  /* also the steps of unwind information */
	bool checks_kept; /* also the steps of frames that were kept from the thread's previous
			   * path */
	struct asked asked[MOST_ASKED]; /* steps of the current path that wait for the check */
	size_t n_asked;
};

static uint64_t thread_clock(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

int caller_check_new(const struct caller_check_options *options, struct caller_check **ret_check)
{
	struct caller_check *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->with = *options;
	if (!c->with.clock)
		c->with.clock = thread_clock;
	c->credit_ns = CALLER_CHECK_SAVED_NS;
	c->checks_all = getenv("STACKD_CHECK_STEPS") != NULL;
	c->noreturn.objects = options->objects;
	c->noreturn.locations = options->locations;
	*ret_check = c;
	return 0;
}

void caller_check_free(struct caller_check *c)
{
	if (!c)
		return;
	int_map_fini(&c->pairs);
	int_map_fini(&c->doubted);
	int_map_fini(&c->bare_objects);
	noreturn_check_fini(&c->noreturn);
	free(c);
}

void caller_check_begin_anew(struct caller_check *c)
{
	int_map_fini(&c->pairs);
	int_map_fini(&c->doubted);
	noreturn_check_fini(&c->noreturn);
}

void caller_check_recheck_kept(struct caller_check *c)
{
	c->checks_kept = true;
}

void caller_check_tick(struct caller_check *c)
{
	c->ticks++;
}

/* --- pairs ----------------------------------------------------------------------------------- */

static const struct object *object_of(const struct caller_check *c, const struct location *l)
{
	return object_table_at(c->with.objects, l->object);
}

static void show_wrong(const struct caller_check *c, uint32_t caller, uint32_t callee)
{
	const struct location *from = location_at(c->with.locations, caller);
	const struct location *to = location_at(c->with.locations, callee);

	if (getenv("STACKD_DEBUG"))
		fprintf(stderr, "wrong step: %s+0x%llx is no caller of %s+0x%llx\n",
			object_of(c, from)->path, (unsigned long long)from->offset + 1,
			object_of(c, to)->path, (unsigned long long)to->offset);
}

/* Verdicts besides those of callflow_step.h, for which the path is cut before the step:
 *   NOT_YET   the step cannot be judged yet;
 *   UNPROVEN  the step is a guess, and the code does not show that it is right;
 *   UNREAD    the step is a guess, and the code was not looked at, or cannot be read yet. */
#define NOT_YET	 CALLFLOW_STEP_COUNT
#define UNPROVEN (CALLFLOW_STEP_COUNT + 1)
#define UNREAD	 (CALLFLOW_STEP_COUNT + 2)

/* Verdicts that hold only until the next caller_check_tick(). */
enum doubt { DOUBT_WRONG, DOUBT_NOT_YET, DOUBT_UNCHECKED, DOUBT_UNREAD };

/* Checks steps of `asked`, from the first one on, as many as the CPU time that is left allows.
 * Returns how many of *ret_verdicts are set. */
static size_t check(const struct caller_check *c, const struct asked *asked, size_t count,
		    struct walks_verdict *ret_verdicts)
{
	struct walks_step steps[MOST_ASKED];

	for (size_t i = 0; i < count; i++) {
		const struct step *step = &asked[i].step;
		const struct location *from = location_at(c->with.locations, step->caller);
		const struct location *to = location_at(c->with.locations, step->callee);

		steps[i] = (struct walks_step){
			.caller = object_of(c, from),
			.callee = object_of(c, to),
			.caller_offset = from->offset,
			.callee_offset = to->offset,
			.is_entry = step->is_entry,
			.may_be_bare = step->may_be_bare,
			.is_doubted = step->is_doubted,
			.callee_is_return = to->is_return,
		};
	}
	return walks_check(c->with.walks, steps, count, (uint64_t)c->credit_ns, ret_verdicts);
}

/* Returns the final verdict on a step by frame pointer out of JIT code, which is right only if the
 * callee has set up its frame pointer. If the callee's code does not show that, the verdict is
 * NOT_YET where other JIT code of the process was seen to keep no frame pointers, since as a rule
 * one compiler makes all code of a process; else UNCHECKED. For a step of the daemon's walk that is
 * so only if the code could not be read, because that walk has looked at the frame itself. */
static uint32_t weigh(const struct caller_check *c, const struct step *step,
		      enum runtime_code_frame frame, uint32_t verdict)
{
	const struct object *code = object_of(c, location_at(c->with.locations, step->callee));
	bool is_bare = int_map_find(&c->bare_objects, code->number) != INT_MAP_NONE;
	bool is_untold = frame == RUNTIME_CODE_UNTOLD && step->is_kernels &&
			 verdict != CALLFLOW_STEP_CONFIRMED;

	if (frame != RUNTIME_CODE_UNREAD && !is_untold)
		return verdict;
	return is_bare ? NOT_YET : CALLFLOW_STEP_UNCHECKED;
}

/* Returns whether a step followed a frame pointer out of a file's code for which no source has a
 * rule, as nothing shows that this code keeps a frame pointer. */
static bool is_guess(const struct caller_check *c, const struct step *step)
{
	const struct location *callee = location_at(c->with.locations, step->callee);

	return callee->provenance == PROVENANCE_FRAME_POINTER && !step->is_entry &&
	       object_of(c, callee)->kind == OBJECT_ELF;
}

static bool is_shared(const struct caller_check *c, uint32_t number)
{
	const struct location *l = location_at(c->with.locations, number);

	return c->with.jit && jit_tracker_is_shared(c->with.jit, object_of(c, l), l->offset);
}

/* Returns the verdict on a step by frame pointer out of a file's code that a check gives. */
static uint32_t weigh_guess(uint32_t found)
{
	if (found == CALLFLOW_STEP_UNCHECKED)
		return UNREAD;
	return found == CALLFLOW_STEP_PROBABLE ? UNPROVEN : found;
}

/* Turns the result of a check into the step's verdict. 0 or -ENOMEM. */
static int conclude(struct caller_check *c, const struct step *step, struct walks_verdict found,
		    uint32_t *ret_verdict)
{
	const struct object *callee = object_of(c, location_at(c->with.locations, step->callee));
	int err = 0;

	*ret_verdict = found.step;
	if (step->may_be_bare && found.frame == RUNTIME_CODE_BARE) {
		*ret_verdict = CALLFLOW_STEP_WRONG;
		err = int_map_set(&c->bare_objects, callee->number, 1);
	}
	if (*ret_verdict == CALLFLOW_STEP_WRONG && is_shared(c, step->callee))
		*ret_verdict = CALLFLOW_STEP_UNCHECKED;
	if (*ret_verdict == CALLFLOW_STEP_WRONG)
		show_wrong(c, step->caller, step->callee);
	else if (step->may_be_bare)
		*ret_verdict = weigh(c, step, found.frame, *ret_verdict);
	else if (is_guess(c, step))
		*ret_verdict = weigh_guess(*ret_verdict);
	return err;
}

static uint64_t spent_ns(const struct caller_check *c)
{
	return c->with.clock() + walks_cpu_ns(c->with.walks);
}

static bool is_runtime_code(const struct caller_check *c, uint32_t number)
{
	const struct location *l = location_at(c->with.locations, number);

	return object_table_at(c->with.objects, l->object)->kind == OBJECT_JIT;
}

/* Returns the key of a step. It has all flags but is_entry, because the same pair of locations can
 * come from an unwind rule, or from a frame pointer that skips callers in between; because the
 * kernel half and the daemon follow frame pointers differently; and because more is asked of a
 * caller in doubt. Bits 31, 62 and 63 are free, because there are fewer than 2^30 locations. */
static uint64_t key_of(const struct step *step)
{
	return (uint64_t)step->may_be_bare << 63 | (uint64_t)step->is_doubted << 62 |
	       (uint64_t)step->caller << 32 | (uint64_t)step->is_kernels << 31 | step->callee;
}

/* Keeps the verdict on a step; only until the next tick, if the code may be changed or become
 * readable. 0 or -ENOMEM. */
static int keep(struct caller_check *c, const struct step *step, uint32_t verdict)
{
	uint32_t at = c->ticks << 2;
	bool is_made = is_runtime_code(c, step->caller) || is_runtime_code(c, step->callee);

	if (verdict == NOT_YET)
		return int_map_set(&c->doubted, key_of(step), at | DOUBT_NOT_YET);
	if (verdict == UNREAD)
		return int_map_set(&c->doubted, key_of(step), at | DOUBT_UNREAD);
	if (verdict == CALLFLOW_STEP_UNCHECKED && step->may_be_bare)
		return int_map_set(&c->doubted, key_of(step), at | DOUBT_UNCHECKED);
	if (verdict == CALLFLOW_STEP_WRONG && is_made)
		return int_map_set(&c->doubted, key_of(step), at | DOUBT_WRONG);
	return int_map_set(&c->pairs, key_of(step), verdict);
}

static uint32_t verdict_of(enum doubt doubt)
{
	static const uint32_t verdicts[] = {
		[DOUBT_WRONG] = CALLFLOW_STEP_WRONG,
		[DOUBT_NOT_YET] = NOT_YET,
		[DOUBT_UNCHECKED] = CALLFLOW_STEP_UNCHECKED,
		[DOUBT_UNREAD] = UNREAD,
	};

	return verdicts[doubt];
}

/* Returns the counter of a verdict. NOT_YET and UNREAD count as unchecked, UNPROVEN as probable. */
static uint64_t *count_of(struct caller_check *c, uint32_t verdict)
{
	if (verdict == UNPROVEN)
		verdict = CALLFLOW_STEP_PROBABLE;
	else if (verdict == NOT_YET || verdict == UNREAD)
		verdict = CALLFLOW_STEP_UNCHECKED;
	return &c->counts[verdict];
}

/* Returns the reason for which a path ends before a step; STACKD_END_ENTRY: the verdict is no
 * such reason. */
static enum stackd_end_reason reason_of(uint32_t verdict)
{
	switch (verdict) {
	case CALLFLOW_STEP_WRONG:
		return STACKD_END_WRONG_CALLER;
	case NOT_YET:
		return STACKD_END_RUNTIME_CODE;
	case UNPROVEN:
	case UNREAD:
		return STACKD_END_NO_RECIPE;
	default:
		return STACKD_END_ENTRY;
	}
}

/* Cuts the path before a step whose verdict is a reason for that. Of several such steps, the one
 * nearest to the leaf counts. */
static void cut(struct path *path, size_t at, uint32_t verdict)
{
	enum stackd_end_reason reason = reason_of(verdict);

	if (reason == STACKD_END_ENTRY || at < path->cut)
		return;
	path->cut = at;
	path->cut_reason = reason;
}

/* Leaves a step unchecked until it occurs again. Its verdict before the last tick still holds, if
 * it had one; if not, and the step followed a frame pointer out of JIT code or is a guess, cuts the
 * path before it. */
static void postpone(struct caller_check *c, const struct asked *asked, struct path *path)
{
	uint32_t verdict = asked->before;

	if (verdict == INT_MAP_NONE && asked->step.may_be_bare)
		verdict = NOT_YET;
	else if (verdict == INT_MAP_NONE && is_guess(c, &asked->step))
		verdict = UNREAD;
	c->postponed++;
	cut(path, asked->step.at, verdict);
}

/* Counts and keeps the verdict that a check gives, and cuts the path before the step if the verdict
 * is a reason for that. 0 or -ENOMEM. */
static int settle(struct caller_check *c, const struct asked *asked, struct walks_verdict found,
		  struct path *path)
{
	uint32_t verdict;
	int err = conclude(c, &asked->step, found, &verdict);

	if (asked->before != INT_MAP_NONE)
		--*count_of(c, asked->before);
	++*count_of(c, verdict);
	cut(path, asked->step.at, verdict);
	return err ? err : keep(c, &asked->step, verdict);
}

/* Checks the steps in c->asked, and postpones those for which no CPU time is left. 0 or -ENOMEM. */
static int check_asked(struct caller_check *c, struct path *path)
{
	struct walks_verdict found[MOST_ASKED];
	size_t done = 0, count = c->n_asked;
	int err = 0;

	c->n_asked = 0;
	while (!err && done < count && c->credit_ns > 0) {
		const uint64_t start = spent_ns(c);
		size_t n = check(c, &c->asked[done], count - done, found);

		c->credit_ns -= (int64_t)(spent_ns(c) - start);
		for (size_t i = 0; i < n && !err; i++)
			err = settle(c, &c->asked[done++], found[i], path);
	}
	while (!err && done < count)
		postpone(c, &c->asked[done++], path);
	return err;
}

static bool is_asked(const struct caller_check *c, const struct step *step)
{
	for (size_t i = 0; i < c->n_asked; i++)
		if (key_of(&c->asked[i].step) == key_of(step))
			return true;
	return false;
}

/* Looks up the verdict on a step. Returns false if the step must be checked; *ret_before is then
 * its verdict before the last tick, or INT_MAP_NONE. */
static bool is_known(const struct caller_check *c, const struct step *step, uint32_t *ret_verdict,
		     uint32_t *ret_before)
{
	uint32_t doubted;

	*ret_before = INT_MAP_NONE;
	*ret_verdict = int_map_find(&c->pairs, key_of(step));
	if (*ret_verdict != INT_MAP_NONE)
		return true;
	doubted = int_map_find(&c->doubted, key_of(step));
	if (doubted == INT_MAP_NONE)
		return false;
	*ret_before = *ret_verdict = verdict_of(doubted & 3);
	return doubted >> 2 == (c->ticks & UINT32_MAX >> 2);
}

/* Takes a step of a path: if it has a verdict, cuts the path if that is a reason for it; else adds
 * the step to those that check_asked() will check. 0 or -ENOMEM. */
static int take_step(struct caller_check *c, const struct step *step, struct path *path)
{
	uint32_t verdict, before;
	int err = 0;

	/* A recursion has the same step many times, so a step is checked before it is taken
	 * again. */
	if (c->n_asked == MOST_ASKED || is_asked(c, step))
		err = check_asked(c, path);
	if (err)
		return err;
	if (is_known(c, step, &verdict, &before))
		cut(path, step->at, verdict);
	else
		c->asked[c->n_asked++] = (struct asked){*step, before};
	return 0;
}

/* --- paths ----------------------------------------------------------------------------------- */

static bool is_in_doubt(const struct caller_check *c, uint32_t caller)
{
	return location_at(c->with.locations, caller)->put == LOCATION_DOUBTED;
}

/* Returns whether a step must be checked, because it was made by a weak rule (one not of unwind
 * information), or because its caller's location is doubted (planted_returns.h). A caller whose
 * address is no return address was interrupted by a signal, so it made no call that could be
 * checked. */
static bool is_to_be_checked(const struct caller_check *c, const struct step *step)
{
	const struct location *callee = location_at(c->with.locations, step->callee);
	uint8_t provenance = callee->provenance;

	if (object_of(c, callee)->kind == OBJECT_MANAGED)
		return false; /* the chain that led to it was proven */
	return (step->may_be_bare || provenance_is_weak(provenance) ||
		is_in_doubt(c, step->caller) || (c->checks_all && provenance == PROVENANCE_CFI)) &&
	       location_at(c->with.locations, step->caller)->is_return;
}

/* Returns whether the step out of `callee` followed a frame pointer in JIT code. The kernel half
 * does that wherever it has no rules of a runtime. The location's provenance does not say whether
 * it did, because it may come from a walk by the daemon. */
static bool may_be_bare(const struct caller_check *c, uint32_t callee, bool is_kernels)
{
	const struct location *l = location_at(c->with.locations, callee);

	if (!is_runtime_code(c, callee))
		return false;
	if (is_kernels)
		return !c->with.jit || !jit_tracker_is_stepped(c->with.jit, object_of(c, l));
	return l->provenance == PROVENANCE_FRAME_POINTER;
}

/* If no call has made the return address of frame `at`, cuts off that frame, which is no
 * function's, and all frames nearer to the root. Returns whether it did. */
static bool cut_at_put(const struct caller_check *c, struct path *path, size_t at)
{
	if (location_at(c->with.locations, path->locations[at])->put != LOCATION_PUT)
		return false;
	path->is_weak = true;
	path->cut = at + 1;
	path->cut_reason = STACKD_END_BAD_RETURN;
	return true;
}

/* Gives the verdict on a step between two files' functions; UNCHECKED, which is not kept, if no CPU
 * time is left for the check or nobody has answered. 0 or -ENOMEM. */
static int find_verdict(struct caller_check *c, const struct step *step, uint32_t *ret_verdict)
{
	const struct asked asked = {*step, INT_MAP_NONE};
	struct walks_verdict found[1];
	uint32_t before;
	int err;

	if (is_known(c, step, ret_verdict, &before))
		return 0;
	*ret_verdict = CALLFLOW_STEP_UNCHECKED;
	found[0].is_unanswered = true;
	if (c->credit_ns > 0) {
		const uint64_t start = spent_ns(c);

		check(c, &asked, 1, found);
		c->credit_ns -= (int64_t)(spent_ns(c) - start);
	}
	c->postponed += found[0].is_unanswered;
	if (found[0].is_unanswered)
		return 0;
	err = conclude(c, step, found[0], ret_verdict);
	if (before != INT_MAP_NONE)
		--*count_of(c, before);
	++*count_of(c, *ret_verdict);
	return err ? err : keep(c, step, *ret_verdict);
}

static bool is_of_file(const struct caller_check *c, uint32_t number)
{
	return object_of(c, location_at(c->with.locations, number))->kind == OBJECT_ELF;
}

/* --- callers in doubt ------------------------------------------------------------------------ */

/*
 * A call by address that never returns, and is the last instruction of its function, looks like a
 * return address of a function that was left long ago, whose frame is still in memory:
 *
 *     main     calls enter                     main     calls another one now
 *     enter    calls what a register says      failed   has called what a register says
 *     loops                                    coroutine, on a stack below that stale frame
 *
 * In the first case, the caller itself was called: the call before its own return address goes to
 * it. In the second case, that address is another call's, or a stale word, too.
 */
/* callers in doubt, each called by the next one, that are looked through */
#define MOST_IN_DOUBT 4

/* Returns whether the code that starts threads, or the program, has called frame `at` by address,
 * which it does once on each stack: that of the C library, which has only the file's entry point
 * before it. */
static bool is_started(const struct caller_check *c, const struct path *path, size_t at,
		       enum stackd_end_reason reason)
{
	const struct object *of[4];

	if (reason != STACKD_END_ENTRY || at < 2 || at > 3)
		return false;
	for (size_t i = 0; i <= at; i++)
		of[i] = object_of(c, location_at(c->with.locations, path->locations[i]));
	return of[at] != of[at - 1] && of[1] == of[at - 1] && (of[0] == of[1]) == (at == 2);
}

/* Gives whether frame `at` was called by the one before: by a call that goes to its function. A
 * caller in doubt counts if it was called itself. *ret_is_open: there was no time to find that out.
 * 0 or -ENOMEM. */
static int is_called(struct caller_check *c, const struct path *path, size_t at, bool is_kernels,
		     enum stackd_end_reason reason, bool *ret_is_called, bool *ret_is_open)
{
	const uint64_t postponed = c->postponed;
	uint32_t verdict = CALLFLOW_STEP_UNCHECKED;
	bool is_doubted = true;
	int err = 0;

	for (size_t n = 0; n < MOST_IN_DOUBT && at && is_doubted && !err; n++, at--) {
		const uint32_t caller = path->locations[at - 1], callee = path->locations[at];
		const struct step step = {
			.caller = caller, .callee = callee, .is_kernels = is_kernels};

		if (!is_of_file(c, caller) || !is_of_file(c, callee) ||
		    !location_at(c->with.locations, caller)->is_return)
			break;
		is_doubted = is_in_doubt(c, caller);
		err = find_verdict(c, &step, &verdict);
		if (verdict == CALLFLOW_STEP_CONFIRMED || verdict == CALLFLOW_STEP_WRONG)
			break;
		if (!is_doubted && verdict == CALLFLOW_STEP_PROBABLE &&
		    is_started(c, path, at, reason))
			verdict = CALLFLOW_STEP_CONFIRMED;
	}
	*ret_is_called = verdict == CALLFLOW_STEP_CONFIRMED;
	*ret_is_open = c->postponed != postponed;
	return err;
}

/* Sets step->is_doubted, for a step of a path whose caller is in doubt. As is_called(). */
static int weigh_doubt(struct caller_check *c, struct path *path, struct step *step,
		       enum stackd_end_reason reason, bool *ret_is_open)
{
	bool is = false;
	int err = check_asked(c, path); /* so that no step is checked twice */

	*ret_is_open = false;
	if (!err)
		err = is_called(c, path, step->at - 1, step->is_kernels, reason, &is, ret_is_open);
	step->is_doubted = !is;
	return err;
}

/* Gives the step out of frame `at` of a path. */
static struct step step_out_of(const struct caller_check *c, const struct path *path, size_t at,
			       enum stackd_end_reason reason, bool is_kernels)
{
	return (struct step){
		.at = at,
		.caller = path->locations[at - 1],
		.callee = path->locations[at],
		.is_entry = reason == STACKD_END_ENTRY && at == 1,
		.may_be_bare = may_be_bare(c, path->locations[at], is_kernels),
		.is_kernels = is_kernels,
	};
}

/* --- functions that never return ------------------------------------------------------------- */

/* Gives whether the function of a callee never returns, where noreturn_check_step() asks for it.
 * 0 or -ENOMEM. */
static int ask_noreturn(struct caller_check *c, uint32_t callee, enum noreturn_step *ret_step)
{
	struct walks_verdict answer;

	*ret_step = NORETURN_STEP_PROVEN;
	if (!caller_check_ask(c, callee, WALKS_NORETURN, &answer))
		return 0;
	if (answer.is_noreturn)
		*ret_step = NORETURN_STEP_DOUBTED;
	return noreturn_check_answer(&c->noreturn, callee, answer.is_noreturn);
}

/* Cuts the path before a step by unwind information out of a function that never returns, if the
 * caller calls another one. 0 or -ENOMEM. */
static int check_noreturn(struct caller_check *c, const struct step *step, struct path *path)
{
	const struct location *callee = location_at(c->with.locations, step->callee);
	enum noreturn_step kind;
	uint32_t verdict;
	int err;

	if (callee->provenance != PROVENANCE_CFI ||
	    !location_at(c->with.locations, step->caller)->is_return)
		return 0;
	err = noreturn_check_step(&c->noreturn, step->caller, step->callee, &kind);
	if (!err && kind == NORETURN_STEP_ASK)
		err = ask_noreturn(c, step->callee, &kind);
	if (err || kind == NORETURN_STEP_PROVEN)
		return err;
	err = find_verdict(c, step, &verdict);
	if (!err && verdict == CALLFLOW_STEP_WRONG) {
		path->is_weak = true;
		cut(path, step->at, verdict);
	}
	return err;
}

/* Checks the step out of frame `at` of a path, or adds it to those to check. 0 or -ENOMEM. */
static int check_frame(struct caller_check *c, struct path *path, size_t at,
		       enum stackd_end_reason reason, bool is_kernels)
{
	struct step step = step_out_of(c, path, at, reason, is_kernels);
	bool is_open = false;
	int err = 0;

	if (cut_at_put(c, path, at))
		return 0;
	if (!is_to_be_checked(c, &step))
		return check_noreturn(c, &step, path);
	path->is_weak = true;
	if (is_in_doubt(c, step.caller))
		err = weigh_doubt(c, path, &step, reason, &is_open);
	return err || is_open ? err : take_step(c, &step, path);
}

/* Cuts off the frames at the root of a walk that came to nothing, up to a confirmed step. 0 or
 * -ENOMEM. */
static int trim(struct caller_check *c, struct path *path, enum stackd_end_reason reason,
		bool is_kernels)
{
	uint32_t verdict;
	int err = 0;

	for (size_t i = path->cut + 1; i < path->count && !err; i++) {
		const struct step step = {.at = i,
					  .caller = path->locations[i - 1],
					  .callee = path->locations[i],
					  .is_doubted = is_in_doubt(c, path->locations[i - 1]),
					  .is_kernels = is_kernels};

		if (!is_of_file(c, step.caller) || !is_of_file(c, step.callee) ||
		    !location_at(c->with.locations, step.caller)->is_return)
			return 0;
		err = find_verdict(c, &step, &verdict);
		if (verdict == CALLFLOW_STEP_CONFIRMED)
			return 0;
		if (!path->cut)
			path->cut_reason = reason;
		path->cut = i;
		path->is_weak = true;
	}
	return err;
}

/* Frames that the path keeps from the thread's last path were checked with that path. But it is not
 * known where that path was cut, so a path with weak steps is checked from the root on. */
int caller_check_path(struct caller_check *c, struct path *path, enum stackd_end_reason reason,
		      bool is_kernels)
{
	bool is_nowhere = reason == STACKD_END_STACK_SWITCH || reason == STACKD_END_NO_MAPPING ||
			  reason == STACKD_END_UNREADABLE || reason == STACKD_END_NO_PROGRESS;
	size_t first = path->is_weak || c->checks_kept || !path->kept ? 1 : path->kept;
	int err;

	path->cut = 0;
	c->n_asked = 0;
	c->credit_ns += c->credit_ns < CALLER_CHECK_SAVED_NS ? CALLER_CHECK_EARNED_NS : 0;
	if (first == 1 && path->count)
		cut_at_put(c, path, 0);
	for (size_t i = first; i < path->count; i++) {
		err = check_frame(c, path, i, reason, is_kernels);
		if (err)
			return err;
	}
	err = check_asked(c, path);
	return err || !is_nowhere ? err : trim(c, path, reason, is_kernels);
}

int caller_check_step(struct caller_check *c, const struct path *path, size_t at, bool is_kernels,
		      enum callflow_step *ret_verdict)
{
	struct step step = {.caller = path->locations[at - 1],
			    .callee = path->locations[at],
			    .is_kernels = is_kernels};
	uint32_t verdict = CALLFLOW_STEP_UNCHECKED;
	bool is_open = false, is = true;
	int err = 0;

	if (is_in_doubt(c, step.caller))
		err = is_called(c, path, at - 1, is_kernels, STACKD_END_NO_MAPPING, &is, &is_open);
	step.is_doubted = !is;
	if (!err && !is_open)
		err = find_verdict(c, &step, &verdict);
	*ret_verdict = verdict < CALLFLOW_STEP_COUNT ? (enum callflow_step)verdict
						     : CALLFLOW_STEP_UNCHECKED;
	return err;
}

bool caller_check_ask(struct caller_check *c, uint32_t caller, enum walks_question question,
		      struct walks_verdict *ret_answer)
{
	const struct location *l = location_at(c->with.locations, caller);
	const struct walks_step step = {.caller = object_of(c, l),
					.callee = object_of(c, l),
					.caller_offset = l->offset,
					.callee_offset = l->offset,
					.callee_is_return = l->is_return,
					.question = question};

	*ret_answer = (struct walks_verdict){.is_unanswered = true};
	if (c->credit_ns > 0) {
		const uint64_t start = spent_ns(c);

		walks_check(c->with.walks, &step, 1, (uint64_t)c->credit_ns, ret_answer);
		c->credit_ns -= (int64_t)(spent_ns(c) - start);
	}
	c->postponed += ret_answer->is_unanswered;
	return !ret_answer->is_unanswered;
}

bool caller_check_is_confirmed(const struct caller_check *c, uint32_t caller, uint32_t callee)
{
	const struct step step = {
		.caller = caller, .callee = callee, .may_be_bare = may_be_bare(c, callee, false)};

	return int_map_find(&c->pairs, key_of(&step)) == CALLFLOW_STEP_CONFIRMED;
}

struct caller_check_counts caller_check_counts(const struct caller_check *c)
{
	return (struct caller_check_counts){
		.unchecked = c->counts[CALLFLOW_STEP_UNCHECKED],
		.confirmed = c->counts[CALLFLOW_STEP_CONFIRMED],
		.probable = c->counts[CALLFLOW_STEP_PROBABLE],
		.wrong = c->counts[CALLFLOW_STEP_WRONG],
		.postponed = c->postponed,
	};
}
