/* SPDX-License-Identifier: MIT */
/*
 * Reads perf's side-band: mmap, comm, fork, exit and cgroup events, from a dummy event a CPU
 * that counts nothing. Times are CLOCK_MONOTONIC, like those of
 * samples.
 *
 * It covers the whole machine (or the cgroup); the reader selects the processes that matter.
 */
#ifndef CAPTURE_SIDEBAND_H
#define CAPTURE_SIDEBAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/object.h"

enum sideband_kind {
	SIDEBAND_MMAP,
	SIDEBAND_COMM,
	SIDEBAND_FORK,
	SIDEBAND_EXIT,
	SIDEBAND_CGROUP, /* a cgroup was created */
	SIDEBAND_LOST
};

struct sideband_event {
	enum sideband_kind kind;
	uint64_t time_ns;
	pid_t pid, tid;
	pid_t parent_pid, parent_tid; /* FORK */
	bool is_exec;		      /* COMM */
	uint64_t lost;		      /* LOST: events that did not fit */
	uint64_t cgroup;	      /* CGROUP: its id */
	/* MMAP: this and further mappings of the process are left out (SIDEBAND_TAKE_UNREAD) */
	bool is_left_out;
	const struct object *object;   /* MMAP: set by the recorder; NULL: not known yet */
	struct sideband_event *next;   /* for who keeps events in lists */
	struct object_mapping mapping; /* MMAP; path and build_id point into this event */
	uint8_t build_id[ELF_BUILD_ID_MAX];
	char text[]; /* MMAP, CGROUP: the path; COMM: the name */
};

struct sideband;

/* What becomes of an event that is still in its ring. */
enum sideband_verdict {
	SIDEBAND_TAKE,
	SIDEBAND_TAKE_UNREAD, /* its event says that it, and others, are left out */
	SIDEBAND_SKIP
};

/* What is known of it there. */
struct sideband_peek {
	enum sideband_kind kind; /* MMAP, or COMM that is no exec */
	pid_t pid;
	uint64_t time_ns;
	uint64_t drain; /* number of the call of sideband_drain() */
};

#define SIDEBAND_LEAST_BYTES ((size_t)256 << 10) /* a ring for some 80 programs that start */

/* Returns the size of each CPU's ring of events, beside a ring of so many bytes for the records of
 * all CPUs (--ring-bytes): a sixteenth of that for all CPUs, but a power of two, and
 * SIDEBAND_LEAST_BYTES at least. */
static inline size_t sideband_bytes(uint64_t ring_bytes, size_t cpus)
{
	size_t bytes = SIDEBAND_LEAST_BYTES;

	while (bytes * 2 * cpus <= ring_bytes / 16)
		bytes *= 2;
	return bytes;
}

/* Opens and maps the events, with rings of so many bytes (sideband_bytes()), or if so much memory
 * may not be locked (RLIMIT_MEMLOCK), with smaller ones. `cgroup_fd` is -1 for the whole machine. 0
 * or negative errno; -ENOBUFS: not even SIDEBAND_LEAST_BYTES may be locked. */
int sideband_new(int cgroup_fd, size_t bytes, struct sideband **ret_sideband);
void sideband_free(struct sideband *sideband);

/* Opens the dummy events again, for a CPU that has come on line. Events in the CPU's old rings are
 * lost, so sideband_drain() is to be called before. 0 or negative errno. */
int sideband_reopen(struct sideband *sideband, int cpu, int cgroup_fd);

/* Returns a descriptor that becomes readable when a CPU's ring has 128 KiB of events. */
int sideband_poll_fd(const struct sideband *sideband);

/* Returns whether events are pending. */
bool sideband_waits(const struct sideband *sideband);

/* From now on asks `judge` about each mapping and each new name of a thread, of which a process can
 * make a million a second: what is skipped there costs some nanoseconds. */
void sideband_judge_by(struct sideband *sideband,
		       enum sideband_verdict (*judge)(void *arg, const struct sideband_peek *peek),
		       void *arg);

/* Calls `each` for every pending event, in the order of time as far as all CPUs' events have
 * arrived. `each` then owns the event, and frees it by record_pool_give_back(). 0; the first result
 * of `each` that is not 0, which ends the calls; -ENOMEM. */
int sideband_drain(struct sideband *sideband, int (*each)(void *arg, struct sideband_event *event),
		   void *arg);

#endif
