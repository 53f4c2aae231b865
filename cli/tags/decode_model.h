/* SPDX-License-Identifier: MIT */
/*
 * Makes the model of `stackctl decode`: one call graph, merged from files that contain calls.
 *
 * A file's content tells its kind. Instrumented files have the section .btloc or call the runtime
 * of -finstrument-functions. Other ELF files give the calls in their code, and stores and tag
 * exports the calls that they observed. Kinds can be mixed, because a tag of one kind is that of a
 * path of another kind only by chance. An instrumented file has tags of two kinds: its own, made
 * from functions, and those of stackd's walks, made from code locations. So it has two graphs, and
 * `locations` selects the second one.
 *
 * A path of call sites passes through the C library before it reaches main(). So the libraries that
 * a program or library needs are read as well, unless `is_alone`.
 */
#ifndef CLI_DECODE_MODEL_H
#define CLI_DECODE_MODEL_H

#include <stdbool.h>

#include "callgraph/callgraph.h"

#define DECODE_MODEL_FILES 256

enum decode_kind {
	DECODE_FUNCTIONS, /* the graph of instrumented files; with `locations` they give a graph of
			   * locations instead */
	DECODE_LOCATIONS,
};

struct decode_model {
	const char *files[DECODE_MODEL_FILES];
	unsigned n_files;
	/* instrumented files give the calls in their code, as other files do, for tags made from
	 * locations */
	bool locations;
	bool is_again; /* an earlier call has printed the messages about these files, so they are
			* not repeated */
	bool is_alone; /* does not read the libraries that the files need */
};

/* Reads all files, and makes the graph, which is sealed; the caller frees it. Returns a cmd_status;
 * a message has been printed if it is not CMD_DONE. */
int decode_model_graph(const struct decode_model *model, struct callgraph **ret_graph,
		       enum decode_kind *ret_kind);

#endif
