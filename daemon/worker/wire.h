/* SPDX-License-Identifier: MIT */
/*
 * Messages between stackd and its workers, over a stream socket: a header of fixed width, bytes,
 * and at most one descriptor, which only stackd sends.
 *
 * stackd treats what a worker sends as hostile, since the files that it parses may have subverted
 * it: lengths are bounded, no descriptor is accepted, and the code that reads the bytes checks
 * them. Both ends are the same program, so there are no versions.
 */
#ifndef WORKER_WIRE_H
#define WORKER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* The kind of a message. stackd sends requests, and answers to questions; a worker sends replies
 * and questions. */
enum wire_kind {
	WIRE_REPLY = 1,	 /* status, result */
	WIRE_PART,	 /* status, result of a part of the request; further parts follow, or the
			  * reply */
	WIRE_ANSWER,	 /* status, result, descriptor */
	WIRE_IDENTIFY,	 /* descriptor of a file; the reply is the file's identity */
	WIRE_TABLE,	 /* object; the reply is its recipe table */
	WIRE_NAME_LINES, /* see name_service.c */
	WIRE_NAME_ASK,
	WIRE_WALK, /* walk_wire.h describes this and the other messages about walks */
	WIRE_WALKS,
	WIRE_STEP,
	WIRE_TAGS,
	WIRE_FILE,	     /* descriptor and path of a file, and a question of service_file.h */
	WIRE_ASK_OBJECT,     /* question: an object by its number */
	WIRE_ASK_DEBUG,	     /* question: a debug file by its path */
	WIRE_ASK_DEBUGINFOD, /* question: the object's debug file over the network */
	WIRE_ASK_JIT_MAP,    /* question: a process's map of its JIT code */
	WIRE_ASK_MAPPINGS,   /* question: all mappings of a process */
	WIRE_ASK_RULE,	     /* question: a rule of a loaded table */
	WIRE_ASK_CODE,	     /* question: executable memory of a process */
	WIRE_ASK_WINDOW,     /* question: executable memory as it was at a sample */
};

struct wire_header {
	uint32_t kind;	/* enum wire_kind */
	int32_t status; /* 0 or negative errno */
	uint32_t len;	/* number of the bytes that follow */
	uint32_t has_fd;
};

#define WIRE_MAX_BYTES (96u << 20) /* longest message */

/* Called when a transfer has made no progress for the socket's timeout: returns 0 to continue, or
 * the result with which the transfer ends. NULL: transfers always continue. */
typedef int wire_look_fn(void *arg);

struct wire {
	int socket;
	wire_look_fn *look;
	void *arg;
};

/* Sends a message; `fd` -1: without a descriptor. Returns 0, -EPIPE (the other end is closed), the
 * result of look(), or -errno. */
int wire_send(const struct wire *wire, const struct wire_header *header, const void *bytes, int fd);

/* Receives a message into `ret_bytes`, which is emptied before. `ret_fd` NULL: descriptors are not
 * accepted; else -1 if there is none. Returns 0; -EPIPE; -EBADMSG: it is longer than `max`, or more
 * bytes follow it, although the other end must wait for a message first; -ENOMEM; the result of
 * look(); or -errno. */
int wire_receive(const struct wire *wire, size_t max, struct wire_header *ret_header,
		 struct buf *ret_bytes, int *ret_fd);

/* One end of a connection with transfers that do not block: each continues when the socket is
 * ready. The two ends send messages in turn, except that a reply may have several parts. */
struct wire_stream {
	int socket;	/* borrowed */
	struct buf out; /* the message that is being sent */
	size_t sent;	/* bytes of `out` that were sent so far */
	int fd;		/* descriptor that goes with the first byte; -1: none, or it was sent */
	bool owns_fd;
	struct buf in; /* bytes that have arrived */
	size_t taken;  /* bytes of `in` that were taken */
};

/* Starts to send a message; wire_stream_is_sent() must hold. `fd` is closed after it was sent if
 * `owns_fd`. */
void wire_stream_put(struct wire_stream *stream, const struct wire_header *header,
		     const void *bytes, int fd, bool owns_fd);

/* Returns whether the whole message of wire_stream_put() was sent, or there is none. */
bool wire_stream_is_sent(const struct wire_stream *stream);

/* Sends as much of the message as the socket has room for, without waiting. 0, also if some is
 * left; -EPIPE: the other end is closed; -ENOMEM; or another -errno. */
int wire_stream_flush(struct wire_stream *stream);

/* Takes the next message: `ret_bytes` refers to it until the next call. Returns 1; 0: no whole
 * message has arrived; -EPIPE; -EBADMSG: it is longer than `max`; -ENOMEM; or -errno. Descriptors
 * are dropped. */
int wire_stream_get(struct wire_stream *stream, size_t max, struct wire_header *ret_header,
		    struct buf_reader *ret_bytes);

/* Frees its memory; the socket stays open. */
void wire_stream_fini(struct wire_stream *stream);

#endif
