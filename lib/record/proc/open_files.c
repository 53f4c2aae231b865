/* SPDX-License-Identifier: MIT */
/* Closes files that no process maps any more; see open_files.h. */
#include "proc/open_files.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "proc/mapping_set.h"
#include "proc/process_table.h"

/* The state of an object, by its number. */
struct seen {
	/* time of the look that first found no mapping of the file; 0: the last look found one */
	uint64_t unmapped_ns;
	uint32_t look; /* number of the last look that found a mapping of it */
};

struct open_files {
	struct open_files_options options;
	struct seen *seen;
	size_t cap;
	uint32_t look; /* number of looks so far */
	uint64_t looked_ns;
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

		for (uint32_t i = 0; maps && i < maps->count; i++)
			files->seen[maps->maps[i].object->number].look = files->look;
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

void open_files_look(struct open_files *files, uint64_t now_ns)
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

uint64_t open_files_closed(const struct open_files *files)
{
	return files->closed;
}
