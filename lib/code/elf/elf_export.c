/* SPDX-License-Identifier: MIT */
/* Looks a symbol up in a GNU hash table; see elf_export.h. */
#include "elf/elf_export.h"

#include <errno.h>
#include <string.h>

#define MOST_DYNAMIC 512 /* entries of the dynamic section that are read */
#define MOST_CHAIN   64	 /* symbols of one bucket that are compared; linkers make a few of them */
#define NAME_ROOM    256

struct export_tables {
	const struct elf_file *file;
	uint64_t symbols, strings, hash; /* vaddrs */
};

static bool read_at(const struct elf_file *file, uint64_t vaddr, void *buf, size_t len)
{
	uint64_t offset;

	return elf_file_vaddr_to_offset(file, vaddr, &offset) &&
	       elf_file_read_whole(file, offset, buf, len);
}

static bool find_tables(const struct elf_file *file, struct export_tables *ret_tables)
{
	struct export_tables t = {.file = file};
	uint64_t dynamic;
	Elf64_Dyn entry;

	if (!elf_file_header_vaddr(file, PT_DYNAMIC, &dynamic))
		return false;
	for (unsigned i = 0; i < MOST_DYNAMIC; i++) {
		if (!read_at(file, dynamic + i * sizeof(entry), &entry, sizeof(entry)) ||
		    entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_SYMTAB)
			t.symbols = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_STRTAB)
			t.strings = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_GNU_HASH)
			t.hash = entry.d_un.d_ptr;
	}
	*ret_tables = t;
	return t.symbols && t.strings && t.hash;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

/* Returns whether a symbol is defined and has the name. */
static bool is_symbol(const struct export_tables *t, uint32_t index, const char *name,
		      uint64_t *ret_vaddr)
{
	size_t len = strlen(name) + 1;
	char text[NAME_ROOM];
	Elf64_Sym symbol;

	if (len > sizeof(text) ||
	    !read_at(t->file, t->symbols + (uint64_t)index * sizeof(symbol), &symbol,
		     sizeof(symbol)) ||
	    symbol.st_shndx == SHN_UNDEF ||
	    !read_at(t->file, t->strings + symbol.st_name, text, len) ||
	    memcmp(text, name, len) != 0)
		return false;
	*ret_vaddr = symbol.st_value;
	return true;
}

int elf_export_find(const struct elf_file *file, const char *name, uint64_t *ret_vaddr)
{
	const uint32_t wanted = hash_of(name);
	struct {
		uint32_t buckets, first, bloom_words, shift;
	} head;
	struct export_tables t;
	uint64_t buckets, chains;
	uint32_t index, hash;

	if (!find_tables(file, &t) || !read_at(file, t.hash, &head, sizeof(head)) || !head.buckets)
		return -ENOENT;
	buckets = t.hash + sizeof(head) + (uint64_t)head.bloom_words * 8;
	chains = buckets + (uint64_t)head.buckets * 4;
	if (!read_at(file, buckets + (uint64_t)(wanted % head.buckets) * 4, &index,
		     sizeof(index)) ||
	    index < head.first)
		return -ENOENT;
	for (unsigned i = 0; i < MOST_CHAIN; i++, index++) {
		if (!read_at(file, chains + (uint64_t)(index - head.first) * 4, &hash,
			     sizeof(hash)))
			return -ENOENT;
		if ((hash | 1) == (wanted | 1) && is_symbol(&t, index, name, ret_vaddr))
			return 0;
		if (hash & 1)
			return -ENOENT;
	}
	return -ENOENT;
}
