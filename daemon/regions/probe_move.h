/* SPDX-License-Identifier: MIT */
/*
 * Moves a region's probes to instructions at which they cost less.
 *
 * The kernel emulates a few of the instructions that probes replace: push, call and jumps, with
 * immediate targets. It single-steps a copy of any other instruction, and a step ends with a second
 * trap, which is the most expensive part of a probe: if a hypervisor intercepts the trap, as KVM
 * does, a stepped probe takes 9 us, an emulated one 0.9. A return is stepped.
 *
 *	make a frame of 5 words     entry: moves down to the call, over 9 bytes of code and 5 words
 *	first argument = 1          of the stack
 *	call clock_gettime
 *	...
 *	if unequal, go to fail      return: moves up to here, where the branch is not taken. What
 *	drop 4 words                follows restores a register and removes a frame of 5 words
 *	pop a preserved register
 *	return
 *
 * The entry's probe moves past instructions that are no target of a jump, and in any case past nops
 * of five bytes (probe_place.h), which can have no probe. The probe of a return moves up to the
 * edges that lead to it: jumps, and branches that are taken or not, between which and the return
 * there are only moves between registers and the removal of the frame. So the measured instance
 * (pass) is shorter by some nanoseconds. A branch in a loop gets no probe, because a thread would
 * hit it in each iteration. If any of a return's edges can have no probe, the probe stays at the
 * return.
 */
#ifndef REGIONS_PROBE_MOVE_H
#define REGIONS_PROBE_MOVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/regions/function_exits.h"
#include "elf/elf_file.h"

/* Searches the code of a function whose exits are known for instructions at which probes cost less.
 * Sets `after` and `frame` of *exits for the entry's probe, and replaces exits of the kind
 * STACKD_EXIT_RETURN. `uses_arguments`: the entry's probe must stay where the arguments are still
 * in place. 0, also if nothing can be moved; -ENOMEM. */
int probe_move(const struct elf_file *file, const struct code_part *parts, size_t n_parts,
	       bool uses_arguments, struct function_exits *exits);

#endif
