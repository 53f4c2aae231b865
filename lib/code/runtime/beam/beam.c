/* SPDX-License-Identifier: MIT */
/*
 * Erlang's virtual machine, the BEAM. Its JIT compiler makes the code of all modules, and of its
 * scheduler's loop, process_main; facts that differ between versions are read from the latter
 * (arch/beam_code.h). Only the kernel half finds the callers of this code, since an Erlang
 * process's stack is in its heap, of which a sample has no copy (bpf/runtime_beam.bpf.h). Names and
 * lines of functions are read from the memory of the running machine (beam_vm.h); where that cannot
 * be read, from the map of JIT code that it writes (+JPperf true), as for other compilers.
 */
#include "arch/beam_code.h"
#include "runtime/beam/beam_vm.h"
#include "runtime/runtime.h"

/* bytes from process_main on that count as shared code, which has less */
#define SHARED_BEHIND 4096

_Static_assert(BEAM_CODE_SEARCHED <= RUNTIME_SEARCHED, "find() is given what is looked at");

static bool find(const uint8_t *code, size_t len, uint64_t start, uint64_t end,
		 union stackd_runtime_facts *ret_facts)
{
	struct stackd_beam beam;

	if (!beam_code_find(code, len, start, &beam))
		return false;
	beam.start = start;
	beam.size = end - start;
	beam.shared = (uint32_t)(beam.main + SHARED_BEHIND - start);
	*ret_facts = (union stackd_runtime_facts){.beam = beam};
	return true;
}

/* Returns whether an address is in the code that all modules share. Such code is called, and jumps
 * to other pieces. */
static bool is_shared(const union stackd_runtime_facts *facts, uint64_t address)
{
	return address - facts->beam.start < facts->beam.shared;
}

static const struct runtime_processes processes = {.find = find, .is_shared = is_shared};

static const struct runtime_machine machine = {
	.is_file = beam_is_file,
	.open = beam_open,
	.close = beam_close,
	.range = beam_range,
	.is_anywhere = true,
	.is_walked = true,
	.stays = true,
	.piece = beam_piece,
	.is_still = beam_is_still,
	.frames = beam_frames,
	.calls_function = beam_calls_function,
	.unloads = beam_unloads,
	.function = beam_function,
	.identity = beam_identity,
};

extern const struct runtime runtime_beam;
const struct runtime runtime_beam = {
	.number = STACKD_RUNTIME_BEAM,
	.name = "Erlang",
	.processes = &processes,
	.machine = &machine,
};
