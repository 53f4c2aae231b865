/* SPDX-License-Identifier: MIT */
/*
 * A cache of decoded instructions at the locations that branch records name over and over: the kind
 * of instruction, and whether a call can return there. Reading and decoding one costs a system call
 * and some 200 ns. The cache is direct-mapped: each location has one slot of LBR_SITE_SLOTS, which
 * is enough for nearly all of a recording's.
 */
#ifndef LBR_LBR_SITE_H
#define LBR_LBR_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include "callflow/callflow_stub.h"

#define LBR_SITE_SLOTS 16384

enum lbr_site_kind {
	LBR_SITE_NONE, /* cannot be read, or is no instruction */
	LBR_SITE_OTHER,
	LBR_SITE_CALL,
	LBR_SITE_RETURN,
	LBR_SITE_INDIRECT, /* a jump through a register or memory */
};

struct lbr_site {
	uint64_t offset;   /* in the file */
	uint32_t object;   /* its number and one; 0: the slot is free */
	int32_t distance;  /* of a direct call's target from its end; 0: none */
	uint8_t kind;	   /* enum lbr_site_kind */
	uint8_t length;	   /* of the instruction, bytes */
	bool follows_call; /* the bytes before it are a call's, or may be */
};

struct lbr_sites;

int lbr_sites_new(struct lbr_sites **ret_sites); /* 0 or -ENOMEM */

/* Frees the cache; NULL is fine. */
void lbr_sites_free(struct lbr_sites *sites);

/* Returns the decoded instruction at a location, which lives until the next call. */
const struct lbr_site *lbr_site_at(struct lbr_sites *sites, const struct insn_decoder *decoder,
				   const struct lbr_location *location);

#endif
