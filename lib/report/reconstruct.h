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
 * Long recordings are aligned in slices that overlap, so memory is bounded.
 */
#ifndef REPORT_RECONSTRUCT_H
#define REPORT_RECONSTRUCT_H

#include "report/names.h"

struct reconstruct;

/* Whether a sample is one that could be completed: its walk did not reach the entry, and nothing
 * of it is inferred yet. */
bool reconstruct_wants(const struct store_tables *tables, const struct store_sample *sample);

/* Goes through all samples. The reader and the names are borrowed. 0, -ENOMEM, or what
 * store_reader_samples() says. */
int reconstruct_new(struct store_reader *reader, struct names *names,
		    struct reconstruct **ret_reconstruct);
void reconstruct_free(struct reconstruct *reconstruct);

/* The reader's tables with all nodes and origins. */
const struct store_tables *reconstruct_tables(const struct reconstruct *reconstruct);

/* Gives a sample the path and origin that it was completed with, if it was. */
void reconstruct_map(const struct reconstruct *reconstruct, struct store_sample *sample);

#endif
