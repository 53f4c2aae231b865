/* SPDX-License-Identifier: MIT */
/*
 * Writes queued batches to the store in the archive's thread; see archive.h.
 *
 *   submit ──► queue ──► write rows ──► commit
 *                          │   ▲
 *                          ▼   │ with a later commit
 *                        namer.h
 *
 * Names of the kernel and of JIT code are committed with the batch, if they are found at once.
 * Until names of other files are found, a reader finds them itself (sym/reader_names.h), and so it
 * does for those for which there was no time when the recording ended: a counter tells how many.
 *
 * If another process has the store's lock (-EBUSY), rows stay in the writer and are committed with
 * the next batch. After any other failure the archive wakes the main loop, which ends the
 * recording. But a recording that is cut into windows (parts that are recordings by themselves,
 * --window) goes on, as outage.h says. When a window ends, its recording is closed, the next one
 * begins, and old recordings are deleted. After an outage, writing begins with a new window, in the
 * store that is at the path then.
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
#include "daemon/archive/namer.h"
#include "daemon/archive/outage.h"
#include "daemon/base/log.h"
#include "daemon/worker/names.h"
#include "daemon/worker/worker_counts.h"
#include "store/store_writer.h"

#define MAX_MISSING   64     /* missing debug files that the log names */
#define TURN_ATTEMPTS 30     /* attempts to end a window; 5 minutes if the store is busy */
#define TURN_PAUSE_US 300000 /* pause between attempts on a full disk */
#define MOST_BEHIND   9	     /* batches that wait for the names of a window that ends */
#define END_NS	      UINT64_C(10000000000) /* for the last names of windows, once the run ends */
#define SILENT_NS     UINT64_C(1500000000)  /* the same, if none is found for so long */

struct archive {
	struct archive_options options;
	struct store_writer *writer;
	struct workers_counts before; /* counts of the workers before this window */
	struct namer *namer;	      /* NULL: it was left behind, so there are no names any more */
	pthread_t thread;
	bool has_thread;
	int failed_fd;	 /* eventfd */
	int reserved_fd; /* descriptor of the store's file, which reserves it for this run; -1:
			  * none */

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t change;
	struct batch *first, **last;
	size_t n_waiting; /* batches in the queue */
	uint64_t queued;  /* samples in the queue */
	bool is_ending, is_cancelled;
	uint64_t end_ns; /* in a run of windows that ends, names come until then */
	const struct kallsyms *ksyms;
	double names_share; /* archive_set_share() */
	bool keeps_saved;
	struct outage outage;

	/* The members below are the thread's own. */
	uint64_t unwritten_before; /* samples that were given up before this window */
	uint64_t unwritten_told;   /* the samples given up so far that a window's unwritten_before
				    * contains */
	uint32_t n_objects, n_sizes, n_origins; /* rows written in this window */
	uint32_t n_missing;			/* number of objects whose debug file was missing */
	struct store_recording totals; /* totals of the last batch (store_writer_commit()) */
	int error;		       /* the first one; archive_finish() reads it after the join */
	char *error_text;
};

/* --- the thread: writing --------------------------------------------------------------------- */

static const char *problem_of(const struct object *object)
{
	if (object->error == -EREMOTE)
		return "its file system does not answer, or may not be read";
	if (object->error == -ENOLINK)
		return "it is on a file system that is in no list of mounts";
	if (object->error == -EFBIG)
		return "a copy of it would be too large, or copies take too much memory";
	if (object->error == -EINPROGRESS || object->error == -EAGAIN)
		return "its file system has not answered yet";
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
			.layout = object->kind == OBJECT_ELF ? object->layout : 0,
			.problem = problem_of(object),
		};

		err = store_writer_object(a->writer, &row);
	}
	return err;
}

static int write_batch(struct archive *a, const struct batch *b)
{
	int err = write_objects(a, b);

	for (size_t i = 0; i < b->n_locations && !err; i++)
		err = store_writer_location(a->writer, &b->locations[i]);
	for (size_t i = 0; i < b->n_lines && !err; i++)
		err = store_writer_line(a->writer, &b->lines[i]);
	for (size_t i = 0; i < b->n_processes && !err; i++)
		err = store_writer_process(a->writer, &b->processes[i]);
	for (size_t i = 0; i < b->n_threads && !err; i++)
		err = store_writer_thread(a->writer, &b->threads[i]);
	for (size_t i = 0; i < b->n_cgroups && !err; i++)
		err = store_writer_cgroup(a->writer, b->cgroups[i].thread, b->cgroups[i].path);
	for (size_t i = 0; i < b->n_labels && !err; i++)
		err = store_writer_labels(a->writer, b->labels[i].thread, b->labels[i].text);
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
		a->error = err; /* a full eventfd is readable, too */
}

/* Tells the outage's state the result `err` of a commit, in a recording that is cut into windows.
 * If the rows must be given up, an outage begins, and writing goes on in another window after it.
 */
static void note_commit(struct archive *a, int err)
{
	const bool is_lost = store_writer_has_moved(a->writer);

	pthread_mutex_lock(&a->lock);
	if (outage_committed(&a->outage, err, is_lost, clock_ns(CLOCK_MONOTONIC)))
		outage_begin(&a->outage, err ? err : -ENOENT, clock_ns(CLOCK_MONOTONIC));
	pthread_mutex_unlock(&a->lock);
}

/* Commits the rows that were written. If that fails, they stay in memory for the next commit, or
 * are given up, or the recording ends. */
static void commit(struct archive *a)
{
	int err = store_writer_commit(a->writer, &a->totals);

	if (a->options.window_ns)
		note_commit(a, err);
	else if (err && (err != -EBUSY || a->totals.finished))
		fail(a, err);
}

/* --- the thread: names ----------------------------------------------------------------------- */

static int write_line(void *arg, const struct store_line *line)
{
	struct archive *a = arg;

	return store_writer_line(a->writer, line);
}

/* Stores that the debug file `name` of an object is missing, as a counter, so that readers add it
 * up over recordings. */
static int write_missing(void *arg, const struct object *object, const char *name)
{
	struct archive *a = arg;
	char *counter;
	int err;

	if (a->n_missing++ >= MAX_MISSING)
		return 0;
	if (asprintf(&counter, "missing.%s needs %s", object->path, name) < 0)
		return -ENOMEM;
	err = store_writer_counter(a->writer, counter, 1);
	free(counter);
	return err;
}

static struct namer_taker taker(struct archive *a)
{
	return (struct namer_taker){.line = write_line, .missing = write_missing, .arg = a};
}

/* Gives the namer its share of CPU time. The end of a run is bounded by time alone (is_late()). */
static void share_out(struct archive *a)
{
	double share;
	bool keeps_saved;

	pthread_mutex_lock(&a->lock);
	share = a->options.window_ns && !a->is_ending ? a->names_share : 0;
	keeps_saved = a->keeps_saved;
	a->keeps_saved = true;
	pthread_mutex_unlock(&a->lock);
	namer_set_share(a->namer, share, keeps_saved);
}

/* Hands the batch's locations over to be named, and writes the names that were found. */
static int take_names(struct archive *a, const struct batch *b)
{
	const struct namer_taker to = taker(a);
	const struct kallsyms *ksyms;
	int err;

	if (!a->namer)
		return 0;
	pthread_mutex_lock(&a->lock);
	ksyms = a->ksyms;
	pthread_mutex_unlock(&a->lock);
	share_out(a);
	err = namer_add(a->namer, b, ksyms);
	return err ? err : namer_take(a->namer, &to);
}

/* Returns whether there is no more time for the names of a recording that ends, since its run ends,
 * too, or samples of the next window wait to be committed. A run without windows waits for all its
 * names. */
static bool is_late(void *arg)
{
	struct archive *a = arg;
	bool is_ending;
	uint64_t end_ns, heard_ns, now;
	size_t waiting;

	pthread_mutex_lock(&a->lock);
	is_ending = a->is_ending;
	end_ns = a->end_ns;
	waiting = a->n_waiting;
	pthread_mutex_unlock(&a->lock);
	if (!a->options.window_ns)
		return false;
	if (!is_ending)
		return waiting >= MOST_BEHIND;
	now = clock_ns(CLOCK_MONOTONIC);
	heard_ns = namer_heard_ns(a->namer);
	if (heard_ns < end_ns - END_NS)
		heard_ns = end_ns - END_NS;
	return now > end_ns || now > heard_ns + SILENT_NS;
}

/* Gives names up, since the thread that finds them does not answer. It still works for the window
 * that ends, so it must not get the rows of the next one. */
static void lose_namer(struct archive *a)
{
	log_error("a file system does not answer: names are no longer looked up");
	namer_free(a->namer);
	a->namer = NULL;
}

/* Writes the last names of a recording, as far as there is time for them, and how many locations
 * there was no time for. 0 or -errno. */
static int finish_names(struct archive *a)
{
	const struct namer_taker to = taker(a);
	uint64_t left = 0;
	int err = 0;

	if (a->namer) {
		share_out(a);
		err = namer_finish(a->namer, is_late, a, &to, &left);
	}
	if (err == -ETIMEDOUT) {
		lose_namer(a);
		err = 0;
	}
	if (!err && (left || !a->namer))
		err = store_writer_counter(a->writer, STORE_COUNTER_UNNAMED, left ? left : 1);
	return err;
}

/* Prepares for the next window, whose rows are numbered from 0 again. */
static void begin_rows(struct archive *a)
{
	a->n_objects = a->n_sizes = a->n_origins = a->n_missing = 0;
	names_counts(a->options.names, &a->before);
}

static bool is_over(void *arg)
{
	(void)arg;
	return true;
}

static int drop_line(void *arg, const struct store_line *line)
{
	(void)arg;
	(void)line;
	return 0;
}

static int drop_missing(void *arg, const struct object *object, const char *name)
{
	(void)arg;
	(void)object;
	(void)name;
	return 0;
}

/* Forgets the rows of a window that was given up. Returns 0 or -ENOMEM. */
static int drop_rows(struct archive *a)
{
	const struct namer_taker nobody = {.line = drop_line, .missing = drop_missing};
	uint64_t left;
	int err = a->namer ? namer_finish(a->namer, is_over, NULL, &nobody, &left) : 0;

	begin_rows(a);
	if (err == -ETIMEDOUT)
		lose_namer(a);
	return err == -ETIMEDOUT ? 0 : err;
}

/* --- the thread: windows --------------------------------------------------------------------- */

/* Deletes old recordings, as the options say. If the store is busy, they are deleted with the next
 * window. 0 or -errno. */
static int retain(struct archive *a)
{
	int deleted = 0;

	if (a->options.keep_age_s || a->options.keep_bytes)
		deleted = store_writer_retain(a->writer, a->options.keep_age_s,
					      a->options.keep_bytes);
	/* In a recording in windows, the next commit reports the error. */
	return deleted < 0 && deleted != -EBUSY && !a->options.window_ns ? deleted : 0;
}

/* Begins an outage because of the error `err`: batches are dropped until retry() succeeds. */
static void give_up(struct archive *a, int err)
{
	pthread_mutex_lock(&a->lock);
	outage_begin(&a->outage, err, clock_ns(CLOCK_MONOTONIC));
	pthread_mutex_unlock(&a->lock);
}

/* Tries to open the store after an outage, and begins a new window in it. */
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

/* Tries to end an outage, whoever has begun it. `after`: the recording of the window that begins.
 * 0 or -ENOMEM. */
static int retry(struct archive *a, const struct store_recording *after)
{
	const int err = open_again(a, after);
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
	return err ? 0 : drop_rows(a);
}

/* Marks the window's recording as finished, unless that was committed already, and begins the next
 * one, `after`. 0; -EBUSY: another process has the store's lock; or another -errno. May be called
 * again after an error. */
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

/* Returns whether turn_window(), whose last result is `turned`, must be called again: after -EBUSY;
 * in a recording that is cut into windows also after any other error (a full disk), for which this
 * function first waits TURN_PAUSE_US. */
static bool may_turn(const struct archive *a, int turned)
{
	if (turned != -EBUSY && turned && a->options.window_ns)
		usleep(TURN_PAUSE_US);
	return turned == -EBUSY || (turned && a->options.window_ns);
}

/* Finds the names that are still missing, as far as there is time, closes the window's recording,
 * begins the next one, `after`, and deletes old recordings. Batches wait in the queue meanwhile.
 * Tries TURN_ATTEMPTS times; if that fails, begins an outage. 0 or -errno. */
static int next_window(struct archive *a, const struct store_recording *after)
{
	int err, turned = -EBUSY;

	err = finish_names(a);
	for (int i = 0; !err && i < TURN_ATTEMPTS && may_turn(a, turned); i++)
		turned = turn_window(a, after);
	if (!err && turned && a->options.window_ns) {
		give_up(a, turned);
		return 0;
	}
	if (err || turned)
		return err ? err : turned;
	a->unwritten_before = 0;
	a->totals = *after;
	pthread_mutex_lock(&a->lock);
	a->outage.waiting = 0;
	pthread_mutex_unlock(&a->lock);
	begin_rows(a);
	return retain(a);
}

/* --- the thread: its loop -------------------------------------------------------------------- */

/* Waits for the next batch; NULL: the thread must end. */
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
		a->queued -= b->n_samples;
		if (!a->first)
			a->last = &a->first;
	}
	pthread_mutex_unlock(&a->lock);
	return b;
}

/* Commits a batch whose rows are written; or ends the window if this was its last batch. 0 or
 * -errno. */
static int end_batch(struct archive *a, const struct batch *b)
{
	if (b->ends_window)
		return next_window(a, &b->after);
	commit(a);
	return 0;
}

/* Sets the totals of the recording from a batch. Samples that were given up (outage.h) before this
 * window count as lost in it. */
static int write_totals(struct archive *a, const struct batch *b)
{
	a->totals = b->totals;
	a->totals.lost += a->unwritten_before;
	pthread_mutex_lock(&a->lock);
	a->outage.waiting += b->n_samples;
	pthread_mutex_unlock(&a->lock);
	return a->unwritten_before
		       ? store_writer_counter(a->writer, "unwritten", a->unwritten_before)
		       : 0;
}

static int keep_batch(struct archive *a, const struct batch *b)
{
	int err = write_batch(a, b);

	if (!err)
		err = write_totals(a, b);
	if (!err)
		err = take_names(a, b);
	return err ? err : end_batch(a, b);
}

/* Drops a batch during an outage. If it ends a window, tries to write again. 0 or -ENOMEM. */
static int drop_batch(struct archive *a, const struct batch *b)
{
	pthread_mutex_lock(&a->lock);
	a->outage.unwritten += b->n_samples;
	pthread_mutex_unlock(&a->lock);
	return b->ends_window ? retry(a, &b->after) : 0;
}

static bool is_out(struct archive *a)
{
	bool is_it;

	pthread_mutex_lock(&a->lock);
	is_it = a->outage.is_out;
	pthread_mutex_unlock(&a->lock);
	return is_it;
}

static void *run(void *arg)
{
	struct archive *a = arg;
	struct batch *b;
	int err;

	/* No other thread waits for this one, so it gives up the raised priority that it has
	 * inherited from the main loop (session_open.c). */
	if (getpriority(PRIO_PROCESS, 0) < 0)
		setpriority(PRIO_PROCESS, 0, 0);
	while ((b = take(a))) {
		err = 0;
		if (is_out(a))
			err = drop_batch(a, b);
		else if (!a->error)
			err = keep_batch(a, b);
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

/* Reserves the store for this recording in windows. 0; -EBUSY with a sentence: another one writes
 * to it. */
static int reserve(struct archive *a, char **ret_error)
{
	int err = store_writer_reserve(a->options.path, &a->reserved_fd);

	if (err == -EBUSY && asprintf(ret_error,
				      "%s: another stackd records into it in windows; end that, or "
				      "choose another file with -o",
				      a->options.path) < 0)
		*ret_error = NULL;
	/* Any other fault of the file is reported when it is opened as a store. */
	return err == -EBUSY ? err : 0;
}

int archive_new(const struct archive_options *options, struct archive **ret_archive,
		char **ret_error)
{
	struct archive *a = calloc(1, sizeof(*a));
	int err;

	if (!a)
		return -ENOMEM;
	a->options = *options;
	a->outage.window_ns = options->window_ns;
	a->last = &a->first;
	a->keeps_saved = true;
	a->reserved_fd = -1;
	a->failed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->change, NULL);
	err = a->failed_fd < 0 ? -errno : namer_new(options->names, &a->namer);
	if (!err && options->window_ns)
		err = reserve(a, ret_error);
	if (!err)
		err = store_writer_open(options->path, &a->writer, ret_error);
	if (err) {
		archive_free(a);
		return err;
	}
	*ret_archive = a;
	return 0;
}

int archive_begin(struct archive *a, const struct store_recording *info, char **ret_error)
{
	int err = store_writer_begin(a->writer, info, a->options.path, ret_error);

	if (!err)
		err = retain(a);
	return err ? err : start_thread(a);
}

/* Begins an outage if so many samples wait for the disk that they would take too much memory, and
 * returns whether that is so. Called with the lock held. */
static bool overflows(struct archive *a)
{
	if (!a->options.window_ns || a->queued < OUTAGE_MOST_SAMPLES)
		return false;
	if (!a->outage.is_out)
		outage_begin(&a->outage, -ETIMEDOUT, clock_ns(CLOCK_MONOTONIC));
	return true;
}

void archive_submit(struct archive *a, struct batch *batch)
{
	pthread_mutex_lock(&a->lock);
	if (overflows(a)) {
		a->outage.unwritten += batch->n_samples;
		batch_empty(batch);
	}
	a->queued += batch->n_samples;
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

void archive_set_share(struct archive *a, double cpu_share, bool keeps_saved)
{
	pthread_mutex_lock(&a->lock);
	a->names_share = cpu_share;
	a->keeps_saved &= keeps_saved;
	pthread_mutex_unlock(&a->lock);
}

void archive_look(struct archive *a, struct archive_state *ret_state)
{
	pthread_mutex_lock(&a->lock);
	*ret_state = (struct archive_state){
		.err = a->outage.err,
		.wants_window = outage_wants_window(&a->outage, clock_ns(CLOCK_MONOTONIC)),
		.unwritten = a->outage.unwritten,
		.dropped = a->outage.dropped,
		.waiting = a->n_waiting,
	};
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
	a->end_ns = clock_ns(CLOCK_MONOTONIC) + END_NS;
	a->is_cancelled = cancel;
	pthread_cond_signal(&a->change);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	a->has_thread = false;
}

static int write_counter(void *arg, const char *name, uint64_t value)
{
	struct archive *a = arg;

	return store_writer_counter(a->writer, name, value);
}

/* Writes the workers' counters once more, since workers have found names after the last batch was
 * made. 0 or -errno. */
static int count_workers(struct archive *a)
{
	struct workers_counts now;

	names_counts(a->options.names, &now);
	return workers_counts_each(&now, &a->before, write_counter, a);
}

int archive_finish(struct archive *a, bool hurries, char **ret_error)
{
	int err;

	if (a->options.window_ns || hurries)
		names_hurry(a->options.names);
	end_thread(a, false);
	if (!a->error && a->outage.is_out)
		a->error = a->outage.err;
	if (!a->error) {
		err = finish_names(a);
		a->totals.finished = true;
		if (!err)
			err = count_workers(a);
		if (!err)
			err = store_writer_commit(a->writer, &a->totals);
		if (err)
			fail(a, err);
	}
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
	if (a->reserved_fd >= 0)
		close(a->reserved_fd);
	namer_free(a->namer);
	pthread_cond_destroy(&a->change);
	pthread_mutex_destroy(&a->lock);
	if (a->failed_fd >= 0)
		close(a->failed_fd);
	free(a->error_text);
	free(a);
}
