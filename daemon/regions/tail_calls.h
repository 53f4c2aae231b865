/* SPDX-License-Identifier: MIT */
/*
 * Handles functions of MPI that are left by tail calls alone, as Open MPI's MPI_Finalize() is: the
 * function that they jump to does the work, and returns to the caller in their place. So a pass
 * lasts until one of the returns of that function. These are exits only while the stack pointer is
 * at the slot of the pass, so other calls of the same function are not affected.
 *
 * Other functions have tail calls beside returns, most of them to code that handles errors.
 *
 * A function of Fortran's interface, or of a tool, can end with a jump to the function that it
 * wraps
 * ("jmp PMPI_Send@plt"), which has probes of its own. Such a jump is no exit: the pass continues in
 * that function, and ends when it returns (bpf/region.bpf.h).
 */
#ifndef REGIONS_TAIL_CALLS_H
#define REGIONS_TAIL_CALLS_H

#include "daemon/regions/region_find.h"

/* Gives the functions of MPI that are left by tail calls alone the exits of the functions that they
 * jump to, if these are in the same file. Removes jumps to functions of MPI from the exits of all
 * functions of MPI. The regions are those from number `first` on. `debug` is the file's debug file,
 * or NULL. 0 or -ENOMEM. */
int tail_calls_follow(const struct elf_file *file, const struct elf_file *debug,
		      struct found_regions *found, size_t first);

#endif
