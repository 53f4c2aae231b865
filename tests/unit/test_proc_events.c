/* SPDX-License-Identifier: MIT */
/* Events, applied in order, update processes, threads and mappings. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "proc/process.h"
#include "proc/process_table.h"
#include "test_proc_fixture.h"

#define SECOND_NS UINT64_C(1000000000)

struct context {
	struct fixture *f;
	struct object_table *objects;
	struct process_table *table;
	char *a, *b; /* two ELF files, build-ids 0xaa.. and 0xbb.. */
};

static int set_up(void **state)
{
	struct context *c = calloc(1, sizeof(*c));

	c->f = fixture_new();
	assert_int_equal(object_table_new(c->f->proc, &c->objects), 0);
	assert_int_equal(process_table_new(c->objects, c->f->proc, &c->table), 0);
	c->a = fixture_elf_file(c->f, "lib/a.so", 0xaa);
	c->b = fixture_elf_file(c->f, "lib/b.so", 0xbb);
	*state = c;
	return 0;
}

static int tear_down(void **state)
{
	struct context *c = *state;

	process_table_free(c->table);
	object_table_free(c->objects);
	fixture_free(c->f);
	free(c->a);
	free(c->b);
	free(c);
	return 0;
}

static void map(struct context *c, pid_t pid, const char *path, uint64_t start, uint64_t size)
{
	struct object_mapping m = fixture_mapping(path, start);

	m.end = start + size;
	assert_int_equal(process_table_on_mmap(c->table, pid, &m), 0);
}

static void map_jit(struct context *c, pid_t pid, uint64_t start, uint64_t size)
{
	struct object_mapping m = {.start = start, .end = start + size, .path = "//anon"};

	assert_int_equal(process_table_on_mmap(c->table, pid, &m), 0);
}

/* The first byte of the build-id that is mapped at an address, and the file offset; 0: none. */
static unsigned at(struct context *c, pid_t pid, uint64_t address, uint64_t *ret_offset)
{
	const struct mapping *m = process_table_mapping(c->table, pid, address);

	if (!m)
		return 0;
	assert_true(m->start <= address && address < m->end);
	if (ret_offset)
		*ret_offset = address - m->start + m->offset;
	return m->object->kind == OBJECT_JIT ? 'j' : m->object->build_id[0];
}

static char *maps_line(const char *path, uint64_t start, uint64_t end)
{
	struct object_mapping m = fixture_mapping(path, start);

	return fixture_format("%lx-%lx r-xp 00001000 %02x:%02x %lu    %s\n", start, end,
			      m.dev_major, m.dev_minor, m.inode, path);
}

static void test_replace_and_cut(void **state)
{
	struct context *c = *state;
	uint64_t offset;

	assert_int_equal(at(c, 7, 0x10000, NULL), 0);
	map(c, 7, c->a, 0x10000, 0x8000);
	assert_int_equal(at(c, 7, 0x10000, &offset), 0xaa);
	assert_int_equal(offset, fixture_code_offset());
	assert_int_equal(at(c, 7, 0x17fff, &offset), 0xaa);
	assert_int_equal(offset, fixture_code_offset() + 0x7fff);
	assert_int_equal(at(c, 7, 0x18000, NULL), 0);
	assert_int_equal(at(c, 7, 0xffff, NULL), 0);

	/* dlclose, then dlopen of another library at the same address */
	map(c, 7, c->b, 0x12000, 0x1000);
	assert_int_equal(at(c, 7, 0x11fff, NULL), 0xaa);
	assert_int_equal(at(c, 7, 0x12000, &offset), 0xbb);
	assert_int_equal(offset, fixture_code_offset());
	assert_int_equal(at(c, 7, 0x13000, &offset), 0xaa);
	assert_int_equal(offset, fixture_code_offset() + 0x3000);
	map(c, 7, c->b, 0x10000, 0x8000);
	assert_int_equal(at(c, 7, 0x13000, NULL), 0xbb);

	/* A mapping without code still replaces those below it. */
	struct object_mapping uprobes = {.start = 0x11000, .end = 0x12000, .path = "[uprobes]"};
	assert_int_equal(process_table_on_mmap(c->table, 7, &uprobes), 0);
	assert_int_equal(at(c, 7, 0x11000, NULL), 0);
	assert_int_equal(at(c, 7, 0x10fff, NULL), 0xbb);
	assert_int_equal(at(c, 8, 0x10fff, NULL), 0);
}

static void test_jit_offset_is_address(void **state)
{
	struct context *c = *state;
	uint64_t offset;
	struct object_mapping vdso = {.start = 0x7ffff7fc0000,
				      .end = 0x7ffff7fc2000,
				      .offset = 0x7ffff7fc0000,
				      .path = "[vdso]"};

	map_jit(c, 7, 0x10000, 0x2000);
	assert_int_equal(at(c, 7, 0x11234, &offset), 'j');
	assert_int_equal(offset, 0x11234);
	assert_int_equal(process_table_on_mmap(c->table, 7, &vdso), 0);
	const struct mapping *m = process_table_mapping(c->table, 7, 0x7ffff7fc0040);
	assert_non_null(m);
	assert_int_equal(m->object->kind, OBJECT_VDSO);
	assert_int_equal(m->offset, 0);
}

static void test_fork_then_exec(void **state)
{
	struct context *c = *state;

	assert_int_equal(process_table_on_comm(c->table, 7, 7, "sh", true), 0);
	map(c, 7, c->a, 0x10000, 0x1000);
	uint32_t parent = process_table_process(c->table, 7)->number;
	assert_int_equal(process_table_on_fork(c->table, 8, 8, 7, 7), 0);
	const struct process *child = process_table_process(c->table, 8);
	uint32_t forked = child->number, thread = process_table_thread(c->table, 8, 8)->number;
	assert_true(forked != parent);
	assert_int_equal(child->parent, 7);
	assert_string_equal(child->comm, "sh");
	assert_string_equal(child->exe, c->a);
	assert_int_equal(at(c, 8, 0x10000, NULL), 0xaa);

	/* Each goes its own way. */
	map(c, 8, c->b, 0x20000, 0x1000);
	assert_int_equal(at(c, 8, 0x20000, NULL), 0xbb);
	assert_int_equal(at(c, 7, 0x20000, NULL), 0);
	map(c, 7, c->b, 0x10000, 0x1000);
	assert_int_equal(at(c, 8, 0x10000, NULL), 0xaa);

	assert_int_equal(process_table_on_comm(c->table, 8, 8, "ls", true), 0);
	assert_int_equal(at(c, 8, 0x10000, NULL), 0);
	map(c, 8, c->b, 0x30000, 0x1000);
	map(c, 8, c->a, 0x40000, 0x1000); /* the interpreter: not the executable */
	child = process_table_process(c->table, 8);
	assert_true(child->number != forked);
	assert_int_equal(child->parent, 7);
	assert_string_equal(child->comm, "ls");
	assert_string_equal(child->exe, c->b);
	assert_false(child->exited);
	assert_true(process_table_process_at(c->table, forked)->exited);
	assert_string_equal(process_table_process_at(c->table, forked)->comm, "sh");
	const struct thread *now = process_table_thread(c->table, 8, 8);
	assert_true(now->number != thread);
	assert_int_equal(now->process, child->number);
	assert_string_equal(process_table_thread_at(c->table, thread)->comm, "sh");
	assert_int_equal(at(c, 7, 0x10000, NULL), 0xbb);
}

static void test_threads(void **state)
{
	struct context *c = *state;

	assert_int_equal(process_table_on_comm(c->table, 7, 7, "main", true), 0);
	map(c, 7, c->a, 0x10000, 0x1000);
	uint32_t process = process_table_process(c->table, 7)->number;
	assert_int_equal(process_table_on_fork(c->table, 7, 9, 7, 7), 0);
	const struct thread *t = process_table_thread(c->table, 7, 9);
	uint32_t first = t->number;
	assert_string_equal(t->comm, "main");
	assert_int_equal(t->process, process);
	assert_int_equal(t->tid, 9);

	assert_int_equal(process_table_on_comm(c->table, 7, 9, "worker-with-a-long-name", false),
			 0);
	t = process_table_thread(c->table, 7, 9);
	assert_true(t->number != first);
	assert_string_equal(t->comm, "worker-with-a-l");
	assert_string_equal(process_table_thread_at(c->table, first)->comm, "main");
	uint32_t second = t->number, count = process_table_thread_count(c->table);
	assert_int_equal(process_table_on_comm(c->table, 7, 9, "worker-with-a-long-name", false),
			 0);
	assert_int_equal(process_table_thread(c->table, 7, 9)->number, second);
	assert_int_equal(process_table_thread_count(c->table), count);
	assert_string_equal(process_table_process(c->table, 7)->comm, "main");
	assert_int_equal(process_table_on_comm(c->table, 7, 7, "boss", false), 0);
	assert_string_equal(process_table_process(c->table, 7)->comm, "boss");
	assert_int_equal(process_table_process(c->table, 7)->number, process);

	/* The main thread ends first: the process goes on. */
	assert_int_equal(process_table_on_exit(c->table, 7, 7), 0);
	assert_false(process_table_process(c->table, 7)->exited);
	assert_int_equal(at(c, 7, 0x10000, NULL), 0xaa);
	assert_int_equal(process_table_on_exit(c->table, 7, 9), 0);
	assert_true(process_table_process(c->table, 7)->exited);

	/* A sample taken in the exit still has its names and mappings. */
	assert_int_equal(at(c, 7, 0x10000, NULL), 0xaa);
	assert_int_equal(process_table_thread(c->table, 7, 9)->number, second);
	assert_int_equal(process_table_process(c->table, 7)->number, process);
}

/* exec in a thread takes over the main thread's tid; the others' exits are no end of it. */
static void test_exec_in_a_thread(void **state)
{
	struct context *c = *state;

	assert_int_equal(process_table_on_comm(c->table, 7, 7, "old", true), 0);
	map(c, 7, c->b, 0x10000, 0x1000);
	assert_int_equal(process_table_on_fork(c->table, 7, 9, 7, 7), 0);
	assert_int_equal(process_table_on_fork(c->table, 7, 10, 7, 7), 0);
	assert_int_equal(process_table_on_exit(c->table, 7, 7), 0);
	assert_int_equal(process_table_on_comm(c->table, 7, 7, "new", true), 0);
	uint32_t number = process_table_process(c->table, 7)->number;
	assert_int_equal(process_table_on_exit(c->table, 7, 10), 0); /* comes late */
	assert_int_equal(process_table_process(c->table, 7)->number, number);
	assert_false(process_table_process(c->table, 7)->exited);
	map(c, 7, c->a, 0x10000, 0x1000);
	assert_int_equal(at(c, 7, 0x10000, NULL), 0xaa);
	assert_int_equal(process_table_on_exit(c->table, 7, 7), 0);
	assert_true(process_table_process(c->table, 7)->exited);
}

/* At the exec of a setuid program the kernel reports an exit of the thread that goes on. */
static void test_exec_that_ends_events(void **state)
{
	struct context *c = *state;

	assert_int_equal(process_table_on_comm(c->table, 7, 7, "sudo", true), 0);
	assert_int_equal(process_table_on_exit(c->table, 7, 7), 1);
	assert_false(process_table_process(c->table, 7)->exited);
	uint32_t number = process_table_process(c->table, 7)->number;
	map(c, 7, c->a, 0x10000, 0x1000);
	assert_int_equal(at(c, 7, 0x10000, NULL), 0xaa);
	assert_int_equal(process_table_process(c->table, 7)->number, number);
	assert_int_equal(process_table_on_exit(c->table, 7, 7), 0);
	assert_true(process_table_process(c->table, 7)->exited);

	/* One that fails before anything is mapped ends with the second exit, if not the first. */
	assert_int_equal(process_table_on_comm(c->table, 8, 8, "bad", true), 0);
	assert_int_equal(process_table_on_exit(c->table, 8, 8), 1);
	assert_int_equal(process_table_on_exit(c->table, 8, 8), 0);
	assert_true(process_table_process(c->table, 8)->exited);
}

static void test_pid_reuse(void **state)
{
	struct context *c = *state;

	assert_int_equal(process_table_on_comm(c->table, 1, 1, "init", true), 0);
	map(c, 1, c->b, 0x10000, 0x1000);
	assert_int_equal(process_table_on_fork(c->table, 8, 8, 1, 1), 0);
	assert_int_equal(process_table_on_comm(c->table, 8, 8, "one", true), 0);
	map(c, 8, c->a, 0x10000, 0x1000);
	map_jit(c, 8, 0x90000, 0x1000);
	const struct object *jit = process_table_mapping(c->table, 8, 0x90000)->object;
	uint32_t one = process_table_process(c->table, 8)->number;
	uint32_t thread = process_table_thread(c->table, 8, 8)->number;
	assert_int_equal(process_table_on_exit(c->table, 8, 8), 0);
	assert_int_equal(process_table_on_fork(c->table, 8, 8, 1, 1), 0);
	const struct process *two = process_table_process(c->table, 8);
	assert_true(two->number != one);
	assert_string_equal(two->comm, "init");
	assert_false(two->exited);
	assert_int_equal(at(c, 8, 0x10000, NULL), 0xbb);
	assert_int_equal(at(c, 8, 0x90000, NULL), 0);
	map_jit(c, 8, 0x90000, 0x1000);
	assert_ptr_not_equal(process_table_mapping(c->table, 8, 0x90000)->object, jit);
	assert_true(process_table_thread(c->table, 8, 8)->number != thread);
	assert_string_equal(process_table_process_at(c->table, one)->comm, "one");

	/* The exit event was lost: the next fork of that pid implies it. */
	uint32_t count = process_table_process_count(c->table);
	assert_int_equal(process_table_on_fork(c->table, 8, 8, 1, 1), 0);
	assert_int_equal(process_table_process(c->table, 8)->number, count);
}

/* fork() copies a parent's JIT code, but the child can write other code over it. */
static void test_jit_after_fork_and_exec(void **state)
{
	struct context *c = *state;
	uint64_t offset;

	assert_int_equal(process_table_on_comm(c->table, 7, 7, "node", true), 0);
	map_jit(c, 7, 0x90000, 0x1000);
	assert_int_equal(process_table_on_fork(c->table, 8, 8, 7, 7), 0);
	uint32_t objects = object_table_count(c->objects);
	assert_int_equal(at(c, 8, 0x90010, &offset), 'j');
	assert_int_equal(offset, 0x90010);
	assert_int_equal(object_table_count(c->objects), objects + 1);
	assert_int_equal(process_table_mapping(c->table, 8, 0x90010)->object->owner.pid, 8);
	const struct object *before = process_table_mapping(c->table, 7, 0x90010)->object;
	assert_int_equal(before->owner.pid, 7);

	/* After exec it is other code, too. */
	assert_int_equal(process_table_on_comm(c->table, 7, 7, "node", true), 0);
	map_jit(c, 7, 0x90000, 0x1000);
	assert_true(process_table_mapping(c->table, 7, 0x90010)->object->file_id !=
		    before->file_id);
}

/* Events that were queued while /proc was read come after it, and change nothing. */
static void test_events_older_than_the_load(void **state)
{
	struct context *c = *state;
	char *maps = maps_line(c->a, 0x10000, 0x11000);

	fixture_process(c->f, 1, 0, 1, "init", "");
	fixture_process(c->f, 8, 1, 500, "app", maps);
	fixture_write_pid(c->f, 8, "task/9/comm", "helper\n");
	assert_int_equal(process_table_load_all(c->table, NULL, NULL), 2);
	const struct process *p = process_table_process(c->table, 8);
	uint32_t number = p->number, threads = process_table_thread_count(c->table);
	assert_string_equal(p->comm, "app");
	assert_int_equal(p->parent, 1);
	assert_int_equal(threads, 3);

	assert_int_equal(process_table_on_fork(c->table, 8, 8, 1, 1), 0);
	assert_int_equal(process_table_on_fork(c->table, 8, 9, 8, 8), 0);
	map(c, 8, c->a, 0x10000, 0x1000);
	assert_int_equal(process_table_process(c->table, 8)->number, number);
	assert_int_equal(process_table_thread_count(c->table), threads);
	assert_string_equal(process_table_thread(c->table, 8, 9)->comm, "helper");
	assert_int_equal(at(c, 8, 0x10000, NULL), 0xaa);

	/* The next fork is another's, and so is a first one if the start time has changed. */
	assert_int_equal(process_table_on_fork(c->table, 8, 8, 1, 1), 0);
	assert_true(process_table_process(c->table, 8)->number != number);
	fixture_process(c->f, 1, 0, 77, "init", "");
	uint32_t init = process_table_process(c->table, 1)->number;
	assert_int_equal(process_table_on_fork(c->table, 1, 1, 8, 8), 0);
	assert_true(process_table_process(c->table, 1)->number != init);
	free(maps);
}

static void test_load(void **state)
{
	struct context *c = *state;
	char *line_a = maps_line(c->a, 0x10000, 0x11000),
	     *line_b = maps_line(c->b, 0x10000, 0x11000);

	assert_int_equal(process_table_load(c->table, 8), -ESRCH);
	assert_int_equal(process_table_process_count(c->table), 0);
	fixture_process(c->f, 8, 1, 500, "app", line_a);
	assert_int_equal(process_table_load(c->table, 8), 0);
	assert_int_equal(at(c, 8, 0x10000, NULL), 0xaa);
	uint32_t number = process_table_process(c->table, 8)->number;
	fixture_write_pid(c->f, 8, "maps", line_b);
	assert_int_equal(process_table_load(c->table, 8), 0);
	assert_int_equal(at(c, 8, 0x10000, NULL), 0xbb);
	assert_int_equal(process_table_process(c->table, 8)->number, number);

	/* It is ending: its memory is gone already, its samples may still come. */
	fixture_write_pid(c->f, 8, "maps", "");
	assert_int_equal(process_table_load(c->table, 8), -ESRCH);
	assert_int_equal(at(c, 8, 0x10000, NULL), 0xbb);

	/* The pid is another process's by now. */
	fixture_process(c->f, 8, 1, 900, "next", line_a);
	assert_int_equal(process_table_load(c->table, 8), 0);
	assert_true(process_table_process(c->table, 8)->number != number);
	assert_true(process_table_process_at(c->table, number)->exited);
	assert_string_equal(process_table_process(c->table, 8)->comm, "next");
	free(line_a);
	free(line_b);
}

/* The main thread is a zombie, another thread lives: the mappings are the other's. */
static void test_zombie_leader(void **state)
{
	struct context *c = *state;
	char *line = maps_line(c->a, 0x10000, 0x11000);

	fixture_process(c->f, 9, 1, 500, "worker", line); /* by its tid */
	fixture_process(c->f, 8, 1, 500, "app", "");
	fixture_write_pid(c->f, 8, "task/9/comm", "worker\n");
	fixture_write_pid(c->f, 8, "stat", "8 (app) Z 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 500 0\n");
	assert_int_equal(process_table_load(c->table, 8), 0);
	assert_int_equal(at(c, 8, 0x10000, NULL), 0xaa);

	/* A zombie process has a name, and nothing else. */
	fixture_process(c->f, 20, 1, 600, "dead", "");
	fixture_write_pid(c->f, 20, "stat",
			  "20 (dead) Z 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 600 0\n");
	assert_int_equal(process_table_load(c->table, 20), -ESRCH);
	assert_string_equal(process_table_process(c->table, 20)->comm, "dead");
	assert_true(process_table_process(c->table, 20)->exited);
	free(line);
}

/* An exit was counted too early (a thread was unknown): /proc shows that it lives. */
static void test_revived(void **state)
{
	struct context *c = *state;
	char *line = maps_line(c->a, 0x10000, 0x11000);

	fixture_process(c->f, 8, 1, 500, "app", line);
	assert_int_equal(process_table_load(c->table, 8), 0);
	uint32_t number = process_table_process(c->table, 8)->number;
	uint32_t thread = process_table_thread(c->table, 8, 8)->number;
	assert_int_equal(process_table_on_exit(c->table, 8, 8), 0);
	assert_true(process_table_process(c->table, 8)->exited);
	assert_int_equal(at(c, 8, 0x10000, NULL), 0xaa);
	assert_false(process_table_process(c->table, 8)->exited);
	assert_int_equal(process_table_process(c->table, 8)->number, number);
	assert_int_equal(process_table_thread(c->table, 8, 8)->number, thread);

	assert_int_equal(process_table_on_exit(c->table, 8, 8), 0);
	fixture_process_gone(c->f, 8);
	assert_int_equal(at(c, 8, 0x10000, NULL), 0xaa);
	assert_true(process_table_process(c->table, 8)->exited);
	free(line);
}

static bool shares(void *arg, pid_t pid, pid_t parent)
{
	return *(const bool *)arg && pid == parent + 1;
}

/* The event of an exec, which arrives while /proc is read. */
struct arrival {
	struct context *c;
	pid_t pid;	  /* 0: none arrives */
	int error, calls; /* what reading the events returns */
};

static int arrive(void *arg)
{
	struct arrival *a = arg;

	a->calls++;
	return a->pid && a->calls == 1 ? process_table_await_exec(a->c->table, a->pid) : a->error;
}

/* Process 8 runs "old", whose code is c->a. /proc has "new" already, whose code is c->b. */
static void run_next(struct context *c, const char *old_maps, const char *new_maps)
{
	fixture_process(c->f, 8, 1, 500, "old", old_maps);
	fixture_write_pid(c->f, 8, "task/9/comm", "helper\n");
	assert_int_equal(process_table_load(c->table, 8), 0);
	fixture_process(c->f, 8, 1, 500, "new", new_maps);
	fixture_write_pid(c->f, 8, "task/9/comm", "other\n");
	fixture_write_pid(c->f, 8, "task/10/comm", "other\n");
}

static void check_old(struct context *c, uint32_t threads)
{
	assert_int_equal(at(c, 8, 0x10000, NULL), 0xaa);
	assert_int_equal(at(c, 8, 0x20000, NULL), 0);
	assert_string_equal(process_table_process(c->table, 8)->comm, "old");
	assert_string_equal(process_table_thread(c->table, 8, 9)->comm, "helper");
	assert_int_equal(process_table_thread_count(c->table), threads);
}

/* An exec between the moment of the table and the reading of /proc: nothing of the next program is
 * taken for the present one, whether its event was read before or arrives meanwhile. */
static void test_exec_while_loading(void **state)
{
	struct context *c = *state;
	char *old_maps = maps_line(c->a, 0x10000, 0x11000),
	     *new_maps = maps_line(c->b, 0x20000, 0x21000);
	struct arrival arrival = {.c = c, .pid = 8};

	run_next(c, old_maps, new_maps);
	const uint32_t threads = process_table_thread_count(c->table);
	process_table_drain_by(c->table, arrive, &arrival);
	assert_int_equal(process_table_reload(c->table, 8), -EBUSY);
	assert_int_equal(arrival.calls, 1);
	check_old(c, threads);
	assert_int_equal(process_table_reload(c->table, 8), -EBUSY);
	assert_int_equal(process_table_load(c->table, 8), -EBUSY);
	check_old(c, threads);
	/* A thread that no event has named: the name in /proc is the next program's. */
	assert_string_equal(process_table_thread(c->table, 8, 10)->comm, "old");

	/* It has ended by a wrong count: the next program does not bring it back. */
	for (pid_t tid = 8; tid <= 10; tid++)
		assert_int_equal(process_table_on_exit(c->table, 8, tid), 0);
	assert_int_equal(at(c, 8, 0x10000, NULL), 0xaa);
	assert_int_equal(at(c, 8, 0x20000, NULL), 0);
	assert_true(process_table_process(c->table, 8)->exited);

	/* Events of a process that has ended begin it again, without the next one's mappings. */
	map(c, 8, c->a, 0x30000, 0x1000);
	assert_int_equal(at(c, 8, 0x20000, NULL), 0);
	assert_int_equal(at(c, 8, 0x30000, NULL), 0xaa);

	/* After the exec was applied, /proc is the present. */
	process_table_meet_exec(c->table, 8);
	assert_int_equal(process_table_on_comm(c->table, 8, 8, "new", true), 0);
	assert_int_equal(process_table_reload(c->table, 8), 0);
	assert_int_equal(at(c, 8, 0x20000, NULL), 0xbb);
	assert_string_equal(process_table_thread(c->table, 8, 10)->comm, "other");
	free(old_maps);
	free(new_maps);
}

/* Events that cannot be read: the same. */
static void test_error_while_loading(void **state)
{
	struct context *c = *state;
	char *old_maps = maps_line(c->a, 0x10000, 0x11000),
	     *new_maps = maps_line(c->b, 0x20000, 0x21000);
	struct arrival arrival = {.c = c, .error = -EIO};

	run_next(c, old_maps, new_maps);
	process_table_drain_by(c->table, arrive, &arrival);
	assert_int_equal(process_table_reload(c->table, 8), -EIO);
	check_old(c, process_table_thread_count(c->table));
	free(old_maps);
	free(new_maps);
}

/* A process that shares its memory with another one has an exec: the other's mappings stay. */
static void test_exec_while_loading_shared(void **state)
{
	struct context *c = *state;
	char *old_maps = maps_line(c->a, 0x10000, 0x11000),
	     *new_maps = maps_line(c->b, 0x20000, 0x21000);
	struct arrival arrival = {.c = c, .pid = 9};
	bool is_shared = true;

	process_table_share_by(c->table, shares, &is_shared);
	fixture_process(c->f, 8, 1, 500, "old", old_maps);
	assert_int_equal(process_table_load(c->table, 8), 0);
	assert_int_equal(process_table_on_fork(c->table, 9, 9, 8, 8), 0);
	assert_int_equal(at(c, 9, 0x10000, NULL), 0xaa);
	fixture_process(c->f, 9, 8, 600, "new", new_maps);
	process_table_drain_by(c->table, arrive, &arrival);
	assert_int_equal(process_table_reload(c->table, 9), -EBUSY);
	for (pid_t pid = 8; pid <= 9; pid++) {
		assert_int_equal(at(c, pid, 0x10000, NULL), 0xaa);
		assert_int_equal(at(c, pid, 0x20000, NULL), 0);
	}
	/* They are still one memory. */
	map(c, 8, c->b, 0x40000, 0x1000);
	assert_int_equal(at(c, 9, 0x40000, NULL), 0xbb);
	free(old_maps);
	free(new_maps);
}

/* A program that gains rights is read again between its exec and the exit that the kernel reports
 * then: the process goes on. */
static void test_load_within_exec(void **state)
{
	struct context *c = *state;
	char *maps = maps_line(c->a, 0x10000, 0x11000);

	fixture_process(c->f, 8, 1, 500, "sh", "");
	assert_int_equal(process_table_load(c->table, 8), 0);
	assert_int_equal(process_table_on_comm(c->table, 8, 8, "su", true), 0);
	fixture_process(c->f, 8, 1, 500, "su", maps);
	assert_int_equal(process_table_load(c->table, 8), 0);
	assert_int_equal(process_table_on_exit(c->table, 8, 8), 1);
	assert_false(process_table_process(c->table, 8)->exited);
	assert_int_equal(at(c, 8, 0x10000, NULL), 0xaa);
	assert_int_equal(process_table_on_exit(c->table, 8, 8), 0);
	assert_true(process_table_process(c->table, 8)->exited);
	free(maps);
}

/* Mappings of processes that have ended are kept for samples of their exits, and not for ever. */
static void test_ended_mappings(void **state)
{
	struct context *c = *state;
	const pid_t later = 1000;

	assert_int_equal(process_table_on_comm(c->table, 7, 7, "app", true), 0);
	map(c, 7, c->a, 0x10000, 0x1000);
	assert_int_equal(process_table_on_exit(c->table, 7, 7), 0);
	for (pid_t pid = later; pid < later + PROCESS_TABLE_MAPPINGS_KEPT; pid++) {
		assert_int_equal(at(c, 7, 0x10000, NULL), 0xaa);
		assert_int_equal(process_table_on_comm(c->table, pid, pid, "app", true), 0);
		map(c, pid, c->b, 0x10000, 0x1000);
		assert_int_equal(process_table_on_exit(c->table, pid, pid), 0);
	}
	assert_int_equal(at(c, 7, 0x10000, NULL), 0);
	assert_int_equal(at(c, later, 0x10000, NULL), 0xbb);

	/* Another process with its pid has none of them. */
	assert_int_equal(process_table_on_fork(c->table, later, later, 1, 1), 0);
	assert_int_equal(at(c, later, 0x10000, NULL), 0);
}

static void test_unknown_process(void **state)
{
	struct context *c = *state;
	char *line = maps_line(c->a, 0x10000, 0x11000);

	assert_string_equal(process_table_process(c->table, 4000)->comm, ":4000");
	assert_string_equal(process_table_thread(c->table, 0, 0)->comm, "swapper");
	assert_int_equal(at(c, 4000, 0x10000, NULL), 0);
	assert_int_equal(process_table_process_count(c->table), 2);
	assert_int_equal(process_table_on_exit(c->table, 4001, 4001), 0);
	assert_int_equal(process_table_process_count(c->table), 2);

	/* A sample's, an event's, a parent's: each is looked up in /proc first. */
	fixture_process(c->f, 30, 1, 5, "there", line);
	fixture_process(c->f, 31, 1, 5, "there", line);
	fixture_process(c->f, 32, 1, 5, "there", line);
	assert_int_equal(at(c, 30, 0x10000, NULL), 0xaa);
	map(c, 31, c->b, 0x20000, 0x1000);
	assert_int_equal(at(c, 31, 0x10000, NULL), 0xaa);
	assert_int_equal(at(c, 31, 0x20000, NULL), 0xbb);
	assert_int_equal(process_table_on_fork(c->table, 33, 33, 32, 32), 0);
	assert_int_equal(at(c, 33, 0x10000, NULL), 0xaa);
	assert_string_equal(process_table_process(c->table, 33)->comm, "there");
	assert_int_equal(process_table_on_comm(c->table, 34, 34, "exec", true), 0);
	assert_string_equal(process_table_process(c->table, 34)->comm, "exec");

	/* An unknown thread of a process that has ended does not revive it. */
	fixture_process_gone(c->f, 30);
	assert_int_equal(process_table_on_exit(c->table, 30, 30), 0);
	assert_string_equal(process_table_thread(c->table, 30, 35)->comm, "there");
	assert_true(process_table_process(c->table, 30)->exited);
	free(line);
}

/* Mappings at ever new addresses, which are unmapped again without an event. */
static void test_bounded_mappings(void **state)
{
	struct context *c = *state;
	char *line = maps_line(c->a, 0x10000, 0x11000);

	fixture_process(c->f, 8, 1, 500, "app", line);
	assert_int_equal(process_table_load(c->table, 8), 0);
	for (uint64_t i = 1; i <= 40000; i++)
		map_jit(c, 8, i << 20, 0x1000);
	assert_int_equal(at(c, 8, 0x10000, NULL), 0xaa);
	assert_int_equal(at(c, 8, UINT64_C(40000) << 20, NULL), 'j');
	assert_int_equal(at(c, 8, UINT64_C(1) << 20, NULL), 0);
	free(line);
}

/* Entries of ended processes stay; the index that finds them by pid drops them. */
static void test_many_short_processes(void **state)
{
	struct context *c = *state;

	assert_int_equal(process_table_on_comm(c->table, 1, 1, "init", true), 0);
	map(c, 1, c->a, 0x10000, 0x1000);
	for (int pid = 100; pid < 20100; pid++) {
		assert_int_equal(process_table_on_fork(c->table, pid, pid, 1, 1), 0);
		assert_int_equal(process_table_on_exit(c->table, pid, pid), 0);
	}
	assert_int_equal(process_table_process_count(c->table), 20001);
	assert_int_equal(process_table_process_at(c->table, 1)->pid, 100);
	assert_true(process_table_process_at(c->table, 1)->exited);
	assert_null(process_table_process_at(c->table, 20001));
	assert_null(process_table_thread_at(c->table, 20001));
	assert_int_equal(process_table_forgotten(c->table).processes, 20000 - 4096);
	assert_int_equal(process_table_forgotten(c->table).threads, 20000 - 4096);
	/* The last is still known, the first is not. */
	assert_string_equal(process_table_process(c->table, 20099)->comm, "init");
	assert_string_equal(process_table_process(c->table, 100)->comm, ":100");
}

/* A thread that nobody has heard of forks: its children have the name of its process, whose record
 * moves with each time that there is no room for another. */
static void test_forks_of_an_unknown_thread(void **state)
{
	struct context *c = *state;

	assert_int_equal(process_table_on_comm(c->table, 1, 1, "init", true), 0);
	for (int pid = 100; pid < 3000; pid++) {
		assert_int_equal(
			process_table_on_fork(c->table, pid, pid, pid == 100 ? 1 : pid - 1, 77777),
			0);
		assert_string_equal(process_table_process(c->table, pid)->comm, "init");
		assert_string_equal(process_table_thread(c->table, pid, pid)->comm, "init");
	}
}

/* What runs keeps its names under new numbers, and so does what has ended just now. */
static void test_renumber(void **state)
{
	struct context *c = *state;
	const struct thread *thread;

	for (int i = 0; i < 10000; i++) {
		assert_int_equal(process_table_on_fork(c->table, 100 + i, 100 + i, 1, 1), 0);
		assert_int_equal(process_table_on_comm(c->table, 100 + i, 100 + i, "short", false),
				 0);
		if (i != 7)
			assert_int_equal(process_table_on_exit(c->table, 100 + i, 100 + i), 0);
	}
	assert_true(process_table_process_count(c->table) >= 10000);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(process_table_renumber(c->table), 0);
		assert_true(process_table_process_count(c->table) < 4200);
		assert_true(process_table_thread_count(c->table) < 4200);
	}
	for (uint32_t i = 0; i < process_table_process_count(c->table); i++)
		assert_int_equal(process_table_process_at(c->table, i)->number, i);
	for (uint32_t i = 0; i < process_table_thread_count(c->table); i++) {
		thread = process_table_thread_at(c->table, i);
		assert_int_equal(thread->number, i);
		assert_int_equal(process_table_process_at(c->table, thread->process)->pid,
				 thread->tid);
	}
	thread = process_table_thread(c->table, 107, 107);
	assert_string_equal(thread->comm, "short");
	assert_true(process_table_knows(c->table, 107));
	thread = process_table_thread(c->table, 10099, 10099);
	assert_string_equal(thread->comm, "short");
	assert_false(process_table_knows(c->table, 10099));
	/* As many again push out all that had ended before. */
	for (int i = 0; i < 5000; i++) {
		assert_int_equal(process_table_on_fork(c->table, 50000 + i, 50000 + i, 1, 1), 0);
		assert_int_equal(process_table_on_exit(c->table, 50000 + i, 50000 + i), 0);
	}
	assert_int_equal(process_table_renumber(c->table), 0);
	assert_string_equal(process_table_process(c->table, 10099)->comm, ":10099");
	assert_string_equal(process_table_process(c->table, 107)->comm, "short");
}

/* --- processes that share their memory ------------------------------------------------------- */

/* Child and parent, while the argument says that they share it. */
static const char *path_at(struct context *c, pid_t pid, uint64_t address)
{
	const struct mapping *m = process_table_mapping(c->table, pid, address);

	return m ? m->object->path : NULL;
}

/* What one of them maps, both have, and others do not. After exec, or with the end of one, the
 * other one's mappings are its own. */
static void test_shared_memory(void **state)
{
	struct context *c = *state;
	bool is_shared = true;

	process_table_share_by(c->table, shares, &is_shared);
	assert_int_equal(process_table_on_comm(c->table, 10, 10, "parent", true), 0);
	map(c, 10, c->a, 0x10000, 0x1000);
	assert_int_equal(process_table_on_fork(c->table, 11, 11, 10, 10), 0);
	is_shared = false;
	assert_int_equal(process_table_on_fork(c->table, 12, 12, 10, 10), 0);
	map(c, 11, c->b, 0x20000, 0x1000);
	assert_string_equal(path_at(c, 10, 0x20000), c->b);
	assert_string_equal(path_at(c, 11, 0x20000), c->b);
	assert_null(path_at(c, 12, 0x20000));
	map(c, 10, c->b, 0x10000, 0x1000);
	assert_string_equal(path_at(c, 11, 0x10000), c->b);
	assert_string_equal(path_at(c, 12, 0x10000), c->a);
	assert_int_equal(process_table_on_comm(c->table, 11, 11, "child", true), 0);
	assert_null(path_at(c, 11, 0x10000));
	map(c, 11, c->a, 0x30000, 0x1000);
	assert_null(path_at(c, 10, 0x30000));
	assert_string_equal(path_at(c, 10, 0x20000), c->b);
}

/* Code without a file is one process's: of whichever mapped it, while that lives. */
static void test_shared_code(void **state)
{
	struct context *c = *state;
	bool is_shared = true;
	uint32_t object;

	process_table_share_by(c->table, shares, &is_shared);
	assert_int_equal(process_table_on_comm(c->table, 20, 20, "parent", true), 0);
	map(c, 20, c->a, 0x10000, 0x1000);
	assert_int_equal(process_table_on_fork(c->table, 21, 21, 20, 20), 0);
	map_jit(c, 21, 0x40000, 0x1000);
	object = process_table_mapping(c->table, 21, 0x40000)->object->number;
	assert_int_equal(process_table_mapping(c->table, 20, 0x40000)->object->number, object);
	assert_int_equal(process_table_mapping(c->table, 21, 0x40000)->object->number, object);
	assert_int_equal(process_table_on_exit(c->table, 21, 21), 0);
	assert_int_not_equal(process_table_mapping(c->table, 20, 0x40000)->object->number, object);
	assert_int_equal(process_table_mapping(c->table, 20, 0x40000)->object->owner.pid, 20);
}

/* Events were lost, perhaps that of an exec: what was known is used no more. */
static void test_lost(void **state)
{
	struct context *c = *state;
	char *old_maps = maps_line(c->a, 0x10000, 0x11000),
	     *new_maps = maps_line(c->b, 0x20000, 0x21000);

	run_next(c, old_maps, new_maps);
	assert_int_equal(process_table_on_fork(c->table, 12, 12, 8, 8), 0);
	assert_false(process_table_is_doubted(c->table, 8, SECOND_NS));
	process_table_doubt_all(c->table);
	/* A copy of what is in doubt is so as well; what has begun since then is not. */
	assert_int_equal(process_table_on_fork(c->table, 13, 13, 8, 8), 0);
	assert_int_equal(process_table_on_comm(c->table, 12, 12, "execed", true), 0);
	assert_true(process_table_is_doubted(c->table, 8, SECOND_NS));
	assert_true(process_table_is_doubted(c->table, 13, SECOND_NS));
	assert_false(process_table_is_doubted(c->table, 12, SECOND_NS));

	/* It may not be read now. */
	assert_int_equal(process_table_settle(c->table, 8, false, SECOND_NS), 0);
	assert_int_equal(at(c, 8, 0x10000, NULL), 0);
	assert_string_equal(process_table_process(c->table, 8)->comm, ":8");
	assert_true(process_table_knows(c->table, 8));
	assert_false(process_table_is_doubted(c->table, 8, SECOND_NS + 1));
	assert_false(process_table_is_doubted(c->table, 8, SECOND_NS - 1));
	process_table_doubt_all(c->table);
	assert_false(process_table_is_doubted(c->table, 8, SECOND_NS + 1)); /* nothing to doubt */
	assert_true(process_table_is_doubted(c->table, 8, 2 * SECOND_NS));

	/* It may be read. */
	assert_int_equal(process_table_settle(c->table, 8, true, 2 * SECOND_NS), 0);
	assert_int_equal(at(c, 8, 0x20000, NULL), 0xbb);
	assert_int_equal(at(c, 8, 0x10000, NULL), 0);
	assert_string_equal(process_table_thread(c->table, 8, 8)->comm, "new");
	assert_false(process_table_is_doubted(c->table, 8, 9 * SECOND_NS));

	/* It is gone: it cannot be read. */
	assert_int_equal(process_table_settle(c->table, 13, true, SECOND_NS), 0);
	assert_int_equal(at(c, 13, 0x10000, NULL), 0);
	free(old_maps);
	free(new_maps);
}

/* Ends of processes were lost: they are found, but not at once, since records may still come. */
static void test_lost_end(void **state)
{
	struct context *c = *state;
	char *maps = maps_line(c->a, 0x10000, 0x11000);

	fixture_process(c->f, 8, 1, 500, "stays", maps);
	fixture_process(c->f, 9, 1, 500, "ends", maps);
	assert_int_equal(process_table_load(c->table, 8), 0);
	assert_int_equal(process_table_load(c->table, 9), 0);
	assert_int_equal(process_table_on_fork(c->table, 9, 10, 9, 9), 0);
	assert_int_equal(process_table_sweep(c->table), 0);
	fixture_process_gone(c->f, 9);
	assert_int_equal(process_table_sweep(c->table), 0);
	assert_false(process_table_process(c->table, 9)->exited);
	assert_int_equal(process_table_sweep(c->table), 0);
	assert_true(process_table_process(c->table, 9)->exited);
	assert_false(process_table_process(c->table, 8)->exited);
	assert_int_equal(at(c, 9, 0x10000, NULL), 0xaa);
	assert_int_equal(process_table_on_exit(c->table, 9, 9), 0);
	free(maps);
}

static void set_exe(struct context *c, int pid, const char *target)
{
	char *link = fixture_format("%s/%d/exe", c->f->proc, pid);

	unlink(link);
	assert_int_equal(symlink(target, link), 0);
	free(link);
}

/* The event of an exec was lost: what it runs now is another process of the store. A file that was
 * deleted, and other losses, make no such difference. */
static void test_lost_exec(void **state)
{
	struct context *c = *state;
	char *maps = maps_line(c->a, 0x10000, 0x11000);
	uint32_t before;

	fixture_process(c->f, 8, 1, 500, "sh", maps);
	set_exe(c, 8, "/bin/sh");
	assert_int_equal(process_table_load(c->table, 8), 0);
	before = process_table_process(c->table, 8)->number;
	process_table_doubt_all(c->table);
	set_exe(c, 8, "/bin/sh (deleted)");
	assert_int_equal(process_table_settle(c->table, 8, true, SECOND_NS), 0);
	assert_int_equal(process_table_process(c->table, 8)->number, before);
	process_table_doubt_all(c->table);
	fixture_process(c->f, 8, 1, 500, "sleep", maps);
	set_exe(c, 8, "/bin/sleep");
	assert_int_equal(process_table_settle(c->table, 8, true, 2 * SECOND_NS), 0);
	assert_int_not_equal(process_table_process(c->table, 8)->number, before);
	assert_string_equal(process_table_process(c->table, 8)->exe, "/bin/sleep");
	assert_string_equal(process_table_process(c->table, 8)->comm, "sleep");
	assert_int_equal(at(c, 8, 0x10000, NULL), 0xaa);
	assert_false(process_table_is_doubted(c->table, 8, 3 * SECOND_NS));
	free(maps);
}

/* An event of one process's mappings was left out. */
static void test_left_out(void **state)
{
	struct context *c = *state;
	char *maps = maps_line(c->a, 0x10000, 0x11000);

	fixture_process(c->f, 8, 1, 500, "one", maps);
	fixture_process(c->f, 9, 1, 500, "other", maps);
	assert_int_equal(process_table_load(c->table, 8), 0);
	assert_int_equal(process_table_load(c->table, 9), 0);
	process_table_doubt(c->table, 8);
	assert_int_equal(at(c, 8, 0x10000, NULL), 0);
	assert_int_equal(at(c, 9, 0x10000, NULL), 0xaa);
	assert_false(process_table_is_doubted(c->table, 9, SECOND_NS));
	assert_true(process_table_is_doubted(c->table, 8, SECOND_NS));
	assert_int_equal(process_table_settle(c->table, 8, false, SECOND_NS), 0);
	assert_string_equal(process_table_process(c->table, 8)->comm, "one"); /* that is known */
	assert_false(process_table_is_doubted(c->table, 8, SECOND_NS + 1));
	assert_true(process_table_is_doubted(c->table, 8, 2 * SECOND_NS));
	assert_int_equal(process_table_settle(c->table, 8, true, 2 * SECOND_NS), 0);
	assert_int_equal(at(c, 8, 0x10000, NULL), 0xaa);
	free(maps);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_replace_and_cut),
		TEST(test_jit_offset_is_address),
		TEST(test_fork_then_exec),
		TEST(test_threads),
		TEST(test_exec_in_a_thread),
		TEST(test_exec_that_ends_events),
		TEST(test_pid_reuse),
		TEST(test_jit_after_fork_and_exec),
		TEST(test_events_older_than_the_load),
		TEST(test_load),
		TEST(test_zombie_leader),
		TEST(test_revived),
		TEST(test_exec_while_loading),
		TEST(test_error_while_loading),
		TEST(test_exec_while_loading_shared),
		TEST(test_load_within_exec),
		TEST(test_ended_mappings),
		TEST(test_unknown_process),
		TEST(test_bounded_mappings),
		TEST(test_many_short_processes),
		TEST(test_forks_of_an_unknown_thread),
		TEST(test_renumber),
		TEST(test_shared_memory),
		TEST(test_shared_code),
		TEST(test_lost),
		TEST(test_lost_end),
		TEST(test_lost_exec),
		TEST(test_left_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
