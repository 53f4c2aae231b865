/* SPDX-License-Identifier: MIT */
/* Computes bytes from arguments, statuses and requests; see bytes.h. */
#include "bytes.h"

#include <stddef.h>

#include "request.h"

#define UNKNOWN	       STACKD_MPI_NOT_KNOWN
#define MOST_PROCESSES 65536 /* limit of the processes whose counts are added up */
#define MOST_REQUESTS  4096  /* limit of the requests that one call starts */

/* A call's communicator. */
struct comm {
	int size, rank; /* 0 and -1: not known */
	int is_inter;
};

struct arguments {
	const struct call *call;
	const struct stackd_mpi_call *rule;
	struct comm comm;
};

static bool is_open_mpi(void)
{
	return function_sizes.vendor == STACKD_MPI_OPEN;
}

/* --- sizes ------------------------------------------------------------------------------------ */

/* MPICH's handle of a basic type has its size. The library is not asked about what is no type,
 * which it would report as an error of the program. */
static uint64_t type_size(uint64_t type)
{
	int size = 0;

	if (!is_open_mpi()) {
		type = (uint32_t)type;
		if (type >> 26 == 0x13)
			return type >> 8 & 0xff;
		if ((type >> 26 & 15) != 3 || type >> 30 < 2)
			return UNKNOWN;
	} else if (type == function_sizes.type_null) {
		return 0;
	} else if (!type) {
		return UNKNOWN;
	}
	return function_sizes.type_size(type, &size) || size < 0 ? UNKNOWN : (uint64_t)size;
}

static struct comm comm_of(uint64_t handle)
{
	struct comm comm = {.rank = -1};

	if (!is_open_mpi()) {
		handle = (uint32_t)handle;
		if ((handle >> 26 & 15) != 1 || !(handle >> 30))
			return comm;
	}
	if (!handle || handle == function_sizes.comm_null ||
	    function_sizes.comm_size(handle, &comm.size) ||
	    function_sizes.comm_rank(handle, &comm.rank) ||
	    function_sizes.comm_test_inter(handle, &comm.is_inter))
		return (struct comm){.rank = -1};
	return comm;
}

/* --- counts ----------------------------------------------------------------------------------- */

static uint64_t count_at(uint64_t counts, long index, bool is_wide)
{
	int64_t count = is_wide ? ((const int64_t *)(uintptr_t)counts)[index]
				: ((const int32_t *)(uintptr_t)counts)[index];

	return count > 0 ? (uint64_t)count : 0;
}

/* Adds up the counts of all processes; if `types` is not 0, the bytes. */
static uint64_t sum_of(const struct arguments *a, uint64_t counts, uint64_t types)
{
	uint64_t sum = 0;

	if (!counts || a->comm.size <= 0 || a->comm.size > MOST_PROCESSES)
		return UNKNOWN;
	for (long i = 0; i < a->comm.size; i++) {
		uint64_t count = count_at(counts, i, a->rule->is_wide), size = 1;

		if (count && types)
			size = type_size(is_open_mpi() ? ((const uint64_t *)(uintptr_t)types)[i]
						       : ((const uint32_t *)(uintptr_t)types)[i]);
		if (size == UNKNOWN)
			return UNKNOWN;
		sum += count * size;
	}
	return sum;
}

static bool is_at_root(const struct arguments *a)
{
	return (int)call_argument(a->call, a->rule->root) == a->comm.rank;
}

static uint64_t count_of(const struct arguments *a, unsigned number, unsigned how)
{
	uint64_t value = call_argument(a->call, number);
	int64_t count = a->rule->is_wide ? (int64_t)value : (int32_t)value;

	switch (how) {
	case STACKD_MPI_SINGLE:
		return 1;
	case STACKD_MPI_SUM:
	case STACKD_MPI_ROOT_SUM:
		return sum_of(a, value, 0);
	case STACKD_MPI_OWN:
		return value && a->comm.rank >= 0 ? count_at(value, a->comm.rank, a->rule->is_wide)
						  : UNKNOWN;
	default:
		return count > 0 ? (uint64_t)count : 0;
	}
}

static uint64_t times_of(const struct arguments *a, unsigned how)
{
	uint64_t all = a->comm.size > 0 ? (uint64_t)a->comm.size : UNKNOWN;

	switch (how) {
	case STACKD_MPI_ALL:
		return all;
	case STACKD_MPI_ROOT:
	case STACKD_MPI_ROOT_SUM:
		return is_at_root(a);
	case STACKD_MPI_ROOT_ALL:
		return is_at_root(a) ? all : 0;
	case STACKD_MPI_NOT_ROOT:
		return !is_at_root(a);
	case STACKD_MPI_PARTITIONED:
		return (uint32_t)a->call->arguments[1];
	default:
		return 1;
	}
}

static bool has_known_root(const struct arguments *a, unsigned how)
{
	return !a->rule->root || ((a->comm.rank >= 0 || how == STACKD_MPI_ONCE) &&
				  (int)call_argument(a->call, a->rule->root) >= 0);
}

static uint64_t bytes_of(const struct arguments *a, const struct stackd_mpi_part *part)
{
	unsigned count = part->count, type = part->type, how = part->how;
	uint64_t times, n, size;

	if (how == STACKD_MPI_NONE)
		return 0;
	if (how >= STACKD_MPI_UNKNOWN || a->comm.is_inter || !has_known_root(a, how) ||
	    function_sizes.vendor == STACKD_MPI_NO_LIBRARY)
		return UNKNOWN;
	if (part->peer && (int)call_argument(a->call, part->peer) == a->rule->no_partner)
		return 0;
	times = times_of(a, how);
	if (!times || times == UNKNOWN)
		return times;
	if (part->buffer &&
	    call_argument(a->call, part->buffer) == (uint64_t)(int64_t)a->rule->in_place) {
		count = part->place_count;
		type = part->place_type;
		how = part->place_how;
	}
	if (how == STACKD_MPI_SUM_TYPED && !call_argument(a->call, type))
		return UNKNOWN;
	if (how == STACKD_MPI_SUM_TYPED)
		return sum_of(a, call_argument(a->call, count), call_argument(a->call, type));
	n = count_of(a, count, how);
	if (!n || n == UNKNOWN)
		return n;
	size = type_size(call_argument(a->call, type));
	return size == UNKNOWN ? size : size * n * times;
}

/* --- statuses --------------------------------------------------------------------------------- */

/* Returns how many bytes have arrived, by the status at an address (bpf/mpi_status.bpf.h). `most`
 * is the size of the buffer. */
static uint64_t arrived(uint64_t most, uint64_t status, bool is_file)
{
	uint64_t told, bytes = most == UNKNOWN ? most : STACKD_MPI_BYTES_OF(most);

	if (status <= 1) /* MPI_STATUS_IGNORE */
		return most;
	told = *(const uint64_t *)(uintptr_t)(status + (is_open_mpi() ? 16 : 0));
	if (!is_open_mpi())
		told = (uint32_t)told | told >> 33 << 32;
	if (told != STACKD_MPI_BYTES_OF(told) || told > bytes)
		return most;
	return told && is_file ? told | STACKD_MPI_OF_FILE : told;
}

static void mark(struct call *call, const struct stackd_mpi_call *rule)
{
	uint64_t file = rule->is_file ? STACKD_MPI_OF_FILE : 0;

	if (call->sent && call->sent != UNKNOWN)
		call->sent |= file;
	if (call->received && call->received != UNKNOWN)
		call->received |= file | (rule->is_at_most ? STACKD_MPI_AT_MOST : 0);
}

static void take_status(struct call *call, const struct stackd_mpi_call *rule)
{
	uint64_t status = rule->status ? call_argument(call, rule->status) : 0;

	if (call->received)
		call->received = arrived(call->received, status, rule->is_file);
	else if (rule->is_file && call->sent)
		call->sent = arrived(call->sent, status, true);
}

/* --- requests --------------------------------------------------------------------------------- */

static uint64_t handle_at(uint64_t address)
{
	return is_open_mpi() ? *(const uint64_t *)(uintptr_t)address
			     : *(const uint32_t *)(uintptr_t)address;
}

/* The array of the requests of a call that starts or completes some, and their number. */
static uint64_t requests_of(const struct call *call, const struct stackd_mpi_call *rule,
			    uint64_t *ret_count)
{
	bool is_one = rule->kind == STACKD_MPI_START ||
		      (rule->kind >= STACKD_MPI_WAIT && rule->root == 1);
	int count = is_one ? 1 : (int)call->arguments[0];
	uint64_t requests = is_one ? call->arguments[0] : call->arguments[1];

	*ret_count = requests && count > 0 ? (uint64_t)count : 0;
	return requests;
}

static uint64_t handle_of(uint64_t requests, uint64_t index)
{
	return handle_at(requests + index * (is_open_mpi() ? 8 : 4));
}

/* Notes the requests that a call may complete, since MPI overwrites their handles. */
static void note_waits(const struct call *call, const struct stackd_mpi_call *rule)
{
	uint64_t count, requests = requests_of(call, rule, &count);

	count = count < STACKD_CALL_WAITS ? count : STACKD_CALL_WAITS - 1;
	for (uint64_t i = 0; i < count; i++)
		call->calls->waits[i + 1] = handle_of(requests, i);
	call->calls->waits[0] = count;
}

static void add_to(__u64 *sum, uint64_t bytes)
{
	__atomic_fetch_add(sum, bytes, __ATOMIC_RELAXED);
}

static void add_received(struct stackd_call_path *path, uint64_t received)
{
	uint64_t bytes = STACKD_MPI_BYTES_OF(received);

	add_to(received & STACKD_MPI_OF_FILE ? &path->read : &path->received, bytes);
	if (received & STACKD_MPI_AT_MOST)
		add_to(&path->at_most, bytes);
}

static void complete(const struct call *call, uint64_t index, uint64_t status)
{
	struct request *posted;

	if (index >= call->calls->waits[0])
		return;
	posted = request_hold(call->calls->waits[index + 1], REQUEST_POSTED);
	if (!posted)
		return;
	add_to(&posted->path->awaited, -STACKD_MPI_BYTES_OF(posted->received));
	add_received(posted->path, arrived(posted->received, status,
					   (posted->received & STACKD_MPI_OF_FILE) != 0));
	request_release(posted, true); /* by now its thread may have ended */
}

/* The number at the address in an argument. */
static int int_at(const struct call *call, unsigned number)
{
	return *(const int *)(uintptr_t)call_argument(call, number);
}

static void complete_all(const struct call *call, const struct stackd_mpi_call *rule)
{
	const uint64_t statuses = call_argument(call, rule->status), size = is_open_mpi() ? 24 : 20;
	const int *indices = NULL;
	int first = 0, count = (int)call->calls->waits[0];

	if (rule->kind == STACKD_MPI_WAIT_ANY) {
		first = int_at(call, rule->result);
		count = first >= 0;
	} else if (rule->kind == STACKD_MPI_WAIT_SOME) {
		indices = (const int *)(uintptr_t)call->arguments[3];
		count = int_at(call, rule->result);
	} else if (rule->result && !int_at(call, rule->result)) {
		return;
	}
	for (int i = 0; i < count && i < (int)STACKD_CALL_WAITS; i++)
		complete(call, (uint64_t)(indices ? indices[i] : first + i),
			 statuses > 1 ? statuses + (uint64_t)i * size : 0);
}

/* Sets the bytes of a call that starts persistent requests. */
static void start(struct call *call, const struct stackd_mpi_call *rule)
{
	uint64_t count, requests = requests_of(call, rule, &count);
	struct request kept;

	if (count > MOST_REQUESTS) {
		call->sent = call->received = UNKNOWN;
		return;
	}
	for (uint64_t i = 0; i < count; i++) {
		if (!request_find(handle_of(requests, i), REQUEST_PERSISTENT, false, &kept))
			kept.sent = kept.received = UNKNOWN;
		if (kept.sent == UNKNOWN)
			call->sent = UNKNOWN;
		else if (call->sent != UNKNOWN)
			call->sent += kept.sent;
		if (kept.received == UNKNOWN)
			call->received = UNKNOWN;
		else if (call->received != UNKNOWN)
			call->received = (STACKD_MPI_BYTES_OF(call->received) +
					  STACKD_MPI_BYTES_OF(kept.received)) |
					 ((call->received | kept.received) &
					  (STACKD_MPI_OF_FILE | STACKD_MPI_AT_MOST));
	}
}

/* Notes a posted receive for the call's path. Returns whether it was noted. */
static bool await(const struct call *call, uint64_t handle, uint64_t received)
{
	const struct request posted = {.handle = handle,
				       .kind = REQUEST_POSTED,
				       .calls = call->calls,
				       .path = call->path,
				       .received = received};

	add_to(&call->path->awaited, STACKD_MPI_BYTES_OF(received));
	if (request_keep(&posted))
		return true;
	add_to(&call->path->awaited, -STACKD_MPI_BYTES_OF(received));
	return false;
}

static void keep_persistent(const struct call *call, const struct stackd_mpi_call *rule)
{
	const struct request request = {.handle = handle_at(call_argument(call, rule->result)),
					.kind = REQUEST_PERSISTENT,
					.sent = call->sent,
					.received = call->received};

	request_keep(&request);
}

/* --- entry and return ------------------------------------------------------------------------- */

void bytes_enter(struct call *call)
{
	const struct stackd_mpi_call *rule = &call->function->call;
	struct arguments a = {.call = call, .rule = rule, .comm.rank = -1};

	call->sent = call->received = 0;
	switch (rule->kind) {
	case STACKD_MPI_WITHIN: /* unknown until the function within it is called */
		call->sent = rule->sent.how ? UNKNOWN : 0;
		call->received = rule->received.how ? UNKNOWN : 0;
		break;
	case STACKD_MPI_BYTES:
	case STACKD_MPI_INIT:
		if (rule->comm && function_sizes.vendor != STACKD_MPI_NO_LIBRARY)
			a.comm = comm_of(call_argument(call, rule->comm));
		call->sent = bytes_of(&a, &rule->sent);
		call->received = bytes_of(&a, &rule->received);
		mark(call, rule);
		break;
	case STACKD_MPI_WAIT:
	case STACKD_MPI_WAIT_ANY:
	case STACKD_MPI_WAIT_SOME:
		note_waits(call, rule);
		break;
	case STACKD_MPI_START:
	case STACKD_MPI_STARTALL:
		start(call, rule);
		break;
	default:
		break;
	}
}

void bytes_forget(const struct call *call)
{
	uint64_t handle = call->arguments[0] ? handle_at(call->arguments[0]) : 0;
	struct request freed;

	request_find(handle, REQUEST_PERSISTENT, true, &freed);
	request_find(handle, REQUEST_POSTED, true, &freed);
}

void bytes_leave(struct call *call, int result)
{
	const struct stackd_mpi_call *rule = &call->function->call;

	if (rule->kind == STACKD_MPI_WITHIN) /* Fortran's result is not known */
		return;
	if (result || (rule->result && !call_argument(call, rule->result))) {
		call->sent = call->received = 0;
	} else if (rule->kind >= STACKD_MPI_WAIT) {
		complete_all(call, rule);
	} else if (rule->kind == STACKD_MPI_INIT) {
		keep_persistent(call, rule);
		call->sent = call->received = 0;
	} else if (rule->kind == STACKD_MPI_BYTES && !rule->result) {
		take_status(call, rule);
	}
}

bool bytes_are_later(const struct function *function)
{
	const struct stackd_mpi_call *rule = &function->call;

	return rule->kind == STACKD_MPI_START || rule->kind == STACKD_MPI_STARTALL ||
	       (rule->kind == STACKD_MPI_BYTES && rule->result);
}

void bytes_await(struct call *call)
{
	const struct stackd_mpi_call *rule = &call->function->call;
	uint64_t left = 0, count, requests;
	struct request kept;

	if (!call->received || call->received == UNKNOWN || !call->path)
		return;
	if (rule->kind == STACKD_MPI_BYTES && rule->result) {
		if (await(call, handle_at(call_argument(call, rule->result)), call->received))
			call->received = 0;
		return;
	}
	if (rule->kind != STACKD_MPI_START && rule->kind != STACKD_MPI_STARTALL)
		return;
	requests = requests_of(call, rule, &count);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t handle = handle_of(requests, i);

		if (request_find(handle, REQUEST_PERSISTENT, false, &kept) && kept.received &&
		    kept.received != UNKNOWN && !await(call, handle, kept.received))
			left += STACKD_MPI_BYTES_OF(kept.received);
	}
	call->received = left ? left | (call->received & ~STACKD_MPI_BYTES_OF(~0ull)) : 0;
}

void bytes_add(struct call *call)
{
	struct stackd_call_path *path = call->path;

	if (call->sent == UNKNOWN || call->received == UNKNOWN)
		path->unknown++;
	if (call->sent && call->sent != UNKNOWN)
		*(call->sent & STACKD_MPI_OF_FILE ? &path->written : &path->sent) +=
			STACKD_MPI_BYTES_OF(call->sent);
	if (call->received && call->received != UNKNOWN)
		add_received(path, call->received);
}
