/* SPDX-License-Identifier: MIT */
/*
 * Reads processes from /proc when their recording begins, and follows them by side-band events; see
 * recorder.h.
 *
 * A file can be deleted before its event is taken in the order of time. So files are prefetched:
 * opened as soon as the event has been read. If that fails, it is tried again when the event is
 * taken.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "base/clock.h"
#include "daemon/recorder/file_key.h"
#include "daemon/recorder/recorder_internal.h"
#include "proc/mapping_set.h"
#include "proc/proc_fs.h"
#include "runtime/runtime.h"

#define AWAIT_ONCE_NS UINT64_C(10000000) /* the wait for a table, between which events are read */

/* --- from /proc ------------------------------------------------------------------------------ */

static int look_for_tags(void *arg, pid_t pid)
{
	struct recorder *r = arg;

	return r->paths.tagger ? tagger_load(r->paths.tagger, r->tasks.processes, pid) : 0;
}

static int look_for_tags_of_one(void *arg, pid_t pid)
{
	struct recorder *r = arg;
	int err = look_for_tags(r, pid);

	return err || !r->with.relieve ? err : r->with.relieve(r->with.arg);
}

int recorder_load_process(struct recorder *r, pid_t pid)
{
	int err = tracked_pids_add(r->tasks.members, pid);

	if (!err)
		err = process_table_load(r->tasks.processes, pid);
	if (err == -EBUSY) /* its events will say what it runs */
		return 0;
	return err ? err : look_for_tags(r, pid);
}

int recorder_load_all(struct recorder *r)
{
	int loaded = process_table_load_all(r->tasks.processes, r->with.relieve, r->with.arg);

	if (loaded >= 0 && cgroup_table_load(r->tasks.cgroups))
		return -ENOMEM;
	if (loaded < 0 || !r->paths.tagger)
		return loaded < 0 ? loaded : 0;
	return proc_fs_each_process("/proc", look_for_tags_of_one, r);
}

/* --- prefetching ----------------------------------------------------------------------------- */

static int prefetch_tags(struct recorder *r, const struct sideband_event *event,
			 const struct object *object)
{
	return r->paths.tagger ? tagger_on_event(r->paths.tagger, event, object) : 0;
}

/* Requests the table of a file that has just been mapped, so that the first walk that comes to the
 * file finds the table. */
static int prefetch_table(struct recorder *r, const struct object *object)
{
	struct stackd_inode key;
	bool has_key = file_key_of(object, &r->files.fuse_devices, &key) &&
		       object_table_has_proof(r->files.objects, object, key.inode, key.changed_ns);

	return tables_prepare(r->with.tables, object, has_key ? &key : NULL);
}

int recorder_expect_file(struct recorder *r, pid_t pid, const char *path,
			 const struct elf_file *file, const struct object **ret_object)
{
	const struct elf_stamp *stamp = elf_file_stamp(file);
	const struct object_mapping mapping = {.path = path,
					       .inode = stamp->inode,
					       .dev_major = major(stamp->dev),
					       .dev_minor = minor(stamp->dev)};
	const struct object *object;
	int err = object_table_resolve(r->files.objects, pid, &mapping, &object);

	*ret_object = NULL;
	if (err || !object->elf)
		return err == -ENOMEM ? err : 0;
	*ret_object = object;
	return r->with.tables ? prefetch_table(r, object) : 0;
}

/* Files whose tables are awaited before the first sample. */
struct expected_files {
	VEC(const struct object *) all;
	uint8_t *kinds; /* by an object's number: 0: not known, or enum; owned */
	uint32_t n_kinds;
};

enum { HAS_NONE = 1, HAS_ONE }; /* an interpreter */

/* Returns whether a file that is mapped here has an interpreter. */
static bool have_interpreter(const struct mapping_set *maps, struct expected_files *files)
{
	bool has = false;

	for (uint32_t i = 0; i < maps->count && !has; i++) {
		const struct object *object = maps->maps[i].object;
		uint8_t *kind;

		if (!object->elf || object->number >= files->n_kinds)
			continue;
		kind = &files->kinds[object->number];
		if (!*kind)
			*kind = runtime_has_interpreter(object->elf) ? HAS_ONE : HAS_NONE;
		has = *kind == HAS_ONE;
	}
	return has;
}

/* Requests the tables of files that are mapped here, and adds these to the list. */
static int want_tables(struct recorder *r, const struct mapping_set *maps,
		       struct expected_files *files)
{
	int err = 0;

	for (uint32_t i = 0; i < maps->count && !err; i++) {
		const struct object *object = maps->maps[i].object;

		if (!object->elf || tables_have(r->with.tables, object))
			continue;
		err = VEC_RESERVE(&files->all, 1);
		if (!err) {
			files->all.items[files->all.count++] = object;
			err = prefetch_table(r, object);
		}
	}
	return err;
}

/* Returns whether a signal waits for the main loop that is to end the recording. */
static bool is_to_end(void)
{
	sigset_t pending;

	return !sigpending(&pending) &&
	       (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1);
}

/* Waits for the tables of these files until a time, or until the recording is to end, and reads
 * events meanwhile. 0 or -errno. */
static int await_tables(struct recorder *r, const struct expected_files *files, uint64_t until_ns)
{
	int err = 0;

	for (size_t i = 0; i < files->all.count && !err; i++) {
		bool is_there = false;
		uint64_t now_ns;

		while (!err && !is_there && (now_ns = clock_ns(CLOCK_MONOTONIC)) < until_ns &&
		       !is_to_end()) {
			is_there = tables_await(r->with.tables, files->all.items[i],
						now_ns + AWAIT_ONCE_NS);
			err = r->with.relieve ? r->with.relieve(r->with.arg) : 0;
		}
	}
	return err;
}

int recorder_await_interpreters(struct recorder *r, uint64_t until_ns)
{
	struct process_table *processes = r->tasks.processes;
	const uint32_t n_processes = process_table_process_count(processes);
	struct expected_files files = {.n_kinds = object_table_count(r->files.objects)};
	int err = 0;

	files.kinds = calloc(files.n_kinds + 1, sizeof(*files.kinds));
	if (!files.kinds)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_processes && !err && r->with.tables; i++) {
		const struct process *process = process_table_process_at(processes, i);
		const struct mapping_set *maps =
			process->exited ? NULL : process_table_mappings(processes, process->pid);

		if (maps && have_interpreter(maps, &files))
			err = want_tables(r, maps, &files);
	}
	if (!err)
		err = await_tables(r, &files, until_ns);
	free(files.all.items);
	free(files.kinds);
	return err;
}

/* Reads the environment of a process that has executed a program, for which its user pays as for
 * mappings; without a share it is read at the process's next record. 0 or -ENOMEM. */
static int prefetch_environment(struct recorder *r, const struct sideband_event *event)
{
	const double budget = r->with.budget;
	struct mapping_shares *shares = &r->tasks.mappings;
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	const uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uid_t user;
	int err;

	if (!(budget > 0))
		return ranks_prefetch_exec(r->mpi.ranks, event->pid, event->time_ns);
	if (!mapping_shares_may_read(shares, event->pid, budget, now_ns, &user))
		return ranks_postpone_exec(r->mpi.ranks, event->pid, event->time_ns);
	err = ranks_prefetch_exec(r->mpi.ranks, event->pid, event->time_ns);
	mapping_shares_have_read(shares, user, clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns, budget,
				 now_ns);
	return err;
}

int recorder_prefetch_event(struct recorder *r, struct sideband_event *event)
{
	const struct object *object;
	int err;

	if (event->kind == SIDEBAND_CGROUP)
		return cgroup_table_add(r->tasks.cgroups, event->cgroup, event->text);
	/* Children become members (recorded processes) here already, so that their first mappings
	 * are seen in time. (Rings are read one after the other, so a grandchild's event can come
	 * first: then it becomes a member in recorder_event().) */
	if (event->kind == SIDEBAND_FORK && tracked_pids_has(r->tasks.members, event->parent_pid)) {
		if (event->pid != event->parent_pid)
			shared_memory_prefetch(&r->tasks.shared, event->pid, event->parent_pid);
		err = tracked_pids_add(r->tasks.members, event->pid);
		return err ? err : prefetch_tags(r, event, NULL);
	}
	if (!tracked_pids_has(r->tasks.members, event->pid))
		return 0;
	if (event->kind == SIDEBAND_COMM && event->is_exec &&
	    (process_table_await_exec(r->tasks.processes, event->pid) ||
	     prefetch_environment(r, event)))
		return -ENOMEM;
	if (event->kind == SIDEBAND_COMM && event->is_exec && r->paths.machines)
		machines_note_exec(r->paths.machines, event->pid, event->time_ns);
	if (event->kind != SIDEBAND_MMAP)
		return prefetch_tags(r, event, NULL);
	if (!event->is_left_out &&
	    !mapping_shares_pay(&r->tasks.mappings, event->pid, r->with.budget, event->time_ns)) {
		event->is_left_out = true;
		r->taken.mappings_left_out++;
	}
	if (event->is_left_out)
		return 0;
	/* In this order, a pause between the two makes the mapping older, which proves less. */
	event->mapping.made_ns = event->time_ns + clock_ns(CLOCK_REALTIME);
	event->mapping.made_ns -= clock_ns(CLOCK_MONOTONIC);
	err = object_table_resolve(r->files.objects, event->pid, &event->mapping, &object);
	event->object = err ? NULL : object;
	if (!err && object->elf)
		new_mappings_add(&r->files.new_mappings, event->pid, &event->mapping, object);
	if (!err && object->elf && r->paths.machines)
		machines_note_mapping(r->paths.machines, event->pid, event->time_ns,
				      &event->mapping, object);
	if (!err)
		err = prefetch_tags(r, event, object);
	if (!err && r->with.tables && !tracked_pids_are_all(r->tasks.members) && object->elf)
		err = prefetch_table(r, object);
	return err == -ENOMEM ? err : 0;
}

/* --- in the ring ----------------------------------------------------------------------------- */

enum sideband_verdict recorder_judge_event(void *recorder, const struct sideband_peek *event)
{
	struct recorder *r = recorder;

	if (mapping_shares_take(&r->tasks.mappings, event->pid, r->with.budget, event->time_ns))
		return SIDEBAND_TAKE;
	if (event->kind == SIDEBAND_COMM) {
		r->taken.names_left_out++;
		return SIDEBAND_SKIP;
	}
	r->taken.mappings_left_out++;
	return mapping_shares_is_first_refusal(&r->tasks.mappings, event->pid, event->drain)
		       ? SIDEBAND_TAKE_UNREAD
		       : SIDEBAND_SKIP;
}

/* --- in the order of time -------------------------------------------------------------------- */

static int reload(void *arg, pid_t pid)
{
	struct recorder *r = arg;

	return recorder_load_process(r, pid) == -ENOMEM ? -ENOMEM : 0;
}

static int reload_members(struct recorder *r)
{
	return tracked_pids_are_all(r->tasks.members)
		       ? recorder_load_all(r)
		       : tracked_pids_each(r->tasks.members, reload, r);
}

/* Reading all processes takes one in so many parts of the time at most; with a budget, a third of
 * that. */
#define RELOAD_SHARE	20
#define RELOAD_MOST_NS	UINT64_C(600000000000) /* the longest pause for it */
#define RELOAD_IN_SHARE 3

/* Reads the recorded processes from /proc again, if the kernel has lost events. Who makes events on
 * purpose could else keep stackd reading. */
int recorder_reload(struct recorder *r)
{
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	const uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	const double share =
		r->with.budget > 0 ? RELOAD_IN_SHARE / r->with.budget : (double)RELOAD_SHARE;
	uint64_t pause_ns;
	int err;

	if (!r->tasks.wants_reload || now_ns < r->tasks.reload_ns)
		return 0;
	r->tasks.wants_reload = false;
	err = reload_members(r);
	pause_ns = (uint64_t)((double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) * share);
	r->tasks.reload_ns = now_ns + (pause_ns < RELOAD_MOST_NS ? pause_ns : RELOAD_MOST_NS);
	return err;
}

#define SWEEP_NS      UINT64_C(5000000000) /* between two sweeps at least */
#define SWEEP_MOST_NS UINT64_C(20000000000)
#define SWEEP_SHARE   20 /* as RELOAD_SHARE */

/* Ends threads whose exit events were lost: without that, their entries would stay for ever. It
 * takes two sweeps to find them all. */
int recorder_sweep(struct recorder *r)
{
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	const uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	const double share = r->with.budget > 0 ? SWEEP_SHARE / r->with.budget : SWEEP_SHARE;
	uint64_t pause_ns;
	int err;

	if (!r->tasks.wants_sweep || now_ns < r->tasks.sweep_ns)
		return 0;
	err = process_table_sweep(r->tasks.processes);
	pause_ns = (uint64_t)((double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) * share);
	pause_ns = pause_ns < SWEEP_MOST_NS ? pause_ns : SWEEP_MOST_NS;
	r->tasks.sweep_ns = now_ns + (pause_ns > SWEEP_NS ? pause_ns : SWEEP_NS);
	r->tasks.wants_sweep = r->tasks.swept_losses != r->taken.sideband_lost;
	r->tasks.swept_losses = r->taken.sideband_lost;
	return err;
}

int recorder_settle(struct recorder *r, pid_t pid, uint64_t time_ns)
{
	const double budget = r->with.budget;
	struct mapping_shares *shares = &r->tasks.mappings;
	uint64_t begin_ns;
	uid_t user;
	bool may;
	int err;

	if (!process_table_is_doubted(r->tasks.processes, pid, time_ns))
		return 0;
	begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	may = mapping_shares_may_read(shares, pid, budget, clock_ns(CLOCK_MONOTONIC), &user);
	err = process_table_settle(r->tasks.processes, pid, may, time_ns);
	if (may)
		mapping_shares_have_read(shares, user, clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns,
					 budget, clock_ns(CLOCK_MONOTONIC));
	return err;
}

static int on_mmap_event(struct recorder *r, const struct sideband_event *event)
{
	if (event->is_left_out) {
		process_table_doubt(r->tasks.processes, event->pid);
		return 0;
	}
	alloc_coverage_on_mmap(r->memory.coverage, event->pid, event->mapping.path);
	return process_table_on_mmap_of(r->tasks.processes, event->pid, &event->mapping,
					event->object);
}

/* Stores when a thread ended, if waits are recorded, because from its last wait until then it was
 * on the CPU. The record of its last switch (recorder_life()) comes later, if it is not lost. 0 or
 * -ENOMEM. */
static int keep_end(struct recorder *r, const struct sideband_event *event)
{
	const struct thread *thread =
		r->taken.events[STACKD_EVENT_WAIT]
			? process_table_find_thread(r->tasks.processes, event->pid, event->tid)
			: NULL;

	if (!thread || thread->row == PROCESS_NO_ROW)
		return 0;
	return recorder_keep(
		r, SERIES_THREAD_END, 0,
		(struct store_sample){.time_ns = event->time_ns, .thread = thread->row});
}

static int on_exit_event(struct recorder *r, const struct sideband_event *event)
{
	int err = keep_end(r, event);

	if (!err)
		err = process_table_on_exit(r->tasks.processes, event->pid, event->tid);
	if (err > 0)
		return err;
	thread_paths_on_exit(r->paths.threads, event->tid);
	if (!err && !process_table_knows(r->tasks.processes, event->pid)) {
		tracked_pids_remove(r->tasks.members, event->pid); /* that was its last thread */
		live_blocks_forget(r->memory.blocks, event->pid);
		alloc_coverage_on_exit(r->memory.coverage, event->pid);
		ranks_forget(r->mpi.ranks, event->pid);
	}
	return err;
}

static int on_fork_event(struct recorder *r, const struct sideband_event *event)
{
	thread_paths_forget(r->paths.threads, event->tid);
	path_builder_forget(r->paths.builder, event->tid);
	if (ranks_forked(r->mpi.ranks, event->pid, event->parent_pid))
		return -ENOMEM;
	return process_table_on_fork(r->tasks.processes, event->pid, event->tid, event->parent_pid,
				     event->parent_tid);
}

static int on_comm_event(struct recorder *r, const struct sideband_event *event)
{
	int err = 0;

	if (event->is_exec) {
		live_blocks_forget(r->memory.blocks, event->pid);
		err = alloc_coverage_on_exec(r->memory.coverage, event->pid, event->text);
	}
	return err ? err
		   : process_table_on_comm(r->tasks.processes, event->pid, event->tid, event->text,
					   event->is_exec);
}

int recorder_event(struct recorder *r, const struct sideband_event *event)
{
	if (event->kind == SIDEBAND_LOST) {
		r->taken.sideband_lost += event->lost;
		alloc_coverage_forget(r->memory.coverage);
		process_table_doubt_all(r->tasks.processes);
		r->tasks.wants_reload = r->tasks.wants_sweep = true;
		return recorder_reload(r);
	}
	if (event->kind == SIDEBAND_FORK && tracked_pids_has(r->tasks.members, event->parent_pid) &&
	    tracked_pids_add(r->tasks.members, event->pid))
		return -ENOMEM;
	if (event->kind == SIDEBAND_COMM && event->is_exec) {
		process_table_meet_exec(r->tasks.processes, event->pid);
		if (ranks_executed(r->mpi.ranks, event->pid, event->time_ns))
			return -ENOMEM;
	}
	if (event->kind == SIDEBAND_CGROUP || !tracked_pids_has(r->tasks.members, event->pid))
		return 0;
	switch (event->kind) {
	case SIDEBAND_MMAP:
		return on_mmap_event(r, event);
	case SIDEBAND_COMM:
		return on_comm_event(r, event);
	case SIDEBAND_FORK:
		return on_fork_event(r, event);
	case SIDEBAND_EXIT:
		return on_exit_event(r, event);
	default:
		return 0;
	}
}
