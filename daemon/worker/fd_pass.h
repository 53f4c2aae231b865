/* SPDX-License-Identifier: MIT */
/* Sends short messages with descriptors to another process, and receives them (SCM_RIGHTS). */
#ifndef WORKER_FD_PASS_H
#define WORKER_FD_PASS_H

#include <stddef.h>
#include <sys/types.h>

#define FD_PASS_MOST 3 /* descriptors of a message */

/* Sends `len` bytes with `n` descriptors, which stay open. `flags`: of sendmsg(), beside
 * MSG_NOSIGNAL. 0 or -errno. */
int fd_pass_send(int socket, const void *bytes, size_t len, const int *fds, size_t n, int flags);

/* Receives a message into a buffer of `len` bytes. Returns its length; 0 at the end; or -errno.
 * Sets the first of the FD_PASS_MOST descriptors in ret_fds, which the caller closes, and the
 * others to -1. */
ssize_t fd_pass_receive(int socket, void *bytes, size_t len, int ret_fds[FD_PASS_MOST]);

#endif
