/* SPDX-License-Identifier: MIT */
/*
 * Where a HotSpot keeps what, in one process.
 *
 * libjvm.so exports tables for debuggers (gHotSpotVMStructs, gHotSpotVMTypes): the offset of each
 * field that they may need, the addresses of static ones, and sizes of types. The file has the
 * names; the offsets are filled in at run time, so these are read from the process's memory. Which
 * fields there are differs between versions: an alternative is tried for those that were renamed.
 *
 * The process is not trusted. A table is read up to a limit, and an offset is used only if it is
 * below VM_MAX_OFFSET. What lies at such an offset is checked by those who read it.
 */
#ifndef HOTSPOT_VM_LAYOUT_H
#define HOTSPOT_VM_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/elf_file.h"
#include "runtime/runtime.h"

#define VM_ABSENT     UINT64_MAX
#define VM_MAX_OFFSET 65536 /* bytes; every struct that is read is smaller */

/* X(NAME, type, type in other versions, field) */
#define VM_FIELDS(X)                                                                               \
	X(VERSION, "Abstract_VM_Version", "VM_Version", "_vm_major_version")                       \
	X(HEAPS, "CodeCache", "", "_heaps")                                                        \
	X(LOW, "CodeCache", "", "_low_bound")                                                      \
	X(HIGH, "CodeCache", "", "_high_bound")                                                    \
	X(CALL_STUB, "StubRoutines", "", "_call_stub_return_address")                              \
	X(ARRAY_LEN, "GrowableArrayBase", "GenericGrowableArray", "_len")                          \
	X(ARRAY_DATA, "GrowableArray<int>", "", "_data")                                           \
	X(HEAP_MEMORY, "CodeHeap", "", "_memory")                                                  \
	X(HEAP_SEGMAP, "CodeHeap", "", "_segmap")                                                  \
	X(HEAP_LOG2, "CodeHeap", "", "_log2_segment_size")                                         \
	X(SPACE_LOW, "VirtualSpace", "", "_low")                                                   \
	X(SPACE_HIGH, "VirtualSpace", "", "_high")                                                 \
	X(SPACE_END, "VirtualSpace", "", "_high_boundary")                                         \
	X(BLOCK_USED, "HeapBlock::Header", "", "_used")                                            \
	X(BLOB_NAME, "CodeBlob", "", "_name")                                                      \
	X(BLOB_SIZE, "CodeBlob", "", "_size")                                                      \
	X(BLOB_FRAME_SIZE, "CodeBlob", "", "_frame_size")                                          \
	X(BLOB_CODE_BEGIN, "CodeBlob", "", "_code_begin")                                          \
	X(BLOB_CODE_OFFSET, "CodeBlob", "", "_code_offset")                                        \
	X(BLOB_MUTABLE, "CodeBlob", "nmethod", "_mutable_data")                                    \
	X(BLOB_MUTABLE_SIZE, "CodeBlob", "nmethod", "_mutable_data_size")                          \
	X(BLOB_RELOCATION_SIZE, "CodeBlob", "", "_relocation_size")                                \
	X(METHOD, "CompiledMethod", "nmethod", "_method")                                          \
	X(SCOPES_BEGIN, "CompiledMethod", "", "_scopes_data_begin")                                \
	X(DEOPT_BEGIN, "CompiledMethod", "", "_deopt_handler_begin")                               \
	X(DEOPT_MH_BEGIN, "CompiledMethod", "", "_deopt_mh_handler_begin")                         \
	X(DEOPT_OFFSET, "nmethod", "", "_deopt_handler_offset")                                    \
	X(DEOPT_MH_OFFSET, "nmethod", "", "_deopt_mh_handler_offset")                              \
	X(ORIG_PC, "nmethod", "", "_orig_pc_offset")                                               \
	X(ENTRY, "nmethod", "", "_verified_entry_point")                                           \
	X(ENTRY_OFFSET, "nmethod", "", "_verified_entry_offset")                                   \
	X(CODE_STUBS, "nmethod", "", "_stub_offset")                                               \
	X(COMPILE_ID, "nmethod", "", "_compile_id")                                                \
	X(STATE, "nmethod", "", "_state")                                                          \
	X(PCS, "nmethod", "", "_scopes_pcs_offset")                                                \
	X(PCS_END, "nmethod", "", "_dependencies_offset")                                          \
	X(SCOPES, "nmethod", "", "_scopes_data_offset")                                            \
	X(METADATA, "nmethod", "", "_metadata_offset")                                             \
	X(IMMUTABLE, "nmethod", "", "_immutable_data")                                             \
	X(IMMUTABLE_SIZE, "nmethod", "", "_immutable_data_size")                                   \
	X(CONST_METHOD, "Method", "", "_constMethod")                                              \
	X(CONSTANTS, "ConstMethod", "", "_constants")                                              \
	X(CONST_SIZE, "ConstMethod", "", "_constMethod_size")                                      \
	X(CONST_FLAGS, "ConstMethod", "", "_flags")                                                \
	X(CONST_FLAGS_OF, "ConstMethod", "", "_flags._flags")                                      \
	X(CODE_SIZE, "ConstMethod", "", "_code_size")                                              \
	X(NAME_INDEX, "ConstMethod", "", "_name_index")                                            \
	X(SIGNATURE_INDEX, "ConstMethod", "", "_signature_index")                                  \
	X(HOLDER, "ConstantPool", "", "_pool_holder")                                              \
	X(POOL_CACHE, "ConstantPool", "", "_cache")                                                \
	X(POOL_LENGTH, "ConstantPool", "", "_length")                                              \
	X(SOURCE_INDEX, "ConstantPool", "", "_source_file_name_index")                             \
	X(KLASS_NAME, "Klass", "", "_name")                                                        \
	X(KLASS_LOADER, "Klass", "", "_class_loader_data")                                         \
	X(KLASS_NEXT, "Klass", "", "_next_link")                                                   \
	X(LOADERS, "ClassLoaderDataGraph", "", "_head")                                            \
	X(LOADER_NEXT, "ClassLoaderData", "", "_next")                                             \
	X(LOADER_KLASSES, "ClassLoaderData", "", "_klasses")                                       \
	X(OBJECTS, "Universe", "", "_collectedHeap")                                               \
	X(COLLECTIONS, "CollectedHeap", "", "_total_collections")                                  \
	X(METHODS, "InstanceKlass", "", "_methods")                                                \
	X(SYMBOL_LENGTH, "Symbol", "", "_length")                                                  \
	X(SYMBOL_BODY, "Symbol", "", "_body")

enum vm_field {
#define X(NAME, type, other, field) VM_##NAME,
	VM_FIELDS(X)
#undef X
		VM_FIELD_COUNT
};

struct vm_layout {
	uint64_t at[VM_FIELD_COUNT]; /* offset, or address of a static field; VM_ABSENT */
	uint64_t const_method, constant_pool, heap_block; /* sizes of these types */
	uint32_t version;				  /* 17, 21, 25 */
};

/* Reads the tables of the libjvm `file`, whose vaddr 0 the process has at address `bias`. Returns
 * 0; -ENOENT: the file is no HotSpot; -EAGAIN: the tables cannot be read yet; -EINVAL: they lack a
 * field, or make no sense. */
int vm_layout_read(const struct elf_file *file, uint64_t bias, const struct runtime_memory *memory,
		   struct vm_layout *ret_layout);

#endif
