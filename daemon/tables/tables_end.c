/* SPDX-License-Identifier: MIT */
/*
 * Takes numbers of files back, so that other files can have them, and gives rules their numbers
 * anew; see tables.h. The main loop asks, the thread does it (take_back.h), and the main loop makes
 * the numbers free once no record that is still on its way can have them.
 */
#include <bpf/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/tables/take_back.h"
#include "daemon/tables/tables_internal.h"

/* --- by the thread --------------------------------------------------------------------------- */

/* Returns whether a file's table goes. */
static bool is_dropped(const struct tables *t, uint32_t number)
{
	return t->ending.is_ended[number] || t->ending.with_rules;
}

/* Hides the tables that go from walks. The daemon's copy of the entry keeps where they are. */
static void hide_tables(struct tables *t)
{
	for (uint32_t i = 1; i < t->maps.n_files; i++) {
		struct stackd_file *file = &t->maps.files[i];

		t->ending.has_room[i] = is_dropped(t, i) && file->n_chunks;
		if (t->ending.has_room[i])
			__atomic_store_n(&file->n_chunks, 0, __ATOMIC_RELEASE);
		if (t->ending.is_ended[i] && t->maps.interpreters_fd >= 0)
			bpf_map_delete_elem(t->maps.interpreters_fd, &i);
	}
}

/* Forgets a table that walks do not find any more. If its file loses its number, too, forgets the
 * file. */
static void forget_table(struct tables *t, uint32_t number)
{
	struct stackd_file *file = &t->maps.files[number];

	if (t->ending.has_room[number])
		room_give(t->room, number);
	__atomic_store_n(&file->is_partial, 0, __ATOMIC_RELEASE);
	t->rules_of[number] = 0;
	remakes_forget(t->remakes, number);
	if (!t->ending.is_ended[number])
		return;
	__atomic_store_n(&file->is_loaded, 0, __ATOMIC_RELEASE);
	room_forget(t->room, number);
	t->known_as[number] = (struct stackd_inode){0};
}

/* Begins an empty set of rules. Without memory the old one stays, which does no harm. */
static void begin_rules(struct tables *t)
{
	struct recipe_rules *rules;

	if (recipe_rules_new(&rules))
		return;
	recipe_rules_free(t->rules);
	t->rules = rules;
	t->rules_loaded = 0;
	tables_load_new_rules(t);
}

/* If the cache cannot be emptied, which needs memory, the numbers are never given again. */
void tables_end_asked(struct tables *t)
{
	uint64_t removed;
	int err;

	t->ending.state = ENDING_UNDER_WAY;
	pthread_mutex_unlock(&t->lock);
	removed = take_back_inodes(&t->maps, t->ending.is_ended, t->known_as);
	hide_tables(t);
	take_back_walks(&t->maps);
	err = take_back_cache(&t->maps);
	pthread_mutex_lock(&t->lock);
	for (uint32_t i = 1; i < t->maps.n_files; i++) {
		if (is_dropped(t, i))
			forget_table(t, i);
	}
	if (t->ending.with_rules && !err)
		begin_rules(t);
	__atomic_add_fetch(&t->changes, 1, __ATOMIC_RELEASE);
	t->own.inodes -= removed < t->own.inodes ? removed : t->own.inodes;
	t->own.ended += t->ending.count;
	t->counts.inodes = t->own.inodes;
	t->counts.ended = t->own.ended;
	t->ending.state = ENDING_DONE;
	t->ending.ended_ns = err ? UINT64_MAX : clock_ns(CLOCK_MONOTONIC);
}

/* --- by the main loop ------------------------------------------------------------------------ */

uint32_t tables_number(const struct tables *t, const struct object *object)
{
	return file_numbers_of(t->numbers, object->number);
}

bool tables_object(const struct tables *t, uint32_t number, uint32_t *ret_object)
{
	return file_numbers_object(t->numbers, number, ret_object);
}

uint32_t tables_uses(const struct tables *t, uint32_t number)
{
	return __atomic_load_n(&t->maps.files[number].uses, __ATOMIC_RELAXED);
}

/* Returns whether the thread is to make, or makes, the table of a file. Called with the lock
 * held. */
static bool is_pending(const struct tables *t, uint32_t number)
{
	const struct request *r = t->first;

	if (t->serving && t->serving->number == number)
		return true;
	while (r && r->number != number)
		r = r->next;
	return r != NULL;
}

/* Asks the thread. Called with the lock held. */
static void ask_to_end(struct tables *t, bool with_rules)
{
	t->ending.with_rules = with_rules;
	t->ending.state = ENDING_ASKED;
	pthread_cond_signal(&t->change);
}

bool tables_end_numbers(struct tables *t, const uint32_t *numbers, size_t count)
{
	bool may;

	pthread_mutex_lock(&t->lock);
	may = t->ending.state == NO_ENDING;
	t->ending.count = 0;
	for (size_t i = 0; i < count && may; i++) {
		if (is_pending(t, numbers[i]))
			continue;
		file_numbers_end(t->numbers, numbers[i]);
		t->ending.is_ended[numbers[i]] = true;
		t->ending.count++;
	}
	if (may)
		ask_to_end(t, false);
	pthread_mutex_unlock(&t->lock);
	return may;
}

bool tables_begin_rules(struct tables *t)
{
	bool may;

	pthread_mutex_lock(&t->lock);
	may = t->ending.state == NO_ENDING;
	t->ending.count = 0;
	if (may)
		ask_to_end(t, true);
	pthread_mutex_unlock(&t->lock);
	return may;
}

/* Frees what was kept of a file, and makes its number free. */
static void give_back(struct tables *t, uint32_t number)
{
	provenance_map_free(t->provenances[number]);
	free(t->interpreters[number]);
	free(t->layouts[number]);
	t->provenances[number] = NULL;
	t->interpreters[number] = NULL;
	t->layouts[number] = NULL;
	t->ending.is_ended[number] = false;
	file_numbers_give_back(t->numbers, number);
}

void tables_free_numbers(struct tables *t, uint64_t done_ns)
{
	bool is_over;

	pthread_mutex_lock(&t->lock);
	is_over = t->ending.state == ENDING_DONE && done_ns > t->ending.ended_ns;
	for (uint32_t i = 1; i < t->maps.n_files && is_over; i++) {
		if (t->ending.is_ended[i])
			give_back(t, i);
	}
	if (is_over)
		t->ending.state = NO_ENDING;
	pthread_mutex_unlock(&t->lock);
}
