/* SPDX-License-Identifier: MIT */
/*
 * The process table: the code mappings of each process at the moment up to which events have been
 * applied.
 *
 * It starts from /proc (process_table_load()) and is kept current by perf's side-band events (mmap,
 * comm, fork, exit), applied in order of time. It has no history: the caller holds a sample back
 * until every earlier event has been applied, and only then looks up its mappings. So a dlclose
 * followed by a dlopen at the same address never names the wrong library.
 *
 * The kernel reports new executable mappings, but not removals. A new mapping cuts or replaces the
 * mappings that it overlaps. A mapping that was only removed stays until then, which does no harm
 * since no code runs there. Only when a process has very many mappings are they compared with
 * /proc, and those that are gone are dropped.
 *
 * Processes and threads have dense numbers from 0. An exec, or a pid used again, starts a new
 * process number; a new name or cgroup of a thread starts a new thread number. So earlier records
 * keep their name and cgroup.
 *
 * On a busy machine, most processes end before a sample hits them. So numbers are used only in
 * memory, and only processes and threads with recorded data get a second number: their row in the
 * store.
 */
#ifndef PROC_PROCESS_H
#define PROC_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/object.h"

#define PROCESS_NO_ROW UINT32_MAX

struct mapping {
	uint64_t start, end;	     /* addresses */
	uint64_t offset;	     /* file offset of `start` */
	const struct object *object; /* borrowed from the object table */
	/* The mapping is memory without a file, which has a copy of the object's bytes. */
	bool is_copy;
	/* A time when the file had the object's content, in nanoseconds of CLOCK_REALTIME: that of
	 * the mapping; 0: not known. */
	uint64_t made_ns;
};

struct process {
	uint32_t number;
	uint32_t row; /* its row in the store, or PROCESS_NO_ROW */
	pid_t pid;
	pid_t parent;  /* 0: not known */
	char comm[16]; /* of the main thread */
	char *exe;     /* path of the main executable, or NULL */
	bool exited;
};

struct thread {
	uint32_t number;
	uint32_t row;	  /* its row in the store, or PROCESS_NO_ROW */
	uint32_t process; /* number */
	pid_t tid;
	char comm[16];
	uint64_t cgroup; /* id; 0: not known */
};

struct process_table;

/* `objects` is borrowed and must outlive the table. `proc_root` is "/proc" but for tests. */
int process_table_new(struct object_table *objects, const char *proc_root,
		      struct process_table **ret_table);
void process_table_free(struct process_table *table);

/* Reads a process as it is now: mappings, threads, names. If the table has the process already, its
 * mappings are read again, and its number stays. Returns 0; -EBUSY: an exec of the process is
 * awaited (process_table_await_exec()), so that /proc may show the program after it: a known
 * process stays as it is, another has no mappings; -ESRCH: it is gone; -EACCES; -ENOMEM. */
int process_table_load(struct process_table *table, pid_t pid);

/* Reads all processes of proc_root. Since that can take long, calls `between` (unless NULL) after
 * each process, and stops if it returns an error. Returns the number of processes, or -errno. */
int process_table_load_all(struct process_table *table, int (*between)(void *arg), void *arg);

/* Tells the table that the caller has read an exec event of a process that it has not applied yet.
 * In the meantime /proc shows the mappings and names of the new program already. So nothing of the
 * process is taken from /proc until process_table_meet_exec(), which the caller calls right before
 * it applies that event. Returns 0 or -ENOMEM. */
int process_table_await_exec(struct process_table *table, pid_t pid);
void process_table_meet_exec(struct process_table *table, pid_t pid);

/* Makes the table call `drain` after it has read from /proc, and before it uses what it has read.
 * `drain` reads the events that have arrived, and calls process_table_await_exec() for each exec
 * among them; it may call no other function of this file. A non-zero result is an error. */
void process_table_drain_by(struct process_table *table, int (*drain)(void *arg), void *arg);

/* Returns whether an exec of a process is awaited. */
bool process_table_expects_exec(const struct process_table *table, pid_t pid);

/* Calls `drain`, and then returns 1 if an exec of the process is awaited; 0 if not; or an error of
 * `drain`. A caller that has read a file of the process in /proc calls this before it uses the
 * content: 0 means that the content belongs to the program that the table has. */
int process_table_awaits_exec(struct process_table *table, pid_t pid);

/* Returns whether a child and its parent share their memory (CLONE_VM). */
typedef bool process_shares_fn(void *arg, pid_t pid, pid_t parent);

/* Makes the table call `shares` for each process that begins. If two processes share their memory,
 * every change of one's mappings applies to both. */
void process_table_share_by(struct process_table *table, process_shares_fn *shares, void *arg);

/* Reads a known process again. Returns 0, or an error of process_table_load(). */
int process_table_reload(struct process_table *table, pid_t pid);

/* For events that are missing (process_settle.c). process_table_doubt_all(): some were lost, of any
 * process. process_table_doubt(): one of a process's mappings was left out, so all its mappings are
 * forgotten. */
void process_table_doubt_all(struct process_table *table);
void process_table_doubt(struct process_table *table, pid_t pid);

/* Returns whether a process must be settled before a record of it from `time_ns` is taken. It is
 * tried once a second if nothing else is lost. */
bool process_table_is_doubted(struct process_table *table, pid_t pid, uint64_t time_ns);

/* Reads such a process from /proc, if that may be done, or else makes it an unknown one, with
 * another record. 0 or -ENOMEM. */
int process_table_settle(struct process_table *table, pid_t pid, bool may_read, uint64_t time_ns);

/* Ends threads that have ended without an event, since that was lost: those that /proc lacks now
 * and has lacked at the call before, so that records of them have come meanwhile. Costs a look into
 * /proc for each thread. 0 or -ENOMEM. */
int process_table_sweep(struct process_table *table);

/* Apply one event each; the caller calls them in order of time. They return 0 or -ENOMEM. A process
 * that the table lacks is added. */
int process_table_on_mmap(struct process_table *table, pid_t pid, const struct object_mapping *m);

/* Does the same for a mapping that was resolved lately (object_table_resolve()), to `known`; NULL:
 * it was not. */
int process_table_on_mmap_of(struct process_table *table, pid_t pid, const struct object_mapping *m,
			     const struct object *known);
int process_table_on_comm(struct process_table *table, pid_t pid, pid_t tid, const char *comm,
			  bool is_exec);
int process_table_on_fork(struct process_table *table, pid_t pid, pid_t tid, pid_t parent_pid,
			  pid_t parent_tid);

/* Applies the exit of a thread. Returns 0; 1: the process goes on; -ENOMEM. If a program gains
 * rights by its exec (setuid), the kernel removes the perf events of its thread, and so reports an
 * exit before anything of the program is mapped. */
int process_table_on_exit(struct process_table *table, pid_t pid, pid_t tid);

/* Removes the records of processes and threads that ended long ago, and renumbers the others
 * densely from 0. Names and rows stay the same. Returns 0, or -ENOMEM with the table unchanged. */
int process_table_renumber(struct process_table *table);

/* Gives a thread of the table, and its process, a row each, unless they have one; rows are dense
 * from 0. *ret_process is the row of the process. Returns 0 or -ENOMEM. */
int process_table_add_row(struct process_table *table, const struct thread *thread,
			  uint32_t *ret_process);

/* Removes all rows, since another recording begins. */
void process_table_begin_rows(struct process_table *table);

/* Return the number of rows of processes and of threads, and the record of a row; NULL: the record
 * was removed. */
uint32_t process_table_process_rows(const struct process_table *table);
uint32_t process_table_thread_rows(const struct process_table *table);
const struct process *process_table_process_of_row(const struct process_table *t, uint32_t row);
const struct thread *process_table_thread_of_row(const struct process_table *t, uint32_t row);

/* Look up a process or a thread by pid and tid. The result lives until the next event, load or
 * look-up by pid. If the table lacks a pid, it is loaded from /proc; if it is not there either, it
 * is added without mappings, and with the name that perf gives it, ":PID". NULL: memory is
 * short. */
const struct process *process_table_process(struct process_table *table, pid_t pid);
const struct thread *process_table_thread(struct process_table *table, pid_t pid, pid_t tid);

/* Returns a thread of a process, even if it ended recently; NULL: the table lacks it. Loads nothing
 * from /proc. */
const struct thread *process_table_find_thread(const struct process_table *table, pid_t pid,
					       pid_t tid);

/* Sets the cgroup of a thread. Returns the thread as process_table_thread() does. */
const struct thread *process_table_set_cgroup(struct process_table *table, pid_t pid, pid_t tid,
					      uint64_t cgroup);

struct mapping_set;

/* Returns all mappings of a process (mapping_set.h); NULL: it has none. The table owns them; they
 * live until it changes. */
const struct mapping_set *process_table_mappings(struct process_table *table, pid_t pid);

/* Returns the mapping of process `pid` that has `address`, or NULL. */
const struct mapping *process_table_mapping(struct process_table *table, pid_t pid,
					    uint64_t address);

/* Adds a mapping to a process, and removes what it overlaps. Returns 0 or -ENOMEM. */
int process_table_set_mapping(struct process_table *table, pid_t pid, const struct mapping *m);

/* Returns whether the table has this process, as one that still runs. Loads nothing from /proc. */
bool process_table_knows(struct process_table *table, pid_t pid);

/* Return the numbers of processes and threads, and one of them by its number. */
uint32_t process_table_process_count(const struct process_table *table);
uint32_t process_table_thread_count(const struct process_table *table);
const struct process *process_table_process_at(const struct process_table *t, uint32_t number);
const struct thread *process_table_thread_at(const struct process_table *t, uint32_t number);

struct process_table_forgotten {
	uint64_t processes, threads;
};

/* Returns how many ended processes and threads were removed to make room for others. An event that
 * names one of these begins a new record. */
struct process_table_forgotten process_table_forgotten(const struct process_table *table);

#endif
