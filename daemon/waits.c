/* SPDX-License-Identifier: MIT */
/* Attaches to the scheduler; see waits.h. */
#include "daemon/waits.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daemon/base/log.h"

#define CLOCK_SWITCHES 5
#define MOST_MEAN_NS   UINT64_C(60000000000) /* most that the kernel half can use */

/* Attaches a program and keeps its descriptor for waits_stop(). `name`: a raw tracepoint; NULL: the
 * program's own type says where. 0 or -errno. */
static int attach_program(struct waits *w, const char *name, int program)
{
	int fd = bpf_raw_tracepoint_open(name, program);

	if (fd >= 0)
		w->attached[w->n_attached++] = fd;
	return fd < 0 ? fd : 0;
}

static int add_members(struct sampler *sampler, const struct target *target)
{
	size_t n;
	const pid_t *pids = target_pids(target, &n);
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		err = sampler_add_member(sampler, pids[i]);
	return err;
}

/* Makes the kernel half compare CLOCK_MONOTONIC with the scheduler's clock at switches of threads,
 * and sleeps a few times, so that there are switches. 0; -EOPNOTSUPP: the kernel does not account
 * how long threads wait for a CPU; or another -errno. */
static int compare_clocks(struct waits *w, const struct sampler *sampler)
{
	int err = attach_program(w, NULL, w->kernel.clock_fd);

	for (int i = 0; !err && i < CLOCK_SWITCHES; i++)
		nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
	if (!err)
		close(w->attached[--w->n_attached]);
	return err || sampler_has_wait_clock(sampler) ? err : -EOPNOTSUPP;
}

/* Attaches the program that walks the stack of a wait. If all waits are kept, and the kernel has a
 * tracepoint behind each switch (from 6.16 on), it is attached there; else to the interrupts that
 * the kernel half raises (bpf/wait.bpf.h). */
static int attach_walk(struct waits *w, const struct options *options, struct sampler *sampler)
{
	if (!options->wait_mean_ns && !options->wakers &&
	    !attach_program(w, "sched_exit_tp", w->kernel.walk_fd)) {
		sampler_set_walks_behind_switch(sampler);
		return 0;
	}
	return attach_program(w, "irq_work_entry", w->kernel.walk_fd);
}

/* Attaches all programs first, and then lets the kernel half go over the existing threads, so that
 * no thread is missed. */
static int begin(struct waits *w, const struct options *options, struct sampler *sampler)
{
	int err = compare_clocks(w, sampler);

	if (!err)
		err = attach_program(w, NULL, w->kernel.fork_fd);
	if (!err && options->target == TARGET_COMMAND)
		err = attach_program(w, NULL, w->kernel.exec_fd);
	if (!err && options->target == TARGET_CGROUP)
		err = attach_program(w, NULL, w->kernel.cgroup_fd);
	if (!err)
		err = attach_walk(w, options, sampler);
	if (!err && options->wakers)
		err = attach_program(w, NULL, w->kernel.waking_fd);
	if (!err)
		err = attach_program(w, NULL, w->kernel.switch_fd);
	if (!err && options->target != TARGET_COMMAND)
		err = sampler_parts_iterate(w->kernel.begin_fd);
	return err;
}

enum exit_status waits_start(struct waits *w, const struct options *options,
			     struct sampler *sampler, const struct target *target)
{
	int err;

	if (!options->waits)
		return STATUS_DONE;
	w->kernel = sampler_waits_parts(sampler);
	err = add_members(sampler, target);
	if (!err)
		err = begin(w, options, sampler);
	if (!err)
		return STATUS_DONE;
	if (err == -EOPNOTSUPP)
		log_error("--wait: this kernel does not tell how long threads are in the queues of "
			  "CPUs (CONFIG_SCHED_INFO, CONFIG_FAIR_GROUP_SCHED)");
	else
		log_error("--wait: cannot attach to the scheduler: %s", strerror(-err));
	return exit_status_of(err);
}

void waits_stop(struct waits *w)
{
	int err = w->n_attached ? sampler_parts_iterate(w->kernel.finish_fd) : 0;

	if (err)
		log_warning("--wait: cannot find out which threads wait already: %s",
			    strerror(-err));
	while (w->n_attached)
		close(w->attached[--w->n_attached]);
}

uint64_t waits_mean_ns(const struct options *options, uint64_t full_hz, uint64_t rate_hz)
{
	double mean = (double)options->wait_mean_ns;

	if (rate_hz && rate_hz < full_hz)
		mean *= (double)full_hz / (double)rate_hz;
	return mean < (double)MOST_MEAN_NS ? (uint64_t)mean : MOST_MEAN_NS;
}

uint64_t waits_cgroup_id(int fd)
{
	struct stat folder;

	return fd >= 0 && !fstat(fd, &folder) ? folder.st_ino : 0;
}
