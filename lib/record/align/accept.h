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

/* The evidence for a frame's caller: that of the nearest observation of the frame. */
struct accept_caller {
	bool has_both;	     /* The frame was observed before and after. */
	bool agrees;	     /* Both have the same caller. */
	bool has_changed;    /* The frame was observed with more than one caller. */
	uint32_t distance;   /* samples to the farther one if both agree, else to the nearer one */
	uint32_t n_observed; /* observations of the frame with any caller */
	/* Observations between two that have one caller, and those of them that have another. */
	uint32_t n_enclosed, n_exceptions;
	uint32_t n_sites;   /* call sites of the frame's function, at any height */
	uint32_t n_present; /* call sites whose frame is observed near, at the height it needs */
	bool is_present;    /* The caller is one of these. */
};

/* Accepts or rejects a caller:
 *   - the only call site that is present is accepted, and nothing is accepted against those that
 *     are;
 *   - neighbours that differ are no evidence; one neighbour is, and two that agree are;
 *   - a frame that never changed its caller has that of near neighbours (one neighbour: at most two
 *     samples away), and that of far ones if it was observed at least as often as its function has
 *     call sites;
 *   - a frame that has changed its caller has that of two neighbours, or of a near one, if it has
 *     few exceptions: one in 50, or one in 10 between near neighbours. */
bool accept_caller(const struct accept_caller *evidence);

/* Accepts or rejects the caller that `count` of `total` observations in a program's stacks have:
 * all but one, or nine tenths, of at least six. */
bool accept_majority(uint32_t count, uint32_t total);

/* The evidence for a path: the callers that complete samples, the donors, have below a frame like a
 * partial sample's first. Other such paths are its rivals. The neighbours are the complete samples
 * before and after the partial one. */
struct accept_path {
	/* Frames above that the donor shares with the partial sample, and callers that it shares
	 * with a neighbour: how many more than the best rival; or one more than the number if there
	 * is no rival. */
	int32_t lead_above, lead_below;
	uint32_t n_unconfirmed; /* callers that not both neighbours have */
	uint32_t n_missing;	/* frames that both neighbours have, and the path has not */
	bool is_inferred;	/* Inferring caller by caller gives the same path. */
};

/* Accepts or rejects a path. It is accepted if both ways of inference agree. Otherwise it must be
 * ahead of all rivals on both sides. Each frame of the lead above halves the alternatives, and each
 * frame of the lead below excludes one: an eighth of lead_below * 2^lead_above is the number of
 * unconfirmed and missing frames that is accepted. */
bool accept_path(const struct accept_path *evidence);

#endif
