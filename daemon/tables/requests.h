/* SPDX-License-Identifier: MIT */
/*
 * Keeps the list of pending requests for recipe tables: first those for tables that walks have
 * missed, then prefetches. Of the missed ones, small files come first, then the first step of large
 * files (tables.c), then what has taken long. The analysis of a large file without unwind
 * information takes seconds, and the walks of all other files would wait for it, so it is given up
 * while quicker ones wait, and begins again after them. The first step of a large file is not: all
 * that it has done would be lost, and two large files would give way to each other.
 */
#ifndef TABLES_REQUESTS_H
#define TABLES_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "proc/object.h"
#include "stackd_abi.h"

struct request {
	const struct object *object; /* borrowed */
	uint32_t number;	     /* of its file, in the kernel half */
	struct stackd_inode key;
	bool has_key;
	bool is_early;	   /* a prefetch: no walk has missed the table yet */
	bool is_large;	   /* the table of this file has two steps */
	bool in_first;	   /* the first of them is being made */
	uint64_t spent_ns; /* CPU time spent on the table before it was given up */
	struct request *next;
};

/* Returns whether two requests are for the same table and inode. */
bool requests_are_same(const struct request *a, const struct request *b);

/* Returns whether the list has a request for the same table and inode that is at least as
 * urgent. */
bool requests_have(const struct request *first, const struct request *wanted);

/* Returns whether the request being served, on which `spent_ns` have been spent since it was last
 * given up, must be given up for the request `waiting` (NULL: none). A prefetch gives way to each
 * missed table. A missed table, but for the first step of a large file, gives way, after a tenth of
 * a second, to one on which less time was spent; once a second in all was spent before, it does not
 * give way any more, so that every table is made at last. */
bool requests_give_way(const struct request *serving, uint64_t spent_ns,
		       const struct request *waiting);

/* Adds a copy of a request to the list, behind those that are as urgent. requests_free() frees it.
 * 0 or -ENOMEM. */
int requests_enter(struct request **first, const struct request *wanted);

/* Frees all requests of a list. */
void requests_free(struct request *first);

#endif
