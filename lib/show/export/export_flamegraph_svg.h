/* SPDX-License-Identifier: MIT */
/* A profile as a flame graph that needs no browser's scripts: one picture. */
#ifndef EXPORT_EXPORT_FLAMEGRAPH_SVG_H
#define EXPORT_EXPORT_FLAMEGRAPH_SVG_H

#include "export/export_flamegraph.h"

/* 0, -ENOMEM, or -EIO when the stream failed. Frames too narrow to be seen are left out, too. */
int export_flamegraph_svg(struct profile *profile, const struct flamegraph_options *options,
			  FILE *out);

#endif
