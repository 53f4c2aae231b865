/* SPDX-License-Identifier: MIT */
/*
 * Names cgroups of version 2 by the kernel's ids for them, while they exist.
 *
 * The kernel half reports each cgroup when it is made. The cgroups that existed before are found
 * through a process in them, or else among the folders of the hierarchy: a folder's inode number is
 * the cgroup's id. A name stays after its cgroup was removed, until CGROUP_TABLE_KEPT others have
 * come after it.
 */
#ifndef PROC_CGROUP_TABLE_H
#define PROC_CGROUP_TABLE_H

#include <stdint.h>
#include <sys/types.h>

#define CGROUP_TABLE_KEPT 8192

struct cgroup_table;

/* `mount`: the folder where the hierarchy is mounted; NULL: nowhere. `proc_root` is "/proc" but for
 * tests. The table copies both. Returns 0 or -ENOMEM. */
int cgroup_table_new(const char *mount, const char *proc_root, struct cgroup_table **ret_table);
void cgroup_table_free(struct cgroup_table *table); /* NULL is fine */

/* Adds a cgroup by its path from the hierarchy's root: "/system.slice/x.service".
 * Returns 0 or -ENOMEM. */
int cgroup_table_add(struct cgroup_table *table, uint64_t id, const char *path);

/* Adds all cgroups that exist. Returns 0 or -ENOMEM. */
int cgroup_table_load(struct cgroup_table *table);

/* Finds the name of a cgroup that the table lacks; `pid` is a process that was in it. Reads all
 * folders of the hierarchy at most once a second, by the clock of `now_ns`. Returns 0, also if it
 * found nothing; or -ENOMEM. */
int cgroup_table_find(struct cgroup_table *table, uint64_t id, pid_t pid, uint64_t now_ns);

/* Returns the path of a cgroup, which lives until another one is added; NULL: the table lacks it.
 */
const char *cgroup_table_path(const struct cgroup_table *table, uint64_t id);

/* Returns how many names were forgotten to make room. */
uint64_t cgroup_table_forgotten(const struct cgroup_table *table);

/* Finds where cgroups of version 2 are mounted: malloc()ed, or NULL. */
char *cgroup_table_mount(void);

#endif
