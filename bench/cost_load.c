/* SPDX-License-Identifier: MIT */
/*
 * Loads a BPF object for cost_vm.c: the code of its functions and of one program, linked, and its
 * maps and variables. libbpf reads the maps' declarations; it links only what it loads into the
 * kernel, so that is done here.
 */
#include "cost_vm_state.h"

#include <bpf/libbpf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SECTIONS       256
#define REGIONS_AT     UINT64_C(0x200000000000) /* the same in each run, so that runs are alike */
#define REGIONS_APART  (UINT64_C(1) << 30)
#define MACHINES_APART (VM_REGIONS * REGIONS_APART)

/* Types of relocations, in the names that the kernel's documentation has for them. */
#define R_BPF_64_64 1
#define R_BPF_64_32 10

struct object {
	struct vm *vm;
	Elf *elf;
	size_t strings; /* section of names of sections */
	Elf_Data *symbols;
	size_t symbol_strings;	 /* section */
	size_t text, program;	 /* sections */
	size_t maps;		 /* section */
	size_t program_at;	 /* index of the program's first instruction */
	uint8_t *data[SECTIONS]; /* of variables, by section */
};

/* --- memory --------------------------------------------------------------------------------- */

void *vm_share(struct vm *vm, enum vm_kind kind, uint64_t address, size_t size)
{
	size_t whole = (size + VM_PAGE - 1) & ~(size_t)(VM_PAGE - 1);
	void *wanted = (void *)(uintptr_t)(REGIONS_AT + vm->number * MACHINES_APART +
					   vm->n_regions * REGIONS_APART);
	uint8_t *bytes = mmap(wanted, whole, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (bytes != wanted)
		vm_die("no memory");
	if (vm->n_regions == VM_REGIONS)
		vm_die("more than %d regions", VM_REGIONS);
	vm->regions[vm->n_regions++] = (struct vm_region){
		.address = address ? address : (uintptr_t)bytes,
		.size = whole,
		.bytes = bytes,
		.kind = kind,
	};
	return bytes;
}

static struct vm_map *map_named(struct vm *vm, const char *name)
{
	for (size_t i = 0; i < vm->n_maps; i++) {
		if (strcmp(vm->maps[i].name, name) == 0)
			return &vm->maps[i];
	}
	vm_die("the object has no map %s", name);
}

void *vm_map(struct vm *vm, const char *name, uint32_t entries)
{
	struct vm_map *map = map_named(vm, name);
	bool is_scratch = strcmp(name, "scratches") == 0;

	if (map->values)
		return map->values;
	if (entries)
		map->entries = entries;
	map->values = vm_share(vm, is_scratch ? VM_SCRATCH : VM_MAPS, 0, map->entries * map->apart);
	if (map->is_hash)
		map->keys = calloc(map->entries, map->key_size);
	if (map->is_hash && !map->keys)
		vm_die("no memory");
	return map->values;
}

void vm_map_put(struct vm *vm, const char *name, const void *key, const void *value)
{
	struct vm_map *map = map_named(vm, name);
	uint32_t at = 0;

	vm_map(vm, name, 0);
	while (at < map->n_keys && memcmp(map->keys + at * map->key_size, key, map->key_size) != 0)
		at++;
	if (!map->is_hash || at == map->entries)
		vm_die("map %s takes no more keys", name);
	memcpy(map->keys + at * map->key_size, key, map->key_size);
	memcpy(map->values + at * map->apart, value, map->value_size);
	map->n_keys += at == map->n_keys;
}

void *vm_variable(struct vm *vm, const char *name)
{
	for (size_t i = 0; i < vm->n_variables; i++) {
		if (strcmp(vm->variables[i].name, name) == 0)
			return vm->variables[i].bytes;
	}
	vm_die("the object has no variable %s", name);
}

/* --- the object ----------------------------------------------------------------------------- */

static void add_maps(struct vm *vm, const char *path)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_map *map;

	if (!object)
		vm_die("%s: libbpf cannot open it", path);
	bpf_object__for_each_map(map, object)
	{
		struct vm_map *m = &vm->maps[vm->n_maps];
		enum bpf_map_type type = bpf_map__type(map);

		if (bpf_map__is_internal(map)) /* variables */
			continue;
		if (++vm->n_maps == VM_MAPS_MOST)
			vm_die("%s: more than %d maps", path, VM_MAPS_MOST - 1);
		snprintf(m->name, sizeof(m->name), "%s", bpf_map__name(map));
		m->entries = bpf_map__max_entries(map);
		m->key_size = bpf_map__key_size(map);
		m->value_size = bpf_map__value_size(map);
		m->apart = (m->value_size + 7) & ~(size_t)7; /* as in the kernel's arrays */
		m->is_hash = type == BPF_MAP_TYPE_HASH || type == BPF_MAP_TYPE_LRU_HASH;
	}
	bpf_object__close(object);
}

static Elf_Data *section_data(const struct object *o, size_t index, GElf_Shdr *ret_header)
{
	Elf_Scn *section = elf_getscn(o->elf, index);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;

	if (!data || !gelf_getshdr(section, ret_header))
		vm_die("section %zu: %s", index, elf_errmsg(-1));
	return data;
}

static const char *section_name(const struct object *o, size_t index)
{
	GElf_Shdr header;
	const char *name;

	section_data(o, index, &header);
	name = elf_strptr(o->elf, o->strings, header.sh_name);
	return name ? name : "";
}

/* Finds the sections that matter, and gives those of variables memory. */
static void find_sections(struct object *o, const char *entry)
{
	size_t count;

	if (elf_getshdrnum(o->elf, &count) || elf_getshdrstrndx(o->elf, &o->strings) ||
	    count > SECTIONS)
		vm_die("no BPF object: %s", elf_errmsg(-1));
	for (size_t i = 1; i < count; i++) {
		const char *name = section_name(o, i);
		GElf_Shdr header;
		Elf_Data *data = section_data(o, i, &header);

		if (strcmp(name, ".text") == 0)
			o->text = i;
		else if (strcmp(name, entry) == 0)
			o->program = i;
		else if (strcmp(name, ".maps") == 0)
			o->maps = i;
		else if (header.sh_type == SHT_SYMTAB)
			o->symbols = data, o->symbol_strings = header.sh_link;
		else if (!strncmp(name, ".rodata", 7) || !strcmp(name, ".data") ||
			 !strcmp(name, ".bss"))
			o->data[i] = vm_share(o->vm, VM_MAPS, 0, data->d_size);
		if (o->data[i] && data->d_buf)
			memcpy(o->data[i], data->d_buf, data->d_size);
	}
	if (!o->text || !o->program || !o->maps || !o->symbols)
		vm_die("the object has no section %s, or none of functions, maps or symbols",
		       entry);
}

static GElf_Sym symbol_at(const struct object *o, size_t index, const char **ret_name)
{
	GElf_Sym symbol;

	if (!gelf_getsym(o->symbols, (int)index, &symbol))
		vm_die("symbol %zu: %s", index, elf_errmsg(-1));
	*ret_name = elf_strptr(o->elf, o->symbol_strings, symbol.st_name);
	if (!*ret_name)
		*ret_name = "";
	return symbol;
}

static void add_variables(struct object *o)
{
	struct vm *vm = o->vm;

	for (size_t i = 0; i < o->symbols->d_size / sizeof(Elf64_Sym); i++) {
		const char *name;
		GElf_Sym symbol = symbol_at(o, i, &name);
		struct vm_variable *v = &vm->variables[vm->n_variables];

		if (symbol.st_shndx >= SECTIONS || !o->data[symbol.st_shndx] ||
		    GELF_ST_TYPE(symbol.st_info) != STT_OBJECT)
			continue;
		if (++vm->n_variables == VM_MAPS_MOST)
			vm_die("more than %d variables", VM_MAPS_MOST - 1);
		snprintf(v->name, sizeof(v->name), "%s", name);
		v->bytes = o->data[symbol.st_shndx] + symbol.st_value;
	}
}

/* Adds a section's instructions to the code, and returns the index of the first. */
static size_t add_code(struct object *o, size_t section)
{
	struct vm *vm = o->vm;
	size_t at = vm->n_code;
	GElf_Shdr header;
	const Elf_Data *data = section_data(o, section, &header);

	vm->n_code += data->d_size / sizeof(*vm->code);
	vm->code = reallocarray(vm->code, vm->n_code, sizeof(*vm->code));
	if (!vm->code)
		vm_die("no memory");
	memcpy(vm->code + at, data->d_buf, data->d_size);
	return at;
}

/* --- linking -------------------------------------------------------------------------------- */

static void put_constant(struct bpf_insn *in, uint64_t value)
{
	in[0].src_reg = 0;
	in[0].imm = (int32_t)value;
	in[1].imm = (int32_t)(value >> 32);
}

/* An instruction that names a map, a variable or a function. */
static void link_one(struct object *o, size_t at, uint32_t type, size_t index)
{
	struct bpf_insn *in = &o->vm->code[at];
	const char *name;
	GElf_Sym symbol = symbol_at(o, index, &name);
	size_t section = symbol.st_shndx;
	uint64_t addend = symbol.st_value + (uint64_t)(int64_t)in->imm;

	if (type == R_BPF_64_32 && section == o->text)
		in->imm = (int32_t)((int64_t)symbol.st_value / 8 + in->imm - (int64_t)at);
	else if (type == R_BPF_64_64 && section == o->maps)
		put_constant(in, (uintptr_t)map_named(o->vm, name));
	else if (type == R_BPF_64_64 && section == o->text)
		put_constant(in, VM_FUNCTIONS + addend / 8);
	else if (type == R_BPF_64_64 && section < SECTIONS && o->data[section])
		put_constant(in, (uintptr_t)o->data[section] + addend);
	else
		vm_die("instruction %zu: a relocation of type %u to %s", at, type, name);
}

/* The relocations of the section whose code begins at the index `first`. */
static void link_code(struct object *o, size_t section, size_t first)
{
	size_t count = 0;

	elf_getshdrnum(o->elf, &count);
	for (size_t i = 1; i < count; i++) {
		GElf_Shdr header;
		Elf_Data *data = section_data(o, i, &header);

		if (header.sh_type != SHT_REL || header.sh_info != section)
			continue;
		for (size_t k = 0; k < data->d_size / sizeof(Elf64_Rel); k++) {
			GElf_Rel rel;

			if (!gelf_getrel(data, (int)k, &rel))
				vm_die("relocation %zu: %s", k, elf_errmsg(-1));
			link_one(o, first + rel.r_offset / 8, (uint32_t)GELF_R_TYPE(rel.r_info),
				 GELF_R_SYM(rel.r_info));
		}
	}
}

static uint32_t numbers; /* a bit for each machine that there is */

struct vm *vm_new(const char *path, const char *entry)
{
	struct object o = {.vm = calloc(1, sizeof(struct vm))};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t text;

	if (!o.vm || fd < 0)
		vm_die("%s: cannot be opened; `make all` makes it", path);
	while (numbers >> o.vm->number & 1)
		o.vm->number++;
	numbers |= 1u << o.vm->number;
	elf_version(EV_CURRENT);
	o.elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!o.elf)
		vm_die("%s: %s", path, elf_errmsg(-1));
	add_maps(o.vm, path);
	find_sections(&o, entry);
	add_variables(&o);
	text = add_code(&o, o.text);
	o.vm->entry = add_code(&o, o.program);
	link_code(&o, o.text, text);
	link_code(&o, o.program, o.vm->entry);
	elf_end(o.elf);
	close(fd);
	return o.vm;
}

void vm_free(struct vm *vm)
{
	if (!vm)
		return;
	for (size_t i = 0; i < vm->n_regions; i++)
		munmap(vm->regions[i].bytes, vm->regions[i].size);
	for (size_t i = 0; i < vm->n_maps; i++)
		free(vm->maps[i].keys);
	numbers &= ~(1u << vm->number);
	free(vm->code);
	free(vm);
}
