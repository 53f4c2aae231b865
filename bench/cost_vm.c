/* SPDX-License-Identifier: MIT */
#include "cost_vm.h"
#include "cost_vm_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH	    8 /* the kernel's limit of frames */
#define FRAME_BYTES 512
#define CODE_AT	    (UINT64_C(1) << 46) /* where no region is */

void vm_die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("cost: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(1);
}

/* --- memory --------------------------------------------------------------------------------- */

/* Adds a number, which is not 0, to a set. Was it new? */
static bool add_to(struct vm_set *set, uint64_t number)
{
	uint64_t at = number * UINT64_C(0x9e3779b97f4a7c15) >> (64 - VM_SET_BITS);

	while (set->numbers[at]) {
		if (set->numbers[at] == number)
			return false;
		at = (at + 1) & (VM_SET_SIZE - 1);
	}
	if (++set->count == VM_SET_SIZE)
		vm_die("a run touches more memory than can be counted");
	set->numbers[at] = number;
	return true;
}

static const struct vm_region *region_of(const struct vm *vm, uint64_t address, uint64_t size)
{
	for (size_t i = 0; i < vm->n_regions; i++) {
		const struct vm_region *r = &vm->regions[i];

		if (address - r->address < r->size && size <= r->size - (address - r->address))
			return r;
	}
	return NULL;
}

/* Counts the lines and pages of some bytes. */
static void count_touched(struct vm *vm, enum vm_kind kind, uint64_t address, uint64_t size)
{
	for (uint64_t i = address / VM_LINE; size && i <= (address + size - 1) / VM_LINE; i++)
		vm->counts.lines[kind] += add_to(&vm->lines, i);
	for (uint64_t i = address / VM_PAGE; size && i <= (address + size - 1) / VM_PAGE; i++)
		vm->counts.pages[kind] += add_to(&vm->pages, i);
}

void *vm_touch_if(struct vm *vm, uint64_t address, uint64_t size)
{
	const struct vm_region *r = region_of(vm, address, size);

	if (!r)
		return NULL;
	count_touched(vm, r->kind, address, size);
	return r->bytes + (address - r->address);
}

void *vm_touch(struct vm *vm, uint64_t address, uint64_t size)
{
	void *bytes = vm_touch_if(vm, address, size);

	if (!bytes)
		vm_die("instruction %zu: %llu bytes at 0x%llx are no memory of the program", vm->pc,
		       (unsigned long long)size, (unsigned long long)address);
	return bytes;
}

void vm_copied(struct vm *vm, uint64_t bytes)
{
	vm->counts.copies++;
	vm->counts.user_bytes += bytes;
}

void vm_touch_user(struct vm *vm, uint64_t address, uint64_t size)
{
	count_touched(vm, VM_USER, address, size);
}

void vm_set_helper(struct vm *vm, uint32_t number, vm_helper helper)
{
	if (number >= VM_HELPERS)
		vm_die("helper %u: there are %u", number, VM_HELPERS);
	vm->helpers[number] = helper;
}

/* --- instructions --------------------------------------------------------------------------- */

static uint64_t swapped(const struct bpf_insn *in, uint64_t value)
{
	bool is_big = BPF_SRC(in->code) == BPF_TO_BE;

	switch (in->imm) {
	case 16:
		return is_big ? __builtin_bswap16((uint16_t)value) : (uint16_t)value;
	case 32:
		return is_big ? __builtin_bswap32((uint32_t)value) : (uint32_t)value;
	}
	return is_big ? __builtin_bswap64(value) : value;
}

/* dst by src, of 64 bits or of 32. */
static uint64_t computed(const struct vm *vm, const struct bpf_insn *in, uint64_t dst, uint64_t src)
{
	bool is_64 = BPF_CLASS(in->code) == BPF_ALU64;
	unsigned shift = (unsigned)src & (is_64 ? 63 : 31);

	if (!is_64) {
		dst = (uint32_t)dst;
		src = (uint32_t)src;
	}
	switch (BPF_OP(in->code)) {
	case BPF_ADD:
		return dst + src;
	case BPF_SUB:
		return dst - src;
	case BPF_MUL:
		return dst * src;
	case BPF_DIV:
		return src ? dst / src : 0;
	case BPF_MOD:
		return src ? dst % src : dst;
	case BPF_OR:
		return dst | src;
	case BPF_AND:
		return dst & src;
	case BPF_XOR:
		return dst ^ src;
	case BPF_MOV:
		return src;
	case BPF_NEG:
		return -dst;
	case BPF_LSH:
		return dst << shift;
	case BPF_RSH:
		return dst >> shift;
	case BPF_ARSH:
		return is_64 ? (uint64_t)((int64_t)dst >> shift)
			     : (uint32_t)((int32_t)(uint32_t)dst >> shift);
	}
	vm_die("instruction %zu: code 0x%x is not known here", vm->pc, in->code);
}

static bool holds(const struct vm *vm, const struct bpf_insn *in, uint64_t dst, uint64_t src)
{
	int64_t a = (int64_t)dst, b = (int64_t)src;

	if (BPF_CLASS(in->code) == BPF_JMP32) {
		dst = (uint32_t)dst;
		src = (uint32_t)src;
		a = (int32_t)dst;
		b = (int32_t)src;
	}
	switch (BPF_OP(in->code)) {
	case BPF_JA:
		return true;
	case BPF_JEQ:
		return dst == src;
	case BPF_JNE:
		return dst != src;
	case BPF_JGT:
		return dst > src;
	case BPF_JGE:
		return dst >= src;
	case BPF_JLT:
		return dst < src;
	case BPF_JLE:
		return dst <= src;
	case BPF_JSET:
		return dst & src;
	case BPF_JSGT:
		return a > b;
	case BPF_JSGE:
		return a >= b;
	case BPF_JSLT:
		return a < b;
	case BPF_JSLE:
		return a <= b;
	}
	vm_die("instruction %zu: code 0x%x is not known here", vm->pc, in->code);
}

static uint64_t size_of(const struct bpf_insn *in)
{
	switch (BPF_SIZE(in->code)) {
	case BPF_B:
		return 1;
	case BPF_H:
		return 2;
	case BPF_W:
		return 4;
	}
	return 8;
}

static uint64_t load(struct vm *vm, uint64_t address, uint64_t size)
{
	uint64_t value = 0;

	memcpy(&value, vm_touch(vm, address, size), size); /* both are little-endian */
	return value;
}

static void store(struct vm *vm, uint64_t address, uint64_t size, uint64_t value)
{
	memcpy(vm_touch(vm, address, size), &value, size);
}

/* An atomic instruction: nothing else runs meanwhile. */
static void exchange(struct vm *vm, const struct bpf_insn *in, uint64_t *r)
{
	uint64_t address = r[in->dst_reg] + (uint64_t)(int64_t)in->off, size = size_of(in);
	uint64_t before = load(vm, address, size), src = r[in->src_reg], after;

	switch (in->imm & ~BPF_FETCH) {
	case BPF_ADD:
		after = before + src;
		break;
	case BPF_OR:
		after = before | src;
		break;
	case BPF_AND:
		after = before & src;
		break;
	case BPF_XCHG & ~BPF_FETCH:
		after = src;
		break;
	case BPF_CMPXCHG & ~BPF_FETCH:
		after = before == (size == 4 ? (uint32_t)r[0] : r[0]) ? src : before;
		r[0] = before;
		break;
	default:
		vm_die("instruction %zu: atomic operation 0x%x is not known here", vm->pc, in->imm);
	}
	store(vm, address, size, after);
	if (in->imm & BPF_FETCH && in->imm != BPF_CMPXCHG)
		r[in->src_reg] = before;
}

/* --- calls ---------------------------------------------------------------------------------- */

static uint64_t run(struct vm *vm, size_t at, const uint64_t *arguments, unsigned depth);

static uint64_t look_up(struct vm *vm, const uint64_t *arguments)
{
	struct vm_map *map = (struct vm_map *)(uintptr_t)arguments[0];
	const uint8_t *key = vm_touch(vm, arguments[1], map->key_size);
	uint32_t index = 0;

	if (map->is_hash) {
		vm->counts.helpers++;
		while (index < map->n_keys &&
		       memcmp(map->keys + index * map->key_size, key, map->key_size) != 0)
			index++;
		return index < map->n_keys ? (uintptr_t)map->values + index * map->apart : 0;
	}
	vm->counts.lookups++;
	memcpy(&index, key, sizeof(index));
	return index < map->entries ? (uintptr_t)map->values + index * map->apart : 0;
}

static uint64_t update(struct vm *vm, const uint64_t *arguments)
{
	struct vm_map *map = (struct vm_map *)(uintptr_t)arguments[0];

	vm->counts.helpers++;
	vm_map_put(vm, map->name, vm_touch(vm, arguments[1], map->key_size),
		   vm_touch(vm, arguments[2], map->value_size));
	return 0;
}

static uint64_t loop(struct vm *vm, const uint64_t *arguments, unsigned depth)
{
	uint64_t turn = 0;

	while (turn < (uint32_t)arguments[0]) {
		const uint64_t given[5] = {turn++, arguments[2]};

		vm->counts.bodies++;
		if (run(vm, (size_t)(arguments[1] - VM_FUNCTIONS), given, depth + 1))
			break;
	}
	return turn;
}

static uint64_t call(struct vm *vm, const struct bpf_insn *in, const uint64_t *arguments,
		     unsigned depth)
{
	uint32_t number = (uint32_t)in->imm;

	if (in->src_reg == BPF_PSEUDO_CALL) {
		vm->counts.subprograms++;
		return run(vm, vm->pc + 1 + (size_t)(int64_t)in->imm, arguments, depth + 1);
	}
	if (number == BPF_FUNC_map_lookup_elem)
		return look_up(vm, arguments);
	if (number == BPF_FUNC_map_update_elem)
		return update(vm, arguments);
	if (number == BPF_FUNC_loop)
		return loop(vm, arguments, depth);
	if (in->src_reg || number >= VM_HELPERS || !vm->helpers[number])
		vm_die("instruction %zu: helper %u is not known here", vm->pc, number);
	vm->counts.helpers++;
	return vm->helpers[number](vm, arguments);
}

/* One instruction that neither calls nor ends the function; returns the index of the next. */
static size_t step(struct vm *vm, const struct bpf_insn *in, uint64_t *r)
{
	uint64_t src = BPF_SRC(in->code) == BPF_X ? r[in->src_reg] : (uint64_t)(int64_t)in->imm;
	uint64_t offset = (uint64_t)(int64_t)in->off, value;
	size_t next = vm->pc + 1;

	switch (BPF_CLASS(in->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		value = BPF_OP(in->code) == BPF_END ? swapped(in, r[in->dst_reg])
						    : computed(vm, in, r[in->dst_reg], src);
		if (BPF_CLASS(in->code) == BPF_ALU && BPF_OP(in->code) != BPF_END)
			value = (uint32_t)value;
		r[in->dst_reg] = value;
		return next;
	case BPF_JMP:
	case BPF_JMP32:
		return holds(vm, in, r[in->dst_reg], src) ? next + offset : next;
	case BPF_LD: /* a constant of 64 bits takes two */
		r[in->dst_reg] = (uint32_t)in->imm | (uint64_t)(uint32_t)in[1].imm << 32;
		return next + 1;
	case BPF_LDX:
		r[in->dst_reg] = load(vm, r[in->src_reg] + offset, size_of(in));
		return next;
	case BPF_ST:
		store(vm, r[in->dst_reg] + offset, size_of(in), (uint64_t)(int64_t)in->imm);
		return next;
	case BPF_STX:
		if (BPF_MODE(in->code) == BPF_ATOMIC)
			exchange(vm, in, r);
		else
			store(vm, r[in->dst_reg] + offset, size_of(in), r[in->src_reg]);
		return next;
	}
	return next;
}

/* A function of the program, from its first instruction to its end. */
static uint64_t run(struct vm *vm, size_t at, const uint64_t *arguments, unsigned depth)
{
	uint64_t r[11] = {0};

	if (depth >= DEPTH)
		vm_die("instruction %zu: calls are too deep", vm->pc);
	memcpy(r + 1, arguments, 5 * sizeof(*r));
	r[10] = (uintptr_t)vm->stack + (uint64_t)(DEPTH - depth) * FRAME_BYTES;
	for (;;) {
		const struct bpf_insn *in = &vm->code[at];

		if (at >= vm->n_code)
			vm_die("instruction %zu: there are %zu", at, vm->n_code);
		vm->pc = at;
		vm->counts.instructions++;
		count_touched(vm, VM_CODE, CODE_AT + at * VM_CODE_BYTES, VM_CODE_BYTES);
		if (in->code == (BPF_JMP | BPF_EXIT))
			return r[0];
		if (in->code == (BPF_JMP | BPF_CALL)) {
			r[0] = call(vm, in, r + 1, depth);
			at++;
		} else {
			at = step(vm, in, r);
		}
	}
}

const struct vm_counts *vm_run(struct vm *vm, const void *context)
{
	const uint64_t arguments[5] = {(uintptr_t)context};

	memset(&vm->counts, 0, sizeof(vm->counts));
	memset(&vm->lines, 0, sizeof(vm->lines));
	memset(&vm->pages, 0, sizeof(vm->pages));
	if (!vm->stack)
		vm->stack = vm_share(vm, VM_STACK, 0, DEPTH * FRAME_BYTES);
	run(vm, vm->entry, arguments, 0);
	return &vm->counts;
}
