/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Objects of MPI in a program's memory: the size of a datatype, the size of a communicator and the
 * process's rank in it. Where a library keeps them was found out from its code
 * (daemon/regions/mpi_layout.h). For libraries whose layout is not known, the results of
 * MPI_Comm_size() and MPI_Comm_rank() are remembered.
 *
 * Values are checked where possible: each object of MPICH begins with its own handle. Sizes of
 * derived datatypes are used only if the sizes that the same offsets give for pair types (such as
 * MPI_DOUBLE_INT), which the library makes when it starts, are those that the standard requires.
 */
#ifndef MPI_OBJECT_BPF_H
#define MPI_OBJECT_BPF_H

#include "instance.bpf.h"

#define MPI_UNKNOWN STACKD_MPI_NOT_KNOWN

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, STACKD_MPI_LIBRARIES + 1);
	__type(key, __u32);
	__type(value, struct stackd_mpi_library);
} mpi_libraries SEC(".maps");

/* A handle of MPI in a process. */
struct mpi_key {
	__u64 handle;
	__u32 pid;
	__u32 pad;
};

struct mpi_comm_known {
	__u32 size;	/* 0: not known */
	__u32 rank;	/* the process's rank plus 1; 0: not known */
	__u32 is_inter; /* it is an intercommunicator, with two groups: `size` is that of the
			 * local group */
	__u32 pad;
};

/* Known communicators, by handle. New entries replace those of processes that have ended. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct mpi_key);
	__type(value, struct mpi_comm_known);
} mpi_comms SEC(".maps");

/* A library of MPI, as it is loaded in a process. */
struct mpi_place {
	const struct stackd_mpi_library *library;
	__u64 bias; /* to add to vaddrs of the library */
};

/* Returns a word of the program's memory; 0: it cannot be read. */
static __always_inline __u64 mpi_word(__u64 address)
{
	__u64 value = 0;

	bpf_probe_read_user(&value, sizeof(value), (const void *)address);
	return value;
}

static __always_inline __u32 mpi_int(__u64 address)
{
	__u32 value = 0;

	bpf_probe_read_user(&value, sizeof(value), (const void *)address);
	return value;
}

/* Returns the handle that a program passes. MPICH's handles have 32 bits; the register's upper half
 * is undefined. */
static __always_inline __u64 mpi_handle(const struct mpi_place *place, __u64 value)
{
	return place->library->vendor == STACKD_MPI_OPEN ? value : (__u32)value;
}

/*
 * Returns the address of an object of MPICH that is not predefined; 0: it is not known. The first
 * objects are in a table in the library's data, the others in tables that it has allocated.
 */
static __always_inline __u64 mpich_object(const struct mpi_place *place, __u64 vaddr, __u32 handle)
{
	__u64 tables = vaddr + place->bias, table;
	__u64 entry = tables + place->library->entry_offset;
	__u32 index;

	if (!vaddr)
		return 0;
	if (handle >> 30 == 2) {
		table = mpi_word(entry + 8);
		index = handle & 0x3ffffff;
	} else if (handle >> 30 == 3) {
		table = mpi_word(mpi_word(tables + 16) + 8 * (handle >> 12 & 0x3fff));
		index = handle & 0xfff;
	} else {
		return 0;
	}
	table += (__u64)index * mpi_int(entry);
	return mpi_int(table) == handle ? table : 0;
}

/* --- datatypes ------------------------------------------------------------------------------- */

/* Returns whether a pair type, by its handle, has the size that the standard requires. */
static __always_inline bool is_pair(const struct mpi_place *place, __u32 handle, __u64 size)
{
	__u64 type = mpich_object(place, place->library->types, handle);

	return type && mpi_word(type + place->library->size_offset) == size;
}

/* Returns the size of a datatype; MPI_UNKNOWN: it is not known. */
static __always_inline __u64 mpi_type_size(const struct mpi_place *place, __u64 type)
{
	const struct stackd_mpi_library *library = place->library;
	__u64 size, object;

	if (library->vendor == STACKD_MPI_OPEN)
		return bpf_probe_read_user(&size, sizeof(size),
					   (const void *)(type + library->size_offset))
			       ? MPI_UNKNOWN
			       : size;
	if (library->vendor != STACKD_MPI_MPICH)
		return MPI_UNKNOWN;
	/* The handle of a basic type has two bits for the kind "basic", four for "datatype", and
	 * the size. */
	if ((__u32)type >> 26 == 0x13)
		return type >> 8 & 0xff;
	if (((__u32)type >> 26 & 15) != 3)
		return MPI_UNKNOWN;
	object = mpich_object(place, library->types, type);
	/* MPI_DOUBLE_INT and MPI_SHORT_INT */
	if (!object || !is_pair(place, 0x8c000001, 12) || !is_pair(place, 0x8c000003, 6))
		return MPI_UNKNOWN;
	return mpi_word(object + library->size_offset);
}

/* --- communicators --------------------------------------------------------------------------- */

static __always_inline __u64 mpich_comm(const struct mpi_place *place, __u32 handle)
{
	const struct stackd_mpi_library *library = place->library;
	__u64 table;

	if ((handle >> 26 & 15) != 1)
		return 0;
	if (handle >> 30 != 1)
		return mpich_object(place, library->comms, handle);
	for (int i = 0; i < 2; i++) {
		if (!library->comm_slots[i])
			continue;
		table = mpi_word(library->comm_slots[i] + place->bias);
		table += (__u64)(handle & 0x3ffffff) * library->comm_bytes;
		if (mpi_int(table) == handle)
			return table;
	}
	return 0;
}

/* Reads the size of a communicator and the process's rank in it from the communicator's object.
 * Returns false if they cannot be read, or are impossible. */
static __always_inline bool mpi_read_comm(const struct mpi_place *place, __u64 handle,
					  struct mpi_comm_known *ret_known)
{
	const struct stackd_mpi_library *library = place->library;
	__u64 comm = handle;

	if (!library->rank_offset || !library->count_offset)
		return false;
	if (library->vendor == STACKD_MPI_MPICH)
		comm = mpich_comm(place, handle);
	if (!comm)
		return false;
	if (library->inter_offset)
		ret_known->is_inter = mpi_int(comm + library->inter_offset) & 1;
	ret_known->rank = mpi_int(comm + library->rank_offset) + 1;
	comm += library->count_offset;
	if (library->group_offset)
		comm = mpi_word(comm) + library->group_offset;
	ret_known->size = mpi_int(comm);
	return ret_known->size > 0 && ret_known->rank > 0 && ret_known->rank <= ret_known->size;
}

/* Finds a communicator's size and rank in its object, else among the results of earlier calls.
 * Sets unknown members to 0. */
static __always_inline void mpi_find_comm(const struct mpi_place *place, __u64 handle,
					  struct mpi_comm_known *ret_known)
{
	struct mpi_key key = {.handle = mpi_handle(place, handle),
			      .pid = bpf_get_current_pid_tgid() >> 32};
	struct mpi_comm_known *known;

	*ret_known = (struct mpi_comm_known){};
	if (mpi_read_comm(place, key.handle, ret_known))
		return;
	*ret_known = (struct mpi_comm_known){};
	known = CHECKED(bpf_map_lookup_elem(&mpi_comms, &key));
	if (known)
		*ret_known = *known;
}

/* Remembers the result of MPI_Comm_size() or MPI_Comm_rank() for a communicator. */
static __always_inline void mpi_keep_comm(__u64 handle, __u32 value, bool is_size)
{
	struct mpi_key key = {.handle = handle, .pid = bpf_get_current_pid_tgid() >> 32};
	struct mpi_comm_known now = {}, *known;

	known = CHECKED(bpf_map_lookup_elem(&mpi_comms, &key));
	if (known)
		now = *known;
	if (is_size)
		now.size = value;
	else
		now.rank = value + 1;
	bpf_map_update_elem(&mpi_comms, &key, &now, BPF_ANY);
}

#endif
