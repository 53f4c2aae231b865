/* SPDX-License-Identifier: MIT */
/* Searches a file's strings; see library_names.h. */
#include "elf/library_names.h"

#include <ctype.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HEADERS 1024
#define MAX_BYTES   (64ull << 20) /* limit of the bytes of a file that are searched */
#define MAX_NAMES   256
#define MAX_NAME    128
#define BLOCK	    65536

struct search {
	const struct elf_file *file;
	int (*each)(void *arg, const char *name);
	void *arg;
	uint64_t left; /* bytes */
	unsigned n_names;
	size_t len; /* length of the current string; MAX_NAME: it is no name */
	char name[MAX_NAME + 1];
	unsigned char block[BLOCK];
};

/* Returns whether a name is like "libx.so" or "x.so.1.2", where only numbers follow ".so". */
static bool is_name(const char *name)
{
	const char *at = strstr(name, ".so");

	return at && at > name && (isalnum((unsigned char)*name) || *name == '_') &&
	       !at[3 + strspn(at + 3, ".0123456789")];
}

static int end_string(struct search *s)
{
	int err = 0;

	s->name[s->len] = '\0';
	if (s->len > 3 && s->len < MAX_NAME && is_name(s->name)) {
		s->n_names++;
		err = s->each(s->arg, s->name);
	}
	s->len = 0;
	return err;
}

static int take_bytes(struct search *s, size_t count)
{
	int err = 0;

	for (size_t i = 0; i < count && !err && s->n_names < MAX_NAMES; i++) {
		unsigned char c = s->block[i];

		if (!c)
			err = end_string(s);
		else if (s->len < MAX_NAME && isgraph(c) && c != '/')
			s->name[s->len++] = (char)c;
		else
			s->len = MAX_NAME;
	}
	return err;
}

static int take_segment(struct search *s, const GElf_Phdr *phdr)
{
	uint64_t at = phdr->p_offset, left = phdr->p_filesz;
	int err = 0;

	s->len = MAX_NAME; /* the bytes before the segment are not known, so they may belong to
			    * the first string */
	while (left && s->left && !err && s->n_names < MAX_NAMES) {
		size_t want = left < BLOCK ? (size_t)left : BLOCK;
		int64_t got = elf_file_read(s->file, at, s->block, want);

		if (got <= 0)
			break;
		err = take_bytes(s, (size_t)got);
		at += (uint64_t)got;
		left -= (uint64_t)got;
		s->left -= (uint64_t)got < s->left ? (uint64_t)got : s->left;
	}
	return err;
}

int library_names_each(const struct elf_file *file, int (*each)(void *arg, const char *name),
		       void *arg)
{
	struct search *s = calloc(1, sizeof(*s));
	Elf *elf = elf_file_libelf(file);
	size_t n = 0;
	int err = 0;

	if (!s)
		return -ENOMEM;
	s->file = file;
	s->each = each;
	s->arg = arg;
	s->left = MAX_BYTES;
	if (elf_getphdrnum(elf, &n))
		n = 0;
	for (size_t i = 0; i < n && i < MAX_HEADERS && !err; i++) {
		GElf_Phdr phdr;

		if (!gelf_getphdr(elf, (int)i, &phdr))
			break;
		if (phdr.p_type == PT_LOAD && !(phdr.p_flags & PF_W))
			err = take_segment(s, &phdr);
	}
	free(s);
	return err;
}
