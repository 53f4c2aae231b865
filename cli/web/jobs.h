/* SPDX-License-Identifier: MIT */
/*
 * Questions that wait for an answer, in two queues, each with a thread: those that need a
 * recording's samples, and those that do not, which never wait for the others.
 *
 * A page numbers the states of its selection. When a question about a newer state arrives, those
 * about older states of the same page are stopped.
 */
#ifndef CLI_WEB_JOBS_H
#define CLI_WEB_JOBS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/buf.h"
#include "web/web.h"

#define JOBS_VIEWER	33 /* size of a page's id */
#define JOBS_PARAMETERS 256

struct job {
	/* the question; the owner frees what is in it */
	char *name;
	struct web_parameter parameters[JOBS_PARAMETERS];
	size_t n_parameters;
	char viewer[JOBS_VIEWER]; /* "": none */
	uint64_t generation;
	/* the answer, once it is done */
	int status;
	struct buf answer;
	/* called in another thread when the answer is there */
	void (*done)(struct job *job);
	void *arg;
	/* used by jobs.c alone */
	atomic_bool stop;
	struct job *next;
};

struct jobs;

/* Starts the threads. `web` is borrowed. Returns 0 or a negative errno. */
int jobs_new(struct web *web, struct jobs **ret_jobs);

/* Stops all jobs and ends the threads: every job is done then, and no other is taken. */
void jobs_end(struct jobs *jobs);

/* Frees the queues; jobs_end() must have been called. NULL is allowed. */
void jobs_free(struct jobs *jobs);

/* Queues a job, which must stay where it is until it is done. Returns 0, or -EBUSY if too many
 * wait; then the job is not done. */
int jobs_put(struct jobs *jobs, struct job *job);

#endif
