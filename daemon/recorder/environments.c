/* SPDX-License-Identifier: MIT */
/*
 * Has one reader at a time, and keeps the users whose processes hold others; see environments.h.
 *
 * A reader belongs to the caller and its thread together: who lets go of it last frees it. All that
 * is shared is under the reader's lock.
 */
#include "daemon/recorder/environments.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/thread.h"
#include "proc/proc_fs.h"
#include "proc/process_environment.h"

#define WAIT_NS	   UINT64_C(20000000)	/* for an answer, in one call */
#define STUCK_NS   UINT64_C(2000000000) /* a thread is left behind after this time */
#define MOST_STUCK 8

struct reader {
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t change;
	char *proc_root;
	pid_t pid;	       /* that is read; 0: none */
	bool is_done, is_left; /* the result is there; the caller has let go of it */
	bool is_over;	       /* the thread has ended */
	char *bytes;
	size_t size;
	int err;
};

struct environments {
	char *proc_root;
	struct reader *reader; /* NULL: none */
	uint64_t asked_ns;
	struct held {
		struct reader *reader; /* that is stuck; NULL: none */
		uid_t user;	       /* whose process it reads */
	} held[MOST_STUCK];
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
	e->proc_root = strdup(proc_root);
	if (!e->proc_root) {
		free(e);
		return -ENOMEM;
	}
	*ret_environments = e;
	return 0;
}

#define END_LOOKS 200 /* a millisecond apart, for a thread that is not stuck */

void environments_free(struct environments *e)
{
	if (!e)
		return;
	if (e->reader) {
		leave(e->reader);
		for (int i = 0; i < END_LOOKS && !free_if_over(e->reader); i++)
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	for (size_t i = 0; i < MOST_STUCK; i++)
		if (e->held[i].reader)
			free_if_over(e->held[i].reader);
	free(e->proc_root);
	free(e);
}

/* --- reading ---------------------------------------------------------------------------------- */

static uid_t user_of(const struct environments *e, pid_t pid)
{
	struct proc_fs_status status;

	return proc_fs_status(e->proc_root, pid, &status) ? (uid_t)-1 : status.uid;
}

/* Returns 0; -ENOENT: a process is not to be read, since its user keeps a reader stuck; -EAGAIN:
 * all readers are stuck. Frees those that are not any more. */
static int refusal(struct environments *e, uid_t user)
{
	bool is_users = false;
	size_t n = 0;

	for (size_t i = 0; i < MOST_STUCK; i++) {
		struct held *held = &e->held[i];

		if (held->reader && free_if_over(held->reader))
			held->reader = NULL;
		if (!held->reader)
			continue;
		is_users |= held->user == user;
		n++;
	}
	return is_users ? -ENOENT : n == MOST_STUCK ? -EAGAIN : 0;
}

/* Leaves a reader behind that is stuck. */
static void leave_behind(struct environments *e)
{
	const uid_t user = user_of(e, e->reader->pid);

	leave(e->reader);
	for (size_t i = 0; i < MOST_STUCK; i++) {
		if (e->held[i].reader)
			continue;
		e->held[i] = (struct held){e->reader, user};
		break;
	}
	e->reader = NULL;
}

/* Waits for a while until the reader is done. Called with its lock. */
static bool await_result(struct reader *r, uint64_t until_ns)
{
	const struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000),
				       .tv_nsec = (long)(until_ns % 1000000000)};

	while (!r->is_done &&
	       !pthread_cond_clockwait(&r->change, &r->lock, CLOCK_MONOTONIC, &until))
		;
	return r->is_done;
}

/* Takes what the reader has read, if that is of this process. */
static int take(struct reader *r, pid_t pid, char **ret_bytes, size_t *ret_size)
{
	const int err = r->pid == pid ? r->err : -EAGAIN;

	if (!err) {
		*ret_bytes = r->bytes;
		*ret_size = r->size;
	} else {
		free(r->bytes);
	}
	r->bytes = NULL;
	r->pid = 0;
	r->is_done = false;
	return err;
}

/* Asks for a process, unless another one is being read, and waits for a while. */
static int ask(struct environments *e, pid_t pid, char **ret_bytes, size_t *ret_size)
{
	struct reader *r = e->reader;
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	int err = -EAGAIN;

	pthread_mutex_lock(&r->lock);
	if (r->is_done && r->pid != pid) /* it is asked for again */
		take(r, pid, ret_bytes, ret_size);
	if (!r->pid) {
		r->pid = pid;
		e->asked_ns = now_ns;
		pthread_cond_signal(&r->change);
		await_result(r, now_ns + WAIT_NS);
	}
	if (r->is_done)
		err = take(r, pid, ret_bytes, ret_size);
	pthread_mutex_unlock(&r->lock);
	return err;
}

static bool is_stuck(struct environments *e)
{
	bool is_busy;

	if (!e->reader || clock_ns(CLOCK_MONOTONIC) - e->asked_ns < STUCK_NS)
		return false;
	pthread_mutex_lock(&e->reader->lock);
	is_busy = e->reader->pid && !e->reader->is_done;
	pthread_mutex_unlock(&e->reader->lock);
	return is_busy;
}

int environments_read(struct environments *e, pid_t pid, char **ret_bytes, size_t *ret_size)
{
	struct proc_fs_status status;
	int err = proc_fs_status(e->proc_root, pid, &status);

	if (err)
		return err;
	if (!status.uid)
		return process_environment_read(e->proc_root, pid, ret_bytes, ret_size);
	if (is_stuck(e))
		leave_behind(e);
	err = refusal(e, status.uid);
	if (err)
		return err;
	if (!e->reader)
		e->reader = new_reader(e->proc_root);
	return e->reader ? ask(e, pid, ret_bytes, ret_size) : -EAGAIN;
}
