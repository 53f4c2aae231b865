/* SPDX-License-Identifier: MIT */
/* See ranks.h. */
#include "daemon/model/ranks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/int_map.h"
#include "base/vec.h"
#include "proc/mpi_rank.h"

#define FORGOTTEN (UINT32_MAX - 1) /* an index */

struct ranks {
	struct int_map by_pid; /* index of the value, or FORGOTTEN */
	VEC(uint64_t) values;  /* 0: it has none */
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

int ranks_prefetch(struct ranks *ranks, pid_t pid)
{
	uint32_t index = int_map_find(&ranks->by_pid, (uint64_t)pid);
	struct mpi_rank rank;
	uint64_t value = 0;

	if (index != INT_MAP_NONE && index != FORGOTTEN)
		return 0;
	if (!mpi_rank_read("/proc", pid, &rank))
		value = (uint64_t)rank.size << 32 | (rank.rank + 1);
	if (VEC_RESERVE(&ranks->values, 1))
		return -ENOMEM;
	ranks->values.items[ranks->values.count] = value;
	return int_map_set(&ranks->by_pid, (uint64_t)pid, (uint32_t)ranks->values.count++);
}

int ranks_take(struct ranks *ranks, uint32_t process, pid_t pid, uint64_t *ret_value)
{
	uint32_t index = int_map_find(&ranks->by_pid, (uint64_t)pid), given;

	if (int_map_find(&ranks->given, process) != INT_MAP_NONE || index >= ranks->values.count ||
	    !ranks->values.items[index])
		return 0;
	if (int_map_enter(&ranks->given, process, 1, &given))
		return -ENOMEM;
	*ret_value = ranks->values.items[index];
	return 1;
}

void ranks_forget(struct ranks *ranks, pid_t pid)
{
	/* It replaces a value, which takes no memory. */
	if (int_map_find(&ranks->by_pid, (uint64_t)pid) != INT_MAP_NONE)
		int_map_set(&ranks->by_pid, (uint64_t)pid, FORGOTTEN);
}

void ranks_begin_anew(struct ranks *ranks)
{
	int_map_clear(&ranks->given);
}
