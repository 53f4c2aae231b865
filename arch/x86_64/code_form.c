/* SPDX-License-Identifier: MIT */
/* Matches sequences of x86-64's instructions; see ../code_form.h. */
#include "arch/code_form.h"

#include <string.h>

#define CALL	 0xe8
#define LEA	 0x8d
#define JMP	 0xe9
#define JMP_NEAR 0xeb
#define HLT	 0xf4
#define RET	 0xc3
#define RET_N	 0xc2
#define RETF_N	 0xca
#define RETF	 0xcb

size_t code_form_mark(const uint8_t *code, size_t len)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

	return len >= sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64)) ? sizeof(endbr64)
										 : 0;
}

bool code_form_is_plain_return(const uint8_t *code)
{
	return code[0] == RET;
}

/* pop %rdx */
bool code_form_pops_raise(const uint8_t *code)
{
	return code[0] == 0x5a;
}

bool code_form_is_return(const uint8_t *code)
{
	return code[0] == RET || code[0] == RET_N || (code[0] == 0xf3 && code[1] == RET);
}

bool code_form_may_have_return(const uint8_t *code, size_t len)
{
	return memchr(code, RET, len) != NULL;
}

/* Returns whether the instruction before `at` may be one that restores the frame pointer (leave;
 * pop %rbp), or one that releases a part of the frame (pop %reg; add $N,%rsp, of one byte or four).
 */
static bool releases_before(const uint8_t *code, const uint8_t *at, bool restores_fp)
{
	size_t before = (size_t)(at - code);

	if (restores_fp)
		return before >= 1 && (at[-1] == 0xc9 || at[-1] == 0x5d);
	return (before >= 1 && (at[-1] & 0xf8) == 0x58) ||
	       (before >= 3 && at[-3] == 0x83 && at[-2] == 0xc4) ||
	       (before >= 6 && at[-6] == 0x81 && at[-5] == 0xc4);
}

/* Returns whether the jump at `at` leads out of the code. */
static bool leads_out(const uint8_t *code, size_t len, const uint8_t *at)
{
	size_t bytes = *at == JMP ? CODE_FORM_CALL : 2;
	int64_t target = at - code + (int64_t)bytes;
	int32_t distance = at[1] < 128 ? at[1] : at[1] - 256;

	if (target > (int64_t)len)
		return false;
	if (*at == JMP)
		memcpy(&distance, at + 1, sizeof(distance));
	target += distance;
	return target < 0 || target >= (int64_t)len;
}

/* Returns the end of the last return or jump out of the code that begins with a byte and may be
 * right behind a release; 0: there is none. */
static size_t last_leaving_by(const uint8_t *code, size_t len, bool restores_fp, uint8_t byte)
{
	const uint8_t *at = code + len;
	size_t bytes = byte == RET ? 1 : byte == JMP ? CODE_FORM_CALL : 2;

	while ((at = memrchr(code, byte, (size_t)(at - code))))
		if (releases_before(code, at, restores_fp) &&
		    (byte == RET || (at + 1 < code + len && leads_out(code, len, at))))
			return (size_t)(at - code) + bytes;
	return 0;
}

size_t code_form_last_release(const uint8_t *code, size_t len, bool restores_fp)
{
	size_t last = last_leaving_by(code, len, restores_fp, RET);
	size_t jump = last_leaving_by(code, len, restores_fp, JMP);
	size_t near = last_leaving_by(code, len, restores_fp, JMP_NEAR);

	last = jump > last ? jump : last;
	return near > last ? near : last;
}

/* mov %reg,(%rsp) */
bool code_form_stores_target(const uint8_t *code)
{
	return (code[0] & 0xfb) == 0x48 && code[1] == 0x89 && (code[2] & 0xc7) == 0x04 &&
	       code[3] == 0x24;
}

/* lea -8(%r10),%rsp; ret */
int code_form_realigned_return(const uint8_t *code)
{
	static const uint8_t from_r10[] = {0x49, 0x8d, 0x62, 0xf8};

	return !memcmp(code, from_r10, sizeof(from_r10)) && code_form_is_return(code + 4) ? 10 : -1;
}

/* lea 8(%rsp),%rsp; ret */
bool code_form_is_thunk_end(const uint8_t *code)
{
	static const uint8_t end[] = {0x48, 0x8d, 0x64, 0x24, 0x08, RET};

	return !memcmp(code, end, sizeof(end));
}

bool code_form_is_syscall(const uint8_t *code)
{
	return code[0] == 0x0f && code[1] == 0x05;
}

bool code_form_is_halt(const uint8_t *code)
{
	return code[0] == HLT;
}

int32_t code_form_return_removes(const uint8_t *code)
{
	return code[0] == RET_N ? code[1] | code[2] << 8 : 0;
}

bool code_form_is_far_return(const uint8_t *code)
{
	return code[0] == RETF_N || code[0] == RETF;
}

/* movabs $number,%reg */
bool code_form_number(const struct insn *i, const uint8_t *code, uint8_t *ret_reg,
		      uint64_t *ret_number)
{
	if (i->length != 10 || (code[0] & 0xfe) != 0x48 || (code[1] & 0xf8) != 0xb8)
		return false;
	*ret_reg = (code[1] & 7) | (code[0] & 1) << 3;
	memcpy(ret_number, code + 2, sizeof(*ret_number));
	return true;
}

bool code_form_may_save_fp(const uint8_t *code)
{
	return code[0] == 0x55 || code[0] == 0xf3; /* push %rbp; endbr64 */
}

/* mov %rsp,%rbp */
bool code_form_sets_fp(const uint8_t *code, size_t len)
{
	static const uint8_t set[] = {0x48, 0x89, 0xe5};

	return len >= sizeof(set) && !memcmp(code, set, sizeof(set));
}

/* push %rbp; mov %rsp,%rbp */
bool code_form_makes_frame(const uint8_t *code, size_t len)
{
	static const uint8_t made[] = {0x55, 0x48, 0x89, 0xe5};

	return len >= sizeof(made) && !memcmp(code, made, sizeof(made));
}

bool code_form_may_begin_function(const uint8_t *at)
{
	return code_form_mark(at, 4) || (at[0] & 0xf8) == 0x50 ||
	       (at[0] == 0x41 && (at[1] & 0xf8) == 0x50) ||		   /* push */
	       (at[0] == 0x48 && (at[1] & 0xfd) == 0x81 && at[2] == 0xec); /* sub $x,%rsp */
}

/* mov %rcx,%rsp; pop %rcx; jmp *%rcx */
bool code_form_is_eh_return(const uint8_t *code, size_t at, size_t len)
{
	static const uint8_t made[] = {0x48, 0x89, 0xcc, 0x59, 0xff, 0xe1};

	return at >= 4 && len - at >= 2 && !memcmp(code + at - 4, made, sizeof(made));
}

bool code_form_may_be_call(const uint8_t *code, size_t len)
{
	while (len > 1 && (*code == 0x67 || (*code & 0xf0) == 0x40)) { /* prefixes */
		code++;
		len--;
	}
	return len >= CODE_FORM_CALL && (*code == CALL || (*code == 0xff && code[1] == 0x15));
}

bool code_form_call_target(const uint8_t *call, uint64_t address, uint64_t *ret_target)
{
	int32_t distance;

	if (call[0] != CALL)
		return false;
	memcpy(&distance, call + 1, sizeof(distance));
	*ret_target = address + (uint64_t)(int64_t)distance;
	return true;
}

/* [bnd] jmp *slot(%rip) */
bool code_form_is_stub_jump(const uint8_t *code)
{
	return (code[0] == 0xff && code[1] == 0x25) ||
	       (code[0] == 0xf2 && code[1] == 0xff && code[2] == 0x25);
}

/* [endbr64] [bnd] jmp *slot(%rip) */
bool code_form_stub_slot(const uint8_t *code, size_t len, uint64_t vaddr, uint64_t *ret_slot)
{
	for (size_t i = 0; i + 6 <= len; i++) {
		int32_t distance;

		if (code[i] != 0xff || code[i + 1] != 0x25)
			continue;
		memcpy(&distance, code + i + 2, sizeof(distance));
		*ret_slot = vaddr + i + 6 + (uint64_t)(int64_t)distance;
		return true;
	}
	return false;
}

/* [endbr64] push $index; jmp ... */
bool code_form_stub_index(const uint8_t *code, size_t len, uint32_t *ret_index)
{
	size_t push = len >= 9 ? code_form_mark(code, len) : 0;

	if (push + 5 > len || code[push] != 0x68)
		return false;
	memcpy(ret_index, code + push + 1, sizeof(*ret_index));
	return true;
}

/* The trampoline has pushed three words, and returns by pop %r11, pop %rcx and ret. */
int code_form_trampoline_slot(uint64_t pc)
{
	switch (pc & 4095) {
	case 13:
		return 16;
	case 15:
		return 8;
	case 16:
		return 0;
	}
	return -1;
}

/* --- stacks -------------------------------------------------------------------------------- */

/* [endbr64] mov %rbx,%rsp */
bool code_form_gives_up_stack(const uint8_t *code, size_t len)
{
	static const uint8_t mov[] = {0x48, 0x89, 0xdc};
	size_t at = code_form_mark(code, len);

	return len - at >= sizeof(mov) && !memcmp(code + at, mov, sizeof(mov));
}

/* mov disp(%reg),%rsp */
size_t code_form_loads_stack(const uint8_t *code)
{
	unsigned mod = code[2] >> 6, rm = code[2] & 7;

	if ((code[0] & 0xfe) != 0x48 || code[1] != 0x8b || (code[2] >> 3 & 7) != INSN_SP)
		return 0;
	if (mod == 3 || rm == 4 || (rm == 5 && (code[0] == 0x48 || !mod)))
		return 0;
	return mod == 0 ? 3 : mod == 1 ? 4 : 7;
}

/* mov %reg,%rsp; xchg %reg,%rsp; lea disp(%reg),%rsp */
size_t code_form_sets_stack(const uint8_t *code)
{
	unsigned mod = code[2] >> 6, reg = code[2] >> 3 & 7, rm = code[2] & 7;

	if ((code[0] & 0xf8) != 0x48)
		return 0;
	if (mod == 3 && rm == INSN_SP && (code[1] == 0x89 || code[1] == 0x87) && !(code[0] & 1))
		return code[0] & 4 || (reg != INSN_SP && reg != INSN_FP) ? 3 : 0;
	if (reg != INSN_SP || code[0] & 4)
		return 0;
	if (mod == 3 && (code[1] == 0x8b || code[1] == 0x87))
		return code[0] & 1 || (rm != INSN_SP && rm != INSN_FP) ? 3 : 0;
	if (mod == 3 || code[1] != LEA || rm == INSN_SP || (rm == INSN_FP && !(code[0] & 1)))
		return 0;
	return mod == 0 ? 3 : mod == 1 ? 4 : 7;
}

bool code_form_may_load_stack(const uint8_t *code)
{
	uint8_t found = 0;

	for (int i = 0; i < CODE_FORM_BLOCK; i++)
		found |= (uint8_t)((code[i] & 0xfe) == 0x48) & (uint8_t)(code[i + 1] == 0x8b) &
			 (uint8_t)((code[i + 2] & 0x38) == INSN_SP << 3);
	return found;
}

/* --- references ---------------------------------------------------------------------------- */

const uint8_t *code_form_find_call(const uint8_t *code, size_t starts)
{
	return memchr(code, CALL, starts);
}

/* call function; jmp back */
const uint8_t *code_form_find_detour(const uint8_t *code, size_t starts)
{
	const uint8_t *at = code, *end = code + starts;

	for (; at < end && (at = memchr(at, CALL, (size_t)(end - at))); at++) {
		if ((at[CODE_FORM_CALL] & 0xfd) == 0xe9)
			return at;
	}
	return NULL;
}

/* lea distance(%rip),%reg, of 64 bits */
const uint8_t *code_form_find_address(const uint8_t *code, size_t starts, int32_t *ret_distance)
{
	const uint8_t *at = code + 1, *end = code + 1 + starts;

	for (; at < end && (at = memchr(at, LEA, (size_t)(end - at))); at++) {
		if ((at[-1] & 0xfb) != 0x48 || (at[1] & 0xc7) != 0x05)
			continue;
		memcpy(ret_distance, at + 2, sizeof(*ret_distance));
		return at - 1;
	}
	return NULL;
}

/* mov $number,%reg, of 32 or 64 bits: a byte b8 to bf may be its opcode, or the last of the three
 * bytes that precede the number. */
const uint8_t *code_form_find_number(const uint8_t *code, size_t starts, uint32_t *ret_number)
{
	for (size_t i = 0; i < starts; i++) {
		const uint8_t *at = code + i;
		size_t opcode = (*at & 0xf8) == 0xb8			? 1
				: *at == 0xc7 && (at[1] & 0xf8) == 0xc0 ? 2
									: 0;

		if (!opcode)
			continue;
		memcpy(ret_number, at + opcode, sizeof(*ret_number));
		return at;
	}
	return NULL;
}

/* --- ends ---------------------------------------------------------------------------------- */

/* call x; hlt, or call *x(%rip); hlt */
bool code_form_is_last_call(const uint8_t *code, size_t len)
{
	return (len >= 6 && code[0] == CALL && code[5] == HLT) ||
	       (len >= 7 && code[0] == 0xff && code[1] == 0x15 && code[6] == HLT);
}
