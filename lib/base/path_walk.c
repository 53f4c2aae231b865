/* SPDX-License-Identifier: MIT */
/* Walks; see path_walk.h. The target of a link is put before the rest of the path. Mounts are
 * looked at where the device changes, since a look reads the list of mounts. */
#include "base/path_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/mount_kind.h"

#define MOST_LINKS 40

struct walk {
	const struct path_walk *how;
	char rest[PATH_MAX]; /* the part of the path that is still to be walked */
	unsigned links;
	int fd;		/* owned: where the walk is; -1: nowhere yet */
	struct stat st; /* of `fd` */
};

static int judge(const struct walk *w, const struct stat *folder, const struct stat *found)
{
	bool is_last = !w->rest[strspn(w->rest, "/")];

	return w->how->judge ? w->how->judge(w->how->arg, folder, found, is_last) : 0;
}

/* Goes to a descriptor, which the walk owns from now on. */
static void go_to(struct walk *w, int fd, const struct stat *st)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = fd;
	w->st = *st;
}

static int start(struct walk *w)
{
	struct stat st;
	int fd = fcntl(w->how->root, F_DUPFD_CLOEXEC, 0);
	int err = fd < 0 ? -errno : mount_stat(fd, &st);

	if (!err && w->fd < 0)
		err = mount_check(w->how->mounts, fd, w->how->proc_root, w->how->pid);
	if (!err)
		err = judge(w, NULL, &st);
	if (!err)
		go_to(w, fd, &st);
	else if (fd >= 0)
		close(fd);
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

/* Returns whether a link that was just found is to be followed. */
static bool is_followed(const struct walk *w)
{
	return w->how->follows_last || w->rest[strspn(w->rest, "/")];
}

/* Looks at a component that was opened as `fd`, and goes there or follows it. Owns `fd`. */
static int arrive(struct walk *w, int fd)
{
	struct stat st;
	int err = mount_stat(fd, &st);

	if (!err && st.st_dev != w->st.st_dev)
		err = mount_check(w->how->mounts, fd, w->how->proc_root, w->how->pid);
	if (!err)
		err = judge(w, &w->st, &st);
	if (!err && !(S_ISLNK(st.st_mode) && is_followed(w))) {
		go_to(w, fd, &st);
		return 0;
	}
	if (!err)
		err = follow(w, fd);
	close(fd);
	return err;
}

/* Returns whether a component leads nowhere else: ".", and ".." in the root. */
static bool stays(const struct walk *w, const char *name)
{
	struct stat root;

	if (strcmp(name, "..") != 0)
		return !strcmp(name, ".");
	return mount_stat(w->how->root, &root) ||
	       (root.st_dev == w->st.st_dev && root.st_ino == w->st.st_ino);
}

static int step(struct walk *w, const char *name)
{
	int fd;

	if (!S_ISDIR(w->st.st_mode))
		return -ENOTDIR;
	if (stays(w, name))
		return 0;
	fd = openat(w->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : arrive(w, fd);
}

int path_walk(const struct path_walk *how, const char *path)
{
	struct walk w = {.how = how, .fd = -1};
	const size_t len = strlen(path);
	char name[NAME_MAX + 1];
	int err = len < sizeof(w.rest) ? 0 : -ENAMETOOLONG;

	if (!err)
		memcpy(w.rest, path, len + 1);
	if (!err)
		err = start(&w);
	while (!err && take_component(&w, name))
		err = step(&w, name);
	if (!err && w.rest[strspn(w.rest, "/")])
		err = -ENAMETOOLONG; /* of a component */
	if (err && w.fd >= 0)
		close(w.fd);
	return err ? err : w.fd;
}
