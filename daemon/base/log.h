/* SPDX-License-Identifier: MIT */
/*
 * Logs messages to stderr, one a line. Under systemd each line carries its priority for the
 * journal; on a terminal it clears the status line first.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

enum log_priority { LOG_PRIORITY_ERROR = 3, LOG_PRIORITY_WARNING = 4, LOG_PRIORITY_INFO = 6 };

/* Events that the journal has under a stable MESSAGE_ID, for `journalctl MESSAGE_ID=...` and
 * alerts. X(enumerator, id, meaning). The ids never change. */
#define LOG_EVENTS(X)                                                                              \
	X(RATE_LOWERED, "ee7c6d67748d4b4c919d8f8c40001482",                                        \
	  "the rate was lowered to keep within a budget")                                          \
	X(FILE_REFUSED, "57683704c9f94eeb996808be8307f593",                                        \
	  "unwind information of files was refused")                                               \
	X(WORKER_RESTARTED, "edc8ce412b244cef89c285097a0706a9",                                    \
	  "the worker that reads files has ended and was started again")                           \
	X(DISK_FULL, "d5543d7974ff4073a5087ddd1e1e32ca", "there is no room for the store")         \
	X(RING_OVERFLOW, "fb4b5b91c4564f559c45a8d4cfd0b80f",                                       \
	  "the ring was full: samples were lost")                                                  \
	X(EVENTS_LOST, "fa1af938c78149728ce41cfb56d36652",                                         \
	  "events of processes and mappings were lost")                                            \
	X(NUMBERS_USED_UP, "7044188fc0264b17a51ad37a8aaf1c82", "numbers of files are used up")

enum log_event {
#define LOG_X(e, id, meaning) LOG_EVENT_##e,
	LOG_EVENTS(LOG_X)
#undef LOG_X
};

/* Finds out whether stderr goes to the journal or to a terminal. To be called once, at the start.
 */
void log_setup(void);

/* Logs a message, printf-like, without a newline at its end. */
__attribute__((format(printf, 2, 3))) void log_message(enum log_priority priority,
						       const char *format, ...);

/* Logs an event as a warning, with its id where stderr goes to the journal. */
__attribute__((format(printf, 2, 3))) void log_event(enum log_event event, const char *format, ...);

#define log_error(...)	 log_message(LOG_PRIORITY_ERROR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_PRIORITY_WARNING, __VA_ARGS__)
#define log_info(...)	 log_message(LOG_PRIORITY_INFO, __VA_ARGS__)

/* Logs an error: the text `sentence`, which this frees; or, if it is NULL, `what` and the
 * description of the negative errno `err`. */
void log_failure(char *sentence, const char *what, int err);

/* Replaces the status line (terminals only); the next message or log_status(NULL) clears it. */
void log_status(const char *line);

#endif
