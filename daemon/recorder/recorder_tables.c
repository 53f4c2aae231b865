/* SPDX-License-Identifier: MIT */
/*
 * Requests the tables that walks of the kernel half have missed; see recorder.h.
 *
 * Samples without a table are expensive, so the table is prefetched: requested as soon as the
 * record has been read, before its turn in the order of time. A request that fails then, since the
 * process table may be behind, is made again in order.
 */
#include "daemon/recorder/recorder_internal.h"

#define KERNEL_MINOR_BITS 20 /* bits of the minor number in the kernel's device numbers */

/* Turns a mapping that the kernel half has found into the form of a side-band event. */
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

/* Returns whether the file that the kernel half has found had the mapping's object as its content
 * at that time. `early`: only what is known already counts. The vDSO has no file. */
static bool is_proven(struct recorder *r, const struct stackd_stack_record *record,
		      const struct object *object, bool early)
{
	struct object_mapping m = met_mapping(&record->unknown, object);
	const uint64_t changed_ns = record->unknown.key.changed_ns;

	if (object->kind != OBJECT_ELF ||
	    object_table_has_proof(r->files.objects, object, changed_ns))
		return true;
	m.build_id = object->build_id;
	m.build_id_len = object->build_id_len;
	return !early &&
	       object_table_prove(r->files.objects, (pid_t)record->pid, &m, object, changed_ns);
}

/* Gives a mapping the object that is its file's present content, since the file was overwritten
 * while it was mapped. Without memory or a file the mapping stays as it is, and the kernel half
 * does not get it. */
static void remap(struct recorder *r, const struct stackd_stack_record *record,
		  const struct object *object)
{
	const struct stackd_mapping *met = &record->unknown;
	const struct object_mapping m = met_mapping(met, object);
	struct mapping now = {.start = met->start, .end = met->end, .offset = met->offset};

	if (!object_table_resolve(r->files.objects, (pid_t)record->pid, &m, &now.object) &&
	    now.object->elf && now.object != object)
		process_table_set_mapping(r->tasks.processes, (pid_t)record->pid, &now);
}

/* Returns the object that the process table has where the kernel half has found a file that it does
 * not know; NULL: none. */
static const struct object *mapped_object(struct recorder *r,
					  const struct stackd_stack_record *record)
{
	const struct stackd_mapping *unknown = &record->unknown;
	const struct mapping *m =
		process_table_mapping(r->tasks.processes, (pid_t)record->pid, unknown->start);

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

/* mapped_object() for a record whose turn in the order of time has not come. The object must be of
 * the file that the kernel half has found, which equal inode numbers show. On filesystems where
 * these differ, the object is found in the record's turn. */
static const struct object *mapped_early(struct recorder *r,
					 const struct stackd_stack_record *record)
{
	const pid_t pid = (pid_t)record->pid;
	const struct object *object = new_mappings_find(
		&r->files.new_mappings, pid, record->unknown.start, record->unknown.offset);

	if (is_met(r, record, object))
		return object;
	/* A process that was just forked must not be read from /proc yet: in the order of time it
	 * is still a copy of its parent. */
	object = process_table_knows(r->tasks.processes, pid) ? mapped_object(r, record) : NULL;
	return is_met(r, record, object) ? object : NULL;
}

/*
 * Returns the object whose inode or table the kernel half has missed; NULL: none, or it is not
 * known. `early`: the record is not in the order of time yet. *ret_key: the key by which the kernel
 * half will find the object; NULL: it knows the file already.
 */
static const struct object *missed_object(struct recorder *r, const struct stackd_header *header,
					  bool early, const struct stackd_inode **ret_key)
{
	const struct stackd_stack_record *record = (const struct stackd_stack_record *)header;
	const struct object *object;

	*ret_key = NULL;
	if (header->kind != STACKD_RECORD_STACK || !r->with.tables)
		return NULL;
	if (record->wanted && record->wanted <= object_table_count(r->files.objects))
		return object_table_at(r->files.objects, record->wanted - 1);
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

int recorder_request_table(struct recorder *r, const struct stackd_header *header, bool early)
{
	const struct stackd_inode *key;
	const struct object *object = missed_object(r, header, early, &key);

	return object ? tables_want(r->with.tables, object, key) : 0;
}

bool recorder_awaits_table(struct recorder *r, const struct stackd_header *record)
{
	const struct stackd_inode *key;
	const struct object *object = missed_object(r, record, false, &key);

	return object && object->elf && elf_file_is_open(object->elf) &&
	       !tables_have(r->with.tables, object) && !tables_put_off(r->with.tables, object) &&
	       !tables_want(r->with.tables, object, key);
}
