/* SPDX-License-Identifier: MIT */
/*
 * Finds cgroups by name; see cgroup.h. The mounts are read from /proc/self/mountinfo, which also
 * has the controllers of a folder of version 1, by the device number of its file system.
 */
#include "daemon/capture/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define LINE_BYTES (3 * PATH_BYTES)
#define WHAT_BYTES (2 * NAME_MAX)

/* The mounts of cgroups. */
struct cgroup_mounts {
	dev_t device;		    /* device number of the folder's file system */
	char path[PATH_BYTES];	    /* mount point of the cgroups that perf accepts; empty: none is
				     * mounted */
	bool is_v1;		    /* `path` is a mount of version 1 */
	char controllers[NAME_MAX]; /* of the mount with `device`, if it is of version 1 */
};

/* Returns whether a list with commas has the word. */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; (at = strstr(at, word)); at++)
		if ((at == list || at[-1] == ',') && (at[len] == ',' || !at[len]))
			return true;
	return false;
}

/* Reads a line of mountinfo: "36 35 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu". */
static void take_mount(struct cgroup_mounts *mounts, char *line)
{
	char path[PATH_BYTES], type[16], options[NAME_MAX];
	const char *type_field = strstr(line, " - ");
	unsigned major, minor;
	bool is_v1;

	if (!type_field || sscanf(line, "%*d %*d %u:%u %*s %4095s", &major, &minor, path) != 3 ||
	    sscanf(type_field, " - %15s %*s %254s", type, options) != 2)
		return;
	is_v1 = strcmp(type, "cgroup") == 0;
	if (is_v1 && makedev(major, minor) == mounts->device)
		snprintf(mounts->controllers, sizeof(mounts->controllers), "%s",
			 options + (options[0] == 'r' && options[2] == ',' ? 3 : 0));
	if (is_v1 && has_word(options, "perf_event") && !mounts->is_v1) {
		mounts->is_v1 = true;
		strcpy(mounts->path, path);
	} else if (strcmp(type, "cgroup2") == 0 && !*mounts->path) {
		strcpy(mounts->path, path);
	}
}

static void read_mounts(dev_t device, struct cgroup_mounts *ret_mounts)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char line[LINE_BYTES];

	*ret_mounts = (struct cgroup_mounts){.device = device};
	while (file && fgets(line, sizeof(line), file))
		take_mount(ret_mounts, line);
	if (file)
		fclose(file);
}

/* Returns whether perf does not accept the folder as a cgroup; if so, writes to `what` what the
 * folder is instead. */
static bool is_other(int fd, const struct cgroup_mounts *mounts, char *what, size_t size)
{
	struct statfs fs;

	if (fstatfs(fd, &fs)) {
		snprintf(what, size, "%s", strerror(errno));
	} else if (fs.f_type == CGROUP_SUPER_MAGIC) {
		snprintf(what, size, "a cgroup of version 1 (%s)", mounts->controllers);
		return !mounts->is_v1 || !has_word(mounts->controllers, "perf_event");
	} else if (fs.f_type == CGROUP2_SUPER_MAGIC) {
		snprintf(what, size, "a cgroup of version 2, which is without perf_event");
		return mounts->is_v1;
	} else {
		snprintf(what, size, "a folder, not a cgroup");
	}
	return true;
}

static void explain(char **ret_error, const char *path, const char *what,
		    const struct cgroup_mounts *mounts)
{
	const char *kind = mounts->is_v1 ? "those of perf_event" : "version 2";
	int length;

	if (*mounts->path)
		length = asprintf(ret_error, "--cgroup '%s': %s; cgroups of %s are mounted at %s",
				  path, what, kind, mounts->path);
	else
		length = asprintf(ret_error,
				  "--cgroup '%s': %s; cgroups of version 2 are not mounted", path,
				  what);
	if (length < 0)
		*ret_error = NULL;
}

/* Opens a folder if it is a cgroup that perf accepts. 0, or -errno with a description of the folder
 * in `what`. */
static int try_folder(const char *folder, struct cgroup_mounts *mounts, int *ret_fd, char *what,
		      size_t size)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = -errno;
	struct stat st;

	if (fd < 0) {
		snprintf(what, size, "%s",
			 err == -ENOTDIR ? "a file, not a cgroup" : strerror(-err));
		return err;
	}
	if (fstat(fd, &st) == 0)
		read_mounts(st.st_dev, mounts);
	if (is_other(fd, mounts, what, size)) {
		close(fd);
		return -EINVAL;
	}
	*ret_fd = fd;
	return 0;
}

int cgroup_open(const char *path, int *ret_fd, char **ret_error)
{
	char folder[2 * PATH_BYTES], first[WHAT_BYTES], what[WHAT_BYTES];
	struct cgroup_mounts mounts;
	int err, err_below = -ENOENT;

	read_mounts(0, &mounts);
	err = try_folder(path, &mounts, ret_fd, first, sizeof(first));
	if (err && *mounts.path) {
		snprintf(folder, sizeof(folder), "%s/%s", mounts.path, path);
		err_below = try_folder(folder, &mounts, ret_fd, what, sizeof(what));
	}
	if (err && err_below) {
		snprintf(folder, sizeof(folder), "/sys/fs/cgroup/%s", path);
		err_below = try_folder(folder, &mounts, ret_fd, what, sizeof(what));
	}
	if (!err || !err_below)
		return 0;
	explain(ret_error, path, err == -ENOENT ? what : first, &mounts);
	return err == -ENOENT ? err_below : err;
}
