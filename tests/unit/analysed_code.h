/* SPDX-License-Identifier: MIT */
/* The rules that the analysis gives a range of a file's code, for the tests that ask for them. */
#ifndef TESTS_ANALYSED_CODE_H
#define TESTS_ANALYSED_CODE_H

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "base/vec.h"

struct row {
	uint64_t offset;
	struct stackd_rule rule;
};

struct rules {
	struct elf_file *elf;
	VEC(struct row) rows;
};

static inline int add_row(void *arg, uint64_t offset, const struct stackd_rule *rule)
{
	struct rules *r = arg;

	assert_int_equal(VEC_RESERVE(&r->rows, 1), 0);
	if (r->rows.count)
		assert_true(offset >= r->rows.items[r->rows.count - 1].offset);
	r->rows.items[r->rows.count++] = (struct row){offset, *rule};
	return 0;
}

/* Analyses a range of the file at a path; the caller frees the result with rules_free(). */
static inline struct rules *rules_of(const char *path, struct analysis_range range,
				     struct analysis_stats *ret_stats)
{
	struct rules *r = calloc(1, sizeof(*r));
	struct analysis_input in = {.ranges = &range, .range_count = 1, .has_starts = true};
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (!r)
		abort();
	assert_int_equal(elf_file_open(fd, &r->elf), 0);
	close(fd);
	in.elf = r->elf;
	assert_int_equal(analysis_run(&in, add_row, r, ret_stats), 0);
	return r;
}

static inline void rules_free(struct rules *r)
{
	elf_file_free(r->elf);
	free(r->rows.items);
	free(r);
}

static inline const struct stackd_rule *rule_at(const struct rules *r, uint64_t vaddr)
{
	static const struct stackd_rule none;
	const struct stackd_rule *found = &none;
	uint64_t offset;

	assert_true(elf_file_vaddr_to_offset(r->elf, vaddr, &offset));
	for (size_t i = 0; i < r->rows.count && r->rows.items[i].offset <= offset; i++)
		found = &r->rows.items[i].rule;
	return found;
}

#endif
