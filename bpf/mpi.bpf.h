/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bytes that a call of MPI sends and receives, computed from its arguments
 * (lib/code/mpi/mpi_calls.h says from which). The arguments are read at the entry, also for
 * non-blocking calls. The bytes of a persistent request are kept with the request, and count at
 * each of its starts. A collective may transfer a message for each process of its communicator, or
 * another amount at its root, so the communicator's size and this process's rank in it are needed
 * (mpi_object.bpf.h). Amounts that cannot be determined are recorded as unknown.
 *
 * A buffer can be larger than the data that are received, or read, into it. If the call fills in an
 * MPI_Status, the number of bytes is read from it at the return; else the number is marked as the
 * size of the buffer (STACKD_MPI_AT_MOST).
 */
#ifndef MPI_BPF_H
#define MPI_BPF_H

#include "mpi_status.bpf.h"

#define MPI_MOST_PROCESSES 65536 /* limit of the processes whose counts are added up */
#define MPI_MOST_REQUESTS  4096	 /* limit of the requests that one call starts */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, STACKD_MOST_REGIONS + 1);
	__type(key, __u32);
	__type(value, struct stackd_mpi_call);
} mpi_calls SEC(".maps");

struct mpi_bytes {
	__u64 sent, received;
};

/* The bytes of persistent requests, by handle. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct mpi_key);
	__type(value, struct mpi_bytes);
} mpi_requests SEC(".maps");

/* The arguments of a call, at the function's first instruction. */
struct mpi_arguments {
	const struct mpi_registers *registers;
	const struct stackd_mpi_call *call;
	struct mpi_place place;
	struct mpi_comm_known comm; /* the call's communicator; unknown members are 0 */
};

/* Copies the registers with the arguments. The BPF verifier requires a separate read for each
 * register of the context. */
static __always_inline void mpi_take_registers(const struct pt_regs *ctx,
					       struct mpi_registers *ret_registers)
{
	ret_registers->arguments[0] = PT_REGS_PARM1(ctx);
	ret_registers->arguments[1] = PT_REGS_PARM2(ctx);
	ret_registers->arguments[2] = PT_REGS_PARM3(ctx);
	ret_registers->arguments[3] = PT_REGS_PARM4(ctx);
	ret_registers->arguments[4] = PT_REGS_PARM5(ctx);
	ret_registers->arguments[5] = ARCH_PARM6(ctx);
	ret_registers->arguments[6] = ret_registers->arguments[7] = 0;
	ret_registers->stack_pointer = PT_REGS_SP(ctx);
}

/* Returns an argument by its number, from 1. */
static __always_inline __u64 mpi_argument(const struct mpi_arguments *arguments, __u32 number)
{
	if (number <= ARCH_PARMS)
		return arguments->registers->arguments[BOUNDED(number - 1, 8)];
	return mpi_word(arguments->registers->stack_pointer + 8 * (number - ARCH_PARMS));
}

/* --- sums over processes --------------------------------------------------------------------- */

struct mpi_sum {
	__u64 counts, types; /* addresses of arrays; types 0: all types are the same */
	__u64 sum;	     /* sum of the counts; if `types` is not 0, of the bytes */
	struct mpi_place place;
	__u32 is_wide;
	__u32 pad;
};

/* Reads a count of an array; a negative count is taken as 0. */
static __always_inline __u64 mpi_count_at(__u64 counts, __u32 index, bool is_wide)
{
	__s64 count = is_wide ? (__s64)mpi_word(counts + 8 * (__u64)index)
			      : (__s32)mpi_int(counts + 4 * (__u64)index);

	return count > 0 ? count : 0;
}

static long mpi_add_one(__u32 index, void *arg)
{
	struct mpi_sum *s = arg;
	__u64 count = mpi_count_at(s->counts, index, s->is_wide), size = 1, type;

	if (!count)
		return 0;
	if (s->types) {
		type = s->place.library->vendor == STACKD_MPI_OPEN
			       ? mpi_word(s->types + 8 * (__u64)index)
			       : mpi_int(s->types + 4 * (__u64)index);
		size = mpi_type_size(&s->place, type);
		if (size == MPI_UNKNOWN) {
			s->sum = MPI_UNKNOWN;
			return 1;
		}
	}
	s->sum += count * size;
	return 0;
}

/* Adds up the counts of all processes; if `types` is not 0, the bytes. Returns MPI_UNKNOWN if the
 * number of processes, or the size of a type, is not known. */
static __always_inline __u64 mpi_sum(const struct mpi_arguments *from, __u64 counts, __u64 types)
{
	struct mpi_sum s = {.counts = counts,
			    .types = types,
			    .place = from->place,
			    .is_wide = from->call->is_wide};

	if (!from->comm.size || from->comm.size > MPI_MOST_PROCESSES)
		return MPI_UNKNOWN;
	bpf_loop(from->comm.size, mpi_add_one, &s, 0);
	return s.sum;
}

/* --- bytes ----------------------------------------------------------------------------------- */

/* Returns whether this process is the root of a collective. The communicator must be known. */
static __always_inline bool is_at_root(const struct mpi_arguments *from)
{
	return (__u32)mpi_argument(from, from->call->root) + 1 == from->comm.rank;
}

/* Returns how many elements of a datatype a call transfers at a time, from argument `number`, by
 * the kind `how`; MPI_UNKNOWN: not known. */
static __always_inline __u64 mpi_count(const struct mpi_arguments *from, __u32 number, __u32 how)
{
	__u64 value = mpi_argument(from, number);
	__s64 count = from->call->is_wide ? (__s64)value : (__s32)value;

	switch (how) {
	case STACKD_MPI_SINGLE:
		return 1;
	case STACKD_MPI_SUM:
	case STACKD_MPI_ROOT_SUM:
		return mpi_sum(from, value, 0);
	case STACKD_MPI_OWN:
		return from->comm.rank
			       ? mpi_count_at(value, from->comm.rank - 1, from->call->is_wide)
			       : MPI_UNKNOWN;
	default:
		return count > 0 ? count : 0;
	}
}

/* Returns how many times a call transfers these elements; MPI_UNKNOWN: not known. */
static __always_inline __u64 mpi_times(const struct mpi_arguments *from, __u32 how)
{
	__u64 all = from->comm.size ? from->comm.size : MPI_UNKNOWN;

	switch (how) {
	case STACKD_MPI_ALL:
		return all;
	case STACKD_MPI_ROOT:
	case STACKD_MPI_ROOT_SUM:
		return is_at_root(from);
	case STACKD_MPI_ROOT_ALL:
		return is_at_root(from) ? all : 0;
	case STACKD_MPI_NOT_ROOT:
		return !is_at_root(from);
	case STACKD_MPI_PARTITIONED:
		return (__u32)from->registers->arguments[1];
	default:
		return 1;
	}
}

/* Returns whether it can be determined if this process is the root. In a collective of two groups
 * (an intercommunicator), a root in the other group is not in this process's group. */
static __always_inline bool has_known_root(const struct mpi_arguments *from, __u32 how)
{
	return !from->call->root || ((from->comm.rank || how == STACKD_MPI_ONCE) &&
				     (__s32)mpi_argument(from, from->call->root) >= 0);
}

static __noinline __u64 mpi_bytes_of(struct mpi_arguments *from, const struct stackd_mpi_part *part)
{
	__u32 count = part->count, type = part->type, how = part->how;
	__u64 times, n, size;

	if (how == STACKD_MPI_NONE)
		return 0;
	/* With two groups, the size and the counts of the other group are not known. */
	if (how >= STACKD_MPI_UNKNOWN || from->comm.is_inter || !has_known_root(from, how))
		return MPI_UNKNOWN;
	if (part->peer && (__s32)mpi_argument(from, part->peer) == from->call->no_partner)
		return 0;
	times = mpi_times(from, how);
	if (!times || times == MPI_UNKNOWN)
		return times;
	if (part->buffer &&
	    mpi_argument(from, part->buffer) == (__u64)(__s64)from->call->in_place) {
		count = part->place_count;
		type = part->place_type;
		how = part->place_how;
	}
	if (how == STACKD_MPI_SUM_TYPED)
		return mpi_sum(from, mpi_argument(from, count), mpi_argument(from, type));
	n = mpi_count(from, count, how);
	if (!n || n == MPI_UNKNOWN)
		return n;
	size = mpi_type_size(&from->place, mpi_argument(from, type));
	return size == MPI_UNKNOWN ? size : size * n * times;
}

/* --- requests -------------------------------------------------------------------------------- */

/* Returns the handle in memory at an address. */
static __always_inline __u64 mpi_handle_at(const struct mpi_place *place, __u64 address)
{
	return place->library->vendor == STACKD_MPI_OPEN ? mpi_word(address) : mpi_int(address);
}

/* Adds two numbers of bytes, which may have flags. */
static __always_inline __u64 mpi_add(__u64 a, __u64 b)
{
	return (STACKD_MPI_BYTES_OF(a) + STACKD_MPI_BYTES_OF(b)) |
	       ((a | b) & (STACKD_MPI_OF_FILE | STACKD_MPI_AT_MOST | STACKD_MPI_LATER));
}

struct mpi_starts {
	const struct open_instance *open;
	struct mpi_place place;
	struct mpi_bytes bytes;
	__u64 requests;
	__u32 pid;
	__u32 pad;
};

static long mpi_add_start(__u32 index, void *arg)
{
	struct mpi_starts *s = arg;
	__u32 bytes = s->place.library->vendor == STACKD_MPI_OPEN ? 8 : 4;
	struct mpi_key key = {.handle =
				      mpi_handle_at(&s->place, s->requests + (__u64)bytes * index),
			      .pid = s->pid};
	struct mpi_bytes *known = CHECKED(bpf_map_lookup_elem(&mpi_requests, &key));
	__u64 later = 0;

	if (known && known->received && known->received != MPI_UNKNOWN)
		later = mpi_post(s->open, key.handle, known->received) ? STACKD_MPI_LATER : 0;
	if (!known || known->sent == MPI_UNKNOWN)
		s->bytes.sent = MPI_UNKNOWN;
	else if (s->bytes.sent != MPI_UNKNOWN)
		s->bytes.sent += known->sent;
	if (!known || known->received == MPI_UNKNOWN)
		s->bytes.received = MPI_UNKNOWN;
	else if (s->bytes.received != MPI_UNKNOWN)
		s->bytes.received = mpi_add(s->bytes.received, known->received | later);
	return 0;
}

/* Sets the bytes of the instance of MPI_Start() or MPI_Startall() to those of the requests that the
 * call starts. */
static __always_inline void mpi_start(struct open_instance *open, const struct mpi_arguments *from,
				      __u64 requests, __s32 count)
{
	struct mpi_starts s = {.open = open,
			       .place = from->place,
			       .requests = requests,
			       .pid = bpf_get_current_pid_tgid() >> 32};

	if (count > MPI_MOST_REQUESTS)
		s.bytes = (struct mpi_bytes){MPI_UNKNOWN, MPI_UNKNOWN};
	else if (count > 0)
		bpf_loop(count, mpi_add_start, &s, 0);
	open->sent = s.bytes.sent;
	open->received = s.bytes.received;
}

/* Returns the handle that a call has stored at its result's address. */
static __always_inline __u64 mpi_given_handle(const struct open_instance *open)
{
	return open->has_long_handles ? mpi_word(open->result) : mpi_int(open->result);
}

static __always_inline void mpi_keep_request(const struct open_instance *open)
{
	struct mpi_key key = {.handle = mpi_given_handle(open),
			      .pid = bpf_get_current_pid_tgid() >> 32};
	struct mpi_bytes bytes = {open->sent, open->received};

	bpf_map_update_elem(&mpi_requests, &key, &bytes, BPF_ANY);
}

/* Notes that a non-blocking receive has posted a buffer. How many bytes have arrived is known only
 * at the call that completes the request. */
static __always_inline void mpi_keep_posted(struct open_instance *open)
{
	if (open->received && open->received != MPI_UNKNOWN &&
	    mpi_post(open, mpi_given_handle(open), open->received))
		open->received |= STACKD_MPI_LATER;
	open->result = 0;
}

/* --- status ---------------------------------------------------------------------------------- */

/* Adds the flags for the kind of call (of a file, at most) to the bytes of an instance. */
static __always_inline void mpi_mark(struct open_instance *open, const struct stackd_mpi_call *call)
{
	__u64 file = call->is_file ? STACKD_MPI_OF_FILE : 0;

	if (open->sent && open->sent != MPI_UNKNOWN)
		open->sent |= file;
	if (open->received && open->received != MPI_UNKNOWN)
		open->received |= file | (call->is_at_most ? STACKD_MPI_AT_MOST : 0);
}

/* Reads the bytes from the MPI_Status of a call. MPI_STATUS_IGNORE is 0 or 1. Whether the call has
 * failed is not known, since the probe may be before the instruction that loads the error
 * (daemon/regions/probe_move.h). */
static __always_inline void mpi_take_status(struct open_instance *open)
{
	__u64 told;

	if (open->status <= 1)
		return;
	told = mpi_status_bytes(open->status, open->has_long_handles);
	if (open->received)
		open->received = mpi_arrived(open->received, told, open->is_file);
	else if (open->is_file)
		open->sent = mpi_arrived(open->sent, told, true);
	open->status = 0;
}

/* --- entry and return ------------------------------------------------------------------------ */

static __always_inline void mpi_take(struct open_instance *open, struct mpi_arguments *from)
{
	const struct stackd_mpi_call *call = from->call;

	open->mpi = call->kind;
	open->mpi_slot = from->registers->stack_pointer;
	open->result = call->result ? mpi_argument(from, call->result) : 0;
	if (call->kind == STACKD_MPI_WITHIN)
		open->result = call->number;
	open->goes_on |= call->goes_on;
	open->is_file = call->is_file;
	open->has_long_handles = from->place.library->vendor == STACKD_MPI_OPEN;
	open->sent = open->received = 0;
	switch (call->kind) {
	case STACKD_MPI_WITHIN: /* unknown until the function within it is called */
		open->sent = call->sent.how ? MPI_UNKNOWN : 0;
		open->received = call->received.how ? MPI_UNKNOWN : 0;
		break;
	case STACKD_MPI_BYTES:
	case STACKD_MPI_INIT:
		if (call->comm)
			mpi_find_comm(&from->place, mpi_argument(from, call->comm), &from->comm);
		open->sent = mpi_bytes_of(from, &call->sent);
		open->received = mpi_bytes_of(from, &call->received);
		if (call->status)
			open->status = mpi_argument(from, call->status);
		mpi_mark(open, call);
		break;
	case STACKD_MPI_COMM_SIZE:
	case STACKD_MPI_COMM_RANK:
		open->comm = mpi_handle(&from->place, from->registers->arguments[0]);
		break;
	case STACKD_MPI_WAIT:
	case STACKD_MPI_WAIT_ANY:
	case STACKD_MPI_WAIT_SOME:
		open->status = mpi_argument(from, call->status);
		open->comm = from->registers->arguments[3]; /* address of the array of indices of
							     * MPI_Waitsome() */
		if (call->root == 1)
			mpi_keep_handles(open, from->registers->arguments[0], 1);
		else
			mpi_keep_handles(open, from->registers->arguments[1],
					 from->registers->arguments[0]);
		break;
	case STACKD_MPI_START:
		mpi_start(open, from, from->registers->arguments[0], 1);
		break;
	case STACKD_MPI_STARTALL:
		mpi_start(open, from, from->registers->arguments[1], from->registers->arguments[0]);
		break;
	}
}

/* Reads the arguments of a call of MPI into its open instance; `function` is the address of the MPI
 * function that was entered. This is a function, so that its stack is not part of its caller's:
 * Linux 6.1 adds up the stacks of all functions on the way to the deepest. */
static __noinline int mpi_enter(struct region_thread *thread, struct open_instance *open,
				const struct pt_regs *ctx, __u64 function, __u32 region)
{
	struct stackd_mpi_call *call = CHECKED(bpf_map_lookup_elem(&mpi_calls, &region));
	struct stackd_mpi_library *library;
	struct mpi_arguments from = {};
	__u32 index;

	if (!call)
		return 0;
	/* MPI's functions that are called within the call are not its own transfer: Fortran's
	 * functions convert handles and query sizes first, and tools (PMPI) send messages
	 * themselves. */
	if (open->mpi == STACKD_MPI_WITHIN &&
	    (call->kind == STACKD_MPI_WITHIN || call->number != open->result))
		return 0;
	index = call->library;
	library = CHECKED(bpf_map_lookup_elem(&mpi_libraries, &index));
	if (!library)
		return 0;
	mpi_take_registers(ctx, &thread->mpi_registers);
	from.registers = &thread->mpi_registers;
	from.call = call;
	from.place.library = library;
	from.place.bias = function - call->vaddr;
	mpi_take(open, &from);
	return 0;
}

/*
 * Handles the return of a call of MPI. Remembers the size of a communicator, the rank or the
 * request that the program gets, and reads statuses. If the program calls Fortran's interface, the
 * C function within returns these. A call that only makes a request has not transferred anything
 * yet, so its bytes become 0.
 */
static __always_inline void mpi_leave(struct open_instance *open)
{
	if (open->mpi >= STACKD_MPI_WAIT)
		mpi_complete(open);
	else
		mpi_take_status(open);
	if (open->mpi == STACKD_MPI_BYTES && open->result)
		mpi_keep_posted(open);
	if (open->mpi == STACKD_MPI_COMM_SIZE)
		mpi_keep_comm(open->comm, mpi_int(open->result), true);
	else if (open->mpi == STACKD_MPI_COMM_RANK)
		mpi_keep_comm(open->comm, mpi_int(open->result), false);
	else if (open->mpi == STACKD_MPI_INIT)
		mpi_keep_request(open);
	else
		return;
	open->mpi = STACKD_MPI_OTHER;
	open->sent = open->received = 0;
}

#endif
