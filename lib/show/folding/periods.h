/* SPDX-License-Identifier: MIT */
/*
 * Periods of threads, found from samples alone: a routine that a thread enters again and again, at
 * regular distances, as a loop's body does.
 *
 *   samples   a a a b b c c a a a b b c c a a a b b c c        runs of b begin at regular distances
 *                   ^             ^             ^
 *
 * For each function, the moments are taken at which a thread's samples begin to have it in their
 * path; and, for threads that work in bursts, those at which samples come again after a pause. A
 * function is a marker of a period if nearly all distances between these are near one length, or
 * two of it where a sample missed a run. Distances of a program without a period are spread too
 * widely for that, whatever the function: a Poisson process has a third of them within a quarter of
 * the densest length, and twenty distances of which eight in ten are there are not to be had by
 * chance.
 *
 * Distances are counted in samples of the thread, each of which stands for as much of its CPU time.
 * So it does not matter how long the thread had to wait for a CPU.
 */
#ifndef FOLDING_PERIODS_H
#define FOLDING_PERIODS_H

#include "folding/passes.h"

#define PERIODS_LEAST	20u /* distances without which nothing is said */
#define PERIODS_REGULAR .8  /* of the distances are near the length, or twice it */
#define PERIODS_COVERED .5  /* of the thread's time */
#define PERIODS_SAMPLES 5.0 /* that a length has at least */

/* Why there is no period: what the best candidate lacks, in the order in which it is asked for. */
enum periods_lack {
	PERIODS_RARE,	   /* no function begins more than PERIODS_LEAST times */
	PERIODS_IRREGULAR, /* distances differ too much */
	PERIODS_SHORT,	   /* for the sampling rate */
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
	double sample_ns;	   /* of CPU time, between two samples */
	struct period best_missed; /* the candidate that lacks least, then the most regular one */
	enum periods_lack lack;	   /* what it lacks; PERIODS_RARE: there is none */
};

/* Looks for periods of the threads whose samples the profile's filter selects. 0, -ENOMEM, or an
 * error of store_reader_samples(). The caller frees in any case. */
int periods_find(struct profile *profile, struct periods *ret_periods);
void periods_free(struct periods *periods);

/* Makes the passes of a period, with their samples and, as the counter "cpu", these samples' places
 * in CPU time: a pass begins anywhere between two samples, so within that at random. Passes whose
 * length is not within a quarter of the period are left out, and counted in *ret_left_out. Errors
 * as passes_make(); the caller frees in any case.
 */
int periods_passes(const struct periods *periods, const struct period *period,
		   struct profile *profile, struct passes *ret_passes, uint64_t *ret_left_out);

#endif
