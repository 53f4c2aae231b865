/* SPDX-License-Identifier: MIT */
/* Finds ranks in environments; see mpi_rank.h. */
#include "proc/mpi_rank.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "proc/process_environment.h"

#define MOST_RANKS (1u << 30)

/*
 * The launchers' variables. The first entry whose variables are set decides. Slurm also sets its
 * variables in the script of a job, as for task 0 of all tasks that the job may have, and all that
 * the script runs directly inherits them: that is no rank. Only tasks of a step, which srun starts,
 * have SLURM_STEP_ID.
 */
static const struct {
	const char *rank, *sizes[2];
	const char *beside; /* another variable that must be set as well; NULL: none */
} variables[] = {
	{"OMPI_COMM_WORLD_RANK", {"OMPI_COMM_WORLD_SIZE", NULL}, NULL},
	{"MV2_COMM_WORLD_RANK", {"MV2_COMM_WORLD_SIZE", NULL}, NULL},
	{"PMI_RANK", {"PMI_SIZE", NULL}, NULL},
	{"PMIX_RANK", {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}, NULL},
	{"SLURM_PROCID", {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}, "SLURM_STEP_ID"},
};

/* Returns the value of a variable; -1: it is not set, or is no number up to MOST_RANKS. */
static int64_t number_of(const char *environ, size_t size, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = environ; at < environ + size; at += strlen(at) + 1) {
		char *end;
		unsigned long value;

		if (strncmp(at, name, len) != 0 || at[len] != '=')
			continue;
		if (at[len + 1] < '0' || at[len + 1] > '9')
			return -1;
		errno = 0;
		value = strtoul(at + len + 1, &end, 10);
		return errno || *end || value > MOST_RANKS ? -1 : (int64_t)value;
	}
	return -1;
}

/* Returns the number of processes of the job, from the first of these variables that has one; 0:
 * unknown, or not above the rank. */
static uint32_t size_of(const char *environ, size_t size, const char *const *names, int64_t rank)
{
	int64_t n = -1;

	for (size_t i = 0; i < 2 && names[i] && n < 0; i++)
		n = number_of(environ, size, names[i]);
	return n > rank ? (uint32_t)n : 0;
}

int mpi_rank_find(const char *environ, size_t size, struct mpi_rank *ret_rank)
{
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *beside = variables[i].beside;
		int64_t rank = number_of(environ, size, variables[i].rank);

		if (rank < 0 || (beside && number_of(environ, size, beside) < 0))
			continue;
		*ret_rank =
			(struct mpi_rank){.rank = (uint32_t)rank,
					  .size = size_of(environ, size, variables[i].sizes, rank)};
		return 0;
	}
	return -ENOENT;
}

int mpi_rank_read(const char *root, pid_t pid, struct mpi_rank *ret_rank)
{
	char *environ = NULL;
	size_t size;
	int err = process_environment_read(root, pid, &environ, &size);

	if (!err)
		err = mpi_rank_find(environ, size, ret_rank);
	free(environ);
	return err;
}
