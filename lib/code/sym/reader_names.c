/* SPDX-License-Identifier: MIT */
/*
 * Finds names for a reader; see reader_names.h.
 *
 *   locations without lines ─► by object ─► names, quick objects first ─► kept ─┐
 *                                      └─► the others: starts ──────────────────┴─► the reader
 *
 * A location is queried once: a name that cannot be found now will not be found at the next call
 * either, and stackd itself records the names of JIT code. Only starts, which replace names for
 * which there was no time, are not kept.
 *
 * The quickest objects come first: those whose tables are in memory, then by the size of the tables
 * that have to be read. So if the budget is too small for the largest program, only that one has no
 * names.
 */
#include "sym/reader_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "base/vec.h"
#include "sym/reader_objects.h"
#include "sym/naming.h"

#define HELD_BYTES  (64u << 20) /* bytes of symbols that are kept between two calls, about */
#define STARTS_PART 4		/* the last quarter of the budget is for starts */

/* A string that is valid as long as the names. */
struct text {
	UT_hash_handle hh;
	char s[];
};

/* Locations of one object that have no names. */
struct group {
	const struct object *object; /* NULL: it is not on this machine */
	size_t first, count, done;   /* in missing */
	size_t bytes;		     /* bytes that have to be read for them */
};

struct reader_names {
	struct reader_names_options options;
	struct naming *naming;		/* NULL until a name is missing */
	struct reader_objects *objects; /* the same */
	int64_t recording;		/* its recording */
	uint64_t start_unix_ns, start_ns;
	VEC(uint8_t) asked;	       /* by location: it was queried */
	VEC(struct store_line) found;  /* kept; sorted by location and depth when they are given */
	VEC(struct store_line) starts; /* of this call */
	VEC(struct store_line) given;  /* what the reader gets */
	VEC(struct store_location) missing;
	VEC(struct group) groups;
	struct text *texts;
	uint32_t left;
};

int reader_names_new(const struct reader_names_options *options, struct reader_names **ret_names)
{
	struct reader_names *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->options = *options;
	*ret_names = l;
	return 0;
}

/* Drops what belongs to the recording, but not the strings that readers have. */
static void forget(struct reader_names *l)
{
	naming_free(l->naming);
	reader_objects_free(l->objects);
	l->naming = NULL;
	l->objects = NULL;
	l->asked.count = 0;
	l->found.count = 0;
}

void reader_names_free(struct reader_names *l)
{
	struct text *text, *next;

	if (!l)
		return;
	forget(l);
	HASH_ITER (hh, l->texts, text, next) {
		HASH_DEL(l->texts, text);
		free(text);
	}
	free(l->asked.items);
	free(l->found.items);
	free(l->starts.items);
	free(l->given.items);
	free(l->missing.items);
	free(l->groups.items);
	free(l);
}

uint32_t reader_names_left(const struct reader_names *l)
{
	return l->left;
}

static uint64_t now(const struct reader_names *l)
{
	return l->options.now_ns(l->options.now_arg);
}

/* --- lines ----------------------------------------------------------------------------------- */

/* Gives a copy of a string, the same for equal strings, and NULL for NULL. */
static int keep_text(struct reader_names *l, const char *s, const char **ret_text)
{
	size_t len = s ? strlen(s) : 0;
	struct text *text;

	*ret_text = NULL;
	if (!s)
		return 0;
	HASH_FIND(hh, l->texts, s, len, text);
	if (!text) {
		text = calloc(1, sizeof(*text) + len + 1);
		if (!text)
			return -ENOMEM;
		memcpy(text->s, s, len);
		HASH_ADD_KEYPTR(hh, l->texts, text->s, len, text);
		if (!text->hh.tbl) {
			free(text);
			return -ENOMEM;
		}
	}
	*ret_text = text->s;
	return 0;
}

static int keep_line(void *arg, const struct store_line *line)
{
	struct reader_names *l = arg;
	struct store_line kept = *line;
	int err = VEC_RESERVE(&l->found, 1);

	if (!err)
		err = keep_text(l, line->function, &kept.function);
	if (!err)
		err = keep_text(l, line->file, &kept.file);
	if (!err)
		l->found.items[l->found.count++] = kept;
	return err;
}

static int keep_start(void *arg, const struct store_line *line)
{
	struct reader_names *l = arg;
	int err = VEC_RESERVE(&l->starts, 1);

	if (!err)
		l->starts.items[l->starts.count++] = *line;
	return err;
}

/* --- locations without names ----------------------------------------------------------------- */

static bool has_lines(const struct store_tables *t, uint32_t location)
{
	return t->line_first[location] < t->line_first[location + 1];
}

static int compare_places(const void *a, const void *b)
{
	const struct store_location *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Lists the locations that have no lines and have not been queried, by object and offset. */
static int find_missing(struct reader_names *l, const struct store_tables *t)
{
	l->missing.count = 0;
	if (l->asked.count < t->n_locations &&
	    VEC_RESERVE(&l->asked, t->n_locations - l->asked.count))
		return -ENOMEM;
	while (l->asked.count < t->n_locations)
		l->asked.items[l->asked.count++] = 0;
	for (uint32_t i = 0; i < t->n_locations; i++) {
		if (l->asked.items[i] || has_lines(t, i))
			continue;
		if (VEC_RESERVE(&l->missing, 1))
			return -ENOMEM;
		l->missing.items[l->missing.count++] = t->locations[i];
	}
	if (l->missing.count)
		qsort(l->missing.items, l->missing.count, sizeof(*l->missing.items),
		      compare_places);
	return 0;
}

static void mark_asked(struct reader_names *l, const struct group *g)
{
	for (size_t i = 0; i < g->count; i++)
		l->asked.items[l->missing.items[g->first + i].number] = 1;
}

/* Finds the object of a group, and the bytes that naming it will read. Returns 0 or -ENOMEM. */
static int open_group(struct reader_names *l, const struct store_tables *t, struct group *g)
{
	int err = reader_objects_find(l->objects, t, l->missing.items[g->first].object, &g->object);

	if (err == -ENOENT) {
		mark_asked(l, g);
		g->object = NULL;
		return 0;
	}
	naming_set_kallsyms(l->naming, reader_objects_kallsyms(l->objects));
	return err ? err : naming_unread(l->naming, g->object, &g->bytes);
}

static int compare_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* Makes the groups of those objects that are here, the quickest first, until the time is over. */
static int make_groups(struct reader_names *l, const struct store_tables *t, uint64_t until)
{
	const struct store_location *missing = l->missing.items;
	int err = 0;

	l->groups.count = 0;
	for (size_t i = 0, end; i < l->missing.count && now(l) < until && !err; i = end) {
		struct group g = {.first = i};

		for (end = i + 1; end < l->missing.count; end++)
			if (missing[end].object != missing[i].object)
				break;
		g.count = end - i;
		err = VEC_RESERVE(&l->groups, 1);
		if (!err)
			err = open_group(l, t, &g);
		l->left -= (uint32_t)g.count;
		if (!err && g.object)
			l->groups.items[l->groups.count++] = g;
	}
	if (l->groups.count > 1)
		qsort(l->groups.items, l->groups.count, sizeof(*l->groups.items), compare_groups);
	return err;
}

/* --- queries --------------------------------------------------------------------------------- */

static int find_names(struct reader_names *l, struct group *g, uint64_t until)
{
	int err = 0;

	for (; g->done < g->count && !err && now(l) < until; g->done++) {
		const struct store_location *location = &l->missing.items[g->first + g->done];

		err = naming_resolve(l->naming, g->object, location, keep_line, l);
		l->asked.items[location->number] = 1;
	}
	return err;
}

static int find_starts(struct reader_names *l, const struct group *g, uint64_t until)
{
	int err = 0;

	l->left += (uint32_t)(g->count - g->done);
	if (g->object->kind != OBJECT_ELF)
		return 0;
	for (size_t i = g->done; i < g->count && !err && now(l) < until; i++)
		err = naming_resolve_start(l->naming, g->object, &l->missing.items[g->first + i],
					   keep_start, l);
	return err;
}

static int ask(struct reader_names *l, const struct store_tables *t, uint64_t budget_ns)
{
	uint64_t start = now(l), names_until = start + budget_ns - budget_ns / STARTS_PART;
	int err = make_groups(l, t, names_until);

	for (size_t i = 0; i < l->groups.count && !err; i++)
		err = find_names(l, &l->groups.items[i], names_until);
	for (size_t i = 0; i < l->groups.count && !err; i++)
		err = find_starts(l, &l->groups.items[i], start + budget_ns);
	return err;
}

/* --- giving ---------------------------------------------------------------------------------- */

static int compare_lines(const void *a, const void *b)
{
	const struct store_line *x = a, *y = b;

	if (x->location != y->location)
		return x->location < y->location ? -1 : 1;
	return x->depth < y->depth ? -1 : x->depth > y->depth;
}

static int give(struct reader_names *l, struct store_reader *reader)
{
	const struct store_tables *t = store_reader_tables(reader);

	l->given.count = 0;
	if (VEC_RESERVE(&l->given, l->found.count + l->starts.count))
		return -ENOMEM;
	/* By now the store can have names that were found here before. */
	for (size_t i = 0; i < l->found.count; i++)
		if (!has_lines(t, l->found.items[i].location))
			l->given.items[l->given.count++] = l->found.items[i];
	for (size_t i = 0; i < l->starts.count; i++)
		l->given.items[l->given.count++] = l->starts.items[i];
	if (!l->given.count)
		return 0;
	qsort(l->given.items, l->given.count, sizeof(*l->given.items), compare_lines);
	return store_reader_add_lines(reader, l->given.items, l->given.count);
}

/* --- a call ---------------------------------------------------------------------------------- */

/* Returns whether this is the recording of the last call, which can only have grown. */
static bool is_same(const struct reader_names *l, const struct store_tables *t)
{
	const struct store_recording *rec = &t->recording;

	return l->recording == rec->id && l->start_unix_ns == rec->start_unix_ns &&
	       l->start_ns == rec->start_ns && l->asked.count <= t->n_locations;
}

static int begin(struct reader_names *l, const struct store_tables *t)
{
	const struct store_recording *rec = &t->recording;
	int err = 0;

	if (!is_same(l, t))
		forget(l);
	l->recording = rec->id;
	l->start_unix_ns = rec->start_unix_ns;
	l->start_ns = rec->start_ns;
	l->starts.count = 0;
	if (!l->objects)
		err = reader_objects_new(l->options.proc_root, l->options.sys_root, &l->objects);
	if (!err && !l->naming) {
		err = l->options.is_thorough ? naming_new(l->options.proc_root, &l->naming)
					     : naming_new_quick(l->options.proc_root, &l->naming);
		if (!err)
			naming_limit(l->naming, HELD_BYTES);
	}
	return err;
}

bool reader_names_are_all(const struct store_tables *t)
{
	for (uint32_t i = 0; i < t->n_counters; i++)
		if (!strcmp(t->counters[i].name, STORE_COUNTER_UNNAMED) && t->counters[i].value)
			return false;
	return t->recording.finished;
}

int reader_names_find(struct reader_names *l, struct store_reader *reader, uint64_t budget_ns)
{
	const struct store_tables *t = store_reader_tables(reader);
	int err;

	l->left = 0;
	if (reader_names_are_all(t))
		return 0;
	err = begin(l, t);
	if (!err)
		err = find_missing(l, t);
	l->left = (uint32_t)l->missing.count;
	if (!err && l->missing.count)
		err = ask(l, t, budget_ns);
	return err ? err : give(l, reader);
}
