/* SPDX-License-Identifier: MIT */
/* Processes' heaps over time as a picture. */
#ifndef REPORT_HEAP_SVG_H
#define REPORT_HEAP_SVG_H

#include <stdio.h>

#include "model/heap.h"
#include "model/profile.h"

#define HEAP_SVG_BINS 400 /* that `heap` should have */

/* Writes a self-contained SVG file: an area for each process that had allocations, the largest
 * peaks first. 0, -ENOMEM, -EIO. */
int heap_svg_write(const struct heap *heap, const struct profile *profile, FILE *out);

#endif
