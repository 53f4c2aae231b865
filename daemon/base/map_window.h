/* SPDX-License-Identifier: MIT */
/*
 * A part of a BPF map, mapped while it is written or read.
 *
 * A map that stays mapped counts whole as resident memory of the daemon, a second time besides the
 * kernel's. So of an array only the part that a table goes into is mapped, and only while it is
 * written; of the ring, what is being read.
 */
#ifndef BASE_MAP_WINDOW_H
#define BASE_MAP_WINDOW_H

#include <stddef.h>

struct map_window {
	void *data; /* at the wanted offset */
	void *base;
	size_t size;
};

/* Maps `bytes` bytes at byte `offset` of what a map's descriptor shows, for `protection` (PROT_*);
 * an array must have been made with BPF_F_MMAPABLE. 0, or negative errno as mmap() says; then
 * *ret_window is untouched. */
int map_window_open(int map_fd, int protection, size_t offset, size_t bytes,
		    struct map_window *ret_window);

void map_window_close(struct map_window *window);

#endif
