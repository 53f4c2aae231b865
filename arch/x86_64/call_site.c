/* SPDX-License-Identifier: MIT */
/*
 * For each length that a call can have, checks whether an instruction that begins this far before
 * the return address would end exactly there (Intel SDM vol. 2, 2.1.5); see call_site.h.
 */
#include "arch/call_site.h"

#include <string.h>

/* Returns the bytes of ModRM, SIB and displacement; 0: `len` bytes are too few to know. */
static size_t operand_bytes(const uint8_t *modrm, size_t len)
{
	unsigned mod = modrm[0] >> 6, rm = modrm[0] & 7;
	bool has_sib = mod != 3 && rm == 4;
	size_t n = has_sib ? 2 : 1;

	if (n > len)
		return 0;
	if (mod == 1)
		return n + 1;
	if (mod == 2 || (mod == 0 && rm == 5))
		return n + 4;
	if (mod == 0 && has_sib && (modrm[1] & 7) == 5)
		return n + 4;
	return n;
}

unsigned call_site_kinds(const uint8_t *bytes, size_t len)
{
	const uint8_t *end = bytes + len;
	unsigned kinds = len >= 5 && end[-5] == 0xe8 ? CALL_SITE_DIRECT : 0;

	for (size_t n = 2; n <= 7 && n <= len; n++) {
		const uint8_t *at = end - n;

		if (at[0] == 0xff && (at[1] >> 3 & 7) == 2 && operand_bytes(at + 1, n - 1) == n - 1)
			kinds |= CALL_SITE_INDIRECT;
	}
	return kinds;
}

/* The distance is the signed number in the call's last four bytes. */
uint64_t call_site_target(const uint8_t *end, uint64_t address)
{
	int32_t distance;

	memcpy(&distance, end - sizeof(distance), sizeof(distance));
	return address + (uint64_t)(int64_t)distance;
}
