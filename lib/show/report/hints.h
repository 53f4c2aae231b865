/* SPDX-License-Identifier: MIT */
/*
 * Tells a person who looks at a report what to record, or to install, to see what the report cannot
 * show: where threads waited, the functions of a language that an interpreter or a JIT compiler
 * runs. Only what the recording itself shows is told; two lines at most.
 */
#ifndef REPORT_HINTS_H
#define REPORT_HINTS_H

#include "base/buf.h"
#include "model/profile.h"

/* Appends the hints for a report of a profile's samples, each a line that begins with "# hint: ";
 * nothing if there are none. Returns 0 or -ENOMEM. */
int hints_put(struct profile *profile, struct buf *b);

#endif
