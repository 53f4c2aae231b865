/* SPDX-License-Identifier: MIT */
/*
 * Jobs that two threads do; see pipeline.h.
 *
 *      taken ────► claimed         both count up; claimed < taken + PIPELINE_SLOTS
 *        │ slots of jobs made or being made
 *
 * Job i has slot i % PIPELINE_SLOTS. The caller takes the next job if it is made, makes one itself
 * if there is one to claim, and else waits for the other thread. The lock is held to count, never
 * while a job is made or taken.
 */
#include "base/pipeline.h"

#include <stdbool.h>

#include "base/thread.h"

struct pipeline {
	const struct pipeline_work *work;
	pthread_mutex_t lock;
	pthread_cond_t made, freed;
	size_t claimed, taken;
	bool is_made[PIPELINE_SLOTS];
	int result[PIPELINE_SLOTS];
	bool is_over;
};

static bool can_claim(const struct pipeline *r)
{
	return !r->is_over && r->claimed < r->work->n && r->claimed < r->taken + PIPELINE_SLOTS;
}

/* Makes the next job. The caller holds the lock, which is released while the job is made. */
static void pipeline_make(struct pipeline *r)
{
	size_t job = r->claimed++;
	unsigned slot = (unsigned)(job % PIPELINE_SLOTS);
	int result;

	pthread_mutex_unlock(&r->lock);
	result = r->work->make(r->work->arg, job, slot);
	pthread_mutex_lock(&r->lock);
	r->result[slot] = result;
	r->is_made[slot] = true;
	pthread_cond_signal(&r->made);
}

static void *pipeline_thread(void *arg)
{
	struct pipeline *r = arg;

	pthread_mutex_lock(&r->lock);
	while (!r->is_over && r->claimed < r->work->n) {
		if (can_claim(r))
			pipeline_make(r);
		else
			pthread_cond_wait(&r->freed, &r->lock);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* Takes the next job, which has been made. The caller holds the lock; it is released meanwhile. */
static int pipeline_take(struct pipeline *r)
{
	size_t job = r->taken;
	unsigned slot = (unsigned)(job % PIPELINE_SLOTS);
	int result = r->result[slot];

	pthread_mutex_unlock(&r->lock);
	if (result == 0)
		result = r->work->take(r->work->arg, job, slot);
	pthread_mutex_lock(&r->lock);
	r->is_made[slot] = false;
	r->taken++;
	pthread_cond_signal(&r->freed);
	return result;
}

static int pipeline_go(struct pipeline *r)
{
	int result = 0;

	pthread_mutex_lock(&r->lock);
	while (result == 0 && r->taken < r->work->n) {
		if (r->is_made[r->taken % PIPELINE_SLOTS])
			result = pipeline_take(r);
		else if (can_claim(r))
			pipeline_make(r);
		else
			pthread_cond_wait(&r->made, &r->lock);
	}
	r->is_over = true;
	pthread_cond_signal(&r->freed);
	pthread_mutex_unlock(&r->lock);
	return result;
}

int pipeline_run(const struct pipeline_work *work)
{
	struct pipeline r = {
		.work = work,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.made = PTHREAD_COND_INITIALIZER,
		.freed = PTHREAD_COND_INITIALIZER,
	};
	pthread_t thread;
	/* Starting a thread for a single job would take longer than doing it here. */
	bool is_helped = work->n > 1 && thread_start(pipeline_thread, &r, &thread) == 0;
	int result = pipeline_go(&r);

	if (is_helped)
		pthread_join(thread, NULL);
	pthread_cond_destroy(&r.made);
	pthread_cond_destroy(&r.freed);
	pthread_mutex_destroy(&r.lock);
	return result;
}
