/* SPDX-License-Identifier: MIT */
/*
 * A profile in several pprof files, for servers that take no large ones. Their samples have no
 * labels but comm and cgroup: such servers make a series of each combination.
 */
#ifndef EXPORT_EXPORT_PPROF_H
#define EXPORT_EXPORT_PPROF_H

#include <stdio.h>

#include "export/pprof_parts.h"

/* Writes a file of `n` of the entries, from number `from` on. Returns 0, -ENOMEM, -EOVERFLOW, or
 * -EIO when the stream failed. */
int export_pprof_slice(const struct pprof_parts *parts, size_t from, size_t n, FILE *out);

#endif
