/* SPDX-License-Identifier: MIT */
/*
 * Finds the files of a recording's objects for a reader on this machine. A file is used only if it
 * has the object's build-id (or, without one, its file id), so on another host, or after an update,
 * the reader has no name rather than a wrong one.
 */
#ifndef SYM_READER_OBJECTS_H
#define SYM_READER_OBJECTS_H

#include "proc/object.h"
#include "store/store_reader.h"
#include "sym/kallsyms.h"

struct reader_objects;

/* `proc_root` and `sys_root`, which are copied, are "/proc" and "/sys" except in tests. Returns 0
 * or -ENOMEM. */
int reader_objects_new(const char *proc_root, const char *sys_root,
		       struct reader_objects **ret_late);
void reader_objects_free(struct reader_objects *late);

/* Gives the object of that number, for sym/naming.h. Each object is searched for only once, so all
 * calls must be for the same recording, whose tables may have grown. Returns 0, with an object that
 * is valid as long as `late`; -ENOENT: it is not on this machine, or this user may not read it;
 * -ENOMEM. */
int reader_objects_find(struct reader_objects *late, const struct store_tables *tables,
			uint32_t number, const struct object **ret_object);

/* Returns this machine's kernel symbols, once reader_objects_find() has found an object of the
 * kernel; NULL before. */
const struct kallsyms *reader_objects_kallsyms(const struct reader_objects *late);

#endif
