/* SPDX-License-Identifier: MIT */
/*
 * Looks for symbols that each build of Ruby exports, since extensions may need them:
 *
 *   ruby_version        the version, as a string
 *   rb_profile_frames   a function that begins by reading the thread's execution context
 *   ruby_current_ec     the thread-local variable that leads to that context; not exported by all
 *
 * The function that runs bytecode is static, and has no symbol. But no other large function begins
 * by reading the last control frame from the execution context, its instruction from that, and by
 * jumping to where the instruction's word leads:
 *
 *   cfp = ec->cfp;
 *   pc = cfp->pc;
 *   goto **pc;
 *
 * From there on, one register has the address of the control frame that runs.
 *
 * A library finds its thread-local variables by two words, which the loader fills: the number of
 * its module, and the variable's offset in the module's memory. Their address is what is passed to
 * the first function that rb_profile_frames() calls. A program has its own variables at a fixed
 * distance from the thread pointer.
 */
#include "runtime/ruby/ruby_find.h"

#include <stdio.h>
#include <string.h>

#include "arch/flow_insn.h"
#include "arch/insn.h"
#include "cfi/eh_frame_hdr.h"
#include "elf/elf_symbols.h"

#define UNREAD	    1	 /* version of an interpreter whose frames are not read */
#define EVAL_BYTES  8192 /* of the function that runs bytecode, at least */
#define EVAL_BEGINS 160	 /* bytes in which the pattern above is */
#define READS_BEGIN 96	 /* bytes in which rb_profile_frames() reads the context */
#define EC_CFP	    16	 /* offsets in structures */
#define CFP_PC	    0

/* --- layouts ---------------------------------------------------------------------------------- */

/* By minor version, whose releases do not move fields: offsets in rb_iseq_constant_body, as Ruby's
 * vm_core.h defines it. tests/live/test_ruby.py judges them by real interpreters. */
static const struct stackd_interpreter layouts[] = {
	{
		.version = 0x0301,
		.code_start = 8,
		.code_file = 64,
		.code_name = 80,
		.code_first_line = 88,
		.code_lines = 120,
		.ruby = {.frame_bytes = 64},
	},
	{
		.version = 0x0303,
		.code_start = 8,
		.code_file = 64,
		.code_name = 80,
		.code_first_line = 88,
		.code_lines = 112,
		.ruby = {.frame_bytes = 56, .has_length = true, .has_line = true},
	},
};

static bool find_layout(uint32_t version, struct stackd_interpreter *ret_layout)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (layouts[i].version != version >> 8)
			continue;
		*ret_layout = layouts[i];
		ret_layout->version = version;
		ret_layout->form = STACKD_INTERPRETER_RUBY;
		ret_layout->language = STACKD_RUNTIME_RUBY;
		return true;
	}
	return false;
}

/* --- symbols ---------------------------------------------------------------------------------- */

struct found {
	GElf_Sym version, reader, context;
};

static void take_symbol(void *arg, const char *name, const GElf_Sym *symbol)
{
	struct found *found = arg;

	if (name[0] != 'r')
		return;
	if (!strcmp(name, "ruby_version"))
		found->version = *symbol;
	else if (!strcmp(name, "rb_profile_frames"))
		found->reader = *symbol;
	else if (!strcmp(name, "ruby_current_ec") && GELF_ST_TYPE(symbol->st_info) == STT_TLS)
		found->context = *symbol;
}

/* Looks among what the file exports. Only a file with Ruby's interpreter is worth a look at all its
 * symbols, which are a million in large files: for the variable, which not all builds export. */
static bool find_symbols(const struct elf_file *file, struct found *found)
{
	elf_symbols_each(file, SHT_DYNSYM, take_symbol, found);
	if (!found->version.st_size || !found->reader.st_size)
		return false;
	if (!found->context.st_size)
		elf_symbols_each(file, SHT_SYMTAB, take_symbol, found);
	return true;
}

/* Reads the version: 0x030102 for "3.1.2"; 0: it is no version. */
static uint32_t read_version(const struct elf_file *file, const struct found *found)
{
	unsigned major, minor, teeny;
	char text[16] = "";
	uint64_t offset;
	size_t size = found->version.st_size;

	if (size >= sizeof(text) ||
	    !elf_file_vaddr_to_offset(file, found->version.st_value, &offset) ||
	    !elf_file_read_whole(file, offset, text, size) ||
	    sscanf(text, "%2u.%2u.%2u", &major, &minor, &teeny) != 3)
		return 0;
	return major << 16 | minor << 8 | teeny;
}

/* --- the thread's execution context ------------------------------------------------------------
 */

/* Finds what a library's code passes to the function that gives the address of a variable. */
static bool find_words(const struct elf_file *file, uint64_t vaddr, uint64_t code_zero,
		       struct stackd_ruby *ruby)
{
	struct insn_decoder decoder;
	uint8_t code[READS_BEGIN + INSN_MAX_BYTES];
	uint64_t offset, words = 0;
	struct flow_insn insn;

	if (!elf_file_vaddr_to_offset(file, vaddr, &offset) ||
	    !elf_file_read_whole(file, offset, code, sizeof(code)))
		return false;
	insn_decoder_init(&decoder);
	for (size_t at = 0; at < READS_BEGIN; at += insn.length) {
		if (!flow_insn_decode(&decoder, code + at, sizeof(code) - at, &insn) ||
		    !insn.length)
			return false;
		if (insn.kind == FLOW_CALL && words) {
			ruby->local_words = (int64_t)(words - code_zero);
			return true;
		}
		if (insn.kind != FLOW_NEXT && insn.kind != FLOW_BRANCH)
			return false;
		words = insn.value == FLOW_VALUE_ADDRESS ? flow_insn_target(&insn, vaddr + at) : 0;
	}
	return false;
}

/* Gives the bytes of a program's thread-local variables, with those that align them. Returns
 * whether the header can be right. */
static bool find_local_bytes(const Elf64_Phdr *header, int64_t *ret_size)
{
	const uint64_t align = header->p_align > 1 ? header->p_align : 1;

	if (header->p_memsz >= INT32_MAX || align > UINT32_MAX || (align & (align - 1)))
		return false;
	*ret_size = (int64_t)((header->p_memsz + align - 1) & ~(align - 1));
	return true;
}

/* Finds how far from the thread pointer a program has the variable. */
static bool find_distance(const struct elf_file *file, const GElf_Sym *symbol,
			  struct stackd_ruby *ruby)
{
	const Elf64_Phdr *headers;
	bool is_program = false;
	int64_t size = 0;
	size_t count;

	headers = elf_file_program_headers(file, &count);
	for (size_t i = 0; i < count; i++) {
		if (headers[i].p_type == PT_TLS && !find_local_bytes(&headers[i], &size))
			return false;
		is_program |= headers[i].p_type == PT_INTERP;
	}
	if (!is_program || !size || !symbol->st_size || symbol->st_value >= (uint64_t)size)
		return false;
	ruby->local = (int64_t)symbol->st_value - size;
	return true;
}

/* --- the function that runs bytecode -----------------------------------------------------------
 */

struct beginning {
	uint32_t frame_bytes; /* of stack so far, with the return address */
	uint8_t cfp, pc;      /* registers */
	uint32_t from;	      /* offset behind the instruction that loads `cfp` */
};

static void take_insn(struct beginning *b, const struct insn *insn, size_t end)
{
	if (insn->op == INSN_PUSH)
		b->frame_bytes += 8;
	else if (insn->op == INSN_COPY && insn->dst == INSN_SP && insn->src == INSN_SP &&
		 insn->disp < 0)
		b->frame_bytes += (uint32_t)-insn->disp;
	if (insn->op != INSN_LOAD)
		return;
	if (b->cfp == INSN_NO_REG && insn->disp == EC_CFP && insn_saved_index(insn->dst) >= 0) {
		b->cfp = insn->dst;
		b->from = (uint32_t)end;
	} else if (b->cfp != INSN_NO_REG && insn->src == b->cfp && insn->disp == CFP_PC) {
		b->pc = insn->dst;
	}
}

/* Returns whether code begins as the function that runs bytecode does, and notes what is known by
 * that. */
static bool is_eval(const struct insn_decoder *decoder, const uint8_t *code, size_t size,
		    struct stackd_interpreter *facts)
{
	struct beginning b = {.frame_bytes = 8, .cfp = INSN_NO_REG, .pc = INSN_NO_REG};
	struct insn insn;

	for (size_t at = 0; at < size; at += insn.length) {
		if (!insn_decode(decoder, code + at, size - at, at, &insn) || !insn.length)
			return false;
		if (insn.flow == INSN_JUMP_INDIRECT) {
			if (b.pc == INSN_NO_REG || b.frame_bytes > UINT16_MAX)
				return false;
			facts->ruby.body_from = b.from;
			facts->ruby.body_bytes = (uint16_t)b.frame_bytes;
			facts->frame_register = (uint8_t)insn_dwarf_number(b.cfp);
			return true;
		}
		if (insn.flow != INSN_NEXT && insn.flow != INSN_BRANCH)
			return false;
		take_insn(&b, &insn, at + insn.length);
	}
	return false;
}

/* Looks among all large functions. */
static bool find_eval(const struct elf_file *file, const struct eh_frame_hdr *entries,
		      struct runtime_interpreter *is, uint64_t *ret_vaddr)
{
	struct eh_frame_hdr_row row, next;
	struct insn_decoder decoder;
	size_t count = eh_frame_hdr_count(entries);

	insn_decoder_init(&decoder);
	for (size_t i = 0; i < count && eh_frame_hdr_row(entries, i, &row); i++) {
		uint8_t code[EVAL_BEGINS];
		uint64_t start;
		uint32_t bytes;

		if (eh_frame_hdr_row(entries, i + 1, &next) && next.start - row.start < EVAL_BYTES)
			continue;
		bytes = eh_frame_hdr_code_bytes(entries, &row);
		if (bytes < EVAL_BYTES || !elf_file_vaddr_to_offset(file, row.start, &start) ||
		    !elf_file_read_whole(file, start, code, sizeof(code)) ||
		    !is_eval(&decoder, code, sizeof(code), &is->facts))
			continue;
		is->facts.eval = start;
		is->evals[0].start = start;
		is->evals[0].end = start + bytes;
		is->n_evals = 1;
		*ret_vaddr = row.start;
		return true;
	}
	return false;
}

/* Finds all that the kernel half needs. Returns false if some of it is not known. */
static bool find_facts(const struct elf_file *file, const struct found *found,
		       struct runtime_interpreter *is)
{
	struct eh_frame_hdr *entries;
	uint64_t vaddr;
	bool is_found;

	if (!find_layout(read_version(file, found), &is->facts) || eh_frame_hdr_new(file, &entries))
		return false;
	is_found = !eh_frame_hdr_load(entries) && find_eval(file, entries, is, &vaddr);
	eh_frame_hdr_free(entries);
	return is_found &&
	       (find_distance(file, &found->context, &is->facts.ruby) ||
		find_words(file, found->reader.st_value, vaddr - is->facts.eval, &is->facts.ruby));
}

bool ruby_find(const struct elf_file *file, struct runtime_interpreter *ret_interpreter)
{
	struct runtime_interpreter is = {0};
	struct found found = {0};

	if (elf_file_is_32bit(file) || !find_symbols(file, &found))
		return false;
	if (!find_facts(file, &found, &is))
		is = (struct runtime_interpreter){.facts = {.form = STACKD_INTERPRETER_NONE,
							    .version = UNREAD,
							    .language = STACKD_RUNTIME_RUBY}};
	*ret_interpreter = is;
	return true;
}
