/* SPDX-License-Identifier: MIT */
/* Prints a message of stackctl on standard error, as one line "stackctl: ...". */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

void message(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
