/* SPDX-License-Identifier: MIT */
/*
 * Reads the answer with which a server refuses a request. Most answer with a line of text. Parca's
 * gateway from gRPC to HTTP answers with JSON: {"code": 2, "message": "...", "details": []}.
 */
#ifndef PUSH_ANSWER_H
#define PUSH_ANSWER_H

#define ANSWER_UNKNOWN 2 /* the status of gRPC for an error that the server gave no status */

/* Returns gRPC's number of the error; -1: the answer has none. */
int answer_code(const char *answer);

/* Returns the message, malloc()ed: that of the JSON, or the answer itself. NULL: memory is short.
 */
char *answer_message(const char *answer);

#endif
