/* SPDX-License-Identifier: MIT */
/* The recorded kernel; see import_kernel.h. */
#include "perf/import_kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "proc/mapping_set.h"

#define KERNEL_NAME "[kernel.kallsyms]"
#define KASLR_ALIGN ((uint64_t)2 << 20) /* kernels are moved by multiples of this */

struct symbol {
	uint64_t start, end; /* addresses */
	char *name;	     /* owned */
};

struct import_kernel {
	struct perfdata *reader;
	const struct utsname *machine;
	struct object_table *objects;
	struct mapping_set *maps;
	uint32_t n_maps; /* mmap and ksymbol records so far */
	/* symbols of the running kernel; NULL: it is not the recorded kernel, or they cannot be
	 * read */
	struct kallsyms *ksyms;
	bool is_checked;
	VEC(struct symbol) symbols; /* BPF programs; sorted when `is_sorted` */
	bool is_sorted;
	const struct object *bpf;
};

int import_kernel_new(struct perfdata *reader, const struct utsname *machine,
		      struct object_table *objects, struct import_kernel **ret_kernel)
{
	struct import_kernel *k = calloc(1, sizeof(*k));

	if (!k)
		return -ENOMEM;
	k->reader = reader;
	k->machine = machine;
	k->objects = objects;
	k->maps = mapping_set_new();
	if (!k->maps) {
		free(k);
		return -ENOMEM;
	}
	*ret_kernel = k;
	return 0;
}

void import_kernel_free(struct import_kernel *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->symbols.count; i++)
		free(k->symbols.items[i].name);
	free(k->symbols.items);
	mapping_set_unref(k->maps);
	kallsyms_free(k->ksyms);
	free(k);
}

const struct kallsyms *import_kernel_kallsyms(const struct import_kernel *k)
{
	return k->ksyms;
}

/* --- the running kernel ---------------------------------------------------------------------- */

static bool same_build_id(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
	return a_len == b_len && !memcmp(a, b, a_len);
}

static const struct kallsyms_part *part_named(const struct kallsyms *ksyms, const char *name)
{
	for (size_t i = 0; i < kallsyms_part_count(ksyms); i++)
		if (!strcmp(kallsyms_part_at(ksyms, i)->name, name))
			return kallsyms_part_at(ksyms, i);
	return NULL;
}

/* Returns whether the running kernel, whose symbols are `ksyms`, is the recorded one. */
static bool is_running(struct import_kernel *k, const struct kallsyms *ksyms)
{
	const struct perfdata_info *info = perfdata_info(k->reader);
	const struct kallsyms_part *part = part_named(ksyms, KERNEL_NAME);
	size_t len;
	const uint8_t *build_id = perfdata_build_id(k->reader, KERNEL_NAME, &len);

	if (!part)
		return false;
	if (build_id && part->build_id_len)
		return same_build_id(build_id, len, part->build_id, part->build_id_len);
	return !strcmp(info->kernel, k->machine->release) &&
	       !strcmp(info->host, k->machine->nodename);
}

/* Loads the running kernel's symbols, unless it is not the recorded kernel. Compares the releases
 * first, because loading is slow. */
static void load_running(struct import_kernel *k)
{
	const struct kallsyms_options options = {.proc_root = "/proc", .sys_root = "/sys"};

	if (k->is_checked)
		return;
	k->is_checked = true;
	if (strcmp(perfdata_info(k->reader)->kernel, k->machine->release))
		return;
	if (kallsyms_load(&options, &k->ksyms))
		return;
	if (!is_running(k, k->ksyms)) {
		kallsyms_free(k->ksyms);
		k->ksyms = NULL;
	}
}

/* --- parts ----------------------------------------------------------------------------------- */

/* Converts "/lib/modules/6.1/kernel/fs/ext4/ext4.ko.xz" to the name in kallsyms: "[ext4]". */
static void module_name(const char *path, char *ret_name, size_t size)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t len = strcspn(base, ".");

	if (*path == '[') {
		snprintf(ret_name, size, "%s", path);
		return;
	}
	snprintf(ret_name, size, "[%.*s]", (int)(len < size ? len : size - 1), base);
	for (char *c = ret_name; *c; c++)
		if (*c == '-')
			*c = '_';
}

static bool is_kernel_itself(const char *path)
{
	return !strncmp(path, KERNEL_NAME, strlen(KERNEL_NAME)) || !strcmp(path, "[kernel]");
}

/* Fills in the object of a mapping, except for its path, which is set already, and gives the offset
 * in the object at which the mapping starts. */
static void describe(struct import_kernel *k, const struct perfdata_mmap *m, bool is_kernel,
		     struct object *ret_object, uint64_t *ret_offset)
{
	const struct kallsyms_part *part = NULL;
	const uint8_t *build_id = m->build_id;
	size_t len = m->build_id_len;
	uint64_t reference = is_kernel && m->offset ? m->offset : m->start;

	if (is_kernel)
		build_id = perfdata_build_id(k->reader, KERNEL_NAME, &len);
	if (k->ksyms)
		part = part_named(k->ksyms, ret_object->path);
	if (part && len && part->build_id_len &&
	    !same_build_id(build_id, len, part->build_id, part->build_id_len))
		part = NULL; /* the module was rebuilt after the recording */
	if (part) {
		build_id = part->build_id;
		len = part->build_id_len;
	}
	if (build_id)
		memcpy(ret_object->build_id, build_id, len);
	ret_object->build_id_len = (uint8_t)len;
	ret_object->address = part ? part->start : is_kernel ? reference : 0;
	*ret_offset = m->start - reference;
	if (part && is_kernel) {
		uint64_t moved = part->start - reference + KASLR_ALIGN / 2;

		moved -= moved % KASLR_ALIGN;
		*ret_offset = m->start + moved - part->start;
	}
}

int import_kernel_mmap(struct import_kernel *k, const struct perfdata_mmap *m)
{
	bool is_kernel = is_kernel_itself(m->path);
	struct object object = {.kind = is_kernel ? OBJECT_KERNEL : OBJECT_MODULE};
	struct mapping map = {.start = m->start, .end = m->start + m->len};
	char name[256];
	int err;

	if (++k->n_maps > IMPORT_KERNEL_MAX_MAPS)
		return -E2BIG;
	if (map.end < map.start)
		map.end = UINT64_MAX;
	load_running(k);
	module_name(is_kernel ? KERNEL_NAME : m->path, name, sizeof(name));
	object.path = name;
	describe(k, m, is_kernel, &object, &map.offset);
	err = object_table_add(k->objects, &object, &map.object);
	return err ? err : mapping_set_insert(k->maps, &map);
}

bool import_kernel_find(const struct import_kernel *k, uint64_t address,
			const struct object **ret_object, uint64_t *ret_offset)
{
	uint32_t hint = 0;
	const struct mapping *m = mapping_set_find(k->maps, address, &hint);

	if (!m)
		return false;
	*ret_object = m->object;
	*ret_offset = address - m->start + m->offset;
	return true;
}

/* --- BPF programs ---------------------------------------------------------------------------- */

int import_kernel_symbol(struct import_kernel *k, const struct perfdata_ksymbol *s)
{
	struct object object = {.kind = OBJECT_MODULE, .path = (char *)"[bpf]"};
	struct mapping map = {.start = s->start, .end = s->start + s->len, .offset = s->start};
	struct symbol symbol = {.start = map.start, .end = map.end};
	int err = 0;

	if (map.end <= map.start || s->is_gone)
		return map.end > map.start ? mapping_set_cut(k->maps, map.start, map.end) : 0;
	if (++k->n_maps > IMPORT_KERNEL_MAX_MAPS)
		return -E2BIG;
	if (!k->bpf)
		err = object_table_add(k->objects, &object, &k->bpf);
	if (!err)
		err = VEC_RESERVE(&k->symbols, 1);
	if (err)
		return err;
	map.object = k->bpf;
	symbol.name = strdup(s->name);
	if (!symbol.name)
		return -ENOMEM;
	k->symbols.items[k->symbols.count++] = symbol;
	k->is_sorted = false;
	return mapping_set_insert(k->maps, &map);
}

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

const char *import_kernel_name(struct import_kernel *k, const struct object *object,
			       uint64_t offset, uint64_t *ret_start)
{
	size_t low = 0, high = k->symbols.count;

	if (!k->bpf || object != k->bpf)
		return NULL;
	if (!k->is_sorted)
		qsort(k->symbols.items, high, sizeof(*k->symbols.items), compare_symbols);
	k->is_sorted = true;
	while (low < high) { /* find the first symbol that starts after `offset` */
		size_t middle = low + (high - low) / 2;

		if (k->symbols.items[middle].start <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || offset >= k->symbols.items[low - 1].end)
		return NULL;
	*ret_start = k->symbols.items[low - 1].start;
	return k->symbols.items[low - 1].name;
}
