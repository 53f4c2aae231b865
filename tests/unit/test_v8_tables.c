/* SPDX-License-Identifier: MIT */
/* V8's tables, as node 18, 24 and 26 have made them: translations of optimised code, with frames
 * that are said to be those of an earlier one, and source positions; and any bytes in their
 * place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "runtime/v8/v8_bytes.h"
#include "runtime/v8/v8_translation.h"

/* Of a function of node 24 into which another one was inlined. */
static const uint8_t of_13[] = {
	0x0e, 0x00, 0x04, 0x04, 0x01, 0x06, 0x02, 0x00, 0x04, 0x26, 0x04, 0x28, 0x03, 0x28, 0x05,
	0x26, 0x06, 0x25, 0x25, 0x25, 0x25, 0x25, 0x01, 0x0e, 0x00, 0x02, 0x01, 0x26, 0x08, 0x26,
	0x0a, 0x28, 0x05, 0x26, 0x06, 0x25, 0x27, 0x01, 0x0e, 0x26, 0x04, 0x04, 0x3e, 0x0e, 0x2b,
	0x02, 0x02, 0x01, 0x1e, 0x02, 0x00, 0x04, 0x31, 0x1e, 0x0c, 0x30, 0x27, 0x01, 0x0e, 0x3a,
	0x02, 0x02, 0x01, 0x1e, 0x02, 0x00, 0x04, 0x31, 0x1e, 0x0c, 0x30, 0x27, 0x01, 0x0e, 0x49,
	0x02, 0x02, 0x01, 0x56, 0x02, 0x00, 0x04, 0x31, 0x1e, 0x0e, 0x27, 0x00, 0x30, 0x0e, 0x58,
	0x02, 0x02, 0x01, 0x56, 0x02, 0x00, 0x04, 0x31, 0x1e, 0x0e, 0x27, 0x00, 0x30, 0x0e, 0x67,
	0x02, 0x02, 0x01, 0x03, 0x02, 0x00, 0x04, 0x36, 0x0e, 0x71, 0x04, 0x04, 0x37, 0x00, 0x06,
	0x00, 0x02, 0x01, 0x00, 0x02, 0x32, 0x25,
};

/* Of node 18: operations are numbers with a sign. */
static const uint8_t of_10[] = {
	0x06, 0x06, 0x06, 0x00, 0x24, 0x06, 0x0a, 0x02, 0x00, 0x00, 0x30, 0x06, 0x30,
	0x03, 0x2e, 0x02, 0x30, 0x0a, 0x2c, 0x0c, 0x2c, 0x0c, 0x24, 0x06, 0x00, 0x02,
	0x00, 0x00, 0x2c, 0x0e, 0x2c, 0x10, 0x24, 0x0c, 0x02, 0x02, 0x00, 0x00,
};

#define MOST 4

static void check_frames(unsigned form, const uint8_t *bytes, size_t len, size_t index,
			 const struct v8_translation_frame *wanted, size_t count)
{
	struct v8_translation_frame frames[MOST];

	assert_int_equal(v8_translation_frames(form, bytes, len, index, frames, MOST), count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(frames[i].offset, wanted[i].offset);
		assert_int_equal(frames[i].literal, wanted[i].literal);
	}
}

#define CHECK_FRAMES(form, bytes, index, ...)                                                      \
	do {                                                                                       \
		const struct v8_translation_frame wanted[] = {__VA_ARGS__};                        \
		check_frames(form, bytes, sizeof(bytes), index, wanted,                            \
			     sizeof(wanted) / sizeof(*wanted));                                    \
	} while (0)

static void test_frames(void **state)
{
	(void)state;
	CHECK_FRAMES(3, of_13, 0, {3, 1}, {7, 0});
	CHECK_FRAMES(3, of_13, 38, {3, 1}, {7, 0}); /* all of it is the first one's */
	CHECK_FRAMES(3, of_13, 43, {15, 1});
	CHECK_FRAMES(3, of_13, 73, {43, 1});
	CHECK_FRAMES(3, of_13, 103, {-1, 1});
	CHECK_FRAMES(3, of_13, 113, {3, 1}, {3, 0}); /* the outer frame is the first one's */
	CHECK_FRAMES(0, of_10, 0, {3, 5}, {3, 0}, {6, 1});
}

static void test_refused(void **state)
{
	struct v8_translation_frame frames[MOST];
	uint8_t bytes[sizeof(of_13)];

	(void)state;
	assert_int_equal(v8_translation_frames(3, of_13, sizeof(of_13), 0, frames, 1), 0);
	assert_int_equal(v8_translation_frames(3, of_13, sizeof(of_13), 1, frames, MOST), 0);
	assert_int_equal(v8_translation_frames(9, of_13, sizeof(of_13), 0, frames, MOST), 0);
	assert_int_equal(v8_translation_frames(3, of_13, 20, 0, frames, MOST), 0);
	/* whatever the bytes are, nothing is read behind them, and it ends */
	for (int turn = 0; turn < 20000; turn++) {
		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = rand() % 16 ? of_13[i] : (uint8_t)rand();
		for (unsigned form = 0; form < V8_TRANSLATION_FORMS; form++)
			v8_translation_frames(form, bytes, sizeof(bytes),
					      (size_t)rand() % sizeof(bytes), frames, MOST);
	}
}

static void check_positions(const uint8_t *bytes, size_t len, bool has_flags)
{
	static const struct {
		uint32_t offset, position;
	} wanted[] = {{0, 147}, {1, 165}, {4, 156}, {8, 165}, {11, 167}};
	struct v8_positions at = v8_positions_of(bytes, len, has_flags);
	uint64_t position;
	uint32_t offset;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		assert_true(v8_positions_next(&at, &offset, &position));
		assert_int_equal(offset, wanted[i].offset);
		assert_int_equal(v8_position_in_script(position), wanted[i].position);
	}
	assert_false(v8_positions_next(&at, &offset, &position));
	assert_true(v8_positions_is_end(&at));
}

/* One function's table, of node 24 and of node 26. */
static void test_positions(void **state)
{
	static const uint8_t of_24[] = {0x01, 0xd0, 0x04, 0x02, 0x48, 0x07,
					0x23, 0x09, 0x24, 0x06, 0x08};
	static const uint8_t of_26[] = {0x02, 0xd0, 0x04, 0x07, 0x48, 0x0e,
					0x23, 0x12, 0x24, 0x0f, 0x08};
	struct v8_positions at = v8_positions_of(of_24, 2, false);
	uint64_t position;
	uint32_t offset;

	(void)state;
	check_positions(of_24, sizeof(of_24), false);
	check_positions(of_26, sizeof(of_26), true);
	assert_false(v8_positions_next(&at, &offset, &position)); /* it is cut */
	assert_false(v8_positions_is_end(&at));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_positions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
