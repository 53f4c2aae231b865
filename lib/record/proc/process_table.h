/* SPDX-License-Identifier: MIT */
/*
 * The inside of the process table, shared by process.c (records, look-ups), process_event.c
 * (events), process_load.c (/proc), process_compact.c, process_memory.c, process_row.c and
 * process_settle.c. No other file includes it.
 *
 *   records    processes[], threads[]: by dense number, removed by process_table_renumber() alone
 *   rows       of a store: numbers of the records that have one
 *   instances  by pid: the record that the pid means now, its mappings, its living threads
 *   tasks      by tid: the thread record that the tid means now
 *
 * An instance or a task that has ended stays, so that a sample taken during its exit still finds
 * its record, until PROCESS_TABLE_ENDED_KEPT others have ended after it. Its mappings stay until
 * PROCESS_TABLE_MAPPINGS_KEPT others have: perf reports an exit at its beginning, and events of
 * CPUs sample the rest of the exit, in most of which the process still has its memory.
 */
#ifndef PROC_PROCESS_TABLE_H
#define PROC_PROCESS_TABLE_H

/* A pid is its own hash: the kernel assigns pids one after the other, so they fill the buckets
 * evenly. Most look-ups find nothing, and touch one entry at most. */
#define HASH_NONFATAL_OOM		   1
#define HASH_FUNCTION(key, size, ret_hash) ((void)(size), (ret_hash) = *(const unsigned *)(key))
#include <uthash.h>
#undef HASH_BKT_CAPACITY_THRESH
#define HASH_BKT_CAPACITY_THRESH 2U

#include "base/vec.h"
#include "proc/mapping_set.h"
#include "proc/proc_fs.h"
#include "proc/process.h"

#define PROCESS_TABLE_ENDED_KEPT    4096
#define PROCESS_TABLE_MAPPINGS_KEPT 64

#define PROCESS_TABLE_GONE UINT32_MAX /* the number of a record that was removed */

/* With more mappings than this, a process's stale ones are searched for in /proc. */
#define PROCESS_TABLE_PRUNE_AT 16384

struct instance {
	pid_t pid;
	uint32_t number;	  /* number of the process record */
	uint64_t start_ticks;	  /* as in /proc/PID/stat; 0: never read */
	uint32_t living_tasks;	  /* threads that have not ended; 0: the process has ended */
	struct mapping_set *maps; /* NULL: none */
	/* next instance in the ring of processes that share this memory; itself if it shares with
	 * none */
	struct instance *peer;
	uint32_t hint; /* where mapping_set_find() begins its search */
	/* version of `maps` for which own_jit_code() last found that all its JIT code is this
	 * process's */
	uint64_t own_version;
	uint32_t prune_at;
	/* as of the table when what is known of the process was known to be true */
	uint32_t losses;
	uint64_t settle_ns; /* when it may be settled again (process_settle.c) */
	bool is_partial;    /* Not all of its mappings are known. */
	bool is_loaded;	    /* Loaded from /proc, so its fork event may still come. */
	/* Between an exec event and the next mapped file, which is the executable. */
	bool wants_exe;
	bool is_executing; /* After an exec event, until the next mapping. */
	bool is_end_sure;  /* process_table_revive() has checked /proc since its end. */
	UT_hash_handle hh; /* instances, key pid */
};

struct task {
	pid_t tid;
	uint32_t number;  /* number of the thread record */
	uint32_t process; /* number of the process record */
	bool is_alive;
	bool is_missed;	   /* /proc lacked it at the last process_table_sweep() */
	UT_hash_handle hh; /* tasks, key tid */
};

/* A process with exec events that were read but not applied yet, so that /proc already shows its
 * new program. */
struct awaited_exec {
	pid_t pid;
	uint32_t count;
	UT_hash_handle hh; /* awaited, key pid */
};

/* A slot in a ring of the processes, or threads, that ended last. */
struct ended {
	pid_t id;
	uint32_t number; /* number of its record */
};

struct process_table {
	struct object_table *objects; /* borrowed */
	char *proc_root;
	struct process *processes;
	uint32_t n_processes;
	size_t processes_cap;
	struct thread *threads;
	uint32_t n_threads;
	size_t threads_cap;
	/* numbers of records, by row; or PROCESS_TABLE_GONE */
	VEC(uint32_t) process_rows, thread_rows;
	struct instance *instances;
	struct task *tasks;
	struct awaited_exec *awaited;
	int (*drain)(void *arg); /* see process_table_drain_by(); NULL: none */
	void *drain_arg;
	/* see process_table_share_by(); NULL: no process shares memory */
	process_shares_fn *shares;
	void *shares_arg;
	struct instance *last; /* the last result of process_table_find(), or NULL */
	struct ended ended_instances[PROCESS_TABLE_ENDED_KEPT],
		ended_tasks[PROCESS_TABLE_ENDED_KEPT];
	/* the ended processes whose mappings are still kept */
	struct ended ended_mappings[PROCESS_TABLE_MAPPINGS_KEPT];
	uint32_t ended_instances_at, ended_tasks_at, ended_mappings_at;
	struct process_table_forgotten forgotten;
	uint32_t losses; /* how often events were lost */
};

/* --- process.c: records. Functions return NULL or false if memory is short. ------------------- */

struct instance *process_table_find(struct process_table *table, pid_t pid); /* NULL: none */

/* Returns the instance of a pid. If the table lacks it, loads it from /proc, or else adds it
 * without mappings. NULL: memory is short. */
struct instance *process_table_get(struct process_table *table, pid_t pid);

/* Begins a new process with this pid. An earlier process with this pid loses the pid and its
 * mappings, but its record stays. NULL: memory is short. */
struct instance *process_table_begin(struct process_table *table, pid_t pid, pid_t parent,
				     const char *name);

/* Does the same for a process that cannot be read from /proc: it has no parent, and its name is
 * ":PID" (of pid 0: "swapper"), as in perf. */
struct instance *process_table_begin_unknown(struct process_table *table, pid_t pid);

/* Returns the task of a tid, as a living thread of `instance`. A new task is added with the name
 * `comm`. NULL: memory is short. */
struct task *process_table_begin_task(struct process_table *table, struct instance *instance,
				      pid_t tid, const char *comm);

/* Sets the name of a task, which gets a new thread record if it had another name. Returns false if
 * memory is short. */
bool process_table_name_task(struct process_table *table, struct instance *instance,
			     struct task *task, const char *comm);

/* Marks a task as ended. If it was the last living task of the instance, the instance ends as
 * well. */
void process_table_end_task(struct process_table *table, struct instance *instance,
			    struct task *task);

/* Marks an instance as ended. It keeps its mappings until PROCESS_TABLE_MAPPINGS_KEPT other
 * processes have ended after it, and can be looked up until PROCESS_TABLE_ENDED_KEPT have. */
void process_table_end(struct process_table *table, struct instance *instance);

/* Returns whether a task of the instance is alive. */
static inline bool process_table_is_alive(const struct instance *instance)
{
	return instance->living_tasks > 0;
}

/* --- process_memory.c ------------------------------------------------------------------------ */

/* If the instance shares its memory with process `pid`, puts both into one ring, with the same
 * mappings. */
void process_table_join(struct process_table *table, struct instance *instance, pid_t pid);

/* Takes the instance out of its ring: it no longer shares its memory. */
void process_table_leave(struct instance *instance);

/* Gives the instance's changed mappings to all processes of its ring. */
void process_table_spread(struct instance *instance);

/* Returns whether a pid is the instance's own, or that of a process in its ring. */
bool process_table_is_peer(const struct instance *instance, pid_t pid);

/* --- process_load.c ------------------------------------------------------------------------- */

/* Resolves a mapping to its object, and adds it to `*maps`. `ret_object` may be NULL; on entry,
 * *ret_object is the object if that is known already, else NULL. Returns 0 or -ENOMEM. */
int process_table_map(struct process_table *table, pid_t pid, struct mapping_set **maps,
		      const struct object_mapping *m, const struct object **ret_object);

/* If an instance has very many mappings, removes those that /proc no longer shows. */
void process_table_prune(struct process_table *table, struct instance *instance);

/* For a sample of an instance that has ended according to its events: reads /proc once, and loads
 * the instance again if the same process still runs. */
void process_table_revive(struct process_table *table, struct instance *instance);

#endif
