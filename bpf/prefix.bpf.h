/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The verified prefix. Successive stacks of a thread have their root part in common. So a walk
 * finds only the changed frames with rules, and compares the others with the thread's last walk.
 * (After Perks et al., whose first and second match guess that they are unchanged instead.)
 *
 * For each thread the last walk is remembered, root first, as marks: for each frame the slot of its
 * return address (the address at which it is on the stack) and the return address. A new walk
 * continues until it reaches a frame whose slot and return address are those of a mark. Then this
 * mark and every mark rootwards of it are compared with memory. If all hold, the remaining frames
 * are the same as in the last walk: at the same location, the same rule finds the caller from the
 * stack pointer, and the stack pointer is the slot plus eight.
 *
 *      leaf                                                               root
 *   new  f9 f8 f7 ─┐ slot and return address of f6 match mark 6
 *   old     g8 g7  └─ m6 ─ m5 ─ m4 ─ m3 ─ m2 ─ m1 ─ m0     all compared with memory
 *
 * Return addresses mean the same code only while the same files are mapped there. The thread's
 * state has the mappings that contain its frames. If the mappings' stamp (mapping.bpf.h) has
 * changed since the last walk, these mappings are compared with the present ones first.
 *
 * In three cases, a rule uses more than such a stack pointer. First, a CFA that comes from a saved
 * register (the frame pointer after alloca) can differ, although an old slot still has a stale
 * return address. So such a mark has a guard: the register's value, and the slot in which the
 * register was saved. If one of the unchanged frames saved it, that slot is compared. If not, the
 * new walk must have the same value at the match; the guard then gets the slot in which the new
 * walk has found the register saved. Second, the same is done with the stack pointer of a frame
 * that a signal has interrupted: on an alternate stack, the kernel always saves the program counter
 * in the same slot, wherever the interrupted code has its stack. Third, if a CFA was read from
 * memory (realigned stacks, signal frames), that word is compared as well, and so is the return
 * address of 0 that ends a stack.
 *
 * Most frames whose CFA comes from the frame pointer need no guard. The caller's frame ends right
 * above where the frame pointer points. The callee pushes the frame pointer first, so it is right
 * below the callee's return address, and 8 less than the next mark's slot. Such a mark is plain. It
 * needs fewer cache lines, which decide what a walk costs, since the program fills the caches
 * between two samples.
 *
 * Where calls leave the return address in a register (ARCH_HAS_LINK), a function saves it at any
 * distance from the CFA, so the slot does not tell the stack pointer. There a second mark must
 * match right after the first: the step between them has proved it.
 *
 * A state changes only after the record is in the ring buffer, so the daemon's copy of the stack is
 * always the same. The states are a fixed number of slots, chosen by a hash of the thread. A thread
 * that finds its slot used by another thread takes it over (kept = 0); if the slot is locked, the
 * thread walks its whole stack.
 */
#ifndef PREFIX_BPF_H
#define PREFIX_BPF_H

#include "mapping.bpf.h"
#include "prefix_words.bpf.h"
#include "scratch.bpf.h"
#include "stack_root.bpf.h"
#include "stack_window.bpf.h"
#include "thread_state.bpf.h"

/* Decides how much of the stack is copied first. The remembered stack will be compared up to the
 * root, so if the stack or its frames are small, all of it is copied at once; if not, only its top,
 * for new frames. */
static __always_inline void expect_window(struct scratch *s, const struct thread_state *state)
{
	__u64 root = state->marks[0].slot & ~MARK_FLAGS;
	__u64 bytes = (state->zero > root ? state->zero : root) + 8 - s->window_base;

	if (!state->count)
		return;
	s->kept_end = state->end;
	if (bytes > WINDOW_WHOLE && bytes > (__u64)state->count * RUN_GAP) {
		bytes = WINDOW_TOP;
		if (RARELY(root - s->window_base >= s->stack_end - s->window_base) &&
		    !s->kept_end && is_on_another_stack(s, root))
			s->kept_end = ROOT_BITS(STACKD_ROOT_CROSSED);
	}
	s->window_first = bytes > WINDOW_LEAST ? bytes : WINDOW_LEAST;
}

__noinline int deep_take(struct scratch *given);

/* Locks the state of the thread, and takes it over for this thread if another one had it. It must
 * be given back with state_give_back(). */
static __always_inline void state_take(struct scratch *s, struct task_struct *task, __u32 tid)
{
	__u64 start_time = task->start_time;
	struct thread_state *state;

	s->probe = 0;
	s->deep = 0;
	s->is_anchor = 0;
	s->state = mix(start_time ^ tid) & (state_slots - 1);
	state = state_at(s);
	if (!state || __sync_val_compare_and_swap(&state->busy, 0, 1)) {
		s->state = ~0u;
		return;
	}
	if (state->tid != tid || state->start_time != start_time || state->space != s->space) {
		state->tid = tid;
		state->start_time = start_time;
		state->space = s->space;
		state->count = 0;
		state->walks = 0;
		state->css_set = 0;
		state->credit = STACKD_ANCHOR_CREDIT;
		state->deep = 0;
		state->is_lean = 1;
	}
	state->walks++;
	s->is_anchor =
		state->walks % STACKD_ANCHOR_EVERY == 0 ||
		(state->walks < STACKD_ANCHOR_EVERY && (state->walks & (state->walks - 1)) == 0);
	s->touched_hold = state->stamp == s->stamp;
	s->walk.is_lean = state->is_lean;
	if (prefix_mode == STACKD_PREFIX_NONE)
		return;
	s->probe = state->count;
	expect_window(s, state);
	if (RARELY(state->deep))
		deep_take(s);
}

/* Begins the walk again, with all registers. If more than the leaf needed them, the thread's next
 * walks begin with all registers, too, as long as they share this stack. */
static __always_inline void state_again(struct scratch *s)
{
	struct thread_state *state = state_at(s);

	if (!state)
		return;
	if (s->n_new > 1)
		state->is_lean = 0;
	if (prefix_mode != STACKD_PREFIX_NONE)
		s->probe = state->count;
}

static __always_inline void state_give_back(struct scratch *s)
{
	struct thread_state *state = state_at(s);

	if (state)
		__sync_lock_test_and_set(&state->busy, 0);
}

/* --- matching --------------------------------------------------------------------------------- */

static __always_inline struct mark *mark_at(struct thread_state *state, __u32 index)
{
	return index < MAX_MARKS ? &state->marks[BOUNDED(index, MAX_MARKS)] : NULL;
}

static __always_inline struct guard *guard_at(struct thread_state *state, __u32 index)
{
	return index < MAX_MARKS ? &state->guards[BOUNDED(index, MAX_MARKS)] : NULL;
}

/* Compares a return address, or another address of the program, that is in neither the window nor
 * the run (prefix_words.bpf.h). A global
 * function, so that the BPF verifier checks it once. */
__noinline int word_holds(struct scratch *given, __u64 slot, __u64 word)
{
	struct scratch *s = CHECKED(given);
	__u64 is = 0;

	if (!ARCH_HAS_LINK)
		return s && holds(s, slot, word);
	return s &&
	       (word_at_hand(s, slot, &is) || (!run_copy(s, slot) && word_at_hand(s, slot, &is))) &&
	       ARCH_CODE_ADDRESS(is) == word;
}

/* Returns whether the register from which a mark's CFA comes still has its value: the slot in which
 * it was saved is unchanged, or the new walk has the same value in the register. `top` is the mark
 * that was met. */
static __always_inline bool register_holds(struct scratch *s, const struct guard *guard,
					   __u32 index, __u32 top)
{
	__u32 reg = guard->reg & (WALK_REGS - 1);

	if (!reg)
		return true;
	s->broken_register = 1;
	if (guard->origin <= top) {
		if (!holds(s, guard->reg_slot, guard->reg_word))
			return false;
	} else {
		if (!walk_is_valid(&s->walk, reg) || s->walk.r[reg] != guard->reg_word ||
		    s->n_fixes >= MAX_FIXES)
			return false;
		s->fixes[s->n_fixes].mark = index;
		s->fixes[s->n_fixes].reg = reg;
		s->n_fixes++;
	}
	s->broken_register = 0;
	return true;
}

/* Returns the frame pointer of a frame whose mark is plain: 8 below the slot of its own frame's
 * return address, which is the next mark's slot. */
static __always_inline __u64 plain_fp(const struct thread_state *state, __u32 index)
{
	return (state->marks[BOUNDED(index - 1, MAX_MARKS)].slot & ~MARK_FLAGS) - 8;
}

/* Returns whether the new walk has found the frame pointer saved right below the slot of frame
 * `frame`, by the frame that returns to it. */
static __always_inline bool is_pushed_by_callee(const struct scratch *s, __u32 frame)
{
	const struct walk_origin *origin = &s->walk.origin[STACKD_REG_FP];

	return origin->slot == s->walk.slot - 8 && origin->frame + 1 == frame;
}

/* Does for a plain mark what register_holds() does for a guarded one. A global function, so that
 * the BPF verifier checks it once. */
__noinline int plain_holds(struct scratch *given, __u32 index)
{
	struct scratch *s = CHECKED(given);
	struct thread_state *state = s ? state_at(s) : NULL;
	struct mark *mark = state ? mark_at(state, index) : NULL;
	__u64 fp;

	if (!mark || !index)
		return 0;
	fp = plain_fp(state, index);
	s->broken_register = 1;
	if (index < s->check_from) {
		if (!holds(s, (mark->slot & ~MARK_FLAGS) - 8, fp))
			return 0;
	} else {
		if (!walk_is_valid(&s->walk, STACKD_REG_FP) || s->walk.r[STACKD_REG_FP] != fp ||
		    s->n_fixes >= MAX_FIXES)
			return 0;
		if (!is_pushed_by_callee(s, s->n_new)) {
			s->fixes[s->n_fixes].mark = index;
			s->fixes[s->n_fixes].reg = STACKD_REG_FP;
			s->n_fixes++;
		}
	}
	s->broken_register = 0;
	return 1;
}

/* Returns whether a plain mark holds, if the words for that are in the window or the run. false:
 * plain_holds() has to find out. */
static __always_inline bool is_plain_as_was(struct scratch *s, struct thread_state *state,
					    __u32 index, __u64 slot)
{
	__u64 fp;

	return index && index < s->check_from && word_at_hand(s, slot - 8, &fp) &&
	       fp == plain_fp(state, index);
}

/* Checks the guard (further conditions) of a mark. A global function, so that the BPF verifier
 * checks it once. */
__noinline int guard_holds(struct scratch *given, __u32 index, __u32 top)
{
	struct scratch *s = CHECKED(given);
	struct thread_state *state = s ? state_at(s) : NULL;
	struct guard *guard = state ? guard_at(state, index) : NULL;

	if (!guard || !register_holds(s, guard, index, top))
		return 0;
	return !guard->word_slot || holds(s, guard->word_slot, guard->word);
}

/* Returns whether the commonest guard holds: a frame pointer that was saved by a frame that is
 * compared as well. false: guard_holds() has to find out. */
static __always_inline bool is_saved_as_was(struct scratch *s, struct thread_state *state,
					    __u32 index)
{
	const struct guard *guard = &state->guards[BOUNDED(index, MAX_MARKS)];
	__u64 value;

	return !guard->word_slot && guard->origin <= s->check_from &&
	       word_at_hand(s, guard->reg_slot, &value) && value == guard->reg_word;
}

#define MARKS_A_TURN 8

/* Returns whether the mark of a native frame holds. */
static __always_inline bool mark_holds(struct scratch *s, struct thread_state *state, __u32 index)
{
	const struct mark *mark = &state->marks[BOUNDED(index, MAX_MARKS)];
	__u64 slot = mark->slot & ~MARK_FLAGS, ra;

	if (word_at_hand(s, slot, &ra)) {
		if (ARCH_CODE_ADDRESS(ra) != mark->ra)
			return false;
	} else if (!word_holds(s, slot, mark->ra)) {
		return false;
	}
	if (mark->slot & MARK_PLAIN && !is_plain_as_was(s, state, index, slot) &&
	    !plain_holds(s, index))
		return false;
	return !(mark->slot & MARK_GUARDED) || is_saved_as_was(s, state, index) ||
	       guard_holds(s, index, s->check_from);
}

/* Compares the next marks with memory, from mark s->check - 1 on, rootwards. Returns 1 to end the
 * loop; s->check is then 0 if all marks hold. */
static long check_marks(__u32 turn, struct scratch **at)
{
	struct scratch *s = *at;
	struct thread_state *state = state_at(s);
	__u32 next = s->check;

	(void)turn;
	if (!state)
		return 1;
	for (int i = 0; i < MARKS_A_TURN && next; i++) {
		if (!mark_holds(s, state, next - 1))
			return 1;
		s->check = --next;
	}
	return !next;
}

__noinline int check_managed_marks(struct scratch *given); /* managed_code.bpf.h */

/* Returns whether mark `index` and all marks rootwards of it hold. If a word in memory differs,
 * moves the probe rootwards of that word's mark, since no mark leafwards of it can hold. */
static __always_inline bool verify_from(struct scratch *s, const struct thread_state *state,
					__u32 index)
{
	s->check_from = index;
	s->check = index + 1;
	s->n_fixes = 0;
	s->broken_register = 0;
	bpf_loop(MAX_MARKS / MARKS_A_TURN + 1, check_marks, &s, 0);
	if (s->check && with_managed)
		check_managed_marks(s);
	if (s->check && !s->broken_register)
		s->probe = s->check - 1;
	return s->check == 0 && (!state->zero || word_holds(s, state->zero, 0));
}

/* Returns whether the mappings that contain the remembered frames are unchanged. */
static __always_inline bool mappings_hold(struct scratch *s, struct thread_state *state)
{
	if (s->touched_hold)
		return true;
	if (state->n_touched > TOUCHED_MAPPINGS)
		return false;
	for (__u32 i = 0; i < TOUCHED_MAPPINGS && i < state->n_touched; i++) {
		FORGET(i);
		if (mapping_find(s, state->touched[i].address) ||
		    seen_at(s)->name != state->touched[i].name)
			return false;
	}
	s->touched_hold = 1;
	return true;
}

/* Returns the present frame's slot as a mark has it, without the flags MARK_GUARDED and
 * MARK_PLAIN. */
static __always_inline __u64 slot_of_frame(const struct scratch *s)
{
	return s->walk.slot | (s->walk.is_exact ? MARK_EXACT : 0);
}

/* Returns whether the frame that the walk has reached, with all frames rootwards of it, is on the
 * remembered stack. Then s->kept is the number of these frames. */
static __always_inline bool prefix_matches(struct scratch *s)
{
	struct thread_state *state = state_at(s);
	const struct mark *mark = NULL;
	bool twice = s->matched_before;

	s->matched_before = 0;
	if (!state || !s->probe || (ARCH_HAS_LINK && !s->walk.slot))
		return false;
	for (int i = 0; i < 64 && s->probe; i++) {
		mark = mark_at(state, s->probe - 1);
		if (!mark || (mark->slot & ~MARK_FLAGS) >= s->walk.slot)
			break;
		s->probe--;
	}
	if (!mark || !s->probe || (mark->slot & ~(MARK_GUARDED | MARK_PLAIN)) != slot_of_frame(s) ||
	    mark->ra != s->walk.pc)
		return false;
	if (!mappings_hold(s, state)) {
		s->probe = 0;
		return false;
	}
	s->matched_before = 1;
	if ((prefix_mode == STACKD_PREFIX_SECOND || ARCH_HAS_LINK) && !twice)
		return false;
	if (prefix_mode == STACKD_PREFIX_VERIFIED && !verify_from(s, state, s->probe - 1)) {
		count(STACKD_COUNT_PREFIX_BROKEN);
		s->n_fixes = 0;
		return false;
	}
	s->kept = s->probe;
	return true;
}

/* --- remembering ------------------------------------------------------------------------------ */

/* Converts the number of a frame, which the walk counts from the leaf, to its number from the
 * root. */
static __always_inline __u32 from_root(const struct scratch *s, __u32 frame)
{
	return s->kept + s->n_new - 1 - frame;
}

/* Returns the register from which a rule computes the CFA. */
static __always_inline __u32 cfa_register(const struct stackd_rule *rule)
{
	if (rule->cfa == STACKD_CFA_NONE)
		return STACKD_REG_FP;
	if (rule->cfa != STACKD_CFA_REG && rule->cfa != STACKD_CFA_DEREF &&
	    rule->cfa != STACKD_CFA_OTHER && rule->cfa < STACKD_CFA_EVAL)
		return STACKD_REG_SP;
	return rule->reg & (WALK_REGS - 1);
}

/* Returns whether a frame uses its frame pointer in the usual way: the CFA is right above the word
 * to which the frame pointer points, and the callee has saved the frame pointer right below the
 * frame's slot. */
static __always_inline bool is_plain(const struct scratch *s, __u32 index,
				     const struct stackd_rule *rule)
{
	return rule->cfa == STACKD_CFA_REG && rule->reg == STACKD_REG_FP &&
	       rule->cfa_offset + rule->ra_offset == 8 && is_pushed_by_callee(s, index);
}

/* Notes the walk's present frame in its mark and guard, before the step to its caller. */
static __always_inline void note_frame(struct scratch *s, __u32 index,
				       const struct stackd_rule *rule)
{
	struct mark *mark = &s->marks[RECENT(index)];
	struct guard *guard = &s->guards[RECENT(index)];
	__u32 reg = cfa_register(rule);

	mark->slot = slot_of_frame(s);
	mark->ra = s->walk.pc;
	/* After a call, the stack pointer follows from the slot; after a signal, it is the value
	 * that the kernel has saved. */
	if (!reg || (reg == STACKD_REG_SP && (!s->walk.is_exact || !index)))
		return;
	if (is_plain(s, index, rule)) {
		mark->slot |= MARK_PLAIN;
		return;
	}
	mark->slot |= MARK_GUARDED;
	guard->word_slot = 0;
	guard->reg = reg;
	guard->reg_word = s->walk.r[reg];
	guard->reg_slot = s->walk.origin[reg].slot;
	guard->origin = guard->reg_slot ? s->walk.origin[reg].frame : MARK_LIVE;
}

/* Notes the other words that the frame's step has used: the word from which its CFA was read, and
 * the return address of 0 that ends the stack. */
static __always_inline void note_step(struct scratch *s, __u32 index, int end)
{
	struct mark *mark = &s->marks[RECENT(index)];
	struct guard *guard = &s->guards[RECENT(index)];

	if (RARELY(end != WALK_GO_ON) && IS_WHOLE(end)) {
		s->zero = s->walk.slot;
		if (mark->slot & MARK_PLAIN) { /* no mark follows it */
			mark->slot ^= MARK_PLAIN | MARK_GUARDED;
			*guard = (struct guard){
				.reg_slot = (mark->slot & ~MARK_FLAGS) - 8,
				.reg_word = s->zero - 8,
				.reg = STACKD_REG_FP,
				.origin = index - 1,
			};
		}
	}
	if (!s->walk.deref)
		return;
	if (!(mark->slot & MARK_GUARDED))
		guard->reg = 0;
	mark->slot |= MARK_GUARDED;
	guard->word_slot = s->walk.deref;
	guard->word = s->walk.deref_word;
}

/* Moves a new frame's mark into the state. */
static __always_inline void keep_mark(struct scratch *s, struct thread_state *state, __u32 index)
{
	__u32 root = from_root(s, index);
	struct guard *guard;

	if (root >= MAX_MARKS)
		return; /* further from the root than marks are remembered */
	state->marks[BOUNDED(root, MAX_MARKS)] = s->marks[RECENT(index)];
	if (!(s->marks[RECENT(index)].slot & MARK_GUARDED))
		return;
	guard = &state->guards[BOUNDED(root, MAX_MARKS)];
	*guard = s->guards[RECENT(index)];
	if (guard->reg && guard->origin != MARK_LIVE)
		guard->origin = from_root(s, guard->origin);
}

/* Does this for MARKS_A_TURN frames. Returns 1 to end the loop. */
static long keep_marks(__u32 turn, struct scratch **at)
{
	struct scratch *s = *at;
	struct thread_state *state = state_at(s);
	__u32 index = turn * MARKS_A_TURN;

	if (s->n_new > MAX_FRAMES)
		index += s->n_new - MAX_FRAMES;
	if (!state)
		return 1;
	for (int i = 0; i < MARKS_A_TURN && index < s->n_new; i++, index++)
		keep_mark(s, state, index);
	return index >= s->n_new;
}

/* Returns whether a mapping is one of the first four of the state. Most programs' frames are in few
 * mappings. */
static __always_inline bool is_among_first(const struct thread_state *state, __u32 name)
{
	for (__u32 i = 0; i < 4; i++) {
		if (i < state->n_touched && state->touched[i].name == name)
			return true;
	}
	return false;
}

/* Adds the mapping of a new frame to those of the state. A global function, so that the BPF
 * verifier checks it once. */
__noinline int keep_mapping(struct scratch *given, __u32 index)
{
	struct scratch *s = CHECKED(given);
	struct thread_state *state = s ? state_at(s) : NULL;
	const struct touched_mapping *new;
	__u32 count;

	if (!state)
		return 0;
	new = &s->touched[BOUNDED(index, TOUCHED_MAPPINGS)];
	count = state->n_touched;
	for (__u32 i = 0; i < TOUCHED_MAPPINGS && i < count; i++) {
		FORGET(i);
		if (state->touched[i].name == new->name)
			return 0;
	}
	if (count > TOUCHED_MAPPINGS)
		return 0;
	if (count < TOUCHED_MAPPINGS)
		state->touched[BOUNDED(count, TOUCHED_MAPPINGS)] = *new;
	state->n_touched = count + 1;
	return 0;
}

/* Adds the mappings of all new frames to those of the state; `is_whole`: they replace the state's,
 * since the whole stack was walked. */
static __always_inline void keep_mappings(struct scratch *s, struct thread_state *state,
					  bool is_whole)
{
	if (is_whole)
		state->n_touched = 0;
	for (__u32 i = 0; i < TOUCHED_MAPPINGS && i < s->n_touched; i++) {
		FORGET(i);
		if (!is_among_first(state, s->touched[i].name))
			keep_mapping(s, i);
	}
	if (s->n_touched > TOUCHED_MAPPINGS)
		state->n_touched = TOUCHED_MAPPINGS + 1;
	state->stamp = s->stamp;
}

/* Returns what is remembered of a walk's end. Which stack the leaf is on is found out again for
 * each walk. */
static __always_inline __u16 lasting_end(const struct scratch *s)
{
	return s->end == ROOT_BITS(STACKD_ROOT_CROSSED) ? STACKD_END_ENTRY : s->end;
}

/* Updates the guards of kept frames whose registers the new walk has found elsewhere. Few walks
 * have any. A global function, so that the BPF verifier checks it once. */
__noinline int keep_fixes(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct thread_state *state = s ? state_at(s) : NULL;

	if (!state)
		return 0;
	for (__u32 i = 0; i < MAX_FIXES && i < s->n_fixes; i++) {
		struct mark *mark = mark_at(state, s->fixes[i].mark);
		struct guard *guard = guard_at(state, s->fixes[i].mark);
		struct walk_origin *origin = &s->walk.origin[s->fixes[i].reg & (WALK_REGS - 1)];

		FORGET(i);
		if (!mark || !guard)
			continue;
		if (mark->slot & MARK_PLAIN) {
			mark->slot ^= MARK_PLAIN | MARK_GUARDED;
			guard->word_slot = 0;
			guard->reg = STACKD_REG_FP;
			guard->reg_word = plain_fp(state, s->fixes[i].mark);
		}
		guard->reg_slot = origin->slot;
		guard->origin = origin->slot ? from_root(s, origin->frame) : MARK_LIVE;
	}
	return 0;
}

/* Remembers the stack as the record describes it, which is already in the ring buffer. */
static __always_inline void state_remember(struct scratch *s)
{
	struct thread_state *state = state_at(s);
	__u32 total = s->kept + s->n_new;

	if (!state)
		return;
	bpf_loop(MAX_FRAMES / MARKS_A_TURN, keep_marks, &s, 0);
	if (RARELY(s->n_fixes))
		keep_fixes(s);
	if (!s->kept) {
		state->zero = s->zero;
		state->end = lasting_end(s);
	}
	keep_mappings(s, state, !s->kept);
	state->count = total < MAX_MARKS ? total : MAX_MARKS;
	state->sequence++;
}

#endif
