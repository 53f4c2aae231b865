/* SPDX-License-Identifier: MIT */
/*
 * The table of each thread that calls MPI (bpf/stackd_calls.h), which stackd makes: a thread asks
 * for it at its first call, by a socket whose name is in the environment. stackd keeps the table,
 * so all that is counted is there when the thread ends, also by _exit() or a signal. Where no
 * stackd answers, nothing is counted.
 */
#ifndef LIBSTACKMPI_TABLE_H
#define LIBSTACKMPI_TABLE_H

#include "call.h"

/* The call in which the thread is; valid while stackd_calls.inside is not 0. It is not on the
 * stack, since an exception or longjmp() may leave the call without a word. */
struct inside {
	uint64_t caller; /* its return address */
	const struct function *function;
	struct stackd_call_path *path; /* NULL: not known */
	bool has_bytes;		       /* a function for C has told its bytes: */
	uint64_t sent, received;
};

struct table {
	struct stackd_calls *calls; /* NULL: there is none */
	uint32_t number;
	bool is_asked;
	struct inside inside;
};

extern __thread struct table table_of_thread STACKMPI_HIDDEN;

/* Asks for the table of this thread. It waits for an answer, for some seconds at most. */
void table_ask(void) STACKMPI_HIDDEN;

/* Returns the thread's table; NULL: it has none. */
static inline struct stackd_calls *table_take(void)
{
	if (__builtin_expect(!table_of_thread.calls && !table_of_thread.is_asked, 0))
		table_ask();
	return table_of_thread.calls;
}

#endif
