/* SPDX-License-Identifier: MIT */
/* Traverses the entries of all units, without recursion; see inlined_calls.h. */
#include "sym/inlined_calls.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stddef.h>

#include "elf/elf_sections.h"

#define MOST_DEPTH 128 /* nested entries; deeper ones are left out */

struct listing {
	Dwarf_Die unit;
	int (*each)(void *arg, const struct inlined_call_site *site);
	void *arg;
};

static const char *text_of(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute attr;

	return dwarf_formstring(dwarf_attr_integrate(die, attribute, &attr));
}

static const char *file_of(struct listing *l, Dwarf_Die *call)
{
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	Dwarf_Word index;
	size_t n;

	if (dwarf_formudata(dwarf_attr(call, DW_AT_call_file, &attr), &index) ||
	    dwarf_getsrcfiles(&l->unit, &files, &n) || index >= n)
		return NULL;
	return dwarf_filesrc(files, index, NULL, NULL);
}

static int list_call(struct listing *l, Dwarf_Die *call)
{
	struct inlined_call_site site = {.name = text_of(call, DW_AT_linkage_name)};
	Dwarf_Attribute attr;
	Dwarf_Word line;

	if (!site.name)
		site.name = text_of(call, DW_AT_name);
	if (!site.name)
		return 0;
	site.file = file_of(l, call);
	if (!dwarf_formudata(dwarf_attr(call, DW_AT_call_line, &attr), &line) && line <= UINT32_MAX)
		site.line = (uint32_t)line;
	return l->each(l->arg, &site);
}

/* Returns whether an entry can contain code. */
static bool may_hold_calls(int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
	       tag == DW_TAG_lexical_block || tag == DW_TAG_namespace || tag == DW_TAG_module ||
	       tag == DW_TAG_try_block || tag == DW_TAG_catch_block ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_class_type;
}

static int list_unit(struct listing *l)
{
	Dwarf_Die stack[MOST_DEPTH];
	int depth = 0, err = 0;

	if (dwarf_child(&l->unit, &stack[0]) != 0)
		return 0;
	while (depth >= 0 && !err) {
		Dwarf_Die *die = &stack[depth];
		int tag = dwarf_tag(die);

		if (tag == DW_TAG_inlined_subroutine)
			err = list_call(l, die);
		if (!err && depth + 1 < MOST_DEPTH && may_hold_calls(tag) &&
		    dwarf_child(die, &stack[depth + 1]) == 0) {
			depth++;
			continue;
		}
		while (depth >= 0 && dwarf_siblingof(&stack[depth], &stack[depth]) != 0)
			depth--;
	}
	return err;
}

int inlined_calls_each(const struct elf_file *file,
		       int (*each)(void *arg, const struct inlined_call_site *site), void *arg)
{
	struct listing l = {.each = each, .arg = arg};
	int err = elf_file_expand(file);
	Dwarf *dwarf = err ? NULL : dwarf_begin_elf(elf_file_libelf(file), DWARF_C_READ, NULL);
	Dwarf_CU *cu = NULL;
	uint8_t type;

	while (dwarf && !err && dwarf_get_units(dwarf, cu, &cu, NULL, &type, &l.unit, NULL) == 0) {
		if (type == DW_UT_compile)
			err = list_unit(&l);
	}
	dwarf_end(dwarf);
	return err;
}
