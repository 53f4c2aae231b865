/* SPDX-License-Identifier: MIT */
/*
 * libstacktag: a program's own call path in eight bytes.
 *
 * Programs that are compiled with stackd's GCC plugin, or with -finstrument-functions by any
 * compiler, keep the tag of their call path in a thread-local variable (docs/TAGS.md), where
 * stackd reads it, and they themselves:
 *
 *	uint64_t tag = stacktag_get();		equal tags: equal call paths, in any run
 *
 * Link with -lstacktag (pkg-config stacktag); the plugin is in `pkg-config --cflags stacktag-gcc`.
 */
#ifndef STACKTAG_H
#define STACKTAG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Returns the tag of the calling thread's path up to the calling function; 0 outside of
 * instrumented functions. Costs one read, and may be called in signal handlers. */
uint64_t stacktag_get(void);

/* The variable that stacktag_get() reads; compiler-generated code accesses it directly. */
extern __thread volatile uint64_t stacktag_current __attribute__((tls_model("initial-exec")));

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
