/* SPDX-License-Identifier: MIT */
/*
 * Models of `stackctl decode`: one call graph, merged from files that contain calls.
 *
 * Their kind is detected by content: instrumented files have the section .btloc or call the runtime
 * of -finstrument-functions, other ELF files are taken for what their code calls, stores and tag
 * exports for the calls that they observed. They can be mixed; a tag of one kind never fits a path
 * of the other but by chance. Of an instrumented file there are tags of both kinds: its own, of
 * functions, and those of stackd's walks, of code locations. So there are two graphs of it, of
 * which the second one is made with `locations`.
 *
 * A path of call sites goes through the C library before it is in main(), so of programs and
 * libraries that are taken for their code, those that they name are taken, too, unless `is_alone`.
 */
#ifndef CLI_DECODE_MODEL_H
#define CLI_DECODE_MODEL_H

#include <stdbool.h>

#include "callgraph/callgraph.h"

#define DECODE_MODEL_FILES 256

enum decode_kind {
	DECODE_FUNCTIONS, /* of instrumented files only; `locations` makes another graph */
	DECODE_LOCATIONS,
};

struct decode_model {
	const char *files[DECODE_MODEL_FILES];
	unsigned n_files;
	bool locations; /* instrumented files are taken for their code, too */
	bool is_again;	/* messages about the files have been given */
	bool is_alone;	/* nothing but these files */
};

/* Reads them all. A cmd_status; a message has been given if it is not CMD_DONE. The graph is
 * sealed; the caller frees it. */
int decode_model_graph(const struct decode_model *model, struct callgraph **ret_graph,
		       enum decode_kind *ret_kind);

#endif
