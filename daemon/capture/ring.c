/* SPDX-License-Identifier: MIT */
/*
 * Reads the ring through a window that moves along it; see ring.h.
 *
 *   consumer's page | producer's page | data | data once more
 *
 * This is the layout of the map's file. Positions are counts of bytes since the beginning; a record
 * lies at its position modulo the ring's size, and goes on in the second view of the data where the
 * first ends. A record begins with 8 bytes: its length, in which two bits mean that the record is
 * still being written, or was discarded.
 */
#include "daemon/capture/ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/base/map_window.h"

#define WINDOW_BYTES (512u << 10) /* moving the window costs less than reading a part of it */
#define HEAD_BYTES   BPF_RINGBUF_HDR_SZ

struct ring {
	int fd; /* borrowed */
	size_t bytes, page;
	uint64_t *consumer;	  /* position up to which the daemon has read; written by the
				   * daemon */
	const uint64_t *producer; /* position up to which the kernel has written */
	struct map_window window;
	size_t window_at, window_bytes; /* the part of the data that `window` shows */
};

static void *map_page(int fd, size_t number, int protection, size_t page)
{
	void *at = mmap(NULL, page, protection, MAP_SHARED, fd, (off_t)(number * page));

	return at == MAP_FAILED ? NULL : at;
}

int ring_new(int map_fd, size_t bytes, struct ring **ret_ring)
{
	struct ring *ring = calloc(1, sizeof(*ring));
	int err;

	if (!ring)
		return -ENOMEM;
	ring->fd = map_fd;
	ring->bytes = bytes;
	ring->page = (size_t)sysconf(_SC_PAGESIZE);
	ring->consumer = map_page(map_fd, 0, PROT_READ | PROT_WRITE, ring->page);
	if (ring->consumer)
		ring->producer = map_page(map_fd, 1, PROT_READ, ring->page);
	if (!ring->producer) {
		err = -errno;
		ring_free(ring);
		return err;
	}
	*ret_ring = ring;
	return 0;
}

void ring_free(struct ring *ring)
{
	if (!ring)
		return;
	if (ring->window_bytes)
		map_window_close(&ring->window);
	if (ring->consumer)
		munmap(ring->consumer, ring->page);
	if (ring->producer)
		munmap((void *)ring->producer, ring->page);
	free(ring);
}

/* Maps at least `bytes` bytes of the data from `offset` on. */
static int move_window(struct ring *ring, size_t offset, size_t bytes)
{
	size_t left = 2 * ring->bytes - offset;
	int err;

	if (ring->window_bytes)
		map_window_close(&ring->window);
	ring->window_bytes = 0;
	if (bytes < WINDOW_BYTES)
		bytes = WINDOW_BYTES < left ? WINDOW_BYTES : left;
	err = map_window_open(ring->fd, PROT_READ, 2 * ring->page + offset, bytes, &ring->window);
	if (err)
		return err;
	ring->window_at = offset;
	ring->window_bytes = bytes;
	return 0;
}

/* Gives `bytes` bytes of the ring from a position on, in the window, which it moves if they lie
 * outside of it. 0 or the -errno of mmap(). */
static int look_at(struct ring *ring, uint64_t position, size_t bytes, void **ret_data)
{
	size_t offset = position & (ring->bytes - 1), skip = offset - ring->window_at;

	if (offset < ring->window_at || skip > ring->window_bytes ||
	    bytes > ring->window_bytes - skip) {
		int err = move_window(ring, offset, bytes);

		if (err)
			return err;
		skip = 0;
	}
	*ret_data = (uint8_t *)ring->window.data + skip;
	return 0;
}

/* Gives the record at a position. 1: *ret_next is the position behind it, and *ret_data is NULL if
 * the kernel half has discarded the record; 0: it is still being written; -errno. */
static int next_record(struct ring *ring, uint64_t position, void **ret_data, size_t *ret_size,
		       uint64_t *ret_next)
{
	void *head;
	uint32_t length;
	int err = look_at(ring, position, HEAD_BYTES, &head);

	if (err)
		return err;
	length = __atomic_load_n((uint32_t *)head, __ATOMIC_ACQUIRE);
	if (length & BPF_RINGBUF_BUSY_BIT)
		return 0;
	*ret_size = length & ~BPF_RINGBUF_DISCARD_BIT;
	*ret_next = position + (HEAD_BYTES + *ret_size + 7) / 8 * 8;
	*ret_data = NULL;
	if (length & BPF_RINGBUF_DISCARD_BIT)
		return 1;
	err = look_at(ring, position, HEAD_BYTES + *ret_size, &head);
	*ret_data = (uint8_t *)head + HEAD_BYTES;
	return err ? err : 1;
}

int ring_drain(struct ring *ring, int (*each)(void *arg, void *data, size_t size), void *arg)
{
	uint64_t position = *ring->consumer, next = position;
	int count = 0, r = 0;

	while (r >= 0 && position < __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE)) {
		size_t size = 0;
		void *data = NULL;

		r = next_record(ring, position, &data, &size, &next);
		if (r <= 0)
			break;
		if (data) {
			r = each(arg, data, size);
			count++;
		}
		position = next;
		__atomic_store_n(ring->consumer, position, __ATOMIC_RELEASE);
	}
	return r < 0 ? r : count;
}

size_t ring_waiting(const struct ring *ring)
{
	return (size_t)(__atomic_load_n(ring->producer, __ATOMIC_RELAXED) - *ring->consumer);
}
