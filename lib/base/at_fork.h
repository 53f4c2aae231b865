/* SPDX-License-Identifier: MIT */
/*
 * A handler for the child of a fork, in a library that is preloaded into programs of any C library.
 * pthread_atfork() is a part of glibc that is linked into the library itself, and asks for a symbol
 * that musl does not have: its programs would not start. So each function is taken if it is there.
 */
#ifndef BASE_AT_FORK_H
#define BASE_AT_FORK_H

#include <pthread.h>
#include <stddef.h>

#pragma weak pthread_atfork /* musl's; a weak symbol does not link that part of glibc */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
			     void *library) __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

/* Has a function called in the child of each fork. Where that cannot be, it is not called. */
static inline void at_fork_in_child(void (*child)(void))
{
	if (__register_atfork)
		__register_atfork(NULL, NULL, child, __dso_handle);
	else if (pthread_atfork)
		pthread_atfork(NULL, NULL, child);
}

#endif
