/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * CPython's, Ruby's, PHP's and Perl's frames: what the kernel half reads them by, and what it sends
 * of them.
 *
 * A file with the interpreter (an executable, or a library) has a struct stackd_interpreter, which
 * the process that compiles the file's table finds in the file. The rules of the function that runs
 * bytecode are of the kind STACKD_CFA_EVAL (or STACKD_CFA_EVAL_REGS) there. Where a walk meets such
 * a rule, it adds the frames of Python functions that this activation of the interpreter runs, leaf
 * first, and then the activation's own frame. Such a managed frame is a location of the file
 * STACKD_FILE_MANAGED:
 *
 *   code object's number << 20 | instruction, counted in units of two bytes; of others: line
 *
 * A code object gets its number when it is first met. Its names then go into the ring, as a
 * MANAGED record, before the sample: so they are known even if the process ends right after it.
 */
#ifndef STACKD_MANAGED_H
#define STACKD_MANAGED_H

#include <linux/types.h>

/* How the managed frames of one activation are found, and where they end. */
enum stackd_interpreter_form {
	STACKD_INTERPRETER_NONE,	 /* they are not read: the version, or the build, is none of
					  * those below */
	STACKD_INTERPRETER_CFRAME_ENTRY, /* 3.11: from the activation's _PyCFrame to a frame that is
					  * marked as its first */
	STACKD_INTERPRETER_CFRAME_OWNER, /* 3.12: up to a frame that the C stack owns, which is none
					  */
	STACKD_INTERPRETER_OWNER, /* from 3.13 on: likewise, but from the thread's last frame; there
				   * is no _PyCFrame */
	STACKD_INTERPRETER_OBJECT, /* 3.8 to 3.10: each activation has one frame, an object in the
				    * heap; nothing in the activation leads to it */
	STACKD_INTERPRETER_RUBY,   /* Ruby: from the control frame in one of the activation's
				    * registers to one that is marked as its first */
	STACKD_INTERPRETER_PHP,	   /* PHP: likewise, but the frames are a chain */
	STACKD_INTERPRETER_PERL, /* Perl: an activation's register has the interpreter's state, and
				  * the state stacks of contexts; the end of the walk proves which
				  * of these each activation has */
};

/* Where the versions of code objects are counted: the next one's. */
enum stackd_versions_kind {
	STACKD_VERSIONS_NONE,		/* not known */
	STACKD_VERSIONS_OF_FILE,	/* a variable of the file, for all interpreters */
	STACKD_VERSIONS_OF_INTERPRETER, /* in PyInterpreterState */
};

#define STACKD_INTERPRETER_LEFT	  3 /* ranges of code */
#define STACKD_INTERPRETER_PUSHES 8

/* What the kernel half reads Ruby's control frames by, besides the fields of struct
 * stackd_interpreter for code, which are offsets in rb_iseq_constant_body. */
struct stackd_ruby {
	__s64 local_words; /* address of two words, the number of the module of thread-local
			    * variables and an offset in its memory, less that of the file's offset
			    * 0 as its code is mapped; 0: there are none, */
	__s64 local;	   /* and the variable is at this distance from the thread pointer */
	__u32 body_from;   /* in the function that runs bytecode: where a register has the control
			    * frame */
	__u16 body_bytes;  /* of stack that the function has from there on, at least */
	__u16 frame_bytes; /* of a control frame */
	__u8 has_length;   /* the third word of every string is its length */
	__u8 has_line;	   /* a function's first line is a number of 4 bytes, not an object */
	__u8 pad[6];
};

#define STACKD_PHP_STALE 24

/* What PHP's frames are read by, besides the fields for code, which are offsets in zend_op_array.
 */
struct stackd_php {
	__u32 globals_bytes; /* of executor_globals, whose address is stackd_interpreter.runtime; */
	__u16 current;	     /* in it: the thread's last frame, */
	__u16 thrown;	     /* and the instruction that has thrown an exception */
	__u16 code_count;    /* in zend_op_array: how many instructions it has */
	__u16 body_from;     /* in the function that runs bytecode: where both registers are set */
	__u32 n_stale;	     /* so far behind that function's start, code where the frame's register
			      * is set to the caller, and the instruction's is not yet */
	__u16 stale_from[STACKD_PHP_STALE], stale_to[STACKD_PHP_STALE];
};

#define STACKD_PERL_SITES 20

/* From where Perl's loop over operations is called, by how contexts have what it runs. */
enum stackd_perl_site {
	STACKD_PERL_CALL,  /* a call of a function: the next context that leads back to nothing */
	STACKD_PERL_BLOCK, /* a block that is run again and again: that context is marked so */
	STACKD_PERL_SCOPE, /* a place to which exceptions jump: what the loop before ran goes on */
	STACKD_PERL_RUN,   /* the program: what is left */
	STACKD_PERL_SITE_KINDS
};

/* What Perl's contexts are read by. */
struct stackd_perl {
	__s32 sites[STACKD_PERL_SITES]; /* return addresses of these calls, from the loop's start;
					 * first those of the first kind, */
	__u8 ends[STACKD_PERL_SITE_KINDS]; /* before this index, and so on */
	__u16 body_from;		   /* in the loop: where the register is set */
	__u16 nextstate, go_to;		   /* numbers of operations, */
	__u16 saved_op;			   /* and of an entry of the stack of saved values */
	__u16 compiling;		   /* in the state: the statement that is compiled */
	__u8 calls_in_loop; /* a function that is called from C is called in a loop of its own, even
			     * if it is written in C */
	__u8 pad;
};

/* Offsets are in bytes. */
struct stackd_interpreter {
	__s64 runtime;		/* address of _PyRuntime, less that of the file's offset 0 as its
				 * code is mapped */
	__u64 eval;		/* file offset of the function that runs bytecode */
	__u32 version;		/* 0x030b02: 3.11.2; 0: the file has no interpreter */
	__u16 form;		/* enum stackd_interpreter_form */
	__u16 interpreters;	/* in _PyRuntime: the first interpreter */
	__u16 interpreter_next; /* in PyInterpreterState */
	__u16 threads;		/* the first thread */
	__u16 thread_next;	/* in PyThreadState */
	__u16 thread_id;	/* the thread pointer, as pthread_self() gives it */
	__u16 thread_frame;	/* the _PyCFrame of the last activation, or its last frame */
	__u16 cframe_frame;	/* in _PyCFrame: the last managed frame; */
	__u16 cframe_previous;	/* the activation before */
	__u16 frame_code; /* in _PyInterpreterFrame; from 3.14 on with tags in its last bits */
	__u16 frame_previous;
	__u16 frame_instruction;
	__u16 frame_end;       /* a byte that says whether the activation's frames end here */
	__u16 code_first_line; /* in PyCodeObject; 4 bytes */
	__u16 code_file;
	__u16 code_name;    /* qualified */
	__u16 code_lines;   /* the table of lines */
	__u16 code_start;   /* its instructions */
	__u16 text_ascii;   /* size of the header of a string that has only ASCII characters */
	__u16 text_other;   /* size of the header of any other string */
	__u16 code_version; /* 4 bytes, unique to the code object, or 0; offset 0: no such field */
	__u16 language;	    /* enum stackd_runtime */
	/* In the code of the function that runs bytecode: from linked_from on, the thread's state
	 * leads to the new activation; up to linked_to, that activation's own links are not set.
	 * OBJECT: up to linked_to, the function has not put its frame into the thread's chain yet;
	 * from left_from[i] to left_to[i], it has taken its frame out of the chain. */
	__u16 linked_from;
	__u16 linked_to;
	__u32 runtime_bytes;	  /* size of _PyRuntime */
	__u32 index_shift;	  /* an instruction's index is the frame's >> index_shift */
	__u16 thread_interpreter; /* in PyThreadState: its interpreter, */
	__u16 thread_stack;	  /* and the memory of its last frames; 0: not known */
	/* By counter_kind: less the address of the file's offset 0 as its code is mapped, or in
	 * PyInterpreterState. 4 bytes; 0: it has overflowed. */
	__s64 counter;
	__u32 counter_kind; /* enum stackd_versions_kind */
	__u32 left_from[STACKD_INTERPRETER_LEFT], left_to[STACKD_INTERPRETER_LEFT];
	__u16 frame_function;	/* in _PyInterpreterFrame: the function object, */
	__u16 function_version; /* and in that, 4 bytes, unique to the function and its code object,
				 * or 0; offset 0: no such field, or code_version is used */
	/* So far behind `eval`, code where the last frame does not lead to its caller yet. */
	__u32 n_pushes;
	__u32 pushed_from[STACKD_INTERPRETER_PUSHES], pushed_to[STACKD_INTERPRETER_PUSHES];
	__u8 frame_register; /* DWARF numbers of the registers in which the function that runs */
	__u8 instruction_register; /* bytecode has its frame (Ruby, PHP; Perl: state) and
				    * instruction (PHP) */
	__u16 pad;
	union {
		struct stackd_ruby ruby;
		struct stackd_php php;
		struct stackd_perl perl;
	};
};

#define STACKD_FILE_MANAGED	0xffffu
#define STACKD_MANAGED_SHIFT	20
#define STACKD_MANAGED_MASK	((1u << STACKD_MANAGED_SHIFT) - 1)
#define STACKD_MANAGED_UNPROVEN 0 /* as a number: an activation whose frames are not proven */
#define STACKD_MANAGED_TEXT	256
#define STACKD_MANAGED_UTF8	8 /* width of a string that should be UTF-8 */
#define STACKD_MANAGED_LINES	4096
/* How many bytes are read, which have all fields above: of a frame, of a frame that is an object in
 * the heap, and of a code object; and of a thread's state at most, up to thread_stack. */
#define STACKD_MANAGED_FRAME_BYTES	 80
#define STACKD_MANAGED_OBJECT_BYTES	 112
#define STACKD_MANAGED_CODE_BYTES	 192
#define STACKD_MANAGED_OBJECT_CODE_BYTES 128 /* of a code object before 3.11 */
#define STACKD_MANAGED_THREAD_BYTES	 512

/*
 * The managed frames of a thread, as the words of a CHAIN record: first the number of the
 * interpreter's file, then from the innermost activation on
 *
 *   code object's number << 20 | instruction    for each managed frame, leaf first;
 *   STACKD_CHAIN_END | address                  behind the last one of an activation: an address in
 *                                               its native frame, which leads to these frames.
 *                                               OBJECT: behind all frames of the thread; 0
 */
#define STACKD_CHAIN_END   ((__u64)1 << 63)
#define STACKD_CHAIN_WORDS 2048 /* a power of two */

/* A string: characters of 1, 2 or 4 bytes, or UTF-8. */
struct stackd_managed_text {
	__u32 length; /* characters, in all */
	__u8 width;   /* bytes of one; STACKD_MANAGED_UTF8: length counts bytes; 0: it could not be
		       * read */
	__u8 pad;
	__u16 bytes; /* that follow */
	__u8 data[STACKD_MANAGED_TEXT];
};

/* A code object. */
struct stackd_managed_code {
	__u32 number;
	__u32 language; /* enum stackd_runtime */
	__u32 version;	/* of the interpreter, as above */
	__u32 first_line;
	__u32 line_bytes; /* of the table of lines that follow */
	struct stackd_managed_text file, name;
};

_Static_assert(sizeof(struct stackd_interpreter) == 304, "stackd_interpreter is shared");
_Static_assert(sizeof(struct stackd_managed_code) == 20 + 2 * (8 + STACKD_MANAGED_TEXT),
	       "stackd_managed_code is shared");

#endif
