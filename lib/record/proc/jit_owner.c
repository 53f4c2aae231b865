/* SPDX-License-Identifier: MIT */
/* Reads /proc/PID/stat, status, ns/mnt and root; see jit_owner.h. */
#include "proc/jit_owner.h"

#include <unistd.h>

#include "base/clock.h"
#include "proc/proc_fs.h"

/* seconds from a process's end to the resolving of its mappings, at most */
#define RECENT_S 30

static bool has_same_files(const char *proc_root, pid_t pid)
{
	pid_t self = getpid();

	return proc_fs_is_same_file(proc_root, pid, self, "ns/mnt") &&
	       proc_fs_is_same_file(proc_root, pid, self, "root");
}

/* Converts ticks since boot to seconds of the wall clock. */
static time_t wall_time(uint64_t ticks)
{
	uint64_t boot_s = (clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME)) / 1000000000;

	return (time_t)(boot_s + ticks / (uint64_t)sysconf(_SC_CLK_TCK));
}

void jit_owner_find(const char *proc_root, pid_t pid, struct jit_owner *ret_owner)
{
	struct proc_fs_status status;
	struct proc_fs_stat stat;

	if (proc_fs_stat(proc_root, pid, &stat) || proc_fs_status(proc_root, pid, &status)) {
		*ret_owner = (struct jit_owner){
			.pid = pid,
			.ns_pid = pid,
			.uid = getuid(),
			.euid = geteuid(),
			.since_s = time(NULL) - RECENT_S,
			.is_near = true,
		};
		return;
	}
	*ret_owner = (struct jit_owner){
		.pid = pid,
		.ns_pid = status.ns_pid,
		.uid = status.uid,
		.euid = status.euid,
		.start_ticks = stat.start_ticks,
		.since_s = wall_time(stat.start_ticks),
		.is_near = has_same_files(proc_root, pid),
	};
}

bool jit_owner_is_alive(const char *proc_root, const struct jit_owner *owner)
{
	struct proc_fs_stat stat;

	return !proc_fs_stat(proc_root, owner->pid, &stat) &&
	       stat.start_ticks == owner->start_ticks && stat.state != 'Z';
}
