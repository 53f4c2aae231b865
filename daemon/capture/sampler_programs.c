/* SPDX-License-Identifier: MIT */
/* Leaves out programs and sets their kind before they are loaded (sampler_programs.h), and makes
 * the kernel measure their time (sampler.h). */
#include "daemon/capture/sampler_programs.h"

#include <bpf/bpf.h>
#include <string.h>

#include "daemon/base/kernel_version.h"
#include "daemon/capture/sampler.h"
#include "stackd.skel.h"

/* Lets the programs of functions be loaded for uprobe_multi links. */
static void use_uprobe_multi(struct stackd_bpf *skel)
{
	const enum bpf_attach_type type = (enum bpf_attach_type)SAMPLER_UPROBE_MULTI;

	bpf_program__set_expected_attach_type(skel->progs.stackd_region_enter, type);
	bpf_program__set_expected_attach_type(skel->progs.stackd_region_leave, type);
}

/* Lets the programs of allocators' functions be loaded for uprobe_multi links. */
static void use_process_multi(struct stackd_bpf *skel)
{
	const enum bpf_attach_type type = (enum bpf_attach_type)SAMPLER_UPROBE_MULTI;

	bpf_program__set_expected_attach_type(skel->progs.stackd_malloc_enter, type);
	bpf_program__set_expected_attach_type(skel->progs.stackd_malloc_leave, type);
	bpf_program__set_expected_attach_type(skel->progs.stackd_malloc_return, type);
}

/* Leaves out the programs of libstackalloc's probes. */
static void leave_out_library(struct stackd_bpf *skel)
{
	bpf_program__set_autoload(skel->progs.stackd_alloc, false);
	bpf_program__set_autoload(skel->progs.stackd_free, false);
}

/* Leaves out the programs of libstackmpi, with their maps. */
static void leave_out_calls(struct stackd_bpf *skel)
{
	bpf_program__set_autoload(skel->progs.stackd_call, false);
	bpf_program__set_autoload(skel->progs.stackd_call_switch, false);
	bpf_map__set_autocreate(skel->maps.call_tables, false);
	bpf_map__set_autocreate(skel->maps.call_threads, false);
}

/* Leaves out the programs for probes on allocators' functions, and for page faults, mmap() and
 * brk(), which take the place of the probes. */
static void leave_out_allocators(struct stackd_bpf *skel)
{
	bpf_program__set_autoload(skel->progs.stackd_malloc_enter, false);
	bpf_program__set_autoload(skel->progs.stackd_malloc_leave, false);
	bpf_program__set_autoload(skel->progs.stackd_malloc_return, false);
	bpf_program__set_autoload(skel->progs.stackd_malloc_exit, false);
	bpf_program__set_autoload(skel->progs.stackd_fault, false);
	bpf_program__set_autoload(skel->progs.stackd_system_call, false);
	bpf_map__set_autocreate(skel->maps.live_table, false);
}

/* Leaves out the programs of functions. */
static void leave_out_functions(struct stackd_bpf *skel)
{
	bpf_program__set_autoload(skel->progs.stackd_region_enter, false);
	bpf_program__set_autoload(skel->progs.stackd_region_leave, false);
}

static bool is_of_members(const struct bpf_program *program)
{
	static const char prefix[] = "stackd_member";

	return !strncmp(bpf_program__name(program), prefix, sizeof(prefix) - 1);
}

/* Leaves out the kprobe at begin_new_exec(), if this kernel has the tracepoint
 * sched_prepare_exec. */
static void leave_out_replaced(struct stackd_bpf *skel)
{
	bpf_program__set_autoload(skel->progs.stackd_region_replaced, !kernel_is_from(6, 10));
}

/* Leaves out all programs but those of samples, with their maps. */
static void leave_out_regions(struct stackd_bpf *skel)
{
	struct bpf_program *program;
	struct bpf_map *const maps[] = {skel->maps.region_threads,  skel->maps.region_cgroup,
					skel->maps.region_counters, skel->maps.regions_off,
					skel->maps.outside_clocks,  skel->maps.mpi_calls,
					skel->maps.mpi_comms,	    skel->maps.mpi_libraries,
					skel->maps.mpi_requests,    skel->maps.alloc_threads};

	bpf_object__for_each_program (program, skel->obj) {
		if (program != skel->progs.stackd_sample && !is_of_members(program) &&
		    program != skel->progs.stackd_other_page)
			bpf_program__set_autoload(program, false);
	}
	for (struct bpf_map *const *map = maps; map < maps + sizeof(maps) / sizeof(*maps); map++)
		bpf_map__set_autocreate(*map, false);
}

/* Leaves out the programs that follow processes, for a cgroup, whose CPU time the kernel itself
 * sums up. */
static void leave_out_members(struct stackd_bpf *skel)
{
	struct bpf_program *program;

	bpf_object__for_each_program (program, skel->obj) {
		if (is_of_members(program))
			bpf_program__set_autoload(program, false);
	}
	bpf_map__set_autocreate(skel->maps.task_times, false);
	bpf_map__set_autocreate(skel->maps.more_task_times, false);
}

void sampler_programs_choose(struct stackd_bpf *skel, const struct sampler_options *options)
{
	if (options->is_none)
		bpf_program__set_autoload(skel->progs.stackd_sample, false);
	if (!options->alloc_library)
		leave_out_library(skel);
	if (!options->alloc_probes)
		leave_out_allocators(skel);
	else if (options->has_process_multi)
		use_process_multi(skel);
	if (!options->functions)
		leave_out_functions(skel);
	else if (options->has_uprobe_multi)
		use_uprobe_multi(skel);
	if (!options->marks)
		bpf_program__set_autoload(skel->progs.stackd_region_mark, false);
	if (!options->n_counters)
		bpf_program__set_autoload(skel->progs.stackd_probe_cost, false);
	if (!options->event_groups) {
		bpf_program__set_autoload(skel->progs.stackd_event_switch, false);
		bpf_map__set_autocreate(skel->maps.event_threads, false);
	}
	if (!options->calls)
		leave_out_calls(skel);
	if (!options->ranks)
		bpf_program__set_autoload(skel->progs.stackd_rank_exec, false);
	leave_out_replaced(skel);
	if (!options->regions)
		leave_out_regions(skel);
	if (!options->is_everyone && !options->is_processes)
		leave_out_members(skel);
	bpf_program__set_autoload(skel->progs.stackd_tie_clocks,
				  options->regions || options->is_clock);
	/* At first a command has one task, whose time begins at its exec. Programs for iterators
	 * make libbpf read all types of the kernel. */
	if (options->is_command)
		bpf_program__set_autoload(skel->progs.stackd_member_begin, false);
}

void sampler_programs_regions(const struct stackd_bpf *skel, struct sampler_regions *ret_regions)
{
	*ret_regions = (struct sampler_regions){
		.enter_fd = bpf_program__fd(skel->progs.stackd_region_enter),
		.leave_fd = bpf_program__fd(skel->progs.stackd_region_leave),
		.mark_fd = bpf_program__fd(skel->progs.stackd_region_mark),
		.exit_fd = bpf_program__fd(skel->progs.stackd_region_exit),
		.replaced_fd = bpf_program__fd(skel->progs.stackd_region_replaced),
		.rank_fd = bpf_program__fd(skel->progs.stackd_rank_exec),
		.alloc_fd = bpf_program__fd(skel->progs.stackd_alloc),
		.free_fd = bpf_program__fd(skel->progs.stackd_free),
		.malloc_enter_fd = bpf_program__fd(skel->progs.stackd_malloc_enter),
		.malloc_leave_fd = bpf_program__fd(skel->progs.stackd_malloc_leave),
		.malloc_return_fd = bpf_program__fd(skel->progs.stackd_malloc_return),
		.malloc_exit_fd = bpf_program__fd(skel->progs.stackd_malloc_exit),
		.fault_fd = bpf_program__fd(skel->progs.stackd_fault),
		.system_call_fd = bpf_program__fd(skel->progs.stackd_system_call),
		.call_fd = bpf_program__fd(skel->progs.stackd_call),
		.call_switch_fd = bpf_program__fd(skel->progs.stackd_call_switch),
		.calls_fd = bpf_map__fd(skel->maps.call_tables),
		.cgroup_fd = bpf_map__fd(skel->maps.region_cgroup),
		.off_fd = bpf_map__fd(skel->maps.regions_off),
		.places_fd = bpf_map__fd(skel->maps.places),
		.mpi_fd = bpf_map__fd(skel->maps.mpi_calls),
		.libraries_fd = bpf_map__fd(skel->maps.mpi_libraries),
		.scope = skel->rodata->region_scope,
	};
}

int sampler_measure_time(void)
{
	return bpf_enable_stats(BPF_STATS_RUN_TIME);
}
