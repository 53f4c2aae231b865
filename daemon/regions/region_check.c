/* SPDX-License-Identifier: MIT */
/* Says what is wrong with specifications; see region_check.h. */
#include "daemon/regions/region_check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "daemon/base/log.h"
#include "daemon/regions/ask_regions.h"

#define LISTED 10 /* most functions in a message */
#define REMEDY                                                                                     \
	"measure lines (NAME=FILE:LINE..FILE:LINE), or build it with __attribute__((noinline)) "   \
	"or -fno-inline"

static size_t count_of(const struct region_check *c, size_t spec)
{
	size_t n = 0;

	for (size_t i = 0; i < c->found->found.count; i++)
		n += c->found->found.items[i].spec == spec;
	return n;
}

/* --- nothing was found ----------------------------------------------------------------------- */

static bool may_start_others(const struct region_check *c)
{
	for (size_t i = 0; c->is_command && i < c->n_files; i++) {
		if (c->files[i].starts_others)
			return true;
	}
	return false;
}

/* Returns how many files were searched for a specification. *ret_stripped: of those without
 * symbols, the one of the best kind (enum region_file); NULL: all have symbols. */
static size_t count_files(const struct region_check *c, const struct region_spec *spec,
			  const struct known_file **ret_stripped)
{
	size_t n = 0;

	*ret_stripped = NULL;
	for (size_t i = 0; i < c->n_files; i++) {
		const struct known_file *file = &c->files[i];

		if (!region_spec_may_be_in(spec, file->path))
			continue;
		n++;
		if (!file->has_symbols && (!*ret_stripped || file->kind < (*ret_stripped)->kind))
			*ret_stripped = file;
	}
	return n;
}

/* Logs where a file has a function inlined: an error if the function has no code of its own, a
 * warning if it has (`is_unused`) but was never entered. Returns whether the file inlines it. */
static bool log_inlined(const struct region_check *c, const struct region_spec *spec,
			const struct known_file *file, bool is_unused)
{
	struct region_inlined inlined;
	char list[REGION_INLINED_MOST * (REGION_INLINED_BYTES + 16)] = "";
	size_t len = 0;

	if (ask_regions_inlined(c->worker, spec, file->elf, file->path, &inlined) || !inlined.count)
		return false;
	for (uint32_t i = 0; i < inlined.count && i < REGION_INLINED_MOST; i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s:%" PRIu32,
					i ? ", " : "", inlined.files[i], inlined.lines[i]);
	if (inlined.count > REGION_INLINED_MOST)
		snprintf(list + len, sizeof(list) - len, ", ...");
	if (is_unused)
		log_warning("%s: no pass was seen; %s has it inlined at %s, and passes there "
			    "cannot be seen: " REMEDY,
			    spec->title, file->path, list);
	else
		log_error("%s: it is inlined wherever %s calls it (%s): " REMEDY, spec->title,
			  file->path, list);
	return true;
}

/* Logs where a function is inlined, in programs and in libraries that the specification names.
 * Returns whether it is inlined anywhere. */
static bool is_inlined(const struct region_check *c, const struct region_spec *spec, bool is_unused)
{
	for (size_t i = 0; i < c->n_files; i++) {
		const struct known_file *file = &c->files[i];
		bool is_asked = file->kind < REGION_FILE_LIBRARY || spec->object;

		if (is_asked && region_spec_may_be_in(spec, file->path) &&
		    log_inlined(c, spec, file, is_unused))
			return true;
	}
	return false;
}

/* Returns what the user can try, as the end of the message that nothing matches. */
static const char *remedy(const struct region_spec *spec)
{
	if (strchr(spec->function, '('))
		return "; without its arguments, the overloads that there are are listed";
	return spec->object ? ""
			    : "; for a library that is loaded later, add its name: FUNC@LIBRARY";
}

static void log_none(const struct region_check *c, const struct region_spec *spec, size_t n,
		     const struct known_file *stripped)
{
	if (is_inlined(c, spec, false))
		return;
	if (stripped && (n == 1 || stripped->kind < REGION_FILE_LIBRARY))
		log_error("%s: %s is stripped: install its debug symbols, or give a "
			  "function that it exports",
			  spec->title, stripped->path);
	else
		log_error("%s: no function of that name in %zu file%s of the target%s", spec->title,
			  n, text_plural(n, "", "s"), remedy(spec));
}

/* Logs that nothing matches a specification. Returns the status to exit with; STATUS_DONE, if the
 * function may be in a library that is loaded later. */
static enum exit_status explain_none(const struct region_check *c, const struct region_spec *spec)
{
	const struct known_file *stripped;
	size_t n = count_files(c, spec, &stripped);

	if (!spec->function) {
		log_warning("%s: no MPI library is mapped; it is measured once one is",
			    spec->title);
		return STATUS_DONE;
	}
	if (!n && spec->object) {
		log_warning("%s: no file '%s' is mapped; it is measured once one is", spec->title,
			    spec->object);
		return STATUS_DONE;
	}
	if (may_start_others(c)) {
		log_warning("%s: no function of that name in %zu file%s of the command; it is "
			    "measured once a program that it starts has one",
			    spec->title, n, text_plural(n, "", "s"));
		return STATUS_DONE;
	}
	log_none(c, spec, n, stripped);
	return STATUS_FAILED;
}

/* --- too much was found ---------------------------------------------------------------------- */

/* Returns the paths of all files, for free(); NULL without memory. */
static const char **paths_of(const struct region_check *c)
{
	const char **paths = calloc(c->n_files + 1, sizeof(*paths));

	for (size_t i = 0; paths && i < c->n_files; i++)
		paths[i] = c->files[i].path;
	return paths;
}

/* Returns whether the list, which begins at index `from`, already has a function that is the same
 * in the source as the one at `index`: a clone, or another implementation of an indirect
 * function. */
static bool is_listed(const struct found_regions *found, size_t from, size_t index)
{
	const struct found_region *f = &found->found.items[index];

	for (size_t i = from; i < index; i++) {
		const struct found_region *other = &found->found.items[i];

		if (other->spec == f->spec && other->is_left_out == f->is_left_out &&
		    region_choice_is_same(other, f))
			return true;
	}
	return false;
}

/* Logs the functions of a specification from index `from` on: those with, or those without
 * is_left_out. */
static void list(const struct region_check *c, size_t spec, bool left_out, size_t from)
{
	const char **paths = paths_of(c);
	size_t n = 0;

	for (size_t i = from; i < c->found->found.count && paths; i++) {
		const struct found_region *f = &c->found->found.items[i];
		char *words;

		if (f->spec != spec || f->is_left_out != left_out || is_listed(c->found, from, i) ||
		    n++ >= LISTED)
			continue;
		words = left_out ? NULL : region_choice_words(c->found, i, paths);
		if (left_out)
			log_info("  %s of %s: '%s@%s'", f->name, paths[f->file], f->name,
				 text_basename(paths[f->file]));
		else if (words)
			log_error("  '%s' is %s at 0x%" PRIx64 " of %s", words, f->name, f->offset,
				  paths[f->file]);
		free(words);
	}
	if (n > LISTED)
		log_message(left_out ? LOG_PRIORITY_INFO : LOG_PRIORITY_ERROR, "  and %zu more",
			    n - LISTED);
	free(paths);
}

static enum exit_status explain_many(const struct region_check *c, size_t spec)
{
	log_error("%s is ambiguous: give one of these (or FUNC@OBJECT), or a pattern with '*' for "
		  "all:",
		  c->specs[spec].title);
	list(c, spec, false, 0);
	return STATUS_FAILED;
}

/* --- what is left out ------------------------------------------------------------------------ */

static const struct found_region *first_left(const struct region_check *c, size_t spec)
{
	for (size_t i = 0; i < c->found->found.count; i++) {
		const struct found_region *f = &c->found->found.items[i];

		if (f->spec == spec && !f->is_left_out)
			return f;
	}
	return NULL;
}

/* Logs which functions, from index `from` on, match a specification but are left out, since it
 * means another one. */
static void note_left_out(const struct region_check *c, size_t spec, size_t from)
{
	const struct found_region *meant = first_left(c, spec);
	bool has_others = false;

	for (size_t i = from; i < c->found->found.count; i++) {
		const struct found_region *f = &c->found->found.items[i];

		has_others |= f->spec == spec && f->is_left_out;
	}
	if (!has_others || !meant || c->specs[spec].is_glob)
		return;
	log_info("%s: measures %s of %s, not these:", c->specs[spec].title, meant->name,
		 c->files[meant->file].path);
	list(c, spec, true, from);
}

/* --- all of them ----------------------------------------------------------------------------- */

/* Decides which functions a specification means (is_left_out), and returns how many; negative:
 * -ENOMEM. */
static int choose(const struct region_check *c, size_t spec)
{
	enum region_file *kinds = calloc(c->n_files + 1, sizeof(*kinds));
	size_t n = 0;

	if (!kinds)
		return -ENOMEM;
	for (size_t i = 0; i < c->n_files; i++)
		kinds[i] = c->files[i].kind;
	n = region_choice_make(c->found, &c->specs[spec], spec, kinds);
	free(kinds);
	return (int)n;
}

enum exit_status region_check_first(const struct region_check *c)
{
	for (size_t i = 0; i < c->n_specs; i++) {
		enum exit_status status = STATUS_DONE;
		int n = choose(c, i);

		if (n < 0)
			return STATUS_FAILED;
		if (!count_of(c, i))
			status = explain_none(c, &c->specs[i]);
		else if (n > 1 && !c->specs[i].is_glob)
			status = explain_many(c, i);
		else
			note_left_out(c, i, 0);
		if (status)
			return status;
	}
	return STATUS_DONE;
}

int region_check_again(const struct region_check *c, size_t before)
{
	for (size_t i = 0; i < c->n_specs; i++) {
		if (choose(c, i) < 0)
			return -ENOMEM;
		note_left_out(c, i, before);
	}
	return 0;
}

/* Returns whether functions of a specification are measured, but none of them was entered. */
static bool was_unused(const struct region_check *c, size_t spec)
{
	bool is_measured = false;

	for (size_t i = 0; i < c->found->found.count; i++) {
		const struct found_region *f = &c->found->found.items[i];

		if (f->spec != spec || f->is_left_out || f->error)
			continue;
		is_measured = true;
		if (c->was_entered(c->arg, i))
			return false;
	}
	return is_measured;
}

enum exit_status region_check_last(const struct region_check *c)
{
	enum exit_status status = STATUS_DONE;

	for (size_t i = 0; i < c->n_specs; i++) {
		const struct region_spec *spec = &c->specs[i];
		const struct known_file *stripped;
		size_t n = count_files(c, spec, &stripped);

		if (spec->function && !spec->is_glob && was_unused(c, i))
			is_inlined(c, spec, true);
		if (!c->is_command || !spec->function || (!n && spec->object) || count_of(c, i))
			continue;
		log_none(c, spec, n, stripped);
		status = STATUS_FAILED;
	}
	return status;
}
