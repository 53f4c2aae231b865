/* SPDX-License-Identifier: MIT */
/* Keeps queues of locations and the time of the next round; see naming_schedule.h. */
#include "sym/naming_schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define PAUSE_FACTOR 200		   /* pause / CPU time of the round before it */
#define MAX_WAIT_NS  UINT64_C(60000000000) /* no location waits longer than this and its round */
#define ROUND_NS     UINT64_C(3000000000)  /* CPU time of parts of a round without a pause */

struct naming_schedule {
	struct naming_schedule_options with;
	VEC(const struct object *) objects; /* by number */
	VEC(uint8_t)
	told;				     /* by index: its missing debug file has been
					      * reported */
	VEC(struct store_location) queued;   /* to be named */
	VEC(struct store_location) nameless; /* without a name so far: to be queried again */
	size_t n_left;			     /* the first ones of nameless, to which the last round
					      * did not come: they are queried before the others */
	uint64_t next_ns;		     /* when the next round is due */
	uint64_t round_ns;		     /* CPU time of the parts of a round that is not over */
	uint64_t expensive_ns;		     /* when expensive objects are due; 0: none is queued */
	size_t left;			     /* see naming_schedule_left() */
	size_t n_unseen;		     /* locations that have no name, maybe since their
					      * file was closed, or its debug file not fetched */
};

int naming_schedule_new(const struct naming_schedule_options *options,
			struct naming_schedule **ret_schedule)
{
	struct naming_schedule *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->with = *options;
	*ret_schedule = s;
	return 0;
}

/* The first `count` queued locations leave the queue. */
static void unqueue(struct naming_schedule *s, size_t count)
{
	struct store_location *first = s->queued.items;

	for (size_t i = 0; i < count; i++)
		object_end_await(s->objects.items[first[i].object], 1);
	s->queued.count -= count;
	if (s->queued.count)
		memmove(first, first + count, s->queued.count * sizeof(*first));
}

void naming_schedule_free(struct naming_schedule *s)
{
	if (!s)
		return;
	unqueue(s, s->queued.count);
	free(s->objects.items);
	free(s->told.items);
	free(s->queued.items);
	free(s->nameless.items);
	free(s);
}

int naming_schedule_add_object(struct naming_schedule *s, const struct object *object)
{
	if (VEC_RESERVE(&s->objects, 1) || VEC_RESERVE(&s->told, 1))
		return -ENOMEM;
	s->told.items[s->told.count++] = 0;
	s->objects.items[s->objects.count++] = object;
	return 0;
}

/* --- naming ---------------------------------------------------------------------------------- */

struct counted_lines {
	const struct naming_schedule *schedule;
	int count;
	bool has_name;
};

static int pass_line(void *arg, const struct store_line *line)
{
	struct counted_lines *lines = arg;

	lines->count++;
	lines->has_name |= line->function != NULL;
	return lines->schedule->with.each(lines->schedule->with.arg, line);
}

/* Returns whether a location without a name can get one later: it is in JIT code, or in a file that
 * has other code at the moment. */
static bool may_get_name(const struct naming_schedule *s, const struct object *object)
{
	return !naming_is_final(object) || naming_is_unproven(s->with.naming, object);
}

/* Returns whether nobody can look into an object's file, though it could be read before. */
static bool is_closed(const struct object *object)
{
	return object->kind == OBJECT_ELF && object->elf && !elf_file_is_open(object->elf);
}

static int name_location(struct naming_schedule *s, const struct store_location *location,
			 bool is_last)
{
	const struct object *object = s->objects.items[location->object];
	struct counted_lines lines = {.schedule = s};
	int err = naming_resolve(s->with.naming, object, location, pass_line, &lines);

	if (err)
		return err;
	if (lines.count || is_last || !may_get_name(s, object)) {
		s->n_unseen += (!lines.count && is_closed(object)) ||
			       (!lines.has_name && naming_is_unfetched(s->with.naming, object));
		return 0;
	}
	err = VEC_RESERVE(&s->nameless, 1);
	if (!err)
		s->nameless.items[s->nameless.count++] = *location;
	return err;
}

static int compare_objects(const void *a, const void *b)
{
	const struct store_location *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int compare_offsets(const void *a, const void *b)
{
	const struct store_location *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Reports, once, the debug file that an object lacks. `number` is the object's index in the
 * schedule; from the second window on, object->number differs from it. */
static int tell_missing(struct naming_schedule *s, uint32_t number)
{
	const struct object *object = s->objects.items[number];
	struct buf name = {0};
	int err = 0;

	if (!s->with.missing || s->told.items[number] ||
	    !naming_missing(s->with.naming, object, &name))
		return 0;
	buf_put_u8(&name, 0);
	s->told.items[number] = 1;
	err = name.failed ? -ENOMEM : s->with.missing(s->with.arg, object, (char *)name.data);
	buf_free(&name);
	return err;
}

static bool must_stop(const struct naming_schedule *s)
{
	return s->with.is_late && s->with.is_late(s->with.arg);
}

/* Names locations of one object, and adds their number to `*done`. Stops early if it must. */
static int name_object(struct naming_schedule *s, struct store_location *locations, size_t count,
		       bool is_last, size_t *done)
{
	int err = 0;

	if (naming_wants_order(s->with.naming, s->objects.items[locations->object]))
		qsort(locations, count, sizeof(*locations), compare_offsets);
	for (size_t i = 0; i < count && !err; i++, ++*done) {
		if (i && i % NAMING_PREFETCH == 0 && must_stop(s))
			return 0;
		if (i % NAMING_PREFETCH == 0)
			err = naming_prefetch(
				s->with.naming, s->objects.items[locations->object], &locations[i],
				count - i < NAMING_PREFETCH ? count - i : NAMING_PREFETCH);
		if (!err)
			err = name_location(s, &locations[i], is_last);
	}
	return err ? err : tell_missing(s, locations->object);
}

/* Sorts locations by object, since the symbols of only a few objects are in memory at a time, and
 * names them in that order. *ret_done is the number of those that were named; it is less than
 * `count` if other work had to go first. */
static int name_locations(struct naming_schedule *s, struct store_location *locations, size_t count,
			  bool is_last, size_t *ret_done)
{
	size_t done = 0, end;
	int err = 0;

	if (count)
		qsort(locations, count, sizeof(*locations), compare_objects);
	while (done < count && !err) {
		for (end = done + 1; end < count; end++) {
			if (locations[end].object != locations[done].object)
				break;
		}
		err = name_object(s, &locations[done], end - done, is_last, &done);
		if (done < end || must_stop(s))
			break;
	}
	naming_trim(s->with.naming);
	*ret_done = done;
	return err;
}

/* Puts locations that a round has not queried before the others without names. */
static int put_first(struct naming_schedule *s, const struct store_location *left, size_t count)
{
	if (!count)
		return 0;
	if (VEC_RESERVE(&s->nameless, count))
		return -ENOMEM;
	memmove(s->nameless.items + count, s->nameless.items, s->nameless.count * sizeof(*left));
	memcpy(s->nameless.items, left, count * sizeof(*left));
	s->nameless.count += count;
	return 0;
}

/* Queries the locations without names once more. Unless `is_last`, queues those that still have no
 * name, and those that it did not reach before it had to stop. Begins with those that the last
 * round did not reach, so that each location has its turn even if every round stops early. */
static int name_nameless(struct naming_schedule *s, bool is_last)
{
	size_t count = s->nameless.count, left = s->n_left, done = 0, more = 0;
	struct store_location *again = s->nameless.items;
	int err = 0;

	s->nameless = (typeof(s->nameless)){0};
	s->n_left = 0;
	naming_ask_again(s->with.naming, true);
	if (left)
		err = name_locations(s, again, left, is_last, &done);
	if (!err && done == left && !(left && must_stop(s)))
		err = name_locations(s, again + left, count - left, is_last, &more);
	naming_ask_again(s->with.naming, false);
	done += more;
	if (is_last)
		s->left += count - done;
	else if (!err)
		err = put_first(s, again + done, count - done);
	if (!err && !is_last)
		s->n_left = done < left ? left - done : count - done;
	free(again);
	return err;
}

int naming_schedule_add_location(struct naming_schedule *s, const struct store_location *location)
{
	if (naming_is_quick(s->objects.items[location->object]))
		return name_location(s, location, false);
	if (VEC_RESERVE(&s->queued, 1))
		return -ENOMEM;
	s->queued.items[s->queued.count++] = *location;
	object_await_names(s->objects.items[location->object], 1);
	return 0;
}

/* --- rounds ---------------------------------------------------------------------------------- */

static void swap_locations(struct store_location *a, struct store_location *b)
{
	struct store_location kept = *a;

	*a = *b;
	*b = kept;
}

/* Moves the queued locations of cheap objects to the front and returns their number. `kinds` has a
 * zeroed element for each object. */
static size_t move_cheap_first(struct naming_schedule *s, uint8_t *kinds)
{
	enum { NOT_ASKED, EXPENSIVE, CHEAP };
	size_t cheap = 0;

	for (size_t i = 0; i < s->queued.count; i++) {
		struct store_location *location = &s->queued.items[i];
		const struct object *object = s->objects.items[location->object];
		uint8_t *kind = &kinds[location->object];

		if (*kind == NOT_ASKED)
			*kind = naming_is_expensive(s->with.naming, object) ? EXPENSIVE : CHEAP;
		if (*kind == CHEAP)
			swap_locations(location, &s->queued.items[cheap++]);
	}
	return cheap;
}

/* Moves the locations that are due to the front of the queue and returns their number. */
static size_t move_due_first(struct naming_schedule *s, uint64_t now_ns)
{
	uint8_t *kinds = calloc(s->objects.count + 1, sizeof(*kinds));
	size_t due;

	if (!kinds || (s->expensive_ns && now_ns >= s->expensive_ns)) {
		free(kinds);
		s->expensive_ns = 0;
		return s->queued.count;
	}
	due = move_cheap_first(s, kinds);
	free(kinds);
	if (due < s->queued.count && !s->expensive_ns)
		s->expensive_ns = now_ns + MAX_WAIT_NS;
	return due;
}

static bool is_due(const struct naming_schedule *s, uint64_t now_ns)
{
	return now_ns >= s->next_ns || (s->expensive_ns && now_ns >= s->expensive_ns);
}

/* Names the first `count` queued locations. *ret_done is the number of those that were named. */
static int name_first(struct naming_schedule *s, size_t count, bool is_last, size_t *ret_done)
{
	int err = name_locations(s, s->queued.items, count, is_last, ret_done);

	unqueue(s, *ret_done);
	return err;
}

/* Names the queued locations of files that are about to be closed. */
static int name_wanted(struct naming_schedule *s)
{
	size_t count = 0, done;

	for (size_t i = 0; i < s->queued.count; i++) {
		struct store_location *location = &s->queued.items[i];

		if (object_wants_names(s->objects.items[location->object]))
			swap_locations(location, &s->queued.items[count++]);
	}
	return count ? name_first(s, count, false, &done) : 0;
}

int naming_schedule_run(struct naming_schedule *s)
{
	uint64_t now_ns = s->with.now_ns(s->with.arg), start_ns = s->with.cpu_ns(s->with.arg);
	const bool has_round = is_due(s, now_ns);
	const size_t before = s->queued.count;
	uint64_t pause_ns;
	size_t due, done = 0;
	int err;

	if (!(s->queued.count + s->nameless.count))
		return 0;
	err = name_wanted(s);
	if (err || !has_round) {
		if (s->queued.count < before)
			s->round_ns += s->with.cpu_ns(s->with.arg) - start_ns;
		return err;
	}
	due = move_due_first(s, now_ns);
	err = name_nameless(s, false);
	if (!err)
		err = name_first(s, due, false, &done);
	s->round_ns += s->with.cpu_ns(s->with.arg) - start_ns;
	if (done < due && s->round_ns < ROUND_NS)
		return err;
	pause_ns = s->round_ns * PAUSE_FACTOR;
	s->next_ns = now_ns + (pause_ns < MAX_WAIT_NS ? pause_ns : MAX_WAIT_NS);
	s->round_ns = 0;
	return err;
}

int naming_schedule_finish(struct naming_schedule *s)
{
	size_t done = 0;
	int err;

	s->left = 0;
	err = name_nameless(s, true); /* first: no reader can find the names of JIT code later */
	if (!err && !must_stop(s))
		err = name_first(s, s->queued.count, true, &done);
	s->left += s->queued.count + s->n_unseen;
	s->n_unseen = 0;
	unqueue(s, s->queued.count);
	return err;
}

size_t naming_schedule_left(const struct naming_schedule *s)
{
	return s->left;
}
