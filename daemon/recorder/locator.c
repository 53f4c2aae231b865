/* SPDX-License-Identifier: MIT */
/*
 * Turns addresses into locations; see locator.h. The kernel's symbols are read when the first
 * kernel address comes, to find out which part of the kernel (itself, or a module) holds it; names
 * are found later.
 */
#include "daemon/recorder/locator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "daemon/recorder/mapping_shares.h"

struct locator {
	struct locator_options with;

	struct kallsyms *ksyms; /* NULL: not loaded, or not readable */
	bool ksyms_tried;
	uint64_t wakeup_start, wakeup_end;  /* addresses of the kernel's try_to_wake_up(); 0: not
					     * looked up */
	const struct object **kernel_parts; /* by part; NULL: not entered yet */
	const struct object *unknown;	    /* "[unknown]"; NULL: not entered yet */
};

int locator_new(const struct locator_options *options, struct locator **ret_locator)
{
	struct locator *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->with = *options;
	if (!p->with.memory.proc)
		p->with.memory.proc = "/proc";
	*ret_locator = p;
	return 0;
}

void locator_free(struct locator *p)
{
	if (!p)
		return;
	kallsyms_free(p->ksyms);
	free(p->kernel_parts);
	free(p);
}

const struct memory_source *locator_memory(const struct locator *p)
{
	return &p->with.memory;
}

void locator_set_budget(struct locator *p, double budget)
{
	p->with.budget = budget;
}

int locator_prove(const struct locator *p, pid_t pid, uint64_t time_ns,
		  const struct object **object)
{
	return written_files_proven(p->with.written, pid, time_ns, object);
}

/* --- of a process ---------------------------------------------------------------------------- */

const struct mapping *locator_mapping(const struct locator *p, pid_t pid, uint64_t address)
{
	return process_table_mapping(p->with.processes, pid, address);
}

bool locator_find(const struct locator *p, pid_t pid, uint64_t address,
		  const struct object **ret_object, uint64_t *ret_offset)
{
	const struct mapping *m = locator_mapping(p, pid, address);

	if (!m)
		return false;
	*ret_object = m->object;
	*ret_offset = address - m->start + m->offset;
	return true;
}

int locator_set_mapping(struct locator *p, pid_t pid, const struct mapping *m)
{
	return process_table_set_mapping(p->with.processes, pid, m);
}

int locator_reload(struct locator *p, pid_t pid)
{
	struct mapping_shares *shares = p->with.shares;
	const double budget = p->with.budget;
	const uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uid_t user;
	int err;

	if (shares &&
	    !mapping_shares_may_read(shares, pid, budget, clock_ns(CLOCK_MONOTONIC), &user))
		return -EAGAIN;
	err = process_table_reload(p->with.processes, pid);
	if (shares)
		mapping_shares_have_read(shares, user, clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns,
					 budget, clock_ns(CLOCK_MONOTONIC));
	return err;
}

int locator_resolve(struct locator *p, pid_t pid, const struct object_mapping *m,
		    const struct object **ret_object)
{
	return object_table_resolve(p->with.objects, pid, m, ret_object);
}

int locator_made(struct locator *p, pid_t pid, const struct object **ret_object)
{
	const struct object_mapping m = {.path = "//anon"};

	return object_table_resolve(p->with.objects, pid, &m, ret_object);
}

const struct mapping_set *locator_mappings(void *arg, pid_t pid)
{
	const struct locator *p = arg;

	return process_table_mappings(p->with.processes, pid);
}

bool locator_find_code(void *arg, uint64_t address, const struct object **ret_object,
		       uint64_t *ret_offset)
{
	const struct locator_process *process = arg;

	return locator_find(process->locator, process->pid, address, ret_object, ret_offset);
}

int locator_nowhere(struct locator *p, const struct object **ret_object)
{
	const struct object nowhere = {
		.kind = OBJECT_JIT,
		.file_id = hash_mix64(UINT64_C(0x6e6f7768657265)),
		.path = "[unknown]",
	};
	int err = 0;

	if (!p->unknown)
		err = object_table_add(p->with.objects, &nowhere, &p->unknown);
	if (!err)
		*ret_object = p->unknown;
	return err;
}

static int intern(struct locator *p, const struct object *object, uint64_t offset, bool is_return,
		  uint8_t provenance, uint32_t *ret_location)
{
	const struct location location = {
		.file_id = object->file_id,
		.offset = offset,
		.object = object->number,
		.is_return = is_return,
		.provenance = provenance,
	};

	return location_intern(p->with.locations, &location, ret_location);
}

int locator_of_frame(struct locator *p, const struct walk_frame *frame, pid_t pid, uint64_t time_ns,
		     uint32_t *ret_location)
{
	const struct object *object = frame->object;
	int err = object ? locator_prove(p, pid, time_ns, &object) : locator_nowhere(p, &object);

	if (err)
		return err;
	err = intern(p, object, frame->offset, frame->is_return, frame->provenance, ret_location);
	/* The location may have been entered by a walk that ended there, since the frame pointer
	 * led nowhere. This walk went on from it. */
	if (!err && provenance_is_weak(frame->provenance))
		location_set_provenance(p->with.locations, *ret_location, frame->provenance);
	return err;
}

/* --- of the kernel --------------------------------------------------------------------------- */

static void load_kernel_symbols(struct locator *p)
{
	const struct kallsyms_options options = {.proc_root = "/proc",
						 .sys_root = "/sys",
						 .files = p->with.kernel,
						 .meanwhile = p->with.meanwhile,
						 .arg = p->with.arg};

	if (p->ksyms_tried)
		return;
	p->ksyms_tried = true;
	if (kallsyms_load(&options, &p->ksyms))
		return;
	p->kernel_parts = calloc(kallsyms_part_count(p->ksyms), sizeof(*p->kernel_parts));
	if (!p->kernel_parts) {
		kallsyms_free(p->ksyms);
		p->ksyms = NULL;
	}
}

static uint64_t name_hash(const char *name)
{
	uint64_t hash = 0;

	for (; *name; name++)
		hash = hash_mix64(hash + (uint8_t)*name + 1);
	return hash ? hash : 1;
}

/* Gives the object of the part of the kernel that holds an address. */
static int kernel_object(struct locator *p, uint64_t address, const struct object **ret_object)
{
	const struct kallsyms_part *part;
	struct object object = {.kind = OBJECT_KERNEL};
	size_t index;
	int err;

	load_kernel_symbols(p);
	if (!p->ksyms)
		return locator_nowhere(p, ret_object);
	part = kallsyms_part(p->ksyms, address, &index);
	if (!p->kernel_parts[index]) {
		object.path = (char *)part->name;
		object.address = part->start;
		if (strcmp(part->name, "[kernel.kallsyms]"))
			object.kind = OBJECT_MODULE;
		object.build_id_len = part->build_id_len;
		memcpy(object.build_id, part->build_id, sizeof(object.build_id));
		object.file_id = part->build_id_len ? elf_file_id_from_build_id(part->build_id,
										part->build_id_len)
						    : name_hash(part->name);
		err = object_table_add(p->with.objects, &object, &p->kernel_parts[index]);
		if (err)
			return err;
	}
	*ret_object = p->kernel_parts[index];
	return 0;
}

int locator_of_kernel(struct locator *p, uint64_t address, bool is_return, uint32_t *ret_location)
{
	const struct object *object;
	uint64_t lookup = address - is_return;
	int err = kernel_object(p, lookup, &object);

	if (err)
		return err;
	return intern(p, object, lookup - object->address, is_return, PROVENANCE_NONE,
		      ret_location);
}

bool locator_is_wakeup(struct locator *p, uint64_t address)
{
	if (!p->wakeup_end && p->ksyms &&
	    !kallsyms_function(p->ksyms, "try_to_wake_up", &p->wakeup_start, &p->wakeup_end))
		p->wakeup_end = p->wakeup_start = UINT64_MAX;
	return address > p->wakeup_start && address <= p->wakeup_end;
}

const struct kallsyms *locator_kallsyms(const struct locator *p)
{
	return p->ksyms;
}
