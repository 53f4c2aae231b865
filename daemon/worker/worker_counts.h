/* SPDX-License-Identifier: MIT */
/*
 * What is counted of the workers (worker.h): files that were refused, by the reason, and what was
 * forgotten to keep memory within bounds; and the names of these counts in `stats`.
 */
#ifndef WORKER_WORKER_COUNTS_H
#define WORKER_WORKER_COUNTS_H

#include <stdint.h>

/* Why a file was refused: X(enumerator, name in `stats`, words). */
#define WORKER_REFUSALS(X)                                                                         \
	X(CRASH, "worker_crash", "the worker crashed while it read it")                            \
	X(SYSCALL, "worker_syscall", "the worker tried a system call that it may not make")        \
	X(MEMORY, "worker_memory", "reading it takes more memory than a worker may have")          \
	X(TIME, "worker_time", "reading it takes more CPU time than a worker may have")            \
	X(HANG, "worker_hang", "the worker slept instead of reading it")                           \
	X(REPLY, "worker_reply", "the worker's reply made no sense")

enum worker_refusal {
#define WORKER_X(e, name, words) WORKER_REFUSED_##e,
	WORKER_REFUSALS(WORKER_X)
#undef WORKER_X
		WORKER_REFUSED_COUNT
};

/* What is dropped to keep memory within bounds: X(enumerator, name in `stats`). Workers are ended
 * when they are idle or old, with what they knew; symbols of a file are read again for its next
 * names; a file of which the refusal is forgotten is tried again. */
#define WORKER_FORGOTTEN(X)                                                                        \
	X(WORKERS, "forgotten.workers")                                                            \
	X(SYMBOLS, "forgotten.symbols")                                                            \
	X(REFUSALS, "forgotten.refusals")

enum worker_forgotten {
#define WORKER_X(e, name) WORKER_FORGOTTEN_##e,
	WORKER_FORGOTTEN(WORKER_X)
#undef WORKER_X
		WORKER_FORGOTTEN_COUNT
};

/* In words, for a log line: "the worker crashed while it read it". */
const char *worker_refusal_words(enum worker_refusal why);

struct workers_counts {
	uint64_t calls;
	uint64_t restarts;			/* after a worker was ended for a reason */
	uint64_t server_restarts;		/* of the fork server, after it had died */
	uint64_t refused[WORKER_REFUSED_COUNT]; /* files */
	uint64_t forgotten[WORKER_FORGOTTEN_COUNT];
	uint64_t unproven; /* locations without a name, as the file was another by then */
	uint64_t cpu_ns, resident_bytes; /* of all workers and their server */
};

/* Calls `each` with the names in `stats` of restarts and of refusals, and what was counted since
 * `before`; NULL: since the start. Stops at the first nonzero result, and returns it. */
int workers_counts_each(const struct workers_counts *counts, const struct workers_counts *before,
			int (*each)(void *arg, const char *name, uint64_t value), void *arg);

#endif
