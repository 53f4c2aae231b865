/* SPDX-License-Identifier: MIT */
/*
 * The dictionary of tags: which call path a program's tag stands for, learned from walks.
 *
 * A tag names the instrumented functions of a path, not places in them, nor code that is not
 * instrumented. What is kept of the walk is therefore its part from the root to the innermost
 * instrumented function. It is entered only if its functions, chained, give the tag: that way a
 * sample between a function's first instruction and its change of the tag does no harm.
 *
 * The kernel half is told which tags are known. It has room for so many; when they are more, all
 * are forgotten there and learned again. Here they are kept for one more round, since samples may
 * be on their way.
 */
#ifndef TAGS_TAG_BOOK_H
#define TAGS_TAG_BOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stackd_abi.h"

struct tag_book;

/* What a tag stands for: a path to its innermost instrumented function. */
struct tag_meaning {
	uint32_t caller;     /* the trie's node of the path up to that function's caller */
	uint32_t waiting;    /* the function's location where it waits for a call; UINT32_MAX: none
			      * was seen */
	uint32_t frames;     /* of the path with the function */
	uint32_t object;     /* that holds the function; file offsets in it: */
	uint64_t entry;	     /* where the function starts */
	uint64_t start, end; /* the part of its code that was seen */
	uint8_t end_reason;  /* of the walk that it was learned from */
};

/* `max`: how many the kernel half has room for; `known_fd` -1: there is none. 0 or -ENOMEM. */
int tag_book_new(int known_fd, uint32_t max, struct tag_book **ret_book);
void tag_book_free(struct tag_book *book);

/* 0 or -ENOMEM. What is known already stays as it is. */
int tag_book_teach(struct tag_book *book, uint32_t program, uint64_t tag,
		   const struct tag_meaning *meaning);

/* NULL: not known. Lives until the next tag_book_teach(). */
const struct tag_meaning *tag_book_find(const struct tag_book *book, uint32_t program,
					uint64_t tag);

uint64_t tag_book_count(const struct tag_book *book); /* ever learned */

#endif
