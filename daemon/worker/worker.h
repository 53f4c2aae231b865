/* SPDX-License-Identifier: MIT */
/*
 * The workers: processes without rights that read what profiled processes control (ELF files, call
 * frame information, DWARF, symbols, code, maps of JIT code), each for one thread of stackd.
 *
 *   loop    identity of files, checks of steps             its calls are short: the loop waits
 *   walks   walks of copied stacks                         the loop goes on meanwhile
 *   tables  recipe tables
 *   names   names of locations
 *   regions functions, lines and allocators for probes; the loop's, where that may take long
 *
 * A call is a request and a reply. In between, a worker asks for what it needs: an object's
 * descriptor, a debug file, a mapping; stackd decides what it gets (worker_answer_fn). It keeps
 * only what it can find again, so it can be ended at any moment.
 *
 * A worker that crashes, makes a forbidden system call, takes too much memory or CPU time, or
 * sleeps, is ended; the file that it read is refused for the rest of the run, is logged with the
 * reason, and counted. The next call starts another. One that has nothing to do for a while is
 * ended as well, for its memory.
 */
#ifndef WORKER_WORKER_H
#define WORKER_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "daemon/worker/fork_server.h"
#include "daemon/worker/worker_counts.h"
#include "proc/object.h"

enum worker_role {
	WORKER_LOOP,
	WORKER_WALKS,
	WORKER_TABLES,
	WORKER_NAMES,
	WORKER_REGIONS,
	WORKER_COUNT
};

struct workers;
struct worker;

/* Makes the workers of a fork server, which is borrowed; none is started yet. `most_analysed`: the
 * bytes of code of a file that they analyse (recipe_compile_within()); 0: no limit. 0 or -errno. */
int workers_new(struct fork_server *server, uint64_t most_analysed, struct workers **ret_workers);
void workers_free(struct workers *workers); /* ends them; NULL is fine */

/* Has `take` called while this thread waits for a worker or for the fork server: see
 * fork_server_use_meanwhile(). `workers` NULL is fine. */
void workers_use_meanwhile(struct workers *workers, fork_server_meanwhile_fn *take, void *arg);

/* Returns the limit of workers_new(). */
uint64_t worker_most_analysed(const struct worker *worker);

/* Returns the worker of a role; NULL of no workers. */
struct worker *workers_of(struct workers *workers, enum worker_role role);

/* Ends workers that have had nothing to do for a while. To be called about once a second. */
void workers_trim(struct workers *workers);

/* Adds to what was forgotten. Any thread. */
void worker_count_forgotten(struct worker *worker, enum worker_forgotten what, uint64_t n);

/* Adds to the locations that have no name since their file had become another. Any thread. */
void worker_count_unproven(struct worker *worker, uint64_t n);

/* Whether no worker can be started any more, for ever. Any thread. */
bool workers_are_lost(const struct workers *workers);

/* Gives the counts so far. Any thread. */
void workers_counts(struct workers *workers, struct workers_counts *ret_counts);

/* Whether an object's file was refused. Any thread. */
bool workers_refused(struct workers *workers, const struct object *object);

/* Answers a question of a worker: fills `answer`, and gives a descriptor to send along (-1: none),
 * which is closed afterwards if *ret_is_owned. Returns the status that the worker gets: 0 or
 * negative errno. */
typedef int worker_answer_fn(void *arg, uint32_t kind, struct buf_reader *question,
			     struct buf *answer, int *ret_fd, bool *ret_is_owned);

/* Takes a part of the reply to a call of worker_begin(): its status and bytes, which are borrowed.
 * Returns 0, or -EBADMSG: it makes no sense. */
typedef int worker_part_fn(void *arg, int status, struct buf_reader *bytes);

struct worker_call {
	uint32_t kind;		     /* enum wire_kind */
	int fd;			     /* sent along; -1: none */
	const struct object *object; /* whose file is read; NULL: the page tells */
	const struct object_table
		*objects;	  /* for what the page tells; NULL: only `object` is read */
	const char *path;	  /* without an object: what is read, for the log; */
	uint64_t key;		  /* and what it is refused by; 0: nothing */
	worker_answer_fn *answer; /* NULL: no question is answered */
	worker_part_fn *part;	  /* NULL: there are no parts */
	void *arg;
	bool (*is_cancelled)(void *arg, uint64_t cpu_ns); /* asked now and then; NULL: never. The
							   * CPU time is that of the call */
};

/* Calls a worker; one call at a time. It waits for WORKER_SLEEP_LOOKS looks at a worker that
 * sleeps, and for the CPU time of its role at one that runs. Returns the status of its reply: 0 or
 * more, or negative errno; -EOWNERDEAD: its file has been refused, now or before; -ECANCELED;
 * -ECHILD: no worker can be started; -ENOMEM: stackd itself has no memory. */
int worker_call(struct worker *worker, const struct worker_call *call, const struct buf *request,
		struct buf *ret_reply);

/* Begins a call that nobody waits for; of the same thread's calls. 0, or the errors of
 * worker_call(); -EBUSY: one is under way. `call` is copied, what it points to is borrowed. */
int worker_begin(struct worker *worker, const struct worker_call *call, const struct buf *request);

/* Goes on with it, as far as that goes without waiting: to be called when worker_poll_fd() is
 * readable, and each WORKER_LOOK_MS while it is not, so that a worker that hangs is seen. The
 * functions of the call are called from here. Returns whether it is still under way; else gives
 * what worker_call() would return. Limits hold for each part of the call, and a file at which the
 * worker fails is refused. */
bool worker_go_on(struct worker *worker, int *ret_status);

/* Whether a call of worker_begin() is under way. */
bool worker_is_busy(const struct worker *worker);

/* A descriptor that is readable when worker_go_on() is to be called, whichever process the worker
 * is. It is the worker's. -1: there is none. */
int worker_poll_fd(const struct worker *worker);

#define WORKER_LOOK_MS	   10 /* between looks at a worker that has not answered */
#define WORKER_SLEEP_LOOKS 50 /* in a row, at a worker that sleeps, after which it hangs */

/* To be called for a reply that made no sense: the worker is ended, and the file refused. Returns
 * -EOWNERDEAD. */
int worker_refuse_reply(struct worker *worker, const struct worker_call *call);

/* CPU time of the worker's calls so far, of those that were ended too. */
uint64_t worker_cpu_ns(struct worker *worker);

/* Answers WIRE_ASK_OBJECT for an object: what a worker has to know of it, and a duplicate of its
 * descriptor, which the caller closes; -1 for none. */
int worker_answer_object(struct worker *worker, const struct object *object, struct buf *answer,
			 int *ret_fd);

#endif
