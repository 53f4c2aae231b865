/* SPDX-License-Identifier: MIT */
/*
 * Finds functions, inlined calls and lines; see addr2line.h.
 *
 * DWARF is a tree that is slow to traverse, and quick to query once it is indexed. So each level is
 * indexed when it is first needed, and only for the part that is needed:
 *
 *   object     all units' address ranges, from their root DIEs     at the first query
 *     unit       its functions' ranges                             at the first in the unit
 *       function   its inlined calls: ranges, names, call sites    at the first in the function
 *
 * A query then takes three binary searches, plus one in the unit's line table (libdw's cache).
 * .debug_aranges is not used: clang does not write it.
 *
 * Lines: the line table has the line of the innermost function. Each function around it is at the
 * call site of the function that it inlined.
 *
 * Hostile DWARF: libdw checks every read, but siblings may point backwards, children may nest
 * without end, and a small input may expand into many ranges. So DIEs must come in rising order,
 * the depth is bounded, and a budget for each object bounds all that is traversed. When it is used
 * up, the answer is what was found so far. libdw may not search for split units (.dwo) or the dwz
 * file (.gnu_debugaltlink) itself, since it would open and map any file that the object names. The
 * dwz file is searched by build-id (debug_file.c), and without it the DWARF is not used. Split
 * units have functions and inlined calls in another file (split_dwarf.c), which is opened when the
 * unit is queried; lines, and the ranges of units, are in this file.
 */
#include "sym/addr2line.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/vec.h"
#include "elf/elf_sections.h"
#include "sym/code_sections.h"
#include "sym/debug_file.h"
#include "sym/range_map.h"
#include "sym/split_dwarf.h"

#define MAX_DEPTH     256
#define MAX_UNITS     (1024 * 1024)
#define MAX_FUNCTIONS (4 * 1024 * 1024) /* of an object */
/* DIEs and ranges that are traversed for an object */
#define WALK_BUDGET (UINT64_C(128) * 1024 * 1024)
#define LINE_BYTES  40 /* of a line table's row, in libdw's memory */
#define MAX_ORIGINS 16
#define NO_PARENT   UINT32_MAX

/* Codes of languages that were added after DWARF 5. */
#define LANGUAGE_ADA_2005 0x2e
#define LANGUAGE_ADA_2012 0x2f

struct inlined_call {
	const char *function;
	const char *call_file;
	uint32_t call_line;
	uint32_t parent; /* index of the call into which it is inlined; NO_PARENT: the function
			  * itself */
};

struct inlines {
	struct inlined_call *calls;
	size_t n, cap;
	struct range_map map; /* values are indexes into `calls` */
};

struct function {
	Dwarf_Die die;
	struct inlines *inlines; /* NULL: not read yet */
	const char *name;
	uint64_t start;
};

struct unit {
	Dwarf_Die die;		  /* root DIE; for a split unit, that of the skeleton */
	bool is_skeleton;	  /* a skeleton: its functions are in another file */
	struct split_unit *split; /* the split unit; NULL: it was not opened yet, or was not
				   * found */
	struct function *functions;
	size_t n_functions, cap_functions;
	struct range_map map; /* values are indexes into `functions` */
	bool is_indexed;
	bool is_ada;
	bool has_lines; /* its line table is in libdw's memory */
};

struct addr2line {
	Elf *elf; /* borrowed */
	struct code_sections code;
	bool has_moved_lines; /* the line rows of discarded functions were moved
			       * (code_sections.h) */
	Dwarf *dwarf, *shared_dwarf;
	Elf *shared_elf;
	int shared_fd;
	const struct debug_source *source; /* borrowed, as is `path` */
	const char *path;
	struct split_dwarf *split; /* NULL until the first skeleton */
	char *shared_name;	   /* name of the dwz file, owned; NULL: the DWARF needs none */
	struct unit *units;
	size_t n_units, cap_units;
	struct range_map map; /* values are indexes into `units` */
	size_t functions_left;
	uint64_t budget;
	size_t line_bytes, max_line_bytes; /* approximate memory of the line tables, and its
					    * limit; 0: no limit */
};

/* --- DIEs ---------------------------------------------------------------------------------- */

static bool spend(struct addr2line *names)
{
	if (!names->budget)
		return false;
	names->budget--;
	return true;
}

static bool first_child(struct addr2line *names, Dwarf_Die *die, Dwarf_Die *ret_child)
{
	return spend(names) && dwarf_haschildren(die) > 0 && !dwarf_child(die, ret_child) &&
	       dwarf_dieoffset(ret_child) > dwarf_dieoffset(die);
}

static bool next_sibling(struct addr2line *names, Dwarf_Die *die)
{
	Dwarf_Off before = dwarf_dieoffset(die);

	return spend(names) && !dwarf_siblingof(die, die) && dwarf_dieoffset(die) > before;
}

/* Returns whether a range of DWARF has code. Offsets from the base of a discarded function (-1, -2)
 * wrap around to low addresses, where there may be other code. */
static bool is_code(const struct addr2line *names, Dwarf_Addr base, Dwarf_Addr start,
		    Dwarf_Addr end)
{
	return base < UINT64_MAX - 1 && code_sections_hold(&names->code, start, end);
}

/* The map to which ranges are added, and the value that they get. */
struct sink {
	struct addr2line *names;
	struct range_map *map;
	uint32_t value, rank;
	int err;
};

/* Adds a range of a split unit. Returns nonzero to end the list: the budget is used up, or there
 * was an error. */
static int add_split_range(void *arg, uint64_t start, uint64_t end)
{
	struct sink *sink = arg;

	if (!spend(sink->names))
		return 1;
	if (is_code(sink->names, start, start, end))
		sink->err = range_map_add(sink->map, start, end, sink->value, sink->rank);
	return sink->err;
}

/* Adds all address ranges of a DIE to `map`, except those of discarded functions. `unit` is NULL
 * for the root of a unit. Returns 0 or -ENOMEM. */
static int add_ranges(struct addr2line *names, const struct unit *unit, Dwarf_Die *die,
		      struct range_map *map, uint32_t value, uint32_t rank)
{
	struct sink sink = {.names = names, .map = map, .value = value, .rank = rank};
	Dwarf_Addr base = 0, start, end;
	ptrdiff_t at = 0;
	int err = 0;

	if (unit && unit->split) {
		split_unit_ranges(unit->split, die, add_split_range, &sink);
		return sink.err;
	}
	while (!err && spend(names) && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		if (is_code(names, base, start, end))
			err = range_map_add(map, start, end, value, rank);
	return err;
}

static int take_first(void *arg, uint64_t start, uint64_t end)
{
	*(uint64_t *)arg = start;
	return end > start;
}

/* Returns the vaddr of a function's start; 0: not known. */
static uint64_t start_of(const struct unit *unit, Dwarf_Die *die)
{
	Dwarf_Addr start = 0;

	if (unit->split)
		split_unit_ranges(unit->split, die, take_first, &start);
	else if (dwarf_entrypc(die, &start))
		start = 0;
	return start;
}

/* Returns the string of an attribute, of the DIE or of its abstract origins. dwarf_attr_integrate()
 * is not used, since it would open the files that skeletons name. */
static const char *string_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Die at = *die;

	for (int i = 0; i < MAX_ORIGINS; i++) {
		if (dwarf_attr(&at, name, &attr))
			return dwarf_formstring(&attr);
		if ((!dwarf_attr(&at, DW_AT_abstract_origin, &attr) &&
		     !dwarf_attr(&at, DW_AT_specification, &attr)) ||
		    !dwarf_formref_die(&attr, &at))
			break;
	}
	return NULL;
}

static const char *name_of(Dwarf_Die *die)
{
	const char *name = string_of(die, DW_AT_linkage_name);

	if (!name)
		name = string_of(die, DW_AT_MIPS_linkage_name);
	return name ? name : string_of(die, DW_AT_name);
}

static bool number_of(Dwarf_Die *die, unsigned name, uint64_t *ret_number)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attr) || dwarf_formudata(&attr, &value))
		return false;
	*ret_number = value;
	return true;
}

/* --- a function's inlined calls ------------------------------------------------------------ */

static const char *call_file(struct unit *unit, Dwarf_Die *die)
{
	bool has_own = unit->split && split_unit_has_files(unit->split);
	Dwarf_Die *root = has_own ? split_unit_die(unit->split) : &unit->die;
	Dwarf_Files *files;
	uint64_t index;
	size_t n;

	if (!number_of(die, DW_AT_call_file, &index) || dwarf_getsrcfiles(root, &files, &n))
		return NULL;
	return index < n ? dwarf_filesrc(files, index, NULL, NULL) : NULL;
}

static int add_inlined_call(struct addr2line *names, struct unit *unit, struct inlines *in,
			    Dwarf_Die *die, uint32_t parent, uint32_t depth)
{
	uint64_t line = 0;

	if (VEC_GROW(in->calls, in->cap, in->n + 1) < 0)
		return -ENOMEM;
	number_of(die, DW_AT_call_line, &line);
	in->calls[in->n] = (struct inlined_call){
		.function = name_of(die),
		.call_file = call_file(unit, die),
		.call_line = line <= UINT32_MAX ? (uint32_t)line : 0,
		.parent = parent,
	};
	return add_ranges(names, unit, die, &in->map, (uint32_t)in->n++, depth);
}

/* Reads the inlined calls below a DIE. Lexical blocks are traversed; a function within a function
 * is not, since the unit lists it separately. */
static int walk_inlines(struct addr2line *names, struct unit *unit, struct inlines *in,
			Dwarf_Die *die, uint32_t parent, uint32_t depth)
{
	Dwarf_Die child;
	int err = 0;

	if (depth == MAX_DEPTH || !first_child(names, die, &child))
		return 0;
	do {
		uint32_t inner = parent;
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_inlined_subroutine) {
			inner = (uint32_t)in->n;
			err = add_inlined_call(names, unit, in, &child, parent, depth);
		} else if (tag != DW_TAG_lexical_block && tag != DW_TAG_try_block &&
			   tag != DW_TAG_catch_block) {
			continue;
		}
		if (!err)
			err = walk_inlines(names, unit, in, &child, inner, depth + 1);
	} while (!err && next_sibling(names, &child));
	return err;
}

static void inlines_free(struct inlines *in)
{
	if (!in)
		return;
	range_map_free(&in->map);
	free(in->calls);
	free(in);
}

static int index_function(struct addr2line *names, struct unit *unit, struct function *f)
{
	struct inlines *in = calloc(1, sizeof(*in));
	int err;

	if (!in)
		return -ENOMEM;
	err = walk_inlines(names, unit, in, &f->die, NO_PARENT, 0);
	if (!err)
		err = range_map_seal(&in->map);
	if (err) {
		inlines_free(in);
		return err;
	}
	f->name = name_of(&f->die);
	f->start = start_of(unit, &f->die);
	f->inlines = in;
	return 0;
}

/* --- a unit's functions -------------------------------------------------------------------- */

static int add_function(struct addr2line *names, struct unit *unit, Dwarf_Die *die)
{
	if (!names->functions_left ||
	    (!dwarf_hasattr(die, DW_AT_low_pc) && !dwarf_hasattr(die, DW_AT_ranges)))
		return 0;
	names->functions_left--;
	if (VEC_GROW(unit->functions, unit->cap_functions, unit->n_functions + 1) < 0)
		return -ENOMEM;
	unit->functions[unit->n_functions] = (struct function){.die = *die};
	return add_ranges(names, unit, die, &unit->map, (uint32_t)unit->n_functions++, 0);
}

/* Returns whether DIEs of this tag can contain functions with code. */
static bool is_scope(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return true;
	}
	return false;
}

static int walk_functions(struct addr2line *names, struct unit *unit, Dwarf_Die *die,
			  uint32_t depth)
{
	Dwarf_Die child;
	int err = 0;

	if (depth == MAX_DEPTH || !first_child(names, die, &child))
		return 0;
	do {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_subprogram)
			err = add_function(names, unit, &child);
		if (!err && is_scope(tag))
			err = walk_functions(names, unit, &child, depth + 1);
	} while (!err && next_sibling(names, &child));
	return err;
}

static void unit_clear(struct unit *unit)
{
	for (size_t i = 0; i < unit->n_functions; i++)
		inlines_free(unit->functions[i].inlines);
	free(unit->functions);
	range_map_free(&unit->map);
	split_unit_free(unit->split);
	*unit = (struct unit){.die = unit->die, .is_skeleton = unit->is_skeleton};
}

/* Opens the split unit of a skeleton. Returns 0 also if it was not found; then the unit's functions
 * are not known. Else -ENOMEM. */
static int open_split(struct addr2line *names, struct unit *unit)
{
	int err = names->split
			  ? 0
			  : split_dwarf_new(names->elf, names->source, names->path, &names->split);

	if (!err)
		err = split_dwarf_open(names->split, &unit->die, &unit->split);
	if (!err)
		names->line_bytes += split_unit_bytes(unit->split);
	return err == -ENOENT ? 0 : err;
}

/* Returns whether a unit was written in Ada. dwarf_srclang() is not used, since it would open the
 * files that skeletons name. */
static bool is_in_ada(Dwarf_Die *root)
{
	Dwarf_Attribute attr;
	Dwarf_Word language;

	if (!dwarf_attr(root, DW_AT_language, &attr) || dwarf_formudata(&attr, &language))
		return false;
	return language == DW_LANG_Ada83 || language == DW_LANG_Ada95 ||
	       language == LANGUAGE_ADA_2005 || language == LANGUAGE_ADA_2012;
}

static int index_unit(struct addr2line *names, struct unit *unit)
{
	int err = unit->is_skeleton ? open_split(names, unit) : 0;
	Dwarf_Die *root = unit->split ? split_unit_die(unit->split) : &unit->die;

	unit->is_ada = is_in_ada(root);
	if (!err)
		err = walk_functions(names, unit, root, 0);
	if (!err)
		err = range_map_seal(&unit->map);
	if (err)
		unit_clear(unit);
	unit->is_indexed = !err;
	return err;
}

/* --- an object's units --------------------------------------------------------------------- */

static int add_unit(struct addr2line *names, Dwarf_Die *die, bool is_skeleton)
{
	if (VEC_GROW(names->units, names->cap_units, names->n_units + 1) < 0)
		return -ENOMEM;
	names->units[names->n_units] = (struct unit){.die = *die, .is_skeleton = is_skeleton};
	return add_ranges(names, NULL, die, &names->map, (uint32_t)names->n_units++, 0);
}

/* dwarf_get_units() is not called for sub-DIEs, so libdw does not open .dwo files. */
static int index_object(struct addr2line *names)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	uint8_t type;
	int err = 0;

	while (!err && names->n_units < MAX_UNITS && spend(names) &&
	       !dwarf_get_units(names->dwarf, unit, &unit, NULL, &type, &die, NULL))
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			err = add_unit(names, &die, type == DW_UT_skeleton);
	return err ? err : range_map_seal(&names->map);
}

/* --- opening ------------------------------------------------------------------------------- */

/* Attaches the dwz file that the DWARF refers to; returns 0 also if it refers to none. */
static int attach_shared(struct addr2line *names, const struct debug_source *source)
{
	const void *build_id;
	const char *name;
	ssize_t len = dwelf_dwarf_gnu_debugaltlink(names->dwarf, &name, &build_id);
	int err;

	if (!len)
		return 0;
	if (len < 0)
		return -ENOENT;
	names->shared_name = strdup(name);
	if (!names->shared_name)
		return -ENOMEM;
	err = debug_file_open_shared(source, name, names->path, build_id, (size_t)len,
				     &names->shared_fd, &names->shared_elf);
	if (err)
		return err;
	names->shared_dwarf = dwarf_begin_elf(names->shared_elf, DWARF_C_READ, NULL);
	if (!names->shared_dwarf)
		return -ENOENT;
	dwarf_setalt(names->dwarf, names->shared_dwarf);
	return 0;
}

/* Hides the location lists of variables from libdw, which expands each compressed section of DWARF
 * when it opens a file. They are a sixth of a library's DWARF and not needed here. (Sections that
 * are not compressed are read on demand.) */
static void hide_locations(Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr) || !(shdr.sh_flags & SHF_COMPRESSED))
			continue;
		name = elf_strptr(elf, names, shdr.sh_name);
		if (!name || (strcmp(name, ".debug_loc") && strcmp(name, ".debug_loclists")))
			continue;
		shdr.sh_type = SHT_NOBITS;
		gelf_update_shdr(scn, &shdr);
	}
}

/* Frees libdw's tables of the DWARF, and everything that refers to them. */
static void unload(struct addr2line *names)
{
	for (size_t i = 0; i < names->n_units; i++)
		unit_clear(&names->units[i]);
	free(names->units);
	names->units = NULL;
	names->n_units = names->cap_units = 0;
	range_map_free(&names->map);
	dwarf_end(names->dwarf);
	names->dwarf = NULL;
	names->line_bytes = 0;
	names->functions_left = MAX_FUNCTIONS;
}

/* Reopens the DWARF, to free its line tables: libdw frees them only with everything else, and each
 * is five times the size of its part of the section. libelf keeps the sections, so a reload costs
 * little. */
static int reload(struct addr2line *names)
{
	unload(names);
	names->dwarf = dwarf_begin_elf(names->elf, DWARF_C_READ, NULL);
	if (!names->dwarf)
		return 0;
	if (names->shared_dwarf)
		dwarf_setalt(names->dwarf, names->shared_dwarf);
	return index_object(names);
}

static int load(struct addr2line *names, const struct elf_file *file, const char *path,
		const struct debug_source *source)
{
	int err;

	names->source = source;
	names->path = path;
	names->shared_fd = -1;
	names->functions_left = MAX_FUNCTIONS;
	names->budget = WALK_BUDGET;
	names->elf = elf_file_libelf(file);
	hide_locations(names->elf);
	err = elf_file_expand(file);
	if (err)
		return err;
	names->dwarf = dwarf_begin_elf(names->elf, DWARF_C_READ, NULL);
	if (!names->dwarf)
		return -ENOENT;
	err = code_sections_read(names->elf, &names->code);
	if (!err)
		err = attach_shared(names, source);
	if (err == -ENOENT && names->shared_name)
		return 0;
	if (!err)
		err = index_object(names);
	return !err && !names->n_units ? -ENOENT : err;
}

int addr2line_new(const struct elf_file *file, const char *path, const struct debug_source *source,
		  struct addr2line **ret_names)
{
	struct addr2line *names = calloc(1, sizeof(*names));
	int err = names ? load(names, file, path, source) : -ENOMEM;

	if (err) {
		addr2line_free(names);
		return err;
	}
	*ret_names = names;
	return 0;
}

void addr2line_limit(struct addr2line *names, size_t line_bytes)
{
	names->max_line_bytes = line_bytes;
}

void addr2line_free(struct addr2line *names)
{
	if (!names)
		return;
	unload(names);
	split_dwarf_free(names->split);
	free(names->shared_name);
	code_sections_free(&names->code);
	dwarf_end(names->shared_dwarf);
	elf_end(names->shared_elf);
	if (names->shared_fd >= 0)
		close(names->shared_fd);
	free(names);
}

bool addr2line_missing(const struct addr2line *names, struct buf *text)
{
	if (names->shared_name && !names->shared_dwarf) {
		text_put_raw(text, "its dwz file ");
		text_put_raw(text, names->shared_name);
		return true;
	}
	return names->split && split_dwarf_missing(names->split, text);
}

/* --- queries ------------------------------------------------------------------------------- */

static int find_function(struct addr2line *names, struct unit *unit, uint64_t vaddr,
			 struct function **ret_function)
{
	uint32_t i;
	int err = unit->is_indexed ? 0 : index_unit(names, unit);

	*ret_function = NULL;
	if (err || !range_map_find(&unit->map, vaddr, &i))
		return err;
	*ret_function = &unit->functions[i];
	return (*ret_function)->inlines ? 0 : index_function(names, unit, *ret_function);
}

static void find_line(struct unit *unit, uint64_t vaddr, struct addr2line_frame *ret_frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->die, vaddr);
	int number = 0;

	if (!line)
		return;
	ret_frame->file = dwarf_linesrc(line, NULL, NULL);
	if (!dwarf_lineno(line, &number) && number > 0)
		ret_frame->line = (uint32_t)number;
}

/* Counts the line table that was read for queries about a unit. */
static void count_lines(struct addr2line *names, struct unit *unit)
{
	Dwarf_Lines *lines;
	size_t count;

	if (!unit->has_lines && !dwarf_getsrclines(&unit->die, &lines, &count))
		names->line_bytes += count * LINE_BYTES;
	unit->has_lines = true;
}

static void move_discarded_lines(struct addr2line *names)
{
	if (!names->has_moved_lines)
		code_sections_move_discarded_lines(&names->code, names->elf);
	names->has_moved_lines = true;
}

/* Finds the unit at an address; gives NULL if there is none. */
static int find_unit(struct addr2line *names, uint64_t vaddr, struct unit **ret_unit)
{
	uint32_t i;
	int err = 0;

	*ret_unit = NULL;
	if (!range_map_find(&names->map, vaddr, &i))
		return 0;
	if (names->max_line_bytes && names->line_bytes > names->max_line_bytes &&
	    !names->units[i].has_lines)
		err = reload(names);
	if (!err && range_map_find(&names->map, vaddr, &i))
		*ret_unit = &names->units[i];
	return err;
}

/* Writes frames, beginning with the innermost inlined call. `at` has the source line of that
 * one. */
static int write_frames(const struct function *f, uint64_t vaddr, struct addr2line_frame at,
			struct addr2line_frame *ret_frames, size_t max)
{
	uint32_t i = NO_PARENT;
	size_t n = 0;

	if (f && !range_map_find(&f->inlines->map, vaddr, &i))
		i = NO_PARENT;
	while (i != NO_PARENT) {
		const struct inlined_call *call = &f->inlines->calls[i];

		at.function = call->function;
		at.is_inlined = true;
		if (n < max)
			ret_frames[n] = at;
		n++;
		at = (struct addr2line_frame){.file = call->call_file, .line = call->call_line};
		i = call->parent;
	}
	if (f) {
		at.function = f->name;
		at.start = f->start;
	}
	if (n < max)
		ret_frames[n] = at;
	return (int)n + 1;
}

int addr2line_find(struct addr2line *names, uint64_t vaddr, struct addr2line_frame *ret_frames,
		   size_t max)
{
	struct addr2line_frame at = {0};
	struct function *function;
	struct unit *unit;
	int err = find_unit(names, vaddr, &unit), n;

	if (err || !unit)
		return err;
	move_discarded_lines(names);
	err = find_function(names, unit, vaddr, &function);
	if (err)
		return err;
	find_line(unit, vaddr, &at);
	count_lines(names, unit);
	if (!function && !at.file)
		return 0;
	n = write_frames(function, vaddr, at, ret_frames, max);
	for (size_t i = 0; i < max && i < (size_t)n; i++)
		ret_frames[i].is_ada = unit->is_ada;
	return n;
}
