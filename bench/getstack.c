/* SPDX-License-Identifier: MIT */
/*
 * Kernel time a sample of the kernel's own walk along frame pointers, on a running process:
 *
 *   getstack PID HZ SECONDS empty|get_stack      prints: runs, nanoseconds, frames
 *
 * The same clock and frequency as stackd's, user mode only; time by the kernel's statistics.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "getstack.skel.h"

static int open_event(pid_t pid, unsigned hz)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = hz,
		.freq = 1,
		.exclude_kernel = 1,
		.disabled = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void wait_for(double seconds)
{
	struct timespec left = {.tv_sec = (time_t)seconds};

	left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

static int measure(struct getstack_bpf *skel, struct bpf_program *program, int event,
		   double seconds)
{
	struct bpf_link *link = bpf_program__attach_perf_event(program, event);
	struct bpf_prog_info info = {0};
	__u32 len = sizeof(info);

	if (!link)
		return -errno;
	wait_for(seconds);
	bpf_link__destroy(link);
	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &len))
		return -errno;
	printf("%llu %llu %llu\n", (unsigned long long)info.run_cnt,
	       (unsigned long long)info.run_time_ns, (unsigned long long)skel->bss->frames);
	return 0;
}

int main(int argc, char **argv)
{
	struct getstack_bpf *skel;
	int event, stats, err;

	if (argc != 5) {
		fprintf(stderr, "usage: getstack PID HZ SECONDS empty|get_stack\n");
		return 2;
	}
	skel = getstack_bpf__open_and_load();
	if (!skel)
		return 1;
	stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	event = open_event(atoi(argv[1]), (unsigned)atoi(argv[2]));
	if (stats < 0 || event < 0)
		err = -errno;
	else
		err = measure(skel,
			      strcmp(argv[4], "empty") ? skel->progs.get_stack : skel->progs.empty,
			      event, atof(argv[3]));
	if (err)
		fprintf(stderr, "getstack: %s\n", strerror(-err));
	getstack_bpf__destroy(skel);
	return err != 0;
}
