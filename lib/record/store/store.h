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
/* Older versions are read, and a writer makes them one of this. 1 had no origins, 2 no provenances,
 * 3 neither cgroups, nor the end reason stack_switch, nor series of records beside samples, 4 no
 * layouts of objects. */
#define STORE_VERSION 5

/* The counter of a region or mark that was taken off (--region-limit) is this and its name, of
 * which it keeps so many bytes; its value is when that was, CLOCK_MONOTONIC. */
#define STORE_REGION_OFF      "region_off."
#define STORE_REGION_OFF_NAME 116

/* Describes a recording: its host, its target and its end. The strings belong to whoever fills them
 * in. */
struct store_recording {
	int64_t id;  /* from 1, grows over the life of a store */
	int64_t run; /* the first recording of the run that this one is a window of; 0: of none */
	uint64_t start_unix_ns;		  /* wall clock at start_ns */
	uint64_t start_ns;		  /* CLOCK_MONOTONIC */
	uint64_t end_ns;		  /* of the last commit */
	const char *host, *kernel, *arch; /* uname */
	const char *command;		  /* stackd's own command line */
	const char *target;    /* "pid 123", "all", "cgroup /x", or the command that was run */
	const char *event;     /* canonical name, "cpu-clock" */
	const char *note;      /* a note for the user ("no PMU: fell back to ..."), or "" */
	uint64_t frequency_hz; /* 0: a fixed period */
	uint64_t period;       /* 0: a frequency */
	uint32_t cpus;
	bool finished;	      /* ended in order; false while running, and after a crash */
	uint64_t samples;     /* kept in the store */
	uint64_t lost;	      /* of any reason */
	uint64_t kernel_ns;   /* BPF program run time, 0 if not measured */
	uint64_t kernel_runs; /* program runs in that time */
};

/* Returns whether the samples' periods are nanoseconds: the event is a clock. */
static inline bool store_is_timed(const struct store_recording *recording)
{
	return recording->event && strstr(recording->event, "clock");
}

/* Returns the time between two samples of a thread on the CPU, if the event is a clock; 0: there
 * are no samples. */
static inline uint64_t store_period_ns(const struct store_recording *recording)
{
	if (recording->period)
		return recording->period;
	return recording->frequency_hz ? 1000000000 / recording->frequency_hz : 0;
}

/* So many periods can pass without a sample while a thread is on the CPU: the host can take the
 * CPU. */
#define STORE_UNSAMPLED 16

struct store_object {
	uint32_t number;
	uint32_t kind; /* enum object_kind */
	uint64_t file_id;
	const char *path;
	const uint8_t *build_id;
	size_t build_id_len;
	uint64_t layout;     /* a hash of the file's program headers; 0: not known, or none */
	const char *problem; /* why its frames are unnamed, or NULL */
};

struct store_location {
	uint32_t number;
	uint32_t object;
	uint64_t offset;
	bool is_return;
	uint8_t provenance; /* enum provenance; NONE in stores of versions that had none */
};

/* One function at a location; depth 0 is the innermost inlined one. */
struct store_line {
	uint32_t location;
	uint32_t depth;
	const char *function;	 /* linkage name (readable, of Ada) or NULL */
	const char *file;	 /* or NULL */
	uint32_t line;		 /* or 0 */
	uint64_t function_start; /* file offset; 0 if not known */
	bool is_inlined;
};

struct store_process {
	uint32_t number;
	int32_t pid;
	int32_t parent;
	const char *comm;
	const char *exe; /* or NULL */
};

/* Describes a thread whose cgroup and process are not known: in sums over many hosts. */
struct store_labels {
	const char *host, *command;
	const char *unit, *container; /* NULL: none */
	uint64_t rank;		      /* in its MPI job, as SERIES_MPI_RANK has it; 0: none */
};

struct store_thread {
	uint32_t number;
	uint32_t process; /* number */
	int32_t tid;
	const char *comm;
	const char *cgroup; /* path from the hierarchy's root, or NULL: not known. The writer gets
			     * it separately, as it can become known later. */
	const struct store_labels *labels; /* NULL: use the fields above; ignored by the writer */
};

struct store_node {
	uint32_t parent; /* node number; nodes are numbered from 1, 0 is the empty path */
	uint32_t location;
};

/* Samples that were added up before they are read (store/store_memory.h). */
struct store_sum {
	uint32_t thread, node, origin;
	uint8_t end_reason;
	uint64_t count;	 /* how many */
	uint64_t weight; /* the sum of their periods, or values */
};

struct store_sample {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t period;  /* events that it represents */
	uint32_t thread;  /* number */
	uint32_t node;	  /* the path's leaf in the trie */
	uint32_t origin;  /* where its frames come from: a number, 0: all as the walk found them */
	uint16_t cpu;
	uint8_t end_reason; /* enum stackd_end_reason: readers refuse numbers that they do not
			     * know, so a new reason needs a new STORE_VERSION */
};

#endif
