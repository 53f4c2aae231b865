/* SPDX-License-Identifier: MIT */
/*
 * The note on an imported recording, which every report shows in its head: the version of perf that
 * recorded it and, where its call paths are not complete, the reason and what to record instead.
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
	uint64_t ends[STACKD_END_COUNT]; /* samples by end reason */
	const char *missing;		 /* result of import_missing(); NULL: no file is missing */
};

/* Returns whether the recording is from another architecture than this machine's, so that its code
 * cannot be decoded here. */
bool import_note_is_foreign(const struct perfdata_info *info);

/* Returns the note, one line that the caller frees; NULL: out of memory. */
char *import_note(const struct import_note_facts *facts);

#endif
