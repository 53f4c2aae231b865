/* SPDX-License-Identifier: MIT */
/*
 * The variable, and the note by which a profiler finds it (docs/TAGS.md).
 *
 * The initial-exec model puts the variable at the same distance from the thread pointer in all
 * threads. This holds even if this library is loaded by dlopen(): then the variable takes 8 of the
 * bytes that the C library reserves for that. So a profiler needs one number for the whole process
 * to read it. A constructor here writes this number into a word before the program's code runs. (A
 * relocated word would need no code, but not every linker makes one.) The note has the address of
 * the word relative to the note, so the word is found in the file's bytes and in memory alike,
 * whether the code is position-independent or not.
 */
#include "stacktag.h"

__thread volatile uint64_t stacktag_current __attribute__((tls_model("initial-exec")));

/* The word to which the note refers. It is hidden, so that each of two files with the library has
 * its own. */
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
