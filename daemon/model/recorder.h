/* SPDX-License-Identifier: MIT */
/*
 * Turns records and side-band events, in the order of time, into what the store keeps: events
 * update the process table; the stack of a record is walked, its frames become locations, its call
 * path becomes a node of the trie; and all that is new since the last time is collected into a
 * batch.
 *
 * Every record ends in exactly one end reason, and every one is counted.
 */
#ifndef MODEL_RECORDER_H
#define MODEL_RECORDER_H

#include "daemon/archive/batch.h"
#include "daemon/capture/sampler.h"
#include "daemon/capture/sideband.h"
#include "daemon/capture/alloc_coverage.h"
#include "daemon/model/live_blocks.h"
#include "daemon/model/reorder.h"
#include "daemon/model/caller_check.h"
#include "daemon/tables/tables.h"
#include "daemon/worker/worker.h"
#include "daemon/model/tag_paths.h"
#include "stackd_abi.h"
#include "sym/kallsyms.h"

struct recorder;

/* All that is pointed to is borrowed until the recorder is freed, but for `code` and `tags`, which
 * are copied. */
struct recorder_options {
	/* Side-band events of all processes matter (--all, --cgroup), rather than those of the
	 * processes that are loaded and of their children. */
	bool is_everyone;
	uint32_t usual_period; /* see record_period() */

	/* Read files of profiled processes, and walk their stacks; NULL, as with branch records and
	 * in tests: this process does. */
	struct workers *workers;

	/* The kernel half walks by these tables; those that it has missed are requested, and the
	 * vDSO is made known there. NULL: there are none. */
	struct tables *tables;

	/* Maps by which the kernel half is told of code that processes have made, and of writes to
	 * mapped files, which are noticed at each recorder_look(). NULL: neither is done. */
	const struct sampler_code *code;

	/* Maps of programs that keep a tag (docs/TAGS.md), whose samples are tags; NULL: they are
	 * walked. `judge_tags`: tags only check walks. */
	const struct sampler_tags *tags;
	bool judge_tags;

	/* Samples come with branch records, of calls that have not returned (`is_call_stack`) or of
	 * every kind. `entries`: how many the processor has. */
	bool has_branches;
	struct {
		bool is_call_stack;
		unsigned entries;
	} branches;

	/* The mean distance of sampled allocations in bytes, for those whose record does not have
	 * its weight. */
	uint64_t alloc_distance;
	bool counts_alloc_coverage; /* programs of the target whose allocations are not recorded */

	/* Samples have the nanoseconds that they stand for outside of regions as their period, 0
	 * inside of one; `usual_period` is the one that they were taken at. */
	bool has_intervals;
	bool has_heights; /* records have the heights of frames (bpf/segment.bpf.h) */
	bool is_judged;	  /* a copy of the stack follows each WALKED record, to judge the walk by */
	bool keeps_copies; /* of each object, for whoever probes them (proc/object_copies.h) */

	/* Files that no process maps any more are closed where there are many. Not to be used where
	 * probes are put on files. */
	bool closes_files;

	/* Called between processes while all are read, which can take longer than the rings of
	 * events last: when the recording begins, and after events were lost. It may read rings;
	 * what it returns but 0 is an error. NULL: nothing is done. */
	int (*relieve)(void *arg);
	/* Reads the events that there are; called whenever a process is read that was not heard of:
	 * one that has called exec since must not be taken for what it was. NULL: there are none.
	 */
	int (*drain)(void *arg);
	void *arg; /* of both */
};

/* 0 or -errno. */
int recorder_new(const struct recorder_options *options, struct recorder **ret_recorder);
void recorder_free(struct recorder *recorder); /* NULL is fine */

/* Why writes to mapped files are not noticed, though they should be: -errno; 0: they are. */
int recorder_watch_error(const struct recorder *recorder);

/* --- processes and side-band events ---------------------------------------------------------- */

/* Reads a process that is to be profiled from /proc. 0 or -errno. */
int recorder_load_process(struct recorder *recorder, pid_t pid);

/* Reads every process of the machine. 0 or -errno. */
int recorder_load_all(struct recorder *recorder);

/* Opens the files that an event names while they can still be opened. To be called as soon as the
 * event has been read. 0 or -ENOMEM. */
int recorder_prefetch_event(struct recorder *recorder, const struct sideband_event *event);

/* Names the cgroup of a record while it is there, and asks for the table that the record has
 * missed, so that the kernel half can walk the next samples. To be called as soon as the record has
 * been read. 1: the record is done with, and not to be queued; 0; -ENOMEM. */
int recorder_prefetch_record(struct recorder *recorder, const struct stackd_header *record);

/* Takes an event, in the order of time. 0 or -ENOMEM; 1: the process goes on, and the kernel has
 * taken the thread's perf events away (process_table_on_exit()). */
int recorder_event(struct recorder *recorder, const struct sideband_event *event);

/* Looks for files that were written to; to be called at each round, after the ring was read. 0 or
 * -ENOMEM. */
int recorder_look(struct recorder *recorder);

/* Polls processes whose tags could not be read yet; to be called at each round. */
void recorder_poll(struct recorder *recorder);

/* Returns whether records may wait for some tenths of a second. They may not while tags are
 * learned. */
bool recorder_may_idle(const struct recorder *recorder);

/* Whether a record, the next in the order of time, has missed a table that is still to be loaded.
 * Asks for it. */
bool recorder_awaits_table(struct recorder *recorder, const struct stackd_header *record);

/* Whether the next record in the order of time has a copied stack that a worker has yet to walk.
 * Asks for that, and for the walks of those that come after it. `awaits_tables`: but of those whose
 * table is still to be loaded. */
bool recorder_awaits_walk(struct recorder *recorder, struct reorder *queue, uint64_t horizon_ns,
			  bool awaits_tables);

/* Sends questions and takes answers, as far as that goes without waiting: to be called when the
 * descriptor is readable, and each WORKER_LOOK_MS while walks are being made. */
void recorder_go_on(struct recorder *recorder);

/* A descriptor that is readable when a worker has answered; -1: there are no workers. It is the
 * recorder's. */
int recorder_poll_fd(const struct recorder *recorder);

/* Whether walks are being made. */
bool recorder_walks(const struct recorder *recorder);

/* --- samples --------------------------------------------------------------------------------- */

/* Takes a record, in the order of time, which stays the caller's. NULL: it could not be read, and
 * counts as lost. 0 or -ENOMEM. */
int recorder_sample(struct recorder *recorder, const struct stackd_header *record);

/* The window, or the recording, ends now: keeps what still waits to be known. 0 or -ENOMEM. */
int recorder_end_window(struct recorder *recorder, uint64_t now_ns);

/* Takes what is new since the last call, for batch_free(), without totals and counters. NULL if
 * there is no memory. */
struct batch *recorder_take_batch(struct recorder *recorder);

/* Begins anew, after a batch was taken: locations, paths, processes and threads are numbered from 0
 * again, and what has ended is forgotten. The next batch belongs to another recording of the store.
 * 0 or -ENOMEM. */
int recorder_begin_anew(struct recorder *recorder);

/* Returns whether so much was recorded since the beginning, or since the last
 * recorder_begin_anew(), that the latter should be called for the sake of memory. */
bool recorder_is_full(const struct recorder *recorder);

/* Counts the paths and locations that recorder_begin_anew() will forget, if recorder_is_full().
 * Returns whether it is. */
bool recorder_count_full(struct recorder *recorder);

/* Returns the kernel's symbols, which are loaded when the first kernel frame comes; NULL before.
 * They belong to the recorder. */
const struct kallsyms *recorder_kallsyms(const struct recorder *recorder);

struct recorder_counts {
	uint64_t received; /* records */
	uint64_t end_reasons[STACKD_END_COUNT];
	uint64_t periods;		  /* the sum of those of all samples that were kept */
	uint64_t complete, partial, lost; /* sums of these, by quality */
	uint64_t collisions;		  /* tags that two paths share */
	uint64_t out_of_sequence;	  /* walks built on one that did not arrive */
	uint64_t judged_right, judged_wrong;
	uint64_t judged_cut, judged_less; /* right, and shorter: judge.h */
	uint64_t judged_made_right, judged_made_wrong, judged_made_nearest,
		judged_made_unproven; /* judge_jit.h */
	uint64_t tag_processes;	      /* processes that kept tags */
	struct tag_paths_counts tags;
	uint64_t sideband_lost; /* events that the kernel had no room for */
	struct recorder_forgotten {
		uint64_t cgroups, processes, threads, files;
		uint64_t objects;	   /* whose files were closed: no process maps them */
		uint64_t paths, locations; /* at the ends of windows that were full */
	} forgotten;			   /* to keep memory within bounds */
	uint64_t walked_frames, cache_hits, cache_misses, frame_pointer_steps;
	struct caller_check_counts steps;
	uint64_t unchecked_returns; /* path_builder_unchecked_returns() */
	uint64_t instances;	    /* records of regions: not among those received */
	uint64_t partial_instances; /* of which the path is not complete */
	uint64_t waits;		    /* records of waits */
	uint64_t partial_waits;	    /* of which the path is not complete */
	uint64_t unnamed_waits;	    /* for a file of which the path is not known */
	uint64_t wakers;	    /* records of threads that ended waits */
	struct live_blocks_counts blocks;
	uint64_t unproven;  /* frames of code that is not known: its file was being written to */
	uint64_t unwatched; /* files whose overwriting would not be noticed */
	uint64_t uncovered; /* programs whose allocations are not recorded */
};

/* Names the next mark, in the order of their numbers. 0 or -ENOMEM. */
int recorder_name_mark(struct recorder *recorder, const char *name);

/* Returns the files that processes have mapped; they belong to the recorder. */
const struct object_table *recorder_objects(const struct recorder *recorder);

/* Returns the counter of programs whose allocations are not recorded, which is the recorder's;
 * NULL: nobody does. */
struct alloc_coverage *recorder_alloc_coverage(const struct recorder *recorder);

/* Returns how many objects there are. */
uint32_t recorder_object_count(const struct recorder *recorder);

/* Gives the counters so far. */
void recorder_counts(const struct recorder *recorder, struct recorder_counts *ret_counts);

#endif
