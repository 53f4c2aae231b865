/* SPDX-License-Identifier: MIT */
/*
 * The two probes for profilers, under the names of OpenTelemetry's memory probes:
 *
 *	otel_memory:alloc(pointer, size, weight)	a block that was sampled has been allocated
 *	otel_memory:free(pointer)			such a block is about to be freed
 *
 * They are USDT probes (.note.stapsdt), each on a function of three instructions. The first is a
 * nop of one byte: if it is probed, the kernel emulates it, so nothing is single-stepped. It is not
 * a nop of five bytes, which an optimised probe overwrites from Linux 6.18 on. Arguments are where
 * the ABI has them. The kernel counts the users of each probe in its semaphore. The functions are
 * in arch/NAME/alloc_probe.S.
 */
#ifndef LIBSTACKALLOC_PROBE_H
#define LIBSTACKALLOC_PROBE_H

#include <stddef.h>
#include <stdint.h>

#define PROBE_HIDDEN __attribute__((visibility("hidden")))

/* Number of users of otel_memory:alloc, which the kernel writes. */
extern volatile uint16_t probe_alloc_semaphore PROBE_HIDDEN;

/* `weight` is the number of bytes that this block represents, including its own. Returns the
 * pointer, so that wrappers end with a jump to this function, and their frames are not in the call
 * path. */
void *probe_alloc(void *pointer, size_t size, uint64_t weight) PROBE_HIDDEN;
void probe_free(const void *pointer) PROBE_HIDDEN;

#endif
