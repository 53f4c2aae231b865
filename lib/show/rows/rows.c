/* SPDX-License-Identifier: MIT */
/*
 * Turns recordings into rows; see rows.h.
 *
 * Each metric of a recording has a profile, which can have trie nodes of its own (for completed
 * paths), so each metric is added separately. Paths and locations of an earlier profile are
 * recognised by their ids (rows/identity.h), and get no second row.
 *
 * The samples of a profile are its entries, added up over the threads with equal labels. A row's
 * key is its path, its labels, and its end: the end reason, the quality, and the number of inferred
 * frames. Labels (command, unit, container, rank) belong to a thread and are interned, so the key
 * is three numbers.
 */
#include "rows/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/strings.h"
#include "base/text.h"
#include "model/cgroup_name.h"
#include "model/frame_kind.h"
#include "model/labels.h"
#include "model/profile_ranks.h"
#include "proc/object.h"
#include "proc/object_id.h"
#include "rows/identity.h"
#include "rows/rare.h"
#include "stack/end_reason.h"
#include "stack/label_set.h"
#include "stack/location.h"
#include "stack/origin.h"

#define ROWS_UNASKED	 UINT32_MAX
#define SUM_MAX_INFERRED ((1u << 21) - 1)

struct rows {
	struct rows_sink sink;
	struct identity locations, paths;
	struct int_map label_sets; /* ids -> 0 */
	struct buf text[4];	   /* buffers for the texts of the current row */
	struct rows_counts counts;
};

/* A profile that is being added. */
struct rows_profile {
	struct rows *rows;
	struct profile *profile;
	const struct store_tables *t;
	const uint64_t *tags;	/* by node */
	bool *nodes;		/* by node: an entry needs it, and it is not rare */
	bool *has_rare;		/* by node: the path of what is rare below it has a row */
	uint32_t *rare_alt;	/* by such a node: that path's alternative */
	uint32_t *node_alt;	/* by needed node: its alternative */
	uint32_t *location_alt; /* by location: its alternative; UINT32_MAX: not looked up yet */
};

/* Makes the value of a column of numbers. */
static struct rows_value rows_number(uint64_t number)
{
	return (struct rows_value){.number = number};
}

/* Makes the value of a column of text; for NULL, a null value. */
static struct rows_value rows_word(const char *text)
{
	return (struct rows_value){.text = text, .is_null = !text};
}

int rows_new(const struct rows_sink *sink, struct rows **ret_rows)
{
	struct rows *rows = calloc(1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	rows->sink = *sink;
	*ret_rows = rows;
	return 0;
}

void rows_free(struct rows *rows)
{
	if (!rows)
		return;
	identity_fini(&rows->locations);
	identity_fini(&rows->paths);
	int_map_fini(&rows->label_sets);
	for (size_t i = 0; i < sizeof(rows->text) / sizeof(*rows->text); i++)
		buf_free(&rows->text[i]);
	free(rows);
}

static uint64_t hash_text(uint64_t h, const char *text)
{
	for (; text && *text; text++)
		h = hash_mix64(h + (uint8_t)*text + 1);
	return hash_mix64(h);
}

uint64_t rows_window(const struct store_recording *r)
{
	uint64_t h = hash_mix64(hash_mix64((uint64_t)r->id) + r->start_unix_ns);

	h = hash_text(hash_mix64(h + r->start_ns), r->host);
	return hash_text(hash_text(hash_text(h, r->command), r->target), r->event);
}

struct rows_counts rows_counts(const struct rows *rows)
{
	struct rows_counts counts = rows->counts;

	counts.collisions = rows->locations.collisions + rows->paths.collisions;
	return counts;
}

/* Passes a row to the sink and counts it. */
static int rows_put(struct rows *rows, enum rows_table table, const struct rows_value *values)
{
	int err = rows->sink.row(rows->sink.arg, table, values);

	rows->counts.rows[table] += err == 0;
	return err;
}

const char *rows_text(struct buf *b, const char *text)
{
	if (!text)
		return NULL;
	buf_clear(b);
	text_put(b, text, "\\");
	buf_put_u8(b, '\0');
	return b->failed ? NULL : (const char *)b->data;
}

/* --- what is known elsewhere ------------------------------------------------------------------ */

int rows_know_path(struct rows *rows, uint64_t tag, uint32_t alt, uint64_t parent,
		   uint32_t parent_alt, uint64_t location, uint32_t location_alt)
{
	const struct identity_key key = {parent, location, parent_alt, location_alt};

	return identity_know(&rows->paths, tag, &key, alt);
}

static struct identity_key location_key(const char *kind, uint64_t file_id, uint64_t offset)
{
	return (struct identity_key){file_id, offset, (uint32_t)hash_text(0, kind), 0};
}

int rows_know_location(struct rows *rows, uint64_t id, uint32_t alt, const char *kind,
		       uint64_t file_id, uint64_t offset, enum rows_named named)
{
	const struct identity_key key = location_key(kind, file_id, offset);
	int err = identity_know(&rows->locations, id, &key, alt);
	uint32_t *note = err == 0 ? identity_note(&rows->locations, id, &key) : NULL;

	if (note && *note < named)
		*note = named;
	return err;
}

int rows_know_labels(struct rows *rows, uint64_t id)
{
	return int_map_set(&rows->label_sets, id, 0);
}

bool rows_has(const struct rows *rows, enum rows_table table, const struct rows_value *values)
{
	const struct identity_key path = {values[ROWS_PATH_PARENT].number,
					  values[ROWS_PATH_LOCATION].number,
					  (uint32_t)values[ROWS_PATH_PARENT_ALT].number,
					  (uint32_t)values[ROWS_PATH_LOCATION_ALT].number};
	struct identity_key place;

	if (table == ROWS_LABELS)
		return int_map_find(&rows->label_sets, values[ROWS_LABEL_ID].number) !=
		       INT_MAP_NONE;
	if (table == ROWS_PATHS)
		return identity_has(&rows->paths, values[ROWS_PATH_TAG].number, &path);
	place = location_key(values[ROWS_LOCATION_KIND].text, values[ROWS_LOCATION_FILE_ID].number,
			     values[ROWS_LOCATION_OFFSET].number);
	return identity_has(&rows->locations, values[ROWS_LOCATION_ID].number, &place);
}

size_t rows_known(const struct rows *rows)
{
	return rows->paths.entries.count + rows->locations.entries.count;
}

/* --- locations and paths ---------------------------------------------------------------------- */

static uint64_t id_of_location(const struct rows_profile *p, uint32_t number)
{
	const struct store_location *location = &p->t->locations[number];

	return location_id(p->t->objects[location->object].file_id, location->offset);
}

/* Returns the word for an object's kind: for source files, the language. */
static const char *kind_word(const struct store_object *object)
{
	enum frame_kind kind = frame_kind_of_object(object);

	return frame_kind_is_managed(kind) ? frame_kind_name(kind) : object_kind_name(object->kind);
}

static const char *build_id_text(struct buf *b, const struct store_object *object)
{
	if (!object->build_id_len)
		return NULL;
	buf_clear(b);
	for (size_t i = 0; i < object->build_id_len; i++)
		text_printf(b, "%02x", object->build_id[i]);
	buf_put_u8(b, '\0');
	return (const char *)b->data;
}

/* Returns the start of the function that encloses a location; 0 if it is not known. */
static uint64_t start_of(const struct rows_profile *p, uint32_t location)
{
	const struct store_tables *t = p->t;

	for (uint32_t i = t->line_first[location]; i < t->line_first[location + 1]; i++)
		if (!t->lines[i].is_inlined)
			return t->lines[i].function_start;
	return 0;
}

/* Tells how much is known of a location's names, of which the enclosing function's decide. */
static enum rows_named named_of(const struct rows_profile *p, uint32_t number,
				const struct profile_frame *frames, size_t count)
{
	if (count && !frames[0].symbol->is_unnamed)
		return frames[0].line ? ROWS_NAMED_LINE : ROWS_NAMED_FUNCTION;
	return start_of(p, number) ? ROWS_NAMED_START : ROWS_NAMED_NOT;
}

/* Makes a location's rows: one for the enclosing function, and one for each function inlined there,
 * outermost first. Returns 0 or an error. */
static int put_location(struct rows_profile *p, uint32_t number, uint32_t alt,
			const struct profile_frame *frames, size_t count)
{
	const struct store_location *location = &p->t->locations[number];
	const struct store_object *object = &p->t->objects[location->object];
	const uint64_t start = start_of(p, number);
	struct rows *rows = p->rows;
	struct buf *text = rows->text;
	int err = 0;

	for (size_t i = 0; err == 0 && i < count; i++) {
		const struct profile_frame *f = &frames[i];
		const char *name = f->symbol->is_unnamed ? NULL : profile_symbol_plain(f->symbol);
		const struct rows_value values[ROWS_LOCATION_N] = {
			[ROWS_LOCATION_ID] = rows_number(id_of_location(p, number)),
			[ROWS_LOCATION_ALT] = rows_number(alt),
			[ROWS_LOCATION_INLINED] = rows_number(i),
			[ROWS_LOCATION_KIND] = rows_word(kind_word(object)),
			[ROWS_LOCATION_FILE_ID] = rows_number(object->file_id),
			[ROWS_LOCATION_BUILD_ID] = rows_word(build_id_text(&text[0], object)),
			[ROWS_LOCATION_OBJECT] = rows_word(rows_text(&text[1], object->path)),
			[ROWS_LOCATION_OFFSET] = rows_number(location->offset),
			[ROWS_LOCATION_FRAME] = rows_word(location->is_return ? "call" : "pc"),
			[ROWS_LOCATION_FUNCTION] = rows_word(rows_text(&text[2], name)),
			[ROWS_LOCATION_FILE] = rows_word(rows_text(&text[3], f->file)),
			[ROWS_LOCATION_LINE] = {.number = f->line, .is_null = !f->line},
			[ROWS_LOCATION_LAYOUT] = {.number = object->layout,
						  .is_null = !object->layout},
			[ROWS_LOCATION_FUNCTION_START] = {.number = start, .is_null = i || !start},
			[ROWS_LOCATION_NAMED] = rows_number(named_of(p, number, frames, count)),
		};

		for (size_t k = 0; k < sizeof(rows->text) / sizeof(*rows->text); k++)
			err = text[k].failed ? -ENOMEM : err;
		if (err == 0)
			err = rows_put(rows, ROWS_LOCATIONS, values);
	}
	return err;
}

/* Makes a location's rows if it is new, or if its names are better than those that were sent and
 * the sink takes these. Returns 0 or an error. */
static int send_location(struct rows_profile *p, uint32_t number, const struct identity_key *key,
			 bool is_new)
{
	size_t count;
	const struct profile_frame *frames;
	uint32_t *note = identity_note(&p->rows->locations, id_of_location(p, number), key);
	enum rows_named named;

	if (!is_new && !p->rows->sink.takes_better_names)
		return 0;
	frames = profile_location_frames(p->profile, number, &count);
	if (!frames)
		return -ENOMEM;
	named = named_of(p, number, frames, count);
	if (!is_new && named <= *note)
		return 0;
	*note = named;
	return put_location(p, number, p->location_alt[number], frames, count);
}

/* Finds a location's alternative, and makes its rows if they have not been made. */
static int add_location(struct rows_profile *p, uint32_t number)
{
	const struct store_location *location = &p->t->locations[number];
	const struct store_object *object = &p->t->objects[location->object];
	const struct identity_key key =
		location_key(kind_word(object), object->file_id, location->offset);
	bool is_new;
	int err;

	if (p->location_alt[number] != ROWS_UNASKED)
		return 0;
	err = identity_enter(&p->rows->locations, id_of_location(p, number), &key,
			     &p->location_alt[number], &is_new);
	return err == 0 ? send_location(p, number, &key, is_new) : err;
}

static int add_path(struct rows_profile *p, uint32_t number)
{
	const struct store_node *node = &p->t->nodes[number];
	struct identity_key key = {p->tags[node->parent], id_of_location(p, node->location),
				   p->node_alt[node->parent], 0};
	bool is_new;
	int err = add_location(p, node->location);

	if (err < 0)
		return err;
	key.d = p->location_alt[node->location];
	err = identity_enter(&p->rows->paths, p->tags[number], &key, &p->node_alt[number], &is_new);
	if (err < 0 || !is_new)
		return err;
	return rows_put(p->rows, ROWS_PATHS,
			(const struct rows_value[ROWS_PATH_N]){
				[ROWS_PATH_TAG] = rows_number(p->tags[number]),
				[ROWS_PATH_ALT] = rows_number(p->node_alt[number]),
				[ROWS_PATH_PARENT] = rows_number(key.a),
				[ROWS_PATH_PARENT_ALT] = rows_number(key.c),
				[ROWS_PATH_LOCATION] = rows_number(key.b),
				[ROWS_PATH_LOCATION_ALT] = rows_number(key.d),
			});
}

/* --- rare paths ------------------------------------------------------------------------------- */

/* Returns the tag of what is rare below a node. */
static uint64_t rare_tag(const struct rows_profile *p, uint32_t node)
{
	return hash_chain(p->tags[node], location_id(rare_file_id(), 0));
}

static int add_rare_location(struct rows *rows, uint64_t id, uint32_t *ret_alt)
{
	const char *kind = object_kind_name(OBJECT_MARK);
	const struct identity_key key = location_key(kind, rare_file_id(), 0);
	bool is_new;
	int err = identity_enter(&rows->locations, id, &key, ret_alt, &is_new);

	if (err < 0 || !is_new)
		return err;
	*identity_note(&rows->locations, id, &key) = ROWS_NAMED_FUNCTION;
	return rows_put(rows, ROWS_LOCATIONS,
			(const struct rows_value[ROWS_LOCATION_N]){
				[ROWS_LOCATION_ID] = rows_number(id),
				[ROWS_LOCATION_ALT] = rows_number(*ret_alt),
				[ROWS_LOCATION_KIND] = rows_word(kind),
				[ROWS_LOCATION_FILE_ID] = rows_number(rare_file_id()),
				[ROWS_LOCATION_BUILD_ID] = rows_word(NULL),
				[ROWS_LOCATION_OBJECT] = rows_word(RARE_NAME),
				[ROWS_LOCATION_FRAME] = rows_word("pc"),
				[ROWS_LOCATION_FUNCTION] = rows_word(RARE_NAME),
				[ROWS_LOCATION_FILE] = rows_word(NULL),
				[ROWS_LOCATION_LINE] = {.is_null = true},
				[ROWS_LOCATION_LAYOUT] = {.is_null = true},
				[ROWS_LOCATION_FUNCTION_START] = {.is_null = true},
				[ROWS_LOCATION_NAMED] = rows_number(ROWS_NAMED_FUNCTION),
			});
}

/* Makes the row of the path of what is rare below a node, if it is new. */
static int add_rare_path(struct rows_profile *p, uint32_t node)
{
	const uint64_t id = location_id(rare_file_id(), 0);
	struct identity_key key = {p->tags[node], id, p->node_alt[node], 0};
	uint32_t alt;
	bool is_new;
	int err = add_rare_location(p->rows, id, &key.d);

	if (err == 0)
		err = identity_enter(&p->rows->paths, rare_tag(p, node), &key, &alt, &is_new);
	if (err == 0)
		p->rare_alt[node] = alt;
	if (err < 0 || !is_new)
		return err;
	return rows_put(p->rows, ROWS_PATHS,
			(const struct rows_value[ROWS_PATH_N]){
				[ROWS_PATH_TAG] = rows_number(rare_tag(p, node)),
				[ROWS_PATH_ALT] = rows_number(alt),
				[ROWS_PATH_PARENT] = rows_number(key.a),
				[ROWS_PATH_PARENT_ALT] = rows_number(key.c),
				[ROWS_PATH_LOCATION] = rows_number(key.b),
				[ROWS_PATH_LOCATION_ALT] = rows_number(key.d),
			});
}

/* Makes the rows of the paths that stand for rare ones. */
static int add_rare(struct rows_profile *p)
{
	size_t n;
	const struct profile_entry *entries = profile_entries(p->profile, &n);
	int err = 0;

	for (size_t i = 0; err == 0 && i < n; i++) {
		const uint32_t keeper = rare_keeper(p->t, p->nodes, entries[i].node);

		if (keeper == entries[i].node)
			continue;
		p->rows->counts.rare += entries[i].samples;
		if (!p->has_rare[keeper])
			err = add_rare_path(p, keeper);
		p->has_rare[keeper] = true;
	}
	return err;
}

/* --- samples -------------------------------------------------------------------------------- */

struct sum {
	uint64_t tag;
	uint64_t weight, count;
	uint32_t node, group;
	uint32_t inferred, alt;
	uint8_t reason, quality;
};

/* The labels that the threads of a group share. */
struct group {
	char *command, *unit, *container; /* unit, container: NULL if there is none */
	char *labels;	    /* a line KEY=VALUE for each, until put_label_set() takes it apart */
	uint64_t label_set; /* hash of these; 0: none */
	uint64_t rank;	    /* see model/profile_ranks.h */
	bool is_used;	    /* an entry is of it */
};

struct sums {
	struct rows_profile *p;
	uint32_t *group_of_thread;
	VEC(struct group) groups;
	struct int_map by_key;
	VEC(struct sum) rows;
};

/* --- labels ----------------------------------------------------------------------------------- */

/* Returns a copy of a text, escaped; NULL for lack of memory. */
static char *copy_of(struct buf *b, const char *text)
{
	const char *escaped = rows_text(b, text ? text : "");

	return escaped ? strdup(escaped) : NULL;
}

/* Returns a copy of the name in the buffer, which the caller frees. NULL: the name is in brackets,
 * which means that there is none; or memory is short, and *ret_err is -ENOMEM. */
static char *name_of(struct buf *b, int *ret_err)
{
	char *name = NULL;

	buf_put_u8(b, '\0');
	if (!b->failed && b->data[0] == '[')
		return NULL;
	if (!b->failed)
		name = copy_of(b + 1, (const char *)b->data);
	if (!name)
		*ret_err = -ENOMEM;
	return name;
}

static bool is_short_name(const char *key, size_t len)
{
	const char *name;

	for (size_t i = 0; (name = labels_short_name(i)); i++)
		if (strlen(name) == len && memcmp(name, key, len) == 0)
			return true;
	return false;
}

/* Appends a thread's labels, a line KEY=VALUE for each: those that were recorded, and those known
 * by short names (model/labels.h), so that a reader of the rows need not know which keys they stand
 * for. The node's is there only if it is not the host. */
static void put_labels(const struct store_tables *t, const struct store_thread *thread,
		       struct buf *b)
{
	const char *at = thread->label_set, *key, *value, *name;
	size_t key_len, value_len;

	while (label_set_next(&at, &key, &key_len, &value, &value_len)) {
		if (is_short_name(key, key_len))
			continue;
		buf_put(b, key, key_len);
		text_put_raw(b, "=");
		buf_put(b, value, value_len);
		text_put_raw(b, "\n");
	}
	for (size_t i = 0; (name = labels_short_name(i)); i++) {
		const size_t before = b->len;

		text_put_raw(b, name);
		text_put_raw(b, "=");
		if (!labels_put(t, thread, name, b) || labels_is_host(thread, name))
			b->len = before;
		else
			text_put_raw(b, "\n");
	}
}

static int add_group(struct sums *s, const struct store_thread *thread, uint64_t rank)
{
	struct buf *b = s->p->rows->text;
	struct group *group;
	int err = VEC_RESERVE(&s->groups, 1);

	if (err < 0)
		return err;
	group = &s->groups.items[s->groups.count++];
	*group = (struct group){.rank = rank};
	group->command = copy_of(b, thread->comm);
	buf_clear(b);
	cgroup_name_unit(thread->cgroup, b);
	group->unit = name_of(b, &err);
	buf_clear(b);
	cgroup_name_container(thread->cgroup, b);
	group->container = name_of(b, &err);
	buf_clear(b);
	put_labels(s->p->t, thread, b);
	buf_put_u8(b, '\0');
	group->labels = b->failed ? NULL : strdup((const char *)b->data);
	if (group->labels && *group->labels)
		group->label_set = hash_text(0, group->labels);
	return group->command && group->labels ? err : -ENOMEM;
}

static int find_groups(struct sums *s, const uint64_t *ranks)
{
	const struct store_tables *t = s->p->t;
	struct strings *labels;
	struct buf key = {0};
	int err = strings_new(&labels);

	if (err < 0)
		return err;
	for (uint32_t i = 0; err == 0 && i < t->n_threads; i++) {
		const struct store_thread *thread = &t->threads[i];
		uint32_t known = strings_count(labels);

		buf_clear(&key);
		text_put(&key, thread->comm ? thread->comm : "", "\t");
		text_printf(&key, "\t%u\t%d\t", (uint32_t)ranks[thread->process],
			    thread->cgroup != NULL);
		text_put(&key, thread->cgroup ? thread->cgroup : "", "\t");
		text_put_raw(&key, "\t");
		text_put(&key, thread->label_set ? thread->label_set : "", "\t");
		buf_put_u8(&key, '\0');
		err = key.failed ? -ENOMEM
				 : strings_intern(labels, (const char *)key.data,
						  &s->group_of_thread[i]);
		if (err == 0 && s->group_of_thread[i] == known)
			err = add_group(s, thread, ranks[thread->process]);
	}
	strings_free(labels);
	buf_free(&key);
	return err;
}

static int make_groups(struct sums *s)
{
	const struct store_tables *t = s->p->t;
	uint64_t *ranks = calloc((size_t)t->n_processes + 1, sizeof(*ranks));
	int err = -ENOMEM;

	s->group_of_thread = calloc((size_t)t->n_threads + 1, sizeof(*s->group_of_thread));
	if (ranks && s->group_of_thread)
		err = profile_ranks_read(s->p->profile, ranks);
	if (err == 0)
		err = find_groups(s, ranks);
	free(ranks);
	return err;
}

/* --- sums ------------------------------------------------------------------------------------- */

static int add_entry(struct sums *s, const struct profile_entry *e)
{
	const struct rows_profile *p = s->p;
	const uint32_t node = rare_keeper(p->t, p->nodes, e->node);
	const bool is_rare = node != e->node;
	const uint64_t tag = is_rare ? rare_tag(p, node) : p->tags[node];
	uint32_t group = s->group_of_thread[e->thread];
	uint32_t inferred = origin_inferred(profile_origin(s->p->profile, e->origin));
	uint32_t at, end;
	int err;

	s->groups.items[group].is_used = true;
	inferred = inferred < SUM_MAX_INFERRED ? inferred : SUM_MAX_INFERRED;
	end = (uint32_t)e->end_reason << 24 | (uint32_t)(e->quality & 3) << 22 |
	      (uint32_t)is_rare << 21 | inferred;
	err = int_map_enter_wide(&s->by_key, (uint64_t)group << 32 | node, end,
				 (uint32_t)s->rows.count, &at);
	if (err == 0 && at == s->rows.count) {
		err = VEC_RESERVE(&s->rows, 1);
		if (err == 0)
			s->rows.items[s->rows.count++] =
				(struct sum){.tag = tag,
					     .alt = is_rare ? p->rare_alt[node] : p->node_alt[node],
					     .node = node,
					     .group = group,
					     .inferred = inferred,
					     .reason = e->end_reason,
					     .quality = e->quality};
	}
	if (err < 0)
		return err;
	s->rows.items[at].weight += e->weight;
	s->rows.items[at].count += e->samples;
	return 0;
}

static int in_order(const void *left, const void *right)
{
	const struct sum *a = left, *b = right;

	if (a->tag != b->tag)
		return a->tag < b->tag ? -1 : 1;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->reason != b->reason)
		return a->reason < b->reason ? -1 : 1;
	return a->inferred < b->inferred ? -1 : a->inferred > b->inferred;
}

/* Gives the range of time of a recording's rows, as unix time: all of its time, or the part that
 * --from and --to choose, to which waits and passes are cut. */
static void part_of(const struct rows_profile *p, uint64_t *ret_start, uint64_t *ret_end)
{
	const struct store_recording *r = &p->t->recording;
	const uint64_t begin = profile_begin(p->profile), last = profile_end(p->profile);

	*ret_start = r->start_unix_ns + (begin > r->start_ns ? begin - r->start_ns : 0);
	*ret_end = last < r->end_ns && last >= r->start_ns
			   ? r->start_unix_ns + (last + 1 - r->start_ns)
			   : store_range_end(r);
}

/* Makes the rows of a group's labels, unless a group has had the same ones. Returns 0 or an error.
 */
static int put_label_set(struct rows *rows, const struct group *g)
{
	char *line = g->labels, *value, *end;
	int err = 0;

	if (!g->is_used || !g->label_set ||
	    int_map_find(&rows->label_sets, g->label_set) != INT_MAP_NONE)
		return 0;
	for (; err == 0 && *line; line = end) {
		struct rows_value values[ROWS_LABEL_N] = {[ROWS_LABEL_ID] =
								  rows_number(g->label_set)};

		end = strchrnul(line, '\n');
		if (*end)
			*end++ = '\0';
		value = strchr(line, '=');
		if (!value) /* a damaged store */
			continue;
		*value++ = '\0';
		values[ROWS_LABEL_KEY] = rows_word(rows_text(&rows->text[2], line));
		values[ROWS_LABEL_VALUE] = rows_word(rows_text(&rows->text[3], value));
		err = rows->text[2].failed || rows->text[3].failed
			      ? -ENOMEM
			      : rows_put(rows, ROWS_LABELS, values);
	}
	return err == 0 ? int_map_set(&rows->label_sets, g->label_set, 0) : err;
}

static int put(struct sums *s, const char *host, const char *event)
{
	const struct rows_profile *p = s->p;
	const struct store_recording *r = &p->t->recording;
	const uint64_t window = rows_window(r);
	const char *metric = metric_info(profile_filter(p->profile)->metric)->name;
	uint64_t start, end;
	int err = 0;

	part_of(p, &start, &end);
	for (size_t i = 0; err == 0 && i < s->rows.count; i++) {
		const struct sum *sum = &s->rows.items[i];
		const struct group *g = &s->groups.items[sum->group];
		uint32_t rank = (uint32_t)g->rank;

		err = rows_put(
			p->rows, ROWS_SAMPLES,
			(const struct rows_value[ROWS_SAMPLE_N]){
				[ROWS_SAMPLE_TAG] = rows_number(sum->tag),
				[ROWS_SAMPLE_ALT] = rows_number(sum->alt),
				[ROWS_SAMPLE_HOST] = rows_word(host),
				[ROWS_SAMPLE_WINDOW] = rows_number(window),
				[ROWS_SAMPLE_START] = rows_number(start),
				[ROWS_SAMPLE_END] = rows_number(end),
				[ROWS_SAMPLE_EVENT] = rows_word(event),
				[ROWS_SAMPLE_METRIC] = rows_word(metric),
				[ROWS_SAMPLE_COMMAND] = rows_word(g->command),
				[ROWS_SAMPLE_UNIT] = rows_word(g->unit),
				[ROWS_SAMPLE_CONTAINER] = rows_word(g->container),
				[ROWS_SAMPLE_RANK] = {.number = rank - 1, .is_null = !rank},
				[ROWS_SAMPLE_REASON] = rows_word(end_reason_name(sum->reason)),
				[ROWS_SAMPLE_QUALITY] =
					rows_word(profile_quality_name(sum->quality)),
				[ROWS_SAMPLE_INFERRED] = rows_number(sum->inferred),
				[ROWS_SAMPLE_WEIGHT] = rows_number(sum->weight),
				[ROWS_SAMPLE_COUNT] = rows_number(sum->count),
				[ROWS_SAMPLE_LABEL_SET] = rows_number(g->label_set),
			});
	}
	return err;
}

/* Makes rows of the samples of a profile. Returns 0 or -errno. */
static int rows_samples(struct rows_profile *p)
{
	const struct store_recording *r = &p->t->recording;
	struct sums s = {.p = p};
	size_t n;
	const struct profile_entry *entries = profile_entries(p->profile, &n);
	int err = make_groups(&s);

	for (size_t i = 0; err == 0 && i < n; i++)
		err = add_entry(&s, &entries[i]);
	for (size_t i = 0; err == 0 && i < s.groups.count; i++)
		err = put_label_set(p->rows, &s.groups.items[i]);
	if (err == 0 && s.rows.count)
		qsort(s.rows.items, s.rows.count, sizeof(*s.rows.items), in_order);
	if (err == 0) {
		const char *host = rows_text(&p->rows->text[0], r->host ? r->host : "");
		const char *event = rows_text(&p->rows->text[1], r->event ? r->event : "");

		err = host && event ? put(&s, host, event) : -ENOMEM;
	}
	for (size_t i = 0; i < s.groups.count; i++) {
		free(s.groups.items[i].command);
		free(s.groups.items[i].unit);
		free(s.groups.items[i].container);
		free(s.groups.items[i].labels);
	}
	free(s.groups.items);
	free(s.group_of_thread);
	free(s.rows.items);
	int_map_fini(&s.by_key);
	return err;
}

/* --- profiles --------------------------------------------------------------------------------- */

static int alloc(struct rows_profile *p)
{
	const struct store_tables *t = p->t;

	p->nodes = calloc((size_t)t->n_nodes + 1, sizeof(*p->nodes));
	p->has_rare = calloc((size_t)t->n_nodes + 1, sizeof(*p->has_rare));
	p->rare_alt = calloc((size_t)t->n_nodes + 1, sizeof(*p->rare_alt));
	p->node_alt = calloc((size_t)t->n_nodes + 1, sizeof(*p->node_alt));
	p->location_alt = vec_alloc((size_t)t->n_locations + 1, sizeof(*p->location_alt));
	if (!p->nodes || !p->has_rare || !p->rare_alt || !p->node_alt || !p->location_alt)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n_locations; i++)
		p->location_alt[i] = ROWS_UNASKED;
	return profile_tags(p->profile, &p->tags);
}

static int add_profile(struct rows *rows, struct profile *profile)
{
	struct rows_profile p = {.rows = rows, .profile = profile, .t = profile_tables(profile)};
	int err = alloc(&p);

	if (err == 0)
		err = rare_choose(profile, rows->sink.most_paths, p.nodes);
	for (uint32_t i = 1; err == 0 && i < p.t->n_nodes; i++)
		if (p.nodes[i])
			err = add_path(&p, i);
	if (err == 0)
		err = add_rare(&p);
	if (err == 0)
		err = rows_samples(&p);
	free(p.nodes);
	free(p.has_rare);
	free(p.rare_alt);
	free(p.node_alt);
	free(p.location_alt);
	return err;
}

static int add_metric(struct rows *rows, struct profile *of, enum metric metric)
{
	struct profile_filter filter = *profile_filter(of);
	struct profile *profile = NULL;
	int err;

	filter.metric = metric;
	err = profile_new(profile_reader(of), &filter, &profile);
	if (err == 0)
		err = add_profile(rows, profile);
	profile_free(profile);
	return err == -ENODATA ? 0 : err;
}

int rows_add(struct rows *rows, struct profile *profile)
{
	enum metric metric = profile_filter(profile)->metric;
	uint64_t series;
	int err = store_reader_series(profile_reader(profile), &series);

	if (err < 0)
		return err;
	if (metric != METRIC_CPU)
		return add_metric(rows, profile, metric_summed(metric));
	err = add_profile(rows, profile);
	for (unsigned i = METRIC_CPU + 1; i < METRIC_COUNT && err == 0; i++)
		if (metric_summed(i) == i && series >> metric_info(i)->series & 1 &&
		    !metric_info(i)->is_union)
			err = add_metric(rows, profile, i);
	return err;
}
