/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The runtimes of languages that stackd knows, and what user space tells the kernel half about a
 * process of one: struct stackd_NAME, for those out of whose code the kernel half steps itself.
 *
 * The list is the only one. lib/code/runtime/runtime.c makes the table of user space from it, in
 * which each runtime has the number that it has here, and bpf/runtime.bpf.h chooses by these
 * numbers.
 */
#ifndef STACKD_RUNTIMES_H
#define STACKD_RUNTIMES_H

#include <linux/types.h>

/* X(NAME, name): `name` is that of the folder in lib/code/runtime. At most 32. */
#define STACKD_RUNTIMES(X)                                                                         \
	X(GO, go)	    /* Go's, in the program itself */                                      \
	X(BEAM, beam)	    /* Erlang's virtual machine */                                         \
	X(HOTSPOT, hotspot) /* Java's */

enum stackd_runtime {
#define X(NAME, name) STACKD_RUNTIME_##NAME,
	STACKD_RUNTIMES(X)
#undef X
		STACKD_RUNTIME_COUNT
};

/* The key of the map `runtime_facts`, which has the facts about each runtime in each process. */
struct stackd_runtime_key {
	__u32 pid;     /* thread group id, initial pid namespace */
	__u32 runtime; /* enum stackd_runtime */
};

/* What steps in code of a BEAM, Erlang's virtual machine, go by. */
struct stackd_beam {
	__u64 start, size;  /* of the mapping with the code that is not a module's */
	__u64 main;	    /* address of process_main, the scheduler's loop, which begins by making
			     * its frame */
	__u32 main_size;    /* bytes in which no process runs */
	__u32 frame;	    /* its size, in bytes, but for what aligning it takes */
	__u32 registers;    /* their distance from the stack pointer in that frame */
	__u32 stop;	    /* offset of the saved stack pointer in a process's structure */
	__u32 shared;	    /* bytes from start on whose code is that of all modules */
	__u32 has_pointers; /* compiled code has frame pointers, saved behind the stack's */
};

/* The value: that of the runtime in the key. */
union stackd_runtime_facts {
	struct stackd_beam beam;
};

_Static_assert(STACKD_RUNTIME_COUNT <= 32, "runtimes_told has a bit for each");
_Static_assert(sizeof(struct stackd_runtime_key) == 8, "stackd_runtime_key is shared");
_Static_assert(sizeof(struct stackd_beam) == 48, "stackd_beam is shared");

#endif
