/* SPDX-License-Identifier: MIT */
/*
 * Writes a profile as several pprof files, for servers that limit the size of a file. Samples have
 * only the labels comm, cgroup, service, namespace, pod and container, because such servers make a
 * time series for each combination of labels.
 */
#ifndef EXPORT_EXPORT_PPROF_H
#define EXPORT_EXPORT_PPROF_H

#include <stdio.h>

#include "export/pprof_parts.h"

/* Writes a file with the entries of a slice (pprof_parts_slice()). Returns 0, -ENOMEM, -EOVERFLOW,
 * or -EIO if the stream failed. */
int export_pprof_slice(const struct pprof_parts *slice, FILE *out);

#endif
