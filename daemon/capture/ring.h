/* SPDX-License-Identifier: MIT */
/*
 * Reads a BPF ring buffer.
 *
 * Unlike libbpf, which maps the whole ring twice, this maps a window of it: mapped pages count as
 * resident whether they hold data or not, and a ring of 64 MiB, on a machine of many CPUs, would
 * add 128 MiB to the daemon's resident memory.
 */
#ifndef CAPTURE_RING_H
#define CAPTURE_RING_H

#include <stdbool.h>
#include <stddef.h>

struct ring;

/* Opens the ring of a map of type BPF_MAP_TYPE_RINGBUF with `bytes` of data, a power of two of
 * pages. The descriptor is borrowed; it is readable when records wait. 0; -ENOMEM; the negative
 * errno of mmap(). */
int ring_new(int map_fd, size_t bytes, struct ring **ret_ring);
void ring_free(struct ring *ring); /* NULL is fine */

/* Calls `each` for every record up to the first that is still being written, in order. The data is
 * the ring's, aligned to 8, and valid during the call alone. Returns the number of records. A
 * negative return of `each` stops after its record and is passed on; an error of mmap() is passed
 * on, too, and the record at which it occurred stays in the ring. */
int ring_drain(struct ring *ring, int (*each)(void *arg, void *data, size_t size), void *arg);

/* Returns how many bytes of the ring hold records that were not read. */
size_t ring_waiting(const struct ring *ring);

#endif
