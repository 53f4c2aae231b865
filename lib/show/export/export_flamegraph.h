/* SPDX-License-Identifier: MIT */
/* A profile, or what changed between two, as a flame graph: one HTML file (see flamegraph.html). */
#ifndef EXPORT_EXPORT_FLAMEGRAPH_H
#define EXPORT_EXPORT_FLAMEGRAPH_H

#include <stdio.h>

#include "report/report.h"

struct flamegraph_options {
	enum partition_by by; /* what the frames next to the root are; a profile by CPU must have
			       * been made with by_cpu */
	double percent_limit; /* frames below this share of all samples are left out */
	size_t max_bytes;     /* so are the smallest until the file is no larger; 0: none are */
	bool is_flame;	      /* opens with the root at the bottom */
	const char *names[2]; /* of the recordings; NULL: what was recorded */
};

/* Of profiles[0], or, where profiles[1] is not NULL, from [0] to [1]. 0, -ENOMEM, or -EIO when the
 * stream failed. */
int export_flamegraph(struct profile *const profiles[2], const struct flamegraph_options *options,
		      FILE *out);

#endif
