/* SPDX-License-Identifier: MIT */
/*
 * Trie nodes as columns. They are most of the store of a program with ever new paths.
 *
 * A new path branches off the previous one at some depth, and goes on as a chain. So a node's
 * parent is coded as the number of steps from the previous node towards the root: 0 in a chain. A
 * location has few successors in paths (a call site calls one function, which has only some call
 * sites), so a node's location is coded as a rank among the last few locations that followed its
 * parent's location, wherever in the trie that was.
 *
 *   column   content
 *   UP       steps from the previous node to the parent; 255: see FAR
 *   FAR      parents that are no near ancestor of the previous node: difference of numbers
 *   RANK     0 to 3: rank in the parent's list; 4: the first location not seen yet; 5: see below
 *   LOW, MIDDLE, HIGH   the location, byte by byte
 *
 * The list is kept by recency: an entry moves to its front when it is used.
 */
#include "store/table_codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/big.h"

enum node_column { NODE_UP, NODE_FAR, NODE_RANK, NODE_LOW, NODE_MIDDLE, NODE_HIGH };

#define NODE_UP_MAX  254u
#define NODE_UP_FAR  255u
#define NODE_NEXT    NODE_RECENT
#define NODE_LITERAL (NODE_RECENT + 1)

int node_coder_init(struct node_coder *c)
{
	*c = (struct node_coder){0};
	if (VEC_RESERVE(&c->nodes, 1) < 0)
		return -ENOMEM;
	c->nodes.items[c->nodes.count++] = (struct store_node){.location = UINT32_MAX};
	return 0;
}

void node_coder_fini(struct node_coder *c)
{
	free(c->nodes.items);
	free(c->recent.items);
	*c = (struct node_coder){0};
}

/* Makes room for the list of a location, and for more nodes. */
static int reserve(struct node_coder *c, uint32_t location, size_t more)
{
	size_t need = (size_t)location + 2;

	if (BIG_RESERVE(&c->nodes, more) < 0)
		return -ENOMEM;
	if (need <= c->recent.count)
		return 0;
	if (BIG_RESERVE(&c->recent, need - c->recent.count) < 0)
		return -ENOMEM;
	memset(c->recent.items + c->recent.count, 0,
	       (need - c->recent.count) * sizeof(*c->recent.items));
	c->recent.count = need;
	return 0;
}

/* Returns the list of locations that recently followed the location of node `parent`. The empty
 * path, which has no location, has the first list. */
static struct node_recent *recent_of(struct node_coder *c, uint32_t parent)
{
	return &c->recent.items[(uint32_t)(c->nodes.items[parent].location + 1)];
}

/* Moves the location at index `rank` of a list to its front. A new location (`rank` NODE_RECENT)
 * takes the place of the last one. */
static void recent_use(struct node_recent *recent, unsigned rank, uint32_t location)
{
	if (rank >= NODE_RECENT)
		rank = NODE_RECENT - 1;
	for (; rank; rank--)
		recent->location[rank] = recent->location[rank - 1];
	recent->location[0] = location + 1;
}

static void node_coder_add(struct node_coder *c, const struct store_node *node, unsigned rank)
{
	recent_use(recent_of(c, node->parent), rank, node->location);
	c->nodes.items[c->nodes.count++] = *node;
	if (node->location >= c->next_location)
		c->next_location = node->location + 1;
}

static void put_parent(const struct node_coder *c, struct buf *columns, uint32_t parent)
{
	uint32_t last = (uint32_t)c->nodes.count - 1, at = last;

	for (unsigned up = 0; up <= NODE_UP_MAX && at >= parent; up++) {
		if (at == parent) {
			buf_put_u8(&columns[NODE_UP], (uint8_t)up);
			return;
		}
		at = c->nodes.items[at].parent;
	}
	buf_put_u8(&columns[NODE_UP], NODE_UP_FAR);
	buf_put_varint(&columns[NODE_FAR], last - parent);
}

static unsigned put_location(struct node_coder *c, struct buf *columns,
			     const struct store_node *node)
{
	const struct node_recent *recent = recent_of(c, node->parent);
	unsigned rank = 0;

	while (rank < NODE_RECENT && recent->location[rank] != node->location + 1)
		rank++;
	if (rank == NODE_RECENT && node->location != c->next_location)
		rank = NODE_LITERAL;
	buf_put_u8(&columns[NODE_RANK], (uint8_t)rank);
	if (rank == NODE_LITERAL) {
		buf_put_u8(&columns[NODE_LOW], (uint8_t)node->location);
		buf_put_u8(&columns[NODE_MIDDLE], (uint8_t)(node->location >> 8));
		buf_put_varint(&columns[NODE_HIGH], node->location >> 16);
	}
	return rank;
}

int node_put(struct node_coder *c, struct buf *columns, const struct store_node *node)
{
	if (reserve(c, node->location, 1) < 0)
		return -ENOMEM;
	put_parent(c, columns, node->parent);
	node_coder_add(c, node, put_location(c, columns, node));
	return 0;
}

static int get_parent(const struct node_coder *c, struct buf_reader *columns, uint32_t *ret_parent)
{
	uint32_t last = (uint32_t)c->nodes.count - 1, at = last;
	unsigned up = buf_get_u8(&columns[NODE_UP]);

	if (up == NODE_UP_FAR) {
		uint64_t far = buf_get_varint(&columns[NODE_FAR]);

		if (far > last)
			return -EBADMSG;
		at = last - (uint32_t)far;
	} else {
		while (up-- && at)
			at = c->nodes.items[at].parent;
	}
	*ret_parent = at;
	return 0;
}

static int get_location(struct node_coder *c, struct buf_reader *columns, uint32_t parent,
			uint32_t *ret_location, unsigned *ret_rank)
{
	unsigned rank = buf_get_u8(&columns[NODE_RANK]);
	uint64_t location;

	if (rank < NODE_RECENT) {
		location = (uint64_t)recent_of(c, parent)->location[rank] - 1;
	} else if (rank == NODE_NEXT) {
		location = c->next_location;
	} else if (rank == NODE_LITERAL) {
		location = buf_get_u8(&columns[NODE_LOW]);
		location |= (uint64_t)buf_get_u8(&columns[NODE_MIDDLE]) << 8;
		location |= buf_get_varint(&columns[NODE_HIGH]) << 16;
	} else {
		return -EBADMSG;
	}
	if (location >= UINT32_MAX)
		return -EBADMSG;
	*ret_location = (uint32_t)location;
	*ret_rank = rank;
	return 0;
}

static int get_one(struct node_coder *c, struct buf_reader *columns, uint32_t locations)
{
	struct store_node node;
	unsigned rank;
	int err = get_parent(c, columns, &node.parent);

	if (err == 0)
		err = get_location(c, columns, node.parent, &node.location, &rank);
	if (err < 0)
		return err;
	if (node.location >= locations)
		return -EBADMSG;
	node_coder_add(c, &node, rank);
	return 0;
}

int node_get_all(struct node_coder *c, struct buf_reader *columns, size_t count, uint32_t locations)
{
	int err = reserve(c, locations ? locations - 1 : 0, count);

	for (size_t i = 0; err == 0 && i < count; i++)
		err = get_one(c, columns, locations);
	return err;
}

int node_get(struct node_coder *c, struct buf_reader *columns, uint32_t locations)
{
	return node_get_all(c, columns, 1, locations);
}
