/* SPDX-License-Identifier: MIT */
/* Finds pieces of code in HotSpot's code cache; see vm.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "elf/elf_export.h"
#include "runtime/hotspot/java_depth.h"
#include "runtime/hotspot/vm.h"

#define MOST_STEPS 2048	     /* of the segment map, each of up to 254 segments */
#define MOST_FRAME (1 << 20) /* words */
#define MOST_CODE  (UINT64_C(4) << 30)

bool vm_read(const struct vm *vm, uint64_t address, void *buf, size_t len)
{
	return vm->memory.read(vm->memory.arg, address, buf, len);
}

static bool read_field(const struct vm *vm, uint64_t base, enum vm_field field, void *buf,
		       size_t len)
{
	return vm->is.at[field] != VM_ABSENT && vm_read(vm, base + vm->is.at[field], buf, len);
}

bool vm_u64(const struct vm *vm, uint64_t base, enum vm_field field, uint64_t *ret_value)
{
	return read_field(vm, base, field, ret_value, sizeof(*ret_value));
}

bool vm_u32(const struct vm *vm, uint64_t base, enum vm_field field, uint32_t *ret_value)
{
	return read_field(vm, base, field, ret_value, sizeof(*ret_value));
}

bool vm_u16(const struct vm *vm, uint64_t base, enum vm_field field, uint16_t *ret_value)
{
	return read_field(vm, base, field, ret_value, sizeof(*ret_value));
}

/* --- the machine ------------------------------------------------------------------------------ */

static bool read_heap(const struct vm *vm, uint64_t heap, struct vm_heap *ret_heap)
{
	const uint64_t memory = heap + vm->is.at[VM_HEAP_MEMORY];

	return vm_u64(vm, memory, VM_SPACE_LOW, &ret_heap->low) &&
	       vm_u64(vm, memory, VM_SPACE_END, &ret_heap->end) &&
	       vm_u64(vm, heap + vm->is.at[VM_HEAP_SEGMAP], VM_SPACE_LOW, &ret_heap->segments) &&
	       vm_u32(vm, heap, VM_HEAP_LOG2, &ret_heap->log2) && ret_heap->log2 < 32 &&
	       ret_heap->low >= vm->low && ret_heap->low < vm->high &&
	       ret_heap->end > ret_heap->low && ret_heap->end - ret_heap->low <= MOST_CODE;
}

/* Reads where the heaps are, which HotSpot does not move. 0; -EAGAIN: they are not there yet;
 * -EINVAL. On failure, those that are known stay. */
static int read_heaps(struct vm *vm)
{
	struct vm_heap heaps[VM_HEAPS_MOST];
	uint64_t array, data, heap;
	uint32_t count;

	if (!vm_u64(vm, 0, VM_LOW, &vm->low) || !vm_u64(vm, 0, VM_HIGH, &vm->high) ||
	    !vm_u64(vm, 0, VM_HEAPS, &array) || !array || !vm->low ||
	    !vm_u32(vm, array, VM_ARRAY_LEN, &count) || !vm_u64(vm, array, VM_ARRAY_DATA, &data) ||
	    !count)
		return -EAGAIN;
	if (vm->high <= vm->low || vm->high - vm->low > MOST_CODE || count > VM_HEAPS_MOST)
		return -EINVAL;
	for (uint32_t i = 0; i < count; i++) {
		if (!vm_read(vm, data + i * sizeof(heap), &heap, sizeof(heap)) ||
		    !read_heap(vm, heap, &heaps[i]))
			return -EAGAIN;
	}
	memcpy(vm->heaps, heaps, count * sizeof(*heaps));
	vm->n_heaps = count;
	return 0;
}

bool vm_is_file(const struct elf_file *file)
{
	uint64_t vaddr;

	return elf_export_find(file, "gHotSpotVMStructs", &vaddr) == 0;
}

int vm_open(const struct elf_file *file, uint64_t bias, const struct runtime_memory *memory,
	    void **ret_vm)
{
	struct vm *vm = calloc(1, sizeof(*vm));
	int err;

	if (!vm)
		return -ENOMEM;
	vm->memory = *memory;
	err = vm_layout_read(file, bias, memory, &vm->is);
	if (!err)
		err = read_heaps(vm);
	if (err)
		free(vm);
	else
		*ret_vm = vm;
	return err;
}

void vm_close(void *machine)
{
	struct vm *vm = machine;

	for (size_t i = 0; i < VM_DEPTHS; i++)
		java_depths_free(vm->depths[i].is);
	free(vm);
}

void vm_range(const void *machine, uint64_t *ret_low, uint64_t *ret_high)
{
	const struct vm *vm = machine;

	*ret_low = vm->low;
	*ret_high = vm->high;
}

/* --- pieces ----------------------------------------------------------------------------------- */

static const struct vm_heap *known_heap(const struct vm *vm, uint64_t address)
{
	for (size_t i = 0; i < vm->n_heaps; i++) {
		if (address - vm->heaps[i].low < vm->heaps[i].end - vm->heaps[i].low)
			return &vm->heaps[i];
	}
	return NULL;
}

/* Returns the heap with an address; NULL: none. HotSpot makes its heaps one by one as it starts, so
 * those that are known may not be all. */
static const struct vm_heap *heap_of(struct vm *vm, uint64_t address)
{
	const struct vm_heap *heap = known_heap(vm, address);

	return heap || read_heaps(vm) ? heap : known_heap(vm, address);
}

/* Finds the start of the block with an address: each segment's byte says how many segments to go
 * back, 0 at the start; 255 in unused blocks. */
static bool find_block(struct vm *vm, uint64_t address, uint64_t *ret_blob)
{
	const struct vm_heap *heap = heap_of(vm, address);
	uint64_t segment;
	uint8_t back = 1, is_used;

	if (!heap)
		return false;
	segment = (address - heap->low) >> heap->log2;
	for (unsigned i = 0; i < MOST_STEPS && back; i++) {
		if (!vm_read(vm, heap->segments + segment, &back, 1) || back == 0xff ||
		    back > segment)
			return false;
		segment -= back;
	}
	*ret_blob = heap->low + (segment << heap->log2);
	if (back || !vm_read(vm, *ret_blob + vm->is.at[VM_BLOCK_USED], &is_used, 1) || !is_used)
		return false;
	*ret_blob += vm->is.heap_block;
	return true;
}

/* Reads the name of a blob, cut to the room. A part of a name would be that of another kind. */
static bool read_name(const struct vm *vm, uint64_t blob, uint64_t *ret_pointer, char *name,
		      size_t room)
{
	size_t n = 0;

	if (!vm_u64(vm, blob, VM_BLOB_NAME, ret_pointer))
		return false;
	do {
		if (!vm_read(vm, *ret_pointer + n, name + n, 1))
			return false;
	} while (name[n] && ++n + 1 < room);
	name[n] = '\0';
	return n > 0;
}

/* Finds with what HotSpot replaces return addresses into a method that it has invalidated. */
static void find_replaced(const struct vm *vm, struct runtime_code_piece *piece)
{
	static const enum vm_field begins[] = {VM_DEOPT_BEGIN, VM_DEOPT_MH_BEGIN};
	static const enum vm_field offsets[] = {VM_DEOPT_OFFSET, VM_DEOPT_MH_OFFSET};
	uint32_t offset;

	for (int i = 0; i < 2; i++) {
		if (!vm_u64(vm, piece->start, begins[i], &piece->replaced[i]) &&
		    vm_u32(vm, piece->start, offsets[i], &offset) && offset != UINT32_MAX)
			piece->replaced[i] = piece->start + offset;
	}
	if (!vm_u32(vm, piece->start, VM_ORIG_PC, &piece->replaced_at))
		piece->replaced[0] = piece->replaced[1] = 0;
}

/* Finds where the code of a method begins and ends in its nmethod. */
static void find_body(const struct vm *vm, struct runtime_code_piece *piece)
{
	uint16_t entry;
	uint32_t offset;
	uint64_t code;

	if (!vm_u64(vm, piece->start, VM_ENTRY, &piece->entry) &&
	    vm_u16(vm, piece->start, VM_ENTRY_OFFSET, &entry) &&
	    vm_code_begin(vm, piece->start, &code))
		piece->entry = code + entry;
	if (piece->entry < piece->start || piece->entry >= piece->end)
		piece->entry = 0;
	if (vm_u32(vm, piece->start, VM_CODE_STUBS, &offset) && offset < piece->end - piece->start)
		piece->stubs = piece->start + offset;
}

/* Computes the identity of a compiled method from its compile id, which HotSpot never uses twice.
 */
static bool identify(const struct vm *vm, uint64_t blob, uint64_t *ret_method,
		     uint64_t *ret_identity)
{
	uint32_t id;

	if (!vm_u64(vm, blob, VM_METHOD, ret_method) || !vm_u32(vm, blob, VM_COMPILE_ID, &id))
		return false;
	*ret_identity = hash_mix64(*ret_method ^ hash_mix64(id + 1));
	return *ret_method;
}

bool vm_code_begin(const struct vm *vm, uint64_t blob, uint64_t *ret_address)
{
	uint32_t offset;

	if (!vm_u32(vm, blob, VM_BLOB_CODE_OFFSET, &offset))
		return vm_u64(vm, blob, VM_BLOB_CODE_BEGIN, ret_address);
	*ret_address = blob + offset;
	return true;
}

bool vm_piece(void *machine, uint64_t address, struct runtime_code_piece *ret_piece)
{
	struct vm *vm = machine;
	struct runtime_code_piece piece = {.kind = RUNTIME_CODE_STUB};
	uint64_t name, call;
	uint32_t size;

	if (!find_block(vm, address, &piece.start) ||
	    !vm_u32(vm, piece.start, VM_BLOB_SIZE, &size) || address - piece.start >= size ||
	    !read_name(vm, piece.start, &name, piece.name, sizeof(piece.name)))
		return false;
	piece.end = piece.start + size;
	piece.identity = hash_mix64(name ^ hash_mix64(size));
	if (strcmp(piece.name, "Interpreter") == 0)
		piece.kind = RUNTIME_CODE_INTERPRETER;
	piece.is_permanent = piece.kind == RUNTIME_CODE_INTERPRETER ||
			     strncmp(piece.name, "StubRoutines", strlen("StubRoutines")) == 0;
	piece.makes_frames = strcmp(piece.name, "DeoptimizationBlob") == 0 ||
			     strcmp(piece.name, "UncommonTrapBlob") == 0;
	if (piece.kind == RUNTIME_CODE_STUB && piece.is_permanent &&
	    vm_u64(vm, 0, VM_CALL_STUB, &call) && call - piece.start < size)
		piece.from_native = call;
	if (strcmp(piece.name, "nmethod") == 0 || strcmp(piece.name, "native nmethod") == 0) {
		piece.kind = RUNTIME_CODE_COMPILED;
		if (!identify(vm, piece.start, &piece.function, &piece.identity))
			return false;
		piece.is_native = strcmp(piece.name, "nmethod") != 0;
		find_replaced(vm, &piece);
		find_body(vm, &piece);
	}
	if (piece.kind != RUNTIME_CODE_INTERPRETER &&
	    vm_u32(vm, piece.start, VM_BLOB_FRAME_SIZE, &size) && size > 1 && size < MOST_FRAME)
		piece.frame_bytes = size * 8;
	*ret_piece = piece;
	return true;
}

/* Returns whether a block that is used begins there. A freed one keeps what it had for a while. */
static bool is_block(struct vm *vm, uint64_t blob)
{
	uint64_t start;

	return find_block(vm, blob, &start) && start == blob;
}

bool vm_is_still(void *machine, const struct runtime_code_piece *piece)
{
	struct vm *vm = machine;
	uint64_t is, name;
	uint32_t size;

	if (!is_block(vm, piece->start) || !vm_u64(vm, piece->start, VM_BLOB_NAME, &name) ||
	    !vm_u32(vm, piece->start, VM_BLOB_SIZE, &size) || size != piece->end - piece->start)
		return false;
	if (piece->kind == RUNTIME_CODE_COMPILED)
		return identify(vm, piece->start, &name, &is) && is == piece->identity;
	return hash_mix64(name ^ hash_mix64(size)) == piece->identity;
}
