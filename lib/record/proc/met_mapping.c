/* SPDX-License-Identifier: MIT */
/* See met_mapping.h. */
#include "proc/met_mapping.h"

#include "proc/process_table.h"

#define TICK_NS UINT64_C(10000000) /* a change time may lag so far behind the write */

/* Returns the mapping in the form that side-band events have. */
static struct object_mapping event_of(const struct met_mapping *met, const struct object *object)
{
	return (struct object_mapping){
		.start = met->start,
		.end = met->end,
		.offset = met->offset,
		.dev_major = met->dev_major,
		.dev_minor = met->dev_minor,
		.inode = met->inode,
		.path = object->path,
	};
}

static const struct mapping *find(struct process_table *table, pid_t pid,
				  const struct met_mapping *met)
{
	const struct mapping *m = process_table_mapping(table, pid, met->start);

	return m && m->object->kind != OBJECT_JIT &&
			       met->start - m->start + m->offset == met->offset
		       ? m
		       : NULL;
}

const struct object *met_mapping_object(struct process_table *table, pid_t pid,
					const struct met_mapping *met)
{
	const struct mapping *m = find(table, pid, met);

	return m ? m->object : NULL;
}

bool met_mapping_is_known(const struct object_table *objects, const struct met_mapping *met,
			  const struct object *object)
{
	return object->kind != OBJECT_ELF ||
	       object_table_has_proof(objects, object, met->inode, met->changed_ns);
}

/* Returns whether a mapping's object is what the file held at the sample. */
static bool is_proven(struct object_table *objects, pid_t pid, const struct met_mapping *met,
		      const struct mapping *m)
{
	const struct object_mapping event = event_of(met, m->object);

	if (met_mapping_is_known(objects, met, m->object))
		return true;
	if (m->object->elf && met->changed_ns + TICK_NS <= m->made_ns) {
		object_table_keep_proof(objects, m->object, met->inode, met->changed_ns);
		return true;
	}
	return object_table_prove(objects, pid, &event, m->object, met->changed_ns);
}

/* Enters a mapping again, with what is proven of it. Returns its object if that is proven, else
 * NULL. */
static const struct object *correct(struct process_table *table, pid_t pid,
				    const struct met_mapping *met, const struct object *object)
{
	const struct object_mapping event = event_of(met, object);
	struct mapping now = {.start = met->start, .end = met->end, .offset = met->offset};
	bool has_object = !object_table_resolve(table->objects, pid, &event, &now.object) &&
			  now.object->elf && now.object != object &&
			  is_proven(table->objects, pid, met, &now);

	/* An object without a file has neither rules nor names that could be wrong. */
	if (!has_object &&
	    (!object->elf || object_table_unproven(table->objects, object, &now.object)))
		return NULL;
	if (process_table_set_mapping(table, pid, &now))
		return NULL;
	return has_object ? now.object : NULL;
}

const struct object *met_mapping_prove(struct process_table *table, pid_t pid,
				       const struct met_mapping *met)
{
	const struct mapping *m = find(table, pid, met);

	if (!m)
		return NULL;
	return is_proven(table->objects, pid, met, m) ? m->object
						      : correct(table, pid, met, m->object);
}
