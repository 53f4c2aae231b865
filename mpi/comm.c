/* SPDX-License-Identifier: MIT */
/* Connects the processes of an MPI job; see comm.h. */
#include "mpi/comm.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

/* of the first message, which is so short that every MPI sends it at once */
#define OPENING_BYTES 2040

enum { TAG_OPENING = 1, TAG_BYTES };

static void count(struct comm *c, size_t bytes)
{
	c->figures.messages++;
	c->figures.bytes += bytes;
	c->figures.largest = bytes > c->figures.largest ? bytes : c->figures.largest;
}

static int piece(size_t left)
{
	return left < COMM_PIECE ? (int)left : COMM_PIECE;
}

/* The first message of an exchange: the number of bytes, and the first of these. */
struct opening {
	uint64_t len;
	uint8_t bytes[OPENING_BYTES];
};

static size_t opening_size(size_t len)
{
	return offsetof(struct opening, bytes) + (len < OPENING_BYTES ? len : OPENING_BYTES);
}

/* Exchanges, in pieces, what does not fit into the first message. */
static void exchange_rest(struct comm *c, int other, const uint8_t *out, size_t n_out, uint8_t *in,
			  size_t n_in)
{
	for (size_t sent = 0, got = 0; sent < n_out || got < n_in;) {
		int out_now = piece(n_out - sent), in_now = piece(n_in - got);

		MPI_Sendrecv(out + sent, out_now, MPI_BYTE, other, TAG_BYTES, in + got, in_now,
			     MPI_BYTE, other, TAG_BYTES, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		count(c, (size_t)out_now);
		sent += (size_t)out_now;
		got += (size_t)in_now;
	}
}

static int exchange(void *arg, uint32_t other, const struct buf *out, struct buf *in)
{
	struct comm *c = arg;
	struct opening mine = {.len = out->len}, theirs;
	size_t size = opening_size(out->len), first = size - offsetof(struct opening, bytes), got;
	uint8_t none = 0, *rest;

	if (first)
		memcpy(mine.bytes, out->data, first);
	MPI_Sendrecv(&mine, (int)size, MPI_BYTE, (int)other, TAG_OPENING, &theirs,
		     (int)sizeof(theirs), MPI_BYTE, (int)other, TAG_OPENING, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	count(c, size);
	got = opening_size(theirs.len) - offsetof(struct opening, bytes);
	rest = malloc(theirs.len - got + 1);
	if (!rest)
		return -ENOMEM;
	exchange_rest(c, (int)other, first < out->len ? out->data + first : &none, out->len - first,
		      rest, theirs.len - got);
	buf_put(in, theirs.bytes, got);
	buf_put(in, rest, theirs.len - got);
	free(rest);
	return in->failed ? -ENOMEM : 0;
}

void comm_new(struct comm *c)
{
	int rank, size;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	*c = (struct comm){.router = {(uint32_t)rank, (uint32_t)size, c, exchange}};
}

void comm_send(struct comm *c, uint32_t to, const void *bytes, size_t len)
{
	for (size_t sent = 0; sent < len;) {
		int now = piece(len - sent);

		MPI_Send((const uint8_t *)bytes + sent, now, MPI_BYTE, (int)to, TAG_BYTES,
			 MPI_COMM_WORLD);
		count(c, (size_t)now);
		sent += (size_t)now;
	}
}

int comm_receive(struct comm *c, uint32_t from, size_t len,
		 int (*take)(void *arg, const uint8_t *bytes, size_t n), void *arg)
{
	uint8_t *bytes = malloc((size_t)piece(len) + 1);
	int err = bytes ? 0 : -ENOMEM;

	(void)c;
	for (size_t got = 0; err == 0 && got < len;) {
		int now = piece(len - got);

		MPI_Recv(bytes, now, MPI_BYTE, (int)from, TAG_BYTES, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		err = take(arg, bytes, (size_t)now);
		got += (size_t)now;
	}
	free(bytes);
	return err;
}

_Noreturn void comm_abort(int status)
{
	MPI_Abort(MPI_COMM_WORLD, status);
	abort();
}
