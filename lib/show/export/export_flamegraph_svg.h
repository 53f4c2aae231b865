/* SPDX-License-Identifier: MIT */
/* Exports a profile as a flame graph without scripts: one SVG picture. */
#ifndef EXPORT_EXPORT_FLAMEGRAPH_SVG_H
#define EXPORT_EXPORT_FLAMEGRAPH_SVG_H

#include <stdio.h>

#include "report/report.h"

struct flamegraph_options {
	/* by what the frames next to the root divide the profile; for PARTITION_BY_CPU, the profile
	 * must have been made with by_cpu */
	enum partition_by by;
	double percent_limit; /* frames below this share of all samples are left out */
	/* the smallest frames are left out until the file has at most so many bytes; 0: no limit */
	size_t max_bytes;
	bool is_flame; /* the root is at the bottom */
};

/* Writes the picture. Frames too narrow to be seen are left out, too. Returns 0, -ENOMEM, or -EIO
 * if the stream failed. */
int export_flamegraph_svg(struct profile *profile, const struct flamegraph_options *options,
			  FILE *out);

#endif
