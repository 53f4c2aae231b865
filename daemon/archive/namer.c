/* SPDX-License-Identifier: MIT */
/*
 * Keeps two queues under one lock: what is to be named, and what was found; see namer.h. Between
 * batches the thread stops early where a batch waits to be taken, as the schedule demands. If the
 * archive has no more time at the end of a recording, the call of a worker that is under way is
 * ended.
 */
#include "daemon/archive/namer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/thread.h"
#include "base/vec.h"
#include "daemon/base/cpu_share.h"
#include "daemon/worker/name_wire.h"
#include "sym/naming_schedule.h"

#define NAMES_BYTES (12u << 20) /* about the most memory for symbols of files */
#define QUICK_NS    UINT64_C(200000000)
#define LOOK_NS	    UINT64_C(10000000)
#define STUCK_NS    UINT64_C(2000000000) /* for a thread that was told to stop */
#define SAVED_NS    UINT64_C(500000000)	 /* most CPU time that can be saved */
#define DEBT_NS	    UINT64_C(5000000000) /* most that is paid off for one call of a worker */

struct input {
	VEC(const struct object *) objects;
	VEC(struct store_location) locations;
	VEC(const struct object *) located; /* as in struct batch */
	const struct kallsyms *ksyms;
};

struct missing {
	const struct object *object;
	char *name;
};

struct found {
	struct buf lines; /* for each line its location, depth and length, and the line as
			   * name_wire.h has it */
	VEC(struct missing) missing;
};

struct namer {
	struct names *names;
	pthread_t thread;
	bool has_thread;

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t change;
	struct input input;
	struct found found;
	uint64_t n_added, n_quick; /* batches that were added; those whose quick names are found */
	bool finishes, is_finished, is_ending;
	bool (*is_late)(void *arg); /* of namer_finish() */
	void *late_arg;
	uint64_t left; /* locations that the last end did not look up */
	int err;       /* the first error of the thread */
	struct cpu_share share;
	uint64_t paid_ns; /* CPU time that was taken from the share */

	uint64_t heard_ns; /* see namer_heard_ns(); accessed atomically */

	/* The thread's own. */
	struct naming *naming;
	struct naming_schedule *schedule;
};

/* --- the thread ------------------------------------------------------------------------------ */

static uint64_t now_ns(void *arg)
{
	(void)arg;
	return clock_ns(CLOCK_MONOTONIC);
}

static uint64_t cpu_ns(void *arg)
{
	const struct namer *n = arg;

	return clock_ns(CLOCK_THREAD_CPUTIME_ID) + names_cpu_ns(n->names);
}

/* Takes what was spent from the share. Returns whether no more may be spent now. */
static bool is_overdrawn(struct namer *n)
{
	const uint64_t spent_ns = cpu_ns(n), at_ns = clock_ns(CLOCK_MONOTONIC);
	uint64_t owed_ns;
	bool is;

	pthread_mutex_lock(&n->lock);
	owed_ns = spent_ns > n->paid_ns ? spent_ns - n->paid_ns : 0;
	n->paid_ns += owed_ns;
	if (n->share.share > 0)
		cpu_share_spend(&n->share, owed_ns < DEBT_NS ? owed_ns : DEBT_NS, at_ns);
	is = cpu_share_wait_ns(&n->share, at_ns) > 0;
	pthread_mutex_unlock(&n->lock);
	return is;
}

static void note_progress(struct namer *n)
{
	__atomic_store_n(&n->heard_ns, clock_ns(CLOCK_MONOTONIC), __ATOMIC_RELAXED);
}

uint64_t namer_heard_ns(const struct namer *n)
{
	return __atomic_load_n(&n->heard_ns, __ATOMIC_RELAXED);
}

static int keep_line(void *arg, const struct store_line *line)
{
	struct namer *n = arg;
	struct buf one = {0};
	uint32_t len;
	bool has_failed;

	note_progress(n);
	name_wire_put(line, &one);
	len = (uint32_t)one.len;
	pthread_mutex_lock(&n->lock);
	BUF_PUT(&n->found.lines, line->location);
	BUF_PUT(&n->found.lines, line->depth);
	BUF_PUT(&n->found.lines, len);
	buf_put(&n->found.lines, one.data, one.len);
	has_failed = n->found.lines.failed || one.failed;
	pthread_mutex_unlock(&n->lock);
	buf_free(&one);
	return has_failed ? -ENOMEM : 0;
}

static int keep_missing(void *arg, const struct object *object, const char *name)
{
	struct namer *n = arg;
	char *copy = strdup(name);
	int err = -ENOMEM;

	pthread_mutex_lock(&n->lock);
	if (copy && !VEC_RESERVE(&n->found.missing, 1)) {
		n->found.missing.items[n->found.missing.count++] = (struct missing){object, copy};
		err = 0;
	}
	pthread_mutex_unlock(&n->lock);
	if (err)
		free(copy);
	return err;
}

/* Returns whether naming must stop, since a batch waits, or there is no more time, or no CPU time
 * is left. */
static bool must_stop(void *arg)
{
	struct namer *n = arg;
	bool (*is_late)(void *arg);
	bool stops;

	note_progress(n);
	pthread_mutex_lock(&n->lock);
	is_late = n->is_late;
	stops = n->is_ending || (!n->finishes && n->n_added != n->n_quick);
	pthread_mutex_unlock(&n->lock);
	return stops || is_overdrawn(n) || (is_late && is_late(n->late_arg));
}

static int open_schedule(struct namer *n)
{
	struct naming_schedule_options options = {.now_ns = now_ns,
						  .cpu_ns = cpu_ns,
						  .each = keep_line,
						  .missing = keep_missing,
						  .is_late = must_stop,
						  .arg = n};
	int err = names_open(n->names, &n->naming);

	if (err)
		return err;
	naming_limit(n->naming, NAMES_BYTES);
	options.naming = n->naming;
	return naming_schedule_new(&options, &n->schedule);
}

static void close_schedule(struct namer *n)
{
	naming_schedule_free(n->schedule);
	naming_free(n->naming);
	n->schedule = NULL;
	n->naming = NULL;
}

static void free_input(struct input *input)
{
	for (size_t i = 0; i < input->located.count; i++)
		object_end_await(input->located.items[i], 1);
	free(input->objects.items);
	free(input->locations.items);
	free(input->located.items);
	*input = (struct input){0};
}

/* Takes what is to be named: names what is quick, and queues the rest. */
static int take_input(struct namer *n, const struct input *input)
{
	int err = 0;

	naming_set_kallsyms(n->naming, input->ksyms);
	for (size_t i = 0; i < input->objects.count && !err; i++)
		err = naming_schedule_add_object(n->schedule, input->objects.items[i]);
	for (size_t i = 0; i < input->locations.count && !err; i++)
		err = naming_schedule_add_location(n->schedule, &input->locations.items[i]);
	return err;
}

/* Names what is left, and begins anew. */
static int finish(struct namer *n)
{
	int err = n->schedule ? naming_schedule_finish(n->schedule) : -ENOMEM;
	const size_t left = n->schedule ? naming_schedule_left(n->schedule) : 0;

	close_schedule(n);
	if (!err)
		err = open_schedule(n);
	pthread_mutex_lock(&n->lock);
	n->left = left;
	n->finishes = false;
	n->is_finished = true;
	pthread_cond_broadcast(&n->change);
	pthread_mutex_unlock(&n->lock);
	return err;
}

/* Waits for work, and takes the input. Returns false at the end. */
static bool await_work(struct namer *n, struct input *ret_input, uint64_t *ret_added)
{
	bool goes_on;

	pthread_mutex_lock(&n->lock);
	while (n->n_added == n->n_quick && !n->finishes && !n->is_ending)
		pthread_cond_wait(&n->change, &n->lock);
	*ret_input = n->input;
	*ret_added = n->n_added;
	n->input = (struct input){0};
	goes_on = !n->is_ending;
	pthread_mutex_unlock(&n->lock);
	return goes_on;
}

/* Notes that the input was taken. Returns whether the recording ends with it: more may have come
 * meanwhile. */
static bool note_taken(struct namer *n, uint64_t added, int err)
{
	bool finishes;

	pthread_mutex_lock(&n->lock);
	n->n_quick = added;
	n->err = n->err ? n->err : err;
	finishes = n->finishes && n->n_added == added;
	pthread_cond_broadcast(&n->change);
	pthread_mutex_unlock(&n->lock);
	return finishes;
}

static void *run(void *arg)
{
	struct namer *n = arg;
	struct input input;
	uint64_t added;
	int err = 0;

	while (await_work(n, &input, &added)) {
		if (!err)
			err = take_input(n, &input);
		free_input(&input);
		if (note_taken(n, added, err))
			err = finish(n);
		else if (!err && !is_overdrawn(n))
			err = naming_schedule_run(n->schedule);
	}
	free_input(&input);
	return NULL;
}

/* --- from the archive's thread --------------------------------------------------------------- */

int namer_new(struct names *names, struct namer **ret_namer)
{
	struct namer *n = calloc(1, sizeof(*n));
	pthread_condattr_t attributes;
	int err;

	if (!n)
		return -ENOMEM;
	n->names = names;
	n->share = cpu_share_begin(0, SAVED_NS, clock_ns(CLOCK_MONOTONIC));
	pthread_mutex_init(&n->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&n->change, &attributes);
	pthread_condattr_destroy(&attributes);
	err = open_schedule(n);
	if (!err)
		err = thread_start(run, n, &n->thread);
	n->has_thread = !err;
	if (err) {
		namer_free(n);
		return err;
	}
	*ret_namer = n;
	return 0;
}

static void free_found(struct found *found)
{
	for (size_t i = 0; i < found->missing.count; i++)
		free(found->missing.items[i].name);
	free(found->missing.items);
	buf_free(&found->lines);
}

static struct timespec at(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / 1000000000),
				 .tv_nsec = (long)(ns % 1000000000)};
}

/* Ends the thread. false: it was left behind. */
static bool end_thread(struct namer *n)
{
	const struct timespec until = at(clock_ns(CLOCK_MONOTONIC) + STUCK_NS);

	pthread_mutex_lock(&n->lock);
	n->is_ending = true;
	pthread_cond_broadcast(&n->change);
	pthread_mutex_unlock(&n->lock);
	names_stop(n->names, true);
	return !pthread_clockjoin_np(n->thread, NULL, CLOCK_MONOTONIC, &until);
}

void namer_free(struct namer *n)
{
	if (!n)
		return;
	if (n->has_thread && !end_thread(n)) {
		names_lose(n->names);
		return;
	}
	close_schedule(n);
	free_input(&n->input);
	free_found(&n->found);
	pthread_cond_destroy(&n->change);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

void namer_set_share(struct namer *n, double cpu_share, bool keeps_saved)
{
	pthread_mutex_lock(&n->lock);
	cpu_share_change(&n->share, cpu_share, keeps_saved);
	pthread_mutex_unlock(&n->lock);
}

/* Appends a batch to the input. */
static int append(struct input *input, const struct batch *b)
{
	if (VEC_RESERVE(&input->objects, b->n_objects) ||
	    VEC_RESERVE(&input->locations, b->n_locations) ||
	    VEC_RESERVE(&input->located, b->n_locations))
		return -ENOMEM;
	for (size_t i = 0; i < b->n_objects; i++)
		input->objects.items[input->objects.count++] = b->objects[i];
	for (size_t i = 0; i < b->n_locations; i++) {
		input->locations.items[input->locations.count++] = b->locations[i];
		input->located.items[input->located.count++] = b->located[i];
		object_await_names(b->located[i], 1);
	}
	return 0;
}

/* Waits for a change, with the lock held, until a moment. */
static void await_change(struct namer *n, uint64_t until_ns)
{
	const struct timespec until = at(until_ns);

	pthread_cond_clockwait(&n->change, &n->lock, CLOCK_MONOTONIC, &until);
}

int namer_add(struct namer *n, const struct batch *b, const struct kallsyms *ksyms)
{
	const uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + QUICK_NS;
	int err;

	pthread_mutex_lock(&n->lock);
	err = append(&n->input, b);
	n->input.ksyms = ksyms;
	n->n_added++;
	pthread_cond_broadcast(&n->change);
	while (!err && b->n_locations && n->n_quick != n->n_added &&
	       clock_ns(CLOCK_MONOTONIC) < until_ns)
		await_change(n, until_ns);
	err = err ? err : n->err;
	pthread_mutex_unlock(&n->lock);
	return err;
}

struct taken_line {
	const struct namer_taker *taker;
	uint32_t depth;
};

/* Passes a line on, with its depth, which name_wire.h does not have of a single line. */
static int pass_line(void *arg, const struct store_line *line)
{
	const struct taken_line *taken = arg;
	struct store_line whole = *line;

	whole.depth = taken->depth;
	return taken->taker->line(taken->taker->arg, &whole);
}

static int take_lines(const struct buf *lines, const struct namer_taker *taker)
{
	struct buf_reader r = buf_reader(lines->data, lines->len);
	struct taken_line taken = {.taker = taker};
	uint32_t location, len;
	int err = 0;

	while (!err && buf_left(&r)) {
		struct buf_reader one;

		BUF_GET(&r, location);
		BUF_GET(&r, taken.depth);
		BUF_GET(&r, len);
		one = buf_reader(r.at, len);
		r.at += len;
		err = name_wire_get(&one, location, pass_line, &taken);
	}
	return err;
}

int namer_take(struct namer *n, const struct namer_taker *taker)
{
	struct found found;
	int err;

	pthread_mutex_lock(&n->lock);
	found = n->found;
	n->found = (struct found){0};
	err = n->err;
	pthread_mutex_unlock(&n->lock);
	if (!err && found.lines.failed)
		err = -ENOMEM;
	if (!err)
		err = take_lines(&found.lines, taker);
	for (size_t i = 0; i < found.missing.count && !err; i++)
		err = taker->missing(taker->arg, found.missing.items[i].object,
				     found.missing.items[i].name);
	free_found(&found);
	return err;
}

/* Waits for the end of naming. Once it is late, ends the call of a worker that is under way, and
 * sets *ret_stopped. false: the thread does not react. */
static bool await_finish(struct namer *n, bool (*is_late)(void *arg), void *arg, bool *ret_stopped)
{
	uint64_t late_ns = 0, now;
	bool is_finished;

	do {
		now = clock_ns(CLOCK_MONOTONIC);
		if (!late_ns && is_late(arg))
			late_ns = now;
		if (late_ns)
			names_stop(n->names, true);
		pthread_mutex_lock(&n->lock);
		if (!n->is_finished)
			await_change(n, now + LOOK_NS);
		is_finished = n->is_finished;
		pthread_mutex_unlock(&n->lock);
	} while (!is_finished && !(late_ns && now - late_ns > STUCK_NS));
	names_stop(n->names, false);
	*ret_stopped = late_ns != 0;
	return is_finished;
}

int namer_finish(struct namer *n, bool (*is_late)(void *arg), void *arg,
		 const struct namer_taker *taker, uint64_t *ret_left)
{
	bool is_stopped;
	int err;

	pthread_mutex_lock(&n->lock);
	n->is_late = is_late;
	n->late_arg = arg;
	n->finishes = true;
	n->is_finished = false;
	pthread_cond_broadcast(&n->change);
	pthread_mutex_unlock(&n->lock);
	if (!await_finish(n, is_late, arg, &is_stopped))
		return -ETIMEDOUT;
	err = namer_take(n, taker);
	pthread_mutex_lock(&n->lock);
	n->is_late = NULL;
	*ret_left = n->left || !is_stopped ? n->left : 1; /* the call that was ended had some */
	pthread_mutex_unlock(&n->lock);
	return err;
}
