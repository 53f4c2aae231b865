/* SPDX-License-Identifier: MIT */
/* Computes the sampling error of each entry of a profile from the entry's records. */
#ifndef MODEL_PROFILE_VARIANCE_H
#define MODEL_PROFILE_VARIANCE_H

#include "model/profile.h"

/* Returns whether the errors can be computed from the records. They cannot for a counted metric,
 * nor for sums that were added up elsewhere (in a server's database or a tag export). */
bool profile_has_variances(const struct profile *profile);

/* Sets ret_variances[i] to the variance of the weight of entry i of profile_entries(), in the
 * metric's unit squared. The filter must not have by_cpu. Returns 0, -ENOMEM, or an error of
 * store_reader_records(). */
int profile_variances(struct profile *profile, double *ret_variances);

#endif
