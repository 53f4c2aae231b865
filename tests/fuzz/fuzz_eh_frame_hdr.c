/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: the linker's search table of call frame information, and all that is read by it: the
 * one entry that it leads to, indexed and made a rule, the bounds of functions, their starts as the
 * check of callers reads them, and whether they return.
 *
 *   input := u64 vaddr of the index, u64 vaddr that is asked for first     little-endian
 *            the bytes from the index to the end of its program header
 *
 * They are put into a file of one program header. Beyond memory errors, it checks that look-ups in
 * the file and in memory agree with the rows, and that bounds contain the address that they are of.
 */
#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "callflow/callflow_noreturn.h"
#include "callflow/callflow_starts.h"
#include "cfi/eh_frame_hdr.h"
#include "sym/unwind_bounds.h"
#include "cfi/cfi_single.h"
#include "cfi/cfi_index.h"
#include "unwind/walk_rule.h"

#define HEADER_BYTES 16
#define MAX_ASKED    24 /* rows of an input, first and last ones among them */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz {
	struct elf_file *file;
	struct eh_frame_hdr *hdr, *loaded;
	struct unwind_bounds *bounds;
	struct callflow_starts *starts;
};

static void fuzz_check(bool holds)
{
	if (!holds)
		abort();
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

/* --- the file ----------------------------------------------------------------------------------
 */

static int open_around(uint64_t vaddr, const uint8_t *bytes, size_t len, struct elf_file **ret_file)
{
	struct {
		Elf64_Ehdr ehdr;
		Elf64_Phdr phdr[2];
	} head = {
		.ehdr = {.e_ident = ELFMAG "\2\1\1",
			 .e_type = ET_DYN,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof(head.ehdr),
			 .e_phentsize = sizeof(head.phdr[0]),
			 .e_phnum = 2},
		.phdr[0] = {.p_type = PT_LOAD,
			    .p_offset = sizeof(head),
			    .p_vaddr = vaddr,
			    .p_filesz = len,
			    .p_memsz = len},
		.phdr[1] = {.p_type = PT_GNU_EH_FRAME, .p_vaddr = vaddr},
	};
	uint8_t *image = malloc(sizeof(head) + len);
	int err;

	fuzz_check(image != NULL);
	memcpy(image, &head, sizeof(head));
	memcpy(image + sizeof(head), bytes, len);
	err = elf_file_open_memory(image, sizeof(head) + len, ret_file);
	free(image);
	return err;
}

/* --- promises ----------------------------------------------------------------------------------
 */

static void check_rank(const struct fuzz *f, uint64_t vaddr)
{
	size_t count = eh_frame_hdr_count(f->hdr), rank = eh_frame_hdr_rank(f->hdr, vaddr);
	struct eh_frame_hdr_row row;

	fuzz_check(rank <= count && rank == eh_frame_hdr_rank(f->loaded, vaddr));
	if (rank)
		fuzz_check(eh_frame_hdr_row(f->hdr, rank - 1, &row) && row.start <= vaddr);
	if (rank < count)
		fuzz_check(eh_frame_hdr_row(f->hdr, rank, &row) && row.start > vaddr);
}

static void check_row(const struct fuzz *f, size_t i, struct eh_frame_hdr_row *ret_row)
{
	struct eh_frame_hdr_row loaded;

	fuzz_check(eh_frame_hdr_row(f->hdr, i, ret_row) && eh_frame_hdr_row(f->loaded, i, &loaded));
	fuzz_check(ret_row->start == loaded.start && ret_row->entry == loaded.entry);
}

static void check_bounds(const struct fuzz *f, uint64_t vaddr)
{
	uint64_t start = unwind_bounds_start(f->bounds, vaddr);
	uint64_t end = unwind_bounds_end(f->bounds, vaddr);

	fuzz_check(start <= vaddr && (end > vaddr || end == UINT64_MAX));
}

static void check_bounds_at(const struct fuzz *f, size_t i)
{
	uint64_t start, end;

	if (unwind_bounds_at(f->bounds, i, &start, &end))
		fuzz_check(start < end);
}

/* Checks what cfi_single.h promises: a complete CIE, and an entry that points back to it. */
static void check_entry(const struct fuzz *f, uint64_t vaddr)
{
	const struct cfi_section *section;
	struct cfi_sections sections;
	uint32_t cie, entry, distance;

	if (cfi_single_read(f->file, vaddr, &sections))
		return;
	section = &sections.items[0];
	fuzz_check(sections.count == 1 && section->size >= 24);
	memcpy(&cie, section->data, 4);
	fuzz_check(cie <= section->size - 16);
	memcpy(&entry, section->data + 4 + cie, 4);
	memcpy(&distance, section->data + 8 + cie, 4);
	fuzz_check(section->size == (size_t)cie + entry + 8 && distance == cie + 8);
	cfi_section_release(&sections);
}

static void check_rule(const struct fuzz *f, uint64_t vaddr)
{
	uint64_t start, end, again, end_again;
	struct cfi_index *index;
	struct walk_rule rule;

	if (cfi_index_new_at(f->file, vaddr, &index))
		return;
	fuzz_check(cfi_index_count(index) == 1);
	cfi_index_range(index, 0, &start, &end);
	fuzz_check(start < end);
	fuzz_check(cfi_index_find(index, vaddr, &again, &end_again) ==
		   (vaddr >= start && vaddr < end));
	if (!walk_rule_compile(index, vaddr, &rule))
		walk_rule_free(&rule);
	cfi_index_free(index);
}

/* Of a table that is not in order, the start need not be the right one, but is before the code. */
static void check_starts(const struct fuzz *f, uint64_t vaddr)
{
	uint64_t start, offset;
	int err;

	do
		err = callflow_starts_find(f->starts, f->file, vaddr, &start);
	while (err == -EAGAIN); /* a long table takes several calls */
	fuzz_check(err ? err == -ENODATA
		       : (int64_t)(start - f->starts->vaddr) <=
				   (int64_t)(vaddr - f->starts->vaddr));
	callflow_starts_may_return(f->starts, f->file, vaddr);
	if (elf_file_vaddr_to_offset(f->file, vaddr, &offset))
		callflow_noreturn_is(f->file, offset);
}

static void ask(const struct fuzz *f, uint64_t vaddr)
{
	check_rank(f, vaddr);
	check_bounds(f, vaddr);
	check_starts(f, vaddr);
	check_entry(f, vaddr);
	check_rule(f, vaddr);
}

static void ask_around_rows(const struct fuzz *f)
{
	size_t count = eh_frame_hdr_count(f->hdr), stride = count / MAX_ASKED + 1;
	struct eh_frame_hdr_row row;

	fuzz_check(count == eh_frame_hdr_count(f->loaded));
	fuzz_check(count == unwind_bounds_count(f->bounds));
	fuzz_check(!eh_frame_hdr_row(f->hdr, count, &row));
	for (size_t i = 0; i < count; i += stride) {
		check_row(f, i, &row);
		check_bounds_at(f, i);
		ask(f, row.start);
		check_rank(f, row.start - 1);
		check_bounds(f, row.start + 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct callflow_starts starts = {0};
	struct fuzz f = {.starts = &starts};

	if (size < HEADER_BYTES ||
	    open_around(get64(data), data + HEADER_BYTES, size - HEADER_BYTES, &f.file))
		return -1;
	fuzz_check(!unwind_bounds_new(f.file, &f.bounds));
	if (!eh_frame_hdr_new(f.file, &f.hdr)) {
		fuzz_check(!eh_frame_hdr_new(f.file, &f.loaded) && !eh_frame_hdr_load(f.loaded));
		ask(&f, get64(data + 8));
		ask_around_rows(&f);
	}
	callflow_starts_fini(&starts);
	eh_frame_hdr_free(f.loaded);
	eh_frame_hdr_free(f.hdr);
	unwind_bounds_free(f.bounds);
	elf_file_free(f.file);
	return 0;
}
