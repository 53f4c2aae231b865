/* SPDX-License-Identifier: MIT */
/* The files of the page; see web_files.h. The Makefile writes web_files.inc. */
#include "web_files.h"

#include <string.h>

#include "web_files.inc"

const struct web_file *web_files_find(const char *name)
{
	for (const struct web_file *file = web_files; file->name; file++)
		if (strcmp(file->name, name) == 0)
			return file;
	return NULL;
}

const char *web_files_type(const char *name)
{
	static const char *const types[][2] = {
		{".html", "text/html; charset=utf-8"}, {".js", "text/javascript; charset=utf-8"},
		{".css", "text/css; charset=utf-8"},   {".svg", "image/svg+xml"},
		{".json", "application/json"},
	};
	const char *ending = strrchr(name, '.');

	for (size_t i = 0; ending && i < sizeof(types) / sizeof(*types); i++)
		if (strcmp(ending, types[i][0]) == 0)
			return types[i][1];
	return NULL;
}
