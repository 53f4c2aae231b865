/* SPDX-License-Identifier: MIT */
/* Puts descriptors into control messages; see fd_pass.h. */
#include "daemon/worker/fd_pass.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

union control {
	char bytes[CMSG_SPACE(FD_PASS_MOST * sizeof(int))];
	struct cmsghdr align;
};

int fd_pass_send(int socket, const void *bytes, size_t len, const int *fds, size_t n, int flags)
{
	struct iovec part = {(void *)(uintptr_t)bytes, len};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	union control control = {0};

	if (n) {
		struct cmsghdr *c = &control.align;

		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(n * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	}
	while (sendmsg(socket, &message, MSG_NOSIGNAL | flags) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

ssize_t fd_pass_receive(int socket, void *bytes, size_t len, int ret_fds[FD_PASS_MOST])
{
	struct iovec part = {bytes, len};
	union control control = {0};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *c;
	ssize_t n;

	for (size_t i = 0; i < FD_PASS_MOST; i++)
		ret_fds[i] = -1;
	do
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	c = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	return n < 0 ? -errno : n;
}
