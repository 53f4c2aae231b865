/* SPDX-License-Identifier: MIT */
/* Compares walks with the daemon's; see judge.h. STACKD_DEBUG in the environment prints the wrong
 * ones. */
#include "daemon/model/judge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/capture/record.h"

struct judge {
	const struct object_table *objects;
	const struct location_table *locations;
	struct judge_counts counts;

	uint32_t tid; /* of the last WALKED record */
	uint64_t time_ns;
	size_t count;
	uint32_t path[PATH_MAX_FRAMES];
};

int judge_new(const struct object_table *objects, const struct location_table *locations,
	      struct judge **ret_judge)
{
	struct judge *judge = calloc(1, sizeof(*judge));

	if (!judge)
		return -ENOMEM;
	judge->objects = objects;
	judge->locations = locations;
	*ret_judge = judge;
	return 0;
}

void judge_free(struct judge *judge)
{
	free(judge);
}

void judge_expect(struct judge *judge, const struct stackd_header *record, const struct path *path)
{
	if (!judge)
		return;
	judge->tid = record->tid;
	judge->time_ns = record->time_ns;
	judge->count = path->count;
	memcpy(judge->path, path->locations, path->count * sizeof(path->locations[0]));
}

static void show_path(const struct judge *judge, const char *title, const uint32_t *path,
		      size_t count)
{
	fprintf(stderr, "%s", title);
	for (size_t i = 0; i < count; i++) {
		const struct location *l = location_at(judge->locations, path[i]);
		const struct object *object = object_table_at(judge->objects, l->object);
		const char *slash = strrchr(object->path, '/');

		fprintf(stderr, " %s+0x%llx", slash ? slash + 1 : object->path,
			(unsigned long long)l->offset);
	}
	fputc('\n', stderr);
}

static void show_wrong(const struct judge *judge, const struct stackd_header *record,
		       const struct path *path)
{
	if (!getenv("STACKD_DEBUG"))
		return;
	fprintf(stderr, "judge: pid %u tid %u flags %x\n", record_pid(record), record->tid,
		record->flags);
	show_path(judge, "  kernel:", judge->path, judge->count);
	show_path(judge, "  daemon: ", path->locations, path->count);
}

void judge_hold(struct judge *judge, const struct stackd_header *record, const struct path *path,
		enum stackd_end_reason reason)
{
	size_t count = path->count, missing;

	if (!judge || judge->tid != record->tid || judge->time_ns != record->time_ns)
		return;
	/* A thread that has not run yet has a stack that cannot be read. Its creator can touch that
	 * stack between the walk and the copy, whose path then is the leaf alone. */
	if (!judge->count && count == 1)
		return;
	missing = judge->count - count;
	if (count > judge->count || (missing && reason == STACKD_END_ENTRY) ||
	    memcmp(judge->path + missing, path->locations, count * sizeof(path->locations[0]))) {
		judge->counts.wrong++;
		show_wrong(judge, record, path);
	} else if (missing) {
		judge->counts.cut++;
	} else {
		judge->counts.right++;
	}
}

struct judge_counts judge_counts(const struct judge *judge)
{
	return judge ? judge->counts : (struct judge_counts){0};
}
