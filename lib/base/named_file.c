/* SPDX-License-Identifier: MIT */
/*
 * Opens files that others name; see named_file.h.
 *
 * The kernel's own file systems have no blocks by statfs(), and the others have: so a file system
 * without blocks is refused, but for those of which some have no limit (tmpfs), or whose server
 * says nothing (FUSE). efivarfs counts the bytes of its variables, so it is refused by its type.
 *
 * named_file_open_for() looks at each folder, file and link on the way (base/path_walk.h).
 */
#include "base/named_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/mount_kind.h"
#include "base/path_walk.h"

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

struct way {
	uid_t user;
	bool is_roots; /* only root could have put there what the walk has come to */
};

static bool is_shared(const struct stat *folder)
{
	return folder->st_mode & (S_IWGRP | S_IWOTH);
}

static bool is_users(const struct way *way, const struct stat *st)
{
	return way->user && st->st_uid == way->user;
}

/* A path_walk_fn. A folder where everybody may make files keeps root's entries if it is sticky. A
 * file or link in it may be a second name of root's; a folder has no second name. */
static int judge(void *arg, const struct stat *folder, const struct stat *found, bool is_last)
{
	struct way *way = arg;

	(void)is_last;
	if (folder && !(folder->st_mode & S_IXOTH) && !is_users(way, folder) && !way->is_roots)
		return -EPERM;
	way->is_roots &= !found->st_uid;
	if (S_ISDIR(found->st_mode))
		way->is_roots &= !is_shared(found) || found->st_mode & S_ISVTX;
	else
		way->is_roots &= folder && !is_shared(folder);
	return 0;
}

int named_file_open_for(const char *path, uid_t user)
{
	struct way way = {.user = user, .is_roots = true};
	struct path_walk how = {
		.proc_root = "/proc", .follows_last = true, .judge = judge, .arg = &way};
	struct stat st;
	int fd, err;

	if (*path != '/')
		return -EPERM;
	how.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (how.root < 0)
		return -errno;
	fd = path_walk(&how, path);
	close(how.root);
	if (fd < 0)
		return fd;
	err = mount_stat(fd, &st);
	if (!err)
		err = st.st_mode & S_IROTH || is_users(&way, &st) ? reopen(fd, &st) : -EPERM;
	close(fd);
	return err;
}
