/* SPDX-License-Identifier: MIT */
/* Sets the kernel half's constants; see sampler_settings.h. */
#include "daemon/capture/sampler_settings.h"

#include "daemon/capture/event_groups.h"
#include "daemon/capture/percpu_distance.h"
#include "stackd.skel.h"

void sampler_settings_put(struct stackd_bpf *skel, const struct sampler_options *options,
			  const char *btf_path)
{
	skel->rodata->stack_limit = options->stack_bytes;
	skel->rodata->walk_here = !options->walk_in_daemon;
	skel->rodata->judge = options->judge;
	skel->rodata->with_managed = options->managed;
	skel->rodata->with_idle = options->idle;
	skel->rodata->usual_period = options->usual_period;
	skel->rodata->prefix_mode = options->prefix;
	skel->rodata->segment_frames = options->segment_frames;
	skel->rodata->with_heights = options->heights;
	skel->rodata->tag_mode = options->tags;
	skel->rodata->with_branches = options->branches;
	skel->rodata->region_scope = options->region_scope;
	skel->rodata->region_limit = options->region_limit;
	skel->rodata->reading_count = (uint32_t)options->n_counters;
	skel->rodata->reading_between = options->ranks;
	for (size_t i = 0; i < options->n_counters; i++)
		skel->rodata->reading_kinds[i] = (uint8_t)options->counters[i].kind;
	for (size_t i = 0; i < options->n_counters; i++) {
		if (options->counters[i].kind != STACKD_COUNTER_EVENT)
			continue;
		skel->rodata->reading_events |= (uint8_t)(1u << i);
		skel->rodata->reading_groups[i] = event_groups_of(options->event_groups, i);
		if (event_groups_is_first(options->event_groups, i))
			skel->rodata->reading_leaders |= (uint8_t)(1u << i);
	}
	skel->rodata->with_calls = options->calls;
	skel->rodata->is_joined = options->is_joined;
	skel->rodata->is_clock = options->is_clock;
	if (options->regions || options->is_clock)
		skel->rodata->steal_distance = percpu_distance(btf_path, "runqueues", "steal_time");
	skel->rodata->by_members = options->by_members;
	skel->rodata->is_everyone = options->is_everyone;
	skel->rodata->alloc_distance = options->alloc_distance;
	skel->rodata->wait_scope = options->region_scope;
	skel->rodata->cgroup_id = options->cgroup_id;
	skel->rodata->wait_least_ns = options->wait_least_ns;
	skel->bss->wait_mean_ns = options->wait_mean_ns;
}
