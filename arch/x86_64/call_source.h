/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* Decodes FF /2 with its operand (Intel SDM vol. 2, 2.1.5 and 2.2.1); see ../call_source.h. */
#ifndef ARCH_X86_64_CALL_SOURCE_H
#define ARCH_X86_64_CALL_SOURCE_H

#define CALL_SOURCE_BYTES 8
#define CALL_SOURCE_ROOM                                                                           \
	16 /* bytes of the array that holds these; a power of two, for the verifier */
#define CALL_SOURCE_FORMS                                                                          \
	12 /* lengths from two to seven bytes, each with a REX prefix and without */

/* DWARF's numbers of the registers that instructions number 0 to 7: a nibble each, the lowest
 * first. */
#define X86_64_DWARF_REGS     0x54673120u
#define X86_64_DWARF_REG(reg) ((reg) < 8 ? X86_64_DWARF_REGS >> (4 * (reg)) & 7 : (reg)&15)

/* What a register had at the call, which has pushed the return address since. The compiler knows
 * that the number is below 16, and would leave out the bound that the verifier needs. */
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

static __always_inline bool call_source(const __u8 *code, __u32 form, const __u64 *r, __u64 ra,
					__u64 *ret_value, bool *ret_is_address)
{
	const __u32 length = 2 + form / 2, at = CALL_SOURCE_BYTES - length;
	__u8 rex = form & 1 ? call_source_byte(code, at - 1) : 0x40;
	__u8 modrm = call_source_byte(code, at + 1), mod = modrm >> 6, rm = modrm & 7;
	__u8 sib = call_source_byte(code, at + 2); /* if there is one */
	bool has_sib = mod != 3 && rm == 4;
	bool is_bare = mod == 0 && (has_sib ? (sib & 7) == 5 : rm == 5);
	bool is_long = mod == 2 || is_bare;
	__u32 tail = mod == 3 ? 0 : is_long ? 4 : mod;

	if (call_source_byte(code, at) != 0xff || (modrm >> 3 & 7) != 2 || (rex & 0xf0) != 0x40 ||
	    length != 2 + has_sib + tail)
		return false;
	*ret_is_address = mod != 3;
	if (has_sib)
		*ret_value = call_source_indexed(r, sib, rex, !is_bare);
	else
		*ret_value = is_bare ? ra : call_source_register(r, rm | (rex & 1) << 3);
	if (tail)
		*ret_value += call_source_distance(code, is_long);
	return true;
}

#endif
