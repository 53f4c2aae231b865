/* SPDX-License-Identifier: MIT */
/* Prints a message of stackctl on standard error, as one line "stackctl: ...". */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

#include "base/buf.h"
#include "base/parts.h"

void message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Notes that what is shown is incomplete, after a message that says what is missing. Then stackctl
 * ends with CMD_FAILED where it would end with CMD_DONE, as message_status() tells. */
void message_partial(void);
int message_status(int status);

/* From now on appends messages to a buffer, with "; " between them, instead of printing them, for
 * verbs that use the full screen. NULL: messages are printed again. */
void message_collect(struct buf *b);

/* Sets the name with which messages begin instead of "stackctl". It is copied, and cut at 319
 * bytes. */
void message_set_name(const char *name);

/* Prints that this build lacks a part: "stackctl fold: built without folding (make WITHOUT=fold)".
 * `name` is the verb's argv[0]. Returns the verb's exit status. */
int message_left_out(const char *name, enum part part);

#endif
