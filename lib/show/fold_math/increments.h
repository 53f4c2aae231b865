/* SPDX-License-Identifier: MIT */
/*
 * Fits the folded curve of a counter of which only increments are known: the differences between
 * two samples of one thread. That is the case for hardware counters that are multiplexed (perf's
 * groups that rotate, read with PERF_SAMPLE_READ): such a counter is not read where an instance (a
 * pass) begins or ends, and it may not have counted at all for most of an instance. Below, a
 * reading is the counter's value at a sample.
 *
 *   passes       |             0             |             1             |
 *   readings         * * * *        * * * *        * * * *        * * *
 *   increments       `-^-^-'--------^-^-^--------...
 *
 * An increment is the curve's rise between the normalised times of two readings, times the
 * instance's total. Richardson and Lucy's iteration finds the curve that explains all increments
 * best (the maximum of the likelihood; rates stay positive). As the total of an instance is not
 * known, each instance has a factor, which is estimated as well. Then each series of connected
 * readings of an instance is placed on this curve where it fits best, and the readings become the
 * points of an ordinary fit (curve.h), which handles breaks and noise. This is done FITS times,
 * each time on the curve fitted before, so that readings are placed on a curve with sharp breaks.
 *
 * If the counter counted for only a part of an increment's time, the caller scales the increment
 * up, which is a guess. Scaled increments are used only if there are too few whole ones, and only
 * if they are shorter than a quarter of an instance; else there is no curve.
 *
 * Then all of this is repeated with the increments that the curve implies. The difference between
 * the two curves is the bias of the method, and is subtracted (jackknife.h).
 *
 * The bands of the fit assume that the places of readings are known. So they are widened by the
 * bias, and by the spread of the iteration's curve when each of FOLD_JACKKNIFE groups of instances
 * is left out in turn.
 */
#ifndef FOLD_MATH_INCREMENTS_H
#define FOLD_MATH_INCREMENTS_H

#include "fold_math/curve.h"

struct fold_increment {
	double from, to; /* x in its first instance, and x in its last one */
	/* the part of the increment's time that is between instances, in the unit of `lengths` */
	double outside;
	double value; /* by how much the counter rose; not below 0 */
	double ran;   /* share of its time in which the counter counted; above 0 */
	/* numbers of the instances in which it begins and ends; it includes those between them */
	uint32_t first, last;
	bool follows; /* It begins where the array's previous increment ends. */
};

/* Fits a curve to `n` increments; `lengths` has the length of each of the `n_lengths` instances.
 * *ret_total receives the count of an instance of mean length; *ret_whole the number of whole
 * increments (the counter counted all the time) if the curve is made of these only, else 0. The
 * caller frees *ret_curve with fold_curve_free(). Returns 0, or an error of fold_curve_fit(). */
int fold_increments_fit(const struct fold_increment *increments, size_t n, const double *lengths,
			uint32_t n_lengths, const struct fold_options *options,
			struct fold_curve **ret_curve, double *ret_total, size_t *ret_whole);

#endif
