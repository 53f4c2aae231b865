/* SPDX-License-Identifier: MIT */
/*
 * Opens a machine, and looks up what it has kept: versions of pieces of code, of addresses in them,
 * and of functions; see machine.h. A newer version leads to the older one, which a record that is
 * still queued may need.
 */
#include "daemon/recorder/machine.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "daemon/recorder/machine_internal.h"

#define MOST_OLDER 8 /* versions of one thing that are looked at */
#define LEAST_SAME 2 /* blocks around an address that prove that it is the same code */

int machine_open(const struct runtime *runtime, const struct elf_file *elf, uint64_t bias,
		 const struct runtime_layout *layout, pid_t pid, struct managed *managed,
		 struct process_reads *reads, struct machine **ret_machine)
{
	struct machine *m = calloc(1, sizeof(*m));
	struct runtime_memory memory = {
		.read = process_memory_read, .has = process_memory_has, .layout = layout};
	int err;

	if (!m)
		return -ENOMEM;
	m->runtime = runtime;
	m->is = runtime->machine;
	m->managed = managed;
	err = process_memory_new("/proc", pid, reads, &m->memory);
	memory.arg = m->memory;
	if (!err) {
		process_memory_begin(m->memory, clock_ns(CLOCK_MONOTONIC), 0);
		err = m->is->open(elf, bias, &memory, &m->at);
	}
	if (err) {
		machine_free(m);
		return err;
	}
	m->is->range(m->at, &m->low, &m->high);
	machine_add_mapping(m, bias);
	*ret_machine = m;
	return 0;
}

void machine_add_mapping(struct machine *m, uint64_t bias)
{
	for (size_t i = 0; i < m->n_biases; i++) {
		if (m->biases[i] == bias)
			return;
	}
	m->biases[m->next_bias++ % MACHINE_BIASES] = bias;
	m->n_biases += m->n_biases < MACHINE_BIASES;
}

void machine_free(struct machine *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->functions.count; i++)
		free(m->functions.items[i].lines);
	free(m->pieces.items);
	free(m->addresses.items);
	free(m->frames.items);
	free(m->functions.items);
	free(m->pending.items);
	int_map_fini(&m->by_start);
	int_map_fini(&m->by_address);
	int_map_fini(&m->by_function);
	if (m->at)
		m->is->close(m->at);
	process_memory_free(m->memory);
	free(m);
}

uint64_t machine_bytes(const struct machine *m)
{
	return (m->is->bytes ? m->is->bytes(m->at) : 0) + m->pieces.cap * sizeof(*m->pieces.items) +
	       m->addresses.cap * sizeof(*m->addresses.items) +
	       m->frames.cap * sizeof(*m->frames.items) +
	       m->functions.cap * sizeof(*m->functions.items) + m->line_bytes +
	       (m->by_start.slots + m->by_address.slots + m->by_function.slots) *
		       sizeof(struct int_map_slot);
}

bool machine_is_full(const struct machine *m)
{
	return m->pieces.count >= MOST_VERSIONS || m->addresses.count >= MOST_VERSIONS ||
	       m->functions.count >= MOST_VERSIONS || m->frames.count > MOST_FRAMES ||
	       m->line_bytes >= MOST_BYTES;
}

bool machine_is_walked(const struct machine *m)
{
	return m->is->is_walked;
}

bool machine_has(const struct machine *m, uint64_t address)
{
	return m->is->is_anywhere || address - m->low < m->high - m->low;
}

bool machine_is_file_code(const struct machine *m, uint64_t address)
{
	for (size_t i = 0; i < m->n_biases && m->is->is_anywhere; i++) {
		if (address - m->biases[i] - m->low < m->high - m->low)
			return true;
	}
	return false;
}

bool machine_is_handler(const struct machine *m, uint64_t address)
{
	for (size_t i = 0; i < m->n_biases && m->is->is_handler; i++) {
		if (m->is->is_handler(m->at, address - m->biases[i]))
			return true;
	}
	return false;
}

/* Returns whether an interpreter's frame can run a function. A native function has no bytecode, and
 * an instruction of 0 or right behind it. */
bool machine_can_run(const struct function *f, const struct runtime_activation *frame)
{
	if (!f->identity || (f->constants && f->constants != frame->constants))
		return false;
	return f->code_size ? frame->instruction - f->code < f->code_size
			    : !frame->instruction || frame->instruction == f->code;
}

/* Returns the hash of that block at the sample; 0: it is not known. */
uint32_t machine_hash_then(const struct machine_stack *stack, uint64_t address)
{
	uint64_t block = address / STACKD_CODE_BLOCK;

	for (size_t i = 0; i < stack->n_code; i++) {
		const struct stackd_code_mark *mark = &stack->code[i];
		uint64_t at = block - (mark->address / STACKD_CODE_BLOCK - STACKD_CODE_BEFORE);

		if (mark->address && at < STACKD_CODE_BLOCKS && mark->hashes[at])
			return mark->hashes[at];
	}
	return 0;
}

/* Returns whether a sample hit the code that was read at an address: nearly all blocks around it
 * have the same hashes. One alone could be in other code as well. */
bool machine_was_same(const struct address *a, const struct machine_stack *stack, uint64_t address,
		      unsigned most_other)
{
	unsigned same = 0, other = 0;

	for (size_t i = 0; i < AROUND; i++) {
		uint64_t at = address + (i - AROUND_MID) * STACKD_CODE_BLOCK;
		uint32_t then = a->hashes[i] ? machine_hash_then(stack, at) : 0;

		same += then && then == a->hashes[i];
		other += then && then != a->hashes[i];
	}
	return same >= LEAST_SAME && other <= most_other;
}

/* Finds what was at an address at a sample; NULL: it is not known. If nothing was read since the
 * sample, it is what was read last before, if all of its code has the same hashes. Where code is
 * never that of other functions with the same bytes, the hashes prove any version. */
const struct address *machine_address_at(const struct machine *m, const struct machine_stack *stack,
					 uint64_t address, bool is_return)
{
	const uint32_t newest = int_map_find(&m->by_address, machine_key(address, is_return));
	uint32_t index = newest;
	const struct address *same = NULL;

	for (int i = 0; i < MOST_OLDER && index != INT_MAP_NONE; i++) {
		const struct address *a = &m->addresses.items[index];
		const struct piece *piece = &m->pieces.items[a->piece];

		if (machine_span_has(&piece->span, stack->time_ns))
			return piece->is_there ? a : NULL;
		if (!m->is->unloads && machine_was_same(a, stack, address - is_return, MOST_OTHER))
			return piece->is_there ? a : NULL;
		if (index == newest && machine_is_proven(&piece->span) &&
		    piece->span.last_ns < stack->time_ns)
			same = a;
		index = a->older;
	}
	return same && m->pieces.items[same->piece].is_there &&
			       machine_was_same(same, stack, address - is_return, 0)
		       ? same
		       : NULL;
}

/* Finds the function at an address at a sample. NULL: it is not known. */
const struct function *machine_function_at(const struct machine *m, uint64_t address,
					   uint64_t time_ns)
{
	uint32_t index = int_map_find(&m->by_function, address);

	for (int i = 0; i < MOST_OLDER && index != INT_MAP_NONE; i++) {
		const struct function *f = &m->functions.items[index];

		if (machine_span_has(&f->span, time_ns))
			return f->identity && f->number != MANAGED_NONE ? f : NULL;
		index = f->older;
	}
	return NULL;
}

/* Returns the line of an instruction: the first one that the table has for it, or else the last one
 * of those before; 0: none. */
uint32_t machine_line_of(const struct function *f, int64_t instruction)
{
	size_t low = 0, high = f->n_lines;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->lines[middle].instruction < instruction)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < f->n_lines && f->lines[low].instruction == instruction)
		return f->lines[low].line;
	return low ? f->lines[low - 1].line : 0;
}
