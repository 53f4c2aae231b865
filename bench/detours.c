/* SPDX-License-Identifier: MIT */
/*
 * Lists the detours (unwind/detour.h) of each file given on the command line whose call frame
 * information has a wrong rule: the vaddr, the stated distance of the CFA from the stack pointer,
 * and the right one. The last line of a file has the number of all calls with a jump back right
 * behind them, of those whose two rules differ, and of those that were mended. Exit status 1 if the
 * kernel half's table and single rules differ.
 */
#include "arch/code_form.h"
#include "arch/insn.h"
#include "recipe_file.h"
#include "unwind/detour.h"

struct counts {
	uint64_t all, differ, mended, unequal;
};

struct file {
	struct recipe_file f;
	struct cfi_index *index;
	struct insn_decoder decoder;
	struct counts counts;
};

static int32_t distance_of(const struct stackd_rule *rule)
{
	return rule->cfa == STACKD_CFA_REG && rule->reg == STACKD_REG_SP ? rule->cfa_offset : 0;
}

static void stated_at(const struct file *file, uint64_t vaddr, struct walk_rule *ret)
{
	if (walk_rule_compile(file->index, vaddr, ret))
		exit(2);
}

/* Compares the rules at one byte of a detour; returns the mended distance. */
static int32_t compare(struct file *file, uint64_t vaddr, uint64_t offset, bool is_return)
{
	struct walk_rule rule;
	int32_t distance;

	stated_at(file, vaddr, &rule);
	if (detour_improve(file->f.elf, file->index, vaddr, is_return, &rule))
		exit(2);
	distance = distance_of(&rule.fast);
	if (distance && distance != distance_of(recipe_lookup(file->f.table, offset))) {
		printf("    %llx: the table has %d, not %d\n", (unsigned long long)vaddr,
		       distance_of(recipe_lookup(file->f.table, offset)), distance);
		file->counts.unequal++;
	}
	walk_rule_free(&rule);
	return distance;
}

static void look_at_call(struct file *file, const uint8_t *code, size_t size, size_t at,
			 uint64_t start, uint64_t offset)
{
	const size_t jump = at + CODE_FORM_CALL;
	struct walk_rule here, there;
	struct insn insn;
	int32_t stated, mended;

	if (jump >= size ||
	    !insn_decode(&file->decoder, code + jump, size - jump, start + jump, &insn) ||
	    insn.flow != INSN_JUMP || insn.target < start || insn.target >= start + at)
		return;
	stated_at(file, start + at, &here);
	stated_at(file, insn.target, &there);
	stated = distance_of(&here.fast);
	file->counts.all++;
	if (stated && distance_of(&there.fast) && stated != distance_of(&there.fast)) {
		file->counts.differ++;
		mended = compare(file, start + at, offset + at, false);
		file->counts.mended += mended != stated;
		printf("    %llx: %d, %d at %llx: %s\n", (unsigned long long)(start + at), stated,
		       distance_of(&there.fast), (unsigned long long)insn.target,
		       mended != stated ? "mended" : "left");
		compare(file, start + jump - 1, offset + jump - 1, true);
		compare(file, start + jump, offset + jump, false);
	}
	walk_rule_free(&here);
	walk_rule_free(&there);
}

static void look_at_function(struct file *file, uint64_t start, uint64_t end)
{
	uint64_t offset;
	uint8_t *code = malloc(end - start);

	if (code && elf_file_vaddr_to_offset(file->f.elf, start, &offset) &&
	    elf_file_read_whole(file->f.elf, offset, code, end - start)) {
		struct insn insn;

		for (size_t at = 0; at < end - start; at += insn.length) {
			if (!insn_decode(&file->decoder, code + at, end - start - at, start + at,
					 &insn))
				break;
			if (insn.flow == INSN_CALL && insn.length == CODE_FORM_CALL)
				look_at_call(file, code, end - start, at, start, offset);
		}
	}
	free(code);
}

static int look_at_file(const char *path, struct counts *ret)
{
	struct file file = {.counts = {0}};
	int err = recipe_file_open(path, &file.f);
	uint64_t start, end;

	insn_decoder_init(&file.decoder);
	if (!err)
		err = recipe_compile(file.f.elf, &file.f.table);
	if (!err)
		err = cfi_index_new(file.f.elf, &file.index);
	for (size_t i = 0; !err && i < cfi_index_count(file.index); i++) {
		cfi_index_range(file.index, i, &start, &end);
		look_at_function(&file, start, end);
	}
	if (!err)
		printf("%s: %llu calls with a jump back, %llu differ, %llu mended\n", path,
		       (unsigned long long)file.counts.all, (unsigned long long)file.counts.differ,
		       (unsigned long long)file.counts.mended);
	*ret = file.counts;
	cfi_index_free(file.index);
	return recipe_file_close(&file.f, path, err);
}

int main(int argc, char **argv)
{
	struct counts counts;
	int failed = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: detours FILE...\n");
		return 2;
	}
	for (int i = 1; i < argc; i++)
		failed |= look_at_file(argv[i], &counts) || counts.unequal;
	return failed;
}
