/* SPDX-License-Identifier: MIT */
/*
 * Copies of files on mounts that may not answer (base/mount_kind.h), so that stackd and its workers
 * read them as local files. The copier makes the copies (copier.h); nobody waits for one: a file is
 * asked for again once its copy is there.
 *
 * A copier's child that is silent for some seconds is left behind. Its file system, which the
 * device number names, is asked nothing for a while then. One file of a file system is copied at a
 * time, and a few of a user, so that mounts that hang keep neither other users' nor root's files
 * from being read.
 */
#ifndef WORKER_SLOW_FILES_H
#define WORKER_SLOW_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "daemon/worker/copier.h"

#define SLOW_FILES_AT_ONCE 16	/* children at a time, those that hang included */
#define SLOW_FILES_OF_USER 4	/* of these, those for one user's processes */
#define SLOW_FILES_WAITING 1024 /* files that wait, or are kept; a quarter of them for one user */
#define SLOW_FILES_MOST_BYTES                                                                      \
	(UINT64_C(256) << 20)			   /* of all copies that are open; of a user half */
#define SLOW_FILES_SILENT_NS UINT64_C(3000000000)  /* a child that is silent for so long hangs */
#define SLOW_FILES_COPY_NS   UINT64_C(30000000000) /* most time of a copy, and of waiting for one */
#define SLOW_FILES_KEPT_NS   UINT64_C(10000000000) /* a copy is kept here for so long */

struct slow_files;

/* `copier` is borrowed; NULL: no such file is read. 0 or -ENOMEM. */
int slow_files_new(struct copier *copier, struct slow_files **ret_files);
void slow_files_free(struct slow_files *files); /* NULL is fine */

/* Gives a copy of the file behind an O_PATH descriptor, whose state mount_stat() has given, for a
 * process of user `user`. Returns a descriptor, which the caller closes; -EINPROGRESS: the copy is
 * being made; -EREMOTE: its file system does not answer, or cannot be read; -EAGAIN: too many wait;
 * -EDQUOT: the copies take too much memory; -ENOMEM. */
int slow_files_fetch(struct slow_files *files, int path_fd, const struct stat *st, uid_t user,
		     uint64_t now_ns);

/* Looks at the copies that are being made, and begins further ones. Returns whether one has become
 * complete, or has failed, so that its file is to be asked for again. */
bool slow_files_look(struct slow_files *files, uint64_t now_ns);

/* Finds out which copies are still open, by `is_open`, which is told the inode number of a memfd.
 * To be called now and then. */
void slow_files_recount(struct slow_files *files, bool (*is_open)(void *arg, uint64_t inode),
			void *arg);

/* Returns whether there are copies to recount. */
bool slow_files_has_copies(const struct slow_files *files);

struct slow_files_counts {
	uint64_t copied; /* files that were copied */
	uint64_t failed; /* files that could not be read */
	uint64_t hung;	 /* copies that were given up since their file system did not answer */
};
/* Returns how many files there were so far. */
struct slow_files_counts slow_files_counts(const struct slow_files *files);

#endif
