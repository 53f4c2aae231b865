/* SPDX-License-Identifier: MIT */
/*
 * Finds names for file offsets; see symbolizer.h.
 *
 *   offset ─► vaddr ─┬─► symtab.c       the function's symbol  (object and debug file, packed
 *                    │                                         symbols, PLT stubs)
 *                    ├─► addr2line.c  inlined calls, lines   (object, else debug file)
 *                    └─► runtime.c      functions, lines       (tables of runtimes, as Go's: what
 *                                                              the others lack)
 *
 * The enclosing function is named by its symbol if it has one: other tools know it by that name,
 * and only symbols distinguish cold parts and clones. If the symbol table was stripped, DWARF gives
 * the name. Functions of Ada get readable names here, where their language is known: GNAT's
 * encoding, pack__work, could also be a name of C.
 *
 * An object's tables are read at the first query, so that objects which never occur in a stack cost
 * nothing.
 */
#include "sym/symbolizer.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "elf/elf_sections.h"
#include "runtime/runtime.h"
#include "sym/debug_file.h"
#include "sym/debuginfod.h"
#include "sym/demangle.h"
#include "sym/addr2line.h"
#include "sym/symtab.h"
#include "sym/unwind_bounds.h"
#include "unwind/sigreturn.h"

struct symbolizer {
	char *debug_root; /* owned; NULL: none */
	struct debug_source source;
	bool with_lines;
	size_t most_bytes; /* of tables with lines; 0: no limit */
	size_t line_bytes; /* limit of an object's line tables; 0: no limit */
	struct symbolizer_object *objects;
};

struct symbolizer_object {
	struct symbolizer_object *next;
	struct symbolizer *sym;
	struct elf_file *file; /* borrowed */
	char *path;	       /* owned; or NULL */
	bool is_opened, is_loaded;
	bool has_dwarf; /* of the file itself */
	bool debug_has_dwarf;
	size_t bytes;		      /* about how much its tables take once they are loaded */
	size_t line_bytes;	      /* how much of these are line tables, if all are loaded */
	struct elf_file *debug;	      /* owned; NULL: none */
	struct symtab *symtab;	      /* NULL until loaded */
	struct addr2line *dwarf;      /* NULL: there is none, or it is not wanted */
	struct unwind_bounds *bounds; /* NULL until a function without a name was met */
	struct runtime_tables tables; /* none: the object has none, or they were not needed yet */
	bool has_tried_tables;
	struct strings *ada; /* readable names; NULL: none yet */
};

static char *copy_string(const char *s, int *r)
{
	char *copy = s ? strdup(s) : NULL;

	if (s && !copy)
		*r = -ENOMEM;
	return copy;
}

int symbolizer_new(const struct symbolizer_options *options, struct symbolizer **ret_sym)
{
	struct symbolizer *sym = calloc(1, sizeof(*sym));
	int err = 0;

	if (!sym)
		return -ENOMEM;
	sym->with_lines = options->with_lines;
	sym->most_bytes = options->most_bytes;
	sym->debug_root = copy_string(options->debug_root, &err);
	if (options->files)
		sym->source = *options->files;
	sym->source.root = sym->debug_root;
	if (!err && options->use_debuginfod && debuginfod_new(&sym->source.debuginfod) == -ENOMEM)
		err = -ENOMEM;
	if (err) {
		symbolizer_free(sym);
		return err;
	}
	*ret_sym = sym;
	return 0;
}

static void object_unload(struct symbolizer_object *o)
{
	unwind_bounds_free(o->bounds);
	o->bounds = NULL;
	runtime_tables_free(&o->tables);
	o->has_tried_tables = false;
	addr2line_free(o->dwarf);
	symtab_free(o->symtab);
	strings_free(o->ada);
	o->ada = NULL;
	elf_file_free(o->debug);
	o->dwarf = NULL;
	o->symtab = NULL;
	o->debug = NULL;
	o->is_opened = false;
	o->is_loaded = false;
}

static void object_free(struct symbolizer_object *o)
{
	object_unload(o);
	free(o->path);
	free(o);
}

void symbolizer_free(struct symbolizer *sym)
{
	struct symbolizer_object *next;

	if (!sym)
		return;
	for (struct symbolizer_object *o = sym->objects; o; o = next) {
		next = o->next;
		object_free(o);
	}
	debuginfod_free(sym->source.debuginfod);
	free(sym->debug_root);
	free(sym);
}

void symbolizer_limit(struct symbolizer *sym, size_t line_bytes)
{
	sym->line_bytes = line_bytes;
}

int symbolizer_object_new(struct symbolizer *sym, struct elf_file *file, const char *path,
			  struct symbolizer_object **ret_object)
{
	struct symbolizer_object *o = calloc(1, sizeof(*o));
	int err = 0;

	if (!o)
		return -ENOMEM;
	o->sym = sym;
	o->file = file;
	o->path = copy_string(path, &err);
	if (err) {
		object_free(o);
		return err;
	}
	o->next = sym->objects;
	sym->objects = o;
	*ret_object = o;
	return 0;
}

void symbolizer_object_free(struct symbolizer_object *o)
{
	struct symbolizer_object **at;

	if (!o)
		return;
	for (at = &o->sym->objects; *at != o;)
		at = &(*at)->next;
	*at = o->next;
	object_free(o);
}

size_t symbolizer_object_bytes(const struct symbolizer_object *o)
{
	return o->is_loaded ? o->bytes : 0;
}

/* --- loading ------------------------------------------------------------------------------- */

struct contents {
	bool has_symtab, has_dwarf;
	size_t bytes; /* that its tables will take when they are used */
	size_t line_bytes;
};

/* Estimates the memory for the tables of a section. Measured on Debian's libraries: about the size
 * of the section, expanded if it is compressed; five times that for a line table. */
static size_t table_bytes(const struct elf_file *file, const GElf_Shdr *shdr, const char *name)
{
	bool is_packed = !strcmp(name, ".gnu_debugdata");
	bool is_table = shdr->sh_type == SHT_SYMTAB || shdr->sh_type == SHT_STRTAB ||
			shdr->sh_type == SHT_DYNSYM || !strncmp(name, ".debug_", 7);
	uint64_t bytes = is_table    ? 2 * elf_file_section_bytes(file, shdr)
			 : is_packed ? 8 * shdr->sh_size
				     : 0;

	return shdr->sh_type != SHT_NOBITS && bytes < SIZE_MAX / 1024 ? bytes : 0;
}

static struct contents contents_of(const struct elf_file *file)
{
	Elf *elf = elf_file_libelf(file);
	struct contents c = {0};
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return c;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr))
			continue;
		if (shdr.sh_type == SHT_SYMTAB)
			c.has_symtab = true;
		name = elf_strptr(elf, names, shdr.sh_name);
		c.bytes += name ? table_bytes(file, &shdr, name) : 0;
		if (name && !strcmp(name, ".debug_line"))
			c.line_bytes = table_bytes(file, &shdr, name) * 5 / 2;
		if (name && shdr.sh_type == SHT_PROGBITS &&
		    (!strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info")))
			c.has_dwarf = true;
	}
	return c;
}

static int load_debug_file(struct symbolizer_object *o, struct contents c)
{
	const struct symbolizer *sym = o->sym;
	int err;

	if (c.has_symtab && (c.has_dwarf || !sym->with_lines))
		return 0;
	if (sym->debug_root || sym->source.debuginfod)
		err = debug_file_open(o->file, &sym->source, o->path, &o->debug);
	else
		err = c.has_symtab ? 0 : elf_file_open_packed(o->file, &o->debug);
	return err == -ENOMEM ? err : 0;
}

/* Finds the tables of an object that can be loaded. */
static int object_open(struct symbolizer_object *o)
{
	struct contents c, debug = {0};
	int err;

	if (o->is_opened)
		return 0;
	c = contents_of(o->file);
	err = load_debug_file(o, c);
	if (err)
		return err;
	if (o->debug)
		debug = contents_of(o->debug);
	o->debug_has_dwarf = debug.has_dwarf;
	o->has_dwarf = c.has_dwarf;
	o->bytes = c.bytes + debug.bytes;
	o->line_bytes = c.has_dwarf ? c.line_bytes : debug.line_bytes;
	o->is_opened = true;
	return 0;
}

static bool wants_lines(const struct symbolizer_object *o)
{
	return o->sym->with_lines && (!o->sym->most_bytes || o->bytes <= o->sym->most_bytes);
}

static int object_load(struct symbolizer_object *o)
{
	const struct elf_file *with_dwarf;
	int err = object_open(o);

	if (!err)
		err = symtab_new(o->file, o->debug, &o->symtab);
	with_dwarf = o->has_dwarf ? o->file : o->debug_has_dwarf ? o->debug : NULL;
	if (!err && wants_lines(o) && with_dwarf)
		err = addr2line_new(with_dwarf, o->path, &o->sym->source, &o->dwarf);
	if (o->dwarf)
		addr2line_limit(o->dwarf, o->sym->line_bytes);
	if (err == -ENOMEM) {
		object_unload(o);
		return err;
	}
	o->is_loaded = true;
	return 0;
}

int symbolizer_object_unread(struct symbolizer_object *o, size_t *ret_bytes)
{
	int err = object_open(o);

	if (!err)
		*ret_bytes = o->is_loaded ? 0 : o->bytes;
	return err;
}

bool symbolizer_object_wants_order(struct symbolizer_object *o)
{
	size_t limit = o->sym->line_bytes;

	return limit && !object_open(o) && o->line_bytes > limit;
}

/* --- queries ------------------------------------------------------------------------------- */

static uint64_t offset_of(const struct symbolizer_object *o, uint64_t vaddr)
{
	uint64_t offset;

	return vaddr && elf_file_vaddr_to_offset(o->file, vaddr, &offset) ? offset : 0;
}

/* Gives DWARF's frames, the last of which is the enclosing function. Returns their number, 0, or
 * -ENOMEM. */
static int resolve_dwarf(struct symbolizer_object *o, uint64_t vaddr,
			 struct symbolizer_frame *ret_frames, size_t max,
			 struct symbolizer_frame *ret_last, bool *ret_is_ada)
{
	struct addr2line_frame *frames;
	int n = o->dwarf ? addr2line_find(o->dwarf, vaddr, NULL, 0) : 0;

	if (n <= 0)
		return n;
	frames = calloc((size_t)n, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	n = addr2line_find(o->dwarf, vaddr, frames, (size_t)n);
	for (int i = 0; i < n; i++) {
		struct symbolizer_frame frame = {
			.function = frames[i].function,
			.start = offset_of(o, frames[i].start),
			.file = frames[i].file,
			.line = frames[i].line,
			.is_inlined = frames[i].is_inlined,
		};

		if ((size_t)i < max)
			ret_frames[i] = frame;
		*ret_last = frame;
		*ret_is_ada = frames[i].is_ada;
	}
	free(frames);
	return n;
}

/* Makes the names of an Ada unit readable if they are GNAT's. Returns 0 or -ENOMEM. */
static int read_ada(struct symbolizer_object *o, struct symbolizer_frame *frames, size_t n)
{
	int err = o->ada ? 0 : strings_new(&o->ada);

	for (size_t i = 0; err == 0 && i < n; i++) {
		char *readable = frames[i].function ? demangle_ada(frames[i].function) : NULL;
		uint32_t number;

		if (!readable)
			continue;
		err = strings_intern(o->ada, readable, &number);
		if (err == 0)
			frames[i].function = strings_at(o->ada, number);
		free(readable);
	}
	return err < 0 ? -ENOMEM : 0;
}

/* For a function without a name, gives the start that its unwind entry has, so that all its
 * locations are one function. Returns 1 (a frame), 0 or -ENOMEM. */
static int resolve_bounds(struct symbolizer_object *o, uint64_t vaddr,
			  struct symbolizer_frame *ret_frames, size_t max)
{
	int err = o->bounds ? 0 : unwind_bounds_new(o->file, &o->bounds);
	uint64_t start = err ? 0 : offset_of(o, unwind_bounds_start(o->bounds, vaddr));

	if (err || !start)
		return err;
	if (max)
		ret_frames[0] = (struct symbolizer_frame){.start = start};
	return 1;
}

static int load_tables(struct symbolizer_object *o)
{
	struct runtime_tables *t = &o->tables;
	int err = o->has_tried_tables ? 0 : runtime_tables_read(o->file, t);

	if (err == -ENOMEM)
		return err;
	if (t->files && !o->has_tried_tables)
		o->bytes += t->files->bytes(t->tables);
	o->has_tried_tables = true;
	return 0;
}

/* Gives what a runtime's own table has: names that symbols and DWARF lack, and lines that DWARF
 * lacks. Returns 1 (a frame), 0 or -ENOMEM. */
static int resolve_runtime(struct symbolizer_object *o, uint64_t vaddr,
			   struct symbolizer_frame *ret)
{
	struct runtime_name name;
	int err = load_tables(o);

	if (err || !o->tables.files ||
	    !o->tables.files->name_at(o->tables.tables, vaddr, wants_lines(o), &name))
		return err;
	*ret = (struct symbolizer_frame){
		.function = name.function,
		.start = offset_of(o, name.start),
		.file = name.file,
		.line = name.line,
	};
	return 1;
}

/* Gives the vaddr by which the code at an offset is looked up. A signal handler returns to the
 * first byte of sigreturn's code, which no call precedes: the byte before the return address, by
 * which callers are looked up, belongs to another function or to none. */
static bool lookup_vaddr(const struct symbolizer_object *o, uint64_t offset, uint64_t *ret_vaddr)
{
	return elf_file_offset_to_vaddr(o->file, offset + sigreturn_begins_at(o->file, offset + 1),
					ret_vaddr);
}

/* Does symbolizer_resolve() for a loaded object, with linkage names. */
static int resolve_linkage(struct symbolizer_object *object, uint64_t vaddr,
			   struct symbolizer_frame *ret_frames, size_t max, bool *ret_is_ada)
{
	struct symbolizer_frame last = {0};
	uint64_t start;
	const char *name;
	bool has_symbol;
	int n;

	n = resolve_dwarf(object, vaddr, ret_frames, max, &last, ret_is_ada);
	if (n < 0)
		return n;
	if (!n) {
		n = resolve_runtime(object, vaddr, &last);
		if (n < 0)
			return n;
		if (n && max)
			ret_frames[0] = last;
	}
	has_symbol = symtab_find(object->symtab, vaddr, &name, &start);
	if (!has_symbol)
		return n ? n : resolve_bounds(object, vaddr, ret_frames, max);
	if (!n)
		n = 1;
	last.function = name;
	last.start = offset_of(object, start);
	if ((size_t)n <= max)
		ret_frames[n - 1] = last;
	return n;
}

int symbolizer_resolve(struct symbolizer_object *object, uint64_t offset,
		       struct symbolizer_frame *ret_frames, size_t max)
{
	bool is_ada = false;
	uint64_t vaddr;
	int n, err;

	if (!lookup_vaddr(object, offset, &vaddr))
		return 0;
	err = object->is_loaded ? 0 : object_load(object);
	if (err)
		return err;
	n = resolve_linkage(object, vaddr, ret_frames, max, &is_ada);
	if (n <= 0 || !is_ada)
		return n;
	err = read_ada(object, ret_frames, (size_t)n < max ? (size_t)n : max);
	return err ? err : n;
}

bool symbolizer_object_missing(const struct symbolizer_object *o, struct buf *text)
{
	if (!o->is_loaded)
		return false;
	if (o->dwarf)
		return addr2line_missing(o->dwarf, text);
	return !o->has_dwarf && !o->debug_has_dwarf && debug_file_name(o->file, text);
}

int symbolizer_start(struct symbolizer_object *object, uint64_t offset,
		     struct symbolizer_frame *ret_frame)
{
	uint64_t vaddr;

	if (!lookup_vaddr(object, offset, &vaddr))
		return 0;
	return resolve_bounds(object, vaddr, ret_frame, 1);
}
