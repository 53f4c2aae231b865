/* SPDX-License-Identifier: MIT */
/* Known by its bytes; see sigreturn.h. */
#include "unwind/sigreturn.h"

#include <string.h>

#include "unwind/call_site.h"

/* mov $15, %rax; syscall */
static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

/* The program counter is at either instruction, or behind, in
 * the system call. */
bool sigreturn_is_at(const struct elf_file *elf, uint64_t offset)
{
	static const uint8_t at[] = {0, 7, sizeof(code)};
	uint8_t bytes[sizeof(code)];

	for (size_t i = 0; i < sizeof(at) && at[i] <= offset; i++)
		if (elf_file_read(elf, offset - at[i], bytes, sizeof(bytes)) == sizeof(bytes) &&
		    !memcmp(bytes, code, sizeof(code)))
			return true;
	return false;
}

bool sigreturn_begins_at(const struct elf_file *elf, uint64_t offset)
{
	uint8_t bytes[CALL_SITE_BYTES + sizeof(code)];

	return offset >= CALL_SITE_BYTES &&
	       elf_file_read_whole(elf, offset - CALL_SITE_BYTES, bytes, sizeof(bytes)) &&
	       !memcmp(bytes + CALL_SITE_BYTES, code, sizeof(code)) &&
	       !call_site_ends(bytes, CALL_SITE_BYTES);
}

void sigreturn_rule(struct walk_rule *rule)
{
	rule->fast = (struct stackd_rule){.cfa = STACKD_CFA_SIGNAL,
					  .reg = STACKD_REG_RSP,
					  .cfa_offset = 40}; /* uc_mcontext in ucontext_t */
	rule->is_signal = true;
}
