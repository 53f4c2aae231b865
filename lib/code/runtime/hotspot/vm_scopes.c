/* SPDX-License-Identifier: MIT */
/*
 * The methods that were inlined where a compiled method calls; see vm.h.
 *
 * An nmethod has a PcDesc for each address at which its frames may be asked for: all return
 * addresses, and where it polls or may fault. It leads to a scope: the innermost method, its
 * bytecode index, and where the scope of the method that it was inlined into is described, which
 * is always earlier in the data. The outermost scope must be that of the nmethod's own method.
 */
#include "runtime/hotspot/vm.h"

#define SCOPE_BYTES 15 /* three numbers */
#define MOST_PCS    (1 << 20)
#define MOST_DATA   (1 << 26)

/* Where an nmethod keeps its tables: addresses. */
struct tables {
	uint64_t code, pcs, scopes, scopes_end, metadata, metadata_end;
	uint32_t n_pcs;
};

struct pc_desc {
	int32_t pc, scope, objects, flags;
};

bool vm_unsigned5(const struct vm *vm, const uint8_t *bytes, size_t len, size_t *at,
		  uint32_t *ret_value)
{
	const uint32_t excluded = vm->is.version >= 20;
	const uint32_t low = 256 - 64 - excluded;
	uint32_t sum = 0;

	for (unsigned i = 0; i < 5; i++) {
		uint32_t byte;

		if (*at >= len || bytes[*at] < excluded)
			return false;
		byte = bytes[(*at)++] - excluded;
		sum += byte << (6 * i);
		if (byte < low)
			break;
	}
	*ret_value = sum;
	return true;
}

/* Up to version 22: tables in the nmethod. */
static bool find_inside(const struct vm *vm, uint64_t blob, struct tables *t)
{
	uint32_t pcs, pcs_end, metadata;

	if (!vm_u32(vm, blob, VM_PCS, &pcs) || !vm_u32(vm, blob, VM_PCS_END, &pcs_end) ||
	    !vm_u32(vm, blob, VM_METADATA, &metadata) ||
	    !vm_u64(vm, blob, VM_SCOPES_BEGIN, &t->scopes) || pcs_end < pcs)
		return false;
	t->pcs = blob + pcs;
	t->n_pcs = (pcs_end - pcs) / (uint32_t)sizeof(struct pc_desc);
	t->scopes_end = t->pcs;
	t->metadata = blob + metadata;
	t->metadata_end = t->scopes;
	return true;
}

/* From version 25 on: tables apart, of which those that may change are in one piece of memory, and
 * the others in another one. */
static bool find_apart(const struct vm *vm, uint64_t blob, struct tables *t)
{
	uint64_t fixed, mutable;
	uint32_t pcs, scopes, size, relocation, mutable_size;

	if (!vm_u64(vm, blob, VM_IMMUTABLE, &fixed) || !vm_u32(vm, blob, VM_PCS, &pcs) ||
	    !vm_u32(vm, blob, VM_SCOPES, &scopes) || !vm_u32(vm, blob, VM_IMMUTABLE_SIZE, &size) ||
	    !vm_u64(vm, blob, VM_BLOB_MUTABLE, &mutable) ||
	    !vm_u32(vm, blob, VM_BLOB_MUTABLE_SIZE, &mutable_size) ||
	    !vm_u32(vm, blob, VM_BLOB_RELOCATION_SIZE, &relocation) || scopes < pcs ||
	    size < scopes)
		return false;
	t->pcs = fixed + pcs;
	t->n_pcs = (scopes - pcs) / (uint32_t)sizeof(struct pc_desc);
	t->scopes = fixed + scopes;
	t->scopes_end = fixed + size;
	t->metadata = mutable + ((relocation + UINT64_C(7)) & ~UINT64_C(7));
	t->metadata_end = mutable + mutable_size;
	return true;
}

static bool find_tables(const struct vm *vm, uint64_t blob, struct tables *t)
{
	if (!vm_code_begin(vm, blob, &t->code))
		return false;
	if (vm->is.at[VM_IMMUTABLE] != VM_ABSENT ? !find_apart(vm, blob, t)
						 : !find_inside(vm, blob, t))
		return false;
	return t->n_pcs <= MOST_PCS && t->scopes_end >= t->scopes &&
	       t->scopes_end - t->scopes <= MOST_DATA && t->metadata_end >= t->metadata;
}

/* Finds the PcDesc of exactly this offset in the code. */
static bool find_pc(const struct vm *vm, const struct tables *t, int32_t pc,
		    struct pc_desc *ret_desc)
{
	uint32_t low = 0, high = t->n_pcs;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (!vm_read(vm, t->pcs + middle * sizeof(*ret_desc), ret_desc, sizeof(*ret_desc)))
			return false;
		if (ret_desc->pc == pc)
			return true;
		if (ret_desc->pc < pc)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* Reads the scope at an offset. *ret_sender is the offset of the one that it was inlined into. */
static bool read_scope(const struct vm *vm, const struct tables *t, uint32_t offset,
		       uint32_t *ret_sender, struct runtime_managed_frame *ret_frame)
{
	uint64_t left = t->scopes_end - t->scopes;
	uint8_t bytes[SCOPE_BYTES];
	uint32_t index, bci;
	size_t at = 0, len;

	if (offset >= left)
		return false;
	left -= offset;
	len = left < sizeof(bytes) ? (size_t)left : sizeof(bytes);
	if (!vm_read(vm, t->scopes + offset, bytes, len) ||
	    !vm_unsigned5(vm, bytes, len, &at, ret_sender) ||
	    !vm_unsigned5(vm, bytes, len, &at, &index) ||
	    !vm_unsigned5(vm, bytes, len, &at, &bci) || !index ||
	    (uint64_t)index * 8 > t->metadata_end - t->metadata)
		return false;
	ret_frame->instruction = (int32_t)bci - 1; /* -1: before the first */
	return vm_read(vm, t->metadata + (uint64_t)(index - 1) * 8, &ret_frame->function, 8) &&
	       ret_frame->instruction < 65536;
}

size_t vm_frames(void *machine, const struct runtime_code_piece *piece, uint64_t address,
		 bool is_return, struct runtime_managed_frame *ret_frames, size_t max)
{
	const struct vm *vm = machine;
	struct pc_desc desc;
	struct tables t;
	uint32_t at, sender;
	size_t n = 0;

	(void)is_return; /* the table has few places besides calls, which hold for both */
	if (!max)
		return 0;
	ret_frames[0] = (struct runtime_managed_frame){piece->function, RUNTIME_NO_INSTRUCTION};
	if (!find_tables(vm, piece->start, &t) ||
	    !find_pc(vm, &t, (int32_t)(address - t.code), &desc) || desc.scope <= 0)
		return 1;
	for (at = (uint32_t)desc.scope; at && n < max; at = sender) {
		if (!read_scope(vm, &t, at, &sender, &ret_frames[n]) || sender >= at)
			return 0;
		n++;
	}
	return !at && ret_frames[n - 1].function == piece->function ? n : 0;
}
