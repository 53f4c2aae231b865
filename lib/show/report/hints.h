/* SPDX-License-Identifier: MIT */
/*
 * Writes hints into the head of a report. A hint says what to record, or to install, so that a
 * report can show more: where threads waited, or the functions of a language that an interpreter or
 * a JIT compiler runs. Hints depend on the recording, and on which packages the
 * machine has that shows it. A report has at most two.
 */
#ifndef REPORT_HINTS_H
#define REPORT_HINTS_H

#include "base/buf.h"
#include "model/profile.h"

/* Appends the hints for a report of a profile's samples, each a line that begins with "# hint: ";
 * nothing if there are none. Returns 0 or -ENOMEM. */
int hints_put(struct profile *profile, struct buf *b);

/* Appends what to install for the debug symbols of a file that has a path: the package, if this
 * machine has the same file from one ("bash-dbgsym"), else a few words. */
void hints_put_package(const struct store_object *object, struct buf *text);

#endif
