/* SPDX-License-Identifier: MIT */
/*
 * Messages between stackd and its workers, over a stream socket: a header of fixed width, bytes,
 * and at most one descriptor, which only stackd sends.
 *
 * stackd takes what a worker sends for hostile, since the files that it parses may have subverted
 * it: lengths are bounded, no descriptor is accepted, and whoever reads the bytes checks them.
 * Both ends are the same program, so there are no versions.
 */
#ifndef WORKER_WIRE_H
#define WORKER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* What a message is. Requests and answers to questions are stackd's, replies and questions a
 * worker's. */
enum wire_kind {
	WIRE_REPLY = 1,	 /* status, result */
	WIRE_PART,	 /* the same, of a part of the request: others follow, or the reply */
	WIRE_ANSWER,	 /* status, result, descriptor */
	WIRE_IDENTIFY,	 /* descriptor; its identity */
	WIRE_TABLE,	 /* object; its recipe table */
	WIRE_NAME_LINES, /* see name_service.c */
	WIRE_NAME_ASK,
	WIRE_WALK, /* see walk_wire.h, as all below but for the first three questions */
	WIRE_WALKS,
	WIRE_STEP,
	WIRE_TAGS,
	WIRE_FILE,	     /* descriptor, path; a question of service_file.h */
	WIRE_ASK_OBJECT,     /* question: an object by its number */
	WIRE_ASK_DEBUG,	     /* question: a debug file by its path */
	WIRE_ASK_DEBUGINFOD, /* question: the object's debug file over the network */
	WIRE_ASK_JIT_MAP,    /* question: a process's map of its JIT code */
	WIRE_ASK_MAPPINGS,   /* question: all mappings of a process */
	WIRE_ASK_RULE,	     /* question: a rule of a table that is loaded */
	WIRE_ASK_CODE,	     /* question: executable memory of a process */
	WIRE_ASK_WINDOW,     /* question: such memory as it was at a sample */
};

struct wire_header {
	uint32_t kind;	/* enum wire_kind */
	int32_t status; /* 0 or negative errno */
	uint32_t len;	/* of the bytes that follow */
	uint32_t has_fd;
};

#define WIRE_MAX_BYTES (96u << 20) /* of a message */

/* Looks whether to go on with a transfer that has come to nothing for as long as the socket's
 * timeouts say. Nonzero ends it: the transfer returns that. NULL: it goes on. */
typedef int wire_look_fn(void *arg);

struct wire {
	int socket;
	wire_look_fn *look;
	void *arg;
};

/* Sends a message; `fd` -1: without a descriptor. Returns 0, -EPIPE (the other end has gone), what
 * look() returned, or -errno. */
int wire_send(const struct wire *wire, const struct wire_header *header, const void *bytes, int fd);

/* Receives a message into `ret_bytes`, which is emptied before. `ret_fd` NULL: descriptors are not
 * accepted; else -1 if there is none. Returns 0; -EPIPE; -EBADMSG: it is longer than `max`, or more
 * follows it, though each end waits for the other's message; -ENOMEM; what look() returned; or
 * -errno. */
int wire_receive(const struct wire *wire, size_t max, struct wire_header *ret_header,
		 struct buf *ret_bytes, int *ret_fd);

/* One end of a connection whose transfers nobody waits for: each goes on when the socket is ready.
 * Messages in both directions alternate, but for parts of a reply, several of which may come. */
struct wire_stream {
	int socket;	/* borrowed */
	struct buf out; /* a message, */
	size_t sent;	/* so far, of it; */
	int fd;		/* the descriptor that goes with its first byte; -1: none, or it has gone */
	bool owns_fd;
	struct buf in; /* what has come, */
	size_t taken;  /* and how much of it was taken */
};

/* Begins with a message, of which nothing is sent yet; wire_stream_is_sent() must hold. `fd` is
 * closed when it has been sent if `owns_fd`. */
void wire_stream_put(struct wire_stream *stream, const struct wire_header *header,
		     const void *bytes, int fd, bool owns_fd);

/* Whether the message was sent whole; also if there is none. */
bool wire_stream_is_sent(const struct wire_stream *stream);

/* Sends as much as there is room for. 0, -EPIPE, -ENOMEM or -errno. */
int wire_stream_flush(struct wire_stream *stream);

/* Takes the next message: `ret_bytes` refers to it until the next call. Returns 1; 0: none has come
 * whole; -EPIPE; -EBADMSG: it is longer than `max`; -ENOMEM; or -errno. Descriptors are dropped. */
int wire_stream_get(struct wire_stream *stream, size_t max, struct wire_header *ret_header,
		    struct buf_reader *ret_bytes);

/* Frees what it has; the socket stays open. */
void wire_stream_fini(struct wire_stream *stream);

#endif
