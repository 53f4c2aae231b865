/* SPDX-License-Identifier: MIT */
/*
 * Adds rules from instructions (analysis/analysis.h) to a file's recipes, only for code that no
 * other source covers.
 *
 * Even files whose call frame information covers all compiled code have some hundred bytes of start
 * code that it does not cover. These bytes are analysed by themselves. Only in files with more such
 * code, symbols and pointers are read, and the rest of the file's code is searched for calls of it.
 */
#ifndef UNWIND_RECIPE_ANALYSIS_H
#define UNWIND_RECIPE_ANALYSIS_H

#include "analysis/analysis.h"
#include "base/vec.h"
#include "elf/elf_file.h"
#include "unwind/recipe_table.h"

struct recipe_gaps {			  /* zeroed is empty; its owner frees `items` */
	VEC(struct analysis_range) items; /* in order */
	uint64_t bytes;
};

/* Finds the code for which `rows` have no rule, without the padding before functions. Returns 0 or
 * -ENOMEM, with *gaps to be freed in either case. */
int recipe_gaps_find(const struct elf_file *file, const struct recipe_load *loads,
		     size_t load_count, const struct recipe_rows *rows, struct recipe_gaps *gaps);

/* The sources of a file's recipes besides call frame information. */
struct recipe_others {
	const struct elf_file *file; /* NULL: there are no other sources */
	uint64_t most_bytes;	     /* limit of the bytes of code without rules; if a file has
				      * more, none of them is analysed; 0: no limit */
	struct analysis_stop stop;
	bool is_quick; /* leaves out what takes long */
};

/* Gives whether there is so much code without rules that its analysis takes long. Returns 0 or
 * -ENOMEM. */
int recipe_analysis_is_long(const struct recipe_others *others, const struct recipe_load *loads,
			    size_t load_count, const struct recipe_rows *rows, bool *ret_is_long);

/* Merges the rules from instructions below `rows`, which have the rules of all other sources. The
 * new rows have numbers of table->rules; refused rules are counted in table->stats. Returns 0,
 * -ENOMEM or -ECANCELED. */
int recipe_analysis_lay(const struct recipe_others *others, const struct recipe_load *loads,
			size_t load_count, struct recipe_table *table, struct recipe_rows *rows);

#endif
