/* SPDX-License-Identifier: MIT */
/*
 * Reads the tables of a scan; see code_scan.h.
 *
 *   .eh_frame_hdr   functions, made disjoint: each ends where the next one starts
 *   symbols         functions without an unwind entry, names, exports
 *   relocations     names of the slots of the GOT, functions to which data points
 *
 * Compilers move the unlikely code of a function elsewhere, with an unwind entry of its own. Such a
 * part is recognised by its symbol ("f.cold"), or if only one function jumps to it, and either the
 * part jumps back into that function, or its start is not aligned as functions are.
 */
#include "callgraph/code_scan.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "arch/target.h"
#include "callgraph/code_decode.h"
#include "callgraph/code_scanner.h"
#include "callgraph/tagged_functions.h"
#include "sym/unwind_bounds.h"

#define CODE_SCAN_MAX_SLOTS (1u << 22)
/* limit of the bytes that are searched for addresses */
#define CODE_SCAN_MAX_DATA ((uint64_t)1 << 28)
#define CODE_SCAN_ALIGNED  16

void code_scan_release(struct code_scan *scan)
{
	free(scan->functions);
	free(scan->calls);
	free(scan->exports);
	strings_free(scan->names);
	*scan = (struct code_scan){0};
}

/* --- finding ------------------------------------------------------------------------------- */

static uint32_t search(const struct code_function *functions, size_t n, uint64_t vaddr)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (functions[middle].start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low && vaddr < functions[low - 1].end ? (uint32_t)low - 1 : CODE_SCAN_NONE;
}

uint32_t code_scan_find(const struct code_scan *scan, uint64_t vaddr)
{
	return search(scan->functions, scan->n_functions, vaddr);
}

uint32_t code_scanner_find(const struct code_scanner *s, uint64_t vaddr)
{
	return search(s->functions.items, s->functions.count, vaddr);
}

uint32_t code_scanner_start(const struct code_scanner *s, uint64_t vaddr)
{
	uint32_t f = code_scanner_find(s, vaddr);

	return f != CODE_SCAN_NONE && s->functions.items[f].start == vaddr ? f : CODE_SCAN_NONE;
}

const struct code_slot *code_scanner_slot(const struct code_scanner *s, uint64_t vaddr)
{
	size_t low = 0, high = s->slots.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->slots.items[middle].vaddr < vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->slots.count && s->slots.items[low].vaddr == vaddr ? &s->slots.items[low]
									  : NULL;
}

/* --- functions ----------------------------------------------------------------------------- */

/* Returns whether a vaddr is outside of the PLT, whose stubs have unwind entries but are not
 * functions. */
static bool code_scan_is_code(Elf *elf, uint64_t vaddr)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return true;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr) || !(shdr.sh_flags & SHF_EXECINSTR) ||
		    vaddr < shdr.sh_addr || vaddr - shdr.sh_addr >= shdr.sh_size)
			continue;
		name = elf_strptr(elf, names, shdr.sh_name);
		return !name || (strncmp(name, ".plt", 4) != 0 && strcmp(name, ".iplt") != 0);
	}
	return true;
}

static int compare_functions(const void *a, const void *b)
{
	const struct code_function *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Sorts the functions and ends each where the next one starts. */
static void disjoin(struct code_scanner *s)
{
	struct code_function *f = s->functions.items;
	size_t kept = 0;

	if (!f)
		return;
	qsort(f, s->functions.count, sizeof(*f), compare_functions);
	for (size_t i = 0; i < s->functions.count; i++) {
		if (kept && f[i].start == f[kept - 1].start)
			continue;
		if (kept && f[i].start < f[kept - 1].end)
			f[kept - 1].end = f[i].start;
		f[kept++] = f[i];
	}
	s->functions.count = kept;
}

typedef int (*symbol_step)(struct code_scanner *s, size_t strings, const GElf_Sym *sym);

/* Calls `step` for every symbol of the file's tables, with the section of its strings. If `step`
 * returns a value other than 0, stops and returns it. */
static int each_symbol(struct code_scanner *s, bool dynamic_only, symbol_step step)
{
	Elf *elf = elf_file_libelf(s->file);
	Elf_Scn *scn = NULL;
	int err = 0;

	while (err == 0 && (scn = elf_nextscn(elf, scn))) {
		Elf_Data *data;
		GElf_Shdr shdr;
		GElf_Sym sym;

		if (!gelf_getshdr(scn, &shdr) ||
		    (shdr.sh_type != SHT_DYNSYM && (shdr.sh_type != SHT_SYMTAB || dynamic_only)))
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 1; err == 0 && data && gelf_getsym(data, i, &sym); i++)
			err = step(s, shdr.sh_link, &sym);
	}
	return err;
}

/* Adds the function of a symbol if no unwind entry covers it. */
static int symbol_function(struct code_scanner *s, size_t strings, const GElf_Sym *sym)
{
	struct code_function f = {.start = sym->st_value, .end = sym->st_value + sym->st_size};

	(void)strings;
	if (GELF_ST_TYPE(sym->st_info) != STT_FUNC || sym->st_shndx == SHN_UNDEF ||
	    f.end <= f.start || s->functions.count > CODE_SCAN_MAX_SLOTS ||
	    search(s->functions.items, s->n_unwind, sym->st_value) != CODE_SCAN_NONE)
		return 0;
	if (VEC_RESERVE(&s->functions, 1) < 0)
		return -ENOMEM;
	s->functions.items[s->functions.count++] = f;
	return 0;
}

static int code_scan_functions(struct code_scanner *s)
{
	Elf *elf = elf_file_libelf(s->file);
	struct unwind_bounds *bounds = NULL;
	int err = unwind_bounds_new(s->file, &bounds);

	for (size_t i = 0; err == 0 && i < unwind_bounds_count(bounds); i++) {
		struct code_function f = {0};

		if (!unwind_bounds_at(bounds, i, &f.start, &f.end) ||
		    !code_scan_is_code(elf, f.start))
			continue;
		err = VEC_RESERVE(&s->functions, 1);
		if (err == 0)
			s->functions.items[s->functions.count++] = f;
	}
	unwind_bounds_free(bounds);
	disjoin(s);
	s->n_unwind = s->functions.count;
	if (err == 0)
		err = each_symbol(s, false, symbol_function);
	disjoin(s);
	return err < 0 || s->functions.count ? err : -ENODATA;
}

static int name_functions(struct code_scanner *s)
{
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < s->functions.count; i++) {
		struct code_function *f = &s->functions.items[i];
		const char *name;
		uint64_t start;

		f->part_of = i;
		if (symtab_find(s->symtab, f->start, &name, &start) && start == f->start)
			err = strings_intern(s->names, name, &f->name);
	}
	return err;
}

/* --- relocations and data ------------------------------------------------------------------ */

static void take(struct code_scanner *s, uint32_t function)
{
	if (function != CODE_SCAN_NONE)
		s->functions.items[function].flags |= CODE_TAKEN;
}

/* Gives the name of a symbol, and returns the number of the function of this file that it defines;
 * CODE_SCAN_NONE: none. */
static uint32_t symbol(const struct code_scanner *s, size_t table, size_t index,
		       const char **ret_name)
{
	Elf *elf = elf_file_libelf(s->file);
	Elf_Scn *scn = elf_getscn(elf, table);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	GElf_Shdr shdr;
	GElf_Sym sym;

	*ret_name = NULL;
	if (!data || index > INT32_MAX || !gelf_getshdr(scn, &shdr) ||
	    !gelf_getsym(data, (int)index, &sym))
		return CODE_SCAN_NONE;
	*ret_name = elf_strptr(elf, shdr.sh_link, sym.st_name);
	return sym.st_shndx == SHN_UNDEF ? CODE_SCAN_NONE : code_scanner_start(s, sym.st_value);
}

static int relocation(struct code_scanner *s, const GElf_Shdr *shdr, const GElf_Rela *rela)
{
	struct code_slot slot = {.vaddr = rela->r_offset, .function = CODE_SCAN_NONE};
	const char *name = NULL;
	enum target_relocation kind = target_relocation((uint32_t)GELF_R_TYPE(rela->r_info));
	bool stays = rela->r_offset >= s->relro_start && rela->r_offset < s->relro_end;
	int err = 0;

	switch (kind) {
	case TARGET_RELOCATION_RELATIVE:
	case TARGET_RELOCATION_IRELATIVE:
		slot.function = code_scanner_start(s, (uint64_t)rela->r_addend);
		break;
	case TARGET_RELOCATION_JUMP_SLOT:
	case TARGET_RELOCATION_GLOB_DAT:
	case TARGET_RELOCATION_ADDRESS:
		stays |= kind != TARGET_RELOCATION_ADDRESS;
		slot.function = symbol(s, shdr->sh_link, GELF_R_SYM(rela->r_info), &name);
		break;
	default:
		return 0;
	}
	if (kind != TARGET_RELOCATION_JUMP_SLOT) /* a slot of the PLT is only called */
		take(s, slot.function);
	if (stays && name && *name)
		err = strings_intern(s->names, name, &slot.name);
	if (err < 0 || !stays || (!slot.name && slot.function == CODE_SCAN_NONE) ||
	    s->slots.count >= CODE_SCAN_MAX_SLOTS)
		return err;
	err = VEC_RESERVE(&s->slots, 1);
	if (err == 0)
		s->slots.items[s->slots.count++] = slot;
	return err;
}

/* Searches data of a file that is not position-independent for words that equal a function's start;
 * such a function's address counts as taken. */
static void code_scan_words(struct code_scanner *s, const Elf_Data *data)
{
	for (size_t at = 0; at + sizeof(uint64_t) <= data->d_size; at += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, (const uint8_t *)data->d_buf + at, sizeof(word));
		if (word >= s->functions.items[0].start)
			take(s, code_scanner_start(s, word));
	}
}

static int section(struct code_scanner *s, Elf_Scn *scn, const GElf_Shdr *shdr,
		   uint64_t *searched_bytes)
{
	bool is_rela = shdr->sh_type == SHT_RELA;
	bool is_data =
		s->is_fixed && (shdr->sh_type == SHT_PROGBITS || shdr->sh_type == SHT_INIT_ARRAY ||
				shdr->sh_type == SHT_FINI_ARRAY);
	Elf_Data *data;
	int err = 0;

	if (!(shdr->sh_flags & SHF_ALLOC) || shdr->sh_flags & SHF_EXECINSTR ||
	    (!is_rela && !is_data))
		return 0;
	data = elf_getdata(scn, NULL);
	if (!data || !data->d_buf)
		return 0;
	*searched_bytes += data->d_size;
	if (*searched_bytes > CODE_SCAN_MAX_DATA)
		return -E2BIG;
	if (is_data)
		code_scan_words(s, data);
	for (size_t i = 0; is_rela && err == 0 && i < data->d_size / sizeof(Elf64_Rela); i++) {
		GElf_Rela rela;

		if (gelf_getrela(data, (int)i, &rela))
			err = relocation(s, shdr, &rela);
	}
	return err;
}

static void relro(struct code_scanner *s)
{
	Elf *elf = elf_file_libelf(s->file);
	size_t n;

	if (elf_getphdrnum(elf, &n))
		return;
	for (size_t i = 0; i < n && i < 1024; i++) {
		GElf_Phdr phdr;

		if (!gelf_getphdr(elf, (int)i, &phdr) || phdr.p_type != PT_GNU_RELRO ||
		    phdr.p_memsz > UINT64_MAX - phdr.p_vaddr)
			continue;
		s->relro_start = phdr.p_vaddr;
		s->relro_end = phdr.p_vaddr + phdr.p_memsz;
	}
}

static int compare_slots(const void *a, const void *b)
{
	const struct code_slot *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

static int code_scan_data(struct code_scanner *s)
{
	Elf *elf = elf_file_libelf(s->file);
	Elf_Scn *scn = NULL;
	uint64_t searched_bytes = 0;
	int err = 0;

	relro(s);

	while (err == 0 && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;

		if (gelf_getshdr(scn, &shdr))
			err = section(s, scn, &shdr, &searched_bytes);
	}
	if (s->slots.count)
		qsort(s->slots.items, s->slots.count, sizeof(*s->slots.items), compare_slots);
	return err;
}

/* --- exports ------------------------------------------------------------------------------- */

static int export(struct code_scanner *s, size_t strings, const GElf_Sym *sym)
{
	const char *name = elf_strptr(elf_file_libelf(s->file), strings, sym->st_name);
	struct code_export e = {.function = code_scanner_start(s, sym->st_value)};
	int err;

	if (sym->st_shndx == SHN_UNDEF || GELF_ST_BIND(sym->st_info) == STB_LOCAL ||
	    e.function == CODE_SCAN_NONE || !name || !*name ||
	    s->exports.count > CODE_SCAN_MAX_SLOTS)
		return 0;
	s->functions.items[e.function].flags |= CODE_PUBLIC;
	err = strings_intern(s->names, name, &e.name);
	if (err == 0)
		err = VEC_RESERVE(&s->exports, 1);
	if (err == 0)
		s->exports.items[s->exports.count++] = e;
	return err;
}

/* --- parts --------------------------------------------------------------------------------- */

static bool is_named_part(const struct code_scanner *s, const struct code_function *f)
{
	const char *name = strings_at(s->names, f->name);
	size_t len = strlen(name);

	return len > 5 && strcmp(name + len - 5, ".cold") == 0;
}

static bool is_part(const struct code_scanner *s, uint32_t f, uint32_t jumper)
{
	const struct code_function *function = &s->functions.items[f];

	if (function->flags & (CODE_TAKEN | CODE_CALLED | CODE_PUBLIC))
		return false;
	return is_named_part(s, function) || s->jumps_into[f] == jumper ||
	       (!function->name && function->start % CODE_SCAN_ALIGNED);
}

static int parts(struct code_scanner *s)
{
	/* number of the function that jumps there plus 1; ~0: several do */
	uint32_t *jumper = calloc(s->functions.count + 1, sizeof(*jumper));

	if (!jumper)
		return -ENOMEM;
	for (uint32_t f = 0, c = 0; c < s->calls.count; c++) {
		const struct code_call *call = &s->calls.items[c];

		while (f + 1 < s->functions.count && s->functions.items[f + 1].first_call <= c)
			f++;
		if (call->kind != CODE_CALL_FUNCTION || !call->is_jump)
			continue;
		if (!jumper[call->target])
			jumper[call->target] = f + 1;
		else if (jumper[call->target] != f + 1)
			jumper[call->target] = UINT32_MAX;
	}
	for (uint32_t f = 0; f < s->functions.count; f++) {
		if (jumper[f])
			s->functions.items[f].flags &= ~(unsigned)CODE_FIRST;
		if (jumper[f] && jumper[f] != UINT32_MAX && jumper[f] != f + 1 &&
		    is_part(s, f, jumper[f] - 1))
			s->functions.items[f].part_of = jumper[f] - 1;
	}
	free(jumper);
	return 0;
}

/* Makes a part of a part belong to the whole function. */
static void code_scan_whole(struct code_scanner *s)
{
	struct code_function *f = s->functions.items;

	for (uint32_t i = 0; i < s->functions.count; i++) {
		uint32_t whole = f[i].part_of;

		for (unsigned hops = 0; f[whole].part_of != whole && hops < 8; hops++)
			whole = f[whole].part_of;
		f[i].part_of = f[whole].part_of == whole ? whole : i;
	}
}

/* --- the scan ------------------------------------------------------------------------------ */

static int begin(struct code_scanner *s)
{
	uint32_t none;
	int err = strings_new(&s->names);

	if (err == 0)
		err = strings_intern(s->names, "", &none);
	if (err == 0)
		err = strings_intern(s->names, "__cyg_profile_func_enter", &s->hook_enter);
	if (err == 0)
		err = strings_intern(s->names, "__cyg_profile_func_exit", &s->hook_exit);
	if (err == 0)
		err = symtab_new(s->file, NULL, &s->symtab);
	return err;
}

/* Returns whether the file is truncated, because its section headers, which are at the end, are
 * missing. */
static bool is_truncated(const struct elf_file *file)
{
	Elf *elf = elf_file_libelf(file);
	GElf_Ehdr ehdr;
	size_t n;

	return gelf_getehdr(elf, &ehdr) && ehdr.e_shoff && (elf_getshdrnum(elf, &n) || !n);
}

static int code_scan_run(struct code_scanner *s)
{
	int err = is_truncated(s->file) ? -EBADMSG : begin(s);

	if (err == 0)
		err = code_scan_functions(s);
	if (err == 0)
		err = name_functions(s);
	if (err < 0)
		return err;
	s->jumps_into = calloc(s->functions.count + 1, sizeof(*s->jumps_into));
	if (!s->jumps_into)
		return -ENOMEM;
	memset(s->jumps_into, 0xff, (s->functions.count + 1) * sizeof(*s->jumps_into));
	err = code_scan_data(s);
	if (err == 0)
		err = each_symbol(s, true, export);
	if (err == 0)
		err = code_decode_all(s);
	if (err == 0)
		err = parts(s);
	if (err == 0)
		code_scan_whole(s);
	return err;
}

static struct code_scan code_scan_finish(struct code_scanner *s)
{
	struct code_scan scan = s->scan;

	scan.file_id = elf_file_id(s->file);
	scan.hooks_id = tagged_functions_file_id(s->file);
	scan.functions = s->functions.items;
	scan.n_functions = s->functions.count;
	scan.calls = s->calls.items;
	scan.n_calls = s->calls.count;
	scan.exports = s->exports.items;
	scan.n_exports = s->exports.count;
	scan.names = s->names;
	return scan;
}

int code_scan_read(const struct elf_file *file, struct code_scan *ret_scan)
{
	struct code_scanner s = {.file = file, .is_fixed = !elf_file_is_position_independent(file)};
	int err = code_scan_run(&s);
	struct code_scan scan = code_scan_finish(&s);

	symtab_free(s.symtab);
	free(s.slots.items);
	free(s.jumps_into);
	if (err < 0)
		code_scan_release(&scan);
	else
		*ret_scan = scan;
	return err;
}
