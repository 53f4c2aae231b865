/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The verified prefix: successive stacks of a thread share their root part, so only the changed
 * frames are walked and the others verified (after Perks et al., whose first and second match guess
 * instead).
 *
 * Per thread the last walk is remembered, root first, as marks: for each frame the slot of its
 * return address and the return address. A new walk goes on until its frame's slot and return
 * address are those of a mark; then every mark below must still hold. If all do, the remaining
 * frames are the same: from the same location, a rule finds the caller from the stack pointer, and
 * the stack pointer is the slot plus eight.
 *
 *      leaf                                             root
 *   new  f9 f8 f7 ─┐ slot and return address of f6 match mark 6
 *   old     g8 g7  └─ m6 ─ m5 ─ m4 ─ m3 ─ m2 ─ m1 ─ m0     all compared with memory
 *
 * Return addresses mean the same only while the same code is mapped there. The state holds which
 * mappings its frames lie in; when the mappings' stamp has changed since, they are compared with
 * those of now before anything else is believed.
 *
 * Three traps, where a rule does not go by such a stack pointer alone. A CFA that comes from a
 * saved register (the frame pointer after alloca) can move while an old slot keeps a stale return
 * address: so the mark holds the register's value too, and where it was saved. If a frame of the
 * kept part saved it, that slot is compared; if not, the new walk must have the same value at the
 * match, and the mark is then mended to where the new walk found it saved. The same holds for the
 * stack pointer where a signal came in: on an alternate stack the program counter is always saved
 * in the same slot, wherever the code that was interrupted has its own. And a CFA that was read
 * from memory (realigned stacks, signal frames): that slot is compared as well, as is the return
 * address of 0 where a stack ends by one.
 *
 * Most frames whose CFA comes from the frame pointer need no guard for that: their function was
 * called by one that ends its frame right above where the frame pointer points to, and itself calls
 * one that pushes it first thing. Then what the slot below the frame's own holds is 8 less than the
 * next mark's slot. Such a mark is plain; fewer cache lines are what makes a walk cheap, since
 * between two samples the program has the caches to itself.
 *
 * A state changes only after the record is in the ring, so the daemon's copy never diverges. The
 * states are a fixed number of slots, taken by thread; a thread that finds its slot taken by
 * another takes it over (kept = 0), one that finds it busy just walks whole.
 */
#ifndef PREFIX_BPF_H
#define PREFIX_BPF_H

#include "mapping.bpf.h"
#include "prefix_words.bpf.h"
#include "scratch.bpf.h"
#include "thread_state.bpf.h"
#include "stack_window.bpf.h"

/* The remembered stack will be compared from the root on: if it or its frames are small, all of it
 * is copied at once. If not, only its top is, for new frames. */
static __always_inline void expect_window(struct scratch *s, const struct thread_state *state)
{
	__u64 root = state->marks[0].slot & ~MARK_FLAGS;
	__u64 bytes = (state->zero > root ? state->zero : root) + 8 - s->window_base;

	if (!state->count)
		return;
	if (bytes > WINDOW_WHOLE && bytes > (__u64)state->count * RUN_GAP)
		bytes = WINDOW_TOP;
	s->window_first = bytes > WINDOW_LEAST ? bytes : WINDOW_LEAST;
}

__noinline int deep_take(struct scratch *given);

/* Takes the state of the thread. It must be given back with state_give_back(). */
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

/* Compares a word that is in neither the window nor the run. Global, so that it is verified
 * once. */
__noinline int word_holds(struct scratch *given, __u64 slot, __u64 word)
{
	struct scratch *s = CHECKED(given);
	return s && holds(s, slot, word);
}

/* Returns whether the register from which a mark's CFA comes has its value: it is saved in an
 * unchanged slot, or the new walk still has the value in the register. */
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

/* Returns the frame pointer of a frame whose mark is plain: 8 below the slot of its return address,
 * which is that of the next mark. */
static __always_inline __u64 plain_fp(const struct thread_state *state, __u32 index)
{
	return (state->marks[BOUNDED(index - 1, MAX_MARKS)].slot & ~MARK_FLAGS) - 8;
}

/* Has the new walk found the frame pointer saved right below its last slot, by the frame that
 * returns to that slot's address? */
static __always_inline bool is_pushed_by_callee(const struct scratch *s, __u32 frame)
{
	const struct walk_origin *origin = &s->walk.origin[STACKD_REG_FP];

	return origin->slot == s->walk.slot - 8 && origin->frame + 1 == frame;
}

/* register_holds() for a plain mark. Global, so that it is verified once. */
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

/* The same, if the words are at hand. If not, plain_holds() has to look. */
static __always_inline bool is_plain_as_was(struct scratch *s, struct thread_state *state,
					    __u32 index, __u64 slot)
{
	__u64 fp;

	return index && index < s->check_from && word_at_hand(s, slot - 8, &fp) &&
	       fp == plain_fp(state, index);
}

/* Checks the further conditions of a mark. Global, so that it is verified once. */
__noinline int guard_holds(struct scratch *given, __u32 index, __u32 top)
{
	struct scratch *s = CHECKED(given);
	struct thread_state *state = s ? state_at(s) : NULL;
	struct guard *guard = state ? guard_at(state, index) : NULL;

	if (!guard || !register_holds(s, guard, index, top))
		return 0;
	return !guard->word_slot || holds(s, guard->word_slot, guard->word);
}

/* Returns whether the common guard holds: a frame pointer that was saved by a frame that is checked
 * as well. false: guard_holds() has to check. */
static __always_inline bool is_saved_as_was(struct scratch *s, struct thread_state *state,
					    __u32 index)
{
	const struct guard *guard = &state->guards[BOUNDED(index, MAX_MARKS)];
	__u64 value;

	return !guard->word_slot && guard->origin <= s->check_from &&
	       word_at_hand(s, guard->reg_slot, &value) && value == guard->reg_word;
}

#define MARKS_A_TURN 8

/* Does the mark of a native frame hold? */
static __always_inline bool mark_holds(struct scratch *s, struct thread_state *state, __u32 index)
{
	const struct mark *mark = &state->marks[BOUNDED(index, MAX_MARKS)];
	__u64 slot = mark->slot & ~MARK_FLAGS, ra;

	if (word_at_hand(s, slot, &ra)) {
		if (ra != mark->ra)
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

/* Checks the marks from s->check - 1 on, rootwards. 1 ends the loop; s->check is 0 if all hold. */
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

/* Do this mark and all below it hold? If a word in memory differs, no mark above that word needs to
 * be tried any more. */
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

/* Are the mappings of the remembered frames unchanged? */
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

/* Returns the slot as the frame's mark has it, without the flags for its guard. */
static __always_inline __u64 slot_of_frame(const struct scratch *s)
{
	return s->walk.slot | (s->walk.is_exact ? MARK_EXACT : 0);
}

/* Is the frame that the walk has reached, with all below it, on the remembered stack? Then s->kept
 * is the number of these frames. */
static __always_inline bool prefix_matches(struct scratch *s)
{
	struct thread_state *state = state_at(s);
	const struct mark *mark = NULL;
	bool twice = s->matched_before;

	s->matched_before = 0;
	if (!state || !s->probe)
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
	if (prefix_mode == STACKD_PREFIX_SECOND && !twice)
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

/* Returns the number, counted from the root, of a frame that the walk counts from the leaf. */
static __always_inline __u32 from_root(const struct scratch *s, __u32 frame)
{
	return s->kept + s->n_new - 1 - frame;
}

/* Returns the register from which a rule's CFA comes. */
static __always_inline __u32 cfa_register(const struct stackd_rule *rule)
{
	if (rule->cfa == STACKD_CFA_NONE)
		return STACKD_REG_FP;
	if (rule->cfa != STACKD_CFA_REG && rule->cfa != STACKD_CFA_DEREF &&
	    rule->cfa != STACKD_CFA_OTHER && rule->cfa != STACKD_CFA_EVAL)
		return STACKD_REG_SP;
	return rule->reg & (WALK_REGS - 1);
}

/* Does the frame have its frame pointer the usual way: the CFA is right above where the frame
 * pointer points to, and the callee has saved the frame pointer right below the frame's slot? */
static __always_inline bool is_plain(const struct scratch *s, __u32 index,
				     const struct stackd_rule *rule)
{
	return rule->cfa == STACKD_CFA_REG && rule->reg == STACKD_REG_FP &&
	       rule->cfa_offset + rule->ra_offset == 8 && is_pushed_by_callee(s, index);
}

/* Notes the walk's frame in its mark and guard, before its step. */
static __always_inline void note_frame(struct scratch *s, __u32 index,
				       const struct stackd_rule *rule)
{
	struct mark *mark = &s->marks[RECENT(index)];
	struct guard *guard = &s->guards[RECENT(index)];
	__u32 reg = cfa_register(rule);

	mark->slot = slot_of_frame(s);
	mark->ra = s->walk.pc;
	/* After a call the stack pointer follows from the slot; after a signal it is what the
	 * kernel saved. */
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

	if (end == STACKD_END_ENTRY) {
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
		return; /* further from the root than is remembered */
	state->marks[BOUNDED(root, MAX_MARKS)] = s->marks[RECENT(index)];
	if (!(s->marks[RECENT(index)].slot & MARK_GUARDED))
		return;
	guard = &state->guards[BOUNDED(root, MAX_MARKS)];
	*guard = s->guards[RECENT(index)];
	if (guard->reg && guard->origin != MARK_LIVE)
		guard->origin = from_root(s, guard->origin);
}

/* The same for several frames; 1 ends the loop. */
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

/* Most programs' frames lie in few mappings: is this one of the first that are remembered? */
static __always_inline bool is_among_first(const struct thread_state *state, __u32 name)
{
	for (__u32 i = 0; i < 4; i++) {
		if (i < state->n_touched && state->touched[i].name == name)
			return true;
	}
	return false;
}

/* Adds a new frame's mapping to those of the state. Global, so that it is verified once. */
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

/* Adds the mappings of all new frames; those of a stack that was walked whole replace the
 * state's. */
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

/* Remembers the stack as the record describes it. The record is already in the ring. */
static __always_inline void state_remember(struct scratch *s)
{
	struct thread_state *state = state_at(s);
	__u32 total = s->kept + s->n_new;

	if (!state)
		return;
	bpf_loop(MAX_FRAMES / MARKS_A_TURN, keep_marks, &s, 0);
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
	if (!s->kept)
		state->zero = s->zero;
	keep_mappings(s, state, !s->kept);
	state->count = total < MAX_MARKS ? total : MAX_MARKS;
	state->sequence++;
}

#endif
