/* SPDX-License-Identifier: MIT */
/* A question that is being answered: its parameters, its answer so far, and its error. */
#ifndef WEB_ASK_H
#define WEB_ASK_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/json_put.h"
#include "web/web.h"

#define ASK_MANY 64 /* how often a parameter can be given */

struct web_store;

struct ask {
	struct web_store *store;
	const struct web_question *question;
	uint64_t begin_ns; /* CLOCK_MONOTONIC */
	struct json json;  /* the answer; without a file, so its text stays in memory */
	int status;	   /* 200, or that of the error */
	char error[512], remedy[512];
};

/* Keeps an error for the user, with its status and remedy, and returns -EINVAL. */
int ask_fail(struct ask *ask, int status, const char *remedy, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Returns whether the answer is not wanted any more. */
static inline bool ask_is_stopped(const struct ask *ask)
{
	return ask->question->stop &&
	       atomic_load_explicit(ask->question->stop, memory_order_relaxed);
}

/* Returns the value of a parameter; NULL: it is not given. */
const char *ask_text(const struct ask *ask, const char *name);

/* Gives all values of a parameter in the order in which they are given. Returns how many, or
 * -EINVAL if there are more than ASK_MANY. */
int ask_many(struct ask *ask, const char *name, const char *ret_values[static ASK_MANY]);

/* Reads a whole number from `least` to `most`. If the parameter is not given, *ret_value is
 * untouched. Returns 0 or -EINVAL. */
int ask_number(struct ask *ask, const char *name, uint64_t least, uint64_t most,
	       uint64_t *ret_value);

/* Reads a share, from 0 to 1, likewise. */
int ask_share(struct ask *ask, const char *name, double *ret_value);

/* Reads one of the words of a list that NULL ends, likewise. *ret_index is its index. */
int ask_word(struct ask *ask, const char *name, const char *const *words, unsigned *ret_index);

/* Checks that every parameter of the question is in a list of names with blanks between them.
 * Returns 0 or -EINVAL. */
int ask_check(struct ask *ask, const char *names);

#endif
