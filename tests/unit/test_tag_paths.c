/* SPDX-License-Identifier: MIT */
/*
 * Walks held against tags: daemon/tags/tag_paths.c. This is the judge of the live tests, so it must
 * find what is wrong; and it must learn nothing but what it has found right.
 */
#include "sym_program.h"

#include <bpf/bpf.h>
#include <errno.h>

#include "daemon/tags/known_tags.h"
#include "daemon/recorder/tag_paths.h"
#include "daemon/recorder/tagger.h"

/* outer() and inner() keep a tag, alien() does not. */
static const char code[] = "	.text\n"
			   "	.macro function name, callee\n"
			   "\\name:	.cfi_startproc\n"
			   "	push	%rbx\n"
			   "	mov	%fs:0, %rbx\n"
			   "	mov	%rax, %fs:0\n"
			   "\\name\\()_in:	nop\n"
			   "	call	\\callee\n"
			   "\\name\\()_back:	mov	%rbx, %fs:0\n"
			   "	pop	%rbx\n"
			   "	ret\n"
			   "	.cfi_endproc\n"
			   "	.endm\n"
			   "	function outer, inner\n	function inner, alien\n"
			   "alien:	.cfi_startproc\n"
			   "alien_in:	nop\n	ret\n	.cfi_endproc\n"
			   "	.macro record name, id\n"
			   "	.long 56\n	.value 1, 0\n	.quad \\id, \\name, 0\n"
			   "	.asciz \"\\name\"\n	.asciz \"a.c\"\n	.zero 14\n"
			   "	.endm\n"
			   "	.section .btloc, \"\", @progbits\n"
			   "	record outer, 11\n	record inner, 22\n";

static uint64_t known; /* number of tags that were sent to the kernel half */

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	(void)fd;
	(void)key;
	(void)value;
	return -ENOENT;
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	(void)fd;
	(void)key;
	(void)value;
	(void)flags;
	known++;
	return 0;
}

int bpf_map_delete_elem(int fd, const void *key)
{
	(void)fd;
	(void)key;
	return 0;
}

static struct fixture {
	struct tag_paths_options with;
	struct tag_paths *paths;
	const struct object *file;
	uint64_t both, only_outer; /* tags */
} f;

static void use(bool judge)
{
	tag_paths_free(f.paths);
	f.with.judge = judge;
	known = 0;
	assert_int_equal(tag_paths_new(&f.with, &f.paths), 0);
}

static int make_file(void **state)
{
	if (program_setup(state))
		return -1;
	program_write("file.s", code);
	return program_shell("gcc -nostdlib -shared -Wl,-Bsymbolic -o file.so file.s");
}

static int set_up(void **state)
{
	const struct tagger_maps maps = {.tagged_fd = -1};
	struct object object = {.kind = OBJECT_ELF, .file_id = 77, .path = (char *)"/a/file"};

	(void)state;
	object.elf = program_open("file.so");
	f = (struct fixture){.with = {.known_fd = 7, .max_known = 100}};
	assert_int_equal(object_table_new("/nowhere", &f.with.objects), 0);
	assert_int_equal(object_table_add(f.with.objects, &object, &f.file), 0);
	assert_int_equal(location_table_new(&f.with.locations), 0);
	assert_int_equal(tag_trie_new(&f.with.trie), 0);
	assert_int_equal(tagger_new_here(&maps, &f.with.tagger), 0);
	f.only_outer = hash_chain(0, 11);
	f.both = hash_chain(f.only_outer, 22);
	use(false);
	return 0;
}

static int tear_down(void **state)
{
	tag_paths_free(f.paths);
	tagger_free(f.with.tagger);
	tag_trie_free(f.with.trie);
	location_table_free(f.with.locations);
	object_table_free(f.with.objects);
	(void)state;
	return 0;
}

/* A frame interrupted at a label, or waiting for the call before it. */
static uint32_t at(const char *label, bool is_return)
{
	const struct location l = {.file_id = f.file->file_id,
				   .object = f.file->number,
				   .offset = program_offset(f.file->elf, label) - is_return,
				   .is_return = is_return};
	uint32_t number;

	assert_int_equal(location_intern(f.with.locations, &l, &number), 0);
	return number;
}

static struct tag_paths_counts counts(void)
{
	struct tag_paths_counts c;

	tag_paths_counts(f.paths, &c);
	return c;
}

/* A complete walk from outer() to a label in what it called, under a tag. */
static void learn(uint64_t tag, const char *leaf)
{
	const struct stackd_tag_record record = {.program = 1, .tag = tag};
	const uint32_t path[] = {at("outer_back", true), at(leaf, false)};

	assert_int_equal(tag_paths_learn(f.paths, &record, path, 2, STACKD_END_ENTRY), 0);
}

static struct tag_path take(uint32_t program, uint64_t tag, const char *leaf)
{
	const struct stackd_tag_record record = {.program = program, .tag = tag};
	struct tag_path path = {0};

	assert_int_equal(
		tag_paths_take(f.paths, &record, f.file, program_offset(f.file->elf, leaf), &path),
		0);
	return path;
}

/* --- judging --------------------------------------------------------------------------------- */

static void matching_walk_is_learned(void **state)
{
	(void)state;
	learn(f.both, "inner_in");
	assert_int_equal(counts().right, 1);
	assert_int_equal(counts().learned, 1);
	assert_int_equal(known, 1);
	learn(f.both, "inner_in");
	assert_int_equal(counts().right, 2);
	assert_int_equal(known, 1);
}

static void extra_or_missing_frame_is_wrong(void **state)
{
	const struct stackd_tag_record record = {.program = 1, .tag = f.both};
	uint32_t leaf = at("inner_in", false);

	(void)state;
	learn(f.only_outer, "inner_in");
	assert_int_equal(counts().wrong, 1);
	learn(f.both, "alien_in");
	assert_int_equal(counts().wrong, 2);
	assert_int_equal(tag_paths_learn(f.paths, &record, &leaf, 1, STACKD_END_ENTRY), 0);
	assert_int_equal(counts().wrong, 3);
	learn(f.both ^ 1, "inner_in");
	assert_int_equal(counts().wrong, 4);
	assert_int_equal(counts().right + counts().window + counts().between, 0);
	assert_int_equal(counts().learned, 0);
	assert_int_equal(known, 0);
}

/* Before a function has set its tag, or after it gave it back: what is learned is its caller's. */
static void caller_has_tag_in_prologue_and_epilogue(void **state)
{
	(void)state;
	learn(f.only_outer, "inner");
	learn(f.only_outer, "inner_back");
	assert_int_equal(counts().window, 2);
	learn(f.both, "inner_back");
	assert_int_equal(counts().right, 1);
	learn(12345, "inner_back"); /* that of something deeper down, which has just returned */
	assert_int_equal(counts().between, 1);
	assert_int_equal(counts().wrong, 0);
	assert_int_equal(counts().learned, 2);
}

/* A signal's handler runs now, in which the tag is that of something deeper down. */
static void handler_may_interrupt_a_change(void **state)
{
	const struct stackd_tag_record record = {.program = 1, .tag = 12345};
	uint32_t path[] = {at("outer_back", true), at("inner_back", false), at("alien_in", false)};

	(void)state;
	assert_int_equal(tag_paths_learn(f.paths, &record, path, 3, STACKD_END_ENTRY), 0);
	assert_int_equal(counts().between, 1);
	path[1] = at("inner_in", false);
	assert_int_equal(tag_paths_learn(f.paths, &record, path, 3, STACKD_END_ENTRY), 0);
	assert_int_equal(counts().wrong, 1);
	assert_int_equal(counts().between, 1);
	assert_int_equal(counts().learned, 0);
}

static void cut_walk_is_not_judged(void **state)
{
	const struct stackd_tag_record record = {.program = 1, .tag = 12345};
	uint32_t leaf = at("inner_in", false);

	(void)state;
	assert_int_equal(tag_paths_learn(f.paths, &record, &leaf, 1, STACKD_END_TOO_DEEP), 0);
	assert_int_equal(counts().unchecked, 1);
	assert_int_equal(counts().wrong + counts().learned, 0);
}

static void judge_learns_nothing(void **state)
{
	(void)state;
	use(true);
	learn(f.both, "inner_in");
	learn(f.only_outer, "inner_in");
	assert_int_equal(counts().right, 1);
	assert_int_equal(counts().wrong, 1);
	assert_int_equal(counts().learned + known, 0);
}

/* --- taking ---------------------------------------------------------------------------------- */

static void known_tag_gives_path(void **state)
{
	const struct tag_trie_node *node;
	struct tag_path path;

	(void)state;
	learn(f.both, "inner_in");
	path = take(1, f.both, "inner_back");
	assert_int_equal(path.frames, 2);
	assert_int_equal(path.reason, STACKD_END_ENTRY);
	node = tag_trie_at(f.with.trie, path.node);
	assert_int_equal(node->location, at("inner_back", false));
	assert_int_equal(tag_trie_at(f.with.trie, node->parent)->location, at("outer_back", true));
	/* In code that keeps no tag: one frame more. */
	path = take(1, f.both, "alien_in");
	assert_int_equal(path.frames, 3);
	assert_int_equal(counts().unknown, 0);
}

/* A new window has an empty trie, in which the tag's path is entered again. */
static void known_tag_outlives_window(void **state)
{
	const struct tag_trie_node *node;
	struct tag_path path;

	(void)state;
	learn(f.both, "inner_in");
	for (int window = 0; window < 3; window++) {
		assert_int_equal(tag_trie_clear(f.with.trie), 0);
		location_table_clear(f.with.locations);
		tag_paths_begin_anew(f.paths);
		path = take(1, f.both, "inner_back");
		node = tag_trie_at(f.with.trie, path.node);
		assert_int_equal(tag_trie_count(f.with.trie), 3);
		assert_int_equal(location_count(f.with.locations), 2);
		assert_int_equal(node->location, at("inner_back", false));
		assert_int_equal(tag_trie_at(f.with.trie, node->parent)->location,
				 at("outer_back", true));
		path = take(1, f.both, "alien_in");
		assert_int_equal(path.frames, 3);
	}
	assert_int_equal(counts().unknown, 0);
}

static void unknown_tag_is_its_own_path(void **state)
{
	struct tag_path path;

	(void)state;
	learn(f.both, "inner_in");
	path = take(2, f.both, "inner_in"); /* another program's */
	assert_int_equal(path.reason, STACKD_END_TAG_UNKNOWN);
	assert_int_equal(path.frames, 1);
	assert_int_equal(
		location_at(f.with.locations, tag_trie_at(f.with.trie, path.node)->location)
			->offset,
		f.both);
	assert_int_equal(counts().unknown, 1);
	path = take(0, 0, "inner_in");
	assert_int_equal(path.reason, STACKD_END_NO_TAG);
	assert_int_equal(path.frames, 1);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(matching_walk_is_learned),
		T(extra_or_missing_frame_is_wrong),
		T(caller_has_tag_in_prologue_and_epilogue),
		T(handler_may_interrupt_a_change),
		T(cut_walk_is_not_judged),
		T(judge_learns_nothing),
		T(known_tag_gives_path),
		T(known_tag_outlives_window),
		T(unknown_tag_is_its_own_path),
	};

	return cmocka_run_group_tests(tests, make_file, program_teardown);
}
