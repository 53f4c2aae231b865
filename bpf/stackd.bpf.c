// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sampler: runs in the interrupt of a perf event, once for each sample of a thread in scope.
 *
 * Scope is perf's own: the daemon opens the events on the threads, the cgroup or the CPUs that it
 * wants (inherited by later threads and children), so this program runs for nothing else.
 *
 * A sample becomes one record (stackd_abi.h): kernel frames by the kernel's own unwinder, user
 * registers, and the user stack from the stack pointer up to the end of the stack, copied in bulk
 * and only as far as there is stack. The record is put together in a scratch area of this CPU and
 * then copied to the ring buffer whole, so a full ring loses whole samples and says so.
 *
 * Why a scratch area: a ring-buffer reservation needs a size that the verifier knows. Nothing
 * else runs this program on the same CPU meanwhile (the kernel guards perf_event programs with
 * bpf_prog_active), so the area needs no lock. It is an array indexed by CPU because per-CPU maps
 * end at 32 KiB a value.
 */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "kernel_types.h"
#include "stackd_abi.h"

/* Set by the daemon before loading. */
const volatile __u32 stack_limit = 65536;    /* bytes of user stack a sample, at most */
const volatile __u64 wakeup_bytes = 1 << 20; /* wake the daemon when so much waits */

#define PAGE_SIZE 4096
#define MAX_PAGES (STACKD_MAX_STACK_BYTES / PAGE_SIZE + 1)

/* A copy in progress. It lives in a map, not on the stack, because the verifier follows the
 * values of stack variables through every turn of a loop, and those of maps not. */
struct page_copy {
	__u64 from;
	__u32 at;	  /* offset in the payload */
	__u32 want;	  /* bytes */
	__u32 got;	  /* bytes */
	__u32 is_bounded; /* the stack's end is known */
};

/* Room for the largest record, and what is needed to make it. */
struct scratch {
	struct stackd_record record;
	__u8 payload[STACKD_MAX_KERNEL_FRAMES * 8 + STACKD_MAX_STACK_BYTES + PAGE_SIZE];
	struct page_copy copy;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* one a CPU: set by the daemon */
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24); /* set by the daemon */
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, STACKD_COUNT_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

/*
 * Where stacks end. Asking for the mapping of the stack pointer costs some 5 us, and a thread's
 * stack hardly ever moves, so the answer is kept in a small cache of this CPU. An entry is used
 * only for the task it was made for, and only while the stack pointer is inside.
 */
struct stack_bounds {
	__u64 start_time; /* with tid: the task */
	__u64 start, end; /* of the mapping */
	__u32 tid;
	__u32 pad;
};

#define BOUNDS_SLOTS 256

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, BOUNDS_SLOTS);
	__type(key, __u32);
	__type(value, struct stack_bounds);
} bounds_cache SEC(".maps");

/*
 * Threads that appeared while the daemon was opening events on their process. Such a thread gets
 * an event of its own, with an attach cookie, and may have inherited one too (no cookie), which
 * must not sample it a second time. The value is the task's start time once its own event has
 * fired, so that a later thread with the same number is not mistaken for it; 0 before.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u64);
} late_threads SEC(".maps");

static __always_inline bool is_sampled_twice(struct bpf_perf_event_data *ctx, __u32 tid,
					     __u64 start_time)
{
	__u64 *late = bpf_map_lookup_elem(&late_threads, &tid);

	if (!late)
		return false;
	if (bpf_get_attach_cookie(ctx)) {
		*late = start_time;
		return false;
	}
	return *late == 0 || *late == start_time;
}

static __always_inline void count(__u32 counter)
{
	__u64 *value = bpf_map_lookup_elem(&counters, &counter);

	if (value)
		*value += 1;
}

/* --- registers ---------------------------------------------------------------------------- */

static __always_inline void regs_from(struct stackd_regs *to, const struct pt_regs *from)
{
	to->r[0] = from->rax;
	to->r[1] = from->rdx;
	to->r[2] = from->rcx;
	to->r[3] = from->rbx;
	to->r[4] = from->rsi;
	to->r[5] = from->rdi;
	to->r[6] = from->rbp;
	to->r[7] = from->rsp;
	to->r[8] = from->r8;
	to->r[9] = from->r9;
	to->r[10] = from->r10;
	to->r[11] = from->r11;
	to->r[12] = from->r12;
	to->r[13] = from->r13;
	to->r[14] = from->r14;
	to->r[15] = from->r15;
	to->r[16] = from->rip;
}

/* Fills in the registers of user mode: the sample's own, or those saved at the entry into the
 * kernel. Sets the flags that say which. */
static __always_inline void take_registers(struct stackd_record *record,
					   struct bpf_perf_event_data *ctx,
					   struct task_struct *task)
{
	struct pt_regs regs;
	const struct pt_regs *saved;

	if ((ctx->regs.cs & 3) == 3) {
		regs_from(&record->regs, &ctx->regs);
		record->flags |= STACKD_HAS_REGS;
		if (ctx->regs.cs == USER32_CS)
			record->flags |= STACKD_COMPAT;
		return;
	}
	record->flags |= STACKD_IN_KERNEL;
	if ((task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)) || !task->mm)
		return;
	saved = (const struct pt_regs *)bpf_task_pt_regs(task);
	if (bpf_probe_read_kernel(&regs, sizeof(regs), saved) || (regs.cs & 3) != 3)
		return;
	regs_from(&record->regs, &regs);
	record->flags |= STACKD_HAS_REGS;
	if (regs.cs == USER32_CS)
		record->flags |= STACKD_COMPAT;
}

/* --- the user stack ----------------------------------------------------------------------- */

static long keep_bounds(struct task_struct *task, struct vm_area_struct *vma, void *data)
{
	struct stack_bounds *bounds = data;

	(void)task;
	bounds->start = vma->vm_start;
	bounds->end = vma->vm_end;
	return 0;
}

/* The end of the stack that `sp` points into; 0 if the kernel cannot say just now. */
static __always_inline __u64 stack_end(struct task_struct *task, __u64 sp)
{
	__u32 tid = task->pid, slot = tid % BOUNDS_SLOTS;
	struct stack_bounds *cached = bpf_map_lookup_elem(&bounds_cache, &slot);
	struct stack_bounds found = {.start_time = task->start_time, .tid = tid};
	__u64 entry_sp = task->mm->start_stack;
	__u64 end;

	if (!cached)
		return 0;
	if (cached->tid != tid || cached->start_time != found.start_time || sp < cached->start ||
	    sp >= cached->end) {
		if (bpf_find_vma(task, sp, keep_bounds, &found, 0))
			return 0;
		*cached = found;
	}
	end = cached->end;
	/* Above the main thread's entry lie only arguments and environment. */
	if (sp < entry_sp && entry_sp + 8 <= end)
		end = entry_sp + 8;
	return end;
}

/* What stands in a page of a stack that nobody has touched yet. */
static const __u8 no_page[PAGE_SIZE];

/* Copies up to the next page boundary; 1 ends the loop. Within a known stack a page that is not
 * there is one that was never written, such as a large array's, or the page that the leaf is just
 * faulting in: it holds zeroes. */
static long copy_page(__u32 index, struct scratch **at_scratch)
{
	struct scratch *scratch = *at_scratch;
	struct page_copy *copy = &scratch->copy;
	__u64 from = copy->from + copy->got;
	__u32 len = PAGE_SIZE - (from & (PAGE_SIZE - 1));
	__u32 at = copy->at + copy->got;

	(void)index;
	if (copy->got >= copy->want)
		return 1;
	if (len > copy->want - copy->got)
		len = copy->want - copy->got;
	if (len > PAGE_SIZE || at > sizeof(scratch->payload) - PAGE_SIZE)
		return 1;
	if (bpf_probe_read_user(&scratch->payload[at], len, (const void *)from) &&
	    (!copy->is_bounded || bpf_probe_read_kernel(&scratch->payload[at], len, no_page)))
		return 1;
	copy->got += len;
	return 0;
}

/* Copies the stack from `sp` on to payload[at]; the bytes copied. */
static __always_inline __u32 copy_stack(struct scratch *scratch, struct task_struct *task, __u32 at)
{
	struct stackd_record *record = &scratch->record;
	__u64 sp = record->regs.r[STACKD_REG_RSP], end = stack_end(task, sp);
	__u64 there = end > sp ? end - sp : (__u64)stack_limit + 1;
	__u32 want = there > stack_limit ? stack_limit : there;

	if (there > stack_limit)
		record->flags |= STACKD_STACK_CUT;
	if (want > STACKD_MAX_STACK_BYTES || at > STACKD_MAX_KERNEL_FRAMES * 8)
		return 0;
	if (end && !bpf_probe_read_user(&scratch->payload[at], want, (const void *)sp))
		return want;
	/* Something in it cannot be read, or nobody knows where it ends: as far as it goes. */
	scratch->copy =
		(struct page_copy){.from = sp, .at = at, .want = want, .is_bounded = end != 0};
	bpf_loop(MAX_PAGES, copy_page, &scratch, 0);
	if (scratch->copy.got < want)
		record->flags |= STACKD_STACK_FAULT;
	return scratch->copy.got;
}

/* --- the sample --------------------------------------------------------------------------- */

static __always_inline void send(struct scratch *scratch, __u32 payload_bytes)
{
	__u64 waiting = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	__u64 flags = waiting >= wakeup_bytes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
	__u32 size = sizeof(struct stackd_record) + payload_bytes;

	if (size > sizeof(*scratch))
		return;
	scratch->record.size = size;
	if (bpf_ringbuf_output(&ring, scratch, size, flags))
		count(STACKD_COUNT_LOST_RING);
	else
		count(STACKD_COUNT_SENT);
}

SEC("perf_event")
int stackd_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	__u32 cpu = bpf_get_smp_processor_id();
	struct scratch *scratch = bpf_map_lookup_elem(&scratches, &cpu);
	__u32 payload = 0, stack_bytes = 0;
	struct stackd_record *record;
	long got;

	if (is_sampled_twice(ctx, pid_tgid, task->start_time))
		return 0;
	count(STACKD_COUNT_STARTED);
	if (!scratch) {
		count(STACKD_COUNT_LOST_RING);
		return 0;
	}
	record = &scratch->record;
	__builtin_memset(record, 0, sizeof(*record));
	record->version = STACKD_ABI_VERSION;
	record->time_ns = bpf_ktime_get_ns();
	record->pid = pid_tgid >> 32;
	record->tid = pid_tgid;
	record->cpu = cpu;
	record->period = ctx->sample_period;

	take_registers(record, ctx, task);
	if (record->flags & STACKD_IN_KERNEL) {
		if (BPF_CORE_READ_BITFIELD(task, in_execve))
			record->flags |= STACKD_IN_EXEC;
		got = bpf_get_stack(ctx, scratch->payload, STACKD_MAX_KERNEL_FRAMES * 8, 0);
		if (got > 0 && got <= STACKD_MAX_KERNEL_FRAMES * 8) {
			record->n_kernel = got / 8;
			payload = got;
		}
	}
	if ((record->flags & (STACKD_HAS_REGS | STACKD_COMPAT)) == STACKD_HAS_REGS)
		stack_bytes = copy_stack(scratch, task, payload);
	record->stack_bytes = stack_bytes;
	if (stack_bytes <= STACKD_MAX_STACK_BYTES && payload <= STACKD_MAX_KERNEL_FRAMES * 8)
		send(scratch, (payload + stack_bytes + 7) & ~7u);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
