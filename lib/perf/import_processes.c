/* SPDX-License-Identifier: MIT */
/* Processes, mappings and locations of a recording that is being imported; see import_world.h. */
#include "perf/import_processes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "perf/import.h"

#define CACHE_SLOTS 65536u
#define NO_ROOT	    "/nonexistent" /* in place of /proc: the processes are long gone */

struct import_place {
	uint64_t address, state;
	uint32_t flags, location;
};

int import_processes_new(const struct perfdata *reader, const struct utsname *machine,
			 struct import_processes **ret_world)
{
	struct import_processes *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->states = w->kernel_state = 1;
	w->cache = calloc(CACHE_SLOTS, sizeof(*w->cache));
	r = w->cache ? object_table_new(NO_ROOT, &w->objects) : -ENOMEM;
	if (!r)
		r = process_table_new(w->objects, NO_ROOT, &w->table);
	if (!r)
		r = location_table_new(&w->locations);
	if (!r)
		r = import_kernel_new(reader, machine, w->objects, &w->kernel);
	if (r) {
		import_processes_free(w);
		return r;
	}
	if (strcmp(perfdata_info(reader)->host, machine->nodename))
		object_table_trust_build_ids_alone(w->objects);
	*ret_world = w;
	return 0;
}

void import_processes_free(struct import_processes *w)
{
	struct import_process *process, *next_process;
	struct import_thread *thread, *next_thread;

	if (!w)
		return;
	HASH_ITER (hh, w->threads, thread, next_thread) {
		HASH_DEL(w->threads, thread);
		free(thread->steps);
		free(thread);
	}
	HASH_ITER (hh, w->processes, process, next_process) {
		HASH_DEL(w->processes, process);
		free(process);
	}
	import_kernel_free(w->kernel);
	location_table_free(w->locations);
	process_table_free(w->table);
	object_table_free(w->objects);
	free(w->cache);
	free(w);
}

static struct import_process *process_of(struct import_processes *w, uint32_t pid)
{
	struct import_process *process;

	HASH_FIND(hh, w->processes, &pid, sizeof(pid), process);
	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	process->state = ++w->states;
	HASH_ADD(hh, w->processes, pid, sizeof(pid), process);
	return process;
}

/* --- events ---------------------------------------------------------------------------------- */

static int on_mmap(struct import_processes *w, const struct perfdata_record *r,
		   struct import_process *process)
{
	const struct perfdata_mmap *m = &r->mmap;
	const struct object_mapping mapping = {
		.start = m->start,
		.end = m->start + m->len,
		.offset = m->offset,
		.dev_major = m->dev_major,
		.dev_minor = m->dev_minor,
		.inode = m->inode,
		.build_id = m->build_id,
		.build_id_len = m->build_id_len,
		.path = m->path,
	};

	if (!m->is_code || mapping.end < mapping.start)
		return 0;
	if (++process->n_maps > IMPORT_MAX_MAPS)
		return -E2BIG;
	return process_table_on_mmap(w->table, (pid_t)r->pid, &mapping);
}

static int on_task(struct import_processes *w, const struct perfdata_record *r)
{
	const struct perfdata_task *task = &r->task;

	if (r->kind == PERFDATA_EXIT)
		return process_table_on_exit(w->table, (pid_t)r->pid, (pid_t)r->tid);
	/* What perf wrote of a process that ran already is followed by its own mappings. */
	if (task->is_running && r->pid != task->parent_pid)
		return 0;
	return process_table_on_fork(w->table, (pid_t)r->pid, (pid_t)r->tid,
				     (pid_t)task->parent_pid, (pid_t)task->parent_tid);
}

static int on_kernel(struct import_processes *w, const struct perfdata_record *r)
{
	w->kernel_state = ++w->states;
	if (r->kind == PERFDATA_KSYMBOL)
		return import_kernel_symbol(w->kernel, &r->ksymbol);
	return r->mmap.mode == PERFDATA_MODE_KERNEL ? import_kernel_mmap(w->kernel, &r->mmap) : 0;
}

int import_processes_event(struct import_processes *w, const struct perfdata_record *r)
{
	bool is_kernel = r->kind == PERFDATA_KSYMBOL ||
			 (r->kind == PERFDATA_MMAP && r->mmap.mode != PERFDATA_MODE_USER);
	struct import_process *process;

	if (is_kernel)
		return on_kernel(w, r);
	if (r->kind == PERFDATA_LOST)
		return 0;
	process = process_of(w, r->pid);
	if (!process)
		return -ENOMEM;
	process->state = ++w->states;
	switch (r->kind) {
	case PERFDATA_MMAP:
		return on_mmap(w, r, process);
	case PERFDATA_COMM:
		if (r->comm.is_exec)
			process->n_maps = 0;
		return process_table_on_comm(w->table, (pid_t)r->pid, (pid_t)r->tid, r->comm.comm,
					     r->comm.is_exec);
	default:
		return on_task(w, r);
	}
}

/* --- threads --------------------------------------------------------------------------------- */

static int find_thread(struct import_processes *w, uint32_t tid, struct import_thread **ret_thread)
{
	struct import_thread *thread = w->last;

	if (!thread || thread->tid != tid)
		HASH_FIND(hh, w->threads, &tid, sizeof(tid), thread);
	if (!thread && HASH_COUNT(w->threads) >= IMPORT_MAX_THREADS)
		return -E2BIG;
	if (!thread) {
		thread = calloc(1, sizeof(*thread));
		if (!thread)
			return -ENOMEM;
		thread->tid = tid;
		HASH_ADD(hh, w->threads, tid, sizeof(tid), thread);
	}
	w->last = *ret_thread = thread;
	return 0;
}

int import_processes_thread(struct import_processes *w, uint32_t pid, uint32_t tid,
			    struct import_thread **ret_thread)
{
	struct import_thread *thread;
	const struct thread *known;
	int r = find_thread(w, tid, &thread);

	if (r)
		return r;
	if (!thread->process || thread->process->pid != pid) {
		thread->process = process_of(w, pid);
		thread->state = 0;
	}
	if (!thread->process)
		return -ENOMEM;
	if (thread->state != thread->process->state) {
		known = process_table_thread(w->table, (pid_t)pid, (pid_t)tid);
		if (!known)
			return -ENOMEM;
		thread->number = known->number;
		thread->n_steps = 0;
	}
	if (thread->kernel_state != w->kernel_state)
		thread->n_steps = 0;
	thread->state = thread->process->state;
	thread->kernel_state = w->kernel_state;
	*ret_thread = thread;
	return 0;
}

/* --- addresses ------------------------------------------------------------------------------- */

bool import_processes_find(struct import_processes *w, uint32_t pid, uint64_t address,
			   const struct object **ret_object, uint64_t *ret_offset)
{
	const struct mapping *m = process_table_mapping(w->table, (pid_t)pid, address);

	if (!m)
		return false;
	*ret_object = m->object;
	*ret_offset = address - m->start + m->offset;
	return true;
}

static int object_of_nowhere(struct import_processes *w, const struct object **ret_object)
{
	const struct object nowhere = {
		.kind = OBJECT_JIT,
		.file_id = hash_mix64(UINT64_C(0x6e6f7768657265)),
		.path = "[unknown]",
	};
	int r = 0;

	if (!w->nowhere)
		r = object_table_add(w->objects, &nowhere, &w->nowhere);
	if (!r)
		*ret_object = w->nowhere;
	return r;
}

static int look_up(struct import_processes *w, uint32_t pid, const struct import_frame *frame,
		   uint32_t *ret_location)
{
	struct location location = {.is_return = frame->flags & IMPORT_FRAME_RETURN};
	uint64_t address = frame->address - location.is_return;
	const struct object *object;
	bool is_found = false;
	int r;

	location.offset = address;
	if (frame->flags & IMPORT_FRAME_KERNEL)
		is_found = import_kernel_find(w->kernel, address, &object, &location.offset);
	else if (!(frame->flags & IMPORT_FRAME_UNKNOWN))
		is_found = import_processes_find(w, pid, address, &object, &location.offset);
	if (!is_found) {
		r = object_of_nowhere(w, &object);
		if (r)
			return r;
	}
	location.file_id = object->file_id;
	location.object = object->number;
	return location_intern(w->locations, &location, ret_location);
}

int import_processes_locate(struct import_processes *w, const struct import_thread *thread,
			    const struct import_frame *frame, uint32_t *ret_location)
{
	uint64_t state = frame->flags & IMPORT_FRAME_KERNEL ? w->kernel_state : thread->state;
	uint64_t hash = hash_mix64(frame->address + state * 2 + (frame->flags & 1));
	struct import_place *place = &w->cache[hash & (CACHE_SLOTS - 1)];
	int r;

	if (place->address == frame->address && place->state == state &&
	    place->flags == frame->flags) {
		*ret_location = place->location;
		return 0;
	}
	r = look_up(w, thread->process->pid, frame, ret_location);
	if (!r)
		*place = (struct import_place){.address = frame->address,
					       .state = state,
					       .flags = frame->flags,
					       .location = *ret_location};
	return r;
}
