/* SPDX-License-Identifier: MIT */
/*
 * What a user should know of an imported recording, for the head of each report: by whom it was
 * made, and where it has no whole call paths, what kind of recording it is, why that is so, and
 * what to record instead.
 */
#ifndef PERF_IMPORT_NOTE_H
#define PERF_IMPORT_NOTE_H

#include "perf/import_stack.h"
#include "perf/perfdata.h"
#include "stackd_abi.h"

struct import_note_facts {
	const struct perfdata_info *info;
	const struct perfdata_event *event;
	struct import_stack_counts branches;
	uint64_t samples;
	uint64_t ends[STACKD_END_COUNT]; /* of those samples */
	const char *missing;		 /* see import_missing(); NULL: nothing is */
};

/* Was it recorded on another architecture than the one that is read here? */
bool import_note_is_foreign(const struct perfdata_info *info);

/* One line, malloc()ed; NULL: out of memory. */
char *import_note(const struct import_note_facts *facts);

#endif
