/* SPDX-License-Identifier: MIT */
/* The forms of the call of rt_sigreturn on x86-64; see ../handler_return.h. The kernel half knows
 * the first form, SIGRETURN_CODE in code.bpf.h. */
#include "arch/handler_return.h"

#include <string.h>

#define NOP 0x90

/* `at`: the offsets at which its instructions begin, and its end, which is the program counter
 * during the system call. */
static const struct form {
	uint8_t len, count, at[4];
	uint8_t bytes[HANDLER_RETURN_BYTES];
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

size_t handler_return_bytes(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < FORMS; i++)
		if (is_form(&forms[i], bytes, len))
			return forms[i].len;
	return 0;
}

size_t handler_return_bytes_with_nop(const uint8_t *bytes, size_t len)
{
	size_t behind = len && bytes[0] == NOP ? handler_return_bytes(bytes + 1, len - 1) : 0;

	return behind ? 1 + behind : 0;
}

const bool handler_return_may_begin[256] = {
	[NOP] = true, [0x48] = true, [0xb8] = true, [0x6a] = true};

bool handler_return_has(const uint8_t *bytes, size_t len, size_t here)
{
	for (const struct form *f = forms; f < forms + FORMS; f++)
		for (size_t i = 0; i < f->count && f->at[i] <= here; i++)
			if (here - f->at[i] < len &&
			    is_form(f, bytes + here - f->at[i], len - (here - f->at[i])))
				return true;
	return false;
}
