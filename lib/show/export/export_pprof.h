/* SPDX-License-Identifier: MIT */
/*
 * Writes a profile as several pprof files, for servers that limit the size of a file. The samples
 * have only the labels comm and cgroup, since such servers make a series of each combination of
 * labels.
 */
#ifndef EXPORT_EXPORT_PPROF_H
#define EXPORT_EXPORT_PPROF_H

#include <stdio.h>

#include "export/pprof_parts.h"

/* Writes a file of the entries from number `from` to `from + n - 1`. Returns 0, -ENOMEM,
 * -EOVERFLOW, or -EIO when the stream failed. */
int export_pprof_slice(const struct pprof_parts *parts, size_t from, size_t n, FILE *out);

#endif
