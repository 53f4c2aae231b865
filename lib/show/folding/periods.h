/* SPDX-License-Identifier: MIT */
/*
 * Finds periods of threads from samples alone: a routine that a thread enters again and again at
 * regular distances, such as the body of a loop.
 *
 *   samples   a a a b b c c a a a b b c c a a a b b c c        runs of b begin at regular distances
 *                   ^             ^             ^
 *
 * A function begins where a sample has it in its path and the thread's previous sample has not. For
 * threads that work in bursts, the end of a pause is a beginning as well, if the thread was blocked
 * in the pause. If the recording has no waits, the scheduler may have run another thread meanwhile,
 * and its time slices are regular whatever the program does: such pauses are no period, but are
 * reported as uncertain. A function is the marker
 * of a period if nearly all distances between its beginnings are near one length, or near twice
 * that length where samples missed a beginning. In a program without a period, distances are spread
 * too widely: of a Poisson process a third of them lie within a quarter of the densest length, so
 * of twenty distances, eight in ten do not lie there by chance.
 *
 * Distances are counted in samples of the thread, each of which stands for the same CPU time. So
 * waits of the thread for a CPU do not matter. The limits, here and in periods.c, were chosen by
 * hand.
 */
#ifndef FOLDING_PERIODS_H
#define FOLDING_PERIODS_H

#include "folding/passes.h"

#define PERIODS_LEAST	20u /* fewer distances give no verdict */
#define PERIODS_REGULAR .8  /* share of the distances that must be near the length, or twice it */
#define PERIODS_COVERED .5  /* of the thread's time */
#define PERIODS_SAMPLES 5.0 /* the shortest length */

/* Why there is no period: the first condition that the best candidate fails, in the order of
 * testing. */
enum periods_lack {
	PERIODS_RARE,	   /* no function begins more than PERIODS_LEAST times */
	PERIODS_IRREGULAR, /* distances differ too much */
	PERIODS_SHORT,	   /* too short for the sampling rate */
	PERIODS_FEW,	   /* passes */
	PERIODS_ELSEWHERE, /* the thread spends most of its time outside of such passes */
};

struct period {
	const struct profile_symbol *marker; /* NULL: a period begins after a pause */
	uint32_t thread;		     /* number in the store's tables */
	double ns;			     /* its mean length, in CPU time */
	double regular; /* share of the distances that are near it, or twice it if most are near it
			 */
	double covered; /* share of the thread's time that these take */
	uint64_t passes;
	size_t first, count; /* moments at which passes begin */
};

/* Where a pass begins: between a sample of the thread and the one before. */
struct period_moment {
	uint64_t time_ns; /* half way */
	uint32_t sample;  /* number in the thread */
};

struct periods {
	VEC(struct period) found; /* the one to take first */
	VEC(struct period_moment) moments;
	double sample_ns; /* of CPU time, between two samples */
	/* the candidate that fails latest; of several, the most regular */
	struct period best_missed;
	enum periods_lack lack; /* that it fails with; PERIODS_RARE: there is no candidate */
	/* Pauses that would be a period if the thread was blocked in them; a count of 0: none. */
	struct period uncertain;
};

/* Looks for periods of the threads whose samples the profile's filter selects. Returns 0, -ENOMEM,
 * or an error of store_reader_samples(). The caller frees the periods in any case. */
int periods_find(struct profile *profile, struct periods *ret_periods);
void periods_free(struct periods *periods);

/* Makes the passes of a period, with their samples and, as the counter "cpu", the samples' places
 * in CPU time. The begin of a pass, known only to lie between two samples, is drawn at random
 * there. Passes whose length differs from the period by more than a quarter are left out, and
 * counted in *ret_left_out. Errors as passes_make(); the caller frees the passes in any case. */
int periods_passes(const struct periods *periods, const struct period *period,
		   struct profile *profile, struct passes *ret_passes, uint64_t *ret_left_out);

#endif
