/* SPDX-License-Identifier: MIT */
/* Prints a message of stackctl on standard error, as one line "stackctl: ...". */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

void message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What messages begin with instead of "stackctl"; copied, and cut at 319 bytes. */
void message_set_name(const char *name);

#endif
