/* SPDX-License-Identifier: MIT */
/* See ranks.h. */
#include "daemon/model/ranks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/int_map.h"
#include "proc/mpi_rank.h"

struct ranks {
	struct int_map known; /* by process: 1 */
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
	int_map_fini(&ranks->known);
	free(ranks);
}

int ranks_look(struct ranks *ranks, uint32_t process, pid_t pid, uint64_t *ret_value)
{
	struct mpi_rank rank;
	uint32_t index;
	int err;

	if (int_map_find(&ranks->known, process) != INT_MAP_NONE)
		return 0;
	if (int_map_enter(&ranks->known, process, 1, &index))
		return -ENOMEM;
	err = mpi_rank_read("/proc", pid, &rank);
	if (err)
		return err == -ENOMEM ? err : 0;
	*ret_value = (uint64_t)rank.size << 32 | (rank.rank + 1);
	return 1;
}

void ranks_begin_anew(struct ranks *ranks)
{
	int_map_fini(&ranks->known);
	ranks->known = (struct int_map){0};
}
