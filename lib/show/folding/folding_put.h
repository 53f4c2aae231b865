/* SPDX-License-Identifier: MIT */
/* Formats numbers, rates and paths for all forms of a folding (folding.h). */
#ifndef FOLDING_FOLDING_PUT_H
#define FOLDING_FOLDING_PUT_H

#include "base/text.h"
#include "folding/folding.h"

/* Appends a time with its unit: "4.98 ms". */
void folding_put_time(struct buf *b, double ns);

/* Appends a number with at least three digits and a unit prefix: "1.25 M". */
void folding_put_number(struct buf *b, double value);

/* Appends a phase's rate and its band: "3.33 M/s (3.31 to 3.36)". */
void folding_put_rate(struct buf *b, const struct folding_counter *counter,
		      const struct fold_phase *phase);

/* Appends a phase's path and line: "solve > spmv [cg.c:12]". */
void folding_put_path(struct buf *b, const struct folding_phase *phase, bool utf8);

/* Appends a line about the run time of the probes' BPF programs that is still in the bursts
 * (bursts.h). */
void folding_put_kept(struct buf *b);

/* Returns why a counter has no curve. */
const char *folding_why_no_curve(const struct folding_counter *counter);

#endif
