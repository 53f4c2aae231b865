/* SPDX-License-Identifier: MIT */
/*
 * The tables of threads whose calls of MPI libstackmpi counts (bpf/stackd_calls.h). A thread asks
 * for its table at a socket, at its first call, and waits for the answer. So a thread of stackd
 * answers, whatever the main loop does. The table is a map, which the main loop reads and the
 * kernel half writes. It stays until the thread of the program has ended: nothing that was counted
 * is lost, however that ends. Then another thread of that user may get it: to enter a new map takes
 * the kernel's time. At most STACKD_CALL_TABLES are kept, of about 0.2 MB.
 *
 * The socket has an abstract name with random digits, which the command has in its environment.
 * Other users' processes get no answer, and a table is used only by a thread that is recorded.
 */
#ifndef CAPTURE_CALL_TABLES_H
#define CAPTURE_CALL_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "stackd_abi.h"

struct call_tables;

#define CALL_TABLES_NAME 48

/* Makes a name for the socket. 0 or -errno. */
int call_tables_name(char ret_name[static CALL_TABLES_NAME]);

/* Opens the socket of that name, and answers from now on. `map`: descriptor of the kernel half's
 * map of tables, borrowed. 0 or -errno. */
int call_tables_new(const char *name, int map, struct call_tables **ret_tables);

/* Ends the answering. NULL is fine. */
void call_tables_free(struct call_tables *tables);

/* A table that is read. The program may write to `calls` meanwhile, and may have written
 * anything. Times are of CLOCK_MONOTONIC. */
struct call_table_read {
	const struct stackd_calls *calls;
	uint32_t number;
	uint64_t since_ns; /* when a thread got it */
	uint64_t ended_ns; /* when the thread was found to have ended; 0: it was not */
	bool is_over;	   /* it ended some seconds ago, and the table goes after this call */
};

/* Called for a table. 0 or an error, which ends the calls. */
typedef int (*call_tables_each)(void *arg, const struct call_table_read *read);

/* Calls `each` for all tables of threads that have begun. To be called by one thread alone. */
int call_tables_visit(struct call_tables *tables, call_tables_each each, void *arg);

/* Makes the library forget all paths, for a new recording in which they have other numbers. */
void call_tables_renew(struct call_tables *tables);

/* Returns when a thread got the table of that number; 0: none has it now. */
uint64_t call_tables_since(struct call_tables *tables, uint32_t number);

/* How many threads have asked for a table and got none, so that their calls are not counted. */
struct call_tables_counts {
	uint64_t refused;    /* there was no table for them, or the kernel gave no memory */
	uint64_t foreign;    /* they are another user's */
	uint64_t unanswered; /* they waited no more, or had ended, or could not take it */
};

struct call_tables_counts call_tables_counts(const struct call_tables *tables); /* NULL is fine */

#endif
