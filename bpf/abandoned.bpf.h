/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Instances (passes through a region: from its entry probe to its exit probe) that are left without
 * a return: by an exception, longjmp(), pthread_exit(), a handler that does not return, exec or
 * exit. They are recorded like all others. They end when the thread is next seen outside of them,
 * at a probe (here) or at a sample (instance.bpf.h). An instance's slot is the address of its
 * function's return address:
 *
 *   the slot of the instance is below the stack pointer,
 *     on the thread's own stack, or its alternate one       it was left
 *     on the same other stack as the stack pointer          it was left if its slot has
 *                                                           another word now; else it is
 *                                                           suspended
 *   it is on the alternate stack, and the thread is not     it was left
 *   it is on another stack                                  it is suspended
 *   the thread or program ends                              it was left
 *
 * A handler on the alternate stack is within what it has interrupted, wherever that stack is. A
 * thread on another stack than its own runs coroutines: it has several stacks, with instances open
 * on each, and changes from one to another at any time, without a probe. If several such stacks are
 * in one mapping, nothing shows to which of them an address belongs. So a suspended instance stays
 * open, and continues when its exit is hit. If that never happens, it was left when it was first
 * found suspended. A mark (a probe at an instruction, whose instance lasts until the next hit) that
 * is outside of every function is never left; it is suspended while the thread is on another stack
 * than at the mark's hit.
 *
 * If instances are simply nested, they are a stack (thread->open). If one is suspended, or ends
 * while a later one is open, they are tangled: free entries are between open ones, and the times of
 * entry show which instance encloses which. Time during which two such instances were open belongs
 * to both. So that exclusive times (without nested time) still add up, it counts as nested time of
 * the instance that was entered first.
 *
 * The frames of an instance that was left are gone, so there is no walk. The record has the
 * function, and the caller by the return address that was read at the entry.
 */
#ifndef ABANDONED_BPF_H
#define ABANDONED_BPF_H

#include "instance.bpf.h"
#include "unwalked.bpf.h"
#include "mapping.bpf.h"
#include "region_scratch.bpf.h"

/* For each region and mark, by number: its state (STACKD_REGION_IS_* of stackd_abi.h). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, STACKD_MOST_REGIONS + STACKD_MOST_MARKS + 1);
	__type(key, __u32);
	__type(value, __u32);
} regions_off SEC(".maps");

/* The probes of all entries are removed, and those of exits are being removed. Set by the daemon.
 */
__u32 regions_stopped = 0;

static __always_inline bool is_mark(__u32 region)
{
	return region > STACKD_MOST_REGIONS;
}

static __always_inline void make_pass(const struct open_instance *ended, __u64 now, __u64 cpu,
				      struct stackd_pass *ret_pass)
{
	__u64 wall = now - ended->enter_ns, used = cpu - ended->enter_cpu;

	if ((__s64)used < 0)
		used = 0;
	if (used > wall)
		used = wall;
	ret_pass->kind = is_mark(ended->region) ? STACKD_EVENT_MARK : STACKD_EVENT_REGION;
	ret_pass->number = ended->region;
	ret_pass->ended_ns = now;
	ret_pass->wall_ns = wall;
	ret_pass->cpu_ns = used;
	ret_pass->nested_wall_ns = ended->nested_ns < wall ? ended->nested_ns : wall;
	ret_pass->sent = ended->sent;
	ret_pass->received = ended->received;
	ret_pass->nested_cpu_ns = ended->nested_cpu < used ? ended->nested_cpu : used;
}

/* --- instances that are tangled -------------------------------------------------------------- */

/* Finds, among the open instances, the one that was entered next before the time `since`, and the
 * one next after, and puts them into thread->beside. This is a loop rather than bpf_loop(), whose
 * callback would need a frame on the stack. */
static __always_inline void look_beside(struct region_thread *thread, __u64 since)
{
	struct neighbours *n = &thread->beside;

	n->before = n->before_here = 0;
	n->after = ~0ull;
	n->around = n->within = n->around_here = 0;
	for (__u32 i = 0; i < REGION_DEPTH; i++) {
		const struct open_instance *open = &thread->open[i];

		FORGET(open);
		if (!open->region)
			continue;
		if (open->enter_ns < since && open->enter_ns >= n->before) {
			n->before = open->enter_ns;
			n->around = i + 1;
		}
		if (open->enter_ns < since && open->enter_ns >= n->before_here && !open->seen_ns) {
			n->before_here = open->enter_ns;
			n->around_here = i + 1;
		}
		if (open->enter_ns > since && open->enter_ns <= n->after) {
			n->after = open->enter_ns;
			n->within = i + 1;
		}
	}
}

/* Adds to the nested time of the ended instance the time that it shares with `within`, which was
 * entered later and is still open, and which has not been counted as nested before. */
static __always_inline void take_share(struct open_instance *ended, struct open_instance *within,
				       __u64 now, __u64 cpu)
{
	__u64 ns = now - within->enter_ns - within->told_ns;
	__u64 used = cpu - within->enter_cpu - within->told_cpu;

	if ((__s64)ns > 0) {
		ended->nested_ns += ns;
		within->told_ns += ns;
	}
	if ((__s64)used > 0) {
		ended->nested_cpu += used;
		within->told_cpu += used;
	}
}

/* Drops the free entries behind the last open one. */
static __always_inline void trim(struct region_thread *thread)
{
	for (int i = 0; i < REGION_DEPTH; i++) {
		__u32 count = thread->count;

		if (!count || thread->open[BOUNDED(count - 1, REGION_DEPTH)].region)
			break;
		thread->count = count - 1;
	}
	if (!thread->count)
		thread->is_tangled = 0;
}

/* Moves the entry `index` of a tangled thread to thread->ended, and adds the time that it shares
 * with the instance within it. Returns the index plus 1 of the instance around it; 0: there is
 * none. It is a global function, as others here are, so the BPF verifier checks it once. */
__noinline int free_tangled(struct region_thread *given, __u32 index, __u64 now, __u64 cpu)
{
	struct region_thread *thread = CHECKED(given);
	struct open_instance *open;
	__u32 around, within;

	if (!thread)
		return 0;
	open = &thread->open[BOUNDED(index, REGION_DEPTH)];
	look_beside(thread, open->enter_ns);
	around = thread->beside.around;
	within = thread->beside.within;
	if (within)
		take_share(open, &thread->open[BOUNDED(within - 1, REGION_DEPTH)], now, cpu);
	thread->ended = *open;
	open->region = 0;
	thread->current = thread->beside.around_here;
	trim(thread);
	return around;
}

/* --- ends ------------------------------------------------------------------------------------- */

/* Moves the entry of an ended instance to thread->ended. Returns the index plus 1 of the instance
 * around it; 0: there is none. */
static __always_inline __u32 take_out(struct region_thread *thread, __u32 index, __u64 now,
				      __u64 cpu)
{
	__u32 around;

	if (thread->once == index + 1)
		thread->once = 0;
	if (RARELY(thread->is_tangled)) {
		around = free_tangled(thread, index, now, cpu);
		return around < REGION_DEPTH ? around : REGION_DEPTH;
	}
	thread->ended = thread->open[BOUNDED(index, REGION_DEPTH)];
	thread->count = index;
	return index;
}

/* Adds the time of an ended instance to the nested time of the instance `around` it (an index plus
 * 1); if there is none (0), to the thread's measured time. */
static __always_inline void tell_around(struct region_thread *thread, __u32 around, __u64 ns,
					__u64 cpu)
{
	struct open_instance *open;

	if (!around) {
		thread->measured_cpu += cpu;
		return;
	}
	open = &thread->open[BOUNDED(around - 1, REGION_DEPTH)];
	open->nested_ns += ns;
	open->nested_cpu += cpu;
}

static __always_inline __u64 less(__u64 from, __u64 what)
{
	return from > what ? from - what : 0;
}

/* Ends an open instance by its index: moves its entry to thread->ended, and makes its record in
 * thread->event. */
static __always_inline void end_instance(struct region_thread *thread, __u32 index, __u64 now,
					 __u64 cpu)
{
	__u32 around = take_out(thread, index, now, cpu);

	make_pass(&thread->ended, now, cpu, &thread->event.pass);
	tell_around(thread, around, less(thread->event.pass.wall_ns, thread->ended.told_ns),
		    less(thread->event.pass.cpu_ns, thread->ended.told_cpu));
}

/* Sends the ended instance (thread->event), which was left at end_ns, without a call path. */
static __always_inline void send_left(struct region_thread *thread, __u64 end_ns)
{
	__u64 now = bpf_ktime_get_ns();

	if (now - end_ns > STACKD_PASS_MOST_LATE_NS)
		thread->event.pass.ended_ns = now - STACKD_PASS_MOST_LATE_NS;
	thread->event.pass.kind = STACKD_EVENT_LEFT;
	fill_unwalked(&thread->unwalked, bpf_get_current_pid_tgid(), now, &thread->event,
		      thread->ended.function, thread->ended.caller, STACKD_END_LEFT);
	send_unwalked(&thread->unwalked);
	count_region(STACKD_REGION_ENDED);
	count_region(STACKD_REGION_LEFT);
}

/* Returns whether probes may be missing at exits of a region. Then an instance that has not hit an
 * exit does not count as left, since it may have returned. */
static __always_inline bool has_lost_exits(__u32 region)
{
	__u32 *state = CHECKED(bpf_map_lookup_elem(&regions_off, &region));

	return regions_stopped || (state && *state == STACKD_REGION_IS_GONE);
}

/* Ends an instance that was left. A mark's instance ends at the next hit; without a hit, its end is
 * not known, so it is not sent. Nor is one that was open when its region's probes were removed. */
__noinline int end_left(struct region_thread *given, __u32 index, __u64 now, __u64 cpu)
{
	struct region_thread *thread = CHECKED(given);
	struct open_instance *open;
	__u64 end_ns;

	if (!thread)
		return 0;
	open = &thread->open[BOUNDED(index, REGION_DEPTH)];
	end_ns = open->seen_ns ? open->seen_ns : now;
	if (open->seen_ns)
		cpu = open->seen_cpu;
	bool is_of_mark = is_mark(open->region);
	if (is_of_mark || has_lost_exits(open->region)) {
		__u32 around = take_out(thread, index, end_ns, cpu);

		tell_around(thread, around, less(thread->ended.nested_ns, thread->ended.told_ns),
			    less(thread->ended.nested_cpu, thread->ended.told_cpu));
		if (is_of_mark)
			count_region(STACKD_REGION_UNENDED);
		return 0;
	}
	end_instance(thread, index, end_ns, cpu);
	send_left(thread, end_ns);
	return 0;
}

/* --- which were left -------------------------------------------------------------------------- */

enum standing { STANDING_OPEN, STANDING_SUSPENDED, STANDING_LEFT };

static __always_inline bool is_on_stack(const struct region_stack *stack, __u64 address)
{
	return address - stack->low < stack->high - stack->low;
}

static __always_inline enum standing standing_of(const struct region_thread *thread,
						 const struct open_instance *open)
{
	const struct settling *c = &thread->settling;
	bool is_outside = open->slot == ~0ull; /* a mark outside of every function */
	__u64 address = is_outside ? open->stack : open->slot;
	bool is_on_handlers = is_on_alternate(bpf_get_current_task_btf(), address);

	if (is_outside)
		return c->is_handler || is_on_handlers || is_on_stack(&thread->stack, address)
			       ? STANDING_OPEN
			       : STANDING_SUSPENDED;
	if (is_on_handlers != c->is_handler)
		return c->is_handler ? STANDING_OPEN : STANDING_LEFT;
	if (!is_on_stack(&thread->stack, address))
		return STANDING_SUSPENDED;
	if (address >= c->threshold)
		return c->is_own || holds_caller(open) ? STANDING_OPEN : STANDING_LEFT;
	if (c->is_own || open->slot + 1 == c->threshold || !open->caller || !holds_caller(open))
		return STANDING_LEFT;
	return STANDING_SUSPENDED;
}

/* Notes an instance that is on this stack, or was interrupted by a handler on this stack. */
static __always_inline void go_on(struct settling *c, struct region_thread *thread,
				  struct open_instance *open, __u32 index)
{
	open->seen_ns = 0;
	if (open->is_once && !c->once)
		c->once = index + 1;
	if (c->is_handler && !is_on_alternate(bpf_get_current_task_btf(), open->slot)) {
		if (!c->interrupted)
			c->interrupted = index + 1;
	} else if (open->slot < c->nearest || !c->current) {
		/* It was entered before an instance with a higher slot, so the two are on two
		 * stacks. */
		if (c->current)
			c->is_tangled = thread->is_tangled = 1;
		c->nearest = open->slot;
		c->current = index + 1;
	}
}

static long settle_one(__u32 turn, struct region_thread **at)
{
	struct region_thread *thread = CHECKED(*at);
	struct settling *c;
	struct open_instance *open;
	enum standing standing;
	__u32 index;

	if (!thread)
		return 1;
	c = &thread->settling;
	index = c->count - 1 - turn;
	if (index >= REGION_DEPTH)
		return 1;
	open = &thread->open[BOUNDED(index, REGION_DEPTH)];
	if (!open->region) {
		c->is_tangled = index < thread->count;
		return 0;
	}
	standing = standing_of(thread, open);
	if (standing == STANDING_LEFT) {
		if (index + 1 != thread->count)
			c->is_tangled = thread->is_tangled = 1;
		end_left(thread, index, c->now++, c->cpu);
		return 0;
	}
	if (standing == STANDING_SUSPENDED && !open->seen_ns) {
		open->seen_cpu = c->cpu;
		open->seen_ns = c->now++;
	}
	if (standing == STANDING_SUSPENDED || open->enter_ns > c->later)
		c->is_tangled = thread->is_tangled = 1;
	c->later = open->enter_ns;
	if (standing == STANDING_OPEN)
		go_on(c, thread, open, index);
	return 0;
}

/* Takes the mapping of an address (s->vma) as the thread's stack, and determines whether that is
 * the thread's own. A process's first thread has the stack that the kernel has made. The stacks of
 * other threads end at the thread pointer, where C libraries place it. (Beyond it may be other
 * stacks, since the kernel merges mappings.) */
static __always_inline void take_stack(struct region_stack *stack, struct task_struct *task,
				       const struct scratch *s, __u64 address)
{
	__u64 end = ARCH_THREAD_POINTER(task);

	stack->low = s->vma.start;
	stack->high = s->vma.end;
	stack->is_own = is_on_stack(stack, task->mm->start_stack);
	if (task->pid != task->tgid && is_on_stack(stack, end)) {
		stack->is_own = address < end;
		*(stack->is_own ? &stack->high : &stack->low) = end;
	}
	stack->is_found = 1;
}

/* Finds the stack that contains an address. If its mapping cannot be found, and the address is not
 * on the stack that was found last, all addresses count as one stack. */
static __always_inline void find_stack(struct region_stack *stack, struct task_struct *task,
				       __u64 address)
{
	struct scratch *s = take_scratch(bpf_get_smp_processor_id());
	bool is_found = s && !vma_find(s, address);

	if (is_found)
		take_stack(stack, task, s, address);
	if (s)
		give_scratch_back(s);
	if (is_found || (stack->is_found && is_on_stack(stack, address)))
		return;
	count_region(STACKD_REGION_NO_STACK);
	*stack = (struct region_stack){.high = ~0ull, .is_own = 1};
}

/* Returns whether an address is outside of the stack that was found last, or no stack was found,
 * while instances are open. */
static __always_inline bool is_elsewhere(const struct region_thread *thread, __u64 address)
{
	return thread->count && !(thread->stack.is_found && is_on_stack(&thread->stack, address));
}

/* Ends all instances that were left. The thread is at the slot `slot`; instances whose slot is
 * below `threshold`, which may be next to it, were left. `now` and `cpu` are the times at which
 * another instance ends here; now 0: none does. */
__noinline int settle(struct region_thread *given, __u64 slot, __u64 threshold, __u64 now,
		      __u64 cpu)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct region_thread *thread = CHECKED(given);
	struct settling *c;

	if (!thread || !task->mm)
		return 0;
	c = &thread->settling;
	__builtin_memset(c, 0, sizeof(*c));
	c->threshold = threshold;
	c->nearest = c->later = ~0ull;
	c->count = thread->count;
	c->now = (now ? now : bpf_ktime_get_ns()) - thread->count;
	c->cpu = now ? cpu : cpu_clock(task);
	c->is_handler = is_on_alternate(task, slot);
	find_stack(&thread->stack, task, slot);
	c->is_own = c->is_handler || thread->stack.is_own;
	bpf_loop(REGION_DEPTH, settle_one, &thread, 0);
	trim(thread);
	thread->current = c->current ? c->current : c->interrupted;
	thread->once = c->once;
	/* A handler's stack may be above the stack that it has interrupted. Then a comparison of
	 * slots does not show that the handler was left. So the thread stays tangled, and the next
	 * settle() finds it. */
	thread->is_tangled = thread->count && (c->is_tangled || c->interrupted);
	return 0;
}

/* Calls settle(), but only if some instances may have been left, or if a sample has found the
 * thread outside of the innermost one although it is still open. In most cases neither is so, which
 * costs three comparisons. */
static __always_inline void drop_left(struct region_thread *thread, __u64 slot, __u64 threshold,
				      __u64 now, __u64 cpu)
{
	const struct open_instance *last = &thread->open[BOUNDED(thread->count - 1, REGION_DEPTH)];

	if (RARELY(thread->is_tangled) ||
	    (thread->count && (last->slot < threshold || last->seen_ns)))
		settle(thread, slot, threshold, now, cpu);
}

/* --- the end of a thread, or of its program ----------------------------------------------------
 */

struct ending {
	struct region_thread *thread;
	__u64 now, cpu;
};

static long end_one(__u32 turn, struct ending *c)
{
	struct region_thread *thread = CHECKED(c->thread);
	__u32 index;

	(void)turn;
	if (!thread || !thread->count || thread->count > REGION_DEPTH)
		return 1;
	index = thread->count - 1;
	if (thread->open[BOUNDED(index, REGION_DEPTH)].region)
		end_left(thread, index, c->now++, c->cpu);
	else
		thread->count = index;
	return 0;
}

static __always_inline void end_all(struct task_struct *task)
{
	struct ending c = {.thread = CHECKED(bpf_task_storage_get(&region_threads, task, 0, 0))};

	if (!c.thread)
		return;
	c.thread->stack.is_found = 0; /* a new program has its stack at another address */
	if (!c.thread->count)
		return;
	c.now = bpf_ktime_get_ns();
	c.cpu = cpu_clock(task);
	BUSY(c.thread, 1);
	bpf_loop(2 * REGION_DEPTH, end_one, &c, 0);
	c.thread->count = c.thread->once = c.thread->is_tangled = 0;
	BUSY(c.thread, 0);
}

/* At the end of a thread, ends its open instances. Also when another program is about to replace
 * the thread's, at sched_prepare_exec, a tracepoint since Linux 6.10: there, addresses still belong
 * to the old program's functions, while at sched_process_exec they do not. */
SEC("raw_tp/sched_process_exit")
int stackd_region_exit(struct bpf_raw_tracepoint_args *ctx)
{
	(void)ctx;
	end_all(bpf_get_current_task_btf());
	return 0;
}

/* Does the same before exec on kernels before 6.10. */
SEC("kprobe/begin_new_exec")
int stackd_region_replaced(struct pt_regs *ctx)
{
	(void)ctx;
	end_all(bpf_get_current_task_btf());
	return 0;
}

/* --- room ------------------------------------------------------------------------------------- */

struct looking {
	struct region_thread *thread;
	__u32 region;
	__u32 n, n_own; /* number of open instances, and of those of the region */
	__u32 hole;	/* index plus 1 of a free entry; 0: none */
};

static long look_for_room(__u32 i, struct looking *l)
{
	const struct region_thread *thread = CHECKED(l->thread);
	__u32 region;

	if (!thread || i >= REGION_DEPTH || i >= thread->count)
		return 1;
	region = thread->open[BOUNDED(i, REGION_DEPTH)].region;
	l->n += region != 0;
	l->n_own += region == l->region;
	if (!region && !l->hole)
		l->hole = i + 1;
	return 0;
}

/* Returns the index of a free entry for a region; REGION_DEPTH: there is none. A recursive region
 * must leave room for other regions: the fewer entries are free, the fewer it gets. */
__noinline __u32 find_room(struct region_thread *given, __u32 region)
{
	struct region_thread *thread = CHECKED(given);
	struct looking l = {.region = region};

	if (!thread)
		return REGION_DEPTH;
	l.thread = thread;
	bpf_loop(REGION_DEPTH, look_for_room, &l, 0);
	if (l.n_own >= 4 * (REGION_DEPTH - l.n))
		return REGION_DEPTH;
	if (l.hole)
		return l.hole - 1;
	return thread->count < REGION_DEPTH ? thread->count : REGION_DEPTH;
}

/* Returns the same as find_room(); in the usual case, that is the next entry. */
static __always_inline __u32 next_entry(struct region_thread *thread, __u32 region)
{
	__u32 count = thread->count;

	return RARELY(count >= REGION_DEPTH / 2 || thread->is_tangled) ? find_room(thread, region)
								       : count;
}

#endif
