/* SPDX-License-Identifier: MIT */
/*
 * Looks for symbols that each PHP exports, since extensions need them:
 *
 *   execute_ex         the function that runs bytecode
 *   executor_globals   its state; PHP for several threads has it elsewhere, and is not read
 *
 * The version is that for which extensions must be built ("API20220829,NTS"): what they may rely
 * on, as the layout of structures, never changes while it is the same. Builds for debugging, and
 * for several threads, have another text.
 *
 * What registers have is found by the code (php_code.h).
 */
#include "runtime/php/php_find.h"

#include <stdlib.h>
#include <string.h>

#include "elf/elf_export.h"
#include "elf/elf_symbols.h"
#include "runtime/eval_parts.h"
#include "runtime/php/php_code.h"

#define EVAL	   "execute_ex"
#define GLOBALS	   "executor_globals"
#define UNREAD	   1	       /* version of an interpreter whose frames are not read */
#define MOST_BYTES (64u << 20) /* of the file that are searched for the version */
#define PIECE	   (256u << 10)

/* --- layouts ---------------------------------------------------------------------------------- */

#define CODE_NAME 8   /* in zend_op_array, of all versions */
#define CURRENT	  488 /* in executor_globals */

/* By what extensions are built for: offsets in zend_op_array and executor_globals, as PHP's
 * zend_compile.h and zend_globals.h define them. tests/live/test_php.py judges them by real
 * interpreters. */
static const struct layout {
	char text[20];
	uint32_t version;
	uint16_t count, start, file, first_line; /* in zend_op_array */
	uint16_t thrown;			 /* in executor_globals */
} layouts[] = {
	{"API20220829,NTS", 0x080200, 80, 88, 152, 160, 880},
	{"API20240924,NTS", 0x080400, 96, 104, 168, 176, 952},
};

/* Finds the text in a piece of the file. The texts have a NUL behind them. */
static const struct layout *layout_in(const uint8_t *piece, size_t size)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (memmem(piece, size, layouts[i].text, strlen(layouts[i].text) + 1))
			return &layouts[i];
	}
	return NULL;
}

/* Searches what the file has from `offset` on, of `size` bytes. */
static const struct layout *search_range(const struct elf_file *file, uint64_t offset,
					 uint64_t size)
{
	const size_t overlap = sizeof(layouts[0].text);
	uint8_t *piece = malloc(PIECE + overlap);
	const struct layout *found = NULL;

	for (uint64_t at = 0; piece && !found && at < size && at < MOST_BYTES; at += PIECE) {
		int64_t got = elf_file_read(file, offset + at, piece, PIECE + overlap);

		if (got <= 0)
			break;
		found = layout_in(piece, (size_t)got);
	}
	free(piece);
	return found;
}

static const struct layout *find_layout(const struct elf_file *file)
{
	const struct layout *found = NULL;
	const Elf64_Phdr *headers;
	size_t count;

	headers = elf_file_program_headers(file, &count);
	for (size_t i = 0; i < count && !found; i++) {
		if (headers[i].p_type == PT_LOAD && !(headers[i].p_flags & (PF_X | PF_W)))
			found = search_range(file, headers[i].p_offset, headers[i].p_filesz);
	}
	return found;
}

static void take_layout(const struct layout *layout, struct stackd_interpreter *facts)
{
	facts->version = layout->version;
	facts->form = STACKD_INTERPRETER_PHP;
	facts->language = STACKD_RUNTIME_PHP;
	facts->code_name = CODE_NAME;
	facts->code_start = layout->start;
	facts->code_file = layout->file;
	facts->code_first_line = layout->first_line;
	facts->php.code_count = layout->count;
	facts->php.current = CURRENT;
	facts->php.thrown = layout->thrown;
}

/* --- symbols ---------------------------------------------------------------------------------- */

struct found {
	GElf_Sym eval, globals;
};

static void take_symbol(void *arg, const char *name, const GElf_Sym *symbol)
{
	struct found *found = arg;

	if (name[0] != 'e')
		return;
	if (!strcmp(name, EVAL))
		found->eval = *symbol;
	else if (!strcmp(name, GLOBALS))
		found->globals = *symbol;
}

/* Finds all that the kernel half needs. Returns false if some of it is not known. */
static bool find_facts(const struct elf_file *file, const struct found *found,
		       struct runtime_interpreter *is)
{
	const struct layout *layout = find_layout(file);
	uint64_t start;

	if (!layout || !found->globals.st_size || found->globals.st_size > UINT16_MAX ||
	    found->globals.st_size < layout->thrown + sizeof(uint64_t) ||
	    !elf_file_vaddr_to_offset(file, found->eval.st_value, &start))
		return false;
	take_layout(layout, &is->facts);
	is->facts.eval = start;
	is->facts.runtime = (int64_t)(found->globals.st_value - (found->eval.st_value - start));
	is->facts.php.globals_bytes = (uint32_t)found->globals.st_size;
	is->evals[0].start = start;
	is->evals[0].end = start + found->eval.st_size;
	is->n_evals = 1;
	eval_parts_add(file, found->eval.st_value, is);
	return php_code_read(file, is);
}

bool php_is_in(const struct elf_file *file)
{
	uint64_t vaddr;

	return !elf_export_find(file, EVAL, &vaddr) && !elf_export_find(file, GLOBALS, &vaddr);
}

bool php_find(const struct elf_file *file, struct runtime_interpreter *ret_interpreter)
{
	struct runtime_interpreter is = {0};
	struct found found = {0};

	if (elf_file_is_32bit(file))
		return false;
	elf_symbols_each(file, SHT_DYNSYM, take_symbol, &found);
	if (!found.eval.st_size)
		return false;
	if (!find_facts(file, &found, &is))
		is = (struct runtime_interpreter){.facts = {.form = STACKD_INTERPRETER_NONE,
							    .version = UNREAD,
							    .language = STACKD_RUNTIME_PHP}};
	*ret_interpreter = is;
	return true;
}
