/* SPDX-License-Identifier: MIT */
/* Why a recording has no samples, and what to do about it. */
#ifndef NO_SAMPLES_H
#define NO_SAMPLES_H

#include "daemon/base/options.h"
#include "daemon/status.h"
#include "daemon/capture/target.h"

/* Logs it as a warning. */
void no_samples_warn(const struct options *options, struct target *target,
		     const struct status_numbers *numbers);

#endif
