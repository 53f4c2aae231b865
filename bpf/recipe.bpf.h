/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the location and the rule of a code address.
 *
 * The mapping gives the location (mapping.bpf.h): the file's number and the offset in it. The
 * location gives the rule, for all processes that map the file, so for a new process of a known
 * program the cache already has the rules. Locations are few and repeat, so a frame costs one
 * look-up in the cache, of two entries next to each other. On a miss the file's table is searched.
 * An entry covers those bytes of a block of 64 that have the same rule, since a sample can hit any
 * instruction, and calls are close together. Entries never become wrong: a file that
 * has changed gets a new number, and before the number of a file or a rule is given to another one,
 * the daemon empties the cache (daemon/tables/take_back.h).
 *
 * Each CPU has its own part of the cache, so no two CPUs write to one entry.
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

/*
 * The cache of rules. An entry is one word, so that a cache line has many, and they take few pages:
 *
 *   36 bits of the block's hash | first byte 6 | bytes - 1 6 | number of the rule 16
 *
 * The hash has 49 bits, as many as the block's number, and differs for any two blocks; its highest
 * bits are the number of the set. An entry of 0 is empty.
 */
#define CACHED_BLOCK 64

struct rule_set {
	__u64 ways[2]; /* the newer entry is the first */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, STACKD_RULE_SETS); /* for each CPU; the daemon sets the number for
						* all */
	__uint(map_flags, BPF_F_MMAPABLE);     /* for this flag the kernel aligns the map to a
						* cache line */
	__type(key, __u32);
	__type(value, struct rule_set);
} rule_cache SEC(".maps");

/* --- tables ----------------------------------------------------------------------------------- */

static __always_inline __u32 first_row(__u32 index)
{
	__u32 pair_index = index >> 1;
	struct chunk_pair *pair = CHECKED(bpf_map_lookup_elem(&chunks, &pair_index));

	return pair ? pair->first_rows[index & 1] : 0;
}

static __always_inline struct stackd_row row_at(__u32 index)
{
	struct stackd_row none = {0};
	__u32 pair_index = index >> 1;
	struct row_pair *pair = CHECKED(bpf_map_lookup_elem(&rows, &pair_index));

	return pair ? pair->rows[index & 1] : none;
}

#define NEAR_ROWS 16 /* number of rows in a cache line */

/* Returns the index of the last row in [low, high) that starts at or before `at`. The search begins
 * where the row would be if rows were spread evenly, and most rows that it reads are close to each
 * other, since each row that was not used lately is a cache miss. A global function, so that the
 * BPF verifier checks it once. */
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

/* The range of file offsets in which a rule applies. */
struct rule_range {
	__u64 from, to;
};

/* Returns the number of the rule for an offset in a file; -1: the file's table has to be loaded
 * first. *ret_range may be smaller than the range in which the rule applies, but not larger. */
static __always_inline int find_rule(struct stackd_file *file, __u64 offset,
				     struct rule_range *ret_range)
{
	__u64 chunk_start = offset >> STACKD_CHUNK_SHIFT << STACKD_CHUNK_SHIFT;
	__u32 chunk = offset >> STACKD_CHUNK_SHIFT;
	/* read once, since it may change meanwhile */
	__u32 n_chunks = *(volatile __u32 *)&file->n_chunks;
	__u32 low, high, row;

	ret_range->from = chunk_start;
	ret_range->to = chunk_start + (1 << STACKD_CHUNK_SHIFT);
	file->uses++;
	if (!n_chunks)
		return file->is_loaded ? STACKD_RULE_NONE : -1;
	chunk -= file->first_chunk;
	if (chunk >= n_chunks)
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

/* --- the cache -------------------------------------------------------------------------------- */

/* Returns the hash of the block that contains a location. */
static __always_inline __u64 block_hash(__u64 location)
{
	__u64 block = (location >> 48) << 33 | (location & STACKD_LOCATION_MASK) / CACHED_BLOCK;

	return block * 0x9e3779b97f4a7c15ull;
}

static __always_inline struct rule_set *rule_set_of(const struct scratch *s, __u64 hash)
{
	__u32 set = s->cpu * STACKD_RULE_SETS + (hash >> 35 & (STACKD_RULE_SETS - 1));

	return CHECKED(bpf_map_lookup_elem(&rule_cache, &set));
}

/* Returns the number of an entry's rule, or -1: the entry is for another location. */
static __always_inline int number_in(__u64 entry, __u64 hash, __u64 location)
{
	__u64 rest = entry ^ hash << 28, byte = location & (CACHED_BLOCK - 1);

	if (rest >> 28 || !entry || byte - (rest >> 22) > (rest >> 16 & (CACHED_BLOCK - 1)))
		return -1;
	return rest & 0xffff;
}

/* Returns the cached rule of a location, or NULL. */
static __always_inline const struct stackd_rule *cached_rule(const struct rule_set *set, __u64 hash,
							     __u64 location)
{
	int found = number_in(set->ways[0], hash, location);
	__u32 number;

	if (found < 0)
		found = number_in(set->ways[1], hash, location);
	number = found;
	return found < 0 ? NULL : CHECKED(bpf_map_lookup_elem(&rules, &number));
}

/* Returns the cache entry of a rule that applies in a range around an offset. The entry covers the
 * part of the range that is in the offset's block. */
static __always_inline __u64 entry_of(__u64 hash, __u64 offset, const struct rule_range *range,
				      __u32 number)
{
	__u64 block = offset & ~(__u64)(CACHED_BLOCK - 1);
	__u64 from = range->from > block ? range->from - block : 0;
	__u64 to = range->to < block + CACHED_BLOCK ? range->to - block : CACHED_BLOCK;

	return hash << 28 | (from & (CACHED_BLOCK - 1)) << 22 |
	       ((to - from - 1) & (CACHED_BLOCK - 1)) << 16 | number;
}

/* Looks up the rule of s->location in the file's table, and caches it. Returns the rule, or NULL,
 * with the reason in s->end. */
static __always_inline const struct stackd_rule *find_and_cache(struct scratch *s,
								struct rule_set *set, __u64 hash)
{
	__u64 offset = s->location & STACKD_LOCATION_MASK;
	__u32 number, file_number = s->location >> 48;
	struct stackd_file *file = CHECKED(bpf_map_lookup_elem(&files, &file_number));
	struct rule_range range;
	/* It is read before the table, since it is cleared after the complete table has replaced
	 * the partial one. */
	bool is_partial = file && *(volatile __u16 *)&file->is_partial;
	int found = file ? find_rule(file, offset, &range) : -1;

	if (found < 0 || (found == STACKD_RULE_NONE && is_partial)) {
		s->wanted_file = file_number;
		return NULL;
	}
	number = found;
	set->ways[1] = set->ways[0];
	set->ways[0] = entry_of(hash, offset, &range, number);
	return CHECKED(bpf_map_lookup_elem(&rules, &number));
}

/* Returns the rule for the walk's frame, and sets s->location to the frame's location. Returns NULL
 * if there is none, with the reason in s->end. */
static __always_inline const struct stackd_rule *rule_of_frame(struct scratch *s)
{
	__u64 address = s->walk.pc - !s->walk.is_exact, hash;
	const struct stackd_rule *rule;
	__u32 none = STACKD_RULE_NONE;
	struct rule_set *set;

	s->end = mapping_of(s, address);
	if (s->end)
		return NULL;
	s->end = STACKD_END_NO_OBJECT;
	s->location = seen_location(seen_at(s), address);
	if (s->location >> 48 == STACKD_FILE_NONE)
		return CHECKED(bpf_map_lookup_elem(&rules, &none));
	hash = block_hash(s->location);
	set = rule_set_of(s, hash);
	if (!set)
		return NULL;
	rule = cached_rule(set, hash, s->location);
	if (rule) {
		s->rule_hits++;
		return rule;
	}
	s->rule_misses++;
	return find_and_cache(s, set, hash);
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Looks up the slices (numbered parts of files, by which frames are encoded: stackd_abi.h) of the
 * mapping's file, which it has once its table is loaded. A global function, so that the BPF
 * verifier checks it once. */
__noinline int ask_slices(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct seen_mapping *m;
	struct stackd_file *file;
	__u32 number;

	if (!s)
		return 0;
	m = seen_at(s);
	number = m->location >> 48;
	file = CHECKED(bpf_map_lookup_elem(&files, &number));
	if (file) {
		m->n_slices = file->n_slices;
		m->first_slice = file->first_slice;
	}
	return 0;
}

/* Adds the frame to the record in short form, or in near form if it is in the same slice as the
 * frame before. Returns false if neither form is possible. */
static __always_inline bool put_short(struct scratch *s, __u64 location)
{
	__u64 slice = location >> STACKD_SLICE_SHIFT, offset = location & STACKD_SLICE_MASK;
	__u32 at = s->bytes;
	__u8 *to = &s->walked.bytes[BOUNDED(at, 2 * MAX_FRAMES * 8)];
	const struct seen_mapping *m = seen_at(s);
	__u64 number;

	if (slice == s->slice) {
		PUT_WORD(to, offset);
		s->bytes = at + 3;
		return true;
	}
	if (!m->n_slices)
		ask_slices(s);
	number = slice & (STACKD_LOCATION_MASK >> STACKD_SLICE_SHIFT);
	if (number >= m->n_slices)
		return false;
	PUT_WORD(to, (m->first_slice + number) << 24 | STACKD_FRAME_SHORT | offset);
	s->bytes = at + 4;
	s->slice = slice;
	return true;
}

/* Notes a mapping that contains a frame, if it is not the last that was noted. A global function,
 * so that the BPF verifier checks it once. */
__noinline int touch_other(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	const struct seen_mapping *m;

	if (!s || s->n_touched > TOUCHED_MAPPINGS)
		return 0;
	m = seen_at(s);
	s->touched_last = m->name;
	for (__u32 i = 0; i < TOUCHED_MAPPINGS && i < s->n_touched; i++) {
		FORGET(i);
		if (s->touched[i].name == m->name)
			return 0;
	}
	if (s->n_touched < TOUCHED_MAPPINGS) {
		s->touched[BOUNDED(s->n_touched, TOUCHED_MAPPINGS)].address = m->start;
		s->touched[BOUNDED(s->n_touched, TOUCHED_MAPPINGS)].name = m->name;
	}
	s->n_touched++;
	return 0;
}

/* Notes the mapping that contains a new frame. */
static __always_inline void touch_mapping(struct scratch *s)
{
	if (seen_at(s)->name != s->touched_last)
		touch_other(s);
}

#endif
