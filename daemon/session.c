/* SPDX-License-Identifier: MIT */
/*
 * One run, from options to summary; see session.h.
 *
 * One epoll loop. Whatever wakes it (the ring a quarter full, the side-band half full, a tenth of
 * a second gone by, a signal, the target's end), it does one round: read the side-band, read the
 * ring, and hand out in the order of time what is older than the start of the round before. A
 * record that was being written while its ring was read is there at the next round, so nothing
 * older than that can still come. Once a second what is new goes to the archive.
 */
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "archive.h"
#include "log.h"
#include "proc/branch_caps.h"
#include "recorder.h"
#include "reorder.h"
#include "sampler.h"
#include "service.h"
#include "status.h"
#include "store/store_path.h"
#include "target.h"

#define TICK_NS	  100000000u  /* a round at least so often */
#define LAG_NS	  10000000u   /* records are in their rings after this time */
#define COMMIT_NS 1000000000u /* between batches */

struct session {
	const struct options *options;
	struct event_spec event;
	struct branch_caps branch_caps; /* with --lbr */
	char *path;			/* of the store */

	struct target *target;
	struct sampler *sampler;
	struct sideband *sideband;
	struct reorder *queue;
	struct recorder *recorder;
	struct tables *tables;
	struct archive *archive;

	int epoll, signals, tick, deadline; /* descriptors; -1: none */
	sigset_t old_mask;

	struct store_recording info;
	struct utsname host;
	struct status status;
	uint64_t round_ns; /* when the last round began */
	uint64_t commit_ns;
	bool is_over;
};

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- setting up: what can be refused --------------------------------------------------------- */

/* Says an error that came with a sentence (freed) or without. */
static void say(char *sentence, const char *what, int err)
{
	if (sentence)
		log_error("%s", sentence);
	else
		log_error("%s: %s", what, strerror(-err));
	free(sentence);
}

static enum exit_status status_of(int err)
{
	return err == -EPERM || err == -EACCES || err == -EOPNOTSUPP ? STATUS_UNSUPPORTED
								     : STATUS_FAILED;
}

/* Branch records are asked for with the event. */
static enum exit_status use_branches(struct session *s)
{
	const char *sys_root = getenv("STACKD_SYS_ROOT"), *proc_root = getenv("STACKD_PROC_ROOT");
	const struct options *o = s->options;
	struct branch_caps *caps = &s->branch_caps;
	bool has_records;

	if (!o->lbr)
		return STATUS_DONE;
	branch_caps_read(sys_root ? sys_root : "/sys", proc_root ? proc_root : "/proc", caps);
	has_records = caps->kind == BRANCH_CAPS_CALL_STACK || caps->kind == BRANCH_CAPS_ANY;
	if (has_records && event_spec_may_branch(&s->event)) {
		event_spec_add_branches(&s->event, caps->kind == BRANCH_CAPS_CALL_STACK);
		s->event.may_fall_back &= o->lbr_anyway;
		return STATUS_DONE;
	}
	if (o->lbr_anyway)
		return STATUS_DONE;
	if (has_records) {
		log_error("--lbr: only the processor's own events have branch records, and '%s' is "
			  "none: leave it out, or name one such as cycles",
			  s->event.name);
		return STATUS_USAGE;
	}
	log_error("--lbr: %s; record without --lbr: call paths are complete without them",
		  caps->kind == BRANCH_CAPS_NO_PMU
			  ? "no PMU is to be seen here, as in most virtual machines, and hence no "
			    "branch records"
			  : "this processor's PMU has no branch records");
	return STATUS_UNSUPPORTED;
}

static enum exit_status explain_event(const struct session *s, int err)
{
	if (err == -EACCES || err == -EPERM) {
		log_error(
			"no right to sample '%s' (%s): run as root, or with CAP_PERFMON, or lower "
			"kernel.perf_event_paranoid",
			s->event.name, strerror(-err));
		return STATUS_UNSUPPORTED;
	}
	if (err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV || err == -ENXIO) {
		log_error("event '%s' is not supported on this machine (%s): no PMU, or not this "
			  "event; cpu-clock works everywhere",
			  s->event.name, strerror(-err));
		return STATUS_UNSUPPORTED;
	}
	log_error("event '%s' was refused by the kernel: %s", s->event.name, strerror(-err));
	return STATUS_FAILED;
}

static enum exit_status find_event(struct session *s)
{
	const struct options *o = s->options;
	uint64_t limit = event_spec_max_frequency();
	char *sentence = NULL;
	int err = event_spec_parse(o->event, o->frequency, o->period, &s->event, &sentence);

	if (err) {
		say(sentence, "event", err);
		return STATUS_USAGE;
	}
	if (limit && o->frequency > limit) {
		log_error("--freq %" PRIu64 " is above the kernel's limit of %" PRIu64
			  " Hz: take less, or raise kernel.perf_event_max_sample_rate",
			  o->frequency, limit);
		return STATUS_USAGE;
	}
	return STATUS_DONE;
}

static enum exit_status probe_event(struct session *s)
{
	bool asked_for_cycles = s->event.may_fall_back;
	int err = sampler_probe(&s->event);

	if (err)
		return explain_event(s, err);
	if (asked_for_cycles && !s->event.may_fall_back) {
		s->info.note = "no PMU: sampled cpu-clock instead of cycles";
		log_info("no hardware cycles on this machine: sampling %s instead", s->event.name);
	}
	return STATUS_DONE;
}

/* --- setting up: the parts ------------------------------------------------------------------- */

/* One descriptor for each object and event: as many as the kernel lets us have. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int watch(struct session *s, int fd)
{
	struct epoll_event want = {.events = EPOLLIN, .data.fd = fd};

	if (fd < 0)
		return 0;
	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &want) ? -errno : 0;
}

static int new_timer(uint64_t first_ns, uint64_t every_ns)
{
	struct itimerspec spec = {
		.it_value = {(time_t)(first_ns / 1000000000u), (long)(first_ns % 1000000000u)},
		.it_interval = {(time_t)(every_ns / 1000000000u), (long)(every_ns % 1000000000u)},
	};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd >= 0)
		timerfd_settime(fd, 0, &spec, NULL);
	return fd;
}

static int make_loop(struct session *s)
{
	sigset_t ends;
	int err;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, &s->old_mask);
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	s->tick = new_timer(TICK_NS, TICK_NS);
	if (s->epoll < 0 || s->signals < 0 || s->tick < 0)
		return -errno;
	err = watch(s, s->signals);
	return err ? err : watch(s, s->tick);
}

static void describe(struct session *s, const char *command_line, char *target)
{
	struct store_recording *info = &s->info;

	uname(&s->host);
	info->host = s->host.nodename;
	info->kernel = s->host.release;
	info->arch = s->host.machine;
	info->command = command_line;
	info->target = target ? target : "";
	info->event = s->event.name;
	info->note = info->note ? info->note : "";
	info->frequency_hz = s->options->frequency;
	info->period = s->options->period;
	info->cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	info->start_unix_ns = now_ns(CLOCK_REALTIME);
	info->start_ns = now_ns(CLOCK_MONOTONIC);
	info->end_ns = info->start_ns;
}

static enum exit_status open_store(struct session *s)
{
	const struct options *o = s->options;
	struct archive_options archive = {.keep_age_s = o->keep_age_s, .keep_bytes = o->keep_bytes};
	char *sentence = NULL;
	int err = 0;

	s->path = o->output ? strdup(o->output) : store_path_default();
	if (!s->path)
		err = -ENOMEM;
	if (!err && !o->output)
		err = store_path_prepare(s->path);
	archive.path = s->path;
	if (!err)
		err = archive_new(&archive, &s->info, &s->archive, &sentence);
	if (!err) {
		store_path_hand_over(s->path);
		return watch(s, archive_poll_fd(s->archive)) ? STATUS_FAILED : STATUS_DONE;
	}
	say(sentence, s->path ? s->path : "store", err);
	return STATUS_FAILED;
}

static int use_tags(struct session *s)
{
	struct sampler_tags tags;

	if (s->options->tags == STACKD_TAGS_OFF)
		return 0;
	sampler_tags_maps(s->sampler, &tags);
	return recorder_use_tags(s->recorder, &tags, s->options->judge_tags);
}

static enum exit_status open_sampler(struct session *s)
{
	const struct sampler_options options = {
		.stack_bytes = s->options->stack_bytes,
		.ring_bytes = s->options->ring_bytes,
		.table_bytes = s->options->table_bytes,
		/* What is verified of a stack costs by its depth. */
		.prefix = s->options->segment_frames ? STACKD_PREFIX_NONE : s->options->prefix,
		.heights = s->options->heights,
		.segment_frames = s->options->segment_frames,
		.tags = s->options->tags,
		.branches = s->options->lbr,
		.walk_in_daemon = s->options->walk_in_daemon,
		.judge = s->options->judge,
		.usual_period = event_spec_usual_period(&s->event),
		.enable_on_exec = s->options->target == TARGET_COMMAND,
	};
	struct tables_maps maps;
	char *sentence = NULL;
	int err = sampler_new(&options, &s->sampler, &sentence);

	if (err) {
		say(sentence, "BPF", err);
		return status_of(err);
	}
	sampler_tables_maps(s->sampler, &maps);
	err = tables_new(&maps, &s->tables);
	if (err) {
		log_error("cannot set up the recipe tables: %s", strerror(-err));
		return STATUS_FAILED;
	}
	recorder_use_tables(s->recorder, s->tables);
	err = use_tags(s);
	if (err) {
		log_error("cannot set up tags: %s", strerror(-err));
		return STATUS_FAILED;
	}
	err = sideband_new(target_cgroup_fd(s->target), &s->sideband);
	if (err) {
		log_error("cannot follow processes and mappings (%s): run as root, or with "
			  "CAP_PERFMON",
			  strerror(-err));
		return status_of(err);
	}
	return STATUS_DONE;
}

/* The processes that are in the cgroup already. */
static int load_cgroup(struct session *s)
{
	int fd = openat(target_cgroup_fd(s->target), "cgroup.procs", O_RDONLY | O_CLOEXEC);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	int pid, err = 0;

	if (!file)
		return fd < 0 ? -errno : -ENOMEM;
	while (!err && fscanf(file, "%d", &pid) == 1) {
		err = recorder_load_process(s->recorder, pid);
		if (err != -ENOMEM)
			err = 0; /* it has ended, or is not ours to look into */
	}
	fclose(file);
	return err;
}

static enum exit_status attach_processes(struct session *s)
{
	size_t count, attached = 0;
	const pid_t *pids = target_pids(s->target, &count);

	for (size_t i = 0; i < count; i++) {
		int err = recorder_load_process(s->recorder, pids[i]);

		if (!err)
			err = sampler_attach_process(s->sampler, &s->event, pids[i]);
		if (err == -ESRCH) {
			log_warning("process %d ended before it could be profiled", pids[i]);
		} else if (err == -EACCES || err == -EPERM) {
			log_error("no right to profile process %d (%s): run as root", pids[i],
				  strerror(-err));
			return STATUS_UNSUPPORTED;
		} else if (err < 0) {
			log_error("cannot profile process %d: %s", pids[i], strerror(-err));
			return STATUS_FAILED;
		} else {
			attached++;
		}
	}
	if (!attached)
		log_error("nothing to profile: the target has ended");
	return attached ? STATUS_DONE : STATUS_FAILED;
}

static enum exit_status attach(struct session *s)
{
	int err;

	if (s->options->target == TARGET_PIDS || s->options->target == TARGET_COMMAND)
		return attach_processes(s);
	err = s->options->target == TARGET_CGROUP ? load_cgroup(s) : recorder_load_all(s->recorder);
	if (err) {
		log_error("cannot read the processes of the target: %s", strerror(-err));
		return status_of(err);
	}
	err = sampler_attach_cpus(s->sampler, &s->event, target_cgroup_fd(s->target));
	return err ? explain_event(s, err) : STATUS_DONE;
}

static enum exit_status start_target(struct session *s)
{
	int err = target_start(s->target);

	if (!err)
		return STATUS_DONE;
	log_error("cannot run '%s': %s", s->options->command[0], strerror(-err));
	archive_discard(s->archive);
	return STATUS_FAILED;
}

static enum exit_status open_target(struct session *s)
{
	char *sentence = NULL;
	int err = target_new(s->options, &s->target, &sentence);

	if (!err)
		return STATUS_DONE;
	say(sentence, "target", err);
	return STATUS_FAILED;
}

static enum exit_status make_parts(struct session *s)
{
	bool everyone = s->options->target == TARGET_ALL || s->options->target == TARGET_CGROUP;
	int err;

	raise_file_limit(); /* after the command was forked: it keeps its own limit */
	err = make_loop(s);
	if (!err)
		err = reorder_new(&s->queue);
	if (!err)
		err = recorder_new(everyone, event_spec_usual_period(&s->event), &s->recorder);
	if (!err && s->options->heights)
		recorder_use_heights(s->recorder);
	if (!err && s->options->lbr)
		err = recorder_use_branches(s->recorder,
					    s->branch_caps.kind == BRANCH_CAPS_CALL_STACK,
					    s->branch_caps.entries);
	if (err)
		log_error("cannot set up: %s", strerror(-err));
	return err ? STATUS_FAILED : STATUS_DONE;
}

static int watch_parts(struct session *s)
{
	int err = watch(s, sampler_poll_fd(s->sampler));

	if (!err)
		err = watch(s, sideband_poll_fd(s->sideband));
	if (!err)
		err = watch(s, target_poll_fd(s->target));
	if (!err && s->options->duration_s > 0) {
		s->deadline = new_timer((uint64_t)(s->options->duration_s * 1e9), 0);
		err = s->deadline < 0 ? -errno : watch(s, s->deadline);
	}
	return err;
}

/* --- rounds ---------------------------------------------------------------------------------- */

static int queue_event(void *arg, struct sideband_event *event)
{
	struct session *s = arg;
	struct reorder_item item = {.time_ns = event->time_ns, .event = event};
	int err = recorder_foresee(s->recorder, event);

	if (!err)
		err = reorder_push(s->queue, &item);
	if (err)
		free(event);
	return err;
}

static int queue_record(void *arg, struct stackd_header *record)
{
	struct session *s = arg;
	struct reorder_item item = {.sample = record};
	int err;

	if (!record)
		return recorder_sample(s->recorder, NULL);
	item.time_ns = record->time_ns;
	err = recorder_foresee_sample(s->recorder, record);
	if (!err)
		err = reorder_push(s->queue, &item);
	if (err)
		free(record);
	return err;
}

static int hand_out(struct session *s, uint64_t horizon_ns)
{
	struct reorder_item item;
	int err = 0;

	while (!err && reorder_pop(s->queue, horizon_ns, &item)) {
		if (item.event)
			err = recorder_event(s->recorder, item.event);
		else
			err = recorder_sample(s->recorder, item.sample);
		free(item.event);
		free(item.sample);
	}
	return err;
}

/* Reads everything that waits; hands out what is old enough, or all of it. */
static int do_round(struct session *s, bool is_last)
{
	uint64_t start = now_ns(CLOCK_MONOTONIC);
	uint64_t horizon = start - LAG_NS < s->round_ns ? start - LAG_NS : s->round_ns;
	int err = sideband_drain(s->sideband, queue_event, s);

	if (!err) {
		err = sampler_drain(s->sampler, queue_record, s);
		err = err > 0 ? 0 : err;
	}
	if (!err && is_last)
		err = sideband_drain(s->sideband, queue_event, s);
	recorder_poll(s->recorder);
	s->round_ns = start;
	return err ? err : hand_out(s, is_last ? UINT64_MAX : horizon);
}

/* --- batches --------------------------------------------------------------------------------- */

static struct status_numbers numbers(const struct session *s, const struct sampler_counts *sampled,
				     const struct recorder_counts *recorded)
{
	(void)s;
	return (struct status_numbers){
		.now_ns = now_ns(CLOCK_MONOTONIC),
		.samples = recorded->complete + recorded->partial,
		.lost = recorded->lost + sampled->counters[STACKD_COUNT_LOST_RING],
		.complete = recorded->complete,
		.partial = recorded->partial,
	};
}

static void add_counter(struct batch *b, const char *name, uint64_t value)
{
	snprintf(b->counters[b->n_counters].name, sizeof(b->counters[0].name), "%s", name);
	b->counters[b->n_counters++].value = value;
}

static int add_counters(const struct session *s, struct batch *b,
			const struct sampler_counts *sampled,
			const struct recorder_counts *recorded)
{
	static const char *const reasons[] = {
#define STACKD_X(e, name, quality, meaning) "end." name,
		STACKD_END_REASONS(STACKD_X)
#undef STACKD_X
	};

	static const char *const kernel_counters[STACKD_COUNT_COUNT] = {
		[STACKD_COUNT_STARTED] = "started",
		[STACKD_COUNT_SENT] = "sent",
		[STACKD_COUNT_LOST_RING] = "lost_ring",
		[STACKD_COUNT_WALKS] = "kernel_walks",
		[STACKD_COUNT_FALLBACKS] = "kernel_fallbacks",
		[STACKD_COUNT_FRAMES] = "kernel_frames",
		[STACKD_COUNT_KEPT] = "kernel_kept_frames",
		[STACKD_COUNT_RULE_HITS] = "kernel_rule_hits",
		[STACKD_COUNT_RULE_MISSES] = "kernel_rule_misses",
		[STACKD_COUNT_MAPPING_LOOKUPS] = "kernel_mapping_lookups",
		[STACKD_COUNT_PREFIX_BROKEN] = "kernel_prefix_broken",
		[STACKD_COUNT_TAGS] = "kernel_tags",
		[STACKD_COUNT_TAGS_NEW] = "kernel_tags_new",
		[STACKD_COUNT_BRANCHES] = "branch_records",
		[STACKD_COUNT_NO_BRANCHES] = "branch_records_missing",
	};
	struct tables_counts tables;

	b->counters = calloc(STACKD_END_COUNT + STACKD_COUNT_COUNT + RECIPE_REFUSED_COUNT + 32,
			     sizeof(*b->counters));
	if (!b->counters)
		return -ENOMEM;
	for (int i = 0; i < STACKD_END_COUNT; i++)
		add_counter(b, reasons[i],
			    recorded->end_reasons[i] +
				    (i == STACKD_END_LOST_RING
					     ? sampled->counters[STACKD_COUNT_LOST_RING]
					     : 0));
	for (int i = 0; i < STACKD_COUNT_COUNT; i++)
		add_counter(b, kernel_counters[i], sampled->counters[i]);
	add_counter(b, "received", recorded->received);
	add_counter(b, "waiting", reorder_waiting(s->queue));
	add_counter(b, "ring_bytes", sampled->ring_bytes);
	add_counter(b, "late_events", reorder_late(s->queue));
	add_counter(b, "sideband_lost", recorded->sideband_lost);
	add_counter(b, "tag_collisions", recorded->collisions);
	add_counter(b, "walked_frames", recorded->walked_frames);
	add_counter(b, "rule_cache_hits", recorded->cache_hits);
	add_counter(b, "rule_cache_misses", recorded->cache_misses);
	add_counter(b, "out_of_sequence", recorded->out_of_sequence);
	add_counter(b, "judged_right", recorded->judged_right);
	add_counter(b, "judged_wrong", recorded->judged_wrong);
	add_counter(b, "judged_cut", recorded->judged_cut);
	add_counter(b, "tag_processes", recorded->tag_processes);
	add_counter(b, "tags_learned", recorded->tags.learned);
	add_counter(b, "tags_unknown", recorded->tags.unknown);
	add_counter(b, "tags_right", recorded->tags.right);
	add_counter(b, "tags_window", recorded->tags.window);
	add_counter(b, "tags_between", recorded->tags.between);
	add_counter(b, "tags_wrong", recorded->tags.wrong);
	add_counter(b, "tags_unchecked", recorded->tags.unchecked);
	tables_counts(s->tables, &tables);
	add_counter(b, "tables_loaded", tables.loaded);
	add_counter(b, "tables_evicted", tables.evicted);
	add_counter(b, "tables_refused", tables.refused);
	add_counter(b, "table_rows", tables.rows);
	add_counter(b, "table_rules", tables.rules);
	for (int i = 0; i < RECIPE_REFUSED_COUNT; i++) {
		char name[40];

		snprintf(name, sizeof(name), "refused.%s",
			 recipe_refusal_name((enum recipe_refusal)i));
		if (tables.refused_entries[i])
			add_counter(b, name, tables.refused_entries[i]);
	}
	add_counter(b, "table_compile_ns", tables.compile_ns);
	add_counter(b, "frame_pointer_steps", recorded->frame_pointer_steps);
	return 0;
}

static int submit(struct session *s)
{
	struct batch *b = recorder_take_batch(s->recorder);
	struct sampler_counts sampled;
	struct recorder_counts recorded;
	struct status_numbers n;

	if (!b)
		return -ENOMEM;
	sampler_counts(s->sampler, &sampled);
	recorder_counts(s->recorder, &recorded);
	n = numbers(s, &sampled, &recorded);
	b->totals = s->info;
	b->totals.end_ns = n.now_ns;
	b->totals.samples = n.samples;
	b->totals.lost = n.lost;
	b->totals.kernel_ns = sampled.run_ns;
	b->totals.kernel_runs = sampled.runs;
	if (add_counters(s, b, &sampled, &recorded)) {
		batch_free(b);
		return -ENOMEM;
	}
	archive_set_kallsyms(s->archive, recorder_kallsyms(s->recorder));
	archive_submit(s->archive, b);
	s->commit_ns = n.now_ns;
	status_show(&s->status, &n, s->options->quiet);
	return 0;
}

/* --- the loop -------------------------------------------------------------------------------- */

static void empty(int fd)
{
	uint64_t buf[16];

	while (read(fd, buf, sizeof(buf)) > 0)
		;
}

static void on_wake(struct session *s, int fd)
{
	struct signalfd_siginfo info;

	if (fd == s->signals) {
		while (read(fd, &info, sizeof(info)) == sizeof(info))
			s->is_over = true;
	} else if (fd == s->deadline || fd == archive_poll_fd(s->archive)) {
		s->is_over = true;
	} else if (fd == target_poll_fd(s->target)) {
		s->is_over |= target_has_ended(s->target);
	} else if (fd == s->tick) {
		empty(fd);
	}
}

static int loop(struct session *s)
{
	struct epoll_event woken[8];
	int err = 0;

	while (!err && !s->is_over) {
		int n = epoll_wait(s->epoll, woken, 8, -1);

		for (int i = 0; i < n; i++)
			on_wake(s, woken[i].data.fd);
		err = do_round(s, false);
		if (!err && now_ns(CLOCK_MONOTONIC) - s->commit_ns >= COMMIT_NS)
			err = submit(s);
	}
	return err;
}

static enum exit_status sum_up(struct session *s)
{
	struct sampler_counts sampled;
	struct recorder_counts recorded;
	struct status_numbers n;
	char text[256];

	sampler_counts(s->sampler, &sampled);
	recorder_counts(s->recorder, &recorded);
	n = numbers(s, &sampled, &recorded);
	status_summary(&n, text, sizeof(text));
	service_status(text);
	log_status(NULL);
	if (!s->options->quiet)
		log_info("%s; recording %" PRId64 " in %s", text, archive_recording(s->archive),
			 s->path);
	if (sampled.counters[STACKD_COUNT_STARTED] !=
	    sampled.counters[STACKD_COUNT_SENT] + sampled.counters[STACKD_COUNT_LOST_RING])
		log_warning("%" PRIu64 " samples were started but %" PRIu64
			    " are accounted for: please report this",
			    sampled.counters[STACKD_COUNT_STARTED],
			    sampled.counters[STACKD_COUNT_SENT] +
				    sampled.counters[STACKD_COUNT_LOST_RING]);
	if (recorded.tags.wrong)
		log_warning("%" PRIu64 " walks did not have the functions of the program's tag: "
			    "is there code that is left by exceptions or longjmp() and "
			    "was not compiled with the plugin?",
			    recorded.tags.wrong);
	if (s->options->tags == STACKD_TAGS_ONLY && !recorded.tag_processes)
		log_warning("no process kept a tag of its call path: compile with the stacktag "
			    "plugin, or leave out --tags only");
	if (!n.samples)
		log_warning("no samples: the target did not run%s",
			    n.lost ? ", or all were lost (a larger --ring-bytes helps)" : "");
	return n.samples ? STATUS_DONE : STATUS_NO_SAMPLES;
}

/* Records until it is over, and ends in order: what has been sampled is kept. */
static enum exit_status record(struct session *s)
{
	char *sentence = NULL;
	int err, stored;

	s->round_ns = s->commit_ns = now_ns(CLOCK_MONOTONIC);
	status_start(&s->status, s->round_ns);
	service_ready();
	err = loop(s);
	service_stopping();
	sampler_stop(s->sampler);
	if (!err)
		err = do_round(s, true);
	if (!err)
		err = submit(s);
	stored = archive_finish(s->archive, &sentence);
	if (err)
		log_error("recording ended early: %s", strerror(-err));
	if (stored) {
		log_status(NULL);
		log_error("cannot write to %s: %s; earlier recordings are intact, this one is kept "
			  "up to its last commit",
			  s->path, sentence ? sentence : strerror(-stored));
	}
	free(sentence);
	return err || stored ? STATUS_FAILED : sum_up(s);
}

/* --- the run --------------------------------------------------------------------------------- */

static enum exit_status set_up(struct session *s, const char *command_line, char *target)
{
	enum exit_status status = find_event(s);

	if (!status)
		status = use_branches(s);
	if (!status)
		status = open_target(s);
	if (!status)
		status = probe_event(s);
	if (!status)
		status = make_parts(s);
	if (!status)
		status = open_sampler(s);
	if (!status)
		status = attach(s);
	describe(s, command_line, target);
	if (!status)
		status = open_store(s);
	if (!status && watch_parts(s))
		status = STATUS_FAILED;
	if (!status)
		status = start_target(s);
	return status;
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void tear_down(struct session *s)
{
	target_free(s->target);
	archive_free(s->archive);
	tables_free(s->tables);
	recorder_free(s->recorder);
	reorder_free(s->queue);
	sideband_free(s->sideband);
	sampler_free(s->sampler);
	close_if_open(s->epoll);
	close_if_open(s->signals);
	close_if_open(s->tick);
	close_if_open(s->deadline);
	free(s->path);
}

enum exit_status session_run(const struct options *options, const char *command_line)
{
	struct session s = {
		.options = options,
		.epoll = -1,
		.signals = -1,
		.tick = -1,
		.deadline = -1,
	};
	char *target = options_target(options);
	enum exit_status status;

	status = set_up(&s, command_line, target);
	if (!status)
		status = record(&s);
	tear_down(&s);
	free(target);
	return status;
}
