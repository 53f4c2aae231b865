/* SPDX-License-Identifier: MIT */
/* Processes of an MPI job; see comm.h. */
#include "mpi/comm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

enum { TAG_SIZE = 1, TAG_BYTES };

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

static int exchange(void *arg, uint32_t other, const struct buf *out, struct buf *in)
{
	struct comm *c = arg;
	uint64_t n_out = out->len, n_in;
	uint8_t *bytes;

	MPI_Sendrecv(&n_out, 1, MPI_UINT64_T, (int)other, TAG_SIZE, &n_in, 1, MPI_UINT64_T,
		     (int)other, TAG_SIZE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	count(c, sizeof(n_out));
	bytes = malloc(n_in + 1);
	if (!bytes)
		return -ENOMEM;
	for (size_t sent = 0, got = 0; sent < n_out || got < n_in;) {
		int out_now = piece(n_out - sent), in_now = piece(n_in - got);

		MPI_Sendrecv((n_out ? out->data : bytes) + sent, out_now, MPI_BYTE, (int)other,
			     TAG_BYTES, bytes + got, in_now, MPI_BYTE, (int)other, TAG_BYTES,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		count(c, (size_t)out_now);
		sent += (size_t)out_now;
		got += (size_t)in_now;
	}
	buf_put(in, bytes, n_in);
	free(bytes);
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
