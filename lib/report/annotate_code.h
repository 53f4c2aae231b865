/* SPDX-License-Identifier: MIT */
/*
 * The instructions of a function that has samples, with its source lines, from the program's file
 * if it is still the one that was recorded; and the text of source files.
 */
#ifndef REPORT_ANNOTATE_CODE_H
#define REPORT_ANNOTATE_CODE_H

#include "report/annotate.h"

struct annotate_instruction {
	uint64_t offset; /* in the file */
	uint8_t length;
	char *text;	  /* as a disassembler shows it */
	char *inlined;	  /* the innermost function that it is inlined from, or NULL */
	const char *file; /* of the function's own line; lives as long as the code; or NULL */
	uint32_t line;
	uint64_t self, total, hit; /* as of a place */
};

struct annotate_code {
	struct annotate_instruction *instructions;
	uint32_t n;
	char problem[200]; /* why there are none, or "" */
	struct symbolizer *symbolizer;
	struct elf_file *elf;
};

struct annotate_code_options {
	const char *root;   /* folder in which the programs' paths are looked up; NULL: "/" */
	const char *source; /* folder in which sources are looked for, too; or NULL */
	bool intel;	    /* Intel's syntax; else AT&T's */
};

/* 0, also without instructions; or -ENOMEM. */
int annotate_code_make(const struct profile *profile, const struct annotate_function *function,
		       const struct annotate_code_options *options, struct annotate_code *ret_code);
void annotate_code_free(struct annotate_code *code);

/* A source file as lines, the first being lines[1]. */
struct annotate_source {
	char *text;
	char **lines;
	uint32_t n; /* the last line's number; 0: the file is not there */
};

/* 0, also if the file is not there; or -ENOMEM. */
int annotate_source_read(const char *file, const struct annotate_code_options *options,
			 struct annotate_source *ret_source);
void annotate_source_free(struct annotate_source *source);

#endif
