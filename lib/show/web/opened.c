/* SPDX-License-Identifier: MIT */
/* Opens recordings for questions, and keeps them open; see opened.h. */
#include "web/opened.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "model/interpreter.h"
#include "model/sample_log.h"
#include "sym/reader_names.h"
#include "web/selection.h"

#define OPENED_NAMES_NS	  1000000000u /* time for names that an unfinished recording lacks */
#define OPENED_REFRESH_NS 1000000000u /* a live recording is at most so old */

static void opened_close(struct opened *o)
{
	for (size_t i = 0; i < OPENED_SELECTED; i++)
		selection_free(o->selections[i]);
	sample_log_free(o->log);
	if (!o->is_given)
		store_reader_close(o->reader);
	reader_names_free(o->names);
	free(o->totals);
	*o = (struct opened){0};
}

void opened_tidy(struct web_store *store, uint64_t idle_ns)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);

	for (size_t i = 0; i < OPENED_MAX; i++)
		if (store->opened[i].reader && now - store->opened[i].used_ns >= idle_ns)
			opened_close(&store->opened[i]);
}

int opened_fail(struct ask *ask, int err, char *sentence)
{
	const char *path = ask->store->source->path, *label = ask->store->source->label;
	const size_t len = strlen(path);

	if (err == -ECANCELED)
		ask_fail(ask, 409, "none is needed: a newer question has taken its place",
			 "superseded");
	else if (err == -ENOENT)
		ask_fail(ask, 410, "start `stackctl web` again with another store",
			 "the store %s has been deleted", label);
	else if (err == -ENODATA)
		ask_fail(ask, 404, "/recordings lists those that there are",
			 "no such recording in %s", label);
	else if (err == -EXDEV)
		ask_fail(ask, 400, "choose recordings of one event",
			 "these recordings count different events");
	else if (err == -ENOMEM)
		ask_fail(ask, 500, "choose a shorter time, or close other programs",
			 "memory is short");
	else if (sentence && strncmp(sentence, path, len) == 0)
		ask_fail(ask, 500, "use a copy of the store, or record again", "%s%s", label,
			 sentence + len);
	else
		ask_fail(ask, 500, "use a copy of the store, or record again",
			 "%s cannot be read: %s", label, strerror(-err));
	free(sentence);
	return err;
}

int opened_check(struct ask *ask)
{
	struct web_store *store = ask->store;
	const struct web_source *source = store->source;
	struct stat st;
	int err;

	if (source->open || source->given)
		return 0;
	if (source->look)
		err = source->look(source->arg, &st);
	else
		err = stat(source->path, &st) < 0 ? -errno : 0;
	if (err)
		return err == -ENOENT || err == -ENOTDIR ? opened_fail(ask, -ENOENT, NULL) : 0;
	if (store->inode && (st.st_ino != store->inode || st.st_dev != store->device))
		opened_tidy(store, 0);
	store->inode = st.st_ino;
	store->device = st.st_dev;
	return 0;
}

struct opened_figures opened_figures_of(struct store_reader *reader)
{
	const struct store_tables *t = store_reader_tables(reader);
	const struct store_recording *r = &t->recording;

	return (struct opened_figures){.change = r->end_ns + r->samples + r->lost + r->finished,
				       .is_live = !r->finished};
}

bool opened_is_sums(const struct ask *ask)
{
	const struct web_source *source = ask->store->source;

	return source->open || (source->given && source->given->is_sums);
}

size_t opened_room(const struct ask *ask)
{
	const size_t most = ask->store->source->most_bytes;

	return most ? most : WEB_ANSWER_MAX;
}

void opened_release(const struct ask *ask, struct store_reader *reader)
{
	if (!ask->store->source->given)
		store_reader_close(reader);
}

int opened_glance(struct ask *ask, int64_t id, struct store_reader **ret_reader)
{
	const struct web_source *source = ask->store->source;
	char *sentence = NULL;
	int err = 0;

	if (source->given)
		*ret_reader = source->given->reader;
	else if (source->open)
		err = source->open(source->arg, ret_reader, &sentence);
	else
		err = store_reader_open_figures(source->path, id, ret_reader, &sentence);
	return err ? opened_fail(ask, err, sentence) : 0;
}

/* Looks up names that an unfinished recording lacks. */
static int find_names(struct ask *ask, struct opened *o)
{
	const struct web_source *source = ask->store->source;
	int err = 0;

	if (o->is_live && source->new_names)
		err = source->new_names(&o->names);
	if (err == 0 && o->names)
		err = reader_names_find(o->names, o->reader, OPENED_NAMES_NS);
	return err == 0 && !source->open ? interpreter_hide(o->reader) : err;
}

static int open_reader(struct ask *ask, struct opened *o, char **ret_sentence)
{
	const struct web_source *source = ask->store->source;
	const struct store_range range = {.first = o->first, .last = o->last};

	if (source->open)
		return source->open(source->arg, &o->reader, ret_sentence);
	if (o->first == o->last)
		return store_reader_open(source->path, o->first, &o->reader, ret_sentence);
	return store_reader_open_range(source->path, &range, &o->reader, ret_sentence);
}

static int opened_open(struct ask *ask, struct opened *o)
{
	const struct web_given *given = ask->store->source->given;
	char *sentence = NULL;
	int err;

	if (given) { /* It is open, and has its names. */
		o->reader = given->reader;
		o->is_given = true;
		return 0;
	}
	err = open_reader(ask, o, &sentence);
	if (err)
		return opened_fail(ask, err, sentence);
	o->is_live =
		!ask->store->source->open && !store_reader_tables(o->reader)->recording.finished;
	o->opened_ns = clock_ns(CLOCK_MONOTONIC);
	err = find_names(ask, o);
	return err ? opened_fail(ask, err, NULL) : 0;
}

/* Closes a recording that is still being made if the store has more of it by now. A question looks
 * at most once: later it may have selections of this recording. */
static int refresh(struct ask *ask, struct opened *o)
{
	struct store_reader *now;
	struct opened_figures figures;
	int err;

	if (!o->is_live || ask->store->source->open ||
	    o->opened_ns + OPENED_REFRESH_NS > ask->begin_ns || o->checked_ns >= ask->begin_ns)
		return 0;
	o->checked_ns = clock_ns(CLOCK_MONOTONIC);
	err = opened_glance(ask, o->last, &now);
	if (err)
		return err;
	figures = opened_figures_of(now);
	opened_release(ask, now);
	if (figures.change == o->change && figures.is_live)
		return 0;
	opened_close(o);
	return 0;
}

/* Returns the entry of the recordings from `first` to `last` if they are open, else the entry to
 * replace, whose last use is the oldest. */
static struct opened *opened_place(struct web_store *store, int64_t first, int64_t last)
{
	struct opened *oldest = store->opened;

	for (size_t i = 0; i < OPENED_MAX; i++) {
		struct opened *o = &store->opened[i];

		if (o->reader && o->first == first && o->last == last)
			return o;
		if (o->used_ns < oldest->used_ns)
			oldest = o;
	}
	return oldest;
}

/* Replaces 0, the latest recording, by its number. */
static int opened_latest(struct ask *ask, int64_t *first, int64_t *last, uint64_t *ret_change)
{
	struct store_reader *reader;
	int err = opened_glance(ask, *last, &reader);

	if (err)
		return err;
	*ret_change = opened_figures_of(reader).change;
	if (!*last)
		*first = *last = store_reader_tables(reader)->recording.id;
	opened_release(ask, reader);
	return 0;
}

int opened_get(struct ask *ask, int64_t first, int64_t last, struct opened **ret_opened)
{
	const bool is_only = ask->store->source->open || ask->store->source->given;
	struct opened *o;
	uint64_t change = 0;
	int err = 0;

	if (is_only) /* There is one recording, whatever its number is. */
		first = last = 1;
	else if (!last)
		err = opened_latest(ask, &first, &last, &change);
	if (err)
		return err;
	o = opened_place(ask->store, first, last);
	if (o->reader && o->first == first && o->last == last)
		err = refresh(ask, o);
	else
		opened_close(o);
	if (err == 0 && !o->reader) {
		/* The figures are read before the recording, so that a change in between is
		 * noticed. */
		if (!is_only)
			err = opened_latest(ask, &first, &last, &change);
		o->first = first;
		o->last = last;
		o->change = change;
		if (err == 0)
			err = opened_open(ask, o);
	}
	if (err) {
		opened_close(o);
		return err;
	}
	o->used_ns = clock_ns(CLOCK_MONOTONIC);
	*ret_opened = o;
	return 0;
}

int opened_log(const struct ask *ask, struct opened *o, struct sample_log **ret_log)
{
	int err = 0;

	if (!o->log && !o->has_no_log && !opened_is_sums(ask))
		err = sample_log_new(o->reader, OPENED_LOG, ask->question->stop, &o->log);
	if (err == -EFBIG || err == -ENOMEM) {
		o->has_no_log = true;
		err = 0;
	}
	*ret_log = o->log;
	return err;
}

int opened_samples(const struct ask *ask, struct opened *o,
		   int (*each)(void *arg, const struct store_sample *sample), void *arg)
{
	struct sample_log *log;
	struct sample_log_view view;
	int err = opened_log(ask, o, &log);

	if (err || !log)
		return err ? err : store_reader_samples(o->reader, each, arg);
	view = sample_log_view(log);
	for (size_t i = 0; !err && i < view.count; i++) {
		const struct store_sample s = sample_log_at(&view, i);

		err = each(arg, &s);
	}
	return err;
}

/* Reads a recording's number. Returns whether it is one. */
static bool number(const char *text, char **ret_end, int64_t *ret_number)
{
	errno = 0;
	*ret_number = strtoll(text, ret_end, 10);
	return *text >= '0' && *text <= '9' && !errno && *ret_number > 0;
}

int opened_numbers(struct ask *ask, const char *name, int64_t *ret_first, int64_t *ret_last)
{
	const char *text = ask_text(ask, name);
	char *end;

	*ret_first = *ret_last = 0;
	if (!text)
		return 0;
	if (number(text, &end, ret_first)) {
		*ret_last = *ret_first;
		if (!*end)
			return 0;
		if (strncmp(end, "..", 2) == 0 && number(end + 2, &end, ret_last) && !*end &&
		    *ret_last >= *ret_first)
			return 0;
	}
	return ask_fail(ask, 400, "give a number, or FIRST..LAST",
			"%s: '%.60s' is not the number of a recording", name, text);
}
