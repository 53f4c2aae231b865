/* SPDX-License-Identifier: MIT */
/* Reads the line tables of all units; see line_places.h. */
#include "sym/line_places.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_sections.h"
#include "sym/code_sections.h"

struct search {
	const char *name;
	uint32_t line;
	Dwarf_Die unit;
	struct code_sections code;
	struct line_places *places;
};

/* Returns whether a path ends with the name, and the name starts there at a path component. */
static bool is_file(const char *path, const char *name)
{
	size_t length = strlen(path), part = strlen(name);

	return length >= part && strcmp(path + length - part, name) == 0 &&
	       (length == part || *name == '/' || path[length - part - 1] == '/');
}

static bool has_code(int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/* Returns the innermost function at an address, inlined or not, as the offset of its DWARF entry; 0
 * if it is not known. */
static uint64_t function_at(struct search *s, uint64_t vaddr)
{
	Dwarf_Die *scopes = NULL;
	int n = dwarf_getscopes(&s->unit, vaddr, &scopes);
	uint64_t found = 0;

	for (int i = 0; i < n && !found; i++) {
		if (has_code(dwarf_tag(&scopes[i])))
			found = dwarf_dieoffset(&scopes[i]);
	}
	free(scopes);
	return found;
}

/* Adds a place, unless its function already has a place of another statement. Rows come in order of
 * address, so the first place of a function has its lowest address. */
static int add(struct search *s, uint64_t vaddr, int column)
{
	struct line_places *places = s->places;
	uint64_t function = function_at(s, vaddr);

	for (size_t i = 0; i < places->all.count; i++) {
		const struct line_place *place = &places->all.items[i];

		if (place->vaddr == vaddr)
			return 0;
		if (function && place->function == function && place->column != column)
			return 0;
	}
	if (VEC_RESERVE(&places->all, 1))
		return -ENOMEM;
	places->all.items[places->all.count++] =
		(struct line_place){.vaddr = vaddr, .function = function, .column = column};
	return 0;
}

/* Returns the line of a row; 0 if the row does not belong to the file, or ends a sequence. */
static uint32_t line_of(struct search *s, Dwarf_Line *row)
{
	const char *path = dwarf_linesrc(row, NULL, NULL);
	bool is_end = true;
	int line = 0;

	if (!path || !is_file(path, s->name) || dwarf_lineendsequence(row, &is_end) || is_end ||
	    dwarf_lineno(row, &line) || line <= 0)
		return 0;
	return (uint32_t)line;
}

static int take_row(struct search *s, Dwarf_Line *row, uint32_t line)
{
	struct line_places *places = s->places;
	bool is_statement = false;
	int column = 0;
	Dwarf_Addr vaddr;

	places->has_file = true;
	if (dwarf_linebeginstatement(row, &is_statement) || !is_statement)
		return 0;
	if (line > s->line && (!places->next_line || line < places->next_line))
		places->next_line = line;
	if (line != s->line || dwarf_lineaddr(row, &vaddr) || dwarf_linecol(row, &column) ||
	    !code_sections_hold(&s->code, vaddr, vaddr + 1))
		return 0;
	return add(s, vaddr, column);
}

static int search_unit(struct search *s)
{
	Dwarf_Lines *rows;
	size_t n;
	int err = 0;

	if (dwarf_getsrclines(&s->unit, &rows, &n))
		return 0;
	for (size_t i = 0; i < n && !err; i++) {
		Dwarf_Line *row = dwarf_onesrcline(rows, i);
		uint32_t line = row ? line_of(s, row) : 0;

		if (line)
			err = take_row(s, row, line);
	}
	return err;
}

int line_places_find(const struct elf_file *file, const char *name, uint32_t line,
		     struct line_places *places)
{
	struct search s = {.name = name, .line = line, .places = places};
	Elf *elf = elf_file_libelf(file);
	int err = elf_file_expand(file);
	Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	Dwarf_CU *cu = NULL;
	uint8_t type;

	if (!err)
		err = code_sections_read(elf, &s.code);
	if (!err)
		code_sections_move_discarded_lines(&s.code, elf);

	while (dwarf && !err && dwarf_get_units(dwarf, cu, &cu, NULL, &type, &s.unit, NULL) == 0) {
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			err = search_unit(&s);
	}
	dwarf_end(dwarf);
	code_sections_free(&s.code);
	return err;
}

void line_places_free(struct line_places *places)
{
	free(places->all.items);
	*places = (struct line_places){0};
}
