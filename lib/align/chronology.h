/* SPDX-License-Identifier: MIT */
/*
 * The chronology of a thread: which routine stood at which height, from when to when (Servat et
 * al. 2016, the selection of representative routines).
 *
 * From height 1 up, consecutive samples with the same routine at that height make a run; runs of
 * at least the threshold are kept, and the search goes on one height up inside them. Two samples
 * are in one run at a height if and only if they share all routines up to it, so runs open and
 * close as samples pass, and a kept run's own parent is always kept: it is longer. One pass, a
 * stack of open runs.
 */
#ifndef ALIGN_CHRONOLOGY_H
#define ALIGN_CHRONOLOGY_H

#include <stddef.h>
#include <stdint.h>

struct chronology_run {
	uint32_t height; /* from 1, the root */
	uint32_t symbol;
	uint32_t parent; /* that of the height below; UINT32_MAX at height 1 */
	uint32_t grandparent;
	uint64_t first, last; /* numbers of samples, from 0 */
	uint64_t start, end;  /* times: of the first sample, and of the one after the last */
};

struct chronology_options {
	uint64_t samples;  /* a kept run has at least so many, */
	uint64_t duration; /* and lasts at least so long */
	uint32_t heights;  /* up to which runs are looked for; 0: no limit */
};

/* `each` gets every kept run when it ends: those above before those below. A non-zero return ends
 * the pass, and is passed on. */
typedef int (*chronology_each)(void *arg, const struct chronology_run *run);

struct chronology;

/* 0 or -ENOMEM. */
int chronology_new(const struct chronology_options *options, chronology_each each, void *arg,
		   struct chronology **ret_chronology);
void chronology_free(struct chronology *chronology);

/* The next sample: its routines, root first. 0, -ENOMEM, or what `each` says. */
int chronology_add(struct chronology *chronology, uint64_t time, const uint32_t *symbols,
		   size_t n_symbols);

/* There are no more samples; the last one lasts until `time`. 0, or what `each` says. */
int chronology_end(struct chronology *chronology, uint64_t time);

#endif
