/* SPDX-License-Identifier: MIT */
/*
 * Watches files by inotify; see written_files.h.
 *
 *   object, by number ─► watch (one for each inode) ─► objects with this watch ◄─ event
 *   spans: an object (and the process, if only one is affected), and when its frames are unproven
 *
 * An object can be read from another file later (object.c). The watched file is the one from which
 * it is read, so whenever a file was opened, its object's inode is compared with the one watched. A
 * file with the same content that was written again is the same object, whose frames are
 * proven from its change time on.
 */
#include "proc/written_files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/int_map.h"
#include "base/vec.h"
#include "proc/object_open.h"
#include "proc/process_table.h"

/* Where there is no room for a further span, its object has one that covers all its times. */
#define MOST_SPANS 256
/* A span is kept for so long after its end, since records of its time may still wait. */
#define KEPT_NS	  UINT64_C(60000000000)
#define MOST_NS	  UINT64_C(20000000) /* for files that were written to, at a look */
#define COARSE_NS UINT64_C(10000000) /* change times lag behind the clock by up to a tick */

struct watched {
	int watch; /* inotify's watch descriptor; 0: none */
	uint64_t dev, inode;
	bool is_written; /* was written to since the last written_files_look() */
	uint32_t next;	 /* + 1: the next object with the same watch; 0: none */
	/* spans of the object that had no room, as one; until 0: none */
	uint64_t from_ns, until_ns;
	uint64_t open_ns; /* it was written to since, and was not looked at yet; 0: it was */
};

struct span {
	uint32_t object;
	pid_t pid; /* 0: the span holds for all processes */
	uint64_t from_ns, until_ns;
};

struct written_files {
	struct object_table *objects;
	struct process_table *processes;
	int fd;
	uint32_t *epoch;
	struct watched *watched; /* by number of object */
	size_t cap;
	struct int_map by_watch; /* first object with a watch; some have ended */
	uint32_t n_watched;
	bool is_any;	   /* some `is_written` is set */
	bool is_news;	   /* and was not at the last look */
	uint64_t openings; /* object_table_openings() when the watches were last compared */
	uint64_t looked_ns;
	double share;	   /* of the time that looking at written files may take */
	uint64_t again_ns; /* when it may go on, and with which object */
	uint32_t next;
	struct span spans[MOST_SPANS];
	size_t n_spans;
	uint64_t frames, unwatched;
};

int written_files_new(struct object_table *objects, struct process_table *processes,
		      uint32_t *epoch, struct written_files **ret_files)
{
	struct written_files *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (w->fd < 0) {
		int err = -errno;

		free(w);
		return err;
	}
	w->objects = objects;
	w->processes = processes;
	w->epoch = epoch;
	w->looked_ns = clock_ns(CLOCK_MONOTONIC);
	w->share = 1;
	*ret_files = w;
	return 0;
}

void written_files_free(struct written_files *w)
{
	if (!w)
		return;
	close(w->fd);
	int_map_fini(&w->by_watch);
	free(w->watched);
	free(w);
}

uint64_t written_files_frames(const struct written_files *w)
{
	return w ? w->frames : 0;
}

uint64_t written_files_unwatched(const struct written_files *w)
{
	return w ? w->unwatched : 0;
}

/* --- spans ------------------------------------------------------------------------------------ */

static void drop_old_spans(struct written_files *w, uint64_t now_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->n_spans; i++)
		if (w->spans[i].until_ns + KEPT_NS > now_ns)
			w->spans[kept++] = w->spans[i];
	w->n_spans = kept;
}

/* Makes room for an object, and all before it. 0 or -ENOMEM. */
static int reserve(struct written_files *w, uint32_t object)
{
	if (object >= w->n_watched && VEC_GROW_ZEROED(w->watched, w->cap, (size_t)object + 1) < 0)
		return -ENOMEM;
	if (object >= w->n_watched)
		w->n_watched = object + 1;
	return 0;
}

/* Adds a span. If there is no room, extends the object's own, which is for all processes: more of
 * its frames than necessary are then unproven, but none gets a wrong name, and those of other files
 * keep theirs. 0 or -ENOMEM. */
static int add_span(struct written_files *w, const struct span *span)
{
	struct watched *one;

	if (w->n_spans < MOST_SPANS) {
		w->spans[w->n_spans++] = *span;
		return 0;
	}
	if (reserve(w, span->object))
		return -ENOMEM;
	one = &w->watched[span->object];
	if (!one->until_ns || span->from_ns < one->from_ns)
		one->from_ns = span->from_ns;
	if (span->until_ns > one->until_ns)
		one->until_ns = span->until_ns;
	return 0;
}

static bool is_in(const struct span *span, uint32_t object, pid_t pid, uint64_t time_ns)
{
	return span->object == object && (!span->pid || span->pid == pid) &&
	       time_ns >= span->from_ns && time_ns < span->until_ns;
}

static bool is_unproven(const struct written_files *w, uint32_t object, pid_t pid, uint64_t time_ns)
{
	const struct watched *one = object < w->n_watched ? &w->watched[object] : NULL;

	for (size_t i = 0; i < w->n_spans; i++)
		if (is_in(&w->spans[i], object, pid, time_ns))
			return true;
	return one && ((time_ns >= one->from_ns && time_ns < one->until_ns) ||
		       (one->open_ns && time_ns >= one->open_ns));
}

int written_files_proven(struct written_files *w, pid_t pid, uint64_t time_ns,
			 const struct object **object)
{
	const struct object *o = *object;

	if (!w || o->kind != OBJECT_ELF ||
	    (!o->is_unproven && !is_unproven(w, o->number, pid, time_ns)))
		return 0;
	w->frames++;
	return object_table_unproven(w->objects, o, object);
}

/* --- watches ---------------------------------------------------------------------------------- */

static bool is_open(const struct object *object)
{
	return object->kind == OBJECT_ELF && object->elf && elf_file_descriptor(object->elf) >= 0 &&
	       elf_file_is_open(object->elf);
}

/* Puts an object among those with its watch. */
static int enter_watch(struct written_files *w, uint32_t number)
{
	struct watched *one = &w->watched[number];
	uint32_t first = int_map_find(&w->by_watch, (uint64_t)one->watch);

	one->next = first == INT_MAP_NONE ? 0 : first + 1;
	return int_map_set(&w->by_watch, (uint64_t)one->watch, number);
}

/* Makes the table of watches anew, without those that have ended. */
static int renew_table(struct written_files *w)
{
	int err = 0;

	int_map_clear(&w->by_watch);
	for (uint32_t i = 0; i < w->n_watched && !err; i++)
		if (w->watched[i].watch)
			err = enter_watch(w, i);
	return err;
}

/* Watches the file from which an object is read. A write between the opening of the file and now
 * counts as well. Returns 0 or -ENOMEM. */
static int watch(struct written_files *w, struct watched *one, const struct object *object)
{
	const struct elf_stamp *stamp = elf_file_stamp(object->elf);
	const bool had_watch = one->watch;
	char path[64];
	int number;

	if (one->inode == stamp->inode && one->dev == stamp->dev)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", elf_file_descriptor(object->elf));
	number = inotify_add_watch(w->fd, path, IN_MODIFY);
	one->watch = number > 0 ? number : 0;
	one->dev = stamp->dev;
	one->inode = stamp->inode;
	one->is_written |= elf_file_is_written(object->elf);
	w->is_any |= one->is_written;
	w->is_news |= one->is_written;
	w->unwatched += number < 0;
	if (had_watch || w->by_watch.used > 2 * (size_t)w->n_watched)
		return renew_table(w);
	return one->watch ? enter_watch(w, object->number) : 0;
}

static int watch_if_open(struct written_files *w, uint32_t number)
{
	const struct object *object = object_table_at(w->objects, number);

	return is_open(object) ? watch(w, &w->watched[number], object) : 0;
}

/* Watches the files that were opened since the last call. */
static int watch_new(struct written_files *w)
{
	const uint64_t openings = object_table_openings(w->objects);
	const uint32_t count = object_table_count(w->objects);
	uint32_t number;
	int err = 0;

	if (w->openings == openings)
		return 0;
	if (count && reserve(w, count - 1))
		return -ENOMEM;
	if (object_table_opened(w->objects, w->openings) == UINT32_MAX)
		for (number = 0; number < count && !err; number++)
			err = watch_if_open(w, number);
	else
		for (uint64_t i = w->openings; i < openings && !err; i++)
			err = watch_if_open(w, object_table_opened(w->objects, i));
	w->openings = openings;
	return err;
}

/* Events were lost. */
static void look_at_all(struct written_files *w)
{
	for (uint32_t i = 0; i < w->n_watched; i++) {
		const struct object *object = object_table_at(w->objects, i);

		if (is_open(object) && elf_file_is_written(object->elf))
			w->is_any = w->is_news = w->watched[i].is_written = true;
	}
}

static void note_event(struct written_files *w, const struct inotify_event *event)
{
	uint32_t i = int_map_find(&w->by_watch, (uint64_t)event->wd);

	if (event->mask & IN_Q_OVERFLOW)
		look_at_all(w);
	for (; i < w->n_watched; i = w->watched[i].next - 1) {
		struct watched *one = &w->watched[i];

		if (one->watch != event->wd)
			continue;
		if (event->mask & IN_MODIFY)
			w->is_any = w->is_news = one->is_written = true;
		else if (event->mask & IN_IGNORED)
			one->watch = 0;
	}
}

static void read_events(struct written_files *w)
{
	_Alignas(struct inotify_event) char bytes[4096];
	ssize_t got;

	while ((got = read(w->fd, bytes, sizeof(bytes))) > 0) {
		for (ssize_t at = 0; at < got;) {
			const struct inotify_event *event = (const void *)(bytes + at);

			note_event(w, event);
			at += (ssize_t)sizeof(*event) + event->len;
		}
	}
}

/* --- after a write ---------------------------------------------------------------------------- */

/* Returns the time (CLOCK_MONOTONIC) from which on a file's code is proven, given that the file has
 * the object's code now: its last change. */
static uint64_t proven_ns(const struct object *object, uint64_t now_ns)
{
	uint64_t wall_ns = clock_ns(CLOCK_REALTIME), changed_ns = elf_file_changed_ns(object->elf);
	uint64_t ago_ns = wall_ns > changed_ns ? wall_ns - changed_ns : 0;
	uint64_t at_ns = now_ns > ago_ns ? now_ns - ago_ns : 0;

	return changed_ns && at_ns + COARSE_NS < now_ns ? at_ns + COARSE_NS : now_ns;
}

/* Replaces a process's mapping by a mapping of the file's present object. Older records will be
 * resolved by it, too, although they may have hit the old code, so this adds a span that makes them
 * unproven. Returns 0 or -ENOMEM. */
static int remap(struct written_files *w, pid_t pid, const struct mapping *old,
		 const struct watched *file, uint64_t until_ns)
{
	struct object_open_stamp stamp;
	struct mapping now = {.start = old->start, .end = old->end, .offset = old->offset};
	struct object_mapping m = {.start = old->start,
				   .end = old->end,
				   .offset = old->offset,
				   .path = old->object->path};

	if (object_open_look(w->processes->proc_root, pid, &m, &stamp) ||
	    stamp.inode != file->inode || stamp.dev != file->dev)
		return 0;
	m.inode = stamp.inode;
	m.dev_major = major(stamp.dev);
	m.dev_minor = minor(stamp.dev);
	if (object_table_resolve(w->objects, pid, &m, &now.object) || now.object == old->object)
		return 0;
	if (add_span(w, &(struct span){
				.object = now.object->number, .pid = pid, .until_ns = until_ns}))
		return -ENOMEM;
	return process_table_set_mapping(w->processes, pid, &now);
}

/* Gives the first mapping of an object that begins at address `at` or above. Returns false if there
 * is none. */
static bool find_mapping(const struct instance *instance, const struct object *object, uint64_t at,
			 struct mapping *ret_mapping)
{
	const struct mapping_set *maps = instance->maps;

	for (uint32_t i = 0; maps && i < maps->count; i++) {
		const struct mapping *m = &maps->maps[i];

		if (m->start < at || m->object != object || m->is_copy)
			continue;
		*ret_mapping = *m;
		return true;
	}
	return false;
}

static int remap_all(struct written_files *w, const struct object *object,
		     const struct watched *file, uint64_t until_ns)
{
	struct instance *instance, *next;
	int err = 0;

	HASH_ITER (hh, w->processes->instances, instance, next) {
		struct mapping m = {0};

		while (!err && process_table_is_alive(instance) &&
		       find_mapping(instance, object, m.end, &m))
			err = remap(w, instance->pid, &m, file, until_ns);
	}
	return err;
}

static int take_written(struct written_files *w, uint32_t number, uint64_t now_ns)
{
	const struct object *object = object_table_at(w->objects, number);
	const struct watched file = w->watched[number];
	struct span span = {.object = number,
			    .from_ns = file.open_ns ? file.open_ns : w->looked_ns,
			    .until_ns = now_ns};
	bool is_same = object_table_is_still(w->objects, object);

	if (is_same)
		span.until_ns = proven_ns(object, now_ns);
	if (add_span(w, &span))
		return -ENOMEM;
	return is_same ? 0 : remap_all(w, object, &file, now_ns);
}

/* Looks at written files for as long as there is time. Those that are left have unproven frames
 * since their first write. */
static int take_some(struct written_files *w)
{
	const uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC);
	uint64_t now_ns = begun_ns;
	const uint32_t n_watched = w->n_watched, first = w->next;
	bool has_time = begun_ns >= w->again_ns;
	int err = 0;

	w->is_any = false;
	for (uint32_t n = 0; n < n_watched && !err; n++) {
		const uint32_t i = (first + n) % n_watched;
		struct watched *one = &w->watched[i];

		if (!one->is_written)
			continue;
		if (has_time) {
			w->next = i + 1;
			err = take_written(w, i, now_ns);
			w->watched[i].is_written = false;
			w->watched[i].open_ns = 0;
			now_ns = clock_ns(CLOCK_MONOTONIC);
			has_time = now_ns - begun_ns < MOST_NS;
		} else {
			one->open_ns = one->open_ns ? one->open_ns : w->looked_ns;
			w->is_any = true;
		}
	}
	if (now_ns > begun_ns)
		w->again_ns = now_ns + (uint64_t)((double)(now_ns - begun_ns) / w->share);
	return err;
}

void written_files_pace(struct written_files *w, double share)
{
	w->share = share;
}

int written_files_look(struct written_files *w)
{
	const uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC);
	int err = watch_new(w);

	read_events(w);
	if (!err && w->is_any) {
		if (w->is_news)
			__atomic_add_fetch(w->epoch, 1, __ATOMIC_SEQ_CST);
		w->is_news = false;
		drop_old_spans(w, begun_ns);
		err = take_some(w);
	}
	w->looked_ns = begun_ns;
	return err;
}
