/* SPDX-License-Identifier: MIT */
/* Reads tables of lines; see python_lines.h. (CPython: Objects/locations.md, lnotab_notes.txt.) */
#include "runtime/python/python_lines.h"

#include <stdbool.h>

#include "runtime/python/python_layout.h"

/* --- from 3.11 -------------------------------------------------------------------------------- */

/* What the first byte of an entry says. Lower codes than ONE_LINE are of the same line. */
enum location_code { ONE_LINE = 10, NO_COLUMNS = 13, LONG = 14, NO_LOCATION = 15 };

struct reader {
	const uint8_t *at, *end;
};

static uint8_t take(struct reader *r)
{
	return r->at < r->end ? *r->at++ : 0;
}

/* Reads a number, which has six bits in a byte, the lowest first. */
static int64_t take_number(struct reader *r)
{
	uint64_t value = 0;
	uint8_t byte;
	unsigned shift = 0;

	do {
		byte = take(r);
		if (shift < 32)
			value |= (uint64_t)(byte & 63) << shift;
		shift += 6;
	} while (byte & 64);
	return (int64_t)value;
}

static int64_t take_signed(struct reader *r)
{
	int64_t value = take_number(r);

	return value & 1 ? -(value >> 1) : value >> 1;
}

/* Reads an entry behind its first byte, and gives by how much the line changes. */
static int64_t take_change(struct reader *r, unsigned code)
{
	int64_t change = 0;

	if (code == NO_COLUMNS || code == LONG)
		change = take_signed(r);
	else if (code >= ONE_LINE && code < NO_COLUMNS)
		change = code - ONE_LINE;
	if (code < ONE_LINE)
		take(r);
	else if (code < NO_COLUMNS)
		r->at = r->end - r->at > 2 ? r->at + 2 : r->end;
	for (int i = 0; code == LONG && i < 3; i++)
		take_number(r);
	return change;
}

static int64_t line_since_3_11(struct reader r, int64_t line, int64_t instruction)
{
	int64_t at = 0;

	while (r.at < r.end) {
		uint8_t first = take(&r);
		unsigned code = first >> 3 & 15;

		line += take_change(&r, code);
		at += (first & 7) + 1;
		if (instruction < at)
			return code == NO_LOCATION ? 0 : line;
	}
	return 0;
}

/* --- before ----------------------------------------------------------------------------------- */

#define NO_LINE (-128)

static int64_t line_3_10(struct reader r, int64_t line, int64_t offset)
{
	int64_t at = 0;

	while (r.end - r.at >= 2) {
		uint8_t bytes = take(&r);
		int8_t change = (int8_t)take(&r);

		if (change != NO_LINE)
			line += change;
		at += bytes;
		if (offset < at)
			return change == NO_LINE ? 0 : line;
	}
	return 0;
}

static int64_t line_up_to_3_9(struct reader r, int64_t line, int64_t offset)
{
	int64_t at = 0;

	while (r.end - r.at >= 2) {
		at += take(&r);
		if (at > offset)
			break;
		line += (int8_t)take(&r);
	}
	return line;
}

uint32_t python_line(uint32_t version, const uint8_t *table, size_t size, uint32_t first_line,
		     int64_t instruction)
{
	const struct reader r = {table, table + size};
	int64_t line;

	if (instruction < 0)
		return first_line;
	if (PYTHON_MINOR(version) >= 0x030b)
		line = line_since_3_11(r, first_line, instruction);
	else if (PYTHON_MINOR(version) == 0x030a)
		line = line_3_10(r, first_line, instruction * 2);
	else
		line = line_up_to_3_9(r, first_line, instruction * 2);
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}
