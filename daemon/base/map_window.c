/* SPDX-License-Identifier: MIT */
/* Maps whole pages around the requested part; see map_window.h. */
#include "daemon/base/map_window.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

int map_window_open(int map_fd, int protection, size_t offset, size_t bytes,
		    struct map_window *ret_window)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), skip = offset % page;
	size_t size = (skip + bytes + page - 1) / page * page;
	void *base = mmap(NULL, size, protection, MAP_SHARED, map_fd, (off_t)(offset - skip));

	if (base == MAP_FAILED)
		return -errno;
	*ret_window = (struct map_window){
		.data = (uint8_t *)base + skip,
		.base = base,
		.size = size,
	};
	return 0;
}

void map_window_close(struct map_window *window)
{
	munmap(window->base, window->size);
}
