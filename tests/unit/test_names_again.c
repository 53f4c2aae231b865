/* SPDX-License-Identifier: MIT */
/*
 * Names that a worker is asked for while their file is another one, or empty
 * (daemon/worker/ask_names.c, name_service.c, service.c): there are none, and they are asked for
 * again; once the file is what it was, they are found. A shell that overwrites a file leaves it
 * empty until its command has started, so stackd meets such files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/worker/ask_names.h"
#include "daemon/worker/service.h"
#include "file_clock.h"

#define NAME "the_named_function"

static struct fork_server *server;
static struct workers *workers;
static struct ask_names *names;
static struct naming *naming;
static char path[] = "/tmp/stackd-names-again-XXXXXX";
static struct object object = {.kind = OBJECT_ELF, .path = path};
static struct store_location location;

void the_named_function(void);

__attribute__((noinline)) void the_named_function(void)
{
	__asm__ volatile("");
}

static void run_worker(int socket, void *page)
{
	service_run(socket, page, NULL);
}

static void write_file(const char *from)
{
	char command[512];

	snprintf(command, sizeof(command), "cat %s > %s", from, path);
	assert_int_equal(system(command), 0);
	file_clock_goes_on();
}

/* This program again, as the file that is overwritten. */
static void write_own(void)
{
	char own[64];

	snprintf(own, sizeof(own), "/proc/%d/exe", getpid());
	write_file(own);
}

static int set_up(void **state)
{
	struct link_map *map;
	Dl_info info;
	void *code = (void *)(uintptr_t)the_named_function;
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(fork_server_new(run_worker, &server), 0);
	assert_int_equal(workers_new(server, 0, &workers), 0);
	assert_int_equal(ask_names_new(workers_of(workers, WORKER_NAMES), NULL, &names), 0);
	assert_int_equal(ask_names_naming(names, &naming), 0);
	assert_true(fd >= 0);
	write_own();
	assert_int_equal(elf_file_open(fd, &object.elf), 0);
	close(fd);
	object.file_id = elf_file_id(object.elf);
	assert_true(dladdr1(code, &info, (void **)&map, RTLD_DL_LINKMAP));
	assert_true(elf_file_vaddr_to_offset(object.elf, (uint64_t)(uintptr_t)code - map->l_addr,
					     &location.offset));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	naming_free(naming);
	ask_names_free(names);
	elf_file_free(object.elf);
	workers_free(workers);
	fork_server_free(server);
	return unlink(path);
}

static int take_line(void *arg, const struct store_line *line)
{
	int *lines = arg;

	++*lines;
	assert_non_null(line->function);
	assert_string_equal(line->function, NAME);
	return 0;
}

/* Returns the number of lines that the location has. */
static int ask(void)
{
	int lines = 0;

	assert_int_equal(naming_prefetch(naming, &object, &location, 1), 0);
	assert_int_equal(naming_resolve(naming, &object, &location, take_line, &lines), 0);
	return lines;
}

static uint64_t unproven(void)
{
	struct workers_counts counts;

	workers_counts(workers, &counts);
	return counts.unproven;
}

/* Each file comes before the names were ever asked for, and after. */
static void names_come_back(void **state)
{
	static const char *const others[] = {"/dev/null", "/bin/true", "/etc/passwd"};

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		const uint64_t before = unproven();

		write_file(others[i % 3]);
		assert_int_equal(ask(), 0);
		assert_true(naming_is_unproven(naming, &object));
		assert_int_equal(unproven(), before + 1);
		write_own();
		assert_int_equal(ask(), 1);
		assert_false(naming_is_unproven(naming, &object));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_come_back),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
