/* SPDX-License-Identifier: MIT */
/* Makes room for deep stacks in the kernel half (bpf/deep.bpf.h) when it is first needed: 8 MiB for
 * each, STACKD_DEEP_STACKS at most. */
#ifndef CAPTURE_DEEP_STACKS_H
#define CAPTURE_DEEP_STACKS_H

#include <stdint.h>

/* Makes room for one more deep stack. `blocks_fd` is the map of blocks, with values of
 * `block_bytes`; *n_stacks is the kernel half's variable that says for how many stacks there is
 * room. Does nothing without memory, or at the limit. */
void deep_stacks_add(int blocks_fd, uint32_t block_bytes, uint32_t *n_stacks);

#endif
