/* SPDX-License-Identifier: MIT */
/* The kernel refuses the program: the cause is derived from the log, and the message is bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/capture/load_error.h"

static void say(struct load_log *log, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	load_log_add(log, format, args);
	va_end(args);
}

/* Messages of libbpf and of the verifier. */
static void refuse(struct load_log *log, int lines)
{
	say(log, "libbpf: prog '%s': BPF program load failed: %s\n", "p", "Permission denied");
	say(log, "libbpf: prog '%s': -- BEGIN PROG LOAD LOG --\n", "p");
	for (int i = 0; i < lines; i++)
		say(log, "%d: (07) r0 += %0300d\n", i, i);
	say(log, "R0 pointer arithmetic on map_value_or_null prohibited\nprocessed 9 insns\n"
		 "-- END PROG LOAD LOG --\nlibbpf: failed to load object 'p'\n");
}

static enum load_reason reason_of(int err, bool may_load, const char *release,
				  const struct load_log *log)
{
	struct load_failure failure = {
		.err = err, .may_load = may_load, .release = release, .log = log};

	return load_error_reason(&failure);
}

static void test_reasons(void **state)
{
	static struct load_log none, refused;
	struct load_failure failure = {
		.err = -EACCES, .btf_path = "/sys/x", .release = "6.18.1", .log = &refused};

	(void)state;
	refuse(&refused, 3);
	assert_int_equal(load_error_reason(&failure), LOAD_NO_TYPES);
	assert_int_equal(reason_of(-EPERM, true, "6.18.1", &none), LOAD_NO_RIGHT);
	assert_int_equal(reason_of(-EACCES, false, "6.18.1", &refused), LOAD_NO_RIGHT);
	assert_int_equal(reason_of(-EACCES, true, "6.18.1", &refused), LOAD_REFUSED);
	assert_int_equal(reason_of(-EINVAL, true, "6.1.0-49-cloud-amd64", &refused), LOAD_REFUSED);
	assert_int_equal(reason_of(-E2BIG, true, "7.2", &refused), LOAD_REFUSED);
	assert_int_equal(reason_of(-EAGAIN, true, "6.18.1", &refused), LOAD_INTERRUPTED);
	assert_int_equal(reason_of(-EACCES, true, "6.0.19", &refused), LOAD_OLD_KERNEL);
	assert_int_equal(reason_of(-EINVAL, true, "5.15.0-100-generic", &none), LOAD_OLD_KERNEL);
	assert_int_equal(reason_of(-ENOMEM, true, "6.18.1", &none), LOAD_NO_MEMORY);
	assert_int_equal(reason_of(-EINVAL, true, "10.2", &none), LOAD_OTHER);
	assert_int_equal(reason_of(-EACCES, true, "6.18.1", &none), LOAD_OTHER);
}

/* The last lines of a log that is far longer than what is kept of it, each cut. */
static void test_refusal(void **state)
{
	static struct load_log log;
	struct load_failure failure = {.err = -EACCES,
				       .may_load = true,
				       .release = "6.18.1",
				       .compiler = "Clang 19.1.7",
				       .log = &log};
	char *text;
	int lines = 0;

	(void)state;
	refuse(&log, 1000);
	assert_int_equal(load_error_explain(&failure, &text), -EOPNOTSUPP);
	assert_non_null(strstr(text, "Linux 6.18.1, refused the BPF program (Permission denied)"));
	assert_non_null(strstr(text, "compiled by Clang 19.1.7."));
	assert_non_null(
		strstr(text, "\n  | R0 pointer arithmetic on map_value_or_null prohibited"));
	assert_non_null(strstr(text, "\n  | processed 9 insns"));
	assert_non_null(strstr(text, "\n  | 999: (07) r0 += 000"));
	assert_null(strstr(text, "993:"));
	assert_null(strstr(text, "failed to load object"));
	assert_null(strstr(text, "6.1 or later"));
	for (const char *at = text; (at = strchr(at, '\n')); at++, lines++)
		assert_true(strcspn(at + 1, "\n") <= LOAD_ERROR_LINE_BYTES + 10);
	assert_int_equal(lines, LOAD_ERROR_LINES);
	free(text);
	/* Of a short log, only the verifier's lines are shown. */
	log = (struct load_log){0};
	refuse(&log, 1);
	load_error_explain(&failure, &text);
	assert_null(strstr(text, "BEGIN PROG"));
	assert_non_null(strstr(text, "shows them all\n  | 0: (07) r0 += 000"));
	free(text);
}

static const struct {
	struct load_failure failure;
	const char *words, *not_words;
	int err;
} sentences[] = {
	{{.err = -EINVAL, .may_load = true, .release = "5.10.0"},
	 "Linux 6.1 or later is needed, and this is 5.10.0",
	 "libbpf",
	 -EOPNOTSUPP},
	{{.err = -EPERM, .release = "6.18.1"},
	 "no right to load BPF programs (Operation",
	 "6.1 or later",
	 -EPERM},
	{{.err = -EACCES, .release = "6.18.1"},
	 "no right to load BPF programs",
	 "6.1 or later",
	 -EPERM},
	{{.err = -EAGAIN, .may_load = true, .release = "6.18.1"}, "start again", "fault", -EAGAIN},
	{{.err = -ENOENT, .btf_path = "/sys/x", .may_load = true, .release = "6.18.1"},
	 "(/sys/x)",
	 "6.1 or later",
	 -EOPNOTSUPP},
	{{.err = -ENOMEM, .may_load = true, .release = "6.18.1"},
	 "--table-memory",
	 "refused",
	 -ENOMEM},
	{{.err = -EINVAL, .may_load = true, .release = "6.18.1"},
	 "\n  | libbpf: map 'rows': failed to create",
	 "6.1 or later",
	 -EOPNOTSUPP},
};

static void test_sentences(void **state)
{
	static struct load_log log;

	(void)state;
	say(&log, "libbpf: map '%s': failed to create: Invalid argument\n", "rows");
	for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++) {
		struct load_failure failure = sentences[i].failure;
		char *text;

		failure.log = &log;
		assert_int_equal(load_error_explain(&failure, &text), sentences[i].err);
		assert_non_null(strstr(text, sentences[i].words));
		assert_null(strstr(text, sentences[i].not_words));
		free(text);
	}
}

/* Whatever is said, in whatever pieces: the end of it is kept. */
static void test_log_keeps_end(void **state)
{
	static struct load_log log, at_once;
	static char all[3 * LOAD_LOG_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(all) - 1; i++)
		all[i] = (char)('a' + i * 7 % 26);
	for (size_t at = 0, piece = 1; at < sizeof(all) - 1; at += piece, piece = piece * 3 % 997) {
		if (piece > sizeof(all) - 1 - at)
			piece = sizeof(all) - 1 - at;
		say(&log, "%.*s", (int)piece, all + at);
	}
	say(&at_once, "%s", all);
	assert_int_equal(log.length, LOAD_LOG_BYTES - 1);
	assert_string_equal(log.text, all + sizeof(all) - LOAD_LOG_BYTES);
	assert_string_equal(at_once.text, log.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_refusal),
		cmocka_unit_test(test_sentences),
		cmocka_unit_test(test_log_keeps_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
