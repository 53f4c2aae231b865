/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The open instances of a thread (an instance is a pass through a region: region.bpf.h), and how
 * samples are joined with them.
 *
 * If both are recorded, the CPU time within instances is measured exactly. So a sample outside of
 * instances represents the thread's CPU time since its last sample outside, less that of the
 * instances in between: its effective interval (Szebenyi, Gamblin, Schulz, de Supinski, Wolf and
 * Wylie, "Reconciling Sampling and Direct Instrumentation for Unintrusive Call-Path Profiling of
 * MPI Programs", IPDPS 2011). Samples and instances of a thread add up to its CPU time, except for
 * the time before its first sample outside and after its last one.
 *
 * The sampler may interrupt a region's BPF program while that changes the thread's data. Then it
 * leaves the thread's struct outside_clock as it is, so the next sample represents this sample's
 * time as well.
 *
 * At samples it is also found out that the thread has left instances without a return
 * (abandoned.bpf.h); then the time is noted.
 *
 * A sample right after the return of an instance, but before the probe at its end, is already
 * outside, and takes all of the thread's time so far. The instance's time is subtracted when it
 * ends, so the next interval can be negative: it becomes 0, and so do the next ones until the
 * difference is made up. The interval of a thread's first sample is not known, as the thread may be
 * older than the recording. The sample gets a period instead, which makes up on average for the
 * time after the last sample; with the time since the thread was made, sums would be half a period
 * too small.
 */
#ifndef INSTANCE_BPF_H
#define INSTANCE_BPF_H

#include "call_thread.bpf.h"
#include "cpu_clock.bpf.h"
#include "scratch.bpf.h"

/* Limit of the bytes that task storage keeps of a thread. Linux 7.2 takes it from a slab of two
 * pages, with a header; if it is larger, no thread gets any. */
#define MOST_STORAGE 8000

#define REGION_DEPTH 32 /* open instances of a thread; more are only counted */
#define SEEN_LEFT    4	/* number of innermost instances that are examined at a sample */
/* number of a thread's regions whose entries are counted at the same time */
#define REGION_RATES  64
#define REGION_SECOND 1000000000ull

struct open_instance {
	__u64 slot;	/* address of its function's return address; of a mark (a probe at an
			 * instruction): a little below the slot of the function around it */
	__u64 caller;	/* the return address, the slot's content; 0: not known, or it is a
			 * mark's instance */
	__u64 function; /* address of its function's first instruction; of an ended mark: the
			 * address that was hit */
	__u64 enter_ns;
	__u64 enter_cpu;	     /* cpu_clock() */
	__u64 nested_ns, nested_cpu; /* time of instances within this one, which have ended */
	__u64 told_ns, told_cpu;     /* the part of this instance's time that was already counted
				      * as nested in other instances */
	__u64 seen_ns, seen_cpu;     /* time at which the thread was first seen outside of it; 0:
				      * it was not */
	__u32 region;		     /* number of the region or mark; 0: this entry is free */
	__u32 around;		     /* of a mark: number of the region in which it was hit; 0:
				      * none */
	__u64 sent, received;	     /* of a call of MPI */
	/* for a call of MPI: address of its MPI_Status; 0: it has none, or it was read */
	__u64 status;
	__u64 comm, result;    /* comm and result: arguments of MPI_Comm_size() and
				* MPI_Comm_rank(); result also of other calls; of
				* STACKD_MPI_WITHIN, the number of the call */
	__u64 mpi_slot;	       /* of the call of MPI to which the members above belong: slot of
				* its return address */
	__u64 stack;	       /* of a mark outside of every function: an address on the thread's
				* stack */
	__u32 mpi;	       /* enum stackd_mpi_kind */
	__u8 has_long_handles; /* MPI's handle at `result` has 8 bytes */
	__u8 goes_on;	       /* it may end with a jump to another function of MPI */
	__u8 is_file;	       /* it reads or writes a file */
	__u8 is_once;	       /* its probe has STACKD_ENTRY_ONCE */
};

/* How often a thread has entered a region since start_ns. */
struct region_rate {
	__u64 start_ns;
	__u32 region;
	__u32 count;
};

#define LONE_FRAMES 2

/* The record of an instance that is sent without a call path: its function, and perhaps the
 * caller. */
struct unwalked_instance {
	struct stackd_walked header;
	__u8 bytes[4 + sizeof(union stackd_measurement) + LONE_FRAMES * 16 + 4];
	__u32 size; /* bytes of all before */
};

/* Of the open instances: the one entered last before a given instance, and the one entered first
 * after it. */
struct neighbours {
	__u64 before, after;  /* the times at which they were entered */
	__u32 around, within; /* their indexes plus 1; 0: there is none */
	__u64 before_here;
	__u32 around_here; /* like `around`, but only among those on the thread's current stack */
	__u32 pad;
};

/* The stack that a thread was on when its stack was last looked up (abandoned.bpf.h). */
struct region_stack {
	__u64 low, high; /* bounds of its mapping, or of the part that is the thread's */
	__u32 is_found;	 /* 0: all addresses count as one stack */
	__u32 is_own;	 /* it is the thread's own stack, not a coroutine's */
};

/* The variables of a search through a thread's open instances (settle() in abandoned.bpf.h), for
 * which the program's stack has no room. */
struct settling {
	__u64 threshold;   /* instances whose slot is below this were left */
	__u64 now, cpu;	   /* the time of the search; it is a nanosecond later for each instance,
			    * inner instances first, since readers order the records of an
			    * instance by its end */
	__u64 nearest;	   /* slot of the innermost instance on this stack so far, */
	__u32 current;	   /* its index plus 1, */
	__u32 interrupted; /* and the index plus 1 of the instance that a handler has interrupted */
	__u64 later;	   /* the time at which the instance examined before was entered */
	__u32 count;
	__u32 once; /* as in struct region_thread, for this stack */
	bool is_own, is_handler, is_tangled;
};

/* The registers at the entry of a call of MPI (mpi.bpf.h), for which the program's stack has no
 * room. */
struct mpi_registers {
	__u64 arguments[8]; /* by index from 0; the last two are unused */
	__u64 stack_pointer;
};

/* What is kept of a thread for regions. The ended instance is here, since the walk needs the
 * program's stack. */
struct region_thread {
	__u32 count;
	__u32 once; /* index plus 1 of the instance on this stack with STACKD_ENTRY_ONCE; 0: none */
	__u32 busy; /* a BPF program is changing this struct, and the sampler may have
		     * interrupted that */
	__u16 is_tangled;   /* the open instances are not simply nested in each other
			       (abandoned.bpf.h) */
	__u16 current;	    /* if is_tangled: the index plus 1 of the innermost instance on this
			     * stack; 0: none */
	__u64 measured_cpu; /* CPU time of all ended instances that were not within another
			     * instance */
	struct open_instance ended;
	union stackd_measurement event; /* the record of the instance that has ended */
	struct unwalked_instance unwalked;
	struct region_stack stack;
	struct settling settling;
	struct neighbours beside;
	struct mpi_registers mpi_registers;
	struct region_rate rates[REGION_RATES];	 /* at the region's number modulo REGION_RATES */
	struct open_instance open[REGION_DEPTH]; /* outermost first, unless they are tangled */
};

_Static_assert(sizeof(struct region_thread) <= MOST_STORAGE, "task storage");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct region_thread);
} region_threads SEC(".maps");

/* --- samples outside ------------------------------------------------------------------------- */

SETTING __u32 is_joined = 0; /* samples have their effective interval as their period */

/* A thread's clocks at its last sample outside of instances. */
struct outside_clock {
	__u64 cpu; /* 0: it has had no sample outside */
	__u64 measured_cpu;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct outside_clock);
} outside_clocks SEC(".maps");

#define BUSY(thread, is) (*(volatile __u32 *)&(thread)->busy = (is))

/* Returns the index plus 1 of the innermost open instance on the thread's current stack; 0: there
 * is none. */
static __always_inline __u32 innermost_at(const struct region_thread *thread)
{
	return RARELY(thread->is_tangled) ? thread->current : thread->count;
}

static __always_inline struct open_instance *innermost(struct region_thread *thread)
{
	__u32 at = innermost_at(thread);

	return at ? &thread->open[BOUNDED(at - 1, REGION_DEPTH)] : NULL;
}

/* Returns whether the slot of an instance still has its return address; true also if the return
 * address is not known. */
static __always_inline bool holds_caller(const struct open_instance *open)
{
	__u64 caller = 0;

	return !open->caller ||
	       (!bpf_probe_read_user(&caller, sizeof(caller), (const void *)open->slot) &&
		caller == open->caller);
}

/* Returns whether an address is on the thread's alternate stack for signals. */
static __always_inline bool is_on_alternate(struct task_struct *task, __u64 address)
{
	return address - task->sas_ss_sp < task->sas_ss_size;
}

/*
 * Returns whether a thread is within an instance. An instance in thread->open may have been left by
 * longjmp() or an exception: then its slot is below the stack pointer, or another call has written
 * to the slot. Only the innermost SEEN_LEFT instances are searched. A signal handler is within the
 * function that it has interrupted.
 */
static __noinline bool is_inside(struct region_thread *thread, struct task_struct *task,
				 __u64 stack_pointer)
{
	bool is_handler = is_on_alternate(task, stack_pointer);

	for (__u32 i = 0; i < SEEN_LEFT && i < thread->count; i++) {
		const struct open_instance *open =
			&thread->open[BOUNDED(thread->count - 1 - i, REGION_DEPTH)];

		if (!open->region)
			continue;
		if (!open->caller && open->slot == ~0ull)
			return true; /* a mark outside of every function */
		if (!open->caller || (open->slot < stack_pointer && !is_handler))
			continue;
		if (holds_caller(open))
			return true;
	}
	return false;
}

/* Called for a sample: notes the time for each of the innermost instances that the thread seems to
 * have left, since their slots are below the stack pointer. If the thread is only on another stack
 * and returns to one of them, abandoned.bpf.h finds that out. */
static __noinline int note_left(struct region_thread *thread, struct task_struct *task,
				__u64 stack_pointer)
{
	if (!thread || !thread->count || thread->busy || !stack_pointer ||
	    is_on_alternate(task, stack_pointer))
		return 0;
	for (__u32 i = 0; i < SEEN_LEFT && i < thread->count; i++) {
		struct open_instance *open =
			&thread->open[BOUNDED(thread->count - 1 - i, REGION_DEPTH)];

		if (!open->region)
			continue;
		if (open->slot >= stack_pointer)
			break;
		if (open->seen_ns)
			continue;
		open->seen_cpu = cpu_clock(task);
		open->seen_ns = bpf_ktime_get_ns();
		/* Samples outside of instances do not represent the time of this instance. */
		if (i + 1 == thread->count && !thread->is_tangled) {
			__u64 used = open->seen_cpu - open->enter_cpu - open->told_cpu;

			if ((__s64)used > 0) {
				thread->measured_cpu += used;
				open->told_cpu += used;
			}
		}
	}
	return 0;
}

/* Returns the nanoseconds that a sample represents; 0: it is inside an instance, or its interval
 * would be negative. The first sample of a thread represents its period. */
static __always_inline __u32 effective_interval(struct task_struct *task,
						struct region_thread *thread, __u64 stack_pointer,
						__u32 period)
{
	const struct stackd_calls *calls = calls_of(task);
	__u64 cpu, measured = 0, interval = period;
	struct outside_clock *last;

	if ((calls && (calls->inside || calls->n_open)) ||
	    (thread && (thread->busy || is_inside(thread, task, stack_pointer))))
		return 0;
	last = CHECKED(
		bpf_task_storage_get(&outside_clocks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE));
	if (!last)
		return period;
	cpu = cpu_clock(task);
	if (thread)
		measured = thread->measured_cpu;
	if (calls)
		measured += calls->measured_cpu;
	if (last->cpu)
		interval = cpu - last->cpu - (measured - last->measured_cpu);
	if ((__s64)interval < 0)
		return 0;
	last->cpu = cpu;
	last->measured_cpu = measured;
	return interval < ~0u ? interval : ~0u;
}

/* If regions are recorded, too, sets the sample's period to the thread's time outside of
 * instances. */
static __always_inline void join_regions(struct scratch *s, struct task_struct *task,
					 struct region_thread *thread)
{
	const __u64 stack_pointer = s->record.regs.r[STACKD_REG_SP];

	if (RARELY(thread != NULL) && s->record.header.flags & STACKD_HAS_REGS)
		note_left(thread, task, stack_pointer);
	if (is_joined)
		s->record.period =
			effective_interval(task, thread, stack_pointer, s->record.period);
}

#endif
