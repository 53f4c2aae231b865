/* SPDX-License-Identifier: MIT */
/* Finds the machines of processes, and names the frames of paths by them; see machines.h. */
#include "daemon/recorder/machines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/int_map.h"
#include "daemon/capture/record.h"
#include "daemon/recorder/machine.h"
#include "daemon/tables/tables.h"
#include "proc/mapping_set.h"

#define MOST	   64 /* processes; the one that was used least recently makes room */
#define AGAIN_NS   UINT64_C(20000000) /* before a machine is tried again, ... */
#define OFTEN	   10		      /* so often; then twice as long each time, ... */
#define MOST_TWICE 12		      /* at most so often */
#define PAGE_MASK  UINT64_C(4095)

#define UNREAD_AT   16 /* tries: after 2.5 s it is not the time of linking any more */
#define MOST_BYTES  (UINT64_C(128) << 20) /* of all machines; the largest one makes room */
#define ACTIVE_NS   UINT64_C(1000000000)
#define IDLE_NS	    UINT64_C(60000000000) /* without a stack, as that of a process that has ended */
#define MOST_WALKED DWARF_WALK_MAX_FRAMES /* frames of a walk that is corrected */

/* What is known of a process. */
struct of_process {
	pid_t pid;	   /* 0: the slot is free */
	uint64_t since_ns; /* when the file was mapped; 0: not known */
	uint64_t until_ns; /* it has called exec, or ended, at this time; UINT64_MAX: it has not */
	const struct object *file;     /* the one with the runtime; NULL: none so far */
	uint64_t bias;		       /* address of the file's vaddr 0 */
	uint64_t also[MACHINE_BIASES]; /* and where it was mapped last besides */
	size_t n_also;
	uint64_t version;	 /* of the mappings in which the file was looked for last */
	uint64_t again_ns;	 /* when the machine may be tried again; UINT64_MAX: never */
	uint32_t tries;		 /* that failed */
	uint64_t used;		 /* by the clock of machines */
	uint64_t noted_ns;	 /* when a stack came last */
	struct machine *machine; /* NULL: none so far */
	uint64_t opened_ns;	 /* when the machine was opened */
};

struct machines {
	struct machines_options with;
	struct of_process processes[MOST];
	struct int_map files; /* number of the runtime that a file has, by that of its object */
	uint64_t clock;
	struct process_reads reads;
	struct machines_counts counts;
	uint64_t noted_ns; /* when a stack of a machine came last */
	bool has_walked;   /* a file was met whose runtime's code the kernel half walks */
	struct location found[MACHINE_MOST];
	struct walk_frame walked[MOST_WALKED]; /* a walk that is being corrected */
};

int machines_new(const struct machines_options *options, struct machines **ret_machines)
{
	struct machines *ms = calloc(1, sizeof(*ms));

	if (!ms)
		return -ENOMEM;
	ms->with = *options;
	ms->reads.mounts = options->mounts;
	ms->reads.memory = locator_memory(options->locator);
	*ret_machines = ms;
	return 0;
}

void machines_free(struct machines *ms)
{
	if (!ms)
		return;
	for (size_t i = 0; i < MOST; i++)
		machine_free(ms->processes[i].machine);
	process_reads_fini(&ms->reads);
	int_map_fini(&ms->files);
	free(ms);
}

struct machines_counts machines_counts(const struct machines *ms)
{
	return ms->counts;
}

/* --- finding ---------------------------------------------------------------------------------- */

/* Returns the present slot of a process; NULL: it has none. */
static struct of_process *find_process(struct machines *ms, pid_t pid)
{
	for (size_t i = 0; i < MOST; i++) {
		if (ms->processes[i].pid == pid && ms->processes[i].until_ns == UINT64_MAX)
			return &ms->processes[i];
	}
	return NULL;
}

/* Gives a process a new slot. */
static struct of_process *add_process(struct machines *ms, pid_t pid)
{
	struct of_process *oldest = &ms->processes[0];

	for (size_t i = 0; i < MOST; i++) {
		if (ms->processes[i].used < oldest->used)
			oldest = &ms->processes[i];
	}
	machine_free(oldest->machine);
	*oldest = (struct of_process){.pid = pid, .until_ns = UINT64_MAX, .used = ++ms->clock};
	return oldest;
}

/* Returns the runtime with a machine that a file has; NULL: none, or no memory. */
static const struct runtime *runtime_of(struct machines *ms, const struct object *object)
{
	uint32_t number = STACKD_RUNTIME_COUNT;

	if (object->kind != OBJECT_ELF || !object->elf)
		return NULL;
	number = int_map_find(&ms->files, object->number);
	if (number != INT_MAP_NONE)
		return runtime_of_number(number);
	for (number = 0; number < STACKD_RUNTIME_COUNT; number++) {
		if (runtimes[number]->machine && runtimes[number]->machine->is_file(object->elf))
			break;
	}
	ms->has_walked |= number < STACKD_RUNTIME_COUNT && runtimes[number]->machine->is_walked;
	return int_map_set(&ms->files, object->number, number) ? NULL : runtime_of_number(number);
}

/* Computes at which address a process has vaddr 0 of a file, from a mapping of its code. */
static bool find_bias(const struct object *object, uint64_t start, uint64_t offset,
		      uint64_t *ret_bias)
{
	size_t count;
	const Elf64_Phdr *headers = elf_file_program_headers(object->elf, &count);

	for (size_t i = 0; i < count; i++) {
		const Elf64_Phdr *h = &headers[i];

		if (h->p_type != PT_LOAD || !(h->p_flags & PF_X) ||
		    offset < (h->p_offset & ~PAGE_MASK) || offset >= h->p_offset + h->p_filesz)
			continue;
		*ret_bias = start - offset + h->p_offset - h->p_vaddr;
		return true;
	}
	return false;
}

/* Notes that a process has mapped its runtime's file once more. */
static void add_mapping(struct of_process *p, uint64_t bias)
{
	p->also[p->n_also++ % MACHINE_BIASES] = bias;
	if (p->machine)
		machine_add_mapping(p->machine, bias);
}

bool machines_has_words(const struct machines *ms, pid_t pid)
{
	for (size_t i = 0; i < MOST; i++) {
		const struct of_process *p = &ms->processes[i];
		uint32_t number = p->pid == pid && p->file
					  ? int_map_find(&ms->files, p->file->number)
					  : INT_MAP_NONE;

		if (number != INT_MAP_NONE && runtime_of_number(number) &&
		    runtime_of_number(number)->is_pointed)
			return true;
	}
	return false;
}

void machines_note_mapping(struct machines *ms, pid_t pid, uint64_t time_ns,
			   const struct object_mapping *mapping, const struct object *object)
{
	struct of_process *p;
	uint64_t bias;

	if (!runtime_of(ms, object) || !find_bias(object, mapping->start, mapping->offset, &bias))
		return;
	p = find_process(ms, pid);
	if (p && p->file == object && p->bias == bias)
		return;
	if (p && p->file == object && runtime_of(ms, object)->machine->is_anywhere) {
		add_mapping(p, bias);
		return;
	}
	if (p && p->file) { /* another process, with the id of one that has ended */
		p->until_ns = time_ns;
		p = NULL;
	}
	if (!p)
		p = add_process(ms, pid);
	p->file = object;
	p->bias = bias;
	p->since_ns = time_ns;
}

void machines_note_exec(struct machines *ms, pid_t pid, uint64_t time_ns)
{
	struct of_process *p = find_process(ms, pid);

	if (p && p->since_ns < time_ns) /* else the event comes late, from another ring */
		p->until_ns = time_ns;
}

static bool has_jit(const struct mapping_set *set)
{
	for (uint32_t i = 0; i < set->count; i++) {
		if (set->maps[i].object->kind == OBJECT_JIT)
			return true;
	}
	return false;
}

/* Looks for the file in the mappings of a process that has JIT code: the process had it before it
 * was recorded. */
static void look_for_file(struct machines *ms, struct of_process *p, const struct mapping_set *set)
{
	p->version = set->version;
	for (uint32_t i = 0; i < set->count; i++) {
		const struct mapping *map = &set->maps[i];

		if (map->is_copy || !runtime_of(ms, map->object) ||
		    !find_bias(map->object, map->start, map->offset, &p->bias))
			continue;
		p->file = map->object;
		break;
	}
	for (uint32_t i = 0; i < set->count && p->file; i++) {
		const struct mapping *map = &set->maps[i];
		uint64_t bias;

		if (map->object == p->file &&
		    find_bias(map->object, map->start, map->offset, &bias) && bias != p->bias)
			add_mapping(p, bias);
	}
}

static uint64_t pause_after(uint32_t tries)
{
	uint32_t twice = tries > OFTEN ? tries - OFTEN : 0;

	return AGAIN_NS << (twice < MOST_TWICE ? twice : MOST_TWICE);
}

/* Tries to open the machine. It may not have started yet, and while its file is being linked, its
 * tables are not right; a process that means harm can make it so for ever. 0 or -ENOMEM. */
static int open_machine(struct machines *ms, struct of_process *p, uint64_t now_ns)
{
	const struct runtime *runtime = runtime_of(ms, p->file);
	const bool has_layout = runtime && runtime->machine->has_layout;
	const struct runtime_layout *layout =
		has_layout && ms->with.tables ? tables_layout(ms->with.tables, p->file) : NULL;
	int err;

	if (has_layout && !layout) { /* the file's table is not made yet */
		p->again_ns = now_ns + AGAIN_NS;
		return 0;
	}
	err = machine_open(runtime, p->file->elf, p->bias, layout, p->pid, ms->with.managed,
			   &ms->reads, &p->machine);
	for (size_t i = 0; i < p->n_also && i < MACHINE_BIASES && !err; i++)
		machine_add_mapping(p->machine, p->also[i]);
	ms->counts.found += !err;
	p->opened_ns = clock_ns(CLOCK_MONOTONIC);
	ms->counts.unread += err == -EINVAL && p->tries == (has_layout ? 0 : UNREAD_AT);
	p->tries++;
	p->again_ns = err == -ENOENT || (err == -EINVAL && has_layout)
			      ? UINT64_MAX
			      : now_ns + pause_after(p->tries);
	return err == -ENOMEM ? err : 0;
}

/* Returns whether a process's runtime is one whose code the kernel half walks. */
static bool is_walked(struct machines *ms, const struct of_process *p)
{
	const struct runtime *runtime = p && p->file ? runtime_of(ms, p->file) : NULL;

	return runtime && runtime->machine->is_walked;
}

/* Gives a process's machine; NULL: it has none. 0 or -ENOMEM. */
static int machine_of(struct machines *ms, pid_t pid, uint64_t now_ns, struct machine **ret_machine)
{
	struct of_process *p = find_process(ms, pid);
	int err = 0;

	*ret_machine = NULL;
	if (!p || !p->file) {
		const struct mapping_set *set = locator_mappings(ms->with.locator, pid);

		if (!set || (p && p->version == set->version) || (!p && !has_jit(set)))
			return 0;
		if (!p)
			p = add_process(ms, pid);
		look_for_file(ms, p, set);
	}
	p->used = ++ms->clock;
	p->noted_ns = now_ns;
	if (p->file)
		ms->noted_ns = now_ns;
	if (p->file && !p->machine && now_ns >= p->again_ns)
		err = open_machine(ms, p, now_ns);
	*ret_machine = p->machine;
	return err;
}

/* --- records ---------------------------------------------------------------------------------- */

/* false: the record has no user stack. */
static bool stack_of(const struct stackd_stack_record *record, struct machine_stack *ret_stack)
{
	size_t n_more;
	const uint64_t *more = record_more_holes(record, &n_more);

	*ret_stack = (struct machine_stack){
		.time_ns = record->header.time_ns,
		.regs = &record->regs,
		.memory = {.bytes = (const uint8_t *)(record_kernel(&record->header) +
						      record->header.n_kernel),
			   .start = record->regs.r[STACKD_REG_SP],
			   .len = record->stack_bytes,
			   .holes = record->holes,
			   .more_holes = more,
			   .n_more_holes = n_more,
			   .below = record->below},
		.code = record_code(record),
		.n_code = record->code_count,
	};
	return record->header.flags & STACKD_HAS_REGS && !(record->header.flags & STACKD_COMPAT);
}

static void close_machine(struct of_process *p)
{
	machine_free(p->machine);
	p->machine = NULL;
}

/* Frees the machines that are full or were not used for long, and the largest one if all take too
 * much. They can be opened anew. */
static void keep_small(struct machines *ms, uint64_t now_ns)
{
	struct of_process *largest = NULL;
	uint64_t sum = 0, most = 0;

	for (size_t i = 0; i < MOST; i++) {
		struct of_process *p = &ms->processes[i];
		bool is_full = p->machine && machine_is_full(p->machine);
		uint64_t bytes;

		ms->counts.full += is_full;
		if (is_full || (p->machine && now_ns > p->noted_ns + IDLE_NS))
			close_machine(p);
		bytes = p->machine ? machine_bytes(p->machine) : 0;
		sum += bytes;
		if (bytes > most) {
			most = bytes;
			largest = p;
		}
	}
	if (sum > MOST_BYTES) {
		ms->counts.full++;
		close_machine(largest);
	}
}

int machines_note(struct machines *ms, const struct stackd_stack_record *record)
{
	struct machine_stack stack;
	struct machine *machine;
	uint64_t now_ns;
	int err;

	if (!stack_of(record, &stack))
		return 0;
	now_ns = clock_ns(CLOCK_MONOTONIC);
	err = machine_of(ms, (pid_t)record->pid, now_ns, &machine);
	if (machine && !err)
		err = machine_note(machine, &stack, now_ns);
	keep_small(ms, now_ns);
	return err;
}

bool machines_are_active(const struct machines *ms, uint64_t now_ns)
{
	return ms->noted_ns && now_ns - ms->noted_ns < ACTIVE_NS;
}

/* Returns the slot of the machine that a process had at a time; NULL: it had none. */
static const struct of_process *process_at(const struct machines *ms, pid_t pid, uint64_t time_ns)
{
	const struct of_process *found = NULL;

	for (size_t i = 0; i < MOST; i++) {
		const struct of_process *p = &ms->processes[i];

		if (p->pid == pid && p->machine && time_ns < p->until_ns &&
		    (!found || p->until_ns < found->until_ns))
			found = p;
	}
	return found;
}

static const struct of_process *process_of(const struct machines *ms,
					   const struct stackd_stack_record *record)
{
	return process_at(ms, (pid_t)record->pid, record->header.time_ns);
}

struct machine *machines_walked_at(const struct machines *ms, pid_t pid, uint64_t time_ns)
{
	const struct of_process *p = process_at(ms, pid, time_ns);

	return p && machine_is_walked(p->machine) ? p->machine : NULL;
}

int machines_of_walked(struct machines *ms, pid_t pid, uint64_t now_ns,
		       struct machine **ret_machine)
{
	*ret_machine = NULL;
	if (!ms->has_walked || !is_walked(ms, find_process(ms, pid)))
		return 0;
	keep_small(ms, now_ns);
	return machine_of(ms, pid, now_ns, ret_machine);
}

void machines_count_frame(struct machines *ms, bool is_named)
{
	ms->counts.frames += is_named;
	ms->counts.unproven += !is_named;
}

/* Returns the machine that a record's process had, if it has an address in its memory for code;
 * NULL: none. */
static struct machine *machine_at(const struct machines *ms,
				  const struct stackd_stack_record *record, uint64_t address)
{
	const struct of_process *p = process_of(ms, record);

	return p && machine_has(p->machine, address) ? p->machine : NULL;
}

/* Reads what a stack's frames will be found by, if the machine was opened after the record was
 * taken: it had come to the daemon before. Without memory, its frames have no names. */
static void note_late(const struct machines *ms, const struct stackd_stack_record *record,
		      const struct machine_stack *stack)
{
	const struct of_process *p = process_of(ms, record);

	if (p && record->header.time_ns < p->opened_ns)
		machine_note(p->machine, stack, clock_ns(CLOCK_MONOTONIC));
}

/* --- walks ------------------------------------------------------------------------------------ */

/*
 * The walk derives rules of JIT code from its instructions, or follows frame pointers where it
 * finds none, and can miss frames. The machine knows the size of each compiled frame. So each such
 * step is compared, and where it is wrong, the walk goes on by what the machine knows, until it
 * comes to a frame that the first walk has found, too.
 */

/* Gives the frame of a walk to machine_step(); `callee` is the one before, which is the leaf if
 * `is_leafs`. */
static void begin_step(const struct machine *machine, const struct machine_stack *stack,
		       const struct walk_frame *callee, bool is_leafs,
		       const struct walk_frame *frame, struct machine_frame *ret_frame)
{
	*ret_frame = (struct machine_frame){.address = frame->address,
					    .is_return = frame->is_return,
					    .is_leaf = !callee && !frame->is_return};
	if (frame->is_return)
		ret_frame->sp = frame->slot + 8;
	else if (!callee)
		ret_frame->sp = stack->regs->r[STACKD_REG_SP];
	if (callee && machine_saves_fp(machine, stack, callee->address, callee->is_return))
		walk_memory_read8(&stack->memory, frame->slot - 8, &ret_frame->fp);
	if (callee)
		machine_sender(machine, stack, callee->address, callee->is_return, is_leafs,
			       frame->slot - 8, &ret_frame->sp);
}

/* A walk that is being corrected. The corrected frames go to ms->walked. */
struct correction {
	bool is_lost;		   /* no frame of the walk comes next: machine_step() */
	struct machine_frame last; /* after walk_on(): the frame at which it has ended */
	struct machines *ms;
	const struct machine_stack *stack;
	const struct walk_input *in;
	const struct walk_frame *frames;
	size_t count; /* of `frames` */
	size_t at;    /* in `frames`: the next one to take */
	size_t n;     /* of ms->walked */
};

/* Finds the frame pointer of a frame of the interpreter that has called the runtime. That has saved
 * it first, as its functions do; or the leaf has it in the register still. Then it leads to the
 * frame of a function that is proven. */
static uint64_t find_run(const struct correction *c, const struct machine *machine)
{
	const struct walk_frame *walked = c->ms->walked;
	uint64_t fp = c->stack->regs->r[STACKD_REG_FP];
	size_t i = c->n - 1;

	while (i && machine_is_part(machine, c->stack, walked[i].address, walked[i - 1].address,
				    walked[i - 1].is_return))
		i--;
	if (i == 1 && !walked[0].is_return && fp > walked[1].slot &&
	    machine_is_run(machine, c->stack, fp))
		return fp;
	if (i && !walk_memory_read8(&c->stack->memory, walked[i].slot - 8, &fp))
		return 0;
	return machine_is_run(machine, c->stack, fp) ? fp : 0;
}

/* Gives the first frame of a walk, which has no callee, to machine_step(). */
static void begin_first(const struct correction *c, const struct machine *machine,
			struct machine_frame *ret_frame)
{
	const struct walk_frame *first = &c->ms->walked[0];

	begin_step(machine, c->stack, NULL, false, first, ret_frame);
	if (ret_frame->is_leaf)
		ret_frame->fp = machine_leaf_fp(machine, c->stack, first->address);
}

/* If the machine knows the step from the leaf to the last frame, gives that frame to
 * machine_step(). */
static bool begin_leafs_caller(const struct correction *c, const struct machine *machine,
			       struct machine_frame *ret_frame)
{
	const struct walk_frame *last = &c->ms->walked[c->n - 1];
	struct machine_frame caller;
	uint64_t slot;

	if (c->n != 2)
		return false;
	begin_first(c, machine, &caller);
	if (!caller.is_leaf || !machine_is_sized(machine, c->stack, &caller) ||
	    !machine_step(machine, c->stack, &caller, false, &slot) || slot != last->slot ||
	    caller.address != last->address)
		return false;
	*ret_frame = caller;
	return true;
}

/* Gives the last corrected frame to machine_step(). */
static void begin_last(const struct correction *c, const struct machine *machine,
		       struct machine_frame *ret_frame)
{
	const struct walk_frame *last = &c->ms->walked[c->n - 1];
	const struct walk_frame *callee = c->n > 1 ? last - 1 : NULL;

	if (begin_leafs_caller(c, machine, ret_frame))
		return;
	if (!callee) {
		begin_first(c, machine, ret_frame);
		return;
	}
	begin_step(machine, c->stack, callee, c->n == 2, last, ret_frame);
	if (machine_is_part(machine, c->stack, last->address, callee->address, callee->is_return))
		ret_frame->fp = 0; /* what was pushed below is no frame pointer */
	if (!ret_frame->fp && last->is_return)
		ret_frame->fp = find_run(c, machine);
}

/* What the machine knows of the step from the last frame to the next one. */
enum step { STEP_UNKNOWN, STEP_RIGHT, STEP_WRONG };

static enum step judge_step(const struct correction *c, const struct machine *machine)
{
	const struct walk_frame *next = &c->frames[c->at];
	struct machine_frame frame, caller;
	bool is_known, is_sized;
	uint64_t slot;

	begin_last(c, machine, &frame);
	is_sized = machine_is_sized(machine, c->stack, &frame);
	caller = frame;
	is_known = machine_step(machine, c->stack, &caller, !is_sized, &slot);
	if (is_known && slot == next->slot && caller.address == next->address)
		return STEP_RIGHT;
	if (is_sized && (is_known || frame.is_return))
		return is_known ? STEP_WRONG : STEP_UNKNOWN;
	return (frame.is_return || c->n == 1) &&
			       !machine_may_lead(machine, c->stack, &frame, next->slot)
		       ? STEP_WRONG
		       : STEP_UNKNOWN;
}

/* Walks on from the last frame by what the machine knows, until it comes to a frame of the first
 * walk, which is the next one then. Slots only rise, so each frame is passed once. If it comes to
 * none, or there is no room, no frame is next. Returns whether it has made a step. */
static bool walk_on(struct correction *c, const struct machine *machine)
{
	struct walk_frame *walked = c->ms->walked;
	const size_t before = c->n;
	uint64_t slot;

	begin_last(c, machine, &c->last);
	while (c->n < MOST_WALKED && machine_step(machine, c->stack, &c->last, true, &slot)) {
		struct walk_frame *f = &walked[c->n];

		walked[c->n - 1].provenance = PROVENANCE_RUNTIME_TABLE;
		while (c->at < c->count && (c->frames[c->at].slot < slot ||
					    (c->frames[c->at].slot == slot &&
					     c->frames[c->at].address != c->last.address)))
			c->at++;
		if (c->at < c->count && c->frames[c->at].slot == slot)
			return true;
		*f = (struct walk_frame){.address = c->last.address,
					 .offset = c->last.address - 1,
					 .slot = slot,
					 .is_return = true};
		c->in->find(c->in->arg, f->address - 1, &f->object, &f->offset);
		c->n++;
	}
	c->at = c->count;
	return c->n > before;
}

/* Makes *regs those of the frame at which a correction has ended. */
static void end_registers(const struct correction *c, struct stackd_regs *regs)
{
	memset(regs, 0, sizeof(*regs));
	regs->r[STACKD_REG_PC] = c->last.address;
	regs->r[STACKD_REG_SP] = c->last.sp;
	regs->r[STACKD_REG_FP] = c->last.fp;
}

/* Proves the steps by frame pointers out of code that is known to keep them. Returns the number of
 * frames up to the first one of which it is known that it may not have made its frame. */
static size_t prove_framed(struct machines *ms, const struct stackd_stack_record *record,
			   const struct machine_stack *stack, struct walk_frame *frames,
			   size_t count)
{
	for (size_t i = 0; i + 1 < count; i++) {
		struct walk_frame *f = &frames[i];
		const struct machine *machine =
			f->is_return && f->provenance == PROVENANCE_FRAME_POINTER
				? machine_at(ms, record, f->address)
				: NULL;
		enum machine_framing framing = machine ? machine_framing(machine, stack, f->address)
						       : MACHINE_FRAMING_UNKNOWN;

		if (framing == MACHINE_UNFRAMED)
			return i + 1;
		if (framing == MACHINE_FRAMED)
			f->provenance = PROVENANCE_RUNTIME_TABLE;
	}
	return count;
}

enum machines_walk machines_correct(struct machines *ms, const struct stackd_stack_record *record,
				    const struct walk_input *in, bool is_whole,
				    struct walk_frame *frames, size_t *count,
				    struct stackd_regs *ret_regs)
{
	struct machine_stack stack;
	struct correction c = {
		.ms = ms, .stack = &stack, .in = in, .frames = frames, .count = *count};
	bool is_corrected = false, is_open = false, is_cut = false, has_proven = false;

	if (!stack_of(record, &stack))
		return MACHINES_WALK_SAME;
	note_late(ms, record, &stack);
	if (machines_walked_at(ms, (pid_t)record->pid, record->header.time_ns))
		return MACHINES_WALK_SAME;
	c.count = prove_framed(ms, record, &stack, frames, *count);
	if (c.count < *count) {
		ms->counts.corrected++;
		*count = c.count;
		return MACHINES_WALK_ENDS;
	}
	while (c.at < c.count && c.n < MOST_WALKED) {
		const struct walk_frame *f = &frames[c.at++];
		const struct machine *machine = machine_at(ms, record, f->address);
		bool is_last = c.at == c.count;
		enum step step;

		ms->walked[c.n++] = *f;
		step = machine && !is_last ? judge_step(&c, machine) : STEP_UNKNOWN;
		if (step == STEP_RIGHT) {
			has_proven |= f->provenance != PROVENANCE_RUNTIME_TABLE;
			ms->walked[c.n - 1].provenance = PROVENANCE_RUNTIME_TABLE;
		}
		if (!machine ||
		    (is_last ? is_whole || (!f->is_return && c.n > 1) : step != STEP_WRONG))
			continue;
		if (walk_on(&c, machine))
			is_open = c.at == c.count;
		else if (is_last)
			continue;
		else
			is_cut = true;
		ms->counts.corrected++;
		is_corrected = true;
	}
	if (!is_corrected && !has_proven)
		return MACHINES_WALK_SAME;
	memcpy(frames, ms->walked, c.n * sizeof(*frames));
	*count = c.n;
	if (!is_corrected)
		return MACHINES_WALK_SAME;
	if (is_cut || !is_open)
		return is_cut ? MACHINES_WALK_ENDS : MACHINES_WALK_RIGHT;
	end_registers(&c, ret_regs);
	return MACHINES_WALK_GOES_ON;
}

/* --- names ------------------------------------------------------------------------------------ */

/* What is known of the frames nearer to the leaf. */
struct callees {
	bool has_function; /* one is a managed function's, and no stub */
	bool make_frames;  /* machine_makes_frames() */
};

/* Finds the managed frames of frame `i` of a walk. As machine_find(); *ret_is_code: the frame is in
 * a machine's code. Changes *callees to those of the next frame, but for has_function. */
static int find(struct machines *ms, const struct stackd_stack_record *record,
		const struct machine_stack *stack, const struct walk_frame *frames, size_t i,
		size_t count, struct callees *callees, bool *ret_is_code)
{
	const struct walk_frame *f = &frames[i];
	struct machine_frame frame = {
		.address = f->address,
		.is_return = f->is_return,
		.is_leaf = !i,
		.has_callee = callees->has_function,
		.is_made = callees->make_frames,
		.sp = f->slot ? f->slot + 8 : stack->regs->r[STACKD_REG_SP],
		.fp = i + 1 < count && frames[i + 1].slot ? frames[i + 1].slot - 8 : 0,
		.caller = i + 1 < count ? frames[i + 1].address : 0};
	struct machine *machine = machine_at(ms, record, f->address);

	if (machine)
		callees->make_frames = machine_makes_frames(machine, f->address, f->is_return,
							    callees->make_frames);
	*ret_is_code = machine && f->object &&
		       (f->object->kind == OBJECT_JIT || machine_is_file_code(machine, f->address));
	frame.is_of_file = *ret_is_code && f->object->kind != OBJECT_JIT;
	frame.is_stale = *ret_is_code && i <= 1 && machine_is_handler(machine, frames[0].address);
	if (*ret_is_code && i && f->slot)
		machine_sender(machine, stack, frames[i - 1].address, frames[i - 1].is_return,
			       i == 1, f->slot - 8, &frame.sp);
	return *ret_is_code ? machine_find(machine, stack, &frame, ms->found) : 0;
}

/* Returns whether the frame that was found last is a stub of a machine, and no function. */
static bool is_stub(const struct machines *ms)
{
	struct managed_name name;

	return managed_name_of(ms->with.managed, &ms->found[0], &name) && name.file &&
	       strcmp(name.file, MACHINE_STUBS) == 0;
}

/* Puts the managed frames in ms->found, innermost first, at path->locations[at] and before. The
 * outermost one keeps the provenance of the native frame. 0 or -ENOMEM. */
static int put(struct machines *ms, struct path *path, size_t at, size_t count, uint8_t provenance,
	       uint32_t height)
{
	int err = 0;

	for (size_t k = 0; k < count && !err; k++) {
		struct location *l = &ms->found[k];

		l->provenance = k + 1 == count ? provenance : PROVENANCE_RUNTIME_TABLE;
		err = location_intern(ms->with.locations, l, &path->locations[at - k]);
		path->heights[at - k] = height;
	}
	return err;
}

#define LEFT_OUT UINT32_MAX /* a location that keep_shown() removes */

/* Removes what was left out. */
static void keep_shown(struct path *path)
{
	size_t to = 0;

	for (size_t i = 0; i < path->count; i++) {
		if (path->locations[i] == LEFT_OUT)
			continue;
		path->locations[to] = path->locations[i];
		path->heights[to++] = path->heights[i];
	}
	path->count = to;
}

/* Counts how many more frames there will be than native ones. -ENOMEM. */
static int count_more(struct machines *ms, const struct stackd_stack_record *record,
		      const struct machine_stack *stack, const struct walk_frame *frames,
		      const struct path *path)
{
	struct callees callees = {0};
	bool is_code;
	int more = 0, n;

	for (size_t i = 0; i + path->cut < path->count; i++) {
		n = find(ms, record, stack, frames, i, path->count, &callees, &is_code);
		if (n < 0)
			return n;
		callees.has_function |= n > 0 && n != MACHINE_PART && !is_stub(ms);
		more += n > 1 && n != MACHINE_PART ? n - 1 : 0;
	}
	return more;
}

int machines_name(struct machines *ms, const struct stackd_stack_record *record,
		  const struct walk_frame *frames, struct path *path, bool *ret_has_moved)
{
	const size_t count = path->count;
	struct machine_stack stack;
	struct callees callees = {0};
	bool is_code, has_parts = false;
	int more, n = 0;
	size_t to;

	*ret_has_moved = false;
	if (!stack_of(record, &stack))
		return 0;
	more = count_more(ms, record, &stack, frames, path);
	if (more < 0 || count + (size_t)more > PATH_MAX_USER)
		return more < 0 ? more : 0;
	to = count + (size_t)more;
	for (size_t i = 0; i + path->cut < count && n >= 0; i++) {
		size_t from = count - 1 - i;
		uint32_t height = path->heights[from];

		n = find(ms, record, &stack, frames, i, count, &callees, &is_code);
		if (n > 0 && n != MACHINE_PART) {
			callees.has_function |= !is_stub(ms);
			ms->counts.frames += (uint64_t)n;
			if (put(ms, path, to - 1, (size_t)n, frames[i].provenance, height))
				return -ENOMEM;
			to -= (size_t)n;
			continue;
		}
		has_parts |= n == MACHINE_PART;
		ms->counts.unproven += is_code && !n;
		to--;
		path->locations[to] = n == MACHINE_PART ? LEFT_OUT : path->locations[from];
		path->heights[to] = height;
	}
	path->count = count + (size_t)more;
	if (has_parts)
		keep_shown(path);
	*ret_has_moved = more || has_parts;
	return n < 0 ? n : 0;
}
