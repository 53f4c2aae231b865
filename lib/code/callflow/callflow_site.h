/* SPDX-License-Identifier: MIT */
/*
 * A cache of decoded instructions at locations that branch records repeat: the kind of instruction,
 * and whether a call can return there. Reading and decoding one costs a system call and some 200
 * ns. The cache is direct-mapped: each location has one slot of CALLFLOW_SITE_SLOTS, which suffice
 * for nearly all locations of a recording.
 */
#ifndef CALLFLOW_CALLFLOW_SITE_H
#define CALLFLOW_CALLFLOW_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include "callflow/callflow_stub.h"

#define CALLFLOW_SITE_SLOTS 16384

enum callflow_site_kind {
	CALLFLOW_SITE_NONE, /* cannot be read, or is not an instruction */
	CALLFLOW_SITE_OTHER,
	CALLFLOW_SITE_CALL,
	CALLFLOW_SITE_RETURN,
	CALLFLOW_SITE_INDIRECT, /* a jump through a register or memory */
};

struct callflow_site {
	uint64_t offset;   /* in the file */
	uint32_t object;   /* its number + 1; 0: the slot is free */
	int32_t distance;  /* from the end of a direct call to its target; 0: none */
	uint8_t kind;	   /* enum callflow_site_kind */
	uint8_t length;	   /* of the instruction, bytes */
	bool follows_call; /* the bytes before the instruction are a call's, or may be */
};

struct callflow_sites;

int callflow_sites_new(struct callflow_sites **ret_sites); /* 0 or -ENOMEM */

/* Frees the cache; NULL is fine. */
void callflow_sites_free(struct callflow_sites *sites);

/* Returns the decoded instruction at a location, which lives until the next call. */
const struct callflow_site *callflow_site_at(struct callflow_sites *sites,
					     const struct insn_decoder *decoder,
					     const struct callflow_location *location);

#endif
