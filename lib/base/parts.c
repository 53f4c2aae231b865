/* SPDX-License-Identifier: MIT */
/* Parts of a build; see parts.h. The Makefile writes left_out.h with the words of WITHOUT. */
#include "base/parts.h"

#include <string.h>

#include "left_out.h"

static const struct {
	const char *word, *missing;
} parts[] = {
	[PART_CORE] = {"", ""},
	[PART_FOLD] = {"fold", "built without folding (make WITHOUT=fold)"},
	[PART_SERVERS] = {"servers", "built without servers and their databases (make "
				     "WITHOUT=servers)"},
	[PART_TAGS] = {"tags", "built without the tags that programs keep (make WITHOUT=tags)"},
	[PART_MPI] = {"mpi", "built without the merge of MPI jobs (make WITHOUT=mpi)"},
	[PART_WEB] = {"web", "built without the page in the browser, since libmicrohttpd was "
			     "missing or by choice (make WITHOUT=web)"},
};

_Static_assert(sizeof(parts) / sizeof(*parts) == PART_COUNT, "a row for each part");

bool part_is_built(enum part part)
{
	const size_t len = strlen(parts[part].word);

	for (const char *at = LEFT_OUT; part != PART_CORE && *at; at += strcspn(at, " ")) {
		at += strspn(at, " ");
		if (strcspn(at, " ") == len && strncmp(at, parts[part].word, len) == 0)
			return false;
	}
	return true;
}

const char *part_missing(enum part part)
{
	return parts[part].missing;
}

static void print(FILE *out, const char *title, bool is_built)
{
	bool any = false;

	for (enum part i = PART_CORE + 1; i < PART_COUNT; i++) {
		if (part_is_built(i) != is_built)
			continue;
		fprintf(out, "%s %s", any ? "" : title, parts[i].word);
		any = true;
	}
	if (any)
		fputc('\n', out);
}

void parts_print(FILE *out)
{
	print(out, "parts:", true);
	print(out, "left out:", false);
}
