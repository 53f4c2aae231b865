/* SPDX-License-Identifier: MIT */
/*
 * daemon/tags/tagger.c sends the processes that keep a tag to the kernel half. This process stands
 * in for the recorded one, and a list for the BPF map.
 */
#include "sym_program.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "daemon/tags/tagger_code.h"

#define FD    7
#define OTHER 0x7ffffff0 /* a pid that nobody has */

static struct {
	uint32_t pid;
	struct stackd_tagged row;
} rows[8];
static size_t n_rows, room;

/* The word that libstacktag would fill; the note of a test's file points here. */
static volatile int64_t word;

static struct tagger *t;
static uint32_t n_tagged;

/* --- the map --------------------------------------------------------------------------------- */

static size_t row_of(const void *key)
{
	size_t at = 0;

	while (at < n_rows && rows[at].pid != *(const uint32_t *)key)
		at++;
	return at;
}

static const struct stackd_tagged *published(pid_t pid)
{
	uint32_t key = (uint32_t)pid;
	size_t at = row_of(&key);

	return at < n_rows ? &rows[at].row : NULL;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	size_t at = row_of(key);

	assert_int_equal(fd, FD);
	if (at == n_rows)
		return -ENOENT;
	*(struct stackd_tagged *)value = rows[at].row;
	return 0;
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	size_t at = row_of(key);

	assert_int_equal(fd, FD);
	assert_int_equal(flags, BPF_ANY);
	if (at == room)
		return -E2BIG;
	n_rows += at == n_rows;
	rows[at].pid = *(const uint32_t *)key;
	rows[at].row = *(const struct stackd_tagged *)value;
	return 0;
}

int bpf_map_delete_elem(int fd, const void *key)
{
	size_t at = row_of(key);

	assert_int_equal(fd, FD);
	if (at == n_rows)
		return -ENOENT;
	rows[at] = rows[--n_rows];
	return 0;
}

/* --- files and processes --------------------------------------------------------------------- */

static struct object noted, second, plain;

static struct object assemble(const char *name, const char *text, uint32_t number)
{
	char source[64];

	snprintf(source, sizeof(source), "%s.s", name);
	program_write(source, text);
	assert_int_equal(
		program_shell("gcc -nostdlib -shared -Wl,--build-id -o %s %s", name, source), 0);
	return (struct object){.number = number,
			       .kind = OBJECT_ELF,
			       .file_id = number + 100,
			       .elf = program_open(name)};
}

/* Maps a file so that its word is this program's. */
static int map(pid_t pid, const struct object *object)
{
	struct sideband_event event = {.kind = SIDEBAND_MMAP, .pid = pid};
	uint64_t vaddr = 0, code = 0;

	if (!tagged_functions_note(object->elf, &vaddr))
		vaddr = 0;
	assert_true(elf_file_offset_to_vaddr(object->elf, 0, &code));
	event.mapping.start = (uintptr_t)&word - vaddr + code;
	return tagger_on_event(t, &event, object);
}

static int bear(pid_t parent, pid_t child)
{
	const struct sideband_event event = {
		.kind = SIDEBAND_FORK, .pid = child, .parent_pid = parent};

	return tagger_on_event(t, &event, NULL);
}

static void end(pid_t pid, enum sideband_kind kind)
{
	const struct sideband_event event = {.kind = kind, .pid = pid, .tid = pid, .is_exec = true};

	assert_int_equal(tagger_on_event(t, &event, NULL), 0);
}

static int make_files(void **state)
{
	static const char note[] = "	.section .note.stacktag, \"a\", @note\n	.balign 4\n"
				   "	.long 9, 16, 1\n	.asciz \"stacktag\"\n	.balign 4\n"
				   "1:	.long 1, 0\n	.quad word - 1b\n"
				   "	.data\n	.balign 8\nword:	.quad 0\n";
	static const char list[] = "f:	ret\n	.section .btloc, \"\", @progbits\n"
				   "	.long 40\n	.value 1, 0\n	.quad 5, f, 0\n"
				   "	.asciz \"f\"\n	.asciz \"a.c\"\n	.balign 8\n";

	if (program_setup(state))
		return -1;
	noted = assemble("noted.so", note, 3);
	second = assemble("second.so", list, 5);
	plain = assemble("plain.so", "	ret\n", 0);
	return 0;
}

static int remove_files(void **state)
{
	elf_file_free(noted.elf);
	elf_file_free(second.elf);
	elf_file_free(plain.elf);
	return program_teardown(state);
}

static int set_up(void **state)
{
	const struct tagger_maps maps = {.tagged_fd = FD, .n_tagged = &n_tagged};

	(void)state;
	n_rows = n_tagged = 0;
	room = sizeof(rows) / sizeof(rows[0]);
	word = -64;
	return tagger_new_here(&maps, &t);
}

static int tear_down(void **state)
{
	(void)state;
	tagger_free(t);
	return 0;
}

/* --- the tests ------------------------------------------------------------------------------- */

static void tag_word_is_awaited(void **state)
{
	(void)state;
	word = 0;
	assert_int_equal(map(getpid(), &noted), 0);
	tagger_poll(t);
	assert_null(published(getpid()));
	assert_int_equal(n_tagged, 0);
	word = -4096;
	tagger_poll(t);
	assert_non_null(published(getpid()));
	assert_int_equal(published(getpid())->offset, -4096);
	assert_int_equal(published(getpid())->program, 1);
	assert_int_equal(n_tagged, 1);
	assert_int_equal(tagger_processes(t), 1);
	word = 5; /* is believed once */
	tagger_poll(t);
	assert_int_equal(published(getpid())->offset, -4096);
	end(getpid(), SIDEBAND_COMM);
	end(getpid(), SIDEBAND_EXIT);
	assert_null(published(getpid()));
	assert_int_equal(n_tagged, 0);
}

static void *wait_for(void *lock)
{
	pthread_mutex_lock(lock);
	pthread_mutex_unlock(lock);
	return NULL;
}

/* A process ends with its last thread, whichever that is. */
static void process_ends_with_last_thread(void **state)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const struct sideband_event other = {
		.kind = SIDEBAND_EXIT, .pid = getpid(), .tid = getpid() + 1};
	pthread_t thread;

	(void)state;
	pthread_mutex_lock(&lock);
	assert_int_equal(pthread_create(&thread, NULL, wait_for, &lock), 0);
	word = -64;
	assert_int_equal(map(getpid(), &noted), 0);
	assert_int_equal(tagger_on_event(t, &other, NULL), 0);
	assert_non_null(published(getpid()));
	end(getpid(), SIDEBAND_EXIT); /* the first thread; the other one is still there */
	assert_non_null(published(getpid()));
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	end(getpid(), SIDEBAND_EXIT);
	assert_null(published(getpid()));
}

static void files_without_tags_are_ignored(void **state)
{
	(void)state;
	assert_int_equal(map(getpid(), &plain), 0);
	assert_int_equal(map(getpid(), &second), 0); /* keeps tags, but there is no word so far */
	assert_int_equal(n_rows, 0);
	assert_int_equal(map(getpid(), &noted), 0);
	assert_int_equal(n_rows, 1);
	assert_false(tagger_has_functions(t, &plain));
	assert_true(tagger_has_functions(t, &second));
	assert_false(tagger_has_functions(t, NULL));
	assert_true(tagger_is_runtime(t, &noted, 0));
	assert_false(tagger_is_runtime(t, &second, 0));
}

static void child_inherits_tags_of_parent(void **state)
{
	(void)state;
	word = 0;
	assert_int_equal(map(getpid(), &noted), 0);
	assert_int_equal(bear(getpid(), OTHER), 0); /* waits, too; nobody answers */
	tagger_poll(t);
	end(OTHER, SIDEBAND_EXIT);
	word = -64;
	tagger_poll(t);
	assert_int_equal(bear(getpid(), OTHER), 0);
	assert_int_equal(bear(getpid(), OTHER), 0); /* the number once more */
	assert_int_equal(published(OTHER)->offset, -64);
	assert_int_equal(published(OTHER)->program, published(getpid())->program);
	assert_int_equal(n_tagged, 2);
	assert_int_equal(bear(getpid(), getpid()), 0);
	assert_int_equal(bear(OTHER + 1, OTHER + 2), 0); /* keeps none */
	assert_int_equal(n_tagged, 2);
	end(OTHER, SIDEBAND_EXIT);
	assert_int_equal(n_tagged, 1);
}

/* A tag has one meaning in a program: another file with functions makes it another one. */
static void programs_have_separate_tags(void **state)
{
	pid_t child = fork();
	uint32_t first;

	(void)state;
	if (!child) {
		pause();
		_exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(map(getpid(), &noted), 0);
	first = published(getpid())->program;
	rows[0].row.space = 77; /* as the kernel half notes */
	assert_int_equal(map(getpid(), &second), 0);
	assert_int_not_equal(published(getpid())->program, first);
	assert_int_equal(published(getpid())->space, 0);
	assert_int_equal(n_tagged, 1);
	assert_int_equal(map(child, &noted), 0); /* the same executable with the same files */
	assert_int_equal(published(child)->program, first);
	assert_int_equal(map(child, &second), 0);
	assert_int_equal(published(child)->program, published(getpid())->program);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Processes beyond the capacity of the map are walked, and not counted as tagged. */
static void full_map_is_no_error(void **state)
{
	(void)state;
	room = 1;
	assert_int_equal(map(getpid(), &noted), 0);
	assert_int_equal(bear(getpid(), OTHER), 0);
	assert_int_equal(n_tagged, 1);
	end(OTHER, SIDEBAND_EXIT);
	assert_int_equal(n_tagged, 1);
	end(getpid(), SIDEBAND_EXIT);
	assert_int_equal(n_tagged, 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(tag_word_is_awaited),		  T(files_without_tags_are_ignored),
		T(child_inherits_tags_of_parent), T(programs_have_separate_tags),
		T(full_map_is_no_error),	  T(process_ends_with_last_thread),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
