/* SPDX-License-Identifier: MIT */
/* Exports a profile as a flame graph without scripts: one SVG picture. */
#ifndef EXPORT_EXPORT_FLAMEGRAPH_SVG_H
#define EXPORT_EXPORT_FLAMEGRAPH_SVG_H

#include "export/export_flamegraph.h"

/* Writes the picture. Frames too narrow to be seen are left out, too. Returns 0, -ENOMEM, or -EIO
 * if the stream failed. */
int export_flamegraph_svg(struct profile *profile, const struct flamegraph_options *options,
			  FILE *out);

#endif
