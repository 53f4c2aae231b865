/* SPDX-License-Identifier: MIT */
/*
 * Entries in order of address; see cfi_index.h.
 *
 *   sections ─► CIEs, each run once
 *           └─► FDEs ─► ranges, sorted ──find──► entry ─► machine ─► row
 *
 * Instructions are run only for a row that is queried: a walk needs a few rows of a large file.
 */
#include "cfi/cfi_index.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "cfi/cfi_cies.h"
#include "cfi/cfi_machine.h"
#include "cfi/cfi_single.h"

struct entry_range {
	uint64_t start, end; /* vaddr; end is exclusive and above start */
	uint32_t at;	     /* offset of the entry in its section */
	uint32_t section;
};

struct cfi_index {
	struct cfi_sections sections; /* owned, as all below */
	struct cfi_cies cies[2];      /* by section */
	VEC(struct entry_range) ranges;
};

/* --- ranges -------------------------------------------------------------------------------- */

static enum cfi_refusal read_fde(const struct cfi_index *index, uint32_t section,
				 const struct cfi_entry *entry, const struct cfi_cie **ret_cie,
				 struct cfi_fde *ret_fde)
{
	*ret_cie = cfi_cies_find(&index->cies[section], entry->cie_at);
	if (!*ret_cie)
		return CFI_REFUSED_FDE_CIE;
	return cfi_entry_read_fde(&index->sections.items[section], entry, *ret_cie, ret_fde);
}

/* Returns whether an FDE is to be indexed. An FDE whose start is 0 belongs to a function that the
 * linker has discarded. */
static bool is_useful(const struct cfi_fde *fde)
{
	return fde->start && cfi_reader_left(&fde->instructions) <= CFI_INDEX_MAX_PROGRAM_BYTES;
}

static int add_fdes(struct cfi_index *index, uint32_t section)
{
	const struct cfi_cie *cie;
	enum cfi_refusal refused;
	struct cfi_entry entry;
	struct cfi_fde fde;
	uint64_t at = 0;

	while (cfi_entry_next(&index->sections.items[section], &at, &entry, &refused) &&
	       index->ranges.count < CFI_INDEX_MAX_FDES) {
		if (entry.is_cie || read_fde(index, section, &entry, &cie, &fde) != CFI_ACCEPTED ||
		    !is_useful(&fde))
			continue;
		if (VEC_RESERVE(&index->ranges, 1))
			return -ENOMEM;
		index->ranges.items[index->ranges.count++] =
			(struct entry_range){fde.start, fde.end, (uint32_t)entry.at, section};
	}
	return 0;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct entry_range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Sorts the ranges, and drops those that lose to another range (see cfi_index.h). */
static void choose(struct cfi_index *index)
{
	struct entry_range *ranges = index->ranges.items;
	size_t kept = 0;
	uint64_t eh_end = 0; /* the highest end of the entries of .eh_frame so far */

	qsort(ranges, index->ranges.count, sizeof(*ranges), compare_ranges);
	for (size_t i = 0; i < index->ranges.count; i++) {
		bool is_eh_frame = index->sections.items[ranges[i].section].is_eh_frame;

		if (kept && ranges[kept - 1].start == ranges[i].start)
			continue;
		if (!is_eh_frame && ranges[i].start < eh_end)
			continue;
		if (is_eh_frame && ranges[i].end > eh_end)
			eh_end = ranges[i].end;
		ranges[kept++] = ranges[i];
	}
	index->ranges.count = kept;
}

/* --- the index ----------------------------------------------------------------------------- */

static int fill(struct cfi_index *index)
{
	enum cfi_refusal refused;
	int err = 0;

	for (uint32_t i = 0; !err && i < index->sections.count; i++) {
		err = cfi_cies_read(&index->sections.items[i], &index->cies[i], &refused);
		if (!err)
			err = add_fdes(index, i);
	}
	if (err)
		return err;
	if (!index->ranges.count)
		return -ENODATA;
	choose(index);
	return 0;
}

int cfi_index_of_sections(struct cfi_sections *sections, struct cfi_index **ret_index)
{
	struct cfi_index *index = calloc(1, sizeof(*index));
	int err;

	if (!index) {
		cfi_section_release(sections);
		return -ENOMEM;
	}
	index->sections = *sections;
	*sections = (struct cfi_sections){0};
	err = fill(index);
	if (err)
		cfi_index_free(index);
	else
		*ret_index = index;
	return err;
}

int cfi_index_new(const struct elf_file *file, struct cfi_index **ret_index)
{
	struct cfi_sections sections;
	int err = cfi_section_read(file, &sections);

	return err ? err : cfi_index_of_sections(&sections, ret_index);
}

int cfi_index_new_at(const struct elf_file *file, uint64_t vaddr, struct cfi_index **ret_index)
{
	struct cfi_sections sections;
	struct cfi_index *index;
	uint64_t start, end;
	int err = cfi_single_read(file, vaddr, &sections);

	if (!err)
		err = cfi_index_of_sections(&sections, &index);
	if (err)
		return err;
	if (!cfi_index_find(index, vaddr, &start, &end) && cfi_section_has_debug_frame(file)) {
		cfi_index_free(index);
		return -ENODATA;
	}
	*ret_index = index;
	return 0;
}

void cfi_index_free(struct cfi_index *index)
{
	if (!index)
		return;
	for (int i = 0; i < 2; i++)
		cfi_cies_free(&index->cies[i]);
	cfi_section_release(&index->sections);
	free(index->ranges.items);
	free(index);
}

/* --- queries ------------------------------------------------------------------------------- */

static const struct entry_range *find(const struct cfi_index *index, uint64_t vaddr)
{
	const struct entry_range *ranges = index->ranges.items;
	size_t low = 0, high = index->ranges.count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (ranges[mid].start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	return low && vaddr < ranges[low - 1].end ? &ranges[low - 1] : NULL;
}

bool cfi_index_find(const struct cfi_index *index, uint64_t vaddr, uint64_t *ret_start,
		    uint64_t *ret_end)
{
	const struct entry_range *range = find(index, vaddr);

	if (!range)
		return false;
	*ret_start = range->start;
	*ret_end = range->end;
	return true;
}

/* The rows of one entry. */
struct rows {
	const struct cfi_section *section;
	const struct cfi_cie *cie;
	struct cfi_fde fde;
	struct cfi_machine machine;
};

/* Prepares to step through the rows of the entry that covers `vaddr`; false: none does. */
static bool start_rows(const struct cfi_index *index, uint64_t vaddr, struct rows *rows)
{
	const struct entry_range *range = find(index, vaddr);
	enum cfi_refusal refused;
	struct cfi_entry entry;
	uint64_t at;

	if (!range)
		return false;
	rows->section = &index->sections.items[range->section];
	at = range->at;
	if (!cfi_entry_next(rows->section, &at, &entry, &refused) ||
	    read_fde(index, range->section, &entry, &rows->cie, &rows->fde) != CFI_ACCEPTED)
		return false;
	cfi_machine_start(&rows->machine, rows->section, rows->cie, &rows->fde);
	return true;
}

static struct cfi_row row_of(const struct rows *rows, uint64_t start, uint64_t end)
{
	return (struct cfi_row){
		.start = start,
		.end = end,
		.state = rows->machine.state,
		.refused = rows->machine.refused,
		.is_signal_frame = rows->cie->is_signal_frame,
		.section = rows->section,
	};
}

bool cfi_index_row(const struct cfi_index *index, uint64_t vaddr, struct cfi_row *ret_row)
{
	uint64_t start = 0, end = 0;
	struct rows rows;

	if (!start_rows(index, vaddr, &rows))
		return false;
	while (end <= vaddr && cfi_machine_step(&rows.machine, &start, &end))
		;
	*ret_row = row_of(&rows, start, end);
	return true;
}

void cfi_index_rows(const struct cfi_index *index, uint64_t vaddr,
		    bool (*take)(void *arg, const struct cfi_row *row), void *arg)
{
	struct cfi_row row;
	uint64_t start, end;
	struct rows rows;

	if (!start_rows(index, vaddr, &rows))
		return;
	while (cfi_machine_step(&rows.machine, &start, &end)) {
		row = row_of(&rows, start, end);
		if (!take(arg, &row))
			return;
	}
}

size_t cfi_index_count(const struct cfi_index *index)
{
	return index->ranges.count;
}

void cfi_index_range(const struct cfi_index *index, size_t i, uint64_t *ret_start,
		     uint64_t *ret_end)
{
	*ret_start = index->ranges.items[i].start;
	*ret_end = index->ranges.items[i].end;
}
