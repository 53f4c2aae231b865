/* SPDX-License-Identifier: MIT */
/* The process table on real processes: this one and its children. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "proc/proc_fs.h"
#include "proc/process.h"
#include "test_proc_fixture.h"

struct context {
	struct fixture *f;
	struct object_table *objects;
	struct process_table *table;
};

static int set_up(void **state)
{
	struct context *c = calloc(1, sizeof(*c));

	c->f = fixture_new();
	assert_int_equal(object_table_new("/proc", &c->objects), 0);
	assert_int_equal(process_table_new(c->objects, "/proc", &c->table), 0);
	*state = c;
	return 0;
}

static int tear_down(void **state)
{
	struct context *c = *state;

	process_table_free(c->table);
	object_table_free(c->objects);
	fixture_free(c->f);
	free(c);
	return 0;
}

static void load_self(struct context *c)
{
	assert_int_equal(process_table_load(c->table, getpid()), 0);
}

static const struct mapping *at(struct context *c, const void *address)
{
	const struct mapping *m = process_table_mapping(c->table, getpid(), (uintptr_t)address);

	assert_non_null(m);
	return m;
}

/* map_files needs a capability; without it, deleted files cannot be read. */
static bool can_use_map_files(void)
{
	struct fixture *f = fixture_new();
	char *path = fixture_path(f, "x");
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	int map_fd = proc_fs_map_file("/proc", getpid(), (uintptr_t)p, (uintptr_t)p + 4096);

	munmap(p, 4096);
	close(fd);
	if (map_fd >= 0)
		close(map_fd);
	free(path);
	fixture_free(f);
	return map_fd >= 0;
}

/* A library of the system that nothing here is linked with; read before copies of it are loaded,
 * since the loader takes those for it. */
static uint8_t *library_image;
static size_t library_size, library_build_id; /* bytes; where its build-id is */

static int read_library(void **state)
{
	struct link_map *map;
	struct elf_file *elf;
	struct stat st;
	size_t len;
	void *handle = dlopen("libresolv.so.2", RTLD_NOW | RTLD_LOCAL);
	(void)state;

	assert_non_null(handle);
	assert_int_equal(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
	int fd = open(map->l_name, O_RDONLY | O_CLOEXEC);
	dlclose(handle);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	library_size = (size_t)st.st_size;
	library_image = malloc(library_size);
	assert_non_null(library_image);
	assert_int_equal(read(fd, library_image, library_size), st.st_size);
	assert_int_equal(elf_file_open(fd, &elf), 0);
	close(fd);
	const uint8_t *build_id = elf_file_build_id(elf, &len);
	const uint8_t *at = memmem(library_image, library_size, build_id, len);
	assert_non_null(at);
	library_build_id = (size_t)(at - library_image);
	elf_file_free(elf);
	return 0;
}

static int free_library(void **state)
{
	(void)state;
	free(library_image);
	return 0;
}

/* The library with `mark` as the first byte of its build-id. */
static const uint8_t *library(uint8_t mark)
{
	library_image[library_build_id] = mark;
	return library_image;
}

static void write_library(struct context *c, const char *name, uint8_t mark)
{
	fixture_write(c->f, name, library(mark), library_size);
}

static void test_self(void **state)
{
	struct context *c = *state;
	char *exe = realpath("/proc/self/exe", NULL);
	uint64_t vaddr;

	load_self(c);
	const struct mapping *m = at(c, (const void *)test_self);
	assert_int_equal(m->object->kind, OBJECT_ELF);
	assert_string_equal(m->object->path, exe);
	assert_non_null(m->object->elf);
	/* offset and vaddr are of the same byte: the file has the code's bytes there */
	uint64_t offset = (uintptr_t)test_self - m->start + m->offset;
	uint8_t bytes[16];
	assert_int_equal(elf_file_read(m->object->elf, offset, bytes, sizeof(bytes)),
			 sizeof(bytes));
	assert_memory_equal(bytes, (const void *)test_self, sizeof(bytes));
	assert_true(elf_file_offset_to_vaddr(m->object->elf, offset, &vaddr));

	const struct process *p = process_table_process(c->table, getpid());
	assert_int_equal(p->parent, getppid());
	assert_string_equal(p->exe, exe);
	assert_string_equal(p->comm, "test_proc_real");

	const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
	m = at(c, (const char *)vdso + 0x40);
	assert_int_equal(m->object->kind, OBJECT_VDSO);
	assert_int_equal(m->offset, 0);
	assert_ptr_equal((const void *)m->start, vdso);
	free(exe);
}

#define SYMBOL	"ns_format_ttl"
#define MOST_MS 60000 /* for what another process does */

static void test_dlopen_dlclose(void **state)
{
	struct context *c = *state;
	char *path = fixture_path(c->f, "lib/plugin.so");

	write_library(c, "lib/plugin.so", 0x11);
	void *first = dlopen(path, RTLD_NOW);
	assert_non_null(first);
	load_self(c);
	const struct object *one = at(c, dlsym(first, SYMBOL))->object;
	assert_string_equal(one->path, path);
	assert_int_equal(one->build_id[0], 0x11);
	dlclose(first);

	/* Another library under the same name: another object. */
	assert_int_equal(unlink(path), 0);
	write_library(c, "lib/plugin.so", 0x22);
	void *second = dlopen(path, RTLD_NOW);
	assert_non_null(second);
	load_self(c);
	const struct object *two = at(c, dlsym(second, SYMBOL))->object;
	assert_string_equal(two->path, path);
	assert_int_equal(two->build_id[0], 0x22);
	dlclose(second);

	/* The first again, at another inode: the object of the first. */
	assert_int_equal(unlink(path), 0);
	write_library(c, "lib/plugin.so", 0x11);
	void *third = dlopen(path, RTLD_NOW);
	assert_non_null(third);
	load_self(c);
	assert_ptr_equal(at(c, dlsym(third, SYMBOL))->object, one);
	dlclose(third);
	free(path);
}

static void test_deleted_and_memfd(void **state)
{
	struct context *c = *state;
	char self_fd[64];

	if (!can_use_map_files())
		skip();
	char *path = fixture_path(c->f, "lib/gone.so");
	write_library(c, "lib/gone.so", 0x33);
	void *gone = dlopen(path, RTLD_NOW);
	assert_int_equal(unlink(path), 0);
	int fd = memfd_create("lib", MFD_CLOEXEC);
	assert_int_equal(write(fd, library(0x44), library_size), library_size);
	snprintf(self_fd, sizeof(self_fd), "/proc/self/fd/%d", fd);
	void *in_memory = dlopen(self_fd, RTLD_NOW);
	close(fd);
	assert_non_null(gone);
	assert_non_null(in_memory);

	load_self(c);
	const struct object *object = at(c, dlsym(gone, SYMBOL))->object;
	assert_non_null(object->elf);
	assert_int_equal(object->build_id[0], 0x33);
	assert_string_equal(object->path, path);
	object = at(c, dlsym(in_memory, SYMBOL))->object;
	assert_int_equal(object->kind, OBJECT_ELF);
	assert_non_null(object->elf);
	assert_int_equal(object->build_id[0], 0x44);
	assert_string_equal(object->path, "/memfd:lib");
	dlclose(gone);
	dlclose(in_memory);
	free(path);
}

static void test_jit(void **state)
{
	struct context *c = *state;
	int fd = memfd_create("doublemapper", MFD_CLOEXEC);

	assert_int_equal(ftruncate(fd, 8192), 0);
	char *code = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *shared = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 4096);
	char *zero = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(code != MAP_FAILED && shared != MAP_FAILED && zero != MAP_FAILED);
	load_self(c);
	const char *const addresses[] = {code + 4096, shared + 5, zero};
	for (int i = 0; i < 3; i++) {
		const struct mapping *m = at(c, addresses[i]);
		assert_int_equal(m->object->kind, OBJECT_JIT);
		assert_int_equal(m->object->owner.pid, getpid());
		assert_true(m->offset == m->start);
	}
	munmap(code, 8192);
	munmap(shared, 4096);
	munmap(zero, 4096);
	close(fd);
}

static void *wait_for(void *arg)
{
	pthread_barrier_t *barrier = arg;

	pthread_setname_np(pthread_self(), "named");
	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	return (void *)(intptr_t)gettid();
}

static void test_threads(void **state)
{
	struct context *c = *state;
	pthread_barrier_t barrier;
	pthread_t thread;
	void *tid;

	pthread_barrier_init(&barrier, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, wait_for, &barrier), 0);
	pthread_barrier_wait(&barrier);
	load_self(c);
	uint32_t before = process_table_thread_count(c->table);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, &tid);
	const struct thread *t = process_table_thread(c->table, getpid(), (pid_t)(intptr_t)tid);
	assert_string_equal(t->comm, "named");
	assert_int_equal(t->process, process_table_process(c->table, getpid())->number);
	assert_int_equal(process_table_thread_count(c->table), before);
	pthread_barrier_destroy(&barrier);
}

static void test_child(void **state)
{
	struct context *c = *state;
	struct proc_fs_stat stat;
	char *exe = realpath("/bin/sleep", NULL), *seen = NULL;

	pid_t pid = fork();
	if (!pid) {
		execl("/bin/sleep", "sleep", "600", NULL);
		_exit(127);
	}
	for (int i = 0; i < MOST_MS && (!seen || strcmp(seen, exe)); i++) {
		free(seen);
		seen = NULL;
		usleep(1000);
		proc_fs_exe("/proc", pid, &seen);
	}
	assert_int_equal(process_table_load(c->table, pid), 0);
	const struct process *p = process_table_process(c->table, pid);
	uint32_t number = p->number;
	assert_string_equal(p->exe, exe);
	assert_string_equal(p->comm, "sleep");
	assert_int_equal(p->parent, getpid());

	kill(pid, SIGKILL);
	for (int i = 0; i < MOST_MS; i++) {
		if (!proc_fs_stat("/proc", pid, &stat) && stat.state == 'Z')
			break;
		usleep(1000);
	}
	assert_int_equal(process_table_load(c->table, pid), -ESRCH); /* a zombie */
	waitpid(pid, NULL, 0);
	assert_int_equal(process_table_load(c->table, pid), -ESRCH);
	assert_int_equal(process_table_process(c->table, pid)->number, number);
	free(exe);
	free(seen);
}

static int count_loaded(void *arg)
{
	++*(unsigned *)arg;
	return 0;
}

static int refuse(void *arg)
{
	return count_loaded(arg) - EBADMSG;
}

static void test_load_all(void **state)
{
	struct context *c = *state;
	unsigned count = 0;

	assert_true(process_table_load_all(c->table, count_loaded, &count) >= 1);
	assert_true(count >= 1);
	const struct object *program = at(c, (const void *)test_load_all)->object;
	const struct object *library = at(c, (const void *)qsort)->object;
	assert_ptr_not_equal(program, library);
	assert_true(process_table_load_all(c->table, NULL, NULL) >= 1);
	/* Known ones are found again. How many others there are is up to the machine. */
	assert_ptr_equal(at(c, (const void *)test_load_all)->object, program);
	assert_ptr_equal(at(c, (const void *)qsort)->object, library);
	/* What happens between processes can end it. */
	count = 0;
	assert_int_equal(process_table_load_all(c->table, refuse, &count), -EBADMSG);
	assert_int_equal(count, 1);
}

static atomic_bool stop;

static void *change_mappings(void *arg)
{
	(void)arg;
	while (!stop) {
		char *p = mmap(NULL, 64 * 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
		for (int i = 0; i < 64; i += 2)
			mprotect(p + i * 4096, 4096, PROT_READ);
		munmap(p, 64 * 4096);
	}
	return NULL;
}

static void test_load_while_changing(void **state)
{
	struct context *c = *state;
	pthread_t thread;

	stop = false;
	assert_int_equal(pthread_create(&thread, NULL, change_mappings, NULL), 0);
	for (int i = 0; i < 100; i++) {
		load_self(c);
		assert_string_equal(at(c, (const void *)test_self)->object->path,
				    process_table_process(c->table, getpid())->exe);
	}
	stop = true;
	pthread_join(thread, NULL);
}

/* While an exec is awaited, a process that is new to the table gets no mappings: /proc shows those
 * of the next program. */
static void test_awaited_exec(void **state)
{
	struct context *c = *state;
	const uintptr_t here = (uintptr_t)test_self;

	assert_int_equal(process_table_await_exec(c->table, getpid()), 0);
	assert_int_equal(process_table_await_exec(c->table, getpid()), 0);
	assert_null(process_table_mapping(c->table, getpid(), here));
	uint32_t before = process_table_process(c->table, getpid())->number;
	process_table_meet_exec(c->table, getpid());
	assert_int_equal(process_table_on_comm(c->table, getpid(), getpid(), "one", true), 0);
	assert_null(process_table_mapping(c->table, getpid(), here));
	process_table_meet_exec(c->table, getpid());
	process_table_meet_exec(c->table, getpid());
	assert_int_equal(process_table_on_comm(c->table, getpid(), getpid(), "two", true), 0);
	assert_true(process_table_process(c->table, getpid())->number != before);
	load_self(c);
	at(c, (const void *)here);

	/* A child of a process that nobody has heard of, which is another program now. */
	pid_t child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	assert_int_equal(process_table_await_exec(c->table, child), 0);
	assert_int_equal(process_table_on_fork(c->table, child, child, 0x7ffffff0, 0x7ffffff0), 0);
	assert_null(process_table_mapping(c->table, child, here));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* Events that come while a process is read. */
struct heard {
	struct context *c;
	pid_t pid;
	bool has_exec;
	int calls;
};

static int hear(void *arg)
{
	struct heard *h = arg;

	h->calls++;
	return h->has_exec ? process_table_await_exec(h->c->table, h->pid) : 0;
}

/* The event of an exec arrives after /proc of an unknown process was read: the process gets no
 * mappings, since those that were read may be the next program's. */
static void test_exec_meanwhile(void **state)
{
	struct context *c = *state;

	for (int has_exec = 0; has_exec <= 1; has_exec++) {
		pid_t child = fork();
		struct heard heard = {c, child, has_exec, 0};

		if (!child) {
			pause();
			_exit(0);
		}
		process_table_drain_by(c->table, hear, &heard);
		assert_non_null(process_table_process(c->table, child));
		assert_int_equal(heard.calls, 1);
		if (has_exec)
			assert_null(process_table_mapping(c->table, child, (uint64_t)&hear));
		else
			assert_non_null(process_table_mapping(c->table, child, (uint64_t)&hear));
		process_table_drain_by(c->table, NULL, NULL);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_self),
		TEST(test_dlopen_dlclose),
		TEST(test_deleted_and_memfd),
		TEST(test_jit),
		TEST(test_threads),
		TEST(test_child),
		TEST(test_load_all),
		TEST(test_load_while_changing),
		TEST(test_awaited_exec),
		TEST(test_exec_meanwhile),
	};
	return cmocka_run_group_tests(tests, read_library, free_library);
}
