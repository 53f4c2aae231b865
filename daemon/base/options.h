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

enum mpi_way {
	MPI_ANY_WAY,	/* by libstackmpi where it can count, else by probes */
	MPI_BY_LIBRARY, /* --mpi=library */
	MPI_BY_PROBES,	/* --mpi=probes */
};

struct options {
	enum target_kind target;
	pid_t *pids; /* owned */
	size_t n_pids, pids_cap;
	const char *cgroup;
	char **command; /* NULL-terminated, argv's own */

	const char *event;    /* NULL: cycles, else cpu-clock */
	uint64_t frequency;   /* Hz; 0: period is given */
	double max_cpu;	      /* largest share of one core for stackd; 0: no limit */
	uint64_t period;      /* events per sample; 0: frequency is given */
	const char *output;   /* NULL: the default store */
	const char *group;    /* group of users who may read the store; NULL: none */
	double duration_s;    /* 0: no limit */
	uint32_t stack_bytes; /* most bytes of user stack that are copied for a sample */
	uint64_t ring_bytes;
	uint64_t table_bytes; /* kernel memory for recipe tables; 0: see
			       * sampler_options.table_bytes */
	enum stackd_prefix prefix;
	bool is_prefix_given;
	enum stackd_tags tags;
	bool idle; /* sample idle CPUs, too */
	bool walk_in_daemon;
	bool heights;		 /* record the height of each frame */
	uint32_t segment_frames; /* --depth: frames of the top of each stack that are walked; 0:
				  * all */
	bool managed;		 /* record frames of managed functions */
	bool judge;		 /* check each walk of the kernel half by a walk of the daemon */
	bool judge_tags;	 /* walk all stacks, and check each walk by the program's tag */
	uint64_t keep_age_s;	 /* retention; 0: no limit */
	uint64_t keep_bytes;
	uint64_t window_ns;   /* length of a window; 0: the recording is not cut */
	const char **regions; /* the arguments of --region; the array is owned */
	size_t n_regions, regions_cap;
	const char **marks; /* the arguments of --mark; the array is owned */
	size_t n_marks, marks_cap;
	const char **labels; /* the arguments of --label; the array is owned */
	size_t n_labels, labels_cap;
	/* Path of the library that counts calls in the command, owned: libstackmpi.so, or without
	 * MPI libstackregion.so; NULL: none does. Set by main(), as is the name of its socket. */
	char *calls_library;
	char calls_socket[48];
	enum mpi_way mpi_way; /* as asked for */
	bool mpi_by_library;  /* libstackmpi can count what is asked for, and is to */
	bool mpi;	      /* measure the functions of MPI */
	bool annotated;	      /* count the regions that programs name themselves */
	uint64_t alloc_bytes; /* mean distance between sampled allocations; 0: none are */
	char *alloc_library;  /* path of libstackalloc.so, owned; set by main(), not an option */
	uint64_t alloc_limit; /* probes are removed from an allocator that is called more often than
			       * this in a second; 0: no limit */
	bool waits;	      /* measure waits */
	bool wakers;	      /* also record the threads that end waits */
	uint64_t wait_least_ns; /* waits shorter than this are only counted */
	uint64_t wait_mean_ns;	/* mean waiting time that a sample represents; 0: record all
				 * waits */
	uint64_t region_limit;	/* most passes a second and thread; 0: no limit */
	struct counter_spec counters[STACKD_MOST_COUNTERS]; /* the first one is cpu, if there are
							     * any */
	size_t n_counters;
	unsigned jitter; /* most random change of the rate, in percent; 0: none */
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
