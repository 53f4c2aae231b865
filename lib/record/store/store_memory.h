/* SPDX-License-Identifier: MIT */
/*
 * A reader of data in memory: the tables of a recording that is in no file, and sums instead of its
 * samples. So the views of a store also show sums that a server has computed.
 *
 * Strings are copied. Entries are numbered in the order of the calls: objects, locations,
 * processes, threads and origins from 0 (origin 0 is there already), nodes from 1.
 */
#ifndef STORE_STORE_MEMORY_H
#define STORE_STORE_MEMORY_H

#include "store/store_reader.h"

/* Makes an empty reader. `recordings`: how many recordings were added up; `series`: the series of
 * the sums, as bits 1 << number. Returns 0 or -ENOMEM. store_reader_close() frees it. */
int store_memory_new(const struct store_recording *recording, uint32_t recordings, uint64_t series,
		     struct store_reader **ret_reader);

/* Append an entry to the reader's tables; the entries that it refers to must exist. They ignore
 * `number`. They return 0 or -ENOMEM. */
int store_memory_object(struct store_reader *r, const struct store_object *object);
int store_memory_location(struct store_reader *r, const struct store_location *location);
int store_memory_process(struct store_reader *r, const struct store_process *process);
int store_memory_thread(struct store_reader *r, const struct store_thread *thread);
int store_memory_node(struct store_reader *r, const struct store_node *node);
int store_memory_sum(struct store_reader *r, const struct store_sum *sum);

/* Appends an origin whose first `inferred` frames, at least one, are inferred. */
int store_memory_origin(struct store_reader *r, uint32_t inferred, bool is_complete);

/* Set how many records a query did not choose; and how many are missing, with a note about these.
 * store_memory_missing() returns 0 or -ENOMEM. */
void store_memory_unchosen(struct store_reader *r, uint64_t records);
int store_memory_missing(struct store_reader *r, uint64_t records, const char *note);

/* Makes the reader ready to be read, with lines in order of (location, depth). Returns 0 or
 * -ENOMEM. */
int store_memory_finish(struct store_reader *r, const struct store_line *lines, size_t n);

#endif
