/* SPDX-License-Identifier: MIT */
/*
 * A path that ends where no thread's stack is known to begin is complete only with evidence, and is
 * otherwise cut before the call nearest to the leaf for which there is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/recorder/root_check.h"
#include "daemon/worker/walks_in_process.h"
#include "proc/mapping_set.h"
#include "walk_self.h"

/* outer calls middle, which calls leaf; nobody calls outer, other, any, ever, tail, thread, and
 * switcher; any, ever, tail and thread call what a register says. ever and thread do not return,
 * and tail goes on to other; nor does begins, which begun calls, and whose address it takes. Never
 * run. */
/* clang-format off */
#define FUNCTION(name, code) #name "_:\n.cfi_startproc\n" code "\n.cfi_endproc\n"
__asm__(".pushsection .text\n"
	FUNCTION(outer, "call middle_\nin_outer: ret")
	FUNCTION(middle, "call leaf_\nin_middle: ret")
	FUNCTION(other, "call leaf_\nin_other: ret")
	FUNCTION(leaf, "nop\nin_leaf: ret")
	FUNCTION(any, "call *%rax\nin_any: ret")
	FUNCTION(ever, "call *%rax\nin_ever: hlt")
	FUNCTION(tail, "call *%rax\nin_tail: jmp other_")
	FUNCTION(begins, "call *%rax\nin_begins: hlt")
	FUNCTION(begun, "call begins_\nlea begins_(%rip), %rax\nhlt\ncall middle_\nhlt")
	FUNCTION(thread, "syscall\ncall *%rax\nin_thread: hlt")
	FUNCTION(switcher, "mov %rdi, %rsp\ncall leaf_\nin_switcher: ret")
	".popsection\n");
/* clang-format on */
extern const char outer_[], in_outer[], in_middle[], in_other[], in_leaf[], in_any[], in_ever[],
	in_begins[], in_tail[], in_thread[], in_switcher[];
void _start(void);

static struct fixture {
	struct self_map *map;
	struct object_table *objects;
	struct location_table *locations;
	struct walks *walks;
	struct caller_check *steps;
	struct root_check check;
	struct path path;
	bool is_proven;
	enum stackd_end_reason expected; /* of a path that is not proven */
} f;

/* The CPU time of the checks, and how long each takes. */
static uint64_t now_ns, each_ns;

static uint64_t next_time(void)
{
	return now_ns += each_ns;
}

/* More than the threads of usual programs have. */
static _Thread_local char many_locals[4096];

/* The mappings of the process; NULL: none are known, so no thread-local variables either. */
static const struct mapping_set *mappings;

static const struct mapping_set *mappings_of(void *processes, pid_t pid)
{
	(void)processes;
	(void)pid;
	return mappings;
}

static void add(const char *at, bool is_return)
{
	struct location location = {.is_return = is_return, .provenance = PROVENANCE_CFI};
	const struct object *object;

	assert_true(self_find(f.map, (uint64_t)at - is_return, &object, &location.offset));
	location.file_id = 1;
	assert_int_equal(location_intern(f.locations, &location, &f.path.locations[f.path.count++]),
			 0);
}

/* Checks the path whose frames were added, and begins the next one. Returns its cut. */
static size_t check(enum stackd_root root)
{
	size_t cut;

	f.path.cut = 0;
	assert_int_equal(root_check_path(&f.check, &f.path, 1, root, true, &f.is_proven), 0);
	if (!f.is_proven)
		assert_int_equal(f.path.cut_reason, f.expected);
	cut = f.path.cut;
	f.path.count = 0;
	return cut;
}

static void test_root_at_zero(void **state)
{
	(void)state;
	add(in_outer, true);
	add(in_middle, true);
	add(in_leaf, false);
	assert_int_equal(check(STACKD_ROOT_ZERO), 0);
	assert_true(f.is_proven);

	/* middle is called by outer, so no stack begins in it */
	add(in_middle, true);
	add(in_leaf, false);
	check(STACKD_ROOT_ZERO);
	assert_false(f.is_proven);

	/* an indirect call may lead anywhere, */
	add(in_ever, true);
	add(in_middle, true);
	add(in_leaf, false);
	check(STACKD_ROOT_ZERO);
	assert_true(f.is_proven);

	/* also out of a function that was called, if its address was taken, too, */
	add(in_begins, true);
	add(in_middle, true);
	add(in_leaf, false);
	check(STACKD_ROOT_ZERO);
	assert_true(f.is_proven);

	/* or is a thread's, */
	add(in_thread, true);
	add(in_middle, true);
	add(in_leaf, false);
	check(STACKD_ROOT_ZERO);
	assert_true(f.is_proven);

	/* but proves nothing in a function that would return to 0, */
	add(in_any, true);
	add(in_middle, true);
	add(in_leaf, false);
	assert_int_equal(check(STACKD_ROOT_ZERO), 1);
	assert_false(f.is_proven);
	add(in_tail, true);
	add(in_middle, true);
	add(in_leaf, false);
	assert_int_equal(check(STACKD_ROOT_ZERO), 1);
	assert_false(f.is_proven);

	/* and a direct one leads to one function */
	add(in_ever, true);
	add(in_other, true);
	add(in_middle, true);
	add(in_leaf, false);
	assert_int_equal(check(STACKD_ROOT_ZERO), 2);
	assert_false(f.is_proven);
}

static void test_root_away(void **state)
{
	(void)state;
	/* code of the C library that begins contexts, say, needs nothing but possible calls */
	add(in_any, true);
	add(in_any, true);
	add(in_middle, true);
	check(STACKD_ROOT_AWAY);
	assert_true(f.is_proven);

	add(in_any, true);
	add(in_other, true);
	add(in_middle, true);
	assert_int_equal(check(STACKD_ROOT_AWAY), 2);
	assert_false(f.is_proven);

	/* which may have put their own address there, so that no call is before it */
	add(in_leaf, true);
	add(in_any, true);
	add(in_middle, true);
	check(STACKD_ROOT_AWAY);
	assert_true(f.is_proven);

	add((const char *)_start + 1, true);
	add(in_other, true);
	add(in_middle, true);
	assert_int_equal(check(STACKD_ROOT_AWAY), 2);
	assert_false(f.is_proven);

	/* a leaf is where it is */
	add((const char *)_start, false);
	check(STACKD_ROOT_AWAY);
	assert_true(f.is_proven);

	/* the call out of a thread's first frame is indirect; further ones prove nothing */
	add(in_thread, true);
	add(in_middle, true);
	add(in_leaf, false);
	check(STACKD_ROOT_AWAY);
	assert_true(f.is_proven);

	add(in_thread, true);
	add(in_any, true);
	add(in_middle, true);
	add(in_leaf, false);
	assert_int_equal(check(STACKD_ROOT_AWAY), 2);
	assert_false(f.is_proven);
}

/* Checks a path of a thread whose stack begins further down than usual, with a call that proves
 * nothing. */
static bool is_thread_complete(void)
{
	add(in_thread, true);
	add(in_any, true);
	add(in_middle, true);
	add(in_leaf, false);
	check(STACKD_ROOT_AWAY);
	return f.is_proven;
}

/* Whether a process has many thread-local variables is found out again when its mappings change. */
static void test_many_locals(void **state)
{
	struct mapping of_program = {.object = object_table_at(f.objects, 0)};
	struct mapping_set none = {.version = 5}, some = {&of_program, 1, 1, 1, .version = 6};

	(void)state;
	many_locals[0] = 1; /* the program keeps them */
	assert_false(is_thread_complete());
	mappings = &none;
	assert_false(is_thread_complete());
	mappings = &some;
	assert_true(is_thread_complete());
	assert_true(is_thread_complete());
	mappings = NULL;
	assert_false(is_thread_complete());
	mappings = &some;
	assert_true(is_thread_complete());
	none.version = 7; /* after an exec */
	mappings = &none;
	assert_false(is_thread_complete());
	mappings = NULL;
}

/* What the end of a file that cannot be read might call is not known. */
static void test_code_not_read(void **state)
{
	const struct object *object = object_table_at(f.objects, 0);
	const int whole = open(object->path, O_RDONLY | O_CLOEXEC);
	const int copy = memfd_create("copy", MFD_CLOEXEC);
	uint64_t start, end;
	struct elf_file *elf;
	char bytes[4096];
	ssize_t n;

	(void)state;
	while ((n = read(whole, bytes, sizeof(bytes))) > 0)
		assert_int_equal(write(copy, bytes, (size_t)n), n);
	assert_true(self_find(f.map, (uint64_t)outer_, &object, &start));
	assert_true(self_find(f.map, (uint64_t)in_outer + 1, &object, &end));
	assert_int_equal(elf_file_open(copy, &elf), 0);
	assert_int_equal(callflow_root_of(elf, start, end), CALLFLOW_ROOT_RETURNS);
	assert_int_equal(ftruncate(copy, (off_t)end), 0);
	assert_int_equal(callflow_root_of(elf, start, end), CALLFLOW_ROOT_UNKNOWN);
	elf_file_free(elf);
	close(copy);
	close(whole);
}

static void test_root_on_another_stack(void **state)
{
	(void)state;
	add(in_outer, true);
	add(in_middle, true);
	add(in_leaf, false);
	check(STACKD_ROOT_CROSSED);
	assert_false(f.is_proven);

	add(in_switcher, true);
	add(in_leaf, false);
	check(STACKD_ROOT_CROSSED);
	assert_true(f.is_proven);

	/* behind a signal, what its handler calls is not where the path changes stacks, and nothing
	 * shows that the handler still runs */
	add(in_outer, true);
	add(in_leaf, false);
	add(in_outer, true);
	add(in_switcher, true);
	add(in_leaf, false);
	check(STACKD_ROOT_CROSSED);
	assert_false(f.is_proven);

	add(in_switcher, true);
	add(in_leaf, false);
	add(in_leaf, false);
	check(STACKD_ROOT_CROSSED);
	assert_true(f.is_proven);
}

/* A path for which no time is left says so, and not that its root is unproven. It is the last test,
 * since the checks owe the time. */
static void test_no_time_left(void **state)
{
	(void)state;
	caller_check_begin_anew(f.steps);
	root_check_begin_anew(&f.check);
	each_ns = (uint64_t)2 * CALLER_CHECK_SAVED_NS;
	f.expected = STACKD_END_NO_TIME;
	add(in_any, true);
	add(in_any, true);
	add(in_middle, true);
	assert_int_equal(check(STACKD_ROOT_AWAY), 2);
	assert_false(f.is_proven);
}

static int set_up(void **state)
{
	struct object object = {.kind = OBJECT_ELF, .file_id = 1, .path = (char *)"/proc/self/exe"};
	const struct walks_in_process_options options = {0};
	struct caller_check_options steps;
	const struct object *added;
	int fd = open(object.path, O_RDONLY | O_CLOEXEC);

	(void)state;
	f.map = self_map_new();
	assert_int_equal(object_table_new("/proc", &f.objects), 0);
	assert_int_equal(elf_file_open(fd, &object.elf), 0);
	close(fd);
	assert_int_equal(object_table_add(f.objects, &object, &added), 0);
	assert_int_equal(location_table_new(&f.locations), 0);
	assert_int_equal(walks_in_process_new(&options, &f.walks), 0);
	steps = (struct caller_check_options){.objects = f.objects,
					      .locations = f.locations,
					      .walks = f.walks,
					      .clock = next_time};
	assert_int_equal(caller_check_new(&steps, &f.steps), 0);
	f.check = (struct root_check){.check = f.steps,
				      .objects = f.objects,
				      .locations = f.locations,
				      .mappings_of = mappings_of};
	f.expected = STACKD_END_UNPROVEN_ROOT;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	root_check_fini(&f.check);
	caller_check_free(f.steps);
	walks_free(f.walks);
	location_table_free(f.locations);
	object_table_free(f.objects);
	self_map_free(f.map);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_root_at_zero),	      cmocka_unit_test(test_root_away),
		cmocka_unit_test(test_many_locals),	      cmocka_unit_test(test_code_not_read),
		cmocka_unit_test(test_root_on_another_stack), cmocka_unit_test(test_no_time_left),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
