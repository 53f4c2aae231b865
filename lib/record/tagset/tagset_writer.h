/* SPDX-License-Identifier: MIT */
/* Shared by the files that write tag exports (tagset_share.c, tagset_paths.c, tagset_totals.c). */
#ifndef TAGSET_TAGSET_WRITER_H
#define TAGSET_TAGSET_WRITER_H

#include "tagset/tagset_share.h"
#include "tagset/tagset_state.h"

struct tagset_writer {
	const struct tagset *set;
	const struct router_comm *comm;
	const struct tagset_sink *sink;
	struct buf text;     /* of this section, as far as it was not put yet */
	struct buf id, data; /* of the item that is being made */
	uint32_t *recordings, *objects, *processes; /* what the file calls them, by number */
	uint64_t *ranks;		    /* of processes, as all sets together have them */
	uint32_t *location_dup, *node_dup;  /* by number */
	uint64_t n_recordings, n_processes; /* of all */
	uint32_t cpu;			    /* TAGSET_CPU as text */
	struct tagset_shared shared;
};

/* Ends a section: appends each process's text after that of the processes before it. Errors as
 * tagset_share(). */
int tagset_writer_section(struct tagset_writer *w);

/* The same for several sections, whose lengths in the text are given. */
int tagset_writer_sections(struct tagset_writer *w, const uint64_t *lengths, size_t n);

/* With a single process: writes the text so far, if it is long. */
int tagset_writer_flush(struct tagset_writer *w);

/* Append a number in big-endian bytes, whose order is that of numbers, and read it. */
void tagset_put_be(struct buf *b, uint64_t number, unsigned bytes);
uint64_t tagset_get_be(const uint8_t *at, unsigned bytes);

/* Adds the item in w->id and w->data to a router and empties both. Errors of router_add(). */
int tagset_writer_add(struct tagset_writer *w, struct router *router, uint64_t key);

/* Answers the owned items by numbers that continue those of the processes before, and returns the
 * answers. *ret_first is the first number, *ret_all how many all processes own. Errors of the
 * router's functions. */
int tagset_writer_number(struct tagset_writer *w, struct router *router, uint64_t *ret_first,
			 uint64_t *ret_all);

/* Appends "\t0123456789abcdef.1". */
void tagset_put_id(struct buf *b, uint64_t id, uint32_t dup);

/* Writes objects and locations, or tags, whose names the later sections use. Errors as
 * tagset_share(). */
int tagset_write_locations(struct tagset_writer *w);
int tagset_write_tags(struct tagset_writer *w);

/* Writes the totals of tags over the ranks of MPI jobs. Errors as tagset_share(). */
int tagset_write_totals(struct tagset_writer *w);

#endif
