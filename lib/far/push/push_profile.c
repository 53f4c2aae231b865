/* SPDX-License-Identifier: MIT */
/* Lists the profiles of a recording; see push_profile.h. */
#include "push/push_profile.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/int_map.h"
#include "base/strings.h"
#include "export/export_otlp.h"

#define NAME_BYTES 60

/* Copies the first NAME_BYTES of a name, with '_' in place of each character that a server may
 * refuse. NULL: memory is short. */
static char *plain_name(const char *name)
{
	char *copy;

	if (asprintf(&copy, "%s%.*s", isdigit((unsigned char)*name) || !*name ? "_" : "",
		     NAME_BYTES, name) < 0)
		return NULL;
	for (char *at = copy; *at; at++)
		if (!isascii((unsigned char)*at) || !isalnum((unsigned char)*at))
			*at = '_';
	return copy;
}

/* Returns the name's group, which is what stands before the first dot. */
static char *group_of(const char *name)
{
	char *group = strndup(name, strcspn(name, ".")), *plain = group ? plain_name(group) : NULL;

	free(group);
	return plain;
}

static int fill(const struct push_profiles *p, uint32_t part, uint32_t value, bool is_alone,
		struct push_profile *ret_profile)
{
	const struct pprof_part *of = &p->parts.parts[part];
	const struct pprof_value *values = &p->parts.values[of->first_value];
	const uint32_t n = of->has_records ? 2 : 1;

	ret_profile->part = part;
	ret_profile->is_by_place = p->places != NULL;
	ret_profile->value = value;
	ret_profile->before = part ? p->parts.parts[part - 1].end : 0;
	ret_profile->count = pprof_parts_count(&p->parts, part);
	ret_profile->name = plain_name(values[is_alone ? value : n - 1].name);
	ret_profile->group = group_of(values[n - 1].name);
	for (uint32_t i = 0; i < n; i++) {
		ret_profile->names[i] = plain_name(values[i].name);
		ret_profile->units[i] = plain_name(values[i].unit);
		if (!ret_profile->names[i] || !ret_profile->units[i])
			return -ENOMEM;
	}
	return ret_profile->name && ret_profile->group ? 0 : -ENOMEM;
}

/* --- resources of OTLP ------------------------------------------------------------------------ */

struct placed {
	uint32_t place;
	size_t entry;
};

static int by_place(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return (x->entry > y->entry) - (x->entry < y->entry);
}

/* Finds the place of each entry. Returns 0 or an error of export_otlp_place(). */
static int find_places(const struct pprof_parts *parts, struct placed *ret_placed)
{
	const struct store_tables *t = profile_tables(parts->profile);
	struct strings *places = NULL;
	struct int_map known = {0}; /* by thread */
	int err = strings_new(&places);

	for (size_t i = 0; err == 0 && i < parts->n_entries; i++) {
		const uint32_t thread = parts->entries[i].thread;
		uint32_t place = int_map_find(&known, thread), unused;

		if (place == INT_MAP_NONE) {
			err = export_otlp_place(&t->threads[thread], places, &place);
			if (err == 0)
				err = int_map_enter(&known, thread, place, &unused);
		}
		ret_placed[i] = (struct placed){.place = place, .entry = i};
	}
	int_map_fini(&known);
	strings_free(places);
	return err;
}

/* Puts the entries of each part in the order of their places. It depends on the recording alone. */
static int order_by_place(struct push_profiles *p)
{
	struct pprof_parts *parts = &p->parts;
	struct placed *placed = calloc(parts->n_entries + 1, sizeof(*placed));
	size_t from = 0;
	int err;

	p->entries = calloc(parts->n_entries + 1, sizeof(*p->entries));
	p->places = calloc(parts->n_entries + 1, sizeof(*p->places));
	err = placed && p->entries && p->places ? find_places(parts, placed) : -ENOMEM;
	for (uint32_t i = 0; err == 0 && i < parts->n_parts; i++) {
		qsort(placed + from, parts->parts[i].end - from, sizeof(*placed), by_place);
		from = parts->parts[i].end;
	}
	for (size_t i = 0; err == 0 && i < parts->n_entries; i++) {
		p->entries[i] = parts->entries[placed[i].entry];
		p->places[i] = placed[i].place;
	}
	if (err == 0)
		parts->entries = p->entries;
	free(placed);
	return err;
}

size_t push_profiles_run(const struct push_profiles *p, const struct push_profile *profile,
			 size_t from, size_t most)
{
	const size_t left = profile->count - from, room = left < most ? left : most;
	const uint32_t *places = p->places ? p->places + profile->before + from : NULL;
	size_t n = 1;

	if (!places)
		return room;
	while (n < room && places[n] == places[0])
		n++;
	return n;
}

/* ---------------------------------------------------------------------------------------------- */

int push_profiles_new(struct profile *profile, enum server_kind kind,
		      struct push_profiles *ret_profiles)
{
	struct push_profiles *p = ret_profiles;
	int err;

	*p = (struct push_profiles){0};
	err = pprof_parts_new(profile, &p->parts);
	if (err == 0 && kind == SERVER_OTLP)
		err = order_by_place(p);
	if (err < 0)
		return err;
	p->items = calloc(p->parts.n_values + 1, sizeof(*p->items));
	if (!p->items)
		return -ENOMEM;
	for (uint32_t i = 0; err == 0 && i < p->parts.n_parts; i++) {
		const bool is_alone = kind == SERVER_OTLP;
		const uint32_t n = is_alone && p->parts.parts[i].has_records ? 2 : 1;

		for (uint32_t value = 0; err == 0 && value < n; value++)
			err = fill(p, i, value, is_alone, &p->items[p->n++]);
	}
	return err;
}

void push_profiles_free(struct push_profiles *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->items[i].name);
		free(p->items[i].group);
		for (unsigned j = 0; j < 2; j++) {
			free(p->items[i].names[j]);
			free(p->items[i].units[j]);
		}
	}
	free(p->items);
	free(p->entries);
	free(p->places);
	pprof_parts_free(&p->parts);
	*p = (struct push_profiles){0};
}

void push_profiles_slice(const struct push_profiles *p, const struct push_profile *profile,
			 size_t from, size_t n, struct pprof_parts *ret_slice)
{
	pprof_parts_slice(&p->parts, profile->part, from, n, ret_slice);
	for (uint32_t i = 0; i < ret_slice->n_values; i++)
		ret_slice->values[i] = (struct pprof_value){profile->names[i], profile->units[i]};
	ret_slice->period_type =
		(struct pprof_value){profile->group, profile->units[ret_slice->n_values - 1]};
}
