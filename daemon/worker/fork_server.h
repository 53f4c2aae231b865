/* SPDX-License-Identifier: MIT */
/*
 * Runs a process without rights that forks the workers. It is forked from stackd before stackd
 * reads anything of a profiled process. When stackd later has to start a worker again, it needs no
 * right to run programs or to become another user. A worker starts within a millisecond, with the
 * small memory of that process.
 *
 *   stackd ──► keeper ──► fork server ──► worker, worker, ...     each with a socket to stackd
 *
 * stackd also asks the server to end workers, because they have another user, so that stackd has no
 * right to kill them. If the server is killed, its workers end with it. Then the keeper, which has
 * given up the same rights as the server, forks another server, because stackd has given up the
 * right to make such a process. The keeper does nothing else, so little can happen to it; without
 * it there are no more servers.
 *
 * stackd waits for an answer for a bounded time. If the server is stopped, or sleeps when it should
 * fork, at FORK_SERVER_LOOKS looks in a row, it counts as dead. In any other state it counts as
 * dead after FORK_SERVER_MOST_LOOKS looks, because it may be waiting for the end of a worker that
 * gets no CPU. These limits hold for the keeper, too.
 */
#ifndef WORKER_FORK_SERVER_H
#define WORKER_FORK_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct fork_server;

/* The function that a worker runs, with its end of the socket, until the other end is closed.
 * `page` is shared with stackd (worker.h). */
typedef void fork_server_run_fn(int socket, void *page);

#define FORK_SERVER_LOOK_MS    10 /* between looks at a process that has not answered */
#define FORK_SERVER_LOOKS      50
#define FORK_SERVER_MOST_LOOKS 3000

/* Does work that cannot wait for the end of a call. `is_waiting`: the call has waited for another
 * FORK_SERVER_LOOK_MS; otherwise it has ended. */
typedef void fork_server_meanwhile_fn(void *arg, bool is_waiting);

/* Calls `take` each time that the calling thread has waited FORK_SERVER_LOOK_MS for the server or a
 * worker, and after each of its calls of a worker. `take` must call neither the server nor a
 * worker. NULL: no function is called any more. Only one thread at a time may have such a
 * function. */
void fork_server_use_meanwhile(struct fork_server *server, fork_server_meanwhile_fn *take,
			       void *arg);

/* Calls the function of fork_server_use_meanwhile(), if the calling thread has set it. */
void fork_server_meanwhile(const struct fork_server *server, bool is_waiting);

/* Forks the processes; there must be one thread. Returns 0 or -errno; the caller frees *ret_server.
 */
int fork_server_new(fork_server_run_fn *run, struct fork_server **ret_server);

/* Ends the keeper, the server and the workers, and waits until they have ended, at most as long as
 * for an answer. NULL is fine. */
void fork_server_free(struct fork_server *server);

/* Returns bits of enum sandbox_gap: the rights that keeper, server and workers could not give
 * up. */
unsigned fork_server_gaps(const struct fork_server *server);

/* A worker's process. */
struct fork_child {
	pid_t pid;	 /* 0: there is none */
	int socket;	 /* connection to the worker */
	unsigned server; /* the server that has forked it: its number of restarts */
};

/* Forks a worker. `keeps_priority`: it runs at the priority that stackd's loop has. If the server
 * has died, it is started again. Any thread. Returns 0 or -errno: -ECHILD if there is no server,
 * and no other can be started; the caller closes the socket. */
int fork_server_spawn(struct fork_server *server, bool keeps_priority, int page_fd,
		      struct fork_child *ret_child);

/* Kills a worker, unless it has ended, and reaps it. Gives the status of wait(2), and its CPU time.
 * Any thread. Returns 0 or -errno: -EHOSTDOWN if it ended with its server, which says nothing about
 * the worker; -EBUSY: it does not end within two seconds, since it waits for a disk in a way that
 * no signal ends, and was left behind. */
int fork_server_end(struct fork_server *server, const struct fork_child *child, int *ret_status,
		    uint64_t *ret_cpu_ns);

/* Gives the process ids of the keeper and the server, by which their CPU time and memory are
 * measured; 0: there is none. Any thread. */
void fork_server_pids(const struct fork_server *server, pid_t ret_pids[2]);

/* Returns how often a server was started again. Any thread. */
unsigned fork_server_restarts(const struct fork_server *server);

/* Returns whether there is no server, and none can be started any more. Any thread. */
bool fork_server_is_lost(const struct fork_server *server);

#endif
