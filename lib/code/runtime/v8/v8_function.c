/* SPDX-License-Identifier: MIT */
/*
 * Functions of JavaScript: which one a frame runs, its name, place and lines; see v8_heap.h.
 *
 * The words of a frame of the interpreter, or of the simple compiler, below the frame pointer (code
 * of other compilers has the first three):
 *
 *   fp - 8   context              fp - 32  BytecodeArray
 *   fp - 16  JSFunction           fp - 40  offset of the instruction, from the BytecodeArray's
 *   fp - 24  number of arguments           tagged address (interpreter alone)
 *
 * Objects are moved by the garbage collector: often the JSFunction, which a program makes many of;
 * seldom bytecode, which is one function's for good. So a function's address is that of its
 * bytecode. A JSFunction leads to the SharedFunctionInfo, and that to its bytecode: if this is the
 * one of the frame, it belongs together, and is learnt. From then on the SharedFunctionInfo alone
 * is asked whether the bytecode is still its own. Functions that were inlined are known by their
 * SharedFunctionInfo, which serves as an address as well.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "runtime/v8/v8_bytes.h"
#include "runtime/v8/v8_heap.h"

#define CONTEXT_BELOW	8
#define FUNCTION_BELOW	16
#define ARGUMENTS_BELOW 24
#define BYTECODE_BELOW	32
#define OFFSET_BELOW	40

#define ARRAY_LENGTH	 8
#define INTERPRETER_DATA 8 /* InterpreterData: its BytecodeArray */
#define MOST_BYTECODE	 (1u << 24)
#define MOST_ARGUMENTS	 65536
#define MOST_TABLE	 (1u << 17) /* bytes of a table of source positions */
#define MOST_LINES	 (1u << 15)
#define MOST_BYTECODES	 (1u << 17) /* that are learnt */
#define LONG_LINE	 256 /* characters; several functions of one may have the same name */

/* --- bytecode --------------------------------------------------------------------------------- */

uint64_t v8_bytecode_in(const struct v8 *v8, uint64_t object)
{
	int32_t type = v8_type(v8, object);

	for (int i = 0; i < 2; i++) {
		uint32_t offset;

		if (type == v8->is.is[V8_TYPE_CODE])
			offset = v8->is.version->code_data;
		else if (type == v8->is.is[V8_TYPE_INTERPRETER_DATA])
			offset = INTERPRETER_DATA;
		else
			break;
		if (!v8_object(v8, object, offset, &object))
			return 0;
		type = v8_type(v8, object);
	}
	return type == v8->is.is[V8_TYPE_BYTECODE] ? object : 0;
}

uint64_t v8_bytecode_of(const struct v8 *v8, uint64_t sfi)
{
	uint64_t data;

	return v8_has_type(v8, sfi, V8_TYPE_SFI) &&
			       v8_object(v8, sfi, (uint32_t)v8->is.is[V8_SFI_DATA], &data)
		       ? v8_bytecode_in(v8, data)
		       : 0;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Reads the words of a frame. Returns false if they cannot be those of one with bytecode. */
static bool read_frame(const struct walk_memory *memory, uint64_t fp, uint64_t *ret_function,
		       uint64_t *ret_bytecode, uint64_t *ret_offset)
{
	uint64_t before, context;

	return !(fp & 7) && fp >= memory->start + OFFSET_BELOW &&
	       walk_memory_read8(memory, fp, &before) && before > fp && !(before & 7) &&
	       before - memory->start < memory->len &&
	       walk_memory_read8(memory, fp - CONTEXT_BELOW, &context) && v8_is_object(context) &&
	       walk_memory_read8(memory, fp - FUNCTION_BELOW, ret_function) &&
	       v8_is_object(*ret_function) &&
	       walk_memory_read8(memory, fp - BYTECODE_BELOW, ret_bytecode) &&
	       v8_is_object(*ret_bytecode) &&
	       walk_memory_read8(memory, fp - OFFSET_BELOW, ret_offset);
}

bool v8_is_pointed(const struct walk_memory *memory, uint64_t fp)
{
	uint64_t before, context, function, arguments;

	return !(fp & 7) && fp >= memory->start + ARGUMENTS_BELOW &&
	       walk_memory_read8(memory, fp, &before) && before > fp && !(before & 7) &&
	       before - memory->start < memory->len &&
	       walk_memory_read8(memory, fp - CONTEXT_BELOW, &context) && v8_is_object(context) &&
	       walk_memory_read8(memory, fp - FUNCTION_BELOW, &function) &&
	       v8_is_object(function) &&
	       walk_memory_read8(memory, fp - ARGUMENTS_BELOW, &arguments) &&
	       arguments < MOST_ARGUMENTS;
}

bool v8_interpreted(const struct walk_memory *memory, uint64_t fp,
		    struct runtime_activation *ret_activation)
{
	uint64_t function, bytecode, offset;

	if (!read_frame(memory, fp, &function, &bytecode, &offset) || !v8_is_smi(offset) ||
	    offset >> 63 || !offset)
		return false;
	*ret_activation = (struct runtime_activation){
		.function = bytecode - 1, .instruction = bytecode + (offset >> 32), .waits = true};
	return true;
}

bool v8_sender(const struct walk_memory *memory, uint64_t fp, uint64_t *ret_sp)
{
	(void)memory;
	(void)fp;
	(void)ret_sp;
	return false; /* the frame pointer leads to the caller's frame */
}

static void learn(struct v8 *v8, uint64_t bytecode, uint64_t sfi)
{
	uint32_t index = int_map_find(&v8->by_bytecode, bytecode);

	if (index == INT_MAP_NONE) {
		if (v8->bytecodes.count >= MOST_BYTECODES) {
			v8->bytecodes.count = 0;
			int_map_clear(&v8->by_bytecode);
		}
		index = (uint32_t)v8->bytecodes.count;
		if (VEC_RESERVE(&v8->bytecodes, 1) ||
		    int_map_set(&v8->by_bytecode, bytecode, index))
			return;
		v8->bytecodes.count++;
	}
	v8->bytecodes.items[index] = (struct v8_bytecode){bytecode, sfi};
}

uint64_t v8_sfi_of(const struct v8 *v8, uint64_t bytecode)
{
	uint32_t index = int_map_find(&v8->by_bytecode, bytecode);
	uint64_t sfi = index == INT_MAP_NONE ? 0 : v8->bytecodes.items[index].sfi;

	return sfi && v8_bytecode_of(v8, sfi) == bytecode ? sfi : 0;
}

void v8_learn(void *machine, const struct walk_memory *memory, uint64_t fp)
{
	struct v8 *v8 = machine;
	const uint64_t failed = v8->failures;
	uint64_t function, bytecode, offset, sfi, hash, *in_vain;

	if (!read_frame(memory, fp, &function, &bytecode, &offset) || v8_sfi_of(v8, bytecode - 1))
		return;
	v8_forget(v8);
	hash = hash_mix64(function ^ hash_mix64(bytecode));
	in_vain = &v8->in_vain[hash % V8_IN_VAIN];
	if (*in_vain == hash)
		return;
	if (v8_object(v8, function - 1, (uint32_t)v8->is.is[V8_SFI_OF_FUNCTION], &sfi) &&
	    v8_bytecode_of(v8, sfi) == bytecode - 1)
		learn(v8, bytecode - 1, sfi);
	else if (v8->failures == failed)
		*in_vain = hash;
}

/* --- names ------------------------------------------------------------------------------------ */

/* Bits of a ScopeInfo's flags, in all versions. */
#define SCOPE_TYPE	   15
#define HAS_SAVED_CLASS	   (1u << 10)
#define FUNCTION_VARIABLE  (3u << 12)
#define HAS_INFERRED	   (1u << 14)
#define SCOPE_FLAGS	   8 /* fields of a ScopeInfo */
#define SCOPE_LOCALS	   24
#define SCOPE_REST	   32
#define MOST_INLINED_NAMES 75 /* more names of variables are in a table of their own */

/* What is read of a SharedFunctionInfo. */
struct function {
	uint64_t sfi, bytecode, script, scope;
	uint32_t script_id, start, end;
	uint32_t name_at, inferred_at; /* in the ScopeInfo; 0: there is none */
};

/* Finds what a ScopeInfo says, and where. */
static bool read_scope(const struct v8 *v8, struct function *f)
{
	const struct v8_version *version = v8->is.version;
	uint64_t word;
	uint32_t flags, locals, at = SCOPE_REST, position = SCOPE_REST;

	if (!v8_has_type(v8, f->scope, V8_TYPE_SCOPE_INFO) ||
	    !v8_word(v8, f->scope + SCOPE_FLAGS, &word) ||
	    !v8_smi(v8, f->scope, SCOPE_LOCALS, &locals) || locals > UINT16_MAX)
		return false;
	flags = (uint32_t)(version->has_late_position ? word >> 32 : word);
	if (!version->has_late_position)
		at += (flags & SCOPE_TYPE) == version->module_scope ? 24 : 16;
	at += 8 * (locals < MOST_INLINED_NAMES ? locals : 1) + 8 * locals;
	if (flags & HAS_SAVED_CLASS)
		at += 8;
	if (flags & FUNCTION_VARIABLE) {
		f->name_at = at;
		at += 16;
	}
	if (flags & HAS_INFERRED) {
		f->inferred_at = at;
		at += 8;
	}
	if (version->has_late_position)
		position = at;
	return v8_smi(v8, f->scope, position, &f->start) &&
	       v8_smi(v8, f->scope, position + 8, &f->end) && f->start <= f->end;
}

/* Reads what a function is. Returns false if it is none that was compiled to bytecode. */
static bool read_function(const struct v8 *v8, uint64_t address, struct function *f)
{
	int32_t type = v8_type(v8, address);

	*f = (struct function){.sfi = address};
	if (type == v8->is.is[V8_TYPE_BYTECODE])
		f->sfi = v8_sfi_of(v8, address);
	else if (type != v8->is.is[V8_TYPE_SFI])
		return false;
	f->bytecode = f->sfi ? v8_bytecode_of(v8, f->sfi) : 0;
	return f->bytecode &&
	       v8_object(v8, f->sfi, (uint32_t)v8->is.is[V8_SFI_SCRIPT], &f->script) &&
	       v8_has_type(v8, f->script, V8_TYPE_SCRIPT) &&
	       v8_smi(v8, f->script, V8_SCRIPT_ID, &f->script_id) &&
	       v8_object(v8, f->sfi, (uint32_t)v8->is.is[V8_SFI_NAME], &f->scope) &&
	       read_scope(v8, f);
}

static uint64_t identity_of(const struct function *f)
{
	uint64_t hash = hash_mix64((uint64_t)f->script_id << 32 | f->start);

	/* Ids are numbers of an isolate's: another one has other objects with them. */
	hash = hash_mix64(hash ^ f->sfi) ^ hash_mix64(f->script ^ f->scope << 1);
	hash = hash_mix64(hash ^ ((uint64_t)f->end << 32)) ^ hash_mix64(f->bytecode);
	return hash ? hash : 1;
}

/* Puts the string in a field of the object at `base` to `text`, which is empty if there is none.
 * While objects are moved, one cannot be told from another: returns false then. */
static bool read_text(const struct v8 *v8, uint64_t base, uint32_t offset, char *text)
{
	uint64_t word;

	*text = '\0';
	if (!v8_word(v8, base + offset, &word))
		return false;
	if (v8_is_smi(word))
		return true;
	return v8_is_object(word) &&
	       (v8_text(v8, word - 1, text) || v8_has_type(v8, word - 1, V8_TYPE_ODDBALL));
}

/* Names a function as V8 does. A function without a name is `(anonymous)` with its line and column.
 * A function on a very long line has these behind its name, since minifiers use few names. */
static bool name_function(const struct v8 *v8, const struct function *f,
			  const struct v8_script *script, struct runtime_function *to)
{
	uint32_t line = 0, column = 0;
	bool has_name;
	size_t len;

	if ((f->name_at && !read_text(v8, f->scope, f->name_at, to->name)) ||
	    (!*to->name && f->inferred_at && !read_text(v8, f->scope, f->inferred_at, to->name)))
		return false;
	has_name = *to->name;
	if (script)
		v8_script_place(script, f->start, &line, &column);
	to->first_line = line;
	if (!has_name)
		strcpy(to->name, "(anonymous)");
	len = strlen(to->name);
	if (line && (!has_name || column > LONG_LINE) && len + 24 < RUNTIME_NAME_ROOM)
		snprintf(to->name + len, RUNTIME_NAME_ROOM - len, ":%u:%u", line, column);
	return true;
}

static bool name_file(const struct v8 *v8, const struct function *f, char *file)
{
	static const char scheme[] = "file://";

	if (!read_text(v8, f->script, (uint32_t)v8->is.is[V8_SCRIPT_NAME], file))
		return false;
	if (!*file)
		strcpy(file, "[eval]");
	if (strncmp(file, scheme, sizeof(scheme) - 1) == 0)
		memmove(file, file + sizeof(scheme) - 1, strlen(file) - sizeof(scheme) + 2);
	return true;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Converts a table of source positions. Consecutive entries of one line become one. 0 or -ENOMEM;
 * without lines if the table is not right. */
static int convert(struct v8_positions at, const struct v8_script *script,
		   struct runtime_function *to)
{
	VEC(struct runtime_line) lines = {0};
	uint32_t line, column, offset;
	uint64_t position;

	while (v8_positions_next(&at, &offset, &position) && lines.count < MOST_LINES) {
		v8_script_place(script, v8_position_in_script(position), &line, &column);
		if (lines.count && lines.items[lines.count - 1].line == line)
			continue;
		if (VEC_RESERVE(&lines, 1)) {
			free(lines.items);
			return -ENOMEM;
		}
		if (lines.count && lines.items[lines.count - 1].instruction == offset)
			lines.count--;
		lines.items[lines.count++] = (struct runtime_line){offset, line};
	}
	if (!v8_positions_is_end(&at)) {
		free(lines.items);
		return 0;
	}
	to->lines = lines.items;
	to->n_lines = lines.count;
	return 0;
}

static int read_lines(const struct v8 *v8, const struct function *f, const struct v8_script *script,
		      struct runtime_function *to)
{
	uint8_t *bytes;
	size_t len;
	int err = v8_bytes_of(v8, f->bytecode, v8->is.version->sources, MOST_TABLE, &bytes, &len);

	if (err)
		return err == -ENOMEM ? err : 0;
	err = convert(v8_positions_of(bytes, len, v8->is.version->has_flagged_offsets), script, to);
	free(bytes);
	return err;
}

int v8_function(void *machine, uint64_t address, struct runtime_function *ret_function)
{
	struct v8 *v8 = machine;
	const struct v8_script *script;
	struct runtime_function *to = ret_function;
	struct function f;
	int err;

	if (!read_function(v8, address, &f) ||
	    !v8_smi(v8, f.bytecode, ARRAY_LENGTH, &to->code_size) || to->code_size > MOST_BYTECODE)
		return -ENOENT;
	to->identity = identity_of(&f);
	to->code = f.bytecode + (uint32_t)v8->is.is[V8_BYTECODE_START];
	err = v8_script_find(v8, f.script, &script);
	if (err)
		return err;
	if (!name_function(v8, &f, script, to) || !name_file(v8, &f, to->file))
		return -ENOENT;
	return script ? read_lines(v8, &f, script, to) : 0;
}

uint64_t v8_identity(void *machine, uint64_t address)
{
	struct function f;

	return read_function(machine, address, &f) ? identity_of(&f) : 0;
}
