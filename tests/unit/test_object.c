/* SPDX-License-Identifier: MIT */
/* The object of a mapping, in a generated /proc with real ELF files. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "proc/object_copies.h"
#include "proc/object_elsewhere.h"
#include "file_clock.h"
#include "test_proc_fixture.h"

#define PID 50

struct context {
	struct fixture *f;
	struct object_table *table;
};

static int set_up(void **state)
{
	struct context *c = calloc(1, sizeof(*c));

	c->f = fixture_new();
	assert_int_equal(object_table_new(c->f->proc, &c->table), 0);
	*state = c;
	return 0;
}

static int tear_down(void **state)
{
	struct context *c = *state;

	object_table_free(c->table);
	fixture_free(c->f);
	free(c);
	return 0;
}

static const struct object *resolve(struct context *c, pid_t pid, const struct object_mapping *m)
{
	const struct object *object = NULL;

	assert_int_equal(object_table_resolve(c->table, pid, m, &object), 0);
	assert_non_null(object);
	assert_true(object->file_id != 0);
	assert_ptr_equal(object_table_at(c->table, object->number), object);
	/* Either a file, or a reason for there being none, or no need of one. */
	assert_true((object->elf != NULL) != (object->error != 0) || object->kind == OBJECT_JIT);
	return object;
}

static struct object_mapping by_build_id(const struct object *object, const char *path)
{
	return (struct object_mapping){
		.start = 0x1000,
		.end = 0x2000,
		.offset = fixture_code_offset(),
		.build_id = object->build_id,
		.build_id_len = object->build_id_len,
		.path = path,
	};
}

/* maps has device and inode, events have the build-id: both find one object. Once the build-id is
 * known, no file is opened any more. */
static void test_two_ways_one_object(void **state)
{
	struct context *c = *state;
	char *path = fixture_elf_file(c->f, "lib/a.so", 0x11);
	struct object_mapping m = fixture_mapping(path, 0x1000);

	const struct object *a = resolve(c, PID, &m);
	assert_non_null(a->elf);
	assert_int_equal(a->kind, OBJECT_ELF);
	assert_int_equal(a->build_id[0], 0x11);
	assert_true(a->file_id == elf_file_id(a->elf));
	assert_string_equal(a->path, path);
	assert_ptr_equal(resolve(c, PID + 1, &m), a);

	fixture_remove(c->f->root);
	struct object_mapping e = by_build_id(a, "/nowhere/a.so");
	assert_ptr_equal(resolve(c, PID + 2, &e), a);
	/* The inode is kept open by the object, so it is still known, too, by any name. */
	m.path = "/other/name";
	assert_ptr_equal(resolve(c, PID + 3, &m), a);
	assert_int_equal(object_table_count(c->table), 1);
	free(path);
}

/* One content at two inodes. */
static void test_copies_are_one(void **state)
{
	struct context *c = *state;
	char *a = fixture_elf_file(c->f, "one/a.so", 0x11);
	char *b = fixture_elf_file(c->f, "two/a.so", 0x11);
	char *other = fixture_elf_file(c->f, "two/b.so", 0x12);
	struct object_mapping ma = fixture_mapping(a, 0), mb = fixture_mapping(b, 0);
	struct object_mapping mo = fixture_mapping(other, 0);

	assert_true(ma.inode != mb.inode);
	assert_ptr_equal(resolve(c, PID, &ma), resolve(c, PID, &mb));
	assert_ptr_not_equal(resolve(c, PID, &ma), resolve(c, PID, &mo));
	free(a);
	free(b);
	free(other);
}

/* Two copies, and a third that replaces the first, which is only met by name: its mapping is gone.
 */
static void test_copies_are_kept(void **state)
{
	struct context *c = *state;
	char *a = fixture_elf_file(c->f, "one/a.so", 0x13);
	char *b = fixture_elf_file(c->f, "two/a.so", 0x13);
	char *new = fixture_elf_file(c->f, "new.so", 0x13);
	struct object_mapping ma = fixture_mapping(a, 0x1000), mb = fixture_mapping(b, 0x1000);
	const struct object_copies *copies;
	const struct object *object;
	struct object_mapping mn;

	assert_int_equal(object_table_keep_copies(c->table), 0);
	copies = object_table_copies(c->table);
	object = resolve(c, PID, &ma); /* cannot be seen in map_files */
	assert_int_equal(object_copies_count(copies), 0);
	fixture_map_file(c->f, PID + 1, mb.start, mb.end, b);
	assert_ptr_equal(resolve(c, PID + 1, &mb), object);
	assert_ptr_equal(resolve(c, PID + 1, &mb), object);
	assert_int_equal(object_copies_count(copies), 1);
	assert_int_equal(elf_file_inode(object_copies_at(copies, 0)->elf), mb.inode);

	assert_int_equal(rename(new, a), 0);
	mn = fixture_mapping(a, 0x1000);
	assert_true(mn.inode != ma.inode);
	for (int i = 0; i < 2; i++)
		assert_ptr_equal(resolve(c, PID, &mn), object);
	assert_int_equal(elf_file_inode(object->elf), mn.inode);
	assert_int_equal(object_copies_count(copies), 2);
	assert_int_equal(elf_file_inode(object_copies_at(copies, 1)->elf), mn.inode);
	assert_ptr_equal(object_copies_at(copies, 1)->object, object);
	free(a);
	free(b);
	free(new);
}

/* The name has gone to another file; map_files still has the mapped one. */
static void test_replaced_file(void **state)
{
	struct context *c = *state;
	char *path = fixture_elf_file(c->f, "lib/a.so", 0x21);
	char *moved = fixture_path(c->f, "old/a.so");
	struct object_mapping m = fixture_mapping(path, 0x7000);
	char *deleted = fixture_format("%s (deleted)", path);

	assert_int_equal(rename(path, moved), 0);
	free(fixture_elf_file(c->f, "lib/a.so", 0x22));
	fixture_map_file(c->f, PID, m.start, m.end, moved);
	m.path = deleted;
	const struct object *old = resolve(c, PID, &m);
	assert_int_equal(old->build_id[0], 0x21);
	assert_string_equal(old->path, path);

	struct object_mapping n = fixture_mapping(path, 0x9000);
	const struct object *new = resolve(c, PID, &n);
	assert_int_equal(new->build_id[0], 0x22);
	assert_true(new->file_id != old->file_id);

	/* Without map_files there is only the wrong file: not taken. */
	struct object_table *other;
	const struct object *none;
	assert_int_equal(object_table_new(c->f->proc, &other), 0);
	assert_int_equal(unlink(moved), 0);
	assert_int_equal(object_table_resolve(other, PID + 1, &m, &none), 0);
	assert_null(none->elf);
	assert_int_equal(none->error, -ESTALE);
	assert_string_equal(none->path, path);
	object_table_free(other);
	free(path);
	free(moved);
	free(deleted);
}

/* Something else is mapped at that address by now. */
static void test_map_files_of_another(void **state)
{
	struct context *c = *state;
	char *path = fixture_elf_file(c->f, "lib/a.so", 0x31);
	char *later = fixture_elf_file(c->f, "lib/b.so", 0x32);
	struct object_mapping m = fixture_mapping(path, 0x7000);

	fixture_map_file(c->f, PID, m.start, m.end, later);
	assert_int_equal(resolve(c, PID, &m)->build_id[0], 0x31);

	/* Again, by build-id. */
	const struct object *a = resolve(c, PID, &m);
	struct object_table *other;
	const struct object *b;
	assert_int_equal(object_table_new(c->f->proc, &other), 0);
	struct object_mapping e = by_build_id(a, path);
	e.start = m.start;
	e.end = m.end;
	assert_int_equal(object_table_resolve(other, PID, &e, &b), 0);
	assert_int_equal(b->build_id[0], 0x31);
	assert_non_null(b->elf);
	assert_true(b->file_id == a->file_id);
	object_table_free(other);
	free(path);
	free(later);
}

/* A container's file: its path means something only in the process's root. */
static void test_container(void **state)
{
	struct context *c = *state;
	char *path = fixture_elf_file(c->f, "proc/50/root/opt/only-there.so", 0x41);
	struct object_mapping m = fixture_mapping(path, 0x7000);

	m.path = "/opt/only-there.so";
	const struct object *object = resolve(c, PID, &m);
	assert_int_equal(object->build_id[0], 0x41);
	assert_string_equal(object->path, "/opt/only-there.so");
	free(path);
}

/* An unreadable object: a stable id, and another try now and then. */
static void test_unreadable_then_readable(void **state)
{
	struct context *c = *state;
	char *path = fixture_elf_file(c->f, "lib/a.so", 0x51);
	char *away = fixture_path(c->f, "away/a.so");
	struct object_mapping m = fixture_mapping(path, 0x7000);
	const struct object *a = resolve(c, PID, &m);
	struct object_table *other;
	const struct object *b = NULL;

	struct object_mapping e = by_build_id(a, path);
	assert_int_equal(rename(path, away), 0);
	assert_int_equal(object_table_new(c->f->proc, &other), 0);
	assert_int_equal(object_table_resolve(other, PID, &e, &b), 0);
	assert_null(b->elf);
	assert_int_equal(b->error, -ENOENT);
	assert_true(b->file_id == a->file_id);
	assert_int_equal(b->build_id_len, a->build_id_len);

	assert_int_equal(rename(away, path), 0);
	const struct object *again = NULL;
	for (int i = 0; i < 4 && !b->elf; i++) {
		assert_int_equal(object_table_resolve(other, PID, &e, &again), 0);
		assert_ptr_equal(again, b);
	}
	assert_non_null(b->elf);
	assert_int_equal(b->error, 0);
	assert_int_equal(object_table_count(other), 1);
	object_table_free(other);
	free(path);
	free(away);
}

static void test_stable_id_without_build_id(void **state)
{
	struct context *c = *state;
	struct object_mapping m = {
		.end = 0x1000, .dev_major = 8, .dev_minor = 1, .inode = 99, .path = "/gone/lib.so"};
	struct object_mapping n = m, p = m;
	struct object_table *other;
	const struct object *same;

	const struct object *a = resolve(c, PID, &m);
	assert_int_equal(a->error, -ENOENT);
	assert_ptr_equal(resolve(c, PID + 1, &m), a);
	n.inode = 100;
	assert_ptr_not_equal(resolve(c, PID, &n), a);
	p.path = "/gone/other.so";
	assert_ptr_not_equal(resolve(c, PID, &p), a);
	assert_int_equal(object_table_new(c->f->proc, &other), 0);
	assert_int_equal(object_table_resolve(other, PID, &m, &same), 0);
	assert_true(same->file_id == a->file_id);
	object_table_free(other);
}

/* Same device and inode, other content: another object; only touched: the same. */
static void test_rewritten_in_place(void **state)
{
	struct context *c = *state;
	char *path = fixture_elf_file(c->f, "lib/a.so", 0x61);
	struct object_mapping m = fixture_mapping(path, 0x7000);
	const struct object *a = resolve(c, PID, &m);

	assert_int_equal(chmod(path, 0600), 0);
	assert_ptr_equal(resolve(c, PID, &m), a);

	file_clock_goes_on();
	free(fixture_elf_file(c->f, "lib/a.so", 0x62));
	struct object_mapping n = fixture_mapping(path, 0x7000);
	assert_true(n.inode == m.inode);
	const struct object *b = resolve(c, PID, &n);
	assert_int_equal(b->build_id[0], 0x62);
	assert_ptr_not_equal(a, b);
	assert_ptr_equal(resolve(c, PID, &n), b);
	free(path);
}

/* The mapping is gone and its path leads nowhere, so that the file cannot be examined: its inode
 * number alone does not say what it holds. */
static void test_not_to_be_examined(void **state)
{
	struct context *c = *state;
	char *path = fixture_elf_file(c->f, "lib/a.so", 0x61);
	char *copy = fixture_elf_file(c->f, "lib/copy.so", 0x61);
	struct object_mapping m = fixture_mapping(path, 0x7000), n = fixture_mapping(copy, 0x7000);
	const struct object *a = resolve(c, PID, &m);

	/* The object is not read from this one, so its inode may be another file's by now. */
	assert_ptr_equal(resolve(c, PID, &n), a);
	assert_int_equal(unlink(copy), 0);
	assert_null(resolve(c, PID, &n)->elf);

	m.path = "/other/name";
	assert_ptr_equal(resolve(c, PID, &m), a);
	file_clock_goes_on();
	free(fixture_elf_file(c->f, "lib/a.so", 0x62));
	assert_null(resolve(c, PID, &m)->elf);
	free(copy);
	free(path);
}

/* Files of one build-id and two layouts are two objects, with ids that do not depend on the table;
 * where only the event is left, the mapping's place tells which. */
static void test_two_layouts(void **state)
{
	struct context *c = *state;
	char *path = fixture_elf_file(c->f, "lib/a.so", 0x21);
	char *moved = fixture_moved_file(c->f, "lib/moved.so", 0x21);
	const struct object_mapping ma = fixture_mapping(path, 0x7000);
	const struct object *a = resolve(c, PID, &ma), *b, *other_a, *other_b;
	struct object_mapping ea = by_build_id(a, path), eb = by_build_id(a, moved);
	struct object_table *other;

	fixture_map_file(c->f, PID, ea.start, ea.end, path);
	fixture_map_file(c->f, PID + 1, eb.start, eb.end, moved);
	eb.offset = fixture_moved_offset();
	assert_ptr_equal(resolve(c, PID, &ea), a);
	b = resolve(c, PID + 1, &eb);
	assert_ptr_not_equal(b, a);
	assert_true(b->file_id != a->file_id && b->layout != a->layout);
	assert_true(a->file_id == elf_file_id(a->elf));
	assert_memory_equal(b->build_id, a->build_id, a->build_id_len);
	assert_ptr_equal(resolve(c, PID, &ea), a);
	assert_ptr_equal(resolve(c, PID + 1, &eb), b);
	assert_ptr_equal(resolve(c, PID + 2, &ea), a);
	assert_ptr_equal(resolve(c, PID + 2, &eb), b);

	assert_int_equal(object_table_new(c->f->proc, &other), 0);
	assert_int_equal(object_table_resolve(other, PID, &ea, &other_a), 0);
	assert_int_equal(object_table_resolve(other, PID + 1, &eb, &other_b), 0);
	assert_true(other_a->file_id == a->file_id && other_b->file_id == b->file_id);
	object_table_free(other);
	free(path);
	free(moved);
}

/* What could not be read is not the next file of its build-id, unless that can have been mapped. */
static void test_unread_layout(void **state)
{
	struct context *c = *state;
	char *path = fixture_elf_file(c->f, "lib/a.so", 0x21);
	struct object_mapping known = fixture_mapping(path, 0x7000), e;
	const struct object *a, *gone;
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t len;

	a = resolve(c, PID, &known);
	len = a->build_id_len;
	memcpy(id, a->build_id, len);
	id[0] = 0x22;
	e = (struct object_mapping){.start = 0x1000,
				    .end = 0x2000,
				    .offset = UINT64_C(1) << 30,
				    .build_id = id,
				    .build_id_len = (uint8_t)len,
				    .path = "/gone"};
	gone = resolve(c, PID, &e);
	assert_null(gone->elf);
	free(path);
	path = fixture_elf_file(c->f, "lib/b.so", 0x22);
	fixture_map_file(c->f, PID + 1, e.start, e.end, path);
	e.offset = fixture_code_offset();
	a = resolve(c, PID + 1, &e);
	assert_non_null(a->elf);
	assert_ptr_not_equal(a, gone);
	assert_null(gone->elf);
	free(path);
}

/* An object whose file was overwritten is not what the file holds now, and has its file again when
 * that is mapped from elsewhere. */
static void test_overwritten(void **state)
{
	struct context *c = *state;
	char *path = fixture_elf_file(c->f, "lib/a.so", 0x61), *copy;
	struct object_mapping m = fixture_mapping(path, 0x7000);
	const struct object *a = resolve(c, PID, &m);
	struct object_mapping e = by_build_id(a, path);
	uint64_t before = (uint64_t)elf_file_stamp(a->elf)->ctime_ns, after;
	uint64_t inode = elf_file_stamp(a->elf)->inode;
	struct stat st;

	e.inode = inode;
	fixture_map_file(c->f, PID, e.start, e.end, path);
	assert_ptr_equal(resolve(c, PID, &e), a);
	assert_true(object_table_has_proof(c->table, a, inode, before));
	/* another file, written in the same tick of the kernel's clock */
	assert_false(object_table_has_proof(c->table, a, inode + 1, before));
	assert_false(elf_file_is_touched(a->elf));
	file_clock_goes_on();
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(stat(path, &st), 0);
	after = (uint64_t)elf_stamp_of(&st).ctime_ns;
	assert_false(object_table_has_proof(c->table, a, inode, after));
	assert_true(object_table_prove(c->table, PID, &e, a, after));
	assert_true(object_table_has_proof(c->table, a, inode, after));

	file_clock_goes_on();
	free(fixture_elf_file(c->f, "lib/a.so", 0x62));
	assert_int_equal(stat(path, &st), 0);
	after = (uint64_t)elf_stamp_of(&st).ctime_ns;
	assert_true(elf_file_is_touched(a->elf));
	assert_false(object_table_prove(c->table, PID, &e, a, after));
	assert_false(object_table_has_proof(c->table, a, inode, after));
	assert_ptr_equal(resolve(c, PID, &e), a);

	copy = fixture_elf_file(c->f, "lib/copy.so", 0x61);
	fixture_map_file(c->f, PID + 1, e.start, e.end, copy);
	assert_ptr_equal(resolve(c, PID + 1, &e), a);
	assert_false(elf_file_is_touched(a->elf));
	free(copy);
	free(path);
}

static void test_deleted_names(void **state)
{
	struct context *c = *state;
	char *path = fixture_elf_file(c->f, "lib/a.so (deleted)", 0x71); /* its real name */
	struct object_mapping m = fixture_mapping(path, 0x7000);

	const struct object *a = resolve(c, PID, &m);
	assert_non_null(a->elf);
	assert_string_equal(a->path, path);

	/* Deleted, and the same content is back under the name: by build-id. */
	char *back = fixture_elf_file(c->f, "lib/b.so", 0x72);
	struct object_mapping n = fixture_mapping(back, 0x9000);
	uint8_t build_id[ELF_BUILD_ID_MAX];
	memcpy(build_id, a->build_id, a->build_id_len);
	build_id[0] = 0x72;
	char *deleted = fixture_format("%s (deleted)", back);
	n.inode = 0;
	n.build_id = build_id;
	n.build_id_len = a->build_id_len;
	n.path = deleted;
	const struct object *b = resolve(c, PID, &n);
	assert_non_null(b->elf);
	assert_string_equal(b->path, back);
	free(path);
	free(back);
	free(deleted);
}

static void read_build_id(const char *path, uint8_t id[ELF_BUILD_ID_MAX])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const uint8_t *build_id;
	struct elf_file *elf;
	size_t len;

	assert_int_equal(elf_file_open(fd, &elf), 0);
	build_id = elf_file_build_id(elf, &len);
	assert_int_equal(len, ELF_BUILD_ID_MAX);
	memcpy(id, build_id, len);
	elf_file_free(elf);
	close(fd);
}

static const struct object *look_for(struct context *c, const char *root, const char *cache,
				     const struct object_mapping *m)
{
	struct object_elsewhere *elsewhere;

	assert_int_equal(object_elsewhere_new(root, cache, &elsewhere), 0);
	object_table_free(c->table);
	assert_int_equal(object_table_new("/nonexistent", &c->table), 0);
	object_table_trust_build_ids_alone(c->table);
	object_table_look_in(c->table, elsewhere);
	return resolve(c, PID, m);
}

/* Files that are no longer where they were mapped from. */
static void test_elsewhere(void **state)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	struct context *c = *state;
	char *path = fixture_elf_file(c->f, "far/lib/a.so", 0x11);
	char *root = strndup(path, strlen(path) - strlen("/lib/a.so"));
	struct object_mapping m = {.start = 0x1000,
				   .end = 0x2000,
				   .offset = fixture_code_offset(),
				   .path = "/lib/a.so"};
	struct object_elsewhere *none;

	read_build_id(path, id);
	m.build_id = id;
	m.build_id_len = sizeof(id);
	assert_null(look_for(c, NULL, NULL, &m)->elf);
	assert_non_null(look_for(c, root, NULL, &m)->elf);
	m.path = "/lib/a.so (deleted)";
	assert_non_null(look_for(c, root, NULL, &m)->elf);
	m.path = "/../../far/lib/a.so"; /* does not lead out of it */
	assert_int_equal(look_for(c, root, NULL, &m)->error, -ENOENT);
	m.path = "/lib/a.so";
	id[0]++;
	assert_int_equal(look_for(c, root, NULL, &m)->error, -ESTALE);
	m.build_id_len = 0; /* then the name is all that there is */
	assert_non_null(look_for(c, root, NULL, &m)->elf);
	m.path = "/lib";
	assert_int_equal(look_for(c, root, NULL, &m)->error, -EACCES);
	assert_int_equal(object_elsewhere_new("/nonexistent", NULL, &none), -ENOENT);
	free(root);
	free(path);
}

/* perf's folder of files by build-id. */
static void test_elsewhere_by_build_id(void **state)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	struct context *c = *state;
	char *path = fixture_elf_file(c->f, "a.so", 0x11), *cache = fixture_path(c->f, "cache");
	char name[128] = "cache/.build-id/11/";
	struct object_mapping m = {.start = 0x1000,
				   .end = 0x2000,
				   .offset = fixture_code_offset(),
				   .path = "/x",
				   .build_id = id};
	size_t at = strlen(name);

	read_build_id(path, id);
	m.build_id_len = sizeof(id);
	free(path);
	for (size_t i = 1; i < sizeof(id); i++)
		at += (size_t)sprintf(name + at, "%02x", id[i]);
	strcpy(name + at, "/elf");
	free(fixture_elf_file(c->f, name, 0x11));
	assert_non_null(look_for(c, NULL, cache, &m)->elf);
	free(fixture_elf_file(c->f, name, 0x12));
	assert_int_equal(look_for(c, NULL, cache, &m)->error, -ESTALE);
	/* The layout of old versions of perf. */
	memcpy(name + strlen("cache/.build-id/"), "12", 2);
	name[at] = '\0';
	id[0] = 0x12;
	free(fixture_elf_file(c->f, name, 0x12));
	assert_non_null(look_for(c, NULL, cache, &m)->elf);
	free(cache);
}

static void test_not_elf(void **state)
{
	struct context *c = *state;
	size_t size;
	const uint8_t *image = fixture_elf(&size);
	char *text = fixture_path(c->f, "x/text"), *cut = fixture_path(c->f, "x/cut");
	char *fifo = fixture_path(c->f, "x/fifo"), *folder = fixture_path(c->f, "x/folder/y");
	(void)size;

	fixture_write(c->f, "x/text", "#!/bin/sh\n", 10);
	fixture_write(c->f, "x/cut", image, 70);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	*strrchr(folder, '/') = '\0';
	const char *const paths[] = {text, cut, fifo, folder};
	static const int errors[] = {-ENOEXEC, -ENOEXEC, -EACCES, -EACCES};
	for (int i = 0; i < 4; i++) {
		struct object_mapping m = fixture_mapping(paths[i], 0x7000);
		const struct object *object = resolve(c, PID, &m);
		assert_int_equal(object->kind, OBJECT_ELF);
		assert_int_equal(object->error, errors[i]);
		assert_ptr_equal(resolve(c, PID, &m), object);
	}
	assert_int_equal(object_table_count(c->table), 4);
	free(text);
	free(cut);
	free(fifo);
	free(folder);
}

static void test_jit(void **state)
{
	static const char *const names[] = {
		"",
		"//anon",
		"[heap]",
		"[stack]",
		"[stack:12]",
		"[anon:v8]",
		"[anon_shmem:x]",
		"/dev/zero (deleted)",
		"/dev/zero",
		"/anon_hugepage (deleted)",
		"/SYSV00000000 (deleted)",
	};
	struct context *c = *state;
	struct object_mapping m = {.start = 0x1000, .end = 0x2000, .path = "//anon"};

	fixture_process(c->f, PID, 1, 1000, "node", "");
	fixture_process(c->f, PID + 1, 1, 1000, "node", "");
	const struct object *jit = resolve(c, PID, &m);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		m.path = names[i];
		m.inode = i & 1; /* shared memory has one */
		assert_ptr_equal(resolve(c, PID, &m), jit);
	}
	assert_int_equal(jit->kind, OBJECT_JIT);
	assert_int_equal(jit->owner.pid, PID);
	assert_int_equal(jit->error, 0);
	const struct object *other = resolve(c, PID + 1, &m);
	assert_true(other->file_id != jit->file_id);

	/* After exec: the same pid and start time; after reuse: another start time. */
	object_table_forget_process(c->table, PID);
	const struct object *second = resolve(c, PID, &m);
	assert_true(second->file_id != jit->file_id);
	object_table_forget_process(c->table, PID);
	fixture_process(c->f, PID, 1, 2000, "node", "");
	const struct object *third = resolve(c, PID, &m);
	assert_true(third->file_id != jit->file_id && third->file_id != second->file_id);
	assert_int_equal(object_table_count(c->table), 4);
}

static void test_memfd(void **state)
{
	struct context *c = *state;
	char *elf = fixture_elf_file(c->f, "m/elf", 0x81);
	char *code = fixture_path(c->f, "m/code");

	fixture_process(c->f, PID, 1, 1000, "dotnet", "");
	fixture_write(c->f, "m/code", "\x90\x90\xc3", 3);
	struct object_mapping me = fixture_mapping(elf, 0x7000);
	struct object_mapping mc = fixture_mapping(code, 0x9000);
	fixture_map_file(c->f, PID, me.start, me.end, elf);
	fixture_map_file(c->f, PID, mc.start, mc.end, code);
	me.path = "/memfd:lib (deleted)";
	mc.path = "/memfd:doublemapper (deleted)";
	const struct object *lib = resolve(c, PID, &me);
	assert_int_equal(lib->kind, OBJECT_ELF);
	assert_int_equal(lib->build_id[0], 0x81);
	const struct object *jit = resolve(c, PID, &mc);
	assert_int_equal(jit->kind, OBJECT_JIT);
	assert_ptr_equal(resolve(c, PID, &mc), jit);
	assert_int_equal(resolve(c, PID + 1, &mc)->owner.pid, PID + 1);
	free(elf);
	free(code);
}

static void test_special(void **state)
{
	static const char *const nothing[] = {"[vsyscall]", "[uprobes]", "[vvar]",
					      "anon_inode:[perf_event]"};
	struct context *c = *state;
	struct object_mapping m = {.start = 0x7ffff7fc0000, .end = 0x7ffff7fc2000};
	const struct object *object = NULL;

	for (size_t i = 0; i < sizeof(nothing) / sizeof(*nothing); i++) {
		m.path = nothing[i];
		assert_int_equal(object_table_resolve(c->table, PID, &m, &object), -ENOENT);
	}
	assert_null(object);
	m.path = "[vdso]";
	const struct object *vdso = resolve(c, PID, &m);
	assert_int_equal(vdso->kind, OBJECT_VDSO);
	assert_non_null(vdso->elf);
	assert_string_equal(vdso->path, "[vdso]");
	assert_ptr_equal(resolve(c, PID + 1, &m), vdso);
	m.start = 0xf7fc0000; /* of a 32-bit process: not ours */
	const struct object *compat = resolve(c, PID, &m);
	assert_ptr_not_equal(compat, vdso);
	assert_null(compat->elf);
	m.path = "/x";
	m.build_id = (const uint8_t *)"012345678901234567890";
	m.build_id_len = 21;
	assert_int_equal(object_table_resolve(c->table, PID, &m, &object), -ENOENT);
}

static void test_add(void **state)
{
	struct context *c = *state;
	struct object kernel = {.number = 77,
				.kind = OBJECT_KERNEL,
				.path = "[kernel.kallsyms]",
				.build_id = {1, 2, 3, 4, 5, 6, 7, 8, 9},
				.build_id_len = 9,
				.address = 0xffffffff81000000};
	struct object module = {.kind = OBJECT_MODULE, .path = "[ext4]", .address = 5};
	const struct object *a, *b, *again;

	assert_int_equal(object_table_add(c->table, &kernel, &a), 0);
	assert_int_equal(a->number, 0);
	assert_true(a->file_id == 0x0102030405060708);
	assert_true(a->address == kernel.address);
	assert_int_equal(object_table_add(c->table, &module, &b), 0);
	assert_int_equal(b->number, 1);
	assert_true(b->file_id != 0);
	assert_int_equal(object_table_add(c->table, &module, &again), 0);
	assert_ptr_equal(again, b);

	/* Build-ids that differ only after eight bytes give different file ids. */
	kernel.build_id[8]++;
	assert_int_equal(object_table_add(c->table, &kernel, &again), 0);
	assert_ptr_not_equal(again, a);
	assert_true(again->file_id != a->file_id);
	assert_int_equal(object_table_count(c->table), 3);
	assert_null(object_table_at(c->table, 3));
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_two_ways_one_object),
		TEST(test_copies_are_one),
		TEST(test_copies_are_kept),
		TEST(test_replaced_file),
		TEST(test_map_files_of_another),
		TEST(test_container),
		TEST(test_unreadable_then_readable),
		TEST(test_stable_id_without_build_id),
		TEST(test_rewritten_in_place),
		TEST(test_not_to_be_examined),
		TEST(test_two_layouts),
		TEST(test_unread_layout),
		TEST(test_overwritten),
		TEST(test_deleted_names),
		TEST(test_elsewhere),
		TEST(test_elsewhere_by_build_id),
		TEST(test_not_elf),
		TEST(test_jit),
		TEST(test_memfd),
		TEST(test_special),
		TEST(test_add),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
