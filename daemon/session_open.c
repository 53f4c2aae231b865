/* SPDX-License-Identifier: MIT */
/*
 * Sets a session up: the target, the sampler with its tables, the recorder, the store, and then the
 * events. The store is made before the events are opened: making it waits for the disk several
 * times, and a fast event fills the ring in half a second.
 */
#include "daemon/base/rights.h"
#include "daemon/session_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/attach.h"
#include "daemon/command_tables.h"
#include "daemon/base/perf_habits.h"
#include "daemon/base/log.h"
#include "daemon/base/own_limits.h"
#include "daemon/base/cpu_accounting.h"
#include "daemon/regions/alloc_source.h"
#include "daemon/regions/uprobe_multi.h"
#include "daemon/regions/region_options.h"
#include "daemon/worker/fault_injection.h"
#include "daemon/worker/sandbox.h"
#include "proc/pid_namespace.h"
#include "store/store_path.h"

/* Most processes in the sampler's set of members. The map takes 1 MiB of the kernel's memory, and
 * 64 bytes for each entry. */
#define MOST_MEMBERS 65536u

/* How many numbers there are for files. When few are left, those of files that no record can have
 * any more are given to other files. */
#define MOST_FILES 16384u
/* Bytes of records that may wait for their walks: of a service, which stays small for months, and
 * of any other recording. */
#define SERVICE_BYTES (16u << 20)
#define MOST_BYTES    (128u << 20)

/* Most bytes of code without unwind information that are analysed in a file, with --window.
 * Analysing so many takes some 25 MiB of memory. */
#define MOST_ANALYSED (2u << 20)

/* --- the parts ------------------------------------------------------------------------------- */

void session_begin_window(struct session *s, struct window window)
{
	s->recording.window = window;
	s->recording.info.start_unix_ns = window.start_unix_ns;
	s->recording.info.start_ns = s->recording.info.end_ns = window.start_ns;
}

struct scheduler_times session_times(const struct session *s)
{
	const int cgroup = target_cgroup_fd(s->scope.target);

	return (struct scheduler_times){
		.stolen_ns = cpu_accounting_stolen(),
		.cgroup_ns = cgroup >= 0 ? cpu_accounting_of_cgroup(cgroup) : 0,
	};
}

/* Fills in the recording's row of the store. */
static void describe(struct session *s, const char *command_line, char *target)
{
	struct store_recording *info = &s->recording.info;

	uname(&s->recording.host);
	info->host = s->recording.host.nodename;
	info->kernel = s->recording.host.release;
	info->arch = s->recording.host.machine;
	info->command = command_line;
	info->target = target ? target : "";
	info->event = s->scope.event.spec.name;
	info->note = s->scope.event.note ? s->scope.event.note : "";
	if (s->options->lbr)
		info->note = "events are the threads' own, for --lbr: a thread has no sample for "
			     "the last part of a period, so short ones have few or none";
	if (s->options->mpi) {
		snprintf(s->recording.note, sizeof(s->recording.note), "%s%scalls of MPI: %s",
			 info->note, *info->note ? "; " : "",
			 s->options->mpi_by_library ? "counted in the program (libstackmpi)"
						    : "measured by probes");
		info->note = s->recording.note;
	}
	info->frequency_hz = s->scope.event.spec.is_none ? 0 : s->options->frequency;
	info->period = s->scope.event.spec.is_none ? 0 : s->options->period;
	info->cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	info->run = s->options->window_ns != 0;
}

/* Sets the recording's start to now. */
static void begin_now(struct session *s)
{
	session_begin_window(s, window_begin(s->options->window_ns, clock_ns(CLOCK_REALTIME),
					     clock_ns(CLOCK_MONOTONIC)));
	s->clocks.before = session_times(s);
	if (s->options->target == TARGET_ALL)
		s->clocks.idle_since = idle_time_now();
}

/* Gives a new store to the user and group who may read it. */
static void share_store(void *arg)
{
	const struct session *s = arg;

	store_path_hand_over(s->recording.store_path);
	service_manager_share_store(s->recording.store_path, s->options->group);
}

static enum exit_status open_store(struct session *s)
{
	const struct options *o = s->options;
	struct archive_options archive = {.keep_age_s = o->keep_age_s,
					  .keep_bytes = o->keep_bytes,
					  .window_ns = o->window_ns,
					  .made = share_store,
					  .arg = s};
	char *sentence = NULL;
	int err = 0;

	s->recording.store_path = o->output ? strdup(o->output) : store_path_default();
	if (!s->recording.store_path)
		err = -ENOMEM;
	if (!err && !o->output)
		err = store_path_prepare(s->recording.store_path);
	archive.path = s->recording.store_path;
	if (!err)
		err = names_there_new(s->workers, s->fetcher, &s->recording.names);
	archive.names = s->recording.names;
	if (!err)
		err = archive_new(&archive, &s->recording.archive, &sentence);
	if (!err) {
		share_store(s);
		return epoll_set_watch_end(&s->wakeups, archive_poll_fd(s->recording.archive))
			       ? STATUS_FAILED
			       : STATUS_DONE;
	}
	log_failure(sentence, s->recording.store_path ? s->recording.store_path : "store", err);
	return STATUS_FAILED;
}

static enum exit_status begin_recording(struct session *s)
{
	char *sentence = NULL;
	int err = archive_begin(s->recording.archive, &s->recording.info, &sentence);

	if (err) {
		log_failure(sentence, s->recording.store_path, err);
		return STATUS_FAILED;
	}
	s->recording.first = archive_recording(s->recording.archive);
	share_store(s);
	return STATUS_DONE;
}

/* Returns whether the period of a sample is the CPU time outside of regions that the sample
 * represents. That needs a clock event, whose periods are CPU time, and a period that is known and
 * does not change. */
static bool is_joined(const struct session *s)
{
	const struct options *o = s->options;

	return (o->n_regions || o->n_marks || o->mpi || o->annotated) &&
	       event_spec_is_clock(&s->scope.event.spec) &&
	       event_spec_usual_period(&s->scope.event.spec) && !o->max_cpu;
}

static int events_of(void *s, int (*each)(void *intake, struct sideband_event *event), void *intake)
{
	return sideband_drain(((struct session *)s)->rings.sideband, each, intake);
}

static int records_of(void *s, int (*each)(void *intake, struct stackd_header *record),
		      void *intake)
{
	return sampler_drain(((struct session *)s)->sampler, each, intake);
}

static enum exit_status open_sideband(struct session *s)
{
	const struct intake_source source = {events_of, records_of, s};
	const long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int err = sideband_new(target_cgroup_fd(s->scope.target),
			       sideband_bytes(s->options->ring_bytes, cpus > 0 ? (size_t)cpus : 1),
			       &s->rings.sideband);

	if (!err)
		err = intake_new(&source, &s->rings.intake);
	if (!err) {
		workers_use_meanwhile(s->workers, session_take_meanwhile, s);
		return STATUS_DONE;
	}
	log_error("cannot follow processes and mappings (%s): %s", strerror(-err),
		  err == -ENOBUFS ? "its user may not lock so much memory: raise 'ulimit -l', or "
				    "kernel.perf_event_mlock_kb"
				  : rights_remedy(", or with CAP_PERFMON"));
	return exit_status_of(err);
}

static bool is_of_processes(const struct options *options)
{
	return options->target == TARGET_PIDS || options->target == TARGET_COMMAND;
}

static struct sampler_options sampler_options(const struct session *s)
{
	const struct alloc_ways alloc = alloc_source_ways(s->options, s->scope.target);

	return (struct sampler_options){
		.stack_bytes = s->options->stack_bytes,
		.ring_bytes = s->options->ring_bytes,
		.table_bytes = s->options->table_bytes,
		/* With --depth only the top of each stack is walked. Comparing the last walk's
		 * frames with memory (--prefix) costs more the deeper a stack is, so it is off. */
		.prefix = s->options->segment_frames ? STACKD_PREFIX_NONE : s->options->prefix,
		.heights = s->options->heights,
		.segment_frames = s->options->segment_frames,
		.tags = s->options->tags,
		.branches = s->options->lbr,
		.walk_in_daemon = s->options->walk_in_daemon,
		.judge = s->options->judge,
		.managed = s->options->managed,
		.idle = s->options->idle,
		.regions = regions_are_wanted(s->options),
		.functions = regions_have_functions(s->options),
		.marks = marks_are_wanted(s->options),
		.ranks = s->options->mpi,
		.calls = s->options->calls_library != NULL,
		.region_scope = regions_scope(s->options),
		.region_limit = s->options->region_limit,
		.has_process_multi = s->options->alloc_bytes && uprobe_multi_is_by_process(),
		.alloc_library = alloc.library,
		.alloc_probes = alloc.probes,
		.alloc_distance = s->options->alloc_bytes,
		.counters = s->options->counters,
		.n_counters = s->options->n_counters,
		.event_groups = s->event_groups,
		.is_joined = is_joined(s),
		.waits = s->options->waits,
		.wakers = s->options->wakers,
		.stats_fd = s->cost.stats_fd,
		.cgroup_id = waits_cgroup_id(target_cgroup_fd(s->scope.target)),
		.wait_least_ns = s->options->wait_least_ns,
		.wait_mean_ns = s->options->wait_mean_ns,
		.has_uprobe_multi = regions_have_functions(s->options) && uprobe_multi_is_there(),
		.usual_period = event_spec_usual_period(&s->scope.event.spec),
		.is_clock =
			event_spec_is_clock(&s->scope.event.spec) && !s->scope.event.spec.is_none,
		.is_everyone = s->options->target == TARGET_ALL,
		.is_processes = is_of_processes(s->options),
		.is_command = s->options->target == TARGET_COMMAND,
		.by_members = s->scope.is_on_cpus,
		.most_files = fault_few("files", MOST_FILES),
		.most_deep = s->options->window_ns ? 0 : STACKD_DEEP_STACKS,
		.most_members = fault_few("members", MOST_MEMBERS),
		.enable_on_exec = s->options->target == TARGET_COMMAND && !s->scope.is_on_cpus,
		.is_none = s->scope.event.spec.is_none,
	};
}

static enum exit_status open_sampler(struct session *s)
{
	const struct sampler_options options = sampler_options(s);
	const struct table_source source =
		table_source_there(workers_of(s->workers, WORKER_TABLES));
	struct tables_maps maps;
	char *sentence = NULL;
	int err = sampler_new(&options, &s->sampler, &sentence);

	if (err) {
		log_failure(sentence, "BPF", err);
		return exit_status_of(err);
	}
	err = s->options->n_counters ? sampler_probe_cost(s->sampler, &s->cost.probe_cost) : 0;
	if (err)
		log_warning("cannot measure what a probe costs, so passes include it: %s",
			    strerror(-err));
	sampler_tables_maps(s->sampler, &maps);
	err = tables_new(&maps, &source, s->options->max_cpu * SESSION_TABLES_IN_BUDGET,
			 &s->tables);
	if (err) {
		log_error("cannot set up the recipe tables: %s", strerror(-err));
		return STATUS_FAILED;
	}
	return STATUS_DONE;
}

/* Returns whether side-band events of all processes matter. */
static bool is_everyone(const struct options *o)
{
	return o->target == TARGET_ALL || o->target == TARGET_CGROUP;
}

/* Returns the recorder's options. With branch records there are no workers, because branch records
 * are compared with walks that this process makes itself. */
static struct recorder_options recorder_options(struct session *s)
{
	const struct options *o = s->options;

	return (struct recorder_options){
		.is_everyone = is_everyone(o),
		.usual_period = event_spec_usual_period(&s->scope.event.spec),
		.workers = o->lbr ? NULL : s->workers,
		.copier = s->copier,
		.budget = o->max_cpu,
		.memory = {.proc = "/proc",
			   .read_page = sampler_reads_pages(s->sampler) ? sampler_read_page : NULL,
			   .arg = s->sampler},
		.tables = s->tables,
		.kernel = &s->kernel,
		.judge_tags = o->judge_tags,
		.has_branches = o->lbr,
		.branches = {.is_call_stack =
				     s->scope.event.branches.kind == BRANCH_CAPS_CALL_STACK,
			     .entries = s->scope.event.branches.entries},
		.alloc_distance = o->alloc_bytes,
		.counts_alloc_coverage = o->alloc_bytes && !is_everyone(o),
		.has_intervals = is_joined(s),
		.has_heights = o->heights,
		.is_judged = o->judge,
		.reads_machines = o->managed,
		.keeps_copies = regions_are_wanted(o),
		.closes_files = !regions_are_wanted(o) && !o->lbr,
		.calls = s->calls,
		.labels = o->labels,
		.n_labels = o->n_labels,
		.relieve = session_relieve,
		.drain = session_drain_sideband,
		.arg = s,
	};
}

/* Sees to it that what the processes of all users cause takes little time: events are judged while
 * they are in their rings, and processes that no record is of are not followed. (Wakers are named
 * that no record is of; regions and allocations are looked for in all programs.) */
static int spare_work(struct session *s)
{
	const struct options *o = s->options;

	if (!is_everyone(o))
		return 0;
	sideband_judge_by(s->rings.sideband, recorder_judge_event, s->recorder);
	return o->wakers || regions_are_wanted(o) ? 0 : session_leave_out_short_lived(s);
}

/* Opens the socket at which libstackmpi asks for tables. */
static enum exit_status open_calls(struct session *s)
{
	struct sampler_regions kernel;
	int err;

	if (!s->options->calls_library)
		return STATUS_DONE;
	sampler_regions_parts(s->sampler, &kernel);
	err = call_tables_new(s->options->calls_socket, kernel.calls_fd, &s->calls);
	if (err)
		log_error("cannot open the socket at which programs ask for tables of calls: %s",
			  strerror(-err));
	return err ? STATUS_FAILED : STATUS_DONE;
}

static enum exit_status open_recorder(struct session *s)
{
	struct recorder_options options = recorder_options(s);
	struct sampler_code code;
	struct sampler_tags tags;
	int err;

	sampler_code_maps(s->sampler, &code);
	options.code = &code;
	if (s->options->tags != STACKD_TAGS_OFF) {
		sampler_tags_maps(s->sampler, &tags);
		options.tags = &tags;
	}
	err = recorder_new(&options, &s->recorder);
	if (!err)
		err = spare_work(s);
	if (err) {
		log_error("cannot set up: %s", strerror(-err));
		return STATUS_FAILED;
	}
	err = recorder_watch_error(s->recorder);
	if (err)
		log_warning("files that are overwritten while they are mapped will not be noticed: "
			    "%s",
			    strerror(-err));
	return STATUS_DONE;
}

static enum exit_status open_events(struct session *s)
{
	const struct attach to = {.is_on_cpus = s->scope.is_on_cpus,
				  .options = s->options,
				  .event = &s->scope.event,
				  .target = s->scope.target,
				  .recorder = s->recorder,
				  .sampler = s->sampler};
	enum exit_status status = attach_load(&to);

	s->end.is_early = epoll_set_has_signal(&s->wakeups);
	if (!status)
		begin_now(s); /* from here on, programs that run already get samples */
	return status ? status : attach(&to);
}

static enum exit_status start_regions(struct session *s)
{
	const struct regions_options with = {.options = s->options,
					     .sampler = s->sampler,
					     .objects = recorder_objects(s->recorder),
					     .target = s->scope.target,
					     .worker = workers_of(s->workers, WORKER_REGIONS),
					     .coverage = recorder_alloc_coverage(s->recorder)};
	enum exit_status status = regions_start(&with, &s->regions);
	const char *name;
	int err = event_groups_start(s->event_groups, s->sampler, clock_ns(CLOCK_MONOTONIC));

	if (err)
		log_error("--counter: events cannot be counted: %s", strerror(-err));
	for (size_t i = 0; !status && !err && (name = regions_mark_name(s->regions, i)); i++)
		err = recorder_name_mark(s->recorder, name);
	return err ? STATUS_FAILED : status;
}

/* Has the tables made that a command must not begin without. */
static enum exit_status prepare_target(struct session *s)
{
	const struct options *o = s->options;
	const bool must = o->target == TARGET_COMMAND && o->managed;

	return must && command_tables_make(o, s->scope.target, s->recorder, s->tables)
		       ? STATUS_FAILED
		       : STATUS_DONE;
}

static enum exit_status start_target(struct session *s)
{
	const int err = target_start(s->scope.target);
	const char *says;

	if (!err)
		return STATUS_DONE;
	says = err == -ENOENT ? perf_habits_command(s->options->command[0]) : NULL;
	log_error("cannot run '%s': %s", s->options->command[0], says ? says : strerror(-err));
	archive_discard(s->recording.archive);
	return STATUS_FAILED;
}

/* Refuses to run in a pid namespace, if samples could not be attributed to the target's processes
 * there. */
static enum exit_status check_namespace(const struct options *options)
{
	if (pid_namespace_is_first("/proc"))
		return STATUS_DONE;
	if (options->target == TARGET_PIDS || options->target == TARGET_COMMAND) {
		log_error("processes of a pid namespace other than the machine's cannot be "
			  "recorded from within: " PID_NAMESPACE_REMEDY);
		return STATUS_UNSUPPORTED;
	}
	if (!pid_namespace_proc_is_first("/proc"))
		log_warning("/proc is of a pid namespace other than the machine's: processes have "
			    "neither names nor call paths; " PID_NAMESPACE_REMEDY);
	return STATUS_DONE;
}

static enum exit_status open_target(struct session *s)
{
	char *sentence = NULL;
	enum exit_status status = check_namespace(s->options);
	int err = status ? 0 : target_new(s->options, &s->scope.target, &sentence);

	if (status)
		return status;
	if (err) {
		log_failure(sentence, "target", err);
		return STATUS_FAILED;
	}
	s->scope.is_crowd = attach_is_crowd(s->options, s->scope.target);
	s->scope.is_on_cpus = attach_is_on_cpus(s->options, &s->scope.event.spec, s->scope.target);
	online_cpus_listen(&s->scope.cpus);
	online_cpus_look(&s->scope.cpus, ONLINE_CPUS_LIST); /* before events are opened */
	return STATUS_DONE;
}

static enum exit_status make_parts(struct session *s)
{
	int err;

	/* The command is forked already, so it keeps the limit and priority that it has
	 * inherited. */
	own_limits_raise_files();
	own_limits_raise_locked_memory();
	own_limits_raise_priority();
	if (s->scope.is_crowd)
		own_limits_hurry(true);
	/* The kernel's statistics of BPF programs are not switched on for --wait alone: they read
	 * the clock twice at each run, which costs more than the program itself does at a switch of
	 * a thread that is not recorded. */
	s->cost.stats_fd = !s->options->waits || s->options->max_cpu ? sampler_measure_time() : -1;
	kernel_files_open("/proc", &s->kernel);
	sandbox_daemon_capabilities(regions_are_wanted(s->options));
	s->tick_ns = SESSION_TICK_NS;
	s->rings.most_bytes =
		fault_few("queue", s->options->window_ns ? SERVICE_BYTES : MOST_BYTES);
	err = epoll_set_open(&s->wakeups, s->tick_ns);
	if (!err)
		err = reorder_new(&s->rings.queue);
	if (err)
		log_error("cannot set up: %s", strerror(-err));
	return err ? STATUS_FAILED : STATUS_DONE;
}

/* Has the time begin that is to be recorded. */
static void set_deadline(struct session *s)
{
	if (s->options->duration_s > 0)
		s->end.deadline_ns =
			clock_ns(CLOCK_MONOTONIC) + (uint64_t)(s->options->duration_s * 1e9);
}

static int watch_parts(struct session *s)
{
	struct epoll_set *w = &s->wakeups;
	int err = epoll_set_watch(w, sampler_poll_fd(s->sampler));

	if (!err)
		err = epoll_set_watch(w, sideband_poll_fd(s->rings.sideband));
	if (!err)
		err = epoll_set_watch_end(w, target_poll_fd(s->scope.target));
	if (!err)
		err = epoll_set_watch(w, recorder_poll_fd(s->recorder));
	if (s->options->target == TARGET_COMMAND)
		set_deadline(s);
	if (!err && s->end.deadline_ns)
		err = epoll_set_deadline(w, s->end.deadline_ns);
	return err;
}

/* --- all of them ----------------------------------------------------------------------------- */

enum exit_status session_open(struct session *s, struct fork_server *server,
			      const char *command_line, char *target)
{
	enum exit_status status = event_choice_make(s->options, &s->scope.event);

	if (workers_new(server, s->options->window_ns ? fault_few("analysed", MOST_ANALYSED) : 0,
			&s->workers))
		return STATUS_FAILED;
	if (!status)
		status = open_target(s);
	if (!status)
		status = event_choice_probe(&s->scope.event, s->options->quiet);
	if (!status)
		status = event_groups_open(s->options->counters, s->options->n_counters,
					   &s->event_groups);
	if (!status)
		status = make_parts(s);
	if (!status)
		status = open_sampler(s);
	if (!status)
		status = open_sideband(s);
	if (!status)
		status = open_calls(s);
	if (!status)
		status = open_recorder(s);
	if (!status)
		status = open_store(s);
	if (!status)
		status = open_events(s);
	if (!status)
		status = start_regions(s);
	if (!status)
		status = waits_start(&s->waits, s->options, s->sampler, s->scope.target);
	set_deadline(s); /* programs that run already are recorded whole from here on */
	if (!status)
		status = prepare_target(s);
	if (!status && s->options->target == TARGET_COMMAND) /* it gets samples from here on */
		begin_now(s);
	describe(s, command_line, target);
	if (!status)
		status = begin_recording(s);
	if (!status && watch_parts(s))
		status = STATUS_FAILED;
	if (!status)
		status = start_target(s);
	if (s->scope.is_crowd)
		own_limits_hurry(false);
	if (!status)
		sandbox_daemon_calls(); /* without seccomp in the kernel, it runs without */
	return status;
}

/* If the thread that finds names was left behind, what it uses goes with the process. */
void session_close(struct session *s)
{
	bool is_in_use;

	waits_stop(&s->waits);
	regions_free(s->regions);
	target_free(s->scope.target);
	archive_free(s->recording.archive);
	is_in_use = names_is_lost(s->recording.names);
	names_free(s->recording.names);
	tables_free(s->tables);
	if (!is_in_use) {
		recorder_free(s->recorder);
		call_tables_free(s->calls);
		kernel_files_close(&s->kernel);
	}
	reorder_free(s->rings.queue);
	workers_use_meanwhile(s->workers, NULL, NULL);
	short_lived_free(s->rings.short_lived);
	intake_free(s->rings.intake);
	sideband_free(s->rings.sideband);
	online_cpus_close(&s->scope.cpus);
	event_groups_free(s->event_groups);
	sampler_free(s->sampler);
	if (!is_in_use)
		workers_free(s->workers);
	epoll_set_close(&s->wakeups);
	free(s->recording.store_path);
}
