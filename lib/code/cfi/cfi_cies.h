/* SPDX-License-Identifier: MIT */
/*
 * The CIEs of a section, each read and run once, in order of their offsets.
 *
 * A section is read twice, first for its CIEs. An FDE then finds its CIE by binary search among
 * them. So the FDE's pointer cannot lead elsewhere, a CIE may follow its FDEs as well as precede
 * them, and there is no hash table that hostile CIEs could slow down. A CIE's instructions are run
 * once, not once for each FDE, since a long CIE with many small FDEs would cost the product of
 * both.
 */
#ifndef CFI_CFI_CIES_H
#define CFI_CFI_CIES_H

#include "base/vec.h"
#include "cfi/cfi_entry.h"

#define CFI_CIES_MAX (1u << 16)

struct cfi_cies { /* zeroed is empty */
	VEC(struct cfi_cie) v;
};

/* Reads the CIEs of a section into an empty list, which the caller frees with cfi_cies_free(), also
 * after a failure. *ret_refused is CFI_REFUSED_CIE_LIMIT if the section has more than CFI_CIES_MAX,
 * of which the first ones are kept; else CFI_ACCEPTED. Returns 0 or -ENOMEM. */
int cfi_cies_read(const struct cfi_section *section, struct cfi_cies *cies,
		  enum cfi_refusal *ret_refused);

/* Returns the CIE at an offset of the section; NULL: there is none. It lives as long as the
 * list. */
const struct cfi_cie *cfi_cies_find(const struct cfi_cies *cies, uint64_t at);

/* Frees the list's CIEs and empties it. */
void cfi_cies_free(struct cfi_cies *cies);

#endif
