/* SPDX-License-Identifier: MIT */
/*
 * Reports the files of a recording that were not found on this machine. Without them frames have
 * no names, and walks end at them.
 */
#ifndef PERF_IMPORT_MISSING_H
#define PERF_IMPORT_MISSING_H

#include "perf/import_processes.h"

/* Writes one line on the missing files that have sampled code: their number, the reasons and the
 * remedy. The caller frees *ret_sentence; it is NULL if none is missing. `host` names the machine
 * that recorded if it is not this one, else it is NULL. Returns 0 or -ENOMEM. */
int import_missing(const struct import_processes *processes, const char *host, char **ret_sentence);

#endif
