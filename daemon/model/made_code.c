/* SPDX-License-Identifier: MIT */
/* Keeps what is known of processes' code, by the object that it is; see made_code.h. */
#include "daemon/model/made_code.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/int_map.h"
#include "base/vec.h"
#include "daemon/model/code_memory.h"
#include "proc/mapping_set.h"
#include "unwind/beam_code.h"

#define SHARED_BEHIND 4096     /* bytes from process_main on: more than there are */
#define LOOK_NS	      20000000 /* between two looks at a process */
#define MAPPINGS      64       /* of a process's code that are looked at, at most */

struct made_code {
	struct locator *locator;
	struct sampler_code maps; /* has_*: NULL without */
	VEC(struct stackd_beam) known;
	struct int_map beams;	  /* by number of object, the index of what is known of it */
	struct int_map looked_at; /* by pid: when, in LOOK_NS, if since the last tick */
	uint8_t bytes[BEAM_CODE_SEARCHED];
};

int made_code_new(struct locator *locator, struct made_code **ret_made)
{
	struct made_code *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->locator = locator;
	*ret_made = m;
	return 0;
}

void made_code_free(struct made_code *m)
{
	if (!m)
		return;
	free(m->known.items);
	int_map_fini(&m->beams);
	int_map_fini(&m->looked_at);
	free(m);
}

void made_code_use_maps(struct made_code *m, const struct sampler_code *maps)
{
	m->maps = *maps;
}

/* Enters a key into a map of the kernel half, which looks there from now on. */
static void tell(int fd, uint32_t *has, const void *key, const void *value)
{
	if (!bpf_map_update_elem(fd, key, value, BPF_ANY))
		*has = 1;
}

void made_code_leave(void *made, pid_t pid)
{
	const struct made_code *m = made;
	const uint32_t key = (uint32_t)pid, is_left = 1;

	if (m && m->maps.has_left)
		tell(m->maps.left_fd, m->maps.has_left, &key, &is_left);
}

void made_code_tick(struct made_code *m)
{
	int_map_clear(&m->looked_at);
}

bool made_code_is_beam(const struct made_code *m, const struct object *code)
{
	return int_map_find(&m->beams, code->number) != INT_MAP_NONE;
}

bool made_code_is_shared(const struct made_code *m, const struct object *code, uint64_t address)
{
	uint32_t index = int_map_find(&m->beams, code->number);
	const struct stackd_beam *beam;

	if (index == INT_MAP_NONE)
		return false;
	beam = &m->known.items[index];
	return address - beam->start < beam->shared;
}

/* Looks for the BEAM's code at the start of a mapping of a process. */
static bool is_in_mapping(struct made_code *m, pid_t pid, const struct mapping *mapping,
			  struct stackd_beam *ret_beam)
{
	uint64_t start;
	size_t len = code_memory_read(m->locator, pid, mapping->start, 0, sizeof(m->bytes),
				      m->bytes, &start);

	if (!beam_code_find(m->bytes, len, start, ret_beam))
		return false;
	ret_beam->start = mapping->start;
	ret_beam->size = mapping->end - mapping->start;
	ret_beam->shared = (uint32_t)(ret_beam->main + SHARED_BEHIND - mapping->start);
	return true;
}

/* Looks for it in all mappings of code that a process has made, if it is not known yet. *ret_code
 * is the object that these are. */
static bool find_beam(struct made_code *m, pid_t pid, const struct object **ret_code,
		      struct stackd_beam *ret_beam)
{
	const struct mapping_set *set = locator_mappings(m->locator, pid);
	uint32_t looked = 0;

	for (uint32_t i = 0; set && i < set->count && looked < MAPPINGS; i++) {
		if (set->maps[i].object->kind != OBJECT_JIT)
			continue;
		*ret_code = set->maps[i].object;
		if (made_code_is_beam(m, *ret_code))
			return false;
		if (is_in_mapping(m, pid, &set->maps[i], ret_beam))
			return true;
		looked++;
	}
	return false;
}

/* Looks at a process, again some moments after the last time: it may not have made its code yet.
 */
static int look_at(struct made_code *m, pid_t pid, uint64_t time_ns)
{
	const uint32_t key = (uint32_t)pid;
	uint32_t now = (uint32_t)(time_ns / LOOK_NS), last = int_map_find(&m->looked_at, key);
	const struct object *code;
	struct stackd_beam beam;
	int err;

	if (last != INT_MAP_NONE && now <= last)
		return 0;
	err = int_map_set(&m->looked_at, key, now);
	if (err || !find_beam(m, pid, &code, &beam))
		return err;
	tell(m->maps.beams_fd, m->maps.has_beams, &key, &beam);
	if (VEC_RESERVE(&m->known, 1))
		return -ENOMEM;
	m->known.items[m->known.count] = beam;
	return int_map_set(&m->beams, code->number, (uint32_t)m->known.count++);
}

int made_code_note(struct made_code *m, const struct stackd_stack_record *record)
{
	const struct stackd_mapping *unknown = &record->unknown;
	const uint32_t is_made = 1;
	const struct mapping *mapping;

	if (!m->maps.has_beams)
		return 0;
	if (unknown->key.inode) {
		mapping = locator_mapping(m->locator, (pid_t)record->pid, unknown->start);
		if (mapping && mapping->object->kind == OBJECT_JIT)
			tell(m->maps.files_fd, m->maps.has_files, &unknown->key, &is_made);
	}
	return look_at(m, (pid_t)record->pid, record->header.time_ns);
}
