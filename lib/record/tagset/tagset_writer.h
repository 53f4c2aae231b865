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
	struct buf text;     /* text of the current section that has not been written yet */
	struct buf id, data; /* id and data of the item that is being made */
	/* by number in the set: the number in the file */
	uint32_t *recordings, *objects, *processes;
	uint64_t *ranks; /* by process: its rank in all sets together */
	/* by number in the set: the number after the id's point */
	uint32_t *location_dup, *node_dup;
	uint64_t n_recordings, n_processes; /* over all sets */
	uint32_t cpu;			    /* number of the text TAGSET_CPU */
	struct tagset_shared shared;
};

/* Ends a section: each process writes its text behind the text of the processes before it. Errors
 * as tagset_share(). */
int tagset_writer_section(struct tagset_writer *w);

/* Ends several sections, which are parts of w->text with these lengths. */
int tagset_writer_sections(struct tagset_writer *w, const uint64_t *lengths, size_t n);

/* With a single process: writes the text so far if it is long. With several: does nothing. */
int tagset_writer_flush(struct tagset_writer *w);

/* Append, and read, a number as big-endian bytes, which sort as the numbers do. */
void tagset_put_be(struct buf *b, uint64_t number, unsigned bytes);
uint64_t tagset_get_be(const uint8_t *at, unsigned bytes);

/* Adds the item in w->id and w->data to a router, and empties both. Errors as router_add(). */
int tagset_writer_add(struct tagset_writer *w, struct router *router, uint64_t key);

/* Numbers the items that the processes own, in order over all processes, and returns these numbers
 * as answers. *ret_first is the number of this process's first item; *ret_all is how many items all
 * processes own. Errors as those of the router's functions. */
int tagset_writer_number(struct tagset_writer *w, struct router *router, uint64_t *ret_first,
			 uint64_t *ret_all);

/* Appends an id as the file has it: "\t0123456789abcdef.1". */
void tagset_put_id(struct buf *b, uint64_t id, uint32_t dup);

/* Write the sections of objects and locations, and of tags, and note the names by which later
 * sections refer to them. Errors as tagset_share(). */
int tagset_write_locations(struct tagset_writer *w);
int tagset_write_tags(struct tagset_writer *w);

/* Writes the totals of tags over the ranks of MPI jobs. Errors as tagset_share(). */
int tagset_write_totals(struct tagset_writer *w);

#endif
