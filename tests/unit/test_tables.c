/* SPDX-License-Identifier: MIT */
/*
 * Loading tables into the kernel half's arrays, and taking them out: daemon/tables/tables.c, with
 * files in memory for its maps. The source is included, since the test runs it without its thread,
 * so that every order is the test's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <elf.h>

#include "daemon/tables/tables.c"
#include "daemon/base/map_window.h"

#include "cfi_asm.h"
#include "unwind/recipe_table.h"

#define FILES  8
#define CHUNKS 64

#define CACHE_BYTES 4096u /* of the cache of rules */

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
		.interpreters_fd = -1,
		.cache_fd = memory(CACHE_BYTES),
		.cache_bytes = CACHE_BYTES,
		.numbers_ended = calloc(1, sizeof(uint32_t)),
	};
	assert_non_null(t->maps.numbers_ended);
	t->source = table_source_here();
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->change, NULL);
	t->rules_of = calloc(FILES, sizeof(*t->rules_of));
	t->provenances = calloc(FILES, sizeof(*t->provenances));
	t->known_as = calloc(FILES, sizeof(*t->known_as));
	t->interpreters = calloc(FILES, sizeof(*t->interpreters));
	t->layouts = calloc(FILES, sizeof(*t->layouts));
	t->ending.is_ended = calloc(FILES, sizeof(*t->ending.is_ended));
	t->ending.has_room = calloc(FILES, sizeof(*t->ending.has_room));
	assert_true(t->interpreters && t->layouts && t->ending.is_ended && t->ending.has_room);
	assert_true(t->maps.rules && t->maps.files && t->rules_of && t->provenances && t->known_as);
	assert_int_equal(recipe_rules_new(&t->rules), 0);
	assert_int_equal(room_new(&t->maps, &t->room), 0);
	assert_int_equal(remakes_new(FILES, &t->remakes), 0);
	assert_int_equal(file_numbers_new(FILES, &t->numbers), 0);
	for (uint32_t i = 0; i + 1 < FILES; i++)
		assert_int_equal(file_numbers_give(t->numbers, i), i + 1);
	tables_load_new_rules(t);
	return t;
}

static void drop_tables(struct tables *t)
{
	close(t->maps.rows_fd);
	close(t->maps.chunks_fd);
	close(t->maps.cache_fd);
	free(t->maps.numbers_ended);
	free(t->maps.rules);
	free(t->maps.files);
	tables_free(t);
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
		room_give(t->room, 1);
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
	serve(t, &(struct request){.object = object, .number = object->number + 1});
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
	assert_int_equal(
		load_object(t, &(struct request){.object = &object, .number = object.number + 1}),
		0);
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

/* --- tables in two steps ---------------------------------------------------------------------- */

/* As many rows as a file's table has. */
static uint32_t rows_of(const struct elf_file *elf)
{
	struct recipe_table *table;
	size_t count;

	assert_int_equal(recipe_compile(elf, &table), 0);
	recipe_table_rows(table, &count);
	recipe_table_free(table);
	return (uint32_t)count;
}

/* An object of this program. */
static struct object open_self(uint32_t number, uint32_t *ret_rows)
{
	struct object object = {.kind = OBJECT_ELF, .number = number};
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_int_equal(elf_file_open(fd, &object.elf), 0);
	close(fd);
	*ret_rows = rows_of(object.elf);
	return object;
}

/* The section of an image by its name. */
static const Elf64_Shdr *section_of(const uint8_t *image, const char *name)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(image + header->e_shoff);
	const char *names = (const char *)image + sections[header->e_shstrndx].sh_offset;

	for (int i = 0; i < header->e_shnum; i++)
		if (!strcmp(names + sections[i].sh_name, name))
			return &sections[i];
	fail_msg("no %s", name);
	return NULL;
}

/* This program, whose call frame information ends in its middle. The caller frees it. */
static uint8_t *cut_image(size_t *ret_size)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	off_t size = lseek(fd, 0, SEEK_END);
	uint8_t *image = malloc((size_t)size);
	const Elf64_Shdr *frames;
	uint32_t len = 0;
	uint64_t at = 0;

	assert_int_equal(pread(fd, image, (size_t)size, 0), size);
	close(fd);
	frames = section_of(image, ".eh_frame");
	while (at < frames->sh_size / 2) {
		memcpy(&len, image + frames->sh_offset + at, sizeof(len));
		at += sizeof(len) + len;
	}
	memset(image + frames->sh_offset + at, 0, frames->sh_size - at);
	*ret_size = (size_t)size;
	return image;
}

static struct object open_cut(uint32_t number, uint32_t *ret_rows)
{
	size_t size;
	uint8_t *image = cut_image(&size);
	struct object object = open_bytes(image, size, number);

	assert_int_equal(object.error, 0);
	free(image);
	*ret_rows = rows_of(object.elf);
	return object;
}

/* The same as a large file. */
static struct object open_large(uint32_t number)
{
	struct object object = {.kind = OBJECT_ELF, .number = number};
	int fd = memfd_create("large", MFD_CLOEXEC);
	size_t size;
	uint8_t *image = cut_image(&size);

	assert_int_equal(write(fd, image, size), size);
	assert_int_equal(ftruncate(fd, (off_t)(size + LARGE_BYTES)), 0);
	assert_int_equal(elf_file_open(fd, &object.elf), 0);
	close(fd);
	free(image);
	return object;
}

#define MOST_CODE (1u << 26) /* of this program, with sanitizers */

/* An offset at which the rules of call frame information have none, and analysed code has one. */
static uint64_t analysed_offset(const struct recipe_table *quick, const struct recipe_table *whole)
{
	for (uint64_t offset = 0; offset < MOST_CODE; offset++)
		if (recipe_lookup(quick, offset)->cfa == STACKD_CFA_NONE &&
		    recipe_lookup(whole, offset)->cfa != STACKD_CFA_NONE)
			return offset;
	fail_msg("no analysed code");
	return 0;
}

/* What call frame information says is known at once, and what it does not say is yet to come; the
 * whole table then takes the place of the partial one, which leaves no room taken. */
static void check_two_steps(uint32_t room_of_rows)
{
	uint32_t rows;
	struct object object = open_cut(1, &rows);
	struct tables *t = make_tables(room_of_rows ? room_of_rows : rows + rows / 10);
	/* It has taken so long that it gives way to nothing, however slow this machine is. */
	struct request r = {.object = &object,
			    .number = 2,
			    .spent_ns = UINT64_MAX / 2,
			    .has_key = true,
			    .key = {.inode = 7}};
	struct recipe_table *quick, *whole, *none = NULL;
	struct stackd_rule rule;
	uint64_t offset;

	assert_int_equal(recipe_compile_quick(object.elf, &quick), 0);
	assert_int_equal(recipe_compile(object.elf, &whole), 0);
	offset = analysed_offset(quick, whole);
	assert_int_equal(load_part(t, &object, object.number + 1, &none), 0);
	assert_null(none);
	assert_true(has_part(t, 2) && !tables_have(t, &object));
	assert_int_equal(tables_rule(t, &object, offset, &rule), -EAGAIN);
	for (uint64_t at = 0; at < 300000; at += 61) {
		if (recipe_lookup(quick, at)->cfa == STACKD_CFA_NONE)
			continue;
		check_rule(t, &object, quick, at);
		check_rule(t, &object, whole, at);
	}
	t->serving = &r;
	t->may_evict = !room_of_rows;
	assert_int_equal(load_object(t, &r), 0);
	t->serving = NULL;
	assert_true(!has_part(t, 2) && tables_have(t, &object));
	assert_int_equal(t->known_as[2].inode, 0); /* there is no map of inodes here */
	for (uint64_t at = 0; at < 300000; at += 61)
		check_rule(t, &object, whole, at);
	check_rule(t, &object, whole, offset);
	assert_int_equal(room_rows(t->room), rows);
	recipe_table_free(quick);
	recipe_table_free(whole);
	elf_file_free(object.elf);
	drop_tables(t);
}

static void test_two_steps(void **state)
{
	(void)state;
	check_two_steps(1000000);
	check_two_steps(0); /* there is room for one of the tables at a time */
}

/* Whether a partial table has all rules of the quick one. */
static void check_part(struct tables *t, const struct object *object,
		       const struct recipe_table *quick)
{
	assert_int_equal(t->maps.files[object->number + 1].is_loaded, 0);
	for (uint64_t at = 0; at < 300000; at += 61)
		if (recipe_lookup(quick, at)->cfa != STACKD_CFA_NONE)
			check_rule(t, object, quick, at);
}

/* A partial table stays where the whole one has no room: none that it may take, or none at all. */
static void test_part_stays_without_room(void **state)
{
	uint32_t rows;
	struct object object = open_cut(1, &rows);
	struct tables *tight = make_tables(rows + rows / 10), *small = make_tables(rows - 1);
	const struct request prefetch = {.object = &object, .number = 2, .is_early = true},
			     missed = {.object = &object, .number = 2};
	struct recipe_table *quick, *none = NULL;

	(void)state;
	assert_int_equal(recipe_compile_quick(object.elf, &quick), 0);
	assert_int_equal(load_part(tight, &object, object.number + 1, &none), 0);
	assert_int_equal(load_object(tight, &prefetch), -ENOSPC);
	assert_true(has_part(tight, 2) && !tables_have(tight, &object));
	check_part(tight, &object, quick);
	assert_int_equal(serve(tight, &missed), 0);
	assert_true(tables_have(tight, &object));
	assert_int_equal(room_rows(tight->room), rows);

	assert_int_equal(load_part(small, &object, object.number + 1, &none), 0);
	assert_int_equal(serve(small, &prefetch), 0);
	assert_true(has_part(small, 2));
	assert_int_equal(serve(small, &missed), 0);
	assert_int_equal(small->own.refused, 1);
	assert_true(!has_part(small, 2) && tables_have(small, &object));
	check_part(small, &object, quick);
	recipe_table_free(quick);
	elf_file_free(object.elf);
	drop_tables(tight);
	drop_tables(small);
}

/* The first parts of all tables come before the rest of one. */
static void test_parts_come_first(void **state)
{
	struct tables *t = make_tables(1000000);
	struct object a = open_large(1), b = open_large(2);

	(void)state;
	assert_int_equal(tables_want(t, &a, NULL), 0);
	assert_int_equal(tables_want(t, &b, NULL), 0);
	for (int turn = 0; t->first; turn++) {
		struct request *r = t->first;
		int err;

		t->first = r->next;
		t->serving = r;
		err = serve(t, r);
		t->serving = NULL;
		/* From then on a table that takes long may give way to the other one. */
		assert_true(turn >= 2 || err == -ECANCELED);
		assert_true(turn >= 2 || (has_part(t, 2) && has_part(t, 3) == (turn == 1)));
		if (err)
			assert_int_equal(requests_enter(&t->first, r), 0);
		free(r);
	}
	assert_true(tables_have(t, &a) && tables_have(t, &b));
	elf_file_free(a.elf);
	elf_file_free(b.elf);
	drop_tables(t);
}

/* Where the whole table cannot be made, the rules that are there stay, and are all. */
static void test_part_is_all(void **state)
{
	uint32_t rows;
	struct object object = open_cut(1, &rows);
	struct tables *t = make_tables(1000000);
	struct recipe_table *quick, *none = NULL;

	(void)state;
	assert_int_equal(recipe_compile_quick(object.elf, &quick), 0);
	assert_int_equal(load_part(t, &object, object.number + 1, &none), 0);
	refuse_file(t, &object, object.number + 1, -ENOEXEC);
	assert_true(tables_have(t, &object));
	assert_int_equal(t->maps.files[2].is_loaded, 0);
	for (uint64_t at = 0; at < 300000; at += 61)
		check_rule(t, &object, quick, at);
	recipe_table_free(quick);
	elf_file_free(object.elf);
	drop_tables(t);
}

/* Where little is without call frame information, there is one step. */
static void test_one_step(void **state)
{
	uint32_t rows;
	struct object object = open_self(1, &rows);
	struct tables *t = make_tables(1000000);
	struct recipe_table *whole = NULL;
	size_t count;

	(void)state;
	set_partial(t, 2, true); /* as the eviction of a partial table leaves it */
	assert_int_equal(load_part(t, &object, object.number + 1, &whole), 0);
	assert_non_null(whole);
	assert_int_equal(load_table(t, 2, whole), 0);
	assert_true(!has_part(t, 2) && tables_have(t, &object));
	recipe_table_rows(whole, &count);
	assert_int_equal(count, rows);
	recipe_table_free(whole);
	elf_file_free(object.elf);
	drop_tables(t);
}

/* --- tables that are made again --------------------------------------------------------------- */

/* Serves what is asked for; returns how many requests there were. */
static int serve_all(struct tables *t)
{
	int n = 0;

	for (; t->first; n++) {
		struct request *r = t->first;

		t->first = r->next;
		assert_int_equal(serve(t, r), 0);
		free(r);
	}
	return n;
}

/* Two files of which only one has room, each missed again and again: each is made once, and the one
 * that is out is not even asked for. */
static void test_tables_do_not_take_turns(void **state)
{
	uint32_t rows;
	struct object a = open_self(1, &rows), b = open_self(2, &rows);
	struct tables *t = make_tables(rows + rows / 2);
	struct stackd_rule rule;
	int asked = 0;

	(void)state;
	assert_int_equal(tables_want(t, &a, NULL), 0);
	asked += serve_all(t);
	assert_int_equal(tables_rule(t, &a, 0x1000, &rule), 0); /* it is remembered until then */
	for (int i = 0; i < 100; i++) {
		t->maps.files[2].uses += 10;
		t->maps.files[3].uses += 10;
		assert_int_equal(tables_want(t, &a, NULL), 0);
		asked += serve_all(t);
		assert_int_equal(tables_want(t, &b, NULL), 0);
		asked += serve_all(t);
	}
	assert_int_equal(t->own.loaded, 2);
	assert_int_equal(room_evicted(t->room), 1);
	assert_int_equal(t->own.remade, 0);
	assert_int_equal(t->own.put_off, 1);
	assert_int_equal(asked, 3);
	assert_true(tables_put_off(t, &a));
	assert_false(tables_put_off(t, &b));
	assert_int_equal(tables_rule(t, &a, 0x1000, &rule), -EAGAIN);
	elf_file_free(a.elf);
	elf_file_free(b.elf);
	drop_tables(t);
}

/* Each process of a program prefetches its table; what had no room is not made again for it. */
static void test_prefetch_is_not_made_for_each_process(void **state)
{
	uint32_t rows;
	struct object a = open_self(1, &rows), b = open_self(2, &rows);
	struct tables *t = make_tables(rows + rows / 2);
	uint64_t spent;

	(void)state;
	assert_int_equal(tables_prepare(t, &a, NULL), 0);
	assert_int_equal(serve_all(t), 1);
	assert_int_equal(tables_prepare(t, &b, NULL), 0);
	assert_int_equal(serve_all(t), 1);
	assert_false(tables_have(t, &b));
	spent = t->own.compile_ns;
	for (int i = 0; i < 100; i++) {
		assert_int_equal(tables_prepare(t, &b, NULL), 0);
		assert_int_equal(serve_all(t), 1);
	}
	assert_int_equal(t->own.compile_ns, spent);
	assert_int_equal(tables_want(t, &b, NULL), 0); /* missed: for the first time */
	serve_all(t);
	assert_true(tables_have(t, &b));
	assert_false(tables_have(t, &a));
	elf_file_free(a.elf);
	elf_file_free(b.elf);
	drop_tables(t);
}

/* Serves a prefetch during which a walk misses the table or not. */
static void prefetch_until_missed(struct tables *t, const struct object *object, bool is_missed)
{
	struct request r = {.object = object, .number = object->number + 1, .is_early = true},
		       now = r;

	t->serving = &r;
	assert_int_equal(serve(t, &now), 0);
	if (is_missed)
		assert_int_equal(tables_want(t, object, NULL), 0);
	assert_null(t->first);
	end_serving(t, &r, now.is_early, 0);
}

/* What is missed while it is prefetched is made, even if the prefetch has no room for it. */
static void test_missed_during_prefetch(void **state)
{
	uint32_t rows;
	struct object a = open_self(1, &rows), b = open_self(2, &rows);
	struct tables *t = make_tables(rows + rows / 2);

	(void)state;
	prefetch_until_missed(t, &a, true);
	assert_null(t->first); /* it is loaded */
	prefetch_until_missed(t, &b, false);
	assert_null(t->first);
	prefetch_until_missed(t, &b, true);
	assert_int_equal(serve_all(t), 1);
	assert_true(tables_have(t, &b));
	elf_file_free(a.elf);
	elf_file_free(b.elf);
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
	tables_await(t, &object, UINT64_MAX); /* nothing is pending */
	assert_int_equal(tables_want(t, &object, &key), 0);
	assert_int_equal(tables_want(t, &object, NULL), 0);
	assert_int_equal(tables_prepare(t, &object, NULL), 0);
	assert_null(t->first);
	assert_int_equal(tables_want(t, &object, &other), 0); /* a hard copy of the file */
	assert_non_null(t->first);
	drop_tables(t);
}

/* A worker whose time falls from look to look: its process has ended, and nobody knows how much it
 * had used. */
static uint64_t falling_ns(void *arg)
{
	uint64_t *ns = arg;

	return *ns -= 1000000000;
}

static struct elf_file *open_as(uid_t owner)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
	    to = memfd_create("elf", MFD_CLOEXEC);
	struct elf_file *elf;
	struct stat st;

	assert_int_equal(fstat(from, &st), 0);
	assert_int_equal(sendfile(to, from, NULL, (size_t)st.st_size), st.st_size);
	close(from);
	if (owner && fchown(to, owner, owner) != 0)
		skip(); /* the owner of other files than one's own is root's to choose */
	assert_int_equal(elf_file_open(to, &elf), 0);
	return elf;
}

/* While users' files have used up their share of CPU time, theirs wait, and root's do not; nor the
 * other way round. */
static void test_users_files_wait(void **state)
{
	uint64_t ns = UINT64_C(1) << 62;
	struct tables *t = make_tables(100);
	const struct object users = {.kind = OBJECT_ELF, .number = 1, .elf = open_as(1234)};
	const struct object roots = {.kind = OBJECT_ELF, .number = 2};
	struct request early = {.object = &roots, .number = roots.number + 1, .is_early = true};
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	const uint64_t users_wait[N_OWNERS] = {[OF_USERS] = 1}, roots_wait[N_OWNERS] = {1};
	const uint64_t none_waits[N_OWNERS] = {0};

	(void)state;
	t->shares[OF_USERS] = cpu_share_begin(1e-9, SAVED_NS, now_ns);
	t->source.cpu_ns = falling_ns;
	t->source.arg = &ns;
	assert_false(tables_put_off(t, &users));
	spend(t, OF_USERS, cpu_ns(t)); /* costs nothing */
	assert_false(tables_put_off(t, &users));
	cpu_share_spend(&t->shares[OF_USERS], 2 * SAVED_NS, now_ns);
	assert_true(tables_put_off(t, &users));
	assert_false(tables_put_off(t, &roots));
	assert_int_equal(requests_enter(&t->first, &(struct request){.object = &users,
								     .number = users.number + 1}),
			 0);
	assert_null(*first_served(t, users_wait));
	assert_int_equal(requests_enter(&t->first, &(struct request){.object = &roots,
								     .number = roots.number + 1}),
			 0);
	assert_ptr_equal((*first_served(t, users_wait))->object, &roots);
	assert_ptr_equal((*first_served(t, none_waits))->object, &users);
	assert_ptr_equal((*first_served(t, roots_wait))->object, &users);
	/* A prefetch of root's is not given up for what has to wait. */
	requests_free(t->first->next);
	t->first->next = NULL;
	t->serving = &early;
	assert_false(is_in_the_way(t, 0));
	t->shares[OF_USERS] = cpu_share_begin(1, SAVED_NS, now_ns);
	assert_true(is_in_the_way(t, 0));
	t->serving = NULL;
	t->shares[OF_ROOT] = cpu_share_begin(1e-9, ROOT_SAVED_NS, now_ns);
	cpu_share_spend(&t->shares[OF_ROOT], 2 * ROOT_SAVED_NS, now_ns);
	assert_true(tables_put_off(t, &roots));
	assert_false(tables_put_off(t, &users));
	elf_file_free(users.elf);
	drop_tables(t);
}

static int compile_stale(void *arg, const struct object *object, bool is_quick,
			 const struct table_stop *stop, struct recipe_table **ret_table)
{
	(void)object, (void)is_quick, (void)stop, (void)ret_table;
	++*(unsigned *)arg;
	return -ESTALE;
}

/* Records do not wait for the table of a file that has been replaced since it was mapped, and for
 * that of a closed file only until it is mapped again. */
static void test_replaced_file_is_put_off(void **state)
{
	struct tables *t = make_tables(100);
	const struct object replaced = {.kind = OBJECT_ELF, .number = 1, .elf = open_as(0)};
	const struct object closed = {.kind = OBJECT_ELF, .number = 2, .elf = open_as(0)};
	unsigned asked = 0;

	(void)state;
	t->source.compile = compile_stale;
	t->source.arg = &asked;
	elf_file_close(closed.elf);
	assert_false(tables_put_off(t, &replaced));
	serve(t, &(struct request){.object = &replaced, .number = replaced.number + 1});
	serve(t, &(struct request){.object = &closed, .number = closed.number + 1});
	assert_int_equal(asked, 1);
	assert_false(tables_have(t, &replaced));
	assert_true(tables_put_off(t, &replaced));
	assert_false(tables_put_off(t, &closed));
	assert_int_equal(tables_want(t, &replaced, NULL), 0);
	assert_null(t->first); /* it is not made again for each record */
	elf_file_free(replaced.elf);
	elf_file_free(closed.elf);
	drop_tables(t);
}

static void test_counts_are_read_while_the_thread_counts(void **state)
{
	const struct table_source source = table_source_here();
	struct tables *model = make_tables(100), *t;
	struct object gone[FILES - 1];
	struct tables_counts counts;

	(void)state;
	assert_int_equal(tables_new(&model->maps, &source, 0, &t), 0);
	for (uint32_t i = 0; i < FILES - 1; i++) {
		gone[i] = (struct object){.kind = OBJECT_ELF, .number = i, .error = -ENOENT};
		assert_int_equal(tables_want(t, &gone[i], NULL), 0);
	}
	tables_await(t, &gone[0], UINT64_MAX);
	assert_true(tables_have(t, &gone[0]));
	do {
		tables_counts(t, &counts);
		assert_int_equal(counts.rules, 3);
		assert_int_equal(counts.rows, 0);
		assert_true(counts.refused_entries[RECIPE_REFUSED_FILE_READ] < FILES);
	} while (counts.refused_entries[RECIPE_REFUSED_FILE_READ] < FILES - 1);
	tables_free(t);
	drop_tables(model);
}

/* --- numbers that are taken back ------------------------------------------------------------- */

/* Does the thread's part. */
static void end_asked(struct tables *t)
{
	assert_int_equal(t->ending.state, ENDING_ASKED);
	pthread_mutex_lock(&t->lock);
	tables_end_asked(t);
	pthread_mutex_unlock(&t->lock);
}

static uint64_t words_of_cache(const struct tables *t)
{
	uint64_t words[CACHE_BYTES / 8], set = 0;

	assert_int_equal(pread(t->maps.cache_fd, words, sizeof(words), 0), sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		set += words[i] != 0;
	return set;
}

/* A number that was taken back is its old object's until all records were handed out that began
 * before; then the next object gets it, with nothing of the old one. */
static void test_numbers_are_given_again(void **state)
{
	struct tables *t = make_tables(1000);
	struct recipe_table *table = make_runtime_table(100);
	const struct object first = {.number = 2}, kept = {.number = 3}, late = {.number = 99};
	const uint32_t numbers[] = {first.number + 1};
	const uint64_t word = 5;
	struct stackd_rule rule;
	uint32_t object;

	(void)state;
	keep_provenances(t, 3, table);
	assert_int_equal(load_table(t, 3, table), 0);
	assert_int_equal(load_table(t, 4, table), 0);
	set_empty(t, 5);
	recipe_table_free(table);
	t->known_as[3].inode = t->known_as[4].inode = 7;
	t->rules_of[3] = 9;
	assert_int_equal(pwrite(t->maps.cache_fd, &word, sizeof(word), 64), sizeof(word));
	assert_int_equal(tables_rule(t, &first, 8, &rule), 0); /* and is remembered */
	assert_true(tables_have(t, &late));		       /* no number is left for it */
	assert_int_equal(tables_want(t, &late, NULL), 0);
	assert_int_equal(t->unnumbered, 1);

	assert_true(tables_end_numbers(t, numbers, 1));
	assert_false(tables_end_numbers(t, numbers, 1)); /* one at a time */
	assert_false(tables_begin_rules(t));
	assert_int_equal(tables_number(t, &first), 0);
	tables_free_numbers(t, UINT64_MAX); /* the thread has not done it yet */
	assert_true(tables_object(t, 3, &object) && object == first.number);
	end_asked(t);
	assert_int_equal(*t->maps.numbers_ended, 1);
	assert_int_equal(words_of_cache(t), 0);
	assert_int_equal(t->maps.files[3].n_chunks, 0);
	assert_true(t->maps.files[4].n_chunks > 0 && t->maps.files[5].is_loaded);
	assert_int_equal(t->known_as[3].inode, 0);
	assert_int_equal(t->known_as[4].inode, 7);
	assert_int_equal(t->rules_of[3], 0);

	tables_free_numbers(t, t->ending.ended_ns); /* a record may have begun then */
	assert_true(tables_object(t, 3, &object) && object == first.number);
	assert_true(tables_have(t, &late));
	tables_free_numbers(t, t->ending.ended_ns + 1);
	assert_false(tables_object(t, 3, &object));
	assert_null(t->provenances[3]);
	assert_false(tables_have(t, &late));
	assert_int_equal(tables_want(t, &late, NULL), 0);
	assert_int_equal(tables_number(t, &late), 3);
	assert_int_equal(tables_rule(t, &late, 8, &rule), -EAGAIN);
	assert_true(tables_object(t, 3, &object) && object == late.number);
	assert_int_equal(tables_number(t, &kept), 4);
	assert_int_equal(tables_provenance(t, &late, 100), PROVENANCE_CFI);
	drop_tables(t);
}

/* A file whose table is requested keeps its number. */
static void test_number_in_use_is_kept(void **state)
{
	struct tables *t = make_tables(1000);
	const struct object wanted = {.number = 2}, served = {.number = 3};
	struct request serving = {.object = &served, .number = 4};
	const uint32_t numbers[] = {3, 4, 5};

	(void)state;
	assert_int_equal(tables_want(t, &wanted, NULL), 0);
	t->serving = &serving;
	assert_true(tables_end_numbers(t, numbers, 3));
	t->serving = NULL;
	assert_int_equal(t->ending.count, 1);
	assert_int_equal(tables_number(t, &wanted), 3);
	assert_int_equal(tables_number(t, &served), 4);
	drop_tables(t);
}

/* All tables go, and files keep their numbers. */
static void test_rules_begin_anew(void **state)
{
	struct tables *t = make_tables(4000);
	struct recipe_table *table = make_table(8, 100), *other = make_table(1 << 20, 50);
	const struct object object = {.number = 2};
	size_t count;

	(void)state;
	assert_int_equal(load_table(t, 3, table), 0);
	set_empty(t, 5);
	assert_true(tables_begin_rules(t));
	end_asked(t);
	recipe_rules_array(t->rules, &count);
	assert_int_equal(count, 3);
	assert_int_equal(t->maps.files[3].n_chunks, 0);
	assert_true(t->maps.files[5].is_loaded); /* it has none, and will have none */
	assert_int_equal(tables_number(t, &object), 3);
	tables_free_numbers(t, UINT64_MAX);
	assert_int_equal(tables_number(t, &object), 3);
	assert_int_equal(load_table(t, 3, other), 0);
	recipe_rules_array(t->rules, &count);
	assert_int_equal(count, 53);
	recipe_table_free(table);
	recipe_table_free(other);
	drop_tables(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_are_given_again),
		cmocka_unit_test(test_number_in_use_is_kept),
		cmocka_unit_test(test_rules_begin_anew),
		cmocka_unit_test(test_file_with_rows_is_never_empty),
		cmocka_unit_test(test_one_file_does_not_take_all_rules),
		cmocka_unit_test(test_provenances_outlive_tables),
		cmocka_unit_test(test_refused_files_have_a_reason),
		cmocka_unit_test(test_rules_are_read_back),
		cmocka_unit_test(test_two_steps),
		cmocka_unit_test(test_part_stays_without_room),
		cmocka_unit_test(test_parts_come_first),
		cmocka_unit_test(test_part_is_all),
		cmocka_unit_test(test_one_step),
		cmocka_unit_test(test_tables_do_not_take_turns),
		cmocka_unit_test(test_prefetch_is_not_made_for_each_process),
		cmocka_unit_test(test_missed_during_prefetch),
		cmocka_unit_test(test_what_is_known_is_not_asked_for),
		cmocka_unit_test(test_users_files_wait),
		cmocka_unit_test(test_replaced_file_is_put_off),
		cmocka_unit_test(test_counts_are_read_while_the_thread_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
