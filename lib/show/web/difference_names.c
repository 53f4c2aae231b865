/* SPDX-License-Identifier: MIT */
/* Matches functions of two recordings by name; see difference_names.h. */
#include "web/difference_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "base/vec.h"

#define NAMES_SIDES 2

/* A name, and by side the object of the function that has it. */
struct name {
	const char *objects[NAMES_SIDES];
	bool is_there[NAMES_SIDES];
	bool is_of_many; /* functions of several objects of one side have it */
};

struct difference_names {
	struct strings *strings;
	VEC(struct name) all; /* by the number of the string */
};

int difference_names_new(struct difference_names **ret_names)
{
	struct difference_names *names = calloc(1, sizeof(*names));

	if (!names || strings_new(&names->strings) < 0) {
		free(names);
		return -ENOMEM;
	}
	*ret_names = names;
	return 0;
}

void difference_names_free(struct difference_names *names)
{
	if (!names)
		return;
	strings_free(names->strings);
	free(names->all.items);
	free(names);
}

static int find(struct difference_names *names, const char *text, struct name **ret_name)
{
	uint32_t number;
	int err = strings_intern(names->strings, text ? text : "", &number);

	if (err == 0 && number == names->all.count) {
		err = VEC_RESERVE(&names->all, 1);
		if (err == 0)
			names->all.items[names->all.count++] = (struct name){0};
	}
	if (err == 0)
		*ret_name = &names->all.items[number];
	return err;
}

static bool is_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static int add(struct difference_names *names, unsigned side, const struct profile_symbol *symbol)
{
	struct name *name;
	int err = find(names, symbol->name, &name);

	if (err)
		return err;
	name->is_of_many |= name->is_there[side] && !is_same(name->objects[side], symbol->object);
	name->is_there[side] = true;
	name->objects[side] = symbol->object;
	return 0;
}

int difference_names_add(struct difference_names *names, unsigned side,
			 const struct profile *profile, const struct flat *functions)
{
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < functions->n; i++)
		err = add(names, side, profile_symbol_at(profile, functions->rows[i].symbol));
	return err;
}

int difference_names_object(struct difference_names *names, const struct profile_symbol *symbol,
			    const char **ret_object)
{
	struct name *name;
	int err = find(names, symbol->name, &name);

	if (err)
		return err;
	*ret_object = name->is_of_many || !(name->is_there[0] && name->is_there[1])
			      ? symbol->object
			      : name->objects[1];
	return 0;
}
