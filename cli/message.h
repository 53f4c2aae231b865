/* SPDX-License-Identifier: MIT */
/* Prints a message of stackctl on standard error, as one line "stackctl: ...". */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

#include "base/buf.h"

void message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* From now on messages are appended to a buffer, as sentences parted by "; ": for a screen that
 * they would write over. NULL: they are printed again. */
void message_collect(struct buf *b);

/* What messages begin with instead of "stackctl"; copied, and cut at 319 bytes. */
void message_set_name(const char *name);

#endif
