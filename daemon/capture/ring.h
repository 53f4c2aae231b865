/* SPDX-License-Identifier: MIT */
/*
 * The reading end of a BPF ring buffer.
 *
 * As libbpf's, but that it maps a window of the ring rather than all of it, and that twice: mapped
 * pages count as resident whether they hold anything or not, and 64 MiB of ring, as a machine of
 * many CPUs has, would be 128 MiB of the daemon's.
 */
#ifndef CAPTURE_RING_H
#define CAPTURE_RING_H

#include <stdbool.h>
#include <stddef.h>

struct ring;

/* The ring of a map of type BPF_MAP_TYPE_RINGBUF with `bytes` of data, a power of two of pages. The
 * descriptor is borrowed; it is readable when records wait. 0; -ENOMEM; what mmap() says. */
int ring_new(int map_fd, size_t bytes, struct ring **ret_ring);
void ring_free(struct ring *ring); /* NULL is fine */

/* Calls `each` for every record up to the first that is still being written, in their order. The
 * bytes are the ring's, aligned to 8, and the call's only. The number of records; a negative return
 * of `each` stops after its record and is passed on, as is what mmap() says: then its record is
 * still there. */
int ring_drain(struct ring *ring, int (*each)(void *arg, void *data, size_t size), void *arg);

#endif
