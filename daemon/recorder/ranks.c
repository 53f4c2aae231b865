/* SPDX-License-Identifier: MIT */
/* Keeps the ranks and labels of processes by pid; see ranks.h. */
#define HASH_NONFATAL_OOM 1
#include "daemon/recorder/ranks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/int_map.h"
#include "base/vec.h"
#include "proc/mpi_rank.h"
#include "daemon/recorder/environments.h"
#include "stack/label_set.h"

#define MOST_WITHOUT 16384 /* most processes without a rank; beyond, they are forgotten */

/* What the environment of a process tells. */
struct facts {
	uint64_t value; /* the rank; 0: the process has none */
	char *labels;	/* stack/label_set.h; NULL: none */
};

struct entry {
	pid_t pid;
	struct facts facts;
	bool is_unread;	 /* the kernel half has sent the rank, and the rest was not read yet */
	bool is_unknown; /* the environment could not be read */
	UT_hash_handle hh;
};

/* The rank of a process after an exec whose event has been read, but not taken in the order of time
 * yet. */
struct executed {
	pid_t pid;
	uint64_t time_ns; /* time of the event */
	struct facts facts;
	bool is_unread; /* the kernel had not set the environment yet when it was read */
};

struct ranks {
	struct entry *by_pid;
	size_t n_without; /* entries without a rank */
	VEC(struct executed) executed;
	size_t n_unread;      /* items of `executed` that are unread */
	struct int_map given; /* keys: numbers of processes whose rank was given */
	struct environments *environments;
};

int ranks_new(const char *proc_root, struct ranks **ret_ranks)
{
	struct ranks *ranks = calloc(1, sizeof(*ranks));

	if (!ranks)
		return -ENOMEM;
	if (environments_new(proc_root, &ranks->environments)) {
		free(ranks);
		return -ENOMEM;
	}
	*ret_ranks = ranks;
	return 0;
}

static void drop(struct ranks *ranks, struct entry *entry)
{
	HASH_DEL(ranks->by_pid, entry);
	ranks->n_without -= !entry->facts.value;
	free(entry->facts.labels);
	free(entry);
}

void ranks_free(struct ranks *ranks)
{
	struct entry *entry, *next;

	if (!ranks)
		return;
	HASH_ITER (hh, ranks->by_pid, entry, next)
		drop(ranks, entry);
	int_map_fini(&ranks->given);
	for (size_t i = 0; i < ranks->executed.count; i++)
		free(ranks->executed.items[i].facts.labels);
	free(ranks->executed.items);
	environments_free(ranks->environments);
	free(ranks);
}

static struct entry *find(const struct ranks *ranks, pid_t pid)
{
	struct entry *entry;

	HASH_FIND_INT(ranks->by_pid, &pid, entry);
	return entry;
}

/* Forgets the processes without a rank, to bound their number, because a record that comes after
 * the end of its process enters the process again, and then no event removes it. The rank of a
 * forgotten process is read from /proc again when it is needed. */
static void drop_without(struct ranks *ranks)
{
	struct entry *entry, *next;

	HASH_ITER (hh, ranks->by_pid, entry, next) {
		if (!entry->facts.value)
			drop(ranks, entry);
	}
}

static struct entry *add(struct ranks *ranks, pid_t pid)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->pid = pid;
	HASH_ADD_INT(ranks->by_pid, pid, entry);
	if (!entry->hh.tbl) { /* uthash ran out of memory and left it out */
		free(entry);
		return NULL;
	}
	ranks->n_without++;
	return entry;
}

static uint64_t value_of(const struct mpi_rank *rank)
{
	return (uint64_t)rank->size << 32 | (rank->rank + 1);
}

/* Reads the environment of a process. Returns 0; -EAGAIN: the kernel has not set it yet; -ENOENT:
 * it is empty, also because the process is ending; or another -errno. */
static int read_facts(const struct ranks *ranks, pid_t pid, struct facts *ret_facts)
{
	struct label_list labels = {0};
	struct mpi_rank rank;
	char *environment = NULL;
	size_t size;
	int err = environments_read(ranks->environments, pid, &environment, &size);

	*ret_facts = (struct facts){0};
	if (err)
		return err;
	if (!mpi_rank_find(environment, size, &rank))
		ret_facts->value = value_of(&rank);
	err = label_list_add_environment(&labels, environment, size);
	if (!err && labels.items.count) {
		ret_facts->labels = label_list_text(&labels);
		err = ret_facts->labels ? 0 : -ENOMEM;
	}
	label_list_fini(&labels);
	free(environment);
	return err;
}

/* Sets the facts of a process, whose labels it owns from now on. */
static int set(struct ranks *ranks, pid_t pid, struct facts facts)
{
	struct entry *entry = find(ranks, pid);

	if (!entry && !facts.value && ranks->n_without >= MOST_WITHOUT)
		drop_without(ranks);
	if (!entry)
		entry = add(ranks, pid);
	if (!entry) {
		free(facts.labels);
		return -ENOMEM;
	}
	ranks->n_without += !facts.value;
	ranks->n_without -= !entry->facts.value;
	free(entry->facts.labels);
	entry->facts = facts;
	entry->is_unread = entry->is_unknown = false;
	return 0;
}

/* Returns the last exec of a process whose rank is unread; NULL: there is none. */
static struct executed *find_unread(const struct ranks *ranks, pid_t pid)
{
	for (size_t i = ranks->n_unread ? ranks->executed.count : 0; i-- > 0;)
		if (ranks->executed.items[i].pid == pid && ranks->executed.items[i].is_unread)
			return &ranks->executed.items[i];
	return NULL;
}

static void remove_executed(struct ranks *ranks, struct executed *executed)
{
	struct executed *end = ranks->executed.items + ranks->executed.count--;

	ranks->n_unread -= executed->is_unread;
	memmove(executed, executed + 1, (size_t)(end - executed - 1) * sizeof(*executed));
}

/* Reads the rank of an exec again. */
static void read_again(struct ranks *ranks, struct executed *executed)
{
	int err = read_facts(ranks, executed->pid, &executed->facts);

	if (err == -EAGAIN)
		return;
	if (err && err != -ENOENT) {
		remove_executed(ranks, executed);
		return;
	}
	executed->is_unread = false;
	ranks->n_unread--;
}

int ranks_prefetch(struct ranks *ranks, pid_t pid, struct process_table *processes)
{
	struct executed *unread = find_unread(ranks, pid);
	const struct entry *known;
	struct facts facts;
	int err, awaits = 0;

	if (unread)
		read_again(ranks, unread);
	known = find(ranks, pid);
	if ((known && !known->is_unread) ||
	    (processes && process_table_expects_exec(processes, pid)))
		return 0;
	err = read_facts(ranks, pid, &facts);
	if (processes)
		awaits = process_table_awaits_exec(processes, pid);
	if (awaits || err == -EAGAIN) {
		free(facts.labels);
		return awaits < 0 ? awaits : 0;
	}
	if (known && err) { /* it is ending */
		find(ranks, pid)->is_unread = false;
		free(facts.labels);
		return err == -ENOMEM ? err : 0;
	}
	if (known) /* the kernel half has sent the rank in this program's environment */
		facts.value = known->facts.value;
	if (set(ranks, pid, facts))
		return -ENOMEM;
	find(ranks, pid)->is_unknown = err;
	return 0;
}

int ranks_forked(struct ranks *ranks, pid_t pid, pid_t parent)
{
	const struct entry *from = pid != parent ? find(ranks, parent) : NULL, *known;
	struct facts facts = {0};

	if (!from || (!from->facts.value && !from->facts.labels))
		return 0;
	known = find(ranks, pid);
	if (known && !known->is_unknown)
		return 0;
	facts.value = from->facts.value;
	facts.labels = from->facts.labels ? strdup(from->facts.labels) : NULL;
	if ((from->facts.labels && !facts.labels) || set(ranks, pid, facts))
		return -ENOMEM;
	find(ranks, pid)->is_unread = from->is_unread;
	return 0;
}

/* Keeps an exec, whose labels it owns from now on. */
static int add_executed(struct ranks *ranks, struct executed executed)
{
	if (VEC_RESERVE(&ranks->executed, 1)) {
		free(executed.facts.labels);
		return -ENOMEM;
	}
	ranks->executed.items[ranks->executed.count++] = executed;
	ranks->n_unread += executed.is_unread;
	return 0;
}

int ranks_prefetch_exec(struct ranks *ranks, pid_t pid, uint64_t time_ns)
{
	struct facts facts;
	int err;

	environments_forget(ranks->environments, pid);
	err = read_facts(ranks, pid, &facts);
	if (err && err != -EAGAIN && err != -ENOENT)
		return 0;
	return add_executed(ranks, (struct executed){.pid = pid,
						     .time_ns = time_ns,
						     .facts = facts,
						     .is_unread = err == -EAGAIN});
}

int ranks_postpone_exec(struct ranks *ranks, pid_t pid, uint64_t time_ns)
{
	environments_forget(ranks->environments, pid);
	return add_executed(ranks,
			    (struct executed){.pid = pid, .time_ns = time_ns, .is_unread = true});
}

int ranks_executed(struct ranks *ranks, pid_t pid, uint64_t time_ns)
{
	struct entry *entry;

	for (size_t i = 0; i < ranks->executed.count; i++) {
		struct executed e = ranks->executed.items[i];

		if (e.pid != pid || e.time_ns != time_ns)
			continue;
		remove_executed(ranks, &ranks->executed.items[i]);
		if (!e.is_unread)
			return set(ranks, pid, e.facts);
		entry = find(ranks, pid);
		if (entry) /* the process's next record will read it */
			drop(ranks, entry);
		return 0;
	}
	entry = find(ranks, pid);
	if (entry) { /* these labels are of the program before */
		free(entry->facts.labels);
		entry->facts.labels = NULL;
	}
	return 0;
}

int ranks_launched(struct ranks *ranks, const struct stackd_launched *launched)
{
	char environment[sizeof(launched->strings)];
	const pid_t pid = (pid_t)launched->pid;
	struct facts facts = {0};
	struct entry *entry;
	struct mpi_rank rank;
	size_t size = 0;
	int err = 0;

	for (uint32_t i = 0; i < launched->n && i < STACKD_LAUNCHED_STRINGS; i++) {
		size_t len = strnlen(launched->strings[i], STACKD_LAUNCHED_BYTES - 1);

		memcpy(environment + size, launched->strings[i], len);
		size += len;
		environment[size++] = '\0';
	}
	if (!mpi_rank_find(environment, size, &rank))
		facts.value = value_of(&rank);
	entry = find(ranks, pid);
	if (entry) { /* ranks_executed() has set the labels of this program */
		facts.labels = entry->facts.labels;
		entry->facts.labels = NULL;
	}
	if (facts.value || entry)
		err = set(ranks, pid, facts);
	entry = err ? NULL : find(ranks, pid);
	if (entry)
		entry->is_unread = true;
	return err;
}

const char *ranks_labels(const struct ranks *ranks, pid_t pid)
{
	const struct entry *entry = find(ranks, pid);

	return entry ? entry->facts.labels : NULL;
}

int ranks_take(struct ranks *ranks, uint32_t process, pid_t pid, uint64_t *ret_value)
{
	const struct entry *entry = find(ranks, pid);
	uint32_t given;

	if (!entry || !entry->facts.value || int_map_find(&ranks->given, process) != INT_MAP_NONE)
		return 0;
	if (int_map_enter(&ranks->given, process, 1, &given))
		return -ENOMEM;
	*ret_value = entry->facts.value;
	return 1;
}

void ranks_forget(struct ranks *ranks, pid_t pid)
{
	struct entry *entry = find(ranks, pid);

	environments_forget(ranks->environments, pid);
	if (entry)
		drop(ranks, entry);
}

void ranks_begin_anew(struct ranks *ranks)
{
	int_map_clear(&ranks->given);
}
