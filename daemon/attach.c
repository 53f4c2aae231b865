/* SPDX-License-Identifier: MIT */
/* Attaches to processes, a cgroup, or all CPUs; see attach.h. */
#include "daemon/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/base/log.h"

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
