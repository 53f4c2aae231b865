/* SPDX-License-Identifier: MIT */
/* Attaches to processes, a cgroup, or all CPUs; see attach.h. */
#include "daemon/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/base/log.h"

#define CROWD	 1000	  /* threads, for each of which an event would be opened */
#define WATCH_NS 50000000 /* how long switches are counted */

/*
 * Prices on a KVM guest, where setting the timer is dear. At a switch the timers of one thread's
 * event are stopped and another's started. At low rates they expire after the kernel's own tick,
 * and the processor's timer is not set anew.
 */
#define TICK_HZ	     250
#define SWITCH_NS    2400  /* of events of threads, at a switch */
#define RESET_NS     8500  /* the same at rates above the tick's */
#define INTERRUPT_NS 11000 /* of a sample to a process that is not recorded */

bool attach_switches_often(uint64_t switches, uint64_t ns, uint64_t cpus, uint64_t rate_hz)
{
	const double each_ns = rate_hz > TICK_HZ ? RESET_NS : SWITCH_NS;

	return (double)switches * each_ns * 1e9 >
	       (double)cpus * (double)rate_hz * INTERRUPT_NS * (double)ns;
}

/* Looks for a moment how often the target's threads switch. */
static bool switches_often(const struct options *options, const struct target *target)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	const uint64_t start = clock_ns(CLOCK_MONOTONIC), before = target_switches(target);
	uint64_t more;

	nanosleep(&(struct timespec){.tv_nsec = WATCH_NS}, NULL);
	more = target_switches(target) - before;
	return cpus > 0 && (int64_t)more > 0 && /* threads can have ended */
	       attach_switches_often(more, clock_ns(CLOCK_MONOTONIC) - start, (uint64_t)cpus,
				     options->frequency);
}

bool attach_is_crowd(const struct options *options, const struct target *target)
{
	const bool has_samples = !options->event || strcmp(options->event, "none") != 0;

	if (options->target != TARGET_PIDS || options->lbr)
		return false;
	if (target_threads(target) > CROWD)
		return true;
	if (!options->frequency || !has_samples || !switches_often(options, target))
		return false;
	log_info("the target's threads switch so often that events of the CPUs cost it less than "
		 "its own");
	return true;
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
			err = 0; /* it has ended, or is not ours to look into */
	}
	fclose(file);
	return err;
}

static enum exit_status attach_processes(const struct attach *a)
{
	size_t count, attached = 0;
	const pid_t *pids = target_pids(a->target, &count);

	for (size_t i = 0; i < count; i++) {
		int err = recorder_load_process(a->recorder, pids[i]);

		if (!err && a->is_crowd)
			err = sampler_follow(a->sampler, pids[i]);
		else if (!err)
			err = sampler_attach_process(a->sampler, &a->event->spec, pids[i]);
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

enum exit_status attach(const struct attach *a)
{
	enum exit_status status;
	int err = 0;

	if (a->options->target == TARGET_PIDS || a->options->target == TARGET_COMMAND) {
		status = attach_processes(a);
		if (status || !a->is_crowd)
			return status;
		err = sampler_attach_cpus(a->sampler, &a->event->spec, -1);
		return err ? event_choice_explain(a->event, err) : STATUS_DONE;
	}
	err = a->options->target == TARGET_CGROUP ? load_cgroup(a) : recorder_load_all(a->recorder);
	if (err) {
		log_error("cannot read the processes of the target: %s", strerror(-err));
		return exit_status_of(err);
	}
	err = sampler_attach_cpus(a->sampler, &a->event->spec, target_cgroup_fd(a->target));
	return err ? event_choice_explain(a->event, err) : STATUS_DONE;
}

void attach_again(const struct attach *a, pid_t tid)
{
	bool is_own = a->options->target == TARGET_PIDS || a->options->target == TARGET_COMMAND;
	int err = is_own && !a->is_crowd ? sampler_attach_thread(a->sampler, &a->event->spec, tid)
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
