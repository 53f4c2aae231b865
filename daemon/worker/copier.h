/* SPDX-License-Identifier: MIT */
/*
 * Runs a process that copies files from file systems that may not answer: those that a program
 * serves (FUSE), and those of other machines (NFS). It forks a child for each file, which opens the
 * file and writes it into memory of stackd's. A child that hangs costs its own file: nobody waits
 * for it, and it ends when its system call does.
 *
 *   stackd ──► copier ──► child, child, ...     each with a pipe to stackd
 *
 * The copier has stackd's user and its right to read any file, for the file is one that stackd
 * chose; but it can open nothing for writing, and has no network.
 *
 * Of a large file a child copies what walks need, the headers and the loaded parts, and what names
 * of functions need, as far as it may: symbols, and small sections that lead to debug files. The
 * rest of the copy reads as zeros.
 */
#ifndef WORKER_COPIER_H
#define WORKER_COPIER_H

#include <stdint.h>
#include <sys/types.h>

struct copier;

/* Forks the copier; there must be one thread. 0 or -errno; the caller frees *ret_copier. */
int copier_new(struct copier **ret_copier);

/* Ends the copier, and its children where they can be ended. Does not wait. NULL is fine. */
void copier_free(struct copier *copier);

pid_t copier_pid(const struct copier *copier); /* for tests */

/* Returns the CPU time of the copier and of all its children so far, but for what a child has spent
 * since its last mark. NULL: 0. */
uint64_t copier_cpu_ns(const struct copier *copier);

#define COPIER_WHOLE_BYTES (UINT64_C(32) << 20) /* a file of at most this size is copied whole */
#define COPIER_MOST_BYTES  (UINT64_C(96) << 20) /* of any at most this many bytes */
#define COPIER_MARK	   'm' /* in the pipe: a part was copied, or the file opened */
#define COPIER_DONE	   'd' /* in the pipe: the copy is complete */
#define COPIER_FAILED	   'f' /* in the pipe: the file cannot be read */
#define COPIER_LARGE	   'l' /* in the pipe: it can, but what walks need is too much */

/* Begins a copy of the file behind `path_fd`, an O_PATH descriptor, into `memory`, an empty
 * memfd, of at most `most` bytes, which are rounded up to MiB; 0: the child only looks whether the
 * file can be read. Gives a descriptor for the marks above, which reads as ended once the child has
 * ended; the caller closes it. 0; -EPIPE: the copier has ended; or -errno. Does not wait. */
int copier_begin(struct copier *copier, int path_fd, int memory, uint64_t most, int *ret_marks);

#endif
