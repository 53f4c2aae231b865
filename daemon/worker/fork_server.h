/* SPDX-License-Identifier: MIT */
/*
 * A process without rights, forked from stackd before anything of a profiled process is read, that
 * forks the workers: stackd needs no right to run programs, or to become another user, when a
 * worker has to be started again. A worker begins with that process's small memory in a
 * millisecond.
 *
 *   stackd ──► fork server ──► worker, worker, ...       each with a socket to stackd
 *
 * stackd asks it to end workers as well: it has another user, and so no right to kill them itself.
 */
#ifndef WORKER_FORK_SERVER_H
#define WORKER_FORK_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct fork_server;

/* What a worker runs, with its end of the socket, until the other end is closed. `page` is shared
 * with stackd (worker.h). */
typedef void fork_server_run_fn(int socket, void *page);

/* Forks the process; there must be one thread. Returns 0 or -errno; the caller frees *ret_server.
 */
int fork_server_new(fork_server_run_fn *run, struct fork_server **ret_server);

/* Ends it and its workers. NULL is fine. */
void fork_server_free(struct fork_server *server);

/* Bits of enum sandbox_gap: the rights that it, and so its workers, could not give up. */
unsigned fork_server_gaps(const struct fork_server *server);

/* Forks a worker. `keeps_priority`: it runs at the priority that stackd's loop has. Any thread.
 * Returns 0 or -errno; the caller closes *ret_socket, which does not block. */
int fork_server_spawn(struct fork_server *server, bool keeps_priority, int page_fd, pid_t *ret_pid,
		      int *ret_socket);

/* Kills a worker, unless it has ended, and reaps it. Gives the status of wait(2), and its CPU time.
 * Any thread. Returns 0 or -errno. */
int fork_server_end(struct fork_server *server, pid_t pid, int *ret_status, uint64_t *ret_cpu_ns);

/* The server's own process, for its cost. */
pid_t fork_server_pid(const struct fork_server *server);

#endif
