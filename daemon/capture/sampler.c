/* SPDX-License-Identifier: MIT */
/* Loads the program, opens events, reads records; see sampler.h. */
#include "daemon/capture/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "daemon/capture/deep_stacks.h"
#include "daemon/capture/jitter.h"
#include "daemon/capture/phases.h"
#include "daemon/capture/load_error.h"
#include "daemon/capture/sampler_pages.h"
#include "daemon/capture/record.h"
#include "daemon/capture/ring.h"
#include "daemon/capture/sampler_clocks.h"
#include "daemon/capture/sampler_maps.h"
#include "daemon/capture/sampler_parts.h"
#include "daemon/capture/sampler_programs.h"
#include "daemon/capture/sampler_settings.h"
#include "stackd.skel.h"
#include "base/clock.h"
#include "base/vec.h"

struct sampler {
	struct sampler_pages pages;
	struct stackd_bpf *skel;
	struct ring *ring;
	int stats_fd; /* keeps the kernel's accounting of BPF run time on; -1 */
	bool enable_on_exec;
	uint32_t most_deep;
	bool has_time; /* the kernel half adds up the CPU time of tasks */
	bool is_held;  /* events are opened disabled, and started later */
	bool regions, waits, has_switches, has_uprobe_multi, has_process_multi;
	bool has_clocks; /* sampler_clocks_tie() is needed */
	bool is_timed;	 /* the events tell for how long they were on */
	uint64_t on_ns;	 /* for how long those were on that are closed now */

	int *events; /* perf event descriptors */
	size_t n_events, events_cap;
	struct jitter jitter;
	pid_t *threads; /* threads that have an event */
	size_t n_threads, threads_cap;

	/* sampler_drain()'s caller */
	int (*each)(void *arg, struct stackd_header *record);
	void *arg;
	struct record_reader *reader;
	uint64_t ring_bytes;
	uint64_t now_ns; /* when the current sampler_drain() began */

	struct mapped_array { /* an array of the kernel half, mapped into this process */
		void *data;
		size_t size;
	} rules, files;
};

/* --- loading --------------------------------------------------------------------------------- */

/* The end of libbpf's messages while a program is loaded. It is global, since libbpf's callback has
 * no argument of the caller's. */
static struct load_log said;

static int print_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	va_list again;

	if (level == LIBBPF_DEBUG)
		return 0;
	va_copy(again, args);
	load_log_add(&said, format, again);
	va_end(again);
	return getenv("STACKD_DEBUG") ? vfprintf(stderr, format, args) : 0;
}

static const char *btf_path(char *buf, size_t size)
{
	const char *root = getenv("STACKD_SYS_ROOT");

	snprintf(buf, size, "%s/kernel/btf/vmlinux", root ? root : "/sys");
	return buf;
}

/* Explains why the program could not be loaded, and names the remedy. Frees the sampler. */
static int explain_load(struct sampler *s, int err, char **ret_error)
{
	struct load_failure failure = {.err = err, .log = &said};
	char path[256], compiler[sizeof(s->skel->rodata->compiler)];
	struct utsname name = {0};

	if (access(btf_path(path, sizeof(path)), R_OK))
		failure.btf_path = path;
	if (s->skel) {
		memcpy(compiler, (const char *)s->skel->rodata->compiler, sizeof(compiler));
		failure.compiler = compiler;
	}
	uname(&name);
	failure.release = name.release;
	/* Silences libbpf, since the trial of a program type would add to its messages. */
	libbpf_set_print(NULL);
	failure.may_load = libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_PERF_EVENT, NULL) > 0;
	sampler_free(s);
	return load_error_explain(&failure, ret_error);
}

static int map_array(struct bpf_map *map, size_t value_size, struct mapped_array *ret_array)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = (size_t)bpf_map__max_entries(map) * value_size;
	void *data;

	size = (size + page - 1) & ~(page - 1);
	data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	if (data == MAP_FAILED)
		return -errno;
	*ret_array = (struct mapped_array){.data = data, .size = size};
	return 0;
}

static int map_arrays(struct sampler *s)
{
	int err = map_array(s->skel->maps.rules, sizeof(struct stackd_rule), &s->rules);

	if (!err)
		err = map_array(s->skel->maps.files, sizeof(struct stackd_file), &s->files);
	return err;
}

/* Loads the BPF program. STACKD_BTF in the environment names a file with only those kernel types
 * that the program needs (`bpftool gen min_core_btf`): without it libbpf searches all types, a
 * sixth of the CPU time of stackd's start. Tests, which start stackd hundreds of times, make the
 * file once. */
static int load(struct sampler *s, const struct sampler_options *options)
{
	LIBBPF_OPTS(bpf_object_open_opts, open, .btf_custom_path = getenv("STACKD_BTF"));
	int cpus = libbpf_num_possible_cpus(), err;
	char path[256];

	if (cpus < 0)
		return cpus;
	if (access(btf_path(path, sizeof(path)), R_OK))
		return -EOPNOTSUPP;
	s->skel = stackd_bpf__open_opts(&open);
	if (!s->skel)
		return -errno;
	sampler_settings_put(s->skel, options, path);
	sampler_programs_choose(s->skel, options);
	sampler_parts_choose(s->skel->obj, options->regions, options->waits, options->wakers);
	err = sampler_maps_size(s->skel, options, (uint32_t)cpus);
	if (!err)
		err = stackd_bpf__load(s->skel);
	if (!err && options->waits)
		err = sampler_parts_make_rings(s->skel->obj);
	if (!err)
		err = map_arrays(s);
	if (!err && s->has_clocks)
		sampler_clocks_tie(s->skel, clock_ns(CLOCK_MONOTONIC));
	return err;
}

static int on_record(void *arg, void *data, size_t size)
{
	struct sampler *s = arg;
	struct stackd_header *record = NULL;
	int err = record_read(s->reader, data, size, s->now_ns, &record);

	s->ring_bytes += (size + 8 + 7) & ~(uint64_t)7; /* with the ring's header, and padding */
	if (err > 0)
		return 0;
	if (record && record->part & STACKD_PART_WANTS_ROOM &&
	    s->skel->bss->deep_stacks < s->most_deep)
		deep_stacks_add(bpf_map__fd(s->skel->maps.deep_blocks),
				bpf_map__value_size(s->skel->maps.deep_blocks),
				&s->skel->bss->deep_stacks);
	return err && err != -EBADMSG ? err : s->each(s->arg, record);
}

int sampler_new(const struct sampler_options *options, struct sampler **ret_sampler,
		char **ret_error)
{
	struct sampler *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->stats_fd = options->stats_fd;
	s->enable_on_exec = options->enable_on_exec;
	s->most_deep = options->most_deep;
	s->regions = options->regions;
	s->waits = options->waits;
	s->has_switches = options->waits || options->event_groups;
	s->has_clocks = options->regions || options->is_clock;
	s->has_uprobe_multi = options->has_uprobe_multi;
	s->has_process_multi = options->has_process_multi;
	libbpf_set_print(print_libbpf);
	err = record_reader_new(&s->reader);
	if (!err)
		err = load(s, options);
	if (err)
		return explain_load(s, err, ret_error);
	err = ring_new(bpf_map__fd(s->skel->maps.ring), bpf_map__max_entries(s->skel->maps.ring),
		       &s->ring);
	if (err)
		return explain_load(s, err, ret_error);
	*ret_sampler = s;
	return 0;
}

/* Returns for how long some of the events were on, in ns. */
static uint64_t on_time(const struct sampler *s, size_t from, size_t to)
{
	struct {
		uint64_t count, on_ns;
	} reading;
	uint64_t sum = 0;

	for (size_t i = from; i < to && s->is_timed; i++) {
		if (read(s->events[i], &reading, sizeof(reading)) == sizeof(reading))
			sum += reading.on_ns;
	}
	return sum;
}

static void close_events(struct sampler *s, size_t from, size_t to)
{
	s->on_ns += on_time(s, from, to);
	for (size_t i = from; i < to; i++)
		close(s->events[i]);
	for (size_t i = to; i < s->n_events; i++)
		s->events[from + i - to] = s->events[i];
	s->n_events -= to - from;
}

static void unmap(struct mapped_array *array)
{
	if (array->data)
		munmap(array->data, array->size);
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	close_events(s, 0, s->n_events);
	free(s->events);
	free(s->threads);
	unmap(&s->rules);
	unmap(&s->files);
	ring_free(s->ring);
	record_reader_free(s->reader);
	stackd_bpf__destroy(s->skel);
	if (s->stats_fd >= 0)
		close(s->stats_fd);
	free(s);
}

/* --- events ---------------------------------------------------------------------------------- */

/* Adds a descriptor to `events`, which stay open until the end. */
static int keep(struct sampler *s, int fd)
{
	if (VEC_GROW(s->events, s->events_cap, s->n_events + 1)) {
		close(fd);
		return -ENOMEM;
	}
	s->events[s->n_events++] = fd;
	return 0;
}

/* Makes an event run the BPF program. An event of thread `late_tid`, which was found after the
 * first scan, gets a cookie and an entry in late_threads of the BPF program; 0: not such a thread.
 * 0 or -errno. */
static int connect_program(struct sampler *s, int event, pid_t late_tid)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = 1);
	int link, prog = bpf_program__fd(s->skel->progs.stackd_sample);
	__u32 tid = (__u32)late_tid;
	__u64 unknown = 0;

	if (!late_tid)
		return ioctl(event, PERF_EVENT_IOC_SET_BPF, prog) ? -errno : 0;
	s->skel->bss->has_late_threads = 1;
	if (bpf_map_update_elem(bpf_map__fd(s->skel->maps.late_threads), &tid, &unknown, BPF_ANY))
		return -errno;
	link = bpf_link_create(prog, event, BPF_PERF_EVENT, &opts);
	return link < 0 ? link : keep(s, link);
}

static int open_event(struct sampler *s, const struct event_spec *spec, pid_t pid, int cpu,
		      unsigned long flags, bool late)
{
	struct perf_event_attr attr = spec->attr;
	int fd, err;

	if (spec->is_none)
		return 0;
	attr.disabled = 1;
	attr.enable_on_exec = s->enable_on_exec;
	attr.inherit = cpu < 0;
	if (s->is_timed)
		attr.read_format = PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, flags | PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = connect_program(s, fd, late ? pid : 0);
	if (!err && !s->enable_on_exec && !s->is_held && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		err = -errno;
	if (err) {
		close(fd);
		return err;
	}
	return keep(s, fd);
}

static bool no_such_hardware(int err)
{
	return err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV || err == -ENXIO;
}

int sampler_probe(struct event_spec *spec)
{
	struct perf_event_attr attr = spec->attr;
	int fd;

	if (spec->is_none)
		return 0;
	attr.disabled = 1;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0 && no_such_hardware(-errno) && spec->may_fall_back) {
		event_spec_fall_back(spec);
		return sampler_probe(spec);
	}
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static bool has_thread(const struct sampler *s, pid_t tid)
{
	for (size_t i = 0; i < s->n_threads; i++) {
		if (s->threads[i] == tid)
			return true;
	}
	return false;
}

static int add_thread(struct sampler *s, const struct event_spec *spec, pid_t tid, bool late)
{
	int err;

	if (VEC_GROW(s->threads, s->threads_cap, s->n_threads + 1))
		return -ENOMEM;
	err = open_event(s, spec, tid, -1, 0, late);
	if (err)
		return err;
	s->threads[s->n_threads++] = tid;
	return 0;
}

/* Scans /proc/PID/task once: opens the event on threads that have none yet. Returns their number,
 * or -errno. A thread that ends meanwhile is no error. */
static int scan_threads(struct sampler *s, const struct event_spec *spec, pid_t pid, bool late)
{
	char path[64];
	struct dirent *entry;
	int added = 0, err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!err && (entry = readdir(dir))) {
		pid_t tid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;

		if (!tid || has_thread(s, tid))
			continue;
		err = add_thread(s, spec, tid, late);
		if (!err)
			added++;
		else if (err == -ESRCH)
			err = 0;
	}
	closedir(dir);
	return err ? err : added;
}

int sampler_attach_process(struct sampler *s, const struct event_spec *spec, pid_t pid)
{
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + SAMPLER_ATTACH_S * UINT64_C(1000000000);
	int added = scan_threads(s, spec, pid, false), total = added;

	/* Scans again, because a thread that was started by a thread without an event has none
	 * either. */
	while (added > 0 && clock_ns(CLOCK_MONOTONIC) < end_ns) {
		added = scan_threads(s, spec, pid, true);
		total += added > 0 ? added : 0;
	}
	if (total > 0)
		return total;
	return added < 0 ? added : -ESRCH;
}

int sampler_attach_thread(struct sampler *s, const struct event_spec *spec, pid_t tid)
{
	/* The command has called exec by now. */
	s->enable_on_exec = false;
	return open_event(s, spec, tid, -1, 0, false);
}

int sampler_add_member(struct sampler *s, pid_t pid)
{
	const __u32 key = (__u32)pid;
	const __u64 whichever = 0;
	int err = bpf_map_update_elem(bpf_map__fd(s->skel->maps.members), &key, &whichever,
				      BPF_NOEXIST);

	return err == -EEXIST ? 0 : err;
}

/* Attaches a program once. 0 or -errno. */
static int attach_once(struct bpf_link **link, const struct bpf_program *program)
{
	if (!*link)
		*link = bpf_program__attach(program);
	return *link ? 0 : -errno;
}

/* Attaches the programs that follow tasks from fork to their end. The program at the end is
 * attached first, so that it removes the entry of every task whose fork the other one has seen. */
static int follow_tasks(struct sampler *s)
{
	int err =
		attach_once(&s->skel->links.stackd_member_free, s->skel->progs.stackd_member_free);

	return err ? err
		   : attach_once(&s->skel->links.stackd_member_fork,
				 s->skel->progs.stackd_member_fork);
}

int sampler_follow(struct sampler *s, pid_t pid)
{
	int err = follow_tasks(s);

	return err ? err : sampler_add_member(s, pid);
}

int sampler_hold(struct sampler *s, pid_t pid)
{
	s->skel->bss->held_pid = (__u32)pid;
	return attach_once(&s->skel->links.stackd_member_exec, s->skel->progs.stackd_member_exec);
}

int sampler_begin_time(struct sampler *s)
{
	const struct bpf_program *begin = s->skel->progs.stackd_member_begin;
	int err = follow_tasks(s);

	s->has_time = !err;
	if (err || !bpf_program__autoload(begin))
		return err;
	return sampler_parts_iterate(bpf_program__fd(begin));
}

void sampler_look_at_time(struct sampler *s)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);

	if (s->has_time && !s->skel->bss->is_time_over)
		bpf_prog_test_run_opts(bpf_program__fd(s->skel->progs.stackd_member_look),
				       &options);
}

/* Opens the event on every online CPU, and starts none. 0 or negative errno. */
static int open_on_cpus(struct sampler *s, const struct event_spec *spec, int cgroup_fd)
{
	unsigned long flags = cgroup_fd >= 0 ? PERF_FLAG_PID_CGROUP : 0;
	int cpus = libbpf_num_possible_cpus(), err = 0;

	s->is_held = true;
	s->is_timed = cgroup_fd >= 0;
	for (int cpu = 0; cpu < cpus && !err; cpu++) {
		err = open_event(s, spec, cgroup_fd >= 0 ? cgroup_fd : -1, cpu, flags, false);
		if (err == -ENODEV && cpu > 0) /* the CPU is off line */
			err = 0;
	}
	s->is_held = false;
	return err;
}

struct events {
	const int *first;
	size_t count;
};

struct switching {
	struct events stop, start; /* event `i` of both is on the same CPU, unless a CPU has come or
				    * gone since the events of `stop` were opened */
};

/* Stops old event `i` and starts new event `i`, which are on the same CPU (see struct switching),
 * so that the new one follows at once. A start function of phases_start(). */
static int switch_event(void *arg, size_t i)
{
	const struct switching *s = arg;

	if (i < s->stop.count)
		ioctl(s->stop.first[i], PERF_EVENT_IOC_DISABLE, 0);
	return i < s->start.count && ioctl(s->start.first[i], PERF_EVENT_IOC_ENABLE, 0) ? -errno
											: 0;
}

/* Stops the events `stop` and starts the events `start`, one by one (phases.h). Either may be
 * empty. 0, or the negative errno of the first start that failed. */
static int switch_events(const struct event_spec *spec, struct events stop, struct events start)
{
	struct switching s = {stop, start};
	uint64_t period = event_spec_is_clock(spec) ? event_spec_usual_period(spec) : 0;

	return phases_start(stop.count > start.count ? stop.count : start.count, period,
			    switch_event, &s);
}

int sampler_attach_cpus(struct sampler *s, const struct event_spec *spec, int cgroup_fd)
{
	size_t before = s->n_events;
	int err = open_on_cpus(s, spec, cgroup_fd);
	const struct events new = {s->events + before, s->n_events - before};

	return err ? err : switch_events(spec, (struct events){0}, new);
}

int sampler_change_rate(struct sampler *s, const struct event_spec *spec, uint64_t frequency,
			int cgroup_fd)
{
	struct event_spec changed = *spec;
	size_t before = s->n_events;
	int err;

	if (frequency)
		changed.attr.sample_freq = frequency;
	err = open_on_cpus(s, &changed, cgroup_fd);
	if (!err) {
		const struct events old = {s->events, before};
		const struct events new = {s->events + before, s->n_events - before};

		err = switch_events(&changed, old, new);
		if (err)
			switch_events(spec, new, old);
	}
	close_events(s, err ? before : 0, err ? s->n_events : before);
	return err;
}

void sampler_jitter(struct sampler *s, uint64_t frequency, unsigned percent)
{
	jitter_change(&s->jitter, s->events, s->n_events, frequency, percent,
		      clock_ns(CLOCK_MONOTONIC));
}

void sampler_stop(struct sampler *s)
{
	/* Disables all events at about the same time. */
	for (size_t i = 0; i < s->n_events; i++)
		ioctl(s->events[i], PERF_EVENT_IOC_DISABLE, 0);
	sampler_look_at_time(s);
	s->skel->bss->is_time_over = 1;
	/* A thread that was just being created may have inherited an enabled event. Closing removes
	 * inherited events, too. */
	close_events(s, 0, s->n_events);
}

/* --- records --------------------------------------------------------------------------------- */

int sampler_poll_fd(const struct sampler *s)
{
	return bpf_map__fd(s->skel->maps.ring);
}

void sampler_tables_maps(const struct sampler *s, struct tables_maps *ret_maps)
{
	*ret_maps = (struct tables_maps){
		.rows_fd = bpf_map__fd(s->skel->maps.rows),
		.n_rows = bpf_map__max_entries(s->skel->maps.rows) * 2,
		.chunks_fd = bpf_map__fd(s->skel->maps.chunks),
		.n_chunks = bpf_map__max_entries(s->skel->maps.chunks) * 2,
		.rules = s->rules.data,
		.files = s->files.data,
		.n_files = bpf_map__max_entries(s->skel->maps.files),
		.inodes_fd = bpf_map__fd(s->skel->maps.inodes),
		.interpreters_fd = s->skel->rodata->with_managed
					   ? bpf_map__fd(s->skel->maps.interpreters)
					   : -1,
		.cache_fd = bpf_map__fd(s->skel->maps.rule_cache),
		.cache_bytes = (uint64_t)bpf_map__max_entries(s->skel->maps.rule_cache) *
			       bpf_map__value_size(s->skel->maps.rule_cache),
		.numbers_ended = &s->skel->bss->numbers_ended,
	};
}

void sampler_code_maps(const struct sampler *s, struct sampler_code *ret_code)
{
	*ret_code = (struct sampler_code){
		.ranges_fd = bpf_map__fd(s->skel->maps.jit_ranges),
		.files_fd = bpf_map__fd(s->skel->maps.made_files),
		.facts_fd = bpf_map__fd(s->skel->maps.runtime_facts),
		.has_ranges = &s->skel->bss->has_jit_ranges,
		.has_files = &s->skel->bss->has_made_files,
		.runtimes_told = &s->skel->bss->runtimes_told,
		.files_written = &s->skel->bss->files_written,
	};
}

void sampler_tags_maps(const struct sampler *s, struct sampler_tags *ret_tags)
{
	*ret_tags = (struct sampler_tags){
		.tagged_fd = bpf_map__fd(s->skel->maps.tagged),
		.known_fd = bpf_map__fd(s->skel->maps.known_tags),
		.n_tagged = &s->skel->bss->n_tagged,
		.max_known = bpf_map__max_entries(s->skel->maps.known_tags),
	};
}

int sampler_probe_cost(const struct sampler *s, struct probe_cost *ret_cost)
{
	return probe_cost_measure(s->skel->progs.stackd_probe_cost,
				  (const volatile uint64_t *)&s->skel->bss->probe_seen_ns,
				  ret_cost);
}

void sampler_regions_parts(const struct sampler *s, struct sampler_regions *ret_regions)
{
	sampler_programs_regions(s->skel, ret_regions);
	ret_regions->is_stopped = &s->skel->bss->regions_stopped;
	ret_regions->is_linked_twice = &s->skel->bss->regions_linked_twice;
	ret_regions->is_multi = s->has_uprobe_multi;
	ret_regions->is_malloc_multi = s->has_process_multi;
}

void sampler_events_parts(const struct sampler *s, struct sampler_events *ret_events)
{
	uint64_t counts[STACKD_REGION_COUNT] = {0};

	sampler_parts_count(s->skel->maps.region_counters, STACKD_REGION_COUNT, counts);
	*ret_events = (struct sampler_events){
		.fds_fd = bpf_map__fd(s->skel->maps.event_fds),
		.switch_fd = bpf_program__fd(s->skel->progs.stackd_event_switch),
		.turn = &s->skel->bss->event_turn,
		.known = counts[STACKD_REGION_EVENTS],
		.cut = counts[STACKD_REGION_EVENTS_CUT],
	};
}

struct sampler_waits sampler_waits_parts(const struct sampler *s)
{
	return sampler_parts_waits(s->skel->obj);
}

bool sampler_has_wait_clock(const struct sampler *s)
{
	return s->skel->bss->wait_clock_noted_ns != 0;
}

void sampler_set_walks_behind_switch(struct sampler *s)
{
	s->skel->bss->walks_behind_switch = 1;
}

void sampler_set_wait_mean(struct sampler *s, uint64_t mean_ns)
{
	s->skel->bss->wait_mean_ns = mean_ns;
}

int sampler_drain(struct sampler *s, int (*each)(void *arg, struct stackd_header *record),
		  void *arg)
{
	s->now_ns = clock_ns(CLOCK_MONOTONIC);
	s->each = each;
	s->arg = arg;
	if (s->has_clocks)
		sampler_clocks_tie(s->skel, s->now_ns);
	return ring_drain(s->ring, on_record, s);
}

bool sampler_reads_pages(struct sampler *s)
{
	s->pages.skel = s->skel;
	return sampler_pages_work(&s->pages);
}

bool sampler_read_page(void *sampler, pid_t pid, uint64_t address, uint8_t *bytes)
{
	struct sampler *s = sampler;

	return sampler_pages_read(&s->pages, pid, address, bytes);
}

bool sampler_is_pressed(const struct sampler *s)
{
	return ring_waiting(s->ring) >= s->skel->rodata->wakeup_bytes;
}

static uint64_t switch_run_ns(const struct sampler *s)
{
	return s->has_switches && s->stats_fd >= 0 ? sampler_parts_switches_ns(s->skel->obj) : 0;
}

uint64_t sampler_run_ns(const struct sampler *s)
{
	uint64_t runs;

	return sampler_parts_run_ns(s->skel->progs.stackd_sample, &runs) + switch_run_ns(s);
}

void sampler_counts(const struct sampler *s, struct sampler_counts *ret_counts)
{
	*ret_counts = (struct sampler_counts){.ring_bytes = s->ring_bytes,
					      .stacks_evicted = record_reader_evicted(s->reader)};
	sampler_parts_count(s->skel->maps.counters, STACKD_COUNT_COUNT, ret_counts->counters);
	if (s->regions)
		sampler_parts_count(s->skel->maps.region_counters, STACKD_REGION_COUNT,
				    ret_counts->regions);
	if (s->waits)
		sampler_parts_count(s->skel->maps.wait_counters, STACKD_WAIT_COUNT,
				    ret_counts->waits);
	ret_counts->run_ns = sampler_parts_run_ns(s->skel->progs.stackd_sample, &ret_counts->runs);
	ret_counts->switch_run_ns = switch_run_ns(s);
	ret_counts->on_ns = s->on_ns + on_time(s, 0, s->n_events);
}
