/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bytes that a call of MPI sends and receives, by its arguments (daemon/regions/mpi_calls.h
 * says which those are). They are taken at the entry, non-blocking ones included. Where a
 * collective passes on a message for each process of its communicator, or something else at its
 * root, the communicator's size and this process's rank in it are needed: the program asks for them
 * itself, by MPI_Comm_size() and MPI_Comm_rank(), whose answers are remembered. What cannot be told
 * is said to be unknown.
 */
#ifndef MPI_BPF_H
#define MPI_BPF_H

#include "instance.bpf.h"

#define MPI_UNKNOWN STACKD_MPI_NOT_KNOWN

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, STACKD_MOST_REGIONS + 1);
	__type(key, __u32);
	__type(value, struct stackd_mpi_call);
} mpi_calls SEC(".maps");

struct mpi_comm {
	__u64 handle;
	__u32 pid;
	__u32 pad;
};

struct mpi_comm_known {
	__u32 size; /* 0: not known */
	__u32 rank; /* one more; 0: not known */
};

/* Those of processes that have ended give way to new ones. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct mpi_comm);
	__type(value, struct mpi_comm_known);
} mpi_comms SEC(".maps");

/* The arguments of a call, by the x86-64 calling convention, at its first instruction. The kernel
 * wants each register of the context read by itself, so they are copied. */
struct mpi_arguments {
	__u64 in_registers[8]; /* from 0; the last two are nothing */
	__u64 stack_pointer;
};

static __always_inline void mpi_take_arguments(const struct pt_regs *ctx,
					       struct mpi_arguments *ret_arguments)
{
	ret_arguments->in_registers[0] = ctx->rdi;
	ret_arguments->in_registers[1] = ctx->rsi;
	ret_arguments->in_registers[2] = ctx->rdx;
	ret_arguments->in_registers[3] = ctx->rcx;
	ret_arguments->in_registers[4] = ctx->r8;
	ret_arguments->in_registers[5] = ctx->r9;
	ret_arguments->in_registers[6] = ret_arguments->in_registers[7] = 0;
	ret_arguments->stack_pointer = ctx->rsp;
}

/* An argument by its number, from 1. */
static __always_inline __u64 mpi_argument(const struct mpi_arguments *arguments, __u32 number)
{
	__u64 value = 0;

	if (number <= 6)
		return arguments->in_registers[BOUNDED(number - 1, 8)];
	bpf_probe_read_user(&value, sizeof(value),
			    (const void *)(arguments->stack_pointer + 8 * (number - 6)));
	return value;
}

/* The size of a datatype; MPI_UNKNOWN: it cannot be told. */
static __always_inline __u64 mpi_type_size(const struct stackd_mpi_call *call, __u64 type)
{
	__u64 size;

	if (call->library == STACKD_MPI_OPEN)
		return bpf_probe_read_user(&size, sizeof(size),
					   (const void *)(type + call->size_offset))
			       ? MPI_UNKNOWN
			       : size;
	/* A handle of a basic type: two bits that say so, four for datatypes, and its size. */
	if (call->library == STACKD_MPI_MPICH && ((__u32)type >> 26) == 0x13)
		return type >> 8 & 0xff;
	return MPI_UNKNOWN;
}

static __always_inline struct mpi_comm mpi_comm_of(__u64 handle, __u8 library)
{
	/* MPICH's handles are 32 bits: what else the register has is nothing. */
	return (struct mpi_comm){.handle = library == STACKD_MPI_OPEN ? handle : (__u32)handle,
				 .pid = bpf_get_current_pid_tgid() >> 32};
}

/* How often the bytes are passed on. */
static __always_inline __u64 mpi_times(const struct mpi_arguments *from,
				       const struct stackd_mpi_call *call, __u32 how)
{
	struct mpi_comm_known *known;
	struct mpi_comm key;
	bool is_root;

	if (how == STACKD_MPI_ONCE)
		return 1;
	key = mpi_comm_of(mpi_argument(from, call->comm), call->library);
	known = CHECKED(bpf_map_lookup_elem(&mpi_comms, &key));
	if (!known || (call->root && !known->rank))
		return MPI_UNKNOWN;
	if (how == STACKD_MPI_ALL)
		return known->size ? known->size : MPI_UNKNOWN;
	is_root = (__u32)mpi_argument(from, call->root) + 1 == known->rank;
	if (how == STACKD_MPI_NOT_ROOT)
		return !is_root;
	if (!is_root)
		return 0;
	if (how == STACKD_MPI_ROOT)
		return 1;
	return known->size ? known->size : MPI_UNKNOWN;
}

static __always_inline __u64 mpi_bytes(const struct mpi_arguments *from,
				       const struct stackd_mpi_call *call,
				       const struct stackd_mpi_part *part)
{
	__u32 count = part->count, type = part->type;
	__u64 times, size;
	__s32 n;

	if (part->how == STACKD_MPI_NONE)
		return 0;
	if (part->how >= STACKD_MPI_UNKNOWN)
		return MPI_UNKNOWN;
	if (part->peer && (__s32)mpi_argument(from, part->peer) == call->no_partner)
		return 0;
	times = mpi_times(from, call, part->how);
	if (!times || times == MPI_UNKNOWN)
		return times;
	if (part->buffer && mpi_argument(from, part->buffer) == (__u64)(__s64)call->in_place) {
		count = part->place_count;
		type = part->place_type;
	}
	n = (__s32)mpi_argument(from, count);
	if (n <= 0)
		return 0;
	size = mpi_type_size(call, mpi_argument(from, type));
	return size == MPI_UNKNOWN ? size : size * (__u32)n * times;
}

/* Takes the arguments of a call, which is in an open instance. */
static __always_inline void mpi_enter(struct open_instance *open, const struct pt_regs *ctx,
				      __u32 region)
{
	struct stackd_mpi_call *call = CHECKED(bpf_map_lookup_elem(&mpi_calls, &region));
	struct mpi_arguments from;

	/* Functions of Fortran's interface convert handles first. */
	if (!call || (open->mpi == STACKD_MPI_FORTRAN && call->kind == STACKD_MPI_OTHER))
		return;
	mpi_take_arguments(ctx, &from);
	open->mpi = call->kind;
	open->sent = open->received = call->kind == STACKD_MPI_FORTRAN ? MPI_UNKNOWN : 0;
	if (call->kind == STACKD_MPI_BYTES) {
		open->sent = mpi_bytes(&from, call, &call->sent);
		open->received = mpi_bytes(&from, call, &call->received);
	} else if (call->kind == STACKD_MPI_COMM_SIZE || call->kind == STACKD_MPI_COMM_RANK) {
		open->comm = mpi_comm_of(from.in_registers[0], call->library).handle;
		open->result = from.in_registers[1];
	}
}

/* Remembers what a call has told the program of a communicator. */
static __always_inline void mpi_leave(const struct open_instance *open)
{
	struct mpi_comm key = {.handle = open->comm, .pid = bpf_get_current_pid_tgid() >> 32};
	struct mpi_comm_known now = {}, *known;
	__u32 value = 0;

	if (open->mpi != STACKD_MPI_COMM_SIZE && open->mpi != STACKD_MPI_COMM_RANK)
		return;
	if (bpf_probe_read_user(&value, sizeof(value), (const void *)open->result))
		return;
	known = CHECKED(bpf_map_lookup_elem(&mpi_comms, &key));
	if (known)
		now = *known;
	if (open->mpi == STACKD_MPI_COMM_SIZE)
		now.size = value;
	else
		now.rank = value + 1;
	bpf_map_update_elem(&mpi_comms, &key, &now, BPF_ANY);
}

#endif
