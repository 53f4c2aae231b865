/* SPDX-License-Identifier: MIT */
/* Which routines run when in a pass, and what each phase is in most: a part of folding.h. */
#ifndef FOLDING_FOLDING_ROUTINES_H
#define FOLDING_FOLDING_ROUTINES_H

#include "folding/folding.h"

/* Fills in the routines and the phases of a folding whose samples have places and whose counters
 * have curves. 0 or -ENOMEM. */
int folding_find_routines(struct folding *folding, struct profile *profile);

#endif
