/* SPDX-License-Identifier: MIT */
/* Known by its bytes; see sigreturn.h. */
#include "unwind/sigreturn.h"

#include <string.h>

#include "unwind/call_site.h"

#define MOST_BYTES 9

/* The C libraries' ways to make the system call. `at`: its instructions, and its end, where the
 * program counter is in the system call. */
static const struct form {
	uint8_t len, count, at[4];
	uint8_t bytes[MOST_BYTES];
} forms[] = {
	{9, 3, {0, 7, 9}, {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05}}, /* mov $15,%rax; syscall */
	{7, 3, {0, 5, 7}, {0xb8, 15, 0, 0, 0, 0x0f, 0x05}},		/* mov $15,%eax; syscall */
	{5, 4, {0, 2, 3, 5}, {0x6a, 15, 0x58, 0x0f, 0x05}}, /* push $15; pop %rax; syscall */
};
#define FORMS (sizeof(forms) / sizeof(*forms))

static bool is_form(const struct form *form, const uint8_t *bytes, size_t len)
{
	return len >= form->len && !memcmp(bytes, form->bytes, form->len);
}

bool sigreturn_is_code(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < FORMS; i++)
		if (is_form(&forms[i], bytes, len))
			return true;
	return false;
}

bool sigreturn_is_at(const struct elf_file *elf, uint64_t offset)
{
	const size_t here = offset < MOST_BYTES ? (size_t)offset : MOST_BYTES;
	uint8_t bytes[2 * MOST_BYTES];
	int64_t got = elf_file_read(elf, offset - here, bytes, sizeof(bytes));

	for (const struct form *f = forms; f < forms + FORMS; f++)
		for (size_t i = 0; i < f->count && f->at[i] <= here; i++)
			if ((int64_t)(here - f->at[i]) < got &&
			    is_form(f, bytes + here - f->at[i], (size_t)got - (here - f->at[i])))
				return true;
	return false;
}

bool sigreturn_begins_at(const struct elf_file *elf, uint64_t offset)
{
	uint8_t bytes[CALL_SITE_BYTES + MOST_BYTES];
	int64_t got = offset < CALL_SITE_BYTES
			      ? 0
			      : elf_file_read(elf, offset - CALL_SITE_BYTES, bytes, sizeof(bytes));

	return got > CALL_SITE_BYTES &&
	       sigreturn_is_code(bytes + CALL_SITE_BYTES, (size_t)got - CALL_SITE_BYTES) &&
	       !call_site_ends(bytes, CALL_SITE_BYTES);
}

void sigreturn_rule(struct walk_rule *rule)
{
	rule->fast = (struct stackd_rule){.cfa = STACKD_CFA_SIGNAL,
					  .reg = STACKD_REG_RSP,
					  .cfa_offset = 40}; /* uc_mcontext in ucontext_t */
	rule->is_signal = true;
}
