/* SPDX-License-Identifier: MIT */
/*
 * Loading tables into the kernel half's arrays, and taking them out: daemon/tables/tables.c, with
 * files in memory for its maps. The source is included, since the test runs it without its thread,
 * so that every order is the test's, and fakes the system calls by which it waits for walks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <elf.h>

/* Replacements of the system calls by which the code under test waits. */
static long fake_syscall(long number, int command, int flags, int cpu);
static int fake_usleep(unsigned int usec);
#define syscall fake_syscall
#define usleep	fake_usleep
#include "daemon/tables/tables.c"
#undef syscall
#undef usleep
#include "daemon/tables/extents.h"
#include "daemon/base/map_window.h"

#include "cfi_asm.h"
#include "unwind/recipe_table.h"

#define FILES  8
#define CHUNKS 64

static struct {
	const struct tables *tables;
	uint32_t rows;	 /* rows that must not be reused while walks end */
	bool is_falling; /* by ten each time */
	bool is_refused;
	int barriers, sleeps;
} waiting;

/* While walks end, no entry refers to the victim's rows, and no other table has them. */
static void check_wait(void)
{
	uint32_t rows = 0;

	for (uint32_t f = 1; f < FILES; f++)
		rows += waiting.tables->maps.files[f].n_chunks != 0;
	assert_true(rows * 10 < waiting.rows);
	assert_int_equal(extents_used(waiting.tables->rows), waiting.rows);
	waiting.rows -= waiting.is_falling ? 10 : 0;
}

static long fake_syscall(long number, int command, int flags, int cpu)
{
	assert_int_equal(number, SYS_membarrier);
	assert_int_equal(command, MEMBARRIER_CMD_GLOBAL);
	assert_int_equal(flags, 0);
	assert_int_equal(cpu, 0);
	check_wait();
	waiting.barriers++;
	return waiting.is_refused ? -1 : 0;
}

static int fake_usleep(unsigned int usec)
{
	assert_true(usec > 0);
	check_wait();
	waiting.sleeps++;
	return 0;
}

/* --- tables without a thread ----------------------------------------------------------------- */

static int memory(size_t size)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	return fd;
}

static struct tables *make_tables(uint32_t n_rows)
{
	struct tables *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	t->maps = (struct tables_maps){
		.rows_fd = memory(n_rows * sizeof(struct stackd_row)),
		.n_rows = n_rows,
		.chunks_fd = memory(CHUNKS * sizeof(uint32_t)),
		.n_chunks = CHUNKS,
		.rules = calloc(RECIPE_MAX_RULES, sizeof(struct stackd_rule)),
		.files = calloc(FILES, sizeof(struct stackd_file)),
		.n_files = FILES,
		.inodes_fd = -1,
	};
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->change, NULL);
	t->row_of = calloc(FILES, sizeof(*t->row_of));
	t->uses_before = calloc(FILES, sizeof(*t->uses_before));
	t->rules_of = calloc(FILES, sizeof(*t->rules_of));
	t->provenances = calloc(FILES, sizeof(*t->provenances));
	t->known_as = calloc(FILES, sizeof(*t->known_as));
	assert_true(t->maps.rules && t->maps.files && t->row_of && t->uses_before && t->rules_of &&
		    t->provenances && t->known_as);
	assert_int_equal(recipe_rules_new(&t->rules), 0);
	assert_int_equal(extents_new(n_rows, &t->rows), 0);
	assert_int_equal(extents_new(CHUNKS, &t->chunks), 0);
	load_new_rules(t);
	memset(&waiting, 0, sizeof(waiting));
	waiting.tables = t;
	return t;
}

static void drop_tables(struct tables *t)
{
	close(t->maps.rows_fd);
	close(t->maps.chunks_fd);
	free(t->maps.rules);
	free(t->maps.files);
	tables_free(t);
}

/* --- eviction -------------------------------------------------------------------------------- */

/* Files 1 to `count` with ten rows each, and their uses. */
static void fill(struct tables *t, const uint32_t *uses, uint32_t count)
{
	for (uint32_t f = 1; f <= count; f++) {
		assert_int_equal(extents_take(t->rows, 10, &t->row_of[f]), 0);
		assert_int_equal(extents_take(t->chunks, 2, &t->maps.files[f].chunk_base), 0);
		t->maps.files[f].n_chunks = 1;
		t->maps.files[f].uses = uses[f - 1];
	}
	waiting.rows = 10 * count;
}

static void test_rows_are_given_back_after_a_grace_period(void **state)
{
	struct tables *t = make_tables(20);
	uint32_t first;

	(void)state;
	fill(t, (const uint32_t[]){5, 3}, 2);
	t->may_evict = true;
	assert_int_equal(take_room(t, t->rows, 10, &first), 0);
	assert_int_equal(first, 10);
	assert_int_equal(waiting.barriers, 1);
	assert_int_equal(waiting.sleeps, 0);
	assert_false(is_known(t, 2)); /* it is asked for again when it is missed */
	assert_true(is_known(t, 1));
	drop_tables(t);
}

static void test_time_replaces_grace_period(void **state)
{
	struct tables *t = make_tables(20);
	uint32_t first;

	(void)state;
	fill(t, (const uint32_t[]){3, 5}, 2);
	t->may_evict = true;
	waiting.is_refused = true;
	assert_int_equal(take_room(t, t->rows, 10, &first), 0);
	assert_int_equal(first, 0);
	assert_int_equal(waiting.sleeps, 1);
	drop_tables(t);
}

/* Two have to go at once: the two that were used least, of which the second was not used at all
 * since the first went. */
static void test_all_victims_of_a_request_are_the_least_used(void **state)
{
	struct tables *t = make_tables(30);
	uint32_t first;

	(void)state;
	fill(t, (const uint32_t[]){5, 1, 3}, 3);
	t->may_evict = true;
	waiting.is_falling = true;
	assert_int_equal(take_room(t, t->rows, 20, &first), 0);
	assert_int_equal(first, 10);
	assert_int_equal(t->own.evicted, 2);
	assert_true(is_known(t, 1));
	drop_tables(t);
}

static void test_oversized_request_evicts_nothing(void **state)
{
	struct tables *t = make_tables(30);
	uint32_t first;

	(void)state;
	fill(t, (const uint32_t[]){5, 1, 3}, 3);
	t->may_evict = true;
	assert_int_equal(take_room(t, t->rows, 31, &first), -E2BIG);
	assert_int_equal(t->own.evicted, 0);
	drop_tables(t);
}

/* --- loading --------------------------------------------------------------------------------- */

/* The table of `count` different rules. */
static struct recipe_table *make_table(uint32_t from, uint32_t count)
{
	struct cfi_asm a = {.is_eh_frame = true};
	struct recipe_table *table;

	cfi_asm_rules(&a, from, count);
	assert_int_equal(cfi_asm_compile(&a, &table), 0);
	buf_free(&a.b);
	return table;
}

/* A walk that has read n_chunks before a table comes, and is_loaded after it, must not take the
 * file for one without recipes. */
static void test_file_with_rows_is_never_empty(void **state)
{
	struct tables *t = make_tables(4000);
	struct recipe_table *table = make_table(8, 100), *empty = make_table(8, 0);

	(void)state;
	assert_int_equal(load_table(t, 1, table), 0);
	assert_true(t->maps.files[1].n_chunks > 0);
	assert_int_equal(t->maps.files[1].is_loaded, 0);
	assert_true(is_known(t, 1));
	assert_int_equal(load_table(t, 2, empty), 0);
	assert_int_equal(t->maps.files[2].n_chunks, 0);
	assert_true(t->maps.files[2].is_loaded && is_known(t, 2));
	recipe_table_free(table);
	recipe_table_free(empty);
	drop_tables(t);
}

/* A crafted file has as many rules as there can be; loaded again and again, it takes no more. */
static void test_one_file_does_not_take_all_rules(void **state)
{
	struct tables *t = make_tables(100000);
	struct recipe_table *hostile = make_table(8, 65000), *honest = make_table(100000, 2000);
	uint64_t *refused = &t->own.refused_entries[RECIPE_REFUSED_RULE_SHARE];
	size_t share = (RECIPE_MAX_RULES - 3) / 4, count;

	(void)state;
	for (uint32_t turn = 1; turn <= 3; turn++) {
		assert_int_equal(load_table(t, 1, hostile), 0);
		recipe_rules_array(t->rules, &count);
		assert_int_equal(count, 3 + share);
		assert_int_equal(*refused, turn * (65000 - share));
		extents_give(t->rows, t->row_of[1]);
		extents_give(t->chunks, t->maps.files[1].chunk_base);
	}
	*refused = 0;
	assert_int_equal(load_table(t, 2, honest), 0);
	recipe_rules_array(t->rules, &count);
	assert_int_equal(count, 3 + share + 2000);
	assert_int_equal(*refused, 0);
	recipe_table_free(hostile);
	recipe_table_free(honest);
	drop_tables(t);
}

/* A table whose rules from an offset on are of the runtime's own. */
static struct recipe_table *make_runtime_table(uint32_t offset)
{
	struct recipe_table *table = make_table(8, 10);
	struct recipe_rows rows = {0};

	assert_int_equal(recipe_rows_add(&rows, offset, PROVENANCE_RUNTIME_TABLE), 0);
	assert_int_equal(provenance_map_new(&rows, &table->map), 0);
	recipe_rows_free(&rows);
	return table;
}

/* The recorder asks for locations of walks whose table may be gone by then; the first table's
 * answer stays. */
static void test_provenances_outlive_tables(void **state)
{
	struct tables *t = make_tables(100);
	struct recipe_table *table = make_runtime_table(100), *again = make_runtime_table(5);
	const struct object object = {.number = 2}, other = {.number = 1},
			    beyond = {.number = FILES};

	(void)state;
	keep_provenances(t, object.number + 1, table);
	recipe_table_free(table);
	keep_provenances(t, object.number + 1, again);
	recipe_table_free(again);
	assert_int_equal(tables_provenance(t, &object, 99), PROVENANCE_CFI);
	assert_int_equal(tables_provenance(t, &object, 100), PROVENANCE_RUNTIME_TABLE);
	assert_int_equal(tables_provenance(t, &other, 100), PROVENANCE_CFI);
	assert_int_equal(tables_provenance(t, &beyond, 100), PROVENANCE_CFI);
	drop_tables(t);
}

static struct object open_bytes(const void *bytes, size_t size, uint32_t number)
{
	struct object object = {.kind = OBJECT_ELF, .number = number};

	object.error = elf_file_open_memory(bytes, size, &object.elf);
	return object;
}

static void serve_object(struct tables *t, const struct object *object)
{
	serve(t, &(struct request){.object = object});
	assert_true(is_known(t, object->number + 1));
}

/* Missing files and files with forged headers: each has a reason, and none is loaded. */
static void test_refused_files_have_a_reason(void **state)
{
	struct tables *t = make_tables(1000);
	uint64_t *refused = t->own.refused_entries;
	struct object gone = {.kind = OBJECT_ELF, .number = 1, .error = -ENOENT};
	struct object jit = {.kind = OBJECT_JIT, .number = 2};
	struct object lying;
	Elf64_Ehdr header = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = UINT64_MAX - 7,
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 3,
	};

	(void)state;
	lying = open_bytes(&header, sizeof(header), 0);
	assert_int_equal(lying.error, -ENOEXEC);
	serve_object(t, &lying);
	assert_int_equal(refused[RECIPE_REFUSED_FILE_HEADERS], 1);
	serve_object(t, &gone);
	assert_int_equal(refused[RECIPE_REFUSED_FILE_READ], 1);
	serve_object(t, &jit);
	assert_int_equal(refused[RECIPE_REFUSED_FILE_READ], 1);
	assert_int_equal(t->own.loaded, 0);
	drop_tables(t);
}

/* --- rules that are read back ---------------------------------------------------------------- */

static void check_rule(struct tables *t, const struct object *object,
		       const struct recipe_table *table, uint64_t offset)
{
	struct stackd_rule rule;

	assert_int_equal(tables_rule(t, object, offset, &rule), 0);
	assert_memory_equal(&rule, recipe_lookup(table, offset), sizeof(rule));
}

/* The daemon's walk has the same rules as the kernel half, or knows that they are to come. */
static void test_rules_are_read_back(void **state)
{
	struct tables *t = make_tables(100000);
	struct object object = {.kind = OBJECT_ELF, .number = 1};
	const struct object beyond = {.number = FILES};
	struct recipe_table *table;
	struct stackd_rule rule;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(elf_file_open(fd, &object.elf), 0);
	close(fd);
	assert_int_equal(recipe_compile(object.elf, &table), 0);
	assert_false(tables_have(t, &object));
	assert_int_equal(tables_rule(t, &object, 0x1000, &rule), -EAGAIN);
	assert_non_null(t->first);
	assert_int_equal(load_object(t, &object), 0);
	assert_true(tables_have(t, &object));
	for (uint64_t offset = 0; offset < 300000; offset += 61)
		check_rule(t, &object, table, offset);
	check_rule(t, &object, table, UINT64_C(1) << 40);
	assert_int_equal(tables_rule(t, &beyond, 0, &rule), 0);
	assert_int_equal(rule.cfa, STACKD_CFA_NONE);
	t->maps.files[object.number + 1].n_chunks = 0; /* evicted */
	assert_int_equal(tables_rule(t, &object, 0x1000, &rule), -EAGAIN);
	recipe_table_free(table);
	elf_file_free(object.elf);
	drop_tables(t);
}

/* --- the thread ------------------------------------------------------------------------------ */

/* The thread's counters can be read at any time, as of its last request. (ThreadSanitizer checks
 * here that they are written only under the lock.) */
/* Records that missed a table before it was loaded ask for it after, thousands of times. */
static void test_what_is_known_is_not_asked_for(void **state)
{
	struct tables *t = make_tables(100);
	const struct object object = {.kind = OBJECT_ELF, .number = 1};
	const struct stackd_inode key = {.inode = 7, .dev = 8}, other = {.inode = 9, .dev = 8};

	(void)state;
	set_empty(t, 2);
	t->known_as[2] = key;
	assert_int_equal(tables_want(t, &object, &key), 0);
	assert_int_equal(tables_want(t, &object, NULL), 0);
	assert_int_equal(tables_prepare(t, &object), 0);
	assert_null(t->first);
	assert_int_equal(tables_want(t, &object, &other), 0); /* a hard copy of the file */
	assert_non_null(t->first);
	drop_tables(t);
}

static void test_counts_are_read_while_the_thread_counts(void **state)
{
	struct tables *model = make_tables(100), *t;
	struct object gone[FILES - 1];
	struct tables_counts counts;

	(void)state;
	assert_int_equal(tables_new(&model->maps, NULL, &t), 0);
	for (uint32_t i = 0; i < FILES - 1; i++) {
		gone[i] = (struct object){.kind = OBJECT_ELF, .number = i, .error = -ENOENT};
		assert_int_equal(tables_want(t, &gone[i], NULL), 0);
	}
	do {
		tables_counts(t, &counts);
		assert_int_equal(counts.rules, 3);
		assert_int_equal(counts.rows, 0);
		assert_true(counts.refused_entries[RECIPE_REFUSED_FILE_READ] < FILES);
	} while (counts.refused_entries[RECIPE_REFUSED_FILE_READ] < FILES - 1);
	tables_free(t);
	drop_tables(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_are_given_back_after_a_grace_period),
		cmocka_unit_test(test_time_replaces_grace_period),
		cmocka_unit_test(test_all_victims_of_a_request_are_the_least_used),
		cmocka_unit_test(test_oversized_request_evicts_nothing),
		cmocka_unit_test(test_file_with_rows_is_never_empty),
		cmocka_unit_test(test_one_file_does_not_take_all_rules),
		cmocka_unit_test(test_provenances_outlive_tables),
		cmocka_unit_test(test_refused_files_have_a_reason),
		cmocka_unit_test(test_rules_are_read_back),
		cmocka_unit_test(test_what_is_known_is_not_asked_for),
		cmocka_unit_test(test_counts_are_read_while_the_thread_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
