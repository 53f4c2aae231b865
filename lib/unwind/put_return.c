/* SPDX-License-Identifier: MIT */
/* Known by the bytes before and behind; see put_return.h. */
#include "unwind/put_return.h"

#include <string.h>

#include "arch/call_site.h"
#include "unwind/sigreturn.h"
#include "unwind/stack_start.h"

_Static_assert(PUT_RETURN_BEFORE == CALL_SITE_BYTES, "a call site has to fit");

#define BEHIND	   (PUT_RETURN_BYTES - PUT_RETURN_BEFORE)
#define CALL_BYTES 7 /* call *x(%rip); hlt */

/* Whether there is a call that does not return, followed by hlt, which no program executes. */
static bool ends_process(const uint8_t *code)
{
	static const uint8_t hlt = 0xf4;

	for (size_t i = 0; i + CALL_BYTES <= BEHIND; i++) {
		if ((code[i] == 0xe8 && code[i + 5] == hlt) ||
		    (code[i] == 0xff && code[i + 1] == 0x15 && code[i + 6] == hlt))
			return true;
	}
	return false;
}

/* Whether a direct call before the address leads to code. sub $1,%eax; jne; ret ends in bytes that
 * look like such a call, and so do functions. */
static bool leads_to_code(const uint8_t *code, const struct elf_file *elf, uint64_t offset)
{
	uint64_t vaddr, target;
	int32_t distance;

	memcpy(&distance, code + PUT_RETURN_BEFORE - sizeof(distance), sizeof(distance));
	return elf_file_offset_to_vaddr(elf, offset - 1, &vaddr) &&
	       elf_file_vaddr_to_offset(elf, vaddr + 1 + (uint64_t)(int64_t)distance, &target);
}

bool put_return_is_called(const uint8_t *code, const struct elf_file *elf, uint64_t offset)
{
	unsigned kinds = call_site_kinds(code, PUT_RETURN_BEFORE);

	return kinds & CALL_SITE_INDIRECT ||
	       (kinds & CALL_SITE_DIRECT && leads_to_code(code, elf, offset));
}

bool put_return_is(const uint8_t *code, const struct elf_file *elf, uint64_t offset)
{
	const uint8_t *behind = code + PUT_RETURN_BEFORE;

	return !put_return_is_called(code, elf, offset) && !sigreturn_is_code(behind, BEHIND) &&
	       !stack_start_leaves(behind, BEHIND) && !ends_process(behind);
}

bool put_return_may_begin(const uint8_t *code, uint64_t offset)
{
	const uint8_t *at = code + PUT_RETURN_BEFORE;

	return offset % 16 == 0 || !memcmp(at, "\xf3\x0f\x1e\xfa", 4) ||	      /* endbr64 */
	       (at[0] & 0xf8) == 0x50 || (at[0] == 0x41 && (at[1] & 0xf8) == 0x50) || /* push */
	       (at[0] == 0x48 && (at[1] & 0xfd) == 0x81 && at[2] == 0xec); /* sub $x,%rsp */
}
