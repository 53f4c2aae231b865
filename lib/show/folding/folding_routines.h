/* SPDX-License-Identifier: MIT */
/* Finds which routines run when in a pass, and the path of most samples of each phase: a part of
 * folding.h. */
#ifndef FOLDING_FOLDING_ROUTINES_H
#define FOLDING_FOLDING_ROUTINES_H

#include "folding/folding.h"

/* Fills in the routines and the phases of a folding. Its samples must have places, and its counters
 * curves, already. Returns 0 or -ENOMEM. */
int folding_find_routines(struct folding *folding, struct profile *profile);

#endif
