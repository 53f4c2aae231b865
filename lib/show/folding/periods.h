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
 * in the pause. If the recording has no waits, that is not known: the scheduler may have run
 * another thread in the pause, and its time slices are regular whatever the program does. So such
 * pauses make no period, but are reported as uncertain. A function is the marker of a period if
 * nearly all distances between its beginnings are near one length, or near twice that length where
 * samples missed a beginning. In a program without a period, distances are spread too widely: of a
 * Poisson process a third of them lie within a quarter of the densest length, so of twenty
 * distances, eight in ten do not lie there by chance.
 *
 * Distances are counted in samples of the thread, each of which stands for the same CPU time, so it
 * does not matter how long the thread waits for a CPU. The limits, here and in periods.c, were
 * chosen by hand.
 */
#ifndef FOLDING_PERIODS_H
#define FOLDING_PERIODS_H

#include "folding/passes.h"

#define PERIODS_LEAST 20u /* least number of distances from which periods are judged */
/* least share of the distances that are near the length, or near twice the length */
#define PERIODS_REGULAR .8
#define PERIODS_COVERED .5  /* least share of the thread's time that the passes take */
#define PERIODS_SAMPLES 5.0 /* least length, in distances of samples */

/* Why there is no period: the first condition that the best candidate does not meet, in the order
 * in which they are tested. */
enum periods_lack {
	PERIODS_RARE,	   /* no function begins more than PERIODS_LEAST times */
	PERIODS_IRREGULAR, /* distances differ too much */
	PERIODS_SHORT,	   /* the periods are too short for the sampling rate */
	PERIODS_FEW,	   /* too few passes */
	PERIODS_ELSEWHERE, /* the thread spends most of its time outside of such passes */
};

struct period {
	const struct profile_symbol *marker; /* NULL: a period begins after a pause */
	uint32_t thread;		     /* number in the store's tables */
	double ns;			     /* mean length, in CPU time */
	/* share of the distances that are near `ns`; if most of them are, also of those near twice
	 * `ns` */
	double regular;
	double covered; /* share of the thread's time that these distances take */
	uint64_t passes;
	/* moments at which passes begin: index of the first one in `moments`, and their number */
	size_t first, count;
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
	/* the candidate that met most conditions; of several, the most regular one */
	struct period best_missed;
	/* the condition that it did not meet; PERIODS_RARE: there is no candidate */
	enum periods_lack lack;
	/* A candidate from pauses, which is a period only if the thread was blocked in them; its
	 * count is 0 if there is none. */
	struct period uncertain;
};

/* Searches for periods of the threads whose samples the profile's filter selects. Returns 0,
 * -ENOMEM, or an error of store_reader_samples(). The caller frees the periods in any case. */
int periods_find(struct profile *profile, struct periods *ret_periods);
void periods_free(struct periods *periods);

/* Makes the passes of a period, with their samples, and with a counter "cpu" that has the samples'
 * places in CPU time. The begin of a pass is only known to be between two samples, so it is drawn
 * at random there. Passes whose length differs from the period by more than a quarter are left out,
 * and counted in *ret_left_out. Errors as passes_make(); the caller frees the passes in any
 * case. */
int periods_passes(const struct periods *periods, const struct period *period,
		   struct profile *profile, struct passes *ret_passes, uint64_t *ret_left_out);

#endif
