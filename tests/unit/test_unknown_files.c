/* SPDX-License-Identifier: MIT */
/*
 * Which mapped files the unmodified kernel half asks the daemon for (bpf/mapping.bpf.h): those that
 * it does not know; not those of which the daemon has said that they never get a table. A sample in
 * a file that is asked for is expensive: all of its stack is sent.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf_shim.h"

#include "../../bpf/stackd.bpf.c"

#define START  UINT64_C(0x52a00000)
#define NUMBER 7

static struct scratch scratch;
static struct task_struct task;
static struct mm_struct mm;
static struct vm_area_struct mapping;
static struct file file;
static struct inode inode;
static struct super_block super_block = {.s_dev = 3};
static struct stackd_inode key;

/* Looks an address up, as the first of a sample. */
static int look_up(void)
{
	memset(&scratch, 0, sizeof(scratch));
	start_seen(&scratch);
	return mapping_find(&scratch, START + 0x10);
}

static void test_unknown_file_is_asked_for(void **state)
{
	(void)state;
	assert_int_equal(look_up(), STACKD_END_NO_OBJECT);
	assert_int_equal(scratch.unknown.key.inode, inode.i_ino);
	assert_int_equal(scratch.unknown.start, START);
	key = scratch.unknown.key;
}

static void test_known_file_is_not(void **state)
{
	uint32_t number = NUMBER;

	test_unknown_file_is_asked_for(state);
	shim_put(&inodes, 0, &key, &number);
	assert_int_equal(look_up(), 0);
	assert_int_equal(seen_location(seen_at(&scratch), START + 0x10),
			 (uint64_t)NUMBER << 48 | 0x1010);
	assert_int_equal(scratch.unknown.key.inode, 0);
}

static void test_jit_file_is_memory(void **state)
{
	uint32_t what = STACKD_MADE_JIT;

	test_unknown_file_is_asked_for(state);
	shim_put(&made_files, 0, &key, &what);
	has_made_files = 1;
	assert_int_equal(look_up(), 0);
	assert_int_equal(seen_at(&scratch)->location >> 48, STACKD_FILE_NONE);
	assert_int_equal(scratch.unknown.key.inode, 0);
}

static void test_other_file_is_not_asked_for(void **state)
{
	uint32_t what = STACKD_MADE_OTHER;

	test_unknown_file_is_asked_for(state);
	shim_put(&made_files, 0, &key, &what);
	has_made_files = 1;
	assert_int_equal(look_up(), STACKD_END_NO_OBJECT);
	assert_int_equal(scratch.unknown.key.inode, 0);
	/* With other content it is another file. */
	key.changed_ns++;
	shim_put(&made_files, 0, &key, &what);
	assert_int_equal(look_up(), STACKD_END_NO_OBJECT);
	assert_int_equal(scratch.unknown.key.inode, inode.i_ino);
}

static int set_up(void **state)
{
	(void)state;
	(void)shim_make_array(&counters, 1);
	shim_make_hash(&inodes, 4);
	shim_make_hash(&made_files, 4);
	has_made_files = 0;
	inode = (struct inode){.i_ino = 44, .i_sb = &super_block};
	file.f_inode = &inode;
	mapping = (struct vm_area_struct){.vm_start = START,
					  .vm_end = START + 4096,
					  .vm_pgoff = 1,
					  .vm_flags = VM_EXEC,
					  .vm_mm = &mm,
					  .vm_file = &file};
	mm.mm_mt.ma_root = &mapping; /* the only one */
	task.mm = &mm;
	shim_task = &task;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	shim_free_maps();
	return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_unknown_file_is_asked_for),
		TEST(test_known_file_is_not),
		TEST(test_jit_file_is_memory),
		TEST(test_other_file_is_not_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
