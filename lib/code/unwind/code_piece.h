/* SPDX-License-Identifier: MIT */
/*
 * A piece of code that is analysed by itself: its bytes, and the rules of its functions
 * (analysis/analysis.h). If some of its bytes have changed, because a JIT compiler has added a
 * function or patched a call, only the code around the changes is analysed again, which takes a
 * small part of the time for the whole piece.
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
	struct elf_file *elf;	   /* the bytes; an offset in it is an address in the process.
				    * NULL: none */
	uint64_t start, len;	   /* their first address and number */
	bool is_file;		   /* it is code of a file; false: JIT code, some of which can be
				    * data */
	VEC(struct code_row) rows; /* in order */
};

/* Frees all contents, and leaves the piece empty. */
void code_piece_fini(struct code_piece *piece);

/* Makes a piece of `len` bytes at `start` from an empty one. Returns 0 or an error (-ENOMEM, or as
 * analysis_run()); the caller frees it with code_piece_fini() in either case. */
int code_piece_make(struct code_piece *piece, const uint8_t *bytes, size_t len, uint64_t start,
		    bool is_file);

/* Replaces the bytes of a piece by new ones, and analyses the code around the differences again.
 * Returns as code_piece_make(), and is freed likewise. */
int code_piece_renew(struct code_piece *piece, const uint8_t *bytes, size_t len, uint64_t start);

/* Returns whether the piece has these bytes at `start`. */
bool code_piece_has(const struct code_piece *piece, const uint8_t *bytes, size_t len,
		    uint64_t start);

/* Gives the range of addresses around `address` in which every address has a rule: its function,
 * and adjoining ones. Returns false if `address` has no rule. */
bool code_piece_function(const struct code_piece *piece, uint64_t address, uint64_t *ret_from,
			 uint64_t *ret_to);

/* Gives the rule at an address; its cfa is STACKD_CFA_NONE if there is none. */
void code_piece_rule(const struct code_piece *piece, uint64_t address,
		     struct stackd_rule *ret_rule);

#endif
