/* SPDX-License-Identifier: MIT */
/* The rank of a process in its MPI job, from the variables that the launcher sets. */
#ifndef PROC_MPI_RANK_H
#define PROC_MPI_RANK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mpi_rank {
	uint32_t rank;
	uint32_t size; /* of the job; 0: not known */
};

/* Searches an environment for the variables of Open MPI, of PMI and PMIx (MPICH, Intel MPI, Slurm),
 * and of MVAPICH2. It has strings that each end with a 0, `size` bytes with the last one's. Slurm's
 * count only in tasks of a step. 0; -ENOENT: it has no rank. */
int mpi_rank_find(const char *environment, size_t size, struct mpi_rank *ret_rank);

/* The same with /proc/PID/environ below `root`. Or -ESRCH: there is no such process; or another
 * -errno. */
int mpi_rank_read(const char *root, pid_t pid, struct mpi_rank *ret_rank);

#endif
