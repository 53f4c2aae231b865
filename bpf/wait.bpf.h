/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waits (--wait): how long threads are off the CPU, and by which call path.
 *
 *   sched_switch   leaves the CPU: notes when
 *   sched_switch   has the CPU again: if the wait is sampled, takes the kernel's frames and asks
 *                  for an interrupt
 *   irq_work       the interrupt: walks the user's stack, and sends the record
 *   sched_switch   leaves the CPU for the last time: sends a record of the thread's end
 *
 * Only at the second switch is it known whether the wait is sampled, and a walk at each switch
 * would cost several times the switch. But the tracepoint of that switch runs in the previous
 * thread, with that thread's memory. So an interrupt is raised, which comes as soon as the switch
 * is done: at the first moment in the waiting thread, which is still in the kernel, behind the
 * switch. Its user stack is as it was when the thread left the CPU, since it has not run since.
 * (The user's frames of a vfork()'s parent can have been overwritten meanwhile, but that is so for
 * any walk of it.) Interrupts are off from the switch to there, so nothing can come in between. A
 * BPF program can raise one by draining a user ring buffer that nobody writes to: the kernel then
 * wakes the threads that wait for the buffer (there are none) from an interrupt. In a virtual
 * machine such an interrupt costs 15 to 30 us. That is little beside the waits that are sampled,
 * but much if all waits are recorded. Newer kernels have a tracepoint behind each switch, in the
 * thread that has the CPU again. With it, no interrupt is needed. It takes time at each switch, so
 * it is used only if all waits are recorded. Interrupts are on there, so it is not used if wakers
 * are recorded, too: their walks would interrupt these walks and need the same memory.
 *
 * The programs of the scheduler run with its queue locked. They allocate no memory, wake no task,
 * and do nothing for a thread without storage. Threads in scope get the storage when the recording
 * begins, and later from their parent's program when they are made. A sample may interrupt these
 * programs (a PMU's NMI), so their scratch memory is separate; the thread's remembered stack is
 * taken by try-lock, as always.
 *
 * Kernel threads have no user stack, and mostly wait for work; they are left out.
 */
#ifndef WAIT_BPF_H
#define WAIT_BPF_H

#include "cgroup.bpf.h"
#include "region.bpf.h"
#include "tracked_pids.bpf.h"
#include "wait_clock.bpf.h"
#include "wait_object.bpf.h"
#include "wait_thread.bpf.h"

SETTING __u32 wait_scope = STACKD_SCOPE_ALL;
SETTING __u32 wait_scratches = 0; /* index of the first scratch area for waits; there is one for
				   * each CPU */
SETTING __u32 wait_cpus = 0;	  /* number of CPUs; with this index there is one more area, for
				   * waits that have not ended */

#define TASK_DEAD 0x80

/* A user ring buffer by which a CPU interrupts itself. There is one for each CPU, since until the
 * interrupt of a buffer has come, the buffer raises none for another CPU. */
struct wait_ring {
	__uint(type, BPF_MAP_TYPE_USER_RINGBUF);
	__uint(max_entries, 4096);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1); /* one for each CPU: set by the daemon, as are the rings */
	__type(key, __u32);
	__array(values, struct wait_ring);
} wait_rings SEC(".maps");

__u32 walks_behind_switch = 0; /* walks are started by a tracepoint, not an interrupt; set by the
				* daemon */

/* --- which threads are measured -------------------------------------------------------------- */

static __always_inline struct wait_thread *thread_of(struct task_struct *task)
{
	return CHECKED(bpf_task_storage_get(&wait_threads, task, 0, 0));
}

/* Sends a record that says that a thread is measured from now on, or that it has left its CPU for
 * the last time. perf reports the end of a thread up to milliseconds earlier, and does not report
 * when measuring began. A WALKED record needs a frame, so this record has one, without an
 * address. */
static __noinline int send_life(__u64 pid_tgid, bool is_begun)
{
	union stackd_measurement event = {
		.life = {.kind = STACKD_EVENT_LIFE, .is_begun = is_begun}};
	struct unwalked_instance record = {};

	fill_unwalked(&record, pid_tgid, bpf_ktime_get_ns(), &event, 0, 0, STACKD_END_STACK_CUT);
	if (!put_unwalked(&record))
		count_wait(STACKD_WAIT_LIVES_LOST, 1);
	return 0;
}

static __always_inline __u64 pid_tgid_of(struct task_struct *task)
{
	return (__u64)task->tgid << 32 | (__u32)task->pid;
}

static __always_inline __u32 state_of(struct task_struct *task)
{
	if (task->on_cpu)
		return WAIT_RUNNING;
	return task->__state ? WAIT_BLOCKED : WAIT_RUNNABLE;
}

/* Begins to measure a thread, which is in the given state. WAIT_NONE: the state is read here, and
 * may change meanwhile; then the switch replaces WAIT_BEGINS by the new state, and no record says
 * that the thread began. */
static __always_inline void begin_waits(struct task_struct *task, __u32 state)
{
	const __u64 now = wait_clock_now(); /* read before the allocation, which takes time */
	struct wait_thread *thread = CHECKED(
		bpf_task_storage_get(&wait_threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE));

	if (!thread) {
		count_wait(STACKD_WAIT_NO_MEMORY, 1);
		return;
	}
	if (thread->state != WAIT_NONE)
		return;
	thread->since_ns = now;
	thread->queued_ns = queued_ns(task);
	thread->ran_ns = task->se.sum_exec_runtime;
	__sync_lock_test_and_set(&thread->state, WAIT_BEGINS);
	if (state == WAIT_NONE)
		state = state_of(task);
	if (state == WAIT_BLOCKED) {
		thread->task_state = task->__state & ~TASK_DEAD;
		note_object(thread, task, false);
	}
	if (__sync_val_compare_and_swap(&thread->state, WAIT_BEGINS, state) == WAIT_BEGINS &&
	    state == WAIT_RUNNING)
		send_life(pid_tgid_of(task), true);
}

/* Begins to measure each thread in scope when the recording begins. */
SEC("iter/task")
int stackd_wait_begin(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task || (task->flags & PF_KTHREAD) || !task->mm)
		return 0;
	if (wait_scope == STACKD_SCOPE_PROCESSES && !is_member(task, task->tgid))
		return 0;
	if (wait_scope == STACKD_SCOPE_CGROUP && !is_in_cgroup(task))
		return 0;
	begin_waits(task, WAIT_NONE);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int stackd_wait_fork(__u64 *ctx)
{
	struct task_struct *parent = (struct task_struct *)ctx[0];
	struct task_struct *child = (struct task_struct *)ctx[1];

	if (child->flags & PF_KTHREAD)
		return 0;
	if (wait_scope == STACKD_SCOPE_PROCESSES) {
		const struct wait_thread *of =
			CHECKED(bpf_task_storage_get(&wait_threads, parent, 0, 0));

		if (!of || of->state == WAIT_NONE)
			return 0;
	}
	if (wait_scope == STACKD_SCOPE_CGROUP && !is_in_cgroup(child))
		return 0;
	begin_waits(child, WAIT_RUNNABLE);
	return 0;
}

/* When the command is executed, begins to measure its thread. */
SEC("tp_btf/sched_process_exec")
int stackd_wait_exec(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];

	if (is_member(task, task->tgid))
		begin_waits(task, WAIT_RUNNING);
	return 0;
}

/* Handles a process that is moved into the recorded cgroup, or out of it. */
SEC("tp_btf/cgroup_attach_task")
int stackd_wait_cgroup(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[2];
	struct wait_thread *thread;

	if (task->flags & PF_KTHREAD)
		return 0;
	if (is_in_cgroup(task)) {
		begin_waits(task, WAIT_NONE);
		return 0;
	}
	thread = thread_of(task);
	if (thread)
		thread->state = WAIT_NONE;
	return 0;
}

/* --- records --------------------------------------------------------------------------------- */

static long no_message(struct bpf_dynptr *message, void *none)
{
	(void)message;
	(void)none;
	return 1;
}

/* Fills in the system call of a thread's wait, and the object for which it waited. */
static __always_inline void fill_reason(struct stackd_wait *wait, struct task_struct *task,
					const struct wait_thread *thread)
{
	const struct pt_regs *saved = (const struct pt_regs *)bpf_task_pt_regs(task);
	__u64 call = -1;

	bpf_probe_read_kernel(&call, sizeof(call), &ARCH_SYSTEM_CALL(saved));
	bpf_probe_read_kernel(&wait->argument, sizeof(wait->argument), &PT_REGS_PARM1(saved));
	wait->call = call < 0x7fff ? call : -1;
	wait->state = thread->task_state;
	wait->is_io = BPF_CORE_READ_BITFIELD(task, in_iowait);
	wait->waker = thread->waker;
	if (wait->call >= 0 && wait->state & ~STACKD_STATE_THROTTLED)
		fill_object(wait, thread);
}

/* Keeps a sampled wait's times and reason until its path is walked. */
static __always_inline void fill_ended(struct ended_wait *ended, struct task_struct *task,
				       const struct wait_thread *thread, __u64 blocked_ns,
				       __u64 runnable_ns, __u64 mean_ns)
{
	const struct pt_regs *saved = (const struct pt_regs *)bpf_task_pt_regs(task);
	long got;

	ended->pid = task->tgid;
	ended->tid = task->pid;
	ended->is_outside = 0;
	__builtin_memset(&ended->event, 0, sizeof(ended->event));
	ended->event.kind = STACKD_EVENT_WAIT;
	ended->event.wait.blocked_ns = blocked_ns;
	ended->event.wait.runnable_ns = runnable_ns;
	ended->event.wait.mean_ns = mean_ns;
	fill_reason(&ended->event.wait, task, thread);
	ended->pc = 0;
	bpf_probe_read_kernel(&ended->pc, sizeof(ended->pc), &PT_REGS_IP(saved));
	got = bpf_get_task_stack(task, ended->kernel, STACKD_MAX_KERNEL_FRAMES * 8, 0);
	ended->n_kernel = got > 0 ? (__u64)got / 8 : 0;
}

/* The record of a wait or wake-up without the user's path: it has the kernel frames, and one user
 * frame, with the program counter. */
struct lone_wait {
	struct stackd_walked header;
	__u8 bytes[4 + sizeof(union stackd_measurement) + 12];
	__u64 kernel[STACKD_MAX_KERNEL_FRAMES + 1]; /* one more than is sent; not aligned */
} __attribute__((packed));

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lone_wait);
} lone_waits SEC(".maps");

/* Returns the present time for a record, and sets late_ns to how much later that is than the wait's
 * end: the interrupt comes only when the CPU takes interrupts again. */
static __always_inline __u64 time_record(union stackd_measurement *event, __u64 ended_ns)
{
	__u64 now = bpf_ktime_get_ns(), late = time_between(ended_ns, now);

	if (event->kind == STACKD_EVENT_WAIT)
		event->wait.late_ns = late < STACKD_MOST_LATE_NS ? late : STACKD_MOST_LATE_NS;
	return now;
}

static __always_inline void send_lone_wait(struct ended_wait *ended, enum wait_record of)
{
	__u32 here = 0, kernel;
	struct lone_wait *record = CHECKED(bpf_map_lookup_elem(&lone_waits, &here));
	const __u32 front = __builtin_offsetof(struct lone_wait, kernel);
	bool is_lost;

	if (!record)
		return;
	kernel = wait_frames(record->kernel, of);
	record->header = (struct stackd_walked){
		.form = STACKD_FORM_WALKED | STACKD_FORM_NOT_REMEMBERED | STACKD_FORM_IN_KERNEL |
			STACKD_HAS_PID | STACKD_HAS_EVENT,
		.end = STACKD_END_STACK_CUT,
		.n_kernel = kernel,
		.tid = ended->tid,
		.time_ns = time_record(&ended->event, ended->ended_ns),
		.cpu = bpf_get_smp_processor_id(),
	};
	put_bytes(record->bytes, ended->pid, 4);
	put_event(record->bytes + 4, &ended->event);
	put_bytes(record->bytes + 4 + sizeof(ended->event), STACKD_FRAME_LONG, 4);
	put_bytes(record->bytes + 8 + sizeof(ended->event), ended->pc | STACKD_LOCATION_EXACT, 8);
	FORGET(kernel);
	if (kernel > STACKD_MAX_KERNEL_FRAMES)
		return;
	is_lost = bpf_ringbuf_output(&ring, record, front + kernel * 8, BPF_RB_NO_WAKEUP);
	count_wait_record(ended->event.kind, is_lost);
}

/* Sends an event without its path, which cannot be walked: another thread had the CPU before the
 * interrupt came, or there is no scratch area. */
static __always_inline void give_up_path(struct ended_wait *ended, enum wait_record of,
					 enum stackd_wait_counter why)
{
	count_wait(of == RECORD_OF_WAIT ? why : STACKD_WAIT_WAKERS_NO_PATH, 1);
	send_lone_wait(ended, of);
	ended->tid = 0;
}

static __always_inline void fill_wait(struct scratch *s, struct ended_wait *ended,
				      struct task_struct *task)
{
	struct stackd_stack_record *record = &s->record;
	struct stackd_header *header = &record->header;

	__builtin_memset(record, 0, __builtin_offsetof(struct stackd_stack_record, regs));
	header->version = STACKD_ABI_VERSION;
	header->time_ns = time_record(&ended->event, ended->ended_ns);
	header->tid = ended->tid;
	header->cpu = s->cpu;
	record->pid = ended->pid;
	record->period = usual_period;
	record->cgroup = bpf_get_current_cgroup_id();
	record->event = ended->event;
	header->flags = ended->is_outside ? STACKD_IN_KERNEL : take_saved_registers(s, task);
	if (BPF_CORE_READ_BITFIELD(task, in_execve))
		header->flags |= STACKD_IN_EXEC;
}

/* Returns the record for which the interrupt was raised, if thread `tid` is its thread; NULL: there
 * is none to walk. Gives up the paths of records of other threads. */
static __always_inline struct ended_wait *pending_record(__u32 tid, enum wait_record *ret_of)
{
	struct ended_wait *ended = ended_wait_here(), *waker = ended_here(RECORD_OF_WAKER);

	if (!ended || !waker)
		return NULL;
	if (waker->tid && (ended->tid || waker->tid != tid))
		give_up_path(waker, RECORD_OF_WAKER, STACKD_WAIT_NO_PATH);
	if (ended->tid && ended->tid != tid)
		give_up_path(ended, RECORD_OF_WAIT, STACKD_WAIT_NO_PATH);
	*ret_of = ended->tid ? RECORD_OF_WAIT : RECORD_OF_WAKER;
	if (ended->tid)
		return ended;
	return waker->tid ? waker : NULL;
}

/* Walks the stack for a wait or a wake-up. Runs in the interrupt that a switch or wake-up has
 * raised, or at the tracepoint behind the switch. */
SEC("raw_tp/irq_work_entry")
int stackd_wait_walk(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 cpu = bpf_get_smp_processor_id(), index = wait_scratches + cpu;
	enum wait_record record = RECORD_OF_WAIT;
	struct ended_wait *of = pending_record(task->pid, &record);
	struct scratch *s;

	(void)ctx;
	if (!of)
		return 0;
	s = CHECKED(bpf_map_lookup_elem(&scratches, &index));
	if (!s || __sync_val_compare_and_swap(&s->busy, 0, 1)) {
		give_up_path(of, record, STACKD_WAIT_NO_SCRATCH);
		return 0;
	}
	s->cpu = cpu;
	s->at_breakpoint = s->is_at_entry = s->call_bytes = 0;
	fill_wait(s, of, task);
	if (walk_here && (s->record.header.flags & WALKABLE) == STACKD_HAS_REGS) {
		walk_and_send(s, WALK_FOR_SCHEDULER, NULL, task);
	} else {
		s->copy_limit = stack_limit;
		send_stack(s, WALK_FOR_SCHEDULER, NULL);
	}
	of->tid = 0;
	__sync_lock_test_and_set(&s->busy, 0);
	return 0;
}

/* --- the scheduler --------------------------------------------------------------------------- */

/* Sends a record of a wait during which a switch was not traced, if it is sampled. `all` and
 * `runnable` are its lengths, `ended` is its end by the wait's clock. */
static __noinline int keep_untraced(struct wait_thread *thread, __u64 pid_tgid, __u64 all,
				    __u64 runnable, __u64 ended)
{
	union stackd_measurement event = {.untraced = {.kind = STACKD_EVENT_UNTRACED}};
	struct stackd_untraced *wait = &event.untraced;
	struct unwalked_instance record = {};
	const __u64 mean = wait_mean_ns, now = bpf_ktime_get_ns();

	count_wait(STACKD_WAIT_MISSED, 1);
	count_wait(STACKD_WAIT_MISSED_NS, all);
	if (runnable > all)
		runnable = all;
	if (is_kept(thread, all - runnable, mean))
		wait->blocked_ns = all - runnable;
	wait->runnable_ns = runnable;
	if (!is_kept(thread, runnable, mean))
		wait->runnable_ns |= STACKD_NOT_SAMPLED;
	if (!wait->blocked_ns && wait->runnable_ns & STACKD_NOT_SAMPLED)
		return 0;
	wait->mean_ns = mean;
	wait->was_blocked = runnable < all;
	wait->late_ns = time_between(monotonic_of(ended), now);
	fill_unwalked(&record, pid_tgid, now, &event, 0, 0, STACKD_END_STACK_CUT);
	if (!put_unwalked(&record)) {
		count_wait(STACKD_WAIT_KEPT, 1);
		count_wait(STACKD_WAIT_LOST_RING, 1);
	}
	return 0;
}

/*
 * Adds up the running time of a thread that leaves the CPU. Some kernels do not trace all switches
 * (docs/WAITS.md). If no traced switch gave the thread its CPU, the scheduler's data say when its
 * wait ended; where it waited is not known any more.
 */
static __always_inline void end_running(struct wait_thread *thread, struct task_struct *task,
					__u64 now, struct wait_counts *counts)
{
	__u64 since = thread->since_ns, ran = task->se.sum_exec_runtime - thread->ran_ns, all;

	if (thread->state != WAIT_RUNNING) {
		all = time_between(since, arrived_ns(task, now));
		since += all;
		keep_untraced(thread, pid_tgid_of(task), all,
			      thread->state == WAIT_BLOCKED ? queued_ns(task) - thread->queued_ns
							    : all,
			      since);
	}
	counts->n[STACKD_WAIT_RUNNING_NS] += time_between(since, now);
	counts->n[STACKD_WAIT_STOLEN_NS] += time_between(ran, time_between(since, now));
}

/* Returns whether a thread that leaves the CPU, although it could continue to run, does so because
 * its cgroup has no quota left. Kernels before 6.18 remove the whole queue of its group, later
 * kernels the thread. */
static __always_inline bool is_throttled(struct task_struct *task)
{
	struct cfs_rq *queue = NULL;

	if (bpf_core_field_exists(task->throttled))
		return BPF_CORE_READ(task, throttled);
	if (!bpf_core_field_exists(queue->throttle_count))
		return false;
	queue = task->se.cfs_rq;
	return queue && queue->throttle_count > 0;
}

static __always_inline void leave_cpu(struct wait_thread *thread, struct task_struct *task,
				      __u64 now, bool is_preempted, __u32 task_state,
				      struct wait_counts *counts)
{
	if (thread->state == WAIT_NONE)
		return;
	if (thread->state != WAIT_BEGINS)
		end_running(thread, task, now, counts);
	thread->since_ns = now;
	thread->queued_ns = queued_ns(task);
	thread->state = is_preempted || !task_state ? WAIT_RUNNABLE : WAIT_BLOCKED;
	thread->task_state = is_preempted ? 0 : task_state;
	if (thread->state == WAIT_RUNNABLE && is_throttled(task))
		thread->task_state = STACKD_STATE_THROTTLED;
	if (thread->state == WAIT_BLOCKED && thread->waker & WAKER_AHEAD) {
		thread->waker &= ~WAKER_AHEAD;
	} else {
		thread->drawn_ns = 0;
		thread->waker = STACKD_WAKER_UNKNOWN;
	}
	if (thread->state == WAIT_BLOCKED)
		note_object(thread, task, true);
	if (task_state & TASK_DEAD) {
		thread->state = WAIT_NONE;
		send_life(pid_tgid_of(task), false);
	}
}

/* For a thread that gets the CPU although no traced switch showed that it had left one: adds up its
 * running time, by the scheduler's sum, and records the rest as a wait. */
static __always_inline void end_unseen(struct wait_thread *thread, struct task_struct *task,
				       __u64 now, __u64 queued, struct wait_counts *counts)
{
	__u64 all = time_between(thread->since_ns, now);
	__u64 ran = task->se.sum_exec_runtime - thread->ran_ns;

	if (ran > all)
		ran = all;
	counts->n[STACKD_WAIT_RUNNING_NS] += ran;
	keep_untraced(thread, pid_tgid_of(task), all - ran, queued - thread->queued_ns, now);
}

/* Makes this CPU interrupt itself, as soon as it takes interrupts again. */
static __always_inline void ask_for_interrupt(void)
{
	__u32 cpu = bpf_get_smp_processor_id();
	void *wait_ring = CHECKED(bpf_map_lookup_elem(&wait_rings, &cpu));

	if (wait_ring)
		bpf_user_ringbuf_drain(wait_ring, no_message, NULL, BPF_RB_FORCE_WAKEUP);
}

static __always_inline void take_cpu(struct wait_thread *thread, struct task_struct *task,
				     __u64 now, struct wait_counts *counts)
{
	__u64 all = time_between(thread->since_ns, now), mean = wait_mean_ns, blocked, runnable;
	const __u64 queued = queued_until(task, now);
	const __u32 state = thread->state;
	struct ended_wait *ended;

	if (state == WAIT_NONE)
		return;
	if (state == WAIT_RUNNING) {
		end_unseen(thread, task, now, queued, counts);
		thread->waker = STACKD_WAKER_UNKNOWN;
	}
	if (thread->waker & WAKER_AHEAD) /* the wake-up came just when the thread's switch was
					  * traced */
		thread->waker &= ~WAKER_AHEAD;
	runnable = runnable_part(thread, state, all, queued);
	thread->since_ns = now;
	thread->queued_ns = queued;
	thread->ran_ns = task->se.sum_exec_runtime;
	thread->state = WAIT_RUNNING;
	if (state == WAIT_RUNNING || state == WAIT_BEGINS)
		return;
	blocked = all - runnable;
	/* No other program of this CPU can run in between here, so these need not be atomic. */
	counts->n[STACKD_WAIT_ENDED]++;
	counts->n[STACKD_WAIT_BLOCKED_NS] += blocked;
	counts->n[STACKD_WAIT_RUNNABLE_NS] += runnable;
	if (!is_blocked_kept(thread, blocked, mean))
		blocked = 0;
	if (!is_kept(thread, runnable, mean))
		runnable |= STACKD_NOT_SAMPLED;
	ended = blocked || !(runnable & STACKD_NOT_SAMPLED) ? ended_wait_here() : NULL;
	if (!ended)
		return;
	note_clock(bpf_ktime_get_ns(), now);
	count_wait(STACKD_WAIT_KEPT, 1);
	fill_ended(ended, task, thread, blocked, runnable, mean);
	ended->ended_ns = monotonic_of(now);
	if (!walks_behind_switch)
		ask_for_interrupt();
}

/* Notes the difference of the clocks. It runs for some switches before all other programs are
 * attached. */
SEC("tp_btf/sched_switch")
int stackd_wait_clock(__u64 *ctx)
{
	__u64 clock = queue_clock((struct task_struct *)ctx[2]);

	if (clock && has_queued_ns())
		note_clock(bpf_ktime_get_ns(), clock);
	return 0;
}

SEC("tp_btf/sched_switch")
int stackd_wait_switch(__u64 *ctx)
{
	struct task_struct *before = (struct task_struct *)ctx[1];
	struct task_struct *after = (struct task_struct *)ctx[2];
	struct wait_counts *counts;
	struct wait_thread *thread;
	struct ended_wait *ended;
	__u64 now;

	if (!before->bpf_storage && !after->bpf_storage)
		return 0;
	now = queue_clock(after);
	counts = wait_counts_here();
	if (!counts || !now)
		return 0;
	thread = before->bpf_storage ? thread_of(before) : NULL;
	if (thread) {
		ended = ended_wait_here();
		if (ended && ended->tid)
			give_up_path(ended, RECORD_OF_WAIT, STACKD_WAIT_NO_PATH);
		leave_cpu(thread, before, now, ctx[0] & 0xff, ctx[3], counts);
	}
	thread = after->bpf_storage ? thread_of(after) : NULL;
	if (thread)
		take_cpu(thread, after, now, counts);
	return 0;
}

/* --- waits that have not ended --------------------------------------------------------------- */

struct open_copy {
	struct scratch *s;
	struct task_struct *task;
};

/* Copies the next page of another thread's stack. Returns 1 to end the loop. */
static long copy_page_of(__u32 index, struct open_copy *of)
{
	struct scratch *s = of->s;
	__u64 from = s->copy.from + s->copy.got;
	__u32 len = PAGE_SIZE - (from & (PAGE_SIZE - 1)), at = s->copy.at + s->copy.got;

	(void)index;
	if (s->copy.got >= s->copy.want)
		return 1;
	if (len > s->copy.want - s->copy.got)
		len = s->copy.want - s->copy.got;
	FORGET(len);
	if (len > PAGE_SIZE || at > sizeof(s->payload) - PAGE_SIZE)
		return 1;
	if (bpf_copy_from_user_task(&s->payload[at], len, (const void *)from, of->task, 0))
		return 1;
	s->copy.got += len;
	return 0;
}

static __always_inline void fill_open(struct stackd_stack_record *record, struct task_struct *task,
				      const struct wait_thread *thread, __u32 state)
{
	struct stackd_header *header = &record->header;
	__u64 now = wait_clock_now(), all = time_between(thread->since_ns, now), runnable;

	runnable = runnable_part(thread, state, all, queued_until(task, now));
	__builtin_memset(record, 0, __builtin_offsetof(struct stackd_stack_record, regs));
	header->version = STACKD_ABI_VERSION;
	header->kind = STACKD_RECORD_STACK;
	header->time_ns = bpf_ktime_get_ns();
	header->tid = task->pid;
	record->pid = task->tgid;
	record->period = usual_period;
	record->cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	record->event.kind = STACKD_EVENT_WAIT;
	record->event.wait.blocked_ns = all - runnable;
	record->event.wait.runnable_ns = runnable;
	fill_reason(&record->event.wait, task, thread);
}

/* Copies the kernel frames and the stack of a waiting thread after the record. Returns the number
 * of bytes of both. */
static __always_inline __u32 copy_open(struct scratch *s, struct task_struct *task)
{
	struct stackd_stack_record *record = &s->record;
	struct open_copy of = {.s = s, .task = task};
	long got = bpf_get_task_stack(task, s->payload, STACKD_MAX_KERNEL_FRAMES * 8, 0);
	__u32 kernel = got > 0 ? (__u64)got / 8 : 0;

	record->header.flags = take_saved_registers(s, task);
	if (kernel > STACKD_MAX_KERNEL_FRAMES)
		return 0;
	record->header.n_kernel = kernel;
	s->copy = (struct page_copy){
		.from = record->regs.r[STACKD_REG_SP], .at = kernel * 8, .want = stack_limit};
	if ((record->header.flags & WALKABLE) == STACKD_HAS_REGS)
		bpf_loop(MAX_PAGES, copy_page_of, &of, 0);
	record->stack_bytes = s->copy.got;
	record->stack_end = 0;
	record->header.flags |= s->copy.got < stack_limit ? STACKD_STACK_FAULT : STACKD_STACK_CUT;
	return kernel * 8 + s->copy.got;
}

static __always_inline void send_open(struct scratch *s, struct task_struct *task,
				      const struct wait_thread *thread, __u32 state)
{
	__u32 bytes;

	fill_open(&s->record, task, thread, state);
	count_wait(STACKD_WAIT_OPEN, 1);
	count_wait(STACKD_WAIT_BLOCKED_NS, s->record.event.wait.blocked_ns);
	count_wait(STACKD_WAIT_RUNNABLE_NS, s->record.event.wait.runnable_ns);
	count_wait(STACKD_WAIT_KEPT, 1);
	bytes = copy_open(s, task);
	FORGET(bytes);
	if (bytes > STACKD_MAX_KERNEL_FRAMES * 8 + STACKD_MAX_STACK_BYTES)
		return;
	count_wait(bpf_ringbuf_output(&ring, &s->record, sizeof(s->record) + bytes, 0)
			   ? STACKD_WAIT_LOST_RING
			   : STACKD_WAIT_SENT,
		   1);
}

/* When the recording ends, ends the present wait of each thread. All of these are recorded,
 * whatever their lengths, since these are not known. The threads do not run, so their stacks are
 * copied. The threads are not measured any more. */
SEC("iter.s/task")
int stackd_wait_finish(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	__u32 index = wait_scratches + wait_cpus, state;
	struct wait_thread *thread;
	struct scratch *s;

	if (!task || !task->bpf_storage)
		return 0;
	thread = thread_of(task);
	s = CHECKED(bpf_map_lookup_elem(&scratches, &index));
	if (!thread || !s)
		return 0;
	state = __sync_lock_test_and_set(&thread->state, WAIT_NONE);
	if (state == WAIT_BLOCKED || state == WAIT_RUNNABLE)
		send_open(s, task, thread, state);
	return 0;
}

#endif
