/* SPDX-License-Identifier: MIT */
/*
 * Lists of mounts, kept for as long as they are true.
 *
 * The kernel gives a mount's type in a list of all mounts of a namespace alone (mountinfo), which
 * takes milliseconds where containers have many. So a list is read once, and is kept with its
 * descriptor: poll() says whether the namespace's mounts have changed since. A kept descriptor
 * holds the namespace, and with it what is mounted there; so lists that nobody asks for are given
 * up soon (mount_lists_rest()).
 */
#ifndef BASE_MOUNT_LIST_H
#define BASE_MOUNT_LIST_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mount_lists;

/* One line of a list. Its strings live as long as the list. */
struct mount_row {
	int number;
	dev_t device;
	const char *folder;  /* where it is mounted, as the list's process names it */
	const char *type;    /* "ext4", "fuse.sshfs" */
	const char *options; /* of the file system: "ro,lowerdir=/a:/b" */
	/* what mount_kind.c has found about an overlay, and for which lists; 0: nothing */
	uint64_t judged[2];
	int kind;
};

struct mount_list {
	struct mount_row *rows;
	size_t n;
	uint64_t version; /* another one for each list that is read; 0: it is not read */
};

/* Returns 0 or -ENOMEM. */
int mount_lists_new(struct mount_lists **ret_lists);
void mount_lists_free(struct mount_lists *lists); /* NULL is fine */

/* Gives the mounts that a process sees, which its folder names ("/proc/self"). The list stays where
 * it is; its rows are gone once its `version` is another one, as the next call may make it. 0;
 * -EMFILE, -ENFILE, -ENOMEM; -EAGAIN: the list is long, and has changed again so soon that reading
 * it each time would take too much CPU time; -E2BIG: it is too long to be kept; or another -errno:
 * the process is gone. */
int mount_lists_get(struct mount_lists *lists, const char *process, struct mount_list **ret_list);

/* Gives up the lists for which nobody has asked lately. To be called about once a second, with the
 * time of CLOCK_MONOTONIC. */
void mount_lists_rest(struct mount_lists *lists, uint64_t now_ns);

/* Returns how many lists were read so far. */
uint64_t mount_lists_read(const struct mount_lists *lists);

#endif
