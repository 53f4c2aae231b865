/* SPDX-License-Identifier: MIT */
/* Draws the heaps of processes over time. */
#ifndef REPORT_HEAP_SVG_H
#define REPORT_HEAP_SVG_H

#include <stdio.h>

#include "model/heap.h"
#include "model/profile.h"

#define HEAP_SVG_BINS 400 /* the n_bins that `heap` should have */

/* Writes a self-contained SVG file: an area for each process that has allocations, the largest
 * peaks first. Returns 0, -ENOMEM or -EIO. */
int heap_svg_write(const struct heap *heap, const struct profile *profile, FILE *out);

#endif
