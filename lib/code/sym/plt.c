/* SPDX-License-Identifier: MIT */
/*
 * Names PLT stubs; see plt.h.
 *
 * Linkers lay out PLTs in many ways (lazy or not, with or without the mark of an entry, with second
 * PLTs), and counting entries against relocations would fail with each new way. So every entry is
 * decoded (arch/code_form.h), and a relocation gives its name:
 *
 *   jump through a slot       the name of the relocation that fills the slot
 *   push the index; jump      the name of .rela.plt's entry `index`, whose slot has the stub's
 *                             address until it is bound
 *
 * An entry that does neither (the first one, which calls the dynamic linker) has no name. If
 * IRELATIVE fills a slot, it belongs to an indirect function of the file itself, and is named after
 * the resolver, which is the indirect function's symbol.
 */
#include "sym/plt.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/code_form.h"
#include "arch/target.h"
#include "base/buf.h"
#include "base/vec.h"
#include "sym/symtab.h"

#define MAX_RELOCATIONS	    (4 * 1024 * 1024)
#define RELOCATIONS_AT_ONCE 2048u
#define MAX_STUBS	    (1024 * 1024)
#define MAX_STUB_BYTES	    16		/* of each */
#define MAX_NAME_BYTES	    (64 * 1024) /* of one name */
#define MAX_NAMES_BYTES	    (256 * 1024 * 1024)

struct slot {
	uint64_t vaddr; /* of the GOT entry */
	const char *name;
};

struct slots {
	struct slot *at;
	size_t n, cap;
};

struct stub {
	uint64_t start, end;
	size_t name; /* offset into names */
};

struct plt {
	struct stub *stubs; /* by start */
	size_t n_stubs, cap_stubs;
	struct buf names;
};

/* The state of one scan of the stubs. */
struct scan {
	const struct elf_file *file;
	Elf *elf;
	size_t section_names;
	const struct symtab *symtab;
	struct slots all;  /* sorted by vaddr */
	struct slots lazy; /* .rela.plt in its order */
	struct plt *plt;
};

/* --- relocations --------------------------------------------------------------------------- */

static int append_slot(struct slots *slots, struct slot slot)
{
	if (VEC_GROW(slots->at, slots->cap, slots->n + 1) < 0)
		return -ENOMEM;
	slots->at[slots->n++] = slot;
	return 0;
}

static const char *symbol_name(const struct scan *scan, size_t symtab_index, uint64_t index)
{
	Elf_Scn *scn = elf_getscn(scan->elf, symtab_index);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	GElf_Shdr shdr;
	GElf_Sym sym;

	if (!data || !data->d_buf || index > INT32_MAX || !gelf_getshdr(scn, &shdr) ||
	    !gelf_getsym(data, (int)index, &sym))
		return NULL;
	return elf_strptr(scan->elf, shdr.sh_link, sym.st_name);
}

/* Returns the function that a relocation puts into its slot; NULL if it is another kind of
 * relocation. */
static const char *relocation_name(const struct scan *scan, const GElf_Shdr *shdr,
				   const Elf64_Rela *rela)
{
	const char *name;
	uint64_t start;

	switch (target_relocation((uint32_t)GELF_R_TYPE(rela->r_info))) {
	case TARGET_RELOCATION_JUMP_SLOT:
	case TARGET_RELOCATION_GLOB_DAT:
		return symbol_name(scan, shdr->sh_link, GELF_R_SYM(rela->r_info));
	case TARGET_RELOCATION_IRELATIVE:
		if (symtab_find(scan->symtab, (uint64_t)rela->r_addend, &name, &start))
			return start == (uint64_t)rela->r_addend ? name : NULL;
		return NULL;
	default:
		return NULL;
	}
}

static int add_relocation(struct scan *scan, const GElf_Shdr *shdr, const Elf64_Rela *rela,
			  bool is_lazy)
{
	struct slot slot = {.vaddr = rela->r_offset};
	int err = 0;

	slot.name = relocation_name(scan, shdr, rela);
	if (slot.name && *slot.name)
		err = append_slot(&scan->all, slot);
	if (!err && is_lazy)
		err = append_slot(&scan->lazy, slot);
	return err;
}

/* Reads relocations piece by piece: they have many megabytes, and few of them fill slots. */
static int load_relocations(struct scan *scan, const GElf_Shdr *shdr, bool is_lazy)
{
	Elf64_Rela piece[RELOCATIONS_AT_ONCE];
	uint64_t n = shdr->sh_size / sizeof(*piece);
	int err = 0;

	for (uint64_t at = 0; !err && at < n; at += RELOCATIONS_AT_ONCE) {
		uint64_t count = n - at < RELOCATIONS_AT_ONCE ? n - at : RELOCATIONS_AT_ONCE;
		int64_t bytes = elf_file_read(scan->file, shdr->sh_offset + at * sizeof(*piece),
					      piece, count * sizeof(*piece));

		if (bytes < (int64_t)sizeof(*piece))
			break;
		count = (uint64_t)bytes / sizeof(*piece);
		for (uint64_t i = 0; !err && i < count && scan->all.n < MAX_RELOCATIONS &&
				     scan->lazy.n < MAX_RELOCATIONS;
		     i++)
			err = add_relocation(scan, shdr, &piece[i], is_lazy);
	}
	return err;
}

static int compare_slots(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

static const char *slot_name(const struct slots *slots, uint64_t vaddr)
{
	struct slot key = {.vaddr = vaddr};
	const struct slot *slot;

	if (!slots->n)
		return NULL;
	slot = bsearch(&key, slots->at, slots->n, sizeof(*slots->at), compare_slots);
	return slot ? slot->name : NULL;
}

/* --- stubs --------------------------------------------------------------------------------- */

/* Returns the name of the stub that pushes a relocation's index. */
static const char *lazy_name(const struct scan *scan, uint32_t index, uint64_t vaddr)
{
	const struct slot *slot;
	uint64_t offset, target;

	if (index >= scan->lazy.n)
		return NULL;
	slot = &scan->lazy.at[index];
	if (!elf_file_vaddr_to_offset(scan->file, slot->vaddr, &offset) ||
	    elf_file_read(scan->file, offset, &target, sizeof(target)) != sizeof(target))
		return NULL;
	return target == vaddr ? slot->name : NULL;
}

/* Returns the name of the function that the stub of `len` bytes at `vaddr` leads to. */
static const char *decode(const struct scan *scan, const uint8_t *code, size_t len, uint64_t vaddr)
{
	uint64_t slot;
	uint32_t index;

	if (code_form_stub_slot(code, len, vaddr, &slot))
		return slot_name(&scan->all, slot);
	return code_form_stub_index(code, len, &index) ? lazy_name(scan, index, vaddr) : NULL;
}

static int add_stub(struct plt *plt, uint64_t start, size_t len, const char *name)
{
	size_t name_len = strnlen(name, MAX_NAME_BYTES);

	if (plt->n_stubs == MAX_STUBS || plt->names.len > MAX_NAMES_BYTES)
		return 0;
	if (VEC_GROW(plt->stubs, plt->cap_stubs, plt->n_stubs + 1) < 0)
		return -ENOMEM;
	plt->stubs[plt->n_stubs++] =
		(struct stub){.start = start, .end = start + len, .name = plt->names.len};
	buf_put(&plt->names, name, name_len);
	buf_put(&plt->names, "@plt", sizeof("@plt"));
	return plt->names.failed ? -ENOMEM : 0;
}

/* Returns whether code begins with a stub's jump. */
static bool is_jump(const uint8_t *code)
{
	uint64_t slot;

	return code_form_stub_slot(code, CODE_FORM_JUMP, 0, &slot);
}

/* Returns the size of an entry, which linkers do not always set. */
static size_t stride_of(const uint8_t *code, size_t len, const GElf_Shdr *shdr)
{
	if (shdr->sh_entsize == 8 || len < 16)
		return 8;
	return is_jump(code) && is_jump(code + 8) ? 8 : 16;
}

static int decode_stubs(struct scan *scan, const GElf_Shdr *shdr, const uint8_t *code, size_t len)
{
	size_t stride = stride_of(code, len, shdr);
	int err = 0;

	for (size_t at = 0; !err && at + stride <= len; at += stride) {
		uint64_t vaddr = shdr->sh_addr + at;
		const char *name = decode(scan, code + at, stride, vaddr);

		if (name)
			err = add_stub(scan->plt, vaddr, stride, name);
	}
	return err;
}

static int load_stubs(struct scan *scan, const GElf_Shdr *shdr)
{
	uint8_t *code;
	int64_t len;
	int err;

	if (shdr->sh_size > (uint64_t)MAX_STUBS * MAX_STUB_BYTES ||
	    shdr->sh_size > UINT64_MAX - shdr->sh_addr)
		return 0;
	code = malloc(shdr->sh_size + MAX_STUB_BYTES);
	if (!code)
		return -ENOMEM;
	len = elf_file_read(scan->file, shdr->sh_offset, code, shdr->sh_size);
	err = len > 0 ? decode_stubs(scan, shdr, code, (size_t)len) : 0;
	free(code);
	return err;
}

static int compare_stubs(const void *a, const void *b)
{
	const struct stub *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* --- building ------------------------------------------------------------------------------ */

static int visit_relocations(struct scan *scan, const GElf_Shdr *shdr, const char *name)
{
	if (shdr->sh_type != SHT_RELA || !(shdr->sh_flags & SHF_ALLOC))
		return 0;
	return load_relocations(scan, shdr, !strcmp(name, ".rela.plt"));
}

static int visit_stubs(struct scan *scan, const GElf_Shdr *shdr, const char *name)
{
	if (shdr->sh_type != SHT_PROGBITS || !(shdr->sh_flags & SHF_EXECINSTR))
		return 0;
	if (strncmp(name, ".plt", 4) != 0 && strcmp(name, ".iplt") != 0)
		return 0;
	return load_stubs(scan, shdr);
}

static int each_section(struct scan *scan,
			int (*visit)(struct scan *, const GElf_Shdr *, const char *))
{
	Elf_Scn *scn = NULL;
	int err = 0;

	while (!err && (scn = elf_nextscn(scan->elf, scn))) {
		const char *name;
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr))
			continue;
		name = elf_strptr(scan->elf, scan->section_names, shdr.sh_name);
		if (name)
			err = visit(scan, &shdr, name);
	}
	return err;
}

static int add_slots(struct scan *scan)
{
	int err = 0;

	for (size_t i = 0; !err && i < scan->all.n; i++)
		err = add_stub(scan->plt, scan->all.at[i].vaddr, 8, scan->all.at[i].name);
	return err;
}

static int load(struct scan *scan, bool slots)
{
	int err;

	if (elf_getshdrstrndx(scan->elf, &scan->section_names))
		return 0;
	err = each_section(scan, visit_relocations);
	if (!err && scan->all.n) {
		qsort(scan->all.at, scan->all.n, sizeof(*scan->all.at), compare_slots);
		err = each_section(scan, visit_stubs);
	}
	if (!err && slots)
		err = add_slots(scan);
	if (!err && scan->plt->n_stubs)
		qsort(scan->plt->stubs, scan->plt->n_stubs, sizeof(*scan->plt->stubs),
		      compare_stubs);
	return err;
}

int plt_new(const struct elf_file *file, const struct symtab *symtab, bool slots,
	    struct plt **ret_plt)
{
	struct scan scan = {.file = file, .elf = elf_file_libelf(file), .symtab = symtab};
	int err;

	scan.plt = calloc(1, sizeof(*scan.plt));
	err = scan.plt ? load(&scan, slots) : -ENOMEM;
	free(scan.all.at);
	free(scan.lazy.at);
	if (err) {
		plt_free(scan.plt);
		return err;
	}
	*ret_plt = scan.plt;
	return 0;
}

void plt_free(struct plt *plt)
{
	if (!plt)
		return;
	free(plt->stubs);
	buf_free(&plt->names);
	free(plt);
}

bool plt_find(const struct plt *plt, uint64_t vaddr, const char **ret_name, uint64_t *ret_start)
{
	size_t low = 0, high = plt->n_stubs;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (plt->stubs[mid].start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || vaddr >= plt->stubs[low - 1].end)
		return false;
	*ret_name = (const char *)plt->names.data + plt->stubs[low - 1].name;
	*ret_start = plt->stubs[low - 1].start;
	return true;
}
