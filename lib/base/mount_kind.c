/* SPDX-License-Identifier: MIT */
/*
 * Reads fdinfo and mountinfo; see mount_kind.h.
 *
 * statx() with AT_STATX_DONT_SYNC gives what the kernel has. FUSE gives at least device, inode and
 * type then.
 *
 * Files in memory without a name (memfd_create(), shared memory) are on a mount of the kernel's
 * that no list has. All of them have one device, by which they are recognised.
 */
#include "base/mount_kind.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* --- stat without asking --------------------------------------------------------------------- */

static int stat_at(int fd, const char *path, int flags, struct stat *ret_stat)
{
	struct statx x;

	if (statx(fd, path, flags | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &x))
		return -errno;
	*ret_stat = (struct stat){
		.st_dev = makedev(x.stx_dev_major, x.stx_dev_minor),
		.st_ino = x.stx_ino,
		.st_mode = x.stx_mode,
		.st_nlink = x.stx_nlink,
		.st_uid = x.stx_uid,
		.st_gid = x.stx_gid,
		.st_size = (off_t)x.stx_size,
		.st_mtim = {x.stx_mtime.tv_sec, x.stx_mtime.tv_nsec},
		.st_ctim = {x.stx_ctime.tv_sec, x.stx_ctime.tv_nsec},
	};
	return 0;
}

int mount_stat(int fd, struct stat *ret_stat)
{
	return stat_at(fd, "", AT_EMPTY_PATH, ret_stat);
}

int mount_stat_path(const char *path, struct stat *ret_stat)
{
	return stat_at(AT_FDCWD, path, 0, ret_stat);
}

/* --- lists of mounts ------------------------------------------------------------------------- */

/* Opens a list; NULL: there is none, or *err is set, to -EMFILE, -ENFILE or -ENOMEM. */
static FILE *open_list(const char *path, int *err)
{
	FILE *file = fopen(path, "re");

	if (!file && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
		*err = -errno;
	return file;
}

/* Returns the number of the mount of a descriptor; -1: not known. */
static int mount_of(int fd, int *err)
{
	char path[64], *line = NULL;
	size_t size = 0;
	FILE *file;
	int number = -1;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = open_list(path, err);
	while (file && number < 0 && getline(&line, &size, file) > 0)
		if (sscanf(line, "mnt_id: %d", &number) != 1)
			number = -1;
	free(line);
	if (file)
		fclose(file);
	return number;
}

static enum mount_kind kind_of_type(const char *type)
{
	static const struct {
		const char *type;
		enum mount_kind kind;
	} kinds[] = {
		{"fuse", MOUNT_SERVED},	     {"fuseblk", MOUNT_SERVED}, {"autofs", MOUNT_SERVED},
		{"nfs", MOUNT_NETWORK},	     {"nfs4", MOUNT_NETWORK},	{"cifs", MOUNT_NETWORK},
		{"smb3", MOUNT_NETWORK},     {"smbfs", MOUNT_NETWORK},	{"ceph", MOUNT_NETWORK},
		{"afs", MOUNT_NETWORK},	     {"lustre", MOUNT_NETWORK}, {"9p", MOUNT_NETWORK},
		{"beegfs", MOUNT_NETWORK},   {"gpfs", MOUNT_NETWORK},	{"pvfs2", MOUNT_NETWORK},
		{"orangefs", MOUNT_NETWORK}, {"coda", MOUNT_SERVED},
	};
	const size_t len = strcspn(type, " .\n"); /* also "fuse.sshfs" */

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strlen(kinds[i].type) == len && !strncmp(type, kinds[i].type, len))
			return kinds[i].kind;
	return MOUNT_LOCAL;
}

/* What is looked for in a list of mounts: a mount, or any mount of a file system. */
struct wanted {
	int mount;    /* its number; -1: any */
	dev_t device; /* of the file system, if any mount of it will do */
};

static bool is_wanted(const char *line, const struct wanted *wanted)
{
	unsigned major, minor;
	int mount;

	if (sscanf(line, "%d %*d %u:%u", &mount, &major, &minor) != 3)
		return false;
	return wanted->mount >= 0 ? mount == wanted->mount
				  : makedev(major, minor) == wanted->device;
}

/* Finds a mount in a file like /proc/self/mountinfo, whose lines are
 * "36 35 8:1 / /mnt rw - fuseblk /dev/sda1 rw". */
static enum mount_kind find(const char *mountinfo, const struct wanted *wanted, int *err)
{
	enum mount_kind kind = MOUNT_UNKNOWN;
	FILE *file = open_list(mountinfo, err);
	char *line = NULL;
	size_t size = 0;

	while (file && kind == MOUNT_UNKNOWN && getline(&line, &size, file) > 0) {
		const char *type = strstr(line, " - ");

		if (type && is_wanted(line, wanted))
			kind = kind_of_type(type + 3);
	}
	free(line);
	if (file)
		fclose(file);
	return kind;
}

/* Returns whether a mount is that of this process's root folder. The list of mounts lacks it where
 * the root is no mount point (chroot()). This program was loaded from it, so it answers. */
static bool is_own_root(int mount, int *err)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const bool is = root >= 0 && mount >= 0 && mount_of(root, err) == mount;

	if (root >= 0)
		close(root);
	return is;
}

/* Returns whether a file is in the kernel's own mount of files in memory. */
static bool is_in_memory(int fd)
{
	int memory = memfd_create("stackd-device", MFD_CLOEXEC);
	struct stat one, other;
	bool is = memory >= 0 && !mount_stat(memory, &one) && !mount_stat(fd, &other) &&
		  one.st_dev == other.st_dev;

	if (memory >= 0)
		close(memory);
	return is;
}

/* Does what mount_kind_of() does. *err is set if it is MOUNT_UNKNOWN for lack of memory or of
 * descriptors. */
static enum mount_kind find_kind(int fd, const char *proc_root, pid_t pid, int *err)
{
	const int number = mount_of(fd, err);
	struct wanted wanted = {.mount = number};
	enum mount_kind kind = find("/proc/self/mountinfo", &wanted, err);
	char path[PATH_MAX] = "";
	struct stat stat;

	if (pid > 0)
		snprintf(path, sizeof(path), "%s/%d/mountinfo", proc_root, (int)pid);
	if (kind == MOUNT_UNKNOWN && *path)
		kind = find(path, &wanted, err);
	if (kind == MOUNT_UNKNOWN && (is_own_root(number, err) || is_in_memory(fd)))
		return MOUNT_LOCAL;
	if (kind != MOUNT_UNKNOWN || mount_stat(fd, &stat))
		return kind;
	/* Another mount of the same file system says what it is. */
	wanted = (struct wanted){.mount = -1, .device = stat.st_dev};
	kind = find("/proc/self/mountinfo", &wanted, err);
	return kind == MOUNT_UNKNOWN && *path ? find(path, &wanted, err) : kind;
}

enum mount_kind mount_kind_of(int fd, const char *proc_root, pid_t pid)
{
	int err = 0;

	return find_kind(fd, proc_root, pid, &err);
}

int mount_check(int fd, const char *proc_root, pid_t pid)
{
	int err = -ENOLINK;

	switch (find_kind(fd, proc_root, pid, &err)) {
	case MOUNT_LOCAL:
	case MOUNT_NETWORK:
		return 0;
	case MOUNT_SERVED:
		return -EREMOTE;
	case MOUNT_UNKNOWN:
		return err;
	}
	return err;
}
