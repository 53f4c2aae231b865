/* SPDX-License-Identifier: MIT */
/*
 * The workers: processes without rights that read files and memory which profiled processes control
 * (ELF files, call frame information, DWARF, symbols, code, maps of JIT code), each for one thread
 * of stackd.
 *
 *   loop    identity of files, checks of steps             its calls are short, so the loop waits
 *   walks   walks of copied stacks                         the loop goes on meanwhile
 *   tables  recipe tables
 *   names   names of locations
 *   regions functions, lines and allocators for probes     the loop's, for calls that take long
 *
 * A call is a request and a reply. In between, a worker asks for what it needs (an object's
 * descriptor, a debug file, a mapping), and stackd decides what it gets (worker_answer_fn). A
 * worker keeps only what it can ask for again, so stackd can end it at any moment.
 *
 * stackd ends a worker that crashes, makes a forbidden system call, takes too much memory or CPU
 * time, or sleeps. It refuses the file that the worker read for a while (refusals.h), logs it with
 * the reason, and counts it. The next call starts another worker. A worker that was killed by
 * somebody else is started again for the same call, once for a file. A worker that has been idle
 * for a while is ended as well, to save memory.
 */
#ifndef WORKER_WORKER_H
#define WORKER_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "daemon/worker/fork_server.h"
#include "daemon/worker/worker_counts.h"
#include "proc/object.h"

struct workers;
struct worker;

/* Makes the workers of a fork server, which is borrowed; no process is started yet.
 * `most_analysed`: the most bytes of code in a file that they analyse (recipe_compile_within()); 0:
 * no limit. 0 or -errno. */
int workers_new(struct fork_server *server, uint64_t most_analysed, struct workers **ret_workers);
void workers_free(struct workers *workers); /* ends them; NULL is fine */

/* Calls `take` while this thread waits for a worker or for the fork server: see
 * fork_server_use_meanwhile(). `workers` NULL is fine. */
void workers_use_meanwhile(struct workers *workers, fork_server_meanwhile_fn *take, void *arg);

/* Calls the function of workers_use_meanwhile(), if this thread has set it: for work of the loop
 * itself that takes long. `workers` (struct workers) NULL is fine. */
void workers_meanwhile(void *workers);

/* Returns most_analysed of workers_new(). */
uint64_t worker_most_analysed(const struct worker *worker);

/* Returns the worker of a role; NULL if `workers` is. */
struct worker *workers_of(struct workers *workers, enum worker_role role);

/* Ends workers that have been idle for a while. To be called about once a second. */
void workers_trim(struct workers *workers);

/* Adds `n` to the count of dropped data of a kind. Any thread. */
void worker_count_forgotten(struct worker *worker, enum worker_forgotten what, uint64_t n);

/* Adds `n` to the count of locations that have no name because their file had changed. Any
 * thread. */
void worker_count_unproven(struct worker *worker, uint64_t n);

/* Returns whether no worker can be started any more. Any thread. */
bool workers_are_lost(const struct workers *workers);

/* Returns the CPU time so far of all workers, the keeper and the fork server. Any thread. */
uint64_t workers_cpu_ns(struct workers *workers);

/* Gives the counts so far. Any thread. */
void workers_counts(struct workers *workers, struct workers_counts *ret_counts);

/* Answers a question of a worker: fills `answer`, and gives a descriptor to send along (-1: none),
 * which is closed afterwards if *ret_is_owned. Returns the status that the worker gets: 0 or
 * negative errno. */
typedef int worker_answer_fn(void *arg, uint32_t kind, struct buf_reader *question,
			     struct buf *answer, int *ret_fd, bool *ret_is_owned);

/* Takes a part of the reply to a call of worker_begin(): its status and bytes, which are borrowed.
 * Returns 0, or -EBADMSG: the part is invalid. */
typedef int worker_part_fn(void *arg, int status, struct buf_reader *bytes);

struct worker_call {
	uint32_t kind;			    /* enum wire_kind */
	int fd;				    /* descriptor that is sent along; -1: none */
	const struct object *object;	    /* the object whose file is read; NULL: the shared page
					     * (worker_page.h) names it */
	const struct object_table *objects; /* objects that the shared page may name; NULL: only
					     * `object` is read */
	const char *path;	  /* without an object: the path of the file that is read, for the
				   * log */
	uint64_t key;		  /* without an object: the key by which the file is refused; 0:
				   * none */
	worker_answer_fn *answer; /* NULL: no question is answered */
	worker_part_fn *part;	  /* NULL: there are no parts */
	void *arg;
	bool (*is_cancelled)(void *arg, uint64_t cpu_ns); /* called now and then with the CPU time
							   * of the call; returns whether to end
							   * it. NULL: it is never ended */
};

/* Calls a worker, and waits for its reply; one call at a time. The call fails if the worker sleeps
 * at WORKER_SLEEP_LOOKS looks in a row, gets nothing from a disk for half a minute of looks, or
 * uses more CPU time than its role may. Returns the status of its reply: 0 or more, or negative
 * errno; -EOWNERDEAD: the file was refused, now or before; -ECANCELED: is_cancelled() said so;
 * -ECHILD: no worker can be started; -EDQUOT: calls of the loop have taken so long lately that this
 * one, if it is no WIRE_IDENTIFY, is not made; -ENOMEM: stackd itself has no memory. */
int worker_call(struct worker *worker, const struct worker_call *call, const struct buf *request,
		struct buf *ret_reply);

/* Begins a call without waiting for it, in the thread of the worker's other calls. 0, or the errors
 * of worker_call(); -EBUSY: one is under way. `call` is copied, what it points to is borrowed. */
int worker_begin(struct worker *worker, const struct worker_call *call, const struct buf *request);

/* Continues a call of worker_begin(), as far as it can without waiting. To be called when
 * worker_poll_fd() is readable, and every WORKER_LOOK_MS while it is not, so that a worker that
 * hangs is noticed. Calls the functions of the call. Returns whether the call is still under way;
 * else gives what worker_call() would return. The limits of worker_call() hold for each part of the
 * reply by itself. If the worker fails, the file that it was reading is refused. */
bool worker_go_on(struct worker *worker, int *ret_status);

/* Returns whether a call of worker_begin() is under way. */
bool worker_is_busy(const struct worker *worker);

/* Returns a descriptor that is readable when worker_go_on() is to be called, also after the worker
 * was started again. It belongs to the worker. -1: there is none. */
int worker_poll_fd(const struct worker *worker);

#define WORKER_LOOK_MS	   10 /* time between looks at a worker that has not answered */
#define WORKER_SLEEP_LOOKS 50 /* a worker that sleeps at so many looks in a row counts as hung */

/* Ends the worker after an invalid reply, and refuses the file. Returns -EOWNERDEAD. */
int worker_refuse_reply(struct worker *worker, const struct worker_call *call);

/* Returns the CPU time of the worker's calls so far, including those of workers that were ended. */
uint64_t worker_cpu_ns(struct worker *worker);

/* Answers WIRE_ASK_OBJECT for an object: writes what a worker has to know about the object, and
 * gives a duplicate of its file's descriptor, which the caller closes; -1: none. */
int worker_answer_object(struct worker *worker, const struct object *object, struct buf *answer,
			 int *ret_fd);

#endif
