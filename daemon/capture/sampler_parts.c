/* SPDX-License-Identifier: MIT */
/* Finds programs and maps by name; see sampler_parts.h. */
#include "daemon/capture/sampler_parts.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stackd_abi.h"

static const char wait_prefix[] = "stackd_wait";

static bool is_of_waits(const struct bpf_program *program)
{
	return !strncmp(bpf_program__name(program), wait_prefix, sizeof(wait_prefix) - 1);
}

static bool is_of_events(const struct bpf_program *program)
{
	return !strcmp(bpf_program__name(program), "stackd_event_switch");
}

static void create_maps(struct bpf_object *object, const char *const *names, bool create)
{
	for (; *names; names++) {
		struct bpf_map *map = bpf_object__find_map_by_name(object, *names);

		if (map)
			bpf_map__set_autocreate(map, create);
	}
}

void sampler_parts_choose(struct bpf_object *object, bool regions, bool waits, bool wakers)
{
	static const char *const of_waits[] = {"wait_threads", "wait_rings", "lone_waits", NULL};
	static const char *const of_both[] = {"region_counters", "wait_counters", "ended_waits",
					      NULL};
	struct bpf_program *program;

	bpf_object__for_each_program (program, object) {
		if (is_of_waits(program))
			bpf_program__set_autoload(program, waits);
	}
	program = bpf_object__find_program_by_name(object, "stackd_wait_waking");
	if (program)
		bpf_program__set_autoload(program, wakers);
	create_maps(object, of_waits, waits);
	create_maps(object, of_both, regions || waits);
}

int sampler_parts_make_rings(const struct bpf_object *object)
{
	const struct bpf_map *rings = bpf_object__find_map_by_name(object, "wait_rings");
	uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE);
	int err = rings ? 0 : -ENOENT;

	for (uint32_t cpu = 0; !err && cpu < bpf_map__max_entries(rings); cpu++) {
		int fd = bpf_map_create(BPF_MAP_TYPE_USER_RINGBUF, "wait_ring", 0, 0, page, NULL);

		if (fd < 0)
			return fd;
		err = bpf_map_update_elem(bpf_map__fd(rings), &cpu, &fd, BPF_ANY);
		close(fd);
	}
	return err;
}

void sampler_parts_count(const struct bpf_map *map, size_t n, uint64_t *totals)
{
	int cpus = libbpf_num_possible_cpus();
	uint64_t *counted = calloc((size_t)(cpus > 0 ? cpus : 1) * n, sizeof(*counted));
	__u32 only = 0;

	if (counted && !bpf_map_lookup_elem(bpf_map__fd(map), &only, counted)) {
		for (size_t i = 0; i < (size_t)cpus * n; i++)
			totals[i % n] += counted[i];
	}
	free(counted);
}

int sampler_parts_iterate(int program)
{
	int link = bpf_link_create(program, 0, BPF_TRACE_ITER, NULL);
	int iterator = link >= 0 ? bpf_iter_create(link) : link;
	int err = iterator < 0 ? iterator : 0;
	char nothing[64];
	ssize_t n;

	do {
		n = err ? 0 : read(iterator, nothing, sizeof(nothing));
	} while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	if (n < 0)
		err = -errno;
	if (iterator >= 0)
		close(iterator);
	if (link >= 0)
		close(link);
	return err;
}

static int program_fd(const struct bpf_object *object, const char *name)
{
	const struct bpf_program *program = bpf_object__find_program_by_name(object, name);

	return program ? bpf_program__fd(program) : -ENOENT;
}

struct sampler_waits sampler_parts_waits(const struct bpf_object *object)
{
	return (struct sampler_waits){
		.begin_fd = program_fd(object, "stackd_wait_begin"),
		.finish_fd = program_fd(object, "stackd_wait_finish"),
		.fork_fd = program_fd(object, "stackd_wait_fork"),
		.exec_fd = program_fd(object, "stackd_wait_exec"),
		.cgroup_fd = program_fd(object, "stackd_wait_cgroup"),
		.walk_fd = program_fd(object, "stackd_wait_walk"),
		.clock_fd = program_fd(object, "stackd_wait_clock"),
		.switch_fd = program_fd(object, "stackd_wait_switch"),
		.waking_fd = program_fd(object, "stackd_wait_waking"),
	};
}

uint64_t sampler_parts_run_ns(const struct bpf_program *program, uint64_t *ret_runs)
{
	struct bpf_prog_info info = {0};
	__u32 len = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &len))
		info = (struct bpf_prog_info){0};
	*ret_runs = info.run_cnt;
	return info.run_time_ns;
}

uint64_t sampler_parts_switches_ns(const struct bpf_object *object)
{
	struct bpf_program *program;
	uint64_t ns = 0, runs;

	bpf_object__for_each_program (program, object) {
		if (is_of_waits(program) || is_of_events(program))
			ns += sampler_parts_run_ns(program, &runs);
	}
	return ns;
}
