/* SPDX-License-Identifier: MIT */
/* Closes files that no process maps any more; see open_files.h. */
#include "proc/open_files.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "proc/mapping_set.h"
#include "proc/process_table.h"

enum burden { NO_BURDEN, DELETED, APART };

/* The state of an object, by its number. */
struct seen {
	/* time of the look that first found no mapping of the file; 0: the last look found one */
	uint64_t unmapped_ns;
	uint32_t look;	    /* number of the last look that found a mapping of it */
	uint32_t live_look; /* the same, of a mapping of a process that runs */
	enum burden burden; /* at the last search for burdens */
	uint64_t idle_ns;   /* as unmapped_ns, for a burden that no process that runs maps */
	uint64_t wanted_ns; /* since when it would be closed but for its names; 0: it would not */
};

struct open_files {
	struct open_files_options options;
	struct seen *seen;
	size_t cap;
	uint32_t look; /* number of looks so far */
	uint64_t looked_ns;
	uint64_t searched_ns; /* time of the last search for burdens */
	uint64_t closed;
};

int open_files_new(const struct open_files_options *options, struct open_files **ret_files)
{
	struct open_files *files = calloc(1, sizeof(*files));

	if (!files)
		return -ENOMEM;
	files->options = *options;
	*ret_files = files;
	return 0;
}

void open_files_free(struct open_files *files)
{
	if (!files)
		return;
	free(files->seen);
	free(files);
}

static bool is_open(const struct object *object)
{
	return object->kind == OBJECT_ELF && object->elf && elf_file_is_open(object->elf);
}

static uint32_t count_open(const struct open_files *files)
{
	uint32_t count = object_table_count(files->options.objects), n = 0;

	for (uint32_t i = 0; i < count; i++)
		n += is_open(object_table_at(files->options.objects, i));
	return n;
}

/* Marks all objects that a process has mapped now. */
static void find_mapped(struct open_files *files)
{
	struct instance *instance, *next;

	files->look++;
	HASH_ITER (hh, files->options.processes->instances, instance, next) {
		const struct mapping_set *maps = instance->maps;
		const bool is_live = process_table_is_alive(instance);

		for (uint32_t i = 0; maps && i < maps->count; i++) {
			struct seen *seen = &files->seen[maps->maps[i].object->number];

			seen->look = files->look;
			if (is_live)
				seen->live_look = files->look;
		}
	}
}

/* Returns whether to close an open file. If no process maps it, its grace period begins at the
 * first look that finds no mapping. */
static bool is_due(const struct open_files *files, struct seen *seen, uint64_t now_ns, bool hurries)
{
	if (seen->look == files->look)
		seen->unmapped_ns = 0;
	else if (!seen->unmapped_ns)
		seen->unmapped_ns = now_ns;
	else
		return hurries || now_ns - seen->unmapped_ns >= files->options.grace_ns;
	return false;
}

/* --- burdens --------------------------------------------------------------------------------- */

static enum burden burden_of(const struct open_files *files, const struct object *object)
{
	if (!is_open(object))
		return NO_BURDEN;
	if (elf_file_is_deleted(object->elf))
		return DELETED;
	return elf_file_stamp(object->elf)->dev != files->options.root_dev ? APART : NO_BURDEN;
}

/* Finds out which files are burdens. Returns whether there are any. */
static bool find_burdens(struct open_files *files, uint32_t count)
{
	bool has_any = false;

	for (uint32_t i = 0; i < count; i++) {
		files->seen[i].burden =
			burden_of(files, object_table_at(files->options.objects, i));
		has_any |= files->seen[i].burden != NO_BURDEN;
	}
	return has_any;
}

enum due { NOT_DUE, DUE, TOO_MUCH };

/* Returns whether to close a burden. `deleted_bytes`: of the deleted files so far that no process
 * maps. */
static enum due is_burden_due(const struct open_files *files, struct seen *seen, uint64_t size,
			      uint64_t now_ns, uint64_t *deleted_bytes)
{
	const bool is_deleted = seen->burden == DELETED;
	const uint64_t grace_ns =
		is_deleted ? files->options.deleted_grace_ns : files->options.apart_grace_ns;

	if (seen->burden == NO_BURDEN || seen->live_look == files->look) {
		seen->idle_ns = 0;
		return NOT_DUE;
	}
	*deleted_bytes += is_deleted ? size : 0;
	if (!seen->idle_ns)
		seen->idle_ns = now_ns;
	if (is_deleted && *deleted_bytes > files->options.most_deleted_bytes)
		return TOO_MUCH;
	return now_ns - seen->idle_ns >= grace_ns ? DUE : NOT_DUE;
}

/* Returns whether a file that is due need not stay open for names. If it must, asks for them at
 * once; the wait for them ends, with the next look already if there is too much. */
static bool has_names(const struct open_files *files, struct seen *seen,
		      const struct object *object, enum due due, uint64_t now_ns)
{
	if (!object_awaits_names(object))
		return true;
	object_want_names(object, true);
	if (!seen->wanted_ns) {
		seen->wanted_ns = now_ns;
		return false;
	}
	return due == TOO_MUCH || now_ns - seen->wanted_ns >= files->options.names_grace_ns;
}

static void close_burden(struct open_files *files, const struct object *object, enum due due,
			 uint64_t now_ns)
{
	struct seen *seen = &files->seen[object->number];

	if (due && !has_names(files, seen, object, due, now_ns))
		return;
	if (due && object_table_close(files->options.objects, object->number)) {
		seen->idle_ns = 0;
		files->closed++;
	}
	if (seen->wanted_ns) {
		seen->wanted_ns = 0;
		object_want_names(object, false);
	}
}

static void close_burdens(struct open_files *files, uint64_t now_ns)
{
	const uint32_t count = object_table_count(files->options.objects);
	uint64_t deleted_bytes = 0;

	if (!files->options.deleted_grace_ns ||
	    now_ns - files->searched_ns < files->options.burden_pause_ns ||
	    VEC_GROW_ZEROED(files->seen, files->cap, (size_t)count))
		return;
	files->searched_ns = now_ns;
	if (!find_burdens(files, count))
		return;
	find_mapped(files);
	for (uint32_t i = 0; i < count; i++) {
		const struct object *object = object_table_at(files->options.objects, i);
		const uint64_t size = is_open(object) ? elf_file_stamp(object->elf)->size : 0;

		const enum due due =
			is_burden_due(files, &files->seen[i], size, now_ns, &deleted_bytes);

		close_burden(files, object, due, now_ns);
	}
}

/* --- all of them ----------------------------------------------------------------------------- */

static void close_many(struct open_files *files, uint64_t now_ns)
{
	uint32_t count = object_table_count(files->options.objects), open = count_open(files);
	bool hurries = open > files->options.most;

	if (open <= files->options.kept ||
	    (!hurries && now_ns - files->looked_ns < files->options.pause_ns) ||
	    VEC_GROW_ZEROED(files->seen, files->cap, (size_t)count))
		return;
	files->looked_ns = now_ns;
	find_mapped(files);
	for (uint32_t i = 0; i < count && open > files->options.kept; i++) {
		if (!is_open(object_table_at(files->options.objects, i)))
			files->seen[i].unmapped_ns = 0;
		else if (is_due(files, &files->seen[i], now_ns, hurries) &&
			 object_table_close(files->options.objects, i)) {
			files->seen[i].unmapped_ns = 0;
			files->closed++;
			open--;
		}
	}
}

void open_files_look(struct open_files *files, uint64_t now_ns)
{
	close_burdens(files, now_ns);
	close_many(files, now_ns);
}

uint64_t open_files_closed(const struct open_files *files)
{
	return files->closed;
}
