// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sampler: runs in the interrupt of a perf event, once for each sample of a thread in scope.
 *
 * The events are opened on the CPUs, or for a cgroup on each CPU. If only some processes are
 * recorded, scope.bpf.h finds out which samples are theirs.
 *
 * The user stack is walked here: the window of copied stack (stack_window.bpf.h) has the words, the
 * tables have the rules (recipe.bpf.h, mapping.bpf.h), walk.h makes the steps, and the thread's
 * previous walk has the frames that have not changed (prefix.bpf.h). The record then has the new
 * frames and the number of kept ones. If a walk cannot be done here (a file's table is not loaded,
 * a rule cannot be expressed), the record has registers and a copy of the stack, and the daemon
 * walks. The record is put together in the scratch area and copied to the ring buffer as a whole,
 * so if that is full, whole samples are lost, and counted.
 */
#include "scratch.bpf.h"
#include <linux/bpf_perf_event.h>
#include "prefetch.bpf.h"
#include "branch.bpf.h"
#include "deep.bpf.h"
#include "idle.bpf.h"
#include "instance.bpf.h"
#include "late.bpf.h"
#include "preempted.bpf.h"
#include "stack_window.bpf.h"
#include "jit_code.bpf.h"
#include "mapping.bpf.h"
#include "more_stack.bpf.h"
#include "nowhere.bpf.h"
#include "prefix.bpf.h"
#include "probed.bpf.h"
#include "reading.bpf.h"
#include "recipe.bpf.h"
#include "registers.bpf.h"
#include "ring.bpf.h"
#include "prefix_words.bpf.h"
#include "scope.bpf.h"
#include "segment.bpf.h"
#include "stack_copy.bpf.h"
#include "thread_state.bpf.h"
#include "step.bpf.h"
#include "fast_path.bpf.h"
#include "tag.bpf.h"
#include "wait_thread.bpf.h"

/* Set by the daemon before loading. */
SETTING __u32 walk_here = 1;		 /* 0: the daemon walks all stacks */
SETTING __u32 usual_period = 0;		 /* period that records leave out; 0: there is none */
SETTING __u32 judge = 0;		 /* each record of a walk is followed by a copy of the
					  * stack, so that the daemon can compare its walk */
SETTING char compiler[64] = __VERSION__; /* for the message if the BPF verifier refuses the
					  * program */

#define WALKABLE (STACKD_HAS_REGS | STACKD_COMPAT | STACKD_IN_EXEC)

/* --- the walk ----------------------------------------------------------------------------- */

/* Adds the frame's location to the record. Returns false if the record has no room. `first`: it is
 * the leaf, in a mapping. */
static __always_inline bool put_frame(struct scratch *s, bool first)
{
	bool is_exact = s->walk.is_exact;
	__u32 at = s->bytes;
	__u8 *to = &s->walked.bytes[BOUNDED(at, 2 * MAX_FRAMES * 8)];

	if (at > MAX_BYTES - 12)
		return false;
	if ((first || !is_exact) && put_short(s, s->location))
		return true;
	put_bytes(to, STACKD_FRAME_LONG, 4);
	put_bytes(to + 4, s->location | (is_exact ? STACKD_LOCATION_EXACT : 0), 8);
	s->bytes = at + 12;
	return true;
}

/* Returns whether the record must have the thread's cgroup. It must if the thread has another
 * css_set than when the cgroup was last sent; and from time to time, since the daemon may not have
 * been able to read that record, and the address of a css_set can be used again. */
static __always_inline bool sends_cgroup(struct scratch *s)
{
	const struct thread_state *state = state_at(s);

	return !state || state->css_set != s->css_set || state->walks % STACKD_ANCHOR_EVERY == 0;
}

/* Fills in the id of the current thread's cgroup. The id is behind three pointers, each of which is
 * a cache miss, so this is done only if the id is sent. */
static __always_inline void take_cgroup(struct stackd_stack_record *record)
{
	if (!record->cgroup)
		record->cgroup = bpf_get_current_cgroup_id();
}

/* Writes the optional fields that precede the frames into the record. */
static __always_inline void start_bytes(struct scratch *s)
{
	struct stackd_stack_record *record = &s->record;
	bool has_pid = record->pid != record->header.tid;

	s->slice = ~0ull;
	s->bytes = 0;
	s->walked_form = STACKD_FORM_WALKED;
	if (record->header.flags & STACKD_IN_KERNEL)
		s->walked_form |= STACKD_FORM_IN_KERNEL;
	if (has_pid) {
		s->walked_form |= STACKD_HAS_PID;
		put_bytes(s->walked.bytes, record->pid, 4);
		s->bytes += 4;
	}
	if (record->period != usual_period) {
		s->walked_form |= STACKD_HAS_PERIOD;
		put_bytes(s->walked.bytes + (has_pid ? 4 : 0), record->period, 4);
		s->bytes += 4;
	}
	if (sends_cgroup(s)) {
		s->walked_form |= STACKD_HAS_CGROUP;
		take_cgroup(record);
		put_bytes(s->walked.bytes + (s->bytes & 12), record->cgroup, 8);
		s->bytes += 8;
	}
	if (record->event.kind != STACKD_EVENT_SAMPLE) {
		s->walked_form |= STACKD_HAS_EVENT;
		put_event(s->walked.bytes + (s->bytes & 28), &record->event);
		s->bytes += sizeof(record->event);
	}
}

/* Sets the walk's registers to those of the leaf, and its results to those of a walk without
 * frames. A global function, so that the BPF verifier checks it once. */
__noinline int walk_from_leaf(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	const struct stackd_regs *regs;
	__u32 wanted;

	if (!s)
		return 1;
	regs = &s->record.regs;
	wanted = s->walk.is_lean ? WALK_LEAN_REGS | WALK_LINK_BIT : WALK_ALL_REGS;
	s->walk.r[STACKD_REG_FP] = regs->r[STACKD_REG_FP];
	s->walk.r[STACKD_REG_SP] = regs->r[STACKD_REG_SP];
	s->walk.origin[STACKD_REG_FP].slot = 0;
	s->walk.origin[STACKD_REG_SP].slot = 0;
	if (ARCH_HAS_LINK) {
		s->walk.r[STACKD_REG_LINK & (WALK_REGS - 1)] =
			regs->r[STACKD_REG_LINK & (WALK_REGS - 1)];
		s->walk.origin[STACKD_REG_LINK & (WALK_REGS - 1)].slot = 0;
	}
	for (int i = 0; i < WALK_REGS && !s->walk.is_lean; i++) {
		s->walk.r[i] = regs->r[i];
		s->walk.origin[i].slot = 0;
	}
	s->walk.pc = regs->r[STACKD_REG_PC];
	s->walk.slot = 0;
	s->walk.deref = 0;
	s->walk.valid = wanted;
	s->walk.is_exact = 1;
	s->walk.frame = 0;
	s->walk.is_scheduler = 0;
	s->walk.has_left = 0;
	s->walk.system_sp = 0;
	s->walk.extras = 0;
	s->n_new = 0;
	s->kept = 0;
	s->n_fixes = 0;
	s->zero = 0;
	s->matched_before = 0;
	s->most = MAX_FRAMES;
	s->sent_frames = 0;
	s->deep_left = 0;
	start_bytes(s);
	if (RARELY(s->deep))
		deep_begin(s);
	return 0;
}

/* Steps from a function that was just entered to its caller, which needs no rule, since the return
 * address is on top of the stack. */
static __always_inline int step_from_region(struct walk *w)
{
	__u64 pc = 0, slot = w->r[STACKD_REG_SP];

	if (ARCH_HAS_LINK) {
		pc = ARCH_CODE_ADDRESS(w->r[STACKD_REG_LINK & (WALK_REGS - 1)]);
		slot = 0;
	} else if (walk_read(w, slot, &pc)) {
		return STACKD_END_UNREADABLE;
	}
	w->deref = 0;
	walk_keep(w, 0);
	walk_arrive(w, w->r[STACKD_REG_SP] + ARCH_CALL_PUSHES, pc, slot, false);
	return WALK_GO_ON;
}

/* Begins the walk again with all registers, because a rule needs a register that a lean walk does
 * not restore. */
static __always_inline void walk_again(struct scratch *s)
{
	state_again(s);
	s->walk.is_lean = 0;
	walk_from_leaf(s);
}

/* Returns whether the frame is the outermost: its rule says so, or it has no rule and the stack
 * ends right above it, as in the loader's start code. */
static __always_inline bool is_entry(const struct scratch *s, const struct stackd_rule *rule)
{
	return rule->cfa == STACKD_CFA_END ||
	       (rule->cfa == STACKD_CFA_NONE && s->walk.r[STACKD_REG_SP] + 8 == s->stack_end);
}

/* Returns scratch.end for a walk at its outermost frame. Code whose address is put on
 * stacks as a return address is preceded by a byte with the rule that the stack ends there
 * (lib/code/unwind/stack_start.h). A leaf can be at that byte if it is a ret of the code before,
 * which has a caller. */
static __always_inline int end_at_entry(struct scratch *s)
{
	if (RARELY(s->walk.is_exact) && at_return(s->walk.pc))
		return STACKD_END_BAD_RECIPE;
	/* The end is that of a mapping, or the main thread's first stack pointer. */
	if (s->stack_end - s->walk.r[STACKD_REG_SP] <= STACKD_STACK_BOTTOM &&
	    s->stack_end % PAGE_SIZE)
		return STACKD_END_ENTRY;
	return end_away(s);
}

/* Returns whether the rule of the frame that was left proves which word is the return address. A
 * rule that was made from instructions does not, since code that is entered by jumps runs in
 * another function's frame. Only the daemon knows which rules of kind DEREF are of instructions. */
static __always_inline bool proves_return(const struct scratch *s)
{
	__u64 hash = block_hash(s->location);
	struct rule_set *set = rule_set_of(s, hash);
	const struct stackd_rule *rule = set ? cached_rule(set, hash, s->location) : NULL;

	if (s->location >> 48 == STACKD_FILE_NONE)
		return true;
	return rule && rule->cfa != STACKD_CFA_DEREF && !STACKD_IS_OF_CODE(rule);
}

/* Returns scratch.end for a walk at a return address of 0. That is the end of the stack if it is
 * near the end of the memory, or if the frame has called another one: a program builds such frames
 * for its coroutines, on stacks beyond which there are other stacks. But a leaf, or code that a
 * signal has interrupted, may just be changing its stack, and then 0 may be any word, as it may if
 * the rule proves nothing; note_frame() has noted whether the frame is one of these. A global
 * function, so that it costs nothing unless it is called. */
__noinline int end_at_zero(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	__u32 last;

	if (!s)
		return 0;
	last = s->n_new - 1;
	if (!s->stack_end || s->stack_end - s->walk.slot <= STACKD_STACK_BOTTOM)
		return s->stack_end % PAGE_SIZE ? STACKD_END_ENTRY : ROOT_BITS(STACKD_ROOT_ZERO);
	return last && !(s->marks[RECENT(last)].slot & MARK_EXACT) && proves_return(s)
		       ? ROOT_BITS(STACKD_ROOT_ZERO)
		       : STACKD_END_BAD_RECIPE;
}

/* Ends the walk for this reason; returns 1, as walk_frame() does. */
static __always_inline long walk_ends(struct scratch *s, __u32 reason)
{
	s->end = reason;
	return 1;
}

/* managed.bpf.h */
__noinline int managed_frames(struct scratch *given);
__noinline int ruby_frames(struct scratch *given); /* managed_ruby.bpf.h */
__noinline int php_frames(struct scratch *given);  /* managed_php.bpf.h */
__noinline int perl_frames(struct scratch *given); /* managed_perl.bpf.h */
__noinline int managed_finish(struct scratch *given);
__noinline int managed_send_chain(struct scratch *given); /* managed_chain.bpf.h */
__noinline int call_hand_back(struct scratch *given);	  /* call.bpf.h */

/* Returns whether only the end of a walk proves its managed frames. */
static __always_inline bool is_proven_at_end(const struct scratch *s)
{
	return s->managed.is.form == STACKD_INTERPRETER_OBJECT ||
	       s->managed.is.form == STACKD_INTERPRETER_PERL;
}

/* Adds the managed frames between the frame that the walk has left and the one that it is at.
 * Returns 1 to end the walk. */
static __always_inline long walk_managed(struct scratch *s, int end)
{
	long ends;

	if (end == WALK_MANAGED)
		ends = managed_frames(s);
	else if (s->managed.is.form == STACKD_INTERPRETER_PHP)
		ends = php_frames(s);
	else if (s->managed.is.form == STACKD_INTERPRETER_PERL)
		ends = perl_frames(s);
	else
		ends = ruby_frames(s);
	FORGET(ends);
	return ends ? 1 : 0;
}

/* Walks one frame. Returns 1 to end the walk, with the reason in s->end. */
static ALIGNED long walk_frame(__u32 turn, struct scratch **at)
{
	struct scratch *s = *at;
	__u32 index = s->n_new;
	const struct stackd_rule *rule;
	int end;

	(void)turn;

	if (index && prefix_matches(s))
		return walk_ends(s, s->kept_end);
	if (RARELY(s->deep_left) && index && deep_matches(s))
		return 1;
	if (segment_is_full(s, index))
		return walk_ends(s, STACKD_END_SEGMENT);
	if (RARELY(index >= s->most || s->bytes > DEEP_BYTES) && deep_go_on(s))
		return 1;
	if (index % AHEAD_FRAMES == AHEAD_FROM)
		fetch_ahead(s);
	if (index && stride(s))
		return 0;
	if (index && (s->walk.is_exact || may_be_trampoline(s->walk.pc)) && restore_return(s))
		return 0;
	rule = rule_of_frame(s);
	if (!index && (!rule || s->location >> 48 == STACKD_FILE_NONE) && leave_probe(s)) {
		walk_from_leaf(s);
		return 0;
	}
	if (!rule && !(rule = rule_of_nowhere(s)))
		return 1;
	if (ARCH_HAS_LINK && s->walk.is_exact)
		rule = rule_of_leaf(s, rule);
	s->end = STACKD_END_TOO_DEEP;
	if (!put_height(s) || !put_frame(s, !index && !s->walk.is_once))
		return 1;
	note_frame(s, index, rule);
	touch_mapping(s);
	s->n_new = index + 1;
	if (is_entry(s, rule)) {
		s->end = end_at_entry(s);
		return 1;
	}
	if (!index && s->is_at_entry)
		end = step_from_region(&s->walk);
	else
		end = step_by_rule(s, rule);
	if (end == WALK_AGAIN) {
		walk_again(s);
		return 0;
	}
	if (end == WALK_GO_ON && !s->walk.pc && !s->walk.is_exact)
		end = end_at_zero(s);
	note_step(s, index, end);
	if (end == WALK_GO_ON)
		return 0;
	if (with_managed && (end == WALK_MANAGED || end == WALK_MANAGED_REGS))
		return walk_managed(s, end);
	s->end = end;
	return 1;
}

static __always_inline void walk_start(struct scratch *s, struct task_struct *task)
{
	s->walk.is_lean = 1;
	find_stack_end(s);
	s->window_base = s->record.regs.r[STACKD_REG_SP];
	s->window_end = s->stack_end;
	s->window_first = WINDOW_FIRST;
	s->window_copied = 0;
	s->window_plain = 0;
	s->window_holes = 0;
	s->run_plain = 0;
	s->space = space_of(task, s->record.pid);
	s->stamp = stamp_of(task, s->record.header.time_ns);
	start_seen(s);
	s->unknown.key.inode = 0;
	s->wanted_file = 0;
	s->n_touched = 0;
	s->touched_last = 0;
	s->rule_hits = 0;
	s->rule_misses = 0;
}

/* Returns whether clone() has just made the thread, and the thread has done nothing yet: it is
 * behind the system call, whose result is 0, on a stack that was never touched, so the stack begins
 * here, and this frame is its path. (It may be the last user of its memory, if the first thread
 * has ended.) A process that fork() has made has separate memory, and is on its parent's stack,
 * even if that cannot be read at the moment because the page is being moved. A stack pointer of 0
 * was set by mend_torn_registers(): the thread returns from a signal handler. */
static __always_inline bool is_unborn(const struct scratch *s, struct task_struct *task)
{
	const struct stackd_stack_record *record = &s->record;
	__u64 top;

	return record->regs.r[ARCH_RESULT_REG] == 0 && record->regs.r[STACKD_REG_SP] &&
	       (task->pid != task->tgid ||
		(ARCH_READS_OLD_PAGES && BPF_CORE_READ(task, mm, mm_users.counter) > 1)) &&
	       bpf_probe_read_user(&top, sizeof(top),
				   (const void *)record->regs.r[STACKD_REG_SP]) &&
	       follows_clone(record->regs.r, record->regs.r[STACKD_REG_PC] + s->call_bytes);
}

/* Returns whether a walk that has ended for this reason is left to the daemon, which may find more
 * frames. */
static __always_inline bool needs_daemon(__u32 end)
{
	return end == STACKD_END_NO_MAPPING || end == STACKD_END_NO_OBJECT ||
	       end == STACKD_END_BAD_RECIPE || end == STACKD_END_NO_RECIPE ||
	       end == STACKD_END_NO_PROGRESS;
}

/* --- the sample --------------------------------------------------------------------------- */

#define LARGE_RECORD 4096 /* bytes */

/* Returns whether the ring buffer has room for a large record. Large records leave a part of it
 * free for small ones, so that a record of a thread's end, or of an instance without its stack,
 * finds room unless small records have filled it. */
static __noinline int has_room_for_large(__u32 bytes, __u32 has_small_form)
{
	__u64 size = bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE);

	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) + bytes <=
	       (has_small_form ? size / 4 * 3 : size / 16 * 15);
}

/* Why a program walks a stack. All functions below get it as a constant, so that the program for
 * samples has no code for waits, which the BPF verifier would refuse there, and the other way
 * round. */
enum walk_source {
	WALK_FOR_SAMPLE,    /* a perf event */
	WALK_FOR_PROBE,	    /* a probe of a region, mark or allocation; or page_faults.bpf.h */
	WALK_FOR_SCHEDULER, /* a switch or wake-up of a task (wait.bpf.h) */
	WALK_FOR_CALL,	    /* the probe of libstackmpi (call.bpf.h) */
};

/* Counts a record that was sent or lost. If a probe's record is lost, the caller counts it, since a
 * smaller record may still find room. */
static __always_inline void count_record(const struct scratch *s, enum walk_source source,
					 bool is_lost)
{
	if (source == WALK_FOR_SAMPLE)
		count(is_lost ? STACKD_COUNT_LOST_RING : STACKD_COUNT_SENT);
	else if (source == WALK_FOR_SCHEDULER)
		count_wait_record(s->record.event.kind, is_lost);
	else if (!is_lost)
		count_region(STACKD_REGION_SENT);
}

/* Puts a record into the ring buffer, and counts it. Returns 0 if it is there. `urgent`: wakes the
 * daemon at once. */
static __always_inline long send(const struct scratch *s, const void *record, __u32 size,
				 bool urgent, enum walk_source source)
{
	__u64 wakes = wake_for(urgent);
	long err = -1;

	FORGET(size);
	if (RARELY(size > LARGE_RECORD) && !has_room_for_large(size, source == WALK_FOR_PROBE))
		size = ~0u;
	if (size <= sizeof(struct stackd_stack_record) + STACKD_MAX_KERNEL_FRAMES * 8 +
			    STACKD_MAX_STACK_BYTES)
		err = bpf_ringbuf_output(&ring, (void *)record, size,
					 wakes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	if (wakes && !err)
		woken_at = wakes;
	count_record(s, source, err);
	return err;
}

/* Copies the kernel frames to `to`, and returns their number. A probe has none. `ctx`, here and
 * below, is the perf event's context of a sample. */
static __always_inline __u32 kernel_frames(const struct scratch *s, enum walk_source source,
					   struct bpf_perf_event_data *ctx, __u32 flags, void *to)
{
	long got;

	if (source == WALK_FOR_SCHEDULER)
		return wait_frames(to, wait_record_of(s->record.event.kind));
	if (source == WALK_FOR_PROBE || source == WALK_FOR_CALL || !(flags & STACKD_IN_KERNEL))
		return 0;
	got = bpf_get_stack(ctx, to, STACKD_MAX_KERNEL_FRAMES * 8, 0);
	return got > 0 && got <= STACKD_MAX_KERNEL_FRAMES * 8 ? (__u64)got / 8 : 0;
}

static __always_inline void read_below(struct stackd_stack_record *record)
{
	const void *at = (const void *)(record->regs.r[STACKD_REG_SP] - 8);

	if (bpf_probe_read_user(&record->below, sizeof(record->below), at))
		record->below = 0;
}

/* Fills in a STACK record behind its kernel frames, with a copy of the stack. `may_share`: bytes
 * that the previous record had are left out. A global function, so that the BPF verifier checks it
 * once. */
__noinline int fill_stack(struct scratch *given, __u32 kernel, __u32 may_share)
{
	struct scratch *s = CHECKED(given);
	struct stackd_stack_record *record;
	__u32 stack = 0;

	if (!s || kernel > STACKD_MAX_KERNEL_FRAMES)
		return 0;
	record = &s->record;
	take_cgroup(record);
	record->is_uncalled = s->nowhere.refused_ns == record->header.time_ns;
	record->header.kind = STACKD_RECORD_STACK;
	record->header.n_kernel = kernel;
	if ((record->header.flags & (STACKD_HAS_REGS | STACKD_COMPAT)) == STACKD_HAS_REGS) {
		stack = copy_stack(s, kernel * 8);
		restore_copy(s, record->regs.r[STACKD_REG_SP], kernel * 8, stack);
		record->leaf = leaf_at(record->regs.r[STACKD_REG_PC]);
		read_below(record);
	}
	record->stack_bytes = stack;
	s->code.sent = 0;
	if (stack)
		send_code(s, kernel * 8);
	record->shared = 0;
	record->number = 0;
	if (may_share && !(record->header.flags & STACKD_JUDGE))
		leave_out_shared(s, kernel * 8);
	return 0;
}

/* Sends a STACK record, whose stack the daemon walks. */
static __always_inline void send_stack(struct scratch *s, enum walk_source source,
				       struct bpf_perf_event_data *ctx)
{
	struct stackd_stack_record *record = &s->record;
	__u32 kernel = kernel_frames(s, source, ctx, record->header.flags, s->payload);
	__u32 sent;

	fill_stack(s, kernel, source == WALK_FOR_SAMPLE);
	sent = record->stack_bytes - record->shared;
	if (sent > STACKD_MAX_STACK_BYTES || kernel > STACKD_MAX_KERNEL_FRAMES)
		return;
	/* The daemon reads the names of new code from its process, which may end soon. */
	s->is_sent = !send(s, record, sizeof(*record) + kernel * 8 + sent,
			   record->wanted || record->unknown.key.inode || s->code.sent, source);
	if (s->is_sent && record->number)
		keep_previous(s, kernel * 8);
}

/* Sends a WALKED record, of a walk that was done here. If it is in the ring buffer, the stack is
 * remembered. */
static __always_inline void send_walk(struct scratch *s, enum walk_source source,
				      struct bpf_perf_event_data *ctx)
{
	const struct stackd_header *header = &s->record.header;
	struct thread_state *state = state_at(s);
	bool remember = state && IS_WHOLE(s->end) && !s->walk.is_once;
	bool has_part = s->deep || s->sent_frames, is_lost = false, is_urgent = false;
	__u32 bytes = s->bytes, kernel, size;

	if (bytes > MAX_BYTES)
		return;
	kernel = kernel_frames(s, source, ctx, header->flags, &s->walked.bytes[bytes]);
	size = bytes + kernel * 8;
	if (RARELY(has_part)) {
		deep_end(s, size);
		remember = s->deep ? s->deep_action : remember;
		is_lost = s->is_part_lost;
		is_urgent = s->part.flags & STACKD_PART_WANTS_ROOM;
		size += sizeof(s->part);
	}
	s->walked.header = (struct stackd_walked){
		.form = s->walked_form | (remember ? 0 : STACKD_FORM_NOT_REMEMBERED) |
			(has_part ? STACKD_FORM_PART : 0),
		.end = s->end,
		.is_unproven = with_managed && s->walk.managed == MANAGED_NOT_PROVEN,
		.sequence = state ? state->sequence + 1 : 0,
		.n_kernel = kernel,
		.kept = has_part ? 0 : s->kept,
		.tid = header->tid,
		.time_ns = header->time_ns,
		.cpu = header->cpu,
	};
	/* If a part of a walk is lost, the whole walk is. */
	s->is_sent = !send(s, &s->walked, is_lost ? ~0u : sizeof(s->walked.header) + size,
			   is_urgent, source);
	if (!s->is_sent)
		return;
	if (state)
		state->css_set = s->css_set;
	if (RARELY(remember && s->deep))
		deep_remember(s);
	else if (remember)
		state_remember(s);
}

static __always_inline void fill_record(struct stackd_stack_record *record,
					struct bpf_perf_event_data *ctx, __u64 pid_tgid, __u32 cpu)
{
	struct stackd_header *header = &record->header;

	__builtin_memset(record, 0, __builtin_offsetof(struct stackd_stack_record, regs));
	header->version = STACKD_ABI_VERSION;
	header->time_ns = bpf_ktime_get_ns();
	header->tid = pid_tgid;
	header->cpu = cpu;
	record->pid = pid_tgid >> 32;
	record->period = ctx->sample_period < ~0u ? ctx->sample_period : ~0u;
	record->cgroup = 0;
}

/* If the program keeps a tag of its call path, sends the tag, in place of a walk or before it.
 * Returns false if the stack must still be walked. */
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
	record->pid = s->record.pid;
	record->period = s->record.period;
	record->pc = s->record.regs.r[STACKD_REG_PC];
	record->cgroup = bpf_get_current_cgroup_id();
	record->is_followed = use == TAG_LEARN;
	if (use == TAG_LEARN)
		count(STACKD_COUNT_STARTED);
	else
		kernel = kernel_frames(s, WALK_FOR_SAMPLE, ctx, record->header.flags,
				       s->tagged.kernel);
	record->header.n_kernel = kernel;
	count(use == TAG_LEARN ? STACKD_COUNT_TAGS_NEW : STACKD_COUNT_TAGS);
	if (kernel <= STACKD_MAX_KERNEL_FRAMES)
		send(s, record, sizeof(*record) + kernel * 8, false, WALK_FOR_SAMPLE);
	return use == TAG_ENOUGH;
}

/* Sends the branch records, if there are any, before the sample to which they belong. */
static __always_inline void send_branches(struct scratch *s, struct bpf_perf_event_data *ctx)
{
	struct stackd_branch_record *record = &s->branches.record;
	__u32 n = read_branches(s, ctx);

	if (!n || n > STACKD_MAX_BRANCHES)
		return;
	record->header = s->record.header;
	record->header.kind = STACKD_RECORD_BRANCHES;
	record->n = n;
	record->pid = s->record.pid;
	count(STACKD_COUNT_STARTED);
	send(s, record, sizeof(*record) + n * sizeof(struct stackd_branch), false, WALK_FOR_SAMPLE);
}

/* Sends the counters' readings, if there are any, before the record to which they belong. */
static __always_inline void send_reading(struct scratch *s)
{
	struct stackd_reading *reading = &s->reading;
	__u32 bytes = sizeof(*reading);
	long err;

	if (!reading_count || !s->has_reading)
		return;
	reading->header = s->record.header;
	reading->header.kind = STACKD_RECORD_READING;
	reading->header.n_kernel = 0;
	reading->pid = s->record.pid;
	reading->n = reading_count;
	if (!reading->is_end)
		bytes = (__u32)offsetof(struct stackd_reading, values[reading_count]);
	err = bpf_ringbuf_output(&ring, reading, bytes, BPF_RB_NO_WAKEUP);
	count_region(err ? STACKD_REGION_READINGS_LOST : STACKD_REGION_READINGS);
}

static __always_inline void count_walk(const struct scratch *s)
{
	__u32 here = 0;
	struct stackd_counters *counted = CHECKED(bpf_map_lookup_elem(&counters, &here));

	if (!counted)
		return;
	counted->n[STACKD_COUNT_WALKS]++;
	counted->n[STACKD_COUNT_FRAMES] += s->n_new;
	counted->n[STACKD_COUNT_KEPT] += s->kept;
	counted->n[STACKD_COUNT_RULE_HITS] += s->rule_hits;
	counted->n[STACKD_COUNT_RULE_MISSES] += s->rule_misses;
}

/* Walks the stack, and sends the result. */
static __always_inline void walk_and_send(struct scratch *s, enum walk_source source,
					  struct bpf_perf_event_data *ctx, struct task_struct *task)
{
	struct stackd_header *header = &s->record.header;

	s->css_set = (__u64)task->cgroups;
	walk_start(s, task);
	state_take(s, task, header->tid);
	if (source != WALK_FOR_SAMPLE)
		header->time_ns = bpf_ktime_get_ns();
	send_reading(s);
	walk_from_leaf(s);
	bpf_loop(4 * STACKD_DEEP_MOST, walk_frame, &s, 0);
	if (with_managed && s->walk.managed && is_proven_at_end(s))
		managed_finish(s);
	if (RARELY(s->end == ROOT_BITS(STACKD_ROOT_CROSSED)) && is_left_by_signal(s))
		s->end = STACKD_END_ENTRY;
	count_walk(s);
	if (source != WALK_FOR_PROBE && source != WALK_FOR_CALL && !IS_WHOLE(s->end) &&
	    s->n_new <= 1 &&
	    (is_unborn(s, task) || is_just_cloned(s->record.regs.r, s->call_bytes))) {
		s->end = STACKD_END_ENTRY;
		s->walk.is_once = 1; /* that cannot be compared: it is in no page yet */
	}
	if (needs_daemon(s->end)) {
		count(STACKD_COUNT_FALLBACKS);
		header->end_reason = s->end;
		s->record.unknown = s->unknown;
		s->record.wanted = s->wanted_file;
		send_more(s);
		if (with_managed)
			managed_send_chain(s);
		send_stack(s, source, ctx);
		if (source == WALK_FOR_SAMPLE)
			note_preempted_by_sample(s, task);
	} else {
		put_height(s);
		send_walk(s, source, ctx);
#ifndef BPF_SHIM_H /* unit tests take only the walk of samples */
		if (source == WALK_FOR_CALL && s->is_sent && IS_WHOLE(s->end) && !s->walk.is_once &&
		    !s->deep && !s->sent_frames)
			call_hand_back(s);
#endif
		/* The daemon's walk does not know that a thread has just been made. */
		if (judge && source == WALK_FOR_SAMPLE &&
		    !is_just_cloned(s->record.regs.r, s->call_bytes)) {
			header->flags |= STACKD_JUDGE;
			count(STACKD_COUNT_STARTED);
			s->copy_limit = stack_limit;
			if (with_managed)
				managed_send_chain(s);
			send_stack(s, source, ctx);
		}
	}
	deep_give_back(s);
	state_give_back(s);
}

SEC("perf_event")
int stackd_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	__u32 cpu = bpf_get_smp_processor_id();
	struct region_thread *thread;
	struct stackd_header *header;
	struct scratch *s;
	bool is_walkable;

	if (RARELY(is_outside(task, pid_tgid >> 32))) {
		if (is_clock)
			count_waking((__u64)EVENT_OF(ctx));
		return 0;
	}
	if (is_sampled_twice(ctx, pid_tgid, task->start_time))
		return 0;
	count(STACKD_COUNT_STARTED);
	if (RARELY(is_idle(task, pid_tgid, PT_REGS_SP(&ctx->regs)))) {
		if (is_clock)
			count_waking((__u64)EVENT_OF(ctx));
		count(STACKD_COUNT_IDLE);
		return 0;
	}
	s = CHECKED(bpf_map_lookup_elem(&scratches, &cpu));
	if (!s) {
		count(STACKD_COUNT_LOST_RING);
		return 0;
	}
	header = &s->record.header;
	s->is_at_entry = 0;
	fill_record(&s->record, ctx, pid_tgid, cpu);
	s->cpu = cpu;
	weigh(s, ctx, task);
	note_preempted(s, task, ctx->sample_period);
	header->flags = take_registers(s, ctx, task);
	thread = region_thread_of(task);
	join_regions(s, task, thread);
	if ((header->flags & STACKD_IN_KERNEL) && BPF_CORE_READ_BITFIELD(task, in_execve))
		header->flags |= STACKD_IN_EXEC;
	/* Read once, so that the BPF verifier does not take a stack for walkable that it has just
	 * taken for one that is not, and follow the walk in two states. */
	is_walkable = (header->flags & WALKABLE) == STACKD_HAS_REGS;
	FORGET(is_walkable);
	if (tag_mode != STACKD_TAGS_OFF && is_walkable && send_tag(s, ctx, task))
		return 0;
	readings_of_sample(s, task, thread);
	send_branches(s, ctx);
	if (walk_here && is_walkable) {
		walk_and_send(s, WALK_FOR_SAMPLE, ctx, task);
	} else {
		send_reading(s);
		s->copy_limit = stack_limit;
		send_stack(s, WALK_FOR_SAMPLE, ctx);
	}
	return 0;
}

#ifndef BPF_SHIM_H /* unit tests take only the walk of samples (tests/unit/bpf_shim.h) */
#include "call.bpf.h"
#include "mark.bpf.h"
#include "other_page.bpf.h"
#include "page_faults.bpf.h"
#include "probe_cost.bpf.h"
#include "rank.bpf.h"
#include "wait.bpf.h"
#include "waker.bpf.h"
#endif

/* behind what most walks run */
#include "managed.bpf.h"
#include "managed_chain.bpf.h"
#include "managed_perl.bpf.h"
#include "managed_php.bpf.h"
#include "managed_ruby.bpf.h"

char LICENSE[] SEC("license") = "GPL";
