/* SPDX-License-Identifier: MIT */
/* Tables that are generated from the list in recipe_refusal.h. */
#include "unwind/recipe_refusal.h"

#include <stddef.h>
#include <stdint.h>

const char *recipe_refusal_name(enum recipe_refusal refusal)
{
	static const char *const names[] = {
#define RECIPE_X(e, name, unit, meaning) name,
		RECIPE_REFUSALS(RECIPE_X)
#undef RECIPE_X
	};
	return (size_t)refusal < RECIPE_REFUSED_COUNT ? names[refusal] : "accepted";
}

const char *recipe_refusal_unit(enum recipe_refusal refusal)
{
	enum unit { UNIT_FILE, UNIT_SECTION, UNIT_FDE, UNIT_ROW };
	static const char *const names[] = {"file", "section", "fde", "row"};
	static const uint8_t units[] = {
#define RECIPE_X(e, name, unit, meaning) UNIT_##unit,
		RECIPE_REFUSALS(RECIPE_X)
#undef RECIPE_X
	};
	return (size_t)refusal < RECIPE_REFUSED_COUNT ? names[units[refusal]] : "";
}

enum recipe_refusal recipe_refusal_of_cfi(enum cfi_refusal refusal)
{
	static const uint8_t reasons[] = {
#define CFI_X(e, name, unit, meaning) [CFI_REFUSED_##e] = RECIPE_REFUSED_##e,
		CFI_REFUSALS(CFI_X)
#undef CFI_X
			[CFI_ACCEPTED] = RECIPE_ACCEPTED,
	};
	return (enum recipe_refusal)reasons[refusal];
}
