/* SPDX-License-Identifier: MIT */
/*
 * Drives the kernel half: loads the BPF program, opens the perf events that run it on the target,
 * and hands out the records of the ring buffer.
 *
 * Most events are opened on CPUs: perf restricts those of a cgroup to its tasks, and the BPF
 * program filters those of processes (bpf/scope.bpf.h, which says why). Two kinds are opened on
 * threads, and inherited by the threads that these start: events with branch records, because the
 * processor's call-stack mode keeps the records of threads apart only for events of threads; and
 * events with a period of 1, of which each count is a sample.
 */
#ifndef CAPTURE_SAMPLER_H
#define CAPTURE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/capture/event_spec.h"
#include "daemon/capture/probe_cost.h"
#include "daemon/capture/sampler_parts.h"
#include "stackd_abi.h"
#include "daemon/base/counter_spec.h"
#include "daemon/tables/tables.h"

struct sampler;

#define SAMPLER_ATTACH_S 20

struct sampler_options {
	uint32_t stack_bytes;
	uint64_t ring_bytes;  /* rounded up to a power of two of pages */
	uint64_t table_bytes; /* kernel memory for recipe tables; 0: 64 MiB less all other maps */
	enum stackd_prefix prefix;
	bool heights;		 /* record the height of each frame */
	uint32_t segment_frames; /* --depth: frames of the top of each stack that are walked; 0:
				  * all */
	uint32_t usual_period;	 /* see record_period() */
	bool is_clock;		 /* the event is a clock of the kernel */
	bool branches;		 /* read branch records */
	bool idle;		 /* sample idle CPUs, too */
	bool walk_in_daemon;	 /* leave every walk to the daemon */
	bool managed;		 /* add frames of managed functions to walks */
	bool judge;		 /* with each walk, send a copy of the stack for the comparison */
	bool is_everyone;	 /* record all processes */
	bool is_processes; /* record the processes of sampler_follow() and sampler_add_member() (the
			    * members). If neither is_everyone nor this is set, a cgroup is recorded
			    */
	bool is_command;   /* no process is recorded but that of sampler_hold(), and its descendants
			    */
	bool by_members;   /* events are opened on CPUs, and filtered by members */
	uint32_t most_files;   /* highest file number for which the kernel half has room */
	uint32_t most_deep;    /* most deep stacks for which room is made, 7 MiB each */
	uint32_t most_members; /* most processes that are followed at a time */
	bool enable_on_exec;   /* start counting when the target calls exec */
	bool is_none;	       /* no samples are taken, so the program for them is not loaded */
	enum stackd_tags tags;
	bool regions;	/* load what regions, marks and allocations have in common */
	bool functions; /* load the programs of regions that are functions */
	bool marks;	/* load the program of marks */
	bool calls;	/* load the programs of libstackmpi's probe */
	bool ranks;	/* load the program that reads the ranks of MPI processes */
	enum stackd_scope region_scope;
	bool has_uprobe_multi;	/* load the programs of functions for uprobe_multi links */
	uint64_t region_limit;	/* most passes through regions a second and thread; 0: no limit */
	bool has_process_multi; /* uprobe_multi links can be for one process: use them for
				 * allocators, too */
	bool alloc_library;	/* load the programs of libstackalloc's probes */
	bool alloc_probes; /* load the programs for probes on allocators' functions, and for page
			    * faults, mmap() and brk() */
	uint64_t alloc_distance; /* mean bytes from one sampled allocation to the next; 0: none */
	const struct counter_spec *counters; /* counters that are read at the ends of passes through
					      * regions; borrowed */
	size_t n_counters;
	const struct event_groups *event_groups; /* NULL: no counter is an event */
	bool is_joined;		/* the period of a sample is the CPU time outside of regions that it
				 * represents (bpf/instance.bpf.h) */
	bool waits;		/* load the programs of waits, of the scope `region_scope` */
	bool wakers;		/* also load the program that records who ends waits */
	int stats_fd;		/* from sampler_measure_time(); sampler_new() takes it over; -1:
				 * none */
	uint64_t cgroup_id;	/* id of the cgroup that is recorded; 0: the target is no cgroup */
	uint64_t wait_least_ns; /* parts of waits that are shorter than this are only counted */
	uint64_t wait_mean_ns;	/* mean waiting time that a sampled wait represents; 0: record all
				 * waits */
};

/* Makes the kernel measure the run time of BPF programs, as long as the descriptor is open, which
 * needs CAP_SYS_ADMIN. Returns the descriptor, which the caller closes; or a negative number. */
int sampler_measure_time(void);

/* Loads the program. 0, or negative errno with a malloc()ed sentence in *ret_error:
 * -EPERM (rights), -EOPNOTSUPP (no BTF, no BPF, kernel too old), -ENOMEM. */
int sampler_new(const struct sampler_options *options, struct sampler **ret_sampler,
		char **ret_error);
void sampler_free(struct sampler *sampler);

/* Opens the event on this process as a trial, and falls back to cpu-clock if may_fall_back. 0, or
 * the negative errno of perf_event_open(). */
int sampler_probe(struct event_spec *spec);

/* Opens the event on all threads of a process, until a scan of its threads finds no new one, but
 * for SAMPLER_ATTACH_S seconds at most. If the process starts threads faster than they are found,
 * some have no event. Returns the number of threads; -ESRCH (the process has ended), or the
 * negative errno of perf_event_open(). */
int sampler_attach_process(struct sampler *sampler, const struct event_spec *spec, pid_t pid);

/* Opens the event again on a thread whose event the kernel has removed, and starts it. 0; -ESRCH:
 * the thread has ended; or the negative errno of perf_event_open(). */
int sampler_attach_thread(struct sampler *sampler, const struct event_spec *spec, pid_t tid);

/* Makes a process a member (bpf/tracked_pids.bpf.h), with sampler_options.is_processes. 0 or
 * negative errno. */
int sampler_add_member(struct sampler *sampler, pid_t pid);

/* Makes a process a member, and from now on also the children of members. With by_members, only
 * samples of members are recorded. To be called before sampler_attach_cpus(). 0 or negative
 * errno. */
int sampler_follow(struct sampler *sampler, pid_t pid);

/* Excludes a member from samples and CPU time until it calls exec. 0 or negative errno. */
int sampler_hold(struct sampler *sampler, pid_t pid);

/* Makes the kernel half add up the CPU time of all recorded tasks from now on, for is_everyone or
 * is_processes. To be called right before events are opened. 0 or negative errno. */
int sampler_begin_time(struct sampler *sampler);

/* Adds the CPU time up to now to the counters, for tasks that are running. Does nothing after
 * sampler_stop(). */
void sampler_look_at_time(struct sampler *sampler);

/* Opens the event on every online CPU; `cgroup_fd`: -1 for all processes. Clocks start apart from
 * each other (daemon/capture/phases.h). 0 or negative errno. */
int sampler_attach_cpus(struct sampler *sampler, const struct event_spec *spec, int cgroup_fd);

/* Changes the periods of all events, which must be those of a clock, at random: see
 * jitter_change(). */
void sampler_jitter(struct sampler *sampler, uint64_t frequency, unsigned percent);

/* Changes the frequency of events that sampler_attach_cpus() has opened (0: as `spec` has it), by
 * opening them again, also on CPUs that came on line since, because an event whose frequency is
 * changed would go on to report the old period. On each CPU the new event starts when the old one
 * stops, which loses the part of a period that the old event had counted. (If CPUs have come or
 * gone since the old events were opened, a CPU can have no event, or both, for PHASES_MOST_NS at
 * most.) 0; or negative errno, and the old events stay. */
int sampler_change_rate(struct sampler *sampler, const struct event_spec *spec, uint64_t frequency,
			int cgroup_fd);

/* Stops the sampling, and the counting of CPU time; records in the ring remain to be read. */
void sampler_stop(struct sampler *sampler);

int sampler_poll_fd(const struct sampler *sampler); /* readable when records wait */

/* Gives the kernel half's maps of recipe tables. They belong to the sampler. */
void sampler_tables_maps(const struct sampler *sampler, struct tables_maps *ret_maps);

/* Calls `each` for every record in the ring. `each` then owns the record, which is from a
 * record_pool, so it is freed by record_pool_give_back(), never by free(). For a record that cannot
 * be read (record_read()), `each` gets NULL, and counts it as lost. Returns the number of records;
 * or the first result of `each` that is not 0, which ends the calls. */
int sampler_drain(struct sampler *sampler, int (*each)(void *arg, struct stackd_header *record),
		  void *arg);

/* Returns whether sampler_read_page() works on this machine, which is tried at the first call. */
bool sampler_reads_pages(struct sampler *sampler);

/* Reads a page of a process or thread, if it is in memory: a memory_source.read_page. `sampler`: a
 * struct sampler. */
bool sampler_read_page(void *sampler, pid_t pid, uint64_t address, uint8_t *bytes);

/* Returns whether the ring is so full that it must be read soon, before all other work. */
bool sampler_is_pressed(const struct sampler *sampler);

/* The kernel half's maps of JIT code, and its variables that say whether the maps have entries:
 * ranges of JIT code in processes (jit_ranges), files that hold JIT code (made_files), and facts
 * about runtimes in processes (runtime_facts). */
struct sampler_code {
	int ranges_fd, files_fd, facts_fd;
	uint32_t *has_ranges, *has_files; /* borrowed */
	uint32_t *runtimes_told;	  /* borrowed; a bit for each enum stackd_runtime that has
					   * facts */
	uint32_t *files_written;	  /* borrowed; see mapping.bpf.h */
};

/* Gives the maps of JIT code. They belong to the sampler. */
void sampler_code_maps(const struct sampler *sampler, struct sampler_code *ret_code);

/* The kernel half's maps of tags. */
struct sampler_tags {
	int tagged_fd, known_fd;
	uint32_t *n_tagged; /* borrowed */
	uint32_t max_known;
};

/* Gives the maps of tags. They belong to the sampler. */
void sampler_tags_maps(const struct sampler *sampler, struct sampler_tags *ret_tags);

#define SAMPLER_UPROBE_MULTI 48 /* BPF_TRACE_UPROBE_MULTI, which older headers lack */

/* Measures what a probe costs outside of its BPF program (probe_cost.h). Only valid if
 * sampler_options.n_counters is not 0. 0 or an error of probe_cost_measure(). */
int sampler_probe_cost(const struct sampler *sampler, struct probe_cost *ret_cost);

/* The kernel half's programs and maps of regions. */
struct sampler_regions {
	int enter_fd, leave_fd; /* programs for entries and exits */
	int mark_fd;		/* program for locations of marks */
	int exit_fd;		/* for the tracepoints sched_process_exit and sched_prepare_exec */
	int replaced_fd;	/* for begin_new_exec(), on kernels without sched_prepare_exec */
	int rank_fd;		/* for the tracepoint sched_process_exec, with ranks */
	int alloc_fd, free_fd;	/* for the probes of libstackalloc */
	int malloc_enter_fd, malloc_leave_fd; /* for functions of an allocator */
	int malloc_return_fd;		      /* for functions of an allocator, as a uretprobe */
	int malloc_exit_fd;		      /* for sched_process_exit, if an allocator is
					       * probed */
	int fault_fd, system_call_fd;	      /* for page_fault_user and sys_enter */
	int call_fd, call_switch_fd;	      /* for the probe of libstackmpi, and sched_switch */
	int calls_fd;			      /* map of the tables of libstackmpi */
	int cgroup_fd, off_fd, mpi_fd, libraries_fd, places_fd;
	/* regions_stopped and regions_linked_twice of the kernel half; borrowed */
	uint32_t *is_stopped, *is_linked_twice;
	enum stackd_scope scope;
	bool is_multi;	      /* enter_fd and leave_fd were loaded for uprobe_multi links */
	bool is_malloc_multi; /* malloc_*_fd (but for the exit) were loaded for uprobe_multi
			       * links */
};

/* Gives the parts of regions, for sampler_options.regions. They belong to the sampler. */
void sampler_regions_parts(const struct sampler *sampler, struct sampler_regions *ret_regions);

/* The kernel half's parts of counters that are events (bpf/event_sum.bpf.h). */
struct sampler_events {
	int fds_fd;	     /* map of the events */
	int switch_fd;	     /* program at sched_switch */
	uint32_t *turn;	     /* event_turn; borrowed */
	uint64_t known, cut; /* how many passes have values of events, and how many have none
			      * because a turn (event_groups.h) ended during the pass */
};

/* Gives the parts of counters that are events; they belong to the sampler. */
void sampler_events_parts(const struct sampler *sampler, struct sampler_events *ret_events);

/* Gives the programs and maps of waits, for sampler_options.waits. They belong to the sampler. */
struct sampler_waits sampler_waits_parts(const struct sampler *sampler);

/* Returns whether the kernel half has compared CLOCK_MONOTONIC with the scheduler's clock, by which
 * waits are measured. It does so at switches of threads, while the program sampler_waits.clock_fd
 * is attached. */
bool sampler_has_wait_clock(const struct sampler *sampler);

/* Tells the kernel half that sampler_waits.walk_fd is attached to the tracepoint behind each
 * switch, so that it need not raise an interrupt to walk the stack of a wait. */
void sampler_set_walks_behind_switch(struct sampler *sampler);

/* Changes the mean waiting time that a sampled wait represents. */
void sampler_set_wait_mean(struct sampler *sampler, uint64_t mean_ns);

struct sampler_counts {
	uint64_t counters[STACKD_COUNT_COUNT]; /* the kernel half's, by enum stackd_counter */
	uint64_t run_ns, runs;	 /* run time and number of runs of stackd_sample, as the kernel
				  * accounts them */
	uint64_t ring_bytes;	 /* bytes of records taken from the ring */
	uint64_t stacks_evicted; /* see record_reader_evicted() */
	uint64_t regions[STACKD_REGION_COUNT]; /* by enum stackd_region_counter */
	uint64_t waits[STACKD_WAIT_COUNT];     /* by enum stackd_wait_counter */
	uint64_t on_ns;		/* for how long the events of a cgroup were on; else 0 */
	uint64_t switch_run_ns; /* run time of the programs of waits and event counters, if
				 * accounted */
};

/* Returns the time that the kernel has spent in the programs of samples and waits, if accounted. */
uint64_t sampler_run_ns(const struct sampler *sampler);

/* Gives the counters so far. */
void sampler_counts(const struct sampler *sampler, struct sampler_counts *ret_counts);

#endif
