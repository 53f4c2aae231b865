/* SPDX-License-Identifier: MIT */
/* Passes from hits; see import_passes.h. */
#include "perf/import_passes.h"

#define HASH_NONFATAL_OOM 1
#include <errno.h>
#include <stdlib.h>
#include <uthash.h>

#include "perf/import_event.h"

/* A thread that is in a pass. */
struct open_pass {
	uint32_t thread; /* number of the thread */
	uint32_t node;	 /* node of the hit where the pass began */
	uint32_t depth;	 /* number of nested passes; 0: none is open */
	uint64_t since_ns;
	UT_hash_handle hh;
};

struct import_passes {
	struct open_pass *threads;
};

struct import_passes *import_passes_new(void)
{
	return calloc(1, sizeof(struct import_passes));
}

void import_passes_free(struct import_passes *passes)
{
	struct open_pass *open, *next;

	if (!passes)
		return;
	HASH_ITER (hh, passes->threads, open, next) {
		HASH_DEL(passes->threads, open);
		free(open);
	}
	free(passes);
}

bool import_passes_is_hit(const struct import_region *region, const char *event)
{
	return (region->begin && import_event_is_same(region->begin, event)) ||
	       (region->end && import_event_is_same(region->end, event));
}

static struct open_pass *open_of(struct import_passes *passes, uint32_t thread)
{
	struct open_pass *open;

	HASH_FIND_INT(passes->threads, &thread, open);
	if (open)
		return open;
	open = calloc(1, sizeof(*open));
	if (!open)
		return NULL;
	open->thread = thread;
	HASH_ADD_INT(passes->threads, thread, open);
	if (!open->hh.tbl) {
		free(open);
		return NULL;
	}
	return open;
}

static int end_pass(const struct open_pass *open, struct store_sample row,
		    struct store_writer *writer)
{
	row.period = row.time_ns - open->since_ns;
	row.node = open->node;
	return writer ? store_writer_record(writer, SERIES_REGION_TIME, &row) : 0;
}

int import_passes_take(struct import_passes *passes, const struct import_region *region,
		       const char *event, struct store_sample row, struct store_writer *writer)
{
	const bool is_end = region->end && import_event_is_same(region->end, event);
	struct open_pass *open = open_of(passes, row.thread);
	int err = 0;

	if (!open)
		return -ENOMEM;
	if (is_end) {
		if (open->depth && !--open->depth)
			err = end_pass(open, row, writer);
		return err;
	}
	if (!region->end && open->depth) {
		err = end_pass(open, row, writer);
		open->depth = 0;
	}
	if (!open->depth++) {
		open->since_ns = row.time_ns;
		open->node = row.node;
	}
	return err;
}
