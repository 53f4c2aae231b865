/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a blocked thread waits for: the file, pipe or socket of a descriptor, or a futex.
 *
 *   leaves the CPU       notes the file of the descriptor, and the thread that holds the mutex
 *   gets a CPU again     if the wait is sampled: takes the names from that file
 *
 * Meanwhile the descriptor can be closed and become another file's, so the file is noted when the
 * thread leaves the CPU. The file itself stays at least until the system call ends, so it can be
 * described later. The mutex is also read when the thread leaves the CPU, since at the end of the
 * wait another thread may hold it, or none.
 *
 * Paths are not made here, since the kernel does not allow that where these programs run. The
 * daemon finds the path by the descriptor, and uses it if the number of the inode is the same.
 */
#ifndef WAIT_OBJECT_BPF_H
#define WAIT_OBJECT_BPF_H

#include <bpf/bpf_endian.h>

#include "wait_thread.bpf.h"

#define MOST_CALL   0x7fff
#define SOCKET_FS   0x534f434b /* super_block.s_magic */
#define PIPE_FS	    0x50495045
#define ANON_FS	    0x09041934
#define FAMILY_UNIX 1
#define FAMILY_IP   2
#define FAMILY_IP6  10

#define FUTEX_OPERATION 0x7f /* without its flags */
#define FUTEX_WAIT	0
#define FUTEX_LOCK_PI	6
#define FUTEX_BITSET	9 /* waits with an absolute timeout */
#define FUTEX_LOCK_PI2	13
#define FUTEX_TID	0x3fffffff
#define FUTEX_WAITERS	0x80000000
#define CONTENDED	2    /* the word of a mutex for which other threads wait */
#define MOST_USERS	4096 /* a mutex with more users than this is no mutex */

/* --- when the thread leaves the CPU ---------------------------------------------------------- */

/* Returns the file of a descriptor; 0: it has none. */
static __always_inline __u64 file_of(struct task_struct *task, __u64 descriptor)
{
	const struct files_struct *files = task->files;
	const struct fdtable *table = files ? files->fdt : NULL;
	__u64 file = 0;

	if (!table || descriptor >= table->max_fds)
		return 0;
	bpf_probe_read_kernel(&file, sizeof(file), table->fd + descriptor);
	return file;
}

/* The beginning of pthread_mutex_t. */
struct mutex {
	__u32 lock, count, owner, users;
};

/*
 * Returns the thread that holds a mutex of the C library, as the mutex says; 0: not known, or it is
 * no mutex. In robust and priority-inheriting mutexes, and in musl's, the futex's word has the
 * holder, and a bit that says that other threads wait (musl's normal mutexes have no holder).
 * glibc's other mutexes have the holder behind that word. Conditions, semaphores, barriers and
 * joins wait for other values. Another lock can look like a mutex, so the daemon accepts only a
 * thread of the process. In a pid namespace, a mutex has another id of the thread than the kernel
 * half, so then the result is 0.
 */
static __always_inline __u32 holder_of(struct task_struct *task, const struct pt_regs *saved)
{
	const __u32 operation = PT_REGS_PARM2(saved) & FUTEX_OPERATION,
		    value = PT_REGS_PARM3(saved);
	const bool inherits = operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2;
	const bool waits = operation == FUTEX_WAIT || operation == FUTEX_BITSET;
	const bool in_word = inherits || value & FUTEX_WAITERS;
	const void *address = (const void *)PT_REGS_PARM1(saved);
	struct mutex mutex = {0};

	if (!inherits && (!waits || (value != CONTENDED && !in_word)))
		return 0;
	if (BPF_CORE_READ(task, thread_pid, level) ||
	    bpf_probe_read_user(&mutex, in_word ? sizeof(mutex.lock) : sizeof(mutex), address))
		return 0;
	if (!inherits && mutex.lock != value)
		return 0;
	if (in_word)
		return mutex.lock & FUTEX_TID;
	return mutex.users - 1 < MOST_USERS ? mutex.owner : 0;
}

/* Returns the descriptor that a thread polls; -1: none, or it polls several. */
static __always_inline __u32 polled_by(const struct pt_regs *saved)
{
	__s32 descriptor = -1;

	if (PT_REGS_PARM2(saved) == 1)
		bpf_probe_read_user(&descriptor, sizeof(descriptor),
				    (const void *)PT_REGS_PARM1(saved));
	return descriptor;
}

/* Notes the object for which a thread begins to wait. `is_current`: it is the current thread, so
 * that its memory can be read. */
static __always_inline void note_object(struct wait_thread *thread, struct task_struct *task,
					bool is_current)
{
	const struct pt_regs *saved = (const struct pt_regs *)bpf_task_pt_regs(task);
	__u64 call = ARCH_SYSTEM_CALL(saved);

	thread->file = 0;
	thread->holder = 0;
	if (call == ARCH_CALL_FUTEX || call == (__u64)ARCH_CALL_POLL || call == ARCH_CALL_PPOLL) {
		if (is_current && call == ARCH_CALL_FUTEX) {
			thread->holder = holder_of(task, saved);
		} else if (is_current) {
			thread->polled = polled_by(saved);
			thread->file = file_of(task, thread->polled);
		}
	} else if (call <= MOST_CALL) {
		thread->file = file_of(task, PT_REGS_PARM1(saved));
	}
}

/* --- when its wait is sampled ---------------------------------------------------------------- */

static __always_inline void fill_peer(struct stackd_wait *wait, const struct sock *sock,
				      bool is_ip6)
{
	wait->object = STACKD_OBJECT_IP;
	wait->protocol = BPF_CORE_READ(sock, sk_protocol);
	wait->local_port = BPF_CORE_READ(sock, __sk_common.skc_num);
	wait->peer_port = bpf_ntohs(BPF_CORE_READ(sock, __sk_common.skc_dport));
	if (is_ip6) {
		bpf_core_read(wait->peer, sizeof(wait->peer), &sock->__sk_common.skc_v6_daddr);
		return;
	}
	wait->peer[0] = wait->peer[1] = 0;
	wait->peer[2] = bpf_htonl(0xffff);
	wait->peer[3] = BPF_CORE_READ(sock, __sk_common.skc_daddr);
}

/* Takes the inode of the socket, this one or its peer, that has an address. (A socket that connects
 * has none.) */
static __always_inline void fill_unix(struct stackd_wait *wait, const struct sock *sock)
{
	const struct unix_sock *own = (const struct unix_sock *)sock, *peer;
	__u64 number;

	if (!bpf_core_field_exists(own->addr) || !bpf_core_field_exists(own->peer))
		return;
	if (BPF_CORE_READ(own, addr)) {
		wait->object = STACKD_OBJECT_UNIX;
		return;
	}
	peer = (const struct unix_sock *)BPF_CORE_READ(own, peer);
	if (!peer || !BPF_CORE_READ(peer, addr))
		return;
	number = BPF_CORE_READ(peer, sk.sk_socket, file, f_inode, i_ino);
	if (!number) /* the connection was not accepted yet */
		return;
	wait->object = STACKD_OBJECT_UNIX;
	wait->number = number;
}

static __always_inline void fill_socket(struct stackd_wait *wait, const struct file *file)
{
	const struct socket *socket = (const struct socket *)BPF_CORE_READ(file, private_data);
	const struct sock *sock = BPF_CORE_READ(socket, sk);
	__u16 family = BPF_CORE_READ(sock, __sk_common.skc_family);

	wait->object = STACKD_OBJECT_SOCKET;
	if (!sock || BPF_CORE_READ(socket, file) != file)
		return;
	if (family == FAMILY_IP || family == FAMILY_IP6)
		fill_peer(wait, sock, family == FAMILY_IP6);
	else if (family == FAMILY_UNIX)
		fill_unix(wait, sock);
}

static __always_inline void fill_file(struct stackd_wait *wait, const struct file *file)
{
	const struct inode *inode = BPF_CORE_READ(file, f_inode);
	__u64 magic = BPF_CORE_READ(inode, i_sb, s_magic);

	wait->file_type = BPF_CORE_READ(inode, i_mode) >> 12;
	wait->number = BPF_CORE_READ(inode, i_ino);
	if (magic == SOCKET_FS) {
		fill_socket(wait, file);
	} else if (magic == PIPE_FS) {
		wait->object = STACKD_OBJECT_PIPE;
	} else if (magic == ANON_FS) {
		wait->object = STACKD_OBJECT_ANON;
		bpf_probe_read_kernel_str(wait->name, sizeof(wait->name),
					  BPF_CORE_READ(file, f_path.dentry, d_name.name));
	} else {
		wait->object = STACKD_OBJECT_FILE;
		wait->generation = BPF_CORE_READ(inode, i_generation);
	}
}

/* Fills in the object for which a thread has waited in its system call. */
static __always_inline void fill_object(struct stackd_wait *wait, const struct wait_thread *thread)
{
	if (wait->call == ARCH_CALL_FUTEX) {
		wait->object = STACKD_OBJECT_FUTEX;
		wait->number = thread->holder;
	} else if (thread->file) {
		if (wait->call == ARCH_CALL_POLL || wait->call == ARCH_CALL_PPOLL)
			wait->argument = thread->polled;
		fill_file(wait, (const struct file *)thread->file);
	}
}

#endif
