/* SPDX-License-Identifier: MIT */
/* Parses and matches specifications of regions; see region_spec.h. */
#include "daemon/regions/region_spec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/regions/mpi_names.h"
#include "model/pattern.h"
#include "sym/mpi_name.h"

/* Replaces the object's path by its real path, which /proc and perf report for mapped files. */
static void take_real_path(struct region_spec *spec)
{
	char *real = realpath(spec->object, NULL);

	if (!real)
		return;
	free(spec->object);
	spec->object = real;
}

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
	if (spec.object && strchr(spec.object, '/') && !strpbrk(spec.object, "*?"))
		take_real_path(&spec);
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

bool region_spec_is_source(const struct region_spec *spec)
{
	static const char *const endings[] = {".c",   ".cc",  ".cpp", ".cxx", ".C",   ".c++",
					      ".f",   ".for", ".F",   ".f90", ".F90", ".f03",
					      ".f08", ".f95", ".F95", ".F03", ".F08", ".rs",
					      ".d",   ".adb", ".m"};
	const char *dot = spec->object ? strrchr(spec->object, '.') : NULL;

	for (size_t i = 0; dot && i < sizeof(endings) / sizeof(*endings); i++) {
		if (!strcmp(dot, endings[i]))
			return true;
	}
	return false;
}

bool region_spec_may_be_in(const struct region_spec *spec, const char *path)
{
	return region_spec_is_object(spec, path) || region_spec_is_source(spec);
}

enum region_match region_spec_match(const struct region_spec *spec, const char *path,
				    const char *name, const char *source)
{
	if (!spec->function)
		return mpi_names_is_object(path) && mpi_name_is_function(name) ? REGION_SAME
									       : REGION_OTHER;
	if (!region_spec_is_object(spec, path) &&
	    !(source && region_spec_is_source(spec) && pattern_is_object(spec->object, source)))
		return REGION_OTHER;
	return region_name_match(spec->function, name);
}

bool region_spec_is_function(const struct region_spec *spec, const char *name)
{
	if (!spec->function)
		return mpi_name_is_function(name);
	return region_name_match(spec->function, name) != REGION_OTHER;
}
