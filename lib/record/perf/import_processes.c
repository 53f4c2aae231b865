/* SPDX-License-Identifier: MIT */
/* Processes, mappings and locations of a recording that is being imported; see
 * import_processes.h. */
#include "perf/import_processes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "perf/import.h"

#define CACHE_SLOTS 65536u
#define NO_ROOT	    "/nonexistent" /* instead of /proc: the recorded processes have ended */

struct import_cached {
	uint64_t address, state;
	uint32_t flags, location;
};

int import_processes_new(struct perfdata *reader, const struct utsname *machine,
			 struct import_processes **ret_processes)
{
	struct import_processes *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->states = p->kernel_state = 1;
	p->cache = calloc(CACHE_SLOTS, sizeof(*p->cache));
	err = p->cache ? object_table_new(NO_ROOT, &p->objects) : -ENOMEM;
	if (!err)
		err = process_table_new(p->objects, NO_ROOT, &p->table);
	if (!err)
		err = location_table_new(&p->locations);
	if (!err)
		err = import_kernel_new(reader, machine, p->objects, &p->kernel);
	if (err) {
		import_processes_free(p);
		return err;
	}
	if (strcmp(perfdata_info(reader)->host, machine->nodename))
		object_table_trust_build_ids_alone(p->objects);
	*ret_processes = p;
	return 0;
}

void import_processes_free(struct import_processes *p)
{
	struct import_process *process, *next_process;
	struct import_thread *thread, *next_thread;

	if (!p)
		return;
	HASH_ITER (hh, p->by_tid, thread, next_thread) {
		HASH_DEL(p->by_tid, thread);
		free(thread->steps);
		free(thread);
	}
	HASH_ITER (hh, p->by_pid, process, next_process) {
		HASH_DEL(p->by_pid, process);
		free(process);
	}
	import_kernel_free(p->kernel);
	location_table_free(p->locations);
	process_table_free(p->table);
	object_table_free(p->objects);
	free(p->cache);
	free(p);
}

static struct import_process *find_process(const struct import_processes *p, uint32_t pid)
{
	struct import_process *process;

	HASH_FIND(hh, p->by_pid, &pid, sizeof(pid), process);
	return process;
}

static struct import_process *process_of(struct import_processes *p, uint32_t pid)
{
	struct import_process *process = find_process(p, pid);

	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	process->state = ++p->states;
	HASH_ADD(hh, p->by_pid, pid, sizeof(pid), process);
	return process;
}

/* --- events ---------------------------------------------------------------------------------- */

static int on_mmap(struct import_processes *p, const struct perfdata_record *r,
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
	return process_table_on_mmap(p->table, (pid_t)r->pid, &mapping);
}

static int on_task(struct import_processes *p, const struct perfdata_record *r)
{
	const struct perfdata_task *task = &r->task;
	int err;

	if (r->kind == PERFDATA_EXIT) {
		err = process_table_on_exit(p->table, (pid_t)r->pid, (pid_t)r->tid);
		/* 1 means that the process goes on: of no interest here */
		return err < 0 ? err : 0;
	}
	/* The process ran already when perf started, so perf's records for it include all its
	 * mappings. */
	if (task->is_running && r->pid != task->parent_pid)
		return 0;
	return process_table_on_fork(p->table, (pid_t)r->pid, (pid_t)r->tid,
				     (pid_t)task->parent_pid, (pid_t)task->parent_tid);
}

static int on_kernel(struct import_processes *p, const struct perfdata_record *r)
{
	p->kernel_state = ++p->states;
	if (r->kind == PERFDATA_KSYMBOL)
		return import_kernel_symbol(p->kernel, &r->ksymbol);
	return r->mmap.mode == PERFDATA_MODE_KERNEL ? import_kernel_mmap(p->kernel, &r->mmap) : 0;
}

int import_processes_event(struct import_processes *p, const struct perfdata_record *r)
{
	bool is_kernel = r->kind == PERFDATA_KSYMBOL ||
			 (r->kind == PERFDATA_MMAP && r->mmap.mode != PERFDATA_MODE_USER);
	struct import_process *process;

	if (is_kernel)
		return on_kernel(p, r);
	if (r->kind == PERFDATA_LOST)
		return 0;
	process = process_of(p, r->pid);
	if (!process)
		return -ENOMEM;
	process->state = ++p->states;
	switch (r->kind) {
	case PERFDATA_MMAP:
		return on_mmap(p, r, process);
	case PERFDATA_COMM:
		if (r->comm.is_exec) {
			process->n_maps = 0;
			process->is_in_exec = true;
		}
		return process_table_on_comm(p->table, (pid_t)r->pid, (pid_t)r->tid, r->comm.comm,
					     r->comm.is_exec);
	default:
		return on_task(p, r);
	}
}

bool import_processes_is_in_exec(const struct import_processes *p, uint32_t pid)
{
	const struct import_process *process = find_process(p, pid);

	return process && process->is_in_exec;
}

void import_processes_runs(struct import_processes *p, uint32_t pid)
{
	struct import_process *process = find_process(p, pid);

	if (process)
		process->is_in_exec = false;
}

/* --- threads --------------------------------------------------------------------------------- */

static int find_thread(struct import_processes *p, uint32_t tid, struct import_thread **ret_thread)
{
	struct import_thread *thread = p->last;

	if (!thread || thread->tid != tid)
		HASH_FIND(hh, p->by_tid, &tid, sizeof(tid), thread);
	if (!thread && HASH_COUNT(p->by_tid) >= IMPORT_MAX_THREADS)
		return -E2BIG;
	if (!thread) {
		thread = calloc(1, sizeof(*thread));
		if (!thread)
			return -ENOMEM;
		thread->tid = tid;
		HASH_ADD(hh, p->by_tid, tid, sizeof(tid), thread);
	}
	p->last = *ret_thread = thread;
	return 0;
}

int import_processes_thread(struct import_processes *p, uint32_t pid, uint32_t tid,
			    struct import_thread **ret_thread)
{
	struct import_thread *thread;
	const struct thread *known;
	int err = find_thread(p, tid, &thread);

	if (err)
		return err;
	if (!thread->process || thread->process->pid != pid) {
		thread->process = process_of(p, pid);
		thread->state = 0;
	}
	if (!thread->process)
		return -ENOMEM;
	if (thread->state != thread->process->state) {
		known = process_table_thread(p->table, (pid_t)pid, (pid_t)tid);
		if (!known)
			return -ENOMEM;
		thread->number = known->number;
		thread->n_steps = 0;
	}
	if (thread->kernel_state != p->kernel_state)
		thread->n_steps = 0;
	thread->state = thread->process->state;
	thread->kernel_state = p->kernel_state;
	*ret_thread = thread;
	return 0;
}

/* --- addresses ------------------------------------------------------------------------------- */

bool import_processes_find(struct import_processes *p, uint32_t pid, uint64_t address,
			   const struct object **ret_object, uint64_t *ret_offset)
{
	const struct mapping *m = process_table_mapping(p->table, (pid_t)pid, address);

	if (!m)
		return false;
	*ret_object = m->object;
	*ret_offset = address - m->start + m->offset;
	return true;
}

static int nowhere_object(struct import_processes *p, const struct object **ret_object)
{
	const struct object nowhere = {
		.kind = OBJECT_JIT,
		.file_id = hash_mix64(UINT64_C(0x6e6f7768657265)),
		.path = "[unknown]",
	};
	int err = 0;

	if (!p->nowhere)
		err = object_table_add(p->objects, &nowhere, &p->nowhere);
	if (!err)
		*ret_object = p->nowhere;
	return err;
}

static int look_up(struct import_processes *p, uint32_t pid, const struct import_frame *frame,
		   uint32_t *ret_location)
{
	struct location location = {.is_return = frame->flags & IMPORT_FRAME_RETURN,
				    .provenance = IMPORT_FRAME_PROVENANCE_OF(frame->flags)};
	uint64_t address = frame->address - location.is_return;
	const struct object *object;
	bool is_found = false;
	int err;

	location.offset = address;
	if (frame->flags & IMPORT_FRAME_KERNEL)
		is_found = import_kernel_find(p->kernel, address, &object, &location.offset);
	else if (!(frame->flags & IMPORT_FRAME_UNKNOWN))
		is_found = import_processes_find(p, pid, address, &object, &location.offset);
	if (!is_found) {
		err = nowhere_object(p, &object);
		if (err)
			return err;
	}
	location.file_id = object->file_id;
	location.object = object->number;
	return location_intern(p->locations, &location, ret_location);
}

int import_processes_locate(struct import_processes *p, const struct import_thread *thread,
			    const struct import_frame *frame, uint32_t *ret_location)
{
	uint64_t state = frame->flags & IMPORT_FRAME_KERNEL ? p->kernel_state : thread->state;
	uint64_t hash = hash_mix64(frame->address + state * 2 + (frame->flags & 1));
	struct import_cached *cached = &p->cache[hash & (CACHE_SLOTS - 1)];
	int err;

	if (cached->address == frame->address && cached->state == state &&
	    cached->flags == frame->flags) {
		*ret_location = cached->location;
		return 0;
	}
	err = look_up(p, thread->process->pid, frame, ret_location);
	if (!err)
		*cached = (struct import_cached){.address = frame->address,
						 .state = state,
						 .flags = frame->flags,
						 .location = *ret_location};
	return err;
}
