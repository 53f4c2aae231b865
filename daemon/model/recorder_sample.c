/* SPDX-License-Identifier: MIT */
/*
 * Takes a record: requests the table that it has missed, makes its call path, enters the path into
 * the trie, and adds the sample's row to the batch; see recorder.h.
 *
 * Samples without a table are expensive, so the table is prefetched: requested as soon as the
 * record has been read, before its turn in the order of time. A request that fails then, since the
 * process table may be behind, is made again in order.
 */
#include <errno.h>

#include "daemon/capture/record.h"
#include "daemon/model/recorder_internal.h"
#include "daemon/model/wait_reason.h"
#include "stack/end_reason.h"

#define KERNEL_MINOR_BITS 20 /* of a device number in the kernel */

/* --- requests of tables ---------------------------------------------------------------------- */

/* The mapping that the kernel half has met, as an event would have it. */
static struct object_mapping met_mapping(const struct stackd_mapping *met,
					 const struct object *object)
{
	return (struct object_mapping){
		.start = met->start,
		.end = met->end,
		.offset = met->offset,
		.dev_major = met->key.dev >> KERNEL_MINOR_BITS,
		.dev_minor = met->key.dev & ((1u << KERNEL_MINOR_BITS) - 1),
		.inode = met->key.inode,
		.path = object->path,
	};
}

/* Whether the file that the kernel half has met, in the state that it had then, is known to hold
 * the mapping's object. The vDSO has no file. */
static bool is_proven(struct recorder *r, const struct stackd_stack_record *record,
		      const struct object *object, bool early)
{
	struct object_mapping m = met_mapping(&record->unknown, object);
	const uint64_t changed_ns = record->unknown.key.changed_ns;

	if (object->kind != OBJECT_ELF || object_table_has_proof(r->objects, object, changed_ns))
		return true;
	m.build_id = object->build_id;
	m.build_id_len = object->build_id_len;
	return !early && object_table_prove(r->objects, (pid_t)record->pid, &m, object, changed_ns);
}

/* A file was overwritten while it was mapped: from now on, its pages are of what it holds now.
 * Lack of memory, or no file: the mapping stays as it is, and the kernel half does not know it. */
static void remap(struct recorder *r, const struct stackd_stack_record *record,
		  const struct object *object)
{
	const struct stackd_mapping *met = &record->unknown;
	const struct object_mapping m = met_mapping(met, object);
	struct mapping now = {.start = met->start, .end = met->end, .offset = met->offset};

	if (!object_table_resolve(r->objects, (pid_t)record->pid, &m, &now.object) &&
	    now.object->elf && now.object != object)
		process_table_set_mapping(r->processes, (pid_t)record->pid, &now);
}

/* The object that the process of a record had mapped where the kernel half met a file that it does
 * not know; NULL: not known. */
static const struct object *mapped_object(struct recorder *r,
					  const struct stackd_stack_record *record)
{
	const struct stackd_mapping *unknown = &record->unknown;
	const struct mapping *m =
		process_table_mapping(r->processes, (pid_t)record->pid, unknown->start);

	return m && m->object->kind != OBJECT_JIT &&
			       unknown->start - m->start + m->offset == unknown->offset
		       ? m->object
		       : NULL;
}

static bool is_met(struct recorder *r, const struct stackd_stack_record *record,
		   const struct object *object)
{
	return object && object->elf && elf_file_inode(object->elf) == record->unknown.key.inode &&
	       is_proven(r, record, object, true);
}

/* The same of a record that is not in the order of time yet. The file must be the one that was met:
 * then the inode numbers agree, on most filesystems; where they do not, it is found in order. */
static const struct object *mapped_early(struct recorder *r,
					 const struct stackd_stack_record *record)
{
	const pid_t pid = (pid_t)record->pid;
	const struct object *object = new_mappings_find(
		&r->new_mappings, pid, record->unknown.start, record->unknown.offset);

	if (is_met(r, record, object))
		return object;
	/* A process that was just forked must not be read from /proc yet: in the order of time it
	 * is still a copy of its parent. */
	object = process_table_knows(r->processes, pid) ? mapped_object(r, record) : NULL;
	return is_met(r, record, object) ? object : NULL;
}

/*
 * The object whose inode or table the kernel half has missed; NULL: none, or which is not known.
 * `early`: the record is not in the order of time yet. `ret_key`: what the kernel half is to know
 * it by; NULL: it does.
 */
static const struct object *missed_object(struct recorder *r, const struct stackd_header *header,
					  bool early, const struct stackd_inode **ret_key)
{
	const struct stackd_stack_record *record = (const struct stackd_stack_record *)header;
	const struct object *object;

	*ret_key = NULL;
	if (header->kind != STACKD_RECORD_STACK || !r->tables)
		return NULL;
	if (record->wanted && record->wanted <= object_table_count(r->objects))
		return object_table_at(r->objects, record->wanted - 1);
	if (!record->unknown.key.inode)
		return NULL;
	object = early ? mapped_early(r, record) : mapped_object(r, record);
	if (object && !early && !is_proven(r, record, object, false)) {
		remap(r, record, object);
		return NULL;
	}
	if (object)
		*ret_key = &record->unknown.key;
	return object;
}

/* Requests what the kernel half has missed: a file's inode, or its table. */
static int request_table(struct recorder *r, const struct stackd_header *header, bool early)
{
	const struct stackd_inode *key;
	const struct object *object = missed_object(r, header, early, &key);

	return object ? tables_want(r->tables, object, key) : 0;
}

bool recorder_awaits_table(struct recorder *r, const struct stackd_header *record)
{
	const struct stackd_inode *key;
	const struct object *object = missed_object(r, record, false, &key);

	return object && object->elf && elf_file_is_open(object->elf) &&
	       !tables_have(r->tables, object) && !tables_put_off(r->tables, object) &&
	       !tables_want(r->tables, object, key);
}

int recorder_prefetch_record(struct recorder *r, const struct stackd_header *record)
{
	uint64_t cgroup = record_cgroup(record);
	struct stackd_instance instance;
	int err = 0;

	if (record->kind == STACKD_RECORD_CODE_BYTES) {
		made_code_keep_bytes(r->made, (const struct stackd_code_bytes *)record);
		return 1;
	}
	if (cgroup)
		err = cgroup_table_find(r->cgroups, cgroup, (pid_t)record_pid(record),
					record->time_ns);
	if (!err)
		err = ranks_prefetch(r->ranks, (pid_t)record_pid(record));
	if (!err && record_instance(record, &instance) && instance.region == STACKD_WAIT &&
	    wait_reason_has_object(&instance, false))
		err = wait_objects_prefetch(r->wait_objects, (pid_t)record_pid(record),
					    record->time_ns, &instance);
	if (!err && record->kind == STACKD_RECORD_CODE)
		made_code_keep(r->made, (const struct stackd_code_record *)record);
	if (!err && record->kind == STACKD_RECORD_STACK &&
	    process_table_knows(r->processes, (pid_t)record_pid(record)))
		err = made_code_note(r->made, (const struct stackd_stack_record *)record);
	return err ? err : request_table(r, record, true);
}

/* --- in the order of time -------------------------------------------------------------------- */

const struct thread *recorder_thread_of(struct recorder *r, const struct stackd_header *record,
					uint32_t *ret_process)
{
	pid_t pid = (pid_t)record_pid(record), tid = (pid_t)record->tid;
	const struct thread *thread = process_table_thread(r->processes, pid, tid);
	uint64_t cgroup = record_cgroup(record);

	if (thread && cgroup && thread->cgroup != cgroup) {
		thread = process_table_set_cgroup(r->processes, pid, tid, cgroup);
		if (thread && outbox_keep_cgroup(r->outbox, thread))
			return NULL;
	}
	return thread && !process_table_add_row(r->processes, thread, ret_process) ? thread : NULL;
}

/* Keeps the bytes of a call of MPI, as far as there are any that are known. */
static int keep_bytes(struct recorder *r, enum metric_series series, uint64_t bytes,
		      const struct store_sample *row)
{
	bytes = bytes == STACKD_MPI_NOT_KNOWN ? 0 : STACKD_MPI_BYTES_OF(bytes);
	return bytes ? recorder_keep(r, series, bytes, *row) : 0;
}

/* Keeps what a call of MPI has received or read, and of that what is the size of the buffer. */
static int keep_received(struct recorder *r, uint64_t bytes, const struct store_sample *row)
{
	bool is_known = bytes != STACKD_MPI_NOT_KNOWN;
	int err = keep_bytes(
		r, is_known && bytes & STACKD_MPI_OF_FILE ? SERIES_MPI_READ : SERIES_MPI_RECEIVED,
		bytes, row);

	return err || !is_known || !(bytes & STACKD_MPI_AT_MOST)
		       ? err
		       : keep_bytes(r, SERIES_MPI_AT_MOST, bytes, row);
}

/* Keeps what a call has received, or will have: until that is known it waits. */
static int keep_or_await(struct recorder *r, uint32_t tid, const struct stackd_instance *i,
			 const struct store_sample *row)
{
	struct store_sample later = *row;
	int err;

	if (i->received == STACKD_MPI_NOT_KNOWN || !(i->received & STACKD_MPI_LATER))
		return keep_received(r, i->received, row);
	later.period = i->received;
	err = mpi_pending_add(r->pending, tid, row->time_ns - i->wall_ns, &later);
	return err > 0 ? keep_received(r, i->received, row) : err;
}

/* A receive is complete: keeps what it has brought, under the path of the call that posted it. */
static int complete(struct recorder *r, const struct stackd_completed *completed)
{
	struct store_sample row;

	if (!mpi_pending_take(r->pending, completed->poster, completed->enter_ns, completed->posted,
			      &row))
		return 0;
	row.time_ns = completed->header.time_ns;
	return keep_received(r, completed->arrived, &row);
}

int recorder_end_window(struct recorder *r, uint64_t now_ns)
{
	struct store_sample row;
	int err = 0;

	while (!err && mpi_pending_take_any(r->pending, &row)) {
		row.time_ns = now_ns > row.time_ns ? now_ns : row.time_ns;
		err = keep_received(r, row.period, &row);
	}
	return err;
}

/* Keeps what a call of MPI has sent and received. If either is not known, it counts as one call
 * whose bytes are not known. */
static int keep_mpi(struct recorder *r, uint32_t tid, const struct stackd_instance *i,
		    const struct store_sample *row)
{
	bool is_written = i->sent != STACKD_MPI_NOT_KNOWN && i->sent & STACKD_MPI_OF_FILE;
	int err = keep_bytes(r, is_written ? SERIES_MPI_WRITTEN : SERIES_MPI_SENT, i->sent, row);

	if (!err)
		err = keep_or_await(r, tid, i, row);
	if (!err && (i->sent == STACKD_MPI_NOT_KNOWN || i->received == STACKD_MPI_NOT_KNOWN))
		err = recorder_keep(r, SERIES_MPI_UNKNOWN, 1, *row);
	return err;
}

/* Keeps an instance of a region: its own time and CPU time, and those of the instances within it
 * apart. */
static int keep_instance(struct recorder *r, uint32_t tid, const struct stackd_instance *i,
			 const struct store_sample *row)
{
	int err = recorder_keep(r, SERIES_REGION_TIME, i->wall_ns - i->nested_wall_ns, *row);

	if (!err)
		err = recorder_keep(r, SERIES_REGION_CPU, i->cpu_ns - i->nested_cpu_ns, *row);
	if (!err && i->nested_wall_ns)
		err = recorder_keep(r, SERIES_REGION_NESTED_TIME, i->nested_wall_ns, *row);
	if (!err && i->nested_wall_ns)
		err = recorder_keep(r, SERIES_REGION_NESTED_CPU, i->nested_cpu_ns, *row);
	return err ? err : keep_mpi(r, tid, i, row);
}

/* Keeps the rank of a process, once. */
static int keep_rank(struct recorder *r, uint32_t process, pid_t pid,
		     const struct store_sample *row)
{
	uint64_t value;
	int is = ranks_take(r->ranks, process, pid, &value);

	return is > 0 ? recorder_keep(r, SERIES_MPI_RANK, value, *row) : is;
}

static bool is_of_region(const struct stackd_instance *i)
{
	return i->region < STACKD_UNTRACED;
}

/* Whether a region's instance was left without a return. */
static bool was_left(const struct stackd_instance *i)
{
	return is_of_region(i) && i->region & STACKD_PASS_LEFT;
}

static bool is_of_mark(const struct stackd_instance *i)
{
	return i->region > STACKD_MOST_REGIONS && is_of_region(i) && !was_left(i);
}

/* When a region's instance ended, of which the record came later: the time of a record is that of
 * its walk, and the thread may have lost its CPU in between. That one was left is found later. */
static uint64_t ended_at(const struct stackd_header *record, const struct stackd_instance *i)
{
	uint64_t earlier = was_left(i) ? i->region >> STACKD_PASS_EARLIER : 0;

	return record->time_ns - (uint32_t)((uint32_t)record->time_ns - i->ended_ns) -
	       (earlier << 32);
}

int recorder_add_frame(struct recorder *r, const struct object *object, uint32_t *node)
{
	struct location l = {.object = object->number, .file_id = object->file_id};
	uint32_t number;
	int err = location_intern(r->locations, &l, &number);

	return err ? err
		   : tag_trie_child(r->trie, *node, number, location_id(l.file_id, l.offset), node);
}

/* Gives the node of a mark's instance: the mark is a frame below the function where it ended. */
static int take_mark(struct recorder *r, uint32_t index, uint32_t *ret_node)
{
	return index < r->marks.count ? recorder_add_frame(r, r->marks.items[index], ret_node)
				      : -EBADMSG;
}

/* Keeps a sample, and what it stands for outside of regions. */
static int keep_sample(struct recorder *r, struct store_sample *sample)
{
	const uint64_t interval = sample->period;
	int err;

	if (r->has_intervals)
		sample->period = r->usual_period;
	r->periods += sample->period;
	if (!r->has_intervals)
		return outbox_keep(r->outbox, sample);
	err = outbox_keep(r->outbox, sample);
	return err || !interval ? err : recorder_keep(r, SERIES_CPU_OUTSIDE, interval, *sample);
}

/* Begins the path of a stack that was too deep with the thread's entry and how much is left out. */
static int begin_deep(struct recorder *r, const struct stackd_header *record,
		      const struct walks_end *end)
{
	const struct object *object;
	struct stackd_part part;
	int err;

	if (end->reason != STACKD_END_TOO_DEEP || !record_part(record, &part) || !part.left_bytes ||
	    r->path.cut || r->path.added)
		return 0;
	err = left_out_find(&r->left_out, r->objects, part.left_bytes, &object);
	if (!err)
		err = thread_paths_entry(r->paths, (pid_t)record->tid, &r->path.node);
	return err ? err : recorder_add_frame(r, object, &r->path.node);
}

/* Takes a record; *ret_end is the result of walks_take(). 0; -ENOMEM; -EBADMSG: the record cannot
 * be used. */
static int take(struct recorder *r, const struct stackd_header *record, struct walks_end *ret_end)
{
	uint32_t node, row, process;
	const struct thread *thread = recorder_thread_of(r, record, &process);
	struct stackd_instance instance;
	struct store_sample sample;
	bool is_instance;
	int err;

	if (!thread)
		return -ENOMEM;
	row = thread->row;
	err = request_table(r, record, false);
	if (!err)
		err = walks_take(r->walks, record, &r->path, ret_end);
	if (err || !ret_end->is_sample)
		return err;
	err = begin_deep(r, record, ret_end);
	if (err)
		return err;
	err = thread_paths_enter(r->paths, record, &r->path, &node);
	is_instance = record_instance(record, &instance);
	if (is_instance && was_left(&instance)) /* even if its caller does not hold */
		ret_end->reason = STACKD_END_LEFT;
	if (!err && is_instance && is_of_mark(&instance))
		err = take_mark(r, instance.region - STACKD_MOST_REGIONS - 1, &node);
	if (err)
		return err;
	sample = (struct store_sample){
		.time_ns = is_instance && is_of_region(&instance) ? ended_at(record, &instance)
								  : record->time_ns,
		.thread = row,
		.node = node,
		.period = record_period(record, r->usual_period),
		.cpu = record->cpu,
		.end_reason = (uint8_t)ret_end->reason,
		.origin = ret_end->origin,
	};
	err = readings_keep(r->readings, r->outbox, record, &sample);
	if (!err)
		err = keep_rank(r, process, (pid_t)record_pid(record), &sample);
	if (err)
		return err;
	if (!is_instance)
		return keep_sample(r, &sample);
	if (instance.region == STACKD_WAIT)
		return recorder_wait(r, record, &instance, &sample);
	if (instance.region == STACKD_WAKER)
		return recorder_waker(r, record, &instance, &sample);
	return instance.region >= STACKD_MAPPED
		       ? recorder_allocation(r, (pid_t)record_pid(record), &instance, &sample)
		       : keep_instance(r, record->tid, &instance, &sample);
}

static int take_record(struct recorder *r, const struct stackd_header *record)
{
	struct walks_end end = {.is_sample = true, .reason = STACKD_END_LOST_RECORD};
	struct stackd_instance instance;
	int err;

	if (record && record->kind == STACKD_RECORD_READING) {
		readings_take(r->readings, (const struct stackd_reading *)record);
		return 0;
	}
	if (record && record->kind == STACKD_RECORD_CODE) /* it is a part of the next record */
		return 0;
	if (record && record->kind == STACKD_RECORD_COMPLETED)
		return complete(r, (const struct stackd_completed *)record);
	if (record && record->kind == STACKD_RECORD_LAUNCHED)
		return ranks_launched(r->ranks, (const struct stackd_launched *)record);
	if (record && record_instance(record, &instance) && instance.region == STACKD_FREE) {
		r->instances++;
		return recorder_end_allocation(r, record, &instance);
	}
	if (record && record_instance(record, &instance) && instance.region == STACKD_LIFE)
		return recorder_life(r, record, &instance);
	if (record && record_instance(record, &instance) && instance.region == STACKD_UNTRACED)
		return recorder_untraced(r, record, &instance);
	err = record ? take(r, record, &end) : 0;
	if (record && record_instance(record, &instance)) {
		bool is_wait = instance.region == STACKD_WAIT;
		bool is_waker = instance.region == STACKD_WAKER;
		bool is_partial = err || (end.reason != STACKD_END_LEFT &&
					  end_reason_quality((uint8_t)end.reason) != END_COMPLETE);

		*(is_wait ? &r->waits : is_waker ? &r->wakers : &r->instances) += 1;
		if (!is_waker)
			*(is_wait ? &r->partial_waits : &r->partial_instances) += is_partial;
		return err == -EBADMSG ? 0 : err;
	}
	r->received++;
	if (end.is_sample)
		r->end_reasons[err ? STACKD_END_LOST_RECORD : end.reason]++;
	return err == -EBADMSG ? 0 : err;
}

int recorder_sample(struct recorder *r, const struct stackd_header *record)
{
	int err = take_record(r, record);

	r->taken_since_look++;
	if (record)
		walks_drop(r->walks, record);
	return err;
}
