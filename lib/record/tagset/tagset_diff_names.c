/* SPDX-License-Identifier: MIT */
/*
 * Which functions of the two sides are the same; see tagset_diff_names.h.
 *
 * A function with a name is matched by it, so that builds of one program can be compared. A
 * function without a name is matched by its object and start, as reports show it ("prog+0x1240");
 * an address in it stands for itself only if the start is not known.
 *
 * That does not hold if there are different files of the object's name, at one path or at several
 * (v1/prog, v2/prog): then equal starts mean different functions, and one function has different
 * starts. Nothing in a tag set tells which functions correspond. So all functions of such objects
 * that have no name are compared as one, "prog [without names]", whose amounts are true. To match
 * them by address was rejected, because a comparison that says that a function has grown must not
 * compare two functions; so was a row for each function of each side, because the ones of B would
 * all be new there, as if the program had grown by them.
 */
#include "tagset/tagset_diff_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "base/text.h"
#include "tagset/tagset_state.h"

#define WITHOUT_NAMES " [without names]"

/* --- objects -------------------------------------------------------------------------------- */

/* Sets sides[i], for each object i, to a bit mask of the sides that have a path through it. Returns
 * 0 or -ENOMEM. */
static int find_sides(const struct tagset *set, uint8_t *sides)
{
	uint32_t n_nodes, n_samples, n_locations;
	const struct tagset_node *nodes = tagset_nodes(set, &n_nodes);
	const struct tagset_sample *samples = tagset_samples(set, &n_samples);
	const struct tagset_location *locations = tagset_locations(set, &n_locations);
	uint8_t *of_node = calloc((size_t)n_nodes + 1, 1);

	if (!of_node)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_samples; i++)
		of_node[samples[i].node] |= (uint8_t)(1u << samples[i].side);
	for (uint32_t i = n_nodes; i-- > 1;) {
		of_node[nodes[i].parent] |= of_node[i];
		sides[locations[nodes[i].location].object] |= of_node[i];
	}
	free(of_node);
	return 0;
}

/* Marks each object whose name another file in the set has, too. Returns 0 or -ENOMEM. */
static int find_rebuilt(const struct tagset *set, bool **ret_is_rebuilt)
{
	const size_t n = set->objects.count;
	uint8_t *sides = calloc(n + 1, 1);
	uint32_t *name = calloc(n + 1, sizeof(*name));	 /* by object: number of its name */
	uint32_t *files = calloc(n + 1, sizeof(*files)); /* by name: how many files have it */
	bool *is_rebuilt = calloc(n + 1, sizeof(*is_rebuilt));
	struct strings *names = NULL;
	int err = sides && name && files && is_rebuilt ? strings_new(&names) : -ENOMEM;

	if (err == 0)
		err = find_sides(set, sides);
	for (uint32_t i = 0; err == 0 && i < n; i++) {
		err = strings_intern(names, text_basename(tagset_object_path(set, i)), &name[i]);
		files[name[i]] += err == 0 && sides[i];
	}
	for (size_t i = 0; err == 0 && i < n; i++)
		is_rebuilt[i] = files[name[i]] > 1;
	strings_free(names);
	free(files);
	free(name);
	free(sides);
	if (err == 0)
		*ret_is_rebuilt = is_rebuilt;
	else
		free(is_rebuilt);
	return err;
}

/* --- names ---------------------------------------------------------------------------------- */

/* Returns what follows so many fields; NULL: the text has no more. */
static const char *skip(const char *names, unsigned fields)
{
	for (; fields; fields--) {
		names += strcspn(names, "\t");
		if (!*names)
			return NULL;
		names++;
	}
	return names;
}

/* Returns the start of the function that encloses a location; if it is not known, the location's
 * address, which of a call is where it returns to. */
static uint64_t start_of(const struct tagset *set, const struct tagset_location *l)
{
	const char *names = tagset_escaped(set, l->names), *start = skip(names, 4);

	if (start && *start)
		return strtoull(start, NULL, 16);
	return strtoull(tagset_escaped(set, l->offset), NULL, 16) +
	       (strncmp(names, "call\t", 5) == 0);
}

/* Appends the name of a location without a function. */
static void put_unnamed(const struct tagset_diff *diff, const struct tagset *set,
			const struct tagset_location *l, struct buf *b)
{
	const char *object = tagset_object_path(set, l->object);

	text_put_raw(b, *object ? text_basename(object) : "[unknown]");
	if (diff->is_rebuilt[l->object])
		text_put_raw(b, WITHOUT_NAMES);
	else
		text_printf(b, "+0x%" PRIx64, start_of(set, l));
}

/* Appends the suffix that distinguishes a function of a location from others of its name, if it
 * needs one. */
static void put_suffix(const struct tagset_diff *diff, const struct tagset_location *l,
		       uint32_t location, unsigned outer, struct buf *b)
{
	const struct tagset_diff_ask *ask = &diff->ask;
	const char *suffix = ask->suffix ? ask->suffix(ask->suffix_arg, location, outer,
						       diff->is_rebuilt[l->object])
					 : NULL;

	if (suffix)
		text_put(b, suffix, NULL);
}

int tagset_diff_names_each(struct tagset_diff *diff, const struct tagset *set, uint32_t location,
			   tagset_diff_each each, void *arg)
{
	const struct tagset_location *l = &set->locations.items[location];
	const char *names = skip(tagset_escaped(set, l->names), 1);
	uint32_t function;
	struct buf b = {0};
	int err = 0;

	for (unsigned outer = 0; err == 0 && names; outer++) {
		const size_t len = strcspn(names, "\t");

		buf_clear(&b);
		buf_put(&b, names, len);
		if (len)
			put_suffix(diff, l, location, outer, &b);
		else
			put_unnamed(diff, set, l, &b);
		buf_put_u8(&b, 0);
		err = b.failed ? -ENOMEM
			       : strings_intern(diff->names, (const char *)b.data, &function);
		if (err == 0)
			err = each(arg, function);
		/* the field START follows those of the enclosing function */
		names = skip(names, outer ? 3 : 4);
	}
	buf_free(&b);
	return err;
}

static int last(void *arg, uint32_t function)
{
	*(uint32_t *)arg = function;
	return 0;
}

int tagset_diff_names_make(struct tagset_diff *diff, const struct tagset *set)
{
	const uint32_t n = (uint32_t)set->locations.count;
	int err = strings_new(&diff->names);

	if (err == 0)
		err = find_rebuilt(set, &diff->is_rebuilt);
	diff->function_of = calloc((size_t)n + 1, sizeof(*diff->function_of));
	if (err < 0 || !diff->function_of)
		return -ENOMEM;
	for (uint32_t i = 0; err == 0 && i < n; i++)
		err = tagset_diff_names_each(diff, set, i, last, &diff->function_of[i]);
	return err;
}
