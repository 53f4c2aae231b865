/* SPDX-License-Identifier: MIT */
/* Makes room in the kernel half for deep stacks (bpf/deep.bpf.h): the frames of a stack that has
 * more of them than one record holds. Room for one such stack takes 8 MiB, so it is made when a
 * walk first needs it, for STACKD_DEEP_STACKS stacks at most. A run of windows has none, since its
 * memory has a limit: there each walk of such a stack is made anew, as far as it comes. */
#ifndef CAPTURE_DEEP_STACKS_H
#define CAPTURE_DEEP_STACKS_H

#include <stdint.h>

/* Makes room for one more deep stack. `blocks_fd` is the map of blocks, with values of
 * `block_bytes`; *n_stacks is the kernel half's variable that says for how many stacks there is
 * room. Does nothing without memory, or at the limit. */
void deep_stacks_add(int blocks_fd, uint32_t block_bytes, uint32_t *n_stacks);

#endif
