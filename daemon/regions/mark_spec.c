/* SPDX-License-Identifier: MIT */
/* Splits texts at '=', ".." and ':'; see mark_spec.h. */
#include "daemon/regions/mark_spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LINE 0xffffff

/* Returns the two dots between the lines of a span, "FILE:LINE..FILE:LINE": those that follow a
 * colon and digits, since names of files may have dots, too. NULL: the text is no span. */
static const char *find_dots(const char *text)
{
	const char *colon = strchr(text, ':');
	size_t digits;

	for (; colon; colon = strchr(colon + 1, ':')) {
		digits = strspn(colon + 1, "0123456789");
		if (digits && strncmp(colon + 1 + digits, "..", 2) == 0)
			return colon + 1 + digits;
	}
	return NULL;
}

bool mark_spec_is_span(const char *text)
{
	const char *equals = strchr(text, '=');

	return equals && find_dots(equals + 1);
}

/* Splits "FILE:LINE" into file and line. 0; -EINVAL: the line is no valid number; -ENOMEM. */
static int parse_line(struct mark_place *place)
{
	const char *text = place->spec.function, *colon = strrchr(text, ':');
	unsigned long line;

	if (!colon || !colon[1] || colon[1 + strspn(colon + 1, "0123456789")])
		return 0; /* the place is a function */
	line = strtoul(colon + 1, NULL, 10);
	if (colon == text || !line || line > MOST_LINE)
		return -EINVAL;
	place->line = (uint32_t)line;
	place->file = strndup(text, (size_t)(colon - text));
	return place->file ? 0 : -ENOMEM;
}

/* Adds a location whose text is `text`, which the spec owns from now on. 0; -EINVAL; -ENOMEM. */
static int add_place(struct mark_spec *spec, char *text)
{
	struct mark_place *place = &spec->places[spec->n_places];
	int err;

	if (!text)
		return -ENOMEM;
	spec->parts[spec->n_places++] = text;
	err = region_spec_parse(text, &place->spec);
	return err ? err : parse_line(place);
}

static int parse_span(const char *text, struct mark_spec *spec)
{
	const char *equals = strchr(text, '='), *dots = find_dots(equals + 1);
	int err;

	if (equals == text)
		return -EINVAL;
	spec->name = strndup(text, (size_t)(equals - text));
	err = add_place(spec, strndup(equals + 1, (size_t)(dots - equals - 1)));
	if (!err)
		err = add_place(spec, strdup(dots + 2));
	if (!err && (!spec->places[0].file || !spec->places[1].file))
		err = -EINVAL;
	return err;
}

int mark_spec_parse(const char *text, struct mark_spec *ret_spec)
{
	int err;

	*ret_spec = (struct mark_spec){.text = text};
	if (mark_spec_is_span(text)) {
		err = parse_span(text, ret_spec);
	} else {
		ret_spec->name = strdup(text);
		err = add_place(ret_spec, strdup(text));
	}
	return err ? err : ret_spec->name ? 0 : -ENOMEM;
}

void mark_spec_free(struct mark_spec *spec)
{
	for (size_t i = 0; i < spec->n_places; i++) {
		region_spec_free(&spec->places[i].spec);
		free(spec->places[i].file);
		free(spec->parts[i]);
	}
	free(spec->name);
	*spec = (struct mark_spec){0};
}
