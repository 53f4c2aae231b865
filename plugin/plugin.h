/* SPDX-License-Identifier: MIT */
/*
 * The interfaces between the parts of the GCC plugin.
 *
 *   plugin.cc    options, which functions are left out, where the pass is inserted
 *   pass.cc      the pass: keeps the tag in every function
 *   records.cc   the contents of .btloc and .btedge, and writing them (docs/TAGS.md)
 */
#ifndef STACKTAG_PLUGIN_H
#define STACKTAG_PLUGIN_H

#include <fnmatch.h>
#include <set>
#include <string>
#include <vector>

#include "gcc-plugin.h"
#include "tree.h"
#include "basic-block.h"
#include "context.h"
#include "function.h"
#include "gimple.h"
#include "tree-pass.h"

/* Flags of records, as in docs/TAGS.md. */
enum loc_flags { LOC_LOCAL = 1, LOC_LEFT_OUT = 2, LOC_ROOT = 4, LOC_VIRTUAL = 8, LOC_PUBLIC = 16 };
enum edge_flags { EDGE_TAIL = 1, EDGE_INDIRECT = 2, EDGE_TAKEN = 4, EDGE_METHOD = 8 };

/* From the command line: -fplugin-arg-stacktag-NAME=VALUE */
struct options {
	bool leaves = true;		   /* functions that call nothing keep a tag too */
	unsigned min_size = 0;		   /* statements; smaller functions are left out */
	std::vector<std::string> exclude;  /* patterns of functions to leave out */
	std::vector<std::string> files;	   /* patterns of source files to leave out */
	std::vector<std::string> roots;	   /* functions at which a chain begins anew */
	std::vector<std::string> switches; /* functions that return on another stack */
};

extern struct options options;

/* Returns whether a name fits one of the patterns (fnmatch(3)). */
bool fits(const std::vector<std::string> &patterns, const char *name);

/* --- records.cc --- */

/* Returns the function's name in the symbol table. */
const char *linkage_name(tree fndecl);

uint64_t function_id(tree fndecl);

struct edge_record {
	unsigned flags;
	uint64_t caller, callee;
	bool operator<(const edge_record &other) const;
};

/* Keeps the records of a function whose code is in this file, until they are written. */
void record_function(tree fndecl, unsigned flags, const std::set<edge_record> &edges);

/* Writes all records that were kept, and which functions have their address taken. */
void write_records(void);

/* Gives the edge of a call. Returns false if it has none: the callee is a built-in function, or one
 * that never calls back. */
bool edge_of_call(uint64_t caller, gcall *call, edge_record *ret_edge);

/* --- pass.cc --- */

opt_pass *make_stacktag_pass(void);

#endif
