/* SPDX-License-Identifier: MIT */
/* Reading .btloc and .btedge; see tag_records.h. */
#include "tag/tag_records.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <string.h>

#define VERSION	     1
#define MAX_RECORD   65536
#define MAX_SECTIONS 65536

/* Records as they stand in the file, little-endian as the machine that reads them. */
struct record_head {
	uint32_t size;
	uint16_t version, flags;
};

struct loc_record {
	struct record_head head;
	uint64_t id, vaddr, shape;
	char names[];
};

struct edge_record {
	struct record_head head;
	uint64_t caller, callee;
};

#define LEAST_LOC 40

/* Advances *at to the next record and gives its head. 1; 0: there is none; -EBADMSG. */
static int next_record(const uint8_t *bytes, size_t len, size_t least, size_t *at,
		       struct record_head *ret_head)
{
	static const uint8_t padding[8];
	struct record_head head;

	while (len - *at >= 8 && !memcmp(bytes + *at, padding, 8))
		*at += 8;
	if (len == *at)
		return 0;
	if (len - *at < sizeof(head))
		return -EBADMSG;
	memcpy(&head, bytes + *at, sizeof(head));
	if (head.size % 8 || head.size < least || head.size > MAX_RECORD || head.size > len - *at)
		return -EBADMSG;
	*ret_head = head;
	return 1;
}

static bool read_loc(const uint8_t *bytes, const struct record_head *head, struct tag_loc *ret_loc)
{
	const struct loc_record *record = (const struct loc_record *)bytes;
	size_t room = head->size - offsetof(struct loc_record, names);
	size_t name = strnlen(record->names, room), file;

	if (name == room)
		return false;
	file = strnlen(record->names + name + 1, room - name - 1);
	if (file == room - name - 1)
		return false;
	*ret_loc = (struct tag_loc){
		.flags = head->flags,
		.name = record->names,
		.file = record->names + name + 1,
	};
	memcpy(&ret_loc->id, &record->id, 8);
	memcpy(&ret_loc->vaddr, &record->vaddr, 8);
	memcpy(&ret_loc->shape, &record->shape, 8);
	return true;
}

int tag_records_locs(const void *bytes, size_t len,
		     int (*each)(void *arg, const struct tag_loc *loc), void *arg)
{
	struct record_head head;
	size_t at = 0;
	int r;

	while ((r = next_record(bytes, len, LEAST_LOC, &at, &head)) > 0) {
		struct tag_loc loc;

		if (head.version == VERSION) {
			if (!read_loc((const uint8_t *)bytes + at, &head, &loc))
				return -EBADMSG;
			r = each(arg, &loc);
			if (r)
				return r;
		}
		at += head.size;
	}
	return r;
}

int tag_records_edges(const void *bytes, size_t len,
		      int (*each)(void *arg, const struct tag_edge *edge), void *arg)
{
	struct record_head head;
	size_t at = 0;
	int r;

	while ((r = next_record(bytes, len, sizeof(struct edge_record), &at, &head)) > 0) {
		struct edge_record record;
		struct tag_edge edge;

		if (head.version == VERSION) {
			memcpy(&record, (const uint8_t *)bytes + at, sizeof(record));
			edge = (struct tag_edge){record.caller, record.callee, head.flags};
			r = each(arg, &edge);
			if (r)
				return r;
		}
		at += head.size;
	}
	return r;
}

int tag_records_section(const struct elf_file *file, const char *name, const void **ret_bytes,
			size_t *ret_len)
{
	Elf *elf = elf_file_libelf(file);
	Elf_Scn *section = NULL;
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings))
		return -ENOENT;
	for (int i = 0; i < MAX_SECTIONS && (section = elf_nextscn(elf, section)); i++) {
		GElf_Shdr shdr;
		const char *is;
		Elf_Data *data;

		if (!gelf_getshdr(section, &shdr))
			continue;
		is = elf_strptr(elf, strings, shdr.sh_name);
		if (!is || strcmp(is, name) || shdr.sh_type == SHT_NOBITS)
			continue;
		data = elf_rawdata(section, NULL);
		if (!data || (data->d_size && !data->d_buf))
			return -EBADMSG;
		*ret_bytes = data->d_buf;
		*ret_len = data->d_size;
		return 0;
	}
	return -ENOENT;
}
