/* SPDX-License-Identifier: MIT */
/*
 * Moves a region's probes to instructions at which they cost less.
 *
 * The kernel emulates a few of the instructions that probes replace: push, call and jumps, with
 * immediate targets. It steps all others in a copy, and a step ends with a second trap, which is
 *the most expensive part of a probe: if a hypervisor intercepts the trap, as KVM does, a stepped
 *probe takes 9 us, an emulated one 0.9. A return is stepped.
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
 * An entry moves past instructions that no jump leads to or between, and in any case past nops of
 * five bytes (probe_place.h). A return moves to the edges that lead to it: jumps, and branches that
 * are taken or not, with nothing after them but moves between registers and the removal of the
 * frame. So the measured instance is shorter by some nanoseconds. A branch in a loop gets no probe,
 * as it would be hit in each turn. If one of the edges can have no probe, the exit stays at the
 * return.
 */
#ifndef REGIONS_PROBE_MOVE_H
#define REGIONS_PROBE_MOVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/regions/function_exits.h"
#include "elf/elf_file.h"

/* Searches a function whose exits are known for cheaper instructions, and moves the entry's probe
 * (`after`, `frame`) and the exits there. With `uses_arguments` the entry stays where the arguments
 * are still in place. 0 (also if nothing can be moved) or -ENOMEM. */
int probe_move(const struct elf_file *file, const struct code_part *parts, size_t n_parts,
	       bool uses_arguments, struct function_exits *exits);

#endif
