/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* Decodes FF /2 and FF /4 with their operand (Intel SDM vol. 2, 2.1.5 and 2.2.1), and E8; see
 * ../call_source.h. */
#ifndef ARCH_X86_64_CALL_SOURCE_H
#define ARCH_X86_64_CALL_SOURCE_H

#define CALL_SOURCE_KNOWN 1
#define CALL_SOURCE_BYTES 8
#define CALL_SOURCE_ROOM                                                                           \
	16 /* bytes of the array that holds these; a power of two, for the verifier */
#define CALL_SOURCE_FORMS                                                                          \
	12 /* lengths from two to seven bytes, each with a REX prefix and without */

/* DWARF's numbers of the registers that instructions number 0 to 7: a nibble each, the lowest
 * first. */
#define X86_64_DWARF_REGS     0x54673120u
#define X86_64_DWARF_REG(reg) ((reg) < 8 ? X86_64_DWARF_REGS >> (4 * (reg)) & 7 : (reg)&15)

#define X86_64_CALL 2 /* in the reg field of FF */
#define X86_64_JUMP 4

/* What a register had at the call, which has pushed the return address since (jumps by the stack
 * pointer are not worth a case). The compiler knows that the number is below 16, and would leave
 * out the bound that the verifier needs. */
static __always_inline __u64 call_source_register(const __u64 *r, __u32 reg)
{
	__u64 number = X86_64_DWARF_REG(reg);

	asm volatile("" : "+r"(number));
	return r[number & 15] + (number == STACKD_REG_SP ? ARCH_CALL_PUSHES : 0);
}

/* Returns a byte of the code; the verifier can follow the index. */
static __always_inline __u8 call_source_byte(const __u8 *code, __u32 index)
{
	__u64 at = index;

	asm volatile("" : "+r"(at));
	return code[at & (CALL_SOURCE_ROOM - 1)];
}

/* Returns the call's last bytes: one, or four. */
static __always_inline __u64 call_source_distance(const __u8 *code, bool is_long)
{
	if (!is_long)
		return (__u64)(__s64)(__s8)code[7];
	return (__u64)(__s64)(__s32)(code[4] | code[5] << 8 | code[6] << 16 | (__u32)code[7] << 24);
}

/* Returns the value of a memory operand's SIB byte. */
static __always_inline __u64 call_source_indexed(const __u64 *r, __u8 sib, __u8 rex, bool has_base)
{
	__u32 index = (sib >> 3 & 7) | (rex & 2) << 2;
	__u64 value = has_base ? call_source_register(r, (sib & 7) | (rex & 1) << 3) : 0;

	return index == 4 ? value : value + (call_source_register(r, index) << (sib >> 6));
}

/* Decodes the call or jump that ends the code; `next` is the address behind it. */
static __always_inline bool branch_source(const __u8 *code, __u32 form, __u32 kind, const __u64 *r,
					  __u64 next, __u64 *ret_value, bool *ret_is_address)
{
	const __u32 length = 2 + form / 2, at = CALL_SOURCE_BYTES - length;
	__u8 rex = form & 1 ? call_source_byte(code, at - 1) : 0x40;
	__u8 modrm = call_source_byte(code, at + 1), mod = modrm >> 6, rm = modrm & 7;
	__u8 sib = call_source_byte(code, at + 2); /* if there is one */
	bool has_sib = mod != 3 && rm == 4;
	bool is_bare = mod == 0 && (has_sib ? (sib & 7) == 5 : rm == 5);
	bool is_long = mod == 2 || is_bare;
	__u32 tail = mod == 3 ? 0 : is_long ? 4 : mod;

	if (call_source_byte(code, at) != 0xff || (modrm >> 3 & 7) != kind ||
	    (rex & 0xf0) != 0x40 || length != 2 + has_sib + tail)
		return false;
	*ret_is_address = mod != 3;
	if (has_sib)
		*ret_value = call_source_indexed(r, sib, rex, !is_bare);
	else
		*ret_value = is_bare ? next : call_source_register(r, rm | (rex & 1) << 3);
	if (tail)
		*ret_value += call_source_distance(code, is_long);
	return true;
}

/* As ../call_source.h says, for ff /2. */
static __always_inline bool call_source(const __u8 *code, __u32 form, const __u64 *r, __u64 ra,
					__u64 *ret_value, bool *ret_is_address)
{
	return branch_source(code, form, X86_64_CALL, r, ra, ret_value, ret_is_address);
}

/* As ../call_source.h says, for ff /4. */
static __always_inline bool jump_source(const __u8 *code, __u32 form, const __u64 *r, __u64 next,
					__u64 *ret_value, bool *ret_is_address)
{
	return branch_source(code, form, X86_64_JUMP, r, next, ret_value, ret_is_address);
}

/* Returns whether the byte before the last one is c3, which is ret where an instruction begins. */
static __always_inline bool jump_source_is_behind(const __u8 *code)
{
	return code[CALL_SOURCE_BYTES - 2] == 0xc3;
}

/* As ../call_source.h says, for e8. */
static __always_inline bool call_target(const __u8 *code, __u64 ra, __u64 *ret_target)
{
	if (code[3] != 0xe8)
		return false;
	*ret_target = ra + call_source_distance(code, true);
	return true;
}

#endif
