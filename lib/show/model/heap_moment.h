/* SPDX-License-Identifier: MIT */
/*
 * When a heap was largest, and how large, without bias. The sum of what sampled blocks stand for is
 * off by chance at each moment, and the largest of its values is where it is too large: a program
 * that has 5 KB at any time, and allocates much, would show a MB.
 *
 * So a part of the sample chooses the moment, and the rest estimates what was there then, as in
 * cross-validation. The sampling's points are dealt to HEAP_FOLDS folds. For each block it is drawn
 * which folds have hit it; each fold is a sample of its own, with fewer points. A chooser is
 * all folds but one, and its moment is the last one at which it has its most (of a heap that grows,
 * the end). That is done HEAP_DEALS times.
 *
 * The peak is the mean of what there was at the choosers' moments. A block adds its weight times an
 * estimate of the probability that it was live at a chooser's moment. Choosers that contain the
 * block and choosers that do not are averaged apart and weighted by q and 1 - q, where q is the
 * probability that a chooser contains it. A plain average would favour choosers that contain it,
 * because every stored block was hit. A block that was sampled for certain is in all choosers, so a
 * heap of such blocks has exactly its peak.
 *
 * The peak can be too small as far as the choosers miss its moment, by less than the standard
 * error. Drawing is by a hash of what is stored of a block, so each view draws the same.
 */
#ifndef MODEL_HEAP_MOMENT_H
#define MODEL_HEAP_MOMENT_H

#include <stdint.h>

#define HEAP_FOLDS    8
#define HEAP_DEALS    4
#define HEAP_CHOOSERS (HEAP_FOLDS * HEAP_DEALS)

/* A sampled block. */
struct heap_member {
	double bytes;		/* that it stands for */
	uint32_t in_choosers;	/* bits: the choosers that have it */
	double weight;		/* that it stands for in each of these */
	double estimate_if_in;	/* what it adds to the peak by each of these, if it is there, */
	double estimate_if_out; /* and by each of the others */
};

/* What is live. */
struct heap_live {
	double chosen[HEAP_CHOOSERS], estimate[HEAP_CHOOSERS];
};

/* The moments at which choosers have their most, so far. */
struct heap_moment {
	double most[HEAP_CHOOSERS], estimate[HEAP_CHOOSERS];
	uint64_t first[HEAP_CHOOSERS], last[HEAP_CHOOSERS]; /* from when to when */
	uint32_t still;					    /* bits: they have it now */
};

/* Draws the choosers of a block that stands for so many bytes with a standard error, which 0 says
 * is certain. `key`: a number of its own. */
struct heap_member heap_member_of(uint64_t bytes, uint64_t error, uint64_t key);

/* Takes a block in (sign 1) or out (-1). */
void heap_live_change(struct heap_live *live, const struct heap_member *member, int sign);

/* Begins with what is live at a time. */
void heap_moment_begin(struct heap_moment *moment, const struct heap_live *live, uint64_t time_ns);

/* Looks at what is live from a time on: whether it is the most of any chooser. Times never fall. */
void heap_moment_look(struct heap_moment *moment, const struct heap_live *live, uint64_t time_ns);

/* Returns the estimated peak, in bytes. */
double heap_moment_bytes(const struct heap_moment *moment);

/* Returns the median of the times at which the choosers first reached their most. */
uint64_t heap_moment_time(const struct heap_moment *moment);

/* Returns which share of a block had been allocated, or freed, by the choosers' moments, if it was
 * at this time: 0 to 1. */
double heap_moment_share(const struct heap_moment *moment, const struct heap_member *member,
			 uint64_t time_ns);

#endif
