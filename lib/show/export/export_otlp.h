/* SPDX-License-Identifier: MIT */
/*
 * Profiles of OpenTelemetry: requests of OTLP's signal "profiles" (version 1.11, v1development,
 * whose messages have the status Alpha).
 *
 * A profile of OTLP has one kind of value, so a recording becomes several profiles, one for each
 * value that a pprof file would have (pprof_parts.h). Each is a request of its own: a receiver may
 * take some profiles of a request, fail at another one, and report that the request has failed.
 * Within a request, each container or systemd unit, and each set of labels in one (model/labels.h),
 * is a resource with a profile of its own; a push sends the entries of one of these only, for the
 * same reason. A sample is the sum over a
 * path in the threads of one name, its attribute. Receivers make a series of each combination of
 * attributes, so there are no ids of processes and threads. There are no links to spans either: a
 * recording has none. A profile's id is a hash of its content, so the same content
 * always gets the same id.
 */
#ifndef EXPORT_EXPORT_OTLP_H
#define EXPORT_EXPORT_OTLP_H

#include "base/buf.h"
#include "base/strings.h"
#include "export/pprof_parts.h"

/* Numbers the place of a thread, by which it belongs to a resource: "container NAME" or "unit
 * NAME", or "" if neither is known; on the next lines are its labels. Returns 0, or an error of
 * strings_intern(). */
int export_otlp_place(const struct store_thread *thread, struct strings *places,
		      uint32_t *ret_number);

/* Appends to `b` a request with a profile of the entries of a slice (pprof_parts_slice()), of their
 * value number `value`, and with the name of a service; nothing, if all these values are 0.
 * stack_table_is_shaped() must be false: the profile's filter must not change the shape of paths.
 * Returns 0 or -ENOMEM. */
int export_otlp_slice(const struct pprof_parts *slice, uint32_t value, const char *service,
		      struct buf *b);

/* Reads the server's answer to a request: sets *ret_rejected to the number of profiles that it
 * rejected, and *ret_said to its explanation as it is, "" for none, which the caller frees.
 * Returns 0; -EBADMSG: the answer is malformed; -ENOMEM. */
int export_otlp_rejected(const struct buf *answer, uint64_t *ret_rejected, char **ret_said);

#endif
