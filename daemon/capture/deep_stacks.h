/* SPDX-License-Identifier: MIT */
/* Room for deep stacks in the kernel half (bpf/deep.bpf.h), made when it is first wanted: 8 MiB
 * each, STACKD_DEEP_STACKS at most. */
#ifndef CAPTURE_DEEP_STACKS_H
#define CAPTURE_DEEP_STACKS_H

#include <stdint.h>

/* Makes room for one more. `blocks_fd` is the map of blocks, with values of `block_bytes`;
 * *n_stacks is what the kernel half goes by. Without memory, or at the limit, nothing is done. */
void deep_stacks_add(int blocks_fd, uint32_t block_bytes, uint32_t *n_stacks);

#endif
