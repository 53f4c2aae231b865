/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The few kernel structures that the programs read, with just the fields that they read. CO-RE
 * relocates each access against the running kernel's BTF when the program is loaded, so no
 * generated vmlinux.h of the building machine is needed, and one object serves every kernel.
 */
#ifndef KERNEL_TYPES_H
#define KERNEL_TYPES_H

#include <linux/types.h>

#include "../arch/arch.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	void *vdso; /* address at which the vDSO is mapped */
} mm_context_t;

struct maple_tree {
	void *ma_root;
};

typedef struct {
	int counter;
} atomic_t;

struct xol_area {
	unsigned long vaddr; /* address of the page that uprobes use, which begins with the
			      * trampoline */
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct uprobe_trampoline { /* 6.18 and later */
	struct hlist_node node;
	unsigned long vaddr; /* of its page */
};

struct uprobes_state {
	struct xol_area *xol_area;
	struct hlist_head head_tramps; /* 6.18 and later */
};

struct mm_struct {
	struct maple_tree mm_mt; /* the mappings */
	void *pgd;		 /* the page table */
	atomic_t mm_users;	 /* number of tasks that use it, and of other users at the moment */
	unsigned long brk;	 /* where the heap ends */
	unsigned long env_start, env_end;
	unsigned long start_stack; /* the main thread's stack pointer at the program's entry */
	mm_context_t context;
	struct uprobes_state uprobes_state;
};

/* A return address that a uretprobe has replaced. */
struct return_instance {
	unsigned long func;  /* address of the function's breakpoint */
	unsigned long stack; /* slot of the return address */
	unsigned long orig_ret_vaddr;
	struct return_instance *next; /* the instance before it */
};

struct uprobe_task {
	struct return_instance *return_instances;
	struct return_instance *ri_pool; /* finished ones, the last one first: 6.14 and later */
	unsigned long vaddr;		 /* of an instruction that is being single-stepped */
	unsigned long xol_vaddr;	 /* address of the copy that is stepped instead */
};

/* A count of the changes to the mappings: 6.4 and later, with CONFIG_PER_VMA_LOCK. */
struct seqcount {
	unsigned int sequence;
};
typedef struct seqcount seqcount_t;

struct mm_struct___seqcount { /* 6.13 and later */
	seqcount_t mm_lock_seq;
};

struct mm_struct___int {
	int mm_lock_seq;
};

/* The struct is anonymous, since libbpf would search modules for a named type that later kernels
 * lack. */
struct mm_struct___total { /* before 6.2 */
	struct {
		__s64 count[4];
	} rss_stat;
};

struct percpu_counter {
	__s64 count; /* without the part that the CPUs have not added yet */
};

struct mm_struct___percpu {
	struct percpu_counter rss_stat[4];
};

struct mm_struct___flags { /* before 6.18 */
	unsigned long flags;
};

typedef struct {
	unsigned long __mm_flags[1];
} mm_flags_t;

struct mm_struct___bitmap {
	mm_flags_t flags;
};

struct list_head {
	struct list_head *next, *prev;
};

struct rt_prio_array {
	struct list_head queue[100]; /* a queue for each priority, by sched_rt_entity.run_list */
};

struct rt_rq { /* real-time tasks of a CPU, the current one as well */
	struct rt_prio_array active;
	int rt_queued; /* they are in the CPU's run queue */
	struct {
		int curr; /* the first priority that has a task */
	} highest_prio;
};

struct sched_rt_entity {
	struct list_head run_list;
	struct rt_rq *my_q; /* with CONFIG_RT_GROUP_SCHED: the queue of a cgroup; NULL: this is a
			     * task */
};

struct rb_node {
	unsigned long __rb_parent_color;
};

struct rb_root_cached {
	struct rb_node *rb_leftmost;
};

struct dl_rq { /* tasks with a deadline, the current one as well, the first deadline leftmost */
	struct rb_root_cached root;
};

struct sched_dl_entity {
	struct rb_node rb_node;
	unsigned int dl_server : 1;
};

struct rq { /* the run queue of a CPU */
	unsigned int nr_running;
	struct rt_rq rt;
	struct dl_rq dl;
	struct list_head
		cfs_tasks; /* the tasks of the usual class that can run, by se.group_node */
	__u64 clock;
	__u64 clock_task;	  /* rq.clock less the time in interrupts and the stolen time */
	__u64 prev_steal_time_rq; /* kvm_steal_time.steal when the clock was last set */
	unsigned int clock_update_flags;
};

struct kvm_steal_time { /* per CPU, in a guest of KVM */
	__u64 steal;	/* nanoseconds for which it was ready to run, and the host did not run it */
};

struct hrtimer {
	__s64 _softexpires; /* CLOCK_MONOTONIC; while the timer fires, it is still the time for
			     * which it was set */
};

struct hw_perf_event {
	struct hrtimer hrtimer; /* the timer of a clock event */
	__u64 sample_period;
};

struct perf_event {
	struct hw_perf_event hw;
};

struct bpf_perf_event_data_kern { /* the real type of the context of a perf event's program */
	void *regs, *data;
	struct perf_event *event;
};

struct cfs_rq {
	struct rq *rq;	    /* with CONFIG_FAIR_GROUP_SCHED, as is sched_entity.cfs_rq */
	int throttle_count; /* with CONFIG_CFS_BANDWIDTH: number of groups around it that have no
			     * quota left */
};

struct sched_entity {
	__u64 exec_start;	/* rq.clock_task when the running time was last summed up */
	__u64 sum_exec_runtime; /* the running time until then */
	struct cfs_rq *cfs_rq;
	struct list_head group_node;
	unsigned char sched_delayed; /* the task is blocked, and still in the queue: 6.12 and
				      * later */
};

/* With CONFIG_SCHED_INFO: what /proc/PID/schedstat shows. */
struct sched_info {
	unsigned long long run_delay;	 /* time in a CPU's queue and not on the CPU; ns */
	unsigned long long last_arrival; /* when it last got a CPU; like last_queued, a value of
					  * rq.clock */
	unsigned long long last_queued;	 /* since when it is in a queue; 0: it is in none */
};

struct kernfs_node {
	__u64 id;
};

struct file;

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct cgroup_subsys_state {
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self; /* it is the first member, so its parent is the cgroup's
					  * parent, too */
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp; /* the cgroup in the hierarchy of version 2 */
};

struct bpf_local_storage;

struct signal_struct {
	atomic_t live; /* threads that have not ended */
};

struct task_io_accounting {
	__u64 rchar, wchar; /* bytes that system calls have read and written */
};

struct xa_node {
	unsigned char shift; /* of an index, for this node's slots */
	void *slots[64];
};

struct xarray {
	void *xa_head;
};

struct idr {
	struct xarray idr_rt;
};

struct pid_namespace {
	struct idr idr; /* struct pid by number */
};

struct upid { /* the whole struct: an array has it */
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level; /* level of its innermost namespace; 0: it is only in the initial one */
	struct hlist_head tasks[4];
	struct upid numbers[1]; /* by level */
};

struct thread_info {
	unsigned long flags; /* ARCH_MAY_RESCHEDULE and others */
};

struct task_struct {
	struct thread_info thread_info;
	void *stack; /* the lowest address of the kernel stack */
	unsigned int flags;
	unsigned int __state;
	/* The kernel's are of one byte in 7.2, and int before. CO-RE changes the size of a load
	 * only for a number that is unsigned here. */
	unsigned int on_cpu;
	unsigned int on_rq;		       /* 0: it is in no queue, and does not run */
	struct bpf_local_storage *bpf_storage; /* NULL: no BPF program keeps data of the task */
	struct css_set *cgroups;
	struct files_struct *files;
	int pid;
	int tgid;
	struct pid *thread_pid;
	struct hlist_node pid_links[4];
	struct sched_entity se;
	struct sched_rt_entity rt;
	struct sched_dl_entity dl;
	struct sched_info sched_info;
	struct signal_struct *signal;
	unsigned long nvcsw, nivcsw; /* context switches */
	__u64 start_time;
	unsigned long min_flt, maj_flt; /* page faults */
	struct task_io_accounting ioac;
	__u64 self_exec_id; /* number of execs */
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	struct mm_struct *mm;
	struct completion *vfork_done; /* in the child of vfork(), while its parent waits; else
					* NULL */
	unsigned int in_execve : 1;
	unsigned int in_iowait : 1;
	_Bool throttled;		      /* its cgroup has no quota left: 6.18 and later, with
					       * CONFIG_CFS_BANDWIDTH */
	unsigned long sas_ss_sp, sas_ss_size; /* its alternate stack for signals; 0: none */
	struct thread_struct thread;
	struct uprobe_task *utask; /* NULL: it has hit no uprobe */
};

struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
};

struct timespec64 {
	__s64 tv_sec;
	long tv_nsec;
};

struct inode {
	unsigned short i_mode;
	unsigned long i_ino;
	__u32 i_generation;
	struct super_block *i_sb;
	__s64 i_ctime_sec; /* 6.11 and later */
	__u32 i_ctime_nsec;
};

struct inode___6_6 {
	struct timespec64 __i_ctime;
};

struct inode___6_1 {
	struct timespec64 i_ctime;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
	void *private_data; /* for a socket: its struct socket */
};

struct in6_addr {
	__u32 words[4];
};

struct sock_common {
	unsigned short skc_family;
	__be16 skc_dport;
	__u16 skc_num; /* the local port */
	__be32 skc_daddr;
	struct in6_addr skc_v6_daddr;
};

struct sock {
	struct sock_common __sk_common;
	struct socket *sk_socket;
	__u16 sk_protocol;
};

struct socket {
	struct file *file;
	struct sock *sk;
};

struct unix_address;

struct unix_sock {
	struct sock sk;
	struct unix_address *addr;
	struct sock *peer;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_pgoff;
	unsigned long vm_flags;
	struct file *vm_file;
	struct mm_struct *vm_mm;
};

struct bpf_iter__task {
	struct task_struct *task; /* NULL: no more tasks */
};

#pragma clang attribute pop

#define PAGE_SHIFT ARCH_PAGE_SHIFT
#define PAGE_SIZE  (1 << PAGE_SHIFT)
#define VM_READ	   0x1
#define VM_EXEC	   0x4

/* task_struct.flags */
#define PF_EXITING     0x00000004
#define PF_IO_WORKER   0x00000010
#define PF_USER_WORKER 0x00004000
#define PF_EXITING     0x00000004
#define PF_KTHREAD     0x00200000

/* mm_struct.flags */
#define MMF_HAS_UPROBES (1ul << 19) /* set when a uprobe was first placed in it */

#endif
