/* SPDX-License-Identifier: MIT */
/* Explains why a recording has no samples, and names the remedy. */
#ifndef NO_SAMPLES_H
#define NO_SAMPLES_H

#include "daemon/base/options.h"
#include "daemon/status.h"
#include "daemon/capture/target.h"

/* Logs the reason and the remedy as a warning. `is_early`: a signal has ended the recording before
 * the first sample was due. */
void no_samples_warn(const struct options *options, struct target *target,
		     const struct status_numbers *numbers, bool is_early);

/* Logs that --annotated has seen no region, and why that may be, as a warning. */
void no_regions_warn(void);

#endif
