/* SPDX-License-Identifier: MIT */
/*
 * The files of a recording that could not be taken: without them frames have no names, and stacks
 * are not walked any further.
 */
#ifndef PERF_IMPORT_MISSING_H
#define PERF_IMPORT_MISSING_H

#include "perf/import_processes.h"

/* How many files there are no contents of, why, and what to do: one line, malloc()ed; of files
 * that have sampled code. NULL with 0: none is missing. `host` is where the recording was made, if
 * it was another machine than this one; else NULL. -ENOMEM. */
int import_missing(const struct import_processes *world, const char *host, char **ret_sentence);

#endif
