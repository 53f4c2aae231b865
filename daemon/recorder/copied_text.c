/* SPDX-License-Identifier: MIT */
/*
 * Compares memory with the files around it; see copied_text.h.
 *
 *   /proc/PID/maps ─► memory without a file, r-x ─► the nearest file before and after it
 *        its program headers ─► where its text belongs ─► bytes compared ─► mapping of the file
 *
 * In most processes JIT code comes from a compiler, and a look at them finds nothing, so there are
 * pauses between looks (backoff.h). A look compares at most MOST_BYTES, which takes some 20 ms; the
 * next look compares the rest.
 */
#include "daemon/recorder/copied_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "daemon/recorder/backoff.h"
#include "proc/proc_fs.h"

#define PIECE_BYTES (UINT64_C(64) * 1024)
#define MOST_BYTES  (UINT64_C(32) * 1024 * 1024)
#define PAGE_BYTES  UINT64_C(4096)
#define MOST_MAPS   65536

struct map {
	struct object_mapping of; /* path: owned; NULL without a file */
	bool is_text;		  /* no file, executable, cannot be written */
};

struct copied_text {
	struct locator *locator;
	char *proc_root;
	struct backoff pauses;
	VEC(struct map)
	maps; /* mappings of files, and of code without a file, of the process that is looked at */
	uint8_t memory[PIECE_BYTES], file[PIECE_BYTES];
};

int copied_text_new(struct locator *locator, const char *proc_root, struct copied_text **ret_copied)
{
	struct copied_text *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->locator = locator;
	c->proc_root = strdup(proc_root);
	if (!c->proc_root) {
		free(c);
		return -ENOMEM;
	}
	*ret_copied = c;
	return 0;
}

static void drop_maps(struct copied_text *c)
{
	for (size_t i = 0; i < c->maps.count; i++)
		free((char *)c->maps.items[i].of.path);
	c->maps.count = 0;
}

void copied_text_free(struct copied_text *c)
{
	if (!c)
		return;
	drop_maps(c);
	free(c->maps.items);
	free(c->proc_root);
	backoff_fini(&c->pauses);
	free(c);
}

/* --- what is mapped ------------------------------------------------------------------------ */

static int add_map(void *arg, const struct proc_fs_map *m)
{
	struct copied_text *c = arg;
	bool is_file = m->path[0] == '/' && m->inode;
	struct map map = {
		.of = {.start = m->start,
		       .end = m->end,
		       .offset = m->offset,
		       .dev_major = m->dev_major,
		       .dev_minor = m->dev_minor,
		       .inode = m->inode},
		.is_text = !m->inode && !m->path[0] && m->executable && !m->writable,
	};

	if (!is_file && !map.is_text)
		return 0;
	if (c->maps.count >= MOST_MAPS)
		return -E2BIG;
	if (VEC_RESERVE(&c->maps, 1) || (is_file && !(map.of.path = strdup(m->path))))
		return -ENOMEM;
	c->maps.items[c->maps.count++] = map;
	return 0;
}

/* --- comparing ----------------------------------------------------------------------------- */

/* A segment's part of memory that is to be compared. */
struct part {
	pid_t pid;
	uint64_t start, end;	     /* addresses */
	uint64_t offset;	     /* file offset of `start` */
	const struct object *object; /* the file */
};

static bool is_same(struct copied_text *c, const struct part *p, uint64_t at, uint64_t len)
{
	return resident_memory_read_own_some(locator_memory(c->locator), p->pid, at, c->memory,
					     len) == len &&
	       elf_file_read_whole(p->object->elf, p->offset + (at - p->start), c->file, len) &&
	       !memcmp(c->memory, c->file, len);
}

/* Returns whether the table of mappings already has the `len` bytes at `at` as a copy of the file's
 * text. */
static bool is_known(const struct copied_text *c, const struct part *p, uint64_t at, uint64_t len)
{
	const struct mapping *m = locator_mapping(c->locator, p->pid, at);

	return m && m->is_copy && m->object == p->object && m->end >= at + len &&
	       m->offset + (at - m->start) == p->offset + (at - p->start);
}

/* Compares a part with the file, piece by piece, and enters equal pieces as mappings of the file.
 * *left is how many bytes may still be compared. Returns 1 if it entered any, 0 or -ENOMEM. */
static int compare(struct copied_text *c, const struct part *p, uint64_t *left)
{
	int found = 0;

	for (uint64_t at = p->start, len; at < p->end && *left; at += len) {
		struct mapping m = {.start = at,
				    .offset = p->offset + (at - p->start),
				    .object = p->object,
				    .is_copy = true};

		len = PIECE_BYTES - at % PIECE_BYTES;
		len = len < p->end - at ? len : p->end - at;
		m.end = at + len;
		if (is_known(c, p, at, len))
			continue;
		*left -= len < *left ? len : *left;
		if (!is_same(c, p, at, len))
			continue;
		if (locator_set_mapping(c->locator, p->pid, &m))
			return -ENOMEM;
		found = 1;
	}
	return found;
}

/* Computes the load bias of a file (address minus vaddr) from one of its mappings, if that mapping
 * can be a part of the segment `load`. false: it cannot. */
static bool find_bias(const struct map *file, const Elf64_Phdr *load, uint64_t *ret_bias)
{
	uint64_t first = load->p_offset & ~(PAGE_BYTES - 1);

	if (load->p_type != PT_LOAD || file->of.offset < first ||
	    file->of.offset >= load->p_offset + load->p_filesz)
		return false;
	*ret_bias = file->of.start - file->of.offset + load->p_offset - load->p_vaddr;
	return true;
}

/* Counts the mappings of a file that fit a load bias. */
static unsigned count_explained(const struct copied_text *c, const struct map *file,
				const Elf64_Phdr *loads, size_t count, uint64_t bias)
{
	unsigned explained = 0;

	for (size_t i = 0; i < c->maps.count; i++) {
		const struct map *m = &c->maps.items[i];
		bool is_explained = false;
		uint64_t other;

		if (!m->of.path || m->of.inode != file->of.inode ||
		    m->of.dev_major != file->of.dev_major || m->of.dev_minor != file->of.dev_minor)
			continue;
		for (size_t k = 0; k < count && !is_explained; k++)
			is_explained = find_bias(m, &loads[k], &other) && other == bias;
		explained += is_explained;
	}
	return explained;
}

/* Chooses the load bias of a mapped file. The page at the mapping's offset may belong to two
 * segments, each of which gives another bias. Takes the bias that fits most mappings of the file;
 * false: two biases fit equally many, or there is none. With a wrong bias, padding could compare as
 * equal. */
static bool choose_bias(const struct copied_text *c, const struct map *file,
			const Elf64_Phdr *loads, size_t count, uint64_t *ret_bias)
{
	unsigned most = 0;
	bool is_only = false;
	uint64_t bias;

	for (size_t i = 0; i < count; i++) {
		unsigned explained;

		if (!find_bias(file, &loads[i], &bias) || (most && bias == *ret_bias))
			continue;
		explained = count_explained(c, file, loads, count, bias);
		is_only = explained != most && (explained > most || is_only);
		if (explained > most) {
			most = explained;
			*ret_bias = bias;
		}
	}
	return is_only;
}

/* Compares a text with a file's segment, where they overlap. 1: copied text was found, 0 or
 * -ENOMEM. */
static int compare_with(struct copied_text *c, pid_t pid, const struct map *text,
			const struct object *object, uint64_t bias, const Elf64_Phdr *load,
			uint64_t *left)
{
	uint64_t start = bias + load->p_vaddr, end = start + load->p_filesz;
	struct part part = {.pid = pid, .object = object};

	if (load->p_type != PT_LOAD || !(load->p_flags & PF_X) || end <= start)
		return 0;
	part.start = start > text->of.start ? start : text->of.start;
	part.end = end < text->of.end ? end : text->of.end;
	part.offset = load->p_offset + (part.start - start);
	return part.end > part.start ? compare(c, &part, left) : 0;
}

/* Compares a text with the file that is mapped beside it. 1: copied text was found, 0 or
 * -ENOMEM. */
static int compare_file(struct copied_text *c, pid_t pid, const struct map *text,
			const struct map *file, uint64_t *left)
{
	const struct object *object;
	const Elf64_Phdr *loads;
	size_t count;
	uint64_t bias = 0;
	int err = locator_resolve(c->locator, pid, &file->of, &object), found = 0;

	if (err)
		return err == -ENOMEM ? err : 0;
	if (object->kind != OBJECT_ELF || !object->elf)
		return 0;
	loads = elf_file_program_headers(object->elf, &count);
	if (!choose_bias(c, file, loads, count, &bias))
		return 0;
	for (size_t i = 0; i < count && err >= 0; i++) {
		err = compare_with(c, pid, text, object, bias, &loads[i], left);
		found |= err > 0;
	}
	return err < 0 ? err : found;
}

/* --- looks --------------------------------------------------------------------------------- */

/* If the table of mappings has a file where /proc/PID/maps has memory without a file, enters a
 * mapping of JIT code there. mremap() has moved the memory over the file's mapping, which the
 * kernel does not report. 0 or -ENOMEM. */
static int correct(struct copied_text *c, pid_t pid, const struct map *text)
{
	const struct mapping *m = locator_mapping(c->locator, pid, text->of.start);
	struct mapping made = {.start = text->of.start, .end = text->of.end};
	int err;

	if (!m || m->object->kind != OBJECT_ELF || m->is_copy)
		return 0;
	made.offset = made.start;
	err = locator_made(c->locator, pid, &made.object);
	return err ? err : locator_set_mapping(c->locator, pid, &made);
}

/* Compares the text at an index with the files before and after it. */
static int look_at(struct copied_text *c, pid_t pid, size_t index, uint64_t *left)
{
	const struct map *maps = c->maps.items;
	size_t before = index, after = index + 1;
	int err = correct(c, pid, &maps[index]), found = 0;

	while (before && !maps[before - 1].of.path)
		before--;
	while (after < c->maps.count && !maps[after].of.path)
		after++;
	if (!err && before)
		err = compare_file(c, pid, &maps[index], &maps[before - 1], left);
	found |= err > 0;
	if (err >= 0 && after < c->maps.count)
		err = compare_file(c, pid, &maps[index], &maps[after], left);
	return err < 0 ? err : found | (err > 0);
}

/* Looks for copied text in all mappings of a process. 1: it was found, 0 or -ENOMEM. */
static int look(struct copied_text *c, pid_t pid)
{
	uint64_t left = MOST_BYTES;
	int err = proc_fs_each_map(c->proc_root, pid, add_map, c), found = 0;

	if (err)
		return err == -ENOMEM ? err : 0;
	for (size_t i = 0; i < c->maps.count && err >= 0; i++) {
		err = c->maps.items[i].is_text ? look_at(c, pid, i, &left) : 0;
		found |= err > 0;
	}
	return err < 0 ? err : found;
}

int copied_text_look(struct copied_text *c, pid_t pid, uint64_t time_ns, bool is_file)
{
	int found = backoff_are_over(&c->pauses, pid, time_ns, is_file);

	if (found <= 0)
		return found;
	found = look(c, pid);
	drop_maps(c);
	backoff_begin(&c->pauses, pid, time_ns, found > 0);
	return found;
}
