/* SPDX-License-Identifier: MIT */
/* See recorder_files.h. */
#include "daemon/recorder/recorder_files.h"

#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/int_map.h"
#include "base/mount_kind.h"
#include "base/mount_list.h"
#include "daemon/base/slowness.h"
#include "proc/proc_fs.h"

/* Limits for open files that no process maps: how many stay open, and for how long. They stay open
 * since names of locations are looked up in them within a minute or two. */
#define KEPT_FILES    4096u
#define FILE_GRACE_NS UINT64_C(180000000000)
#define FILE_PAUSE_NS UINT64_C(10000000000)
/* The same for deleted files and copies, and for files on other file systems than the root's. Names
 * that are looked for later than that, as those of large files, are asked for then, and waited
 * for (open_files.h). */
#define DELETED_GRACE_NS   UINT64_C(5000000000)
#define MOST_DELETED_BYTES (UINT64_C(256) << 20)
#define APART_GRACE_NS	   UINT64_C(70000000000)
#define NAMES_GRACE_NS	   UINT64_C(60000000000)
#define BURDEN_PAUSE_NS	   UINT64_C(2000000000)

/* Files that a user's processes may bring at once, and in a second, if the budget is a core. */
#define FILES_BURST    1024
#define FILES_PER_CORE 50

/* --- opening --------------------------------------------------------------------------------- */

/* The loop waits while a worker identifies a file. A user's files may make it wait so many seconds
 * in a row, and so large a part of the time in the long run. It counts, with all the time that it
 * took, if the worker has computed for long: then the file was slow, and not the machine alone. */
#define WAITS_BURST_S 3
#define WAITS_SHARE   0.05
#define SLOW_NS	      UINT64_C(100000000)
#define USUAL_NS      UINT64_C(1000000) /* a file that takes a worker longer counts as several */

/* Returns who pays for a file: the user whose process has brought it; of a file that is looked at
 * again, since it was written to, its owner. */
static uid_t payer_of(struct recorder_files *f, int fd)
{
	const bool has_user = f->has_user;
	struct stat st;

	f->has_user = false;
	return has_user ? f->user : mount_stat(fd, &st) ? (uid_t)-1 : st.st_uid;
}

static int open_there(void *arg, int fd, const char *path, struct elf_file **ret_file)
{
	struct recorder_files *f = arg;
	struct worker *worker = ask_files_worker(f->ask);
	const uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC), before_ns = worker_cpu_ns(worker);
	const uid_t user = payer_of(f, fd);
	int err = ask_files_open(f->ask, fd, path, ret_file);
	const uint64_t after_ns = worker_cpu_ns(worker), now_ns = clock_ns(CLOCK_MONOTONIC);
	const uint64_t spent_ns = after_ns > before_ns ? after_ns - before_ns : 0;
	const uint64_t usual_files = spent_ns / USUAL_NS;

	if (f->is_running && f->budget > 0)
		user_shares_spend(&f->shares, user, f->price * (double)usual_files, f->budget,
				  now_ns);
	if (spent_ns > SLOW_NS || err == -EOWNERDEAD)
		user_shares_spend(&f->waits, user, (double)(now_ns - begin_ns) / 1e9, 1, now_ns);
	return err;
}

static int fetch_there(void *arg, int path_fd, const struct stat *st, pid_t pid, bool may_open)
{
	const struct recorder_files *f = arg;

	return ask_files_fetch(f->ask, path_fd, st, pid, may_open);
}

#define REFUSED_NS UINT64_C(100000000)

/* Files of processes that ran before stackd cost nobody's share. A process with thousands of files
 * is refused one after the other without being looked at each time. */
static bool may_read(void *arg, pid_t pid)
{
	struct recorder_files *f = arg;
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	struct proc_fs_status status;
	bool may;

	if (pid == f->refused_pid && now_ns - f->refused_ns < REFUSED_NS) {
		f->refused++;
		return false;
	}
	if (proc_fs_status("/proc", pid, &status))
		status.uid = (uid_t)-1; /* nobody knows whose it was */
	f->user = status.uid;
	f->has_user = true;
	may = user_shares_has(&f->waits, f->user, 1, now_ns) &&
	      (!f->is_running ||
	       user_shares_take(&f->shares, f->user, (unsigned)f->price, f->budget, now_ns));
	f->refused += !may;
	f->refused_pid = may ? 0 : pid;
	f->refused_ns = now_ns;
	return may;
}

/* Files are opened by a worker, or here. */
static int make_objects(struct recorder_files *f, const struct recorder_options *o)
{
	struct elf_opener opener = {
		.open = open_there, .fetch = fetch_there, .may_read = may_read, .arg = f};
	int err;

	if (!o->workers)
		return object_table_new("/proc", &f->objects);
	err = slow_files_new(o->copier, &f->slow);
	if (!err)
		err = mount_lists_new(&f->mounts);
	if (!err)
		err = ask_files_new(workers_of(o->workers, WORKER_LOOP), f->slow, o->tags, &f->ask);
	opener.mounts = f->mounts;
	f->budget = f->full_budget = o->budget;
	f->price = 1;
	f->shares = (struct user_shares){.burst = FILES_BURST, .per_core = FILES_PER_CORE};
	f->waits = (struct user_shares){.burst = WAITS_BURST_S * (double)slowness(),
					.per_core = WAITS_SHARE};
	return err ? err : object_table_new_by("/proc", &opener, &f->objects);
}

int recorder_files_init(struct recorder_files *f, const struct recorder_options *o)
{
	int err = make_objects(f, o);

	return !err && o->keeps_copies ? object_table_keep_copies(f->objects) : err;
}

void recorder_files_fini(struct recorder_files *f)
{
	fuse_devices_fini(&f->fuse_devices);
	open_files_free(f->open);
	written_files_free(f->written);
	object_table_free(f->objects);
	ask_files_free(f->ask);
	slow_files_free(f->slow);
	mount_lists_free(f->mounts);
}

/* --- files on mounts that may not answer ------------------------------------------------------ */

#define FAILED_PAUSE_NS UINT64_C(1000000000) /* between two looks at those that have failed */
#define AGAIN_SHARE	10 /* they take at most this part of the loop's time: one in ten */

/* Returns what a process has mapped at an address; NULL: nothing, as far as is known yet. */
static const struct object *mapped_at(struct process_table *processes, pid_t pid, uint64_t address)
{
	const struct mapping *is = process_table_knows(processes, pid)
					   ? process_table_mapping(processes, pid, address)
					   : NULL;

	return is ? is->object : NULL;
}

/* Returns whether the process runs, and nothing else is known to have been mapped there since. */
static bool is_wanted(void *arg, pid_t pid, const struct object_mapping *m,
		      const struct object *before)
{
	const struct object *is = mapped_at(arg, pid, m->start);
	struct proc_fs_status status;

	return (!is || is == before) && !proc_fs_status("/proc", pid, &status);
}

/* Puts the file's object in the place of the one that stood for it. */
static int enter_again(void *arg, pid_t pid, const struct object_mapping *m,
		       const struct object *before, const struct object *now)
{
	const struct mapping mapping = {
		.start = m->start, .end = m->end, .offset = m->offset, .object = now};

	return now != before && mapped_at(arg, pid, m->start) == before
		       ? process_table_set_mapping(arg, pid, &mapping)
		       : 0;
}

/* Begins to resolve mappings again, if there is a reason to. */
static void begin_again(struct recorder_files *f, uint64_t now_ns)
{
	const bool with_failed = now_ns >= f->failed_again_ns;

	if (with_failed) {
		mount_lists_rest(f->mounts, now_ns);
		f->failed_again_ns = now_ns + FAILED_PAUSE_NS;
	}
	if (!with_failed && !f->has_news)
		return;
	object_table_begin_again(f->objects, f->has_news);
	f->has_news = false;
	f->is_again = true;
}

int recorder_files_look(struct recorder_files *f, struct process_table *processes)
{
	const struct object_again again = {processes, is_wanted, enter_again};
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	int err;

	f->is_running = true;
	if (!f->slow)
		return 0;
	f->has_news |= slow_files_look(f->slow, now_ns);
	begin_again(f, now_ns);
	if (!f->is_again || now_ns < f->again_ns)
		return 0;
	err = object_table_resolve_again(f->objects, &again, now_ns);
	f->is_again = err > 0;
	f->again_ns = now_ns + AGAIN_SHARE * (clock_ns(CLOCK_MONOTONIC) - now_ns);
	return err < 0 ? err : 0;
}

bool recorder_files_are_copied(const struct recorder_files *f)
{
	return f->slow && (f->has_news || f->is_again || slow_files_is_busy(f->slow));
}

static bool is_open(void *arg, uint64_t inode)
{
	const struct int_map *open = arg;

	return int_map_find(open, inode) != INT_MAP_NONE;
}

/* A file on another file system that has a memfd's inode number makes a copy count for longer. */
void recorder_files_count(struct recorder_files *f)
{
	struct int_map open = {0};
	bool has_failed = false;

	if (!f->slow || !slow_files_has_copies(f->slow))
		return;
	for (uint32_t i = 0; i < object_table_count(f->objects); i++) {
		const struct object *object = object_table_at(f->objects, i);

		if (object->kind == OBJECT_ELF && object->elf && elf_file_is_open(object->elf))
			has_failed |= int_map_set(&open, elf_file_inode(object->elf), i) != 0;
	}
	if (!has_failed)
		slow_files_recount(f->slow, is_open, &open);
	int_map_fini(&open);
}

struct slow_files_counts recorder_files_slow(const struct recorder_files *f)
{
	return f->slow ? slow_files_counts(f->slow) : (struct slow_files_counts){0};
}

#define WRITTEN_IN_BUDGET 4 /* looking at files that were written to takes this part of it */

/* A quarter of the descriptors that stackd may have, at most 4096, is kept for files that may be
 * mapped again; once half of the descriptors are used, such files are closed without delay. */
static int close_unmapped(struct recorder_files *f, struct process_table *processes)
{
	struct rlimit limit;
	struct stat root;
	const uint64_t may = getrlimit(RLIMIT_NOFILE, &limit) ? 1024 : limit.rlim_cur;
	const struct open_files_options options = {
		.objects = f->objects,
		.processes = processes,
		.kept = (uint32_t)(may / 4 < KEPT_FILES ? may / 4 : KEPT_FILES),
		.most = (uint32_t)(may / 2 < UINT32_MAX ? may / 2 : UINT32_MAX),
		.grace_ns = FILE_GRACE_NS,
		.deleted_grace_ns = DELETED_GRACE_NS,
		.most_deleted_bytes = MOST_DELETED_BYTES,
		.apart_grace_ns = APART_GRACE_NS,
		.root_dev = stat("/", &root) ? 0 : root.st_dev,
		.names_grace_ns = NAMES_GRACE_NS,
		.burden_pause_ns = BURDEN_PAUSE_NS,
		.pause_ns = FILE_PAUSE_NS,
	};

	return open_files_new(&options, &f->open);
}

int recorder_files_watch(struct recorder_files *f, const struct recorder_options *o,
			 struct process_table *processes)
{
	if (o->code)
		f->watch_error = written_files_new(f->objects, processes, o->code->files_written,
						   &f->written);
	if (f->written && o->budget > 0)
		written_files_pace(f->written, o->budget / WRITTEN_IN_BUDGET);
	return o->closes_files ? close_unmapped(f, processes) : 0;
}

void recorder_files_set_budget(struct recorder_files *f, double budget)
{
	f->budget = budget;
	f->price = budget > 0 && f->full_budget > budget ? f->full_budget / budget : 1;
	if (f->written)
		written_files_pace(f->written, budget / WRITTEN_IN_BUDGET);
}

/* The kernel half identifies the vDSO by an inode number that no file has. All processes have the
 * same vDSO, so stackd's own is used. */
void recorder_files_want_vdso(struct recorder_files *f, struct tables *tables)
{
	const struct stackd_inode key = {.inode = UINT64_MAX};
	const uint64_t start = getauxval(AT_SYSINFO_EHDR);
	const struct object_mapping vdso = {.path = "[vdso]", .start = start, .end = start + 1};
	const struct object *object;

	if (!object_table_resolve(f->objects, getpid(), &vdso, &object))
		tables_want(tables, object, &key);
}
