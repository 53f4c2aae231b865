/* SPDX-License-Identifier: MIT */
/*
 * Requests the tables that walks of the kernel half have missed; see recorder.h.
 *
 * Samples without a table are expensive, so the table is prefetched: requested as soon as the
 * record has been read, before it is taken in the order of time. If the request fails then, because
 * the process table does not know the file yet, it is made again when the record is taken.
 */
#include "daemon/recorder/recorder_internal.h"

#define KERNEL_MINOR_BITS 20 /* bits of the minor number in the kernel's device numbers */

/* Returns a mapping that the kernel half has found, in the form that side-band events have. */
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

/* Returns whether it is proven that the file which the kernel half has found had the object's
 * content at that time. `early`: uses only what is known already. true for the vDSO, which has no
 * file. */
static bool is_proven(struct recorder *r, const struct stackd_stack_record *record,
		      const struct object *object, bool early)
{
	struct object_mapping m = met_mapping(&record->unknown, object);
	const uint64_t changed_ns = record->unknown.key.changed_ns;

	if (object->kind != OBJECT_ELF ||
	    object_table_has_proof(r->files.objects, object, record->unknown.key.inode, changed_ns))
		return true;
	m.build_id = object->build_id;
	m.build_id_len = object->build_id_len;
	return !early &&
	       object_table_prove(r->files.objects, (pid_t)record->pid, &m, object, changed_ns);
}

/* Enters the mapping again, now with the object that is its file's present content, because the
 * file was overwritten while it was mapped. Without memory or a file the mapping stays as it is,
 * and the kernel half gets no number for it. */
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

/* Returns the object that, by the process table, is mapped where the kernel half has found a file
 * without a number; NULL: none. */
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

/* Does what mapped_object() does, for a record that has just been read and is not taken in the
 * order of time yet. The object must be that of the file which the kernel half has found, which
 * equal inode numbers show. On filesystems where the numbers differ, the object is found when the
 * record is taken. */
static const struct object *mapped_early(struct recorder *r,
					 const struct stackd_stack_record *record)
{
	const pid_t pid = (pid_t)record->pid;
	const struct object *object = new_mappings_find(
		&r->files.new_mappings, pid, record->unknown.start, record->unknown.offset);

	if (is_met(r, record, object))
		return object;
	/* A process that is not known yet must not be read from /proc now, because it may have been
	 * forked just now, and is still a copy of its parent in the order of time. */
	object = process_table_knows(r->tasks.processes, pid) ? mapped_object(r, record) : NULL;
	return is_met(r, record, object) ? object : NULL;
}

/*
 * Returns the object whose number or table the kernel half has missed in a record's walk; NULL: it
 * has missed none, or the object is not known. `early`: the record has just been read, and is not
 * taken in the order of time yet. *ret_key: the key by which the kernel half will find the file's
 * number; NULL: it has the number already.
 */
static const struct object *missed_object(struct recorder *r, const struct stackd_header *header,
					  bool early, const struct stackd_inode **ret_key)
{
	const struct stackd_stack_record *record = (const struct stackd_stack_record *)header;
	const struct object *object;
	uint32_t wanted;

	*ret_key = NULL;
	if (header->kind != STACKD_RECORD_STACK || !r->with.tables)
		return NULL;
	if (record->wanted && tables_object(r->with.tables, record->wanted, &wanted))
		return object_table_at(r->files.objects, wanted);
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
