/* SPDX-License-Identifier: MIT */
/*
 * Copies of files on mounts that may not answer (base/mount_kind.h), so that stackd and its workers
 * read them as local files. The copier makes the copies (copier.h); nobody waits for one: a file is
 * asked for again once its copy is there.
 *
 * A copier's child that is silent for some seconds is left behind. Its file system, which the
 * device number names, is asked nothing for a while then. A few files of a file system are copied
 * at a time while it answers, and some of a user, and root has places of its own: so mounts that
 * hang keep neither root's files from being read nor, unless they are of many users, other users'.
 */
#ifndef WORKER_SLOW_FILES_H
#define WORKER_SLOW_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "daemon/worker/copier.h"

#define SLOW_FILES_AT_ONCE  32	 /* children at a time, those that hang included */
#define SLOW_FILES_OF_ROOT  4	 /* of these, those that only root's processes get */
#define SLOW_FILES_OF_USER  8	 /* of these, those for one user's processes */
#define SLOW_FILES_OF_MOUNT 4	 /* of these, those of one file system, while each child is heard */
#define SLOW_FILES_WAITING  1024 /* files that wait, or are kept; a quarter of them for one user */
#define SLOW_FILES_MOST_BYTES                                                                      \
	(UINT64_C(256) << 20) /* of all copies that are open or being made; of a user half */
#define SLOW_FILES_SILENT_NS UINT64_C(3000000000)  /* a child that is silent for so long hangs */
#define SLOW_FILES_HEARD_NS  UINT64_C(500000000)   /* a child that is heard so often answers */
#define SLOW_FILES_COPY_NS   UINT64_C(30000000000) /* of a copy, and of waiting without progress */
#define SLOW_FILES_KEPT_NS   UINT64_C(10000000000) /* a copy is kept here for so long */

struct slow_files;

/* `copier` is borrowed; NULL: no such file is read. 0 or -ENOMEM. */
int slow_files_new(struct copier *copier, struct slow_files **ret_files);
void slow_files_free(struct slow_files *files); /* NULL is fine */

/* Gives a copy of the file behind an O_PATH descriptor, whose state mount_stat() has given, for a
 * process of user `user`. `may_open`: the caller opens the file itself where that fails with
 * -EFBIG, so a large file is not copied in part.
 *
 * Returns a descriptor, which the caller closes; -EINPROGRESS: the copy is being made; -EFBIG: the
 * file system answers, but the copy would be too large, or copies take too much memory; -EREMOTE:
 * it does not answer, or the file cannot be read; -EAGAIN: too many wait; -ENOMEM. */
int slow_files_fetch(struct slow_files *files, int path_fd, const struct stat *st, uid_t user,
		     bool may_open, uint64_t now_ns);

/* Looks at the copies that are being made, and begins further ones. Returns whether one has become
 * complete, or has failed, so that its file is to be asked for again. */
bool slow_files_look(struct slow_files *files, uint64_t now_ns);

/* Returns whether files wait, or are being copied, so that one looks at them often. */
bool slow_files_is_busy(const struct slow_files *files);

/* Finds out which copies are still open, by `is_open`, which gets the inode number of a memfd.
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
