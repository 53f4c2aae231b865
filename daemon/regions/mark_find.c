/* SPDX-License-Identifier: MIT */
/* Searches symbols, or line tables; see mark_find.h. */
#include "daemon/regions/mark_find.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/regions/probe_move.h"
#include "sym/function_symbols.h"
#include "sym/line_places.h"

struct search {
	const struct mark_place *place;
	const struct elf_file *file;
	struct mark_code *code;
};

static int add(struct mark_code *code, uint64_t vaddr)
{
	if (VEC_RESERVE(&code->vaddrs, 1))
		return -ENOMEM;
	code->vaddrs.items[code->vaddrs.count++] = vaddr;
	return 0;
}

/* Adds the entry of a matching function; or the address of a later instruction where a probe costs
 * less and the stack is still the same (probe_move.h). 0 or -ENOMEM. */
static int match_function(void *arg, const struct function_symbol *symbol)
{
	const struct code_part part = {.vaddr = symbol->vaddr, .size = symbol->size};
	const struct search *s = arg;
	struct function_exits moved = {0};

	if (symbol->is_resolver || strstr(symbol->name, ".cold") ||
	    !region_spec_is_function(&s->place->spec, symbol->name))
		return 0;
	if (symbol->size && probe_move(s->file, &part, 1, true, &moved))
		return -ENOMEM;
	return add(s->code, symbol->vaddr + moved.after);
}

/* Adds the addresses of a line's statements, by the line tables of `file`: the searched file, or
 * its debug file. 0 or -ENOMEM. */
static int find_line(const struct search *s, const struct elf_file *file)
{
	struct line_places found = {0};
	int err = line_places_find(file, s->place->file, s->place->line, &found);

	s->code->has_file |= found.has_file;
	if (found.next_line && (!s->code->next_line || found.next_line < s->code->next_line))
		s->code->next_line = found.next_line;
	for (size_t i = 0; i < found.all.count && !err; i++)
		err = add(s->code, found.all.items[i].vaddr);
	line_places_free(&found);
	return err;
}

int mark_find(const struct mark_place *place, const struct elf_file *file, const char *path,
	      const struct debug_source *source, struct mark_code *ret_code)
{
	struct search s = {place, file, ret_code};
	struct elf_file *debug = NULL;
	int err = debug_file_open(file, source, path, &debug);

	*ret_code = (struct mark_code){.runtime = runtime_of_file(file)};
	err = err == -ENOMEM ? err : 0;
	if (!err && !place->file)
		err = function_symbols_each(file, debug, match_function, &s);
	if (!err && place->file)
		err = find_line(&s, file);
	if (!err && place->file && debug)
		err = find_line(&s, debug);
	elf_file_free(debug);
	return err;
}

void mark_code_free(struct mark_code *code)
{
	free(code->vaddrs.items);
	*code = (struct mark_code){0};
}
