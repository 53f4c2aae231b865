/* SPDX-License-Identifier: MIT */
/*
 * The counters of the workers (worker.h), and their names in `stats`: files that were refused, by
 * reason, and data that was dropped to keep memory within bounds.
 */
#ifndef WORKER_WORKER_COUNTS_H
#define WORKER_WORKER_COUNTS_H

#include <stdint.h>

enum worker_role { /* see worker.h */
		   WORKER_LOOP,
		   WORKER_WALKS,
		   WORKER_TABLES,
		   WORKER_NAMES,
		   WORKER_REGIONS,
		   WORKER_COUNT
};

/* Why a file was refused: X(enumerator, name in `stats`, words). */
#define WORKER_REFUSALS(X)                                                                         \
	X(CRASH, "worker_crash", "the worker crashed while it read it")                            \
	X(SYSCALL, "worker_syscall", "the worker tried a system call that it may not make")        \
	X(MEMORY, "worker_memory", "reading it takes more memory than a worker may have")          \
	X(TIME, "worker_time", "reading it takes more CPU time than a worker may have")            \
	X(HANG, "worker_hang", "the worker slept instead of reading it")                           \
	X(KILLED, "worker_killed", "a worker that read it was killed by somebody else, twice")     \
	X(STUCK, "worker_stuck", "its disk, or the server of its file system, did not answer")     \
	X(REPLY, "worker_reply", "the worker's reply made no sense")

enum worker_refusal {
#define WORKER_X(e, name, words) WORKER_REFUSED_##e,
	WORKER_REFUSALS(WORKER_X)
#undef WORKER_X
		WORKER_REFUSED_COUNT
};

/* Kinds of data that are dropped to bound memory. */
enum worker_forgotten {
	WORKER_FORGOTTEN_WORKERS,
	WORKER_FORGOTTEN_SYMBOLS,
	WORKER_FORGOTTEN_REFUSALS,
	WORKER_FORGOTTEN_COUNT
};

/* The list of the counters in `stats`: X(member of struct workers_counts, name, unit, meaning), as
 * in daemon/counter_list.h. */
#define WORKER_COUNTERS(X)                                                                         \
	X(restarts, "worker_restarts", COUNT,                                                      \
	  "workers that were started after one was ended for a reason")                            \
	X(server_restarts, "worker_server_restarts", COUNT,                                        \
	  "starts of the process that makes workers, after one that had died")                     \
	X(postponed, "worker_calls_postponed", COUNT,                                              \
	  "requests that were not made, since the loop had waited long for others")                \
	X(unproven, "names_unproven", COUNT,                                                       \
	  "locations without a name, since their file was another by then")                        \
	X(forgotten[WORKER_FORGOTTEN_WORKERS], "forgotten.workers", COUNT,                         \
	  "workers that were ended, with what they knew, since they were idle or old")             \
	X(forgotten[WORKER_FORGOTTEN_SYMBOLS], "forgotten.symbols", COUNT,                         \
	  "symbols of files that are read again for the file's next names")                        \
	X(forgotten[WORKER_FORGOTTEN_REFUSALS], "forgotten.refusals", COUNT,                       \
	  "files whose refusal was forgotten before its end, so that they are tried again")

/* Returns the reason in words, for a log line: "the worker crashed while it read it". */
const char *worker_refusal_words(enum worker_refusal why);

struct workers_counts {
	uint64_t postponed; /* calls that were not made (worker_call(): -EDQUOT) */
	uint64_t calls;
	uint64_t restarts;	  /* how often a worker was started after one had failed */
	uint64_t server_restarts; /* starts of a fork server after one had died */
	uint64_t refused[WORKER_REFUSED_COUNT]; /* files */
	uint64_t forgotten[WORKER_FORGOTTEN_COUNT];
	uint64_t unproven; /* locations without a name, because the file had changed */
	uint64_t cpu_ns, resident_bytes; /* CPU time and memory of all workers, the keeper and the
					  * fork server */
	uint64_t role_cpu_ns[WORKER_COUNT]; /* CPU time of the workers of each role */
};

/* Calls `each` with the names in `stats` of restarts and of refusals, and what was counted since
 * `before`; NULL: since the start. Stops at the first nonzero result, and returns it. */
int workers_counts_each(const struct workers_counts *counts, const struct workers_counts *before,
			int (*each)(void *arg, const char *name, uint64_t value), void *arg);

#endif
