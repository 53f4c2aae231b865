/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From a code address to its location and its rule.
 *
 * Code addresses are few and repeat, so the answer is cached, by address space and address, in
 * one entry of one cache line: a frame costs one probe. On a miss the mapping is looked up, then
 * the file's table is searched. An entry has one of two places, or a compiler's addresses would
 * push out each other all the time. The cache is split by CPU: no entry is ever written by two.
 *
 * Leaves are many, since a sample can hit any instruction, and calls stand close together. So an
 * entry holds for as many bytes of its block of 64 as have the same rule.
 */
#ifndef RECIPE_BPF_H
#define RECIPE_BPF_H

#include "mapping.bpf.h"
#include "scratch.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by the daemon */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct stackd_file);
} files SEC(".maps");

SETTING __u32 rule_cache_slots = 16384; /* a CPU; a power of two */

struct row_pair { /* an array map rounds values up to eight bytes */
	struct stackd_row rows[2];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by the daemon */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct row_pair);
} rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct stackd_rule);
} rules SEC(".maps");

struct chunk_pair {
	__u32 first_rows[2];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by the daemon */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct chunk_pair);
} chunks SEC(".maps");

struct cached_rule {
	__u64 space;
	__u64 stamp : STAMP_BITS; /* of the mappings when the location was last right */
	__u64 span : 16;	  /* bytes from `address` on that it is true for */
	__u64 address;
	__u64 location; /* of that, without the exact bit */
	struct stackd_rule rule;
	__u32 code;    /* segment << 24 | offset in it; NO_SEGMENT: it has none */
	__u32 mapping; /* name of the one that it lies in */
};

_Static_assert(sizeof(struct cached_rule) == 64, "one cache line");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);		   /* rule_cache_slots times the CPUs: set by the daemon */
	__uint(map_flags, BPF_F_MMAPABLE); /* so that entries are cache lines */
	__type(key, __u32);
	__type(value, struct cached_rule);
} rule_cache SEC(".maps");

/* --- tables ----------------------------------------------------------------------------------- */

static __always_inline __u32 first_row(__u32 index)
{
	__u32 pair_index = index >> 1;
	struct chunk_pair *pair = bpf_map_lookup_elem(&chunks, &pair_index);

	return pair ? pair->first_rows[index & 1] : 0;
}

static __always_inline struct stackd_row row_at(__u32 index)
{
	struct stackd_row none = {0};
	__u32 pair_index = index >> 1;
	struct row_pair *pair = bpf_map_lookup_elem(&rows, &pair_index);

	return pair ? pair->rows[index & 1] : none;
}

#define NEAR_ROWS 16 /* in one cache line */

/* The last row in [low, high) that starts at or before `at`. Rows are spread about evenly, so the
 * search goes out from where the row would stand if they were quite: a row that has not been used
 * lately is a cache miss, and this way most of those that are looked at are neighbours. Global, so
 * that it is verified once. */
__noinline int search_rows(__u32 low, __u32 high, __u32 at)
{
	__u32 guess = low + (__u32)((__u64)(high - low) * (at & 0xffff) >> 16);
	bool is_after = row_at(guess).low <= at;

	if (is_after)
		low = guess;
	else
		high = guess;
	for (__u32 step = NEAR_ROWS; step < 0x10000 && step < high - low; step *= 2) {
		__u32 probe = is_after ? low + step : high - step;

		if (row_at(probe).low <= at) {
			low = probe;
			if (!is_after)
				break;
		} else {
			high = probe;
			if (is_after)
				break;
		}
	}
	for (int i = 0; i < 17 && low + 1 < high; i++) {
		__u32 middle = low + (high - low) / 2;

		if (row_at(middle).low <= at)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Where a rule holds: offsets in the file. */
struct rule_range {
	__u64 from, to;
};

/* The rule number for an offset of a file, or -1: its table has to be loaded first. The range may
 * be too small, but never too large. */
static __always_inline int find_rule(struct stackd_file *file, __u64 offset,
				     struct rule_range *ret_range)
{
	__u64 chunk_start = offset >> STACKD_CHUNK_SHIFT << STACKD_CHUNK_SHIFT;
	__u32 chunk = offset >> STACKD_CHUNK_SHIFT;
	__u32 low, high, row;

	ret_range->from = chunk_start;
	ret_range->to = chunk_start + (1 << STACKD_CHUNK_SHIFT);
	file->uses++;
	if (!file->n_chunks)
		return file->is_loaded ? STACKD_RULE_NONE : -1;
	chunk -= file->first_chunk;
	if (chunk >= file->n_chunks)
		return STACKD_RULE_NONE;
	low = first_row(file->chunk_base + chunk);
	high = first_row(file->chunk_base + chunk + 1);
	if (low >= high)
		return STACKD_RULE_NONE;
	row = search_rows(low, high, offset & 0xffff);
	ret_range->from = chunk_start + row_at(row).low;
	ret_range->to = chunk_start + (row + 1 < high ? row_at(row + 1).low : 0x10000);
	return row_at(row).rule;
}

#define NO_SEGMENT 0xff000000u

static __always_inline __u32 short_code(const struct stackd_file *file, __u64 offset)
{
	__u64 segment = offset >> STACKD_SEGMENT_SHIFT;

	if (segment >= file->n_segments)
		return NO_SEGMENT;
	return (__u32)(file->first_segment + segment) << 24 | (offset & STACKD_SEGMENT_MASK);
}

/* --- the cache -------------------------------------------------------------------------------- */

#define CACHED_BLOCK 64

/* Narrows an entry down to one block, whatever the rule's range is. */
static __always_inline void set_span(struct cached_rule *entry, __u64 address, __u64 offset,
				     const struct rule_range *range)
{
	__u64 before = address & (CACHED_BLOCK - 1), after = CACHED_BLOCK - before;

	if (range->from <= offset && offset - range->from < before)
		before = offset - range->from;
	if (range->to > offset && range->to - offset < after)
		after = range->to - offset;
	entry->address = address - before;
	entry->location -= before;
	if (entry->code < NO_SEGMENT)
		entry->code -= before;
	entry->span = before + after;
}

/* Fills the entry for an address whose mapping has been found; what was there moves to `second`. 0,
 * or an end reason. */
static __always_inline int fill_rule(struct scratch *s, struct cached_rule *entry,
				     struct cached_rule *second, __u64 address)
{
	__u64 offset = s->found_location & STACKD_LOCATION_MASK;
	__u32 code = NO_SEGMENT, number = STACKD_RULE_NONE, file_number = s->found_file;
	struct rule_range range = {.from = 0, .to = ~0ull};
	struct stackd_rule *rule;
	struct stackd_file *file;
	int found;

	if (file_number != STACKD_FILE_NONE) {
		file = bpf_map_lookup_elem(&files, &file_number);
		found = file ? find_rule(file, offset, &range) : -1;
		if (found < 0) {
			s->wanted_file = file_number;
			return STACKD_END_NO_OBJECT;
		}
		number = found;
		code = short_code(file, offset);
	}
	rule = bpf_map_lookup_elem(&rules, &number);
	if (!rule)
		return STACKD_END_NO_OBJECT;
	*second = *entry;
	entry->space = s->space;
	entry->stamp = s->stamp;
	entry->location = s->found_location;
	entry->rule = *rule;
	entry->code = code;
	entry->mapping = s->found_name;
	set_span(entry, address, offset, &range);
	return 0;
}

/* The first of the two places in the cache that a code address can have: the newer entry is there.
 * The other is next to it, since processors like to load two lines at once. */
static __always_inline __u32 slot_of(const struct scratch *s, __u64 address)
{
	return s->cpu * rule_cache_slots +
	       (mix(s->space ^ address / CACHED_BLOCK) & (rule_cache_slots - 2));
}

static __always_inline struct cached_rule *cached_at(__u32 slot)
{
	return bpf_map_lookup_elem(&rule_cache, &slot);
}

/* Is the entry that of a code address, now or before mappings changed? */
static __always_inline bool is_of(const struct cached_rule *entry, const struct scratch *s,
				  __u64 address)
{
	return entry->space == s->space && address - entry->address < entry->span;
}

/* The entry for the code address of the walk's frame. NULL with the reason in s->end. */
static __always_inline struct cached_rule *rule_of_frame(struct scratch *s)
{
	__u64 address = s->walk.pc - !s->walk.is_exact;
	__u32 slot = slot_of(s, address);
	struct cached_rule *entry = cached_at(slot), *first = entry, *second;
	bool is_known;

	s->end = STACKD_END_NO_OBJECT;
	if (!entry)
		return NULL;
	is_known = is_of(entry, s, address);
	if (!is_known) {
		second = cached_at(slot + 1);
		if (!second)
			return NULL;
		is_known = is_of(second, s, address);
		if (is_known)
			entry = second;
	}
	s->delta = address - entry->address;
	if (is_known && entry->stamp == s->stamp) {
		s->rule_hits++;
		return entry;
	}
	s->end = mapping_find(s, address);
	if (s->end)
		return NULL;
	if (is_known && entry->mapping == s->found_name &&
	    entry->location + s->delta == s->found_location) {
		entry->stamp = s->stamp;
		s->rule_hits++;
		return entry;
	}
	s->rule_misses++;
	second = cached_at(slot + 1);
	s->end = second ? fill_rule(s, first, second, address) : STACKD_END_NO_OBJECT;
	s->delta = address - first->address;
	return s->end ? NULL : first;
}

/* Notes the mapping that a new frame lies in. */
static __always_inline void touch_mapping(struct scratch *s, const struct cached_rule *entry)
{
	if (entry->mapping == s->touched_last || s->n_touched > TOUCHED_MAPPINGS)
		return;
	s->touched_last = entry->mapping;
	for (__u32 i = 0; i < TOUCHED_MAPPINGS && i < s->n_touched; i++) {
		if (s->touched[i].name == entry->mapping)
			return;
	}
	if (s->n_touched < TOUCHED_MAPPINGS) {
		s->touched[BOUNDED(s->n_touched, TOUCHED_MAPPINGS)].address = entry->address;
		s->touched[BOUNDED(s->n_touched, TOUCHED_MAPPINGS)].name = entry->mapping;
	}
	s->n_touched++;
}

#endif
