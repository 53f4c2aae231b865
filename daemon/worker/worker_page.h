/* SPDX-License-Identifier: MIT */
/*
 * The page that a worker shares with stackd: it says which object it reads, so that the right file
 * is refused when it crashes there. A worker that a file has subverted can name another.
 */
#ifndef WORKER_WORKER_PAGE_H
#define WORKER_WORKER_PAGE_H

#include <stdint.h>

struct worker_page {
	uint32_t object_plus_1; /* 0: that of the request */
};

#endif
