/* SPDX-License-Identifier: MIT */
/* Finds the places of marks in files and attaches to them; see marks.h. */
#include "daemon/regions/marks.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/vec.h"
#include "daemon/base/log.h"
#include "daemon/regions/ask_regions.h"
#include "daemon/regions/mark_find.h"
#include "daemon/regions/mark_spec.h"
#include "daemon/regions/probe.h"
#include "arch/probe_place.h"
#include "stackd_abi.h"

/* Where a mark is in a file. */
struct place {
	size_t spec;
	const struct elf_file *elf; /* borrowed */
	const char *path;	    /* borrowed */
	uint64_t offset;
	uint64_t kind;	/* STACKD_MARK_... */
	uint64_t place; /* bits of the probe's cookie, from counter_variables_place() */
	const struct runtime *runtime; /* NULL: none */
	struct probe probe;
	bool is_attached;
};

/* What the search for one place of a specification has found. */
struct outcome {
	size_t n_files; /* files that were searched */
	size_t n_places;
	bool has_file;
	uint32_t next_line;
};

struct mark {
	struct mark_spec spec;
	struct outcome outcomes[2];
	uint64_t counts; /* not 0: hits are counted for --counter probe; the value is
			  * STACKD_MARK_COUNTS and the counter's index. 0: it is a mark or a span */
	bool is_off;	 /* it was hit too often */
	uint64_t off_ns; /* when it was switched off */
};

struct marks {
	const struct options *options;
	struct mark *all; /* STACKD_MOST_MARKS */
	size_t count;
	VEC(struct place) places;
	size_t n_tried; /* so many of `places`, from the first on, marks_attach() has tried to
			 * attach */
};

/* --- looking at files ------------------------------------------------------------------------ */

/* A search for one place of one mark in a file. */
struct search {
	struct marks *marks;
	struct worker *worker;
	struct mark *mark;
	size_t at; /* 0: search for the mark's first place; 1: for its second one */
	const struct elf_file *elf;
	const char *path;
	struct counter_variables *variables; /* NULL: none */
	int places_fd;
	const struct runtime *runtime; /* NULL: none */
};

static const struct mark_place *wanted(const struct search *s)
{
	return &s->mark->spec.places[s->at];
}

static int add(struct search *s, uint64_t vaddr)
{
	size_t spec = (size_t)(s->mark - s->marks->all);
	struct place place = {.spec = spec, .elf = s->elf, .path = s->path, .runtime = s->runtime};

	if (!elf_file_vaddr_to_offset(s->elf, vaddr, &place.offset))
		return 0;
	place.kind = s->mark->spec.n_places == 1 ? STACKD_MARK_BEGINS | STACKD_MARK_ENDS
		     : s->at			 ? STACKD_MARK_ENDS
						 : STACKD_MARK_BEGINS;
	if (s->mark->counts)
		place.kind = s->mark->counts;
	if (!wanted(s)->file)
		place.kind |= STACKD_MARK_ENTRY;
	for (size_t i = 0; i < s->marks->places.count; i++) {
		const struct place *known = &s->marks->places.items[i];

		if (known->spec == spec && known->elf == s->elf && known->offset == place.offset &&
		    known->kind == place.kind)
			return 0;
	}
	if (VEC_RESERVE(&s->marks->places, 1))
		return -ENOMEM;
	if (place.kind & STACKD_MARK_BEGINS &&
	    counter_variables_place(s->variables, s->places_fd, s->elf, s->path, place.offset,
				    &place.place))
		return -ENOMEM;
	s->marks->places.items[s->marks->places.count++] = place;
	s->mark->outcomes[s->at].n_places++;
	return 0;
}

static int search(struct search *s)
{
	struct outcome *outcome = &s->mark->outcomes[s->at];
	struct mark_code code;
	int err;

	if (!region_spec_is_object(&wanted(s)->spec, s->path))
		return 0;
	outcome->n_files++;
	err = ask_regions_mark(s->worker, wanted(s), s->elf, s->path, &code);
	s->runtime = code.runtime;
	outcome->has_file |= code.has_file;
	if (code.next_line && (!outcome->next_line || code.next_line < outcome->next_line))
		outcome->next_line = code.next_line;
	for (size_t i = 0; i < code.vaddrs.count && !err; i++)
		err = add(s, code.vaddrs.items[i]);
	mark_code_free(&code);
	return err;
}

int marks_look_at(struct marks *marks, struct worker *worker, const struct elf_file *elf,
		  const char *path, struct counter_variables *variables, int places_fd)
{
	struct search s = {.marks = marks,
			   .worker = worker,
			   .elf = elf,
			   .path = path,
			   .variables = variables,
			   .places_fd = places_fd};
	int err = 0;

	for (size_t i = 0; i < marks->count && !err; i++) {
		s.mark = &marks->all[i];
		for (s.at = 0; s.at < s.mark->spec.n_places && !err; s.at++)
			err = search(&s);
	}
	return err;
}

/* --- what is wrong with a mark --------------------------------------------------------------- */

/* Returns the name of the option that the mark comes from, for messages. */
static const char *option_of(const struct mark *mark)
{
	if (mark->counts)
		return "--counter probe";
	return mark->spec.n_places == 2 ? "--region" : "--mark";
}

static void explain_line(const struct mark *mark, size_t at)
{
	const struct outcome *o = &mark->outcomes[at];
	const struct mark_place *place = &mark->spec.places[at];

	if (!o->has_file)
		log_error("%s '%s': no file '%s' in the line tables of %zu file%s of the target: "
			  "build with -g, or install its debug symbols",
			  option_of(mark), mark->spec.text, place->file, o->n_files,
			  text_plural(o->n_files, "", "s"));
	else if (o->next_line)
		log_error("%s '%s': line %" PRIu32 " of %s has no code; the next one that has is "
			  "%" PRIu32,
			  option_of(mark), mark->spec.text, place->line, place->file, o->next_line);
	else
		log_error("%s '%s': line %" PRIu32 " of %s has no code, nor has a later one",
			  option_of(mark), mark->spec.text, place->line, place->file);
}

/* Logs that place `at` of a mark was not found. Returns STATUS_FAILED; or STATUS_DONE, if it may be
 * in a library that is loaded later. */
static enum exit_status explain_none(const struct mark *mark, size_t at)
{
	const struct mark_place *place = &mark->spec.places[at];
	size_t n = mark->outcomes[at].n_files;

	if (!n && place->spec.object) {
		log_warning("%s '%s': no file '%s' is mapped; it is measured once one is",
			    option_of(mark), mark->spec.text, place->spec.object);
		return STATUS_DONE;
	}
	if (place->file)
		explain_line(mark, at);
	else
		log_error("%s '%s': no function of that name in %zu file%s of the target; give "
			  "FUNC, FUNC@OBJECT or FILE:LINE",
			  option_of(mark), mark->spec.text, n, text_plural(n, "", "s"));
	return STATUS_FAILED;
}

static enum exit_status explain_many(const struct marks *marks, size_t index)
{
	const struct mark *mark = &marks->all[index];

	log_error("%s '%s' is ambiguous: give FUNC@OBJECT for one of these, FILE:LINE, or a "
		  "pattern with '*' for all:",
		  option_of(mark), mark->spec.text);
	for (size_t i = 0; i < marks->places.count; i++) {
		const struct place *place = &marks->places.items[i];

		if (place->spec == index)
			log_error("  0x%" PRIx64 " of %s", place->offset, place->path);
	}
	return STATUS_FAILED;
}

enum exit_status marks_check(const struct marks *marks)
{
	for (size_t i = 0; i < marks->count; i++) {
		const struct mark *mark = &marks->all[i];
		const struct mark_place *first = &mark->spec.places[0];

		for (size_t at = 0; at < mark->spec.n_places; at++) {
			enum exit_status status = STATUS_DONE;

			if (!mark->outcomes[at].n_places)
				status = explain_none(mark, at);
			if (status)
				return status;
		}
		if (!first->file && !first->spec.is_glob && mark->outcomes[0].n_places > 1)
			return explain_many(marks, i);
	}
	return STATUS_DONE;
}

/* --- attaching ------------------------------------------------------------------------------- */

static uint32_t number_of(size_t index)
{
	return STACKD_MOST_REGIONS + 1 + (uint32_t)index;
}

/* Returns whether the instruction at a place is a nop of five bytes. */
static bool is_long_nop(const struct place *place)
{
	uint8_t code[PROBE_PLACE_BYTES];
	ssize_t got =
		pread(elf_file_descriptor(place->elf), code, sizeof(code), (off_t)place->offset);

	return got > 0 && probe_place_is_long_nop(code, (size_t)got);
}

static int attach(struct marks *marks, const struct sampler_regions *kernel, struct place *place)
{
	const struct mark *mark = &marks->all[place->spec];
	char path[64];
	int err;

	if (is_long_nop(place)) {
		log_error("%s '%s': at 0x%" PRIx64 " of %s is a nop of five bytes, where a probe "
			  "can make the program crash: give another line",
			  option_of(mark), mark->spec.text, place->offset, place->path);
		return -EOPNOTSUPP;
	}
	if (place->runtime && place->runtime->unfit_marks) {
		log_error("%s '%s': %s is a %s program, %s: it cannot be measured", option_of(mark),
			  mark->spec.text, place->path, place->runtime->name,
			  place->runtime->unfit_marks);
		return -EOPNOTSUPP;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", elf_file_descriptor(place->elf));
	err = probe_attach(kernel->mark_fd, path, place->offset, 0,
			   number_of(place->spec) | place->kind | place->place, &place->probe);
	place->is_attached = !err;
	if (err)
		log_error("%s '%s': cannot put a probe at 0x%" PRIx64 " of %s: %s", option_of(mark),
			  mark->spec.text, place->offset, place->path, probe_reason(err));
	return err;
}

int marks_attach(struct marks *marks, const struct sampler_regions *kernel)
{
	int first = 0;

	for (; marks->n_tried < marks->places.count; marks->n_tried++) {
		struct place *place = &marks->places.items[marks->n_tried];
		int err = marks->all[place->spec].is_off ? 0 : attach(marks, kernel, place);

		first = first ? first : err;
	}
	return first;
}

static void detach(struct marks *marks, size_t index)
{
	for (size_t i = 0; i < marks->places.count; i++) {
		struct place *place = &marks->places.items[i];

		if (place->spec == index && place->is_attached)
			probe_detach(&place->probe);
		place->is_attached &= place->spec != index;
	}
}

size_t marks_taken_off(const struct marks *marks)
{
	size_t n = 0;

	for (size_t i = 0; marks && i < marks->count; i++)
		n += marks->all[i].is_off;
	return n;
}

const char *marks_off(const struct marks *marks, size_t index, uint64_t *ret_ns)
{
	for (size_t i = 0; marks && i < marks->count; i++) {
		if (!marks->all[i].is_off || index--)
			continue;
		*ret_ns = marks->all[i].off_ns;
		return marks->all[i].spec.text;
	}
	return NULL;
}

void marks_look_at_rates(struct marks *marks, const struct sampler_regions *kernel)
{
	for (size_t i = 0; i < marks->count; i++) {
		struct mark *mark = &marks->all[i];
		uint32_t number = number_of(i), state = STACKD_REGION_IS_MEASURED;

		if (mark->is_off || bpf_map_lookup_elem(kernel->off_fd, &number, &state) ||
		    state != STACKD_REGION_IS_OFF)
			continue;
		log_warning("%s '%s' is hit more than %" PRIu64
			    " times a second in a thread: it is "
			    "not measured any more (--region-limit)",
			    option_of(mark), mark->spec.text, marks->options->region_limit);
		mark->is_off = true;
		mark->off_ns = clock_ns(CLOCK_MONOTONIC);
		detach(marks, i);
	}
}

/* --- start and end --------------------------------------------------------------------------- */

static enum exit_status add_mark(struct marks *marks, const char *text)
{
	struct mark *mark = &marks->all[marks->count];

	if (marks->count == STACKD_MOST_MARKS) {
		log_error("--mark: there are more than %u", STACKD_MOST_MARKS);
		return STATUS_USAGE;
	}
	if (!mark_spec_parse(text, &mark->spec)) {
		marks->count++;
		return STATUS_DONE;
	}
	if (mark_spec_is_span(text))
		log_error("--region '%s': expected NAME=FILE:LINE..FILE:LINE", text);
	else
		log_error("--mark '%s': expected FUNC, FUNC@OBJECT or FILE:LINE", text);
	mark_spec_free(&mark->spec);
	return STATUS_USAGE;
}

/* Adds the places whose hits are counted by --counter probe. */
static enum exit_status add_counted(struct marks *marks, const struct options *options)
{
	enum exit_status status = STATUS_DONE;

	for (size_t i = 0; i < options->n_counters && !status; i++) {
		if (!options->counters[i].probe)
			continue;
		status = add_mark(marks, options->counters[i].probe);
		if (!status)
			marks->all[marks->count - 1].counts =
				STACKD_MARK_COUNTS | STACKD_MARK_COUNTER(i);
	}
	return status;
}

enum exit_status marks_new(const struct options *options, struct marks **ret_marks)
{
	struct marks *marks = calloc(1, sizeof(*marks));
	enum exit_status status = STATUS_DONE;

	*ret_marks = marks;
	if (!marks)
		return STATUS_FAILED;
	marks->options = options;
	marks->all = calloc(STACKD_MOST_MARKS, sizeof(*marks->all));
	if (!marks->all)
		return STATUS_FAILED;
	for (size_t i = 0; i < options->n_regions && !status; i++) {
		if (mark_spec_is_span(options->regions[i]))
			status = add_mark(marks, options->regions[i]);
	}
	for (size_t i = 0; i < options->n_marks && !status; i++)
		status = add_mark(marks, options->marks[i]);
	status = status ? status : add_counted(marks, options);
	if (!status && !marks->count) {
		marks_free(marks);
		*ret_marks = NULL;
	}
	return status;
}

const char *marks_name(const struct marks *marks, size_t index)
{
	return marks && index < marks->count ? marks->all[index].spec.name : NULL;
}

void marks_stop(struct marks *marks)
{
	for (size_t i = 0; i < marks->count; i++)
		detach(marks, i);
}

void marks_free(struct marks *marks)
{
	if (!marks)
		return;
	marks_stop(marks);
	for (size_t i = 0; i < marks->count; i++)
		mark_spec_free(&marks->all[i].spec);
	free(marks->all);
	free(marks->places.items);
	free(marks);
}
