/* SPDX-License-Identifier: MIT */
/* The store when things go wrong: killed writers, full disks, missing rights, concurrent use. */
#include "store_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "store/store_path.h"

/* For forked children, where cmocka's asserts would end the wrong process. */
#define CHILD_CHECK(condition)                                                                     \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static int faults_wait(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* fork() for a child that ends with its first failed assertion, rather than going on with the tests
 * that come next. */
static pid_t faults_begin_child(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		setenv("CMOCKA_TEST_ABORT", "1", 1);
	return pid;
}

/* Runs `child` in a process of its own, which must end by returning. */
static void faults_fork(void (*child)(const char *path), const char *path)
{
	pid_t pid = faults_begin_child();

	if (pid == 0) {
		child(path);
		_exit(0);
	}
	assert_int_equal(faults_wait(pid), 0);
}

struct faults_count {
	const struct store_sample *expected;
	uint32_t count, limit;
};

static int faults_count_each(void *arg, const struct store_sample *s)
{
	struct faults_count *c = arg;

	if (c->count >= c->limit || c->expected[c->count].time_ns != s->time_ns ||
	    c->expected[c->count].node != s->node)
		return -ERANGE;
	c->count++;
	return 0;
}

/* The number of samples of the latest recording, which must be the fixture's first ones. */
static uint32_t faults_samples(const struct recording *f, const char *path, int64_t recording)
{
	struct faults_count c = {.expected = f->samples, .limit = f->n_samples};
	struct store_reader *r = fixture_open(path, recording);

	assert_int_equal(store_reader_samples(r, faults_count_each, &c), 0);
	store_reader_close(r);
	return c.count;
}

/* --- killed --------------------------------------------------------------------------------- */

/* Commits a few samples at a time for ever, and writes the committed number to the pipe. */
static void faults_write_for_ever(struct recording *f, const char *path, int pipe_fd)
{
	struct store_recording info = fixture_info();
	struct store_writer *w;

	CHILD_CHECK(store_writer_new(path, &info, &w, NULL) == 0);
	for (unsigned share = 1;; share = share < 99 ? share + 1 : 99) {
		fixture_put(f, w, share);
		CHILD_CHECK(store_writer_commit(w, &info) == 0);
		CHILD_CHECK(write(pipe_fd, &f->written.samples, sizeof(f->written.samples)) > 0);
	}
}

static uint32_t faults_last_reported(int pipe_fd)
{
	uint32_t reported = 0, next;

	while (read(pipe_fd, &next, sizeof(next)) == sizeof(next))
		reported = next;
	return reported;
}

static void faults_kill(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	int64_t recordings = 0;

	(void)state;
	/* How far the writer comes by then depends on the machine. */
	for (unsigned round = 0; round < 20 || (recordings <= 5 && round < 200); round++) {
		struct recording f = fixture_make(20000, 2000, round);
		struct store_recording *list;
		uint32_t reported;
		size_t count;
		int fds[2];
		pid_t pid;

		assert_int_equal(pipe(fds), 0);
		pid = faults_begin_child();
		if (pid == 0)
			faults_write_for_ever(&f, path, fds[1]);
		close(fds[1]);
		usleep((useconds_t)(round * round * 200));
		kill(pid, SIGKILL);
		faults_wait(pid);
		reported = faults_last_reported(fds[0]);
		close(fds[0]);
		if (access(path, F_OK) == 0 &&
		    store_list_recordings(path, &list, &count, NULL) == 0) {
			assert_true((int64_t)count >= recordings);
			if ((int64_t)count > recordings)
				assert_true(faults_samples(&f, path, 0) >= reported);
			else
				assert_int_equal(reported, 0);
			recordings = (int64_t)count;
			store_recordings_free(list, count);
		} else {
			assert_int_equal(reported, 0);
			assert_int_equal(recordings, 0);
		}
		free_recording(&f);
	}
	assert_true(recordings > 5);
	free(path);
	fixture_remove(folder);
}

/* --- at the same time ----------------------------------------------------------------------- */

static void faults_read_while_written(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct recording f = fixture_make(60000, 2000, 77);
	uint32_t before = 0;
	int64_t id = fixture_record(path, &f);
	int fds[2];
	pid_t pid;

	(void)state;
	rewind_recording(&f);
	assert_int_equal(pipe(fds), 0);
	pid = faults_begin_child();
	if (pid == 0)
		faults_write_for_ever(&f, path, fds[1]);
	close(fds[1]);
	for (unsigned i = 0; i < 40; i++) {
		struct store_recording *list;
		size_t count;

		assert_int_equal(store_list_recordings(path, &list, &count, NULL), 0);
		store_recordings_free(list, count);
		if (count < 2)
			continue;
		assert_true(faults_samples(&f, path, 2) >= before);
		before = faults_samples(&f, path, 2);
	}
	kill(pid, SIGKILL);
	faults_wait(pid);
	assert_true(faults_samples(&f, path, 2) >= faults_last_reported(fds[0]));
	assert_int_equal(faults_samples(&f, path, id), f.n_samples);
	close(fds[0]);
	free_recording(&f);
	free(path);
	fixture_remove(folder);
}

/* Two processes that start on a store that is not there yet. */
static void faults_start_together(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 10; round++) {
		char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
		struct recording f = fixture_make(500, 100, 5);
		struct store_recording *list;
		size_t count;
		pid_t pids[3];

		for (unsigned i = 0; i < 3; i++) {
			pids[i] = faults_begin_child();
			if (pids[i] == 0) {
				fixture_record(path, &f);
				_exit(0);
			}
		}
		for (unsigned i = 0; i < 3; i++)
			assert_int_equal(faults_wait(pids[i]), 0);
		assert_int_equal(store_list_recordings(path, &list, &count, NULL), 0);
		assert_int_equal(count, 3);
		for (unsigned i = 0; i < 3; i++) {
			assert_true(list[i].finished);
			assert_int_equal(faults_samples(&f, path, list[i].id), 500);
		}
		store_recordings_free(list, count);
		free_recording(&f);
		free(path);
		fixture_remove(folder);
	}
}

static void faults_execute(const char *path, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* Holds the lock that a switch to WAL mode begins with, for a quarter of a second. */
static void faults_hold_lock(const char *path, int ready)
{
	sqlite3 *db;

	CHILD_CHECK(sqlite3_open(path, &db) == SQLITE_OK);
	CHILD_CHECK(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
	CHILD_CHECK(write(ready, "", 1) == 1);
	usleep(250000);
	sqlite3_close(db);
	_exit(0);
}

/* The switch to WAL mode waits for another process that makes it, though SQLite does not. */
static void faults_start_while_locked(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct recording f = fixture_make(500, 100, 5);
	int fds[2];
	char byte;
	pid_t pid;

	(void)state;
	fixture_record(path, &f);
	faults_execute(path, "PRAGMA journal_mode=DELETE");
	assert_int_equal(pipe(fds), 0);
	pid = faults_begin_child();
	if (pid == 0)
		faults_hold_lock(path, fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	fixture_record(path, &f);
	assert_int_equal(faults_wait(pid), 0);
	close(fds[0]);
	close(fds[1]);
	free_recording(&f);
	free(path);
	fixture_remove(folder);
}

/* Another process deletes the recording that is being written. */
static void faults_deleted_meanwhile(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct store_recording info = fixture_info();
	struct store_writer *w = fixture_writer(path);

	(void)state;
	faults_execute(path, "DELETE FROM recordings");
	assert_int_equal(store_writer_commit(w, &info), -ESTALE);
	store_writer_free(w);
	free(path);
	fixture_remove(folder);
}

/* --- a full disk ---------------------------------------------------------------------------- */

static void faults_fill_and_free(const char *path, const char *ballast)
{
	struct recording f = fixture_make(3000, 500, 21), g = fixture_make(90000, 60000, 22);
	struct store_recording info = fixture_info();
	struct store_writer *w;
	char *error = NULL;
	int64_t first = fixture_record(path, &f);
	int err = 0;

	CHILD_CHECK(store_writer_new(path, &info, &w, &error) == 0);
	fixture_put(&g, w, 100);
	err = store_writer_commit(w, &info);
	CHILD_CHECK(err == -ENOSPC);
	CHILD_CHECK(strlen(store_writer_error(w)) > 0);
	CHILD_CHECK(store_writer_commit(w, &info) == -ENOSPC);
	CHILD_CHECK(faults_samples(&f, path, first) == f.n_samples);
	CHILD_CHECK(faults_samples(&g, path, 0) == 0);
	/* with room again, nothing is missing */
	CHILD_CHECK(unlink(ballast) == 0);
	CHILD_CHECK(store_writer_commit(w, &info) == 0);
	store_writer_free(w);
	CHILD_CHECK(faults_samples(&g, path, 0) == g.n_samples);
	CHILD_CHECK(faults_samples(&f, path, first) == f.n_samples);
	free_recording(&f);
	free_recording(&g);
}

/* No room even for an empty store. */
static void faults_create_on_full(const char *folder)
{
	char *path = fixture_path(folder, "t.db"), *error = NULL;
	struct store_recording info = fixture_info();
	struct store_writer *w = NULL;

	CHILD_CHECK(store_writer_new(path, &info, &w, &error) == -ENOSPC);
	CHILD_CHECK(error && strstr(error, "no space left"));
	free(error);
	free(path);
}

static void faults_in_tmpfs(const char *folder)
{
	char *path = fixture_path(folder, "s.db"), *ballast = fixture_path(folder, "ballast");
	static uint8_t block[65536];
	int fd;

	/* 77: not allowed here */
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", folder, "tmpfs", 0, "size=8m") < 0)
		_exit(77);
	fd = open(ballast, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHILD_CHECK(fd >= 0);
	for (unsigned i = 0; i < 110; i++)
		CHILD_CHECK(write(fd, block, sizeof(block)) == (ssize_t)sizeof(block));
	close(fd);
	faults_fill_and_free(path, ballast);
	fd = open(ballast, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	while (write(fd, block, sizeof(block)) > 0)
		;
	close(fd);
	faults_create_on_full(folder);
	free(path);
	free(ballast);
}

static void faults_disk_full(void **state)
{
	char *folder = fixture_folder();
	pid_t pid;
	int status;

	(void)state;
	pid = faults_begin_child();
	if (pid == 0) {
		faults_in_tmpfs(folder);
		_exit(0);
	}
	status = faults_wait(pid);
	fixture_remove(folder);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("skipped: faults_disk_full needs root, to mount a tmpfs\n");
		skip();
	}
	assert_int_equal(status, 0);
}

/* --- rights --------------------------------------------------------------------------------- */

#define FAULTS_UID 65534u

static void faults_need_root(const char *name)
{
	if (geteuid() != 0) {
		print_message("skipped: %s needs root, to become somebody else\n", name);
		skip();
	}
}

static void faults_become_nobody(void)
{
	CHILD_CHECK(setresgid(FAULTS_UID, FAULTS_UID, FAULTS_UID) == 0);
	CHILD_CHECK(setresuid(FAULTS_UID, FAULTS_UID, FAULTS_UID) == 0);
}

static int faults_try(const char *path, char **ret_error)
{
	struct store_reader *r = NULL;
	int err = store_reader_open(path, 0, &r, ret_error);

	store_reader_close(r);
	return err;
}

static void faults_nobody_reads(const char *path)
{
	faults_become_nobody();
	CHILD_CHECK(faults_try(path, NULL) == 0);
}

static void faults_nobody_is_refused(const char *path)
{
	char *error = NULL;

	faults_become_nobody();
	CHILD_CHECK(faults_try(path, &error) == -EACCES);
	CHILD_CHECK(error && strstr(error, path) && strstr(error, "permission"));
	free(error);
}

static void faults_nobody_writes(const char *path)
{
	struct store_recording info = fixture_info();
	struct store_writer *w = NULL;
	char *error = NULL;

	faults_become_nobody();
	/* The file belongs to another user. */
	CHILD_CHECK(store_writer_new(path, &info, &w, &error) == -EPERM);
	CHILD_CHECK(error && strstr(error, "another user"));
	free(error);
}

/* A finished store in a folder that the reader cannot write. */
static void faults_read_only_folder(void **state)
{
	char *folder, *path, *wal, *shm;
	struct recording f;

	(void)state;
	faults_need_root("faults_read_only_folder");
	folder = fixture_folder();
	path = fixture_path(folder, "a?b#c%41.db"); /* characters with a meaning in URIs */
	wal = fixture_path(folder, "a?b#c%41.db-wal");
	shm = fixture_path(folder, "a?b#c%41.db-shm");
	f = fixture_make(500, 100, 5);
	assert_int_equal(chmod(folder, 0755), 0);
	fixture_record(path, &f);
	faults_fork(faults_nobody_is_refused, path);
	assert_int_equal(chmod(path, 0644), 0);
	faults_fork(faults_nobody_reads, path);
	faults_fork(faults_nobody_writes, path);
	faults_fork(faults_nobody_writes, wal); /* nor in a folder that is not theirs */
	assert_int_equal(unlink(wal) | unlink(shm), 0);
	faults_fork(faults_nobody_reads, path);
	assert_int_equal(access(shm, F_OK), -1);
	free_recording(&f);
	free(wal);
	free(shm);
	free(path);
	fixture_remove(folder);
}

/* `sudo stackd` gives the file to the user, both while it is being written and after. */
static void faults_hand_over(void **state)
{
	char *folder, *path, *other;
	struct recording f;
	struct store_writer *w;
	struct store_recording info = fixture_info();
	struct stat st;

	(void)state;
	faults_need_root("faults_hand_over");
	folder = fixture_folder();
	path = fixture_path(folder, "s.db");
	other = fixture_path(folder, "hard-link");
	f = fixture_make(500, 100, 5);
	assert_int_equal(chmod(folder, 0755), 0);
	w = fixture_writer(path);
	unsetenv("SUDO_UID");
	assert_int_equal(store_path_hand_over(path), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, 0);
	setenv("SUDO_UID", "65534", 1);
	setenv("SUDO_GID", "65534", 1);
	assert_int_equal(link(path, other), 0);
	assert_int_equal(store_path_hand_over(path), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, 0); /* a file with two names is not given away */
	assert_int_equal(unlink(other), 0);
	assert_int_equal(store_path_hand_over(path), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, FAULTS_UID);
	assert_int_equal(st.st_gid, FAULTS_UID);
	faults_fork(faults_nobody_reads, path);
	fixture_put(&f, w, 100);
	assert_int_equal(store_writer_commit(w, &info), 0);
	faults_fork(faults_nobody_reads, path);
	store_writer_free(w);
	faults_fork(faults_nobody_reads, path);
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	free_recording(&f);
	free(other);
	free(path);
	fixture_remove(folder);
}

/* --- paths ---------------------------------------------------------------------------------- */

static void faults_default_path(void **state)
{
	static const char *const bad[] = {"", "-1", "12x", " 12", "4294967295", "99999999999"};
	char *path, *own;

	(void)state;
	setenv("STACKD_STORE", "/somewhere/else.db", 1);
	path = store_path_default();
	assert_string_equal(path, "/somewhere/else.db");
	free(path);
	setenv("STACKD_STORE", "", 1);
	unsetenv("SUDO_UID");
	own = store_path_default();
	assert_non_null(strstr(own, "/var/lib/stackd/"));
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		setenv("SUDO_UID", bad[i], 1);
		path = store_path_default();
		assert_string_equal(path, own);
		free(path);
	}
	setenv("SUDO_UID", "1234", 1);
	path = store_path_default();
	if (geteuid() == 0)
		assert_string_equal(path, "/var/lib/stackd/1234/store.db");
	else
		assert_string_equal(path, own);
	free(path);
	free(own);
	unsetenv("SUDO_UID");
	unsetenv("STACKD_STORE");
}

static void faults_prepare_path(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "a/b//c/s.db");
	char *inner = fixture_path(folder, "a/b/c"), *blocked = fixture_path(folder, "a/f/x/s.db");
	char *file = fixture_path(folder, "a/f");
	mode_t mask = umask(077);
	struct stat st;
	int fd;

	(void)state;
	assert_int_equal(store_path_prepare(path), 0);
	assert_int_equal(store_path_prepare(path), 0);
	assert_int_equal(store_path_prepare("s.db"), 0);
	assert_int_equal(store_path_prepare("/s.db"), 0);
	umask(mask);
	assert_int_equal(stat(inner, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(store_path_prepare(blocked), -ENOTDIR);
	free(inner);
	free(blocked);
	free(file);
	free(path);
	fixture_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults_kill),
		cmocka_unit_test(faults_read_while_written),
		cmocka_unit_test(faults_start_together),
		cmocka_unit_test(faults_start_while_locked),
		cmocka_unit_test(faults_deleted_meanwhile),
		cmocka_unit_test(faults_disk_full),
		cmocka_unit_test(faults_read_only_folder),
		cmocka_unit_test(faults_hand_over),
		cmocka_unit_test(faults_default_path),
		cmocka_unit_test(faults_prepare_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
