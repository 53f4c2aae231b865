/* SPDX-License-Identifier: MIT */
/* bl and blr, which have one length; see ../call_site.h. */
#include "arch/call_site.h"

#include "arch/arm64/words.h"

unsigned call_site_kinds(const uint8_t *bytes, size_t len)
{
	uint32_t word;

	if (len < WORD_BYTES)
		return 0;
	word = word_at(bytes + len - WORD_BYTES);
	if (word_is_direct_call(word))
		return CALL_SITE_DIRECT;
	return word_is_indirect_call(word) ? CALL_SITE_INDIRECT : 0;
}

uint64_t call_site_target(const uint8_t *end, uint64_t address)
{
	return word_target(word_at(end - WORD_BYTES), address - WORD_BYTES);
}
