/* SPDX-License-Identifier: MIT */
/* Compares the bytes before and after the address; see planted_return.h. */
#include "unwind/planted_return.h"

#include "arch/call_site.h"
#include "arch/code_form.h"
#include "unwind/sigreturn.h"
#include "unwind/stack_start.h"

_Static_assert(PLANTED_RETURN_BEFORE == CALL_SITE_BYTES, "a call site has to fit");

#define BEHIND	   (PLANTED_RETURN_BYTES - PLANTED_RETURN_BEFORE)
#define CALL_BYTES 7 /* length of the longest call and the instruction behind it */

/* Returns whether the code calls a function that does not return: the call is followed by an
 * instruction that no program executes. */
static bool ends_process(const uint8_t *code)
{
	for (size_t i = 0; i + CALL_BYTES <= BEHIND; i++)
		if (code_form_is_last_call(code + i, BEHIND - i))
			return true;
	return false;
}

/* Returns whether the direct call before the address leads to code, since functions and
 * instructions may end in bytes that only look like such a call. */
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
