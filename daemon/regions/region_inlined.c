/* SPDX-License-Identifier: MIT */
/* Compares the names of inlined calls; see region_inlined.h. */
#include "daemon/regions/region_inlined.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "sym/inlined_calls.h"

struct search {
	const struct region_spec *spec;
	struct region_inlined *inlined;
};

/* Returns whether a name equals the last part of the pattern ("solve<a::b>" in
 * "ns::solve<a::b>(int)"): for functions without code of their own, debug information has no
 * linkage name, only the name without namespace and arguments. */
static bool is_last_part(const struct region_spec *spec, const char *name)
{
	const char *start = spec->function, *end = start + strlen(start);
	int depth = 0;

	for (const char *at = start; *at && end > at; at++) {
		if (*at == '(' && !depth && at > start)
			end = at;
		depth += (*at == '<') - (*at == '>');
		if (!depth && at[0] == ':' && at[1] == ':')
			start = at + 2;
	}
	return strlen(name) == (size_t)(end - start) &&
	       !strncmp(start, name, (size_t)(end - start));
}

static int take(void *arg, const struct inlined_call_site *site)
{
	const struct search *s = arg;
	struct region_inlined *inlined = s->inlined;
	const char *file = text_basename(site->file ? site->file : "?");
	char name[REGION_INLINED_BYTES];

	if (!region_spec_is_function(s->spec, site->name) && !is_last_part(s->spec, site->name))
		return 0;
	snprintf(name, sizeof(name), "%s", file);
	for (uint32_t i = 0; i < inlined->count && i < REGION_INLINED_MOST; i++) {
		if (inlined->lines[i] == site->line && !strcmp(inlined->files[i], name))
			return 0;
	}
	if (inlined->count < REGION_INLINED_MOST) {
		inlined->lines[inlined->count] = site->line;
		memcpy(inlined->files[inlined->count], name, sizeof(name));
	}
	inlined->count++;
	return 0;
}

int region_inlined_find(const struct region_spec *spec, const struct elf_file *file,
			const char *path, const struct debug_source *debug,
			struct region_inlined *ret_inlined)
{
	struct search s = {spec, ret_inlined};
	struct elf_file *debug_file = NULL;
	int err;

	*ret_inlined = (struct region_inlined){0};
	if (debug_file_open(file, debug, path, &debug_file) == -ENOMEM)
		return -ENOMEM;
	err = inlined_calls_each(file, take, &s);
	if (!err && debug_file)
		err = inlined_calls_each(debug_file, take, &s);
	elf_file_free(debug_file);
	return err;
}
