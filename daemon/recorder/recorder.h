/* SPDX-License-Identifier: MIT */
/*
 * Turns records and side-band events, in the order of time, into the rows of the store. Events
 * update the process table. The stack of a record is walked, its frames become locations, and its
 * call path becomes a node of the trie. All rows that are new since the last batch are collected
 * into the next one.
 *
 * Every record gets exactly one end reason (why its walk has ended), and each is counted.
 */
#ifndef RECORDER_RECORDER_H
#define RECORDER_RECORDER_H

#include "daemon/archive/batch.h"
#include "daemon/capture/sampler.h"
#include "daemon/capture/sideband.h"
#include "daemon/capture/alloc_coverage.h"
#include "daemon/capture/call_tables.h"
#include "daemon/recorder/live_blocks.h"
#include "daemon/recorder/machines.h"
#include "daemon/recorder/reorder.h"
#include "daemon/recorder/caller_check.h"
#include "daemon/tables/tables.h"
#include "daemon/worker/copier.h"
#include "daemon/worker/slow_files.h"
#include "daemon/worker/worker.h"
#include "daemon/recorder/tag_paths.h"
#include "stackd_abi.h"
#include "sym/kallsyms.h"

struct recorder;

/* All that is pointed to is borrowed until the recorder is freed, but for `code` and `tags`, which
 * are copied. */
struct recorder_options {
	/* Take the side-band events of all processes (--all, --cgroup), rather than those of the
	 * processes that are loaded and of their children. */
	bool is_everyone;
	uint32_t usual_period; /* see record_period() */

	/* They read files of recorded processes, and walk their stacks. NULL: this process does
	 * that, as with branch records and in tests. */
	struct workers *workers;

	/* It copies files from mounts that may not answer. NULL: such files are not read. */
	struct copier *copier;

	/* The share of a core that stackd may take (--max-cpu), of which each user's files have a
	 * share (user_shares.h). 0: no limit. */
	double budget;

	/* How the memory of processes is read; zeroed: as in /proc. */
	struct memory_source memory;

	/* The tables that the kernel half walks by. The recorder requests those that it has missed,
	 * and enters the vDSO. NULL: there are none. */
	struct tables *tables;

	/* Where the kernel's symbols are read. NULL: /proc is opened at the first kernel address.
	 */
	const struct kernel_files *kernel;

	/* The kernel half's maps for JIT code, which the recorder fills, and the map of mapped
	 * files that were written to, which it looks at with recorder_look(). NULL: it does
	 * neither. */
	const struct sampler_code *code;

	/* The kernel half's maps for programs that keep a tag (docs/TAGS.md), whose samples have
	 * the tag in place of a walk. NULL: these programs are walked. `judge_tags`: tags only
	 * check walks. */
	const struct sampler_tags *tags;
	bool judge_tags;

	/* Samples come with branch records: of calls that have not returned (`is_call_stack`), or
	 * of branches of every kind. `entries`: how many branch records the processor has. */
	bool has_branches;
	struct {
		bool is_call_stack;
		unsigned entries;
	} branches;

	/* The mean distance of sampled allocations in bytes, for records that do not have their
	 * weight. */
	uint64_t alloc_distance;
	bool counts_alloc_coverage; /* count programs whose allocations are not recorded */

	/* The period of a sample is the CPU time outside of regions that it represents, in ns; 0:
	 * the sample hit a region. `usual_period` is the period at which samples are taken. */
	bool has_intervals;
	bool has_heights;    /* records have the heights of frames (bpf/segment.bpf.h) */
	bool reads_machines; /* name frames of JIT code by the runtime that has made it
			      * (machines.h) */
	bool is_judged;	     /* a copy of the stack follows each WALKED record, and the walk is
			      * compared with it (--judge) */
	bool keeps_copies;   /* keep every file with an object's content, to put probes on each
			      * (proc/object_copies.h) */

	/* Close files that no process maps any more, once there are many. Must not be set if probes
	 * are put on files. */
	bool closes_files;

	/* The tables in which libstackmpi counts; NULL: none. */
	struct call_tables *calls;

	/* Labels "KEY=VALUE" of all threads (--label). */
	const char *const *labels;
	size_t n_labels;

	/* Called after each process while all processes are read from /proc, at the beginning and
	 * after events were lost. Meanwhile the rings may fill, so the function may read them. A
	 * result other than 0 ends the reading of processes. NULL: not called. */
	int (*relieve)(void *arg);
	/* Reads the events that have arrived. Called before an unknown process is read from /proc,
	 * because it may have called exec since its record, and must not be recorded as its old
	 * program. NULL: there are no events. */
	int (*drain)(void *arg);
	void *arg; /* the argument of both functions */
};

/* 0 or -errno. */
int recorder_new(const struct recorder_options *options, struct recorder **ret_recorder);
void recorder_free(struct recorder *recorder); /* NULL is fine */

/* Returns 0 if writes to mapped files are noticed; else -errno, which says why not. */
int recorder_watch_error(const struct recorder *recorder);

/* --- processes and side-band events ---------------------------------------------------------- */

/* Reads a process that is to be recorded from /proc. 0 or -errno. */
int recorder_load_process(struct recorder *recorder, pid_t pid);

/* Opens a file that the process is about to map, found at `path` as `file`, and requests its table,
 * so that its first walk finds that. Gives its object; NULL: it has none. 0 or -ENOMEM. */
int recorder_expect_file(struct recorder *recorder, pid_t pid, const char *path,
			 const struct elf_file *file, const struct object **ret_object);

/* Reads every process of the machine. 0 or -errno. */
int recorder_load_all(struct recorder *recorder);

/* Requests the tables of all files that processes with an interpreter (Python's) have mapped, of
 * those that were loaded, and waits for them, no longer than `until_ns` (CLOCK_MONOTONIC): their
 * functions can be read from the first sample on then. A SIGINT or SIGTERM that is blocked and
 * pending ends the wait. 0 or -errno. */
int recorder_await_interpreters(struct recorder *recorder, uint64_t until_ns);

/* Says what becomes of an event that is still in its ring (sideband_judge_by()), by what its user's
 * processes cause. `recorder`: a struct recorder, that records all processes. */
enum sideband_verdict recorder_judge_event(void *recorder, const struct sideband_peek *event);

/* Opens the files that an event names, before they may be deleted, and does what else cannot wait.
 * To be called as soon as the event has been read. 0 or -ENOMEM. */
int recorder_prefetch_event(struct recorder *recorder, struct sideband_event *event);

/* Finds the name of a record's cgroup while the cgroup exists, and requests the recipe table that
 * the record's walk has missed, so that the kernel half can walk the next samples. To be called as
 * soon as the record has been read. 1: the record is done with, and must not be queued; 0;
 * -ENOMEM. */
int recorder_prefetch_record(struct recorder *recorder, const struct stackd_header *record);

/* Takes an event, in the order of time. 0; 1: the kernel has removed the perf events of the event's
 * thread, whose process goes on (process_table_on_exit()), so they are to be opened again;
 * -ENOMEM. */
int recorder_event(struct recorder *recorder, const struct sideband_event *event);

/* Finds mapped files that were written to. To be called in each round (session_round.c), after the
 * ring was read. 0 or -ENOMEM. */
int recorder_look(struct recorder *recorder);

/* Looks again at processes whose libstacktag was not initialised yet. To be called in each
 * round. */
void recorder_poll(struct recorder *recorder);

/* Returns whether records may stay in the ring for some tenths of a second. They may not while any
 * process keeps a tag (tagger.h). */
bool recorder_may_idle(const struct recorder *recorder);

/* Returns whether records are to be read soon after they were made, because they need what their
 * processes have in memory (machines.h). */
bool recorder_reads_memory(const struct recorder *recorder);

/* Returns whether a record, the next in the order of time, has missed a table that is not loaded
 * yet. Requests that table. */
bool recorder_awaits_table(struct recorder *recorder, const struct stackd_header *record);

/* Returns whether the next record in the order of time has a copied stack that a worker has not
 * walked yet. Requests that walk, and those of the records after it; with `awaits_tables` not of
 * those whose table is not loaded yet. */
bool recorder_awaits_walk(struct recorder *recorder, struct reorder *queue, uint64_t horizon_ns,
			  bool awaits_tables);

/* Sends requests of walks to the worker and takes its results, without waiting. To be called when
 * recorder_poll_fd() is readable, and every WORKER_LOOK_MS while recorder_walks() is true. */
void recorder_go_on(struct recorder *recorder);

/* Returns a descriptor, which belongs to the recorder, that is readable when a worker has answered;
 * -1: there are no workers. */
int recorder_poll_fd(const struct recorder *recorder);

/* Returns whether workers walk stacks at the moment. */
bool recorder_walks(const struct recorder *recorder);

/* Returns whether files on slow mounts are being copied: recorder_look() is to be called every
 * WORKER_LOOK_MS then. */
bool recorder_copies(const struct recorder *recorder);

/* --- samples --------------------------------------------------------------------------------- */

/* Takes a record, in the order of time. The caller still owns it. NULL: the record could not be
 * read, and counts as lost. 0 or -ENOMEM. */
int recorder_sample(struct recorder *recorder, const struct stackd_header *record);

/* Stores what libstackmpi has counted since the last call; `is_last`: also the receives that are
 * not complete. To be called before a batch is taken. 0 or -ENOMEM. */
int recorder_read_calls(struct recorder *recorder, uint64_t now_ns, bool is_last);

/* To be called at the end of a window, or of the recording: adds the rows that still wait for a
 * later record. 0 or -ENOMEM. */
int recorder_end_window(struct recorder *recorder, uint64_t now_ns);

/* Returns all rows that are new since the last call, as a batch. The caller fills in its totals and
 * counters, and frees it by batch_free(). NULL without memory. */
struct batch *recorder_take_batch(struct recorder *recorder);

/* Takes numbers of files in the kernel half back, if few are left (number_reuse.h). To be called
 * in each round. `done_ns`: all records that began before this time were handed out. */
void recorder_reuse_numbers(struct recorder *recorder, uint64_t done_ns);

/* Begins another recording of the store, after a batch was taken: numbers locations, paths,
 * processes and threads from 0 again, and forgets processes and threads that have ended. 0 or
 * -ENOMEM. */
int recorder_begin_anew(struct recorder *recorder);

/* Returns whether the trie and tables have become so large that the window should end, and
 * recorder_begin_anew() be called, to save memory. */
bool recorder_is_full(const struct recorder *recorder);

/* If recorder_is_full(), adds the paths and locations that recorder_begin_anew() will forget to the
 * counters, and returns true. */
bool recorder_count_full(struct recorder *recorder);

/* Returns the kernel's symbols, which are loaded when the first kernel frame comes; NULL before.
 * They belong to the recorder. */
const struct kallsyms *recorder_kallsyms(const struct recorder *recorder);

struct recorder_counts {
	uint64_t received; /* records */
	uint64_t end_reasons[STACKD_END_COUNT];
	uint64_t periods;		  /* the sum over all samples that were kept */
	uint64_t complete, partial, lost; /* sums of end reasons, by quality */
	uint64_t collisions;		  /* tags that two paths share */
	uint64_t out_of_sequence;	  /* walks built on a record that did not arrive */
	uint64_t judged_right, judged_wrong;
	uint64_t judged_cut, judged_less; /* as judge.h has them */
	uint64_t judged_managed_right, judged_managed_wrong;
	uint64_t judged_made_right, judged_made_wrong, judged_made_nearest,
		judged_made_unproven; /* judge_jit.h */
	uint64_t tag_processes;	      /* processes that kept tags */
	struct tag_paths_counts tags;
	uint64_t sideband_lost; /* events that the kernel had no room for */
	struct recorder_forgotten {
		uint64_t cgroups, processes, threads, files;
		uint64_t objects;	   /* number of objects whose files were closed, because no
					    * process maps them */
		uint64_t paths, locations; /* number forgotten at the ends of windows that were
					    * full */
	} forgotten;			   /* to keep memory within bounds */
	uint64_t walked_frames, cache_hits, cache_misses, frame_pointer_steps;
	struct caller_check_counts steps;
	uint64_t unchecked_returns; /* path_builder_unchecked_returns() */
	uint64_t instances; /* records of passes through regions, which `received` does not include
			     */
	uint64_t summed_calls;	 /* calls of MPI that libstackmpi has counted; `instances` does
				  * not include them */
	uint64_t calls_cut;	 /* sums of these that were more than can be */
	uint64_t calls_unplaced; /* calls of MPI whose path was never known */
	uint64_t named_walked;	 /* records of named regions; 0: none was seen */
	uint64_t named_too_deep; /* passes through named regions within STACKD_CALL_OPEN others */
	struct call_tables_counts tables;
	uint64_t calls_open;	    /* calls in which their thread, or the recording, ended */
	uint64_t partial_instances; /* of `instances`, records whose path is not complete */
	uint64_t waits;		    /* records of waits */
	uint64_t partial_waits;	    /* of these, records whose path is not complete */
	uint64_t unnamed_waits;	    /* of these, waits for a file whose path is not known */
	uint64_t wakers;	    /* records of threads that ended waits */
	struct live_blocks_counts blocks;
	uint64_t unproven;  /* frames whose code is not known, since their file was being
			     * overwritten */
	uint64_t unwatched; /* files that could be overwritten unnoticed */
	uint64_t uncovered; /* programs whose allocations are not recorded */
	struct slow_files_counts slow;
	uint64_t files_over_share;    /* times that a file was not read, since its user's processes
				       * had brought too many */
	uint64_t mappings_over_share; /* events of mappings that were left out, since a user's
				       * processes make too many */
	uint64_t names_over_share; /* new names of threads that were left out for the same reason */
	struct machines_counts machines;
	uint64_t managed_unread; /* stacks that stackd has walked, so that the activations of an
				  * interpreter in them have no managed frames */
};

/* Adds the name of a mark. To be called in the order of the marks' numbers. 0 or -ENOMEM. */
int recorder_name_mark(struct recorder *recorder, const char *name);

/* Returns the files that processes have mapped; they belong to the recorder. */
const struct object_table *recorder_objects(const struct recorder *recorder);

/* Returns the counter of programs whose allocations are not recorded, which belongs to the
 * recorder; NULL: they are not counted. */
struct alloc_coverage *recorder_alloc_coverage(const struct recorder *recorder);

/* Returns how many objects there are. */
uint32_t recorder_object_count(const struct recorder *recorder);

/* Sets the budget of the options, which must have had one, for what is paid from now on. */
void recorder_set_budget(struct recorder *recorder, double budget);

/* Gives the counters so far. */
void recorder_counts(const struct recorder *recorder, struct recorder_counts *ret_counts);

#endif
