/* SPDX-License-Identifier: MIT */
/*
 * Reads kernel symbols; see kallsyms.h.
 *
 *   symbols[]   functions by address, one per address (the best of its aliases), 16 bytes each,
 *               names as offsets into one blob
 *   parts[]     0: the kernel · 1..: modules of /proc/modules · pseudo modules · last: other
 *   ranges[]    parts with a range of addresses, by start, cut where they overlap
 *
 * Pseudo modules ("[bpf]", "[__builtin__ftrace]") are in kallsyms but not in /proc/modules: they
 * have no range, since their functions are between those of other parts. So an address belongs to
 * the part of the function before it if that is a pseudo module, else to the range that contains
 * it. Since Linux 6.4 a module's memory has several ranges, but /proc/modules still gives one start
 * and the sum of the sizes. So a range may be too long, and is cut at the next one.
 *
 * The linker's marks ("_etext", "__sched_text_end") look like functions. They stay in the table,
 * since a function ends at a mark, but never become a name.
 */
#include "sym/kallsyms.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "elf/elf_note.h"
#include "sym/alias_rank.h"

#define KERNEL_PART	 0
#define MAX_PARTS	 UINT16_MAX
#define KERNEL_HALF	 UINT64_C(0x8000000000000000)
#define MAX_NOTES_BYTES	 (64 * 1024)
#define MAX_NAME_BLOB	 (UINT32_MAX / 2)
#define MAX_PSEUDO_BYTES (64 * 1024)
#define READ_BYTES	 8192 /* the kernel gives at most half of this; a line is far shorter */
#define MEANWHILE_READS	 32   /* reads between two calls of `meanwhile`: a millisecond */

struct symbol {
	uint64_t address;
	uint32_t name; /* offset into names */
	uint16_t part;
	uint16_t rank; /* higher is better among aliases (alias_rank.h); 0: a mark */
};

struct range {
	uint64_t start, end;
	uint16_t part;
};

struct part {
	struct kallsyms_part shown; /* first, so that callers can point to it */
	bool is_pseudo;
};

struct kallsyms {
	struct symbol *symbols;
	size_t n_symbols, cap_symbols;
	char *names;
	size_t names_len, cap_names;
	struct part *parts;
	size_t n_parts, cap_parts;
	struct range *ranges;
	size_t n_ranges;
	uint16_t last_part; /* part of the previous line: symbols of a module come in sequence */
	bool saw_line;
};

/* --- parts --------------------------------------------------------------------------------- */

/* Adds a part; a `name` without brackets gets them. Returns the part's number, or -ENOMEM,
 * -E2BIG. */
static int add_part(struct kallsyms *k, const char *name, uint64_t start, uint64_t end)
{
	struct part *part;
	char *copy = NULL;

	if (k->n_parts == MAX_PARTS)
		return -E2BIG;
	if (VEC_GROW(k->parts, k->cap_parts, k->n_parts + 1) < 0 ||
	    asprintf(&copy, name[0] == '[' ? "%s" : "[%s]", name) < 0)
		return -ENOMEM;
	part = &k->parts[k->n_parts];
	*part = (struct part){.shown = {.name = copy, .start = start, .end = end}};
	return (int)k->n_parts++;
}

static int open_below(const char *root, const char *path)
{
	char *full;
	int fd;

	if (asprintf(&full, "%s/%s", root, path) < 0)
		return -ENOMEM;
	fd = open(full, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	free(full);
	return fd;
}

static void load_build_id(struct kallsyms_part *part, const char *root, const char *path)
{
	uint8_t *notes = malloc(MAX_NOTES_BYTES);
	int fd = notes ? open_below(root, path) : -ENOMEM;
	size_t len = 0;
	ssize_t n;

	while (fd >= 0 && (n = read(fd, notes + len, MAX_NOTES_BYTES - len)) > 0)
		len += (size_t)n;
	if (len)
		part->build_id_len = (uint8_t)elf_note_build_id(notes, len, part->build_id);
	if (fd >= 0)
		close(fd);
	free(notes);
}

static int load_module(struct kallsyms *k, const char *line, const char *sys_root)
{
	char name[128], path[256];
	uint64_t size, start;
	int number;

	if (sscanf(line, "%127s %lu %*s %*s %*s %lx", name, &size, &start) != 3 || !start)
		return 0;
	if (size > UINT64_MAX - start || strchr(name, '/'))
		return 0;
	number = add_part(k, name, start, start + size);
	if (number < 0)
		return number;
	snprintf(path, sizeof(path), "module/%s/notes/.note.gnu.build-id", name);
	load_build_id(&k->parts[number].shown, sys_root, path);
	return 0;
}

/* The file is missing if the kernel has no modules. */
static int load_modules(struct kallsyms *k, const char *sys_root, int modules)
{
	int fd = modules < 0 ? -1 : fcntl(modules, F_DUPFD_CLOEXEC, 0);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char *line = NULL;
	size_t cap = 0;
	int err = 0;

	if (!f) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while (!err && getline(&line, &cap, f) > 0)
		err = load_module(k, line, sys_root);
	free(line);
	fclose(f);
	return err;
}

/* Returns the part of a module's symbols; a module that is not in /proc/modules becomes a pseudo
 * module. */
static int find_part(struct kallsyms *k, const char *module)
{
	int number;

	if (!*module)
		return KERNEL_PART;
	if (k->last_part && !strcmp(k->parts[k->last_part].shown.name, module))
		return k->last_part;
	for (size_t i = 1; i < k->n_parts; i++)
		if (!strcmp(k->parts[i].shown.name, module))
			return k->last_part = (uint16_t)i;
	number = add_part(k, module, UINT64_MAX, UINT64_MAX);
	if (number > 0) {
		k->parts[number].is_pseudo = true;
		k->last_part = (uint16_t)number;
	}
	return number;
}

/* --- symbols ------------------------------------------------------------------------------- */

static bool has_suffix(const char *name, const char *suffix)
{
	size_t len = strlen(name), n = strlen(suffix);

	return len >= n && !strcmp(name + len - n, suffix);
}

static bool is_mark(const char *name)
{
	static const char *const marks[] = {"_text",	  "_stext",	"_etext",
					    "_sinittext", "_einittext", "_inittext"};

	if (name[0] != '_')
		return false;
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (!strcmp(name, marks[i]))
			return true;
	return has_suffix(name, "_text_start") || has_suffix(name, "_text_end");
}

/* Returns a symbol's rank; 0 for a mark. */
static uint16_t rank_of(char type, const char *name)
{
	const struct alias alias = {.binding = type == 'T'   ? STB_GLOBAL
					       : type == 't' ? STB_LOCAL
							     : STB_WEAK};

	return is_mark(name) ? 0 : alias_rank(name, &alias);
}

static void note_bounds(struct kallsyms *k, uint64_t address, const char *name,
			bool *is_start_exact)
{
	struct kallsyms_part *kernel = &k->parts[KERNEL_PART].shown;

	if (!strcmp(name, "_stext")) {
		kernel->start = address;
		*is_start_exact = true;
	} else if (!*is_start_exact && address < kernel->start) {
		kernel->start = address;
	}
	if (has_suffix(name, "_etext") || has_suffix(name, "_einittext"))
		if (address > kernel->end)
			kernel->end = address;
}

/* Appends a name to the blob. A loop copies it, since there are a hundred thousand names: while a
 * user measures memcpy(), each call of it costs microseconds. */
static int put_name(struct kallsyms *k, const char *name, size_t len)
{
	char *to;

	if (k->names_len > MAX_NAME_BLOB)
		return -E2BIG;
	if (VEC_GROW(k->names, k->cap_names, k->names_len + len + 1) < 0)
		return -ENOMEM;
	to = k->names + k->names_len;
	while ((*to++ = *name++))
		;
	k->names_len += len + 1;
	return 0;
}

static int add_symbol(struct kallsyms *k, uint64_t address, char type, const char *name, int part)
{
	struct kallsyms_part *shown = &k->parts[part].shown;
	uint32_t at = (uint32_t)k->names_len;
	int err = put_name(k, name, strlen(name));

	if (err)
		return err;
	if (VEC_GROW(k->symbols, k->cap_symbols, k->n_symbols + 1) < 0)
		return -ENOMEM;
	if (k->parts[part].is_pseudo && address < shown->start)
		shown->start = address;
	k->symbols[k->n_symbols++] = (struct symbol){
		.address = address,
		.name = at,
		.part = (uint16_t)part,
		.rank = rank_of(type, name),
	};
	return 0;
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Parses "ffffffff81000000 T name\t[module]" in place, if the symbol is a function. */
static bool parse_line(char *line, uint64_t *ret_address, char *ret_type, char **ret_name,
		       const char **ret_module)
{
	char *at = line, *name, *module;
	uint64_t address = 0;

	for (int digit; (digit = digit_of(*at)) >= 0; at++)
		address = address << 4 | (uint64_t)digit;
	if (at == line || at[0] != ' ' || !at[1] || !strchr("tTwW", at[1]) || at[2] != ' ')
		return false;
	*ret_address = address;
	*ret_type = at[1];
	name = at + 3;
	module = strchr(name, '\t');
	if (module)
		*module++ = 0;
	*ret_name = name;
	*ret_module = module ? module : "";
	return *name;
}

/* --- lines ---------------------------------------------------------------------------------- */

struct reader {
	int fd;
	const struct kallsyms_options *options;
	unsigned n_reads;
	size_t begin, end; /* of what has been read and not been returned */
	char bytes[READ_BYTES + 1];
};

/* Reads more bytes. Returns their number (0 at the end, or if there is no room), or -EIO. */
static int read_more(struct reader *r)
{
	size_t left = r->end - r->begin;
	ssize_t n;

	memmove(r->bytes, r->bytes + r->begin, left);
	r->begin = 0;
	r->end = left;
	n = left < READ_BYTES ? read(r->fd, r->bytes + left, READ_BYTES - left) : 0;
	if (n < 0)
		return -EIO;
	r->end += (size_t)n;
	if (!(++r->n_reads % MEANWHILE_READS) && r->options->meanwhile)
		r->options->meanwhile(r->options->arg);
	return (int)n;
}

/* Gives the next line without its end, which may be changed in place until the next call; a line
 * that is longer than the buffer comes in parts. Returns 1, 0 at the end of the file, or -EIO. */
static int next_line(struct reader *r, char **ret_line)
{
	char *end;
	int n = 1;

	while (!(end = memchr(r->bytes + r->begin, '\n', r->end - r->begin)) && n > 0)
		n = read_more(r);
	if (n < 0)
		return n;
	if (!end && r->begin == r->end)
		return 0;
	*ret_line = r->bytes + r->begin;
	if (end) {
		r->begin = (size_t)(end - r->bytes) + 1;
	} else {
		end = r->bytes + r->end;
		r->begin = r->end;
	}
	*end = 0;
	return 1;
}

static int load_symbols(struct kallsyms *k, int fd, const struct kallsyms_options *options)
{
	struct reader reader = {.fd = fd, .options = options};
	bool is_start_exact = false;
	char *line;
	int err;

	while ((err = next_line(&reader, &line)) > 0) {
		uint64_t address;
		const char *module;
		char type, *name;
		int part;

		k->saw_line = true;
		if (!parse_line(line, &address, &type, &name, &module) || !address)
			continue;
		part = find_part(k, module);
		if (part < 0)
			return part;
		if (part == KERNEL_PART)
			note_bounds(k, address, name, &is_start_exact);
		err = add_symbol(k, address, type, name, part);
		if (err)
			return err;
	}
	return err;
}

/* --- order ---------------------------------------------------------------------------------- */

static int compare_symbols(const void *a, const void *b, void *arg)
{
	const struct symbol *x = a, *y = b;
	const char *names = arg;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	return alias_compare(names + x->name, names + y->name, x->rank);
}

/* Returns the first symbol that is out of order. The kernel's functions come by address, and so do
 * most of those behind them. */
static size_t first_unsorted(const struct kallsyms *k)
{
	uint64_t lowest = UINT64_MAX;
	size_t from = k->n_symbols;

	for (size_t i = 1; i < k->n_symbols; i++)
		if (k->symbols[i].address < k->symbols[i - 1].address &&
		    k->symbols[i].address < lowest)
			lowest = k->symbols[i].address;
	while (from && k->symbols[from - 1].address >= lowest)
		from--;
	return from;
}

static void sort_some(struct kallsyms *k, size_t from, size_t to)
{
	if (to - from > 1)
		qsort_r(k->symbols + from, to - from, sizeof(*k->symbols), compare_symbols,
			k->names);
}

/* Sorts symbols, and keeps the best one of each address. */
static void sort_symbols(struct kallsyms *k)
{
	size_t kept = 0, sorted = first_unsorted(k), next;

	for (size_t i = 0; i < sorted; i = next) {
		for (next = i + 1; next < sorted; next++)
			if (k->symbols[next].address != k->symbols[i].address)
				break;
		sort_some(k, i, next);
	}
	sort_some(k, sorted, k->n_symbols);
	for (size_t i = 0; i < k->n_symbols; i++)
		if (!kept || k->symbols[i].address != k->symbols[kept - 1].address)
			k->symbols[kept++] = k->symbols[i];
	k->n_symbols = kept;
}

/* --- ranges -------------------------------------------------------------------------------- */

static int compare_ranges(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->part > y->part) - (x->part < y->part);
}

/* If the kernel has no marks at the end of its text, the text is taken to end with the page of its
 * last function. */
static void finish_kernel_part(struct kallsyms *k)
{
	struct kallsyms_part *kernel = &k->parts[KERNEL_PART].shown;

	for (size_t i = k->n_symbols; !kernel->end && i-- > 0;)
		if (k->symbols[i].part == KERNEL_PART)
			kernel->end = (k->symbols[i].address | 0xfff) + 1;
	if (kernel->start > kernel->end)
		kernel->start = kernel->end;
}

static int make_ranges(struct kallsyms *k)
{
	finish_kernel_part(k);
	k->ranges = calloc(k->n_parts, sizeof(*k->ranges));
	if (!k->ranges)
		return -ENOMEM;
	for (size_t i = 0; i < k->n_parts; i++) {
		const struct kallsyms_part *shown = &k->parts[i].shown;

		if (!k->parts[i].is_pseudo)
			k->ranges[k->n_ranges++] =
				(struct range){shown->start, shown->end, (uint16_t)i};
	}
	qsort(k->ranges, k->n_ranges, sizeof(*k->ranges), compare_ranges);
	for (size_t i = 0; i + 1 < k->n_ranges; i++)
		if (k->ranges[i].end > k->ranges[i + 1].start)
			k->ranges[i].end = k->ranges[i + 1].start;
	for (size_t i = 0; i < k->n_ranges; i++)
		k->parts[k->ranges[i].part].shown.end = k->ranges[i].end;
	return 0;
}

/* --- loading ------------------------------------------------------------------------------- */

static int load(struct kallsyms *k, const struct kallsyms_options *options,
		const struct kernel_files *files)
{
	const char *sys_root = options->sys_root;
	int err = add_part(k, "[kernel.kallsyms]", UINT64_MAX, 0);

	if (err < 0)
		return err;
	load_build_id(&k->parts[KERNEL_PART].shown, sys_root, "kernel/notes");
	err = load_modules(k, sys_root, files->modules);
	if (!err)
		err = load_symbols(k, files->symbols, options);
	if (err)
		return err;
	if (!k->n_symbols)
		return k->saw_line ? -EACCES : -ENOENT;
	sort_symbols(k);
	err = make_ranges(k);
	if (err)
		return err;
	err = add_part(k, "[kernel.other]", KERNEL_HALF, UINT64_MAX);
	return err < 0 ? err : 0;
}

int kallsyms_load(const struct kallsyms_options *options, struct kallsyms **ret_ksyms)
{
	struct kernel_files files;
	struct kallsyms *k = NULL;
	int err;

	if (options->files)
		files = *options->files;
	else
		kernel_files_open(options->proc_root, &files);
	err = files.symbols < 0 ? files.symbols : 0;
	if (!err) {
		lseek(files.symbols, 0, SEEK_SET);
		lseek(files.modules, 0, SEEK_SET);
		k = calloc(1, sizeof(*k));
		err = k ? load(k, options, &files) : -ENOMEM;
	}
	if (!options->files)
		kernel_files_close(&files);
	if (err) {
		kallsyms_free(k);
		return err == -EPERM ? -EACCES : err;
	}
	*ret_ksyms = k;
	return 0;
}

void kallsyms_free(struct kallsyms *ksyms)
{
	if (!ksyms)
		return;
	for (size_t i = 0; i < ksyms->n_parts; i++)
		free((char *)ksyms->parts[i].shown.name);
	free(ksyms->parts);
	free(ksyms->ranges);
	free(ksyms->symbols);
	free(ksyms->names);
	free(ksyms);
}

/* --- queries ------------------------------------------------------------------------------- */

/* Returns the last symbol that starts at or before an address. */
static const struct symbol *symbol_before(const struct kallsyms *k, uint64_t address)
{
	size_t low = 0, high = k->n_symbols;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (k->symbols[mid].address <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? &k->symbols[low - 1] : NULL;
}

static const struct range *range_of(const struct kallsyms *k, uint64_t address)
{
	size_t low = 0, high = k->n_ranges;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (k->ranges[mid].start <= address)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || address >= k->ranges[low - 1].end)
		return NULL;
	return &k->ranges[low - 1];
}

/* Returns the part of an address. A pseudo module's function extends to the next function, but not
 * into a range that starts behind its start, and not beyond MAX_PSEUDO_BYTES: kallsyms has no
 * sizes, and anything may follow the last function. */
static size_t part_of(const struct kallsyms *k, uint64_t address, const struct symbol *before)
{
	const struct range *range = range_of(k, address);

	if (before && k->parts[before->part].is_pseudo &&
	    address - before->address < MAX_PSEUDO_BYTES &&
	    (!range || range->start <= before->address))
		return before->part;
	return range ? range->part : k->n_parts - 1;
}

const char *kallsyms_find(const struct kallsyms *ksyms, uint64_t address, uint64_t *ret_start)
{
	const struct symbol *s = symbol_before(ksyms, address);

	if (!s || !s->rank || part_of(ksyms, address, s) != s->part)
		return NULL;
	*ret_start = s->address;
	return ksyms->names + s->name;
}

bool kallsyms_function(const struct kallsyms *ksyms, const char *name, uint64_t *ret_start,
		       uint64_t *ret_end)
{
	for (size_t i = 0; i + 1 < ksyms->n_symbols; i++) {
		const struct symbol *s = &ksyms->symbols[i];

		if (s->rank && !strcmp(ksyms->names + s->name, name)) {
			*ret_start = s->address;
			*ret_end = s[1].address;
			return true;
		}
	}
	return false;
}

const struct kallsyms_part *kallsyms_part(const struct kallsyms *ksyms, uint64_t address,
					  size_t *ret_index)
{
	if (address < KERNEL_HALF)
		return NULL;
	*ret_index = part_of(ksyms, address, symbol_before(ksyms, address));
	return &ksyms->parts[*ret_index].shown;
}

size_t kallsyms_part_count(const struct kallsyms *ksyms)
{
	return ksyms->n_parts;
}

const struct kallsyms_part *kallsyms_part_at(const struct kallsyms *ksyms, size_t index)
{
	return &ksyms->parts[index].shown;
}
