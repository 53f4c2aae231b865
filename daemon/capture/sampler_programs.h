/* SPDX-License-Identifier: MIT */
/* Chooses which of the kernel half's programs are loaded, and for which kind of link, since the BPF
 * verifier takes time for each. */
#ifndef CAPTURE_SAMPLER_PROGRAMS_H
#define CAPTURE_SAMPLER_PROGRAMS_H

#include "daemon/capture/sampler.h"

struct stackd_bpf;

/* Chooses the programs. To be called before the skeleton is loaded. */
void sampler_programs_choose(struct stackd_bpf *skel, const struct sampler_options *options);

/* Gives the programs and maps of regions (sampler_regions_parts()), but does not set `is_multi` and
 * `is_malloc_multi`. */
void sampler_programs_regions(const struct stackd_bpf *skel, struct sampler_regions *ret_regions);

#endif
