/* SPDX-License-Identifier: MIT */
/* The list of end reasons as look-ups; see end_reason.h. */
#include "stack/end_reason.h"

const char *end_reason_name(uint8_t end_reason)
{
	static const char *const names[] = {
#define STACKD_X(e, name, quality, meaning) [STACKD_END_##e] = name,
		STACKD_END_REASONS(STACKD_X)
#undef STACKD_X
	};

	return end_reason < STACKD_END_COUNT ? names[end_reason] : "unknown";
}

enum end_quality end_reason_quality(uint8_t end_reason)
{
	static const uint8_t qualities[] = {
#define STACKD_X(e, name, quality, meaning) [STACKD_END_##e] = END_##quality,
		STACKD_END_REASONS(STACKD_X)
#undef STACKD_X
	};

	return end_reason < STACKD_END_COUNT ? qualities[end_reason] : END_PARTIAL;
}
