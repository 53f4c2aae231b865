/* SPDX-License-Identifier: MIT */
/* Keeps the taken extents of both arrays, and the average number of uses of each file; see
 * room.h. */
#include "daemon/tables/room.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/tables/extents.h"
#include "daemon/tables/tables.h"

#define WALKS_END_US 20000		   /* a thousand times what a walk takes */
#define PERIOD_NS    UINT64_C(10000000000) /* interval over which uses are averaged */
#define MOST_PERIODS 32 /* after more periods than this, nothing is left of the old average */

struct uses {
	uint32_t before;  /* the kernel half's count, at the last look */
	uint64_t average; /* mean number of uses in a period, up to the last look; in sixteenths */
};

struct room {
	const struct tables_maps *maps;
	struct extents *rows, *chunks;
	struct room_place *places; /* owned, as the next; by file */
	struct uses *uses;
	uint64_t looked_ns;
	uint64_t evicted;
};

int room_new(const struct tables_maps *maps, struct room **ret_room)
{
	struct room *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->maps = maps;
	r->places = calloc(maps->n_files, sizeof(*r->places));
	r->uses = calloc(maps->n_files, sizeof(*r->uses));
	err = r->places && r->uses ? extents_new(maps->n_rows, &r->rows) : -ENOMEM;
	if (!err)
		err = extents_new(maps->n_chunks, &r->chunks);
	if (err) {
		room_free(r);
		return err;
	}
	*ret_room = r;
	return 0;
}

void room_free(struct room *r)
{
	if (!r)
		return;
	extents_free(r->rows);
	extents_free(r->chunks);
	free(r->places);
	free(r->uses);
	free(r);
}

/* --- what files are worth -------------------------------------------------------------------- */

static uint32_t uses_now(const struct room *r, uint32_t file)
{
	return __atomic_load_n(&r->maps->files[file].uses, __ATOMIC_RELAXED);
}

/* If more than one period has passed, takes the uses as evenly spread over these periods. */
void room_look(struct room *r, uint64_t now_ns)
{
	uint64_t periods = (now_ns - r->looked_ns) / PERIOD_NS;

	if (!periods)
		return;
	r->looked_ns = now_ns;
	for (uint32_t f = 1; f < r->maps->n_files; f++) {
		struct uses *u = &r->uses[f];
		uint32_t now = uses_now(r, f);
		uint64_t each = (uint64_t)(now - u->before) * 16 / periods;

		for (uint64_t i = 0; i < periods && i < MOST_PERIODS; i++)
			u->average = (u->average + each) / 2;
		u->before = now;
	}
}

static uint64_t worth_of(const void *room, uint32_t file)
{
	const struct room *r = room;

	return r->uses[file].average / 16 + (uses_now(r, file) - r->uses[file].before);
}

/* Returns what it costs to evict a table: its worth, and 1 even if it is not used, since 0 means
 * free room. */
static uint64_t cost_of(const void *room, uint32_t file)
{
	return worth_of(room, file) + 1;
}

/* Returns the lowest sum of costs of tables that must be evicted for `count` consecutive elements;
 * 0: there is free room; UINT64_MAX: the array is too small. */
static uint64_t price(const struct room *r, const struct extents *extents, uint32_t count)
{
	uint32_t first;
	uint64_t cost;

	if (extents_cheapest(extents, count, cost_of, r, &first, &cost))
		return UINT64_MAX;
	return cost;
}

enum room_offer room_offer(const struct room *r, uint32_t file, struct room_size size)
{
	uint64_t rows = price(r, r->rows, size.rows), chunks = price(r, r->chunks, size.chunks);
	uint64_t most = rows > chunks ? rows : chunks;

	if (!most)
		return ROOM_IS_FREE;
	return most <= worth_of(r, file) ? ROOM_OF_WORSE : ROOM_OF_BETTER;
}

/* --- eviction -------------------------------------------------------------------------------- */

/*
 * Waits until all walks that are running have ended. They run in RCU read-side critical sections,
 * and membarrier(MEMBARRIER_CMD_GLOBAL) waits for a grace period. On a machine with one CPU it does
 * nothing, but no walk can be running there either. A kernel with nohz_full CPUs refuses the call;
 * then this sleeps for WALKS_END_US instead.
 */
void room_await_walks(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		usleep(WALKS_END_US);
}

void room_drop(struct room *r, uint32_t file)
{
	__atomic_store_n(&r->maps->files[file].n_chunks, 0, __ATOMIC_RELEASE);
	room_await_walks();
	room_give(r, file);
}

/* Evicts the tables in a part of an array. */
static void evict(struct room *r, const struct extents *extents, uint32_t first, uint32_t count)
{
	uint32_t victim;

	while ((victim = extents_owner_within(extents, first, count))) {
		room_drop(r, victim);
		r->evicted++;
	}
}

/* Evicts tables where that costs least, so that `count` elements in a row are free. */
static int make_room(struct room *r, const struct extents *extents, uint32_t count)
{
	uint32_t first;
	uint64_t cost;
	int err = extents_cheapest(extents, count, cost_of, r, &first, &cost);

	if (!err)
		evict(r, extents, first, count);
	return err;
}

static int take(struct room *r, struct extents *extents, uint32_t count, uint32_t file,
		bool may_evict, uint32_t *ret_first)
{
	int err = extents_take(extents, count, file, ret_first);

	if (err != -ENOSPC || !may_evict)
		return err;
	err = make_room(r, extents, count);
	return err ? err : extents_take(extents, count, file, ret_first);
}

static int take_both(struct room *r, uint32_t file, struct room_size size, bool may_evict,
		     struct room_place *ret_place)
{
	struct room_place place;
	int err = take(r, r->rows, size.rows, file, may_evict, &place.row);

	if (err)
		return err;
	err = take(r, r->chunks, size.chunks, file, may_evict, &place.chunk);
	if (err) {
		extents_give(r->rows, place.row);
		return err;
	}
	*ret_place = place;
	return 0;
}

static void give_both(struct room *r, struct room_place place)
{
	extents_give(r->rows, place.row);
	extents_give(r->chunks, place.chunk);
}

int room_take(struct room *r, uint32_t file, struct room_size size, bool may_evict,
	      struct room_place *ret_place)
{
	int err = take_both(r, file, size, may_evict, ret_place);

	if (!err)
		r->places[file] = *ret_place;
	return err;
}

int room_take_second(struct room *r, uint32_t file, struct room_size size,
		     struct room_place *ret_place)
{
	return take_both(r, file, size, false, ret_place);
}

void room_replaced(struct room *r, uint32_t file, struct room_place place)
{
	room_await_walks();
	give_both(r, r->places[file]);
	r->places[file] = place;
}

void room_not_replaced(struct room *r, struct room_place place)
{
	give_both(r, place);
}

void room_give(struct room *r, uint32_t file)
{
	give_both(r, r->places[file]);
}

void room_forget(struct room *r, uint32_t file)
{
	r->uses[file] = (struct uses){.before = uses_now(r, file)};
}

uint64_t room_evicted(const struct room *r)
{
	return r->evicted;
}

uint32_t room_rows(const struct room *r)
{
	return extents_used(r->rows);
}
