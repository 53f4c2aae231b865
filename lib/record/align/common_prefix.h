/* SPDX-License-Identifier: MIT */
/*
 * The common prefix of the two complete samples around a sample that alignment could not complete:
 * the frames, from the root on, that both have.
 *
 *   time ─►      complete   partial          complete
 *                d          ?     ?     ?    e
 *                c                           f         The frames, from the entry on, that both
 *                b          b     b     b    b         complete samples have, with function and
 *                main       main  main  main main      height, were there all the time between.
 *
 * How many frames lie between these and the partial sample's own is not known, so they are not
 * among its inferred callers; but its time is inclusive time of their functions as well. The last
 * common frame is known by its function alone, as it may have gone on to another call. It is
 * followed by the functions that it all but always calls, without id and height.
 */
#ifndef ALIGN_COMMON_PREFIX_H
#define ALIGN_COMMON_PREFIX_H

#include "align/align.h"

struct common_prefix;

/* Finds the common prefixes of an alignment that has run, which is borrowed. Returns 0 or -ENOMEM.
 */
int common_prefix_new(const struct align *align, struct common_prefix **ret_prefix);

/* Frees the prefixes; NULL is allowed. */
void common_prefix_free(struct common_prefix *prefix);

/* Returns the number of frames of a partial sample's prefix, and in `ret_frames` the frames, root
 * first. They live as long as `prefix`. */
uint32_t common_prefix_of(const struct common_prefix *prefix, uint32_t sample,
			  const struct align_frame **ret_frames);

#endif
