/* SPDX-License-Identifier: MIT */
/*
 * A profile in parts that are shown one after the other: by process, thread, command or CPU, or
 * all in one.
 */
#ifndef TREE_PARTITION_H
#define TREE_PARTITION_H

#include "base/buf.h"
#include "tree/groups.h"

/* What the parts are. */
enum partition_by {
	PARTITION_BY_PROCESS,
	PARTITION_BY_THREAD,
	PARTITION_BY_COMMAND, /* threads of one name, of whatever process */
	PARTITION_BY_CPU,     /* of a profile with by_cpu */
	PARTITION_BY_ALL,     /* one part for everything */
};

struct partition {
	struct profile *profile;
	enum partition_by by;
	struct groups groups;	   /* entries and ranking of the parts */
	uint32_t *part_of_process; /* by process, thread or CPU number; what `by` needs */
	uint32_t *part_of_thread;
	uint32_t *first_of_part; /* a process or thread that the part is named after */
};

/* 0 or -ENOMEM. For PARTITION_BY_CPU the profile must have been made with by_cpu. */
int partition_make(struct profile *profile, enum partition_by by, struct partition *ret_partition);
void partition_free(struct partition *partition);

/* The part of a sample as profile_sample() has it. */
uint32_t partition_of(const struct partition *partition, uint32_t thread, uint16_t cpu);

/* "process 12 prog (/bin/prog)", "thread 13 pool of process 12 prog", "command prog", "CPU 3",
 * "all". */
void partition_put_name(const struct partition *partition, uint32_t part, bool utf8, struct buf *b);

/* What the part's samples are called where a percentage is of them: "this process's samples". */
const char *partition_whole(const struct partition *partition);

/* "processes", "threads", ... */
const char *partition_plural(const struct partition *partition);

/* The part's members of a JSON object: "pid":12,... */
void partition_put_json(const struct partition *partition, uint32_t part, struct buf *b);

#endif
