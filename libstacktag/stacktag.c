/* SPDX-License-Identifier: MIT */
/*
 * The variable, and the note by which a profiler finds it (docs/TAGS.md).
 *
 * The initial-exec model puts the variable at one distance from the thread pointer in all threads,
 * also where this library comes by dlopen() (then it takes 8 of the bytes that the C library
 * holds ready for that), so it can be read from outside with one number for the whole process.
 * This number is written into a word here before anything else of the program runs. (A relocated
 * word would need no code, but not every linker makes one.) The note says where the word is,
 * relative to itself: so it is found from the file's bytes and in memory alike,
 * position-independent or not.
 */
#include "stacktag.h"

__thread volatile uint64_t stacktag_current __attribute__((tls_model("initial-exec")));

/* The note's name for it: of this file alone, also where two files hold the library. */
__attribute__((visibility("hidden"))) volatile int64_t stacktag_offset;

__attribute__((constructor(101))) static void find_offset(void)
{
	stacktag_offset =
		(int64_t)((uintptr_t)&stacktag_current - (uintptr_t)__builtin_thread_pointer());
}

uint64_t stacktag_get(void)
{
	return stacktag_current;
}

__asm__("	.pushsection .note.stacktag, \"a\", @note\n"
	"	.balign 4\n"
	"	.long 9, 16, 1\n"
	"	.asciz \"stacktag\"\n"
	"	.balign 4\n"
	".Lstacktag_note:\n"
	"	.long 1, 0\n"
	"	.quad stacktag_offset - .Lstacktag_note\n"
	"	.popsection\n");
