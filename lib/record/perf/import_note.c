/* SPDX-License-Identifier: MIT */
/* The note on an imported recording; see import_note.h. */
#include "perf/import_note.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "arch/target.h"

#define INSTEAD "for complete paths record with --call-graph lbr or dwarf, or with stackd"

bool import_note_is_foreign(const struct perfdata_info *info)
{
	return *info->arch && !target_is_machine(info->arch);
}

static bool has_stacks(const struct perfdata_event *e)
{
	return e->sample_type & (PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_STACK_USER);
}

static void write_any_branch(FILE *f, const struct import_note_facts *facts)
{
	const struct import_stack_counts *c = &facts->branches;

	fputs("; recorded with branches of every kind (-b)", f);
	fputs(has_stacks(facts->event) ? ", whose calls are joined with the call chains"
				       : " and no call chains: paths are the calls among the last "
					 "branches",
	      f);
	if (c->unknown_code)
		fprintf(f,
			"; %" PRIu64 " of %" PRIu64
			" sample%s branches in code that is not here, which shortens that part",
			c->unknown_code, facts->samples,
			text_plural(facts->samples, " has", "s have"));
	if (facts->ends[STACKD_END_ENTRY] + facts->ends[STACKD_END_NO_USER] < facts->samples)
		fputs("; " INSTEAD, f);
}

static void write_kind(FILE *f, const struct import_note_facts *facts)
{
	switch (import_stack_branches(facts->event)) {
	case IMPORT_BRANCHES_CALL_STACK:
		return;
	case IMPORT_BRANCHES_ANY:
		write_any_branch(f, facts);
		return;
	case IMPORT_BRANCHES_SOME:
		fputs("; recorded with some kinds of branches alone, which show no path", f);
		if (!has_stacks(facts->event))
			fputs(": paths are of one frame; " INSTEAD, f);
		return;
	case IMPORT_BRANCHES_NONE:
		if (!has_stacks(facts->event))
			fputs("; recorded without call chains: paths are of one frame; " INSTEAD,
			      f);
		return;
	}
}

/* Writes how many walks ended in files that are missing here, since stacks are walked with the
 * files of the machine that recorded. */
static void write_missing_files(FILE *f, const struct import_note_facts *facts)
{
	uint64_t n = facts->ends[STACKD_END_NO_OBJECT];

	if (n)
		fprintf(f, "; %" PRIu64 " of %" PRIu64 " stack%s in a file that is missing", n,
			facts->samples, text_plural(facts->samples, " ends", "s end"));
	if (facts->missing)
		fprintf(f, "; %s", facts->missing);
}

char *import_note(const struct import_note_facts *facts)
{
	const char *version = facts->info->perf_version;
	char *note = NULL;
	size_t len;
	FILE *f = open_memstream(&note, &len);
	bool failed;

	if (!f)
		return NULL;
	fprintf(f, "imported from perf%s%s", *version ? " " : "", version);
	if (import_note_is_foreign(facts->info))
		fprintf(f, "; recorded on %s, whose stacks are not walked here", facts->info->arch);
	write_kind(f, facts);
	write_missing_files(f, facts);
	failed = ferror(f);
	if (fclose(f) || failed) {
		free(note);
		return NULL;
	}
	return note;
}
