/* SPDX-License-Identifier: MIT */
/*
 * Names what a thread waited for: "/var/log/x", "tcp 127.0.0.1:5432", "unix /run/x.sock",
 * "pipe:[45]", "[eventfd]", "futex 0x7f0000001234".
 *
 * The record has everything except the paths of files and of AF_UNIX sockets. These are looked up
 * as soon as a record has come, while the process may still have the descriptor, and kept for some
 * seconds under process, descriptor, inode and inode generation. So if the descriptor is another
 * file's meanwhile, that file's name is not used, and the wait stays unnamed, as if the descriptor
 * had been closed.
 *
 * Look-ups take at most a 20th of the time of a CPU. Waits beyond that stay unnamed, and are
 * counted.
 */
#ifndef RECORDER_WAIT_OBJECT_H
#define RECORDER_WAIT_OBJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "stackd_abi.h"

#define WAIT_OBJECT_MAX 128 /* bytes of a name that is made from the record alone */

struct wait_objects;

/* `root`: "/proc" but for tests; copied. 0 or -ENOMEM. */
int wait_objects_new(const char *root, struct wait_objects **ret_objects);
void wait_objects_free(struct wait_objects *objects); /* NULL is fine */

/* Looks up the path of what a thread waited for, if that is a file or an AF_UNIX socket whose path
 * is not known. `time_ns`: of the record. 0 or -ENOMEM. */
int wait_objects_prefetch(struct wait_objects *objects, pid_t pid, uint64_t time_ns,
			  const struct stackd_wait *wait);

/* Returns the name of the object of a wait, in `buffer` or valid until the next prefetch; NULL: it
 * is not known. *ret_is_passing: the name means nothing once the object is gone, and there can be
 * any number of such names (wait_frames.h). */
const char *wait_objects_name(struct wait_objects *objects, pid_t pid,
			      const struct stackd_wait *wait, char buffer[static WAIT_OBJECT_MAX],
			      bool *ret_is_passing);

/* Returns how many waits for a file were not named. */
uint64_t wait_objects_unnamed(const struct wait_objects *objects);

#endif
