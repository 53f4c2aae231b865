/* SPDX-License-Identifier: MIT */
/* Reads the ranks of processes; see profile_ranks.h. */
#include "model/profile_ranks.h"

#include <inttypes.h>

#include "base/text.h"
#include "stack/metric.h"
#include "store/store_reader.h"

struct reading {
	const struct store_tables *tables;
	uint64_t *ranks;
};

static int take(void *arg, const struct store_sample *record)
{
	struct reading *r = arg;

	if (record->thread < r->tables->n_threads)
		r->ranks[r->tables->threads[record->thread].process] = record->period;
	return 0;
}

int profile_ranks_read(struct profile *profile, uint64_t *ranks)
{
	struct reading r = {.tables = profile_tables(profile), .ranks = ranks};

	return store_reader_all_records(profile_reader(profile), SERIES_MPI_RANK, take, &r);
}

void profile_ranks_put(uint64_t value, struct buf *b)
{
	if (!(uint32_t)value)
		text_put_raw(b, "none");
	else if (value >> 32)
		text_printf(b, "%" PRIu32 " of %" PRIu64, (uint32_t)value - 1, value >> 32);
	else
		text_printf(b, "%" PRIu32, (uint32_t)value - 1);
}
