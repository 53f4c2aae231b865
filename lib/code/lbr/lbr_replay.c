/* SPDX-License-Identifier: MIT */
/*
 * Replays branch records of every kind: the last branches that were taken, not only calls.
 *
 *   oldest                                                       newest   sampled at
 *   jump  call f  jump  call g  return  jump  call h  jump  jump  ...       ip
 *           │             └──────┘ gone         │
 *           └── still running ──────────────────┴──► f, h: the last frames of the path
 *
 * A return whose call is not in the records left a frame that is older than the records. So all
 * calls that were replayed before it have returned, and nothing is known of the frames that were
 * callers of that frame. The result is a segment: the innermost frames, which are certain. A walk
 * or a call chain of the same sample is joined to it, so that the segment adds the callers that a
 * chain of frame pointers leaves out.
 *
 * A branch in code that cannot be read may be anything. If it leads behind a call that has not
 * returned, it is that call's return. After any other such branch, the calls before it are not
 * used, until such a return shows that they had not returned:
 *
 *   call f   ?   ?   call g   ip        the segment is g's
 *   call f   ?   ?   behind call f      f has returned, its callers are as they were
 *
 * Rejected: following the code between two records to check that they are connected. Interrupts,
 * and records that the kernel leaves out, make gaps there that mean nothing.
 */
#include <errno.h>
#include <string.h>

#include "lbr/lbr.h"

#define MAX_CALL 8

struct live {
	/* calls that have not returned, oldest first; NULL stands for a branch of unknown kind */
	const struct lbr_entry *calls[LBR_MAX_ENTRIES];
	size_t n;
};

static bool is_user(const struct lbr_entry *e)
{
	return e->from && e->to && !(e->from >> 63) && !(e->to >> 63);
}

static bool returns_to(const struct lbr_entry *call, uint64_t address)
{
	return address - call->from - 1 < MAX_CALL;
}

/* Returns 1 + the index of the newest call that returns to an address; 0: none. */
static size_t find_call(const struct live *live, uint64_t to)
{
	size_t n = live->n;

	while (n && !(live->calls[n - 1] && returns_to(live->calls[n - 1], to)))
		n--;
	return n;
}

static void on_return(struct live *live, uint64_t to)
{
	size_t n = find_call(live, to);

	live->n = n ? n - 1 : 0;
}

static void on_unknown(struct live *live, uint64_t to)
{
	if (find_call(live, to))
		on_return(live, to);
	else if (live->n && live->calls[live->n - 1])
		live->calls[live->n++] = NULL;
}

/* Drops the calls that a long jump has left: those after the call of the function to which it
 * leads. */
static void on_long_jump(const struct lbr_input *in, struct live *live, uint64_t to)
{
	while (live->n && live->calls[live->n - 1] && in->code.fit &&
	       in->code.fit(in->code.arg, live->calls[live->n - 1]->to, to) != CALLFLOW_FIT_SAME)
		live->n--;
	if (!in->code.fit || (live->n && !live->calls[live->n - 1]))
		live->n = 0;
}

/* Keeps only the calls after the last unknown branch. */
static void cut_at_unknown(struct live *live)
{
	size_t first = live->n;

	while (first && live->calls[first - 1])
		first--;
	live->n -= first;
	memmove(live->calls, live->calls + first, live->n * sizeof(*live->calls));
}

/* Returns whether a call is of the next instruction: it only gets that instruction's address, and
 * never returns. */
static bool is_call_to_next(const struct lbr_entry *e)
{
	return e->to - e->from - 1 < MAX_CALL;
}

static void replay(const struct lbr_input *in, struct live *live)
{
	for (size_t i = in->n_entries; i-- > 0;) {
		const struct lbr_entry *e = &in->entries[i];
		enum lbr_kind kind;

		if (!is_user(e) || !in->code.kind)
			continue;
		kind = in->code.kind(in->code.arg, e->from, e->to);
		if (kind == LBR_KIND_CALL && !is_call_to_next(e))
			live->calls[live->n++] = e;
		else if (kind == LBR_KIND_UNKNOWN)
			on_unknown(live, e->to);
		else if (kind == LBR_KIND_RETURN)
			on_return(live, e->to);
		else if (kind == LBR_KIND_LONG_JUMP)
			on_long_jump(in, live, e->to);
	}
	cut_at_unknown(live);
}

/* --- joining --------------------------------------------------------------------------------- */

struct path {
	const struct lbr_input *in;
	struct lbr_frame *frames;
	size_t n, max;
};

static void add(struct path *path, struct lbr_frame frame)
{
	if (path->n < path->max)
		path->frames[path->n++] = frame;
}

static void add_call(struct path *path, const struct lbr_entry *call)
{
	const struct lbr_code *code = &path->in->code;
	uint64_t end = code->call_end ? code->call_end(code->arg, call->from) : 0;

	add(path, (struct lbr_frame){.address = end ? end : call->from,
				     .source = FRAME_SOURCE_BRANCH,
				     .is_return = end != 0});
}

/* Returns the index, from `at` on, of the walked frame that a call made; n_walked: none. */
static size_t find_walked(const struct lbr_input *in, size_t at, const struct lbr_entry *call)
{
	while (at < in->n_walked &&
	       !(in->walked[at].is_return && returns_to(call, in->walked[at].address)))
		at++;
	return at;
}

/* Joins the calls that have not returned with the walked frames, newest first. A call is the same
 * frame as the walked frame with its return address. If the walk lacks that frame, but has the
 * frame of an older call, the call's frame is added before that one. Walked frames without a call
 * stay. */
static void join(struct path *path, const struct live *live)
{
	const struct lbr_input *in = path->in;
	size_t at = 0, i, waiting = live->n, known;

	if (in->n_walked)
		add(path, (struct lbr_frame){.address = in->walked[at].address,
					     .slot = in->walked[at].slot,
					     .source = in->n_walked > 1 ? FRAME_SOURCE_WALKED
									: FRAME_SOURCE_BRANCH,
					     .is_return = in->walked[at].is_return,
					     .is_verified = true});
	else if (in->ip)
		add(path, (struct lbr_frame){.address = in->ip,
					     .source = FRAME_SOURCE_BRANCH,
					     .is_verified = true});
	at = in->n_walked ? 1 : 0;
	for (i = live->n; i-- > 0;) {
		known = find_walked(in, at, live->calls[i]);
		if (known >= in->n_walked)
			continue;
		for (; waiting > i + 1; waiting--)
			add_call(path, live->calls[waiting - 1]);
		for (; at <= known; at++)
			add(path, (struct lbr_frame){.address = in->walked[at].address,
						     .slot = in->walked[at].slot,
						     .source = at == known ? FRAME_SOURCE_BRANCH
									   : FRAME_SOURCE_WALKED,
						     .is_return = in->walked[at].is_return,
						     .is_verified = true});
		waiting = i;
	}
	/* Calls that join no walked frame are only used if the walk has just the leaf. */
	for (; waiting && in->n_walked <= 1; waiting--)
		add_call(path, live->calls[waiting - 1]);
	for (; at < in->n_walked; at++)
		add(path, (struct lbr_frame){.address = in->walked[at].address,
					     .slot = in->walked[at].slot,
					     .source = FRAME_SOURCE_WALKED,
					     .is_return = in->walked[at].is_return,
					     .is_verified = !in->walked[at].is_guess});
}

int lbr_replay(const struct lbr_input *in, struct lbr_frame *frames, size_t max,
	       struct lbr_result *ret_result)
{
	struct path path = {.in = in, .frames = frames, .max = max};
	struct live live = {.n = 0};

	if (in->n_entries > LBR_MAX_ENTRIES)
		return -E2BIG;
	replay(in, &live);
	join(&path, &live);
	*ret_result = (struct lbr_result){
		.n_frames = path.n,
		.end = in->n_walked ? in->walk_end : STACKD_END_STACK_CUT,
	};
	return 0;
}
