/* SPDX-License-Identifier: MIT */
/* Sizes the kernel half's maps before they are made; see sampler_maps.h. */
#include "daemon/capture/sampler_maps.h"

#include <bpf/libbpf.h>
#include <unistd.h>

#include "daemon/capture/sideband.h"
#include "stackd.skel.h"

/* Sizes of the kernel half's arrays. All of them are allocated in full when the program is loaded.
 * With these and the default ring of 8 MiB the kernel half takes some 27 MiB, and 1 MiB for each
 * CPU, beside the rows. */
#define CHUNK_ENTRIES 262144u
#define STATE_ENTRIES 256u

#define BUDGET_BYTES	 (UINT64_C(64) << 20)
#define LEAST_ROWS_BYTES (UINT64_C(20) << 20)
#define OTHER_BYTES	 (UINT64_C(1) << 20) /* programs */
#define MORE_TASKS	 32768u		     /* whose CPU time is counted, beside 4,096 */
#define KNOWN_TAGS	 65536u
/* What the kernel takes beside key and value for an element of a hash table, and for a bucket */
#define ELEMENT_BYTES 48
#define BUCKET_BYTES  16

static uint32_t ring_size(uint64_t bytes)
{
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);

	while (size < bytes)
		size *= 2;
	return (uint32_t)size;
}

static uint64_t rounded(uint32_t size)
{
	return (size + UINT64_C(7)) / 8 * 8;
}

/* Returns about how much memory a map takes, once it is full. */
static uint64_t map_bytes(const struct bpf_map *map)
{
	uint64_t entries = bpf_map__max_entries(map), buckets = 1;
	uint64_t value = rounded(bpf_map__value_size(map)), key = rounded(bpf_map__key_size(map));

	if (!bpf_map__autocreate(map) || !entries)
		return 0;
	if (bpf_map__type(map) == BPF_MAP_TYPE_RINGBUF)
		return entries;
	if (bpf_map__type(map) == BPF_MAP_TYPE_ARRAY)
		return entries * value;
	while (buckets < entries)
		buckets *= 2;
	if (bpf_map__type(map) == BPF_MAP_TYPE_TASK_STORAGE)
		return 0;
	return entries * (ELEMENT_BYTES + key + value) + buckets * BUCKET_BYTES;
}

/* Returns the memory for rows: BUDGET_BYTES less all other maps and rings, at least 20 MiB. Room
 * for deep stacks (deep_stacks.h) is not counted: with --window there is none. */
static uint64_t usual_rows_bytes(const struct stackd_bpf *skel, uint64_t ring_bytes, uint32_t cpus)
{
	uint64_t taken = OTHER_BYTES + cpus * sideband_bytes(ring_bytes, cpus);
	const struct bpf_map *map;

	bpf_object__for_each_map(map, skel->obj)
	{
		if (map != skel->maps.rows && map != skel->maps.deep_blocks)
			taken += map_bytes(map);
	}
	return taken + LEAST_ROWS_BYTES < BUDGET_BYTES ? BUDGET_BYTES - taken : LEAST_ROWS_BYTES;
}

/* Returns whether the map of members (recorded processes) needs entries. For a cgroup alone, and if
 * all processes are recorded, it needs none; the map is made even so, because programs refer to it.
 */
static bool has_members(const struct sampler_options *o)
{
	return o->is_processes || o->waits || o->regions;
}

/* Returns the size of a map of managed frames: its own if they are walked. */
static uint32_t managed_entries(const struct sampler_options *options, const struct bpf_map *map)
{
	return options->managed ? bpf_map__max_entries(map) : 1;
}

/* Returns how many tags are known at a time. A recording of the whole machine keeps memory for its
 * tables. */
static uint32_t known_tags(const struct sampler_options *options)
{
	if (options->tags != STACKD_TAGS_AUTO)
		return 1;
	return options->is_everyone ? KNOWN_TAGS / 4 : KNOWN_TAGS;
}

int sampler_maps_size(struct stackd_bpf *skel, const struct sampler_options *options, uint32_t cpus)
{
	uint32_t regions = options->regions ? STACKD_REGION_SCRATCHES : 0;
	uint64_t rows_bytes = options->table_bytes;
	const struct {
		struct bpf_map *map;
		uint32_t entries;
	} sizes[] = {
		{skel->maps.scratches, cpus * (1 + regions + options->waits) + options->waits},
		{skel->maps.wait_rings, cpus},
		{skel->maps.ring, ring_size(options->ring_bytes)},
		{skel->maps.chunks, CHUNK_ENTRIES / 2},
		{skel->maps.files, options->most_files},
		{skel->maps.inodes, options->most_files},
		{skel->maps.rule_cache, STACKD_RULE_SETS * cpus},
		{skel->maps.states, STATE_ENTRIES},
		{skel->maps.members, has_members(options) ? options->most_members : 1},
		{skel->maps.more_task_times, MORE_TASKS},
		{skel->maps.places, options->n_counters ? STACKD_MOST_PLACES : 1},
		{skel->maps.event_fds, options->event_groups ? cpus * STACKD_MOST_COUNTERS : 1},
		{skel->maps.managed_codes, managed_entries(options, skel->maps.managed_codes)},
		{skel->maps.managed_threads, managed_entries(options, skel->maps.managed_threads)},
		{skel->maps.managed_homes, managed_entries(options, skel->maps.managed_homes)},
		{skel->maps.mpi_posted,
		 options->regions ? bpf_map__max_entries(skel->maps.mpi_posted) : 1},
		{skel->maps.known_tags, known_tags(options)},
		{skel->maps.deep_blocks,
		 options->most_deep ? bpf_map__max_entries(skel->maps.deep_blocks) : 1},
	};
	int err = 0;

	skel->rodata->wakeup_bytes = ring_size(options->ring_bytes) / 4;
	skel->rodata->state_slots = STATE_ENTRIES;
	skel->rodata->region_scratches = cpus;
	skel->rodata->wait_scratches = cpus * (1 + regions);
	skel->rodata->wait_cpus = cpus;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && !err; i++)
		err = bpf_map__set_max_entries(sizes[i].map, sizes[i].entries);
	if (err)
		return err;
	if (!rows_bytes)
		rows_bytes = usual_rows_bytes(skel, options->ring_bytes, cpus);
	return bpf_map__set_max_entries(skel->maps.rows,
					(uint32_t)(rows_bytes / sizeof(struct stackd_row) / 2) + 1);
}
