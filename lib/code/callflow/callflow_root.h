/* SPDX-License-Identifier: MIT */
/*
 * What code says about whether a stack can begin in a function. A walk comes to such a function by
 * a rule (no caller is described), or because its return address is 0. Both can be words of earlier
 * calls, or of a copied stack, above the frame of a function that a program has entered by hand on
 * a stack of its own.
 */
#ifndef CALLFLOW_CALLFLOW_ROOT_H
#define CALLFLOW_CALLFLOW_ROOT_H

#include "callflow/callflow_reach.h"

enum callflow_root {
	CALLFLOW_ROOT_UNKNOWN, /* no call frame information covers the code, or not all of the
				* file's code was read */
	CALLFLOW_ROOT_ENTRY,   /* the file's entry point, which the kernel calls: only the first
				* thread's stack begins there */
	CALLFLOW_ROOT_THREAD,  /* it makes system calls: clone() and the like */
	CALLFLOW_ROOT_CALLED,  /* the file calls it directly, so it has callers; but one that never
				* returns, and whose address is taken, too, may begin a stack */
	CALLFLOW_ROOT_RETURNS, /* it has a return, or jumps to another function in place of one:
				* with a return address of 0 that would end the program */
	CALLFLOW_ROOT_FREE,    /* nothing speaks against it */
	CALLFLOW_ROOT_FREE_THREAD, /* so it is with a function that makes system calls */
	CALLFLOW_ROOT_COUNT,
};

/* Examines the function at a location, whose object has an elf. `start` and `end` are its range, in
 * file offsets. Reads the file's code, 64 MiB at most: a function that none of these calls is
 * UNKNOWN if there is more. */
enum callflow_root callflow_root_of(const struct elf_file *elf, uint64_t start, uint64_t end);

/* Returns whether the code of a function that begins at `start`, before an instruction or return
 * address, loads the stack pointer, so that what it calls runs on another stack. Both are file
 * offsets. */
bool callflow_root_switches(const struct elf_file *elf, uint64_t start, uint64_t offset);

#endif
