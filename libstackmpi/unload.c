/* SPDX-License-Identifier: MIT */
/* Finds out what was unloaded; see unload.h. */
#include "unload.h"

#include <dlfcn.h>
#include <link.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>

uint32_t unload_epoch = 1;
uint32_t unload_under_way;

struct range {
	uint64_t begin, end;
};

static struct range ranges[UNLOAD_RANGES]; /* at epoch % UNLOAD_RANGES */
static bool is_locked;

/* --- ranges ----------------------------------------------------------------------------------- */

void unload_note(uint64_t begin, uint64_t end)
{
	while (__atomic_test_and_set(&is_locked, __ATOMIC_ACQUIRE))
		sched_yield();
	ranges[unload_epoch % UNLOAD_RANGES] = (struct range){begin, end};
	__atomic_add_fetch(&unload_epoch, 1, __ATOMIC_RELEASE);
	__atomic_clear(&is_locked, __ATOMIC_RELEASE);
}

static bool is_in(uint64_t address, struct range range)
{
	return address >= range.begin && address < range.end;
}

static bool has_word_in(const struct stackd_call_path *path, const struct stackd_calls *calls,
			struct range range)
{
	const struct stackd_call_word *word = &calls->words[path->first];
	const struct stackd_call_word *end = word + path->count;

	if (is_in(path->caller, range))
		return true;
	for (; word < end; word++) {
		if (is_in(word->word, range))
			return true;
	}
	return false;
}

bool unload_spares(struct stackd_call_path *path, const struct stackd_calls *calls)
{
	const uint32_t now = __atomic_load_n(&unload_epoch, __ATOMIC_ACQUIRE);

	if (now - path->epoch > UNLOAD_RANGES)
		return false;
	for (uint32_t at = path->epoch; at != now; at++) {
		if (has_word_in(path, calls, ranges[at % UNLOAD_RANGES]))
			return false;
	}
	/* Another thread may have written over the first of these meanwhile. */
	if (__atomic_load_n(&unload_epoch, __ATOMIC_ACQUIRE) - path->epoch >= UNLOAD_RANGES)
		return false;
	path->epoch = now;
	return true;
}

/* --- objects ---------------------------------------------------------------------------------- */

#define MOST_OBJECTS 2000u

/* The objects that are loaded. */
struct objects {
	uint64_t unloaded; /* how many had been unloaded */
	uint32_t count;	   /* MOST_OBJECTS: there may be more */
	struct range items[MOST_OBJECTS];
};

static int add_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct objects *objects = arg;
	struct range range = {UINT64_MAX, 0};

	(void)size;
	objects->unloaded = info->dlpi_subs;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		const uint64_t begin = info->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD)
			continue;
		if (begin < range.begin)
			range.begin = begin;
		if (begin + part->p_memsz > range.end)
			range.end = begin + part->p_memsz;
	}
	if (objects->count < MOST_OBJECTS)
		objects->items[objects->count++] = range;
	return 0;
}

static bool has(const struct objects *objects, struct range range)
{
	for (uint32_t i = 0; i < objects->count; i++) {
		if (objects->items[i].begin == range.begin && objects->items[i].end == range.end)
			return true;
	}
	return false;
}

/* Notes what is no longer there. If that is not all that was unloaded (objects of other namespaces,
 * or one that is loaded again where it was), anything may be. */
static void note_gone(const struct objects *before, const struct objects *after)
{
	uint64_t gone = 0;

	for (uint32_t i = 0; i < before->count; i++) {
		if (!has(after, before->items[i])) {
			unload_note(before->items[i].begin, before->items[i].end);
			gone++;
		}
	}
	if (gone != after->unloaded - before->unloaded || before->count == MOST_OBJECTS ||
	    after->count == MOST_OBJECTS)
		unload_note(0, UINT64_MAX);
}

/* --- dlclose() -------------------------------------------------------------------------------- */

int unload_release(void *library)
{
	static int (*next)(void *library);
	int (*close_it)(void *library) = __atomic_load_n(&next, __ATOMIC_RELAXED);

	if (!close_it) {
		close_it = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
		__atomic_store_n(&next, close_it, __ATOMIC_RELAXED);
	}
	return close_it ? close_it(library) : 0;
}

static void end_closing(void)
{
	uint32_t now = __atomic_load_n(&unload_under_way, __ATOMIC_RELAXED);

	while (now && !__atomic_compare_exchange_n(&unload_under_way, &now, now - 1, false,
						   __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
	}
}

void unload_begin_anew(void)
{
	unload_under_way = 0;
	__atomic_clear(&is_locked, __ATOMIC_RELAXED);
}

__attribute__((visibility("default"))) int dlclose(void *library)
{
	struct objects *both = mmap(NULL, 2 * sizeof(*both), PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const bool has_room = both != MAP_FAILED;
	int result;

	__atomic_add_fetch(&unload_under_way, 1, __ATOMIC_SEQ_CST);
	if (has_room)
		dl_iterate_phdr(add_object, &both[0]);
	result = unload_release(library);
	if (has_room) {
		dl_iterate_phdr(add_object, &both[1]);
		note_gone(&both[0], &both[1]);
		munmap(both, 2 * sizeof(*both));
	} else {
		unload_note(0, UINT64_MAX);
	}
	end_closing();
	return result;
}
