/* SPDX-License-Identifier: MIT */
/*
 * A part of a BPF array map, mapped while it is written.
 *
 * An array that stays mapped counts whole as resident memory of the daemon, a second time besides
 * the kernel's. So only the part that a table goes into is mapped, and only while it is written.
 */
#ifndef MAP_WINDOW_H
#define MAP_WINDOW_H

#include <stddef.h>

struct map_window {
	void *data; /* at the wanted offset */
	void *base;
	size_t size;
};

/* Maps `bytes` bytes at byte `offset` of an array map that was made with BPF_F_MMAPABLE. 0, or
 * negative errno as mmap() says; then *ret_window is untouched. */
int map_window_open(int map_fd, size_t offset, size_t bytes, struct map_window *ret_window);

void map_window_close(struct map_window *window);

#endif
