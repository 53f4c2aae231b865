/* SPDX-License-Identifier: MIT */
/* Sets the kernel half's settings before it is loaded. From then on they are constants, so that the
 * BPF verifier removes code that they switch off. */
#ifndef CAPTURE_SAMPLER_SETTINGS_H
#define CAPTURE_SAMPLER_SETTINGS_H

#include "daemon/capture/sampler.h"

struct stackd_bpf;

/* Sets the constants. `btf_path`: the file with the kernel's BTF. */
void sampler_settings_put(struct stackd_bpf *skel, const struct sampler_options *options,
			  const char *btf_path);

#endif
