/* SPDX-License-Identifier: MIT */
/*
 * How sure it is that a frame's caller is the one that its neighbours in time tell.
 *
 * The weights are measured, not derived: recordings of g++, clang++, python3, sqlite3, openssl and
 * lmp with one stack in ten cut at random, each class of signs with how often its answer was the
 * true caller (bench/align repeats the sum of it). Compilers decide: the others hardly err.
 */
#ifndef ALIGN_WEIGH_H
#define ALIGN_WEIGH_H

#include <stdbool.h>
#include <stdint.h>

/* Distances are in samples of the stack. */
#define WEIGH_NEXT   2u
#define WEIGH_NEAR   8u /* at most so far away, nothing has changed meanwhile */
#define WEIGH_MIDDLE 32u
#define WEIGH_FAR    128u
#define WEIGH_OFTEN  4u	 /* sightings that make one caller likely to be the only one */
#define WEIGH_FEW    3u	 /* places that a routine is called from */
#define WEIGH_STEADY 8u	 /* sightings between two that agree make a habit */
#define WEIGH_ODDLY  50u /* and one in so many may tell otherwise */
#define WEIGH_CENSUS 6u	 /* the same for other threads' */

/* What is known when a frame's caller is asked for. */
struct weigh_signs {
	bool both, agree; /* there is a sighting before and one after; they have the same caller */
	uint32_t gap;	  /* to the farther one if both agree, else to the nearer one */
	bool has_changed; /* the frame was seen with more than one caller */
	uint32_t seen;	  /* how often with any */
	/* Sightings between two that agree; and of these, those that told otherwise. */
	uint32_t between, odd;
	uint32_t places; /* from which the routine was seen called, at any height */
	/* Of those: how many have a frame near in time that stands where it would have to; and
	 * whether what the sightings tell is among them. */
	uint32_t standing;
	bool is_standing;
};

/* In hundredths of a percent; below 5000, or where it is 0, there is nothing to go by. */
uint32_t weigh(const struct weigh_signs *signs);

/* What is known of a path: callers that whole samples had below a frame like an open sample's
 * first. Its rivals are the other such paths; its neighbours are the open sample's in time. */
struct weigh_path {
	/* Frames above that a sample with it shares with the open one, and callers that a neighbour
	 * has, too: more than for any rival, and one more than none if there is no rival. */
	int32_t above, below;
	uint32_t near;	    /* callers that a neighbour has, too */
	uint32_t rest;	    /* those that not both have */
	uint32_t lacks;	    /* frames that both have, and it has not */
	uint32_t seen;	    /* samples with it that share the most with the open one */
	uint32_t against;   /* samples with rivals that share as much */
	uint32_t elsewhere; /* samples with it of other threads */
	bool has_rival;
	bool is_told; /* single frames' sightings tell it, too */
};

/* The same for all of a path's frames. */
uint32_t weigh_path(const struct weigh_path *path);

/* Of the only caller that stands where it would have to, where no sighting tells it. */
#define WEIGH_STANDING_ALONE 9000u

/* Of the caller that nearly all sightings in all threads of the program tell. */
#define WEIGH_CENSUS_TELLS 9000u

#endif
