/* SPDX-License-Identifier: MIT */
/*
 * Completes partial paths by aligning them (align/align.h) with the other paths of their thread and
 * program. The result is a copy of a recording's tables with additional nodes and origins, and the
 * samples that have them.
 *
 * Paths are completed when a recording is read, not when it is written, because an inferred frame
 * follows from samples before and after it. So the store has only observed frames, a recording that
 * is still running is completed as far as its samples allow at the moment, and an older recording
 * profits from a better algorithm.
 *
 * Partial paths are rare where the kernel half walks the stacks, so the work grows with the number
 * of partial paths rather than with the recording: only samples near a partial one are aligned with
 * it, and the tables are copied only if a completed path has no node yet. Long recordings are
 * aligned in batches (slices) that overlap, which bounds memory.
 */
#ifndef MODEL_RECONSTRUCT_H
#define MODEL_RECONSTRUCT_H

#include "model/names.h"

struct reconstruct;

/* Returns whether a sample's path may be completed, because its walk did not reach the thread's
 * entry, and none of its frames is inferred already. */
bool reconstruct_is_candidate(const struct store_tables *tables, const struct store_sample *sample);

/* Makes the state of completing the paths of a reader. The reader and the names are borrowed and
 * must outlive the result. Returns 0 or -ENOMEM. */
int reconstruct_new(struct store_reader *reader, struct names *names,
		    struct reconstruct **ret_reconstruct);
void reconstruct_free(struct reconstruct *reconstruct); /* NULL is allowed */

/* Notes a sample. Must be called for all samples of the reader, in order, before reconstruct_run().
 * Returns 0, -ENOMEM, or -EBADMSG for a sample whose thread or node is not in the tables. */
int reconstruct_note(struct reconstruct *reconstruct, const struct store_sample *sample);

/* Completes paths, in a second pass over the reader's samples. Call it once. Returns 0, -ENOMEM, or
 * an error of store_reader_samples(). */
int reconstruct_run(struct reconstruct *reconstruct);

/* Returns the reader's tables with all nodes and origins. They belong to `reconstruct`, except for
 * the tables that reconstruct_run() has not changed, which are still the reader's. */
const struct store_tables *reconstruct_tables(const struct reconstruct *reconstruct);

/* A sample that was completed. */
struct reconstruct_done {
	struct store_sample sample;  /* as the store has it */
	uint32_t to_node, to_origin; /* in reconstruct_tables() */
};

/* Returns the samples that were completed, sorted by time, thread and node. The array belongs to
 * `reconstruct`. */
const struct reconstruct_done *reconstruct_done(const struct reconstruct *reconstruct,
						size_t *ret_count);

/* Gives a sample of the reader its completed path and the origin of that path; leaves it as it is
 * if it was not completed. */
void reconstruct_map(const struct reconstruct *reconstruct, struct store_sample *sample);

#endif
