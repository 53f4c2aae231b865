/* SPDX-License-Identifier: MIT */
/*
 * The page that a worker shares with stackd. In it the worker names the object that it reads, so
 * that stackd refuses the right file when it crashes. A worker that a file has subverted can name
 * another.
 */
#ifndef WORKER_WORKER_PAGE_H
#define WORKER_WORKER_PAGE_H

#include <stdint.h>

struct worker_page {
	uint32_t object_plus_1; /* 0: the object of the request */
};

#endif
