/* SPDX-License-Identifier: MIT */
/* Finds which routines run when in a pass, and the path that most samples of each phase have: a
 * part of folding.h. */
#ifndef FOLDING_FOLDING_ROUTINES_H
#define FOLDING_FOLDING_ROUTINES_H

#include "folding/folding.h"

/* Fills in the routines and the phases of a folding whose samples have places and whose counters
 * have curves. 0 or -ENOMEM. */
int folding_find_routines(struct folding *folding, struct profile *profile);

#endif
