/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Deep stacks: those with more frames than one record has room for, or than a thread's state
 * remembers (a mark is a remembered frame of the thread's last walk: its slot and return address;
 * prefix.bpf.h).
 *
 * Parts. A walk of more than MAX_FRAMES new frames sends a record of the frames so far, and
 * continues, up to STACKD_DEEP_NEW new frames, which bounds the time of one interrupt. The first
 * samples of a deep stack have more, and a few such walks are made to the end (deep_may_exceed()).
 * The last record describes all parts (struct stackd_part).
 *
 * Remembering. A thread whose walk takes more than one part gets a deep stack, if one is free: room
 * for the marks of STACKD_DEEP_MOST frames, which the daemon makes when it is first needed. The
 * marks are in a ring, at places whose numbers rise towards the root. So the frames of a new walk
 * can be stored behind the root before their number is known, and the remembered chain can grow at
 * both ends.
 *
 *     place   leaf                        root      leaf of the current walk
 *       ..... m0 m1 m2 m3 ............... mN  |  f0 f1 f2 ...
 *             remembered                         new, still without a root
 *
 * As with a thread's state, the new walk continues until it meets a frame whose slot and return
 * address are those of a mark. Then every mark from there to the root is compared with memory: one
 * pass over the stack, without looking up rules or mappings.
 *
 * Marks beyond the leaf. A recursion returns, and later comes back with the same frames. So if a
 * walk finds a few frames on top of a mark in the middle, the chain stays as it is, with the marks
 * that are no longer on the stack: they can match again, and are compared first like all others.
 * The record says that the walk is not remembered.
 *
 * Open chains. A stack with more than STACKD_DEEP_NEW frames above all known ones is remembered as
 * far as it was walked, with the registers at that point. The next walk that meets the chain
 * compares it up to that point, and continues from there. So a stack of STACKD_DEEP_MOST frames is
 * known completely after some samples; until then, samples are partial.
 */
#ifndef DEEP_BPF_H
#define DEEP_BPF_H

#include "prefix.bpf.h"
#include "ring.bpf.h"
#include "scratch.bpf.h"
#include "thread_state.bpf.h"

#define DEEP_PLACES STACKD_DEEP_PLACES
#define DEEP_BLOCK  STACKD_DEEP_BLOCK
/* number of marks that are handled at a time, all in one block */
#define DEEP_GROUP   16
#define DEEP_CHECKED 4	   /* of them are compared in one piece, which the BPF verifier unrolls */
#define DEEP_RUN     16384 /* bytes of stack that are copied at once, at most */
/* limit of the bytes of frames in a part; it leaves room for one more frame */
#define DEEP_BYTES (MAX_BYTES - 64)
#ifndef DEEP_FEW
/* if there are fewer new frames than this, they are walked again rather than remembered, */
#define DEEP_FEW   256
#define DEEP_WORTH 16 /* if each of them would replace this many marks or more */
/* a chain with the root and this many frames is kept, and no open chain replaces it, */
#define DEEP_MUCH   4096
#define DEEP_MISSES 16 /* unless this many walks in a row did not reach it */
/* unused for that long, the deep stack may be given to another thread */
#define DEEP_IDLE_NS 1000000000ull
/* new frames beyond STACKD_DEEP_NEW that all CPUs together may walk at once: some 27 ms, */
#define DEEP_AT_ONCE	1000000ll
#define DEEP_NS_A_FRAME 2000 /* and in the long run: 1.4 % of a CPU */
#endif

struct deep {
	__u64 start_time, space;
	__u64 used_ns;
	__u64 zero; /* as in struct thread_state: where the entry's frame has a word of zero */
	__u32 tid;
	__u32 busy;
	__u32 root;  /* place of the outermost frame's mark */
	__u32 count; /* number of marks, the root's included; 0: nothing is remembered */
	__u32 is_open;
	__u32 misses; /* walks in a row that reached their limit without meeting the chain */
	__u32 end;    /* as in struct thread_state */
	__u32 pad;
	struct walk walk; /* the registers at the end of an open chain: of the frame behind the
			   * root, which has a mark, too */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, STACKD_DEEP_STACKS);
	__type(key, __u32);
	__type(value, struct deep);
} deeps SEC(".maps");

struct deep_block {
	struct mark marks[DEEP_BLOCK];
	struct guard guards[DEEP_BLOCK];
};

/* Blocks of marks. The daemon puts all blocks of a deep stack into this map before it adds 1 to
 * deep_stacks. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, STACKD_DEEP_STACKS *(DEEP_PLACES / DEEP_BLOCK));
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* (index of the deep stack + 1) << 16 | place / DEEP_BLOCK */
	__type(value, struct deep_block);
} deep_blocks SEC(".maps");

__u32 deep_stacks;

/* New frames beyond STACKD_DEEP_NEW that were walked beyond the rate, as of the time deep_ns. If
 * two CPUs update this at once, the same time may be subtracted twice. */
__s64 deep_debt;
__u64 deep_ns;

_Static_assert(MAX_MARKS <= MAX_FRAMES, "a state's marks are among the last part's");

/* How a walk is to be remembered. */
enum deep_action {
	DEEP_NOT,
	DEEP_ADD,     /* its new frames replace the marks leafwards of the mark that it has met */
	DEEP_REPLACE, /* its frames replace all that was remembered */
	DEEP_OPEN,    /* likewise, for a walk that has not reached the thread's entry */
	DEEP_EXTEND,  /* the frames that it found beyond the end of the open chain are added
		       * there */
};

static __always_inline struct deep *deep_at(const struct scratch *s)
{
	__u32 index = s->deep - 1;

	return index < STACKD_DEEP_STACKS ? CHECKED(bpf_map_lookup_elem(&deeps, &index)) : NULL;
}

static __always_inline struct deep_block *deep_block_of(const struct scratch *s, __u32 place)
{
	__u32 key = s->deep << 16 | (place & (DEEP_PLACES - 1)) / DEEP_BLOCK;

	return CHECKED(bpf_map_lookup_elem(&deep_blocks, &key));
}

static __always_inline struct mark *deep_mark(struct deep_block *block, __u32 place)
{
	return &block->marks[BOUNDED(place & (DEEP_BLOCK - 1), DEEP_BLOCK)];
}

static __always_inline struct guard *deep_guard(struct deep_block *block, __u32 place)
{
	return &block->guards[BOUNDED(place & (DEEP_BLOCK - 1), DEEP_BLOCK)];
}

/* --- owners --------------------------------------------------------------------------------- */

static __always_inline bool deep_lock(struct deep *d)
{
	return !__sync_val_compare_and_swap(&d->busy, 0, 1);
}

static __always_inline void deep_unlock(struct deep *d)
{
	__sync_lock_test_and_set(&d->busy, 0);
}

/* Finds and locks the deep stack of the thread whose state is taken, until deep_give_back(). It is
 * a global function, as others below are, so the BPF verifier checks it once. */
__noinline int deep_take(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct thread_state *state = s ? state_at(s) : NULL;
	struct deep *d;

	if (!state)
		return 0;
	s->deep = state->deep;
	d = deep_at(s);
	if (d && deep_lock(d)) {
		if (d->tid == state->tid && d->start_time == state->start_time &&
		    d->space == state->space) {
			d->used_ns = bpf_ktime_get_ns();
			s->probe = 0;
			return 0;
		}
		deep_unlock(d);
	}
	s->deep = 0;
	state->deep = 0;
	return 0;
}

static __always_inline void deep_give_back(struct scratch *s)
{
	struct deep *d = s->deep ? deep_at(s) : NULL;

	if (d)
		deep_unlock(d);
}

static __always_inline bool deep_is_free(const struct deep *d, __u64 now)
{
	return !d->tid || now - d->used_ns > DEEP_IDLE_NS;
}

/* Gives the thread a deep stack that no other thread uses; s->deep stays 0 if there is none. Drops
 * the marks in the thread's state. */
static __always_inline void deep_claim(struct scratch *s, struct thread_state *state)
{
	__u64 now = bpf_ktime_get_ns();

	for (__u32 i = 0; i < STACKD_DEEP_STACKS && i < deep_stacks && !s->deep; i++) {
		__u32 index = i;
		struct deep *d;

		FORGET(index);
		d = CHECKED(bpf_map_lookup_elem(&deeps, &index));
		if (!d || !deep_is_free(d, now) || !deep_lock(d))
			continue;
		if (!deep_is_free(d, now)) {
			deep_unlock(d);
			continue;
		}
		d->tid = state->tid;
		d->start_time = state->start_time;
		d->space = state->space;
		d->used_ns = now;
		d->count = 0;
		d->is_open = 0;
		s->deep = index + 1;
		s->deep_place = d->root + 1;
		s->probe = 0;
		state->count = 0;
		state->deep = index + 1;
	}
}

/* --- storing ---------------------------------------------------------------------------------- */

static __always_inline void deep_put(struct scratch *s, struct deep_block *block, __u32 frame,
				     __u32 place)
{
	const struct mark *mark = &s->marks[RECENT(frame)];
	struct guard *guard;

	*deep_mark(block, place) = *mark;
	if (!(mark->slot & MARK_GUARDED))
		return;
	guard = deep_guard(block, place);
	*guard = s->guards[RECENT(frame)];
	/* In a deep stack, a guard's origin is the distance in frames from the frame that saved the
	 * register. */
	if (guard->reg && guard->origin != MARK_LIVE)
		guard->origin = frame - guard->origin;
}

/* Stores the marks of the frames from s->deep_from on, up to s->deep_to, at most to the end of a
 * group. Returns 1 to end the loop. */
static long deep_store_some(__u32 turn, struct scratch **at)
{
	struct scratch *s = *at;
	__u32 frame = s->deep_from, place = s->deep_place + frame;
	struct deep_block *block = deep_block_of(s, place);

	(void)turn;
	if (!block)
		return 1;
	for (int i = 0; i < DEEP_GROUP && frame < s->deep_to; i++) {
		deep_put(s, block, frame, place);
		frame++;
		if (!(++place % DEEP_GROUP))
			break;
	}
	s->deep_from = frame;
	return frame >= s->deep_to;
}

/* Stores the marks of the frames that were not sent in a part yet. A global function, so that the
 * BPF verifier checks it once. */
__noinline int deep_store(struct scratch *given)
{
	struct scratch *s = CHECKED(given);

	if (!s)
		return 0;
	s->deep_from = s->sent_frames;
	s->deep_to = s->n_new;
	if (s->deep_from < s->deep_to)
		bpf_loop(MAX_FRAMES / DEEP_GROUP + 2, deep_store_some, &s, 0);
	return 0;
}

/* Moves some of s->deep_n marks from place s->deep_from to place s->deep_to. Returns 1 to end the
 * loop. */
static long deep_move_some(__u32 turn, struct scratch **at)
{
	struct scratch *s = *at;
	__u32 from = s->deep_from, to = s->deep_to;
	struct deep_block *source = deep_block_of(s, from), *target = deep_block_of(s, to);

	(void)turn;
	if (!source || !target)
		return 1;
	for (int i = 0; i < DEEP_GROUP && s->deep_n; i++) {
		*deep_mark(target, to) = *deep_mark(source, from);
		*deep_guard(target, to) = *deep_guard(source, from);
		s->deep_n--;
		from++;
		to++;
		if (!(from % DEEP_BLOCK) || !(to % DEEP_BLOCK))
			break;
	}
	s->deep_from = from;
	s->deep_to = to;
	return !s->deep_n;
}

/* --- matching --------------------------------------------------------------------------------- */

/* One step of a binary search for the first mark whose slot is not below the stack pointer: halves
 * the range from s->deep_from to s->deep_to, which are relative to place s->deep_n. Returns 1 to
 * end the loop. */
static long deep_halve(__u32 turn, struct scratch **at)
{
	struct scratch *s = *at;
	__u32 low = s->deep_from, high = s->deep_to, middle = low + (high - low) / 2;
	struct deep_block *block = low < high ? deep_block_of(s, s->deep_n + middle) : NULL;

	(void)turn;
	if (!block)
		return 1;
	if ((deep_mark(block, s->deep_n + middle)->slot & ~MARK_FLAGS) < s->walk.r[STACKD_REG_SP])
		s->deep_from = middle + 1;
	else
		s->deep_to = middle;
	return 0;
}

/* Finds the first mark that the walk can meet: the first whose slot is not below the stack
 * pointer. */
__noinline int deep_begin(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct deep *d = s ? deep_at(s) : NULL;

	if (!d)
		return 0;
	s->part = (struct stackd_part){0};
	s->is_part_lost = 0;
	s->deep_joined = 0;
	s->deep_place = d->root + 1;
	s->deep_n = d->root + 1 - d->count;
	s->deep_from = 0;
	s->deep_to = d->count;
	bpf_loop(32, deep_halve, &s, 0);
	if (s->deep_from < s->deep_to)
		return 0; /* a block is missing, so no mark is compared */
	s->deep_probe = s->deep_n + s->deep_from;
	s->deep_left = d->count - s->deep_from;
	return 0;
}

static __always_inline bool deep_word(const struct scratch *s, __u64 address, __u64 *ret_word)
{
	__u64 offset = address - s->deep_run_base;

	if (offset >= s->deep_run_plain)
		return false;
	*ret_word = *(__u64 *)(s->payload + BOUNDED(offset, DEEP_RUN));
	return true;
}

/* Copies the stack from an address on, as far as the next marks' slots, if they fit. Returns 0, or
 * 1 if the memory cannot be read. */
__noinline int deep_copy(struct scratch *given, __u64 address)
{
	struct scratch *s = CHECKED(given);
	__u64 start = run_start(address), end = address + 8;
	__u32 ahead = 255, len;

	if (!s)
		return 1;
	for (int i = 0; i < 4; i++, ahead /= 4) {
		__u32 place = s->deep_check + ahead;
		struct deep_block *block;
		__u64 behind;

		if (ahead >= s->deep_to_do)
			continue;
		block = deep_block_of(s, place);
		if (!block)
			return 1;
		behind = (deep_mark(block, place)->slot & ~MARK_FLAGS) + 8;
		if (behind > end && behind - start <= DEEP_RUN) {
			end = behind;
			break;
		}
	}
	s->deep_run_base = start;
	s->deep_run_plain = 0;
	len = end - start;
	if (len > DEEP_RUN ||
	    bpf_probe_read_user(s->payload, BOUNDED(len, 2 * DEEP_RUN), (const void *)start)) {
		len = address + 8 - start;
		if (len > DEEP_RUN || bpf_probe_read_user(s->payload, BOUNDED(len, 2 * DEEP_RUN),
							  (const void *)start))
			return 1;
	}
	s->deep_run_plain = len - 7;
	return 0;
}

static __always_inline bool deep_holds(struct scratch *s, __u64 address, __u64 word)
{
	__u64 is = 0;

	if (!deep_word(s, address, &is) && (deep_copy(s, address) || !deep_word(s, address, &is)))
		return false;
	return is == word;
}

/* Notes that the guard of a mark has to be updated if the walk is remembered. Returns false if
 * there is no room to note it. */
static __always_inline bool deep_fix(struct scratch *s, __u32 place, __u32 reg)
{
	if (s->n_fixes >= MAX_FIXES)
		return false;
	s->fixes[s->n_fixes].mark = place;
	s->fixes[s->n_fixes].reg = reg;
	s->n_fixes++;
	return true;
}

/* Checks the frame pointer of the plain frame right leafwards of the current mark, whose slot is
 * given; see plain_holds(). */
__noinline int deep_plain_holds(struct scratch *given, __u64 slot)
{
	struct scratch *s = CHECKED(given);

	if (!s)
		return 0;
	s->broken_register = 1;
	if (s->deep_to_do + 1 < s->deep_count) {
		if (!deep_holds(s, s->deep_plain - 8, slot - 8))
			return 0;
	} else {
		if (!walk_is_valid(&s->walk, STACKD_REG_FP) ||
		    s->walk.r[STACKD_REG_FP] != slot - 8 ||
		    (!is_pushed_by_callee(s, s->n_new) &&
		     !deep_fix(s, s->deep_check - 1, STACKD_REG_FP)))
			return 0;
	}
	s->broken_register = 0;
	return 1;
}

/* Checks the guard (further conditions) of the mark at a place; see guard_holds(). Returns whether
 * it holds. */
__noinline int deep_guard_holds(struct scratch *given, __u32 place)
{
	struct scratch *s = CHECKED(given);
	struct deep_block *block = s ? deep_block_of(s, place) : NULL;
	const struct guard *guard;
	__u32 reg;

	if (!block)
		return 0;
	guard = deep_guard(block, place);
	reg = guard->reg & (WALK_REGS - 1);
	if (reg && guard->origin <= s->deep_count - s->deep_to_do) {
		if (!holds(s, guard->reg_slot, guard->reg_word))
			return 0;
	} else if (reg) {
		s->broken_register = 1;
		if (!walk_is_valid(&s->walk, reg) || s->walk.r[reg] != guard->reg_word ||
		    !deep_fix(s, place, reg))
			return 0;
		s->broken_register = 0;
	}
	return !guard->word_slot || holds(s, guard->word_slot, guard->word);
}

/* Compares the next marks, from place s->deep_check on rootwards, with memory. Returns 1 to end the
 * loop; s->deep_to_do is then 0 if all marks hold. */
static long deep_check_some(__u32 turn, struct scratch **at)
{
	struct scratch *s = *at;
	__u32 place = s->deep_check;
	struct deep_block *block = deep_block_of(s, place);

	(void)turn;
	if (!block)
		return 1;
	for (int i = 0; i < DEEP_CHECKED && s->deep_to_do; i++) {
		const struct mark *mark = deep_mark(block, place);
		__u64 slot = mark->slot & ~MARK_FLAGS, word;

		if (deep_word(s, slot, &word)) {
			if (ARCH_CODE_ADDRESS(word) != mark->ra)
				return 1;
		} else if (deep_copy(s, slot) || !deep_word(s, slot, &word) ||
			   ARCH_CODE_ADDRESS(word) != mark->ra) {
			return 1;
		}
		if (s->deep_plain &&
		    (s->deep_to_do + 1 == s->deep_count ||
		     !deep_word(s, s->deep_plain - 8, &word) || word != slot - 8) &&
		    !deep_plain_holds(s, slot))
			return 1;
		s->deep_plain = mark->slot & MARK_PLAIN ? slot : 0;
		if (mark->slot & MARK_GUARDED && !deep_guard_holds(s, place))
			return 1;
		s->deep_to_do--;
		s->deep_check = ++place;
		if (!(place % DEEP_CHECKED))
			break;
	}
	return !s->deep_to_do;
}

/* Returns whether the mark at s->deep_probe and all marks rootwards of it still hold. If a word in
 * memory differs, moves the probe beyond the mark of that word. */
static __always_inline bool deep_verify(struct scratch *s, const struct deep *d)
{
	__u32 done;

	s->deep_count = s->deep_left + (d->is_open ? 1 : 0);
	s->deep_to_do = s->deep_count;
	s->deep_check = s->deep_probe;
	s->deep_plain = 0;
	s->deep_run_plain = 0;
	s->check = 0;
	s->n_fixes = 0;
	s->broken_register = 0;
	bpf_loop(DEEP_PLACES / DEEP_CHECKED + 2, deep_check_some, &s, 0);
	if (!s->deep_to_do)
		return d->is_open || !d->zero || word_holds(s, d->zero, 0);
	done = s->deep_count - s->deep_to_do;
	if (!s->broken_register && done < s->deep_left) {
		s->deep_probe += done + 1;
		s->deep_left -= done + 1;
	} else if (!s->broken_register) {
		s->deep_left = 0;
	}
	count(STACKD_COUNT_PREFIX_BROKEN);
	return false;
}

/* Moves the probe to the first mark that is not below the walk's frame. Returns whether it is the
 * mark of that frame. */
static __always_inline bool deep_is_met(struct scratch *s)
{
	struct deep_block *block = deep_block_of(s, s->deep_probe);

	for (int i = 0; i < 32 && s->deep_left && block; i++) {
		const struct mark *mark = deep_mark(block, s->deep_probe);

		if ((mark->slot & ~MARK_FLAGS) >= s->walk.slot)
			return (mark->slot & ~(MARK_GUARDED | MARK_PLAIN)) == slot_of_frame(s) &&
			       mark->ra == s->walk.pc;
		s->deep_left--;
		if (!(++s->deep_probe % DEEP_BLOCK))
			block = deep_block_of(s, s->deep_probe);
	}
	return false;
}

/* Returns whether the frame pointer at the end of the open chain is unchanged. */
static __always_inline bool deep_has_fp(struct scratch *s, const struct deep *d)
{
	const struct walk_origin *origin = &d->walk.origin[STACKD_REG_FP];
	__u64 fp = d->walk.r[STACKD_REG_FP];

	if (!walk_is_valid(&d->walk, STACKD_REG_FP))
		return true;
	if (origin->slot && d->walk.frame - origin->frame <= s->deep_left)
		return holds(s, origin->slot, fp);
	return walk_is_valid(&s->walk, STACKD_REG_FP) && s->walk.r[STACKD_REG_FP] == fp;
}

__noinline int part_send(struct scratch *given);

/* Continues the walk from the end of the open chain, all of which holds. Returns false if that is
 * not possible. */
static __always_inline bool deep_join(struct scratch *s, struct deep *d)
{
	if (s->sent_frames || !s->walk.is_lean || !deep_has_fp(s, d))
		return false;
	part_send(s);
	s->part.flags |= STACKD_PART_JOINS;
	s->part.skipped = s->deep_probe - (d->root + 1 - d->count);
	s->part.joined_at = s->part.number;
	s->walk.r[STACKD_REG_FP] = d->walk.r[STACKD_REG_FP];
	s->walk.r[STACKD_REG_SP] = d->walk.r[STACKD_REG_SP];
	s->walk.origin[STACKD_REG_FP].slot = d->walk.origin[STACKD_REG_FP].slot;
	s->walk.origin[STACKD_REG_FP].frame =
		d->walk.origin[STACKD_REG_FP].frame + s->n_new - d->walk.frame;
	s->walk.pc = d->walk.pc;
	s->walk.slot = d->walk.slot;
	s->walk.deref = 0;
	s->walk.valid = d->walk.valid;
	s->walk.is_exact = d->walk.is_exact;
	s->walk.frame = s->n_new;
	s->deep_joined = s->n_new;
	s->deep_place = d->root + 1 - s->n_new;
	return true;
}

/* Checks whether the frame that the walk has reached, with all frames rootwards of it, is on the
 * remembered stack. Returns 1 if the walk ends, with the reason in s->end; 0 if it continues,
 * perhaps from the end of the open chain. */
__noinline int deep_matches(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct deep *d = s ? deep_at(s) : NULL;
	struct thread_state *state = s ? state_at(s) : NULL;

	if (!d || !state || !deep_is_met(s))
		return 0;
	if (!mappings_hold(s, state)) {
		s->deep_left = 0;
		return 0;
	}
	if (!deep_verify(s, d)) {
		s->n_fixes = 0;
		return 0;
	}
	s->deep_matched = s->deep_probe;
	d->misses = 0;
	if (!d->is_open) {
		s->kept = s->deep_left;
		s->end = d->end;
		return 1;
	}
	s->end = STACKD_END_TOO_DEEP;
	s->n_fixes = 0;
	if (deep_join(s, d) && d->count >= STACKD_DEEP_MOST)
		return 1;
	s->deep_left = 0;
	return 0;
}

/* --- parts ------------------------------------------------------------------------------------ */

/* Puts s->part at the end of the record, at walked.bytes[at]. */
static __always_inline void put_part(struct scratch *s, __u32 at)
{
	__u8 *to = &s->walked.bytes[BOUNDED(at, 2 * MAX_FRAMES * 8)];
	const __u32 *words = (const __u32 *)&s->part;

	for (__u32 i = 0; i < sizeof(s->part) / 4; i++)
		PUT_WORD(to + 4 * i, words[i]);
}

/* Sends the frames so far as a part, and begins the next part. */
__noinline int part_send(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	const struct stackd_header *header;
	__u32 bytes;

	if (!s)
		return 0;
	header = &s->record.header;
	bytes = s->bytes;
	if (bytes > MAX_BYTES)
		return 0;
	put_part(s, bytes);
	s->walked.header = (struct stackd_walked){
		.form = s->walked_form | STACKD_FORM_PART,
		.tid = header->tid,
		.time_ns = header->time_ns,
		.cpu = header->cpu,
	};
	if (!s->is_part_lost &&
	    bpf_ringbuf_output(&ring, &s->walked,
			       sizeof(s->walked.header) + bytes + sizeof(s->part),
			       BPF_RB_NO_WAKEUP))
		s->is_part_lost = 1;
	s->walked_form &=
		~(STACKD_HAS_PID | STACKD_HAS_PERIOD | STACKD_HAS_CGROUP | STACKD_HAS_EVENT);
	s->part.number++;
	s->slice = ~0ull;
	s->bytes = 0;
	s->sent_frames = s->n_new;
	s->most = s->n_new + MAX_FRAMES;
	return 0;
}

/* Returns whether a walk of STACKD_DEEP_NEW new frames or more may have another part. There must be
 * room behind the remembered chain for all of its frames; and walks that are so long, which take
 * milliseconds in an interrupt, must be few. */
static __always_inline bool deep_may_exceed(const struct scratch *s, const struct deep *d)
{
	__u64 then = deep_ns, now = bpf_ktime_get_ns();
	__u64 made_up = now > then ? (now - then) / DEEP_NS_A_FRAME : 0;
	__s64 debt = deep_debt;

	if (s->n_new + MAX_FRAMES > STACKD_DEEP_MOST || s->part.flags & STACKD_PART_JOINS ||
	    (d && d->count + s->n_new + 2 * MAX_FRAMES > DEEP_PLACES))
		return false;
	if (now > then) /* another CPU may have a later time */
		deep_ns = now;
	debt = debt > (__s64)made_up ? debt - (__s64)made_up : 0;
	deep_debt = debt;
	if (debt >= DEEP_AT_ONCE)
		return false;
	__sync_fetch_and_add(&deep_debt, MAX_FRAMES);
	return true;
}

/* Called when the walk has filled a record. Sends it as a part and returns 0; or returns 1 if the
 * walk has to end here, with the reason in s->end. */
__noinline int deep_go_on(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct thread_state *state;
	struct deep *d;

	if (!s)
		return 1;
	s->end = STACKD_END_TOO_DEEP;
	d = deep_at(s);
	if (!s->n_new || (s->n_new - (s->deep ? s->deep_joined : 0) >= STACKD_DEEP_NEW &&
			  !deep_may_exceed(s, d)))
		return 1;
	if (d && s->deep_joined && d->count + s->n_new - s->deep_joined >= STACKD_DEEP_MOST)
		return 1;
	state = state_at(s);
	if (!s->deep && !s->sent_frames) {
		s->part = (struct stackd_part){0};
		s->is_part_lost = 0;
		s->deep_joined = 0;
		if (state && prefix_mode == STACKD_PREFIX_VERIFIED && !s->walk.managed)
			deep_claim(s, state);
		if (!s->deep && !s->walk.managed) /* managed frames are not remembered there */
			s->part.flags |= STACKD_PART_WANTS_ROOM;
	}
	if (s->deep)
		deep_store(s);
	d = deep_at(s);
	if (d && d->is_open)
		s->deep_left = 0; /* the place behind the chain's end has just been overwritten,
				   * so the chain cannot be met any more */
	part_send(s);
	return 0;
}

/* Returns whether it is better to remember the new frames than the `others` marks that they would
 * replace. */
static __always_inline bool deep_is_worth(const struct scratch *s, __u32 others)
{
	return s->n_new >= DEEP_FEW || others < s->n_new * DEEP_WORTH;
}

/* Returns whether the chain is to be replaced by a walk that has not met it. (A stack that grows
 * and shrinks comes back to the chain, which then grows until it has all of that stack.) */
static __always_inline bool deep_gives_way(struct deep *d)
{
	return d->is_open || d->count < DEEP_MUCH || ++d->misses > DEEP_MISSES;
}

static __always_inline enum deep_action deep_action_of(const struct scratch *s, struct deep *d)
{
	__u32 total = s->kept + s->n_new;

	if (s->walk.extras || s->walk.managed)
		return DEEP_NOT;
	if (s->part.flags & STACKD_PART_JOINS)
		return s->n_new > s->deep_joined || IS_WHOLE(s->end) ? DEEP_EXTEND : DEEP_NOT;
	if (s->end == STACKD_END_TOO_DEEP)
		return s->walk.is_lean && deep_gives_way(d) ? DEEP_OPEN : DEEP_NOT;
	if (!deep_is_worth(s, d->count - s->kept) || total > STACKD_DEEP_MOST ||
	    (s->kept && total + s->n_new > DEEP_PLACES))
		return DEEP_NOT;
	return s->kept ? DEEP_ADD : DEEP_REPLACE;
}

/* Completes the last part, at walked.bytes[at]: decides how the walk is to be remembered, and
 * writes that into the part. */
__noinline int deep_end(struct scratch *given, __u32 at)
{
	struct scratch *s = CHECKED(given);
	struct deep *d;

	if (!s)
		return 0;
	d = deep_at(s);
	s->deep_action = DEEP_NOT;
	s->part.kept = s->kept;
	s->part.flags |= STACKD_PART_LAST;
	if (!IS_WHOLE(s->end) && s->walk.slot < s->stack_end)
		s->part.left_bytes = s->stack_end - s->walk.slot;
	if (d && (IS_WHOLE(s->end) || s->end == STACKD_END_TOO_DEEP))
		s->deep_action = deep_action_of(s, d);
	if (s->deep_action && !IS_WHOLE(s->end))
		s->part.flags |= STACKD_PART_OPEN;
	if (at <= MAX_BYTES + STACKD_MAX_KERNEL_FRAMES * 8)
		put_part(s, at);
	return 0;
}

/* --- remembering ------------------------------------------------------------------------------ */

/* Stores the marks of the walk's new frames leafwards of the mark that it has met. */
static __always_inline void deep_add(struct scratch *s, struct deep *d)
{
	__u32 first = s->deep_matched - s->n_new;

	if (!s->sent_frames) {
		s->deep_place = first;
		deep_store(s);
	} else {
		deep_store(s);
		s->deep_from = s->deep_place;
		s->deep_to = first;
		s->deep_n = s->n_new;
		bpf_loop(DEEP_PLACES / DEEP_GROUP, deep_move_some, &s, 0);
	}
	d->count = s->kept + s->n_new;
}

/* Updates the guards of the marks that were noted by deep_fix(): their registers are now saved by
 * the new frames. */
static __always_inline void deep_mend(struct scratch *s)
{
	for (__u32 i = 0; i < MAX_FIXES && i < s->n_fixes; i++) {
		__u32 place, reg;
		struct deep_block *block;
		struct mark *mark;
		struct guard *guard;
		const struct walk_origin *origin;

		FORGET(i);
		place = s->fixes[i].mark;
		reg = s->fixes[i].reg & (WALK_REGS - 1);
		block = deep_block_of(s, place);
		if (!block)
			continue;
		origin = &s->walk.origin[reg];
		mark = deep_mark(block, place);
		guard = deep_guard(block, place);
		if (mark->slot & MARK_PLAIN) {
			mark->slot ^= MARK_PLAIN | MARK_GUARDED;
			guard->word_slot = 0;
			guard->reg = STACKD_REG_FP;
			guard->reg_word = s->walk.r[STACKD_REG_FP];
		}
		guard->reg_slot = origin->slot;
		guard->origin = origin->slot ? place - s->deep_matched + s->n_new - origin->frame
					     : MARK_LIVE;
	}
}

/* Remembers the registers at the end of an open chain, and the mark of the frame there. */
static __always_inline void deep_save_end(struct scratch *s, struct deep *d)
{
	struct deep_block *block = deep_block_of(s, d->root + 1);

	d->walk = s->walk;
	d->walk.frame = s->n_new;
	if (!block) {
		d->count = 0;
		return;
	}
	deep_mark(block, d->root + 1)->slot = slot_of_frame(s);
	deep_mark(block, d->root + 1)->ra = s->walk.pc;
}

/* Remembers the walk as deep_end() has decided and the last part says, which is already in the ring
 * buffer. */
__noinline int deep_remember(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct thread_state *state = s ? state_at(s) : NULL;
	struct deep *d = s ? deep_at(s) : NULL;
	enum deep_action action;

	if (!d || !state)
		return 0;
	action = s->deep_action;
	if (action == DEEP_ADD) {
		deep_add(s, d);
		deep_mend(s);
	} else {
		deep_store(s);
		d->root = s->deep_place + s->n_new - 1;
		d->count = (action == DEEP_EXTEND ? d->count : 0) + s->n_new -
			   (action == DEEP_EXTEND ? s->deep_joined : 0);
		d->is_open = !IS_WHOLE(s->end);
		d->misses = 0;
		d->zero = s->zero;
		d->end = lasting_end(s);
		if (d->is_open)
			deep_save_end(s, d);
	}
	keep_mappings(s, state, action == DEEP_REPLACE || action == DEEP_OPEN);
	state->count = 0;
	state->sequence++;
	return 0;
}

#endif
