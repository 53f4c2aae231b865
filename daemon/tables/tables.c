/* SPDX-License-Identifier: MIT */
/*
 * Makes recipe tables and loads them into the kernel half's maps; see tables.h.
 *
 * The kernel half reads while this thread writes, so the order of writes matters: rules first, then
 * rows and chunks, then the file's entry, and the inode last. Eviction (room.c) clears the file's
 * entry first, then waits for the end of every walk that may have read the entry, then gives the
 * room back.
 *
 * A large file's table comes in two steps, since analysing code takes tens of times as long as
 * reading call frame information: first a partial table, with the rules of call frame information
 * alone; then a table with all rules, which replaces it.
 *
 * stackd_file.is_loaded means that a file is known to have no rows. It is never set for a file that
 * has rows, because a walk reads first n_chunks and then is_loaded, and a table may be loaded in
 * between.
 */
#include "daemon/tables/tables.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "daemon/base/map_window.h"
#include "daemon/tables/loaded_rule.h"
#include "daemon/tables/table_source.h"
#include "daemon/tables/tables_internal.h"
#include "unwind/recipe.h"
#include "unwind/recipe_rules.h"

#define THREAD_NICE  (-10)
#define ROWS_AT_ONCE 65536u
#define MUCH_BYTES   (1u << 20) /* malloc_trim() is called after tables of so many bytes */
#define SAVED_NS     UINT64_C(3000000000) /* most CPU time that can be saved for users' tables */
/* The same for root's: a host's programs and libraries have their tables soon after the start. */
#define ROOT_SAVED_NS UINT64_C(20000000000)
#define DEBT_NS	      UINT64_C(5000000000) /* most that is paid off for one table */
#define LARGE_BYTES   (4u << 20) /* bytes of a file from which its table is made in two steps */

/* Returns whether a file's table is loaded, or known to be empty. */
static bool is_known(const struct tables *t, uint32_t number)
{
	const struct stackd_file *file = &t->maps.files[number];

	return (__atomic_load_n(&file->n_chunks, __ATOMIC_RELAXED) &&
		!__atomic_load_n(&file->is_partial, __ATOMIC_RELAXED)) ||
	       __atomic_load_n(&file->is_loaded, __ATOMIC_RELAXED);
}

/* Returns whether a partial table of a file is loaded. */
static bool has_part(const struct tables *t, uint32_t number)
{
	return t->maps.files[number].n_chunks && t->maps.files[number].is_partial;
}

static void set_partial(struct tables *t, uint32_t number, bool is_partial)
{
	__atomic_store_n(&t->maps.files[number].is_partial, is_partial, __ATOMIC_RELEASE);
}

/* Notes that a file gets no more rows than those that are loaded, which may be none, so that walks
 * no longer request its table. */
static void set_empty(struct tables *t, uint32_t number)
{
	if (has_part(t, number))
		set_partial(t, number, false);
	else
		__atomic_store_n(&t->maps.files[number].is_loaded, 1, __ATOMIC_RELEASE);
}

/* --- loading --------------------------------------------------------------------------------- */

/* Without managed frames, a function that runs bytecode is walked like any other. */
void tables_load_new_rules(struct tables *t)
{
	size_t count;
	const struct stackd_rule *rules = recipe_rules_array(t->rules, &count);

	for (; t->rules_loaded < count; t->rules_loaded++) {
		struct stackd_rule rule = rules[t->rules_loaded];

		if (rule.cfa >= STACKD_CFA_EVAL && t->maps.interpreters_fd < 0)
			rule.cfa = STACKD_CFA_REG;
		t->maps.rules[t->rules_loaded] = rule;
	}
}

/* Returns how many rules a file may still add. In all, a file may add a quarter of the rules that
 * no other file has added, so a file with very many rules leaves most of the numbers to others,
 * however often it is loaded. */
static size_t rules_left_to(const struct tables *t, uint32_t number)
{
	size_t count, share;

	recipe_rules_array(t->rules, &count);
	share = (RECIPE_MAX_RULES - count + t->rules_of[number]) / 4;
	return share > t->rules_of[number] ? share - t->rules_of[number] : 0;
}

/* Writes a table's rows to the array, from row `first` on. Maps and writes some at a time, since
 * mapped pages count as resident. 0 or -errno. */
static int write_rows(struct tables *t, const struct recipe_table *table, const uint32_t *numbers,
		      uint32_t first, size_t count)
{
	for (size_t at = 0, some; at < count; at += some) {
		struct map_window window;
		int err;

		some = count - at < ROWS_AT_ONCE ? count - at : ROWS_AT_ONCE;
		err = map_window_open(t->maps.rows_fd, PROT_READ | PROT_WRITE,
				      (first + at) * sizeof(struct stackd_row),
				      some * sizeof(struct stackd_row), &window);
		if (err)
			return err;
		t->own.refused_entries[RECIPE_REFUSED_RULE_SHARE] +=
			recipe_rules_copy(table, numbers, at, some, window.data);
		map_window_close(&window);
	}
	return 0;
}

/* Gives the numbers that a table's rules have in the kernel half, and writes new rules to its
 * array. The caller frees *ret_numbers. 0 or -errno. */
static int take_rules(struct tables *t, uint32_t number, const struct recipe_table *table,
		      uint32_t **ret_numbers)
{
	size_t before, after;
	int err;

	recipe_rules_array(t->rules, &before);
	err = recipe_rules_join(t->rules, table, rules_left_to(t, number), ret_numbers);
	recipe_rules_array(t->rules, &after);
	t->rules_of[number] += (uint32_t)(after - before);
	return err;
}

/* Writes the rows of a table into its room. */
static int load_rows(struct tables *t, uint32_t number, const struct recipe_table *table,
		     uint32_t first)
{
	uint32_t *numbers;
	size_t count;
	int err = take_rules(t, number, table, &numbers);

	if (err)
		return err;
	recipe_table_rows(table, &count);
	err = write_rows(t, table, numbers, first, count);
	free(numbers);
	if (!err)
		tables_load_new_rules(t);
	return err;
}

/* Writes a table's chunks and the end entry. */
static int load_chunks(struct tables *t, const uint32_t *chunks, size_t n_chunks,
		       struct room_place place)
{
	struct map_window window;
	uint32_t *to;
	int err = map_window_open(t->maps.chunks_fd, PROT_READ | PROT_WRITE,
				  place.chunk * sizeof(*chunks), (n_chunks + 1) * sizeof(*chunks),
				  &window);

	if (err)
		return err;
	to = window.data;
	for (size_t i = 0; i <= n_chunks; i++)
		to[i] = place.row + chunks[i];
	map_window_close(&window);
	return 0;
}

static struct room_size size_of(const struct recipe_table *table)
{
	uint32_t first_chunk;
	size_t n_chunks, n_rows;

	recipe_table_chunks(table, &first_chunk, &n_chunks);
	recipe_table_rows(table, &n_rows);
	return (struct room_size){.rows = (uint32_t)n_rows, .chunks = (uint32_t)n_chunks + 1};
}

/* Writes a table into its room. */
static int write_table(struct tables *t, uint32_t number, const struct recipe_table *table,
		       struct room_place place)
{
	uint32_t first_chunk;
	size_t n_chunks;
	const uint32_t *chunks = recipe_table_chunks(table, &first_chunk, &n_chunks);
	int err = load_rows(t, number, table, place.row);

	return err ? err : load_chunks(t, chunks, n_chunks, place);
}

static int load_table(struct tables *t, uint32_t number, const struct recipe_table *table)
{
	struct stackd_file *file = &t->maps.files[number];
	struct room_place place;
	uint32_t first_chunk;
	size_t n_chunks;
	int err;

	recipe_table_chunks(table, &first_chunk, &n_chunks);
	if (!n_chunks) {
		set_empty(t, number);
		return 0;
	}
	t->bytes_made += size_of(table).rows * sizeof(struct stackd_row);
	err = room_take(t->room, number, size_of(table), t->may_evict, &place);
	if (err)
		return err;
	err = write_table(t, number, table, place);
	if (err) {
		room_give(t->room, number);
		return err;
	}
	file->chunk_base = place.chunk;
	file->first_chunk = first_chunk;
	slices_give(&t->slices, file, number, first_chunk, n_chunks);
	__atomic_store_n(&file->n_chunks, (uint32_t)n_chunks, __ATOMIC_RELEASE);
	return 0;
}

/* Returns whether a table of this size would fit into empty arrays. */
static bool can_fit(const struct tables *t, struct room_size size)
{
	return size.rows <= t->maps.n_rows && size.chunks <= t->maps.n_chunks;
}

/* Loads a table in place of a file's partial one. If both have the same chunks, one write switches
 * walks to the new table; otherwise walks find no table for a moment. 0; -ENOSPC or -E2BIG: there
 * is no room for the new table, and the partial one stays; or another -errno. */
static int replace_part(struct tables *t, uint32_t number, const struct recipe_table *table)
{
	struct stackd_file *file = &t->maps.files[number];
	struct room_place place;
	uint32_t first_chunk;
	size_t n_chunks;
	int err = -ENOSPC;

	if (!can_fit(t, size_of(table)))
		return -E2BIG;
	recipe_table_chunks(table, &first_chunk, &n_chunks);
	if (file->first_chunk == first_chunk && file->n_chunks == n_chunks)
		err = room_take_second(t->room, number, size_of(table), &place);
	if (err == -ENOSPC) {
		if (!t->may_evict && room_offer(t->room, number, size_of(table)) != ROOM_IS_FREE)
			return err;
		room_drop(t->room, number);
		set_partial(t, number, false);
		return load_table(t, number, table);
	}
	if (!err) {
		t->bytes_made += size_of(table).rows * sizeof(struct stackd_row);
		err = write_table(t, number, table, place);
		if (err)
			room_not_replaced(t->room, place);
	}
	if (err)
		return err;
	__atomic_store_n(&file->chunk_base, place.chunk, __ATOMIC_RELEASE);
	set_partial(t, number, false);
	room_replaced(t->room, number, place);
	return 0;
}

/* Counts why an object gets no table. Objects without a file are not counted. */
static void refuse_file(struct tables *t, const struct object *object, uint32_t number, int err)
{
	enum recipe_refusal why = err == -ENOEXEC      ? RECIPE_REFUSED_FILE_HEADERS
				  : err == -EOWNERDEAD ? RECIPE_REFUSED_FILE_WORKER
						       : RECIPE_REFUSED_FILE_READ;

	if (object->kind == OBJECT_ELF || object->kind == OBJECT_VDSO)
		t->own.refused_entries[why]++;
	set_empty(t, number);
}

/* Keeps the provenances of a file's rules (what each was made from), unless they are kept from an
 * earlier table of the file. */
static void keep_provenances(struct tables *t, uint32_t number, struct recipe_table *table)
{
	struct provenance_map *map = recipe_table_take_provenance(table);

	if (t->provenances[number])
		provenance_map_free(map);
	else
		__atomic_store_n(&t->provenances[number], map, __ATOMIC_RELEASE);
}

/* Keeps the facts about a file's interpreter, if it has one, and gives them to the kernel half,
 * which needs them to read the interpreter's frames. */
static void tell_interpreter(struct tables *t, uint32_t number, struct recipe_table *table)
{
	const struct stackd_interpreter *is = recipe_table_interpreter(table);
	struct runtime_layout *layout = recipe_table_take_layout(table);
	struct stackd_interpreter *copy;

	if (layout && t->layouts[number])
		free(layout);
	else if (layout)
		__atomic_store_n(&t->layouts[number], layout, __ATOMIC_RELEASE);
	if (!is)
		return;
	if (t->maps.interpreters_fd >= 0 && is->form != STACKD_INTERPRETER_NONE)
		bpf_map_update_elem(t->maps.interpreters_fd, &number, is, BPF_ANY);
	copy = t->interpreters[number] ? NULL : malloc(sizeof(*copy));
	if (copy) { /* without memory, waits for its locks are waits for any futex */
		*copy = *is;
		__atomic_store_n(&t->interpreters[number], copy, __ATOMIC_RELEASE);
		t->own.unread +=
			t->maps.interpreters_fd >= 0 && is->form == STACKD_INTERPRETER_NONE;
	}
}

/* Returns whose share of CPU time pays for a table. Root has another one than all users: no user
 * makes more of root's files, and without their tables most paths would end early. */
static enum owner owner_of(const struct request *r)
{
	return r->object->elf && elf_file_owner(r->object->elf) != 0 ? OF_USERS : OF_ROOT;
}

/* Gives how long the requests of each owner have to wait. */
static void look_at_shares(struct tables *t, uint64_t ret_wait_ns[N_OWNERS])
{
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	for (size_t i = 0; i < N_OWNERS; i++)
		ret_wait_ns[i] = cpu_share_wait_ns(&t->shares[i], now_ns);
}

/* Returns the place of the first request that may be served; it leads to NULL: there is none.
 * Called with the lock held. */
static struct request **first_served(struct tables *t, const uint64_t wait_ns[N_OWNERS])
{
	struct request **at = &t->first;

	while (*at && wait_ns[owner_of(*at)])
		at = &(*at)->next;
	return at;
}

/* Returns the request that may be served next; NULL: there is none. Called with the lock held. */
static const struct request *next_request(struct tables *t)
{
	uint64_t wait_ns[N_OWNERS];

	look_at_shares(t, wait_ns);
	return *first_served(t, wait_ns);
}

/* A table_stop.is_cancelled: whether the table that is being made must be given up, since a more
 * urgent request waits or the thread must end. */
static bool is_in_the_way(void *arg, uint64_t spent_ns)
{
	struct tables *t = arg;
	bool is_it;

	pthread_mutex_lock(&t->lock);
	is_it = requests_give_way(t->serving, spent_ns, next_request(t));
	if (is_it)
		t->serving->spent_ns += spent_ns;
	is_it |= t->is_ending;
	pthread_mutex_unlock(&t->lock);
	return is_it;
}

/* Notes how long making a table took, from start_ns to now, and whether it could be loaded. */
static void note_made(struct tables *t, uint32_t number, const struct recipe_table *table,
		      uint64_t start_ns, int err)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	t->own.compile_ns += now - start_ns;
	pthread_mutex_lock(&t->lock);
	remakes_spend(t->remakes, number, now - start_ns, now);
	t->own.remade += !err && remakes_was_loaded(t->remakes, number);
	if (table)
		remakes_made(t->remakes, number, size_of(table), now - start_ns, !err, now);
	pthread_mutex_unlock(&t->lock);
}

/* Enters the file number of an inode into the kernel half's map. */
static void make_known(struct tables *t, const struct stackd_inode *key, uint32_t number)
{
	int err = bpf_map_update_elem(t->maps.inodes_fd, key, &number, BPF_NOEXIST);

	t->own.inodes += !err;
	if (err)
		err = bpf_map_update_elem(t->maps.inodes_fd, key, &number, BPF_ANY);
	pthread_mutex_lock(&t->lock);
	if (!err)
		t->known_as[number] = *key;
	pthread_mutex_unlock(&t->lock);
}

static bool is_large(const struct object *object)
{
	return object->elf && elf_file_stamp(object->elf)->size >= LARGE_BYTES;
}

/* Notes whether the first step of the request that is being served is being made. */
static void set_first(struct tables *t, bool in_first)
{
	pthread_mutex_lock(&t->lock);
	if (t->serving)
		t->serving->in_first = in_first;
	pthread_mutex_unlock(&t->lock);
}

/* Makes and loads a partial table, with the rules of an object's call frame information. If the
 * table has turned out to have all rules, it is not loaded, but returned in *ret_whole. 0; -ENOENT:
 * the object has no call frame information; or another -errno. */
static int load_part(struct tables *t, const struct object *object, uint32_t number,
		     struct recipe_table **ret_whole)
{
	struct recipe_table *table;
	uint32_t first_chunk;
	size_t n_chunks;
	int err;

	set_partial(t, number, false); /* an evicted table has left it set */
	set_first(t, true);
	err = table_source_compile(&t->source, object, true, &(struct table_stop){is_in_the_way, t},
				   &table);
	set_first(t, false);
	if (!err && !recipe_table_stats(table)->is_partial)
		*ret_whole = table;
	if (err || *ret_whole)
		return err;
	tell_interpreter(t, number, table);
	recipe_table_chunks(table, &first_chunk, &n_chunks);
	set_partial(t, number, true);
	err = n_chunks ? load_table(t, number, table) : -ENOENT;
	if (err)
		set_partial(t, number, false);
	recipe_table_free(table);
	return err;
}

/* Returns whether other requests wait, which are to be served before the rest of a table whose
 * partial one took `spent_ns`. */
static bool gives_way(struct tables *t, uint64_t spent_ns)
{
	bool has_others;

	pthread_mutex_lock(&t->lock);
	has_others = next_request(t) != NULL;
	if (has_others && t->serving)
		t->serving->spent_ns += spent_ns;
	pthread_mutex_unlock(&t->lock);
	return has_others;
}

/* Makes and loads the table of a request's object. 0, also for an object without a readable file,
 * which has no rules; -ECANCELED; -EBADF; or an error of room_take(). */
static int load_object(struct tables *t, const struct request *r)
{
	const struct object *object = r->object;
	const uint32_t number = r->number;
	struct recipe_table *table = NULL;
	uint64_t start = clock_ns(CLOCK_MONOTONIC);
	int err = 0;

	if (is_large(object) && !has_part(t, number)) {
		err = load_part(t, object, number, &table);
		if (!err && !table && gives_way(t, clock_ns(CLOCK_MONOTONIC) - start))
			err = -ECANCELED;
	}
	if (r->has_key && has_part(t, number))
		make_known(t, &r->key, number);
	if (err != -ECANCELED && !table)
		err = table_source_compile(&t->source, object, false,
					   &(struct table_stop){is_in_the_way, t}, &table);
	if (table) {
		tell_interpreter(t, number, table);
		keep_provenances(t, number, table);
		err = has_part(t, number) ? replace_part(t, number, table)
					  : load_table(t, number, table);
		t->own.loaded += !err;
		t->own.runtime_rows += err ? 0 : recipe_table_stats(table)->runtime_rows;
		for (int i = 0; i < RECIPE_REFUSED_COUNT; i++)
			t->own.refused_entries[i] += recipe_table_stats(table)->refused[i];
	} else if (err != -ENOMEM && err != -ECANCELED && err != -EBADF) {
		refuse_file(t, object, number, err);
		err = 0;
	}
	note_made(t, number, table, start, err);
	recipe_table_free(table);
	return err;
}

/* Returns whether the table of a request may be made now. The first time it may. A table that was
 * made before may be made again only if there is free room, or if the file is worth more than the
 * tables that it would evict and the budget for making tables again has time left (remakes.h). A
 * prefetched table evicts none, so it is not made again where it would find no room. */
static bool may_make(struct tables *t, const struct request *r, uint32_t number)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	enum room_offer offer;
	struct room_size size;
	bool may;

	room_look(t->room, now);
	if (!remakes_size(t->remakes, number, &size))
		return true;
	offer = room_offer(t->room, number, size);
	if (r->is_early && offer != ROOM_IS_FREE)
		return false;
	if (!remakes_was_loaded(t->remakes, number))
		return true;
	may = offer != ROOM_OF_BETTER && remakes_may(t->remakes, number, now);
	if (!may) {
		t->own.put_off++;
		pthread_mutex_lock(&t->lock);
		remakes_put_off(t->remakes, number, now);
		pthread_mutex_unlock(&t->lock);
	}
	return may;
}

/* Notes that no table can be made of a request's file, if the file is open: it was changed, or
 * replaced, since it was mapped. Records must not wait for its table, which would end at once each
 * time that it is requested. */
static void put_off_changed(struct tables *t, const struct request *r)
{
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (!r->object->elf || !elf_file_is_open(r->object->elf))
		return;
	pthread_mutex_lock(&t->lock);
	if (!remakes_is_put_off(t->remakes, r->number, now_ns))
		remakes_put_off(t->remakes, r->number, now_ns);
	pthread_mutex_unlock(&t->lock);
}

/* Serves a request. 0, or -ECANCELED: the table was given up, and the request must be queued
 * again. */
static int serve(struct tables *t, const struct request *r)
{
	const uint32_t number = r->number;
	int err = 0;

	t->may_evict = !r->is_early;
	if (!is_known(t, number) && may_make(t, r, number)) {
		err = load_object(t, r);
		__atomic_add_fetch(&t->changes, 1, __ATOMIC_RELEASE);
	}
	if (err == -ECANCELED)
		return err;
	if (err == -EBADF) { /* the table is loaded when the file is mapped again, and a walk misses
			      * it */
		put_off_changed(t, r);
		return 0;
	}
	if (err && !r->is_early) {
		/* The table is too large, so the file counts as having no further rules: the daemon
		 * walks the frames in it. */
		set_empty(t, number);
		t->own.refused++;
	}
	if (r->has_key)
		make_known(t, &r->key, number);
	return 0;
}

/* Copies the thread's counts for tables_counts(). Called with the lock held. */
static void publish(struct tables *t)
{
	t->own.rows = room_rows(t->room);
	t->own.evicted = room_evicted(t->room);
	t->own.rules = t->rules_loaded;
	t->own.most_files = t->maps.n_files;
	t->counts = t->own;
}

/* Calls malloc_trim() if many tables were made since it last did. Called with the lock held, which
 * it releases meanwhile. Returns whether it has called it. */
static bool give_back(struct tables *t)
{
	if (t->bytes_made < MUCH_BYTES)
		return false;
	t->bytes_made = 0;
	pthread_mutex_unlock(&t->lock);
	malloc_trim(0);
	pthread_mutex_lock(&t->lock);
	return true;
}

/* Ends serving a request. `was_early`: it was a prefetch when it began; `err`: the result of
 * serve(). Called with the lock held. */
static void end_serving(struct tables *t, const struct request *r, bool was_early, int err)
{
	t->serving = NULL;
	/* A prefetched table may have found no room, since a prefetch evicts none, and a walk may
	 * have missed the table meanwhile. Then its request is queued again. Without memory for
	 * that, the table is requested when a walk misses it again. */
	if (err || (was_early && !r->is_early && !is_known(t, r->number)))
		requests_enter(&t->first, r);
}

/* Returns the CPU time of making tables so far. */
static uint64_t cpu_ns(const struct tables *t)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) + t->source.cpu_ns(t->source.arg);
}

/* Notes what a table has cost its owner. The worker's time can be less than before, where a worker
 * has ended and its server could not say what it had used. Called with the lock held. */
static void spend(struct tables *t, enum owner owner, uint64_t begin_ns)
{
	uint64_t end_ns = cpu_ns(t), spent_ns = end_ns > begin_ns ? end_ns - begin_ns : 0;

	cpu_share_spend(&t->shares[owner], spent_ns < DEBT_NS ? spent_ns : DEBT_NS,
			clock_ns(CLOCK_MONOTONIC));
}

/* Takes a request out of the list, and serves it. Called with the lock held, which it releases
 * meanwhile. */
static void serve_next(struct tables *t, struct request **at)
{
	struct request *r = *at, now = *r;
	const enum owner owner = owner_of(r);
	const uint64_t begin_ns = cpu_ns(t);
	int err;

	*at = r->next;
	t->serving = r;
	pthread_mutex_unlock(&t->lock);
	err = serve(t, &now);
	pthread_mutex_lock(&t->lock);
	spend(t, owner, begin_ns);
	publish(t);
	end_serving(t, r, now.is_early, err);
	pthread_cond_broadcast(&t->served);
	free(r);
}

static struct timespec time_of(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / 1000000000),
				 .tv_nsec = (long)(ns % 1000000000)};
}

/* Waits for a request, or until the share of CPU time lets the next one be served. Called with the
 * lock held. */
static void await_request(struct tables *t, const uint64_t wait_ns[N_OWNERS])
{
	const uint64_t least_ns = wait_ns[OF_ROOT] && wait_ns[OF_ROOT] < wait_ns[OF_USERS]
					  ? wait_ns[OF_ROOT]
					  : wait_ns[OF_USERS];
	const struct timespec until =
		time_of(clock_ns(CLOCK_MONOTONIC) + (least_ns ? least_ns : wait_ns[OF_ROOT]));

	if (give_back(t))
		return;
	if (t->first)
		pthread_cond_clockwait(&t->change, &t->lock, CLOCK_MONOTONIC, &until);
	else
		pthread_cond_wait(&t->change, &t->lock);
}

static void *run(void *arg)
{
	struct tables *t = arg;

	setpriority(PRIO_PROCESS, (id_t)gettid(), THREAD_NICE);
	pthread_mutex_lock(&t->lock);
	while (!t->is_ending) {
		uint64_t wait_ns[N_OWNERS];
		struct request **next;

		if (t->ending.state == ENDING_ASKED)
			tables_end_asked(t);
		look_at_shares(t, wait_ns);
		next = first_served(t, wait_ns);
		if (*next)
			serve_next(t, next);
		else
			await_request(t, wait_ns);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* --- from the main loop ---------------------------------------------------------------------- */

void tables_set_share(struct tables *t, double cpu_share, bool keeps_saved)
{
	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < N_OWNERS; i++)
		cpu_share_change(&t->shares[i], cpu_share, keeps_saved);
	pthread_mutex_unlock(&t->lock);
}

int tables_new(const struct tables_maps *maps, const struct table_source *source, double cpu_share,
	       struct tables **ret_tables)
{
	struct tables *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->maps = *maps;
	t->source = *source;
	t->shares[OF_USERS] = cpu_share_begin(cpu_share, SAVED_NS, clock_ns(CLOCK_MONOTONIC));
	t->shares[OF_ROOT] = cpu_share_begin(cpu_share, ROOT_SAVED_NS, clock_ns(CLOCK_MONOTONIC));
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->change, NULL);
	pthread_cond_init(&t->served, NULL);
	t->rules_of = calloc(maps->n_files, sizeof(*t->rules_of));
	t->provenances = calloc(maps->n_files, sizeof(*t->provenances));
	t->interpreters = calloc(maps->n_files, sizeof(*t->interpreters));
	t->layouts = calloc(maps->n_files, sizeof(*t->layouts));
	t->known_as = calloc(maps->n_files, sizeof(*t->known_as));
	err = t->rules_of && t->provenances && t->interpreters && t->layouts && t->known_as
		      ? recipe_rules_new(&t->rules)
		      : -ENOMEM;
	if (!err)
		err = room_new(&t->maps, &t->room);
	if (!err)
		err = remakes_new(maps->n_files, &t->remakes);
	if (!err)
		err = file_numbers_new(maps->n_files, &t->numbers);
	t->ending.is_ended = calloc(maps->n_files, sizeof(*t->ending.is_ended));
	t->ending.has_room = calloc(maps->n_files, sizeof(*t->ending.has_room));
	if (!err && (!t->ending.is_ended || !t->ending.has_room))
		err = -ENOMEM;
	if (!err) {
		tables_load_new_rules(t);
		publish(t);
		err = thread_start(run, t, &t->thread);
		t->has_thread = !err;
	}
	if (err) {
		tables_free(t);
		return err;
	}
	*ret_tables = t;
	return 0;
}

void tables_free(struct tables *t)
{
	if (!t)
		return;
	if (t->has_thread) {
		pthread_mutex_lock(&t->lock);
		t->is_ending = true;
		pthread_cond_signal(&t->change);
		pthread_mutex_unlock(&t->lock);
		pthread_join(t->thread, NULL);
	}
	requests_free(t->first);
	room_free(t->room);
	remakes_free(t->remakes);
	recipe_rules_free(t->rules);
	pthread_cond_destroy(&t->change);
	pthread_cond_destroy(&t->served);
	pthread_mutex_destroy(&t->lock);
	free(t->rules_of);
	for (uint32_t f = 0; t->provenances && f < t->maps.n_files; f++)
		provenance_map_free(t->provenances[f]);
	free(t->provenances);
	for (uint32_t f = 0; t->interpreters && f < t->maps.n_files; f++)
		free(t->interpreters[f]);
	free(t->interpreters);
	for (uint32_t f = 0; t->layouts && f < t->maps.n_files; f++)
		free(t->layouts[f]);
	free(t->layouts);
	free(t->known_as);
	free(t->ending.is_ended);
	free(t->ending.has_room);
	file_numbers_free(t->numbers);
	free(t);
}

/* Called with the lock. */
static bool is_put_off(struct tables *t, const struct request *wanted)
{
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	return cpu_share_wait_ns(&t->shares[owner_of(wanted)], now_ns) ||
	       remakes_is_put_off(t->remakes, wanted->number, now_ns);
}

/* Returns whether a request need not be queued, because its table is loaded, put off or requested
 * already. Thousands of records can miss a table before it is loaded, and each requests it. */
static bool is_asked_for(struct tables *t, const struct request *wanted)
{
	const uint32_t number = wanted->number;

	if ((is_known(t, number) || is_put_off(t, wanted)) &&
	    (!wanted->has_key || !memcmp(&t->known_as[number], &wanted->key, sizeof(wanted->key))))
		return true;
	return (t->serving && requests_are_same(t->serving, wanted)) ||
	       requests_have(t->first, wanted);
}

static int ask(struct tables *t, const struct request *wanted)
{
	int err = 0;

	if (!wanted->number) {
		t->unnumbered++;
		return 0;
	}
	pthread_mutex_lock(&t->lock);
	/* If a walk misses a table that is being prefetched, the prefetch becomes a request of a
	 * missed table, and does not start again. */
	if (t->serving && t->serving->object == wanted->object)
		t->serving->is_early &= wanted->is_early;
	if (!is_asked_for(t, wanted))
		err = requests_enter(&t->first, wanted);
	pthread_cond_signal(&t->change);
	pthread_mutex_unlock(&t->lock);
	return err;
}

static struct request request_of(struct tables *t, const struct object *object,
				 const struct stackd_inode *key)
{
	struct request r = {.object = object,
			    .number = file_numbers_give(t->numbers, object->number),
			    .has_key = key != NULL,
			    .is_large = is_large(object)};

	if (key)
		r.key = *key;
	return r;
}

int tables_want(struct tables *t, const struct object *object, const struct stackd_inode *key)
{
	const struct request wanted = request_of(t, object, key);

	return ask(t, &wanted);
}

int tables_prepare(struct tables *t, const struct object *object, const struct stackd_inode *key)
{
	struct request wanted = request_of(t, object, key);

	wanted.is_early = true;
	return ask(t, &wanted);
}

/* Returns whether a request of an object's table is being served, or in the list. Called with the
 * lock held. */
static bool is_pending(const struct tables *t, const struct object *object)
{
	const struct request *r =
		t->serving && t->serving->object == object ? t->serving : t->first;

	while (r && r->object != object)
		r = r->next;
	return r != NULL;
}

bool tables_await(struct tables *t, const struct object *object, uint64_t until_ns)
{
	const struct timespec until = time_of(until_ns);
	bool is_pending_still;
	int err = 0;

	pthread_mutex_lock(&t->lock);
	while (!err && is_pending(t, object))
		err = pthread_cond_clockwait(&t->served, &t->lock, CLOCK_MONOTONIC, &until);
	is_pending_still = is_pending(t, object);
	pthread_mutex_unlock(&t->lock);
	return !is_pending_still;
}

bool tables_slice(const struct tables *t, uint32_t slice, uint32_t *ret_file, uint64_t *ret_offset)
{
	return slices_find(&t->slices, slice, ret_file, ret_offset);
}

enum provenance tables_provenance(const struct tables *t, const struct object *object,
				  uint64_t offset)
{
	const uint32_t number = tables_number(t, object);

	if (!number)
		return PROVENANCE_CFI;
	return provenance_map_at(__atomic_load_n(&t->provenances[number], __ATOMIC_ACQUIRE),
				 offset);
}

const struct stackd_interpreter *tables_interpreter(const struct tables *t,
						    const struct object *object)
{
	const uint32_t number = tables_number(t, object);

	return number ? __atomic_load_n(&t->interpreters[number], __ATOMIC_ACQUIRE) : NULL;
}

const struct runtime_layout *tables_layout(const struct tables *t, const struct object *object)
{
	const uint32_t number = tables_number(t, object);

	return number ? __atomic_load_n(&t->layouts[number], __ATOMIC_ACQUIRE) : NULL;
}

/* Returns where a rule is remembered. */
static struct known_rule *known_at(struct tables *t, uint32_t number, uint64_t offset)
{
	const uint64_t key = (offset ^ (uint64_t)number << 40) * UINT64_C(0x9e3779b97f4a7c15);

	return &t->known[key >> 40 & (TABLES_KNOWN_RULES - 1)];
}

/* Reading a rule maps parts of two maps. Walks of a program come to the same places again and
 * again. */
static int find_loaded(struct tables *t, const struct object *object, uint64_t offset,
		       struct stackd_rule *ret_rule)
{
	const uint32_t number = tables_number(t, object);
	const uint64_t changes = __atomic_load_n(&t->changes, __ATOMIC_ACQUIRE);
	struct known_rule *known = known_at(t, number, offset);
	int err;

	if (!number)
		return -ENOENT;
	if (known->number == number && known->offset == offset && known->changes == changes) {
		*ret_rule = known->rule;
		return 0;
	}
	err = loaded_rule_find(&t->maps, number, offset, ret_rule);
	if (!err)
		*known = (struct known_rule){changes, offset, number, *ret_rule};
	return err;
}

int tables_rule(struct tables *t, const struct object *object, uint64_t offset,
		struct stackd_rule *ret_rule)
{
	int err = find_loaded(t, object, offset, ret_rule);
	bool has_table = err == -ENOENT && tables_have(t, object);

	if (has_table) /* the table may have been loaded, or replaced, during the look-up */
		err = find_loaded(t, object, offset, ret_rule);
	if (err != -ENOENT)
		return err;
	*ret_rule = (struct stackd_rule){.cfa = STACKD_CFA_NONE};
	if (has_table && tables_have(t, object)) /* the table is loaded, not evicted, and has no
						  * rule there */
		return 0;
	err = tables_want(t, object, NULL);
	return err ? err : -EAGAIN;
}

bool tables_have(const struct tables *t, const struct object *object)
{
	const uint32_t number = tables_number(t, object);

	return number ? is_known(t, number) : file_numbers_are_all_taken(t->numbers);
}

bool tables_put_off(struct tables *t, const struct object *object)
{
	const struct request wanted = {.object = object, .number = tables_number(t, object)};
	bool is;

	pthread_mutex_lock(&t->lock);
	is = wanted.number && is_put_off(t, &wanted);
	pthread_mutex_unlock(&t->lock);
	return is;
}

void tables_counts(struct tables *t, struct tables_counts *ret_counts)
{
	pthread_mutex_lock(&t->lock);
	*ret_counts = t->counts;
	pthread_mutex_unlock(&t->lock);
	ret_counts->unnumbered = t->unnumbered;
	ret_counts->files = file_numbers_taken(t->numbers);
}
