/* SPDX-License-Identifier: MIT */
/* See ranks.h. */
#include "daemon/model/ranks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/int_map.h"
#include "base/vec.h"
#include "proc/mpi_rank.h"

#define FORGOTTEN UINT64_MAX /* a value: of a process that has ended */

struct ranks {
	struct int_map by_pid; /* index of the value */
	VEC(uint64_t) values;  /* 0: it has none; or FORGOTTEN */
	struct int_map given;  /* by process: 1 */
};

int ranks_new(struct ranks **ret_ranks)
{
	*ret_ranks = calloc(1, sizeof(**ret_ranks));
	return *ret_ranks ? 0 : -ENOMEM;
}

void ranks_free(struct ranks *ranks)
{
	if (!ranks)
		return;
	int_map_fini(&ranks->by_pid);
	int_map_fini(&ranks->given);
	free(ranks->values.items);
	free(ranks);
}

/* Sets the rank of a process; NULL: it has none. */
static int set(struct ranks *ranks, pid_t pid, const struct mpi_rank *rank)
{
	uint64_t value = rank ? (uint64_t)rank->size << 32 | (rank->rank + 1) : 0;
	uint32_t index = int_map_find(&ranks->by_pid, (uint64_t)pid);

	if (index != INT_MAP_NONE) {
		ranks->values.items[index] = value;
		return 0;
	}
	if (VEC_RESERVE(&ranks->values, 1))
		return -ENOMEM;
	ranks->values.items[ranks->values.count] = value;
	return int_map_set(&ranks->by_pid, (uint64_t)pid, (uint32_t)ranks->values.count++);
}

static bool is_known(const struct ranks *ranks, pid_t pid)
{
	uint32_t index = int_map_find(&ranks->by_pid, (uint64_t)pid);

	return index != INT_MAP_NONE && ranks->values.items[index] != FORGOTTEN;
}

int ranks_prefetch(struct ranks *ranks, pid_t pid)
{
	struct mpi_rank rank;

	if (is_known(ranks, pid))
		return 0;
	return set(ranks, pid, mpi_rank_read("/proc", pid, &rank) ? NULL : &rank);
}

int ranks_executed(struct ranks *ranks, pid_t pid)
{
	struct mpi_rank rank;
	int err = mpi_rank_read("/proc", pid, &rank);

	if (err && err != -ENOENT)
		return 0;
	return set(ranks, pid, err ? NULL : &rank);
}

int ranks_launched(struct ranks *ranks, const struct stackd_launched *launched)
{
	char environment[sizeof(launched->strings)];
	struct mpi_rank rank;
	size_t size = 0;

	for (uint32_t i = 0; i < launched->n && i < STACKD_LAUNCHED_STRINGS; i++) {
		size_t len = strnlen(launched->strings[i], STACKD_LAUNCHED_BYTES - 1);

		memcpy(environment + size, launched->strings[i], len);
		size += len;
		environment[size++] = '\0';
	}
	if (!mpi_rank_find(environment, size, &rank))
		return set(ranks, (pid_t)launched->pid, &rank);
	return is_known(ranks, (pid_t)launched->pid) ? set(ranks, (pid_t)launched->pid, NULL) : 0;
}

int ranks_take(struct ranks *ranks, uint32_t process, pid_t pid, uint64_t *ret_value)
{
	uint32_t index = int_map_find(&ranks->by_pid, (uint64_t)pid), given;

	if (index == INT_MAP_NONE || !ranks->values.items[index] ||
	    ranks->values.items[index] == FORGOTTEN ||
	    int_map_find(&ranks->given, process) != INT_MAP_NONE)
		return 0;
	if (int_map_enter(&ranks->given, process, 1, &given))
		return -ENOMEM;
	*ret_value = ranks->values.items[index];
	return 1;
}

void ranks_forget(struct ranks *ranks, pid_t pid)
{
	uint32_t index = int_map_find(&ranks->by_pid, (uint64_t)pid);

	if (index != INT_MAP_NONE)
		ranks->values.items[index] = FORGOTTEN;
}

void ranks_begin_anew(struct ranks *ranks)
{
	int_map_clear(&ranks->given);
}
