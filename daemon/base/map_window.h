/* SPDX-License-Identifier: MIT */
/*
 * Maps a part of a BPF map while it is written or read.
 *
 * A map that stays mapped counts as resident memory of the daemon, on top of the kernel's. So the
 * daemon maps only the part of an array into which it writes a new table, while it writes, and only
 * the part of the ring that it reads.
 */
#ifndef BASE_MAP_WINDOW_H
#define BASE_MAP_WINDOW_H

#include <stddef.h>

struct map_window {
	void *data; /* byte `offset` of the map */
	void *base;
	size_t size;
};

/* Maps `bytes` bytes at byte `offset` of a BPF map, for `protection` (PROT_*); an array needs
 * BPF_F_MMAPABLE. 0, or the negative errno of mmap(), which leaves *ret_window untouched. */
int map_window_open(int map_fd, int protection, size_t offset, size_t bytes,
		    struct map_window *ret_window);

/* Unmaps the window. */
void map_window_close(struct map_window *window);

#endif
