/* SPDX-License-Identifier: MIT */
/*
 * What stood at the bottom of a stack while samples were taken that could not be aligned to it.
 *
 *   time ─►      whole      open, open, open      whole
 *                d          ?     ?     ?         e
 *                c                                f        the frames that both whole ones have,
 *                b          b     b     b         b        routine and height, from the entry up,
 *                main       main  main  main      main     were there all the time between
 *
 * How many frames lie between these and an open sample's own is not known, so they are no callers
 * of it; but its time is theirs as well. The topmost is known by its routine: it can have moved on
 * to another call. Above it stand those that it all but always calls, without id and height.
 */
#ifndef ALIGN_STANDING_H
#define ALIGN_STANDING_H

#include "align/align.h"

struct standing;

/* Of an alignment that has run, which is borrowed. 0 or -ENOMEM. */
int standing_new(const struct align *align, struct standing **ret_standing);
void standing_free(struct standing *standing);

/* The frames that stood below a sample that is not whole, root first, and how many. */
uint32_t standing_of(const struct standing *standing, uint32_t sample,
		     const struct align_frame **ret_frames);

#endif
