/* SPDX-License-Identifier: MIT */
/* Parses the command line of stackd. */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/base/counter_spec.h"
#include "stackd_abi.h"

enum target_kind { TARGET_NONE, TARGET_PIDS, TARGET_ALL, TARGET_CGROUP, TARGET_COMMAND };

struct options {
	enum target_kind target;
	pid_t *pids; /* owned */
	size_t n_pids, pids_cap;
	const char *cgroup;
	char **command; /* NULL-terminated, argv's own */

	const char *event;    /* NULL: cycles, else cpu-clock */
	uint64_t frequency;   /* Hz; 0: period is given */
	double max_cpu;	      /* of one core, for stackd; 0: no limit */
	uint64_t period;      /* events; 0: frequency is given */
	const char *output;   /* NULL: the default store */
	const char *group;    /* of users who may read the store; NULL: none */
	double duration_s;    /* 0: no limit */
	uint32_t stack_bytes; /* of user stack a sample, at most */
	uint64_t ring_bytes;
	uint64_t table_bytes; /* of kernel memory for recipe tables; 0: as much as is left */
	enum stackd_prefix prefix;
	bool is_prefix_given;
	enum stackd_tags tags;
	bool idle; /* sample idle CPUs, too */
	bool walk_in_daemon;
	bool heights;		 /* record the height of each frame */
	uint32_t segment_frames; /* of a stack's top; 0: all of it */
	bool judge;		 /* check every walk of the kernel half by one of the daemon's */
	bool judge_tags;	 /* ...and by the tag that the program keeps */
	uint64_t keep_age_s;	 /* retention; 0: no limit */
	uint64_t keep_bytes;
	uint64_t window_ns;   /* length of a window; 0: the recording is not cut */
	const char **regions; /* as given; the array is owned */
	size_t n_regions, regions_cap;
	const char **marks; /* the same */
	size_t n_marks, marks_cap;
	bool mpi;	      /* measure the functions of MPI */
	uint64_t alloc_bytes; /* mean distance between sampled allocations; 0: none are */
	char *alloc_library;  /* to be preloaded; not parsed, but owned */
	uint64_t alloc_limit; /* calls of an allocator in a second that may be probed; 0: any number
			       */
	bool waits;	      /* measure waits */
	bool wakers;	      /* and the threads that end them */
	uint64_t wait_least_ns; /* shorter ones are only counted */
	uint64_t wait_mean_ns;	/* waiting time a sample; 0: all waits are kept */
	uint64_t region_limit;	/* instances in a second and thread; 0: any number */
	struct counter_spec counters[STACKD_MOST_COUNTERS]; /* cpu first, if there are any */
	size_t n_counters;
	unsigned jitter; /* of the period, in percent of the rate; 0: none */
	bool is_jitter_given;
	bool quiet;
	bool lbr;
	bool lbr_anyway; /* even if the processor is not known to have branch records */
};

/* Parses the command line; on a usage error prints a message and exits with STATUS_USAGE.
 * `stackd --man` writes the manual page and exits. */
void options_parse(int argc, char **argv, struct options *ret_options);
void options_free(struct options *options);

/* Describes the target ("pid 123,456", "all", ...). The result is malloc()ed. */
char *options_target(const struct options *options);

#endif
