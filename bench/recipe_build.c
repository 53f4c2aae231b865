/* SPDX-License-Identifier: MIT */
/*
 * Builds the recipes of each file given on the command line, and prints their cost:
 * milliseconds of CPU, rows, bytes, and refused entries. The last line has the number of different
 * rules of all files together: the kernel holds one array of rules for all.
 *
 * "B/row" is the table without its rules (rows and chunk index) over the rows that the file's
 * call frame information states: what a table without any merging would have to hold. "+rules"
 * counts the file's own rules as well, as if no other file shared them.
 */
#include <stdlib.h>
#include <time.h>

#include "recipe_file.h"
#include "unwind/recipe_rules.h"

static double cpu_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void print_refused(const struct recipe_stats *stats)
{
	for (int i = 0; i < RECIPE_REFUSED_COUNT; i++) {
		if (stats->refused[i])
			printf("    refused: %s, %llu %ss\n", recipe_refusal_name(i),
			       (unsigned long long)stats->refused[i], recipe_refusal_unit(i));
	}
}

static void print_table(const char *path, const struct recipe_table *table, double open_ms,
			double ms)
{
	const struct recipe_stats *stats = recipe_table_stats(table);
	size_t rows, chunks, rules, bytes;
	uint32_t first;
	double cfi_rows = stats->cfi_rows ? (double)stats->cfi_rows : 1;

	recipe_table_rows(table, &rows);
	recipe_table_chunks(table, &first, &chunks);
	recipe_table_rules(table, &rules);
	bytes = rows * sizeof(struct stackd_row) + (chunks + 1) * sizeof(uint32_t);
	printf("%-32.32s %7.1f %7.1f %8llu %9llu %8zu %6zu %9zu %6.2f %6.2f\n", path, open_ms, ms,
	       (unsigned long long)stats->fdes, (unsigned long long)stats->cfi_rows, rows, rules,
	       bytes, (double)bytes / cfi_rows,
	       (double)(bytes + rules * sizeof(struct stackd_rule)) / cfi_rows);
	print_refused(stats);
}

static int share_rules(struct recipe_rules *all, const struct recipe_table *table)
{
	size_t count;
	struct stackd_row *rows;
	uint64_t refused = 0;
	int err;

	recipe_table_rows(table, &count);
	rows = calloc(count + 1, sizeof(*rows));
	err = rows ? recipe_rules_remap(all, table, RECIPE_MAX_RULES, rows, &refused) : -ENOMEM;
	if (refused)
		printf("    %llu rows found no room among the shared rules\n",
		       (unsigned long long)refused);
	free(rows);
	return err;
}

static int build(const char *path, struct recipe_rules *all)
{
	const char *slash = strrchr(path, '/');
	struct recipe_file f;
	double start = cpu_ms(), opened;
	int err = recipe_file_open(path, &f);

	opened = cpu_ms();
	if (!err)
		err = recipe_compile(f.elf, &f.table);
	if (!err) {
		print_table(slash ? slash + 1 : path, f.table, opened - start, cpu_ms() - opened);
		err = share_rules(all, f.table);
	}
	return recipe_file_close(&f, path, err);
}

int main(int argc, char **argv)
{
	struct recipe_rules *all;
	size_t count;
	int failed = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: recipe_build FILE...\n");
		return 2;
	}
	if (recipe_rules_new(&all))
		return 1;
	printf("%-32s %7s %7s %8s %9s %8s %6s %9s %6s %6s\n", "file", "open ms", "ms", "FDEs",
	       "CFI rows", "rows", "rules", "bytes", "B/row", "+rules");
	for (int i = 1; i < argc; i++)
		failed |= build(argv[i], all) != 0;
	recipe_rules_array(all, &count);
	printf("rules shared by all: %zu\n", count);
	recipe_rules_free(all);
	return failed;
}
