/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An MPI_Status says how many bytes have arrived. For non-blocking and persistent receives, the
 * call that completes the request fills it in: MPI_Wait(), MPI_Testsome(), ...
 *
 *   MPI_Irecv   its instance has the size of the buffer, marked STACKD_MPI_LATER
 *               mpi_posted: (handle, process) ─► the instance, the size
 *   MPI_Wait    keeps the requests' handles at its entry, since the library overwrites them; at its
 *               return, sends a COMPLETED record for each completed request that is in mpi_posted
 *
 * The daemon then adds the bytes to the path of MPI_Irecv()'s instance
 * (daemon/recorder/mpi_pending.h). If a request is never seen to be completed, the instance keeps
 * the size of the buffer.
 */
#ifndef MPI_STATUS_BPF_H
#define MPI_STATUS_BPF_H

#include "mpi_object.bpf.h"

#define MPI_MOST_HANDLES 512 /* a power of two; of a call, the first 511 handles are used */

/* --- statuses -------------------------------------------------------------------------------- */

/*
 * Returns the number of bytes in a status; MPI_UNKNOWN: it cannot be read, or is impossible. In
 * Open MPI the number is the last member of the structure, behind four of 4 bytes. In MPICH its
 * lower half is the first member, and its upper half is in the second one, above a bit that says
 * whether the request was cancelled.
 */
static __always_inline __u64 mpi_status_bytes(__u64 status, bool is_open_mpi)
{
	__u64 value;

	if (bpf_probe_read_user(&value, sizeof(value), (const void *)(status + 16 * is_open_mpi)))
		return MPI_UNKNOWN;
	if (!is_open_mpi)
		value = (__u32)value | value >> 33 << 32;
	return value == STACKD_MPI_BYTES_OF(value) ? value : MPI_UNKNOWN;
}

/* Returns how many bytes have arrived, with flags. `most` is the size of the buffer, `told` the
 * number in the status. If `told` is not known or larger than the buffer, the result is `most`. */
static __always_inline __u64 mpi_arrived(__u64 most, __u64 told, bool is_file)
{
	__u64 bytes = most == MPI_UNKNOWN ? most : STACKD_MPI_BYTES_OF(most);

	if (told == MPI_UNKNOWN || told > bytes)
		return most;
	return told && is_file ? told | STACKD_MPI_OF_FILE : told;
}

/* --- requests -------------------------------------------------------------------------------- */

/* A buffer that a non-blocking receive has posted. */
struct mpi_posted_bytes {
	__u64 bytes;	/* size of the buffer, with the flags STACKD_MPI_LATER and others */
	__u64 enter_ns; /* when the call began */
	__u32 tid;	/* thread of the call */
	__u32 pad;
};

/* The posted buffers whose requests are not complete yet. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct mpi_key);
	__type(value, struct mpi_posted_bytes);
} mpi_posted SEC(".maps");

/* Notes in mpi_posted that the instance has posted a buffer with this request. Returns whether that
 * was possible. */
static __always_inline bool mpi_post(const struct open_instance *open, __u64 handle, __u64 bytes)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	struct mpi_key key = {.handle = handle, .pid = pid_tgid >> 32};
	struct mpi_posted_bytes posted = {
		.bytes = bytes, .enter_ns = open->enter_ns, .tid = (__u32)pid_tgid};

	return !bpf_map_update_elem(&mpi_posted, &key, &posted, BPF_ANY);
}

/* --- completion ------------------------------------------------------------------------------ */

/* The handles of the requests that the thread's last completing call (MPI_Wait() and others) may
 * complete. */
struct mpi_waits {
	__u64 slot; /* slot of that call, since another call may be suspended on another stack */
	__u64 count;
	__u64 bytes; /* size of a handle */
	__u8 handles[MPI_MOST_HANDLES * 8];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct mpi_waits);
} mpi_waits SEC(".maps");

/* Keeps `count` handles, from the address `handles` on, at the entry of a call that completes
 * requests. */
static __always_inline void mpi_keep_handles(const struct open_instance *open, __u64 handles,
					     __s32 count)
{
	bool are_long = open->has_long_handles;
	struct mpi_waits *w = CHECKED(bpf_task_storage_get(&mpi_waits, bpf_get_current_task_btf(),
							   0, BPF_LOCAL_STORAGE_GET_F_CREATE));
	__u64 n = count < 0 ? 0 : count < MPI_MOST_HANDLES ? count : MPI_MOST_HANDLES - 1;
	long err;

	if (!w)
		return;
	n = BOUNDED(n, MPI_MOST_HANDLES);
	err = are_long ? bpf_probe_read_user(w->handles, n * 8, (const void *)handles)
		       : bpf_probe_read_user(w->handles, n * 4, (const void *)handles);
	w->slot = open->mpi_slot;
	w->bytes = are_long ? 8 : 4;
	w->count = err ? 0 : n;
}

struct mpi_completion {
	const struct mpi_waits *waits;
	__u64 status;  /* address of the first status; 0 or 1: there is none */
	__u64 indices; /* address of the array with the numbers of the completed requests; 0: the
			* numbers are first, first + 1, ... */
	__u32 first;   /* number of the first request, if there are no indices */
	__u32 pid;
};

static __always_inline __u64 mpi_kept_handle(const struct mpi_waits *w, __u32 index)
{
	index = BOUNDED(index, MPI_MOST_HANDLES);
	return w->bytes == 8 ? ((const __u64 *)w->handles)[index]
			     : ((const __u32 *)w->handles)[index];
}

/* Returns the size of an MPI_Status. */
static __always_inline __u32 mpi_status_size(const struct mpi_waits *w)
{
	return w->bytes == 8 ? 24 : 20; /* of Open MPI and MPICH */
}

static long mpi_complete_one(__u32 i, void *arg)
{
	const struct mpi_completion *c = arg;
	__u32 index = c->indices ? mpi_int(c->indices + 4 * (__u64)i) : c->first + i;
	struct mpi_key key = {.pid = c->pid};
	struct stackd_completed record = {};
	struct mpi_posted_bytes *posted;
	__u64 told = MPI_UNKNOWN;

	if (index >= c->waits->count)
		return 0;
	key.handle = mpi_kept_handle(c->waits, index);
	posted = CHECKED(bpf_map_lookup_elem(&mpi_posted, &key));
	if (!posted)
		return 0;
	if (c->status > 1)
		told = mpi_status_bytes(c->status + (__u64)i * mpi_status_size(c->waits),
					c->waits->bytes == 8);
	record.header.version = STACKD_ABI_VERSION;
	record.header.kind = STACKD_RECORD_COMPLETED;
	record.header.tid = (__u32)bpf_get_current_pid_tgid();
	record.header.time_ns = bpf_ktime_get_ns();
	record.header.cpu = bpf_get_smp_processor_id();
	record.pid = c->pid;
	record.poster = posted->tid;
	record.enter_ns = posted->enter_ns;
	record.posted = posted->bytes;
	record.arrived =
		mpi_arrived(posted->bytes, told, (posted->bytes & STACKD_MPI_OF_FILE) != 0);
	bpf_map_delete_elem(&mpi_posted, &key);
	/* If the ring buffer has no room, the receive's instance keeps the size of its buffer, and
	 * the flag STACKD_MPI_LATER. */
	bpf_ringbuf_output(&ring, &record, sizeof(record), BPF_RB_NO_WAKEUP);
	return 0;
}

/* Sends a record for each request that a call has completed. Which requests these are, calls that
 * test requests return as a flag, an index or a count. */
static __always_inline void mpi_complete(const struct open_instance *open)
{
	struct mpi_completion c = {.status = open->status, .pid = bpf_get_current_pid_tgid() >> 32};
	__s32 count;

	c.waits = CHECKED(bpf_task_storage_get(&mpi_waits, bpf_get_current_task_btf(), 0, 0));
	if (!c.waits || c.waits->slot != open->mpi_slot)
		return;
	count = c.waits->count;
	if (open->mpi == STACKD_MPI_WAIT_ANY) {
		c.first = mpi_int(open->result);
		count = 1;
	} else if (open->mpi == STACKD_MPI_WAIT_SOME) {
		c.indices = open->comm;
		count = mpi_int(open->result);
	} else if (open->result && !mpi_int(open->result)) {
		return;
	}
	if (count > 0 && count <= MPI_MOST_HANDLES)
		bpf_loop(count, mpi_complete_one, &c, 0);
}

#endif
