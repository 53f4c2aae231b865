/* SPDX-License-Identifier: MIT */
/*
 * Runs the archive's thread and its queue; see archive.h.
 *
 *   submit ──► queue ──► write rows ──► commit ──► name what is due (sym/naming_schedule.h)
 *                             ▲                                │
 *                             └───── with the next commit ─────┘
 *
 * Names of the kernel and of JIT code are found with the batch and committed with it. Until others
 * are found, a reader finds them itself (sym/late_names.h).
 *
 * A store that is busy is tried again with the next batch, since the writer keeps what it has. Any
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
#include "daemon/worker/ask_names.h"
#include "store/store_writer.h"
#include "sym/naming_schedule.h"

#define NAMES_BYTES   (12u << 20) /* of symbols that are held, about */
#define TURN_ATTEMPTS 30	  /* to begin a window in a busy store: 5 minutes in all */

struct archive {
	struct archive_options options;
	struct store_writer *writer;
	struct ask_names *asker; /* NULL: names are found here */
	struct naming *names;
	pthread_t thread;
	bool has_thread;
	int failed_fd; /* eventfd */

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t change;
	struct batch *first, **last;
	size_t n_waiting; /* batches in the queue */
	bool is_ending, is_cancelled;
	const struct kallsyms *ksyms;

	/* The thread's own. */
	struct naming_schedule *schedule;
	uint32_t n_objects, n_sizes, n_origins; /* rows written */
	struct store_recording totals;		/* of the last batch */
	int error; /* the first one; archive_finish() reads it after the join */
	char *error_text;
};

/* --- the thread: writing --------------------------------------------------------------------- */

static const char *problem_of(const struct object *object)
{
	return object->error ? strerror(-object->error) : NULL;
}

static int write_objects(struct archive *a, const struct batch *b)
{
	int err = 0;

	for (size_t i = 0; i < b->n_objects && !err; i++) {
		const struct object *object = b->objects[i];
		struct store_object row = {
			.number = a->n_objects++,
			.kind = object->kind,
			.file_id = object->file_id,
			.path = object->path,
			.build_id = object->build_id,
			.build_id_len = object->build_id_len,
			.problem = problem_of(object),
		};

		err = naming_schedule_add_object(a->schedule, object);
		if (!err)
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
	for (size_t i = 0; i < b->n_cgroups && !err; i++)
		err = store_writer_cgroup(a->writer, b->cgroups[i].thread, b->cgroups[i].path);
	for (size_t i = 0; i < b->n_nodes && !err; i++)
		err = store_writer_node(a->writer, &b->nodes[i]);
	for (size_t i = 0; b->sizes && i < b->n_nodes && !err; i++)
		err = store_writer_size(a->writer, ++a->n_sizes, b->sizes[i]);
	for (size_t i = 0; i < b->n_origins && !err; i++)
		err = store_writer_origin(a->writer, ++a->n_origins, &b->origins[i]);
	for (size_t i = 0; i < b->n_samples && !err; i++)
		err = store_writer_sample(a->writer, &b->samples[i]);
	for (size_t i = 0; i < b->n_records && !err; i++)
		err = store_writer_record(a->writer, b->records[i].series, &b->records[i].row);
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

static uint64_t now_ns(void *arg)
{
	(void)arg;
	return clock_ns(CLOCK_MONOTONIC);
}

static uint64_t cpu_ns(void *arg)
{
	const struct archive *a = arg;

	return clock_ns(CLOCK_THREAD_CPUTIME_ID) +
	       (a->options.worker ? worker_cpu_ns(a->options.worker) : 0);
}

static int write_line(void *arg, const struct store_line *line)
{
	struct archive *a = arg;

	return store_writer_line(a->writer, line);
}

/* Names the batch's locations, or queues them. */
static int schedule_names(struct archive *a, const struct batch *b)
{
	int err = 0;

	for (size_t i = 0; i < b->n_locations && !err; i++)
		err = naming_schedule_add_location(a->schedule, &b->locations[i]);
	return err;
}

static int open_names(struct archive *a)
{
	struct naming_schedule_options options = {
		.now_ns = now_ns, .cpu_ns = cpu_ns, .each = write_line, .arg = a};
	int err = 0;

	if (a->options.worker && !a->asker)
		err = ask_names_new(a->options.worker, &a->asker);
	if (!err)
		err = a->asker ? ask_names_naming(a->asker, &a->names)
			       : naming_new("/proc", &a->names);
	if (err)
		return err;
	naming_limit(a->names, NAMES_BYTES);
	options.naming = a->names;
	return naming_schedule_new(&options, &a->schedule);
}

static void close_names(struct archive *a)
{
	naming_schedule_free(a->schedule);
	naming_free(a->names);
	a->schedule = NULL;
	a->names = NULL;
}

/* --- the thread: windows --------------------------------------------------------------------- */

/* Deletes what is older, or more, than is to be kept. A store that is busy has it done with the
 * next window. */
static int retain(struct archive *a)
{
	int deleted = 0;

	if (a->options.keep_age_s || a->options.keep_bytes)
		deleted = store_writer_retain(a->writer, a->options.keep_age_s,
					      a->options.keep_bytes);
	return deleted < 0 && deleted != -EBUSY ? deleted : 0;
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

/* Closes the recording and begins the next. Another writer that holds the store for long is waited
 * for; batches queue up meanwhile. */
static int next_window(struct archive *a, const struct store_recording *after)
{
	int err = naming_schedule_finish(a->schedule), turned = -EBUSY;

	for (int i = 0; !err && turned == -EBUSY && i < TURN_ATTEMPTS; i++)
		turned = turn_window(a, after);
	if (err || turned)
		return err ? err : turned;
	a->n_objects = a->n_sizes = a->n_origins = 0;
	a->totals = *after;
	close_names(a);
	err = open_names(a);
	return err ? err : retain(a);
}

/* --- the thread: its loop -------------------------------------------------------------------- */

/* Waits for the next batch; NULL: it is time to end. */
static struct batch *take(struct archive *a)
{
	struct batch *b;

	pthread_mutex_lock(&a->lock);
	while (!a->first && !a->is_ending)
		pthread_cond_wait(&a->change, &a->lock);
	b = a->is_cancelled ? NULL : a->first;
	if (b) {
		a->first = b->next;
		a->n_waiting--;
		if (!a->first)
			a->last = &a->first;
	}
	naming_set_kallsyms(a->names, a->ksyms);
	pthread_mutex_unlock(&a->lock);
	return b;
}

/* Commits a batch, whose rows are written, and closes the window if that is due. */
static int end_batch(struct archive *a, const struct batch *b)
{
	if (b->ends_window)
		return next_window(a, &b->after);
	commit(a);
	return a->error ? 0 : naming_schedule_run(a->schedule);
}

static void *run(void *arg)
{
	struct archive *a = arg;
	struct batch *b;
	int err;

	/* Nothing waits for this thread, so it does not keep the loop's priority (session.c). */
	if (getpriority(PRIO_PROCESS, 0) < 0)
		setpriority(PRIO_PROCESS, 0, 0);
	while ((b = take(a))) {
		err = a->error ? 0 : write_batch(a, b);
		if (err)
			fail(a, err);
		a->totals = b->totals;
		err = a->error ? 0 : schedule_names(a, b);
		if (err)
			fail(a, err);
		err = a->error ? 0 : end_batch(a, b);
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
	a->options = *options;
	a->last = &a->first;
	a->failed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->change, NULL);
	err = a->failed_fd < 0 ? -errno : open_names(a);
	if (!err)
		err = store_writer_new(options->path, info, &a->writer, ret_error);
	if (!err)
		err = retain(a);
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
	a->n_waiting++;
	pthread_cond_signal(&a->change);
	pthread_mutex_unlock(&a->lock);
}

size_t archive_waiting(struct archive *a)
{
	size_t n;

	pthread_mutex_lock(&a->lock);
	n = a->n_waiting;
	pthread_mutex_unlock(&a->lock);
	return n;
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
		err = naming_schedule_finish(a->schedule);
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
	close_names(a);
	ask_names_free(a->asker);
	pthread_cond_destroy(&a->change);
	pthread_mutex_destroy(&a->lock);
	if (a->failed_fd >= 0)
		close(a->failed_fd);
	free(a->error_text);
	free(a);
}
