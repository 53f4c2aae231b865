/* SPDX-License-Identifier: MIT */
/*
 * Listens to libstackalloc's probes within the process, where the kernel's probes would need root:
 * a library to preload beside it, which finds the notes of the probes, raises their semaphores and
 * lets their functions jump to its own. It keeps what was heard of every block that is live, and
 * counts what contradicts itself as errors: a block that is allocated twice or freed twice.
 *
 * Programs that look at it declare these functions weak.
 */
#ifndef LISTENER_H
#define LISTENER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct heard {
	uint64_t allocs;
	uint64_t frees;
	uint64_t bytes; /* the sum of weights */
	uint64_t live;	/* blocks */
	uint64_t errors;
};

#pragma weak listener_heard
#pragma weak listener_size
struct heard listener_heard(void);

/* Returns the size of a live block that was heard of, or -1. */
int64_t listener_size(const void *pointer);

#ifdef __cplusplus
}
#endif

#endif
