/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Steps in code that the Erlang virtual machine's JIT compiler (the BEAM's, OTP 24 and later) has
 * made, and from C that such code calls.
 *
 * Each Erlang process has a stack of its own, in its heap, and rsp is its pointer while compiled
 * code runs. What lies there are terms, whose two lowest bits are not both 0, and return addresses,
 * whose are: the compiler aligns calls for that. The runtime's garbage collector and its own stack
 * traces go by these bits, and so does this. Each call of a shared fragment has a return address as
 * well, which is not aligned, but only right above the stack pointer. Where frame pointers are on
 * (+JPperf true), one is below each return address, and rbp points to the last one.
 *
 * C runs on the thread's own stack, right below the scheduler's registers, to which rbx points. The
 * code to which it returns tells how it gets back to the process: from rbp, or from the process's
 * structure, to which r13 points.
 *
 *   thread's stack:  sched_thread_func ◄── process_main ◄── C
 *                                          registers ◄ rbx     return address in compiled code
 *                                                                   │ rbp, or r13->stop
 *   process's stack:   normal exit ◄── function ◄── function ◄──────┘
 *
 * A process's stack ends with the address at which the runtime takes its result; that follows no
 * call. In process_main itself, the scheduler's loop, no process runs, and the caller is the
 * thread's. What differs from one version to another is read from process_main by the daemon
 * (arch/beam_code.h).
 *
 * As after a step to a goroutine, such a walk is not remembered.
 */
#ifndef ARCH_X86_64_BEAM_BPF_H
#define ARCH_X86_64_BEAM_BPF_H

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32); /* thread group id */
	__type(value, struct stackd_beam);
} beams SEC(".maps");

/* Whether there are any: 0 saves the look-up. */
__u32 has_beams;

#define BEAM_FRAME  8320	      /* bytes: 1,024 slots, and some */
#define BEAM_BLOCKS (BEAM_FRAME / 64) /* in which a frame's end is looked for */
#define BEAM_MOST   8192	      /* blocks of a walk, whatever a program has on its stack */
#define BEAM_AHEAD  64 /* bytes of code in which the way back is looked for at once, */
#define BEAM_BEHIND 10 /* of which the last ones only belong to an instruction before */
#define BEAM_BACK   56 /* from one piece of code to the one in front: they share instructions */
#define BEAM_PIECES 8  /* in which is looked for what made the frame */
#define BEAM_ENTRY  16 /* bytes from a function's start to its first push, at most */

/* Instructions, or how they begin: the lowest three bytes of a word. */
#define RSP_FROM_RBP	0xec8948u /* mov %rbp,%rsp */
#define RSP_FROM_R13_8	0x658b49u /* mov stop(%r13),%rsp, with one byte of offset and with four */
#define RSP_FROM_R13_32 0xa58b49u
#define RBP_FROM_R13_8	0x6d8b49u /* mov pointer(%r13),%rbp, so */
#define RBP_FROM_R13_32 0xad8b49u
#define R13_FROM_RAX	0xc58949u /* mov %rax,%r13: a process that was not there before */
#define SUB_RSP_8	0xec8348u
#define SUB_RSP_32	0xec8148u
#define ADD_RSP_8	0xc48348u
#define ADD_RSP_32	0xc48148u
#define RBP_FROM_RSP	0xe58948u
#define DEC_R14		0xceff49u /* of the steps that a process has left */
#define DEC_R14D	0xceff41u
#define JMP_OVER_CALL	0x0006ebu /* of a breakpoint, with which functions begin */
#define PUSH_RBP	0x55
#define LEAVE		0xc9
#define RET		0xc3
#define JMP_32		0xe9
#define JMP_8		0xeb
#define LOW_THREE_BYTES 0xffffffu

enum way_back {
	BACK_NOT,
	BACK_BY_RBP,
	BACK_BY_PROCESS,
	BACK_WITH_POINTER, /* by the process, which has the frame pointer, too */
	BACK_NO_PROCESS,
};

/* Takes up what is known of the process: s->beam. It may be of an earlier process with its number,
 * so the first instruction of process_main is compared. */
static __always_inline bool take_beam(struct scratch *s)
{
	__u32 pid = s->record.pid, code = 0;
	const struct stackd_beam *beam = CHECKED(bpf_map_lookup_elem(&beams, &pid));

	if (!beam)
		return false;
	if (s->walk.has_left)
		return true;
	s->beam = *beam;
	return !bpf_probe_read_user(&code, sizeof(code), (const void *)beam->main) &&
	       (code & LOW_THREE_BYTES) == SUB_RSP_32;
}

/* Finds the first aligned word from s->beam_at on, in this block of 64 bytes: then s->beam_at is
 * its address, and 1 ends the loop. A block is in one page. */
static long search_block(__u32 turn, struct scratch **at)
{
	struct scratch *s = *at;
	__u64 base = s->beam_at & ~63ull, found;
	__u32 first = s->beam_at >> 3 & 7;

	(void)turn;
	s->beam_word = 0;
	if (s->beam_blocks++ >= BEAM_MOST ||
	    bpf_probe_read_user(s->beam_words, sizeof(s->beam_words), (const void *)base))
		return 1;
	s->beam_found = 8;
	for (__u32 i = 8; i-- > 0;) {
		__u64 word = s->beam_words[i];

		if (i >= first && word && !(word & 3))
			AS_STORED(s->beam_found) = i;
		FORGET(first);
	}
	found = AS_STORED(s->beam_found);
	s->beam_at = base + found * 8;
	if (found >= 8)
		return 0;
	s->beam_word = s->beam_words[BOUNDED(found, 8)];
	return 1;
}

/* --- where a frame ends ----------------------------------------------------------------------- */

static __always_inline __u32 three_bytes(const __u8 *at)
{
	return at[0] | at[1] << 8 | at[2] << 16;
}

/* Is the walk in the part of the code that all modules share? */
static __always_inline bool is_shared(const struct scratch *s)
{
	return s->walk.pc - s->beam.start < s->beam.shared;
}

/* Does an instruction behind the one that gives the frame up lead out of the function? dec %r14, in
 * front of ret; jmp. */
static __always_inline bool is_leaving(__u32 code)
{
	return (code & 0xff) == JMP_32 || (code & 0xff) == JMP_8 || code == DEC_R14D ||
	       code == DEC_R14;
}

/*
 * The bytes of s->beam_code are looked at one by one, BEAM_TURN in a turn of bpf_loop(): the
 * verifier goes through one turn only. What a search has found is in s->beam_found. 1 ends it.
 */
#define BEAM_TURN 8

static __always_inline const __u8 *code_of_turn(const struct scratch *s, __u32 turn)
{
	return &s->beam_code[BOUNDED(turn * BEAM_TURN, BEAM_AHEAD)];
}

/* Is byte `i` of a turn one of those that an instruction can begin at? */
static __always_inline bool is_ahead(__u32 turn, __u32 i)
{
	return turn * BEAM_TURN + i < BEAM_AHEAD - BEAM_BEHIND;
}

/* Looks through BEAM_AHEAD bytes of code. Returns what was found; 0: nothing. */
static __always_inline int search_code(struct scratch *s, __u64 from,
				       long (*look)(__u32, struct scratch **))
{
	s->beam_found = 0;
	s->beam_is_left = 0;
	if (bpf_probe_read_user(s->beam_code, BEAM_AHEAD, (const void *)from))
		return 0;
	bpf_loop(BEAM_AHEAD / BEAM_TURN, look, &s, 0);
	return s->beam_found;
}

static long sum_frame(__u32 turn, struct scratch **given)
{
	struct scratch *s = *given;
	const __u8 *at = code_of_turn(s, turn);

	for (__u32 i = 0; i < BEAM_TURN && is_ahead(turn, i); i++, at++) {
		__u32 code = three_bytes(at);

		if (code == ADD_RSP_8) {
			s->beam_found += at[3];
			s->beam_is_left = is_leaving(three_bytes(at + 4));
		} else if (code == ADD_RSP_32) {
			s->beam_found += at[3] | at[4] << 8;
			s->beam_is_left = is_leaving(three_bytes(at + 7));
		} else if (code == SUB_RSP_8 || code == SUB_RSP_32) {
			s->beam_is_left = 1;
			s->beam_found = 0;
		}
		if (s->beam_is_left)
			return 1;
	}
	return 0;
}

/*
 * Reads in the code at `pc` how large the frame is, by how much rsp is moved up to where the
 * function is left; 0: it does not tell. Slots that have not been set yet may hold old return
 * addresses, which lie below the frame's own then. Global, so that it is verified once.
 */
__noinline int frame_ahead(struct scratch *given, __u64 pc)
{
	struct scratch *s = CHECKED(given);
	int size = s ? search_code(s, pc, sum_frame) : 0;

	return size && s->beam_is_left && size < BEAM_FRAME ? size : 0;
}

#define POINTER_SET 1
#define FRAME_GONE  2

static long find_change(__u32 turn, struct scratch **given)
{
	struct scratch *s = *given;
	const __u8 *at = code_of_turn(s, turn);

	for (__u32 i = 0; i < BEAM_TURN; i++, at++) {
		__u32 code = three_bytes(at);

		if (code == SUB_RSP_8)
			s->beam_found = at[3];
		if (code == SUB_RSP_32)
			s->beam_found = at[3] | at[4] << 8;
		if (code == ADD_RSP_8 || code == ADD_RSP_32 || code == JMP_OVER_CALL ||
		    (at[0] == LEAVE && (at[1] == RET || is_leaving(three_bytes(at + 1)))))
			s->beam_found = FRAME_GONE;
		if (at[0] == PUSH_RBP && three_bytes(at + 1) == RBP_FROM_RSP)
			s->beam_found = POINTER_SET;
	}
	return 0;
}

/*
 * Looks at the code in front of `pc` for what was done last there to the frame: how many bytes it
 * has been made larger by, POINTER_SET where rbp was set to it, FRAME_GONE where it was given up or
 * a function begins; 0: nothing. Global, so that it is verified once.
 */
__noinline int frame_behind(struct scratch *given, __u64 pc)
{
	struct scratch *s = CHECKED(given);

	/* Up to the instruction right in front; nothing is behind it. */
	return s ? search_code(s, pc - BEAM_AHEAD, find_change) : 0;
}

/* The same, with more of the code: a frame may have many slots that are set one by one. */
static __always_inline __u64 last_change(struct scratch *s)
{
	__u64 pc = s->walk.pc, last = 0;

	for (int i = 0; i < BEAM_PIECES && !last; i++, pc -= BEAM_BACK)
		last = (__u64)frame_behind(s, pc);
	return last;
}

/* How large the frame is, by the code on either side of the walk's pc; 0: it does not tell. */
static __always_inline __u64 frame_by_code(struct scratch *s)
{
	__u64 size;

	if (is_shared(s))
		return 0;
	size = last_change(s);
	return size > FRAME_GONE ? size : (__u64)frame_ahead(s, s->walk.pc);
}

/* Whether what was found in a frame with this stack pointer, at s->beam_at, can be an old return
 * address: the code says that the frame is larger, and there is one, too. */
static __always_inline bool may_be_old(struct scratch *s, __u64 sp)
{
	__u64 size = frame_by_code(s), pc;

	return size && sp + size != s->beam_at && read_apart(sp, size, &pc) && follows_call(pc);
}

/* To the caller whose return address was found at s->beam_at. */
static __always_inline int arrive_at_found(struct scratch *s)
{
	__u64 pc;

	if (follows_call(s->beam_word))
		return arrive(&s->walk, s->beam_at + 8, s->beam_word, false);
	if (s->beam_word - s->beam.start < s->beam.size)
		return STACKD_END_ENTRY;
	if (s->beam_word - s->beam_at > BEAM_FRAME || !read_apart(s->beam_at, 8, &pc))
		return STACKD_END_STACK_SWITCH; /* it is no frame pointer */
	if (follows_call(pc))
		return arrive(&s->walk, s->beam_at + 16, pc, false);
	return pc - s->beam.start < s->beam.size ? STACKD_END_ENTRY : STACKD_END_STACK_SWITCH;
}

/*
 * Steps to the caller on the process's stack, of which `sp` is the pointer. In the frame that the
 * walk comes to first, and in that which called a shared fragment, slots may not have been set.
 * Global, so that it is verified once.
 */
__noinline int step_on_process(struct scratch *given, __u64 sp)
{
	struct scratch *s = CHECKED(given);
	__u32 steps;
	__u64 pc;

	if (!s)
		return STACKD_END_STACK_SWITCH;
	steps = s->walk.has_left++;
	if (!steps)
		s->beam_blocks = 0;
	if (sp & 7)
		return STACKD_END_STACK_SWITCH;
	if (!steps && is_shared(s) && read_apart(sp, 0, &pc) && follows_call(pc)) {
		if (pc - s->beam.start >= s->beam.size && !mapping_met(s, pc))
			return STACKD_END_STACK_SWITCH;
		return arrive(&s->walk, sp + 8, pc, false);
	}
	s->beam_at = sp;
	bpf_loop(BEAM_BLOCKS, search_block, &s, 0);
	if (!s->beam_word || (steps < 2 && may_be_old(s, sp)))
		return STACKD_END_STACK_SWITCH;
	return arrive_at_found(s);
}

static long find_leave(__u32 turn, struct scratch **given)
{
	struct scratch *s = *given;
	const __u8 *at = code_of_turn(s, turn);

	for (__u32 i = 0; i < BEAM_TURN && is_ahead(turn, i); i++, at++) {
		__u32 behind = three_bytes(at + 1);

		s->beam_found = at[0] == LEAVE && (at[1] == RET || is_leaving(behind));
		if (s->beam_found || (at[0] == PUSH_RBP && behind == RBP_FROM_RSP))
			return 1;
	}
	return 0;
}

/* Does the code at `pc` give up a frame of its own, by leave, before one is made? Global, so that
 * it is verified once. */
__noinline int leaves_frame(struct scratch *given, __u64 pc)
{
	struct scratch *s = CHECKED(given);

	return s ? search_code(s, pc, find_leave) : 0;
}

/*
 * Is `pc`, which was interrupted, where its function has no frame: at the jump with which it
 * begins, to its push, or behind its leave? The instructions from there to ret are dec %r14 and jl.
 * Global, so that it is verified once.
 */
__noinline int is_frameless(struct scratch *given, __u64 pc)
{
	struct scratch *s = CHECKED(given);
	const __u8 *code, *at, *target;

	if (!s || bpf_probe_read_user(s->beam_code, 4 + 2 + BEAM_ENTRY + 4, (const void *)(pc - 4)))
		return 0;
	code = s->beam_code;
	at = code + 4;
	if (code[3] == LEAVE && code[2] != 0x31 && is_leaving(three_bytes(at))) /* no xor */
		return 1;
	if (code[0] == LEAVE &&
	    (three_bytes(code + 1) == DEC_R14 || three_bytes(code + 1) == DEC_R14D))
		return 1;
	if (at[0] != JMP_8 || at[1] >= BEAM_ENTRY)
		return 0;
	target = at + 2 + BOUNDED(at[1], BEAM_ENTRY);
	return target[0] == PUSH_RBP && three_bytes(target + 1) == RBP_FROM_RSP;
}

/* Arrives at a caller that has this frame pointer. */
static __always_inline int arrive_with_pointer(struct scratch *s, __u64 cfa, __u64 pc, __u64 fp)
{
	if (!follows_call(pc))
		return pc - s->beam.start < s->beam.size ? STACKD_END_ENTRY
							 : STACKD_END_STACK_SWITCH;
	s->walk.r[STACKD_REG_FP] = fp;
	arrive(&s->walk, cfa, pc, false);
	s->walk.valid |= 1u << STACKD_REG_FP;
	return WALK_GO_ON;
}

/* Out of a frame that ends at `fp`. Whatever its slots hold, that tells. */
static __always_inline int step_by_pointer(struct scratch *s, __u64 sp, __u64 fp)
{
	__u64 caller, pc;

	if (fp - sp > BEAM_FRAME || fp & 7 || !read_apart(fp, 0, &caller) ||
	    !read_apart(fp, 8, &pc))
		return STACKD_END_STACK_SWITCH;
	return arrive_with_pointer(s, fp + 16, pc, caller);
}

/* Whether the frame of the walk's function has been made; `top` is on top of the stack. -1: nothing
 * proves either. What follows no call is no return address; what does may be an old one, in a slot
 * that has not been set. */
static __always_inline int has_frame(struct scratch *s, __u64 top)
{
	__u64 last;

	if (!follows_call(top))
		return 1;
	if (is_shared(s) || (s->walk.is_exact && is_frameless(s, s->walk.pc)))
		return 0;
	if (leaves_frame(s, s->walk.pc))
		return 1;
	last = last_change(s);
	return last && last != FRAME_GONE ? 1 : -1;
}

/* The first step where there are frame pointers. rbp is the function's, or its caller's if it has
 * no frame. */
static __always_inline int step_by_its_pointer(struct scratch *s, __u64 sp, __u64 fp)
{
	int leaf = s->walk.is_exact ? leaf_at(s->walk.pc) : STACKD_LEAF_MADE, has;
	__u64 top;

	s->walk.has_left = 1;
	if (sp & 7 || !read_apart(sp, 0, &top))
		return STACKD_END_STACK_SWITCH;
	if (leaf == STACKD_LEAF_PUSHED)
		return step_by_pointer(s, sp, sp);
	has = leaf == STACKD_LEAF_NONE ? 0 : has_frame(s, top);
	if (has < 0 || (has && is_shared(s) && fp != sp)) /* it has pushed something else */
		return STACKD_END_STACK_SWITCH;
	return has ? step_by_pointer(s, sp, fp) : arrive_with_pointer(s, sp + 8, top, fp);
}

/* --- from one stack to another ---------------------------------------------------------------- */

/* How this instruction gets from the thread's stack to the process's: enum way_back. */
static __always_inline __u64 way_of(const __u8 *at)
{
	__u32 code = three_bytes(at);

	if (code == RSP_FROM_RBP)
		return BACK_BY_RBP;
	if (code == RSP_FROM_R13_8)
		return three_bytes(at + 4) == RBP_FROM_R13_8 ? BACK_WITH_POINTER : BACK_BY_PROCESS;
	if (code == RSP_FROM_R13_32)
		return three_bytes(at + 7) == RBP_FROM_R13_32 ? BACK_WITH_POINTER : BACK_BY_PROCESS;
	return code == R13_FROM_RAX ? BACK_NO_PROCESS : BACK_NOT;
}

static long find_way(__u32 turn, struct scratch **given)
{
	struct scratch *s = *given;
	const __u8 *at = code_of_turn(s, turn);

	for (__u32 i = 0; i < BEAM_TURN && is_ahead(turn, i); i++, at++) {
		s->beam_found = way_of(at);
		if (s->beam_found != BACK_NOT)
			return 1;
	}
	return 0;
}

/* Tells how the code at `pc` gets from the thread's stack back to the process's, if it does within
 * BEAM_AHEAD bytes. Global, so that it is verified once. */
__noinline int way_back_at(struct scratch *given, __u64 pc)
{
	struct scratch *s = CHECKED(given);

	return s ? search_code(s, pc, find_way) : BACK_NOT;
}

/* The same of the walk's code, with more of it. Building a binary of many parts takes the most. */
static __always_inline enum way_back way_back(struct scratch *s)
{
	__u64 pc = s->walk.pc;
	enum way_back way = BACK_NOT;

	for (int i = 0; i < 6 && way == BACK_NOT; i++, pc += BEAM_AHEAD - BEAM_BEHIND)
		way = way_back_at(s, pc);
	return way;
}

/* Steps from process_main to its caller. It has aligned the stack to 64 bytes, so there are four
 * places where its return address can be. Below it are those of calls that have returned, so the
 * highest is taken. */
static __always_inline int step_from_main(struct scratch *s)
{
	__u64 slot = s->walk.r[STACKD_REG_SP] + s->beam.frame + 56, pc;

	for (int i = 0; i < 4; i++, slot -= 16) {
		if (read_apart(slot, 0, &pc) && pc - s->beam.start >= s->beam.size &&
		    follows_call(pc))
			return arrive(&s->walk, slot + 8, pc, false);
	}
	return STACKD_END_STACK_SWITCH;
}

/* Steps from code on the thread's stack. */
static __always_inline int step_to_process(struct scratch *s)
{
	struct walk *w = &s->walk;
	enum way_back way = way_back(s);
	__u64 sp, fp = w->r[STACKD_REG_FP];

	if (way == BACK_BY_RBP && !s->beam.has_pointers && walk_is_valid(w, STACKD_REG_FP))
		return step_on_process(s, w->r[STACKD_REG_FP]);
	if ((way == BACK_BY_PROCESS || way == BACK_WITH_POINTER) && walk_is_valid(w, 13) &&
	    read_apart(w->r[13], s->beam.stop, &sp)) {
		if (!s->beam.has_pointers)
			return step_on_process(s, sp);
		if (way == BACK_WITH_POINTER ? !read_apart(w->r[13], s->beam.stop + 8, &fp)
					     : !walk_is_valid(w, STACKD_REG_FP))
			return STACKD_END_STACK_SWITCH;
		return step_by_its_pointer(s, sp, fp);
	}
	return w->pc - s->beam.main < s->beam.main_size ? step_from_main(s)
							: STACKD_END_STACK_SWITCH;
}

/* Steps out of code of the BEAM. WALK_GO_ON, WALK_AGAIN or an end reason; BEAM_NOT: it is other
 * code. Global, so that it is verified once. */
#define BEAM_NOT 253
__noinline int step_in_beam(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	__u64 rsp;

	if (!s || !take_beam(s))
		return BEAM_NOT;
	rsp = s->walk.r[STACKD_REG_SP];
	s->walk.is_once = 1;
	if (s->walk.has_left && s->beam.has_pointers)
		return step_by_pointer(s, rsp, s->walk.r[STACKD_REG_FP]);
	if (s->walk.has_left)
		return step_on_process(s, rsp);
	if (s->walk.is_lean)
		return WALK_AGAIN;
	if (walk_is_valid(&s->walk, 3) && s->walk.r[3] - s->beam.registers == rsp)
		return step_to_process(s);
	if (!s->walk.is_exact)
		return STACKD_END_STACK_SWITCH;
	return s->beam.has_pointers ? step_by_its_pointer(s, rsp, s->walk.r[STACKD_REG_FP])
				    : step_on_process(s, rsp);
}

#endif
