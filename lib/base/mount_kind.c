/* SPDX-License-Identifier: MIT */
/*
 * Looks mounts up in lists of them; see mount_kind.h.
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

#include "base/mount_list.h"

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

/* --- mounts ---------------------------------------------------------------------------------- */

/* Returns the number of the mount of a descriptor; -1: not known. */
static int mount_of(int fd)
{
	struct statx x;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &x) ||
	    !(x.stx_mask & STATX_MNT_ID))
		return -1;
	return (int)x.stx_mnt_id;
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

#define OWN "/proc/self"

/* Where a mount is looked for. */
struct where {
	struct mount_lists *lists;
	const char *proc_root;
	pid_t pid; /* of the process among whose mounts it may be; 0: none */
	bool wants_layers;
};

/* Gives the mounts of a process, by its folder; NULL: there are none, or *err is set, to -EMFILE,
 * -ENFILE or -ENOMEM. */
static struct mount_list *list_of(const struct where *where, const char *process, int *err)
{
	struct mount_list *list = NULL;
	int failed = mount_lists_get(where->lists, process, &list);

	if (failed == -EMFILE || failed == -ENFILE || failed == -ENOMEM)
		*err = failed;
	return list;
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

/* Returns the worst kind of layers, by the names of a list of mounts; NULL: there is none. */
static enum mount_kind kind_of_layers(const struct mount_list *list, struct layers *layers)
{
	enum mount_kind kind = MOUNT_LOCAL;

	for (size_t i = 0; i < layers->n; i++) {
		layers->items[i].best = 0;
		layers->items[i].kind = MOUNT_LAYERED;
	}
	for (size_t i = 0; list && i < list->n; i++)
		place_layers(layers, list->rows[i].folder, list->rows[i].type);
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

/* Returns the kind of an overlay by its options, of which it takes a copy. `first`: the mounts of
 * the first process, if the overlay is not in the own list. */
static enum mount_kind judge_overlay(const char *options, const struct mount_list *list,
				     const struct mount_list *first, bool is_own)
{
	struct layers layers = {0};
	char *copy = strdup(options);
	enum mount_kind kind = MOUNT_LAYERED;
	bool are_known = copy && take_layers(copy, &layers);

	if (copy)
		kind = kind_of_layers(list, &layers);
	if (copy && !is_own)
		kind = worse(kind, kind_of_layers(first, &layers));
	free(copy);
	return is_own && are_known ? kind : worse(kind, MOUNT_LAYERED);
}

/* Returns the kind of an overlay, which is in row `at` of a list. A container's overlay was mounted
 * by a program outside, most likely by one that has the mounts of the first process. */
static enum mount_kind kind_of_overlay(const struct where *where, struct mount_list *list,
				       size_t at, bool is_own, int *err)
{
	const uint64_t version = list->version;
	struct mount_list *first = NULL;
	struct mount_row *row;
	char process[PATH_MAX];

	if (!where->wants_layers)
		return MOUNT_LAYERED;
	if (!is_own && !is_of_our_users(where->proc_root, where->pid))
		return MOUNT_FOREIGN;
	snprintf(process, sizeof(process), "%s/1", where->proc_root);
	if (!is_own)
		first = list_of(where, process, err);
	if (list->version != version) /* its mounts have changed meanwhile */
		return MOUNT_UNKNOWN;
	row = &list->rows[at];
	if (row->judged[0] != version || row->judged[1] != (first ? first->version : 0)) {
		row->kind = (int)judge_overlay(row->options, list, first, is_own);
		row->judged[0] = version;
		row->judged[1] = first ? first->version : 0;
	}
	return (enum mount_kind)row->kind;
}

/* --- a mount --------------------------------------------------------------------------------- */

/* What is looked for in a list of mounts: a mount, or any mount of a file system. */
struct wanted {
	int mount;    /* its number; -1: any */
	dev_t device; /* of the file system, if any mount of it will do */
};

static bool is_wanted(const struct mount_row *row, const struct wanted *wanted)
{
	return wanted->mount >= 0 ? row->number == wanted->mount : row->device == wanted->device;
}

/* Finds a mount in the list of a process. */
static enum mount_kind find(const struct where *where, const char *process,
			    const struct wanted *wanted, int *err)
{
	struct mount_list *list = list_of(where, process, err);
	enum mount_kind kind;

	for (size_t i = 0; list && i < list->n; i++) {
		if (!is_wanted(&list->rows[i], wanted))
			continue;
		kind = kind_of_type(list->rows[i].type);
		return kind == MOUNT_LAYERED
			       ? kind_of_overlay(where, list, i, !strcmp(process, OWN), err)
			       : kind;
	}
	return MOUNT_UNKNOWN;
}

/* Returns whether a mount is that of this process's root folder. The list of mounts lacks it where
 * the root is no mount point (chroot()). This program was loaded from it, so it answers. */
static bool is_own_root(int mount)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const bool is = root >= 0 && mount >= 0 && mount_of(root) == mount;

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
	const int number = mount_of(fd);
	struct wanted wanted = {.mount = number};
	enum mount_kind kind = number < 0 ? MOUNT_UNKNOWN : find(where, OWN, &wanted, err);
	char process[PATH_MAX] = "";
	struct stat stat;

	if (where->pid > 0)
		snprintf(process, sizeof(process), "%s/%d", where->proc_root, (int)where->pid);
	if (kind == MOUNT_UNKNOWN && number >= 0 && *process)
		kind = find(where, process, &wanted, err);
	if (kind == MOUNT_UNKNOWN && (is_own_root(number) || is_in_memory(fd)))
		return MOUNT_LOCAL;
	if (kind != MOUNT_UNKNOWN || mount_stat(fd, &stat))
		return kind;
	/* Another mount of the same file system says what it is. */
	wanted = (struct wanted){.mount = -1, .device = stat.st_dev};
	kind = find(where, OWN, &wanted, err);
	return kind == MOUNT_UNKNOWN && *process ? find(where, process, &wanted, err) : kind;
}

/* Does the same with lists that are read for this question alone, unless the caller has some. */
static enum mount_kind find_by(struct mount_lists *lists, int fd, struct where *where, int *err)
{
	enum mount_kind kind;

	where->lists = lists;
	if (!lists && mount_lists_new(&where->lists)) {
		*err = -ENOMEM;
		return MOUNT_UNKNOWN;
	}
	kind = find_kind(fd, where, err);
	if (!lists)
		mount_lists_free(where->lists);
	return kind;
}

/* Returns whether a file is on the file system of this process's root folder, which answers, or
 * this program would not run. */
static bool is_on_root(int fd)
{
	struct stat root, st;

	return !mount_stat_path("/", &root) && !mount_stat(fd, &st) && root.st_dev == st.st_dev;
}

enum mount_kind mount_kind_of(struct mount_lists *lists, int fd, const char *proc_root, pid_t pid)
{
	struct where where = {.proc_root = proc_root, .pid = pid, .wants_layers = true};
	int err = 0;

	return is_on_root(fd) ? MOUNT_LOCAL : find_by(lists, fd, &where, &err);
}

int mount_check(struct mount_lists *lists, int fd, const char *proc_root, pid_t pid)
{
	struct where where = {.proc_root = proc_root, .pid = pid};
	int err = -ENOLINK;

	if (is_on_root(fd))
		return 0;
	switch (find_by(lists, fd, &where, &err)) {
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
