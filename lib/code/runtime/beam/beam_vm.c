/* SPDX-License-Identifier: MIT */
/* Finds the machine, pieces of code, and functions in them; see beam_vm.h. */
#include "runtime/beam/beam_vm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/beam_code.h"
#include "arch/call_site.h"
#include "arch/code_form.h"
#include "base/hash.h"
#include "elf/elf_export.h"
#include "runtime/beam/beam_module.h"

#define STAGING	    "erts_start_staging_ranges"
#define STAGING_LEN 64 /* bytes from its start in which it loads the tables' address */

#define PAGE_MASK   UINT64_C(4095)
#define TABLES	    3
#define MOST_RANGES (1u << 18)
#define MOST_SHARED 65536 /* bytes of the code that all modules share */

/* A purge yields several times, which costs all reductions of a slice (4000). A purger that has
 * fewer has not purged anything yet. */
#define NO_PURGE 1000

/* Flags of a process that neither runs nor is to run: all from ERTS_PSFLG_FREE up to those that say
 * how it keeps messages. */
#define MOVES 0x00fffc00u

/* beam_ranges.c: struct ranges and Range. */
struct ranges {
	uint64_t modules, count, allocated, middle;
};

struct range {
	uint64_t start, end;
};

/* By release. Offsets in struct process are those of erl_process.h, in struct beam_code_header
 * those of beam_code.h; bench/erlang_truth.py judges them by real machines. */
static const struct beam_layout layouts[] = {
	{"25", .functions = 0x60, .lines = 0x48, .md5 = 0x50, .reductions = 280, .initial = 448,
	 .state = 640},
	{"27", .functions = 0x88, .lines = 0x48, .md5 = 0x78, .reductions = 272, .initial = 440,
	 .state = 624},
};

/* --- opening ---------------------------------------------------------------------------------- */

bool beam_is_file(const struct elf_file *file)
{
	uint64_t vaddr;

	return !elf_export_find(file, "etp_beamasm", &vaddr) &&
	       !elf_export_find(file, STAGING, &vaddr);
}

/* Reads what the file has at an exported symbol. */
static bool read_constant(const struct elf_file *file, const char *name, void *buf, size_t len)
{
	uint64_t vaddr, offset;

	return !elf_export_find(file, name, &vaddr) &&
	       elf_file_vaddr_to_offset(file, vaddr, &offset) &&
	       elf_file_read_whole(file, offset, buf, len);
}

static bool is_constant(const struct elf_file *file, const char *name, uint32_t wanted)
{
	uint32_t value;

	return read_constant(file, name, &value, sizeof(value)) && value == wanted;
}

static const struct beam_layout *find_layout(const struct elf_file *file)
{
	char release[sizeof(layouts[0].release)];

	if (!read_constant(file, "etp_otp_release", release, sizeof(release)) ||
	    !is_constant(file, "etp_beamasm", 1) || !is_constant(file, "etp_debug_compiled", 0) ||
	    !is_constant(file, "etp_lock_count", 0) || !is_constant(file, "etp_lock_check", 0))
		return NULL;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
		if (!memcmp(layouts[i].release, release, sizeof(release)))
			return &layouts[i];
	}
	return NULL;
}

/* Finds the vaddr of the tables of ranges. */
static bool find_tables(const struct elf_file *file, uint64_t *ret_vaddr)
{
	uint8_t code[STAGING_LEN + CODE_FORM_ADDRESS];
	const uint8_t *at;
	uint64_t vaddr;
	int32_t distance;

	if (elf_export_find(file, STAGING, &vaddr) ||
	    !read_constant(file, STAGING, code, sizeof(code)))
		return false;
	at = code_form_find_address(code, STAGING_LEN, &distance);
	*ret_vaddr =
		at ? vaddr + (uint64_t)(at - code) + CODE_FORM_ADDRESS + (uint64_t)distance : 0;
	return at;
}

/* Reads a word, or a word's address if there is no `ret_word`, at an exported symbol. */
static bool find_word(const struct beam_vm *vm, const struct elf_file *file, uint64_t bias,
		      const char *name, uint64_t *ret_address, uint64_t *ret_word)
{
	uint64_t vaddr;

	if (elf_export_find(file, name, &vaddr))
		return false;
	*ret_address = bias + vaddr;
	return !ret_word || beam_read(vm, bias + vaddr, ret_word, sizeof(*ret_word));
}

/* Returns whether the process that purges is where it is expected: it began with the function
 * start() of the module of that name. */
static bool is_purger(const struct beam_vm *vm)
{
	char name[BEAM_ATOM_ROOM];
	uint64_t module;

	return beam_read(vm, vm->purger + vm->is->initial, &module, sizeof(module)) &&
	       beam_atom(vm, module, name) && !strcmp(name, "erts_code_purger");
}

int beam_open(const struct elf_file *file, uint64_t bias, const struct runtime_memory *memory,
	      void **ret_vm)
{
	struct beam_vm *vm = calloc(1, sizeof(*vm));
	uint64_t at;
	int err = 0;

	if (!vm)
		return -ENOMEM;
	vm->memory = *memory;
	vm->is = find_layout(file);
	if (!beam_is_file(file))
		err = -ENOENT;
	else if (!vm->is || !find_tables(file, &vm->tables) ||
		 !find_word(vm, file, bias, "the_active_code_index", &vm->active, NULL) ||
		 !find_word(vm, file, bias, "erts_atom_table", &vm->atoms, NULL))
		err = -EINVAL;
	else if (!find_word(vm, file, bias, "erts_code_purger", &at, &vm->purger) || !vm->purger)
		err = -EAGAIN;
	else if (!is_purger(vm))
		err = -EINVAL;
	if (err) {
		free(vm);
		return err;
	}
	vm->tables += bias;
	find_word(vm, file, bias, "beam_bif_export_trap", &vm->trap, NULL);
	*ret_vm = vm;
	return 0;
}

void beam_close(void *vm)
{
	free(vm);
}

void beam_range(const void *vm, uint64_t *ret_low, uint64_t *ret_high)
{
	(void)vm;
	*ret_low = *ret_high = 0; /* no code of the file runs functions */
}

bool beam_read(const struct beam_vm *vm, uint64_t address, void *buf, size_t len)
{
	return vm->memory.read(vm->memory.arg, address, buf, len);
}

/* --- purges ----------------------------------------------------------------------------------- */

/* Reads how much the process that purges has run. */
static bool read_purges(const struct beam_vm *vm, uint64_t *ret_purges)
{
	uint64_t reductions;

	if (!beam_read(vm, vm->purger + vm->is->reductions, &reductions, sizeof(reductions)))
		return false;
	*ret_purges = reductions < NO_PURGE ? 0 : reductions;
	return true;
}

bool beam_unloads(void *at, uint64_t *ret_unloads)
{
	const struct beam_vm *vm = at;
	uint32_t state;

	return beam_read(vm, vm->purger + vm->is->state, &state, sizeof(state)) &&
	       !(state & MOVES) && read_purges(vm, ret_unloads);
}

/* --- pieces of code --------------------------------------------------------------------------- */

/* Reads the table of ranges that is in use. */
static bool read_table(const struct beam_vm *vm, struct ranges *ret_table)
{
	uint32_t active;

	return beam_read(vm, vm->active, &active, sizeof(active)) && active < TABLES &&
	       beam_read(vm, vm->tables + active * sizeof(*ret_table), ret_table,
			 sizeof(*ret_table)) &&
	       ret_table->count && ret_table->count <= MOST_RANGES;
}

/* Finds the first range in the table that is in use that ends behind an address. Ranges that were
 * removed are empty. */
static bool find_next(const struct beam_vm *vm, uint64_t address, struct range *ret_range)
{
	struct ranges table;
	struct range range;
	uint64_t low = 0, high;
	bool is_found = false;

	if (!read_table(vm, &table))
		return false;
	high = table.count;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (!beam_read(vm, table.modules + middle * sizeof(range), &range, sizeof(range)))
			return false;
		if (address >= range.end) {
			low = middle + 1;
			continue;
		}
		high = middle;
		*ret_range = range;
		is_found = true;
	}
	return is_found;
}

/* Finds the range with an address. */
static bool find_range(const struct beam_vm *vm, uint64_t address, struct range *ret_range)
{
	return find_next(vm, address, ret_range) && address >= ret_range->start;
}

/* Finds the code that all modules share: the JIT compiler has made it first, so it is right before
 * the code of a module, which is part of the program and is never purged. While the machine starts
 * there is no module yet. */
static void find_shared(struct beam_vm *vm)
{
	struct range next;
	uint64_t trap;

	if (vm->shared_end || !vm->trap || !beam_read(vm, vm->trap, &trap, sizeof(trap)) || !trap ||
	    !find_next(vm, trap, &next) || next.start <= trap || next.start - trap > MOST_SHARED)
		return;
	vm->shared = trap & ~PAGE_MASK;
	vm->shared_end = next.start;
}

/* Finds the module with an address in its code. */
static bool find_module(const struct beam_vm *vm, uint64_t address, struct beam_module *ret_module)
{
	struct range range;

	return find_range(vm, address, &range) &&
	       beam_module_read(vm, range.start, range.end, ret_module);
}

/* The same module that is loaded again has the same names at the same addresses; but between two
 * reads, others may have been there, if the number of purges has changed. */
static uint64_t identity_of(const struct beam_module *module, uint64_t purges)
{
	return hash_mix64(module->identity ^ hash_mix64(purges));
}

bool beam_piece(void *at, uint64_t address, struct runtime_code_piece *ret_piece)
{
	struct beam_vm *vm = at;
	struct beam_module module;
	uint64_t purges;

	find_shared(vm);
	if (address - vm->shared < vm->shared_end - vm->shared) {
		*ret_piece = (struct runtime_code_piece){.start = vm->shared,
							 .end = vm->shared_end,
							 .identity = 1,
							 .kind = RUNTIME_CODE_STUB,
							 .is_permanent = true,
							 .name = "shared code"};
		return true;
	}
	if (!find_module(vm, address, &module) || !read_purges(vm, &purges))
		return false;
	*ret_piece = (struct runtime_code_piece){.start = module.start,
						 .end = module.end,
						 .identity = identity_of(&module, purges),
						 .kind = RUNTIME_CODE_COMPILED};
	return true;
}

bool beam_is_still(void *at, const struct runtime_code_piece *piece)
{
	const struct beam_vm *vm = at;
	struct beam_module module;
	uint64_t purges;

	return piece->is_permanent ||
	       (find_module(vm, piece->start, &module) && module.start == piece->start &&
		module.end == piece->end && read_purges(vm, &purges) &&
		identity_of(&module, purges) == piece->identity);
}

/* --- functions -------------------------------------------------------------------------------- */

size_t beam_frames(void *at, const struct runtime_code_piece *piece, uint64_t address,
		   bool is_return, struct runtime_managed_frame *ret_frames, size_t max)
{
	const struct beam_vm *vm = at;
	const uint64_t within = address - is_return;
	struct beam_module module;
	uint64_t index, start;

	if (!max || !beam_module_read(vm, piece->start, piece->end, &module) ||
	    !beam_module_function(vm, &module, within, &index, &start))
		return 0;
	*ret_frames = (struct runtime_managed_frame){
		.function = start,
		.instruction = is_return ? (int32_t)(within - start) : RUNTIME_NO_INSTRUCTION};
	return 1;
}

/* Functions of the same module are called directly, at the code behind their ErtsCodeInfo. Other
 * direct calls go to shared code, also by way of a jump in the module. */
bool beam_calls_function(void *at, const struct runtime_code_piece *piece, uint64_t address)
{
	const struct beam_vm *vm = at;
	uint8_t bytes[CALL_SITE_BYTES];
	struct beam_module module;
	uint64_t target, index, start;

	if (!beam_read(vm, address - sizeof(bytes), bytes, sizeof(bytes)) ||
	    !beam_module_read(vm, piece->start, piece->end, &module))
		return false;
	target = call_site_kinds(bytes, sizeof(bytes)) & CALL_SITE_DIRECT
			 ? call_site_target(bytes + sizeof(bytes), address)
			 : 0;
	if (target - module.start < module.end - module.start ||
	    target - vm->shared < vm->shared_end - vm->shared)
		return beam_module_function(vm, &module, target, &index, &start) &&
		       target == start + BEAM_INFO_BYTES;
	return beam_code_calls_by_register(bytes);
}

/* Finds the function that begins at an address. */
static bool find_function(const struct beam_vm *vm, uint64_t address,
			  struct beam_module *ret_module, uint64_t *ret_index)
{
	uint64_t start;

	return find_module(vm, address, ret_module) &&
	       beam_module_function(vm, ret_module, address, ret_index, &start) && start == address;
}

/* The same code has the same functions, so it need not be known whether it was loaded twice. */
static uint64_t identity_in(const struct beam_module *module, uint64_t address)
{
	return hash_mix64(module->identity ^ hash_mix64(address));
}

int beam_function(void *at, uint64_t address, struct runtime_function *ret_function)
{
	const struct beam_vm *vm = at;
	struct beam_module module;
	uint64_t index;

	if (!find_function(vm, address, &module, &index))
		return -ENOENT;
	*ret_function = (struct runtime_function){.identity = identity_in(&module, address),
						  .code = address};
	return beam_module_describe(vm, &module, index, address, ret_function);
}

uint64_t beam_identity(void *at, uint64_t address)
{
	const struct beam_vm *vm = at;
	struct beam_module module;
	uint64_t index;

	return find_function(vm, address, &module, &index) ? identity_in(&module, address) : 0;
}
