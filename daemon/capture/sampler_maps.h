/* SPDX-License-Identifier: MIT */
/* The sizes of the kernel half's maps, which are most of the memory that it takes. */
#ifndef CAPTURE_SAMPLER_MAPS_H
#define CAPTURE_SAMPLER_MAPS_H

#include "daemon/capture/sampler.h"

struct stackd_bpf;

/* Sets the sizes of maps that depend on the number of CPUs and on the options, before the skeleton
 * is loaded. 0 or -errno. */
int sampler_maps_size(struct stackd_bpf *skel, const struct sampler_options *options,
		      uint32_t cpus);

#endif
