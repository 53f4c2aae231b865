/* SPDX-License-Identifier: MIT */
/* A list of CIEs, which is sorted because a section is read from its start on; see cfi_cies.h. */
#include "cfi/cfi_cies.h"

#include <stdlib.h>

int cfi_cies_read(const struct cfi_section *section, struct cfi_cies *cies,
		  enum cfi_refusal *ret_refused)
{
	struct cfi_entry entry;
	enum cfi_refusal refused;
	uint64_t at = 0;

	*ret_refused = CFI_ACCEPTED;
	while (cfi_entry_next(section, &at, &entry, &refused)) {
		if (!entry.is_cie)
			continue;
		if (cies->v.count == CFI_CIES_MAX) {
			*ret_refused = CFI_REFUSED_CIE_LIMIT;
			return 0;
		}
		if (VEC_RESERVE(&cies->v, 1))
			return -ENOMEM;
		cfi_entry_read_cie(section, &entry, &cies->v.items[cies->v.count++]);
	}
	return 0;
}

static int compare(const void *key, const void *element)
{
	uint64_t at = *(const uint64_t *)key;
	const struct cfi_cie *cie = element;

	return at < cie->at ? -1 : at > cie->at;
}

const struct cfi_cie *cfi_cies_find(const struct cfi_cies *cies, uint64_t at)
{
	if (!cies->v.count)
		return NULL;
	return bsearch(&at, cies->v.items, cies->v.count, sizeof(*cies->v.items), compare);
}

void cfi_cies_free(struct cfi_cies *cies)
{
	free(cies->v.items);
	*cies = (struct cfi_cies){0};
}
