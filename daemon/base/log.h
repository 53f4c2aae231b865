/* SPDX-License-Identifier: MIT */
/*
 * Logs messages to stderr, one a line. Under systemd each line carries its priority for the
 * journal; on a terminal it clears the status line first.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

enum log_priority { LOG_PRIORITY_ERROR = 3, LOG_PRIORITY_WARNING = 4, LOG_PRIORITY_INFO = 6 };

/* Finds out whether stderr goes to the journal or to a terminal. To be called once, at the start.
 */
void log_setup(void);

/* Returns whether stderr is a terminal. */
bool log_is_terminal(void);

/* Logs a message, printf-like, without a newline at its end. */
__attribute__((format(printf, 2, 3))) void log_message(enum log_priority priority,
						       const char *format, ...);

#define log_error(...)	 log_message(LOG_PRIORITY_ERROR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_PRIORITY_WARNING, __VA_ARGS__)
#define log_info(...)	 log_message(LOG_PRIORITY_INFO, __VA_ARGS__)

/* Replaces the status line (terminals only); the next message or log_status(NULL) clears it. */
void log_status(const char *line);

#endif
