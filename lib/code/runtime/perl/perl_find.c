/* SPDX-License-Identifier: MIT */
/*
 * Looks for symbols that each Perl exports, since extensions need them:
 *
 *   Perl_runops_standard                   the loop over operations
 *   PL_revision, PL_version, PL_subversion the version, as numbers
 *   PL_interp_size                         bytes of the interpreter's state
 *
 * The size differs between builds with threads and without, and between those for processors of 64
 * and 32 bits: so it tells, with the version, that the layout of structures is the known one.
 *
 * From where the loop is called is found by the code (perl_sites.h), and so is the register in
 * which the loop has the address of the state.
 */
#include "runtime/perl/perl_find.h"

#include <string.h>

#include "arch/insn.h"
#include "elf/elf_export.h"
#include "elf/elf_symbols.h"
#include "runtime/perl/perl_sites.h"

#define LOOP	   "Perl_runops_standard"
#define SIZE	   "PL_interp_size"
#define UNREAD	   1   /* version of an interpreter whose frames are not read */
#define LOOP_BYTES 512 /* of the loop, at most */

/* --- layouts ---------------------------------------------------------------------------------- */

/* By version: what has moved. Perl's opnames.h and scope.h number operations and saved values;
 * intrpvar.h defines the state. tests/live/test_perl.py judges them by real interpreters. */
static const struct layout {
	uint16_t version, size;
	uint16_t loop, handlers; /* in the state: the address of the loop; the last place to which
				  * exceptions jump, */
	uint16_t compiling;	 /* and the statement that is compiled */
	uint16_t nextstate, go_to;
	uint8_t saved_op;
	bool calls_in_loop;
} layouts[] = {
	{36, 3768, 2288, 760, 1936, 195, 210, 18, false},
	{40, 3768, 2072, 776, 1720, 198, 213, 19, true},
};

/* --- symbols ---------------------------------------------------------------------------------- */

struct found {
	GElf_Sym loop, size, revision, version, subversion;
};

static void take_symbol(void *arg, const char *name, const GElf_Sym *symbol)
{
	struct found *found = arg;

	if (name[0] != 'P')
		return;
	if (!strcmp(name, LOOP))
		found->loop = *symbol;
	else if (!strcmp(name, SIZE))
		found->size = *symbol;
	else if (!strcmp(name, "PL_revision"))
		found->revision = *symbol;
	else if (!strcmp(name, "PL_version"))
		found->version = *symbol;
	else if (!strcmp(name, "PL_subversion"))
		found->subversion = *symbol;
}

/* Reads the number that a constant of one or two bytes has. */
static bool read_number(const struct elf_file *file, const GElf_Sym *symbol, uint32_t *ret_number)
{
	uint8_t bytes[2] = {0};
	uint64_t offset;

	if (!symbol->st_size || symbol->st_size > sizeof(bytes) ||
	    !elf_file_vaddr_to_offset(file, symbol->st_value, &offset) ||
	    !elf_file_read_whole(file, offset, bytes, symbol->st_size))
		return false;
	*ret_number = (uint32_t)bytes[1] << 8 | bytes[0];
	return true;
}

static const struct layout *find_layout(const struct elf_file *file, const struct found *found,
					struct stackd_interpreter *facts)
{
	uint32_t revision, version, subversion, size;

	if (!read_number(file, &found->revision, &revision) ||
	    !read_number(file, &found->version, &version) ||
	    !read_number(file, &found->subversion, &subversion) ||
	    !read_number(file, &found->size, &size) || revision != 5)
		return NULL;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (layouts[i].version != version || layouts[i].size != size)
			continue;
		facts->version = revision << 16 | version << 8 | subversion;
		facts->form = STACKD_INTERPRETER_PERL;
		facts->language = STACKD_RUNTIME_PERL;
		facts->perl.compiling = layouts[i].compiling;
		facts->perl.nextstate = layouts[i].nextstate;
		facts->perl.go_to = layouts[i].go_to;
		facts->perl.saved_op = layouts[i].saved_op;
		facts->perl.calls_in_loop = layouts[i].calls_in_loop;
		return &layouts[i];
	}
	return NULL;
}

/* --- the loop --------------------------------------------------------------------------------- */

/* Notes code from where the loop has restored the register up to its return. Returns whether there
 * was room for it. */
static bool add_left(struct stackd_interpreter *facts, size_t *n, size_t from, size_t to)
{
	if (*n == STACKD_INTERPRETER_LEFT)
		return false;
	facts->left_from[*n] = (uint32_t)from;
	facts->left_to[(*n)++] = (uint32_t)to;
	return true;
}

/* Finds the register that keeps the loop's first argument, and where it does not have it. */
static bool read_loop(const uint8_t *code, size_t size, struct stackd_interpreter *facts)
{
	struct insn_decoder decoder;
	uint8_t reg = INSN_NO_REG;
	size_t n = 0, from = 0;
	struct insn insn;

	insn_decoder_init(&decoder);
	for (size_t at = 0; at < size; at += insn.length) {
		if (!insn_decode(&decoder, code + at, size - at, at, &insn) || !insn.length)
			return false;
		if (insn.op == INSN_COPY && reg == INSN_NO_REG && !insn.disp &&
		    insn.dst < INSN_REG_COUNT && insn_saved_index(insn.dst) >= 0 &&
		    insn.dst != INSN_SP && insn.dst != INSN_FP && insn.src < INSN_REG_COUNT) {
			reg = insn.dst;
			facts->perl.body_from = (uint16_t)(at + insn.length);
		} else if (insn.op == INSN_POP && insn.dst == reg) {
			from = at + insn.length;
		}
		if (insn.flow == INSN_RETURN && from &&
		    !add_left(facts, &n, from, at + insn.length))
			return false;
		if (insn.flow == INSN_RETURN)
			from = 0;
	}
	facts->frame_register = reg == INSN_NO_REG ? 0 : (uint8_t)insn_dwarf_number(reg);
	return reg != INSN_NO_REG && n;
}

/* Finds all that the kernel half needs. Returns false if some of it is not known. */
static bool find_facts(const struct elf_file *file, const struct found *found,
		       struct runtime_interpreter *is)
{
	const struct layout *layout = find_layout(file, found, &is->facts);
	uint8_t code[LOOP_BYTES];
	uint64_t start;

	if (!layout || found->loop.st_size > sizeof(code) ||
	    !elf_file_vaddr_to_offset(file, found->loop.st_value, &start) ||
	    !elf_file_read_whole(file, start, code, found->loop.st_size) ||
	    !read_loop(code, found->loop.st_size, &is->facts))
		return false;
	is->facts.eval = start;
	is->evals[0].start = start;
	is->evals[0].end = start + found->loop.st_size;
	is->n_evals = 1;
	return perl_sites_find(file, found->loop.st_value, layout->loop, layout->handlers,
			       &is->facts.perl);
}

bool perl_is_in(const struct elf_file *file)
{
	uint64_t vaddr;

	return !elf_export_find(file, LOOP, &vaddr) && !elf_export_find(file, SIZE, &vaddr);
}

bool perl_find(const struct elf_file *file, struct runtime_interpreter *ret_interpreter)
{
	struct runtime_interpreter is = {0};
	struct found found = {0};

	if (elf_file_is_32bit(file))
		return false;
	elf_symbols_each(file, SHT_DYNSYM, take_symbol, &found);
	if (!found.loop.st_size)
		return false;
	if (!find_facts(file, &found, &is))
		is = (struct runtime_interpreter){.facts = {.form = STACKD_INTERPRETER_NONE,
							    .version = UNREAD,
							    .language = STACKD_RUNTIME_PERL}};
	*ret_interpreter = is;
	return true;
}
