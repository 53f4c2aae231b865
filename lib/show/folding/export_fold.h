/* SPDX-License-Identifier: MIT */
/* Writes a folding (folding/folding.h) as one HTML page (see fold.html). */
#ifndef FOLDING_EXPORT_FOLD_H
#define FOLDING_EXPORT_FOLD_H

#include "folding/folding.h"

/* Writes the page. Returns 0, -ENOMEM, or -EIO if the stream failed. */
int export_fold(const struct folding *folding, struct profile *profile, FILE *out);

#endif
