/* SPDX-License-Identifier: MIT */
/* Ranks the functions that were found; see region_choice.h. */
#include "daemon/regions/region_choice.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "daemon/regions/region_name.h"

/* Returns the rank of a function; a lower one is better. */
static unsigned rank_of_function(const struct found_region *region, enum region_file file)
{
	return (unsigned)file << 2 | (unsigned)region->is_like << 1 | region->is_weak;
}

static bool has_source(const struct found_region *f)
{
	return f->source && *f->source;
}

static bool is_clone(const struct found_region *f)
{
	return f->linked[region_name_base(f->linked)] != '\0';
}

/* Returns whether two functions of the same name can be one function in the source. Static
 * functions of two source files cannot; but a static one can be a clone of an exported one. */
static bool can_share_source(const struct found_region *a, const struct found_region *b)
{
	if (has_source(a) && has_source(b))
		return !strcmp(a->source, b->source);
	if (has_source(a) != has_source(b))
		return is_clone(has_source(a) ? a : b);
	return true;
}

bool region_choice_is_same(const struct found_region *a, const struct found_region *b)
{
	char *name, *other;
	bool is_same;

	if (a->file != b->file || !can_share_source(a, b))
		return false;
	name = region_name_source(a->linked);
	other = region_name_source(b->linked);
	is_same = name && other && !strcmp(name, other);
	free(name);
	free(other);
	return is_same;
}

static unsigned rank_of(const struct found_region *f, const struct region_spec *spec,
			const enum region_file *files)
{
	return spec->is_glob ? !region_name_is_literal(spec->function, f->name)
			     : rank_of_function(f, files[f->file]);
}

size_t region_choice_make(struct found_regions *found, const struct region_spec *spec,
			  size_t number, const enum region_file *files)
{
	unsigned best = UINT_MAX;
	size_t n = 0, first = 0;

	if (!spec->function)
		return 0;
	for (size_t i = 0; i < found->found.count; i++) {
		const struct found_region *f = &found->found.items[i];

		if (f->spec == number && rank_of(f, spec, files) < best)
			best = rank_of(f, spec, files);
	}
	for (size_t i = 0; i < found->found.count; i++) {
		struct found_region *f = &found->found.items[i];

		if (f->spec != number)
			continue;
		f->is_left_out = rank_of(f, spec, files) != best;
		if (f->is_left_out)
			continue;
		if (!n)
			first = i;
		n += !n || !region_choice_is_same(&found->found.items[first], f);
	}
	return n;
}

/* Where there are other functions of the same name, by which is decided what distinguishes a
 * function from them. */
struct others {
	bool of_this_file, of_other_files, of_this_source, of_like_files;
};

static struct others look_at_others(const struct found_regions *found, size_t index,
				    const char *const *paths)
{
	const struct found_region *f = &found->found.items[index];
	struct others o = {0};

	for (size_t i = 0; i < found->found.count; i++) {
		const struct found_region *other = &found->found.items[i];

		if (i == index || other->spec != f->spec || other->is_left_out ||
		    strcmp(other->name, f->name) != 0)
			continue;
		if (other->file == f->file) {
			o.of_this_file = true;
			o.of_this_source |= !has_source(f) || (has_source(other) &&
							       !strcmp(f->source, other->source));
		} else {
			o.of_other_files = true;
			o.of_like_files |= !strcmp(text_basename(paths[f->file]),
						   text_basename(paths[other->file]));
		}
	}
	return o;
}

char *region_choice_words(const struct found_regions *found, size_t index, const char *const *paths)
{
	const struct found_region *f = &found->found.items[index];
	const struct others o = look_at_others(found, index, paths);
	const char *name = o.of_this_file && o.of_this_source ? f->linked : f->name;
	const char *path = o.of_like_files ? paths[f->file] : text_basename(paths[f->file]);
	char *words;
	int len;

	if (o.of_this_file && !o.of_this_source)
		len = asprintf(&words, "%s@%s", name, f->source);
	else if (o.of_other_files)
		len = asprintf(&words, "%s@%s", name, path);
	else
		len = asprintf(&words, "%s", name);
	return len < 0 ? NULL : words;
}
