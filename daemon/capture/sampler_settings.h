/* SPDX-License-Identifier: MIT */
/* The settings of the kernel half, which are constants when it is loaded, so that the verifier
 * removes code that is not used. */
#ifndef CAPTURE_SAMPLER_SETTINGS_H
#define CAPTURE_SAMPLER_SETTINGS_H

#include "daemon/capture/sampler.h"

struct stackd_bpf;

/* Sets the constants. `btf_path`: the file with the kernel's BTF. */
void sampler_settings_put(struct stackd_bpf *skel, const struct sampler_options *options,
			  const char *btf_path);

#endif
