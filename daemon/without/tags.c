/* SPDX-License-Identifier: MIT */
/*
 * Stands in for daemon/tags/ in a build without the tags that programs keep (base/parts.h). --tags
 * is off then (daemon/base/options.c), so no tagger is made, and nothing calls the others.
 */
#include <errno.h>

#include "daemon/recorder/tag_paths.h"
#include "daemon/recorder/tagger.h"
#include "daemon/worker/service.h"

int tagger_new(const struct tagger_maps *maps, const struct ask_files *files,
	       struct tagger **ret_tagger)
{
	(void)maps, (void)files, (void)ret_tagger;
	return -ENOTSUP;
}

int tagger_new_here(const struct tagger_maps *maps, struct tagger **ret_tagger)
{
	(void)maps, (void)ret_tagger;
	return -ENOTSUP;
}

void tagger_free(struct tagger *tagger)
{
	(void)tagger;
}

int tagger_load(struct tagger *tagger, struct process_table *processes, pid_t pid)
{
	(void)tagger, (void)processes, (void)pid;
	return 0;
}

int tagger_on_event(struct tagger *tagger, const struct sideband_event *event,
		    const struct object *object)
{
	(void)tagger, (void)event, (void)object;
	return 0;
}

void tagger_poll(struct tagger *tagger)
{
	(void)tagger;
}

uint32_t tagger_processes(const struct tagger *tagger)
{
	(void)tagger;
	return 0;
}

bool tagger_is_idle(const struct tagger *tagger)
{
	(void)tagger;
	return true;
}

int tag_paths_new(const struct tag_paths_options *options, struct tag_paths **ret_paths)
{
	(void)options, (void)ret_paths;
	return -ENOTSUP;
}

void tag_paths_free(struct tag_paths *paths)
{
	(void)paths;
}

int tag_paths_learn(struct tag_paths *paths, const struct stackd_tag_record *record,
		    const uint32_t *path, size_t count, enum stackd_end_reason reason)
{
	(void)paths, (void)record, (void)path, (void)count, (void)reason;
	return -ENOTSUP;
}

void tag_paths_begin_anew(struct tag_paths *paths)
{
	(void)paths;
}

int tag_paths_take(struct tag_paths *paths, const struct stackd_tag_record *record,
		   const struct object *object, uint64_t offset, struct tag_path *ret_path)
{
	(void)paths, (void)record, (void)object, (void)offset, (void)ret_path;
	return -ENOTSUP;
}

void tag_paths_counts(const struct tag_paths *paths, struct tag_paths_counts *ret_counts)
{
	(void)paths;
	*ret_counts = (struct tag_paths_counts){0};
}

void tag_service_put(const struct elf_file *elf, struct buf *reply)
{
	const uint32_t has = 0;
	const uint64_t word = 0;

	(void)elf;
	BUF_PUT(reply, has);
	BUF_PUT(reply, word);
}

int tag_service(struct service *s, struct buf_reader *request, struct buf *reply)
{
	(void)s, (void)request, (void)reply;
	return -ENOSYS;
}
