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

#define PERIODS_LEAST 20u /* with fewer distances there is no verdict */
/* least share of the distances that are near the length, or near twice the length */
#define PERIODS_REGULAR .8
#define PERIODS_COVERED .5  /* least share of the thread's time that the passes take */
#define PERIODS_SAMPLES 5.0 /* least length, in distances of samples */

/* Why there is no period: the first condition that the best candidate fails, in the order of
 * testing. */
enum periods_lack {
	PERIODS_RARE,	   /* no function begins more than PERIODS_LEAST times */
	PERIODS_IRREGULAR, /* distances differ too much */
	PERIODS_SHORT,	   /* too short for the sampling rate */
	PERIODS_FEW,	   /* too few passes */
	PERIODS_ELSEWHERE, /* the thread spends most of its time outside of such passes */
};

struct period {
	const struct profile_symbol *marker; /* NULL: a period begins after a pause */
	uint32_t thread;		     /* number in the store's tables */
	double ns;			     /* mean length, in CPU time */
	/* share of the distances that are near `ns`, or near twice `ns` if most are near `ns` */
	double regular;
	double covered; /* share of the thread's time that these distances take */
	uint64_t passes;
	size_t first, count; /* moments at which passes begin: index in `moments`, and how many */
};

/* The begin of a pass: between a sample of the thread and the previous one. */
struct period_moment {
	uint64_t time_ns; /* half way between both samples */
	uint32_t sample;  /* number of the later sample among those of the thread */
};

struct periods {
	VEC(struct period) found; /* found[0] is the best one */
	VEC(struct period_moment) moments;
	double sample_ns; /* CPU time between two samples */
	/* the candidate that fails the latest condition; of several, the most regular one */
	struct period best_missed;
	/* the condition that it fails; PERIODS_RARE: there is no candidate */
	enum periods_lack lack;
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
