/* SPDX-License-Identifier: MIT */
/*
 * Writing objects, locations and tags; see tagset_share.h.
 *
 * Ids and tags are hashes, so equal parts of their ranges have about equally many of them. Owners
 * (router.h) see which ids or tags are equal, and tell their things apart by numbers (".1"). The
 * number of a tag's path depends on its parent's number, which would take a pass for each depth.
 * But almost always no two paths have the same tag, and then one pass with all these numbers 0 is
 * right. That pass detects the other case: if it takes two paths for one, somewhere on their way to
 * the root two ancestors have the same tag but different locations, and these it sees.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/int_map.h"
#include "base/text.h"
#include "tagset/tagset_writer.h"

/* --- objects ---------------------------------------------------------------------------------- */

/* Combines objects. The data is the path, with its NUL. */
static bool join_paths(uint8_t *into, size_t n_into, const uint8_t *from, size_t n_from)
{
	(void)n_into;
	(void)n_from;
	return tagset_is_better_path((const char *)from, (const char *)into);
}

/* Returns a key in the order in which objects are written: by index of the kind in the alphabetical
 * list of known kinds, then by file id. */
static uint64_t object_key(const char *kind, uint64_t file_id)
{
	static const char *const kinds[] = {"elf",    "jit", "kernel",	"mark",
					    "module", "tag", "unknown", "vdso"};
	size_t len = strcspn(kind, "\t");
	uint64_t place = 0;

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		int order = strncmp(kind, kinds[i], len);

		if (order == 0 && !kinds[i][len])
			return (2 * i + 1ull) << 59 | file_id >> 5;
		place = order > 0 ? 2 * i + 2ull : place;
	}
	/* an unknown kind: the key is only its position in the list, and its text decides the order
	 * there */
	return place << 59;
}

static int add_objects(struct tagset_writer *w, struct router *r)
{
	const struct tagset *set = w->set;
	int err = 0;

	for (size_t i = 0; err == 0 && i < set->objects.count; i++) {
		const struct tagset_object *o = &set->objects.items[i];
		const char *identity = tagset_escaped(set, o->identity);
		const char *path = tagset_escaped(set, o->path);

		buf_put(&w->id, identity, strlen(identity));
		buf_put(&w->data, path, strlen(path) + 1);
		err = tagset_writer_add(w, r, object_key(identity, o->file_id));
	}
	return err == 0 ? router_run(r, 0, UINT64_MAX, true) : err;
}

/* Writes an object. In the line, the path is between build-id and layout; the layout is written
 * only if it is known. */
static void put_object(struct tagset_writer *w, uint64_t number, const struct router_item *item)
{
	const char *id = (const char *)item->id;
	size_t at = 0;

	for (unsigned tabs = 0; at < item->n_id && (id[at] != '\t' || ++tabs < 3);)
		at++;
	text_printf(&w->text, "object\t%llu\t", (unsigned long long)number);
	buf_put(&w->text, id, at);
	text_put_raw(&w->text, "\t");
	text_put_raw(&w->text, (const char *)item->data);
	buf_put(&w->text, id + at, item->n_id - at);
	text_put_raw(&w->text, "\n");
}

static int put_objects(struct tagset_writer *w, struct router *r, uint64_t first)
{
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < router_count(r); i++) {
		struct router_item item = router_at(r, i);

		put_object(w, first + i, &item);
		err = tagset_writer_flush(w);
	}
	return err == 0 ? tagset_writer_section(w) : err;
}

static int write_objects(struct tagset_writer *w)
{
	struct router *r;
	uint64_t first, all;
	int err = router_new(w->comm, join_paths, &r);

	if (err < 0)
		return err;
	err = add_objects(w, r);
	if (err == 0)
		err = tagset_writer_number(w, r, &first, &all);
	for (size_t i = 0; err == 0 && i < w->set->objects.count; i++)
		w->objects[i] = (uint32_t)router_answer_to(r, (uint32_t)i);
	if (err == 0)
		err = put_objects(w, r, first);
	router_free(r);
	return err;
}

/* --- locations -------------------------------------------------------------------------------- */

/* Combines locations. The data is the names, with their NUL. */
static bool join_names(uint8_t *into, size_t n_into, const uint8_t *from, size_t n_from)
{
	(void)n_into;
	(void)n_from;
	return tagset_says_more((const char *)from, (const char *)into);
}

/* Writes a location. The names are five fields, the last of which, START, is written only if it is
 * known; then three fields for each inlined function. */
static void put_location(struct tagset_writer *w, const struct router_item *item, uint32_t dup)
{
	const char *names = (const char *)item->data;

	text_put_raw(&w->text, "location");
	tagset_put_id(&w->text, item->key, dup);
	text_printf(&w->text, "\t%u\t", (uint32_t)tagset_get_be(item->id, 4));
	buf_put(&w->text, item->id + 4, item->n_id - 4);
	for (unsigned i = 0;; i++) {
		size_t len = strcspn(names, "\t");

		if (i > 4 && i % 3 == 2) {
			text_put_raw(&w->text, "\ninlined");
			tagset_put_id(&w->text, item->key, dup);
		}
		if (i != 4 || len)
			text_put_raw(&w->text, "\t");
		buf_put(&w->text, names, len);
		if (!names[len])
			break;
		names += len + 1;
	}
	text_put_raw(&w->text, "\n");
}

/* Numbers the locations that share an id, and writes all. */
static int put_locations(struct tagset_writer *w, struct router *r)
{
	uint32_t dup = 0;
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < router_count(r); i++) {
		struct router_item item = router_at(r, i);

		dup = i && router_at(r, i - 1).key == item.key ? dup + 1 : 0;
		router_answer(r, i, dup);
		put_location(w, &item, dup);
		err = tagset_writer_flush(w);
	}
	return err == 0 ? tagset_writer_section(w) : err;
}

int tagset_write_locations(struct tagset_writer *w)
{
	const struct tagset *set = w->set;
	struct router *r;
	int err = write_objects(w);

	if (err == 0)
		err = router_new(w->comm, join_names, &r);
	if (err < 0)
		return err;
	for (size_t i = 0; err == 0 && i < set->locations.count; i++) {
		const struct tagset_location *l = &set->locations.items[i];
		const char *offset = tagset_escaped(set, l->offset);
		const char *names = tagset_escaped(set, l->names);

		tagset_put_be(&w->id, w->objects[l->object], 4);
		buf_put(&w->id, offset, strlen(offset));
		buf_put(&w->data, names, strlen(names) + 1);
		err = tagset_writer_add(w, r, l->id);
	}
	if (err == 0)
		err = router_run(r, 0, UINT64_MAX, true);
	if (err == 0)
		err = put_locations(w, r);
	if (err == 0)
		err = router_return(r);
	for (size_t i = 0; err == 0 && i < set->locations.count; i++)
		w->location_dup[i] = (uint32_t)router_answer_to(r, (uint32_t)i);
	router_free(r);
	return err;
}

/* --- tags ------------------------------------------------------------------------------------- */

/* The id of a tag's item: depth, parent's tag and the number after its point, location's id and the
 * number after its point. */
enum { TAG_PARENT = 4, TAG_PARENT_DUP = 12, TAG_LOCATION = 16, TAG_LOCATION_DUP = 24 };

static bool is_one(uint8_t *into, size_t n_into, const uint8_t *from, size_t n_from)
{
	(void)into;
	(void)n_into;
	(void)from;
	(void)n_from;
	return false;
}

/* Brings the tags of one depth (0: of all) to their owners. */
static int run_tags(struct tagset_writer *w, struct router *r, uint32_t depth)
{
	const struct tagset *set = w->set;
	int err = 0;

	for (uint32_t i = 1; err == 0 && i < set->nodes.count; i++) {
		const struct tagset_node *n = &set->nodes.items[i];

		if (depth && n->depth != depth)
			continue;
		tagset_put_be(&w->id, n->depth, 4);
		tagset_put_be(&w->id, set->nodes.items[n->parent].tag, 8);
		tagset_put_be(&w->id, w->node_dup[n->parent], 4);
		tagset_put_be(&w->id, set->locations.items[n->location].id, 8);
		tagset_put_be(&w->id, w->location_dup[n->location], 4);
		err = tagset_writer_add(w, r, n->tag);
	}
	return err == 0 ? router_run(r, 0, UINT64_MAX, depth) : err;
}

static void put_tag(struct tagset_writer *w, const struct router_item *item, uint32_t dup)
{
	text_put_raw(&w->text, "tag");
	tagset_put_id(&w->text, item->key, dup);
	tagset_put_id(&w->text, tagset_get_be(item->id + TAG_PARENT, 8),
		      (uint32_t)tagset_get_be(item->id + TAG_PARENT_DUP, 4));
	tagset_put_id(&w->text, tagset_get_be(item->id + TAG_LOCATION, 8),
		      (uint32_t)tagset_get_be(item->id + TAG_LOCATION_DUP, 4));
	text_put_raw(&w->text, "\n");
}

/* Writes the owned tags in sections, one for each depth. No two have the same tag. */
static int put_tags(struct tagset_writer *w, struct router *r, uint32_t deepest)
{
	uint32_t n = router_count(r), *order = vec_alloc((size_t)n + 1, sizeof(*order));
	uint64_t *first = calloc((size_t)deepest + 2, sizeof(*first));
	uint64_t *lengths = calloc((size_t)deepest + 2, sizeof(*lengths));
	int err = order && first && lengths ? 0 : -ENOMEM;

	for (uint32_t i = 0; err == 0 && i < n; i++)
		first[tagset_get_be(router_at(r, i).id, 4) + 1]++;
	for (uint32_t d = 1; err == 0 && d <= deepest; d++)
		first[d + 1] += first[d];
	for (uint32_t i = 0; err == 0 && i < n; i++)
		order[first[tagset_get_be(router_at(r, i).id, 4)]++] = i;
	for (uint32_t i = 0; err == 0 && i < n; i++) {
		const struct router_item item = router_at(r, order[i]);
		size_t before = w->text.len;

		put_tag(w, &item, 0);
		lengths[tagset_get_be(item.id, 4)] += w->text.len - before;
		if (w->comm->size == 1) /* a single process need not care for sections */
			err = tagset_writer_flush(w);
	}
	if (err == 0)
		err = w->comm->size == 1 ? tagset_writer_section(w)
					 : tagset_writer_sections(w, lengths, (size_t)deepest + 1);
	free(order);
	free(first);
	free(lengths);
	return err;
}

/* Finds out whether any two paths have the same tag, in any process. */
static int find_collisions(struct tagset_writer *w, const struct router *r, bool *ret_any)
{
	uint64_t any = 0;
	int err;

	for (uint32_t i = 1; i < router_count(r); i++)
		any |= router_at(r, i).key == router_at(r, i - 1).key;
	err = router_largest(w->comm, &any, 1);
	*ret_any = any;
	return err;
}

/* Numbers and writes the tags of one depth. A tag that occurred at smaller depths (`seen`) gets
 * numbers that continue theirs. */
static int write_depth(struct tagset_writer *w, uint32_t depth, struct int_map *seen)
{
	struct router *r;
	uint32_t added = 0;
	int err = router_new(w->comm, is_one, &r);

	if (err == 0)
		err = run_tags(w, r, depth);
	for (uint32_t i = 0; err == 0 && i < router_count(r); i++) {
		const struct router_item item = router_at(r, i);
		uint32_t dup = int_map_find(seen, item.key);

		dup = dup == INT_MAP_NONE ? 0 : dup;
		router_answer(r, i, dup);
		put_tag(w, &item, dup);
		err = int_map_set(seen, item.key, dup + 1);
	}
	if (err == 0)
		err = tagset_writer_section(w);
	if (err == 0)
		err = router_return(r);
	for (uint32_t i = 1; err == 0 && i < w->set->nodes.count; i++)
		if (w->set->nodes.items[i].depth == depth)
			w->node_dup[i] = (uint32_t)router_answer_to(r, added++);
	router_free(r);
	return err;
}

static int write_depths(struct tagset_writer *w, uint32_t deepest)
{
	struct int_map seen = {0};
	int err = 0;

	for (uint32_t depth = 1; err == 0 && depth <= deepest; depth++)
		err = write_depth(w, depth, &seen);
	int_map_fini(&seen);
	return err;
}

int tagset_write_tags(struct tagset_writer *w)
{
	uint64_t deepest = 0;
	bool any = false;
	struct router *r;
	int err = router_new(w->comm, is_one, &r);

	for (size_t i = 0; i < w->set->nodes.count; i++)
		if (w->set->nodes.items[i].depth > deepest)
			deepest = w->set->nodes.items[i].depth;
	if (err == 0)
		err = router_largest(w->comm, &deepest, 1);
	if (err == 0)
		err = run_tags(w, r, 0);
	if (err == 0)
		err = find_collisions(w, r, &any);
	if (err == 0 && !any)
		err = put_tags(w, r, (uint32_t)deepest);
	router_free(r);
	return err == 0 && any ? write_depths(w, (uint32_t)deepest) : err;
}
