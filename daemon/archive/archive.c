/* SPDX-License-Identifier: MIT */
/*
 * The archive's thread and its queue; see archive.h.
 *
 *   submit ──► queue ──► write ──► names of the kernel's and of code made at run time ──► commit
 *                                    now and then: names in files ──► (next commit) ◄──┘
 *
 * Symbols are too large to be kept (NAMES_BYTES), and to read those of libLLVM takes longer than
 * all else that a batch of it needs: so names are found for the locations of some batches at once,
 * as seldom as keeps the cost small. The kernel's names are in memory, and those of code made at
 * run time can be gone with its process: they are found for each batch, and committed with it.
 * (Until stackd has named the others, a reader finds them itself: sym/late_names.h.) Locations
 * of large objects whose symbols would put others out wait as long as they may: a recording that is
 * shorter reads them once, at its end.
 *
 * A store that is busy is tried again with the next batch: the writer keeps what it has. Any
 * other failure is final: the main loop is woken and ends the recording.
 */
#include "daemon/archive/archive.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "base/vec.h"
#include "sym/naming.h"
#include "store/store_writer.h"

#define NAMES_BYTES (12u << 20) /* of symbols that are held, about */

/* Finding names costs the thread a 200th of its time at most, as far as they need not wait longer
 * than this for it: symbols of a large file are read anew each time. */
#define NAMING_SHARE	200
#define MAX_NAMELESS_NS 60000000000u

struct archive {
	struct store_writer *writer;
	struct naming *names;
	pthread_t thread;
	bool has_thread;
	int failed_fd; /* eventfd */

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t change;
	struct batch *first, **last;
	bool is_ending, is_cancelled;
	const struct kallsyms *ksyms;

	/* The thread's own. */
	const struct object **objects; /* by number */
	uint32_t n_objects;
	uint32_t n_sizes;
	uint32_t n_origins;		    /* written */
	VEC(struct store_location) waiting; /* for their names */
	VEC(struct store_location) unnamed; /* to be asked for again at the end */
	uint64_t name_at_ns;		    /* when those that wait are named */
	uint64_t dear_at_ns;		    /* and those of dear objects; 0: none wait */
	struct store_recording totals;	    /* of the last batch */
	int error;			    /* the first one; for archive_finish() after the join */
	char *error_text;
};

/* --- batches --------------------------------------------------------------------------------- */

struct batch *batch_new(void)
{
	return calloc(1, sizeof(struct batch));
}

void batch_free(struct batch *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->n_processes; i++) {
		free((char *)b->processes[i].comm);
		free((char *)b->processes[i].exe);
	}
	for (size_t i = 0; i < b->n_threads; i++)
		free((char *)b->threads[i].comm);
	free(b->objects);
	free(b->locations);
	free(b->processes);
	free(b->threads);
	free(b->nodes);
	free(b->sizes);
	for (size_t i = 0; i < b->n_origins; i++)
		free((void *)b->origins[i].runs);
	free(b->origins);
	free(b->samples);
	free(b->counters);
	free(b);
}

/* --- the thread: writing --------------------------------------------------------------------- */

static const char *problem_of(const struct object *object)
{
	return object->error ? strerror(-object->error) : NULL;
}

static int write_objects(struct archive *a, const struct batch *b)
{
	const struct object **grown;
	int err = 0;

	grown = reallocarray(a->objects, a->n_objects + b->n_objects + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	a->objects = grown;
	for (size_t i = 0; i < b->n_objects && !err; i++) {
		const struct object *object = b->objects[i];
		struct store_object row = {
			.number = object->number,
			.kind = object->kind,
			.file_id = object->file_id,
			.path = object->path,
			.build_id = object->build_id,
			.build_id_len = object->build_id_len,
			.problem = problem_of(object),
		};

		a->objects[a->n_objects++] = object;
		err = store_writer_object(a->writer, &row);
	}
	return err;
}

static int write_batch(struct archive *a, const struct batch *b)
{
	int err = write_objects(a, b);

	for (size_t i = 0; i < b->n_locations && !err; i++)
		err = store_writer_location(a->writer, &b->locations[i]);
	for (size_t i = 0; i < b->n_processes && !err; i++)
		err = store_writer_process(a->writer, &b->processes[i]);
	for (size_t i = 0; i < b->n_threads && !err; i++)
		err = store_writer_thread(a->writer, &b->threads[i]);
	for (size_t i = 0; i < b->n_nodes && !err; i++)
		err = store_writer_node(a->writer, &b->nodes[i]);
	for (size_t i = 0; b->sizes && i < b->n_nodes && !err; i++)
		err = store_writer_size(a->writer, ++a->n_sizes, b->sizes[i]);
	for (size_t i = 0; i < b->n_origins && !err; i++)
		err = store_writer_origin(a->writer, ++a->n_origins, &b->origins[i]);
	for (size_t i = 0; i < b->n_samples && !err; i++)
		err = store_writer_sample(a->writer, &b->samples[i]);
	for (size_t i = 0; i < b->n_counters && !err; i++)
		err = store_writer_counter(a->writer, b->counters[i].name, b->counters[i].value);
	return err;
}

static void fail(struct archive *a, int err)
{
	uint64_t one = 1;

	if (a->error)
		return;
	a->error = err;
	if (asprintf(&a->error_text, "%s", store_writer_error(a->writer)) < 0)
		a->error_text = NULL;
	if (write(a->failed_fd, &one, sizeof(one)) < 0)
		a->error = err; /* an eventfd that is full is readable all the same */
}

static void commit(struct archive *a)
{
	int err = store_writer_commit(a->writer, &a->totals);

	if (err && (err != -EBUSY || a->totals.finished))
		fail(a, err);
}

/* --- the thread: names ----------------------------------------------------------------------- */

static int keep_line(void *arg, const struct store_line *line)
{
	struct archive *a = arg;

	return store_writer_line(a->writer, line);
}

struct counted_lines {
	struct archive *archive;
	int lines;
};

static int keep_counted_line(void *arg, const struct store_line *line)
{
	struct counted_lines *counted = arg;

	counted->lines++;
	return keep_line(counted->archive, line);
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

static int name_location(struct archive *a, const struct store_location *location, bool is_last)
{
	const struct object *object = a->objects[location->object];
	struct counted_lines counted = {.archive = a};
	int err = naming_resolve(a->names, object, location, keep_counted_line, &counted);

	if (err || counted.lines || naming_is_final(object) || is_last)
		return err;
	err = VEC_RESERVE(&a->unnamed, 1);
	if (!err)
		a->unnamed.items[a->unnamed.count++] = *location;
	return err;
}

/* Names locations of one object. */
static int name_object(struct archive *a, struct store_location *locations, size_t count,
		       bool is_last)
{
	int err = 0;

	if (naming_wants_order(a->names, a->objects[locations->object]))
		qsort(locations, count, sizeof(*locations), compare_offsets);
	for (size_t i = 0; i < count && !err; i++)
		err = name_location(a, &locations[i], is_last);
	return err;
}

/* Object by object, as the symbols of few are held at a time. */
static int name_locations(struct archive *a, struct store_location *locations, size_t count,
			  bool is_last)
{
	int err = 0;

	if (count)
		qsort(locations, count, sizeof(*locations), compare_objects);
	for (size_t i = 0, end; i < count && !err; i = end) {
		for (end = i + 1; end < count; end++) {
			if (locations[end].object != locations[i].object)
				break;
		}
		err = name_object(a, &locations[i], end - i, is_last);
	}
	naming_rest(a->names);
	return err;
}

/* Asks again for the names that were not there yet. */
static int name_unnamed(struct archive *a)
{
	size_t count = a->unnamed.count;
	struct store_location *again = a->unnamed.items;
	int err;

	a->unnamed = (typeof(a->unnamed)){0};
	err = name_locations(a, again, count, false);
	free(again);
	return err;
}

static void swap_locations(struct store_location *a, struct store_location *b)
{
	struct store_location kept = *a;

	*a = *b;
	*b = kept;
}

/* Puts those first that are not of dear objects; how many. */
static size_t part_dear(struct archive *a, uint8_t *is_dear)
{
	enum { NOT_ASKED, DEAR, CHEAP };
	size_t cheap = 0;

	for (size_t i = 0; i < a->waiting.count; i++) {
		struct store_location *location = &a->waiting.items[i];
		uint8_t *known = &is_dear[location->object];

		if (*known == NOT_ASKED)
			*known = naming_is_dear(a->names, a->objects[location->object]) ? DEAR
											: CHEAP;
		if (*known == CHEAP)
			swap_locations(location, &a->waiting.items[cheap++]);
	}
	return cheap;
}

/* Puts those first whose time has come; how many. */
static size_t choose_waiting(struct archive *a, uint64_t now)
{
	uint8_t *is_dear = calloc((size_t)a->n_objects + 1, sizeof(*is_dear));
	size_t chosen;

	if (!is_dear || (a->dear_at_ns && now >= a->dear_at_ns)) {
		free(is_dear);
		a->dear_at_ns = 0;
		return a->waiting.count;
	}
	chosen = part_dear(a, is_dear);
	free(is_dear);
	if (chosen < a->waiting.count && !a->dear_at_ns)
		a->dear_at_ns = now + MAX_NAMELESS_NS;
	return chosen;
}

/* Nothing waits longer than MAX_NAMELESS_NS. */
static bool is_time(const struct archive *a, uint64_t now)
{
	return now >= a->name_at_ns || (a->dear_at_ns && now >= a->dear_at_ns);
}

/* Names what waits, if it is time. */
static int name_waiting(struct archive *a)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), start = clock_ns(CLOCK_THREAD_CPUTIME_ID), rest;
	size_t chosen;
	int err;

	if (!is_time(a, now) || !(a->waiting.count + a->unnamed.count))
		return 0;
	chosen = choose_waiting(a, now);
	err = name_unnamed(a);
	if (!err)
		err = name_locations(a, a->waiting.items, chosen, false);
	a->waiting.count -= chosen;
	if (a->waiting.count)
		memmove(a->waiting.items, a->waiting.items + chosen,
			a->waiting.count * sizeof(*a->waiting.items));
	rest = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - start) * NAMING_SHARE;
	a->name_at_ns = now + (rest < MAX_NAMELESS_NS ? rest : MAX_NAMELESS_NS);
	return err;
}

/* Names what need not or cannot wait, and lets the rest of a batch's locations wait. */
static int let_wait(struct archive *a, const struct batch *b)
{
	int err = VEC_RESERVE(&a->waiting, b->n_locations) ? -ENOMEM : 0;

	for (size_t i = 0; i < b->n_locations && !err; i++) {
		if (!naming_is_quick(a->objects[b->locations[i].object]))
			a->waiting.items[a->waiting.count++] = b->locations[i];
		else
			err = name_location(a, &b->locations[i], false);
	}
	return err;
}

/* --- the thread: its loop -------------------------------------------------------------------- */

/* The next batch, waiting for one; NULL: it is time to end. */
static struct batch *take(struct archive *a)
{
	struct batch *b;

	pthread_mutex_lock(&a->lock);
	while (!a->first && !a->is_ending)
		pthread_cond_wait(&a->change, &a->lock);
	b = a->is_cancelled ? NULL : a->first;
	if (b) {
		a->first = b->next;
		if (!a->first)
			a->last = &a->first;
	}
	naming_set_kallsyms(a->names, a->ksyms);
	pthread_mutex_unlock(&a->lock);
	return b;
}

static void *run(void *arg)
{
	struct archive *a = arg;
	struct batch *b;
	int err;

	/* Nothing waits for this thread, so it does not share the loop's priority (session.c). */
	if (getpriority(PRIO_PROCESS, 0) < 0)
		setpriority(PRIO_PROCESS, 0, 0);
	while ((b = take(a))) {
		err = a->error ? 0 : write_batch(a, b);
		if (err)
			fail(a, err);
		a->totals = b->totals;
		err = a->error ? 0 : let_wait(a, b);
		if (err)
			fail(a, err);
		if (!a->error)
			commit(a);
		err = a->error ? 0 : name_waiting(a);
		if (err)
			fail(a, err);
		batch_free(b);
	}
	return NULL;
}

/* --- from the main loop ---------------------------------------------------------------------- */

static int start_thread(struct archive *a)
{
	int err = thread_start(run, a, &a->thread);

	a->has_thread = err == 0;
	return err;
}

int archive_new(const struct archive_options *options, const struct store_recording *info,
		struct archive **ret_archive, char **ret_error)
{
	struct archive *a = calloc(1, sizeof(*a));
	int err;

	if (!a)
		return -ENOMEM;
	a->last = &a->first;
	a->failed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->change, NULL);
	err = a->failed_fd < 0 ? -errno : naming_new("/proc", &a->names);
	if (!err)
		naming_limit(a->names, NAMES_BYTES);
	if (!err)
		err = store_writer_new(options->path, info, &a->writer, ret_error);
	if (!err && (options->keep_age_s || options->keep_bytes)) {
		err = store_writer_retain(a->writer, options->keep_age_s, options->keep_bytes);
		err = err < 0 ? err : 0;
	}
	if (!err)
		err = start_thread(a);
	if (err) {
		archive_free(a);
		return err;
	}
	*ret_archive = a;
	return 0;
}

void archive_submit(struct archive *a, struct batch *batch)
{
	pthread_mutex_lock(&a->lock);
	batch->next = NULL;
	*a->last = batch;
	a->last = &batch->next;
	pthread_cond_signal(&a->change);
	pthread_mutex_unlock(&a->lock);
}

void archive_set_kallsyms(struct archive *a, const struct kallsyms *ksyms)
{
	pthread_mutex_lock(&a->lock);
	a->ksyms = ksyms;
	pthread_mutex_unlock(&a->lock);
}

int archive_poll_fd(const struct archive *a)
{
	return a->failed_fd;
}

static void end_thread(struct archive *a, bool cancel)
{
	if (!a->has_thread)
		return;
	pthread_mutex_lock(&a->lock);
	a->is_ending = true;
	a->is_cancelled = cancel;
	pthread_cond_signal(&a->change);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	a->has_thread = false;
}

int archive_finish(struct archive *a, char **ret_error)
{
	int err;

	end_thread(a, false);
	if (!a->error) {
		err = name_locations(a, a->waiting.items, a->waiting.count, true);
		if (!err)
			err = name_locations(a, a->unnamed.items, a->unnamed.count, true);
		if (err)
			fail(a, err);
	}
	a->totals.finished = true;
	if (!a->error)
		commit(a);
	if (a->error) {
		*ret_error = a->error_text;
		a->error_text = NULL;
	}
	return a->error;
}

void archive_discard(struct archive *a)
{
	end_thread(a, true);
	store_writer_discard(a->writer);
}

int64_t archive_recording(const struct archive *a)
{
	return store_writer_recording(a->writer);
}

void archive_free(struct archive *a)
{
	if (!a)
		return;
	end_thread(a, true);
	while (a->first) {
		struct batch *b = a->first;

		a->first = b->next;
		batch_free(b);
	}
	store_writer_free(a->writer);
	naming_free(a->names);
	pthread_cond_destroy(&a->change);
	pthread_mutex_destroy(&a->lock);
	if (a->failed_fd >= 0)
		close(a->failed_fd);
	free(a->objects);
	free(a->waiting.items);
	free(a->unnamed.items);
	free(a->error_text);
	free(a);
}
