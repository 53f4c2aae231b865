/* SPDX-License-Identifier: MIT */
/*
 * Files that are not what they should be: other files, cut and damaged stores, stores of newer
 * versions, and stores made to trap a reader. Each yields a clear error or valid data.
 */
#include "store_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>

struct hostile_file {
	uint8_t *bytes;
	size_t len;
};

static struct hostile_file hostile_read(const char *path)
{
	struct hostile_file f = {0};
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	f.len = (size_t)st.st_size;
	f.bytes = malloc(f.len + 1);
	assert_int_equal(read(fd, f.bytes, f.len), f.len);
	close(fd);
	return f;
}

static void hostile_write(const char *path, const void *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
}

static bool hostile_exists(const char *path, const char *suffix)
{
	char *name;
	bool exists;

	assert_true(asprintf(&name, "%s%s", path, suffix) > 0);
	exists = access(name, F_OK) == 0;
	free(name);
	return exists;
}

static void hostile_unlink(const char *path)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};

	for (unsigned i = 0; i < 4; i++) {
		char *name;

		assert_true(asprintf(&name, "%s%s", path, suffixes[i]) > 0);
		unlink(name);
		free(name);
	}
}

static void hostile_execute(const char *path, const char *sql)
{
	char *error = NULL;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_exec(db, "PRAGMA writable_schema=ON", NULL, NULL, NULL);
	sqlite3_exec(db, sql, NULL, NULL, &error);
	if (error)
		print_error("%s: %s\n", sql, error);
	assert_null(error);
	sqlite3_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
	sqlite3_close(db);
}

static int hostile_each(void *arg, const struct store_sample *sample)
{
	uint64_t *last = arg;

	assert_true(sample->time_ns >= *last);
	*last = sample->time_ns;
	return 0;
}

/* Reads every string and number of the tables, as a report does. */
static uint64_t hostile_use(const struct store_tables *t)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < t->n_objects; i++)
		sum += strlen(t->objects[i].path);
	for (uint32_t i = 0; i < t->n_threads; i++)
		sum += strlen(t->processes[t->threads[i].process].comm);
	for (uint32_t i = 0; i < t->n_locations; i++)
		sum += t->objects[t->locations[i].object].file_id + t->line_first[i];
	for (uint32_t i = 0; i < t->n_lines; i++)
		sum += t->lines[i].function ? strlen(t->lines[i].function) : 0;
	for (uint32_t i = 1; i < t->n_nodes; i++) {
		assert_true(t->nodes[i].parent < i);
		sum += t->locations[t->nodes[i].location].offset;
	}
	return sum;
}

/* Reads everything; returns 0 or the error, which has a message. */
static int hostile_try(const char *path)
{
	struct store_reader *r = NULL;
	char *error = NULL;
	uint64_t last = 0;
	int err = store_reader_open(path, 0, &r, &error);

	if (err < 0) {
		assert_non_null(error);
		assert_non_null(strstr(error, path));
		free(error);
		return err;
	}
	assert_null(error);
	hostile_use(store_reader_tables(r));
	err = store_reader_samples(r, hostile_each, &last);
	store_reader_close(r);
	return err;
}

/* --- other files ---------------------------------------------------------------------------- */

/* Neither a reader nor a writer accepts it, and neither leaves a trace. */
static void hostile_refused(const char *path, int expected)
{
	struct hostile_file before = hostile_read(path), after;
	struct store_recording info = fixture_info(), *list = NULL;
	struct store_writer *w = NULL;
	bool had_wal = hostile_exists(path, "-wal"), had_shm = hostile_exists(path, "-shm");
	char *error = NULL;
	size_t count;

	assert_int_equal(hostile_try(path), expected);
	assert_int_equal(store_list_recordings(path, &list, &count, NULL), expected);
	assert_null(list);
	assert_int_equal(store_writer_new(path, &info, &w, &error), expected);
	assert_null(w);
	assert_non_null(strstr(error, path));
	free(error);
	after = hostile_read(path);
	assert_int_equal(before.len, after.len);
	assert_memory_equal(before.bytes, after.bytes, before.len);
	assert_int_equal(hostile_exists(path, "-wal"), had_wal);
	assert_int_equal(hostile_exists(path, "-shm"), had_shm);
	assert_false(hostile_exists(path, "-journal"));
	free(before.bytes);
	free(after.bytes);
}

static void hostile_other_files(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db"), *error = NULL;
	struct store_recording info = fixture_info();
	struct store_writer *w = NULL;
	uint8_t noise[5000];

	(void)state;
	assert_int_equal(hostile_try(path), -ENOENT);
	hostile_write(path, "a line of text\n", 15);
	hostile_refused(path, -EINVAL);
	fixture_seed = 3;
	for (unsigned i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)fixture_random(256);
	hostile_write(path, noise, sizeof(noise));
	hostile_refused(path, -EINVAL);
	memcpy(noise, "SQLite format 3", 16);
	hostile_write(path, noise, sizeof(noise));
	hostile_refused(path, -EINVAL);
	hostile_write(path, noise, 99);
	hostile_refused(path, -EINVAL);
	assert_int_equal(hostile_try(folder), -EINVAL);
	assert_int_equal(store_writer_new(folder, &info, &w, &error), -EINVAL);
	free(error);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(hostile_try(path), -EINVAL);
	assert_int_equal(store_writer_new(path, &info, &w, NULL), -EINVAL);
	assert_int_equal(unlink(path), 0);
	free(path);
	path = fixture_path(folder, "no/such/folder.db");
	assert_int_equal(store_writer_new(path, &info, &w, NULL), -ENOENT);
	free(path);
	fixture_remove(folder);
}

/* A foreign database, with a WAL that SQLite would write back. */
static void hostile_other_database(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	char *copy = fixture_path(folder, "t.db"), *wal = fixture_path(folder, "s.db-wal");
	char *copy_wal = fixture_path(folder, "t.db-wal");
	struct hostile_file main_file, wal_file, after;
	sqlite3 *db;

	(void)state;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA journal_mode=WAL; CREATE TABLE t(x)", 0, 0, 0),
			 0);
	assert_int_equal(sqlite3_exec(db,
				      "PRAGMA wal_checkpoint(TRUNCATE);"
				      "INSERT INTO t VALUES(1)",
				      0, 0, 0),
			 0);
	main_file = hostile_read(path);
	wal_file = hostile_read(wal);
	assert_true(wal_file.len > 0);
	hostile_write(copy, main_file.bytes, main_file.len);
	hostile_write(copy_wal, wal_file.bytes, wal_file.len);
	hostile_refused(copy, -EINVAL);
	after = hostile_read(copy_wal);
	assert_int_equal(after.len, wal_file.len);
	assert_memory_equal(after.bytes, wal_file.bytes, after.len);
	sqlite3_close(db);
	free(main_file.bytes);
	free(wal_file.bytes);
	free(after.bytes);
	free(path);
	free(copy);
	free(wal);
	free(copy_wal);
	fixture_remove(folder);
}

/* An empty file cannot be read, and becomes a new store when written. */
static void hostile_empty_file(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct recording f = fixture_make(100, 100, 1);
	struct store_reader *r = NULL;
	char *error = NULL;

	(void)state;
	hostile_write(path, "", 0);
	assert_int_equal(hostile_try(path), -EINVAL);
	fixture_record(path, &f);
	fixture_assert_all(&f, path, 0);
	assert_int_equal(store_reader_open(path, 2, &r, &error), -ENODATA);
	assert_non_null(strstr(error, "stackctl list"));
	free(error);
	hostile_execute(path, "DELETE FROM recordings");
	assert_int_equal(hostile_try(path), -ENODATA);
	free_recording(&f);
	free(path);
	fixture_remove(folder);
}

static void hostile_newer_version(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db"), *error = NULL;
	struct recording f = fixture_make(100, 100, 1);
	struct store_reader *r = NULL;
	char known[32];

	(void)state;
	snprintf(known, sizeof(known), "newer than %d", STORE_VERSION);
	fixture_record(path, &f);
	hostile_execute(path, "PRAGMA user_version=4711");
	hostile_refused(path, -ENOTSUP);
	assert_int_equal(store_reader_open(path, 0, &r, &error), -ENOTSUP);
	assert_non_null(strstr(error, "4711"));
	assert_non_null(strstr(error, known));
	assert_non_null(strstr(error, "newer stackctl"));
	free(error);
	free_recording(&f);
	free(path);
	fixture_remove(folder);
}

/* The version mark in the main file's header. */
static unsigned hostile_version(const char *path)
{
	struct hostile_file f = hostile_read(path);
	unsigned version = f.bytes[63];

	free(f.bytes);
	return version;
}

/* A store of version 1 (no origins, no provenances, no layouts) is read as it is, and becomes one
 * of this version when something is added. */
static void hostile_older_version(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct recording old = fixture_make(3000, 100, 1), new = fixture_make(3000, 100, 2);

	(void)state;
	for (uint32_t i = 0; i < old.n_samples; i++)
		old.samples[i].origin = 0;
	old.n_origins = 1;
	fixture_record(path, &old);
	for (uint32_t i = 0; i < old.n_objects; i++)
		old.objects[i].layout = 0;
	hostile_execute(path, "PRAGMA user_version=1; DELETE FROM chunks WHERE kind>=8;"
			      "ALTER TABLE objects DROP COLUMN layout");
	for (uint32_t i = 0; i < old.n_threads; i++)
		old.threads[i].cgroup = NULL;
	for (uint32_t i = 0; i < old.n_locations; i++)
		old.locations[i].provenance = PROVENANCE_NONE;
	assert_int_equal(hostile_version(path), 1);
	fixture_assert_all(&old, path, 1);
	assert_int_equal(hostile_version(path), 1);
	fixture_record(path, &new);
	assert_int_equal(hostile_version(path), STORE_VERSION);
	fixture_assert_all(&old, path, 1);
	fixture_assert_all(&new, path, 2);
	free_recording(&old);
	free_recording(&new);
	free(path);
	fixture_remove(folder);
}

/* --- damage --------------------------------------------------------------------------------- */

static void hostile_cut(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	char *cut = fixture_path(folder, "cut.db");
	struct recording f = fixture_make(3000, 2000, 31);
	struct hostile_file good;
	unsigned valid = 0, tried = 0;

	(void)state;
	fixture_record(path, &f);
	good = hostile_read(path);
	for (size_t len = 0; len < good.len; len += len < 200 ? 9 : 997) {
		hostile_unlink(cut);
		hostile_write(cut, good.bytes, len);
		valid += hostile_try(cut) == 0;
		tried++;
	}
	assert_true(tried > 50);
	assert_int_equal(valid, 0);
	free(good.bytes);
	free(path);
	free(cut);
	free_recording(&f);
	fixture_remove(folder);
}

static void hostile_flipped(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	char *bad = fixture_path(folder, "bad.db");
	struct recording f = fixture_make(1500, 800, 32);
	struct hostile_file good;
	unsigned errors = 0;

	(void)state;
	fixture_record(path, &f);
	good = hostile_read(path);
	fixture_seed = 33;
	for (unsigned round = 0; round < 700; round++) {
		uint8_t saved[4];
		size_t at[4];

		/* most flips go where the structure is: the starts of pages */
		for (unsigned i = 0; i < 4; i++) {
			at[i] = fixture_random(good.len);
			if (round % 2)
				at[i] = at[i] / 4096 * 4096 + fixture_random(120);
			at[i] = at[i] < good.len ? at[i] : 0;
			saved[i] = good.bytes[at[i]];
			good.bytes[at[i]] ^= (uint8_t)(1u << fixture_random(8));
		}
		hostile_unlink(bad);
		hostile_write(bad, good.bytes, good.len);
		errors += hostile_try(bad) < 0;
		for (unsigned i = 4; i-- > 0;)
			good.bytes[at[i]] = saved[i];
	}
	assert_true(errors > 100);
	free(good.bytes);
	free(path);
	free(bad);
	free_recording(&f);
	fixture_remove(folder);
}

/* A writer on a damaged store: an error or a recording, never a crash. */
static void hostile_written(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	char *bad = fixture_path(folder, "bad.db");
	struct recording f = fixture_make(300, 100, 34);
	struct store_recording info = fixture_info();
	struct hostile_file good;

	(void)state;
	fixture_record(path, &f);
	good = hostile_read(path);
	fixture_seed = 35;
	for (unsigned round = 0; round < 100; round++) {
		size_t at = fixture_random(good.len) / 4096 * 4096 + fixture_random(120);
		struct store_writer *w = NULL;
		uint8_t saved = good.bytes[at];

		good.bytes[at] ^= (uint8_t)(1u << fixture_random(8));
		hostile_unlink(bad);
		hostile_write(bad, good.bytes, good.len);
		good.bytes[at] = saved;
		if (store_writer_new(bad, &info, &w, NULL) < 0)
			continue;
		store_writer_counter(w, "entry", 1);
		store_writer_commit(w, &info);
		store_writer_retain(w, 1, 1);
		store_writer_free(w);
	}
	free(good.bytes);
	free(path);
	free(bad);
	free_recording(&f);
	fixture_remove(folder);
}

/* --- traps ---------------------------------------------------------------------------------- */

/* SQL that turns a good store into one that must be refused as damaged. */
static const char *const hostile_sql[] = {
	/* a table replaced by a view that never ends; a trigger; one more table; other columns */
	("DROP TABLE objects; CREATE VIEW objects AS WITH RECURSIVE r(n) AS (SELECT 0 UNION ALL"
	 " SELECT n FROM r) SELECT 1 recording, 0 number, 0 kind, 0 file_id, '' path, x'' build_id,"
	 " '' problem FROM r"),
	"CREATE TRIGGER t AFTER INSERT ON chunks BEGIN DELETE FROM chunks; END",
	"CREATE TABLE more(x)",
	"DROP TABLE counters",
	"ALTER TABLE threads RENAME COLUMN tid TO thread_id",
	"DROP INDEX chunks_by_kind; CREATE INDEX chunks_by_kind ON chunks(recording, kind, seq)",
	/* references to missing rows */
	"UPDATE threads SET process=99 WHERE number=3",
	"UPDATE threads SET process=-1 WHERE number=3",
	"DELETE FROM objects WHERE number=4",
	"DELETE FROM objects WHERE number=(SELECT max(number) FROM objects)",
	"DELETE FROM threads WHERE number=(SELECT max(number) FROM threads)",
	"UPDATE threads SET number=1000 WHERE number=3",
	"UPDATE objects SET build_id=zeroblob(1000) WHERE number=2",
	"UPDATE objects SET path=hex(zeroblob(100000)) WHERE number=2",
	/* chunks: missing, empty, of another kind, miscounted, out of order */
	"DELETE FROM chunks WHERE kind=0",
	"DELETE FROM chunks WHERE kind=1",
	"DELETE FROM chunks WHERE kind=2",
	"DELETE FROM chunks WHERE kind=4",
	"UPDATE chunks SET data=NULL WHERE kind=3",
	"UPDATE chunks SET data=x'' WHERE kind=5",
	"UPDATE chunks SET data=zeroblob(1000) WHERE kind=4",
	"UPDATE chunks SET count=count+1 WHERE kind=4",
	"UPDATE chunks SET count=count-1 WHERE kind=0",
	"UPDATE chunks SET count=0 WHERE kind=2",
	"UPDATE chunks SET count=-1 WHERE kind=3",
	"UPDATE chunks SET count=1000000000 WHERE kind=3",
	"UPDATE chunks SET count=count+1 WHERE kind=5",
	"UPDATE chunks SET count=1000000000 WHERE kind=5",
	"UPDATE chunks SET seq=1 WHERE kind=1",
	"UPDATE chunks SET seq=1 WHERE kind=5",
	"UPDATE chunks SET first_ns=first_ns+1 WHERE kind=5",
	"UPDATE chunks SET data=(SELECT data FROM chunks WHERE kind=0) WHERE kind=4",
	("INSERT INTO chunks SELECT NULL, recording, kind, 1, count, first_ns, data FROM chunks"
	 " WHERE kind=3"),
};

static void hostile_traps(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	char *bad = fixture_path(folder, "bad.db");
	struct recording f = fixture_make(1000, 500, 36);
	struct hostile_file good;

	(void)state;
	fixture_record(path, &f);
	good = hostile_read(path);
	hostile_write(bad, good.bytes, good.len);
	assert_int_equal(hostile_try(bad), 0);
	for (unsigned i = 0; i < sizeof(hostile_sql) / sizeof(*hostile_sql); i++) {
		int err;

		hostile_unlink(bad);
		hostile_write(bad, good.bytes, good.len);
		hostile_execute(bad, hostile_sql[i]);
		err = hostile_try(bad);
		if (err != -EBADMSG)
			print_error("%d after %s\n", err, hostile_sql[i]);
		assert_int_equal(err, -EBADMSG);
	}
	free(good.bytes);
	free(path);
	free(bad);
	free_recording(&f);
	fixture_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hostile_other_files),	 cmocka_unit_test(hostile_other_database),
		cmocka_unit_test(hostile_empty_file),	 cmocka_unit_test(hostile_newer_version),
		cmocka_unit_test(hostile_older_version), cmocka_unit_test(hostile_cut),
		cmocka_unit_test(hostile_flipped),	 cmocka_unit_test(hostile_written),
		cmocka_unit_test(hostile_traps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
