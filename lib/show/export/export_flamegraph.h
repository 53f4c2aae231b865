/* SPDX-License-Identifier: MIT */
/* Exports a profile, or the difference of two, as a flame graph: one HTML file (see
 * flamegraph.html). */
#ifndef EXPORT_EXPORT_FLAMEGRAPH_H
#define EXPORT_EXPORT_FLAMEGRAPH_H

#include <stdio.h>

#include "report/report.h"

struct flamegraph_options {
	/* by what the frames next to the root divide the profile; for PARTITION_BY_CPU, the profile
	 * must have been made with by_cpu */
	enum partition_by by;
	double percent_limit; /* frames below this share of all samples are left out */
	/* the smallest frames are left out until the file has at most so many bytes; 0: no limit */
	size_t max_bytes;
	bool is_flame; /* the page opens with the root at the bottom */
	/* names of the two recordings; NULL: the name is made from what was recorded */
	const char *names[2];
};

/* Writes the flame graph of profiles[0], or, if profiles[1] is not NULL, of the change from [0] to
 * [1]. Returns 0, -ENOMEM, or -EIO if the stream failed. */
int export_flamegraph(struct profile *const profiles[2], const struct flamegraph_options *options,
		      FILE *out);

#endif
