/* SPDX-License-Identifier: MIT */
/*
 * Functions of MPI that are left by tail calls alone, as Open MPI's MPI_Finalize() is: the work is
 * done by what they jump to, which returns to the caller in their place. So a pass lasts until one
 * of the returns of that. These are exits only while the stack pointer is at the slot of the pass,
 * so what else calls the same function is not touched.
 *
 * Others have tail calls, too, but beside returns: to what handles errors, most of them.
 *
 * A function of Fortran's interface, or of a tool, can end with a jump to the one that it stands
 * for ("jmp PMPI_Send@plt"), which has probes of its own. Such a jump is no exit: the pass goes on
 * in what is jumped to, and ends where that returns (bpf/region.bpf.h).
 */
#ifndef REGIONS_TAIL_CALLS_H
#define REGIONS_TAIL_CALLS_H

#include "daemon/regions/region_find.h"

/* Gives such regions, among the functions of MPI of a file, the exits of what they jump to, where
 * that is a function of the same file, and takes the jumps to functions of MPI off all of them. The
 * regions are those from number `first` on. `debug` is the file's debug file, or NULL. 0 or
 * -ENOMEM. */
int tail_calls_follow(const struct elf_file *file, const struct elf_file *debug,
		      struct found_regions *found, size_t first);

#endif
