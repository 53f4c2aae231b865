/* SPDX-License-Identifier: MIT */
/*
 * The rules that accept or reject an inferred caller, and an inferred path.
 *
 * An observation of a frame is a sample in which the frame has a known caller; the neighbours of an
 * observation are the observations of the same frame just before and after it. The rules compare
 * counts of the recording itself with each other; no weights are fitted. Their principle is
 * unanimity: a caller is accepted if nothing that was observed contradicts it, and if it was
 * observed often enough that a contradiction would have been observed as well. The few limits in
 * accept.c are round numbers, chosen with recordings of the programs of bench/align.py. There less
 * than one percent of the inferred frames is wrong, except in bash, whose interpreter calls itself
 * through the same functions over and over (3.6 % of the few frames that are inferred).
 */
#ifndef ALIGN_ACCEPT_H
#define ALIGN_ACCEPT_H

#include <stdbool.h>
#include <stdint.h>

/* Two observations are near if at most so many samples lie between them: hardly anything changes in
 * that time. */
#define ACCEPT_NEAR 8u

/* The evidence for a frame's caller: what the frame's nearest observations before and after the
 * partial sample show. */
struct accept_caller {
	bool has_both;	  /* The frame was observed both before and after the sample. */
	bool agrees;	  /* Both observations have the same caller. */
	bool has_changed; /* The frame was observed with more than one caller. */
	/* samples from the partial sample to the farther of the two observations if they agree,
	 * else to the nearer one */
	uint32_t distance;
	uint32_t n_observed; /* observations of the frame with any caller */
	/* n_enclosed: observations whose two neighbours have the same caller as each other;
	 * n_exceptions: how many of these observations have another caller than their neighbours */
	uint32_t n_enclosed, n_exceptions;
	uint32_t n_sites; /* known call sites of the frame's function, at any height */
	/* call sites that are present: a frame at the call site was observed within ACCEPT_NEAR
	 * samples before and after, at the height that follows from the callee's height */
	uint32_t n_present;
	/* One of the two observations has a present call site as its caller. */
	bool is_present;
};

/* Returns whether to accept the caller that the evidence speaks for:
 *    - if exactly one call site is present, and it is the caller, the caller is accepted; a caller
 *      that is not among the present call sites is rejected;
 *    - two observations (before and after) with different callers are no evidence; two with the
 *      same caller are, and so is a single one;
 *    - if the frame never changed its caller, near observations are enough (a single one: at most
 *      two samples away); far ones are if the frame was observed at least as often as its function
 *      has call sites;
 *    - if the frame has changed its caller, two observations with the same caller or a near single
 *      one are enough if exceptions are few: one in 50, or one in 10 between near observations. */
bool accept_caller(const struct accept_caller *evidence);

/* Returns whether to accept the most frequent caller of a frame in a program's stacks. Of `total`
 * observations of the frame, `count` have this caller: `total` must be at least six, and all but
 * one of them, or nine tenths, must have it. */
bool accept_majority(uint32_t count, uint32_t total);

/* The evidence for a path. A donor is a complete sample that has a frame like the partial sample's
 * first one; the callers of that frame in the donor are the path. Paths of other donors are its
 * rivals. The neighbours are the nearest complete samples before and after the partial one in
 * time. */
struct accept_path {
	/* lead_above: frames above the gap that the donor shares with the partial sample;
	 * lead_below: callers that the path shares with a neighbour. Each is the difference from
	 * the best rival's number, or one more than the number itself if there is no rival. */
	int32_t lead_above, lead_below;
	uint32_t n_unconfirmed; /* callers in the path that one of the neighbours lacks */
	uint32_t n_missing;	/* frames that both neighbours have, and that the path lacks */
	bool is_inferred;	/* Inferring caller by caller gives the same path. */
};

/* Returns whether to accept a path. It is accepted if inference by single callers gave the same
 * path. Otherwise it must be ahead of all rivals both above and below the gap. Each frame of
 * lead_above halves the number of alternatives, and each frame of lead_below excludes one: so the
 * path may have up to lead_below * 2^lead_above / 8 frames that are unconfirmed or missing. */
bool accept_path(const struct accept_path *evidence);

#endif
