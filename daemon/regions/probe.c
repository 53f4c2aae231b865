/* SPDX-License-Identifier: MIT */
/* Opens uprobe events and links programs to them; see probe.h. */
#include "daemon/regions/probe.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/named_file.h"
#include "daemon/base/kernel_version.h"
#include "arch/probe_place.h"

#define USER_TYPE   "/sys/bus/event_source/devices/uprobe/type"
#define KERNEL_TYPE "/sys/bus/event_source/devices/kprobe/type"

int probe_check_places(const char *path, const uint64_t *offsets, size_t count)
{
	int fd = named_file_open(path);
	int err = fd < 0 ? fd : probe_places_check(fd, offsets, count);

	if (fd >= 0)
		close(fd);
	return err;
}

/* Returns the type of uprobe or kprobe events, or -ENODEV. */
static int read_type(const char *path)
{
	FILE *file = fopen(path, "re");
	int type, got;

	if (!file)
		return -ENODEV;
	got = fscanf(file, "%d", &type);
	fclose(file);
	return got == 1 && type >= 0 ? type : -ENODEV;
}

/* Opens a uprobe event and attaches a program to it. `config`: of the event: semaphore << 32, and
 * bit 0 for a uretprobe. `pid`: the process; -1: all processes. Errors as of probe_attach(). */
static int attach(int program, const char *path, uint64_t offset, uint64_t config, uint64_t cookie,
		  pid_t pid, struct probe *ret_probe)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = cookie);
	int type = read_type(USER_TYPE);
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = (uint32_t)type,
		.config = config,
		.config1 = (uint64_t)(uintptr_t)path,
		.config2 = offset,
	};
	struct probe probe;
	int err = type < 0 ? type : probe_check_places(path, &offset, 1);

	if (err)
		return err;
	/* The event's own CPU or thread does not matter, because the program runs on every CPU, and
	 * in every thread of the process. */
	probe.event = (int)syscall(SYS_perf_event_open, &attr, pid, pid < 0 ? 0 : -1, -1,
				   PERF_FLAG_FD_CLOEXEC);
	if (probe.event < 0)
		return -errno;
	probe.link = bpf_link_create(program, probe.event, BPF_PERF_EVENT, &opts);
	if (probe.link < 0) {
		close(probe.event);
		return probe.link;
	}
	*ret_probe = probe;
	return 0;
}

int probe_attach(int program, const char *path, uint64_t offset, uint64_t semaphore,
		 uint64_t cookie, struct probe *ret_probe)
{
	return attach(program, path, offset, semaphore << 32, cookie, -1, ret_probe);
}

int probe_attach_to(int program, const char *path, uint64_t offset, uint64_t cookie, pid_t pid,
		    struct probe *ret_probe)
{
	return attach(program, path, offset, 0, cookie, pid, ret_probe);
}

int probe_attach_return(int program, const char *path, uint64_t offset, pid_t pid,
			struct probe *ret_probe)
{
	return attach(program, path, offset, 1, 0, pid ? pid : -1, ret_probe);
}

int probe_attach_kernel(int program, const char *function, struct probe *ret_probe)
{
	int type = read_type(KERNEL_TYPE);
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = (uint32_t)type,
		.config1 = (uint64_t)(uintptr_t)function,
	};
	struct probe probe;

	if (type < 0)
		return type;
	probe.event = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (probe.event < 0)
		return -errno;
	probe.link = bpf_link_create(program, probe.event, BPF_PERF_EVENT, NULL);
	if (probe.link < 0) {
		close(probe.event);
		return probe.link;
	}
	*ret_probe = probe;
	return 0;
}

bool probe_returns_are_safe(void)
{
	return kernel_is_from(6, 15) || !kernel_is_from(6, 6);
}

bool probe_is_no_place(int err)
{
	const int not_supported = -524; /* ENOTSUPP, which only the kernel knows */

	return err == -EINVAL || err == -EIO || err == -EOPNOTSUPP || err == not_supported;
}

const char *probe_reason(int err)
{
	switch (err) {
	case -ENODEV:
		return "the kernel has no uprobes (CONFIG_UPROBE_EVENTS): regions need them; leave "
		       "out --region and --mark";
	case -EMFILE:
		return "too many open files: give a narrower pattern, or raise the limit";
	default:
		return probe_is_no_place(err) ? "no probe can be at one of its instructions"
					      : strerror(-err);
	}
}

void probe_detach(struct probe *probe)
{
	if (probe->link >= 0)
		close(probe->link);
	if (probe->event >= 0)
		close(probe->event);
	probe->link = probe->event = -1;
}
