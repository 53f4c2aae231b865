/* SPDX-License-Identifier: MIT */
/*
 * Has a reader for each user who keeps it waiting; see environments.h.
 *
 *   a process ─► its result, if it was read meanwhile
 *             ─► else its user's reader, if that is busy: not now; after STUCK_NS: not at all
 *             ─► else a reader that is idle, or a new one: it is waited for, if the user may
 *
 * A reader's result is kept until its process is asked for again. All that a reader shares with its
 * thread is under its lock.
 */
#include "daemon/recorder/environments.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "daemon/recorder/user_shares.h"
#include "proc/proc_fs.h"
#include "proc/process_environment.h"

#define WAIT_NS	     UINT64_C(20000000)	  /* for an answer, in one call */
#define STUCK_NS     UINT64_C(2000000000) /* a reader is not awaited any more after this time */
#define MOST_READERS 16
#define MOST_RESULTS 32
#define MOST_OF_USER 8 /* results */

/* Seconds that a user's processes may make the caller wait in a row, and which part of the time in
 * the long run. */
#define WAITS_BURST_S 0.2
#define WAITS_SHARE   0.02
#define USUAL_NS      UINT64_C(500000) /* a wait of so much is not counted */

struct reader {
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t change;
	char *proc_root;
	pid_t pid;	       /* that is read; 0: none */
	bool is_done, is_left; /* the result is there; the caller has let go of it */
	bool is_over;	       /* the thread has ended */
	bool is_old;	       /* the process has executed a program since */
	char *bytes;
	size_t size;
	int err;
	uint64_t user, asked_ns; /* whose process it is, and since when; the caller's alone */
};

/* What was read of a process that was not waited for. */
struct result {
	pid_t pid; /* 0: none */
	uint64_t user, age;
	char *bytes; /* owned */
	size_t size;
	int err;
};

struct environments {
	char *proc_root;
	struct reader *readers[MOST_READERS]; /* NULL: not needed so far */
	struct result results[MOST_RESULTS];
	uint64_t age; /* of the newest result */
	struct user_shares waits;
};

/* --- the thread ------------------------------------------------------------------------------- */

static void free_reader(struct reader *r)
{
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->change);
	free(r->proc_root);
	free(r->bytes);
	free(r);
}

/* Waits for a process to read. Returns its pid; 0: the caller has let go. Called with the lock. */
static pid_t await(struct reader *r)
{
	while (!r->is_left && (!r->pid || r->is_done))
		pthread_cond_wait(&r->change, &r->lock);
	return r->is_left ? 0 : r->pid;
}

static void *run(void *arg)
{
	struct reader *r = arg;
	char *bytes;
	size_t size;
	pid_t pid;
	int err;

	pthread_mutex_lock(&r->lock);
	while ((pid = await(r))) {
		pthread_mutex_unlock(&r->lock);
		bytes = NULL;
		size = 0;
		err = process_environment_read(r->proc_root, pid, &bytes, &size);
		pthread_mutex_lock(&r->lock);
		r->bytes = bytes;
		r->size = size;
		r->err = err;
		r->is_done = true;
		pthread_cond_signal(&r->change);
	}
	r->is_over = true;
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* --- readers ---------------------------------------------------------------------------------- */

static struct reader *new_reader(const char *proc_root)
{
	struct reader *r = calloc(1, sizeof(*r));
	pthread_t thread;

	if (!r)
		return NULL;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->change, NULL);
	r->proc_root = strdup(proc_root);
	if (!r->proc_root || thread_start(run, r, &thread)) {
		free_reader(r);
		return NULL;
	}
	pthread_detach(thread);
	return r;
}

/* Lets go of a reader. Its thread ends once it can. */
static void leave(struct reader *r)
{
	pthread_mutex_lock(&r->lock);
	r->is_left = true;
	pthread_cond_signal(&r->change);
	pthread_mutex_unlock(&r->lock);
}

/* Frees a reader that was left, if its thread has ended. */
static bool free_if_over(struct reader *r)
{
	bool is_over;

	pthread_mutex_lock(&r->lock);
	is_over = r->is_over;
	pthread_mutex_unlock(&r->lock);
	if (is_over)
		free_reader(r);
	return is_over;
}

int environments_new(const char *proc_root, struct environments **ret_environments)
{
	struct environments *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->waits = (struct user_shares){.burst = WAITS_BURST_S, .per_core = WAITS_SHARE};
	e->proc_root = strdup(proc_root);
	if (!e->proc_root) {
		free(e);
		return -ENOMEM;
	}
	*ret_environments = e;
	return 0;
}

#define END_LOOKS 200 /* a millisecond apart, for threads that are not stuck */

void environments_free(struct environments *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < MOST_READERS; i++)
		if (e->readers[i])
			leave(e->readers[i]);
	for (size_t i = 0, looks = 0; i < MOST_READERS; i++) {
		while (e->readers[i] && !free_if_over(e->readers[i]) && looks++ < END_LOOKS)
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	for (size_t i = 0; i < MOST_RESULTS; i++)
		free(e->results[i].bytes);
	free(e->proc_root);
	free(e);
}

/* --- results ---------------------------------------------------------------------------------- */

static void drop_result(struct result *result)
{
	free(result->bytes);
	*result = (struct result){0};
}

static struct result *find_result(struct environments *e, pid_t pid)
{
	for (size_t i = 0; i < MOST_RESULTS; i++)
		if (e->results[i].pid == pid)
			return &e->results[i];
	return NULL;
}

/* Makes room for a result of a user: the oldest one goes, of this user if he has many. */
static struct result *make_room(struct environments *e, uint64_t user)
{
	struct result *free_one = NULL, *oldest = &e->results[0], *users = NULL;
	unsigned n = 0;

	for (size_t i = 0; i < MOST_RESULTS; i++) {
		struct result *r = &e->results[i];

		if (!r->pid) {
			free_one = r;
			continue;
		}
		if (r->age < oldest->age)
			oldest = r;
		if (r->user != user)
			continue;
		n++;
		if (!users || r->age < users->age)
			users = r;
	}
	oldest = n >= MOST_OF_USER ? users : free_one ? free_one : oldest;
	drop_result(oldest);
	return oldest;
}

/* Moves a reader's result, so that the reader is idle. Called with the reader's lock. */
static struct result take(struct reader *r)
{
	const struct result result = {
		.pid = r->pid, .user = r->user, .bytes = r->bytes, .size = r->size, .err = r->err};

	r->bytes = NULL;
	r->pid = 0;
	r->is_done = false;
	return result;
}

/* Keeps a result that was not waited for, unless it says nothing any more. */
static void keep(struct environments *e, struct result result, bool is_old)
{
	struct result *kept;

	if (is_old || result.err == -EAGAIN) {
		drop_result(&result);
		return;
	}
	kept = find_result(e, result.pid);
	if (kept)
		drop_result(kept);
	else
		kept = make_room(e, result.user);
	result.age = ++e->age;
	*kept = result;
}

/* Takes what was read since the last call. */
static void collect(struct environments *e)
{
	for (size_t i = 0; i < MOST_READERS; i++) {
		struct reader *r = e->readers[i];

		if (!r)
			continue;
		pthread_mutex_lock(&r->lock);
		if (r->is_done)
			keep(e, take(r), r->is_old);
		pthread_mutex_unlock(&r->lock);
	}
}

static int give(struct result *result, char **ret_bytes, size_t *ret_size)
{
	const int err = result->err;

	if (!err) {
		*ret_bytes = result->bytes;
		*ret_size = result->size;
		result->bytes = NULL;
	}
	drop_result(result);
	return err;
}

void environments_forget(struct environments *e, pid_t pid)
{
	struct result *result = find_result(e, pid);

	if (result)
		drop_result(result);
	for (size_t i = 0; i < MOST_READERS; i++) {
		struct reader *r = e->readers[i];

		if (!r)
			continue;
		pthread_mutex_lock(&r->lock);
		r->is_old |= r->pid == pid;
		pthread_mutex_unlock(&r->lock);
	}
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Waits for a while until the reader is done. Called with its lock. */
static void await_result(struct reader *r, uint64_t until_ns)
{
	const struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000),
				       .tv_nsec = (long)(until_ns % 1000000000)};

	while (!r->is_done &&
	       !pthread_cond_clockwait(&r->change, &r->lock, CLOCK_MONOTONIC, &until))
		;
}

/* Has a reader that is idle read a process, and waits for it if the user may cause that. */
static int ask(struct environments *e, struct reader *r, pid_t pid, uid_t uid, char **ret_bytes,
	       size_t *ret_size)
{
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	const bool may_wait = user_shares_has(&e->waits, uid, 1, now_ns);
	struct result result = {.err = -EAGAIN};

	r->user = user_shares_key(uid);
	r->asked_ns = now_ns;
	pthread_mutex_lock(&r->lock);
	r->pid = pid;
	r->is_old = false;
	pthread_cond_signal(&r->change);
	if (may_wait)
		await_result(r, now_ns + WAIT_NS);
	if (r->is_done)
		result = take(r);
	pthread_mutex_unlock(&r->lock);
	if (may_wait) {
		const uint64_t after_ns = clock_ns(CLOCK_MONOTONIC), took_ns = after_ns - now_ns;

		if (took_ns > USUAL_NS)
			user_shares_spend(&e->waits, uid, (double)took_ns / 1e9, 1, after_ns);
	}
	return give(&result, ret_bytes, ret_size);
}

/* Finds the reader for a user's process: one that is idle. 0; -EAGAIN: not now; -ENOENT: the user's
 * reader, or each one, is stuck. */
static int find_reader(struct environments *e, uint64_t user, struct reader **ret_reader)
{
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	struct reader **room = NULL;
	bool are_stuck = true;

	*ret_reader = NULL;
	for (size_t i = 0; i < MOST_READERS; i++) {
		struct reader *r = e->readers[i];

		if (!r)
			room = &e->readers[i];
		else if (!r->pid)
			*ret_reader = r;
		else if (r->user == user)
			return now_ns - r->asked_ns < STUCK_NS ? -EAGAIN : -ENOENT;
		else
			are_stuck &= now_ns - r->asked_ns >= STUCK_NS;
	}
	if (!*ret_reader && room)
		*ret_reader = *room = new_reader(e->proc_root);
	return *ret_reader ? 0 : are_stuck && !room ? -ENOENT : -EAGAIN;
}

/* Returns whether a process is root's, and not in a container. */
static bool is_roots(const struct environments *e, pid_t pid, uid_t uid)
{
	return !uid && proc_fs_is_same_file(e->proc_root, pid, getpid(), "ns/mnt");
}

int environments_read(struct environments *e, pid_t pid, char **ret_bytes, size_t *ret_size)
{
	struct proc_fs_status status;
	struct reader *reader;
	struct result *result;
	int err = proc_fs_status(e->proc_root, pid, &status);

	if (err)
		return err;
	if (is_roots(e, pid, status.uid))
		return process_environment_read(e->proc_root, pid, ret_bytes, ret_size);
	collect(e);
	result = find_result(e, pid);
	if (result && result->user == user_shares_key(status.uid))
		return give(result, ret_bytes, ret_size);
	err = find_reader(e, user_shares_key(status.uid), &reader);
	return err ? err : ask(e, reader, pid, status.uid, ret_bytes, ret_size);
}
