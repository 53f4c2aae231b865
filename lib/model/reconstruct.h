/* SPDX-License-Identifier: MIT */
/*
 * Partial paths completed by alignment (align/align.h) with the other paths of the thread and the
 * program: a recording's tables with more nodes and origins, and the samples that have them.
 *
 * It is done when a recording is read, not when it is written. A frame is inferred from what was
 * seen before and after it; the store then holds what was observed and nothing else, a recording
 * that is still running is completed as far as it can be now, and one made before an improvement
 * gains by it.
 *
 * Partial paths are rare where the kernel's walk is at home, so the work follows their number, not
 * the recording's: evidence is sought among the samples around them, and the tables are copied only
 * if there is a path that no node stands for. Long recordings of segments are aligned in slices
 * that overlap, so memory is bounded.
 */
#ifndef MODEL_RECONSTRUCT_H
#define MODEL_RECONSTRUCT_H

#include "model/names.h"

struct reconstruct;

/* Whether a sample is one that could be completed: its walk did not reach the entry, and nothing
 * of it is inferred yet. */
bool reconstruct_is_candidate(const struct store_tables *tables, const struct store_sample *sample);

/* The reader and the names are borrowed. 0 or -ENOMEM. */
int reconstruct_new(struct store_reader *reader, struct names *names,
		    struct reconstruct **ret_reconstruct);
void reconstruct_free(struct reconstruct *reconstruct);

/* Sees a sample: all of the reader's, in order, before anything is completed. 0, -ENOMEM, -EBADMSG.
 */
int reconstruct_note(struct reconstruct *reconstruct, const struct store_sample *sample);

/* Completes what it can of those, going through the reader's samples once more. 0, -ENOMEM, or what
 * store_reader_samples() says. */
int reconstruct_run(struct reconstruct *reconstruct);

/* The reader's tables with all nodes and origins. */
const struct store_tables *reconstruct_tables(const struct reconstruct *reconstruct);

/* The samples that were completed, as the store has them. */
struct reconstruct_done {
	struct store_sample sample;
	uint32_t to_node, to_origin;
};

const struct reconstruct_done *reconstruct_done(const struct reconstruct *reconstruct,
						size_t *ret_count);

/* Gives a sample the path and origin that it was completed with, if it was. */
void reconstruct_map(const struct reconstruct *reconstruct, struct store_sample *sample);

#endif
