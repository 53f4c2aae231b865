/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Adds the frames of Perl's functions to a walk, where it meets the interpreter.
 *
 * Perl's interpreter is a loop over operations, Perl_runops_standard(). Each of its activations
 * runs a function that C code has called, and those which call each other from there on. What runs
 * is noted in contexts: of functions, evaluated code, loops and blocks. They are in stacks (one
 * more is begun for a comparison of sort, an overloaded operator, a handler of a signal, and so
 * on), each of which leads to the one before:
 *
 *      native frames          contexts
 *      loop                   [ loop ] [ h ] [ g, from C ]    of the stack for sort
 *      S_sortcv, pp_sort
 *      loop                   [ f ] [ eval ]                  of the first stack
 *      perl_run
 *
 * Nothing in an activation's native frame leads to its contexts: its one register has the address
 * of the interpreter's state. So the contexts are divided: one that leads back to no operation is
 * the first of an activation. What kind it must be is known by the place from which the loop was
 * called (enum stackd_perl_site). The division is right if it comes out even: if no context of a
 * function is left where the thread's walk ends (perl_has_ended()). Until then, nothing is proven.
 *
 * What makes it uneven is looked for at the leaf, since it is there that functions are called and
 * left: a function that C code is about to run has its context already, and no activation
 * (perl_is_entering()). A block that is run again and again has its context between two runs, too
 * (perl_is_between()). An eval may begin an activation of its own, to which exceptions can jump;
 * what the activation before ran goes on in that one. And from Perl 5.40 on, C functions that C
 * code calls have activations, and no contexts (perl_is_in_c()).
 *
 * A function is known by its content each time, as PHP's.
 */
#ifndef MANAGED_PERL_BPF_H
#define MANAGED_PERL_BPF_H

#include "managed.bpf.h"
#include "managed_regs.bpf.h"
#include "managed_string.bpf.h"

/* Offsets in bytes, and numbers, of all versions that are read, as intrpvar.h, cop.h, cv.h, gv.h
 * and hv.h of Perl define them; where they are read, in words. */
#define PERL_OP		 1  /* in the interpreter's state: the operation that runs; */
#define PERL_SAVES	 5  /* the stack of saved values; */
#define PERL_COP	 26 /* the statement that runs; */
#define PERL_CONTEXTS	 28 /* the last stack of contexts */
#define PERL_STATE_BYTES 232
#define PERL_STACK_BYTES 48 /* of a stack of contexts */
#define PERL_STACK_SORT	 3  /* its kind */
#define PERL_CONTEXT	 104
#define PERL_OLDCOP	 2 /* in a context, */
#define PERL_RETOP	 6
#define PERL_CV		 9
#define PERL_COP_BYTES	 56
#define PERL_COP_FILE	 6
#define PERL_CV_BYTES	 96 /* of a function's body */
#define PERL_CV_STASH	 4
#define PERL_CV_START	 5
#define PERL_CV_GLOB	 7
#define PERL_CV_FLAGS	 11
#define PERL_CV_NAMED	 0x8000 /* a bit of the upper half */
#define PERL_CV_LEXICAL	 0x10000
#define PERL_GLOB_BYTES	 48
#define PERL_GLOB_NAME	 4
#define PERL_GLOB_STASH	 5
#define PERL_STASH_BYTES 64
#define PERL_STASH_NAME	 4
#define PERL_STASH_COUNT 7
#define PERL_IS_GLOB	 9 /* types of values */
#define PERL_IS_STASH	 12
#define PERL_IS_CV	 13
#define PERL_IS_FORMAT	 14
#define PERL_NAME_DATA	 8 /* in a name: its bytes, behind a hash and their number */
/* Kinds of contexts, and bits of these. */
#define PERL_NULL	0
#define PERL_SUB	9
#define PERL_FORMAT	10
#define PERL_EVAL	11
#define PERL_DEFER	13
#define PERL_MULTICALL	0x10
#define PERL_EVAL_BLOCK 0x40
#define PERL_REGEX_FAKE 0x80
#define PERL_OP_BYTES	40 /* of an operation: */
#define PERL_OP_TYPE	4  /* a word with its number, */
#define PERL_OP_TYPES	0x1ff
#define PERL_BY_CONTENT 2 /* in place of the address of a function, as PHP_BY_CONTENT */
#define PERL_CALLER_BYTES                                                                          \
	1024 /* of the native frame of a function that calls the loop, in which                    \
	      * it has an operation of its own */
#define PERL_LABEL(a, b, c, d, e, f, g)                                                            \
	((__u64)(a) | (__u64)(b) << 8 | (__u64)(c) << 16 | (__u64)(d) << 24 | (__u64)(e) << 32 |   \
	 (__u64)(f) << 40 | (__u64)(g) << 48)
#define PERL_MAIN      PERL_LABEL('(', 'm', 'a', 'i', 'n', ')', 0)
#define PERL_EVAL_CODE PERL_LABEL('(', 'e', 'v', 'a', 'l', ')', 0)
#define PERL_SORT      PERL_LABEL('(', 's', 'o', 'r', 't', ')', 0)
#define PERL_REGEX     PERL_LABEL('(', 'r', 'e', 'g', 'e', 'x', ')')
#define PERL_ANONYMOUS PERL_LABEL('(', 'a', 'n', 'o', 'n', ')', 0)
#define PERL_NAMELESS  (PERL_LABEL('_', '_', 'A', 'N', 'O', 'N', '_') | (__u64)'_' << 56)
#define PERL_DEFERRED  PERL_LABEL('(', 'd', 'e', 'f', 'e', 'r', ')')

/* What a context is the first one of. */
enum perl_first {
	PERL_NOT_FIRST,
	PERL_FIRST_CALL,  /* a function, or code, that C code has called */
	PERL_FIRST_BLOCK, /* a block that is run again and again */
	PERL_FIRST_MAIN,  /* the program: behind the last context */
};

/* --- functions -------------------------------------------------------------------------------- */

/* Reads the body of a value of one type into s->managed.words. Returns whether it is of that
 * type. */
static __always_inline bool perl_body(struct scratch *s, __u64 value, __u32 type, __u32 bytes)
{
	if (bpf_probe_read_user(s->managed.words, 16, (const void *)value) ||
	    (s->managed.words[1] >> 32 & 255) != type)
		return false;
	return !bpf_probe_read_user(s->managed.words, bytes, (const void *)s->managed.words[0]);
}

/* Mixes a name into a hash. Returns 0 if it cannot be read. A global function, so that the BPF
 * verifier checks it once. */
__noinline __u64 perl_hash(struct scratch *given, __u64 hash, __u64 name)
{
	struct scratch *s = CHECKED(given);

	if (!s || bpf_probe_read_user(s->managed.text, PERL_NAME_DATA, (const void *)name))
		return 0;
	return string_hash(s, hash, name + PERL_NAME_DATA, s->managed.text[0] >> 32);
}

/* Returns what the name of a source file is without its number, if that is of text that was
 * evaluated:
 * "(eval 7)", or "(re_eval 7)" of code in a pattern. Each text has another number. 0: it is none.
 */
static __always_inline __u64 perl_numbered(__u64 begins)
{
	if ((begins & 0xffffffffffff) == PERL_LABEL('(', 'e', 'v', 'a', 'l', ' ', 0))
		return PERL_EVAL_CODE;
	return begins == (PERL_LABEL('(', 'r', 'e', '_', 'e', 'v', 'a') | (__u64)'l' << 56)
		       ? PERL_REGEX
		       : 0;
}

/* Makes a text of a label. */
static __always_inline void perl_put_label(struct stackd_managed_text *text, __u64 label)
{
	*(__u64 *)text->data = label;
	text->width = STACKD_MANAGED_UTF8;
	text->bytes = text->length = label >> 48 ? 7 : 6;
}

/* Mixes the name of the source file into a hash, once for those in a row of the same file. Returns
 * 0 if it cannot be read. */
__noinline __u64 perl_file_hash(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	__u64 file, numbered;
	long got;

	if (!s)
		return 0;
	file = s->managed.function.file;
	if (s->managed.file_of == s->record.header.time_ns && s->managed.file_text == file)
		return s->managed.file_hash;
	s->managed.file_of = s->record.header.time_ns;
	s->managed.file_text = file;
	got = bpf_probe_read_user_str(s->managed.text, STACKD_MANAGED_TEXT, (const void *)file);
	numbered = perl_numbered(s->managed.text[0]);
	if (numbered)
		s->managed.file_hash = mix(numbered);
	else
		s->managed.file_hash = got > 0 ? string_hash(s, 0, file, got - 1) : 0;
	return s->managed.file_hash;
}

/* Finds the name of a package, whose address is given, s->managed.perl.package: PERL_NAMELESS if it
 * was deleted. Returns whether it is one. */
static __always_inline bool perl_package(struct scratch *s, __u64 stash)
{
	__u64 name;

	s->managed.perl.package = PERL_NAMELESS;
	if (!stash)
		return true;
	if (!perl_body(s, stash, PERL_IS_STASH, PERL_STASH_BYTES))
		return false;
	name = s->managed.words[PERL_STASH_NAME];
	if (s->managed.words[PERL_STASH_COUNT] >> 32 &&
	    bpf_probe_read_user(&name, 8, (const void *)name))
		return false;
	s->managed.perl.package = name ?: PERL_NAMELESS;
	return true;
}

/* Finds the names of the function s->managed.perl.cv, and the line of its first statement. Returns
 * whether it is one. */
static __always_inline bool perl_names(struct scratch *s)
{
	__u64 cv = s->managed.perl.cv, glob, stash, start;
	bool is_lexical = false;

	if (!perl_body(s, cv, s->managed.perl.type, PERL_CV_BYTES))
		return false;
	glob = s->managed.words[PERL_CV_GLOB];
	start = s->managed.words[PERL_CV_START];
	stash = s->managed.words[PERL_CV_STASH];
	if (s->managed.words[PERL_CV_FLAGS] >> 32 & PERL_CV_NAMED) {
		s->managed.function.label = glob;
		is_lexical = s->managed.words[PERL_CV_FLAGS] >> 32 & PERL_CV_LEXICAL;
	} else if (glob) {
		if (!perl_body(s, glob, PERL_IS_GLOB, PERL_GLOB_BYTES))
			return false;
		s->managed.function.label = s->managed.words[PERL_GLOB_NAME];
		stash = s->managed.words[PERL_GLOB_STASH];
	} else {
		s->managed.perl.label = PERL_ANONYMOUS;
	}
	if (!bpf_probe_read_user(s->managed.words, PERL_OP_BYTES, (const void *)start) &&
	    (s->managed.words[PERL_OP_TYPE] & PERL_OP_TYPES) - s->managed.is.perl.nextstate < 2)
		s->managed.function.first_line = s->managed.words[PERL_OP_TYPE] >> 32;
	s->managed.perl.package = 0;
	return is_lexical || perl_package(s, stash);
}

/* Copies the name of a function behind its package's. */
static __always_inline void perl_name(struct scratch *s, struct stackd_managed_text *text)
{
	__u64 at = 0, package = s->managed.perl.package;

	string_none(text);
	if (s->managed.perl.label) {
		perl_put_label(text, s->managed.perl.label);
		return;
	}
	if (package == PERL_NAMELESS) {
		*(__u64 *)text->data = package;
		at = string_put_colons(text, sizeof(package));
	} else if (package &&
		   !bpf_probe_read_user(s->managed.text, PERL_NAME_DATA, (const void *)package)) {
		string_append(text, 0, package + PERL_NAME_DATA, s->managed.text[0] >> 32);
		at = string_put_colons(text, text->bytes);
	}
	if (!bpf_probe_read_user(s->managed.text, PERL_NAME_DATA,
				 (const void *)s->managed.function.label))
		string_append(text, at, s->managed.function.label + PERL_NAME_DATA,
			      s->managed.text[0] >> 32);
}

/* Copies the name of a source file. */
static __always_inline void perl_file(struct stackd_managed_text *text, __u64 file)
{
	__u64 begins = 0;

	string_none(text);
	bpf_probe_read_user(&begins, sizeof(begins), (const void *)file);
	begins = perl_numbered(begins);
	if (begins)
		perl_put_label(text, begins);
	else
		string_copy_to_nul(text, file);
}

/* Sends the names of the function that was read last, and gives it a number. Returns 0 if the ring
 * has no room. A separate function, whose stack is not in use when contexts are read. */
__noinline int perl_send_code(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct stackd_managed_record *record;

	if (!s)
		return 0;
	record = &s->managed_record;
	record->code.first_line = s->managed.function.first_line;
	record->code.line_bytes = 0;
	perl_file(&record->code.file, s->managed.function.file);
	perl_name(s, &record->code.name);
	return managed_note_sent(
		s, managed_send_record(s, __builtin_offsetof(struct stackd_managed_record, lines)));
}

/* Returns the number of the function, or block, whose context was read last, and sets
 * s->managed.function.line; 0 as managed_code(). A global function, so that the BPF verifier checks
 * it once. */
__noinline int perl_function(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	__u64 noted, hash;

	if (!s || bpf_probe_read_user(s->managed.words, PERL_COP_BYTES,
				      (const void *)s->managed.perl.cop))
		return 0;
	s->managed.function.line = s->managed.words[PERL_OP_TYPE] >> 32;
	s->managed.function.file = s->managed.words[PERL_COP_FILE];
	/* Each statement may have a copy of its own of its file's name. */
	noted = mix(mix(s->managed.perl.label ?: s->managed.perl.cv) ^ s->managed.function.file);
	if (managed_is_repeated(s, noted))
		return s->managed.last_number;
	s->managed.function.first_line = 0;
	if (!s->managed.perl.label && !perl_names(s))
		return 0;
	hash = perl_file_hash(s);
	if (!hash)
		return 0;
	hash = mix(hash ^ s->managed.function.first_line) | 1;
	if (s->managed.perl.label)
		return managed_by_content(s, PERL_BY_CONTENT, mix(hash ^ s->managed.perl.label),
					  noted);
	hash = perl_hash(s, hash, s->managed.function.label);
	if (hash && s->managed.perl.package == PERL_NAMELESS)
		hash = mix(hash ^ PERL_NAMELESS) | 1;
	else if (hash && s->managed.perl.package)
		hash = perl_hash(s, hash, s->managed.perl.package);
	return hash ? managed_by_content(s, PERL_BY_CONTENT, hash, noted) : 0;
}

/* --- contexts --------------------------------------------------------------------------------- */

/* What there is next. */
enum perl_kind {
	PERL_BROKEN, /* it cannot be read */
	PERL_PASSED, /* nothing that is shown: it was passed */
	PERL_CODE,   /* a function, a block or other code, as s->managed.perl says */
};

/* Goes on with the stack of contexts at an address. */
static __always_inline bool perl_take_stack(struct scratch *s, __u64 at)
{
	if (bpf_probe_read_user(s->managed.words, PERL_STACK_BYTES, (const void *)at))
		return false;
	s->managed.perl.stack = s->managed.words[1];
	s->managed.perl.before = s->managed.words[2];
	s->managed.perl.next = (__s32)s->managed.words[4];
	s->managed.perl.kind = s->managed.words[5] >> 32;
	return true;
}

/* Passes the end of a stack of contexts. What is behind the first stack is the program. */
static __always_inline enum perl_kind perl_pass_stack(struct scratch *s)
{
	__u64 before = s->managed.perl.before;

	if (before)
		return !managed_is_circle(s, before) && perl_take_stack(s, before) ? PERL_PASSED
										   : PERL_BROKEN;
	s->managed.perl.first = PERL_FIRST_MAIN;
	s->managed.perl.label = PERL_MAIN;
	s->managed.perl.oldcop = 0;
	return PERL_CODE;
}

/* Judges the context whose words were read. */
static __always_inline enum perl_kind perl_judge(struct scratch *s)
{
	__u32 kind = s->managed.words[0] & 15, bits = s->managed.words[0] & 0xf0;
	bool is_first = !s->managed.perl.retop;

	s->managed.perl.label = 0;
	s->managed.perl.type = PERL_IS_CV;
	s->managed.perl.first = is_first ? PERL_FIRST_CALL : PERL_NOT_FIRST;
	if (kind == PERL_FORMAT) {
		s->managed.perl.type = PERL_IS_FORMAT;
	} else if (kind == PERL_EVAL && !(bits & PERL_EVAL_BLOCK)) {
		s->managed.perl.label = PERL_EVAL_CODE;
	} else if (kind == PERL_SUB && bits & PERL_MULTICALL) {
		s->managed.perl.first = PERL_FIRST_BLOCK;
		if (bits & PERL_REGEX_FAKE)
			s->managed.perl.label = PERL_REGEX;
	} else if (kind == PERL_DEFER ||
		   (kind == PERL_NULL && s->managed.perl.kind == PERL_STACK_SORT)) {
		s->managed.perl.first = PERL_FIRST_BLOCK;
		s->managed.perl.label = kind == PERL_DEFER ? PERL_DEFERRED : PERL_SORT;
	} else if (kind > PERL_DEFER) {
		return PERL_BROKEN;
	} else if (kind != PERL_SUB) {
		s->managed.perl.next--;
		return PERL_PASSED;
	}
	return PERL_CODE;
}

#define PERL_READ (4 * MANAGED_MOST) /* contexts and stacks of these that a walk reads, at most */

/* Reads the next context. Returns enum perl_kind. A global function, so that the BPF verifier
 * checks it once. */
__noinline int perl_read(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	__s64 next;

	if (!s)
		return PERL_BROKEN;
	if (++s->managed.perl.n_read > PERL_READ) {
		s->managed.steps = MANAGED_LONG;
		return PERL_BROKEN;
	}
	next = s->managed.perl.next;
	if (next < 0)
		return perl_pass_stack(s);
	if (bpf_probe_read_user(s->managed.words, PERL_CONTEXT,
				(const void *)(s->managed.perl.stack + next * PERL_CONTEXT)))
		return PERL_BROKEN;
	s->managed.perl.oldcop = s->managed.words[PERL_OLDCOP];
	s->managed.perl.retop = s->managed.words[PERL_RETOP];
	s->managed.perl.cv = s->managed.words[PERL_CV];
	s->managed.perl.saved = s->managed.words[0] >> 32;
	return perl_judge(s);
}

static long perl_peek_one(__u32 turn, struct scratch **at)
{
	struct scratch *s = *at;

	(void)turn;
	s->managed.perl.peeked = perl_read(s);
	return s->managed.perl.peeked != PERL_PASSED;
}

#define PERL_PEEKED 1024 /* loops and blocks that are passed, at most */

/* Reads the next context that is not passed, and stays there. Returns enum perl_kind. A global
 * function, so that the BPF verifier checks it once. */
__noinline int perl_peek(struct scratch *given)
{
	struct scratch *s = CHECKED(given);

	if (!s)
		return PERL_BROKEN;
	s->managed.perl.peeked = PERL_BROKEN;
	bpf_loop(PERL_PEEKED, perl_peek_one, &s, 0);
	return s->managed.perl.peeked;
}

/* Returns the first operation of the function whose context was read last; 0: it is none. */
static __always_inline __u64 perl_start(struct scratch *s)
{
	if (s->managed.perl.label || !s->managed.perl.cv ||
	    !perl_body(s, s->managed.perl.cv, s->managed.perl.type, PERL_CV_BYTES))
		return 0;
	return s->managed.words[PERL_CV_START];
}

/* Returns whether the operation that runs is not of a function, but C code has it on the stack up
 * to an address, to call a function. */
static __always_inline bool perl_is_on_stack(const struct scratch *s, __u64 to)
{
	return s->managed.perl.op - s->window_base < to - s->window_base;
}

/* Returns whether the innermost function, whose context was read last, has begun. Until then, the
 * statement is its caller's. */
static __always_inline bool perl_has_begun(struct scratch *s)
{
	__u64 op = s->managed.perl.op, start = perl_start(s), next, type;

	if (start && op == start)
		return s->managed.perl.cop == start;
	if (s->managed.perl.cop != s->managed.perl.oldcop ||
	    (s->managed.perl.label && s->managed.perl.label != PERL_EVAL_CODE))
		return true;
	if (!s->managed.perl.retop && perl_is_on_stack(s, s->managed.cfa + PERL_CALLER_BYTES))
		return false;
	if (bpf_probe_read_user(s->managed.words, PERL_OP_BYTES, (const void *)op))
		return true;
	next = s->managed.words[0];
	type = s->managed.words[PERL_OP_TYPE] & PERL_OP_TYPES;
	return next != s->managed.perl.retop &&
	       (!s->managed.perl.label || type - s->managed.is.perl.nextstate >= 2);
}

/* Returns whether the innermost function is being replaced by another one, so that it need not be
 * known of which the statement is. */
static __always_inline bool perl_is_replacing(struct scratch *s)
{
	return !bpf_probe_read_user(s->managed.words, PERL_OP_BYTES,
				    (const void *)s->managed.perl.op) &&
	       (s->managed.words[PERL_OP_TYPE] & PERL_OP_TYPES) == s->managed.is.perl.go_to;
}

/* Returns whether the function whose context was read last has returned, and is being freed, with
 * what only it held. */
static __always_inline bool perl_has_left(const struct scratch *s)
{
	return !s->managed.perl.label && !s->managed.perl.cv;
}

/* Adds the function whose context was read last. Returns 0 if it cannot. */
static __always_inline bool perl_put(struct scratch *s)
{
	__u32 number = perl_function(s), line = s->managed.function.line;

	if (!number)
		return false;
	if (line >= STACKD_MANAGED_MASK || (s->managed.perl.is_top && perl_is_replacing(s)))
		line = 0;
	if (s->managed.count >= MANAGED_MOST || !put_managed(s, number, line)) {
		s->managed.why = STACKD_COUNT_MANAGED_TOO_MANY;
		return false;
	}
	s->managed.count++;
	return true;
}

/* Notes which operation the next activation runs, if the context that was read last tells: C code
 * saves it before it calls a function. */
static __always_inline void perl_note_op(struct scratch *s)
{
	__u64 at = s->managed.perl.saves + 8 * (__u64)s->managed.perl.saved;

	s->managed.perl.is_op_known =
		s->managed.perl.first == PERL_FIRST_CALL &&
		!bpf_probe_read_user(s->managed.words, 16, (const void *)(at - 16)) &&
		s->managed.words[1] == s->managed.is.perl.saved_op;
	s->managed.perl.op = s->managed.perl.is_op_known ? s->managed.words[0] : 0;
}

/* Adds, or passes, the next function of the activation. Returns 1 to end the loop; with
 * s->managed.is_whole, at its first one. A global function, so that the BPF verifier checks it
 * once. */
__noinline int perl_add_next(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	int kind;

	if (!s)
		return 1;
	if (s->managed.new_code && !perl_send_code(s)) {
		s->managed.why = STACKD_COUNT_MANAGED_NAMELESS;
		return 1;
	}
	kind = perl_read(s);
	FORGET(kind);
	if (kind != PERL_CODE)
		return kind != PERL_PASSED;
	if (!s->managed.perl.is_hidden && !perl_has_left(s) &&
	    (!s->managed.perl.is_top || perl_has_begun(s)) && !perl_put(s))
		return !s->managed.new_code; /* the next turn sends it, and comes back */
	s->managed.perl.is_top = 0;
	s->managed.perl.found++;
	s->managed.perl.cop = s->managed.perl.oldcop;
	if (s->managed.perl.first != PERL_FIRST_MAIN)
		s->managed.perl.next--;
	/* The last call in a block leads back to nothing as well. */
	if (s->managed.perl.first == PERL_FIRST_CALL && s->managed.perl.site == STACKD_PERL_BLOCK)
		return 0;
	s->managed.is_whole = s->managed.perl.first != PERL_NOT_FIRST;
	if (s->managed.is_whole)
		perl_note_op(s);
	return s->managed.is_whole;
}

static long perl_add(__u32 turn, struct scratch **at)
{
	struct scratch *s = *at;
	long ends;

	(void)turn;
	if (!managed_has_room(s))
		return 1;
	ends = perl_add_next(s);
	FORGET(ends);
	return ends ? 1 : 0;
}

/* Adds, or passes, what one activation runs, which is called from there. Returns enum perl_first of
 * the first context of it; PERL_NOT_FIRST: it is not known. A global function, so that the BPF
 * verifier checks it once. */
__noinline int perl_take(struct scratch *given, __u32 site, __u32 is_hidden)
{
	struct scratch *s = CHECKED(given);

	if (!s)
		return PERL_NOT_FIRST;
	s->managed.why = STACKD_COUNT_MANAGED_BROKEN;
	s->managed.is_whole = 0;
	s->managed.may_part = !is_hidden;
	s->managed.perl.site = site;
	s->managed.perl.is_hidden = is_hidden;
	s->managed.perl.found = 0;
	managed_begin_chain(s);
	if (bpf_loop(2 * MANAGED_MOST, perl_add, &s, 0) >= 2 * MANAGED_MOST)
		s->managed.steps = MANAGED_LONG;
	if (!s->managed.is_whole)
		return PERL_NOT_FIRST;
	s->managed.why = 0;
	return s->managed.perl.first;
}

/* Returns whether nothing is left at the end of a walk. */
__noinline int perl_has_ended(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	int first;

	if (!s)
		return 0;
	first = perl_take(s, STACKD_PERL_RUN, 1);
	FORGET(first);
	return first == PERL_FIRST_MAIN && s->managed.perl.found == 1;
}

/* --- activations ------------------------------------------------------------------------------ */

/* Returns from where the activation was called that the walk has stepped out of. What is not in the
 * interpreter's file runs blocks. */
static __always_inline __u32 perl_site(const struct scratch *s)
{
	__u64 start = s->managed.pc - (s->location & STACKD_LOCATION_MASK) + s->managed.is.eval;
	__s64 at = s->walk.pc - start;

	for (__u32 i = 0; i < STACKD_PERL_SITES; i++) {
		if (s->managed.is.perl.sites[i] != at ||
		    i >= s->managed.is.perl.ends[STACKD_PERL_RUN])
			continue;
		return (i >= s->managed.is.perl.ends[STACKD_PERL_CALL]) +
		       (i >= s->managed.is.perl.ends[STACKD_PERL_BLOCK]) +
		       (i >= s->managed.is.perl.ends[STACKD_PERL_SCOPE]);
	}
	return STACKD_PERL_BLOCK;
}

/* Returns whether a context is the first one of an activation that is called from there. */
static __always_inline bool perl_fits(__u32 site, int first)
{
	return (site == STACKD_PERL_CALL && first == PERL_FIRST_CALL) ||
	       (site == STACKD_PERL_BLOCK && first == PERL_FIRST_BLOCK) ||
	       (site == STACKD_PERL_RUN && first == PERL_FIRST_MAIN);
}

/* Finds the state of the interpreter that runs. */
static __always_inline bool perl_begin(struct scratch *s)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = state_at(s);

	managed_begin_chain(s);
	s->managed.perl.n_read = 0;
	if (state)
		managed_begin_thread(state, task->start_time);
	if (!managed_begin_regs(s) || managed_rests(s))
		return false;
	s->managed.perl.self = s->managed.regs.frame;
	if (!s->managed.perl.self || bpf_probe_read_user(s->managed.words, PERL_STATE_BYTES,
							 (const void *)s->managed.perl.self))
		return false;
	s->managed.perl.op = s->managed.words[PERL_OP];
	s->managed.perl.saves = s->managed.words[PERL_SAVES];
	s->managed.perl.cop = s->managed.words[PERL_COP];
	s->managed.perl.is_top = 1;
	s->managed.perl.is_over = 0;
	if (!perl_take_stack(s, s->managed.words[PERL_CONTEXTS]))
		return false;
	s->walk.managed = MANAGED_PERL;
	return true;
}

/* Returns whether the next context is of a function that C code is calling: it was made, and the
 * function's first statement has not begun; or its code is being compiled. */
static __always_inline bool perl_is_new(struct scratch *s)
{
	__u64 compiling = s->managed.perl.self + s->managed.is.perl.compiling;
	int kind = perl_peek(s);

	FORGET(kind);
	return kind == PERL_CODE && s->managed.perl.first == PERL_FIRST_CALL &&
	       (s->managed.perl.cop == s->managed.perl.oldcop ||
		(s->managed.perl.label && s->managed.perl.cop == compiling));
}

/* Returns whether there is a context already, but no activation: of a function that C code is about
 * to call. A global function, so that the BPF verifier checks it once. */
__noinline int perl_is_entering(struct scratch *given)
{
	struct scratch *s = CHECKED(given);

	if (!s || s->managed.is.perl.calls_in_loop || !perl_is_new(s))
		return 0;
	if (s->managed.perl.label || perl_is_on_stack(s, s->managed.cfa))
		return 1;
	/* If the activation were that function's, one native frame would be above it. */
	return s->n_new > 2 && s->managed.perl.op == perl_start(s);
}

/* Returns whether no activation runs the block whose context is the next one: C code is between two
 * runs of it. Then no operation runs; or the innermost activation, whose kind is given, is none
 * that runs blocks. A global function, so that the BPF verifier checks it once. */
__noinline int perl_is_between(struct scratch *given, __u32 site)
{
	struct scratch *s = CHECKED(given);
	int kind;

	if (!s ||
	    ((s->managed.perl.op || !s->managed.perl.is_op_known) &&
	     (!s->managed.perl.is_top || (site != STACKD_PERL_CALL && site != STACKD_PERL_RUN))))
		return 0;
	kind = perl_peek(s);
	FORGET(kind);
	return kind == PERL_CODE && s->managed.perl.first == PERL_FIRST_BLOCK;
}

/* Returns whether the activation runs an operation of the C code that has called it: it is about to
 * call a function, or that is a C function, which has no context. A global function, so that the
 * BPF verifier checks it once. */
__noinline int perl_is_in_c(struct scratch *given)
{
	struct scratch *s = CHECKED(given);

	return s && s->managed.perl.op - s->managed.cfa < PERL_CALLER_BYTES && !perl_is_new(s);
}

/* Returns whether the activation was interrupted before its register is set, or after it is
 * restored. */
static __always_inline bool perl_is_outside(struct scratch *s, __u32 site)
{
	__u64 at = (s->location & STACKD_LOCATION_MASK) - s->managed.is.eval;
	bool is_before = at < s->managed.is.perl.body_from, is_behind = false;

	for (int i = 0; i < STACKD_INTERPRETER_LEFT; i++) {
		if (at >= s->managed.is.left_from[i] && at < s->managed.is.left_to[i])
			is_behind = true;
	}
	s->managed.perl.owed_site = site;
	if (site != STACKD_PERL_SCOPE && (is_before || (is_behind && site == STACKD_PERL_BLOCK)))
		s->managed.perl.owed_of = s->record.header.time_ns;
	return is_before || is_behind;
}

/* Passes what is of no activation that the walk will meet, at the first one whose register is
 * known. Returns whether it is known. */
static __always_inline bool perl_settle(struct scratch *s, const struct mark *mark)
{
	__u32 site = STACKD_PERL_CALL;
	int first;

	s->managed.perl.is_over = !s->managed.perl.op && mark->slot & MARK_EXACT;
	s->managed.perl.is_op_known = !s->managed.perl.is_over;
	if (s->managed.perl.owed_of == s->record.header.time_ns)
		site = s->managed.perl.owed_site;
	else if (!perl_is_entering(s))
		return true;
	first = perl_take(s, site, 1);
	FORGET(first);
	return first != PERL_NOT_FIRST;
}

/* Adds what the activation runs. Returns whether it is what it must be. */
static __always_inline bool perl_add_all(struct scratch *s, __u32 site)
{
	int first = perl_take(s, site, 0);

	FORGET(first);
	if (perl_fits(site, first))
		return true;
	if (first != PERL_NOT_FIRST)
		s->managed.why = STACKD_COUNT_MANAGED_ELSEWHERE;
	return false;
}

/*
 * Adds the managed frames of an activation after the walk has stepped out of its native frame, to
 * the caller. Returns 1 to end the walk. A global function, so that the BPF verifier checks it
 * once.
 */
__noinline int perl_frames(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	const struct mark *mark;
	bool is_first;
	__u32 site;

	if (!s)
		return 0;
	s->end = s->walk.pc ? STACKD_END_ENTRY : end_at_zero(s);
	if (!s->walk.pc)
		return 1;
	if (s->walk.managed != MANAGED_NOT_MET && s->walk.managed != MANAGED_PERL)
		return 0;
	mark = managed_note_activation(s);
	site = perl_site(s);
	is_first = s->walk.managed == MANAGED_NOT_MET;
	if (is_first && mark->slot & MARK_EXACT && perl_is_outside(s, site))
		return managed_in_transition(s);
	s->managed.why = STACKD_COUNT_MANAGED_NO_THREAD;
	if (is_first && (!perl_begin(s) || !perl_settle(s, mark)))
		return managed_give_up(s);
	s->managed.why = STACKD_COUNT_MANAGED_ELSEWHERE;
	if (s->managed.regs.frame != s->managed.perl.self)
		return managed_give_up(s);
	if (perl_is_between(s, site))
		perl_take(s, STACKD_PERL_BLOCK, 1);
	s->managed.why = STACKD_COUNT_MANAGED_ELSEWHERE;
	if (site == STACKD_PERL_SCOPE)
		return 0;
	if (s->managed.perl.is_over && site == STACKD_PERL_CALL) {
		s->managed.perl.is_over = 0;
		return managed_in_transition(s);
	}
	s->managed.perl.is_over = 0;
	if (perl_is_in_c(s)) {
		s->managed.perl.op = s->managed.perl.is_op_known = 0;
		return 0;
	}
	if (!perl_add_all(s, site))
		return managed_give_up(s);
	managed_count(s);
	return 0;
}

#endif
