/* SPDX-License-Identifier: MIT */
/*
 * Runs a process that fetches debug files from debuginfod servers, if the user has named some
 * (DEBUGINFOD_URLS). It alone has a library for HTTP and may open network sockets: stackd itself
 * may not, and whatever a server sends or does not send, stackd goes on.
 *
 *   stackd ── number, build-id ──► fetcher ──► servers
 *          ◄── number, status, descriptor ──
 *
 * The fetcher ends a fetch when the next request comes, or stackd has ended.
 */
#ifndef WORKER_FETCHER_H
#define WORKER_FETCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct fetcher;

/* Forks the fetcher; there must be one thread. A fetch may take `most_bytes` and `most_ns`. 0;
 * -ENOENT: the user has named no servers; or -errno. The caller frees *ret_fetcher. */
int fetcher_new(uint64_t most_bytes, uint64_t most_ns, struct fetcher **ret_fetcher);

/* Ends the fetcher, and does not wait. NULL is fine. */
void fetcher_free(struct fetcher *fetcher);

/* Returns the fetcher's process; 0: it has ended, and was reaped. For tests. */
pid_t fetcher_pid(struct fetcher *fetcher);

/* Return the CPU time that the fetcher has used, also after it has ended, and its resident bytes
 * that are not of files. NULL: 0. Any thread. fetcher_cpu_ns() reaps a fetcher that has ended. */
uint64_t fetcher_cpu_ns(struct fetcher *fetcher);
uint64_t fetcher_resident_bytes(struct fetcher *fetcher);

/* Gets the debug file with that build-id, and waits for it; calls `must_stop` some times a second,
 * and gives up once it says so. Returns a descriptor that the caller owns; -ENOENT: no server has
 * it, or there is no library; -ECANCELED: must_stop() said so; -ETIMEDOUT: it took too long, and a
 * fetcher that does not end it by itself is killed, which is logged, and each further call returns
 * -EPIPE; or another -errno. To be called by one thread at a time. */
int fetcher_fetch(struct fetcher *fetcher, const uint8_t *build_id, size_t len,
		  bool (*must_stop)(void *arg), void *arg);

#endif
