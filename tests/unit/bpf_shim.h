/* SPDX-License-Identifier: MIT */
/*
 * The kernel half in user space, under the sanitizers: stands in for everything that bpf/ needs of
 * the kernel. Include this first, then bpf/stackd.bpf.c, unmodified.
 *
 *   maps               arrays on the heap, by the address of the map's declaration
 *   bpf_loop()         a loop
 *   BOUNDED()          must find that the index is within bounds, which the kernel half has checked
 *   settings           variables that a test may set
 *   kernel structures  those of kernel_types.h, filled in by the test
 *   user memory        struct shim_region, page by page; pages that were never written fault
 *   ring buffer        the function that the test sets
 */
#ifndef BPF_SHIM_H
#define BPF_SHIM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/bpf.h>

/* Keeps libbpf's headers from being included. */
#define __BPF_HELPERS__
#define __BPF_CORE_READ_H__

#ifdef __clang__
#pragma clang diagnostic ignored "-Wunknown-attributes"
#else
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#endif
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define SEC(name)
#define SETTING		       static volatile
#define __uint(name, number)   int(*name)[number]
#define __type(name, its_type) __typeof__(its_type) *name
/* The verifier wants it inlined. Here each function is compiled and checked once, which takes gcc a
 * third of the time. */
#undef __always_inline
#define __always_inline inline
#undef __noinline
#define __noinline __attribute__((noinline))

static inline __u64 shim_bounded(__u64 index, __u64 limit)
{
	if (index >= limit) {
		fprintf(stderr, "index %llu is not below %llu\n", index, limit);
		abort();
	}
	return index;
}

#define BOUNDED(index, limit) shim_bounded(index, limit)
#define RECENT(frame)	      ((frame) % MAX_FRAMES)

static inline void shim_put_word(__u8 *to, __u32 word)
{
	memcpy(to, &word, sizeof(word));
}

#define PUT_WORD(to, word) shim_put_word(to, word)

/* --- maps ---------------------------------------------------------------------------------- */

#define SHIM_MAPS 24

static struct shim_map {
	const void *map;
	uint32_t entries;
	size_t key_size, value_size;
	uint8_t *values; /* owned */
	uint8_t *keys;	 /* owned; NULL: an array */
} shim_maps[SHIM_MAPS];

static inline struct shim_map *shim_map(const void *map)
{
	int i = 0;

	while (shim_maps[i].map && shim_maps[i].map != map)
		if (++i == SHIM_MAPS)
			abort();
	shim_maps[i].map = map;
	return &shim_maps[i];
}

static inline void shim_make_map(const void *map, uint32_t entries, size_t key_size,
				 size_t value_size)
{
	struct shim_map *m = shim_map(map);

	free(m->values);
	free(m->keys);
	m->entries = entries;
	m->key_size = key_size;
	m->value_size = value_size;
	m->values = aligned_alloc(64, (entries * value_size + 63) & ~(size_t)63);
	m->keys = key_size ? calloc(entries, key_size) : NULL;
	if (!m->values || (key_size && !m->keys))
		abort();
	memset(m->values, 0, entries * value_size);
}

#define shim_make_array(map, entries)                                                              \
	((__typeof__((map)->value))(shim_make_map(map, entries, 0, sizeof(*(map)->value)),         \
				    shim_map(map)->values))

#define shim_make_hash(map, entries)                                                               \
	shim_make_map(map, entries, sizeof(*(map)->key), sizeof(*(map)->value))

/* Fills one entry of a hash. */
static inline void shim_put(const void *map, uint32_t entry, const void *key, const void *value)
{
	struct shim_map *m = shim_map(map);

	if (entry >= m->entries)
		abort();
	memcpy(m->keys + entry * m->key_size, key, m->key_size);
	memcpy(m->values + entry * m->value_size, value, m->value_size);
}

static inline void shim_free_maps(void)
{
	for (int i = 0; i < SHIM_MAPS; i++) {
		free(shim_maps[i].values);
		free(shim_maps[i].keys);
		shim_maps[i] = (struct shim_map){0};
	}
}

static inline void *shim_lookup(const void *map, const void *key)
{
	struct shim_map *m = shim_map(map);
	uint32_t index = 0;

	if (!m->keys)
		memcpy(&index, key, sizeof(index));
	while (m->keys && index < m->entries &&
	       memcmp(m->keys + index * m->key_size, key, m->key_size) != 0)
		index++;
	return index < m->entries ? m->values + index * m->value_size : NULL;
}

#define bpf_map_lookup_elem(map, key) ((__typeof__((map)->value))shim_lookup(map, key))

/* --- memory -------------------------------------------------------------------------------- */

#define SHIM_PAGE    4096
#define SHIM_REGIONS 16

struct shim_region {
	uint64_t start, size;
	uint8_t *bytes;	  /* owned */
	bool *is_written; /* owned; by page */
};

static struct shim_region shim_regions[SHIM_REGIONS];

static inline void shim_add_region(uint64_t start, uint64_t size)
{
	for (int i = 0; i < SHIM_REGIONS; i++) {
		struct shim_region *r = &shim_regions[i];

		if (r->size)
			continue;
		*r = (struct shim_region){start, size, calloc(1, size),
					  calloc(size / SHIM_PAGE, 1)};
		if (!r->bytes || !r->is_written)
			abort();
		return;
	}
	abort();
}

static inline void shim_free_regions(void)
{
	for (int i = 0; i < SHIM_REGIONS; i++) {
		free(shim_regions[i].bytes);
		free(shim_regions[i].is_written);
		shim_regions[i] = (struct shim_region){0};
	}
}

static inline struct shim_region *shim_region_of(uint64_t address)
{
	for (int i = 0; i < SHIM_REGIONS; i++) {
		if (address - shim_regions[i].start < shim_regions[i].size)
			return &shim_regions[i];
	}
	return NULL;
}

static inline void shim_write(uint64_t address, const void *from, size_t len)
{
	struct shim_region *r = shim_region_of(address);
	uint64_t at = r ? address - r->start : 0;

	if (!r || len > r->size - at)
		abort();
	memcpy(r->bytes + at, from, len);
	for (uint64_t page = at / SHIM_PAGE; page <= (at + len - 1) / SHIM_PAGE; page++)
		r->is_written[page] = true;
}

static inline void shim_write_word(uint64_t address, uint64_t word)
{
	shim_write(address, &word, sizeof(word));
}

/* Copies all or, like the kernel's, zeroes the target and fails. */
static inline long bpf_probe_read_user(void *to, __u32 len, const void *from)
{
	uint64_t address = (uint64_t)(uintptr_t)from, at;
	struct shim_region *r = shim_region_of(address);

	memset(to, 0, len);
	if (!r || address - r->start > r->size - len || len > r->size)
		return -14;
	at = address - r->start;
	for (uint64_t page = at / SHIM_PAGE; len && page <= (at + len - 1) / SHIM_PAGE; page++) {
		if (!r->is_written[page])
			return -14;
	}
	memcpy(to, r->bytes + at, len);
	return 0;
}

/* Copies a string with its NUL, or as much of it as there is room for. */
static inline long bpf_probe_read_user_str(void *to, __u32 len, const void *from)
{
	char *text = to;

	for (__u32 i = 0; i < len; i++) {
		if (bpf_probe_read_user(text + i, 1, (const char *)from + i))
			return -14;
		if (!text[i])
			return (long)i + 1;
	}
	if (len)
		text[len - 1] = 0;
	return (long)len;
}

static inline long bpf_probe_read_kernel(void *to, __u32 len, const void *from)
{
	if (!from) /* NULL means "none" here; the helper refuses it as well */
		return -14;
	memcpy(to, from, len);
	return 0;
}

/* --- kernel structures --------------------------------------------------------------------- */

#define SHIM_PICK(a, b, c, name, ...)	       name
#define BPF_CORE_READ(...)		       SHIM_PICK(__VA_ARGS__, SHIM_READ_2, SHIM_READ_1, )(__VA_ARGS__)
#define SHIM_READ_1(from, a)		       ((from)->a)
#define SHIM_READ_2(from, a, b)		       ((from)->a->b)
#define bpf_core_read(to, len, from)	       bpf_probe_read_kernel(to, len, from)
#define BPF_CORE_READ_BITFIELD(from, a)	       ((from)->a)
#define BPF_CORE_READ_BITFIELD_PROBED(from, a) ((from)->a)

/* Does this kernel count changes of mappings? Its counter is the first field of its mm_struct,
 * as kernel_types.h has it: the root of the tree, which moves with each change. */
static bool shim_counts_changes = true;
static bool shim_has_queued = true; /* does it tell when a task was queued? */

static inline bool shim_has_field(const char *field)
{
	if (strstr(field, "mm_lock_seq"))
		return shim_counts_changes && strstr(field, "sequence");
	if (strstr(field, "last_queued"))
		return shim_has_queued;
	return true;
}

#define bpf_core_field_exists(field)	   shim_has_field(#field)
#define bpf_core_field_offset(type, field) __builtin_offsetof(type, field)

/* --- helpers ------------------------------------------------------------------------------- */

struct task_struct;
struct bpf_perf_event_data;
struct perf_event;

static struct task_struct *shim_task;
static struct perf_event *shim_event; /* whose sample it is, if that is a clock's */
static uint64_t shim_pid_tgid, shim_time_ns;
static long (*shim_branches)(void *to, size_t size);	   /* NULL: there are none */
static long (*shim_ring)(const void *record, size_t size); /* not 0: it is full */

#define bpf_loop(turns, function, argument, flags)                                                 \
	({                                                                                         \
		__u32 turn_ = 0;                                                                   \
		while (turn_ < (__u32)(turns) && !function(turn_, argument))                       \
			turn_++;                                                                   \
		(void)(flags);                                                                     \
		(long)turn_;                                                                       \
	})
#define bpf_get_current_task_btf()     shim_task
#define bpf_get_current_pid_tgid()     shim_pid_tgid
#define bpf_get_smp_processor_id()     0u
#define bpf_get_prandom_u32()	       4u /* no test draws */
#define bpf_ktime_get_ns()	       shim_time_ns
#define bpf_get_current_cgroup_id()    UINT64_C(1)
#define EVENT_OF(context)	       ((void)(context), shim_event)
#define bpf_get_attach_cookie(context) ((void)(context), 0ull)
/* Nothing of regions (bpf/region.bpf.h) runs here. */
/* No event is there. */
#define bpf_perf_event_read(map, index) ((void)(map), (void)(index), (__u64)-2)
#define bpf_perf_event_read_value(map, index, value, bytes)                                        \
	((void)(map), (void)(index), (void)(value), (void)(bytes), -2)
#define bpf_task_storage_get(map, task, value, flags) ((void)(map), (void)(task), NULL)
#define bpf_current_task_under_cgroup(map, index)     ((void)(map), 0l)
/* Keeps what is put into a hash that the test has made; the first free entry has a key of zeros. */
static inline long shim_map_update(const void *map, const void *key, const void *value)
{
	struct shim_map *m = shim_map(map);
	static const uint8_t nothing[64];

	for (uint32_t i = 0; m->keys && i < m->entries; i++) {
		const uint8_t *at = m->keys + i * m->key_size;

		if (memcmp(at, key, m->key_size) == 0 || memcmp(at, nothing, m->key_size) == 0) {
			shim_put(map, i, key, value);
			return 0;
		}
	}
	return 0;
}

/* Takes an entry out of a hash that the test has made: its key becomes one that no test uses. */
static inline long shim_map_delete(const void *map, const void *key)
{
	struct shim_map *m = shim_map(map);

	for (uint32_t i = 0; m->keys && i < m->entries; i++) {
		if (memcmp(m->keys + i * m->key_size, key, m->key_size) == 0) {
			memset(m->keys + i * m->key_size, 0xff, m->key_size);
			return 0;
		}
	}
	return -2;
}

#define bpf_map_update_elem(map, key, value, flags) shim_map_update(map, key, value)
#define bpf_for_each_map_elem(map, function, argument, flags)                                      \
	((void)(map), (void)(function), (void)(argument))
#define bpf_map_delete_elem(map, key)		shim_map_delete(map, key)
#define bpf_task_pt_regs(task)			((void)(task), 0l)
#define bpf_get_stack(context, to, size, flags) ((void)(context), (void)(to), 0l)
#define bpf_read_branch_records(context, to, size, flags)                                          \
	((void)(context), (void)(flags), shim_branches ? shim_branches(to, size) : -2l)
/* The ring is empty, and as large as the smallest of a real one. */
#define bpf_ringbuf_query(ring, what) ((void)(ring), (what) == BPF_RB_RING_SIZE ? 8ull << 20 : 0ull)
#define bpf_ringbuf_output(ring, data, size, flags)                                                \
	((void)(ring), (void)(flags), shim_ring(data, size))

#endif
