/* SPDX-License-Identifier: MIT */
/* Says which regions, marks and allocations the options ask for. */
#ifndef REGIONS_REGION_OPTIONS_H
#define REGIONS_REGION_OPTIONS_H

#include <stdbool.h>

#include "daemon/base/options.h"
#include "stackd_abi.h"

/* Returns whose regions the options measure: of all processes, of a cgroup, or of some
 * processes. */
enum stackd_scope regions_scope(const struct options *options);

/* Returns whether the options ask for regions, or for allocations, whose records have the same
 * form. */
bool regions_are_wanted(const struct options *options);

/* Returns whether functions are among the regions, the functions of MPI included. */
bool regions_have_functions(const struct options *options);

/* Returns whether a location gets a probe of its own: a mark, an end of a span, or a counter's. */
bool marks_are_wanted(const struct options *options);

#endif
