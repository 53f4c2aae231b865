/* SPDX-License-Identifier: MIT */
/*
 * Finds symbols by address; see symtab.h.
 *
 * All symbols in executable sections, from .symtab and .dynsym of both files, are sorted by
 * address, the best alias first, and added to a range map:
 *
 *   - A symbol with a size covers just that, cut at the end of its section. If symbols nest, the
 *     innermost names the address.
 *   - A symbol without a size (assembly) extends up to the next symbol of any kind, the end of its
 *     unwind entry or the end of the section, whichever comes first. In a stripped file most
 *     functions have no symbol, and only the unwind entry prevents that the symbol covers them.
 *     Inside a symbol with a size it is a label, and names nothing.
 *   - Data in executable sections is in the map without a name, so that no function before it
 *     extends over it.
 *
 * PLT stubs have no symbols: plt.c names them, and is queried first.
 *
 * The files are not trusted: names are only used as libelf has checked them, addresses must be
 * within their section, and the number of symbols is bounded.
 */
#include "sym/symtab.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "sym/alias_rank.h"
#include "sym/plt.h"
#include "sym/range_map.h"
#include "sym/unwind_bounds.h"

#define MAX_SYMBOLS (4 * 1024 * 1024) /* the largest browsers have 2 million */

struct symbol {
	uint64_t start, end; /* vaddrs; end == start: no size */
	uint64_t limit;	     /* end of the section */
	const char *name;    /* borrowed; NULL: data */
	uint16_t rank;	     /* among aliases (alias_rank.h): higher is better */
};

struct symtab {
	struct symbol *symbols;
	size_t n_symbols, cap_symbols;
	struct range_map map; /* of indexes into symbols */
	struct plt *plt;
};

/* --- reading ------------------------------------------------------------------------------- */

/* Gives the section header of a symbol that is in an executable section. */
static bool section_of(Elf *elf, const GElf_Sym *sym, GElf_Shdr *ret_shdr)
{
	Elf_Scn *scn;

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx >= SHN_LORESERVE)
		return false;
	scn = elf_getscn(elf, sym->st_shndx);
	if (!scn || !gelf_getshdr(scn, ret_shdr))
		return false;
	return (ret_shdr->sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR) &&
	       sym->st_value >= ret_shdr->sh_addr &&
	       sym->st_value - ret_shdr->sh_addr < ret_shdr->sh_size &&
	       ret_shdr->sh_size <= UINT64_MAX - ret_shdr->sh_addr;
}

/* Returns whether a name is one of the linker's marks at the start and end of a section, which have
 * no type. */
static bool is_mark(const char *name)
{
	return !strncmp(name, "__start_", 8) || !strncmp(name, "__stop_", 7);
}

/* Returns whether a symbol is a mapping symbol: $x where code begins, $d where data in it does,
 * also with a suffix ($x.1). Assemblers of some processors write them; they are no functions, and
 * no function ends there. */
static bool is_mapping_symbol(const GElf_Sym *sym, const char *name)
{
	return GELF_ST_TYPE(sym->st_info) == STT_NOTYPE &&
	       GELF_ST_BIND(sym->st_info) == STB_LOCAL && !sym->st_size && name[0] == '$' &&
	       (name[1] == 'x' || name[1] == 'd') && (!name[2] || name[2] == '.');
}

static int append(struct symtab *t, const struct symbol *symbol)
{
	if (VEC_GROW(t->symbols, t->cap_symbols, t->n_symbols + 1) < 0)
		return -ENOMEM;
	t->symbols[t->n_symbols++] = *symbol;
	return 0;
}

static uint16_t rank_of(const GElf_Sym *sym, const char *name, bool is_exported)
{
	return alias_rank(name,
			  &(struct alias){.binding = GELF_ST_BIND(sym->st_info),
					  .is_label = GELF_ST_TYPE(sym->st_info) == STT_NOTYPE,
					  .is_exported = is_exported});
}

static int add_symbol(struct symtab *t, Elf *elf, const GElf_Sym *sym, const GElf_Shdr *table)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);
	struct symbol symbol = {.start = sym->st_value, .end = sym->st_value};
	GElf_Shdr shdr;
	const char *name;

	if (type == STT_SECTION || type == STT_FILE || type == STT_TLS)
		return 0;
	if (!section_of(elf, sym, &shdr))
		return 0;
	symbol.limit = shdr.sh_addr + shdr.sh_size;
	symbol.end += sym->st_size < symbol.limit - symbol.start ? sym->st_size
								 : symbol.limit - symbol.start;
	name = elf_strptr(elf, table->sh_link, sym->st_name);
	if (!name || !*name || !strncmp(name, ".L", 2) || is_mapping_symbol(sym, name))
		return 0;
	if (type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && !is_mark(name))) {
		symbol.name = name;
		symbol.rank = rank_of(sym, name, table->sh_type == SHT_DYNSYM);
	}
	return append(t, &symbol);
}

static int load_table(struct symtab *t, Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n =
		data && data->d_buf ? data->d_size / gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT) : 0;
	int err = 0;

	for (size_t i = 1; !err && i < n && i < INT32_MAX && t->n_symbols < MAX_SYMBOLS; i++) {
		GElf_Sym sym;

		if (gelf_getsym(data, (int)i, &sym))
			err = add_symbol(t, elf, &sym, shdr);
	}
	return err;
}

static int load_file(struct symtab *t, const struct elf_file *file)
{
	Elf *elf = elf_file_libelf(file);
	Elf_Scn *scn = NULL;
	int err = 0;

	while (!err && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;

		if (gelf_getshdr(scn, &shdr) &&
		    (shdr.sh_type == SHT_SYMTAB || shdr.sh_type == SHT_DYNSYM))
			err = load_table(t, elf, scn, &shdr);
	}
	return err;
}

/* --- sorting ------------------------------------------------------------------------------- */

static bool is_sizeless(const struct symbol *s)
{
	return s->end == s->start;
}

static int compare(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (is_sizeless(x) != is_sizeless(y))
		return is_sizeless(x) ? 1 : -1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	if (x->name == y->name || !x->name || !y->name)
		return 0;
	return alias_compare(x->name, y->name, x->rank);
}

/* Sets the ends of symbols without a size; labels get none. */
static void end_sizeless(struct symtab *t, const struct unwind_bounds *bounds)
{
	uint64_t covered = 0; /* end of what symbols with a size cover */

	for (size_t i = 0, next = 0; i < t->n_symbols; i++) {
		struct symbol *s = &t->symbols[i];
		uint64_t end = s->limit, entry_end;

		if (!is_sizeless(s)) {
			if (s->end > covered)
				covered = s->end;
			continue;
		}
		if (s->start < covered)
			continue;
		if (next <= i)
			next = i + 1;
		while (next < t->n_symbols && t->symbols[next].start == s->start)
			next++;
		if (next < t->n_symbols && t->symbols[next].start < end)
			end = t->symbols[next].start;
		entry_end = unwind_bounds_end(bounds, s->start);
		s->end = entry_end < end ? entry_end : end;
	}
}

/* Symbols rank by their order, so the first alias names an address. */
static int make_map(struct symtab *t)
{
	int err = 0;

	for (size_t i = 0; !err && i < t->n_symbols; i++)
		err = range_map_add(&t->map, t->symbols[i].start, t->symbols[i].end, (uint32_t)i,
				    UINT32_MAX - (uint32_t)i);
	return err ? err : range_map_seal(&t->map);
}

static int load(struct symtab *t, const struct elf_file *file, const struct elf_file *debug)
{
	struct unwind_bounds *bounds = NULL;
	int err = load_file(t, file);

	if (!err && debug)
		err = load_file(t, debug);
	if (err)
		return err;
	if (t->n_symbols)
		qsort(t->symbols, t->n_symbols, sizeof(*t->symbols), compare);
	err = unwind_bounds_new(file, &bounds);
	if (err)
		return err;
	end_sizeless(t, bounds);
	unwind_bounds_free(bounds);
	err = make_map(t);
	return err ? err : plt_new(file, t, false, &t->plt);
}

int symtab_new(const struct elf_file *file, const struct elf_file *debug,
	       struct symtab **ret_symtab)
{
	struct symtab *t = calloc(1, sizeof(*t));
	int err = t ? load(t, file, debug) : -ENOMEM;

	if (err) {
		symtab_free(t);
		return err;
	}
	*ret_symtab = t;
	return 0;
}

void symtab_free(struct symtab *symtab)
{
	if (!symtab)
		return;
	plt_free(symtab->plt);
	range_map_free(&symtab->map);
	free(symtab->symbols);
	free(symtab);
}

bool symtab_find(const struct symtab *symtab, uint64_t vaddr, const char **ret_name,
		 uint64_t *ret_start)
{
	uint32_t i;

	if (symtab->plt && plt_find(symtab->plt, vaddr, ret_name, ret_start))
		return true;
	if (!range_map_find(&symtab->map, vaddr, &i) || !symtab->symbols[i].name)
		return false;
	*ret_name = symtab->symbols[i].name;
	*ret_start = symtab->symbols[i].start;
	return true;
}
