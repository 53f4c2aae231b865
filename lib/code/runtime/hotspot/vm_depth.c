/* SPDX-License-Identifier: MIT */
/* Reads pieces of HotSpot's code for the depths of their frames, and keeps these; see vm.h. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "runtime/hotspot/java_depth.h"
#include "runtime/hotspot/vm.h"

#define READ_BYTES 4096 /* most that are read at once */

static const struct runtime_depth unknown;

static bool read_all(const struct vm *vm, uint64_t address, uint8_t *bytes, size_t len)
{
	for (size_t at = 0; at < len; at += READ_BYTES) {
		if (!vm_read(vm, address + at, bytes + at,
			     len - at < READ_BYTES ? len - at : READ_BYTES))
			return false;
	}
	return true;
}

static bool is_adapter(const struct runtime_code_piece *piece)
{
	return piece->kind == RUNTIME_CODE_STUB && strcmp(piece->name, "I2C/C2I adapters") == 0;
}

/* Returns whether a piece is of a kind whose code can be followed. */
static bool has_depths(const struct runtime_code_piece *piece)
{
	return piece->kind == RUNTIME_CODE_COMPILED || is_adapter(piece) ||
	       (piece->kind == RUNTIME_CODE_STUB && !piece->is_permanent && !piece->makes_frames &&
		piece->frame_bytes);
}

static enum java_code_kind kind_of(const struct runtime_code_piece *piece)
{
	if (piece->kind == RUNTIME_CODE_COMPILED)
		return JAVA_CODE_METHOD;
	return is_adapter(piece) ? JAVA_CODE_ADAPTER : JAVA_CODE_STUB;
}

/* Reads a piece's code, and finds its depths: *ret_depths is NULL if they are not known. Returns
 * false if it cannot be read now. */
static bool find(const struct vm *vm, const struct runtime_code_piece *piece, uint64_t begin,
		 struct java_depths **ret_depths)
{
	struct java_code code = {.len = (size_t)(piece->end - begin),
				 .frame_bytes = piece->frame_bytes,
				 .kind = kind_of(piece)};
	uint8_t *bytes;
	bool is_read;

	*ret_depths = NULL;
	if (code.len > JAVA_DEPTH_MOST_BYTES)
		return true;
	code.entry = piece->entry > begin ? (size_t)(piece->entry - begin) : 0;
	code.stubs = piece->stubs > begin ? (size_t)(piece->stubs - begin) : code.len;
	bytes = malloc(code.len);
	code.bytes = bytes;
	is_read = bytes && read_all(vm, begin, bytes, code.len);
	if (is_read && java_depths_find(&code, ret_depths))
		*ret_depths = NULL;
	free(bytes);
	return is_read;
}

/* Returns whether all of a method's code is there. HotSpot enters the method first, and copies its
 * code behind it then. */
static bool is_whole(const struct vm *vm, const struct runtime_code_piece *piece)
{
	int8_t state;

	return vm->is.at[VM_STATE] != VM_ABSENT &&
	       vm_read(vm, piece->start + vm->is.at[VM_STATE], &state, sizeof(state)) && state >= 0;
}

/* Finds the depth in a method's code, whose depths are kept. */
static struct runtime_depth in_method(struct vm *vm, const struct runtime_code_piece *piece,
				      uint64_t begin, uint64_t address)
{
	struct vm_depths *slot = &vm->depths[hash_mix64(piece->identity) % VM_DEPTHS];
	struct java_depths *depths;

	if (slot->identity != piece->identity) {
		if (!is_whole(vm, piece) || !find(vm, piece, begin, &depths))
			return unknown;
		vm->depth_bytes -= slot->is ? java_depths_bytes(slot->is) : 0;
		vm->depth_bytes += depths ? java_depths_bytes(depths) : 0;
		java_depths_free(slot->is);
		*slot = (struct vm_depths){piece->identity, depths};
	}
	return slot->is ? java_depths_at(slot->is, (size_t)(address - begin)) : unknown;
}

/* Finds the depth in a stub's code. What was read before may have been a part of it. */
static struct runtime_depth in_stub(const struct vm *vm, const struct runtime_code_piece *piece,
				    uint64_t begin, uint64_t address)
{
	struct runtime_depth depth = unknown;
	struct java_depths *depths;

	if (find(vm, piece, begin, &depths) && depths)
		depth = java_depths_at(depths, (size_t)(address - begin));
	java_depths_free(depths);
	return depth;
}

struct runtime_depth vm_depth(void *machine, const struct runtime_code_piece *piece,
			      uint64_t address)
{
	struct vm *vm = machine;
	uint64_t begin;

	if (!has_depths(piece) || !vm_code_begin(vm, piece->start, &begin) ||
	    begin < piece->start || begin >= piece->end || address < begin)
		return unknown;
	return piece->kind == RUNTIME_CODE_COMPILED ? in_method(vm, piece, begin, address)
						    : in_stub(vm, piece, begin, address);
}

uint64_t vm_bytes(const void *machine)
{
	return ((const struct vm *)machine)->depth_bytes;
}
