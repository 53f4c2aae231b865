/* SPDX-License-Identifier: MIT */
/*
 * Requests the tables that walks of the kernel half have missed; see recorder.h.
 *
 * Samples without a table are expensive, so the table is prefetched: requested as soon as the
 * record has been read, before it is taken in the order of time. If the request fails then, because
 * the process table does not know the file yet, it is made again when the record is taken.
 */
#include "daemon/recorder/recorder_internal.h"
#include "proc/met_mapping.h"

#define KERNEL_MINOR_BITS 20 /* bits of the minor number in the kernel's device numbers */

/* Returns the file without a number that the kernel half has met in a record's walk. */
static struct met_mapping met_in(const struct stackd_stack_record *record)
{
	const struct stackd_mapping *unknown = &record->unknown;

	return (struct met_mapping){
		.start = unknown->start,
		.end = unknown->end,
		.offset = unknown->offset,
		.dev_major = unknown->key.dev >> KERNEL_MINOR_BITS,
		.dev_minor = unknown->key.dev & ((1u << KERNEL_MINOR_BITS) - 1),
		.inode = unknown->key.inode,
		.changed_ns = unknown->key.changed_ns,
	};
}

static bool is_met(struct recorder *r, const struct met_mapping *met, const struct object *object)
{
	return object && object->elf && elf_file_inode(object->elf) == met->inode &&
	       met_mapping_is_known(r->files.objects, met, object);
}

/* Returns the object of such a file, for a record that has just been read and is not taken in the
 * order of time yet. The object must be that of the file which the kernel half has found, which
 * equal inode numbers show. On filesystems where the numbers differ, the object is found when the
 * record is taken. */
static const struct object *mapped_early(struct recorder *r, pid_t pid,
					 const struct met_mapping *met)
{
	const struct object *object =
		new_mappings_find(&r->files.new_mappings, pid, met->start, met->offset);

	if (is_met(r, met, object))
		return object;
	/* A process that is not known yet must not be read from /proc now, because it may have been
	 * forked just now, and is still a copy of its parent in the order of time. */
	object = process_table_knows(r->tasks.processes, pid)
			 ? met_mapping_object(r->tasks.processes, pid, met)
			 : NULL;
	return is_met(r, met, object) ? object : NULL;
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
	const struct object *object = NULL;
	struct met_mapping met;
	uint32_t wanted;

	*ret_key = NULL;
	if (header->kind != STACKD_RECORD_STACK || !r->with.tables)
		return NULL;
	/* The mapping may have to be corrected even if it is another file's table that is missing.
	 */
	met = met_in(record);
	if (met.inode)
		object = early ? mapped_early(r, (pid_t)record->pid, &met)
			       : met_mapping_prove(r->tasks.processes, (pid_t)record->pid, &met);
	if (record->wanted && tables_object(r->with.tables, record->wanted, &wanted))
		return object_table_at(r->files.objects, wanted);
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
