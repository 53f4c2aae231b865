/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The runtimes of languages that stackd knows, and the facts about a process that user space sends
 * to the kernel half. Each runtime whose code the kernel half can walk with such facts has a struct
 * stackd_NAME.
 *
 * There is only this list. From it, lib/code/runtime/runtime.c makes user space's table, in which
 * each runtime has the number that it has here, and bpf/runtime.bpf.h chooses by these numbers.
 */
#ifndef STACKD_RUNTIMES_H
#define STACKD_RUNTIMES_H

#include <linux/types.h>

/* X(NAME, name): `name` is the folder in lib/code/runtime. At most 32. */
#define STACKD_RUNTIMES(X)                                                                         \
	X(GO, go)	    /* Go's, in the program itself */                                      \
	X(BEAM, beam)	    /* Erlang's virtual machine */                                         \
	X(HOTSPOT, hotspot) /* Java's */                                                           \
	X(PYTHON, python)   /* CPython */                                                          \
	X(V8, v8)	    /* JavaScript's, in node */                                            \
	X(RUBY, ruby)	    /* Ruby's own, in C */                                                 \
	X(PHP, php)	    /* PHP's own */                                                        \
	X(PERL, perl)	    /* Perl's own */

enum stackd_runtime {
#define X(NAME, name) STACKD_RUNTIME_##NAME,
	STACKD_RUNTIMES(X)
#undef X
		STACKD_RUNTIME_COUNT
};

/* The key of the map `runtime_facts`, which has the facts about a runtime in a process. */
struct stackd_runtime_key {
	__u32 pid;     /* process (thread group) id, in the initial pid namespace */
	__u32 runtime; /* enum stackd_runtime */
};

/* The facts with which the kernel half finds the callers of code that a BEAM, Erlang's virtual
 * machine, has made. */
struct stackd_beam {
	__u64 start, size; /* of the mapping with code that belongs to no module */
	/* address of process_main(), the scheduler's loop; its first instruction makes its frame */
	__u64 main;
	__u32 main_size;    /* size of the part of process_main() in which no Erlang process runs */
	__u32 frame;	    /* size of that frame in bytes, without the bytes that align it */
	__u32 registers;    /* distance of the BEAM's registers from the stack pointer in that
			     * frame */
	__u32 stop;	    /* offset of the saved stack pointer in the structure of an Erlang
			     * process */
	__u32 shared;	    /* the first bytes from `start` on, with code that all modules share */
	__u32 has_pointers; /* compiled code has frame pointers; an Erlang process's is saved in
			     * the word after `stop` */
};

/* The value in that map: the member of the runtime that the key names. */
union stackd_runtime_facts {
	struct stackd_beam beam;
};

_Static_assert(STACKD_RUNTIME_COUNT <= 32, "runtimes_told has a bit for each");
_Static_assert(sizeof(struct stackd_runtime_key) == 8, "stackd_runtime_key is shared");
_Static_assert(sizeof(struct stackd_beam) == 48, "stackd_beam is shared");

#endif
