/* SPDX-License-Identifier: MIT */
/*
 * Lines of Python code (runtime/python/python_lines.h): tables made by hand in the three formats,
 * tables of garbage, and every code object of some modules of each interpreter that is installed,
 * which itself says what the lines are.
 */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/python/python_lines.h"

#define V3_9  0x030912u
#define V3_10 0x030a0du
#define V3_11 0x030b02u

static uint32_t line(uint32_t version, const char *table, size_t size, int64_t at)
{
	return python_line(version, (const uint8_t *)table, size, 10, at);
}

/* Each line of a table: offsets 0 to 5 are of line 10, 6 and 7 of 12, what follows of 11. */
static void test_up_to_3_9(void **state)
{
	static const char table[] = "\x06\x02\x02\xff";

	(void)state;
	assert_int_equal(line(V3_9, table, 4, -1), 10);
	assert_int_equal(line(V3_9, table, 4, 2), 10);
	assert_int_equal(line(V3_9, table, 4, 3), 12);
	assert_int_equal(line(V3_9, table, 4, 4), 11);
	assert_int_equal(line(V3_9, table, 4, 1000), 11);
	assert_int_equal(line(V3_9, table, 0, 0), 10);
}

static void test_3_10(void **state)
{
	static const char table[] = "\x04\x01\x02\x80\x04\x02";

	(void)state;
	assert_int_equal(line(V3_10, table, 6, 0), 11);
	assert_int_equal(line(V3_10, table, 6, 1), 11);
	assert_int_equal(line(V3_10, table, 6, 2), 0); /* it has no line */
	assert_int_equal(line(V3_10, table, 6, 3), 13);
	assert_int_equal(line(V3_10, table, 6, 5), 0); /* beyond */
}

/* A short entry, one for one line, one without columns, a long one, one without a location. */
static void test_since_3_11(void **state)
{
	static const char table[] = "\x81\x00"
				    "\xd9\x00\x00"
				    "\xe8\x43\x01"
				    "\xf0\x04\x01\x02\x03"
				    "\xf8";

	(void)state;
	assert_int_equal(line(V3_11, table, 14, -1), 10);
	assert_int_equal(line(V3_11, table, 14, 0), 10);
	assert_int_equal(line(V3_11, table, 14, 1), 10);
	assert_int_equal(line(V3_11, table, 14, 2), 11);
	assert_int_equal(line(V3_11, table, 14, 3), 11);
	assert_int_equal(line(V3_11, table, 14, 4), 0); /* 11 - 33 is none */
	assert_int_equal(line(V3_11, table, 14, 6), 0);
	assert_int_equal(line(V3_11, table, 14, 7), 0); /* beyond */
}

/* No table makes it read beyond the table, or for long. */
static void test_garbage(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint8_t *table;
		size_t size;

		random = random * 6364136223846793005u + 1442695040888963407u;
		size = random >> 33 & 63;
		table = malloc(size + 1);
		for (size_t j = 0; j < size; j++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			table[j] = i & 1 ? (uint8_t)(random >> 56 | 64) : (uint8_t)(random >> 56);
		}
		for (int at = -1; at < 300; at += 7) {
			python_line(V3_9, table, size, 1, at);
			python_line(V3_10, table, size, 1, at);
			python_line(V3_11, table, size, 1, at);
		}
		free(table);
	}
}

/* The interpreter writes, for each code object, its first line, its table, and the line of each
 * instruction; 0: none. */
static const char script[] =
	"import ast, argparse, sys, dis, typing, json.decoder, asyncio.events, types\n"
	"def lines(c):\n"
	"    n = len(c.co_code) // 2\n"
	"    if hasattr(c, 'co_lines'):\n"
	"        out = [0] * n\n"
	"        for a, b, l in c.co_lines():\n"
	"            for i in range(a // 2, b // 2): out[i] = l or 0\n"
	"        return out\n"
	"    starts = dict(dis.findlinestarts(c))\n"
	"    out, now = [], c.co_firstlineno\n"
	"    for i in range(n):\n"
	"        now = starts.get(i * 2, now)\n"
	"        out.append(now)\n"
	"    return out\n"
	"def each(c):\n"
	"    t = c.co_linetable if hasattr(c, 'co_linetable') else c.co_lnotab\n"
	"    print(c.co_firstlineno, t.hex() or '-', *lines(c))\n"
	"    for k in c.co_consts:\n"
	"        if isinstance(k, types.CodeType): each(k)\n"
	"print(*sys.version_info[:3])\n"
	"for m in (ast, argparse, dis, typing, json.decoder, asyncio.events):\n"
	"    each(compile(open(m.__file__).read(), m.__file__, 'exec'))\n"
	"each(compile('x = (\\n' + '\\n' * 300 + '1 +\\n\\n y)\\n' + '\\n' * 70000 + 'z()\\n', 'far', "
	"'exec'))\n";

static uint8_t *bytes_of(const char *hex, size_t *ret_size)
{
	size_t n = *hex == '-' ? 0 : strlen(hex) / 2;
	uint8_t *bytes = malloc(n + 1);

	for (size_t i = 0; i < n; i++) {
		unsigned byte;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		bytes[i] = (uint8_t)byte;
	}
	*ret_size = n;
	return bytes;
}

/* Compares the lines of one code object. Returns how many. */
static size_t judge_code(uint32_t version, char *text)
{
	char *at = strtok(text, " \n");
	uint32_t first = (uint32_t)atoi(at);
	size_t size, n = 0;
	uint8_t *table;

	at = strtok(NULL, " \n");
	assert_non_null(at);
	table = bytes_of(at, &size);
	while ((at = strtok(NULL, " \n"))) {
		uint32_t is = python_line(version, table, size, first, (int64_t)n);

		if (is != (uint32_t)atoi(at))
			fail_msg("version %x, first line %u, instruction %zu: line %u, not %s",
				 version, first, n, is, at);
		n++;
	}
	free(table);
	return n;
}

static size_t judge_interpreter(const char *path, uint32_t *ret_version)
{
	char command[4096], *text = NULL;
	unsigned major = 0, minor, patch;
	size_t room = 0, n = 0;
	FILE *pipe;

	snprintf(command, sizeof(command), "%s - 2>/dev/null <<'END'\n%s\nEND\n", path, script);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	if (getline(&text, &room, pipe) > 0)
		sscanf(text, "%u %u %u", &major, &minor, &patch);
	*ret_version = 0;
	if (major == 3 && minor >= 8 && minor <= 13) {
		*ret_version = major << 16 | minor << 8 | patch;
		while (getline(&text, &room, pipe) > 0)
			n += judge_code(*ret_version, text);
	}
	free(text);
	if (pclose(pipe) && *ret_version)
		fail_msg("%s has failed", path);
	return n;
}

static void test_interpreters(void **state)
{
	static const char *const patterns[] = {
		"/usr/bin/python3.[0-9]", "/usr/bin/python3.[0-9][0-9]",
		"/root/.pyenv/versions/3.*/bin/python3", "/usr/local/bin/python3.[0-9][0-9]"};
	glob_t found = {0};
	size_t judged = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		glob(patterns[i], i ? GLOB_APPEND : 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		uint32_t version;
		size_t n = judge_interpreter(found.gl_pathv[i], &version);

		if (!version)
			continue;
		print_message("%s: %zu instructions\n", found.gl_pathv[i], n);
		assert_true(n > 10000);
		judged++;
	}
	globfree(&found);
	if (!judged)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_up_to_3_9),    cmocka_unit_test(test_3_10),
		cmocka_unit_test(test_since_3_11),   cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_interpreters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
