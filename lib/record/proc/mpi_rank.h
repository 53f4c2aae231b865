/* SPDX-License-Identifier: MIT */
/* The rank of a process in its MPI job, from the variables that the launcher sets. */
#ifndef PROC_MPI_RANK_H
#define PROC_MPI_RANK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mpi_rank {
	uint32_t rank;
	uint32_t size; /* number of processes of the job; 0: unknown */
};

/* Searches an environment for the variables of Open MPI, of PMI and PMIx (MPICH, Intel MPI, Slurm),
 * and of MVAPICH2. The environment is `size` bytes of strings, each with a NUL behind it. Slurm's
 * variables count only in tasks of a job step. Returns 0; -ENOENT: the process has no rank. */
int mpi_rank_find(const char *environment, size_t size, struct mpi_rank *ret_rank);

/* Does the same with the environment in /proc/PID/environ below `root`. Returns 0; -ENOENT: the
 * process has no rank; -EAGAIN: the process executes a program, whose environment the kernel has
 * not set yet; -ESRCH: there is no such process; or another -errno. */
int mpi_rank_read(const char *root, pid_t pid, struct mpi_rank *ret_rank);

#endif
