/* SPDX-License-Identifier: MIT */
/* Describes MPI's functions in a table; see mpi_calls.h. */
#include "mpi/mpi_calls.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define NONE	.how = STACKD_MPI_NONE
#define UNKNOWN .how = STACKD_MPI_UNKNOWN

/* `c`, `t` and `p` (count, datatype, partner) are numbers of arguments, from 1. */
#define PART(c, t, h)  .count = (c), .type = (t), .how = STACKD_MPI_##h
#define PEER(c, t, p)  PART(c, t, ONCE), .peer = (p)
#define PARTS(c, t, p) PART(c, t, PARTITIONED), .peer = (p)
#define IN_PLACE(buf, c, t, h)                                                                     \
	.buffer = (buf), .place_count = (c), .place_type = (t), .place_how = STACKD_MPI_##h

enum ways {
	HAS_I = 1,    /* MPI has a nonblocking form, with an I before the name (MPI_Isend) */
	HAS_INIT = 2, /* MPI has a persistent form, with _init behind the name, which makes a
		       * request that is started later */
};

/* The number of the argument that is a status or, in the nonblocking form, the address of a
 * request. */
#define STATUS(number)	((number) << 4)
#define STATUS_OF(ways) ((ways) >> 4)

/* Functions for files; `c` and `status` are the numbers of the arguments count and status. There
 * are functions that use the process's own file pointer, the shared one (_shared), or an offset
 * (_at), which is an argument before the buffer. Collective ones (_all, _ordered) are one call, or
 * two, the first of which (_begin) has the count. */
#define READS(name, c, status)                                                                     \
	{                                                                                          \
		"File_" name, {NONE}, {PART(c, (c) + 1, ONCE)}, 0, 0, STATUS(status), 0            \
	}
#define WRITES(name, c, status)                                                                    \
	{                                                                                          \
		"File_" name, {PART(c, (c) + 1, ONCE)}, {NONE}, 0, 0, STATUS(status), 0            \
	}
#define FILE_CALLS(way, verb)                                                                      \
	way(verb, 3, 5), way(verb "_all", 3, 5), way(verb "_shared", 3, 5),                        \
		way(verb "_ordered", 3, 5), way(verb "_at", 4, 6), way(verb "_at_all", 4, 6),      \
		way("i" verb, 3, 5), way("i" verb "_all", 3, 5), way("i" verb "_shared", 3, 5),    \
		way("i" verb "_at", 4, 6), way("i" verb "_at_all", 4, 6),                          \
		way(verb "_all_begin", 3, 0), way(verb "_ordered_begin", 3, 0),                    \
		way(verb "_at_all_begin", 4, 0)

static const struct {
	const char *name; /* without MPI_ */
	struct stackd_mpi_part sent, received;
	uint8_t comm, root; /* numbers of the arguments that are the communicator and the root's
			     * rank; 0: none */
	uint8_t ways;
	uint8_t kind; /* 0: STACKD_MPI_BYTES */
} calls[] = {
	{"Send", {PEER(2, 3, 4)}, {NONE}, 0, 0, HAS_I | HAS_INIT, 0},
	{"Bsend", {PEER(2, 3, 4)}, {NONE}, 0, 0, HAS_I | HAS_INIT, 0},
	{"Ssend", {PEER(2, 3, 4)}, {NONE}, 0, 0, HAS_I | HAS_INIT, 0},
	{"Rsend", {PEER(2, 3, 4)}, {NONE}, 0, 0, HAS_I | HAS_INIT, 0},
	{"Recv", {NONE}, {PEER(2, 3, 4)}, 0, 0, HAS_I | HAS_INIT | STATUS(7), 0},
	{"Mrecv", {NONE}, {PART(2, 3, ONCE)}, 0, 0, HAS_I | STATUS(5), 0},
	{"Sendrecv", {PEER(2, 3, 4)}, {PEER(7, 8, 9)}, 0, 0, HAS_I | STATUS(12), 0},
	{"Sendrecv_replace", {PEER(2, 3, 4)}, {PEER(2, 3, 6)}, 0, 0, HAS_I | STATUS(9), 0},
	{"Start", {NONE}, {NONE}, 0, 0, 0, STACKD_MPI_START},
	{"Startall", {NONE}, {NONE}, 0, 0, 0, STACKD_MPI_STARTALL},
	/* Partitions are sent one by one as they are ready, and all of them between the start and
	 * the completion of a request, so the bytes of all partitions count where the request is
	 * started. */
	{"Psend", {PARTS(3, 4, 5)}, {NONE}, 0, 0, HAS_INIT, 0},
	{"Precv", {NONE}, {PARTS(3, 4, 5)}, 0, 0, HAS_INIT, 0},
	{"Allreduce", {PART(3, 4, ONCE)}, {PART(3, 4, ONCE)}, 0, 0, HAS_I | HAS_INIT, 0},
	{"Scan", {PART(3, 4, ONCE)}, {PART(3, 4, ONCE)}, 0, 0, HAS_I | HAS_INIT, 0},
	{"Exscan", {PART(3, 4, ONCE)}, {PART(3, 4, ONCE)}, 0, 0, HAS_I | HAS_INIT, 0},
	{"Reduce_scatter_block", {PART(3, 4, ALL)}, {PART(3, 4, ONCE)}, 6, 0, HAS_I | HAS_INIT, 0},
	{"Reduce_scatter", {PART(3, 4, SUM)}, {PART(3, 4, OWN)}, 6, 0, HAS_I | HAS_INIT, 0},
	{"Reduce", {PART(3, 4, ONCE)}, {PART(3, 4, ROOT)}, 7, 6, HAS_I | HAS_INIT, 0},
	{"Bcast", {PART(2, 3, ROOT)}, {PART(2, 3, NOT_ROOT)}, 5, 4, HAS_I | HAS_INIT, 0},
	{"Gather",
	 {PART(2, 3, ONCE), IN_PLACE(1, 5, 6, ONCE)},
	 {PART(5, 6, ROOT_ALL)},
	 8,
	 7,
	 HAS_I | HAS_INIT,
	 0},
	{"Gatherv",
	 {PART(2, 3, ONCE), IN_PLACE(1, 5, 7, OWN)},
	 {PART(5, 7, ROOT_SUM)},
	 9,
	 8,
	 HAS_I | HAS_INIT,
	 0},
	{"Scatter",
	 {PART(2, 3, ROOT_ALL)},
	 {PART(5, 6, ONCE), IN_PLACE(4, 2, 3, ONCE)},
	 8,
	 7,
	 HAS_I | HAS_INIT,
	 0},
	{"Scatterv",
	 {PART(2, 4, ROOT_SUM)},
	 {PART(6, 7, ONCE), IN_PLACE(5, 2, 4, OWN)},
	 9,
	 8,
	 HAS_I | HAS_INIT,
	 0},
	/* A process sends as much as it receives from each process, also with MPI_IN_PLACE, so only
	 * the receive arguments are read. */
	{"Allgather", {PART(5, 6, ONCE)}, {PART(5, 6, ALL)}, 7, 0, HAS_I | HAS_INIT, 0},
	{"Allgatherv", {PART(5, 7, OWN)}, {PART(5, 7, SUM)}, 8, 0, HAS_I | HAS_INIT, 0},
	{"Alltoall",
	 {PART(2, 3, ALL), IN_PLACE(1, 5, 6, ONCE)},
	 {PART(5, 6, ALL)},
	 7,
	 0,
	 HAS_I | HAS_INIT,
	 0},
	{"Alltoallv",
	 {PART(2, 4, SUM), IN_PLACE(1, 6, 8, SUM)},
	 {PART(6, 8, SUM)},
	 9,
	 0,
	 HAS_I | HAS_INIT,
	 0},
	{"Alltoallw",
	 {PART(2, 4, SUM_TYPED), IN_PLACE(1, 6, 8, SUM_TYPED)},
	 {PART(6, 8, SUM_TYPED)},
	 9,
	 0,
	 HAS_I | HAS_INIT,
	 0},
	/* The number of neighbours depends on the topology, which the kernel half cannot read. */
	{"Neighbor_allgather", {UNKNOWN}, {UNKNOWN}, 0, 0, HAS_I | HAS_INIT, 0},
	{"Neighbor_allgatherv", {UNKNOWN}, {UNKNOWN}, 0, 0, HAS_I | HAS_INIT, 0},
	{"Neighbor_alltoall", {UNKNOWN}, {UNKNOWN}, 0, 0, HAS_I | HAS_INIT, 0},
	{"Neighbor_alltoallv", {UNKNOWN}, {UNKNOWN}, 0, 0, HAS_I | HAS_INIT, 0},
	{"Neighbor_alltoallw", {UNKNOWN}, {UNKNOWN}, 0, 0, HAS_I | HAS_INIT, 0},
	/* One-sided calls: bytes that go to the target's memory count as sent, those that come from
	 * it as received. */
	{"Put", {PEER(2, 3, 4)}, {NONE}, 0, 0, 0, 0},
	{"Rput", {PEER(2, 3, 4)}, {NONE}, 0, 0, 0, 0},
	{"Get", {NONE}, {PEER(2, 3, 4)}, 0, 0, 0, 0},
	{"Rget", {NONE}, {PEER(2, 3, 4)}, 0, 0, 0, 0},
	{"Accumulate", {PEER(2, 3, 4)}, {NONE}, 0, 0, 0, 0},
	{"Raccumulate", {PEER(2, 3, 4)}, {NONE}, 0, 0, 0, 0},
	{"Get_accumulate", {PEER(2, 3, 7)}, {PEER(5, 6, 7)}, 0, 0, 0, 0},
	{"Rget_accumulate", {PEER(2, 3, 7)}, {PEER(5, 6, 7)}, 0, 0, 0, 0},
	{"Fetch_and_op",
	 {PART(3, 3, SINGLE), .peer = 4},
	 {PART(3, 3, SINGLE), .peer = 4},
	 0,
	 0,
	 0,
	 0},
	{"Compare_and_swap",
	 {PART(4, 4, SINGLE), .peer = 5},
	 {PART(4, 4, SINGLE), .peer = 5},
	 0,
	 0,
	 0,
	 0},
	FILE_CALLS(READS, "read"),
	FILE_CALLS(WRITES, "write"),
	{"Wait", {NONE}, {NONE}, 0, 1, STATUS(2), STACKD_MPI_WAIT},
	{"Test", {NONE}, {NONE}, 0, 1, STATUS(3), STACKD_MPI_WAIT},
	{"Waitall", {NONE}, {NONE}, 0, 2, STATUS(3), STACKD_MPI_WAIT},
	{"Testall", {NONE}, {NONE}, 0, 2, STATUS(4), STACKD_MPI_WAIT},
	{"Waitany", {NONE}, {NONE}, 0, 2, STATUS(4), STACKD_MPI_WAIT_ANY},
	{"Testany", {NONE}, {NONE}, 0, 2, STATUS(5), STACKD_MPI_WAIT_ANY},
	{"Waitsome", {NONE}, {NONE}, 0, 2, STATUS(5), STACKD_MPI_WAIT_SOME},
	{"Testsome", {NONE}, {NONE}, 0, 2, STATUS(5), STACKD_MPI_WAIT_SOME},
	{"Comm_size", {NONE}, {NONE}, 0, 0, 0, STACKD_MPI_COMM_SIZE},
	{"Comm_rank", {NONE}, {NONE}, 0, 0, 0, STACKD_MPI_COMM_RANK},
};

/* The number of the argument through which a persistent call returns its request. */
#define REQUEST_OF_MESSAGE 7
#define REQUEST_OF_PARTS   9

/* --- names ----------------------------------------------------------------------------------- */

/*
 * Returns whether `end` is an ending of a Fortran function's name: "_" and "__" with mpif.h and
 * `use mpi`, "_f" in their other names, and endings that begin with "_f08" with `use mpi_f08`:
 * "_f08_" where buffers are addresses, MPICH's "_f08ts_" where they are descriptors of arrays, and
 * "_f08ts_large_" with counts of 8 bytes.
 */
static bool is_fortran_end(const char *end)
{
	if (strncmp(end, "_c_", 3) == 0) /* in other libraries, with counts of 8 bytes */
		end += 2;
	return strcmp(end, "_") == 0 || strcmp(end, "__") == 0 || strcmp(end, "_f") == 0 ||
	       strncmp(end, "_f08", 4) == 0;
}

/* The form of a call that its name shows. */
struct form {
	bool is_init; /* the persistent form, which makes a request */
	bool is_wide; /* counts have 8 bytes */
	bool is_i;    /* the nonblocking form */
};

/* Moves *text behind `part`, if it begins with that, in upper or lower case. Returns whether it
 * did. */
static bool takes(const char **text, const char *part)
{
	size_t len = strlen(part);

	if (strncasecmp(*text, part, len) != 0)
		return false;
	*text += len;
	return true;
}

/* Returns whether `name` is a name of the call: in one of the forms that `ways` has, in upper or
 * lower case, with or without an ending of Fortran's. */
static bool is_name(const char *name, const char *call, unsigned ways, struct form *ret_form)
{
	struct form form = {0};

	if (!takes(&name, "MPI_"))
		return false;
	if ((ways & HAS_I) && tolower((unsigned char)*name) == 'i' &&
	    strncasecmp(name + 1, call, strlen(call)) == 0) {
		form.is_i = true;
		name++;
	}
	if (!takes(&name, call))
		return false;
	form.is_init = (ways & HAS_INIT) && takes(&name, "_init");
	form.is_wide = strcmp(name, "_c") == 0;
	*ret_form = form;
	return !*name || form.is_wide || is_fortran_end(name);
}

/* Returns whether a name is that of a Fortran function, because it begins with a small letter, or
 * because it ends with "_f" or contains "_f08", as Open MPI's weak aliases do. */
static bool is_fortran(const char *name)
{
	size_t len = strlen(name);

	return islower((unsigned char)*name) || strstr(name, "_f08") ||
	       (len > 2 && strcmp(name + len - 2, "_f") == 0);
}

/* Returns whether a call makes a partitioned request, whose counts always have 8 bytes. */
static bool is_in_parts(const struct stackd_mpi_call *call)
{
	return call->sent.how == STACKD_MPI_PARTITIONED ||
	       call->received.how == STACKD_MPI_PARTITIONED;
}

/* Returns the number of the argument through which a wait or test returns whether requests are
 * complete, which one, or how many; 0: the function has no such argument. */
static uint8_t flag_of(const char *name)
{
	if (strcmp(name, "Test") == 0)
		return 2;
	return strcmp(name, "Wait") == 0 || strcmp(name, "Waitall") == 0 ? 0 : 3;
}

static struct stackd_mpi_call find(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct stackd_mpi_call call = {.kind = calls[i].kind ? calls[i].kind
								     : STACKD_MPI_BYTES,
					       .number = (uint16_t)(2 * i + 1),
					       .sent = calls[i].sent,
					       .received = calls[i].received,
					       .comm = calls[i].comm,
					       .root = calls[i].root,
					       .status = STATUS_OF(calls[i].ways)};
		struct form form;

		if (!is_name(name, calls[i].name, calls[i].ways, &form))
			continue;
		call.is_wide = form.is_wide || is_in_parts(&call);
		call.is_file = strncmp(calls[i].name, "File_", 5) == 0;
		call.is_at_most = call.received.how && (call.status || call.is_file);
		form.is_i |= strncmp(calls[i].name, "File_i", 6) == 0;
		if (form.is_i && call.received.how)
			call.result = call.status;
		if (form.is_i || form.is_init)
			call.status = 0;
		if (call.kind >= STACKD_MPI_WAIT)
			call.result = flag_of(calls[i].name);
		if (call.kind == STACKD_MPI_COMM_SIZE || call.kind == STACKD_MPI_COMM_RANK)
			call.result = 2;
		if (form.is_init) {
			call.kind = STACKD_MPI_INIT;
			call.number++;
			/* In a collective's arguments an info object stands between communicator
			 * and request. */
			call.result = call.comm		   ? call.comm + 2
				      : is_in_parts(&call) ? REQUEST_OF_PARTS
							   : REQUEST_OF_MESSAGE;
		}
		return call;
	}
	return (struct stackd_mpi_call){.kind = STACKD_MPI_OTHER};
}

/* Changes the description of a call whose arguments cannot be used: its bytes are those of the C
 * function that it calls (STACKD_MPI_WITHIN). If it starts requests, its bytes are unknown until
 * that function is called. */
static void make_within(struct stackd_mpi_call *call)
{
	if (call->kind == STACKD_MPI_START || call->kind == STACKD_MPI_STARTALL)
		call->sent.how = call->received.how = STACKD_MPI_UNKNOWN;
	if (call->kind == STACKD_MPI_INIT)
		call->sent.how = call->received.how = STACKD_MPI_NONE;
	call->kind = STACKD_MPI_WITHIN;
	call->result = 0;
}

struct stackd_mpi_call mpi_calls_find(const char *name, uint64_t vaddr, uint8_t library,
				      enum stackd_mpi_vendor vendor)
{
	struct stackd_mpi_call call = find(name);

	call.library = library;
	call.vaddr = vaddr;
	call.no_partner = vendor == STACKD_MPI_OPEN ? -2 : -1;
	call.in_place = vendor == STACKD_MPI_OPEN ? 1 : -1;
	if (call.kind != STACKD_MPI_OTHER && (is_fortran(name) || vendor == STACKD_MPI_NO_LIBRARY))
		make_within(&call);
	return call;
}
