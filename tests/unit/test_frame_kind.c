/* SPDX-License-Identifier: MIT */
/* The kinds of frames, by their objects, and the languages of source files, by their ids. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "model/frame_kind.h"
#include "proc/object.h"
#include "proc/object_id.h"
#include "stackd_abi.h"

static enum frame_kind kind_of(enum object_kind kind, const char *path, uint64_t id)
{
	return frame_kind_of_object(
		&(struct store_object){.kind = kind, .path = path, .file_id = id});
}

static void test_objects(void **state)
{
	(void)state;
	assert_int_equal(kind_of(OBJECT_ELF, "/bin/a", 1), FRAME_NATIVE);
	assert_int_equal(kind_of(OBJECT_ELF, NULL, 1), FRAME_NATIVE);
	assert_int_equal(kind_of(OBJECT_VDSO, "[vdso]", 1), FRAME_NATIVE);
	assert_int_equal(kind_of(OBJECT_KERNEL, "[kernel.kallsyms]", 1), FRAME_KERNEL);
	assert_int_equal(kind_of(OBJECT_MODULE, "[xfs]", 1), FRAME_KERNEL);
	assert_int_equal(kind_of(OBJECT_JIT, "[jit]", 1), FRAME_JIT);
	assert_int_equal(kind_of(OBJECT_AWAITED, "futex 0x1", 1), FRAME_NOTE);
	assert_int_equal(kind_of(99, "?", 1), FRAME_NATIVE);
}

static void test_languages(void **state)
{
	const char *const paths[] = {"/srv/app.py", "<string>", "[others]", ""};
	uint64_t id;

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		id = object_managed_id(STACKD_RUNTIME_PYTHON, paths[i]);
		assert_int_equal(kind_of(OBJECT_MANAGED, paths[i], id), FRAME_PYTHON);
		id = object_next_id(object_next_id(id)); /* others had that one, and the next */
		assert_int_equal(kind_of(OBJECT_MANAGED, paths[i], id), FRAME_PYTHON);
		id = object_managed_id(STACKD_RUNTIME_RUBY, paths[i]);
		assert_int_equal(kind_of(OBJECT_MANAGED, paths[i], id), FRAME_RUBY);
		id = object_managed_id(STACKD_RUNTIME_PHP, paths[i]);
		assert_int_equal(kind_of(OBJECT_MANAGED, paths[i], id), FRAME_PHP);
		id = object_managed_id(STACKD_RUNTIME_PERL, paths[i]);
		assert_int_equal(kind_of(OBJECT_MANAGED, paths[i], id), FRAME_PERL);
		id = object_managed_id(STACKD_RUNTIME_BEAM, paths[i]);
		assert_int_equal(kind_of(OBJECT_MANAGED, paths[i], id), FRAME_ERLANG);
		id = object_managed_id(STACKD_RUNTIME_COUNT, paths[i]);
		assert_int_equal(kind_of(OBJECT_MANAGED, paths[i], id), FRAME_MANAGED);
	}
	id = object_managed_id(OBJECT_NO_LANGUAGE, "[frames not proven]");
	assert_int_equal(kind_of(OBJECT_MANAGED, "[frames not proven]", id), FRAME_NOTE);
	assert_int_equal(kind_of(OBJECT_MANAGED, NULL, id), FRAME_NOTE);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(frame_kind_name(FRAME_PYTHON), "python");
	assert_string_equal(frame_kind_name(FRAME_RUBY), "ruby");
	assert_string_equal(frame_kind_name(FRAME_PHP), "php");
	assert_string_equal(frame_kind_name(FRAME_PERL), "perl");
	assert_string_equal(frame_kind_name(FRAME_JAVA), "java");
	assert_string_equal(frame_kind_name(FRAME_ERLANG), "erlang");
	assert_string_equal(frame_kind_name(FRAME_JAVASCRIPT), "javascript");
	assert_string_equal(frame_kind_name(FRAME_KINDS), "native");
	assert_true(frame_kind_is_managed(FRAME_MANAGED));
	assert_false(frame_kind_is_managed(FRAME_NOTE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_languages),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
