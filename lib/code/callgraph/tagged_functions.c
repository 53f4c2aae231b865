/* SPDX-License-Identifier: MIT */
/*
 * Finds functions that keep a tag; see tagged_functions.h.
 *
 * An address belongs to the function whose unwind entry covers it, since entries and functions
 * start at the same addresses. Symbols are needed only for the cold part of a function ("f.cold"),
 * which has an entry of its own, and for code without an entry. They are read when the first such
 * address is looked up.
 */
#include "callgraph/tagged_functions.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "arch/flow_insn.h"
#include "base/hash.h"
#include "sym/symtab.h"
#include "sym/unwind_bounds.h"
#include "callgraph/plugin_sections.h"

#define MAX_SYMBOLS    (1u << 22)
#define MAX_HEADERS    1024
#define MAX_NOTE_BYTES 65536
/* limit of the bytes of code that are decoded by tagged_functions_is_window() */
#define WINDOW_BYTES 256

struct tagged_functions {
	const struct elf_file *file; /* borrowed */
	struct unwind_bounds *bounds;
	struct symtab *symtab;		 /* NULL: it was not needed so far */
	struct plugin_sections sections; /* of .btloc; its functions are sorted by vaddr */
	bool is_listed;			 /* by .btloc; else all functions keep a tag */
	uint64_t runtime[2];		 /* vaddrs of the two hooks (the runtime), which keep no
					  * tag; 0: not in this file */
	uint64_t file_id;		 /* used in ids of functions that are not listed */
};

/* --- construction ----------------------------------------------------------------------------- */

static int by_vaddr(const void *a, const void *b)
{
	const struct plugin_function *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

static int read_list(struct tagged_functions *f)
{
	struct plugin_sections_fault fault;
	int err = plugin_sections_read(f->file, &f->sections, &fault);

	if (err)
		return err;
	f->is_listed = true;
	if (f->sections.n_functions)
		qsort(f->sections.functions, f->sections.n_functions,
		      sizeof(*f->sections.functions), by_vaddr);
	return 0;
}

/* Returns whether the strings of a symbol table contain names like those of the hooks. Few files
 * have such names, and to compare the name of each symbol would take ten times as long. */
static bool may_name_runtime(Elf *elf, const GElf_Shdr *symbols)
{
	static const char start[] = "__cyg_profile_func_e";
	Elf_Scn *section = elf_getscn(elf, symbols->sh_link);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;

	return data && data->d_buf && memmem(data->d_buf, data->d_size, start, strlen(start));
}

/* Searches a symbol table for the two hooks. Returns whether the file calls them; sets their vaddrs
 * if the file defines them. */
static bool find_runtime(Elf *elf, Elf_Scn *section, uint64_t ret_runtime[2])
{
	static const char *const names[] = {"__cyg_profile_func_enter", "__cyg_profile_func_exit"};
	bool calls = false;
	GElf_Shdr shdr;
	Elf_Data *data;

	if (!gelf_getshdr(section, &shdr) ||
	    (shdr.sh_type != SHT_SYMTAB && shdr.sh_type != SHT_DYNSYM) ||
	    !may_name_runtime(elf, &shdr))
		return false;
	data = elf_getdata(section, NULL);
	for (int i = 0; data && i < (int)MAX_SYMBOLS; i++) {
		const char *is;
		GElf_Sym sym;

		if (!gelf_getsym(data, i, &sym))
			break;
		is = elf_strptr(elf, shdr.sh_link, sym.st_name);
		for (int which = 0; is && which < 2; which++) {
			if (strcmp(is, names[which]))
				continue;
			calls |= sym.st_shndx == SHN_UNDEF;
			ret_runtime[which] = sym.st_value;
		}
	}
	return calls;
}

/* Returns whether the file calls the hooks of -finstrument-functions, or is a program that includes
 * them. That a file defines them is not enough: the C library has empty functions of the same
 * names, and libstacktag.so has only the hooks. */
static bool calls_runtime(struct tagged_functions *f)
{
	struct elf_file *own;
	Elf_Scn *section = NULL;
	uint64_t note;
	bool calls = false;

	/* libelf keeps in memory all that was read through a handle; the memory of a clone can be
	 * freed. */
	if (elf_file_clone(f->file, &own))
		return false;
	while ((section = elf_nextscn(elf_file_libelf(own), section)))
		calls |= find_runtime(elf_file_libelf(own), section, f->runtime);
	elf_file_free(own);
	return calls || (f->runtime[0] && tagged_functions_note(f->file, &note) &&
			 elf_file_entry_vaddr(f->file));
}

int tagged_functions_new(const struct elf_file *file, struct tagged_functions **ret_functions)
{
	struct tagged_functions *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->file = file;
	f->file_id = tagged_functions_file_id(file);
	err = read_list(f);
	if (err == -ENODATA && calls_runtime(f))
		err = 0;
	if (!err)
		err = unwind_bounds_new(file, &f->bounds);
	if (err) {
		tagged_functions_free(f);
		return err;
	}
	*ret_functions = f;
	return 0;
}

void tagged_functions_free(struct tagged_functions *functions)
{
	if (!functions)
		return;
	unwind_bounds_free(functions->bounds);
	symtab_free(functions->symtab);
	plugin_sections_release(&functions->sections);
	free(functions);
}

/* --- lookup ----------------------------------------------------------------------------------- */

static const struct plugin_function *find_start(const struct tagged_functions *f, uint64_t vaddr)
{
	const struct plugin_function key = {.vaddr = vaddr};

	if (!f->sections.n_functions)
		return NULL;
	return bsearch(&key, f->sections.functions, f->sections.n_functions, sizeof(key), by_vaddr);
}

static bool find_symbol(struct tagged_functions *f, uint64_t vaddr, const char **ret_name,
			uint64_t *ret_start)
{
	if (!f->symtab && symtab_new(f->file, NULL, &f->symtab))
		return false;
	return symtab_find(f->symtab, vaddr, ret_name, ret_start) && *ret_name;
}

/* Returns the function NAME, if the symbol at a vaddr is "NAME.cold"; else NULL. */
static const struct plugin_function *find_cold(struct tagged_functions *f, uint64_t vaddr)
{
	static const char cold[] = ".cold";
	const char *name, *end;
	uint64_t start;

	if (!find_symbol(f, vaddr, &name, &start))
		return NULL;
	end = name + strlen(name);
	if (end - name < 5 || strcmp(end - 5, cold))
		return NULL;
	for (size_t i = 0; i < f->sections.n_functions; i++) {
		const struct plugin_function *is = &f->sections.functions[i];

		if (!strncmp(is->name, name, (size_t)(end - name) - 5) && !is->name[end - name - 5])
			return is;
	}
	return NULL;
}

uint64_t tagged_functions_file_id(const struct elf_file *file)
{
	uint8_t bytes[sizeof(Elf64_Phdr)];
	uint64_t hash = 0;
	Elf64_Ehdr header;
	size_t len;

	if (elf_file_build_id(file, &len) ||
	    elf_file_read(file, 0, &header, sizeof(header)) != sizeof(header))
		return elf_file_id(file);
	for (size_t i = 0; i < header.e_phnum && i < MAX_HEADERS; i++) {
		if (elf_file_read(file, header.e_phoff + i * sizeof(bytes), bytes, sizeof(bytes)) !=
		    sizeof(bytes))
			break;
		for (size_t k = 0; k < sizeof(bytes); k++)
			hash = hash_mix64(hash + bytes[k] + 1);
	}
	return hash ? hash : 1;
}

static bool find_unlisted(const struct tagged_functions *f, uint64_t start, uint64_t *ret_id)
{
	uint64_t offset;

	if (start == elf_file_entry_vaddr(f->file) || start == f->runtime[0] ||
	    start == f->runtime[1] || !elf_file_vaddr_to_offset(f->file, start, &offset))
		return false;
	*ret_id = hash_mix64(hash_mix64(f->file_id) + offset);
	return true;
}

/* Finds the part of a function that contains a vaddr, by its unwind entry or, in files without
 * .eh_frame_hdr (static programs), by its symbol. Returns false if there is none. */
static bool find_part(struct tagged_functions *f, uint64_t vaddr, struct tagged_code *ret_part)
{
	uint64_t start = unwind_bounds_start(f->bounds, vaddr);
	uint64_t end = start ? unwind_bounds_end(f->bounds, vaddr) : vaddr + 1;
	const char *name;

	if (!start && !find_symbol(f, vaddr, &name, &start))
		return false;
	*ret_part = (struct tagged_code){.start = start, .end = end, .entry = start};
	return true;
}

bool tagged_functions_find(struct tagged_functions *f, uint64_t vaddr, struct tagged_code *ret_code)
{
	const struct plugin_function *function;
	struct tagged_code found;

	if (!find_part(f, vaddr, &found))
		return false;
	if (!f->is_listed) {
		if (!find_unlisted(f, found.start, &found.id))
			return false;
		*ret_code = found;
		return true;
	}
	function = find_start(f, found.start);
	if (!function)
		function = find_cold(f, vaddr);
	if (!function || function->flags & PLUGIN_FUNCTION_LEFT_OUT)
		return false;
	found.id = function->id;
	found.entry = function->vaddr;
	found.is_root = function->flags & PLUGIN_FUNCTION_ROOT;
	*ret_code = found;
	return true;
}

bool tagged_functions_is_runtime(struct tagged_functions *f, uint64_t vaddr)
{
	struct tagged_code part;

	return f->runtime[0] && find_part(f, vaddr, &part) &&
	       (part.start == f->runtime[0] || part.start == f->runtime[1]);
}

/* --- windows ---------------------------------------------------------------------------------- */

/* Calls `each` for the instructions from a vaddr on, over at most WINDOW_BYTES. If `each` returns a
 * value other than 0, stops and returns it. Returns 0 at the end of the code. */
static int each_instruction(const struct tagged_functions *f, uint64_t vaddr,
			    int (*each)(const struct flow_insn *is, uint64_t vaddr, uint64_t arg),
			    uint64_t arg)
{
	uint8_t code[WINDOW_BYTES + INSN_MAX_BYTES];
	struct insn_decoder decoder;
	uint64_t offset;
	int64_t len;
	int result = 0;

	if (!elf_file_vaddr_to_offset(f->file, vaddr, &offset))
		return 0;
	len = elf_file_read(f->file, offset, code, sizeof(code));
	insn_decoder_init(&decoder);
	for (int64_t at = 0; !result && at < len && at < WINDOW_BYTES;) {
		struct flow_insn is;

		if (!flow_insn_decode(&decoder, code + at, (size_t)(len - at), &is))
			return 0;
		result = each(&is, vaddr + (uint64_t)at, arg);
		at += is.length;
	}
	return result;
}

/* For each_instruction(): returns 1 at an instruction that sets the tag or ends the function, -1 at
 * another call or branch. */
static int find_change(const struct flow_insn *is, uint64_t vaddr, uint64_t arg)
{
	(void)vaddr;
	(void)arg;
	if (is->stores_to_thread || is->kind == FLOW_RETURN || is->kind == FLOW_JUMP)
		return 1;
	return is->kind == FLOW_CALL || is->kind == FLOW_BRANCH ? -1 : 0;
}

/* For each_instruction(): returns 1 at the address `until`, -1 at a call before it. A function's
 * first call is that of the hook. */
static int find_call(const struct flow_insn *is, uint64_t vaddr, uint64_t until)
{
	if (vaddr >= until)
		return 1;
	return is->kind == FLOW_CALL ? -1 : 0;
}

bool tagged_functions_is_window(struct tagged_functions *f, uint64_t vaddr)
{
	struct tagged_code part;

	if (each_instruction(f, vaddr, find_change, 0) > 0)
		return true;
	return !f->is_listed && find_part(f, vaddr, &part) &&
	       each_instruction(f, part.start, find_call, vaddr) > 0;
}

/* --- the note --------------------------------------------------------------------------------- */

/* Finds the vaddr of the note's word among the notes of a program header, whose bytes are linked
 * for `vaddr`. Returns false if there is no such note. */
static bool find_word(const uint8_t *bytes, size_t len, uint64_t vaddr, uint64_t *ret_word)
{
	size_t at = 0, desc, next;

	while (len - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		uint32_t version;
		int64_t distance;

		memcpy(&note, bytes + at, sizeof(note));
		if (note.n_namesz > len || note.n_descsz > len)
			return false;
		desc = at + sizeof(note) + ((note.n_namesz + 3) & ~3u);
		next = desc + ((note.n_descsz + 3) & ~3u);
		if (desc > len || next > len)
			return false;
		if (note.n_type == 1 && note.n_namesz == 9 && note.n_descsz >= 16 &&
		    !memcmp(bytes + at + sizeof(note), "stacktag", 9)) {
			memcpy(&version, bytes + desc, sizeof(version));
			memcpy(&distance, bytes + desc + 8, sizeof(distance));
			*ret_word = vaddr + desc + (uint64_t)distance;
			return version == 1;
		}
		at = next;
	}
	return false;
}

bool tagged_functions_note(const struct elf_file *file, uint64_t *ret_vaddr)
{
	Elf *elf = elf_file_libelf(file);
	size_t n;

	if (elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n && i < MAX_HEADERS; i++) {
		uint8_t *bytes;
		GElf_Phdr phdr;
		int64_t len;
		bool found;

		if (!gelf_getphdr(elf, (int)i, &phdr) || phdr.p_type != PT_NOTE ||
		    phdr.p_filesz > MAX_NOTE_BYTES)
			continue;
		bytes = malloc(phdr.p_filesz + 1);
		if (!bytes)
			return false;
		len = elf_file_read(file, phdr.p_offset, bytes, phdr.p_filesz);
		found = len > 0 && find_word(bytes, (size_t)len, phdr.p_vaddr, ret_vaddr);
		free(bytes);
		if (found)
			return true;
	}
	return false;
}
