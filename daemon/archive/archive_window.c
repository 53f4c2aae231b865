/* SPDX-License-Identifier: MIT */
/*
 * The windows of an archive's run: one is closed as the next begins, old ones are deleted, and
 * after an outage of the store (outage.h) writing begins again with one, in the store that is there
 * then.
 */
#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/archive/archive_state.h"

#define TURN_ATTEMPTS 30     /* to begin a window in a busy store: 5 minutes in all; */
#define TURN_PAUSE_US 300000 /* on a full disk: after a pause */

bool archive_window_committed(struct archive *a, int err)
{
	bool is_lost = store_writer_has_moved(a->writer), gives_up;

	pthread_mutex_lock(&a->lock);
	gives_up = outage_committed(&a->outage, err, is_lost, clock_ns(CLOCK_MONOTONIC));
	if (gives_up)
		outage_begin(&a->outage, err ? err : -ENOENT, clock_ns(CLOCK_MONOTONIC));
	pthread_mutex_unlock(&a->lock);
	return gives_up;
}

int archive_window_retain(struct archive *a)
{
	int deleted = 0;

	if (a->options.keep_age_s || a->options.keep_bytes)
		deleted = store_writer_retain(a->writer, a->options.keep_age_s,
					      a->options.keep_bytes);
	/* If the store of a window cannot be written to, the next commit reports it. */
	return deleted < 0 && deleted != -EBUSY && !a->options.window_ns ? deleted : 0;
}

/* Gives up writing until archive_window_retry(). */
static void give_up(struct archive *a, int err)
{
	pthread_mutex_lock(&a->lock);
	outage_begin(&a->outage, err, clock_ns(CLOCK_MONOTONIC));
	pthread_mutex_unlock(&a->lock);
}

/* Begins to write after an outage, with a new window, if the store can be opened. */
static int open_again(struct archive *a, const struct store_recording *info)
{
	bool has_moved = store_writer_has_moved(a->writer);
	struct store_writer *writer;
	int reserved = -1, err = 0;

	if (has_moved)
		err = store_writer_reserve(a->options.path, &reserved);
	if (!err)
		err = store_writer_new(a->options.path, info, &writer, NULL);
	if (err) {
		if (reserved >= 0)
			close(reserved);
		return err;
	}
	store_writer_free(a->writer);
	a->writer = writer;
	if (has_moved) {
		close(a->reserved_fd);
		a->reserved_fd = reserved;
		if (a->options.made)
			a->options.made(a->options.arg);
	}
	return 0;
}

void archive_window_retry(struct archive *a, const struct store_recording *after)
{
	int err = open_again(a, after);
	bool drops = false;

	pthread_mutex_lock(&a->lock);
	if (err) {
		drops = outage_goes_on(&a->outage, err, clock_ns(CLOCK_MONOTONIC));
	} else {
		outage_end(&a->outage);
		a->unwritten_before = a->outage.unwritten - a->unwritten_told;
		a->unwritten_told = a->outage.unwritten;
	}
	pthread_mutex_unlock(&a->lock);
	if (drops && store_writer_drop_oldest(a->writer) > 0) {
		pthread_mutex_lock(&a->lock);
		a->outage.dropped++;
		pthread_mutex_unlock(&a->lock);
	}
	a->totals = *after;
}

/* Commits the last of a window, and begins the next. */
static int turn_window(struct archive *a, const struct store_recording *after)
{
	int err;

	if (!a->totals.finished) {
		a->totals.finished = true;
		err = store_writer_commit(a->writer, &a->totals);
		if (err) {
			a->totals.finished = false;
			return err;
		}
	}
	return store_writer_next_window(a->writer, after);
}

/* Whether the end of a window is to be tried again. Another program that holds the store is waited
 * for; so is room on the disk. */
static bool may_turn(const struct archive *a, int turned)
{
	if (turned != -EBUSY && turned && a->options.window_ns)
		usleep(TURN_PAUSE_US);
	return turned == -EBUSY || (turned && a->options.window_ns);
}

int archive_window_next(struct archive *a, const struct store_recording *after)
{
	int err = naming_schedule_finish(a->schedule), turned = -EBUSY;

	for (int i = 0; !err && i < TURN_ATTEMPTS && may_turn(a, turned); i++)
		turned = turn_window(a, after);
	if (!err && turned && a->options.window_ns) {
		give_up(a, turned);
		return archive_begin_rows(a);
	}
	if (err || turned)
		return err ? err : turned;
	a->unwritten_before = 0;
	a->totals = *after;
	pthread_mutex_lock(&a->lock);
	a->outage.waiting = 0;
	pthread_mutex_unlock(&a->lock);
	err = archive_begin_rows(a);
	return err ? err : archive_window_retain(a);
}
