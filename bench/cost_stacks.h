/* SPDX-License-Identifier: MIT */
/*
 * Recorded stacks, as text: what a walk needs to know of the successive stacks of a program's
 * thread, without the program. bench/cost.py writes them; bench/stacks/ has those of ten programs,
 * so that their cost is counted on machines that have other versions of them, or none.
 *
 *   # comment
 *   mappings COUNT                                       of the process, for the depth of the tree
 *   file START SIZE OFFSET                               mapped code; numbered from 1
 *   chunk FILE CHUNK ROWS                                a table's rows of 64 KiB of a file
 *   rule NUMBER CFA REG ADD OFFSET RA SAVED*6 REG VIA    the fields of struct stackd_rule
 *   at FILE OFFSET EXACT SIZE FROM TO RULE               a location; numbered from 0
 *   sample CHANGES KEPT LOCATION...
 *   count                                                the cost of the samples from here on
 *
 * The SIZE of a location is the distance from rsp there to the CFA; in FROM to TO its rule holds.
 * A sample has as many frames of the one before as KEPT says, from the root on, and then other
 * locations, the leaf last. The mappings of the process have changed CHANGES times meanwhile.
 *
 * The contents of the stack are made of that: return addresses, saved registers and what a CFA is
 * read from are where rules say that they are, with values that lead on; all else is 0. In a
 * table the rules' rows are where they are, and the other rows spread evenly.
 */
#ifndef BENCH_COST_STACKS_H
#define BENCH_COST_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "stackd_abi.h"

#define STACKS_FRAMES 1024

struct stacks_file {
	uint64_t start, size, offset;
};

struct stacks_chunk {
	uint32_t file, number, rows;
};

struct stacks_location {
	uint32_t file, is_exact, size, rule; /* rule: its number */
	uint64_t offset, from, to;
};

struct stacks_sample {
	uint32_t changes, depth;
	uint32_t *frames; /* owned; locations, root first */
};

struct stacks_rule {
	uint32_t number;
	struct stackd_rule rule;
};

struct stacks { /* all arrays are owned */
	uint32_t n_mappings;
	struct stacks_file *files;
	struct stacks_chunk *chunks;
	struct stacks_rule *rules;
	struct stacks_location *locations;
	struct stacks_sample *samples;
	size_t n_files, n_chunks, n_rules, n_locations, n_samples;
	size_t first_counted; /* sample */
};

/* Reads a file; where it is none of these, the process ends with a message. */
struct stacks *stacks_read(const char *path);
void stacks_free(struct stacks *stacks);

const struct stackd_rule *stacks_rule_of(const struct stacks *stacks, uint32_t location);

/* The program counter of a frame at a location. */
uint64_t stacks_pc(const struct stacks *stacks, uint32_t location);

/* Writes a sample's stack to the memory that ends at the address `top`, at least STACKS_BYTES of
 * it, which is at `bytes` here; `ret_regs` are the leaf's. Returns the stack pointer at the entry
 * into the root. */
#define STACKS_BYTES (256u * 1024)
uint64_t stacks_write(const struct stacks *stacks, const struct stacks_sample *sample,
		      uint8_t *bytes, uint64_t top, struct stackd_regs *ret_regs);

#endif
