/* SPDX-License-Identifier: MIT */
/* Names of provenances; see provenance.h. */
#include "stack/provenance.h"

const char *provenance_name(uint8_t provenance)
{
	switch (provenance) {
#define PROVENANCE_X(e, name, letters, meaning)                                                    \
	case PROVENANCE_##e:                                                                       \
		return name;
		PROVENANCES(PROVENANCE_X)
#undef PROVENANCE_X
	default:
		return "unknown";
	}
}

const char *provenance_letters(uint8_t provenance)
{
	switch (provenance) {
#define PROVENANCE_X(e, name, letters, meaning)                                                    \
	case PROVENANCE_##e:                                                                       \
		return letters;
		PROVENANCES(PROVENANCE_X)
#undef PROVENANCE_X
	default:
		return "??";
	}
}
