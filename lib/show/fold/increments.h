/* SPDX-License-Identifier: MIT */
/*
 * The folded curve of a counter of which only increments are known: by how much it was more at one
 * sample than at one before, in the same thread. So it is where a counter of the processor has to
 * share it with others (perf's groups that rotate, PERF_SAMPLE_READ): nobody reads it where an
 * instance begins or ends, and for most of an instance it may not have counted at all.
 *
 *   passes       |             0             |             1             |
 *   readings         * * * *        * * * *        * * * *        * * *
 *   increments       `-^-^-'--------^-^-^--------...
 *
 * An increment is the curve's rise between two places, times the instance's total. So the curve is
 * what explains all of them, which Richardson and Lucy's iteration finds (the likelihood's maximum;
 * a rate below 0 cannot come of it). Each instance has a factor of its own, as its total is not
 * known. Then the readings of an instance that hang together are laid on this curve where they fit
 * best, and are the points of an ordinary fit (curve.h), which knows of kinks and noise; twice, so
 * that they are laid on what has sharp kinks.
 *
 * An increment over a time in which the counter did not count at every moment is scaled up by the
 * caller: a guess, which a curve is made of only where there are too few that need none, and where
 * increments are shorter than a quarter of an instance; else there is none.
 *
 * Then all of that is done once more with the increments that the curve implies: what comes out
 * otherwise is the bias of the method, which is taken away (jackknife.h).
 *
 * Bands: those of the fit take the places of readings for known, so to them comes the spread of the
 * iteration's curve when one of FOLD_JACKKNIFE groups of instances after the other is left out, and
 * the bias.
 */
#ifndef FOLD_INCREMENTS_H
#define FOLD_INCREMENTS_H

#include "fold/curve.h"

struct fold_increment {
	double from, to;      /* x in the first, and in the last, of its instances */
	double outside;	      /* its time between instances, in any unit that lengths have */
	double value;	      /* by how much the counter is more at its end; not below 0 */
	double ran;	      /* the share of its time in which the counter counted, above 0 */
	uint32_t first, last; /* instances; those whose numbers are between are within it */
	bool follows;	      /* it begins where the one before it in the array ends */
};

/* Fits a curve to `n` increments; `lengths` are those of the instances. *ret_total: what an
 * instance of mean length counts; *ret_whole: the number of increments in which the counter counted
 * all the time, if the curve is of these alone, else 0. The caller frees *ret_curve by
 * fold_curve_free(). 0, or an error of fold_curve_fit(). */
int fold_increments_fit(const struct fold_increment *increments, size_t n, const double *lengths,
			uint32_t n_lengths, const struct fold_options *options,
			struct fold_curve **ret_curve, double *ret_total, size_t *ret_whole);

#endif
