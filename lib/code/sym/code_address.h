/* SPDX-License-Identifier: MIT */
/*
 * The linked addresses (vaddrs) of a recording's code, for tools that match costs with the output
 * of a disassembler.
 *
 * A location is an offset in a file, and a caller's is the last byte of its call instruction. The
 * program headers of the file turn offsets into vaddrs, and decoding a function from its start
 * finds where the call instruction begins. Both need the file that was recorded; see
 * sym/reader_objects.h for how it is proven to be that one.
 */
#ifndef SYM_CODE_ADDRESS_H
#define SYM_CODE_ADDRESS_H

#include <stddef.h>
#include <stdint.h>

#include "store/store_reader.h"

/* vaddrs; 0: not known */
struct code_address {
	uint64_t instruction; /* the instruction at the location; for a caller, its call */
	uint64_t function;    /* the start of the function that is not inlined */
};

/* Finds the addresses of `n` locations; a location may occur more than once. *ret_addresses
 * has an element for each location of the tables, by number, and belongs to the caller, who frees
 * it. Addresses stay 0 in code that is in no ELF file, or whose file is not on this machine. A
 * call's address stays 0 unless a call instruction is found that ends at the location. Returns 0 or
 * -ENOMEM. */
int code_addresses_find(const struct store_tables *tables, const uint32_t *locations, size_t n,
			struct code_address **ret_addresses);

#endif
