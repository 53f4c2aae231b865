/* SPDX-License-Identifier: MIT */
/* Cgroups by id; see cgroup_table.h. uthash keeps entries in the order in which they were added, so
 * the first entry is the oldest, which is removed to make room. */
#define HASH_NONFATAL_OOM 1
#include "proc/cgroup_table.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <uthash.h>

#define LOAD_EVERY_NS 1000000000u

struct cgroup {
	uint64_t id;
	UT_hash_handle hh; /* key id */
	char path[];
};

struct cgroup_table {
	char *mount; /* folder where the hierarchy is mounted, or NULL */
	char *proc_root;
	struct cgroup *cgroups;
	uint64_t loaded_ns; /* when cgroup_table_find() last read all folders; 0: never */
	uint64_t forgotten;
};

int cgroup_table_new(const char *mount, const char *proc_root, struct cgroup_table **ret_table)
{
	struct cgroup_table *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->mount = mount ? strdup(mount) : NULL;
	t->proc_root = strdup(proc_root);
	if ((mount && !t->mount) || !t->proc_root) {
		cgroup_table_free(t);
		return -ENOMEM;
	}
	*ret_table = t;
	return 0;
}

static void cgroup_drop(struct cgroup_table *t, struct cgroup *cgroup)
{
	HASH_DEL(t->cgroups, cgroup);
	free(cgroup);
}

void cgroup_table_free(struct cgroup_table *t)
{
	if (!t)
		return;
	while (t->cgroups)
		cgroup_drop(t, t->cgroups);
	free(t->mount);
	free(t->proc_root);
	free(t);
}

static struct cgroup *cgroup_of(const struct cgroup_table *t, uint64_t id)
{
	struct cgroup *cgroup;

	HASH_FIND(hh, t->cgroups, &id, sizeof(id), cgroup);
	return cgroup;
}

int cgroup_table_add(struct cgroup_table *t, uint64_t id, const char *path)
{
	struct cgroup *cgroup = cgroup_of(t, id);

	if (cgroup && strcmp(cgroup->path, path) == 0)
		return 0;
	if (cgroup)
		cgroup_drop(t, cgroup);
	cgroup = calloc(1, sizeof(*cgroup) + strlen(path) + 1);
	if (!cgroup)
		return -ENOMEM;
	cgroup->id = id;
	strcpy(cgroup->path, path);
	HASH_ADD(hh, t->cgroups, id, sizeof(cgroup->id), cgroup);
	if (!cgroup->hh.tbl) {
		free(cgroup);
		return -ENOMEM;
	}
	while (HASH_COUNT(t->cgroups) > CGROUP_TABLE_KEPT) {
		cgroup_drop(t, t->cgroups);
		t->forgotten++;
	}
	return 0;
}

/* --- reading /proc and the hierarchy --------------------------------------------------------- */

int cgroup_table_load(struct cgroup_table *t)
{
	char *const roots[] = {t->mount, NULL};
	FTS *tree = t->mount ? fts_open(roots, FTS_PHYSICAL | FTS_XDEV, NULL) : NULL;
	size_t skip = t->mount ? strlen(t->mount) : 0;
	FTSENT *entry;
	int err = 0;

	while (tree && !err && (entry = fts_read(tree))) {
		if (entry->fts_info == FTS_D)
			err = cgroup_table_add(t, entry->fts_statp->st_ino,
					       entry->fts_path[skip] ? entry->fts_path + skip
								     : "/");
	}
	if (tree)
		fts_close(tree);
	return err;
}

/* Reads the path of a process's cgroup: the line "0::/path" of /proc/PID/cgroup. */
static bool cgroup_of_process(const struct cgroup_table *t, pid_t pid, char *path, size_t size)
{
	char name[PATH_MAX], line[PATH_MAX + 8];
	bool is_found = false;
	FILE *file;

	snprintf(name, sizeof(name), "%s/%d/cgroup", t->proc_root, pid);
	file = fopen(name, "re");
	while (file && !is_found && fgets(line, sizeof(line), file))
		is_found = strncmp(line, "0::/", 4) == 0;
	if (file)
		fclose(file);
	if (!is_found)
		return false;
	line[strcspn(line, "\n")] = '\0';
	return (size_t)snprintf(path, size, "%s", line + 3) < size;
}

/* Adds the process's cgroup to the table if its id is still `id`. */
static int cgroup_try_process(struct cgroup_table *t, uint64_t id, pid_t pid)
{
	char path[PATH_MAX], folder[2 * PATH_MAX];
	struct stat st;

	if (!cgroup_of_process(t, pid, path, sizeof(path)))
		return 0;
	snprintf(folder, sizeof(folder), "%s%s", t->mount, path);
	return stat(folder, &st) == 0 && st.st_ino == id ? cgroup_table_add(t, id, path) : 0;
}

int cgroup_table_find(struct cgroup_table *t, uint64_t id, pid_t pid, uint64_t now_ns)
{
	int err;

	if (!t->mount || cgroup_of(t, id))
		return 0;
	err = cgroup_try_process(t, id, pid);
	if (err || cgroup_of(t, id) || (t->loaded_ns && now_ns - t->loaded_ns < LOAD_EVERY_NS))
		return err;
	t->loaded_ns = now_ns;
	return cgroup_table_load(t);
}

const char *cgroup_table_path(const struct cgroup_table *t, uint64_t id)
{
	const struct cgroup *cgroup = cgroup_of(t, id);

	return cgroup ? cgroup->path : NULL;
}

uint64_t cgroup_table_forgotten(const struct cgroup_table *t)
{
	return t->forgotten;
}

char *cgroup_table_mount(void)
{
	FILE *file = setmntent("/proc/self/mounts", "re");
	struct mntent *entry;
	char *mount = NULL;

	while (file && !mount && (entry = getmntent(file))) {
		if (strcmp(entry->mnt_type, "cgroup2") == 0)
			mount = strdup(entry->mnt_dir);
	}
	if (file)
		endmntent(file);
	return mount;
}
