/* SPDX-License-Identifier: MIT */
/* Reads the tables that libjvm.so exports for debuggers; see vm_layout.h. */
#include "runtime/hotspot/vm_layout.h"

#include <errno.h>
#include <string.h>

#include "elf/elf_file.h"
#include "elf/elf_export.h"

#define MOST_ENTRIES 2048 /* of a table; those of 25 have 600 */
#define TEXT_ROOM    64
#define SMALL	     65536 /* limit of the size of a type */

/* An entry of gHotSpotVMStructs, and one of gHotSpotVMTypes. */
struct field_entry {
	uint64_t type, field, type_string;
	uint32_t is_static, pad;
	uint64_t offset, address;
};

struct type_entry {
	uint64_t name, super;
	uint32_t flags[4];
	uint64_t size;
};

struct vm_file {
	const struct elf_file *file;
	uint64_t bias;
	const struct runtime_memory *memory;
};

/* Reads a C string to which the process has a pointer: it is in the file. Longer ones are cut,
 * since no name that is looked for is as long. */
static bool read_text(const struct vm_file *f, uint64_t address, char ret_text[TEXT_ROOM])
{
	uint64_t offset;
	int64_t got = -1;

	if (elf_file_vaddr_to_offset(f->file, address - f->bias, &offset))
		got = elf_file_read(f->file, offset, ret_text, TEXT_ROOM - 1);
	if (got <= 0)
		return false;
	ret_text[got] = '\0';
	return true;
}

static uint64_t *size_of_type(struct vm_layout *l, const char *name)
{
	return strcmp(name, "ConstMethod") == 0	   ? &l->const_method
	       : strcmp(name, "ConstantPool") == 0 ? &l->constant_pool
	       : strcmp(name, "HeapBlock") == 0	   ? &l->heap_block
						   : NULL;
}

static int read_types(const struct vm_file *f, uint64_t table, struct vm_layout *l)
{
	struct type_entry entry;
	char name[TEXT_ROOM];

	for (unsigned i = 0; i < MOST_ENTRIES; i++) {
		uint64_t *size;

		if (!f->memory->read(f->memory->arg, table + i * sizeof(entry), &entry,
				     sizeof(entry)))
			return -EAGAIN;
		if (!entry.name)
			return 0;
		size = read_text(f, entry.name, name) ? size_of_type(l, name) : NULL;
		if (size)
			*size = entry.size;
	}
	return -EINVAL;
}

/* Notes a field, if it is one of VM_FIELDS. */
static void note_field(const struct field_entry *entry, const char *type, const char *field,
		       struct vm_layout *l)
{
	static const struct {
		const char *type, *other, *field;
	} wanted[] = {
#define X(NAME, t, o, f) {t, o, f},
		VM_FIELDS(X)
#undef X
	};

	for (unsigned i = 0; i < VM_FIELD_COUNT; i++) {
		if (strcmp(field, wanted[i].field) != 0 ||
		    (strcmp(type, wanted[i].type) != 0 && strcmp(type, wanted[i].other) != 0))
			continue;
		if (entry->is_static)
			l->at[i] = entry->address;
		else if (entry->offset < VM_MAX_OFFSET)
			l->at[i] = entry->offset;
	}
}

static int read_fields(const struct vm_file *f, uint64_t table, struct vm_layout *l)
{
	struct field_entry entry;
	char type[TEXT_ROOM], field[TEXT_ROOM];

	for (unsigned i = 0; i < MOST_ENTRIES; i++) {
		if (!f->memory->read(f->memory->arg, table + i * sizeof(entry), &entry,
				     sizeof(entry)))
			return -EAGAIN;
		if (!entry.type)
			return 0;
		if (read_text(f, entry.type, type) && read_text(f, entry.field, field))
			note_field(&entry, type, field, l);
	}
	return -EINVAL;
}

static bool has_all(const struct vm_layout *l)
{
	static const enum vm_field always[] = {
		VM_VERSION,	  VM_HEAPS,	  VM_LOW,	   VM_HIGH,
		VM_ARRAY_LEN,	  VM_ARRAY_DATA,  VM_HEAP_MEMORY,  VM_HEAP_SEGMAP,
		VM_HEAP_LOG2,	  VM_SPACE_LOW,	  VM_SPACE_HIGH,   VM_SPACE_END,
		VM_BLOCK_USED,	  VM_BLOB_NAME,	  VM_BLOB_SIZE,	   VM_METHOD,
		VM_COMPILE_ID,	  VM_PCS,	  VM_CONST_METHOD, VM_CONSTANTS,
		VM_CONST_SIZE,	  VM_CODE_SIZE,	  VM_NAME_INDEX,   VM_SIGNATURE_INDEX,
		VM_HOLDER,	  VM_POOL_LENGTH, VM_KLASS_NAME,   VM_METHODS,
		VM_SYMBOL_LENGTH, VM_SYMBOL_BODY,
	};

	for (unsigned i = 0; i < sizeof(always) / sizeof(*always); i++) {
		if (l->at[always[i]] == VM_ABSENT)
			return false;
	}
	return (l->at[VM_BLOB_CODE_BEGIN] != VM_ABSENT ||
		l->at[VM_BLOB_CODE_OFFSET] != VM_ABSENT) &&
	       l->const_method && l->const_method < SMALL && l->constant_pool &&
	       l->constant_pool < SMALL && l->heap_block && l->heap_block < SMALL;
}

/* Gives the address of a table, from the exported variable that points to it. */
static int find_table(const struct vm_file *f, const char *name, uint64_t *ret_table)
{
	uint64_t vaddr;
	int err = elf_export_find(f->file, name, &vaddr);

	if (err)
		return err;
	if (!f->memory->read(f->memory->arg, f->bias + vaddr, ret_table, sizeof(*ret_table)))
		return -EAGAIN;
	return *ret_table ? 0 : -EAGAIN;
}

int vm_layout_read(const struct elf_file *file, uint64_t bias, const struct runtime_memory *memory,
		   struct vm_layout *ret_layout)
{
	const struct vm_file f = {file, bias, memory};
	struct vm_layout l = {.version = 0};
	uint64_t fields, types;
	int err = find_table(&f, "gHotSpotVMStructs", &fields);

	memset(l.at, 0xff, sizeof(l.at));
	if (!err)
		err = find_table(&f, "gHotSpotVMTypes", &types);
	if (!err)
		err = read_fields(&f, fields, &l);
	if (!err)
		err = read_types(&f, types, &l);
	if (err)
		return err;
	if (!has_all(&l))
		return -EINVAL;
	if (!memory->read(memory->arg, l.at[VM_VERSION], &l.version, sizeof(l.version)))
		return -EAGAIN;
	if (!l.version)
		return -EAGAIN;
	if (l.version < 11 || l.version > 1000)
		return -EINVAL;
	*ret_layout = l;
	return 0;
}
