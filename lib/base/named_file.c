/* SPDX-License-Identifier: MIT */
/*
 * Opens files that others name; see named_file.h.
 *
 * The kernel's own file systems have no blocks by statfs(), and the others have: so a file system
 * without blocks is refused, but for those of which some have no limit (tmpfs), or whose server
 * says nothing (FUSE). efivarfs counts the bytes of its variables, so it is refused by its type.
 *
 * named_file_open_for() walks a path component by component. Each one is opened as a path without
 * following a link, and then its owner and mode are read from that descriptor, so nothing can be
 * exchanged between check and use. A link's target is put before the rest of the path.
 */
#include "base/named_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MOST_LINKS 40

/* Types that linux/magic.h lacks. */
#define FUSE_TYPE 0x65735546
#define CIFS_TYPE 0xff534d42
#define SMB2_TYPE 0xfe534d42

/* --- what is opened at all ------------------------------------------------------------------- */

/* Returns whether a file system can hold files although it has no blocks. */
static bool may_lack_blocks(uint32_t type)
{
	static const uint32_t types[] = {
		TMPFS_MAGIC, RAMFS_MAGIC, HUGETLBFS_MAGIC, OVERLAYFS_SUPER_MAGIC,
		FUSE_TYPE,   V9FS_MAGIC,  NFS_SUPER_MAGIC, ECRYPTFS_SUPER_MAGIC,
		CIFS_TYPE,   SMB2_TYPE,	  AFS_FS_MAGIC,	   CEPH_SUPER_MAGIC,
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (types[i] == type)
			return true;
	return false;
}

static bool holds_files(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) || (uint32_t)fs.f_type == EFIVARFS_MAGIC)
		return false;
	return fs.f_blocks || may_lack_blocks((uint32_t)fs.f_type);
}

/* Opens a file that may be opened, as far as its owner is concerned. */
static int reopen(int path_fd, const struct stat *st)
{
	char self[64];
	int fd;

	if (!S_ISREG(st->st_mode) || !holds_files(path_fd))
		return -EACCES;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", path_fd);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

int named_file_reopen(int path_fd)
{
	struct stat st;

	return fstat(path_fd, &st) ? -errno : reopen(path_fd, &st);
}

int named_file_reopen_of(int path_fd, uid_t user, uid_t other_user)
{
	struct stat st;

	if (fstat(path_fd, &st))
		return -errno;
	if ((st.st_uid != user && st.st_uid != other_user) || st.st_nlink > 1)
		return -EACCES;
	return reopen(path_fd, &st);
}

int named_file_open(const char *path)
{
	int path_fd = open(path, O_PATH | O_CLOEXEC), fd;

	if (path_fd < 0)
		return -errno;
	fd = named_file_reopen(path_fd);
	close(path_fd);
	return fd;
}

/* --- what a user may read -------------------------------------------------------------------- */

struct walk {
	uid_t user;
	char rest[PATH_MAX]; /* the part of the path that is still to be walked */
	unsigned links;
	int fd;		   /* owned: where the walk is, an O_PATH descriptor */
	struct stat st;	   /* of `fd` */
	bool is_roots;	   /* only root could have put what is at `fd` there */
	bool is_in_shared; /* `fd` was found in a folder where everybody may make files (/tmp) */
};

/* Goes to a descriptor, which the walk owns from now on. */
static int go_to(struct walk *w, int fd)
{
	bool is_shared = S_ISDIR(w->st.st_mode) && (w->st.st_mode & (S_IWGRP | S_IWOTH));

	if (w->fd >= 0)
		close(w->fd);
	w->fd = fd;
	w->is_in_shared = is_shared;
	return fstat(fd, &w->st) ? -errno : 0;
}

/* Notes whether others than root could have put this here. A folder where everybody may make files
 * keeps root's entries if it is sticky. A file or link in it may be a second name of root's; a
 * folder has no second name. */
static void judge(struct walk *w)
{
	const mode_t mode = w->st.st_mode;

	w->is_roots &= !w->st.st_uid;
	if (S_ISDIR(mode))
		w->is_roots &= !(mode & (S_IWGRP | S_IWOTH)) || mode & S_ISVTX;
	else
		w->is_roots &= !w->is_in_shared;
}

static bool is_users(const struct walk *w)
{
	return w->user && w->st.st_uid == w->user;
}

static int start(struct walk *w)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), err;

	err = fd < 0 ? -errno : go_to(w, fd);
	w->is_in_shared = false;
	judge(w);
	return err;
}

/* Takes the next component off the path. false: there is none. */
static bool take_component(struct walk *w, char ret_name[NAME_MAX + 1])
{
	const char *at = w->rest + strspn(w->rest, "/");
	size_t len = strcspn(at, "/");

	if (!len || len > NAME_MAX)
		return false;
	memcpy(ret_name, at, len);
	ret_name[len] = '\0';
	memmove(w->rest, at + len, strlen(at + len) + 1);
	return true;
}

/* Puts the target of the link `fd` before the rest of the path. */
static int follow(struct walk *w, int fd)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(fd, "", target, sizeof(target));
	size_t rest = strlen(w->rest);

	if (len < 0)
		return -errno;
	if (++w->links > MOST_LINKS)
		return -ELOOP;
	if ((size_t)len + rest + 2 > sizeof(w->rest))
		return -ENAMETOOLONG;
	memmove(w->rest + len + 1, w->rest, rest + 1);
	memcpy(w->rest, target, (size_t)len);
	w->rest[len] = '/';
	return *target == '/' ? start(w) : 0;
}

/* Goes to a component of the folder where the walk is, or follows it if it is a link. */
static int step(struct walk *w, const char *name)
{
	int fd, err;
	struct stat st;

	if (!S_ISDIR(w->st.st_mode))
		return -ENOTDIR;
	if (!(w->st.st_mode & S_IXOTH) && !is_users(w) && !w->is_roots)
		return -EPERM;
	fd = openat(w->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st)) {
		err = -errno;
	} else if (S_ISLNK(st.st_mode)) {
		w->is_roots &= !st.st_uid && !(w->st.st_mode & (S_IWGRP | S_IWOTH));
		err = follow(w, fd);
	} else {
		err = go_to(w, fd);
		judge(w);
		return err;
	}
	close(fd);
	return err;
}

int named_file_open_for(const char *path, uid_t user)
{
	struct walk w = {.user = user, .fd = -1, .is_roots = true};
	char name[NAME_MAX + 1];
	int err = *path == '/' ? 0 : -EPERM;

	if (!err && (size_t)snprintf(w.rest, sizeof(w.rest), "%s", path) >= sizeof(w.rest))
		err = -ENAMETOOLONG;
	if (!err)
		err = start(&w);
	while (!err && take_component(&w, name))
		err = step(&w, name);
	if (!err && w.rest[strspn(w.rest, "/")])
		err = -ENAMETOOLONG; /* of a component */
	if (!err && !(w.st.st_mode & S_IROTH) && !is_users(&w))
		err = -EPERM;
	if (!err)
		err = reopen(w.fd, &w.st);
	if (w.fd >= 0)
		close(w.fd);
	return err;
}
