/* SPDX-License-Identifier: MIT */
/*
 * Reads the instructions and source of a function; see annotate_code.h.
 *
 * A location is a file offset, and the file is identified by its id. A file of another build is not
 * disassembled, because it has other bytes at the offsets. Bytes that cannot be decoded are shown
 * as bytes. A function ends where its unwind information ends; without unwind information, a little
 * after its last sample.
 */
#include "report/annotate_code.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/disassembler.h"
#include "base/named_file.h"
#include "base/vec.h"
#include "proc/object.h"
#include "base/text.h"
#include "sym/demangle.h"
#include "sym/symbolizer.h"
#include "sym/unwind_bounds.h"

#define CODE_MAX_BYTES (1u << 20) /* most bytes of a function */
/* bytes that are shown after the last sample if the function's end is unknown */
#define CODE_TAIL      64u
#define CODE_MAX_FRAME 64
#define SOURCE_MAX     (16u << 20)

struct code_work {
	const struct profile *profile;
	const struct annotate_function *function;
	const struct annotate_code_options *options;
	struct annotate_code *code;
	struct symbolizer_object *symbols;
	uint8_t *bytes;
	uint64_t start, end; /* file offsets */
	size_t cap;
};

static void code_problem(struct annotate_code *code, const char *path, const char *what)
{
	snprintf(code->problem, sizeof(code->problem), "%.120s: %s", path, what);
}

/* Opens the file of an object, if it is still the one that was recorded. */
static int code_open(struct code_work *w, const struct store_object *object)
{
	const char *root = w->options->root ? w->options->root : "";
	char *path;
	int fd, err;

	if (object->kind == OBJECT_MANAGED) /* it has lines, and no instructions to look for */
		return -ENOENT;
	if (object->kind != OBJECT_ELF) {
		code_problem(w->code, object->path, "its code is in no file");
		return -ENOENT;
	}
	if (asprintf(&path, "%s%s", root, object->path) < 0)
		return -ENOMEM;
	fd = named_file_open(path);
	err = fd < 0 ? fd : elf_file_open(fd, &w->code->elf);
	if (fd >= 0)
		close(fd);
	if (err == 0 && elf_file_id(w->code->elf) != object->file_id) {
		code_problem(w->code, path, "is not the file that was recorded");
		err = -ENOENT;
	} else if (err < 0 && err != -ENOMEM) {
		code_problem(w->code, path, strerror(-err));
		err = -ENOENT;
	}
	free(path);
	return err;
}

/* Returns the location with most samples at which the function is not inlined; the object of this
 * location will be disassembled. NULL: there is none. */
static const struct annotate_location *code_main_location(const struct annotate_function *f)
{
	const struct annotate_location *best = NULL;

	for (uint32_t i = 0; i < f->n_locations; i++)
		if (!f->locations[i].is_inlined && (!best || f->locations[i].total > best->total))
			best = &f->locations[i];
	return best;
}

/* Returns the start of the function, from the outermost line of location `here`; 0: unknown. */
static uint64_t code_start(const struct store_tables *t, const struct annotate_location *here)
{
	uint32_t first = t->line_first[here->location], n = t->line_first[here->location + 1];
	const struct store_line *line = n > first ? &t->lines[n - 1] : NULL;

	return line ? line->function_start : 0;
}

static int code_end(struct code_work *w, uint32_t object)
{
	const struct store_tables *t = profile_tables(w->profile);
	struct unwind_bounds *bounds;
	uint64_t vaddr, end_vaddr = UINT64_MAX, last = w->start;
	int err = unwind_bounds_new(w->code->elf, &bounds);

	if (err < 0)
		return err;
	if (elf_file_offset_to_vaddr(w->code->elf, w->start, &vaddr))
		end_vaddr = unwind_bounds_end(bounds, vaddr);
	unwind_bounds_free(bounds);
	for (uint32_t i = 0; i < w->function->n_locations; i++) {
		const struct store_location *l = &t->locations[w->function->locations[i].location];

		if (l->object == object && l->offset > last &&
		    l->offset - w->start < CODE_MAX_BYTES && !w->function->locations[i].is_inlined)
			last = l->offset;
	}
	w->end = end_vaddr == UINT64_MAX ? last + CODE_TAIL : w->start + (end_vaddr - vaddr);
	if (w->end - w->start > CODE_MAX_BYTES)
		w->end = w->start + CODE_MAX_BYTES;
	return 0;
}

/* Finds the line of the function itself (not of one inlined into it) at an instruction, and the
 * innermost function that was inlined there. Returns 0 or an error. */
static int code_line(struct code_work *w, struct annotate_instruction *i)
{
	struct symbolizer_frame frames[CODE_MAX_FRAME];
	int n = symbolizer_resolve(w->symbols, i->offset, frames, CODE_MAX_FRAME);

	if (n < 0)
		return n;
	if (n > 0 && n <= CODE_MAX_FRAME) {
		i->file = frames[n - 1].file;
		i->line = frames[n - 1].line;
	}
	if (n < 2 || n > CODE_MAX_FRAME || !frames[0].function)
		return 0;
	i->inlined = demangle(frames[0].function);
	if (!i->inlined)
		i->inlined = strdup(frames[0].function);
	return i->inlined ? 0 : -ENOMEM;
}

/* Appends " <name>" after a jump or call whose target is a function. */
static int code_target(struct code_work *w, const struct disassembled *is, struct buf *b)
{
	struct symbolizer_frame frame;
	uint64_t offset;
	char *readable;
	int n;

	if (!is->has_target || !elf_file_vaddr_to_offset(w->code->elf, is->target, &offset) ||
	    (offset >= w->start && offset < w->end))
		return 0;
	n = symbolizer_resolve(w->symbols, offset, &frame, 1);
	if (n < 0)
		return n;
	if (n != 1 || !frame.function)
		return 0;
	readable = demangle(frame.function);
	text_put_raw(b, " <");
	text_put_raw(b, readable ? readable : frame.function);
	text_put_raw(b, ">");
	free(readable);
	return 0;
}

/* Decodes the instruction at `at`. A byte that begins no instruction is shown as a byte. */
static int code_decode(struct code_work *w, const struct disassembler *disassembler, uint64_t at)
{
	struct annotate_code *code = w->code;
	const uint8_t *bytes = w->bytes + (at - w->start);
	struct annotate_instruction i = {.offset = at, .length = 1};
	struct disassembled is;
	struct buf b = {0};
	uint64_t vaddr = at;
	int err =
		vec_reserve((void **)&code->instructions, &w->cap, (size_t)code->n + 1, sizeof(i));

	elf_file_offset_to_vaddr(code->elf, at, &vaddr);
	if (err == 0 && disassemble(disassembler, bytes, w->end - at, vaddr, &is)) {
		i.length = is.length;
		text_put_raw(&b, is.text);
		err = code_target(w, &is, &b);
	} else {
		text_printf(&b, "(bad) 0x%02x", *bytes);
	}
	buf_put_u8(&b, 0);
	if (err == 0)
		err = b.failed ? -ENOMEM : code_line(w, &i);
	if (err < 0) {
		buf_free(&b);
		free(i.inlined);
		return err;
	}
	i.text = (char *)b.data;
	code->instructions[code->n++] = i;
	return 0;
}

static int code_decode_all(struct code_work *w)
{
	struct disassembler *disassembler = NULL;
	int64_t len;
	int err;

	w->bytes = calloc(1, w->end - w->start + 1);
	if (!w->bytes)
		return -ENOMEM;
	len = elf_file_read(w->code->elf, w->start, w->bytes, w->end - w->start);
	if (len <= 0) {
		code_problem(w->code, w->function->symbol->object, "its code cannot be read");
		return 0;
	}
	w->end = w->start + (uint64_t)len;
	err = disassembler_new(w->options->intel, &disassembler);
	for (uint64_t at = w->start; err == 0 && at < w->end;) {
		err = code_decode(w, disassembler, at);
		if (err == 0)
			at += w->code->instructions[w->code->n - 1].length;
	}
	disassembler_free(disassembler);
	return err;
}

/* Adds the samples of each location of the function to the instruction that has the location's
 * byte. */
static void code_count(struct code_work *w, uint32_t object)
{
	const struct store_tables *t = profile_tables(w->profile);
	uint32_t at = 0;

	for (uint32_t i = 0; i < w->function->n_locations; i++) {
		const struct annotate_location *here = &w->function->locations[i];
		const struct store_location *l = &t->locations[here->location];
		struct annotate_instruction *is = w->code->instructions;

		if (l->object != object || l->offset < w->start || l->offset >= w->end)
			continue;
		while (at + 1 < w->code->n && is[at + 1].offset <= l->offset)
			at++;
		if (at < w->code->n && is[at].offset <= l->offset) {
			is[at].self += here->self;
			is[at].total += here->total;
			is[at].hit += here->hit;
		}
	}
}

/* Notes which separate debug file the lines need that is not installed. */
static void code_missing(struct code_work *w)
{
	struct buf name = {0};

	if (symbolizer_object_missing(w->symbols, &name) && !name.failed)
		snprintf(w->code->missing, sizeof(w->code->missing), "%.*s", (int)name.len,
			 (const char *)name.data);
	buf_free(&name);
}

static int code_run(struct code_work *w)
{
	const struct store_tables *t = profile_tables(w->profile);
	const struct annotate_location *here = code_main_location(w->function);
	const struct symbolizer_options options = {.debug_root = "/usr/lib/debug",
						   .with_lines = true};
	uint32_t object;
	int err;

	if (!here) {
		snprintf(w->code->problem, sizeof(w->code->problem),
			 "it is inlined everywhere, and has no code of its own");
		return 0;
	}
	object = t->locations[here->location].object;
	w->start = code_start(t, here);
	err = code_open(w, &t->objects[object]);
	if (err == -ENOENT)
		return 0;
	if (err == 0 && !w->start)
		snprintf(w->code->problem, sizeof(w->code->problem),
			 "where it starts is not known");
	if (err < 0 || !w->start)
		return err;
	err = symbolizer_new(&options, &w->code->symbolizer);
	if (err == 0)
		err = symbolizer_object_new(w->code->symbolizer, w->code->elf,
					    t->objects[object].path, &w->symbols);
	if (err == 0)
		err = code_end(w, object);
	if (err == 0)
		err = code_decode_all(w);
	if (err < 0)
		return err;
	code_missing(w);
	code_count(w, object);
	return 0;
}

int annotate_code_make(const struct profile *profile, const struct annotate_function *function,
		       const struct annotate_code_options *options, struct annotate_code *ret_code)
{
	struct annotate_code code = {0};
	struct code_work w = {
		.profile = profile, .function = function, .options = options, .code = &code};
	int err = code_run(&w);

	free(w.bytes);
	if (err < 0)
		annotate_code_free(&code);
	else
		*ret_code = code;
	return err;
}

void annotate_code_free(struct annotate_code *code)
{
	for (uint32_t i = 0; i < code->n; i++) {
		free(code->instructions[i].text);
		free(code->instructions[i].inlined);
	}
	free(code->instructions);
	symbolizer_free(code->symbolizer);
	elf_file_free(code->elf);
	*code = (struct annotate_code){0};
}

/* --- source --------------------------------------------------------------------------------- */

/* Reads a regular file of at most SOURCE_MAX bytes. *ret_text is NULL if there is no such file. */
static int source_slurp(const char *path, char **ret_text)
{
	int fd = named_file_open(path);
	struct stat st;
	char *text = NULL;
	ssize_t n = 0, len = 0;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= SOURCE_MAX) {
		text = malloc((size_t)st.st_size + 1);
		while (text && len < st.st_size &&
		       (n = read(fd, text + len, (size_t)(st.st_size - len))) > 0)
			len += n;
		if (text)
			text[len] = '\0';
		else
			n = -1;
	}
	close(fd);
	*ret_text = text;
	return !text && n < 0 ? -ENOMEM : 0;
}

/* Looks for a source file at the path that the compiler recorded, at that path below
 * options->source, and by its name in options->source. */
static int source_find(const char *file, const struct annotate_code_options *options,
		       char **ret_text)
{
	const char *names[] = {file, file, text_basename(file)};
	int err = 0;

	for (int i = 0; err == 0 && !*ret_text && i < 3; i++) {
		char *path;

		if (i > 0 && !options->source)
			break;
		if (asprintf(&path, "%s%s%s", i ? options->source : "", i ? "/" : "", names[i]) < 0)
			return -ENOMEM;
		err = source_slurp(path, ret_text);
		free(path);
	}
	return err;
}

int annotate_source_read(const char *file, const struct annotate_code_options *options,
			 struct annotate_source *ret_source)
{
	struct annotate_source s = {0};
	size_t cap = 0;
	int err = source_find(file, options, &s.text);

	for (char *at = s.text, *end; err == 0 && at && *at; at = end + 1) {
		err = vec_reserve((void **)&s.lines, &cap, (size_t)s.n + 2, sizeof(*s.lines));
		if (err < 0)
			break;
		s.lines[++s.n] = at;
		end = strchrnul(at, '\n');
		if (!*end)
			break;
		*end = '\0';
	}
	if (err < 0)
		annotate_source_free(&s);
	else
		*ret_source = s;
	return err;
}

void annotate_source_free(struct annotate_source *source)
{
	free(source->text);
	free(source->lines);
	*source = (struct annotate_source){0};
}
