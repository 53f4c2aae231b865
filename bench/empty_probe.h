/* SPDX-License-Identifier: MIT */
/* Attaches a BPF program that does nothing by a uprobe or uretprobe: what a probe costs by itself.
 */
#ifndef BENCH_EMPTY_PROBE_H
#define BENCH_EMPTY_PROBE_H

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Attaches it in this process, to the function at an offset of the file at `path`: to its entry, or
 * to its return. The event stays open as long as the process. 0; -ENODEV: the kernel has no
 * uprobes, or does not take the program; or the -errno of the event. */
static inline int empty_probe_attach(const char *path, uint64_t offset, int is_return)
{
	const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.config = (uint64_t)is_return,
		.config1 = (uint64_t)(uintptr_t)path,
		.config2 = offset,
	};
	int program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", nothing, 2, NULL), event;
	int has_type = file && fscanf(file, "%u", &attr.type) == 1;

	if (file)
		fclose(file);
	if (!has_type || program < 0)
		return -ENODEV;
	event = (int)syscall(SYS_perf_event_open, &attr, getpid(), -1, -1, 0);
	if (event < 0 || ioctl(event, PERF_EVENT_IOC_SET_BPF, program) ||
	    ioctl(event, PERF_EVENT_IOC_ENABLE, 0))
		return -errno;
	return 0;
}

#endif
