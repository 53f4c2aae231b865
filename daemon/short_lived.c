/* SPDX-License-Identifier: MIT */
/*
 * Keeps new processes in a list, oldest first, and by pid, and new threads of other processes in
 * the same way, by tid, which no process has as its pid; see short_lived.h.
 *
 * A child needs what its parent had at the fork. So a parent is kept for as long as its children
 * are, and is passed on before them.
 */
#include "daemon/short_lived.h"

#include <errno.h>
#include <stdlib.h>

/* A pid is its own hash. */
#define HASH_NONFATAL_OOM		   1
#define HASH_FUNCTION(key, size, ret_hash) ((void)(size), (ret_hash) = *(const unsigned *)(key))
#include <uthash.h>
#include <utlist.h>

#include "daemon/capture/record_pool.h"

/* With more events than this, further processes are not kept apart. */
#define MOST_EVENTS 32768

struct young {
	pid_t pid;		/* of a thread: its tid */
	struct young *parent;	/* process or thread; NULL: it is not young */
	struct young *children; /* that are young; linked by `sibling` */
	struct sibling {
		struct young *prev, *next;
	} sibling;
	struct young *heir; /* during pass(): the child that is passed on next */
	unsigned threads;   /* that run */
	bool has_executed;
	uint64_t ended_ns; /* 0: it runs */
	struct sideband_event *first, *last;
	unsigned n_events;
	struct young *prev, *next; /* in the list */
	UT_hash_handle hh;
};

struct short_lived {
	int (*pass_on)(void *arg, struct sideband_event *event);
	void *arg;
	struct young *by_pid, *list;
	struct young *unused; /* linked by `next` */
	unsigned n_events;
	uint64_t left_out;
};

int short_lived_new(int (*pass_on)(void *arg, struct sideband_event *event), void *arg,
		    struct short_lived **ret_short_lived)
{
	struct short_lived *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->pass_on = pass_on;
	s->arg = arg;
	*ret_short_lived = s;
	return 0;
}

/* Takes a process out of the list and the table. Its events stay its own. */
static void remove_young(struct short_lived *s, struct young *y)
{
	HASH_DEL(s->by_pid, y);
	DL_DELETE(s->list, y);
	if (y->parent)
		DL_DELETE2(y->parent->children, y, sibling.prev, sibling.next);
	s->n_events -= y->n_events;
	y->next = s->unused;
	s->unused = y;
}

static void free_events(struct young *y)
{
	while (y->first) {
		struct sideband_event *event = y->first;

		y->first = event->next;
		record_pool_give_back(event);
	}
}

static void leave_out(struct short_lived *s, struct young *y)
{
	remove_young(s, y);
	free_events(y);
	s->left_out++;
}

void short_lived_free(struct short_lived *s)
{
	struct young *y, *next;

	if (!s)
		return;
	for (y = s->list; y; y = next) {
		next = y->next;
		leave_out(s, y);
	}
	for (y = s->unused; y; y = next) {
		next = y->next;
		free(y);
	}
	free(s);
}

static struct young *find(struct short_lived *s, pid_t pid)
{
	struct young *y;

	HASH_FIND_INT(s->by_pid, &pid, y);
	return y;
}

/* --- passing on ------------------------------------------------------------------------------- */

/* Its children that are still here find their parent in the process table from now on. */
static void disown(struct young *parent)
{
	for (struct young *y = parent->children; y; y = y->sibling.next)
		y->parent = NULL;
	parent->children = NULL;
}

static int pass_alone(struct short_lived *s, struct young *y)
{
	int err = 0;

	disown(y);
	remove_young(s, y);
	while (!err && y->first) {
		struct sideband_event *event = y->first;

		y->first = event->next;
		err = s->pass_on(s->arg, event);
	}
	free_events(y);
	return err;
}

/* Passes on a process after its parents, the first of them first. */
static int pass(struct short_lived *s, struct young *y)
{
	struct young *next = y, *heir;
	int err = 0;

	for (y->heir = NULL; next->parent; next = next->parent)
		next->parent->heir = next;
	for (; next && !err; next = heir) {
		heir = next->heir;
		err = pass_alone(s, next);
	}
	return err;
}

int short_lived_pass(struct short_lived *s, pid_t pid, pid_t tid)
{
	struct young *process = find(s, pid), *thread;
	int err = process ? pass(s, process) : 0;

	thread = err || tid == pid ? NULL : find(s, tid);
	return thread ? pass(s, thread) : err;
}

int short_lived_pass_living(struct short_lived *s)
{
	struct young *y, *next;
	int err = 0;

	for (y = s->list; y && !err; y = next) {
		next = y->next; /* no parent of it, which are older */
		if (!y->ended_ns)
			err = pass(s, y);
	}
	return err;
}

/* Children are younger than their parents, which can go once these have. */
void short_lived_forget(struct short_lived *s, uint64_t before_ns)
{
	struct young *y = s->list ? s->list->prev : NULL, *older;

	for (; y; y = older) {
		older = y == s->list ? NULL : y->prev;
		if (y->ended_ns && y->ended_ns < before_ns && !y->children)
			leave_out(s, y);
	}
}

int short_lived_pass_before(struct short_lived *s, uint64_t before_ns)
{
	struct young *y, *next;
	int err = 0;

	for (y = s->list; y && !err; y = next) {
		next = y->next; /* no parent of it, which are older */
		if (y->first->time_ns < before_ns)
			err = pass(s, y);
	}
	return err;
}

bool short_lived_is_full(const struct short_lived *s)
{
	return s->n_events >= MOST_EVENTS;
}

uint64_t short_lived_count(const struct short_lived *s)
{
	return s->left_out;
}

/* --- taking ----------------------------------------------------------------------------------- */

static void keep(struct short_lived *s, struct young *y, struct sideband_event *event)
{
	event->next = NULL;
	if (y->first)
		y->last->next = event;
	else
		y->first = event;
	y->last = event;
	y->n_events++;
	s->n_events++;
}

/* Returns the parent of a process or thread, if that is young. */
static struct young *parent_of(struct short_lived *s, const struct sideband_event *fork)
{
	struct young *parent = find(s, fork->parent_pid);

	/* the thread that has started it gives it its name */
	return parent ? parent : find(s, fork->parent_tid);
}

/* Passes on the fork of a process that is not kept apart, after its parents. */
static int pass_fork(struct short_lived *s, struct sideband_event *fork)
{
	struct young *parent = parent_of(s, fork);
	int err = parent ? pass(s, parent) : 0;

	if (!err)
		return s->pass_on(s->arg, fork);
	record_pool_give_back(fork);
	return err;
}

/* Without room or memory, the process is not kept apart. */
static int begin(struct short_lived *s, struct sideband_event *fork)
{
	struct young *y = s->unused;

	if (short_lived_is_full(s))
		return pass_fork(s, fork);
	if (y)
		s->unused = y->next;
	else
		y = malloc(sizeof(*y));
	if (!y)
		return pass_fork(s, fork);
	*y = (struct young){.pid = fork->tid, .threads = 1, .parent = parent_of(s, fork)};
	HASH_ADD_INT(s->by_pid, pid, y);
	if (!y->hh.tbl) {
		free(y);
		return pass_fork(s, fork);
	}
	if (y->parent)
		DL_APPEND2(y->parent->children, y, sibling.prev, sibling.next);
	DL_APPEND(s->list, y);
	keep(s, y, fork);
	return 0;
}

/* Returns whether a process can still be left out after an event of its own. */
static bool take(struct young *y, const struct sideband_event *event)
{
	switch (event->kind) {
	case SIDEBAND_FORK: /* a thread */
		y->threads++;
		return true;
	case SIDEBAND_COMM:
		y->has_executed |= event->is_exec;
		return true;
	case SIDEBAND_EXIT:
		if (y->threads && !--y->threads)
			y->ended_ns = event->time_ns;
		return true;
	case SIDEBAND_MMAP:
		return y->has_executed;
	default:
		return true;
	}
}

/* Returns whose event this is, if that is young; NULL: it is not. */
static struct young *owner_of(struct short_lived *s, const struct sideband_event *event)
{
	struct young *process;

	if (event->kind == SIDEBAND_LOST || event->kind == SIDEBAND_CGROUP)
		return NULL;
	process = find(s, event->pid);
	if (process || event->tid == event->pid || event->kind == SIDEBAND_MMAP)
		return process;
	return find(s, event->tid);
}

int short_lived_event(struct short_lived *s, struct sideband_event *event)
{
	struct young *y = owner_of(s, event);
	const bool is_process = event->kind == SIDEBAND_FORK && event->pid != event->parent_pid;
	const bool begins =
		is_process || (event->kind == SIDEBAND_FORK && (!y || y->pid != event->pid));
	int err = 0;

	if (y && (begins || y->ended_ns)) { /* the pid is used again */
		err = pass(s, y);
		y = NULL;
	}
	if (!err && begins)
		return begin(s, event);
	if (y) {
		bool can_be_left_out = take(y, event);

		keep(s, y, event);
		return can_be_left_out ? 0 : pass(s, y);
	}
	if (err) {
		record_pool_give_back(event);
		return err;
	}
	return s->pass_on(s->arg, event);
}
