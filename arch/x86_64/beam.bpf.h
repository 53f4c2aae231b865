/* SPDX-License-Identifier: GPL-2.0-only */
/* Instructions of the code that the BEAM's JIT compiler makes; see arch/beam.bpf.h. */
#ifndef ARCH_X86_64_BEAM_BPF_H
#define ARCH_X86_64_BEAM_BPF_H

#define BEAM_REGISTERS_REG 3  /* rbx: points to the scheduler's registers, above the frames of C */
#define BEAM_PROCESS_REG   13 /* r13: points to the structure of the process */

#define BEAM_AHEAD  64 /* bytes of code that are searched at a time, */
#define BEAM_BEHIND 10 /* the last of which only complete an instruction that begins before */
/* bytes from a piece of code to the piece before it, with which it overlaps */
#define BEAM_BACK   56
#define BEAM_PIECES 8  /* pieces that are searched for the instruction that made the frame */
#define BEAM_ENTRY  16 /* bytes from a function's start to its first push, at most */

/* Instructions, or their beginnings: the lowest three bytes of a word. */
#define RSP_FROM_RBP	0xec8948u /* mov %rbp,%rsp */
#define RSP_FROM_R13_8	0x658b49u /* mov stop(%r13),%rsp, with one byte of offset and with four */
#define RSP_FROM_R13_32 0xa58b49u
#define RBP_FROM_R13_8	0x6d8b49u /* mov pointer(%r13),%rbp, also with both sizes of the offset */
#define RBP_FROM_R13_32 0xad8b49u
/* mov %rax,%r13: takes another process; before it, r13 points to none */
#define R13_FROM_RAX	0xc58949u
#define SUB_RSP_8	0xec8348u
#define SUB_RSP_32	0xec8148u
#define ADD_RSP_8	0xc48348u
#define ADD_RSP_32	0xc48148u
#define RBP_FROM_RSP	0xe58948u
#define DEC_R14		0xceff49u /* counts the steps that a process may still run */
#define DEC_R14D	0xceff41u
#define JMP_OVER_CALL	0x0006ebu /* over the call of a breakpoint, with which functions begin */
#define PUSH_RBP	0x55
#define LEAVE		0xc9
#define RET		0xc3
#define JMP_32		0xe9
#define JMP_8		0xeb
#define LOW_THREE_BYTES 0xffffffu

static __always_inline __u32 three_bytes(const __u8 *at)
{
	return at[0] | at[1] << 8 | at[2] << 16;
}

/* Returns whether process_main can begin with these four bytes of code. */
static __always_inline bool begins_main(__u32 code)
{
	return (code & LOW_THREE_BYTES) == SUB_RSP_32;
}

/* Returns whether an instruction after the release of the frame leads out of the function: dec
 * %r14, which precedes ret, or jmp. */
static __always_inline bool is_leaving(__u32 code)
{
	return (code & 0xff) == JMP_32 || (code & 0xff) == JMP_8 || code == DEC_R14D ||
	       code == DEC_R14;
}

/*
 * The bytes of s->beam_code are searched one by one, BEAM_TURN bytes in each iteration of
 * bpf_loop(), since the BPF verifier follows only one iteration. The callbacks put what they find
 * into s->beam_found, and return 1 to end the search.
 */
#define BEAM_TURN 8

static __always_inline const __u8 *code_of_turn(const struct scratch *s, __u32 turn)
{
	return &s->beam_code[BOUNDED(turn * BEAM_TURN, BEAM_AHEAD)];
}

/* Returns whether byte `i` of an iteration is one at which an instruction may begin: the last
 * BEAM_BEHIND bytes only complete an instruction. */
static __always_inline bool is_ahead(__u32 turn, __u32 i)
{
	return turn * BEAM_TURN + i < BEAM_AHEAD - BEAM_BEHIND;
}

/* Searches BEAM_AHEAD bytes of code from `from` on with the callback `look`. Returns what it found;
 * 0: nothing, or the code cannot be read. */
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
 * Reads from the code at `pc` how large the frame is: by how much rsp is raised before the function
 * is left; 0: the code does not show it. The caller needs it because slots that are not set yet may
 * contain old return addresses, below the frame's return address. It is a global function, so the
 * BPF verifier checks it once.
 */
__noinline int frame_ahead(struct scratch *given, __u64 pc)
{
	struct scratch *s = CHECKED(given);
	int size = s ? search_code(s, pc, sum_frame) : 0;

	return size && s->beam_is_left && size < BEAM_FRAME ? size : 0;
}

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
 * Finds the last change to the frame in the code before `pc`: the number of bytes by which it was
 * enlarged, POINTER_SET if rbp was set to it, FRAME_GONE if it was released or a function begins;
 * 0: none was found. It is a global function, so the BPF verifier checks it once.
 */
__noinline int frame_behind(struct scratch *given, __u64 pc)
{
	struct scratch *s = CHECKED(given);

	/* It ends right before `pc`, so no instruction is cut at the end. */
	return s ? search_code(s, pc - BEAM_AHEAD, find_change) : 0;
}

/* Like frame_behind(), from the walk's pc over BEAM_PIECES pieces of code: a frame may have many
 * slots, which are set one by one. */
static __always_inline __u64 last_change(struct scratch *s)
{
	__u64 pc = s->walk.pc, last = 0;

	for (int i = 0; i < BEAM_PIECES && !last; i++, pc -= BEAM_BACK)
		last = (__u64)frame_behind(s, pc);
	return last;
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

/* Returns whether the code at `pc` releases its function's frame (leave) before it sets one up. A
 * global function, so that the BPF verifier checks it once. */
__noinline int leaves_frame(struct scratch *given, __u64 pc)
{
	struct scratch *s = CHECKED(given);

	return s ? search_code(s, pc, find_leave) : 0;
}

/*
 * Returns whether the function has no frame at `pc`, where it was interrupted: at the jump with
 * which it begins, at its push, or after its leave (between leave and ret are dec %r14 and jl). A
 * global function, so that the BPF verifier checks it once.
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

/* Returns how the instruction at these bytes gets from the thread's stack to the process's: enum
 * way_back. */
static __always_inline __u64 way_of(const __u8 *at)
{
	__u32 code = three_bytes(at);

	if (code == RSP_FROM_RBP)
		return BACK_BY_POINTER;
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

/* Returns how the code at `pc` gets from the thread's stack back to the process's; BACK_NOT: not
 * within BEAM_AHEAD bytes. A global function, so that the BPF verifier checks it once. */
__noinline int way_back_at(struct scratch *given, __u64 pc)
{
	struct scratch *s = CHECKED(given);

	return s ? search_code(s, pc, find_way) : BACK_NOT;
}

/* Like way_back_at() at the walk's pc, over more code: the code that builds a binary of many parts
 * is the longest. */
static __always_inline enum way_back way_back(struct scratch *s)
{
	__u64 pc = s->walk.pc;
	enum way_back way = BACK_NOT;

	for (int i = 0; i < 6 && way == BACK_NOT; i++, pc += BEAM_AHEAD - BEAM_BEHIND)
		way = way_back_at(s, pc);
	return way;
}

#endif
