/* SPDX-License-Identifier: MIT */
/*
 * A piece of code that is analysed by itself: its bytes, and the rules of its functions
 * (analysis/analysis.h). If some of its bytes have changed, since a JIT compiler has added a
 * function or patched a call, only the code around the changes is analysed again, which takes a
 * small part of the time of the whole piece.
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
	uint64_t address; /* the rule is valid from here up to the next row */
	struct stackd_rule rule;
};

struct code_piece {		   /* zeroed is empty */
	struct elf_file *elf;	   /* the bytes, at offsets that are addresses; NULL: none */
	uint64_t start, len;	   /* their first address and number */
	bool is_file;		   /* it is code of a file; false: some of it can be data */
	VEC(struct code_row) rows; /* in order */
};

/* Frees all contents, and leaves the piece empty. */
void code_piece_fini(struct code_piece *piece);

/* Makes a piece of `len` bytes at `start` from an empty one. Returns 0 or an error (-ENOMEM, or as
 * analysis_run()); the caller frees it with code_piece_fini() in either case. */
int code_piece_make(struct code_piece *piece, const uint8_t *bytes, size_t len, uint64_t start,
		    bool is_file);

/* Replaces the bytes of a piece by the current ones, and analyses it again where they differ.
 * Return value and freeing are as above. */
int code_piece_renew(struct code_piece *piece, const uint8_t *bytes, size_t len, uint64_t start);

/* Returns whether the piece has the same bytes at `start`. */
bool code_piece_has(const struct code_piece *piece, const uint8_t *bytes, size_t len,
		    uint64_t start);

/* Gives the range of addresses around an address that have rules without a gap: its function, and
 * adjoining ones. false: it has no rule. */
bool code_piece_function(const struct code_piece *piece, uint64_t address, uint64_t *ret_from,
			 uint64_t *ret_to);

/* Gives the rule at an address; STACKD_CFA_NONE: there is none. */
void code_piece_rule(const struct code_piece *piece, uint64_t address,
		     struct stackd_rule *ret_rule);

#endif
