/* SPDX-License-Identifier: MIT */
/*
 * Sends and receives messages in pieces; see wire.h. A short message takes one system call at
 * either end.
 */
#include "daemon/worker/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define PIECE_BYTES ((size_t)64 << 10)

union control {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

/* Decides by errno after a failed system call. Returns 0: try again; or the error with which the
 * transfer ends. */
static int retry(const struct wire *w)
{
	if (errno == EINTR)
		return 0;
	if (errno == EAGAIN)
		return w->look ? w->look(w->arg) : 0;
	return errno == ECONNRESET ? -EPIPE : -errno;
}

/* Calls sendmsg(2), with a descriptor unless `fd` is -1. */
static ssize_t send_with(int socket, struct iovec *parts, size_t n_parts, int fd, int flags)
{
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = n_parts};
	union control control = {0};

	if (fd >= 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		struct cmsghdr *c = CMSG_FIRSTHDR(&message);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	return sendmsg(socket, &message, flags | MSG_NOSIGNAL);
}

static int send_some(const struct wire *w, struct iovec *parts, size_t n_parts, int fd,
		     size_t *ret_sent)
{
	ssize_t n = send_with(w->socket, parts, n_parts, fd, 0);

	*ret_sent = n > 0 ? (size_t)n : 0;
	return n < 0 ? retry(w) : 0;
}

/* Removes `len` bytes from the front of the parts. */
static void advance(struct iovec *parts, size_t n_parts, size_t len)
{
	for (size_t i = 0; i < n_parts; i++) {
		size_t taken = len < parts[i].iov_len ? len : parts[i].iov_len;

		parts[i].iov_base = (uint8_t *)parts[i].iov_base + taken;
		parts[i].iov_len -= taken;
		len -= taken;
	}
}

int wire_send(const struct wire *w, const struct wire_header *header, const void *bytes, int fd)
{
	struct wire_header h = *header;
	struct iovec parts[] = {{&h, sizeof(h)}, {(void *)(uintptr_t)bytes, h.len}};
	int err = 0;

	h.has_fd = fd >= 0;
	while (!err && parts[0].iov_len + parts[1].iov_len) {
		size_t sent;

		err = send_some(w, parts, 2, fd, &sent);
		fd = sent ? -1 : fd;
		advance(parts, 2, sent);
	}
	return err;
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

/* Receives up to `len` bytes. If `fd` is NULL there is no room for a descriptor, so the kernel
 * drops a descriptor that comes with the bytes. */
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
	n = recvmsg(w->socket, &message, MSG_CMSG_CLOEXEC);
	*ret_got = n > 0 ? (size_t)n : 0;
	if (n < 0)
		return retry(w);
	if (fd && *fd < 0)
		*fd = fd_in(&message);
	return n ? 0 : -EPIPE;
}

/* Receives at least a header into `piece`; bytes that have arrived behind it are received, too. */
static int receive_header(const struct wire *w, uint8_t *piece, int *fd, size_t *ret_len)
{
	size_t got;
	int err = 0;

	*ret_len = 0;
	while (*ret_len < sizeof(struct wire_header) && !err) {
		err = receive_some(w, piece + *ret_len, PIECE_BYTES - *ret_len, fd, &got);
		*ret_len += got;
	}
	return err;
}

/* Receives `len` more bytes. The buffer grows with the bytes that arrive, not by the length that
 * the header states. */
static int receive_rest(const struct wire *w, uint8_t *piece, size_t len, struct buf *bytes)
{
	int err = 0;

	while (len && !err) {
		size_t got;

		err = receive_some(w, piece, len < PIECE_BYTES ? len : PIECE_BYTES, NULL, &got);
		buf_put(bytes, piece, got);
		len -= got;
	}
	return err ? err : bytes->failed ? -ENOMEM : 0;
}

int wire_receive(const struct wire *w, size_t max, struct wire_header *ret_header,
		 struct buf *ret_bytes, int *ret_fd)
{
	uint8_t piece[PIECE_BYTES];
	size_t have;
	int fd = -1, err = receive_header(w, piece, ret_fd ? &fd : NULL, &have);

	buf_clear(ret_bytes);
	if (!err) {
		memcpy(ret_header, piece, sizeof(*ret_header));
		have -= sizeof(*ret_header);
		if (ret_header->len > max || have > ret_header->len)
			err = -EBADMSG;
	}
	if (!err) {
		buf_put(ret_bytes, piece + sizeof(*ret_header), have);
		err = receive_rest(w, piece, ret_header->len - have, ret_bytes);
	}
	if (err && fd >= 0)
		close(fd);
	if (!err && ret_fd)
		*ret_fd = fd;
	return err;
}

/* --- transfers that nobody waits for --------------------------------------------------------- */

static void drop_fd(struct wire_stream *s)
{
	if (s->fd >= 0 && s->owns_fd)
		close(s->fd);
	s->fd = -1;
}

void wire_stream_put(struct wire_stream *s, const struct wire_header *header, const void *bytes,
		     int fd, bool owns_fd)
{
	struct wire_header h = *header;

	h.has_fd = fd >= 0;
	buf_clear(&s->out);
	BUF_PUT(&s->out, h);
	buf_put(&s->out, bytes, h.len);
	s->sent = 0;
	s->fd = fd;
	s->owns_fd = owns_fd;
}

bool wire_stream_is_sent(const struct wire_stream *s)
{
	return s->sent == s->out.len && !s->out.failed;
}

int wire_stream_flush(struct wire_stream *s)
{
	if (s->out.failed)
		return -ENOMEM;
	while (s->sent < s->out.len) {
		struct iovec rest = {s->out.data + s->sent, s->out.len - s->sent};
		ssize_t n = send_with(s->socket, &rest, 1, s->fd, MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0 && errno != EINTR)
			return errno == ECONNRESET ? -EPIPE : -errno;
		if (n > 0) {
			s->sent += (size_t)n;
			drop_fd(s);
		}
	}
	return 0;
}

/* Moves the bytes that were not taken to the front. */
static void compact(struct wire_stream *s)
{
	s->in.len -= s->taken;
	memmove(s->in.data, s->in.data + s->taken, s->in.len);
	s->taken = 0;
}

/* Receives at most a piece of what has arrived. 1; 0: nothing has; or an error. */
static int receive_more(struct wire_stream *s)
{
	uint8_t piece[PIECE_BYTES];
	ssize_t n = recv(s->socket, piece, sizeof(piece), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return !n || errno == ECONNRESET ? -EPIPE : -errno;
	if (s->taken)
		compact(s);
	buf_put(&s->in, piece, (size_t)n);
	return s->in.failed ? -ENOMEM : 1;
}

/* Returns whether a whole message has arrived. 1, 0 or -EBADMSG. */
static int has_message(const struct wire_stream *s, size_t max, struct wire_header *ret_header)
{
	size_t have = s->in.len - s->taken;

	if (have < sizeof(*ret_header))
		return 0;
	memcpy(ret_header, s->in.data + s->taken, sizeof(*ret_header));
	if (ret_header->len > max)
		return -EBADMSG;
	return have - sizeof(*ret_header) >= ret_header->len;
}

int wire_stream_get(struct wire_stream *s, size_t max, struct wire_header *ret_header,
		    struct buf_reader *ret_bytes)
{
	int has;

	while (!(has = has_message(s, max, ret_header))) {
		int more = receive_more(s);

		if (more <= 0)
			return more;
	}
	if (has < 0)
		return has;
	s->taken += sizeof(*ret_header);
	*ret_bytes = buf_reader(s->in.data + s->taken, ret_header->len);
	s->taken += ret_header->len;
	return 1;
}

void wire_stream_fini(struct wire_stream *s)
{
	drop_fd(s);
	buf_free(&s->out);
	buf_free(&s->in);
	s->sent = s->taken = 0;
}
