/* SPDX-License-Identifier: MIT */
/* Searches a file's symbols for V8's constants; see v8_layout.h. */
#include "runtime/v8/v8_layout.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_export.h"

#define MOST_SECTIONS 4096
#define MOST_BYTES    (UINT64_C(48) << 20) /* of a table of symbols, and of their names */
#define CHUNK	      (1u << 20)

static const struct v8_version versions[] = {
	{.first = 10001,
	 .last = 10999,
	 .sources = 32,
	 .code_data = 16,
	 .code_table = 24,
	 .code_flags = 48,
	 .code_size = 40,
	 .code_header = 128,
	 .translations = 0,
	 .has_late_position = true,
	 .module_scope = 3},
	{.first = 11003,
	 .last = 11999,
	 .sources = 32,
	 .code_data = 16,
	 .code_table = 24,
	 .code_start = 40,
	 .code_flags = 48,
	 .code_size = 56,
	 .code_header = 16,
	 .stream_code = 8,
	 .translations = 1,
	 .has_late_position = true,
	 .module_scope = 3},
	{.first = 12004,
	 .last = 12999,
	 .sources = 24,
	 .code_data = 8,
	 .code_table = 16,
	 .code_start = 40,
	 .code_flags = 48,
	 .code_size = 52,
	 .code_header = 32,
	 .stream_code = 8,
	 .translations = 2,
	 .has_late_position = true,
	 .module_scope = 3},
	{.first = 13006,
	 .last = 13999,
	 .sources = 24,
	 .code_data = 8,
	 .code_table = 16,
	 .code_start = 40,
	 .code_flags = 52,
	 .code_size = 56,
	 .code_header = 32,
	 .stream_code = 8,
	 .translations = 3,
	 .module_scope = 5,
	 .has_safepoints = true},
	{.first = 14001,
	 .last = 14999,
	 .sources = 24,
	 .code_data = 8,
	 .code_table = 16,
	 .code_start = 40,
	 .code_flags = 52,
	 .code_size = 56,
	 .code_header = 32,
	 .stream_code = 8,
	 .translations = 3,
	 .module_scope = 5,
	 .has_safepoints = true,
	 .has_flagged_offsets = true},
};

/* Values of constants that a version lacks though its objects have the field. */
static const struct {
	enum v8_constant constant;
	int32_t value;
} usual[] = {
	{V8_SFI_DATA, 8},
	{V8_SCRIPT_SOURCE, 8},
	{V8_DEOPT_POSITIONS, 7},
	{V8_BYTECODE_START, 54},
};

/* The constants without which no function can be read. */
static const enum v8_constant needed[] = {
	V8_SFI_OF_FUNCTION,  V8_SFI_NAME,      V8_SFI_SCRIPT,	   V8_SCRIPT_NAME,
	V8_STRING_LENGTH,    V8_STRING_CHARS,  V8_MAP_TYPE,	   V8_TYPE_SFI,
	V8_TYPE_SCRIPT,	     V8_TYPE_BYTECODE, V8_TYPE_CODE,	   V8_FIRST_NO_STRING,
	V8_KIND_BASELINE,    V8_KIND_MASK,     V8_TYPE_SCOPE_INFO, V8_TYPE_BYTE_ARRAY,
	V8_TYPE_FIXED_ARRAY,
};

bool v8_layout_is_file(const struct elf_file *file)
{
	uint64_t vaddr;

	return !elf_export_find(file, "v8dbg_off_fp_function", &vaddr) ||
	       !elf_export_find(file, "_ZN2v82V810GetVersionEv", &vaddr);
}

/* --- symbols ---------------------------------------------------------------------------------- */

/* The symbols of a file, and what is made of them. */
struct search {
	const struct elf_file *file;
	struct v8_layout *layout;
	Elf64_Sym *symbols;
	size_t count;
	char *names;
	size_t name_bytes;
	uint32_t major, minor;
	uint64_t wide; /* vaddr of the first piece for an instruction; 0: not found */
};

static bool read_file(const struct search *s, uint64_t offset, void *buf, size_t len)
{
	return elf_file_read_whole(s->file, offset, buf, len);
}

/* Reads a section of the file, with a byte of 0 behind it. */
static int read_section(const struct search *s, const Elf64_Shdr *section, void **ret_bytes)
{
	char *bytes = section->sh_size <= MOST_BYTES ? malloc(section->sh_size + 1) : NULL;

	if (!bytes)
		return section->sh_size <= MOST_BYTES ? -ENOMEM : -EINVAL;
	for (uint64_t at = 0, n; at < section->sh_size; at += n) {
		n = section->sh_size - at < CHUNK ? section->sh_size - at : CHUNK;
		if (!read_file(s, section->sh_offset + at, bytes + at, n)) {
			free(bytes);
			return -EIO;
		}
	}
	bytes[section->sh_size] = '\0';
	*ret_bytes = bytes;
	return 0;
}

/* Finds the table of all symbols, or else of those that are exported. Returns NULL if there is
 * none. */
static const Elf64_Shdr *find_table(const Elf64_Shdr *sections, size_t count)
{
	const Elf64_Shdr *found = NULL;

	for (size_t i = 0; i < count; i++) {
		const Elf64_Shdr *section = &sections[i];

		if (section->sh_link >= count || sections[section->sh_link].sh_type != SHT_STRTAB)
			continue;
		if (section->sh_type == SHT_SYMTAB)
			return section;
		if (section->sh_type == SHT_DYNSYM)
			found = section;
	}
	return found;
}

static int read_symbols(struct search *s)
{
	const Elf64_Shdr *table;
	Elf64_Shdr *sections;
	Elf64_Ehdr header;
	int err;

	if (!read_file(s, 0, &header, sizeof(header)))
		return -EIO;
	if (!header.e_shnum || header.e_shnum > MOST_SECTIONS ||
	    header.e_shentsize != sizeof(Elf64_Shdr))
		return -ENOENT;
	sections = calloc(header.e_shnum, sizeof(*sections));
	if (!sections)
		return -ENOMEM;
	err = read_file(s, header.e_shoff, sections, header.e_shnum * sizeof(*sections)) ? 0 : -EIO;
	table = err ? NULL : find_table(sections, header.e_shnum);
	if (!err && !table)
		err = -ENOENT;
	if (!err)
		err = read_section(s, table, (void **)&s->symbols);
	if (!err) {
		s->count = table->sh_size / sizeof(*s->symbols);
		s->name_bytes = sections[table->sh_link].sh_size;
		err = read_section(s, &sections[table->sh_link], (void **)&s->names);
	}
	free(sections);
	return err;
}

/* Reads the value of a variable as it is in the file. */
static bool read_value(const struct search *s, const Elf64_Sym *symbol, void *buf, size_t len)
{
	uint64_t offset;

	return symbol->st_size >= len &&
	       elf_file_vaddr_to_offset(s->file, symbol->st_value, &offset) &&
	       read_file(s, offset, buf, len);
}

static void note_constant(struct search *s, const Elf64_Sym *symbol, const char *name)
{
	static const char *const wanted[] = {
#define X(NAME, symbol) symbol,
		V8_CONSTANTS(X)
#undef X
	};
	int32_t value;

	for (unsigned i = 0; i < V8_CONSTANT_COUNT; i++) {
		if (s->layout->is[i] == V8_ABSENT &&
		    strncmp(name, wanted[i], strlen(wanted[i])) == 0 &&
		    read_value(s, symbol, &value, sizeof(value)) && value >= 0 && value < 1 << 16)
			s->layout->is[i] = value;
	}
}

static void note_code(struct search *s, const Elf64_Sym *symbol, const char *name)
{
	static const char suffix[] = "Handler";
	struct v8_layout *l = s->layout;
	uint64_t start = symbol->st_value, end = start + symbol->st_size;
	size_t len = strlen(name);

	if (end < start)
		return;
	if (strcmp(name, "InterpreterEntryTrampoline") == 0) {
		l->interpreter = start;
		l->interpreter_end = end;
	} else if (strcmp(name, "WideHandler") == 0) {
		s->wide = start;
	}
	if (len > sizeof(suffix) && strcmp(name + len - sizeof(suffix) + 1, suffix) == 0 &&
	    end > l->handlers_end)
		l->handlers_end = end;
}

static void note_sizes(struct search *s, const Elf64_Sym *symbol)
{
	size_t each = symbol->st_size / 3;

	for (size_t i = 0; i < 3 && each && each <= V8_MOST_BYTECODES; i++) {
		Elf64_Sym part = *symbol;

		part.st_value += i * each;
		if (!read_value(s, &part, s->layout->bytecode_sizes[i], each))
			memset(s->layout->bytecode_sizes[i], 0, each);
	}
}

static void note_symbol(struct search *s, const Elf64_Sym *symbol)
{
	static const char constant[] = "v8dbg_", code[] = "Builtins_",
			  name_space[] = "_ZN2v88internal";
	const char *name = symbol->st_name < s->name_bytes ? s->names + symbol->st_name : "";

	if (strncmp(name, constant, sizeof(constant) - 1) == 0)
		note_constant(s, symbol, name + sizeof(constant) - 1);
	else if (strncmp(name, code, sizeof(code) - 1) == 0)
		note_code(s, symbol, name + sizeof(code) - 1);
	else if (strncmp(name, name_space, sizeof(name_space) - 1) != 0)
		return;
	else if (strcmp(name, "_ZN2v88internal7Version6major_E") == 0)
		read_value(s, symbol, &s->major, sizeof(s->major));
	else if (strcmp(name, "_ZN2v88internal7Version6minor_E") == 0)
		read_value(s, symbol, &s->minor, sizeof(s->minor));
	else if (strcmp(name, "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE") == 0)
		note_sizes(s, symbol);
}

/* --- the layout ------------------------------------------------------------------------------- */

static const struct v8_version *find_version(uint32_t number)
{
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		if (number >= versions[i].first && number <= versions[i].last)
			return &versions[i];
	}
	return NULL;
}

/* Makes the layout of what was found. 0, -ENOENT or -EINVAL. */
static int settle(struct search *s)
{
	struct v8_layout *l = s->layout;
	bool has_any = false;

	for (size_t i = 0; i < V8_CONSTANT_COUNT; i++)
		has_any |= l->is[i] != V8_ABSENT;
	if (!has_any)
		return -ENOENT;
	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++) {
		if (l->is[usual[i].constant] == V8_ABSENT)
			l->is[usual[i].constant] = usual[i].value;
	}
	l->handlers = s->wide;
	if (!s->wide || l->handlers_end < s->wide)
		l->handlers = l->handlers_end = 0;
	l->number = s->major < 1000 && s->minor < 1000 ? s->major * 1000 + s->minor : 0;
	l->version = find_version(l->number);
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++) {
		if (l->is[needed[i]] == V8_ABSENT)
			return -EINVAL;
	}
	return l->version ? 0 : -EINVAL;
}

int v8_layout_read(const struct elf_file *file, struct v8_layout *ret_layout)
{
	struct search s = {.file = file, .layout = ret_layout};
	int err;

	*ret_layout = (struct v8_layout){0};
	for (size_t i = 0; i < V8_CONSTANT_COUNT; i++)
		ret_layout->is[i] = V8_ABSENT;
	err = read_symbols(&s);
	for (size_t i = 0; i < s.count && !err; i++)
		note_symbol(&s, &s.symbols[i]);
	free(s.symbols);
	free(s.names);
	if (!err)
		err = settle(&s);
	ret_layout->error = err;
	return err;
}

_Static_assert(sizeof(struct v8_layout) <= RUNTIME_LAYOUT_BYTES, "it has room");

void v8_layout_put(const struct v8_layout *layout, struct runtime_layout *ret_bytes)
{
	struct v8_layout copy = *layout;

	copy.version = NULL;
	*ret_bytes = (struct runtime_layout){.len = sizeof(copy)};
	memcpy(ret_bytes->bytes, &copy, sizeof(copy));
}

int v8_layout_get(const struct runtime_layout *bytes, struct v8_layout *ret_layout)
{
	struct v8_layout *l = ret_layout;

	if (bytes->len != sizeof(*l))
		return -EINVAL;
	memcpy(l, bytes->bytes, sizeof(*l));
	l->version = find_version(l->number);
	if (l->error || !l->version || l->interpreter > l->interpreter_end ||
	    l->handlers > l->handlers_end)
		return -EINVAL;
	for (size_t i = 0; i < V8_CONSTANT_COUNT; i++) {
		if (l->is[i] != V8_ABSENT && (l->is[i] < 0 || l->is[i] >= 1 << 16))
			return -EINVAL;
	}
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++) {
		if (l->is[needed[i]] == V8_ABSENT)
			return -EINVAL;
	}
	return 0;
}
