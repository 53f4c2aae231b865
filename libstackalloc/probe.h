/* SPDX-License-Identifier: MIT */
/*
 * The two places where a profiler listens, under the names of OpenTelemetry's memory probes:
 *
 *	otel_memory:alloc(pointer, size, weight)	a block that was sampled has been allocated
 *	otel_memory:free(pointer)			such a block is about to be freed
 *
 * They are USDT probes (.note.stapsdt), each on a function of three instructions, of which the
 * first is a nop of one byte: the kernel emulates it when it is probed, so nothing is
 * single-stepped, and what its optimised probes overwrite from Linux 6.18 on, nops of five bytes,
 * is not there. Arguments are where the ABI has them. The kernel counts who listens in the
 * semaphore of each probe. The functions are in arch/NAME/alloc_probe.S.
 */
#ifndef LIBSTACKALLOC_PROBE_H
#define LIBSTACKALLOC_PROBE_H

#include <stddef.h>
#include <stdint.h>

#define PROBE_HIDDEN __attribute__((visibility("hidden")))

/* How many listen to otel_memory:alloc; 0: nobody does. The kernel writes it. */
extern volatile uint16_t probe_alloc_semaphore PROBE_HIDDEN;

/* `weight`: the bytes that this block stands for, itself among them. Returns the pointer: so the
 * wrappers end with a jump here, and their frames are not in the call path. */
void *probe_alloc(void *pointer, size_t size, uint64_t weight) PROBE_HIDDEN;
void probe_free(const void *pointer) PROBE_HIDDEN;

#endif
