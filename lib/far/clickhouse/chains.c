/* SPDX-License-Identifier: MIT */
/*
 * Builds chains, and the statement that unrolls them; see chains.h.
 *
 * The statement's text has first what the chains begin below, 8 bytes each, then the numbers of all
 * first locations, 2 bytes each, those of all second ones, and so on, so that gzip sees similar
 * numbers beside each other; and at the end the locations, 8 bytes each, the first of which is 0,
 * for the number 0. Each row of numbers() is a chain.
 */
#include "clickhouse/chains.h"

#include <errno.h>

#include "base/hash.h"
#include "base/text.h"

#define MOST_PATHS     65536u
#define MOST_LOCATIONS 65534u
#define NEW_CHAIN      UINT32_MAX
#define HAS_CALLEE     (UINT32_MAX - 1) /* in `ends` */

void chains_clear(struct chains *c)
{
	c->chains.count = c->locations.count = 0;
	int_map_clear(&c->numbers);
	int_map_clear(&c->ends);
	c->count = 0;
}

void chains_free(struct chains *c)
{
	free(c->chains.items);
	free(c->locations.items);
	int_map_fini(&c->numbers);
	int_map_fini(&c->ends);
	*c = (struct chains){0};
}

bool chains_are_full(const struct chains *c)
{
	return c->count >= MOST_PATHS || c->locations.count >= MOST_LOCATIONS;
}

/* Finds a location's number, or gives it one. */
static int number_of(struct chains *c, uint64_t location, uint16_t *ret_number)
{
	uint32_t number;
	int err = VEC_RESERVE(&c->locations, 1);

	if (!err)
		err = int_map_enter(&c->numbers, location, (uint32_t)c->locations.count + 1,
				    &number);
	if (err)
		return err;
	if (number > c->locations.count)
		c->locations.items[c->locations.count++] = location;
	*ret_number = (uint16_t)number;
	return 0;
}

/* Returns the chain that ends with a path and has room for a callee; NEW_CHAIN: there is none. */
static uint32_t chain_of(const struct chains *c, uint64_t tag)
{
	const uint32_t at = int_map_find(&c->ends, tag);

	return at >= c->chains.count || c->chains.items[at].locations[CHAINS_MOST - 1] ? NEW_CHAIN
										       : at;
}

static int begin_chain(struct chains *c, uint64_t below, uint32_t *ret_chain)
{
	int err = VEC_RESERVE(&c->chains, 1);

	if (err)
		return err;
	*ret_chain = (uint32_t)c->chains.count;
	c->chains.items[c->chains.count++] = (struct chain){.below = below};
	return 0;
}

int chains_add(struct chains *c, uint64_t tag, uint64_t parent, uint64_t location)
{
	uint32_t at = chain_of(c, parent);
	uint16_t number;
	struct chain *chain;
	size_t i = 0;
	int err;

	if (!location || tag != hash_chain(parent, location))
		return -EDOM;
	err = number_of(c, location, &number);
	if (!err && at == NEW_CHAIN)
		err = begin_chain(c, parent, &at);
	else if (!err) /* a second callee of the parent begins a chain of its own */
		err = int_map_set(&c->ends, parent, HAS_CALLEE);
	if (!err)
		err = int_map_set(&c->ends, tag, at);
	if (err)
		return err;
	chain = &c->chains.items[at];
	while (chain->locations[i])
		i++;
	chain->locations[i] = number;
	c->count++;
	return 0;
}

/* --- the statement -----------------------------------------------------------------------------
 */

/* Appends the `width` bytes of a number, the least significant one first, as hexadecimal digits. */
static void put_hex(struct buf *b, uint64_t number, unsigned width)
{
	static const char digits[] = "0123456789ABCDEF";

	for (unsigned i = 0; i < width; i++, number >>= 8) {
		buf_put_u8(b, (uint8_t)digits[number >> 4 & 15]);
		buf_put_u8(b, (uint8_t)digits[number & 15]);
	}
}

static void put_data(const struct chains *c, struct buf *b)
{
	for (size_t i = 0; i < c->chains.count; i++)
		put_hex(b, c->chains.items[i].below, 8);
	for (size_t level = 0; level < CHAINS_MOST; level++)
		for (size_t i = 0; i < c->chains.count; i++)
			put_hex(b, c->chains.items[i].locations[level], 2);
	put_hex(b, 0, 8);
	for (size_t i = 0; i < c->locations.count; i++)
		put_hex(b, c->locations.items[i], 8);
}

/* Appends "[name1,name2,...]", from `first` on, CHAINS_MOST names. */
static void put_names(struct buf *b, char name, unsigned first)
{
	for (unsigned i = 0; i < CHAINS_MOST; i++)
		text_printf(b, "%c%c%u", i ? ',' : '[', name, first + i);
	text_put_raw(b, "]");
}

/* Appends a query of the chains: h0 is what a chain is below, l1, l2, ... are its locations (0:
 * none), and h1, h2, ... the tags. `d` is the data. */
static void put_chains(const struct chains *c, struct buf *b)
{
	const size_t n = c->chains.count, list = n * (8 + 2 * (size_t)CHAINS_MOST);

	text_put_raw(b, "WITH unhex('");
	put_data(c, b);
	text_put_raw(b,
		     "') AS d SELECT reinterpretAsUInt64(substring(d, 1 + 8 * number, 8)) AS h0");
	for (unsigned i = 1; i <= CHAINS_MOST; i++)
		text_printf(b,
			    ", reinterpretAsUInt64(substring(d, %zu + 8 * reinterpretAsUInt16("
			    "substring(d, %zu + 2 * number, 2)), 8)) AS l%u, bitXor(h%u * 11, l%u) "
			    "AS h%u",
			    list + 1, n * (8 + 2 * (size_t)(i - 1)) + 1, i, i - 1, i, i);
	text_printf(b, " FROM numbers(%zu)", n);
}

void chains_put_insert(const struct chains *c, uint64_t day, struct buf *b)
{
	text_printf(b,
		    "INSERT INTO paths (tag, alt, parent, parent_alt, location, location_alt, day) "
		    "SELECT tag, 0, parent, 0, location, 0, toDate(%u) FROM (SELECT ",
		    (unsigned)day);
	put_names(b, 'h', 1);
	text_put_raw(b, " AS tags, ");
	put_names(b, 'h', 0);
	text_put_raw(b, " AS parents, ");
	put_names(b, 'l', 1);
	text_put_raw(b, " AS locations FROM (");
	put_chains(c, b);
	text_put_raw(b, ")) ARRAY JOIN tags AS tag, parents AS parent, locations AS location WHERE "
			"location != 0");
	buf_put_u8(b, '\0');
}
