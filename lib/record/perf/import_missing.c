/* SPDX-License-Identifier: MIT */
/* The report on missing files; see import_missing.h. */
#include "perf/import_missing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum reason { REASON_UNSURE, REASON_OTHER, REASON_NOT_FOUND, REASON_UNREADABLE, REASON_COUNT };

struct missing {
	uint32_t files; /* files with sampled code, whether they are missing or not */
	uint32_t by_reason[REASON_COUNT];
	/* path of the missing file with the most locations; NULL: no file is missing */
	const char *path;
};

static enum reason reason_of(const struct object *object)
{
	switch (object->error) {
	case -ESTALE: /* there is another file of this name */
		return object->build_id_len ? REASON_OTHER : REASON_UNSURE;
	case -ENOENT:
	case -ENOTDIR:
	case -ESRCH:
		return REASON_NOT_FOUND;
	default:
		return REASON_UNREADABLE;
	}
}

/* Counts the locations of each object. The result is calloc()ed; NULL if memory is short. */
static uint32_t *count_locations(const struct import_processes *p)
{
	uint32_t *locations =
		calloc((size_t)object_table_count(p->objects) + 1, sizeof(*locations));

	for (uint32_t i = 0; locations && i < location_count(p->locations); i++)
		locations[location_at(p->locations, i)->object]++;
	return locations;
}

static int count(const struct import_processes *p, struct missing *ret_missing)
{
	uint32_t *locations = count_locations(p), most = 0;
	struct missing m = {0};

	if (!locations)
		return -ENOMEM;
	for (uint32_t i = 0; i < object_table_count(p->objects); i++) {
		const struct object *object = object_table_at(p->objects, i);

		if (object->kind != OBJECT_ELF || !locations[i])
			continue;
		m.files++;
		if (object->elf)
			continue;
		m.by_reason[reason_of(object)]++;
		if (locations[i] > most) {
			most = locations[i];
			m.path = object->path;
		}
	}
	free(locations);
	*ret_missing = m;
	return 0;
}

static void write_reasons(FILE *f, const struct missing *m, const char *host)
{
	static const char *const words[REASON_COUNT] = {
		[REASON_UNSURE] = "recorded without a build-id",
		[REASON_OTHER] = "with another build-id here",
		[REASON_NOT_FOUND] = "not here",
		[REASON_UNREADABLE] = "not readable",
	};
	const char *before = "";

	for (int i = 0; i < REASON_COUNT; i++) {
		if (!m->by_reason[i])
			continue;
		fprintf(f, "%s%u %s", before, m->by_reason[i], words[i]);
		if (i == REASON_UNSURE && host)
			fprintf(f, " on another host (%s)", *host ? host : "it has no name");
		before = ", ";
	}
}

int import_missing(const struct import_processes *processes, const char *host, char **ret_sentence)
{
	uint32_t missing = 0;
	struct missing m;
	size_t size;
	FILE *f;
	int err = count(processes, &m);

	*ret_sentence = NULL;
	if (err || !m.path)
		return err;
	for (int i = 0; i < REASON_COUNT; i++)
		missing += m.by_reason[i];
	f = open_memstream(ret_sentence, &size);
	if (!f)
		return -ENOMEM;
	fprintf(f, "%u of %u program files were not used (%s%s): ", missing, m.files, m.path,
		missing > 1 ? ", ..." : "");
	write_reasons(f, &m, host);
	fputs("; stackctl import --symfs DIR reads them from DIR", f);
	if (m.by_reason[REASON_UNSURE])
		fputs(", --symfs / uses this host's", f);
	err = ferror(f) ? -ENOMEM : 0;
	if (fclose(f) || err) {
		free(*ret_sentence);
		*ret_sentence = NULL;
		return -ENOMEM;
	}
	return 0;
}
