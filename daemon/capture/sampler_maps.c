/* SPDX-License-Identifier: MIT */
/* Sizes the kernel half's maps before they are made; see sampler_maps.h. */
#include "daemon/capture/sampler_maps.h"

#include <bpf/libbpf.h>
#include <unistd.h>

#include "stackd.skel.h"

/* Sizes of the kernel half's arrays. With them, the default ring of 8 MiB and --table-memory
 * 24M, the kernel half takes 50 MiB, and 1 MiB for each CPU: 58 MiB on 8 of them. */
#define CHUNK_ENTRIES 262144u
#define STATE_ENTRIES 256u

static uint32_t ring_size(uint64_t bytes)
{
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);

	while (size < bytes)
		size *= 2;
	return (uint32_t)size;
}

int sampler_maps_size(struct stackd_bpf *skel, const struct sampler_options *options, uint32_t cpus)
{
	uint32_t regions = options->regions ? STACKD_REGION_SCRATCHES : 0;
	uint32_t rows = (uint32_t)(options->table_bytes / sizeof(struct stackd_row));
	const struct {
		struct bpf_map *map;
		uint32_t entries;
	} sizes[] = {
		{skel->maps.scratches, cpus * (1 + regions + options->waits) + options->waits},
		{skel->maps.wait_rings, cpus},
		{skel->maps.ring, ring_size(options->ring_bytes)},
		{skel->maps.rows, rows / 2 + 1},
		{skel->maps.chunks, CHUNK_ENTRIES / 2},
		{skel->maps.files, options->most_files},
		{skel->maps.inodes, options->most_files},
		{skel->maps.rule_cache, STACKD_RULE_SETS * cpus},
		{skel->maps.states, STATE_ENTRIES},
		{skel->maps.members, options->most_members},
		{skel->maps.places, options->n_counters ? STACKD_MOST_PLACES : 1},
		{skel->maps.known_tags, options->tags == STACKD_TAGS_AUTO ? SAMPLER_KNOWN_TAGS : 1},
	};
	int err = 0;

	skel->rodata->wakeup_bytes = ring_size(options->ring_bytes) / 4;
	skel->rodata->state_slots = STATE_ENTRIES;
	skel->rodata->region_scratches = cpus;
	skel->rodata->wait_scratches = cpus * (1 + regions);
	skel->rodata->wait_cpus = cpus;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && !err; i++)
		err = bpf_map__set_max_entries(sizes[i].map, sizes[i].entries);
	return err;
}
