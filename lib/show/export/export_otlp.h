/* SPDX-License-Identifier: MIT */
/*
 * Profiles of OpenTelemetry: requests of OTLP's signal "profiles" (version 1.10, v1development).
 *
 * A profile there has one kind of value, so that a recording becomes one for each of the values
 * that a pprof file has (pprof_parts.h), with the tables of the request in common. A sample is
 * the sum of a path in a thread; thread, process and cgroup are its attributes, named as
 * OpenTelemetry's conventions do. A profile's id follows from what is in it, so it is the same
 * whenever the same is sent.
 */
#ifndef EXPORT_EXPORT_OTLP_H
#define EXPORT_EXPORT_OTLP_H

#include "base/buf.h"
#include "export/pprof_parts.h"

/* Appends a request with `n` of the entries, from number `from` on, in the name of a service. The
 * profile's shape of paths must be the store's: stack_table_is_shaped(). 0 or -ENOMEM. */
int export_otlp_slice(const struct pprof_parts *parts, const char *service, size_t from, size_t n,
		      struct buf *b);

/* Reads the answer to a request: how many profiles the server rejected, and appends what it says
 * of that, as it is shown and without a final NUL. 0, -EBADMSG, -ENOMEM. */
int export_otlp_rejected(const struct buf *answer, uint64_t *ret_rejected, struct buf *said);

#endif
