/* SPDX-License-Identifier: MIT */
/* The call of rt_sigreturn on arm64: mov x8, #139; svc #0. The kernel's vDSO has it, to which the
 * handlers of all C libraries return but musl's; see ../handler_return.h. */
#include "arch/handler_return.h"

#include "arch/arm64/words.h"

#define WORD_NOP   0xd503201fu
#define CODE_BYTES (2 * WORD_BYTES)

static bool is_code(const uint8_t *bytes, size_t len)
{
	return len >= CODE_BYTES && word_at(bytes) == WORD_SIGRETURN &&
	       word_at(bytes + WORD_BYTES) == WORD_SVC;
}

size_t handler_return_bytes(const uint8_t *bytes, size_t len)
{
	return is_code(bytes, len) ? CODE_BYTES : 0;
}

size_t handler_return_bytes_with_nop(const uint8_t *bytes, size_t len)
{
	return len >= WORD_BYTES && word_at(bytes) == WORD_NOP &&
			       is_code(bytes + WORD_BYTES, len - WORD_BYTES)
		       ? WORD_BYTES + CODE_BYTES
		       : 0;
}

const bool handler_return_may_begin[256] = {[WORD_NOP & 0xff] = true,
					    [WORD_SIGRETURN & 0xff] = true};

bool handler_return_has(const uint8_t *bytes, size_t len, size_t here)
{
	for (size_t back = 0; back <= CODE_BYTES && back <= here; back += WORD_BYTES)
		if (is_code(bytes + here - back, len - (here - back)))
			return true;
	return false;
}
