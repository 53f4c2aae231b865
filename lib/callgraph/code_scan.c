/* SPDX-License-Identifier: MIT */
/*
 * Tables of a scan: functions, slots, names; see code_scan.h.
 *
 *   .eh_frame_hdr   functions, made disjoint: one that lies in another is cut off
 *   symbols         functions that have no unwind entry
 *   relocations     which slot of the GOT holds which name, which functions data points to
 *                   names, and what other files can call
 *
 * Compilers split functions: what is unlikely goes elsewhere, with an entry of its own. Such a part
 * is told by its symbol ("f.cold"), or by being jumped to by one function only, into which it jumps
 * back, or at a start that no function has (functions are aligned).
 */
#include "callgraph/code_scan.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "sym/unwind_bounds.h"
#include "callgraph/code_scan_state.h"
#include "callgraph/tagged_functions.h"

#define CODE_SCAN_MAX_SLOTS (1u << 22)
#define CODE_SCAN_MAX_DATA  ((uint64_t)1 << 28) /* bytes looked through for addresses */
#define CODE_SCAN_ALIGNED   16

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

/* The stubs of the PLT have unwind entries, too, and are no functions. */
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

/* Sorted, each cut off where the next one begins. */
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

static int symbol_function(struct code_scanner *s, const GElf_Sym *sym)
{
	struct code_function f = {.start = sym->st_value, .end = sym->st_value + sym->st_size};

	if (GELF_ST_TYPE(sym->st_info) != STT_FUNC || sym->st_shndx == SHN_UNDEF ||
	    f.end <= f.start || s->functions.count > CODE_SCAN_MAX_SLOTS)
		return 0;
	if (VEC_RESERVE(&s->functions, 1) < 0)
		return -ENOMEM;
	s->functions.items[s->functions.count++] = f;
	return 0;
}

/* Those that symbols know and no unwind entry covers. */
static int symbol_functions(struct code_scanner *s, size_t n_sorted)
{
	Elf *elf = elf_file_libelf(s->file);
	Elf_Scn *scn = NULL;
	int r = 0;

	while (r == 0 && (scn = elf_nextscn(elf, scn))) {
		Elf_Data *data;
		GElf_Shdr shdr;
		GElf_Sym sym;

		if (!gelf_getshdr(scn, &shdr) ||
		    (shdr.sh_type != SHT_SYMTAB && shdr.sh_type != SHT_DYNSYM))
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 1; r == 0 && data && gelf_getsym(data, i, &sym); i++)
			if (search(s->functions.items, n_sorted, sym.st_value) == CODE_SCAN_NONE)
				r = symbol_function(s, &sym);
	}
	return r;
}

static int code_scan_functions(struct code_scanner *s)
{
	Elf *elf = elf_file_libelf(s->file);
	struct unwind_bounds *bounds = NULL;
	int r = unwind_bounds_new(s->file, &bounds);

	for (size_t i = 0; r == 0 && i < unwind_bounds_count(bounds); i++) {
		struct code_function f = {0};

		if (!unwind_bounds_at(bounds, i, &f.start, &f.end) ||
		    !code_scan_is_code(elf, f.start))
			continue;
		r = VEC_RESERVE(&s->functions, 1);
		if (r == 0)
			s->functions.items[s->functions.count++] = f;
	}
	unwind_bounds_free(bounds);
	disjoin(s);
	if (r == 0)
		r = symbol_functions(s, s->functions.count);
	disjoin(s);
	return r < 0 || s->functions.count ? r : -ENODATA;
}

static int name_functions(struct code_scanner *s)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < s->functions.count; i++) {
		struct code_function *f = &s->functions.items[i];
		const char *name;
		uint64_t start;

		f->part_of = i;
		if (symtab_find(s->symtab, f->start, &name, &start) && start == f->start)
			r = strings_intern(s->names, name, &f->name);
	}
	return r;
}

/* --- relocations and data ------------------------------------------------------------------ */

static void take(struct code_scanner *s, uint32_t function)
{
	if (function != CODE_SCAN_NONE)
		s->functions.items[function].flags |= CODE_TAKEN;
}

/* Whether a symbol is a function of this file; its name, if it is any function's. */
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
	bool stays = rela->r_offset >= s->relro_start && rela->r_offset < s->relro_end;
	int r = 0;

	switch (GELF_R_TYPE(rela->r_info)) {
	case R_X86_64_RELATIVE:
	case R_X86_64_IRELATIVE:
		slot.function = code_scanner_start(s, (uint64_t)rela->r_addend);
		break;
	case R_X86_64_JUMP_SLOT:
	case R_X86_64_GLOB_DAT:
	case R_X86_64_64:
		stays |= GELF_R_TYPE(rela->r_info) != R_X86_64_64;
		slot.function = symbol(s, shdr->sh_link, GELF_R_SYM(rela->r_info), &name);
		break;
	default:
		return 0;
	}
	if (GELF_R_TYPE(rela->r_info) != R_X86_64_JUMP_SLOT) /* that is called, and nothing else */
		take(s, slot.function);
	if (stays && name && *name)
		r = strings_intern(s->names, name, &slot.name);
	if (r < 0 || !stays || (!slot.name && slot.function == CODE_SCAN_NONE) ||
	    s->slots.count >= CODE_SCAN_MAX_SLOTS)
		return r;
	r = VEC_RESERVE(&s->slots, 1);
	if (r == 0)
		s->slots.items[s->slots.count++] = slot;
	return r;
}

/* Words of a file that is linked for one address: those that are a function's start are taken for
 * its address. */
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
		   uint64_t *looked_bytes)
{
	bool is_rela = shdr->sh_type == SHT_RELA;
	bool is_data =
		s->is_fixed && (shdr->sh_type == SHT_PROGBITS || shdr->sh_type == SHT_INIT_ARRAY ||
				shdr->sh_type == SHT_FINI_ARRAY);
	Elf_Data *data;
	int r = 0;

	if (!(shdr->sh_flags & SHF_ALLOC) || shdr->sh_flags & SHF_EXECINSTR ||
	    (!is_rela && !is_data))
		return 0;
	data = elf_getdata(scn, NULL);
	if (!data || !data->d_buf)
		return 0;
	*looked_bytes += data->d_size;
	if (*looked_bytes > CODE_SCAN_MAX_DATA)
		return -E2BIG;
	if (is_data)
		code_scan_words(s, data);
	for (size_t i = 0; is_rela && r == 0 && i < data->d_size / sizeof(Elf64_Rela); i++) {
		GElf_Rela rela;

		if (gelf_getrela(data, (int)i, &rela))
			r = relocation(s, shdr, &rela);
	}
	return r;
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
	uint64_t looked_bytes = 0;
	int r = 0;

	relro(s);

	while (r == 0 && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;

		if (gelf_getshdr(scn, &shdr))
			r = section(s, scn, &shdr, &looked_bytes);
	}
	if (s->slots.count)
		qsort(s->slots.items, s->slots.count, sizeof(*s->slots.items), compare_slots);
	return r;
}

/* --- exports ------------------------------------------------------------------------------- */

static int export(struct code_scanner *s, const char *name, uint64_t vaddr)
{
	struct code_export e = {.function = code_scanner_start(s, vaddr)};
	int r;

	if (e.function == CODE_SCAN_NONE || !name || !*name ||
	    s->exports.count > CODE_SCAN_MAX_SLOTS)
		return 0;
	s->functions.items[e.function].flags |= CODE_PUBLIC;
	r = strings_intern(s->names, name, &e.name);
	if (r == 0)
		r = VEC_RESERVE(&s->exports, 1);
	if (r == 0)
		s->exports.items[s->exports.count++] = e;
	return r;
}

static int code_scan_exports(struct code_scanner *s)
{
	Elf *elf = elf_file_libelf(s->file);
	Elf_Scn *scn = NULL;
	int r = 0;

	while (r == 0 && (scn = elf_nextscn(elf, scn))) {
		Elf_Data *data;
		GElf_Shdr shdr;
		GElf_Sym sym;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_DYNSYM)
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 1; r == 0 && data && gelf_getsym(data, i, &sym); i++)
			if (sym.st_shndx != SHN_UNDEF && GELF_ST_BIND(sym.st_info) != STB_LOCAL)
				r = export(s, elf_strptr(elf, shdr.sh_link, sym.st_name),
					   sym.st_value);
	}
	return r;
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
	uint32_t *jumper = calloc(s->functions.count + 1, sizeof(*jumper)); /* plus 1; ~0: many */

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

/* A part of a part belongs to the whole. */
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
	int r = strings_new(&s->names);

	if (r == 0)
		r = strings_intern(s->names, "", &none);
	if (r == 0)
		r = strings_intern(s->names, "__cyg_profile_func_enter", &s->hook_enter);
	if (r == 0)
		r = strings_intern(s->names, "__cyg_profile_func_exit", &s->hook_exit);
	if (r == 0)
		r = symtab_new(s->file, NULL, &s->symtab);
	return r;
}

/* A file that is cut short lacks its section headers, which stand at its end. */
static bool is_cut(const struct elf_file *file)
{
	Elf *elf = elf_file_libelf(file);
	GElf_Ehdr ehdr;
	size_t n;

	return gelf_getehdr(elf, &ehdr) && ehdr.e_shoff && (elf_getshdrnum(elf, &n) || !n);
}

static int code_scan_run(struct code_scanner *s)
{
	int r = is_cut(s->file) ? -EBADMSG : begin(s);

	if (r == 0)
		r = code_scan_functions(s);
	if (r == 0)
		r = name_functions(s);
	if (r < 0)
		return r;
	s->jumps_into = calloc(s->functions.count + 1, sizeof(*s->jumps_into));
	if (!s->jumps_into)
		return -ENOMEM;
	memset(s->jumps_into, 0xff, (s->functions.count + 1) * sizeof(*s->jumps_into));
	r = code_scan_data(s);
	if (r == 0)
		r = code_scan_exports(s);
	if (r == 0)
		r = code_decode(s);
	if (r == 0)
		r = parts(s);
	if (r == 0)
		code_scan_whole(s);
	return r;
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
	int r = code_scan_run(&s);
	struct code_scan scan = code_scan_finish(&s);

	symtab_free(s.symtab);
	free(s.slots.items);
	free(s.jumps_into);
	if (r < 0)
		code_scan_release(&scan);
	else
		*ret_scan = scan;
	return r;
}
