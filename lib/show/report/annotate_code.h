/* SPDX-License-Identifier: MIT */
/*
 * Disassembles a function that has samples and finds the source line of each instruction, if the
 * program's file is still the one that was recorded. Reads source files as well.
 */
#ifndef REPORT_ANNOTATE_CODE_H
#define REPORT_ANNOTATE_CODE_H

#include "report/annotate.h"

struct annotate_instruction {
	uint64_t offset; /* in the file */
	uint8_t length;
	char *text;    /* as a disassembler shows it */
	char *inlined; /* the innermost function that was inlined there, or NULL */
	/* source file of the function's own line at the instruction, or NULL; lives as long as the
	 * code */
	const char *file;
	uint32_t line;
	uint64_t self, total, hit; /* as in struct annotate_location */
};

struct annotate_code {
	struct annotate_instruction *instructions;
	uint32_t n;
	char problem[200];	       /* why there are no instructions, or "" */
	char missing[256];	       /* a debug file that is needed and not installed, or "" */
	struct symbolizer *symbolizer; /* owns the names of files */
	struct elf_file *elf;
};

struct annotate_code_options {
	const char *root;   /* folder below which the programs' paths are looked up; NULL: "/" */
	const char *source; /* another folder in which sources are looked up, or NULL */
	bool intel;	    /* Intel's syntax rather than AT&T's */
};

/* Disassembles a function. If its file is missing or another one than was recorded, there are no
 * instructions, and `problem` is the reason. The caller frees the result with annotate_code_free().
 * Returns 0 or -ENOMEM. */
int annotate_code_make(const struct profile *profile, const struct annotate_function *function,
		       const struct annotate_code_options *options, struct annotate_code *ret_code);

/* Frees everything and zeroes the structure; it may be zeroed already. */
void annotate_code_free(struct annotate_code *code);

/* A source file in lines; the first is lines[1]. */
struct annotate_source {
	char *text;
	char **lines;
	uint32_t n; /* number of the last line; 0 if the file is not there */
};

/* Reads a source file: at its own path, at that path below options->source, or by its name in
 * options->source. If there is no such file, or it cannot be read, the result has no lines. The
 * caller frees the result with annotate_source_free(). Returns 0 or -ENOMEM. */
int annotate_source_read(const char *file, const struct annotate_code_options *options,
			 struct annotate_source *ret_source);

/* Frees the text and zeroes the structure; it may be zeroed already. */
void annotate_source_free(struct annotate_source *source);

#endif
