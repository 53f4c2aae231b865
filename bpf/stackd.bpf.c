// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sampler: runs in the interrupt of a perf event, once for each sample of a thread in scope.
 *
 * Scope is perf's own: the daemon opens the events on the threads, the cgroup or the CPUs that it
 * wants (inherited by later threads and children), so this program runs for nothing else.
 *
 * The user stack is walked here, by recipes: the window of copied stack (window.bpf.h) gives
 * words, the tables give rules (recipe.bpf.h, mapping.bpf.h), walk.h makes the steps, and the
 * thread's walk before spares what has not changed (prefix.bpf.h). The record then holds new
 * frames and a number of kept ones. Where a walk cannot be done here (a file whose table is not
 * loaded, a rule that cannot be said), the record holds registers and a copy of the stack, and
 * the daemon walks. The record is put together in the scratch area and copied to the ring whole,
 * so a full ring loses whole samples and says so.
 */
#include "scratch.bpf.h"
#include <linux/bpf_perf_event.h>
#include "window.bpf.h"
#include "mapping.bpf.h"
#include "prefix.bpf.h"
#include "recipe.bpf.h"
#include "segment.bpf.h"
#include "tag.bpf.h"

/* Set by the daemon before loading. */
SETTING __u32 stack_limit = 65536;    /* bytes of user stack in a record, at most */
SETTING __u64 wakeup_bytes = 1 << 20; /* wake the daemon when so much waits */
SETTING __u32 walk_here = 1;	      /* 0: leave every walk to the daemon */
SETTING __u32 judge = 0;	      /* send the stack as well, for the daemon to compare */

#define WALKABLE  (STACKD_HAS_REGS | STACKD_COMPAT | STACKD_IN_EXEC)
#define MAX_PAGES (STACKD_MAX_STACK_BYTES / PAGE_SIZE + 1)

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24); /* set by the daemon */
} ring SEC(".maps");

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
 * kernel. The flags that say which. */
static __always_inline __u32 take_registers(struct stackd_regs *to, struct bpf_perf_event_data *ctx,
					    struct task_struct *task)
{
	struct pt_regs regs;
	const struct pt_regs *saved;

	if ((ctx->regs.cs & 3) == 3) {
		regs_from(to, &ctx->regs);
		return STACKD_HAS_REGS | (ctx->regs.cs == USER32_CS ? STACKD_COMPAT : 0);
	}
	if ((task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)) || !task->mm)
		return STACKD_IN_KERNEL;
	saved = (const struct pt_regs *)bpf_task_pt_regs(task);
	if (bpf_probe_read_kernel(&regs, sizeof(regs), saved) || (regs.cs & 3) != 3)
		return STACKD_IN_KERNEL;
	regs_from(to, &regs);
	return STACKD_IN_KERNEL | STACKD_HAS_REGS | (regs.cs == USER32_CS ? STACKD_COMPAT : 0);
}

/* --- the walk ----------------------------------------------------------------------------- */

/* Does a return address follow a call instruction: e8 rel32, or ff /2 in two to seven bytes? */
static __always_inline bool follows_call(__u64 ra)
{
	__u8 code[8] = {0};

	if (bpf_probe_read_user(code, 7, (const void *)(ra - 7)))
		return false;
	if (code[2] == 0xe8)
		return true;
	for (int i = 0; i <= 5; i++) {
		if (code[i] == 0xff && (code[i + 1] & 0x38) == 0x10)
			return true;
	}
	return false;
}

/* At the end of a function that realigns its stack, gcc's unwind information is wrong: it still
 * goes by rbp, which has been restored. Is this such a place: ret, or lea -8(%r10),%rsp? */
static __always_inline bool at_return(__u64 pc)
{
	__u32 code;

	if (bpf_probe_read_user(&code, sizeof(code), (const void *)pc))
		return false;
	return (code & 0xff) == 0xc3 || (code & 0xff) == 0xc2 || (code & 0xffff) == 0xc3f3 ||
	       code == 0xf8628d49;
}

/* Code that a program has made itself has no recipe: a step by the frame pointer, if what it finds
 * is a return address. (Of a file's code without a recipe more can be told than that, by its
 * symbols and its bytes: the daemon does.) */
static __always_inline int step_by_frame_pointer(struct scratch *s)
{
	struct walk *w = &s->walk;
	__u64 rbp = w->r[STACKD_REG_RBP], pc, saved;

	if (!walk_is_valid(w, STACKD_REG_RBP) || rbp & 7 || rbp < w->r[STACKD_REG_RSP])
		return STACKD_END_NO_RECIPE;
	if (walk_read(w, rbp + 8, &pc) || walk_read(w, rbp, &saved) || !follows_call(pc))
		return STACKD_END_NO_RECIPE;
	walk_restore(w, STACKD_REG_RBP, rbp);
	w->r[STACKD_REG_RSP] = rbp + 16;
	w->valid &= WALK_KEPT_REGS;
	w->pc = pc;
	w->slot = rbp + 8;
	w->deref = 0;
	w->is_exact = 0;
	w->frame++;
	return WALK_GO_ON;
}

/* Adds the frame's location to the record. */
static __always_inline bool put_frame(struct scratch *s, const struct cached_rule *entry)
{
	__u32 at = s->words;
	__u64 location;

	if (at > MAX_WORDS - 3)
		return false;
	s->words = at + 1;
	if (entry->code < STACKD_FRAME_LONG) {
		s->walked.words[at] = entry->code + s->delta;
		return true;
	}
	location = entry->location + s->delta;
	s->walked.words[at] = STACKD_FRAME_LONG;
	s->walked.words[at + 1] = location;
	s->walked.words[at + 2] = location >> 32;
	s->words = at + 3;
	return true;
}

/* One frame: 1 ends the walk, with the reason in s->end. */
static long walk_frame(__u32 index, struct scratch **at)
{
	struct scratch *s = *at;
	struct cached_rule *entry;
	int end;

	if (index && prefix_matches(s)) {
		s->end = STACKD_END_ENTRY;
		return 1;
	}
	if (segment_is_full(index)) {
		s->end = STACKD_END_SEGMENT;
		return 1;
	}
	entry = rule_of_frame(s);
	if (!entry)
		return 1;
	s->end = STACKD_END_TOO_DEEP;
	if (index >= MAX_FRAMES || !put_height(s, 4) || !put_frame(s, entry))
		return 1;
	note_frame(s, index, &entry->rule);
	touch_mapping(s, entry);
	s->n_new = index + 1;
	if (entry->rule.cfa == STACKD_CFA_END) {
		s->end = STACKD_END_ENTRY;
		return 1;
	}
	if (entry->rule.cfa == STACKD_CFA_DAEMON)
		end = STACKD_END_BAD_RECIPE;
	else if (entry->rule.cfa == STACKD_CFA_DEREF && s->walk.is_exact && at_return(s->walk.pc))
		end = STACKD_END_BAD_RECIPE;
	else if (entry->rule.cfa == STACKD_CFA_NONE)
		end = entry->location >> 48 == STACKD_FILE_NONE ? step_by_frame_pointer(s)
								: STACKD_END_NO_RECIPE;
	else
		end = walk_step(&s->walk, &entry->rule);
	note_step(s, index, end);
	if (end == WALK_GO_ON)
		return 0;
	s->end = end;
	return 1;
}

static __always_inline void walk_start(struct scratch *s, struct task_struct *task, __u32 pid,
				       const struct stackd_regs *regs)
{
	for (int i = 0; i < WALK_REGS; i++) {
		s->walk.r[i] = regs->r[i];
		s->walk.origin[i].slot = 0;
	}
	s->walk.pc = regs->r[STACKD_REG_RIP];
	s->walk.slot = 0;
	s->walk.deref = 0;
	s->walk.valid = (1u << WALK_REGS) - 1;
	s->walk.is_exact = 1;
	s->walk.frame = 0;
	s->window_base = regs->r[STACKD_REG_RSP];
	s->window_end = stack_end(s, task, s->window_base);
	s->window_copied = 0;
	s->window_plain = 0;
	s->window_holes = 0;
	s->space = space_of(task, pid);
	s->stamp = stamp_of(task, s->record.header.time_ns);
	start_seen(s);
	s->n_new = 0;
	s->kept = 0;
	s->words = 0;
	s->n_fixes = 0;
	s->zero = 0;
	s->matched_before = 0;
	s->unknown.key.inode = 0;
	s->wanted_file = 0;
	s->n_touched = 0;
	s->touched_last = 0;
	s->rule_hits = 0;
	s->rule_misses = 0;
}

/* Has the walk come to something that only the daemon can do, or do better? */
static __always_inline bool needs_daemon(__u32 end)
{
	return end == STACKD_END_NO_MAPPING || end == STACKD_END_NO_OBJECT ||
	       end == STACKD_END_BAD_RECIPE || end == STACKD_END_NO_RECIPE ||
	       end == STACKD_END_NO_PROGRESS;
}

/* What stands in a page of a stack that nobody has touched yet. */
static const __u8 no_page[PAGE_SIZE];

/* Copies up to the next page boundary; 1 ends the loop. Within a known stack a page that is not
 * there (never written, such as a large array's, or just being faulted in or copied) is a hole. */
static long copy_page(__u32 index, struct scratch **at_scratch)
{
	struct scratch *scratch = *at_scratch;
	struct page_copy *copy = &scratch->copy;
	__u64 from = copy->from + copy->got;
	__u32 len = PAGE_SIZE - (from & (PAGE_SIZE - 1));
	__u32 at = copy->at + copy->got;
	__u64 page = (from >> PAGE_SHIFT) - (copy->from >> PAGE_SHIFT);

	(void)index;
	if (copy->got >= copy->want)
		return 1;
	if (len > copy->want - copy->got)
		len = copy->want - copy->got;
	/* The compiler knows that it is no more; the verifier has to be shown. */
	asm volatile("" : "+r"(len));
	if (len > PAGE_SIZE || at > sizeof(scratch->payload) - PAGE_SIZE)
		return 1;
	if (bpf_probe_read_user(&scratch->payload[at], len, (const void *)from)) {
		if (!copy->is_bounded || page > 63 ||
		    bpf_probe_read_kernel(&scratch->payload[at], len, no_page))
			return 1;
		scratch->record.holes |= 1ull << (page & 63);
	}
	copy->got += len;
	return 0;
}

/* Copies the stack from the stack pointer on to payload[at]; the bytes copied. */
static __always_inline __u32 copy_stack(struct scratch *scratch, struct task_struct *task, __u32 at)
{
	struct stackd_stack_record *record = &scratch->record;
	__u64 sp = record->regs.r[STACKD_REG_RSP], end = stack_end(scratch, task, sp);
	__u64 there = end > sp ? end - sp : (__u64)stack_limit + 1;
	__u32 want = there > stack_limit ? stack_limit : there;

	if (there > stack_limit)
		record->header.flags |= STACKD_STACK_CUT;
	if (want > STACKD_MAX_STACK_BYTES || at > STACKD_MAX_KERNEL_FRAMES * 8)
		return 0;
	if (end &&
	    !bpf_probe_read_user(&scratch->payload[BOUNDED(at, 1024)], want, (const void *)sp))
		return want;
	/* Something in it cannot be read, or nobody knows where it ends: as far as it goes. */
	scratch->copy =
		(struct page_copy){.from = sp, .at = at, .want = want, .is_bounded = end != 0};
	bpf_loop(MAX_PAGES, copy_page, &scratch, 0);
	if (scratch->copy.got < want)
		record->header.flags |= STACKD_STACK_FAULT;
	return scratch->copy.got;
}

/* --- the sample --------------------------------------------------------------------------- */

/* 0 if the record is in the ring. `urgent`: the daemon is to look at once. */
static __always_inline long send(const void *record, __u32 size, bool urgent)
{
	__u64 waiting = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	__u64 flags = urgent || waiting >= wakeup_bytes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
	long err = -1;

	/* The compiler knows that it is no more; the verifier has to be shown. */
	asm volatile("" : "+r"(size));
	if (size <= sizeof(struct stackd_stack_record) + STACKD_MAX_KERNEL_FRAMES * 8 +
			    STACKD_MAX_STACK_BYTES)
		err = bpf_ringbuf_output(&ring, (void *)record, size, flags);
	count(err ? STACKD_COUNT_LOST_RING : STACKD_COUNT_SENT);
	return err;
}

/* The kernel frames into `to`; how many. */
static __always_inline __u32 kernel_frames(struct bpf_perf_event_data *ctx, __u32 flags, void *to)
{
	long got;

	if (!(flags & STACKD_IN_KERNEL))
		return 0;
	got = bpf_get_stack(ctx, to, STACKD_MAX_KERNEL_FRAMES * 8, 0);
	return got > 0 && got <= STACKD_MAX_KERNEL_FRAMES * 8 ? (__u64)got / 8 : 0;
}

/* The record for the daemon to walk. */
static __always_inline void send_stack(struct scratch *s, struct bpf_perf_event_data *ctx,
				       struct task_struct *task)
{
	struct stackd_stack_record *record = &s->record;
	__u32 kernel = kernel_frames(ctx, record->header.flags, s->payload);
	__u32 stack = 0;

	record->header.kind = STACKD_RECORD_STACK;
	record->header.n_kernel = kernel;
	if ((record->header.flags & (STACKD_HAS_REGS | STACKD_COMPAT)) == STACKD_HAS_REGS)
		stack = copy_stack(s, task, kernel * 8);
	record->stack_bytes = stack;
	if (stack <= STACKD_MAX_STACK_BYTES && kernel <= STACKD_MAX_KERNEL_FRAMES)
		send(record, sizeof(*record) + kernel * 8 + stack,
		     record->wanted || record->unknown.key.inode);
}

/* The record of a walk that was done here; what it says is remembered if it arrives. */
static __always_inline void send_walk(struct scratch *s, struct bpf_perf_event_data *ctx)
{
	struct stackd_header *header = &s->walked.header;
	struct thread_state *state = state_at(s);
	bool remember = state && s->end == STACKD_END_ENTRY;
	__u32 words = s->words + (s->words & 1), kernel, kept = s->kept;

	if (words > MAX_WORDS)
		return;
	*header = s->record.header;
	header->kind = STACKD_RECORD_WALKED;
	header->end_reason = s->end;
	header->words = s->words;
	header->kept = kept;
	header->sequence = state ? state->sequence + 1 : 0;
	if (!remember)
		header->flags |= STACKD_NOT_REMEMBERED;
	kernel = kernel_frames(ctx, header->flags, &s->walked.words[words]);
	header->n_kernel = kernel;
	if (!send(&s->walked, sizeof(*header) + words * 4 + kernel * 8, false) && remember)
		state_remember(s);
}

static __always_inline void fill_header(struct stackd_header *header,
					struct bpf_perf_event_data *ctx, __u64 pid_tgid, __u32 cpu)
{
	__builtin_memset(header, 0, sizeof(*header));
	header->version = STACKD_ABI_VERSION;
	header->time_ns = bpf_ktime_get_ns();
	header->pid = pid_tgid >> 32;
	header->tid = pid_tgid;
	header->cpu = cpu;
	header->period = ctx->sample_period < ~0u ? ctx->sample_period : ~0u;
}

/* Sends the program's tag, if it keeps one: in place of a walk, or before it. 0: it is still to be
 * walked. */
static __always_inline bool send_tag(struct scratch *s, struct bpf_perf_event_data *ctx,
				     struct task_struct *task)
{
	struct stackd_tag_record *record = &s->tagged.record;
	enum tag_use use = tag_read(s, task);
	__u32 kernel = 0;

	if (use == TAG_WALK)
		return false;
	record->header = s->record.header;
	record->header.kind = STACKD_RECORD_TAG;
	record->pc = s->record.regs.r[STACKD_REG_RIP];
	record->is_followed = use == TAG_LEARN;
	if (use == TAG_LEARN)
		count(STACKD_COUNT_STARTED);
	else
		kernel = kernel_frames(ctx, record->header.flags, s->tagged.kernel);
	record->header.n_kernel = kernel;
	count(use == TAG_LEARN ? STACKD_COUNT_TAGS_NEW : STACKD_COUNT_TAGS);
	if (kernel <= STACKD_MAX_KERNEL_FRAMES)
		send(record, sizeof(*record) + kernel * 8, false);
	return use == TAG_ENOUGH;
}

/* Walks, and sends what comes of it. */
static __always_inline void walk_and_send(struct scratch *s, struct bpf_perf_event_data *ctx,
					  struct task_struct *task)
{
	struct stackd_header *header = &s->record.header;

	walk_start(s, task, header->pid, &s->record.regs);
	state_take(s, task, header->tid);
	count(STACKD_COUNT_WALKS);
	bpf_loop(MAX_FRAMES + 1, walk_frame, &s, 0);
	count_more(STACKD_COUNT_FRAMES, s->n_new);
	count_more(STACKD_COUNT_KEPT, s->kept);
	count_more(STACKD_COUNT_RULE_HITS, s->rule_hits);
	count_more(STACKD_COUNT_RULE_MISSES, s->rule_misses);
	if (needs_daemon(s->end)) {
		count(STACKD_COUNT_FALLBACKS);
		header->end_reason = s->end;
		s->record.unknown = s->unknown;
		s->record.wanted = s->wanted_file;
		send_stack(s, ctx, task);
	} else {
		put_height(s, 1);
		send_walk(s, ctx);
		if (judge) {
			header->flags |= STACKD_JUDGE;
			count(STACKD_COUNT_STARTED);
			send_stack(s, ctx, task);
		}
	}
	state_give_back(s);
}

SEC("perf_event")
int stackd_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	__u32 cpu = bpf_get_smp_processor_id();
	struct scratch *s = bpf_map_lookup_elem(&scratches, &cpu);
	struct stackd_header *header;

	if (is_sampled_twice(ctx, pid_tgid, task->start_time))
		return 0;
	count(STACKD_COUNT_STARTED);
	if (!s) {
		count(STACKD_COUNT_LOST_RING);
		return 0;
	}
	header = &s->record.header;
	fill_header(header, ctx, pid_tgid, cpu);
	__builtin_memset(&s->record.unknown, 0, sizeof(s->record.unknown));
	s->record.wanted = 0;
	s->record.holes = 0;
	s->cpu = cpu;
	header->flags = take_registers(&s->record.regs, ctx, task);
	if ((header->flags & STACKD_IN_KERNEL) && BPF_CORE_READ_BITFIELD(task, in_execve))
		header->flags |= STACKD_IN_EXEC;
	if (tag_mode != STACKD_TAGS_OFF && (header->flags & WALKABLE) == STACKD_HAS_REGS &&
	    send_tag(s, ctx, task))
		return 0;
	if (walk_here && (header->flags & WALKABLE) == STACKD_HAS_REGS)
		walk_and_send(s, ctx, task);
	else
		send_stack(s, ctx, task);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
