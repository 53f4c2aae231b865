/* SPDX-License-Identifier: MIT */
/* Opens and switches groups of events; see event_groups.h. */
#include "daemon/capture/event_groups.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "daemon/base/log.h"
#include "daemon/capture/event_spec.h"
#include "daemon/capture/sampler.h"

#define LEAST_TURN_NS UINT64_C(200000000)
#define MOST_TURN_NS  UINT64_C(10000000000)
#define TRIAL_NS      2000000L

struct event_groups {
	const struct counter_spec *counters;
	size_t n_counters;
	struct perf_event_attr attrs[STACKD_MOST_COUNTERS];
	uint8_t group_of[STACKD_MOST_COUNTERS];
	uint8_t n_groups;
	int n_cpus;
	int *fds; /* descriptors, by CPU and counter; -1: none */
	int link; /* link of the BPF program at sched_switch; -1: none */

	uint32_t number;  /* number of the current turn */
	uint64_t turn_ns; /* how long turns are */
	uint64_t until_ns;
	uint64_t known, cut; /* counts of passes (struct sampler_events) when the first group's turn
			      * last began */
};

static int *fd_at(const struct event_groups *g, int cpu, size_t index)
{
	return &g->fds[(size_t)cpu * STACKD_MOST_COUNTERS + index];
}

static bool is_event(const struct event_groups *g, size_t index)
{
	return g->counters[index].kind == STACKD_COUNTER_EVENT;
}

/* Returns the descriptor of the first event of a group, which starts and stops all of it; -1: there
 * is none yet. */
static int leader_of(const struct event_groups *g, int cpu, uint8_t group)
{
	for (size_t i = 0; i < g->n_counters; i++) {
		if (is_event(g, i) && g->group_of[i] == group && *fd_at(g, cpu, i) >= 0)
			return *fd_at(g, cpu, i);
	}
	return -1;
}

/* --- opening --------------------------------------------------------------------------------- */

static enum exit_status explain(const struct event_groups *g, size_t index, int err)
{
	const char *name = g->counters[index].name;

	if (err == -EACCES || err == -EPERM) {
		log_error(
			"--counter '%s': no right to count it (%s): run as root, or with CAP_PERFMON",
			name, strerror(-err));
		return STATUS_UNSUPPORTED;
	}
	if (err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV || err == -ENXIO) {
		log_error("--counter '%s': not supported on this machine (%s): no PMU, or not this "
			  "event; page-faults, context-switches and var:SYMBOL work everywhere",
			  name, strerror(-err));
		return STATUS_UNSUPPORTED;
	}
	if (err == -ENOSPC && g->counters[index].brace) {
		log_error(
			"--counter '%s': the processor cannot count all events of its {group} at a "
			"time: take one out, or leave the braces away",
			name);
		return STATUS_USAGE;
	}
	log_error("--counter '%s': refused by the kernel: %s", name, strerror(-err));
	return STATUS_FAILED;
}

/* Opens an event on a CPU, in its group. 0 or -errno. */
static int open_event(struct event_groups *g, int cpu, size_t index)
{
	struct perf_event_attr attr = g->attrs[index];
	const int leader = leader_of(g, cpu, g->group_of[index]);
	int fd;

	attr.disabled = leader < 0;
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, leader, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return errno == EINVAL && leader >= 0 ? -ENOSPC : -errno;
	*fd_at(g, cpu, index) = fd;
	return 0;
}

/* Returns whether the processor really counts a group. The kernel also accepts a group that would
 * fit only if nothing else, such as the kernel's watchdog, used a counter of the processor. */
static bool counts(int leader)
{
	struct {
		uint64_t value, enabled, running;
	} read_back = {0};
	bool is_read;

	if (ioctl(leader, PERF_EVENT_IOC_ENABLE, 0))
		return false;
	nanosleep(&(struct timespec){.tv_nsec = TRIAL_NS}, NULL);
	is_read = read(leader, &read_back, sizeof(read_back)) == sizeof(read_back);
	ioctl(leader, PERF_EVENT_IOC_DISABLE, 0);
	return is_read && read_back.running;
}

/* Opens an event in a group that has other events. 0; -ENOSPC: the processor cannot count all
 * events of the group at the same time, and the event is closed again; -errno. */
static int join(struct event_groups *g, int cpu, size_t index)
{
	int err = open_event(g, cpu, index);

	if (err || counts(leader_of(g, cpu, g->group_of[index])))
		return err;
	close(*fd_at(g, cpu, index));
	*fd_at(g, cpu, index) = -1;
	return -ENOSPC;
}

/* Returns the group that a counter may join: the group of the counters in the same braces; for a
 * counter without braces, the last group of such counters. -1: there is none. */
static int group_to_join(const struct event_groups *g, size_t index)
{
	for (size_t i = index; i-- > 0;) {
		if (is_event(g, i) && g->counters[i].brace == g->counters[index].brace)
			return g->group_of[i];
	}
	return -1;
}

/* Decides which counters form a group by opening the events on `cpu`. 0; or -errno, and *ret_index
 * is the counter whose event could not be opened. */
static int find_groups(struct event_groups *g, int cpu, size_t *ret_index)
{
	for (size_t i = 0; i < g->n_counters; i++) {
		int group, err = -ENOSPC;

		if (!is_event(g, i))
			continue;
		*ret_index = i;
		group = group_to_join(g, i);
		if (group >= 0) {
			g->group_of[i] = (uint8_t)group;
			err = join(g, cpu, i);
		}
		if (group < 0 || (err == -ENOSPC && !g->counters[i].brace)) {
			g->group_of[i] = g->n_groups++;
			err = open_event(g, cpu, i);
		}
		if (err)
			return err;
	}
	return 0;
}

static int open_groups(struct event_groups *g, int cpu, size_t *ret_index)
{
	int err = 0;

	if (!g->n_groups)
		return find_groups(g, cpu, ret_index);
	for (size_t i = 0; i < g->n_counters && !err; i++) {
		*ret_index = i;
		err = is_event(g, i) ? open_event(g, cpu, i) : 0;
	}
	return err;
}

static enum exit_status open_all(struct event_groups *g)
{
	for (int cpu = 0; cpu < g->n_cpus; cpu++) {
		size_t index = 0;
		int err = open_groups(g, cpu, &index);

		if (err == -ENODEV && cpu > 0) /* off line */
			continue;
		if (err)
			return explain(g, index, err);
	}
	return STATUS_DONE;
}

/* Turns the names of the events into attributes. */
static enum exit_status parse(struct event_groups *g)
{
	for (size_t i = 0; i < g->n_counters; i++) {
		struct event_spec spec;
		char *sentence = NULL;
		int err;

		if (!is_event(g, i))
			continue;
		err = event_spec_parse(g->counters[i].name, 0, 0, &spec, &sentence);
		if (err || spec.is_none) {
			log_error("--counter '%s': expected " COUNTER_SPEC_NAMES,
				  g->counters[i].name);
			free(sentence);
			return STATUS_USAGE;
		}
		g->attrs[i] = spec.attr;
		g->attrs[i].read_format =
			PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	}
	return STATUS_DONE;
}

enum exit_status event_groups_open(const struct counter_spec *counters, size_t n,
				   struct event_groups **ret_groups)
{
	const int cpus = libbpf_num_possible_cpus();
	struct event_groups *g = NULL;
	enum exit_status status;
	size_t events = 0;

	*ret_groups = NULL;
	for (size_t i = 0; i < n; i++)
		events += counters[i].kind == STACKD_COUNTER_EVENT;
	if (!events)
		return STATUS_DONE;
	g = calloc(1, sizeof(*g));
	if (!g || cpus <= 0) {
		log_error("--counter: events cannot be opened: %s",
			  g ? strerror(-cpus) : strerror(ENOMEM));
		free(g);
		return STATUS_FAILED;
	}
	*g = (struct event_groups){.counters = counters,
				   .n_counters = n,
				   .n_cpus = cpus,
				   .link = -1,
				   .turn_ns = LEAST_TURN_NS,
				   .fds = calloc((size_t)cpus * STACKD_MOST_COUNTERS, sizeof(int))};
	for (size_t i = 0; g->fds && i < (size_t)cpus * STACKD_MOST_COUNTERS; i++)
		g->fds[i] = -1;
	if (!g->fds)
		log_error("--counter: events cannot be opened: %s", strerror(ENOMEM));
	status = g->fds ? parse(g) : STATUS_FAILED;
	if (!status)
		status = open_all(g);
	if (status)
		event_groups_free(g);
	else
		*ret_groups = g;
	return status;
}

void event_groups_free(struct event_groups *g)
{
	if (!g)
		return;
	if (g->link >= 0)
		close(g->link);
	for (size_t i = 0; g->fds && i < (size_t)g->n_cpus * STACKD_MOST_COUNTERS; i++) {
		if (g->fds[i] >= 0)
			close(g->fds[i]);
	}
	free(g->fds);
	free(g);
}

uint8_t event_groups_of(const struct event_groups *g, size_t index)
{
	return g->group_of[index];
}

bool event_groups_is_first(const struct event_groups *g, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (is_event(g, i) && g->group_of[i] == g->group_of[index])
			return false;
	}
	return true;
}

/* --- turns ----------------------------------------------------------------------------------- */

static void switch_group(const struct event_groups *g, uint8_t group, bool is_on)
{
	for (int cpu = 0; cpu < g->n_cpus; cpu++) {
		int leader = leader_of(g, cpu, group);

		if (leader >= 0)
			ioctl(leader, is_on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
	}
}

static void begin_turn(struct event_groups *g, uint32_t *turn, uint64_t now_ns)
{
	const uint8_t group = (uint8_t)(g->number % g->n_groups);

	switch_group(g, group, true);
	g->until_ns = now_ns + g->turn_ns;
	g->number++;
	__atomic_store_n(turn, g->number * STACKD_MOST_COUNTERS + group, __ATOMIC_RELEASE);
}

int event_groups_start(struct event_groups *g, const struct sampler *sampler, uint64_t now_ns)
{
	struct sampler_events parts;
	int err = 0;

	if (!g)
		return 0;
	sampler_events_parts(sampler, &parts);
	for (__u32 i = 0; i < (__u32)g->n_cpus * STACKD_MOST_COUNTERS && !err; i++) {
		if (g->fds[i] >= 0)
			err = bpf_map_update_elem(parts.fds_fd, &i, &g->fds[i], BPF_ANY);
	}
	if (err)
		return err;
	g->link = bpf_raw_tracepoint_open(NULL, parts.switch_fd);
	if (g->link < 0)
		return g->link;
	begin_turn(g, parts.turn, now_ns);
	return 0;
}

bool event_groups_are_cut(uint64_t known, uint64_t cut)
{
	return cut && cut * 3 >= known;
}

/* Called after each group has had a turn: doubles the length of turns, up to MOST_TURN_NS, if the
 * end of a turn has cut too many passes. */
static void end_round(struct event_groups *g, const struct sampler_events *parts)
{
	if (event_groups_are_cut(parts->known - g->known, parts->cut - g->cut))
		g->turn_ns = g->turn_ns < MOST_TURN_NS / 2 ? g->turn_ns * 2 : MOST_TURN_NS;
	g->known = parts->known;
	g->cut = parts->cut;
}

void event_groups_look(struct event_groups *g, const struct sampler *sampler, uint64_t now_ns)
{
	struct sampler_events parts;

	if (!g || g->n_groups < 2 || now_ns < g->until_ns)
		return;
	sampler_events_parts(sampler, &parts);
	if (g->number % g->n_groups == 0)
		end_round(g, &parts);
	__atomic_store_n(parts.turn, 0, __ATOMIC_RELEASE);
	switch_group(g, (uint8_t)((g->number - 1) % g->n_groups), false);
	begin_turn(g, parts.turn, now_ns);
}
