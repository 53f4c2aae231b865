/* SPDX-License-Identifier: MIT */
/* Finds variables in symbol tables; see counter_variables.h. */
#include "daemon/regions/counter_variables.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/vec.h"
#include "daemon/base/log.h"
#include "daemon/regions/ask_regions.h"
#include "sym/function_symbols.h"

/* A file with probes, and its variables. */
struct known_file {
	const struct elf_file *elf; /* borrowed */
	struct found_variables found;
};

struct counter_variables {
	const struct options *options;
	struct worker *worker;
	struct region_spec specs[STACKD_MOST_COUNTERS]; /* by the counter's index */
	VEC(struct known_file) files;
	uint32_t n_places;
	bool is_full; /* the kernel half's map of places is full, and that was logged */
};

enum exit_status counter_variables_new(const struct options *options, struct worker *worker,
				       struct counter_variables **ret_variables)
{
	struct counter_variables *v = calloc(1, sizeof(*v));
	bool is_any = false;

	*ret_variables = NULL;
	if (!v)
		return STATUS_FAILED;
	v->options = options;
	v->worker = worker;
	for (size_t i = 0; i < options->n_counters; i++) {
		const struct counter_spec *counter = &options->counters[i];

		if (!counter->variable)
			continue;
		is_any = true;
		if (region_spec_parse(counter->variable, &v->specs[i])) {
			log_error("--counter '%s': expected var:SYMBOL or var:SYMBOL@OBJECT",
				  counter->name);
			counter_variables_free(v);
			return STATUS_USAGE;
		}
	}
	if (is_any)
		*ret_variables = v;
	else
		counter_variables_free(v);
	return STATUS_DONE;
}

void counter_variables_free(struct counter_variables *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < STACKD_MOST_COUNTERS; i++)
		region_spec_free(&v->specs[i]);
	free(v->files.items);
	free(v);
}

/* --- files ------------------------------------------------------------------------------------ */

/* The argument of a listing of symbols. */
struct search {
	const struct region_spec *specs;
	const char *path;
	struct found_variables *found;
};

static bool is_number(uint64_t bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

static int match(void *arg, const struct function_symbol *symbol)
{
	const struct search *s = arg;
	struct found_variables *found = s->found;

	for (size_t i = 0; i < STACKD_MOST_COUNTERS; i++) {
		if (!s->specs[i].function || !region_spec_is_object(&s->specs[i], s->path) ||
		    !region_spec_is_function(&s->specs[i], symbol->name))
			continue;
		if (!is_number(symbol->size) ||
		    (found->bytes[i] && found->vaddr[i] != symbol->vaddr))
			found->is_other[i] = 1;
		found->vaddr[i] = symbol->vaddr;
		found->bytes[i] = is_number(symbol->size) ? (uint8_t)symbol->size : 0;
	}
	return 0;
}

int counter_variables_find(const struct region_spec *specs, const struct elf_file *file,
			   const char *path, const struct debug_source *debug,
			   struct found_variables *ret_found)
{
	const struct search s = {.specs = specs, .path = path, .found = ret_found};
	struct elf_file *debug_file = NULL;

	*ret_found = (struct found_variables){0};
	if (debug_file_open(file, debug, path, &debug_file) == -ENOMEM)
		return -ENOMEM;
	variable_symbols_each(file, debug_file, match, (void *)&s);
	elf_file_free(debug_file);
	for (size_t i = 0; i < STACKD_MOST_COUNTERS; i++) {
		if (ret_found->is_other[i])
			ret_found->bytes[i] = 0;
	}
	return 0;
}

/* Returns the variables of a file, which are searched at the first call; NULL without memory. */
static const struct found_variables *found_in(struct counter_variables *v,
					      const struct elf_file *elf, const char *path)
{
	struct known_file *file;

	for (size_t i = 0; i < v->files.count; i++) {
		if (v->files.items[i].elf == elf)
			return &v->files.items[i].found;
	}
	if (VEC_RESERVE(&v->files, 1))
		return NULL;
	file = &v->files.items[v->files.count];
	file->elf = elf;
	if (ask_regions_variables(v->worker, v->specs, elf, path, &file->found))
		return NULL;
	v->files.count++;
	return &file->found;
}

/* --- places ----------------------------------------------------------------------------------- */

static struct stackd_place place_at(const struct found_variables *found, uint64_t vaddr,
				    bool *ret_is_any)
{
	struct stackd_place place = {0};

	*ret_is_any = false;
	for (size_t i = 0; i < STACKD_MOST_COUNTERS; i++) {
		if (!found->bytes[i])
			continue;
		place.distance[i] = (int64_t)(found->vaddr[i] - vaddr);
		place.bytes[i] = found->bytes[i];
		*ret_is_any = true;
	}
	return place;
}

int counter_variables_place(struct counter_variables *v, int places_fd, const struct elf_file *elf,
			    const char *path, uint64_t offset, uint64_t *ret_bits)
{
	const struct found_variables *found = v ? found_in(v, elf, path) : NULL;
	struct stackd_place place;
	uint32_t number;
	uint64_t vaddr;
	bool is_any;

	*ret_bits = 0;
	if (!found || !elf_file_offset_to_vaddr(elf, offset, &vaddr))
		return v && !found ? -ENOMEM : 0;
	place = place_at(found, vaddr, &is_any);
	if (!is_any)
		return 0;
	number = v->n_places + 1;
	if (number >= STACKD_MOST_PLACES || bpf_map_update_elem(places_fd, &number, &place, 0)) {
		if (!v->is_full)
			log_warning("--counter: variables are not read in all regions: there are "
				    "more than %u of them",
				    STACKD_MOST_PLACES - 1);
		v->is_full = true;
		return 0;
	}
	v->n_places = number;
	*ret_bits = STACKD_PLACE(number);
	return 0;
}

static enum exit_status check(const struct counter_variables *v, size_t index)
{
	const char *name = v->options->counters[index].name;
	bool is_other = false;

	for (size_t i = 0; i < v->files.count; i++) {
		if (v->files.items[i].found.bytes[index])
			return STATUS_DONE;
		is_other |= v->files.items[i].found.is_other[index];
	}
	if (is_other)
		log_error("--counter '%s': several variables have this name, or its size is not 1, "
			  "2, 4 or 8 bytes: give another one",
			  name);
	else
		log_error("--counter '%s': no variable of that name in the %zu file%s with "
			  "regions: it must be in the region's own file, which must not be "
			  "stripped",
			  name, v->files.count, text_plural(v->files.count, "", "s"));
	return STATUS_FAILED;
}

enum exit_status counter_variables_check(const struct counter_variables *v)
{
	enum exit_status status = STATUS_DONE;

	if (!v || !v->files.count) /* the region may be in a library that is loaded later */
		return STATUS_DONE;
	for (size_t i = 0; i < v->options->n_counters && !status; i++) {
		if (v->options->counters[i].variable)
			status = check(v, i);
	}
	return status;
}
