/* SPDX-License-Identifier: MIT */
/* Keeps the ranks of processes by pid; see ranks.h. */
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

#define MOST_WITHOUT 16384 /* most processes without a rank; beyond, they are forgotten */

struct entry {
	pid_t pid;
	uint64_t value; /* 0: the process has none */
	UT_hash_handle hh;
};

/* The rank of a process after an exec whose event has been read, but not taken in the order of time
 * yet. */
struct executed {
	pid_t pid;
	uint64_t time_ns; /* time of the event */
	uint64_t value;
	bool is_unread; /* the kernel had not set the environment yet when it was read */
};

struct ranks {
	struct entry *by_pid;
	size_t n_without; /* entries without a rank */
	VEC(struct executed) executed;
	size_t n_unread;       /* items of `executed` that are unread */
	struct int_map given;  /* keys: numbers of processes whose rank was given */
	const char *proc_root; /* borrowed */
};

int ranks_new(const char *proc_root, struct ranks **ret_ranks)
{
	struct ranks *ranks = calloc(1, sizeof(*ranks));

	if (!ranks)
		return -ENOMEM;
	ranks->proc_root = proc_root;
	*ret_ranks = ranks;
	return 0;
}

static void drop(struct ranks *ranks, struct entry *entry)
{
	HASH_DEL(ranks->by_pid, entry);
	ranks->n_without -= !entry->value;
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
	free(ranks->executed.items);
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
		if (!entry->value)
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

/* Sets the rank value of a process; 0: it has no rank. */
static int set(struct ranks *ranks, pid_t pid, uint64_t value)
{
	struct entry *entry = find(ranks, pid);

	if (!entry && !value && ranks->n_without >= MOST_WITHOUT)
		drop_without(ranks);
	if (!entry)
		entry = add(ranks, pid);
	if (!entry)
		return -ENOMEM;
	ranks->n_without += !value;
	ranks->n_without -= !entry->value;
	entry->value = value;
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
	struct mpi_rank rank;
	int err = mpi_rank_read(ranks->proc_root, executed->pid, &rank);

	if (err == -EAGAIN)
		return;
	if (err && err != -ENOENT) {
		remove_executed(ranks, executed);
		return;
	}
	executed->value = err ? 0 : value_of(&rank);
	executed->is_unread = false;
	ranks->n_unread--;
}

int ranks_prefetch(struct ranks *ranks, pid_t pid, struct process_table *processes)
{
	struct executed *unread = find_unread(ranks, pid);
	struct mpi_rank rank;
	int err, awaits = 0;

	if (unread)
		read_again(ranks, unread);
	if (find(ranks, pid) || (processes && process_table_expects_exec(processes, pid)))
		return 0;
	err = mpi_rank_read(ranks->proc_root, pid, &rank);
	if (processes)
		awaits = process_table_awaits_exec(processes, pid);
	if (awaits || err == -EAGAIN)
		return awaits < 0 ? awaits : 0;
	return set(ranks, pid, err ? 0 : value_of(&rank));
}

int ranks_prefetch_exec(struct ranks *ranks, pid_t pid, uint64_t time_ns)
{
	struct mpi_rank rank;
	int err = mpi_rank_read(ranks->proc_root, pid, &rank);

	if (err && err != -ENOENT && err != -EAGAIN)
		return 0;
	if (VEC_RESERVE(&ranks->executed, 1))
		return -ENOMEM;
	ranks->executed.items[ranks->executed.count++] =
		(struct executed){.pid = pid,
				  .time_ns = time_ns,
				  .value = err ? 0 : value_of(&rank),
				  .is_unread = err == -EAGAIN};
	ranks->n_unread += err == -EAGAIN;
	return 0;
}

int ranks_executed(struct ranks *ranks, pid_t pid, uint64_t time_ns)
{
	for (size_t i = 0; i < ranks->executed.count; i++) {
		struct executed e = ranks->executed.items[i];
		struct entry *entry;

		if (e.pid != pid || e.time_ns != time_ns)
			continue;
		remove_executed(ranks, &ranks->executed.items[i]);
		if (!e.is_unread)
			return set(ranks, pid, e.value);
		entry = find(ranks, pid);
		if (entry) /* the process's next record will read it */
			drop(ranks, entry);
		return 0;
	}
	return 0;
}

int ranks_launched(struct ranks *ranks, const struct stackd_launched *launched)
{
	char environment[sizeof(launched->strings)];
	struct mpi_rank rank;
	size_t size = 0;

	for (uint32_t i = 0; i < launched->n && i < STACKD_LAUNCHED_STRINGS; i++) {
		size_t len = strnlen(launched->strings[i], STACKD_LAUNCHED_BYTES - 1);

		memcpy(environment + size, launched->strings[i], len);
		size += len;
		environment[size++] = '\0';
	}
	if (!mpi_rank_find(environment, size, &rank))
		return set(ranks, (pid_t)launched->pid, value_of(&rank));
	return find(ranks, (pid_t)launched->pid) ? set(ranks, (pid_t)launched->pid, 0) : 0;
}

int ranks_take(struct ranks *ranks, uint32_t process, pid_t pid, uint64_t *ret_value)
{
	const struct entry *entry = find(ranks, pid);
	uint32_t given;

	if (!entry || !entry->value || int_map_find(&ranks->given, process) != INT_MAP_NONE)
		return 0;
	if (int_map_enter(&ranks->given, process, 1, &given))
		return -ENOMEM;
	*ret_value = entry->value;
	return 1;
}

void ranks_forget(struct ranks *ranks, pid_t pid)
{
	struct entry *entry = find(ranks, pid);

	if (entry)
		drop(ranks, entry);
}

void ranks_begin_anew(struct ranks *ranks)
{
	int_map_clear(&ranks->given);
}
