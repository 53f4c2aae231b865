/* SPDX-License-Identifier: MIT */
/* Runs questions; see jobs.h. */
#include "jobs.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/thread.h"

#define JOBS_MOST    64 /* jobs that may wait in a queue */
#define JOBS_VIEWERS 64 /* pages whose newest generation is known */
#define JOBS_TIDY_S  5

struct jobs_queue {
	struct jobs *jobs;
	pthread_t thread;
	bool is_started;
	pthread_cond_t more;
	struct job *first, **last, *running;
	unsigned n;
};

struct jobs_viewer {
	char id[JOBS_VIEWER];
	uint64_t generation, used;
};

struct jobs {
	struct web *web;
	pthread_mutex_t lock; /* of all members below */
	struct jobs_queue queues[2];
	struct jobs_viewer viewers[JOBS_VIEWERS];
	uint64_t clock; /* counts jobs, so that the viewer that was used longest ago is found */
	bool is_ending;
};

static void run(struct jobs *jobs, struct job *job)
{
	const struct web_question question = {.name = job->name,
					      .parameters = job->parameters,
					      .n_parameters = job->n_parameters,
					      .stop = &job->stop};

	job->status = web_answer(jobs->web, &question, &job->answer);
}

static struct job *take(struct jobs_queue *q)
{
	struct job *job = q->first;

	if (job) {
		q->first = job->next;
		if (!q->first)
			q->last = &q->first;
		q->n--;
	}
	q->running = job;
	return job;
}

/* Waits for the next job, at most some seconds. */
static void await(struct jobs_queue *q)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += JOBS_TIDY_S;
	pthread_cond_timedwait(&q->more, &q->jobs->lock, &until);
}

static void *work(void *arg)
{
	struct jobs_queue *q = arg;
	struct jobs *jobs = q->jobs;

	pthread_mutex_lock(&jobs->lock);
	for (;;) {
		struct job *job = take(q);

		if (!job && jobs->is_ending)
			break;
		if (!job)
			await(q);
		pthread_mutex_unlock(&jobs->lock);
		if (job)
			run(jobs, job);
		else
			web_tidy(jobs->web);
		pthread_mutex_lock(&jobs->lock);
		q->running = NULL;
		if (job)
			job->done(job);
	}
	pthread_mutex_unlock(&jobs->lock);
	return NULL;
}

static void stop_all(struct jobs_queue *q)
{
	if (q->running)
		atomic_store(&q->running->stop, true);
	for (struct job *job = q->first; job; job = job->next)
		atomic_store(&job->stop, true);
}

void jobs_end(struct jobs *jobs)
{
	pthread_mutex_lock(&jobs->lock);
	jobs->is_ending = true;
	for (unsigned i = 0; i < 2; i++) {
		stop_all(&jobs->queues[i]);
		pthread_cond_signal(&jobs->queues[i].more);
	}
	pthread_mutex_unlock(&jobs->lock);
	for (unsigned i = 0; i < 2; i++) {
		if (jobs->queues[i].is_started)
			pthread_join(jobs->queues[i].thread, NULL);
		jobs->queues[i].is_started = false;
	}
}

void jobs_free(struct jobs *jobs)
{
	if (!jobs)
		return;
	for (unsigned i = 0; i < 2; i++)
		pthread_cond_destroy(&jobs->queues[i].more);
	pthread_mutex_destroy(&jobs->lock);
	free(jobs);
}

int jobs_new(struct web *web, struct jobs **ret_jobs)
{
	struct jobs *jobs = calloc(1, sizeof(*jobs));
	int err = jobs ? 0 : -ENOMEM;

	if (err)
		return err;
	jobs->web = web;
	pthread_mutex_init(&jobs->lock, NULL);
	for (unsigned i = 0; i < 2; i++) {
		struct jobs_queue *q = &jobs->queues[i];

		q->jobs = jobs;
		q->last = &q->first;
		pthread_cond_init(&q->more, NULL);
		if (err == 0)
			err = thread_start(work, q, &q->thread);
		q->is_started = err == 0;
	}
	if (err) {
		jobs_end(jobs);
		jobs_free(jobs);
	} else {
		*ret_jobs = jobs;
	}
	return err;
}

/* Returns the entry of a page. A new page gets the entry of the page whose last question is the
 * oldest. */
static struct jobs_viewer *viewer_of(struct jobs *jobs, const char *id)
{
	struct jobs_viewer *oldest = jobs->viewers;

	for (unsigned i = 0; i < JOBS_VIEWERS; i++) {
		if (strcmp(jobs->viewers[i].id, id) == 0)
			return &jobs->viewers[i];
		if (jobs->viewers[i].used < oldest->used)
			oldest = &jobs->viewers[i];
	}
	*oldest = (struct jobs_viewer){0};
	strcpy(oldest->id, id);
	return oldest;
}

static void stop_older(struct jobs_queue *q, const struct job *than)
{
	struct job *job = q->running ? q->running : q->first;

	while (job) {
		if (strcmp(job->viewer, than->viewer) == 0 && job->generation < than->generation)
			atomic_store(&job->stop, true);
		job = job == q->running ? q->first : job->next;
	}
}

/* Stops the jobs of the same page that a new one supersedes, or the new one. */
static void supersede(struct jobs *jobs, struct job *job)
{
	struct jobs_viewer *viewer;

	if (!*job->viewer)
		return;
	viewer = viewer_of(jobs, job->viewer);
	viewer->used = ++jobs->clock;
	if (job->generation < viewer->generation) {
		atomic_store(&job->stop, true);
		return;
	}
	viewer->generation = job->generation;
	for (unsigned i = 0; i < 2; i++)
		stop_older(&jobs->queues[i], job);
}

int jobs_put(struct jobs *jobs, struct job *job)
{
	struct jobs_queue *q = &jobs->queues[web_is_light(job->name)];
	int err = 0;

	pthread_mutex_lock(&jobs->lock);
	atomic_store(&job->stop, jobs->is_ending);
	supersede(jobs, job);
	if (q->n >= JOBS_MOST || jobs->is_ending) {
		err = -EBUSY;
	} else {
		job->next = NULL;
		*q->last = job;
		q->last = &job->next;
		q->n++;
		pthread_cond_signal(&q->more);
	}
	pthread_mutex_unlock(&jobs->lock);
	return err;
}
