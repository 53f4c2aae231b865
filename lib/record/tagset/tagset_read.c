/* SPDX-License-Identifier: MIT */
/*
 * Reading a tag export into a set; see tagset.h.
 *
 * One pass, a line at a time. The file's names for things (numbers, ids with ".1") are translated
 * to the set's own numbers by tables that live as long as the file is read. Nothing is trusted: a
 * reference must have been defined before, a location's id must follow from its object and offset,
 * a tag from its parent and location.
 *
 * Conflicts between two files are resolved independently of their order: of an object's paths the
 * smallest is kept, of a location's names the more detailed ones, then the greater text.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tagset/tagset_line.h"
#include "stack/location.h"

#define TAGSET_MAX_LINE (1024 * 1024)
#define TAGSET_HEAD	"stackd-tags "

/* --- records ------------------------------------------------------------------------------- */

static int tagset_recording(struct tagset_reader *rd)
{
	struct tagset *set = rd->set;
	uint32_t fields, at;
	uint64_t start;
	int err;

	if (!tagset_line_number(rd->fields[2], 10, &start))
		return tagset_line_bad(rd, "'%.40s' is not a time", rd->fields[2]);
	err = tagset_line_join(rd, 1, &fields);
	if (err < 0)
		return err;
	at = tagset_chain(&set->by_recording, fields);
	if (at == TAGSET_NONE) {
		at = (uint32_t)set->recordings.count;
		err = VEC_RESERVE(&set->recordings, 1);
		if (err == 0)
			err = tagset_chain_add(&set->by_recording, fields, at);
		if (err < 0)
			return err;
		set->recordings.items[set->recordings.count++] =
			(struct tagset_recording){start, fields, 0};
	} else {
		at = set->by_recording.links.items[at].number;
	}
	set->recordings.items[at].inputs++;
	if (VEC_RESERVE(&rd->recordings, 1) < 0)
		return -ENOMEM;
	rd->recordings.items[rd->recordings.count++] = at;
	return 0;
}

static void join_path(struct tagset *set, uint32_t *path, uint32_t other)
{
	if (tagset_is_better_path(strings_at(set->strings, other), strings_at(set->strings, *path)))
		*path = other;
}

/* Interns the text that identifies an object. The layout follows the path in the line, and is part
 * of the identity if it is known. */
static int object_identity(struct tagset_reader *rd, uint32_t *ret_identity)
{
	const char *layout = rd->n_fields > 6 ? rd->fields[6] : "";
	char *text = NULL;
	int err;

	rd->n_fields = 5;
	if (!*layout)
		return tagset_line_join(rd, 2, ret_identity);
	if (asprintf(&text, "%s\t%s\t%s\t%s", rd->fields[2], rd->fields[3], rd->fields[4], layout) <
	    0)
		return -ENOMEM;
	err = strings_intern(rd->set->strings, text, ret_identity);
	free(text);
	return err;
}

static int tagset_object(struct tagset_reader *rd)
{
	struct tagset *set = rd->set;
	uint64_t number, file_id, layout;
	uint32_t identity, path, at;
	int err;

	if (!tagset_line_number(rd->fields[1], 10, &number) ||
	    !tagset_line_number(rd->fields[3], 16, &file_id))
		return tagset_line_bad(rd, "no number or no file id");
	if (rd->n_fields > 6 && *rd->fields[6] && !tagset_line_number(rd->fields[6], 16, &layout))
		return tagset_line_bad(rd, "'%.40s' is not a layout", rd->fields[6]);
	err = strings_intern(set->strings, rd->fields[5], &path);
	if (err == 0)
		err = object_identity(rd, &identity);
	if (err < 0)
		return err;
	at = tagset_chain(&set->by_object, identity);
	if (at != TAGSET_NONE) {
		at = set->by_object.links.items[at].number;
		join_path(set, &set->objects.items[at].path, path);
		return tagset_line_name(rd, &rd->objects, number, 0, at);
	}
	at = (uint32_t)set->objects.count;
	err = VEC_RESERVE(&set->objects, 1);
	if (err == 0)
		err = tagset_chain_add(&set->by_object, identity, at);
	if (err < 0)
		return err;
	set->objects.items[set->objects.count++] = (struct tagset_object){identity, path, file_id};
	return tagset_line_name(rd, &rd->objects, number, 0, at);
}

/* Finds the location of an object and an offset, and adds it if it is new. */
static int enter_location(struct tagset *set, const struct tagset_location *location,
			  uint32_t *ret_number)
{
	struct tagset_chains *chains = &set->by_location;
	uint64_t key = tagset_hash(location->object, location->offset, 0);
	int err;

	for (uint32_t at = tagset_chain(chains, key); at != TAGSET_NONE;
	     at = chains->links.items[at].next) {
		const struct tagset_location *l =
			&set->locations.items[chains->links.items[at].number];

		if (l->object == location->object && l->offset == location->offset) {
			*ret_number = chains->links.items[at].number;
			return 0;
		}
	}
	err = VEC_RESERVE(&set->locations, 1);
	if (err == 0)
		err = tagset_chain_add(chains, key, (uint32_t)set->locations.count);
	if (err < 0)
		return err;
	*ret_number = (uint32_t)set->locations.count;
	set->locations.items[set->locations.count++] = *location;
	return 0;
}

static int tagset_location(struct tagset_reader *rd)
{
	struct tagset *set = rd->set;
	struct tagset_location l = {.names = TAGSET_NONE};
	uint64_t offset, start;
	uint32_t dup, number = 0;
	int err;

	if (!tagset_line_id(rd->fields[1], &l.id, &dup))
		return tagset_line_bad(rd, "'%.40s' is not an id", rd->fields[1]);
	err = tagset_line_refer(rd, &rd->objects, rd->fields[2], false, &l.object);
	if (err < 0)
		return err;
	if (!tagset_line_number(rd->fields[3], 16, &offset))
		return tagset_line_bad(rd, "'%.40s' is not an offset", rd->fields[3]);
	if (rd->n_fields > 8 && *rd->fields[8] && !tagset_line_number(rd->fields[8], 16, &start))
		return tagset_line_bad(rd, "'%.40s' is not a start", rd->fields[8]);
	if (location_id(set->objects.items[l.object].file_id, offset) != l.id)
		return tagset_line_bad(
			rd, "the location's id does not follow from its object and offset");
	err = strings_intern(set->strings, rd->fields[3], &l.offset);
	if (err == 0)
		err = enter_location(set, &l, &number);
	if (err == 0)
		err = tagset_line_name(rd, &rd->locations, l.id, dup, number);
	if (err < 0)
		return err;
	rd->location = number;
	rd->location_name = l.id + dup;
	for (unsigned i = 4; i < 9; i++) {
		/* older exports lack START */
		const char *name = i < rd->n_fields ? rd->fields[i] : "";

		buf_put(&rd->names, name, strlen(name));
		buf_put(&rd->names, "\t", 1);
	}
	return 0;
}

static int inlined(struct tagset_reader *rd)
{
	uint64_t id;
	uint32_t dup;

	if (!tagset_line_id(rd->fields[1], &id, &dup) || rd->location == TAGSET_NONE ||
	    id + dup != rd->location_name)
		return tagset_line_bad(rd, "an inlined function without its location");
	for (unsigned i = 2; i < 5; i++) {
		buf_put(&rd->names, rd->fields[i], strlen(rd->fields[i]));
		buf_put(&rd->names, "\t", 1);
	}
	return 0;
}

/* Ends the list of names of the last location, because the current line does not continue it. */
static int end_location(struct tagset_reader *rd)
{
	struct tagset *set = rd->set;
	struct tagset_location *l;
	uint32_t names;
	int err;

	if (rd->location == TAGSET_NONE)
		return 0;
	l = &set->locations.items[rd->location];
	rd->location = TAGSET_NONE;
	rd->names.len--; /* remove the last tab */
	buf_put_u8(&rd->names, 0);
	if (rd->names.failed)
		return -ENOMEM;
	err = strings_intern(set->strings, (const char *)rd->names.data, &names);
	buf_clear(&rd->names);
	if (err < 0)
		return err;
	if (l->names == TAGSET_NONE ||
	    tagset_says_more(strings_at(set->strings, names), strings_at(set->strings, l->names)))
		l->names = names;
	return 0;
}

static int enter_node(struct tagset *set, const struct tagset_node *node, uint32_t *ret_number)
{
	struct tagset_chains *chains = &set->by_node;
	uint64_t key = tagset_hash(node->parent, node->location, 0);
	int err;

	for (uint32_t at = tagset_chain(chains, key); at != TAGSET_NONE;
	     at = chains->links.items[at].next) {
		const struct tagset_node *n = &set->nodes.items[chains->links.items[at].number];

		if (n->parent == node->parent && n->location == node->location) {
			*ret_number = chains->links.items[at].number;
			return 0;
		}
	}
	err = VEC_RESERVE(&set->nodes, 1);
	if (err == 0)
		err = tagset_chain_add(chains, key, (uint32_t)set->nodes.count);
	if (err < 0)
		return err;
	*ret_number = (uint32_t)set->nodes.count;
	set->nodes.items[set->nodes.count++] = *node;
	return 0;
}

static int refer_node(struct tagset_reader *rd, const char *field, uint32_t *ret_node)
{
	if (strcmp(field, "0000000000000000") == 0) {
		*ret_node = 0;
		return 0;
	}
	return tagset_line_refer(rd, &rd->nodes, field, true, ret_node);
}

static int tagset_tag(struct tagset_reader *rd)
{
	struct tagset *set = rd->set;
	struct tagset_node node;
	uint32_t dup, number;
	int err;

	if (!tagset_line_id(rd->fields[1], &node.tag, &dup))
		return tagset_line_bad(rd, "'%.40s' is not a tag", rd->fields[1]);
	err = refer_node(rd, rd->fields[2], &node.parent);
	if (err == 0)
		err = tagset_line_refer(rd, &rd->locations, rd->fields[3], true, &node.location);
	if (err < 0)
		return err;
	if (hash_chain(set->nodes.items[node.parent].tag, set->locations.items[node.location].id) !=
	    node.tag)
		return tagset_line_bad(rd, "the tag does not follow from its parent and location");
	node.depth = set->nodes.items[node.parent].depth + 1;
	err = enter_node(set, &node, &number);
	return err < 0 ? err : tagset_line_name(rd, &rd->nodes, node.tag, dup, number);
}

static int tagset_process(struct tagset_reader *rd)
{
	struct tagset *set = rd->set;
	struct tagset_process p = {0};
	uint64_t number, recording = 0, key;
	int err;

	if (!tagset_line_number(rd->fields[1], 10, &number))
		return tagset_line_bad(rd, "'%.40s' is not a number", rd->fields[1]);
	if (rd->n_fields > 6 && !tagset_line_number(rd->fields[6], 10, &recording))
		return tagset_line_bad(rd, "'%.40s' is not a number", rd->fields[6]);
	if (recording >= rd->recordings.count)
		return tagset_line_bad(rd, "a process of a recording that was not named before");
	p.recording = rd->recordings.items[recording];
	rd->n_fields = 6;
	err = tagset_line_join(rd, 2, &p.fields);
	if (err < 0)
		return err;
	key = (uint64_t)p.recording << 32 | p.fields; /* an exact key, so it needs no comparison */
	if (tagset_chain(&set->by_process, key) == TAGSET_NONE) {
		err = VEC_RESERVE(&set->processes, 1);
		if (err == 0)
			err = tagset_chain_add(&set->by_process, key,
					       (uint32_t)set->processes.count);
		if (err < 0)
			return err;
		set->processes.items[set->processes.count++] = p;
	}
	return tagset_line_name(
		rd, &rd->processes, number, 0,
		set->by_process.links.items[tagset_chain(&set->by_process, key)].number);
}

/* Reads the MPI rank of a process that an earlier line defined, and the size of its job (0:
 * unknown). */
static int tagset_rank(struct tagset_reader *rd)
{
	struct tagset_process *p;
	uint64_t rank, size, value;
	uint32_t process;
	int err = tagset_line_refer(rd, &rd->processes, rd->fields[1], false, &process);

	if (err < 0)
		return err;
	if (!tagset_line_number(rd->fields[2], 10, &rank) ||
	    !tagset_line_number(rd->fields[3], 10, &size) || rank >= INT32_MAX || size > INT32_MAX)
		return tagset_line_bad(rd, "no rank or no number of ranks");
	p = &rd->set->processes.items[process];
	value = size << 32 | (rank + 1);
	/* If two files differ, the larger value is kept, so that their order does not matter. */
	p->rank = value > p->rank ? value : p->rank;
	return 0;
}

/* Totals follow from samples and values, so they are skipped. */
static int tagset_total(struct tagset_reader *rd)
{
	(void)rd;
	return 0;
}

static int enter_sample(struct tagset_reader *rd, const struct tagset_sample *sample)
{
	struct tagset *set = rd->set;
	struct tagset_chains *chains = &set->by_sample;
	uint64_t key = tagset_hash((uint64_t)sample->node << 32 | sample->process,
				   (uint64_t)sample->comm << 32 | sample->remainder,
				   (uint64_t)sample->metric << 32 | sample->side);
	int err;

	for (uint32_t at = tagset_chain(chains, key); at != TAGSET_NONE;
	     at = chains->links.items[at].next) {
		struct tagset_sample *s = &set->samples.items[chains->links.items[at].number];

		if (s->node == sample->node && s->process == sample->process &&
		    s->comm == sample->comm && s->remainder == sample->remainder &&
		    s->metric == sample->metric && s->side == sample->side) {
			/* cannot overflow: add_amount() has checked the totals */
			s->count += sample->count;
			s->weight += sample->weight;
			return 0;
		}
	}
	err = VEC_RESERVE(&set->samples, 1);
	if (err == 0)
		err = tagset_chain_add(chains, key, (uint32_t)set->samples.count);
	if (err == 0)
		set->samples.items[set->samples.count++] = *sample;
	return err;
}

/* Adds a sample, or a value of a metric; the fields `at` and at + 1 are its count and weight. */
static int add_amount(struct tagset_reader *rd, const char *metric, unsigned at)
{
	struct tagset_totals *totals = &rd->set->totals[rd->side];
	struct tagset_sample s = {.side = rd->side};
	int err = refer_node(rd, rd->fields[1], &s.node);

	if (err == 0)
		err = tagset_line_refer(rd, &rd->processes, rd->fields[2], false, &s.process);
	if (err < 0)
		return err;
	if (!tagset_line_number(rd->fields[at], 10, &s.count) ||
	    !tagset_line_number(rd->fields[at + 1], 10, &s.weight))
		return tagset_line_bad(rd, "no count or no weight");
	if (__builtin_add_overflow(totals->samples, s.count, &totals->samples) ||
	    __builtin_add_overflow(totals->weight, s.weight, &totals->weight)) {
		tagset_line_bad(rd, "the counts add up to more than 64 bits can hold");
		return -EOVERFLOW;
	}
	err = strings_intern(rd->set->strings, rd->fields[3], &s.comm);
	if (err == 0)
		err = strings_intern(rd->set->strings, metric, &s.metric);
	if (err == 0)
		err = tagset_line_join(rd, at + 2, &s.remainder);
	return err < 0 ? err : enter_sample(rd, &s);
}

static int tagset_sample(struct tagset_reader *rd)
{
	return add_amount(rd, TAGSET_CPU, 4);
}

static int tagset_value(struct tagset_reader *rd)
{
	if (!rd->fields[4][0] || strcmp(rd->fields[4], TAGSET_CPU) == 0)
		return tagset_line_bad(rd, "'%.40s' is not a metric with values", rd->fields[4]);
	return add_amount(rd, rd->fields[4], 5);
}

static const struct tagset_kind {
	const char *name;
	int (*read)(struct tagset_reader *rd);
	unsigned fields; /* least number of fields, with the record's name */
} tagset_kinds[] = {
	{"sample", tagset_sample, 8},	    {"tag", tagset_tag, 4},
	{"location", tagset_location, 8},   {"inlined", inlined, 5},
	{"process", tagset_process, 6},	    {"object", tagset_object, 6},
	{"recording", tagset_recording, 6}, {"value", tagset_value, 9},
	{"rank", tagset_rank, 4},	    {"total", tagset_total, 9},
};

/* --- lines --------------------------------------------------------------------------------- */

static int record(struct tagset_reader *rd, char *line)
{
	int err = 0;

	if (strcmp(line, "end") == 0) {
		rd->has_end = true;
		return end_location(rd);
	}
	tagset_line_split(rd, line);
	if (strcmp(rd->fields[0], "inlined") != 0)
		err = end_location(rd);
	for (size_t i = 0; err == 0 && i < sizeof(tagset_kinds) / sizeof(*tagset_kinds); i++) {
		const struct tagset_kind *kind = &tagset_kinds[i];

		if (strcmp(rd->fields[0], kind->name) != 0)
			continue;
		if (rd->n_fields < kind->fields)
			return tagset_line_bad(rd, "a '%s' with too few fields", kind->name);
		return kind->read(rd);
	}
	rd->set->skipped += err == 0;
	return err;
}

static int head(struct tagset_reader *rd, const char *line)
{
	uint64_t version;

	if (strncmp(line, TAGSET_HEAD, strlen(TAGSET_HEAD)) != 0 ||
	    !tagset_line_number(line + strlen(TAGSET_HEAD), 10, &version)) {
		tagset_line_bad(rd, "neither a store nor an export: make one with 'stackctl export "
				    "--tags'");
		return -EINVAL;
	}
	if (version != TAGSET_VERSION) {
		tagset_line_bad(rd,
				"version %" PRIu64
				" of the format, and this stackctl reads version %d: "
				"export again with this stackctl, or use the one that wrote it",
				version, TAGSET_VERSION);
		return -ENOTSUP;
	}
	return 0;
}

/* Reads one line and removes its newline. Returns 1, 0 at the end of the file, or an error. */
static int tagset_line(struct tagset_reader *rd, FILE *in, char *line)
{
	size_t len;

	rd->line++;
	if (!fgets(line, TAGSET_MAX_LINE, in))
		return ferror(in) ? -EIO : 0;
	len = strlen(line);
	if (!len || line[len - 1] != '\n')
		return tagset_line_bad(rd, feof(in) ? "the file is cut short"
						    : "a line too long, or with a byte of zero");
	line[len - 1] = '\0';
	return 1;
}

static int tagset_lines(struct tagset_reader *rd, FILE *in, char *line)
{
	int err = tagset_line(rd, in, line);

	if (err == 0)
		*line = '\0';
	if (err >= 0)
		err = head(rd, line);
	else if (err == -EBADMSG) {
		free(rd->error);
		err = head(rd, "");
	}
	while (err == 0 && !rd->has_end) {
		err = tagset_line(rd, in, line);
		if (err == 0)
			return tagset_line_bad(rd, "the file is cut short: it has no 'end'");
		if (err > 0)
			err = record(rd, line);
	}
	return err;
}

int tagset_read(struct tagset *set, FILE *in, uint32_t side, char **ret_error)
{
	struct tagset_reader rd = {.set = set, .side = side, .location = TAGSET_NONE};
	char *line = malloc(TAGSET_MAX_LINE);
	int err = line ? tagset_lines(&rd, in, line) : -ENOMEM;

	set->inputs++;
	free(line);
	tagset_line_release(&rd.objects);
	tagset_line_release(&rd.locations);
	tagset_line_release(&rd.nodes);
	tagset_line_release(&rd.processes);
	free(rd.recordings.items);
	buf_free(&rd.names);
	if (err < 0)
		*ret_error = rd.error;
	else
		free(rd.error);
	return err;
}
