/* SPDX-License-Identifier: MIT */
/*
 * Finds a file by its path, one component at a time, below a folder that counts as the root. Each
 * component is opened as a path (O_PATH) without following links, and the walk follows links
 * itself. So the caller can look at each folder and link on the way by its descriptor, and nothing
 * can be exchanged between that look and the next step.
 *
 * The walk never goes into a mount that may not answer (base/mount_kind.h): a look-up there would
 * wait.
 */
#ifndef BASE_PATH_WALK_H
#define BASE_PATH_WALK_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

struct mount_lists;

/* Called with what the walk has come to: the root at the start and when a link leads back there
 * (`folder` NULL), a file, folder or link found in `folder`. `is_last`: the path ends here, unless
 * it is a link that is followed. Returns 0, or -errno with which the walk ends. */
typedef int path_walk_fn(void *arg, const struct stat *folder, const struct stat *found,
			 bool is_last);

struct path_walk {
	int root; /* an O_PATH descriptor of a folder, borrowed */
	const char *proc_root;
	pid_t pid;		    /* the process whose mounts count beside this one's; 0: none */
	struct mount_lists *mounts; /* lists that are kept, borrowed; NULL: none */
	bool follows_last;	    /* the last component is followed if it is a link */
	path_walk_fn *judge;	    /* NULL: everything may be passed */
	void *arg;
};

/* Returns an O_PATH descriptor of the file; -EREMOTE or -ENOLINK: a mount that may not answer is
 * on the way;
 * -ELOOP: too many links; -ENAMETOOLONG; -ENOENT; -ENOTDIR; what `judge` returns; or another
 * -errno. */
int path_walk(const struct path_walk *how, const char *path);

#endif
