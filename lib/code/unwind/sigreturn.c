/* SPDX-License-Identifier: MIT */
/* Compares code with the known forms of a handler's return; see sigreturn.h. */
#include "unwind/sigreturn.h"

#include "arch/call_site.h"
#include "arch/handler_return.h"

bool sigreturn_is_code(const uint8_t *bytes, size_t len)
{
	return handler_return_bytes(bytes, len) != 0;
}

bool sigreturn_is_at(const struct elf_file *elf, uint64_t offset)
{
	const size_t here = offset < HANDLER_RETURN_BYTES ? (size_t)offset : HANDLER_RETURN_BYTES;
	uint8_t bytes[2 * HANDLER_RETURN_BYTES];
	int64_t got = elf_file_read(elf, offset - here, bytes, sizeof(bytes));

	return got > 0 && handler_return_has(bytes, (size_t)got, here);
}

bool sigreturn_begins_at(const struct elf_file *elf, uint64_t offset)
{
	uint8_t bytes[CALL_SITE_BYTES + HANDLER_RETURN_BYTES];
	int64_t got = offset < CALL_SITE_BYTES
			      ? 0
			      : elf_file_read(elf, offset - CALL_SITE_BYTES, bytes, sizeof(bytes));

	return got > CALL_SITE_BYTES &&
	       sigreturn_is_code(bytes + CALL_SITE_BYTES, (size_t)got - CALL_SITE_BYTES) &&
	       !call_site_ends(bytes, CALL_SITE_BYTES);
}

void sigreturn_rule(struct walk_rule *rule)
{
	rule->fast = (struct stackd_rule){
		.cfa = STACKD_CFA_SIGNAL, .reg = STACKD_REG_SP, .cfa_offset = ARCH_SIGCONTEXT};
	rule->is_signal = true;
}
