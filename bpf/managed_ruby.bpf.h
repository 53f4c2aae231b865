/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Adds the frames of Ruby's methods and blocks to a walk, where it meets the interpreter.
 *
 * Ruby's interpreter is one C function. Each of its activations runs a method or block that C code
 * has called, and those which call each other from there on. All frames of a thread, or fiber, are
 * in one array, the last one first, to which the thread's execution context leads:
 *
 *      execution context
 *           |
 *           v
 *         [ map     ] C function   no frame of the interpreter: it has a native frame
 *  eval-> [ h       ]
 *         [ g       ] FINISH       the activation's first frame
 *         [ each    ] C function
 *  eval-> [ f       ]
 *         [ <main>  ] FINISH
 *
 * While it runs, the interpreter has the address of its frame in a register that functions
 * preserve. So nothing is counted: an activation's frames are believed only if one of the registers
 * of its native frame has the address of the array's next frame that is not of a C function, and
 * they end at one that is marked FINISH. What does not hold is shown as one frame that says so.
 *
 * The innermost activation may not have a frame of its own yet, or not any more: it has no
 * managed frames then. The same is true while it handles an exception, when the interpreter's
 * function is not on the stack, but the one that calls it is.
 *
 * A function is known by its content each time, since nothing tells a new one at the same address
 * apart; so walks with Ruby's frames are not remembered.
 */
#ifndef MANAGED_RUBY_BPF_H
#define MANAGED_RUBY_BPF_H

#include "managed.bpf.h"
#include "managed_regs.bpf.h"
#include "managed_string.bpf.h"

#define RUBY_PC	   0 /* offsets in a control frame */
#define RUBY_ISEQ  16
#define RUBY_EP	   32
#define RUBY_WORDS 40 /* bytes with all of these */
#define RUBY_RUN   2048
#define RUBY_BODY  168 /* bytes of rb_iseq_constant_body with all fields that are read */

#define RUBY_TYPE	  31 /* in an object's first word */
#define RUBY_STRING	  5
#define RUBY_ARRAY	  7
#define RUBY_INTERNAL	  0x1a
#define RUBY_IS_ISEQ(f)	  (((f)&RUBY_TYPE) == RUBY_INTERNAL && ((f) >> 12 & 15) == 7)
#define RUBY_OUTSIDE	  (1u << 13) /* a string's content is not in the object itself */
#define RUBY_ARRAY_INSIDE (1u << 13) /* an array's is */
#define RUBY_FINISH	  5	     /* a bit of the word to which a frame's ep leads */

/* --- functions -------------------------------------------------------------------------------- */

/* Reads a string object. Gives where its content is, and its length. */
static __always_inline bool ruby_string(struct scratch *s, __u64 address, __u64 *ret_data,
					__u64 *ret_length)
{
	const __u64 *words = s->managed.text;
	__u64 at = s->managed.is.ruby.has_length ? 24 : 16, length;

	if (address & 7 || bpf_probe_read_user(s->managed.text, 40, (const void *)address) ||
	    (words[0] & RUBY_TYPE) != RUBY_STRING)
		return false;
	length = words[2];
	if (!s->managed.is.ruby.has_length && !(words[0] & RUBY_OUTSIDE))
		length = words[0] >> 14 & 31;
	*ret_data = words[0] & RUBY_OUTSIDE ? words[3] : address + at;
	*ret_length = length;
	return !(length >> 32);
}

/* Mixes a string's length, and as much of it as is ever sent, into a hash. Returns 0 if it cannot
 * be read. A global function, so that the BPF verifier checks it once. */
__noinline __u64 ruby_hash(struct scratch *given, __u64 hash, __u64 address)
{
	struct scratch *s = CHECKED(given);
	__u64 data, length;

	if (!s || !ruby_string(s, address, &data, &length))
		return 0;
	return string_hash(s, hash, data, length);
}

/* Returns the string with the name of a source file: an array has the name as the program has given
 * it, and the whole one, if there is such a file. */
static __always_inline __u64 ruby_file(struct scratch *s, __u64 address)
{
	const __u64 *words = s->managed.text;
	__u64 names[2];

	if (address & 7 || bpf_probe_read_user(s->managed.text, 40, (const void *)address) ||
	    (words[0] & RUBY_TYPE) != RUBY_ARRAY)
		return address;
	names[0] = words[2];
	names[1] = words[3];
	if (!(words[0] & RUBY_ARRAY_INSIDE) &&
	    bpf_probe_read_user(names, sizeof(names), (const void *)words[4]))
		return 0;
	return names[1] & 7 || names[1] <= 8 ? names[0] : names[1];
}

/* Copies a string, as far as there is room. */
static __always_inline void ruby_text(struct scratch *s, __u64 address,
				      struct stackd_managed_text *text)
{
	__u64 data = 0, length = 0;

	string_none(text);
	if (ruby_string(s, address, &data, &length))
		string_copy(text, data, length);
}

/* Sends the names of the function that was read last, s->managed.new_code, and gives it a number.
 * Returns 0 if the ring has no room. A separate function, whose stack is not in use when frames are
 * read. */
__noinline int ruby_send_code(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct stackd_managed_record *record;

	if (!s)
		return 0;
	record = &s->managed_record;
	record->code.first_line = s->managed.function.first_line;
	record->code.line_bytes = 0;
	ruby_text(s, s->managed.function.file, &record->code.file);
	ruby_text(s, s->managed.function.label, &record->code.name);
	return managed_note_sent(
		s, managed_send_record(s, __builtin_offsetof(struct stackd_managed_record, lines)));
}

/* Returns the number of the function with the body that was read, by its content; 0 as
 * managed_code(). A global function, so that the BPF verifier checks it once. */
__noinline int ruby_code(struct scratch *given, __u64 body)
{
	struct scratch *s = CHECKED(given);
	__u64 file, hash;

	if (!s)
		return 0;
	if (s->managed.last_of == s->record.header.time_ns && s->managed.last_code == body)
		return s->managed.last_number;
	file = managed_word(s, s->managed.is.code_file);
	s->managed.function.label = managed_word(s, s->managed.is.code_name);
	s->managed.function.first_line =
		managed_word(s, s->managed.is.code_first_line) >>
		(s->managed.is.ruby.has_line ? (s->managed.is.code_first_line & 4) * 8 : 1);
	if (s->managed.file_of != s->record.header.time_ns || s->managed.file_text != file) {
		s->managed.function.file = ruby_file(s, file);
		s->managed.file_hash = ruby_hash(s, 0, s->managed.function.file);
		s->managed.file_of = s->record.header.time_ns;
		s->managed.file_text = file;
	}
	if (!s->managed.file_hash)
		return 0;
	hash = ruby_hash(s, mix(s->managed.file_hash ^ s->managed.function.first_line),
			 s->managed.function.label);
	return hash ? managed_by_content(s, body, hash, body) : 0;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* A table of positions: for each of the first RUBY_FEW, a number of 7 bits; then blocks. */
#define RUBY_FEW	  54
#define RUBY_IN_WORD	  9
#define RUBY_BLOCK	  512 /* positions of a block: the entries before it, those before each */
#define RUBY_BLOCK_BYTES  80  /* of its words (9 bits), and the bits of those that have one */
#define RUBY_BLOCKS_START 48
#define RUBY_ENTRY	  12 /* bytes; the first four are the line */

/* Returns the number of the entry for a position in a table at `table`; 0: there is none. */
static __always_inline __u32 ruby_entry(__u64 table, __u32 position)
{
	__u64 words[2], bits, before;
	__u32 in_block, word;

	if (position < RUBY_FEW) {
		if (bpf_probe_read_user(words, 8,
					(const void *)(table + position / RUBY_IN_WORD * 8)))
			return 0;
		return words[0] >> position % RUBY_IN_WORD * 7 & 127;
	}
	position -= RUBY_FEW;
	in_block = position % RUBY_BLOCK;
	word = in_block / 64;
	table += RUBY_BLOCKS_START + (__u64)(position / RUBY_BLOCK) * RUBY_BLOCK_BYTES;
	if (bpf_probe_read_user(words, 16, (const void *)table) ||
	    bpf_probe_read_user(&bits, 8, (const void *)(table + 16 + 8 * word)))
		return 0;
	before = word ? words[1] >> (word - 1) * 9 & 511 : 0;
	bits &= (2ull << in_block % 64) - 1;
	return (__u32)words[0] + before + __builtin_popcountll(bits);
}

/* Returns the line of an instruction, of the function whose body was read; 0: it is not known. A
 * position is that behind the instruction, but for the first one. A global function, so that the
 * BPF verifier checks it once. */
__noinline int ruby_line(struct scratch *given, __u32 position)
{
	struct scratch *s = CHECKED(given);
	__u64 entries, table;
	__u32 number, size, line;

	if (!s)
		return 0;
	entries = managed_word(s, s->managed.is.code_lines);
	size = managed_word(s, s->managed.is.code_lines + 16);
	table = managed_word(s, s->managed.is.code_lines + 24);
	number = table ? ruby_entry(table, position ? position - 1 : 0) : 0;
	if (!number || number > size ||
	    bpf_probe_read_user(&line, 4,
				(const void *)(entries + (__u64)(number - 1) * RUBY_ENTRY)))
		return 0;
	return line < STACKD_MANAGED_MASK ? line : 0;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Reads the control frame s->managed.ruby.cfp, with those that follow. Returns whether there is
 * one. A global function, so that the BPF verifier checks it once. */
__noinline int ruby_read(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	__u64 cfp, bytes, size;

	if (!s)
		return 0;
	cfp = s->managed.ruby.cfp;
	s->managed.run_at = cfp - s->managed.run_base;
	if (s->managed.run_of == s->record.header.time_ns &&
	    s->managed.run_at < s->managed.run_plain)
		return 1;
	size = s->managed.is.ruby.frame_bytes;
	bytes = s->managed.ruby.end - cfp;
	if (cfp >= s->managed.ruby.end || bytes < size || size < RUBY_WORDS)
		return 0;
	if (bytes > RUBY_RUN)
		bytes = RUBY_RUN;
	s->managed.run_of = 0;
	FORGET(bytes);
	if (bytes > RUBY_RUN ||
	    bpf_probe_read_user(s->managed_run, BOUNDED(bytes, 2 * RUBY_RUN), (const void *)cfp))
		return 0;
	s->managed.run_of = s->record.header.time_ns;
	s->managed.run_base = cfp;
	s->managed.run_plain = bytes - size + 1;
	s->managed.run_at = 0;
	return 1;
}

/* Moves to the next control frame. */
static __always_inline void ruby_move(struct scratch *s)
{
	s->managed.ruby.cfp += s->managed.is.ruby.frame_bytes;
}

/* Passes a control frame of a C function. Returns 1 to end the loop, with s->managed.is_whole at
 * another one. */
static long ruby_skip_one(__u32 turn, struct scratch **at)
{
	struct scratch *s = *at;

	(void)turn;
	if (!ruby_read(s))
		return 1;
	if (managed_frame_word(s, RUBY_PC)) {
		s->managed.is_whole = 1;
		return 1;
	}
	ruby_move(s);
	return 0;
}

/* Moves to the next control frame that is not of a C function. Returns whether there is one. A
 * global function, so that the BPF verifier checks it once. */
__noinline int ruby_skip(struct scratch *given)
{
	struct scratch *s = CHECKED(given);

	if (!s)
		return 0;
	s->managed.is_whole = 0;
	bpf_loop(MANAGED_MOST, ruby_skip_one, &s, 0);
	return s->managed.is_whole;
}

/* Passes a control frame on the way to the activation's own one. Returns 1 to end the loop; with
 * s->managed.is_whole, at that. */
static long ruby_pass_one(__u32 turn, struct scratch **at)
{
	struct scratch *s = *at;
	__u64 flags;

	(void)turn;
	if (s->managed.ruby.cfp == s->managed.regs.frame) {
		s->managed.is_whole = 1;
		return 1;
	}
	if (!ruby_read(s))
		return 1;
	if (managed_frame_word(s, RUBY_PC)) {
		if (s->managed.ruby.has_finished ||
		    bpf_probe_read_user(&flags, 8, (const void *)managed_frame_word(s, RUBY_EP)))
			return 1;
		s->managed.ruby.has_finished = flags >> RUBY_FINISH & 1;
	}
	ruby_move(s);
	return 0;
}

/* Moves to the activation's own control frame, past at most one whole activation. Returns whether
 * it has come to it. A global function, so that the BPF verifier checks it once. */
__noinline int ruby_pass(struct scratch *given)
{
	struct scratch *s = CHECKED(given);

	if (!s)
		return 0;
	s->managed.is_whole = 0;
	s->managed.ruby.has_finished = 0;
	bpf_loop(MANAGED_MOST, ruby_pass_one, &s, 0);
	return s->managed.is_whole && ruby_read(s) && managed_frame_word(s, RUBY_PC);
}

/* Reads the function of the control frame that was read, and its line (s->managed.function.line).
 * Returns its number; 0 as managed_code(). A global function, so that the BPF verifier checks it
 * once. */
__noinline int ruby_function(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	__u64 iseq, body, position;

	if (!s)
		return 0;
	iseq = managed_frame_word(s, RUBY_ISEQ);
	if (bpf_probe_read_user(s->managed.text, 24, (const void *)iseq) ||
	    !RUBY_IS_ISEQ(s->managed.text[0]))
		return 0;
	body = s->managed.text[2];
	if (bpf_probe_read_user(s->managed.words, RUBY_BODY, (const void *)body))
		return 0;
	position = managed_frame_word(s, RUBY_PC) - managed_word(s, s->managed.is.code_start);
	if (position & 7 || position >> 3 > managed_word(s, 0) >> 32)
		return 0;
	s->managed.function.line = ruby_line(s, position >> 3);
	return ruby_code(s, body);
}

/* Adds the next frame of the activation. Returns 1 to end the loop; with s->managed.is_whole, at
 * its first frame. A global function, so that the BPF verifier checks it once. */
__noinline int ruby_add_next(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	__u64 flags;
	__u32 number;

	if (!s)
		return 1;
	if (s->managed.new_code && !ruby_send_code(s)) {
		s->managed.why = STACKD_COUNT_MANAGED_NAMELESS;
		return 1;
	}
	if (!ruby_read(s) || !managed_frame_word(s, RUBY_PC) ||
	    bpf_probe_read_user(&flags, 8, (const void *)managed_frame_word(s, RUBY_EP)))
		return 1;
	number = ruby_function(s);
	if (!number)
		return !s->managed.new_code; /* the next turn sends it, and comes back */
	if (s->managed.count >= MANAGED_MOST || !put_managed(s, number, s->managed.function.line)) {
		s->managed.why = STACKD_COUNT_MANAGED_TOO_MANY;
		return 1;
	}
	s->managed.count++;
	ruby_move(s);
	s->managed.is_whole = flags >> RUBY_FINISH & 1;
	return s->managed.is_whole;
}

static long ruby_add(__u32 turn, struct scratch **at)
{
	struct scratch *s = *at;
	long ends;

	(void)turn;
	if (!managed_has_room(s))
		return 1;
	ends = ruby_add_next(s);
	FORGET(ends);
	return ends ? 1 : 0;
}

/* --- activations ------------------------------------------------------------------------------ */

/* Returns whether the activation is at this control frame. The register that usually has its
 * address may have another value, no address in the array; then another register has it. */
static __always_inline bool ruby_is_at(const struct scratch *s, __u64 cfp)
{
	__u64 own = s->managed.regs.frame;

	if (own - s->managed.ruby.start < s->managed.ruby.end - s->managed.ruby.start)
		return own == cfp;
	for (int i = 0; i < STACKD_SAVED_COUNT; i++) {
		if (s->managed.regs.r[i] == cfp)
			return true;
	}
	return false;
}

/* Finds the thread's execution context, in its thread-local variables, and with that its control
 * frames. Returns whether it has any. A global function, so that its stack is not in use when
 * frames are read. */
__noinline int ruby_find_frames(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 at = ARCH_THREAD_POINTER(task), words[3];
	__s64 local;

	if (!s)
		return 0;
	local = s->managed.is.ruby.local;
	if (s->managed.is.ruby.local_words) {
		__u64 from = s->managed.base + s->managed.is.ruby.local_words;

		if (bpf_probe_read_user(words, 16, (const void *)from) || !words[0] ||
		    bpf_probe_read_user(&at, 8, (const void *)(at + 8)) ||
		    bpf_probe_read_user(&at, 8, (const void *)(at + 16 * words[0])))
			return 0;
		local += words[1];
	}
	if (bpf_probe_read_user(&at, 8, (const void *)(at + local)) || !at ||
	    bpf_probe_read_user(words, sizeof(words), (const void *)at))
		return 0;
	s->managed.ruby.start = words[0];
	s->managed.ruby.end = words[0] + 8 * words[1];
	s->managed.ruby.cfp = words[2];
	return words[2] - words[0] < 8 * words[1];
}

/* Prepares a walk for managed frames, at the first activation that it meets. */
static __always_inline bool ruby_begin(struct scratch *s)
{
	if (!managed_begin_regs(s) || !ruby_find_frames(s))
		return false;
	s->walk.managed = MANAGED_RUBY;
	return true;
}

enum ruby_state {
	RUBY_ELSEWHERE, /* the next frames are not this activation's */
	RUBY_LEAVING,	/* it has no frames of its own any more */
	RUBY_RUNS,	/* s->managed.ruby.cfp is its last frame */
	RUBY_INNER,	/* so, but a function that it has called has not begun */
};

/* Returns whether the activation has been interrupted before its registers are set up. */
static __always_inline bool ruby_begins(const struct scratch *s)
{
	return (s->location & STACKD_LOCATION_MASK) - s->managed.is.eval <
	       s->managed.is.ruby.body_from;
}

/* Returns whether it has been interrupted while, or after, they are restored. */
static __always_inline bool ruby_ends(const struct scratch *s)
{
	return s->managed.cfa - s->managed.regs.sp < s->managed.is.ruby.body_bytes;
}

/* Finds the frames of the activation that the walk has stepped out of. Only the innermost one can
 * be at another frame than the array's next one. */
static __always_inline enum ruby_state ruby_find(struct scratch *s, const struct mark *mark)
{
	__u64 last = s->managed.ruby.cfp;

	if (mark->slot & MARK_EXACT && ruby_begins(s)) /* no C function has been called */
		return !s->managed.count && ruby_skip(s) && s->managed.ruby.cfp == last
			       ? RUBY_RUNS
			       : RUBY_ELSEWHERE;
	if (mark->slot & MARK_EXACT && ruby_ends(s))
		return RUBY_LEAVING;
	if (ruby_skip(s) && ruby_is_at(s, s->managed.ruby.cfp))
		return RUBY_RUNS;
	if (s->managed.count)
		return RUBY_ELSEWHERE;
	if (mark->slot & MARK_EXACT &&
	    s->managed.regs.frame == last - s->managed.is.ruby.frame_bytes) {
		s->managed.ruby.cfp = s->managed.regs.frame; /* it was just popped */
		return RUBY_RUNS;
	}
	return ruby_pass(s) ? RUBY_INNER : RUBY_ELSEWHERE;
}

/* Adds the frames of the activation whose last one is s->managed.ruby.cfp. Returns whether they are
 * proven. */
static __always_inline bool ruby_add_all(struct scratch *s)
{
	s->managed.why = STACKD_COUNT_MANAGED_BROKEN;
	s->managed.is_whole = 0;
	s->managed.may_part = 1;
	bpf_loop(2 * MANAGED_MOST, ruby_add, &s, 0);
	if (!s->managed.is_whole)
		return false;
	s->managed.why = 0;
	return true;
}

/*
 * Adds the managed frames of an activation after the walk has stepped out of its native frame, to
 * the caller. Returns 1 to end the walk. A global function, so that the BPF verifier checks it
 * once.
 */
__noinline int ruby_frames(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	const struct mark *mark;
	enum ruby_state state;
	bool is_first;

	if (!s)
		return 0;
	s->end = s->walk.pc ? STACKD_END_ENTRY : end_at_zero(s);
	if (!s->walk.pc)
		return 1;
	if (s->walk.managed != MANAGED_NOT_MET && s->walk.managed != MANAGED_RUBY)
		return 0;
	mark = managed_note_activation(s);
	s->managed.why = STACKD_COUNT_MANAGED_NO_THREAD;
	is_first = s->walk.managed == MANAGED_NOT_MET;
	if (is_first && !ruby_begin(s))
		return managed_give_up(s);
	state = ruby_find(s, mark);
	if (state == RUBY_LEAVING)
		return managed_in_transition(s);
	s->managed.why = STACKD_COUNT_MANAGED_ELSEWHERE;
	if (state == RUBY_INNER && is_first && s->managed.ruby.has_finished)
		count(STACKD_COUNT_MANAGED_ENTERING);
	if (state == RUBY_ELSEWHERE || !ruby_add_all(s))
		return managed_give_up(s);
	managed_count(s);
	return 0;
}

#endif
