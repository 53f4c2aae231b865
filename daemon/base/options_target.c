/* SPDX-License-Identifier: MIT */
/* Describes the target of the options; see options.h. */
#include <stdio.h>
#include <stdlib.h>

#include "daemon/base/options.h"

static void put_words(FILE *out, const struct options *options)
{
	switch (options->target) {
	case TARGET_PIDS:
		for (size_t i = 0; i < options->n_pids; i++)
			fprintf(out, "%s%d", i ? "," : "pid ", options->pids[i]);
		break;
	case TARGET_CGROUP:
		fprintf(out, "cgroup %s", options->cgroup);
		break;
	case TARGET_COMMAND:
		for (char **word = options->command; *word; word++)
			fprintf(out, "%s%s", word == options->command ? "" : " ", *word);
		break;
	default:
		fputs("all", out);
	}
}

char *options_target(const struct options *options)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	put_words(out, options);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}
