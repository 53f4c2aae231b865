/* SPDX-License-Identifier: MIT */
/*
 * The rules that accept or reject an inferred caller, and an inferred path.
 *
 * The rules compare counts of the recording itself with each other; no weights are fitted. Their
 * principle is unanimity: a caller is accepted if nothing that was observed contradicts it, and if
 * it was observed often enough that a contradiction would have been observed as well. The few
 * limits in accept.c are round numbers, chosen with recordings of the programs of bench/align.py.
 * There less than one percent of the inferred frames is wrong, except in bash, whose interpreter
 * calls itself through the same functions over and over (3.6 % of the few frames that are
 * inferred).
 */
#ifndef ALIGN_ACCEPT_H
#define ALIGN_ACCEPT_H

#include <stdbool.h>
#include <stdint.h>

/* Two observations that are so many samples away are near: hardly anything changes meanwhile. */
#define ACCEPT_NEAR 8u

/* The evidence for a frame's caller, as the frame's nearest observations before and after the
 * sample have it. */
struct accept_caller {
	bool has_both;	  /* The frame was observed both before and after the sample. */
	bool agrees;	  /* Both observations have the same caller. */
	bool has_changed; /* The frame was observed with more than one caller. */
	/* samples from the partial sample to the farther observation if both agree, else to the
	 * nearer one */
	uint32_t distance;
	uint32_t n_observed; /* observations of the frame with any caller */
	/* n_enclosed: observations whose two neighbours have the same caller; n_exceptions: how
	 * many of these have another caller than their neighbours. */
	uint32_t n_enclosed, n_exceptions;
	uint32_t n_sites; /* known call sites of the frame's function, at any height */
	/* call sites whose own frame was observed within ACCEPT_NEAR samples before and after, at
	 * the height that the callee's height implies */
	uint32_t n_present;
	/* A neighbouring observation has one of the `n_present` as its caller. */
	bool is_present;
};

/* Accepts or rejects a caller:
 *    - if exactly one call site is present, and it is the caller, the caller is accepted; a caller
 *      that is not among the present call sites is rejected;
 *    - two neighbours that differ are no evidence; a single neighbour is, and two that agree are;
 *    - a frame that never changed its caller has the caller of near neighbours (of a single
 *      neighbour: at most two samples away), and that of far ones if it was observed at least as
 *      often as its function has call sites;
 *    - a frame that has changed its caller has the caller of two neighbours that agree, or of a
 *      near single one, if it has few exceptions: one in 50, or one in 10 between near neighbours.
 */
bool accept_caller(const struct accept_caller *evidence);

/* Accepts or rejects the most frequent caller of a frame in a program's stacks. Of `total`
 * observations of the frame, `count` have this caller: of at least six, all but one or nine tenths
 * must have it. */
bool accept_majority(uint32_t count, uint32_t total);

/* The evidence for a path. A donor is a complete sample that has a frame like the partial sample's
 * first one; the callers of that frame in the donor are the path. Paths of other donors are its
 * rivals. The neighbours are the complete samples before and after the partial one. */
struct accept_path {
	/* lead_above: frames above the gap that the donor shares with the partial sample;
	 * lead_below: callers that it shares with a neighbour. Both as the difference from the best
	 * rival, or one more than the number itself if there is no rival. */
	int32_t lead_above, lead_below;
	uint32_t n_unconfirmed; /* callers in the path that one of the neighbours lacks */
	uint32_t n_missing;	/* frames that both neighbours have, and that the path lacks */
	bool is_inferred;	/* Inferring caller by caller gives the same path. */
};

/* Accepts or rejects a path. It is accepted if both ways of inference agree. Otherwise it must be
 * ahead of all rivals on both sides. Each frame of the lead above halves the alternatives, and each
 * frame of the lead below excludes one: an eighth of lead_below * 2^lead_above is the number of
 * unconfirmed and missing frames that is accepted. */
bool accept_path(const struct accept_path *evidence);

#endif
