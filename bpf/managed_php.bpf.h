/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Adds the frames of PHP's functions to a walk, where it meets the interpreter.
 *
 * PHP's interpreter is one C function. Each of its activations runs a function that C code has
 * called, and those which call each other from there on; files that are included are functions
 * here. All frames of the process's one thread, or of a fiber, are a chain, from the last one on:
 *
 *      executor_globals
 *           |
 *           v
 *         [ array_map ] C function   no frame of the interpreter: it has a native frame
 *  eval-> [ h         ]
 *         [ g         ] TOP          the activation's first frame
 *         [ usort     ] C function
 *  eval-> [ f         ]
 *         [ {main}    ] TOP
 *
 * While it runs, the interpreter has the address of its frame in one register that functions
 * preserve, and that of its instruction in another. So nothing is counted: an activation's frames
 * are believed only if the register of its native frame has the address of the chain's next frame
 * that is not of a C function, and they end at one that is marked TOP. What does not hold is shown
 * as one frame that says so.
 *
 * A frame that is being left is out of the chain already, but the register still has it: then the
 * frame that it leads to is the next one of the chain, and the activation is there. The innermost
 * activation may not have begun: then the chain's first frame is passed.
 *
 * A function is known by its content each time, since nothing tells a new one at the same address
 * apart; so walks with PHP's frames are not remembered.
 */
#ifndef MANAGED_PHP_BPF_H
#define MANAGED_PHP_BPF_H

#include "managed.bpf.h"
#include "managed_regs.bpf.h"
#include "managed_string.bpf.h"

#define PHP_FRAME_BYTES 56 /* of zend_execute_data, with all fields that are read; in words: */
#define PHP_OPLINE	0
#define PHP_FUNC	3
#define PHP_FLAGS	5
#define PHP_BEFORE	6
#define PHP_TOP		17  /* a bit of the flags */
#define PHP_CODE_BYTES	184 /* of zend_op_array, with all fields that are read */
#define PHP_SCOPE	16  /* in it: its class; */
#define PHP_CLASS_NAME	8   /* in that: its name */
#define PHP_OP_SHIFT	5   /* bytes of an instruction */
#define PHP_OP_LINE	24
#define PHP_IS_STRING	6
#define PHP_STRING_DATA 24
#define PHP_INTERNAL	1 /* a bit of the kinds of functions that are written in C */
#define PHP_CODE_KINDS	6 /* bits of the kinds of others */
/* In place of the address of a function: a closure has another one each time that it is made. */
#define PHP_BY_CONTENT 1
#define PHP_BETWEEN    1024 /* frames of C functions between two activations */

/* What a frame is of. */
enum php_kind {
	PHP_NOTHING, /* it cannot be read */
	PHP_OTHER,   /* a C function, or nothing */
	PHP_CODE,    /* a function that is written in PHP */
};

enum php_state {
	PHP_ELSEWHERE, /* the next frames are not this activation's */
	PHP_RUNS,      /* s->managed.php.next is its last frame */
	PHP_LEFT,      /* likewise, and its register still has, or already has, a frame above */
};

/* --- functions -------------------------------------------------------------------------------- */

/* Mixes a string object into a hash. Returns 0 if it is none. A global function, so that the BPF
 * verifier checks it once. */
__noinline __u64 php_hash(struct scratch *given, __u64 hash, __u64 address)
{
	struct scratch *s = CHECKED(given);
	const __u64 *words;

	if (!s || address & 7 ||
	    bpf_probe_read_user(s->managed.text, PHP_STRING_DATA, (const void *)address))
		return 0;
	words = s->managed.text;
	if ((words[0] >> 32 & 15) != PHP_IS_STRING || words[2] >> 32)
		return 0;
	return string_hash(s, hash, address + PHP_STRING_DATA, words[2]);
}

/* Copies a string object, as far as there is room. */
static __always_inline void php_text(struct scratch *s, __u64 address,
				     struct stackd_managed_text *text)
{
	string_none(text);
	if (!bpf_probe_read_user(s->managed.text, PHP_STRING_DATA, (const void *)address))
		string_copy(text, address + PHP_STRING_DATA, s->managed.text[2]);
}

/* Copies the name of a function behind its class's, which ends at a NUL if the class has no name
 * that is written. */
static __always_inline void php_name(struct scratch *s, struct stackd_managed_text *text)
{
	__u64 at = 0;
	long got;

	string_none(text);
	if (s->managed.php.class_name) {
		got = bpf_probe_read_user_str(
			text->data, STACKD_MANAGED_TEXT,
			(const void *)(s->managed.php.class_name + PHP_STRING_DATA));
		if (got < 1)
			return;
		at = string_put_colons(text, BOUNDED(got - 1, STACKD_MANAGED_TEXT));
	}
	if (!bpf_probe_read_user(s->managed.text, PHP_STRING_DATA,
				 (const void *)s->managed.function.label))
		string_append(text, at, s->managed.function.label + PHP_STRING_DATA,
			      s->managed.text[2]);
}

/* Names the code of a file, which is no function's. */
static __always_inline void php_name_main(struct stackd_managed_text *text)
{
	const char name[] = "{main}";

	for (__u32 i = 0; i < sizeof(name) - 1; i++)
		text->data[i] = name[i];
	text->width = STACKD_MANAGED_UTF8;
	text->bytes = text->length = sizeof(name) - 1;
}

/* Sends the names of the function that was read last, s->managed.new_code, and gives it a number.
 * Returns 0 if the ring has no room. A separate function, whose stack is not in use when frames are
 * read. */
__noinline int php_send_code(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct stackd_managed_record *record;

	if (!s)
		return 0;
	record = &s->managed_record;
	record->code.first_line = s->managed.function.first_line;
	record->code.line_bytes = 0;
	php_text(s, s->managed.function.file, &record->code.file);
	if (s->managed.function.label)
		php_name(s, &record->code.name);
	else
		php_name_main(&record->code.name);
	return managed_note_sent(
		s, managed_send_record(s, __builtin_offsetof(struct stackd_managed_record, lines)));
}

/* Reads where the names of the function are whose words were read. Returns a hash of them; 0: they
 * cannot be read. */
static __always_inline __u64 php_names(struct scratch *s)
{
	__u64 file = managed_word(s, s->managed.is.code_file);
	__u64 scope = managed_word(s, PHP_SCOPE), hash;

	s->managed.function.file = file;
	s->managed.function.label = managed_word(s, s->managed.is.code_name);
	s->managed.function.first_line = managed_word(s, s->managed.is.code_first_line);
	s->managed.php.class_name = 0;
	if (scope && s->managed.function.label &&
	    bpf_probe_read_user(&s->managed.php.class_name, 8,
				(const void *)(scope + PHP_CLASS_NAME)))
		return 0;
	if (s->managed.file_of != s->record.header.time_ns || s->managed.file_text != file) {
		s->managed.file_hash = php_hash(s, 0, file);
		s->managed.file_of = s->record.header.time_ns;
		s->managed.file_text = file;
	}
	if (!s->managed.file_hash)
		return 0;
	hash = mix(s->managed.file_hash ^ s->managed.function.first_line) | 1;
	if (s->managed.function.label)
		hash = php_hash(s, hash, s->managed.function.label);
	if (hash && s->managed.php.class_name)
		hash = php_hash(s, hash, s->managed.php.class_name);
	return hash;
}

/* Returns the number of the function whose words were read, by its content; 0 as managed_code(). A
 * global function, so that the BPF verifier checks it once. */
__noinline int php_code(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	__u64 hash;

	if (!s)
		return 0;
	if (managed_is_repeated(s, s->managed.php.func))
		return s->managed.last_number;
	hash = php_names(s);
	return hash ? managed_by_content(s, PHP_BY_CONTENT, hash, s->managed.php.func) : 0;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Returns whether an address is that of an instruction of the function whose words were read. */
static __always_inline bool php_is_in(const struct scratch *s, __u64 opline)
{
	__u64 at = opline - managed_word(s, s->managed.is.code_start);
	__u32 count = managed_word(s, s->managed.is.php.code_count);

	return opline && !(at & ((1 << PHP_OP_SHIFT) - 1)) && at >> PHP_OP_SHIFT < count;
}

/* Returns the line at which the frame that was read last is, of the function whose words were read:
 * that of the instruction in the register, if that is the frame's; of the last one that the frame
 * has noted; or of the one that has thrown an exception. 0: it is not known. */
static __always_inline __u32 php_line(struct scratch *s, __u64 instruction)
{
	__u64 opline = instruction;
	__u32 line = 0;

	if (!php_is_in(s, opline))
		opline = s->managed.php.opline;
	if (!php_is_in(s, opline) &&
	    bpf_probe_read_user(&opline, 8,
				(const void *)(s->managed.php.globals + s->managed.is.php.thrown)))
		return 0;
	if (!php_is_in(s, opline) ||
	    bpf_probe_read_user(&line, 4, (const void *)(opline + PHP_OP_LINE)))
		return 0;
	return line < STACKD_MANAGED_MASK ? line : 0;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Reads a frame of the chain. Returns enum php_kind. A global function, so that the BPF verifier
 * checks it once. */
__noinline int php_read(struct scratch *given, __u64 frame)
{
	struct scratch *s = CHECKED(given);
	__u8 kind = 0;

	if (!s || frame & 7 ||
	    bpf_probe_read_user(s->managed.words, PHP_FRAME_BYTES, (const void *)frame))
		return PHP_NOTHING;
	s->managed.php.opline = s->managed.words[PHP_OPLINE];
	s->managed.php.func = s->managed.words[PHP_FUNC];
	s->managed.php.is_top = s->managed.words[PHP_FLAGS] >> PHP_TOP & 1;
	s->managed.php.before = s->managed.words[PHP_BEFORE];
	if (!s->managed.php.func)
		return PHP_OTHER;
	if (bpf_probe_read_user(&kind, 1, (const void *)s->managed.php.func))
		return PHP_NOTHING;
	if (kind == PHP_INTERNAL)
		return PHP_OTHER;
	return kind & PHP_CODE_KINDS && !(kind & (kind - 1)) ? PHP_CODE : PHP_NOTHING;
}

/* Returns whether the frame that was read last, of a function that is written in PHP, can be one
 * that the innermost activation does not run: not yet, or not any more. */
static __always_inline bool php_is_unbegun(struct scratch *s)
{
	if (s->managed.count || s->managed.php.has_unbegun)
		return false;
	s->managed.php.has_unbegun = 1;
	if (s->managed.php.is_top)
		return true;
	s->managed.regs.instruction = 0; /* it may be the next frame's already */
	return s->managed.php.before == s->managed.regs.frame;
}

/* Passes a frame on the way to the activation's own one. Returns 1 to end the loop. */
static long php_pass_one(__u32 turn, struct scratch **at)
{
	struct scratch *s = *at;
	__u64 frame = s->managed.php.next;
	int kind;

	(void)turn;
	if (!frame)
		return 1;
	if (frame == s->managed.regs.frame) {
		s->managed.php.state = PHP_RUNS;
		return 1;
	}
	if (frame == s->managed.php.left) {
		s->managed.php.state = PHP_LEFT;
		return 1;
	}
	kind = php_read(s, frame);
	FORGET(kind);
	if (kind == PHP_NOTHING || (kind == PHP_CODE && !php_is_unbegun(s)))
		return 1;
	s->managed.php.next = s->managed.php.before;
	return 0;
}

/* Finds the frames of the activation that the walk has stepped out of. Returns enum php_state. A
 * global function, so that the BPF verifier checks it once. */
__noinline int php_find_state(struct scratch *given)
{
	struct scratch *s = CHECKED(given);

	if (!s)
		return PHP_ELSEWHERE;
	s->managed.php.state = PHP_ELSEWHERE;
	s->managed.php.has_unbegun = 0;
	s->managed.php.left = 0;
	if (php_read(s, s->managed.regs.frame) == PHP_CODE)
		s->managed.php.left = s->managed.php.before;
	s->managed.is_whole = s->managed.php.is_top;
	bpf_loop(PHP_BETWEEN, php_pass_one, &s, 0);
	return s->managed.php.state;
}

/* Adds the next frame of the activation. Returns 1 to end the loop; with s->managed.is_whole, at
 * its first frame. A global function, so that the BPF verifier checks it once. */
__noinline int php_add_next(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	__u64 instruction;
	__u32 line, number;

	if (!s)
		return 1;
	if (s->managed.new_code && !php_send_code(s)) {
		s->managed.why = STACKD_COUNT_MANAGED_NAMELESS;
		return 1;
	}
	if (php_read(s, s->managed.php.next) != PHP_CODE ||
	    bpf_probe_read_user(s->managed.words, PHP_CODE_BYTES,
				(const void *)s->managed.php.func))
		return 1;
	instruction =
		s->managed.php.next == s->managed.regs.frame ? s->managed.regs.instruction : 0;
	/* What a class does for a method that it does not have is no function. */
	if (managed_word(s, s->managed.is.code_start) - s->managed.php.globals >=
	    s->managed.is.php.globals_bytes) {
		line = php_line(s, instruction);
		number = php_code(s);
		if (!number)
			return !s->managed.new_code; /* the next turn sends it, and comes back */
		if (s->managed.count >= MANAGED_MOST || !put_managed(s, number, line)) {
			s->managed.why = STACKD_COUNT_MANAGED_TOO_MANY;
			return 1;
		}
		s->managed.count++;
	}
	s->managed.php.next = s->managed.php.before;
	s->managed.is_whole = s->managed.php.is_top;
	return s->managed.is_whole;
}

static long php_add(__u32 turn, struct scratch **at)
{
	struct scratch *s = *at;
	long ends;

	(void)turn;
	if (!managed_has_room(s))
		return 1;
	ends = php_add_next(s);
	FORGET(ends);
	return ends || managed_is_circle(s, s->managed.php.next) ? 1 : 0;
}

/* Adds the frames of the activation whose last one is s->managed.php.next. Returns whether they are
 * proven. */
static __always_inline bool php_add_all(struct scratch *s)
{
	s->managed.why = STACKD_COUNT_MANAGED_BROKEN;
	s->managed.is_whole = 0;
	s->managed.may_part = 1;
	managed_begin_chain(s);
	bpf_loop(2 * MANAGED_MOST, php_add, &s, 0);
	if (!s->managed.is_whole)
		return false;
	s->managed.why = 0;
	return true;
}

/* --- activations ------------------------------------------------------------------------------ */

/* Finds the last frame of the process's thread. */
static __always_inline bool php_begin(struct scratch *s)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = state_at(s);

	s->managed.steps = 0;
	if (state)
		managed_begin_thread(state, task->start_time);
	if (!managed_begin_regs(s) || managed_rests(s))
		return false;
	s->managed.php.globals = s->managed.base + s->managed.is.runtime;
	if (bpf_probe_read_user(&s->managed.php.next, 8,
				(const void *)(s->managed.php.globals + s->managed.is.php.current)))
		return false;
	s->walk.managed = MANAGED_PHP;
	return true;
}

/* Returns whether the activation was interrupted before its registers are set, or after they are
 * restored. */
static __always_inline bool php_is_outside(const struct scratch *s)
{
	__u64 at = (s->location & STACKD_LOCATION_MASK) - s->managed.is.eval;

	if (at < s->managed.is.php.body_from)
		return true;
	for (int i = 0; i < STACKD_INTERPRETER_LEFT; i++) {
		if (at >= s->managed.is.left_from[i] && at < s->managed.is.left_to[i])
			return true;
	}
	return false;
}

/* Forgets the register with the instruction, if it may be another frame's. */
static __always_inline void php_judge_instruction(struct scratch *s)
{
	__u64 at = (s->location & STACKD_LOCATION_MASK) - s->managed.is.eval;

	for (int i = 0; i < STACKD_PHP_STALE; i++) {
		if (at >= s->managed.is.php.stale_from[i] && at < s->managed.is.php.stale_to[i])
			s->managed.regs.instruction = 0;
	}
}

/*
 * Adds the managed frames of an activation after the walk has stepped out of its native frame, to
 * the caller. Returns 1 to end the walk. A global function, so that the BPF verifier checks it
 * once.
 */
__noinline int php_frames(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	const struct mark *mark;
	int state;

	if (!s)
		return 0;
	s->end = s->walk.pc ? STACKD_END_ENTRY : end_at_zero(s);
	if (!s->walk.pc)
		return 1;
	if (s->walk.managed != MANAGED_NOT_MET && s->walk.managed != MANAGED_PHP)
		return 0;
	mark = managed_note_activation(s);
	s->managed.why = STACKD_COUNT_MANAGED_NO_THREAD;
	if (s->walk.managed == MANAGED_NOT_MET && !php_begin(s))
		return managed_give_up(s);
	if (mark->slot & MARK_EXACT && php_is_outside(s))
		return managed_in_transition(s);
	php_judge_instruction(s);
	state = php_find_state(s);
	FORGET(state);
	if (state == PHP_LEFT && s->managed.is_whole)
		return 0; /* it has left its first frame, and runs destructors for that */
	s->managed.why = STACKD_COUNT_MANAGED_ELSEWHERE;
	if (state == PHP_ELSEWHERE || !php_add_all(s))
		return managed_give_up(s);
	managed_count(s);
	return 0;
}

#endif
