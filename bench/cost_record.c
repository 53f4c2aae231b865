/* SPDX-License-Identifier: MIT */
/*
 * Prints the stacks in a file of `perf record --call-graph dwarf -d`: what bench/cost.py makes
 * recorded stacks of (cost_stacks.h). Each is walked by the kernel half's own step (bpf/walk.h) and
 * the recipes that stackd compiles of the files. Lines:
 *
 *   table FILE RULES PATH                                the first time that a file is met
 *   sample TID CHANGES MAPPINGS                          CHANGES: of mappings so far
 *   frame FILE START SIZE AT OFFSET EXACT BYTES FROM TO CHUNK ROWS NUMBER RULE...
 *   end TID COMPLETE                                     0: the walk did not come to the root
 *
 * with the leaf's frame first; AT is where in the file the mapping begins.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perf/perfdata.h"
#include "recipe_file.h"
#include "walk.h"

#define MAPS	  65536
#define FILES	  1024
#define MOST	  1000 /* frames */
#define END_BYTES 16   /* of the outermost frame, whose CFA is nowhere */

struct map {
	uint32_t pid;
	uint64_t start, size, offset;
	int file; /* -1: no code of a file */
	bool is_file;
};

static struct map maps[MAPS];
static size_t n_maps;
static uint64_t n_changes[65536]; /* of a process's mappings; by the low bits of its number */

static struct {
	char *path;
	struct recipe_file recipes;
	bool is_good;
} files[FILES];
static int n_files;

static const struct perfdata_sample *sample; /* whose stack walks read */
static uint64_t stack_at;

static void die(const char *what)
{
	fprintf(stderr, "cost_record: %s\n", what);
	exit(1);
}

static int walk_read(struct walk *w, __u64 address, __u64 *ret_word)
{
	uint64_t offset = address - stack_at;

	(void)w;
	if (sample->stack_bytes < 8 || offset > sample->stack_bytes - 8)
		return 1;
	memcpy(ret_word, sample->stack + offset, sizeof(*ret_word));
	return 0;
}

/* --- files and mappings --------------------------------------------------------------------- */

/* The number of a file, whose recipes are compiled when it is first met. */
static int file_of(const char *path)
{
	int i = 0;
	size_t rules;

	while (i < n_files && strcmp(files[i].path, path) != 0)
		i++;
	if (i < n_files)
		return i;
	if (n_files == FILES)
		die("too many files");
	files[n_files].path = strdup(path);
	if (!files[n_files].path)
		die("no memory");
	if (recipe_file_open(path, &files[i].recipes) == 0 &&
	    recipe_compile(files[i].recipes.elf, &files[i].recipes.table) == 0) {
		files[i].is_good = true;
		recipe_table_rules(files[i].recipes.table, &rules);
		printf("table %d %zu %s\n", i, rules, path);
	}
	return n_files++;
}

static void drop_maps(uint32_t pid, uint64_t start, uint64_t size)
{
	size_t kept = 0;

	for (size_t i = 0; i < n_maps; i++) {
		const struct map *m = &maps[i];

		if (m->pid != pid || m->start < start || m->start + m->size > start + size)
			maps[kept++] = *m;
	}
	n_maps = kept;
}

static void add_map(const struct map *map)
{
	drop_maps(map->pid, map->start, map->size);
	if (n_maps == MAPS)
		die("too many mappings");
	maps[n_maps++] = *map;
	n_changes[map->pid & 0xffff]++;
}

static void take_mmap(const struct perfdata_record *r)
{
	const struct perfdata_mmap *m = &r->mmap;
	bool is_file = m->path[0] == '/' && m->path[1] != '/';
	struct map map = {.pid = r->pid,
			  .start = m->start,
			  .size = m->len,
			  .offset = m->offset,
			  .file = -1,
			  .is_file = is_file};

	if (m->mode == PERFDATA_MODE_KERNEL || r->pid == UINT32_MAX)
		return;
	if (is_file && m->is_code)
		map.file = file_of(m->path);
	add_map(&map);
}

static void take_fork(const struct perfdata_record *r)
{
	if (r->pid == r->task.parent_pid)
		return;
	drop_maps(r->pid, 0, UINT64_MAX);
	for (size_t i = 0, n = n_maps; i < n; i++) {
		struct map map = maps[i];

		if (map.pid != r->task.parent_pid)
			continue;
		map.pid = r->pid;
		if (n_maps == MAPS)
			die("too many mappings");
		maps[n_maps++] = map;
	}
}

/* The mapped code that holds an address, or NULL. The latest mapping counts. */
static const struct map *map_of(uint32_t pid, uint64_t address)
{
	for (size_t i = n_maps; i--;) {
		if (maps[i].pid == pid && address - maps[i].start < maps[i].size)
			return maps[i].file >= 0 && files[maps[i].file].is_good ? &maps[i] : NULL;
	}
	return NULL;
}

static unsigned count_maps(uint32_t pid)
{
	unsigned n = 4; /* heap, stack, vDSO and its data */

	for (size_t i = 0; i < n_maps; i++)
		n += maps[i].pid == pid && maps[i].is_file;
	return n;
}

/* --- walks ---------------------------------------------------------------------------------- */

/* A row of a table: what is printed of it. */
struct found {
	uint32_t chunk, rows, number;
	uint64_t from, to;
	struct stackd_rule rule;
};

static bool find_rule(const struct recipe_table *table, uint64_t offset, struct found *ret)
{
	uint32_t first_chunk, chunk = (uint32_t)(offset >> STACKD_CHUNK_SHIFT);
	size_t count, n_rules, n_rows;
	const uint32_t *chunks = recipe_table_chunks(table, &first_chunk, &count);
	const struct stackd_rule *rules = recipe_table_rules(table, &n_rules);
	const struct stackd_row *rows = recipe_table_rows(table, &n_rows);
	uint64_t start = (uint64_t)chunk << STACKD_CHUNK_SHIFT;
	uint32_t low, high, row;

	if (chunk - first_chunk >= count)
		return false;
	low = chunks[chunk - first_chunk];
	high = chunks[chunk - first_chunk + 1];
	for (row = low; row + 1 < high && rows[row + 1].low <= (offset & 0xffff);)
		row++;
	if (low >= high)
		return false;
	ret->chunk = chunk;
	ret->rows = high - low;
	ret->number = rows[row].rule;
	ret->rule = rules[rows[row].rule];
	if (ret->rule.cfa >= STACKD_CFA_EVAL)
		ret->rule.cfa = STACKD_CFA_REG; /* as without managed frames */
	ret->from = start + rows[row].low;
	ret->to = start + (row + 1 < high ? rows[row + 1].low : 1u << STACKD_CHUNK_SHIFT);
	return true;
}

static void print_frame(const struct map *map, uint64_t offset, bool is_exact, uint64_t bytes,
			const struct found *f)
{
	const struct stackd_rule *r = &f->rule;

	printf("frame %d %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %d %" PRIu64 " %" PRIx64
	       " %" PRIx64 " %u %u %u %u %u %d %d %d",
	       map->file, map->start, map->size, map->offset, offset, is_exact, bytes, f->from,
	       f->to, f->chunk, f->rows, f->number, r->cfa, r->reg, r->cfa_add, r->cfa_offset,
	       r->ra_offset);
	for (int i = 0; i < STACKD_SAVED_COUNT; i++)
		printf(" %d", r->saved[i]);
	printf(" %u %u\n", r->saved_reg, r->saved_via_reg);
}

/* One frame: 1: there is a caller; 0: it was the root; -1: the walk ends too early. */
static int walk_frame(struct walk *w, uint32_t pid)
{
	bool is_exact = w->is_exact;
	uint64_t address = w->pc - !is_exact, rsp = w->r[STACKD_REG_SP];
	const struct map *map = map_of(pid, address);
	uint64_t offset = map ? address - map->start + map->offset : 0;
	struct found f;
	int end;

	if (!map || !find_rule(files[map->file].recipes.table, offset, &f))
		return -1;
	if (f.rule.cfa == STACKD_CFA_END) {
		print_frame(map, offset, is_exact, END_BYTES, &f);
		return 0;
	}
	if (f.rule.cfa != STACKD_CFA_REG && f.rule.cfa != STACKD_CFA_DEREF &&
	    f.rule.cfa != STACKD_CFA_PLT)
		return -1;
	end = walk_step(w, &f.rule);
	if (end != WALK_GO_ON)
		return -1;
	print_frame(map, offset, is_exact, w->r[STACKD_REG_SP] - rsp, &f);
	return w->pc != 0;
}

static void take_sample(const struct perfdata_record *r)
{
	struct walk w = {.valid = (1u << WALK_REGS) - 1, .is_exact = 1};
	struct stackd_regs regs;
	int more = 1;

	sample = &r->sample;
	if (!perfdata_user_regs(sample, &regs))
		return;
	memcpy(w.r, regs.r, sizeof(w.r));
	w.pc = regs.r[STACKD_REG_PC];
	stack_at = w.r[STACKD_REG_SP];
	printf("sample %u %" PRIu64 " %u\n", r->tid, n_changes[r->pid & 0xffff],
	       count_maps(r->pid));
	for (int i = 0; i < MOST && more > 0; i++)
		more = walk_frame(&w, r->pid);
	printf("end %u %d\n", r->tid, more == 0);
}

static void take(const struct perfdata_record *r)
{
	if (r->kind == PERFDATA_MMAP)
		take_mmap(r);
	else if (r->kind == PERFDATA_FORK)
		take_fork(r);
	else if (r->kind == PERFDATA_COMM && r->comm.is_exec)
		drop_maps(r->pid, 0, UINT64_MAX);
	else if (r->kind == PERFDATA_SAMPLE)
		take_sample(r);
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1, more;
	struct perfdata *reader;
	struct perfdata_record record;
	char *error = NULL;

	if (argc != 2) {
		fprintf(stderr, "usage: cost_record FILE\n");
		return 2;
	}
	if (fd < 0)
		die(strerror(errno));
	if (perfdata_open(fd, &reader, &error))
		die(error ? error : "no memory");
	while ((more = perfdata_next(reader, &record)) > 0)
		take(&record);
	if (more < 0)
		die(perfdata_error(reader));
	perfdata_free(reader);
	for (int i = 0; i < n_files; i++) {
		recipe_file_close(&files[i].recipes, files[i].path, 0);
		free(files[i].path);
	}
	close(fd);
	return 0;
}
