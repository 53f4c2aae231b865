/* SPDX-License-Identifier: MIT */
/* Compares the bytes before and after the address; see planted_return.h. */
#include "unwind/planted_return.h"

#include "arch/call_site.h"
#include "arch/code_form.h"
#include "unwind/sigreturn.h"
#include "unwind/stack_start.h"

_Static_assert(PLANTED_RETURN_BEFORE == CALL_SITE_BYTES, "a call site has to fit");

#define BEHIND	   (PLANTED_RETURN_BYTES - PLANTED_RETURN_BEFORE)
#define CALL_BYTES 7 /* of the longest call and what stands behind it */

/* Whether there is a call that does not return, followed by what no program executes. */
static bool ends_process(const uint8_t *code)
{
	for (size_t i = 0; i + CALL_BYTES <= BEHIND; i++)
		if (code_form_is_last_call(code + i, BEHIND - i))
			return true;
	return false;
}

/* Whether a direct call before the address leads to code. Other instructions may end in bytes
 * that look like such a call, and so may functions. */
static bool leads_to_code(const uint8_t *code, const struct elf_file *elf, uint64_t offset)
{
	uint64_t vaddr, target;

	return elf_file_offset_to_vaddr(elf, offset - 1, &vaddr) &&
	       elf_file_vaddr_to_offset(
		       elf, call_site_target(code + PLANTED_RETURN_BEFORE, vaddr + 1), &target);
}

bool planted_return_is_called(const uint8_t *code, const struct elf_file *elf, uint64_t offset)
{
	unsigned kinds = call_site_kinds(code, PLANTED_RETURN_BEFORE);

	return kinds & CALL_SITE_INDIRECT ||
	       (kinds & CALL_SITE_DIRECT && leads_to_code(code, elf, offset));
}

bool planted_return_is(const uint8_t *code, const struct elf_file *elf, uint64_t offset)
{
	const uint8_t *behind = code + PLANTED_RETURN_BEFORE;

	return !planted_return_is_called(code, elf, offset) && !sigreturn_is_code(behind, BEHIND) &&
	       !code_form_gives_up_stack(behind, BEHIND) && !ends_process(behind);
}

bool planted_return_may_begin(const uint8_t *code, uint64_t offset)
{
	const uint8_t *at = code + PLANTED_RETURN_BEFORE;

	return offset % ARCH_FUNCTION_ALIGN == 0 || code_form_may_begin_function(at);
}
