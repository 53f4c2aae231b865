/* SPDX-License-Identifier: MIT */
/*
 * The functions that this library stands in front of: the next definitions of the same names. A
 * name that only a library has that is loaded later, and not for all to see (operator new, for a
 * C++ extension of an interpreter in C), is looked up in the C++ libraries that are loaded by then.
 */
#ifndef LIBSTACKALLOC_NEXT_H
#define LIBSTACKALLOC_NEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "probe.h"

struct next {
	void *(*malloc)(size_t size);
	void (*free)(void *pointer);
	void *(*calloc)(size_t n, size_t size);
	void *(*realloc)(void *pointer, size_t size);
	void *(*memalign)(size_t alignment, size_t size);
	void *(*aligned_alloc)(size_t alignment, size_t size);
	int (*posix_memalign)(void **ret_pointer, size_t alignment, size_t size);
	void *(*valloc)(size_t size);
	void *(*pvalloc)(size_t size);
};

/* Until next_find(), functions that call it first. */
extern struct next next PROBE_HIDDEN;

/* Looks all of them up, once, and calls wrap_begin(). Whoever asks for memory meanwhile (dlsym()
 * does) gets a part of next_early, which is never given back: from then on, live_has_any(). */
void next_find(void) PROBE_HIDDEN;

#define NEXT_EARLY_BYTES 16384u
extern unsigned char next_early[NEXT_EARLY_BYTES] PROBE_HIDDEN;

static inline bool next_is_early(const void *pointer)
{
	return __builtin_expect((uintptr_t)pointer - (uintptr_t)next_early < NEXT_EARLY_BYTES, 0);
}

/* Finds a form of operator new or delete by its symbol. Ends the process with a message if there is
 * none: a program that calls it would not have started without this library. */
void *next_cxx(const char *symbol) PROBE_HIDDEN;

#endif
