/* SPDX-License-Identifier: MIT */
/*
 * Where V8 has what of its objects and its code: read from the symbols of the file that it is in.
 *
 * V8 keeps constants for debuggers, variables whose names begin with "v8dbg_": offsets of fields,
 * and numbers of types. They are in the file (node, libnode.so), so nothing of the process is
 * needed. What they lack differs by version alone, and is in a table here. The code of the
 * interpreter is in the file as well, between symbols that begin with "Builtins_".
 */
#ifndef V8_V8_LAYOUT_H
#define V8_V8_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/elf_file.h"
#include "runtime/runtime.h"

/* X(NAME, symbol): the value is that of the constant whose name begins so, behind "v8dbg_". */
#define V8_CONSTANTS(X)                                                                            \
	X(SFI_OF_FUNCTION, "class_JSFunction__shared__")                                           \
	X(SFI_DATA, "class_SharedFunctionInfo__function_data__")                                   \
	X(SFI_NAME, "class_SharedFunctionInfo__name_or_scope_info__")                              \
	X(SFI_SCRIPT, "class_SharedFunctionInfo__script_")                                         \
	X(SCRIPT_NAME, "class_Script__name__")                                                     \
	X(SCRIPT_SOURCE, "class_Script__source__")                                                 \
	X(BYTECODE_START, "class_BytecodeArray__data__")                                           \
	X(STRING_LENGTH, "class_String__length__")                                                 \
	X(CONS_FIRST, "class_ConsString__first__")                                                 \
	X(CONS_SECOND, "class_ConsString__second__")                                               \
	X(SLICED_PARENT, "class_SlicedString__parent__")                                           \
	X(SLICED_OFFSET, "class_SlicedString__offset__")                                           \
	X(THIN_ACTUAL, "class_ThinString__actual__")                                               \
	X(EXTERNAL_RESOURCE, "class_ExternalString__resource__")                                   \
	X(STRING_CHARS, "class_SeqOneByteString__chars__")                                         \
	X(MAP_TYPE, "class_Map__instance_type__")                                                  \
	X(TYPE_SFI, "type_SharedFunctionInfo__")                                                   \
	X(TYPE_SCOPE_INFO, "type_ScopeInfo__")                                                     \
	X(TYPE_SCRIPT, "type_Script__")                                                            \
	X(TYPE_BYTECODE, "type_BytecodeArray__")                                                   \
	X(TYPE_INTERPRETER_DATA, "type_InterpreterData__")                                         \
	X(TYPE_CODE, "type_Code__")                                                                \
	X(TYPE_STREAM, "type_InstructionStream__")                                                 \
	X(TYPE_FIXED_ARRAY, "type_FixedArray__")                                                   \
	X(TYPE_WEAK_ARRAY, "type_WeakFixedArray__")                                                \
	X(TYPE_TRUSTED_ARRAY, "type_TrustedFixedArray__")                                          \
	X(TYPE_TRUSTED_WEAK_ARRAY, "type_TrustedWeakFixedArray__")                                 \
	X(TYPE_PROTECTED_ARRAY, "type_ProtectedFixedArray__")                                      \
	X(TYPE_BYTE_ARRAY, "type_ByteArray__")                                                     \
	X(TYPE_TRUSTED_BYTES, "type_TrustedByteArray__")                                           \
	X(TYPE_SFI_WRAPPER, "type_SharedFunctionInfoWrapper__")                                    \
	X(TYPE_ODDBALL, "type_Oddball__")                                                          \
	X(FIRST_NO_STRING, "FirstNonstringType")                                                   \
	X(KIND_MASK, "CodeKindFieldMask")                                                          \
	X(KIND_BASELINE, "CodeKindBaseline")                                                       \
	X(KIND_INTERPRETED, "CodeKindInterpretedFunction")                                         \
	X(DEOPT_POSITIONS, "DeoptimizationDataInliningPositionsIndex")

enum v8_constant {
#define X(NAME, symbol) V8_##NAME,
	V8_CONSTANTS(X)
#undef X
		V8_CONSTANT_COUNT
};

#define V8_ABSENT INT32_MIN

#define V8_MOST_BYTECODES 256

/* What the constants lack: offsets of fields, and forms of tables. */
struct v8_version {
	uint32_t first, last; /* major * 1000 + minor, inclusive */
	uint16_t sources;     /* BytecodeArray: the table of source positions */
	uint16_t code_data;   /* Code: what was deoptimised, or the bytecode of baseline code */
	uint16_t code_table;  /* Code: the table of baseline code's offsets */
	uint16_t code_start;  /* Code: the address of its instructions; 0: they follow it */
	uint16_t code_flags, code_size;
	uint16_t code_header;	  /* from the object with the instructions to these */
	uint16_t stream_code;	  /* that object: its Code; 0: it is the Code itself */
	uint16_t translations;	  /* a translation's form (v8_translation.h) */
	bool has_late_position;	  /* ScopeInfo: the position comes behind the variables */
	uint8_t module_scope;	  /* the scope type of modules */
	bool has_safepoints;	  /* the middle compiler's code has the table of v8_code.c */
	bool has_flagged_offsets; /* tables of source positions: two flags below each offset */
};

struct v8_layout {
	const struct v8_version *version;
	uint32_t number;	       /* major * 1000 + minor */
	int32_t error;		       /* 0, or why the file's objects are not read */
	int32_t is[V8_CONSTANT_COUNT]; /* V8_ABSENT: the file has no such constant */
	/* vaddrs of code: the one that runs bytecode, and the pieces for its instructions, which
	 * use its frame. Equal: they are not known */
	uint64_t interpreter, interpreter_end;
	uint64_t handlers, handlers_end;
	uint8_t bytecode_sizes[3][V8_MOST_BYTECODES]; /* by the scale of operands; 0: not known */
};

/* Returns whether a file exports what only one with V8 does. Takes a dozen small reads. */
bool v8_layout_is_file(const struct elf_file *file);

/* Reads the layout from the file, which takes tens of milliseconds and may wait for a disk. Returns
 * 0; -ENOENT: the file has no constants; -EINVAL: its version is not one that is read; -EIO;
 * -ENOMEM. */
int v8_layout_read(const struct elf_file *file, struct v8_layout *ret_layout);

/* Copies a layout to bytes, and back. v8_layout_get() trusts nothing in them, and returns 0,
 * -EINVAL, or the layout's error. */
void v8_layout_put(const struct v8_layout *layout, struct runtime_layout *ret_bytes);
int v8_layout_get(const struct runtime_layout *bytes, struct v8_layout *ret_layout);

#endif
