/* SPDX-License-Identifier: MIT */
/*
 * The page that a worker shares with stackd. The worker writes to it which object it is reading, so
 * that stackd refuses the right file if the worker crashes. (A worker that a file has subverted can
 * name another object.)
 */
#ifndef WORKER_WORKER_PAGE_H
#define WORKER_WORKER_PAGE_H

#include <stdint.h>

struct worker_page {
	uint32_t object_plus_1; /* number of the object that is being read, + 1; 0: the object of
				 * the request */
};

#endif
