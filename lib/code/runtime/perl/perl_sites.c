/* SPDX-License-Identifier: MIT */
/*
 * The loop is called through the interpreter's state, since a debugger may have put another one
 * there: by calls of the address in a word at a known offset, from a register. The function that
 * such a call is in tells what the loop runs there:
 *
 *   perl_run()                                the program
 *   another function that is exported         a function, or code, that C code calls
 *   one that is not exported, and
 *     makes a place to which exceptions jump  goes on with what the loop before ran, or computes
 *                                             constants: docatch(), fold_constants()
 *     makes none                              a block: sortcv(), regmatch(), invoke_defer_block()
 *
 * Such a place is made by a store to the interpreter's state.
 */
#include "runtime/perl/perl_sites.h"

#include <stdlib.h>
#include <string.h>

#include "arch/insn.h"
#include "cfi/eh_frame_hdr.h"
#include "elf/elf_symbols.h"

#define FUNCTION_BYTES (64u << 10) /* of a function that is looked at */
#define MOST_BYTES     (8u << 20)  /* of all those that may call the loop */
#define MOST_READ      (64u << 20) /* of all functions; libperl has 3 MiB of code */

struct site {
	int32_t at;
	enum stackd_perl_site kind;
};

struct search {
	const struct elf_file *file;
	struct eh_frame_hdr *entries;
	struct insn_decoder decoder;
	uint64_t vaddr;
	uint16_t loop, handlers;
	uint8_t *code;
	struct site sites[STACKD_PERL_SITES];
	size_t n;
	bool is_full;	     /* there are too many, or they are too long */
	uint64_t bytes_left; /* of functions that may call the loop */
	uint64_t read_left;  /* of all functions: entries of a file that lies may overlap */
};

/* --- one function ----------------------------------------------------------------------------- */

/* Adds the calls of the loop in a function, whose kind is not known yet. Returns whether the
 * function makes a place to which exceptions jump. */
static bool search_code(struct search *s, uint64_t start, size_t size)
{
	bool makes_place = false;
	struct insn insn;

	for (size_t at = 0; at < size; at += insn.length) {
		if (!insn_decode(&s->decoder, s->code + at, size - at, start + at, &insn) ||
		    !insn.length)
			break;
		makes_place |= insn.op == INSN_STORE && insn.disp == s->handlers;
		if (insn.idiom != INSN_FIELD || insn.disp != s->loop)
			continue;
		s->is_full |= s->n == STACKD_PERL_SITES;
		if (!s->is_full)
			s->sites[s->n++].at = (int32_t)(start + at + insn.length - s->vaddr);
	}
	return makes_place;
}

/* Returns whether code has the offset of the loop, as most of it has not. */
static bool may_call(const struct search *s, size_t size)
{
	const uint8_t bytes[] = {(uint8_t)s->loop, (uint8_t)(s->loop >> 8), 0, 0};

	return memmem(s->code, size, bytes, sizeof(bytes));
}

static void search_function(struct search *s, const struct eh_frame_hdr_row *row)
{
	uint32_t bytes = eh_frame_hdr_code_bytes(s->entries, row);
	const size_t before = s->n;
	enum stackd_perl_site kind;
	uint64_t offset;

	if (!bytes || bytes > FUNCTION_BYTES || bytes > s->bytes_left ||
	    !elf_file_vaddr_to_offset(s->file, row->start, &offset))
		return;
	s->is_full |= bytes > s->read_left;
	if (s->is_full)
		return;
	s->read_left -= bytes;
	if (!elf_file_read_whole(s->file, offset, s->code, bytes) || !may_call(s, bytes))
		return;
	s->bytes_left -= bytes;
	kind = search_code(s, row->start, bytes) ? STACKD_PERL_SCOPE : STACKD_PERL_BLOCK;
	for (size_t i = before; i < s->n; i++)
		s->sites[i].kind = kind;
}

/* --- all -------------------------------------------------------------------------------------- */

/* Corrects the kinds of calls in a function that is exported. */
static void take_symbol(void *arg, const char *name, const GElf_Sym *symbol)
{
	struct search *s = arg;

	if (GELF_ST_TYPE(symbol->st_info) != STT_FUNC)
		return;
	for (size_t i = 0; i < s->n; i++) {
		uint64_t at = s->vaddr + (uint64_t)(int64_t)s->sites[i].at;

		if (at - symbol->st_value <= symbol->st_size && at != symbol->st_value)
			s->sites[i].kind =
				strcmp(name, "perl_run") ? STACKD_PERL_CALL : STACKD_PERL_RUN;
	}
}

/* Puts them in the order of their kinds. Returns whether functions can be called, and programs
 * run. */
static bool take_sites(const struct search *s, struct stackd_perl *perl)
{
	size_t n = 0;

	for (unsigned kind = 0; kind < STACKD_PERL_SITE_KINDS; kind++) {
		for (size_t i = 0; i < s->n; i++) {
			if (s->sites[i].kind == kind)
				perl->sites[n++] = s->sites[i].at;
		}
		perl->ends[kind] = (uint8_t)n;
	}
	return perl->ends[STACKD_PERL_CALL] &&
	       perl->ends[STACKD_PERL_RUN] > perl->ends[STACKD_PERL_SCOPE];
}

bool perl_sites_find(const struct elf_file *file, uint64_t vaddr, uint16_t loop, uint16_t handlers,
		     struct stackd_perl *perl)
{
	struct search s = {.file = file,
			   .vaddr = vaddr,
			   .loop = loop,
			   .handlers = handlers,
			   .code = malloc(FUNCTION_BYTES),
			   .bytes_left = MOST_BYTES,
			   .read_left = MOST_READ};
	struct eh_frame_hdr_row row;

	insn_decoder_init(&s.decoder);
	if (s.code && !eh_frame_hdr_new(file, &s.entries)) {
		(void)eh_frame_hdr_load(s.entries);
		for (size_t i = 0; eh_frame_hdr_row(s.entries, i, &row) && !s.is_full; i++)
			search_function(&s, &row);
		elf_symbols_each(file, SHT_DYNSYM, take_symbol, &s);
	}
	eh_frame_hdr_free(s.entries);
	free(s.code);
	return !s.is_full && take_sites(&s, perl);
}
