/* SPDX-License-Identifier: MIT */
/*
 * The store: one SQLite file with the recordings of one or many runs.
 *
 * WAL mode: a reader never blocks the writer, and after kill -9 at any moment all that had been
 * committed is there. `application_id` ("stkd") and `user_version` (STORE_VERSION) mark kind and
 * version. Everything belongs to a recording and is numbered densely from 0 within it (objects,
 * locations, functions, processes, threads, trie nodes), as lib/record/proc and lib/record/stack
 * number them; so a recording is deleted by one key, and nothing refers across recordings.
 *
 * A long run is cut into windows, each a recording by itself: its end is the next one's start, and
 * each can be read, and deleted, without the others. The counter "window.run" of a window names its
 * run.
 *
 * Large data go into blobs, delta-coded and zstd-compressed (store/chunk.h): the samples in
 * time order, and the trie nodes as (parent, location), without tags: a tag is recomputed from
 * the chain when the recording is read.
 *
 * The writing and the reading half share this header.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "stack/origin.h"

#define STORE_APPLICATION_ID 0x73746b64 /* "stkd" */
/* Older versions are read, and a writer upgrades them to this one. Version 1 had no origins; 2 no
 * provenances; 3 no cgroups, no end reason stack_switch, and no series of records besides samples;
 * 4 no layouts of objects. */
#define STORE_VERSION 5

/* The name of the counter of a region or mark whose probes were taken off (--region-limit) is this
 * prefix and at most so many bytes of the region's name. Its value is the time when they were taken
 * off, CLOCK_MONOTONIC. */
#define STORE_REGION_OFF      "region_off."
#define STORE_REGION_OFF_NAME 116

/* The name of the counter of locations whose names there was no time to look for when the recording
 * ended. */
#define STORE_COUNTER_UNNAMED "unnamed"

/* Describes a recording: its host, its target and its end. Its strings belong to whoever fills it
 * in. */
struct store_recording {
	int64_t id; /* from 1, grows over the life of a store */
	/* if this recording is a window of a run: number of the run's first recording; else 0 */
	int64_t run;
	uint64_t start_unix_ns;		  /* wall clock at start_ns */
	uint64_t start_ns;		  /* CLOCK_MONOTONIC */
	uint64_t end_ns;		  /* time of the last commit, CLOCK_MONOTONIC */
	const char *host, *kernel, *arch; /* uname */
	const char *command;		  /* stackd's own command line */
	const char *target;    /* "pid 123", "all", "cgroup /x", or the command that was run */
	const char *event;     /* canonical name, "cpu-clock" */
	const char *note;      /* a note for the user ("no PMU: fell back to ..."), or "" */
	uint64_t frequency_hz; /* 0: the event has a fixed period */
	uint64_t period;       /* 0: the event has a frequency */
	uint32_t cpus;
	bool finished;	  /* ended in order; false while running, and after a crash */
	uint64_t samples; /* samples in the store */
	uint64_t lost;	  /* samples lost, for whatever reason */
	/* records that a server was sent and does not have (lib/far/clickhouse); not in stores */
	uint64_t missing;
	/* records that a server has and a query's names did not choose; not in stores */
	uint64_t unchosen;
	uint64_t kernel_ns;   /* run time of the BPF programs; 0: not measured */
	uint64_t kernel_runs; /* number of runs of the programs in that time */
};

/* Returns whether the samples' periods are nanoseconds: the event is a clock. */
static inline bool store_is_timed(const struct store_recording *recording)
{
	return recording->event && strstr(recording->event, "clock");
}

/* Returns the time between two samples of a thread that is on the CPU, if the event is a clock. 0:
 * the recording has no samples. */
static inline uint64_t store_period_ns(const struct store_recording *recording)
{
	if (recording->period)
		return recording->period;
	return recording->frequency_hz ? 1000000000 / recording->frequency_hz : 0;
}

/* A thread on the CPU can have no sample for so many periods, since the host of a virtual machine
 * can take the CPU away. */
#define STORE_UNSAMPLED 16

struct store_object {
	uint32_t number;
	uint32_t kind; /* enum object_kind */
	uint64_t file_id;
	const char *path;
	const uint8_t *build_id;
	size_t build_id_len;
	/* a hash of the file's program headers; 0: unknown, or it has none */
	uint64_t layout;
	const char *problem; /* why its frames have no names, or NULL */
};

struct store_location {
	uint32_t number;
	uint32_t object;
	uint64_t offset;
	bool is_return;
	uint8_t provenance; /* enum provenance; NONE in stores of versions that had none */
};

/* A function at a location. Depth 0 is the innermost inlined function. */
struct store_line {
	uint32_t location;
	uint32_t depth;
	/* linkage name (for Ada a readable one), or NULL */
	const char *function;
	const char *file;	 /* or NULL */
	uint32_t line;		 /* or 0 */
	uint64_t function_start; /* file offset; of a managed function, its first line; 0: not
				  * known */
	bool is_inlined;
};

struct store_process {
	uint32_t number;
	int32_t pid;
	int32_t parent;
	const char *comm;
	const char *exe; /* or NULL */
};

/* Names of a thread's host, command and so on, for sums over many hosts, in which the thread's
 * cgroup and process are not known. */
struct store_labels {
	const char *host, *command;
	const char *unit, *container; /* NULL: none */
	/* rank of the process in its MPI job, as a value of SERIES_MPI_RANK; 0: none */
	uint64_t rank;
	/* the sums are only of what a query chose by command, unit and labels */
	bool is_chosen;
};

struct store_thread {
	uint32_t number;
	uint32_t process; /* number of its process */
	int32_t tid;
	const char *comm;
	/* path from the cgroup hierarchy's root; NULL: unknown. The writer ignores it:
	 * store_writer_cgroup() adds it, as it can become known after the thread. */
	const char *cgroup;
	/* labels, as stack/label_set.h has them; NULL: none. The writer ignores it:
	 * store_writer_labels() adds it. */
	const char *label_set;
	/* NULL: the fields above are valid; the writer ignores it */
	const struct store_labels *labels;
};

struct store_node {
	uint32_t parent; /* node number; nodes are numbered from 1, 0 is the empty path */
	uint32_t location;
};

/* The sum of samples that were added up elsewhere, by a server or in a tag export
 * (store_memory.h). */
struct store_sum {
	uint32_t thread, node, origin;
	uint8_t end_reason;
	uint64_t count;	 /* number of samples */
	uint64_t weight; /* sum of the samples' periods, or of the records' values */
};

/* The cpu of a record that stands for many calls (SERIES_CALL_TIME): its value is their sum. */
#define STORE_CPU_OF_SUM UINT16_MAX

struct store_sample {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t period;  /* number of events that it represents */
	uint32_t thread;  /* number */
	uint32_t node;	  /* the path's leaf in the trie */
	/* number of the origin of its frames; 0: the walk found all of them */
	uint32_t origin;
	uint16_t cpu;
	/* enum stackd_end_reason. Readers refuse numbers that they do not know, so a new reason
	 * needs a new STORE_VERSION. */
	uint8_t end_reason;
};

#endif
