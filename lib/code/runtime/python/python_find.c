/* SPDX-License-Identifier: MIT */
/*
 * Looks for symbols that each build of CPython exports, since extensions may need them:
 *
 * - _PyEval_EvalFrameDefault: the function that runs bytecode
 *
 * - _PyRuntime: from it all threads' states are reached; since 3.13 it begins with a table of
 *   offsets (python_offsets.h)
 *
 * - Py_Version: the version, in the file's read-only data (since 3.11)
 *
 * - PyUnstable_Code_NewWithPosOnlyArgs: makes code objects (since 3.12)
 *
 * - PyIter_Send, PyFrame_GetCode, Py_BytesMain: functions that are new in 3.10, 3.9 and 3.8
 *
 * Builds whose objects have longer headers have other offsets: those without the global interpreter
 * lock, and those for debugging that list all objects. Before 3.14 they export functions that no
 * other build has; since 3.13 the table of offsets tells. Their frames are not read; nor are those
 * of a build in whose code not all places are known where a chain must not be believed
 * (python_pushes.h).
 *
 * A compiler divides the function: what hardly ever runs goes into a part of its own, to which the
 * function jumps. A stripped file has no symbol of that part. But the part does not begin with the
 * frame of a function that was just called, so it is found by the function's jumps
 * (eval_parts.h).
 */
#include "runtime/python/python_find.h"

#include <string.h>

#include "elf/elf_export.h"
#include "elf/elf_symbols.h"
#include "runtime/eval_parts.h"
#include "runtime/python/python_counter.h"
#include "runtime/python/python_layout.h"
#include "runtime/python/python_offsets.h"
#include "runtime/python/python_parts.h"
#include "runtime/python/python_pushes.h"

#define EVAL	"_PyEval_EvalFrameDefault"
#define RUNTIME "_PyRuntime"
#define UNREAD	1 /* version of an interpreter whose frames are not read */

struct found {
	GElf_Sym eval, runtime, version;
	GElf_Sym makers[2]; /* of code objects; in a shared library without -Bsymbolic, the first
			     * one calls the second one by a PLT stub */
	uint32_t since;	    /* the latest version that the functions above tell of: 0x030a00 */
	bool has_long_headers;
};

/* Functions by the version that has them first. */
static const struct {
	const char *name;
	uint32_t version;
} firsts[] = {{"Py_BytesMain", 0x030800}, {"PyFrame_GetCode", 0x030900}, {"PyIter_Send", 0x030a00}};

static void take_symbol(void *arg, const char *name, const GElf_Sym *symbol)
{
	struct found *found = arg;

	if (name[0] != '_' && name[0] != 'P')
		return;
	if (!strcmp(name, EVAL))
		found->eval = *symbol;
	else if (!strcmp(name, RUNTIME))
		found->runtime = *symbol;
	else if (!strcmp(name, "Py_Version"))
		found->version = *symbol;
	else if (!strcmp(name, "PyUnstable_Code_NewWithPosOnlyArgs"))
		found->makers[0] = *symbol;
	else if (!strcmp(name, "_PyCode_New"))
		found->makers[1] = *symbol;
	else if (!strcmp(name, "_Py_DecRefShared") || !strcmp(name, "_Py_ForgetReference"))
		found->has_long_headers = true;
	for (size_t i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++) {
		if (firsts[i].version > found->since && !strcmp(name, firsts[i].name))
			found->since = firsts[i].version;
	}
}

static bool find_symbols(const struct elf_file *file, struct found *found)
{
	elf_symbols_each(file, SHT_DYNSYM, take_symbol, found);
	return found->eval.st_size && found->runtime.st_value;
}

/* Finds the version with its release level: 0x030b02f0 for 3.11.2. Before 3.11 its last number is
 * not known, and is 0. */
static bool find_version(const struct elf_file *file, const struct found *found,
			 uint32_t *ret_version)
{
	const GElf_Sym *symbol = &found->version;
	uint64_t offset, version;

	if (!symbol->st_value) {
		*ret_version = found->since << 8;
		return true;
	}
	if (!elf_file_vaddr_to_offset(file, symbol->st_value, &offset) ||
	    !elf_file_read_whole(file, offset, &version, sizeof(version)) || version >> 32)
		return false;
	*ret_version = (uint32_t)version;
	return true;
}

bool python_is_in(const struct elf_file *file)
{
	uint64_t vaddr;

	return !elf_export_find(file, EVAL, &vaddr) && !elf_export_find(file, RUNTIME, &vaddr);
}

/* Gives the layout of a version with its release level. */
static bool find_layout(const struct elf_file *file, const struct found *found, uint32_t version,
			struct stackd_interpreter *ret_layout)
{
	uint64_t table[PYTHON_OFFSETS_WORDS], offset;

	if (!python_layout(version >> 8, ret_layout))
		return false;
	if (!PYTHON_STATES_OFFSETS(version >> 8))
		return !found->has_long_headers;
	return elf_file_vaddr_to_offset(file, found->runtime.st_value, &offset) &&
	       elf_file_read_whole(file, offset, table, sizeof(table)) &&
	       python_offsets(table, version, ret_layout);
}

/* Looks at the code of the function that runs bytecode. Returns whether frames can be read at all
 * of its instructions. */
static bool read_code(const struct elf_file *file, const struct found *found,
		      struct runtime_interpreter *is)
{
	is->evals[0].start = is->facts.eval;
	is->evals[0].end = is->facts.eval + found->eval.st_size;
	is->n_evals = 1;
	eval_parts_add(file, found->eval.st_value, is);
	if (is->facts.form == STACKD_INTERPRETER_OBJECT) {
		python_parts_leaving(file, is);
		return true;
	}
	python_parts_linking(file, is);
	return python_pushes_find(file, is);
}

bool python_find(const struct elf_file *file, struct runtime_interpreter *ret_interpreter)
{
	struct runtime_interpreter is = {0};
	struct found found = {0};
	uint64_t start;
	uint32_t version;
	bool is_read = false;

	if (elf_file_is_32bit(file) || !find_symbols(file, &found) ||
	    !elf_file_vaddr_to_offset(file, found.eval.st_value, &start))
		return false;
	if (find_version(file, &found, &version) && find_layout(file, &found, version, &is.facts)) {
		is.facts.eval = start;
		is_read = read_code(file, &found, &is);
	}
	if (!is_read)
		is = (struct runtime_interpreter){.facts = {.form = STACKD_INTERPRETER_NONE,
							    .version = UNREAD,
							    .language = STACKD_RUNTIME_PYTHON}};
	is.facts.runtime = (int64_t)(found.runtime.st_value - (found.eval.st_value - start));
	is.facts.runtime_bytes = found.runtime.st_size < UINT32_MAX ? found.runtime.st_size : 0;
	is.facts.eval = start;
	for (int i = 0; i < 2 && is_read && is.facts.counter_kind == STACKD_VERSIONS_NONE; i++) {
		if (found.makers[i].st_value)
			python_counter_find(file, found.makers[i].st_value,
					    found.eval.st_value - start, &is);
	}
	*ret_interpreter = is;
	return true;
}
