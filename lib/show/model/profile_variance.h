/* SPDX-License-Identifier: MIT */
/* The sampling error of each entry of a profile, from the records that it adds up. */
#ifndef MODEL_PROFILE_VARIANCE_H
#define MODEL_PROFILE_VARIANCE_H

#include "model/profile.h"

/* Returns whether the errors of a profile's metric are known from its records: not of what is
 * counted, nor of sums that were added up elsewhere. */
bool profile_has_variances(const struct profile *profile);

/* Tells the variance of the weight of each of profile_entries(): the square of its standard error,
 * in the metric's unit squared. The filter has no by_cpu. 0, -ENOMEM, or an error of
 * store_reader_records(). */
int profile_variances(struct profile *profile, double *ret_variances);

#endif
