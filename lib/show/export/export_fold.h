/* SPDX-License-Identifier: MIT */
/* A folding (report/folding.h) as one HTML page (see fold.html). */
#ifndef EXPORT_EXPORT_FOLD_H
#define EXPORT_EXPORT_FOLD_H

#include "report/folding.h"

/* Writes the page. 0, -ENOMEM, or -EIO if the stream failed. */
int export_fold(const struct folding *folding, struct profile *profile, FILE *out);

#endif
