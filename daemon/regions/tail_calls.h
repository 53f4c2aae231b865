/* SPDX-License-Identifier: MIT */
/*
 * Handles functions of MPI that are left by tail calls alone, as Open MPI's MPI_Finalize() is: the
 * function that they jump to does the work, and returns to the caller in their place. So a pass
 * lasts until that function returns, and its returns get probes. They end the pass only if the
 * stack pointer is where the pass's return address lies, so other calls of that function end no
 * pass.
 *
 * Other functions, which have both returns and tail calls, are left as they are: most of their tail
 * calls lead to code that handles errors.
 *
 * A function of Fortran's interface, or of a tool, can end with a jump to the function that it
 * wraps ("jmp PMPI_Send@plt"), which has probes of its own. Such a jump is no exit: the pass
 * continues in that function, and ends when it returns (bpf/region.bpf.h).
 */
#ifndef REGIONS_TAIL_CALLS_H
#define REGIONS_TAIL_CALLS_H

#include "daemon/regions/region_find.h"

/* Adds to the exits of each function of MPI that is left by tail calls alone the exits of the
 * functions to which it jumps, if these are in the same file. Removes jumps to functions of MPI
 * from the exits of all functions of MPI. Only the functions from index `first` of `found` on are
 * changed. `debug` is the file's debug file, or NULL. 0 or -ENOMEM. */
int tail_calls_follow(const struct elf_file *file, const struct elf_file *debug,
		      struct found_regions *found, size_t first);

#endif
