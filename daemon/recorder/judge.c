/* SPDX-License-Identifier: MIT */
/* Compares the kernel half's walks with the daemon's; see judge.h. STACKD_DEBUG in the environment
 * prints the wrong walks. */
#include "daemon/recorder/judge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/capture/record.h"
#include "stack/end_reason.h"

struct judge {
	const struct object_table *objects;
	const struct location_table *locations;
	struct judge_counts counts;

	uint32_t tid; /* the thread of the last WALKED record */
	uint64_t time_ns;
	enum stackd_end_reason reason; /* why the kernel half's walk ended */
	bool is_cut;		       /* whether the path was cut before a wrong step of it */
	bool is_right;		       /* the daemon's walk has found the same native frames */
	size_t count;
	uint32_t path[PATH_MAX_FRAMES]; /* its native frames */
	bool has_managed;		/* it has managed frames, and all are proven: */
	size_t n_all;
	uint32_t all[PATH_MAX_FRAMES]; /* all frames */
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

static bool is_managed(const struct judge *judge, uint32_t location)
{
	const struct location *l = location_at(judge->locations, location);

	return object_table_at(judge->objects, l->object)->kind == OBJECT_MANAGED;
}

/* Returns whether a location says that managed frames are not known (managed.h). */
static bool is_unproven(const struct judge *judge, uint32_t location)
{
	return is_managed(judge, location) && !location_at(judge->locations, location)->offset;
}

void judge_expect(struct judge *judge, const struct stackd_header *record, const struct path *path,
		  enum stackd_end_reason reason)
{
	if (!judge)
		return;
	judge->tid = record->tid;
	judge->time_ns = record->time_ns;
	judge->reason = reason;
	judge->is_cut = path->cut > 0;
	judge->count = 0;
	judge->n_all = path->count - path->cut;
	memcpy(judge->all, path->locations + path->cut, judge->n_all * sizeof(judge->all[0]));
	for (size_t i = 0; i < judge->n_all; i++)
		if (!is_managed(judge, judge->all[i]))
			judge->path[judge->count++] = judge->all[i];
	judge->has_managed = judge->n_all > judge->count;
	for (size_t i = 0; i < judge->n_all; i++)
		judge->has_managed &= !is_unproven(judge, judge->all[i]);
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

static void show(const struct judge *judge, const char *verdict, const struct stackd_header *record,
		 const struct path *path, enum stackd_end_reason reason)
{
	if (!getenv("STACKD_DEBUG"))
		return;
	fprintf(stderr, "judge: %s: pid %u tid %u flags %x, %s and %s\n", verdict,
		record_pid(record), record->tid, record->flags, end_reason_name(judge->reason),
		end_reason_name(reason));
	show_path(judge, "  kernel:", judge->path, judge->count);
	show_path(judge, "  daemon:", path->locations + path->cut, path->count - path->cut);
}

/* Returns whether the leaf end of `path` equals the path `end`. */
static bool ends_with(const uint32_t *path, size_t count, const uint32_t *end, size_t end_count)
{
	return end_count <= count &&
	       memcmp(path + count - end_count, end, end_count * sizeof(path[0])) == 0;
}

/* Returns whether the kernel half's walk ended at a page of the stack that it could not read, but
 * that could be read when the stack was copied. That happens to a page that is just being copied
 * because a child of the thread shares it (copy on write), and to the first page of a thread that
 * has not run yet, to which the thread's creator writes. */
static bool is_read_later(const struct judge *judge, size_t count)
{
	return judge->reason == STACKD_END_UNREADABLE || (!judge->count && count == 1);
}

/* Returns whether the daemon's walk did not find an end of its own kind, but met an address that is
 * no caller. Where the kernel half's walk has found the thread's entry, one of the two is wrong. */
static bool is_stray(enum stackd_end_reason reason)
{
	return reason == STACKD_END_NO_MAPPING || reason == STACKD_END_BAD_RETURN;
}

void judge_hold(struct judge *judge, const struct stackd_header *record, const struct path *path,
		enum stackd_end_reason reason, bool is_beyond)
{
	const uint32_t *own;
	bool is_end_of_own, has_own_end, is_whole;
	size_t count;

	if (judge)
		judge->is_right = false;
	if (!judge || judge->tid != record->tid || judge->time_ns != record->time_ns)
		return;
	own = path->locations + path->cut;
	count = path->count - path->cut;
	is_end_of_own = ends_with(own, count, judge->path, judge->count);
	has_own_end = ends_with(judge->path, judge->count, own, count);
	is_whole = end_reason_quality(judge->reason) == END_COMPLETE;
	if (is_end_of_own && has_own_end && !judge->is_cut &&
	    is_whole == (end_reason_quality(reason) == END_COMPLETE)) {
		judge->counts.right++;
		judge->is_right = true;
	} else if ((is_end_of_own && (judge->is_cut || is_read_later(judge, count))) ||
		   (has_own_end && reason != STACKD_END_ENTRY &&
		    !(is_stray(reason) && !is_beyond && is_whole && !judge->is_cut))) {
		judge->counts.cut++;
	} else if (is_end_of_own && !is_whole) {
		judge->counts.less++;
		show(judge, "less", record, path, reason);
	} else {
		judge->counts.wrong++;
		show(judge, "wrong", record, path, reason);
	}
}

void judge_hold_managed(struct judge *judge, const struct stackd_header *record,
			const struct path *path)
{
	const size_t count = path->count - path->cut;

	if (!judge || !judge->is_right || !judge->has_managed || path->is_unread)
		return;
	if (count == judge->n_all &&
	    memcmp(judge->all, path->locations + path->cut, count * sizeof(judge->all[0])) == 0) {
		judge->counts.managed_right++;
		return;
	}
	judge->counts.managed_wrong++;
	memcpy(judge->path, judge->all, judge->n_all * sizeof(judge->all[0]));
	judge->count = judge->n_all;
	show(judge, "wrong managed frames", record, path, judge->reason);
}

struct judge_counts judge_counts(const struct judge *judge)
{
	return judge ? judge->counts : (struct judge_counts){0};
}
