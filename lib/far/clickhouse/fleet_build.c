/* SPDX-License-Identifier: MIT */
/* Makes a recording from the answers of a fleet's database: locations with their objects and names,
 * the trie, and the sums by node; see fleet.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "clickhouse/fleet_build.h"
#include "clickhouse/fleet_sql.h"
#include "model/frame_kind.h"
#include "proc/object.h"
#include "proc/object_id.h"

#define BUILD_TEXT 65536 /* bytes of a name, with its end */
/* kinds of objects that kind_number() tries; there are fewer */
#define BUILD_KINDS 16
#define BUILD_PIECE 250000 /* locations that are fetched at once: some 30 MB */

enum { NODE_UNDER_WAY = FLEET_NONE - 1, NODE_MISSING = FLEET_NONE - 2 };

/* --- locations -------------------------------------------------------------------------------- */

struct row {
	uint64_t id, file_id, offset, layout, function_start;
	uint32_t alt, inlined, line;
	struct fleet_named named;
	char kind[32], frame[32], build_id[129];
	char object[BUILD_TEXT], function[BUILD_TEXT], file[BUILD_TEXT];
};

static int get_row(const struct fleet *f, struct buf_reader *r, struct row *row)
{
	BUF_GET(r, row->id);
	BUF_GET(r, row->alt);
	BUF_GET(r, row->inlined);
	buf_get_string(r, row->kind, sizeof(row->kind));
	BUF_GET(r, row->file_id);
	buf_get_string(r, row->build_id, sizeof(row->build_id));
	buf_get_string(r, row->object, sizeof(row->object));
	BUF_GET(r, row->offset);
	buf_get_string(r, row->frame, sizeof(row->frame));
	buf_get_string(r, row->function, sizeof(row->function));
	buf_get_string(r, row->file, sizeof(row->file));
	BUF_GET(r, row->line);
	BUF_GET(r, row->layout);
	BUF_GET(r, row->function_start);
	BUF_GET(r, row->named.how);
	BUF_GET(r, row->named.at);
	fleet_unescape(row->object);
	fleet_unescape(row->function);
	fleet_unescape(row->file);
	return r->failed ? clickhouse_fail(f->c, -EPROTO, "the answer is cut") : 0;
}

static uint32_t kind_number(const char *name)
{
	for (uint32_t i = 0; i < BUILD_KINDS; i++)
		if (strcmp(object_kind_name(i), name) == 0)
			return i;
	/* Source files have their language as the kind. */
	return strcmp(name, frame_kind_name(FRAME_PYTHON)) == 0 ||
			       strcmp(name, frame_kind_name(FRAME_RUBY)) == 0 ||
			       strcmp(name, frame_kind_name(FRAME_PHP)) == 0 ||
			       strcmp(name, frame_kind_name(FRAME_PERL)) == 0 ||
			       strcmp(name, frame_kind_name(FRAME_ERLANG)) == 0 ||
			       strcmp(name, frame_kind_name(FRAME_JAVA)) == 0 ||
			       strcmp(name, frame_kind_name(FRAME_JAVASCRIPT)) == 0
		       ? OBJECT_MANAGED
		       : UINT32_MAX;
}

static int object_of(struct fleet *f, const struct row *row, uint32_t *ret_object)
{
	uint32_t known = strings_count(f->objects);
	struct store_object object = {.kind = kind_number(row->kind),
				      .file_id = row->file_id,
				      .layout = row->layout,
				      .path = f->file_path ? f->file_path : row->object};
	uint8_t build_id[sizeof(row->build_id) / 2];
	struct buf key = {0};
	int err;

	text_printf(&key, "%s %016" PRIx64 " ", row->kind, row->file_id);
	text_put_raw(&key, row->object);
	buf_put_u8(&key, '\0');
	err = key.failed ? -ENOMEM : strings_intern(f->objects, (const char *)key.data, ret_object);
	buf_free(&key);
	if (err < 0 || *ret_object < known)
		return err;
	for (const char *at = row->build_id; at[0] && at[1]; at += 2) {
		char digits[3] = {at[0], at[1], '\0'};

		build_id[object.build_id_len++] = (uint8_t)strtol(digits, NULL, 16);
	}
	object.build_id = build_id;
	return store_memory_object(f->reader, &object);
}

/* Gives a copy of a text that lives as long as the lines are collected; NULL for an empty text.
 * Returns 0 or -ENOMEM. */
static int keep(struct fleet *f, const char *text, const char **ret_text)
{
	uint32_t number;
	int err = *text ? strings_intern(f->texts, text, &number) : 0;

	*ret_text = err == 0 && *text ? strings_at(f->texts, number) : NULL;
	return err;
}

static int add_line(struct fleet *f, const struct row *row, uint32_t location)
{
	struct store_line line = {.location = location,
				  /* from the outermost function, until turn_lines() */
				  .depth = row->inlined,
				  .line = row->line,
				  .function_start = row->function_start,
				  .is_inlined = row->inlined > 0};
	int err = VEC_RESERVE(&f->lines, 1);

	if (err == 0)
		err = keep(f, row->function, &line.function);
	if (err == 0)
		err = keep(f, row->file, &line.file);
	if (err == 0)
		f->lines.items[f->lines.count++] = line;
	return err;
}

/* Returns whether a row of a location has names of the same source as its first row, which has the
 * best ones. Rows of an older version have no time, so of these the sources are not known. */
static bool is_of_best(const struct fleet_named *first, const struct fleet_named *row)
{
	return first->at == row->at && (first->how == row->how || !first->at);
}

/* Returns whether the location that was added last has a line for a depth. Rows without a time can
 * be of several sources; those of the best come first. */
static bool has_line(const struct fleet *f, uint32_t location, uint32_t inlined)
{
	for (size_t i = f->lines.count; i-- && f->lines.items[i].location == location;)
		if (f->lines.items[i].depth == inlined)
			return true;
	return false;
}

static int add_row(struct fleet *f, const struct row *row, uint32_t *count)
{
	struct store_location location = {.offset = row->offset,
					  .is_return = strcmp(row->frame, "call") == 0};
	uint32_t at;
	int err = int_map_enter_wide(&f->location_at, row->id, row->alt, *count, &at);

	if (err == 0 && at == *count) {
		err = VEC_RESERVE(&f->named, 1);
		if (err == 0)
			err = object_of(f, row, &location.object);
		if (err == 0)
			err = store_memory_location(f->reader, &location);
		if (err == 0)
			f->named.items[f->named.count++] = row->named;
		*count += err == 0;
	}
	if (err < 0 || f->is_nameless ||
	    at + 1 != *count || /* it was in an earlier answer, whose rows it has */
	    !is_of_best(&f->named.items[at], &row->named) ||
	    (!*row->function && !*row->file && !row->line && !row->function_start) ||
	    has_line(f, at, row->inlined))
		return err;
	return add_line(f, row, at);
}

/* Compares lines for sorting: by location, then from the innermost function to the outermost (rows
 * come from the outermost to the innermost). */
static int in_order(const void *left, const void *right)
{
	const struct store_line *a = left, *b = right;

	if (a->location != b->location)
		return a->location < b->location ? -1 : 1;
	return a->depth > b->depth ? -1 : a->depth < b->depth;
}

static void turn_lines(struct fleet *f)
{
	uint32_t depth = 0;

	if (f->lines.count)
		qsort(f->lines.items, f->lines.count, sizeof(*f->lines.items), in_order);
	for (size_t i = 0; i < f->lines.count; i++) {
		depth = i && f->lines.items[i - 1].location == f->lines.items[i].location
				? depth + 1
				: 0;
		f->lines.items[i].depth = depth;
	}
}

static int take_locations(struct fleet *f, const struct buf *answer, uint32_t *count)
{
	struct buf_reader r = buf_reader(answer->data, answer->len);
	struct row *row = calloc(1, sizeof(*row));
	int err = row ? 0 : -ENOMEM;

	while (err == 0 && buf_left(&r)) {
		err = get_row(f, &r, row);
		if (err == 0)
			err = add_row(f, row, count);
	}
	free(row);
	return err;
}

/* Fetches the locations with these ids, the best names of each first, and empties `ids`. *count is
 * how many were added so far. Returns 0 or an error. */
static int fetch_piece(struct fleet *f, struct buf *ids, uint32_t *count)
{
	const bool has_named = f->database.version >= 2;
	struct buf query = {0}, answer = {0};
	int err;

	text_put_raw(&query,
		     "SELECT id, alt, inlined, kind, file_id, ifNull(build_id, ''), object, "
		     "offset, frame, ifNull(function, ''), ifNull(file, ''), "
		     "toUInt32(ifNull(line, 0)), toUInt64(ifNull(layout, 0)), "
		     "toUInt64(ifNull(function_start, 0)), ");
	text_put_raw(&query, has_named ? "named, toUInt32(named_at)" : "toUInt32(0), toUInt32(0)");
	text_put_raw(&query, " FROM locations WHERE ");
	buf_put(&query, f->days.data, f->days.len);
	text_put_raw(&query, " AND id IN (SELECT id FROM ids) ORDER BY id, alt, ");
	text_put_raw(&query, has_named ? "named DESC, named_at DESC, " : "");
	text_put_raw(&query, "inlined, isNull(function), function LIMIT 1 BY id, alt, ");
	text_put_raw(&query, has_named ? "named, named_at, " : "");
	text_put_raw(&query, "inlined FORMAT RowBinary");
	buf_put_u8(&query, '\0');
	err = ids->failed || query.failed
		      ? -ENOMEM
		      : clickhouse_ask(f->c, (const char *)query.data, ids, &answer);
	if (err == 0)
		err = take_locations(f, &answer, count);
	buf_free(&query);
	buf_free(&answer);
	buf_clear(ids);
	return err;
}

static bool has_location(const struct fleet *f, const struct fleet_path *path)
{
	return int_map_find_wide(&f->location_at, path->location, path->location_alt) !=
	       INT_MAP_NONE;
}

/* Fetches the needed locations that have not been fetched. */
static int fetch_missing(struct fleet *f, uint32_t *count)
{
	struct buf ids = {0};
	struct int_map asked = {0};
	int err = 0;

	for (size_t i = 0; err == 0 && i < f->paths.count; i++) {
		uint64_t id = f->paths.items[i].location;

		if (!f->paths.items[i].is_needed || has_location(f, &f->paths.items[i]) ||
		    int_map_find(&asked, id) != INT_MAP_NONE)
			continue;
		BUF_PUT(&ids, id);
		err = int_map_set(&asked, id, 0);
		if (err == 0 && ids.len >= BUILD_PIECE * sizeof(id))
			err = fetch_piece(f, &ids, count);
	}
	if (err == 0 && ids.len)
		err = fetch_piece(f, &ids, count);
	int_map_fini(&asked);
	buf_free(&ids);
	return err;
}

int fleet_fetch_locations(struct fleet *f)
{
	uint32_t count = 0;
	bool is_whole = true;
	int err = fetch_missing(f, &count);

	for (size_t i = 0; is_whole && i < f->paths.count; i++)
		is_whole = !f->paths.items[i].is_needed || has_location(f, &f->paths.items[i]);
	if (err == 0 && !is_whole && !f->is_all_days) {
		fleet_sql_all_days(f);
		err = fetch_missing(f, &count);
	}
	if (err == 0)
		turn_lines(f);
	return err;
}

/* --- paths and sums --------------------------------------------------------------------------- */

/* Enters a path below a node. */
static int add_node(struct fleet *f, struct fleet_path *path, uint32_t parent, uint32_t *count)
{
	uint32_t location = int_map_find_wide(&f->location_at, path->location, path->location_alt);
	const struct store_node node = {parent, location};
	int err;

	path->node = NODE_MISSING;
	if (parent == NODE_MISSING || location == INT_MAP_NONE)
		return 0;
	err = store_memory_node(f->reader, &node);
	if (err == 0)
		path->node = (*count)++;
	return err;
}

/* Makes the node of path `at`, and the nodes of all its ancestors that have none. `stack` must have
 * room for all paths. Returns 0 or an error. */
static int make_nodes(struct fleet *f, uint32_t at, uint32_t *stack, uint32_t *count)
{
	uint32_t depth = 0, parent = NODE_MISSING;
	int err = 0;

	for (;;) {
		struct fleet_path *path = at == INT_MAP_NONE ? NULL : &f->paths.items[at];

		if (!path || path->node == NODE_UNDER_WAY)
			break; /* it is not there, or is its own ancestor */
		if (path->node != FLEET_NONE) {
			parent = path->node;
			break;
		}
		path->node = NODE_UNDER_WAY;
		stack[depth++] = at;
		if (!path->parent && !path->parent_alt) {
			parent = 0;
			break;
		}
		at = int_map_find_wide(&f->path_at, path->parent, path->parent_alt);
	}
	while (err == 0 && depth) {
		struct fleet_path *path = &f->paths.items[stack[--depth]];

		err = add_node(f, path, parent, count);
		parent = path->node;
	}
	return err;
}

/* Makes the node of a mark for the sums of paths that are not told apart, unless it is there: each
 * command has such a sum. */
static int make_rare_node(struct fleet *f, uint32_t *count)
{
	const struct store_object object = {.kind = OBJECT_MARK, .path = FLEET_RARE};
	const struct store_location location = {.object = strings_count(f->objects)};
	const struct store_node node = {0, (uint32_t)f->named.count};
	int err;

	if (f->rare_node)
		return 0;
	err = store_memory_object(f->reader, &object);
	if (err == 0)
		err = store_memory_location(f->reader, &location);
	if (err == 0)
		err = store_memory_node(f->reader, &node);
	if (err == 0)
		err = VEC_RESERVE(&f->lines, 1);
	if (err == 0) {
		f->lines.items[f->lines.count++] =
			(struct store_line){.location = node.location, .function = FLEET_RARE};
		f->rare_node = (*count)++;
	}
	return err;
}

static int add_sum(struct fleet *f, const struct fleet_sum *from, uint32_t *stack, uint32_t *count)
{
	struct store_sum sum = from->sum;
	uint32_t at =
		from->tag ? int_map_find_wide(&f->path_at, from->tag, from->alt) : INT_MAP_NONE;
	uint32_t node = NODE_MISSING;
	int err = 0;

	if (from->is_rare) {
		err = make_rare_node(f, count);
		node = f->rare_node;
	}
	if (at != INT_MAP_NONE) {
		err = make_nodes(f, at, stack, count);
		node = f->paths.items[at].node;
	}
	if (from->tag && node == NODE_MISSING)
		f->found.lost_samples += sum.count;
	if (node == NODE_MISSING && sum.origin != ORIGIN_WALKED)
		sum.origin = ORIGIN_WALKED; /* it has no frames to be inferred */
	sum.node = node == NODE_MISSING ? 0 : node;
	return err == 0 ? store_memory_sum(f->reader, &sum) : err;
}

int fleet_build(struct fleet *f)
{
	uint32_t *stack = vec_alloc(f->paths.count + 1, sizeof(*stack)), count = 1;
	int err = stack ? 0 : -ENOMEM;

	for (size_t i = 0; err == 0 && i < f->sums.count; i++)
		err = add_sum(f, &f->sums.items[i], stack, &count);
	free(stack);
	return err == 0 ? store_memory_finish(f->reader, f->lines.items, f->lines.count) : err;
}
