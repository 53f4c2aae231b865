/* SPDX-License-Identifier: MIT */
/*
 * Reads fdinfo and mountinfo; see mount_kind.h.
 *
 * statx() with AT_STATX_DONT_SYNC gives what the kernel has. FUSE gives at least device, inode and
 * type then.
 *
 * Files in memory without a name (memfd_create(), shared memory) are on a mount of the kernel's
 * that no list has. All of them have one device, by which they are recognised.
 *
 * A file of an overlay is read from one of its layers, which the mount's options name by paths of
 * the mount namespace of who has mounted it. They are looked for among the mounts of this process,
 * if it has the overlay, too; else among those of the process that has, and of process 1. What is
 * not found there was still chosen by root: a user without rights can mount an overlay in a
 * namespace of users of their own alone.
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
		{"orangefs", MOUNT_NETWORK}, {"coda", MOUNT_SERVED},	{"overlay", MOUNT_LAYERED},
	};
	const size_t len = strcspn(type, " .\n"); /* also "fuse.sshfs" */

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strlen(kinds[i].type) == len && !strncmp(type, kinds[i].type, len))
			return kinds[i].kind;
	return MOUNT_LOCAL;
}

/* --- overlays -------------------------------------------------------------------------------- */

#define OWN_MOUNTS "/proc/self/mountinfo"

/* Where a mount is looked for. */
struct where {
	const char *proc_root;
	pid_t pid; /* of the process among whose mounts it may be; 0: none */
	bool wants_layers;
};

/* Replaces escapes of mountinfo, such as "\\040" for a space, in place. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		if (*from == '\\' && strspn(from + 1, "01234567") >= 3) {
			*to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/* Returns whether a path is a folder or lies in it. */
static bool is_below(const char *path, const char *folder)
{
	const size_t len = strlen(folder);

	if (!strcmp(folder, "/"))
		return true;
	return !strncmp(path, folder, len) && (path[len] == '/' || !path[len]);
}

/* Returns the kind that is more likely not to answer. */
static enum mount_kind worse(enum mount_kind a, enum mount_kind b)
{
	static const unsigned ranks[] = {
		[MOUNT_LOCAL] = 0,   [MOUNT_LAYERED] = 1, [MOUNT_NETWORK] = 2,
		[MOUNT_FOREIGN] = 3, [MOUNT_UNKNOWN] = 4, [MOUNT_SERVED] = 5};

	return ranks[b] > ranks[a] ? b : a;
}

#define MOST_LAYERS 512 /* the kernel allows 500 lower ones */

struct layers {
	size_t n;
	struct layer {
		const char *path;     /* within the options */
		size_t best;	      /* bytes of the longest folder so far that has the path */
		enum mount_kind kind; /* of that folder */
	} items[MOST_LAYERS];
};

/* Takes the paths of layers from options, which are separated by commas, and cuts these into
 * pieces. false: not all paths are known. */
static bool take_layers(char *options, struct layers *layers)
{
	static const char *const names[] = {"lowerdir=", "lowerdir+=", "datadir+=", "upperdir="};
	bool are_known = !strchr(options, '\\'); /* else a name has a comma or a colon */
	char *option, *layer, *next = are_known ? options : NULL;

	while ((option = strsep(&next, ",\n"))) {
		char *paths = NULL;

		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
			if (!strncmp(option, names[i], strlen(names[i])))
				paths = option + strlen(names[i]);
		while ((layer = strsep(&paths, ":"))) {
			if (*layer == '/' && layers->n < MOST_LAYERS)
				layers->items[layers->n++] =
					(struct layer){.path = layer, .kind = MOUNT_LAYERED};
			else
				are_known &= !*layer;
		}
	}
	return are_known;
}

/* Finds the layers that are below a mount of this folder and type. The root folder answers: a
 * program was loaded from it. */
static void place_layers(struct layers *layers, const char *folder, const char *type)
{
	const size_t len = strlen(folder);

	for (size_t i = 0; i < layers->n; i++) {
		struct layer *layer = &layers->items[i];

		if (len < layer->best || !is_below(layer->path, folder))
			continue;
		layer->best = len;
		layer->kind = len == 1 ? MOUNT_LOCAL : kind_of_type(type);
	}
}

/* Returns the worst kind of layers, by the names of a list of mounts, which is read once. */
static enum mount_kind kind_of_layers(const char *mountinfo, struct layers *layers, int *err)
{
	FILE *file = open_list(mountinfo, err);
	enum mount_kind kind = MOUNT_LOCAL;
	char *line = NULL, folder[PATH_MAX];
	size_t size = 0;

	for (size_t i = 0; i < layers->n; i++) {
		layers->items[i].best = 0;
		layers->items[i].kind = MOUNT_LAYERED;
	}
	while (file && getline(&line, &size, file) > 0) {
		const char *type = strstr(line, " - ");

		if (!type || sscanf(line, "%*d %*d %*s %*s %4095s", folder) != 1)
			continue;
		unescape(folder);
		place_layers(layers, folder, type + 3);
	}
	free(line);
	if (file)
		fclose(file);
	for (size_t i = 0; i < layers->n; i++)
		kind = worse(kind, layers->items[i].kind);
	return kind;
}

/* Returns whether a process is in this process's namespace of users. */
static bool is_of_our_users(const char *proc_root, pid_t pid)
{
	char path[PATH_MAX];
	struct stat own, other;

	snprintf(path, sizeof(path), "%s/%d/ns/user", proc_root, (int)pid);
	return !mount_stat_path("/proc/self/ns/user", &own) && !mount_stat_path(path, &other) &&
	       own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

/* Returns the kind of an overlay by its options, which it cuts into pieces. `where` and
 * `mountinfo`: the list that it is in. */
static enum mount_kind kind_of_overlay(char *options, const struct where *where,
				       const char *mountinfo, int *err)
{
	const bool is_own = !strcmp(mountinfo, OWN_MOUNTS);
	struct layers layers = {0};
	enum mount_kind kind;
	char first[PATH_MAX];
	bool are_known;

	if (!where->wants_layers)
		return MOUNT_LAYERED;
	if (!is_own && !is_of_our_users(where->proc_root, where->pid))
		return MOUNT_FOREIGN;
	are_known = take_layers(options, &layers);
	kind = kind_of_layers(mountinfo, &layers, err);
	if (is_own)
		return are_known ? kind : worse(kind, MOUNT_LAYERED);
	/* A container's overlay was mounted by a program outside, most likely by one that has the
	 * mounts of the first process. */
	snprintf(first, sizeof(first), "%s/1/mountinfo", where->proc_root);
	return worse(worse(kind, kind_of_layers(first, &layers, err)), MOUNT_LAYERED);
}

/* --- a mount --------------------------------------------------------------------------------- */

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
static enum mount_kind find(const struct where *where, const char *mountinfo,
			    const struct wanted *wanted, int *err)
{
	enum mount_kind kind = MOUNT_UNKNOWN;
	FILE *file = open_list(mountinfo, err);
	char *line = NULL;
	size_t size = 0;

	while (file && kind == MOUNT_UNKNOWN && getline(&line, &size, file) > 0) {
		char *type = strstr(line, " - ");

		if (!type || !is_wanted(line, wanted))
			continue;
		kind = kind_of_type(type + 3);
		if (kind == MOUNT_LAYERED)
			kind = kind_of_overlay(type + 3, where, mountinfo, err);
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
static enum mount_kind find_kind(int fd, const struct where *where, int *err)
{
	const int number = mount_of(fd, err);
	struct wanted wanted = {.mount = number};
	enum mount_kind kind = find(where, OWN_MOUNTS, &wanted, err);
	char path[PATH_MAX] = "";
	struct stat stat;

	if (where->pid > 0)
		snprintf(path, sizeof(path), "%s/%d/mountinfo", where->proc_root, (int)where->pid);
	if (kind == MOUNT_UNKNOWN && *path)
		kind = find(where, path, &wanted, err);
	if (kind == MOUNT_UNKNOWN && (is_own_root(number, err) || is_in_memory(fd)))
		return MOUNT_LOCAL;
	if (kind != MOUNT_UNKNOWN || mount_stat(fd, &stat))
		return kind;
	/* Another mount of the same file system says what it is. */
	wanted = (struct wanted){.mount = -1, .device = stat.st_dev};
	kind = find(where, OWN_MOUNTS, &wanted, err);
	return kind == MOUNT_UNKNOWN && *path ? find(where, path, &wanted, err) : kind;
}

/* Returns whether a file is on the file system of this process's root folder, which answers, or
 * this program would not run. */
static bool is_on_root(int fd)
{
	struct stat root, st;

	return !mount_stat_path("/", &root) && !mount_stat(fd, &st) && root.st_dev == st.st_dev;
}

enum mount_kind mount_kind_of(int fd, const char *proc_root, pid_t pid)
{
	const struct where where = {proc_root, pid, .wants_layers = true};
	int err = 0;

	return is_on_root(fd) ? MOUNT_LOCAL : find_kind(fd, &where, &err);
}

int mount_check(int fd, const char *proc_root, pid_t pid)
{
	const struct where where = {proc_root, pid, .wants_layers = false};
	int err = -ENOLINK;

	switch (find_kind(fd, &where, &err)) {
	case MOUNT_LOCAL:
	case MOUNT_NETWORK:
	case MOUNT_LAYERED:
	case MOUNT_FOREIGN:
		return 0;
	case MOUNT_SERVED:
		return -EREMOTE;
	case MOUNT_UNKNOWN:
		return err;
	}
	return err;
}
