/* SPDX-License-Identifier: MIT */
/*
 * Makes the model of `stackctl decode`: one call graph, merged from files that contain calls.
 *
 * A file's content tells its kind. Instrumented files have the section .btloc or call the runtime
 * of -finstrument-functions. Other ELF files give the calls in their code, and stores and tag
 * exports the calls that they observed. Kinds can be mixed, since a tag of one kind fits a path of
 * another only by chance. An instrumented file has tags of two kinds: its own, made of functions,
 * and those of stackd's walks, made of code locations. So it has two graphs; the second one is made
 * with `locations`.
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
	bool locations; /* instrumented files give the calls in their code, as other files do */
	bool is_again;	/* an earlier call has given the messages about these files: do not repeat
			 * them */
	bool is_alone;	/* does not read the libraries that the files need */
};

/* Reads all files. Returns a cmd_status; a message has been given if it is not CMD_DONE. The graph
 * is sealed; the caller frees it. */
int decode_model_graph(const struct decode_model *model, struct callgraph **ret_graph,
		       enum decode_kind *ret_kind);

#endif
