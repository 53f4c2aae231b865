/* SPDX-License-Identifier: MIT */
/* Parses and matches specifications of regions; see region_spec.h. */
#include "daemon/regions/region_spec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/regions/mpi_names.h"
#include "model/pattern.h"
#include "sym/demangle.h"

int region_spec_parse(const char *text, struct region_spec *ret_spec)
{
	const char *at = strrchr(text, '@');
	size_t len = at ? (size_t)(at - text) : strlen(text);
	struct region_spec spec = {0};

	if (!len || (at && !at[1]))
		return -EINVAL;
	spec.function = strndup(text, len);
	spec.object = at ? strdup(at + 1) : NULL;
	if (asprintf(&spec.title, "--region '%s'", text) < 0)
		spec.title = NULL;
	if (!spec.title || !spec.function || (at && !spec.object)) {
		region_spec_free(&spec);
		return -ENOMEM;
	}
	spec.is_glob = strpbrk(spec.function, "*?") || (at && strpbrk(spec.object, "*?"));
	*ret_spec = spec;
	return 0;
}

int region_spec_mpi(struct region_spec *ret_spec)
{
	*ret_spec = (struct region_spec){.title = strdup("--mpi"), .is_glob = true};
	return ret_spec->title ? 0 : -ENOMEM;
}

void region_spec_free(struct region_spec *spec)
{
	free(spec->title);
	free(spec->function);
	free(spec->object);
	spec->title = spec->function = spec->object = NULL;
}

bool region_spec_is_object(const struct region_spec *spec, const char *path)
{
	if (!spec->function)
		return mpi_names_is_object(path);
	return !spec->object || pattern_is_object(spec->object, path);
}

/* A plain name is a part of its linkage name. So hardly any name is demangled in vain. */
static bool may_match(const char *pattern, const char *name)
{
	return strpbrk(pattern, "*?<( :~") || strstr(name, pattern);
}

bool region_spec_is_function(const struct region_spec *spec, const char *name)
{
	char *readable;
	bool matches;

	if (!spec->function)
		return mpi_names_is_function(name);
	if (pattern_is_function(spec->function, name))
		return true;
	if ((strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0) ||
	    !may_match(spec->function, name))
		return false;
	readable = demangle(name);
	matches = readable && pattern_is_function(spec->function, readable);
	free(readable);
	return matches;
}
