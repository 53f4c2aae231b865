/* SPDX-License-Identifier: MIT */
/*
 * Divides a profile into parts that are shown one after the other: by process, thread, command,
 * CPU, systemd unit, container, label, MPI rank or host, or by the reason or the object of waits;
 * or makes one part of all.
 */
#ifndef TREE_PARTITION_H
#define TREE_PARTITION_H

#include "base/buf.h"
#include "base/json_put.h"
#include "tree/groups.h"

/* The kinds of parts. */
enum partition_by {
	PARTITION_BY_PROCESS,
	PARTITION_BY_THREAD,
	PARTITION_BY_COMMAND, /* threads of one name, in any process */
	PARTITION_BY_CPU,     /* needs a profile with by_cpu */
	PARTITION_BY_UNIT,    /* a systemd unit; see model/cgroup_name.h */
	PARTITION_BY_CONTAINER,
	PARTITION_BY_SERVICE, /* these three, and any label: see model/labels.h */
	PARTITION_BY_NAMESPACE,
	PARTITION_BY_POD,
	PARTITION_BY_LABEL, /* needs a profile with by_label, or partition_make_label() */
	PARTITION_BY_RANK,  /* in an MPI job */
	PARTITION_BY_HOST,
	PARTITION_BY_REASON, /* why threads waited */
	/* what threads waited for: a file, a socket, a futex; the reason of the wait if that is
	 * unknown */
	PARTITION_BY_OBJECT,
	PARTITION_BY_ALL, /* one part that holds everything */
};

struct partition {
	struct profile *profile;
	enum partition_by by;
	const char *label;	  /* for PARTITION_BY_LABEL; borrowed */
	struct groups groups;	  /* one group of entries for each part */
	uint32_t *part_of_thread; /* by thread */
	uint32_t *
		first_of_part; /* by command, unit, container, rank, host: the first thread in it */
	/* for PARTITION_BY_RANK, by process: its rank, as profile_ranks_read() sets it */
	uint64_t *ranks;
	struct strings *reasons; /* names of the parts by reason or object */
};

/* Divides a profile, which is borrowed, into parts; for PARTITION_BY_CPU it must have been made
 * with by_cpu. The caller frees the result with partition_free(). Returns 0 or -ENOMEM. */
int partition_make(struct profile *profile, enum partition_by by, struct partition *ret_partition);

/* Divides a profile by a label, whose name is borrowed as long as the partition lives. */
int partition_make_label(struct profile *profile, const char *label,
			 struct partition *ret_partition);

/* Frees the arrays and zeroes the partition; it may be zeroed already. */
void partition_free(struct partition *partition);

/* Returns the part to which a sample belongs, from its thread and CPU as profile_sample() returns
 * them. */
uint32_t partition_of(const struct partition *partition, uint32_t thread, uint16_t cpu);

/* Returns the word for a kind of parts in options and JSON: "process", "thread"; a static string.
 */
const char *partition_word(enum partition_by by);

/* Finds the kind by its word; "label:NAME" is PARTITION_BY_LABEL. Returns 0 or -EINVAL. */
int partition_by_word(const char *word, enum partition_by *ret_by);

/* Returns the NAME in a word "label:NAME", which profile_filter.by_label takes; NULL: it is another
 * word. */
const char *partition_label(const char *word);

/* The words as messages have them; and as help and completion have them, where --help breaks its
 * line at the blank. */
#define PARTITION_WORDS                                                                            \
	"process|thread|command|cpu|unit|container|service|namespace|pod|label:NAME|rank|host|"    \
	"reason|object|all"
#define PARTITION_ARGUMENT                                                                         \
	"process|thread|command|cpu|unit|container| service|namespace|pod|label:NAME|rank|host| "  \
	"reason|object|all"

/* Appends the name of a part: "process 12 prog (/bin/prog)", "thread 13 pool of process 12 prog",
 * "command prog", "CPU 3", "unit a.service", "container docker ID",
 * "rank 3 of 8", "host web1" or "all". Without `utf8`, other
 * characters than ASCII are escaped. */
void partition_put_name(const struct partition *partition, uint32_t part, bool utf8, struct buf *b);

/* Returns what 100 % means in a part: "this process's samples"; a static string. */
const char *partition_whole(const struct partition *partition);

/* Returns the plural of the kind of parts: "processes", "threads"; a static string. */
const char *partition_plural(const struct partition *partition);

/* Writes the members of an object that identify a part: "pid":12,... */
void partition_json(const struct partition *partition, uint32_t part, struct json *j);

#endif
