/* SPDX-License-Identifier: MIT */
/*
 * Reads a BPF ring buffer.
 *
 * libbpf maps the whole ring twice. Mapped pages count as resident whether they hold data or not,
 * so a ring of 64 MiB, on a machine of many CPUs, would add 128 MiB to the daemon's resident
 * memory. So this module maps only the part that it reads, its window.
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

/* Calls `each` for every record, in order, up to the first record that is still being written. The
 * data lies in the ring, is aligned to 8, and is valid during the call alone. Returns the number of
 * records; or the negative result of `each`, which stops after that record; or an error of mmap(),
 * and the record at which it occurred stays in the ring. */
int ring_drain(struct ring *ring, int (*each)(void *arg, void *data, size_t size), void *arg);

/* Returns how many bytes of the ring hold records that were not read. */
size_t ring_waiting(const struct ring *ring);

#endif
