/* SPDX-License-Identifier: MIT */
/* Sends and receives in pieces; see wire.h. */
#include "daemon/worker/wire.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIECE_BYTES ((size_t)64 << 10)

union control {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

/* After a failed transfer: 0 to try again, or why not. */
static int retry(const struct wire *w, short events)
{
	if (errno == EINTR)
		return 0;
	if (errno == EAGAIN && w->wait)
		return w->wait(w->arg, events);
	return errno == ECONNRESET ? -EPIPE : -errno;
}

static int send_some(const struct wire *w, const uint8_t *bytes, size_t len, int fd,
		     size_t *ret_sent)
{
	struct iovec part = {(void *)(uintptr_t)bytes, len};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	union control control = {0};
	ssize_t n;

	if (fd >= 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		struct cmsghdr *c = CMSG_FIRSTHDR(&message);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	n = sendmsg(w->socket, &message, MSG_NOSIGNAL | (w->wait ? MSG_DONTWAIT : 0));
	*ret_sent = n > 0 ? (size_t)n : 0;
	return n < 0 ? retry(w, POLLOUT) : 0;
}

static int send_all(const struct wire *w, const uint8_t *bytes, size_t len, int fd)
{
	int err = 0;

	while (len && !err) {
		size_t sent;

		err = send_some(w, bytes, len, fd, &sent);
		fd = sent ? -1 : fd;
		bytes += sent;
		len -= sent;
	}
	return err;
}

int wire_send(const struct wire *w, const struct wire_header *header, const void *bytes, int fd)
{
	struct wire_header h = *header;
	int err;

	h.has_fd = fd >= 0;
	err = send_all(w, (const uint8_t *)&h, sizeof(h), fd);
	return err ? err : send_all(w, bytes, h.len, -1);
}

static int fd_in(struct msghdr *message)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(message);
	int fd = -1;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

/* Without room for a descriptor, the kernel closes what comes. */
static int receive_some(const struct wire *w, uint8_t *bytes, size_t len, int *fd, size_t *ret_got)
{
	struct iovec part = {bytes, len};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	union control control = {0};
	ssize_t n;

	if (fd) {
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
	}
	n = recvmsg(w->socket, &message, MSG_CMSG_CLOEXEC | (w->wait ? MSG_DONTWAIT : 0));
	*ret_got = n > 0 ? (size_t)n : 0;
	if (n < 0)
		return retry(w, POLLIN);
	if (fd && *fd < 0)
		*fd = fd_in(&message);
	return n ? 0 : -EPIPE;
}

static int receive_header(const struct wire *w, struct wire_header *header, int *fd)
{
	size_t at = 0, got;
	int err = 0;

	while (at < sizeof(*header) && !err) {
		err = receive_some(w, (uint8_t *)header + at, sizeof(*header) - at, fd, &got);
		at += got;
	}
	return err;
}

/* The buffer grows with what has come, not with what was promised. */
static int receive_bytes(const struct wire *w, size_t len, struct buf *bytes)
{
	uint8_t piece[PIECE_BYTES];
	int err = 0;

	while (len && !err) {
		size_t got;

		err = receive_some(w, piece, len < sizeof(piece) ? len : sizeof(piece), NULL, &got);
		buf_put(bytes, piece, got);
		len -= got;
	}
	return err ? err : bytes->failed ? -ENOMEM : 0;
}

int wire_receive(const struct wire *w, size_t max, struct wire_header *ret_header,
		 struct buf *ret_bytes, int *ret_fd)
{
	int fd = -1, err = receive_header(w, ret_header, ret_fd ? &fd : NULL);

	buf_clear(ret_bytes);
	if (!err && ret_header->len > max)
		err = -EBADMSG;
	if (!err)
		err = receive_bytes(w, ret_header->len, ret_bytes);
	if (err && fd >= 0)
		close(fd);
	if (!err && ret_fd)
		*ret_fd = fd;
	return err;
}
