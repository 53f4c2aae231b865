/* SPDX-License-Identifier: MIT */
/*
 * Decodes the instructions of a scan; see code_decode.h.
 *
 * Each instruction is evaluated by itself (arch/flow_insn.h): the target of a branch, or the
 * address that it loads into a register. Addresses are tracked through loads and copies between
 * registers, so the argument of a hook of -finstrument-functions is known:
 *
 *     argument register = address of f ; call __cyg_profile_func_enter       f is entered here
 *
 * f is this function, or one that is inlined in it. An address that is loaded for a hook does not
 * count as taken.
 *
 * An indirect jump belongs to a switch if its target is a sum, or comes from a table with a scaled
 * index, or if it has the mark that compilers use for switches. Any other indirect jump is a tail
 * call through a pointer, and ends the function.
 */
#include "callgraph/code_decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/flow_insn.h"
#include "callgraph/code_scanner.h"

#define CODE_DECODE_MAX_BYTES ((uint64_t)1 << 26) /* of one function */

struct code_decode {
	struct code_scanner *s;
	struct insn_decoder decoder;
	uint8_t *bytes;
	size_t cap_bytes;
	uint32_t function;
	uint64_t vaddr; /* of the instruction */
	struct flow_insn is;
	bool follows_sum;
	/* By register: 1 + the number of the function whose address is in it; 0: none. The last
	 * element is for addresses that are not loaded into a register. */
	uint32_t holds[INSN_REG_COUNT + 1];
	VEC(uint32_t) loaded;  /* functions whose address is loaded */
	VEC(uint32_t) entered; /* of these, the functions whose address is the argument of a hook */
	unsigned seen;	       /* instructions of the function */
	bool can_be_first;
};

static uint64_t next(const struct code_decode *d)
{
	return d->vaddr + d->is.length;
}

/* Returns the vaddr that is at the instruction's distance. */
static uint64_t target(const struct code_decode *d)
{
	return flow_insn_target(&d->is, d->vaddr);
}

/* Returns the slot (of the GOT) at that vaddr; NULL: there is none. */
static const struct code_slot *slot_of(const struct code_decode *d)
{
	return d->is.has_address ? code_scanner_slot(d->s, target(d)) : NULL;
}

/* --- calls --------------------------------------------------------------------------------- */

static int code_decode_add(struct code_decode *d, enum code_call_kind kind, uint32_t called,
			   bool is_jump)
{
	struct code_scanner *s = d->s;

	if (s->calls.count >= CODE_SCAN_MAX_CALLS)
		return -E2BIG;
	if (VEC_RESERVE(&s->calls, 1) < 0)
		return -ENOMEM;
	s->calls.items[s->calls.count++] = (struct code_call){
		.last = next(d) - 1,
		.target = called,
		.kind = (uint8_t)kind,
		.is_jump = is_jump,
	};
	return 0;
}

static int hook(struct code_decode *d, uint32_t name)
{
	uint32_t entered = d->holds[INSN_ARGUMENT];

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

static int code_decode_function(struct code_decode *d, uint32_t called, bool is_jump)
{
	struct code_function *f = &d->s->functions.items[called];

	if (f->name == d->s->hook_enter || f->name == d->s->hook_exit)
		return hook(d, f->name);
	if (!is_jump)
		f->flags |= CODE_CALLED;
	return code_decode_add(d, CODE_CALL_FUNCTION, called, is_jump);
}

/* Adds a call of a known address, or a jump to it. */
static int direct(struct code_decode *d, uint64_t to, bool is_jump)
{
	uint32_t called = code_scanner_find(d->s, to), number;
	const char *name;
	char import[1024];
	uint64_t start;
	int err;

	if (called != CODE_SCAN_NONE) {
		if (d->s->functions.items[called].start == to) {
			if (is_jump && called == d->function)
				return 0; /* a loop */
			return code_decode_function(d, called, is_jump);
		}
		if (is_jump && called != d->function)
			d->s->jumps_into[d->function] = called;
		return is_jump ? 0 : code_decode_function(d, called, false);
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
	if (d->is.is_switch)
		return true;
	return d->is.reg == INSN_NO_REG ? d->is.scale != 0 : d->follows_sum;
}

/* Adds a call or jump through a register or memory, which may be a slot of the GOT. */
static int indirect(struct code_decode *d, bool is_jump)
{
	const struct code_slot *slot = slot_of(d);
	uint32_t held = d->is.reg == INSN_NO_REG ? 0 : d->holds[d->is.reg];

	if (slot && slot->function != CODE_SCAN_NONE)
		return code_decode_function(d, slot->function, is_jump);
	if (slot)
		return code_decode_import(d, slot->name, is_jump);
	if (is_jump && is_switch(d))
		return 0;
	if (held)
		return code_decode_function(d, held - 1, is_jump);
	return pointer(d, is_jump);
}

/* --- addresses ----------------------------------------------------------------------------- */

/* Handles an address that is loaded into a register or used elsewhere: notes the function that
 * begins there. */
static int load(struct code_decode *d, uint64_t vaddr)
{
	uint32_t f = code_scanner_start(d->s, vaddr);

	d->holds[d->is.to] = f == CODE_SCAN_NONE ? 0 : f + 1;
	if (f == CODE_SCAN_NONE)
		return 0;
	if (VEC_RESERVE(&d->loaded, 1) < 0)
		return -ENOMEM;
	d->loaded.items[d->loaded.count++] = f;
	return 0;
}

/* Follows the values of registers through an instruction. In a file at a fixed address, numbers can
 * be addresses. */
static int code_decode_value(struct code_decode *d)
{
	const struct code_slot *slot;

	switch (d->is.value) {
	case FLOW_VALUE_COPY:
		d->holds[d->is.to] = d->holds[d->is.from];
		return 0;
	case FLOW_VALUE_ADDRESS:
		return load(d, target(d));
	case FLOW_VALUE_NUMBER:
		return d->s->is_fixed ? load(d, d->is.number) : 0;
	case FLOW_VALUE_WORD:
		slot = slot_of(d);
		d->holds[d->is.to] =
			slot && slot->function != CODE_SCAN_NONE ? slot->function + 1 : 0;
		return 0;
	case FLOW_VALUE_OTHER:
		d->holds[d->is.to] = 0;
		return 0;
	default:
		return 0;
	}
}

/* Marks main: the entry point passes it to the C library's start code as the first argument. */
static void code_decode_main(struct code_decode *d)
{
	uint32_t main = d->holds[INSN_ARGUMENT];

	if (main && d->s->functions.items[d->function].start == elf_file_entry_vaddr(d->s->file))
		d->s->functions.items[main - 1].flags |= CODE_MAIN | CODE_TAKEN;
}

/* --- the walk ------------------------------------------------------------------------------ */

static int branch(struct code_decode *d, bool is_jump)
{
	int err;

	if (!is_jump)
		code_decode_main(d);
	if (d->is.is_direct)
		err = direct(d, target(d), is_jump);
	else
		err = indirect(d, is_jump);
	for (unsigned i = 0; !is_jump && i < INSN_REG_COUNT; i++)
		if (INSN_VOLATILE >> i & 1)
			d->holds[i] = 0;
	return err;
}

/* Recognises the outermost function: the psABI requires that it clears the frame pointer, which it
 * does in its first instruction. */
static void check_first(struct code_decode *d)
{
	if (!d->is.is_mark && ++d->seen == 1 && d->is.clears_fp)
		d->can_be_first = true;
}

static int instruction(struct code_decode *d)
{
	check_first(d);
	switch (d->is.kind) {
	case FLOW_CALL:
		return branch(d, false);
	case FLOW_JUMP:
	case FLOW_BRANCH:
		return branch(d, true);
	default:
		return code_decode_value(d);
	}
}

static bool code_decode_has(const uint32_t *list, size_t n, uint32_t value)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == value)
			return true;
	return false;
}

/* Marks the functions whose address was loaded as taken, except if the address was an argument of a
 * hook. In a function with hooks, its own address is such an argument. */
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
	d->follows_sum = false;
	for (size_t at = 0; err == 0 && at < len;) {
		d->vaddr = start + at;
		if (!flow_insn_decode(&d->decoder, d->bytes + at, len - at, &d->is)) {
			at++;
			continue;
		}
		err = instruction(d);
		d->follows_sum = d->is.is_sum;
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

	insn_decoder_init(&d.decoder);
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

	insn_decoder_init(&d.decoder);
	for (int64_t at = 0; err == 0 && at < len;) {
		if (!flow_insn_decode(&d.decoder, d.bytes + at, (size_t)(len - at), &d.is)) {
			at++;
			continue;
		}
		err = each(arg, f->start + (uint64_t)at);
		at += d.is.length;
	}
	free(d.bytes);
	return err;
}
