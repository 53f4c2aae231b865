/* SPDX-License-Identifier: MIT */
/*
 * The functions that this library wraps: the next definitions of the same names. Some names are
 * defined only by a library that is loaded later, with local scope (operator new, for a C++
 * extension of an interpreter in C). These are looked up in the C++ libraries that are loaded at
 * that time.
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

/* The functions can be called at any time: those that are here at first call next_find(). */
extern struct next next PROBE_HIDDEN;

/* Looks up all of them, once, and calls wrap_begin(). Memory that is allocated meanwhile (dlsym()
 * does so) is part of next_early, and is never reused; live_has_any() is true from then on. */
void next_find(void) PROBE_HIDDEN;

#define NEXT_EARLY_BYTES 16384u
extern unsigned char next_early[NEXT_EARLY_BYTES] PROBE_HIDDEN;

static inline bool next_is_early(const void *pointer)
{
	return __builtin_expect((uintptr_t)pointer - (uintptr_t)next_early < NEXT_EARLY_BYTES, 0);
}

/* Finds a form of operator new or delete by its symbol. If there is none, ends the process with a
 * message: a program that calls it would not have started without this library either. */
void *next_cxx(const char *symbol) PROBE_HIDDEN;

#endif
