/* SPDX-License-Identifier: MIT */
/* What is said of missing files; see import_missing.h. */
#include "perf/import_missing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum why { WHY_UNSURE, WHY_OTHER, WHY_NOT_FOUND, WHY_UNREADABLE, WHY_COUNT };

struct missing {
	uint32_t files, by_why[WHY_COUNT]; /* files: with sampled code, missing or not */
	const char *path; /* of the one with most code sampled; NULL: none is missing */
};

static enum why why_of(const struct object *object)
{
	switch (object->error) {
	case -ESTALE: /* a file of this name is there */
		return object->build_id_len ? WHY_OTHER : WHY_UNSURE;
	case -ENOENT:
	case -ENOTDIR:
	case -ESRCH:
		return WHY_NOT_FOUND;
	default:
		return WHY_UNREADABLE;
	}
}

/* How many locations each object has; calloc()ed. NULL: no memory. */
static uint32_t *weigh(const struct import_processes *w)
{
	uint32_t *locations =
		calloc((size_t)object_table_count(w->objects) + 1, sizeof(*locations));

	for (uint32_t i = 0; locations && i < location_count(w->locations); i++)
		locations[location_at(w->locations, i)->object]++;
	return locations;
}

static int count(const struct import_processes *w, struct missing *ret_missing)
{
	uint32_t *locations = weigh(w), most = 0;
	struct missing m = {0};

	if (!locations)
		return -ENOMEM;
	for (uint32_t i = 0; i < object_table_count(w->objects); i++) {
		const struct object *object = object_table_at(w->objects, i);

		if (object->kind != OBJECT_ELF || !locations[i])
			continue;
		m.files++;
		if (object->elf)
			continue;
		m.by_why[why_of(object)]++;
		if (locations[i] > most) {
			most = locations[i];
			m.path = object->path;
		}
	}
	free(locations);
	*ret_missing = m;
	return 0;
}

static void write_why(FILE *f, const struct missing *m, const char *host)
{
	static const char *const words[WHY_COUNT] = {
		[WHY_UNSURE] = "recorded without a build-id",
		[WHY_OTHER] = "with another build-id here",
		[WHY_NOT_FOUND] = "not here",
		[WHY_UNREADABLE] = "not readable",
	};
	const char *before = "";

	for (int i = 0; i < WHY_COUNT; i++) {
		if (!m->by_why[i])
			continue;
		fprintf(f, "%s%u %s", before, m->by_why[i], words[i]);
		if (i == WHY_UNSURE && host)
			fprintf(f, " on another host (%s)", *host ? host : "it has no name");
		before = ", ";
	}
}

int import_missing(const struct import_processes *world, const char *host, char **ret_sentence)
{
	uint32_t missing = 0;
	struct missing m;
	size_t size;
	FILE *f;
	int r = count(world, &m);

	*ret_sentence = NULL;
	if (r || !m.path)
		return r;
	for (int i = 0; i < WHY_COUNT; i++)
		missing += m.by_why[i];
	f = open_memstream(ret_sentence, &size);
	if (!f)
		return -ENOMEM;
	fprintf(f, "%u of %u program files were not taken (%s%s): ", missing, m.files, m.path,
		missing > 1 ? ", ..." : "");
	write_why(f, &m, host);
	fputs("; stackctl import --symfs DIR takes them from below DIR", f);
	if (m.by_why[WHY_UNSURE])
		fputs(", --symfs / takes this host's", f);
	r = ferror(f) ? -ENOMEM : 0;
	if (fclose(f) || r) {
		free(*ret_sentence);
		*ret_sentence = NULL;
		return -ENOMEM;
	}
	return 0;
}
