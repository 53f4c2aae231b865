/* SPDX-License-Identifier: MIT */
/* Finds the addresses at which the code of a source line begins, by DWARF's line tables. */
#ifndef SYM_LINE_PLACES_H
#define SYM_LINE_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "elf/elf_file.h"

struct line_place {
	uint64_t vaddr;
	uint64_t function; /* number of the function, or of its inlined copy; 0: not known */
	int column;	   /* of the statement */
};

struct line_places {
	VEC(struct line_place) all;
	bool has_file;	    /* a line table has a file of that name */
	uint32_t next_line; /* the next line with code; 0: none */
};

/* Adds the addresses at which the code of FILE:LINE begins. In each function with code of the line
 * (an inlined copy counts as a function), these are the line's first statement, and other rows of
 * that statement, which the compiler has copied with a loop's body. So the address for the line of
 * a `for` is that of its initialisation. `name` is the file's name, with any number of its folders.
 * Returns 0 (also without DWARF) or -ENOMEM. The caller frees `places` with line_places_free(). */
int line_places_find(const struct elf_file *file, const char *name, uint32_t line,
		     struct line_places *places);
void line_places_free(struct line_places *places);

#endif
