/* SPDX-License-Identifier: MIT */
/*
 * A piece of code that is analysed by itself: its bytes, and the rules of its functions
 * (analysis/analysis.h). Where some of its bytes have changed, as where a compiler at run time has
 * added a function or patched a call, only what is around them is analysed again: that takes a
 * small part of the time of all of the piece.
 */
#ifndef UNWIND_CODE_PIECE_H
#define UNWIND_CODE_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "elf/elf_file.h"
#include "stackd_abi.h"

struct code_row {
	uint64_t address; /* the rule holds from there up to the next row */
	struct stackd_rule rule;
};

struct code_piece {		   /* zeroed is empty */
	struct elf_file *elf;	   /* the bytes, at offsets that are addresses; NULL: none */
	uint64_t start, len;	   /* where they stand */
	bool is_file;		   /* it is code of a file; else it can be data, too */
	VEC(struct code_row) rows; /* in order */
};

/* Frees all, and leaves it empty. */
void code_piece_fini(struct code_piece *piece);

/* Makes an empty piece of `len` bytes that stand at `start`. Returns 0 or an error (-ENOMEM, or as
 * analysis_run()); the caller frees it with code_piece_fini() in either case. */
int code_piece_make(struct code_piece *piece, const uint8_t *bytes, size_t len, uint64_t start,
		    bool is_file);

/* Takes the bytes as they are now into a piece that has been made, and analyses it again where they
 * have changed. Returns, and is to be freed, as above. */
int code_piece_renew(struct code_piece *piece, const uint8_t *bytes, size_t len, uint64_t start);

/* Whether these bytes, at `start`, are in the piece as they are. */
bool code_piece_has(const struct code_piece *piece, const uint8_t *bytes, size_t len,
		    uint64_t start);

/* The addresses around one that have rules without a gap: its function, and those that adjoin it.
 * false: it has no rule. */
bool code_piece_function(const struct code_piece *piece, uint64_t address, uint64_t *ret_from,
			 uint64_t *ret_to);

/* The rule at an address; STACKD_CFA_NONE: there is none. */
void code_piece_rule(const struct code_piece *piece, uint64_t address,
		     struct stackd_rule *ret_rule);

#endif
