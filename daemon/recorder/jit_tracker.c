/* SPDX-License-Identifier: MIT */
/*
 * Each process has one object for its JIT code (OBJECT_JIT). This module keeps, for each such
 * object, the runtime whose code it is, with the facts about it; and, for each process, the ranges
 * that it has entered into the kernel half's map. See jit_tracker.h.
 */
#include "daemon/recorder/jit_tracker.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/int_map.h"
#include "base/vec.h"
#include "daemon/recorder/code_memory.h"
#include "daemon/recorder/code_pages.h"
#include "daemon/recorder/code_windows.h"
#include "proc/mapping_set.h"
#include "runtime/runtime.h"

#define LOOK_NS	 20000000 /* between two looks at a process */
#define MAPPINGS 64	  /* most mappings of a process's code that are looked at */

struct range {
	uint64_t start, end;
};

/* The ranges of JIT code that were entered into the kernel half's map for a process. */
struct told {
	pid_t pid;
	uint64_t version; /* version of the process's mappings when the ranges were entered; 0: they
			   * are to be entered again */
	uint32_t count;
	struct range ranges[STACKD_MADE_RANGES + 1];
};

#define TOLD 256

/* A runtime's code in a process, in which the kernel half walks by rules of its own. */
struct known {
	const struct runtime *runtime;
	union stackd_runtime_facts facts;
};

struct jit_tracker {
	struct locator *locator;
	struct code_pages *pages;
	struct code_windows *windows;
	struct sampler_code maps; /* its pointers are NULL if there are no maps */
	VEC(struct known) known;
	struct int_map stepped;	  /* key: number of the object; value: index in `known` */
	struct int_map looked_at; /* key: pid; value: time of the last look since the last tick, in
				   * units of LOOK_NS */
	struct told told[TOLD];	  /* by pid */
	uint8_t bytes[RUNTIME_SEARCHED];
};

int jit_tracker_new(struct locator *locator, const struct sampler_code *maps,
		    struct jit_tracker **ret_tracker)
{
	struct jit_tracker *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->locator = locator;
	if (maps)
		m->maps = *maps;
	if (code_pages_new(code_memory_read, locator, code_memory_read_page, &m->pages) ||
	    code_windows_new(&m->windows)) {
		jit_tracker_free(m);
		return -ENOMEM;
	}
	*ret_tracker = m;
	return 0;
}

void jit_tracker_free(struct jit_tracker *m)
{
	if (!m)
		return;
	code_pages_free(m->pages);
	code_windows_free(m->windows);
	free(m->known.items);
	int_map_fini(&m->stepped);
	int_map_fini(&m->looked_at);
	free(m);
}

/* Enters a key into a map of the kernel half, and sets *has, by which the kernel half knows that
 * the map has entries. */
static void tell(int fd, uint32_t *has, const void *key, const void *value)
{
	if (!bpf_map_update_elem(fd, key, value, BPF_ANY))
		*has = 1;
}

size_t jit_tracker_read(void *tracker, pid_t pid, uint64_t address, uint64_t before, uint64_t after,
			uint8_t *bytes, uint64_t *ret_start)
{
	const struct jit_tracker *m = tracker;

	return code_pages_read(m->pages, pid, address, before, after, bytes, ret_start);
}

uint64_t jit_tracker_start(void *tracker, pid_t pid, uint64_t address)
{
	const struct jit_tracker *m = tracker;

	return code_memory_start(m->locator, pid, address);
}

void jit_tracker_tick(struct jit_tracker *m)
{
	int_map_clear(&m->looked_at);
	for (size_t i = 0; i < TOLD; i++)
		m->told[i].version = 0;
}

bool jit_tracker_is_stepped(const struct jit_tracker *m, const struct object *code)
{
	return int_map_find(&m->stepped, code->number) != INT_MAP_NONE;
}

bool jit_tracker_is_shared(const struct jit_tracker *m, const struct object *code, uint64_t address)
{
	uint32_t index = int_map_find(&m->stepped, code->number);
	const struct known *known;

	if (index == INT_MAP_NONE)
		return false;
	known = &m->known.items[index];
	return known->runtime->processes->is_shared(&known->facts, address);
}

/* Looks for a runtime's code at the start of a mapping of a process. */
static bool is_in_mapping(struct jit_tracker *m, pid_t pid, const struct mapping *mapping,
			  struct known *ret_known)
{
	uint64_t start;
	size_t len = code_memory_read(m->locator, pid, mapping->start, 0, sizeof(m->bytes),
				      m->bytes, &start);

	if (!len)
		return false;
	ret_known->runtime =
		runtime_find_process(m->bytes, len, start, mapping->end, &ret_known->facts);
	return ret_known->runtime;
}

/* Looks for a runtime's code in the JIT mappings of a process, unless the process's runtime is
 * known. *ret_code is the object of these mappings. */
static bool find_runtime(struct jit_tracker *m, pid_t pid, const struct object **ret_code,
			 struct known *ret_known)
{
	const struct mapping_set *set = locator_mappings(m->locator, pid);
	uint32_t looked = 0;

	for (uint32_t i = 0; set && i < set->count && looked < MAPPINGS; i++) {
		if (set->maps[i].object->kind != OBJECT_JIT)
			continue;
		*ret_code = set->maps[i].object;
		if (jit_tracker_is_stepped(m, *ret_code))
			return false;
		if (is_in_mapping(m, pid, &set->maps[i], ret_known))
			return true;
		looked++;
	}
	return false;
}

/* --- ranges ---------------------------------------------------------------------------------- */

/* Joins those two consecutive ranges that have the smallest gap between them, so that there is one
 * range less. */
static void join_nearest(struct range *ranges, uint32_t count)
{
	uint32_t at = 1;

	for (uint32_t i = 2; i < count; i++) {
		if (ranges[i].start - ranges[i - 1].end < ranges[at].start - ranges[at - 1].end)
			at = i;
	}
	ranges[at - 1].end = ranges[at].end;
	memmove(&ranges[at], &ranges[at + 1], (count - at - 1) * sizeof(*ranges));
}

/* Adds a range, and joins it with ranges that it overlaps; if there are too many, joins the two
 * nearest ones. */
static void add_range(struct told *t, uint64_t start, uint64_t end)
{
	uint32_t at = t->count;

	for (uint32_t i = 0; i < t->count; i++) {
		if (start >= t->ranges[i].start && end <= t->ranges[i].end)
			return;
	}
	for (; at && t->ranges[at - 1].start > start; at--)
		t->ranges[at] = t->ranges[at - 1];
	t->ranges[at] = (struct range){start, end};
	t->count++;
	for (uint32_t i = 1; i < t->count;) {
		if (t->ranges[i].start > t->ranges[i - 1].end) {
			i++;
			continue;
		}
		if (t->ranges[i].end > t->ranges[i - 1].end)
			t->ranges[i - 1].end = t->ranges[i].end;
		memmove(&t->ranges[i], &t->ranges[i + 1],
			(t->count - i - 1) * sizeof(t->ranges[0]));
		t->count--;
	}
	if (t->count > STACKD_MADE_RANGES)
		join_nearest(t->ranges, t->count--);
}

static struct told *told_of(struct jit_tracker *m, pid_t pid)
{
	struct told *t = &m->told[(uint32_t)pid % TOLD];

	if (t->pid != pid)
		*t = (struct told){.pid = pid};
	return t;
}

static void tell_of(const struct jit_tracker *m, const struct told *t)
{
	const uint32_t key = (uint32_t)t->pid;
	struct stackd_jit_ranges ranges = {0};

	for (uint32_t i = 0; i < t->count; i++) {
		ranges.start[i] = t->ranges[i].start;
		ranges.size[i] = t->ranges[i].end - t->ranges[i].start;
	}
	if (t->count && m->maps.has_ranges)
		tell(m->maps.ranges_fd, m->maps.has_ranges, &key, &ranges);
}

/* Enters where a process has JIT code into the kernel half's map, if its mappings have changed. */
static void tell_ranges(struct jit_tracker *m, pid_t pid)
{
	const struct mapping_set *set = locator_mappings(m->locator, pid);
	struct told *t = told_of(m, pid);

	if (!set || t->version == set->version)
		return;
	t->version = set->version;
	for (uint32_t i = 0; i < set->count; i++) {
		if (set->maps[i].object->kind == OBJECT_JIT)
			add_range(t, set->maps[i].start, set->maps[i].end);
	}
	tell_of(m, t);
}

/* Also enters the mapping that the kernel half has just found into its map of ranges, because the
 * daemon's table of mappings learns of it later. */
void jit_tracker_keep(struct jit_tracker *m, const struct stackd_code_record *record)
{
	struct told *t = told_of(m, (pid_t)record->pid);
	struct told before = *t;

	code_pages_keep(m->pages, record);
	if (!record->size)
		return;
	add_range(t, record->start, record->start + record->size);
	if (before.count != t->count ||
	    memcmp(before.ranges, t->ranges, sizeof(before.ranges)) != 0)
		tell_of(m, t);
}

void jit_tracker_keep_bytes(struct jit_tracker *m, const struct stackd_code_bytes *record)
{
	code_windows_keep(m->windows, record);
}

bool jit_tracker_window(void *tracker, pid_t pid, const struct stackd_code_mark *mark,
			uint8_t *ret_bytes)
{
	const struct jit_tracker *m = tracker;

	return code_windows_find(m->windows, pid, mark, ret_bytes);
}

/* --- runtimes -------------------------------------------------------------------------------- */

/* Enters the facts by which the kernel half walks in a runtime's code in a process into its map. 0;
 * or -errno, since the map is full. */
static int tell_facts(struct jit_tracker *m, pid_t pid, const struct known *known)
{
	const struct stackd_runtime_key key = {(uint32_t)pid, known->runtime->number};

	int err = bpf_map_update_elem(m->maps.facts_fd, &key, &known->facts, BPF_ANY);

	if (!err)
		*m->maps.runtimes_told |= 1u << known->runtime->number;
	return err;
}

/* Looks for a runtime's code in a process, at most once in LOOK_NS; again and again, because the
 * process may not have made its code yet. 0 or -ENOMEM. */
static int look_at(struct jit_tracker *m, pid_t pid, uint64_t time_ns)
{
	const uint32_t key = (uint32_t)pid;
	uint32_t now = (uint32_t)(time_ns / LOOK_NS), last = int_map_find(&m->looked_at, key);
	const struct object *code;
	struct known known;
	int err;

	if (last != INT_MAP_NONE && now <= last)
		return 0;
	err = int_map_set(&m->looked_at, key, now);
	if (err || !find_runtime(m, pid, &code, &known))
		return err;
	/* The map is full, so the kernel half leaves this code to the daemon, and a later call
	 * tries again. */
	if (tell_facts(m, pid, &known))
		return 0;
	if (VEC_RESERVE(&m->known, 1))
		return -ENOMEM;
	m->known.items[m->known.count] = known;
	return int_map_set(&m->stepped, code->number, (uint32_t)m->known.count++);
}

/* Returns whether a mapping is the one that the kernel half has found, rather than a later one at
 * the same address. */
static bool is_of_record(const struct mapping *m, const struct stackd_mapping *unknown)
{
	return unknown->start - m->start + m->offset == unknown->offset;
}

/* If the file that the kernel half does not know (record->unknown) never gets a table, because it
 * holds JIT code or is no ELF file, enters it into the kernel half's map of such files. */
static void tell_file(struct jit_tracker *m, const struct stackd_stack_record *record)
{
	const struct stackd_mapping *unknown = &record->unknown;
	const struct mapping *mapping =
		locator_mapping(m->locator, (pid_t)record->pid, unknown->start);
	uint32_t what = 0;

	if (mapping && mapping->object->kind == OBJECT_JIT)
		what = STACKD_MADE_JIT;
	else if (mapping && mapping->object->error == -ENOEXEC && is_of_record(mapping, unknown))
		what = STACKD_MADE_OTHER;
	if (what)
		tell(m->maps.files_fd, m->maps.has_files, &unknown->key, &what);
}

int jit_tracker_note(struct jit_tracker *m, const struct stackd_stack_record *record)
{
	if (!m->maps.runtimes_told)
		return 0;
	tell_ranges(m, (pid_t)record->pid);
	if (record->unknown.key.inode)
		tell_file(m, record);
	return look_at(m, (pid_t)record->pid, record->header.time_ns);
}
