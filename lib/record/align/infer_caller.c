/* SPDX-License-Identifier: MIT */
/*
 * Infers the caller of a frame at a moment.
 *
 * First come the frame's observations (history.h) before and after that moment. Where they are far
 * away or disagree, the call edges give the call sites of the frame's function and the height that
 * a frame at each of them must have. If such a frame was observed at that height before and after
 * the moment, the call site is present, which is evidence that it is the caller. A frame that was
 * never observed with a caller at its height gets the only call site that is present. Last comes
 * the caller that nearly all observations in the program's stacks have (majority.h).
 */
#include "align/accept.h"
#include "align/align_state.h"

#define INFER_MAX_SITES 64u /* call sites of a function that are tried at most */

/* Returns whether a frame was observed shortly before and shortly after the moment of `q`, both
 * times with the same caller. */
static bool infer_is_present(const struct align *a, const struct infer_query *q,
			     const struct align_frame *frame)
{
	struct history_neighbours neighbours;
	uint32_t key;

	if (!window_filter_has(&a->window, frame->symbol, frame->height))
		return false;
	key = history_key(&a->history, q->stack, frame->symbol, frame->height);
	if (key == HISTORY_NONE)
		return false;
	neighbours = history_find(&a->history, key, q->rank);
	return neighbours.distance_before <= ACCEPT_NEAR &&
	       neighbours.distance_after <= ACCEPT_NEAR &&
	       history_is_same(&a->history.observations.items[neighbours.before],
			       &a->history.observations.items[neighbours.after]);
}

/* Returns whether the observation with this index has this caller; false for HISTORY_NONE. */
static bool has_caller(const struct align *a, uint32_t observation,
		       const struct align_frame *caller)
{
	const struct history_observation *o;

	if (observation == HISTORY_NONE)
		return false;
	o = &a->history.observations.items[observation];
	return !(o->rank_flags & HISTORY_ENTRY) && o->id == caller->id &&
	       o->height == caller->height;
}

/* Sets n_sites, n_present and is_present of `evidence`. `ret_site` receives a call site that is
 * present; `ret_observation` the observation before or after that has a present call site as its
 * caller, or HISTORY_NONE. */
static void ask_sites(const struct align *a, const struct infer_query *q,
		      struct accept_caller *evidence, struct align_frame *ret_site,
		      uint32_t *ret_observation)
{
	uint32_t i = call_edges_of(&a->call_edges, q->symbol);

	*ret_observation = HISTORY_NONE;
	for (; i != INT_MAP_NONE && evidence->n_sites < INFER_MAX_SITES;
	     i = a->call_edges.edges.items[i].next) {
		const struct call_edge *e = &a->call_edges.edges.items[i];
		struct align_frame caller = {e->id, e->symbol, q->height - e->distance};

		evidence->n_sites++;
		if (!q->height || e->distance > q->height || !infer_is_present(a, q, &caller))
			continue;
		evidence->n_present++;
		*ret_site = caller;
		if (has_caller(a, q->neighbours.before, &caller))
			*ret_observation = q->neighbours.before;
		else if (has_caller(a, q->neighbours.after, &caller))
			*ret_observation = q->neighbours.after;
	}
	evidence->is_present = *ret_observation != HISTORY_NONE;
}

static struct accept_caller infer_evidence(const struct align *a, const struct infer_query *q)
{
	const struct history_neighbours *n = &q->neighbours;
	const struct history_key *k = &a->history.keys.items[q->key];
	bool is_before = n->distance_before < n->distance_after;
	uint32_t nearer = is_before ? n->distance_before : n->distance_after;
	uint32_t farther = is_before ? n->distance_after : n->distance_before;
	struct accept_caller evidence = {
		.has_both = n->before != HISTORY_NONE && n->after != HISTORY_NONE,
		.has_changed = k->n_changes > 0,
		.n_observed = k->count,
		.n_enclosed = k->n_enclosed,
		.n_exceptions = k->n_exceptions,
	};

	evidence.agrees =
		evidence.has_both && history_is_same(&a->history.observations.items[n->before],
						     &a->history.observations.items[n->after]);
	evidence.distance = evidence.agrees ? farther : nearer;
	return evidence;
}

/* Infers the caller from samples of the frame's own stack alone. */
static struct infer_result from_stack(const struct align *a, const struct infer_query *q)
{
	const struct history_neighbours *n = &q->neighbours;
	struct accept_caller evidence = infer_evidence(a, q);
	uint32_t nearer = n->distance_before <= n->distance_after ? n->before : n->after, present;
	const struct history_observation *o;
	struct align_frame site = {0};

	if (!evidence.agrees || evidence.distance > ACCEPT_NEAR) {
		ask_sites(a, q, &evidence, &site, &present);
		if (evidence.is_present && !evidence.agrees)
			nearer = present;
	}
	if (!evidence.n_observed && evidence.n_present == 1)
		return (struct infer_result){.caller = site, .is_known = true};
	if (nearer == HISTORY_NONE || !accept_caller(&evidence))
		return (struct infer_result){0};
	o = &a->history.observations.items[nearer];
	return (struct infer_result){.caller = {o->id, o->symbol, o->height},
				     .is_known = true,
				     .is_entry = o->rank_flags & HISTORY_ENTRY};
}

struct infer_result infer_caller(const struct align *a, const struct infer_query *q)
{
	struct infer_result result = from_stack(a, q);
	uint32_t majority = a->history.keys.items[q->key].majority;
	const struct majority_key *m;

	if (result.is_known || !q->height || majority == ALIGN_NONE)
		return result;
	m = &a->majority.keys.items[majority];
	if (!accept_majority(m->count, m->total))
		return result;
	return (struct infer_result){.caller = {m->caller.id, m->caller.symbol, m->caller.height},
				     .is_known = true};
}
