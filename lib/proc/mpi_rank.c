/* SPDX-License-Identifier: MIT */
/* Reads a process's environment; see mpi_rank.h. */
#include "proc/mpi_rank.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_BYTES (1u << 20) /* of an environment that are read */
#define MOST_RANKS (1u << 30)

/* The launchers' variables: what the first pair that is there says, holds. */
static const struct {
	const char *rank, *size;
} variables[] = {
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
	{"PMI_RANK", "PMI_SIZE"},
	{"PMIX_RANK", "SLURM_NTASKS"},
	{"SLURM_PROCID", "SLURM_NTASKS"},
};

/* Returns the number that a variable has; -1: it is not there, or is no such number. */
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

int mpi_rank_find(const char *environ, size_t size, struct mpi_rank *ret_rank)
{
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		int64_t rank = number_of(environ, size, variables[i].rank), n;

		if (rank < 0)
			continue;
		n = number_of(environ, size, variables[i].size);
		*ret_rank = (struct mpi_rank){.rank = (uint32_t)rank,
					      .size = n > rank ? (uint32_t)n : 0};
		return 0;
	}
	return -ENOENT;
}

int mpi_rank_read(const char *root, pid_t pid, struct mpi_rank *ret_rank)
{
	char path[256], *environ;
	size_t size = 0;
	ssize_t got = 1;
	int fd, err;

	snprintf(path, sizeof(path), "%s/%d/environ", root, (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	environ = malloc(MOST_BYTES + 1);
	while (environ && got > 0 && size < MOST_BYTES) {
		got = read(fd, environ + size, MOST_BYTES - size);
		size += got > 0 ? (size_t)got : 0;
	}
	err = !environ ? -ENOMEM : got < 0 ? -errno : 0;
	close(fd);
	if (!err) {
		environ[size] = '\0';
		err = mpi_rank_find(environ, size, ret_rank);
	}
	free(environ);
	return err;
}
