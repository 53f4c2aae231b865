/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: the analysis of code.
 *
 *   input := u64 vaddr                    little-endian; of the first byte of code, times 65536
 *            u8 flags: 1 a gap in the middle, 2 position-dependent
 *            code, which is the data of its jump tables, too
 *
 * Beyond memory errors and time, it checks that rows are in order, within the ranges, and end with
 * them, and that their rules are ones that the kernel half knows.
 */
#include <elf.h>
#include <endian.h>

#include "analysis/analysis.h"
#include "fuzz_table.h"

#define HEADER_BYTES 9
#define GAP_BYTES    64
#define CODE_OFFSET  0x1000

struct fuzz {
	uint64_t start, end; /* file offsets */
	uint64_t last;
	bool has_rule;
};

/* A file of nothing but code. */
static uint8_t *make_file(uint64_t vaddr, bool is_fixed, const uint8_t *code, size_t size)
{
	Elf64_Ehdr header = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = is_fixed ? ET_EXEC : ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_entry = vaddr + size / 2,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
	};
	Elf64_Phdr load = {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = CODE_OFFSET,
		.p_vaddr = vaddr,
		.p_filesz = size,
		.p_memsz = size,
	};
	uint8_t *bytes = calloc(1, CODE_OFFSET + size);

	if (!bytes)
		return NULL;
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), &load, sizeof(load));
	memcpy(bytes + CODE_OFFSET, code, size);
	return bytes;
}

static int take_row(void *arg, uint64_t offset, const struct stackd_rule *rule)
{
	struct fuzz *f = arg;

	fuzz_check(offset >= f->last && offset >= f->start && offset <= f->end);
	fuzz_check(offset < f->end || rule->cfa == STACKD_CFA_NONE);
	fuzz_check_rule(rule);
	f->last = offset;
	f->has_rule = rule->cfa != STACKD_CFA_NONE;
	return 0;
}

static void analyse(const struct elf_file *elf, uint64_t vaddr, uint64_t size, bool has_gap)
{
	uint64_t middle = vaddr + size / 2, called[] = {vaddr, middle + GAP_BYTES + 1, 0};
	struct analysis_range ranges[] = {{vaddr, has_gap ? middle : vaddr + size, true},
					  {middle + GAP_BYTES, vaddr + size, false}};
	struct analysis_input in = {
		.elf = elf,
		.ranges = ranges,
		.range_count = has_gap ? 2 : 1,
		.called = called,
		.called_count = sizeof(called) / sizeof(*called),
		.has_starts = true,
	};
	struct fuzz f = {CODE_OFFSET, CODE_OFFSET + size, 0, false};
	struct analysis_stats stats;

	fuzz_check(!analysis_run(&in, take_row, &f, &stats));
	fuzz_check(!f.has_rule && !stats.left_out && stats.instructions <= size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file *elf;
	uint64_t vaddr;
	uint8_t *bytes;

	if (size < HEADER_BYTES + 4 * GAP_BYTES)
		return -1;
	memcpy(&vaddr, data, sizeof(vaddr));
	vaddr = le64toh(vaddr) >> 16;
	size -= HEADER_BYTES;
	bytes = make_file(vaddr, data[8] & 2, data + HEADER_BYTES, size);
	if (bytes && !elf_file_open_memory(bytes, CODE_OFFSET + size, &elf)) {
		analyse(elf, vaddr, size, data[8] & 1);
		elf_file_free(elf);
	}
	free(bytes);
	return 0;
}
