/* SPDX-License-Identifier: MIT */
/*
 * Compares the recipes of each file given on the command line with libdw, address by address, and
 * prints the agreement in % and each kind of disagreement with its first address.
 * tests/unit/recipe_judge.h describes the comparison. Exit status 1 if any recipe is wrong.
 */
#include "recipe_file.h"
#include "recipe_judge.h"

struct totals {
	uint64_t files, counts[JUDGE_COUNT], total, wrong;
};

static double percent(uint64_t part, uint64_t total)
{
	return total ? 100.0 * (double)part / (double)total : 100.0;
}

static void print_judged(const char *path, const struct judge *j)
{
	printf("%9.5f %% of %9llu  %s\n", percent(j->counts[JUDGE_AGREE], judge_total(j)),
	       (unsigned long long)judge_total(j), path);
	for (int i = JUDGE_AGREE + 1; i < JUDGE_COUNT; i++) {
		if (j->counts[i])
			printf("    %9llu %s, first at 0x%llx\n", (unsigned long long)j->counts[i],
			       judge_kind_name(i), (unsigned long long)j->first[i]);
	}
	fflush(stdout);
}

static int judge_path(const char *path, struct totals *totals)
{
	struct recipe_file f;
	struct judge j;
	int err = recipe_file_open(path, &f);

	if (!err)
		err = recipe_compile_cfi(f.elf, &f.table);
	if (!err) {
		judge_file(&j, f.elf, f.table);
		print_judged(path, &j);
		totals->files++;
		totals->total += judge_total(&j);
		totals->wrong += judge_wrong(&j);
		for (int i = 0; i < JUDGE_COUNT; i++)
			totals->counts[i] += j.counts[i];
	}
	return recipe_file_close(&f, path, err);
}

int main(int argc, char **argv)
{
	struct totals totals = {0};
	int failed = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: recipe_agree FILE...\n");
		return 2;
	}
	for (int i = 1; i < argc; i++)
		failed |= judge_path(argv[i], &totals) != 0;
	printf("%llu files, %llu addresses, %llu wrong\n", (unsigned long long)totals.files,
	       (unsigned long long)totals.total, (unsigned long long)totals.wrong);
	for (int i = 0; i < JUDGE_COUNT; i++)
		printf("%9.5f %%  %s\n", percent(totals.counts[i], totals.total),
		       judge_kind_name(i));
	return failed || totals.wrong;
}
