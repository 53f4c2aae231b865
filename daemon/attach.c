/* SPDX-License-Identifier: MIT */
/* Attaches to processes, a cgroup, or all CPUs; see attach.h. */
#include "daemon/base/rights.h"
#include "daemon/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/base/log.h"

#define CROWD	     1000		  /* with more threads, events are opened on CPUs */
#define MOST_FOR_ONE UINT64_C(3000000000) /* ns, waited for tables, if processes are named, */
#define MOST_FOR_ALL UINT64_C(1000000000) /* and if not */

bool attach_is_crowd(const struct options *options, const struct target *target)
{
	return options->target == TARGET_PIDS && target_threads(target) > CROWD;
}

bool attach_is_on_cpus(const struct options *options, const struct event_spec *spec,
		       const struct target *target)
{
	if ((options->target != TARGET_PIDS && options->target != TARGET_COMMAND) || options->lbr)
		return false;
	return options->period != 1 || event_spec_is_switches(spec) ||
	       attach_is_crowd(options, target);
}

/* Loads the processes that are in the cgroup already. */
static int load_cgroup(const struct attach *a)
{
	int fd = openat(target_cgroup_fd(a->target), "cgroup.procs", O_RDONLY | O_CLOEXEC);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	int pid, err = 0;

	if (!file)
		return fd < 0 ? -errno : -ENOMEM;
	while (!err && fscanf(file, "%d", &pid) == 1) {
		err = recorder_load_process(a->recorder, pid);
		if (err != -ENOMEM)
			err = 0; /* the process has ended, or stackd may not read it */
	}
	fclose(file);
	return err;
}

/* Loads processes, before attach_processes() reads them again. One that cannot be read is found out
 * there. */
static int load_processes(const struct attach *a)
{
	size_t count;
	const pid_t *pids = target_pids(a->target, &count);
	int err = 0;

	for (size_t i = 0; i < count && err != -ENOMEM; i++)
		err = recorder_load_process(a->recorder, pids[i]);
	return err == -ENOMEM ? err : 0;
}

enum exit_status attach_load(const struct attach *a)
{
	const bool are_named = a->options->target == TARGET_PIDS;
	const uint64_t most_ns = are_named ? MOST_FOR_ONE : MOST_FOR_ALL;
	int err;

	switch (a->options->target) {
	case TARGET_COMMAND:
		return STATUS_DONE;
	case TARGET_PIDS:
		err = load_processes(a);
		break;
	case TARGET_CGROUP:
		err = load_cgroup(a);
		break;
	default:
		err = recorder_load_all(a->recorder);
	}
	if (!err && a->options->managed)
		err = recorder_await_interpreters(a->recorder, clock_ns(CLOCK_MONOTONIC) + most_ns);
	if (err)
		log_error("cannot read the processes of the target: %s", strerror(-err));
	return err ? exit_status_of(err) : STATUS_DONE;
}

static enum exit_status attach_processes(const struct attach *a)
{
	size_t count, attached = 0;
	const pid_t *pids = target_pids(a->target, &count);

	for (size_t i = 0; i < count; i++) {
		int err = recorder_load_process(a->recorder, pids[i]);

		if (!err && a->options->target == TARGET_COMMAND) /* it must not be sampled before
								   * its exec */
			err = sampler_hold(a->sampler, pids[i]);
		if (!err)
			err = sampler_follow(a->sampler, pids[i]);
		if (!err && !a->is_on_cpus)
			err = sampler_attach_process(a->sampler, &a->event->spec, pids[i]);
		if (err == -ESRCH) {
			log_warning("process %d ended before it could be profiled", pids[i]);
		} else if (err == -EACCES || err == -EPERM) {
			log_error("no right to profile process %d (%s): %s", pids[i],
				  strerror(-err), rights_remedy(""));
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

/* Makes the kernel half add up the CPU time of the target from now on. If that fails, only warns,
 * because samples do not need it. */
static void begin_time(const struct attach *a)
{
	int err = sampler_begin_time(a->sampler);

	if (err)
		log_warning("the CPU time of the target cannot be added up: %s", strerror(-err));
}

/* Warns that threads which live for a short time get few samples, if each thread has its own
 * event. */
static void warn_of_own_events(const struct attach *a)
{
	const struct options *o = a->options;
	const bool is_own = o->target == TARGET_PIDS || o->target == TARGET_COMMAND;

	if (is_own && !a->is_on_cpus && o->period != 1)
		log_warning(
			"with --lbr each thread has an event of its own, which counts no part of "
			"a period: threads and processes that live for a short time have few "
			"samples, or none");
}

enum exit_status attach(const struct attach *a)
{
	enum exit_status status;
	int err = 0;

	warn_of_own_events(a);
	if (a->options->target == TARGET_PIDS || a->options->target == TARGET_COMMAND) {
		status = attach_processes(a);
		if (!status)
			begin_time(a);
		if (status || !a->is_on_cpus)
			return status;
		err = sampler_attach_cpus(a->sampler, &a->event->spec, -1);
		return err ? event_choice_explain(a->event, err) : STATUS_DONE;
	}
	if (a->options->target == TARGET_ALL)
		begin_time(a);
	err = sampler_attach_cpus(a->sampler, &a->event->spec, target_cgroup_fd(a->target));
	return err ? event_choice_explain(a->event, err) : STATUS_DONE;
}

void attach_again(const struct attach *a, pid_t tid)
{
	bool is_own = a->options->target == TARGET_PIDS || a->options->target == TARGET_COMMAND;
	int err = is_own && !a->is_on_cpus ? sampler_attach_thread(a->sampler, &a->event->spec, tid)
					   : 0;

	if (err == -ESRCH)
		log_warning("process %d ended before its events could be opened again, which the "
			    "kernel takes away where a program gains rights by its exec (setuid)",
			    tid);
	else if (err)
		log_warning("process %d goes on without samples: the kernel took its events away "
			    "when it gained rights by its exec (setuid), and they cannot be opened "
			    "again: %s",
			    tid, strerror(-err));
}
