/* SPDX-License-Identifier: MIT */
/*
 * The instructions of a scan; see code_decode.h.
 *
 * Only the fields of single instructions are evaluated: branch targets, and the addresses that lea
 * and mov $number load. Registers are tracked through loads and copies of such addresses, so that
 * the argument of a hook of -finstrument-functions is known:
 *
 *     lea  f(%rip), %rdi ; call __cyg_profile_func_enter       f is entered here
 *
 * f is this function, or one that is inlined in it. An address that is loaded for a hook does not
 * count as taken.
 *
 * An indirect jump belongs to a switch if its target is a sum, or comes from a table with a scaled
 * index, or if it has the prefix that compilers use for switches ("notrack"). Any other ends the
 * function with a tail call through a pointer.
 */
#include "callgraph/code_decode.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "callgraph/code_scan_state.h"

#define CODE_DECODE_MAX_BYTES ((uint64_t)1 << 26) /* of one function */
#define CODE_DECODE_REGISTERS 16
#define CODE_DECODE_RDI	      7

struct code_decode {
	struct code_scanner *s;
	ZydisDecoder decoder;
	uint8_t *bytes;
	size_t cap_bytes;
	uint32_t function;
	uint64_t vaddr; /* of the instruction */
	ZydisDecodedInstruction is;
	ZydisMnemonic before;
	uint32_t holds[CODE_DECODE_REGISTERS]; /* the function whose address is in it, plus 1 */
	VEC(uint32_t) loaded;		       /* functions whose address is loaded */
	VEC(uint32_t) entered;		       /* those that are a hook's argument */
	unsigned seen;			       /* instructions of the function */
	bool can_be_first;
};

static uint64_t next(const struct code_decode *d)
{
	return d->vaddr + d->is.length;
}

static bool is_memory(const struct code_decode *d)
{
	return d->is.attributes & ZYDIS_ATTRIB_HAS_MODRM && d->is.raw.modrm.mod != 3;
}

/* Whether the operand is memory relative to the program counter. */
static bool is_relative(const struct code_decode *d, uint64_t *ret_vaddr)
{
	if (!(d->is.attributes & ZYDIS_ATTRIB_HAS_MODRM) || d->is.raw.modrm.mod != 0 ||
	    d->is.raw.modrm.rm != 5)
		return false;
	*ret_vaddr = next(d) + (uint64_t)d->is.raw.disp.value;
	return true;
}

static unsigned code_decode_reg(const struct code_decode *d)
{
	return d->is.raw.modrm.reg | (unsigned)d->is.raw.rex.R << 3;
}

static unsigned code_decode_rm(const struct code_decode *d)
{
	return d->is.raw.modrm.rm | (unsigned)d->is.raw.rex.B << 3;
}

/* --- calls --------------------------------------------------------------------------------- */

static int code_decode_add(struct code_decode *d, enum code_call_kind kind, uint32_t target,
			   bool is_jump)
{
	struct code_scanner *s = d->s;

	if (s->calls.count >= CODE_SCAN_MAX_CALLS)
		return -E2BIG;
	if (VEC_RESERVE(&s->calls, 1) < 0)
		return -ENOMEM;
	s->calls.items[s->calls.count++] = (struct code_call){
		.last = next(d) - 1,
		.target = target,
		.kind = (uint8_t)kind,
		.is_jump = is_jump,
	};
	return 0;
}

static int hook(struct code_decode *d, uint32_t name)
{
	uint32_t entered = d->holds[CODE_DECODE_RDI];

	d->s->scan.has_hooks = true;
	d->s->functions.items[d->function].flags |= CODE_HOOKED;
	if (!entered)
		return 0;
	if (VEC_RESERVE(&d->entered, 1) < 0)
		return -ENOMEM;
	d->entered.items[d->entered.count++] = entered - 1;
	if (entered - 1 == d->function || name != d->s->hook_enter)
		return 0;
	return code_decode_add(d, CODE_CALL_INLINED, entered - 1, false);
}

static int code_decode_import(struct code_decode *d, uint32_t name, bool is_jump)
{
	if (name == d->s->hook_enter || name == d->s->hook_exit)
		return hook(d, name);
	return code_decode_add(d, CODE_CALL_IMPORT, name, is_jump);
}

static int code_decode_function(struct code_decode *d, uint32_t target, bool is_jump)
{
	struct code_function *f = &d->s->functions.items[target];

	if (f->name == d->s->hook_enter || f->name == d->s->hook_exit)
		return hook(d, f->name);
	if (!is_jump)
		f->flags |= CODE_CALLED;
	return code_decode_add(d, CODE_CALL_FUNCTION, target, is_jump);
}

/* Adds a call of, or jump to, a known address. */
static int direct(struct code_decode *d, uint64_t to, bool is_jump)
{
	uint32_t target = code_scanner_find(d->s, to), number;
	const char *name;
	char import[1024];
	uint64_t start;
	int err;

	if (target != CODE_SCAN_NONE) {
		if (d->s->functions.items[target].start == to) {
			if (is_jump && target == d->function)
				return 0; /* a loop */
			return code_decode_function(d, target, is_jump);
		}
		if (is_jump && target != d->function)
			d->s->jumps_into[d->function] = target;
		return is_jump ? 0 : code_decode_function(d, target, false);
	}
	if (!symtab_find(d->s->symtab, to, &name, &start) || strlen(name) >= sizeof(import))
		return 0;
	strcpy(import, name);
	import[strcspn(import, "@")] = '\0'; /* "malloc@plt" */
	err = strings_intern(d->s->names, import, &number);
	return err < 0 ? -ENOMEM : code_decode_import(d, number, is_jump);
}

static int pointer(struct code_decode *d, bool is_jump)
{
	if (is_jump)
		d->s->functions.items[d->function].flags |= CODE_POINTER;
	return is_jump ? 0 : code_decode_add(d, CODE_CALL_POINTER, CODE_SCAN_NONE, false);
}

static bool is_switch(const struct code_decode *d)
{
	if (d->is.attributes & ZYDIS_ATTRIB_HAS_NOTRACK)
		return true;
	if (is_memory(d))
		return d->is.attributes & ZYDIS_ATTRIB_HAS_SIB && d->is.raw.sib.index != 4;
	return d->before == ZYDIS_MNEMONIC_ADD;
}

/* Adds a call or jump through a register or memory, which may be a slot of the GOT. */
static int indirect(struct code_decode *d, bool is_jump)
{
	const struct code_slot *slot = NULL;
	uint64_t vaddr;
	uint32_t held;

	if (is_relative(d, &vaddr))
		slot = code_scanner_slot(d->s, vaddr);
	if (slot && slot->function != CODE_SCAN_NONE)
		return code_decode_function(d, slot->function, is_jump);
	if (slot)
		return code_decode_import(d, slot->name, is_jump);
	if (is_jump && is_switch(d))
		return 0;
	if (!is_memory(d)) {
		held = d->holds[code_decode_rm(d)];
		if (held)
			return code_decode_function(d, held - 1, is_jump);
	}
	return pointer(d, is_jump);
}

/* --- addresses ----------------------------------------------------------------------------- */

static int load(struct code_decode *d, unsigned to, uint64_t vaddr)
{
	uint32_t f = code_scanner_start(d->s, vaddr);

	d->holds[to] = f == CODE_SCAN_NONE ? 0 : f + 1;
	if (f == CODE_SCAN_NONE)
		return 0;
	if (VEC_RESERVE(&d->loaded, 1) < 0)
		return -ENOMEM;
	d->loaded.items[d->loaded.count++] = f;
	return 0;
}

/* Tracks a mov between registers, from a slot, or of a number. */
static int code_decode_mov(struct code_decode *d)
{
	const struct code_slot *slot;
	uint64_t vaddr;

	if (d->is.opcode == 0x89 && !is_memory(d)) {
		d->holds[code_decode_rm(d)] = d->holds[code_decode_reg(d)];
	} else if (d->is.opcode == 0x8b && !is_memory(d)) {
		d->holds[code_decode_reg(d)] = d->holds[code_decode_rm(d)];
	} else if (d->is.opcode == 0x8b) {
		d->holds[code_decode_reg(d)] = 0;
		slot = is_relative(d, &vaddr) ? code_scanner_slot(d->s, vaddr) : NULL;
		if (slot && slot->function != CODE_SCAN_NONE)
			d->holds[code_decode_reg(d)] = slot->function + 1;
	} else if (d->s->is_fixed && d->is.opcode >= 0xb8 && d->is.opcode <= 0xbf) {
		return load(d, (d->is.opcode & 7) | (unsigned)d->is.raw.rex.B << 3,
			    d->is.raw.imm[0].value.u);
	} else if (d->s->is_fixed && d->is.opcode == 0xc7) {
		/* A store to memory takes the address, but changes no register. */
		if (is_memory(d)) {
			uint32_t kept = d->holds[0];
			int err = load(d, 0, d->is.raw.imm[0].value.u);

			d->holds[0] = kept;
			return err;
		}
		return load(d, code_decode_rm(d), d->is.raw.imm[0].value.u);
	}
	return 0;
}

static int code_decode_push(struct code_decode *d)
{
	uint32_t kept = d->holds[0];
	int err = 0;

	if (d->s->is_fixed && d->is.opcode == 0x68)
		err = load(d, 0, d->is.raw.imm[0].value.u);
	d->holds[0] = kept;
	return err;
}

/* Marks main: the entry point passes it to the C library's start code as the first argument. */
static void code_decode_main(struct code_decode *d)
{
	uint32_t main = d->holds[CODE_DECODE_RDI];

	if (main && d->s->functions.items[d->function].start == elf_file_entry_vaddr(d->s->file))
		d->s->functions.items[main - 1].flags |= CODE_MAIN | CODE_TAKEN;
}

/* --- the walk ------------------------------------------------------------------------------ */

static int branch(struct code_decode *d, bool is_jump)
{
	bool is_direct = d->is.raw.imm[0].is_relative;
	int err;

	if (!is_jump)
		code_decode_main(d);
	if (is_direct)
		err = direct(d, next(d) + (uint64_t)d->is.raw.imm[0].value.s, is_jump);
	else
		err = indirect(d, is_jump);
	if (!is_jump) /* forget the caller-saved registers: rax, rcx, rdx, rsi, rdi, r8-r11 */
		for (unsigned i = 0; i < CODE_DECODE_REGISTERS; i++)
			if (0x0fc7u >> i & 1)
				d->holds[i] = 0;
	return err;
}

/* Recognizes the outermost function: by the ABI, its first instruction clears %rbp. */
static void check_first(struct code_decode *d)
{
	if (d->is.mnemonic == ZYDIS_MNEMONIC_ENDBR64 || ++d->seen > 1)
		return;
	if (d->is.mnemonic == ZYDIS_MNEMONIC_XOR && !is_memory(d) && code_decode_reg(d) == 5 &&
	    code_decode_rm(d) == 5)
		d->can_be_first = true;
}

static int instruction(struct code_decode *d)
{
	uint64_t vaddr;

	check_first(d);
	switch (d->is.meta.category) {
	case ZYDIS_CATEGORY_CALL:
		return branch(d, false);
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_COND_BR:
		return branch(d, true);
	default:
		break;
	}
	switch (d->is.mnemonic) {
	case ZYDIS_MNEMONIC_LEA:
		if (is_relative(d, &vaddr))
			return load(d, code_decode_reg(d), vaddr);
		d->holds[code_decode_reg(d)] = 0;
		return 0;
	case ZYDIS_MNEMONIC_MOV:
		return code_decode_mov(d);
	case ZYDIS_MNEMONIC_PUSH:
		return code_decode_push(d);
	case ZYDIS_MNEMONIC_POP:
		d->holds[(d->is.opcode & 7) | (unsigned)d->is.raw.rex.B << 3] = 0;
		return 0;
	default:
		return 0;
	}
}

static bool code_decode_has(const uint32_t *list, size_t n, uint32_t value)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == value)
			return true;
	return false;
}

/* Marks the functions whose address was loaded as taken, except for the arguments of hooks; in a
 * function with hooks, its own address is one. */
static void code_decode_end(struct code_decode *d)
{
	struct code_function *f = d->s->functions.items;
	bool is_hooked = f[d->function].flags & CODE_HOOKED;

	for (size_t i = 0; i < d->loaded.count; i++)
		if (!(is_hooked && d->loaded.items[i] == d->function) &&
		    !code_decode_has(d->entered.items, d->entered.count, d->loaded.items[i]))
			f[d->loaded.items[i]].flags |= CODE_TAKEN;
	if (d->can_be_first || f[d->function].start == elf_file_entry_vaddr(d->s->file))
		f[d->function].flags |= CODE_FIRST;
}

static int code_decode_bytes(struct code_decode *d, uint64_t start, size_t len)
{
	int err = 0;

	memset(d->holds, 0, sizeof(d->holds));
	d->loaded.count = d->entered.count = 0;
	d->seen = 0;
	d->can_be_first = false;
	d->before = ZYDIS_MNEMONIC_INVALID;
	for (size_t at = 0; err == 0 && at < len;) {
		d->vaddr = start + at;
		if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&d->decoder, NULL, d->bytes + at,
							      len - at, &d->is))) {
			at++;
			continue;
		}
		err = instruction(d);
		d->before = d->is.mnemonic;
		at += d->is.length;
	}
	code_decode_end(d);
	return err;
}

/* Reads the bytes of a function into the buffer. Returns their number or a negative errno. */
static int64_t code_decode_read(struct code_decode *d, const struct code_function *f)
{
	uint64_t len = f->end - f->start, offset;

	if (len > CODE_DECODE_MAX_BYTES || !elf_file_vaddr_to_offset(d->s->file, f->start, &offset))
		return 0;
	if (len > d->cap_bytes) {
		uint8_t *bytes = realloc(d->bytes, len);

		if (!bytes)
			return -ENOMEM;
		d->bytes = bytes;
		d->cap_bytes = len;
	}
	return elf_file_read(d->s->file, offset, d->bytes, len);
}

static int decode_functions(struct code_decode *d)
{
	uint64_t total = 0;
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < d->s->functions.count; i++) {
		int64_t len = code_decode_read(d, &d->s->functions.items[i]);

		d->function = i;
		d->s->functions.items[i].first_call = (uint32_t)d->s->calls.count;
		if (len < 0)
			return len == -ENOMEM ? -ENOMEM : -EIO;
		total += (uint64_t)len;
		if (total > CODE_SCAN_MAX_BYTES)
			return -E2BIG;
		err = code_decode_bytes(d, d->s->functions.items[i].start, (size_t)len);
	}
	return err;
}

int code_decode_all(struct code_scanner *s)
{
	struct code_decode d = {.s = s};
	int err;

	if (ZYAN_FAILED(
		    ZydisDecoderInit(&d.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		return -EINVAL;
	err = decode_functions(&d);
	free(d.bytes);
	free(d.loaded.items);
	free(d.entered.items);
	return err;
}

int code_decode_each(const struct code_scan *scan, const struct elf_file *file, uint32_t function,
		     int (*each)(void *arg, uint64_t vaddr), void *arg)
{
	struct code_scanner s = {.file = file};
	struct code_decode d = {.s = &s};
	const struct code_function *f = &scan->functions[function];
	int64_t len = code_decode_read(&d, f);
	int err = len < 0 ? (int)len : 0;

	if (ZYAN_FAILED(
		    ZydisDecoderInit(&d.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		err = -EINVAL;
	for (int64_t at = 0; err == 0 && at < len;) {
		if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&d.decoder, NULL, d.bytes + at,
							      (ZyanUSize)(len - at), &d.is))) {
			at++;
			continue;
		}
		err = each(arg, f->start + (uint64_t)at);
		at += d.is.length;
	}
	free(d.bytes);
	return err;
}
